//! What concerns whole clusters, in each format.

use super::{INDENT, Plan, wrapped};
use crate::lang::text::{clean, counted, plural};
use crate::model::Severity;
use crate::plan::{ClusterChange, Note};
use crate::report::github::{data, property};
use crate::report::markdown::{code, literal as escape, prose};
use crate::report::markup::escape as markup;
use crate::report::page;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Things that are named of those that a note concerns; the rest is counted.
const NAMED: usize = 6;

/// What the head is called: with what a rehearsal assumes.
pub(super) fn head(plan: &Plan<'_>) -> String {
    match plan.assumed {
        Some(assumed) => format!("{} with {}", plan.head, assumed.in_words()),
        None => plan.head.to_owned(),
    }
}

/// Clusters by name, and their changes.
pub(super) type ClusterGroup<'p> = (Vec<&'p str>, Vec<&'p ClusterChange>);

/// Clusters of which the same is told, each with that, the worst first.
pub(super) fn groups<'p>(plan: &'p Plan<'_>) -> Vec<ClusterGroup<'p>> {
    let mut of: BTreeMap<&str, Vec<&ClusterChange>> = BTreeMap::new();
    for change in plan.changes {
        of.entry(change.cluster.as_deref().unwrap_or("")).or_default().push(change);
    }
    // Without entry points several stand under one name: what is told of one is enough.
    for changes in of.values_mut() {
        let told: BTreeSet<&str> =
            changes.iter().filter(|change| !change.notes.is_empty()).map(|change| change.what).collect();
        let mut seen = BTreeSet::new();
        changes.retain(|change| {
            !change.notes.is_empty() || (!told.contains(change.what) && seen.insert(change.what))
        });
    }
    let alike = |one: &[&ClusterChange], other: &[&ClusterChange]| {
        one.len() == other.len()
            && one.iter().zip(other).all(|(one, other)| {
                (one.what, &one.before, &one.after, &one.notes)
                    == (other.what, &other.before, &other.after, &other.notes)
            })
    };
    let mut groups: Vec<ClusterGroup<'p>> = Vec::new();
    for (name, changes) in of {
        let names: Vec<&str> = if name.is_empty() { Vec::new() } else { vec![name] };
        match groups.iter_mut().find(|(_, told)| alike(told, &changes)) {
            Some((known, _)) => known.extend(names),
            None => groups.push((names, changes)),
        }
    }
    let worst = |(_, changes): &ClusterGroup<'_>| changes.iter().map(|change| change.severity()).max();
    groups.sort_by_key(|group| std::cmp::Reverse(worst(group)));
    groups
}

