//! The gating proposal's state machine: when a Gate is opened or closed.
//!
//! Implements the text of the RFC "Gating Flux reconciliation", and where it is
//! silent these decisions: a missing `window` lets a request hold until the
//! opposite one; of several requests the newest at or before now counts, and a
//! tie closes; a gate is back at its default from the reset time on; a request
//! in the future is a scheduled one.

use jiff::{SignedDuration, Timestamp};

use crate::lang::go::duration::GoDuration;

pub(crate) mod commands;
pub(crate) mod objects;
pub(crate) mod schedule;
pub(crate) mod timeline;

/// Annotation of a Gate that asks to open it.
pub(crate) const OPEN_ANNOTATION: &str = "open.gate.fluxcd.io/requestedAt";
/// Annotation of a Gate that asks to close it.
pub(crate) const CLOSE_ANNOTATION: &str = "close.gate.fluxcd.io/requestedAt";

/// Opened or closed: a gate's state, its default, or what is asked of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Position {
    /// Nothing may pass.
    Closed,
    /// Reconciliations may start.
    Opened,
}

impl Position {
    /// The word in `spec.default` and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Position::Closed => "closed",
            Position::Opened => "opened",
        }
    }

    /// The word of a request for it: `open` or `close`.
    pub fn verb(self) -> &'static str {
        match self {
            Position::Closed => "close",
            Position::Opened => "open",
        }
    }

    /// The annotation that asks for it.
    pub fn annotation(self) -> &'static str {
        match self {
            Position::Closed => CLOSE_ANNOTATION,
            Position::Opened => OPEN_ANNOTATION,
        }
    }

    /// The other position.
    pub fn opposite(self) -> Self {
        match self {
            Position::Closed => Position::Opened,
            Position::Opened => Position::Closed,
        }
    }
}

/// What a Gate's spec says of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateSpec {
    /// `spec.default`; closed where it is missing or unusable.
    pub default: Position,
    /// `spec.window`: how long a request away from the default holds.
    pub window: Option<GoDuration>,
}

/// A request to open or to close a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateRequest {
    /// The time that the request carries, in whole seconds.
    pub at: Timestamp,
    /// What it asks for.
    pub position: Position,
}

/// A gate at one moment, as its status would show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateState {
    /// Status `True` or `False` of the condition `Opened`.
    pub position: Position,
    /// `status.requestedAt`: the time of the request that counts.
    pub requested_at: Option<Timestamp>,
    /// `status.resetToDefaultAt`; none while no request was made, and for a
    /// request that holds without a window.
    pub reset_to_default_at: Option<Timestamp>,
    /// The condition's message.
    pub message: String,
}

/// The reason of the condition `Opened`.
pub(crate) const GATE_REASON: &str = "ReconciliationSucceeded";

