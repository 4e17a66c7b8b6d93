//! `junit`: a suite for each file, a case for each finding. Those fail that make the exit
//! code 1; others pass, with what was found as their output.

use super::markup::escape;
use super::{Lint, place};
use crate::lint::Finding;
use std::io::{self, Write};

/// Write the report. Without findings it holds one case that passes, so that
/// readers do not take it for a run that did not happen.
pub fn write(out: &mut dyn Write, lint: &Lint<'_>) -> io::Result<()> {
    let findings: Vec<&Finding> = lint.shown().collect();
    let tests = findings.len().max(1);
    let failed = |findings: &[&Finding]| findings.iter().filter(|finding| fails(lint, finding)).count();
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, r#"<testsuites name="forebay" tests="{tests}" failures="{}">"#, failed(&findings))?;
    if findings.is_empty() {
        writeln!(out, r#"  <testsuite name="forebay" tests="1" failures="0">"#)?;
        writeln!(out, r#"    <testcase classname="forebay" name="lint"/>"#)?;
        writeln!(out, "  </testsuite>")?;
    }
    for file in findings.chunk_by(|a, b| a.location.file == b.location.file) {
        let path = escape(file[0].location.file.shown());
        let count = file.len();
        writeln!(out, r#"  <testsuite name="{path}" tests="{count}" failures="{}">"#, failed(file))?;
        for finding in file {
            case(out, lint, finding, &path)?;
        }
        writeln!(out, "  </testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}

fn case(out: &mut dyn Write, lint: &Lint<'_>, finding: &Finding, path: &str) -> io::Result<()> {
    let (line, column) = place(lint.snapshot(), &finding.location).map_or((1, 1), |place| place.from);
    let (rule, level, title) = (finding.rule.id, finding.level.name(), escape(&finding.title));
    writeln!(
        out,
        r#"    <testcase classname="{path}" name="{rule}:{line}:{column}" file="{path}" line="{line}">"#
    )?;
    let failure = format!(r#"<failure type="{level}" message="{title}">"#);
    let (open, close) = match fails(lint, finding) {
        true => (failure, "</failure>"),
        false => (format!("<system-out>{level}: {title}\n"), "</system-out>"),
    };
    writeln!(out, "      {open}{path}:{line}:{column}")?;
    for text in [&finding.why, &finding.help] {
        if !text.is_empty() {
            writeln!(out, "{}", escape(text))?;
        }
    }
    writeln!(out, "{close}\n    </testcase>")
}

/// Whether a finding makes the exit code 1.
fn fails(lint: &Lint<'_>, finding: &Finding) -> bool {
    lint.fails_at.is_some_and(|threshold| finding.level >= threshold)
}
