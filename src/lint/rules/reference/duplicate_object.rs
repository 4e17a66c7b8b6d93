//! `duplicate-object`: one object applied by two Kustomizations.
//! Source: kustomize-controller `apply` and garbage collection by inventory:
//! the appliers overwrite each other, and one prunes what the other applied.

use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::world::{Applied, Effective};
use crate::yaml::{Known, NodeRef};
use std::collections::BTreeMap;

/// See the module.
pub static RULE: Rule = Rule {
    id: "duplicate-object",
    group: Group::Reference,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "one object applied by two Kustomizations",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/reference/duplicate-object.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    // Overlays of a repository without entry points are alternatives.
    if view.cluster.name.is_none() {
        return;
    }
    let mut by_identity: BTreeMap<_, Vec<(&Applied, &Effective)>> = BTreeMap::new();
    for (member, object) in view.members() {
        let Some(index) = member.applied_by else { continue };
        if object.id.name.is_empty() || object.id.is_unknown() || member.target.is_unknown() {
            continue;
        }
        let id = &object.id;
        let key = (&member.target, id.group(), &*id.kind, id.namespace.as_deref(), &*id.name);
        by_identity.entry(key).or_default().push((&view.cluster.applied[index as usize], object));
    }
    for list in by_identity.values().filter(|list| list.len() > 1) {
        let (first_by, first) = list[0];
        for (by, object) in &list[1..] {
            if by.id == first_by.id || left_alone(first) || left_alone(object) {
                continue;
            }
            let Some(location) = object.node.get_ref().location_at("/metadata/name") else { continue };
            let same = first.node.get_ref().same_value(object.node.get_ref());
            let prunes =
                |by: &Applied| by.node.get_ref().at("/spec/prune").and_then(NodeRef::as_bool) == Some(true);
            let namespace = &*object.id.kind == "Namespace" && object.id.group().is_empty();
            let level = match same {
                Known::Value(false) if !namespace && prunes(by) && prunes(first_by) => Level::Error,
                Known::Value(false) if !namespace => Level::Warning,
                _ => Level::Info,
            };
            let words = format!("{}: applied by {} and {}", object.id, first_by.id.name, by.id.name);
            let finding = report.report(location, words);
            finding
                .level(level)
                .why(match level {
                    Level::Info => {
                        "both apply the same; when one of them drops it, it is pruned for both".to_owned()
                    }
                    _ => "they disagree: each reconciliation overwrites the other's, and when one of them \
                          drops it, it is pruned"
                        .to_owned(),
                })
                .help("apply it from one Kustomization only")
                .object(&object.id)
                .field("/metadata/name", format!("{} {}", first_by.id.name, by.id.name));
            if let Some(place) = first.node.get_ref().location_at("/metadata/name") {
                finding.related(format!("applied by {}", first_by.id.name), place);
            }
        }
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
