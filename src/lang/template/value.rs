//! Values as Go would type them.

use super::rope::Text;
use super::time::Time;
use super::trace::{ProvId, SetId};
use super::version::Version;
use std::borrow::Cow;
use std::cell::{Ref, RefCell, RefMut};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

/// A value and the set of what flowed into it. A text's own parts know more.
#[derive(Clone, Debug)]
pub struct Val {
    /// What it is.
    pub(super) kind: Kind,
    /// Where it comes from.
    pub(super) from: SetId,
    /// Whether Go has it as an `interface {}`: an element of a map or a list.
    pub(super) boxed: bool,
}

/// What a value is, by Go's types.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// No value at all: Go's invalid `reflect.Value`.
    Nil,
    /// An `interface {}` that holds nothing, as a map or a list gives it.
    Null,
    Bool(bool),
    Int(i64, IntType),
    Float(f64),
    Complex(f64, f64),
    Str(Text),
    /// `[]uint8`.
    Bytes(Text),
    List(List),
    Map(Map),
    Struct(Rc<Struct>),
    /// A pointer, as most others are: values are handed on from function to function.
    Time(Rc<Time>),
    Version(Rc<Version>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IntType {
    Int,
    Int64,
    Uint64,
    Uint8,
    Uint32,
    Month,
    Weekday,
}

impl IntType {
    pub(super) fn name(self) -> &'static str {
        match self {
            IntType::Int => "int",
            IntType::Int64 => "int64",
            IntType::Uint64 => "uint64",
            IntType::Uint8 => "uint8",
            IntType::Uint32 => "uint32",
            IntType::Month => "time.Month",
            IntType::Weekday => "time.Weekday",
        }
    }

    pub(super) fn kind(self) -> &'static str {
        match self {
            IntType::Month | IntType::Weekday => "int",
            other => other.name(),
        }
    }

    pub(super) fn is_unsigned(self) -> bool {
        matches!(self, IntType::Uint64 | IntType::Uint8 | IntType::Uint32)
    }
}

/// What a list holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Elem {
    Any,
    Str,
    Int,
    /// `[][]interface {}`.
    Lists,
    /// A named type with methods: the versions of an API.
    VersionSet,
    /// `[]map[string]interface {}`, as TOML's tables in lists.
    Maps,
}

/// What lists hold that grew from one another, on both sides.
#[derive(Debug, Default)]
struct Row {
    items: VecDeque<Val>,
    /// How many came before the first one since.
    before: usize,
    /// What the items are made of when somebody looks at one.
    later: Option<UnreadTexts>,
}

/// The texts of a list, all of one origin, at none of which anybody has looked.
#[derive(Clone, Debug)]
pub(super) struct UnreadTexts {
    pub(super) texts: Arc<[String]>,
    pub(super) prov: ProvId,
}

/// What a list holds.
#[derive(Clone, Debug)]
struct Items(Rc<RefCell<Row>>);

impl Items {
    fn new(row: Row) -> Items {
        Items(Rc::new(RefCell::new(row)))
    }

    fn borrow(&self) -> Ref<'_, Row> {
        self.make();
        self.0.borrow()
    }

    fn borrow_mut(&self) -> RefMut<'_, Row> {
        self.make();
        self.0.borrow_mut()
    }

    /// Makes the items that were not looked at.
    fn make(&self) {
        if self.0.borrow().later.is_none() {
            return;
        }
        let mut row = self.0.borrow_mut();
        if let Some(UnreadTexts { texts, prov }) = row.later.take() {
            row.items = texts.iter().map(|text| Val::text(Text::new(text.as_bytes(), prov))).collect();
        }
    }
}

impl Drop for Items {
    fn drop(&mut self) {
        if let Some(row) = Rc::get_mut(&mut self.0)
            && row.get_mut().items.iter().any(is_collection)
        {
            drop_all(std::mem::take(&mut row.get_mut().items).into());
        }
    }
}

/// What a map holds.
#[derive(Clone, Debug)]
pub(super) struct Shared(Rc<RefCell<Held>>);

enum Held {
    Entries(Entries),
    /// Made when somebody looks.
    Later(Box<dyn FnOnce() -> Entries>),
}

impl Held {
    fn entries(&self) -> Option<&Entries> {
        match self {
            Held::Entries(entries) => Some(entries),
            Held::Later(_) => None,
        }
    }

    fn entries_mut(&mut self) -> &mut Entries {
        if let Held::Later(make) = self {
            let make = std::mem::replace(make, Box::new(Entries::new));
            *self = Held::Entries(make());
        }
        match self {
            Held::Entries(entries) => entries,
            Held::Later(_) => unreachable!("just made"),
        }
    }

