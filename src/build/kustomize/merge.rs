//! Strategic merge, step by step as kustomize does it, with its quirks.
//!
//! Mirrors `kyaml/yaml/merge2` and `kyaml/yaml/walk`, with lists growing at their front.

use super::elements::{
    append_elements, distinct, find_element, in_merge_order, is_null_or_empty_map, key_tuples,
    keys_with_values, set_element, values_of,
};
use super::error::{BuildError, ErrorClass, Result};
use super::nodes::{self, Kind, Tag};
use super::schema::{Schema, Schemas};
use crate::lang::yaml::{Entry, Node, NodeRef, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;

/// Values that the patches of one kustomization walk over, those that a patch leaves
/// as they are included: each patch walks over its whole object, so that many patches
/// of a large object would take hours. No real repository came to 100,000.
pub(super) const WALK_LIMIT: u64 = 5_000_000;

/// Merge a patch into an object; `None` when nothing is left of it. What the
/// patch doesn't change keeps its nodes. `walked` counts towards [`WALK_LIMIT`].
pub(super) fn merge(
    schemas: &Schemas,
    object: &Node,
    patch: &Node,
    walked: &mut u64,
) -> Result<Option<Node>> {
    let merger = Merger { schemas, walked: Cell::new(*walked) };
    let merged = merger.walk(Some(object.get_ref()), patch.get_ref(), false, Schema::Unknown);
    *walked = merger.walked.get();
    merged
}

struct Merger<'s> {
    schemas: &'s Schemas,
    walked: Cell<u64>,
}

/// The directive of a patch's map or list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Directive {
    Merge,
    Replace,
    Delete,
}

const DIRECTIVE: &str = "$patch";

/// Whether a patch's map says that it replaces its target.
pub(super) fn is_replacement(patch: NodeRef<'_>) -> bool {
    patch.get(DIRECTIVE).is_some_and(|directive| nodes::text(directive) == "replace")
}

fn directive_of(value: NodeRef<'_>) -> Result<Directive> {
    match &*nodes::text(value) {
        "merge" => Ok(Directive::Merge),
        "replace" => Ok(Directive::Replace),
        "delete" => Ok(Directive::Delete),
        other => {
            let message = format!("`$patch` must be merge, replace or delete, not `{other}`");
            Err(BuildError::at(ErrorClass::PatchApply, message, value))
        }
    }
}

/// The directive of a map, and the map without it.
fn map_directive(patch: NodeRef<'_>) -> Result<(Directive, Node)> {
    let mut node = patch.to_node();
    match patch.get(DIRECTIVE) {
        None => Ok((Directive::Merge, node)),
        Some(value) => {
            let directive = directive_of(value)?;
            node.remove(DIRECTIVE);
            Ok((directive, node))
        }
    }
}

/// The directive of a list: an item that is nothing else. The list comes back
/// without such items.
fn list_directive(patch: NodeRef<'_>) -> Result<(Directive, Vec<Node>)> {
    let mut items: Vec<Node> = patch.items().map(NodeRef::to_node).collect();
    let marked = patch.items().find_map(|item| Some((item, item.is_map().then(|| item.get(DIRECTIVE))??)));
    let Some((_, value)) = marked.filter(|(item, _)| item.entries().count() == 1) else {
        return Ok((Directive::Merge, items));
    };
    let directive = directive_of(value)?;
    set_element(&mut items, None, &[DIRECTIVE], &[nodes::text(value).into_owned()]);
    Ok((directive, items))
}

fn wrong_kind(dest: NodeRef<'_>, patch: NodeRef<'_>) -> Box<BuildError> {
    let name = |node| match nodes::kind(Some(node)) {
        Kind::Map => "a map",
        Kind::Seq => "a list",
        Kind::Scalar | Kind::Null => "a scalar",
    };
    let message = format!("this patch has {} where its target has {}", name(patch), name(dest));
    BuildError::at(ErrorClass::PatchApply, message, patch).related("the target's", dest.location())
}

