//! The keywords of one schema.

use super::{Additional, At, Compiler, Draft, Id, Needs, Result, Schema, escaped, text};
use crate::build::helm::value::{Kind, Map, Value};
use crate::lang::go::regexp::GoRegexp;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A schema that is read.
pub(super) struct SchemaReading<'r, 'c> {
    pub(super) compiler: &'r mut Compiler<'c>,
    pub(super) at: &'r At,
    pub(super) map: &'r Map,
    pub(super) schema: &'r mut Schema,
    pub(super) draft: Draft,
}

impl SchemaReading<'_, '_> {
    pub(super) fn all(&mut self) -> Result<()> {
        let resource = self.schema.resource.clone();
        if let Some(reference) = text(self.map, "$ref") {
            self.schema.reference = Some(self.compiler.reference(&resource, reference)?);
            if self.draft < Draft::D2019 {
                return Ok(());
            }
        }
        self.applicators()?;
        self.objects()?;
        self.arrays()?;
        self.scalars()?;
        if self.draft >= Draft::D2019 {
            if let Some(reference) = text(self.map, "$recursiveRef") {
                self.schema.recursive = Some(self.compiler.reference(&resource, reference)?);
            }
            self.schema.recursive_anchor = self.flag("$recursiveAnchor");
            self.schema.unevaluated_items = self.below("unevaluatedItems")?;
            self.schema.unevaluated_properties = self.below("unevaluatedProperties")?;
        }
        if self.draft >= Draft::D2020 {
            if let Some(reference) = text(self.map, "$dynamicRef") {
                let id = self.compiler.reference(&resource, reference)?;
                let anchor = reference.split_once('#').map_or("", |(_, anchor)| anchor);
                let anchor = if anchor.starts_with('/') { "" } else { anchor };
                self.schema.dynamic = Some((id, anchor.to_owned()));
            }
            text(self.map, "$dynamicAnchor").unwrap_or_default().clone_into(&mut self.schema.dynamic_anchor);
        }
        Ok(())
    }

    pub(super) fn at(&mut self, path: &str) -> Result<Id> {
        let at = At { pointer: format!("{}/{path}", self.at.pointer), document: self.at.document.clone() };
        self.compiler.schema(at)
    }

    fn below(&mut self, key: &str) -> Result<Option<Id>> {
        if self.map.contains_key(key) { self.at(key).map(Some) } else { Ok(None) }
    }

    fn list(&mut self, key: &str) -> Result<Vec<Id>> {
        let Some(Kind::List(items)) = self.map.get(key).map(|value| &value.kind) else {
            return Ok(Vec::new());
        };
        (0..items.len()).map(|index| self.at(&format!("{key}/{index}"))).collect()
    }

    pub(super) fn named(&mut self, key: &str) -> Result<BTreeMap<String, Id>> {
        let Some(map) = self.map.get(key).and_then(Value::map) else {
            return Ok(BTreeMap::new());
        };
        map.keys().map(|name| Ok((name.to_string(), self.at(&format!("{key}/{}", escaped(name)))?))).collect()
    }

    fn additional(&mut self, key: &str) -> Result<Option<Additional>> {
        match self.map.get(key).map(|value| &value.kind) {
            None => Ok(None),
            Some(Kind::Bool(allowed)) => Ok(Some(Additional::Allowed(*allowed))),
            Some(_) => Ok(Some(Additional::As(self.at(key)?))),
        }
    }

    fn flag(&self, key: &str) -> bool {
        matches!(self.map.get(key).map(|value| &value.kind), Some(Kind::Bool(true)))
    }

    fn number(&self, key: &str) -> Option<f64> {
        match self.map.get(key)?.kind {
            Kind::Float(value) => Some(value),
            Kind::Int(value) => Some(value as f64),
            _ => None,
        }
    }

    fn count(&self, key: &str) -> Option<usize> {
        self.number(key).filter(|value| value.fract() == 0.0).map(|value| value as usize)
    }

    fn texts(value: &Value) -> Vec<String> {
        match &value.kind {
            Kind::List(items) => {
                let text = |item: &Value| match &item.kind {
                    Kind::Text(text) => Some(text.to_string()),
                    _ => None,
                };
                items.iter().filter_map(text).collect()
            }
            Kind::Text(text) => vec![text.to_string()],
            _ => Vec::new(),
        }
    }

    pub(super) fn regexp(&self, key: &str, pattern: &str) -> Result<Arc<GoRegexp>> {
        GoRegexp::new(pattern).map(Arc::new).map_err(|error| {
            format!(
                "invalid regex {pattern:?} at {:?}: {error}",
                format!("{}#{}/{key}", self.at.document, self.at.pointer)
            )
        })
    }

