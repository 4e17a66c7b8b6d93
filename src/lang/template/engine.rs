//! The face of the room: templates are added, values are made, templates are run.

use super::ast::{FieldLookup, Shown, Tree, is_empty};
use super::bound::Bound;
use super::documents::Documents;
use super::error::Fault;
use super::exec::{Execution, MissingKey, RunningTemplate, Set, without_no_value};
use super::function::FunctionNames;
use super::functions::FuncMap;
use super::lex::Delimiters;
use super::limits::{Cx, Libraries, Limits};
use super::lookups::{PassedOver, lookups, passed_over};
use super::parse::{ParseError, Parsed, ParserMemory, parse};
use super::rope::{Builder, SharedBytes, Text};
use super::source::TemplateSource;
use super::trace::{CondId, Condition, Flow, OriginId, Place, Reader, SetId, Trace};
use super::value::{Elem, Kind, List, Map, MapEntry, MapType, Struct, Val};
use crate::lang::yaml::{Dialect, NodeKind, NodeRef, Scalar};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

/// How an engine is to run.
#[derive(Clone, Debug, Default)]
pub struct EngineRun {
    /// Whether origins are kept. What is unknown is known even without.
    pub origins: bool,
    /// Whether it is kept what was asked, too ([`Engine::questioned`]).
    pub questions: bool,
    /// What a run may cost.
    pub limits: Limits,
    /// What opens and closes an action, if not `{{` and `}}`.
    pub delimiters: Option<(String, String)>,
    /// Functions that this version of Helm does not know yet.
    pub without: &'static [&'static str],
    /// What the functions are built with.
    pub libraries: Libraries,
    /// The functions that there are.
    pub functions: FuncMap,
    /// What a key is that a map does not have.
    pub missing_key: MissingKey,
    /// YAML texts that runs before read.
    pub documents: Arc<Documents>,
}

impl EngineRun {
    fn function_names(&self) -> FunctionNames {
        FunctionNames { all: self.functions.finder(), without: self.without }
    }
}

/// Why a template did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateFailure {
    /// Go's `Error()` of the error and of all that it wraps, outermost first.
    pub chain: Vec<String>,
    /// Whether the template failed, not a call around it.
    pub is_execution: bool,
    /// The bound that was met: then it is the engine that gave up, not the template.
    pub bound: Option<Bound>,
}

impl Val {
    /// The value of a key, where this is a map that has it.
    pub fn get(&self, key: &str) -> Option<Val> {
        match &self.kind {
            Kind::Map(map) => map.get(key.as_bytes()),
            _ => None,
        }
    }

    /// Whether this is a map.
    pub fn is_map(&self) -> bool {
        matches!(self.kind, Kind::Map(_))
    }
}

/// What a template wrote.
#[derive(Clone, Debug)]
pub struct Output(Text);

impl Output {
    /// The bytes, with stand-ins where something is unknown.
    pub fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    /// [`Output::bytes`], copied only where something else holds them.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }
}

/// A part of an output that was written by one action out of the same values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPart {
    /// Where it stands in the output.
    pub bytes: Range<usize>,
    /// The node of a template that wrote it.
    pub written_by: Option<Place>,
    /// What flowed into it or decided on it.
    pub from: Arc<[Flow]>,
    /// Whether its text is unknown: then the bytes are a stand-in.
    pub is_unknown: bool,
    /// Whether something unknown chose it: then it may be another text.
    pub is_assumed: bool,
    /// The conditions that it stands under, outermost first.
    pub under: Arc<[Condition]>,
}

/// A set of templates, and what runs them.
pub struct Engine {
    execution: Execution,
    parser: TemplateParser,
    templates: Rc<Set>,
}

/// Reads texts as one engine does; any thread may.
#[derive(Clone)]
pub(crate) struct TemplateParser {
    functions: FunctionNames,
    delimiters: Delimiters,
    memory: Arc<Mutex<ParserMemory>>,
}

impl TemplateParser {
    /// What reads the texts of an engine that runs so.
    pub(crate) fn of(run: &EngineRun) -> TemplateParser {
        let delimiters = match &run.delimiters {
            Some((left, right)) => Delimiters { left: left.clone(), right: right.clone() },
            None => Delimiters::default(),
        };
        let memory = Arc::default();
        TemplateParser { functions: run.function_names(), delimiters, memory }
    }

