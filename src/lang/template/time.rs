//! Go's `time`: moments, durations and layouts.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};

/// A moment in a zone.
#[derive(Clone, Debug)]
pub(super) struct Time {
    /// Seconds since 1970, which reach from year 1 to 9999.
    pub(super) seconds: i64,
    pub(super) nanos: i32,
    pub(super) zone: TimeZone,
    /// What `String` calls the zone where it is fixed.
    pub(super) zone_name: Option<String>,
}

/// The first second of year 1, which Go's zero time is.
const YEAR_ONE: i64 = -62_135_596_800;

/// The stand-in for a moment that nobody knows: the first of 2020.
pub(super) const STAND_IN: i64 = 1_577_836_800;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

pub(super) fn month(value: i64) -> String {
    let name = usize::try_from(value - 1).ok().and_then(|at| MONTHS.get(at));
    name.map_or_else(|| format!("%!Month({value})"), |name| (*name).to_owned())
}

pub(super) fn weekday(value: i64) -> String {
    let name = usize::try_from(value).ok().and_then(|at| DAYS.get(at));
    name.map_or_else(|| format!("%!Weekday({value})"), |name| (*name).to_owned())
}

/// A duration by `String`.
pub(super) fn duration(nanos: i64) -> String {
    if nanos == 0 {
        return "0s".to_owned();
    }
    let sign = if nanos < 0 { "-" } else { "" };
    let value = nanos.unsigned_abs();
    let fraction = |value: u64, unit: u64| {
        let (whole, rest) = (value / unit, value % unit);
        if rest == 0 {
            return whole.to_string();
        }
        let width = unit.ilog10() as usize;
        let digits = format!("{rest:0width$}");
        format!("{whole}.{}", digits.trim_end_matches('0'))
    };
    if value < 1_000 {
        return format!("{sign}{value}ns");
    }
    if value < 1_000_000 {
        return format!("{sign}{}µs", fraction(value, 1_000));
    }
    if value < 1_000_000_000 {
        return format!("{sign}{}ms", fraction(value, 1_000_000));
    }
    let seconds = value / 1_000_000_000;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let rest = value - (hours * 3600 + minutes * 60) * 1_000_000_000;
    let mut out = sign.to_owned();
    if hours > 0 {
        out.push_str(&format!("{hours}h"));
    }
    if hours > 0 || minutes > 0 {
        out.push_str(&format!("{minutes}m"));
    }
    out.push_str(&fraction(rest, 1_000_000_000));
    out.push('s');
    out
}

impl Time {
    pub(super) fn unix(seconds: i64) -> Time {
        Time { seconds, nanos: 0, zone: TimeZone::UTC, zone_name: None }
    }

    pub(super) fn zero() -> Time {
        Time::unix(YEAR_ONE)
    }

    pub(super) fn is_zero(&self) -> bool {
        self.seconds == YEAR_ONE && self.nanos == 0
    }

