//! Single faults, injected one at a time into clean repositories: each is found
//! at the right file and line, and no other new error comes with it.
//!
//! The clean repositories are `tests/projects/fleet` and, where
//! the corpus is present, Flux's own examples. In a partial inventory (a
//! Kustomization from another repository was added) a fault may be a warning or
//! silence, never an error.

use crate::support::skip::corpus_or_skip;
use forebay::internals::config::{Config, Level};
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::lang::yaml::NodeRef;
use forebay::internals::lint::Finding;
use forebay::internals::lint::engine::{self, LintOptions};
use forebay::internals::model::references::{Role, references};
use forebay::internals::world::{ApplyTarget, World};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

type Files = BTreeMap<String, String>;

/// A fault: bytes of a file replaced, and what must be found there.
struct Fault {
    path: String,
    start: usize,
    end: usize,
    text: String,
    rule: &'static str,
    /// Reached through an ArtifactGenerator.
    composed: bool,
}

fn read(directory: &Path) -> Files {
    let mut files = Files::new();
    for entry in walkdir::WalkDir::new(directory).sort_by_file_name().into_iter().flatten() {
        let Ok(relative) = entry.path().strip_prefix(directory) else { continue };
        if entry.file_type().is_file()
            && let Ok(text) = std::fs::read_to_string(entry.path())
        {
            files.insert(relative.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/"), text);
        }
    }
    files
}

fn world(files: &Files, store: &Arc<Store>) -> World {
    let entries = files.iter().map(|(path, text)| (path.as_str(), text.clone().into_bytes()));
    World::new(&Arc::new(Snapshot::memory(entries, store.clone())), &Config::default(), &[])
}

fn lint(world: &World) -> Vec<Finding> {
    engine::run(world, &Config::default(), &LintOptions::default()).findings
}

fn place(world: &World, finding: &Finding) -> (String, u32) {
    (finding.location.file.to_string(), world.snapshot.positions(&finding.location).0.0)
}

/// Faults that the repository offers places for.
fn faults(world: &World, files: &Files) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for cluster in &world.clusters {
        for (member, object) in world.members(cluster) {
            if member.target != ApplyTarget::Local {
                continue;
            }
            let by = member.maker.kustomization().map(|index| &cluster.applied[index as usize]);
            let composed =
                by.is_some_and(|by| by.tree.as_ref().is_some_and(|tree| tree.key().contains(" composed ")));
            let node = object.node.get_ref();
            let mut add = |node: NodeRef<'_>, text: String, rule: &'static str| {
                if let Some(location) = node.location() {
                    let written = node.token().is_some_and(|token| {
                        files.get(&**location.file.shown()).is_some_and(|file| {
                            node.text().is_some_and(|value| {
                                file.get(token.start as usize..token.end as usize) == Some(&value)
                            })
                        })
                    });
                    if written && seen.insert((location.file.to_string(), location.start, rule)) {
                        faults.push(Fault {
                            path: location.file.to_string(),
                            start: location.start as usize,
                            end: location.end as usize,
                            text,
                            rule,
                            composed,
                        });
                    }
                }
            };
            for reference in references(&object.id, node) {
                let name = reference.name.clone().unwrap_or_default();
                match reference.role {
                    Role::DependsOn => {
                        add(reference.name_node, format!("{name}-gone"), "missing-reference");
                        add(reference.name_node, object.id.name.to_string(), "dependency-on-itself");
                    }
                    // Without its source nothing below a Kustomization is known;
                    // that is another test.
                    Role::Source
                        if &*object.id.kind != "Kustomization" && &*object.id.kind != "ArtifactGenerator" =>
                    {
                        add(reference.name_node, format!("{name}-gone"), "missing-reference");
                        if let Some(kind) = node.at(&format!("{}/kind", reference.pointer)) {
                            add(kind, "Deployment".to_owned(), "wrong-reference-kind");
                        }
                    }
                    _ => {}
                }
            }
            for pointer in
                ["/spec/interval", "/spec/timeout", "/spec/retryInterval", "/spec/chart/spec/interval"]
            {
                if let Some(field) = node.at(pointer).filter(|_| object.id.group().ends_with("fluxcd.io")) {
                    let duration = !matches!(object.id.group(), "fluxcd.controlplane.io");
                    if duration && &*object.id.kind != "FluxInstance" {
                        add(field, "1d".to_owned(), "malformed-duration");
                    }
                }
            }
        }
    }
    faults
}

fn with_fault(files: &Files, fault: &Fault) -> (Files, u32) {
    let mut changed = files.clone();
    let text = changed.get_mut(&fault.path).expect("faults are in files of the repository");
    let line = text[..fault.start].matches('\n').count() as u32 + 1;
    text.replace_range(fault.start..fault.end, &fault.text);
    (changed, line)
}

