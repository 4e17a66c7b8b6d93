//! `github`: workflow commands that become annotations.

use super::{Lint, place};
use crate::config::Level;
use crate::lint::Finding;
use crate::text::{clean, counted};
use std::io::{self, Write};

/// GitHub shows at most ten annotations of a level for each step.
const CAP: usize = 10;

/// Write annotations, errors first; above the cap, how many more there are.
pub fn write(out: &mut dyn Write, lint: &Lint<'_>) -> io::Result<()> {
    for (level, command) in [(Level::Error, "error"), (Level::Warning, "warning"), (Level::Info, "notice")] {
        let findings: Vec<&Finding> = lint.shown().filter(|finding| finding.level == level).collect();
        // The last place is kept for saying how many are left out.
        let shown = if findings.len() > CAP { CAP - 1 } else { findings.len() };
        for finding in &findings[..shown] {
            annotation(out, lint, finding, command)?;
        }
        if findings.len() > shown {
            let more = counted(findings.len() - shown, &format!("more {}", level.name()));
            writeln!(out, "::{command} title=forebay::{more} of forebay in the log and the summary")?;
        }
    }
    Ok(())
}

fn annotation(out: &mut dyn Write, lint: &Lint<'_>, finding: &Finding, command: &str) -> io::Result<()> {
    write!(out, "::{command} file={}", property(&lint.in_repository(&finding.location.path)))?;
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
        assert_eq!(property("x\n::error file=y,line=1::z"), "x\u{fffd}%3A%3Aerror file=y%2Cline=1%3A%3Az");
    }
}
