//! Every reference field of workloads and of what routes to them, with its defaulting.
//! Source: `kubernetes/api` `core/v1`, `apps/v1`, `networking/v1` types; `kubernetes`
//! `pkg/kubelet/kubelet_pods.go` (`makeEnvironmentVariables`) and `pkg/volume` for what a
//! missing object does; Gateway API `apis/v1`; cert-manager `pkg/apis/certmanager/v1`;
//! external-secrets `apis/externalsecrets/v1`; VolSync `api/v1alpha1`; CloudNativePG
//! `api/v1`; KEDA `apis/keda/v1alpha1`; `kubernetes/autoscaler` `autoscaling.k8s.io/v1`;
//! external-snapshotter `volumesnapshot/v1`; prometheus-operator `monitoring/v1`.

use super::field::{
    BACKEND, CONFIG_MAP, ISSUER, NAME, Name, SECRET, SERVICE, SNAPSHOT_CLASS, STORAGE_CLASS, TLS, Target,
    WorkloadField, field, with_keys, with_port,
};
use super::operated;
use super::pods::pod_spec;
use super::reference::WorkloadReference;
use super::scope::is_cluster_scoped;
use crate::lang::yaml::NodeRef;
use crate::model::{ObjectId, kinds};
use std::borrow::Cow;

const ENVIRONMENT: &str = "the container is not started (CreateContainerConfigError) until it exists";
const MOUNT: &str = "the kubelet can't mount the volume: the Pod stays in ContainerCreating until it exists";
const CLAIM: &str = "the Pod is not scheduled until the claim exists";
const PULL: &str = "images of a private registry can't be pulled without it";
const ACCOUNT: &str = "the API server refuses the Pods until the account exists: none is made";
const CLASS: &str = "the API server refuses the Pods while the class does not exist: none is made";
const ROUTE_BACKEND: &str = "the route reports ResolvedRefs=False, and its requests are answered with 500";
const PARENT: &str = "nothing takes the route in: it serves no request";
const STORAGE: &str = "the claim stays Pending: no volume is made for it";
const SNAPSHOT: &str = "no snapshot is taken";
const SCALE: &str = "nothing is scaled";
const RIGHTS: &str = "the API server takes the binding, but nobody gets the rights";
const WEBHOOK: &str =
    "the API server can't call it: requests that it is for are refused, unless failures are ignored";
const MONITOR: &str = "nothing is scraped there";
const WORKLOAD: Target = Target::Stated("apps", "Deployment");

/// Fields of a Pod's spec.
static POD: &[WorkloadField] = &[
    with_keys(
        &["key"],
        field("/containers/*/env/*/valueFrom/configMapKeyRef", CONFIG_MAP, NAME, ENVIRONMENT),
    ),
    with_keys(&["key"], field("/containers/*/env/*/valueFrom/secretKeyRef", SECRET, NAME, ENVIRONMENT)),
    field("/containers/*/envFrom/*/configMapRef", CONFIG_MAP, NAME, ENVIRONMENT),
    field("/containers/*/envFrom/*/secretRef", SECRET, NAME, ENVIRONMENT),
    with_keys(
        &["key"],
        field("/initContainers/*/env/*/valueFrom/configMapKeyRef", CONFIG_MAP, NAME, ENVIRONMENT),
    ),
    with_keys(&["key"], field("/initContainers/*/env/*/valueFrom/secretKeyRef", SECRET, NAME, ENVIRONMENT)),
    field("/initContainers/*/envFrom/*/configMapRef", CONFIG_MAP, NAME, ENVIRONMENT),
    field("/initContainers/*/envFrom/*/secretRef", SECRET, NAME, ENVIRONMENT),
    with_keys(&["items/*/key"], field("/volumes/*/configMap", CONFIG_MAP, NAME, MOUNT)),
    with_keys(&["items/*/key"], field("/volumes/*/secret", SECRET, Name::At("secretName"), MOUNT)),
    with_keys(&["items/*/key"], field("/volumes/*/projected/sources/*/configMap", CONFIG_MAP, NAME, MOUNT)),
    with_keys(&["items/*/key"], field("/volumes/*/projected/sources/*/secret", SECRET, NAME, MOUNT)),
    field(
        "/volumes/*/persistentVolumeClaim",
        Target::Kind("", "PersistentVolumeClaim"),
        Name::At("claimName"),
        CLAIM,
    ),
    field("/volumes/*/csi/nodePublishSecretRef", SECRET, NAME, MOUNT),
    field(
        "/volumes/*/csi/volumeAttributes/secretProviderClass",
        Target::Kind("secrets-store.csi.x-k8s.io", "SecretProviderClass"),
        Name::Itself,
        MOUNT,
    ),
    field(
        "/volumes/*/ephemeral/volumeClaimTemplate/spec/storageClassName",
        STORAGE_CLASS,
        Name::Itself,
        STORAGE,
    ),
    field("/serviceAccountName", Target::Kind("", "ServiceAccount"), Name::Itself, ACCOUNT),
    field("/imagePullSecrets/*", SECRET, NAME, PULL),
    field("/priorityClassName", Target::Kind("scheduling.k8s.io", "PriorityClass"), Name::Itself, CLASS),
    field("/runtimeClassName", Target::Kind("node.k8s.io", "RuntimeClass"), Name::Itself, CLASS),
];

