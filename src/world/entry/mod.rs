//! Entry points: what makes a cluster start to apply this repository, one file
//! for each form of evidence. Best first: configuration, gotk-sync.yaml, a
//! FluxInstance, values of the flux-instance chart, helmfiles, Azure's
//! fluxConfigurations; where none of these says it, Kustomizations that apply
//! themselves; where nothing does, a guess.
//! Source: flux2 `pkg/manifestgen/sync`, flux-operator `internal/builder`
//! (`syncTmpl`), the flux-instance chart.

mod applied_itself;
mod azure;
mod guessed;
mod helmfile;
mod holes;
mod leftovers;
mod place;
mod sync;

pub use guessed::suggestions;

use super::instance;
use super::overlays::Overlays;
use super::pushes::Push;
use crate::config::Config;
use crate::model::kinds;
use crate::model::{Certainty, Object, ObjectId};
use crate::repo::Snapshot;
use crate::world::build::{BuiltObject, Memo};
use crate::yaml::{Known, Location, Node, NodeRef};
use std::sync::Arc;

/// How an entry point is known, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// `.forebay.yaml` says it.
    Config,
    /// `gotk-sync.yaml`, as `flux bootstrap` writes it.
    Sync,
    /// A FluxInstance's `sync`.
    Instance,
    /// Values of a release of the flux-instance chart.
    Chart,
    /// The same in a helmfile.
    Helmfile,
    /// Azure's `fluxConfigurations`.
    Azure,
    /// A Kustomization whose own build holds it.
    AppliesItself,
    /// Kustomizations that nothing applies.
    Unapplied,
}

impl Form {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Form::Config => "configuration",
            Form::Sync => "gotk-sync",
            Form::Instance => "FluxInstance",
            Form::Chart => "flux-instance chart",
            Form::Helmfile => "helmfile",
            Form::Azure => "fluxConfiguration",
            Form::AppliesItself => "a Kustomization that applies itself",
            Form::Unapplied => "Kustomizations that nothing applies",
        }
    }
}

/// An entry point.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name from configuration.
    pub name: Option<String>,
    /// The clean path that its root applies, in the repository.
    pub root: String,
    /// The directory of the repository that its source stands for.
    pub tree: String,
    /// Whether that is known, and not only followed from signs.
    pub is_tree_known: bool,
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
    /// What says so.
    pub form: Form,
    /// Whether only a `kubeConfig` leads to it: controllers of its own may apply
    /// more.
    pub is_sent: bool,
    /// Whether an operator keeps the pair as it is: kustomize-controller leaves
    /// copies of it in Git alone (`ssa: Ignore`).
    pub owned: bool,
    /// The object that states it, whose namespace is where the operator makes
    /// the pair: kind, name, file.
    pub stated_by: Option<(Arc<str>, Arc<str>, Arc<str>)>,
    /// Whether `sync.name` names the pair, and not its namespace.
    pub is_named: bool,
}

/// Something that would be an entry point if its root could be found.
#[derive(Clone, Debug)]
pub struct Unsettled {
    /// Its root Kustomization.
    pub id: ObjectId,
    /// `spec.path` as written.
    pub path: String,
    /// What states it.
    pub form: Form,
    /// Why it isn't.
    pub why: String,
    /// Where it is written.
    pub location: Option<Location>,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// The entry points, in order of their roots.
    pub entries: Vec<Entry>,
    /// What could not be resolved.
    pub unsettled: Vec<Unsettled>,
}

impl Entry {
    /// A directory of which nothing says who applies it.
    fn unstated(root: String) -> Entry {
        Entry {
            name: None,
            root,
            tree: String::new(),
            is_tree_known: true,
            kustomizations: Vec::new(),
            overlay: Vec::new(),
            generated: Vec::new(),
            source: None,
            url: None,
            reference: None,
            location: None,
            certainty: Certainty::Guessed,
            form: Form::Unapplied,
            is_sent: false,
            owned: false,
            stated_by: None,
            is_named: false,
        }
    }

