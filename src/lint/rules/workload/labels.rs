//! The Pods or Services of a namespace, by their labels, so that many selectors are held
//! against many of them in about as much work as there is of both.

use super::text;
use crate::lang::text::Words;
use crate::lang::yaml::NodeRef;
use crate::world::Effective;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::OnceCell;

/// So many that have a label are looked at to say which one a selector nearly selects.
const NEAR: usize = 256;

/// Objects of one namespace with their labels.
#[derive(Default)]
pub(super) struct Labelled<'a> {
    all: Vec<(&'a Effective, Option<NodeRef<'a>>)>,
    /// Places in `all`, by key and value.
    having: FxHashMap<(String, String), Vec<u32>>,
    /// Keys that one of them has with a value that is not known.
    unknown: FxHashSet<String>,
    /// Whether one of them has a key that is not known: it may be any.
    has_unknown_key: bool,
    keys: OnceCell<FxHashSet<String>>,
    values: OnceCell<FxHashMap<String, Words<String>>>,
}

impl<'a> Labelled<'a> {
    pub(super) fn push(&mut self, object: &'a Effective, labels: Option<NodeRef<'a>>) {
        let place = self.all.len() as u32;
        self.all.push((object, labels));
        for entry in labels.into_iter().flat_map(NodeRef::entries) {
            self.has_unknown_key |= entry.key_node.is_unknown();
            let key = entry.key.into_owned();
            match text(entry.value) {
                Some(value) => self.having.entry((key, value.into_owned())).or_default().push(place),
                None => {
                    self.unknown.insert(key);
                }
            }
        }
    }

    /// All of them.
    pub(super) fn objects(&self) -> impl Iterator<Item = &'a Effective> {
        self.all.iter().map(|(object, _)| *object)
    }

    /// Whether it is not known which value one of them has at a key.
    pub(super) fn is_unknown(&self, key: &str) -> bool {
        self.has_unknown_key || self.unknown.contains(key)
    }

    /// Whether one of them has a label of this key, whatever its value.
    pub(super) fn has_key(&self, key: &str) -> bool {
        self.keys.get_or_init(|| self.having.keys().map(|(key, _)| key.clone()).collect()).contains(key)
    }

    /// Those with all of these labels; none where there are no labels.
    pub(super) fn with<'w>(
        &'w self,
        wanted: &'w [(String, String)],
    ) -> impl Iterator<Item = &'a Effective> + use<'a, 'w> {
        let having = move |pair: &(String, String)| self.having.get(pair).map_or(&[][..], Vec::as_slice);
        let fewest = wanted.iter().map(having).min_by_key(|places| places.len()).unwrap_or_default();
        let has_all = move |place: &&u32| wanted.iter().all(|pair| having(pair).binary_search(place).is_ok());
        fewest.iter().filter(has_all).map(|place| self.all[*place as usize].0)
    }

    /// The one that has the most of these labels, and the place of the first that it lacks.
    pub(super) fn nearest(&self, wanted: &[(String, String)]) -> Option<(&'a Effective, usize)> {
        let mut counts: FxHashMap<u32, usize> = FxHashMap::default();
        for pair in wanted {
            for place in self.having.get(pair).into_iter().flatten().take(NEAR) {
                *counts.entry(*place).or_default() += 1;
            }
        }
        let most = counts.into_iter().map(|(place, count)| (count, std::cmp::Reverse(place))).max();
        let place = most.map_or(0, |(_, std::cmp::Reverse(place))| place);
        let (object, _) = self.all.get(place as usize)?;
        let has = |pair| self.having.get(pair).is_some_and(|places| places.binary_search(&place).is_ok());
        let lacking = wanted.iter().position(|pair| !has(pair))?;
        Some((object, lacking))
    }

    /// The value of a key that is nearest to another one.
    pub(super) fn value_like(&self, key: &str, value: &str) -> Option<&str> {
        let values = self.values.get_or_init(|| {
            let mut values: FxHashMap<&str, Vec<String>> = FxHashMap::default();
            for (key, value) in self.having.keys() {
                values.entry(key).or_default().push(value.clone());
            }
            values.into_iter().map(|(key, all)| (key.to_owned(), all.into_iter().collect())).collect()
        });
        values.get(key)?.nearest(value)
    }
}
