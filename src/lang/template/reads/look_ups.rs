//! What was found in values: kept until something grows that it was found in.

use super::clock::Cell;
use super::containers::Inside;
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

/// The look-ups in one value.
#[derive(Default)]
struct OfValue {
    fields: FxHashMap<Arc<str>, u32>,
    elements: Option<u32>,
    inside: Option<u32>,
}

#[derive(Clone, Debug)]
enum Wanted {
    Field(Arc<str>),
    Elements,
    Inside,
}

#[derive(Debug, PartialEq, Eq)]
enum Found {
    Val(Val),
    Inside(Rc<Inside>),
}

impl Found {
    fn val(&self) -> Val {
        match self {
            Found::Val(val) => val.clone(),
            Found::Inside(_) => Val::default(),
        }
    }

    fn inside(&self) -> Rc<Inside> {
        match self {
            Found::Val(_) => Rc::default(),
            Found::Inside(inside) => inside.clone(),
        }
    }
}

struct LookUp {
    of: Val,
    wanted: Wanted,
    found: Found,
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
        let index = self.looked_up(known, of, || Wanted::Field(key.clone()));
        self.look_ups.all[index].found.val()
    }

    /// The elements of a list or entries of a map, all of which are gone through.
    pub(super) fn elements(&mut self, of: &Val) -> Val {
        let known = self.look_ups.by_value.get(of).and_then(|known| known.elements);
        let index = self.looked_up(known, of, || Wanted::Elements);
        self.look_ups.all[index].found.val()
    }

    /// What is anywhere in a value.
    pub(super) fn inside(&mut self, of: &Val) -> Rc<Inside> {
        let known = self.look_ups.by_value.get(of).and_then(|known| known.inside);
        let index = self.looked_up(known, of, || Wanted::Inside);
        self.look_ups.all[index].found.inside()
    }

    fn looked_up(&mut self, known: Option<u32>, of: &Val, wanted: impl FnOnce() -> Wanted) -> usize {
        let index = match known {
            Some(index) => {
                self.look_again(index);
                index
            }
            None => self.look_up(of, wanted()),
        };
        self.note(Cell::LookUp(index));
        index as usize
    }

    fn look_up(&mut self, of: &Val, wanted: Wanted) -> u32 {
        let (at, round) = (self.heap.clock.now(), self.round);
        let (found, cells) = self.find(of, &wanted);
        let index = self.look_ups.all.len() as u32;
        let known = self.look_ups.by_value.entry(of.clone()).or_default();
        match &wanted {
            Wanted::Field(key) => drop(known.fields.insert(key.clone(), index)),
            Wanted::Elements => known.elements = Some(index),
            Wanted::Inside => known.inside = Some(index),
        }
        self.look_ups.all.push(LookUp { of: of.clone(), wanted, found, cells, at, round });
        index
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
        let (of, wanted) = (own.of.clone(), own.wanted.clone());
        let (found, cells) = self.find(&of, &wanted);
        let own = &mut self.look_ups.all[index as usize];
        own.cells = cells;
        let grew = own.found != found;
        own.found = found;
        self.heap.clock.grow_if(grew, Cell::LookUp(index));
    }

    /// What is found, and in what.
    fn find(&mut self, of: &Val, wanted: &Wanted) -> (Found, Box<[Cell]>) {
        let around = self.look_ups.reading.replace(vec![Cell::Over]);
        let found = match wanted {
            Wanted::Field(key) => Found::Val(self.find_field(of, key)),
            Wanted::Elements => Found::Val(self.find_elements(of)),
            Wanted::Inside => Found::Inside(self.find_inside(of).into()),
        };
        let cells = std::mem::replace(&mut self.look_ups.reading, around).unwrap_or_default();
        (found, cells.into())
    }
}
