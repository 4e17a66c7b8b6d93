//! What an expression comes to. An error of CEL (no such key, no such overload) is
//! unknown here: the API server refuses the object for it, but a value that is
//! only unknown offline ends the same way.

use crate::lang::cel::Expression;
use crate::lang::go::duration::GoDuration;
use crate::lang::yaml::{Dialect, NodeRef, Scalar};
use crate::schema::crd::json;
use crate::schema::pattern::matches;
use crate::schema::tree::Schema;
use crate::schema::validate::is_placeholder;
use serde_json::Value as Json;
use std::borrow::Cow;
use std::cmp::Ordering;

/// The variables of a rule.
#[derive(Clone, Copy)]
pub(crate) struct RuleScope<'a, 's> {
    /// `self`, with its schema for defaults.
    pub this: (NodeRef<'a>, &'s Schema),
    /// `oldSelf`, in an update.
    pub old: Option<(NodeRef<'a>, &'s Schema)>,
}

/// What a rule comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuleResult {
    /// Whether it holds.
    Known(bool),
    /// It depends on a value that is unknown.
    UnknownValue,
    /// It uses what is not known here of the language.
    UnknownRule,
}

/// Whether a rule holds.
pub(crate) fn holds(expression: &Expression, scope: RuleScope<'_, '_>) -> RuleResult {
    let mut evaluation = Evaluation { scope, names: Vec::new(), steps: 0, is_beyond: false };
    match evaluation.value(expression) {
        Value::Bool(value) => RuleResult::Known(value),
        _ if evaluation.is_beyond => RuleResult::UnknownRule,
        _ => RuleResult::UnknownValue,
    }
}

/// Steps after which an evaluation is given up; the API server has a budget too.
const STEPS: usize = 200_000;

#[derive(Clone, Debug)]
enum Value<'a, 's> {
    Unknown,
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    /// Nanoseconds.
    Duration(i128),
    List(Vec<Value<'a, 's>>),
    /// A map of the object.
    Map(NodeRef<'a>, Option<&'s Schema>),
    /// A map that a default holds.
    Default(&'s Json),
}

struct Evaluation<'e, 'a, 's> {
    scope: RuleScope<'a, 's>,
    names: Vec<(&'e str, Value<'a, 's>)>,
    steps: usize,
    /// Whether something was beyond what is known of the language.
    is_beyond: bool,
}

impl<'e, 'a, 's> Evaluation<'e, 'a, 's> {
    /// What a value takes is counted too: texts and lists double with each `x + x`.
    fn value(&mut self, expression: &'e Expression) -> Value<'a, 's> {
        self.steps += 1;
        if self.steps > STEPS {
            self.is_beyond = true;
            return Value::Unknown;
        }
        let value = self.of(expression);
        self.steps = self.steps.saturating_add(weight(&value));
        value
    }

    fn of(&mut self, expression: &'e Expression) -> Value<'a, 's> {
        match expression {
            Expression::Null => Value::Null,
            Expression::Bool(value) => Value::Bool(*value),
            Expression::Int(value) => Value::Int(*value),
            Expression::Float(value) => Value::Float(*value),
            Expression::Text(text) => Value::Text(text.clone()),
            Expression::List(items) => Value::List(items.iter().map(|item| self.value(item)).collect()),
            Expression::Name(name) => self.name(name),
            Expression::Select(of, name) => {
                let of = self.value(of);
                select(&of, &unescaped(name)).unwrap_or(Value::Unknown)
            }
            Expression::Index(of, at) => {
                let (of, at) = (self.value(of), self.value(at));
                match (&of, &at) {
                    (Value::List(items), Value::Int(at)) => usize::try_from(*at)
                        .ok()
                        .and_then(|at| items.get(at).cloned())
                        .unwrap_or(Value::Unknown),
                    (_, Value::Text(key)) => select(&of, key).unwrap_or(Value::Unknown),
                    _ => Value::Unknown,
                }
            }
            Expression::Not(inner) => match self.value(inner) {
                Value::Bool(value) => Value::Bool(!value),
                _ => Value::Unknown,
            },
            Expression::Minus(inner) => match self.value(inner) {
                Value::Int(value) => value.checked_neg().map_or(Value::Unknown, Value::Int),
                Value::Float(value) => Value::Float(-value),
                _ => Value::Unknown,
            },
            Expression::Binary(operator, left, right) => self.binary(operator, left, right),
            Expression::Choice(condition, yes, no) => match self.value(condition) {
                Value::Bool(true) => self.value(yes),
                Value::Bool(false) => self.value(no),
                _ => Value::Unknown,
            },
            Expression::Call(of, name, arguments) => self.call(of.as_deref(), name, arguments),
            Expression::Map(_) | Expression::Message(..) | Expression::Optional(_) => {
                self.is_beyond = true;
                Value::Unknown
            }
        }
    }

