//! Whether an object is one that the API server takes, and if not, where.
//!
//! Mirrors what a server-side apply goes through: structured-merge-diff's typed
//! conversion (`typed/validation.go`: unknown fields, duplicate list items),
//! apiextensions' `schema.Validate` over kube-openapi `pkg/validation/validate`,
//! and defaulting before required fields.

use super::format;
use super::tree::{Additional, Child, Schema, Types};
use super::violation::{Fault, Malformed, Report, Violation};
use super::{cel, crd, pattern, table};
use crate::lang::yaml::{Dialect, EntryRef, NodeRef, Scalar, pointer_join};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use std::borrow::Cow;

/// Levels below which nothing is looked at.
const DEPTH: usize = 200;

/// How an object is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// It is a part of an object, such as a patch: fields may be missing, and
    /// lists hold items by their keys.
    pub partial: bool,
    /// flux-operator has widened the enums of the cluster's kinds, or may have.
    pub operator: bool,
}

/// Validate a whole object against the schema of its kind.
pub fn validate<'a, 's>(object: NodeRef<'a>, schema: &'s Schema, options: Options) -> Report<'a, 's> {
    let mut walk = ValidationWalk::new(options, String::new());
    walk.object(object, schema);
    walk.report
}

/// Validate a value against a schema at a place of an object.
pub(crate) fn validate_value<'a, 's>(
    node: NodeRef<'a>,
    schema: &'s Schema,
    pointer: &str,
    options: Options,
) -> Report<'a, 's> {
    let mut walk = ValidationWalk::new(options, pointer.to_owned());
    walk.value(node, schema);
    walk.report
}

/// Validate an object that replaces another one: what [`validate`] says, and the rules
/// that compare both (`oldSelf`). Items of a list are compared where keys tell which
/// is which.
pub(crate) fn validate_update<'a, 's>(
    old: NodeRef<'a>,
    new: NodeRef<'a>,
    schema: &'s Schema,
    options: Options,
) -> Report<'a, 's> {
    let mut walk = ValidationWalk::new(options, String::new());
    walk.object(new, schema);
    walk.transition(old, new, schema);
    walk.report
}

/// Whether a text stands for what is known later: a variable, a template, an
/// encrypted value.
pub(crate) fn is_placeholder(text: &str) -> bool {
    // Most texts hold none of the characters.
    text.bytes().any(|byte| matches!(byte, b'{' | b'<'))
        && (text.contains("${") || text.contains("<<") || text.contains("{{"))
        || text.starts_with("ENC[")
}

/// Whether a text of a file that nothing applies holds a word that a script replaces:
/// `REPO_PREFIX/apps`, `$snapshot`.
fn is_blank_to_fill(text: &str) -> bool {
    let variable = text.strip_prefix('$').unwrap_or_default();
    if variable.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return true;
    }
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.len() > 3).any(|word| {
        word.contains('_')
            && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte.is_ascii_digit())
    })
}

