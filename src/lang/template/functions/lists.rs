//! Sprig's functions over lists.

use super::cast::to_int64;
use super::{sprig, strval, variadic};
use crate::lang::template::compare::deep_equal;
use crate::lang::template::error::{NIL_POINTER, Result, fail};
use crate::lang::template::flow;
use crate::lang::template::function::{Call, Flow, Function, Ty};
use crate::lang::template::rope::Text;
use crate::lang::template::trace::SetId;
use crate::lang::template::value::{Elem, IntType, Kind, List, Map, MapType, Val};

const ANY: &[Ty] = &[Ty::Any];
const TWO: &[Ty] = &[Ty::Any, Ty::Any];

pub(super) const TABLE: &[Function] = &[
    variadic("tuple", ANY, Flow::Holds, list),
    variadic("list", ANY, Flow::Holds, list),
    sprig("append", TWO, Flow::Holds, append),
    sprig("push", TWO, Flow::Holds, append),
    sprig("mustAppend", TWO, Flow::Holds, append),
    sprig("mustPush", TWO, Flow::Holds, append),
    sprig("prepend", TWO, Flow::Holds, prepend),
    sprig("mustPrepend", TWO, Flow::Holds, prepend),
    sprig("first", ANY, Flow::Picks, first),
    sprig("mustFirst", ANY, Flow::Picks, first),
    sprig("last", ANY, Flow::Picks, last),
    sprig("mustLast", ANY, Flow::Picks, last),
    sprig("rest", ANY, Flow::Holds, rest),
    sprig("mustRest", ANY, Flow::Holds, rest),
    sprig("initial", ANY, Flow::Holds, initial),
    sprig("mustInitial", ANY, Flow::Holds, initial),
    sprig("reverse", ANY, Flow::Holds, reverse),
    sprig("mustReverse", ANY, Flow::Holds, reverse),
    sprig("uniq", ANY, Flow::Holds, uniq),
    sprig("mustUniq", ANY, Flow::Holds, uniq),
    variadic("without", TWO, Flow::Holds, without),
    variadic("mustWithout", TWO, Flow::Holds, without),
    sprig("has", TWO, Flow::Unites, has),
    sprig("mustHas", TWO, Flow::Unites, has),
    variadic("slice", TWO, Flow::Holds, slice),
    variadic("mustSlice", TWO, Flow::Holds, slice),
    variadic("concat", ANY, Flow::Holds, concat),
    sprig("chunk", &[Ty::Int, Ty::Any], Flow::Holds, chunk),
    sprig("mustChunk", &[Ty::Int, Ty::Any], Flow::Holds, chunk),
    sprig("compact", ANY, Flow::Holds, compact),
    sprig("mustCompact", ANY, Flow::Holds, compact),
    sprig("join", &[Ty::Str, Ty::Any], Flow::Keeps, join),
    sprig("sortAlpha", ANY, Flow::Holds, sort_alpha),
    sprig("toStrings", ANY, Flow::Holds, to_strings),
    sprig("splitList", &[Ty::Str, Ty::Str], Flow::Keeps, split_list),
    sprig("split", &[Ty::Str, Ty::Str], Flow::Keeps, split),
    sprig("splitn", &[Ty::Str, Ty::Int, Ty::Str], Flow::Keeps, splitn),
];

/// An argument as a list, with Go's complaint where it is none.
fn items(call: &mut Call<'_>, index: usize, complaint: &str) -> Result<List> {
    let val = &call.args[index];
    let list = match &val.kind {
        Kind::List(list) => list.clone(),
        Kind::Bytes(text) => {
            let byte = |(at, byte): (usize, &u8)| {
                let prov = call.cx.trace.prov(text.prov_at(at)).from;
                Val::new(Kind::Int(i64::from(*byte), IntType::Uint8), prov)
            };
            List::any(text.bytes().iter().enumerate().map(byte).collect())
        }
        Kind::Nil | Kind::Null => return fail(NIL_POINTER),
        _ => return fail(format!("{complaint} {}", val.kind_name())),
    };
    call.cx.list(list.len())?;
    Ok(list)
}

/// A list whose number of elements hangs on that of another.
fn held(call: &mut Call<'_>, items: Vec<Val>, of: usize) -> Result<Val> {
    let set = call.set(of);
    call.cx.list(items.len())?;
    Ok(Val::list(List::any(items)).with(set))
}

