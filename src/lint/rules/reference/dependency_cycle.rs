//! `dependency-cycle`: objects that wait for each other never become ready.
//! Source: kustomize-controller `checkDependencies` (no cycle detection) and
//! `sortAndEnqueue` (a cycle stops event-driven reconciliation of a source).

use super::{known_name, local_references};
use crate::lang::yaml::Location;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Name;
use crate::model::references::{Role, has_ready_expression};
use crate::world::Effective;
use std::cell::OnceCell;
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

/// How often every edge may be gone over in search of cycles.
const SEARCHES: usize = 16;

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let edges = edges(view);
    let mut graph: BTreeMap<Name<'_>, Vec<&Edge<'_>>> = BTreeMap::new();
    for edge in edges.iter().filter(|edge| !edge.conditional) {
        graph.entry(edge.from.id.named()).or_default().push(edge);
    }
    without_ends(&mut graph);
    let victims = Victims::default();
    let mut reported: BTreeSet<Name<'_>> = BTreeSet::new();
    // Where cycles share objects, those that were found tell enough of all others.
    let mut budget = SEARCHES * graph.values().map(Vec::len).sum::<usize>();
    for start in graph.keys() {
        if reported.contains(start) {
            continue;
        }
        let Some(path) = cycle_through(&graph, *start, &mut budget) else { continue };
        // A cycle of one is `dependency-on-itself`.
        if path.len() < 2 {
            continue;
        }
        reported.extend(path.iter().map(|edge| edge.from.id.named()));
        let first = path[0];
        let Some(location) = first.location.clone() else { continue };
        let mut names: Vec<&str> = path.iter().map(|edge| &*edge.from.id.name).collect();
        names.push(&first.from.id.name);
        let finding = report.report(location, format!("{}: dependsOn forms a cycle", first.from.id));
        finding
            .why(format!(
                "{}: none of them is ever applied{}",
                names.join(" -> "),
                victims.of(view, first.from)
            ))
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

fn target<'g>(edge: &'g Edge<'_>) -> Name<'g> {
    Name { namespace: edge.to.0.as_deref(), name: &edge.to.1, ..edge.from.id.named() }
}

/// Leaves only what waits for itself through others, with the ways that lead back, so
/// that a repository without cycles costs no search: the objects of each group of which
/// all wait for all.
///
/// Kosaraju's algorithm, with stacks of its own: input decides how deep it goes.
fn without_ends<'g>(graph: &mut BTreeMap<Name<'g>, Vec<&'g Edge<'_>>>) {
    let mut awaited: BTreeMap<Name<'g>, Vec<Name<'g>>> = BTreeMap::new();
    for (from, edges) in &*graph {
        edges.iter().for_each(|edge| awaited.entry(target(edge)).or_default().push(*from));
    }
    let mut finished: Vec<Name<'g>> = Vec::new();
    let mut seen: BTreeSet<Name<'g>> = BTreeSet::new();
    for start in graph.keys() {
        let mut stack = vec![(*start, 0)];
        seen.insert(*start);
        while let Some((at, next)) = stack.last_mut() {
            let edges = graph.get(at).map_or(&[][..], Vec::as_slice);
            match edges.get(*next).map(|edge| target(edge)) {
                Some(to) => {
                    *next += 1;
                    if graph.contains_key(&to) && seen.insert(to) {
                        stack.push((to, 0));
                    }
                }
                None => {
                    finished.push(*at);
                    stack.pop();
                }
            }
        }
    }
    let mut group: BTreeMap<Name<'g>, usize> = BTreeMap::new();
    for (number, start) in finished.iter().rev().enumerate() {
        let mut open = vec![*start];
        while let Some(at) = open.pop() {
            if graph.contains_key(&at) && !group.contains_key(&at) {
                group.insert(at, number);
                open.extend(awaited.get(&at).into_iter().flatten());
            }
        }
    }
    graph.retain(|from, edges| {
        edges.retain(|edge| group.get(&target(edge)) == group.get(from));
        !edges.is_empty()
    });
}

/// The shortest way from `start` back to itself.
fn cycle_through<'g, 'a>(
    graph: &BTreeMap<Name<'g>, Vec<&'g Edge<'a>>>,
    start: Name<'g>,
    budget: &mut usize,
) -> Option<Vec<&'g Edge<'a>>> {
    // Each step with the one before it.
    let mut steps: Vec<(&Edge<'a>, Option<usize>)> =
        graph.get(&start)?.iter().map(|edge| (*edge, None)).collect();
    let mut seen: BTreeSet<Name<'_>> = BTreeSet::new();
    let mut next = 0;
    while let Some((last, _)) = steps.get(next) {
        *budget = budget.checked_sub(1)?;
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

/// The kind, name and namespace of a source.
type SourceIdentity = (Option<String>, Option<String>, Option<String>);

/// kustomize-controller sorts the Kustomizations of a source before it enqueues
/// them; a cycle among them stops that for all.
#[derive(Default)]
pub(super) struct Victims {
    /// Kustomizations of each source; counted for the first cycle.
    count: OnceCell<BTreeMap<SourceIdentity, usize>>,
}

impl Victims {
    /// What a cycle through this object does to others, as the end of a sentence.
    pub(super) fn of(&self, view: &ClusterView<'_>, object: &Effective) -> String {
        let own = source(object);
        if &*object.id.kind != "Kustomization" || own.1.is_none() {
            return String::new();
        }
        let counts = self.count.get_or_init(|| {
            let mut counts = BTreeMap::new();
            let all = view.written().map(|(_, object)| object);
            for object in all.filter(|object| crate::model::kinds::is_kustomization(&object.id)) {
                *counts.entry(source(object)).or_default() += 1;
            }
            counts
        });
        match counts.get(&own) {
            None | Some(0 | 1) => String::new(),
            Some(count) => format!(
                "; and a new revision of their source starts none of its {count} Kustomizations, \
                 they run at their interval only"
            ),
        }
    }
}

fn source(object: &Effective) -> SourceIdentity {
    let node = object.node.get_ref();
    let text = |pointer: &str| node.str_at(pointer).map(|text| text.into_owned());
    (
        text("/spec/sourceRef/kind"),
        text("/spec/sourceRef/name"),
        text("/spec/sourceRef/namespace").or_else(|| object.id.namespace.as_deref().map(str::to_owned)),
    )
}
