//! Elements of a list that merges by keys: which are the same, and how one is set.
//!
//! Mirrors `kyaml/yaml/walk/associative_sequence.go` and the element setters of
//! `kyaml/yaml/fns.go`.

use super::nodes::{self, Kind};
use crate::lang::yaml::{Node, NodeRef};
use rustc_hash::{FxHashMap, FxHashSet};

/// The keys that have a value, and those of each element of the destination; `None`
/// where an element lacks one, is neither a map nor, without a key, a scalar, or shares
/// all with another one of its list.
pub(super) fn distinct<'k>(
    dest: &[Node],
    patch: Option<&[Node]>,
    keys: &[&'k str],
) -> Option<(Vec<&'k str>, Vec<Vec<String>>)> {
    let patch = patch.unwrap_or_default();
    let first = dest.first().or(patch.first())?.get_ref();
    let is_fit = |node: NodeRef<'_>| match keys {
        [""] => nodes::kind(Some(node)) == Kind::Scalar,
        _ => node.is_map() && node.entries().next().is_some(),
    };
    let filled = |node: NodeRef<'_>, key: &str| match key {
        "" => !nodes::text(node).is_empty(),
        _ => !key_text(node, key).is_empty(),
    };
    let valid: Vec<&str> = keys.iter().copied().filter(|key| filled(first, key)).collect();
    let is_whole = |node: NodeRef<'_>| keys.iter().all(|key| filled(node, key) == valid.contains(key));
    let mut all = dest.iter().chain(patch).map(Node::get_ref);
    if valid.is_empty() || !all.all(|node| is_fit(node) && is_whole(node)) {
        return None;
    }
    let values = |list: &[Node]| -> Option<Vec<Vec<String>>> {
        let values: Vec<Vec<String>> = list.iter().map(|item| values_of(item.get_ref(), &valid)).collect();
        let mut known = FxHashSet::default();
        values.iter().all(|values| known.insert(values.clone())).then_some(values)
    };
    values(patch)?;
    let dest = values(dest)?;
    Some((valid, dest))
}

pub(super) fn values_of(node: NodeRef<'_>, keys: &[&str]) -> Vec<String> {
    let value = |key: &&str| match *key {
        "" => nodes::text(node).into_owned(),
        key => key_text(node, key),
    };
    keys.iter().map(value).collect()
}

/// Which elements of the destination and of the patch meet, by their numbers: first those
/// of the patch, in its order, then the others of the destination.
pub(super) fn in_merge_order(
    dest: &[Vec<String>],
    patch: &[Vec<String>],
) -> Vec<(Option<usize>, Option<usize>)> {
    let mut places: FxHashMap<&[String], usize> = FxHashMap::default();
    places.extend(dest.iter().enumerate().map(|(place, values)| (&values[..], place)));
    let mut is_patched = vec![false; dest.len()];
    let mut order = Vec::with_capacity(dest.len());
    for (number, values) in patch.iter().enumerate() {
        let place = places.get(&values[..]).copied();
        if let Some(place) = place {
            is_patched[place] = true;
        }
        order.push((place, Some(number)));
    }
    let alone = (0..dest.len()).filter(|place| !is_patched[*place]);
    order.extend(alone.map(|place| (Some(place), None)));
    order
}

/// The values of the keys that elements have, each combination once; empty where an
/// element lacks a key.
pub(super) fn key_tuples<'e>(elements: impl Iterator<Item = &'e Node>, keys: &[&str]) -> Vec<Vec<String>> {
    let mut tuples: Vec<Vec<String>> = Vec::new();
    let mut known = FxHashSet::default();
    for item in elements {
        let tuple = values_of(item.get_ref(), keys);
        if known.insert(tuple.clone()) {
            tuples.push(tuple);
        }
    }
    if keys.len() > 1 {
        unify(&mut tuples);
    }
    tuples
}

/// The keys that have a value in any tuple; all where none has.
pub(super) fn keys_with_values<'k>(keys: &[&'k str], tuples: &[Vec<String>]) -> Vec<&'k str> {
    if keys == [""] {
        return keys.to_vec();
    }
    let used = |at: &usize| tuples.iter().any(|tuple| !tuple[*at].is_empty());
    let valid: Vec<&str> = (0..keys.len()).filter(used).map(|at| keys[at]).collect();
    if valid.is_empty() { keys.to_vec() } else { valid }
}

