//! The rule engine: rules, findings, levels, suppressions.
//!
//! A rule is one static and one function. [`rules::RULES`] is the only list.
//! [`engine::run`] runs the selected rules over a snapshot, merges findings of
//! one text across clusters and applies suppressions and levels.

pub mod baseline;
pub mod engine;
mod finding;
mod fingerprint;
pub mod metadata;
mod patches;
pub mod rules;
pub mod same;
mod selectors;
mod shared;
mod suppression;
pub mod validity;

pub use finding::{Applicability, Edit, Finding, Fix, Related};
pub use suppression::Suppressions;

pub use crate::config::Level;

use crate::config::Config;
use crate::model::ObjectId;
use crate::model::references::{Reference, references};
use crate::repo::{File, Snapshot};
use crate::world::versions::Settings;
use crate::world::{Applied, Cluster, Effective, Member, World};
use crate::yaml::{Location, NodeRef, Source};
use jiff::Timestamp;
use metadata::{MetadataMap, metadata_maps};
use rayon::prelude::*;
use selectors::Selectors;
use std::cell::OnceCell;
use std::sync::{Arc, OnceLock};

/// A family of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Text that is no YAML, or not what Go reads.
    Syntax,
    /// Labels and annotations that Kubernetes or the build refuses.
    Metadata,
    /// Annotations that controllers do not read as meant.
    Annotation,
    /// What can't be built.
    Build,
    /// References to objects.
    Reference,
    /// Suspended objects.
    Suspend,
    /// Event metadata and alerts.
    Event,
    /// Gates and schedules.
    Gate,
    /// Cluster API.
    ClusterApi,
    /// Fields and values that the API server doesn't take.
    Schema,
    /// Suppressions and configuration of forebay itself.
    Forebay,
}

impl Group {
    /// All groups, in the order of the documentation.
    pub const ALL: [Group; 11] = [
        Group::Syntax,
        Group::Metadata,
        Group::Annotation,
        Group::Build,
        Group::Reference,
        Group::Suspend,
        Group::Event,
        Group::Gate,
        Group::ClusterApi,
        Group::Schema,
        Group::Forebay,
    ];

    /// The word in output, configuration and paths.
    pub fn name(self) -> &'static str {
        match self {
            Group::Syntax => "syntax",
            Group::Metadata => "metadata",
            Group::Annotation => "annotation",
            Group::Build => "build",
            Group::Reference => "reference",
            Group::Suspend => "suspend",
            Group::Event => "event",
            Group::Gate => "gate",
            Group::ClusterApi => "cluster-api",
            Group::Schema => "schema",
            Group::Forebay => "forebay",
        }
    }
}

/// Whether a rule can offer a fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixAvailability {
    /// Never.
    None,
    /// For some of its findings.
    Sometimes,
    /// For all of its findings.
    Always,
}

impl FixAvailability {
    /// The word in `forebay rules`.
    pub fn name(self) -> &'static str {
        match self {
            FixAvailability::None => "none",
            FixAvailability::Sometimes => "sometimes",
            FixAvailability::Always => "always",
        }
    }
}

/// What a rule looks at, and its function.
#[derive(Clone, Copy)]
pub enum Check {
    /// A manifest file and its documents; once per file.
    Document(fn(&DocumentView<'_>, &mut Reporter<'_>)),
    /// Each distinct effective object, and the orphans.
    Object(fn(&ObjectView<'_>, &mut Reporter<'_>)),
    /// Relations among the objects of one cluster.
    Cluster(fn(&ClusterView<'_>, &mut Reporter<'_>)),
    /// The repository as a whole.
    Repository(fn(&Context<'_>, &mut Reporter<'_>)),
    /// Two snapshots; run by `plan` and `lint --since`.
    Change(fn(&ChangeView<'_>, &mut Reporter<'_>)),
    /// What the other rules made of suppressions and configuration.
    Run(fn(&RunView<'_>, &mut Reporter<'_>)),
}

