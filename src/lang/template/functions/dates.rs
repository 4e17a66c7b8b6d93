//! Sprig's dates. What the clock would say is unknown.

use super::sprig;
use crate::lang::go::duration::GoDuration;
use crate::lang::template::error::{Fault, Result};
use crate::lang::template::function::{Call, Flow, Function, Purity, Ty};
use crate::lang::template::number::parse_int;
use crate::lang::template::time::{STAND_IN, Time, duration as shown, parse};
use crate::lang::template::trace::SetId;
use crate::lang::template::value::{IntType, Kind, Val};

const ANY: &[Ty] = &[Ty::Any];
const LAYOUT: &[Ty] = &[Ty::Str, Ty::Any];
const ZONED: &[Ty] = &[Ty::Str, Ty::Any, Ty::Str];
const MODIFY: &[Ty] = &[Ty::Str, Ty::Time];
const SS: &[Ty] = &[Ty::Str, Ty::Str];

const fn clock(function: Function) -> Function {
    Function { purity: Purity::Unknown, ..function }
}

pub(super) const TABLE: &[Function] = &[
    clock(sprig("now", &[], Flow::Unites, now)),
    clock(sprig("ago", ANY, Flow::Unites, ago)),
    sprig("date", LAYOUT, Flow::Unites, date),
    sprig("date_in_zone", ZONED, Flow::Unites, date_in_zone),
    sprig("dateInZone", ZONED, Flow::Unites, date_in_zone),
    sprig("htmlDate", ANY, Flow::Unites, html_date),
    sprig("htmlDateInZone", &[Ty::Any, Ty::Str], Flow::Unites, html_date_in_zone),
    sprig("date_modify", MODIFY, Flow::Unites, date_modify),
    sprig("dateModify", MODIFY, Flow::Unites, date_modify),
    sprig("must_date_modify", MODIFY, Flow::Unites, must_date_modify),
    sprig("mustDateModify", MODIFY, Flow::Unites, must_date_modify),
    sprig("toDate", SS, Flow::Unites, to_date),
    sprig("mustToDate", SS, Flow::Unites, must_to_date),
    sprig("unixEpoch", &[Ty::Time], Flow::Unites, unix_epoch),
    sprig("duration", ANY, Flow::Unites, duration),
    sprig("durationRound", ANY, Flow::Unites, duration_round),
];

fn moment(time: Time) -> Result<Val> {
    Ok(Val::time(time, SetId::NONE))
}

/// The moment of the run, which nobody knows.
fn unknown_now(call: &mut Call<'_>) -> SetId {
    call.cx.trace.unknown("the time at which the template runs".to_owned())
}

fn now(call: &mut Call<'_>) -> Result<Val> {
    let set = unknown_now(call);
    Ok(moment(Time::unix(STAND_IN))?.with(set))
}

/// A moment out of a value; the one of the run where it is none.
fn time_of(call: &mut Call<'_>, index: usize) -> (Time, SetId) {
    match &call.args[index].kind {
        Kind::Time(time) => (Time::clone(time), SetId::NONE),
        Kind::Int(seconds, IntType::Int | IntType::Int64) => (Time::unix(*seconds), SetId::NONE),
        _ => (Time::unix(STAND_IN), unknown_now(call)),
    }
}

fn formatted(call: &mut Call<'_>, layout: &str, index: usize, zone: &str) -> Result<Val> {
    let (time, set) = time_of(call, index);
    call.cx.text(layout.len())?;
    let text = time.within(zone).format(layout);
    Ok(call.made(text)?.with(set))
}

fn date(call: &mut Call<'_>) -> Result<Val> {
    let layout = call.string(0);
    formatted(call, &layout, 1, "Local")
}

fn date_in_zone(call: &mut Call<'_>) -> Result<Val> {
    let (layout, zone) = (call.string(0), call.string(2));
    formatted(call, &layout, 1, &zone)
}

fn html_date(call: &mut Call<'_>) -> Result<Val> {
    formatted(call, "2006-01-02", 0, "Local")
}

fn html_date_in_zone(call: &mut Call<'_>) -> Result<Val> {
    let zone = call.string(1);
    formatted(call, "2006-01-02", 0, &zone)
}

/// `time.ParseDuration`.
fn nanoseconds(text: &str) -> std::result::Result<i64, String> {
    let duration = GoDuration::parse(text).map_err(|error| error.to_string())?;
    Ok(duration.nanoseconds())
}

fn modified(call: &mut Call<'_>) -> std::result::Result<Val, String> {
    let text = call.string(0);
    let by = nanoseconds(&text)?;
    match &call.args[1].kind {
        Kind::Time(time) => Ok(Val::time(time.plus(by), SetId::NONE)),
        _ => Ok(call.args[1].clone()),
    }
}

fn date_modify(call: &mut Call<'_>) -> Result<Val> {
    Ok(modified(call).unwrap_or_else(|_| call.args[1].clone()))
}

fn must_date_modify(call: &mut Call<'_>) -> Result<Val> {
    modified(call).map_err(Fault::new)
}

fn to_date(call: &mut Call<'_>) -> Result<Val> {
    moment(parse(&call.string(0), &call.string(1)).unwrap_or_else(|_| Time::zero()))
}

fn must_to_date(call: &mut Call<'_>) -> Result<Val> {
    moment(parse(&call.string(0), &call.string(1)).map_err(Fault::new)?)
}

fn unix_epoch(call: &mut Call<'_>) -> Result<Val> {
    let (time, _) = time_of(call, 0);
    call.made(time.seconds.to_string())
}

fn ago(call: &mut Call<'_>) -> Result<Val> {
    let set = unknown_now(call);
    Ok(call.made("1h0m0s")?.with(set))
}

fn duration(call: &mut Call<'_>) -> Result<Val> {
    let seconds = match &call.args[0].kind {
        Kind::Str(text) => parse_int(&text.str(), 10).unwrap_or(0),
        Kind::Int(value, IntType::Int64) => *value,
        _ => 0,
    };
    call.made(shown(seconds.wrapping_mul(1_000_000_000)))
}

fn duration_round(call: &mut Call<'_>) -> Result<Val> {
    let mut set = SetId::NONE;
    let nanos = match &call.args[0].kind {
        Kind::Str(text) => nanoseconds(&text.str()).unwrap_or(0),
        Kind::Int(value, IntType::Int64) => *value,
        Kind::Time(_) => {
            set = unknown_now(call);
            3_600_000_000_000
        }
        _ => 0,
    };
    const SECOND: u64 = 1_000_000_000;
    let value = nanos.unsigned_abs();
    let units = [(86_400 * 365, "y"), (86_400 * 30, "mo"), (86_400, "d"), (3600, "h"), (60, "m"), (1, "s")];
    let found = units.iter().find(|(seconds, _)| value > seconds * SECOND);
    let text = found
        .map_or_else(|| "0s".to_owned(), |(seconds, unit)| format!("{}{unit}", value / (seconds * SECOND)));
    Ok(call.made(text)?.with(set))
}
