//! Go's own functions.

use super::{Native, percent_v};
use crate::lang::template::bound::Bound;
use crate::lang::template::compare;
use crate::lang::template::error::{Fault, Result, fail};
use crate::lang::template::flow;
use crate::lang::template::function::{Call, Flow, Function, FunctionBody, Library, Purity, Ty};
use crate::lang::template::limits::Libraries;
use crate::lang::template::printf::sprintf;
use crate::lang::template::rope::{Builder, Text};
use crate::lang::template::trace::{ProvId, SetId};
use crate::lang::template::value::{IntType, Kind, MapType, Val};
use std::cmp::Ordering;

const fn go(
    name: &'static str,
    params: &'static [Ty],
    is_variadic: bool,
    flow: Flow,
    run: Native,
) -> Function {
    let (library, purity, run) = (Library::Go, Purity::Pure, FunctionBody::Native(run));
    Function { name, library, params, is_variadic, purity, flow, run }
}

const fn special(name: &'static str, run: FunctionBody) -> Function {
    let (library, purity, flow) = (Library::Go, Purity::Pure, Flow::Picks);
    Function { name, library, params: &[Ty::Value, Ty::Value], is_variadic: true, purity, flow, run }
}

const ONE: &[Ty] = &[Ty::Value];
const TWO: &[Ty] = &[Ty::Value, Ty::Value];
const ANY: &[Ty] = &[Ty::Any];

pub(super) const TABLE: &[Function] = &[
    special("and", FunctionBody::And),
    special("or", FunctionBody::Or),
    go("call", TWO, true, Flow::Unites, call),
    go("eq", TWO, true, Flow::Unites, eq),
    go("ge", TWO, false, Flow::Unites, ge),
    go("gt", TWO, false, Flow::Unites, gt),
    go("html", ANY, true, Flow::Keeps, html),
    go("index", TWO, true, Flow::Picks, index),
    go("js", ANY, true, Flow::Keeps, js),
    go("le", TWO, false, Flow::Unites, le),
    go("len", ONE, false, Flow::Unites, len),
    go("lt", TWO, false, Flow::Unites, lt),
    go("ne", TWO, false, Flow::Unites, ne),
    go("not", ONE, false, Flow::Looks, not),
    go("print", ANY, true, Flow::Keeps, print),
    go("printf", &[Ty::Str, Ty::Any], true, Flow::Keeps, printf),
    go("println", ANY, true, Flow::Keeps, println),
    go("urlquery", ANY, true, Flow::Keeps, urlquery),
];

fn boolean(value: bool) -> Result<Val> {
    Ok(Val::bool(value, SetId::NONE))
}

fn call(call: &mut Call<'_>) -> Result<Val> {
    if call.args[0].is_nil() {
        return fail("call of nil");
    }
    fail(format!(
        "non-function {} of type {}",
        crate::lang::template::print::shown(&call.args[0]),
        call.args[0].type_name()
    ))
}

/// Whether the first argument is one of the others; what can't be compared is shown.
fn is_equal(call: &mut Call<'_>) -> Result<bool> {
    call.args.iter().try_for_each(|arg| call.cx.weigh(arg, 4))?;
    compare::eq(call.args).map_err(|fault| told(call, fault))
}

/// Go names the types that can't be compared since 1.24.
fn told(call: &Call<'_>, fault: Box<Fault>) -> Box<Fault> {
    const TYPES: &str = "incompatible types for comparison";
    let is_about_types = fault.bound.is_none() && fault.message().starts_with(TYPES);
    if call.cx.libraries == Libraries::Helm3_17 && is_about_types { Fault::new(TYPES) } else { fault }
}

fn order(call: &Call<'_>) -> Result<Option<Ordering>> {
    compare::order(&call.args[0], &call.args[1]).map_err(|fault| told(call, fault))
}

fn eq(call: &mut Call<'_>) -> Result<Val> {
    boolean(is_equal(call)?)
}

fn ne(call: &mut Call<'_>) -> Result<Val> {
    boolean(!is_equal(call)?)
}

