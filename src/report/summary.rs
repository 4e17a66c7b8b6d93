//! The last lines of the formats that people read.

use super::Lint;
use crate::config::Level;
use crate::lang::text::{clean, counted};
use crate::lint::{Applicability, Finding};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Write what was looked at, what was not checked, and last the verdict: what a terminal
/// still shows.
pub(crate) fn write(out: &mut dyn Write, lint: &Lint<'_>) -> io::Result<()> {
    let outcome = lint.outcome;
    writeln!(out, "{}", looked(lint))?;
    if let Some(line) = (outcome.objects == 0).then(|| super::coverage::all_excluded(lint.world)).flatten() {
        super::unchecked::paragraph(out, &line, "  ", lint.width)?;
    }
    super::unchecked::write(out, &outcome.not_checked, lint.list_unchecked, lint.width)?;
    if let Some(line) = super::coverage::line(lint.world) {
        super::unchecked::paragraph(out, &line, "  ", lint.width)?;
    }
    first_steps(out, lint)?;
    if let Some(line) = besides(lint) {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "{}", verdict(lint))
}

/// `23 files, 38 documents, 38 objects in 2 clusters`.
fn looked(lint: &Lint<'_>) -> String {
    let outcome = lint.outcome;
    let mut looked = format!(
        "{}, {}, {}",
        counted(outcome.files, "file"),
        counted(outcome.documents, "document"),
        counted(outcome.objects, "object")
    );
    if !outcome.clusters.is_empty() {
        looked.push_str(&format!(" in {}", counted(outcome.clusters.len(), "cluster")));
    }
    looked
}

/// What was looked at, how far it was followed, and what else the counts say: a paragraph
/// each, for a report that is kept.
pub(super) fn scope(lint: &Lint<'_>) -> Vec<String> {
    let excluded = (lint.outcome.objects == 0).then(|| super::coverage::all_excluded(lint.world)).flatten();
    let lines = [Some(looked(lint)), excluded, super::coverage::line(lint.world), besides(lint)];
    lines.into_iter().flatten().collect()
}

/// Findings above which a first run ends with ways to begin.
const MANY: usize = 50;

/// How to begin with a repository that has many findings.
fn first_steps(out: &mut dyn Write, lint: &Lint<'_>) -> io::Result<()> {
    if !lint.begins || lint.shown().count() <= MANY {
        return Ok(());
    }
    out.write_all(
        b"many at once? these help to begin:\n\
          \x20 forebay lint --since main                                             what a branch adds\n\
          \x20 forebay lint --update-baseline                                        accept those of today\n",
    )?;
    if lint.is_configured {
        return Ok(());
    }
    out.write_all(
        b"\x20 forebay config init                                                   choose rules and paths\n",
    )
}

/// `Found 1 error, 2 warnings in 3 files`, the last line.
pub(super) fn verdict(lint: &Lint<'_>) -> String {
    let levels = [Level::Error, Level::Warning, Level::Info].into_iter();
    let counts = levels.filter(|level| *level >= lint.show).map(|level| (level, lint.count(level)));
    let shown: Vec<String> =
        counts.filter(|(_, count)| *count > 0).map(|(level, count)| counted(count, level.name())).collect();
    let files: BTreeSet<_> = lint.shown().map(|finding| &finding.location.file).collect();
    let hides = lint.outcome.findings.len() > lint.shown().count();
    match lint.show {
        _ if !shown.is_empty() => format!("Found {} in {}", shown.join(", "), counted(files.len(), "file")),
        Level::Error if hides => "No errors".to_owned(),
        Level::Warning if hides => "No errors or warnings".to_owned(),
        _ => "No findings".to_owned(),
    }
}

/// `4 infos (--show info); 1 fixable with --fix; 2 suppressed`; nothing where there is
/// nothing of that.
fn besides(lint: &Lint<'_>) -> Option<String> {
    let hidden = [Level::Error, Level::Warning, Level::Info].into_iter();
    let hidden = hidden.filter(|level| *level < lint.show && lint.count(*level) > 0);
    let hidden =
        hidden.map(|level| format!("{} (--show {})", counted(lint.count(level), level.name()), level.name()));
    let mut parts: Vec<String> = hidden.collect();
    parts.extend(fixable(&lint.outcome.findings));
    let accepted = lint.outcome.suppressed.iter().filter(|suppressed| suppressed.by_baseline).count();
    for (count, what) in [
        (lint.outcome.suppressed.len() - accepted, "suppressed"),
        (accepted, "in the baseline"),
        (lint.stale_baseline, "of the baseline gone (--prune-baseline)"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// How many findings can be fixed, and at what risk; nothing where none can.
pub(super) fn fixable(findings: &[Finding]) -> Option<String> {
    match (with_fix(findings, Applicability::Safe), with_fix(findings, Applicability::Unsafe)) {
        (0, 0) => None,
        (0, guesses) => Some(format!("{guesses} fixable with --fix=unsafe")),
        (sure, 0) => Some(format!("{sure} fixable with --fix")),
        (sure, guesses) => Some(format!("{sure} fixable with --fix, {guesses} more with --fix=unsafe")),
    }
}

/// How many findings have a fix of this certainty at best.
pub(super) fn with_fix(findings: &[Finding], applicability: Applicability) -> usize {
    let best = |finding: &Finding| finding.fixes.iter().map(|fix| fix.applicability).max();
    findings.iter().filter(|finding| best(finding) == Some(applicability)).count()
}

/// Write how many findings each rule has, the most first.
pub(crate) fn statistics(out: &mut dyn Write, lint: &Lint<'_>) -> io::Result<()> {
    let mut counts: BTreeMap<(&str, Level), usize> = BTreeMap::new();
    for finding in lint.shown() {
        *counts.entry((finding.rule.id, finding.level)).or_default() += 1;
    }
    let mut rows: Vec<_> = counts.into_iter().collect();
    rows.sort_by_key(|((rule, level), count)| (std::cmp::Reverse(*count), std::cmp::Reverse(*level), *rule));
    let width = rows.first().map_or(0, |(_, count)| count.to_string().len());
    for ((rule, level), count) in rows {
        writeln!(out, "{count:>width$}  {:<7}  {rule}", level.name())?;
    }
    let mut directories: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in lint.shown() {
        *directories.entry(directory(finding.location.file.shown())).or_default() += 1;
    }
    let mut rows: Vec<_> = directories.into_iter().collect();
    rows.sort_by_key(|(directory, count)| (std::cmp::Reverse(*count), *directory));
    if rows.len() > 1 {
        writeln!(out)?;
        for (directory, count) in rows {
            writeln!(out, "{count:>width$}  {}", clean(directory))?;
        }
    }
    Ok(())
}

/// The first two directories of a path: as deep as most repositories part teams,
/// clusters and applications.
fn directory(path: &str) -> &str {
    let mut slashes = path.match_indices('/').map(|(at, _)| at);
    let first = slashes.next();
    slashes.next().or(first).map_or(".", |at| &path[..at])
}
