//! Will the API server, or an admission webhook, take a changed object?
//!
//! Asked before anything else is told of a change: what is refused has no effect but
//! that, and Flux applies nothing of its Kustomization.
//! Sources: Kubernetes `pkg/apis/*/validation` (`Validate…Update`), apiextensions
//! `ValidateCustomResourceDefinitionUpdate`; Cluster API `controlplane/kubeadm`
//! `KubeadmControlPlaneTemplate` webhook and `core/webhooks`; the `…MachineTemplate`
//! webhooks of the providers Docker, AWS, Azure, vSphere and OpenStack.

use super::equal::quantity;
use super::fate::text_at;
use super::fields::FieldChange;
use crate::lang::go::duration::GoDuration;
use crate::lang::yaml::NodeRef;
use crate::model::ObjectId;
use crate::model::cluster_api_kinds::{CONTROL_PLANE, CORE, INFRASTRUCTURE};
use crate::model::value::has_unknown;
use serde_json::{Value, json};

/// Why a change is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChangeRefusal {
    /// Index of the decisive one among the changes; `None` where the whole decides.
    pub change: usize,
    /// Why, in a phrase.
    pub reason: String,
    /// A new object would be accepted.
    pub immutable: bool,
    /// What else to know.
    pub note: Option<&'static str>,
}

/// Kinds of machine templates whose webhook refuses a changed `spec.template.spec`.
const FIXED_TEMPLATES: [&str; 6] = [
    "DockerMachineTemplate",
    "DevMachineTemplate",
    "AWSMachineTemplate",
    "AzureMachineTemplate",
    "VSphereMachineTemplate",
    "OpenStackMachineTemplate",
];

/// Sources of a PersistentVolume.
const VOLUME_SOURCES: [&str; 22] = [
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "csi",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "glusterfs",
    "hostPath",
    "iscsi",
    "local",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
];

/// Whether, and why, a change of an object is refused. `changes` are its differences.
pub(super) fn refusal(
    id: &ObjectId,
    old: NodeRef<'_>,
    new: NodeRef<'_>,
    changes: &[FieldChange],
) -> Option<ChangeRefusal> {
    // What a conversion makes of it is not known here.
    if old.str_at("/apiVersion") != new.str_at("/apiVersion") {
        return None;
    }
    whole(id, old, new, changes).or_else(|| {
        changes.iter().enumerate().find_map(|(index, change)| {
            if has_unknown(&change.before) || has_unknown(&change.after) {
                return None;
            }
            let (reason, immutable, note) = field(id, old, change)?;
            Some(ChangeRefusal { change: index, reason: reason.to_owned(), immutable, note })
        })
    })
}

type Verdict = (&'static str, bool, Option<&'static str>);

const FIXED: Verdict = ("the API server refuses to change this field", true, None);

