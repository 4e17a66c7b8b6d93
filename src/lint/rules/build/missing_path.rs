//! `missing-path`: a Kustomization applies a directory that its source lacks.
//! Source: kustomize-controller `reconcile`: `kustomization path not found`,
//! condition reason `ArtifactFailed`.

use super::title;
use crate::files::FileTree;
use crate::lang::text::suggest;
use crate::lint::{Check, Context, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Unchecked;
use crate::world::entry::{clean_path, is_leftover};
use crate::world::{Applied, Cluster, Form, Outcome, Unsettled};
use rustc_hash::FxHashMap;

pub(crate) static RULE: Rule = Rule {
    id: "missing-path",
    group: Group::Build,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a Kustomization whose path its source does not hold",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/missing-path.md"),
    check: Check::Repository(check),
};

fn check(context: &Context<'_>, report: &mut Reporter<'_>) {
    for cluster in &context.world.clusters {
        in_cluster(cluster, report);
    }
    for one in context.world.unsettled.iter().filter(|one| one.form == Form::Sync) {
        of_root(context, one, report);
    }
}

/// The root that a gotk-sync.yaml names. The file may be of another repository,
/// unless nearly the same directory is here.
fn of_root(context: &Context<'_>, one: &Unsettled, report: &mut Reporter<'_>) {
    let Some(written) = &one.location else { return };
    let path = clean_path(&one.path);
    if is_leftover(written.file.shown()) || path.contains("${") || path.is_empty() {
        return;
    }
    let (above, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let tree = FileTree::root(context.world.snapshot.clone());
    let names: Vec<String> =
        tree.list(above).into_iter().filter(|(_, directory)| *directory).map(|(name, _)| name).collect();
    let near = suggest(name, names.iter().map(String::as_str));
    let root = context
        .snapshot
        .objects()
        .iter()
        .find(|object| object.id == one.id && object.source.file == written.file);
    let place = root.and_then(|root| root.node.get_ref().location_at("/spec/path"));
    let finding = report.report(
        place.unwrap_or_else(|| written.clone()),
        title(&one.id, &format!("path ./{path} does not exist")),
    );
    finding
        .level(if near.is_some() { Level::Error } else { Level::Warning })
        .why(
            "it is the root of its cluster: kustomize-controller reports `kustomization path not found`, and \
             nothing of this repository is applied",
        )
        .help(match near {
            Some(near) if above.is_empty() => format!("did you mean ./{near}?"),
            Some(near) => format!("did you mean ./{above}/{near}?"),
            None => "correct spec.path; if the file is of another repository, exclude it in .forebay.yaml"
                .to_owned(),
        })
        .object(&one.id)
        .field("/spec/path", path.clone());
}

fn in_cluster(cluster: &Cluster, report: &mut Reporter<'_>) {
    let mut listed = Listed::default();
    for applied in &cluster.applied {
        if !matches!(applied.outcome, Outcome::MissingPath) {
            continue;
        }
        if applied.assumed || applied.later {
            let place = applied.node.get_ref().location();
            report.not_checked(Unchecked::ExternalSource, place, applied.id.to_string());
            continue;
        }
        let Some(location) = applied.node.get_ref().location_at("/spec/path") else { continue };
        let left_out = applied.tree.as_ref().and_then(|tree| {
            let real = tree.root_path(&applied.path)?;
            tree.left_out(&real)
        });
        let near = near(applied, &mut listed);
        // What is pushed as an artifact may be made before.
        let made = is_pushed(applied) && left_out.is_none() && near.is_none();
        let help = match (&left_out, near) {
            (Some(_), _) => "change that pattern, or correct spec.path".to_owned(),
            (None, Some(near)) => format!("did you mean ./{near}?"),
            (None, None) => "create the directory, or correct spec.path".to_owned(),
        };
        let fails = "kustomize-controller reports `kustomization path not found` and applies nothing";
        report
            .report(location, title(&applied.id, &format!("path ./{} does not exist", applied.path)))
            .claims_absence()
            .level(if made { Level::Warning } else { Level::Error })
            .why(match left_out {
                Some(pattern) => format!("it exists, but {pattern} keeps it out of the artifact: {fails}"),
                None => fails.to_owned(),
            })
            .help(help)
            .object(&applied.id)
            .field("/spec/path", applied.path.clone())
            .clusters
            .extend(cluster.name.clone());
    }
}

/// Whether its source is an artifact, which a workflow of the repository pushes.
fn is_pushed(applied: &Applied) -> bool {
    let kind = applied.node.get_ref().str_at("/spec/sourceRef/kind");
    kind.is_some_and(|kind| matches!(&*kind, "OCIRepository" | "Bucket"))
}

/// Names of the directories of a directory of a tree: many Kustomizations may miss one.
type Listed = FxHashMap<(String, String), Vec<String>>;

/// A directory beside the missing one with a similar name.
fn near(applied: &Applied, listed: &mut Listed) -> Option<String> {
    let tree = applied.tree.as_ref()?;
    let mut parent = applied.path.as_str();
    loop {
        let (above, name) = parent.rsplit_once('/').unwrap_or(("", parent));
        if above.is_empty() || tree.is_directory(above) {
            let names = listed.entry((tree.key(), above.to_owned())).or_insert_with(|| {
                let all = tree.list(above).into_iter();
                all.filter(|(_, is_directory)| *is_directory).map(|(name, _)| name).collect()
            });
            let near = suggest(name, names.iter().map(String::as_str))?;
            let rest = applied.path.get(parent.len()..).unwrap_or_default();
            let found = if above.is_empty() { near.to_owned() } else { format!("{above}/{near}") };
            let whole = format!("{found}{rest}");
            return tree.is_directory(&whole).then_some(whole);
        }
        parent = above;
    }
}
