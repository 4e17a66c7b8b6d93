//! The keywords of one schema.

use super::{Additional, At, Combined, Compiler, Draft, Id, Needs, Rare, Result, Schema};
use crate::build::helm::schema::formats::Format;
use crate::build::helm::value::{Kind, Map, Value};
use crate::lang::go::regexp::GoRegexp;
use std::sync::Arc;

/// What a schema says, by keyword.
#[derive(Default)]
struct Keywords<'c> {
    reference: Option<&'c Value>,
    recursive_reference: Option<&'c Value>,
    dynamic_reference: Option<&'c Value>,
    recursive_anchor: Option<&'c Value>,
    dynamic_anchor: Option<&'c Value>,
    all_of: Option<&'c Value>,
    any_of: Option<&'c Value>,
    one_of: Option<&'c Value>,
    not: Option<&'c Value>,
    condition: Option<&'c Value>,
    then: Option<&'c Value>,
    otherwise: Option<&'c Value>,
    properties: Option<&'c Value>,
    pattern_properties: Option<&'c Value>,
    additional_properties: Option<&'c Value>,
    property_names: Option<&'c Value>,
    dependencies: Option<&'c Value>,
    dependent_schemas: Option<&'c Value>,
    dependent_required: Option<&'c Value>,
    required: Option<&'c Value>,
    min_properties: Option<&'c Value>,
    max_properties: Option<&'c Value>,
    items: Option<&'c Value>,
    prefix_items: Option<&'c Value>,
    additional_items: Option<&'c Value>,
    contains: Option<&'c Value>,
    min_contains: Option<&'c Value>,
    max_contains: Option<&'c Value>,
    min_items: Option<&'c Value>,
    max_items: Option<&'c Value>,
    unique_items: Option<&'c Value>,
    unevaluated_items: Option<&'c Value>,
    unevaluated_properties: Option<&'c Value>,
    types: Option<&'c Value>,
    constant: Option<&'c Value>,
    enumeration: Option<&'c Value>,
    multiple_of: Option<&'c Value>,
    minimum: Option<&'c Value>,
    maximum: Option<&'c Value>,
    exclusive_minimum: Option<&'c Value>,
    exclusive_maximum: Option<&'c Value>,
    min_length: Option<&'c Value>,
    max_length: Option<&'c Value>,
    pattern: Option<&'c Value>,
    format: Option<&'c Value>,
    /// Whether it says anything that few schemas do.
    is_rare: bool,
}

