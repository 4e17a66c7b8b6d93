//! The plan for a terminal: the counts that matter, then per cluster the worst
//! first, one line per effect, consequences indented, the cause at the end.

use super::groups::{Entry, sections};
use super::{INDENT, Plan, changes, consequences, not_followed, phrases, places, tally, verb, wrapped};
use crate::lang::text::clean;
use crate::model::{Severity, Unchecked};
use crate::report::parts::{paragraph, width};
use std::fmt::Write as _;

/// The whole answer.
pub fn render(plan: &Plan<'_>) -> String {
    let mut out = String::new();
    if let Some(text) = not_followed(plan) {
        paragraph(&mut out, &text, "");
    }
    let _ = writeln!(out, "{} -> {}: {}", clean(plan.base), clean(&changes::head(plan)), tally(plan));
    if let Some(headline) = plan.headline() {
        let _ = writeln!(out, "{headline}");
    }
    let mut changed = changes::groups(plan);
    let sections = sections(plan);
    // Those that stand for themselves: before the rest where something stops, else behind.
    let is_alone = |(names, _): &(Vec<&str>, _)| sections.iter().all(|section| section.clusters != *names);
    let mut alone: Vec<_> = changed.extract_if(.., |one| is_alone(one)).collect();
    let is_bad = |(_, group): &changes::Group<'_>| {
        group.iter().any(|change| change.severity() == Severity::Disruptive)
    };
    let first: Vec<_> = alone.extract_if(.., |one| is_bad(one)).collect();
    for (names, group) in &first {
        heading(&mut out, names);
        changes::text(&mut out, plan, group);
    }
    for section in &sections {
        heading(&mut out, &section.clusters);
        // What breaks comes first, then why and what to do.
        let is_bad = |entry: &&Entry<'_>| {
            entry.effects[0].severity == Severity::Disruptive && entry.effects[0].when.is_none()
        };
        let bad = section.entries.iter().take_while(is_bad).count();
        for entry in &section.entries[..bad] {
            one(&mut out, plan, entry);
        }
        for (_, group) in changed.iter().filter(|(names, _)| *names == section.clusters) {
            changes::text(&mut out, plan, group);
        }
        for entry in &section.entries[bad..] {
            one(&mut out, plan, entry);
        }
    }
    for (names, group) in &alone {
        heading(&mut out, names);
        changes::text(&mut out, plan, group);
    }
    let new: Vec<&str> = plan.shown(&plan.new_findings).map(|finding| finding.rule.id).collect();
    let fixed = plan.shown(&plan.fixed_findings).count();
    if !new.is_empty() || fixed > 0 {
        let mut rules = new.clone();
        rules.sort_unstable();
        rules.dedup();
        let names = if rules.is_empty() { String::new() } else { format!(" ({})", rules.join(", ")) };
        let word = if new.len() == 1 { "finding" } else { "findings" };
        let _ = writeln!(out, "\n{} new {word}{names}, {fixed} fixed", new.len());
        for finding in plan.shown(&plan.new_findings) {
            let line = plan.head_world.snapshot.positions(&finding.location).0.0;
            let _ =
                writeln!(out, "  {} {}:{line}", clean(&finding.title), clean(finding.location.file.shown()));
        }
    }
    // What builds on neither side may have changed all the same.
    let is_blind = plan.not_checked.iter().any(|(reason, _)| reason == Unchecked::BuildFailsOnBothSides);
    let is_told = !plan.effects.is_empty() || plan.assumed.is_some();
    if !plan.not_checked.is_empty() && (is_blind || is_told) {
        out.push('\n');
        out.push_str(&crate::report::unchecked::text(plan.not_checked, width()));
    }
    if let Some(line) = crate::report::coverage::line(plan.head_world) {
        out.push('\n');
        paragraph(&mut out, &line, "  ");
    }
    out
}

/// The clusters of what follows.
fn heading(out: &mut String, clusters: &[&str]) {
    out.push('\n');
    match clusters {
        [] => {}
        [name] => drop(writeln!(out, "{}", clean(name))),
        names if names.len() <= 4 => drop(writeln!(out, "in {}", clean(&names.join(", ")))),
        names => {
            let text = format!("in {} clusters: {}", names.len(), names.join(", "));
            wrapped(out, &clean(&text), 2);
        }
    }
}

/// Objects of an entry that are named: of what is routine, a few.
fn named(severity: Severity) -> usize {
    if severity == Severity::Routine { 6 } else { 40 }
}

fn one(out: &mut String, plan: &Plan<'_>, entry: &Entry<'_>) {
    let effect = entry.effects[0];
    let verb = verb(effect);
    let verb = if effect.severity == Severity::Disruptive { verb.to_uppercase() } else { verb.to_owned() };
    let told = phrases(effect);
    let subject = entry.subject(named(effect.severity));
    let head = match &told[..] {
        [first, ..] if first.line.is_empty() => subject,
        [first, ..] => format!("{subject}: {}", first.line),
        [] => subject,
    };
    let _ = write!(out, "  {verb:9} ");
    wrapped(out, &clean(&head), INDENT);
    for (index, told) in told.iter().enumerate() {
        if index > 0 {
            out.push_str(&" ".repeat(INDENT));
            wrapped(out, &clean(&told.line), INDENT);
        }
        for side in &told.sides {
            let _ = writeln!(out, "{}{}", " ".repeat(INDENT), clean(side));
        }
    }
    for consequence in consequences(effect) {
        out.push_str(&" ".repeat(INDENT));
        wrapped(out, &clean(&consequence), INDENT);
    }
    for place in places(plan, entry, 3) {
        let _ = writeln!(out, "{}{}", " ".repeat(INDENT), clean(&place));
    }
}
