//! "did you mean": the candidate nearest to a misspelled word.

/// The candidate nearest to `word` by edit distance, when it is near enough to
/// be what was meant: at most 2, at most 1 for words up to 5 letters.
pub(crate) fn suggest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let limit = if word.chars().count() <= 5 { 1 } else { 2 };
    let near = candidates.into_iter().filter_map(|candidate| {
        let distance = edit_distance(word, candidate, limit)?;
        (distance > 0).then_some((distance, candidate))
    });
    near.min().map(|(_, candidate)| candidate)
}

/// Edits (insert, remove, replace, swap of neighbours) between two words;
/// `None` above `limit`.
pub(crate) fn edit_distance(a: &str, b: &str, limit: usize) -> Option<usize> {
    if a.is_ascii() && b.is_ascii() {
        if a.len().abs_diff(b.len()) > limit {
            return None;
        }
        // An edit changes which letters a word has by two at most. Every name of
        // a kind is a candidate, and next to none passes this.
        let differ = (letters(a) ^ letters(b)).count_ones() as usize;
        if differ > limit.saturating_mul(2) {
            return None;
        }
        return distance(a.as_bytes(), b.as_bytes(), limit);
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    distance(&a, &b, limit)
}

/// The letters of a word, one bit for each or for several that share it.
fn letters(word: &str) -> u64 {
    word.bytes().fold(0, |letters, byte| letters | 1 << (byte & 63))
}

fn distance<T: PartialEq>(a: &[T], b: &[T], limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    let same = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - same], &b[..b.len() - same]);
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
        if row.iter().min().is_some_and(|least| *least > limit) {
            return None;
        }
        std::mem::swap(&mut before, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last.last().copied().filter(|distance| *distance <= limit)
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
}
