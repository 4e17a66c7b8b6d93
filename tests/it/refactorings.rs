//! Renames and moves over the corpus of real repositories: after all steps the
//! effective view is the same but for the name, all steps back again give every file
//! byte for byte.
//!
//! `FOREBAY_REFACTORINGS` names how many repositories and objects each: `10:20` is
//! the whole run, `2:3` the default.

use crate::support::corpus::{Corpus, Files, children};
use crate::support::skip::corpus_or_skip;
use forebay::internals::config::Config;
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::model::ObjectId;
use forebay::internals::model::kinds;
use forebay::internals::rewrite::refactor::files;
use forebay::internals::rewrite::refactor::moves::Moves;
use forebay::internals::rewrite::refactor::objects::Handover;
use forebay::internals::rewrite::refactor::variable::Variable;
use forebay::internals::rewrite::refactor::{Refused, Rename, Series, changed};
use forebay::internals::rewrite::subject::{Subject, manifest_of};
use forebay::internals::world::{ApplyTarget, Cluster, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

fn sizes() -> (usize, usize) {
    let text = std::env::var("FOREBAY_REFACTORINGS").unwrap_or_else(|_| "2:3".to_owned());
    let (repositories, objects) = text.split_once(':').expect("REPOSITORIES:OBJECTS");
    (repositories.parse().unwrap(), objects.parse().unwrap())
}

/// The repositories with the most followed Kustomizations that are small enough.
fn repositories(corpus: &Corpus, count: usize) -> Vec<(String, Files)> {
    repositories_with(corpus, count, "")
}

/// As above, of those in which some file holds a text.
fn repositories_with(corpus: &Corpus, count: usize, text: &str) -> Vec<(String, Files)> {
    let mut all = children(corpus.root());
    let holds = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok_and(|held| held.contains(text));
    all.retain(|(_, files)| (30..6000).contains(&files.len()) && files.values().any(|bytes| holds(bytes)));
    all.sort_by_key(|(name, files)| (files.len(), name.clone()));
    all.truncate(count);
    all
}

fn world(files: &Files) -> World {
    let texts = files.iter().map(|(path, bytes)| (path.as_str(), bytes.clone()));
    let snapshot = Arc::new(Snapshot::memory(texts, Arc::new(Store::default())));
    World::new(&snapshot, &Config::default(), &[])
}

fn bytes_of(snapshot: &Snapshot) -> BTreeMap<Arc<str>, Vec<u8>> {
    let read = |file: &Arc<forebay::internals::files::File>| {
        (file.path.clone(), snapshot.blob(file).map(|blob| blob.bytes().to_vec()).unwrap_or_default())
    };
    snapshot.files().iter().map(read).collect()
}

/// The object in each cluster whose text is that of the first.
fn subjects<'w>(world: &'w World, id: &ObjectId) -> Vec<Subject<'w>> {
    let mut found = Vec::new();
    for cluster in &world.clusters {
        for (member, object) in world.members(cluster) {
            if member.target == ApplyTarget::Local && object.id == *id {
                found.push(Subject { cluster, object });
            }
        }
    }
    found.sort_by_key(|subject| subject.cluster.name.is_none());
    let text = found.first().map(|subject| manifest_of(&world.snapshot, subject.object));
    found.retain(|subject| Some(manifest_of(&world.snapshot, subject.object)) == text);
    found
}

/// Builds the worlds of a repository's snapshots.
type Rebuild<'r> = dyn Fn(&Arc<Snapshot>) -> World + 'r;

/// The steps from the state of a world.
type Steps<'s> = dyn Fn(&World, &Rebuild<'_>) -> Result<Series, Vec<Refused>> + 's;

/// All steps of what `series` makes of a world, one after the other.
fn all_steps(world: &World, what: &str, series: &Steps<'_>) -> Result<(World, usize), Vec<Refused>> {
    let config = Config::default();
    let mut now: Option<World> = None;
    for done in 0..4 {
        let base = now.as_ref().unwrap_or(world);
        let rebuild = |snapshot: &Arc<Snapshot>| base.like(snapshot, &config, &[]);
        let series = series(base, &rebuild)?;
        let next = series.next();
        assert!(next > done, "{what}: the tree tells which step is next");
        let step = &series.steps[next - 1];
        let moved = base.snapshot.with_moved(&step.moves).unwrap();
        let after = rebuild(&changed(&moved, &step.changes));
        let is_last = next == series.steps.len();
        now = Some(after);
        if is_last {
            return Ok((now.unwrap(), next));
        }
    }
    panic!("{what}: no end of steps");
}

