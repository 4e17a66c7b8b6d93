//! Entry points: what makes a cluster start to apply this repository.
//! Source: flux2 `pkg/manifestgen/sync`, flux-operator `internal/builder`
//! (`syncTmpl`), the flux-instance chart.

use super::instance;
use super::overlays::Overlays;
use super::source::{normalise, reference};
use crate::config::Config;
use crate::model::kinds;
use crate::model::{Certainty, Object, ObjectId};
use crate::repo::{FileTree, Snapshot, join};
use crate::world::build::{BuiltObject, Memo, build_overlay};
use crate::yaml::{Known, Location, Node, NodeRef};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// An entry point.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name from configuration.
    pub name: Option<String>,
    /// The clean path that its root applies.
    pub root: String,
    /// The root Kustomizations: (identity, effective object).
    pub kustomizations: Vec<(ObjectId, Node)>,
    /// What overlays that nothing applies build to.
    pub overlay: Vec<BuiltObject>,
    /// Objects that the entry point creates beside them (the source of a
    /// FluxInstance), with their fields where those are known.
    pub generated: Vec<(ObjectId, Option<Node>)>,
    /// The source that is this repository: kind, namespace, name.
    pub source: Option<(String, Option<String>, String)>,
    /// Its URL, normalised.
    pub url: Option<String>,
    /// Its ref, as text.
    pub reference: Option<String>,
    /// Where the entry point is written; `None` when it is only a path.
    pub location: Option<Location>,
    /// How it is known. The inventory of a guessed one is always partial.
    pub certainty: Certainty,
    /// What says so, in words.
    pub evidence: &'static str,
    /// Whether only a `kubeConfig` leads to it: controllers of its own may apply
    /// more.
    pub is_sent: bool,
    /// Whether an operator keeps the pair as it is: kustomize-controller leaves
    /// copies of it in Git alone (`ssa: Ignore`).
    pub owned: bool,
}

impl Entry {
    /// A directory of which nothing says who applies it.
    fn unstated(root: String) -> Entry {
        Entry {
            name: None,
            root,
            kustomizations: Vec::new(),
            overlay: Vec::new(),
            generated: Vec::new(),
            source: None,
            url: None,
            reference: None,
            location: None,
            certainty: Certainty::Guessed,
            evidence: "Kustomizations that nothing applies",
            is_sent: false,
            owned: false,
        }
    }

    /// A cluster that only a `kubeConfig` leads to.
    pub(super) fn sent(cluster: &crate::config::Cluster) -> Entry {
        Entry {
            name: Some(cluster.name.clone()),
            location: Some(cluster.location.clone()),
            certainty: Certainty::Stated,
            evidence: "configuration",
            is_sent: true,
            ..Entry::unstated(String::new())
        }
    }
}

/// Find the entry points: those of the configuration, else the stated ones,
/// else each path whose Flux Kustomizations no other one applies.
pub fn find(snapshot: &Arc<Snapshot>, config: &Config, memo: &Memo) -> Vec<Entry> {
    let mut stated = stated(snapshot, memo);
    let configured: Vec<Entry> = config
        .clusters
        .iter()
        .filter_map(|cluster| {
            let path = cluster.path.as_ref()?;
            let found = stated.iter().position(|entry| entry.root == path.value);
            let mut entry = match found {
                Some(at) => stated[at].clone(),
                None => by_path(&path.value, Some(path.location.clone())),
            };
            entry.name = Some(cluster.name.clone());
            entry.certainty = Certainty::Stated;
            entry.evidence = "configuration";
            entry.location = Some(path.location.clone());
            Some(entry)
        })
        .collect();
    if !configured.is_empty() {
        return configured;
    }
    stated.sort_by(|a, b| a.root.cmp(&b.root));
    stated.dedup_by(|a, b| a.root == b.root);
    if stated.is_empty() { unapplied(snapshot, memo) } else { stated }
}

/// `spec.path` as a clean path inside its tree (`SecureJoin`: nothing leaves it).
pub fn clean_path(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    segments.join("/")
}

