//! Values against schemas: `validator.go` of github.com/santhosh-tekuri/jsonschema v6.

mod values;

use super::compile::{Additional, Combined, Compiled, Draft, Id, Needs, Rare, Schema};
use crate::build::helm::value::{Kind, Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;
use values::{duplicates, first, is_multiple};
pub(super) use values::{is_integer, type_name};

/// Schemas that one value is looked at by: a bound of work.
const STEPS: usize = 20_000_000;

/// Schemas within each other, of a value and of what is below it: references lead from one
/// to the next.
const DEPTH: usize = 5_000;

/// Errors that are kept.
const ERRORS: usize = 10_000;

/// What is wrong, and where.
#[derive(Clone, Debug)]
pub(super) struct ValidationFault {
    /// Keys and indices from the root.
    pub(super) path: Vec<String>,
    pub(super) kind: Wrong,
    pub(super) causes: Vec<ValidationFault>,
}

/// Kinds of faults.
#[derive(Clone, Debug)]
pub(super) enum Wrong {
    Group,
    Reference,
    FalseSchema,
    RefCycle,
    Type(Vec<String>, Value),
    Const(Value),
    Enum(Vec<Value>),
    Format(Value, String, String),
    MinProperties(usize, usize),
    MaxProperties(usize, usize),
    Required(Vec<String>),
    Dependency(String, Vec<String>),
    AdditionalProperties(Vec<String>),
    PropertyName(String),
    MinItems(usize, usize),
    MaxItems(usize, usize),
    UniqueItems(usize, usize),
    AdditionalItems(usize),
    Contains,
    MinContains(Vec<usize>, usize),
    MaxContains(Vec<usize>, usize),
    MinLength(usize, usize),
    MaxLength(usize, usize),
    Pattern(String, String),
    Minimum(f64, f64),
    Maximum(f64, f64),
    ExclusiveMinimum(f64, f64),
    ExclusiveMaximum(f64, f64),
    MultipleOf(f64, f64),
    Not,
    AllOf,
    AnyOf,
    OneOf(Option<(usize, usize)>),
}

/// What no schema has looked at yet.
#[derive(Clone, Debug, Default)]
struct Rest {
    properties: BTreeSet<String>,
    items: BTreeSet<usize>,
}

impl Rest {
    fn keep(&mut self, other: &Rest) {
        self.properties.retain(|name| other.properties.contains(name));
        self.items.retain(|index| other.items.contains(index));
    }
}

/// A schema that is being gone through, and those around it.
struct Scope<'s> {
    id: Id,
    value: u32,
    parent: Option<&'s Scope<'s>>,
    depth: usize,
    /// Those around it that look at the same value.
    same: usize,
}

pub(super) struct Validator<'v> {
    compiled: &'v Compiled,
    path: Vec<String>,
    steps: usize,
    faults: usize,
    values: u32,
    /// Whether the bound was met.
    pub(super) is_over: bool,
}

type Checked = Result<Rest, Box<ValidationFault>>;

