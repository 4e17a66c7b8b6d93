//! Running rules: which, over what, and what becomes of their findings.

use super::memo::{AllNoted, Checked, Kept, Memo, Noted};
use super::patches::{Applier, Loose};
use super::rules::RULES;
use super::rules::cluster_api::malformed_template_expression::RULE as TEMPLATES;
use super::{
    ChangeView, Check, ClusterView, Context, DocumentView, Finding, Group, Level, ObjectView, Rule, RunView,
    Skipped, Suppressions, fingerprint, patches, rendered, shared,
};
use crate::config::{Config, RuleLevel};
use crate::files::secrets::shown_path;
use crate::files::{Content, File, Snapshot, Unreadable};
use crate::lang::text::suggest;
use crate::lang::yaml::{FilePath, Location, Node, Via, ViaKind};
use crate::model::kinds;
use crate::model::{Certainty, ObjectId, Unchecked};
use crate::sources::resolve::Missing;
use crate::world::entry::{is_archive, is_leftover};
use crate::world::{Cluster, Effective, Outcome as BuildOutcome, World};
use jiff::Timestamp;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;
use std::sync::Arc;

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Rules or groups to run even when off by default or in configuration.
    pub select: Vec<String>,
    /// Rules or groups not to run.
    pub ignore: Vec<String>,
    /// Paths relative to the root that findings are wanted for; empty for all.
    /// A path named here is reported on even when `exclude` names it.
    pub focus: Vec<String>,
    /// The time that time-dependent rules judge; without it they are silent.
    pub at: Option<Timestamp>,
}

/// What a run found.
#[derive(Default)]
pub struct Outcome {
    /// Findings of every level but off, in order of path, position and rule.
    pub findings: Vec<Finding>,
    /// What suppressions silenced, in the same order.
    pub suppressed: Vec<Suppressed>,
    /// Manifest files, documents and objects that were looked at.
    pub files: usize,
    /// See `files`.
    pub documents: usize,
    /// See `files`.
    pub objects: usize,
    /// Names of the clusters that were built, in order.
    pub clusters: Vec<String>,
    /// What could not be checked.
    pub not_checked: NotChecked,
}

/// A finding that is not reported, and why.
pub struct Suppressed {
    /// The finding.
    pub finding: Finding,
    /// The reason as written; may be empty.
    pub reason: String,
    /// Whether a baseline holds it, and no suppression.
    pub by_baseline: bool,
}

/// What to do about objects beside clusters whose entry points are known.
const UNAPPLIED: &str = "no cluster applies these objects: list their files in a kustomization.yaml, or \
                         `exclude` them in .forebay.yaml";

/// What was skipped, by reason, and the places.
#[derive(Clone, Debug, Default)]
pub struct NotChecked {
    reasons: BTreeMap<Unchecked, Vec<String>>,
    /// Whether a cluster states its entry point: then none is missing in the configuration.
    pub(crate) states_entry: bool,
}

impl NotChecked {
    /// Count one place under a reason.
    pub fn add(&mut self, reason: Unchecked, place: impl Into<String>) {
        self.reasons.entry(reason).or_default().push(place.into());
    }

    /// Reasons in order with their places.
    pub fn iter(&self) -> impl Iterator<Item = (Unchecked, &[String])> {
        self.reasons.iter().map(|(reason, places)| (*reason, places.as_slice()))
    }

    /// What would let a reason go away here.
    pub(crate) fn remedy(&self, reason: Unchecked) -> &'static str {
        match reason {
            Unchecked::ReferenceWithoutEntryPoint if self.states_entry => UNAPPLIED,
            reason => reason.remedy(),
        }
    }

    /// Whether everything was checked.
    pub fn is_empty(&self) -> bool {
        self.reasons.is_empty()
    }
}

/// Run the selected rules over a repository.
pub fn run(world: &World, config: &Config, options: &Options) -> Outcome {
    run_all(&Context::new(world, config, options.at), None, options, None)
}