/// `spec.path` of a Kustomization as a clean path, the root where there is none.
pub(super) fn path_of(node: NodeRef<'_>) -> Known<String> {
    match node.at("/spec/path") {
        Some(path) if path.is_unknown() => Known::Unknown,
        path => Known::Value(clean_path(&path.and_then(NodeRef::as_str).unwrap_or_default())),
    }
}

/// An unknown path as messages name it: `apps/?`.
pub(super) fn pattern_of(path: NodeRef<'_>) -> String {
    let parts = path.holes().map(|holes| holes.parts.as_slice()).unwrap_or_default();
    let text: String = parts.iter().map(|part| part.as_deref().unwrap_or("?")).collect();
    if text.is_empty() { "?".to_owned() } else { clean_path(&text) }
}

/// Whether it can't be told which source a Kustomization names.
pub(super) fn source_is_unknown(id: &ObjectId, node: NodeRef<'_>) -> bool {
    let Some(reference) = node.at("/spec/sourceRef") else { return false };
    let field = |key: &str| reference.get(key).filter(|value| !value.is_null());
    let own = id.namespace.as_deref().is_some_and(|namespace| namespace.contains('?'));
    ["kind", "namespace", "name"].iter().any(|key| field(key).is_some_and(NodeRef::is_unknown))
        || (own && field("namespace").is_none())
}

fn stated(snapshot: &Arc<Snapshot>, memo: &Memo) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut stubs: Vec<&str> = snapshot
        .files()
        .iter()
        .map(|file| &*file.path)
        .filter(|path| path.rsplit('/').next() == Some("gotk-sync.yaml"))
        .collect();
    for object in snapshot.objects() {
        let path = &*object.source.path;
        if path.rsplit('/').next() == Some("gotk-sync.yaml") && kinds::is_kustomization(&object.id) {
            stubs.retain(|stub| *stub != path);
            entries.push(from_sync(snapshot, object));
        } else if object.id.is(kinds::OPERATOR, "FluxInstance") {
            entries.extend(instance::of_instance(object));
        } else if kinds::is_helm_release(&object.id) && instance::is_chart(object.node.get_ref()) {
            entries.extend(instance::of_chart(snapshot, object, memo));
        }
    }
    for stub in stubs {
        // A comment-only stub: bootstrap fills it in.
        if let Some((directory, _)) = stub.rsplit_once('/') {
            let root = directory.strip_suffix("flux-system").unwrap_or(directory).trim_end_matches('/');
            let location = Location { path: stub.into(), start: 0, end: 0, via: Vec::new() };
            entries.push(by_path(root, Some(location)));
        }
    }
    entries
}

fn from_sync(snapshot: &Snapshot, object: &Object) -> Entry {
    let node = object.node.get_ref();
    let source = source_of(&object.id, node);
    let written = source.as_ref().and_then(|(kind, namespace, name)| {
        snapshot.objects().iter().find(|other| {
            &*other.id.kind == kind.as_str()
                && &*other.id.name == name.as_str()
                && other.id.namespace == namespace.as_deref().map(Arc::from)
                && other.source.path == object.source.path
        })
    });
    Entry {
        name: None,
        root: clean_path(&node.str_at("/spec/path").unwrap_or_default()),
        kustomizations: vec![(object.id.clone(), object.node.clone())],
        overlay: Vec::new(),
        // Bootstrap applies it beside the Kustomization.
        generated: written.map(|other| (other.id.clone(), None)).into_iter().collect(),
        url: written.and_then(|other| other.node.get_ref().str_at("/spec/url").map(|url| normalise(&url))),
        reference: written.and_then(|other| reference(other.node.get_ref())),
        source,
        location: node.location(),
        certainty: Certainty::Stated,
        evidence: "gotk-sync",
        is_sent: false,
        owned: false,
    }
}

