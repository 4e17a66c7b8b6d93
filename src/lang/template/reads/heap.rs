//! Values, and the maps, lists and texts that templates make.

use super::clock::{Cell, Clock};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Atom {
    /// Nothing.
    Nil,
    /// Something that holds nothing of the input.
    Other,
    /// The same, but perhaps the text of a template that nobody sees.
    Unseen,
    /// A part of the input that lies too deep to be told apart, all of which is read.
    Deep,
    /// A part of the input.
    Input(u32),
    /// A map or list that a template makes.
    Made(u32),
    /// A text that a template makes, or a value that comes of one.
    Text(u32),
    /// A text that is written in a template.
    Lit(u32),
    /// A whole number that is written in a template.
    Int(u32),
    /// Files.
    Files(u32),
    /// A key of a map that a loop goes through, by the loop.
    Key(u32),
    /// The keys of the maps behind a list that a template makes, not looked at so far.
    KeysOf(u32),
}

/// Most values are a few things.
pub(super) type Atoms = SmallVec<[Atom; 6]>;

/// All that a value may be, in order.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Val(pub(super) Atoms);

impl Clone for Val {
    /// At once: a clone of what is derived goes from atom to atom.
    fn clone(&self) -> Val {
        Val(Atoms::from_slice(&self.0))
    }
}

/// What a walk came to. Most walks come to a few things only.
#[derive(Debug, Default)]
pub(super) struct Seen {
    few: SmallVec<[Atom; 12]>,
    many: FxHashSet<Atom>,
}

impl Seen {
    /// Whether it is new.
    pub(super) fn insert(&mut self, atom: Atom) -> bool {
        if self.few.contains(&atom) {
            return false;
        }
        if self.few.len() < self.few.inline_size() {
            self.few.push(atom);
            return true;
        }
        self.many.insert(atom)
    }
}

impl Val {
    pub(super) fn one(atom: Atom) -> Val {
        Val(smallvec![atom])
    }

    /// Whether something was added.
    pub(super) fn add(&mut self, atom: Atom) -> bool {
        match self.0.binary_search(&atom) {
            Ok(_) => false,
            Err(at) => {
                self.0.insert(at, atom);
                true
            }
        }
    }

    /// Whether something was added.
    pub(super) fn join(&mut self, other: &Val) -> bool {
        match (&*self.0, &*other.0) {
            (_, []) => false,
            ([], all) => {
                self.0 = Atoms::from_slice(all);
                true
            }
            // Few into many, as when a template prints one more value, are put where they belong.
            (own, all) if all.len() * FEW <= own.len() || all.len() == 1 => {
                let mut added = false;
                all.iter().for_each(|atom| added |= self.add(*atom));
                added
            }
            (own, all) if holds_all(own, all) => false,
            (own, all) => {
                self.0 = merged(own, all);
                true
            }
        }
    }

    pub(super) fn with(mut self, other: &Val) -> Val {
        self.join(other);
        self
    }

    /// Whether it is surely nothing.
    pub(super) fn is_nil(&self) -> bool {
        self.0.iter().all(|atom| *atom == Atom::Nil)
    }
}

/// How many times longer a row is than one of which each element is looked up in it.
const FEW: usize = 16;

/// Whether one row has all of another, both in order.
fn holds_all(own: &[Atom], all: &[Atom]) -> bool {
    let mut own = own.iter();
    all.iter().all(|atom| own.by_ref().find(|known| *known >= atom) == Some(atom))
}

/// What is in either row, both in order.
fn merged(one: &[Atom], other: &[Atom]) -> Atoms {
    let mut all = Atoms::with_capacity(one.len() + other.len());
    let (mut one, mut other) = (one, other);
    while let ([a, behind_a @ ..], [b, behind_b @ ..]) = (one, other) {
        all.push(*a.min(b));
        one = if a <= b { behind_a } else { one };
        other = if b <= a { behind_b } else { other };
    }
    all.extend_from_slice(one);
    all.extend_from_slice(other);
    all
}