impl<'c> Keywords<'c> {
    fn of(map: &'c Map) -> Keywords<'c> {
        let mut all = Keywords::default();
        for (key, value) in map {
            let (keyword, is_rare) = match &**key {
                "$ref" => (&mut all.reference, false),
                "allOf" => (&mut all.all_of, false),
                "anyOf" => (&mut all.any_of, false),
                "oneOf" => (&mut all.one_of, false),
                "properties" => (&mut all.properties, false),
                "additionalProperties" => (&mut all.additional_properties, false),
                "required" => (&mut all.required, false),
                "items" => (&mut all.items, false),
                "type" => (&mut all.types, false),
                "enum" => (&mut all.enumeration, false),
                "$recursiveRef" => (&mut all.recursive_reference, true),
                "$dynamicRef" => (&mut all.dynamic_reference, true),
                "$recursiveAnchor" => (&mut all.recursive_anchor, true),
                "$dynamicAnchor" => (&mut all.dynamic_anchor, true),
                "not" => (&mut all.not, true),
                "if" => (&mut all.condition, true),
                "then" => (&mut all.then, true),
                "else" => (&mut all.otherwise, true),
                "patternProperties" => (&mut all.pattern_properties, true),
                "propertyNames" => (&mut all.property_names, true),
                "dependencies" => (&mut all.dependencies, true),
                "dependentSchemas" => (&mut all.dependent_schemas, true),
                "dependentRequired" => (&mut all.dependent_required, true),
                "minProperties" => (&mut all.min_properties, true),
                "maxProperties" => (&mut all.max_properties, true),
                "prefixItems" => (&mut all.prefix_items, true),
                "additionalItems" => (&mut all.additional_items, true),
                "contains" => (&mut all.contains, true),
                "minContains" => (&mut all.min_contains, true),
                "maxContains" => (&mut all.max_contains, true),
                "minItems" => (&mut all.min_items, true),
                "maxItems" => (&mut all.max_items, true),
                "uniqueItems" => (&mut all.unique_items, true),
                "unevaluatedItems" => (&mut all.unevaluated_items, true),
                "unevaluatedProperties" => (&mut all.unevaluated_properties, true),
                "const" => (&mut all.constant, true),
                "multipleOf" => (&mut all.multiple_of, true),
                "minimum" => (&mut all.minimum, true),
                "maximum" => (&mut all.maximum, true),
                "exclusiveMinimum" => (&mut all.exclusive_minimum, true),
                "exclusiveMaximum" => (&mut all.exclusive_maximum, true),
                "minLength" => (&mut all.min_length, true),
                "maxLength" => (&mut all.max_length, true),
                "pattern" => (&mut all.pattern, true),
                "format" => (&mut all.format, true),
                _ => continue,
            };
            *keyword = Some(value);
            all.is_rare |= is_rare;
        }
        // Then they are a list.
        all.is_rare |= matches!(all.items.map(|value| &value.kind), Some(Kind::List(_)));
        all
    }
}

/// A schema that is read.
pub(super) struct SchemaReading<'r, 'c> {
    compiler: &'r mut Compiler<'c>,
    at: &'r At<'c>,
    keywords: Keywords<'c>,
    draft: Draft,
    schema: Schema,
    rare: Rare,
}

fn text(value: Option<&Value>) -> Option<&str> {
    match &value?.kind {
        Kind::Text(text) => Some(text),
        _ => None,
    }
}

fn flag(value: Option<&Value>) -> bool {
    matches!(value.map(|value| &value.kind), Some(Kind::Bool(true)))
}

fn number(value: Option<&Value>) -> Option<f64> {
    match value?.kind {
        Kind::Float(value) => Some(value),
        Kind::Int(value) => Some(value as f64),
        _ => None,
    }
}

fn count(value: Option<&Value>) -> Option<usize> {
    number(value).filter(|value| value.fract() == 0.0).map(|value| value as usize)
}

/// A text, or those of a list.
fn texts(value: &Value) -> impl Iterator<Item = Arc<str>> {
    let all = match &value.kind {
        Kind::List(items) => &***items,
        Kind::Text(_) => std::slice::from_ref(value),
        _ => &[],
    };
    all.iter().filter_map(|item| match &item.kind {
        Kind::Text(text) => Some(text.clone()),
        _ => None,
    })
}

impl<'r, 'c> SchemaReading<'r, 'c> {
    pub(super) fn new(compiler: &'r mut Compiler<'c>, at: &'r At<'c>, map: &'c Map) -> SchemaReading<'r, 'c> {
        let draft = compiler.documents[at.document].draft;
        let schema = Schema::of(draft, at.resource.clone());
        SchemaReading { compiler, at, keywords: Keywords::of(map), draft, schema, rare: Rare::default() }
    }

    pub(super) fn all(mut self) -> Result<Schema> {
        if let Some(reference) = text(self.keywords.reference) {
            self.schema.reference = Some(self.reference(reference)?);
            if self.draft < Draft::D2019 {
                return Ok(self.schema);
            }
        }
        self.applicators()?;
        self.objects()?;
        self.arrays()?;
        self.scalars()?;
        if self.keywords.is_rare {
            self.later()?;
            self.schema.rare = Some(Box::new(self.rare));
        }
        Ok(self.schema)
    }

    fn reference(&mut self, written: &str) -> Result<Id> {
        self.compiler.reference(&self.at.resource, written)
    }

    /// A schema right below a place.
    fn inside(&mut self, at: &At<'c>, value: &'c Value) -> Result<Id> {
        let inside = self.compiler.inside(at, value);
        self.compiler.schema(inside)
    }