/// What a value is, for messages; `None` where that is unknown.
pub(crate) fn type_name(node: NodeRef<'_>) -> Option<&'static str> {
    if node.is_unknown() {
        return None;
    }
    if node.is_map() {
        return Some("a map");
    }
    if node.is_seq() {
        return Some("a list");
    }
    Some(match node.scalar(Dialect::GoYamlV3) {
        Scalar::Null => "null",
        Scalar::Bool(_) => "a boolean",
        Scalar::Int(_) | Scalar::Uint(_) => "an integer",
        Scalar::Float(_) => "a number",
        Scalar::Timestamp(_) | Scalar::Str(_) => "a string",
    })
}

struct ValidationWalk<'a, 's> {
    options: Options,
    report: Report<'a, 's>,
    pointer: String,
    depth: usize,
    /// The texts of long enumerations, by the address of their schema.
    enumerations: FxHashMap<usize, FxHashSet<&'s str>>,
}

impl<'a, 's> ValidationWalk<'a, 's> {
    fn new(options: Options, pointer: String) -> ValidationWalk<'a, 's> {
        ValidationWalk {
            options,
            report: Report::default(),
            pointer,
            depth: 0,
            enumerations: FxHashMap::default(),
        }
    }

    fn object(&mut self, node: NodeRef<'a>, schema: &'s Schema) {
        let mut known = true;
        for entry in node.entries() {
            let is_ignored = match &*entry.key {
                "apiVersion" | "kind" => true,
                // Removed before the apply: by kustomize-controller's decryption,
                // and by fluxcd/pkg `ssa/normalize`.
                "sops" | "status" => true,
                _ => false,
            };
            if is_ignored {
                continue;
            }
            if &*entry.key == "metadata" {
                self.below("metadata", |walk| walk.value(entry.value, table::object_meta()));
                continue;
            }
            known &= self.entry(entry, schema);
        }
        if node.is_map() && known {
            self.missing(node, schema, &["apiVersion", "kind", "metadata", "status"]);
        }
        self.rules(node, schema);
    }

    /// One entry of a map. False where its key is unknown.
    fn entry(&mut self, entry: EntryRef<'a>, schema: &'s Schema) -> bool {
        if is_placeholder(&entry.key) || entry.key_node.is_unknown() {
            self.report.has_unknown = true;
            return false;
        }
        // apiextensions `pkg/apiserver/schema/objectmeta/validation.go` (`validateEmbeddedResource`).
        if schema.embedded && &*entry.key == "metadata" {
            self.below("metadata", |walk| walk.value(entry.value, table::object_meta()));
            return true;
        }
        if let Some(field) = schema.property(&entry.key) {
            let key = entry.key.clone();
            self.below(&key, |walk| walk.value(entry.value, field));
            return true;
        }
        match &schema.additional {
            Additional::Of(child) => {
                let key = entry.key.clone();
                self.below(&key, |walk| walk.value(entry.value, child.get()));
            }
            Additional::Closed if !schema.preserve_unknown => {
                let is_embedded = schema.embedded && matches!(&*entry.key, "apiVersion" | "kind");
                let is_directive = self.options.partial && entry.key.starts_with('$');
                if !is_embedded && !is_directive {
                    let pointer = pointer_join(&self.pointer, &entry.key);
                    let node = entry.value;
                    let fault = Fault::UnknownField { entry, parent: schema };
                    self.report.violations.push(Violation { fault, pointer, node });
                }
            }
            _ => {}
        }
        true
    }

    fn below(&mut self, segment: &str, look: impl FnOnce(&mut Self)) {
        let length = self.pointer.len();
        if segment.bytes().any(|byte| matches!(byte, b'~' | b'/')) {
            self.pointer = pointer_join(&self.pointer, segment);
        } else {
            self.pointer.push('/');
            self.pointer.push_str(segment);
        }
        self.depth += 1;
        look(self);
        self.depth -= 1;
        self.pointer.truncate(length);
    }

    fn malformed(&mut self, node: NodeRef<'a>, schema: &'s Schema, what: Malformed) {
        let fault = Fault::Malformed { schema, what };
        self.report.violations.push(Violation { fault, pointer: self.pointer.clone(), node });
    }

    fn value(&mut self, node: NodeRef<'a>, schema: &'s Schema) {
        if self.depth > DEPTH || node.is_unknown() {
            self.report.has_unknown = true;
            return;
        }
        // Null is like nothing at all, and an alias inside of its own anchor is null.
        if node.is_null() {
            return;
        }
        if node.is_map() {
            self.map(node, schema);
        } else if node.is_seq() {
            self.list(node, schema);
        } else {
            self.scalar(node, schema);
        }
    }

    /// Whether a value of these types is taken; else it is reported.
    fn has_type(&mut self, node: NodeRef<'a>, schema: &'s Schema, types: Types) -> bool {
        let any_number = Types::STRING.and(Types::INTEGER).and(Types::NUMBER);
        let taken = match () {
            () if schema.int_or_string => types.has(Types::STRING.and(Types::INTEGER)),
            () if schema.quantity => types.has(any_number),
            () => schema.types.is_empty() || schema.types.has(types),
        };
        if !taken {
            let found = type_name(node).unwrap_or("another type");
            self.malformed(node, schema, Malformed::Type(found));
        }
        taken
    }

    fn map(&mut self, node: NodeRef<'a>, schema: &'s Schema) {
        if !self.has_type(node, schema, Types::OBJECT) {
            return;
        }
        if self.options.partial
            && node.get("$patch").is_some_and(|value| value.as_str().as_deref() == Some("delete"))
        {
            return;
        }
        let mut known = true;
        let mut count = 0;
        for entry in node.entries() {
            count += 1;
            known &= self.entry(entry, schema);
        }
        if known {
            self.missing(node, schema, &[]);
            let limits = (schema.min_properties, schema.max_properties);
            if let Some(limit) = outside(count, limits, "field").filter(|_| !self.options.partial) {
                self.malformed(node, schema, Malformed::Size(limit));
            }
        }
        self.constant(node, schema);
        self.alternatives(node, schema);
        self.rules(node, schema);
    }

    fn missing(&mut self, node: NodeRef<'a>, schema: &'s Schema, not: &[&str]) {
        if self.options.partial {
            return;
        }
        // An embedded object says what it is.
        const TYPE: [super::tree::SchemaText; 2] =
            [super::tree::SchemaText::Borrowed("apiVersion"), super::tree::SchemaText::Borrowed("kind")];
        let of_type = TYPE.iter().filter(|name| schema.embedded && !schema.required.contains(name));
        for name in schema.required.iter().chain(of_type) {
            let is_there = node.get(name).is_some_and(|value| !value.is_null());
            let is_filled = schema.filled.contains(name)
                || schema.property(name).is_some_and(|field| field.default.is_some());
            if !is_there && !is_filled && !not.contains(&&**name) {
                let fault = Fault::MissingField { name: name.to_string(), parent: schema };
                let pointer = pointer_join(&self.pointer, name);
                self.report.violations.push(Violation { fault, pointer, node });
            }
        }
    }

    fn list(&mut self, node: NodeRef<'a>, schema: &'s Schema) {
        if !self.has_type(node, schema, Types::ARRAY) {
            return;
        }
        let mut count = 0;
        for (at, item) in node.items().enumerate() {
            count += 1;
            if let Some(schema) = schema.item() {
                self.below(&at.to_string(), |walk| walk.value(item, schema));
            }
        }
        if let Some(limit) = outside(count, (schema.min_items, schema.max_items), "item")
            && !self.options.partial
        {
            self.malformed(node, schema, Malformed::Size(limit));
        }
        match schema.list_type.as_deref() {
            Some("map") => self.duplicates(node, |item| map_key(item, schema)),
            Some("set") => self.duplicates(node, set_key),
            _ if schema.unique => self.duplicates(node, set_key),
            _ => {}
        }
        self.constant(node, schema);
        self.alternatives(node, schema);
        self.rules(node, schema);
    }

    fn duplicates(&mut self, node: NodeRef<'a>, key: impl Fn(NodeRef<'a>) -> Option<String>) {
        let mut seen: FxHashMap<String, NodeRef<'a>> = FxHashMap::default();
        for (at, item) in node.items().enumerate() {
            let Some(key) = key(item) else { continue };
            match seen.get(&key) {
                Some(first) => {
                    let pointer = format!("{}/{at}", self.pointer);
                    let fault = Fault::Duplicate { first: *first, key };
                    self.report.violations.push(Violation { fault, pointer, node: item });
                }
                None => {
                    seen.insert(key, item);
                }
            }
        }
    }

    fn scalar(&mut self, node: NodeRef<'a>, schema: &'s Schema) {
        let is_open = |text: &str| is_placeholder(text) || self.options.partial && is_blank_to_fill(text);
        if node.text().is_some_and(|text| is_open(&text)) {
            self.report.has_unknown = true;
            return;
        }
        let scalar = node.scalar(Dialect::GoYamlV3);
        let types = match &scalar {
            Scalar::Null => return,
            Scalar::Bool(_) => Types::BOOLEAN,
            Scalar::Int(_) | Scalar::Uint(_) => Types::INTEGER.and(Types::NUMBER),
            Scalar::Float(value) if value.fract() == 0.0 => Types::INTEGER.and(Types::NUMBER),
            Scalar::Float(_) => Types::NUMBER,
            Scalar::Timestamp(_) | Scalar::Str(_) => Types::STRING,
        };
        if !self.has_type(node, schema, types) {
            return;
        }
        match &scalar {
            Scalar::Timestamp(text) | Scalar::Str(text) => self.string(node, text, schema),
            Scalar::Int(value) => self.number(node, *value as f64, schema),
            Scalar::Uint(value) => self.number(node, *value as f64, schema),
            Scalar::Float(value) => self.number(node, *value, schema),
            Scalar::Bool(_) | Scalar::Null => {}
        }
        self.enumeration(node, &scalar, schema);
        self.constant(node, schema);
        self.alternatives(node, schema);
        self.rules(node, schema);
    }

    fn string(&mut self, node: NodeRef<'a>, text: &str, schema: &'s Schema) {
        if schema.quantity {
            if !format::is_quantity(text) {
                self.malformed(node, schema, Malformed::Quantity);
            }
            return;
        }
        let limits = (schema.min_length, schema.max_length);
        // Most texts have none: a long one is not counted in vain.
        if limits != (None, None)
            && let Some(limit) = outside(text.chars().count() as u64, limits, "character")
        {
            self.malformed(node, schema, Malformed::Size(limit));
            return;
        }
        if let Some(pattern) = &schema.pattern
            && pattern::matches(pattern, text) == Some(false)
        {
            self.malformed(node, schema, Malformed::Pattern);
            return;
        }
        if let Some(name) = &schema.format
            && format::is_valid(name, text) == Some(false)
        {
            self.malformed(node, schema, Malformed::Format);
        }
    }

    fn number(&mut self, node: NodeRef<'a>, value: f64, schema: &'s Schema) {
        let limit = match () {
            () if schema.minimum.is_some_and(|limit| value < limit) => {
                format!("at least {}", number(schema.minimum))
            }
            () if schema.maximum.is_some_and(|limit| value > limit) => {
                format!("at most {}", number(schema.maximum))
            }
            () if schema.exclusive_minimum.is_some_and(|limit| value <= limit) => {
                format!("above {}", number(schema.exclusive_minimum))
            }
            () if schema.exclusive_maximum.is_some_and(|limit| value >= limit) => {
                format!("below {}", number(schema.exclusive_maximum))
            }
            () if schema.multiple_of.is_some_and(|step| step > 0.0 && (value / step).fract() != 0.0) => {
                format!("a multiple of {}", number(schema.multiple_of))
            }
            () if schema.format.as_deref() == Some("int32")
                && !(f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&value) =>
            {
                "an integer of 32 bits".to_owned()
            }
            () => return,
        };
        self.malformed(node, schema, Malformed::Range(limit));
    }

    fn enumeration(&mut self, node: NodeRef<'a>, scalar: &Scalar<'_>, schema: &'s Schema) {
        if schema.enumeration.is_empty() {
            return;
        }
        let widened: &[Value] = if self.options.operator { &schema.operator_enumeration } else { &[] };
        if !self.is_listed(scalar, schema) && !widened.iter().any(|value| is_value(scalar, value)) {
            self.malformed(node, schema, Malformed::Enum);
        }
    }

    /// Whether a value is one of the enumeration. In a long one texts are not looked for one
    /// by one: a list may hold as many.
    fn is_listed(&mut self, scalar: &Scalar<'_>, schema: &'s Schema) -> bool {
        const MANY: usize = 16;
        match scalar {
            Scalar::Str(text) | Scalar::Timestamp(text) if schema.enumeration.len() > MANY => {
                let texts = || schema.enumeration.iter().filter_map(Value::as_str).collect();
                let key = std::ptr::from_ref(schema).addr();
                self.enumerations.entry(key).or_insert_with(texts).contains(&**text)
            }
            _ => schema.enumeration.iter().any(|value| is_value(scalar, value)),
        }
    }

    fn constant(&mut self, node: NodeRef<'a>, schema: &'s Schema) {
        if let Some(constant) = &schema.constant
            && crd::json(node).is_some_and(|value| value != *constant)
        {
            self.malformed(node, schema, Malformed::Enum);
        }
    }

    /// Whether a schema takes a value; `None` where that is unknown.
    fn takes(&self, node: NodeRef<'a>, child: &'s Child) -> Option<bool> {
        let schema = child.get();
        // Alternatives of int-or-string say it twice.
        let report = validate_value(node, schema, &self.pointer, self.options);
        match report.violations.is_empty() {
            false => Some(false),
            true if report.has_unknown || !report.unknown_rules.is_empty() => None,
            true => Some(true),
        }
    }

    fn alternatives(&mut self, node: NodeRef<'a>, schema: &'s Schema) {
        let any = &schema.any;
        if any.is_empty() && schema.all.is_empty() && schema.one.is_empty() && schema.not.is_none() {
            return;
        }
        if self.options.partial && !(node.kind() == crate::lang::yaml::NodeKind::Scalar) {
            return;
        }
        for child in &schema.all {
            self.value(node, child.get());
        }
        if schema.int_or_string {
            return;
        }
        let any_fails = !any.is_empty() && any.iter().all(|child| self.takes(node, child) == Some(false));
        let one: Vec<Option<bool>> = schema.one.iter().map(|child| self.takes(node, child)).collect();
        let one_fails = !one.is_empty()
            && (one.iter().all(|taken| *taken == Some(false))
                || one.iter().filter(|taken| **taken == Some(true)).count() > 1);
        let not_fails = schema.not.as_ref().is_some_and(|child| self.takes(node, child) == Some(true));
        if any_fails || one_fails || not_fails {
            self.malformed(node, schema, Malformed::Alternatives);
        }
    }

    fn transition(&mut self, old: NodeRef<'a>, new: NodeRef<'a>, schema: &'s Schema) {
        if self.depth > DEPTH || old.is_null() || new.is_null() {
            return;
        }
        for rule in schema.rules.iter().filter(|rule| rule.contains("oldSelf")) {
            self.rule(rule, cel::RuleScope { this: (new, schema), old: Some((old, schema)) });
        }
        for entry in new.entries().filter(|_| old.is_map()) {
            let field = schema.field(&entry.key);
            if let Some((field, before)) = field.zip(old.get(&entry.key)) {
                self.below(&entry.key.clone(), |walk| walk.transition(before, entry.value, field));
            }
        }
        if let Some(item) = schema.item().filter(|_| schema.list_type.as_deref() == Some("map")) {
            for (at, node) in new.items().enumerate() {
                let key = map_key(node, schema);
                let before = old.items().find(|old| key.is_some() && map_key(*old, schema) == key);
                if let Some(before) = before {
                    self.below(&at.to_string(), |walk| walk.transition(before, node, item));
                }
            }
        }
    }

    fn rules(&mut self, node: NodeRef<'a>, schema: &'s Schema) {
        if self.options.partial || schema.rules.is_empty() {
            return;
        }
        // A rule about a change holds for what is new.
        for rule in schema.rules.iter().filter(|rule| !rule.contains("oldSelf")) {
            self.rule(rule, cel::RuleScope { this: (node, schema), old: None });
        }
    }

    fn rule(&mut self, rule: &str, scope: cel::RuleScope<'a, 's>) {
        let known = cel::expression(rule);
        match known.map_or(cel::RuleResult::UnknownRule, |expression| cel::holds(&expression, scope)) {
            cel::RuleResult::Known(true) => {}
            cel::RuleResult::UnknownValue => self.report.has_unknown = true,
            cel::RuleResult::UnknownRule => self.report.unknown_rules.push(rule.to_owned()),
            cel::RuleResult::Known(false) => {
                let fault = Fault::Rejected { rule: rule.to_owned() };
                let (node, pointer) = (scope.this.0, self.pointer.clone());
                self.report.violations.push(Violation { fault, pointer, node });
            }
        }
    }
}