/// A map or list.
#[derive(Clone, Debug, Default)]
pub(super) struct HeapObject {
    pub(super) fields: BTreeMap<Arc<str>, Val>,
    /// Elements, and entries whose keys are not known.
    pub(super) any: Val,
    /// Entries whose keys are those that a loop is at.
    pub(super) of_loops: BTreeMap<u32, Val>,
    /// What it was made from: entries of these are its own, too.
    pub(super) behind: Val,
    /// Keys that it did not take over from there, where some are left out.
    pub(super) hidden: Option<Vec<Arc<str>>>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct HeapText {
    /// Values that it is the YAML or JSON of.
    pub(super) holds: Val,
    /// Parts of the input that stand in it.
    pub(super) from: Val,
    /// Whether anything else is in it.
    pub(super) is_mixed: bool,
    /// Whether a template may be in it that nobody sees.
    pub(super) is_unseen: bool,
    /// What it looks like, with NUL in the place of what is not known.
    pub(super) shapes: Vec<Arc<str>>,
}

/// Where a template makes something: the run of the template, the source and the node, and
/// which of what is made there.
pub(super) type Site = (u32, u32, u32, u8);

/// What templates make.
#[derive(Debug, Default)]
pub(super) struct Heap {
    pub(super) objects: Vec<HeapObject>,
    pub(super) texts: Vec<HeapText>,
    sites: FxHashMap<Site, u32>,
    text_sites: FxHashMap<Site, u32>,
    loop_sites: FxHashMap<Site, u32>,
    /// What texts are split into: whether that is a map, the separator, the text.
    splits: FxHashMap<(bool, Arc<str>, Arc<str>), u32>,
    /// For each loop, the maps of the input that it goes through.
    pub(super) loops: Vec<Vec<u32>>,
    over: FxHashMap<u32, u32>,
    /// Parts of the input that templates set entries in, each with the map of these.
    pub(super) set_in: Vec<(u32, u32)>,
    literals: Vec<Arc<str>>,
    by_literal: FxHashMap<Arc<str>, u32>,
    /// When each of these grew.
    pub(super) clock: Clock,
}

/// Shapes of a text that are kept.
const SHAPES: usize = 16;

impl Heap {
    pub(super) fn object(&mut self) -> u32 {
        self.objects.push(HeapObject::default());
        self.objects.len() as u32 - 1
    }

    pub(super) fn text(&mut self) -> u32 {
        self.texts.push(HeapText::default());
        self.texts.len() as u32 - 1
    }

    /// The map or list that is made at a site.
    pub(super) fn object_at(&mut self, site: Site) -> u32 {
        if let Some(known) = self.sites.get(&site) {
            return *known;
        }
        let new = self.object();
        self.sites.insert(site, new);
        new
    }

    /// The text that is made at a site.
    pub(super) fn text_at(&mut self, site: Site) -> u32 {
        if let Some(known) = self.text_sites.get(&site) {
            return *known;
        }
        let new = self.text();
        self.text_sites.insert(site, new);
        new
    }

    /// The parts of a text between separators: a map as `split` makes it, or a list.
    pub(super) fn split(&mut self, is_map: bool, by: &Arc<str>, text: &Arc<str>) -> u32 {
        let key = (is_map, by.clone(), text.clone());
        if let Some(known) = self.splits.get(&key) {
            return *known;
        }
        let new = self.object();
        for (index, part) in text.split(&**by).enumerate() {
            let part = Val::one(self.literal(part));
            let name = if is_map { format!("_{index}") } else { index.to_string() };
            self.set(new, &name.into(), &part);
        }
        self.splits.insert(key, new);
        new
    }

    /// The loop at a site, through a map of the input too.
    pub(super) fn loop_at(&mut self, site: Site, through: &[u32]) -> u32 {
        let known = self.loop_sites.get(&site).copied();
        let index = known.unwrap_or_else(|| {
            self.loops.push(Vec::new());
            self.loop_sites.insert(site, self.loops.len() as u32 - 1);
            self.loops.len() as u32 - 1
        });
        let parts = &mut self.loops[index as usize];
        for part in through {
            if !parts.contains(part) {
                parts.push(*part);
                self.clock.grow(Cell::Loop(index));
            }
        }
        index
    }

    /// What was set in a part of the input.
    pub(super) fn over_at(&mut self, part: u32) -> u32 {
        if let Some(known) = self.over.get(&part) {
            return *known;
        }
        let new = self.object();
        self.over.insert(part, new);
        self.set_in.push((part, new));
        self.clock.grow(Cell::Over);
        new
    }

    pub(super) fn literal(&mut self, text: &str) -> Atom {
        if let Some(known) = self.by_literal.get(text) {
            return Atom::Lit(*known);
        }
        let (new, text): (u32, Arc<str>) = (self.literals.len() as u32, text.into());
        self.literals.push(text.clone());
        self.by_literal.insert(text, new);
        Atom::Lit(new)
    }

