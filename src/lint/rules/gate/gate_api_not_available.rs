//! `gate-api-not-available`: Gates that no controller of the cluster reads.
//! Source: the gating RFC, closed without being merged (flux2 pull request 3158); no
//! Flux installs a CRD `gates.gating.toolkit.fluxcd.io`. A field `spec.gates` that a
//! schema lacks is `unknown-field`.

use super::gates;
use crate::config::Feature;
use crate::lang::yaml::Location;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "gate-api-not-available",
    group: Group::Gate,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a Gate that no controller of the cluster reads",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/gate/gate-api-not-available.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let setting = view.cluster.settings.feature(Feature::Gates);
    if setting.value == Some(true) {
        return;
    }
    let gates =
        gates(view).filter_map(|(_, gate)| Some((gate.node.get_ref().location_at("/kind")?, &gate.id)));
    let mut uses: Vec<(Location, _)> = gates.collect();
    uses.sort_by(|(a, _), (b, _)| (&a.file, a.start).cmp(&(&b.file, b.start)));
    let Some((first, id)) = uses.first() else { return };
    let (level, why) = match setting.value {
        Some(false) => (Level::Error, "target.features.gates is disabled: nothing is held back"),
        _ => (
            Level::Warning,
            "the gating RFC is a proposal that no released Flux has: nothing is held back, and where no CRD \
             defines the kind its apply fails",
        ),
    };
    let finding = report.report(first.clone(), format!("{id}: no controller here has gates"));
    finding
        .level(level)
        .why(why)
        .label(format!("{} in {}", uses_in_words(uses.len()), view.cluster.label()))
        .help(
            "use suspend, a ResourceSetInputProvider's schedule or a CronJob; with a gating controller of \
             your own, commit its CRD gates.gating.toolkit.fluxcd.io or set target.features.gates: enabled",
        )
        .object(id)
        .field("", "gates");
    for (location, id) in uses.iter().skip(1) {
        finding.object(id).related(id.to_string(), location.clone());
    }
}

fn uses_in_words(count: usize) -> String {
    if count == 1 { "1 Gate".into() } else { format!("{count} Gates") }
}
