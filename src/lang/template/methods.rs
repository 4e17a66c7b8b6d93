//! Methods of the values that have some.

use super::error::{Result, fail};
use super::function::{Call, Flow, Function, FunctionBody, Library, Purity, Ty};
use super::functions::{base_name, yaml_of};
use super::rope::Text;
use super::time::Time;
use super::trace::SetId;
use super::value::{Elem, IntType, Kind, List, Map, MapEntry, MapType, Val};
use super::version::Version;
use std::cmp::Ordering;
use std::rc::Rc;

const fn method(
    name: &'static str,
    params: &'static [Ty],
    flow: Flow,
    run: fn(&mut Call<'_>) -> Result<Val>,
) -> Function {
    let run = FunctionBody::Native(run);
    Function { name, library: Library::Go, params, is_variadic: false, purity: Purity::Pure, flow, run }
}

const S: &[Ty] = &[Ty::Str];

const FILES: &[Function] = &[
    method("Get", S, Flow::Keeps, file_text),
    method("GetBytes", S, Flow::Keeps, file_bytes),
    method("Glob", S, Flow::Holds, file_glob),
    method("AsConfig", &[], Flow::Keeps, file_config),
    method("AsSecrets", &[], Flow::Keeps, file_secrets),
    method("Lines", S, Flow::Keeps, file_lines),
];

const VALUES: &[Function] = &[
    method("AsMap", &[], Flow::Holds, values_map),
    method("YAML", &[], Flow::Keeps, values_yaml),
    method("Table", S, Flow::Picks, values_table),
    method("PathValue", S, Flow::Picks, values_path),
];

const VERSION_SET: &[Function] = &[method("Has", S, Flow::Looks, has_version)];

const TIME: &[Function] = &[
    method("Format", S, Flow::Unites, time_format),
    method("String", &[], Flow::Unites, time_string),
    method("Year", &[], Flow::Unites, |call| number(time(call).civil().year().into(), IntType::Int)),
    method("Month", &[], Flow::Unites, |call| number(time(call).civil().month().into(), IntType::Month)),
    method("Day", &[], Flow::Unites, |call| number(time(call).civil().day().into(), IntType::Int)),
    method("Hour", &[], Flow::Unites, |call| number(time(call).civil().hour().into(), IntType::Int)),
    method("Minute", &[], Flow::Unites, |call| number(time(call).civil().minute().into(), IntType::Int)),
    method("Second", &[], Flow::Unites, |call| number(time(call).civil().second().into(), IntType::Int)),
    method("Nanosecond", &[], Flow::Unites, |call| number(time(call).nanos.into(), IntType::Int)),
    method("Weekday", &[], Flow::Unites, |call| number(time(call).weekday(), IntType::Weekday)),
    method("YearDay", &[], Flow::Unites, |call| {
        number(time(call).civil().day_of_year().into(), IntType::Int)
    }),
    method("Unix", &[], Flow::Unites, |call| number(time(call).seconds, IntType::Int64)),
    method("UnixMilli", &[], Flow::Unites, |call| {
        let time = time(call);
        number(
            time.seconds.wrapping_mul(1000).wrapping_add(i64::from(time.nanos / 1_000_000)),
            IntType::Int64,
        )
    }),
    method("UnixNano", &[], Flow::Unites, |call| {
        let time = time(call);
        number(time.seconds.wrapping_mul(1_000_000_000).wrapping_add(time.nanos.into()), IntType::Int64)
    }),
    method("IsZero", &[], Flow::Unites, |call| Ok(Val::bool(time(call).is_zero(), SetId::NONE))),
    method("UTC", &[], Flow::Unites, |call| Ok(Val::time(time(call).within("UTC"), SetId::NONE))),
    method("Local", &[], Flow::Unites, |call| Ok(Val::time(time(call).within("Local"), SetId::NONE))),
    method("Before", &[Ty::Time], Flow::Unites, |call| before(call, 0, 1)),
    method("After", &[Ty::Time], Flow::Unites, |call| before(call, 1, 0)),
];

const VERSION: &[Function] = &[
    method("Major", &[], Flow::Unites, |call| number(version(call, 0)?.major as i64, IntType::Uint64)),
    method("Minor", &[], Flow::Unites, |call| number(version(call, 0)?.minor as i64, IntType::Uint64)),
    method("Patch", &[], Flow::Unites, |call| number(version(call, 0)?.patch as i64, IntType::Uint64)),
    method("Prerelease", &[], Flow::Unites, |call| text(version(call, 0)?.pre.clone())),
    method("Metadata", &[], Flow::Unites, |call| text(version(call, 0)?.metadata.clone())),
    method("Original", &[], Flow::Unites, |call| text(version(call, 0)?.original.clone())),
    method("String", &[], Flow::Unites, |call| text(version(call, 0)?.full())),
    method("Compare", &[Ty::Version], Flow::Unites, |call| number(compare(call)? as i64, IntType::Int)),
    method("Equal", &[Ty::Version], Flow::Unites, |call| is(call, |order| order == Ordering::Equal)),
    method("LessThan", &[Ty::Version], Flow::Unites, |call| is(call, |order| order == Ordering::Less)),
    method("GreaterThan", &[Ty::Version], Flow::Unites, |call| is(call, |order| order == Ordering::Greater)),
    method("LessThanEqual", &[Ty::Version], Flow::Unites, |call| {
        is(call, |order| order != Ordering::Greater)
    }),
    method("GreaterThanEqual", &[Ty::Version], Flow::Unites, |call| {
        is(call, |order| order != Ordering::Less)
    }),
    method("IncMajor", &[], Flow::Unites, |call| bumped(call, 0)),
    method("IncMinor", &[], Flow::Unites, |call| bumped(call, 1)),
    method("IncPatch", &[], Flow::Unites, |call| bumped(call, 2)),
];

/// The method of a value by its name. Its first argument is the value.
pub(super) fn find(receiver: &Val, name: &str) -> Option<&'static Function> {
    let table: &'static [Function] = match &receiver.kind {
        Kind::Map(map) => match map.ty {
            MapType::Files => FILES,
            MapType::Values => VALUES,
            MapType::Any | MapType::Strings => return None,
        },
        Kind::List(list) if list.elem == Elem::VersionSet => VERSION_SET,
        Kind::Time(_) => TIME,
        Kind::Version(_) => VERSION,
        _ => return None,
    };
    table.iter().find(|method| method.name == name)
}