    fn name(&self, name: &str) -> Value<'a, 's> {
        if let Some((_, value)) = self.names.iter().rev().find(|(known, _)| *known == name) {
            return value.clone();
        }
        match name {
            "self" => of_node(self.scope.this.0, Some(self.scope.this.1)),
            "oldSelf" => self.scope.old.map_or(Value::Unknown, |(node, schema)| of_node(node, Some(schema))),
            _ => Value::Unknown,
        }
    }

    fn binary(&mut self, operator: &str, left: &'e Expression, right: &'e Expression) -> Value<'a, 's> {
        // Either side decides alone, whatever the other one is.
        if let "&&" | "||" = operator {
            let decides = operator == "||";
            let one = self.value(left);
            if matches!(one, Value::Bool(value) if value == decides) {
                return Value::Bool(decides);
            }
            return match (one, self.value(right)) {
                (_, Value::Bool(value)) if value == decides => Value::Bool(decides),
                (Value::Bool(_), Value::Bool(_)) => Value::Bool(!decides),
                _ => Value::Unknown,
            };
        }
        let (one, two) = (self.value(left), self.value(right));
        let truth = |known: Option<bool>| known.map_or(Value::Unknown, Value::Bool);
        let order = |wanted: fn(Ordering) -> bool| truth(compare(&one, &two).map(wanted));
        match operator {
            "==" => truth(equal(&one, &two)),
            "!=" => truth(equal(&one, &two).map(|same| !same)),
            "<" => order(Ordering::is_lt),
            "<=" => order(Ordering::is_le),
            ">" => order(Ordering::is_gt),
            ">=" => order(Ordering::is_ge),
            "in" => match &two {
                Value::List(items) => truth(any(items.iter().map(|item| equal(&one, item)))),
                Value::Map(..) | Value::Default(_) => match &one {
                    Value::Text(key) => truth(has(&two, key)),
                    _ => Value::Unknown,
                },
                _ => Value::Unknown,
            },
            _ => arithmetic(operator, one, two),
        }
    }

    fn call(&mut self, of: Option<&'e Expression>, name: &str, arguments: &'e [Expression]) -> Value<'a, 's> {
        let truth = |known: Option<bool>| known.map_or(Value::Unknown, Value::Bool);
        match (of, name, arguments) {
            (None, "has", [Expression::Select(map, field)]) => {
                let map = self.value(map);
                return truth(has(&map, &unescaped(field)));
            }
            (
                Some(of),
                "all" | "exists" | "exists_one" | "filter" | "map",
                [Expression::Name(item), body],
            ) => {
                return self.comprehension(of, name, item, body);
            }
            _ => {}
        }
        let of = of.map(|of| self.value(of));
        let arguments: Vec<Value<'a, 's>> = arguments.iter().map(|argument| self.value(argument)).collect();
        let all: Vec<&Value<'a, 's>> = of.iter().chain(&arguments).collect();
        match (name, all.as_slice()) {
            ("size", [value]) => size(value).map_or(Value::Unknown, Value::Int),
            ("isIP", [Value::Text(text)]) => Value::Bool(text.parse::<std::net::IpAddr>().is_ok()),
            ("duration", [Value::Text(text)]) => match GoDuration::parse(text) {
                Ok(duration) => Value::Duration(i128::from(duration.nanoseconds())),
                Err(_) => Value::Unknown,
            },
            ("matches", [Value::Text(text), Value::Text(pattern)]) => truth(matches(pattern, text)),
            ("startsWith", [Value::Text(text), Value::Text(part)]) => Value::Bool(text.starts_with(&**part)),
            ("endsWith", [Value::Text(text), Value::Text(part)]) => Value::Bool(text.ends_with(&**part)),
            ("contains", [Value::Text(text), Value::Text(part)]) => Value::Bool(text.contains(&**part)),
            ("lowerAscii", [Value::Text(text)]) => Value::Text(text.to_ascii_lowercase()),
            ("upperAscii", [Value::Text(text)]) => Value::Text(text.to_ascii_uppercase()),
            ("trim", [Value::Text(text)]) => Value::Text(text.trim().to_owned()),
            ("split", [Value::Text(text), Value::Text(by)]) if !by.is_empty() => {
                Value::List(text.split(&**by).map(|part| Value::Text(part.to_owned())).collect())
            }
            ("substring", [Value::Text(text), Value::Int(from)]) => {
                let from = usize::try_from(*from).ok().filter(|from| *from <= text.chars().count());
                from.map_or(Value::Unknown, |from| Value::Text(text.chars().skip(from).collect()))
            }
            _ => {
                self.is_beyond |= !all.iter().any(|value| matches!(value, Value::Unknown));
                Value::Unknown
            }
        }
    }

