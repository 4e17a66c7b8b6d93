//! `cross-namespace-reference`: a reference that `--no-cross-namespace-refs`
//! blocks.
//! Source: each controller's ACL check (`pkg/runtime/acl`); dependsOn and
//! healthChecks are not checked.

use super::{field_name, known_name, local_references, target_name};
use crate::config::Feature;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "cross-namespace-reference",
    group: Group::Reference,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a reference across namespaces where the controllers forbid it",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/reference/cross-namespace-reference.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let allowed = view.cluster.settings.feature(Feature::CrossNamespaceRefs);
    if allowed.value != Some(false) {
        return;
    }
    for (object, reference) in local_references(view) {
        let Some(name) = known_name(reference).filter(|_| reference.guarded && reference.crosses) else {
            continue;
        };
        let pointer = format!("{}/namespace", reference.pointer);
        let Some(location) = object.node.get_ref().location_at(&pointer) else { continue };
        let field = field_name(&reference.pointer);
        let words = format!("{}: {field} crosses namespaces, which is forbidden here", object.id);
        let finding = report.report(location, words);
        finding
            .why("the controllers run with --no-cross-namespace-refs and deny access to other namespaces")
            .help(format!(
                "move {} {} next to the object, or the object next to it",
                reference.kind,
                target_name(reference, name)
            ))
            .object(&object.id)
            .field(pointer, reference.namespace.clone().unwrap_or_default());
        if let Some(from) = allowed.from.clone() {
            finding.related("forbidden here", from);
        }
    }
}
