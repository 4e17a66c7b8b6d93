//! Going into values; what was found is kept until something grows that it was found in.

use super::clock::Cell;
use super::heap::{Atom, Atoms, HeapObject, HeapText, Seen, Val};
use super::look_ups::{Found, Inside, LookUp, SetEntries, Wanted};
use super::paths::{PathReads, Seg};
use super::walk::ReadsWalk;
use std::rc::Rc;
use std::sync::Arc;

/// How deep the input is followed; below that all is read.
const DEPTH: u32 = 24;
/// How often a key may lead into itself: what a template copies into itself has no end.
const AGAIN: usize = 1;
/// How often one thing is looked up in a round.
const FINDS: u8 = 4;
/// Elements of a list that is taken to pieces.
const ELEMENTS: usize = 64;
/// Levels of which any entry is taken, one in the other.
const ANY: usize = 5;

/// Parts of values that all steps look at: one step may look at thousands. Of 121 charts the
/// largest that is followed needs a sixth.
const VISITS: u64 = 10_000_000;

impl ReadsWalk<'_> {
    /// A part of a part of the input; one that lies too deep is not told apart.
    fn part(&mut self, of: u32, seg: Seg) -> Atom {
        if self.reads.parts[of as usize].depth >= DEPTH {
            self.reads.read_whole(of, &[]);
            return Atom::Deep;
        }
        let most = if seg == Seg::Any { ANY } else { AGAIN };
        let is_again = self.reads.repeats(of, &seg) >= most;
        let part = self.reads.child(of, seg);
        if is_again {
            self.reads.read_whole(part, &[]);
            return Atom::Deep;
        }
        Atom::Input(part)
    }

    /// Counts parts of values that a step looks at.
    pub(super) fn visit(&self, parts: usize) {
        self.visits.set(self.visits.get() + parts as u64);
    }

    /// Whether the steps have looked at too much.
    pub(super) fn has_visited_too_much(&self) -> bool {
        self.visits.get() > VISITS
    }

    /// An entry of a map.
    pub(super) fn find_field(&mut self, of: &Val, key: &Arc<str>) -> Val {
        let mut out = Val::default();
        let (mut todo, mut seen) = (Atoms::from_slice(&of.0), Seen::default());
        while let Some(atom) = todo.pop() {
            self.visit(1);
            if !seen.insert(atom) {
                continue;
            }
            match atom {
                Atom::Nil | Atom::Lit(_) | Atom::Int(_) | Atom::Key(_) | Atom::KeysOf(_) => {
                    out.add(Atom::Nil);
                }
                Atom::Other | Atom::Unseen | Atom::Deep | Atom::Text(_) => drop(out.add(atom)),
                Atom::Files(_) => drop(out.add(Atom::Other)),
                Atom::Input(part) => {
                    out.add(self.part(part, Seg::Key(key.clone())));
                    todo.extend_from_slice(&self.over(part));
                }
                Atom::Made(object) => {
                    let object = self.object(object);
                    let own = object.fields.get(key);
                    if let Some(own) = own {
                        out.join(own);
                    }
                    out.join(&object.any);
                    let of_loops: Vec<(u32, Val)> =
                        object.of_loops.iter().map(|(index, val)| (*index, val.clone())).collect();
                    if !object.hides(key) {
                        todo.extend_from_slice(&object.behind.0);
                    }
                    if own.is_none() {
                        out.add(Atom::Nil);
                    }
                    for (index, val) in of_loops {
                        for atom in val.0 {
                            let atom = self.at_key(atom, index, Seg::Key(key.clone()));
                            out.add(atom);
                        }
                    }
                }
            }
        }
        out
    }

    /// The elements of a list or entries of a map, all of which are gone through.
    pub(super) fn find_elements(&mut self, of: &Val) -> Val {
        let mut out = Val::default();
        let (mut todo, mut seen) = (Atoms::from_slice(&of.0), Seen::default());
        while let Some(atom) = todo.pop() {
            self.visit(1);
            if !seen.insert(atom) {
                continue;
            }
            match atom {
                // Nothing goes through the letters of a text.
                Atom::Nil | Atom::Lit(_) => {}
                Atom::Other | Atom::Unseen | Atom::Deep | Atom::Text(_) => drop(out.add(atom)),
                Atom::Int(_) | Atom::Files(_) | Atom::Key(_) => drop(out.add(Atom::Other)),
                Atom::KeysOf(list) => {
                    let behind = self.object(list).behind.clone();
                    self.read_keys(&behind);
                    out.add(Atom::Other);
                }
                Atom::Input(part) => {
                    self.reads.read_keys(part);
                    out.add(self.part(part, Seg::Any));
                    todo.extend_from_slice(&self.over(part));
                }
                Atom::Made(object) => {
                    let object = self.object(object);
                    for val in object.fields.values() {
                        out.join(val);
                    }
                    out.join(&object.any);
                    todo.extend_from_slice(&object.behind.0);
                    for (other, val) in object.of_loops.clone() {
                        for atom in val.0 {
                            out.add(self.at_key(atom, other, Seg::Any));
                        }
                    }
                }
            }
        }
        out
    }

    /// The element of a list at an index: of a list that a template writes, the one there.
    pub(super) fn element(&mut self, of: &Val, index: u32) -> Val {
        let mut found = Val::default();
        for atom in &of.0 {
            let Atom::Made(object) = atom else {
                found.join(&self.elements(&Val::one(*atom)));
                continue;
            };
            let object = self.object(*object).clone();
            if let Some(own) = object.fields.get(&*index.to_string()) {
                found.join(own);
            }
            found.join(&object.any);
            found.join(&self.elements(&object.behind));
        }
        found
    }

    /// The elements of a list that a template writes itself, in their order, where it is nothing
    /// else.
    pub(super) fn written_list(&mut self, of: &Val) -> Option<Vec<Val>> {
        let [Atom::Made(list)] = of.0[..] else { return None };
        let list = self.object(list);
        let is_open = !list.any.0.is_empty() || !list.behind.0.is_empty() || !list.of_loops.is_empty();
        if is_open || list.fields.len() > ELEMENTS {
            return None;
        }
        (0..list.fields.len()).map(|index| list.fields.get(&*index.to_string()).cloned()).collect()
    }

    /// What an entry is that was set at each key of a loop, at one of them.
    fn at_key(&mut self, atom: Atom, index: u32, seg: Seg) -> Atom {
        let Atom::Input(part) = atom else { return atom };
        let own = &self.reads.parts[part as usize];
        let parent = own.parent;
        let is_same = match own.seg {
            Some(Seg::OfLoop(other)) => other == index,
            Some(Seg::Any) => self.loop_maps(index).contains(&parent),
            _ => false,
        };
        if !is_same {
            return atom;
        }
        Atom::Input(self.reads.child(parent, seg))
    }

    /// The entry of a map at the key that a loop is at.
    pub(super) fn of_loop(&mut self, of: &Val, index: u32) -> Val {
        let mut out = Val::default();
        let (mut todo, mut seen) = (Atoms::from_slice(&of.0), Seen::default());
        while let Some(atom) = todo.pop() {
            self.visit(1);
            if !seen.insert(atom) {
                continue;
            }
            match atom {
                Atom::Nil | Atom::Lit(_) | Atom::Int(_) | Atom::Key(_) | Atom::KeysOf(_) | Atom::Files(_) => {
                    out.add(Atom::Nil);
                }
                Atom::Other | Atom::Unseen | Atom::Deep | Atom::Text(_) => drop(out.add(atom)),
                // A map that the loop itself goes through has the element there.
                Atom::Input(part) => {
                    let is_own = self.loop_maps(index).contains(&part);
                    let seg = if is_own { Seg::Any } else { Seg::OfLoop(index) };
                    out.add(self.part(part, seg));
                    todo.extend_from_slice(&self.over(part));
                }
                Atom::Made(object) => {
                    let object = self.object(object);
                    let of_loops = object.of_loops.clone();
                    for val in object.fields.values() {
                        out.join(val);
                    }
                    out.join(&object.any);
                    todo.extend_from_slice(&object.behind.0);
                    for (other, val) in of_loops {
                        for atom in val.0 {
                            out.add(self.at_key(atom, other, Seg::OfLoop(index)));
                        }
                    }
                }
            }
        }
        out
    }

    /// The keys that a loop through a value is at. Keys that templates write themselves are
    /// no user's.
    pub(super) fn loop_keys(&mut self, of: &Val, id: u32) -> Val {
        let mut parts = Vec::new();
        let (mut todo, mut seen) = (Atoms::from_slice(&of.0), Seen::default());
        while let Some(atom) = todo.pop() {
            self.visit(1);
            if !seen.insert(atom) {
                continue;
            }
            match atom {
                Atom::Input(part) => parts.push(part),
                Atom::Made(object) => todo.extend_from_slice(&self.object(object).behind.0),
                Atom::Unseen => return Val::one(Atom::Other),
                Atom::Text(text) if !self.text(text).from.0.is_empty() => {
                    return Val::one(Atom::Other);
                }
                _ => {}
            }
        }
        match parts.is_empty() {
            true => Val::one(Atom::Other),
            false => Val::one(Atom::Key(self.heap.loop_at(self.site(id, 3), &parts))),
        }
    }

    /// The literals that are anywhere in a value, and whether parts of the input are, or
    /// something that nobody sees.
    pub(super) fn find_inside(&mut self, of: &Val) -> Inside {
        let mut inside = Inside::default();
        let (mut todo, mut seen) = (Atoms::from_slice(&of.0), Seen::default());
        while let Some(atom) = todo.pop() {
            self.visit(1);
            if !seen.insert(atom) {
                continue;
            }
            match atom {
                Atom::Nil | Atom::Other | Atom::Int(_) | Atom::Files(_) | Atom::Key(_) | Atom::KeysOf(_) => {}
                Atom::Unseen => inside.is_unseen = true,
                Atom::Deep => inside.is_input = true,
                Atom::Lit(text) => inside.literals.push(text),
                Atom::Input(part) => {
                    inside.is_input = true;
                    todo.extend_from_slice(&self.below(part));
                }
                Atom::Text(text) => {
                    let text = self.text(text);
                    inside.is_unseen |= text.is_unseen;
                    todo.extend(text.holds.0.iter().chain(&text.from.0).copied());
                    inside.shapes.extend(text.shapes.iter().cloned());
                }
                Atom::Made(object) => {
                    let object = self.object(object);
                    let vals = object.fields.values().chain(object.of_loops.values());
                    todo.extend(vals.flat_map(|val| &val.0).copied());
                    todo.extend(object.any.0.iter().chain(&object.behind.0).copied());
                }
            }
        }
        inside.literals.sort_unstable();
        inside
    }
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
        self.look_ups.all.push(LookUp { of: of.clone(), wanted, found, cells, at, round, finds: 1 });
        index
    }

    /// Finds it anew where anything grew that it was found in, a few times in each round: what
    /// templates copy into itself meanwhile is not followed to its end at once.
    pub(super) fn look_again(&mut self, index: u32) {
        let (clock, own) = (&self.heap.clock, &mut self.look_ups.all[index as usize]);
        if std::mem::replace(&mut own.round, self.round) != self.round {
            own.finds = 0;
        }
        if own.finds >= FINDS {
            return;
        }
        let at = std::mem::replace(&mut own.at, clock.now());
        if at == clock.now() || !own.cells.iter().any(|cell| clock.is_newer(*cell, at)) {
            return;
        }
        own.finds += 1;
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
