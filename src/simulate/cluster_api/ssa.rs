//! Maps that several managers write: what becomes of a key under server-side
//! apply by one of them (structured-merge-diff, as the API server runs it for
//! labels and annotations).

use std::collections::{BTreeMap, BTreeSet};

/// The state of one map of one object before a manager applies it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ManagedMap {
    /// Keys that the manager applied last time.
    pub previous: BTreeSet<String>,
    /// The map as it is.
    pub live: BTreeMap<String, String>,
    /// Managers other than it that own a key.
    pub others: BTreeMap<String, BTreeSet<String>>,
}

/// What becomes of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyOutcome {
    /// The manager sets it; these managers wrote another value and lose it.
    Set {
        /// Managers that no longer own the key.
        taken_from: BTreeSet<String>,
    },
    /// It is removed.
    Removed,
    /// It stays with its value, because these managers apply it too.
    Kept {
        /// The managers that own it from now on.
        by: BTreeSet<String>,
    },
    /// It was never the manager's, and stays.
    Untouched,
}

/// Applies `desired` and returns the map afterwards, with each key's outcome.
pub fn apply(
    map: &ManagedMap,
    desired: &BTreeMap<String, String>,
) -> (BTreeMap<String, String>, BTreeMap<String, KeyOutcome>) {
    let owners = |key: &str| map.others.get(key).cloned().unwrap_or_default();
    let mut after = map.live.clone();
    let mut outcomes = BTreeMap::new();
    for (key, value) in desired {
        let changed = map.live.get(key) != Some(value);
        let taken_from = if changed { owners(key) } else { BTreeSet::new() };
        after.insert(key.clone(), value.clone());
        outcomes.insert(key.clone(), KeyOutcome::Set { taken_from });
    }
    for key in map.live.keys().filter(|key| !desired.contains_key(*key)) {
        let by = owners(key);
        let outcome = if !map.previous.contains(key) {
            KeyOutcome::Untouched
        } else if by.is_empty() {
            after.remove(key);
            KeyOutcome::Removed
        } else {
            KeyOutcome::Kept { by }
        };
        outcomes.insert(key.clone(), outcome);
    }
    (after, outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn removed_keys_vanish_only_when_no_one_else_applies_them() {
        // (previous, desired, live, other owners of one key, map afterwards)
        type Row<'a> = (
            &'a [&'a str],
            &'a [(&'a str, &'a str)],
            &'a [(&'a str, &'a str)],
            &'a [(&'a str, &'a str)],
            &'a [(&'a str, &'a str)],
        );
        let table: &[Row<'_>] = &[
            (&["a", "b"], &[("a", "a")], &[("a", "a"), ("b", "b")], &[], &[("a", "a")]),
            (
                &["a", "b"],
                &[("a", "a")],
                &[("a", "a"), ("b", "b")],
                &[("b", "kubectl")],
                &[("a", "a"), ("b", "b")],
            ),
            (&["a"], &[("a", "x")], &[("a", "y")], &[("a", "user")], &[("a", "x")]),
            (&[], &[("a", "a")], &[("a", "a"), ("b", "b")], &[("b", "manager")], &[("a", "a"), ("b", "b")]),
            (&["a"], &[("a", "a")], &[("a", "a"), ("c", "c")], &[("c", "flux")], &[("a", "a"), ("c", "c")]),
            (&["a"], &[], &[("a", "a")], &[("a", "flux")], &[("a", "a")]),
        ];
        for (previous, desired, live, others, expected) in table {
            let map = ManagedMap {
                previous: previous.iter().map(|k| (*k).to_owned()).collect(),
                live: strings(live),
                others: others
                    .iter()
                    .map(|(k, m)| ((*k).to_owned(), BTreeSet::from([(*m).to_owned()])))
                    .collect(),
            };
            let (after, _) = apply(&map, &strings(desired));
            assert_eq!(after, strings(expected), "{map:?}");
        }
    }

    #[test]
    fn a_changed_value_is_taken_from_its_other_owners() {
        let map = ManagedMap {
            previous: BTreeSet::from(["a".to_owned()]),
            live: strings(&[("a", "y")]),
            others: BTreeMap::from([("a".to_owned(), BTreeSet::from(["user".to_owned()]))]),
        };
        let (_, outcomes) = apply(&map, &strings(&[("a", "x")]));
        let taken_from = BTreeSet::from(["user".to_owned()]);
        assert_eq!(outcomes["a"], KeyOutcome::Set { taken_from });
    }
}
