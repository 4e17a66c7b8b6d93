//! `suspended-under-wait`: an object created suspended under a parent that waits.
//! Source: fluxcd/cli-utils kstatus (observedGeneration -1 is InProgress),
//! kustomize-controller `checkHealth`.

use super::suspended_objects;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::world::ApplyTarget;

pub(crate) static RULE: Rule = Rule {
    id: "suspended-under-wait",
    group: Group::Suspend,
    level: Level::Info,
    default: true,
    since: "0.1.0",
    summary: "an object created suspended under a parent that waits",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/suspend/suspended-under-wait.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for (object, suspension) in suspended_objects(view) {
        let id = &object.id;
        // A fresh suspended HelmRelease is Current; Alert and Provider have no
        // status; what is paused by an annotation has its own ways.
        if matches!(&*id.kind, "HelmRelease" | "Alert" | "Provider")
            || suspension.suspended != Some(true)
            || suspension.disabled.is_some()
        {
            continue;
        }
        let member = view.cluster.find(&ApplyTarget::Local, id.named());
        let Some(parent) = member
            .and_then(|member| member.maker.kustomization())
            .map(|index| &view.cluster.applied[index as usize])
            .filter(|parent| parent.id.name != id.name || parent.id.namespace != id.namespace)
        else {
            continue;
        };
        let node = parent.node.get_ref();
        let waits = node.at("/spec/wait").filter(|wait| wait.as_bool() == Some(true));
        let checked = node.items_at("/spec/healthChecks").find(|check| {
            check.str_at("/name").as_deref() == Some(&*id.name)
                && check.str_at("/kind").as_deref() == Some(&*id.kind)
                && check.str_at("/namespace").as_deref() == id.namespace.as_deref()
        });
        let (Some(by), Some(location)) = (waits.or(checked), suspension.location()) else { continue };
        let finding =
            report.report(location, format!("{id}: suspended under {}, which waits for it", parent.id.name));
        finding
            .why("created suspended it never gets ready, and its parent fails at its timeout; one that was ready before is fine")
            .help("resume it before the first apply, or leave it out of wait and healthChecks")
            .object(id)
            .field("/spec/suspend", "true");
        if let Some(place) = by.location() {
            finding.related("waits here", place);
        }
    }
}
