//! `missing-path`: a Kustomization applies a directory that its source lacks.
//! Source: kustomize-controller `reconcile`: `kustomization path not found`,
//! condition reason `ArtifactFailed`.

use super::title;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::text::suggest;
use crate::world::{Applied, Outcome};

/// See the module.
pub static RULE: Rule = Rule {
    id: "missing-path",
    group: Group::Build,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a Kustomization whose path its source does not hold",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/missing-path.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for applied in &view.cluster.applied {
        if !matches!(applied.outcome, Outcome::MissingPath) {
            continue;
        }
        if applied.assumed || applied.later {
            report.not_checked("external-source", applied.id.to_string());
            continue;
        }
        let Some(location) = applied.node.get_ref().location_at("/spec/path") else { continue };
        let left_out = applied.tree.as_ref().and_then(|tree| {
            let real = tree.repository_path(&applied.path)?;
            tree.left_out(&real)
        });
        let near = near(applied);
        // What is pushed as an artifact may be made before.
        let made = is_pushed(applied) && left_out.is_none() && near.is_none();
        let help = match (&left_out, near) {
            (Some(_), _) => "change that pattern, or correct spec.path".to_owned(),
            (None, Some(near)) => format!("did you mean ./{near}?"),
            (None, None) => "create the directory, or correct spec.path".to_owned(),
        };
        let fails = "kustomize-controller reports `kustomization path not found` and applies nothing";
        report
            .report(location, title(&applied.id, &format!("no directory {}", applied.path)))
            .claims_absence()
            .level(if made { Level::Warning } else { Level::Error })
            .why(match left_out {
                Some(pattern) => format!("it exists, but {pattern} keeps it out of the artifact: {fails}"),
                None => fails.to_owned(),
            })
            .help(help)
            .object(&applied.id)
            .field("/spec/path", applied.path.clone());
    }
}

/// Whether its source is an artifact, which a workflow of the repository pushes.
fn is_pushed(applied: &Applied) -> bool {
    let kind = applied.node.get_ref().str_at("/spec/sourceRef/kind");
    kind.is_some_and(|kind| matches!(&*kind, "OCIRepository" | "Bucket"))
}

/// A directory beside the missing one with a similar name.
fn near(applied: &Applied) -> Option<String> {
    let tree = applied.tree.as_ref()?;
    let mut parent = applied.path.as_str();
    loop {
        let (above, name) = parent.rsplit_once('/').unwrap_or(("", parent));
        if above.is_empty() || tree.is_directory(above) {
            let names: Vec<String> = tree
                .list(above)
                .into_iter()
                .filter(|(_, directory)| *directory)
                .map(|(name, _)| name)
                .collect();
            let near = suggest(name, names.iter().map(String::as_str))?;
            let rest = applied.path.get(parent.len()..).unwrap_or_default();
            let found = if above.is_empty() { near.to_owned() } else { format!("{above}/{near}") };
            let whole = format!("{found}{rest}");
            return tree.is_directory(&whole).then_some(whole);
        }
        parent = above;
    }
}
