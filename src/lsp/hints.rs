//! What stands beside and above a text: the namespace that an object ends up in, what
//! a variable becomes, where an object is applied and who tells of it.

use super::links::{definitions, expressions};
use super::place::{Spot, memberships, objects_of};
use super::state::State;
use crate::model::ObjectId;
use crate::model::kinds;
use crate::simulate::alerts::selects;
use crate::simulate::events::InvolvedObject;
use crate::simulate::events::objects::labels_of;
use crate::simulate::events::simulate::Notifier;
use crate::text::{clean, counted, shorten};
use crate::world::{ApplyTarget, Effective};
use crate::yaml::{Known, Location, NodeRef};
use lsp_types::{CodeLens, Command, InlayHint, InlayHintLabel, Range};
use serde_json::json;
use std::collections::BTreeSet;

/// A hint is read beside the text: no longer than this.
const WIDTH: usize = 40;

/// Hints of a part of a file.
pub(super) fn inlay(state: &State<'_>, path: &str, wanted: Range) -> Vec<InlayHint> {
    let settings = &state.settings.inlay_hints;
    let snapshot = state.snapshot();
    let world = state.world();
    let mut found: Vec<(u32, String)> = Vec::new();
    for spot in documents(state, path) {
        let objects = objects_of(world, &spot);
        let (node, _) = spot.object();
        if let Some(name) = node.at("/metadata/name").and_then(NodeRef::location) {
            let namespaces: BTreeSet<&str> =
                objects.iter().filter_map(|one| one.id.namespace.as_deref()).collect();
            let written = node.str_at("/metadata/namespace");
            if settings.namespace
                && !namespaces.is_empty()
                && !namespaces.iter().all(|one| Some(*one) == written.as_deref())
            {
                let names = Vec::from_iter(namespaces).join(", ");
                found.push((name.end, format!("namespace {}", shorten(&clean(&names), WIDTH))));
            }
            let clusters = clusters_of(state, &objects);
            if settings.clusters && clusters.len() > 1 {
                found.push((name.end, format!("in {}", counted(clusters.len(), "cluster"))));
            }
        }
        if settings.variables {
            for token in 0..spot.source.document().tokens.len() as u32 {
                let value = NodeRef::Source(spot.source, token);
                for (name, range) in expressions(value) {
                    let at = Spot { token, key: None, offset: range.start, ..spot.clone() };
                    let values: BTreeSet<String> = definitions(world, &at, &name)
                        .into_iter()
                        .filter_map(|one| Some(one.definition?.value?.to_string()))
                        .collect();
                    let text = Vec::from_iter(&values)
                        .iter()
                        .map(|one| one.as_str())
                        .collect::<Vec<_>>()
                        .join(" | ");
                    match values.len() {
                        0 => {}
                        2.. if text.chars().count() > WIDTH => {
                            found.push((range.end, format!("= {} values", values.len())));
                        }
                        _ => found.push((range.end, format!("= {}", shorten(&clean(&text), WIDTH)))),
                    }
                }
            }
        }
    }
    let places: Vec<(u32, u32)> = found.iter().map(|(at, _)| (*at, *at)).collect();
    let ranges = state.ranges(snapshot, path, places);
    let hints = found.into_iter().zip(ranges).filter_map(|((_, text), range)| {
        let position = range?.start;
        (wanted.start <= position && position <= wanted.end).then_some(InlayHint {
            position,
            label: InlayHintLabel::String(text),
            kind: None,
            text_edits: None,
            tooltip: None,
            padding_left: Some(true),
            padding_right: None,
            data: None,
        })
    });
    hints.collect()
}

/// The documents of a file that say something.
fn documents<'s>(state: &'s State<'_>, path: &str) -> Vec<Spot<'s>> {
    let snapshot = state.snapshot();
    let Some(file) = snapshot.file(path) else { return Vec::new() };
    let sources = snapshot.sources(file).iter();
    sources
        .filter(|source| !source.document().tokens.is_empty() && source.embed.is_none())
        .map(|source| Spot {
            source,
            token: 0,
            key: None,
            offset: source.document().start,
            pointer: String::new(),
        })
        .collect()
}