    /// A text, to be added to engines of the same functions.
    pub(crate) fn parse(&self, name: &str, text: Arc<str>) -> Parsed {
        let held = || self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread that parses meanwhile begins with nothing.
        let mut memory = std::mem::take(&mut *held());
        let parsed = parse(name, text, &self.delimiters, self.functions, &mut memory);
        let mut kept = held();
        if kept.len() < memory.len() {
            *kept = memory;
        }
        parsed
    }
}

/// Look-ups in branches that were passed over, of all templates together.
const PASSED_OVER: usize = 20_000;

impl Engine {
    /// An engine without templates.
    pub fn new(run: &EngineRun) -> Engine {
        let mut trace = Trace::new(run.origins);
        if run.questions {
            trace.keep_questions();
        }
        let execution = Execution {
            cx: Cx::new(trace, run.limits.clone(), run.libraries, run.documents.clone()),
            set: Rc::default(),
            functions: run.function_names(),
            missing_key: run.missing_key,
            inputs: Val::nil(),
            parsed: FxHashMap::default(),
            sources: Vec::new(),
            literals: FxHashMap::default(),
            included: FxHashMap::default(),
            out: Builder::default(),
            spare: Vec::new(),
            under: CondId::default(),
            depth: 0,
        };
        Engine { execution, parser: TemplateParser::of(run), templates: Rc::default() }
    }

    /// Adds a text and what it defines. Of two templates of one name the later one
    /// counts, unless nothing is in it. All mistakes of the text, the first as Go
    /// tells it; then nothing of it is added.
    pub fn add(&mut self, name: &str, text: &str) -> Vec<ParseError> {
        let parsed = self.parser.parse(name, text.into());
        self.add_parsed(&parsed)
    }

    /// What reads its texts.
    pub(crate) fn parser(&self) -> &TemplateParser {
        &self.parser
    }

    /// Adds the templates of a text that is read already; errors as [`Engine::add`] gives
    /// them.
    pub(crate) fn add_parsed(&mut self, parsed: &Parsed) -> Vec<ParseError> {
        let index = self.execution.sources.len() as u32;
        let base = self.execution.cx.trace.add_source(index, &parsed.source);
        self.execution.sources.push(parsed.source.clone());
        if !parsed.errors.is_empty() {
            return parsed.errors.clone();
        }
        for tree in &parsed.trees {
            self.define(tree, &parsed.source, base);
        }
        Vec::new()
    }

    /// Takes all templates away.
    pub fn clear(&mut self) {
        self.templates = Rc::default();
    }

    fn define(&mut self, tree: &Arc<Tree>, source: &Arc<TemplateSource>, base: u32) {
        let templates = &mut Rc::make_mut(&mut self.templates).templates;
        let template = || RunningTemplate { tree: tree.clone(), source: source.clone(), base, text: None };
        match templates.entry(tree.name.clone()) {
            Entry::Vacant(entry) => {
                entry.insert(template());
            }
            Entry::Occupied(mut entry) => {
                if !is_empty(&tree.root, &source.text) {
                    entry.insert(template());
                }
            }
        }
    }

    /// The name of a source, as [`Place::source`] counts them.
    pub fn source_name(&self, source: u32) -> Option<&str> {
        self.execution.sources.get(source as usize).map(|source| &*source.name)
    }

    /// The text of a source.
    pub fn source_text(&self, source: u32) -> Option<&str> {
        self.execution.sources.get(source as usize).map(|source| &*source.text)
    }

    /// A template as Go writes it back.
    pub fn shown(&self, name: &str) -> Option<String> {
        let template = self.templates.get(name)?;
        let text = &template.source.text;
        Some(template.tree.root.iter().map(|node| Shown(node, text).to_string()).collect())
    }

    /// The parts of its data that a template looks up, in the order in which they stand.
    pub(crate) fn lookups(&self, name: &str) -> Vec<FieldLookup> {
        let trees =
            self.templates.templates.iter().map(|(name, template)| (name.clone(), template.tree.clone()));
        lookups(name, &trees.collect())
    }