/// Reads the value of a request annotation: RFC 3339 as Go's `time.RFC3339`
/// reads it, cut to whole seconds as `metav1.Time` does.
pub fn parse_request_time(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let digits =
        |from: usize, to: usize| bytes.get(from..to).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    let shape = digits(0, 4)
        && digits(5, 7)
        && digits(8, 10)
        && digits(11, 13)
        && digits(14, 16)
        && digits(17, 19)
        && [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')]
            .iter()
            .all(|&(at, separator)| bytes[at] == separator)
        && &bytes[17..19] != b"60";
    if !shape {
        return None;
    }
    let rest = &bytes[19..];
    let fraction = match rest {
        [b'.', digits @ ..] => 1 + digits.iter().take_while(|b| b.is_ascii_digit()).count(),
        _ => 0,
    };
    let zone = match &rest[fraction..] {
        b"Z" => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => [h1, h2, m1, m2].iter().all(|b| b.is_ascii_digit()),
        _ => false,
    };
    if !zone || fraction == 1 {
        return None;
    }
    let parsed: Timestamp = text.parse().ok()?;
    let nanosecond = i64::from(parsed.subsec_nanosecond()).rem_euclid(1_000_000_000);
    parsed.checked_sub(SignedDuration::from_nanos(nanosecond)).ok()
}

/// A time as Kubernetes writes it: RFC 3339 in UTC, in whole seconds.
pub(crate) fn format_time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The gate at a moment. Requests may come in any order; those after `now` do
/// not count yet.
pub(crate) fn state(spec: GateSpec, requests: &[GateRequest], now: Timestamp) -> GateState {
    let standing = requests
        .iter()
        .filter(|request| request.at <= now)
        .max_by_key(|request| (request.at, request.position == Position::Closed));
    let by_default = |requested_at, reset_to_default_at| GateState {
        position: spec.default,
        requested_at,
        reset_to_default_at,
        message: format!("Gate {} by default", spec.default.name()),
    };
    let Some(&GateRequest { at, position }) = standing else {
        return by_default(None, None);
    };
    if position == spec.default {
        return GateState {
            position,
            requested_at: Some(at),
            reset_to_default_at: Some(at),
            message: format!("Gate {} requested", position.verb()),
        };
    }
    let reset = reset_time(spec, at);
    match reset {
        Some(reset) if now >= reset => by_default(Some(at), Some(reset)),
        Some(reset) => GateState {
            position,
            requested_at: Some(at),
            reset_to_default_at: Some(reset),
            message: match position {
                Position::Opened => format!("Gate scheduled for closing at {}", format_time(reset)),
                Position::Closed => format!("Gate scheduled for opening at {}", format_time(reset)),
            },
        },
        None => GateState {
            position,
            requested_at: Some(at),
            reset_to_default_at: None,
            message: match position {
                Position::Opened => "Gate opened until a close request".into(),
                Position::Closed => "Gate closed until an open request".into(),
            },
        },
    }
}

/// When a request away from the default, made at a time, is over.
fn reset_time(spec: GateSpec, requested_at: Timestamp) -> Option<Timestamp> {
    let window = SignedDuration::from_nanos(spec.window?.nanoseconds());
    Some(requested_at.checked_add(window).unwrap_or(Timestamp::MAX).max(requested_at))
}

/// Why a gate changes its position. The index is that of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PositionCause {
    /// A request takes effect.
    Request(usize),
    /// The window of a request is over.
    WindowOver(usize),
}

/// A change of a gate's position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transition {
    /// When; from this instant on the gate has its new position.
    pub at: Timestamp,
    /// The new position.
    pub position: Position,
    /// Why.
    pub cause: PositionCause,
}

/// All changes of a gate's position, in order, from the first request to the
/// last reset. Before the first one the gate is at its default.
pub(crate) fn transitions(spec: GateSpec, requests: &[GateRequest]) -> Vec<Transition> {
    let mut order: Vec<usize> = (0..requests.len()).collect();
    // Of a tie the closing request comes last, so that it counts.
    order.sort_by_key(|&i| (requests[i].at, requests[i].position == Position::Closed));
    let mut found = Vec::new();
    let mut position = spec.default;
    let mut change = |at, new, cause| {
        if new != position {
            position = new;
            found.push(Transition { at, position: new, cause });
        }
    };
    for (place, &index) in order.iter().enumerate() {
        let request = requests[index];
        let next = order.get(place + 1).map(|&next| requests[next].at);
        if next == Some(request.at) {
            continue;
        }
        let reset = if request.position == spec.default { None } else { reset_time(spec, request.at) };
        // An empty window never lets the request take effect.
        if reset != Some(request.at) {
            change(request.at, request.position, PositionCause::Request(index));
        }
        if let Some(reset) = reset
            && next.is_none_or(|next| reset < next)
        {
            change(reset, spec.default, PositionCause::WindowOver(index));
        }
    }
    found
}

/// The condition that a gated object would carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// `Approved` on what applies, `Blocked` on a source: of opposite polarity.
    pub kind: &'static str,
    /// `True` or `False`.
    pub status: &'static str,
    /// `GateOpened` or `GateClosed`.
    pub reason: &'static str,
    /// The RFC's sentence, which names the first closed gate.
    pub message: String,
}

