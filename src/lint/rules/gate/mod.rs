//! Gates of the gating proposal, and what gates deployments today.

pub(crate) mod cross_namespace_gate;
pub(crate) mod duplicate_gate_reference;
pub(crate) mod expired_gate_request;
pub(crate) mod future_gate_request;
pub(crate) mod gate_api_not_available;
pub(crate) mod gate_cycle;
pub(crate) mod gate_on_consumer_of_shared_source;
pub(crate) mod gate_on_unsupported_kind;
pub(crate) mod gate_request_tie;
pub(crate) mod halting_flagger_gate;
pub(crate) mod malformed_cron;
pub(crate) mod malformed_gate_reference;
pub(crate) mod malformed_gate_request;
pub(crate) mod malformed_gate_spec;
pub(crate) mod missing_gate;
pub(crate) mod schedule_window_too_short;
pub(crate) mod self_gated_gate;
pub(crate) mod unused_gate;

use crate::lang::yaml::NodeRef;
use crate::lint::metadata::has_hole;
use crate::lint::{ClusterView, ObjectView};
use crate::model::{Name, ObjectId};
use crate::schema::Fault;
use crate::simulate::gating::objects::{GATE_GROUP, is_gate, is_gateable};
use crate::world::{ApplyTarget, Cluster, Effective, Member};

/// A known name in `spec.gates[]` of an object that may wait for gates.
struct Wait<'a> {
    object: &'a Effective,
    index: usize,
    name: String,
    node: NodeRef<'a>,
}

/// The local objects of a cluster with their membership.
fn local<'a>(view: &ClusterView<'a>) -> impl Iterator<Item = (&'a Member, &'a Effective)> {
    view.written().filter(|(member, _)| member.target == ApplyTarget::Local)
}

fn gates<'a>(view: &ClusterView<'a>) -> impl Iterator<Item = (&'a Member, &'a Effective)> {
    local(view).filter(|(_, object)| is_gate(&object.id))
}

/// Whether `unknown-field` tells already that the API server refuses `spec.gates`.
fn is_refused(view: &ObjectView<'_>) -> bool {
    view.node.at("/spec/gates").is_some()
        && view.verdict().faults.iter().any(|fault| {
            let violation = &fault.violation;
            violation.pointer == "/spec/gates" && matches!(violation.fault, Fault::UnknownField { .. })
        })
}

/// What an object waits for. Entries that name another namespace have a rule of
/// their own.
fn waits(object: &Effective) -> Vec<Wait<'_>> {
    if !is_gateable(&object.id) {
        return Vec::new();
    }
    let items = object.node.get_ref().items_at("/spec/gates").enumerate();
    let known = items.filter_map(|(index, item)| {
        let node = item.get("name")?;
        let name = node.as_str().filter(|name| !node.is_unknown() && !has_hole(name))?.into_owned();
        let elsewhere = item
            .get("namespace")
            .filter(|value| !value.is_null())
            .is_some_and(|namespace| namespace.as_str().as_deref() != object.id.namespace.as_deref());
        (!elsewhere && !name.contains('/')).then_some(Wait { object, index, name, node })
    });
    known.collect()
}

/// Whether an object has `spec.gates` with parts that are not known.
fn has_unknown_wait(object: &Effective) -> bool {
    let gates = object.node.get_ref().at("/spec/gates");
    is_gateable(&object.id)
        && gates.is_some_and(|gates| {
            let unknown = |item: NodeRef<'_>| {
                item.is_unknown()
                    || item.get("name").is_some_and(|name| {
                        name.is_unknown() || name.as_str().is_some_and(|name| has_hole(&name))
                    })
            };
            gates.is_unknown() || gates.items().any(unknown)
        })
}

/// The gate that an entry names.
fn gate_of<'c>(cluster: &'c Cluster, wait: &Wait<'_>) -> Option<&'c Member> {
    let namespace = wait.object.id.namespace.as_deref();
    cluster.find(&ApplyTarget::Local, Name::new(GATE_GROUP, "Gate", namespace, &wait.name))
}

/// `namespace/name`.
fn full_name(id: &ObjectId) -> String {
    match &id.namespace {
        Some(namespace) => format!("{namespace}/{}", id.name),
        None => id.name.to_string(),
    }
}
