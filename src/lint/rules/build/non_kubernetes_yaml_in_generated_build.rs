//! `non-kubernetes-yaml-in-generated-build`: a file that is no manifest, below a path without a
//! kustomization.
//! Source: fluxcd/pkg `kustomize/kustomize_generator.go` (`generateKustomization`).

use super::{Matter, failures, report_failure};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "non-kubernetes-yaml-in-generated-build",
    group: Group::Build,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a file that is no manifest, below a path without a kustomization.yaml",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/non-kubernetes-yaml-in-generated-build.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for failed in failures(view, Matter::NonKubernetes) {
        let is_component = failed.failure.message.contains("Component");
        let help = if is_component {
            "list it under spec.components, and move it out of spec.path".to_owned()
        } else {
            "move it away, ignore it in .sourceignore, or list the manifests in a kustomization.yaml"
                .to_owned()
        };
        let place = super::directory(&failed.applied.path);
        let finding = report_failure(report, view, &failed, help);
        finding.why(format!(
            "{place} has no kustomization.yaml, so Flux takes every YAML file below it for a manifest: {}",
            failed.consequence()
        ));
    }
}
