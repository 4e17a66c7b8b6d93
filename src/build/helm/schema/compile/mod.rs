//! Schemas as they are written, made ready: references resolved, patterns compiled.
//!
//! Mirrors `compiler.go`, `objcompiler.go` and `roots.go` of
//! github.com/santhosh-tekuri/jsonschema v6.

mod read;

use crate::build::helm::json::Json;
use crate::build::helm::schema::formats::Format;
use crate::build::helm::value::{Kind, Map, Value};
use crate::lang::go::regexp::GoRegexp;
use read::SchemaReading;
use rustc_hash::FxHashMap;
use serde_json::value::RawValue;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

/// Where the chart's own schema is said to lie.
pub(super) const OWN: &str = "file:///values.schema.json";

/// Schemas within all schemas of a chart.
const SCHEMAS: usize = 200_000;

/// A schema, by its number.
pub(super) type Id = u32;

/// The drafts of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Draft {
    D4,
    D6,
    D7,
    D2019,
    D2020,
}

impl Draft {
    pub(super) const ALL: [Draft; 5] = [Draft::D4, Draft::D6, Draft::D7, Draft::D2019, Draft::D2020];

    /// The draft whose metaschema a `$schema` names.
    fn named(url: &str) -> Option<Draft> {
        let url = url.trim_end_matches('#');
        let bare = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"))?;
        Some(match bare {
            "json-schema.org/draft-04/schema" => Draft::D4,
            "json-schema.org/draft-06/schema" => Draft::D6,
            "json-schema.org/draft-07/schema" => Draft::D7,
            "json-schema.org/draft/2019-09/schema" => Draft::D2019,
            "json-schema.org/draft/2020-12/schema" | "json-schema.org/schema" => Draft::D2020,
            _ => return None,
        })
    }

    pub(super) fn url(self) -> &'static str {
        match self {
            Draft::D4 => "http://json-schema.org/draft-04/schema",
            Draft::D6 => "http://json-schema.org/draft-06/schema",
            Draft::D7 => "http://json-schema.org/draft-07/schema",
            Draft::D2019 => "https://json-schema.org/draft/2019-09/schema",
            Draft::D2020 => "https://json-schema.org/draft/2020-12/schema",
        }
    }
}

/// What `items`, `additionalProperties` and the like say.
#[derive(Clone, Debug)]
pub(super) enum Additional {
    Allowed(bool),
    As(Id),
}

/// What `dependencies` says of a property.
#[derive(Clone, Debug)]
pub(super) enum Needs {
    Properties(Vec<Arc<str>>),
    Schema(Id),
}

/// A schema that is ready: what most schemas say.
#[derive(Debug)]
pub(super) struct Schema {
    pub(super) draft: Draft,
    pub(super) always: Option<bool>,
    pub(super) reference: Option<Id>,
    /// The resource that it is of.
    pub(super) resource: Arc<str>,
    pub(super) types: SmallVec<[Arc<str>; 1]>,
    pub(super) enumeration: Option<Arc<Vec<Value>>>,
    /// `allOf`, `anyOf` and `oneOf`, where there is one.
    pub(super) combined: Option<Box<Combined>>,
    /// In the order of their names.
    pub(super) properties: Box<[(Arc<str>, Id)]>,
    pub(super) additional_properties: Option<Additional>,
    pub(super) required: Box<[Arc<str>]>,
    pub(super) items: Option<Id>,
    pub(super) rare: Option<Box<Rare>>,
}

impl Schema {
    /// What nothing is asked of.
    fn of(draft: Draft, resource: Arc<str>) -> Schema {
        Schema {
            draft,
            always: None,
            reference: None,
            resource,
            types: SmallVec::new(),
            enumeration: None,
            combined: None,
            properties: Box::default(),
            additional_properties: None,
            required: Box::default(),
            items: None,
            rare: None,
        }
    }

    /// The schema of a property.
    pub(super) fn property(&self, name: &str) -> Option<Id> {
        let found = self.properties.binary_search_by(|(known, _)| (**known).cmp(name));
        found.ok().map(|index| self.properties[index].1)
    }
}

/// Schemas that a value is held against together.
#[derive(Debug, Default)]
pub(super) struct Combined {
    pub(super) all_of: Vec<Id>,
    pub(super) any_of: Vec<Id>,
    pub(super) one_of: Vec<Id>,
}

