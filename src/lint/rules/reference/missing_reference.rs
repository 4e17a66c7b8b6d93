//! `missing-reference`: a reference to an object that the cluster doesn't have.
//! Source: kustomize-controller `getSource`, `checkDependencies`; helm-controller
//! `getSource`; flux-operator `checkDependencies`.

use super::{field_name, known_name, local_references, target_name};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::ObjectId;
use crate::model::kinds;
use crate::model::references::{Reference, Role};
use crate::text::edit_distance;
use crate::world::{ApplyTarget, Cluster, Lookup, Opener, OpenerCause};

/// See the module.
pub static RULE: Rule = Rule {
    id: "missing-reference",
    group: Group::Reference,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a reference to an object that the cluster does not have",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/reference/missing-reference.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for (object, reference) in local_references(view) {
        if reference.optional || !judged(&object.id, reference, object.node.get_ref()) {
            continue;
        }
        let Some(name) = known_name(reference) else { continue };
        if reference.role == Role::HealthCheck && reference.namespace.is_none() {
            missing_namespace(object, reference, name, report);
            continue;
        }
        let target = match reference.role {
            Role::HealthCheck => crate::world::target_of(&object.id, object.node.get_ref()),
            _ => ApplyTarget::Local,
        };
        let (group, kind, namespace) = (&reference.group, &reference.kind, reference.namespace.as_deref());
        let openers = match view.cluster.lookup(&target, group, kind, namespace, name) {
            Lookup::Found(_) | Lookup::Generated(_) => continue,
            Lookup::Missing => Vec::new(),
            Lookup::Unseen(openers) => openers,
        };
        // Another rule says it better.
        if super::wrong_reference_kind::other_kind(view, &object.id, reference, name).is_some() {
            continue;
        }
        let near = nearest(view, reference, name);
        let Some(level) = level(&openers, reference, near.as_ref()) else {
            let what = format!("{}: {} {}", object.id, kind, target_name(reference, name));
            report.not_checked(reason(&openers, kind), what);
            continue;
        };
        let Some(location) = reference.name_node.location() else { continue };
        let wanted = target_name(reference, name);
        let words = format!("{}: {} names no known {kind}", object.id, field_name(&reference.pointer));
        let finding = report.report(location, words);
        finding
            .claims_absence()
            .level(level)
            .why(why(reference, &object.id, &wanted))
            .label(format!("no {kind} {wanted} in {}", view.cluster.label()))
            .object(&object.id)
            .field(format!("{}/name", reference.pointer), wanted.clone());
        match near {
            Some(near) => {
                let place = near.node.get_ref().location_at("/metadata/name");
                let same_name = &*near.id.name == name;
                let suggestion = if same_name { near.id.to_string() } else { near.id.name.to_string() };
                finding.help(format!("did you mean `{suggestion}`?"));
                if let Some(place) = place {
                    finding.related(near.id.to_string(), place);
                }
            }
            None => {
                finding.help(format!("create {kind} {wanted}, or remove the reference"));
            }
        }
        if let Some(opener) = openers.iter().find(|opener| opener.cause == OpenerCause::ExternalTree) {
            finding.why.push_str(&format!("; unless it comes from {}", opener.what));
        }
    }
}

/// References that this rule judges. Service accounts and credentials are made
/// in many ways outside of Git; gates, alerts and topologies have own rules.
fn judged(_: &ObjectId, reference: &Reference<'_>, node: crate::yaml::NodeRef<'_>) -> bool {
    // A kind that the field refuses is `wrong-reference-kind`.
    if !reference.accepted.is_empty() && !reference.accepted.contains(&reference.kind.as_str()) {
        return false;
    }
    match reference.role {
        Role::ServiceAccount | Role::KubeConfig => false,
        Role::HealthCheck => {
            // Ignored under `wait`.
            !node.at("/spec/wait").and_then(crate::yaml::NodeRef::as_bool).unwrap_or(false)
                && (kinds::find(&reference.group, &reference.kind).is_some() || is_workload(reference))
        }
        Role::ResourceSetDependency => kinds::find(&reference.group, &reference.kind).is_some(),
        Role::Receiver => reference.name.as_deref() != Some("*"),
        _ => true,
    }
}

fn is_workload(reference: &Reference<'_>) -> bool {
    matches!(
        (reference.group.as_str(), reference.kind.as_str()),
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet") | ("batch", "Job" | "CronJob") | ("", "Service")
    )
}