/// All steps of a rename.
fn rename(world: &World, id: &ObjectId, new: &str) -> Result<(World, usize), Vec<Refused>> {
    all_steps(world, &id.to_string(), &|base, rebuild| {
        let subjects = subjects(base, id);
        assert!(!subjects.is_empty(), "{id} is gone before its last step");
        Rename { world: base, subjects, old: id.clone(), new: new.to_owned() }.series(rebuild)
    })
}

/// What was refused: how often, and the last of each reason.
#[derive(Default)]
struct Refusals(BTreeMap<String, (usize, String)>);

impl Refusals {
    fn add(&mut self, refused: &[Refused], what: &str) {
        let entry = self.0.entry(reason(&refused[0])).or_default();
        entry.0 += 1;
        entry.1 = format!("{what}: {}", refused[0].why);
    }

    fn print(&self) {
        for (reason, (count, example)) in &self.0 {
            println!("  {count} refused: {reason} ({example})");
        }
    }
}

/// A cluster in a set: what has no name has its directory.
fn place(cluster: &Cluster) -> String {
    match &cluster.name {
        Some(name) => name.to_string(),
        None => format!("- {}", cluster.root.replace("-zz", "")),
    }
}

/// Identities by cluster and target.
fn identities(world: &World) -> BTreeSet<(String, ApplyTarget, ObjectId)> {
    let mut found = BTreeSet::new();
    for cluster in &world.clusters {
        for (member, object) in world.members(cluster) {
            found.insert((place(cluster), member.target.clone(), object.id.clone()));
        }
    }
    found
}

/// Objects to rename: every Flux Kustomization and source, and others, of one kind
/// after the other.
fn chosen(world: &World, others: usize, all: bool) -> Vec<ObjectId> {
    let mut flux = BTreeSet::new();
    let mut rest: BTreeMap<&str, BTreeSet<&ObjectId>> = BTreeMap::new();
    for cluster in world.applied_clusters() {
        for (member, object) in world.members(cluster) {
            let id = &object.id;
            if member.target != ApplyTarget::Local || id.name.contains('?') || id.name.is_empty() {
                continue;
            }
            if kinds::is_kustomization(id) || id.group() == kinds::SOURCE {
                flux.insert(id);
            } else {
                rest.entry(&id.kind).or_default().insert(id);
            }
        }
    }
    let mut out: Vec<ObjectId> =
        flux.into_iter().take(if all { usize::MAX } else { others }).cloned().collect();
    let mut rest: Vec<_> = rest.into_values().map(BTreeSet::into_iter).collect();
    let mut taken = 0;
    while taken < others && !rest.is_empty() {
        rest.retain_mut(|kind| match kind.next() {
            Some(id) if taken < others => {
                out.push(id.clone());
                taken += 1;
                true
            }
            other => other.is_some(),
        });
    }
    out
}

