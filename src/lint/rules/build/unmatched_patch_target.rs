//! `unmatched-patch-target`: a patch that changes nothing.
//! Source: kustomize `api/internal/builtins/PatchTransformer.go`: a target that
//! selects nothing is no error, a patch that names its object is one.

use super::{Matter, failures, report_failure};
use crate::build::kustomize::{Warning, WarningKind};
use crate::files::Snapshot;
use crate::lang::yaml::{FilePath, Location, NodeRef};
use crate::lint::{Check, ClusterView, Context, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::kinds;
use crate::world::{Applied, Outcome};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::rc::Rc;

pub(crate) static RULE: Rule = Rule {
    id: "unmatched-patch-target",
    group: Group::Build,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a patch whose target is not there",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/unmatched-patch-target.md"),
    check: Check::Repository(check),
};

fn check(context: &Context<'_>, report: &mut Reporter<'_>) {
    report_failed_builds(context, report);
    report_useless_patches(context, report);
}

/// A patch that names its object and does not find it fails the build.
fn report_failed_builds(context: &Context<'_>, report: &mut Reporter<'_>) {
    for cluster in &context.world.clusters {
        let view = ClusterView::new(context, cluster);
        for failed in failures(&view, Matter::UnmatchedPatch) {
            let help = match failed.failure.related.first() {
                Some((near, _)) => format!("{near}: name that, or give the patch a target"),
                None => "name an object of this build, or give the patch a target".to_owned(),
            };
            let finding = report_failure(report, &view, &failed, help);
            finding.clusters.extend(cluster.name.clone());
        }
    }
}

/// A target that selects nothing fails no build.
fn report_useless_patches(context: &Context<'_>, report: &mut Reporter<'_>) {
    let all = || context.world.clusters.iter().flat_map(|cluster| &cluster.applied);
    let mut unmatched: BTreeMap<PatchPlace<'_>, (&Applied, Location, &Warning)> = BTreeMap::new();
    for applied in all() {
        for (location, warning) in unmatched_in(applied) {
            let place = place(&location, warning);
            unmatched.entry(place).or_insert((applied, location, warning));
        }
    }
    let places: FxHashSet<(FilePath, u32)> =
        unmatched.keys().map(|(file, start, _)| (file.clone(), *start)).collect();
    let mut selecting = FxHashMap::default();
    unmatched.retain(|_, (_, location, _)| {
        let of_file = selecting
            .entry(location.file.clone())
            .or_insert_with(|| Selecting::of(context.snapshot, &location.file, &places));
        !of_file.as_ref().is_some_and(|selecting| selecting.is_one_of_several(location.start))
    });
    let readers = Readers::of(all(), unmatched.values().map(|(_, location, _)| location));
    // Targets of one file with one cause are one defect.
    let mut told: BTreeMap<(FilePath, &str), Vec<Location>> = BTreeMap::new();
    let mut first: Vec<(&Applied, Location, &Warning)> = Vec::new();
    for (key, (applied, location, warning)) in &unmatched {
        let (applied, location, warning) = (*applied, location.clone(), *warning);
        // A patch is written for all builds that read it.
        let is_own = is_in_own(applied, &location);
        // Whoever wants the patch puts the label on: there may be nobody today.
        if is_own && warning.by_labels {
            continue;
        }
        let useless = readers.of_file(&location.file).iter().all(|(other, unmatched)| {
            !reads(other, &location, is_own) || unmatched.contains(key) && is_whole(context, other)
        });
        if !useless {
            continue;
        }
        let places =
            warning.near.as_deref().map(|near| told.entry((location.file.clone(), near)).or_default());
        match places {
            Some(places) if !places.is_empty() => places.push(location.clone()),
            places => {
                places.into_iter().for_each(|places| places.push(location.clone()));
                first.push((applied, location, warning));
            }
        }
    }
    for (applied, location, warning) in first {
        let near = warning.near.as_deref().and_then(|near| told.get(&(location.file.clone(), near)));
        let again = near.into_iter().flatten().skip(1);
        report_useless(context, (applied, &location, warning), again, report);
    }
}

/// Reports one patch, with the places of others that have the same cause.
fn report_useless<'p>(
    context: &Context<'_>,
    (applied, location, warning): (&Applied, &Location, &Warning),
    again: impl Iterator<Item = &'p Location>,
    report: &mut Reporter<'_>,
) {
    let what = format!("this patch's target selects nothing: {}", warning.message);
    let finding = report.report(location.clone(), what);
    finding
        .level(Level::Warning)
        .why(match kinds::is_kustomization(&applied.id) {
            true => format!("{} applies no such object, so the patch changes nothing", applied.id),
            false => {
                format!(
                    "the build of {} has no such object, so the patch changes nothing",
                    super::directory(&applied.path)
                )
            }
        })
        .help(match warning.near.as_deref() {
            Some(near) => near.to_owned(),
            None => "correct the target, or remove the patch".to_owned(),
        })
        .field("", "unmatched target");
    for place in again {
        finding.related("the same here", place.clone());
    }
    let is_own = is_in_own(applied, location);
    if kinds::is_kustomization(&applied.id) {
        finding.object(&applied.id);
        finding.clusters = context
            .world
            .clusters
            .iter()
            .filter(|cluster| cluster.applied.iter().any(|other| reads(other, location, is_own)))
            .filter_map(|cluster| cluster.name.clone())
            .collect();
    }
}