    pub(super) fn plus(&self, nanos: i64) -> Time {
        let total = i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanos) + i128::from(nanos);
        let seconds = total.div_euclid(1_000_000_000) as i64;
        Time { seconds, nanos: total.rem_euclid(1_000_000_000) as i32, ..self.clone() }
    }

    /// The same moment in a zone; an unknown zone is UTC.
    pub(super) fn within(&self, zone: &str) -> Time {
        let zone = match zone {
            "" | "UTC" | "Local" => TimeZone::UTC,
            name => TimeZone::get(name).unwrap_or(TimeZone::UTC),
        };
        Time { zone, zone_name: None, ..self.clone() }
    }

    fn offset(&self) -> (Offset, String) {
        let stamp = Timestamp::new(self.seconds, self.nanos).unwrap_or(Timestamp::UNIX_EPOCH);
        let info = self.zone.to_offset_info(stamp);
        let name = self.zone_name.clone().unwrap_or_else(|| info.abbreviation().to_owned());
        (info.offset(), name)
    }

    pub(super) fn civil(&self) -> DateTime {
        let (offset, _) = self.offset();
        let stamp = Timestamp::new(self.seconds, self.nanos).unwrap_or(Timestamp::UNIX_EPOCH);
        offset.to_datetime(stamp)
    }

    pub(super) fn weekday(&self) -> i64 {
        i64::from(self.civil().weekday().to_sunday_zero_offset())
    }

    /// By `String`.
    pub(super) fn full(&self) -> String {
        self.format("2006-01-02 15:04:05.999999999 -0700 MST")
    }

    /// By a layout of Go's.
    pub(super) fn format(&self, layout: &str) -> String {
        let civil = self.civil();
        let (offset, zone) = self.offset();
        let mut out = String::new();
        let mut rest = layout;
        while !rest.is_empty() {
            let (before, found, after) = next_chunk(rest);
            out.push_str(before);
            if let Some(chunk) = found {
                self.write_chunk(&mut out, chunk, &civil, offset.seconds(), &zone);
            }
            rest = after;
        }
        out
    }

    fn write_chunk(&self, out: &mut String, chunk: Chunk<'_>, civil: &DateTime, offset: i32, zone: &str) {
        let hour12 = match civil.hour() % 12 {
            0 => 12,
            hour => hour,
        };
        let piece = match chunk.0 {
            "2006" => format!("{:04}", civil.year()),
            "06" => format!("{:02}", civil.year().rem_euclid(100)),
            "January" => month(i64::from(civil.month())),
            "Jan" => month(i64::from(civil.month()))[..3].to_owned(),
            "01" => format!("{:02}", civil.month()),
            "1" => civil.month().to_string(),
            "Monday" => weekday(self.weekday()),
            "Mon" => weekday(self.weekday())[..3].to_owned(),
            "02" => format!("{:02}", civil.day()),
            "_2" => format!("{:2}", civil.day()),
            "2" => civil.day().to_string(),
            "002" => format!("{:03}", civil.day_of_year()),
            "__2" => format!("{:3}", civil.day_of_year()),
            "15" => format!("{:02}", civil.hour()),
            "03" => format!("{hour12:02}"),
            "3" => hour12.to_string(),
            "04" => format!("{:02}", civil.minute()),
            "4" => civil.minute().to_string(),
            "05" => format!("{:02}", civil.second()),
            "5" => civil.second().to_string(),
            "PM" => if civil.hour() >= 12 { "PM" } else { "AM" }.to_owned(),
            "pm" => if civil.hour() >= 12 { "pm" } else { "am" }.to_owned(),
            "MST" if !zone.is_empty() && !zone.starts_with(['+', '-']) => zone.to_owned(),
            "MST" => zone_offset("-0700", offset),
            fraction if fraction.starts_with(['.', ',']) => self.fraction(fraction),
            other => zone_offset(other, offset),
        };
        out.push_str(&piece);
    }

    fn fraction(&self, layout: &str) -> String {
        let digits = format!("{:09}", self.nanos);
        let cut = &digits[..(layout.len() - 1).min(9)];
        if layout.as_bytes()[1] == b'9' {
            let cut = cut.trim_end_matches('0');
            return if cut.is_empty() { String::new() } else { format!("{}{cut}", &layout[..1]) };
        }
        format!("{}{cut}", &layout[..1])
    }
}

/// `-0700` and its like.
fn zone_offset(layout: &str, offset: i32) -> String {
    if layout.starts_with('Z') && offset == 0 {
        return "Z".to_owned();
    }
    let sign = if offset < 0 { '-' } else { '+' };
    let (hours, minutes, seconds) = (offset.abs() / 3600, offset.abs() / 60 % 60, offset.abs() % 60);
    match &layout[1..] {
        "07" => format!("{sign}{hours:02}"),
        "07:00" => format!("{sign}{hours:02}:{minutes:02}"),
        "07:00:00" => format!("{sign}{hours:02}:{minutes:02}:{seconds:02}"),
        "070000" => format!("{sign}{hours:02}{minutes:02}{seconds:02}"),
        _ => format!("{sign}{hours:02}{minutes:02}"),
    }
}

