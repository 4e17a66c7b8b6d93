//! The rule engine: rules, findings, levels, suppressions.
//!
//! A rule is one static and one function. [`rules::RULES`] is the only list.
//! [`engine::run`] runs the selected rules over a snapshot, merges findings of
//! one text across clusters and applies suppressions and levels.

mod alert_index;
pub(crate) mod baseline;
mod by_hand;
mod checks;
pub(crate) mod engine;
mod finding;
mod fingerprint;
mod known_names;
mod memo;
pub(crate) mod metadata;
mod near;
mod not_checked;
mod patches;
mod rendered;
pub(crate) mod rules;
mod scope;
mod selectors;
mod shared;
mod suppression;
mod unlisted;
pub(crate) mod usual;
pub(crate) mod validity;
mod view;
mod waits;
pub(crate) mod workloads;

pub use finding::{Applicability, Finding};
pub(crate) use finding::{Edit, Fix, Related};
pub use memo::LintMemo;
pub(crate) use suppression::Suppressions;
pub(crate) use view::{ChangeView, ClusterView, Context, DocumentView, ObjectView, RunView};

pub(crate) use crate::config::Level;

use crate::lang::yaml::{FilePath, Location};
use crate::model::{ObjectId, Unchecked};

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
    /// Charts, and the values that releases give them.
    Chart,
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
    /// Encrypted and sealed Secrets.
    Secret,
    /// What workloads, and what routes to them, refer to.
    Workload,
    /// Fields and values that the API server doesn't take.
    Schema,
    /// Suppressions and configuration of forebay itself.
    Forebay,
}

impl Group {
    /// All groups, in the order of the documentation.
    pub const ALL: [Group; 14] = [
        Group::Syntax,
        Group::Metadata,
        Group::Annotation,
        Group::Build,
        Group::Chart,
        Group::Reference,
        Group::Suspend,
        Group::Event,
        Group::Gate,
        Group::ClusterApi,
        Group::Secret,
        Group::Workload,
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
            Group::Chart => "chart",
            Group::Reference => "reference",
            Group::Suspend => "suspend",
            Group::Event => "event",
            Group::Gate => "gate",
            Group::ClusterApi => "cluster-api",
            Group::Secret => "secret",
            Group::Workload => "workload",
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

/// Takes the findings of one rule.
pub struct Reporter<'f> {
    rule: &'static Rule,
    findings: &'f mut Vec<Finding>,
    not_checked: &'f mut Vec<Skipped>,
}

/// Something that a rule could not judge.
#[derive(Clone, Debug)]
pub(crate) struct Skipped {
    reason: Unchecked,
    /// The file of the text that it is about, where that is known: a run over some PATHs
    /// leaves out what lies elsewhere.
    file: Option<FilePath>,
    what: String,
}

/// A title about an object.
pub(crate) fn title(id: &ObjectId, what: &str) -> String {
    format!("{id}: {what}")
}

impl<'f> Reporter<'f> {
    /// A reporter for one rule that appends to both.
    pub(crate) fn new(
        rule: &'static Rule,
        findings: &'f mut Vec<Finding>,
        not_checked: &'f mut Vec<Skipped>,
    ) -> Self {
        Reporter { rule, findings, not_checked }
    }

    /// Count something that this rule could not judge, with the text that it is about.
    pub fn not_checked(&mut self, reason: Unchecked, at: Option<Location>, what: impl Into<String>) {
        self.not_checked.push(Skipped { reason, file: at.map(|at| at.file), what: what.into() });
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