    fn below(&mut self, value: Option<&'c Value>) -> Result<Option<Id>> {
        let at = self.at;
        value.map(|value| self.inside(at, value)).transpose()
    }

    fn list(&mut self, value: Option<&'c Value>) -> Result<Vec<Id>> {
        let Some(value) = value else { return Ok(Vec::new()) };
        let Kind::List(items) = &value.kind else { return Ok(Vec::new()) };
        let around = self.compiler.inside(self.at, value);
        items.iter().map(|item| self.inside(&around, item)).collect()
    }

    fn named(&mut self, value: Option<&'c Value>) -> Result<Vec<(Arc<str>, Id)>> {
        let Some(value) = value else { return Ok(Vec::new()) };
        let Some(map) = value.map() else { return Ok(Vec::new()) };
        let around = self.compiler.inside(self.at, value);
        map.iter().map(|(name, value)| Ok((name.clone(), self.inside(&around, value)?))).collect()
    }

    fn additional(&mut self, value: Option<&'c Value>) -> Result<Option<Additional>> {
        match value.map(|value| &value.kind) {
            None => Ok(None),
            Some(Kind::Bool(allowed)) => Ok(Some(Additional::Allowed(*allowed))),
            Some(_) => Ok(self.below(value)?.map(Additional::As)),
        }
    }

    fn regexp(&self, key: &str, pattern: &str) -> Result<Arc<GoRegexp>> {
        GoRegexp::new(pattern).map(Arc::new).map_err(|error| {
            let at = format!("{}/{key}", self.compiler.url(self.at));
            format!("invalid regex {pattern:?} at {at:?}: {error}")
        })
    }

    fn applicators(&mut self) -> Result<()> {
        let Keywords { all_of, any_of, one_of, .. } = self.keywords;
        if all_of.or(any_of).or(one_of).is_some() {
            let (all_of, any_of) = (self.list(all_of)?, self.list(any_of)?);
            let one_of = self.list(one_of)?;
            self.schema.combined = Some(Box::new(Combined { all_of, any_of, one_of }));
        }
        self.rare.not = self.below(self.keywords.not)?;
        if self.draft >= Draft::D7 {
            self.rare.condition = self.below(self.keywords.condition)?;
            if self.rare.condition.is_some() {
                self.rare.then = self.below(self.keywords.then)?;
                self.rare.otherwise = self.below(self.keywords.otherwise)?;
            }
        }
        Ok(())
    }

    fn objects(&mut self) -> Result<()> {
        self.schema.properties = self.named(self.keywords.properties)?.into();
        for (pattern, id) in self.named(self.keywords.pattern_properties)? {
            let regexp = self.regexp("patternProperties", &pattern)?;
            self.rare.pattern_properties.push((regexp, id));
        }
        self.schema.additional_properties = self.additional(self.keywords.additional_properties)?;
        if let Some(value) = self.keywords.dependencies
            && let Some(map) = value.map()
        {
            let around = self.compiler.inside(self.at, value);
            for (name, value) in map {
                let needs = match &value.kind {
                    Kind::List(_) => Needs::Properties(texts(value).collect()),
                    _ => Needs::Schema(self.inside(&around, value)?),
                };
                self.rare.dependencies.insert(name.to_string(), needs);
            }
        }
        self.schema.required = self.keywords.required.map(|value| texts(value).collect()).unwrap_or_default();
        self.rare.min_properties = count(self.keywords.min_properties);
        self.rare.max_properties = count(self.keywords.max_properties);
        if self.draft >= Draft::D6 {
            self.rare.property_names = self.below(self.keywords.property_names)?;
        }
        if self.draft >= Draft::D2019 {
            self.rare.dependent_schemas = self.named(self.keywords.dependent_schemas)?;
            if let Some(map) = self.keywords.dependent_required.and_then(Value::map) {
                let lists = map.iter().map(|(name, value)| (name.to_string(), texts(value).collect()));
                self.rare.dependent_required = lists.collect();
            }
        }
        Ok(())
    }

