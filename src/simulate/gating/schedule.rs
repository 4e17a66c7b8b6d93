//! flux-operator's `spec.schedule[]`: when a ResourceSetInputProvider may
//! reconcile.

use jiff::{SignedDuration, Timestamp, Zoned};

use crate::lang::go::cron::{CronError, CronSchedule};
use crate::lang::go::duration::GoDuration;

/// One entry of `spec.schedule[]` as written; the CRD defaults `time_zone` to
/// `UTC` and `window` to `0s`.
#[derive(Debug, Clone, Copy)]
pub struct ScheduleSpec<'a> {
    /// `cron`: five fields or a descriptor, without a zone of its own.
    pub cron: &'a str,
    /// `timeZone`: an IANA name.
    pub time_zone: &'a str,
    /// `window`: for how long after a trigger the provider may reconcile; zero
    /// means always.
    pub window: GoDuration,
}

/// The parsed schedules of one provider. Without any, it may always reconcile.
#[derive(Debug, Clone, Default)]
pub struct Schedules {
    entries: Vec<(CronSchedule, GoDuration)>,
    timeout: GoDuration,
}

/// Why flux-operator stalls a provider with reason `InvalidSchedule`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to validate schedule[{index}]: {fault}")]
pub struct ScheduleError {
    /// The position of the entry.
    pub index: usize,
    /// What is wrong with it.
    pub fault: ScheduleFault,
}

/// What can be wrong with one entry; displays as flux-operator's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleFault {
    /// The window does not hold two reconciliations.
    #[error("a non-zero window ({window}) must always be at least twice the timeout ({timeout})")]
    ShortWindow {
        /// The entry's window.
        window: GoDuration,
        /// The provider's timeout.
        timeout: GoDuration,
    },
    /// The window is below zero.
    #[error("negative window: {0}")]
    NegativeWindow(GoDuration),
    /// The expression or its zone cannot be used.
    #[error(transparent)]
    Cron(#[from] CronError),
}