/// Whether a path is a field or inside of it.
fn within(path: &str, field: &str) -> bool {
    path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn field(id: &ObjectId, old: NodeRef<'_>, change: &FieldChange) -> Option<Verdict> {
    let path = change.path.as_str();
    let is = |fields: &[&str]| fields.iter().any(|field| within(path, field));
    let defaulted = |default: &str| is_defaulted(change, default);
    // What a default or a controller has filled in is not known here.
    let stated = || !change.before.is_null();
    match (id.group(), &*id.kind) {
        ("apps", "Deployment" | "DaemonSet" | "ReplicaSet") => is(&["/spec/selector"]).then_some(FIXED),
        ("apps", "StatefulSet") => stateful_set(path, change),
        ("batch", "Job") => job(old, path),
        ("", "Pod") => pod(path),
        ("", "Service") if path == "/spec/clusterIP" => cluster_ip(old, change),
        ("", "PersistentVolumeClaim") => claim(path, change),
        ("", "PersistentVolume") => volume(path, change),
        ("", "ConfigMap" | "Secret")
            if old.at("/immutable").and_then(NodeRef::as_bool) == Some(true)
                && is(&["/data", "/binaryData", "/stringData", "/immutable"]) =>
        {
            Some(("it says immutable: true: the API server refuses any change of its content", true, None))
        }
        ("", "Secret") => (path == "/type" && !defaulted("Opaque")).then_some(FIXED),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            is(&["/roleRef"]).then_some(FIXED)
        }
        ("storage.k8s.io", "StorageClass") => {
            let fixed = is(&["/provisioner", "/parameters"])
                || path == "/reclaimPolicy" && !defaulted("Delete")
                || path == "/volumeBindingMode" && !defaulted("Immediate");
            fixed.then_some(FIXED)
        }
        ("storage.k8s.io", "CSIDriver") => (path == "/spec/attachRequired" && stated()).then_some(FIXED),
        ("scheduling.k8s.io", "PriorityClass") => {
            let policy = path == "/preemptionPolicy" && !defaulted("PreemptLowerPriority");
            (path == "/value" || policy).then_some(FIXED)
        }
        ("node.k8s.io", "RuntimeClass") => (path == "/handler").then_some(FIXED),
        ("discovery.k8s.io", "EndpointSlice") => (path == "/addressType").then_some(FIXED),
        ("networking.k8s.io", "IngressClass") => (path == "/spec/controller").then_some(FIXED),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            is(&["/spec/scope", "/spec/group", "/spec/names/kind", "/spec/names/plural"]).then_some(FIXED)
        }
        (CONTROL_PLANE, "KubeadmControlPlaneTemplate") => is(&["/spec/template/spec"]).then_some((
            "its webhook refuses any change of spec.template.spec",
            true,
            Some("a template of another name, which the ClusterClass then names, is the way"),
        )),
        (INFRASTRUCTURE, kind) if FIXED_TEMPLATES.contains(&kind) => {
            is(&["/spec/template/spec"]).then_some((
                "its provider's webhook refuses any change of spec.template.spec",
                true,
                Some("a template of another name, which its users then name, is the way"),
            ))
        }
        _ => None,
    }
}

/// A default that is written, or no longer written, is no change.
fn is_defaulted(change: &FieldChange, default: &str) -> bool {
    let is_default = |value: &Value| value.is_null() || value == default;
    is_default(&change.before) && is_default(&change.after)
}

fn cluster_ip(old: NodeRef<'_>, change: &FieldChange) -> Option<Verdict> {
    let external = old.str_at("/spec/type").as_deref() == Some("ExternalName");
    let headless = change.after == "None" || change.before == "None";
    // What a default or a controller has filled in is not known here.
    let stated = !change.before.is_null();
    let both = stated && !change.after.is_null() && change.before != "" && change.after != "";
    (!external && (both || headless && !change.after.is_null())).then_some(FIXED)
}

fn volume(path: &str, change: &FieldChange) -> Option<Verdict> {
    let source = VOLUME_SOURCES.iter().any(|source| within(path, &format!("/spec/{source}")));
    let secret = path.contains("SecretRef");
    let affinity = within(path, "/spec/nodeAffinity") && !change.before.is_null();
    let mode = path == "/spec/volumeMode" && !is_defaulted(change, "Filesystem");
    (source && !secret || affinity || mode).then_some(FIXED)
}

fn stateful_set(path: &str, change: &FieldChange) -> Option<Verdict> {
    // Everything but these.
    const MUTABLE: [&str; 7] = [
        "/spec/replicas",
        "/spec/template",
        "/spec/updateStrategy",
        "/spec/persistentVolumeClaimRetentionPolicy",
        "/spec/minReadySeconds",
        "/spec/ordinals",
        "/spec/revisionHistoryLimit",
    ];
    let default = path == "/spec/podManagementPolicy"
        && [&change.before, &change.after].iter().all(|value| value.is_null() || **value == "OrderedReady");
    let refused = path.starts_with("/spec/") && !MUTABLE.iter().any(|field| within(path, field)) && !default;
    refused.then_some((
        "the API server refuses changes of a StatefulSet but for replicas, template, strategy and the like",
        true,
        Some("deleted with --cascade=orphan it can be created anew around its Pods and claims"),
    ))
}

