//! What the webhooks refuse of another class.

use super::WorkerPair;
use crate::model::EffectKind;
use crate::simulate::cluster_api::machines::MachineChange;
use crate::simulate::cluster_api::propagation::WorkerKind;
use crate::simulate::cluster_api::rollout::RolloutEffect;
use crate::simulate::cluster_api::topology::{Class, Cluster, TemplateRef};
use serde_json::{Map, Value, json};

impl WorkerPair<'_, '_, '_> {
    /// Whether the webhooks refuse what the Cluster's class becomes, by another
    /// name or by an edit (`ClusterClassesAreCompatible`, and the classes of
    /// workers that are in use). The effect says which part.
    pub(super) fn class_is_refused(&self, changes: &mut Vec<MachineChange>) -> bool {
        let (old, new) = (&self.old.class, &self.new.class);
        let count = changes.len();
        let mut refuse = |field: String, (before, after): (Value, Value), reason: String| {
            changes.push(self.class_refusal(field, before, after, reason));
        };
        let mut compare =
            |what: &str, field: &str, before: Option<TemplateRef<'_>>, after: Option<TemplateRef<'_>>| {
                let unknown =
                    |r: &Option<TemplateRef<'_>>| r.as_ref().is_some_and(|r| r.group_kind().is_none());
                if unknown(&before) || unknown(&after) {
                    return;
                }
                let kind = |r: &Option<TemplateRef<'_>>| r.as_ref().and_then(TemplateRef::group_kind);
                let (before, after) = (kind(&before), kind(&after));
                if before != after {
                    let reason = format!("group and kind of {what} cannot change");
                    refuse(field.to_owned(), (json!(before), json!(after)), reason);
                }
            };
        compare("the infrastructure", "/spec/infrastructure", old.infrastructure(), new.infrastructure());
        compare("the control plane", "/spec/controlPlane", old.control_plane(), new.control_plane());
        compare(
            "the control plane's machineInfrastructure",
            "/spec/controlPlane/machineInfrastructure",
            old.control_plane_machines(),
            new.control_plane_machines(),
        );
        for kind in WorkerKind::BOTH {
            for before in old.workers(kind) {
                let Some(name) = &before.class else { continue };
                let Some(after) = new.worker(kind, name) else { continue };
                let what = format!("the infrastructure of worker class {name}");
                compare(&what, &after.pointer, before.infrastructure, after.infrastructure);
            }
        }
        for entry in self.new.cluster.all_workers() {
            let Some(name) = &entry.class else { continue };
            let known = |class: &Class<'_>| {
                // A class name that is not known may be this one.
                class.workers(entry.kind).iter().any(|w| w.class.as_ref().is_none_or(|class| class == name))
            };
            if known(old) && !known(new) {
                let list = format!("/spec/workers/{}", entry.kind.list());
                let reason = format!("{} class {name} is in use and not in the new class", entry.kind.kind());
                refuse(list, (json!(name), Value::Null), reason);
            }
        }
        changes.len() > count
    }

    /// Whether the Cluster names another class, rather than its class being edited.
    fn is_rebased(&self) -> bool {
        let (old, new) = (&self.old.class.object, &self.new.class.object);
        (old.name(), old.namespace()) != (new.name(), new.namespace())
    }

    /// That the webhook refuses a part of the class.
    fn class_refusal(&self, field: String, before: Value, after: Value, reason: String) -> MachineChange {
        let rebased = self.is_rebased();
        let (old, new) = (&self.old.class, &self.new.class);
        let (base, head) = if rebased {
            let pointer = |cluster: &Cluster<'_>| {
                let pointer = cluster.class_ref().map(|class| class.pointer).unwrap_or_default();
                cluster.object.node.location_at(pointer)
            };
            (pointer(&self.old.cluster), pointer(&self.new.cluster))
        } else {
            (old.object.node.location_at(&field), new.object.node.location_at(&field))
        };
        let subject = if rebased { self.new.cluster.object } else { new.object };
        let cluster = json!(self.new.cluster.object.id.to_string());
        MachineChange {
            object: subject.id.clone(),
            target: self.comparison.after.target.clone(),
            effect: RolloutEffect {
                effect: EffectKind::Rejected,
                field: if rebased { "/spec/topology/classRef".to_owned() } else { field },
                before,
                after,
                reason: format!("the webhook rejects it: {reason}"),
                consequences: Vec::new(),
                details: Map::from_iter([("cluster".to_owned(), cluster)]),
            },
            base,
            head,
            via: None,
        }
    }
}