impl Merger<'_> {
    /// Count a value.
    fn step(&self, value: NodeRef<'_>) -> Result<()> {
        self.walked.set(self.walked.get() + 1);
        if self.walked.get() <= WALK_LIMIT {
            return Ok(());
        }
        let message = format!("the patches of this kustomization walk over more than {WALK_LIMIT} values");
        Err(BuildError::at(ErrorClass::Limit, message, value))
    }

    /// Merge `patch` into `dest`. `same` says that both are one node, which kyaml
    /// walks when it adds what the destination doesn't have.
    fn walk(
        &self,
        dest: Option<NodeRef<'_>>,
        patch: NodeRef<'_>,
        same: bool,
        schema: Schema<'_>,
    ) -> Result<Option<Node>> {
        let (dest_kind, patch_kind) = (nodes::kind(dest), nodes::kind(Some(patch)));
        if let Some(dest) = dest
            && dest_kind != Kind::Null
            && patch_kind != Kind::Null
            && dest_kind != patch_kind
        {
            return Err(wrong_kind(dest, patch));
        }
        let schema = schema
            .or_else(|| dest.map_or(Schema::Unknown, |dest| self.schemas.of_object(dest)))
            .or_else(|| self.schemas.of_object(patch));
        let kind = if dest_kind == Kind::Null { patch_kind } else { dest_kind };
        if patch_kind == Kind::Null {
            return Ok(None);
        }
        match kind {
            Kind::Null => Ok(None),
            Kind::Scalar => Ok(Some(patch.to_node())),
            Kind::Seq => match schema.merge_keys() {
                None => Ok(Some(patch.to_node())),
                Some(keys) => {
                    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                    self.walk_list(dest.filter(|_| dest_kind != Kind::Null), patch, same, schema, &keys)
                }
            },
            Kind::Map => match dest.filter(|_| dest_kind != Kind::Null) {
                None => {
                    let (directive, patch) = match map_directive(patch) {
                        Ok(found) => found,
                        // An unknown directive stays an ordinary field here.
                        Err(_) => (Directive::Merge, patch.to_node()),
                    };
                    if directive == Directive::Delete {
                        return Ok(None);
                    }
                    self.walk_map(patch.get_ref(), patch.get_ref(), true, schema).map(Some)
                }
                Some(dest) => {
                    let (directive, patch) = map_directive(patch)?;
                    match directive {
                        Directive::Delete => Ok(None),
                        Directive::Replace => {
                            self.walk_map(patch.get_ref(), patch.get_ref(), true, schema).map(Some)
                        }
                        Directive::Merge if same => {
                            self.walk_map(patch.get_ref(), patch.get_ref(), true, schema).map(Some)
                        }
                        Directive::Merge => self.walk_map(dest, patch.get_ref(), false, schema).map(Some),
                    }
                }
            },
        }
    }

    fn walk_map(
        &self,
        dest: NodeRef<'_>,
        patch: NodeRef<'_>,
        same: bool,
        schema: Schema<'_>,
    ) -> Result<Node> {
        let mut changes: Vec<(String, Option<Node>)> = Vec::new();
        let mut seen = FxHashSet::default();
        let mut values: FxHashMap<Cow<'_, str>, NodeRef<'_>> = FxHashMap::default();
        for entry in patch.entries() {
            values.entry(entry.key).or_insert(entry.value);
        }
        for entry in dest.entries() {
            self.step(entry.value)?;
            if !seen.insert(entry.key.clone()) {
                continue;
            }
            let field = schema.field(&entry.key);
            let change = match values.get(&entry.key).copied() {
                None => self.settle(entry.value, field)?,
                Some(value) => match self.walk(Some(entry.value), value, same, field)? {
                    None => FieldEffect::Clear,
                    Some(node) => {
                        let node = nodes::settled(entry.value, node);
                        if node.is(&entry.value.to_node()) {
                            FieldEffect::None
                        } else {
                            FieldEffect::Set(node)
                        }
                    }
                },
            };
            match change {
                FieldEffect::None => {}
                FieldEffect::Clear => changes.push((entry.key.into_owned(), None)),
                FieldEffect::Set(node) => changes.push((entry.key.into_owned(), Some(node))),
            }
        }
        let mut result = dest.to_node();
        if !same && dest.entries().next().is_none() {
            result = nodes::restyled(result, nodes::style(patch));
        }
        let mut added: Vec<Entry> = Vec::new();
        if !same {
            for entry in patch.entries().filter(|entry| !seen.contains(&entry.key)) {
                let field = schema.field(&entry.key);
                if let Some(value) = self.walk(None, entry.value, false, field)? {
                    added.push(Entry { key: entry.key_node.to_node(), value });
                }
            }
        }
        Ok(with_changes(result, changes, added))
    }

    /// Walk what only the destination has: fields without a value vanish, written
    /// nulls lose their tag, texts of transformers get quotes, lists that merge by
    /// key are put in order.
    fn settle(&self, dest: NodeRef<'_>, schema: Schema<'_>) -> Result<FieldEffect> {
        match nodes::kind(Some(dest)) {
            Kind::Null => match &*nodes::text(dest) {
                "" => Ok(FieldEffect::Clear),
                text => Ok(FieldEffect::Set(Node::scalar(Value::Plain(text.into()), dest.location()))),
            },
            Kind::Scalar => Ok(nodes::quoted_in_merge(dest).map_or(FieldEffect::None, FieldEffect::Set)),
            Kind::Seq => {
                let Some(keys) = schema.merge_keys() else { return Ok(FieldEffect::None) };
                let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                let keys = &keys[..];
                let elements = schema.elements();
                if self.is_settled(dest, keys, elements)? {
                    return Ok(FieldEffect::None);
                }
                let items: Vec<Node> = dest.items().map(NodeRef::to_node).collect();
                let merged = self.merge_elements(items, None, false, elements, keys)?;
                Ok(FieldEffect::Set(nodes::list_like(merged, dest)))
            }
            Kind::Map => {
                let schema = schema.or_else(|| self.schemas.of_object(dest));
                let mut changes = Vec::new();
                for entry in dest.entries() {
                    self.step(entry.value)?;
                    let field = schema.field(&entry.key);
                    match self.settle(entry.value, field)? {
                        FieldEffect::None => {}
                        FieldEffect::Clear => changes.push((entry.key.into_owned(), None)),
                        FieldEffect::Set(node) => changes.push((entry.key.into_owned(), Some(node))),
                    }
                }
                if changes.is_empty() {
                    return Ok(FieldEffect::None);
                }
                let mut node = dest.to_node();
                for (key, change) in changes {
                    match change {
                        None => drop(node.remove(&key)),
                        Some(value) => {
                            if let Some(field) = node.get_mut(&key) {
                                *field = value;
                            }
                        }
                    }
                }
                Ok(FieldEffect::Set(node))
            }
        }
    }

    /// Whether merging a list with nothing leaves it as it is: every element has a
    /// key of its own and no element changes.
    fn is_settled(&self, list: NodeRef<'_>, keys: &[&str], elements: Schema<'_>) -> Result<bool> {
        let mut seen = BTreeSet::new();
        for item in list.items() {
            self.step(item)?;
            let key = match keys {
                [""] => nodes::is_string(item).then(|| nodes::text(item)),
                [key, rest @ ..] if item.is_map() => {
                    let plain = rest.iter().all(|key| item.get(key).is_none());
                    Some(nodes::field_text(item, key)).filter(|_| plain)
                }
                _ => None,
            };
            match key {
                Some(key) if !key.is_empty() && seen.insert(key.to_string()) => {}
                _ => return Ok(false),
            }
            if item.is_map() && !matches!(self.settle(item, elements)?, FieldEffect::None) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn walk_list(
        &self,
        dest: Option<NodeRef<'_>>,
        patch: NodeRef<'_>,
        same: bool,
        schema: Schema<'_>,
        keys: &[&str],
    ) -> Result<Option<Node>> {
        let elements = schema.elements();
        let items = |node: NodeRef<'_>| node.items().map(NodeRef::to_node).collect::<Vec<Node>>();
        let (place, merged) = match dest {
            None => (patch, self.merge_elements(items(patch), None, true, elements, keys)?),
            Some(dest) => {
                let (directive, patch_items) = list_directive(patch)?;
                match directive {
                    Directive::Delete => return Ok(None),
                    Directive::Replace => {
                        (patch, self.merge_elements(patch_items, None, true, elements, keys)?)
                    }
                    Directive::Merge if same => {
                        (patch, self.merge_elements(patch_items, None, true, elements, keys)?)
                    }
                    Directive::Merge => {
                        (dest, self.merge_elements(items(dest), Some(patch_items), false, elements, keys)?)
                    }
                }
            }
        };
        let unchanged = merged.len() == place.items().count()
            && merged.iter().zip(place.items()).all(|(new, old)| new.is(&old.to_node()));
        if unchanged {
            return Ok(Some(place.to_node()));
        }
        Ok(Some(nodes::list_like(merged, place)))
    }

    /// What becomes of one element of a list, of the destination, the patch or both;
    /// `None` where nothing is left of it.
    fn merge_element(
        &self,
        (dest, patch): (Option<&Node>, Option<&Node>),
        same: bool,
        elements: Schema<'_>,
        keys: &[&str],
        values: &[String],
    ) -> Result<Option<Node>> {
        let result = match (dest, patch) {
            (None, None) => None,
            (Some(item), None) => match self.settle(item.get_ref(), elements)? {
                FieldEffect::None => Some(item.clone()),
                FieldEffect::Clear => None,
                FieldEffect::Set(node) => Some(node),
            },
            (dest, Some(patch)) => self.walk(dest.map(Node::get_ref), patch.get_ref(), same, elements)?,
        };
        let Some(mut result) = result.filter(|node| !is_null_or_empty_map(node.get_ref())) else {
            return Ok(None);
        };
        for (key, value) in keys.iter().zip(values) {
            if value.is_empty() {
                continue;
            }
            if !result.get_ref().is_map() {
                let old = result.get_ref();
                if !nodes::is_string(old) || nodes::text(old) != value.as_str() {
                    let value = nodes::overwrite(Some(old), value, Tag::Untagged);
                    result = Node::scalar(value, old.location());
                }
            } else if result.get_ref().get(key).is_none() {
                let value = Node::scalar(Value::Plain(value.as_str().into()), None);
                nodes::set_entry(&mut result, key, value, None);
            }
        }
        Ok(Some(result))
    }

    /// [`Merger::merge_elements`] where every element has all the keys that any has, and
    /// no two of one list have the same: each is looked up and set once. `None` where
    /// that is not so.
    fn merge_distinct(&self, list: &Elements<'_>, keys: &[&str]) -> Result<Option<Vec<Node>>> {
        let Some((valid_keys, dest_values)) = distinct(list.items, list.patch, keys) else {
            return Ok(None);
        };
        let patch_values: Vec<Vec<String>> = list
            .patch
            .unwrap_or_default()
            .iter()
            .map(|item| values_of(item.get_ref(), &valid_keys))
            .collect();
        let mut dest: Vec<Option<Node>> = list.items.iter().cloned().map(Some).collect();
        let mut merged: Vec<Node> = Vec::new();
        for (place, number) in in_merge_order(&dest_values, &patch_values) {
            let (dest_item, values) = match (place, number) {
                (Some(place), _) => (dest[place].clone(), &dest_values[place]),
                (None, Some(number)) => (None, &patch_values[number]),
                (None, None) => continue,
            };
            let of_patch = number.and_then(|number| list.patch?.get(number));
            let patch_item = if list.patch.is_none() && list.same { dest_item.as_ref() } else { of_patch };
            let pair = (dest_item.as_ref(), patch_item);
            let result = self.merge_element(pair, list.same, list.schema, &valid_keys, values)?;
            let Some(result) = result else {
                if let Some(place) = place {
                    dest[place] = None;
                }
                continue;
            };
            // As below: in place, unless the patch replaces it.
            let replaced = !list.same && patch_item.is_some_and(|item| is_replacement(item.get_ref()));
            match place {
                Some(place) => {
                    if result.get_ref().is_map() && !replaced {
                        dest[place] = Some(result);
                    }
                    // What is appended last takes its place, or with several keys the end.
                    if valid_keys.len() == 1 {
                        merged.extend(dest[place].clone());
                    }
                }
                None => merged.push(result),
            }
        }
        if valid_keys.len() > 1 {
            merged.extend(dest.into_iter().flatten());
        }
        Ok(Some(merged))
    }

    /// Merge the elements of a list by their keys. Without a patch the destination
    /// is walked alone, or (`same`) with itself as the patch.
    fn merge_elements(
        &self,
        mut dest: Vec<Node>,
        patch: Option<Vec<Node>>,
        same: bool,
        elements: Schema<'_>,
        keys: &[&str],
    ) -> Result<Vec<Node>> {
        let whole = Elements { items: &dest, patch: patch.as_deref(), same, schema: elements };
        if let Some(merged) = self.merge_distinct(&whole, keys)? {
            return Ok(merged);
        }
        // In all their combinations, as kyaml does: some of them lack a key, or share it.
        let count = dest.len() + patch.as_ref().map_or(0, Vec::len);
        self.walked.set(self.walked.get() + (count * count) as u64);
        if let Some(first) = patch.iter().flatten().chain(&dest).next() {
            self.step(first.get_ref())?;
        }
        let tuples = key_tuples(patch.iter().flatten().chain(&dest), keys);
        let valid_keys = keys_with_values(keys, &tuples);
        let mut merged: Vec<Node> = Vec::new();
        for tuple in &tuples {
            let values: Vec<String> = keys
                .iter()
                .zip(tuple)
                .filter(|(key, _)| valid_keys.contains(key))
                .map(|(_, value)| value.clone())
                .collect();
            let dest_item = find_element(&dest, &valid_keys, &values).map(|at| dest[at].clone());
            let patch_item = match &patch {
                Some(patch) => find_element(patch, &valid_keys, &values).map(|at| patch[at].clone()),
                None if same => dest_item.clone(),
                None => None,
            };
            let pair = (dest_item.as_ref(), patch_item.as_ref());
            let Some(result) = self.merge_element(pair, same, elements, &valid_keys, &values)? else {
                set_element(&mut dest, None, &valid_keys, &values);
                continue;
            };
            // kyaml merges in place: the destination's element is the result, unless
            // the patch replaces it.
            let replaced = !same && patch_item.as_ref().is_some_and(|item| is_replacement(item.get_ref()));
            if let Some(item) = &dest_item
                && item.get_ref().is_map()
                && !replaced
                && let Some(at) = dest.iter().position(|known| known.is(item))
            {
                dest[at] = result.clone();
            }
            set_element(&mut merged, Some(&result), &valid_keys, &values);
        }
        if tuples.is_empty() {
            return Ok(dest);
        }
        append_elements(&mut merged, &dest, &valid_keys);
        Ok(merged)
    }
}

/// A list that is merged by its keys, and with what.
struct Elements<'e> {
    items: &'e [Node],
    patch: Option<&'e [Node]>,
    /// Whether the list is walked with itself as the patch.
    same: bool,
    /// Of an element.
    schema: Schema<'e>,
}