/// One that is gone by itself is created anew.
fn job(old: NodeRef<'_>, path: &str) -> Option<Verdict> {
    let goes = old.at("/spec/ttlSecondsAfterFinished").is_some_and(|ttl| !ttl.is_null());
    (!goes && is_fixed_in_job(old, path)).then_some((
        "the API server refuses to change this field of a Job",
        true,
        Some("kustomize.toolkit.fluxcd.io/force: enabled on the Job recreates it, and it runs again"),
    ))
}

/// How long a Job stays after it has ended, where changes need another one in its place.
/// Source: `kubernetes` `pkg/controller/ttlafterfinished`.
pub(super) fn stays_for(id: &ObjectId, old: NodeRef<'_>, changes: &[FieldChange]) -> Option<GoDuration> {
    let ttl = old.at("/spec/ttlSecondsAfterFinished").filter(|_| id.is("batch", "Job"))?.as_int()?;
    let needs_another = changes.iter().any(|change| is_fixed_in_job(old, &change.path));
    needs_another.then_some(GoDuration::from_seconds(ttl))
}

/// Scheduling directives of a suspended one may change.
fn is_fixed_in_job(old: NodeRef<'_>, path: &str) -> bool {
    let suspended = old.at("/spec/suspend").and_then(NodeRef::as_bool) == Some(true);
    let scheduling = [
        "/spec/template/metadata",
        "/spec/template/spec/nodeSelector",
        "/spec/template/spec/affinity",
        "/spec/template/spec/tolerations",
        "/spec/template/spec/schedulingGates",
    ];
    if suspended && scheduling.iter().any(|field| within(path, field)) {
        return false;
    }
    let fixed = [
        "/spec/selector",
        "/spec/template",
        "/spec/completionMode",
        "/spec/podFailurePolicy",
        "/spec/backoffLimitPerIndex",
        "/spec/managedBy",
    ];
    fixed.iter().any(|field| within(path, field))
}

fn pod(path: &str) -> Option<Verdict> {
    let mutable = within(path, "/spec/activeDeadlineSeconds")
        || within(path, "/spec/terminationGracePeriodSeconds")
        || within(path, "/spec/tolerations")
        || within(path, "/spec/schedulingGates")
        || (path.ends_with("/image") && path.contains("ontainers/{name="));
    (path.starts_with("/spec/") && !mutable).then_some(FIXED)
}

/// Only its request may change, and only grow; what a default or the binder filled
/// in is not known.
fn claim(path: &str, change: &FieldChange) -> Option<Verdict> {
    let request =
        within("/spec/resources/requests/storage", path) || within(path, "/spec/resources/requests");
    if request {
        let amount = |value: &Value| {
            let text = value.pointer("/requests/storage").or(value.get("storage")).unwrap_or(value);
            quantity(text)
        };
        let (before, after) = (amount(&change.before)?, amount(&change.after)?);
        return (after < before).then_some(("the API server refuses to shrink a claim", true, None));
    }
    let mode = path == "/spec/volumeMode"
        && [&change.before, &change.after].iter().all(|value| value.is_null() || **value == "Filesystem");
    let filled_in = ["/spec/storageClassName", "/spec/volumeName", "/spec/volumeMode"];
    let unknown = change.before.is_null() && filled_in.contains(&path);
    let mutable = within(path, "/spec/volumeAttributesClassName") || within(path, "/spec/resources");
    (path.starts_with("/spec/") && !mode && !unknown && !mutable).then_some((
        "the API server refuses changes of a claim's spec, but for a larger request",
        true,
        None,
    ))
}

