//! `fmt.Sprintf`.

mod numbers;

use super::flow;
use super::print::{DEPTH_LIMIT, Printer, complex, float_v, int, scalar};
use super::quote::{is_print, quoted};
use super::rope::{Builder, Text};
use super::trace::{ProvId, SetId, Trace};
use super::value::{IntType, Kind, Val};
use numbers::{binary_exponent, fixed, general, hex, hex_float, scientific, signed};

/// Flags, width and precision of a verb.
#[derive(Clone, Debug, Default)]
struct Spec {
    sharp: bool,
    zero: bool,
    plus: bool,
    /// `%+v`: fields with their names, no sign of numbers.
    names: bool,
    minus: bool,
    space: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

/// Go's greatest width or precision.
const WIDTH_LIMIT: i64 = 1_000_000;

impl Spec {
    fn of_flags(bytes: &[u8], at: &mut usize) -> Spec {
        let mut spec = Spec::default();
        while let Some(flag) = bytes.get(*at) {
            match flag {
                b'#' => spec.sharp = true,
                b'0' => spec.zero = true,
                b'+' => spec.plus = true,
                b'-' => spec.minus = true,
                b' ' => spec.space = true,
                _ => break,
            }
            *at += 1;
        }
        spec
    }
}

struct Formatter<'a> {
    out: Builder,
    trace: &'a mut Trace,
    limit: usize,
    /// Where the format itself comes from: of what is neither its text nor an operand.
    format: ProvId,
    /// Whether an address stands in the output.
    has_address: bool,
}

impl<'a> Formatter<'a> {
    fn new(trace: &'a mut Trace, limit: usize, format: ProvId) -> Formatter<'a> {
        Formatter { out: Builder::default(), trace, limit, format, has_address: false }
    }
}

/// Formats operands. `limit` is how many bytes may be made; more is cut. `None` where an
/// address would be printed, which is another one in every run.
pub(super) fn sprintf(trace: &mut Trace, format: &Text, args: &[Val], limit: usize) -> Option<Text> {
    let format_prov = if format.is_empty() { ProvId::default() } else { format.prov_at(0) };
    // One operand by one verb alone: joined, not copied, so that a loop that appends
    // to a text by `printf "%s%s"` is not quadratic.
    if let Some(text) = joined(trace, format, args) {
        return Some(text);
    }
    let mut formatter = Formatter::new(trace, limit, format_prov);
    formatter.run(format, args);
    (!formatter.has_address).then(|| formatter.out.finish())
}

/// A value by `%s`, for messages.
pub(super) fn shown_as_text(val: &Val) -> String {
    let mut trace = Trace::new(false);
    let format = ProvId::default();
    let mut formatter = Formatter::new(&mut trace, 1 << 16, format);
    formatter.arg(&bare(val, 0), 's', &Spec::default());
    String::from_utf8_lossy(&formatter.out.bytes).into_owned()
}

/// A value without origins, which are of another trace.
fn bare(val: &Val, depth: usize) -> Val {
    if depth > DEPTH_LIMIT {
        return Val::nil();
    }
    let kind = match &val.kind {
        Kind::Str(text) => Kind::Str(Text::new(text.bytes(), ProvId::default())),
        Kind::List(list) => {
            let items = list.iter().take(1000).map(|item| bare(&item, depth + 1)).collect();
            Kind::List(super::value::List::new(items, list.elem))
        }
        Kind::Map(map) => {
            let copy = super::value::Map::new(map.ty);
            for (key, entry) in map.snapshot().into_iter().take(1000) {
                copy.insert(key, SetId::NONE, bare(&entry.val, depth + 1));
            }
            Kind::Map(copy)
        }
        other => other.clone(),
    };
    Val::new(kind, SetId::NONE)
}

/// A format of plain `%s` and `%v` over texts.
fn joined(trace: &mut Trace, format: &Text, args: &[Val]) -> Option<Text> {
    let bytes = format.bytes();
    let mut out = Text::empty();
    let (mut start, mut next) = (0, 0);
    while let Some(at) = memchr::memchr(b'%', &bytes[start..]) {
        let at = start + at;
        let verb = *bytes.get(at + 1)?;
        let val = args.get(next)?;
        let Kind::Str(text) = &val.kind else {
            return None;
        };
        if verb != b's' && verb != b'v' {
            return None;
        }
        out = out.join(&format.slice(start..at));
        let text = if val.from == SetId::NONE { text.clone() } else { flow::also(trace, text, val.from) };
        out = out.join(&text);
        next += 1;
        start = at + 2;
    }
    (next == args.len()).then(|| out.join(&format.slice(start..bytes.len())))
}

impl Formatter<'_> {
    fn run(&mut self, format: &Text, args: &[Val]) {
        let bytes = format.bytes();
        let (mut at, mut arg, mut reordered) = (0, 0, false);
        while at < bytes.len() && self.out.len() <= self.limit {
            let Some(found) = memchr::memchr(b'%', &bytes[at..]) else {
                self.out.push_slice(format, at..bytes.len());
                break;
            };
            self.out.push_slice(format, at..at + found);
            at += found + 1;
            self.format = format.prov_at(at - 1);
            self.verb(bytes, &mut at, args, &mut arg, &mut reordered);
        }
        if !reordered && arg < args.len() {
            self.str("%!(EXTRA ");
            for (index, val) in args[arg..].iter().enumerate() {
                if index > 0 {
                    self.str(", ");
                }
                if val.is_nil() {
                    self.str("<nil>");
                } else {
                    self.str(&val.type_name());
                    self.str("=");
                    self.value(val, 'v', &Spec::default(), 0);
                }
            }
            self.str(")");
        }
    }

