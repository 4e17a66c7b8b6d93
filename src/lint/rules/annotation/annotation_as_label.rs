//! `annotation-as-label`: a key that is read from annotations only, as a label.
//! Source: the readers named in `flux/keys` and `capi/keys`; most of Flux's keys
//! on applied objects are read from both (fluxcd/pkg `ssa/utils` `AnyInMetadata`).

use super::{known_entries, named};
use crate::lint::metadata::{known_text, move_across, title};
use crate::lint::{Applicability, Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::ObjectId;
use crate::model::keys::{KeyField, KeyOwner};
use crate::model::kinds::{self, SuspendBy};
use crate::simulate::suspend::ANNOTATION;

pub(crate) static RULE: Rule = Rule {
    id: "annotation-as-label",
    group: Group::Annotation,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a key that is read from annotations only, as a label",
    fix: FixAvailability::Sometimes,
    docs: include_str!("../../../../tests/rules/annotation/annotation-as-label.md"),
    check: Check::Object(check),
};

/// The proposed annotation that suspends, on an object that can be suspended.
fn is_suspension(id: &ObjectId, key: &str) -> bool {
    key == ANNOTATION && kinds::of(id).is_some_and(|kind| matches!(kind.suspend, SuspendBy::Field))
}

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    for known in known_entries(view) {
        let key = known.key;
        if !known.map.labels
            || key.field != KeyField::Annotation
            || !(key.released || is_suspension(view.id, key.name))
            || !matches!(key.class, KeyOwner::Setting | KeyOwner::Request)
        {
            continue;
        }
        // Written in both places, the label is there to select by.
        let annotations = known.map.pointer.replace("/labels", "/annotations");
        let twin = view.node.at(&annotations).and_then(|map| map.get(&known.entry.key));
        if twin.is_some() || view.is_selected(&known.entry.key) {
            continue;
        }
        let Some(location) = known.entry.key_location() else { continue };
        if !key.released {
            report
                .report(location, title(view.id, "", known.short(), " suspends nothing as a label"))
                .level(Level::Error)
                .why("the suspend proposal reads an annotation, and no released Flux reads even that")
                .help("set `spec.suspend: true`")
                .object(view.id)
                .field(known.pointer(), &*known.entry.key);
            continue;
        }
        let finding = report
            .report(location, title(view.id, "", known.short(), " is read as annotation only"))
            .level(if key.class == KeyOwner::Setting { Level::Error } else { Level::Warning })
            .why(format!("as a label {} does nothing; as an annotation it {}", named(key), key.effect))
            .help("move it to the annotations")
            .object(view.id)
            .field(known.pointer(), &*known.entry.key);
        if let Some(value) = known_text(known.entry.value) {
            finding.fix("move it to the annotations", Applicability::Unsafe, known.entry.value, |pointer| {
                move_across(pointer, &known.entry.key, &value)
            });
        }
    }
}
