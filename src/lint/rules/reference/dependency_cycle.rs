//! `dependency-cycle`: objects that wait for each other never become ready.
//! Source: kustomize-controller `checkDependencies` (no cycle detection) and
//! `sortAndEnqueue` (a cycle stops event-driven reconciliation of a source).

use super::{known_name, local_references};
use crate::lang::yaml::Location;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Name;
use crate::model::references::{Role, has_ready_expression};
use crate::world::Effective;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::OnceCell;
use std::collections::BTreeMap;

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
    let waits = within_cycles(waits(&edges));
    let victims = Victims::default();
    let mut reported = vec![false; waits.len()];
    // Where cycles share objects, those that were found tell enough of all others.
    let mut budget = SEARCHES * waits.iter().map(Vec::len).sum::<usize>();
    for start in 0..waits.len() {
        if reported[start] {
            continue;
        }
        let Some(path) = cycle_through(&waits, start, &mut budget) else { continue };
        // A cycle of one is `dependency-on-itself`.
        if path.len() < 2 {
            continue;
        }
        path.iter().for_each(|step| reported[step.to] = true);
        let first = path[0].edge;
        let Some(location) = first.location.clone() else { continue };
        let mut names: Vec<&str> = path.iter().map(|step| &*step.edge.from.id.name).collect();
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
        for step in &path {
            finding.object(&step.edge.from.id);
        }
        for step in &path[1..] {
            if let Some(location) = step.edge.location.clone() {
                finding.related(format!("{} waits for {}", step.edge.from.id.name, step.edge.to.1), location);
            }
        }
    }
}

fn target<'g>(edge: &'g Edge<'_>) -> Name<'g> {
    Name { namespace: edge.to.0.as_deref(), name: &edge.to.1, ..edge.from.id.named() }
}

/// What an object waits for, by its number.
#[derive(Clone, Copy)]
struct Wait<'g, 'a> {
    to: usize,
    edge: &'g Edge<'a>,
}

/// The objects that wait for others, by their numbers in the order of names, each with what it
/// waits for. An object that waits for nothing closes no cycle and has no number.
type Waits<'g, 'a> = Vec<Vec<Wait<'g, 'a>>>;

/// All waits but those that an expression may let pass.
fn waits<'g, 'a>(edges: &'g [Edge<'a>]) -> Waits<'g, 'a> {
    let edges = || edges.iter().filter(|edge| !edge.conditional);
    let mut names: Vec<Name<'_>> = edges().map(|edge| edge.from.id.named()).collect();
    names.sort_unstable();
    names.dedup();
    let numbers: FxHashMap<Name<'_>, usize> =
        names.iter().enumerate().map(|(at, name)| (*name, at)).collect();
    let mut found = vec![Vec::new(); names.len()];
    for edge in edges() {
        if let (Some(from), Some(to)) = (numbers.get(&edge.from.id.named()), numbers.get(&target(edge))) {
            found[*from].push(Wait { to: *to, edge });
        }
    }
    found
}

/// Leaves only what waits for itself through others, with the ways that lead back, so
/// that a repository without cycles costs no search: the objects of each group of which
/// all wait for all.
///
/// Kosaraju's algorithm, with stacks of its own: input decides how deep it goes.
fn within_cycles<'g, 'a>(waits: Waits<'g, 'a>) -> Waits<'g, 'a> {
    let mut awaited: Vec<Vec<usize>> = vec![Vec::new(); waits.len()];
    for (from, own) in waits.iter().enumerate() {
        own.iter().for_each(|wait| awaited[wait.to].push(from));
    }
    let mut finished: Vec<usize> = Vec::with_capacity(waits.len());
    let mut seen = vec![false; waits.len()];
    for start in 0..waits.len() {
        let mut stack = Vec::new();
        if !std::mem::replace(&mut seen[start], true) {
            stack.push((start, 0));
        }
        while let Some((at, next)) = stack.last_mut() {
            match waits[*at].get(*next) {
                Some(wait) => {
                    *next += 1;
                    if !std::mem::replace(&mut seen[wait.to], true) {
                        stack.push((wait.to, 0));
                    }
                }
                None => {
                    finished.push(*at);
                    stack.pop();
                }
            }
        }
    }
    let mut group: Vec<Option<usize>> = vec![None; waits.len()];
    for start in finished.iter().rev() {
        let mut open = vec![*start];
        while let Some(at) = open.pop() {
            if group[at].is_none() {
                group[at] = Some(*start);
                open.extend(&awaited[at]);
            }
        }
    }
    let own = waits.into_iter().enumerate();
    own.map(|(from, own)| own.into_iter().filter(|wait| group[wait.to] == group[from]).collect()).collect()
}

/// The shortest way from `start` back to itself.
fn cycle_through<'g, 'a>(
    waits: &Waits<'g, 'a>,
    start: usize,
    budget: &mut usize,
) -> Option<Vec<Wait<'g, 'a>>> {
    // Each step with the one before it.
    let mut steps: Vec<(Wait<'g, 'a>, Option<usize>)> =
        waits[start].iter().map(|wait| (*wait, None)).collect();
    let mut seen: FxHashSet<usize> = FxHashSet::default();
    let mut next = 0;
    while let Some((last, _)) = steps.get(next) {
        *budget = budget.checked_sub(1)?;
        let to = last.to;
        if to == start {
            let mut path = Vec::new();
            let mut at = Some(next);
            while let Some((wait, before)) = at.map(|at| steps[at]) {
                path.push(wait);
                at = before;
            }
            path.reverse();
            return Some(path);
        }
        if seen.insert(to) {
            steps.extend(waits[to].iter().map(|wait| (*wait, Some(next))));
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
