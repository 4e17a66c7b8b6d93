//! How values are read, as far as that is known while templates run.

use super::heap::Atom;
use rustc_hash::FxHashSet;

/// How values are read.
#[derive(Default)]
pub(super) struct Marks {
    /// All of them, whatever is in them.
    pub(super) whole: FxHashSet<Atom>,
    /// Their keys, or how many there are.
    pub(super) keys: FxHashSet<Atom>,
    /// Whether they are empty.
    pub(super) truths: FxHashSet<Atom>,
}
