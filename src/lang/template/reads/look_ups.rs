//! What was found in values: kept until something grows that it was found in.

use super::clock::Cell;
use super::heap::{Atom, HeapObject, HeapText, Val};
use super::paths::PathReads;
use super::walk::ReadsWalk;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;

/// All that was looked up.
#[derive(Default)]
pub(super) struct LookUps {
    all: Vec<LookUp>,
    by_value: FxHashMap<Val, OfValue>,
    /// What is set in the same part of the input.
    over: FxHashMap<u32, SetEntries>,
    /// What is set in a part of the input or anywhere below it.
    below: FxHashMap<u32, SetEntries>,
    /// What the look-up that is on its way reads.
    reading: Option<Vec<Cell>>,
}

/// The maps of what templates set in some parts of the input, in order.
#[derive(Clone, Debug)]
struct SetEntries {
    /// How many of all such maps it was looked for in.
    looked_at: usize,
    found: Rc<[Atom]>,
}

impl Default for SetEntries {
    fn default() -> SetEntries {
        SetEntries { looked_at: 0, found: Rc::new([]) }
    }
}

/// What was looked up in one value.
#[derive(Default)]
struct OfValue {
    fields: FxHashMap<Arc<str>, u32>,
    elements: Option<u32>,
}

struct LookUp {
    of: Val,
    /// An entry, or all elements.
    key: Option<Arc<str>>,
    found: Val,
    /// What it was found in.
    cells: Box<[Cell]>,
    /// When it was found.
    at: u32,
    /// The round in which that was last seen to be so.
    round: u32,
}

impl ReadsWalk<'_> {
    /// Notes that what is on its way reads something.
    pub(super) fn note(&mut self, cell: Cell) {
        match &mut self.look_ups.reading {
            // Each look-up has that one.
            Some(_) if cell == Cell::Over => {}
            Some(cells) => cells.push(cell),
            None => self.read_cell(cell),
        }
    }

    pub(super) fn object(&mut self, object: u32) -> &HeapObject {
        self.note(Cell::Object(object));
        &self.heap.objects[object as usize]
    }

    pub(super) fn text(&mut self, text: u32) -> &HeapText {
        self.note(Cell::Text(text));
        &self.heap.texts[text as usize]
    }

    /// The maps of the input that a loop goes through.
    pub(super) fn loop_maps(&mut self, index: u32) -> &[u32] {
        self.note(Cell::Loop(index));
        &self.heap.loops[index as usize]
    }

    /// What templates set in what may be this part of the input.
    pub(super) fn over(&mut self, part: u32) -> Rc<[Atom]> {
        self.note(Cell::Over);
        let known = self.look_ups.over.remove(&part).unwrap_or_default();
        let set = self.set_where(known, |reads, other| reads.may_be_same(part, other));
        self.look_ups.over.insert(part, set.clone());
        set.found
    }

    /// What templates set in what may lie in this part of the input, or be it.
    pub(super) fn below(&mut self, part: u32) -> Rc<[Atom]> {
        self.note(Cell::Over);
        let known = self.look_ups.below.remove(&part).unwrap_or_default();
        let set = self.set_where(known, |reads, other| reads.may_be_in(other, part));
        self.look_ups.below.insert(part, set.clone());
        set.found
    }

    /// What is known to be set, and what is set in other parts since then.
    fn set_where(&self, known: SetEntries, is_it: impl Fn(&PathReads, u32) -> bool) -> SetEntries {
        let new = &self.heap.set_in[known.looked_at..];
        self.visit(new.len());
        let mut all: Vec<Atom> = new
            .iter()
            .filter(|(part, _)| is_it(&self.reads, *part))
            .map(|(_, map)| Atom::Made(*map))
            .collect();
        let looked_at = self.heap.set_in.len();
        if all.is_empty() {
            return SetEntries { looked_at, ..known };
        }
        all.extend_from_slice(&known.found);
        all.sort_unstable();
        SetEntries { looked_at, found: all.into() }
    }

    /// An entry of a map.
    pub(super) fn field(&mut self, of: &Val, key: &Arc<str>) -> Val {
        let known = self.look_ups.by_value.get(of).and_then(|known| known.fields.get(key)).copied();
        let index = known.unwrap_or_else(|| {
            let new = self.look_up(of, Some(key.clone()));
            self.look_ups.by_value.entry(of.clone()).or_default().fields.insert(key.clone(), new);
            new
        });
        self.found(index)
    }

    /// The elements of a list or entries of a map, all of which are gone through.
    pub(super) fn elements(&mut self, of: &Val) -> Val {
        let known = self.look_ups.by_value.get(of).and_then(|known| known.elements);
        let index = known.unwrap_or_else(|| {
            let new = self.look_up(of, None);
            self.look_ups.by_value.entry(of.clone()).or_default().elements = Some(new);
            new
        });
        self.found(index)
    }

    fn found(&mut self, index: u32) -> Val {
        self.look_again(index);
        self.note(Cell::LookUp(index));
        self.look_ups.all[index as usize].found.clone()
    }

    fn look_up(&mut self, of: &Val, key: Option<Arc<str>>) -> u32 {
        let (at, round) = (self.heap.clock.now(), self.round);
        let (found, cells) = self.find(of, key.as_ref());
        self.look_ups.all.push(LookUp { of: of.clone(), key, found, cells, at, round });
        self.look_ups.all.len() as u32 - 1
    }

    /// Looks once in each round whether anything grew that it was found in: what templates
    /// copy into itself meanwhile is not followed to its end at once.
    pub(super) fn look_again(&mut self, index: u32) {
        let own = &mut self.look_ups.all[index as usize];
        if std::mem::replace(&mut own.round, self.round) == self.round {
            return;
        }
        let clock = &self.heap.clock;
        let at = std::mem::replace(&mut own.at, clock.now());
        if !own.cells.iter().any(|cell| clock.is_newer(*cell, at)) {
            return;
        }
        let (of, key) = (own.of.clone(), own.key.clone());
        let (found, cells) = self.find(&of, key.as_ref());
        let own = &mut self.look_ups.all[index as usize];
        own.cells = cells;
        let grew = own.found != found;
        own.found = found;
        self.heap.clock.grow_if(grew, Cell::LookUp(index));
    }

    /// What is found, and in what.
    fn find(&mut self, of: &Val, key: Option<&Arc<str>>) -> (Val, Box<[Cell]>) {
        let around = self.look_ups.reading.replace(vec![Cell::Over]);
        let found = match key {
            Some(key) => self.find_field(of, key),
            None => self.find_elements(of),
        };
        let cells = std::mem::replace(&mut self.look_ups.reading, around).unwrap_or_default();
        (found, cells.into())
    }
}