/// A refusal without the names in it.
fn reason(refused: &Refused) -> String {
    for known in [
        "everything in a Namespace goes with it",
        "its name follows from its group",
        "a program writes this file",
        "takes its name from the same text",
        "another name is another object",
        "begins with",
        "would be gone",
        "would appear",
        "would differ",
        "the comment",
        "is computed here",
        "is part of a text",
        "gets the prefix",
        "nothing in the repository applies",
        "by itself",
        "is no name",
    ] {
        if refused.why.contains(known) {
            return known.to_owned();
        }
    }
    let mut quoted = false;
    let mut words = String::new();
    for part in refused.why.split('`') {
        if !quoted {
            words.push_str(part);
        }
        quoted = !quoted;
    }
    let words: Vec<&str> = words
        .split_whitespace()
        .filter(|word| {
            !word.contains('/') && !word.chars().any(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
        })
        .collect();
    words.into_iter().take(9).collect::<Vec<_>>().join(" ")
}

#[test]
fn renames_go_and_come_back() {
    let corpus = corpus_or_skip!();
    let (count, objects) = sizes();
    let mut refusals = Refusals::default();
    let (mut done, mut tried, mut stepped) = (0, 0, 0);
    let mut kinds = BTreeSet::new();
    for (name, files) in repositories(corpus, count) {
        let before = world(&files);
        let original = bytes_of(&before.snapshot);
        for id in chosen(&before, objects, count >= 10) {
            tried += 1;
            let new = format!("{}-zz", id.name);
            let (after, steps) = match rename(&before, &id, &new) {
                Ok(done) => done,
                Err(refused) => {
                    refusals.add(&refused, &format!("{name}: {id}"));
                    continue;
                }
            };
            done += 1;
            stepped += usize::from(steps > 1);
            kinds.insert(id.kind.to_string());
            let renamed = ObjectId { name: new.as_str().into(), ..id.clone() };
            let expected: BTreeSet<_> = {
                let places: BTreeSet<String> =
                    subjects(&before, &id).iter().map(|subject| place(subject.cluster)).collect();
                let name = |(cluster, target, one): (String, ApplyTarget, ObjectId)| {
                    let is_it = one == id && target == ApplyTarget::Local && places.contains(&cluster);
                    (cluster, target, if is_it { renamed.clone() } else { one })
                };
                identities(&before).into_iter().map(name).collect()
            };
            assert!(identities(&after) == expected, "{name}: {id}: other objects");
            let (again, _) = rename(&after, &renamed, &id.name)
                .unwrap_or_else(|refused| panic!("{name}: {renamed} does not go back: {refused:?}"));
            let now = bytes_of(&again.snapshot);
            for (path, bytes) in &original {
                assert!(
                    now.get(path) == Some(bytes),
                    "{name}: {id} and back: {path} is\n{}\ninstead of\n{}",
                    String::from_utf8_lossy(&now[path]),
                    String::from_utf8_lossy(bytes)
                );
            }
            assert_eq!(now.len(), original.len(), "{name}: {id}");
        }
    }
    println!("{done} of {tried} objects of {} kinds renamed and named back, {stepped} in steps", kinds.len());
    refusals.print();
    assert!(done > 0);
}

/// Every directory that holds a manifest, but for those above it and the root.
fn directories(files: &Files) -> BTreeSet<String> {
    let manifests = files.keys().filter(|path| path.ends_with(".yaml") && !path.starts_with('.'));
    let above = manifests.flat_map(|path| {
        let parts: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
        parts.into_iter().map(|at| path[..at].to_owned()).collect::<Vec<_>>()
    });
    above.collect()
}

fn relocate(world: &World, from: &str, to: &str) -> Result<World, Vec<Refused>> {
    let rebuild = |snapshot: &Arc<Snapshot>| world.like(snapshot, &Config::default(), &[]);
    let moves = Moves::new(&world.snapshot, &[from.to_owned()], to)?;
    let series = files::series(world, &moves, &rebuild)?;
    let step = &series.steps[0];
    let moved = world.snapshot.with_moved(&step.moves).unwrap();
    Ok(rebuild(&changed(&moved, &step.changes)))
}

#[test]
fn directories_move_and_come_back() {
    let corpus = corpus_or_skip!();
    let (count, objects) = sizes();
    let limit = if count >= 10 { usize::MAX } else { objects * 3 };
    let (mut done, mut tried) = (0, 0);
    let mut refusals = Refusals::default();
    for (name, files) in repositories(corpus, count) {
        let before = world(&files);
        let original = bytes_of(&before.snapshot);
        for directory in directories(&files).into_iter().take(limit) {
            tried += 1;
            let to = format!("{directory}-zz");
            let after = match relocate(&before, &directory, &to) {
                Ok(after) => after,
                Err(refused) => {
                    refusals.add(&refused, &format!("{name}: {directory}"));
                    continue;
                }
            };
            done += 1;
            assert!(!after.snapshot.has_directory(&directory), "{name}: {directory} is still there");
            assert!(identities(&after) == identities(&before), "{name}: {directory}: other objects");
            let again = relocate(&after, &to, &directory)
                .unwrap_or_else(|refused| panic!("{name}: {to} does not go back: {refused:?}"));
            assert!(bytes_of(&again.snapshot) == original, "{name}: {directory} and back: other bytes");
        }
    }
    println!("{done} of {tried} directories moved and moved back");
    refusals.print();
    assert!(done > 0);
}

/// Another Kustomization of the cluster of an object that builds a directory, by turns.
fn other(world: &World, id: &ObjectId, turn: usize) -> Option<(String, String)> {
    let subject = *subjects(world, id).first()?;
    let mut members = world.members(subject.cluster);
    let (member, _) = members.find(|(_, object)| std::ptr::eq(*object, subject.object))?;
    let own = member.maker.kustomization()? as usize;
    let is_directory = |applied: &&forebay::internals::world::Applied| {
        applied.id != subject.cluster.applied[own].id
            && applied.tree.as_ref().is_some_and(|tree| tree.as_directory().is_some())
            && matches!(applied.outcome, forebay::internals::world::Outcome::Built { .. })
    };
    let others: Vec<_> = subject.cluster.applied.iter().filter(is_directory).collect();
    let to = others.get(turn % others.len().max(1))?;
    Some((to.id.namespace.as_deref()?.to_owned(), to.id.name.to_string()))
}

/// The lines of all files but of kustomizations, in order of themselves.
fn lines(snapshot: &Snapshot) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for (path, bytes) in bytes_of(snapshot) {
        if !path.ends_with("kustomization.yaml") {
            let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec);
            all.extend(lines.filter(|line| !line.trim_ascii().is_empty() && line != b"---"));
        }
    }
    all.sort();
    all
}

