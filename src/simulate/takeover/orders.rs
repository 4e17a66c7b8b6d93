//! Everything that a commit sets off, in every order.
//! Source: kustomize-controller `internal/controller/kustomization_manager.go`: all
//! Kustomizations of a source are triggered by one artifact and run in parallel,
//! ordered by nothing but `dependsOn`.

use super::{Builds, ClusterState, Event, Id, ObjectPlace, Role};
use std::collections::{BTreeMap, BTreeSet};

/// What became of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ObjectOutcome {
    /// It stays, with the owner that it had.
    Kept,
    /// It stays; another Kustomization owns it.
    Adopted(Id),
    /// It stays, in no inventory.
    Orphaned,
    /// It was not there, and is.
    Created,
    /// It was deleted and is there again, as a new object.
    Recreated,
    /// It was deleted and comes back only when its applier looks again.
    RecreatedLater,
    /// It is deleted.
    Deleted,
}

impl ObjectOutcome {
    /// Whether the object that was there is lost.
    pub(crate) fn loses(&self) -> bool {
        matches!(self, ObjectOutcome::Recreated | ObjectOutcome::RecreatedLater | ObjectOutcome::Deleted)
    }
}

/// What all orders come to.
#[derive(Clone, Debug, Default)]
pub(crate) struct OrdersOutcome {
    /// For each object of the start or of an end: its outcomes, each with the events
    /// of one order that leads there.
    pub outcomes: BTreeMap<ObjectPlace, BTreeMap<ObjectOutcome, Vec<Event>>>,
    /// How many ends were reached.
    pub ends: usize,
    /// Whether every order was followed.
    pub complete: bool,
}

impl OrdersOutcome {
    /// The outcomes of one object.
    pub(crate) fn of(&self, place: &ObjectPlace) -> Vec<&ObjectOutcome> {
        self.outcomes.get(place).into_iter().flat_map(BTreeMap::keys).collect()
    }
}

/// States after which no further order is followed.
pub(crate) const STATES: usize = 4096;

/// Follows every order from a state. `pending` of the state says what begins.
pub(crate) fn explore(start: &ClusterState, builds: &Builds) -> OrdersOutcome {
    let start = &start.clone().settled();
    let mut answer = OrdersOutcome { complete: true, ..OrdersOutcome::default() };
    let mut seen: BTreeSet<ClusterState> = BTreeSet::from([start.clone()]);
    let mut open: Vec<(ClusterState, Vec<Event>)> = vec![(start.clone(), Vec::new())];
    while let Some((state, path)) = open.pop() {
        let events = state.enabled(builds);
        if events.is_empty() {
            answer.ends += 1;
            judge(start, &state, builds, &path, &mut answer);
            continue;
        }
        for event in events {
            let next = state.after(&event, builds);
            if seen.len() >= STATES {
                answer.complete = false;
                continue;
            }
            if seen.insert(next.clone()) {
                let mut path = path.clone();
                path.push(event);
                open.push((next, path));
            }
        }
    }
    answer
}

/// The state when every applier has looked once more, at its interval.
fn next_interval(end: &ClusterState, builds: &Builds) -> ClusterState {
    let mut state = end.clone();
    let appliers: Vec<Id> = state
        .objects
        .values()
        .filter(|live| live.manifest.role != Role::Plain)
        .map(|live| live.manifest.id.clone())
        .collect();
    for id in appliers {
        state.pending.insert(id.clone());
        if state.reconciles(&id, builds) {
            state = state.after(&Event::Reconcile(id), builds);
        }
    }
    state
}

fn judge(
    start: &ClusterState,
    end: &ClusterState,
    builds: &Builds,
    path: &[Event],
    answer: &mut OrdersOutcome,
) {
    let later = next_interval(end, builds);
    let tracked: BTreeSet<&Id> = later.inventories.values().flatten().collect();
    let places: BTreeSet<&ObjectPlace> = start.objects.keys().chain(end.objects.keys()).collect();
    for place in places {
        let outcome = match (start.objects.get(place), end.objects.get(place)) {
            (None, _) => ObjectOutcome::Created,
            (Some(_), None) if later.objects.contains_key(place) => ObjectOutcome::RecreatedLater,
            (Some(_), None) => ObjectOutcome::Deleted,
            (Some(before), Some(after)) if before.fresh != after.fresh => ObjectOutcome::Recreated,
            (Some(before), Some(after)) => {
                let is_release = &*place.1.group == "helm.sh";
                let was_tracked = start.inventories.values().any(|inventory| inventory.contains(&place.1));
                if !is_release && was_tracked && !tracked.contains(&place.1) {
                    ObjectOutcome::Orphaned
                } else if before.owner == after.owner {
                    ObjectOutcome::Kept
                } else {
                    after.owner.clone().map_or(ObjectOutcome::Kept, ObjectOutcome::Adopted)
                }
            }
        };
        let known = answer.outcomes.entry(place.clone()).or_default();
        known.entry(outcome).or_insert_with(|| path.to_vec());
    }
}