static STATEFUL_SET: &[WorkloadField] = &[
    field("/spec/serviceName", SERVICE, Name::Itself, "its Pods get no names of their own in DNS"),
    field("/spec/volumeClaimTemplates/*/spec/storageClassName", STORAGE_CLASS, Name::Itself, STORAGE),
];

static CLAIM_FIELDS: &[WorkloadField] = &[
    field("/spec/storageClassName", STORAGE_CLASS, Name::Itself, STORAGE),
    field("/spec/dataSourceRef", Target::Stated("", ""), NAME, STORAGE),
];

static VOLUME_SNAPSHOT: &[WorkloadField] = &[
    field("/spec/volumeSnapshotClassName", SNAPSHOT_CLASS, Name::Itself, SNAPSHOT),
    field(
        "/spec/source/persistentVolumeClaimName",
        Target::Kind("", "PersistentVolumeClaim"),
        Name::Itself,
        SNAPSHOT,
    ),
];

static SCALED: &[WorkloadField] = &[
    field("/spec/scaleTargetRef", WORKLOAD, NAME, SCALE),
    field(
        "/spec/triggers/*/authenticationRef",
        Target::Stated("keda.sh", "TriggerAuthentication"),
        NAME,
        SCALE,
    ),
];

static VERTICAL: &[WorkloadField] = &[field("/spec/targetRef", WORKLOAD, NAME, SCALE)];

static BINDING: &[WorkloadField] = &[
    field("/roleRef", Target::Stated("rbac.authorization.k8s.io", "ClusterRole"), NAME, RIGHTS),
    field("/subjects/*", Target::Stated("", ""), NAME, RIGHTS),
];

static ADMISSION: &[WorkloadField] = &[with_port(
    &["port"],
    field("/webhooks/*/clientConfig/service", Target::Stated("", "Service"), NAME, WEBHOOK),
)];

static API_SERVICE: &[WorkloadField] = &[with_port(
    &["port"],
    field("/spec/service", Target::Stated("", "Service"), NAME, "requests to its API are answered with 503"),
)];

static DEFINITION: &[WorkloadField] = &[with_port(
    &["port"],
    field(
        "/spec/conversion/webhook/clientConfig/service",
        Target::Stated("", "Service"),
        NAME,
        "objects of other versions than the stored one can't be read or written",
    ),
)];

static MONITORS: &[WorkloadField] =
    &[field("/spec/namespaceSelector/matchNames/*", Target::Kind("", "Namespace"), Name::Itself, MONITOR)];

static SERVICE_ACCOUNT: &[WorkloadField] = &[field("/imagePullSecrets/*", SECRET, NAME, PULL)];

static INGRESS: &[WorkloadField] = &[
    with_port(&["port/number", "port/name"], field("/spec/defaultBackend/service", SERVICE, NAME, BACKEND)),
    with_port(
        &["port/number", "port/name"],
        field("/spec/rules/*/http/paths/*/backend/service", SERVICE, NAME, BACKEND),
    ),
    field(
        "/spec/ingressClassName",
        Target::Kind("networking.k8s.io", "IngressClass"),
        Name::Itself,
        "no controller takes the Ingress in: it serves no request",
    ),
    field("/spec/tls/*", SECRET, Name::At("secretName"), TLS),
    field(
        "/metadata/annotations/cert-manager.io~1cluster-issuer",
        Target::Kind("cert-manager.io", "ClusterIssuer"),
        Name::Itself,
        ISSUER,
    ),
    field(
        "/metadata/annotations/cert-manager.io~1issuer",
        Target::Kind("cert-manager.io", "Issuer"),
        Name::Itself,
        ISSUER,
    ),
];

