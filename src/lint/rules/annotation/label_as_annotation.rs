//! `label-as-annotation`: a key that controllers select by, as an annotation.
//! Source: label selectors of the Flux controllers (`--watch-label-selector`,
//! `--watch-configs-label-selector`), of Cluster API (`--watch-filter`) and of its
//! drain (`core/reconcilers/machine/drain`).

use super::{is_setting, known_entries, named};
use crate::lint::metadata::{known_text, move_across, title};
use crate::lint::{Applicability, Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::keys::KeyField;

pub(crate) static RULE: Rule = Rule {
    id: "label-as-annotation",
    group: Group::Annotation,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a key that is read from labels only, as an annotation",
    fix: FixAvailability::Sometimes,
    docs: include_str!("../../../../tests/rules/annotation/label-as-annotation.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    for known in known_entries(view) {
        let key = known.key;
        if known.map.labels || key.field != KeyField::Label || !is_setting(key) {
            continue;
        }
        let labels = known.map.pointer.replace("/annotations", "/labels");
        if view.node.at(&labels).and_then(|map| map.get(&known.entry.key)).is_some() {
            continue;
        }
        let Some(location) = known.entry.key_location() else { continue };
        let finding = report
            .report(location, title(view.id, "", known.short(), " is read as label only"))
            .why(format!("as an annotation {} does nothing; as a label it {}", named(key), key.effect))
            .help("move it to the labels")
            .object(view.id)
            .field(known.pointer(), &*known.entry.key);
        if let Some(value) = known_text(known.entry.value) {
            finding.fix("move it to the labels", Applicability::Unsafe, known.entry.value, |pointer| {
                move_across(pointer, &known.entry.key, &value)
            });
        }
    }
}
