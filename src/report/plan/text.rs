//! The plan for a terminal: the counts that matter, then per cluster the worst
//! first, one line per effect, consequences indented, the cause at the end.

use super::groups::{Bundle, EffectGroup, GroupItem, ReleaseLine, items, sections};
use super::{INDENT, Plan, changes, consequences, not_followed, places, tally, verb, wrapped};
use crate::lang::text::clean;
use crate::model::{Severity, Unchecked};
use crate::report::parts::{paragraph, width};
use std::fmt::Write as _;

/// The whole answer.
pub fn render(plan: &Plan<'_>) -> String {
    let effects = super::readable::effects(plan);
    let plan = &Plan { effects: &effects, ..plan.clone() };
    let mut out = String::new();
    wrapped(&mut out, &clean(&plan.verdict()), 0);
    let _ = writeln!(out, "{} -> {}: {}", clean(plan.base), clean(&changes::head(plan)), tally(plan));
    // What was not followed stands first only where it is the change itself.
    let left_out = not_followed(plan);
    if let Some(text) = left_out.as_ref().filter(|_| !plan.reach.is_whole()) {
        paragraph(&mut out, text, "");
    }
    let mut changed = changes::groups(plan);
    let sections = sections(plan);
    // Those that stand for themselves: before the rest where something stops, else behind.
    let is_alone = |(names, _): &(Vec<&str>, _)| sections.iter().all(|section| section.clusters != *names);
    let mut alone: Vec<_> = changed.extract_if(.., |one| is_alone(one)).collect();
    let is_bad = |(_, group): &changes::ClusterGroup<'_>| {
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
        let items = items(plan, section);
        let bad = items.iter().take_while(|item| item.is_bad()).count();
        for item in &items[..bad] {
            any(&mut out, plan, item);
        }
        for (_, group) in changed.iter().filter(|(names, _)| *names == section.clusters) {
            changes::text(&mut out, plan, group);
        }
        for item in &items[bad..] {
            any(&mut out, plan, item);
        }
    }
    for (names, group) in &alone {
        heading(&mut out, names);
        changes::text(&mut out, plan, group);
    }
    findings(&mut out, plan);
    if tells_unchecked(plan) {
        out.push('\n');
        out.push_str(&crate::report::unchecked::text(plan.not_checked, width()));
    }
    if let Some(line) = crate::report::coverage::line(plan.head_world) {
        out.push('\n');
        paragraph(&mut out, &line, "  ");
    }
    if let Some(text) = left_out.filter(|_| plan.reach.is_whole()) {
        paragraph(&mut out, &text, "");
    }
    let _ = writeln!(out, "{}", plan.total());
    out
}

/// Whether there is something to say of what was not checked.
fn tells_unchecked(plan: &Plan<'_>) -> bool {
    // What builds on neither side may have changed all the same, and so what another tree holds.
    let hides = |reason| matches!(reason, Unchecked::BuildFailsOnBothSides | Unchecked::OtherTree);
    let is_blind = plan.not_checked.iter().any(|(reason, _)| hides(reason));
    let is_told = !plan.effects.is_empty() || plan.assumed.is_some();
    !plan.not_checked.is_empty() && (is_blind || is_told)
}

/// Findings that are new, and how many are fixed.
fn findings(out: &mut String, plan: &Plan<'_>) {
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

fn any(out: &mut String, plan: &Plan<'_>, item: &GroupItem<'_, '_>) {
    match item {
        GroupItem::One(entry) => one(out, plan, entry),
        GroupItem::Bundle(bundle) => together(out, plan, bundle),
    }
}

/// What one line of a file causes.
fn together(out: &mut String, plan: &Plan<'_>, bundle: &Bundle<'_, '_>) {
    let lead = match plan.cause_key(bundle.cause) {
        Some(key) => format!("{} {key} -> {} effects", plan.place_alone(bundle.cause), bundle.count()),
        None => format!("{} -> {} effects", plan.place_alone(bundle.cause), bundle.count()),
    };
    let _ = writeln!(out, "  {}", clean(&lead));
    for line in bundle.lines() {
        inner(out, &line, 4);
    }
}

/// A line below another one.
fn inner(out: &mut String, line: &ReleaseLine, begin: usize) {
    let verb = match line.severity.0 {
        Severity::Disruptive => line.verb.to_uppercase(),
        _ => line.verb.clone(),
    };
    let indent = begin + 10;
    let first = line.told.first().map(|told| told.line.as_str()).filter(|text| !text.is_empty());
    let head = first.map_or(line.subject.clone(), |text| format!("{}: {text}", line.subject));
    let _ = write!(out, "{}{verb:9} ", " ".repeat(begin));
    wrapped(out, &clean(&head), indent);
    for (index, told) in line.told.iter().enumerate() {
        if index > 0 {
            out.push_str(&" ".repeat(indent));
            wrapped(out, &clean(&told.line), indent);
        }
        for side in &told.sides {
            let _ = writeln!(out, "{}{}", " ".repeat(indent), clean(side));
        }
    }
    for note in &line.notes {
        out.push_str(&" ".repeat(indent));
        wrapped(out, &clean(note), indent);
    }
}

/// Objects of an entry that are named: of what is routine, a few.
fn named(severity: Severity) -> usize {
    if severity == Severity::Routine { 6 } else { 40 }
}

fn one(out: &mut String, plan: &Plan<'_>, entry: &EffectGroup<'_>) {
    let effect = entry.effects[0];
    let verb = verb(effect);
    let verb = if effect.severity == Severity::Disruptive { verb.to_uppercase() } else { verb.to_owned() };
    let told = entry.phrases();
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
    if let Some(all) = entry.machines() {
        let _ = writeln!(out, "{}{all}", " ".repeat(INDENT));
    }
    for line in &entry.inside {
        inner(out, line, INDENT);
    }
    for place in places(plan, entry, 3) {
        let _ = writeln!(out, "{}{}", " ".repeat(INDENT), clean(&place));
    }
}
