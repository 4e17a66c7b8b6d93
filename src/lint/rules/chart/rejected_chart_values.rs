//! `rejected-chart-values`: values that the schema of a chart refuses.
//! Source: helm `pkg/chart/common/util/jsonschema.go` (`ValidateAgainstSchema`), which runs
//! before any template.

use super::{ReleaseValuePlace, chart_of, chart_place, doubt, lacks_values, place_of};
use crate::build::helm::{SchemaFault, SchemaFaultKind};
use crate::lang::text::counted;
use crate::lang::yaml::{Tree, pointer_to};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Related, Reporter, Rule, title};
use crate::world::releases::Release;

pub(crate) static RULE: Rule = Rule {
    id: "rejected-chart-values",
    group: Group::Chart,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "values that the schema of a chart refuses",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/chart/rejected-chart-values.md"),
    check: Check::Cluster(check),
};

/// Values of one release that are told of: each is looked for in all that set values.
const MOST: usize = 500;

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for release in &view.cluster.releases {
        let Some(refusal) = release.refusal() else { continue };
        let rest = refusal.faults.len().saturating_sub(MOST);
        for (index, fault) in refusal.faults.iter().take(MOST).enumerate() {
            one(view, release, fault, if index + 1 == MOST { rest } else { 0 }, report);
        }
    }
}

fn one(
    view: &ClusterView<'_>,
    release: &Release,
    fault: &SchemaFault,
    more: usize,
    report: &mut Reporter<'_>,
) {
    let pointer = pointer_to(&fault.path);
    let Some(place) = place(view, release, fault, &pointer) else { return };
    let chart = chart_of(release);
    let value = match fault.path.is_empty() {
        true => "the values".to_owned(),
        false => format!("`{}`", fault.path.join(".")),
    };
    let (what, help) = match &fault.kind {
        SchemaFaultKind::Additional => {
            (format!("the chart {chart} takes no value {value}"), "remove it, or correct its name")
        }
        SchemaFaultKind::Missing(keys) => {
            let keys = keys.iter().map(|key| {
                let whole: Vec<&str> = fault.path.iter().chain([key]).map(String::as_str).collect();
                format!("`{}`", whole.join("."))
            });
            let keys = keys.collect::<Vec<_>>().join(", ");
            (format!("the chart {chart} needs a value {keys}"), "set it")
        }
        SchemaFaultKind::Value => (
            format!("the chart {chart} refuses {value}: {}", fault.message),
            "write what values.schema.json of the chart takes",
        ),
    };
    let doubt = doubt(release);
    let mut why =
        "Helm checks values against values.schema.json before it renders: helm-controller installs and \
                   upgrades nothing"
            .to_owned();
    if !fault.causes.is_empty() {
        why.push_str(&format!("; among the reasons: {}", fault.causes.join("; ")));
    }
    if more > 0 {
        why.push_str(&format!("; {} of this release are refused, too", counted(more, "more value")));
    }
    if let Some(doubt) = &doubt {
        why.push_str(&format!("; {doubt}"));
    }
    let finding = report.report(place.location, title(&release.id, &what));
    finding
        .level(level(release, fault, &pointer, doubt.is_some()))
        .why(why)
        .help(help)
        .object(&release.id)
        .field(place.path.unwrap_or_default(), &*fault.message)
        .values_path(pointer);
    finding.related.extend(place.related);
}

fn level(release: &Release, fault: &SchemaFault, pointer: &str, is_doubtful: bool) -> Level {
    let is_set = || place_of(release, pointer).is_some();
    match is_doubtful {
        false => Level::Error,
        // What is lacking, most often, is in what is not known here.
        true if lacks_values(release) && (matches!(fault.kind, SchemaFaultKind::Missing(_)) || !is_set()) => {
            Level::Info
        }
        true => Level::Warning,
    }
}

/// Where a value is to be changed: where the release sets it, else where the chart's
/// defaults lie in the repository, else at what is nearest to it.
fn place(
    view: &ClusterView<'_>,
    release: &Release,
    fault: &SchemaFault,
    pointer: &str,
) -> Option<ReleaseValuePlace> {
    if let Some(place) = place_of(release, pointer) {
        return Some(place);
    }
    let chart = chart_place(view, release);
    let is_missing = matches!(fault.kind, SchemaFaultKind::Missing(_));
    let file = fault.own.clone().filter(|_| !is_missing);
    if let Some(location) = file.filter(|location| *location.file.tree() == Tree::Root) {
        let message = "the release takes the value from here".to_owned();
        let related = chart.map(|location| Related { message, location });
        return Some(ReleaseValuePlace { location, path: None, related });
    }
    let mut above = pointer;
    while let Some((next, _)) = above.rsplit_once('/') {
        above = next;
        if let Some(place) = place_of(release, above) {
            return Some(ReleaseValuePlace { path: None, ..place });
        }
    }
    chart.map(|location| ReleaseValuePlace { location, path: None, related: None })
}
