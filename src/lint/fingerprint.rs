//! What identifies a finding through edits of the file: rule, object identity
//! without cluster, field path and offending value. Not file, line or message.

use super::Finding;
use crate::lang::yaml::{NodeRef, pointer_segments};
use crate::model::ObjectId;
use crate::world::World;
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

/// Give each finding its fingerprint: 16 hexadecimal digits.
pub(super) fn assign(world: &World, findings: Vec<&mut Finding>) {
    let has_items =
        |finding: &&mut Finding| pointer_segments(&finding.path).any(|segment| is_index(&segment));
    let mut nodes: FxHashMap<&ObjectId, NodeRef<'_>> = FxHashMap::default();
    if findings.iter().any(has_items) {
        for object in world.orphans() {
            nodes.insert(&object.id, object.node.get_ref());
        }
        // The first of several forms, so that the answer does not depend on
        // which cluster has the finding.
        for object in world.objects.iter().rev() {
            nodes.insert(&object.id, object.node.get_ref());
        }
    }
    for finding in findings {
        let node = finding.objects.first().and_then(|id| nodes.get(id)).copied();
        finding.fingerprint = hash(finding, &identity_path(node, &finding.path));
    }
}

fn hash(finding: &Finding, path: &str) -> String {
    let mut hasher = Sha256::new();
    let mut field = |text: &str| {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    };
    field(finding.rule.id);
    if let Some(id) = finding.objects.first() {
        field(id.group());
        field(&id.kind);
        field(id.namespace.as_deref().unwrap_or(""));
        field(&id.name);
    }
    field(path);
    if let Some(pointer) = &finding.values_path {
        field(pointer);
    }
    field(&finding.value);
    hasher.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_index(segment: &str) -> bool {
    !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit())
}

/// A JSON Pointer with list items by identity: `/spec/dependsOn/{name=infra}`.
fn identity_path(root: Option<NodeRef<'_>>, pointer: &str) -> String {
    let mut path = String::new();
    let mut node = root;
    for segment in pointer_segments(pointer) {
        let before = node;
        node = node.and_then(|node| match segment.parse::<usize>() {
            Ok(index) if node.is_seq() => node.items().nth(index),
            _ => node.get(&segment),
        });
        path.push('/');
        match (before, node) {
            (Some(list), Some(item)) if list.is_seq() => path.push_str(&item_identity(item, &segment)),
            _ => path.push_str(&segment),
        }
    }
    path
}

/// How an item of a list is told from the others without its position.
fn item_identity(item: NodeRef<'_>, index: &str) -> String {
    if let Some(text) = item.text() {
        return format!("{{{text}}}");
    }
    let named = |keys: &[&str]| {
        let known = keys.iter().filter_map(|key| Some(format!("{key}={}", item.get(key)?.text()?)));
        let known: Vec<String> = known.collect();
        (!known.is_empty()).then(|| format!("{{{}}}", known.join(",")))
    };
    let has = |key: &str| item.get(key).is_some_and(|value| value.text().is_some());
    let keys: &[&str] = if has("name") { &["kind", "namespace", "name"] } else { &[] };
    named(keys)
        .or_else(|| {
            ["key", "id", "path", "target", "host", "kind", "type"].iter().find_map(|key| named(&[key]))
        })
        .unwrap_or_else(|| index.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::yaml::parse_nodes;

    #[test]
    fn items_are_named_by_what_they_are() {
        let nodes = parse_nodes(
            "a.yaml",
            "spec:\n  dependsOn: [{name: a}, {name: b, namespace: c}]\n  hosts: [x, y]\n  \
             rules: [{path: /z, x: 1}, {x: 2}]\n  eventSources: [{kind: Kustomization, name: '*'}]\n",
        );
        let root = Some(nodes[0].get_ref());
        for (pointer, expected) in [
            ("", ""),
            ("/spec/dependsOn/0/name", "/spec/dependsOn/{name=a}/name"),
            ("/spec/dependsOn/1", "/spec/dependsOn/{namespace=c,name=b}"),
            ("/spec/hosts/1", "/spec/hosts/{y}"),
            ("/spec/rules/0/x", "/spec/rules/{path=/z}/x"),
            ("/spec/rules/1/x", "/spec/rules/1/x"),
            ("/spec/rules/7/x", "/spec/rules/7/x"),
            ("/spec/eventSources/0", "/spec/eventSources/{kind=Kustomization,name=*}"),
        ] {
            assert_eq!(identity_path(root, pointer), expected, "{pointer}");
        }
        assert_eq!(identity_path(None, "/spec/a/0"), "/spec/a/0");
    }
}
