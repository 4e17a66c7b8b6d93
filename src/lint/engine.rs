//! Running rules: which, over what, and what becomes of their findings.

pub use super::not_checked::NotChecked;
pub(crate) use super::not_checked::not_built;
pub use super::scope::LintOptions;
pub(crate) use super::scope::{UnknownRule, unknown_rules};

use super::checks::check;
use super::memo::{Checked, LintMemo};
use super::not_checked::not_built_in;
use super::rules::RULES;
use super::rules::cluster_api::malformed_template_expression::RULE as TEMPLATES;
use super::scope::LintScope;
use super::{
    ChangeView, Check, Context, Finding, Level, Rule, RunView, Skipped, Suppressions, fingerprint, rendered,
    shared,
};
use crate::config::Config;
use crate::files::secrets::shown_path;
use crate::files::{Content, File, Snapshot, Unreadable};
use crate::lang::yaml::{FilePath, Location, Via, ViaKind};
use crate::model::{Certainty, ObjectId, Unchecked};
use crate::world::entry::{is_archive, is_leftover};
use crate::world::{Effective, Outcome as BuildOutcome, World};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;
use std::sync::Arc;

/// What a run found.
#[derive(Default)]
pub struct LintOutcome {
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
    pub finding: Finding,
    /// The reason as written; may be empty.
    pub reason: String,
    /// Whether a baseline holds it, and no suppression.
    pub by_baseline: bool,
}

/// Run the selected rules over a repository.
pub fn run(world: &World, config: &Config, options: &LintOptions) -> LintOutcome {
    run_all(&Context::new(world, config, options.at), None, options, None)
}

/// Run the selected rules again over a world that is like the one before; the same
/// rules, by the same configuration.
pub fn run_again(
    world: &Arc<World>,
    config: &Config,
    options: &LintOptions,
    memo: &mut LintMemo,
) -> LintOutcome {
    run_all(&Context::new(world, config, options.at), None, options, Some((world, memo)))
}

/// Run the selected rules over a repository, and those about changes over it
/// and what it was before.
pub fn run_change(base: &World, head: &World, config: &Config, options: &LintOptions) -> LintOutcome {
    let [base, head] = [base, head].map(|world| Context::new(world, config, options.at));
    run_all(&head, Some(&base), options, None)
}

/// Run the selected rules over a repository before and after a change; what the change
/// leaves as it is is looked at once.
pub fn run_both(
    base: &Arc<World>,
    head: &Arc<World>,
    config: &Config,
    options: &LintOptions,
) -> (LintOutcome, LintOutcome) {
    let mut memo = LintMemo::default();
    let [before, after] = [base, head].map(|world| Context::new(world, config, options.at));
    (
        run_all(&before, None, options, Some((base, &mut memo))),
        run_all(&after, Some(&before), options, Some((head, &mut memo))),
    )
}

fn run_all(
    context: &Context<'_>,
    base: Option<&Context<'_>>,
    options: &LintOptions,
    memo: Option<(&Arc<World>, &mut LintMemo)>,
) -> LintOutcome {
    let Context { snapshot, world, config, .. } = *context;
    let scope = LintScope { config, options };
    let mut outcome = LintOutcome::default();
    for path in &snapshot.unnamed {
        outcome.not_checked.add(Unchecked::PathNotUtf8, path.clone());
    }
    let files = looked_at(world, &scope, &mut outcome.not_checked);
    let read: FxHashSet<FilePath> = files.iter().map(|file| file.name()).collect();
    count(world, &files, &read, &mut outcome);
    not_built_in(world, &|file| scope.asks_about(file), &mut outcome.not_checked);

    let rules: Vec<&'static Rule> = RULES.iter().copied().filter(|rule| scope.runs(rule)).collect();
    let mut checked = run_rules(context, base, &rules, &files, memo);
    judge_absences(world, &mut checked);
    let reported: FxHashSet<FilePath> =
        files.iter().filter(|file| !snapshot.is_generated(file)).map(|file| file.name()).collect();
    let of_charts: Vec<_> = rendered::take_out(world, &reported, &mut checked).into_values().collect();
    lower_what_nobody_applies(world, &mut checked.findings);
    add_skipped(checked.not_checked, &scope, &mut outcome.not_checked);

    let suppressions = Suppressions::collect(snapshot, files.iter().map(|file| &***file));
    let sieve =
        Sieve { snapshot, scope: &scope, read: &read, reported: &reported, suppressions: &suppressions };
    for finding in shared::give_way(shared::give_way_to_schemas(merge(checked.findings))) {
        sieve.pass(finding, &mut outcome);
    }
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
    for finding in own.findings {
        sieve.pass(finding, &mut outcome);
    }
    finish(world, &mut outcome);
    outcome
}