/// Run the selected rules again over a world that is like the one before; the same
/// rules, by the same configuration.
pub fn run_again(world: &Arc<World>, config: &Config, options: &Options, memo: &mut Memo) -> Outcome {
    run_all(&Context::new(world, config, options.at), None, options, Some((world, memo)))
}

/// Run the selected rules over a repository, and those about changes over it
/// and what it was before.
pub fn run_change(base: &World, head: &World, config: &Config, options: &Options) -> Outcome {
    let [base, head] = [base, head].map(|world| Context::new(world, config, options.at));
    run_all(&head, Some(&base), options, None)
}

/// Run the selected rules over a repository before and after a change; what the change
/// leaves as it is is looked at once.
pub fn run_both(
    base: &Arc<World>,
    head: &Arc<World>,
    config: &Config,
    options: &Options,
) -> (Outcome, Outcome) {
    let mut memo = Memo::default();
    let [before, after] = [base, head].map(|world| Context::new(world, config, options.at));
    (
        run_all(&before, None, options, Some((base, &mut memo))),
        run_all(&after, Some(&before), options, Some((head, &mut memo))),
    )
}

fn run_all(
    context: &Context<'_>,
    base: Option<&Context<'_>>,
    options: &Options,
    memo: Option<(&Arc<World>, &mut Memo)>,
) -> Outcome {
    let Context { snapshot, world, config, .. } = *context;
    let scope = Scope { config, options };
    let mut outcome = Outcome::default();

    for path in &snapshot.unnamed {
        outcome.not_checked.add(Unchecked::PathNotUtf8, path.clone());
    }
    let files = looked_at(world, &scope, &mut outcome.not_checked);
    let reported: FxHashSet<FilePath> =
        files.iter().filter(|file| !snapshot.is_generated(file)).map(|file| file.name()).collect();
    outcome.files = files.len();
    outcome.documents = files
        .iter()
        .map(|file| {
            snapshot.sources(file).iter().filter(|source| !source.document().tokens.is_empty()).count()
        })
        .sum();
    let read: FxHashSet<FilePath> = files.iter().map(|file| file.name()).collect();
    let objects = snapshot.objects().iter().chain(snapshot.beside().flat_map(Snapshot::objects));
    outcome.objects = objects.filter(|object| read.contains(&object.source.file)).count();
    outcome.clusters = world
        .clusters
        .iter()
        .filter(|cluster| world.counts(cluster))
        .filter_map(|cluster| Some(cluster.name.as_deref()?.to_owned()))
        .collect();
    outcome.not_checked.states_entry =
        world.clusters.iter().any(|cluster| cluster.name.is_some() && cluster.certainty == Certainty::Stated);
    not_built_in(world, &|file| scope.asks_about(file), &mut outcome.not_checked);

    let rules: Vec<&'static Rule> = RULES.iter().copied().filter(|rule| scope.runs(rule)).collect();
    let manifests = manifests(world, &files);
    let mut checked = match memo {
        Some((world, memo)) => {
            let kept = memo.compare(context);
            let (checked, noted) = check(context, &manifests, &rules, Some(kept.as_ref()));
            memo.keep(world, config, &manifests, noted);
            checked
        }
        None => check(context, &manifests, &rules, None).0,
    };
    if let Some(base) = base {
        let view = ChangeView { base, head: context };
        for rule in &rules {
            if let Check::Change(check) = rule.check {
                checked.run(rule, |reporter| check(&view, reporter));
            }
        }
    }
    judge_absences(world, &mut checked);
    let of_charts: Vec<_> = rendered::take_out(world, &reported, &mut checked).into_values().collect();
    // A patch whose target is not here is none of these: it changes something elsewhere.
    let beside = if world.has_entry { beside_clusters(world) } else { FxHashSet::default() };
    // What shows or tests something may be wrong on purpose; what was put aside
    // nobody will mend.
    for finding in checked.findings.iter_mut().filter(|finding| finding.clusters.is_empty()) {
        let file = &finding.location.file;
        let path = file.shown();
        // What clusters make of a text is right where only an overlay that none of them
        // applies leaves it as it is written.
        let is_object = || finding.objects.iter().all(|id| beside.contains(id));
        if matches!(finding.rule.check, Check::Object(_)) && world.is_read(file) && is_object() {
            finding.level = finding.level.min(Level::Info);
            continue;
        }
        let most = match () {
            () if is_archive(path) => Level::Info,
            () if is_leftover(path) => Level::Warning,
            () => continue,
        };
        if finding.level > most && world.is_outside(file) {
            finding.level = most;
        }
    }
    // Kinds are counted, not their objects.
    let mut kinds = FxHashSet::default();
    for Skipped { reason, file, what } in checked.not_checked {
        if !scope.asks_about(file.as_ref()) {
            continue;
        }
        if reason == Unchecked::KindWithoutSchema && !kinds.insert(what.clone()) {
            continue;
        }
        outcome.not_checked.add(reason, what);
    }

    let suppressions = Suppressions::collect(snapshot, files.iter().map(|file| &***file));
    let mut dropped: Vec<(Unchecked, String)> = Vec::new();
    let mut keep = |finding: Finding| {
        let finding = match at_shown_text(finding, snapshot, &scope) {
            Some(finding) => finding,
            None => return,
        };
        let file = &finding.location.file;
        // A rule about templates reads those that are no YAML yet.
        let is_template = || finding.rule.id == TEMPLATES.id && !scope.excluded(file.shown());
        if !reported.contains(file) && !is_generators(file, snapshot) && !is_template() {
            // What is excluded is wanted so; what a program made is not read by all.
            if read.contains(file) {
                dropped.push((Unchecked::GeneratedFile, format!("{file}: {}", finding.rule.id)));
            }
            return;
        }
        let finding = Finding { level: scope.level(&finding), ..finding };
        if finding.level == Level::Off {
            return;
        }
        match suppressions.silencing(finding.rule.id, &finding.location) {
            Some(by) => {
                let reason = by.reason.clone();
                outcome.suppressed.push(Suppressed { finding, reason, by_baseline: false });
            }
            None => outcome.findings.push(finding),
        }
    };
    shared::give_way(shared::give_way_to_schemas(merge(checked.findings))).into_iter().for_each(&mut keep);
    let view = RunView {
        context,
        suppressions: &suppressions,
        rules: &rules,
        is_focused: options.focus.iter().any(|path| !path.is_empty()),
        is_complete: is_complete(world),
        of_charts: &of_charts,
    };
    let mut own = Checked::default();
    for rule in &rules {
        if let Check::Run(check) = rule.check {
            own.run(rule, |reporter| check(&view, reporter));
        }
    }
    own.findings.into_iter().for_each(&mut keep);
    for (reason, what) in dropped {
        outcome.not_checked.add(reason, what);
    }
    sort(&mut outcome.findings);
    shared::cap(&mut outcome.findings);
    shared::withhold_fixes(world, &mut outcome.findings);
    let suppressed = outcome.suppressed.iter_mut().map(|suppressed| &mut suppressed.finding);
    fingerprint::assign(world, outcome.findings.iter_mut().chain(suppressed).collect());
    let suppressed = outcome.suppressed.iter_mut().map(|suppressed| &mut suppressed.finding);
    outcome.findings.iter_mut().chain(suppressed).for_each(|finding| conceal(&world.snapshot, finding));
    outcome
}