impl<'v> Validator<'v> {
    pub(super) fn new(compiled: &'v Compiled) -> Validator<'v> {
        Validator { compiled, path: Vec::new(), steps: 0, faults: 0, values: 0, is_over: false }
    }

    /// The faults of a value, none where it fits.
    pub(super) fn check(&mut self, id: Id, value: &Value) -> Vec<ValidationFault> {
        let scope = Scope { id, value: 0, parent: None, depth: 0, same: 0 };
        match self.validate(&scope, value, false) {
            Ok(_) => Vec::new(),
            Err(fault) => match fault.kind {
                Wrong::Group => fault.causes,
                _ => vec![*fault],
            },
        }
    }

    fn fault(&mut self, kind: Wrong) -> ValidationFault {
        self.faults += 1;
        self.is_over |= self.faults > ERRORS;
        ValidationFault { path: self.path.clone(), kind, causes: Vec::new() }
    }

    fn below(&mut self, scope: &Scope<'_>, id: Id, value: &Value, key: &str) -> Checked {
        self.path.push(key.to_owned());
        self.values += 1;
        let depth = scope.depth + 1;
        let inner = Scope { id, value: self.values, parent: Some(scope), depth, same: 0 };
        let checked = self.validate(&inner, value, false);
        self.path.pop();
        checked
    }

    fn same(&mut self, scope: &Scope<'_>, id: Id, value: &Value, needs: bool) -> Checked {
        let (depth, same) = (scope.depth + 1, scope.same + 1);
        let inner = Scope { id, value: scope.value, parent: Some(scope), depth, same };
        self.validate(&inner, value, needs)
    }

    fn validate(&mut self, scope: &Scope<'_>, value: &Value, needs: bool) -> Checked {
        let compiled = self.compiled;
        let schema = compiled.schema(scope.id);
        // A circle is looked for among those of the same value.
        self.steps += 1 + scope.same;
        if self.steps > STEPS || scope.depth > DEPTH {
            self.is_over = true;
        }
        if self.is_over || matches!(value.kind, Kind::Unknown(_) | Kind::Holes(_)) {
            return Ok(Rest::default());
        }
        let rest = start(schema, value, needs);
        match schema.always {
            Some(true) => return Ok(rest),
            Some(false) => return Err(Box::new(self.fault(Wrong::FalseSchema))),
            None => {}
        }
        if is_cycle(scope) {
            return Err(Box::new(self.fault(Wrong::RefCycle)));
        }
        if let Some(kind) = first(schema, value) {
            return Err(Box::new(self.fault(kind)));
        }
        let mut run = ValidationRun { scope, schema, value, needs, rest, faults: Vec::new() };
        if let Some(reference) = schema.reference {
            let checked = self.reference(&mut run, reference);
            if schema.draft < Draft::D2019 {
                return match checked {
                    None => Ok(run.rest),
                    Some(fault) => Err(Box::new(fault)),
                };
            }
            run.faults.extend(checked);
        }
        match &value.kind {
            Kind::Map(map) => self.object(&mut run, map),
            Kind::List(items) => self.array(&mut run, items),
            Kind::Text(text) => self.string(&mut run, text),
            Kind::Float(number) => self.number(&mut run, *number),
            Kind::Int(number) => self.number(&mut run, *number as f64),
            _ => {}
        }
        self.references(&mut run);
        self.conditions(&mut run);
        self.unevaluated(&mut run);
        let ValidationRun { rest, mut faults, .. } = run;
        match faults.len() {
            0 => Ok(rest),
            1 => Err(Box::new(faults.remove(0))),
            _ => Err(Box::new(ValidationFault { causes: faults, ..self.fault(Wrong::Group) })),
        }
    }

    /// A schema that a reference leads to, for the same value.
    fn reference(&mut self, run: &mut ValidationRun<'_>, id: Id) -> Option<ValidationFault> {
        match self.same(run.scope, id, run.value, run.wants_rest()) {
            Ok(rest) => {
                run.rest.keep(&rest);
                None
            }
            Err(fault) => {
                let mut around = self.fault(Wrong::Reference);
                around.causes = match fault.kind {
                    Wrong::Group => fault.causes,
                    _ => vec![*fault],
                };
                Some(around)
            }
        }
    }

    fn references(&mut self, run: &mut ValidationRun<'_>) {
        let Some(rare) = &run.schema.rare else { return };
        if let Some(id) = rare.recursive {
            let id = if self.is_recursive_anchor(id) { self.outermost(run.scope, id) } else { id };
            let fault = self.reference(run, id);
            run.faults.extend(fault);
        }
        if let Some((id, anchor)) = &rare.dynamic {
            let mut id = *id;
            let own = self.compiled.schema(id).rare.as_ref().map_or("", |rare| &rare.dynamic_anchor);
            if !anchor.is_empty() && own == anchor {
                id = self.dynamic(run.scope, anchor, id);
            }
            let fault = self.reference(run, id);
            run.faults.extend(fault);
        }
    }

    fn is_recursive_anchor(&self, id: Id) -> bool {
        self.compiled.schema(id).rare.as_ref().is_some_and(|rare| rare.recursive_anchor)
    }

    fn outermost(&self, scope: &Scope<'_>, fallback: Id) -> Id {
        let mut found = fallback;
        let mut at = Some(scope);
        while let Some(scope) = at {
            if self.is_recursive_anchor(scope.id) {
                found = scope.id;
            }
            at = scope.parent;
        }
        found
    }

    fn dynamic(&self, scope: &Scope<'_>, anchor: &str, fallback: Id) -> Id {
        let mut found = fallback;
        let mut at = Some(scope);
        while let Some(scope) = at {
            let resource: &Arc<str> = &self.compiled.schema(scope.id).resource;
            if let Some(id) = self.compiled.dynamic_anchors.get(&(resource.clone(), anchor.to_owned())) {
                found = *id;
            }
            at = scope.parent;
        }
        found
    }

    fn object(&mut self, run: &mut ValidationRun<'_>, map: &Map) {
        let schema = run.schema;
        let rare = schema.rare.as_deref();
        let count = map.len();
        if let Some(wanted) = rare.and_then(|rare| rare.min_properties).filter(|wanted| count < *wanted) {
            run.faults.push(self.fault(Wrong::MinProperties(count, wanted)));
        }
        if let Some(wanted) = rare.and_then(|rare| rare.max_properties).filter(|wanted| count > *wanted) {
            run.faults.push(self.fault(Wrong::MaxProperties(count, wanted)));
        }
        let lacking = missing(map, &schema.required);
        if !lacking.is_empty() {
            run.faults.push(self.fault(Wrong::Required(lacking)));
        }
        if let Some(rare) = rare {
            self.dependencies(run, map, rare);
        }
        self.properties(run, map);
        if let Some(rare) = rare {
            self.names(run, map, rare);
        }
    }

    fn dependencies(&mut self, run: &mut ValidationRun<'_>, map: &Map, rare: &Rare) {
        for (name, needs) in rare.dependencies.iter().filter(|(name, _)| map.contains_key(&***name)) {
            match needs {
                Needs::Properties(wanted) => {
                    let lacking = missing(map, wanted);
                    if !lacking.is_empty() {
                        run.faults.push(self.fault(Wrong::Dependency(name.clone(), lacking)));
                    }
                }
                Needs::Schema(id) => self.also(run, *id),
            }
        }
    }

    fn names(&mut self, run: &mut ValidationRun<'_>, map: &Map, rare: &Rare) {
        for name in map.keys() {
            let Some(id) = rare.property_names else { break };
            let text = Value::text(name);
            let path = std::mem::take(&mut self.path);
            let faults = self.check(id, &text);
            self.path = path;
            if !faults.is_empty() {
                run.faults.push(ValidationFault {
                    causes: faults,
                    ..self.fault(Wrong::PropertyName(name.to_string()))
                });
            }
        }
        for (_, id) in rare.dependent_schemas.iter().filter(|(name, _)| map.contains_key(&**name)) {
            self.also(run, *id);
        }
        for (name, wanted) in rare.dependent_required.iter().filter(|(name, _)| map.contains_key(&***name)) {
            let lacking = missing(map, wanted);
            if !lacking.is_empty() {
                run.faults.push(self.fault(Wrong::Dependency(name.clone(), lacking)));
            }
        }
    }

    /// A schema for the same value, whose faults are this one's.
    fn also(&mut self, run: &mut ValidationRun<'_>, id: Id) {
        match self.same(run.scope, id, run.value, run.wants_rest()) {
            Ok(rest) => run.rest.keep(&rest),
            Err(fault) => run.faults.push(*fault),
        }
    }

    fn properties(&mut self, run: &mut ValidationRun<'_>, map: &Map) {
        let schema = run.schema;
        let mut additional = Vec::new();
        for (name, value) in map {
            let mut evaluated = false;
            if let Some(id) = schema.property(name) {
                evaluated = true;
                run.faults.extend(self.below(run.scope, id, value, name).err().map(|fault| *fault));
            }
            for (pattern, id) in schema.rare.iter().flat_map(|rare| &rare.pattern_properties) {
                if pattern.is_match(name) {
                    evaluated = true;
                    run.faults.extend(self.below(run.scope, *id, value, name).err().map(|fault| *fault));
                }
            }
            if !evaluated && let Some(rule) = &schema.additional_properties {
                evaluated = true;
                match rule {
                    Additional::Allowed(true) => {}
                    Additional::Allowed(false) => additional.push(name.to_string()),
                    Additional::As(id) => {
                        run.faults.extend(self.below(run.scope, *id, value, name).err().map(|fault| *fault));
                    }
                }
            }
            if evaluated {
                run.rest.properties.remove(&**name);
            }
        }
        if !additional.is_empty() {
            run.faults.push(self.fault(Wrong::AdditionalProperties(additional)));
        }
    }

    fn array(&mut self, run: &mut ValidationRun<'_>, items: &[Value]) {
        let schema = run.schema;
        let Some(rare) = schema.rare.as_deref() else {
            return self.items(run, schema.items, items);
        };
        let count = items.len();
        if let Some(wanted) = rare.min_items.filter(|wanted| count < *wanted) {
            run.faults.push(self.fault(Wrong::MinItems(count, wanted)));
        }
        if let Some(wanted) = rare.max_items.filter(|wanted| count > *wanted) {
            run.faults.push(self.fault(Wrong::MaxItems(count, wanted)));
        }
        if rare.unique_items
            && let Some((one, two)) = duplicates(items)
        {
            run.faults.push(self.fault(Wrong::UniqueItems(one, two)));
        }
        let prefix = rare.prefix_items.len().min(count);
        for (index, (item, id)) in items.iter().zip(&rare.prefix_items).enumerate() {
            let checked = self.below(run.scope, *id, item, &index.to_string());
            run.faults.extend(checked.err().map(|fault| *fault));
        }
        let own = match rare.additional_items {
            Some(Additional::As(id)) => Some(id),
            Some(Additional::Allowed(_)) => None,
            None => schema.items,
        };
        // Behind the prefix upstream counts anew.
        self.items(run, own, &items[prefix..]);
        if prefix != count && matches!(rare.additional_items, Some(Additional::Allowed(false))) {
            run.faults.push(self.fault(Wrong::AdditionalItems(count - prefix)));
        }
        self.contains(run, rare, items);
    }

    fn items(&mut self, run: &mut ValidationRun<'_>, id: Option<Id>, items: &[Value]) {
        let Some(id) = id else { return };
        for (index, item) in items.iter().enumerate() {
            let checked = self.below(run.scope, id, item, &index.to_string());
            run.faults.extend(checked.err().map(|fault| *fault));
        }
    }

    fn contains(&mut self, run: &mut ValidationRun<'_>, rare: &Rare, items: &[Value]) {
        let Some(id) = rare.contains else { return };
        let (mut causes, mut matched) = (Vec::new(), Vec::new());
        for (index, item) in items.iter().enumerate() {
            match self.below(run.scope, id, item, &index.to_string()) {
                Ok(_) => {
                    matched.push(index);
                    if run.schema.draft >= Draft::D2020 {
                        run.rest.items.remove(&index);
                    }
                }
                Err(fault) => causes.push(*fault),
            }
        }
        match rare.min_contains {
            Some(wanted) if matched.len() < wanted => {
                let kind = Wrong::MinContains(matched.clone(), wanted);
                run.faults.push(ValidationFault { causes, ..self.fault(kind) });
            }
            None if matched.is_empty() => {
                run.faults.push(ValidationFault { causes, ..self.fault(Wrong::Contains) })
            }
            _ => {}
        }
        if let Some(wanted) = rare.max_contains.filter(|wanted| matched.len() > *wanted) {
            run.faults.push(self.fault(Wrong::MaxContains(matched, wanted)));
        }
    }

    fn string(&mut self, run: &mut ValidationRun<'_>, text: &str) {
        let Some(rare) = run.schema.rare.as_deref() else { return };
        if rare.min_length.is_some() || rare.max_length.is_some() {
            let length = text.chars().count();
            if let Some(wanted) = rare.min_length.filter(|wanted| length < *wanted) {
                run.faults.push(self.fault(Wrong::MinLength(length, wanted)));
            }
            if let Some(wanted) = rare.max_length.filter(|wanted| length > *wanted) {
                run.faults.push(self.fault(Wrong::MaxLength(length, wanted)));
            }
        }
        if let Some((regexp, pattern)) = &rare.pattern
            && !regexp.is_match(text)
        {
            run.faults.push(self.fault(Wrong::Pattern(text.to_owned(), pattern.clone())));
        }
    }

    fn number(&mut self, run: &mut ValidationRun<'_>, number: f64) {
        let Some(rare) = run.schema.rare.as_deref() else { return };
        if let Some(wanted) = rare.minimum.filter(|wanted| number < *wanted) {
            run.faults.push(self.fault(Wrong::Minimum(number, wanted)));
        }
        if let Some(wanted) = rare.maximum.filter(|wanted| number > *wanted) {
            run.faults.push(self.fault(Wrong::Maximum(number, wanted)));
        }
        if let Some(wanted) = rare.exclusive_minimum.filter(|wanted| number <= *wanted) {
            run.faults.push(self.fault(Wrong::ExclusiveMinimum(number, wanted)));
        }
        if let Some(wanted) = rare.exclusive_maximum.filter(|wanted| number >= *wanted) {
            run.faults.push(self.fault(Wrong::ExclusiveMaximum(number, wanted)));
        }
        if let Some(wanted) = rare.multiple_of.filter(|wanted| !is_multiple(number, *wanted)) {
            run.faults.push(self.fault(Wrong::MultipleOf(number, wanted)));
        }
    }

    fn conditions(&mut self, run: &mut ValidationRun<'_>) {
        let schema = run.schema;
        let needs = run.wants_rest();
        let rare = schema.rare.as_deref();
        if let Some(id) = rare.and_then(|rare| rare.not)
            && let Ok(rest) = self.same(run.scope, id, run.value, needs)
        {
            run.rest.keep(&rest);
            run.faults.push(self.fault(Wrong::Not));
        }
        if let Some(combined) = &schema.combined {
            self.combined(run, combined, needs);
        }
        if let Some(rare) = rare
            && let Some(id) = rare.condition
        {
            let branch = match self.same(run.scope, id, run.value, needs) {
                Ok(rest) => {
                    run.rest.keep(&rest);
                    rare.then
                }
                Err(_) => rare.otherwise,
            };
            if let Some(id) = branch {
                self.also(run, id);
            }
        }
    }

    fn combined(&mut self, run: &mut ValidationRun<'_>, combined: &Combined, needs: bool) {
        let mut causes = Vec::new();
        for id in &combined.all_of {
            match self.same(run.scope, *id, run.value, needs) {
                Ok(rest) => run.rest.keep(&rest),
                Err(fault) => causes.push(*fault),
            }
        }
        if !causes.is_empty() {
            run.faults.push(ValidationFault { causes, ..self.fault(Wrong::AllOf) });
        }
        if !combined.any_of.is_empty() {
            let (mut matched, mut causes) = (false, Vec::new());
            for id in &combined.any_of {
                match self.same(run.scope, *id, run.value, needs) {
                    Ok(rest) => {
                        run.rest.keep(&rest);
                        matched = true;
                        if run.rest.properties.is_empty() && run.rest.items.is_empty() {
                            break;
                        }
                    }
                    Err(fault) => causes.push(*fault),
                }
            }
            if !matched {
                run.faults.push(ValidationFault { causes, ..self.fault(Wrong::AnyOf) });
            }
        }
        self.one_of(run, &combined.one_of, needs);
    }

    fn one_of(&mut self, run: &mut ValidationRun<'_>, all: &[Id], needs: bool) {
        let (mut matched, mut causes) = (None, Vec::new());
        for (index, id) in all.iter().enumerate() {
            match (self.same(run.scope, *id, run.value, needs), matched) {
                (Ok(rest), None) => {
                    run.rest.keep(&rest);
                    matched = Some(index);
                }
                (Ok(_), Some(first)) => {
                    run.faults.push(self.fault(Wrong::OneOf(Some((first, index)))));
                    break;
                }
                (Err(fault), None) => causes.push(*fault),
                (Err(_), Some(_)) => {}
            }
        }
        if !all.is_empty() && matched.is_none() {
            run.faults.push(ValidationFault { causes, ..self.fault(Wrong::OneOf(None)) });
        }
    }

    fn unevaluated(&mut self, run: &mut ValidationRun<'_>) {
        let Some(rare) = &run.schema.rare else { return };
        if let (Some(id), Kind::Map(map)) = (rare.unevaluated_properties, &run.value.kind) {
            for name in std::mem::take(&mut run.rest.properties) {
                if let Some(value) = map.get(&*name) {
                    run.faults.extend(self.below(run.scope, id, value, &name).err().map(|fault| *fault));
                }
            }
        }
        if let (Some(id), Kind::List(items)) = (rare.unevaluated_items, &run.value.kind) {
            for index in std::mem::take(&mut run.rest.items) {
                if let Some(value) = items.get(index) {
                    let checked = self.below(run.scope, id, value, &index.to_string());
                    run.faults.extend(checked.err().map(|fault| *fault));
                }
            }
        }
    }
}

/// One schema on one value.
struct ValidationRun<'r> {
    scope: &'r Scope<'r>,
    schema: &'r Schema,
    value: &'r Value,
    needs: bool,
    rest: Rest,
    faults: Vec<ValidationFault>,
}

