//! Which kinds that workloads name have no namespace.

/// Kinds without a namespace that the table of references or an operator names.
const CLUSTER_SCOPED: [(&str, &str); 23] = [
    ("", "Namespace"),
    ("", "Node"),
    ("", "PersistentVolume"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("cert-manager.io", "ClusterIssuer"),
    ("external-secrets.io", "ClusterExternalSecret"),
    ("external-secrets.io", "ClusterPushSecret"),
    ("external-secrets.io", "ClusterSecretStore"),
    ("gateway.networking.k8s.io", "GatewayClass"),
    ("keda.sh", "ClusterTriggerAuthentication"),
    ("networking.k8s.io", "IngressClass"),
    ("node.k8s.io", "RuntimeClass"),
    ("policy", "PodSecurityPolicy"),
    ("postgresql.cnpg.io", "ClusterImageCatalog"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("snapshot.storage.k8s.io", "VolumeSnapshotClass"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "CSINode"),
    ("storage.k8s.io", "StorageClass"),
];

/// Whether objects of a kind have no namespace.
pub(crate) fn is_cluster_scoped(group: &str, kind: &str) -> bool {
    CLUSTER_SCOPED.contains(&(group, kind))
}
