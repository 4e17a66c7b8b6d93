//! Values that are one of a few. Nobody knows the version of a cluster that states none,
//! but all that it may be often give a question the same answer: then the answer is known.

use super::trace::{SetId, Trace};
use super::value::{Kind, Val};
use rustc_hash::FxHashMap;

/// How many such values a run keeps apart; all beyond are unknown as any other.
const MOST: usize = 10_000;

/// What a value stands for.
#[derive(Debug)]
pub(super) struct OneOf {
    pub(super) why: String,
    stand_in: Val,
    /// What it may be instead, in the order of the caller's possibilities.
    pub(super) others: Vec<Val>,
}

/// The values of a run that are one of a few, each by the set of its own.
#[derive(Debug, Default)]
pub(super) struct Alternatives {
    known: FxHashMap<SetId, OneOf>,
    /// How many possibilities there are besides the likely one.
    pub(super) count: usize,
}

impl Alternatives {
    /// A value that is used as `stand_in`, and may be one of the others.
    pub(super) fn add(&mut self, trace: &mut Trace, stand_in: Val, others: Vec<Val>, why: &str) -> Val {
        let set = trace.unknown(why.to_owned());
        self.count = others.len();
        let from = trace.union(stand_in.from, set);
        if self.known.len() < MOST {
            self.known.insert(set, OneOf { why: why.to_owned(), stand_in: stand_in.clone(), others });
        }
        stand_in.with(from)
    }

    /// What else a value may be, where that is all that is unknown of it.
    pub(super) fn of(&self, trace: &Trace, value: &Val, from: SetId) -> Option<&OneOf> {
        let one = self.known.get(&trace.only_unknown(from)?)?;
        is_same(&one.stand_in, value).then_some(one)
    }
}

pub(super) fn is_same(one: &Val, other: &Val) -> bool {
    match (&one.kind, &other.kind) {
        (Kind::Bool(one), Kind::Bool(other)) => one == other,
        (Kind::Int(one, of), Kind::Int(other, other_of)) => one == other && of == other_of,
        (Kind::Float(one), Kind::Float(other)) => one == other,
        (Kind::Str(one), Kind::Str(other)) => one.bytes() == other.bytes(),
        (Kind::Version(one), Kind::Version(other)) => one.original == other.original,
        (Kind::List(one), Kind::List(other)) => one.elem == other.elem && one.len() == other.len(),
        _ => false,
    }
}