/// What is refused for the object as it becomes, or for what it loses.
fn whole(
    id: &ObjectId,
    old: NodeRef<'_>,
    new: NodeRef<'_>,
    changes: &[FieldChange],
) -> Option<ChangeRefusal> {
    let at = |pointer: &str| {
        changes.iter().position(|change| within(&change.path, pointer) || within(pointer, &change.path))
    };
    match (id.group(), &*id.kind) {
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            // `status.storedVersions` holds at least the one that is stored.
            let stored = old
                .items_at("/spec/versions")
                .find(|version| version.at("/storage").and_then(NodeRef::as_bool) == Some(true))?;
            let name = stored.str_at("/name")?;
            let has_unknown = new.at("/spec/versions").is_none_or(|list| list.is_unknown());
            let listed = new
                .items_at("/spec/versions")
                .any(|version| version.str_at("/name").is_none_or(|other| other == name));
            let index = changes
                .iter()
                .position(|change| change.path == format!("/spec/versions/{{name={name}}}"))
                .or_else(|| at("/spec/versions"))?;
            (!has_unknown && !listed).then(|| ChangeRefusal {
                change: index,
                reason: format!(
                    "version {name} is the one in which objects are stored: it must stay in spec.versions until \
                     status.storedVersions no longer holds it"
                ),
                immutable: false,
                note: None,
            })
        }
        ("apps", "Deployment" | "DaemonSet" | "ReplicaSet" | "StatefulSet") => {
            let index = at("/spec/template/metadata/labels")?;
            let mismatch = |node: NodeRef<'_>| unselected(node, "/spec/selector/matchLabels");
            (mismatch(old) == Some(false) && mismatch(new) == Some(true)).then(|| ChangeRefusal {
                change: index,
                reason: "spec.selector must match the labels of spec.template".to_owned(),
                immutable: false,
                note: None,
            })
        }
        (CORE, "MachineDeployment" | "MachineSet") => machine_deployment(old, new, &at),
        (CORE, "Cluster") => version(new, "/spec/topology/version", &at),
        (CONTROL_PLANE, "KubeadmControlPlane") => version(new, "/spec/version", &at).or_else(|| {
            let surge = new.at("/spec/rolloutStrategy/rollingUpdate/maxSurge");
            let surge = surge.or_else(|| new.at("/spec/rollout/strategy/rollingUpdate/maxSurge"));
            let zero = surge.is_some_and(|surge| surge.text().as_deref() == Some("0"));
            let replicas = new.at("/spec/replicas").and_then(NodeRef::as_int).unwrap_or(1);
            let index = at("/spec/rolloutStrategy")
                .or_else(|| at("/spec/rollout"))
                .or_else(|| at("/spec/replicas"))?;
            (zero && replicas < 3).then(|| ChangeRefusal {
                change: index,
                reason: "maxSurge: 0 needs three replicas or more".to_owned(),
                immutable: false,
                note: None,
            })
        }),
        _ => None,
    }
}

fn machine_deployment(
    old: NodeRef<'_>,
    new: NodeRef<'_>,
    at: &dyn Fn(&str) -> Option<usize>,
) -> Option<ChangeRefusal> {
    let refused = |change: usize, reason: &str| {
        Some(ChangeRefusal { change, reason: reason.to_owned(), immutable: false, note: None })
    };
    if let Some(index) = at("/spec/template/metadata/labels").or_else(|| at("/spec/selector")) {
        let mismatch = |node: NodeRef<'_>| unselected(node, "/spec/selector/matchLabels");
        if mismatch(old) == Some(false) && mismatch(new) == Some(true) {
            return refused(index, "spec.selector must match the labels of spec.template");
        }
    }
    let names = |node: NodeRef<'_>| {
        let text = |pointer: &str| node.str_at(pointer).map(|text| text.into_owned());
        Some((text("/spec/clusterName")?, text("/spec/template/spec/clusterName")?))
    };
    let index = at("/spec/clusterName").or_else(|| at("/spec/template/spec/clusterName"));
    if let (Some(index), Some((own, template))) = (index, names(new))
        && own != template
    {
        return refused(index, "spec.clusterName and spec.template.spec.clusterName must be equal");
    }
    version(new, "/spec/template/spec/version", at)
}

