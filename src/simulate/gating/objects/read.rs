//! What an object says of gates, schedules and suspensions.

use super::{
    Consumer, Dependant, Gate, GateReference, GateTarget, Gated, Hook, Job, Provider, Suspendable,
    is_gateable, provider_timeout,
};
use crate::lang::go::cron::CronSchedule;
use crate::lang::go::duration::GoDuration;
use crate::lang::yaml::NodeRef;
use crate::model::ObjectId;
use crate::simulate::gating::commands::{Action, Container};
use crate::simulate::gating::schedule::{ScheduleSpec, Schedules};
use crate::simulate::gating::{GateRequest, GateSpec, Position, commands, parse_request_time};
use std::sync::Arc;

/// A duration field: absent, well-formed, or unusable.
enum DurationField {
    Absent,
    Value(GoDuration),
    Unusable,
}

fn duration(node: NodeRef<'_>, pointer: &str) -> DurationField {
    match node.at(pointer).filter(|value| !value.is_null()) {
        None => DurationField::Absent,
        Some(value) => match value.as_str().and_then(|text| GoDuration::parse(&text).ok()) {
            Some(duration) if !value.is_unknown() => DurationField::Value(duration),
            _ => DurationField::Unusable,
        },
    }
}

fn interval(node: NodeRef<'_>) -> Option<GoDuration> {
    match duration(node, "/spec/interval") {
        DurationField::Value(interval) => Some(interval),
        DurationField::Absent | DurationField::Unusable => None,
    }
}

pub(super) fn read_gate(id: &ObjectId, node: NodeRef<'_>) -> Gate {
    let mut unknown = None;
    let default = node.at("/spec/default").filter(|value| !value.is_null());
    let position = match default.map(|value| value.as_str()) {
        Some(Some(word)) if word == "opened" => Some(Position::Opened),
        Some(Some(word)) if word == "closed" => Some(Position::Closed),
        None => None,
        Some(_) => {
            unknown = Some("spec.default is neither opened nor closed".to_string());
            None
        }
    };
    let window = match duration(node, "/spec/window") {
        DurationField::Value(window) => Some(window),
        DurationField::Absent => None,
        DurationField::Unusable => {
            unknown = Some("spec.window is no known duration".to_string());
            None
        }
    };
    let mut requests = Vec::new();
    for position in [Position::Opened, Position::Closed] {
        let key = position.annotation();
        let annotations = node.at("/metadata/annotations");
        let Some(value) = annotations.and_then(|annotations| annotations.get(key)) else {
            continue;
        };
        match value.text() {
            // One that is malformed is a finding, and ignored.
            Some(text) => requests
                .extend(parse_request_time(&text).map(|at| (GateRequest { at, position }, value.location()))),
            None => unknown = Some(format!("the annotation {key} is not known")),
        }
    }
    Gate {
        id: id.clone(),
        location: node.location(),
        default: position,
        spec: GateSpec { default: position.unwrap_or(Position::Closed), window },
        interval: interval(node),
        requests,
        unknown,
        receivers: Vec::new(),
    }
}

pub(super) fn read_gated(id: &ObjectId, node: NodeRef<'_>) -> Option<Gated> {
    if !is_gateable(id) {
        return None;
    }
    let list = node.at("/spec/gates").filter(|list| !list.is_null())?;
    let mut gates = Vec::new();
    // What names no gate is no gate that could be looked up: `malformed-gate-reference`.
    let mut has_unknown_gate = list.is_unknown() || !list.is_seq();
    for item in list.items() {
        match item.at("/name").map(|name| (name.as_str(), name.is_unknown())) {
            Some((Some(name), false)) if !name.is_empty() => {
                let location = item.location_at("/name");
                let namespace = item.at("/namespace").filter(|value| !value.is_null());
                let name: Arc<str> = match namespace.map(|value| value.as_str()) {
                    Some(Some(other)) if Some(&*other) != id.namespace.as_deref() => {
                        format!("{other}/{name}").into()
                    }
                    Some(None) => {
                        has_unknown_gate = true;
                        continue;
                    }
                    _ => name.as_ref().into(),
                };
                if gates.iter().all(|known: &GateReference| known.name != name) {
                    gates.push(GateReference { name, location });
                }
            }
            _ => has_unknown_gate = true,
        }
    }
    if gates.is_empty() && !has_unknown_gate {
        return None;
    }
    Some(Gated {
        id: id.clone(),
        location: node.location(),
        gates,
        has_unknown_gate,
        is_source: id.group() == "source.toolkit.fluxcd.io",
        interval: interval(node),
    })
}

