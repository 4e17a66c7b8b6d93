//! Timestamps, as go-yaml reads them and a kustomize build prints them.

/// A timestamp of [`super::Dialect::GoYamlV3`] as a kustomize build prints it; `None`
/// where the text is none, or where Go refuses to print its zone.
pub fn timestamp_rfc3339(text: &str) -> Option<String> {
    let t = parse_timestamp(text)?;
    let mut out =
        format!("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", t.year, t.month, t.day, t.hour, t.minute, t.second);
    if t.nanosecond != 0 {
        let fraction = format!("{:09}", t.nanosecond);
        out.push('.');
        out.push_str(fraction.trim_end_matches('0'));
    }
    if t.offset_minutes == 0 {
        out.push('Z');
        return Some(out);
    }
    let (hours, minutes) = (t.offset_minutes.abs() / 60, t.offset_minutes.abs() % 60);
    if hours > 23 {
        return None;
    }
    let sign = if t.offset_minutes < 0 { '-' } else { '+' };
    out.push_str(&format!("{sign}{hours:02}:{minutes:02}"));
    Some(out)
}

/// A point in time as written: no arithmetic is done on it.
pub(super) struct Timestamp {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    nanosecond: u32,
    offset_minutes: i32,
}

/// go-yaml's `parseTimestamp`: Go's `time.Parse` with the layouts
/// `2006-1-2T15:4:5.999999999Z07:00` (also with `t`), `2006-1-2 15:4:5.999999999`
/// and `2006-1-2`.
pub(super) fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    if bytes.len() < 8 || bytes[4] != b'-' || !bytes[..4].iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut rest = TimestampReader(bytes);
    let mut t = Timestamp {
        year: rest.digits(4)?,
        month: 0,
        day: 0,
        hour: 0,
        minute: 0,
        second: 0,
        nanosecond: 0,
        offset_minutes: 0,
    };
    rest.literal(b'-')?;
    t.month = rest.one_or_two_digits(1, 12)?;
    rest.literal(b'-')?;
    t.day = rest.one_or_two_digits(1, days_in(t.year, t.month))?;
    let zoned = match rest.0.first() {
        None => return Some(t),
        Some(b'T' | b't') => {
            rest.0 = &rest.0[1..];
            true
        }
        Some(b' ') => {
            // A blank in a layout stands for any number of them.
            while let [b' ', tail @ ..] = rest.0 {
                rest.0 = tail;
            }
            false
        }
        Some(_) => return None,
    };
    t.hour = rest.one_or_two_digits(0, 23)?;
    rest.literal(b':')?;
    t.minute = rest.one_or_two_digits(0, 59)?;
    rest.literal(b':')?;
    t.second = rest.one_or_two_digits(0, 59)?;
    t.nanosecond = rest.fraction();
    if zoned {
        t.offset_minutes = rest.zone()?;
    }
    rest.0.is_empty().then_some(t)
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The steps of Go's `time.Parse` that the layouts need.
struct TimestampReader<'a>(&'a [u8]);

impl TimestampReader<'_> {
    fn literal(&mut self, byte: u8) -> Option<()> {
        self.0 = self.0.strip_prefix(&[byte])?;
        Some(())
    }

    fn digits(&mut self, count: usize) -> Option<u32> {
        let (head, tail) = self.0.split_at_checked(count)?;
        if !head.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.0 = tail;
        Some(head.iter().fold(0, |n, d| n * 10 + u32::from(d - b'0')))
    }

    fn one_or_two_digits(&mut self, min: u32, max: u32) -> Option<u32> {
        let n = self.digits(2).or_else(|| self.digits(1))?;
        (min..=max).contains(&n).then_some(n)
    }

    /// Nanoseconds after `.` or `,`; digits beyond the ninth are dropped.
    fn fraction(&mut self) -> u32 {
        let [b'.' | b',', digits @ ..] = self.0 else {
            return 0;
        };
        let count = digits.iter().take_while(|d| d.is_ascii_digit()).count();
        if count == 0 {
            return 0;
        }
        self.0 = &digits[count..];
        let digit = |i: usize| digits[..count].get(i).map_or(0, |d| u32::from(d - b'0'));
        (0..9).fold(0, |n, i| n * 10 + digit(i))
    }

    /// `Z` or `+hh:mm`, in minutes. Go lets 24 hours and 60 minutes pass.
    fn zone(&mut self) -> Option<i32> {
        let sign = match self.0.first()? {
            b'Z' => {
                self.0 = &self.0[1..];
                return Some(0);
            }
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        self.0 = &self.0[1..];
        let hours = self.digits(2).filter(|h| *h <= 24)?;
        self.literal(b':')?;
        let minutes = self.digits(2).filter(|m| *m <= 60)?;
        Some(sign * (hours * 60 + minutes) as i32)
    }
}