/// Errors of a run that the clean one has not: rule, path, line.
fn new_errors(clean: &[Finding], world: &World) -> Vec<(&'static str, String, u32)> {
    let before: Vec<&str> = clean.iter().map(|finding| finding.fingerprint.as_str()).collect();
    lint(world)
        .iter()
        .filter(|finding| finding.level == Level::Error && !before.contains(&finding.fingerprint.as_str()))
        .map(|finding| {
            let (path, line) = place(world, finding);
            (finding.rule.id, path, line)
        })
        .collect()
}

/// Inject every fault into a clean repository; how many there were, and how
/// many of them through an ArtifactGenerator.
fn seed(name: &str, files: &Files) -> (usize, usize) {
    let store = Arc::new(Store::default());
    let clean_world = world(files, &store);
    let clean = lint(&clean_world);
    let errors: Vec<String> = clean
        .iter()
        .filter(|finding| finding.level == Level::Error)
        .map(|finding| format!("{:?} {}", place(&clean_world, finding), finding.title))
        .collect();
    assert!(errors.is_empty(), "{name} is not clean: {errors:#?}");
    let faults = faults(&clean_world, files);
    for fault in &faults {
        let (faulty, line) = with_fault(files, fault);
        let found = new_errors(&clean, &world(&faulty, &store));
        let what = format!("{name}: {} at {}:{line} -> `{}`", fault.rule, fault.path, fault.text);
        assert!(
            found.iter().any(|(rule, path, at)| *rule == fault.rule && *path == fault.path && *at == line),
            "not found: {what}; found {found:?}"
        );
        let others: Vec<_> =
            found.iter().filter(|(rule, path, _)| *rule != fault.rule || *path != fault.path).collect();
        assert!(others.is_empty(), "{what} also gave {others:?}");
    }
    (faults.len(), faults.iter().filter(|fault| fault.composed).count())
}

/// The same repository with a Kustomization whose files are in another one: then
/// nothing missing is certain.
fn partial(name: &str, files: &Files, roots: &[&str]) -> usize {
    let mut files = files.clone();
    let external = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata:\n  name: tenants\n  namespace: flux-system\nspec:\n  interval: 1m\n  url: https://example.com/other\n---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: tenants\n  namespace: flux-system\nspec:\n  interval: 1m\n  prune: true\n  sourceRef:\n    kind: GitRepository\n    name: tenants\n";
    for root in roots {
        files.insert(format!("{root}/zz-tenants.yaml"), external.to_owned());
    }
    let store = Arc::new(Store::default());
    let clean_world = world(&files, &store);
    let clean = lint(&clean_world);
    let faults: Vec<Fault> =
        faults(&clean_world, &files).into_iter().filter(|fault| fault.rule == "missing-reference").collect();
    for fault in &faults {
        let (faulty, line) = with_fault(&files, fault);
        let found = new_errors(&clean, &world(&faulty, &store));
        assert!(found.is_empty(), "{name}, partial: {}:{line} gave {found:?}", fault.path);
    }
    faults.len()
}

fn fleet() -> Files {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects/fleet"))
}

#[test]
fn every_fault_of_the_fleet_is_found_where_it_is() {
    let (all, composed) = seed("fleet", &fleet());
    assert!(all >= 20, "only {all} faults");
    assert!(composed >= 10, "only {composed} through an ArtifactGenerator");
}

#[test]
fn a_partial_inventory_gives_no_errors() {
    let count = partial("fleet", &fleet(), &["clusters/prod"]);
    assert!(count >= 4, "only {count} faults");
}

#[test]
fn every_fault_of_the_examples_is_found_where_it_is() {
    let corpus = corpus_or_skip!();
    let (mut all, mut composed, mut in_partial) = seed_counts();
    for (name, roots) in [
        ("fluxcd__flux2-kustomize-helm-example", &["clusters/production", "clusters/staging"][..]),
        ("fluxcd__flux2-hub-spoke-example", &["hub"]),
    ] {
        let files = read(&corpus.root().join(name));
        let (here, through) = seed(name, &files);
        all += here;
        composed += through;
        in_partial += partial(name, &files, roots);
    }
    // Its tenants live in repositories of their own: partial as it is.
    let tenancy = read(&corpus.root().join("fluxcd__flux2-multi-tenancy"));
    in_partial += partial("fluxcd__flux2-multi-tenancy", &tenancy, &[]);
    println!("{all} faults, {composed} through an ArtifactGenerator, {in_partial} in partial inventories");
    assert!(all + in_partial >= 60, "only {all} faults and {in_partial} in partial inventories");
    assert!(composed >= 10, "only {composed} through an ArtifactGenerator");
    assert!(in_partial >= 10, "only {in_partial} in partial inventories");
}

/// What the fleet alone gives.
fn seed_counts() -> (usize, usize, usize) {
    let files = fleet();
    let (all, composed) = seed("fleet", &files);
    (all, composed, partial("fleet", &files, &["clusters/prod"]))
}