pub(super) fn read_suspendable(id: &ObjectId, node: NodeRef<'_>) -> Suspendable {
    let suspend = node.at("/spec/suspend");
    Suspendable {
        id: id.clone(),
        location: suspend.and_then(NodeRef::location).or_else(|| node.location()),
        suspend: suspend.and_then(NodeRef::as_bool),
    }
}

pub(super) fn read_provider(id: &ObjectId, node: NodeRef<'_>) -> Option<Provider> {
    let list = node.at("/spec/schedule").filter(|list| !list.is_null())?;
    let annotations = node.at("/metadata/annotations");
    let disabled = annotations
        .and_then(|all| all.get("fluxcd.controlplane.io/reconcile"))
        .and_then(NodeRef::text)
        .is_some_and(|value| value.eq_ignore_ascii_case("disabled"));
    Some(Provider {
        id: id.clone(),
        location: node.location_at("/spec/schedule"),
        schedules: read_schedules(list, provider_timeout(node)),
        disabled,
    })
}

fn read_schedules(list: NodeRef<'_>, timeout: Option<GoDuration>) -> Result<Schedules, String> {
    let unknown = || "the schedule is not known".to_string();
    let timeout = timeout.ok_or_else(unknown)?;
    let mut entries = Vec::new();
    for item in list.items() {
        let text = |pointer: &str, default: &str| match item.at(pointer).filter(|value| !value.is_null()) {
            None => Ok(default.to_string()),
            Some(value) => value.as_str().map(String::from).ok_or_else(unknown),
        };
        let window = text("/window", "0s")?;
        let window = GoDuration::parse(&window).map_err(|error| error.to_string())?;
        entries.push((text("/cron", "")?, text("/timeZone", "UTC")?, window));
    }
    let specs: Vec<ScheduleSpec<'_>> = entries
        .iter()
        .map(|(cron, time_zone, window)| ScheduleSpec { cron, time_zone, window: *window })
        .collect();
    Schedules::new(&specs, timeout).map_err(|error| error.to_string())
}

pub(super) fn read_job(id: &ObjectId, node: NodeRef<'_>) -> Option<Job> {
    let pod = node.at("/spec/jobTemplate/spec/template/spec")?;
    let strings = |container: NodeRef<'_>, pointer: &str| -> Vec<String> {
        container.items_at(pointer).map(|item| item.text().unwrap_or_default().into_owned()).collect()
    };
    let actions: Vec<commands::FoundAction> = pod
        .items_at("/initContainers")
        .chain(pod.items_at("/containers"))
        .flat_map(|container| {
            commands::actions(&Container {
                image: container.str_at("/image").unwrap_or_default().into_owned(),
                command: strings(container, "/command"),
                args: strings(container, "/args"),
                env: container
                    .items_at("/env")
                    .filter_map(|entry| {
                        Some((entry.str_at("/name")?.into_owned(), entry.str_at("/value")?.into_owned()))
                    })
                    .collect(),
            })
        })
        .collect();
    let own = id.namespace.as_deref().unwrap_or("default");
    let actions: Vec<commands::FoundAction> = actions
        .into_iter()
        .map(|mut found| {
            if let Action::Suspend { namespace, .. } = &mut found.action
                && namespace.is_empty()
            {
                *namespace = own.to_owned();
            }
            found
        })
        .collect();
    if actions.is_empty() || node.at("/spec/suspend").and_then(NodeRef::as_bool) == Some(true) {
        return None;
    }
    Some(Job {
        id: id.clone(),
        location: node.location_at("/spec/schedule"),
        schedule: read_cron(node),
        actions,
    })
}

fn read_cron(node: NodeRef<'_>) -> Result<CronSchedule, String> {
    let known = |pointer: &str| match node.at(pointer).filter(|value| !value.is_null()) {
        None => Ok(None),
        Some(value) => match value.as_str() {
            Some(text) => Ok(Some(text)),
            None => Err("the schedule is not known".to_string()),
        },
    };
    let expression = known("/spec/schedule")?.unwrap_or_default();
    if expression.contains("TZ") {
        return Err("Kubernetes refuses a time zone in spec.schedule".into());
    }
    // Without a zone Kubernetes takes the controller manager's, mostly UTC.
    let zone = known("/spec/timeZone")?.unwrap_or_else(|| "UTC".into());
    let schedule = CronSchedule::parse_in(&expression, &zone).map_err(|error| error.to_string())?;
    if schedule.is_every() {
        return Err("an @every schedule counts from a time that only the cluster knows".into());
    }
    Ok(schedule)
}

