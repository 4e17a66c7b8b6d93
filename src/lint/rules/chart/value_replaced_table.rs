//! `value-replaced-table`: a value in the place of a table, or a table in that of a value.
//! Source: helm `pkg/chart/common/util/coalesce.go` (`coalesceTablesFullKey`,
//! `coalesceValues`, `coalesceGlobals`), which logs most of it, where nobody reads it.

use super::{ReleaseValuePlace, chart_of, doubt, place_of};
use crate::build::helm::{Loss, Replaced};
use crate::lang::text::{clean, shorten};
use crate::lang::yaml::pointer_to;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule, title};
use crate::world::releases::Release;

pub(crate) static RULE: Rule = Rule {
    id: "value-replaced-table",
    group: Group::Chart,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "a value where the chart has a table, or a table where it has a value",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/chart/value-replaced-table.md"),
    check: Check::Cluster(check),
};

/// Values of one release that are told of.
const MOST: usize = 100;

/// Keys of a table that are named.
const NAMED: usize = 4;

/// Characters of a value that are shown.
const SHOWN: usize = 40;

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for release in &view.cluster.releases {
        let Some(rendering) = &release.rendering else { continue };
        for replaced in rendering.replaced().iter().take(MOST) {
            one(release, replaced, report);
        }
    }
}

fn one(release: &Release, replaced: &Replaced, report: &mut Reporter<'_>) {
    let path = replaced.path.join(".");
    let pointer = pointer_to(&replaced.path);
    let Some(ReleaseValuePlace { location, path: own, related }) = place_of(release, &pointer) else {
        return;
    };
    let chart = chart_of(release);
    let (what, mut why, help) = match &replaced.loss {
        Loss::Table(table) => {
            let all: Vec<String> = table.keys().take(NAMED).map(|key| format!("`{key}`")).collect();
            let more = if table.len() > NAMED { ", …" } else { "" };
            (
                format!("`{path}` replaces a table of the chart {chart}"),
                format!(
                    "Helm merges tables with tables only: {}{more} of the chart's `{path}` are gone, and what \
                     reads them gets nothing, or fails; Helm logs a line at most",
                    all.join(", ")
                ),
                format!(
                    "write the keys below `{path}`; `{path}: null` takes the table away where that is meant"
                ),
            )
        }
        Loss::Other(value) => (
            format!("a table replaces `{path}` of the chart {chart}"),
            format!(
                "the chart has {} there, no table: Helm puts the table in its place and logs a line; a \
                 template that prints the value writes `map[…]`",
                shown(&value.to_string())
            ),
            "write a value as the chart has it, or look whether its templates take a table".to_owned(),
        ),
        Loss::Globals => (
            format!("`{path}` is no table"),
            "Helm skips it: the charts in this one get no globals at all; it logs a line".to_owned(),
            format!("write the globals as keys below `{path}`"),
        ),
    };
    if let Some(doubt) = doubt(release) {
        why.push_str(&format!("; {doubt}"));
    }
    let key = replaced.path.last().map(ToString::to_string).unwrap_or_default();
    let finding = report.report(location, title(&release.id, &what));
    finding.why(why).help(help).object(&release.id).field(own.unwrap_or_default(), key).values_path(pointer);
    finding.related.extend(related);
}

fn shown(value: &str) -> String {
    format!("`{}`", shorten(&clean(value), SHOWN))
}
