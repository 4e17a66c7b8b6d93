//! Parts of the input by their paths, and how each is read.

use rustc_hash::FxHashMap;
use std::sync::{Arc, OnceLock};

/// A step from a part of the input to one in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Seg {
    /// An entry of a map.
    Key(Arc<str>),
    /// Any entry of a map, or element of a list.
    Any,
    /// The entry of a map whose key is the one that a loop through another map is at.
    OfLoop(u32),
}

impl Seg {
    fn may_be(&self, other: &Seg) -> bool {
        self == other || !matches!((self, other), (Seg::Key(_), Seg::Key(_)))
    }
}

/// A part of the input that a template can reach.
#[derive(Debug, Default)]
pub(super) struct InputPart {
    pub(super) parent: u32,
    pub(super) seg: Option<Seg>,
    pub(super) depth: u32,
    children: FxHashMap<Seg, u32>,
    /// Those of [`Seg::OfLoop`], with their loops.
    of_loops: Vec<(u32, u32)>,
    /// Whether all below is read, but for these keys.
    whole: Option<Vec<Arc<str>>>,
    /// Whether its keys are gone through, or counted.
    has_keys: bool,
    /// Whether it is asked for being empty.
    is_tested: bool,
}

/// How the parts of the input are read.
#[derive(Debug)]
pub(crate) struct PathReads {
    pub(super) parts: Vec<InputPart>,
    /// For each loop, the maps that it goes through.
    pub(super) loops: Vec<Vec<Vec<Seg>>>,
    /// The parts that a key leads to, once they are asked for.
    by_key: OnceLock<FxHashMap<Arc<str>, Vec<u32>>>,
}

/// Whether a map of the input has a key.
pub(crate) type Has<'h> = dyn Fn(&[Seg], &str) -> bool + 'h;

/// The parts that a path of the input may be, on the way down.
#[derive(Clone, Debug, Default)]
pub(crate) struct States {
    parts: Vec<u32>,
}

impl Default for PathReads {
    fn default() -> PathReads {
        PathReads { parts: vec![InputPart::default()], loops: Vec::new(), by_key: OnceLock::new() }
    }
}

impl PathReads {
    /// A part of a part; made where it is not known.
    pub(super) fn child(&mut self, of: u32, seg: Seg) -> u32 {
        if let Some(known) = self.parts[of as usize].children.get(&seg) {
            return *known;
        }
        let new = self.parts.len() as u32;
        let depth = self.parts[of as usize].depth + 1;
        self.parts.push(InputPart { parent: of, seg: Some(seg.clone()), depth, ..InputPart::default() });
        let part = &mut self.parts[of as usize];
        if let Seg::OfLoop(index) = seg {
            part.of_loops.push((index, new));
        }
        part.children.insert(seg, new);
        new
    }

    /// How often the last steps to a part are this one.
    pub(super) fn repeats(&self, part: u32, seg: &Seg) -> usize {
        let (mut at, mut count) = (part, 0);
        while self.parts[at as usize].seg.as_ref() == Some(seg) {
            count += 1;
            at = self.parts[at as usize].parent;
        }
        count
    }

    /// Notes that all below a part is read, but for some keys.
    pub(super) fn read_whole(&mut self, part: u32, but: &[Arc<str>]) {
        let whole = &mut self.parts[part as usize].whole;
        match whole {
            Some(known) => known.retain(|key| but.contains(key)),
            None => *whole = Some(but.to_vec()),
        }
    }

    pub(super) fn read_keys(&mut self, part: u32) {
        self.parts[part as usize].has_keys = true;
    }

    pub(super) fn test(&mut self, part: u32) {
        self.parts[part as usize].is_tested = true;
    }

    /// The steps to a part, from above.
    pub(super) fn path(&self, part: u32) -> Vec<Seg> {
        let mut found = Vec::new();
        let mut at = part;
        while let Some(seg) = &self.parts[at as usize].seg {
            found.push(seg.clone());
            at = self.parts[at as usize].parent;
        }
        found.reverse();
        found
    }

    /// Whether two parts may be the same one.
    pub(super) fn may_be_same(&self, one: u32, other: u32) -> bool {
        let (mut one, mut other) = (one, other);
        loop {
            if one == other {
                return true;
            }
            let (a, b) = (&self.parts[one as usize], &self.parts[other as usize]);
            match (&a.seg, &b.seg) {
                (None, None) => return true,
                (Some(x), Some(y)) if x.may_be(y) => {}
                _ => return false,
            }
            (one, other) = (a.parent, b.parent);
        }
    }

