//! What a place means: the effective value in each cluster and through what it came,
//! the field's type, the object that a name stands for, a variable's value, next times.

use super::completion::with_schema;
use super::links::{definitions, makers_at, meant_at, named_at, variable_at};
use super::place::{Seen, Spot, memberships, objects_of, seen};
use super::state::ServerState;
use super::values;
use crate::lang::go::cron::CronSchedule;
use crate::lang::go::duration::GoDuration;
use crate::lang::text::markdown::{self, MarkdownViewer};
use crate::lang::yaml::{Location, NodeRef, pointer_segments};
use crate::model::ObjectId;
use crate::model::cluster_api_keys::CLUSTER_API;
use crate::model::keys::{FLUX, KeyStanding, MetadataKey};
use crate::model::text::Text;
use crate::report::objects::{place, yaml};
use crate::report::schema::SchemaField;
use crate::schema::explain::{kinds_of, versions_of};
use crate::schema::{Product, TableKind};
use crate::simulate::gating::format_time;
use crate::simulate::gating::objects::{Gating, is_gate, is_gateable};
use crate::simulate::gating::timeline::{PassState as Position, Range, simulate};
use crate::simulate::relations::Relations;
use crate::simulate::suspend::{consequences, suspension};
use crate::world::{ApplyTarget, Cluster, Effective};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};
use std::fmt::Write as _;

/// Lines of a list before "and N more".
const LISTED: usize = 8;

/// The answer at a place.
pub(super) fn hover(state: &ServerState<'_>, spot: &Spot<'_>) -> Option<Hover> {
    // A comment is about what the author says, not about the value before it.
    let comments = &spot.source.document().comments;
    if comments.iter().any(|comment| comment.start <= spot.offset && spot.offset <= comment.end) {
        return None;
    }
    let mut parts: Vec<String> = Vec::new();
    if let Some(name) = variable_at(spot) {
        parts.push(variable(state, spot, &name));
    }
    parts.extend(key(spot));
    let meant = meant_at(state.world(), spot);
    parts.extend(meant.iter().take(3).map(|object| about(state, object)));
    if meant.is_empty() {
        for (_, named) in named_at(state.world(), spot).into_iter().take(1) {
            let namespace = named.namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
            let name = code(&format!("{namespace}{}", named.name));
            let makers = makers_at(state.world(), spot);
            parts.push(match makers.first() {
                Some(maker) => format!(
                    "{} {name} is made in the cluster, of {}{}",
                    plain(&named.kind),
                    plain(&maker.id.to_string()),
                    crate::rewrite::subject::home(maker)
                        .map_or_else(String::new, |home| format!(" in {}", at_place(state, home))),
                ),
                None => format!("{} {name} is in no file that a cluster applies", plain(&named.kind)),
            });
        }
    }
    parts.extend(times(state, spot));
    // A name is as it reads, unless clusters differ in it.
    parts.extend(
        effective(state, spot).filter(|(count, _)| meant.is_empty() || *count > 1).map(|(_, text)| text),
    );
    parts.extend(values::hover(state, spot));
    parts.extend(field(state, spot));
    if parts.is_empty() {
        return None;
    }
    let value = parts.join("\n\n---\n\n");
    let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
    let range = state.range(state.snapshot(), &spot.location());
    Some(Hover { contents, range })
}

/// A text of a file among words.
fn plain(text: &str) -> String {
    markdown::literal(text, MarkdownViewer::Editor)
}

/// A value in a line.
fn code(text: &str) -> String {
    markdown::code(&text.replace('\n', "⏎"))
}

fn cluster_name(cluster: &Cluster) -> String {
    match &cluster.name {
        Some(name) => plain(name),
        None if cluster.root.is_empty() => "no cluster".to_owned(),
        None => format!("no cluster, built from {}", plain(&cluster.root)),
    }
}

fn listed(out: &mut String, lines: Vec<String>) {
    let more = lines.len().saturating_sub(LISTED);
    for line in lines.into_iter().take(LISTED) {
        let _ = write!(out, "\n- {line}");
    }
    if more > 0 {
        let _ = write!(out, "\n- and {more} more");
    }
}

