//! `malformed-extension-config`: an ExtensionConfig that is rejected.
//! Source: cluster-api `core/webhooks/admission/extensionconfig.go`, and the CRD
//! (there is no v1beta1).

use super::{place_in, text_at, title};
use crate::lint::metadata::has_hole;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::cluster_api_kinds::RUNTIME;
use crate::model::value::{has_unknown, to_json};
use crate::simulate::cluster_api::hooks::extension_config::{ClientConfig, ExtensionConfig};

pub(crate) static RULE: Rule = Rule {
    id: "malformed-extension-config",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "an ExtensionConfig that is rejected",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/malformed-extension-config.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !view.id.is(RUNTIME, "ExtensionConfig") {
        return;
    }
    if !matches!(view.id.version(), "v1beta2" | "v1alpha1") {
        if let Some(location) = place_in(view, "/apiVersion") {
            report
                .report(location, title(view.id, "its apiVersion does not exist"))
                .why("ExtensionConfig has the versions v1beta2 and, deprecated, v1alpha1")
                .help(format!("write `{RUNTIME}/v1beta2`"))
                .object(view.id)
                .field("/apiVersion", view.id.api_version.to_string());
        }
        return;
    }
    let Some(config) = read(view) else { return };
    for problem in config.problems(true) {
        let Some(location) = place_in(view, problem.pointer) else { continue };
        report
            .report(location, title(view.id, &format!("{} is malformed", field(problem.pointer))))
            .why(format!("the webhook rejects it: {}", problem.message))
            .help("correct the field; without the ExtensionConfig none of its handlers is called")
            .object(view.id)
            .field(problem.pointer, problem.message);
    }
}

fn field(pointer: &str) -> &str {
    pointer.trim_start_matches("/spec/").trim_start_matches("/metadata/")
}

/// The config, or nothing where a part is unknown.
fn read(view: &ObjectView<'_>) -> Option<ExtensionConfig> {
    let json = |pointer: &str| view.node.at(pointer).map(to_json).unwrap_or_default();
    let (client, selector) = (json("/spec/clientConfig"), json("/spec/namespaceSelector"));
    if has_unknown(&client) || has_unknown(&selector) || has_hole(&format!("{client}{selector}")) {
        return None;
    }
    let client_config: Option<ClientConfig> = serde_json::from_value(client).ok()?;
    Some(ExtensionConfig {
        name: text_at(view.node, "/metadata/name")?,
        client_config: client_config.unwrap_or_default(),
        namespace_selector: serde_json::from_value(selector).ok()?,
    })
}
