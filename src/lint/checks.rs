//! The rules over what they look at: documents, objects, patches and clusters, in parallel.

use super::memo::{AllNoted, Checked, Kept, Noted};
use super::patches::{Applier, UnappliedPatch};
use super::{Check, ClusterView, Context, DocumentView, Group, ObjectView, Rule, patches, rendered};
use crate::files::File;
use crate::world::{Cluster, Effective};
use rayon::prelude::*;
use std::sync::Arc;

/// Runs the rules, those whose answer is not kept; what came of each subject, if that is
/// to be kept (`memo`).
pub(super) fn check(
    context: &Context<'_>,
    manifests: &[&Arc<File>],
    rules: &[&'static Rule],
    memo: Option<Option<&Kept<'_>>>,
) -> (Checked, AllNoted) {
    let world = context.world;
    let checks = Checks::new(context, rules, memo.flatten());
    // One cluster alone would keep one thread busy; what is noted is noted of all rules.
    let parts = match memo {
        None => rayon::current_num_threads().div_ceil(world.clusters.len().max(1)),
        Some(_) => 1,
    };
    let part =
        |number: usize| checks.clusters.iter().copied().skip(number).step_by(parts).collect::<Vec<_>>();
    let parts: Vec<Vec<&'static Rule>> = (0..parts).map(part).collect();
    let cluster = |(at, cluster): (usize, &Cluster)| {
        parts.par_iter().map(|rules| checks.cluster(at, cluster, rules)).collect::<Vec<Noted>>()
    };
    let of_patches = || match checks.for_patches().next() {
        Some(_) => patches::unused(world).par_iter().map(|patch| checks.patch(patch)).collect(),
        None => Vec::new(),
    };
    let repository = |rule: &&'static Rule| {
        let mut checked = Checked::default();
        if let Check::Repository(check) = rule.check {
            checked.run(rule, |reporter| check(context, reporter));
        }
        checked
    };
    let ((documents, objects), (patches, (clusters, repository))) = rayon::join(
        || {
            let document = |file: &&Arc<File>| checks.document(file);
            rayon::join(
                || manifests.par_iter().with_min_len(16).map(document).collect::<Vec<Noted>>(),
                || {
                    let object = |effective| checks.object(effective);
                    world.objects.par_iter().with_min_len(16).map(object).collect::<Vec<Noted>>()
                },
            )
        },
        || {
            super::rules::chart::answers::find(world, rules);
            rayon::join(of_patches, || {
                rayon::join(
                    || world.clusters.par_iter().enumerate().flat_map_iter(cluster).collect::<Vec<Noted>>(),
                    || rules.par_iter().map(repository).collect::<Vec<Checked>>(),
                )
            })
        },
    );
    joined(AllNoted { documents, objects, clusters }, patches, repository, memo.is_some())
}

/// All that came of the rules in one, and what came of each subject, if that is to be kept.
fn joined(
    noted: AllNoted,
    patches: Vec<Checked>,
    repository: Vec<Checked>,
    is_kept: bool,
) -> (Checked, AllNoted) {
    let mut all = Checked::default();
    let mut kept = AllNoted::default();
    if is_kept {
        noted.documents.iter().chain(&noted.objects).for_each(|one| one.tell(&mut all));
        patches.into_iter().for_each(|one| all.append(one));
        noted.clusters.iter().for_each(|one| one.tell(&mut all));
        kept = noted;
    } else {
        noted.documents.into_iter().chain(noted.objects).for_each(|one| one.give(&mut all));
        patches.into_iter().for_each(|one| all.append(one));
        noted.clusters.into_iter().for_each(|one| one.give(&mut all));
    }
    repository.into_iter().for_each(|one| all.append(one));
    (all, kept)
}

/// The rules by what they look at, and what is kept of an earlier run.
struct Checks<'r> {
    context: &'r Context<'r>,
    kept: Option<&'r Kept<'r>>,
    documents: Vec<&'static Rule>,
    objects: Vec<&'static Rule>,
    /// Those about objects that a chart's objects are judged by, too.
    rendered: Vec<&'static Rule>,
    clusters: Vec<&'static Rule>,
}

impl<'r> Checks<'r> {
    fn new(context: &'r Context<'r>, rules: &[&'static Rule], kept: Option<&'r Kept<'r>>) -> Checks<'r> {
        let of = |is: fn(&Check) -> bool| -> Vec<&'static Rule> {
            rules.iter().copied().filter(|rule| is(&rule.check)).collect()
        };
        let objects = of(|check| matches!(check, Check::Object(_)));
        Checks {
            context,
            kept,
            documents: of(|check| matches!(check, Check::Document(_))),
            rendered: objects.iter().copied().filter(|rule| rendered::concerns(rule.group)).collect(),
            objects,
            clusters: of(|check| matches!(check, Check::Cluster(_))),
        }
    }

    fn document(&self, file: &Arc<File>) -> Noted {
        let view = DocumentView::new(self.context, file);
        let kept = self.kept.and_then(|kept| kept.document(file));
        Noted::of(kept, &self.documents, &view.looks, |rule, checked| {
            if let Check::Document(check) = rule.check {
                checked.run(rule, |reporter| check(&view, reporter));
            }
        })
    }

    fn object(&self, effective: &Effective) -> Noted {
        let view = ObjectView::new(self.context, &effective.id, effective.node.get_ref(), Some(effective));
        let (view, rules) = match effective.is_rendered {
            true if rendered::is_judged(effective) => (view.by(Applier::Helm), &self.rendered[..]),
            true => (view, &[][..]),
            false => (view, &self.objects[..]),
        };
        let kept = self.kept.and_then(|kept| kept.object(effective));
        Noted::of(kept, rules, &view.looks, |rule, checked| self.of_object(&view, rule, checked))
    }

    fn of_object(&self, view: &ObjectView<'_>, rule: &'static Rule, checked: &mut Checked) {
        let before = checked.findings.len();
        if let Check::Object(check) = rule.check {
            checked.run(rule, |reporter| check(view, reporter));
        }
        let found = &mut checked.findings[before..];
        if let Some(effective) = view.effective.filter(|_| !found.is_empty()) {
            let clusters = self.context.world.clusters_of(effective);
            for finding in found.iter_mut().filter(|finding| finding.clusters.is_empty()) {
                finding.clusters.clone_from(&clusters);
            }
        }
    }

    /// Patches that change nothing here are read all the same, by their schema.
    fn for_patches(&self) -> impl Iterator<Item = &'static Rule> {
        self.objects.iter().copied().filter(|rule| rule.group == Group::Schema)
    }

    fn patch(&self, patch: &UnappliedPatch) -> Checked {
        let view = ObjectView::new(self.context, &patch.id, patch.node.get_ref(), None).of(patch);
        let mut all = Checked::default();
        for rule in self.for_patches() {
            self.of_object(&view, rule, &mut all);
        }
        all
    }

    /// Of the cluster at a place in [`World::clusters`](crate::world::World::clusters).
    fn cluster(&self, at: usize, cluster: &Cluster, rules: &[&'static Rule]) -> Noted {
        let view = ClusterView::new(self.context, cluster);
        let kept = self.kept.and_then(|kept| kept.cluster(at));
        Noted::of(kept, rules, &view.looks, |rule, checked| {
            let before = checked.findings.len();
            if let Check::Cluster(check) = rule.check {
                checked.run(rule, |reporter| check(&view, reporter));
            }
            for finding in checked.findings[before..].iter_mut().filter(|one| one.clusters.is_empty()) {
                finding.clusters.extend(cluster.name.clone());
            }
        })
    }
}
