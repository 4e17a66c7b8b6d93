//! Names that other fields refer to.

use crate::lang::text::Words;
use rustc_hash::FxHashSet;
use std::borrow::Cow;
use std::cell::OnceCell;

/// Names in their order, looked up and compared in about as much work as there are lookups.
#[derive(Default)]
pub(crate) struct KnownNames<'a> {
    all: Vec<Cow<'a, str>>,
    set: FxHashSet<Cow<'a, str>>,
    words: OnceCell<Words<Cow<'a, str>>>,
}

impl<'a> KnownNames<'a> {
    /// Adds one; false where it is there already.
    pub(crate) fn push(&mut self, name: Cow<'a, str>) -> bool {
        self.all.push(name.clone());
        self.set.insert(name)
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.set.contains(name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The one that is nearest to a name that is none of them.
    pub(crate) fn nearest(&self, name: &str) -> Option<&str> {
        self.words.get_or_init(|| self.all.iter().cloned().collect()).nearest(name)
    }

    /// The first ones, in words, and how many more there are.
    pub(crate) fn first(&self) -> (String, usize) {
        const SHOWN: usize = 5;
        let shown: Vec<String> = self.all.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
        (shown.join(", "), self.all.len().saturating_sub(SHOWN))
    }
}

impl<'a> FromIterator<Cow<'a, str>> for KnownNames<'a> {
    fn from_iter<I: IntoIterator<Item = Cow<'a, str>>>(names: I) -> KnownNames<'a> {
        let mut known = KnownNames::default();
        for name in names {
            known.push(name);
        }
        known
    }
}
