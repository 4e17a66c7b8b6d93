//! What an entry point is, and how its Kustomization names path and source.

use crate::lang::yaml::{FilePath, Known, Location, Node, NodeRef};
use crate::model::{Called, Certainty, ObjectId};
use crate::world::build::BuiltObject;
use rustc_hash::FxHashSet;
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
    /// A file of values for that chart, which a program or a script gives it.
    Values,
    /// Azure's `fluxConfigurations`.
    Azure,
    /// `gitops.flux` of eksctl.
    Eksctl,
    /// Terraform's `flux_bootstrap_git`.
    Terraform,
    /// Values of a release of the flux2-sync chart.
    SyncChart,
    /// Manifests that a ClusterResourceSet carries.
    ResourceSet,
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
            Form::Values => "values of the flux-instance chart",
            Form::Azure => "fluxConfiguration",
            Form::Eksctl => "eksctl",
            Form::Terraform => "Terraform",
            Form::SyncChart => "flux2-sync chart",
            Form::ResourceSet => "ClusterResourceSet",
            Form::AppliesItself => "a Kustomization that applies itself",
            Form::Unapplied => "Kustomizations that nothing applies",
        }
    }
}

/// An entry point.
#[derive(Clone, Debug)]
pub(crate) struct EntryPoint {
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
    pub overlay: Vec<Arc<BuiltObject>>,
    /// Objects that the entry point creates beside them (the source of a
    /// FluxInstance), with their fields where those are known.
    pub generated: Vec<(ObjectId, Option<Node>)>,
    /// The source that is this repository.
    pub source: Option<Called>,
    /// Its URL, normalised.
    pub url: Option<String>,
    /// Its ref, as text.
    pub reference: Option<String>,
    /// Its `spec.ignore` as it is written: bootstrap applies it before anything is built.
    pub ignore: Option<String>,
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
    /// Kustomizations that may be the live root instead, as nothing here applies
    /// what states this one; and the files that they reach.
    pub other_roots: Vec<(ObjectId, FxHashSet<Arc<str>>)>,
    /// The gotk-sync.yaml whose directory bootstrap applied, where no Kustomization does:
    /// `overlay` is what that made.
    pub bootstrapped: Option<FilePath>,
    /// Whether what installs Flux makes sources that Git doesn't hold.
    pub has_unseen_sources: bool,
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

impl EntryPoint {
    /// A directory of which nothing says who applies it.
    pub(super) fn unstated(root: String) -> EntryPoint {
        EntryPoint {
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
            ignore: None,
            location: None,
            certainty: Certainty::Guessed,
            form: Form::Unapplied,
            is_sent: false,
            owned: false,
            stated_by: None,
            is_named: false,
            other_roots: Vec::new(),
            bootstrapped: None,
            has_unseen_sources: false,
        }
    }

    /// One that the repository or its configuration states.
    pub(super) fn stated(root: String, form: Form, location: Option<Location>) -> EntryPoint {
        EntryPoint { certainty: Certainty::Stated, form, location, ..EntryPoint::unstated(root) }
    }

    /// A cluster that only a `kubeConfig` leads to.
    pub(super) fn sent(cluster: &crate::config::ClusterConfig) -> EntryPoint {
        EntryPoint {
            name: Some(cluster.name.clone()),
            is_sent: true,
            ..EntryPoint::stated(String::new(), Form::Config, Some(cluster.location.clone()))
        }
    }

    /// The file that it is written in.
    pub(super) fn file(&self) -> &str {
        match (&self.stated_by, &self.location) {
            (Some((_, _, file)), _) => file,
            (None, Some(location)) => location.file.shown(),
            (None, None) => "",
        }
    }
}

/// `spec.path` as a clean path inside its tree (`SecureJoin`: nothing leaves it).
pub(crate) fn clean_path(path: &str) -> String {
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

/// The source that a Kustomization names.
pub(crate) fn source_of(id: &ObjectId, node: NodeRef<'_>) -> Option<Called> {
    called_by(id, node.at("/spec/sourceRef")?)
}

/// What a reference of an object means, by its kind, namespace and name.
pub(crate) fn called_by(id: &ObjectId, reference: NodeRef<'_>) -> Option<Called> {
    let own = reference.str_at("/namespace").filter(|namespace| !namespace.is_empty());
    let namespace = own.as_deref().or(id.namespace.as_deref());
    Some(Called::new(&reference.str_at("/kind")?, namespace, &reference.str_at("/name")?))
}
