//! `chart-fails`: Helm refuses to render the chart of a release.
//! Source: helm-controller `internal/reconcile/install.go`, `upgrade.go` (`InstallFailed`,
//! `UpgradeFailed`); helm `pkg/action`, `pkg/engine`.

use super::{chart_of, chart_place, doubt};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule, title};

/// See the module.
pub(crate) static RULE: Rule = Rule {
    id: "chart-fails",
    group: Group::Chart,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a release whose chart Helm refuses to render",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/chart/chart-fails.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for release in &view.cluster.releases {
        // What a schema refuses is told at each value.
        let Some(refusal) = release.refusal().filter(|refusal| refusal.faults.is_empty()) else { continue };
        let Some(location) = chart_place(release) else { continue };
        let lines = refusal.message.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines: Vec<&str> = lines.collect();
        let first = lines.first().map_or("", |first| first.trim_end_matches(':')).to_owned();
        let last = lines.last().filter(|_| lines.len() > 1).map(|last| (*last).to_owned());
        let doubt = doubt(release);
        let cause = last.map_or_else(|| first.clone(), |last| format!("{first}: {last}"));
        let fails = format!("helm-controller installs and upgrades nothing; Helm says: {cause}");
        report
            .report(location, title(&release.id, &format!("the chart {} fails", chart_of(release))))
            .level(if doubt.is_some() { Level::Warning } else { Level::Error })
            .why(doubt.map_or_else(|| fails.clone(), |doubt| format!("{fails}; {doubt}")))
            .help("give the chart the values that it asks for")
            .object(&release.id)
            .field("", cause);
    }
}
