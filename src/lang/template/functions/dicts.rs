//! Sprig's functions over maps, and those that choose between values.

use super::{sprig, strval, variadic};
use crate::lang::template::bound::Bound;
use crate::lang::template::compare::deep_equal;
use crate::lang::template::error::{Fault, Result, fail};
use crate::lang::template::flow;
use crate::lang::template::function::{Call, Flow, Function, Purity, Ty};
use crate::lang::template::rope::Text;
use crate::lang::template::trace::SetId;
use crate::lang::template::value::{Elem, Kind, List, Map, MapEntry, MapType, Val};
use std::rc::Rc;

const ANY: &[Ty] = &[Ty::Any];
const MAP_KEY: &[Ty] = &[Ty::Map, Ty::Str];

const fn changing(function: Function) -> Function {
    Function { purity: Purity::Changes, ..function }
}

pub(super) const TABLE: &[Function] = &[
    variadic("dict", ANY, Flow::Holds, dict),
    sprig("get", MAP_KEY, Flow::Picks, get),
    changing(sprig("set", &[Ty::Map, Ty::Str, Ty::Any], Flow::Holds, set)),
    changing(sprig("unset", MAP_KEY, Flow::Holds, unset)),
    sprig("hasKey", MAP_KEY, Flow::Looks, has_key),
    variadic("pluck", &[Ty::Str, Ty::Map], Flow::Holds, pluck),
    variadic("keys", &[Ty::Map], Flow::Holds, keys),
    variadic("pick", MAP_KEY, Flow::Holds, pick),
    variadic("omit", MAP_KEY, Flow::Holds, omit),
    sprig("values", &[Ty::Map], Flow::Holds, values),
    changing(variadic("merge", &[Ty::Map, Ty::Map], Flow::Holds, merge)),
    changing(variadic("mustMerge", &[Ty::Map, Ty::Map], Flow::Holds, merge)),
    changing(variadic("mergeOverwrite", &[Ty::Map, Ty::Map], Flow::Holds, merge_overwrite)),
    changing(variadic("mustMergeOverwrite", &[Ty::Map, Ty::Map], Flow::Holds, merge_overwrite)),
    sprig("deepCopy", ANY, Flow::Holds, deep_copy),
    sprig("mustDeepCopy", ANY, Flow::Holds, deep_copy),
    variadic("dig", ANY, Flow::Picks, dig),
    variadic("default", &[Ty::Any, Ty::Any], Flow::Picks, default),
    sprig("empty", ANY, Flow::Looks, empty),
    variadic("coalesce", ANY, Flow::Picks, coalesce),
    variadic("all", ANY, Flow::Looks, all),
    variadic("any", ANY, Flow::Looks, any),
    sprig("ternary", &[Ty::Any, Ty::Any, Ty::Bool], Flow::Picks, ternary),
    sprig("deepEqual", &[Ty::Any, Ty::Any], Flow::Unites, equal),
];

fn boolean(value: bool) -> Result<Val> {
    Ok(Val::bool(value, SetId::NONE))
}

fn dict(call: &mut Call<'_>) -> Result<Val> {
    let map = Map::new(MapType::Any);
    call.cx.list(call.args.len())?;
    for pair in call.args.chunks(2) {
        let key = strval(call, &pair[0]);
        let from = flow::of_text(&mut call.cx.trace, &key);
        let val = pair.get(1).cloned().unwrap_or_else(|| Val::text(Text::empty()));
        map.insert(key.bytes(), from, val);
    }
    Ok(Val::map(map))
}

fn get(call: &mut Call<'_>) -> Result<Val> {
    let found = call.map(0).and_then(|map| map.get(call.bytes(1)));
    let by = call.set(1);
    let val = match found {
        Some(val) => val.element(),
        None => {
            let map = call.args[0].from;
            let absent = call.cx.trace.absent(map, call.bytes(1));
            Val::text(Text::empty()).with(absent)
        }
    };
    Ok(flow::decided(&mut call.cx.trace, val, by))
}

fn set(call: &mut Call<'_>) -> Result<Val> {
    let Some(map) = call.map(0).filter(|map| !map.is_nil).cloned() else {
        return fail("assignment to entry in nil map");
    };
    let key = call.text(1);
    let from = flow::of_text(&mut call.cx.trace, &key);
    let val = &call.args[2];
    let decided = call.cx.trace.question(call.under);
    let from_val = call.cx.trace.union(val.from, decided);
    let key_from = call.cx.trace.union(from, decided);
    map.insert(key.bytes(), key_from, val.clone().with(from_val));
    if map.len() > call.cx.limits.list {
        return Err(Fault::bound(Bound::List(call.cx.limits.list)));
    }
    Ok(Val::map(map.untyped()).with(call.args[0].from))
}

fn unset(call: &mut Call<'_>) -> Result<Val> {
    if let Some(map) = call.map(0) {
        map.entries.borrow_mut().remove(call.bytes(1));
        return Ok(Val::map(map.clone().untyped()).with(call.args[0].from));
    }
    Ok(call.args[0].clone())
}

