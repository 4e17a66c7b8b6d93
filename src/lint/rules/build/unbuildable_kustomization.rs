//! `unbuildable-kustomization`: a kustomization that kustomize refuses to build.
//! Source: kustomize `api/internal/target/kusttarget.go`; kustomize-controller `build`.

use super::{Matter, failures, report_failure};
use crate::build::kustomize::ErrorClass;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::world::build::FailureKind;

pub(crate) static RULE: Rule = Rule {
    id: "unbuildable-kustomization",
    group: Group::Build,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a kustomization that kustomize refuses to build",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/unbuildable-kustomization.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for failed in failures(view, Matter::Unbuildable) {
        let help = match failed.failure.kind {
            FailureKind::Endless => "move it out of its own path, or let nothing rename what is there",
            FailureKind::TooLarge | FailureKind::Unbuildable(ErrorClass::Limit) => {
                "look for what multiplies: bases that are named twice, copies, patches, variables"
            }
            FailureKind::Unbuildable(ErrorClass::Id) => "leave one of them out, or give it another name",
            _ => "correct it; `forebay build DIR` shows whether it builds",
        };
        report_failure(report, view, &failed, help.to_owned());
    }
}
