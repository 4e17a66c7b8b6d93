//! Counting in words.

/// `1 error`, `2 errors`.
pub(crate) fn counted(count: usize, one: &str) -> String {
    if count == 1 {
        return format!("1 {one}");
    }
    format!("{count} {}", plural(one))
}

/// `errors`, `HelmRepositories`, `Ingresses`.
pub(crate) fn plural(one: &str) -> String {
    let is_vowel = |stem: &str| stem.ends_with(['a', 'e', 'i', 'o', 'u']);
    match one.strip_suffix('y') {
        Some(stem) if !is_vowel(stem) => format!("{stem}ies"),
        _ if one.ends_with(['s', 'x']) || one.ends_with("ch") || one.ends_with("sh") => format!("{one}es"),
        _ => format!("{one}s"),
    }
}

/// `an Alert`, `a Gate`; `null` stays alone.
pub(crate) fn with_article(word: &str) -> String {
    match word.chars().next() {
        _ if word == "null" => word.to_owned(),
        Some('a' | 'e' | 'i' | 'o' | 'u' | 'A' | 'E' | 'I' | 'O') => format!("an {word}"),
        _ => format!("a {word}"),
    }
}

/// Lines of at most `width` columns where words allow; words, which may be
/// names or paths, stay whole, and none that looks like a workflow command
/// begins a further line.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        match lines.last_mut() {
            Some(line) if used + 1 + length <= width || crate::lang::text::is_command(word) => {
                line.push(' ');
                line.push_str(word);
                used += 1 + length;
            }
            _ => {
                lines.push(word.to_owned());
                used = length;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole() {
        assert_eq!(wrap("aa bb-cc ddddddd e", 5), ["aa", "bb-cc", "ddddddd", "e"]);
        assert_eq!(wrap("aa bb c", 5), ["aa bb", "c"]);
        assert_eq!(wrap("aa bb ::error::x y", 5), ["aa bb ::error::x", "y"]);
        assert!(wrap("  ", 5).is_empty());
    }

    #[test]
    fn articles_follow_the_word() {
        for (word, expected) in [
            ("Alert", "an Alert"),
            ("OCIRepository", "an OCIRepository"),
            ("Kustomization", "a Kustomization"),
            ("integer", "an integer"),
            ("null", "null"),
        ] {
            assert_eq!(with_article(word), expected);
        }
    }

    #[test]
    fn plurals_follow_the_count() {
        for (count, one, expected) in [
            (0, "error", "0 errors"),
            (1, "error", "1 error"),
            (2, "remote base", "2 remote bases"),
            (3, "directory", "3 directories"),
        ] {
            assert_eq!(counted(count, one), expected);
        }
    }
}
