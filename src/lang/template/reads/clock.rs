//! When what templates make grew: what was done with it before then is done again.

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

/// Kinds of [`Cell`].
const KINDS: usize = 6;

impl Cell {
    /// Its kind, and its number among those.
    fn place(self) -> (usize, usize) {
        match self {
            Cell::Object(index) => (0, index as usize),
            Cell::Text(index) => (1, index as usize),
            Cell::Loop(index) => (2, index as usize),
            Cell::Over => (3, 0),
            Cell::Words(index) => (4, index as usize),
            Cell::LookUp(index) => (5, index as usize),
        }
    }
}

/// Counts each growth.
#[derive(Debug, Default)]
pub(super) struct Clock {
    now: u32,
    /// When each cell grew last, by its place; 0 is never.
    grown: [Vec<u32>; KINDS],
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
        let (kind, index) = cell.place();
        let grown = &mut self.grown[kind];
        if grown.len() <= index {
            grown.resize(index + 1, 0);
        }
        grown[index] = self.now;
    }

    pub(super) fn grow_if(&mut self, grew: bool, cell: Cell) {
        if grew {
            self.grow(cell);
        }
    }

    /// Whether it grew since then.
    pub(super) fn is_newer(&self, cell: Cell, than: u32) -> bool {
        let (kind, index) = cell.place();
        self.grown[kind].get(index).is_some_and(|at| *at > than)
    }
}
