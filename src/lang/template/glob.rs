//! Patterns of `gobwas/glob` with `/` as separator, by which Helm finds files.

use regex::Regex;

/// A pattern that is compiled. A bad one matches everything, as Helm has it.
pub(super) struct Glob(Option<Regex>);

impl Glob {
    pub(super) fn parse(pattern: &str) -> Glob {
        Glob(translated(pattern).and_then(|text| Regex::new(&text).ok()))
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|regex| regex.is_match(name))
    }
}

fn translated(pattern: &str) -> Option<String> {
    let mut out = String::from(r"(?s)\A");
    let mut chars = pattern.chars().peekable();
    let mut depth = 0;
    while let Some(c) = chars.next() {
        match c {
            '*' if chars.peek() == Some(&'*') => {
                while chars.next_if_eq(&'*').is_some() {}
                out.push_str(".*");
            }
            '*' => out.push_str("[^/]*"),
            '?' => out.push_str("[^/]"),
            '{' => {
                depth += 1;
                out.push_str("(?:");
            }
            '}' if depth > 0 => {
                depth -= 1;
                out.push(')');
            }
            ',' if depth > 0 => out.push('|'),
            '[' => out.push_str(&class(&mut chars)?),
            '\\' => out.push_str(&regex::escape(&chars.next()?.to_string())),
            c => out.push_str(&regex::escape(&c.to_string())),
        }
    }
    out.push_str(r"\z");
    (depth == 0).then_some(out)
}

/// `[abc]`, `[!abc]`, `[a-z]`.
fn class(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let negated = chars.next_if_eq(&'!').is_some();
    let mut members = Vec::new();
    loop {
        match chars.next()? {
            ']' if !members.is_empty() => break,
            '\\' => members.push(chars.next()?),
            c => members.push(c),
        }
    }
    let items = match *members {
        [low, '-', high] if low <= high => {
            format!("{}-{}", regex::escape(&low.to_string()), regex::escape(&high.to_string()))
        }
        [_, '-', _] => return None,
        _ => members.iter().map(|c| format!("\\x{{{:X}}}", *c as u32)).collect(),
    };
    Some(format!("[{}{items}]", if negated { "^" } else { "" }))
}