/// The limit that a count breaks, in words.
fn outside(count: u64, (least, most): (Option<u64>, Option<u64>), what: &str) -> Option<String> {
    let words = |limit: u64| format!("{limit} {what}{}", if limit == 1 { "" } else { "s" });
    if let Some(least) = least.filter(|least| count < *least) {
        return Some(format!("at least {}", words(least)));
    }
    most.filter(|most| count > *most).map(|most| format!("at most {}", words(most)))
}

fn number(limit: Option<f64>) -> String {
    limit.map(|limit| limit.to_string()).unwrap_or_default()
}

/// What tells an item of a list of maps from others, with the defaults of its keys;
/// `None` where a part of it is unknown.
fn map_key(item: NodeRef<'_>, list: &Schema) -> Option<String> {
    if !item.is_map() {
        return None;
    }
    let mut parts = Vec::new();
    for key in &list.list_keys {
        let default = || list.item()?.property(key)?.default.as_ref();
        let value = match item.get(key).filter(|value| !value.is_null()) {
            Some(value) => scalar_key(value)?,
            None => match default() {
                Some(value) => Cow::Owned(key_of(value)),
                // kubernetes `pkg/apis/core/v1/defaults.go`; fluxcd/pkg `ssa/normalize`.
                None if *key == "protocol" => Cow::Borrowed("TCP"),
                None => return None,
            },
        };
        parts.push(format!("{key}: {value}"));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn key_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn set_key(item: NodeRef<'_>) -> Option<String> {
    if item.is_map() || item.is_seq() {
        return None;
    }
    scalar_key(item).map(Cow::into_owned)
}

/// A scalar as a key; equal texts of different types are taken for different
/// elsewhere, so those stay apart by their quotes.
fn scalar_key(node: NodeRef<'_>) -> Option<Cow<'_, str>> {
    if node.is_unknown() || node.is_map() || node.is_seq() || node.is_null() {
        return None;
    }
    let text = node.text().filter(|text| !is_placeholder(text))?;
    let is_string = matches!(node.scalar(Dialect::GoYamlV3), Scalar::Str(_) | Scalar::Timestamp(_));
    let looks_like_another = !matches!(
        crate::lang::yaml::resolve::resolve_plain(Cow::Borrowed(&*text), Dialect::GoYamlV3),
        Scalar::Str(_) | Scalar::Timestamp(_)
    );
    if is_string && looks_like_another { Some(Cow::Owned(format!("\"{text}\""))) } else { Some(text) }
}

fn is_value(scalar: &Scalar<'_>, value: &Value) -> bool {
    match scalar {
        Scalar::Str(text) | Scalar::Timestamp(text) => value.as_str() == Some(text),
        Scalar::Bool(flag) => value.as_bool() == Some(*flag),
        Scalar::Int(number) => value.as_f64() == Some(*number as f64),
        Scalar::Uint(number) => value.as_f64() == Some(*number as f64),
        Scalar::Float(number) => value.as_f64() == Some(*number),
        Scalar::Null => value.is_null(),
    }
}

#[cfg(test)]
mod tests;
