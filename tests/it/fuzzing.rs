//! Whole repositories, some with charts, whose documents are changed at random, in their structure and
//! in their text: whatever a tree holds, `lint` in every format, `build --all`, `plan`,
//! every simulator and every rewrite end without a panic, findings point into files,
//! and what was suspended and resumed is as it was. One tree in forty goes through
//! every command of the program itself.
//!
//! `FOREBAY_FUZZ` sets how many trees, `FOREBAY_FUZZ_DOCUMENTS` how many changed documents
//! each gets besides its own, `FOREBAY_SEED` the first seed. A tree that
//! fails is written to the directory `FOREBAY_FUZZ_KEEP`, if that is set.

use crate::support::growing::SYNC;
use crate::support::mutating::{Tree, add_documents, donors, mutate, seeds};
use crate::support::random::Random;
use crate::support::recordings;
use crate::support::scratch::{Scratch, forebay};
use forebay::internals::config::{Config, Level};
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::lang::yaml::{Known, NodeRef};
use forebay::internals::lint::Applicability;
use forebay::internals::lint::engine::{self, LintOptions, LintOutcome, NotChecked};
use forebay::internals::model::kinds;
use forebay::internals::plan;
use forebay::internals::report::{self, Lint, Terminal, gates};
use forebay::internals::rewrite;
use forebay::internals::rewrite::refactor::class::{ClassPartKind, PartOfClass};
use forebay::internals::rewrite::refactor::moves::Moves;
use forebay::internals::rewrite::refactor::objects::Handover;
use forebay::internals::rewrite::refactor::variable::Variable;
use forebay::internals::rewrite::refactor::{Refused, Rename, Series, changed, files};
use forebay::internals::rewrite::subject::Subject;
use forebay::internals::rewrite::suspend::{self, Aim};
use forebay::internals::simulate::cluster_api::hooks;
use forebay::internals::simulate::cluster_api::hooks::simulate::{Event, RuntimeSdk, SimulationRequest};
use forebay::internals::simulate::cluster_api::references::scopes;
use forebay::internals::simulate::cluster_api::{propagation, topology};
use forebay::internals::simulate::gating::objects::Gating;
use forebay::internals::simulate::gating::timeline::{self, Range};
use forebay::internals::simulate::notify::simulate::{Emission, Notifier, items};
use forebay::internals::world::{ApplyTarget, Cluster, Effective, World, helm_charts};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

fn snapshot(tree: &Tree, store: &Arc<Store>) -> Arc<Snapshot> {
    let files = tree.iter().map(|(path, text)| (path.as_str(), text.as_bytes().to_vec()));
    Arc::new(Snapshot::memory(files, store.clone()))
}

fn every_format(world: &World, outcome: &LintOutcome) -> Vec<u8> {
    let lint = Lint {
        world,
        outcome,
        show: Level::Info,
        at: None,
        width: usize::MAX,
        summary: true,
        list_unchecked: true,
        begins: true,
        is_configured: false,
        fails_at: Some(Level::Error),
        stale_baseline: 0,
        prefix: String::new(),
        secrets: None,
    };
    let mut out = Vec::new();
    let terminal = Terminal { color: true, links: true, columns: Some(80) };
    report::json::write(&mut out, &report::json::lint(&lint)).expect("memory takes it");
    report::json::write(&mut out, &report::sarif::log(&lint).expect("a log")).expect("memory takes it");
    report::json::write(&mut out, &report::gitlab::report(&lint)).expect("memory takes it");
    report::github::write(&mut out, &lint).expect("memory takes it");
    report::junit::write(&mut out, &lint).expect("memory takes it");
    out.extend_from_slice(report::html::render(&lint).as_bytes());
    report::markdown::write(&mut out, &lint).expect("memory takes it");
    report::concise::write(&mut out, &lint).expect("memory takes it");
    report::full::write(&mut out, &lint, terminal).expect("memory takes it");
    out
}

fn require_places(snapshot: &Snapshot, outcome: &LintOutcome) {
    for finding in &outcome.findings {
        let places =
            std::iter::once(&finding.location).chain(finding.related.iter().map(|one| &one.location));
        for place in places {
            let Some(stream) = snapshot.file(place.file.shown()).and_then(|file| snapshot.stream(file))
            else {
                continue;
            };
            let (start, end) = (place.start as usize, place.end as usize);
            assert!(
                start <= end && stream.text.is_char_boundary(start) && stream.text.is_char_boundary(end),
                "{}: {}: {start}..{end} of {}",
                finding.rule.id,
                finding.title,
                stream.text.len()
            );
        }
    }
}

