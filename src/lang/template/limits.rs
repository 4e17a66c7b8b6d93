//! What a run may cost, and the state that functions share.

use super::bound::Bound;
use super::documents::Documents;
use super::error::{Fault, Result};
use super::one_of::Alternatives;
use super::trace::Trace;
use super::value::{Kind, Val};
use crate::lang::go::regexp::GoFinder;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// What a run may cost. Each has an error that names it.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Nodes of templates that are run, and elements that functions go over.
    pub steps: u64,
    /// Bytes of one output.
    pub output: usize,
    /// Templates within templates.
    pub depth: usize,
    /// Bytes of any text that a function makes.
    pub text: usize,
    /// Elements of any list that a function makes.
    pub list: usize,
    /// Bytes of all texts of a run together.
    pub total: u64,
    /// Nodes of the graph of origins.
    pub origins: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            steps: 20_000_000,
            output: 64 << 20,
            depth: 1_200,
            text: 64 << 20,
            list: 1_000_000,
            total: 4 << 30,
            origins: 20_000_000,
        }
    }
}

/// What a line of Helm is built with, where a template sees it: Go and the libraries of
/// the functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Libraries {
    /// Go 1.23, semver 3.3, BurntSushi/toml 1.4.
    Helm3_17,
    /// Go 1.25, semver 3.4, BurntSushi/toml 1.6.
    #[default]
    Helm4_1,
    /// As before, but semver 3.5, which quotes a constraint that it refuses.
    Helm4_2,
}

/// Versions that are kept of those that sets are asked for.
const VERSIONS: usize = 500;

/// Levels of a value that anything goes down into.
const NESTING: usize = 1_000;

/// What all functions of a run share.
#[derive(Debug)]
pub(super) struct Cx {
    pub(super) trace: Trace,
    pub(super) limits: Limits,
    pub(super) libraries: Libraries,
    pub(super) steps: u64,
    total: u64,
    /// Counts what is made up for the unknown, so that no two are alike.
    pub(super) made_up: u64,
    pub(super) alternatives: Alternatives,
    /// YAML texts that were read.
    pub(super) documents: Arc<Documents>,
    /// Small regular expressions that the run used.
    pub(super) patterns: FxHashMap<Box<str>, Arc<GoFinder>>,
    /// What sets of versions were asked for by `Has`.
    versions: FxHashSet<Box<[u8]>>,
}

impl Cx {
    pub(super) fn new(trace: Trace, limits: Limits, libraries: Libraries, documents: Arc<Documents>) -> Cx {
        let alternatives = Alternatives::default();
        let (patterns, versions) = Default::default();
        let (steps, total, made_up) = (0, 0, 0);
        Cx { trace, limits, libraries, steps, total, made_up, alternatives, documents, patterns, versions }
    }

    /// Notes a version that a set is asked for.
    pub(super) fn ask_version(&mut self, version: &[u8]) {
        if self.versions.len() < VERSIONS && !self.versions.contains(version) {
            self.versions.insert(version.into());
        }
    }

    /// The versions that sets were asked for; nothing where they are too many.
    pub(super) fn asked_versions(&self) -> Option<impl Iterator<Item = &[u8]>> {
        (self.versions.len() < VERSIONS).then(|| self.versions.iter().map(|version| &**version))
    }

    pub(super) fn step(&mut self, count: usize) -> Result<()> {
        self.steps = self.steps.saturating_add(count as u64);
        if self.steps > self.limits.steps {
            return Err(Fault::bound(Bound::Steps(self.limits.steps)));
        }
        if self.trace.size() > self.limits.origins {
            return Err(Fault::bound(Bound::Origins(self.limits.origins)));
        }
        Ok(())
    }

    /// Before something goes down into all of a value, for so many steps each time. What is
    /// held twice is met twice: values that hold each other several times are larger than
    /// any memory when they are written.
    pub(super) fn weigh(&mut self, val: &Val, steps: usize) -> Result<()> {
        let steps = steps.max(1);
        let mut todo = Vec::new();
        self.meet(val, 0, steps, &mut todo)?;
        while let Some((val, depth)) = todo.pop() {
            match &val.kind {
                Kind::List(list) => {
                    for item in list.iter() {
                        self.meet(&item, depth + 1, steps, &mut todo)?;
                    }
                }
                Kind::Map(map) => {
                    for entry in map.entries.borrow().values() {
                        self.meet(&entry.val, depth + 1, steps, &mut todo)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Counts a value, and notes it where more is in it.
    fn meet(&mut self, val: &Val, depth: usize, steps: usize, todo: &mut Vec<(Val, usize)>) -> Result<()> {
        self.step(steps)?;
        if depth > NESTING {
            return Err(Fault::bound(Bound::Nesting(NESTING)));
        }
        if matches!(val.kind, Kind::List(_) | Kind::Map(_)) {
            todo.push((val.clone(), depth));
        }
        Ok(())
    }

    /// Before a text of so many bytes is made.
    pub(super) fn text(&mut self, bytes: usize) -> Result<()> {
        if bytes > self.limits.text {
            return Err(Fault::bound(Bound::Text(self.limits.text)));
        }
        self.total = self.total.saturating_add(bytes as u64);
        if self.total > self.limits.total {
            return Err(Fault::bound(Bound::Total(self.limits.total)));
        }
        Ok(())
    }

    /// Before a list of so many elements is made.
    pub(super) fn list(&mut self, elements: usize) -> Result<()> {
        if elements > self.limits.list {
            return Err(Fault::bound(Bound::List(self.limits.list)));
        }
        self.step(elements)
    }
}