/// A place in words.
fn at_place(state: &ServerState<'_>, location: &Location) -> String {
    plain(&place(state.snapshot(), location))
}

/// A variable: its value in each cluster, and what defines it.
fn variable(state: &ServerState<'_>, spot: &Spot<'_>, name: &str) -> String {
    let mut out = format!("**{}**", plain(&format!("${{{name}}}")));
    let all = definitions(state.world(), spot, name);
    if all.is_empty() {
        out.push_str("\n\nno Kustomization substitutes here");
        return out;
    }
    let lines = all.into_iter().map(|one| {
        let cluster = cluster_name(one.cluster);
        match one.definition {
            Some(definition) => {
                let hidden = definition.location.as_ref().is_some_and(|at| state.snapshot().hides(at));
                let value = match definition.value.as_deref() {
                    Some(_) if hidden => "a value of a Secret".to_owned(),
                    Some(value) => code(value),
                    None => "known in the cluster only".to_owned(),
                };
                let from = definition.location.map(|at| format!(", from {}", at_place(state, &at)));
                format!("{cluster}: {value}{}", from.unwrap_or_default())
            }
            None if one.open => {
                format!(
                    "{cluster}: perhaps defined in the cluster, by what {} takes variables from",
                    plain(&one.by.to_string())
                )
            }
            None => {
                format!(
                    "{cluster}: not defined by {}; a default applies, or nothing",
                    plain(&one.by.to_string())
                )
            }
        }
    });
    out.push('\n');
    listed(&mut out, lines.collect());
    out
}

/// A label or annotation that controllers read.
fn key(spot: &Spot<'_>) -> Option<String> {
    let is_map = ["/annotations/", "/labels/"].iter().any(|map| spot.pointer.contains(map));
    if !is_map {
        return None;
    }
    let name = spot.name();
    let known = |standing: KeyStanding| match standing {
        KeyStanding::Known(key) => Some(key),
        _ => None,
    };
    let key: &MetadataKey = known(FLUX.standing(&name)).or_else(|| known(CLUSTER_API.standing(&name)))?;
    let mut out = format!("**{}**\n\n{} {}", plain(&name), key.reader, key.effect);
    if let Some(wanted) = key.value.wanted() {
        let _ = write!(out, "\n\nvalue: {wanted}");
    }
    match (key.since, key.until) {
        (Some((major, minor)), _) => {
            let _ = write!(out, "\n\nsince {major}.{minor}");
        }
        (None, Some((major, minor))) => {
            let _ = write!(out, "\n\nuntil {major}.{minor}");
        }
        (None, None) => {}
    }
    if !key.released {
        out.push_str("\n\na proposal: no released controller reads it");
    }
    Some(out)
}

/// An object: who applies it where, and its state there.
pub(super) fn about(state: &ServerState<'_>, object: &Effective) -> String {
    let world = state.world();
    let mut out = format!("**{}**", plain(&object.id.to_string()));
    if let Some(home) = crate::rewrite::subject::home(object) {
        let _ = write!(out, " in {}", at_place(state, home));
    }
    out.push('\n');
    let lines = memberships(world, object).map(|(cluster, member)| {
        let mut line = cluster_name(cluster);
        let by = member.maker.kustomization().filter(|_| cluster.name.is_some());
        match by {
            Some(index) => {
                let _ =
                    write!(line, ": applied by {}", plain(&cluster.applied[index as usize].id.to_string()));
            }
            None if cluster.name.is_some() => line.push_str(": the cluster's own entry point"),
            None => {}
        }
        if let ApplyTarget::Remote(target) = &member.target {
            let _ = write!(line, " to the cluster of the kubeConfig {}", plain(target));
        }
        if cluster.name.is_some() {
            let _ = write!(line, " ({})", cluster.certainty.name());
        }
        for note in state_of(state, cluster, object) {
            let _ = write!(line, "\n  - {}", plain(&note));
        }
        line
    });
    listed(&mut out, lines.collect());
    out
}

