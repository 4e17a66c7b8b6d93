//! `patch-selector-matches-nothing`: a patch of a ClusterClass selects none of
//! its templates.
//! Source: cluster-api `core/webhooks/admission/patch_validation.go`
//! (`validateSelectors`).

use super::{known, place_of, title};
use crate::lang::yaml::NodeRef;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::cluster_api_kinds::CORE;
use crate::simulate::cluster_api::propagation::WorkerKind;
use crate::simulate::cluster_api::references::ScopedObject;
use crate::simulate::cluster_api::topology::patches::{Role, selects};
use crate::simulate::cluster_api::topology::{Class, TemplateRef};

pub(crate) static RULE: Rule = Rule {
    id: "patch-selector-matches-nothing",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a patch of a ClusterClass that selects no template",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/patch-selector-matches-nothing.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    // Pieces of classes in patch files are no objects; orphans may be such.
    if !view.id.is(CORE, "ClusterClass") || view.effective.is_none() {
        return;
    }
    let class = Class { object: ScopedObject { id: view.id, node: view.node } };
    for (pointer, patch) in class.patches() {
        for (at, definition) in patch.items_at("/definitions").enumerate() {
            let Some(selector) = definition.at("/selector") else { continue };
            if selects_something(&class, selector) != Some(false) {
                continue;
            }
            let Some(location) = place_of(definition, "/selector") else { continue };
            let near = same_kind(&class, selector);
            report
                .report(location, title(view.id, "a patch selects no template"))
                .why("Cluster API's webhook rejects the class: a selector must match a template of it")
                .help(match near {
                    Some(version) => format!(
                        "apiVersion and kind must equal the template reference's exactly: write `{version}`"
                    ),
                    None => "name apiVersion and kind of a template of the class, and where it is used \
                             (matchResources)"
                        .to_owned(),
                })
                .object(view.id)
                .field(format!("{pointer}/definitions/{at}/selector"), "selector");
        }
    }
}

/// Every template of a class with what it is to a Cluster.
fn templates<'a>(class: &Class<'a>) -> Vec<(TemplateRef<'a>, Option<WorkerKind>, Option<String>, bool)> {
    let mut all = Vec::new();
    all.extend(class.infrastructure().map(|r| (r, None, None, true)));
    all.extend(class.control_plane().map(|r| (r, None, None, false)));
    all.extend(class.control_plane_machines().map(|r| (r, None, None, false)));
    for kind in WorkerKind::BOTH {
        for worker in class.workers(kind) {
            let parts = [worker.bootstrap, worker.infrastructure].into_iter().flatten();
            all.extend(parts.map(|r| (r, Some(kind), worker.class.clone(), false)));
        }
    }
    all
}

fn selects_something(class: &Class<'_>, selector: NodeRef<'_>) -> Option<bool> {
    for (reference, kind, worker, infrastructure) in templates(class) {
        let (api_version, template_kind) = (known(reference.api_version)?, known(reference.kind)?);
        let worker = worker.map(|w| known(Some(w)));
        let role = match (kind, &worker) {
            (Some(kind), Some(Some(worker))) => Role::Worker(kind, worker),
            (Some(_), _) => return None,
            (None, _) if infrastructure => Role::InfrastructureCluster,
            (None, _) => Role::ControlPlane,
        };
        if selects(selector, &api_version, &template_kind, role)? {
            return Some(true);
        }
    }
    // Unknown text in the selector itself could name anything.
    let texts = ["/apiVersion", "/kind"];
    texts.iter().all(|p| super::text_at(selector, p).is_some()).then_some(false)
}

/// The apiVersion by which the class references the kind that a selector names.
fn same_kind(class: &Class<'_>, selector: NodeRef<'_>) -> Option<String> {
    let kind = super::text_at(selector, "/kind")?;
    let api_version = super::text_at(selector, "/apiVersion")?;
    let found = class.templates().into_iter().find(|r| r.kind.as_deref() == Some(&*kind))?;
    found.api_version.filter(|version| *version != api_version)
}