/// What few schemas say.
#[derive(Debug, Default)]
pub(super) struct Rare {
    pub(super) recursive: Option<Id>,
    pub(super) dynamic: Option<(Id, String)>,
    pub(super) recursive_anchor: bool,
    pub(super) dynamic_anchor: String,
    pub(super) constant: Option<Value>,
    pub(super) format: Option<Format>,
    pub(super) not: Option<Id>,
    pub(super) condition: Option<Id>,
    pub(super) then: Option<Id>,
    pub(super) otherwise: Option<Id>,
    pub(super) pattern_properties: Vec<(Arc<GoRegexp>, Id)>,
    pub(super) property_names: Option<Id>,
    pub(super) dependencies: BTreeMap<String, Needs>,
    pub(super) dependent_schemas: Vec<(Arc<str>, Id)>,
    pub(super) dependent_required: BTreeMap<String, Vec<Arc<str>>>,
    pub(super) min_properties: Option<usize>,
    pub(super) max_properties: Option<usize>,
    pub(super) prefix_items: Vec<Id>,
    pub(super) additional_items: Option<Additional>,
    pub(super) contains: Option<Id>,
    pub(super) min_contains: Option<usize>,
    pub(super) max_contains: Option<usize>,
    pub(super) min_items: Option<usize>,
    pub(super) max_items: Option<usize>,
    pub(super) unique_items: bool,
    pub(super) unevaluated_properties: Option<Id>,
    pub(super) unevaluated_items: Option<Id>,
    pub(super) min_length: Option<usize>,
    pub(super) max_length: Option<usize>,
    pub(super) pattern: Option<(Arc<GoRegexp>, String)>,
    pub(super) minimum: Option<f64>,
    pub(super) maximum: Option<f64>,
    pub(super) exclusive_minimum: Option<f64>,
    pub(super) exclusive_maximum: Option<f64>,
    pub(super) multiple_of: Option<f64>,
}

/// A place in a document, told by the value that lies there.
#[derive(Clone)]
struct At<'c> {
    document: usize,
    value: &'c Value,
    /// The innermost resource around it.
    resource: Arc<str>,
}

impl At<'_> {
    fn address(&self) -> Address {
        address(self.document, self.value)
    }
}

/// A document, and where a value of it lies while it is held. Two documents may be the same
/// file.
type Address = (usize, usize);

fn address(document: usize, value: &Value) -> Address {
    (document, std::ptr::from_ref(value).addr())
}

/// What is known of a document.
struct SchemaDocument<'c> {
    url: Arc<str>,
    value: &'c Value,
    draft: Draft,
}

/// Finds what a URL names that is neither the chart's schema nor a metaschema.
pub(super) trait Remote {
    /// The document, and nothing where there is none.
    fn document(&self, url: &str) -> Option<&Value>;
}

/// Schemas that values can be checked against.
#[derive(Default)]
pub(super) struct Compiled {
    schemas: Vec<Schema>,
    /// Dynamic anchors of resources.
    pub(super) dynamic_anchors: BTreeMap<(Arc<str>, String), Id>,
    /// References that were answered by a file of the chart, or by nothing.
    pub(super) assumed: Vec<String>,
    pub(super) warnings: Vec<String>,
}

impl Compiled {
    pub(super) fn schema(&self, id: Id) -> &Schema {
        &self.schemas[id as usize]
    }
}

/// Schemas of one chart, while they are read.
pub(super) struct Compiler<'c> {
    compiled: Compiled,
    remote: &'c dyn Remote,
    /// URLs that lead to nothing here, or to a resolver that nobody has: all fits them.
    unfollowed: BTreeSet<Arc<str>>,
    documents: Vec<SchemaDocument<'c>>,
    /// Where resources begin, by URL.
    resources: FxHashMap<Arc<str>, (usize, &'c Value)>,
    /// The resources that begin at a place.
    places: FxHashMap<Address, Vec<Arc<str>>>,
    anchors: FxHashMap<(Arc<str>, String), At<'c>>,
    dynamic: BTreeSet<(Arc<str>, String)>,
    known: FxHashMap<Address, Id>,
    todo: Vec<(At<'c>, Id)>,
    /// Whether it is Helm 3's library, which knows drafts up to 7.
    of_3: bool,
    /// Whether formats are asserted in every draft, as in schemas of schemas.
    asserts_formats: bool,
}

type Result<T> = std::result::Result<T, String>;

fn metaschema(url: &str) -> Option<&'static Value> {
    type Metaschemas = BTreeMap<&'static str, (&'static RawValue, OnceLock<Value>)>;
    static ALL: OnceLock<Metaschemas> = OnceLock::new();
    let (text, value) = ALL
        .get_or_init(|| {
            let texts: BTreeMap<&str, &RawValue> =
                serde_json::from_str(include_str!("../metaschemas.json")).unwrap_or_default();
            texts.into_iter().map(|(url, text)| (url, (text, OnceLock::new()))).collect()
        })
        .get(url)?;
    let read =
        || serde_json::from_str::<Json>(text.get()).map_or_else(|_| Value::empty(), |json| json.at(None));
    Some(value.get_or_init(read))
}