pub(super) fn read_hooks(id: &ObjectId, node: NodeRef<'_>) -> Vec<Hook> {
    node.items_at("/spec/analysis/webhooks")
        .filter_map(|hook| {
            let kind = hook.str_at("/type")?;
            let url = hook.str_at("/url")?;
            let path = url.split_once("/gate/")?.1;
            kind.starts_with("confirm-").then(|| Hook {
                id: id.clone(),
                location: hook.location_at("/url"),
                kind: kind.as_ref().into(),
                answer: match path.trim_end_matches('/') {
                    "halt" => Some(Position::Closed),
                    "approve" => Some(Position::Opened),
                    _ => None,
                },
            })
        })
        .collect()
}

pub(super) fn read_receiver(id: &ObjectId, node: NodeRef<'_>) -> Vec<(ObjectId, GateTarget)> {
    node.items_at("/spec/resources")
        .filter(|item| item.str_at("/kind").as_deref() == Some("Gate"))
        .filter_map(|item| Some((id.clone(), target(id, item, Some("Gate"))?)))
        .collect()
}

/// The object that a reference `{kind, name, namespace}` names.
fn target(id: &ObjectId, reference: NodeRef<'_>, kind: Option<&str>) -> Option<GateTarget> {
    let text = |pointer: &str| reference.at(pointer).filter(|value| !value.is_null());
    let namespace = match text("/namespace") {
        Some(namespace) => Some(namespace.as_str()?.as_ref().into()),
        None => id.namespace.clone(),
    };
    Some(GateTarget {
        kind: match text("/kind") {
            Some(kind) => kind.as_str()?.as_ref().into(),
            None => kind?.into(),
        },
        namespace,
        name: text("/name")?.as_str()?.as_ref().into(),
    })
}

pub(super) fn read_consumers(id: &ObjectId, node: NodeRef<'_>) -> Vec<Consumer> {
    let mut found: Vec<GateTarget> = ["/spec/sourceRef", "/spec/chart/spec/sourceRef", "/spec/chartRef"]
        .iter()
        .filter_map(|pointer| target(id, node.at(pointer)?, None))
        .collect();
    found.extend(
        node.items_at("/spec/include")
            .filter_map(|item| target(id, item.at("/repository")?, Some("GitRepository"))),
    );
    // An image automation clones the repository itself; the source's artifact
    // does not matter to it.
    if &*id.kind == "ImageUpdateAutomation" {
        found.clear();
    }
    found.into_iter().map(|source| Consumer { id: id.clone(), source }).collect()
}

/// A generator consumes its sources, and each artifact it makes consumes it.
pub(super) fn read_generator(id: &ObjectId, node: NodeRef<'_>) -> Vec<Consumer> {
    let sources = node.items_at("/spec/sources").filter_map(|item| target(id, item, None));
    let mut found: Vec<Consumer> = sources.map(|source| Consumer { id: id.clone(), source }).collect();
    for artifact in node.items_at("/spec/artifacts") {
        if let Some(name) = artifact.str_at("/name") {
            let artifact = ObjectId {
                api_version: "source.toolkit.fluxcd.io/v1".into(),
                kind: "ExternalArtifact".into(),
                namespace: id.namespace.clone(),
                name: name.as_ref().into(),
            };
            found.push(Consumer { id: artifact, source: GateTarget::of(id) });
        }
    }
    found
}

pub(super) fn read_dependants(id: &ObjectId, node: NodeRef<'_>) -> Vec<Dependant> {
    let source = node.at("/spec/sourceRef").and_then(|reference| target(id, reference, None));
    node.items_at("/spec/dependsOn")
        .filter(|item| item.at("/readyExpr").is_none_or(NodeRef::is_null))
        .filter_map(|item| {
            let on = target(id, item, Some(&id.kind))?;
            Some(Dependant { id: id.clone(), on, source: source.clone() })
        })
        .collect()
}
