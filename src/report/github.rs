//! `github`: workflow commands that become annotations.

use super::entries::{self, FindingGroup, by_place, by_text};
use super::{Lint, place};
use crate::config::Level;
use crate::lang::text::{clean, counted};
use std::io::{self, Write};

/// GitHub shows at most ten annotations of a level for each step.
const CAP: usize = 10;

/// Write annotations, errors first; above the cap, how many more there are.
pub fn write(out: &mut dyn Write, lint: &Lint<'_>) -> io::Result<()> {
    for (level, command) in [(Level::Error, "error"), (Level::Warning, "warning"), (Level::Info, "notice")] {
        let mut entries = by_place(lint);
        entries.retain(|entry| entry.first.level == level);
        // A note at each of its lines serves best, as long as there is room.
        if entries.len() > CAP {
            entries = by_text(lint);
            entries.retain(|entry| entry.first.level == level);
        }
        // The last place is kept for saying how many are left out.
        let shown = if entries.len() > CAP { CAP - 1 } else { entries.len() };
        for entry in &entries[..shown] {
            annotation(out, lint, entry, command)?;
        }
        if entries.len() > shown {
            let left: usize = entries[shown..].iter().map(FindingGroup::count).sum();
            let more = counted(left, &format!("more {}", level.name()));
            writeln!(out, "::{command} title=forebay::{more} of forebay in the log and the summary")?;
        }
    }
    Ok(())
}

fn annotation(
    out: &mut dyn Write,
    lint: &Lint<'_>,
    entry: &FindingGroup<'_>,
    command: &str,
) -> io::Result<()> {
    let finding = entry.first;
    write!(out, "::{command} file={}", property(&lint.in_repository(finding.location.file.shown())))?;
    if let Some(place) = place(lint.snapshot(), &finding.location) {
        write!(out, ",line={},endLine={}", place.from.0, place.to.0)?;
        // Columns are refused where a region spans lines.
        if place.from.0 == place.to.0 {
            write!(out, ",col={},endColumn={}", place.from.1, place.to.1)?;
        }
    }
    let mut message = clean(&finding.title).into_owned();
    for (lead, text) in [("\n", &finding.why), ("\nhelp: ", &finding.help)] {
        if !text.is_empty() {
            message.push_str(lead);
            message.push_str(&clean(text));
        }
    }
    for (lead, text) in
        [("\nin ", entries::clusters(lint, finding)), ("\nand ", entries::more_objects(finding))]
    {
        if let Some(text) = text {
            message.push_str(lead);
            message.push_str(&clean(&text));
        }
    }
    let (also, more) = entries::also(entry);
    for other in also {
        message.push_str(&format!("\nalso: {}", clean(&other.title)));
    }
    if more > 0 {
        message.push_str(&format!("\nalso: {more} more of this rule at this place"));
    }
    for other in &entry.elsewhere {
        let at = lint.in_repository(&entries::at(lint, other));
        message.push_str(&format!("\nalso: {} ({})", clean(entries::subject(other)), clean(&at)));
    }
    writeln!(out, ",title={}::{}", property(finding.rule.id), data(&message))
}

/// Escape the data of a workflow command, as the runner unescapes it.
pub(crate) fn data(text: &str) -> String {
    let text = text.split('\n').map(clean).collect::<Vec<_>>().join("\n");
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escape a property of a workflow command.
pub(crate) fn property(text: &str) -> String {
    data(&clean(text)).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_files_can_not_start_a_command() {
        assert_eq!(data("a%0A::error::b"), "a%250A::error::b");
        assert_eq!(data("one\ntwo"), "one%0Atwo");
        assert_eq!(property("x\n::error file=y,line=1::z"), "x\\u{a}%3A%3Aerror file=y%2Cline=1%3A%3Az");
    }
}
