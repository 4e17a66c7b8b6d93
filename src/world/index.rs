//! Objects of a cluster by what names them, looked up without making a name of it.

use super::ApplyTarget;
use crate::model::{Name, ObjectId};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// Numbers by name on a target. Names of one hash take the next free places after it.
#[derive(Debug, Default)]
pub(super) struct Index {
    places: FxHashMap<u64, (ApplyTarget, ObjectId, u32)>,
}

impl Index {
    /// The number of a name, or the place that is free for it.
    fn place(&self, target: &ApplyTarget, name: Name<'_>) -> Result<u32, u64> {
        let mut hasher = FxHasher::default();
        (target, name).hash(&mut hasher);
        let mut place = hasher.finish();
        loop {
            match self.places.get(&place) {
                Some((on, id, number)) if is(id, name) && on == target => return Ok(*number),
                Some(_) => place = place.wrapping_add(1),
                None => return Err(place),
            }
        }
    }

    pub(super) fn get(&self, target: &ApplyTarget, name: Name<'_>) -> Option<u32> {
        self.place(target, name).ok()
    }

    /// Adds a number for an object unless it has one; the first one wins, as it does
    /// for whoever looks it up.
    pub(super) fn add(&mut self, target: &ApplyTarget, id: &ObjectId, number: u32) {
        if let Err(place) = self.place(target, id.named()) {
            self.places.insert(place, (target.clone(), id.clone(), number));
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
