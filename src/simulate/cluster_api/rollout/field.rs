//! What a change of one field does, by the kind of object that has it.
//!
//! Follows cluster-api `mdutil/util.go` (`MachineTemplateUpToDate`),
//! `controlplane/kubeadm/pkg/filters.go` (`UpToDate`), the `syncMachines` of both
//! controllers, and the webhooks.

use serde_json::Value;

use super::kubeadm_config::{self, ConfigOrigin};
use super::template::differences;
use crate::model::EffectKind;
use crate::model::kubernetes_version::Version;
use crate::model::value::has_unknown;

/// An effect and its reason.
pub(crate) type Judgement = (EffectKind, &'static str);

const IN_PLACE: Judgement =
    (EffectKind::PropagatedInPlace, "existing Machines get it in place; none is replaced");
const OBJECT: Judgement =
    (EffectKind::ObjectOnly, "it changes how the controller behaves; no Machine is touched");
const PROVIDER: Judgement =
    (EffectKind::ProviderDefined, "the infrastructure provider decides whether instances are replaced");
const ROLLOUT: Judgement = (EffectKind::Rollout, "Machines with another value are replaced");
const AFTER: Judgement =
    (EffectKind::Rollout, "once that time has come, Machines created before it are replaced");
const SCALE: Judgement = (EffectKind::Scale, "Machines are added or removed");

/// What a field of a MachineDeployment, MachineSet or MachinePool does; named by
/// its v1beta2 JSON Pointer.
pub(crate) fn worker(kind: &str, field: &str, after: &Value) -> Judgement {
    match field {
        "/spec/clusterName" => (EffectKind::Rejected, "the Cluster of an object cannot change"),
        "/spec/replicas" => SCALE,
        "/spec/template/spec/version"
        | "/spec/template/spec/bootstrap"
        | "/spec/template/spec/infrastructureRef"
        | "/spec/template/spec/failureDomain"
        | "/spec/failureDomains" => match kind {
            "MachinePool" => PROVIDER,
            "MachineSet" => (EffectKind::NewMachinesOnly, "a MachineSet never replaces existing Machines"),
            _ => ROLLOUT,
        },
        "/spec/rollout/after" if kind == "MachineDeployment" && !after.is_null() => AFTER,
        // Whatever the feature gate is: `internal/webhooks/machinepool.go`, `validate`.
        "/spec/template/spec/taints"
            if kind == "MachinePool" && after.as_array().is_some_and(|taints| !taints.is_empty()) =>
        {
            (EffectKind::Rejected, "the webhook takes no taints on MachinePools")
        }
        _ if field.starts_with("/spec/template/spec/") => match kind {
            "MachinePool" => (
                EffectKind::ObjectOnly,
                "of a MachinePool only labels and annotations reach its Machines in place",
            ),
            _ => IN_PLACE,
        },
        _ => OBJECT,
    }
}

/// What a field of a control plane does.
pub(crate) fn control_plane(field: &str, after: &Value) -> Judgement {
    match field {
        "/spec/replicas" => SCALE,
        "/spec/version" | "/spec/machineTemplate/spec/infrastructureRef" => ROLLOUT,
        "/spec/rollout/after" if !after.is_null() => AFTER,
        "/spec/rollout/before" if !after.is_null() => {
            (EffectKind::Unknown, "Machines whose certificates expire within that time are replaced")
        }
        _ if field.starts_with("/spec/machineTemplate/spec/") => IN_PLACE,
        _ => OBJECT,
    }
}

/// What a field of a KubeadmControlPlane does, by what its webhook lets pass
/// too. `stacked`: etcd runs on its Machines.
pub(crate) fn kubeadm_control_plane(field: &str, before: &Value, after: &Value, stacked: bool) -> Judgement {
    match (field, after.as_i64()) {
        ("/spec/replicas", Some(..=0)) => {
            return (EffectKind::Rejected, "a control plane needs at least one Machine");
        }
        ("/spec/replicas", Some(replicas)) if stacked && replicas % 2 == 0 => {
            return (EffectKind::Rejected, "stacked etcd needs an odd number of Machines");
        }
        _ => {}
    }
    // v1beta1 leaves this to the webhook (`validateRolloutBefore`), v1beta2 to the schema.
    if field == "/spec/rollout/before"
        && after.get("certificatesExpiryDays").and_then(Value::as_i64).is_some_and(|days| days < 7)
    {
        return (EffectKind::Rejected, "certificatesExpiryDays must be at least 7");
    }
    if field == "/spec/version"
        && let (Some(before), Some(after)) = (before.as_str(), after.as_str())
        && let (Some(before), Some(after)) = (Version::parse(before), Version::parse(after))
        && (after.major, after.minor) >= (before.major, before.minor + 2)
    {
        return (EffectKind::Rejected, "the webhook lets no minor be skipped");
    }
    control_plane(field, after)
}

/// What a change of `kubeadmConfigSpec` does, with the paths that decide.
pub(crate) fn kubeadm_config_spec(
    before: &Value,
    after: &Value,
    version: &str,
) -> Option<(Judgement, Vec<Vec<String>>)> {
    let changed = differences(before, after);
    if changed.is_empty() {
        return None;
    }
    let is_known = |path: &[String]| {
        let at = |spec: &Value| path.iter().try_fold(spec.clone(), |value, key| value.get(key).cloned());
        ![before, after].into_iter().any(|spec| at(spec).is_some_and(|value| has_unknown(&value)))
    };
    let refused = |path: &&Vec<String>| {
        is_known(path) && !kubeadm_config::may_change(&format!("spec.kubeadmConfigSpec.{}", path.join(".")))
    };
    if let Some(path) = changed.iter().find(refused) {
        let why = (EffectKind::Rejected, "the webhook lets this field not be modified");
        return Some((why, vec![path.clone()]));
    }
    let etcd = ["clusterConfiguration".to_owned(), "etcd".to_owned()];
    let has =
        |spec: &Value, kind: &str| spec.pointer(&format!("/clusterConfiguration/etcd/{kind}")).is_some();
    // Where it stands in what is not known, it may be of either kind.
    let etcd_is_known =
        !changed.iter().any(|path| (etcd.starts_with(path) || path.starts_with(&etcd)) && !is_known(path));
    if etcd_is_known
        && has(before, "external") != has(after, "external")
        && (has(before, "local") || has(after, "local"))
    {
        let why = (EffectKind::Rejected, "etcd cannot move between local and external");
        return Some((why, vec![etcd.to_vec()]));
    }
    let join = kubeadm_config::differences(
        after,
        version,
        &kubeadm_config::desired(before, ConfigOrigin::Join, version),
    );
    if has_unknown(before) != has_unknown(after) || (has_unknown(after) && !join.is_empty()) {
        let known = join.iter().any(|path| is_known(path));
        if !known {
            return Some((
                (
                    EffectKind::Unknown,
                    "a Go template, an extension or a value that is not known offline sets it",
                ),
                changed,
            ));
        }
    }
    if !join.is_empty() {
        return Some(((EffectKind::Rollout, "Machines whose KubeadmConfig differs are replaced"), join));
    }
    let init = kubeadm_config::differences(
        after,
        version,
        &kubeadm_config::desired(before, ConfigOrigin::Init, version),
    );
    if !init.is_empty() {
        return Some(((EffectKind::Rollout, "only the first Machine differs from it and is replaced"), init));
    }
    Some((in_place(&changed), changed))
}

/// What a change does that replaces no Machine.
fn in_place(changed: &[Vec<String>]) -> Judgement {
    let dns =
        changed.iter().all(|path| path.starts_with(&["clusterConfiguration".to_owned(), "dns".to_owned()]));
    let of_init = changed.iter().all(|path| path.first().is_some_and(|key| key == "initConfiguration"));
    if dns {
        (EffectKind::ObjectOnly, "CoreDNS is updated in place; no Machine is replaced")
    } else if of_init {
        (
            EffectKind::ObjectOnly,
            "it is for the first Machine of a new control plane; Machines that join never get it",
        )
    } else {
        (EffectKind::NewMachinesOnly, "existing Machines still match; new ones get it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_of_machine_deployments_follow_the_table() {
        for (field, effect) in [
            ("/spec/template/spec/version", EffectKind::Rollout),
            ("/spec/template/spec/bootstrap", EffectKind::Rollout),
            ("/spec/template/spec/infrastructureRef", EffectKind::Rollout),
            ("/spec/template/spec/failureDomain", EffectKind::Rollout),
            ("/spec/template/spec/deletion/nodeDrainTimeoutSeconds", EffectKind::PropagatedInPlace),
            ("/spec/template/spec/minReadySeconds", EffectKind::PropagatedInPlace),
            ("/spec/template/spec/taints", EffectKind::PropagatedInPlace),
            ("/spec/replicas", EffectKind::Scale),
            ("/spec/rollout/strategy", EffectKind::ObjectOnly),
            ("/spec/selector", EffectKind::ObjectOnly),
            ("/spec/clusterName", EffectKind::Rejected),
        ] {
            assert_eq!(worker("MachineDeployment", field, &json!(1)).0, effect, "{field}");
        }
        let version = "/spec/template/spec/version";
        assert_eq!(worker("MachineSet", version, &json!(1)).0, EffectKind::NewMachinesOnly);
        assert_eq!(worker("MachinePool", version, &json!(1)).0, EffectKind::ProviderDefined);
        for field in ["minReadySeconds", "deletion/nodeDrainTimeoutSeconds", "readinessGates", "taints"] {
            let field = format!("/spec/template/spec/{field}");
            assert_eq!(worker("MachinePool", &field, &json!(1)).0, EffectKind::ObjectOnly, "{field}");
            assert_eq!(worker("MachineDeployment", &field, &json!(1)).0, EffectKind::PropagatedInPlace);
        }
    }

    #[test]
    fn kubeadm_configs_follow_the_table() {
        let files = |text: &str| json!({"files": [{"path": text}]});
        for (before, after, effect) in [
            (files("a"), files("b"), Some(EffectKind::Rollout)),
            (json!({"files": []}), json!({}), Some(EffectKind::NewMachinesOnly)),
            (
                json!({"clusterConfiguration": {"dns": {"imageTag": "1"}}}),
                json!({"clusterConfiguration": {"dns": {"imageTag": "2"}}}),
                Some(EffectKind::ObjectOnly),
            ),
            (
                json!({"clusterConfiguration": {"certificatesDir": "/a"}}),
                json!({"clusterConfiguration": {"certificatesDir": "/b"}}),
                Some(EffectKind::Rejected),
            ),
            (
                json!({"joinConfiguration": {"discovery": {"tlsBootstrapToken": "a"}}}),
                json!({"joinConfiguration": {"discovery": {"tlsBootstrapToken": "b"}}}),
                Some(EffectKind::NewMachinesOnly),
            ),
            (json!({}), json!({}), None),
        ] {
            let found = kubeadm_config_spec(&before, &after, "v1.33.0");
            assert_eq!(found.map(|((effect, _), _)| effect), effect, "{before} {after}");
        }
    }
}