/// Whether a file is no manifest, but what a generator takes over.
fn is_generators(file: &FilePath, snapshot: &Snapshot) -> bool {
    let known = file.of_root().and_then(|path| snapshot.file(path));
    known.is_some_and(|known| !known.is_manifest && snapshot.stream(known).is_some())
}

/// A finding where it may be shown: in what a generator makes a Secret of, nothing is, so
/// it stands at the generator; `None` in what isn't to be reported on.
fn at_shown_text(mut finding: Finding, snapshot: &Snapshot, scope: &Scope<'_>) -> Option<Finding> {
    if !is_generators(&finding.location.file, snapshot) {
        return Some(finding);
    }
    if scope.excluded(finding.location.file.shown()) {
        return None;
    }
    if finding.objects.iter().any(|id| id.is("", "Secret")) {
        conceal_texts(snapshot, &mut finding);
        let by = |via: &&Via| via.kind == ViaKind::Generator;
        finding.location = finding.location.via.iter().find(by)?.location.clone();
    }
    Some(finding)
}

/// A finding in a Secret, or about what comes from one, tells where and what, and nothing
/// of the values.
fn conceal(snapshot: &Snapshot, finding: &mut Finding) {
    conceal_texts(snapshot, finding);
    if finding.objects.first().is_some_and(|id| &*id.kind == "Secret") {
        finding.path = shown_path(&finding.path);
    }
}

