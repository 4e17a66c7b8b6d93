//! Texts from files in Markdown.

use super::clean;

/// Who shows the Markdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkdownViewer {
    /// GitHub, GitLab and their like: names mention people there, numbers refer to issues.
    Forge,
    /// An editor, which shows comments of HTML as text.
    Editor,
}

/// Parts words that a forge would read as one; nobody sees it.
const GAP: &str = "<!-- -->";

/// Text that Markdown shows as it is: no markup, no mention, no link.
pub(crate) fn literal(text: &str, reader: MarkdownViewer) -> String {
    let text = clean(text);
    let gap = if reader == MarkdownViewer::Forge { GAP } else { "" };
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut last = ' ';
    while let Some(c) = rest.next() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '*' | '_' | '[' | ']' | '~' | '|' | '`' | '!' | '$' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '@' | '#' => {
                escaped.push('\\');
                escaped.push(c);
                escaped.push_str(gap);
            }
            // An address would become a link.
            '/' if last == ':' => {
                escaped.push_str(gap);
                escaped.push_str("\\/");
            }
            '.' if ends_with(&escaped, "www") => {
                escaped.push_str(gap);
                escaped.push_str("\\.");
            }
            '-' if ends_with(&escaped, "gh") => {
                escaped.push_str(gap);
                escaped.push('-');
            }
            c => escaped.push(c),
        }
        // References of GitLab: merge requests, milestones, snippets, labels, epics.
        let refers = rest.peek().is_some_and(|next| next.is_alphanumeric() || matches!(next, '"' | '{'));
        if refers && matches!(c, '!' | '%' | '$' | '~' | '&' | '^') {
            escaped.push_str(gap);
        }
        last = c;
    }
    if reader == MarkdownViewer::Forge { without_commits(&escaped) } else { escaped }
}

/// Whether a text ends so, in whatever letter case.
fn ends_with(text: &str, end: &str) -> bool {
    let start = text.len().checked_sub(end.len());
    start.is_some_and(|start| text.as_bytes()[start..].eq_ignore_ascii_case(end.as_bytes()))
}

/// The shortest word that forges take for the hash of a commit, and link.
const SHORTEST_HASH: usize = 7;

/// Text in which no word looks like the hash of a commit.
fn without_commits(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let end = word.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(word.len());
        let (hash, rest) = word.split_at(end);
        // Words of letters alone are words.
        let is_hash = hash.len() >= SHORTEST_HASH
            && hash.bytes().all(|b| b.is_ascii_hexdigit())
            && hash.bytes().any(|b| b.is_ascii_digit());
        for (at, c) in hash.char_indices() {
            if is_hash && at > 0 && at % (SHORTEST_HASH - 1) == 0 {
                out.push_str(GAP);
            }
            out.push(c);
        }
        out.push_str(rest);
    }
    out
}

/// Text as code.
pub(crate) fn code(text: &str) -> String {
    let text = clean(text);
    let fence = "`".repeat(longest(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Lines as a block of code.
pub(crate) fn block(text: &str) -> String {
    let fence = "`".repeat(longest(text).max(2) + 1);
    let lines: Vec<_> = text.trim_end().split('\n').map(clean).collect();
    format!("{fence}text\n{}\n{fence}", lines.join("\n"))
}

/// The longest run of backquotes.
fn longest(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_files_are_no_markup() {
        for (text, forge, editor) in [
            (
                "<img src=x> @team #1 |",
                "&lt;img src=x&gt; \\@<!-- -->team \\#<!-- -->1 \\|",
                "&lt;img src=x&gt; \\@team \\#1 \\|",
            ),
            (
                "[a](javascript:x) **b**",
                "\\[a\\](javascript:x) \\*\\*b\\*\\*",
                "\\[a\\](javascript:x) \\*\\*b\\*\\*",
            ),
            ("see https://example.com", "see https:<!-- -->\\//example.com", "see https:\\//example.com"),
            (
                "www.example.com GH-1 !1",
                "www<!-- -->\\.example.com GH<!-- -->-1 \\!<!-- -->1",
                "www\\.example.com GH-1 \\!1",
            ),
            ("a\u{200b}b", "a\\\\u{200b}b", "a\\\\u{200b}b"),
        ] {
            assert_eq!(literal(text, MarkdownViewer::Forge), forge, "{text}");
            assert_eq!(literal(text, MarkdownViewer::Editor), editor, "{text}");
        }
        let hash = "at 16c999e8c711, 16C999E, a1b2c3 defaced x16c999e";
        let parted = "at 16c999<!-- -->e8c711, 16C999<!-- -->E, a1b2c3 defaced x16c999e";
        assert_eq!(literal(hash, MarkdownViewer::Forge), parted);
        assert_eq!(literal(hash, MarkdownViewer::Editor), hash);
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(block("a\n```\n[x](y)"), "````text\na\n```\n[x](y)\n````");
    }
}
