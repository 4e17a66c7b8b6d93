//! `presence-only-annotation`: a value that says "off" on a key that counts by
//! being there.
//! Source: Cluster API `util/annotations` (`HasPaused`, `HasSkipRemediation` and
//! others test for the key alone; `ReplicasManagedByExternalAutoscaler` excepts
//! exactly `false`).

use super::{is_setting, known_entries};
use crate::lang::yaml::edit::{Operation, Prune};
use crate::lint::metadata::{clipped, known_text, map_of, title, write_string};
use crate::lint::{Applicability, Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::keys::Grammar;

pub(crate) static RULE: Rule = Rule {
    id: "presence-only-annotation",
    group: Group::Annotation,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a value that says \"off\" on a key that counts by being there",
    fix: FixAvailability::Sometimes,
    docs: include_str!("../../../../tests/rules/annotation/presence-only-annotation.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    for known in known_entries(view) {
        let key = known.key;
        if !known.in_its_field() || !known.on_its_kind(view.id) || !is_setting(key) {
            continue;
        }
        let off = match key.value {
            Grammar::Presence => None,
            Grammar::PresenceBut(off) => Some(off),
            _ => continue,
        };
        let Some(value) = known_text(known.entry.value) else { continue };
        if !reads_as_off(&value) || Some(&*value) == off {
            continue;
        }
        let Some(location) = known.entry.value.location().or_else(|| known.entry.key_location()) else {
            continue;
        };
        let help = match off {
            Some(off) => format!("write exactly `{off}`, or remove the annotation"),
            None => "remove the annotation".to_owned(),
        };
        let finding = report
            .report(location, title(view.id, "", known.short(), " counts, whatever its value"))
            .why(format!(
                "{} looks only whether `{}` is there; with `{}` too it {}",
                key.reader,
                known.entry.key,
                clipped(&value, 20),
                key.effect
            ))
            .help(help)
            .object(view.id)
            .field(known.pointer(), &*value);
        // What the key holds up starts when it goes, so that is never surely meant.
        match off {
            Some(off) => {
                let write = |pointer: &str| write_string(pointer, off);
                finding.fix(format!("write `{off}`"), Applicability::Unsafe, known.entry.value, write)
            }
            None => {
                finding.fix("remove it", Applicability::Unsafe, known.entry.value, |pointer| {
                    match map_of(pointer, &known.entry.key) {
                        Some(_) => {
                            vec![Operation::RemoveKey { pointer: pointer.to_owned(), prune: Prune::Empty }]
                        }
                        None => Vec::new(),
                    }
                })
            }
        };
    }
}

/// Whether a person who writes this means "no".
pub(super) fn reads_as_off(value: &str) -> bool {
    ["false", "no", "off", "disabled", "disable", "0", "n", "f"]
        .iter()
        .any(|word| word.eq_ignore_ascii_case(value))
}
