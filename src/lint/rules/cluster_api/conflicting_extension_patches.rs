//! `conflicting-extension-patches`: two patches of a ClusterClass set one field
//! of one template.
//! Source: cluster-api `core/reconcilers/topology/cluster/patches/engine.go`
//! (`Apply`: patches accumulate in the order of the class).

use super::{text_at, title};
use crate::lang::yaml::NodeRef;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::cluster_api_kinds::CORE;
use crate::model::value::to_json;
use crate::simulate::cluster_api::references::Object;
use crate::simulate::cluster_api::topology::Class;

pub(crate) static RULE: Rule = Rule {
    id: "conflicting-extension-patches",
    group: Group::ClusterApi,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "two patches of a class set one field",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/conflicting-extension-patches.md"),
    check: Check::Object(check),
};

/// An operation that sets a field whenever its template is patched.
struct Sets<'a> {
    patch: usize,
    selector: serde_json::Value,
    path: String,
    operation: NodeRef<'a>,
    pointer: String,
}

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !view.id.is(CORE, "ClusterClass") {
        return;
    }
    let class = Class { object: Object { id: view.id, node: view.node } };
    let mut all: Vec<Sets<'_>> = Vec::new();
    for (index, (pointer, patch)) in class.patches().into_iter().enumerate() {
        // A condition may exclude the other patch's.
        if patch.at("/enabledIf").is_some() {
            continue;
        }
        for (at, definition) in patch.items_at("/definitions").enumerate() {
            let selector = definition.at("/selector").map(to_json).unwrap_or_default();
            for (number, operation) in definition.items_at("/jsonPatches").enumerate() {
                let Some(path) = text_at(operation, "/path").filter(|path| !path.ends_with("/-")) else {
                    continue;
                };
                // Adding to a list puts one item beside the other.
                if matches!(text_at(operation, "/op").as_deref(), Some("add")) && path.ends_with("/0") {
                    continue;
                }
                all.push(Sets {
                    patch: index,
                    selector: selector.clone(),
                    path,
                    operation,
                    pointer: format!("{pointer}/definitions/{at}/jsonPatches/{number}/path"),
                });
            }
        }
    }
    for (index, second) in all.iter().enumerate() {
        let overwrites = |first: &&Sets<'_>| {
            first.patch != second.patch
                && first.selector == second.selector
                && first
                    .path
                    .strip_prefix(second.path.as_str())
                    .is_some_and(|r| r.is_empty() || r.starts_with('/'))
        };
        let Some(first) = all[..index].iter().find(overwrites) else { continue };
        let same = to_json(first.operation) == to_json(second.operation);
        let Some(location) = second.operation.location_at("/path").filter(|_| !same) else { continue };
        let finding = report.report(location, title(view.id, "two patches set one field"));
        finding
            .why("patches are applied in the order of the class: what the earlier one sets there is lost")
            .label(second.path.clone())
            .help("leave the field to one of them, or make them exclude each other with enabledIf")
            .object(view.id)
            .field(second.pointer.clone(), second.path.clone());
        if let Some(at) = first.operation.location_at("/path") {
            finding.related("the earlier patch", at);
        }
    }
}