/// A part of a layout that stands for something.
#[derive(Clone, Copy)]
struct Chunk<'l>(&'l str);

/// The parts of a layout, longest first where one begins another.
const CHUNKS: [&str; 33] = [
    "January",
    "Jan",
    "Monday",
    "Mon",
    "MST",
    "2006",
    "__2",
    "_2006",
    "_2",
    "002",
    "01",
    "02",
    "03",
    "04",
    "05",
    "06",
    "15",
    "-07:00:00",
    "-07:00",
    "-070000",
    "-0700",
    "-07",
    "Z07:00:00",
    "Z07:00",
    "Z070000",
    "Z0700",
    "Z07",
    "PM",
    "pm",
    "1",
    "2",
    "3",
    "4",
];

/// What stands before the next part, the part, and the rest.
fn next_chunk(layout: &str) -> (&str, Option<Chunk<'_>>, &str) {
    for (at, _) in layout.char_indices() {
        let rest = &layout[at..];
        if let Some(length) = fraction_length(rest) {
            return (&layout[..at], Some(Chunk(&rest[..length])), &rest[length..]);
        }
        let found = CHUNKS.iter().chain(&["5"]).find(|chunk| rest.starts_with(**chunk));
        let Some(chunk) = found else {
            continue;
        };
        match *chunk {
            "_2006" => return (&layout[..=at], Some(Chunk(&rest[1..5])), &rest[5..]),
            // `Janet` is no month.
            "Jan" | "Mon" if rest[3..].starts_with(|c: char| c.is_ascii_lowercase()) => {}
            chunk => return (&layout[..at], Some(Chunk(&rest[..chunk.len()])), &rest[chunk.len()..]),
        }
    }
    (layout, None, "")
}

/// `.000` or `,999`, not followed by a digit.
fn fraction_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    if !matches!(bytes.first(), Some(b'.' | b',')) || !matches!(bytes.get(1), Some(b'0' | b'9')) {
        return None;
    }
    let end = 1 + bytes[1..].iter().take_while(|b| **b == bytes[1]).count();
    (!bytes.get(end).is_some_and(u8::is_ascii_digit)).then_some(end)
}

/// The quotes of Go's `time`, which escape whatever is no ASCII.
fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b' '..=b'~' | 0x7f => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

#[derive(Default)]
struct Parts {
    year: Option<i32>,
    month: Option<i32>,
    day: Option<i32>,
    year_day: Option<i32>,
    hour: i32,
    minute: i32,
    second: i32,
    nanos: i32,
    is_pm: Option<bool>,
    offset: Option<i32>,
    zone: Option<String>,
}

/// `time.ParseInLocation` with UTC as the local zone.
pub(super) fn parse(layout: &str, value: &str) -> Result<Time, String> {
    let mut parts = Parts::default();
    let mut rest = value;
    let mut left = layout;
    let quoted = quote;
    loop {
        let (before, chunk, after) = next_chunk(left);
        let element = chunk.map_or("", |chunk| chunk.0);
        let mismatch = |rest: &str, element: &str| {
            let (value, layout) = (quoted(value), quoted(layout));
            format!("parsing time {value} as {layout}: cannot parse {} as {}", quoted(rest), quoted(element))
        };
        rest = skip(rest, before).ok_or_else(|| mismatch(rest, before))?;
        let Some(chunk) = chunk else {
            if !rest.is_empty() {
                return Err(format!("parsing time {}: extra text: {}", quoted(value), quoted(rest)));
            }
            break;
        };
        let out_of_range = |what: &str| format!("parsing time {}: {what} out of range", quoted(value));
        match parts.read(chunk.0, rest, after) {
            Ok(now) => rest = now,
            Err(Some(what)) => return Err(out_of_range(what)),
            Err(None) => return Err(mismatch(rest, element)),
        }
        left = after;
    }
    parts.finish().ok_or_else(|| format!("parsing time {}: day out of range", quoted(value)))
}