    fn arrays(&mut self) -> Result<()> {
        let items = self.keywords.items;
        if self.draft < Draft::D2020 {
            match items.map(|value| &value.kind) {
                Some(Kind::List(_)) => {
                    self.rare.prefix_items = self.list(items)?;
                    self.rare.additional_items = self.additional(self.keywords.additional_items)?;
                }
                Some(_) => self.schema.items = self.below(items)?,
                None => {}
            }
        } else {
            self.rare.prefix_items = self.list(self.keywords.prefix_items)?;
            self.schema.items = self.below(items)?;
        }
        if self.draft >= Draft::D6 {
            self.rare.contains = self.below(self.keywords.contains)?;
        }
        if self.draft >= Draft::D2019 && self.rare.contains.is_some() {
            self.rare.min_contains = count(self.keywords.min_contains);
            self.rare.max_contains = count(self.keywords.max_contains);
        }
        self.rare.min_items = count(self.keywords.min_items);
        self.rare.max_items = count(self.keywords.max_items);
        self.rare.unique_items = flag(self.keywords.unique_items);
        Ok(())
    }

    fn scalars(&mut self) -> Result<()> {
        self.schema.types = self.keywords.types.map(|value| texts(value).collect()).unwrap_or_default();
        let known = ["array", "boolean", "integer", "number", "null", "object", "string"];
        if let Some(bad) =
            self.schema.types.iter().find(|name| self.compiler.of_3 && !known.contains(&&***name))
        {
            return Err(format!(
                "has a primitive type that is NOT VALID -- given: /{bad}/ Expected valid values are:[{}]",
                known.join(" ")
            ));
        }
        if let Some(Kind::List(items)) = self.keywords.enumeration.map(|value| &value.kind) {
            self.schema.enumeration = Some(items.clone());
        }
        Ok(())
    }

    /// What few schemas say and no other place of the schema waits for.
    fn later(&mut self) -> Result<()> {
        let Keywords { minimum, maximum, exclusive_minimum, exclusive_maximum, .. } = self.keywords;
        if self.draft >= Draft::D6 {
            self.rare.constant = self.keywords.constant.cloned();
        }
        self.rare.multiple_of = number(self.keywords.multiple_of);
        (self.rare.maximum, self.rare.exclusive_maximum) = match flag(exclusive_maximum) {
            true => (None, number(maximum)),
            false => (number(maximum), number(exclusive_maximum)),
        };
        (self.rare.minimum, self.rare.exclusive_minimum) = match flag(exclusive_minimum) {
            true => (None, number(minimum)),
            false => (number(minimum), number(exclusive_minimum)),
        };
        self.rare.min_length = count(self.keywords.min_length);
        self.rare.max_length = count(self.keywords.max_length);
        if let Some(pattern) = text(self.keywords.pattern) {
            self.rare.pattern = Some((self.regexp("pattern", pattern)?, pattern.to_owned()));
        }
        if self.draft < Draft::D2019 || self.compiler.asserts_formats {
            let of_3 = self.compiler.of_3;
            self.rare.format = text(self.keywords.format).map(|name| Format { name: name.to_owned(), of_3 });
        }
        if self.draft < Draft::D2019 {
            return Ok(());
        }
        if let Some(reference) = text(self.keywords.recursive_reference) {
            self.rare.recursive = Some(self.reference(reference)?);
        }
        self.rare.recursive_anchor = flag(self.keywords.recursive_anchor);
        self.rare.unevaluated_items = self.below(self.keywords.unevaluated_items)?;
        self.rare.unevaluated_properties = self.below(self.keywords.unevaluated_properties)?;
        if self.draft >= Draft::D2020 {
            if let Some(reference) = text(self.keywords.dynamic_reference) {
                let id = self.reference(reference)?;
                let anchor = reference.split_once('#').map_or("", |(_, anchor)| anchor);
                let anchor = if anchor.starts_with('/') { "" } else { anchor };
                self.rare.dynamic = Some((id, anchor.to_owned()));
            }
            text(self.keywords.dynamic_anchor).unwrap_or_default().clone_into(&mut self.rare.dynamic_anchor);
        }
        Ok(())
    }
}