/// Suspend something, resume it, and compare.
fn suspend_and_resume(world: &World, config: &Config, random: &mut Random) -> Option<()> {
    let subjects: Vec<(usize, usize)> = world
        .clusters
        .iter()
        .enumerate()
        .flat_map(|(cluster, one)| (0..one.members.len()).map(move |member| (cluster, member)))
        .filter(|(cluster, member)| {
            let member = &world.clusters[*cluster].members[*member];
            member.target == ApplyTarget::Local
                && suspend::is_suspendable(&world.objects[member.object as usize].id)
        })
        .collect();
    let (cluster, member) = *subjects.get(random.below(subjects.len()))?;
    let cluster = &world.clusters[cluster];
    let object = &world.objects[cluster.members[member].object as usize];
    let aim = Aim::Suspended { via: None, message: None };
    // Of an object without a spec, which no API server takes, an empty one is left.
    let has_spec = object.node.get_ref().at("/spec").is_some_and(NodeRef::is_map);
    (has_spec && !suspend_state(world, &object.id)).then_some(())?;
    let wanted = aim.changes(&world.snapshot, Subject { cluster, object }).ok()?;
    let changes = rewrite::plan(&world.snapshot, &wanted).ok()?;
    let files = changes.iter().map(|change| (&*change.path, change.after.clone().into_bytes()));
    let suspended = Arc::new(world.snapshot.with_files(files));
    let after = World::new(&suspended, config, &[]);
    let found = after.clusters.iter().find(|one| one.root == cluster.root && one.name == cluster.name);
    let again = found.and_then(|one| {
        let (_, object) = after.members(one).find(|(_, other)| other.id == object.id)?;
        Aim::Resumed.changes(&suspended, Subject { cluster: one, object }).ok()
    });
    let back = rewrite::plan(&suspended, &again?).ok()?;
    for change in &back {
        let original = changes.iter().find(|one| one.path == change.path).map(|one| one.before.bytes());
        if let Some(original) = original.filter(|_| changes.len() == back.len()) {
            assert_eq!(
                String::from_utf8_lossy(original),
                change.after,
                "{} was suspended and resumed",
                object.id
            );
        }
    }
    Some(())
}

/// Whether an object of this id states anything about its suspension.
fn suspend_state(world: &World, id: &forebay::internals::model::ObjectId) -> bool {
    let texts = |text: &str| text.contains("suspend") || text.contains("reconcile");
    world.objects.iter().filter(|object| object.id == *id).any(|object| {
        let node = object.node.get_ref();
        node.at("/spec/suspend").is_some()
            || node
                .at("/metadata/annotations")
                .is_some_and(|map| map.entries().any(|entry| texts(&entry.key)))
    })
}

/// Print what every cluster applies, as `build --all` does.
fn build_all(world: &World) {
    for cluster in world.applied_clusters() {
        let nodes: Vec<_> = world.members(cluster).map(|(_, object)| object.node.get_ref()).collect();
        // A text of bytes can't be printed; that is said, not printed.
        let _ = report::objects::yaml(&nodes, &world.snapshot, true);
        for node in nodes {
            let _ = report::objects::json(node);
            report::objects::origins(node, &world.snapshot);
            report::objects::unresolved(node);
        }
    }
}

