//! Entry points: what makes a cluster start to apply this repository, one file
//! for each form of evidence. Best first: configuration, gotk-sync.yaml, a
//! FluxInstance, values of the flux-instance chart, helmfiles, files of its values, Azure's
//! fluxConfigurations, other installers; where none of these says it, or nothing follows from
//! it, Kustomizations that apply themselves, and one that was applied by hand beside such a
//! one; where nothing does, a guess.
//! Source: flux2 `pkg/manifestgen/sync`, flux-operator `internal/builder`
//! (`syncTmpl`), the flux-instance chart.

mod applied_itself;
mod azure;
mod by_hand;
mod guessed;
mod helmfile;
mod holes;
mod installers;
mod leftovers;
mod other_roots;
mod place;
mod sync;
mod values;

pub(crate) use super::entry_point::clean_path;
pub(crate) use guessed::suggestions;
pub(crate) use leftovers::{is_archive, is_leftover};

use super::entry_point::{EntryPoint, Form, Unsettled, path_of, source_of};
use super::instance;
use super::overlays::Overlays;
use super::pushes::Push;
use crate::config::Config;
use crate::files::Snapshot;
use crate::lang::yaml::{Location, Node};
use crate::model::kinds;
use crate::model::{Called, Certainty, Object, ObjectId};
use crate::world::build::Memo;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct EntryPoints {
    /// The entry points, in order of their roots.
    pub entries: Vec<EntryPoint>,
    /// What could not be resolved.
    pub unsettled: Vec<Unsettled>,
}

/// Find the entry points: those of the configuration, else the stated ones,
/// else, and where nothing follows from these, those that apply themselves, else each path whose Flux Kustomizations
/// no other one applies.
pub(super) fn find(
    snapshot: &Arc<Snapshot>,
    config: &Config,
    overlays: &Overlays,
    pushes: &[Push],
    memo: &Memo,
) -> EntryPoints {
    let mut candidates = stated(snapshot, memo);
    candidates.sort_by_key(|entry| entry.form);
    let mut found = place::settle(candidates, snapshot, overlays, pushes);
    found.entries = of_one_file(found.entries);
    sync::complete(&mut found.entries, snapshot, overlays, memo);
    let roots: Vec<(String, Form)> =
        found.entries.iter().map(|entry| (entry.root.clone(), entry.form)).collect();
    found.entries.retain(|entry| {
        entry.form != Form::Sync
            || !roots.iter().any(|(root, form)| {
                matches!(form, Form::Instance | Form::Chart) && applies(overlays, root, entry.file())
            })
    });
    // What an installer is told is what was there before Flux wrote its own.
    let is_installer = |form: Form| matches!(form, Form::Eksctl | Form::Terraform | Form::SyncChart);
    if found.entries.iter().any(|entry| entry.form < Form::Eksctl) {
        found.entries.retain(|entry| !is_installer(entry.form));
        found.unsettled.retain(|one| !is_installer(one.form));
    }
    let configured: Vec<&crate::config::ClusterConfig> =
        config.clusters.iter().filter(|cluster| cluster.path.is_some()).collect();
    if !configured.is_empty() || other_roots::are_bare(&found.entries, snapshot, overlays) {
        let known = |entry: &EntryPoint| found.entries.iter().any(|other| other.root == entry.root);
        let own: Vec<EntryPoint> = applied_itself::find(snapshot, overlays, memo);
        let own: Vec<EntryPoint> = own.into_iter().filter(|entry| !known(entry)).collect();
        found.entries.extend(own);
        by_hand::add(&mut found.entries, snapshot, overlays);
    }
    if !configured.is_empty() {
        let of_config = |cluster| of_config(cluster, &found, snapshot);
        found.entries = configured.into_iter().filter_map(of_config).collect();
        return found;
    }
    if found.entries.is_empty() {
        found.entries = guessed::unapplied(snapshot, overlays, memo);
    }
    other_roots::compare(&mut found.entries, snapshot, overlays);
    found.entries.sort_by(|a, b| a.root.cmp(&b.root).then(a.form.cmp(&b.form)));
    found.entries.dedup_by(|a, b| a.root == b.root);
    found
}