    /// What it holds, out of it.
    fn take(&mut self) -> Entries {
        match std::mem::replace(self, Held::Entries(Entries::new())) {
            Held::Entries(entries) => entries,
            Held::Later(_) => Entries::new(),
        }
    }
}

impl std::fmt::Debug for Held {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.entries().fmt(out)
    }
}

impl Shared {
    fn new(held: Held) -> Shared {
        Shared(Rc::new(RefCell::new(held)))
    }

    /// What the map holds now.
    pub(super) fn borrow(&self) -> Ref<'_, Entries> {
        match Ref::filter_map(self.0.borrow(), Held::entries) {
            Ok(entries) => entries,
            Err(later) => {
                drop(later);
                drop(self.borrow_mut());
                self.borrow()
            }
        }
    }

    /// What the map holds, to change it.
    pub(super) fn borrow_mut(&self) -> RefMut<'_, Entries> {
        RefMut::map(self.0.borrow_mut(), Held::entries_mut)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(held) = Rc::get_mut(&mut self.0)
            && let Some(entries) = held.get_mut().entries()
            && entries.values().any(|entry| is_collection(&entry.val))
        {
            drop_all(held.get_mut().take().into_values().map(|entry| entry.val).collect());
        }
    }
}

fn is_collection(val: &Val) -> bool {
    matches!(val.kind, Kind::List(_) | Kind::Map(_))
}

/// Without recursion: what a loop of a template nests is as deep as the loop is long. What
/// a value holds is taken out before it is dropped.
fn drop_all(mut todo: Vec<Val>) {
    while let Some(mut val) = todo.pop() {
        match &mut val.kind {
            Kind::List(list) => {
                if let Some(row) = Rc::get_mut(&mut list.items.0) {
                    todo.extend(std::mem::take(&mut row.get_mut().items));
                }
            }
            Kind::Map(map) => {
                if let Some(held) = Rc::get_mut(&mut map.entries.0) {
                    todo.extend(held.get_mut().take().into_values().map(|entry| entry.val));
                }
            }
            _ => {}
        }
    }
}

/// A list. Nothing changes an element, so lists share what they hold: one that is
/// longer by what was appended or prepended goes on in the same place.
#[derive(Clone, Debug)]
pub(super) struct List {
    pub(super) elem: Elem,
    items: Items,
    /// Where it begins, from the first item that the row began with.
    start: i32,
    len: u32,
    /// Go tells a nil slice and an empty one apart in JSON.
    pub(super) is_nil: bool,
}

impl List {
    pub(super) fn new(items: Vec<Val>, elem: Elem) -> List {
        let len = items.len() as u32;
        let row = Row { items: items.into(), ..Row::default() };
        List { elem, items: Items::new(row), start: 0, len, is_nil: false }
    }

    /// A list of texts that are made when somebody looks at one.
    pub(super) fn later(texts: Arc<[String]>, prov: ProvId, elem: Elem) -> List {
        let len = texts.len() as u32;
        let row = Row { later: Some(UnreadTexts { texts, prov }), ..Row::default() };
        List { elem, items: Items::new(row), start: 0, len, is_nil: false }
    }

    /// All texts of a list of [`List::later`], as long as nobody has looked at one.
    pub(super) fn unread(&self) -> Option<UnreadTexts> {
        let later = self.items.0.borrow().later.clone();
        later.filter(|all| self.start == 0 && self.len() == all.texts.len())
    }

    pub(super) fn any(items: Vec<Val>) -> List {
        List::new(items, Elem::Any)
    }

    pub(super) fn nil(elem: Elem) -> List {
        List { is_nil: true, ..List::new(Vec::new(), elem) }
    }

    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    pub(super) fn get(&self, index: usize) -> Val {
        let row = self.items.borrow();
        row.items[self.first(&row) + index].clone()
    }

    /// An item as `range` and `index` give it: of `[]interface {}` an `interface {}`.
    pub(super) fn given(&self, item: Val) -> Val {
        if self.elem == Elem::Any { item.element() } else { item }
    }