    fn applicators(&mut self) -> Result<()> {
        self.schema.all_of = self.list("allOf")?;
        self.schema.any_of = self.list("anyOf")?;
        self.schema.one_of = self.list("oneOf")?;
        self.schema.not = self.below("not")?;
        if self.draft >= Draft::D7 {
            self.schema.condition = self.below("if")?;
            if self.schema.condition.is_some() {
                self.schema.then = self.below("then")?;
                self.schema.otherwise = self.below("else")?;
            }
        }
        Ok(())
    }

    fn objects(&mut self) -> Result<()> {
        self.schema.properties = self.named("properties")?;
        for (pattern, id) in self.named("patternProperties")? {
            let regexp = self.regexp("patternProperties", &pattern)?;
            self.schema.pattern_properties.push((regexp, id));
        }
        self.schema.additional_properties = self.additional("additionalProperties")?;
        if let Some(map) = self.map.get("dependencies").and_then(Value::map) {
            for (name, value) in map {
                let needs = match &value.kind {
                    Kind::List(_) => Needs::Properties(Self::texts(value)),
                    _ => Needs::Schema(self.at(&format!("dependencies/{}", escaped(name)))?),
                };
                self.schema.dependencies.insert(name.to_string(), needs);
            }
        }
        self.schema.required = self.map.get("required").map(Self::texts).unwrap_or_default();
        self.schema.min_properties = self.count("minProperties");
        self.schema.max_properties = self.count("maxProperties");
        if self.draft >= Draft::D6 {
            self.schema.property_names = self.below("propertyNames")?;
        }
        if self.draft >= Draft::D2019 {
            self.schema.dependent_schemas = self.named("dependentSchemas")?;
            if let Some(map) = self.map.get("dependentRequired").and_then(Value::map) {
                let lists = map.iter().map(|(name, value)| (name.to_string(), Self::texts(value)));
                self.schema.dependent_required = lists.collect();
            }
        }
        Ok(())
    }

    fn arrays(&mut self) -> Result<()> {
        if self.draft < Draft::D2020 {
            match self.map.get("items").map(|value| &value.kind) {
                Some(Kind::List(_)) => {
                    self.schema.prefix_items = self.list("items")?;
                    self.schema.additional_items = self.additional("additionalItems")?;
                }
                Some(_) => self.schema.items = self.below("items")?,
                None => {}
            }
        } else {
            self.schema.prefix_items = self.list("prefixItems")?;
            self.schema.items = self.below("items")?;
        }
        if self.draft >= Draft::D6 {
            self.schema.contains = self.below("contains")?;
        }
        if self.draft >= Draft::D2019 && self.schema.contains.is_some() {
            self.schema.min_contains = self.count("minContains");
            self.schema.max_contains = self.count("maxContains");
        }
        self.schema.min_items = self.count("minItems");
        self.schema.max_items = self.count("maxItems");
        self.schema.unique_items = self.flag("uniqueItems");
        Ok(())
    }

    fn scalars(&mut self) -> Result<()> {
        self.schema.types = self.map.get("type").map(Self::texts).unwrap_or_default();
        let known = ["array", "boolean", "integer", "number", "null", "object", "string"];
        if let Some(bad) =
            self.schema.types.iter().find(|name| self.compiler.of_3 && !known.contains(&&***name))
        {
            return Err(format!(
                "has a primitive type that is NOT VALID -- given: /{bad}/ Expected valid values are:[{}]",
                known.join(" ")
            ));
        }
        if self.draft >= Draft::D6 {
            self.schema.constant = self.map.get("const").cloned();
        }
        if let Some(Kind::List(items)) = self.map.get("enum").map(|value| &value.kind) {
            self.schema.enumeration = Some((**items).clone());
        }
        self.schema.multiple_of = self.number("multipleOf");
        (self.schema.maximum, self.schema.exclusive_maximum) = match self.flag("exclusiveMaximum") {
            true => (None, self.number("maximum")),
            false => (self.number("maximum"), self.number("exclusiveMaximum")),
        };
        (self.schema.minimum, self.schema.exclusive_minimum) = match self.flag("exclusiveMinimum") {
            true => (None, self.number("minimum")),
            false => (self.number("minimum"), self.number("exclusiveMinimum")),
        };
        self.schema.min_length = self.count("minLength");
        self.schema.max_length = self.count("maxLength");
        if let Some(pattern) = text(self.map, "pattern") {
            self.schema.pattern = Some((self.regexp("pattern", pattern)?, pattern.to_owned()));
        }
        if self.draft < Draft::D2019 {
            self.schema.format = text(self.map, "format").map(str::to_owned);
        }
        Ok(())
    }
}