/// A route of the Gateway API.
static ROUTE: &[WorkloadField] = &[
    field("/spec/parentRefs/*", Target::Stated("gateway.networking.k8s.io", "Gateway"), NAME, PARENT),
    with_port(
        &["port"],
        field("/spec/rules/*/backendRefs/*", Target::Stated("", "Service"), NAME, ROUTE_BACKEND),
    ),
    with_port(
        &["port"],
        field(
            "/spec/rules/*/filters/*/requestMirror/backendRef",
            Target::Stated("", "Service"),
            NAME,
            ROUTE_BACKEND,
        ),
    ),
    field(
        "/spec/rules/*/filters/*/extensionRef",
        Target::Stated("", ""),
        NAME,
        "the requests of this rule are answered with 500",
    ),
];

static GATEWAY: &[WorkloadField] = &[
    field(
        "/spec/gatewayClassName",
        Target::Kind("gateway.networking.k8s.io", "GatewayClass"),
        Name::Itself,
        "no controller takes the Gateway in",
    ),
    field(
        "/spec/listeners/*/tls/certificateRefs/*",
        Target::Stated("", "Secret"),
        NAME,
        "the listener reports ResolvedRefs=False and serves nothing",
    ),
    field(
        "/metadata/annotations/cert-manager.io~1cluster-issuer",
        Target::Kind("cert-manager.io", "ClusterIssuer"),
        Name::Itself,
        ISSUER,
    ),
    field(
        "/metadata/annotations/cert-manager.io~1issuer",
        Target::Kind("cert-manager.io", "Issuer"),
        Name::Itself,
        ISSUER,
    ),
];

/// Fields of a kind beside those of its Pods.
fn fields(id: &ObjectId) -> &'static [WorkloadField] {
    match (id.group(), &*id.kind) {
        ("", "PersistentVolumeClaim") => CLAIM_FIELDS,
        ("", "ServiceAccount") => SERVICE_ACCOUNT,
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => ADMISSION,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => DEFINITION,
        ("apiregistration.k8s.io", "APIService") => API_SERVICE,
        ("apps", "StatefulSet") => STATEFUL_SET,
        ("autoscaling", "HorizontalPodAutoscaler") | ("keda.sh", "ScaledObject" | "ScaledJob") => SCALED,
        ("autoscaling.k8s.io", "VerticalPodAutoscaler") => VERTICAL,
        ("monitoring.coreos.com", "ServiceMonitor" | "PodMonitor") => MONITORS,
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => BINDING,
        ("snapshot.storage.k8s.io", "VolumeSnapshot") => VOLUME_SNAPSHOT,
        ("networking.k8s.io", "Ingress") => INGRESS,
        ("gateway.networking.k8s.io", kind) if kind.ends_with("Route") => ROUTE,
        ("gateway.networking.k8s.io", "Gateway") => GATEWAY,
        _ => operated::fields(id),
    }
}

/// Kinds of targets about which something is known: of others nothing is told.
const JUDGED: [(&str, &str); 34] = [
    ("", "ConfigMap"),
    ("", "Namespace"),
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("keda.sh", "ClusterTriggerAuthentication"),
    ("keda.sh", "TriggerAuthentication"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "Role"),
    ("snapshot.storage.k8s.io", "VolumeSnapshot"),
    ("snapshot.storage.k8s.io", "VolumeSnapshotClass"),
    ("storage.k8s.io", "StorageClass"),
    ("volsync.backube", "ReplicationDestination"),
    ("", "PersistentVolumeClaim"),
    ("", "Secret"),
    ("", "Service"),
    ("", "ServiceAccount"),
    ("cert-manager.io", "ClusterIssuer"),
    ("cert-manager.io", "Issuer"),
    ("external-secrets.io", "ClusterSecretStore"),
    ("external-secrets.io", "SecretStore"),
    ("gateway.networking.k8s.io", "Gateway"),
    ("gateway.networking.k8s.io", "GatewayClass"),
    ("gateway.networking.k8s.io", "HTTPRoute"),
    ("gateway.networking.k8s.io", "GRPCRoute"),
    ("gateway.networking.k8s.io", "TLSRoute"),
    ("networking.k8s.io", "IngressClass"),
    ("node.k8s.io", "RuntimeClass"),
    ("postgresql.cnpg.io", "Cluster"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("secrets-store.csi.x-k8s.io", "SecretProviderClass"),
    ("traefik.io", "Middleware"),
    ("gateway.envoyproxy.io", "Backend"),
    ("gateway.envoyproxy.io", "HTTPRouteFilter"),
    ("gateway.networking.k8s.io", "XListenerSet"),
];

/// Whether something is known of a kind of targets.
pub(crate) fn is_judged(group: &str, kind: &str) -> bool {
    // external-secrets `apis/generators/v1alpha1/register.go`: what makes a value once, for one
    // namespace; a ClusterGenerator is for all.
    let is_generator = group == "generators.external-secrets.io" && kind != "ClusterGenerator";
    is_generator || JUDGED.contains(&(group, kind))
}

/// The references of an object, in the order of the table.
pub(crate) fn references<'a>(id: &ObjectId, node: NodeRef<'a>) -> Vec<WorkloadReference<'a>> {
    let mut found = Vec::new();
    if let Some((prefix, spec)) = pod_spec(id, node) {
        POD.iter().for_each(|field| read_all(id, spec, field, prefix, &mut found));
    }
    fields(id).iter().for_each(|field| read_all(id, node, field, "", &mut found));
    let values = || node.at("/spec/values");
    if let Some(values) = kinds::is_helm_release(id).then(values).flatten() {
        let target = node.at("/spec/targetNamespace").filter(|target| !target.is_null());
        let namespace = match target {
            Some(target) => target.as_str(),
            None => id.namespace.as_deref().map(Cow::Borrowed),
        };
        if let Some(namespace) = namespace {
            super::values::references(&namespace, values, &mut found);
        }
    }
    found
}

