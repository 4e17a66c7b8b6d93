//! `concise`: one line per finding.

use super::{Lint, place, summary};
use crate::text::{clean, line_start};
use std::io::{self, Write};

/// Write `path:line:column: level[rule] title`; without line and column where
/// the file is no text.
pub fn write(out: &mut dyn Write, lint: &Lint<'_>) -> io::Result<()> {
    for finding in lint.shown() {
        write!(out, "{}", line_start(&finding.location.path))?;
        if let Some(place) = place(lint.snapshot(), &finding.location) {
            write!(out, ":{}:{}", place.from.0, place.from.1)?;
        }
        writeln!(out, ": {}[{}] {}", finding.level.name(), finding.rule.id, clean(&finding.title))?;
    }
    if lint.summary { summary::write(out, lint) } else { Ok(()) }
}