fn simulate_all(world: &World, random: &mut Random) {
    let from = Timestamp::from_second(1_774_000_000 + random.below(100_000_000) as i64).expect("a time");
    let range = Range { from, to: from + SignedDuration::from_hours(24 * 9) };
    let clusters: Vec<_> = world
        .applied_clusters()
        .map(|cluster| {
            let objects: Vec<_> = world.members(cluster).map(|(_, object)| object).collect();
            let gating = Gating::read(objects.iter().map(|object| (&object.id, object.node.get_ref())));
            let one = gates::ClusterGates {
                name: cluster.name.as_deref().map(str::to_owned),
                root: cluster.root.clone(),
                simulation: timeline::simulate(&gating, range),
                version: Default::default(),
                unread: gating.unread.clone(),
                has_gates: true,
            };
            (one, objects)
        })
        .collect();
    let (clusters, objects): (Vec<_>, Vec<_>) = clusters.into_iter().unzip();
    for is_range in [false, true] {
        let view = gates::View {
            snapshot: &world.snapshot,
            clusters: &clusters,
            zone: &TimeZone::UTC,
            is_range,
            ascii: is_range,
        };
        gates::json::body(&view);
        gates::text::render(&view);
        gates::mermaid::render(&view);
        gates::svg::render(&view);
        let asked = objects.iter().enumerate();
        let asked: Vec<_> = asked.flat_map(|(at, all)| all.iter().map(move |one| (at, &one.id))).collect();
        gates::why::render(&view, &asked);
    }
    let charts = world.clusters.iter().flat_map(|cluster| helm_charts(world, cluster, &ApplyTarget::Local));
    let charts: Vec<_> = charts.collect();
    let states = report::suspend::states(world, &charts, None, Some(from), |_| true);
    report::suspend::json(world, &states);
    report::suspend::text(world, Some(from), &states);
    for scope in scopes(world) {
        let settings = propagation::simulate::PropagationSettings {
            additional_labels: Vec::new(),
            additional_annotations: Vec::new(),
            annotations: random.one_in(2),
            taints: None,
            template_metadata: random.one_in(2),
        };
        let (derived, _) = propagation::simulate::simulate(&scope.objects, &settings);
        let clusters =
            [report::propagation::ClusterMetadata { name: None, version: Default::default(), derived }];
        report::propagation::json(&world.snapshot, &clusters);
        report::propagation::text(&world.snapshot, &clusters);
        for cluster in topology::Cluster::all(&scope.objects) {
            for event in [Event::Create, Event::Upgrade, Event::Delete] {
                let request = SimulationRequest {
                    event,
                    from: None,
                    to: (event == Event::Upgrade).then(|| "v1.99.0".to_owned()),
                    respond: BTreeMap::new(),
                    unreachable: BTreeSet::new(),
                    ignoring: BTreeSet::new(),
                    handlers: None,
                    minor: None,
                    runtime_sdk: RuntimeSdk::On,
                };
                if let Ok(simulation) = hooks::simulate::simulate(&cluster, &scope.objects, &request) {
                    report::hooks::json(None, cluster.object.id, &simulation);
                    report::hooks::text(None, &Default::default(), cluster.object.id, &simulation);
                }
            }
        }
    }
    for cluster in world.applied_clusters() {
        let notifier = Notifier::new(world, cluster, &ApplyTarget::Local);
        for item in items(world, cluster, &ApplyTarget::Local).take(30) {
            let emission = Emission::about(item, "info", Known::Unknown, &BTreeMap::new());
            notifier.simulate(&emission, usize::MAX);
        }
    }
}

/// Rename an object, move it to another Kustomization, rename a variable, move a file:
/// each done or refused, with words.
fn refactor(world: &World, config: &Config, random: &mut Random) {
    let local = |cluster: usize| {
        let members = world.members(&world.clusters[cluster]);
        members.filter(|(member, _)| member.target == ApplyTarget::Local).map(|(_, object)| object)
    };
    let rebuild = |snapshot: &Arc<Snapshot>| world.like(snapshot, config, &[]);
    let told = |result: Result<Series, Vec<Refused>>| match result {
        Ok(series) => {
            let run = report::steps::StepsRun { does: Some(1), writes: true, command: "forebay" };
            assert!(!report::steps::text(&world.snapshot, &series, run).is_empty());
            report::steps::json(&series);
            let mut out = Vec::new();
            for step in &series.steps {
                let Ok(moved) = world.snapshot.with_moved(&step.moves) else { continue };
                if step.changes.iter().all(|change| moved.file(&change.path).is_some()) {
                    let after = changed(&moved, &step.changes);
                    report::steps::patch(&mut out, &moved, &after, &series, step).expect("memory takes it");
                }
            }
        }
        Err(refused) => {
            assert!(!refused.is_empty(), "a refusal without a reason");
            for one in &refused {
                assert!(!report::steps::sentence(&world.snapshot, one).is_empty());
            }
            report::steps::refusals(&world.snapshot, &refused);
        }
    };
    let all: Vec<(usize, &Effective)> =
        (0..world.clusters.len()).flat_map(|at| local(at).map(move |object| (at, object))).collect();
    if !all.is_empty() {
        let (cluster, object) = *random.pick(&all);
        let subject = Subject { cluster: &world.clusters[cluster], object };
        let old = object.id.clone();
        told(
            Rename { world, subjects: vec![subject], old: old.clone(), new: "renamed".into() }
                .series(&rebuild),
        );
        let kustomizations: Vec<_> = all.iter().filter(|(_, one)| kinds::is_kustomization(&one.id)).collect();
        if !kustomizations.is_empty() {
            let (_, to) = **random.pick(&kustomizations);
            let to = (to.id.namespace.as_deref().unwrap_or_default().to_owned(), to.id.name.to_string());
            told(Handover { world, objects: vec![(old, vec![subject])], to }.series(&rebuild));
        }
    }
    let in_cluster = |_: &Cluster| true;
    let (old, new) = ("A".to_owned(), "RENAMED".to_owned());
    told(Variable { world, old, new, in_cluster: &in_cluster }.series(&rebuild));
    for part in [ClassPartKind::Variable, ClassPartKind::Worker] {
        let (old, new) = ("default-worker".to_owned(), "renamed".to_owned());
        told(PartOfClass { world, part, class: None, old, new, in_cluster: &in_cluster }.series(&rebuild));
    }
    let files = world.snapshot.files();
    if !files.is_empty() {
        let path = random.pick(files).path.to_string();
        let from = match path.rsplit_once('/') {
            Some((directory, _)) if random.one_in(2) => directory.to_owned(),
            _ => path,
        };
        let moves = Moves::new(&world.snapshot, &[from], "elsewhere/below");
        told(moves.and_then(|moves| files::series(world, &moves, &rebuild)));
    }
}

