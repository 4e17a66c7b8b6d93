//! API versions that Kubernetes itself no longer serves.
//! Source: k8s.io/api, `zz_generated.prerelease-lifecycle.go` of each package
//! (`APILifecycleRemoved`, `APILifecycleReplacement`), and the deprecated API
//! migration guide of Kubernetes for the kinds and versions whose packages are gone
//! (PodSecurityPolicy, autoscaling/v2beta1 and v2beta2) and for what changes in the
//! object.

/// Some kinds of an API version.
#[derive(Debug)]
pub(crate) struct RemovedApi {
    /// Group and version.
    pub api_version: &'static str,
    /// The kinds that went together.
    pub kinds: &'static [&'static str],
    /// First Kubernetes 1.x minor that no longer serves them.
    pub removed: u32,
    /// What to use instead; `None` where the kind itself is gone.
    pub replacement: Option<ApiReplacement>,
}

/// The API version that came after.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ApiReplacement {
    /// Group and version.
    pub api_version: &'static str,
    /// First Kubernetes 1.x minor that serves it.
    pub since: u32,
    /// Whether the same object is good in it.
    pub change: ApiChange,
}

/// What of an object changes with its API version.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ApiChange {
    /// Nothing.
    Nothing,
    /// A field has to be there that could be left out: its JSON Pointer.
    Required(&'static str),
    /// More, in a few words.
    Fields(&'static str),
}

/// The oldest Kubernetes 1.x minor that was maintained when the table was written. No
/// API version of the table is served by it.
pub(crate) const OLDEST_MAINTAINED: u32 = 34;

const fn to(api_version: &'static str, since: u32, change: ApiChange) -> Option<ApiReplacement> {
    Some(ApiReplacement { api_version, since, change })
}

/// A row of the table.
const fn row(
    api_version: &'static str,
    kinds: &'static [&'static str],
    removed: u32,
    replacement: Option<ApiReplacement>,
) -> RemovedApi {
    RemovedApi { api_version, kinds, removed, replacement }
}

/// apps/v1 fills in no selector.
const SELECTOR: ApiChange = ApiChange::Required("/spec/selector");
/// Of what runs Pods.
const WORKLOAD: Option<ApiReplacement> = to("apps/v1", 9, SELECTOR);
/// Of an Ingress, in both of its groups.
const INGRESS: Option<ApiReplacement> = to(
    "networking.k8s.io/v1",
    19,
    ApiChange::Fields("`serviceName` and `servicePort` became `service`, and every path needs a `pathType`"),
);
/// Of admission policies in CEL.
const ADMISSION_POLICY: Option<ApiReplacement> =
    to("admissionregistration.k8s.io/v1", 30, ApiChange::Nothing);
/// The metrics of an autoscaler.
const METRICS: ApiChange =
    ApiChange::Fields("`targetAverageUtilization` and its like became `target` with `type` and a value");

