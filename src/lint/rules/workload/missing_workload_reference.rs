//! `missing-workload-reference`: a workload or route refers to an object that the cluster
//! doesn't have.
//! Source: `kubernetes` `pkg/kubelet/kubelet_pods.go`, `plugin/pkg/admission/serviceaccount`
//! and `priority`; Gateway API `apis/v1` (`RouteReasonBackendNotFound`,
//! `RouteReasonNoMatchingParent`); each row of `model::workloads` names its own.

use super::{dotted, is_listed, judged, target, unchecked};
use crate::lang::text::suggest;
use crate::lang::yaml::NodeRef;
use crate::lint::usual::is_slip;
use crate::lint::workloads::{MeantName, NamedObject, Near, TargetState, UnseenCause, Workloads};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::workloads::WorkloadReference;
use crate::model::{Name, namespaces};
use crate::world::Effective;
use rustc_hash::FxHashSet;
use std::borrow::Cow;
use std::cell::OnceCell;

pub(crate) static RULE: Rule = Rule {
    id: "missing-workload-reference",
    group: Group::Workload,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a workload or route refers to an object that the cluster does not have",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/workload/missing-workload-reference.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let workloads = view.workloads();
    let impersonated = OnceCell::new();
    for (object, reference, name) in judged(workloads) {
        if reference.optional || is_given(reference, name) {
            continue;
        }
        if is_subject(reference) && impersonated.get_or_init(|| impersonated_accounts(view)).contains(name) {
            continue;
        }
        let is_system = is_of_system(reference);
        let (group, kind, namespace) = (&*reference.group, &*reference.kind, reference.namespace.as_deref());
        let TargetState::Absent(cause) = workloads.target(Name::new(group, kind, namespace, name)) else {
            continue;
        };
        let near = workloads.near(group, kind, namespace, name);
        // In what no build made, a kustomization may give that one its namespace, or this one the
        // hash.
        let is_unbuilt = view.cluster.name.is_none() && view.cluster.applied.is_empty();
        let may_be_it = |near: &Near<'_, '_>| match near {
            Near::Elsewhere(named) => is_listed(view.beyond().snapshot, named.object),
            Near::Hashed(_) => true,
            Near::Misspelled(_) => false,
        };
        if is_unbuilt && near.as_ref().is_some_and(may_be_it) {
            let what = format!("{}: {}", object.id, target(reference, name));
            report.not_checked(unchecked(UnseenCause::Unapplied), reference.name_node.location(), what);
            continue;
        }
        let near = near.filter(|near| {
            is_meant(reference, near) || view.cluster.name.is_some() && is_idle(workloads, reference, near)
        });
        let is_slip =
            |near: &Near<'_, '_>| matches!(near, Near::Misspelled(named) if is_slip(name, &named.name));
        if is_system && !near.as_ref().is_some_and(is_slip) {
            continue;
        }
        // A chart that is not here may make just that.
        let may_be_made = cause.is_some() || is_of_the_platform(&reference.kind);
        let is_of_values = may_be_made && !reference.is_guess && workloads.is_in_values(name);
        let likely = if is_of_values { None } else { Likely::of(workloads, reference, name, near) };
        let level = level(workloads, cause, reference, likely.is_some());
        // An account may be made anywhere, and by other hands than its namespace.
        let is_moved = &*reference.kind == "ServiceAccount" && matches!(likely, Some(Likely::Namespace(_)));
        let level = if is_moved { level.map(|level| level.min(Level::Warning)) } else { level };
        match level.filter(|_| likely.is_some() || !is_elsewhere(workloads, object, reference)) {
            Some(level) => missing(view, object, reference, name, level, likely.as_ref(), report),
            None => {
                let cause = cause.unwrap_or(UnseenCause::Anybody);
                let what = format!("{}: {}", object.id, target(reference, name));
                report.not_checked(unchecked(cause), reference.name_node.location(), what);
            }
        }
    }
}

/// Whether it is an account that a binding names.
fn is_subject(reference: &WorkloadReference<'_>) -> bool {
    &*reference.kind == "ServiceAccount" && reference.pointer.starts_with("/subjects/")
}

/// The accounts that somebody may act as: these need not exist.
/// Source: apiserver `pkg/endpoints/filters/impersonation.go` (`WithImpersonation`).
fn impersonated_accounts<'a>(view: &ClusterView<'a>) -> FxHashSet<Cow<'a, str>> {
    let roles =
        ["ClusterRole", "Role"].into_iter().flat_map(|kind| view.of_kind("rbac.authorization.k8s.io", kind));
    let rules = roles.flat_map(|(_, role)| role.node.get_ref().items_at("/rules"));
    let lists = |rule: NodeRef<'_>, pointer: &str, word: &str| {
        rule.items_at(pointer).any(|item| item.as_str().is_some_and(|item| item == word))
    };
    rules
        .filter(|rule| lists(*rule, "/verbs", "impersonate") && lists(*rule, "/resources", "serviceaccounts"))
        .flat_map(|rule| rule.items_at("/resourceNames").filter_map(NodeRef::as_str))
        .collect()
}

