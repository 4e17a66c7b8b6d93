//! Fields of a Flux Kustomization that are known in the cluster only.
//!
//! A parent's substitution may leave unknown parts in what shapes the child's
//! build: `targetNamespace: ${TENANT}`. Such a build runs twice, with two texts
//! in their stead; what differs between the results is unknown.

use crate::build::kustomize::Rewrite;
use crate::lang::yaml::{Entry, Holes, Known, Location, Node, NodeRef, Value};
use crate::model::Unchecked;
use std::sync::Arc;

/// What a build left out: why, the thing, and where.
type Left = (Unchecked, String, Option<Location>);

/// What stands for unknown parts in one of two builds: a letter of a private
/// area of Unicode, so that nothing that is written equals it.
pub(super) const STAND_INS: [&str; 2] = ["\u{e5a1}", "\u{e5a2}"];

/// Why a value is unknown.
const REASON: &str = "it depends on a variable that is known in the cluster only";

/// Whether a node or anything in it is unknown.
fn holds_unknown(node: NodeRef<'_>) -> bool {
    node.is_unknown()
        || node.entries().any(|entry| holds_unknown(entry.value))
        || node.items().any(holds_unknown)
}

/// The same node with `stand_in` for what is unknown, by its place.
fn filled(node: NodeRef<'_>, stand_in: &str) -> Node {
    if let Some(holes) = node.holes() {
        let text: String = holes.parts.iter().map(|part| part.as_deref().unwrap_or(stand_in)).collect();
        return Node::string(&text, node.location());
    }
    if node.is_unknown() {
        return Node::string(stand_in, node.location());
    }
    if !holds_unknown(node) {
        return node.to_node();
    }
    let mut copy = node.to_node();
    if let Some(entries) = copy.make_map() {
        for entry in entries {
            entry.value = filled(entry.value.get_ref(), stand_in);
        }
    } else if let Some(items) = copy.make_seq() {
        for item in items {
            *item = filled(item.get_ref(), stand_in);
        }
    }
    copy
}

/// Takes out what nobody can use before it is known: components, patches and
/// images that are unknown in what they are or apply to.
pub(super) fn settle(rewrite: &mut Rewrite, partial: &mut Vec<Left>) {
    let is_unknown = |node: &Node| node.get_ref().is_unknown();
    note("component", rewrite.components.iter().filter(|node| is_unknown(node)), partial);
    rewrite.components.retain(|node| !is_unknown(node));
    let of =
        |item: NodeRef<'_>, keys: &[&str]| keys.iter().any(|key| item.get(key).is_some_and(holds_unknown));
    keep(&mut rewrite.patches, "patch", partial, |patch| {
        of(patch, &["target", "options", "path"]) || patch.get("patch").is_some_and(is_all_unknown)
    });
    keep(&mut rewrite.images, "image", partial, |image| of(image, &["name"]));
    if rewrite.build_metadata.as_ref().is_some_and(|node| holds_unknown(node.get_ref())) {
        note("buildMetadata", rewrite.build_metadata.take().iter(), partial);
    }
}

/// Takes out the patches and images with unknown parts.
pub(super) fn drop_lists(rewrite: &mut Rewrite, partial: &mut Vec<Left>) {
    keep(&mut rewrite.patches, "patch", partial, holds_unknown);
    keep(&mut rewrite.images, "image", partial, holds_unknown);
}

/// Whether anything in it is unknown.
pub(super) fn is_in(rewrite: &Rewrite) -> bool {
    let Rewrite { namespace, name_prefix, name_suffix, patches, images, .. } = rewrite;
    let fields = [namespace, name_prefix, name_suffix, patches, images];
    fields.into_iter().flatten().any(|node| holds_unknown(node.get_ref()))
}

/// The same with `stand_in` for what is unknown.
pub(super) fn filled_rewrite(rewrite: &Rewrite, stand_in: &str) -> Rewrite {
    let mut copy = rewrite.clone();
    let Rewrite { namespace, name_prefix, name_suffix, patches, images, .. } = &mut copy;
    for node in [namespace, name_prefix, name_suffix, patches, images].into_iter().flatten() {
        *node = filled(node.get_ref(), stand_in);
    }
    copy
}