/// What a URL that leads to nothing is taken for.
fn anything() -> &'static Value {
    static ANYTHING: Value = Value { kind: Kind::Bool(true), origin: None };
    &ANYTHING
}

fn text<'v>(map: &'v Map, key: &str) -> Option<&'v str> {
    match &map.get(key)?.kind {
        Kind::Text(text) => Some(text),
        _ => None,
    }
}

fn escaped(part: &str) -> String {
    part.replace('~', "~0").replace('/', "~1")
}

/// How deeply a schema may be nested.
pub(super) const DEPTH: usize = 300;

/// Keys whose values are no schemas.
const DATA: [&str; 5] = ["enum", "const", "default", "examples", "required"];

impl<'c> Compiler<'c> {
    pub(super) fn new(remote: &'c dyn Remote, of_3: bool) -> Compiler<'c> {
        Compiler {
            compiled: Compiled::default(),
            remote,
            unfollowed: BTreeSet::new(),
            documents: Vec::new(),
            resources: FxHashMap::default(),
            places: FxHashMap::default(),
            anchors: FxHashMap::default(),
            dynamic: BTreeSet::new(),
            known: FxHashMap::default(),
            todo: Vec::new(),
            of_3,
            asserts_formats: false,
        }
    }

    pub(super) fn done(self) -> Compiled {
        self.compiled
    }

    /// The metaschema that a document is checked against.
    pub(super) fn draft(&mut self, value: &Value) -> Result<Draft> {
        match value.map().and_then(|map| text(map, "$schema")) {
            Some(url) if self.of_3 => Ok(Draft::named(url).unwrap_or(Draft::D7).min(Draft::D7)),
            None if self.of_3 => Ok(Draft::D7),
            None => Ok(Draft::D2020),
            Some(url) => Draft::named(url).ok_or_else(|| unloadable(url)),
        }
    }

    /// The metaschema of a draft, compiled.
    pub(super) fn metaschema(&mut self, draft: Draft) -> Result<Id> {
        self.asserts_formats = true;
        self.load(&draft.url().into())?;
        self.first()
    }

    /// Makes a document known, and compiles it.
    pub(super) fn compile(&mut self, url: &str, value: &'c Value, draft: Draft) -> Result<Id> {
        self.add(&url.into(), value, draft);
        self.first()
    }

    /// Compiles the first document.
    fn first(&mut self) -> Result<Id> {
        let at = self.place(0, self.documents[0].value);
        let id = self.schema(at)?;
        self.finish()?;
        Ok(id)
    }

    fn add(&mut self, url: &Arc<str>, value: &'c Value, draft: Draft) {
        let document = self.documents.len();
        self.documents.push(SchemaDocument { url: url.clone(), value, draft });
        self.begin(url.clone(), document, value);
        self.collect(value, document, url, draft, 0);
    }

    /// Notes where a resource begins; of two of one URL the later one counts.
    fn begin(&mut self, url: Arc<str>, document: usize, value: &'c Value) {
        if let Some((document, value)) = self.resources.insert(url.clone(), (document, value))
            && let Some(known) = self.places.get_mut(&address(document, value))
        {
            known.retain(|other| *other != url);
        }
        self.places.entry(address(document, value)).or_default().push(url);
    }

    /// Where a resource begins.
    fn beginning(&self, url: &Arc<str>) -> Option<At<'c>> {
        let (document, value) = *self.resources.get(url)?;
        Some(self.place(document, value))
    }

