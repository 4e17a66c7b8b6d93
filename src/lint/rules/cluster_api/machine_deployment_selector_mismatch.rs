//! `machine-deployment-selector-mismatch`: a selector that its own Machine template does not
//! satisfy.
//! Source: cluster-api `core/webhooks/admission/machinedeployment.go`, `validate` and
//! `Default`, which puts the Cluster's name into selector and template; the same of MachineSets.

use super::{known, place, title};
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::cluster_api_kinds::CORE;
use crate::model::names::LabelSelector;
use crate::model::value::{has_unknown, to_json};
use crate::simulate::cluster_api::propagation::CLUSTER_NAME;
use crate::simulate::cluster_api::references::ScopedObject;
use crate::simulate::cluster_api::topology::text_at;
use std::collections::BTreeMap;

pub(crate) static RULE: Rule = Rule {
    id: "machine-deployment-selector-mismatch",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a selector that its own Machine template does not satisfy",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/machine-deployment-selector-mismatch.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !view.id.is(CORE, "MachineDeployment") && !view.id.is(CORE, "MachineSet") {
        return;
    }
    let object = ScopedObject { id: view.id, node: view.node };
    let Some((selector, labels)) = read(object) else { return };
    if selector.problem().is_some() || selector.matches(&labels) {
        return;
    }
    let Some(location) = place(object, "/spec/selector") else { return };
    let missing = selector.match_labels.iter().find(|(key, value)| labels.get(*key) != Some(value));
    let help = match missing {
        Some((key, value)) => format!("add `{key}: {value}` to spec.template.metadata.labels"),
        None => "give spec.template.metadata.labels what the selector asks for".to_owned(),
    };
    report
        .report(location, title(view.id, "its selector does not match its own Machines"))
        .why("the webhook refuses an object whose spec.template.metadata.labels do not satisfy spec.selector")
        .help(help)
        .object(view.id)
        .field("/spec/selector", missing.map_or("", |(key, _)| key.as_str()));
}

/// The selector and the labels of the template, as the webhook completes both; `None` where a
/// part is not known, or nothing is selected by.
fn read(object: ScopedObject<'_>) -> Option<(LabelSelector, BTreeMap<String, String>)> {
    let selector = to_json(object.node.at("/spec/selector")?);
    let cluster = known(text_at(object.node, &["/spec/clusterName"]))?;
    if has_unknown(&selector) {
        return None;
    }
    let mut selector: LabelSelector = serde_json::from_value(selector).ok()?;
    if selector.is_empty() {
        return None;
    }
    let mut labels = BTreeMap::new();
    for entry in object.node.entries_at("/spec/template/metadata/labels") {
        labels.insert(entry.key.clone().into_owned(), known(entry.value.text().map(|t| t.into_owned()))?);
    }
    if object.node.at("/spec/template/metadata/labels").is_some_and(|labels| labels.is_unknown()) {
        return None;
    }
    selector.match_labels.insert(CLUSTER_NAME.to_owned(), cluster.clone());
    labels.insert(CLUSTER_NAME.to_owned(), cluster);
    Some((selector, labels))
}
