//! `conflicting-extension-patches`: two patches of a ClusterClass set one field
//! of one template.
//! Source: cluster-api `core/reconcilers/topology/cluster/patches/engine.go`
//! (`Apply`: patches accumulate in the order of the class).

use super::{text_at, title};
use crate::lang::yaml::NodeRef;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::cluster_api_kinds::CORE;
use crate::model::value::to_json;
use crate::simulate::cluster_api::references::ScopedObject;
use crate::simulate::cluster_api::topology::Class;
use rustc_hash::FxHashMap;

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
    /// As JSON.
    selector: String,
    path: String,
    operation: NodeRef<'a>,
    pointer: String,
}

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !view.id.is(CORE, "ClusterClass") {
        return;
    }
    let class = Class { object: ScopedObject { id: view.id, node: view.node } };
    let mut all: Vec<Sets<'_>> = Vec::new();
    for (index, (pointer, patch)) in class.patches().into_iter().enumerate() {
        // A condition may exclude the other patch's.
        if patch.at("/enabledIf").is_some() {
            continue;
        }
        for (at, definition) in patch.items_at("/definitions").enumerate() {
            let selector = definition.at("/selector").map(to_json).unwrap_or_default().to_string();
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
    // The first that sets something at or below each path of a template.
    let mut below: FxHashMap<(&str, &str), &Sets<'_>> = FxHashMap::default();
    for second in &all {
        let first = below.get(&(&*second.selector, &*second.path)).copied();
        for path in ancestors(&second.path) {
            below.entry((&second.selector, path)).or_insert(second);
        }
        // Its own patch may set it twice.
        let Some(first) = first.filter(|first| first.patch != second.patch) else { continue };
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

/// Steps of the longest path that is held against others.
const STEPS: usize = 100;

/// A path and those above it.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let is_short = path.bytes().filter(|byte| *byte == b'/').count() <= STEPS;
    let ends = path.bytes().enumerate().filter(|(_, byte)| *byte == b'/').map(|(at, _)| at);
    ends.chain([path.len()]).filter(move |_| is_short).map(|end| &path[..end])
}