/// What walking a part that the patch doesn't mention does to it.
enum FieldEffect {
    None,
    Clear,
    Set(Node),
}

/// A map with fields that change or go, and with others at its end.
fn with_changes(mut map: Node, changes: Vec<(String, Option<Node>)>, mut added: Vec<Entry>) -> Node {
    if changes.is_empty() && added.is_empty() {
        return map;
    }
    let Some(entries) = map.make_map() else { return map };
    let mut gone = FxHashSet::default();
    for (key, change) in changes {
        match (change, entries.value_mut(&key)) {
            (Some(value), Some(old)) => *old = value,
            (None, _) => drop(gone.insert(key)),
            (Some(_), None) => {}
        }
    }
    if !gone.is_empty() {
        entries.retain(|entry| !gone.contains(&*entry.key_text()));
    }
    entries.append(&mut added);
    map
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::yaml::parse_nodes;

    fn node(text: &str) -> Node {
        parse_nodes("a.yaml", text).remove(0)
    }

    #[test]
    fn what_patches_walk_over_is_limited_aloud() {
        let schemas = Schemas::default();
        let (object, patch) = (node("a: {b: 1, c: [d, e]}\n"), node("a: {b: 2}\n"));
        let mut walked = 0;
        assert!(merge(&schemas, &object, &patch, &mut walked).is_ok_and(|merged| merged.is_some()));
        assert_eq!(walked, 3, "`a`, `a.b`, `a.c`");
        walked = WALK_LIMIT - 3;
        assert!(merge(&schemas, &object, &patch, &mut walked).is_ok());
        let error = merge(&schemas, &object, &patch, &mut walked).expect_err("that is too much");
        assert_eq!(error.class, ErrorClass::Limit);
        assert!(error.message.contains("more than 5000000 values"), "{}", error.message);
    }
}
