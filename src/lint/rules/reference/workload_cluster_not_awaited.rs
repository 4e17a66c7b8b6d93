//! `workload-cluster-not-awaited`: a kubeConfig Secret that a Cluster API
//! Cluster provides, and nothing waits for that Cluster.
//! Source: kustomize-controller `impersonator.GetClient` (a missing Secret
//! fails the reconcile), Cluster API `util/secret`.

use super::dependency_cycle::{Edge, edges};
use super::{known_name, local_references};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Name;
use crate::model::references::Role;
use crate::world::{ApplyTarget, Cluster, Lookup};
use std::collections::BTreeSet;

pub(crate) static RULE: Rule = Rule {
    id: "workload-cluster-not-awaited",
    group: Group::Reference,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "nothing waits for the Cluster that provides a kubeConfig",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/reference/workload-cluster-not-awaited.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let edges = edges(view);
    for (object, reference) in local_references(view) {
        if reference.role != Role::KubeConfig || reference.kind != "Secret" {
            continue;
        }
        let Some(name) = known_name(reference) else { continue };
        let Some(cluster) = name.strip_suffix("-kubeconfig") else { continue };
        let namespace = reference.namespace.as_deref();
        let found = view
            .cluster
            .lookup(&ApplyTarget::Local, Name::new("cluster.x-k8s.io", "Cluster", namespace, cluster));
        let Lookup::Found(member) = found else { continue };
        let Some(by) = member.maker.kustomization() else { continue };
        let provider = &view.cluster.applied[by as usize];
        // A HelmRelease is applied by a Kustomization, whose own wait is what
        // counts; a Kustomization waits by dependsOn.
        let waiting: BTreeSet<KustomizationName> = if crate::model::kinds::is_kustomization(&object.id) {
            BTreeSet::from([(object.id.namespace.as_deref().map(str::to_owned), object.id.name.to_string())])
        } else {
            applying(view, view.cluster, object)
        };
        let reached = reached(waiting, &edges);
        let provider_key =
            (provider.id.namespace.as_deref().map(str::to_owned), provider.id.name.to_string());
        if reached.contains(&provider_key) {
            continue;
        }
        let Some(location) = reference.name_node.location() else { continue };
        let finding = report.report(location, format!("{}: does not wait for Cluster {cluster}", object.id));
        finding
            .why(format!(
                "Secret {name} appears when the control plane of Cluster {cluster} has an endpoint; until then \
                 every reconciliation fails"
            ))
            .help(format!(
                "let it depend on Kustomization {}, with healthCheckExprs on the Cluster's Available condition there",
                provider.id.name
            ))
            .object(&object.id)
            .field(format!("{}/name", reference.pointer), name);
        let place = view.object(member).node.get_ref().location_at("/metadata/name");
        if let Some(place) = place {
            finding.related(format!("applied by Kustomization {}", provider.id.name), place);
        }
    }
}

/// A Kustomization, by its namespace and name.
type KustomizationName = (Option<String>, String);

/// Kustomizations, and all that they wait for.
fn reached(waiting: BTreeSet<KustomizationName>, edges: &[Edge<'_>]) -> BTreeSet<KustomizationName> {
    let mut reached = waiting.clone();
    let mut next: Vec<_> = waiting.into_iter().collect();
    while let Some(current) = next.pop() {
        let own = edges.iter().filter(|edge| {
            crate::model::kinds::is_kustomization(&edge.from.id)
                && *edge.from.id.name == *current.1
                && edge.from.id.namespace.as_deref() == current.0.as_deref()
        });
        for edge in own {
            if reached.insert(edge.to.clone()) {
                next.push(edge.to.clone());
            }
        }
    }
    reached
}

fn applying(
    view: &ClusterView<'_>,
    cluster: &Cluster,
    object: &crate::world::Effective,
) -> BTreeSet<KustomizationName> {
    view.written()
        .filter(|(_, other)| std::ptr::eq(*other, object))
        .filter_map(|(member, _)| member.maker.kustomization())
        .map(|index| &cluster.applied[index as usize].id)
        .map(|id| (id.namespace.as_deref().map(str::to_owned), id.name.to_string()))
        .collect()
}
