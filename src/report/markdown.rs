//! `markdown`: for a job summary or a comment on a pull request.

use super::entries::{self, Entry, by_text};
use super::{Lint, rule_url};
use crate::config::Level;
use crate::lang::text::{clean, counted};
use crate::lint::engine::NotChecked;
use std::io::{self, Write};

/// GitHub refuses comments above 65,536 characters.
const LIMIT: usize = 60_000;

/// Write the headline, a table of the findings, and what was not checked. The
/// marker in the first line lets a job find its own comment again.
pub fn write(out: &mut dyn Write, lint: &Lint<'_>) -> io::Result<()> {
    let entries = by_text(lint);
    let mut text = format!("<!-- forebay:lint -->\n### forebay: {}\n\n", headline(lint));
    let mut left: usize = entries.iter().map(Entry::count).sum();
    if left > 0 {
        text.push_str("| | Rule | Where | What |\n|---|---|---|---|\n");
        for level in [Level::Error, Level::Warning, Level::Info] {
            for entry in entries.iter().filter(|entry| entry.first.level == level) {
                let row = row(lint, entry);
                if text.len() + row.len() > LIMIT {
                    continue;
                }
                text.push_str(&row);
                left -= entry.count();
            }
        }
        text.push('\n');
    }
    if left > 0 {
        text.push_str(&format!("{} more not shown here.\n\n", counted(left, "finding")));
    }
    let outcome = lint.outcome;
    let mut looked = format!("{}, {}", counted(outcome.files, "file"), counted(outcome.objects, "object"));
    if !outcome.clusters.is_empty() {
        looked.push_str(&format!(" in {}", counted(outcome.clusters.len(), "cluster")));
    }
    if !outcome.suppressed.is_empty() {
        looked.push_str(&format!("; {} suppressed", outcome.suppressed.len()));
    }
    text.push_str(&looked);
    text.push_str(".\n");
    if let Some(line) = super::coverage::line(lint.world) {
        text.push_str(&format!("{}.\n", prose(&line)));
    }
    unchecked(&mut text, &outcome.not_checked);
    out.write_all(text.as_bytes())
}

/// What was not checked, and folded what would let it be.
pub(super) fn unchecked(out: &mut String, not_checked: &NotChecked) {
    if not_checked.is_empty() {
        return;
    }
    out.push_str(&format!("Not checked: {}.\n", super::unchecked::counts(not_checked)));
    out.push_str("\n<details><summary>What would let it be checked</summary>\n\n");
    for (reason, _) in not_checked.iter() {
        out.push_str(&format!("- {}: {}\n", reason.name().replace('-', " "), prose(reason.remedy())));
    }
    out.push_str("\n</details>\n");
}

fn headline(lint: &Lint<'_>) -> String {
    let levels = [Level::Error, Level::Warning, Level::Info].into_iter();
    let counts = levels.filter_map(|level| match lint.count(level) {
        0 => None,
        count => Some(counted(count, level.name())),
    });
    let counts: Vec<String> = counts.collect();
    if counts.is_empty() { "no findings".to_owned() } else { counts.join(", ") }
}

/// Places that a row names before it counts the rest.
const PLACES: usize = 20;

fn row(lint: &Lint<'_>, entry: &Entry<'_>) -> String {
    let finding = entry.first;
    let mark = match finding.level {
        Level::Error => "🔴 error",
        Level::Warning => "🟡 warning",
        Level::Info | Level::Off => "⚪ info",
    };
    let mut place = code(&lint.in_repository(&entries::at(lint, finding)));
    for other in entry.elsewhere.iter().take(PLACES) {
        place.push_str(&format!("<br>{}", code(&lint.in_repository(&entries::at(lint, other)))));
    }
    if entry.elsewhere.len() > PLACES {
        place.push_str(&format!("<br>and {}", counted(entry.elsewhere.len() - PLACES, "more place")));
    }
    let mut what = prose(&finding.title);
    for (lead, text) in [("", &finding.why), ("help: ", &finding.help)] {
        if !text.is_empty() {
            what.push_str("<br>");
            what.push_str(lead);
            what.push_str(&prose(text));
        }
    }
    for (lead, text) in [("in ", entries::clusters(lint, finding)), ("and ", entries::more_objects(finding))]
    {
        if let Some(text) = text {
            what.push_str(&format!("<br>{lead}{}", prose(&text)));
        }
    }
    if !entry.elsewhere.is_empty() {
        let mut names: Vec<&str> =
            entry.elsewhere.iter().take(PLACES).map(|other| entries::subject(other)).collect();
        names.dedup();
        what.push_str(&format!("<br>the same of {}", prose(&names.join(", "))));
    }
    for other in &entry.here {
        what.push_str(&format!("<br>also: {}", prose(&other.title)));
    }
    format!("| {mark} | [`{}`]({}) | {place} | {what} |\n", finding.rule.id, rule_url(finding.rule))
}