fn lt(call: &mut Call<'_>) -> Result<Val> {
    boolean(order(call)? == Some(Ordering::Less))
}

fn le(call: &mut Call<'_>) -> Result<Val> {
    boolean(matches!(order(call)?, Some(Ordering::Less | Ordering::Equal)))
}

fn gt(call: &mut Call<'_>) -> Result<Val> {
    // Go computes it as neither less nor equal.
    boolean(!matches!(order(call)?, Some(Ordering::Less | Ordering::Equal)))
}

fn ge(call: &mut Call<'_>) -> Result<Val> {
    boolean(order(call)? != Some(Ordering::Less))
}

fn not(call: &mut Call<'_>) -> Result<Val> {
    boolean(!call.args[0].truth())
}

/// Go's panic where it asks for the type of nothing.
pub(super) const ZERO_VALUE: &str = "reflect: call of reflect.Value.Type on zero Value";

fn len(call: &mut Call<'_>) -> Result<Val> {
    let length = match &call.args[0].kind {
        Kind::Str(text) | Kind::Bytes(text) => text.len(),
        Kind::List(list) => list.len(),
        Kind::Map(map) => map.len(),
        Kind::Nil => return fail(ZERO_VALUE),
        Kind::Null => return fail("len of nil pointer"),
        _ => {
            // Go asks what a pointer points to.
            let name = call.args[0].type_name();
            let name = name.trim_start_matches('*');
            return fail(format!("len of type {name}"));
        }
    };
    Ok(Val::int(length as i64, SetId::NONE))
}

/// An index into a slice or a string of `len`, as Go takes it.
fn position(index: &Val, len: usize, of: &str) -> Result<usize> {
    let at = match index.kind {
        Kind::Int(at, _) => at,
        Kind::Nil | Kind::Null => return fail("cannot index slice/array with nil"),
        _ => return fail(format!("cannot index slice/array with type {}", index.type_name())),
    };
    if at < 0 || at > len as i64 {
        return fail(format!("index out of range: {at}"));
    }
    if at == len as i64 {
        // text/template takes it, reflect panics.
        return fail(format!("reflect: {of} index out of range"));
    }
    Ok(at as usize)
}

fn index(call: &mut Call<'_>) -> Result<Val> {
    let mut item = call.args[0].clone();
    if item.is_nil() {
        return fail("index of untyped nil");
    }
    for at in 1..call.args.len() {
        let index = &call.args[at];
        let by = flow::of(&mut call.cx.trace, index);
        let next = match &item.kind {
            Kind::Nil | Kind::Null => return fail("index of nil pointer"),
            Kind::List(list) => list.given(list.get(position(index, list.len(), "slice")?)),
            Kind::Str(text) | Kind::Bytes(text) => {
                let at = position(
                    index,
                    text.len(),
                    if matches!(item.kind, Kind::Str(_)) { "string" } else { "slice" },
                )?;
                let byte = Kind::Int(i64::from(text.bytes()[at]), IntType::Uint8);
                let from = flow::of(&mut call.cx.trace, &item);
                Val::new(byte, from)
            }
            Kind::Map(map) => {
                let Kind::Str(key) = &index.kind else {
                    if index.is_nil() {
                        return fail("value is nil; should be of type string");
                    }
                    return fail(format!("value has type {}; should be string", index.type_name()));
                };
                match map.get(key.bytes()) {
                    Some(val) => map.given(val),
                    None => {
                        let absent = call.cx.trace.absent(item.from, key.bytes());
                        match map.ty {
                            MapType::Any | MapType::Values => Val::nil().with(absent).element(),
                            MapType::Strings => Val::text(Text::empty()).with(absent),
                            MapType::Files => Val::new(Kind::Bytes(Text::empty()), absent),
                        }
                    }
                }
            }
            _ => return fail(format!("can't index item of type {}", item.type_name())),
        };
        let boxed = next.boxed;
        item = flow::decided(&mut call.cx.trace, next, by);
        item.boxed = boxed;
    }
    Ok(item)
}

