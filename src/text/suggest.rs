//! "did you mean": the candidate nearest to a misspelled word.

/// The candidate nearest to `word` by edit distance, when it is near enough to
/// be what was meant: at most 2, at most 1 for words up to 5 letters.
pub fn suggest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let limit = if word.chars().count() <= 5 { 1 } else { 2 };
    let near = candidates.into_iter().filter_map(|candidate| {
        let distance = edit_distance(word, candidate, limit)?;
        (distance > 0).then_some((distance, candidate))
    });
    near.min().map(|(_, candidate)| candidate)
}

/// Edits (insert, remove, replace, swap of neighbours) between two words;
/// `None` above `limit`.
pub fn edit_distance(a: &str, b: &str, limit: usize) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
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
        before = std::mem::replace(&mut last, row);
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
}
