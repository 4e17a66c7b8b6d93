//! `unknown-extension-handler`: a ClusterClass names a handler of an
//! ExtensionConfig that is not there.
//! Source: cluster-api `internal/runtime/registry`, `internal/runtime/client`
//! (`ExtensionNameFromHandlerName`).

use super::{absence, help, known, scopes, text_at, title};
use crate::lang::text::suggest;
use crate::lang::yaml::NodeRef;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Unchecked;
use crate::model::cluster_api_kinds::RUNTIME;
use crate::simulate::cluster_api::hooks::extension_config::split_handler_name;
use crate::simulate::cluster_api::topology::Class;

pub(crate) static RULE: Rule = Rule {
    id: "unknown-extension-handler",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a ClusterClass names a handler that is not registered",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/unknown-extension-handler.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let target = view.config().target_of(view.cluster.name.as_deref());
    for scope in scopes(view) {
        let configs: Vec<&str> =
            scope.objects.of_kind(RUNTIME, "ExtensionConfig").map(|object| object.name()).collect();
        for class in Class::all(&scope.objects) {
            let id = class.object.id;
            for (pointer, node) in handlers(&class) {
                let Some(name) = text_at(node, "") else { continue };
                let Some(location) = node.location() else { continue };
                let Some((handler, config)) = split_handler_name(&name) else {
                    report
                        .report(location, title(id, "a handler's name is malformed"))
                        .why("the class is not reconciled: names are HANDLER.EXTENSIONCONFIG, with one dot")
                        .label(name.clone())
                        .help("write the handler's name, a dot, and the ExtensionConfig's name")
                        .object(id)
                        .field(pointer, name);
                    continue;
                };
                let configured = target.extensions.iter().find(|extension| extension.name == config);
                if let Some(extension) = configured {
                    let names: Vec<&str> = extension.handlers.iter().map(|h| h.name.as_str()).collect();
                    if !names.contains(&handler) {
                        let near = suggest(handler, names.iter().copied());
                        report
                            .report(location, title(id, "a handler is not registered"))
                            .why(format!("target.extensions lists no handler `{handler}` of {config}"))
                            .help(help(near, "name one that is listed".into()))
                            .object(id)
                            .field(pointer, name.clone());
                    }
                    continue;
                }
                if configs.contains(&config) {
                    continue;
                }
                let (kind, near) = ((RUNTIME, "ExtensionConfig"), suggest(config, configs.iter().copied()));
                let Some(absence) = absence(view, &scope.target, kind, None, config, near) else {
                    let what = format!("{id}: ExtensionConfig {config}");
                    report.not_checked(Unchecked::ClusterApiReference, Some(location), what);
                    continue;
                };
                report
                    .report(location, title(id, "a handler's ExtensionConfig is not there"))
                    .claims_absence()
                    .level(absence.level)
                    .why("every call fails, so the class, or each Cluster of it, is not reconciled")
                    .label(format!("no ExtensionConfig {config}"))
                    .help(help(absence.near, format!("create ExtensionConfig {config}")))
                    .object(id)
                    .field(pointer, name);
            }
        }
    }
}

/// Names of handlers in a class, with their JSON Pointers.
fn handlers<'a>(class: &Class<'a>) -> Vec<(String, NodeRef<'a>)> {
    const FIELDS: [&str; 5] = [
        "generatePatchesExtension",
        "validateTopologyExtension",
        "discoverVariablesExtension",
        "generateExtension",
        "validateExtension",
    ];
    let mut found = Vec::new();
    for (pointer, patch) in class.patches() {
        for field in FIELDS {
            if let Some(node) = patch.at(&format!("/external/{field}")) {
                found.push((format!("{pointer}/external/{field}"), node));
            }
        }
    }
    let plan = "/spec/upgrade/external/generateUpgradePlanExtension";
    found.extend(class.object.node.at(plan).map(|node| (plan.to_owned(), node)));
    found.retain(|(_, node)| known(node.text().map(|t| t.into_owned())).is_some());
    found
}
