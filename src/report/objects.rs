//! Effective objects as text: YAML documents as kustomize prints them, JSON,
//! and where their values come from. Values of Secrets are masked.

use super::parts;
use crate::repo::Snapshot;
use crate::text::clean;
use crate::yaml::emit::{self, EmitError};
use crate::yaml::{Location, Node, NodeRef, pointer_join};
use std::fmt::Write as _;

/// The object with the values of a Secret masked; as it is for other kinds. The
/// mask in `data` is base64, so that the object stays valid.
pub fn masked(object: NodeRef<'_>) -> Node {
    let mut node = object.to_node();
    let is_secret = object.str_at("/kind").as_deref() == Some("Secret")
        && object.str_at("/apiVersion").as_deref() == Some("v1");
    if !is_secret {
        return node;
    }
    for (field, mask) in [("data", "Kioq"), ("stringData", "***")] {
        if let Some(entries) = node.get_mut(field).and_then(Node::make_map) {
            for entry in entries {
                let location = entry.value.get_ref().location();
                entry.value = Node::string(mask, location);
            }
        }
    }
    node
}

/// Objects as YAML documents, separated as kustomize does. With a snapshot,
/// comments say where an object and its values come from.
///
/// # Errors
/// A value that JSON cannot hold.
pub fn yaml(objects: &[NodeRef<'_>], origins: Option<&Snapshot>) -> Result<String, EmitError> {
    let mut out = String::new();
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            out.push_str("---\n");
        }
        if let Some(snapshot) = origins {
            comment_origins(*object, snapshot, &mut out);
        }
        out.push_str(&emit::to_yaml(*object)?);
    }
    Ok(out)
}

/// An object as a JSON value.
///
/// # Errors
/// A value that JSON cannot hold.
pub fn json(object: NodeRef<'_>) -> Result<serde_json::Value, EmitError> {
    let text = emit::to_json(object)?;
    Ok(serde_json::from_str(&text).unwrap_or(serde_json::Value::Null))
}

/// The places of an object's values, by JSON Pointer, as the contract has them.
pub fn origins(object: NodeRef<'_>, snapshot: &Snapshot) -> serde_json::Value {
    let mut map = serde_json::Map::new();
    leaves(object, "", 0, &mut |pointer, node| {
        map.insert(pointer.to_owned(), parts::location(snapshot, node.location().as_ref()));
    });
    serde_json::Value::Object(map)
}

/// `path:line:column` of a location and, in brackets, what it went through.
pub fn place(snapshot: &Snapshot, location: &Location) -> String {
    let at = |location: &Location| {
        let ((line, column), _) = snapshot.positions(location);
        format!("{}:{line}:{column}", clean(&location.path))
    };
    let mut text = at(location);
    for (index, via) in location.via.iter().enumerate() {
        let separator = if index == 0 { " (via" } else { "," };
        let _ = write!(text, "{separator} {} {}", via.kind.name(), at(&via.location));
    }
    if !location.via.is_empty() {
        text.push(')');
    }
    text
}

/// Calls `found` for every scalar and empty collection.
fn leaves<'a>(node: NodeRef<'a>, pointer: &str, depth: usize, found: &mut dyn FnMut(&str, NodeRef<'a>)) {
    if depth > emit::DEPTH_LIMIT {
        return;
    }
    let mut empty = true;
    if node.is_map() {
        for entry in node.entries() {
            empty = false;
            leaves(entry.value, &pointer_join(pointer, &entry.key), depth + 1, found);
        }
    } else if node.is_seq() {
        for (index, item) in node.items().enumerate() {
            empty = false;
            leaves(item, &pointer_join(pointer, &index.to_string()), depth + 1, found);
        }
    }
    if empty {
        found(pointer, node);
    }
}

/// The object's own file, then the values that come from elsewhere.
fn comment_origins(object: NodeRef<'_>, snapshot: &Snapshot, out: &mut String) {
    let own = object.location();
    if let Some(own) = &own {
        let _ = writeln!(out, "# {}", place(snapshot, own));
    }
    leaves(object, "", 0, &mut |pointer, node| {
        let Some(location) = node.location() else { return };
        let elsewhere = own.as_ref().is_none_or(|own| own.path != location.path);
        if elsewhere || !location.via.is_empty() {
            let _ = writeln!(out, "# {}: {}", clean(pointer), place(snapshot, &location));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::Store;
    use std::sync::Arc;

    #[test]
    fn secrets_are_masked_and_places_named() {
        let text =
            "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: eHl6}\nstringData:\n  t: xyz\n";
        let snapshot = Snapshot::memory([("a.yaml", text.as_bytes().to_vec())], Arc::new(Store::default()));
        let object = &snapshot.objects()[0];
        let node = masked(object.node.get_ref());
        let printed = yaml(&[node.get_ref(), node.get_ref()], Some(&snapshot)).expect("YAML");
        let one = "# a.yaml:1:1\napiVersion: v1\ndata:\n  k: Kioq\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  t: '***'\n";
        assert_eq!(printed, format!("{one}---\n{one}"));
        let places = origins(node.get_ref(), &snapshot);
        assert_eq!(places["/stringData/t"]["line"], 6);
    }
}
