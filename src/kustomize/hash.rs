//! The content hash at the end of generated names.
//!
//! Mirrors `api/hasher/hasher.go`.

use super::error::{BuildError, Class, Omitted, Partial, Result};
use super::nodes::{self, Tag};
use super::resource::Resource;
use crate::yaml::{Node, NodeRef, Via, ViaKind, emit};
use sha2::{Digest, Sha256};

/// Append their hash to the names of all objects that want one. What can't be
/// hashed here is noted.
pub(super) fn add_suffixes(resources: &mut [Resource], partial: &mut Vec<Partial>) -> Result<()> {
    for resource in resources.iter_mut().filter(|resource| resource.needs_hash) {
        let object = resource.node.get_ref();
        // Noted where the value was left out.
        if object.entries_at("/data").any(|entry| entry.value.is_unknown()) {
            continue;
        }
        let Some(json) = content(object) else {
            partial.push(Partial {
                what: Omitted::Hash,
                name: resource.id.to_string(),
                location: resource.location(),
            });
            continue;
        };
        let json = json.map_err(|reason| {
            BuildError::new(
                Class::Output,
                format!("{} can't be hashed: {reason}", resource.id),
                resource.location(),
            )
        })?;
        let hash = encode(&json);
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

/// The text that is hashed: content without names or labels. `None` for kinds
/// other than ConfigMap and Secret.
fn content(object: NodeRef<'_>) -> Option<std::result::Result<String, String>> {
    let kind = nodes::field_text(object, "kind");
    // The name is looked up by a path that finds nothing.
    let fields: &[&str] = match &*kind {
        "ConfigMap" => &["binaryData", "data", "kind", "name"],
        "Secret" => &["data", "kind", "name", "stringData", "type"],
        _ => return None,
    };
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
    use crate::yaml::parse_nodes;

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