fn clusters_of(state: &State<'_>, objects: &[&Effective]) -> BTreeSet<String> {
    let all = objects.iter().flat_map(|object| memberships(state.world(), object));
    all.filter_map(|(cluster, _)| Some(cluster.name.as_deref()?.to_owned())).collect()
}

/// What stands above the objects of a file.
pub(super) fn lenses(state: &State<'_>, path: &str) -> Vec<CodeLens> {
    let settings = state.settings.code_lens.clone();
    let mut found: Vec<(Location, String)> = Vec::new();
    for spot in documents(state, path) {
        let (node, _) = spot.object();
        if ObjectId::of(node).is_none() || spot.is_kustomization() {
            continue;
        }
        let Some(place) = node.location() else { continue };
        let objects = objects_of(state.world(), &spot);
        if settings.applied_by {
            found.push((place.clone(), applied(state, &objects)));
        }
        if settings.alerts {
            found.extend(alerts(state, &objects).map(|text| (place.clone(), text)));
        }
    }
    let lenses = found.into_iter().filter_map(|(place, title)| {
        let start = Location { end: place.start, ..place };
        let range = state.range(state.snapshot(), &start)?;
        let uri = state.uri(path)?;
        let arguments = json!({"textDocument": {"uri": uri}, "position": range.start});
        // The editor's own extension knows the command; others show the words.
        let command = "forebay.showEffective".to_owned();
        Some(CodeLens {
            range,
            command: Some(Command { title, command, arguments: Some(vec![arguments]) }),
            data: None,
        })
    });
    lenses.collect()
}

fn applied(state: &State<'_>, objects: &[&Effective]) -> String {
    let clusters = clusters_of(state, objects);
    let world = state.world();
    let by: BTreeSet<String> = objects
        .iter()
        .flat_map(|object| memberships(world, object))
        .filter(|(cluster, _)| cluster.name.is_some())
        .filter_map(|(cluster, member)| {
            let id = &cluster.applied[member.applied_by? as usize].id;
            Some(match &id.namespace {
                Some(namespace) => format!("{namespace}/{}", id.name),
                None => id.name.to_string(),
            })
        })
        .collect();
    let names = clean(&Vec::from_iter(by).join(", ")).into_owned();
    match (clusters.len(), names.is_empty()) {
        (0, _) if world.has_entry => "applied in no cluster".to_owned(),
        (0, _) => "no cluster is known".to_owned(),
        (1, false) => {
            format!("applied in cluster {} by {names}", clean(clusters.first().map_or("", String::as_str)))
        }
        (many, false) => format!("applied in {} by {names}", counted(many, "cluster")),
        (many, true) => format!("in {}", counted(many, "cluster")),
    }
}

/// How many alerts may tell of an object; for kinds that send events.
fn alerts(state: &State<'_>, objects: &[&Effective]) -> Option<String> {
    let first = objects.first()?;
    kinds::of(&first.id).filter(|kind| !matches!(kind.kind, "Alert" | "Provider" | "Receiver"))?;
    let world = state.world();
    let mut names: BTreeSet<String> = BTreeSet::new();
    for object in objects {
        let involved = InvolvedObject {
            api_version: object.id.api_version.to_string(),
            kind: object.id.kind.to_string(),
            namespace: object.id.namespace.as_deref().unwrap_or_default().to_owned(),
            name: object.id.name.to_string(),
        };
        let labels = labels_of(object.node.get_ref());
        for (cluster, member) in memberships(world, object).filter(|(cluster, _)| cluster.name.is_some()) {
            if member.target != ApplyTarget::Local {
                continue;
            }
            let notifier = Notifier::new(world, cluster, &ApplyTarget::Local);
            let telling = notifier
                .alerts
                .iter()
                .filter(|(_, alert)| selects(alert, &involved, &labels) == Known::Value(true));
            names.extend(telling.map(|(_, alert)| format!("{}/{}", alert.namespace, alert.name)));
        }
    }
    Some(match names.len() {
        0 => "no alert tells of it".to_owned(),
        1 => format!("alert {} tells of it", clean(&Vec::from_iter(names).concat())),
        many => format!("{many} alerts tell of it"),
    })
}
