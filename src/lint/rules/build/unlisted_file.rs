//! `unlisted-file`: a manifest that its directory's kustomization leaves out.
//! Source: kustomize builds what `resources` names; Flux looks for files by itself only
//! where there is no kustomization.

use super::{is_manifest, title};
use crate::build::kustomize::FILE_NAMES;
use crate::files::{File, FileTree, Snapshot, join};
use crate::lang::yaml::{Node, NodeRef};
use crate::lint::{Check, Context, FixAvailability, Group, Level, Reporter, Rule, by_hand};
use crate::model::{Certainty, Object, ObjectId};
use crate::world::entry::is_archive;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The rule.
pub(crate) static RULE: Rule = Rule {
    id: "unlisted-file",
    group: Group::Build,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "a manifest that its directory's kustomization leaves out",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/unlisted-file.md"),
    check: Check::Repository(check),
};

/// A file of manifests that nothing names, beside files that its kustomization lists.
pub(super) struct Unlisted<'a> {
    /// Its path.
    pub path: &'a str,
    /// Its objects.
    pub objects: Vec<&'a Object>,
    /// The kustomization.
    pub kustomization: &'a Arc<File>,
    /// A file beside it that is listed.
    pub sibling: String,
}

fn check(context: &Context<'_>, report: &mut Reporter<'_>) {
    let is_certain = context
        .world
        .clusters
        .iter()
        .any(|cluster| cluster.name.is_some() && cluster.certainty != Certainty::Guessed);
    for unlisted in unlisted(context) {
        let Some((first, place)) =
            unlisted.objects.first().and_then(|first| Some((first, first.node.get_ref().location()?)))
        else {
            continue;
        };
        let (_, name) = unlisted.path.rsplit_once('/').unwrap_or(("", unlisted.path));
        let finding = report.report(place, title(&first.id, "its kustomization doesn't list this file"));
        finding
            .level(if is_certain { Level::Warning } else { Level::Info })
            .why(format!(
                "{} lists {} beside it, and Flux applies only what is listed: nothing of {name} is applied",
                unlisted.kustomization.path, unlisted.sibling
            ))
            .help(format!("add `{name}` to its resources, or remove the file"))
            .field("", unlisted.path);
        for object in &unlisted.objects {
            finding.object(&object.id);
        }
    }
}

/// The files that are left out, as it seems without being meant to.
pub(super) fn unlisted<'a>(context: &'a Context<'_>) -> Vec<Unlisted<'a>> {
    let world = context.world;
    if !world.has_entry {
        return Vec::new();
    }
    let mut files: BTreeMap<&str, Vec<&Object>> = BTreeMap::new();
    for object in world.orphans() {
        files.entry(object.path()).or_default().push(object);
    }
    files.retain(|path, objects| {
        // A Job is run when somebody applies it.
        !objects.iter().all(|object| object.id.is("batch", "Job"))
            && !is_archive(path)
            && !is_put_aside(path)
            && objects.iter().all(|object| is_manifest(object))
    });
    let beside = |path: &'a str, objects| beside(context, path, objects);
    let mut found: Vec<Unlisted<'a>> =
        files.into_iter().filter_map(|(path, objects)| beside(path, objects)).collect();
    if found.is_empty() {
        return found;
    }
    let named = named(context.snapshot);
    let applied: FxHashSet<(&str, &str, &str)> = world
        .objects
        .iter()
        .filter(|object| is_in_cluster(context, object))
        .map(|object| key(&object.id))
        .collect();
    found.retain(|unlisted| {
        let (directory, name) = unlisted.path.rsplit_once('/').unwrap_or(("", unlisted.path));
        let last = directory.rsplit('/').next().unwrap_or_default();
        let said = format!("{last}/{name}");
        !named.contains(unlisted.path)
            // Another text of what is applied.
            && !unlisted.objects.iter().any(|object| applied.contains(&key(&object.id)))
            && !by_hand::names(context, &[&said], &[])
    });
    found
}

fn key(id: &ObjectId) -> (&str, &str, &str) {
    (id.group(), &id.kind, &id.name)
}

fn is_in_cluster(context: &Context<'_>, object: &crate::world::Effective) -> bool {
    object.members.iter().any(|(cluster, _)| context.world.clusters[*cluster as usize].name.is_some())
}

/// A file beside a kustomization of a cluster that lists others of its directory and
/// says nothing of this one, not in a comment either.
fn beside<'a>(context: &'a Context<'_>, path: &'a str, objects: Vec<&'a Object>) -> Option<Unlisted<'a>> {
    let snapshot = context.snapshot;
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let at = |name: &str| if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") };
    let kustomization = FILE_NAMES.iter().find_map(|name| snapshot.file(&at(name)))?;
    if !context.world.is_applied(kustomization) {
        return None;
    }
    let stream = snapshot.stream(kustomization)?;
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    if stream.text.contains(name) || stream.text.contains(&format!("{stem}.")) {
        return None;
    }
    let source = snapshot.sources(kustomization).first().filter(|one| !one.document().tokens.is_empty())?;
    let root = Node::Source(source.clone(), 0);
    // `missing-resource` says what a misspelled entry may mean.
    let tree = FileTree::root(context.world.snapshot.clone());
    let is_missing = |entry: NodeRef<'_>| {
        let path = entry.as_str().filter(|written| !written.contains("://"));
        path.and_then(|written| join(directory, &written)).is_some_and(|path| tree.kind(&path).is_none())
    };
    if root.get_ref().items_at("/resources").any(is_missing) {
        return None;
    }
    let sibling = root.get_ref().items_at("/resources").find_map(|entry| {
        let written = entry.as_str()?;
        let resolved = join(directory, &written)?;
        let is_beside = resolved.rsplit_once('/').map_or("", |(above, _)| above) == directory;
        (is_beside && snapshot.file(&resolved).is_some()).then(|| written.into_owned())
    })?;
    Some(Unlisted { path, objects, kustomization, sibling })
}

/// Words in the name of a file that is not meant to be applied as it is.
const ASIDE: [&str; 19] = [
    "archive",
    "bak",
    "bootstrap",
    "copy",
    "disabled",
    "draft",
    "example",
    "kustomizeconfig",
    "manual",
    "old",
    "orig",
    "patch",
    "patches",
    "sample",
    "template",
    "tmp",
    "unused",
    "values",
    "wip",
];

/// Whether a file's own name says that it is put aside, shows something or is a patch.
fn is_put_aside(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    name.starts_with(['.', '_'])
        || name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| ASIDE.contains(&word))
}

/// Every path that a string of a kustomization names.
fn named(snapshot: &Snapshot) -> FxHashSet<String> {
    let mut named = FxHashSet::default();
    for file in snapshot.files() {
        let (directory, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        if !FILE_NAMES.contains(&name) {
            continue;
        }
        for source in snapshot.sources(file).iter().filter(|source| !source.document().tokens.is_empty()) {
            strings(Node::Source(source.clone(), 0).get_ref(), &mut |text| {
                let path = text.rsplit_once('=').map_or(text, |(_, path)| path);
                named.extend(join(directory, path));
            });
        }
    }
    named
}

/// Each string below a node; its depth is bounded by the parser.
fn strings(node: NodeRef<'_>, take: &mut impl FnMut(&str)) {
    if node.is_map() {
        node.entries().for_each(|entry| strings(entry.value, take));
    } else if node.is_seq() {
        node.items().for_each(|item| strings(item, take));
    } else if let Some(text) = node.as_str() {
        take(&text);
    }
}
