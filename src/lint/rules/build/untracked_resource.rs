//! `untracked-resource`: a path in a kustomization at which there is a file that git ignores.
//! Source: kustomize `api/internal/loader/fileloader.go`; source-controller archives what
//! is committed.

use super::{Matter, failures, report_failure};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "untracked-resource",
    group: Group::Build,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a path in a kustomization whose file git ignores",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/untracked-resource.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for failed in failures(view, Matter::UntrackedResource) {
        let finding =
            report_failure(report, view, &failed, "commit the file, or take it out of .gitignore".to_owned());
        // It does exist here.
        if let Some(path) = failed.failure.message.strip_suffix(" doesn't exist") {
            finding.title = format!("{path} is not committed");
        }
        finding.why(format!(
            "git ignores it: the build works here, and in the cluster {}",
            failed.consequence()
        ));
    }
}
