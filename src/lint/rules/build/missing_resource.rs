//! `missing-resource`: a path in a kustomization at which there is nothing.
//! Source: kustomize `api/internal/loader/fileloader.go`; fluxcd/pkg
//! `artifact/storage/archive.go`, which leaves links out.

use super::{Matter, entry_path, failures, report_failure};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::repo::Snapshot;
use crate::text::suggest;

/// See the module.
pub static RULE: Rule = Rule {
    id: "missing-resource",
    group: Group::Build,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a path in a kustomization at which there is nothing",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/missing-resource.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let snapshot = view.context.snapshot;
    for failed in failures(view, Matter::MissingResource) {
        let path = entry_path(snapshot, failed.failure);
        let left_out = path.as_deref().and_then(|path| failed.applied.tree.as_ref()?.left_out(path));
        let near = path.and_then(|path| near(snapshot, &path));
        let help = match (&left_out, near) {
            (Some(_), _) => "change that pattern, or remove the entry".to_owned(),
            (None, Some(near)) => format!("did you mean {near}?"),
            (None, None) => "create it, or remove the entry".to_owned(),
        };
        let finding = report_failure(report, &failed, help);
        if let Some(pattern) = left_out {
            finding.why(format!(
                "it exists, but {pattern} keeps it out of the artifact, so the build of {} fails",
                failed.applied.id
            ));
        }
    }
}

/// The name of a neighbour that is nearly the same.
fn near(snapshot: &Snapshot, path: &str) -> Option<String> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let cut = if directory.is_empty() { 0 } else { directory.len() + 1 };
    let names: Vec<&str> = snapshot
        .files_below(directory)
        .iter()
        .filter_map(|file| file.path.get(cut..)?.split('/').next())
        .collect();
    suggest(name, names).map(str::to_owned)
}