/// Our own sentences, in which backquotes mark code, with names from files in
/// them: everything else that Markdown reads is taken literally.
pub(crate) fn prose(text: &str) -> String {
    let text = clean(text);
    let parts: Vec<&str> = text.split('`').collect();
    let mut prose = String::new();
    for (index, part) in parts.iter().enumerate() {
        // What follows an odd backquote is text.
        if index % 2 == 1 && index + 1 < parts.len() {
            prose.push_str(&code(part));
        } else {
            prose.push_str(&literal(part));
        }
    }
    prose
}

/// Text that Markdown shows as it is: no markup, no mention, no link.
pub(crate) fn literal(text: &str) -> String {
    let text = clean(text);
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '*' | '_' | '[' | ']' | '~' | '|' | '`' | '!' | '$' => {
                escaped.push('\\');
                escaped.push(c);
            }
            // An invisible space keeps these from becoming mentions,
            // references and links.
            '@' | '#' => {
                escaped.push(c);
                escaped.push('\u{200b}');
            }
            c => escaped.push(c),
        }
        // References of GitLab: merge requests, milestones, snippets, labels, epics.
        let refers = rest.peek().is_some_and(|next| next.is_alphanumeric() || matches!(next, '"' | '{'));
        if refers && matches!(c, '!' | '%' | '$' | '~' | '&' | '^') {
            escaped.push('\u{200b}');
        }
    }
    let escaped = escaped.replace("://", ":\u{200b}//").replace("www.", "www\u{200b}.");
    let escaped = escaped.replace("GH-", "GH\u{200b}-").replace("gh-", "gh\u{200b}-");
    without_commits(&escaped)
}

/// The shortest word that forges take for the hash of a commit, and link.
const SHORTEST_HASH: usize = 7;

/// Text in which no word looks like the hash of a commit: an invisible space parts it.
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
                out.push('\u{200b}');
            }
            out.push(c);
        }
        out.push_str(rest);
    }
    out
}

/// Text as code in a table cell.
pub(crate) fn code(text: &str) -> String {
    let text = clean(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{pad}{}{pad}{fence}", text.replace('|', "\\|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_files_are_no_markup() {
        for (text, expected) in [
            ("Kustomization a/b: key `x` is", "Kustomization a/b: key `x` is"),
            ("<img src=x> @team #1 |", "&lt;img src=x&gt; @\u{200b}team #\u{200b}1 \\|"),
            ("[a](javascript:x) **b**", "\\[a\\](javascript:x) \\*\\*b\\*\\*"),
            ("see https://example.com", "see https:\u{200b}//example.com"),
            (
                "see www.example.com GH-1 !1 100%",
                "see www\u{200b}.example.com GH\u{200b}-1 \\!\u{200b}1 100%",
            ),
            ("code `a|b`", "code `a\\|b`"),
            (
                "at 16c999e8c71134401a78d4d46435517b2271d6ac.",
                "at 16c999\u{200b}e8c711\u{200b}34401a\u{200b}78d4d4\u{200b}643551\u{200b}7b2271\u{200b}d6ac.",
            ),
            ("16C999E, a1b2c3 defaced x16c999e", "16C999\u{200b}E, a1b2c3 defaced x16c999e"),
            (
                "code `16c999e8c71134401a78d4d46435517b2271d6ac`",
                "code `16c999e8c71134401a78d4d46435517b2271d6ac`",
            ),
        ] {
            assert_eq!(prose(text), expected, "{text}");
        }
        assert_eq!(code("a`b"), "``a`b``");
    }
}
