//! `patch-outside-spec`: a JSON patch of a ClusterClass changes what is not taken
//! over.
//! Source: cluster-api `core/webhooks/admission/patch_validation.go`
//! (`validateJSONPatches`), `core/reconcilers/topology/cluster/patches/patch.go`
//! (`patchTemplate`, `patchObject`).

use super::{text_at, title};
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::cluster_api_kinds::CORE;
use crate::simulate::cluster_api::references::ScopedObject;
use crate::simulate::cluster_api::topology::Class;

pub(crate) static RULE: Rule = Rule {
    id: "patch-outside-spec",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a JSON patch of a ClusterClass without effect",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/patch-outside-spec.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !view.id.is(CORE, "ClusterClass") {
        return;
    }
    let minors: Vec<Option<u32>> =
        view.settings().map(|s| s.cluster_api.value.map(|v| v.minor_in(1))).collect();
    let class = Class { object: ScopedObject { id: view.id, node: view.node } };
    for (pointer, patch) in class.patches() {
        for (at, definition) in patch.items_at("/definitions").enumerate() {
            for (index, operation) in definition.items_at("/jsonPatches").enumerate() {
                let Some(path) = text_at(operation, "/path") else { continue };
                let Some((level, why, help)) = judge(&path, &minors) else { continue };
                let Some(location) = operation.location_at("/path") else { continue };
                report
                    .report(location, title(view.id, "a JSON patch has no effect"))
                    .level(level)
                    .why(why)
                    .label(path.clone())
                    .help(help)
                    .object(view.id)
                    .field(format!("{pointer}/definitions/{at}/jsonPatches/{index}/path"), path);
            }
        }
    }
}

fn judge(path: &str, minors: &[Option<u32>]) -> Option<(Level, &'static str, &'static str)> {
    let is_under =
        |root: &str| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if !is_under("/spec") {
        return Some((
            Level::Error,
            "Cluster API's webhook rejects inline patches outside of /spec",
            "patch below /spec/template/spec",
        ));
    }
    let taken = ["/spec", "/spec/template"].contains(&path) || is_under("/spec/template/spec");
    if taken {
        return None;
    }
    let metadata =
        ["labels", "annotations"].iter().any(|field| is_under(&format!("/spec/template/metadata/{field}")))
            || path == "/spec/template/metadata";
    if !metadata {
        return Some((
            Level::Error,
            "of a patched template only spec.template.spec is taken over: this changes nothing",
            "patch below /spec/template/spec",
        ));
    }
    let old = |minor: &Option<u32>| minor.is_some_and(|minor| minor < 14);
    if minors.iter().any(old) {
        return Some((
            Level::Error,
            "before Cluster API 1.14 template metadata is not taken over: this changes nothing",
            "set the metadata in the class or the topology, or upgrade Cluster API",
        ));
    }
    let new = minors.iter().all(|minor| minor.is_some()) && !minors.is_empty();
    (!new).then_some((
        Level::Info,
        "before Cluster API 1.14 template metadata is not taken over; which version runs is not known",
        "state the version in target.clusterApi",
    ))
}