/// The source that a Kustomization names: kind, namespace, name.
pub(super) fn source_of(id: &ObjectId, node: NodeRef<'_>) -> Option<(String, Option<String>, String)> {
    let reference = node.at("/spec/sourceRef")?;
    let namespace = reference
        .str_at("/namespace")
        .filter(|namespace| !namespace.is_empty())
        .map(|namespace| namespace.into_owned())
        .or_else(|| id.namespace.as_deref().map(str::to_owned));
    Some((reference.str_at("/kind")?.into_owned(), namespace, reference.str_at("/name")?.into_owned()))
}

/// An entry point of which only the path is known: as `flux bootstrap` makes it.
fn by_path(path: &str, location: Option<Location>) -> Entry {
    let (namespace, name, kind) = ("flux-system", "flux-system", "GitRepository");
    let generated = ObjectId {
        api_version: "source.toolkit.fluxcd.io/v1".into(),
        kind: kind.into(),
        namespace: Some(namespace.into()),
        name: name.into(),
    };
    Entry {
        name: None,
        root: path.to_owned(),
        kustomizations: vec![synthetic(namespace, name, kind, None, path, &location)],
        overlay: Vec::new(),
        generated: vec![(generated, None)],
        source: Some((kind.to_owned(), Some(namespace.to_owned()), name.to_owned())),
        url: None,
        reference: None,
        location,
        certainty: Certainty::Stated,
        evidence: "gotk-sync",
        is_sent: false,
        owned: false,
    }
}