impl Check {
    /// The scope's name in `forebay rules`.
    pub fn scope(&self) -> &'static str {
        match self {
            Check::Document(_) => "document",
            Check::Object(_) => "object",
            Check::Cluster(_) => "cluster",
            Check::Change(_) => "change",
            Check::Repository(_) | Check::Run(_) => "repository",
        }
    }
}

/// A rule. Its documentation is its literate test.
pub struct Rule {
    /// Kebab-case noun phrase naming the defect; never reused.
    pub id: &'static str,
    /// Its family.
    pub group: Group,
    /// Level of its plain findings; a finding may be below it.
    pub level: Level,
    /// Whether it runs without being selected.
    pub default: bool,
    /// Version that introduced it.
    pub since: &'static str,
    /// One line, lower case, no full stop.
    pub summary: &'static str,
    /// Whether it can fix.
    pub fix: FixAvailability,
    /// The literate test `tests/rules/<group>/<id>.md`.
    pub docs: &'static str,
    /// What it looks at.
    pub check: Check,
}

/// What every rule can see.
pub struct Context<'a> {
    /// The files and source objects.
    pub snapshot: &'a Snapshot,
    /// The clusters and effective objects.
    pub world: &'a World,
    /// The root's configuration.
    pub config: &'a Config,
    /// The time that was asked for; rules that depend on it are silent without.
    pub at: Option<Timestamp>,
    selectors: OnceLock<Selectors>,
    /// Those of each effective object: a dozen rules ask for them.
    references: Vec<Vec<Reference<'a>>>,
}

impl<'a> Context<'a> {
    /// What rules can see of a repository.
    pub fn new(world: &'a World, config: &'a Config, at: Option<Timestamp>) -> Self {
        let of = |object: &'a Effective| references(&object.id, object.node.get_ref());
        let references = world.objects.par_iter().map(of).collect();
        Context { snapshot: &world.snapshot, world, config, at, selectors: OnceLock::new(), references }
    }

    /// The references of an object of a cluster.
    pub fn references(&self, member: &Member) -> &[Reference<'a>] {
        &self.references[member.object as usize]
    }

    /// Whether something in the repository selects objects by this label or
    /// annotation key, or names it in a text. Looked up once, on first use.
    pub fn is_selected(&self, key: &str) -> bool {
        self.selectors.get_or_init(|| Selectors::collect(self.snapshot)).name(key)
    }
}

/// A manifest file for [`Check::Document`]. Templates are not shown to rules.
pub struct DocumentView<'a> {
    /// What every rule can see.
    pub context: &'a Context<'a>,
    /// The file.
    pub file: &'a File,
    /// Its documents; empty where it can't be decoded.
    pub sources: &'a [Arc<Source>],
}

/// An object for [`Check::Object`].
pub struct ObjectView<'a> {
    /// What every rule can see.
    pub context: &'a Context<'a>,
    /// Its identity.
    pub id: &'a ObjectId,
    /// Its root: the effective one, or the source of an orphan.
    pub node: NodeRef<'a>,
    /// The effective object; `None` for an orphan.
    pub effective: Option<&'a Effective>,
    metadata: OnceCell<Vec<MetadataMap<'a>>>,
    faults: OnceCell<validity::Verdict<'a>>,
}

impl<'a> ObjectView<'a> {
    /// An effective object, or an orphan.
    pub fn new(
        context: &'a Context<'a>,
        id: &'a ObjectId,
        node: NodeRef<'a>,
        effective: Option<&'a Effective>,
    ) -> Self {
        ObjectView { context, id, node, effective, metadata: OnceCell::new(), faults: OnceCell::new() }
    }

    /// Its label and annotation maps, its own first, then those that it hands down.
    pub fn metadata(&self) -> &[MetadataMap<'a>] {
        self.metadata.get_or_init(|| metadata_maps(self.id, self.node))
    }