/// The condition of a sync (`Approved`) or a source (`Blocked`) whose first
/// closed gate, as `namespace/name`, is `closed`.
pub(crate) fn condition(is_source: bool, closed: Option<&str>) -> Condition {
    let status = |yes| if yes { "True" } else { "False" };
    let (kind, status) = if is_source {
        ("Blocked", status(closed.is_some()))
    } else {
        ("Approved", status(closed.is_none()))
    };
    let message = match (closed, is_source) {
        (Some(gate), true) => format!("Reconciliation is blocked as gate '{gate}' is closed."),
        (Some(gate), false) => {
            format!("Reconciliation is waiting approval, gate '{gate}' is closed.")
        }
        (None, _) => "Reconciliation may proceed, all gates are opened.".into(),
    };
    let reason = if closed.is_some() { "GateClosed" } else { "GateOpened" };
    Condition { kind, status, reason, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn time(text: &str) -> Timestamp {
        parse_request_time(text).unwrap()
    }

    fn gate(default: Position, window: &str) -> GateSpec {
        let window = (!window.is_empty()).then(|| GoDuration::parse(window).unwrap());
        GateSpec { default, window }
    }

    fn open(at: &str) -> GateRequest {
        GateRequest { at: time(at), position: Position::Opened }
    }

    fn close(at: &str) -> GateRequest {
        GateRequest { at: time(at), position: Position::Closed }
    }

    #[test]
    fn follows_the_stories_of_the_rfc() {
        let approval = gate(Position::Closed, "1h");
        let maintenance = gate(Position::Opened, "24h");
        let opened = open("2021-03-26T10:00:00Z");
        let closed = close("2021-03-26T10:10:00Z");
        let started = close("2021-03-26T10:00:00Z");
        let at_10 = Some("2021-03-26T10:00:00Z");
        let at_11 = Some("2021-03-26T11:00:00Z");
        let early = Some("2021-03-26T10:10:00Z");
        for (spec, requests, now, position, message, requested, reset) in [
            (approval, vec![], "2021-03-26T10:09:26Z", "closed", "Gate closed by default", None, None),
            (
                approval,
                vec![opened],
                "2021-03-26T10:00:00Z",
                "opened",
                "Gate scheduled for closing at 2021-03-26T11:00:00Z",
                at_10,
                at_11,
            ),
            (
                approval,
                vec![opened, closed],
                "2021-03-26T10:10:00Z",
                "closed",
                "Gate close requested",
                early,
                early,
            ),
            (
                approval,
                vec![opened],
                "2021-03-26T11:00:00Z",
                "closed",
                "Gate closed by default",
                at_10,
                at_11,
            ),
            (
                maintenance,
                vec![started],
                "2021-03-26T10:00:00Z",
                "closed",
                "Gate scheduled for opening at 2021-03-27T10:00:00Z",
                at_10,
                Some("2021-03-27T10:00:00Z"),
            ),
            (maintenance, vec![], "2021-03-26T10:00:00Z", "opened", "Gate opened by default", None, None),
        ] {
            let found = state(spec, &requests, time(now));
            assert_eq!(found.position.name(), position);
            assert_eq!(found.message, message);
            assert_eq!(found.requested_at.map(format_time).as_deref(), requested);
            assert_eq!(found.reset_to_default_at.map(format_time).as_deref(), reset);
        }
    }

    #[test]
    fn decides_where_the_rfc_is_silent() {
        let noon = "2026-01-01T12:00:00Z";
        for (spec, requests, now, message) in [
            // Without a window a request holds.
            (
                gate(Position::Closed, ""),
                vec![open(noon)],
                "2036-01-01T00:00:00Z",
                "Gate opened until a close request",
            ),
            (
                gate(Position::Opened, ""),
                vec![close(noon)],
                "2036-01-01T00:00:00Z",
                "Gate closed until an open request",
            ),
            (
                gate(Position::Opened, ""),
                vec![close(noon), open("2026-01-02T00:00:00Z")],
                "2036-01-01T00:00:00Z",
                "Gate open requested",
            ),
            // A tie closes.
            (gate(Position::Closed, "1h"), vec![close(noon), open(noon)], noon, "Gate close requested"),
            (
                gate(Position::Opened, "1h"),
                vec![close(noon), open(noon)],
                noon,
                "Gate scheduled for opening at 2026-01-01T13:00:00Z",
            ),
            // A repeated request extends.
            (
                gate(Position::Closed, "1h"),
                vec![open(noon), open("2026-01-01T12:30:00Z")],
                "2026-01-01T13:15:00Z",
                "Gate scheduled for closing at 2026-01-01T13:30:00Z",
            ),
            // What lies ahead does not count yet.
            (
                gate(Position::Closed, "1h"),
                vec![open(noon)],
                "2026-01-01T11:59:59Z",
                "Gate closed by default",
            ),
            // A window of no length.
            (gate(Position::Closed, "0s"), vec![open(noon)], noon, "Gate closed by default"),
        ] {
            assert_eq!(state(spec, &requests, time(now)).message, message);
        }
    }

    #[test]
    fn reads_request_times_as_go_does() {
        for (text, expected) in [
            ("2021-03-26T10:00:00Z", Some("2021-03-26T10:00:00Z")),
            ("2021-03-26T10:00:00.999Z", Some("2021-03-26T10:00:00Z")),
            ("2021-03-26T10:00:00+01:30", Some("2021-03-26T08:30:00Z")),
            ("1960-01-01T00:00:00.5Z", Some("1960-01-01T00:00:00Z")),
            ("2021-03-26 10:00:00Z", None),
            ("2021-03-26t10:00:00z", None),
            ("2021-03-26T10:00Z", None),
            ("2021-03-26T10:00:00", None),
            ("2021-03-26T10:00:60Z", None),
            ("2021-03-26T10:00:00.Z", None),
            ("2021-02-29T10:00:00Z", None),
            ("2021-03-26T10:00:00+0100", None),
            ("20210326T100000Z", None),
            ("now", None),
            ("", None),
            ("2021-03-26T10:00:00é", None),
        ] {
            let found = parse_request_time(text).map(format_time);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn conditions_use_the_wording_of_the_rfc() {
        for (is_source, closed, expected) in [
            (
                false,
                Some("a/b"),
                "Approved=False GateClosed: Reconciliation is waiting approval, gate 'a/b' is closed.",
            ),
            (
                true,
                Some("a/b"),
                "Blocked=True GateClosed: Reconciliation is blocked as gate 'a/b' is closed.",
            ),
            (false, None, "Approved=True GateOpened: Reconciliation may proceed, all gates are opened."),
            (true, None, "Blocked=False GateOpened: Reconciliation may proceed, all gates are opened."),
        ] {
            let Condition { kind, status, reason, message } = condition(is_source, closed);
            assert_eq!(format!("{kind}={status} {reason}: {message}"), expected);
        }
    }

    fn minutes(count: i64) -> Timestamp {
        Timestamp::from_second(count * 60).unwrap()
    }

    prop_compose! {
        fn requests()(entries in prop::collection::vec((0i64..300, any::<bool>()), 0..8)) -> Vec<GateRequest> {
            entries
                .into_iter()
                .map(|(minute, opens)| GateRequest {
                    at: minutes(minute),
                    position: if opens { Position::Opened } else { Position::Closed },
                })
                .collect()
        }
    }

    proptest! {
        #[test]
        fn transitions_equal_sampling(
            requests in requests(),
            window in prop::option::of(-2i64..90),
            opened in any::<bool>(),
        ) {
            let spec = GateSpec {
                default: if opened { Position::Opened } else { Position::Closed },
                window: window.map(|minutes| GoDuration::from_seconds(minutes * 60)),
            };
            let transitions = transitions(spec, &requests);
            let mut sampled = Vec::new();
            let mut position = spec.default;
            for minute in -1..400 {
                let now = state(spec, &requests, minutes(minute)).position;
                if now != position {
                    sampled.push((minutes(minute), now));
                    position = now;
                }
            }
            let computed: Vec<_> = transitions.iter().map(|t| (t.at, t.position)).collect();
            prop_assert_eq!(computed, sampled);
        }

        #[test]
        fn causes_are_the_requests_in_force(
            requests in requests(),
            window in prop::option::of(1i64..90),
        ) {
            let spec = GateSpec {
                default: Position::Closed,
                window: window.map(|minutes| GoDuration::from_seconds(minutes * 60)),
            };
            for transition in transitions(spec, &requests) {
                let (PositionCause::Request(index) | PositionCause::WindowOver(index)) = transition.cause;
                let standing = state(spec, &requests, transition.at).requested_at;
                prop_assert_eq!(standing, Some(requests[index].at));
            }
        }
    }
}
