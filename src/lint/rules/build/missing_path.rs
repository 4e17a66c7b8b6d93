//! `missing-path`: a Kustomization applies a directory that its source lacks.
//! Source: kustomize-controller `reconcile`: `kustomization path not found`,
//! condition reason `ArtifactFailed`.

use super::title;
use crate::files::FileTree;
use crate::lang::text::suggest;
use crate::lang::yaml::Location;
use crate::lint::{Check, Context, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Unchecked;
use crate::world::entry::{clean_path, is_leftover};
use crate::world::{Applied, Cluster, Form, Outcome, Unsettled};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

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
    for one in &context.world.unsettled {
        if matches!(one.form, Form::Sync | Form::Instance | Form::Chart) {
            of_root(context, one, report);
        }
    }
}

/// The root that a gotk-sync.yaml or a FluxInstance names. The file may be of another
/// repository, unless nearly the same directory is here: of a FluxInstance only then.
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
    let near = suggest(name, names.iter().map(String::as_str)).map(|near| match above {
        "" => near.to_owned(),
        above => format!("{above}/{near}"),
    });
    let near = near.or_else(|| moved(&tree, &path, &mut Listed::default()));
    let is_sync = one.form == Form::Sync;
    if !is_sync && near.is_none() {
        return;
    }
    let root = context
        .snapshot
        .objects()
        .iter()
        .find(|object| object.id == one.id && object.source.file == written.file);
    let place = root.and_then(|root| root.node.get_ref().location_at("/spec/path"));
    let place = place.or_else(|| written_path(context, written, &path));
    let finding = report.report(
        place.unwrap_or_else(|| written.clone()),
        title(&one.id, &format!("path ./{path} does not exist")),
    );
    finding
        .level(if near.is_some() && is_sync { Level::Error } else { Level::Warning })
        .why(
            "it is the root of its cluster: kustomize-controller reports `kustomization path not found`, and \
             nothing of this repository is applied",
        )
        .help(match near {
            Some(near) => format!("did you mean ./{near}?"),
            None => "correct spec.path; if the file is of another repository, exclude it in .forebay.yaml"
                .to_owned(),
        })
        .object(&one.id)
        .field("/spec/path", path.clone());
}

/// Bytes of a statement of a root: its fields stand together.
const STATEMENT: usize = 2048;

/// Where the path stands in what states a root.
fn written_path(context: &Context<'_>, statement: &Location, path: &str) -> Option<Location> {
    let text = &context.snapshot.stream(context.snapshot.find(&statement.file)?)?.text;
    let bytes = text.as_bytes().get(statement.start as usize..)?;
    let near = &bytes[..bytes.len().min(STATEMENT)];
    let at = near.windows(path.len().max(1)).position(|window| window == path.as_bytes())?;
    let start = statement.start + at as u32;
    Some(Location { start, end: start + path.len() as u32, ..statement.clone() })
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
        let near =
            near(applied, &mut listed).or_else(|| moved(applied.tree.as_ref()?, &applied.path, &mut listed));
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

/// The only directory whose path is this one with a segment left out or put in.
fn moved(tree: &FileTree, path: &str, listed: &mut Listed) -> Option<String> {
    let segments: Vec<&str> = path.split('/').collect();
    if segments.len() > DEEPEST {
        return None;
    }
    let mut found = BTreeSet::new();
    for at in 0..segments.len() {
        let (before, after) = (segments[..at].join("/"), &segments[at..]);
        let inside = |rest: &[&str]| match before.as_str() {
            "" => rest.join("/"),
            before => [before].iter().chain(rest).copied().collect::<Vec<_>>().join("/"),
        };
        found.insert(inside(&after[1..]));
        if !before.is_empty() && !tree.is_directory(&before) {
            break;
        }
        let beside = listed_names(tree, &before, listed);
        // Of so many the only one is not looked for.
        if beside.len() > WIDEST {
            return None;
        }
        for name in beside {
            found.insert(inside(&[&[name.as_str()], after].concat()));
        }
    }
    found.retain(|path| path.contains('/') && tree.is_directory(path));
    found.pop_first().filter(|_| found.is_empty())
}

/// Segments of a path, and directories beside one of it, that are tried.
const DEEPEST: usize = 16;
const WIDEST: usize = 64;

/// Names of the directories of a directory of a tree: many Kustomizations may miss one.
type Listed = FxHashMap<(String, String), Vec<String>>;

fn listed_names<'l>(tree: &FileTree, directory: &str, listed: &'l mut Listed) -> &'l [String] {
    listed.entry((tree.key(), directory.to_owned())).or_insert_with(|| {
        let all = tree.list(directory).into_iter();
        all.filter(|(_, is_directory)| *is_directory).map(|(name, _)| name).collect()
    })
}

/// A directory beside the missing one with a similar name.
fn near(applied: &Applied, listed: &mut Listed) -> Option<String> {
    let tree = applied.tree.as_ref()?;
    let mut parent = applied.path.as_str();
    loop {
        let (above, name) = parent.rsplit_once('/').unwrap_or(("", parent));
        if above.is_empty() || tree.is_directory(above) {
            let names = listed_names(tree, above, listed);
            let near = suggest(name, names.iter().map(String::as_str))?;
            let rest = applied.path.get(parent.len()..).unwrap_or_default();
            let found = if above.is_empty() { near.to_owned() } else { format!("{above}/{near}") };
            let whole = format!("{found}{rest}");
            return tree.is_directory(&whole).then_some(whole);
        }
        parent = above;
    }
}
