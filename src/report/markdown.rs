//! `markdown`: for a job summary or a comment on a pull request.

use super::entries::{self, FindingGroup, by_text};
use super::{Lint, rule_url};
use crate::config::Level;
use crate::lang::text::markdown::{self, MarkdownViewer};
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
    let mut left: usize = entries.iter().map(FindingGroup::count).sum();
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
        out.push_str(&format!(
            "- {}: {}\n",
            reason.name().replace('-', " "),
            prose(not_checked.remedy(reason))
        ));
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

fn row(lint: &Lint<'_>, entry: &FindingGroup<'_>) -> String {
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
    let (also, more) = entries::also(entry);
    for other in also {
        what.push_str(&format!("<br>also: {}", prose(&other.title)));
    }
    if more > 0 {
        what.push_str(&format!("<br>also: {more} more of this rule at this place"));
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
            prose.push_str(if index % 2 == 1 { "\\`" } else { "" });
            prose.push_str(&literal(part));
        }
    }
    prose
}

/// Text that Markdown shows as it is: no markup, no mention, no link.
pub(crate) fn literal(text: &str) -> String {
    markdown::literal(text, MarkdownViewer::Forge)
}

/// Text as code in a table cell.
pub(crate) fn code(text: &str) -> String {
    markdown::code(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backquotes_of_sentences_are_code() {
        for (text, expected) in [
            ("Kustomization a/b: key `x` is", "Kustomization a/b: key `x` is"),
            ("code `a|b` **c**", "code `a\\|b` \\*\\*c\\*\\*"),
            ("an odd ` is text", "an odd \\` is text"),
        ] {
            assert_eq!(prose(text), expected, "{text}");
        }
        assert_eq!(code("a`b"), "``a`b``");
    }
}
