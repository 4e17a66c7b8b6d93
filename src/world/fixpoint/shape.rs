//! The objects of a round that shape the next one: sources, what gives variables and
//! inputs, definitions of Flux Kustomizations, and what changes them on admission.

use super::sets::PROVIDER;
use crate::build::substitute::{Variables, secret_written_by, writes_secrets};
use crate::config::{Config, Injected};
use crate::lang::yaml::{Node, NodeRef};
use crate::model::{Called, ObjectId, kinds};
use crate::world::releases::Release;
use crate::world::source::is_source;
use crate::world::{ApplyTarget, PlacedObject};

/// Whether an object shapes builds.
pub(super) fn shapes(id: &ObjectId, target: &ApplyTarget) -> bool {
    is_source(id, target) || (*target == ApplyTarget::Local && is_read(id))
}

/// An object by what it is looked up by.
pub(super) fn shaping(id: &ObjectId, node: &Node) -> (Called, (ObjectId, Node)) {
    (place_of(id, node.get_ref()), (id.clone(), node.clone()))
}

/// What a chart makes that shapes the next round.
pub(super) fn rendered(release: &Release) -> impl Iterator<Item = (Called, (ObjectId, Node))> + '_ {
    let local = release.objects.iter().filter(|_| release.target == ApplyTarget::Local);
    let made = local.filter_map(|object| Some((object.id.as_ref()?, &object.node)));
    made.filter(|(id, _)| shapes(id, &ApplyTarget::Local)).map(|(id, node)| shaping(id, node))
}

/// What an object that shapes builds is looked up by.
fn place_of(id: &ObjectId, node: NodeRef<'_>) -> Called {
    match secret_written_by(id, node) {
        Some(name) => Called { kind: WRITER.into(), namespace: id.namespace.clone(), name },
        None => id.called(),
    }
}

/// Objects that shape the next round besides sources.
fn is_read(id: &ObjectId) -> bool {
    id.group().is_empty() && matches!(&*id.kind, "ConfigMap" | "Secret")
        || kinds::is_kustomization(id)
        || id.is(kinds::OPERATOR, PROVIDER)
        || writes_secrets(id)
}

/// Where an object stands that writes a Secret: at the name of that.
pub(super) const WRITER: &str = "writer of a Secret";

/// The variables that something in a cluster adds: what the configuration says, else any
/// where something among its objects changes Flux Kustomizations when they are admitted.
pub(crate) fn injected_variables(config: &Config, objects: &[PlacedObject]) -> Injected {
    match config.injected() {
        Some(stated) => stated.clone(),
        None if changes_kustomizations(objects) => Injected::Any,
        None => Injected::No,
    }
}

/// Adds the variables that something in a cluster adds to those of a Kustomization.
pub(crate) fn inject(injected: &Injected, variables: &mut Variables) {
    match injected {
        Injected::No => {}
        Injected::Any => variables.open = true,
        Injected::Names(names) => names.iter().for_each(|name| variables.add_hidden(name)),
    }
}

/// Whether something among objects changes Flux Kustomizations when they are admitted: a
/// webhook or policy that names their API group, or the chart of
/// kustomize-mutating-webhook, which adds `postBuild` variables.
fn changes_kustomizations(objects: &[PlacedObject]) -> bool {
    let names_group = |node: NodeRef<'_>| {
        node.items_at("/apiGroups").filter_map(NodeRef::as_str).any(|group| group == kinds::KUSTOMIZE)
    };
    objects.iter().filter(|(_, _, target, _)| *target == ApplyTarget::Local).any(|(id, object, ..)| {
        let node = object.node.get_ref();
        match (id.group(), &*id.kind) {
            ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => {
                node.items_at("/webhooks").flat_map(|hook| hook.items_at("/rules")).any(names_group)
            }
            ("admissionregistration.k8s.io", "MutatingAdmissionPolicy") => {
                node.items_at("/spec/matchConstraints/resourceRules").any(names_group)
            }
            (kinds::HELM, "HelmRelease") => {
                let chart = node.str_at("/spec/chart/spec/chart");
                [chart.as_deref(), node.str_at("/spec/chartRef/name").as_deref(), Some(&*id.name)]
                    .into_iter()
                    .flatten()
                    .any(|name| name.contains(MUTATING_WEBHOOK))
            }
            (kinds::SOURCE, "OCIRepository") => {
                node.str_at("/spec/url").is_some_and(|url| url.contains(MUTATING_WEBHOOK))
            }
            _ => false,
        }
    })
}

/// A webhook that adds variables to every Flux Kustomization.
const MUTATING_WEBHOOK: &str = "kustomize-mutating-webhook";