    fn str(&mut self, text: &str) {
        self.out.push(text.as_bytes(), self.format);
    }

    fn verb(&mut self, bytes: &[u8], at: &mut usize, args: &[Val], arg: &mut usize, reordered: &mut bool) {
        let mut spec = Spec::of_flags(bytes, at);
        let mut good = true;
        good &= index(bytes, at, arg, args.len(), reordered);
        if bytes.get(*at) == Some(&b'*') {
            *at += 1;
            match star(args, arg) {
                Some(width) => {
                    spec.minus |= width < 0;
                    spec.width = Some(width.unsigned_abs() as usize);
                }
                None => self.str("%!(BADWIDTH)"),
            }
        } else {
            spec.width = digits(bytes, at);
        }
        if bytes.get(*at) == Some(&b'.') {
            *at += 1;
            good &= index(bytes, at, arg, args.len(), reordered);
            if bytes.get(*at) == Some(&b'*') {
                *at += 1;
                match star(args, arg) {
                    Some(precision) if precision >= 0 => spec.precision = Some(precision as usize),
                    Some(_) => {}
                    None => self.str("%!(BADPREC)"),
                }
            } else {
                spec.precision = Some(digits(bytes, at).unwrap_or(0));
            }
        }
        good &= index(bytes, at, arg, args.len(), reordered);
        if spec.minus {
            spec.zero = false;
        }
        if *at >= bytes.len() {
            self.str("%!(NOVERB)");
            return;
        }
        let (verb, length) = super::quote::decode(&bytes[*at..]);
        let verb = verb.unwrap_or('\u{fffd}');
        *at += length;
        if verb == '%' {
            self.str("%");
        } else if !good {
            self.str(&format!("%!{verb}(BADINDEX)"));
        } else if *arg >= args.len() {
            self.str(&format!("%!{verb}(MISSING)"));
        } else {
            self.arg(&args[*arg], verb, &spec);
            *arg += 1;
        }
    }

    fn arg(&mut self, val: &Val, verb: char, spec: &Spec) {
        if val.is_nil() {
            match verb {
                'T' | 'v' => self.padded("<nil>", val.from, spec),
                _ => self.str(&format!("%!{verb}(<nil>)")),
            }
            return;
        }
        match verb {
            'T' => self.padded(&val.type_name(), val.from, spec),
            'p' => self.bad(val, verb, spec, 0),
            'v' if spec.plus => {
                let spec = Spec { plus: false, names: true, ..spec.clone() };
                self.value(val, verb, &spec, 0);
            }
            _ => self.value(val, verb, spec, 0),
        }
    }

    fn prov(&mut self, from: SetId) -> ProvId {
        if from == SetId::NONE { self.format } else { self.trace.plain(from) }
    }