/// A Kubernetes version must be a whole semantic version.
/// Source: Cluster API `util/version.KubeSemver`.
fn version(new: NodeRef<'_>, pointer: &str, at: &dyn Fn(&str) -> Option<usize>) -> Option<ChangeRefusal> {
    let index = at(pointer)?;
    let text = new.str_at(pointer)?;
    let numbers: Vec<&str> =
        text.strip_prefix('v').unwrap_or(&text).split(['-', '+']).next()?.split('.').collect();
    let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (numbers.len() != 3 || !numbers.iter().all(is_number)).then(|| ChangeRefusal {
        change: index,
        reason: format!("`{text}` is no version of Kubernetes such as v1.34.2"),
        immutable: false,
        note: None,
    })
}

/// Whether a template lacks a label that its selector asks for; `None` where one is
/// not known.
fn unselected(node: NodeRef<'_>, selector: &str) -> Option<bool> {
    let wanted = node.at(selector).filter(|map| map.is_map())?;
    let mut missing = false;
    for entry in wanted.entries() {
        let value = entry.value.text()?;
        let label = text_at(node, "/spec/template/metadata/labels", &entry.key);
        let unknown = node
            .at("/spec/template/metadata/labels")
            .is_some_and(|labels| labels.get(&entry.key).is_some_and(|label| label.text().is_none()));
        if unknown {
            return None;
        }
        missing |= label.as_deref() != Some(&*value);
    }
    Some(missing)
}

/// For programs: why it is refused.
pub(super) fn details(refusal: &ChangeRefusal) -> Value {
    json!({"reason": refusal.reason, "immutable": refusal.immutable})
}

#[cfg(test)]
mod tests {
    use super::super::fields::compare;
    use super::*;
    use crate::lang::yaml::parse_nodes;

    fn refused(kind: &str, old: &str, new: &str) -> Option<String> {
        let node = |spec: &str| {
            let text = format!("apiVersion: {kind}\nmetadata: {{name: x, namespace: n}}\n{spec}\n");
            parse_nodes("x.yaml", &text).remove(0)
        };
        let (old, new) = (node(old), node(new));
        let id = ObjectId::of(new.get_ref()).expect("an object");
        let changes = compare(old.get_ref(), new.get_ref());
        let refusal = refusal(&id, old.get_ref(), new.get_ref(), &changes)?;
        Some(changes[refusal.change].path.clone())
    }