fn number(value: i64, ty: IntType) -> Result<Val> {
    Ok(Val::new(Kind::Int(value, ty), SetId::NONE))
}

fn text(text: String) -> Result<Val> {
    Ok(Val::text(Text::new(text.into_bytes(), Default::default())))
}

fn time(call: &Call<'_>) -> Time {
    match &call.args[0].kind {
        Kind::Time(time) => Time::clone(time),
        _ => Time::zero(),
    }
}

fn time_format(call: &mut Call<'_>) -> Result<Val> {
    text(time(call).format(&call.string(1)))
}

fn time_string(call: &mut Call<'_>) -> Result<Val> {
    text(time(call).full())
}

fn before(call: &Call<'_>, a: usize, b: usize) -> Result<Val> {
    let key = |index: usize| match &call.args[index].kind {
        Kind::Time(time) => (time.seconds, time.nanos),
        _ => (0, 0),
    };
    Ok(Val::bool(key(a) < key(b), SetId::NONE))
}

fn version(call: &Call<'_>, index: usize) -> Result<Rc<Version>> {
    match &call.args[index].kind {
        Kind::Version(version) => Ok(version.clone()),
        _ => fail(super::error::NIL_POINTER),
    }
}

fn compare(call: &Call<'_>) -> Result<Ordering> {
    Ok(version(call, 0)?.compare(&*version(call, 1)?))
}

fn is(call: &Call<'_>, test: fn(Ordering) -> bool) -> Result<Val> {
    Ok(Val::bool(test(compare(call)?), SetId::NONE))
}

fn bumped(call: &Call<'_>, part: usize) -> Result<Val> {
    let mut next = (*version(call, 0)?).clone();
    let was_pre = !next.pre.is_empty();
    match part {
        0 => (next.major, next.minor, next.patch) = (next.major + 1, 0, 0),
        1 => (next.minor, next.patch) = (next.minor + 1, 0),
        // A prerelease becomes the release itself.
        _ if was_pre => {}
        _ => next.patch += 1,
    }
    next.pre.clear();
    next.metadata.clear();
    let prefix = if next.original.starts_with('v') { "v" } else { "" };
    next.original = format!("{prefix}{}", next.full());
    Ok(Val::new(Kind::Version(Rc::new(next)), SetId::NONE))
}

/// An item of a set of versions that stands for all versions that there are.
pub(crate) const ANY_VERSION: &str = "\0any";

fn has_version(call: &mut Call<'_>) -> Result<Val> {
    let wanted = call.bytes(1);
    call.cx.ask_version(wanted);
    let found = match &call.args[0].kind {
        Kind::List(list) => {
            let is_it = |text: &[u8]| text == wanted || text == ANY_VERSION.as_bytes();
            match list.unread() {
                Some(all) => all.texts.iter().any(|text| is_it(text.as_bytes())),
                None => list.iter().any(|item| matches!(&item.kind, Kind::Str(text) if is_it(text.bytes()))),
            }
        }
        _ => false,
    };
    Ok(Val::bool(found, SetId::NONE))
}

fn receiver_map<'c>(call: &'c Call<'_>) -> Option<&'c Map> {
    match &call.args[0].kind {
        Kind::Map(map) => Some(map),
        _ => None,
    }
}

/// A file's text, or the absence of the file.
fn file(call: &mut Call<'_>) -> Text {
    let name = call.string(1);
    match receiver_map(call).and_then(|map| map.get(name.as_bytes())) {
        Some(Val { kind: Kind::Bytes(text), .. }) => text,
        _ => Text::empty(),
    }
}

fn file_text(call: &mut Call<'_>) -> Result<Val> {
    Ok(Val::text(file(call)))
}

