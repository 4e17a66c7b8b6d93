//! The plan for a pull-request comment or a job summary: a marker for the sticky
//! comment, a headline, one table, details folded, a graph when it is small.

use super::groups::{EffectGroup, GroupItem, Section, items, sections};
use super::values::Phrase;
use super::{Plan, changes, consequences, not_followed, places, tally};
use crate::model::{EffectKind, Severity};
use crate::report::markdown::{code, literal as escape, prose};
use std::fmt::Write as _;

/// A comment may hold 65,536 characters; the rest is counted.
const LIMIT: usize = 58_000;

/// Effects in the table; the rest is folded.
const ROWS: usize = 30;

/// Edges up to which a graph of who waits is drawn.
const EDGES: usize = 20;

/// The whole answer.
pub fn render(plan: &Plan<'_>) -> String {
    let effects = super::readable::effects(plan);
    let plan = &Plan { effects: &effects, ..plan.clone() };
    let mut out = String::from("<!-- forebay:plan -->\n");
    let _ = writeln!(out, "### forebay: {}\n", escape(&tally(plan)));
    let ends = format!("{} → {}", code(plan.base), code(&changes::head(plan)));
    let _ = writeln!(out, "**{}.** {ends}\n", prose(&plan.verdict()));
    let left_out_of_it = not_followed(plan);
    if let Some(text) = left_out_of_it.as_ref().filter(|_| !plan.reach.is_whole()) {
        let _ = writeln!(out, "⚠️ {}\n", prose(text));
    }
    let mut left_out = changes::markdown(&mut out, plan, LIMIT);
    let all = sections(plan);
    let several = plan.cluster_names().len() > 1;
    let (rows, folded) = by_weight(plan, &all);
    left_out += table(&mut out, plan, &rows, several);
    let lead = if rows.is_empty() { "" } else { "more " };
    left_out += list(&mut out, plan, &folded, lead, several);
    left_out += releases(&mut out, &all);
    graph(&mut out, plan);
    left_out += findings(&mut out, plan);
    if left_out > 0 {
        let lines = crate::lang::text::counted(left_out, "more line");
        let _ = writeln!(out, "\n{lines} left out: the comment would be too long.");
    }
    if !plan.not_checked.is_empty() {
        out.push('\n');
        crate::report::markdown::unchecked(&mut out, plan.not_checked);
    }
    if let Some(text) = left_out_of_it.filter(|_| plan.reach.is_whole()) {
        let _ = writeln!(out, "\n{}", prose(&text));
    }
    let _ = writeln!(out, "\n{}", prose(&plan.total()));
    out
}

/// A row: an entry, or what one line of a file causes, and the clusters that have it.
struct EffectRow<'p> {
    clusters: &'p [&'p str],
    item: GroupItem<'p, 'p>,
}

impl EffectRow<'_> {
    /// The worst of it, and how many effects there are.
    fn weight(&self) -> (Severity, usize) {
        match &self.item {
            GroupItem::One(entry) => (entry.effects[0].severity, entry.effects.len()),
            GroupItem::Bundle(bundle) => {
                let severities = bundle.entries.iter().map(|entry| entry.effects[0].severity);
                (severities.max().unwrap_or(Severity::Routine), bundle.count())
            }
        }
    }

    /// Whether it happens at another time than the change.
    fn is_later(&self) -> bool {
        matches!(&self.item, GroupItem::One(entry) if entry.effects[0].when.is_some())
    }

    /// The objects, what happens, and the causes.
    fn cells(&self, plan: &Plan<'_>) -> [String; 3] {
        match &self.item {
            GroupItem::One(entry) => [escape(&entry.subject(20)), what(entry), causes(plan, entry)],
            GroupItem::Bundle(bundle) => {
                let key =
                    plan.cause_key(bundle.cause).map_or(String::new(), |key| format!(" {}", code(&key)));
                let told = bundle.lines().into_iter().map(|line| {
                    format!("{} {}{}", line.verb, escape(&line.subject), phrases_in_cell(&line.told))
                });
                [
                    format!("{} effects", bundle.count()),
                    told.collect::<Vec<_>>().join("<br>"),
                    code(&plan.place_alone(bundle.cause)) + &key,
                ]
            }
        }
    }
}

