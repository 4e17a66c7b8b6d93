//! What manifests of other projects can hold, by where they are.

/// What is held by something that is not here, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Upstream {
    /// No object: the content of a generated one.
    Nothing,
    /// CustomResourceDefinitions, and what serves them.
    Definitions,
    /// The controllers of Flux.
    FluxItself,
    /// Anything but objects of Flux.
    NotFlux,
    /// Anything.
    Any,
}

/// Kinds beside CustomResourceDefinitions in manifests that are there for these: what
/// converts, checks and serves them.
/// Source: `config/crd` of kubebuilder (`pkg/plugins/common/kustomize/v2`, webhooks beside
/// the definitions); `config/crd` of kubernetes-sigs/gateway-api (a ValidatingAdmissionPolicy).
const WITH_DEFINITIONS: [&str; 14] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "ConfigMap",
    "CustomResourceDefinition",
    "Deployment",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Role",
    "RoleBinding",
    "Service",
    "ServiceAccount",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
];

/// What Flux's own manifests hold beside its Services.
/// Source: fluxcd/flux2 `manifests/install`, `manifests/rbac`, `manifests/policies`.
const OF_FLUX: [&str; 8] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "Deployment",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "ServiceAccount",
];

/// The Services of Flux's controllers and of flux-operator.
/// Source: fluxcd/flux2 `manifests/bases/*/service.yaml`.
pub(super) const FLUX_SERVICES: [&str; 5] =
    ["flux-operator", "notification-controller", "source-controller", "source-watcher", "webhook-receiver"];

/// Owners on GitHub, and projects of other owners, whose manifests bring controllers of
/// their own and no object of Flux, which a cluster without Flux would refuse.
/// Source: a search for `toolkit.fluxcd.io` in what each lets people install.
const PROJECTS: [&str; 33] = [
    "alex1989hu/kubelet-serving-cert-approver",
    "argoproj/argo-cd",
    "argoproj/argo-rollouts",
    "argoproj/argo-workflows",
    "cert-manager/cert-manager",
    "cilium/cilium",
    "cloudnative-pg/cloudnative-pg",
    "cloudnative-pg/plugin-barman-cloud",
    "dragonflydb/dragonfly-operator",
    "intel/intel-device-plugins-for-kubernetes",
    "jetstack/cert-manager",
    "k8snetworkplumbingwg/multus-cni",
    "keycloak/keycloak-k8s-resources",
    "kube-vip/kube-vip",
    "kubereboot/kured",
    "kubernetes",
    "kubernetes-csi",
    "kubernetes-sigs",
    "kyverno/kyverno",
    "longhorn/longhorn",
    "mariadb-operator/mariadb-operator",
    "metallb/metallb",
    "movetokube/postgres-operator",
    "nvidia/k8s-device-plugin",
    "projectcalico/calico",
    "prometheus-operator",
    "rancher/local-path-provisioner",
    "rancher/system-upgrade-controller",
    "reactive-tech/kubegres",
    "rook/rook",
    "stakater/reloader",
    "tektoncd",
    "zalando/postgres-operator",
];

impl Upstream {
    /// The only kinds that it brings; `None` where there are others.
    pub(super) fn only(self) -> Option<&'static [&'static str]> {
        match self {
            Upstream::Nothing => Some(&[]),
            Upstream::Definitions => Some(&WITH_DEFINITIONS),
            Upstream::FluxItself => Some(&OF_FLUX),
            Upstream::NotFlux | Upstream::Any => None,
        }
    }
}

/// What lies at an address of GitHub.
pub(super) fn of_address(url: &str) -> Upstream {
    let Some(place) = on_github(url) else { return Upstream::Any };
    let place = place.to_ascii_lowercase();
    let mut parts = place.split('/').filter(|part| !part.is_empty());
    let (owner, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let name = name.split('?').next().unwrap_or_default().trim_end_matches(".git");
    let is_known = |project: &str| match project.split_once('/') {
        Some((of, called)) => of == owner && called == name,
        None => project == owner,
    };
    let is_install = owner == "fluxcd" && name == "flux2" && place.contains(INSTALL);
    if is_install || PROJECTS.iter().any(|project| is_known(project)) {
        Upstream::NotFlux
    } else {
        Upstream::Any
    }
}

/// Where fluxcd/flux2 keeps what `flux install` applies.
const INSTALL: &str = "manifests/install";

/// Whether a path of a repository is what `flux install` applies.
pub(super) fn is_flux(url: &str, path: &str) -> bool {
    let repository = on_github(url).map(|place| place.trim_end_matches('/').trim_end_matches(".git"));
    repository == Some("fluxcd/flux2") && path.trim_end_matches('/').ends_with(INSTALL)
}

/// The part of an address behind the host, for GitHub's.
fn on_github(url: &str) -> Option<&str> {
    let hosts = ["github.com/", "github.com:", "raw.githubusercontent.com/"];
    let start = hosts.iter().find_map(|host| Some(url.find(host)? + host.len()))?;
    url.get(start..)
}

#[cfg(test)]
mod tests {
    use super::{Upstream, of_address};

    #[test]
    fn known_projects_bring_no_object_of_flux() {
        for address in [
            "github.com/rancher/system-upgrade-controller?ref=v0.9.1",
            "https://github.com/kubernetes-csi/external-snapshotter//deploy/kubernetes?ref=v6.0.1",
            "https://raw.githubusercontent.com/rook/rook/v1.16.3/deploy/examples/common.yaml",
            "git@github.com:stakater/Reloader.git",
            "github.com/fluxcd/flux2/manifests/install?ref=v0.31.3",
        ] {
            assert_eq!(of_address(address), Upstream::NotFlux, "{address}");
        }
    }

    #[test]
    fn others_may_bring_anything() {
        for address in [
            "github.com/fluxcd/flux2-kustomize-helm-example//infrastructure",
            "https://example.org/rook/rook",
            "github.com/rancher/fleet-examples",
            "",
        ] {
            assert_eq!(of_address(address), Upstream::Any, "{address}");
        }
    }
}
