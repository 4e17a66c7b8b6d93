//! `duplicate-topology-name`: two entries of one list of workers have the same
//! name, or two worker classes of a ClusterClass.
//! Source: cluster-api `internal/topology/check/compatibility.go`
//! (`MachineDeploymentTopologiesAreUnique`, `MachineDeploymentClassesAreUnique`).

use super::{known, place, title};
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::cluster_api_kinds::CORE;
use crate::simulate::cluster_api::propagation::WorkerKind;
use crate::simulate::cluster_api::references::ScopedObject;
use crate::simulate::cluster_api::topology::{Class, Cluster};

pub(crate) static RULE: Rule = Rule {
    id: "duplicate-topology-name",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "two workers of a topology or a class have the same name",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/duplicate-topology-name.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let object = ScopedObject { id: view.id, node: view.node };
    for kind in WorkerKind::BOTH {
        let (names, field, what): (Vec<(String, Option<String>)>, _, _) = if view.id.is(CORE, "Cluster") {
            let entries = Cluster { object }.workers(kind);
            (entries.into_iter().map(|e| (e.pointer, known(e.name))).collect(), "name", "name")
        } else if view.id.is(CORE, "ClusterClass") {
            let classes = Class { object }.workers(kind);
            (classes.into_iter().map(|c| (c.pointer, known(c.class))).collect(), "class", "class")
        } else {
            return;
        };
        for (index, (pointer, name)) in names.iter().enumerate() {
            let Some(name) = name else { continue };
            let Some((first, _)) = names[..index].iter().find(|(_, n)| n.as_ref() == Some(name)) else {
                continue;
            };
            let pointer = format!("{pointer}/{field}");
            let Some(location) = place(object, &pointer) else { continue };
            let words = format!("two {} have one {what}", kind.list());
            let finding = report.report(location, title(view.id, &words));
            finding
                .why(format!("Cluster API's webhook rejects the {}", view.id.kind))
                .label(format!("`{name}` again"))
                .help(format!("give each entry of {} its own {what}", kind.list()))
                .object(view.id)
                .field(pointer, name.clone());
            if let Some(at) = place(object, &format!("{first}/{field}")) {
                finding.related("the first one", at);
            }
        }
    }
}
