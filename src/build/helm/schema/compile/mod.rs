//! Schemas as they are written, made ready: references resolved, patterns compiled.
//!
//! Mirrors `compiler.go`, `objcompiler.go` and `roots.go` of
//! github.com/santhosh-tekuri/jsonschema v6.

mod read;

use crate::build::helm::strvals::of_json;
use crate::build::helm::value::{Kind, Map, Value};
use crate::lang::go::regexp::GoRegexp;
use read::SchemaReading;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Where the chart's own schema is said to lie.
pub(super) const OWN: &str = "file:///values.schema.json";

/// Schemas within all schemas of a chart.
const SCHEMAS: usize = 200_000;

/// A schema, by its number.
pub(super) type Id = usize;

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
    Properties(Vec<String>),
    Schema(Id),
}

/// A schema that is ready.
#[derive(Clone, Debug, Default)]
pub(super) struct Schema {
    pub(super) draft: Option<Draft>,
    pub(super) always: Option<bool>,
    pub(super) reference: Option<Id>,
    pub(super) recursive: Option<Id>,
    pub(super) dynamic: Option<(Id, String)>,
    pub(super) recursive_anchor: bool,
    pub(super) dynamic_anchor: String,
    /// The resource that it is of.
    pub(super) resource: Arc<str>,
    pub(super) types: Vec<String>,
    pub(super) constant: Option<Value>,
    pub(super) enumeration: Option<Vec<Value>>,
    pub(super) format: Option<String>,
    pub(super) all_of: Vec<Id>,
    pub(super) any_of: Vec<Id>,
    pub(super) one_of: Vec<Id>,
    pub(super) not: Option<Id>,
    pub(super) condition: Option<Id>,
    pub(super) then: Option<Id>,
    pub(super) otherwise: Option<Id>,
    pub(super) properties: BTreeMap<String, Id>,
    pub(super) pattern_properties: Vec<(Arc<GoRegexp>, Id)>,
    pub(super) additional_properties: Option<Additional>,
    pub(super) property_names: Option<Id>,
    pub(super) dependencies: BTreeMap<String, Needs>,
    pub(super) dependent_schemas: BTreeMap<String, Id>,
    pub(super) dependent_required: BTreeMap<String, Vec<String>>,
    pub(super) required: Vec<String>,
    pub(super) min_properties: Option<usize>,
    pub(super) max_properties: Option<usize>,
    pub(super) items: Option<Id>,
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

/// A place in a document: its resource's URL, and the pointer from the document's root.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct At {
    document: Arc<str>,
    pointer: String,
}

/// What is known of a document.
struct SchemaDocument {
    value: Value,
    draft: Draft,
}

/// Finds what a URL names that is neither the chart's schema nor a metaschema.
pub(super) trait Remote {
    /// The document, and nothing where there is none.
    fn document(&self, url: &str) -> Option<Value>;
}

/// Schemas that values can be checked against.
#[derive(Default)]
pub(super) struct Compiled {
    pub(super) schemas: Vec<Schema>,
    /// Dynamic anchors of resources.
    pub(super) dynamic_anchors: BTreeMap<(Arc<str>, String), Id>,
    /// References that were answered by a file of the chart, or by nothing.
    pub(super) assumed: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// Schemas of one chart, while they are read.
pub(super) struct Compiler<'c> {
    compiled: Compiled,
    remote: &'c dyn Remote,
    /// URLs that lead to nothing here, or to a resolver that nobody has: all fits them.
    unfollowed: BTreeSet<Arc<str>>,
    documents: BTreeMap<Arc<str>, SchemaDocument>,
    /// Where resources begin, by URL.
    resources: BTreeMap<Arc<str>, At>,
    /// The resources that begin at a place, by its document and pointer.
    places: FxHashMap<Arc<str>, FxHashMap<String, Vec<Arc<str>>>>,
    anchors: BTreeMap<(Arc<str>, String), At>,
    dynamic: BTreeSet<(Arc<str>, String)>,
    known: BTreeMap<At, Id>,
    todo: Vec<(At, Id)>,
    /// Whether it is Helm 3's library, which knows drafts up to 7.
    of_3: bool,
}

type Result<T> = std::result::Result<T, String>;

