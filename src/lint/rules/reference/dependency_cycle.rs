//! `dependency-cycle`: objects that wait for each other never become ready.
//! Source: kustomize-controller `checkDependencies` (no cycle detection) and
//! `sortAndEnqueue` (a cycle stops event-driven reconciliation of a source).

use super::{known_name, local_references};
use crate::lang::yaml::Location;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::ObjectId;
use crate::model::references::{Role, has_ready_expression};
use crate::world::Effective;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) static RULE: Rule = Rule {
    id: "dependency-cycle",
    group: Group::Reference,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "dependsOn forms a cycle",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/reference/dependency-cycle.md"),
    check: Check::Cluster(check),
};

/// Edges of dependsOn: from, to, where, and whether readyExpr may let it pass.
pub(super) struct Edge<'a> {
    pub from: &'a Effective,
    pub to: (Option<String>, String),
    pub location: Option<Location>,
    pub conditional: bool,
}

pub(super) fn edges<'a>(view: &ClusterView<'a>) -> Vec<Edge<'a>> {
    local_references(view)
        .filter(|(_, reference)| reference.role == Role::DependsOn)
        .filter_map(|(object, reference)| {
            let name = known_name(reference)?.to_owned();
            Some(Edge {
                from: object,
                to: (reference.namespace.clone(), name),
                location: reference.name_node.location(),
                conditional: has_ready_expression(object.node.get_ref(), reference),
            })
        })
        .collect()
}

/// Kind, namespace and name.
type Key<'a> = (&'a str, Option<&'a str>, &'a str);

fn key(id: &ObjectId) -> Key<'_> {
    (&id.kind, id.namespace.as_deref(), &id.name)
}

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let edges = edges(view);
    let mut graph: BTreeMap<Key<'_>, Vec<&Edge<'_>>> = BTreeMap::new();
    for edge in edges.iter().filter(|edge| !edge.conditional) {
        graph.entry(key(&edge.from.id)).or_default().push(edge);
    }
    without_ends(&mut graph);
    let mut reported: BTreeSet<Key<'_>> = BTreeSet::new();
    for start in graph.keys() {
        if reported.contains(start) {
            continue;
        }
        let Some(path) = cycle_through(&graph, *start) else { continue };
        // A cycle of one is `dependency-on-itself`.
        if path.len() < 2 {
            continue;
        }
        reported.extend(path.iter().map(|edge| key(&edge.from.id)));
        let first = path[0];
        let Some(location) = first.location.clone() else { continue };
        let mut names: Vec<&str> = path.iter().map(|edge| &*edge.from.id.name).collect();
        names.push(&first.from.id.name);
        let finding = report.report(location, format!("{}: dependsOn forms a cycle", first.from.id));
        finding
            .why(format!("{}: none of them is ever applied{}", names.join(" -> "), victims(view, first.from)))
            .help("remove one of these dependencies")
            .label(format!("{} waits for {}", names[0], names[1]))
            .field("/spec/dependsOn", names.join(" -> "));
        for edge in &path {
            finding.object(&edge.from.id);
        }
        for edge in &path[1..] {
            if let Some(location) = edge.location.clone() {
                finding.related(format!("{} waits for {}", edge.from.id.name, edge.to.1), location);
            }
        }
    }
}

fn target<'g>(edge: &'g Edge<'_>) -> Key<'g> {
    (&edge.from.id.kind, edge.to.0.as_deref(), &edge.to.1)
}

/// Leaves only the objects that wait for one that waits too, and for which one waits
/// that is waited for too, so that a repository without cycles costs no search.
fn without_ends<'g>(graph: &mut BTreeMap<Key<'g>, Vec<&'g Edge<'_>>>) {
    let mut waiting: BTreeMap<Key<'g>, Vec<Key<'g>>> = BTreeMap::new();
    let mut awaited: BTreeMap<Key<'g>, Vec<Key<'g>>> = BTreeMap::new();
    for (from, edges) in &*graph {
        for to in edges.iter().map(|edge| target(edge)).filter(|to| graph.contains_key(to)) {
            waiting.entry(to).or_default().push(*from);
            awaited.entry(*from).or_default().push(to);
        }
    }
    for (before, after) in [(&waiting, &awaited), (&awaited, &waiting)] {
        let open = |key: &Key<'_>| after.get(key).map_or(0, Vec::len);
        let mut open: BTreeMap<Key<'_>, usize> = graph.keys().map(|key| (*key, open(key))).collect();
        let mut ends: Vec<Key<'_>> =
            open.iter().filter(|(_, count)| **count == 0).map(|(key, _)| *key).collect();
        while let Some(end) = ends.pop() {
            graph.remove(&end);
            for from in before.get(&end).into_iter().flatten() {
                let Some(count) = open.get_mut(from) else { continue };
                *count -= 1;
                if *count == 0 {
                    ends.push(*from);
                }
            }
        }
    }
}

/// The shortest way from `start` back to itself.
fn cycle_through<'g, 'a>(
    graph: &BTreeMap<Key<'g>, Vec<&'g Edge<'a>>>,
    start: Key<'g>,
) -> Option<Vec<&'g Edge<'a>>> {
    // Each step with the one before it.
    let mut steps: Vec<(&Edge<'a>, Option<usize>)> =
        graph.get(&start)?.iter().map(|edge| (*edge, None)).collect();
    let mut seen: BTreeSet<Key<'_>> = BTreeSet::new();
    let mut next = 0;
    while let Some((last, _)) = steps.get(next) {
        let to = target(last);
        if to == start {
            let mut path = Vec::new();
            let mut at = Some(next);
            while let Some((edge, before)) = at.map(|at| steps[at]) {
                path.push(edge);
                at = before;
            }
            path.reverse();
            return Some(path);
        }
        if seen.insert(to) {
            steps.extend(graph.get(&to).into_iter().flatten().map(|edge| (*edge, Some(next))));
        }
        next += 1;
    }
    None
}

/// kustomize-controller sorts the Kustomizations of a source before it enqueues
/// them; a cycle among them stops that for all.
pub(super) fn victims(view: &ClusterView<'_>, of: &Effective) -> String {
    if &*of.id.kind != "Kustomization" {
        return String::new();
    }
    let source = |object: &Effective| {
        let node = object.node.get_ref();
        let text = |pointer: &str| node.str_at(pointer).map(|text| text.into_owned());
        (
            text("/spec/sourceRef/kind"),
            text("/spec/sourceRef/name"),
            text("/spec/sourceRef/namespace").or_else(|| object.id.namespace.as_deref().map(str::to_owned)),
        )
    };
    let own = source(of);
    if own.1.is_none() {
        return String::new();
    }
    let count = view
        .members()
        .filter(|(_, object)| crate::model::kinds::is_kustomization(&object.id) && source(object) == own)
        .count();
    match count {
        0 | 1 => String::new(),
        count => format!(
            "; and a new revision of their source starts none of its {count} Kustomizations, \
             they run at their interval only"
        ),
    }
}