fn is_all_unknown(node: NodeRef<'_>) -> bool {
    node.is_unknown() && node.holes().is_none()
}

/// Keeps the items of a list of which `unusable` finds nothing unknown.
fn keep(
    list: &mut Option<Node>,
    what: &str,
    partial: &mut Vec<Left>,
    unusable: impl Fn(NodeRef<'_>) -> bool,
) {
    let Some(node) = list else { return };
    if node.get_ref().is_unknown() {
        note(what, list.take().iter(), partial);
        return;
    }
    let out: Vec<Node> =
        node.get_ref().items().filter(|item| unusable(*item)).map(NodeRef::to_node).collect();
    if out.is_empty() {
        return;
    }
    note(what, out.iter(), partial);
    if let Some(items) = node.make_seq() {
        items.retain(|item| !unusable(item.get_ref()));
    }
}

fn note<'n>(what: &str, nodes: impl Iterator<Item = &'n Node>, partial: &mut Vec<Left>) {
    for node in nodes {
        partial.push((
            Unchecked::UnknownField,
            format!("{what} with an unknown part"),
            node.get_ref().location(),
        ));
    }
}

/// What two builds agree on: a node with unknown parts where they differ.
/// `None` where they are the same.
pub(super) fn agreed(one: NodeRef<'_>, other: NodeRef<'_>) -> Option<Node> {
    if let (NodeRef::Source(a, token), NodeRef::Source(b, same)) = (one, other)
        && Arc::ptr_eq(a, b)
        && token == same
    {
        return None;
    }
    if one.is_map() && other.is_map() {
        let keys = || one.entries().map(|entry| entry.key.into_owned());
        if !keys().eq(other.entries().map(|entry| entry.key.into_owned())) {
            return Some(unknown(one));
        }
        let changes = one.entries().zip(other.entries()).map(|(a, b)| agreed(a.value, b.value));
        let changes: Vec<Option<Node>> = changes.collect();
        return changed(one, changes, |node| {
            node.make_map().into_iter().flatten().map(|Entry { value, .. }| value).collect()
        });
    }
    if one.is_seq() && other.is_seq() {
        if one.items().count() != other.items().count() {
            return Some(unknown(one));
        }
        let changes: Vec<Option<Node>> = one.items().zip(other.items()).map(|(a, b)| agreed(a, b)).collect();
        return changed(one, changes, |node| node.make_seq().into_iter().flatten().collect());
    }
    if !one.is_map() && !one.is_seq() && one.same_value(other) == Known::Value(true) {
        return None;
    }
    let parts = |node: NodeRef<'_>, stand_in: &str| -> Option<Vec<String>> {
        Some(node.as_str()?.split(stand_in).map(str::to_owned).collect())
    };
    match (parts(one, STAND_INS[0]), parts(other, STAND_INS[1])) {
        (Some(a), Some(b)) if a == b && a.iter().any(|part| !part.is_empty()) => {
            let mut holes = Vec::new();
            for (index, part) in a.into_iter().enumerate() {
                if index > 0 {
                    holes.push(None);
                }
                if !part.is_empty() {
                    holes.push(Some(part.into()));
                }
            }
            Some(Node::scalar(Value::Holes(Holes::from(holes)), one.location()))
        }
        _ => Some(unknown(one)),
    }
}

fn unknown(node: NodeRef<'_>) -> Node {
    Node::scalar(Value::Unknown(REASON.into()), node.location())
}

fn changed(
    node: NodeRef<'_>,
    changes: Vec<Option<Node>>,
    children: impl Fn(&mut Node) -> Vec<&mut Node>,
) -> Option<Node> {
    if changes.iter().all(Option::is_none) {
        return None;
    }
    let mut copy = node.to_node();
    for (child, change) in children(&mut copy).into_iter().zip(changes) {
        if let Some(change) = change {
            *child = change;
        }
    }
    Some(copy)
}