/// Whether an object is suspended or gated, and what follows.
fn state_of(state: &ServerState<'_>, cluster: &Cluster, object: &Effective) -> Vec<String> {
    let world = state.world();
    let mut notes = Vec::new();
    if let Some(found) = suspension(&object.id, object.node.get_ref(), &cluster.settings)
        && !found.ways().is_empty()
    {
        let reason = found.reason(state.snapshot()).map(|why| format!(": {why}")).unwrap_or_default();
        let word = match found.suspended {
            Some(true) => "suspended",
            Some(false) => "NOT suspended, though it says so",
            None => "perhaps suspended",
        };
        notes.push(format!("{word}{reason}"));
        notes.extend(
            consequences(&Relations::new(world, cluster), (&object.id, object.node.get_ref()), &found)
                .into_iter()
                .take(3),
        );
    }
    let has_gates = object.node.get_ref().at("/spec/gates").is_some();
    if is_gate(&object.id) || (is_gateable(&object.id) && has_gates) {
        notes.extend(gates_of(state, cluster, &object.id));
    }
    notes
}

fn gates_of(state: &ServerState<'_>, cluster: &Cluster, id: &ObjectId) -> Vec<String> {
    let now = (state.host.now)();
    let Ok(to) = now.checked_add(SignedDuration::from_hours(7 * 24)) else { return Vec::new() };
    let local = state.world().written(cluster).filter(|(member, _)| member.target == ApplyTarget::Local);
    let gating = Gating::read(local.map(|(_, object)| (&object.id, object.node.get_ref())));
    let simulation = simulate(&gating, Range { from: now, to });
    let mut notes = Vec::new();
    for gated in simulation.gated.iter().filter(|gated| gated.gated.id == *id) {
        notes.push(match gated.proceeds {
            Position::Opened => "its gates let it through now".to_owned(),
            Position::Closed => format!("held now by {}", gated.closed.join(", ")),
            Position::Unknown => "whether its gates let it through is not known".to_owned(),
        });
    }
    for subject in simulation.subjects.iter().filter(|subject| subject.id == *id) {
        notes.push(format!("{} now", subject.timeline.first.name()));
        let next = subject.timeline.changes.iter().take(3);
        notes.extend(next.map(|change| {
            format!("{} at {}: {}", change.state.name(), format_time(change.at), change.cause)
        }));
    }
    notes.dedup();
    notes
}

/// What a schedule or a duration means.
fn times(state: &ServerState<'_>, spot: &Spot<'_>) -> Option<String> {
    let node = spot.node();
    if node.is_seq() || node.is_map() {
        return None;
    }
    let text = node.text()?;
    let name = spot.name();
    if matches!(&*name, "schedule" | "cron") {
        let schedule = CronSchedule::parse(&text).ok()?;
        let zone = spot.pointer.rsplit_once('/').and_then(|(parent, _)| {
            let beside = spot.root().at(parent)?;
            let zone = beside.str_at("/timeZone")?;
            TimeZone::get(&zone).ok()
        });
        let zone = zone.unwrap_or(TimeZone::UTC);
        let mut at = (state.host.now)().to_zoned(zone);
        let mut lines = Vec::new();
        for _ in 0..3 {
            let Some(next) = schedule.next(&at) else { break };
            lines.push(next.strftime("%a %Y-%m-%d %H:%M:%S %Z").to_string());
            at = next;
        }
        let mut out = "next times".to_owned();
        out.push('\n');
        listed(&mut out, lines);
        return Some(out);
    }
    let is_time =
        ["/requestedAt", "reconcile.fluxcd.io~1requestedAt"].iter().any(|end| spot.pointer.ends_with(end));
    if is_time && let Ok(at) = text.parse::<Timestamp>() {
        return Some(format!("{} UTC", format_time(at)));
    }
    let is_duration =
        ["interval", "timeout", "window", "ttl"].iter().any(|end| name.to_ascii_lowercase().ends_with(end));
    let duration = GoDuration::parse(&text).ok().filter(|_| is_duration)?;
    Some(format!("{} as Go writes it", code(&duration.to_string())))
}

