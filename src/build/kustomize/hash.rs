//! The content hash at the end of generated names.
//!
//! Mirrors `api/hasher/hasher.go`.

use super::error::{BuildError, ErrorClass, Omitted, Partial, Result};
use super::nodes::{self, Tag};
use super::resource::Resource;
use crate::lang::yaml::{Node, NodeRef, Via, ViaKind, emit};
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex, PoisonError};

/// Append their hash to the names of all objects that want one. What can't be
/// hashed here is noted.
pub(super) fn add_suffixes(
    resources: &mut [Resource],
    hashes: &Hashes,
    partial: &mut Vec<Partial>,
) -> Result<()> {
    for resource in resources.iter_mut().filter(|resource| resource.needs_hash) {
        let object = resource.node.get_ref();
        // Noted where the value was left out.
        if object.entries_at("/data").any(|entry| entry.value.is_unknown()) {
            continue;
        }
        let Some(hash) = hashes.of(object) else {
            partial.push(Partial {
                what: Omitted::Hash,
                name: resource.id.to_string(),
                location: resource.location(),
            });
            continue;
        };
        let hash = hash.map_err(|reason| {
            BuildError::new(
                ErrorClass::Output,
                format!("{} can't be hashed: {reason}", resource.id),
                resource.location(),
            )
        })?;
        let generator = resource.location();
        resource.store_previous_id();
        if let Some(name) = resource.node.get_mut("metadata").and_then(|metadata| metadata.get_mut("name")) {
            let old = name.get_ref();
            let value = nodes::overwrite(Some(old), &format!("{}-{hash}", nodes::text(old)), Tag::Untagged);
            let mut location = old.location();
            if let (Some(location), Some(generator)) = (&mut location, generator) {
                location.via.push(Via { kind: ViaKind::Generator, location: generator });
            }
            *name = Node::scalar(value, location);
        }
        resource.sync();
    }
    Ok(())
}

/// Hashes of contents: what a base generates is hashed in every build that uses it.
#[derive(Debug, Default)]
pub(super) struct Hashes(Mutex<FxHashMap<HashedKind, (Node, Arc<str>)>>);

/// A kind, and the nodes of its fields by their addresses, which the object beside
/// the hash keeps alive.
type HashedKind = (String, Vec<Option<(usize, u32)>>);

impl Hashes {
    /// The hash of an object; `None` for kinds that have none.
    fn of(&self, object: NodeRef<'_>) -> Option<std::result::Result<Arc<str>, String>> {
        let kind = nodes::field_text(object, "kind");
        let address = |field: &&str| object.get(field).map(NodeRef::address);
        let key = (kind.to_string(), fields(&kind)?.iter().map(address).collect::<Vec<_>>());
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, hash)) = known().get(&key) {
            return Some(Ok(hash.clone()));
        }
        let hash: Arc<str> = match content(object)? {
            Ok(json) => encode(&json).into(),
            Err(reason) => return Some(Err(reason)),
        };
        known().insert(key, (object.to_node(), hash.clone()));
        Some(Ok(hash))
    }
}

/// The fields that are hashed. The name is looked up by a path that finds nothing.
fn fields(kind: &str) -> Option<&'static [&'static str]> {
    match kind {
        "ConfigMap" => Some(&["binaryData", "data", "kind", "name"]),
        "Secret" => Some(&["data", "kind", "name", "stringData", "type"]),
        _ => None,
    }
}

/// The text that is hashed: content without names or labels. `None` for kinds
/// other than ConfigMap and Secret.
fn content(object: NodeRef<'_>) -> Option<std::result::Result<String, String>> {
    let kind = nodes::field_text(object, "kind");
    let fields = fields(&kind)?;
    let mut json = String::from("{");
    for field in fields {
        let value = match *field {
            "kind" => Ok(Some(emit::quoted(&kind))),
            "name" => Ok(Some("\"\"".to_owned())),
            "binaryData" | "stringData" => match object.get(field).filter(|value| value.is_map()) {
                Some(map) => emit::to_json(map).map(Some),
                None => Ok(None),
            },
            _ => match object.get(field) {
                Some(value) => emit::to_json(value).map(Some),
                None => Ok(Some("\"\"".to_owned())),
            },
        };
        match value {
            Ok(Some(value)) => {
                if json.len() > 1 {
                    json.push(',');
                }
                json.push_str(&format!("\"{field}\":{value}"));
            }
            Ok(None) => {}
            Err(error) => return Some(Err(error.to_string())),
        }
    }
    json.push('}');
    Some(Ok(json))
}

/// Ten letters that can't spell a word.
fn encode(json: &str) -> String {
    let digest = Sha256::digest(json.as_bytes());
    let hex: String = digest.iter().take(5).map(|byte| format!("{byte:02x}")).collect();
    hex.chars()
        .map(|c| match c {
            '0' => 'g',
            '1' => 'h',
            '3' => 'k',
            'a' => 'm',
            'e' => 't',
            other => other,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::yaml::parse_nodes;

    #[test]
    fn hashes_are_those_of_kustomize() {
        let table = [
            ("kind: ConfigMap\ndata: {a: b}\n", "4h2mbtbbt6"),
            ("kind: ConfigMap\nmetadata: {name: x}\n", "6ct58987ht"),
            ("kind: Secret\ntype: Opaque\ndata: {a: Yg==}\n", "k695gkmbtk"),
        ];
        for (text, expected) in table {
            let node = parse_nodes("f.yaml", text).remove(0);
            let json = content(node.get_ref()).expect("a known kind").expect("JSON");
            assert_eq!(encode(&json), expected, "{json}");
        }
    }
}
