//! The answer of `simulate suspend`.

use super::parts::{WIDTH, location, object, unknown};
use super::place;
use crate::model::{ObjectId, kinds};
use crate::simulate::behaviour::Product;
use crate::simulate::suspend::{Suspension, consequences, resumption, suspension};
use crate::text::clean;
use crate::world::{ApplyTarget, Cluster, Effective, World};
use crate::yaml::NodeRef;
use serde_json::{Value, json as value};
use std::fmt::Write as _;

/// One suspendable object of a cluster.
pub struct State<'w> {
    cluster: &'w Cluster,
    object: &'w Effective,
    suspension: Suspension<'w>,
    consequences: Vec<String>,
}

/// Every suspendable object of the wanted clusters.
///
/// With an earlier state of the repository and its name, the consequences say what
/// the end of a suspension applies and prunes of what changed since.
pub fn states<'w>(
    world: &'w World,
    earlier: Option<(&World, &str)>,
    wanted: impl Fn(&Cluster) -> bool,
) -> Vec<State<'w>> {
    let mut states = Vec::new();
    for cluster in world.applied_clusters().filter(|cluster| wanted(cluster)) {
        let mut own: Vec<State<'w>> = world
            .members(cluster)
            .filter(|(member, _)| member.target == ApplyTarget::Local)
            .filter_map(|(_, object)| {
                let suspension = suspension(&object.id, object.node.get_ref(), &cluster.settings)?;
                let mut consequences = consequences(world, cluster, object, &suspension);
                if let Some((earlier, name)) = earlier.filter(|_| suspension.suspended == Some(true)) {
                    consequences.extend(resumed(world, cluster, object, earlier, name));
                }
                Some(State { cluster, object, suspension, consequences })
            })
            .collect();
        own.sort_by(|a, b| a.object.id.cmp(&b.object.id));
        own.dedup_by(|a, b| a.object.id == b.object.id);
        states.append(&mut own);
    }
    states
}

/// What is applied and pruned on resume, in sentences without a full stop.
fn resumed(world: &World, cluster: &Cluster, object: &Effective, earlier: &World, name: &str) -> Vec<String> {
    let Some(resumption) = resumption(world, cluster, object, earlier) else {
        let same = kinds::is_kustomization(&object.id);
        return same
            .then(|| format!("on resume: it is not in {name}, so what changed is unknown"))
            .into_iter()
            .collect();
    };
    let mut out = Vec::new();
    let mut say = |what: &str, ids: &[ObjectId]| {
        if !ids.is_empty() {
            let shown: Vec<String> = ids.iter().take(NAMED).map(ToString::to_string).collect();
            let rest = ids.len().saturating_sub(NAMED);
            let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            out.push(format!("on resume, {what}: {}{rest}", shown.join(", ")));
        }
    };
    say("applied for the first time", &resumption.added);
    say("applied with new values", &resumption.changed);
    let prunes = object.node.get_ref().at("/spec/prune").and_then(NodeRef::as_bool) == Some(true);
    say(if prunes { "pruned" } else { "left in the cluster, as nothing prunes" }, &resumption.removed);
    if out.is_empty() {
        out.push(format!("on resume: nothing changes, its build is what it was in {name}"));
    }
    if !resumption.since {
        out.push(format!(
            "it was not suspended in {name}: name the commit that suspended it, so that what was applied before doesn't count"
        ));
    }
    out
}

/// Objects that are named before the rest is counted.
const NAMED: usize = 8;

