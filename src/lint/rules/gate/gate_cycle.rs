//! `gate-cycle`: gates of which each is brought by what waits for the next.
//! Source: as `self-gated-gate`, through several Kustomizations.

use super::self_gated_gate::{blockers, is_opened_by_default};
use super::{Wait, full_name, gate_of, gates};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::simulate::gating::objects::are_available;
use crate::world::Effective;
use std::collections::BTreeMap;

pub(crate) static RULE: Rule = Rule {
    id: "gate-cycle",
    group: Group::Gate,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "gates of which each is brought by what waits for the next",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/gate/gate-cycle.md"),
    check: Check::Cluster(check),
};

/// A gate, and the waits of what applies it.
struct Brought<'a> {
    gate: &'a Effective,
    /// Each wait with the index of the gate that it is for.
    waits: Vec<(usize, Wait<'a>)>,
}

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    // Elsewhere the field itself is refused: `unknown-field`.
    if !are_available(&view.cluster.settings) {
        return;
    }
    let members: Vec<_> = gates(view).collect();
    let index: BTreeMap<u32, usize> =
        members.iter().enumerate().map(|(index, (member, _))| (member.object, index)).collect();
    let graph: Vec<Brought<'_>> = members
        .iter()
        .map(|(member, gate)| {
            let applied = member.maker.kustomization().map(|index| &view.cluster.applied[index as usize]);
            let waits = applied.into_iter().flat_map(|applied| blockers(view, applied)).filter_map(|wait| {
                let target = *index.get(&gate_of(view.cluster, &wait)?.object)?;
                Some((target, wait))
            });
            Brought { gate, waits: waits.collect() }
        })
        .collect();
    let mut reported = vec![false; graph.len()];
    for start in 0..graph.len() {
        if reported[start] {
            continue;
        }
        let Some(path) = cycle(&graph, start) else { continue };
        path.iter().for_each(|&(from, _)| reported[from] = true);
        let names: Vec<String> = path
            .iter()
            .map(|&(from, _)| full_name(&graph[from].gate.id))
            .chain([full_name(&graph[start].gate.id)])
            .collect();
        let edge = |(from, wait): (usize, usize)| &graph[from].waits[wait].1;
        let first = edge(path[0]);
        let Some(location) = first.node.location() else { continue };
        let opens = path.iter().any(|&(from, _)| is_opened_by_default(graph[from].gate));
        let finding = report.report(location, format!("{}: its gates wait for each other", first.object.id));
        finding
            .level(if opens { Level::Warning } else { Level::Error })
            .why(format!(
                "{}: each is applied by what waits for the next, so openings committed to Git never arrive",
                names.join(" -> ")
            ))
            .help("apply one of the Gates with a Kustomization that waits for none of them")
            .object(&first.object.id)
            .field(format!("/spec/gates/{}/name", first.index), names.join(" -> "));
        for &step in &path[1..] {
            let wait = edge(step);
            if let Some(place) = wait.node.location() {
                finding
                    .object(&wait.object.id)
                    .related(format!("{} waits for {}", wait.object.id, wait.name), place);
            }
        }
    }
}

/// The shortest way from a gate back to itself through at least one other, as
/// (gate, wait) steps. A gate that only waits for itself is `self-gated-gate`.
fn cycle(graph: &[Brought<'_>], start: usize) -> Option<Vec<(usize, usize)>> {
    let mut came: Vec<Option<(usize, usize)>> = vec![None; graph.len()];
    let mut open = vec![start];
    while !open.is_empty() {
        let mut next = Vec::new();
        for from in open {
            for (position, (to, _)) in graph[from].waits.iter().enumerate() {
                if *to == start && from != start {
                    let mut path = vec![(from, position)];
                    while let Some(step) = path.last().and_then(|&(gate, _)| came[gate]) {
                        path.push(step);
                    }
                    path.reverse();
                    return Some(path);
                }
                if *to != start && came[*to].is_none() {
                    came[*to] = Some((from, position));
                    next.push(*to);
                }
            }
        }
        open = next;
    }
    None
}
