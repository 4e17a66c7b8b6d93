//! What people type for a kind besides its name: the short names that `kubectl
//! api-resources` lists, and plurals.
//! Source: `kubernetes` `pkg/registry/*/*/storage/storage.go` (`ShortNames`) and
//! `pkg/apis/apiextensions`; for custom resources the `+kubebuilder:resource:shortName`
//! markers of cluster-api `api/`, cert-manager `pkg/apis/certmanager/v1`, external-secrets
//! `apis/externalsecrets/v1`, Gateway API `apis/v1`, prometheus-operator `pkg/apis/monitoring`,
//! cilium `pkg/k8s/apis/cilium.io/v2`, KEDA `apis/keda/v1alpha1`.

/// Short names outside of Flux, each of one kind: where two APIs share one, kubectl takes
/// the first that the API server lists, and so does this table.
static SHORT: [(&str, &str); 66] = [
    ("amcfg", "AlertmanagerConfig"),
    ("cc", "ClusterClass"),
    ("ccnp", "CiliumClusterwideNetworkPolicy"),
    ("cert", "Certificate"),
    ("certs", "Certificate"),
    ("ces", "ClusterExternalSecret"),
    ("cj", "CronJob"),
    ("cl", "Cluster"),
    ("cm", "ConfigMap"),
    ("cnp", "CiliumNetworkPolicy"),
    ("cr", "CertificateRequest"),
    ("crd", "CustomResourceDefinition"),
    ("crds", "CustomResourceDefinition"),
    ("crs", "ClusterResourceSet"),
    ("csr", "CertificateSigningRequest"),
    ("css", "ClusterSecretStore"),
    ("cta", "ClusterTriggerAuthentication"),
    ("deploy", "Deployment"),
    ("ds", "DaemonSet"),
    ("ep", "Endpoints"),
    ("es", "ExternalSecret"),
    ("ev", "Event"),
    ("gc", "GatewayClass"),
    ("gtw", "Gateway"),
    ("hpa", "HorizontalPodAutoscaler"),
    ("ing", "Ingress"),
    ("ipa", "IPAddress"),
    ("ipc", "IPAddressClaim"),
    ("kcp", "KubeadmControlPlane"),
    ("limits", "LimitRange"),
    ("ma", "Machine"),
    ("md", "MachineDeployment"),
    ("mhc", "MachineHealthCheck"),
    ("mhcs", "MachineHealthCheck"),
    ("mp", "MachinePool"),
    ("ms", "MachineSet"),
    ("netpol", "NetworkPolicy"),
    ("no", "Node"),
    ("ns", "Namespace"),
    ("pc", "PriorityClass"),
    ("pdb", "PodDisruptionBudget"),
    ("pmon", "PodMonitor"),
    ("po", "Pod"),
    ("prb", "Probe"),
    ("prom", "Prometheus"),
    ("promrule", "PrometheusRule"),
    ("ps", "PushSecret"),
    ("pv", "PersistentVolume"),
    ("pvc", "PersistentVolumeClaim"),
    ("quota", "ResourceQuota"),
    ("rc", "ReplicationController"),
    ("rs", "ReplicaSet"),
    ("sa", "ServiceAccount"),
    ("sc", "StorageClass"),
    ("sj", "ScaledJob"),
    ("smon", "ServiceMonitor"),
    ("so", "ScaledObject"),
    ("ss", "SecretStore"),
    ("sts", "StatefulSet"),
    ("svc", "Service"),
    ("ta", "TriggerAuthentication"),
    ("thanosrulers", "ThanosRuler"),
    ("vpa", "VerticalPodAutoscaler"),
    ("vs", "VolumeSnapshot"),
    ("vsc", "VolumeSnapshotContent"),
    ("vsclass", "VolumeSnapshotClass"),
];

/// The kind that a short name stands for.
pub(super) fn kind_of(word: &str) -> Option<&'static str> {
    SHORT.iter().find(|(short, _)| short.eq_ignore_ascii_case(word)).map(|(_, kind)| *kind)
}

/// Whether a word names a kind: the kind itself or its plural, in any case.
pub(crate) fn is_called(kind: &str, word: &str) -> bool {
    if kind.eq_ignore_ascii_case(word) {
        return true;
    }
    let (kind, word) = (kind.to_ascii_lowercase(), word.to_ascii_lowercase());
    let vowel = |letter: &u8| b"aeiou".contains(letter);
    match kind.as_bytes() {
        [.., before, b'y'] if !vowel(before) => {
            word.strip_suffix("ies").is_some_and(|stem| kind.strip_suffix('y') == Some(stem))
        }
        [.., b's' | b'x'] | [.., b'c' | b's', b'h'] => word.strip_suffix("es") == Some(&kind),
        _ => word.strip_suffix('s') == Some(&kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_kinds() {
        for (kind, word, expected) in [
            ("Deployment", "deployments", true),
            ("Ingress", "ingresses", true),
            ("NetworkPolicy", "networkpolicies", true),
            ("Gateway", "gateways", true),
            ("Service", "services", true),
            ("Service", "servic", false),
            ("Ingress", "ingresss", false),
        ] {
            assert_eq!(is_called(kind, word), expected, "{kind} {word}");
        }
        assert_eq!(kind_of("SVC"), Some("Service"));
    }
}