/// `fmt.Sprint`: blanks where neither side is a text.
fn sprint(call: &mut Call<'_>, always: bool) -> Result<Builder> {
    let mut out = Builder::default();
    let mut before_is_text = true;
    for (index, val) in call.args.iter().enumerate() {
        let is_text = super::strings::is_text(val);
        if index > 0 && (always || (!is_text && !before_is_text)) {
            out.push(b" ", ProvId::default());
        }
        let text = percent_v(call, val);
        out.push_text(&text);
        call.cx.text(out.len())?;
        before_is_text = is_text;
    }
    Ok(out)
}

fn print(call: &mut Call<'_>) -> Result<Val> {
    let out = sprint(call, false)?;
    call.built(out)
}

fn println(call: &mut Call<'_>) -> Result<Val> {
    let mut out = sprint(call, true)?;
    out.push(b"\n", ProvId::default());
    call.built(out)
}

fn printf(call: &mut Call<'_>) -> Result<Val> {
    let format = call.text(0);
    let limit = call.cx.limits.text;
    let Some(text) = sprintf(&mut call.cx.trace, &format, &call.args[1..], limit) else {
        return Err(Fault::bound(Bound::Unsupported("printf of a time by a verb that prints an address")));
    };
    if text.len() > limit {
        call.cx.text(text.len())?;
    }
    call.cx.step(1 + format.len() / 64)?;
    Ok(Val::text(text))
}

/// `template.evalArgs`: a single text as it is, else as `Sprint`; nil is no value.
fn operands(call: &mut Call<'_>) -> Result<Text> {
    if let [one] = call.args
        && super::strings::is_text(one)
    {
        return Ok(call.text(0));
    }
    let no_value = Val::text(Text::new(&b"<no value>"[..], ProvId::default()));
    let args: Vec<Val> = call
        .args
        .iter()
        .map(|val| if val.is_nil() { no_value.clone().with(val.from) } else { val.clone() })
        .collect();
    let mut shown = Call { cx: &mut *call.cx, args: &args, under: call.under };
    Ok(sprint(&mut shown, false)?.finish())
}

/// Writes a text anew, byte by byte or character by character.
fn escaped(call: &mut Call<'_>, escape: impl Fn(char, &mut String)) -> Result<Val> {
    let text = operands(call)?;
    let mut out = Builder::default();
    let mut buffer = String::new();
    for (range, prov) in text.runs() {
        buffer.clear();
        for c in String::from_utf8_lossy(&text.bytes()[range]).chars() {
            escape(c, &mut buffer);
        }
        out.push(buffer.as_bytes(), prov);
        call.cx.text(0)?;
    }
    call.built(out)
}

fn html(call: &mut Call<'_>) -> Result<Val> {
    escaped(call, |c, out| match c {
        '\0' => out.push('\u{fffd}'),
        '"' => out.push_str("&#34;"),
        '\'' => out.push_str("&#39;"),
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        c => out.push(c),
    })
}

fn js(call: &mut Call<'_>) -> Result<Val> {
    escaped(call, |c, out| match c {
        '\\' => out.push_str("\\\\"),
        '\'' => out.push_str("\\'"),
        '"' => out.push_str("\\\""),
        '<' | '>' | '&' | '=' => out.push_str(&format!("\\u{:04X}", c as u32)),
        c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04X}", c as u32)),
        c if !crate::lang::template::quote::is_print(c) => out.push_str(&format!("\\u{:04X}", c as u32)),
        c => out.push(c),
    })
}

fn urlquery(call: &mut Call<'_>) -> Result<Val> {
    let text = operands(call)?;
    let mut out = Builder::default();
    for (range, prov) in text.runs() {
        let mut piece = Vec::new();
        for byte in &text.bytes()[range] {
            match byte {
                b' ' => piece.push(b'+'),
                b'-' | b'_' | b'.' | b'~' => piece.push(*byte),
                byte if byte.is_ascii_alphanumeric() => piece.push(*byte),
                byte => piece.extend_from_slice(format!("%{byte:02X}").as_bytes()),
            }
        }
        out.push(&piece, prov);
    }
    call.built(out)
}