/// What was looked at, in numbers and names.
fn count(world: &World, files: &[&Arc<File>], read: &FxHashSet<FilePath>, outcome: &mut LintOutcome) {
    let snapshot = &*world.snapshot;
    let documents = |file: &&Arc<File>| {
        snapshot.sources(file).iter().filter(|source| !source.document().tokens.is_empty()).count()
    };
    outcome.files = files.len();
    outcome.documents = files.iter().map(documents).sum();
    let objects = snapshot.objects().iter().chain(snapshot.beside().flat_map(Snapshot::objects));
    outcome.objects = objects.filter(|object| read.contains(&object.source.file)).count();
    outcome.clusters = world
        .clusters
        .iter()
        .filter(|cluster| world.counts(cluster))
        .filter_map(|cluster| Some(cluster.name.as_deref()?.to_owned()))
        .collect();
    outcome.not_checked.states_entry = world.states_entry();
}

/// What all rules say, but for those about the run itself.
fn run_rules(
    context: &Context<'_>,
    base: Option<&Context<'_>>,
    rules: &[&'static Rule],
    files: &[&Arc<File>],
    memo: Option<(&Arc<World>, &mut LintMemo)>,
) -> Checked {
    let manifests = manifests(context.world, files);
    let mut checked = match memo {
        Some((world, memo)) => {
            let kept = memo.compare(context);
            let (checked, noted) = check(context, &manifests, rules, Some(kept.as_ref()));
            memo.keep(world, context.config, &manifests, noted);
            checked
        }
        None => check(context, &manifests, rules, None).0,
    };
    if let Some(base) = base {
        let view = ChangeView { base, head: context };
        for rule in rules {
            if let Check::Change(check) = rule.check {
                checked.run(rule, |reporter| check(&view, reporter));
            }
        }
    }
    checked
}

/// What shows or tests something may be wrong on purpose; what was put aside nobody will
/// mend.
fn lower_what_nobody_applies(world: &World, findings: &mut [Finding]) {
    // A patch whose target is not here is none of these: it changes something elsewhere.
    let beside = if world.has_entry { beside_clusters(world) } else { FxHashSet::default() };
    for finding in findings.iter_mut().filter(|finding| finding.clusters.is_empty()) {
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
            () => Level::Error,
        };
        if finding.level > most && world.is_outside(file) {
            finding.level = most;
        }
        // Relations of what no cluster applies stop nothing.
        if world.has_entry && matches!(finding.rule.check, Check::Cluster(_)) && is_object() {
            finding.level = finding.level.min(Level::Warning);
        }
    }
}

/// What rules left out, of the files that are asked about. Kinds are counted, not their
/// objects.
fn add_skipped(skipped: Vec<Skipped>, scope: &LintScope<'_>, not_checked: &mut NotChecked) {
    let mut kinds = FxHashSet::default();
    for Skipped { reason, file, what } in skipped {
        if !scope.asks_about(file.as_ref()) {
            continue;
        }
        if reason == Unchecked::KindWithoutSchema && !kinds.insert(what.clone()) {
            continue;
        }
        not_checked.add(reason, what);
    }
}

/// Which findings are reported, and which are not, and why.
struct Sieve<'r> {
    snapshot: &'r Snapshot,
    scope: &'r LintScope<'r>,
    /// The files that were looked at.
    read: &'r FxHashSet<FilePath>,
    /// Those of them that somebody wrote.
    reported: &'r FxHashSet<FilePath>,
    suppressions: &'r Suppressions,
}

impl Sieve<'_> {
    fn pass(&self, finding: Finding, outcome: &mut LintOutcome) {
        let Some(finding) = at_shown_text(finding, self.snapshot, self.scope) else { return };
        let file = &finding.location.file;
        // A rule about templates reads those that are no YAML yet.
        let is_template = || finding.rule.id == TEMPLATES.id && !self.scope.excluded(file.shown());
        if !self.reported.contains(file) && !is_generators(file, self.snapshot) && !is_template() {
            // What is excluded is wanted so; what a program made is not read by all.
            if self.read.contains(file) {
                let what = format!("{file}: {}", finding.rule.id);
                outcome.not_checked.add(Unchecked::GeneratedFile, what);
            }
            return;
        }
        let finding = Finding { level: self.scope.level(&finding), ..finding };
        if finding.level == Level::Off {
            return;
        }
        match self.suppressions.silencing(finding.rule.id, &finding.location) {
            Some(by) => {
                let reason = by.reason.clone();
                outcome.suppressed.push(Suppressed { finding, reason, by_baseline: false });
            }
            None => outcome.findings.push(finding),
        }
    }
}

