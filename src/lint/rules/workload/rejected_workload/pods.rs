//! What is wrong in the Pods.
//! Source: kubernetes `pkg/apis/core/validation/validation.go`.

use super::{Refusal, filled, known};
use crate::lang::go::quantity::quantity;
use crate::lang::yaml::NodeRef;
use rustc_hash::FxHashSet;

/// What a Pod may be asked by, or told by.
const HANDLERS: [&str; 5] = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];

/// The kinds of a volume.
/// Source: kubernetes `pkg/apis/core/types.go` (`VolumeSource`).
const VOLUMES: [&str; 30] = [
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "glusterfs",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "persistentVolumeClaim",
    "photonPersistentDisk",
    "portworxVolume",
    "projected",
    "quobyte",
    "rbd",
    "scaleIO",
    "secret",
    "storageos",
    "vsphereVolume",
];

/// The largest mode: `0777`.
const MOST: i64 = 0o777;

/// `is_built` says whether the object is as it will be: layers may still add to others.
pub(super) fn check<'a>(prefix: &str, spec: NodeRef<'a>, is_built: bool, refusals: &mut Vec<Refusal<'a>>) {
    let is_host = spec.get("hostNetwork").and_then(NodeRef::as_bool) == Some(true);
    for list in ["initContainers", "containers"] {
        for (index, container) in spec.get(list).into_iter().flat_map(NodeRef::items).enumerate() {
            let pointer = format!("{prefix}/{list}/{index}");
            resources(&pointer, container, refusals);
            security(&pointer, container, refusals);
            probes(&pointer, container, is_built, refusals);
            mounts(&pointer, container, refusals);
            environment(&pointer, container, refusals);
            if is_host && list == "containers" {
                ports(&pointer, container, refusals);
            }
        }
    }
    for (index, volume) in spec.get("volumes").into_iter().flat_map(NodeRef::items).enumerate() {
        self::volume(&format!("{prefix}/volumes/{index}"), volume, refusals);
    }
}

/// `validateContainerResourceRequirements`
fn resources<'a>(container: &str, node: NodeRef<'a>, refusals: &mut Vec<Refusal<'a>>) {
    let Some(resources) = node.get("resources") else { return };
    for (name, asked, limit) in beyond(resources) {
        let pointer = format!("{container}/resources/requests/{}", name.replace('/', "~1"));
        let (Some(more), Some(less)) = (known(Some(asked)), known(Some(limit))) else { continue };
        let what = format!("is {more}, more than the limit, which is {less}");
        refusals.push(Refusal::new(pointer, asked, what, "raise the limit, or ask for less"));
    }
}

/// Requests that are larger than their limits, with both.
pub(super) fn beyond(resources: NodeRef<'_>) -> Vec<(String, NodeRef<'_>, NodeRef<'_>)> {
    let (Some(requests), Some(limits)) = (resources.get("requests"), resources.get("limits")) else {
        return Vec::new();
    };
    let amount = |node: NodeRef<'_>| quantity(known(Some(node))?.trim());
    let larger = filled(requests).filter_map(|(name, asked)| {
        let limit = limits.get(&name).filter(|limit| !limit.is_null())?;
        (amount(asked)? > amount(limit)?).then_some((name, asked, limit))
    });
    larger.collect()
}

/// `ValidateSecurityContext`
fn security<'a>(container: &str, node: NodeRef<'a>, refusals: &mut Vec<Refusal<'a>>) {
    let Some(context) = node.get("securityContext") else { return };
    if let Some((refused, beside)) = escalation(context) {
        let pointer = format!("{container}/securityContext/allowPrivilegeEscalation");
        let help = format!("take out one of the two: {beside} needs the escalation");
        refusals.push(Refusal::new(pointer, refused, format!("is false beside {beside}"), help));
    }
}

/// An escalation that is forbidden, and what needs it.
pub(super) fn escalation(context: NodeRef<'_>) -> Option<(NodeRef<'_>, &'static str)> {
    let refused = context.get("allowPrivilegeEscalation").filter(|node| node.as_bool() == Some(false))?;
    let is_privileged = context.get("privileged").and_then(NodeRef::as_bool) == Some(true);
    let adds = |name: &str| {
        context.items_at("/capabilities/add").any(|one| one.as_str().is_some_and(|one| one == name))
    };
    match () {
        () if is_privileged => Some((refused, "privileged: true")),
        () if adds("CAP_SYS_ADMIN") => Some((refused, "the capability CAP_SYS_ADMIN")),
        () => None,
    }
}