fn conceal_texts(snapshot: &Snapshot, finding: &mut Finding) {
    let related = finding.related.iter().map(|related| &related.location);
    let hidden = snapshot.hidden_at(related.chain([&finding.location]));
    let texts = [&mut finding.title, &mut finding.why, &mut finding.help, &mut finding.label].into_iter();
    let related = finding.related.iter_mut().map(|related| &mut related.message);
    let fixes = finding.fixes.iter_mut().map(|fix| &mut fix.title);
    for text in texts.chain(related).chain(fixes) {
        if let Cow::Owned(concealed) = hidden.conceal(text) {
            *text = concealed;
        }
    }
}

/// The manifest files that are looked at; why others are not.
fn looked_at<'w>(world: &'w World, scope: &Scope<'_>, not_checked: &mut NotChecked) -> Vec<&'w Arc<File>> {
    let (snapshot, config) = (&*world.snapshot, scope.config);
    let mut files = Vec::new();
    let broken = world.broken_files();
    for file in snapshot.files().iter().filter(|file| file.is_manifest) {
        let is_baseline = config.baseline.as_ref().is_some_and(|baseline| *baseline.value == *file.path);
        if is_baseline || scope.excluded(&file.path) {
            continue;
        }
        let is_test = || snapshot.is_test(file) && !world.is_applied(file);
        match skip_reason(snapshot, file).or_else(|| is_test().then_some(Unchecked::TestSuite)) {
            // What a generator takes as bytes is nobody's manifest.
            Some(Unchecked::Template) if world.inputs.contains(&*file.path) => {}
            // A cluster takes it for a manifest.
            Some(Unchecked::Template) if broken.contains(&file.name()) => files.push(file),
            Some(reason) => not_checked.add(reason, file.path.to_string()),
            None => files.push(file),
        }
    }
    if scope.is_whole() {
        files.extend(world.files_beside().into_iter().filter(|file| skip_reason(snapshot, file).is_none()));
    }
    files
}

/// Those of them that are manifests: generators take bytes, and whether these are some
/// is nobody's business.
fn manifests<'w>(world: &World, files: &[&'w Arc<File>]) -> Vec<&'w Arc<File>> {
    files.iter().copied().filter(|file| !world.inputs.contains(&file.path)).collect()
}

