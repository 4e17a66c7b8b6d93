//! `value-without-effect`: a value that the chart reads under other values only.
//! Source: Go `text/template/exec.go` (`walkIfOrWith`, `walkRange`); helm
//! `pkg/chart/v2/util/dependencies.go` (`processDependencyEnabled`).

use super::{ReleaseValuePlace, chart_of, doubt, place_of};
use crate::build::helm::{Idle, IdleReason};
use crate::lang::text::{clean, shorten};
use crate::lang::yaml::pointer_to;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule, title};
use crate::world::releases::Release;

pub(crate) static RULE: Rule = Rule {
    id: "value-without-effect",
    group: Group::Chart,
    level: Level::Info,
    default: true,
    since: "0.2.0",
    summary: "a value that the chart reads under other values only",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/chart/value-without-effect.md"),
    check: Check::Cluster(check),
};

/// Values of one release that are told of.
const MOST: usize = 50;

/// Characters of a condition that are shown.
const SHOWN: usize = 100;

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for release in &view.cluster.releases {
        for idle in idle(release).iter().take(MOST) {
            one(release, idle, report);
        }
    }
}

/// Of a chart that fails nobody can say what does nothing.
fn idle(release: &Release) -> &[Idle] {
    let rendering = release.rendering.as_ref().filter(|_| release.made().is_some());
    rendering.map_or(&[], |rendering| rendering.idle())
}

fn one(release: &Release, idle: &Idle, report: &mut Reporter<'_>) {
    let pointer = pointer_to(&idle.path);
    let Some(ReleaseValuePlace { location, path: own, related }) = place_of(release, &pointer) else {
        return;
    };
    let (chart, value) = (chart_of(release), clean(&idle.path.join(".")).into_owned());
    let (what, mut why, place) = match &idle.reason {
        IdleReason::Off(name, by, more) => {
            let by: Vec<String> = by.iter().map(|by| format!("`{}`", clean(by))).collect();
            let what = match more {
                0 => format!("`{value}` has no effect"),
                1 => format!("`{value}` and 1 more value for it have no effect"),
                more => format!("`{value}` and {more} more values for it have no effect"),
            };
            (
                format!("{what}: the chart {} in {chart} is switched off", clean(name)),
                format!("{} decides that", by.join(" or ")),
                None,
            )
        }
        IdleReason::PassedOver(word, question, place) => {
            let question = shorten(&clean(question), SHOWN);
            let when = match *word {
                "range" => format!("only for each item of `{question}`, and there is none"),
                "with" => format!("only where `{question}` is not empty, and it is"),
                _ => format!("only where `{question}` is true, and it isn't"),
            };
            (
                format!("`{value}` has no effect: the chart {chart} reads it {when}"),
                "the chart makes the same without it".to_owned(),
                place.clone(),
            )
        }
    };
    if let Some(doubt) = doubt(release) {
        why.push_str(&format!("; {doubt}"));
    }
    let key = idle.path.last().map(ToString::to_string).unwrap_or_default();
    let finding = report.report(location, title(&release.id, &what));
    finding
        .why(why)
        .help("remove it, or set what it needs")
        .object(&release.id)
        .field(own.unwrap_or_default(), key)
        .values_path(pointer);
    finding.related.extend(related);
    if let Some(place) = place {
        finding.related("the condition", place);
    }
}