/// `validateProbe`, `validateHandler`, `validateLivenessProbe`, `validateStartupProbe`
fn probes<'a>(container: &str, node: NodeRef<'a>, is_built: bool, refusals: &mut Vec<Refusal<'a>>) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = node.get(name).filter(|probe| probe.is_map() && !probe.is_unknown()) else {
            continue;
        };
        let pointer = format!("{container}/{name}");
        let given: Vec<String> =
            filled(probe).map(|(key, _)| key).filter(|key| HANDLERS.contains(&key.as_str())).collect();
        match given.len() {
            1 => {}
            0 if !is_built
                || filled(probe).next().is_none()
                || filled(probe).any(|(_, value)| value.is_unknown()) => {}
            0 => {
                let help = "give it httpGet, tcpSocket, exec or grpc, or take the probe out";
                refusals.push(Refusal::new(pointer.clone(), probe, "says not how to ask", help));
            }
            _ => {
                let help = "keep one; where another layer writes the other, set it to null there";
                let what = format!("asks in two ways: {}", given.join(" and "));
                refusals.push(Refusal::new(pointer.clone(), probe, what, help));
            }
        }
        // 0 is filled in like one that is not written.
        let threshold = probe.get("successThreshold").filter(|_| name != "readinessProbe");
        if let Some(node) =
            threshold.filter(|node| node.as_int().is_some_and(|count| !matches!(count, 0 | 1)))
        {
            let pointer = format!("{pointer}/successThreshold");
            refusals.push(Refusal::new(
                pointer,
                node,
                "is not 1",
                "only a readinessProbe takes another number",
            ));
        }
    }
}

/// `ValidateVolumeMounts`
fn mounts<'a>(container: &str, node: NodeRef<'a>, refusals: &mut Vec<Refusal<'a>>) {
    let mut seen = FxHashSet::default();
    for (index, mount) in node.get("volumeMounts").into_iter().flat_map(NodeRef::items).enumerate() {
        let Some(path) = mount.get("mountPath") else { continue };
        let Some(text) = known(Some(path)) else { continue };
        if !seen.insert(text.clone()) {
            let pointer = format!("{container}/volumeMounts/{index}/mountPath");
            let what = format!("is {text} a second time");
            refusals.push(Refusal::new(pointer, path, what, "mount each volume at a path of its own"));
        }
    }
}

/// `validateEnvVarValueFrom`
fn environment<'a>(container: &str, node: NodeRef<'a>, refusals: &mut Vec<Refusal<'a>>) {
    for (index, variable) in node.get("env").into_iter().flat_map(NodeRef::items).enumerate() {
        let Some(from) = variable.get("valueFrom").filter(|from| !from.is_null()) else { continue };
        let has_value = variable.get("value").and_then(NodeRef::text).is_some_and(|value| !value.is_empty());
        if has_value {
            let pointer = format!("{container}/env/{index}/valueFrom");
            let help = "keep one of the two; where another layer writes the other, set it to null there";
            refusals.push(Refusal::new(pointer, from, "stands beside a value", help));
        }
    }
}

/// `validatePodHostNetworkDeps`: a host port of 0 is filled in.
fn ports<'a>(container: &str, node: NodeRef<'a>, refusals: &mut Vec<Refusal<'a>>) {
    for (index, port) in node.get("ports").into_iter().flat_map(NodeRef::items).enumerate() {
        let number = |name: &str| port.get(name).and_then(NodeRef::as_int);
        if let (Some(host), Some(own)) = (number("hostPort"), number("containerPort"))
            && host != 0
            && host != own
            && let Some(node) = port.get("hostPort")
        {
            let pointer = format!("{container}/ports/{index}/hostPort");
            let what = format!("is {host} where containerPort is {own}, and hostNetwork is true");
            refusals.push(Refusal::new(
                pointer,
                node,
                what,
                "with hostNetwork both are the same, or leave hostPort out",
            ));
        }
    }
}

/// `validateVolumeSource`, `validateConfigMapVolumeSource` and its like
fn volume<'a>(pointer: &str, volume: NodeRef<'a>, refusals: &mut Vec<Refusal<'a>>) {
    let given: Vec<(String, NodeRef<'a>)> =
        filled(volume).filter(|(key, _)| VOLUMES.contains(&key.as_str())).collect();
    if let [(first, _), (second, node), ..] = &given[..] {
        let what = format!("is both {first} and {second}");
        let help = format!("keep one; where another layer writes the other, set `{first}: null` there");
        refusals.push(Refusal::new(format!("{pointer}/{second}"), *node, what, help));
    }
    for (kind, source) in given {
        let pointer = format!("{pointer}/{kind}");
        mode(&format!("{pointer}/defaultMode"), source.get("defaultMode"), refusals);
        for (index, item) in source.get("items").into_iter().flat_map(NodeRef::items).enumerate() {
            mode(&format!("{pointer}/items/{index}/mode"), item.get("mode"), refusals);
        }
    }
}

fn mode<'a>(pointer: &str, node: Option<NodeRef<'a>>, refusals: &mut Vec<Refusal<'a>>) {
    let Some((node, mode)) = node.and_then(|node| Some((node, node.as_int()?))) else { return };
    if !(0..=MOST).contains(&mode) {
        let (what, help) = beyond_modes(mode);
        refusals.push(Refusal::new(pointer.to_owned(), node, what, help));
    }
}

/// Whether a number that is no mode is one without its zero.
pub(super) fn is_octal(mode: i64) -> bool {
    (MOST + 1..=777).contains(&mode) && mode.to_string().bytes().all(|digit| digit < b'8')
}

/// What is said of a number that is no mode.
pub(super) fn beyond_modes(mode: i64) -> (String, String) {
    let help = match is_octal(mode) {
        true => format!("write 0{mode}: a mode is octal, and without the zero this is another number"),
        false => "a mode lies between 0 and 0777".to_owned(),
    };
    let what = if mode < 0 { "less than 0" } else { "more than 0777 (511)" };
    (format!("is {mode}, {what}"), help)
}
