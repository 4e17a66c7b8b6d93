//! `unknown-annotation-key`: a key that means nothing in a domain which only
//! controllers define keys in.
//! Source: the keys of fluxcd/pkg `apis`, flux-operator `api/v1` and Cluster API
//! `api/core`. No domain of Cluster API is closed: providers define keys even in
//! core's own, so there only near misses are told.

use super::named;
use crate::lint::metadata::{MetadataEntry, clipped, rename, title};
use crate::lint::rules::event::event_metadata_dropped::own_group_name;
use crate::lint::{Applicability, Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::keys::KeyStanding;

pub(crate) static RULE: Rule = Rule {
    id: "unknown-annotation-key",
    group: Group::Annotation,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a key that no controller reads, in a domain of theirs",
    fix: FixAvailability::Sometimes,
    docs: include_str!("../../../../tests/rules/annotation/unknown-annotation-key.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    for map in view.metadata() {
        for MetadataEntry { entry, standing } in &map.entries {
            let near = match standing {
                KeyStanding::NearMiss(near) => Some(near),
                KeyStanding::Unknown => None,
                _ => continue,
            };
            // What was meant as event metadata is another rule's.
            let is_metadata = map.own && !map.labels && own_group_name(view.id, &entry.key).is_some();
            if is_metadata || view.is_selected(&entry.key) {
                continue;
            }
            let Some(location) = entry.key_location() else { continue };
            let name = entry.key.split_once('/').map_or(&*entry.key, |(_, name)| name);
            let finding = report
                .report(location, title(view.id, "no controller reads ", name, ""))
                .level(if near.is_some() { Level::Warning } else { Level::Info })
                .why(format!(
                    "`{}` is no key of the controllers, so it does nothing",
                    clipped(&entry.key, 100)
                ))
                .help(match near {
                    Some(near) if near.name.contains("suspend") => {
                        "set `spec.suspend: true` to suspend it".to_owned()
                    }
                    Some(near) => format!("did you mean {}? It {}", named(near), near.effect),
                    None => "remove it, or use a domain of your own".to_owned(),
                })
                .object(view.id)
                .field(map.pointer_of(&entry.key), &*entry.key);
            if let Some(near) = near.filter(|near| near.released) {
                finding.fix("write the known key", Applicability::Unsafe, entry.value, |pointer| {
                    rename(pointer, &entry.key, near.name)
                });
            }
        }
    }
}
