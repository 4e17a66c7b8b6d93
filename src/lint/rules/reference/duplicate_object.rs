//! `duplicate-object`: one object applied by several Kustomizations.
//! Source: kustomize-controller `apply`; `prune` deletes by inventory what carries
//! the owner labels of the Kustomization that drops it (`DeleteOptions.Inclusions`),
//! and those are of the one that applied last.

use super::listed;
use crate::lang::text::counted;
use crate::lang::yaml::{Known, NodeRef, pointer_join};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::ObjectId;
use crate::world::{Applied, Effective};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

pub(crate) static RULE: Rule = Rule {
    id: "duplicate-object",
    group: Group::Reference,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "one object applied by several Kustomizations",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/reference/duplicate-object.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    // Overlays of a repository without entry points are alternatives.
    if view.cluster.name.is_none() {
        return;
    }
    let mut by_identity: FxHashMap<_, Vec<(&Applied, &Effective)>> = FxHashMap::default();
    for (member, object) in view.members() {
        let Some(index) = member.maker.kustomization() else { continue };
        if object.id.name.is_empty() || object.id.is_unknown() || member.target.is_unknown() {
            continue;
        }
        let id = &object.id;
        let key = (&member.target, id.group(), &*id.kind, id.namespace.as_deref(), &*id.name);
        by_identity.entry(key).or_default().push((&view.cluster.applied[index as usize], object));
    }
    let mut several: Vec<_> = by_identity.into_iter().filter(|(_, list)| list.len() > 1).collect();
    several.sort_unstable_by_key(|(key, _)| *key);
    for (_, list) in &several {
        if list.iter().any(|(_, object)| left_alone(object)) {
            continue;
        }
        let (first_by, first) = list[0];
        let mut appliers: Vec<(&Applied, &Effective)> = Vec::new();
        let mut known: BTreeSet<&ObjectId> = BTreeSet::new();
        for (by, object) in list {
            if known.insert(&by.id) {
                appliers.push((by, object));
            }
        }
        let Some((_, last)) = appliers.get(1..).and_then(<[_]>::last) else { continue };
        let Some(location) = last.node.get_ref().location_at("/metadata/name") else { continue };
        let mut differences = Vec::new();
        for (by, object) in &appliers[1..] {
            let common = [first_by, by].map(|by| by.node.get_ref().at("/spec/commonMetadata"));
            differ(first.node.get_ref(), object.node.get_ref(), "", &common, &mut differences);
        }
        differences.sort();
        differences.dedup();
        let prunes =
            |by: &&Applied| by.node.get_ref().at("/spec/prune").and_then(NodeRef::as_bool) == Some(true);
        let pruned = appliers.iter().filter(|(by, _)| prunes(by)).count();
        let namespace = &*first.id.kind == "Namespace" && first.id.group().is_empty();
        let level = match differences.is_empty() {
            false if !namespace && pruned == appliers.len() => Level::Error,
            false if !namespace => Level::Warning,
            _ => Level::Info,
        };
        let names: Vec<String> = appliers.iter().map(|(by, _)| by.id.name.to_string()).collect();
        let finding = report.report(location, format!("{}: applied by {}", first.id, listed(&names)));
        finding
            .level(level)
            .why(format!("{}{}", disagreement(&differences), pruning(pruned)))
            .help("apply it from one Kustomization only")
            .object(&first.id)
            .field("/metadata/name", names.join(" "));
        for (by, object) in &appliers {
            if let Some(place) = object.node.get_ref().location_at("/metadata/name") {
                finding.related(format!("applied by {}", by.id.name), place);
            }
        }
    }
}

/// What the appliers do to each other.
fn disagreement(differences: &[String]) -> String {
    let shown: Vec<String> = differences.iter().take(3).cloned().collect();
    match differences.len() {
        0 => "they apply the same".to_owned(),
        count @ 1..=3 => {
            let verb = if count == 1 { "it is" } else { "they are" };
            format!("they differ in {}: {verb} changed to and fro with each reconciliation", listed(&shown))
        }
        count => format!(
            "they differ in {} and {}, which change to and fro with each reconciliation",
            shown.join(", "),
            counted(count - 3, "other field")
        ),
    }
}

/// kustomize-controller prunes what carries its own owner labels, which the one
/// that applied last has written.
fn pruning(pruned: usize) -> &'static str {
    match pruned {
        0 => "",
        _ => {
            "; when the one that applied it last drops it, it is deleted, until another one applies it again"
        }
    }
}

/// Pointers at which two objects are known to differ, other than labels and
/// annotations that `commonMetadata` of one of the appliers sets.
fn differ(
    one: NodeRef<'_>,
    other: NodeRef<'_>,
    pointer: &str,
    common: &[Option<NodeRef<'_>>; 2],
    found: &mut Vec<String>,
) {
    if one.is_map() && other.is_map() {
        let ignored = match pointer {
            "/metadata/labels" => Some("labels"),
            "/metadata/annotations" => Some("annotations"),
            _ => None,
        };
        let is_common = |key: &str| {
            let has = |metadata: &NodeRef<'_>| {
                ignored.and_then(|field| metadata.get(field)).is_some_and(|map| map.get(key).is_some())
            };
            common.iter().flatten().any(has)
        };
        // The maps themselves may be there because of what is common.
        let only_common = |key: &str, node: NodeRef<'_>| {
            pointer == "/metadata"
                && matches!(key, "labels" | "annotations")
                && node.entries().all(|entry| {
                    common
                        .iter()
                        .flatten()
                        .any(|metadata| metadata.get(key).is_some_and(|map| map.get(&entry.key).is_some()))
                })
        };
        for entry in one.entries().filter(|entry| !is_common(&entry.key)) {
            let place = pointer_join(pointer, &entry.key);
            match other.get(&entry.key) {
                Some(twin) => differ(entry.value, twin, &place, common, found),
                None if only_common(&entry.key, entry.value) => {}
                None => found.push(place),
            }
        }
        for entry in other.entries().filter(|entry| !is_common(&entry.key)) {
            if one.get(&entry.key).is_none() && !only_common(&entry.key, entry.value) {
                found.push(pointer_join(pointer, &entry.key));
            }
        }
    } else if one.is_seq() && other.is_seq() && one.items().count() == other.items().count() {
        for (index, (one, other)) in one.items().zip(other.items()).enumerate() {
            differ(one, other, &pointer_join(pointer, &index.to_string()), common, found);
        }
    } else if one.same_value(other) == Known::Value(false) {
        found.push(pointer.to_owned());
    }
}

/// Objects that an annotation or label takes out of plain apply.
fn left_alone(object: &Effective) -> bool {
    let node = object.node.get_ref();
    ["labels", "annotations"].iter().any(|map| {
        let value = |key: &str| {
            let map = node.at(&format!("/metadata/{map}"))?;
            map.get(key).and_then(NodeRef::text).map(|text| text.to_ascii_lowercase())
        };
        matches!(
            value("kustomize.toolkit.fluxcd.io/ssa").as_deref(),
            Some("merge" | "ifnotpresent" | "ignore")
        ) || value("kustomize.toolkit.fluxcd.io/reconcile").as_deref() == Some("disabled")
    })
}