    /// The index of its first item in the row.
    fn first(&self, row: &Row) -> usize {
        row.before.saturating_add_signed(self.start as isize)
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = Val> + ExactSizeIterator + '_ {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Whether both are parts of one row, so that none of them is a copy.
    pub(super) fn shares_with(&self, other: &List) -> bool {
        Rc::ptr_eq(&self.items.0, &other.items.0)
    }

    /// As untyped items.
    pub(super) fn untyped(self) -> List {
        List { elem: Elem::Any, ..self }
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> List {
        let len = (end - start) as u32;
        List { start: self.start + start as i32, len, is_nil: false, ..self.clone() }
    }

    /// With a value behind; as untyped items.
    pub(super) fn append(&self, val: Val) -> List {
        let mut row = self.items.borrow_mut();
        if row.items.len() == self.first(&row) + self.len() {
            row.items.push_back(val);
            drop(row);
            return List { elem: Elem::Any, len: self.len + 1, is_nil: false, ..self.clone() };
        }
        drop(row);
        List::any(self.iter().chain(std::iter::once(val)).collect())
    }

    /// With a value before it; as untyped items.
    pub(super) fn prepend(&self, val: Val) -> List {
        let mut row = self.items.borrow_mut();
        if self.first(&row) == 0 {
            row.items.push_front(val);
            row.before += 1;
            drop(row);
            let start = self.start - 1;
            return List { elem: Elem::Any, start, len: self.len + 1, is_nil: false, ..self.clone() };
        }
        drop(row);
        List::any(std::iter::once(val).chain(self.iter()).collect())
    }
}

/// A map's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MapType {
    /// `map[string]interface {}`
    Any,
    /// Helm's `common.Values`, which has methods.
    Values,
    /// Files of a chart by name, which has methods.
    Files,
    /// `map[string]string`
    Strings,
}

/// A map: shared and changed in place, as in Go.
#[derive(Clone, Debug)]
pub(super) struct Map {
    pub(super) ty: MapType,
    pub(super) entries: Shared,
    /// A map that was never made, which JSON writes as `null`.
    pub(super) is_nil: bool,
}

/// Sorted by the bytes of the keys, as Go ranges and prints.
pub(super) type Entries = BTreeMap<Rc<[u8]>, MapEntry>;

#[derive(Clone, Debug)]
pub(super) struct MapEntry {
    /// Where the key comes from.
    pub(super) key: SetId,
    pub(super) val: Val,
}

impl Map {
    pub(super) fn new(ty: MapType) -> Map {
        Map { ty, ..Map::of(Entries::new()) }
    }

    pub(super) fn of(entries: Entries) -> Map {
        Map { ty: MapType::Any, entries: Shared::new(Held::Entries(entries)), is_nil: false }
    }

    /// A map whose entries are made when somebody looks at them.
    pub(super) fn later(ty: MapType, make: impl FnOnce() -> Entries + 'static) -> Map {
        Map { ty, entries: Shared::new(Held::Later(Box::new(make))), is_nil: false }
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<Val> {
        self.entries.borrow().get(key).map(|entry| entry.val.clone())
    }

    /// A value as a look-up gives it: of `map[string]interface {}` an `interface {}`.
    pub(super) fn given(&self, val: Val) -> Val {
        if let MapType::Any | MapType::Values = self.ty { val.element() } else { val }
    }

    pub(super) fn insert(&self, key: impl Into<Rc<[u8]>>, from: SetId, val: Val) {
        self.entries.borrow_mut().insert(key.into(), MapEntry { key: from, val: val.stored() });
    }

    pub(super) fn len(&self) -> usize {
        self.entries.borrow().len()
    }

    /// The entries as they are now.
    pub(super) fn snapshot(&self) -> Vec<(Rc<[u8]>, MapEntry)> {
        self.entries.borrow().iter().map(|(key, entry)| (key.clone(), entry.clone())).collect()
    }

    /// As `map[string]interface {}`, which is what functions return.
    pub(super) fn untyped(self) -> Map {
        Map { ty: MapType::Any, ..self }
    }

    pub(super) fn is_same(&self, other: &Map) -> bool {
        Rc::ptr_eq(&self.entries.0, &other.entries.0)
    }
}

/// A struct of Go's: its fields in order, and methods that take nothing.
#[derive(Debug)]
pub(super) struct Struct {
    /// `*common.Capabilities`
    pub(super) type_name: Cow<'static, str>,
    pub(super) fields: Vec<(Rc<str>, Val)>,
    pub(super) methods: Vec<(Rc<str>, Val)>,
    /// What its `String` method gives, where it is printed by its address.
    pub(super) shown: Option<Text>,
}

impl Val {
    pub(super) fn new(kind: Kind, from: SetId) -> Val {
        Val { kind, from, boxed: false }
    }

    pub(super) fn nil() -> Val {
        Val::new(Kind::Nil, SetId::NONE)
    }

    pub(super) fn bool(value: bool, from: SetId) -> Val {
        Val::new(Kind::Bool(value), from)
    }

    pub(super) fn int(value: i64, from: SetId) -> Val {
        Val::new(Kind::Int(value, IntType::Int), from)
    }

    pub(super) fn int64(value: i64, from: SetId) -> Val {
        Val::new(Kind::Int(value, IntType::Int64), from)
    }

    pub(super) fn time(time: Time, from: SetId) -> Val {
        Val::new(Kind::Time(Rc::new(time)), from)
    }

    pub(super) fn float(value: f64, from: SetId) -> Val {
        Val::new(Kind::Float(value), from)
    }

    pub(super) fn text(text: Text) -> Val {
        Val::new(Kind::Str(text), SetId::NONE)
    }

