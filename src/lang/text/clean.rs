//! Texts from files, made safe and short enough to print.

use std::borrow::Cow;
use std::fmt::Write;

/// A path of keys as people write it, with what nobody sees escaped.
pub(crate) fn dotted(path: &[impl AsRef<str>]) -> String {
    let keys: Vec<&str> = path.iter().map(AsRef::as_ref).collect();
    clean(&keys.join(".")).into_owned()
}

/// Text from a file, safe for a terminal, a log or a page: what can't be seen is shown as
/// `\u{200b}`, so that two names that differ by it look different. Control characters
/// (line ends included), what reorders text, and what has no width.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if text.is_ascii() && !text.bytes().any(|byte| byte.is_ascii_control()) {
        return text.into();
    }
    let mut before = ' ';
    let mut is_seen = |c: char| {
        let seen = is_visible(before, c);
        before = c;
        seen
    };
    if text.chars().all(&mut is_seen) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = ' ';
    for c in text.chars() {
        push(&mut out, before, c);
        before = c;
    }
    out.into()
}

/// Writes a character as [`clean`] shows it behind another one.
pub(crate) fn push(out: &mut String, before: char, c: char) {
    if is_visible(before, c) {
        out.push(c);
    } else {
        let _ = write!(out, "\\u{{{:x}}}", c as u32);
    }
}

/// Whether a character shows itself behind another one: those that choose the form of a
/// sign do so behind one.
pub(crate) fn is_visible(before: char, c: char) -> bool {
    match c {
        '\u{fe0e}' | '\u{fe0f}' => is_sign(before),
        c => !is_hostile(c),
    }
}

/// Whether a character is a pictograph, of which others choose the form and which others
/// join.
pub(crate) fn is_sign(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{203c}'..='\u{3299}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}')
}

/// A path at the start of a line: one that looks like a command to the runner
/// of a workflow (`::error::`, `##[…]`) is written as `./path`.
pub(crate) fn line_start(path: &str) -> String {
    let lead = if is_command(path) { "./" } else { "" };
    format!("{lead}{}", clean(path))
}

/// Whether the runner of a workflow takes a line that begins like this, blanks
/// aside, for a command.
pub(crate) fn is_command(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("::") || text.starts_with("##[")
}

/// Characters that make a terminal or a reader do something, or that nobody sees:
/// controls, those that show text in another order than it is, and what Unicode calls
/// default-ignorable, but for the two selectors that signs may have behind them.
pub(crate) fn is_hostile(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Shortens a text to a width: its middle becomes `…`, because the ends of
/// names, images and digests tell most.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let head = kept.div_ceil(2);
    let start = text.chars().take(head);
    start.chain(['…']).chain(text.chars().skip(count - (kept - head))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_shown() {
        for (text, expected) in [
            ("plain é 漢", "plain é 漢"),
            ("a\u{1b}[31mb", "a\\u{1b}[31mb"),
            ("a\r\n::error::b", "a\\u{d}\\u{a}::error::b"),
            ("a\u{202e}b\u{9b}c", "a\\u{202e}b\\u{9b}c"),
            ("pay\u{200b}pal \u{2066}\u{feff}\u{ad}", "pay\\u{200b}pal \\u{2066}\\u{feff}\\u{ad}"),
            ("a\u{e0041}\u{2028}", "a\\u{e0041}\\u{2028}"),
            ("\u{26a0}\u{fe0f} a\u{fe0f}", "\u{26a0}\u{fe0f} a\\u{fe0f}"),
        ] {
            assert_eq!(clean(text), expected);
            assert_eq!(clean(&clean(text)), expected);
        }
    }

    #[test]
    fn long_texts_lose_their_middle() {
        for (text, width, expected) in
            [("äöü", 3, "äöü"), ("äöüß", 3, "ä…ß"), ("abcdef", 4, "ab…f"), ("", 0, ""), ("abc", 1, "…")]
        {
            assert_eq!(shorten(text, width), expected);
        }
    }
}
