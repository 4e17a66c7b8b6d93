//! The plan as one page, for an archive or a mail: clusters in turn, the worst first.

use super::groups::{Bundle, EffectGroup, GroupItem, ReleaseLine, items, sections};
use super::values::Phrase;
use super::{Plan, changes, consequences, not_followed, places, tally, verb};
use crate::model::Severity;
use crate::report::markup::escape;
use crate::report::page::{self, code, prose};
use crate::report::secrets::SecretValues;
use std::fmt::Write as _;

/// Objects of an entry that are named.
const NAMED: usize = 40;

/// Places of a cause that are named.
const PLACES: usize = 20;

/// The whole page.
pub(crate) fn render(plan: &Plan<'_>, secrets: Option<&SecretValues>) -> String {
    let effects = super::readable::effects(plan);
    let plan = &Plan { effects: &effects, ..plan.clone() };
    let mut body = String::from("<header>\n<h1>forebay plan</h1>\n");
    let _ = writeln!(body, "<p class=\"verdict\">{}</p>", prose(&plan.verdict()));
    let ends = format!("{} → {}", code(plan.base), code(&changes::head(plan)));
    let _ = writeln!(body, "<p>{ends}: {}</p>", escape(&tally(plan)));
    let left_out = not_followed(plan);
    paragraph(&mut body, left_out.as_ref().filter(|_| !plan.reach.is_whole()));
    body.push_str("</header>\n<main>\n");
    let mut changed = changes::groups(plan);
    for of_clusters in &sections(plan) {
        let here = changed.extract_if(.., |(names, _)| *names == of_clusters.clusters);
        let mut content: String = here.map(|(_, group)| changes::html(plan, &group)).collect();
        for item in items(plan, of_clusters) {
            match item {
                GroupItem::One(entry) => one(&mut content, plan, entry),
                GroupItem::Bundle(bundle) => together(&mut content, plan, &bundle),
            }
        }
        section(&mut body, &of_clusters.clusters, &content);
    }
    for (clusters, group) in changed {
        section(&mut body, &clusters, &changes::html(plan, &group));
    }
    findings(&mut body, plan);
    not_checked(&mut body, plan);
    paragraph(&mut body, crate::report::coverage::line(plan.head_world).as_ref());
    paragraph(&mut body, left_out.as_ref().filter(|_| plan.reach.is_whole()));
    let _ = writeln!(body, "<p class=\"verdict\">{}</p>\n</main>", prose(&plan.total()));
    page::render("forebay plan", &body, secrets)
}

fn paragraph(body: &mut String, text: Option<&String>) {
    if let Some(text) = text {
        let _ = writeln!(body, "<p>{}</p>", prose(text));
    }
}

/// What happens in some clusters.
fn section(body: &mut String, clusters: &[&str], content: &str) {
    let heading = match clusters {
        [] => "Without an entry point".to_owned(),
        names if names.len() <= 4 => names.join(", "),
        names => format!("{} clusters: {}", names.len(), names.join(", ")),
    };
    let _ = write!(body, "<section>\n<h2>{}</h2>\n{content}</section>\n", escape(&heading));
}

fn one(body: &mut String, plan: &Plan<'_>, entry: &EffectGroup<'_>) {
    let effect = entry.effects[0];
    let _ = writeln!(body, "<article class=\"{}\">", effect.severity.name());
    head(body, effect.severity, verb(effect), &entry.subject(NAMED));
    told(body, &entry.phrases());
    for consequence in consequences(effect) {
        let _ = writeln!(body, "<p>{}</p>", prose(&consequence));
    }
    if let Some(all) = entry.machines() {
        let _ = writeln!(body, "<p>{}</p>", escape(&all));
    }
    let places: Vec<String> = places(plan, entry, PLACES).iter().map(|place| code(place)).collect();
    if !places.is_empty() {
        let _ = writeln!(body, "<p class=\"soft\">{}</p>", places.join(", "));
    }
    lines(body, &entry.inside);
    body.push_str("</article>\n");
}

/// What one line of a file causes.
fn together(body: &mut String, plan: &Plan<'_>, bundle: &Bundle<'_, '_>) {
    let key = plan.cause_key(bundle.cause).map_or(String::new(), |key| format!(" {}", code(&key)));
    let inner = bundle.lines();
    let worst = inner.iter().map(|line| line.severity.0).max().unwrap_or(Severity::Routine);
    let _ = writeln!(
        body,
        "<article class=\"{}\">\n<h3>{}{key} causes {} effects</h3>",
        worst.name(),
        code(&plan.place_alone(bundle.cause)),
        bundle.count()
    );
    lines(body, &inner);
    body.push_str("</article>\n");
}

/// The verb and its objects.
fn head(body: &mut String, severity: Severity, verb: &str, subject: &str) {
    let _ = writeln!(
        body,
        "<h3><span class=\"level {}\">{}</span> {}</h3>",
        severity.name(),
        escape(verb),
        escape(subject)
    );
}

/// The fields that changed.
fn told(body: &mut String, phrases: &[Phrase]) {
    for phrase in phrases {
        if !phrase.line.is_empty() {
            let _ = writeln!(body, "<p>{}</p>", prose(&phrase.line));
        }
        if phrase.sides.is_empty() {
            continue;
        }
        body.push_str("<pre tabindex=\"0\">");
        for side in &phrase.sides {
            let class = match side.as_bytes().first() {
                Some(b'+') => "added",
                Some(b'-') => "removed",
                _ => "soft",
            };
            let _ = writeln!(body, "<span class=\"{class}\">{}</span>", escape(side));
        }
        body.push_str("</pre>\n");
    }
}

/// What happens to the objects of a release, or of one cause.
fn lines(body: &mut String, lines: &[ReleaseLine]) {
    if lines.is_empty() {
        return;
    }
    body.push_str("<ul>\n");
    for line in lines {
        let severity = line.severity.0.name();
        let _ = writeln!(
            body,
            "<li><span class=\"level {severity}\">{}</span> {}",
            escape(&line.verb),
            escape(&line.subject)
        );
        told(body, &line.told);
        for note in &line.notes {
            let _ = writeln!(body, "<p>{}</p>", prose(note));
        }
        body.push_str("</li>\n");
    }
    body.push_str("</ul>\n");
}

/// Findings of one side only.
fn findings(body: &mut String, plan: &Plan<'_>) {
    for (title, world, findings) in [
        ("New findings", plan.head_world, &plan.new_findings),
        ("Fixed findings", plan.base_world, &plan.fixed_findings),
    ] {
        let mut list = String::new();
        for finding in plan.shown(findings) {
            let line = world.snapshot.positions(&finding.location).0.0;
            let level = finding.level.name();
            let at = code(&format!("{}:{line}", finding.location.file));
            let _ = writeln!(
                list,
                "<li><span class=\"level {level}\">{level}</span> {}: {} {at}</li>",
                code(finding.rule.id),
                prose(&finding.title)
            );
        }
        if !list.is_empty() {
            let _ = write!(body, "<section>\n<h2>{title}</h2>\n<ul>\n{list}</ul>\n</section>\n");
        }
    }
}

/// What was not checked, and what would let it be.
fn not_checked(body: &mut String, plan: &Plan<'_>) {
    if plan.not_checked.is_empty() {
        return;
    }
    body.push_str("<section>\n<h2>Not checked</h2>\n<ul>\n");
    for (reason, places) in plan.not_checked.iter() {
        let _ = writeln!(
            body,
            "<li>{}: {}</li>",
            escape(&reason.counted(places.len())),
            prose(plan.not_checked.remedy(reason))
        );
    }
    body.push_str("</ul>\n</section>\n");
}