    pub(super) fn list(list: List) -> Val {
        Val::new(Kind::List(list), SetId::NONE)
    }

    pub(super) fn map(map: Map) -> Val {
        Val::new(Kind::Map(map), SetId::NONE)
    }

    pub(super) fn is_nil(&self) -> bool {
        matches!(self.kind, Kind::Nil | Kind::Null)
    }

    /// As an element of a map or a list gives it back.
    pub(super) fn element(mut self) -> Val {
        if let Kind::Nil = self.kind {
            self.kind = Kind::Null;
        }
        self.boxed = true;
        self
    }

    /// As a map or a list keeps it: one kind of nothing.
    pub(super) fn stored(mut self) -> Val {
        if let Kind::Null = self.kind {
            self.kind = Kind::Nil;
        }
        self.boxed = false;
        self
    }

    /// With this set of origins.
    pub(super) fn with(mut self, from: SetId) -> Val {
        self.from = from;
        self
    }

    /// Go's name of its type.
    pub(super) fn type_name(&self) -> Cow<'static, str> {
        Cow::Borrowed(match &self.kind {
            Kind::Nil => "<nil>",
            Kind::Null => "interface {}",
            Kind::Bool(_) => "bool",
            Kind::Int(_, ty) => ty.name(),
            Kind::Float(_) => "float64",
            Kind::Complex(..) => "complex128",
            Kind::Str(_) => "string",
            Kind::Bytes(_) => "[]uint8",
            Kind::List(list) => match list.elem {
                Elem::Any => "[]interface {}",
                Elem::Str => "[]string",
                Elem::Int => "[]int",
                Elem::Lists => "[][]interface {}",
                Elem::VersionSet => "common.VersionSet",
                Elem::Maps => "[]map[string]interface {}",
            },
            Kind::Map(map) => match map.ty {
                MapType::Any => "map[string]interface {}",
                MapType::Values => "common.Values",
                MapType::Files => "engine.files",
                MapType::Strings => "map[string]string",
            },
            Kind::Struct(of) => return of.type_name.clone(),
            Kind::Time(_) => "time.Time",
            Kind::Version(_) => "*semver.Version",
        })
    }

    /// Go's name of its kind.
    pub(super) fn kind_name(&self) -> &'static str {
        match &self.kind {
            Kind::Nil | Kind::Null => "invalid",
            Kind::Bool(_) => "bool",
            Kind::Int(_, ty) => ty.kind(),
            Kind::Float(_) => "float64",
            Kind::Complex(..) => "complex128",
            Kind::Str(_) => "string",
            Kind::Bytes(_) | Kind::List(_) => "slice",
            Kind::Map(_) => "map",
            Kind::Struct(of) if of.type_name.starts_with('*') => "ptr",
            Kind::Struct(_) | Kind::Time(_) => "struct",
            Kind::Version(_) => "ptr",
        }
    }

    /// Go's truth of a value, which is also sprig's `not empty` but for structs.
    pub(super) fn truth(&self) -> bool {
        match &self.kind {
            Kind::Nil | Kind::Null => false,
            Kind::Bool(value) => *value,
            Kind::Int(value, _) => *value != 0,
            Kind::Float(value) => *value != 0.0,
            Kind::Complex(real, imaginary) => *real != 0.0 || *imaginary != 0.0,
            Kind::Str(text) | Kind::Bytes(text) => !text.is_empty(),
            Kind::List(list) => list.len() > 0,
            Kind::Map(map) => map.len() > 0,
            Kind::Struct(_) | Kind::Time(_) | Kind::Version(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(list: &List) -> Vec<String> {
        let text = |val: Val| match val.kind {
            Kind::Str(text) => text.str().into_owned(),
            other => panic!("{other:?}"),
        };
        list.iter().map(text).collect()
    }

    /// A list whose texts are made later is the same list, whoever looks first and at which part.
    #[test]
    fn texts_that_nobody_looked_at_are_there() {
        let all: Arc<[String]> = ["a", "b", "c"].map(str::to_owned).into();
        let list = || List::later(all.clone(), ProvId::default(), Elem::VersionSet);
        assert_eq!((list().len(), texts(&list())), (3, vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]));
        assert_eq!(texts(&list().slice(1, 3)), ["b", "c"]);
        assert!(list().unread().is_some() && list().slice(1, 3).unread().is_none());
        let (whole, d) = (list(), Val::text(Text::new(*b"d", ProvId::default())));
        assert_eq!(texts(&whole.append(d.clone())), ["a", "b", "c", "d"]);
        assert_eq!(texts(&whole.prepend(d.clone())), ["d", "a", "b", "c"]);
        assert_eq!(texts(&whole), ["a", "b", "c"]);
        assert!(whole.unread().is_none());
    }
}