    /// A place where a resource begins.
    fn place(&self, document: usize, value: &'c Value) -> At<'c> {
        let resource = self.begun(document, value).unwrap_or_else(|| self.documents[document].url.clone());
        At { document, value, resource }
    }

    /// The resource that begins at a place.
    fn begun(&self, document: usize, value: &Value) -> Option<Arc<str>> {
        let all = self.places.get(&address(document, value))?;
        // The document's own URL counts less than what it calls itself.
        let own = &self.documents[document].url;
        all.iter().max_by_key(|url| (*url != own, (*url).clone())).cloned()
    }

    /// Notes resources and anchors below a schema.
    fn collect(&mut self, value: &'c Value, document: usize, base: &Arc<str>, draft: Draft, depth: usize) {
        if depth > DEPTH {
            return;
        }
        match &value.kind {
            Kind::Map(map) => {
                let mut inner = None;
                let own = text(map, if draft == Draft::D4 { "id" } else { "$id" });
                if let Some(own) = own.filter(|_| draft >= Draft::D2019 || !map.contains_key("$ref")) {
                    let (url, fragment) = own.split_once('#').unwrap_or((own, ""));
                    if !url.is_empty() {
                        let url: Arc<str> = joined(base, url).into();
                        self.begin(url.clone(), document, value);
                        inner = Some(url);
                    }
                    if !fragment.is_empty() {
                        self.anchor(inner.as_ref().unwrap_or(base), fragment, document, value);
                    }
                }
                let base = inner.as_ref().unwrap_or(base);
                for key in ["$anchor", "$dynamicAnchor"] {
                    if let Some(anchor) = text(map, key) {
                        self.anchor(base, anchor, document, value);
                        if key == "$dynamicAnchor" {
                            self.dynamic.insert((base.clone(), anchor.to_owned()));
                        }
                    }
                }
                for (key, value) in map.iter() {
                    let is_inner = matches!(value.kind, Kind::Map(_) | Kind::List(_));
                    if is_inner && !DATA.contains(&&**key) {
                        self.collect(value, document, base, draft, depth + 1);
                    }
                }
            }
            Kind::List(items) => {
                for item in items.iter() {
                    self.collect(item, document, base, draft, depth + 1);
                }
            }
            _ => {}
        }
    }

    fn anchor(&mut self, base: &Arc<str>, name: &str, document: usize, value: &'c Value) {
        let at = At { document, value, resource: base.clone() };
        self.anchors.insert((base.clone(), name.to_owned()), at);
    }

    /// A place below another.
    fn inside(&self, at: &At<'c>, value: &'c Value) -> At<'c> {
        let resource = self.begun(at.document, value).unwrap_or_else(|| at.resource.clone());
        At { document: at.document, value, resource }
    }

