//! `malformed-label-value`: a label value that Kubernetes refuses.
//! Source: apimachinery `pkg/apis/meta/v1/validation` `ValidateLabels`; Cluster
//! API checks the maps inside its objects likewise (`ObjectMeta.Validate`).

use crate::lint::metadata::{MetadataEntry, known_string, title};
use crate::lint::rules::schema::malformed_field_value::is_placeholder;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::Unchecked;
use crate::model::metadata::label_value_fault;

pub(crate) static RULE: Rule = Rule {
    id: "malformed-label-value",
    group: Group::Metadata,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a label value that Kubernetes refuses",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/metadata/malformed-label-value.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    for map in view.metadata().iter().filter(|map| map.labels) {
        for MetadataEntry { entry, .. } in &map.entries {
            // What is no string is the other rule's; what is only partly known may still fit.
            let Some(value) = known_string(entry.value) else { continue };
            let (Some(fault), Some(location)) = (label_value_fault(&value), entry.value.location()) else {
                continue;
            };
            // What a script is to fill in, as long as nothing applies it as it is.
            let is_filled_in = is_placeholder(&value) || value.contains("{{") && value.contains("}}");
            if is_filled_in && !view.memberships().any(|(cluster, _)| cluster.name.is_some()) {
                let what = format!("{}: label {}", view.id, entry.key);
                report.not_checked(Unchecked::Placeholder, Some(location), what);
                continue;
            }
            report
                .report(location, title(view.id, "value of label ", &entry.key, " is malformed"))
                .why(format!("the API server rejects the object: {}", fault.wanted()))
                .help("shorten or change the value, or make it an annotation")
                .object(view.id)
                .field(map.pointer_of(&entry.key), &*value);
        }
    }
}