/// Runs the rules, those whose answer is not kept; what came of each subject, if that is
/// to be kept.
fn check(
    context: &Context<'_>,
    manifests: &[&Arc<File>],
    rules: &[&'static Rule],
    memo: Option<Option<&Kept<'_>>>,
) -> (Checked, AllNoted) {
    let world = context.world;
    let kept = memo.flatten();
    let of = |is: fn(&Check) -> bool| -> Vec<&'static Rule> {
        rules.iter().copied().filter(|rule| is(&rule.check)).collect()
    };
    let for_documents = of(|check| matches!(check, Check::Document(_)));
    let for_objects = of(|check| matches!(check, Check::Object(_)));
    let for_clusters = of(|check| matches!(check, Check::Cluster(_)));
    let document = |file: &&Arc<File>| {
        let view = DocumentView::new(context, file);
        Noted::of(kept.and_then(|kept| kept.document(file)), &for_documents, &view.looks, |rule| {
            let mut checked = Checked::default();
            if let Check::Document(check) = rule.check {
                checked.run(rule, |reporter| check(&view, reporter));
            }
            checked
        })
    };
    let of_object = |view: &ObjectView<'_>, rule: &'static Rule| {
        let mut checked = Checked::default();
        if let Check::Object(check) = rule.check {
            checked.run(rule, |reporter| check(view, reporter));
        }
        if let Some(effective) = view.effective.filter(|_| !checked.findings.is_empty()) {
            let clusters = world.clusters_of(effective);
            for finding in checked.findings.iter_mut().filter(|finding| finding.clusters.is_empty()) {
                finding.clusters.clone_from(&clusters);
            }
        }
        checked
    };
    let of_rendered = |rule: &&&'static Rule| rendered::concerns(rule.group);
    let for_rendered: Vec<&'static Rule> = for_objects.iter().filter(of_rendered).copied().collect();
    let object = |effective: &Effective| {
        let view = ObjectView::new(context, &effective.id, effective.node.get_ref(), Some(effective));
        let (view, rules) = match effective.is_rendered {
            true if rendered::is_judged(effective) => (view.by(Applier::Helm), &for_rendered[..]),
            true => (view, &[][..]),
            false => (view, &for_objects[..]),
        };
        Noted::of(kept.and_then(|kept| kept.object(effective)), rules, &view.looks, |rule| {
            of_object(&view, rule)
        })
    };
    // Patches that change nothing here are read all the same, by their schema.
    let for_patches = || for_objects.iter().filter(|rule| rule.group == Group::Schema);
    let patch = |patch: &Loose| {
        let view = ObjectView::new(context, &patch.id, patch.node.get_ref(), None).of(patch);
        let mut all = Checked::default();
        for rule in for_patches() {
            all.append(of_object(&view, rule));
        }
        all
    };
    let of_cluster = |at: usize, cluster: &Cluster, rules: &[&'static Rule]| {
        let view = ClusterView::new(context, cluster);
        Noted::of(kept.and_then(|kept| kept.cluster(at)), rules, &view.looks, |rule| {
            let mut checked = Checked::default();
            if let Check::Cluster(check) = rule.check {
                checked.run(rule, |reporter| check(&view, reporter));
            }
            for finding in checked.findings.iter_mut().filter(|finding| finding.clusters.is_empty()) {
                finding.clusters.extend(cluster.name.clone());
            }
            checked
        })
    };
    // One cluster alone would keep one thread busy; what is noted is noted of all rules.
    let parts = match memo {
        None => rayon::current_num_threads().div_ceil(world.clusters.len().max(1)),
        Some(_) => 1,
    };
    let part = |number: usize| for_clusters.iter().copied().skip(number).step_by(parts).collect::<Vec<_>>();
    let parts: Vec<Vec<&'static Rule>> = (0..parts).map(part).collect();
    let cluster = |(at, cluster): (usize, &Cluster)| {
        parts.par_iter().map(|rules| of_cluster(at, cluster, rules)).collect::<Vec<Noted>>()
    };
    let of_patches = || match for_patches().next() {
        Some(_) => patches::unused(world).par_iter().map(patch).collect(),
        None => Vec::new(),
    };
    let ((documents, objects), (patches, clusters)) = rayon::join(
        || {
            rayon::join(
                || manifests.par_iter().with_min_len(16).map(document).collect::<Vec<Noted>>(),
                || world.objects.par_iter().with_min_len(16).map(object).collect::<Vec<Noted>>(),
            )
        },
        || {
            rayon::join(of_patches, || {
                world.clusters.par_iter().enumerate().flat_map_iter(cluster).collect::<Vec<Noted>>()
            })
        },
    );
    let mut all = Checked::default();
    let mut noted = AllNoted::default();
    if memo.is_some() {
        documents.iter().chain(&objects).for_each(|one| one.tell(&mut all));
        patches.into_iter().for_each(|one| all.append(one));
        clusters.iter().for_each(|one| one.tell(&mut all));
        noted = AllNoted { documents, objects, clusters };
    } else {
        documents.into_iter().chain(objects).for_each(|one| one.give(&mut all));
        patches.into_iter().for_each(|one| all.append(one));
        clusters.into_iter().for_each(|one| one.give(&mut all));
    }
    for rule in rules {
        if let Check::Repository(check) = rule.check {
            all.run(rule, |reporter| check(context, reporter));
        }
    }
    (all, noted)
}

