//! Built maps, and where the keys of large ones stand.
//!
//! Many readers and transformers ask one large map for a key each. To look through it
//! every time would take the square of its size.

use super::entries::{is_key, map_keys};
use super::{Entry, Node, Source};
use crate::lang::yaml::tape::{LargeMaps, TokenKind};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::hash::BuildHasher;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Keys from which on it is worth to know where they stand.
const LARGE: usize = 48;

fn hash(key: &str) -> u64 {
    FxBuildHasher.hash_one(key)
}

/// The entries of a built map in order; keys are unique. Whoever changes them otherwise
/// than key by key makes it look through them anew.
#[derive(Debug, Default)]
pub struct Map {
    entries: Vec<Entry>,
    places: Option<Box<KeyPlaces>>,
}

/// First places of keys by the hash of their text, as they were when they came, and the
/// places that are gone since.
#[derive(Debug, Default)]
struct KeyPlaces {
    by_hash: FxHashMap<u64, u32>,
    /// In order.
    removed: Vec<u32>,
    /// Whether two keys have one hash.
    is_shared: bool,
}

impl KeyPlaces {
    fn of(entries: &[Entry]) -> KeyPlaces {
        let mut places = KeyPlaces::default();
        places.by_hash.reserve(entries.len());
        for (at, entry) in entries.iter().enumerate() {
            places.add(at, &entry.key_text());
        }
        places
    }

    fn add(&mut self, at: usize, key: &str) {
        let at = (at + self.removed.len()) as u32;
        match self.by_hash.entry(hash(key)) {
            std::collections::hash_map::Entry::Occupied(_) => self.is_shared = true,
            std::collections::hash_map::Entry::Vacant(entry) => drop(entry.insert(at)),
        }
    }

    fn find(&self, key: &str) -> Option<usize> {
        let at = self.by_hash.get(&hash(key))?;
        Some(*at as usize - self.removed.partition_point(|gone| gone < at))
    }

    fn remove(&mut self, key: &str) {
        if let Some(at) = self.by_hash.remove(&hash(key)) {
            let place = self.removed.partition_point(|gone| *gone < at);
            self.removed.insert(place, at);
        }
    }
}

impl Map {
    /// The place of a key.
    pub fn find(&self, key: &str) -> Option<usize> {
        let through = || self.entries.iter().position(|entry| entry.has_key(key));
        let Some(places) = &self.places else { return through() };
        let at = places.find(key)?;
        if self.entries.get(at).is_some_and(|entry| entry.has_key(key)) { Some(at) } else { through() }
    }

    /// As [`Map::find`], of a map that will be asked again.
    fn find_often(&mut self, key: &str) -> Option<usize> {
        if self.places.is_none() && self.entries.len() >= LARGE {
            self.places = Some(Box::new(KeyPlaces::of(&self.entries)));
        }
        self.find(key)
    }

    /// The value of a key, ready to be changed.
    pub fn value_mut(&mut self, key: &str) -> Option<&mut Node> {
        let at = self.find_often(key)?;
        self.entries.get_mut(at).map(|entry| &mut entry.value)
    }

    /// Write the value of a key, at its place when it exists, else with this node as the
    /// key at the end.
    pub fn set(&mut self, key: &str, value: Node, key_node: impl FnOnce() -> Node) {
        match self.find_often(key) {
            Some(at) => self.entries[at].value = value,
            None => {
                if let Some(places) = &mut self.places {
                    places.add(self.entries.len(), key);
                }
                self.entries.push(Entry { key: key_node(), value });
            }
        }
    }

    /// Take a key out.
    pub fn take(&mut self, key: &str) -> Option<Entry> {
        let at = self.find_often(key)?;
        match &mut self.places {
            Some(places) if places.is_shared => self.places = None,
            Some(places) => places.remove(key),
            None => {}
        }
        Some(self.entries.remove(at))
    }

    /// Take several keys out at once, none of them twice; false, and nothing is taken out,
    /// where one of them is not there.
    pub fn take_all(&mut self, keys: &FxHashSet<String>) -> bool {
        if !keys.iter().all(|key| self.find_often(key).is_some()) {
            return false;
        }
        let mut first = keys.iter().map(String::as_str).collect::<FxHashSet<&str>>();
        self.places = None;
        self.entries.retain(|entry| !first.remove(&*entry.key_text()));
        true
    }
}

impl Clone for Map {
    fn clone(&self) -> Map {
        Map::from(self.entries.clone())
    }
}

impl From<Vec<Entry>> for Map {
    fn from(entries: Vec<Entry>) -> Map {
        Map { entries, places: None }
    }
}

impl FromIterator<Entry> for Map {
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Map {
        Map::from(Vec::from_iter(entries))
    }
}

impl Deref for Map {
    type Target = Vec<Entry>;

    fn deref(&self) -> &Vec<Entry> {
        &self.entries
    }
}

impl DerefMut for Map {
    fn deref_mut(&mut self) -> &mut Vec<Entry> {
        self.places = None;
        &mut self.entries
    }
}

