//! `resource-outside-root`: a path that leaves the files that a build may read.
//! Source: fluxcd/pkg `kustomize/filesys/fs_secure.go`; kustomize `api/internal/loader`.

use super::{Matter, failures, report_failure};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "resource-outside-root",
    group: Group::Build,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a path in a kustomization that leaves the source",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/resource-outside-root.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for failed in failures(view, Matter::OutsideRoot) {
        let help = "move the file into the source, or copy it there with an ArtifactGenerator".to_owned();
        report_failure(report, view, &failed, help);
    }
}
