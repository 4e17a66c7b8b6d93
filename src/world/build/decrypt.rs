//! What decryption leaves of objects that SOPS encrypted.

use crate::lang::yaml::{Dialect, Node, NodeRef, Scalar, Value};

/// What decryption leaves of an object under SOPS: the same keys, values
/// unknown. `None` for an object that is not encrypted.
pub(super) fn decrypt(object: NodeRef<'_>) -> Option<Node> {
    object.at("/sops/mac").or_else(|| object.at("/sops/lastmodified"))?;
    let mut node = object.to_node();
    node.remove("sops");
    hide(&mut node, 0);
    Some(node)
}

fn hide(node: &mut Node, depth: usize) {
    let current = node.get_ref();
    if depth > crate::lang::yaml::emit::DEPTH_LIMIT {
        return;
    }
    if current.is_map() {
        let encrypted: Vec<usize> = current
            .entries()
            .enumerate()
            .filter(|(_, entry)| holds_encrypted(entry.value, depth))
            .map(|(index, _)| index)
            .collect();
        if let Some(entries) = if encrypted.is_empty() { None } else { node.make_map() } {
            for index in encrypted {
                hide(&mut entries[index].value, depth + 1);
            }
        }
    } else if current.is_seq() {
        let encrypted: Vec<usize> = current
            .items()
            .enumerate()
            .filter(|(_, item)| holds_encrypted(*item, depth))
            .map(|(index, _)| index)
            .collect();
        if let Some(items) = if encrypted.is_empty() { None } else { node.make_seq() } {
            for index in encrypted {
                hide(&mut items[index], depth + 1);
            }
        }
    } else {
        *node = Node::scalar(Value::Unknown("encrypted with SOPS".into()), current.location());
    }
}

fn holds_encrypted(node: NodeRef<'_>, depth: usize) -> bool {
    if depth > crate::lang::yaml::emit::DEPTH_LIMIT {
        return false;
    }
    if node.is_map() {
        return node.entries().any(|entry| holds_encrypted(entry.value, depth + 1));
    }
    if node.is_seq() {
        return node.items().any(|item| holds_encrypted(item, depth + 1));
    }
    matches!(node.scalar(Dialect::GoYamlV3), Scalar::Str(text) if text.starts_with("ENC["))
}