    fn comprehension(
        &mut self,
        of: &'e Expression,
        name: &str,
        item: &'e str,
        body: &'e Expression,
    ) -> Value<'a, 's> {
        let items = match self.value(of) {
            Value::List(items) => items,
            Value::Map(node, _) => {
                if node.entries().any(|entry| is_placeholder(&entry.key)) {
                    return Value::Unknown;
                }
                node.entries().map(|entry| Value::Text(entry.key.into_owned())).collect()
            }
            _ => return Value::Unknown,
        };
        let mut results = Vec::with_capacity(items.len());
        for value in &items {
            self.names.push((item, value.clone()));
            results.push(self.value(body));
            self.names.pop();
        }
        if name == "map" {
            return Value::List(results);
        }
        let truths = results.iter().map(|result| match result {
            Value::Bool(value) => Some(*value),
            _ => None,
        });
        let known = |value: Option<bool>| value.map_or(Value::Unknown, Value::Bool);
        match name {
            "exists" => known(any(truths)),
            "all" => known(any(truths.map(|truth| truth.map(|truth| !truth))).map(|some| !some)),
            "exists_one" => {
                let truths: Option<Vec<bool>> = truths.collect();
                known(truths.map(|truths| truths.into_iter().filter(|truth| *truth).count() == 1))
            }
            _ => {
                let kept: Option<Vec<bool>> = truths.collect();
                kept.map_or(Value::Unknown, |kept| {
                    let kept = items.iter().zip(kept).filter(|(_, kept)| *kept);
                    Value::List(kept.map(|(item, _)| item.clone()).collect())
                })
            }
        }
    }
}

/// What it takes to copy a value, in steps.
fn weight(value: &Value<'_, '_>) -> usize {
    match value {
        Value::Text(text) => text.len() / 64,
        Value::List(items) => items.iter().map(|item| 1 + weight(item)).sum(),
        _ => 0,
    }
}

/// Whether one is true: a known one decides.
fn any(truths: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut result = Some(false);
    for truth in truths {
        match truth {
            Some(true) => return Some(true),
            Some(false) => {}
            None => result = None,
        }
    }
    result
}

fn of_node<'a, 's>(node: NodeRef<'a>, schema: Option<&'s Schema>) -> Value<'a, 's> {
    if node.is_unknown() {
        return Value::Unknown;
    }
    if node.is_map() {
        return Value::Map(node, schema);
    }
    if node.is_seq() {
        let item = schema.and_then(Schema::item);
        return Value::List(node.items().map(|node| of_node(node, item)).collect());
    }
    match node.scalar(Dialect::GoYamlV3) {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => Value::Bool(value),
        Scalar::Int(value) => Value::Int(value),
        Scalar::Uint(_) => Value::Unknown,
        Scalar::Float(value) => Value::Float(value),
        Scalar::Str(text) | Scalar::Timestamp(text) if is_placeholder(&text) => Value::Unknown,
        Scalar::Str(text) | Scalar::Timestamp(text) => Value::Text(text.into_owned()),
    }
}

fn of_json<'a, 's>(value: &'s Json) -> Value<'a, 's> {
    match value {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => number
            .as_i64()
            .map(Value::Int)
            .or_else(|| number.as_f64().map(Value::Float))
            .unwrap_or(Value::Unknown),
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::List(items.iter().map(of_json).collect()),
        Json::Object(_) => Value::Default(value),
    }
}

/// The default of a field that isn't there.
fn default_of<'s>(schema: Option<&'s Schema>, name: &str) -> Option<&'s Json> {
    schema?.property(name)?.default.as_ref()
}