impl ValidationRun<'_> {
    fn wants_rest(&self) -> bool {
        self.needs || !(self.rest.properties.is_empty() && self.rest.items.is_empty())
    }
}

/// Those of a map's keys that it lacks.
fn missing(map: &Map, wanted: &[Arc<str>]) -> Vec<String> {
    wanted.iter().filter(|name| !map.contains_key(&***name)).map(ToString::to_string).collect()
}

fn start(schema: &Schema, value: &Value, needs: bool) -> Rest {
    let mut rest = Rest::default();
    let rare = schema.rare.as_deref();
    let is_asked = |asked: fn(&Rare) -> Option<Id>| needs || rare.and_then(asked).is_some();
    match &value.kind {
        Kind::Map(map) if is_asked(|rare| rare.unevaluated_properties) => {
            rest.properties = map.keys().map(ToString::to_string).collect();
        }
        Kind::List(items) if is_asked(|rare| rare.unevaluated_items) => {
            let additional = rare.and_then(|rare| rare.additional_items.as_ref());
            let evaluated = match (additional, schema.items) {
                (Some(_), _) | (None, Some(_)) => items.len(),
                (None, None) => rare.map_or(0, |rare| rare.prefix_items.len()),
            };
            rest.items = (evaluated..items.len()).collect();
        }
        _ => {}
    }
    rest
}

fn is_cycle(scope: &Scope<'_>) -> bool {
    let mut at = scope.parent;
    while let Some(outer) = at {
        if outer.value != scope.value {
            return false;
        }
        if outer.id == scope.id {
            return true;
        }
        at = outer.parent;
    }
    false
}