/// A scalar, or a few lines of YAML.
fn shown(state: &ServerState<'_>, node: NodeRef<'_>) -> String {
    if node.is_map() || node.is_seq() {
        let text = yaml(&[node], state.snapshot(), false).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        return match lines.len() {
            0..=3 => code(&lines.join(" ⏎ ")),
            many => format!("{} … ({many} lines)", code(&lines[..2].join(" ⏎ "))),
        };
    }
    if node.is_null() {
        return code("null");
    }
    match node.text() {
        Some(text) => code(&text),
        None => code(&Text::of(node).display()),
    }
}

/// The effective value, by cluster: what a name or place of the object has.
fn effective(state: &ServerState<'_>, spot: &Spot<'_>) -> Option<(usize, String)> {
    let (_, inner) = spot.object();
    if inner.is_empty() || matches!(inner, "/metadata" | "/spec" | "/kind" | "/apiVersion") {
        return None;
    }
    let world = state.world();
    let mut values: Vec<(String, Vec<String>)> = Vec::new();
    for Seen { object, pointer, node } in seen(world, spot) {
        let clusters: Vec<String> = memberships(world, object)
            .filter(|(cluster, _)| cluster.name.is_some())
            .map(|(cluster, _)| cluster_name(cluster))
            .collect();
        if clusters.is_empty() {
            continue;
        }
        let hidden = state.masked(object);
        let value = match hidden.get_ref().at(&pointer) {
            Some(value) => shown(state, value),
            None => "*not there*".to_owned(),
        };
        let origin =
            node.and_then(NodeRef::location).filter(|at| !at.file.is_at(spot.path()) || !at.via.is_empty());
        let origin = origin.map(|at| format!(", from {}", at_place(state, &at))).unwrap_or_default();
        let line = format!("{value}{origin}");
        match values.iter_mut().find(|(known, _)| *known == line) {
            Some((_, known)) => known.extend(clusters),
            None => values.push((line, clusters)),
        }
    }
    if values.is_empty() {
        return None;
    }
    let count = values.len();
    let mut out = "effective".to_owned();
    out.push('\n');
    let lines = values.into_iter().map(|(line, mut clusters)| {
        clusters.sort();
        clusters.dedup();
        let names = match clusters.len() {
            0..=3 => clusters.join(", "),
            many => format!("{} and {} more clusters", clusters[..2].join(", "), many - 2),
        };
        format!("{names}: {line}")
    });
    listed(&mut out, lines.collect());
    Some((count, out))
}

/// The field, as the API server knows it.
fn field(state: &ServerState<'_>, spot: &Spot<'_>) -> Option<String> {
    let (root, inner) = spot.object();
    let id = ObjectId::of(root)?;
    spot.key?;
    let segments: Vec<String> = pointer_segments(inner).map(|segment| segment.into_owned()).collect();
    let path: Vec<&str> = segments
        .iter()
        .map(String::as_str)
        .filter(|segment| !segment.bytes().all(|byte| byte.is_ascii_digit()))
        .collect();
    if path.is_empty() {
        return None;
    }
    let mut kinds = kinds_of(&id.kind);
    kinds.retain(|kind| kind.group() == id.group());
    kinds.sort_by_key(|kind| kind.version() != id.version());
    // A definition of the repository has words of its own, and is of the release that is used.
    let is_ours = |kind: &TableKind| !matches!(kind.product, Product::Operator(_));
    if !kinds.iter().any(|kind| is_ours(kind)) {
        let own = objects(state, spot);
        let defined = with_schema(state, &id, &own, |root| crate::report::schema::defined(&id, &path, root));
        if let Some(text) = defined.flatten() {
            return Some(markdown::block(&text));
        }
    }
    let versions = versions_of(&kinds, &path);
    if versions.is_empty() {
        return None;
    }
    let field = SchemaField { kind: &id.kind, path: &path, versions: &versions, clusters: &[] };
    Some(markdown::block(&crate::report::schema::text(&field)))
}

/// The objects of a place, for a lens or a virtual document.
pub(super) fn objects<'w>(state: &'w ServerState<'_>, spot: &Spot<'_>) -> Vec<&'w Effective> {
    objects_of(state.world(), spot)
}