fn has_key(call: &mut Call<'_>) -> Result<Val> {
    let entry = call.map(0).and_then(|map| map.entries.borrow().get(call.bytes(1)).cloned());
    let set = match &entry {
        Some(entry) => call.cx.trace.union(entry.key, entry.val.from),
        None => call.cx.trace.absent(call.args[0].from, call.bytes(1)),
    };
    Ok(Val::bool(entry.is_some(), set))
}

fn pluck(call: &mut Call<'_>) -> Result<Val> {
    let key = call.bytes(0);
    let maps = call.args[1..].iter();
    let found: Vec<Val> = maps
        .filter_map(|val| match &val.kind {
            Kind::Map(map) => map.get(key),
            _ => None,
        })
        .collect();
    let by = call.deciding(0);
    Ok(call.listed(List::any(found))?.with(by))
}

fn keys(call: &mut Call<'_>) -> Result<Val> {
    let mut found = Vec::new();
    let mut set = SetId::NONE;
    for index in 0..call.args.len() {
        let entries = call.map(index).map(Map::snapshot).unwrap_or_default();
        call.cx.list(entries.len())?;
        let own = call.set(index);
        set = call.cx.trace.union(set, own);
        for (key, entry) in entries {
            let prov = call.cx.trace.plain(entry.key);
            found.push(Val::text(Text::new(&*key, prov)));
        }
    }
    Ok(Val::list(List::new(found, Elem::Str)).with(set))
}

fn values(call: &mut Call<'_>) -> Result<Val> {
    let entries = call.map(0).map(Map::snapshot).unwrap_or_default();
    let found = entries.into_iter().map(|(_, entry)| entry.val).collect();
    let set = call.set(0);
    Ok(call.listed(List::any(found))?.with(set))
}

/// The keys that a call names.
fn named(call: &Call<'_>) -> rustc_hash::FxHashSet<Vec<u8>> {
    (1..call.args.len()).map(|index| call.bytes(index).to_vec()).collect()
}

fn chosen(call: &mut Call<'_>, is_wanted: impl Fn(&[u8]) -> bool) -> Result<Val> {
    let entries = call.map(0).map(Map::snapshot).unwrap_or_default();
    call.cx.list(entries.len())?;
    let entries = entries.into_iter().filter(|(key, _)| is_wanted(key)).collect();
    let set = call.set(0);
    Ok(Val::map(Map::of(entries)).with(set))
}

fn pick(call: &mut Call<'_>) -> Result<Val> {
    let names = named(call);
    chosen(call, |key| names.contains(key))
}

fn omit(call: &mut Call<'_>) -> Result<Val> {
    let names = named(call);
    chosen(call, |key| !names.contains(key))
}

/// How deeply maps are merged and values are copied.
const DEPTH_LIMIT: usize = 500;

/// What `mergo` counts as empty.
fn is_empty(val: &Val) -> bool {
    !val.truth()
}

/// `mergo.Merge` of maps: entries of `source` that `target` lacks or has empty; with
/// `overwrite` all but maps, which are merged.
fn merge_maps(call: &mut Call<'_>, target: &Map, source: &Map, overwrite: bool, depth: usize) -> Result<()> {
    if depth > DEPTH_LIMIT {
        return Err(Fault::bound(Bound::Nesting(DEPTH_LIMIT)));
    }
    if target.is_same(source) {
        return Ok(());
    }
    let entries = source.snapshot();
    call.cx.step(entries.len())?;
    for (key, entry) in entries {
        let old = target.get(&key);
        let put =
            |val: Val| target.entries.borrow_mut().insert(key.clone(), MapEntry { key: entry.key, val });
        if entry.val.is_nil() {
            if overwrite {
                put(entry.val);
            }
            continue;
        }
        if let (Kind::Map(new), Some(Val { kind: Kind::Map(old), .. })) = (&entry.val.kind, &old) {
            merge_maps(call, old, new, overwrite, depth + 1)?;
        }
        let old_is_empty = old.as_ref().is_none_or(is_empty);
        let both = matches!(
            (&entry.val.kind, old.as_ref().map(|old| &old.kind)),
            (Kind::Map(_), Some(Kind::Map(_)))
        );
        if both && !old_is_empty {
            continue;
        }
        if overwrite || old_is_empty {
            // What stands in a map of anything is an interface, a list excepted, which mergo
            // takes out of it.
            if target.ty == MapType::Strings && source.ty != MapType::Strings {
                let is_list = matches!(entry.val.kind, Kind::List(_));
                let given = if is_list { entry.val.type_name() } else { "interface {}".into() };
                return fail(format!(
                    "reflect.Value.SetMapIndex: value of type {given} is not assignable to type string"
                ));
            }
            put(entry.val);
        }
    }
    Ok(())
}

fn merged(call: &mut Call<'_>, overwrite: bool) -> Result<Val> {
    let target = call.map(0).map_or_else(|| Map::new(MapType::Any), |map| map.clone().untyped());
    let mut set = call.args[0].from;
    for index in 1..call.args.len() {
        if let Some(source) = call.map(index).cloned() {
            merge_maps(call, &target, &source, overwrite, 0)?;
        }
        let own = call.set(index);
        set = call.cx.trace.union(set, own);
    }
    Ok(Val::map(target).with(set))
}

