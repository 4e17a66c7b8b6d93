//! What stands at a place of a text, and which effective objects it is a part of.

use super::state::ServerState;
use crate::build::kustomize::{FILE_NAMES, FileRole};
use crate::files::{Snapshot, join};
use crate::lang::yaml::edit::pointer_of;
use crate::lang::yaml::emit::DEPTH_LIMIT;
use crate::lang::yaml::tape::TokenKind;
use crate::lang::yaml::{Location, NodeRef, Source, pointer_join};
use crate::model::ObjectId;
use crate::rewrite::subject::home;
use crate::world::{Cluster, Effective, Member, World};
use lsp_types::TextDocumentPositionParams;
use std::sync::Arc;

/// A place of a document.
#[derive(Clone)]
pub(super) struct Spot<'s> {
    pub(super) source: &'s Arc<Source>,
    /// The value there; of a key its value.
    pub(super) token: u32,
    /// The key, where the place is in one.
    pub(super) key: Option<u32>,
    pub(super) offset: u32,
    /// JSON Pointer of the value.
    pub(super) pointer: String,
}

impl<'s> Spot<'s> {
    /// What stands at a byte of a file; `None` between documents and where nothing
    /// could be read.
    pub(super) fn find(snapshot: &'s Snapshot, path: &str, offset: u32) -> Option<Spot<'s>> {
        let sources = snapshot.sources(snapshot.file(path)?).iter();
        let filled = sources.filter(|source| !source.document().tokens.is_empty());
        // A document goes on until the next one begins.
        let source = filled.take_while(|source| source.document().start <= offset).last()?;
        let tokens = &source.document().tokens;
        let holds = |token: u32| {
            let token = &tokens[token as usize];
            token.start <= offset && offset <= token.end
        };
        let (mut at, mut key) = (0, None);
        loop {
            let token = &tokens[at as usize];
            let mut child = at + 1;
            let mut found = None;
            while child < token.next {
                let value = match token.kind {
                    TokenKind::Mapping => tokens[child as usize].next,
                    _ => child,
                };
                if tokens[child as usize].start > offset {
                    break;
                }
                found = Some((child, value));
                child = tokens[value as usize].next;
            }
            match (token.kind, found) {
                (TokenKind::Mapping, Some((name, value))) if holds(name) => {
                    (at, key) = (value, Some(name));
                    break;
                }
                (TokenKind::Mapping, Some((_, value))) => {
                    at = value;
                    // After the colon, or on a line below: what is there belongs to it.
                    if !holds(value) {
                        break;
                    }
                }
                (TokenKind::Sequence, Some((item, _))) => {
                    at = item;
                    if !holds(item) {
                        break;
                    }
                }
                _ => break,
            }
        }
        let (_, pointer) = pointer_of(NodeRef::Source(source, at))?;
        Some(Spot { source, token: at, key, offset, pointer })
    }

    /// The place that a request is about.
    pub(super) fn of(state: &'s ServerState<'_>, at: &TextDocumentPositionParams) -> Option<Spot<'s>> {
        let path = state.path(&at.text_document.uri)?;
        Spot::find(state.snapshot(), &path, state.offset(&path, at.position)?)
    }

    pub(super) fn node(&self) -> NodeRef<'s> {
        NodeRef::Source(self.source, self.token)
    }

    /// The document's root.
    pub(super) fn root(&self) -> NodeRef<'s> {
        NodeRef::Source(self.source, 0)
    }

    pub(super) fn path(&self) -> &'s str {
        self.source.file.shown()
    }

    /// The bytes of what stands there: the key, or the value.
    pub(super) fn location(&self) -> Location {
        let token = &self.source.document().tokens[self.key.unwrap_or(self.token) as usize];
        self.source.location(token.start..token.end)
    }

    /// The last part of the pointer, as it is written.
    pub(super) fn name(&self) -> String {
        crate::lang::yaml::pointer_segments(&self.pointer).last().unwrap_or_default().into_owned()
    }

    /// The object that the document states, an item of a list included: its node, and
    /// the pointer of the place in it.
    pub(super) fn object(&self) -> (NodeRef<'s>, &str) {
        let root = self.root();
        if let Some(rest) = self.pointer.strip_prefix("/items/")
            && root.str_at("/kind").is_some_and(|kind| kind.ends_with("List"))
        {
            let (index, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            if let Some(item) = root.at(&format!("/items/{index}")) {
                return (item, rest);
            }
        }
        (root, &self.pointer)
    }

    /// Whether the document is a kustomization file.
    pub(super) fn is_kustomization(&self) -> bool {
        is_kustomization_file(self.path())
    }
}