/// The field behind a name that would be no identifier of CEL.
/// Source: apiserver `pkg/cel/escaping.go` (`Unescape`).
fn unescaped(name: &str) -> Cow<'_, str> {
    const KEYWORDS: [&str; 17] = [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
    ];
    if !name.contains("__") {
        return Cow::Borrowed(name);
    }
    let inner = name.strip_prefix("__").and_then(|name| name.strip_suffix("__"));
    match inner.filter(|inner| KEYWORDS.contains(inner)) {
        Some(keyword) => Cow::Borrowed(keyword),
        None => {
            let plain = name.replace("__underscores__", "__").replace("__dot__", ".");
            Cow::Owned(plain.replace("__dash__", "-").replace("__slash__", "/"))
        }
    }
}

fn select<'a, 's>(of: &Value<'a, 's>, name: &str) -> Option<Value<'a, 's>> {
    match of {
        Value::Map(node, schema) => match node.get(name).filter(|value| !value.is_null()) {
            Some(value) => Some(of_node(value, schema.and_then(|schema| schema.field(name)))),
            None => default_of(*schema, name).map(of_json),
        },
        Value::Default(map) => map.get(name).map(of_json),
        _ => None,
    }
}

fn has(of: &Value<'_, '_>, name: &str) -> Option<bool> {
    match of {
        Value::Map(node, schema) => {
            let is_there = node.get(name).is_some_and(|value| !value.is_null());
            if !is_there && node.entries().any(|entry| is_placeholder(&entry.key)) {
                return None;
            }
            Some(is_there || default_of(*schema, name).is_some())
        }
        Value::Default(map) => Some(map.get(name).is_some()),
        _ => None,
    }
}

fn size(value: &Value<'_, '_>) -> Option<i64> {
    let count = match value {
        Value::Text(text) => text.chars().count(),
        Value::List(items) => items.len(),
        Value::Map(node, _) => node.entries().count(),
        Value::Default(map) => map.as_object()?.len(),
        _ => return None,
    };
    i64::try_from(count).ok()
}

fn arithmetic<'a, 's>(operator: &str, one: Value<'a, 's>, two: Value<'a, 's>) -> Value<'a, 's> {
    let known = |value: Option<i64>| value.map_or(Value::Unknown, Value::Int);
    match (operator, one, two) {
        ("+", Value::Int(a), Value::Int(b)) => known(a.checked_add(b)),
        ("-", Value::Int(a), Value::Int(b)) => known(a.checked_sub(b)),
        ("*", Value::Int(a), Value::Int(b)) => known(a.checked_mul(b)),
        ("/", Value::Int(a), Value::Int(b)) => known(a.checked_div(b)),
        ("%", Value::Int(a), Value::Int(b)) => known(a.checked_rem(b)),
        ("+", Value::Text(a), Value::Text(b)) => Value::Text(a + &b),
        ("+", Value::List(mut a), Value::List(b)) => {
            a.extend(b);
            Value::List(a)
        }
        _ => Value::Unknown,
    }
}

