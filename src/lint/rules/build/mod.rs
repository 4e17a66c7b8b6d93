//! What can't be built, and what substitution makes of it.

pub(crate) mod dropped_kustomization_field;
pub(crate) mod empty_resource;
pub(crate) mod flux_kustomization_as_build_file;
pub(crate) mod malformed_substitution;
pub(crate) mod malformed_variable_name;
pub(crate) mod missing_path;
pub(crate) mod missing_resource;
pub(crate) mod misspelled_variable;
pub(crate) mod non_kubernetes_yaml_in_generated_build;
pub(crate) mod object_without_namespace;
pub(crate) mod orphan_object;
pub(crate) mod resource_outside_root;
pub(crate) mod self_provided_substitution;
pub(crate) mod substitution_changes_type;
pub(crate) mod substitution_deadlock;
pub(crate) mod unapplied_addition;
pub(crate) mod unbuildable_kustomization;
pub(crate) mod undefined_substitution;
pub(crate) mod unlisted_file;
pub(crate) mod unmatched_patch_target;
pub(crate) mod unsubstituted_variable;
pub(crate) mod untracked_resource;

use super::reference::listed;
use crate::build::kustomize::{ErrorClass, FILE_NAMES};
use crate::files::{Snapshot, join};
use crate::lang::yaml::{FilePath, Location, Tree};
use crate::lint::title;
use crate::lint::{ClusterView, Finding, Level, ObjectView, Reporter};
use crate::model::kinds;
use crate::world::build::{BuildFailure, FailureKind, has_kustomization};
use crate::world::entry::is_leftover;
use crate::world::{Applied, Cluster};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// The Kustomizations that apply an object, without repetition.
fn appliers<'a>(view: &ObjectView<'a>) -> Vec<(&'a Cluster, &'a Applied)> {
    let mut found: Vec<(&Cluster, &Applied)> = Vec::new();
    for (cluster, applied) in view.appliers() {
        if !found.iter().any(|(_, known)| known.id == applied.id) {
            found.push((cluster, applied));
        }
    }
    found
}

/// Where a Kustomization defines variables, to be shown beside what misses one.
fn post_build(applied: &Applied) -> Option<Location> {
    applied.node.get_ref().location_at("/spec/postBuild").filter(|location| !location.file.shown().is_empty())
}

/// The rule that a failure belongs to: of one defect, the most specific one
/// speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Matter {
    MissingResource,
    UntrackedResource,
    OutsideRoot,
    UnmatchedPatch,
    NonKubernetes,
    Unbuildable,
    /// Another rule reports the text itself.
    Elsewhere,
}

/// A failed build, or a part that fails it.
struct Failed<'a> {
    /// The first Kustomization that it fails.
    applied: &'a Applied,
    failure: &'a BuildFailure,
    location: Location,
    /// The other Kustomizations that fail for the same.
    others: Vec<&'a Applied>,
    /// Objects that are known and not applied for it, those of Kustomizations
    /// further down included.
    held: usize,
}

/// A directory in words.
fn directory(path: &str) -> &str {
    if path.is_empty() { "the root" } else { path }
}

impl Failed<'_> {
    /// What fails, and what that holds back.
    fn consequence(&self) -> String {
        if !kinds::is_kustomization(&self.applied.id) {
            return format!("the build of {} fails", directory(&self.applied.path));
        }
        let mut names = vec![self.applied.id.to_string()];
        names.extend(self.others.iter().take(2).map(|other| other.id.to_string()));
        if self.others.len() > 2 {
            names.push(format!("{} others", self.others.len() - 2));
        }
        let (builds, them) = if self.others.is_empty() { ("build of", "it") } else { ("builds of", "them") };
        let fail = if self.others.is_empty() { "fails" } else { "fail" };
        let held = match self.held {
            0 => String::new(),
            1 => " (1 object)".to_owned(),
            count => format!(" ({count} objects)"),
        };
        format!("the {builds} {} {fail}, so nothing of {them} is applied{held}", listed(&names))
    }
}

/// Directories whose files a test completes, or reads in a way of its own.
const TEST_DIRECTORIES: [&str; 5] = ["test", "tests", "testdata", "e2e", "fixtures"];

/// Whether a path leads through such a directory.
fn is_of_test(path: &str) -> bool {
    path.split('/').any(|segment| TEST_DIRECTORIES.contains(&segment))
}

/// The failures of a cluster's builds that are the matter of one rule; of one
/// cause only one.
fn failures<'a>(view: &ClusterView<'a>, matter: Matter) -> Vec<Failed<'a>> {
    let cluster = view.cluster;
    let mut found: Vec<(Failed<'a>, Vec<usize>)> = Vec::new();
    let mut known: FxHashMap<(String, FilePath, u32), usize> = FxHashMap::default();
    for (index, applied) in cluster.applied.iter().enumerate() {
        for failure in applied.outcome.failures() {
            let snapshot = view.beyond().snapshot;
            let tree = applied.tree.as_ref();
            let generated = tree.is_some_and(|tree| !has_kustomization(tree, &applied.path));
            if matter_of(snapshot, failure, generated) != matter {
                continue;
            }
            let own = || applied.node.get_ref().location_at("/spec/path");
            let Some(location) = failure.location.clone().or_else(own) else { continue };
            let cause = (failure.message.clone(), location.file.clone(), location.start);
            match known.entry(cause) {
                Entry::Occupied(at) => {
                    let (known, indices) = &mut found[*at.get()];
                    known.others.push(applied);
                    indices.push(index);
                }
                Entry::Vacant(free) => {
                    free.insert(found.len());
                    let failed = Failed { applied, failure, location, others: Vec::new(), held: 0 };
                    found.push((failed, vec![index]));
                }
            }
        }
    }
    found
        .into_iter()
        .map(|(mut failed, indices)| {
            failed.held = held_back(view, &indices);
            failed
        })
        .collect()
}

