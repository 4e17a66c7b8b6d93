//! Workloads that read a ConfigMap or Secret which changed, and whose Pods stay: what they
//! took as environment, or mount by `subPath`, stays as it was.
//! Sources: Kubernetes "ConfigMaps", "Mounted ConfigMaps are updated automatically";
//! Reloader `internal/pkg/options/flags.go`, the annotations that make it restart Pods.

use super::{Effect, Pair};
use crate::lang::yaml::NodeRef;
use crate::model::workloads::pod_spec;
use crate::model::{EffectKind, ObjectId};
use crate::world::ApplyTarget;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Workloads that are named; the rest is counted.
const NAMED: usize = 3;

/// How a workload reads an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum WorkloadReads {
    /// As files, which the kubelet renews.
    Files,
    /// As files by `subPath`, which it does not renew.
    SubPath,
    /// As environment of its processes.
    Environment,
    /// In whatever way, and an annotation of its Pods is not known here, such as a checksum
    /// of what they read.
    UnknownAnnotation,
}

/// The target, kind, namespace and name of what is read.
type ReadObject<'w> = (&'w ApplyTarget, &'static str, Option<&'w str>, String);

/// Says on changed ConfigMaps and Secrets who reads them and is not restarted.
pub(super) fn tell(pair: &Pair<'_>, effects: &mut [Effect]) {
    let is_read = |effect: &Effect| {
        effect.effect == EffectKind::Changed
            && effect.object.group().is_empty()
            && matches!(&*effect.object.kind, "ConfigMap" | "Secret")
            && content_changed(effect)
    };
    if !effects.iter().any(is_read) {
        return;
    }
    let rolling: BTreeSet<ObjectId> = effects
        .iter()
        .filter(|effect| !matches!(effect.effect, EffectKind::Changed | EffectKind::Kept))
        .map(|effect| effect.object.clone())
        .collect();
    let readers = readers(pair, &rolling);
    for effect in effects.iter_mut().filter(|effect| is_read(effect)) {
        let kind = if &*effect.object.kind == "Secret" { "Secret" } else { "ConfigMap" };
        let key = (&effect.target, kind, effect.object.namespace.as_deref(), effect.object.name.to_string());
        let Some(found) = readers.get(&key) else { continue };
        let words = words(found);
        let names: Vec<String> = found.keys().map(|id| id.to_string()).collect();
        effect.consequences.extend(words);
        effect.details.insert("notRestarted".to_owned(), json!(names));
    }
}

fn content_changed(effect: &Effect) -> bool {
    let fields = effect.details.get("fields").and_then(Value::as_array);
    fields.into_iter().flatten().any(|field| {
        let path = field["path"].as_str().unwrap_or_default();
        ["/data", "/stringData", "/binaryData"].iter().any(|map| path.starts_with(map))
    })
}

fn words(found: &BTreeMap<&ObjectId, WorkloadReads>) -> Vec<String> {
    let of = |reads: WorkloadReads| -> Vec<String> {
        found.iter().filter(|(_, own)| **own == reads).map(|(id, _)| id.to_string()).collect()
    };
    let say = |reads: WorkloadReads, one: &str, many: &str, rest: &str| {
        let names = of(reads);
        let more = names.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let verb = if names.len() == 1 { one } else { many };
        let first = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        (!names.is_empty()).then(|| format!("{first}{more} {verb}: {rest}"))
    };
    let told = [
        say(
            WorkloadReads::UnknownAnnotation,
            "reads it",
            "read it",
            "Pods are restarted if an annotation of theirs changes that is not known here",
        ),
        say(
            WorkloadReads::Environment,
            "takes it as environment",
            "take it as environment",
            "running Pods keep the old values until something restarts them",
        ),
        say(
            WorkloadReads::SubPath,
            "mounts it by subPath",
            "mount it by subPath",
            "running Pods keep the old file until something restarts them",
        ),
        say(
            WorkloadReads::Files,
            "mounts it",
            "mount it",
            "files are renewed within minutes, Pods are not restarted",
        ),
    ];
    told.into_iter().flatten().collect()
}

