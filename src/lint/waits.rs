//! Which Kustomizations wait for which.
//! Source: kustomize-controller `reconcile` (dependencies come first); what a parent does not
//! apply isn't there.

use crate::model::references::{Reference, Role, references};
use crate::world::Applied;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Kustomizations that one waits for that are looked at.
const MOST: usize = 256;

/// Which Kustomizations of a cluster wait for which: by `dependsOn`, and for what applies
/// them.
pub(crate) struct Waits {
    direct: Vec<Vec<u32>>,
    known: FxHashMap<(u32, u32), bool>,
}

impl Waits {
    pub(crate) fn of(applied: &[Applied]) -> Waits {
        let mut places: FxHashMap<(Option<&str>, &str), u32> = FxHashMap::default();
        for (index, one) in applied.iter().enumerate() {
            places.entry((one.id.namespace.as_deref(), &*one.id.name)).or_insert(index as u32);
        }
        let direct = |one: &Applied| {
            let named = references(&one.id, one.node.get_ref());
            let dependencies = named.iter().filter(|named| named.role == Role::DependsOn);
            let found = |named: &Reference<'_>| {
                places.get(&(named.namespace.as_deref(), named.name.as_deref()?)).copied()
            };
            dependencies.filter_map(found).chain(one.parent).collect()
        };
        Waits { direct: applied.iter().map(direct).collect(), known: FxHashMap::default() }
    }

    /// Whether one is the other, or waits for it, as far as [`MOST`] of them tell.
    pub(crate) fn does_for(&mut self, from: u32, on: u32) -> bool {
        if let Some(known) = self.known.get(&(from, on)) {
            return *known;
        }
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        let mut answer = false;
        while let Some(at) = open.pop().filter(|_| seen.len() < MOST) {
            if at == on {
                answer = true;
                break;
            }
            if seen.insert(at) {
                open.extend(&self.direct[at as usize]);
            }
        }
        self.known.insert((from, on), answer);
        answer
    }
}