#[test]
fn objects_move_to_other_kustomizations_and_lose_no_line() {
    let corpus = corpus_or_skip!();
    let (count, objects) = sizes();
    let mut refusals = Refusals::default();
    let (mut done, mut tried, mut cut) = (0, 0, 0);
    for (name, files) in repositories(corpus, count) {
        let before = world(&files);
        let original = lines(&before.snapshot);
        let plain = |id: &ObjectId| !kinds::is_kustomization(id) && id.group() != kinds::SOURCE;
        for (turn, id) in chosen(&before, objects, false).into_iter().filter(plain).enumerate() {
            let Some(to) = other(&before, &id, turn) else { continue };
            tried += 1;
            let moved = all_steps(&before, &id.to_string(), &|base, rebuild| {
                let objects = vec![(id.clone(), subjects(base, &id))];
                Handover { world: base, objects, to: to.clone() }.series(rebuild)
            });
            let after = match moved {
                Ok((after, _)) => after,
                Err(refused) => {
                    refusals.add(&refused, &format!("{name}: {id} to {}", to.1));
                    continue;
                }
            };
            done += 1;
            cut += usize::from(after.snapshot.files().len() > before.snapshot.files().len());
            assert!(identities(&after) == identities(&before), "{name}: {id}: other objects");
            for subject in subjects(&after, &id) {
                let mut members = after.members(subject.cluster);
                let by = members.find(|(_, object)| std::ptr::eq(*object, subject.object));
                let by = by.and_then(|(member, _)| member.maker.kustomization()).unwrap();
                assert_eq!(*subject.cluster.applied[by as usize].id.name, *to.1, "{name}: {id}");
            }
            assert!(lines(&after.snapshot) == original, "{name}: {id} to {}: other lines", to.1);
        }
    }
    println!("{done} of {tried} objects moved to another Kustomization, {cut} cut out of a file");
    refusals.print();
    assert!(done > 0);
}

#[test]
fn variables_are_renamed_and_named_back() {
    let corpus = corpus_or_skip!();
    let (count, objects) = sizes();
    let mut refusals = Refusals::default();
    let (mut done, mut tried) = (0, 0);
    for (name, files) in repositories_with(corpus, count, "\n  postBuild:\n    substitute:\n") {
        let before = world(&files);
        let original = bytes_of(&before.snapshot);
        let mut names = BTreeSet::new();
        for (_, object) in before.applied_clusters().flat_map(|cluster| before.members(cluster)) {
            let node = object.node.get_ref();
            let inline =
                node.entries_at("/spec/postBuild/substitute").filter(|_| kinds::is_kustomization(&object.id));
            names.extend(inline.map(|entry| entry.key.into_owned()));
        }
        for old in names.into_iter().take(objects) {
            tried += 1;
            let rename = |world: &World, old: &str, new: &str| {
                all_steps(world, old, &|base, rebuild| {
                    let (old, new) = (old.to_owned(), new.to_owned());
                    Variable { world: base, old, new, in_cluster: &|_| true }.series(rebuild)
                })
            };
            let new = format!("{old}_zz");
            match rename(&before, &old, &new) {
                Ok((after, _)) => {
                    done += 1;
                    assert!(identities(&after) == identities(&before), "{name}: {old}: other objects");
                    let (again, _) = rename(&after, &new, &old)
                        .unwrap_or_else(|refused| panic!("{name}: {new} does not go back: {refused:?}"));
                    assert!(bytes_of(&again.snapshot) == original, "{name}: {old} and back: other bytes");
                }
                Err(refused) => refusals.add(&refused, &format!("{name}: {old}")),
            }
        }
    }
    println!("{done} of {tried} variables renamed and named back");
    refusals.print();
}
