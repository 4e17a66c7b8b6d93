//! `.helmignore`, as Helm's `pkg/ignore` reads it.

use super::error::{RenderError, refuse};

/// The rules of a chart's directory.
#[derive(Debug, Default)]
pub(super) struct Ignore {
    rules: Vec<IgnoreRule>,
}

#[derive(Debug)]
struct IgnoreRule {
    pattern: IgnoreWord,
    negate: bool,
    only_directories: bool,
    /// Matched against the base name alone.
    base: bool,
}

/// What a rule compares names with. Most rules are a name or `*.ext`.
#[derive(Debug)]
enum IgnoreWord {
    Name(String),
    Ending(String),
    Other(String),
}

impl IgnoreWord {
    fn of(text: &str) -> IgnoreWord {
        let is_plain = |text: &str| !text.contains(['*', '?', '[', '\\']);
        match text.strip_prefix('*') {
            None if is_plain(text) => IgnoreWord::Name(text.to_owned()),
            Some(end) if is_plain(end) && !end.contains('/') => IgnoreWord::Ending(end.to_owned()),
            _ => IgnoreWord::Other(text.to_owned()),
        }
    }

    fn fits(&self, name: &str) -> bool {
        match self {
            IgnoreWord::Name(own) => own == name,
            IgnoreWord::Ending(end) => name.ends_with(&**end) && !name.contains('/'),
            IgnoreWord::Other(pattern) => matches(pattern, name).unwrap_or(false),
        }
    }
}

impl Ignore {
    /// The rules of a text, and Helm's own.
    pub(super) fn parse(text: &str) -> Result<Ignore, RenderError> {
        let mut ignore = Ignore::default();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for line in text.lines() {
            ignore.add(line)?;
        }
        ignore.add("templates/.?*")?;
        Ok(ignore)
    }

    fn add(&mut self, line: &str) -> Result<(), RenderError> {
        let rule = line.trim();
        if rule.is_empty() || rule.starts_with('#') {
            return Ok(());
        }
        if rule.contains("**") {
            return refuse("double-star (**) syntax is not supported");
        }
        if matches(rule, "abc").is_none() {
            return refuse("syntax error in pattern");
        }
        let (negate, rule) = rule.strip_prefix('!').map_or((false, rule), |rest| (true, rest));
        let (only_directories, rule) = rule.strip_suffix('/').map_or((false, rule), |rest| (true, rest));
        let (base, pattern) = match rule.strip_prefix('/') {
            Some(rest) => (false, rest),
            None => (!rule.contains('/'), rule),
        };
        self.rules.push(IgnoreRule { pattern: IgnoreWord::of(pattern), negate, only_directories, base });
        Ok(())
    }

    /// Whether a path of the chart is left out.
    fn ignores(&self, path: &str, is_directory: bool) -> bool {
        for rule in &self.rules {
            let name = if rule.base { path.rsplit('/').next().unwrap_or(path) } else { path };
            let hit = || rule.pattern.fits(name);
            if rule.negate {
                if (rule.only_directories && !is_directory) || !hit() {
                    return true;
                }
            } else if (!rule.only_directories || is_directory) && hit() {
                return true;
            }
        }
        false
    }

    /// Whether a file is left out, by itself or with a directory around it.
    pub(super) fn excludes(&self, path: &str) -> bool {
        let directories = memchr::memchr_iter(b'/', path.as_bytes()).map(|at| &path[..at]);
        directories.into_iter().any(|directory| self.ignores(directory, true)) || self.ignores(path, false)
    }
}

