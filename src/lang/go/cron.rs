//! Cron expressions as robfig's standard parser reads them, and their triggers.
//!
//! Kubernetes CronJobs and flux-operator's schedules both use that parser: five
//! fields (minute, hour, day of month, month, day of week), descriptors such as
//! `@daily` and `@every 1h`, and a zone in front of them (`CRON_TZ=Europe/Paris`).
//! There are no seconds, no `L`, `W` and `#`, and no `7` for Sunday.

use std::fmt::Write as _;

use jiff::civil::{DateTime, Time};
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Span, Timestamp, Zoned};

use crate::lang::go::duration::GoDuration;

/// Marks a field that was written as `*` or `?`, without a step above 1. It
/// decides how days of the month and of the week combine.
const STAR: u64 = 1 << 63;
/// Years after which a search gives up: the schedule never triggers.
const SEARCH_YEARS: i16 = 5;
/// More triggers than these in one range are not listed.
const MAX_TRIGGERS: usize = 50_000;

/// A parsed cron expression.
#[derive(Debug, Clone)]
pub struct CronSchedule {
    triggers: Triggers,
    /// The expression's own zone; without one it follows the clock it is given.
    zone: Option<TimeZone>,
}

#[derive(Debug, Clone)]
enum Triggers {
    /// Bit `n` of a field is set if the value `n` matches.
    Fields { minute: u64, hour: u64, day_of_month: u64, month: u64, day_of_week: u64 },
    /// Seconds between two triggers, counted from whatever time is asked about.
    Every { seconds: i64 },
}

/// Why a cron expression cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// The parser refuses it; the text is upstream's.
    #[error("{0}")]
    Malformed(String),
    /// The zone is no IANA name, but the controller's file system may have it.
    #[error("whether the controller knows the time zone {0} is not known here")]
    UnknownZone(String),
}

fn malformed<T>(message: String) -> Result<T, CronError> {
    Err(CronError::Malformed(message))
}

impl CronSchedule {
    /// Parses an expression, with a zone in front if it has one.
    ///
    /// Mirrors robfig/cron v3 `ParseStandard`, its error texts included. A zone
    /// with no expression behind it, on which upstream panics, is malformed.
    pub fn parse(expression: &str) -> Result<Self, CronError> {
        if expression.is_empty() {
            return malformed("empty spec string".into());
        }
        let zoned = expression.strip_prefix("TZ=").or_else(|| expression.strip_prefix("CRON_TZ="));
        let Some(rest) = zoned else {
            return Ok(CronSchedule { triggers: Triggers::parse(expression)?, zone: None });
        };
        let Some((zone, rest)) = rest.split_once(' ') else {
            return malformed(format!("no expression after {expression}"));
        };
        let zone = load_zone(zone).map_err(|error| match error {
            CronError::Malformed(why) => CronError::Malformed(format!("provided bad location {zone}: {why}")),
            unknown => unknown,
        })?;
        Ok(CronSchedule { triggers: Triggers::parse(rest.trim())?, zone })
    }

    /// Parses an expression with its zone in a field of its own, where the
    /// expression may not name another. An empty zone means none.
    ///
    /// Mirrors flux-operator `internal/schedule` `Parse`.
    pub fn parse_in(expression: &str, zone: &str) -> Result<Self, CronError> {
        let (whole, place) = if zone.is_empty() {
            (expression.to_string(), String::new())
        } else {
            (format!("CRON_TZ={zone} {expression}"), format!(" with timezone '{zone}'"))
        };
        CronSchedule::parse(&whole).map_err(|error| match error {
            CronError::Malformed(why) => {
                CronError::Malformed(format!("failed to parse cron spec '{expression}'{place}: {why}"))
            }
            unknown => unknown,
        })
    }

    /// The zone that the expression names, if it names one.
    pub fn zone(&self) -> Option<&TimeZone> {
        self.zone.as_ref()
    }

    /// Whether the triggers have no fixed times but follow the last one at a
    /// distance: `@every`.
    pub fn is_every(&self) -> bool {
        matches!(self.triggers, Triggers::Every { .. })
    }