/// The classes of the system (`kubernetes` `pkg/apis/scheduling/v1/helpers.go`,
/// `SystemPriorityClasses`).
const PRIORITIES: [&str; 2] = ["system-cluster-critical", "system-node-critical"];

/// The roles for people that each API server makes (`kubernetes`
/// `plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go`, `ClusterRoles`).
const ROLES: [&str; 4] = ["cluster-admin", "admin", "edit", "view"];

/// What was probably meant.
enum Likely<'n, 'a> {
    /// Something of the cluster.
    Known(Near<'n, 'a>),
    /// What each cluster has.
    Given(&'static str),
    /// The same name in a namespace that differs in a letter from the one that is written.
    Namespace(&'n str),
    /// Something that nothing here has.
    Meant(MeantName<'n>),
}

impl<'n, 'a> Likely<'n, 'a> {
    fn of(
        workloads: &'n Workloads<'a>,
        reference: &WorkloadReference<'_>,
        name: &str,
        near: Option<Near<'n, 'a>>,
    ) -> Option<Likely<'n, 'a>> {
        let given = || match &*reference.kind {
            "PriorityClass" => suggest(name, PRIORITIES),
            // Two letters of `edit` may be any other role.
            "ClusterRole" => suggest(name, [ROLES[0]]),
            _ => None,
        };
        let meant = || workloads.meant(&reference.kind, reference.namespace.as_deref(), name);
        let namespace = || {
            let like =
                workloads.namespace_like(reference.namespace.as_deref().filter(|_| reference.crosses)?)?;
            let wanted = Name::new(&reference.group, &reference.kind, Some(like), name);
            (!matches!(workloads.target(wanted), TargetState::Absent(_))).then_some(Likely::Namespace(like))
        };
        near.map(Likely::Known)
            .or_else(|| given().map(Likely::Given))
            .or_else(namespace)
            .or_else(|| meant().map(Likely::Meant))
    }
}

/// What each cluster has: the classes of the system, and the API server's own Service.
fn is_given(reference: &WorkloadReference<'_>, name: &str) -> bool {
    match &*reference.kind {
        "PriorityClass" => PRIORITIES.contains(&name),
        "ServiceAccount" => name == "default",
        // What the API server and the controllers of a cluster bring along.
        "ClusterRole" => name.starts_with("system:") || ROLES.contains(&name),
        "Role" => name.starts_with("system:"),
        "Namespace" => namespaces::is_given(name),
        // Without a class a volume that is there may be meant: its claim names the same word.
        "StorageClass" => name == "manual",
        "Service" => name == "kubernetes" && reference.namespace.as_deref() == Some("default"),
        _ => false,
    }
}

/// Whether the controllers of a cluster may bring it along: of these only a slip is told.
fn is_of_system(reference: &WorkloadReference<'_>) -> bool {
    let is_of_the_system = reference.namespace.as_deref().is_some_and(|name| name.starts_with("kube-"));
    is_of_the_system && matches!(&*reference.kind, "ServiceAccount" | "Role")
}

/// Whether a near name may be the one: ConfigMaps and Secrets of other namespaces are
/// copied by operators.
fn is_meant(reference: &WorkloadReference<'_>, near: &Near<'_, '_>) -> bool {
    match near {
        Near::Misspelled(_) | Near::Hashed(_) => true,
        Near::Elsewhere(_) if reference.is_guess => &*reference.kind == "Gateway",
        Near::Elsewhere(_) => !matches!(&*reference.kind, "ConfigMap" | "Secret") && !reference.crosses,
    }
}

/// Whether it is a claim of another namespace, which nothing of that namespace names: a Pod
/// mounts claims of its own namespace, so one of the two namespaces is a mistake.
fn is_idle(workloads: &Workloads<'_>, reference: &WorkloadReference<'_>, near: &Near<'_, '_>) -> bool {
    let Near::Elsewhere(named) = near else { return false };
    let is_claim = reference.group.is_empty() && &*reference.kind == "PersistentVolumeClaim";
    let namespace = named.namespace.as_deref();
    is_claim
        && !named.is_made
        && namespace.is_some_and(|namespace| !workloads.is_named(&reference.kind, namespace, &named.name))
}

/// Whether a binding names an account of a namespace that nothing of the cluster is in:
/// manifests that are published for several platforms name accounts of each.
fn is_elsewhere(workloads: &Workloads<'_>, object: &Effective, reference: &WorkloadReference<'_>) -> bool {
    let namespace = reference.namespace.as_deref();
    reference.pointer.starts_with("/subjects/")
        && namespace != object.id.namespace.as_deref()
        && namespace.is_some_and(|namespace| !workloads.has_namespace(namespace))
}

/// Classes that come with the distribution of Kubernetes or of a cloud.
fn is_of_the_platform(kind: &str) -> bool {
    matches!(
        kind,
        "IngressClass"
            | "GatewayClass"
            | "PriorityClass"
            | "RuntimeClass"
            | "StorageClass"
            | "VolumeSnapshotClass"
            | "VolumeSnapshot"
            | "Namespace"
    )
}

/// The level by what could hold the target; `None` for not checked.
fn level(
    workloads: &Workloads<'_>,
    cause: Option<UnseenCause<'_>>,
    reference: &WorkloadReference<'_>,
    is_near: bool,
) -> Option<Level> {
    let if_near = is_near.then_some(Level::Warning);
    match cause {
        _ if reference.is_guess => if_near,
        // Operators make these in namespaces of others.
        None if matches!(
            &*reference.kind,
            "Service" | "Deployment" | "StatefulSet" | "ClusterRole" | "Role"
        ) && workloads.has_releases() =>
        {
            if_near
        }
        None if is_of_the_platform(&reference.kind) => if_near,
        // Whatever gives it a role in a cloud may make it: Terraform, eksctl.
        None if &*reference.kind == "ServiceAccount" && !is_near => Some(Level::Warning),
        None => Some(Level::Error),
        Some(UnseenCause::Unapplied) => None,
        // Charts bring issuers and stores of a namespace; those of a cluster are written where
        // it is.
        Some(UnseenCause::Maker(_))
            if matches!(&*reference.kind, "ClusterIssuer" | "ClusterSecretStore")
                && reference
                    .name
                    .as_deref()
                    .is_some_and(|name| workloads.has_others(&reference.kind, name)) =>
        {
            Some(Level::Warning)
        }
        Some(_) => if_near,
    }
}

/// Whether a route names several parents, of which this is one.
fn has_other_parents(object: &Effective, reference: &WorkloadReference<'_>) -> bool {
    reference.pointer.starts_with("/spec/parentRefs/")
        && object.node.get_ref().items_at("/spec/parentRefs").count() > 1
}

fn missing(
    view: &ClusterView<'_>,
    object: &Effective,
    reference: &WorkloadReference<'_>,
    name: &str,
    level: Level,
    likely: Option<&Likely<'_, '_>>,
    report: &mut Reporter<'_>,
) {
    let at = match likely {
        Some(Likely::Namespace(_)) => {
            object.node.get_ref().at(&reference.pointer).and_then(|at| at.get("namespace"))
        }
        _ => None,
    };
    let Some(location) = at.unwrap_or(reference.name_node).location() else { return };
    let wanted = target(reference, name);
    let field = dotted(&reference.pointer);
    let finding = report.report(location, format!("{}: `{field}` names no known {wanted}", object.id));
    finding
        .claims_absence()
        .level(level)
        .why(match has_other_parents(object, reference) {
            true => "this parent doesn't take the route in; its other parents may",
            false => reference.consequence,
        })
        .label(format!("no {wanted} in {}", view.cluster.label()))
        .object(&object.id)
        .field(reference.pointer.clone(), name);
    if let Some(Likely::Known(Near::Hashed(named))) = likely {
        finding.why(format!(
            "its generator makes {}: kustomize adds a hash of the content to the name and writes it \
             into fields that it knows, of which this is none",
            named.object.id.name
        ));
    }
    let (help, named) = help(likely, reference, &wanted);
    finding.help(help);
    let Some(named) = named else { return };
    if let Some(place) = named.object.node.get_ref().location_at("/metadata/name") {
        let words = match named.is_made {
            true => format!("made of {}", named.object.id),
            false => named.object.id.to_string(),
        };
        finding.related(words, place);
    }
}

/// What to do about an absent name, and the object that was meant.
fn help<'l, 'v>(
    likely: Option<&'l Likely<'l, 'v>>,
    reference: &WorkloadReference<'_>,
    wanted: &str,
) -> (String, Option<&'l NamedObject<'v>>) {
    let other = match likely {
        None => format!("create {wanted}, or correct the name"),
        Some(Likely::Given(name)) => format!("did you mean `{name}`?"),
        Some(Likely::Namespace(namespace)) => {
            format!("did you mean namespace `{namespace}`? it has that {}", reference.kind)
        }
        Some(Likely::Meant(MeantName::Usual(name, count))) => {
            format!("did you mean `{name}`? {count} other objects name it")
        }
        Some(Likely::Meant(MeantName::Release(name))) => {
            format!("did you mean `{name}`? a HelmRelease of the namespace is called so")
        }
        Some(Likely::Known(Near::Misspelled(named))) => {
            return (format!("did you mean `{}`?", named.name), Some(named));
        }
        Some(Likely::Known(Near::Hashed(named))) => {
            let words = "set options.disableNameSuffixHash of the generator, or add a nameReference for this \
                         field under `configurations`";
            return (words.to_owned(), Some(named));
        }
        Some(Likely::Known(Near::Elsewhere(named))) => {
            let namespace = named.namespace.as_deref().map(|namespace| format!("{namespace}/"));
            let suggestion = format!("{}{}", namespace.unwrap_or_default(), named.name);
            return (format!("{} {suggestion} is in another namespace", reference.kind), Some(named));
        }
    };
    (other, None)
}