fn list(call: &mut Call<'_>) -> Result<Val> {
    let items: Vec<Val> = call.args.iter().cloned().map(Val::stored).collect();
    call.listed(List::any(items))
}

fn append(call: &mut Call<'_>) -> Result<Val> {
    longer(call, List::append, "Cannot push on type")
}

fn prepend(call: &mut Call<'_>) -> Result<Val> {
    longer(call, List::prepend, "Cannot prepend on type")
}

fn longer(call: &mut Call<'_>, add: fn(&List, Val) -> List, complaint: &str) -> Result<Val> {
    let val = call.args[1].clone().stored();
    let set = call.set(0);
    let from = match &call.args[0].kind {
        Kind::List(list) if list.elem != Elem::Any || list.len() < call.cx.limits.list => list.clone(),
        _ => items(call, 0, complaint)?,
    };
    let list = add(&from, val);
    // Not counted per element where nothing is copied.
    if !list.shares_with(&from) {
        call.cx.list(list.len())?;
    }
    Ok(Val::list(list).with(set))
}

fn picked(call: &mut Call<'_>, val: Option<Val>) -> Result<Val> {
    let by = call.set(0);
    let val = val.unwrap_or_else(Val::nil).element();
    let mut val = flow::decided(&mut call.cx.trace, val, by);
    val.boxed = true;
    Ok(val)
}

fn first(call: &mut Call<'_>) -> Result<Val> {
    let found = match &call.args[0].kind {
        Kind::List(list) => (list.len() > 0).then(|| list.get(0)),
        _ => items(call, 0, "Cannot find first on type")?.iter().next(),
    };
    picked(call, found)
}

fn last(call: &mut Call<'_>) -> Result<Val> {
    let found = match &call.args[0].kind {
        Kind::List(list) => list.len().checked_sub(1).map(|at| list.get(at)),
        _ => items(call, 0, "Cannot find last on type")?.iter().next_back(),
    };
    picked(call, found)
}

/// A part of a list, as untyped items; of an empty one, Go's nil slice.
fn part(call: &mut Call<'_>, complaint: &str, range: impl Fn(usize) -> (usize, usize)) -> Result<Val> {
    let list = match &call.args[0].kind {
        Kind::List(list) => list.clone(),
        _ => items(call, 0, complaint)?,
    };
    let set = call.set(0);
    if list.len() == 0 {
        return Ok(Val::list(List::nil(Elem::Any)).with(set));
    }
    let (start, end) = range(list.len());
    let list = list.slice(start, end).untyped();
    Ok(Val::list(list).with(set))
}

fn rest(call: &mut Call<'_>) -> Result<Val> {
    part(call, "Cannot find rest on type", |len| (1, len))
}

fn initial(call: &mut Call<'_>) -> Result<Val> {
    part(call, "Cannot find initial on type", |len| (0, len - 1))
}

fn reverse(call: &mut Call<'_>) -> Result<Val> {
    let list = items(call, 0, "Cannot find reverse on type")?;
    let all = list.iter().rev().collect();
    held(call, all, 0)
}

/// What two equal values have in common: the same goes to the same place.
fn sketch(val: &Val) -> Option<(u8, Vec<u8>)> {
    Some(match &val.kind {
        Kind::Nil | Kind::Null => (0, Vec::new()),
        Kind::Bool(value) => (1, vec![u8::from(*value)]),
        Kind::Int(value, ty) => (2 + *ty as u8, value.to_le_bytes().to_vec()),
        Kind::Float(value) if *value == 0.0 => (30, Vec::new()),
        Kind::Float(value) if !value.is_nan() => (31, value.to_le_bytes().to_vec()),
        Kind::Str(text) => (32, text.bytes().to_vec()),
        _ => return None,
    })
}

/// Whether a value equals one of those seen: scalars by a set, others one by one.
struct Seen {
    scalars: rustc_hash::FxHashSet<(u8, Vec<u8>)>,
    others: Vec<Val>,
}

impl Seen {
    fn new() -> Seen {
        Seen { scalars: Default::default(), others: Vec::new() }
    }

