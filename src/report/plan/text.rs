//! The plan for a terminal: the counts that matter, then per cluster the worst
//! first, one line per effect, consequences indented, the cause at the end.

use super::{Plan, consequences, phrase, tally, verb};
use crate::model::Severity;
use crate::plan::Effect;
use crate::report::parts::WIDTH;
use crate::text::clean;
use std::fmt::Write as _;

/// Column at which the text of an effect begins.
const INDENT: usize = 12;

/// The whole answer.
pub fn render(plan: &Plan<'_>) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{} -> {}: {}", clean(plan.base), clean(plan.head), tally(plan));
    if let Some(headline) = plan.headline() {
        let _ = writeln!(out, "{headline}");
    }
    for (name, effects) in plan.by_cluster() {
        out.push('\n');
        if !name.is_empty() {
            let _ = writeln!(out, "{}", clean(name));
        }
        for effect in effects {
            one(&mut out, plan, effect);
        }
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
            let _ = writeln!(out, "  {} {}:{line}", clean(&finding.title), clean(&finding.location.path));
        }
    }
    let unchecked: Vec<String> =
        plan.not_checked.iter().map(|(reason, places)| format!("{} {reason}", places.len())).collect();
    if !unchecked.is_empty() && !plan.effects.is_empty() {
        let _ = writeln!(out, "\nnot checked: {}", unchecked.join(", "));
    }
    out
}

fn one(out: &mut String, plan: &Plan<'_>, effect: &Effect) {
    let verb = verb(effect);
    let verb = if effect.severity == Severity::Disruptive { verb.to_uppercase() } else { verb.to_owned() };
    let head = format!("{}: {}", effect.object, phrase(effect));
    let _ = write!(out, "  {verb:9} ");
    wrapped(out, &clean(&head), INDENT);
    for consequence in consequences(effect) {
        out.push_str(&" ".repeat(INDENT));
        wrapped(out, &clean(&consequence), INDENT);
    }
    for cause in effect.causes.iter().take(2) {
        let _ = writeln!(out, "{}{}", " ".repeat(INDENT), clean(&plan.place(cause)));
    }
}

/// Words up to the width, further lines indented.
fn wrapped(out: &mut String, text: &str, indent: usize) {
    let mut column = indent;
    for (index, word) in text.split(' ').enumerate() {
        let width = word.chars().count();
        if index > 0 && column + 1 + width > WIDTH {
            let _ = write!(out, "\n{}", " ".repeat(indent));
            column = indent;
        } else if index > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out.push('\n');
}
