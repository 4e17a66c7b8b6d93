//! Findings about objects that charts make: told where the repository writes the value
//! that is to blame, else they are the chart's own matter, counted once for each release.

use super::finding::ChartFaults;
use super::memo::Checked;
use super::{Finding, Group, Level};
use crate::lang::yaml::{FilePath, Location};
use crate::model::{Maker, ObjectId};
use crate::world::releases::Release;
use crate::world::{Cluster, Effective, World};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Whether rules of a group look at what charts make: those about how a file is written,
/// and about substitution, which comes before the chart, don't.
pub(super) fn concerns(group: Group) -> bool {
    !matches!(group, Group::Build | Group::Syntax | Group::Forebay)
}

/// Whether object rules look at one: of definitions of custom resources only the chart's
/// author could change anything.
pub(super) fn is_judged(object: &Effective) -> bool {
    !object.id.is("apiextensions.k8s.io", "CustomResourceDefinition")
}

/// Takes out the findings that stand in no file of the repository because a chart wrote
/// what they are about, by the place where the release names the chart.
pub(super) fn take_out(
    world: &World,
    reported: &FxHashSet<FilePath>,
    checked: &mut Checked,
) -> BTreeMap<(FilePath, u32), (Location, ChartFaults)> {
    let mut faults: BTreeMap<(FilePath, u32), (Location, ChartFaults)> = BTreeMap::new();
    if !world.objects.iter().any(|object| object.is_rendered) {
        return faults;
    }
    let makers = makers(world);
    checked.findings.retain_mut(|finding| {
        let Some(all) = finding.objects.first().and_then(|id| makers.get(id)) else { return true };
        // What changes the text of a value changes more than this object.
        finding.fixes.clear();
        if reported.contains(&finding.location.file) {
            return true;
        }
        if finding.level >= Level::Warning {
            all.iter().for_each(|(cluster, release)| note(&mut faults, finding, cluster, release));
        }
        false
    });
    faults
}

fn note(
    faults: &mut BTreeMap<(FilePath, u32), (Location, ChartFaults)>,
    finding: &Finding,
    cluster: &Cluster,
    release: &Release,
) {
    let Some(place) = release.chart_place() else { return };
    let key = (place.file.clone(), place.start);
    let (_, known) = faults.entry(key).or_insert_with(|| (place, ChartFaults::default()));
    known.releases.insert(release.id.clone());
    known.clusters.extend(cluster.name.clone());
    known.findings.insert((finding.rule.id, finding.title.clone()));
    if let Some((name, version)) = release.label() {
        known.chart = format!("{name} {version}");
    }
}

/// The releases whose charts make the rendered objects.
fn makers(world: &World) -> FxHashMap<&ObjectId, Vec<(&Cluster, &Release)>> {
    let mut makers: FxHashMap<&ObjectId, Vec<(&Cluster, &Release)>> = FxHashMap::default();
    let mut written: FxHashSet<&ObjectId> = FxHashSet::default();
    for object in &world.objects {
        if !object.is_rendered {
            written.insert(&object.id);
            continue;
        }
        for (cluster, member) in &object.members {
            let cluster = &world.clusters[*cluster as usize];
            let above = cluster.makers(&cluster.members[*member as usize]);
            let release = above.iter().find_map(|maker| match maker {
                Maker::HelmRelease(at) => cluster.releases.get(*at as usize),
                _ => None,
            });
            makers.entry(&object.id).or_default().extend(release.map(|release| (cluster, release)));
        }
    }
    // An object that a file states as well is told where it is written.
    makers.retain(|id, _| !written.contains(id));
    makers
}
