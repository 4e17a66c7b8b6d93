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
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

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
    let all = || context.world.clusters.iter().flat_map(|cluster| &cluster.applied);
    let mut unmatched: BTreeMap<(&FilePath, u32), (&Applied, &Location, &Warning)> = BTreeMap::new();
    for applied in all() {
        for (location, warning) in unmatched_in(applied) {
            unmatched.entry((&location.file, location.start)).or_insert((applied, location, warning));
        }
    }
    let places: FxHashSet<(&FilePath, u32)> = unmatched.keys().copied().collect();
    unmatched.retain(|_, (_, location, _)| !is_one_of_several(context.snapshot, location, &places));
    // Targets of one file with one cause are one defect.
    let mut told: BTreeMap<(&FilePath, &str), Vec<Location>> = BTreeMap::new();
    let mut first: Vec<(&Applied, &Location, &Warning)> = Vec::new();
    for (applied, location, warning) in unmatched.into_values() {
        // A patch is written for all builds that read it.
        let useless = all().filter(|other| reads(other, location)).all(|other| {
            unmatched_in(other).any(|(known, _)| known.file == location.file && known.start == location.start)
                && is_whole(context, other)
        });
        if !useless {
            continue;
        }
        let places = warning.near.as_deref().map(|near| told.entry((&location.file, near)).or_default());
        match places {
            Some(places) if !places.is_empty() => places.push(location.clone()),
            places => {
                places.into_iter().for_each(|places| places.push(location.clone()));
                first.push((applied, location, warning));
            }
        }
    }
    for (applied, location, warning) in first {
        let what = format!("this patch's target selects nothing: {}", warning.message);
        let finding = report.report(location.clone(), what);
        finding
            .level(Level::Warning)
            .why(match kinds::is_kustomization(&applied.id) {
                true => format!("{} applies no such object, so the patch changes nothing", applied.id),
                false => {
                    format!("the build of {} has no such object, so the patch changes nothing", applied.path)
                }
            })
            .help(match warning.near.as_deref() {
                Some(near) => near.to_owned(),
                None => "correct the target, or remove the patch".to_owned(),
            })
            .field("", "unmatched target");
        let near = warning.near.as_deref().and_then(|near| told.get(&(&location.file, near)));
        for place in near.into_iter().flatten().skip(1) {
            finding.related("the same here", place.clone());
        }
        if kinds::is_kustomization(&applied.id) {
            finding.object(&applied.id);
            finding.clusters = context
                .world
                .clusters
                .iter()
                .filter(|cluster| cluster.applied.iter().any(|other| reads(other, location)))
                .filter_map(|cluster| cluster.name.clone())
                .collect();
        }
    }
}

/// Whether a target selects by labels or annotations, as another one of the same
/// kustomization and kind does that selects something: together they are for whatever comes,
/// and one of them may have nothing to select today.
fn is_one_of_several(snapshot: &Snapshot, place: &Location, unmatched: &FxHashSet<(&FilePath, u32)>) -> bool {
    let Some(file) = snapshot.find(&place.file) else { return false };
    let mut sources = snapshot.sources(file).iter().filter(|source| !source.document().tokens.is_empty());
    let Some(source) = sources.next() else { return false };
    let root = NodeRef::Source(source, 0);
    let selects = |target: &NodeRef<'_>| {
        let has = |key: &str| target.get(key).is_some();
        (has("labelSelector") || has("annotationSelector")) && !has("name")
    };
    let targets: Vec<(NodeRef<'_>, Location)> = root
        .items_at("/patches")
        .filter_map(|patch| patch.get("target"))
        .filter(selects)
        .filter_map(|target| Some((target, target.location()?)))
        .collect();
    let kind = |target: &NodeRef<'_>| Some(target.get("kind")?.as_str()?.into_owned());
    let own = targets.iter().find(|(_, at)| at.start == place.start);
    own.is_some_and(|(own, _)| {
        let mut others = targets.iter().filter(|(other, _)| kind(other) == kind(own));
        others.any(|(_, at)| !unmatched.contains(&(&at.file, at.start)))
    })
}

/// The targets that select nothing in a build.
fn unmatched_in(applied: &Applied) -> impl Iterator<Item = (&Location, &Warning)> {
    applied
        .outcome
        .warnings()
        .iter()
        .filter(|warning| warning.kind == WarningKind::UnmatchedPatchTarget)
        .filter_map(|warning| Some((warning.location.as_ref()?, warning)))
}

/// Whether a build reads the text at a place.
fn reads(applied: &Applied, location: &Location) -> bool {
    let own = applied.node.get_ref().at("/spec/patches").and_then(|patches| patches.location());
    applied.files_read.binary_search(&location.file).is_ok()
        || own.is_some_and(|own| {
            own.file == location.file && own.start <= location.start && location.end <= own.end
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
