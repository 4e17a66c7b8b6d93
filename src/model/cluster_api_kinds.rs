//! Cluster API kinds.

/// Group of Cluster, ClusterClass, Machine and their kin.
pub(crate) const CORE: &str = "cluster.x-k8s.io";
/// Group of control plane providers' kinds, KubeadmControlPlane among them.
pub(crate) const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";
/// Group of bootstrap providers' kinds, KubeadmConfigTemplate among them.
pub(crate) const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io";
/// Group of infrastructure providers' kinds.
pub(crate) const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
/// Group of ExtensionConfig.
pub(crate) const RUNTIME: &str = "runtime.cluster.x-k8s.io";

/// The group of an apiVersion: what stands before the slash, or nothing.
pub(crate) fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// The kind that a template makes: `KubeadmControlPlane` of
/// `KubeadmControlPlaneTemplate`.
pub(crate) fn templated_kind(template_kind: &str) -> &str {
    template_kind.strip_suffix("Template").unwrap_or(template_kind)
}
