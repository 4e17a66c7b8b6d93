//! Objects to change: the text that states each of them, and whether a change
//! reaches those that are meant and no others.
//!
//! Where a value comes from is told by its origin; whether a change of that text
//! does what is wanted is found by building every cluster again with it. A patch
//! that overrides it, a base that feeds another cluster and a list of common
//! annotations all show there, whatever way they take.

use crate::build::kustomize::{FILE_NAMES, FileRole};
use crate::files::Snapshot;
use crate::lang::yaml::edit::pointer_of;
use crate::lang::yaml::{FilePath, Location, NodeRef, Source, WorkPath};
use crate::model::ObjectId;
use crate::plan;
use crate::world::{ApplyTarget, Cluster, Effective, World};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Where a suspension is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Via {
    /// `spec.suspend`
    Spec,
    /// The proposed annotation `reconcile.fluxcd.io/suspended`
    Annotation,
}

/// An object to change, in a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'w> {
    /// The cluster, of [`World::clusters`].
    pub cluster: &'w Cluster,
    /// The effective object.
    pub object: &'w Effective,
}

/// A text to change: a value of a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EditableText {
    pub path: WorkPath,
    /// Index of the document.
    pub document: u32,
    /// JSON Pointer of the value from the document's root.
    pub pointer: String,
}

impl EditableText {
    fn of(node: NodeRef<'_>) -> Option<EditableText> {
        let (source, pointer) = pointer_of(node)?;
        Some(EditableText { path: source.file.writable()?, document: source.index, pointer })
    }

    /// The keys of the map at a pointer below it, as they are written.
    pub fn keys(&self, snapshot: &Snapshot, below: &str) -> Vec<String> {
        let pointer = format!("{}{below}", self.pointer);
        let map = documents(snapshot, &FilePath::in_root(self.path.as_arc().clone()))
            .find(|source| source.index == self.document)
            .and_then(|source| NodeRef::Source(source, 0).at(&pointer));
        map.into_iter().flat_map(NodeRef::entries).map(|entry| entry.key.into_owned()).collect()
    }
}

/// The documents of a file that say something.
fn documents<'s>(snapshot: &'s Snapshot, file: &FilePath) -> impl Iterator<Item = &'s Arc<Source>> {
    let sources = snapshot.find(file).map(|file| snapshot.sources(file));
    sources.into_iter().flatten().filter(|source| !source.document().tokens.is_empty())
}

/// The text that states a value; `None` where no document does by itself, as for
/// an inline patch, which is text inside of a value.
pub(crate) fn text_of(snapshot: &Snapshot, node: NodeRef<'_>) -> Option<EditableText> {
    EditableText::of(node).or_else(|| {
        let location = node.location()?;
        let of_location = |source: &Arc<Source>| {
            let tokens = &source.document().tokens;
            let token = tokens
                .iter()
                .rposition(|token| token.start == location.start && token.end == location.end)?;
            EditableText::of(NodeRef::Source(source, u32::try_from(token).ok()?))
        };
        documents(snapshot, &location.file).find_map(of_location)
    })
}

/// The place of the manifest that an object is made of: of the files that shaped
/// it the one that holds it.
pub(crate) fn home(object: &Effective) -> Option<&Location> {
    let holds = |role: FileRole| matches!(role, FileRole::Resource | FileRole::Base | FileRole::Component);
    object.files.iter().find(|(role, _)| holds(*role)).map(|(_, location)| location)
}

/// The manifest that an object is made of, as the text of its root.
pub fn manifest_of(snapshot: &Snapshot, object: &Effective) -> Option<EditableText> {
    let home = home(object)?;
    let inside = |source: &&Arc<Source>| {
        let document = source.document();
        document.start <= home.start && home.start <= document.end
    };
    let root = NodeRef::Source(documents(snapshot, &home.file).find(inside)?, 0);
    // An item of a List is inside of the document.
    let is_home = |node: &NodeRef<'_>| node.location().is_some_and(|at| at.start == home.start);
    let item = root.items_at("/items").find(is_home);
    EditableText::of(item.unwrap_or(root))
}