/// Whether a root directory applies a file below it: it has no kustomization, or one that
/// names the file or its directory.
fn applies(overlays: &Overlays, root: &str, file: &str) -> bool {
    let Some(rest) = file.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')) else { return false };
    let first = rest.split('/').next().unwrap_or(rest);
    let is_first = |name: &String| {
        let below = name.strip_prefix(root).and_then(|rest| rest.strip_prefix('/'));
        below.is_some_and(|below| below.split('/').next() == Some(first))
    };
    overlays.named_by(root).is_none_or(|names| names.iter().any(is_first))
}

/// Kustomizations that one gotk-sync.yaml holds are applied together: they are roots of
/// one cluster. The one that applies the file itself stands for it, else the first.
fn of_one_file(entries: Vec<EntryPoint>) -> Vec<EntryPoint> {
    let applies_itself = |entry: &EntryPoint| {
        let below = entry.file().strip_prefix(entry.root.as_str());
        below.is_some_and(|rest| entry.root.is_empty() || rest.starts_with('/'))
    };
    let mut clusters: Vec<EntryPoint> = Vec::new();
    for entry in entries {
        let same = |other: &EntryPoint| {
            entry.form == Form::Sync
                && other.form == Form::Sync
                && entry.location.is_some()
                && other.file() == entry.file()
                && other.tree == entry.tree
        };
        let Some(first) = clusters.iter_mut().find(|other| same(other)) else {
            clusters.push(entry);
            continue;
        };
        let is_better = applies_itself(&entry) && !applies_itself(first);
        let (mut best, other) = match is_better {
            true => (entry, first.clone()),
            false => (first.clone(), entry),
        };
        best.kustomizations.extend(other.kustomizations);
        for made in other.generated {
            if !best.generated.iter().any(|(id, _)| *id == made.0) {
                best.generated.push(made);
            }
        }
        *first = best;
    }
    clusters
}

fn of_config(
    cluster: &crate::config::ClusterConfig,
    found: &EntryPoints,
    snapshot: &Snapshot,
) -> Option<EntryPoint> {
    let path = cluster.path.as_ref()?;
    let location = Some(path.location.clone());
    let mut entry = match found.entries.iter().find(|entry| entry.root == path.value) {
        Some(entry) => entry.clone(),
        None => {
            let entry = by_path("flux-system", "flux-system", "flux-system", &path.value, location.clone());
            with_unseen_source(entry, snapshot)
        }
    };
    entry.other_roots.clear();
    entry.name = Some(cluster.name.clone());
    entry.certainty = Certainty::Stated;
    entry.form = Form::Config;
    entry.location = location;
    Some(entry)
}

