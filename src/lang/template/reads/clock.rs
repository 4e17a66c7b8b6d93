//! When what templates make grew: what was done with it before then is done again.

use rustc_hash::FxHashMap;

/// Something that grows while templates run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Cell {
    /// A map or list that a template makes.
    Object(u32),
    /// A text that a template makes.
    Text(u32),
    /// The maps of the input that a loop goes through.
    Loop(u32),
    /// The parts of the input that something is set in.
    Over,
    /// The words that a run of a template prints.
    Words(u32),
    /// What was looked up in a value.
    LookUp(u32),
}

/// Counts each growth.
#[derive(Debug, Default)]
pub(super) struct Clock {
    now: u32,
    grown: FxHashMap<Cell, u32>,
}

impl Clock {
    /// How often anything grew.
    pub(super) fn now(&self) -> u32 {
        self.now
    }

    /// Counts a growth of what no other run reads.
    pub(super) fn tick(&mut self) {
        self.now += 1;
    }

    pub(super) fn grow(&mut self, cell: Cell) {
        self.now += 1;
        self.grown.insert(cell, self.now);
    }

    pub(super) fn grow_if(&mut self, grew: bool, cell: Cell) {
        if grew {
            self.grow(cell);
        }
    }

    /// Whether it grew since then.
    pub(super) fn is_newer(&self, cell: Cell, than: u32) -> bool {
        self.grown.get(&cell).is_some_and(|at| *at > than)
    }
}