    /// What the API servers of its clusters make of it.
    pub fn verdict(&self) -> &validity::Verdict<'a> {
        self.faults.get_or_init(|| validity::judge(self))
    }

    /// The clusters that hold it, with its membership.
    pub fn memberships(&self) -> impl Iterator<Item = (&'a Cluster, &'a Member)> {
        let world = self.context.world;
        self.effective.into_iter().flat_map(|object| &object.members).map(move |(cluster, member)| {
            let cluster = &world.clusters[*cluster as usize];
            (cluster, &cluster.members[*member as usize])
        })
    }

    /// The Flux Kustomizations that apply it; none for orphans, loose objects
    /// and overlays of a repository without entry points.
    pub fn applied_by(&self) -> impl Iterator<Item = (&'a Cluster, &'a Applied)> {
        self.memberships()
            .filter(|(cluster, _)| cluster.name.is_some())
            .filter_map(|(cluster, member)| Some((cluster, &cluster.applied[member.applied_by? as usize])))
    }

    /// Whether it reaches a cluster through a build (kustomize re-emits values).
    pub fn is_built(&self) -> bool {
        self.memberships().any(|(_, member)| member.applied_by.is_some())
    }

    /// Settings of the clusters that hold it; rules that depend on a version
    /// must hold for all of them.
    pub fn settings(&self) -> impl Iterator<Item = &'a Settings> {
        self.memberships().map(|(cluster, _)| &cluster.settings)
    }
}

/// A cluster for [`Check::Cluster`].
pub struct ClusterView<'a> {
    /// What every rule can see.
    pub context: &'a Context<'a>,
    /// The cluster.
    pub cluster: &'a Cluster,
}

impl<'a> ClusterView<'a> {
    /// Its objects with their membership.
    pub fn members(&self) -> impl Iterator<Item = (&'a Member, &'a Effective)> {
        self.context.world.members(self.cluster)
    }

    /// Its objects of a group and kind.
    pub fn of_kind(
        &self,
        group: &'a str,
        kind: &'a str,
    ) -> impl Iterator<Item = (&'a Member, &'a Effective)> {
        self.members().filter(move |(_, object)| object.id.is(group, kind))
    }
}

/// Two snapshots for [`Check::Change`]; findings are about the head.
pub struct ChangeView<'a> {
    /// Before the change.
    pub base: &'a Context<'a>,
    /// After it.
    pub head: &'a Context<'a>,
}

/// A run for [`Check::Run`], after all other rules.
pub struct RunView<'a> {
    /// What every rule can see.
    pub context: &'a Context<'a>,
    /// The suppressions, which know whether they were used.
    pub suppressions: &'a Suppressions,
    /// The rules that ran.
    pub rules: &'a [&'static Rule],
    /// Whether only some PATHs were asked for.
    pub is_focused: bool,
    /// Whether everything of every cluster could be built.
    pub is_complete: bool,
}

/// Takes the findings of one rule.
pub struct Reporter<'f> {
    rule: &'static Rule,
    findings: &'f mut Vec<Finding>,
    not_checked: Vec<(&'static str, String)>,
}

/// A title about an object.
pub fn title(id: &ObjectId, what: &str) -> String {
    format!("{id}: {what}")
}

impl<'f> Reporter<'f> {
    /// A reporter for one rule that appends to `findings`.
    pub fn new(rule: &'static Rule, findings: &'f mut Vec<Finding>) -> Self {
        Reporter { rule, findings, not_checked: Vec::new() }
    }

    /// Count something that this rule could not judge: a name of the JSON
    /// contract (`external-source`) and what.
    pub fn not_checked(&mut self, reason: &'static str, what: impl Into<String>) {
        self.not_checked.push((reason, what.into()));
    }

    /// Report a finding at the bytes that the user must change. The title is
    /// `Kind namespace/name: what is wrong`, in lower case, and whole: to wrap it is
    /// the renderers' business.
    /// Chain [`Finding`]'s methods on the result to say why, what to do and
    /// where else to look.
    pub fn report(&mut self, location: Location, title: impl Into<String>) -> &mut Finding {
        self.findings.push(Finding::new(self.rule, location, title.into()));
        let last = self.findings.len() - 1;
        &mut self.findings[last]
    }
}
