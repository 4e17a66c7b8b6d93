//! References inside the values of a release, told by the words that charts use for them.
//! What a chart makes of its values isn't known here: such a reference is a guess until the
//! chart is rendered.
//! Source: the values of the charts that most repositories use (bitnami's common library,
//! bjw-s' app-template, prometheus-community, grafana), which copy Kubernetes' own words.

use super::reference::WorkloadReference;
use super::scope::is_cluster_scoped;
use crate::lang::yaml::{NodeRef, pointer_join};
use std::borrow::Cow;

/// What a key says.
struct Word {
    key: &'static str,
    group: &'static str,
    kind: &'static str,
}

const fn word(key: &'static str, group: &'static str, kind: &'static str) -> Word {
    Word { key, group, kind }
}

static WORDS: [Word; 21] = [
    word("backendRefs", "", "Service"),
    word("claimName", "", "PersistentVolumeClaim"),
    word("configMapKeyRef", "", "ConfigMap"),
    word("configMapRef", "", "ConfigMap"),
    word("existingClaim", "", "PersistentVolumeClaim"),
    word("existingConfigMap", "", "ConfigMap"),
    word("existingConfigmap", "", "ConfigMap"),
    word("existingSecret", "", "Secret"),
    word("existingSecretName", "", "Secret"),
    word("imagePullSecrets", "", "Secret"),
    word("ingressClassName", "networking.k8s.io", "IngressClass"),
    word("issuerRef", "cert-manager.io", "Issuer"),
    word("parentRefs", "gateway.networking.k8s.io", "Gateway"),
    word("priorityClassName", "scheduling.k8s.io", "PriorityClass"),
    word("pullSecrets", "", "Secret"),
    word("secretKeyRef", "", "Secret"),
    word("secretName", "", "Secret"),
    word("secretRef", "", "Secret"),
    word("storageClass", "storage.k8s.io", "StorageClass"),
    word("storageClassName", "storage.k8s.io", "StorageClass"),
    word("volumeSnapshotClassName", "snapshot.storage.k8s.io", "VolumeSnapshotClass"),
];

/// The references in the values of a release, with pointers into the HelmRelease.
pub(super) fn references<'a>(namespace: &str, values: NodeRef<'a>, found: &mut Vec<WorkloadReference<'a>>) {
    // An explicit stack: values nest as they like.
    let mut stack = vec![("/spec/values".to_owned(), values)];
    while let Some((pointer, node)) = stack.pop() {
        let before = stack.len();
        // What is switched off makes nothing.
        if node.get("enabled").and_then(NodeRef::as_bool) == Some(false) {
            continue;
        }
        if node.is_map() {
            found.extend(volume(namespace, &pointer, node));
            for entry in node.entries() {
                // Secrets of Ingresses are made by what issues their certificates.
                if entry.key == "tls" {
                    continue;
                }
                let pointer = pointer_join(&pointer, &entry.key);
                match WORDS.iter().find(|word| word.key == entry.key) {
                    Some(word) => read(namespace, word, &pointer, entry.value, found),
                    None => stack.push((pointer, entry.value)),
                }
            }
        } else if node.is_seq() {
            for (index, item) in node.items().enumerate() {
                stack.push((format!("{pointer}/{index}"), item));
            }
        }
        stack[before..].reverse();
    }
}

/// What a volume in the words of bjw-s' library names: `{type: configMap, name: …}`.
/// Source: bjw-s-labs/helm-charts `charts/library/common/templates/lib/pod/fields/_volumes.tpl`.
fn volume<'a>(namespace: &str, pointer: &str, node: NodeRef<'a>) -> Option<WorkloadReference<'a>> {
    const TYPES: [(&str, Word); 2] =
        [("configMap", word("", "", "ConfigMap")), ("secret", word("", "", "Secret"))];
    let written = node.get("type")?.as_str()?;
    let (_, word) = TYPES.iter().find(|(name, _)| **name == *written)?;
    one(namespace, word, pointer_join(pointer, "name"), node.get("name")?)
}

fn read<'a>(
    namespace: &str,
    word: &Word,
    pointer: &str,
    node: NodeRef<'a>,
    found: &mut Vec<WorkloadReference<'a>>,
) {
    if node.is_seq() {
        for (index, item) in node.items().enumerate() {
            found.extend(one(namespace, word, format!("{pointer}/{index}"), item));
        }
    } else {
        found.extend(one(namespace, word, pointer.to_owned(), node));
    }
}

fn one<'a>(
    namespace: &str,
    word: &Word,
    pointer: String,
    node: NodeRef<'a>,
) -> Option<WorkloadReference<'a>> {
    // What is told by more than its name is made by the chart: no class is named by a map.
    let is_made = node.get("create").and_then(NodeRef::as_bool) == Some(true);
    if is_made || node.is_map() && word.kind.ends_with("Class") {
        return None;
    }
    let stated = |key: &str| node.get(key).and_then(NodeRef::as_str).filter(|text| !text.is_empty());
    let name_node = if node.is_map() { node.get("name")? } else { node };
    let kind = stated("kind").unwrap_or(Cow::Borrowed(word.kind));
    let group = stated("group").unwrap_or(Cow::Borrowed(word.group));
    let namespace = match is_cluster_scoped(&group, &kind) {
        true => None,
        false => Some(stated("namespace").unwrap_or_else(|| Cow::Owned(namespace.to_owned()))),
    };
    Some(WorkloadReference {
        pointer,
        name: name_node.as_str().filter(|name| !name.is_empty()),
        name_node,
        group,
        kind,
        namespace,
        crosses: false,
        optional: node.get("optional").and_then(NodeRef::as_bool).unwrap_or(false),
        keys: node.get("key").filter(|_| word.key.ends_with("KeyRef")).into_iter().collect(),
        port: node.get("port").filter(|_| word.key == "backendRefs"),
        consequence: "the chart hands the name on to the objects that it makes, which don't find it",
        is_guess: true,
    })
}