    fn padded(&mut self, text: &str, from: SetId, spec: &Spec) {
        let prov = self.prov(from);
        let missing = spec.width.unwrap_or(0).saturating_sub(text.chars().count()).min(self.limit);
        let pad = if spec.zero && !spec.minus { b'0' } else { b' ' };
        if !spec.minus {
            self.out.push(&vec![pad; missing], prov);
        }
        self.out.push(text.as_bytes(), prov);
        if spec.minus {
            self.out.push(&vec![b' '; missing], prov);
        }
    }

    /// `%!VERB(TYPE=VALUE)`.
    fn bad(&mut self, val: &Val, verb: char, spec: &Spec, depth: usize) {
        self.str(&format!("%!{verb}({}=", val.type_name()));
        // With the flags of the verb, but those that only `%v` has.
        let plain = Spec { sharp: false, ..spec.clone() };
        self.value(val, 'v', &plain, depth + 1);
        self.str(")");
    }

    fn value(&mut self, val: &Val, verb: char, spec: &Spec, depth: usize) {
        if depth > DEPTH_LIMIT || self.out.len() > self.limit {
            return;
        }
        match &val.kind {
            Kind::Nil | Kind::Null => self.padded("<nil>", val.from, &Spec::default()),
            Kind::Bool(value) => match verb {
                't' | 'v' => self.padded(&value.to_string(), val.from, spec),
                _ => self.bad(val, verb, spec, depth),
            },
            Kind::Int(value, ty) => self.int(val, *value, *ty, verb, spec, depth),
            Kind::Float(value) => self.float(val, *value, verb, spec, depth),
            Kind::Complex(real, imaginary) => match verb {
                'v' | 'g' => self.padded(&complex(*real, *imaginary), val.from, spec),
                _ => self.bad(val, verb, spec, depth),
            },
            Kind::Str(text) => {
                let text = flow::also(self.trace, text, val.from);
                self.text(val, &text, verb, spec, depth);
            }
            Kind::Bytes(text) if matches!(verb, 's' | 'q' | 'x' | 'X') => {
                let text = flow::also(self.trace, text, val.from);
                self.text(val, &text, verb, spec, depth);
            }
            Kind::Time(_) | Kind::Version(_) => {
                // By other verbs Go prints the fields, and a time has a pointer to its zone.
                self.has_address |= !matches!(verb, 'v' | 's' | 'q' | 'x' | 'X');
                let prov = self.prov(val.from);
                let text = Text::new(scalar(val).into_bytes(), prov);
                self.text(val, &text, verb, spec, depth);
            }
            _ if verb == 'v' && !spec.sharp && spec.width.is_none() => {
                let left = self.limit.saturating_sub(self.out.len());
                let mut printer = Printer::new(self.trace, left);
                printer.value(val, spec.names, depth);
                let text = printer.out.finish();
                self.out.push_text(&text);
            }
            _ => self.composite(val, verb, spec, depth),
        }
    }

    fn composite(&mut self, val: &Val, verb: char, spec: &Spec, depth: usize) {
        match &val.kind {
            Kind::List(list) => {
                if spec.sharp && verb == 'v' {
                    self.str(&val.type_name());
                    self.str("{");
                } else {
                    self.str("[");
                }
                for (index, item) in list.iter().enumerate() {
                    if index > 0 {
                        self.str(if spec.sharp && verb == 'v' { ", " } else { " " });
                    }
                    self.item(&item, verb, spec, depth);
                }
                self.str(if spec.sharp && verb == 'v' { "}" } else { "]" });
            }
            Kind::Map(map) => {
                let is_go = spec.sharp && verb == 'v';
                if is_go {
                    self.str(&val.type_name());
                }
                self.str(if is_go { "{" } else { "map[" });
                for (index, (key, entry)) in map.snapshot().into_iter().enumerate() {
                    if index > 0 {
                        self.str(if is_go { ", " } else { " " });
                    }
                    let prov = self.trace.plain(entry.key);
                    let key = Val::text(Text::new(&*key, prov));
                    self.item(&key, verb, spec, depth);
                    self.str(":");
                    self.item(&entry.val, verb, spec, depth);
                }
                self.str(if is_go { "}" } else { "]" });
            }
            Kind::Bytes(text) => {
                self.str("[");
                for (index, byte) in text.bytes().iter().enumerate() {
                    if index > 0 {
                        self.str(" ");
                    }
                    let byte = Val::new(Kind::Int(i64::from(*byte), IntType::Uint8), val.from);
                    self.item(&byte, verb, spec, depth);
                }
                self.str("]");
            }
            Kind::Struct(of) => {
                self.str("{");
                for (index, (_, field)) in of.fields.iter().enumerate() {
                    if index > 0 {
                        self.str(" ");
                    }
                    self.item(field, verb, spec, depth);
                }
                self.str("}");
            }
            _ => {}
        }
    }