fn read_all<'a>(
    id: &ObjectId,
    node: NodeRef<'a>,
    field: &'static WorkloadField,
    prefix: &str,
    found: &mut Vec<WorkloadReference<'a>>,
) {
    each(node, field.pointer, &mut prefix.to_owned(), &mut |pointer, at| {
        found.extend(read(id, field, pointer, at))
    });
}

/// Calls for each node at a pointer in which `*` stands for every item of a list.
fn each<'a>(node: NodeRef<'a>, pattern: &str, pointer: &mut String, then: &mut dyn FnMut(&str, NodeRef<'a>)) {
    let length = pointer.len();
    if let Some((before, after)) = pattern.split_once("/*") {
        let Some(list) = (if before.is_empty() { Some(node) } else { node.at(before) }) else { return };
        for (index, item) in list.items().enumerate() {
            pointer.push_str(before);
            pointer.push('/');
            pointer.push_str(&index.to_string());
            each(item, after, pointer, then);
            pointer.truncate(length);
        }
    } else if let Some(at) = if pattern.is_empty() { Some(node) } else { node.at(pattern) } {
        pointer.push_str(pattern);
        then(pointer, at);
        pointer.truncate(length);
    }
}

fn read<'a>(
    id: &ObjectId,
    field: &'static WorkloadField,
    pointer: &str,
    at: NodeRef<'a>,
) -> Option<WorkloadReference<'a>> {
    let stated = |key: &str| at.get(key).and_then(NodeRef::as_str).filter(|text| !text.is_empty());
    let name_node = match field.name {
        Name::At(key) => at.get(key)?,
        Name::Itself => at,
    };
    let of_version = || {
        let version = stated("apiVersion")?;
        Some(version.rsplit_once('/').map_or("", |(group, _)| group).to_owned().into())
    };
    let (group, kind) = match field.target {
        Target::Kind(group, kind) => (group.into(), kind.into()),
        Target::Stated(group, kind) => (
            stated("group").or_else(|| stated("apiGroup")).or_else(of_version).unwrap_or(group.into()),
            stated("kind").unwrap_or(kind.into()),
        ),
    };
    let own = id.namespace.as_deref();
    let written = stated("namespace").filter(|_| matches!(field.target, Target::Stated(..)));
    let crosses = written.as_deref().is_some_and(|written| own.is_some_and(|own| own != written));
    let namespace = match is_cluster_scoped(&group, &kind) {
        true => None,
        false => written.or_else(|| own.map(|own| Cow::Owned(own.to_owned()))),
    };
    let mut keys = Vec::new();
    for pattern in field.keys {
        each(at, &format!("/{pattern}"), &mut String::new(), &mut |_, key| keys.push(key));
    }
    Some(WorkloadReference {
        pointer: pointer.to_owned(),
        name_node,
        // `NAME@PROVIDER` is an object of another program.
        name: name_node.as_str().filter(|name| !name.is_empty() && !name.contains('@')),
        group,
        kind,
        namespace,
        crosses,
        optional: at.get("optional").and_then(NodeRef::as_bool).unwrap_or(false),
        keys,
        port: field.port.iter().find_map(|port| at.at(&format!("/{port}"))),
        consequence: field.consequence,
        is_guess: false,
    })
}