    pub(super) fn literal_of(&self, index: u32) -> Arc<str> {
        self.literals[index as usize].clone()
    }

    pub(super) fn set(&mut self, object: u32, key: &Arc<str>, val: &Val) {
        let fields = &mut self.objects[object as usize].fields;
        let grew = match fields.get_mut(key) {
            Some(known) => known.join(val),
            None => {
                fields.insert(key.clone(), val.clone());
                true
            }
        };
        self.clock.grow_if(grew, Cell::Object(object));
    }

    pub(super) fn set_of_loop(&mut self, object: u32, of: u32, val: &Val) {
        let grew = self.objects[object as usize].of_loops.entry(of).or_default().join(val);
        self.clock.grow_if(grew, Cell::Object(object));
    }

    pub(super) fn set_any(&mut self, object: u32, val: &Val) {
        let grew = self.objects[object as usize].any.join(val);
        self.clock.grow_if(grew, Cell::Object(object));
    }

    pub(super) fn set_behind(&mut self, object: u32, val: &Val) {
        let mut val = val.clone();
        val.0.retain(|atom| *atom != Atom::Made(object));
        let grew = self.objects[object as usize].behind.join(&val);
        self.clock.grow_if(grew, Cell::Object(object));
    }

    /// Leaves keys out of what a map takes over: those that are left out each time.
    pub(super) fn hide(&mut self, object: u32, keys: &[Arc<str>]) {
        let hidden = &mut self.objects[object as usize].hidden;
        let before = hidden.as_ref().map(Vec::len);
        match hidden {
            Some(hidden) => hidden.retain(|key| keys.contains(key)),
            None => *hidden = Some(keys.to_vec()),
        }
        let grew = before != hidden.as_ref().map(Vec::len);
        self.clock.grow_if(grew, Cell::Object(object));
    }

    /// Puts a text into another one.
    pub(super) fn append(&mut self, into: u32, other: u32) {
        if into == other {
            return;
        }
        let HeapText { holds, from, is_mixed, is_unseen, shapes } = self.texts[other as usize].clone();
        let text = &mut self.texts[into as usize];
        let mut changed = text.holds.join(&holds);
        changed |= text.from.join(&from);
        changed |= (is_mixed && !text.is_mixed) || (is_unseen && !text.is_unseen);
        text.is_mixed |= is_mixed;
        text.is_unseen |= is_unseen;
        for shape in shapes {
            changed |= text.shape(shape);
        }
        self.clock.grow_if(changed, Cell::Text(into));
    }

    pub(super) fn mix(&mut self, text: u32) {
        let was = std::mem::replace(&mut self.texts[text as usize].is_mixed, true);
        self.clock.grow_if(!was, Cell::Text(text));
    }

    pub(super) fn unsee(&mut self, text: u32) {
        let was = std::mem::replace(&mut self.texts[text as usize].is_unseen, true);
        self.clock.grow_if(!was, Cell::Text(text));
    }

    /// Notes what stands in a text.
    pub(super) fn put_from(&mut self, text: u32, from: &Val) {
        let grew = self.texts[text as usize].from.join(from);
        self.clock.grow_if(grew, Cell::Text(text));
    }

    /// Notes what a text is the YAML of.
    pub(super) fn put_held(&mut self, text: u32, held: &Val) {
        let grew = self.texts[text as usize].holds.join(held);
        self.clock.grow_if(grew, Cell::Text(text));
    }

    /// Notes what a text looks like.
    pub(super) fn put_shape(&mut self, text: u32, shape: Arc<str>) {
        let grew = self.texts[text as usize].shape(shape);
        self.clock.grow_if(grew, Cell::Text(text));
    }
}

impl HeapObject {
    /// Whether a key of what it was made from is not its own.
    pub(super) fn hides(&self, key: &Arc<str>) -> bool {
        self.hidden.as_ref().is_some_and(|hidden| hidden.contains(key))
    }
}

impl HeapText {
    /// Whether it was new; of too many nobody sees all.
    fn shape(&mut self, shape: Arc<str>) -> bool {
        if self.shapes.contains(&shape) {
            return false;
        }
        if self.shapes.len() < SHAPES {
            self.shapes.push(shape);
            return true;
        }
        !std::mem::replace(&mut self.is_unseen, true)
    }
}
