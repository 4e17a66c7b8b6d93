//! `annotation-only-suspend`: suspended by an annotation that no controller reads.
//! Source: no released controller reads `reconcile.fluxcd.io/suspended`; the proposal of an
//! alternative suspend control describes the version skew.

use super::suspended_objects;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "annotation-only-suspend",
    group: Group::Suspend,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "suspended by an annotation that no controller reads",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/suspend/annotation-only-suspend.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for (object, suspension) in suspended_objects(view) {
        let Some(entry) = suspension.annotation.as_ref().filter(|_| suspension.field.is_none()) else {
            continue;
        };
        let node = object.node.get_ref();
        // An explicit `suspend: false` beside it is `suspend-disagreement`.
        if suspension.honoured != Some(false)
            || node.at("/spec/suspend").and_then(|node| node.as_bool()) == Some(false)
        {
            continue;
        }
        let Some(location) = entry.key_location() else { continue };
        let flux = view
            .cluster
            .settings
            .flux
            .value
            .map_or("released Flux".to_owned(), |flux| format!("Flux {flux}"));
        let mut why =
            format!("{flux} reads spec.suspend; it ignores {}", crate::simulate::suspend::ANNOTATION);
        if node.at("/spec/prune").and_then(|node| node.as_bool()) == Some(true) {
            why.push_str("; with prune: true, what is moved away from it in the meantime is deleted");
        }
        report
            .report(location, format!("{}: suspended by annotation only, so not suspended", object.id))
            .why(why)
            .help("set spec.suspend: true (`forebay migrate suspend --to spec`)")
            .object(&object.id)
            .field(
                "/metadata/annotations/reconcile.fluxcd.io~1suspended",
                entry.value.text().unwrap_or_default(),
            );
    }
}