/// Tuples that share a component and differ only where one is empty become one.
/// A tuple is compared as it was before it met the others, so one that fits
/// several brings the last of them into its place.
fn unify(tuples: &mut [Vec<String>]) {
    for i in 0..tuples.len() {
        let first = tuples[i].clone();
        for j in 0..tuples.len() {
            if let Some(unified) = unified(&first, &tuples[j]) {
                tuples[i].clone_from(&unified);
                tuples[j] = unified;
            }
        }
    }
}

fn unified(a: &[String], b: &[String]) -> Option<Vec<String>> {
    let mut common = false;
    let mut result = Vec::new();
    for (left, right) in a.iter().zip(b) {
        if left == right {
            common = true;
            result.push(left.clone());
        } else if left.is_empty() || right.is_empty() {
            result.push(if left.is_empty() { right.clone() } else { left.clone() });
        } else {
            return None;
        }
    }
    common.then_some(result)
}

/// The text of a key field, empty where it is absent or empty.
fn key_text(item: NodeRef<'_>, key: &str) -> String {
    match item.is_map().then(|| item.get(key)).flatten() {
        Some(value) if !nodes::is_empty(Some(value)) => nodes::text(value).into_owned(),
        _ => String::new(),
    }
}

pub(super) fn is_null_or_empty_map(node: NodeRef<'_>) -> bool {
    nodes::is_null(node) || node.is_map() && node.entries().next().is_none()
}

/// The first element with these values; of the keys only those with a value
/// count, unless none has one.
pub(super) fn find_element(items: &[Node], keys: &[&str], values: &[String]) -> Option<usize> {
    if keys == [""] {
        return items.iter().position(|item| nodes::text(item.get_ref()) == values[0].as_str());
    }
    let given: Vec<(&str, &String)> =
        keys.iter().copied().zip(values).filter(|(_, value)| !value.is_empty()).collect();
    let wanted = if given.is_empty() { keys.iter().copied().zip(values).collect() } else { given };
    items.iter().position(|item| {
        let item = item.get_ref();
        item.is_map()
            && wanted.iter().all(|(key, value)| {
                item.entries().any(|entry| entry.key == *key && nodes::text(entry.value) == value.as_str())
            })
    })
}

/// Replace or append an element, or with `None` delete it.
///
/// Mirrors `ElementSetter`, which drops nulls and empty maps on its way. With
/// fewer values than keys the last key that has one decides for the rest, and
/// without any value every other element is dropped.
pub(super) fn set_element(items: &mut Vec<Node>, element: Option<&Node>, keys: &[&str], values: &[String]) {
    let for_maps = keys.first().is_some_and(|key| !key.is_empty())
        && values.first().is_some_and(|value| !value.is_empty());
    let mut found = false;
    let mut kept = Vec::with_capacity(items.len() + 1);
    for item in items.drain(..) {
        let node = item.get_ref();
        if is_null_or_empty_map(node) {
            continue;
        }
        if for_maps && !node.is_map() {
            kept.push(item);
            continue;
        }
        let mut matched = None;
        for (at, key) in keys.iter().enumerate() {
            if let Some(value) = values.get(at) {
                matched = Some(field_matches(node, key, value));
            }
            if matched != Some(true) {
                break;
            }
        }
        if matched != Some(true) {
            if !values.is_empty() {
                kept.push(item);
            }
            continue;
        }
        found = true;
        if let Some(element) = element {
            kept.push(element.clone());
        }
    }
    if let Some(element) = element
        && !found
        && !nodes::is_null(element.get_ref())
    {
        kept.push(element.clone());
    }
    *items = kept;
}

/// Mirrors `FieldMatcher` with a `StringValue`: an empty one asks only for the
/// field; an empty name compares the scalar itself.
fn field_matches(node: NodeRef<'_>, key: &str, value: &str) -> bool {
    if key.is_empty() {
        return nodes::text(node) == value;
    }
    node.entries().any(|entry| entry.key == key && (value.is_empty() || nodes::text(entry.value) == value))
}

/// Set each element of `source` into `items`.
///
/// Mirrors `appendListNode`.
pub(super) fn append_elements(items: &mut Vec<Node>, source: &[Node], keys: &[&str]) {
    for element in source {
        if keys[0].is_empty() {
            let value = nodes::text(element.get_ref()).into_owned();
            set_element(items, Some(element), &[""], &[value]);
            continue;
        }
        let mut values = Vec::new();
        for key in keys {
            match element.get_ref().get(key) {
                None => items.push(element.clone()),
                Some(value) => values.push(nodes::text(value).into_owned()),
            }
        }
        if keys.len() > 1 {
            set_element(items, None, keys, &values);
        }
        set_element(items, Some(element), keys, &values);
    }
}
