//! `patch-variable-undefined`: a patch of a ClusterClass uses a variable without
//! a definition, or without a value.
//! Source: cluster-api `core/webhooks/admission/patch_validation.go`
//! (`validateJSONPatches`), `patches/inline/json_patch_generator.go`
//! (`calculateValue`, `renderValueTemplate`).

use super::{help, known, place, scopes, text_at, title};
use crate::lang::text::suggest;
use crate::lang::yaml::NodeRef;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::simulate::cluster_api::topology::desired::desired;
use crate::simulate::cluster_api::topology::template::lookups;
use crate::simulate::cluster_api::topology::{Class, Cluster};

pub(crate) static RULE: Rule = Rule {
    id: "patch-variable-undefined",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a patch of a ClusterClass uses a variable that has no value",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/patch-variable-undefined.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for scope in scopes(view) {
        for class in Class::all(&scope.objects) {
            undefined(&class, report);
        }
        for cluster in Cluster::all(&scope.objects) {
            unset(&cluster, &scope.objects, report);
        }
    }
}

/// Names without a definition in the class: inline patches see no others.
fn undefined(class: &Class<'_>, report: &mut Reporter<'_>) {
    let defined: Vec<String> = class.variables().into_iter().map(|(name, _)| name).collect();
    let is_defined = |path: &str| {
        let root = path.split(['.', '[']).next().unwrap_or(path);
        root == "builtin" || defined.iter().any(|name| name == root)
    };
    for (pointer, patch) in class.patches() {
        if let Some(template) = text_at(patch, "/enabledIf") {
            let why = "its enabledIf reads an unset value there: the patch is never applied, or always";
            for name in undefined_in(&template, &is_defined) {
                let at = (patch, format!("{pointer}/enabledIf"), "/enabledIf");
                found(class, at, &name, Level::Warning, why, &defined, report);
            }
        }
        for (at, definition) in patch.items_at("/definitions").enumerate() {
            for (index, operation) in definition.items_at("/jsonPatches").enumerate() {
                let base = format!("{pointer}/definitions/{at}/jsonPatches/{index}");
                if let Some(path) = text_at(operation, "/valueFrom/variable")
                    && !is_defined(&path)
                {
                    let at = (operation, format!("{base}/valueFrom/variable"), "/valueFrom/variable");
                    let why = "Cluster API's webhook rejects the class";
                    found(class, at, &path, Level::Error, why, &defined, report);
                }
                if let Some(template) = text_at(operation, "/valueFrom/template") {
                    for name in undefined_in(&template, &is_defined) {
                        let at = (operation, format!("{base}/valueFrom/template"), "/valueFrom/template");
                        let why = "a template renders `<no value>` for it";
                        found(class, at, &name, Level::Warning, why, &defined, report);
                    }
                }
            }
        }
    }
}

/// Undefined names that a template looks up.
fn undefined_in(template: &str, is_defined: &dyn Fn(&str) -> bool) -> Vec<String> {
    let paths = lookups(template).unwrap_or_default();
    paths.into_iter().filter(|path| !is_defined(path)).collect()
}

fn found(
    class: &Class<'_>,
    (node, pointer, inner): (NodeRef<'_>, String, &str),
    name: &str,
    level: Level,
    why: &str,
    defined: &[String],
    report: &mut Reporter<'_>,
) {
    let Some(location) = node.location_at(inner) else { return };
    let root = name.split(['.', '[']).next().unwrap_or(name);
    let near = suggest(root, defined.iter().map(String::as_str));
    report
        .report(location, title(class.object.id, &format!("variable `{root}` is not defined")))
        .level(level)
        .why(why)
        .help(help(near, format!("define `{root}` in spec.variables")))
        .object(class.object.id)
        .field(pointer, root.to_owned());
}

/// Variables that are defined, have no default, and that a Cluster leaves out,
/// though a patch needs them.
fn unset<'a>(
    cluster: &Cluster<'a>,
    objects: &crate::simulate::cluster_api::references::Objects<'a>,
    report: &mut Reporter<'_>,
) {
    let Some(desired) = desired(*cluster, objects, true) else { return };
    if cluster.object.node.at("/spec/topology/variables").is_some_and(NodeRef::is_unknown) {
        return;
    }
    let defined = desired.class.variables();
    for failure in &desired.failures {
        let Some(path) = failure.message.strip_prefix("variable `").and_then(|m| m.split('`').next()) else {
            continue;
        };
        let root = path.split(['.', '[']).next().unwrap_or(path);
        let Some(name) = known(Some(root.to_owned())) else { continue };
        if !defined.iter().any(|(d, _)| *d == name) {
            continue;
        }
        let Some(location) = place(cluster.object, "/spec/topology/variables") else { continue };
        let id = cluster.object.id;
        let finding = report.report(location, title(id, &format!("variable `{name}` is not set")));
        finding
            .why("a patch of its class needs it and it has no default: the topology reconcile fails")
            .help(format!("set `{name}` in spec.topology.variables, or give it a default in the class"))
            .object(id)
            .field("/spec/topology/variables", name.clone());
        if let Some(at) = desired.class.object.node.location_at(&failure.pointer) {
            finding.related("the patch that needs it", at);
        }
    }
}
