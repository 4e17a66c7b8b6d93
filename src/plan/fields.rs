//! What differs between two nodes: every field by path, lists by merge key or
//! name and not by index.

use crate::lang::yaml::{Known, Location, NodeRef, pointer_join};
use crate::model::value::to_json;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Value, json};
use std::borrow::Cow;

/// One field that differs.
#[derive(Clone, Debug)]
pub(crate) struct FieldChange {
    /// JSON Pointer; items of named lists as `{name=web}`.
    pub path: String,
    /// Before; null when absent.
    pub before: Value,
    /// After; null when absent.
    pub after: Value,
    /// Where the new value (or, for a removed one, its parent) is.
    pub head: Option<Location>,
    /// Where the old value was.
    pub base: Option<Location>,
}

/// Depth to which fields are told apart; what is deeper differs as a whole.
const DEPTH: usize = 64;

/// The fields that differ between two nodes, in order of the base, then what is
/// new. An unknown value on either side is not a change.
pub(crate) fn compare(base: NodeRef<'_>, head: NodeRef<'_>) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    walk(base, head, String::new(), &mut changes, 0);
    changes
}

fn walk(base: NodeRef<'_>, head: NodeRef<'_>, path: String, out: &mut Vec<FieldChange>, depth: usize) {
    if base.same_value(head) != Known::Value(false) {
        return;
    }
    if depth < DEPTH && base.is_map() && head.is_map() {
        return walk_maps(base, head, &path, out, depth + 1);
    }
    if depth < DEPTH
        && base.is_seq()
        && head.is_seq()
        && let Some(key) = list_key(base, head)
    {
        return walk_lists(base, head, key, &path, out, depth + 1);
    }
    out.push(FieldChange {
        path,
        before: to_json(base),
        after: to_json(head),
        head: head.location(),
        base: base.location(),
    });
}

/// The fields that differ between two maps at a path; `depth`: of what they hold.
fn walk_maps(base: NodeRef<'_>, head: NodeRef<'_>, path: &str, out: &mut Vec<FieldChange>, depth: usize) {
    let (of_base, of_head) = (by_key(base), by_key(head));
    for entry in base.entries() {
        let path = pointer_join(path, &entry.key);
        match of_head.get(&entry.key).copied() {
            // Of a key that stands twice, one value counts.
            Some(other) => {
                let own = of_base.get(&entry.key).copied().unwrap_or(entry.value);
                walk(own, other, path, out, depth);
            }
            None if is_metadata_map(&path) => {
                for inner in entry.value.entries() {
                    out.push(removed(inner.value, pointer_join(&path, &inner.key), head.location()));
                }
            }
            None => out.push(removed(entry.value, path, head.location())),
        }
    }
    for entry in head.entries().filter(|entry| !of_base.contains_key(&entry.key)) {
        let path = pointer_join(path, &entry.key);
        if is_metadata_map(&path) {
            for inner in entry.value.entries() {
                out.push(added(inner.value, pointer_join(&path, &inner.key), inner.key_location()));
            }
            continue;
        }
        out.push(added(entry.value, path, entry.key_location()));
    }
}

/// The items that differ between two lists whose items have names; `depth`: of the items.
/// Their order alone means nothing to the controllers.
fn walk_lists(
    base: NodeRef<'_>,
    head: NodeRef<'_>,
    key: &str,
    path: &str,
    out: &mut Vec<FieldChange>,
    depth: usize,
) {
    let (of_base, of_head) = (by_identity(base, key), by_identity(head, key));
    for item in base.items() {
        let Some(name) = item.get(key).and_then(NodeRef::text) else { continue };
        let path = format!("{path}/{{{key}={name}}}");
        match of_head.get(&name) {
            Some(other) => walk(item, *other, path, out, depth),
            None => {
                let change = removed(item, path, head.location());
                out.push(FieldChange { base: identity(item, key), ..change });
            }
        }
    }
    for item in head.items() {
        let Some(name) = item.get(key).and_then(NodeRef::text) else { continue };
        if !of_base.contains_key(&name) {
            let change = added(item, format!("{path}/{{{key}={name}}}"), None);
            out.push(FieldChange { head: identity(item, key), ..change });
        }
    }
}

