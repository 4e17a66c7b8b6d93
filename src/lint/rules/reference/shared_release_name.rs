//! `shared-release-name`: two HelmReleases that are one release of Helm.
//! Source: helm-controller `api/v2` `GetReleaseName`, `GetStorageNamespace`: Helm knows
//! a release by its name in the namespace of its storage.

use crate::lang::yaml::NodeRef;
use crate::lint::metadata::has_hole;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::ObjectId;
use crate::model::kinds::is_helm_release;
use crate::world::{ApplyTarget, Effective, target_of};
use std::collections::BTreeMap;

pub(crate) static RULE: Rule = Rule {
    id: "shared-release-name",
    group: Group::Reference,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "two HelmReleases with the same release name in one namespace",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/reference/shared-release-name.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    // Overlays of a repository without entry points are alternatives.
    if view.cluster.name.is_none() {
        return;
    }
    let mut by_release: BTreeMap<(ApplyTarget, String, String), Vec<&Effective>> = BTreeMap::new();
    for (member, object) in view.written() {
        if member.target != ApplyTarget::Local || !is_helm_release(&object.id) {
            continue;
        }
        let Some(release) = release(&object.id, object.node.get_ref()) else { continue };
        let same = by_release.entry(release).or_default();
        if same.iter().all(|other| other.id != object.id) {
            same.push(object);
        }
    }
    for ((_, namespace, name), objects) in &mut by_release {
        // The one that says another's name is the copy.
        objects.sort_by_key(|object| object.node.get_ref().at("/spec/releaseName").is_some());
        let Some((first, others)) = objects.split_first() else { continue };
        for other in others {
            let node = other.node.get_ref();
            let named = node.at("/spec/releaseName").or_else(|| node.at("/metadata/name"));
            let place = named.and_then(NodeRef::location);
            let Some(place) = place else { continue };
            let finding = report
                .report(
                    place,
                    format!("{}: its release is {namespace}/{name}, as that of {}", other.id, first.id),
                )
                .why(
                    "Helm has one release of a name in a namespace: each of the two upgrades it to its own \
                     chart and values, and deletes what the other one made",
                )
                .help("give one of them another releaseName")
                .object(&other.id)
                .object(&first.id)
                .field("/spec/releaseName", format!("{namespace}/{name}"));
            if let Some(place) = first.node.get_ref().location_at("/metadata/name") {
                finding.related(first.id.to_string(), place);
            }
        }
    }
}

/// The cluster, namespace and name by which Helm knows a release; `None` where a part is
/// unknown, it is suspended, or its name is one that the controller shortens.
fn release(id: &ObjectId, node: NodeRef<'_>) -> Option<(ApplyTarget, String, String)> {
    let field = |pointer: &str| match node.at(pointer) {
        Some(value) => value.as_str().map(|text| Some(text.into_owned())),
        None => Some(None),
    };
    let namespace = id.namespace.as_deref()?.to_owned();
    let storage = field("/spec/storageNamespace")?.unwrap_or(namespace);
    let name = match (field("/spec/releaseName")?, field("/spec/targetNamespace")?) {
        (Some(name), _) => name,
        (None, Some(target)) => format!("{target}-{}", id.name),
        (None, None) => id.name.to_string(),
    };
    let target = target_of(id, node);
    let suspended = node.at("/spec/suspend").and_then(NodeRef::as_bool).unwrap_or(false);
    let is_known = !has_hole(&name) && !has_hole(&storage) && !id.is_unknown() && !target.is_unknown();
    (is_known && !suspended && name.len() <= LONGEST).then_some((target, storage, name))
}

/// Longer names get a hash in their end.
const LONGEST: usize = 53;
