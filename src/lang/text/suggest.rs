//! "did you mean": the candidate nearest to a misspelled word.

use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The candidate nearest to `word` by edit distance, when it is near enough to
/// be what was meant ([`Word::like`]).
pub(crate) fn suggest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let word = Word::like(word);
    let near = candidates.into_iter().filter_map(|candidate| {
        let distance = word.distance(candidate)?;
        (distance > 0).then_some((distance, candidate))
    });
    near.min().map(|(_, candidate)| candidate)
}

/// Names of one level that a wrong one is compared with. No kind of Kubernetes has as many.
const COMPARED_NAMES: usize = 500;

/// The name that was surely meant: another letter case or other separators, else
/// the only one that is near.
pub(crate) fn nearest<'n>(word: &str, names: impl Iterator<Item = &'n str> + Clone) -> Option<&'n str> {
    if names.clone().nth(COMPARED_NAMES).is_some() {
        return None;
    }
    let wanted = plain(word);
    let mut same = names.clone().filter(|name| plain(name) == wanted && *name != word);
    if let (Some(only), None) = (same.next(), same.next()) {
        return Some(only);
    }
    let near = suggest(word, names.clone())?;
    let distance = |name: &str| edit_distance(word, name, 2);
    let least = distance(near)?;
    let mut nearest = names.filter(|name| distance(name) == Some(least));
    nearest.next().filter(|_| nearest.next().is_none())
}

/// Names of one level that many wrong ones are compared with ([`nearest`]).
#[derive(Debug)]
pub(crate) struct Names<W> {
    words: Words<W>,
    /// The only name of a plain form; nothing where there are several.
    plain: FxHashMap<String, Option<u32>>,
}

/// A name without its separators, in small letters.
fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace(['-', '_'], "")
}

impl<W: AsRef<str>> FromIterator<W> for Names<W> {
    fn from_iter<I: IntoIterator<Item = W>>(names: I) -> Names<W> {
        let words: Words<W> = names.into_iter().collect();
        let mut forms: FxHashMap<String, Option<u32>> = FxHashMap::default();
        for (place, (_, name)) in words.all.iter().enumerate() {
            let form = forms.entry(plain(name.as_ref()));
            form.and_modify(|only| *only = None).or_insert(Some(place as u32));
        }
        Names { words, plain: forms }
    }
}

impl<W: AsRef<str>> Names<W> {
    /// The name that was surely meant by a word that is none of them.
    pub(crate) fn nearest(&self, word: &str) -> Option<&str> {
        if self.words.all.len() > COMPARED_NAMES {
            return None;
        }
        if let Some(Some(only)) = self.plain.get(&plain(word)) {
            return Some(self.words.all[*only as usize].1.as_ref());
        }
        let like = Word::like(word);
        let near: Vec<(usize, &str)> = self
            .words
            .near(&like)
            .filter(|(distance, _)| *distance > 0)
            .map(|(distance, name)| (distance, name.as_ref()))
            .collect();
        let least = near.iter().map(|(distance, _)| *distance).min()?;
        let mut nearest = near.iter().filter(|(distance, _)| *distance == least);
        let only = nearest.next().filter(|_| nearest.next().is_none())?;
        (least <= MOST_EDITS).then_some(only.1)
    }
}

/// Candidates that many misspelled words are held against.
#[derive(Debug)]
pub(crate) struct Words<W> {
    /// With their letters, in their order.
    all: Vec<(u64, W)>,
    /// Places in `all` by length; `None` has those that are not ASCII.
    by_length: FxHashMap<Option<usize>, Vec<u32>>,
    /// How many were looked at so far: the index is made when that was more work than to
    /// make it.
    looked_at: AtomicUsize,
    index: OnceLock<Vec<(u32, u32)>>,
}

