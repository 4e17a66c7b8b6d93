//! Who makes namespaces beside Git.
//! Source: Kubernetes `pkg/controlplane/controller/systemnamespaces`; the templates and
//! controllers of each chart, by its name; the documentation of hosted clusters for
//! what they bring along.

use super::ObjectId;

/// Every cluster has them.
const OF_KUBERNETES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// First parts of namespaces that distributions and hosts of clusters bring along.
const OF_HOSTS: [&str; 12] = [
    "openshift",
    "gke-",
    "gmp-",
    "cattle-",
    "fleet-",
    "azure-",
    "aks-",
    "app-routing-",
    "amazon-",
    "aws-",
    "ibm-",
    "kubevirt-os-images",
];

/// Namespaces that a chart's templates or its controllers make.
const OF_CHARTS: [(&str, &[&str]); 19] = [
    ("calico", &["calico-system", "calico-apiserver", "tigera-operator"]),
    ("tigera-operator", &["calico-system", "calico-apiserver", "tigera-operator"]),
    ("cilium", &["cilium-secrets"]),
    ("capi-operator", &["capi-system", "capi-kubeadm-bootstrap-system", "capi-kubeadm-control-plane-system"]),
    ("cluster-api-operator", &["capi-system"]),
    ("eck-operator", &["elastic-system"]),
    ("flux-operator", &["flux-system"]),
    ("gatekeeper", &["gatekeeper-system"]),
    ("istio-operator", &["istio-system"]),
    ("k0rdent", &["kcm-system", "projectsveltos", "mgmt"]),
    ("kcm", &["kcm-system", "projectsveltos", "mgmt"]),
    ("knative-operator", &["knative-serving", "knative-eventing"]),
    ("kommander", &["kommander", "kommander-flux"]),
    ("linkerd2", &["linkerd"]),
    ("linkerd-viz", &["linkerd-viz"]),
    ("olm", &["olm", "operators"]),
    ("projectsveltos", &["projectsveltos", "mgmt"]),
    ("rancher", &["cattle-system", "cattle-fleet-system", "fleet-default", "fleet-local"]),
    ("tekton-operator", &["tekton-operator", "tekton-pipelines"]),
];

/// Texts of scripts and other tools that say that a namespace is made.
pub(crate) const MAKING: [&str; 11] = [
    "create namespace",
    "create ns",
    "createNamespace",
    "create_namespace",
    "create-namespace",
    "kubernetes_namespace",
    "kind: Namespace",
    "kind=Namespace",
    "\"Namespace\"",
    "namespaces:",
    // helmfile makes those of its releases.
    "releases:",
];

/// Whether a cluster has a namespace whoever applies what.
pub(crate) fn is_given(name: &str) -> bool {
    OF_KUBERNETES.contains(&name) || OF_HOSTS.iter().any(|lead| name.starts_with(lead))
}

/// The namespaces that come with a chart.
pub(crate) fn of_chart(chart: &str) -> &'static [&'static str] {
    OF_CHARTS.iter().find(|(known, _)| *known == chart).map_or(&[], |(_, names)| names)
}

/// Where a kind whose controller makes namespaces says the name of its own.
pub(crate) fn maker(id: &ObjectId) -> Option<&'static str> {
    match (id.group(), &*id.kind) {
        ("project.openshift.io", "Project" | "ProjectRequest") | ("hnc.x-k8s.io", "SubnamespaceAnchor") => {
            Some("/metadata/name")
        }
        ("operator.knative.dev", _) => Some("/metadata/namespace"),
        ("operator.tekton.dev", _) => Some("/spec/targetNamespace"),
        _ => None,
    }
}