/// The known objects of some Kustomizations of a cluster and of all that these
/// apply.
pub(in crate::lint::rules) fn held_back(view: &ClusterView<'_>, indices: &[usize]) -> usize {
    if indices.is_empty() {
        return 0;
    }
    let applied = &view.cluster.applied;
    let mut holds = vec![false; applied.len()];
    for index in indices {
        holds[*index] = true;
    }
    // Whoever applies one stands before it.
    for index in 0..applied.len() {
        holds[index] |= applied[index].parent.is_some_and(|by| holds[by as usize]);
    }
    view.written()
        .filter(|(member, _)| member.maker.kustomization().is_some_and(|by| holds[by as usize]))
        .count()
}

fn matter_of(snapshot: &Snapshot, failure: &BuildFailure, generated: bool) -> Matter {
    let class = match failure.kind {
        FailureKind::Unbuildable(class) => class,
        FailureKind::Endless | FailureKind::TooLarge => return Matter::Unbuildable,
        FailureKind::MissingPath => return Matter::Elsewhere,
    };
    let file = failure.location.as_ref().and_then(|location| snapshot.find(&location.file));
    match class {
        ErrorClass::Missing => match entry_path(snapshot, failure) {
            Some(path) if snapshot.is_ignored(&path) => Matter::UntrackedResource,
            _ => Matter::MissingResource,
        },
        ErrorClass::Outside => Matter::OutsideRoot,
        ErrorClass::PatchTarget => Matter::UnmatchedPatch,
        ErrorClass::NotAnObject if generated => Matter::NonKubernetes,
        ErrorClass::KustomizationFile if generated && failure.message.contains("Component") => {
            Matter::NonKubernetes
        }
        // yaml-syntax and duplicate-key report these at the same bytes.
        ErrorClass::Yaml
            if file
                .and_then(|file| snapshot.stream(file))
                .is_some_and(|stream| !stream.errors.is_empty()) =>
        {
            Matter::Elsewhere
        }
        ErrorClass::Output if failure.message.contains("stands here twice") => Matter::Elsewhere,
        ErrorClass::KustomizationFile
            if file.is_some_and(|file| {
                let name = file.path.rsplit('/').next().unwrap_or_default();
                // Elsewhere it is `spec.components` that names what can't be built.
                FILE_NAMES.contains(&name)
                    && file.tree == Tree::Root
                    && holds_flux_kustomization(snapshot, &file.path)
            }) =>
        {
            Matter::Elsewhere
        }
        _ => Matter::Unbuildable,
    }
}

fn holds_flux_kustomization(snapshot: &Snapshot, path: &str) -> bool {
    snapshot.objects().iter().any(|object| **object.path() == *path && kinds::is_kustomization(&object.id))
}

/// The path in the repository that the entry at a failure's place names.
fn entry_path(snapshot: &Snapshot, failure: &BuildFailure) -> Option<String> {
    let location = failure.location.as_ref()?;
    let text = &snapshot.stream(snapshot.find(&location.file)?)?.text;
    let written = text.get(location.start as usize..location.end as usize)?;
    let written = written.trim_matches(['"', '\'']);
    // A generator's entry may be `key=path`.
    let path = written.rsplit_once('=').map_or(written, |(_, path)| path);
    let directory = location.file.of_root()?.rsplit_once('/').map_or("", |(directory, _)| directory);
    join(directory, path)
}

/// The level of a failure that stops nothing, as no cluster applies the build;
/// `None` where one does, or where nobody knows what clusters do.
fn level_outside(view: &ClusterView<'_>, failed: &Failed<'_>) -> Option<Level> {
    if view.cluster.name.is_some() {
        return None;
    }
    match is_leftover(failed.location.file.shown()) {
        true => Some(Level::Info),
        false => view.has_entry().then_some(Level::Warning),
    }
}

/// Reports a failure with what it costs and the places that it names.
fn report_failure<'f>(
    report: &'f mut Reporter<'_>,
    view: &ClusterView<'_>,
    failed: &Failed<'_>,
    help: String,
) -> &'f mut Finding {
    let applied = failed.applied;
    let why = if failed.failure.kind == FailureKind::Endless {
        "each one that is applied applies the next: the cluster fills with them until somebody stops it"
            .to_owned()
    } else if matches!(
        failed.failure.kind,
        FailureKind::TooLarge | FailureKind::Unbuildable(ErrorClass::Limit)
    ) {
        "forebay stops here, and no cluster would bear what comes of it: nothing of it is known".to_owned()
    } else {
        failed.consequence()
    };
    let finding = report.report(failed.location.clone(), failed.failure.message.as_str());
    finding.why(why).help(help).field("", failed.failure.message.clone());
    if let Some(level) = level_outside(view, failed) {
        finding.level = finding.level.min(level);
        if view.has_entry() {
            finding.why.push_str("; no cluster applies it");
        }
    }
    for applied in std::iter::once(applied).chain(failed.others.iter().copied()) {
        if kinds::is_kustomization(&applied.id) {
            finding.object(&applied.id);
        }
    }
    // One that kustomize-controller generates is nowhere to be read.
    let snapshot = view.beyond().snapshot;
    let is_written = |location: &Location| snapshot.find(&location.file).is_some();
    for (message, location) in failed.failure.related.iter().filter(|(_, place)| is_written(place)) {
        finding.related(message.clone(), location.clone());
    }
    finding
}