impl<W: AsRef<str>> Words<W> {
    /// Those near a word, itself included, with the edits to each, in their order among
    /// those of one length.
    pub(crate) fn near<'s>(&'s self, word: &Word<'_>) -> impl Iterator<Item = (usize, &'s W)> {
        let mut places = match self.index(word) {
            Some(index) => found(index, word),
            None => self.of_like_length(word),
        };
        places.extend(self.by_length.get(&None).into_iter().flatten());
        places.into_iter().filter_map(|place| {
            let (letters, candidate) = &self.all[place as usize];
            Some((word.distance_to(candidate.as_ref(), *letters)?, candidate))
        })
    }

    /// The nearest one ([`suggest`]).
    pub(crate) fn nearest(&self, word: &str) -> Option<&str> {
        let word = Word::like(word);
        let near = self.near(&word).filter(|(distance, _)| *distance > 0);
        let nearest = near.map(|(distance, candidate)| (distance, candidate.as_ref())).min();
        nearest.map(|(_, candidate)| candidate)
    }

    fn of_like_length(&self, word: &Word<'_>) -> Vec<u32> {
        let length = word.text.chars().count();
        let lengths = length.saturating_sub(word.limit)..=length + word.limit;
        let same = lengths.filter_map(|length| self.by_length.get(&Some(length)));
        let may_be = |place: &u32| word.may_be(self.all[*place as usize].0);
        same.flatten().copied().filter(may_be).collect()
    }

    /// Each candidate by what is left of it without some letters ([`left_of`]), once that
    /// pays.
    fn index(&self, word: &Word<'_>) -> Option<&[(u32, u32)]> {
        if word.limit > MOST_EDITS || !word.text.is_ascii() {
            return None;
        }
        let size = |length: usize| 1 + length + length * length.saturating_sub(1) / 2;
        let ascii = || self.by_length.iter().filter_map(|(length, places)| Some(((*length)?, places)));
        if self.index.get().is_none() {
            let count = ascii().map(|(_, places)| places.len()).sum();
            let looked_at = self.looked_at.fetch_add(count, Ordering::Relaxed);
            let whole: usize = ascii().map(|(length, places)| size(length) * places.len()).sum();
            if looked_at < whole || whole > INDEX_LIMIT {
                return None;
            }
        }
        Some(self.index.get_or_init(|| {
            let mut index = Vec::new();
            for place in ascii().flat_map(|(_, places)| places) {
                let text = self.all[*place as usize].1.as_ref();
                left_of(text.as_bytes(), MOST_EDITS, &mut |left| index.push((left, *place)));
            }
            index.sort_unstable();
            index
        }))
    }
}

impl<W: AsRef<str>> FromIterator<W> for Words<W> {
    fn from_iter<I: IntoIterator<Item = W>>(candidates: I) -> Words<W> {
        let all: Vec<(u64, W)> =
            candidates.into_iter().map(|candidate| (letters(candidate.as_ref()), candidate)).collect();
        let mut by_length: FxHashMap<_, Vec<u32>> = FxHashMap::default();
        for (place, (_, candidate)) in all.iter().enumerate() {
            let text = candidate.as_ref();
            by_length.entry(text.is_ascii().then_some(text.len())).or_default().push(place as u32);
        }
        Words { all, by_length, looked_at: AtomicUsize::new(0), index: OnceLock::new() }
    }
}

/// Edits up to which an index tells what is near.
const MOST_EDITS: usize = 2;

/// Entries of the largest index: 32 MiB.
const INDEX_LIMIT: usize = 4 << 20;

/// The places of an index that may be near a word: each edit is undone by leaving out a
/// letter of one or of both.
fn found(index: &[(u32, u32)], word: &Word<'_>) -> Vec<u32> {
    let mut places = Vec::new();
    left_of(word.text.as_bytes(), word.limit, &mut |left| {
        let from = index.partition_point(|(known, _)| *known < left);
        places.extend(index[from..].iter().take_while(|(known, _)| *known == left).map(|(_, place)| *place));
    });
    places.sort_unstable();
    places.dedup();
    places
}

/// Hashes of a word and of what is left of it without up to so many letters.
fn left_of(word: &[u8], letters: usize, tell: &mut impl FnMut(u32)) {
    fn without(word: &mut Vec<u8>, from: usize, letters: usize, tell: &mut impl FnMut(u32)) {
        let mut hasher = FxHasher::default();
        hasher.write(word);
        tell(hasher.finish() as u32);
        if letters == 0 {
            return;
        }
        for at in from..word.len() {
            let letter = word.remove(at);
            without(word, at, letters - 1, tell);
            word.insert(at, letter);
        }
    }
    without(&mut word.to_vec(), 0, letters, tell);
}

