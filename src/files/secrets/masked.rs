//! Objects, and what is told of them, without hidden values.

use super::finder::Finder;
use super::{HiddenValue, is_secret};
use crate::files::Snapshot;
use crate::lang::yaml::{Location, Node, NodeRef, emit, pointer_join, pointer_segments};
use serde_json::Value;

/// What stands in the place of a value.
const MASK: &str = "***";

/// The same where base64 is wanted, so that the object stays valid.
const MASK_OF_DATA: &str = "Kioq";

/// Whether the value at a JSON Pointer of a Secret is no secret: what it is, and what it
/// is called.
pub(crate) fn is_shown(pointer: &str) -> bool {
    matches!(pointer, "/apiVersion" | "/kind" | "/type" | "/metadata/name" | "/metadata/namespace")
}

/// Whether a value is a label: words that other objects are called by, too.
fn is_label(pointer: &str) -> bool {
    pointer.starts_with("/metadata/labels/")
}

/// The part of a JSON Pointer into a Secret that names fields and keys: below them
/// everything is a value.
pub(crate) fn shown_path(pointer: &str) -> String {
    let segments: Vec<_> = pointer_segments(pointer).collect();
    let in_metadata = segments.first().is_some_and(|first| first == "metadata");
    let kept = if in_metadata { 3 } else { 2 };
    let names = segments.iter().take(kept).take_while(|segment| !segment.starts_with('{'));
    names.fold(String::new(), |path, segment| pointer_join(&path, segment))
}

/// Whether an object is a Secret, of whatever version.
fn is_secret_object(object: NodeRef<'_>) -> bool {
    object.str_at("/kind").is_some_and(|kind| is_secret(&kind))
}

/// The object with stars for hidden values: all of a Secret but its names, and in any
/// other what comes from one.
pub(crate) fn masked(object: NodeRef<'_>, snapshot: &Snapshot) -> Node {
    let mut node = object.to_node();
    if is_secret_object(object) {
        mask_secret(&mut node, "");
    } else if any_hidden(object, snapshot, 0) {
        mask_hidden(&mut node, snapshot, 0);
    }
    node
}

fn mask_secret(node: &mut Node, pointer: &str) {
    if is_shown(pointer) && node.get_ref().text().is_some() {
        return;
    }
    let has_names = match pointer {
        "" => true,
        "/metadata" | "/metadata/labels" | "/metadata/annotations" => true,
        _ => pointer_segments(pointer).count() == 1,
    };
    if node.get_ref().is_map() && has_names {
        for entry in node.make_map().into_iter().flatten() {
            let below = pointer_join(pointer, &entry.key_text());
            mask_secret(&mut entry.value, &below);
        }
        return;
    }
    let location = node.get_ref().location();
    let mask = if pointer.starts_with("/data/") { MASK_OF_DATA } else { MASK };
    *node = Node::string(mask, location);
}

/// Whether a scalar stands where a hidden value does, or came from there.
fn is_hidden(leaf: NodeRef<'_>, snapshot: &Snapshot) -> bool {
    let hides = |place: &Location| {
        let text = || leaf.text().unwrap_or_default();
        place.start < place.end && snapshot.hides(place) && !snapshot.names(place, &text())
    };
    leaf.location().as_ref().is_some_and(hides) || leaf.own_origins().iter().any(hides)
}

fn any_hidden(node: NodeRef<'_>, snapshot: &Snapshot, depth: usize) -> bool {
    if depth > emit::DEPTH_LIMIT {
        return false;
    }
    if node.is_map() {
        node.entries().any(|entry| any_hidden(entry.value, snapshot, depth + 1))
    } else if node.is_seq() {
        node.items().any(|item| any_hidden(item, snapshot, depth + 1))
    } else {
        is_hidden(node, snapshot)
    }
}

fn mask_hidden(node: &mut Node, snapshot: &Snapshot, depth: usize) {
    if depth > emit::DEPTH_LIMIT {
        return;
    }
    let view = node.get_ref();
    if view.is_map() {
        for entry in node.make_map().into_iter().flatten() {
            mask_hidden(&mut entry.value, snapshot, depth + 1);
        }
    } else if view.is_seq() {
        for item in node.make_seq().into_iter().flatten() {
            mask_hidden(item, snapshot, depth + 1);
        }
    } else if is_hidden(view, snapshot) {
        let location = view.location();
        *node = Node::string(MASK, location);
    }
}

/// The hidden values of an object, for what is told of it.
pub(crate) struct Concealed(Option<Finder>);

impl Concealed {
    /// Those of a Secret, and those that another object has of one. What a Secret itself is called is
    /// told with it, whatever values of it are the same.
    pub(crate) fn of(object: NodeRef<'_>, snapshot: &Snapshot) -> Concealed {
        let is_secret = is_secret_object(object);
        let mut words = Vec::new();
        values(object, "", is_secret, snapshot, &mut words);
        let own = ["/metadata/name", "/metadata/namespace"].into_iter().filter(|_| is_secret);
        let own = own.filter_map(|pointer| object.at(pointer)?.text());
        let names: Vec<Box<str>> = own.map(|name| name.into()).collect();
        Concealed((!words.is_empty()).then(|| Finder::of(&words, &names)))
    }

    /// Puts stars into a text.
    pub(crate) fn conceal(&self, text: &mut String) {
        if let Some(concealed) = self.0.as_ref().and_then(|finder| finder.conceal(text)) {
            *text = concealed;
        }
    }

    /// Puts stars into every text of a JSON value.
    pub(crate) fn conceal_json(&self, value: &mut Value) {
        match value {
            Value::String(text) => match &self.0 {
                Some(finder) if finder.is_value(text) => MASK.clone_into(text),
                _ => self.conceal(text),
            },
            Value::Number(number) if self.0.as_ref().is_some_and(|all| all.is_value(&number.to_string())) => {
                *value = MASK.into();
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.conceal_json(item)),
            Value::Object(map) => map.values_mut().for_each(|value| self.conceal_json(value)),
            _ => {}
        }
    }
}

fn values(
    node: NodeRef<'_>,
    pointer: &str,
    of_secret: bool,
    snapshot: &Snapshot,
    words: &mut Vec<HiddenValue>,
) {
    if pointer.len() > 1 << 16 {
        return;
    }
    if node.is_map() {
        for entry in node.entries() {
            values(entry.value, &pointer_join(pointer, &entry.key), of_secret, snapshot, words);
        }
    } else if node.is_seq() {
        for item in node.items() {
            values(item, &pointer_join(pointer, "-"), of_secret, snapshot, words);
        }
    } else if (of_secret && !is_shown(pointer) && !is_label(pointer)) || is_hidden(node, snapshot) {
        let text = node.text().filter(|text| !text.is_empty());
        words.extend(text.map(|text| HiddenValue { text: text.into_owned().into(), everywhere: false }));
    }
}