/// Go's `path.Match`; nothing where the pattern is malformed as far as it is looked at.
pub(super) fn matches(pattern: &str, name: &str) -> Option<bool> {
    // Most are a name or an ending.
    const SPECIAL: [char; 4] = ['*', '?', '[', '\\'];
    if !pattern.contains(SPECIAL) {
        return Some(pattern == name);
    }
    if let Some(end) = pattern.strip_prefix('*').filter(|end| !end.contains(SPECIAL)) {
        return Some(name.strip_suffix(end).is_some_and(|start| !start.contains('/')));
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    // Where the last star stands, and how much it takes.
    let mut star: Option<(usize, usize)> = None;
    let mut hit = true;
    loop {
        if p < pattern.len() && pattern[p] == '*' {
            p += 1;
            star = Some((p, n));
            continue;
        }
        if p == pattern.len() && n == name.len() {
            return Some(hit);
        }
        let step = if p < pattern.len() { one(&pattern, p, name.get(n).copied()) } else { Some((p, false)) };
        let (next, ok) = step?;
        if ok && n < name.len() && p < pattern.len() {
            (p, n) = (next, n + 1);
            continue;
        }
        match star {
            Some((after, from)) if from < name.len() && name[from] != '/' => {
                star = Some((after, from + 1));
                (p, n) = (after, from + 1);
            }
            _ => {
                hit = false;
                // The rest of the pattern is still checked.
                while p < pattern.len() {
                    p = if pattern[p] == '*' { p + 1 } else { one(&pattern, p, None)?.0 };
                }
                return Some(hit);
            }
        }
    }
}

/// One part of a pattern that is no star, against a character: what follows it, and
/// whether it fits.
fn one(pattern: &[char], at: usize, c: Option<char>) -> Option<(usize, bool)> {
    match pattern[at] {
        '?' => Some((at + 1, c.is_some_and(|c| c != '/'))),
        '\\' => pattern.get(at + 1).map(|escaped| (at + 2, c == Some(*escaped))),
        '[' => {
            let mut p = at + 1;
            let negated = pattern.get(p) == Some(&'^');
            p += usize::from(negated);
            let (mut fits, mut count) = (false, 0);
            loop {
                if pattern.get(p) == Some(&']') && count > 0 {
                    p += 1;
                    break;
                }
                let low = bound(pattern, &mut p)?;
                let mut high = low;
                if pattern.get(p) == Some(&'-') {
                    p += 1;
                    high = bound(pattern, &mut p)?;
                }
                fits |= c.is_some_and(|c| low <= c && c <= high);
                count += 1;
            }
            Some((p, c.is_some() && fits != negated))
        }
        own => Some((at + 1, c == Some(own))),
    }
}

fn bound(pattern: &[char], p: &mut usize) -> Option<char> {
    let mut c = *pattern.get(*p)?;
    if matches!(c, '-' | ']') {
        return None;
    }
    if c == '\\' {
        *p += 1;
        c = *pattern.get(*p)?;
    }
    *p += 1;
    // A class has to go on.
    (*p < pattern.len()).then_some(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_go() {
        for (pattern, name, expected) in [
            ("abc", "abc", Some(true)),
            ("*", "abc", Some(true)),
            ("*c", "abc", Some(true)),
            ("a*/b", "abc/b", Some(true)),
            ("a*/b", "a/c/b", Some(false)),
            ("a*b*c*d*e*/f", "axbxcxdxe/f", Some(true)),
            ("a*b?c*x", "abxbbxdbxebxczzx", Some(true)),
            ("ab[c]", "abc", Some(true)),
            ("ab[e-g]", "abc", Some(false)),
            ("ab[^c]", "abc", Some(false)),
            ("a\\*b", "a*b", Some(true)),
            ("a?b", "a☺b", Some(true)),
            ("a[^a]b", "a☺b", Some(true)),
            ("[a-ζ]*", "α", Some(true)),
            ("*[a-ζ]", "A", Some(false)),
            ("a?b", "a/b", Some(false)),
            ("[\\]a]", "]", Some(true)),
            ("[]a]", "]", None),
            ("[-]", "-", None),
            ("[x-]", "x", None),
            ("[-x]", "x", None),
            ("[a-b-c]", "a", None),
            ("[", "a", None),
            ("[^", "a", None),
            ("a[", "ab", None),
            ("*x", "xxx", Some(true)),
            ("", "", Some(true)),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn the_first_rule_that_fits_counts() {
        let ignore = Ignore::parse("# c\n*.md\n/docs/\nb/*.txt\n").expect("rules");
        for (path, expected) in [
            ("README.md", true),
            ("a/x.md", true),
            ("docs/a.yaml", true),
            ("a/docs/a.yaml", false),
            ("b/a.txt", true),
            ("b/c/a.txt", false),
            ("b/a.md", true),
            ("templates/.hidden", true),
            ("templates/a/.hidden", false),
        ] {
            assert_eq!(ignore.excludes(path), expected, "{path}");
        }
        assert!(Ignore::parse("!a\n").expect("rules").excludes("Chart.yaml"));
    }
}