    /// The first trigger after a time, in that time's zone. None if there is
    /// none within five years (30 February).
    ///
    /// Mirrors robfig/cron v3 `SpecSchedule.Next` and `ConstantDelaySchedule.Next`:
    /// a trigger inside the hour that spring skips is left out that day, one in
    /// the hour that autumn repeats fires twice.
    pub fn next(&self, after: &Zoned) -> Option<Zoned> {
        let zone = self.zone.as_ref().unwrap_or(after.time_zone());
        let from = after.timestamp().as_second();
        let found = match self.triggers {
            Triggers::Every { seconds } => Timestamp::from_second(from.checked_add(seconds)?).ok(),
            Triggers::Fields { minute, hour, day_of_month, month, day_of_week } => {
                Search { zone, minute, hour, day_of_month, month, day_of_week }
                    .first_from(Timestamp::from_second(from.checked_add(1)?).ok()?)
            }
        }?;
        Some(found.to_zoned(after.time_zone().clone()))
    }

    /// All triggers from one time to another, both included, of a schedule that
    /// names its zone or follows UTC. None if there are too many to list, or if
    /// the schedule is an `@every` one, whose triggers only the cluster knows.
    pub fn triggers(&self, from: Timestamp, to: Timestamp) -> Option<Vec<Timestamp>> {
        if self.is_every() {
            return None;
        }
        let mut found = Vec::new();
        let before = from.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(from);
        let mut at = before.to_zoned(TimeZone::UTC);
        while let Some(next) = self.next(&at) {
            if next.timestamp() > to {
                break;
            }
            if found.len() == MAX_TRIGGERS {
                return None;
            }
            found.push(next.timestamp());
            at = next;
        }
        Some(found)
    }

    /// The last trigger at or before a time, if one lies within the five years
    /// before it. An `@every` schedule has no past triggers.
    ///
    /// Agrees with flux-operator `internal/schedule` `GetPrevAndNextTriggers`,
    /// except for `@every`, where upstream finds times that lie ahead.
    pub fn previous(&self, at: &Zoned) -> Option<Zoned> {
        if self.is_every() {
            return None;
        }
        let next = self.next(at)?;
        let zone = at.time_zone();
        let mut high = at.timestamp().as_second();
        let mut low = high - i64::from(SEARCH_YEARS) * 365 * 86_400;
        let mut found = None;
        while low <= high {
            let middle = low + (high - low) / 2;
            let trigger = self.next(&Timestamp::from_second(middle).ok()?.to_zoned(zone.clone()))?;
            if trigger < next {
                low = trigger.timestamp().as_second();
                found = Some(trigger);
            } else {
                high = middle - 1;
            }
        }
        found
    }
}

impl Triggers {
    fn parse(expression: &str) -> Result<Self, CronError> {
        if expression.starts_with('@') {
            return Triggers::parse_descriptor(expression);
        }
        let fields: Vec<&str> = expression.split_whitespace().collect();
        let &[minute, hour, day_of_month, month, day_of_week] = &*fields else {
            return malformed(format!(
                "expected exactly 5 fields, found {}: [{}]",
                fields.len(),
                fields.join(" ")
            ));
        };
        Ok(Triggers::Fields {
            minute: parse_field(minute, &MINUTES)?,
            hour: parse_field(hour, &HOURS)?,
            day_of_month: parse_field(day_of_month, &DAYS_OF_MONTH)?,
            month: parse_field(month, &MONTHS)?,
            day_of_week: parse_field(day_of_week, &DAYS_OF_WEEK)?,
        })
    }

    fn parse_descriptor(descriptor: &str) -> Result<Self, CronError> {
        let fields = match descriptor {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            _ => {
                let Some(every) = descriptor.strip_prefix("@every ") else {
                    return malformed(format!("unrecognized descriptor: {descriptor}"));
                };
                return match GoDuration::parse(every) {
                    Ok(every) => {
                        Ok(Triggers::Every { seconds: (every.nanoseconds() / 1_000_000_000).max(1) })
                    }
                    Err(error) => malformed(format!("failed to parse duration {descriptor}: {error}")),
                };
            }
        };
        Triggers::parse(fields)
    }
}

/// The values that a field takes, and the names of some of them.
struct Bounds {
    min: u64,
    max: u64,
    /// The name at index `n` stands for the value `min + n`.
    names: &'static [&'static str],
}