/// The workloads of the head that keep their Pods, by what they read.
fn readers<'w>(
    pair: &Pair<'w>,
    rolling: &BTreeSet<ObjectId>,
) -> BTreeMap<ReadObject<'w>, BTreeMap<&'w ObjectId, WorkloadReads>> {
    let mut found: BTreeMap<ReadObject<'_>, BTreeMap<&ObjectId, WorkloadReads>> = BTreeMap::new();
    let Some(head) = pair.head else { return found };
    for (member, object) in pair.head_world.members(head) {
        let id = &object.id;
        // A Job's Pods end by themselves, the next ones read what is there then.
        if !matches!(&*id.kind, "Deployment" | "StatefulSet" | "DaemonSet") || rolling.contains(id) {
            continue;
        }
        let node = object.node.get_ref();
        let Some((_, pod)) = pod_spec(id, node) else { continue };
        let annotations = node.at("/spec/template/metadata/annotations");
        let is_unknown = annotations.is_some_and(|annotations| {
            annotations.is_unknown() || annotations.entries().any(|entry| entry.value.is_unknown())
        });
        for (kind, name, reads) in read_by(pod) {
            if reloads(node, kind, &name) {
                continue;
            }
            let reads = if is_unknown { WorkloadReads::UnknownAnnotation } else { reads };
            let key = (&member.target, kind, id.namespace.as_deref(), name);
            let own = found.entry(key).or_default().entry(id).or_insert(reads);
            *own = reads.max(*own);
        }
    }
    found
}

/// What the Pods of a workload read.
fn read_by(pod: NodeRef<'_>) -> Vec<(&'static str, String, WorkloadReads)> {
    let mut found = Vec::new();
    let mut add = |node: NodeRef<'_>, pointer: &str, kind: &'static str, reads: WorkloadReads| {
        found.extend(node.str_at(pointer).map(|name| (kind, name.into_owned(), reads)));
    };
    let containers = || ["/containers", "/initContainers"].into_iter().flat_map(|list| pod.items_at(list));
    for container in containers() {
        for from in container.items_at("/envFrom") {
            add(from, "/configMapRef/name", "ConfigMap", WorkloadReads::Environment);
            add(from, "/secretRef/name", "Secret", WorkloadReads::Environment);
        }
        for entry in container.items_at("/env") {
            add(entry, "/valueFrom/configMapKeyRef/name", "ConfigMap", WorkloadReads::Environment);
            add(entry, "/valueFrom/secretKeyRef/name", "Secret", WorkloadReads::Environment);
        }
    }
    for volume in pod.items_at("/volumes") {
        let name = volume.str_at("/name").unwrap_or_default();
        let by_part = containers().flat_map(|container| container.items_at("/volumeMounts")).any(|mount| {
            mount.str_at("/name").is_some_and(|own| own == name)
                && ["/subPath", "/subPathExpr"].iter().any(|field| mount.at(field).is_some())
        });
        let reads = if by_part { WorkloadReads::SubPath } else { WorkloadReads::Files };
        add(volume, "/configMap/name", "ConfigMap", reads);
        add(volume, "/secret/secretName", "Secret", reads);
        for source in volume.items_at("/projected/sources") {
            add(source, "/configMap/name", "ConfigMap", reads);
            add(source, "/secret/name", "Secret", reads);
        }
    }
    found
}

/// Whether Reloader restarts a workload for an object.
fn reloads(workload: NodeRef<'_>, kind: &str, name: &str) -> bool {
    let part = if kind == "Secret" { "secret" } else { "configmap" };
    ["/metadata/annotations", "/spec/template/metadata/annotations"].iter().any(|map| {
        let text = |key: &str| workload.at(map).and_then(|map| map.get(key)).and_then(NodeRef::text);
        let is_on = |key: &str| text(key).is_some_and(|text| text == "true");
        is_on("reloader.stakater.com/auto")
            || is_on(&format!("{part}.reloader.stakater.com/auto"))
            || is_on("reloader.stakater.com/search")
            || text(&format!("{part}.reloader.stakater.com/reload"))
                .is_some_and(|names| names.split(',').any(|own| own.trim() == name))
    })
}
