//! Objects of a cluster by what names them, looked up without making a name of it.

use super::ApplyTarget;
use crate::model::ObjectId;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// What an object is looked up by.
#[derive(Clone, Copy, Hash)]
pub(super) struct Name<'n> {
    pub(super) target: &'n ApplyTarget,
    pub(super) group: &'n str,
    pub(super) kind: &'n str,
    pub(super) namespace: Option<&'n str>,
    pub(super) name: &'n str,
}

impl Name<'_> {
    fn is(&self, target: &ApplyTarget, id: &ObjectId) -> bool {
        *self.name == *id.name
            && *self.kind == *id.kind
            && self.namespace == id.namespace.as_deref()
            && self.group == id.group()
            && self.target == target
    }
}

/// Numbers by name. Names of one hash take the next free places after it.
#[derive(Debug, Default)]
pub(super) struct Index {
    places: FxHashMap<u64, (ApplyTarget, ObjectId, u32)>,
}

impl Index {
    /// The number of a name, or the place that is free for it.
    fn place(&self, name: Name<'_>) -> Result<u32, u64> {
        let mut hasher = FxHasher::default();
        name.hash(&mut hasher);
        let mut place = hasher.finish();
        loop {
            match self.places.get(&place) {
                Some((target, id, number)) if name.is(target, id) => return Ok(*number),
                Some(_) => place = place.wrapping_add(1),
                None => return Err(place),
            }
        }
    }

    pub(super) fn get(&self, name: Name<'_>) -> Option<u32> {
        self.place(name).ok()
    }

    /// Adds a number for an object unless it has one; the first one wins, as it does
    /// for whoever looks it up.
    pub(super) fn add(&mut self, target: &ApplyTarget, id: &ObjectId, number: u32) {
        let (group, kind) = (id.group(), &*id.kind);
        let name = Name { target, group, kind, namespace: id.namespace.as_deref(), name: &id.name };
        if let Err(place) = self.place(name) {
            self.places.insert(place, (target.clone(), id.clone(), number));
        }
    }
}
