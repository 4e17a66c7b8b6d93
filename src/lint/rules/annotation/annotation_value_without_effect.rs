//! `annotation-value-without-effect`: a value that the key's reader ignores.
//! Source: fluxcd/pkg `ssa/utils` `AnyInMetadata`, `kustomize` `SubstituteVariables`
//! (exact comparison), flux-operator `api/v1` (a bad duration becomes the default),
//! Cluster API `core/reconcilers/machineset/machineset_preflight.go`.

use super::presence_only_annotation::reads_as_off;
use super::{is_setting, known_entries, reading};
use crate::lint::metadata::{clipped, known_text, title, write_string};
use crate::lint::{Applicability, Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::keys::{Grammar, Unread, ValueReading};

pub(crate) static RULE: Rule = Rule {
    id: "annotation-value-without-effect",
    group: Group::Annotation,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a value that the key's reader ignores",
    fix: FixAvailability::Sometimes,
    docs: include_str!("../../../../tests/rules/annotation/annotation-value-without-effect.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    for known in known_entries(view) {
        let key = known.key;
        if !known.in_its_field()
            || !known.on_its_kind(view.id)
            || !is_setting(key)
            || reading(known.entry, key.value) != Some(ValueReading::Unread)
        {
            continue;
        }
        let bootstrap_template = view.id.group() == "bootstrap.cluster.x-k8s.io";
        let s = if key.reader.contains(" and ") { "" } else { "s" };
        let consequence = match key.unread {
            Unread::Ignored => format!("{} ignore{s} the value, as if it were not there", key.reader),
            Unread::Rejected if bootstrap_template => "Cluster API ignores the unknown checks".to_owned(),
            Unread::Default(default) => format!("{} take{s} its default instead, {default}", key.reader),
            Unread::Rejected | Unread::Fails => continue,
        };
        // A label that is no string is lost with all others; that is another rule's.
        if known.map.labels && known.entry.value.as_str().is_none() {
            continue;
        }
        let (Some(value), Some(location)) = (known_text(known.entry.value), known.entry.value.location())
        else {
            continue;
        };
        let near = key.value.meant(&value);
        let meant = near.or(match key.value {
            Grammar::Word { does: [word], .. } => Some(word),
            _ => None,
        });
        let wanted = key.value.wanted().unwrap_or_default();
        let finding = report.report(
            location,
            title(view.id, "", &format!("{}: {}", known.short(), clipped(&value, 20)), " has no effect"),
        );
        finding
            .why(format!("{consequence}; `{}` takes {wanted}", known.entry.key))
            .help(match meant {
                Some(word) => format!("write `{word}` if it is to take effect: it then {}", key.effect),
                None => format!("write {wanted}"),
            })
            .object(view.id)
            .field(known.pointer(), &*value);
        let applicability = match meant {
            Some(word) if word.eq_ignore_ascii_case(&value) => Applicability::Safe,
            Some(word) if near.is_some() || says_the_same(word, &value) => Applicability::Unsafe,
            _ => continue,
        };
        let word = meant.unwrap_or_default();
        let change = |pointer: &str| write_string(pointer, word);
        finding.fix(format!("write `{word}`"), applicability, known.entry.value, change);
    }
}

/// Whether a person who writes `value` means what the key's word says.
fn says_the_same(word: &str, value: &str) -> bool {
    match word.to_ascii_lowercase().as_str() {
        "disabled" => reads_as_off(value),
        "enabled" => ["true", "yes", "on", "1"].iter().any(|word| word.eq_ignore_ascii_case(value)),
        _ => false,
    }
}
