//! `malformed-metadata-key`: a label or annotation key that Kubernetes refuses.
//! Source: apimachinery `pkg/apis/meta/v1/validation` `ValidateLabelName` and
//! `pkg/api/validation` `ValidateAnnotations`; Cluster API checks the maps inside
//! its objects with the same functions (`ObjectMeta.Validate`).

use crate::lint::metadata::{MetadataEntry, title};
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::metadata::{annotation_key_fault, label_key_fault};

pub(crate) static RULE: Rule = Rule {
    id: "malformed-metadata-key",
    group: Group::Metadata,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a label or annotation key that Kubernetes refuses",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/metadata/malformed-metadata-key.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    for map in view.metadata() {
        for MetadataEntry { entry, .. } in &map.entries {
            // What a chart makes of something unknown may have keys that are unknown.
            if entry.key_node.is_unknown() {
                continue;
            }
            let fault =
                if map.labels { label_key_fault(&entry.key) } else { annotation_key_fault(&entry.key) };
            let (Some(fault), Some(location)) = (fault, entry.key_location()) else { continue };
            report
                .report(
                    location,
                    title(view.id, &format!("{} key ", map.word()), &entry.key, " is malformed"),
                )
                .why(format!("the API server rejects the object: {}", fault.wanted()))
                .help("write a key such as `name` or `example.com/name`")
                .object(view.id)
                .field(map.pointer_of(&entry.key), &*entry.key);
        }
    }
}