/// Every command of the program itself on a tree: an answer or a refusal, no panic.
fn commands(tree: &Tree) {
    let scratch = Scratch::new(&[]);
    for (path, text) in tree {
        scratch.write(path, text.as_bytes());
    }
    for line in COMMANDS {
        let output = forebay()
            .current_dir(scratch.path())
            .args(line.split(' '))
            .stdin(Stdio::null())
            .output()
            .expect("it runs");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code().is_some_and(|code| code <= 3)
                && !["panicked", "unexpected argument", "Usage:"].iter().any(|word| told.contains(word)),
            "forebay {line}: {}: {told}",
            output.status
        );
    }
}

/// The commands, those that write last.
const COMMANDS: &[&str] = &[
    "lint --format json",
    "lint --format markdown --statistics",
    "build --all --origin",
    "build . --format json",
    "graph --format mermaid",
    "graph --format svg",
    "map",
    "config show",
    "config init",
    "why ks/apps",
    "locate ks/apps",
    "simulate gates --from 2026-03-27 --to 2026-03-29",
    "simulate suspend --at 2026-03-27T09:00:00Z",
    "simulate events --explain",
    "simulate propagation",
    "simulate hooks cluster/default --on create",
    "schema export Kustomization",
    "rename ks/apps renamed --diff",
    "move apps elsewhere --diff",
    "gate open deploy --at 2026-03-27T09:00:00Z",
    "gate close deploy --at 2026-03-28T09:00:00Z",
    "suspend ks/apps",
    "migrate suspend --to annotation",
    "migrate suspend --to spec",
    "resume ks/apps",
    "migrate alert-summary",
    "migrate api-versions --to 2.9",
    "lint --add-ignores",
    "lint --fix=unsafe",
    "lint --baseline baseline.json --update-baseline",
];

