//! Durations, regular expressions and cron expressions against the recorded
//! outputs of the Go libraries that the controllers use.

use crate::support::recordings;
use forebay::internals::lang::go::cron::{CronError, CronSchedule};
use forebay::internals::lang::go::duration::{GoDuration, matches_interval_pattern, matches_timeout_pattern};
use forebay::internals::lang::go::regexp::{GoRegexp, RegexpError};
use forebay::internals::simulate::gating::commands::{Container, actions};
use forebay::internals::simulate::gating::parse_request_time;
use forebay::internals::simulate::gating::schedule::{ScheduleSpec, Schedules};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use proptest::prelude::*;
use serde_json::Value;

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().unwrap()
}

#[test]
fn durations_agree_with_go() {
    let recorded = recordings::json("go-duration.json");
    for case in list(&recorded, "cases") {
        let input = case["input"].as_str().unwrap();
        match GoDuration::parse(input) {
            Ok(duration) => {
                assert_eq!(case["error"], Value::Null, "{input:?}");
                assert_eq!(
                    Some(&*duration.nanoseconds().to_string()),
                    case["nanoseconds"].as_str(),
                    "{input:?}"
                );
                assert_eq!(Some(&*duration.to_string()), case["string"].as_str(), "{input:?}");
            }
            Err(error) => assert_eq!(Some(&*error.to_string()), case["error"].as_str()),
        }
        let pattern = &case["crd_pattern"];
        assert_eq!(Some(matches_interval_pattern(input)), pattern["ms_s_m_h"].as_bool(), "{input:?}");
        assert_eq!(Some(matches_timeout_pattern(input)), pattern["ms_s_m"].as_bool(), "{input:?}");
    }
    for case in list(&recorded, "to_string") {
        let nanoseconds = case["nanoseconds"].as_str().unwrap().parse().unwrap();
        assert_eq!(Some(&*GoDuration::from_nanoseconds(nanoseconds).to_string()), case["string"].as_str());
    }
}

/// A recorded pattern; long ones are recorded as a Python expression of
/// repetitions, `"(" * 9 + "a"`.
fn pattern_of(case: &Value) -> String {
    if let Some(pattern) = case["pattern"].as_str() {
        return pattern.to_string();
    }
    let generator = case["pattern_generator"].as_str().unwrap();
    generator
        .split(" + ")
        .map(|piece| {
            let (quoted, times) = piece.rsplit_once('*').unwrap_or((piece, "1"));
            let literal: String = serde_json::from_str(quoted.trim()).unwrap();
            literal.repeat(times.trim().parse().unwrap())
        })
        .collect()
}

#[test]
fn regular_expressions_agree_with_go() {
    let recorded = recordings::json("go-regexp.json");
    let samples = list(&recorded, "samples");
    let mut unknown = Vec::new();
    for case in list(&recorded, "cases") {
        let pattern = pattern_of(case);
        match GoRegexp::new(&pattern) {
            Ok(regexp) => {
                assert_eq!(case["error"], Value::Null, "{pattern}");
                let Some(matches) = case["matches"].as_array() else {
                    continue;
                };
                for (sample, expected) in samples.iter().zip(matches) {
                    let sample = sample.as_str().unwrap();
                    assert_eq!(regexp.is_match(sample), !expected.is_null(), "{pattern} on {sample:?}");
                }
            }
            Err(RegexpError::Rejected(error)) => {
                let expected = case["error"].as_str().unwrap_or_default();
                let expected = expected.strip_suffix("...").unwrap_or(expected);
                assert!(
                    !expected.is_empty() && error.starts_with(expected),
                    "{pattern}: {error} instead of {expected}"
                );
            }
            Err(RegexpError::Unknown(_)) => unknown.push(pattern),
        }
    }
    // Only programs above the size limit.
    assert_eq!(unknown.len(), 3, "{unknown:?}");
}

/// An instant in a zone, as the recordings write it: `2026-01-01T00:00:00+01:00`.
fn instant(text: &str, zone: &TimeZone) -> Zoned {
    text.parse::<Timestamp>().unwrap().to_zoned(zone.clone())
}

fn follow(schedule: &CronSchedule, from: &Zoned, count: usize) -> Vec<String> {
    let mut at = from.clone();
    let mut found = Vec::new();
    while found.len() < count {
        match schedule.next(&at) {
            None => {
                found.push("never".to_string());
                break;
            }
            Some(next) => {
                found.push(next.timestamp().to_string());
                at = next;
            }
        }
    }
    found
}

/// Recorded times, which carry the zone's offset, as UTC.
fn in_utc(times: &Value) -> Vec<String> {
    let times = times.as_array().unwrap().iter();
    times
        .map(|time| match time.as_str().unwrap() {
            "never" => "never".to_string(),
            time => time.parse::<Timestamp>().unwrap().to_string(),
        })
        .collect()
}

