//! The property of every plan: what is said to change is shown differently.

/// The first line that shows the same text on both sides of a change.
pub(crate) fn same_sides(text: &str) -> Option<String> {
    let mut removed: Option<&str> = None;
    for line in text.lines() {
        let trimmed = line.trim_start();
        if let Some(value) = trimmed.strip_prefix("- ") {
            removed = Some(value);
        } else if let Some(value) = trimmed.strip_prefix("+ ")
            && removed.take() == Some(value)
        {
            return Some(line.to_owned());
        }
        for (left, right) in
            line.match_indices(" -> ").map(|(at, arrow)| (&line[..at], &line[at + arrow.len()..]))
        {
            let right = right.split([' ', ',', ';']).next().unwrap_or("");
            if left.ends_with(&format!(" {right}")) {
                return Some(line.to_owned());
            }
        }
    }
    None
}