/// Text of a layout; blanks of either side match any number.
fn skip<'v>(value: &'v str, mut prefix: &str) -> Option<&'v str> {
    let mut value = value;
    while let Some(c) = prefix.chars().next() {
        if c == ' ' {
            if !value.is_empty() && !value.starts_with(' ') {
                return None;
            }
            prefix = prefix.trim_start_matches(' ');
            value = value.trim_start_matches(' ');
            continue;
        }
        value = value.strip_prefix(c)?;
        prefix = &prefix[c.len_utf8()..];
    }
    Some(value)
}

/// One or two digits; exactly two if `fixed`.
fn two(text: &str, fixed: bool) -> Option<(i32, &str)> {
    let digits = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    if digits == 0 || (fixed && digits < 2) {
        return None;
    }
    Some((text[..digits].parse().ok()?, &text[digits..]))
}

fn name_at<'v>(names: &[&str], short: bool, text: &'v str) -> Option<(i32, &'v str)> {
    names.iter().enumerate().find_map(|(index, name)| {
        let name = if short { &name[..3] } else { name };
        let head = text.get(..name.len())?;
        head.eq_ignore_ascii_case(name).then(|| (index as i32, &text[name.len()..]))
    })
}

impl Parts {
    /// Reads one part. What is out of range is named.
    fn read<'v>(&mut self, chunk: &str, text: &'v str, after: &str) -> Result<&'v str, Option<&'static str>> {
        let ranged = |value: Option<(i32, &'v str)>, low: i32, high: i32, what: &'static str| match value {
            Some((value, rest)) if (low..=high).contains(&value) => Ok((value, rest)),
            Some(_) => Err(Some(what)),
            None => Err(None),
        };
        let (value, rest) = match chunk {
            "2006" => {
                let digits = text.get(..4).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
                self.year = Some(digits.and_then(|digits| digits.parse().ok()).ok_or(None)?);
                return Ok(&text[4..]);
            }
            "06" => {
                let (year, rest) = two(text, true).ok_or(None)?;
                self.year = Some(if year >= 69 { 1900 + year } else { 2000 + year });
                return Ok(rest);
            }
            "January" | "Jan" => {
                let (month, rest) = name_at(&MONTHS, chunk == "Jan", text).ok_or(None)?;
                self.month = Some(month + 1);
                return Ok(rest);
            }
            "Monday" | "Mon" => return Ok(name_at(&DAYS, chunk == "Mon", text).ok_or(None)?.1),
            "01" | "1" => {
                let (month, rest) = ranged(two(text, chunk == "01"), 1, 12, "month")?;
                self.month = Some(month);
                return Ok(rest);
            }
            "02" | "2" | "_2" => {
                let text = if chunk == "_2" { text.strip_prefix(' ').unwrap_or(text) } else { text };
                let (day, rest) = two(text, chunk == "02").ok_or(None)?;
                self.day = Some(day);
                return Ok(rest);
            }
            "002" | "__2" => {
                let digits = text.get(..3).ok_or(None)?;
                self.year_day = Some(digits.trim_start().parse().map_err(|_| None)?);
                return Ok(&text[3..]);
            }
            "15" => ranged(two(text, false), 0, 23, "hour")?,
            "03" | "3" => ranged(two(text, chunk == "03"), 0, 12, "hour")?,
            "04" | "4" => ranged(two(text, chunk == "04"), 0, 59, "minute")?,
            "05" | "5" => ranged(two(text, chunk == "05"), 0, 59, "second")?,
            "PM" | "pm" => return self.meridiem(chunk, text),
            fraction if fraction.starts_with(['.', ',']) => return self.fraction(fraction, text),
            zone => return self.zone(zone, text),
        };
        match chunk {
            "15" | "03" | "3" => self.hour = value,
            "04" | "4" => self.minute = value,
            _ => {
                self.second = value;
                // Fractional seconds behind seconds need no layout.
                if fraction_length(after).is_none() {
                    return Ok(self.fraction_without_layout(rest));
                }
            }
        }
        Ok(rest)
    }

    /// Reads a fraction of a second if one follows.
    fn fraction_without_layout<'v>(&mut self, text: &'v str) -> &'v str {
        let Some(fraction) = text.strip_prefix(['.', ',']) else { return text };
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return text;
        }
        self.nanos = nanos(&fraction[..digits]);
        &fraction[digits..]
    }

    fn meridiem<'v>(&mut self, chunk: &str, text: &'v str) -> Result<&'v str, Option<&'static str>> {
        let word = text.get(..2).ok_or(None)?;
        let (am, pm) = if chunk == "PM" { ("AM", "PM") } else { ("am", "pm") };
        if word != am && word != pm {
            return Err(None);
        }
        self.is_pm = Some(word == pm);
        Ok(&text[2..])
    }

    fn fraction<'v>(&mut self, layout: &str, text: &'v str) -> Result<&'v str, Option<&'static str>> {
        let digits = text.get(1..).map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
        let starts = text.starts_with(['.', ',']);
        if layout.as_bytes()[1] == b'9' {
            if !starts || digits == 0 {
                return Ok(text);
            }
            self.nanos = nanos(&text[1..=digits]);
            return Ok(&text[digits + 1..]);
        }
        if !starts || digits < layout.len() - 1 {
            return Err(None);
        }
        self.nanos = nanos(&text[1..layout.len()]);
        Ok(&text[layout.len()..])
    }

    fn zone<'v>(&mut self, chunk: &str, text: &'v str) -> Result<&'v str, Option<&'static str>> {
        if chunk == "MST" {
            let length = text.bytes().take_while(u8::is_ascii_uppercase).count();
            if !(3..=5).contains(&length) {
                return Err(None);
            }
            if &text[..length] != "UTC" {
                self.zone = Some(text[..length].to_owned());
            }
            self.offset = self.offset.or(Some(0));
            return Ok(&text[length..]);
        }
        if chunk.starts_with('Z') && text.starts_with('Z') {
            self.offset = Some(0);
            return Ok(&text[1..]);
        }
        let length = chunk.len();
        let value = text.get(..length).ok_or(None)?;
        let sign = match value.as_bytes()[0] {
            b'+' => 1,
            b'-' => -1,
            _ => return Err(None),
        };
        let digits: String = value[1..].chars().filter(|c| *c != ':').collect();
        if !digits.bytes().all(|b| b.is_ascii_digit())
            || value.matches(':').count() != chunk.matches(':').count()
        {
            return Err(None);
        }
        let part = |at: usize| digits.get(at..at + 2).map_or(0, |part| part.parse::<i32>().unwrap_or(0));
        self.offset = Some(sign * (part(0) * 3600 + part(2) * 60 + part(4)));
        Ok(&text[length..])
    }

    fn finish(self) -> Option<Time> {
        let hour = match self.is_pm {
            Some(true) if self.hour < 12 => self.hour + 12,
            Some(false) if self.hour == 12 => 0,
            _ => self.hour,
        };
        let year = self.year.unwrap_or(0);
        let date = if let Some(day) = self.year_day {
            let start = jiff::civil::Date::new(i16::try_from(year).ok()?, 1, 1).ok()?;
            start.checked_add(jiff::Span::new().days(day - 1)).ok()?
        } else {
            let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
            jiff::civil::Date::new(i16::try_from(year).ok()?, month as i8, i8::try_from(day).ok()?).ok()?
        };
        let civil = date.at(hour as i8, self.minute as i8, self.second as i8, 0);
        let stamp = Offset::UTC.to_timestamp(civil).ok()?;
        let offset = self.offset.unwrap_or(0);
        let zone =
            if offset == 0 { TimeZone::UTC } else { TimeZone::fixed(Offset::from_seconds(offset).ok()?) };
        // A fixed zone that the layout gave no name prints its offset.
        let zone_name = self.zone.or(if offset == 0 { None } else { Some(String::new()) });
        Some(Time { seconds: stamp.as_second() - i64::from(offset), nanos: self.nanos, zone, zone_name })
    }
}

fn nanos(digits: &str) -> i32 {
    let cut = &digits[..digits.len().min(9)];
    cut.parse::<i32>().unwrap_or(0) * 10i32.pow(9 - cut.len() as u32)
}