const MINUTES: Bounds = bounds(0, 59, &[]);
const HOURS: Bounds = bounds(0, 23, &[]);
const DAYS_OF_MONTH: Bounds = bounds(1, 31, &[]);
const MONTHS: Bounds =
    bounds(1, 12, &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]);
const DAYS_OF_WEEK: Bounds = bounds(0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]);

const fn bounds(min: u64, max: u64, names: &'static [&'static str]) -> Bounds {
    Bounds { min, max, names }
}

/// A field as bits: ranges with optional steps, joined by commas. Empty items
/// are skipped, so a lone comma matches nothing.
fn parse_field(field: &str, bounds: &Bounds) -> Result<u64, CronError> {
    field
        .split(',')
        .filter(|item| !item.is_empty())
        .try_fold(0, |bits, item| Ok(bits | parse_range(item, bounds)?))
}

/// `number | number "-" number [ "/" number ]`, as robfig's `getRange`.
fn parse_range(item: &str, bounds: &Bounds) -> Result<u64, CronError> {
    let mut parts = item.split('/');
    let range = parts.next().unwrap_or_default();
    let (step, more_steps) = (parts.next(), parts.next());
    let mut ends = range.split('-');
    let first = ends.next().unwrap_or_default();
    let (second, more_ends) = (ends.next(), ends.next());

    let mut star = 0;
    let (start, mut end);
    if matches!(first, "*" | "?") {
        (start, end) = (bounds.min, bounds.max);
        star = STAR;
    } else {
        start = parse_value(first, bounds)?;
        end = match (second, more_ends) {
            (None, _) => start,
            (Some(second), None) => parse_value(second, bounds)?,
            _ => return malformed(format!("too many hyphens: {item}")),
        };
    }
    let step = match (step, more_steps) {
        (None, _) => 1,
        (Some(step), None) => {
            let step = parse_number(step)?;
            if second.is_none() {
                end = bounds.max;
            }
            if step > 1 {
                star = 0;
            }
            step
        }
        _ => return malformed(format!("too many slashes: {item}")),
    };
    if start < bounds.min {
        return malformed(format!("beginning of range ({start}) below minimum ({}): {item}", bounds.min));
    }
    if end > bounds.max {
        return malformed(format!("end of range ({end}) above maximum ({}): {item}", bounds.max));
    }
    if start > end {
        return malformed(format!("beginning of range ({start}) beyond end of range ({end}): {item}"));
    }
    if step == 0 {
        return malformed(format!("step of range should be a positive number: {item}"));
    }
    let step = usize::try_from(step).unwrap_or(usize::MAX);
    Ok((start..=end).step_by(step).fold(star, |bits, value| bits | 1 << value))
}

fn parse_value(text: &str, bounds: &Bounds) -> Result<u64, CronError> {
    let name = text.to_lowercase();
    match bounds.names.iter().position(|known| *known == name) {
        Some(position) => Ok(bounds.min + position as u64),
        None => parse_number(text),
    }
}

/// Go's `strconv.Atoi`, without negative numbers.
fn parse_number(text: &str) -> Result<u64, CronError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let why = if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        "invalid syntax"
    } else {
        match text.parse::<i64>() {
            Ok(number) => {
                return u64::try_from(number)
                    .or_else(|_| malformed(format!("negative number ({number}) not allowed: {text}")));
            }
            Err(_) => "value out of range",
        }
    };
    malformed(format!("failed to parse int from {text}: strconv.Atoi: parsing {}: {why}", go_quote(text)))
}

/// Go's `strconv.Quote`, for the texts that fields hold.
fn go_quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\x{:02x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Finds a time zone as Go's `time.LoadLocation` does in a controller's
/// container: by its exact IANA name. `Local` is no zone: robfig takes it for
/// that of the clock it is given.
fn load_zone(name: &str) -> Result<Option<TimeZone>, CronError> {
    match name {
        "" | "UTC" => return Ok(Some(TimeZone::UTC)),
        "Local" => return Ok(None),
        _ => {}
    }
    if name.starts_with(['/', '\\']) || name.split(['/', '\\']).any(|part| part == "..") {
        return malformed("time: invalid location name".into());
    }
    // The bundled database, so that the answer is the same on every machine.
    match TimeZoneDatabase::bundled().get(name) {
        Ok(zone) if zone.iana_name() == Some(name) => return Ok(Some(zone)),
        _ => {}
    }
    let only_a_file = name.starts_with("posix/")
        || name.starts_with("right/")
        || name == "posixrules"
        || name.contains("//");
    if only_a_file {
        return Err(CronError::UnknownZone(name.to_string()));
    }
    malformed(format!("unknown time zone {name}"))
}

/// The search for a trigger, field by field, in one zone.
struct Search<'z> {
    zone: &'z TimeZone,
    minute: u64,
    hour: u64,
    day_of_month: u64,
    month: u64,
    day_of_week: u64,
}