    /// What a JSON pointer leads to.
    fn at_pointer(&self, root: At<'c>, pointer: &str) -> Option<At<'c>> {
        pointer.split('/').skip(1).try_fold(root, |at, part| {
            let part = part.replace("~1", "/").replace("~0", "~");
            let value = match &at.value.kind {
                Kind::Map(map) => map.get(&*part)?,
                Kind::List(items) => items.get(part.parse::<usize>().ok()?)?,
                _ => return None,
            };
            Some(self.inside(&at, value))
        })
    }

    /// The URL of a place: that of its document, and the pointer from there.
    fn url(&self, at: &At<'_>) -> String {
        let document = &self.documents[at.document];
        let mut url = format!("{}#", document.url);
        pointer_to(document.value, at.value, &mut url);
        url
    }

    fn schema(&mut self, at: At<'c>) -> Result<Id> {
        if let Some(known) = self.known.get(&at.address()) {
            return Ok(*known);
        }
        if self.compiled.schemas.len() >= SCHEMAS {
            return Err(format!("more than forebay's bound: {SCHEMAS} schemas"));
        }
        let id = self.compiled.schemas.len() as Id;
        let draft = self.documents[at.document].draft;
        self.compiled.schemas.push(Schema::of(draft, at.resource.clone()));
        self.known.insert(at.address(), id);
        self.todo.push((at, id));
        Ok(id)
    }

    fn finish(&mut self) -> Result<()> {
        self.read_all()?;
        for (resource, name) in self.dynamic.clone() {
            if let Some(at) = self.anchors.get(&(resource.clone(), name.clone())).cloned() {
                let id = self.schema(at)?;
                self.compiled.dynamic_anchors.insert((resource, name), id);
            }
        }
        self.read_all()
    }

    fn read_all(&mut self) -> Result<()> {
        while let Some((at, id)) = self.todo.pop() {
            let index = id as usize;
            match &at.value.kind {
                Kind::Bool(always) => self.compiled.schemas[index].always = Some(*always),
                Kind::Map(map) => self.compiled.schemas[index] = SchemaReading::new(self, &at, map).all()?,
                _ => {}
            }
        }
        Ok(())
    }

    /// What a reference leads to.
    fn reference(&mut self, resource: &Arc<str>, written: &str) -> Result<Id> {
        let (url, fragment) = written.split_once('#').unwrap_or((written, ""));
        let url: Arc<str> = if url.is_empty() { resource.clone() } else { joined(resource, url).into() };
        let fragment = decoded(fragment);
        if !self.resources.contains_key(&url) {
            self.load(&url)?;
        }
        let Some(root) = self.beginning(&url) else { return Err(unloadable(&url)) };
        if self.unfollowed.contains(&url) {
            return self.schema(root);
        }
        if fragment.is_empty() || fragment.starts_with('/') {
            return match self.at_pointer(root, &fragment) {
                Some(at) => self.schema(at),
                None => Err(format!("json-pointer in {:?} not found", format!("{url}#{fragment}"))),
            };
        }
        match self.anchors.get(&(url.clone(), fragment.clone())).cloned() {
            Some(at) => self.schema(at),
            None => Err(format!("anchor in {:?} not found", format!("{url}#{fragment}"))),
        }
    }

    fn load(&mut self, url: &Arc<str>) -> Result<()> {
        let https = url
            .strip_prefix("https://json-schema.org/draft-0")
            .map(|rest| format!("http://json-schema.org/draft-0{rest}"));
        let value = if let Some(value) = metaschema(https.as_deref().unwrap_or(url)) {
            value
        } else if url.starts_with("urn:") && self.of_3 {
            return Err(format!("Reference {url} must be canonical"));
        } else if url.starts_with("urn:") {
            let said = format!("unresolved URN reference ignored; using permissive schema urn={url}");
            if !self.compiled.warnings.contains(&said) {
                self.compiled.warnings.push(said);
            }
            self.unfollowed.insert(url.clone());
            anything()
        } else if let Some(value) = self.remote.document(url) {
            self.compiled.assumed.push(format!("the schema {url} is the chart's file of that name"));
            value
        } else {
            self.compiled.assumed.push(format!("the schema {url} is not followed"));
            self.unfollowed.insert(url.clone());
            anything()
        };
        let draft =
            value.map().and_then(|map| text(map, "$schema")).and_then(Draft::named).unwrap_or(Draft::D2020);
        self.add(url, value, draft);
        Ok(())
    }
}

/// Adds the JSON pointer from a value to one below it; whether there is one.
fn pointer_to(from: &Value, to: &Value, pointer: &mut String) -> bool {
    if std::ptr::eq(from, to) {
        return true;
    }
    let length = pointer.len();
    let mut is_below = |part: &str, value: &Value| {
        pointer.push('/');
        pointer.push_str(part);
        let found = pointer_to(value, to, pointer);
        if !found {
            pointer.truncate(length);
        }
        found
    };
    match &from.kind {
        Kind::Map(map) => map.iter().any(|(key, value)| is_below(&escaped(key), value)),
        Kind::List(items) => items.iter().enumerate().any(|(index, item)| is_below(&index.to_string(), item)),
        _ => false,
    }
}

fn unloadable(url: &str) -> String {
    format!("failing loading {url:?}: no schema of that name is known here")
}

/// A reference seen from a URL, by RFC 3986 as far as schemas need it.
fn joined(base: &str, reference: &str) -> String {
    let has_scheme = |text: &str| {
        let end = text.find(':').unwrap_or(0);
        end > 0 && text[..end].bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    if has_scheme(reference) {
        return reference.to_owned();
    }
    let (scheme, rest) = base.split_once("://").unwrap_or(("file", base));
    let (host, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    if let Some(absolute) = reference.strip_prefix("//") {
        return format!("{scheme}://{absolute}");
    }
    let whole = match reference.strip_prefix('/') {
        Some(rest) => format!("/{rest}"),
        None => format!("{}/{reference}", path.rsplit_once('/').map_or("", |(directory, _)| directory)),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/').skip(1) {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("{scheme}://{host}/{}", parts.join("/"))
}

fn decoded(fragment: &str) -> String {
    let bytes = fragment.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| fragment.get(at + 1..at + 3)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
