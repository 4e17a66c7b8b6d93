//! What stands beside and above a text: the namespace that an object ends up in, what
//! a variable becomes, where an object is applied and who tells of it.

use super::links::{definitions, expressions};
use super::place::{Spot, memberships, objects_of};
use super::planned::{self, LensSubject};
use super::state::ServerState;
use crate::build::substitute::Definition;
use crate::lang::text::{clean, counted, shorten};
use crate::lang::yaml::{Known, Location, NodeRef};
use crate::model::ObjectId;
use crate::model::kinds;
use crate::simulate::notify::alerts::selects;
use crate::simulate::notify::objects::{involved_object, labels_of};
use crate::simulate::notify::simulate::Notifier;
use crate::world::{ApplyTarget, Cluster, Effective};
use lsp_server::{ErrorCode, Request, Response};
use lsp_types::{CodeLens, Command, InlayHint, InlayHintLabel, Range, Uri};
use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeSet;

/// A hint is read beside the text: no longer than this.
const WIDTH: usize = 40;

/// Hints of a part of a file.
pub(super) fn inlay(state: &ServerState<'_>, path: &str, wanted: Range) -> Vec<InlayHint> {
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
            of_variables(state, &spot, &mut found);
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

/// The values of the variables of a document, behind each expression.
fn of_variables(state: &ServerState<'_>, spot: &Spot<'_>, found: &mut Vec<(u32, String)>) {
    let world = state.world();
    for token in 0..spot.source.document().tokens.len() as u32 {
        let value = NodeRef::Source(spot.source, token);
        for (name, range) in expressions(value) {
            let at = Spot { token, key: None, offset: range.start, ..spot.clone() };
            let values: BTreeSet<String> = definitions(world, &at, &name)
                .into_iter()
                .filter_map(|one| shown(state, one.definition?))
                .collect();
            let text = Vec::from_iter(&values).iter().map(|one| one.as_str()).collect::<Vec<_>>().join(" | ");
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

/// The documents of a file that say something.
fn documents<'s>(state: &'s ServerState<'_>, path: &str) -> Vec<Spot<'s>> {
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

fn clusters_of(state: &ServerState<'_>, objects: &[&Effective]) -> BTreeSet<String> {
    let all = objects.iter().flat_map(|object| memberships(state.world(), object));
    all.filter_map(|(cluster, _)| Some(cluster.name.as_deref()?.to_owned())).collect()
}

/// What stands above the objects of a file.
pub(super) fn lenses(state: &ServerState<'_>, path: &str) -> Vec<CodeLens> {
    let settings = state.settings.code_lens.clone();
    let mut found: Vec<(Location, Result<String, usize>)> = Vec::new();
    let mut notifiers = FxHashMap::default();
    for (at, spot) in documents(state, path).into_iter().enumerate() {
        let (node, _) = spot.object();
        let Some(place) = node.location() else { continue };
        if ObjectId::of(node).is_none() && !spot.is_kustomization() {
            continue;
        }
        if !spot.is_kustomization() {
            let objects = objects_of(state.world(), &spot);
            if settings.appliers {
                found.push((place.clone(), Ok(applied(state, &objects))));
            }
            if settings.alerts {
                let told = alerts(state, &objects, &mut notifiers);
                found.extend(told.map(|text| (place.clone(), Ok(text))));
            }
        }
        if settings.plan {
            found.push((place, Err(at)));
        }
    }
    let lenses = found.into_iter().filter_map(|(place, title)| {
        let start = Location { end: place.start, ..place };
        let range = state.range(state.snapshot(), &start)?;
        let uri = state.uri(path)?;
        let title = match title {
            Ok(title) => title,
            // Its words come when they are asked for.
            Err(document) => {
                let data = Some(json!({"uri": uri, "document": document}));
                return Some(CodeLens { range, command: None, data });
            }
        };
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

/// The value of a variable, where it may be shown.
fn shown(state: &ServerState<'_>, definition: Definition) -> Option<String> {
    let hidden = definition.location.is_some_and(|at| state.snapshot().hides(&at));
    definition.value.map(|value| if hidden { "***".to_owned() } else { value.to_string() })
}

/// What tells a lens about the plan from others: its document.
#[derive(Deserialize)]
struct Data {
    uri: Uri,
    document: usize,
}

/// Puts the words to a lens about the plan, perhaps later; an answer where there are
/// none to wait for.
pub(super) fn resolve(
    state: &mut ServerState<'_>,
    send: planned::Send,
    request: Request,
) -> Option<Response> {
    let Request { id, params, .. } = request;
    let lens: CodeLens = match serde_json::from_value(params.clone()) {
        Ok(lens) => lens,
        Err(error) => {
            return Some(Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string()));
        }
    };
    state.refresh_view();
    let data = lens.data.clone().and_then(|data| serde_json::from_value::<Data>(data).ok());
    let Some(subject) = data.and_then(|data| subject(state, &data)) else {
        // It has its words, or what it was about is gone.
        return Some(Response::new_ok(id, params));
    };
    state.plans.resolve(state.host, send, (id, lens, subject), || state.sides());
    None
}

/// What a lens about the plan is about.
fn subject(state: &ServerState<'_>, data: &Data) -> Option<LensSubject> {
    let path = state.path(&data.uri)?;
    let spot = documents(state, &path).into_iter().nth(data.document)?;
    let world = state.world();
    let kustomization = spot.is_kustomization().then(|| spot.source.file.shown().clone());
    let objects = objects_of(world, &spot).into_iter().flat_map(|object| {
        memberships(world, object).map(|(cluster, _)| (cluster.name.clone(), object.id.clone()))
    });
    Some(LensSubject { objects: objects.collect(), kustomization })
}

fn applied(state: &ServerState<'_>, objects: &[&Effective]) -> String {
    let clusters = clusters_of(state, objects);
    let world = state.world();
    let by: BTreeSet<String> = objects
        .iter()
        .flat_map(|object| memberships(world, object))
        .filter(|(cluster, _)| cluster.name.is_some())
        .filter_map(|(cluster, member)| {
            let id = &cluster.applied[member.maker.kustomization()? as usize].id;
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

/// How many alerts may tell of an object; for kinds that send events. The alerts of a
/// cluster are read once for all objects.
fn alerts<'w>(
    state: &'w ServerState<'_>,
    objects: &[&'w Effective],
    notifiers: &mut FxHashMap<*const Cluster, Notifier<'w>>,
) -> Option<String> {
    let first = objects.first()?;
    kinds::of(&first.id).filter(|kind| !matches!(kind.kind, "Alert" | "Provider" | "Receiver"))?;
    let world = state.world();
    let mut names: BTreeSet<String> = BTreeSet::new();
    for object in objects {
        let involved = involved_object(&object.id);
        let labels = labels_of(object.node.get_ref());
        for (cluster, member) in memberships(world, object).filter(|(cluster, _)| cluster.name.is_some()) {
            if member.target != ApplyTarget::Local {
                continue;
            }
            let notifier = notifiers
                .entry(std::ptr::from_ref(cluster))
                .or_insert_with(|| Notifier::new(world, cluster, &ApplyTarget::Local));
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