fn file_bytes(call: &mut Call<'_>) -> Result<Val> {
    Ok(Val::new(Kind::Bytes(file(call)), SetId::NONE))
}

fn file_lines(call: &mut Call<'_>) -> Result<Val> {
    let name = call.string(1);
    let Some(_) = receiver_map(call).and_then(|map| map.get(name.as_bytes())) else {
        return Ok(Val::list(List::new(Vec::new(), Elem::Str)));
    };
    let text = file(call);
    if text.is_empty() {
        return fail("runtime error: index out of range [-1]");
    }
    let end = text.len() - usize::from(text.bytes().ends_with(b"\n"));
    let mut items = Vec::new();
    let mut start = 0;
    for at in memchr::memchr_iter(b'\n', &text.bytes()[..end]) {
        items.push(Val::text(text.slice(start..at)));
        start = at + 1;
    }
    items.push(Val::text(text.slice(start..end)));
    call.cx.list(items.len())?;
    Ok(Val::list(List::new(items, Elem::Str)))
}

fn file_glob(call: &mut Call<'_>) -> Result<Val> {
    let glob = super::glob::Glob::parse(&call.string(1));
    let entries = receiver_map(call).map(Map::snapshot).unwrap_or_default();
    call.cx.step(entries.len())?;
    let found = entries.into_iter().filter(|(name, _)| glob.matches(&String::from_utf8_lossy(name)));
    let map = Map { ty: MapType::Files, ..Map::of(found.collect()) };
    Ok(Val::map(map).with(call.args[0].from))
}

/// Files by their base names, each text changed.
fn by_base_name(call: &mut Call<'_>, change: fn(&mut Call<'_>, Text) -> Text) -> Result<Val> {
    let map = Map::new(MapType::Any);
    for (name, entry) in receiver_map(call).map(Map::snapshot).unwrap_or_default() {
        let Kind::Bytes(text) = entry.val.kind else {
            continue;
        };
        let text = change(call, text);
        let name = String::from_utf8_lossy(&name).into_owned();
        let entry = MapEntry { key: entry.key, val: Val::text(text) };
        map.entries.borrow_mut().insert(base_name(&name).as_bytes().into(), entry);
    }
    yaml_of(call, &Val::map(map))
}

fn file_config(call: &mut Call<'_>) -> Result<Val> {
    by_base_name(call, |_, text| text)
}

fn file_secrets(call: &mut Call<'_>) -> Result<Val> {
    by_base_name(call, |call, text| {
        let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text.bytes());
        let set = super::flow::of_text(&mut call.cx.trace, &text);
        let prov = call.cx.trace.plain(set);
        Text::new(encoded.into_bytes(), prov)
    })
}

fn values_map(call: &mut Call<'_>) -> Result<Val> {
    let Some(map) = receiver_map(call) else {
        return Ok(Val::nil());
    };
    let map = if map.len() == 0 { Map::new(MapType::Any) } else { Map { ty: MapType::Any, ..map.clone() } };
    Ok(Val::map(map).with(call.args[0].from))
}

fn values_yaml(call: &mut Call<'_>) -> Result<Val> {
    let val = call.args[0].clone();
    let yaml = yaml_of(call, &val)?;
    match yaml.kind {
        Kind::Str(text) => {
            let end = Text::new(&b"\n"[..], Default::default());
            Ok(Val::text(text.join(&end)).with(yaml.from))
        }
        _ => Ok(yaml),
    }
}

/// Go's words for a key that leads to no table.
fn no_table<T>(name: &str) -> Result<T> {
    fail(format!("\"{name}\" is not a table"))
}

fn values_table(call: &mut Call<'_>) -> Result<Val> {
    let path = call.string(1);
    let mut at = call.args[0].clone();
    for part in path.split('.') {
        let next = match &at.kind {
            Kind::Map(map) => map.get(part.as_bytes()),
            _ => None,
        };
        match next {
            Some(val) if matches!(val.kind, Kind::Map(_)) => at = val,
            _ => return no_table(part),
        }
    }
    let from = at.from;
    match at.kind {
        Kind::Map(map) => Ok(Val::map(Map { ty: MapType::Values, ..map }).with(from)),
        _ => no_table(&path),
    }
}

fn values_path(call: &mut Call<'_>) -> Result<Val> {
    let path = call.string(1);
    if path.is_empty() {
        return fail("YAML path cannot be empty");
    }
    let (parents, last) = path.rsplit_once('.').unwrap_or(("", &path));
    let mut at = call.args[0].clone();
    for part in parents.split('.').filter(|part| !part.is_empty()) {
        let next = match &at.kind {
            Kind::Map(map) => map.get(part.as_bytes()),
            _ => None,
        };
        match next {
            Some(val) if matches!(val.kind, Kind::Map(_)) => at = val,
            _ => return fail(format!("\"{last}\" is not a value")),
        }
    }
    let found = match &at.kind {
        Kind::Map(map) => map.get(last.as_bytes()),
        _ => None,
    };
    match found {
        Some(val) if !matches!(val.kind, Kind::Map(_)) => Ok(val.element()),
        _ => fail(format!("\"{last}\" is not a value")),
    }
}
