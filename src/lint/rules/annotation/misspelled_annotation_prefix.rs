//! `misspelled-annotation-prefix`: a known key under a domain that is not its own.
//! Source: the domains of fluxcd/pkg `apis`, flux-operator `api/v1` and Cluster
//! API `api/core`; prefixes are compared exactly.

use crate::lint::metadata::{MetadataEntry, clipped, rename, title};
use crate::lint::{Applicability, Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::keys::KeyStanding;

pub(crate) static RULE: Rule = Rule {
    id: "misspelled-annotation-prefix",
    group: Group::Annotation,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a known key under a domain that is not its own",
    fix: FixAvailability::Sometimes,
    docs: include_str!("../../../../tests/rules/annotation/misspelled-annotation-prefix.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    for map in view.metadata() {
        for MetadataEntry { entry, standing } in &map.entries {
            let KeyStanding::WrongPrefix(meant) = standing else { continue };
            if view.is_selected(&entry.key) {
                continue;
            }
            let Some(location) = entry.key_location() else { continue };
            let listed: Vec<String> = meant.iter().take(3).map(|key| format!("`{key}`")).collect();
            let prefix = entry.key.split_once('/').map_or(&*entry.key, |(prefix, _)| prefix);
            let finding = report
                .report(location, title(view.id, "unknown prefix ", prefix, ""))
                .why(format!("prefixes are compared exactly, so `{}` does nothing", clipped(&entry.key, 100)))
                .help(format!("did you mean {}?", listed.join(" or ")))
                .object(view.id)
                .field(map.pointer_of(&entry.key), &*entry.key);
            if let [meant] = &meant[..]
                && !meant.ends_with('>')
            {
                finding.fix("write the right prefix", Applicability::Unsafe, entry.value, |pointer| {
                    rename(pointer, &entry.key, meant)
                });
            }
        }
    }
}
