//! `concise`: one line per place.

use super::entries::{self, by_place};
use super::{Lint, place, summary};
use crate::lang::text::{clean, counted, line_start};
use std::io::{self, Write};

/// Write `path:line:column: level[rule] title`; without line and column where
/// the file is no text.
pub fn write(out: &mut dyn Write, lint: &Lint<'_>) -> io::Result<()> {
    for entry in by_place(lint) {
        let finding = entry.first;
        write!(out, "{}", line_start(finding.location.file.shown()))?;
        if let Some(place) = place(lint.snapshot(), &finding.location) {
            write!(out, ":{}:{}", place.from.0, place.from.1)?;
        }
        write!(out, ": {}[{}] {}", finding.level.name(), finding.rule.id, clean(&finding.title))?;
        if finding.objects.len() > 1 && !finding.clusters.is_empty() {
            write!(out, " (and {})", counted(finding.objects.len() - 1, "more object"))?;
        }
        // Sentences about the same clusters name them at the end.
        let clusters = |finding| entries::clusters(lint, finding);
        let mut last = clusters(finding);
        for other in &entry.here {
            let next = clusters(other);
            if let Some(clusters) = last.filter(|last| next.as_ref() != Some(last)) {
                write!(out, " (in {})", clean(&clusters))?;
            }
            write!(out, "; {}", clean(&other.title))?;
            last = next;
        }
        if let Some(clusters) = last {
            write!(out, " (in {})", clean(&clusters))?;
        }
        writeln!(out)?;
    }
    if lint.summary { summary::write(out, lint) } else { Ok(()) }
}