/// The objects that no cluster of an entry point has.
fn beside_clusters(world: &World) -> FxHashSet<&ObjectId> {
    let is_named = |object: &Effective| {
        object.members.iter().any(|(cluster, _)| world.clusters[*cluster as usize].name.is_some())
    };
    let built = world.objects.iter().filter(|object| !is_named(object)).map(|object| &object.id);
    built.chain(world.orphans().map(|object| &object.id)).collect()
}

/// An error that says that something isn't there needs a stated cluster: in an
/// assumed one it is a warning, in a guessed one it is not checked.
fn judge_absences(world: &World, checked: &mut Checked) {
    let certainty = |finding: &Finding| {
        let of = |name: &Arc<str>| world.clusters.iter().find(|one| one.name.as_ref() == Some(name));
        finding.clusters.iter().filter_map(of).map(|cluster| cluster.certainty).max()
    };
    let not_checked = &mut checked.not_checked;
    checked.findings.retain_mut(|finding| {
        if !finding.absence || finding.level < Level::Error {
            return true;
        }
        match certainty(finding) {
            Some(Certainty::Stated) => {}
            Some(Certainty::Assumed) => finding.level = Level::Warning,
            Some(Certainty::Guessed) | None => {
                not_checked.push(Skipped {
                    reason: Unchecked::AbsenceInGuessedCluster,
                    file: Some(finding.location.file.clone()),
                    what: finding.title.clone(),
                });
                return false;
            }
        }
        true
    });
}

/// One finding for one text: those of the same rule, bytes and field in several
/// clusters or objects become one, with the message of the first.
fn merge(mut findings: Vec<Finding>) -> Vec<Finding> {
    sort(&mut findings);
    let mut merged: Vec<Finding> = Vec::with_capacity(findings.len());
    let mut known: FxHashMap<_, usize> = FxHashMap::default();
    let mut several: Vec<bool> = Vec::new();
    for finding in findings {
        let Location { file, start, end, .. } = &finding.location;
        let text = (file.clone(), *start, *end);
        let field = (finding.path.clone(), finding.values_path.clone());
        match known.entry((text, finding.rule.id, field, finding.value.clone())) {
            Entry::Occupied(at) => {
                let first = &mut merged[*at.get()];
                several[*at.get()] = true;
                first.level = first.level.max(finding.level);
                first.objects.extend(finding.objects);
                first.clusters.extend(finding.clusters);
                first.related.extend(finding.related);
            }
            Entry::Vacant(free) => {
                free.insert(merged.len());
                merged.push(finding);
                several.push(false);
            }
        }
    }
    for (finding, _) in merged.iter_mut().zip(several).filter(|(_, several)| *several) {
        keep_first(&mut finding.objects);
        keep_first(&mut finding.related);
        finding.clusters.sort();
        finding.clusters.dedup();
    }
    merged
}

/// Leave out what is equal to something before it.
fn keep_first<T: Clone + Eq + Hash>(list: &mut Vec<T>) {
    let mut seen = FxHashSet::default();
    list.retain(|one| seen.insert(one.clone()));
}

/// Kustomizations whose files are not here, and what builds left out.
pub(crate) fn not_built(world: &World, not_checked: &mut NotChecked) {
    not_built_in(world, &|_| true, not_checked);
}

