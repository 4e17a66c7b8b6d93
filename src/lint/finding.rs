//! A finding and what it carries: places, reasons, fixes, a fingerprint.

use super::{Level, Rule};
use crate::lang::yaml::edit::{self, Operation, Wanted};
use crate::lang::yaml::{Location, NodeRef, Source, WorkPath};
use crate::model::ObjectId;
use crate::world::Cluster;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A reported defect.
#[derive(Clone)]
pub struct Finding {
    /// The rule that found it.
    pub rule: &'static Rule,
    /// Its level: the rule's, unless the finding lowers it or configuration
    /// changes it.
    pub level: Level,
    /// What is wrong: `Kind namespace/name: …`.
    pub title: String,
    /// What the controllers will do.
    pub why: String,
    /// What to do, imperative; may be empty.
    pub help: String,
    /// A fragment printed under the bytes; may be empty.
    pub label: String,
    /// The objects concerned, the first one named in the title.
    pub objects: Vec<ObjectId>,
    /// JSON Pointer of the field inside the object; empty for the whole.
    pub path: String,
    /// JSON Pointer of a value in those that a chart gets; then an empty `path` says that
    /// the value stands outside of the object.
    pub values_path: Option<String>,
    /// The offending value, for the fingerprint.
    pub value: String,
    /// The bytes to change.
    pub location: Location,
    /// Other places to look at.
    pub related: Vec<Related>,
    /// Whether it says that something isn't there: an error only as certain as
    /// the cluster is.
    pub absence: bool,
    /// Names of the clusters that have it, sorted.
    pub clusters: Vec<Arc<str>>,
    /// Proposed changes, the best first.
    pub fixes: Vec<Fix>,
    /// What identifies it through edits of the file; set by the engine.
    pub fingerprint: String,
}

/// Another place that explains a finding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Related {
    /// What is there.
    pub message: String,
    /// Where it is.
    pub location: Location,
}

/// How certain a fix is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Applicability {
    /// A hint for a human.
    DisplayOnly,
    /// Right as text, but the intent is a guess.
    Unsafe,
    /// Right, and surely meant.
    Safe,
}

impl Applicability {
    /// The word in output.
    pub fn name(self) -> &'static str {
        match self {
            Applicability::DisplayOnly => "display-only",
            Applicability::Unsafe => "unsafe",
            Applicability::Safe => "safe",
        }
    }
}

/// A proposed change.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// Imperative, without a full stop.
    pub title: String,
    /// How certain it is.
    pub applicability: Applicability,
    /// What it does to the documents; applied by `rewrite::fix`.
    pub operations: Vec<Wanted>,
    /// The bytes that it comes to, not overlapping.
    pub edits: Vec<Edit>,
}

/// One byte-range replacement in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub path: WorkPath,
    /// First byte replaced.
    pub start: u32,
    /// One past the last byte replaced.
    pub end: u32,
    /// The new text.
    pub text: String,
}

/// What a chart alone is to blame for, of all releases that one text states.
#[derive(Debug, Default)]
pub struct ChartFaults {
    /// The releases, sorted.
    pub releases: BTreeSet<ObjectId>,
    /// Name and version of the chart.
    pub chart: String,
    /// Names of the clusters, sorted.
    pub clusters: BTreeSet<Arc<str>>,
    /// The rule and title of each finding.
    pub findings: BTreeSet<(&'static str, String)>,
}

impl Finding {
    /// A finding of a rule at its own level.
    pub fn new(rule: &'static Rule, location: Location, title: String) -> Finding {
        Finding {
            rule,
            level: rule.level,
            title,
            why: String::new(),
            help: String::new(),
            label: String::new(),
            objects: Vec::new(),
            path: String::new(),
            values_path: None,
            value: String::new(),
            location,
            related: Vec::new(),
            absence: false,
            clusters: Vec::new(),
            fixes: Vec::new(),
            fingerprint: String::new(),
        }
    }

    /// Below (or at) the rule's own level.
    pub fn level(&mut self, level: Level) -> &mut Finding {
        self.level = level;
        self
    }

    /// It says that something isn't there. Errors of this kind need a cluster
    /// that is stated: the engine lowers them in an assumed one, and counts them
    /// as not checked in a guessed one.
    pub fn claims_absence(&mut self) -> &mut Finding {
        self.absence = true;
        self
    }

    /// It is true of these clusters alone; else of all that hold the object.
    pub(crate) fn of_clusters<'c>(
        &mut self,
        clusters: impl IntoIterator<Item = &'c Cluster>,
    ) -> &mut Finding {
        self.clusters.extend(clusters.into_iter().filter_map(|cluster| cluster.name.clone()));
        self.clusters.sort();
        self.clusters.dedup();
        self
    }

    /// What the controllers will do.
    pub fn why(&mut self, text: impl Into<String>) -> &mut Finding {
        self.why = text.into();
        self
    }

    /// What to do.
    pub fn help(&mut self, text: impl Into<String>) -> &mut Finding {
        self.help = text.into();
        self
    }

    /// A fragment under the bytes.
    pub fn label(&mut self, text: impl Into<String>) -> &mut Finding {
        self.label = text.into();
        self
    }

    /// The object that it is about.
    pub fn object(&mut self, id: &ObjectId) -> &mut Finding {
        self.objects.push(id.clone());
        self
    }

    /// The field inside the object (JSON Pointer) and its offending value.
    pub fn field(&mut self, path: impl Into<String>, value: impl Into<String>) -> &mut Finding {
        self.path = path.into();
        self.value = value.into();
        self
    }

    /// The value (JSON Pointer) in those that a chart gets.
    pub fn values_path(&mut self, pointer: impl Into<String>) -> &mut Finding {
        self.values_path = Some(pointer.into());
        self
    }

    /// Another place to look at.
    pub fn related(&mut self, message: impl Into<String>, location: Location) -> &mut Finding {
        self.related.push(Related { message: message.into(), location });
        self
    }

    /// A proposed change of the document that holds `node`, by operations that
    /// get the node's JSON Pointer in it. Nothing is offered where no text holds
    /// the node, or where the operations would need a guess.
    pub fn fix(
        &mut self,
        title: impl Into<String>,
        applicability: Applicability,
        node: NodeRef<'_>,
        operations: impl FnOnce(&str) -> Vec<Operation>,
    ) -> &mut Finding {
        match edit::pointer_of(node) {
            Some((source, pointer)) => self.fix_in(source, title, applicability, operations(&pointer)),
            None => self,
        }
    }

    /// As [`Finding::fix`], by operations on a document.
    pub fn fix_in(
        &mut self,
        source: &Source,
        title: impl Into<String>,
        applicability: Applicability,
        operations: Vec<Operation>,
    ) -> &mut Finding {
        // What lies in another tree is told, and never changed.
        let Some(path) = source.file.writable() else { return self };
        let mut fix = Fix { title: title.into(), applicability, operations: Vec::new(), edits: Vec::new() };
        for operation in operations {
            let Ok(compiled) = edit::compile(&source.stream, source.index, &operation) else { return self };
            fix.edits.extend(compiled.edits.into_iter().map(|edit| Edit {
                path: path.clone(),
                start: edit.start,
                end: edit.end,
                text: edit.text,
            }));
            fix.operations.push(Wanted { path: path.clone(), document: source.index, operation });
        }
        fix.edits.sort_by_key(|edit| (edit.start, edit.end));
        if fix.edits.windows(2).all(|pair| pair[0].end <= pair[1].start) && !fix.edits.is_empty() {
            self.fixes.push(fix);
        }
        self
    }
}
