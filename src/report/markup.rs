//! Text in XML and HTML.

use crate::lang::text::clean;

/// Text as it stands between tags and in values of attributes, in double quotes. XML 1.0
/// has no way to write control characters, and refuses two characters more.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_files_stays_text() {
        assert_eq!(escape("a<b>&\"c\"\u{1b}\u{ffff}"), "a&lt;b&gt;&amp;&quot;c&quot;\\u{1b}\u{fffd}");
    }
}
