//! What a validation finds wrong with an object.

use super::tree::Schema;
use crate::lang::yaml::{EntryRef, NodeRef};

/// What the API server refuses, or drops.
#[derive(Clone, Debug)]
pub struct Violation<'a, 's> {
    /// What is wrong.
    pub fault: Fault<'a, 's>,
    /// JSON Pointer inside the object: of the value; of the field that is unknown
    /// or missing.
    pub pointer: String,
    /// The value; of a missing field, the map that misses it.
    pub node: NodeRef<'a>,
}

impl Violation<'_, '_> {
    /// Whether both are the same mistake, perhaps by different schemas.
    pub fn is_same(&self, other: &Violation<'_, '_>) -> bool {
        let same_fault = match (&self.fault, &other.fault) {
            (Fault::Rejected { rule }, Fault::Rejected { rule: other }) => rule == other,
            (fault, other) => std::mem::discriminant(fault) == std::mem::discriminant(other),
        };
        same_fault && self.pointer == other.pointer
    }

    /// Whether what the other one is about is refused by this one too, perhaps for
    /// another reason: a field that isn't there has no wrong value.
    pub fn covers(&self, other: &Violation<'_, '_>) -> bool {
        let is_whole = matches!(self.fault, Fault::UnknownField { .. } | Fault::Malformed { .. });
        let below = other.pointer.strip_prefix(&self.pointer);
        self.is_same(other) || is_whole && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// What is wrong with a value.
#[derive(Clone, Debug)]
pub enum Fault<'a, 's> {
    /// The map has no such field.
    UnknownField {
        entry: EntryRef<'a>,
        /// The schema of the map.
        parent: &'s Schema,
    },
    /// A value that is not taken.
    Malformed {
        /// The schema of the value.
        schema: &'s Schema,
        /// What it is not.
        what: Malformed,
    },
    /// A required field isn't there.
    MissingField {
        name: String,
        /// The schema of the map.
        parent: &'s Schema,
    },
    /// An item that a list holds already.
    Duplicate {
        /// The first one.
        first: NodeRef<'a>,
        /// What is equal: `name: web`.
        key: String,
    },
    /// A CEL expression that is false.
    Rejected { rule: String },
}

/// In which way a value is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Of another type: what it is.
    Type(&'static str),
    /// None of the allowed values.
    Enum,
    /// It doesn't match the pattern.
    Pattern,
    /// Not of the format.
    Format,
    /// No quantity.
    Quantity,
    /// A number outside of its range; the limit in words.
    Range(String),
    /// Too long, too short, too many or too few; the limit in words.
    Size(String),
    /// None of the alternatives takes it, or more than one.
    Alternatives,
}

/// What came of a validation.
#[derive(Clone, Debug, Default)]
pub struct Report<'a, 's> {
    /// What is wrong, in the order of the object.
    pub violations: Vec<Violation<'a, 's>>,
    /// Whether something could not be judged, for a value is unknown.
    pub has_unknown: bool,
    /// CEL expressions that could not be judged.
    pub unknown_rules: Vec<String>,
}