impl Search<'_> {
    /// The first trigger at or after a whole second.
    fn first_from(&self, from: Timestamp) -> Option<Timestamp> {
        if self.minute == 0 {
            return None;
        }
        let mut at = from;
        // Until a field was advanced, the smaller fields keep their values.
        let mut advanced = false;
        let last_year = self.wall(at).year().checked_add(SEARCH_YEARS)?;
        'wrap: loop {
            if self.wall(at).year() > last_year {
                return None;
            }
            while !has(self.month, self.wall(at).month()) {
                if !advanced {
                    advanced = true;
                    let first = self.wall(at).date().first_of_month();
                    at = self.instant(first.to_datetime(Time::midnight()))?;
                }
                at = self.instant(self.wall(at).checked_add(Span::new().months(1)).ok()?)?;
                if self.wall(at).month() == 1 {
                    continue 'wrap;
                }
            }
            while !self.is_day(self.wall(at)) {
                if !advanced {
                    advanced = true;
                    at = self.instant(self.wall(at).date().to_datetime(Time::midnight()))?;
                }
                let next =
                    self.to_midnight(self.instant(self.wall(at).checked_add(Span::new().days(1)).ok()?)?)?;
                // A zone that skips a whole day sends upstream round for ever.
                if next <= at {
                    return None;
                }
                at = next;
                if self.wall(at).day() == 1 {
                    continue 'wrap;
                }
            }
            while !has(self.hour, self.wall(at).hour()) {
                if !advanced {
                    advanced = true;
                    let hour = self.wall(at).hour();
                    at = self.instant(self.wall(at).date().at(hour, 0, 0, 0))?;
                }
                at = at.checked_add(SignedDuration::from_hours(1)).ok()?;
                if self.wall(at).hour() == 0 {
                    continue 'wrap;
                }
            }
            while !has(self.minute, self.wall(at).minute()) {
                if !advanced {
                    advanced = true;
                    at = start_of_minute(at)?;
                }
                at = at.checked_add(SignedDuration::from_mins(1)).ok()?;
                if self.wall(at).minute() == 0 {
                    continue 'wrap;
                }
            }
            // The seconds field is a constant 0.
            while self.wall(at).second() != 0 {
                at = at.checked_add(SignedDuration::from_secs(1)).ok()?;
                advanced = true;
                if self.wall(at).second() == 0 {
                    continue 'wrap;
                }
            }
            return Some(at);
        }
    }

    /// A day must match both fields if one of them is a star, else either.
    fn is_day(&self, wall: DateTime) -> bool {
        let in_month = has(self.day_of_month, wall.day());
        let in_week = has(self.day_of_week, wall.weekday().to_sunday_zero_offset());
        if (self.day_of_month | self.day_of_week) & STAR != 0 {
            in_month && in_week
        } else {
            in_month || in_week
        }
    }

    /// Moves to the nearest midnight where a change of the clock came between.
    fn to_midnight(&self, at: Timestamp) -> Option<Timestamp> {
        let hour = i64::from(self.wall(at).hour());
        let hours = if hour > 12 { 24 - hour } else { -hour };
        at.checked_add(SignedDuration::from_hours(hours)).ok()
    }

    fn wall(&self, at: Timestamp) -> DateTime {
        self.zone.to_datetime(at)
    }

    /// The instant that Go's `time.Date` picks for a wall-clock time which the
    /// zone skips or repeats: it looks up the offset twice, first as if the
    /// wall clock showed UTC.
    fn instant(&self, wall: DateTime) -> Option<Timestamp> {
        let as_utc = Offset::UTC.to_timestamp(wall).ok()?;
        let first = self.zone.to_offset(as_utc);
        let offset =
            if first == Offset::UTC { first } else { self.zone.to_offset(first.to_timestamp(wall).ok()?) };
        offset.to_timestamp(wall).ok()
    }
}