/// Order, fingerprints and masks.
fn finish(world: &World, outcome: &mut LintOutcome) {
    sort(&mut outcome.findings);
    shared::cap(&mut outcome.findings);
    shared::withhold_fixes(world, &mut outcome.findings);
    let suppressed = outcome.suppressed.iter_mut().map(|suppressed| &mut suppressed.finding);
    fingerprint::assign(world, outcome.findings.iter_mut().chain(suppressed).collect());
    let suppressed = outcome.suppressed.iter_mut().map(|suppressed| &mut suppressed.finding);
    outcome.findings.iter_mut().chain(suppressed).for_each(|finding| conceal(&world.snapshot, finding));
}

/// Whether a file is no manifest, but what a generator takes over.
fn is_generators(file: &FilePath, snapshot: &Snapshot) -> bool {
    let known = file.of_root().and_then(|path| snapshot.file(path));
    known.is_some_and(|known| !known.is_manifest && snapshot.stream(known).is_some())
}

/// A finding where it may be shown: in what a generator makes a Secret of, nothing is, so
/// it stands at the generator; `None` in what isn't to be reported on.
fn at_shown_text(mut finding: Finding, snapshot: &Snapshot, scope: &LintScope<'_>) -> Option<Finding> {
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
fn looked_at<'w>(
    world: &'w World,
    scope: &LintScope<'_>,
    not_checked: &mut NotChecked,
) -> Vec<&'w Arc<File>> {
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
/// clusters or objects become one, with the message of the first of the most severe. What
/// is less severe elsewhere is said behind it.
fn merge(mut findings: Vec<Finding>) -> Vec<Finding> {
    sort(&mut findings);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    let mut merged: Vec<Finding> = Vec::with_capacity(findings.len());
    let mut known: FxHashMap<_, usize> = FxHashMap::default();
    let mut several: FxHashMap<usize, Vec<Milder>> = FxHashMap::default();
    for finding in findings {
        let Location { file, start, end, .. } = &finding.location;
        let text = (file.clone(), *start, *end);
        let field = (finding.path.clone(), finding.values_path.clone());
        match known.entry((text, finding.rule.id, field, finding.value.clone())) {
            Entry::Occupied(at) => {
                let milder = several.entry(*at.get()).or_default();
                let first = &mut merged[*at.get()];
                if finding.level < first.level {
                    milder.push(Milder { clusters: finding.clusters.clone(), why: finding.why });
                }
                first.objects.extend(finding.objects);
                first.clusters.extend(finding.clusters);
                first.related.extend(finding.related);
            }
            Entry::Vacant(free) => {
                free.insert(merged.len());
                merged.push(finding);
            }
        }
    }
    for (at, milder) in several {
        let finding = &mut merged[at];
        keep_first(&mut finding.objects);
        keep_first(&mut finding.related);
        finding.clusters.sort();
        finding.clusters.dedup();
        say_where_milder(finding, &milder);
    }
    sort(&mut merged);
    merged
}

/// A finding that became part of a more severe one.
struct Milder {
    clusters: Vec<Arc<str>>,
    why: String,
}

/// What happens in the clusters in which less happens.
fn say_where_milder(finding: &mut Finding, milder: &[Milder]) {
    let mut told: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for Milder { clusters, why } in milder.iter().filter(|milder| milder.why != finding.why) {
        told.entry(why).or_default().extend(clusters.iter().map(|cluster| &**cluster));
    }
    for (why, clusters) in told {
        let place = match &*clusters.into_iter().collect::<Vec<_>>() {
            [] => continue,
            [one] => format!("cluster {one}"),
            many => format!("clusters {}", many.join(", ")),
        };
        finding.why = format!("{}; in {place}: {why}", finding.why);
    }
}

/// Leave out what is equal to something before it.
fn keep_first<T: Clone + Eq + Hash>(list: &mut Vec<T>) {
    let mut seen = FxHashSet::default();
    list.retain(|one| seen.insert(one.clone()));
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