/// healthChecks have no namespace default: an empty one is looked up as
/// cluster-scoped.
fn missing_namespace(
    object: &crate::world::Effective,
    reference: &Reference<'_>,
    name: &str,
    report: &mut Reporter<'_>,
) {
    let Some(location) = reference.name_node.location() else { return };
    report
        .report(location, format!("{}: a health check has no namespace", object.id))
        .why(format!(
            "healthChecks have no default namespace: {} {name} is looked up as a cluster-scoped object \
             and never found, so the Kustomization waits until its timeout",
            reference.kind
        ))
        .help("write the namespace of the object")
        .object(&object.id)
        .field(format!("{}/namespace", reference.pointer), name);
}

fn why(reference: &Reference<'_>, id: &ObjectId, wanted: &str) -> String {
    match reference.role {
        Role::DependsOn => format!("the controller retries every 30s and never applies {}", id.name),
        Role::Source => format!("without {} {wanted} there is nothing to apply", reference.kind),
        Role::HealthCheck => "the Kustomization waits for it until its timeout, then fails".to_owned(),
        Role::Variables => "the build fails until it exists".to_owned(),
        Role::Values => "the release fails until it exists".to_owned(),
        Role::Credentials => "the controller can't authenticate or verify without it".to_owned(),
        Role::Image => "no tags are ever seen".to_owned(),
        Role::Receiver => "a webhook call reconciles nothing".to_owned(),
        Role::ResourceSetDependency => "the ResourceSet is never built".to_owned(),
        Role::Inputs => "the ResourceSet has no inputs".to_owned(),
        Role::ServiceAccount | Role::KubeConfig => "the reconciliation fails".to_owned(),
    }
}

/// The level by what could hold the target; `None` for not checked.
fn level(
    openers: &[&Opener],
    reference: &Reference<'_>,
    near: Option<&&crate::world::Effective>,
) -> Option<Level> {
    let flux = kinds::find(&reference.group, &reference.kind).is_some();
    let copied = reference.group.is_empty() && matches!(reference.kind.as_str(), "ConfigMap" | "Secret");
    if copied {
        // Near misses in the same namespace only; a name in another one is a
        // copy that an operator makes.
        let same = near.is_some_and(|near| near.id.namespace.as_deref() == reference.namespace.as_deref());
        return same.then_some(Level::Warning);
    }
    if openers.is_empty() {
        return Some(Level::Error);
    }
    if openers.iter().any(|opener| opener.cause == OpenerCause::NoEntry) {
        return (flux && near.is_some()).then_some(Level::Warning);
    }
    let only_external = openers.iter().all(|opener| opener.cause == OpenerCause::ExternalTree);
    if only_external && matches!(reference.role, Role::DependsOn | Role::Source) && flux {
        return Some(Level::Warning);
    }
    let uncertain = openers
        .iter()
        .any(|opener| matches!(opener.cause, OpenerCause::PartialBuild | OpenerCause::UnknownName));
    (flux && !uncertain && near.is_some()).then_some(Level::Warning)
}

fn reason(openers: &[&Opener], kind: &str) -> &'static str {
    match openers.first().map(|opener| opener.cause) {
        _ if matches!(kind, "ConfigMap" | "Secret") => "reference-to-config",
        Some(OpenerCause::NoEntry) => "reference-without-entry-point",
        Some(OpenerCause::ExternalTree) => "reference-to-external-source",
        Some(OpenerCause::PartialBuild) => "reference-into-partial-build",
        Some(OpenerCause::ResourceSet) => "reference-into-resource-set",
        Some(OpenerCause::Chart) => "reference-into-chart",
        Some(OpenerCause::Generator | OpenerCause::UnknownName) | None => "reference-to-generated-object",
    }
}

/// What may have been meant: the same name in another namespace, or a name of
/// small edit distance in the same one.
fn nearest<'a>(
    view: &ClusterView<'a>,
    reference: &Reference<'_>,
    name: &str,
) -> Option<&'a crate::world::Effective> {
    let limit = if name.chars().count() <= 5 { 1 } else { 2 };
    let cluster: &'a Cluster = view.cluster;
    let world = view.context.world;
    let candidates = world.members(cluster).filter(|(member, object)| {
        member.target == ApplyTarget::Local
            && *object.id.kind == *reference.kind
            && object.id.group() == reference.group
    });
    let ranked = candidates.filter_map(|(_, object)| {
        let same_namespace = object.id.namespace.as_deref() == reference.namespace.as_deref();
        if &*object.id.name == name {
            return (!same_namespace).then_some((1, &object.id, object));
        }
        let distance = edit_distance(name, &object.id.name, limit)?;
        same_namespace.then_some((1 + distance, &object.id, object))
    });
    ranked.min_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1))).map(|(_, _, object)| object)
}