/// Everything that forebay makes of a tree, and of the change to it.
fn run(before: &Tree, after: &Tree, random: &mut Random) -> usize {
    let store = Arc::new(Store::default());
    let config = Config::default();
    let options = LintOptions::default();
    let base = World::new(&snapshot(before, &store), &config, &[]);
    let head = base.like(&snapshot(after, &store), &config, &[]);
    let (old, new) =
        (engine::run(&base, &config, &options), engine::run_change(&base, &head, &config, &options));
    require_places(&head.snapshot, &new);
    assert!(!every_format(&head, &new).is_empty());
    let effects = plan::plan(&base, &head);
    let reach = plan::reach(&base, &head, &effects);
    let view = report::plan::Plan {
        base: "before",
        head: "after",
        base_world: &base,
        head_world: &head,
        effects: &effects,
        changes: &[],
        assumed: None,
        new_findings: plan::only_in(&new.findings, &old.findings),
        fixed_findings: plan::only_in(&old.findings, &new.findings),
        not_checked: &NotChecked::default(),
        reach: &reach,
        clusters: &[],
        show: Level::Info,
        at: None,
    };
    assert!(report::plan::json(&view).is_object());
    assert!(!report::plan::markdown(&view).is_empty());
    report::plan::text(&view);
    report::plan::github(&view);
    // Nothing changes between equal trees.
    let same = head.like(&snapshot(after, &store), &config, &[]);
    let effects = plan::plan(&head, &same);
    assert!(effects.is_empty(), "{:?}", effects.iter().map(|effect| effect.id()).collect::<Vec<_>>());
    let world = |snapshot: &Arc<Snapshot>| World::new(snapshot, &config, &[]);
    let fixed = rewrite::fix::fix(world, head.snapshot.clone(), &config, &options, Applicability::Unsafe);
    let unproven: Vec<_> =
        fixed.refused.iter().filter(|(_, refusal)| refusal.message.contains("bug")).collect();
    assert!(unproven.is_empty(), "{unproven:?}");
    suspend_and_resume(&head, &config, random);
    build_all(&head);
    simulate_all(&head, random);
    refactor(&head, &config, random);
    if random.one_in(40) {
        commands(after);
    }
    head.snapshot.files().iter().map(|file| head.snapshot.sources(file).len()).sum()
}

/// Trees with a release of a chart in them: what Helm was asked of charts, and the examples
/// of the rules about them.
fn charts() -> Vec<Tree> {
    let cases = recordings::json("chart-cases.json");
    let cases = cases.as_array().expect("cases").iter().filter_map(|case| {
        let files = case["files"].as_object()?.iter();
        let mut tree: Tree = files
            .map(|(name, text)| (format!("charts/web/{name}"), text.as_str().unwrap_or_default().to_owned()))
            .collect();
        let values = case["values"].as_str().unwrap_or_default();
        let values: String = values.lines().map(|line| format!("    {line}\n")).collect();
        tree.insert("clusters/a/sync.yaml".to_owned(), SYNC.to_owned());
        tree.insert("clusters/a/release.yaml".to_owned(), format!("{RELEASE}  values:\n{values}"));
        Some(tree)
    });
    cases.collect()
}

const RELEASE: &str = "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: flux-system}
spec:
  interval: 5m
  chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: flux-system}}}
";

#[test]
fn any_tree_is_linted_planned_and_rewritten() {
    let seeds = seeds();
    assert!(seeds.len() > 100, "{} trees to begin with", seeds.len());
    survive(&seeds, 6);
}

#[test]
fn any_chart_is_rendered_linted_and_planned() {
    let seeds = charts();
    assert!(seeds.len() > 300, "{} charts to begin with", seeds.len());
    survive(&seeds, 12);
}

/// Changes so many of the trees, and runs what there is over them.
fn survive(seeds: &[Tree], often: u64) {
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().expect(name));
    let (count, first) = (number("FOREBAY_FUZZ").unwrap_or(often), number("FOREBAY_SEED").unwrap_or(1));
    let donors = donors(seeds);
    let (mut documents, mut failed) = (0, Vec::new());
    let more = number("FOREBAY_FUZZ_DOCUMENTS").unwrap_or(0) as usize;
    for seed in first..first + count {
        let mut random = Random(seed);
        let mut tree = random.pick(seeds).clone();
        add_documents(&mut tree, more, &donors, &mut random);
        let before = if random.one_in(2) { tree.clone() } else { mutate(&tree, &donors, &mut random) };
        let after = mutate(&before, &donors, &mut random);
        match catch_unwind(AssertUnwindSafe(|| run(&before, &after, &mut random))) {
            Ok(count) => documents += count,
            Err(_) => {
                failed.push(seed);
                if let Some(keep) = std::env::var_os("FOREBAY_FUZZ_KEEP") {
                    for (side, tree) in [("before", &before), ("after", &after)] {
                        for (path, text) in tree {
                            let full = Path::new(&keep).join(format!("{seed}/{side}")).join(path);
                            std::fs::create_dir_all(full.parent().expect("a directory"))
                                .expect("a directory");
                            std::fs::write(full, text).expect("a file");
                        }
                    }
                }
            }
        }
    }
    println!("{count} trees, {documents} documents");
    assert!(failed.is_empty(), "seeds of trees that failed: {failed:?}");
}