    /// Makes values for this engine's runs.
    pub fn data(&mut self) -> Data<'_> {
        Data { cx: &mut self.execution.cx }
    }

    /// What the function `inputs` gives from now on.
    pub fn set_inputs(&mut self, inputs: Val) {
        self.execution.inputs = inputs;
    }

    /// What was asked of something unknown so far, whether or not a text was written
    /// under it: `if`, `with` and `range`.
    pub fn assumed(&self) -> Vec<Condition> {
        Reader::new(&self.execution.cx.trace).assumed()
    }

    /// Why answers were assumed so far, each reason once; `counts` says which do, by the
    /// places that asked.
    pub(crate) fn reasons(&self, counts: &dyn Fn(Option<Place>) -> bool) -> Vec<&str> {
        self.execution.cx.trace.reasons(counts)
    }

    /// The versions that `Has` was asked for so far, of all [`Data::version_set`]s; nothing where
    /// they are too many.
    pub(crate) fn asked_versions(&self) -> Option<BTreeSet<String>> {
        let versions = self.execution.cx.asked_versions()?;
        Some(versions.map(|version| String::from_utf8_lossy(version).into_owned()).collect())
    }

    /// The values that any `if`, `with` or `range` asked so far.
    pub(crate) fn questioned(&self) -> Vec<OriginId> {
        self.execution.cx.trace.questioned()
    }

    /// What stands in branches that the runs came to and never took, of all templates, as
    /// if each were given the same as those that are run.
    pub(crate) fn passed_over(&self) -> Vec<PassedOver> {
        let all = self.templates.templates.values();
        // A template without nodes has nothing to pass over, and no place.
        let mut all: Vec<&RunningTemplate> =
            all.filter(|template| !template.source.spans.is_empty()).collect();
        all.sort_by_key(|template| (template.base, template.tree.name.clone()));
        let trace = &self.execution.cx.trace;
        let of_one = |template: &&RunningTemplate| {
            let is_passed = |node| trace.is_passed_over(trace.writer(template.base, node));
            passed_over(&template.tree, &is_passed)
        };
        let found = all.iter().flat_map(|template| {
            let source = trace.place(trace.writer(template.base, 0)).map_or(0, |place| place.source);
            of_one(template).into_iter().map(move |one| one.of_source(source))
        });
        found.take(PASSED_OVER).collect()
    }

    /// Runs a template.
    pub fn run(&mut self, name: &str, data: &Val) -> Result<Output, TemplateFailure> {
        let templates = self.templates.clone();
        self.execution.set = templates.clone();
        let Some(template) = templates.get(name) else {
            let quoted = super::quote::go_quote(name.as_bytes());
            let message = format!("template: no template {quoted} associated with template \"gotpl\"");
            return Err(failure(Fault::new(message)));
        };
        self.execution.execute(template, data.clone()).map(Output).map_err(failure)
    }

    /// An output as Helm leaves it: without Go's words for no value.
    pub fn without_no_value(&self, output: &Output) -> Output {
        Output(without_no_value(&output.0))
    }

    /// The parts of an output, in order.
    pub fn parts(&self, output: &Output) -> Vec<OutputPart> {
        self.parts_of(std::slice::from_ref(output)).pop().unwrap_or_default()
    }

    /// The parts of each of several outputs.
    pub fn parts_of(&self, outputs: &[Output]) -> Vec<Vec<OutputPart>> {
        let trace = &self.execution.cx.trace;
        let mut reader = Reader::new(trace);
        let mut part = |(bytes, id)| {
            let prov = trace.prov(id);
            OutputPart {
                bytes,
                written_by: trace.place(prov.writer),
                from: reader.flows(prov.from),
                is_unknown: trace.is_unknown(prov.from),
                is_assumed: trace.is_assumed(prov.from),
                under: reader.conditions(prov.under),
            }
        };
        outputs.iter().map(|output| output.0.runs().map(&mut part).collect()).collect()
    }

    /// How many steps the runs took so far.
    pub fn steps(&self) -> u64 {
        self.execution.cx.steps
    }
}

#[allow(clippy::boxed_local, reason = "faults are boxed on their way")]
fn failure(fault: Box<Fault>) -> TemplateFailure {
    TemplateFailure {
        chain: fault.chain.iter().map(ToString::to_string).collect(),
        is_execution: fault.is_exec,
        bound: fault.bound,
    }
}

/// Makes values.
pub struct Data<'e> {
    cx: &'e mut Cx,
}

/// How deeply a tree may be nested to be a value.
const NODE_DEPTH: usize = 1000;