/// The contract's body.
pub fn json(world: &World, states: &[State<'_>]) -> Value {
    let snapshot = &*world.snapshot;
    let objects = states.iter().map(|state| {
        let suspension = &state.suspension;
        let honoured = match (suspension.annotation.is_some(), suspension.honoured) {
            (false, _) | (true, Some(true)) => "yes",
            (true, Some(false)) => "no",
            (true, None) => "unknown",
        };
        let suspended = match suspension.suspended {
            Some(known) => value!(known),
            None => unknown("whether the controllers read the annotation, or the value, is unknown"),
        };
        value!({
            "cluster": state.cluster.name.as_deref(),
            "object": object(&state.object.id),
            "suspended": suspended,
            "by": suspension.ways(),
            "honoured": honoured,
            "reason": suspension.reason(snapshot),
            "generationChanges": suspension.field.is_some(),
            "consequences": state.consequences,
            "location": location(snapshot, suspension.location().as_ref()),
        })
    });
    value!({"objects": objects.collect::<Vec<_>>()})
}

/// The text: a table of what is, or seems, suspended; what follows from it.
pub fn text(world: &World, states: &[State<'_>]) -> String {
    let mut out = String::new();
    let mut rest = states;
    while let Some(first) = rest.first() {
        let count = rest.iter().take_while(|state| std::ptr::eq(state.cluster, first.cluster)).count();
        let (own, others) = rest.split_at(count);
        one_cluster(&mut out, world, own);
        rest = others;
    }
    if states.is_empty() {
        out.push_str("no suspendable object\n");
    }
    out
}

fn one_cluster(out: &mut String, world: &World, states: &[State<'_>]) {
    let snapshot = &*world.snapshot;
    let Some(first) = states.first() else { return };
    let version = super::stated::version(snapshot, Product::Flux, &first.cluster.settings);
    let name = first
        .cluster
        .name
        .as_ref()
        .map_or("no entry point".to_owned(), |name| format!("cluster {}", clean(name)));
    let _ = writeln!(out, "{name}, {version}");
    if states.iter().any(|state| state.suspension.annotation.is_some()) {
        out.push_str("(a proposal: suspension by the annotation, which no released Flux reads)\n");
    }
    let shown: Vec<&State<'_>> = states.iter().filter(|state| !state.suspension.ways().is_empty()).collect();
    if !shown.is_empty() {
        let names: Vec<String> =
            shown.iter().map(|state| clean(&state.object.id.to_string()).into_owned()).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).clamp(6, 40);
        let _ = writeln!(out, "  {:width$}  SUSPENDED  BY          REASON", "OBJECT");
        for (state, name) in shown.iter().zip(&names) {
            let suspended = match state.suspension.suspended {
                Some(true) => "yes",
                Some(false) => "NO",
                None => "unknown",
            };
            let ways = state.suspension.ways().join("+");
            let reason = state.suspension.reason(snapshot).unwrap_or_else(|| "-".to_owned());
            let room = WIDTH.saturating_sub(width + 27);
            let line = format!(
                "  {:width$}  {suspended:9}  {ways:10}  {}",
                cut(name, width),
                cut(&clean(&reason), room)
            );
            let _ = writeln!(out, "{}", line.trim_end());
        }
        out.push('\n');
        for state in &shown {
            let spot = state.suspension.location().and_then(|location| {
                let line = place(snapshot, &location)?.from.0;
                Some(format!("{}:{line}", location.path))
            });
            let head = clean(&state.object.id.to_string()).into_owned();
            let _ = writeln!(out, "{}", format!("{head:40} {}", clean(&spot.unwrap_or_default())).trim_end());
            for consequence in &state.consequences {
                let _ = writeln!(out, "  {}", clean(consequence));
            }
        }
        out.push('\n');
    }
    let suspended = states.iter().filter(|state| state.suspension.suspended == Some(true)).count();
    let seems = states
        .iter()
        .filter(|state| state.suspension.annotation.is_some() && state.suspension.suspended == Some(false))
        .count();
    let _ = write!(out, "{} suspendable objects, {suspended} suspended", states.len());
    if seems > 0 {
        let _ = write!(out, ", {seems} only seems so");
    }
    out.push('\n');
}

/// Cuts a text to a width; what is cut off becomes `…`.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}