fn merge(call: &mut Call<'_>) -> Result<Val> {
    merged(call, false)
}

fn merge_overwrite(call: &mut Call<'_>) -> Result<Val> {
    merged(call, true)
}

fn copied(call: &mut Call<'_>, val: &Val, depth: usize) -> Result<Val> {
    if depth > DEPTH_LIMIT {
        return Err(Fault::bound(Bound::Nesting(DEPTH_LIMIT)));
    }
    call.cx.step(16)?;
    Ok(match &val.kind {
        Kind::Map(map) => {
            let mut copies = Vec::with_capacity(map.len());
            for (key, entry) in map.entries.borrow().iter() {
                let val = copied(call, &entry.val, depth + 1)?;
                copies.push((key.clone(), MapEntry { key: entry.key, val }));
            }
            let copy = Map::of(copies.into_iter().collect());
            Val::map(Map { ty: map.ty, is_nil: map.is_nil, ..copy }).with(val.from)
        }
        Kind::List(list) => {
            let items: Result<Vec<Val>> = list.iter().map(|item| copied(call, &item, depth + 1)).collect();
            {
                let mut copy = List::new(items?, list.elem);
                copy.is_nil = list.is_nil;
                Val::list(copy)
            }
            .with(val.from)
        }
        // copystructure copies no private field, and a version has no other.
        Kind::Version(_) => Val::new(Kind::Version(Rc::default()), val.from),
        _ => val.clone(),
    })
}

fn deep_copy(call: &mut Call<'_>) -> Result<Val> {
    if call.args[0].is_nil() {
        return fail(super::builtin::ZERO_VALUE);
    }
    copied(call, &call.args[0], 0)
}

fn dig(call: &mut Call<'_>) -> Result<Val> {
    if call.args.len() < 3 {
        return fail("dig needs at least three arguments");
    }
    let (keys, rest) = call.args.split_at(call.args.len() - 2);
    let not_a_map = |val: &Val| {
        let ty = if val.is_nil() { "nil".into() } else { val.type_name() };
        format!("interface conversion: interface {{}} is {ty}, not map[string]interface {{}}")
    };
    let is_map = |val: &Val| matches!(&val.kind, Kind::Map(map) if map.ty == MapType::Any);
    let mut at = rest[1].clone();
    if !is_map(&at) {
        return fail(not_a_map(&at));
    }
    for key in keys {
        let Kind::Str(key) = &key.kind else {
            let ty = if key.is_nil() { "nil".into() } else { key.type_name() };
            return fail(format!("interface conversion: interface {{}} is {ty}, not string"));
        };
        let Kind::Map(map) = &at.kind else {
            return fail(not_a_map(&at));
        };
        if !is_map(&at) {
            return fail(not_a_map(&at));
        }
        match map.get(key.bytes()) {
            Some(next) => at = next,
            None => {
                let absent = call.cx.trace.absent(at.from, key.bytes());
                return Ok(flow::decided(&mut call.cx.trace, rest[0].clone(), absent));
            }
        }
    }
    Ok(at.element())
}

fn default(call: &mut Call<'_>) -> Result<Val> {
    match call.args {
        [default] => Ok(default.clone()),
        [_, given, ..] if given.truth() => Ok(given.clone()),
        [default, given, ..] => {
            let by = flow::of(&mut call.cx.trace, given);
            Ok(flow::decided(&mut call.cx.trace, default.clone(), by))
        }
        [] => Ok(Val::nil()),
    }
}

fn empty(call: &mut Call<'_>) -> Result<Val> {
    let set = call.set(0);
    Ok(Val::bool(is_empty(&call.args[0]), set))
}

fn coalesce(call: &mut Call<'_>) -> Result<Val> {
    let mut decided = SetId::NONE;
    for index in 0..call.args.len() {
        let val = &call.args[index];
        if val.truth() {
            let from = call.cx.trace.union(val.from, decided);
            return Ok(val.clone().with(from));
        }
        let by = call.deciding(index);
        decided = call.cx.trace.union(decided, by);
    }
    Ok(Val::nil().with(decided))
}

fn all(call: &mut Call<'_>) -> Result<Val> {
    boolean(!call.args.iter().any(is_empty))
}

fn any(call: &mut Call<'_>) -> Result<Val> {
    boolean(!call.args.iter().all(is_empty))
}

fn ternary(call: &mut Call<'_>) -> Result<Val> {
    let is_first = matches!(call.args[2].kind, Kind::Bool(true));
    let by = call.set(2);
    let chosen = call.args[usize::from(!is_first)].clone();
    Ok(flow::decided(&mut call.cx.trace, chosen, by))
}

fn equal(call: &mut Call<'_>) -> Result<Val> {
    call.cx.weigh(&call.args[0], 1)?;
    boolean(deep_equal(&call.args[0], &call.args[1]))
}
