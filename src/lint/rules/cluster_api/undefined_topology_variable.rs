//! `undefined-topology-variable`: a topology sets a variable that its
//! ClusterClass does not define.
//! Source: cluster-api `internal/topology/variables` (`ValidateClusterVariables`).

use super::{help, known, place, scopes, title};
use crate::lang::text::Words;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::ObjectId;
use crate::simulate::cluster_api::topology::{Cluster, text_at};
use rustc_hash::FxHashSet;

pub(crate) static RULE: Rule = Rule {
    id: "undefined-topology-variable",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a topology sets a variable that its ClusterClass does not define",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/undefined-topology-variable.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for scope in scopes(view) {
        for cluster in Cluster::all(&scope.objects) {
            let Some(class) = cluster.class(&scope.objects) else { continue };
            // A template of a Cluster, whose class comes from where it is used.
            if crate::lint::metadata::has_hole(cluster.object.name()) {
                continue;
            }
            // Extensions may define more than the class shows.
            if class.discovers_variables() {
                continue;
            }
            // Without an entry point nobody says which of several classes of a name it is.
            let of_the_name =
                |id: &ObjectId| id.is("cluster.x-k8s.io", "ClusterClass") && id.name == class.object.id.name;
            let classes = view.beyond().snapshot.objects().iter().filter(|object| of_the_name(&object.id));
            if view.cluster.name.is_none() && classes.count() > 1 {
                continue;
            }
            let names: FxHashSet<String> = class.variables().into_iter().map(|(name, _)| name).collect();
            let defined: Words<&str> = names.iter().map(String::as_str).collect();
            for list in variable_lists(&cluster) {
                for (index, variable) in cluster.object.node.items_at(&list).enumerate() {
                    let Some(name) = known(text_at(variable, &["/name"])) else { continue };
                    if names.contains(&name) {
                        continue;
                    }
                    let pointer = format!("{list}/{index}/name");
                    let Some(location) = place(cluster.object, &pointer) else { continue };
                    let near = defined.nearest(&name);
                    let finding =
                        report.report(location, title(cluster.object.id, "a variable is not defined"));
                    finding
                        .why("Cluster API's webhook rejects a value without a definition in the class")
                        .label(format!("no variable `{name}` in {}", class.object.id))
                        .help(help(near, "define it in the ClusterClass, or remove the value".to_owned()))
                        .object(cluster.object.id)
                        .field(pointer, name);
                    if let Some(at) = place(class.object, "/spec/variables") {
                        finding.related("variables of the class", at);
                    }
                }
            }
        }
    }
}

/// JSON Pointers of the lists of variables in a Cluster.
pub(super) fn variable_lists(cluster: &Cluster<'_>) -> Vec<String> {
    let topology = "/spec/topology";
    let mut lists =
        vec![format!("{topology}/variables"), format!("{topology}/controlPlane/variables/overrides")];
    lists.extend(cluster.all_workers().into_iter().map(|e| format!("{}/variables/overrides", e.pointer)));
    lists
}