/// Where only its path is stated, the source of a cluster is the one that
/// Kustomizations name and nothing here defines: what installs Flux makes it, and
/// others with it.
fn with_unseen_source(mut entry: EntryPoint, snapshot: &Snapshot) -> EntryPoint {
    let mut counts: BTreeMap<Called, usize> = BTreeMap::new();
    for object in snapshot.objects().iter().filter(|object| kinds::is_kustomization(&object.id)) {
        if let Some(source) = source_of(&object.id, object.node.get_ref()) {
            *counts.entry(source).or_default() += 1;
        }
    }
    counts.retain(|source, _| {
        !snapshot
            .objects()
            .iter()
            .any(|object| object.id.kind == source.kind && object.id.name == source.name)
    });
    let is_default = |source: &Called| &*source.name == "flux-system";
    if counts.is_empty() || counts.keys().any(is_default) {
        return entry;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    let Some((source, _)) = most else { return entry };
    let place = entry.location.clone();
    let mut reference = Node::empty_map(place.clone());
    let fields = [
        ("kind", Some(&source.kind)),
        ("name", Some(&source.name)),
        ("namespace", source.namespace.as_ref()),
    ];
    for (key, value) in fields {
        if let Some(value) = value {
            reference.set(key, Node::string(value, place.clone()), place.clone());
        }
    }
    for (_, node) in &mut entry.kustomizations {
        if let Some(spec) = node.get_mut("spec") {
            spec.set("sourceRef", reference.clone(), place.clone());
        }
    }
    let id = ObjectId {
        api_version: "source.toolkit.fluxcd.io/v1".into(),
        kind: source.kind.clone(),
        namespace: source.namespace.clone(),
        name: source.name.clone(),
    };
    entry.generated = vec![(id, None)];
    entry.source = Some(source);
    entry.has_unseen_sources = true;
    entry
}

/// Everything that says what is applied, before it is known where that lies.
fn stated(snapshot: &Arc<Snapshot>, memo: &Memo) -> Vec<EntryPoint> {
    let mut entries = sync::find(snapshot);
    for object in snapshot.objects() {
        if object.id.is(kinds::OPERATOR, "FluxInstance") {
            entries.extend(instance::of_instance(object));
        } else if kinds::is_helm_release(&object.id) && instance::is_chart(snapshot, object) {
            entries.extend(instance::of_chart(snapshot, object, memo));
        } else if object.id.is(kinds::OPERATOR, "ResourceSet") {
            // What it makes of the chart, as far as it is written there.
            for item in object.node.get_ref().items_at("/spec/resources") {
                let Some(id) = ObjectId::of(item) else { continue };
                let made = Object { id, node: item.to_node(), source: object.source.clone() };
                if made.id.is(kinds::OPERATOR, "FluxInstance") {
                    entries.extend(instance::of_instance(&made));
                } else if kinds::is_helm_release(&made.id) && instance::is_chart(snapshot, &made) {
                    entries.extend(instance::of_chart(snapshot, &made, memo));
                }
            }
        }
    }
    entries.extend(helmfile::find(snapshot));
    entries.extend(values::find(snapshot));
    entries.extend(azure::find(snapshot));
    entries.extend(installers::find(snapshot));
    entries
}

/// An entry point of which only the path is known: as `flux bootstrap` makes it.
pub(super) fn by_path(
    namespace: &str,
    name: &str,
    source: &str,
    path: &str,
    location: Option<Location>,
) -> EntryPoint {
    let kind = "GitRepository";
    let generated = ObjectId {
        api_version: "source.toolkit.fluxcd.io/v1".into(),
        kind: kind.into(),
        namespace: Some(namespace.into()),
        name: source.into(),
    };
    EntryPoint {
        kustomizations: vec![synthetic(namespace, name, source, path, &location)],
        generated: vec![(generated, None)],
        source: Some(Called::new(kind, Some(namespace), source)),
        ..EntryPoint::stated(path.to_owned(), Form::Sync, location)
    }
}

fn synthetic(
    namespace: &str,
    name: &str,
    source: &str,
    root: &str,
    location: &Option<Location>,
) -> (ObjectId, Node) {
    let string = |text: &str| Node::string(text, location.clone());
    let map = |entries: Vec<(&str, Node)>| {
        let mut node = Node::empty_map(location.clone());
        for (key, value) in entries {
            node.set(key, value, location.clone());
        }
        node
    };
    let node = map(vec![
        ("apiVersion", string("kustomize.toolkit.fluxcd.io/v1")),
        ("kind", string("Kustomization")),
        ("metadata", map(vec![("name", string(name)), ("namespace", string(namespace))])),
        (
            "spec",
            map(vec![
                ("interval", string("10m")),
                ("prune", Node::scalar(crate::lang::yaml::Value::Bool(true), location.clone())),
                ("path", string(&format!("./{root}"))),
                ("sourceRef", map(vec![("kind", string("GitRepository")), ("name", string(source))])),
            ]),
        ),
    ]);
    let id = ObjectId {
        api_version: "kustomize.toolkit.fluxcd.io/v1".into(),
        kind: "Kustomization".into(),
        namespace: Some(namespace.into()),
        name: name.into(),
    };
    (id, node)
}
