//! Reading values: that is noted while templates run, and gone through once nothing grows any
//! more.

use super::heap::{Atom, Atoms, Seen, Val};
use super::marks::Marks;
use super::walk::ReadsWalk;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::sync::Arc;

/// Some keys of a map.
type Keys = Arc<[Arc<str>]>;

impl ReadsWalk<'_> {
    /// The keys of a map or the number of its entries, or of the elements of a list.
    pub(super) fn read_keys(&mut self, of: &Val) {
        self.marks.keys.extend(&of.0);
    }

    /// Whether a value is empty.
    pub(super) fn read_truth(&mut self, of: &Val) {
        self.marks.truths.extend(&of.0);
    }

    /// All of a value, whatever is in it.
    pub(super) fn read_whole(&mut self, of: &Val) {
        self.marks.whole.extend(&of.0);
    }

    /// A value where a text or number is wanted: of a text that a template made, all.
    pub(super) fn read_scalar(&mut self, of: &Val) {
        self.marks.whole.extend(of.0.iter().filter(|atom| matches!(atom, Atom::Text(_))));
    }

    /// Goes through all that is read. Nothing that templates make grows by that.
    pub(super) fn mark_all(&mut self) {
        let Marks { whole, mut keys, truths } = std::mem::take(&mut self.marks);
        self.mark_whole(whole, &mut keys);
        self.mark_each(keys, |walk, part| {
            walk.reads.read_keys(part);
            Atoms::from_slice(&walk.over(part))
        });
        self.mark_each(truths, |walk, part| {
            walk.reads.test(part);
            Atoms::new()
        });
    }

    /// Marks the parts of the input that values are, or that are behind what templates made;
    /// `mark` gives what is read with a part.
    fn mark_each(&mut self, values: FxHashSet<Atom>, mark: impl Fn(&mut Self, u32) -> Atoms) {
        let (mut todo, mut seen): (Vec<Atom>, _) = (values.into_iter().collect(), Seen::default());
        while let Some(atom) = todo.pop() {
            self.visit(1);
            if self.is_over() || !seen.insert(atom) {
                continue;
            }
            match atom {
                Atom::Input(part) => todo.extend(mark(self, part)),
                Atom::Made(object) | Atom::KeysOf(object) => {
                    todo.extend_from_slice(&self.heap.objects[object as usize].behind.0);
                }
                _ => {}
            }
        }
    }

    /// Marks all below values; whose keys alone are read with it is added to `keys`.
    fn mark_whole(&mut self, whole: FxHashSet<Atom>, keys: &mut FxHashSet<Atom>) {
        let none = Keys::default();
        let mut todo: SmallVec<[(Atom, Keys); 8]> =
            whole.into_iter().map(|atom| (atom, none.clone())).collect();
        let mut seen: FxHashSet<(Atom, Keys)> = FxHashSet::default();
        while let Some((atom, but)) = todo.pop() {
            if self.is_over() || !seen.insert((atom, but.clone())) {
                continue;
            }
            self.steps += 1;
            match atom {
                Atom::Nil
                | Atom::Other
                | Atom::Unseen
                | Atom::Deep
                | Atom::Lit(_)
                | Atom::Int(_)
                | Atom::Files(_)
                | Atom::Key(_) => {}
                Atom::KeysOf(list) => keys.extend(&self.heap.objects[list as usize].behind.0),
                Atom::Text(text) => {
                    let holds = &self.heap.texts[text as usize].holds;
                    todo.extend(holds.0.iter().map(|atom| (*atom, none.clone())));
                }
                Atom::Input(part) => {
                    self.reads.read_whole(part, &but);
                    todo.extend(self.below(part).iter().map(|atom| (*atom, none.clone())));
                }
                Atom::Made(object) => {
                    let object = &self.heap.objects[object as usize];
                    for (key, val) in &object.fields {
                        if !but.contains(key) {
                            todo.extend(val.0.iter().map(|atom| (*atom, none.clone())));
                        }
                    }
                    let loops = object.of_loops.values().flat_map(|val| &val.0);
                    todo.extend(object.any.0.iter().chain(loops).map(|atom| (*atom, none.clone())));
                    let hidden: Keys = match object.hidden.as_deref() {
                        None | Some([]) => but.clone(),
                        Some(own) => {
                            let own = own.iter().filter(|key| !but.contains(key));
                            but.iter().chain(own).cloned().collect()
                        }
                    };
                    todo.extend(object.behind.0.iter().map(|atom| (*atom, hidden.clone())));
                }
            }
        }
    }
}