/// Edits (insert, remove, replace, swap of neighbours) between two words;
/// `None` above `limit`.
pub(crate) fn edit_distance(a: &str, b: &str, limit: usize) -> Option<usize> {
    Word::new(a, limit).distance(b)
}

/// A word that many candidates are held against: every name of a kind is one, and next to
/// none is near.
pub(crate) struct Word<'w> {
    text: &'w str,
    limit: usize,
    /// Of one in ASCII.
    letters: Option<u64>,
}

impl<'w> Word<'w> {
    /// A word, and the edits up to which others are near.
    pub(crate) fn new(text: &'w str, limit: usize) -> Word<'w> {
        Word { text, limit, letters: text.is_ascii().then(|| letters(text)) }
    }

    /// A word that may be misspelled: by at most 2 edits, by at most 1 up to 5 letters.
    pub(crate) fn like(text: &'w str) -> Word<'w> {
        Word::new(text, if text.chars().count() <= 5 { 1 } else { 2 })
    }

    /// Whether a candidate of these letters may be near: an edit changes which letters a
    /// word has by two at most.
    fn may_be(&self, letters: u64) -> bool {
        self.letters
            .is_none_or(|known| (known ^ letters).count_ones() as usize <= self.limit.saturating_mul(2))
    }

    /// The edits to a candidate; `None` above the limit.
    pub(crate) fn distance(&self, candidate: &str) -> Option<usize> {
        self.distance_to(candidate, letters(candidate))
    }

    /// As [`Word::distance`], to a candidate of known letters.
    fn distance_to(&self, candidate: &str, letters: u64) -> Option<usize> {
        let (a, b, limit) = (self.text, candidate, self.limit);
        if self.letters.is_some() && b.is_ascii() {
            let far = a.len().abs_diff(b.len()) > limit || !self.may_be(letters);
            return if far { None } else { distance(a.as_bytes(), b.as_bytes(), limit) };
        }
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        distance(&a, &b, limit)
    }
}

/// The letters of a word, one bit for each or for several that share it.
fn letters(word: &str) -> u64 {
    word.bytes().fold(0, |letters, byte| letters | 1 << (byte & 63))
}

fn distance<T: PartialEq>(a: &[T], b: &[T], limit: usize) -> Option<usize> {
    if limit <= 2 { within(a, b, limit) } else { table(a, b).filter(|distance| *distance <= limit) }
}

/// The distance by trying each edit where two words first differ.
fn within<T: PartialEq>(a: &[T], b: &[T], limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let (a, b) = unlike(a, b);
    let ([first, a_rest @ ..], [other, b_rest @ ..]) = (a, b) else { return Some(a.len().max(b.len())) };
    let left = limit.checked_sub(1)?;
    let after_swap = match (a_rest, b_rest) {
        ([second, a_rest @ ..], [another, b_rest @ ..]) if first == another && second == other => {
            Some((a_rest, b_rest))
        }
        _ => None,
    };
    if left == 0 {
        // What differs at both ends takes one edit only where it is nothing more than that.
        let swapped = after_swap.is_some_and(|(a, b)| a.is_empty() && b.is_empty());
        return (swapped || a_rest.is_empty() && b_rest.is_empty()).then_some(1);
    }
    let swapped = after_swap.and_then(|(a, b)| within(a, b, left));
    let edits = [swapped, within(a_rest, b_rest, left), within(a_rest, b, left), within(a, b_rest, left)];
    edits.into_iter().flatten().min().map(|edits| edits + 1)
}

/// Two words without what they begin and end with alike.
fn unlike<'w, T: PartialEq>(a: &'w [T], b: &'w [T]) -> (&'w [T], &'w [T]) {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    let same = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    (&a[..a.len() - same], &b[..b.len() - same])
}

/// The distance by the table of all beginnings of both.
fn table<T: PartialEq>(a: &[T], b: &[T]) -> Option<usize> {
    let (a, b) = unlike(a, b);
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut row: Vec<usize> = vec![0; b.len() + 1];
    for i in 1..=a.len() {
        row[0] = i;
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        std::mem::swap(&mut before, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last.last().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_near_or_none() {
        let names = ["infra-configs", "infra-controllers", "apps"];
        for (word, expected) in [
            ("infra-config", Some("infra-configs")),
            ("infra-cnofigs", Some("infra-configs")),
            ("app", Some("apps")),
            ("ap", None),
            ("apps", None),
            ("monitoring", None),
        ] {
            assert_eq!(suggest(word, names), expected, "{word}");
        }
    }

    #[test]
    fn many_names_are_compared_as_one_is() {
        let names =
            ["ingress", "ingress-Class", "ingressClass", "image", "imagePullPolicy", "a", "ab", "über"];
        let all: Names<&str> = names.into_iter().collect();
        // Often enough for an index to pay.
        for _ in 0..20 {
            for word in ["ingres", "ingress_class", "imagepullpolicy", "imgae", "ac", "uber", "none", ""] {
                assert_eq!(all.nearest(word), nearest(word, names.into_iter()), "{word}");
            }
        }
        let many: Names<String> = (0..=COMPARED_NAMES).map(|at| format!("name{at}")).collect();
        assert_eq!(many.nearest("nam1"), None);
    }

    #[test]
    fn an_edit_is_an_insert_a_removal_a_replacement_or_a_swap() {
        for (a, b, limit, expected) in [
            ("apps", "apps", 0, Some(0)),
            ("apps", "app", 1, Some(1)),
            ("apps", "paps", 1, Some(1)),
            ("apps", "xpps", 1, Some(1)),
            ("apps", "xppy", 1, None),
            ("apps", "xppy", 2, Some(2)),
            ("", "ab", 2, Some(2)),
            ("größe", "grösse", 2, Some(2)),
            ("größe", "große", 1, Some(1)),
            ("kubernetes", "flux", usize::MAX, Some(10)),
            ("intervall", "interval", 2, Some(1)),
            ("aab", "aba", 1, Some(1)),
        ] {
            assert_eq!(edit_distance(a, b, limit), expected, "{a} {b}");
            assert_eq!(edit_distance(b, a, limit), expected, "{b} {a}");
        }
    }

    #[test]
    fn few_edits_are_found_as_the_table_of_all_finds_them() {
        let mut words = vec![Vec::new()];
        for length in 0..4 {
            let longer: Vec<Vec<u8>> = words
                .iter()
                .filter(|word| word.len() == length)
                .flat_map(|word| b"abc".iter().map(|letter| [word.as_slice(), &[*letter]].concat()))
                .collect();
            words.extend(longer);
        }
        for a in &words {
            for b in &words {
                for limit in 0..=2 {
                    let all = table(a, b).filter(|distance| *distance <= limit);
                    assert_eq!(within(a, b, limit), all, "{a:?} {b:?} {limit}");
                }
            }
        }
    }

    #[test]
    fn those_near_are_the_same_with_an_index() {
        let name = |at: usize| match at % 7 {
            0 => format!("app-{at:03}"),
            1 => format!("team-{}-service-{}", at % 3, at / 7),
            2 => format!("größe-{at}"),
            _ => "abcabcab"[..at % 9].chars().rev().chain("xyz".chars().take(at % 4)).collect(),
        };
        let words: Words<String> = (0..300).map(name).collect();
        let mut indexed = 0;
        for at in 0..600 {
            let text = name(at * 5 + 1);
            let word = Word::like(&text);
            indexed += usize::from(words.index.get().is_some());
            let mut near: Vec<(usize, &String)> = words.near(&word).collect();
            let by_one = |(_, candidate): &(u64, String)| word.distance(candidate);
            let mut all: Vec<(usize, &String)> =
                words.all.iter().filter_map(|one| Some((by_one(one)?, &one.1))).collect();
            near.sort();
            all.sort();
            assert_eq!(near, all, "{text}");
        }
        assert!((20..580).contains(&indexed), "both ways were taken: {indexed}");
    }
}