    /// Whether a part may lie in another one.
    pub(super) fn may_be_in(&self, one: u32, around: u32) -> bool {
        let depth = self.parts[around as usize].depth;
        let mut one = one;
        while self.parts[one as usize].depth > depth {
            one = self.parts[one as usize].parent;
        }
        self.parts[one as usize].depth == depth && self.may_be_same(one, around)
    }

    /// The input itself.
    pub(crate) fn start(&self) -> States {
        States { parts: vec![0] }
    }

    /// The entries of a part whose keys are those of a loop, where that may be this one. An
    /// entry that is only asked for being there is put back most often: it counts where the
    /// loop comes by the key.
    fn of_loops<'r>(&'r self, part: &'r InputPart, key: &Seg, has: &Has<'_>) -> Vec<u32> {
        let mut found = Vec::new();
        for (index, child) in &part.of_loops {
            let own = &self.parts[*child as usize];
            let is_read = own.whole.is_some() || own.has_keys || !own.children.is_empty();
            let comes_by = match key {
                Seg::Key(key) => self.loops[*index as usize].iter().any(|path| has(path, key)),
                Seg::Any | Seg::OfLoop(_) => true,
            };
            if is_read || comes_by {
                found.push(*child);
            }
        }
        found
    }

    /// One step down.
    pub(crate) fn down(&self, from: &States, key: &Seg, has: &Has<'_>) -> States {
        let mut parts = Vec::new();
        for part in &from.parts {
            let part = &self.parts[*part as usize];
            parts.extend(part.children.get(key).copied());
            if *key != Seg::Any {
                parts.extend(part.children.get(&Seg::Any).copied());
            }
            parts.append(&mut self.of_loops(part, key, has));
        }
        parts.sort_unstable();
        parts.dedup();
        States { parts }
    }

    /// Whether a key of what the states are is read: named, or with all the others.
    pub(crate) fn is_read(&self, above: &States, key: &str, has: &Has<'_>) -> bool {
        let key_seg = Seg::Key(key.into());
        above.parts.iter().any(|part| {
            let part = &self.parts[*part as usize];
            part.has_keys
                || part.children.contains_key(&key_seg)
                || part.children.contains_key(&Seg::Any)
                || !self.of_loops(part, &key_seg, has).is_empty()
                || part.whole.as_ref().is_some_and(|but| !but.iter().any(|known| **known == *key))
        })
    }

    /// Whether everything below a key is read.
    pub(crate) fn is_whole(&self, above: &States, key: &str) -> bool {
        let all = |part: &u32| {
            self.parts[*part as usize].whole.as_ref().is_some_and(|but| !but.iter().any(|own| **own == *key))
        };
        above.parts.iter().any(all)
    }

    /// Whether all of what the states are is read.
    pub(crate) fn is_all(&self, states: &States) -> bool {
        states.parts.iter().any(|part| self.parts[*part as usize].whole.as_ref().is_some_and(Vec::is_empty))
    }

    /// Whether it is asked for being empty.
    pub(crate) fn is_tested(&self, states: &States) -> bool {
        states.parts.iter().any(|part| self.parts[*part as usize].is_tested)
    }

    /// The keys that are named at a level.
    pub(crate) fn named(&self, states: &States) -> Vec<Arc<str>> {
        let mut found: Vec<Arc<str>> = Vec::new();
        for part in &states.parts {
            for seg in self.parts[*part as usize].children.keys() {
                if let Seg::Key(key) = seg {
                    found.push(key.clone());
                }
            }
        }
        found.sort();
        found.dedup();
        found
    }

    /// All paths that end with a key which is named.
    pub(crate) fn paths_to(&self, key: &str) -> Vec<Vec<Seg>> {
        let index = || {
            let mut parts: FxHashMap<Arc<str>, Vec<u32>> = FxHashMap::default();
            for (index, part) in self.parts.iter().enumerate() {
                if let Some(Seg::Key(key)) = &part.seg {
                    parts.entry(key.clone()).or_default().push(index as u32);
                }
            }
            parts
        };
        let found = self.by_key.get_or_init(index).get(key);
        found.into_iter().flatten().map(|part| self.path(*part)).collect()
    }
}

impl States {
    /// Both.
    pub(crate) fn and(&mut self, other: &States) {
        self.parts.extend(&other.parts);
        self.parts.sort_unstable();
        self.parts.dedup();
    }

    /// Whether nothing of it can be reached.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}