/// Whether a file is one that kustomize reads by its name.
pub(super) fn is_kustomization_file(path: &str) -> bool {
    FILE_NAMES.contains(&path.rsplit('/').next().unwrap_or(path))
}

/// The directory of a file.
pub(super) fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// The kustomization file of a directory.
pub(super) fn kustomization_in(snapshot: &Snapshot, directory: &str) -> Option<String> {
    FILE_NAMES.iter().find_map(|name| {
        let path = join(directory, name)?;
        snapshot.file(&path).map(|file| file.path.to_string())
    })
}

/// A value of an effective object that comes from a place.
pub(super) struct Seen<'w> {
    pub(super) object: &'w Effective,
    /// Its JSON Pointer there.
    pub(super) pointer: String,
    /// `None` where the object has nothing there.
    pub(super) node: Option<NodeRef<'w>>,
}

/// The effective objects that the document of a place has a part in: those that it
/// states, else those that it patches.
pub(super) fn objects_of<'w>(world: &'w World, spot: &Spot<'_>) -> Vec<&'w Effective> {
    let (node, _) = spot.object();
    let Some(place) = node.location().filter(|_| !spot.is_kustomization()) else { return Vec::new() };
    let stated = |object: &&Effective| {
        home(object).is_some_and(|home| home.file == place.file && home.start == place.start)
    };
    let found: Vec<&Effective> = world.objects.iter().filter(stated).collect();
    if !found.is_empty() {
        return found;
    }
    let is_here = |object: &&Effective| {
        object.files.iter().any(|(role, _)| *role == FileRole::Patch)
            && any(object.node.get_ref(), 0, &mut |value| {
                value.location().is_some_and(|at| at.file == place.file && within(&at, &place))
            })
    };
    world.objects.iter().filter(is_here).collect()
}

fn within(inner: &Location, outer: &Location) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// The values of effective objects that come from a place; where none does, what they
/// have instead.
pub(super) fn seen<'w>(world: &'w World, spot: &Spot<'_>) -> Vec<Seen<'w>> {
    let (root, inner) = spot.object();
    let place = spot.node().location();
    let states = ObjectId::of(root).is_some();
    let objects = objects_of(world, spot).into_iter();
    let seen = objects.filter_map(|object| {
        let mut exact = None;
        visit(object.node.get_ref(), &mut String::new(), 0, &mut |pointer, value| {
            let is_it = |at: &Location| {
                place.as_ref().is_some_and(|place| {
                    at.file == place.file && (at.start, at.end) == (place.start, place.end)
                })
            };
            if exact.is_none() && value.location().as_ref().is_some_and(is_it) {
                exact = Some((pointer.to_owned(), value));
            }
        });
        match exact {
            Some((pointer, node)) => Some(Seen { object, pointer, node: Some(node) }),
            None if states => {
                let node = object.node.get_ref().at(inner);
                Some(Seen { object, pointer: inner.to_owned(), node })
            }
            None => None,
        }
    });
    seen.collect()
}

/// Whether a node or one below it is such.
fn any<'a>(node: NodeRef<'a>, depth: usize, is: &mut dyn FnMut(NodeRef<'a>) -> bool) -> bool {
    depth <= DEPTH_LIMIT
        && (is(node)
            || node.entries().any(|entry| any(entry.value, depth + 1, is))
            || node.items().any(|item| any(item, depth + 1, is)))
}

/// Every node with its JSON Pointer.
pub(super) fn visit<'a>(
    node: NodeRef<'a>,
    pointer: &mut String,
    depth: usize,
    found: &mut dyn FnMut(&str, NodeRef<'a>),
) {
    if depth > DEPTH_LIMIT {
        return;
    }
    found(pointer, node);
    let length = pointer.len();
    for entry in node.entries() {
        *pointer = pointer_join(pointer, &entry.key);
        visit(entry.value, pointer, depth + 1, found);
        pointer.truncate(length);
    }
    for (index, item) in node.items().enumerate() {
        pointer.push_str(&format!("/{index}"));
        visit(item, pointer, depth + 1, found);
        pointer.truncate(length);
    }
}

/// The clusters that hold an object, with its membership.
pub(super) fn memberships<'w>(
    world: &'w World,
    object: &'w Effective,
) -> impl Iterator<Item = (&'w Cluster, &'w Member)> {
    object.members.iter().map(|(cluster, member)| {
        let cluster = &world.clusters[*cluster as usize];
        (cluster, &cluster.members[*member as usize])
    })
}
