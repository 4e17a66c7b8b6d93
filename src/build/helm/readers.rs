//! What the templates of a chart can read, held against the values of a release.

use super::value::{GLOBAL, Kind, Map, Value};
use crate::lang::template::reads::{Has, PathReads, Seg, States};
use rustc_hash::FxHashSet;
use std::sync::Arc;

pub(super) type Path = Vec<Arc<str>>;

/// What the templates of a chart can read.
#[derive(Debug)]
pub(crate) struct Readers {
    pub(super) reads: PathReads,
    /// The values of the charts that take part, by their paths in all values.
    pub(super) scopes: Vec<Path>,
    /// Values by which Helm switches charts.
    pub(super) switches: Vec<Path>,
}

/// A value that nothing reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dead {
    /// Keys and indices from the root of all values.
    pub(crate) path: Path,
    /// The same, as templates see it: no index of a list is told.
    segs: Vec<Seg>,
    /// Whether templates ask if the map that it lies in is empty, and read nothing else of what is
    /// in there: under other values its being there may count.
    fills: bool,
}

/// A walk down the values of a release.
struct Walk<'w> {
    readers: &'w Readers,
    coalesced: &'w Value,
    path: Path,
    segs: Vec<Seg>,
    found: Vec<Dead>,
}

impl Dead {
    /// One that is known by its path alone: templates are not asked about it again.
    pub(crate) fn named(path: Path) -> Dead {
        Dead { path, segs: Vec::new(), fills: false }
    }

    /// Whether only a render can tell that it does nothing.
    pub(super) fn fills(&self) -> bool {
        self.fills
    }
}

impl Readers {
    /// The highest keys of a release's values that nothing can read; `coalesced` are all
    /// values.
    pub(crate) fn dead(&self, values: &Value, coalesced: &Value) -> Vec<Dead> {
        let mut walk =
            Walk { readers: self, coalesced, path: Vec::new(), segs: Vec::new(), found: Vec::new() };
        walk.value(values, &self.reads.start());
        walk.found
    }

    /// What a map of the values may be to templates; `None` where they can't reach it.
    fn states(&self, path: &[Arc<str>], segs: &[Seg], has: &Has<'_>) -> States {
        let mut states = self.reads.start();
        for (index, seg) in segs.iter().enumerate() {
            states = self.globals(&path[..=index], has).unwrap_or_else(|| self.reads.down(&states, seg, has));
        }
        states
    }

    /// The keys beside a dead one that templates know, each once.
    pub(crate) fn siblings(&self, dead: &Dead, coalesced: &Value) -> Vec<Arc<str>> {
        let Some((_, above)) = dead.path.split_last() else { return Vec::new() };
        let has = &|path: &[Seg], key: &str| has_key(coalesced, path, key);
        let states = self.states(above, &dead.segs[..above.len()], has);
        let mut found = self.reads.named(&states);
        let beside = coalesced.at(above).and_then(Value::map).into_iter().flat_map(Map::keys);
        found.extend(beside.filter(|key| self.reads.is_read(&states, key, has)).cloned());
        found.extend(self.scopes.iter().filter_map(|scope| match scope.split_last() {
            Some((last, rest)) if rest == above => Some(last.clone()),
            _ => None,
        }));
        found.sort();
        found.dedup();
        found
    }

    /// The keys that templates name in a map of the values.
    pub(super) fn named_at(&self, path: &[Arc<str>], coalesced: &Value) -> Vec<Arc<str>> {
        let mut at = Some(coalesced);
        let mut segs = Vec::new();
        for key in path {
            let is_list = matches!(at.map(|value| &value.kind), Some(Kind::List(_)));
            segs.push(if is_list { Seg::Any } else { Seg::Key(key.clone()) });
            at = at.and_then(|value| value.at(std::slice::from_ref(key)));
        }
        let has = &|path: &[Seg], key: &str| has_key(coalesced, path, key);
        self.reads.named(&self.states(path, &segs, has))
    }

    /// Where else templates read what has the key of a dead value: each way to it with the
    /// keys of the values, as far as there is one key only.
    pub(crate) fn elsewhere(&self, dead: &Dead, coalesced: &Value) -> Vec<Path> {
        let Some(key) = dead.path.last() else { return Vec::new() };
        let mut found: Vec<Path> =
            self.reads.paths_to(key).iter().map(|path| shown(path, coalesced)).collect();
        found.retain(|path| *path != dead.path);
        found.sort();
        found.dedup();
        // What a library has by default stands in the chart's own values, too.
        let all: FxHashSet<Path> = found.iter().cloned().collect();
        found.retain(|path| {
            let of_chart = self.scopes.iter().filter(|scope| !scope.is_empty());
            !of_chart
                .into_iter()
                .any(|scope| path.strip_prefix(&**scope).is_some_and(|rest| all.contains(rest)))
        });
        found
    }

