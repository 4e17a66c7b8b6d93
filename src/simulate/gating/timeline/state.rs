//! States, and how they change over time.

use crate::lang::yaml::Location;
use crate::simulate::gating::Position;
use jiff::Timestamp;

/// Whether something may pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassState {
    /// It may.
    Opened,
    /// It may not.
    Closed,
    /// Only the cluster knows.
    Unknown,
}

impl PassState {
    /// The word of the JSON contract.
    pub fn name(self) -> &'static str {
        match self {
            PassState::Opened => "opened",
            PassState::Closed => "closed",
            PassState::Unknown => "unknown",
        }
    }

    /// What holds if both of two conditions must.
    pub(super) fn and(self, other: PassState) -> PassState {
        match (self, other) {
            (PassState::Closed, _) | (_, PassState::Closed) => PassState::Closed,
            (PassState::Unknown, _) | (_, PassState::Unknown) => PassState::Unknown,
            (PassState::Opened, PassState::Opened) => PassState::Opened,
        }
    }
}

impl From<Position> for PassState {
    fn from(position: Position) -> Self {
        match position {
            Position::Opened => PassState::Opened,
            Position::Closed => PassState::Closed,
        }
    }
}

/// A range of time: `from` belongs to it, `to` does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// Its start.
    pub from: Timestamp,
    /// Its end.
    pub to: Timestamp,
}

/// A change of state inside the range.
#[derive(Debug, Clone, PartialEq)]
pub struct StateChange {
    /// From this instant on the new state holds.
    pub at: Timestamp,
    /// The new state.
    pub state: PassState,
    /// Why: `open requested`, `window of 1h is over`, `CronJob a/b`.
    pub cause: String,
    /// Where the cause is written.
    pub location: Option<Location>,
}

/// The states of one thing over the range.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// The state at the start of the range.
    pub first: PassState,
    /// The changes after it, in order.
    pub changes: Vec<StateChange>,
}

impl Timeline {
    pub(super) fn constant(state: PassState) -> Self {
        Timeline { first: state, changes: Vec::new() }
    }

    /// The state at a moment of the range.
    pub fn at(&self, at: Timestamp) -> PassState {
        self.changes.iter().rev().find(|change| change.at <= at).map_or(self.first, |change| change.state)
    }

    /// The spans of equal state: start, end, state. The last has no end.
    pub fn intervals(&self, range: Range) -> Vec<(Timestamp, Option<Timestamp>, PassState)> {
        let starts = std::iter::once((range.from, self.first))
            .chain(self.changes.iter().map(|change| (change.at, change.state)));
        let ends = self.changes.iter().map(|change| Some(change.at)).chain([None]);
        starts.zip(ends).map(|((from, state), to)| (from, to, state)).collect()
    }

    /// Whether the state holds at some moment of the range.
    pub fn ever(&self, state: PassState) -> bool {
        self.first == state || self.changes.iter().any(|change| change.state == state)
    }

    /// The first moment from `at` on at which the state holds.
    pub fn next(&self, at: Timestamp, state: PassState) -> Option<Timestamp> {
        if self.at(at) == state {
            return Some(at);
        }
        self.changes.iter().find(|change| change.at > at && change.state == state).map(|change| change.at)
    }

    /// Both must hold. A change keeps the cause of the part that changed.
    pub(super) fn and(&self, other: &Timeline) -> Timeline {
        let mut changes: Vec<&StateChange> = self.changes.iter().chain(&other.changes).collect();
        changes.sort_by_key(|change| change.at);
        let mut combined = Timeline::constant(self.first.and(other.first));
        for (place, change) in changes.iter().enumerate() {
            if changes.get(place + 1).is_some_and(|next| next.at == change.at) {
                continue;
            }
            let state = self.at(change.at).and(other.at(change.at));
            combined.push(StateChange { state, ..(*change).clone() });
        }
        combined
    }

    /// Adds a change if it is one.
    pub(super) fn push(&mut self, change: StateChange) {
        let current = self.changes.last().map_or(self.first, |last| last.state);
        if change.state != current {
            self.changes.push(change);
        }
    }
}
