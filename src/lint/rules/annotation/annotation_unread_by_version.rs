//! `annotation-unread-by-version`: a key that the cluster's version does not read.
//! Source: the versions in the tables of known keys.

use super::{is_setting, known_entries, named};
use crate::lint::metadata::title;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::keys::{FLUX, MetadataKey};
use crate::simulate::behaviour::Product;
use crate::world::versions::Settings;

pub(crate) static RULE: Rule = Rule {
    id: "annotation-unread-by-version",
    group: Group::Annotation,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "an annotation or label that the cluster's version does not read",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/annotation/annotation-unread-by-version.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    for known in known_entries(view) {
        let key = known.key;
        let dated = key.since.is_some() || key.until.is_some();
        if !dated || !is_setting(key) || !known.in_its_field() || !known.on_its_kind(view.id) {
            continue;
        }
        let product =
            if FLUX.lookup(&known.entry.key).is_some() { Product::Flux } else { Product::ClusterApi };
        let refusals: Option<Vec<String>> =
            view.settings().map(|settings| unread(key, product, settings)).collect();
        let Some(why) = refusals.and_then(|all| all.into_iter().next()) else { continue };
        let Some(location) = known.entry.key_location() else { continue };
        report
            .report(location, title(view.id, "", known.short(), " is not read by this version"))
            .why(format!("{why}: {} does nothing here", named(key)))
            .help("remove it, or upgrade first")
            .object(view.id)
            .field(known.pointer(), &*known.entry.key);
    }
}

/// Why the controllers of a cluster do not read a key, if they surely don't.
fn unread(key: &MetadataKey, product: Product, settings: &Settings) -> Option<String> {
    let version = product.version(settings)?;
    let reads = |(major, minor): (u16, u16)| version.at_least(u32::from(major), u32::from(minor));
    let name = product.name();
    match (key.since, key.until) {
        (Some(since), _) if !reads(since) => {
            Some(format!("{name} {version} does not read it, {name} {}.{} does", since.0, since.1))
        }
        (_, Some(until)) if reads((until.0, until.1 + 1)) => {
            Some(format!("{name} {}.{} was the last to read it, here is {version}", until.0, until.1))
        }
        _ => None,
    }
}