/// The rows of the table and those that are folded. What is left out at the end is the
/// least: the worst first, and of those what reaches most.
fn by_weight<'p>(plan: &Plan<'_>, all: &'p [Section<'p>]) -> (Vec<EffectRow<'p>>, Vec<EffectRow<'p>>) {
    let rows = all.iter().flat_map(|section| {
        items(plan, section).into_iter().map(|item| EffectRow { clusters: &section.clusters, item })
    });
    let shown = |row: &EffectRow<'_>| row.weight().0 > Severity::Routine && !row.is_later();
    let (mut table, mut folded): (Vec<EffectRow<'p>>, Vec<EffectRow<'p>>) = rows.partition(shown);
    let weight = |row: &EffectRow<'_>| {
        let (severity, count) = row.weight();
        std::cmp::Reverse((severity, row.item.loses_data(), row.clusters.len().max(1) * count))
    };
    table.sort_by_key(weight);
    folded.sort_by_key(weight);
    let mut rest = table.split_off(table.len().min(ROWS));
    rest.append(&mut folded);
    (table, rest)
}

/// Append a line where there is room; how many were left out: none or one.
fn append(out: &mut String, line: &str) -> usize {
    if out.len() + line.len() > LIMIT {
        return 1;
    }
    out.push_str(line);
    0
}

/// What needs a look; how many rows were left out.
fn table(out: &mut String, plan: &Plan<'_>, rows: &[EffectRow<'_>], several: bool) -> usize {
    if rows.is_empty() {
        return 0;
    }
    out.push_str(if several {
        "| | Cluster | Object | What happens | Cause |\n|---|---|---|---|---|\n"
    } else {
        "| | Object | What happens | Cause |\n|---|---|---|---|\n"
    });
    let mut left_out = 0;
    for row in rows {
        let mark = if row.weight().0 == Severity::Disruptive { "🔴 disruptive" } else { "🟡 notable" };
        let cluster = if several { format!(" {} |", escape(&where_to(row.clusters))) } else { String::new() };
        let [objects, what, causes] = row.cells(plan);
        left_out += append(out, &format!("| {mark} |{cluster} {objects} | {what} | {causes} |\n"));
    }
    out.push('\n');
    left_out
}

/// Everything else, folded; how many lines were left out.
fn list(out: &mut String, plan: &Plan<'_>, rows: &[EffectRow<'_>], lead: &str, several: bool) -> usize {
    if rows.is_empty() {
        return 0;
    }
    let count: usize = rows.iter().map(|row| row.weight().1).sum();
    let word = if count == 1 { "effect" } else { "effects" };
    let _ = writeln!(out, "<details><summary>{count} {lead}{word}</summary>\n");
    let mut left_out = 0;
    for row in rows {
        let cluster = if several { format!("{}: ", escape(&where_to(row.clusters))) } else { String::new() };
        let [objects, what, causes] = row.cells(plan);
        left_out += append(out, &format!("- {cluster}{objects}: {what} {causes}\n"));
    }
    out.push_str("</details>\n\n");
    left_out
}

/// Findings of one side only; how many were left out.
fn findings(out: &mut String, plan: &Plan<'_>) -> usize {
    let mut left_out = 0;
    for (title, world, findings) in [
        ("New finding", plan.head_world, &plan.new_findings),
        ("Fixed finding", plan.base_world, &plan.fixed_findings),
    ] {
        for finding in plan.shown(findings) {
            let line = world.snapshot.positions(&finding.location).0.0;
            let text = format!(
                "- {title}: `{}` at {}: {}\n",
                finding.rule.id,
                code(&format!("{}:{line}", finding.location.file)),
                prose(&finding.title)
            );
            left_out += append(out, &text);
        }
    }
    left_out
}

/// The clusters of an entry, in a few words.
fn where_to(clusters: &[&str]) -> String {
    match clusters.len() {
        0..=4 => clusters.join(", "),
        count => format!("{count} clusters: {}", clusters.join(", ")),
    }
}

