//! Objects of a cluster by what names them, looked up without making a name of it.

use super::{ApplyTarget, Member};
use crate::model::{Name, ObjectId};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Members of a cluster by name and target. Names of one hash take the next free places
/// after it.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// What clusters have in common is held once.
    places: FxHashMap<u64, (Arc<ObjectId>, u32)>,
}

impl Index {
    /// The number of a name among the members, or the place that is free for it.
    fn place(&self, members: &[Member], target: &ApplyTarget, name: Name<'_>) -> Result<u32, u64> {
        let mut hasher = FxHasher::default();
        (target, name).hash(&mut hasher);
        let mut place = hasher.finish();
        loop {
            match self.places.get(&place) {
                Some((id, number)) if is(id, name) && members[*number as usize].target == *target => {
                    return Ok(*number);
                }
                Some(_) => place = place.wrapping_add(1),
                None => return Err(place),
            }
        }
    }

    pub(super) fn get(&self, members: &[Member], target: &ApplyTarget, name: Name<'_>) -> Option<u32> {
        self.place(members, target, name).ok()
    }

    /// Adds the last member unless another one has its name and target; the first one wins,
    /// as it does for whoever looks it up.
    pub(super) fn add(&mut self, members: &[Member], id: &Arc<ObjectId>) {
        let Some(last) = members.last() else { return };
        if let Err(place) = self.place(members, &last.target, id.named()) {
            self.places.insert(place, (id.clone(), members.len() as u32 - 1));
        }
    }
}

/// Whether a name is that of an object, what differs the most looked at first.
fn is(id: &ObjectId, name: Name<'_>) -> bool {
    *name.name == *id.name
        && *name.kind == *id.kind
        && name.namespace == id.namespace.as_deref()
        && name.group == id.group()
}