    #[test]
    fn what_the_api_server_refuses_and_what_not() {
        let claim = |spec: &str| format!("spec: {{accessModes: [ReadWriteOnce], {spec}}}");
        let storage = |size: &str| claim(&format!("resources: {{requests: {{storage: {size}}}}}"));
        for (kind, old, new, expected) in [
            (
                "apps/v1\nkind: Deployment",
                "spec: {selector: {matchLabels: {a: b}}}",
                "spec: {selector: {matchLabels: {a: c}}}",
                Some("/spec/selector/matchLabels/a"),
            ),
            ("apps/v1\nkind: Deployment", "spec: {replicas: 1}", "spec: {replicas: 2}", None),
            (
                "apps/v1\nkind: StatefulSet",
                "spec: {serviceName: a}",
                "spec: {serviceName: b}",
                Some("/spec/serviceName"),
            ),
            (
                "apps/v1\nkind: StatefulSet",
                "spec: {replicas: 1}",
                "spec: {replicas: 2, podManagementPolicy: OrderedReady}",
                None,
            ),
            (
                "batch/v1\nkind: Job",
                "spec: {template: {spec: {a: 1}}}",
                "spec: {template: {spec: {a: 2}}}",
                Some("/spec/template/spec/a"),
            ),
            (
                "batch/v1\nkind: Job",
                "spec: {ttlSecondsAfterFinished: 1, template: {a: 1}}",
                "spec: {ttlSecondsAfterFinished: 1, template: {a: 2}}",
                None,
            ),
            (
                "v1\nkind: Service",
                "spec: {clusterIP: 10.0.0.1}",
                "spec: {clusterIP: None}",
                Some("/spec/clusterIP"),
            ),
            ("v1\nkind: Service", "spec: {clusterIP: None}", "spec: {}", None),
            ("v1\nkind: Service", "spec: {}", "spec: {clusterIP: None}", Some("/spec/clusterIP")),
            (
                "v1\nkind: PersistentVolumeClaim",
                &storage("10Gi"),
                &storage("5Gi"),
                Some("/spec/resources/requests/storage"),
            ),
            ("v1\nkind: PersistentVolumeClaim", &storage("10Gi"), &storage("10240Mi"), None),
            ("v1\nkind: PersistentVolumeClaim", &storage("10Gi"), &storage("1Ti"), None),
            (
                "v1\nkind: PersistentVolumeClaim",
                &claim("storageClassName: a"),
                &claim("storageClassName: b"),
                Some("/spec/storageClassName"),
            ),
            ("v1\nkind: PersistentVolumeClaim", &claim("a: b"), &claim("a: b, storageClassName: b"), None),
            ("v1\nkind: Secret", "stringData: {a: b}", "type: Opaque\nstringData: {a: b}", None),
            ("v1\nkind: Secret", "type: Opaque", "type: kubernetes.io/tls", Some("/type")),
            (
                "v1\nkind: ConfigMap",
                "immutable: true\ndata: {a: b}",
                "immutable: true\ndata: {a: c}",
                Some("/data/a"),
            ),
            ("v1\nkind: ConfigMap", "data: {a: b}", "immutable: true\ndata: {a: c}", None),
            (
                "storage.k8s.io/v1\nkind: StorageClass",
                "reclaimPolicy: Delete",
                "provisioner: p",
                Some("/provisioner"),
            ),
            (
                "storage.k8s.io/v1\nkind: StorageClass",
                "reclaimPolicy: Delete",
                "volumeBindingMode: Immediate",
                None,
            ),
            (
                "v1\nkind: Pod",
                "spec: {containers: [{name: a, image: a}]}",
                "spec: {containers: [{name: a, image: b}]}",
                None,
            ),
            ("v1\nkind: Pod", "spec: {nodeName: a}", "spec: {nodeName: b}", Some("/spec/nodeName")),
            (
                "v1\nkind: PersistentVolume",
                "spec: {nfs: {path: /a}}",
                "spec: {nfs: {path: /b}}",
                Some("/spec/nfs/path"),
            ),
            (
                "v1\nkind: PersistentVolume",
                "spec: {capacity: {storage: 1Gi}}",
                "spec: {capacity: {storage: 2Gi}}",
                None,
            ),
            (
                "infrastructure.cluster.x-k8s.io/v1\nkind: AWSMachineTemplate",
                "spec: {template: {spec: {a: b}}}",
                "spec: {template: {spec: {a: c}}}",
                Some("/spec/template/spec/a"),
            ),
            (
                "infrastructure.cluster.x-k8s.io/v1\nkind: OtherMachineTemplate",
                "spec: {template: {spec: {a: b}}}",
                "spec: {template: {spec: {a: c}}}",
                None,
            ),
            (
                "cluster.x-k8s.io/v1beta1\nkind: Cluster",
                "spec: {topology: {version: v1.33.1}}",
                "spec: {topology: {version: v1.34}}",
                Some("/spec/topology/version"),
            ),
            (
                "cluster.x-k8s.io/v1beta1\nkind: Cluster",
                "spec: {topology: {version: v1.33.1}}",
                "spec: {topology: {version: v1.34.0+k3s1}}",
                None,
            ),
            (
                "cluster.x-k8s.io/v1beta1\nkind: MachineDeployment",
                "spec: {clusterName: a, template: {spec: {clusterName: a}}}",
                "spec: {clusterName: a, template: {spec: {clusterName: b}}}",
                Some("/spec/template/spec/clusterName"),
            ),
        ] {
            assert_eq!(refused(kind, old, new).as_deref(), expected, "{kind}: {old} -> {new}");
        }
    }
}