fn metaschema(url: &str) -> Option<Value> {
    static ALL: std::sync::OnceLock<serde_json::Value> = std::sync::OnceLock::new();
    let all =
        ALL.get_or_init(|| serde_json::from_str(include_str!("../metaschemas.json")).unwrap_or_default());
    all.get(url).map(|value| of_json(value, None))
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
            documents: BTreeMap::new(),
            resources: BTreeMap::new(),
            places: FxHashMap::default(),
            anchors: BTreeMap::new(),
            dynamic: BTreeSet::new(),
            known: BTreeMap::new(),
            todo: Vec::new(),
            of_3,
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
        let url: Arc<str> = draft.url().into();
        self.load(&url)?;
        let id = self.schema(At { document: url, pointer: String::new() })?;
        self.finish()?;
        Ok(id)
    }

    /// Makes a document known, and compiles it.
    pub(super) fn compile(&mut self, url: &str, value: &Value, draft: Draft) -> Result<Id> {
        self.add(url, value, draft);
        let id = self.schema(At { document: url.into(), pointer: String::new() })?;
        self.finish()?;
        Ok(id)
    }

    fn add(&mut self, url: &str, value: &Value, draft: Draft) {
        let url: Arc<str> = url.into();
        self.documents.insert(url.clone(), SchemaDocument { value: value.clone(), draft });
        self.begin(url.clone(), At { document: url.clone(), pointer: String::new() });
        let mut pointer = String::new();
        self.collect(value, &url, &url, &mut pointer, draft, 0);
    }

    /// Notes where a resource begins; of two of one URL the later one counts.
    fn begin(&mut self, url: Arc<str>, at: At) {
        let At { document, pointer } = at.clone();
        let before = self.resources.insert(url.clone(), at);
        if let Some(before) = before
            && let Some(known) = self.places.get_mut(&before.document)
            && let Some(known) = known.get_mut(&before.pointer)
        {
            known.retain(|other| *other != url);
        }
        self.places.entry(document).or_default().entry(pointer).or_default().push(url);
    }

    /// Notes resources and anchors below a schema.
    fn collect(
        &mut self,
        value: &Value,
        document: &Arc<str>,
        base: &Arc<str>,
        pointer: &mut String,
        draft: Draft,
        depth: usize,
    ) {
        if depth > DEPTH {
            return;
        }
        let length = pointer.len();
        match &value.kind {
            Kind::Map(map) => {
                let mut base = base.clone();
                let own = text(map, if draft == Draft::D4 { "id" } else { "$id" });
                if let Some(own) = own.filter(|_| draft >= Draft::D2019 || !map.contains_key("$ref")) {
                    let (url, fragment) = own.split_once('#').unwrap_or((own, ""));
                    if !url.is_empty() {
                        base = joined(&base, url).into();
                        self.begin(base.clone(), At { document: document.clone(), pointer: pointer.clone() });
                    }
                    if !fragment.is_empty() {
                        self.anchor(&base, fragment, document, pointer);
                    }
                }
                for key in ["$anchor", "$dynamicAnchor"] {
                    if let Some(anchor) = text(map, key) {
                        self.anchor(&base, anchor, document, pointer);
                        if key == "$dynamicAnchor" {
                            self.dynamic.insert((base.clone(), anchor.to_owned()));
                        }
                    }
                }
                for (key, value) in map.iter().filter(|(key, _)| !DATA.contains(&&***key)) {
                    pointer.push('/');
                    pointer.push_str(&escaped(key));
                    self.collect(value, document, &base, pointer, draft, depth + 1);
                    pointer.truncate(length);
                }
            }
            Kind::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    pointer.push_str(&format!("/{index}"));
                    self.collect(item, document, base, pointer, draft, depth + 1);
                    pointer.truncate(length);
                }
            }
            _ => {}
        }
    }

    fn anchor(&mut self, base: &Arc<str>, name: &str, document: &Arc<str>, pointer: &str) {
        let at = At { document: document.clone(), pointer: pointer.to_owned() };
        self.anchors.insert((base.clone(), name.to_owned()), at);
    }

    fn value(&self, at: &At) -> Option<&Value> {
        let root = &self.documents.get(&at.document)?.value;
        let mut parts = at.pointer.split('/');
        parts.next();
        parts.try_fold(root, |value, part| {
            let part = part.replace("~1", "/").replace("~0", "~");
            match &value.kind {
                Kind::Map(map) => map.get(&*part),
                Kind::List(items) => items.get(part.parse::<usize>().ok()?),
                _ => None,
            }
        })
    }

    /// The resource that a place is of: the innermost around it.
    fn resource(&self, at: &At) -> Arc<str> {
        let places = self.places.get(&at.document);
        let ends = at.pointer.rmatch_indices('/').map(|(end, _)| end);
        let mut around = std::iter::once(at.pointer.len()).chain(ends);
        // The document's own URL counts less than what it calls itself.
        let outer = |url: &&Arc<str>| (**url != at.document, (*url).clone());
        let found = around.find_map(|end| places?.get(&at.pointer[..end])?.iter().max_by_key(outer));
        found.unwrap_or(&at.document).clone()
    }

    fn schema(&mut self, at: At) -> Result<Id> {
        if let Some(known) = self.known.get(&at) {
            return Ok(*known);
        }
        if self.compiled.schemas.len() >= SCHEMAS {
            return Err(format!("more than forebay's bound: {SCHEMAS} schemas"));
        }
        let id = self.compiled.schemas.len();
        self.compiled.schemas.push(Schema::default());
        self.known.insert(at.clone(), id);
        self.todo.push((at, id));
        Ok(id)
    }

    fn finish(&mut self) -> Result<()> {
        while let Some((at, id)) = self.todo.pop() {
            self.compiled.schemas[id] = self.schema_at(&at)?;
        }
        for (resource, name) in self.dynamic.clone() {
            if let Some(at) = self.anchors.get(&(resource.clone(), name.clone())).cloned() {
                let id = self.schema(at)?;
                self.compiled.dynamic_anchors.insert((resource, name), id);
            }
        }
        while let Some((at, id)) = self.todo.pop() {
            self.compiled.schemas[id] = self.schema_at(&at)?;
        }
        Ok(())
    }

    fn schema_at(&mut self, at: &At) -> Result<Schema> {
        let document_draft = self.documents.get(&at.document).map_or(Draft::D2020, |document| document.draft);
        let resource = self.resource(at);
        let value = self.value(at).cloned().unwrap_or_else(Value::empty);
        let mut schema = Schema { draft: Some(document_draft), resource, ..Schema::default() };
        match &value.kind {
            Kind::Bool(always) => schema.always = Some(*always),
            Kind::Map(map) => {
                SchemaReading { compiler: self, at, map, schema: &mut schema, draft: document_draft }.all()?
            }
            _ => {}
        }
        Ok(schema)
    }

    /// What a reference leads to.
    fn reference(&mut self, resource: &Arc<str>, written: &str) -> Result<Id> {
        let (url, fragment) = written.split_once('#').unwrap_or((written, ""));
        let url: Arc<str> = if url.is_empty() { resource.clone() } else { joined(resource, url).into() };
        let fragment = decoded(fragment);
        if !self.resources.contains_key(&url) {
            self.load(&url)?;
        }
        let Some(root) = self.resources.get(&url).cloned() else {
            return Err(unloadable(&url));
        };
        if self.unfollowed.contains(&url) {
            return self.schema(root);
        }
        if fragment.is_empty() || fragment.starts_with('/') {
            let at = At { pointer: format!("{}{fragment}", root.pointer), ..root };
            if self.value(&at).is_none() {
                return Err(format!("json-pointer in {:?} not found", format!("{url}#{fragment}")));
            }
            return self.schema(at);
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
            Value::new(Kind::Bool(true))
        } else if let Some(value) = self.remote.document(url) {
            self.compiled.assumed.push(format!("the schema {url} is the chart's file of that name"));
            value
        } else {
            self.compiled.assumed.push(format!("the schema {url} is not followed"));
            self.unfollowed.insert(url.clone());
            Value::new(Kind::Bool(true))
        };
        let draft =
            value.map().and_then(|map| text(map, "$schema")).and_then(Draft::named).unwrap_or(Draft::D2020);
        self.add(url, &value, draft);
        Ok(())
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
