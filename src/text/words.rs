//! Counting in words.

/// `1 error`, `2 errors`.
pub(crate) fn counted(count: usize, one: &str) -> String {
    if count == 1 {
        return format!("1 {one}");
    }
    match one.strip_suffix('y') {
        Some(stem) => format!("{count} {stem}ies"),
        None => format!("{count} {one}s"),
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
            Some(line) if used + 1 + length <= width || crate::text::is_command(word) => {
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

/// What was not checked for a reason, in words: `3 references to configs`.
pub(crate) fn unchecked(count: usize, reason: &str) -> String {
    let words = match reason {
        "helm-chart" => "Helm chart".to_owned(),
        "git-lfs" => "Git LFS pointer".to_owned(),
        "git-crypt" => "git-crypt file".to_owned(),
        "missing-git-object" => "missing Git object".to_owned(),
        "path-not-utf8" => "path outside UTF-8".to_owned(),
        "source-of-most" => "source of most Kustomizations".to_owned(),
        "beyond-total-of-input" => "file beyond the total of input".to_owned(),
        "cronjob-command" => "command of a CronJob".to_owned(),
        "cluster-api-reference" => "reference to Cluster API objects".to_owned(),
        other => other.replace('-', " "),
    };
    for link in [" to ", " into ", " of ", " without ", " outside ", " not ", " in ", " beyond "] {
        if let Some((thing, rest)) = words.split_once(link) {
            return format!("{}{link}{rest}", counted(count, thing));
        }
    }
    counted(count, &words)
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
        for (count, reason, expected) in [
            (1, "helm-chart", "1 Helm chart"),
            (2, "reference-to-config", "2 references to config"),
            (2, "reference-without-entry-point", "2 references without entry point"),
            (2, "path-not-utf8", "2 paths outside UTF-8"),
            (3, "template", "3 templates"),
            (2, "template-not-here", "2 templates not here"),
            (2, "changed-file-in-partial-build", "2 changed files in partial build"),
        ] {
            assert_eq!(unchecked(count, reason), expected);
        }
    }
}