impl Data<'_> {
    fn set(&mut self, origin: Option<OriginId>) -> SetId {
        origin.map_or(SetId::NONE, |origin| self.cx.trace.origin(origin))
    }

    /// nil
    pub fn nil(&mut self, origin: Option<OriginId>) -> Val {
        let set = self.set(origin);
        Val::nil().with(set)
    }

    /// A boolean.
    pub fn bool(&mut self, value: bool, origin: Option<OriginId>) -> Val {
        Val::bool(value, self.set(origin))
    }

    /// An `int`, as a revision is one.
    pub fn int(&mut self, value: i64, origin: Option<OriginId>) -> Val {
        Val::int(value, self.set(origin))
    }

    /// An `int64`, as `--set` makes of digits.
    pub fn int64(&mut self, value: i64, origin: Option<OriginId>) -> Val {
        Val::int64(value, self.set(origin))
    }

    /// A `float64`, as every number of a YAML or JSON file is.
    pub fn float(&mut self, value: f64, origin: Option<OriginId>) -> Val {
        Val::float(value, self.set(origin))
    }

    /// A text.
    pub fn text(&mut self, text: &str, origin: Option<OriginId>) -> Val {
        let set = self.set(origin);
        let prov = self.cx.trace.plain(set);
        Val::text(Text::new(text.as_bytes(), prov))
    }

    /// A list.
    pub fn list(&mut self, items: Vec<Val>, origin: Option<OriginId>) -> Val {
        let set = self.set(origin);
        Val::list(List::any(items.into_iter().map(Val::stored).collect())).with(set)
    }

    /// A named list of texts that has a method `Has`. What that answers comes from the first
    /// origin, what else is made of the texts from the second, too.
    pub fn version_set(&mut self, items: Arc<[String]>, origins: [Option<OriginId>; 2]) -> Val {
        let [set, inner] = origins.map(|origin| self.set(origin));
        let inner = self.cx.trace.plain(inner);
        Val::list(List::later(items, inner, Elem::VersionSet)).with(set)
    }

    /// A map; keys come from where their values come from.
    pub fn map(&mut self, entries: Vec<(String, Val)>, origin: Option<OriginId>) -> Val {
        self.map_of(MapType::Any, entries, origin)
    }

    /// A map with the methods of chart values.
    pub fn values(&mut self, map: &Val) -> Val {
        match &map.kind {
            Kind::Map(of) => {
                let map_of = Map { ty: MapType::Values, ..of.clone() };
                Val::map(map_of).with(map.from)
            }
            _ => map.clone(),
        }
    }

    fn map_of(&mut self, ty: MapType, entries: Vec<(String, Val)>, origin: Option<OriginId>) -> Val {
        let of = self.entries(entries.iter().map(|(key, val)| (&**key, val.clone())), origin);
        match of.kind {
            Kind::Map(map) => Val::map(Map { ty, ..map }).with(of.from),
            kind => Val::new(kind, of.from),
        }
    }

    /// A map, of keys that are borrowed.
    pub fn entries<'k>(
        &mut self,
        entries: impl Iterator<Item = (&'k str, Val)>,
        origin: Option<OriginId>,
    ) -> Val {
        let set = self.set(origin);
        let entry = |(key, val): (&str, Val)| {
            let own = super::flow::of_key(&mut self.cx.trace, &val);
            (key.as_bytes().into(), MapEntry { key: own, val: val.stored() })
        };
        let entries: Vec<_> = entries.map(entry).collect();
        Val::map(Map::of(entries.into_iter().collect())).with(set)
    }

    /// A map of texts, or one that was never made.
    pub fn texts(&mut self, entries: Option<Vec<(String, Val)>>) -> Val {
        let is_nil = entries.is_none();
        match self.map_of(MapType::Strings, entries.unwrap_or_default(), None).kind {
            Kind::Map(map) => Val::map(Map { is_nil, ..map }),
            kind => Val::new(kind, SetId::NONE),
        }
    }

    /// Sets a key of a map that is shared.
    pub fn set_key(&mut self, map: &Val, key: &str, val: Val) {
        if let Kind::Map(map) = &map.kind {
            let own = super::flow::of_key(&mut self.cx.trace, &val);
            map.insert(key.as_bytes(), own, val);
        }
    }

    /// A text of which parts are unknown: those that are `None`.
    pub fn holes(&mut self, parts: &[Option<&str>], why: Option<&str>, origin: Option<OriginId>) -> Val {
        let why = why.unwrap_or("a value that is known here in part only");
        let set = self.set(origin);
        let mut out = super::rope::Builder::default();
        for part in parts {
            let (text, from) = match part {
                Some(text) => (*text, set),
                None => {
                    let hole = self.cx.trace.unknown(why.to_owned());
                    ("unknown", self.cx.trace.union(set, hole))
                }
            };
            let prov = self.cx.trace.plain(from);
            out.push(text.as_bytes(), prov);
        }
        Val::text(out.finish())
    }

    /// Files by name, listed when a template looks at them, and each read when it looks at that:
    /// most never do.
    pub fn files<R: FnOnce() -> SharedBytes + 'static, F: IntoIterator<Item = (Arc<str>, R)>>(
        &mut self,
        list: impl FnOnce() -> F + 'static,
    ) -> Val {
        let prov = self.cx.trace.plain(SetId::NONE);
        let entry = move |(name, read): (Arc<str>, R)| {
            let val = Val::new(Kind::Bytes(Text::of_file(read, prov)), SetId::NONE);
            (name.as_bytes().into(), MapEntry { key: SetId::NONE, val })
        };
        Val::map(Map::later(MapType::Files, move || list().into_iter().map(entry).collect()))
    }

    /// A struct of Go's: fields in order, methods without parameters, and what it is
    /// printed as where Go can take its address.
    pub fn structure(
        &mut self,
        type_name: &str,
        fields: Vec<(String, Val)>,
        methods: Vec<(String, Val)>,
        shown: Option<&str>,
    ) -> Val {
        let own =
            |pairs: Vec<(String, Val)>| pairs.into_iter().map(|(name, val)| (name.into(), val)).collect();
        let of = Struct {
            type_name: type_name.to_owned().into(),
            fields: own(fields),
            methods: own(methods),
            shown: shown.map(|shown| Text::new(shown.as_bytes(), Default::default())),
        };
        Val::new(Kind::Struct(Rc::new(of)), SetId::NONE)
    }

    /// A value that is unknown offline. It is used as `stand_in`, and all that it
    /// flows into knows.
    pub fn unknown(&mut self, stand_in: Val, why: &str) -> Val {
        let set = self.cx.trace.unknown(why.to_owned());
        let from = self.cx.trace.union(stand_in.from, set);
        stand_in.with(from)
    }

    /// A value that is unknown offline, but is one of a few: what all of them answer
    /// alike is known.
    pub fn one_of(&mut self, stand_in: Val, others: Vec<Val>, why: &str) -> Val {
        let Cx { trace, alternatives, .. } = &mut *self.cx;
        alternatives.add(trace, stand_in, others, why)
    }

    /// A text of several, one behind the other.
    pub fn joined(&mut self, texts: &[Val]) -> Val {
        let mut all = Text::empty();
        for val in texts {
            if let Kind::Str(text) = &val.kind {
                let text = super::flow::also(&mut self.cx.trace, text, val.from);
                all = all.join(&text);
            }
        }
        Val::text(all)
    }

    /// A tree as JSON would decode it: every number a `float64`. `origin` says where a
    /// node comes from. Nothing where a part of it is unknown or it is too deep.
    pub fn node(
        &mut self,
        node: NodeRef<'_>,
        origin: &mut dyn FnMut(NodeRef<'_>) -> Option<OriginId>,
    ) -> Option<Val> {
        self.node_at(node, origin, 0)
    }

    fn node_at(
        &mut self,
        node: NodeRef<'_>,
        origin: &mut dyn FnMut(NodeRef<'_>) -> Option<OriginId>,
        depth: usize,
    ) -> Option<Val> {
        if depth > NODE_DEPTH {
            return None;
        }
        let own = origin(node);
        Some(match node.kind() {
            NodeKind::Map => {
                let map = Map::new(MapType::Any);
                for entry in node.entries() {
                    let val = self.node_at(entry.value, origin, depth + 1)?;
                    let from = super::flow::of(&mut self.cx.trace, &val);
                    map.insert(entry.key.as_bytes(), from, val);
                }
                Val::map(map).with(self.set(own))
            }
            NodeKind::Seq => {
                let mut items = Vec::new();
                for item in node.items() {
                    items.push(self.node_at(item, origin, depth + 1)?);
                }
                self.list(items, own)
            }
            _ => return self.scalar(node, own),
        })
    }

    fn scalar(&mut self, node: NodeRef<'_>, own: Option<OriginId>) -> Option<Val> {
        Some(match node.scalar(Dialect::GoYamlV2) {
            Scalar::Null => self.nil(own),
            Scalar::Bool(value) => self.bool(value, own),
            Scalar::Int(value) => self.float(value as f64, own),
            Scalar::Uint(value) => self.float(value as f64, own),
            Scalar::Float(value) => self.float(value, own),
            Scalar::Timestamp(text) | Scalar::Str(text) => self.text(&text, own),
        })
    }
}
