//! Tests of the module.

use super::*;
use proptest::prelude::*;

fn minute(count: i64) -> Timestamp {
    Timestamp::from_second(count * 60).expect("a small number of seconds")
}

fn state(number: u8) -> PassState {
    [PassState::Opened, PassState::Closed, PassState::Unknown][usize::from(number % 3)]
}

prop_compose! {
    fn timeline()(first in 0u8..3, steps in prop::collection::btree_map(1i64..50, 0u8..3, 0..8)) -> Timeline {
        let mut timeline = Timeline::constant(state(first));
        for (at, number) in steps {
            let cause = String::new();
            timeline.push(StateChange { at: minute(at), state: state(number), cause, location: None });
        }
        timeline
    }
}

proptest! {
    #[test]
    fn a_consumer_is_opened_when_all_its_gates_are(a in timeline(), b in timeline()) {
        let both = a.and(&b);
        for count in 0..60 {
            let (a, b) = (a.at(minute(count)), b.at(minute(count)));
            prop_assert_eq!(both.at(minute(count)), a.and(b));
        }
        let mut last = both.first;
        for change in &both.changes {
            prop_assert_ne!(change.state, last);
            last = change.state;
        }
    }

    #[test]
    fn intervals_cover_the_range_without_gaps(timeline in timeline()) {
        let range = Range { from: minute(0), to: minute(60) };
        let intervals = timeline.intervals(range);
        prop_assert_eq!(intervals[0].0, range.from);
        for pair in intervals.windows(2) {
            prop_assert_eq!(pair[0].1, Some(pair[1].0));
        }
        prop_assert_eq!(intervals[intervals.len() - 1].1, None);
    }
}

#[test]
fn durations_are_written_short() {
    for (text, expected) in [
        ("1h", "1h"),
        ("90m", "1h30m"),
        ("10m", "10m"),
        ("45s", "45s"),
        ("1h0m5s", "1h0m5s"),
        ("0s", "0s"),
        ("24h", "24h"),
    ] {
        assert_eq!(short(GoDuration::parse(text).unwrap()), expected);
    }
}