/// What is upgraded, from what to what: `Flux 2.8.3 -> 2.9`.
fn title(plan: &Plan<'_>, change: &ClusterChange) -> (&'static str, String) {
    let name = match change.what {
        "flux" => "Flux",
        "kubernetes" => "Kubernetes",
        "clusterApi" => "Cluster API",
        other => other,
    };
    let word = |value: &Value| match value {
        Value::Null => "unknown".to_owned(),
        Value::Bool(true) => "enabled".to_owned(),
        Value::Bool(false) => "disabled".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let verb = match (&change.before, &change.after) {
        (Value::String(old), Value::String(new)) if is_newer(old, new) => "downgrades",
        (_, Value::String(_)) => "upgrades",
        _ => "switches",
    };
    let assumed = if plan.assumed.is_some() && change.from.is_none() { ", assumed" } else { "" };
    (verb, format!("{name} {} -> {}{assumed}", word(&change.before), word(&change.after)))
}

/// Whether the first of two versions is the newer one.
fn is_newer(old: &str, new: &str) -> bool {
    let parse = crate::model::Version::parse;
    let minor = |text| parse(text).map(|version| (version.major, version.minor));
    minor(old) > minor(new)
}

/// What a note concerns: `3 HelmReleases (a/b, a/c, a/d)` where all are of a kind.
fn named(note: &Note) -> String {
    let parts = || note.concerns.iter().map(|text| text.split_once(' ').unwrap_or(("", text)));
    let kinds: BTreeSet<&str> = parts().map(|(kind, _)| kind).collect();
    let count = note.concerns.len();
    let is_plain =
        |(kind, name): (&str, &str)| !kind.is_empty() && !name.contains(' ') && !kind.starts_with('$');
    let one_kind = kinds.first().filter(|_| kinds.len() == 1 && count > 1 && parts().all(is_plain));
    let names: Vec<&str> = match one_kind {
        Some(_) => parts().take(NAMED).map(|(_, name)| name).collect(),
        None => note.concerns.iter().take(NAMED).map(String::as_str).collect(),
    };
    let mut list = names.join(", ");
    if count > NAMED {
        let _ = write!(list, ", and {} more", count - NAMED);
    }
    match one_kind {
        Some(kind) => format!("{count} {} ({list})", plural(kind)),
        None => list,
    }
}

/// What is said where nothing follows.
const NOTHING: &str = "nothing that is known to change with it concerns what is here";

/// For a terminal: what is so, what it concerns, what to do, where that is from.
pub(super) fn text(out: &mut String, plan: &Plan<'_>, changes: &[&ClusterChange]) {
    let put = |out: &mut String, indent: usize, text: &str| {
        out.push_str(&" ".repeat(indent));
        wrapped(out, &clean(text), indent);
    };
    for change in changes {
        let (verb, title) = title(plan, change);
        let verb =
            if change.severity() == Severity::Disruptive { verb.to_uppercase() } else { verb.to_owned() };
        let _ = write!(out, "  {verb:9} ");
        wrapped(out, &clean(&title), INDENT);
        if change.notes.is_empty() {
            put(out, INDENT, NOTHING);
        }
        for note in &change.notes {
            let mark = if note.severity == Severity::Disruptive { "! " } else { "* " };
            out.push_str(&" ".repeat(INDENT));
            out.push_str(mark);
            let text = if note.concerns.is_empty() {
                note.what.clone()
            } else {
                format!("{}: {}", note.what, named(note))
            };
            wrapped(out, &clean(&text), INDENT + mark.len());
            for (word, advice) in [("before", &note.before), ("after", &note.after)] {
                if !advice.is_empty() {
                    put(out, INDENT + 2, &format!("{word}: {advice}"));
                }
            }
            put(out, INDENT + 2, note.source);
        }
        if let Some(from) = &change.from {
            let line = plan.head_world.snapshot.positions(from).0.0;
            put(out, INDENT, &format!("{}:{line}", from.file));
        }
    }
}

/// For a comment, folded; how many lines are left out.
pub(super) fn markdown(out: &mut String, plan: &Plan<'_>, limit: usize) -> usize {
    let mut left_out = 0;
    let several = plan.cluster_names().len() > 1;
    for (names, changes) in groups(plan) {
        for change in changes {
            let (verb, title) = title(plan, change);
            let place = if several { format!(" in {}", escape(&names.join(", "))) } else { String::new() };
            let count = change.notes.len();
            let mut text = format!(
                "<details><summary>{verb} {}{place}: {}</summary>\n\n",
                escape(&title),
                counted(count, "consequence")
            );
            if count == 0 {
                let _ = writeln!(text, "{NOTHING}");
            }
            for note in &change.notes {
                text.push_str(&item(note));
            }
            text.push_str("\n</details>\n\n");
            if out.len() + text.len() > limit {
                left_out += count.max(1);
            } else {
                out.push_str(&text);
            }
        }
    }
    left_out
}

fn item(note: &Note) -> String {
    let mark = match note.severity {
        Severity::Disruptive => "🔴",
        Severity::Notable => "🟡",
        Severity::Routine => "⚪",
    };
    let mut text = format!("- {mark} {}", prose(&note.what));
    if !note.concerns.is_empty() {
        let _ = write!(text, ": {}", escape(&named(note)));
    }
    for (word, advice) in [("before", &note.before), ("after", &note.after)] {
        if !advice.is_empty() {
            let _ = write!(text, "<br>{word}: {}", prose(advice));
        }
    }
    let _ = writeln!(text, "<br>{}", code(note.source));
    text
}

/// For a page: an article for each change.
pub(super) fn html(plan: &Plan<'_>, changes: &[&ClusterChange]) -> String {
    let mut out = String::new();
    for change in changes {
        let (verb, title) = title(plan, change);
        let severity = change.severity().name();
        let _ = writeln!(
            out,
            "<article class=\"{severity}\">\n<h3><span class=\"level {severity}\">{verb}</span> {}</h3>",
            markup(&title)
        );
        if change.notes.is_empty() {
            let _ = writeln!(out, "<p>{NOTHING}</p>");
        } else {
            out.push_str("<ul>\n");
            for note in &change.notes {
                out.push_str(&html_item(note));
            }
            out.push_str("</ul>\n");
        }
        if let Some(from) = &change.from {
            let line = plan.head_world.snapshot.positions(from).0.0;
            let place = page::code(&format!("{}:{line}", from.file));
            let _ = writeln!(out, "<p class=\"soft\">{place}</p>");
        }
        out.push_str("</article>\n");
    }
    out
}

fn html_item(note: &Note) -> String {
    let severity = note.severity.name();
    let mut text =
        format!("<li><span class=\"level {severity}\">{severity}</span> {}", page::prose(&note.what));
    if !note.concerns.is_empty() {
        let _ = write!(text, ": {}", page::prose(&named(note)));
    }
    for (word, advice) in [("before", &note.before), ("after", &note.after)] {
        if !advice.is_empty() {
            let _ = write!(text, "<br>{word}: {}", page::prose(advice));
        }
    }
    let _ = writeln!(text, "<br><span class=\"soft\">{}</span></li>", markup(note.source));
    text
}

/// One annotation for each change that matters.
pub(super) fn github(out: &mut String, plan: &Plan<'_>) {
    let mut told = BTreeSet::new();
    for change in plan.changes.iter().filter(|change| change.severity() > Severity::Routine) {
        let word = if change.severity() == Severity::Disruptive { "warning" } else { "notice" };
        let place = change.from.as_ref().map(|from| {
            let line = plan.head_world.snapshot.positions(from).0.0;
            format!("file={},line={line},", property(from.file.shown()))
        });
        let (verb, title) = title(plan, change);
        let mut text = format!("{verb} {title}");
        for note in change.notes.iter().filter(|note| note.severity > Severity::Routine) {
            let _ = write!(text, "\n{}", note.sentence());
        }
        let line = format!(
            "::{word} {}title={}::{}",
            place.unwrap_or_default(),
            property(&format!("forebay plan: {}", change.what)),
            data(&text)
        );
        // The same of several clusters is said once.
        if told.insert(line.clone()) {
            let _ = writeln!(out, "{line}");
        }
    }
}