#[test]
fn cron_expressions_agree_with_robfig() {
    let recorded = recordings::json("robfig-cron.json");
    for case in list(&recorded, "cases") {
        let expression = case["expr"].as_str().unwrap();
        match CronSchedule::parse(expression) {
            Err(CronError::Malformed(_)) if !case["panic"].is_null() => {}
            Err(error) => {
                assert_eq!(Some(&*error.to_string()), case["error"].as_str());
            }
            Ok(schedule) => {
                for run in list(case, "next") {
                    let zone = TimeZone::get(run["tz"].as_str().unwrap()).unwrap();
                    // The recorder's local zone was UTC itself, which robfig
                    // takes for no zone at all.
                    if schedule.zone() == Some(&TimeZone::UTC) && zone != TimeZone::UTC {
                        continue;
                    }
                    let from = instant(run["from"].as_str().unwrap(), &zone);
                    let expected = in_utc(&run["next"]);
                    assert_eq!(
                        follow(&schedule, &from, expected.len()),
                        expected,
                        "{expression} from {from}"
                    );
                }
            }
        }
        for (zone, expected) in case["flux_operator_Parse"].as_object().unwrap() {
            let zone = zone.strip_prefix("timeZone=").unwrap();
            match CronSchedule::parse_in(expression, zone) {
                Err(CronError::Malformed(_)) if !expected["panic"].is_null() => {}
                Err(error) => assert_eq!(Some(&*error.to_string()), expected["error"].as_str()),
                Ok(schedule) => {
                    assert_eq!(expected["ok"], Value::Bool(true), "{expression} in {zone}");
                    let times = &expected["next_from_2026-03-28T12:00:00Z"];
                    if !times.is_null() {
                        let from = instant("2026-03-28T12:00:00Z", &TimeZone::UTC);
                        let times = in_utc(times);
                        assert_eq!(follow(&schedule, &from, times.len()), times);
                    }
                }
            }
        }
    }
}

#[test]
fn time_zones_agree_with_go() {
    let recorded = recordings::json("robfig-cron.json");
    for case in list(&recorded, "timezone_cases") {
        let zone = case["timeZone"].as_str().unwrap();
        match CronSchedule::parse_in("0 2 * * *", zone) {
            Ok(_) => assert_eq!(case["ok"], Value::Bool(true), "{zone}"),
            Err(CronError::UnknownZone(_)) => assert_eq!(case["ok"], Value::Bool(true), "{zone}"),
            Err(CronError::Malformed(error)) => {
                let expected = case["error"].as_str().unwrap();
                // Directories of the zone database are called so only on disk.
                assert!(error == expected || expected.ends_with(" directory"), "{error}");
            }
        }
    }
}

#[test]
fn schedules_agree_with_flux_operator() {
    let recorded = recordings::json("robfig-cron.json");
    for case in list(&recorded, "scheduler_cases") {
        let name = case["name"].as_str().unwrap();
        let duration = |value: &Value| GoDuration::parse(value.as_str().unwrap()).unwrap();
        let specs: Vec<ScheduleSpec<'_>> = case["schedules"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|entry| ScheduleSpec {
                cron: entry["cron"].as_str().unwrap(),
                time_zone: entry["timeZone"].as_str().unwrap(),
                window: duration(&entry["window"]),
            })
            .collect();
        let schedules = match Schedules::new(&specs, duration(&case["timeout"])) {
            Ok(schedules) => schedules,
            Err(error) => {
                assert_eq!(Some(&*error.to_string()), case["error"].as_str(), "{name}");
                continue;
            }
        };
        for result in list(case, "results") {
            let now = result["now"].as_str().unwrap();
            let now = match now.parse::<Timestamp>() {
                // A fixed offset stands for the zone that `now` is in.
                Ok(at) => at.to_zoned(offset_of(now)),
                Err(error) => panic!("{name}: {error}"),
            };
            let at = format!("{name} at {now}");
            assert_eq!(Some(schedules.allow(&now)), result["ShouldReconcile"].as_bool(), "{at}");
            assert_eq!(
                Some(schedules.allow_interval(&now)),
                result["ShouldScheduleInterval"].as_bool(),
                "{at}"
            );
            if let Some(next) = result["next"].as_str() {
                let found = schedules.next(&now).map(|next| next.timestamp());
                assert_eq!(found, next.parse().ok(), "{at}");
            }
            if let (Some(previous), Some(first)) = (result["prev_of_first"].as_str(), specs.first())
                && !first.cron.starts_with("@every")
            {
                let cron = CronSchedule::parse_in(first.cron, first.time_zone).unwrap();
                let found = cron.previous(&now).map(|previous| previous.timestamp());
                assert_eq!(found, previous.parse().ok(), "{at}");
            }
        }
    }
}

fn offset_of(time: &str) -> TimeZone {
    let pieces = jiff::fmt::temporal::Pieces::parse(time).unwrap();
    match pieces.to_numeric_offset() {
        Some(offset) => TimeZone::fixed(offset),
        None => TimeZone::UTC,
    }
}

proptest! {
    /// Texts of the grammars' own characters, and any others.
    #[test]
    fn no_text_makes_a_reader_panic(
        text in prop_oneof![
            r"[-+0-9.hmsnuµ]{0,30}",
            r"(TZ=[A-Za-z/]{0,9} )?[-*/?,0-9a-zA-Z@ ]{0,40}",
            r"[-(){}|\[\]^$*+?.\\a-zA-Z0-9:<>PQE,]{0,40}",
            r"[0-9TZ:.+-]{0,30}",
            r#"(flux suspend|kubectl annotate|if|FOO=)?[ $(){}`'"\\;|&#=a-z/\n-]{0,60}"#,
            any::<String>(),
        ],
    ) {
        let _ = GoDuration::parse(&text);
        let _ = (matches_interval_pattern(&text), matches_timeout_pattern(&text));
        let _ = parse_request_time(&text);
        if let Ok(regexp) = GoRegexp::new(&text) {
            let _ = regexp.is_match(&text);
        }
        if let Ok(schedule) = CronSchedule::parse(&text) {
            let _ = schedule.next(&"2026-03-28T12:00:00[Europe/Berlin]".parse().unwrap());
        }
        let container = Container {
            command: vec!["sh".into(), "-c".into(), text.clone()],
            ..Container::default()
        };
        let _ = actions(&container);
    }
}
