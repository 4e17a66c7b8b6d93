//! Values of the files that `valuesFiles` names which no template reads: told by
//! `unknown-chart-value`, at the file, where that is so for all releases that take it.

use super::{chart_of, doubt, unread_words};
use crate::build::helm::Dead;
use crate::lang::yaml::{FilePath, Location, Tree, pointer_to};
use crate::lint::{Level, Reporter, title};
use crate::model::ObjectId;
use crate::world::releases::Release;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A dead value of a file.
struct DeadOfFile<'w> {
    release: &'w Release,
    dead: Dead,
    clusters: BTreeSet<Arc<str>>,
    objects: Vec<ObjectId>,
    count: usize,
}

pub(super) fn check(all: &[(Option<Arc<str>>, &Release)], report: &mut Reporter<'_>) {
    let mut takers: FxHashMap<FilePath, usize> = FxHashMap::default();
    let mut told: Vec<(Location, DeadOfFile<'_>)> = Vec::new();
    let mut at: FxHashMap<(String, Location), usize> = FxHashMap::default();
    for (cluster, release) in all {
        let Some(rendering) = &release.rendering else { continue };
        for file in rendering.values_files() {
            *takers.entry(file.clone()).or_default() += 1;
        }
        for (dead, location) in rendering.unread_of_files() {
            // A chart's own files are its own affair.
            if *location.file.tree() == Tree::Chart {
                continue;
            }
            let index = *at.entry((pointer_to(&dead.path), location.clone())).or_insert_with(|| {
                let (clusters, objects) = (BTreeSet::new(), Vec::new());
                told.push((location, DeadOfFile { release, dead, clusters, objects, count: 0 }));
                told.len() - 1
            });
            let one = &mut told[index].1;
            one.count += 1;
            one.clusters.extend(cluster.clone());
            if !one.objects.contains(&release.id) {
                one.objects.push(release.id.clone());
            }
        }
    }
    for (location, one) in told {
        if takers.get(&location.file) == Some(&one.count) {
            tell(location, one, report);
        }
    }
}

fn tell(location: Location, told: DeadOfFile<'_>, report: &mut Reporter<'_>) {
    let DeadOfFile { release, dead, .. } = &told;
    let unread = release.rendering.as_ref().map(|rendering| rendering.unread()).unwrap_or_default();
    let (what, mut why) = unread_words(&chart_of(release), &unread, dead);
    why.push_str("; the release takes this file by valuesFiles");
    if let Some(doubt) = doubt(release) {
        why.push_str(&format!("; {doubt}"));
    }
    let finding = report.report(location, title(&release.id, &what));
    finding
        .level(Level::Info)
        .why(why)
        .help("remove it, or correct its name or its place")
        .field("", dead.path.last().map(ToString::to_string).unwrap_or_default())
        .values_path(pointer_to(&dead.path));
    finding.objects = told.objects;
    finding.clusters = told.clusters.into_iter().collect();
}