impl<'m> IntoIterator for &'m Map {
    type Item = &'m Entry;
    type IntoIter = std::slice::Iter<'m, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter()
    }
}

impl<'m> IntoIterator for &'m mut Map {
    type Item = &'m mut Entry;
    type IntoIter = std::slice::IterMut<'m, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl LargeMaps {
    /// A reader went past so many keys of one map.
    pub(super) fn passed(&self, source: &Arc<Source>, count: usize) {
        if count < LARGE || self.keys.get().is_some() {
            return;
        }
        let before = self.passed.fetch_add(count as u64, Ordering::Relaxed);
        if before > 4 * source.document().tokens.len() as u64 {
            self.keys.get_or_init(|| large_keys(source));
        }
    }

    /// The token of a key of a map; `Err` where it has to be looked for.
    pub(super) fn find(&self, source: &Arc<Source>, map: u32, key: &str) -> Result<Option<u32>, ()> {
        let keys = self.keys.get().and_then(|maps| maps.get(&map)).ok_or(())?;
        match keys.get(&hash(key)) {
            None => Ok(None),
            Some(at) if is_key(source, *at, key) => Ok(Some(*at)),
            Some(_) => Err(()),
        }
    }
}

/// First keys of each large map by the hashes of their texts.
fn large_keys(source: &Arc<Source>) -> FxHashMap<u32, FxHashMap<u64, u32>> {
    let tokens = &source.document().tokens;
    let mut found: FxHashMap<u32, FxHashMap<u64, u32>> = FxHashMap::default();
    for at in 0..tokens.len() as u32 {
        if tokens[at as usize].kind != TokenKind::Mapping || map_keys(source, at).count() < LARGE {
            continue;
        }
        let keys: &mut FxHashMap<u64, u32> = found.entry(at).or_default();
        for (key, text) in map_keys(source, at) {
            if let Some(text) = text {
                keys.entry(hash(&text)).or_insert(key);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::yaml::{Value, parse_nodes};

    fn entry(key: &str, value: i64) -> Entry {
        Entry { key: Node::string(key, None), value: Node::scalar(Value::Int(value), None) }
    }

    /// Whatever is done to a large map, key by key or otherwise, it holds what a list of
    /// its entries holds.
    #[test]
    fn keys_stand_where_they_are_found() {
        let mut map = Map::default();
        let mut list: Vec<(String, i64)> = Vec::new();
        let mut state = 7_u64;
        for step in 0..6000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = format!("k{}", (state >> 33) % 300);
            let known = list.iter().position(|(known, _)| *known == key);
            match (state >> 20) % 8 {
                0 | 1 => {
                    assert_eq!(map.take(&key).is_some(), known.is_some(), "{step}");
                    known.map(|at| list.remove(at));
                }
                2 if step % 70 == 0 => {
                    let keys = [key.clone(), "k1".to_owned(), "k2".to_owned()].into_iter().collect();
                    let before = list.len();
                    let all = [&key, "k1", "k2"].iter().all(|key| list.iter().any(|(known, _)| known == key));
                    if all {
                        list.retain(|(known, _)| *known != key && known != "k1" && known != "k2");
                    }
                    assert_eq!(map.take_all(&keys), list.len() < before, "{step}");
                }
                2 if step % 50 == 0 => {
                    map.reverse();
                    list.reverse();
                }
                3 => assert_eq!(map.value_mut(&key).is_some(), known.is_some(), "{step}"),
                _ => {
                    map.set(&key, entry("", step).value, || Node::string(&key, None));
                    match known {
                        Some(at) => list[at].1 = step,
                        None => list.push((key.clone(), step)),
                    }
                }
            }
            assert_eq!(map.find(&key), list.iter().position(|(known, _)| *known == key), "{step}");
        }
        let found = map.iter().map(|entry| (entry.key_text().into_owned(), entry.value.get_ref().as_int()));
        assert!(found.eq(list.into_iter().map(|(key, value)| (key, Some(value)))));
    }

    /// Of keys that stand twice the first counts, before and after it is known where they
    /// stand; a key in quotes is one too.
    #[test]
    fn large_maps_of_a_text_answer_the_same_when_asked_often() {
        let mut text = String::from("a: {k1: small}\nb:\n");
        for at in 0..200 {
            text += &format!("  \"k{at}\": v{at}\n  k{}: w{at}\n", at % 100);
        }
        let node = parse_nodes("a.yaml", &text).remove(0);
        let map = node.get_ref().get("b").expect("a map");
        for round in 0..50 {
            for at in 0..210 {
                let found = map.str_at(&format!("/k{at}"));
                let expected = (at < 200).then(|| format!("v{at}"));
                // Of the first hundred some stand as plain keys before.
                let same = found.as_deref() == expected.as_deref();
                assert!(same, "{round} {at}: {found:?}");
            }
            let small = node.get_ref().str_at("/a/k1");
            assert_eq!(small.as_deref(), Some("small"));
        }
    }
}