/// What happens to the objects of each release, and its images, folded; how many were left
/// out.
fn releases(out: &mut String, all: &[Section<'_>]) -> usize {
    let mut left_out = 0;
    for entry in all.iter().flat_map(|section| &section.entries).filter(|entry| !entry.inside.is_empty()) {
        let effect = entry.effects[0];
        let mut text = format!("<details><summary>{}</summary>\n\n", escape(&effect.object.to_string()));
        let images = effect.details.get("images").and_then(|images| images.as_array());
        if let Some(images) = images {
            text.push_str("| Image before | Image after | |\n|---|---|---|\n");
            for image in images {
                let side = |name: &str| code(image[name].as_str().unwrap_or_default());
                let change = image["change"].as_str().unwrap_or_default();
                let _ = writeln!(text, "| {} | {} | {change} |", side("before"), side("after"));
            }
            text.push('\n');
        }
        for line in &entry.inside {
            let mark = if line.severity.0 == Severity::Disruptive { "🔴 " } else { "" };
            let _ = write!(
                text,
                "- {mark}{} {}{}",
                line.verb,
                escape(&line.subject),
                phrases_in_cell(&line.told)
            );
            for note in &line.notes {
                let _ = write!(text, "; {}", prose(note));
            }
            text.push('\n');
        }
        text.push_str("</details>\n\n");
        if out.len() + text.len() > LIMIT {
            left_out += entry.inside.len();
        } else {
            out.push_str(&text);
        }
    }
    left_out
}

/// What changed, behind what it changed of.
fn phrases_in_cell(phrases: &[Phrase]) -> String {
    let mut text = String::new();
    for (index, told) in phrases.iter().enumerate().filter(|(_, told)| !told.line.is_empty()) {
        let lead = if index == 0 { ": " } else { "<br>" };
        let _ = write!(text, "{lead}{}", prose(&told.line));
        for side in &told.sides {
            let _ = write!(text, "<br>{}", code(side));
        }
    }
    text
}

/// Effect, fields and consequences in one table cell.
fn what(entry: &EffectGroup<'_>) -> String {
    let effect = entry.effects[0];
    // A word that says it all stands once.
    let told: Vec<Phrase> =
        entry.phrases().into_iter().filter(|told| told.line != effect.effect.name()).collect();
    let mut text = format!("{}{}", effect.effect, phrases_in_cell(&told));
    for consequence in consequences(effect) {
        let _ = write!(text, "; {}", prose(&consequence));
    }
    text
}

fn causes(plan: &Plan<'_>, entry: &EffectGroup<'_>) -> String {
    let places = places(plan, entry, 2);
    places.iter().map(|place| code(place)).collect::<Vec<_>>().join(", ")
}

/// Who waits for whom, when that is small enough to read.
fn graph(out: &mut String, plan: &Plan<'_>) {
    let mut edges: Vec<(String, String)> = Vec::new();
    for effect in plan.effects.iter().filter(|effect| effect.effect == EffectKind::Waits) {
        for edge in effect.details.get("edges").and_then(|edges| edges.as_array()).into_iter().flatten() {
            if let (Some(from), Some(to)) = (edge[0].as_str(), edge[1].as_str()) {
                edges.push((from.to_owned(), to.to_owned()));
            }
        }
    }
    edges.sort();
    edges.dedup();
    if edges.is_empty() || edges.len() > EDGES {
        return;
    }
    let mut text = "<details><summary>Who waits for whom</summary>\n\n```mermaid\ngraph LR\n".to_owned();
    let mut names: Vec<&str> = edges.iter().flat_map(|(from, to)| [from.as_str(), to.as_str()]).collect();
    names.sort_unstable();
    names.dedup();
    let number = |name: &str| names.iter().position(|known| *known == name).unwrap_or(0);
    for name in &names {
        let label: String = name.chars().filter(|c| c.is_alphanumeric() || "-._".contains(*c)).collect();
        let _ = writeln!(text, "  n{}[\"{label}\"]", number(name));
    }
    for (from, to) in &edges {
        let _ = writeln!(text, "  n{} --> n{}", number(from), number(to));
    }
    text.push_str("```\n</details>\n\n");
    if out.len() + text.len() <= LIMIT {
        out.push_str(&text);
    }
}
