//! Names that are usually written: where three objects name `longhorn` and one names
//! `longorn`, that one is misspelled, whoever makes the thing itself.

use crate::lang::text::{Word, Words};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::OnceLock;

/// How many objects have to write a name before another one may be held against it.
const USUAL: usize = 3;

/// Letters of the shortest word of which one may be wrong: `dev` is no misspelled `def`.
const SHORTEST: usize = 4;

/// How often names are written, by what they name and in which namespace.
#[derive(Default)]
pub(crate) struct Usual<'a> {
    kinds: FxHashMap<Cow<'a, str>, FxHashMap<Cow<'a, str>, NamesOfKind<'a>>>,
}

/// The names of one kind and namespace.
#[derive(Default)]
struct NamesOfKind<'a> {
    /// How many objects write each, and the number of the last of them.
    written: FxHashMap<Cow<'a, str>, (usize, usize)>,
    /// Those that enough objects write.
    usual: OnceLock<Words<String>>,
}

impl<'a> Usual<'a> {
    /// Notes a name that an object writes. Objects come in their order, each with a number
    /// of its own.
    pub(crate) fn add(&mut self, kind: Cow<'a, str>, namespace: Cow<'a, str>, name: Cow<'a, str>, by: usize) {
        let names = self.kinds.entry(kind).or_default().entry(namespace).or_default();
        let (count, last) = names.written.entry(name).or_insert((0, usize::MAX));
        if *last != by {
            (*count, *last) = (*count + 1, by);
        }
    }

    /// Whether an object writes a name.
    pub(crate) fn is_written(&self, kind: &str, namespace: &str, name: &str) -> bool {
        let names = self.kinds.get(kind).and_then(|namespaces| namespaces.get(namespace));
        names.is_some_and(|names| names.written.contains_key(name))
    }

    /// The name that was probably meant by one that a single object writes, and how many
    /// write that.
    pub(crate) fn meant(&self, kind: &str, namespace: &str, name: &str) -> Option<(&str, usize)> {
        let names = self.kinds.get(kind)?.get(namespace)?;
        if names.written.get(name).is_some_and(|(count, _)| *count > 1) {
            return None;
        }
        let usual = names.usual.get_or_init(|| {
            let usual = names.written.iter().filter(|(_, (count, _))| *count >= USUAL);
            let mut usual: Vec<String> = usual.map(|(name, _)| name.to_string()).collect();
            usual.sort_unstable();
            usual.into_iter().collect()
        });
        let word = Word::new(name, 1);
        let mut near = usual.near(&word).filter(|(_, usual)| is_slip(name, usual));
        let (_, meant) = near.next()?;
        // Two that are as near: nobody can say which.
        let is_only = near.next().is_none();
        is_only.then(|| (meant.as_str(), names.written.get(meant.as_str()).map_or(0, |(count, _)| *count)))
    }
}

/// Whether one name is another with a letter wrong, missing or too much, or two letters
/// swapped, in a word long enough to tell, and not one that people write beside it: another
/// number, a plural, another beginning.
pub(crate) fn is_slip(name: &str, meant: &str) -> bool {
    let is_part = |c: char| !matches!(c, '-' | '.' | '_' | '/' | ':');
    let same = name.chars().zip(meant.chars()).take_while(|(one, other)| one == other).count();
    let word = |text: &str| {
        let text: Vec<char> = text.chars().collect();
        let at = same.min(text.len());
        let before = text[..at].iter().rev().take_while(|c| is_part(**c)).count();
        let after = text[at..].iter().take_while(|c| is_part(**c)).count();
        text[at - before..at + after].to_vec()
    };
    let (one, other) = (word(name), word(meant));
    let letters = |word: &[char]| word.iter().filter(|c| !c.is_ascii_digit()).collect::<String>();
    // No word ends in `ss` for being many.
    let is_plural = |one: &[char], other: &[char]| {
        one.split_last().is_some_and(|(s, rest)| (*s, rest) == ('s', other) && rest.last() != Some(&'s'))
    };
    let differing = one.iter().zip(&other).filter(|(one, other)| one != other).count();
    // `plex` is no `flex`, and `rw` no `ro`; a letter left out says more than another letter.
    let is_replaced = one.len() == other.len() && differing == 1;
    name != meant
        && other.len() >= if is_replaced { SHORTEST } else { SHORTEST - 1 }
        && !(is_replaced && one.first() != other.first())
        && letters(&one) != letters(&other)
        && !is_plural(&one, &other)
        && !is_plural(&other, &one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_told_from_siblings() {
        for (name, meant) in [
            ("longorn", "longhorn"),
            ("interna-nginx", "internal-nginx"),
            ("sops-ge", "sops-age"),
            ("ceph-lockpool", "ceph-blockpool"),
            ("longhron", "longhorn"),
            ("htp", "http"),
            ("servicess", "services"),
        ] {
            assert!(is_slip(name, meant), "{name} {meant}");
        }
        for (name, meant) in [
            ("db-ro", "db-rw"),
            ("node-1", "node-2"),
            ("metric", "metrics"),
            ("https", "http"),
            ("plex-config", "flex-config"),
            ("web", "web"),
            ("app-a", "app-b"),
        ] {
            assert!(!is_slip(name, meant), "{name} {meant}");
        }
    }
}
