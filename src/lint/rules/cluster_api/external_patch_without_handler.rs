//! `external-patch-without-handler`: an external patch of a ClusterClass that
//! calls nothing, or a patch that is neither inline nor external.
//! Source: cluster-api `core/webhooks/admission/patch_validation.go`
//! (`validatePatchDefinitions`, `validateExternalPatch`).

use super::{place_of, title};
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::cluster_api_kinds::CORE;
use crate::simulate::cluster_api::references::ScopedObject;
use crate::simulate::cluster_api::topology::Class;

pub(crate) static RULE: Rule = Rule {
    id: "external-patch-without-handler",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a patch of a class that calls nothing",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/external-patch-without-handler.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    const CALLS: [&str; 4] =
        ["generatePatchesExtension", "validateTopologyExtension", "generateExtension", "validateExtension"];
    if !view.id.is(CORE, "ClusterClass") || view.effective.is_none() {
        return;
    }
    let class = Class { object: ScopedObject { id: view.id, node: view.node } };
    for (pointer, patch) in class.patches() {
        if patch.is_unknown() {
            continue;
        }
        let inline = patch.items_at("/definitions").next().is_some();
        let external = patch.at("/external").filter(|node| !node.is_null());
        let (words, help) = match external {
            Some(_) if inline => (
                "a patch is both inline and external",
                "make it two patches: one with `definitions`, one with `external`",
            ),
            Some(external)
                if !external.is_unknown() && CALLS.iter().all(|field| external.get(field).is_none()) =>
            {
                (
                    "an external patch calls no handler",
                    "set generatePatchesExtension or validateTopologyExtension",
                )
            }
            None if !inline && patch.at("/definitions").is_none_or(|d| !d.is_unknown()) => {
                ("a patch has no content", "give it `definitions` or `external`")
            }
            _ => continue,
        };
        let Some(location) = place_of(patch, if external.is_some() { "/external" } else { "/name" }) else {
            continue;
        };
        report
            .report(location, title(view.id, words))
            .why("Cluster API's webhook rejects the class")
            .help(help)
            .object(view.id)
            .field(pointer, words);
    }
}