impl Schedules {
    /// Parses and checks all entries; `timeout` is the provider's reconcile
    /// timeout.
    ///
    /// Mirrors flux-operator `internal/schedule` `NewScheduler`, which stops at
    /// the first faulty entry and checks its window before its expression.
    pub fn new(specs: &[ScheduleSpec<'_>], timeout: GoDuration) -> Result<Self, ScheduleError> {
        let mut entries = Vec::with_capacity(specs.len());
        for (index, spec) in specs.iter().enumerate() {
            let cron = check(spec, timeout).map_err(|fault| ScheduleError { index, fault })?;
            entries.push((cron, spec.window));
        }
        Ok(Schedules { entries, timeout })
    }

    /// Whether the provider may reconcile at a time: in any entry's window, with
    /// the timeout left until it ends.
    ///
    /// Mirrors `Scheduler.ShouldReconcile`. The windows of an `@every` entry are
    /// always open, as upstream takes a time ahead for its last trigger.
    pub fn allow(&self, at: &Zoned) -> bool {
        self.entries.is_empty()
            || self
                .entries
                .iter()
                .any(|(cron, window)| *window == GoDuration::ZERO || self.in_window(cron, *window, at))
    }

    /// Whether the provider's interval counts at a time: entries without a
    /// window reconcile at their triggers only.
    ///
    /// Mirrors `Scheduler.ShouldScheduleInterval`.
    pub fn allow_interval(&self, at: &Zoned) -> bool {
        self.entries.is_empty()
            || self
                .entries
                .iter()
                .any(|(cron, window)| *window != GoDuration::ZERO && self.in_window(cron, *window, at))
    }

    /// The next trigger of any entry; none if one of them never triggers, as
    /// upstream then takes the zero time for the earliest.
    ///
    /// Mirrors `Scheduler.Next`.
    pub fn next(&self, after: &Zoned) -> Option<Zoned> {
        let triggers: Option<Vec<Zoned>> = self.entries.iter().map(|(cron, _)| cron.next(after)).collect();
        triggers?.into_iter().min()
    }

    /// When the provider may reconcile between two times: spans that include
    /// their start and exclude their end, in order, apart from each other. None
    /// if there are too many triggers to list.
    pub fn openings(&self, from: Timestamp, to: Timestamp) -> Option<Vec<(Timestamp, Timestamp)>> {
        let always =
            |(cron, window): &(CronSchedule, GoDuration)| *window == GoDuration::ZERO || cron.is_every();
        if self.entries.is_empty() || self.entries.iter().any(always) {
            return Some(vec![(from, to)]);
        }
        let mut spans = Vec::new();
        for (cron, window) in &self.entries {
            let usable = window.nanoseconds() - self.timeout.nanoseconds();
            let usable = SignedDuration::from_nanos(usable);
            let since = from.checked_sub(usable).unwrap_or(Timestamp::MIN);
            for trigger in cron.triggers(since, to)? {
                let start = trigger.max(from);
                let end = trigger.checked_add(usable).unwrap_or(Timestamp::MAX).min(to);
                if start < end {
                    spans.push((start, end));
                }
            }
        }
        spans.sort();
        let mut merged: Vec<(Timestamp, Timestamp)> = Vec::new();
        for (start, end) in spans {
            match merged.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        Some(merged)
    }

    fn in_window(&self, cron: &CronSchedule, window: GoDuration, at: &Zoned) -> bool {
        if cron.is_every() {
            return true;
        }
        let Some(trigger) = cron.previous(at) else {
            return false;
        };
        let nanoseconds = |duration: GoDuration| SignedDuration::from_nanos(duration.nanoseconds());
        at.duration_since(&trigger) + nanoseconds(self.timeout) < nanoseconds(window)
    }
}

fn check(spec: &ScheduleSpec<'_>, timeout: GoDuration) -> Result<CronSchedule, ScheduleFault> {
    let window = spec.window;
    if window < GoDuration::ZERO {
        return Err(ScheduleFault::NegativeWindow(window));
    }
    let twice = timeout.nanoseconds().saturating_mul(2);
    if window != GoDuration::ZERO && window.nanoseconds() < twice {
        return Err(ScheduleFault::ShortWindow { window, timeout });
    }
    Ok(CronSchedule::parse_in(spec.cron, spec.time_zone)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    fn schedules(entries: &[(&str, &str)]) -> Result<Schedules, ScheduleError> {
        let specs: Vec<ScheduleSpec<'_>> = entries
            .iter()
            .map(|&(cron, window)| ScheduleSpec {
                cron,
                time_zone: "Europe/Berlin",
                window: GoDuration::parse(window).unwrap(),
            })
            .collect();
        Schedules::new(&specs, GoDuration::from_seconds(300))
    }

    #[test]
    fn opens_in_windows_only() {
        let office = schedules(&[("0 9 * * mon-fri", "8h"), ("0 21 * * *", "1h")]).unwrap();
        for (at, allowed) in [
            ("2026-11-20T08:59:59+01:00[Europe/Berlin]", false),
            ("2026-11-20T09:00:00+01:00[Europe/Berlin]", true),
            // The timeout must fit before the window ends.
            ("2026-11-20T16:54:59+01:00[Europe/Berlin]", true),
            ("2026-11-20T16:55:00+01:00[Europe/Berlin]", false),
            ("2026-11-20T21:30:00+01:00[Europe/Berlin]", true),
            ("2026-11-21T09:30:00+01:00[Europe/Berlin]", false),
        ] {
            assert_eq!(office.allow(&at.parse().unwrap()), allowed, "{at}");
        }
    }

    #[test]
    fn no_window_is_always_open() {
        let nightly = schedules(&[("0 2 * * *", "0s")]).unwrap();
        let noon: Zoned = "2026-11-20T12:00:00[UTC]".parse().unwrap();
        assert!(nightly.allow(&noon));
        assert!(!nightly.allow_interval(&noon));
        assert_eq!(nightly.next(&noon).unwrap().timestamp().to_string(), "2026-11-21T01:00:00Z");
    }

    #[test]
    fn openings_equal_sampling() {
        // Three days around the change to summer time, every seven minutes.
        let time = |count: i64| Timestamp::from_second(1_774_652_400 + count * 420).unwrap();
        for entries in [
            vec![("0 9 * * mon-fri", "8h"), ("30 2 * * *", "1h")],
            vec![("*/20 * * * *", "10m")],
            vec![("*/5 * * * *", "1h")],
            vec![("0 9 * * *", "0s")],
        ] {
            let schedules = schedules(&entries).unwrap();
            let openings = schedules.openings(time(0), time(600)).unwrap();
            for at in (0..600).map(time) {
                let inside = openings.iter().any(|&(start, end)| start <= at && at < end);
                assert_eq!(inside, schedules.allow(&at.to_zoned(TimeZone::UTC)), "{entries:?} at {at}");
            }
        }
    }

    #[test]
    fn names_the_faulty_entry() {
        for (entries, error) in [
            (
                vec![("0 2 * * *", "0s"), ("0 3 * * *", "9m")],
                "failed to validate schedule[1]: a non-zero window (9m0s) must always be at \
                 least twice the timeout (5m0s)",
            ),
            (
                vec![("TZ=UTC 0 2 * * *", "1h")],
                "failed to validate schedule[0]: failed to parse cron spec 'TZ=UTC 0 2 * * *' \
                 with timezone 'Europe/Berlin': expected exactly 5 fields, found 6: [TZ=UTC 0 2 * * *]",
            ),
        ] {
            assert_eq!(schedules(&entries).unwrap_err().to_string(), error);
        }
    }
}
