//! Whether two nodes are the same.

use super::*;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;

/// Whether two values are unknown as those of other variables.
fn are_other_variables(one: &str, two: &str) -> bool {
    const VARIABLES: &str = "value of ${";
    one.starts_with(VARIABLES) && two.starts_with(VARIABLES) && one != two
}

impl NodeRef<'_> {
    /// Whether both are the same node, not only equal.
    pub fn is(self, other: NodeRef<'_>) -> bool {
        match (self, other) {
            (NodeRef::Source(a, left), NodeRef::Source(b, right)) => left == right && Arc::ptr_eq(a, b),
            (NodeRef::Built(a), NodeRef::Built(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Whether both have the same text from the same places: nobody who reads them
    /// can tell them apart.
    pub fn is_same_text(self, other: NodeRef<'_>) -> bool {
        let (one, two) = match (self, other) {
            (NodeRef::Source(a, left), NodeRef::Source(b, right)) => {
                return left == right && (Arc::ptr_eq(a, b) || a.is_same(b));
            }
            (NodeRef::Built(a), NodeRef::Built(b)) if Arc::ptr_eq(a, b) => return true,
            (NodeRef::Built(a), NodeRef::Built(b)) => (a, b),
            _ => return false,
        };
        let same = |one: &Node, two: &Node| one.get_ref().is_same_text(two.get_ref());
        let same_value = match (&one.value, &two.value) {
            (Value::Map(one), Value::Map(two)) => {
                one.len() == two.len()
                    && one.iter().zip(two).all(|(a, b)| same(&a.key, &b.key) && same(&a.value, &b.value))
            }
            (Value::Seq(one), Value::Seq(two)) => {
                one.len() == two.len() && one.iter().zip(two).all(|(a, b)| same(a, b))
            }
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Uint(a), Value::Uint(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
            (Value::Str(a), Value::Str(b)) | (Value::Plain(a), Value::Plain(b)) => a == b,
            (Value::Holes(a), Value::Holes(b)) => a == b,
            (Value::Unknown(a), Value::Unknown(b)) => a == b,
            _ => false,
        };
        same_value && one.style() == two.style() && self.location() == other.location()
    }

    /// Equal values after a build: maps regardless of order, scalars by type
    /// and value. An unknown part makes it `Known::Unknown` unless something
    /// else differs, or both are one and the same node.
    pub fn same_value(self, other: NodeRef<'_>) -> Known<bool> {
        if self.is(other) {
            return Known::Value(true);
        }
        if self.is_unknown() || other.is_unknown() {
            let differs = match (self.holes(), other.holes()) {
                (Some(one), Some(two)) => one.differs(two),
                (Some(holes), None) => other.as_str().is_some_and(|text| !holes.could_be(&text)),
                (None, Some(holes)) => self.as_str().is_some_and(|text| !holes.could_be(&text)),
                (None, None) => match (self, other) {
                    (NodeRef::Built(one), NodeRef::Built(two)) => match (&one.value, &two.value) {
                        (Value::Unknown(one), Value::Unknown(two)) => are_other_variables(one, two),
                        _ => false,
                    },
                    _ => false,
                },
            };
            return if differs { Known::Value(false) } else { Known::Unknown };
        }
        let mut unknown = false;
        let mut note = |known: Known<bool>| match known {
            Known::Value(same) => same,
            Known::Unknown => {
                unknown = true;
                true
            }
        };
        let same = match (self.kind(), other.kind()) {
            (NodeKind::Scalar, NodeKind::Scalar) => {
                self.scalar(Dialect::GoYamlV3) == other.scalar(Dialect::GoYamlV3)
            }
            (NodeKind::Seq, NodeKind::Seq) => self.has_same_items(other, &mut note),
            (NodeKind::Map, NodeKind::Map) => self.has_same_entries(other, &mut note),
            _ => false,
        };
        match (same, unknown) {
            (true, true) => Known::Unknown,
            (same, _) => Known::Value(same),
        }
    }

    /// Whether two lists have the same items, one by one; `note` says so of two.
    fn has_same_items(self, other: NodeRef<'_>, note: &mut impl FnMut(Known<bool>) -> bool) -> bool {
        let (mut left, mut right) = (self.items(), other.items());
        loop {
            match (left.next(), right.next()) {
                (None, None) => return true,
                (Some(a), Some(b)) if note(a.same_value(b)) => {}
                _ => return false,
            }
        }
    }

    /// Whether two maps have the same entries, in any order; `note` says so of two values.
    fn has_same_entries(self, other: NodeRef<'_>, note: &mut impl FnMut(Known<bool>) -> bool) -> bool {
        if self.entries().count() != other.entries().count() {
            return false;
        }
        let mut beside = other.entries();
        self.entries().all(|entry| {
            // Most keys stand at the same place: no other is looked for.
            let beside = beside.next().filter(|other| other.key == entry.key).map(|other| other.value);
            if beside.is_some_and(|other| note(entry.value.same_value(other))) {
                return true;
            }
            let Some(b) = other.get(&entry.key) else { return false };
            // Of a key that stands twice, one value counts. What is the same node is
            // not compared again: each level would double the work.
            let other = |a: &NodeRef<'_>| a.address() != entry.value.address();
            let is_new = beside.is_none_or(|other| other.address() != b.address());
            is_new && note(entry.value.same_value(b))
                || self.get(&entry.key).filter(other).is_some_and(|a| note(a.same_value(b)))
        })
    }

    /// The same for all nodes that are [`NodeRef::same_value`], and for few others.
    pub(crate) fn value_hash(self) -> u64 {
        let mut hasher = FxHasher::default();
        match self.kind() {
            NodeKind::Unknown => {}
            NodeKind::Scalar => {
                let scalar = self.scalar(Dialect::GoYamlV3);
                discriminant(&scalar).hash(&mut hasher);
                match scalar {
                    Scalar::Bool(value) => value.hash(&mut hasher),
                    Scalar::Int(value) => value.hash(&mut hasher),
                    Scalar::Uint(value) => value.hash(&mut hasher),
                    Scalar::Str(text) | Scalar::Timestamp(text) => text.hash(&mut hasher),
                    // There are two zeros, which are equal.
                    Scalar::Null | Scalar::Float(_) => {}
                }
            }
            NodeKind::Seq => self.items().for_each(|item| item.value_hash().hash(&mut hasher)),
            NodeKind::Map => {
                let hash = |entry: EntryRef<'_>| {
                    let mut hasher = FxHasher::default();
                    entry.key.hash(&mut hasher);
                    (hasher.finish(), entry.value.value_hash())
                };
                let mut entries: Vec<(u64, u64)> = self.entries().map(hash).collect();
                entries.sort_unstable();
                // Of a key that stands twice, either value may be the one that is the same.
                let twice = entries.windows(2).any(|two| two[0].0 == two[1].0);
                for (key, value) in entries {
                    key.hash(&mut hasher);
                    if !twice {
                        value.hash(&mut hasher);
                    }
                }
            }
        }
        hasher.finish()
    }
}