/// As [`not_built`], of the files that are asked about.
fn not_built_in(world: &World, asks: &dyn Fn(Option<&FilePath>) -> bool, not_checked: &mut NotChecked) {
    let states = |node: &Node| asks(node.get_ref().location().map(|at| at.file).as_ref());
    let mut seen = FxHashSet::default();
    let mut charts: BTreeSet<&Missing> = BTreeSet::new();
    let mut unable: BTreeSet<String> = BTreeSet::new();
    for cluster in &world.clusters {
        for applied in &cluster.applied {
            match &applied.outcome {
                BuildOutcome::External(why) if states(&applied.node) => {
                    not_checked.add(Unchecked::ExternalSource, format!("{}: {why}", applied.id));
                }
                BuildOutcome::Unknown(why) if states(&applied.node) => {
                    not_checked.add(Unchecked::UnknownField, format!("{}: {why}", applied.id));
                }
                BuildOutcome::Built { partial, .. } => {
                    for (reason, what, location) in partial {
                        let place = location.as_ref().map(|location| (location.file.clone(), location.start));
                        let file = place.as_ref().map(|(file, _)| file);
                        if asks(file) && seen.insert((*reason, what.clone(), place)) {
                            not_checked.add(*reason, what.clone());
                        }
                    }
                }
                _ => {}
            }
        }
        for (_, object) in world.written(cluster) {
            if object.id.is(kinds::OPERATOR, "ResourceSet")
                && !cluster.sets.iter().any(|set| set.is_complete && set.id == object.id)
                && states(&object.node)
            {
                not_checked.add(Unchecked::ResourceSet, object.id.to_string());
            }
        }
        let asked: Vec<_> = cluster.releases.iter().filter(|release| states(&release.node)).collect();
        let missing = asked.iter().filter_map(|release| release.chart.as_ref().err());
        charts.extend(missing.filter(|missing| !missing.name.is_empty()));
        for release in asked {
            if let Some(why) = release.unable() {
                unable.insert(format!("{}: {why}", release.id));
            }
            let again = release.unfollowed.iter();
            unable.extend(again.map(|id| format!("{}: its chart makes {id} again", release.id)));
        }
    }
    for missing in charts {
        not_checked.add(Unchecked::Chart, missing.to_string());
    }
    for release in unable {
        not_checked.add(Unchecked::Chart, release);
    }
}

/// Whether everything of every cluster was built, and nothing left out.
fn is_complete(world: &World) -> bool {
    let built =
        |outcome: &BuildOutcome| matches!(outcome, BuildOutcome::Built { partial, .. } if partial.is_empty());
    world.clusters.iter().flat_map(|cluster| &cluster.applied).all(|applied| built(&applied.outcome))
}

/// Order of output: path, position, rule, title.
pub(crate) fn sort(findings: &mut [Finding]) {
    let key = |location: &Location| (location.file.clone(), location.start);
    findings.sort_by(|a, b| {
        key(&a.location)
            .cmp(&key(&b.location))
            .then_with(|| a.rule.id.cmp(b.rule.id))
            .then_with(|| a.title.cmp(&b.title))
    });
}

/// Why a manifest file is not looked at, when it isn't. Undecodable and oversized files
/// are findings, not skips.
fn skip_reason(snapshot: &Snapshot, file: &File) -> Option<Unchecked> {
    use crate::files::FileKind;
    match &file.kind {
        FileKind::Symlink(_) => return Some(Unchecked::Symlink),
        FileKind::Submodule => return Some(Unchecked::Submodule),
        FileKind::Special => return Some(Unchecked::SpecialFile),
        FileKind::Regular => {}
    }
    match snapshot.blob(file) {
        Err(Unreadable::MissingObject) => Some(Unchecked::MissingGitObject),
        Err(Unreadable::BeyondTotal) => Some(Unchecked::BeyondTotalOfInput),
        Err(_) => None,
        Ok(blob) => match blob.content() {
            Content::LfsPointer => Some(Unchecked::GitLfs),
            Content::GitCrypt => Some(Unchecked::GitCrypt),
            _ if snapshot.is_template(file) => Some(Unchecked::Template),
            _ => None,
        },
    }
}

/// A rule or group that does not exist, named by a flag or the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnknownRule {
    /// As written.
    pub name: String,
    /// The nearest rule or group.
    pub suggestion: Option<&'static str>,
    /// Where the configuration names it; `None` for a flag.
    pub location: Option<Location>,
}

