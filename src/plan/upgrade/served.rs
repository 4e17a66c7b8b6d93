//! API versions that a version serves no more, what `migrate api-versions` does about
//! them, and fields that come and go.

use super::{Look, Note};
use crate::lang::text::counted;
use crate::lint::rules::reference::removed_api_version::gone_field;
use crate::model::kinds::{self, FluxKind, ServedVersion};
use crate::model::{ObjectId, Severity};
use crate::schema::{Product as Table, Schema, table};
use crate::simulate::behaviour::Product;
use std::collections::{BTreeMap, BTreeSet};

/// All of it.
pub(super) fn notes(look: &Look<'_, '_>, product: Product) -> Vec<Note> {
    let mut notes = match product {
        Product::Flux => {
            let mut notes = removed_of_flux(look);
            notes.extend(stored(look));
            notes
        }
        Product::ClusterApi => removed_of_cluster_api(look),
    };
    notes.extend(fields(look, product));
    notes
}

/// What is written in a version of Flux's kinds that is gone: one note for each.
fn removed_of_flux(look: &Look<'_, '_>) -> Vec<Note> {
    type Written = (Vec<String>, Vec<String>);
    let mut found: BTreeMap<(&str, &str, u32), (&FluxKind, Written)> = BTreeMap::new();
    for placed in look.kept() {
        let id = &placed.object.id;
        let Some(kind) = kinds::of(id) else { continue };
        let is_its = |known: &&ServedVersion| known.version == id.version();
        let Some(removed) = kind.versions.iter().find(is_its).and_then(|known| known.removed) else {
            continue;
        };
        if !goes(look, removed) {
            continue;
        }
        let entry = found.entry((&*id.api_version, kind.kind, removed));
        let (_, (by_forebay, by_hand)) = entry.or_insert((kind, Written::default()));
        match gone_field(kind, placed.object.node.get_ref()) {
            Some(field) => {
                by_hand.push(format!("{id} (has {})", field.trim_start_matches('/').replace('/', ".")))
            }
            None => by_forebay.push(id.to_string()),
        }
    }
    found
        .into_iter()
        .map(|((version, _, removed), (kind, written))| gone(look, version, removed, kind, written))
        .collect()
}

/// Whether a minor of Flux that removes something lies between the two versions.
fn goes(look: &Look<'_, '_>, removed: u32) -> bool {
    look.base.settings.flux_at_least(removed) != Some(true) && look.new.at_least(2, removed)
}

fn gone(
    look: &Look<'_, '_>,
    version: &str,
    removed: u32,
    kind: &FluxKind,
    (by_forebay, by_hand): (Vec<String>, Vec<String>),
) -> Note {
    let newest = kind.versions[0];
    let target = format!("{}/{}", kind.group, newest.version);
    let (mut before, mut place) = (Vec::new(), "");
    if look.old.is_some_and(|old| !old.at_least(2, newest.since)) {
        // Nothing can be written that both sides take.
        before.push(format!(
            "Flux {} does not serve {target} yet: go to a Flux of 2.{} to 2.{} first",
            look.old.map(|old| old.to_string()).unwrap_or_default(),
            newest.since,
            removed.saturating_sub(1).max(newest.since)
        ));
        place = "there ";
    }
    if !by_forebay.is_empty() {
        before.push(format!(
            "{place}`forebay migrate api-versions --to {}.{}` writes {} as {target}",
            look.new.major,
            look.new.minor,
            counted(by_forebay.len(), "object")
        ));
    }
    if !by_hand.is_empty() {
        before.push(format!("{} by hand: {target} lacks a field of it", counted(by_hand.len(), "object")));
    }
    let mut concerns = by_hand;
    concerns.extend(by_forebay);
    Note {
        id: "api-version",
        severity: Severity::Disruptive,
        what: format!("{version} {} is not served from Flux 2.{removed} on", kind.kind),
        concerns,
        before: before.join("; "),
        after: String::new(),
        source: "https://github.com/fluxcd/flux2/pull/5473",
    }
}

/// Definitions that lose a version can't be applied while objects are stored in it.
/// Source: apiextensions-apiserver `status.storedVersions`; the release notes of Flux 2.7
/// and later; flux-operator does it by itself (`spec.migrateResources`).
fn stored(look: &Look<'_, '_>) -> Option<Note> {
    if look.head.settings.operator || look.old.is_none() {
        return None;
    }
    let used: BTreeSet<(&str, &str)> = look
        .kept()
        .filter_map(|placed| kinds::of(&placed.object.id))
        .map(|kind| (kind.group, kind.kind))
        .collect();
    let oldest = look.old.map_or(0, |old| old.minor_in(2));
    let mut concerns = Vec::new();
    for kind in kinds::KINDS.iter().filter(|kind| used.contains(&(kind.group, kind.kind))) {
        // In what is not served yet nothing is stored.
        let gone = kind.versions.iter().filter(|known| {
            known.since <= oldest && known.removed.is_some_and(|removed| goes(look, removed))
        });
        let names: Vec<&str> = gone.map(|known| known.version).collect();
        if !names.is_empty() {
            concerns.push(format!("{} ({})", kind.kind, names.join(", ")));
        }
    }
    if concerns.is_empty() {
        return None;
    }
    concerns.sort();
    Some(Note {
        id: "stored-versions",
        severity: Severity::Notable,
        what: "the API server refuses definitions that lack a version in which objects are stored".to_owned(),
        concerns,
        before: "run `flux migrate` against the cluster, with the flux of the new version".to_owned(),
        after: String::new(),
        source: "https://github.com/fluxcd/flux2/discussions/5572",
    })
}