/// All of them, by the minor that dropped them.
pub(crate) static REMOVED: &[RemovedApi] = &[
    row("apps/v1beta1", &["ControllerRevision"], 16, to("apps/v1", 9, ApiChange::Nothing)),
    row("apps/v1beta1", &["Deployment", "StatefulSet"], 16, WORKLOAD),
    row("apps/v1beta2", &["ControllerRevision"], 16, to("apps/v1", 9, ApiChange::Nothing)),
    row("apps/v1beta2", &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"], 16, WORKLOAD),
    row("extensions/v1beta1", &["DaemonSet", "Deployment", "ReplicaSet"], 16, WORKLOAD),
    row(
        "extensions/v1beta1",
        &["NetworkPolicy"],
        16,
        to("networking.k8s.io/v1", 8, ApiChange::Required("/spec/podSelector")),
    ),
    row("extensions/v1beta1", &["PodSecurityPolicy"], 16, None),
    row(
        "admissionregistration.k8s.io/v1beta1",
        &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
        22,
        to(
            "admissionregistration.k8s.io/v1",
            16,
            ApiChange::Fields("`sideEffects` and `admissionReviewVersions` are required, defaults differ"),
        ),
    ),
    row(
        "apiextensions.k8s.io/v1beta1",
        &["CustomResourceDefinition"],
        22,
        to(
            "apiextensions.k8s.io/v1",
            16,
            ApiChange::Fields("each of `versions` has its own schema, and needs one"),
        ),
    ),
    row(
        "apiregistration.k8s.io/v1beta1",
        &["APIService"],
        22,
        to("apiregistration.k8s.io/v1", 10, ApiChange::Nothing),
    ),
    row(
        "certificates.k8s.io/v1beta1",
        &["CertificateSigningRequest"],
        22,
        to("certificates.k8s.io/v1", 19, ApiChange::Fields("`signerName` and `usages` are required")),
    ),
    row("coordination.k8s.io/v1beta1", &["Lease"], 22, to("coordination.k8s.io/v1", 14, ApiChange::Nothing)),
    row("extensions/v1beta1", &["Ingress"], 22, INGRESS),
    row("networking.k8s.io/v1beta1", &["Ingress"], 22, INGRESS),
    row(
        "networking.k8s.io/v1beta1",
        &["IngressClass"],
        22,
        to("networking.k8s.io/v1", 19, ApiChange::Nothing),
    ),
    row(
        "rbac.authorization.k8s.io/v1beta1",
        &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
        22,
        to("rbac.authorization.k8s.io/v1", 8, ApiChange::Nothing),
    ),
    row(
        "scheduling.k8s.io/v1beta1",
        &["PriorityClass"],
        22,
        to("scheduling.k8s.io/v1", 14, ApiChange::Nothing),
    ),
    row("storage.k8s.io/v1beta1", &["CSIDriver"], 22, to("storage.k8s.io/v1", 18, ApiChange::Nothing)),
    row("storage.k8s.io/v1beta1", &["CSINode"], 22, to("storage.k8s.io/v1", 17, ApiChange::Nothing)),
    row("storage.k8s.io/v1beta1", &["StorageClass"], 22, to("storage.k8s.io/v1", 6, ApiChange::Nothing)),
    row("storage.k8s.io/v1beta1", &["VolumeAttachment"], 22, to("storage.k8s.io/v1", 13, ApiChange::Nothing)),
    row(
        "storage.k8s.io/v1alpha1",
        &["CSIStorageCapacity"],
        24,
        to("storage.k8s.io/v1", 24, ApiChange::Nothing),
    ),
    row(
        "storage.k8s.io/v1alpha1",
        &["VolumeAttachment"],
        24,
        to("storage.k8s.io/v1", 13, ApiChange::Nothing),
    ),
    row("autoscaling/v2beta1", &["HorizontalPodAutoscaler"], 25, to("autoscaling/v2", 23, METRICS)),
    row("batch/v1beta1", &["CronJob"], 25, to("batch/v1", 21, ApiChange::Nothing)),
    row(
        "discovery.k8s.io/v1beta1",
        &["EndpointSlice"],
        25,
        to("discovery.k8s.io/v1", 21, ApiChange::Fields("`topology` became `nodeName` and `zone`")),
    ),
    row(
        "events.k8s.io/v1beta1",
        &["Event"],
        25,
        to("events.k8s.io/v1", 19, ApiChange::Fields("more fields are required")),
    ),
    row("node.k8s.io/v1beta1", &["RuntimeClass"], 25, to("node.k8s.io/v1", 20, ApiChange::Nothing)),
    row(
        "policy/v1beta1",
        &["PodDisruptionBudget"],
        25,
        // An empty selector selected nothing, and selects all now.
        to("policy/v1", 21, ApiChange::Required("/spec/selector")),
    ),
    row("policy/v1beta1", &["PodSecurityPolicy"], 25, None),
    row(
        "autoscaling/v2beta2",
        &["HorizontalPodAutoscaler"],
        26,
        to("autoscaling/v2", 23, ApiChange::Nothing),
    ),
    row(
        "flowcontrol.apiserver.k8s.io/v1beta1",
        &["FlowSchema", "PriorityLevelConfiguration"],
        26,
        FLOW_SHARES,
    ),
    row(
        "storage.k8s.io/v1beta1",
        &["CSIStorageCapacity"],
        27,
        to("storage.k8s.io/v1", 24, ApiChange::Nothing),
    ),
    row(
        "flowcontrol.apiserver.k8s.io/v1beta2",
        &["FlowSchema", "PriorityLevelConfiguration"],
        29,
        FLOW_SHARES,
    ),
    row(
        "admissionregistration.k8s.io/v1alpha1",
        &["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"],
        32,
        ADMISSION_POLICY,
    ),
    row(
        "flowcontrol.apiserver.k8s.io/v1beta3",
        &["FlowSchema", "PriorityLevelConfiguration"],
        32,
        to("flowcontrol.apiserver.k8s.io/v1", 29, ApiChange::Nothing),
    ),
    row(
        "admissionregistration.k8s.io/v1beta1",
        &["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"],
        34,
        ADMISSION_POLICY,
    ),
];

/// Of flow control before its last beta version.
const FLOW_SHARES: Option<ApiReplacement> = to(
    "flowcontrol.apiserver.k8s.io/v1",
    29,
    ApiChange::Fields("`assuredConcurrencyShares` became `nominalConcurrencyShares`"),
);

/// What became of an API version of a kind; `None` while Kubernetes serves it, or where
/// it never did.
pub(crate) fn find(api_version: &str, kind: &str) -> Option<&'static RemovedApi> {
    REMOVED.iter().find(|row| row.api_version == api_version && row.kinds.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::{OLDEST_MAINTAINED, REMOVED, find};

    #[test]
    fn every_row_is_gone_from_what_is_maintained_and_has_a_successor_there() {
        for row in REMOVED {
            assert!(row.removed <= OLDEST_MAINTAINED, "{row:?}");
            let successor = row.replacement;
            assert!(successor.is_none_or(|next| next.since <= OLDEST_MAINTAINED), "{row:?}");
            assert!(successor.is_some() || row.kinds == ["PodSecurityPolicy"], "{row:?}");
            assert!(row.kinds.iter().all(|kind| std::ptr::eq(find(row.api_version, kind).unwrap(), row)));
        }
        assert!(REMOVED.is_sorted_by_key(|row| row.removed));
    }

    #[test]
    fn what_took_a_place_is_not_removed_itself() {
        for next in REMOVED.iter().filter_map(|row| row.replacement) {
            assert!(REMOVED.iter().all(|row| row.api_version != next.api_version), "{next:?}");
        }
    }
}