/// Where the value is written that makes an item of a keyed list another one: a variable
/// that changed a host has its own line there, the item has not.
fn identity(item: NodeRef<'_>, key: &str) -> Option<Location> {
    item.get(key).and_then(NodeRef::location).or_else(|| item.location())
}

/// The first value of each key.
fn by_key(map: NodeRef<'_>) -> FxHashMap<Cow<'_, str>, NodeRef<'_>> {
    let mut found = FxHashMap::default();
    for entry in map.entries() {
        found.entry(entry.key).or_insert(entry.value);
    }
    found
}

/// The first item of each identity.
fn by_identity<'n>(list: NodeRef<'n>, key: &str) -> FxHashMap<Cow<'n, str>, NodeRef<'n>> {
    let mut found = FxHashMap::default();
    for item in list.items() {
        if let Some(name) = item.get(key).and_then(NodeRef::text) {
            found.entry(name).or_insert(item);
        }
    }
    found
}

/// Labels and annotations are told one by one, also the first and the last.
fn is_metadata_map(path: &str) -> bool {
    matches!(path, "/metadata/labels" | "/metadata/annotations")
}

fn removed(node: NodeRef<'_>, path: String, head: Option<Location>) -> FieldChange {
    FieldChange { path, before: to_json(node), after: Value::Null, head, base: node.location() }
}

fn added(node: NodeRef<'_>, path: String, key: Option<Location>) -> FieldChange {
    FieldChange { path, before: Value::Null, after: to_json(node), head: node.location().or(key), base: None }
}

/// The key that tells the items of two lists apart: present and unique in both.
fn list_key(base: NodeRef<'_>, head: NodeRef<'_>) -> Option<&'static str> {
    ["name", "mountPath", "containerPort", "port", "key", "ip", "topologyKey", "host"].into_iter().find(
        |key| {
            [base, head].iter().all(|list| {
                let mut seen = FxHashSet::default();
                list.items().all(|item| {
                    let text = item.get(key).filter(|_| item.is_map()).and_then(NodeRef::text);
                    text.is_some_and(|text| seen.insert(text))
                })
            }) && base.items().next().is_some()
                && head.items().next().is_some()
        },
    )
}

/// Fields that differ, for the details of an effect.
pub(super) fn fields(changes: &[FieldChange]) -> Value {
    let list = changes
        .iter()
        .map(|change| json!({"path": change.path, "before": change.before, "after": change.after}));
    Value::Array(list.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::yaml::parse_nodes;

    #[test]
    fn fields_are_named_by_identity() {
        for (base, head, expected) in [
            ("a: 1", "a: 1 # c", vec![]),
            ("a: {x: 1, y: 2}", "a:\n  y: 2\n  x: 1", vec![]),
            ("a: 1", "a: 2", vec!["/a"]),
            ("a: 1", "b: 1", vec!["/a", "/b"]),
            (
                "l: [{name: a, v: 1}, {name: b, v: 2}]",
                "l: [{name: b, v: 3}, {name: a, v: 1}]",
                vec!["/l/{name=b}/v"],
            ),
            ("l: [{name: a}]", "l: [{name: a}, {name: b}]", vec!["/l/{name=b}"]),
            ("l: [1, 2]", "l: [2, 1]", vec!["/l"]),
            ("a/b: 1", "a/b: 2", vec!["/a~1b"]),
        ] {
            let (base, head) = (parse_nodes("b", base).remove(0), parse_nodes("h", head).remove(0));
            let paths: Vec<String> =
                compare(base.get_ref(), head.get_ref()).into_iter().map(|change| change.path).collect();
            assert_eq!(paths, expected);
        }
    }
}