/// The minor that a version is in the table, before and after.
fn releases(look: &Look<'_, '_>, product: Table) -> Option<(usize, usize)> {
    Some((product.release(look.old?)?, product.release(look.new)?))
}

/// Versions of Cluster API's kinds that are served before and not after.
fn removed_of_cluster_api(look: &Look<'_, '_>) -> Vec<Note> {
    let Some((old, new)) = releases(look, Table::ClusterApi) else { return Vec::new() };
    let mut found: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for placed in look.kept() {
        let id = &placed.object.id;
        let Some(kind) = table::find(id.group(), id.version(), &id.kind) else { continue };
        let served = kind.releases();
        if kind.product == Table::ClusterApi && served[old].served && !served[new].served {
            found.entry((id.api_version.to_string(), id.kind.to_string())).or_default().push(id.to_string());
        }
    }
    let note = |((version, kind), concerns): ((String, String), Vec<String>)| Note {
        id: "api-version",
        severity: Severity::Disruptive,
        what: format!("{version} {kind} is not served by Cluster API {}", look.new),
        concerns,
        before: "write it in a version that both serve: `forebay explain KIND` lists them".to_owned(),
        after: String::new(),
        source: "https://cluster-api.sigs.k8s.io/developer/providers/migrations/overview",
    };
    found.into_iter().map(note).collect()
}

/// Fields of the kinds in use that come with the new version, and that go.
fn fields(look: &Look<'_, '_>, product: Product) -> Vec<Note> {
    let product = match product {
        Product::Flux => Table::Flux,
        Product::ClusterApi => Table::ClusterApi,
    };
    let Some((old, new)) = releases(look, product) else { return Vec::new() };
    let used: BTreeSet<(&str, &str, &str)> = look.kept().map(|placed| used(&placed.object.id)).collect();
    let (mut come, mut go) = (FieldsByKind::new(), FieldsByKind::new());
    for (group, version, name) in used {
        let Some(kind) = table::find(group, version, name).filter(|kind| kind.product == product) else {
            continue;
        };
        let all = kind.releases();
        let (Some(before), Some(after)) = (all[old].schema(), all[new].schema()) else { continue };
        if all[old].root() == all[new].root() || !all[old].served || !all[new].served {
            continue;
        }
        for (one, other, out) in [(before, after, &mut come), (after, before, &mut go)] {
            let mut names = Vec::new();
            added(one, other, "", 0, &mut names);
            if !names.is_empty() {
                let known = out.entry((group, name)).or_default();
                names.retain(|name| !known.contains(name));
                known.append(&mut names);
            }
        }
    }
    field_notes(product, told(come), told(go))
}

/// Paths of fields by group and kind: objects are written in several versions of it.
type FieldsByKind<'k> = BTreeMap<(&'k str, &'k str), Vec<String>>;

fn told(fields: FieldsByKind<'_>) -> Vec<String> {
    fields.into_iter().map(|((_, kind), names)| format!("{kind} {}", listed(&names))).collect()
}

fn field_notes(product: Table, come: Vec<String>, go: Vec<String>) -> Vec<Note> {
    let note = |id, what: &str, concerns: Vec<String>, after: &str| Note {
        id,
        severity: Severity::Routine,
        what: what.to_owned(),
        concerns,
        before: String::new(),
        after: after.to_owned(),
        source: match product {
            Table::ClusterApi => "https://cluster-api.sigs.k8s.io/developer/providers/migrations/overview",
            _ => "https://fluxcd.io/flux/components/",
        },
    };
    let mut notes = Vec::new();
    if !come.is_empty() {
        notes.push(note(
            "new-fields",
            "fields that may be used",
            come,
            "`forebay explain KIND.FIELD` says what each takes",
        ));
    }
    if !go.is_empty() {
        notes.push(note(
            "gone-fields",
            "fields that are no more; where one is used, that is an effect below",
            go,
            "",
        ));
    }
    notes
}

fn used(id: &ObjectId) -> (&str, &str, &str) {
    (id.group(), id.version(), &id.kind)
}

/// Fields of a kind that are named; the rest is counted.
const FIELDS: usize = 8;

fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(FIELDS);
    let first = names.iter().take(FIELDS).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ");
    if more > 0 { format!("{first} and {more} more") } else { first }
}

/// Levels of a schema that are compared: schemas may hold themselves.
const DEPTH: u32 = 16;

/// What a list, or a list of lists, holds.
fn inner(mut schema: &Schema) -> &Schema {
    while let Some(item) = schema.item().filter(|_| schema.properties.is_empty()) {
        schema = item;
    }
    schema
}

/// The fields that the second schema has and the first lacks, outermost only, but for what
/// controllers write.
fn added(before: &Schema, after: &Schema, prefix: &str, depth: u32, out: &mut Vec<String>) {
    if depth >= DEPTH {
        return;
    }
    for name in after.names() {
        if depth == 0 && matches!(name, "status" | "metadata" | "apiVersion" | "kind") {
            continue;
        }
        let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
        match (before.field(name), after.field(name)) {
            (None, Some(_)) => out.push(path),
            (Some(one), Some(two)) => added(inner(one), inner(two), &path, depth + 1, out),
            _ => {}
        }
    }
}
