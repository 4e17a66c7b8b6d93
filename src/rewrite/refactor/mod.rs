//! Refactorings: the same objects under other names, in other files, applied by
//! other Kustomizations; in as many steps as it takes for nothing to be deleted.
//!
//! Where the texts stand that have to change is looked for (`mentions`, `texts`,
//! `paths`); whether they were all, and no others, is proven by building every
//! cluster again ([`same`]): the effective view has to be the same but for what was
//! asked for. What the controllers do between two commits is simulated in every
//! order ([`crate::plan::takeovers`], [`crate::plan::replacements`]).

pub(crate) mod class;
mod cut;
pub(crate) mod files;
mod ignores;
pub(crate) mod mentions;
pub(crate) mod moves;
pub(crate) mod objects;
pub(crate) mod parts;
pub(crate) mod rename;
pub(crate) mod same;
pub(crate) mod steps;
pub(crate) mod template;
pub(crate) mod texts;
pub(crate) mod variable;

use super::subject::Subject;
use super::{FileChange, RewriteRefusal};
use crate::files::{FileKind, Snapshot};
use crate::lang::yaml::{FilePath, Location, Tree, WorkPath};
use crate::model::ObjectId;
use crate::world::World;
use std::fmt::Display;
use std::sync::Arc;

/// Builds the world of another snapshot of the repository.
pub(crate) type Rebuild<'r> = dyn Fn(&Arc<Snapshot>) -> World + 'r;

/// What is renamed.
pub struct Rename<'w> {
    /// The repository.
    pub world: &'w World,
    /// The object, in the clusters that are meant.
    pub subjects: Vec<Subject<'w>>,
    /// Its identity.
    pub old: ObjectId,
    /// Its name afterwards.
    pub new: String,
}

/// Why a refactoring is not done, and where that stands.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The place, where there is one.
    pub location: Option<Location>,
    /// Why.
    pub why: String,
    /// The way out, imperative.
    pub help: String,
}

impl Refused {
    /// A refusal at a place.
    pub fn at(location: Option<Location>, why: impl Into<String>, help: impl Into<String>) -> Refused {
        Refused { location, why: why.into(), help: help.into() }
    }

    /// What another tree than the root's states.
    fn elsewhere(location: Option<Location>, what: impl Display) -> Refused {
        Refused::at(location, format!("{what} is written in another file tree"), "change it there")
    }

    /// What no text can be changed for: `help` says what to do where it is the root's.
    fn no_text(location: Option<Location>, what: impl Display, help: &str) -> Refused {
        match location.as_ref().is_some_and(|place| *place.file.tree() == Tree::Outside) {
            true => Refused::elsewhere(location, what),
            false => Refused::at(location, format!("no file states {what} alone"), help),
        }
    }
}

impl From<RewriteRefusal> for Refused {
    fn from(refusal: RewriteRefusal) -> Refused {
        let range = refusal.range.unwrap_or(0..0);
        let location = Location {
            file: FilePath::in_root(refusal.path.clone()),
            start: range.start,
            end: range.end,
            via: Vec::new(),
        };
        Refused::at(Some(location), refusal.message, refusal.help)
    }
}

/// One commit of a refactoring.
#[derive(Clone, Debug)]
pub struct RefactoringStep {
    /// Counts from 1.
    pub number: usize,
    /// What it does.
    pub title: String,
    /// Whether the tree has it already.
    pub done: bool,
    /// Its changes of files, none where it is done.
    pub changes: Vec<FileChange>,
    /// Files that go elsewhere, (from, to), before their contents change.
    pub moves: Vec<(WorkPath, WorkPath)>,
    /// Commands that bring it to the cluster, and that show when it is there.
    pub wait_for: Vec<String>,
    /// What was proven of it.
    pub proof: Proof,
}

/// What the controllers do with a step, in every order.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// Orders that were followed to their end.
    pub orders: usize,
    /// Whether those were all.
    pub complete: bool,
    /// Objects whose owner changes.
    pub adopted: usize,
    /// Objects that are in the end and that some order deletes.
    pub deleted: Vec<ObjectId>,
    /// Those of them that come back as new objects.
    pub recreated: Vec<ObjectId>,
}

impl Proof {
    /// Nothing else changes, so there is one order.
    fn unchanged() -> Proof {
        Proof { complete: true, orders: 1, ..Proof::default() }
    }
}

/// A refactoring, worked out.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// What it does, as a headline.
    pub headline: String,
    /// What doing it in one commit deletes, a sentence each; none where one commit
    /// does it.
    pub naive: Vec<String>,
    /// Its steps, in order.
    pub steps: Vec<RefactoringStep>,
    /// What is left to do by hand in the end, a command or a sentence each.
    pub by_hand: Vec<String>,
    /// What to know.
    pub notes: Vec<String>,
    /// Texts that may mean it too and were left alone.
    pub left: Vec<(Location, String)>,
}

impl Series {
    /// Adds a step that moves no files.
    fn push(
        &mut self,
        title: String,
        changes: Vec<FileChange>,
        wait_for: Vec<String>,
        proof: Proof,
    ) -> &mut RefactoringStep {
        let number = self.steps.len() + 1;
        self.steps.push(RefactoringStep {
            number,
            title,
            done: false,
            changes,
            moves: Vec::new(),
            wait_for,
            proof,
        });
        &mut self.steps[number - 1]
    }

    /// The number of the first step that the tree does not have.
    pub fn next(&self) -> usize {
        self.steps.iter().find(|step| !step.done).map_or(self.steps.len() + 1, |step| step.number)
    }
}

/// The snapshot after some changes.
pub fn changed(snapshot: &Snapshot, changes: &[FileChange]) -> Arc<Snapshot> {
    let texts = changes.iter().map(|change| (&*change.path, change.after.clone().into_bytes()));
    Arc::new(snapshot.with_files(texts))
}

/// The texts of a step's changes of files.
pub(crate) fn apply(snapshot: &Snapshot, wanted: &[super::Wanted]) -> Result<Vec<FileChange>, Vec<Refused>> {
    let mut unique: Vec<super::Wanted> = Vec::new();
    for one in wanted {
        if !unique.contains(one) {
            unique.push(one.clone());
        }
    }
    super::plan(snapshot, &unique).map_err(|refusals| refusals.into_iter().map(Refused::from).collect())
}

/// The regular files below a directory, or the file itself.
pub(crate) fn files_at(snapshot: &Snapshot, path: &str) -> Vec<WorkPath> {
    if let Some(file) = snapshot.file(path) {
        return file.name().writable().into_iter().collect();
    }
    let below = snapshot.files_below(path).iter();
    below.filter(|file| file.kind == FileKind::Regular).filter_map(|file| file.name().writable()).collect()
}
