//! `field-not-available`: a field, value or kind that other versions have.
//! Source: the CustomResourceDefinitions of each release.

use super::{faults, level, place, refusal, title};
use crate::lint::metadata;
use crate::lint::validity::Taken;
use crate::lint::{Check, Finding, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::kinds;
use crate::schema::{Fault, Product};
use crate::world::Cluster;
use crate::world::schemas::Basis;

pub(crate) static RULE: Rule = Rule {
    id: "field-not-available",
    group: Group::Schema,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a field, value or kind that the cluster's version does not have",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/schema/field-not-available.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let verdict = view.verdict();
    kind(view, report);
    for fault in faults(view, verdict) {
        let Some(taken) = fault.taken else { continue };
        let Basis::Version { product, .. } = fault.basis else { continue };
        let pointer = &fault.violation.pointer;
        let (place, what) = match &fault.violation.fault {
            Fault::UnknownField { entry, .. } => (entry.key_location(), String::new()),
            _ => {
                let value = super::shown(view, fault.violation.node);
                let value = value.map(|value| format!(" `{value}`")).unwrap_or_default();
                (place(view, fault.violation.node, pointer), value)
            }
        };
        let Some(location) = place.or_else(|| view.node.location_at(pointer)) else { continue };
        let (after, help) = match taken {
            Taken::Since(release) => (
                format!("{what} exists since {} {release}", product.name()),
                format!("upgrade {} to {release} first, or remove it", product.name()),
            ),
            Taken::Until(release) => (
                format!("{what} is gone after {} {release}", product.name()),
                format!("remove it: {} {release} was the last one that took it", product.name()),
            ),
        };
        let finding = report
            .report(location, title(view.id, "", pointer, &after))
            .level(level(fault))
            .why(refusal(view, fault))
            .help(help)
            .object(view.id)
            .field(pointer.as_str(), view.node.at(pointer).and_then(|node| node.text()).unwrap_or_default());
        finding.clusters.clone_from(&fault.clusters);
        if let Some(cluster) = fault.cluster {
            version_of(finding, cluster, product);
        }
    }
}

/// Where the version of a cluster is written.
fn version_of(finding: &mut Finding, cluster: &Cluster, product: Product) {
    let setting = match product {
        Product::Flux => &cluster.settings.flux,
        Product::ClusterApi => &cluster.settings.cluster_api,
        Product::Neighbours | Product::Kubernetes | Product::Operator(_) => return,
    };
    if let (Some(version), Some(from)) = (setting.value, &setting.from) {
        finding.related(format!("{} has {} {version}", cluster.label(), product.name()), from.clone());
    }
}

/// A kind that the cluster's version doesn't have yet. One that it has no more is
/// `removed-api-version`'s.
fn kind(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let Some(not_served) = &view.verdict().not_served else { return };
    let Some(since) = not_served.since else { return };
    let is_gone = kinds::of(view.id).is_some_and(|kind| {
        kind.versions.iter().any(|known| known.version == view.id.version() && known.removed.is_some())
    });
    let Some(location) = view.node.location_at("/apiVersion").filter(|_| !is_gone) else { return };
    let product = not_served.product;
    let finding = report
        .report(
            location,
            metadata::title(
                view.id,
                "",
                &view.id.api_version,
                &format!(" exists since {} {since}", product.name()),
            ),
        )
        .level(not_served.level)
        .why(format!("the API server of {} has no such kind", not_served.cluster.label()))
        .help(format!("use a version that it serves, or upgrade {} to {since} first", product.name()))
        .object(view.id)
        .field("/apiVersion", view.id.version());
    finding.clusters.extend(not_served.cluster.name.clone());
    version_of(finding, not_served.cluster, product);
}
