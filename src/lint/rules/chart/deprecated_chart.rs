//! `deprecated-chart`: a chart that its maintainers have given up.
//! Source: helm `pkg/chart/v2/metadata.go` (`Deprecated`), `pkg/action/install.go`, which
//! warns of it on standard error alone.

use super::{chart_of, chart_place, doubt};
use crate::lang::text::{clean, shorten};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule, title};

pub(crate) static RULE: Rule = Rule {
    id: "deprecated-chart",
    group: Group::Chart,
    level: Level::Info,
    default: true,
    since: "0.2.0",
    summary: "a chart whose Chart.yaml says that it is deprecated",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/chart/deprecated-chart.md"),
    check: Check::Cluster(check),
};

/// Characters of a description that are quoted.
const QUOTED: usize = 160;

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for release in &view.cluster.releases {
        let Some(description) = release.rendering.as_ref().and_then(|rendering| rendering.deprecation())
        else {
            continue;
        };
        let Some(location) = chart_place(view, release) else { continue };
        let mut why = "its Chart.yaml says `deprecated: true`: nobody mends it any more".to_owned();
        // Many say there what takes its place.
        if description.to_ascii_lowercase().contains("deprecated") {
            why.push_str(&format!("; it says: {}", shorten(&clean(description.trim()), QUOTED)));
        }
        if let Some(doubt) = doubt(release) {
            why.push_str(&format!("; {doubt}"));
        }
        report
            .report(location, title(&release.id, &format!("the chart {} is deprecated", chart_of(release))))
            .why(why)
            .help("take the chart that its README names in its place")
            .object(&release.id)
            .field("", chart_of(release));
    }
}
