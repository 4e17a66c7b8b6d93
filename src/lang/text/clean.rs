//! Texts from files, made safe and short enough to print.

use std::borrow::Cow;

/// Text from a file, safe for a terminal or a log: control characters (line
/// ends included) and those that reorder text become U+FFFD.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if text.contains(is_hostile) { text.replace(is_hostile, "\u{fffd}").into() } else { text.into() }
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

/// Characters that make a terminal or a reader do something: controls, and the
/// bidirectional overrides that show text in another order than it is.
pub(crate) fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
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
    fn hostile_characters_are_replaced() {
        for (text, expected) in [
            ("plain é 漢", "plain é 漢"),
            ("a\u{1b}[31mb", "a\u{fffd}[31mb"),
            ("a\r\n::error::b", "a\u{fffd}\u{fffd}::error::b"),
            ("a\u{202e}b\u{9b}c", "a\u{fffd}b\u{fffd}c"),
        ] {
            assert_eq!(clean(text), expected);
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
