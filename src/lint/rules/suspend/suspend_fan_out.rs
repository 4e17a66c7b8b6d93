//! `suspend-fan-out`: one line that annotates many objects as suspended.
//! Source: kustomize-controller `SetCommonMetadata`, kustomize commonAnnotations and patches;
//! the proposal of an alternative suspend control.

use crate::lang::yaml::FilePath;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use std::collections::BTreeMap;

pub(crate) static RULE: Rule = Rule {
    id: "suspend-fan-out",
    group: Group::Suspend,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "one line that annotates many objects as suspended",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/suspend/suspend-fan-out.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let mut by_place: BTreeMap<(FilePath, u32), Vec<_>> = BTreeMap::new();
    for (object, suspension) in view.suspendable() {
        let entry = suspension.annotation.as_ref();
        let place = entry.and_then(|entry| entry.value.location().or_else(|| entry.key_location()));
        if let Some(place) = place {
            by_place.entry((place.file.clone(), place.start)).or_default().push((object, place));
        }
    }
    for mut list in by_place.into_values().filter(|list| list.len() > 1) {
        list.sort_by(|a, b| a.0.id.cmp(&b.0.id));
        let (count, location) = (list.len(), list[0].1.clone());
        let finding = report.report(location, format!("one line annotates {count} objects as suspended"));
        finding
            .why("where the annotation is honoured, every one of them stops; it was meant for one")
            .help("annotate the objects that are to be suspended, one by one")
            .field("/metadata/annotations/reconcile.fluxcd.io~1suspended", count.to_string());
        for (object, _) in &list {
            finding.object(&object.id);
        }
    }
}