    /// One that the repository or its configuration states.
    pub(super) fn stated(root: String, form: Form, location: Option<Location>) -> Entry {
        Entry { certainty: Certainty::Stated, form, location, ..Entry::unstated(root) }
    }

    /// A cluster that only a `kubeConfig` leads to.
    pub(super) fn sent(cluster: &crate::config::Cluster) -> Entry {
        Entry {
            name: Some(cluster.name.clone()),
            is_sent: true,
            ..Entry::stated(String::new(), Form::Config, Some(cluster.location.clone()))
        }
    }

    /// The file that it is written in.
    fn file(&self) -> &str {
        match (&self.stated_by, &self.location) {
            (Some((_, _, file)), _) => file,
            (None, Some(location)) => &location.path,
            (None, None) => "",
        }
    }
}

/// Find the entry points: those of the configuration, else the stated ones,
/// else those that apply themselves, else each path whose Flux Kustomizations
/// no other one applies.
pub(super) fn find(snapshot: &Arc<Snapshot>, config: &Config, pushes: &[Push], memo: &Memo) -> Found {
    let overlays = Overlays::of(snapshot);
    let mut candidates = stated(snapshot, memo);
    candidates.sort_by_key(|entry| entry.form);
    let mut found = place::settle(candidates, snapshot, &overlays, pushes);
    let configured: Vec<&crate::config::Cluster> =
        config.clusters.iter().filter(|cluster| cluster.path.is_some()).collect();
    if found.entries.is_empty() || !configured.is_empty() {
        let known = |entry: &Entry| found.entries.iter().any(|other| other.root == entry.root);
        let own: Vec<Entry> = applied_itself::find(snapshot, &overlays, memo);
        let own: Vec<Entry> = own.into_iter().filter(|entry| !known(entry)).collect();
        found.entries.extend(own);
    }
    if !configured.is_empty() {
        found.entries = configured.into_iter().filter_map(|cluster| of_config(cluster, &found)).collect();
        return found;
    }
    if found.entries.is_empty() {
        found.entries = guessed::unapplied(snapshot, &overlays, memo);
    }
    found.entries.sort_by(|a, b| a.root.cmp(&b.root).then(a.form.cmp(&b.form)));
    found.entries.dedup_by(|a, b| a.root == b.root);
    found
}

fn of_config(cluster: &crate::config::Cluster, found: &Found) -> Option<Entry> {
    let path = cluster.path.as_ref()?;
    let location = Some(path.location.clone());
    let mut entry = match found.entries.iter().find(|entry| entry.root == path.value) {
        Some(entry) => entry.clone(),
        None => by_path("flux-system", "flux-system", "flux-system", &path.value, location.clone()),
    };
    entry.name = Some(cluster.name.clone());
    entry.certainty = Certainty::Stated;
    entry.form = Form::Config;
    entry.location = location;
    Some(entry)
}

/// Everything that says what is applied, before it is known where that lies.
fn stated(snapshot: &Arc<Snapshot>, memo: &Memo) -> Vec<Entry> {
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
    entries.extend(azure::find(snapshot));
    entries
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
pub(super) fn by_path(
    namespace: &str,
    name: &str,
    source: &str,
    path: &str,
    location: Option<Location>,
) -> Entry {
    let kind = "GitRepository";
    let generated = ObjectId {
        api_version: "source.toolkit.fluxcd.io/v1".into(),
        kind: kind.into(),
        namespace: Some(namespace.into()),
        name: source.into(),
    };
    Entry {
        kustomizations: vec![synthetic(namespace, name, source, path, &location)],
        generated: vec![(generated, None)],
        source: Some((kind.to_owned(), Some(namespace.to_owned()), source.to_owned())),
        ..Entry::stated(path.to_owned(), Form::Sync, location)
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
                ("prune", Node::scalar(crate::yaml::Value::Bool(true), location.clone())),
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