    fn has(&self, call: &mut Call<'_>, val: &Val) -> Result<bool> {
        match sketch(val) {
            Some(sketch) => Ok(self.scalars.contains(&sketch)),
            None if self.others.is_empty() => Ok(false),
            None => {
                call.cx.weigh(val, self.others.len())?;
                Ok(self.others.iter().any(|other| deep_equal(other, val)))
            }
        }
    }

    fn add(&mut self, val: &Val) {
        match sketch(val) {
            Some(sketch) => drop(self.scalars.insert(sketch)),
            None => self.others.push(val.clone()),
        }
    }
}

fn uniq(call: &mut Call<'_>) -> Result<Val> {
    let list = items(call, 0, "Cannot find uniq on type")?;
    let mut seen = Seen::new();
    let mut out = Vec::new();
    for item in list.iter() {
        if !seen.has(call, &item)? {
            seen.add(&item);
            out.push(item);
        }
    }
    held(call, out, 0)
}

fn without(call: &mut Call<'_>) -> Result<Val> {
    let list = items(call, 0, "Cannot find without on type")?;
    let mut omit = Seen::new();
    call.args[1..].iter().for_each(|val| omit.add(val));
    let mut out = Vec::new();
    for item in list.iter() {
        if !omit.has(call, &item)? {
            out.push(item);
        }
    }
    held(call, out, 0)
}

fn has(call: &mut Call<'_>) -> Result<Val> {
    if call.args[1].is_nil() {
        return Ok(Val::bool(false, SetId::NONE));
    }
    let list = items(call, 1, "Cannot find has on type")?;
    call.cx.weigh(&call.args[1], 1)?;
    let found = list.iter().any(|item| deep_equal(&call.args[0], &item));
    Ok(Val::bool(found, SetId::NONE))
}

fn slice(call: &mut Call<'_>) -> Result<Val> {
    let list = match &call.args[0].kind {
        Kind::List(list) => list.clone(),
        _ => items(call, 0, "list should be type of slice or array but")?,
    };
    let set = call.set(0);
    if list.len() == 0 {
        return Ok(Val::nil().with(set));
    }
    let start = call.args.get(1).map_or(0, to_int64);
    let end = call.args.get(2).map_or(list.len() as i64, to_int64);
    if start < 0 || end < start || end > list.len() as i64 {
        return fail("reflect.Value.Slice: slice index out of bounds");
    }
    Ok(Val::list(list.slice(start as usize, end as usize)).with(set))
}

fn concat(call: &mut Call<'_>) -> Result<Val> {
    let mut out = Vec::new();
    let mut set = SetId::NONE;
    for index in 0..call.args.len() {
        let list = match &call.args[index].kind {
            Kind::List(_) | Kind::Bytes(_) | Kind::Nil | Kind::Null => items(call, index, "")?,
            _ => {
                let kind = call.args[index].kind_name();
                return fail(format!("Cannot concat type {kind} as list"));
            }
        };
        let own = call.set(index);
        set = call.cx.trace.union(set, own);
        out.extend(list.iter());
        call.cx.list(out.len())?;
    }
    if out.is_empty() {
        return Ok(Val::list(List::nil(Elem::Any)).with(set));
    }
    Ok(Val::list(List::any(out)).with(set))
}

fn chunk(call: &mut Call<'_>) -> Result<Val> {
    let size = call.int(0);
    let list = items(call, 1, "Cannot chunk type")?;
    let len = list.len() as i64;
    if size <= 0 {
        // What Go's arithmetic of floats makes of it.
        let count = if size == 0 { -1.0 } else { ((len - 1) as f64 / size as f64).floor() + 1.0 };
        if len == 1 && size < -1 {
            return Ok(Val::list(List::new(vec![Val::list(list.untyped())], Elem::Lists)));
        }
        return if count == 0.0 {
            Ok(Val::list(List::new(Vec::new(), Elem::Lists)))
        } else {
            fail("runtime error: makeslice: len out of range")
        };
    }
    let size = size as usize;
    let mut chunks = Vec::new();
    let mut start = 0;
    while start < list.len() {
        let end = (start + size).min(list.len());
        chunks.push(Val::list(list.slice(start, end).untyped()));
        start = end;
    }
    let set = call.set(1);
    Ok(Val::list(List::new(chunks, Elem::Lists)).with(set))
}

