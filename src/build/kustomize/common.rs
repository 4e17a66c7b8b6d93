//! Values that several fields of an object have in common: writing one of them writes all.
//!
//! Mirrors what `trackableSetter.SetEntry` (`api/filters/filtersutil`) and `FieldSetter`
//! (`kyaml/yaml/fns.go`) come to, where a label is new in several fields.

use super::nodes;
use super::resource::Resource;
use crate::lang::yaml::{Node, NodeRef, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Who holds a node in common besides the fields: [`Resource::common`] and [`Common`].
const HOLDERS: usize = 2;

/// Nodes that several fields have in common, and the paths to each.
pub(super) struct Common {
    nodes: Vec<Node>,
    places: Vec<Vec<Vec<String>>>,
}

impl Resource {
    /// The values that fields have in common, and where they stand before something is
    /// written: a label that is new in several fields of an object is one node in all of
    /// them. `keys`: the only ones that are written, where that is known.
    pub(super) fn common_in(&self, root: NodeRef<'_>, keys: Option<&FxHashSet<&str>>) -> Option<Common> {
        let nodes: Vec<Node> = match keys {
            Some(keys) => keys.iter().filter_map(|key| self.common.get(*key)).flatten().cloned().collect(),
            None => self.common.values().flatten().cloned().collect(),
        };
        if nodes.is_empty() {
            return None;
        }
        let address_of: FxHashMap<(usize, u32), usize> =
            nodes.iter().enumerate().map(|(at, node)| (node.address(), at)).collect();
        let mut places = vec![Vec::new(); nodes.len()];
        places_of(root, &address_of, &mut Vec::new(), &mut places);
        Some(Common { nodes, places })
    }

    /// Write what changed since [`Resource::common_in`] through to the fields that had the
    /// value in common: whoever writes one of them later writes all.
    pub(super) fn write_through(&mut self, common: Common, keys: Option<&FxHashSet<&str>>) {
        let Common { nodes: common, mut places } = common;
        let is_scalar = |node: NodeRef<'_>| !node.is_map() && !node.is_seq();
        let mut new_nodes: FxHashMap<(usize, u32), Node> = FxHashMap::default();
        for (common, places) in common.iter().zip(&mut places) {
            places.sort_unstable();
            let written = places.iter().rev().find_map(|place| {
                let node = at_place(self.node.get_ref(), place).filter(|node| is_scalar(*node))?.to_node();
                (!node.is(common)).then_some(node)
            });
            let Some(written) = written else { continue };
            let reference = written.get_ref();
            let new = match &written {
                Node::Built(built) => Node::Built(Arc::new((**built).clone())),
                Node::Source(..) if nodes::is_string(reference) => {
                    Node::string(&nodes::text(reference), reference.location())
                }
                Node::Source(..) => {
                    let text = nodes::text(reference);
                    Node::scalar(Value::Plain(text.as_ref().into()), reference.location())
                }
            };
            new_nodes.insert(common.address(), new);
        }
        // Of a node that only `common` holds there is none left in the object.
        let is_left = |node: &Node| matches!(node, Node::Built(built) if Arc::strong_count(built) > HOLDERS);
        if common.iter().any(|node| new_nodes.contains_key(&node.address()) && is_left(node))
            && let Some(changed) = replaced(&self.node, &new_nodes)
        {
            self.node = changed;
        }
        for (common, places) in common.iter().zip(&places) {
            let Some(new) = new_nodes.get(&common.address()) else { continue };
            for place in places {
                let mut node = Some(&mut self.node);
                for step in place {
                    node = node.and_then(|node| node.get_mut(step));
                }
                if let Some(node) = node.filter(|node| is_scalar(node.get_ref())) {
                    *node = new.clone();
                }
            }
        }
        let renew = |node: &mut Node| {
            if let Some(new) = new_nodes.get(&node.address()) {
                *node = new.clone();
            }
        };
        match keys {
            Some(keys) => {
                for key in keys {
                    self.common.get_mut(*key).into_iter().flatten().for_each(renew);
                }
            }
            None => self.common.values_mut().flatten().for_each(renew),
        }
    }
}

/// Paths through maps to each of some nodes.
fn places_of(
    node: NodeRef<'_>,
    wanted: &FxHashMap<(usize, u32), usize>,
    path: &mut Vec<String>,
    found: &mut [Vec<Vec<String>>],
) {
    // What a source holds is no node of a transformer.
    let NodeRef::Built(built) = node else { return };
    if let Value::Map(entries) = &built.value {
        for entry in entries {
            let Node::Built(value) = &entry.value else { continue };
            let common = wanted.get(&entry.value.address());
            // Most entries are labels of others: no path is made for them.
            if common.is_none() && !matches!(value.value, Value::Map(_)) {
                continue;
            }
            path.push(entry.key_text().into_owned());
            if let Some(at) = common {
                found[*at].push(path.clone());
            }
            places_of(entry.value.get_ref(), wanted, path, found);
            path.pop();
        }
    }
}

fn at_place<'n>(root: NodeRef<'n>, place: &[String]) -> Option<NodeRef<'n>> {
    place.iter().try_fold(root, |node, step| node.get(step))
}

/// A node with others in the place of some below it, those in lists too; `None` where
/// none of them is there.
fn replaced(node: &Node, new: &FxHashMap<(usize, u32), Node>) -> Option<Node> {
    let Node::Built(built) = node else { return None };
    if let Some(new) = new.get(&node.address()) {
        return Some(new.clone());
    }
    match &built.value {
        Value::Map(entries) => {
            let changed = changes(entries.iter().map(|entry| &entry.value), new)?;
            let mut copy = node.clone();
            let entries = copy.make_map()?;
            changed.into_iter().for_each(|(at, value)| entries[at].value = value);
            Some(copy)
        }
        Value::Seq(items) => {
            let changed = changes(items.iter(), new)?;
            let mut copy = node.clone();
            let items = copy.make_seq()?;
            changed.into_iter().for_each(|(at, value)| items[at] = value);
            Some(copy)
        }
        _ => None,
    }
}

/// The places of those of some nodes that [`replaced`] makes anew; `None` where none is.
fn changes<'n>(
    nodes: impl Iterator<Item = &'n Node>,
    new: &FxHashMap<(usize, u32), Node>,
) -> Option<Vec<(usize, Node)>> {
    // Most are values of other labels.
    let may_hold = |node: &Node| match node {
        Node::Source(..) => false,
        Node::Built(built) => {
            matches!(built.value, Value::Map(_) | Value::Seq(_)) || new.contains_key(&node.address())
        }
    };
    let nodes = nodes.enumerate().filter(|(_, node)| may_hold(node));
    let changed: Vec<_> = nodes.filter_map(|(at, node)| Some((at, replaced(node, new)?))).collect();
    (!changed.is_empty()).then_some(changed)
}