fn compare(one: &Value<'_, '_>, two: &Value<'_, '_>) -> Option<Ordering> {
    match (one, two) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Float(b)) => (*a as f64).partial_cmp(b),
        (Value::Float(a), Value::Int(b)) => a.partial_cmp(&(*b as f64)),
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        (Value::Duration(a), Value::Duration(b)) => Some(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn equal(one: &Value<'_, '_>, two: &Value<'_, '_>) -> Option<bool> {
    match (one, two) {
        (Value::Unknown, _) | (_, Value::Unknown) => None,
        (Value::Null, Value::Null) => Some(true),
        (Value::List(a), Value::List(b)) => {
            if a.len() != b.len() {
                return Some(false);
            }
            any(a.iter().zip(b).map(|(a, b)| equal(a, b).map(|same| !same))).map(|differs| !differs)
        }
        (Value::Map(a, _), Value::Map(b, _)) => Some(json(*a)? == json(*b)?),
        (Value::Map(map, _), Value::Default(value)) | (Value::Default(value), Value::Map(map, _)) => {
            Some(json(*map)? == **value)
        }
        (Value::Default(a), Value::Default(b)) => Some(a == b),
        _ => match compare(one, two) {
            Some(order) => Some(order.is_eq()),
            // Values of different types are not equal.
            None => Some(false),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::yaml::parse_nodes;
    use crate::schema::cel::expression;

    #[test]
    fn expressions_come_to_what_they_say() {
        let text =
            "a: 1\nb: text\nlist: [{name: x, port: 1}, {name: y, port: 2}]\nhole: ${X}\nnone: null\nz: 10m\n";
        let nodes = parse_nodes("a.yaml", text);
        let schema = Schema::default();
        for (rule, expected) in [
            ("self.a == 1 && self.b == 'text'", Some(true)),
            ("has(self.a) && !has(self.c) && !has(self.none)", Some(true)),
            ("self.list.all(x, self.list.exists_one(y, y.name == x.name))", Some(true)),
            ("self.list.filter(x, x.port > 1).size() == 1", Some(true)),
            ("self.list.map(x, x.name) == ['x', 'y']", Some(true)),
            ("size(self.list) == 2 ? self.list[1].port == 2 : false", Some(true)),
            ("self.b in ['a', 'text']", Some(true)),
            ("'a' in self", Some(true)),
            ("self.b.startsWith('te') && self.b.endsWith('xt') && self.b.contains('ex')", Some(true)),
            ("self.b.matches('^[a-z]+$') && self.b.split('x')[0].size() == 2", Some(true)),
            ("self.b.substring(2) == 'xt'", Some(true)),
            ("duration(self.z) > duration('60s')", Some(true)),
            ("self.hole == 'a'", None),
            ("self.hole == 'a' || self.a == 1", Some(true)),
            ("self.hole == 'a' && self.a == 2", Some(false)),
            ("self.c == 1", None),
            ("self.c == 1 || true", Some(true)),
            ("-1 < 0 && 1 + 2 * 3 == 7 && 7 % 4 == 3", Some(true)),
            ("self.b.matches(r\"\"\"^t.*$\"\"\")", Some(true)),
            ("quantity('1Gi').isGreaterThan(quantity('1'))", None),
            ("{'a': self.a} == {}", None),
            ("self.?c.orValue(1) == 1", None),
            ("self.a == 1 || {'a': 1}.a == 2", Some(true)),
            ("[true, has(self.b)].filter(x, x == true).size() == 2", Some(true)),
        ] {
            let expression = expression(rule).unwrap_or_else(|| panic!("{rule}"));
            let scope = RuleScope { this: (nodes[0].get_ref(), &schema), old: None };
            let known = match holds(&expression, scope) {
                RuleResult::Known(known) => Some(known),
                RuleResult::UnknownValue | RuleResult::UnknownRule => None,
            };
            assert_eq!(known, expected, "{rule}");
        }
        for text in ["a ==", "{'a': }", "b'x'", "(a", "a ? b"] {
            assert!(expression(text).is_none(), "{text}");
        }
    }

    #[test]
    fn every_rule_of_the_table_is_understood() {
        let mut count = 0;
        for number in 0..crate::schema::table::node_count() {
            for rule in &crate::schema::table::node(number).rules {
                count += 1;
                assert!(expression(rule).is_some(), "{rule}");
            }
        }
        assert!(count > 80, "{count}");
    }
}