fn compact(call: &mut Call<'_>) -> Result<Val> {
    let list = items(call, 0, "Cannot compact on type")?;
    let all = list.iter().filter(|item| item.truth()).collect();
    held(call, all, 0)
}

/// Sprig's `strslice`.
fn strings(call: &mut Call<'_>, index: usize) -> Result<Vec<Text>> {
    let val = &call.args[index];
    let list = match &val.kind {
        Kind::List(list) => list.clone(),
        Kind::Bytes(_) => items(call, index, "")?,
        Kind::Nil | Kind::Null => return Ok(Vec::new()),
        _ => return Ok(vec![strval(call, val)]),
    };
    call.cx.list(list.len())?;
    let texts = list.iter().filter(|item| !item.is_nil());
    Ok(texts.map(|item| strval(call, &item)).collect())
}

fn join(call: &mut Call<'_>) -> Result<Val> {
    let texts = strings(call, 1)?;
    let separator = call.text(0);
    let mut out = crate::lang::template::rope::Builder::default();
    let total: usize = texts.iter().map(Text::len).sum();
    call.cx.text(total.saturating_add(separator.len().saturating_mul(texts.len())))?;
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            out.push_text(&separator);
        }
        out.push_text(text);
    }
    let by = call.deciding(1);
    Ok(Val::text(out.finish()).with(by))
}

fn text_list(call: &mut Call<'_>, texts: Vec<Text>) -> Result<Val> {
    call.listed(List::new(texts.into_iter().map(Val::text).collect(), Elem::Str))
}

fn sort_alpha(call: &mut Call<'_>) -> Result<Val> {
    let mut texts = match &call.args[0].kind {
        Kind::List(_) | Kind::Bytes(_) => strings(call, 0)?,
        _ => vec![strval(call, &call.args[0])],
    };
    texts.sort_by(|a, b| a.bytes().cmp(b.bytes()));
    let set = call.set(0);
    Ok(text_list(call, texts)?.with(set))
}

fn to_strings(call: &mut Call<'_>) -> Result<Val> {
    let texts = strings(call, 0)?;
    let set = call.set(0);
    Ok(text_list(call, texts)?.with(set))
}

/// `strings.SplitN`; `limit` below zero is none.
fn parts(call: &mut Call<'_>, separator: &[u8], index: usize, limit: i64) -> Result<Vec<Text>> {
    let text = call.text(index);
    let bytes = text.bytes();
    let mut out = Vec::new();
    if limit == 0 {
        return Ok(out);
    }
    let most = if limit < 0 { usize::MAX } else { limit as usize };
    let mut start = 0;
    if separator.is_empty() {
        while start < bytes.len() && out.len() + 1 < most {
            let (_, length) = crate::lang::template::quote::decode(&bytes[start..]);
            out.push(text.slice(start..start + length));
            start += length;
            call.cx.list(0)?;
        }
        if start < bytes.len() {
            out.push(text.slice(start..bytes.len()));
        }
    } else {
        for at in memchr::memmem::find_iter(bytes, separator) {
            if out.len() + 1 >= most {
                break;
            }
            out.push(text.slice(start..at));
            start = at + separator.len();
        }
        out.push(text.slice(start..bytes.len()));
    }
    call.cx.list(out.len())?;
    Ok(out)
}

fn split_list(call: &mut Call<'_>) -> Result<Val> {
    let separator = call.bytes(0).to_vec();
    let texts = parts(call, &separator, 1, -1)?;
    let set = call.set(1);
    Ok(text_list(call, texts)?.with(set))
}

fn text_map(call: &mut Call<'_>, texts: Vec<Text>, of: usize) -> Result<Val> {
    let set = call.set(of);
    let map = Map::new(MapType::Strings);
    for (index, text) in texts.into_iter().enumerate() {
        map.insert(format!("_{index}").as_bytes(), SetId::NONE, Val::text(text));
    }
    Ok(Val::map(map).with(set))
}

fn split(call: &mut Call<'_>) -> Result<Val> {
    let separator = call.bytes(0).to_vec();
    let texts = parts(call, &separator, 1, -1)?;
    text_map(call, texts, 1)
}

fn splitn(call: &mut Call<'_>) -> Result<Val> {
    let separator = call.bytes(0).to_vec();
    let limit = call.int(1);
    let texts = parts(call, &separator, 2, limit)?;
    text_map(call, texts, 2)
}