fn synthetic(
    namespace: &str,
    name: &str,
    source_kind: &str,
    path: Option<Node>,
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
    let path = path.unwrap_or_else(|| string(&format!("./{root}")));
    let node = map(vec![
        ("apiVersion", string("kustomize.toolkit.fluxcd.io/v1")),
        ("kind", string("Kustomization")),
        ("metadata", map(vec![("name", string(name)), ("namespace", string(namespace))])),
        (
            "spec",
            map(vec![
                ("interval", string("10m")),
                ("prune", Node::scalar(crate::yaml::Value::Bool(true), location.clone())),
                ("path", path),
                ("sourceRef", map(vec![("kind", string(source_kind)), ("name", string(name))])),
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

/// Without a stated entry point: the paths that hold Flux Kustomizations which
/// no other one applies. One that lies below its own path is a home-made root.
fn unapplied(snapshot: &Arc<Snapshot>, memo: &Memo) -> Vec<Entry> {
    let all: Vec<(&Object, Option<String>)> = snapshot
        .objects()
        .iter()
        .filter(|object| kinds::is_kustomization(&object.id))
        .filter(|object| !object.id.name.is_empty() && object.node.get_ref().at("/spec").is_some())
        .map(|object| (object, object.node.get_ref().str_at("/spec/path").map(|path| clean_path(&path))))
        .collect();
    let below = |file: &str, path: &str| {
        path.is_empty() || file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
    };
    // Sources that stand for this repository, as far as can be seen: a directory
    // that one of their Kustomizations names is here.
    let own: BTreeSet<_> = all
        .iter()
        .filter(|(_, path)| {
            path.as_deref().is_some_and(|path| !path.is_empty() && snapshot.has_directory(path))
        })
        .filter_map(|(object, _)| source_of(&object.id, object.node.get_ref()))
        .collect();
    let all: Vec<(&Object, Option<String>)> = all
        .into_iter()
        .map(|(object, path)| match source_of(&object.id, object.node.get_ref()) {
            Some(source) if path.as_deref() == Some("") && !own.contains(&source) => (object, None),
            _ => (object, path),
        })
        .collect();
    let overlays = Overlays::of(snapshot);
    let mut reach: BTreeMap<&str, FxHashSet<Arc<str>>> = BTreeMap::new();
    for path in all.iter().filter_map(|(_, path)| path.as_deref()) {
        reach.entry(path).or_insert_with(|| overlays.reach(snapshot, path));
    }
    let covers = |path: &Option<String>, file: &str| {
        path.as_deref().is_some_and(|path| {
            below(file, path) || reach.get(path).is_some_and(|files| files.contains(file))
        })
    };
    let leaves: Vec<(&String, FxHashSet<Arc<str>>)> =
        overlays.leaves().map(|leaf| (leaf, overlays.reach(snapshot, leaf))).collect();
    let mut tried: BTreeMap<&String, bool> = BTreeMap::new();
    let mut groups: BTreeMap<String, Entry> = BTreeMap::new();
    for (index, (object, path)) in all.iter().enumerate() {
        let file = &*object.source.path;
        let covered = all.iter().enumerate().any(|(other, (_, path))| {
            other != index
                && covers(path, file)
                && !(covers(&all[index].1, file)
                    && all[index].1.as_deref().map(str::len) <= path.as_deref().map(str::len))
        });
        if covered {
            continue;
        }
        if covers(path, file) {
            // Home-made: applied by hand, applies itself from then on.
            let root = path.clone().unwrap_or_default();
            let source = source_of(&object.id, object.node.get_ref());
            groups.entry(root.clone()).or_insert_with(|| Entry {
                kustomizations: vec![(object.id.clone(), object.node.clone())],
                source,
                location: object.node.get_ref().location(),
                ..Entry::unstated(root)
            });
            continue;
        }
        let mut built = false;
        for (leaf, _) in leaves.iter().filter(|(_, files)| files.contains(file)) {
            built |= match tried.get(leaf) {
                Some(built) => *built,
                None => {
                    let built = add_overlay(snapshot, leaf, memo, &own, &mut groups);
                    tried.insert(leaf, built);
                    built
                }
            };
        }
        if built {
            continue;
        }
        let directory = group_directory(file);
        let entry = groups.entry(directory.clone()).or_insert_with(|| Entry::unstated(directory));
        if entry.source.is_none() {
            entry.source = source_of(&object.id, object.node.get_ref()).filter(|source| own.contains(source));
        }
        entry.kustomizations.push((object.id.clone(), object.node.clone()));
    }
    // A directory below another one's belongs to the same cluster.
    let roots: Vec<String> = groups.keys().cloned().collect();
    for root in &roots {
        let parent =
            roots.iter().find(|other| *other != root && below(root, other) && groups.contains_key(*other));
        let Some(parent) = parent else { continue };
        if let Some(child) = groups.remove(root)
            && let Some(entry) = groups.get_mut(parent)
        {
            entry.kustomizations.extend(child.kustomizations);
            entry.overlay.extend(child.overlay);
        }
    }
    groups.into_values().collect()
}

/// An overlay of Flux Kustomizations that somebody applies by hand, or from
/// elsewhere: what it builds to. False where it can't be built.
fn add_overlay(
    snapshot: &Arc<Snapshot>,
    leaf: &str,
    memo: &Memo,
    own: &BTreeSet<(String, Option<String>, String)>,
    groups: &mut BTreeMap<String, Entry>,
) -> bool {
    let directory = group_directory(&format!("{leaf}/"));
    let Ok(build) = build_overlay(&FileTree::root(snapshot.clone()), leaf, memo) else { return false };
    let entry = groups.entry(directory.clone()).or_insert_with(|| Entry::unstated(directory));
    for object in build.objects {
        let node = object.node.get_ref();
        if let Some(id) = ObjectId::of(node).filter(kinds::is_kustomization)
            && !entry.kustomizations.iter().any(|(known, _)| *known == id)
        {
            let source = source_of(&id, node).filter(|source| own.contains(source));
            entry.source = entry.source.take().or(source);
            entry.kustomizations.push((id, object.node.clone()));
        }
        entry.overlay.push(object);
    }
    true
}

/// The directory that stands for a cluster: `…/clusters/<name>` where the path
/// has it, else the file's own directory.
fn group_directory(file: &str) -> String {
    let directory = file.rsplit_once('/').map_or("", |(directory, _)| directory);
    let segments: Vec<&str> = directory.split('/').collect();
    match segments.iter().position(|segment| *segment == "clusters") {
        Some(at) if at + 1 < segments.len() => segments[..at + 2].join("/"),
        _ => join("", directory).unwrap_or_default(),
    }
}