/// A file, where a target begins in it, and what it says: the targets of patches that a
/// parent's patch writes have one place.
type PatchPlace<'a> = (FilePath, u32, &'a str);

fn place<'a>(location: &Location, warning: &'a Warning) -> PatchPlace<'a> {
    (location.file.clone(), location.start, &warning.message)
}

/// The targets of a kustomization that select by labels or annotations.
struct Selecting {
    /// The kind of each, by where it begins.
    kinds: FxHashMap<u32, Option<String>>,
    /// The kinds of those that select something.
    matched: FxHashSet<Option<String>>,
}

impl Selecting {
    fn of(snapshot: &Snapshot, file: &FilePath, unmatched: &FxHashSet<(FilePath, u32)>) -> Option<Selecting> {
        let mut sources = snapshot.sources(snapshot.find(file)?).iter();
        let source = sources.find(|source| !source.document().tokens.is_empty())?;
        let selects = |target: &NodeRef<'_>| {
            let has = |key: &str| target.get(key).is_some();
            (has("labelSelector") || has("annotationSelector")) && !has("name")
        };
        let (mut kinds, mut matched) = (FxHashMap::default(), FxHashSet::default());
        for patch in NodeRef::Source(source, 0).items_at("/patches") {
            let Some(target) = patch.get("target").filter(selects) else { continue };
            let Some(place) = target.location() else { continue };
            let kind = target.get("kind").and_then(NodeRef::as_str).map(|kind| kind.into_owned());
            if !unmatched.contains(&(place.file.clone(), place.start)) {
                matched.insert(kind.clone());
            }
            kinds.insert(place.start, kind);
        }
        Some(Selecting { kinds, matched })
    }

    /// Whether another target of the same kind selects something: together they are for
    /// whatever comes, and one of them may have nothing to select today.
    fn is_one_of_several(&self, start: u32) -> bool {
        self.kinds.get(&start).is_some_and(|kind| self.matched.contains(kind))
    }
}

/// The builds that read files, each with the places of its targets that select nothing.
struct Readers<'a>(FxHashMap<&'a FilePath, Vec<Reader<'a>>>);

type Reader<'a> = (&'a Applied, Rc<FxHashSet<PatchPlace<'a>>>);

impl<'a> Readers<'a> {
    fn of(all: impl Iterator<Item = &'a Applied>, places: impl Iterator<Item = &'a Location>) -> Readers<'a> {
        let mut readers: FxHashMap<_, Vec<_>> = places.map(|place| (&place.file, Vec::new())).collect();
        for applied in all {
            let places = unmatched_in(applied).map(|(location, warning)| place(&location, warning));
            let unmatched = Rc::new(places.collect::<FxHashSet<_>>());
            let own = written_patches(applied);
            let own = own.map(|place| place.file).filter(|file| !applied.files_read.contains(file));
            for file in applied.files_read.iter().chain(&own) {
                if let Some(of_file) = readers.get_mut(file) {
                    of_file.push((applied, unmatched.clone()));
                }
            }
        }
        Readers(readers)
    }

    fn of_file(&self, file: &FilePath) -> &[Reader<'a>] {
        self.0.get(file).map_or(&[], Vec::as_slice)
    }
}

/// The targets that select nothing in a build. Those that a parent's patch writes have no
/// place of their own: they stand in its text.
fn unmatched_in(applied: &Applied) -> impl Iterator<Item = (Location, &Warning)> {
    applied
        .outcome
        .warnings()
        .iter()
        .filter(|warning| warning.kind == WarningKind::UnmatchedPatchTarget)
        .filter_map(|warning| Some((warning.location.clone().or_else(|| written_patches(applied))?, warning)))
}

/// Where the patches of a Kustomization are written: of those that a parent's patch adds, the
/// first one that says so.
fn written_patches(applied: &Applied) -> Option<Location> {
    let patches = applied.node.get_ref().at("/spec/patches")?;
    patches.location().or_else(|| patches.items().find_map(|patch| patch.at("/patch")?.location()))
}

/// Whether a build reads the target at a place; `is_own`: one of `spec.patches`, which whoever
/// applies the Kustomization reads as well, as a part of an object.
fn reads(applied: &Applied, location: &Location, is_own: bool) -> bool {
    match is_own {
        true => is_in_own(applied, location),
        false => applied.files_read.binary_search(&location.file).is_ok(),
    }
}

/// Whether a target stands in the `spec.patches` of a Kustomization, and not in a patch there
/// that writes the patches of others.
fn is_in_own(applied: &Applied, location: &Location) -> bool {
    written_patches(applied).is_some_and(|own| {
        own.file == location.file
            && own.start <= location.start
            && location.end <= own.end
            && own.via.len() == location.via.len()
    })
}

/// Whether a build has all of its objects. A `gotk-components.yaml` without any
/// is filled by the bootstrap.
fn is_whole(context: &Context<'_>, applied: &Applied) -> bool {
    let stub = applied.files_read.iter().any(|path| {
        path.shown().ends_with("gotk-components.yaml")
            && !context.snapshot.objects().iter().any(|object| object.source.file == *path)
    });
    !stub
        && matches!(&applied.outcome, Outcome::Built { partial, unusable, .. } if partial.is_empty() && unusable.is_empty())
}