fn has(bits: u64, value: i8) -> bool {
    bits & (1 << value) != 0
}

fn start_of_minute(at: Timestamp) -> Option<Timestamp> {
    Timestamp::from_second(at.as_second().div_euclid(60) * 60).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(expression: &str, after: &str) -> Option<String> {
        let after: Zoned = after.parse().unwrap();
        let schedule = CronSchedule::parse(expression).unwrap();
        schedule.next(&after).map(|next| next.timestamp().to_string())
    }

    #[test]
    fn finds_the_next_trigger() {
        for (expression, after, expected) in [
            ("0 9 * * mon-fri", "2026-11-20T09:00:00[UTC]", Some("2026-11-23T09:00:00Z")),
            // Skipped in spring, twice in autumn.
            ("30 2 * * *", "2026-03-28T12:00:00[Europe/Berlin]", Some("2026-03-30T00:30:00Z")),
            ("30 2 * * *", "2026-10-24T12:00:00[Europe/Berlin]", Some("2026-10-25T00:30:00Z")),
            ("30 2 * * *", "2026-10-25T00:30:00Z[Europe/Berlin]", Some("2026-10-25T01:30:00Z")),
            // Two day fields widen each other, unless one has a star.
            ("0 0 13 * 5", "2026-11-01T00:00:00[UTC]", Some("2026-11-06T00:00:00Z")),
            ("0 0 */2 * 1", "2026-11-01T00:00:00[UTC]", Some("2026-11-02T00:00:00Z")),
            ("0 0 29 2 *", "2026-01-01T00:00:00[UTC]", Some("2028-02-29T00:00:00Z")),
            ("0 0 30 2 *", "2026-01-01T00:00:00[UTC]", None),
            (", * * * *", "2026-01-01T00:00:00[UTC]", None),
            ("@every 90m", "2026-01-01T00:00:30.5[UTC]", Some("2026-01-01T01:30:30Z")),
            ("TZ=Asia/Kolkata 0 0 * * *", "2026-01-01T00:00:00[UTC]", Some("2026-01-01T18:30:00Z")),
        ] {
            assert_eq!(next(expression, after).as_deref(), expected, "{expression}");
        }
    }

    #[test]
    fn a_skipped_day_ends_the_search() {
        assert_eq!(next("0 0 31 12 *", "2011-12-29T01:00:00[Pacific/Apia]"), None);
    }

    #[test]
    fn finds_the_previous_trigger() {
        for (expression, at, expected) in [
            ("0 9 * * *", "2026-11-20T09:00:00[UTC]", Some("2026-11-20T09:00:00Z")),
            ("0 9 * * *", "2026-11-20T08:59:59.9[UTC]", Some("2026-11-19T09:00:00Z")),
            ("0 0 29 2 *", "2026-01-01T00:00:00[UTC]", Some("2024-02-29T00:00:00Z")),
            ("0 0 30 2 *", "2026-01-01T00:00:00[UTC]", None),
        ] {
            let at: Zoned = at.parse().unwrap();
            let found = CronSchedule::parse(expression).unwrap().previous(&at);
            let found = found.map(|found| found.timestamp().to_string());
            assert_eq!(found.as_deref(), expected, "{expression}");
        }
    }

    #[test]
    fn refuses_with_upstreams_words() {
        for (expression, error) in [
            ("0 0 * * 7", "end of range (7) above maximum (6): 7"),
            ("0 0 0 * * *", "expected exactly 5 fields, found 6: [0 0 0 * * *]"),
            ("@every 1d", r#"failed to parse duration @every 1d: time: unknown unit "d" in duration "1d""#),
            ("TZ=utc 0 0 * * *", "provided bad location utc: unknown time zone utc"),
            ("TZ=UTC", "no expression after TZ=UTC"),
        ] {
            assert_eq!(CronSchedule::parse(expression).unwrap_err(), CronError::Malformed(error.into()));
        }
        assert_eq!(
            CronSchedule::parse("TZ=right/UTC 0 0 * * *").unwrap_err(),
            CronError::UnknownZone("right/UTC".into())
        );
    }
}