    fn item(&mut self, val: &Val, verb: char, spec: &Spec, depth: usize) {
        match val.kind {
            Kind::Nil | Kind::Null if spec.sharp && verb == 'v' => self.str("interface {}(nil)"),
            Kind::Nil | Kind::Null => self.str("<nil>"),
            _ => self.value(val, verb, spec, depth + 1),
        }
    }

    fn text(&mut self, val: &Val, text: &Text, verb: char, spec: &Spec, depth: usize) {
        match verb {
            'v' if spec.sharp => self.quoted(text, &Spec { sharp: false, ..spec.clone() }),
            'v' | 's' => {
                let cut = truncated(text, spec.precision);
                self.padded_text(&cut, spec);
            }
            'x' | 'X' => {
                let shown = hex(text.bytes(), verb == 'X', spec);
                let from = flow::of_text(self.trace, text);
                self.padded(&shown, from, spec);
            }
            'q' => self.quoted(text, spec),
            _ => self.bad(val, verb, spec, depth),
        }
    }

    fn quoted(&mut self, text: &Text, spec: &Spec) {
        let text = truncated(text, spec.precision);
        let bytes = text.bytes();
        let can_raw = spec.sharp
            && std::str::from_utf8(bytes).is_ok_and(|text| {
                !text.chars().any(|c| (c < ' ' && c != '\t') || matches!(c, '`' | '\u{7f}' | '\u{feff}'))
            });
        let mut out = Builder::default();
        if can_raw {
            let prov = if text.is_empty() { self.format } else { text.prov_at(0) };
            out.push(b"`", prov);
            out.push_text(&text);
            out.push(b"`", prov);
        } else if spec.plus {
            let from = flow::of_text(self.trace, &text);
            let prov = self.prov(from);
            out.push(&quoted(bytes, '"', true), prov);
        } else {
            flow::push_quoted(&mut out, &text);
        }
        let text = out.finish();
        self.padded_text(&text, spec);
    }

    fn padded_text(&mut self, text: &Text, spec: &Spec) {
        let Some(width) = spec.width else {
            self.out.push_text(text);
            return;
        };
        let missing = width.saturating_sub(text.str().chars().count()).min(self.limit);
        let pad = if spec.zero && !spec.minus { b'0' } else { b' ' };
        if !spec.minus {
            self.out.push(&vec![pad; missing], self.format);
        }
        self.out.push_text(text);
        if spec.minus {
            self.out.push(&vec![b' '; missing], self.format);
        }
    }

    fn int(&mut self, val: &Val, value: i64, ty: IntType, verb: char, spec: &Spec, depth: usize) {
        let has_string = matches!(ty, IntType::Month | IntType::Weekday);
        if has_string && matches!(verb, 'v' | 's' | 'q' | 'x' | 'X') && !spec.sharp {
            let prov = self.prov(val.from);
            let text = Text::new(int(value, ty).into_bytes(), prov);
            self.text(val, &text, verb, spec, depth);
            return;
        }
        let (negative, magnitude) = match ty.is_unsigned() {
            true => (false, value as u64),
            false => (value < 0, value.unsigned_abs()),
        };
        let (digits, prefix) = match verb {
            'v' | 'd' => (magnitude.to_string(), ""),
            'b' => (format!("{magnitude:b}"), "0b"),
            'o' => (format!("{magnitude:o}"), "0"),
            'O' => (format!("{magnitude:o}"), "0o"),
            'x' => (format!("{magnitude:x}"), "0x"),
            'X' => (format!("{magnitude:X}"), "0X"),
            'c' => {
                let c = u32::try_from(value).ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
                return self.padded(&c.to_string(), val.from, spec);
            }
            'q' => {
                let c = u32::try_from(value).ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
                let shown = quoted(c.to_string().as_bytes(), '\'', spec.plus);
                let shown = String::from_utf8_lossy(&shown).into_owned();
                return self.padded(&shown, val.from, spec);
            }
            'U' => {
                let c = u32::try_from(value).ok().and_then(char::from_u32);
                // Go takes the bits of a negative number.
                let bits = if negative { value as u64 } else { magnitude };
                let mut shown = format!("U+{bits:04X}");
                if let (true, Some(c)) = (spec.sharp, c.filter(|c| is_print(*c))) {
                    shown.push_str(" '");
                    shown.push(c);
                    shown.push('\'');
                }
                return self.padded(&shown, val.from, &Spec { zero: false, ..spec.clone() });
            }
            _ => return self.bad(val, verb, spec, depth),
        };
        let sharp = (spec.sharp && verb != 'd' && verb != 'v') || verb == 'O';
        let shown = signed(negative, &digits, if sharp { prefix } else { "" }, spec);
        self.padded(&shown, val.from, &Spec { zero: false, ..spec.clone() });
    }