/// Why a change that can be made is not the wanted one.
#[derive(Debug)]
pub enum Unproven<'w> {
    /// A subject is afterwards not as wanted: something decides that the change
    /// does not reach.
    WithoutEffect(Subject<'w>),
    /// Objects beyond the subjects change: each with the cluster's label.
    Shared(BTreeSet<(ObjectId, String)>),
}

/// Whether a change, which makes `after` of `before`, does to the subjects what
/// is wanted and, unless that is allowed by `shared`, nothing to other objects.
///
/// # Errors
/// The first of both that is not so.
pub fn prove<'w>(
    before: &'w World,
    after: &World,
    subjects: &[Subject<'w>],
    shared: bool,
    is_as_wanted: impl Fn(&Cluster, &Effective) -> bool,
) -> Result<(), Unproven<'w>> {
    let mut others = BTreeSet::new();
    for (number, cluster) in before.clusters.iter().enumerate() {
        let now = after.clusters.get(number);
        let mut left = now.map(|now| by_identity(after, now)).unwrap_or_default();
        for (member, object) in before.written(cluster) {
            let is_meant = |subject: &&Subject<'w>| {
                std::ptr::eq(subject.cluster, cluster) && subject.object.id == object.id
            };
            let subject = subjects.iter().find(is_meant).filter(|_| member.target == ApplyTarget::Local);
            let twin = left.get_mut(&(&member.target, &object.id)).and_then(|twins| twins.pop());
            match (subject, twin, now) {
                (Some(_), Some(twin), Some(now)) if is_as_wanted(now, twin) => {}
                (Some(subject), ..) => return Err(Unproven::WithoutEffect(*subject)),
                (None, Some(twin), _) if is_same(object, twin) => {}
                (None, ..) => {
                    others.insert((object.id.clone(), cluster.label()));
                }
            }
        }
        for (_, id) in left.iter().filter(|(_, twins)| !twins.is_empty()).map(|(key, _)| *key) {
            others.insert((id.clone(), cluster.label()));
        }
    }
    if others.is_empty() || shared { Ok(()) } else { Err(Unproven::Shared(others)) }
}

fn is_same(object: &Effective, twin: &Effective) -> bool {
    plan::compare(object.node.get_ref(), twin.node.get_ref()).is_empty()
}

/// The members of a cluster by target and identity, those of one identity in
/// reverse order.
type ByIdentity<'w> = FxHashMap<(&'w ApplyTarget, &'w ObjectId), Vec<&'w Effective>>;

fn by_identity<'w>(world: &'w World, cluster: &'w Cluster) -> ByIdentity<'w> {
    let mut found = ByIdentity::default();
    for (member, object) in world.written(cluster) {
        found.entry((&member.target, &object.id)).or_default().insert(0, object);
    }
    found
}

/// The kustomization that the Flux Kustomization of a subject builds, where there
/// is one: a patch in it reaches what that one applies, and nothing before it.
pub(crate) fn overlay(snapshot: &Snapshot, world: &World, subject: Subject<'_>) -> Option<EditableText> {
    let mut members = world.written(subject.cluster);
    let (member, _) = members.find(|(_, object)| std::ptr::eq(*object, subject.object))?;
    let applied = &subject.cluster.applied[member.maker.kustomization()? as usize];
    let directory = match &*applied.path {
        "" | "." => String::new(),
        path => format!("{}/", path.trim_start_matches("./")),
    };
    let tree = applied.tree.as_ref()?;
    let mut files = FILE_NAMES.iter().filter_map(|name| tree.real(&format!("{directory}{name}")));
    let file = files.find(|file| applied.files_read.contains(file))?;
    let source = documents(snapshot, &file).next()?;
    Some(EditableText { path: source.file.writable()?, document: source.index, pointer: String::new() })
}
