//! What was found in values: kept until something grows that it was found in.

use super::clock::Cell;
use super::heap::{Atom, Val};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;

/// All that was looked up.
#[derive(Default)]
pub(super) struct LookUps {
    pub(super) all: Vec<LookUp>,
    pub(super) by_value: FxHashMap<Val, OfValue>,
    /// What is set in the same part of the input.
    pub(super) over: FxHashMap<u32, SetEntries>,
    /// What is set in a part of the input or anywhere below it.
    pub(super) below: FxHashMap<u32, SetEntries>,
    /// What the look-up that is on its way reads.
    pub(super) reading: Option<Vec<Cell>>,
}

/// The maps of what templates set in some parts of the input, in order.
#[derive(Clone, Debug)]
pub(super) struct SetEntries {
    /// How many of all such maps it was looked for in.
    pub(super) looked_at: usize,
    pub(super) found: Rc<[Atom]>,
}

impl Default for SetEntries {
    fn default() -> SetEntries {
        SetEntries { looked_at: 0, found: Rc::new([]) }
    }
}

/// The look-ups in one value.
#[derive(Default)]
pub(super) struct OfValue {
    pub(super) fields: FxHashMap<Arc<str>, u32>,
    pub(super) elements: Option<u32>,
    pub(super) inside: Option<u32>,
}

/// What is looked up in a value: an entry, all elements, or all that is anywhere in it.
#[derive(Clone, Debug)]
pub(super) enum Wanted {
    Field(Arc<str>),
    Elements,
    Inside,
}

/// What was found: parts of a value, or of all that is anywhere in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Val(Val),
    Inside(Rc<Inside>),
}

impl Found {
    pub(super) fn val(&self) -> Val {
        match self {
            Found::Val(val) => val.clone(),
            Found::Inside(_) => Val::default(),
        }
    }

    pub(super) fn inside(&self) -> Rc<Inside> {
        match self {
            Found::Val(_) => Rc::default(),
            Found::Inside(inside) => inside.clone(),
        }
    }
}

pub(super) struct LookUp {
    pub(super) of: Val,
    pub(super) wanted: Wanted,
    pub(super) found: Found,
    /// What it was found in.
    pub(super) cells: Box<[Cell]>,
    /// When it was found.
    pub(super) at: u32,
    /// The round in which that was last seen to be so.
    pub(super) round: u32,
    /// How often it was found in that round.
    pub(super) finds: u8,
}

/// What is anywhere in a value.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Inside {
    pub(super) is_input: bool,
    pub(super) literals: Vec<u32>,
    pub(super) shapes: Vec<Arc<str>>,
    pub(super) is_unseen: bool,
}