    /// Where a chart's own globals are read for those of the charts around it.
    fn globals(&self, path: &[Arc<str>], has: &Has<'_>) -> Option<States> {
        let (last, scope) = path.split_last()?;
        if &**last != GLOBAL || !self.scopes.iter().any(|own| own == scope) {
            return None;
        }
        let mut all = States::default();
        for own in self.scopes.iter().filter(|own| own.starts_with(scope)) {
            let states = own.iter().fold(self.reads.start(), |states, key| {
                self.reads.down(&states, &Seg::Key(key.clone()), has)
            });
            // All of its values are read, and so are its globals.
            if self.reads.is_whole(&states, GLOBAL) {
                all.and(&states);
            }
            all.and(&self.reads.down(&states, &Seg::Key(GLOBAL.into()), has));
        }
        Some(all)
    }

    /// Whether Helm itself looks at a value.
    pub(super) fn is_switch_itself(&self, path: &[Arc<str>]) -> bool {
        self.switches.iter().any(|own| own[..] == *path)
    }

    /// Whether Helm itself looks at a value, or into it.
    fn is_switch(&self, path: &[Arc<str>]) -> bool {
        self.switches.iter().chain(&self.scopes).any(|own| own.starts_with(path))
    }
}

/// A way into values, with the key that is there where it is the only one.
fn shown(path: &[Seg], values: &Value) -> Path {
    let mut at = Some(values);
    let step = |seg: &Seg| {
        let key: Arc<str> = match (seg, at.map(|value| &value.kind)) {
            (Seg::Key(key), _) => key.clone(),
            (Seg::Any, Some(Kind::Map(map))) if map.len() == 1 => {
                map.keys().next().cloned().unwrap_or_else(|| "*".into())
            }
            _ => "*".into(),
        };
        at = at.and_then(|value| value.get(&key));
        key
    };
    path.iter().map(step).collect()
}

/// Whether one of the maps that a path may lead to has a key.
fn has_key(value: &Value, path: &[Seg], key: &str) -> bool {
    let Some((first, rest)) = path.split_first() else { return value.get(key).is_some() };
    match (&value.kind, first) {
        (Kind::Map(map), Seg::Key(own)) => map.get(own).is_some_and(|value| has_key(value, rest, key)),
        (Kind::Map(map), _) => map.values().any(|value| has_key(value, rest, key)),
        (Kind::List(items), Seg::Any) => items.iter().any(|value| has_key(value, rest, key)),
        _ => false,
    }
}

impl Walk<'_> {
    fn value(&mut self, value: &Value, states: &States) {
        if self.readers.reads.is_all(states) {
            return;
        }
        match &value.kind {
            Kind::Map(map) => self.map(map, states),
            Kind::List(items) => {
                let has = &|path: &[Seg], key: &str| has_key(self.coalesced, path, key);
                let below = self.readers.reads.down(states, &Seg::Any, has);
                if below.is_empty() {
                    return;
                }
                self.segs.push(Seg::Any);
                for (index, item) in items.iter().enumerate() {
                    self.path.push(index.to_string().into());
                    self.value(item, &below);
                    self.path.pop();
                }
                self.segs.pop();
            }
            _ => {}
        }
    }

    fn map(&mut self, map: &Map, states: &States) {
        let (reads, coalesced) = (&self.readers.reads, self.coalesced);
        let has: &Has<'_> = &|path, key| has_key(coalesced, path, key);
        let is_live = |walk: &Walk<'_>, key: &Arc<str>| {
            let path: Path = walk.path.iter().cloned().chain([key.clone()]).collect();
            reads.is_read(states, key, has)
                || walk.readers.is_switch(&path)
                || walk.readers.globals(&path, has).is_some_and(|states| !states.is_empty())
        };
        // Whether a map is empty may hang on a key that nothing else reads.
        let all = self.coalesced.at(&self.path).and_then(Value::map).unwrap_or(map);
        let fills = reads.is_tested(states) && !all.keys().any(|key| is_live(self, key));
        if fills && reads.named(states).is_empty() {
            return;
        }
        for (key, value) in map {
            let live = is_live(self, key);
            self.path.push(key.clone());
            self.segs.push(Seg::Key(key.clone()));
            if !live {
                self.found.push(Dead { path: self.path.clone(), segs: self.segs.clone(), fills });
            } else if !reads.is_whole(states, key) {
                let below = self
                    .readers
                    .globals(&self.path, has)
                    .unwrap_or_else(|| reads.down(states, &Seg::Key(key.clone()), has));
                self.value(value, &below);
            }
            self.path.pop();
            self.segs.pop();
        }
    }
}
