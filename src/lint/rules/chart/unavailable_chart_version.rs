//! `unavailable-chart-version`: a version that the index of its repository doesn't list.
//! Source: source-controller `internal/helm/repository/chart_repository.go`
//! (`getChartVersion`, `no '%s' chart with version matching '%s' found`).

use super::chart_place;
use crate::lang::text::clean;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule, title};

pub(crate) static RULE: Rule = Rule {
    id: "unavailable-chart-version",
    group: Group::Chart,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "a chart version that the index of its repository doesn't list",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/chart/unavailable-chart-version.md"),
    check: Check::Cluster(check),
};

/// Versions that are named.
const NAMED: usize = 4;

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for release in &view.cluster.releases {
        let Err(missing) = &release.chart else { continue };
        let Some(unlisted) = &missing.unlisted else { continue };
        let pointer = "/spec/chart/spec/version";
        let own = release.node.get_ref().location_at(pointer);
        let is_own = own.is_some();
        let Some(location) = own.or_else(|| chart_place(view, release)) else { continue };
        let (name, version) = (clean(&missing.name), clean(&missing.version));
        let url = missing.url.as_deref().map(clean).unwrap_or_default();
        let near: Vec<String> =
            unlisted.versions.iter().take(NAMED).map(|version| clean(version).into_owned()).collect();
        let more = unlisted.versions.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        report
            .report(location, title(&release.id, &format!("{url} has no chart {name} {version}")))
            .why(format!(
                "its index in {} lists {}{more}, newer ones among them, and not this one; source-controller finds \
                 no chart, and the release stays as it is, or isn't installed",
                clean(&unlisted.store),
                near.join(", ")
            ))
            .help("take a version that the repository has; if the index is old, fetch it anew")
            .object(&release.id)
            .field(if is_own { pointer } else { "" }, &*missing.version);
    }
}
