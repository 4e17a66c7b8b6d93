//! Values as Go's `fmt` prints them: `%v` and what `Print` puts between operands.

use super::rope::{Builder, Text};
use super::trace::{ProvId, SetId, Trace};
use super::value::{IntType, Kind, Val};

/// How deeply a value is printed; Go would overflow its stack on a circle.
pub(super) const DEPTH_LIMIT: usize = 500;

/// Prints values into a text with origins.
pub(super) struct Printer<'a> {
    pub(super) out: Builder,
    pub(super) trace: &'a mut Trace,
    /// Whether something was nested too deeply to print.
    pub(super) is_too_deep: bool,
    /// Output beyond this is not made.
    pub(super) limit: usize,
    /// Whether origins are of another trace, and left out.
    is_bare: bool,
}

impl<'a> Printer<'a> {
    pub(super) fn new(trace: &'a mut Trace, limit: usize) -> Printer<'a> {
        Printer { out: Builder::default(), trace, is_too_deep: false, limit, is_bare: false }
    }

    fn add(&mut self, text: &str, from: SetId) {
        let prov = self.plain(from);
        self.out.push(text.as_bytes(), prov);
    }

    fn plain(&mut self, from: SetId) -> ProvId {
        if self.is_bare { ProvId::default() } else { self.trace.plain(from) }
    }

    pub(super) fn str(&mut self, text: &str) {
        self.out.push(text.as_bytes(), ProvId::default());
    }

    /// A text as an operand: its own parts, and what decided on it.
    pub(super) fn text(&mut self, text: &Text, from: SetId) {
        if self.is_bare {
            self.out.push(text.bytes(), ProvId::default());
            return;
        }
        let text = super::flow::also(self.trace, text, from);
        self.out.push_text(&text);
    }

    /// `%v`, or `%+v` with the names of fields.
    pub(super) fn value(&mut self, val: &Val, plus: bool, depth: usize) {
        if depth > DEPTH_LIMIT || self.out.len() > self.limit {
            self.is_too_deep |= depth > DEPTH_LIMIT;
            return;
        }
        match &val.kind {
            Kind::Str(text) => self.text(text, val.from),
            Kind::Bytes(text) => {
                let prov = self.plain(val.from);
                self.out.push(b"[", prov);
                for (index, byte) in text.bytes().iter().enumerate() {
                    let shown = if index > 0 { format!(" {byte}") } else { byte.to_string() };
                    let own = if self.is_bare { ProvId::default() } else { text.prov_at(index) };
                    self.out.push(shown.as_bytes(), own);
                }
                self.out.push(b"]", prov);
            }
            Kind::List(list) => {
                self.add("[", val.from);
                for (index, item) in list.iter().enumerate() {
                    if index > 0 {
                        self.str(" ");
                    }
                    self.value(&item, plus, depth + 1);
                }
                self.add("]", val.from);
            }
            Kind::Map(map) => {
                self.add("map[", val.from);
                for (index, (key, entry)) in map.snapshot().into_iter().enumerate() {
                    if index > 0 {
                        self.str(" ");
                    }
                    let prov = self.plain(entry.key);
                    self.out.push(&key, prov);
                    self.str(":");
                    self.value(&entry.val, plus, depth + 1);
                }
                self.add("]", val.from);
            }
            Kind::Struct(of) => {
                self.str(if of.type_name.starts_with('*') { "&{" } else { "{" });
                for (index, (name, field)) in of.fields.iter().enumerate() {
                    if index > 0 {
                        self.str(" ");
                    }
                    if plus {
                        self.str(&format!("{name}:"));
                    }
                    self.value(field, plus, depth + 1);
                }
                self.str("}");
            }
            _ => {
                let shown = scalar(val);
                self.add(&shown, val.from);
            }
        }
    }
}

/// A scalar by `%v`.
pub(super) fn scalar(val: &Val) -> String {
    match &val.kind {
        Kind::Nil | Kind::Null => "<nil>".to_owned(),
        Kind::Bool(value) => value.to_string(),
        Kind::Int(value, ty) => int(*value, *ty),
        Kind::Float(value) => float_v(*value),
        Kind::Complex(real, imaginary) => complex(*real, *imaginary),
        Kind::Time(time) => time.full(),
        Kind::Version(version) => version.full(),
        _ => String::new(),
    }
}

/// An integer, or what the type's `String` method makes of it.
pub(super) fn int(value: i64, ty: IntType) -> String {
    match ty {
        IntType::Month => super::time::month(value),
        IntType::Weekday => super::time::weekday(value),
        ty if ty.is_unsigned() => (value as u64).to_string(),
        _ => value.to_string(),
    }
}

pub(super) fn complex(real: f64, imaginary: f64) -> String {
    let second = float_v(imaginary);
    let sign = if second.starts_with(['-', '+']) { "" } else { "+" };
    format!("({}{sign}{second}i)", float_v(real))
}

/// A float by `%v`: `strconv.FormatFloat` of the shortest digits, with exponents from
/// a million on.
pub(crate) fn float_v(value: f64) -> String {
    float_shortest(value, 6)
}

/// The shortest digits that mean the value; exponents below 1e-4 and from
/// `10^large` on.
pub(super) fn float_shortest(value: f64, large: i32) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    if value == 0.0 {
        return if value.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= large {
        return format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
    }
    format!("{value}")
}

/// A value by `%v`, with no origins: for messages.
pub(super) fn shown(val: &Val) -> String {
    let mut trace = Trace::new(false);
    let val = val.clone();
    let mut printer = Printer::new(&mut trace, SHOWN_LIMIT);
    printer.is_bare = true;
    printer.value(&val, false, 0);
    String::from_utf8_lossy(&printer.out.bytes).into_owned()
}

/// Messages show no more of a value.
const SHOWN_LIMIT: usize = 1 << 20;