    fn float(&mut self, val: &Val, value: f64, verb: char, spec: &Spec, depth: usize) {
        let shown = match verb {
            'v' | 'g' | 'G' if spec.precision.is_none() => {
                let shown = float_v(value);
                if verb == 'G' { shown.to_uppercase() } else { shown }
            }
            'v' | 'g' | 'G' => {
                let shown = general(value, spec.precision.unwrap_or(6), spec.sharp);
                if verb == 'G' { shown.to_uppercase() } else { shown }
            }
            'e' | 'E' => {
                let shown = scientific(value, spec.precision.unwrap_or(6));
                if verb == 'E' { shown.to_uppercase() } else { shown }
            }
            'f' | 'F' => fixed(value, spec.precision.unwrap_or(6)),
            'x' | 'X' if spec.precision.is_none() => {
                let shown = hex_float(value);
                if verb == 'X' { shown.to_uppercase() } else { shown }
            }
            'b' => binary_exponent(value),
            _ => return self.bad(val, verb, spec, depth),
        };
        let (negative, digits) = match shown.strip_prefix('-') {
            Some(rest) => (true, rest.to_owned()),
            None => (false, shown.trim_start_matches('+').to_owned()),
        };
        let is_number = value.is_finite();
        let plus = spec.plus || shown.starts_with('+');
        let spec = Spec { precision: None, zero: spec.zero && is_number, plus, ..spec.clone() };
        let shown = signed(negative, &digits, "", &spec);
        self.padded(&shown, val.from, &Spec { zero: false, ..spec });
    }
}

fn truncated(text: &Text, precision: Option<usize>) -> Text {
    let Some(count) = precision else {
        return text.clone();
    };
    let bytes = text.bytes();
    let mut at = 0;
    for _ in 0..count {
        if at >= bytes.len() {
            return text.clone();
        }
        at += super::quote::decode(&bytes[at..]).1;
    }
    text.slice(0..at)
}

fn digits(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let start = *at;
    while bytes.get(*at).is_some_and(u8::is_ascii_digit) {
        *at += 1;
    }
    let text = std::str::from_utf8(&bytes[start..*at]).ok()?;
    let value: i64 = text.parse().ok()?;
    Some(value.min(WIDTH_LIMIT) as usize)
}

fn star(args: &[Val], arg: &mut usize) -> Option<i64> {
    let val = args.get(*arg);
    *arg += usize::from(val.is_some());
    match val?.kind {
        Kind::Int(value, _) if value.abs() <= WIDTH_LIMIT => Some(value),
        _ => None,
    }
}

/// `[3]`: which operand is next. Whether it was well formed.
fn index(bytes: &[u8], at: &mut usize, arg: &mut usize, count: usize, reordered: &mut bool) -> bool {
    if bytes.get(*at) != Some(&b'[') {
        return true;
    }
    *reordered = true;
    let Some(end) = bytes[*at..].iter().position(|b| *b == b']') else {
        *at += 1;
        return false;
    };
    let mut inner = *at + 1;
    let number = digits(bytes, &mut inner);
    let is_good = inner == *at + end;
    *at += end + 1;
    match number {
        Some(number) if is_good && (1..=count).contains(&number) => {
            *arg = number - 1;
            true
        }
        _ => false,
    }
}