/// Rules and groups that flags or the configuration name and that do not
/// exist, in that order.
pub(crate) fn unknown_rules(config: &Config, options: &Options) -> Vec<UnknownRule> {
    let known = || RULES.iter().map(|rule| rule.id).chain(Group::ALL.iter().map(|group| group.name()));
    let flags = options.select.iter().chain(&options.ignore).map(|name| (name, None));
    let overridden = config.overrides.iter().flat_map(|entry| &entry.rules);
    let written = config.rules.iter().chain(overridden).map(|entry| (&entry.name, Some(&entry.location)));
    flags
        .filter(|(name, _)| name.as_str() != "all")
        .chain(written)
        .filter(|(name, _)| !known().any(|known| known == name.as_str()))
        .map(|(name, location)| UnknownRule {
            name: name.clone(),
            suggestion: suggest(name, known()),
            location: location.cloned(),
        })
        .collect()
}

/// What configuration and options say together.
/// Whether a path is another one, or lies below it; all lie below the empty one.
fn is_below(path: &str, wanted: &str) -> bool {
    wanted.is_empty()
        || path.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

struct Scope<'a> {
    config: &'a Config,
    options: &'a Options,
}

impl Scope<'_> {
    /// Whether findings are wanted wherever they are.
    fn is_whole(&self) -> bool {
        self.options.focus.iter().all(String::is_empty)
    }

    /// Whether a text is among those that were asked for; what belongs to no text is.
    fn asks_about(&self, file: Option<&FilePath>) -> bool {
        let Some(file) = file.filter(|_| !self.is_whole()) else { return true };
        file.of_root().is_some_and(|path| self.options.focus.iter().any(|wanted| is_below(path, wanted)))
    }

    fn excluded(&self, path: &str) -> bool {
        let focus = &self.options.focus;
        let below = |wanted: &String| is_below(path, wanted);
        let in_config = |path: &str| self.config.exclude.matches(path);
        if focus.iter().any(|wanted| wanted == path) {
            return false;
        }
        if !focus.is_empty() && !focus.iter().any(below) {
            return true;
        }
        // Naming a file or directory that is excluded includes it again.
        let excluded = |wanted: &str| in_config(wanted) || in_config(&format!("{wanted}/_"));
        let named_inside =
            || focus.iter().any(|wanted| !wanted.is_empty() && below(wanted) && excluded(wanted));
        in_config(path) && !named_inside()
    }

    fn names(list: &[String], rule: &Rule) -> bool {
        list.iter().any(|name| name == rule.id || name == rule.group.name() || name == "all")
    }

    fn runs(&self, rule: &Rule) -> bool {
        if Self::names(&self.options.ignore, rule) {
            return false;
        }
        if !self.options.select.is_empty() {
            return Self::names(&self.options.select, rule);
        }
        let switched_on = |entry: &RuleLevel| {
            entry.level != Level::Off && (entry.name == rule.id || entry.name == rule.group.name())
        };
        match self.config.level(rule.id, rule.group.name()) {
            Some(level) if level != Level::Off => true,
            None if rule.default => true,
            // Off in general; some paths may still want it.
            _ => self.config.overrides.iter().flat_map(|entry| &entry.rules).any(switched_on),
        }
    }

    fn level(&self, finding: &Finding) -> Level {
        let (rule, group) = (finding.rule, finding.rule.group.name());
        let general = match self.config.level(rule.id, group) {
            // A selected rule runs at its own level even where it is off.
            Some(Level::Off) | None if !self.options.select.is_empty() => Some(rule.level),
            None if rule.default => Some(rule.level),
            level => level,
        };
        let path = finding.location.file.of_root();
        let here = path.and_then(|path| self.config.override_level(path, rule.id, group));
        let level = here.or(general).unwrap_or(Level::Off);
        // What a finding lowers itself stays lowered.
        if finding.level < rule.level { level.min(finding.level) } else { level }
    }
}
