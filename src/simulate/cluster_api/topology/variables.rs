//! Variables of a topology as patches see them, and the Go templates that only
//! look them up.
//!
//! Mirrors cluster-api `core/reconcilers/topology/cluster/patches/variables`
//! (`Global`, `ControlPlane`, `MachineDeployment`, `GetVariableValue`) and
//! `internal/topology/variables` (defaulting).

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{Class, Cluster, WorkerEntry, text_at};
use crate::lang::yaml::{NodeRef, parse_nodes};
use crate::model::value::{has_unknown, is_unknown, to_json, unknown};
use crate::simulate::cluster_api::propagation::WorkerKind;

/// Values by variable name, `builtin` among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Variables {
    values: Map<String, Value>,
}

/// Variables that hold for all templates of a Cluster.
pub(crate) fn global(cluster: &Cluster<'_>, class: &Class<'_>) -> Variables {
    let set = cluster.topology().map(|t| named_values(t, "/variables")).unwrap_or_default();
    let mut values = Map::new();
    for (name, definition) in class.variables() {
        let schema = definition.at("/schema/openAPIV3Schema").map(to_json).unwrap_or_default();
        let mut value = set.get(&name).cloned().or_else(|| schema.get("default").cloned());
        if let Some(value) = &mut value {
            apply_defaults(&schema, value, 0);
        }
        if let Some(value) = value {
            values.insert(name, value);
        }
    }
    let node = cluster.object.node;
    let class_ref = cluster.class_ref();
    let (name, namespace) = class_ref.map(|c| (c.name, c.namespace)).unzip();
    let network = |pointer: &str| node.at(pointer).map(to_json);
    let mut builtin = json!({"cluster": {
        "name": cluster.object.name(),
        "namespace": cluster.object.namespace(),
        "uid": unknown("the Cluster's uid"),
        "topology": {
            "version": cluster.version(),
            "class": name,
            "classNamespace": namespace,
            "classRef": {"name": name, "namespace": namespace},
        },
        "metadata": {
            "labels": network("/metadata/labels"),
            "annotations": network("/metadata/annotations"),
        },
        "network": {
            "serviceDomain": network("/spec/clusterNetwork/serviceDomain"),
            "services": network("/spec/clusterNetwork/services/cidrBlocks"),
            "pods": network("/spec/clusterNetwork/pods/cidrBlocks"),
        },
    }});
    drop_nulls(&mut builtin);
    values.insert("builtin".to_owned(), builtin);
    Variables { values }
}

/// `name` and `value` of the entries at a pointer.
fn named_values(node: NodeRef<'_>, pointer: &str) -> Map<String, Value> {
    node.items_at(pointer)
        .filter_map(|entry| Some((text_at(entry, &["/name"])?, entry.at("/value").map(to_json)?)))
        .collect()
}

/// Fills in what a schema defaults inside a value that is given.
fn apply_defaults(schema: &Value, value: &mut Value, depth: u32) {
    if depth > 50 {
        return;
    }
    match value {
        Value::Object(map) if !map.contains_key("$unknown") => {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, property) in properties.into_iter().flatten() {
                if !map.contains_key(name)
                    && let Some(default) = property.get("default")
                {
                    map.insert(name.clone(), default.clone());
                }
                if let Some(child) = map.get_mut(name) {
                    apply_defaults(property, child, depth + 1);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return };
            for item in items {
                apply_defaults(schema, item, depth + 1);
            }
        }
        _ => {}
    }
}

fn drop_nulls(value: &mut Value) {
    if let Value::Object(map) = value {
        map.retain(|_, child| !child.is_null());
        for child in map.values_mut() {
            drop_nulls(child);
        }
        map.retain(|_, child| child.as_object().is_none_or(|map| !map.is_empty()));
    }
}

impl Variables {
    /// With the control plane's overrides and builtins.
    pub(crate) fn for_control_plane(&self, cluster: &Cluster<'_>, class: &Class<'_>) -> Self {
        let topology = cluster.topology();
        let part = topology.and_then(|t| t.at("/controlPlane"));
        let overrides = part.map(|p| named_values(p, "/variables/overrides")).unwrap_or_default();
        let infrastructure = class
            .control_plane_machines()
            .map(|_| json!({"infrastructureRef": {"name": unknown("a generated name")}}));
        let builtin = json!({"controlPlane": {
            "name": unknown("a generated name"),
            "version": cluster.version(),
            "replicas": part.and_then(|p| p.at("/replicas")).map(to_json),
            "machineTemplate": infrastructure,
        }});
        self.with(class, overrides, builtin)
    }

    /// With the overrides and builtins of a worker entry.
    pub(crate) fn for_worker(
        &self,
        cluster: &Cluster<'_>,
        class: &Class<'_>,
        entry: &WorkerEntry<'_>,
    ) -> Self {
        let name = match entry.kind {
            WorkerKind::MachineDeployment => "machineDeployment",
            WorkerKind::MachinePool => "machinePool",
        };
        let builtin = json!({ name: {
            "version": cluster.version(),
            "class": entry.class,
            "name": unknown("a generated name"),
            "topologyName": entry.name,
            "replicas": entry.node.at("/replicas").map(to_json),
            "bootstrap": {"configRef": {"name": unknown("a generated name")}},
            "infrastructureRef": {"name": unknown("a generated name")},
        }});
        self.with(class, named_values(entry.node, "/variables/overrides"), builtin)
    }

    fn with(&self, class: &Class<'_>, overrides: Map<String, Value>, mut builtin: Value) -> Self {
        let mut values = self.values.clone();
        let defined = class.variables();
        values.extend(overrides.into_iter().filter(|(name, _)| defined.iter().any(|(d, _)| d == name)));
        drop_nulls(&mut builtin);
        if let (Some(Value::Object(all)), Value::Object(more)) = (values.get_mut("builtin"), builtin) {
            all.extend(more);
        }
        Self { values }
    }

    /// The value at a path such as `builtin.cluster.name` or `users[0].name`;
    /// none where a part is not set (`GetVariableValue`).
    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        let mut segments = path.split('.');
        let mut value = step(&Value::Object(self.values.clone()), segments.next()?)?;
        for segment in segments {
            value = step(&value, segment)?;
        }
        Some(value)
    }

    /// A short text that differs whenever a value named in `template` differs.
    fn digest(&self, template: &str) -> String {
        let mut hasher = Sha256::new();
        hasher.update(template);
        match lookups(template) {
            Some(paths) => {
                for path in paths {
                    hasher.update(format!("|{path}={}", self.get(&path).unwrap_or_default()));
                }
            }
            None => hasher.update(Value::Object(self.values.clone()).to_string()),
        }
        short(hasher)
    }

    /// A short text that differs whenever `more`, or a value named in `template`,
    /// differs.
    pub(crate) fn digest_with(&self, template: &str, more: &str) -> String {
        let mut hasher = Sha256::new();
        hasher.update(self.digest(template));
        hasher.update(more);
        short(hasher)
    }

    /// A short text that differs whenever any variable differs.
    pub(crate) fn digest_all(&self, more: &str) -> String {
        let mut hasher = Sha256::new();
        hasher.update(more);
        hasher.update(Value::Object(self.values.clone()).to_string());
        short(hasher)
    }
}

fn short(hasher: Sha256) -> String {
    hasher.finalize()[..6].iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn step(value: &Value, segment: &str) -> Option<Value> {
    if is_unknown(value) {
        return Some(value.clone());
    }
    let (name, index) = match segment.split_once('[') {
        Some((name, index)) => (name, Some(index.strip_suffix(']')?.parse::<usize>().ok()?)),
        None => (segment, None),
    };
    let child = value.get(name)?;
    match index {
        Some(index) => child.get(index).cloned(),
        None => Some(child.clone()),
    }
}

/// Renders a Go template that does nothing but look variables up, and reads the
/// text as YAML, as patches do. Any other template is unknown; equal inputs give
/// equal unknowns.
pub(crate) fn render(template: &str, variables: &Variables) -> Value {
    let Some(text) = render_text(template, variables) else {
        return unknown(format!("a Go template renders it ({})", variables.digest(template)));
    };
    match parse_nodes("", &text).first() {
        Some(node) => to_json(node.get_ref()),
        None => Value::Null,
    }
}

fn render_text(template: &str, variables: &Variables) -> Option<String> {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (action, tail) = after.split_once("}}")?;
        out.push_str(before);
        let path = action.trim().strip_prefix('.')?;
        if path.is_empty() || !path.split('.').all(is_identifier) {
            return None;
        }
        match variables.get(path) {
            None | Some(Value::Null) => out.push_str("<no value>"),
            Some(Value::String(text)) => out.push_str(&text),
            Some(Value::Bool(value)) => out.push_str(if value { "true" } else { "false" }),
            // Go reads numbers as floats and prints large ones with exponents.
            Some(Value::Number(n)) if n.as_i64().is_some_and(|n| n.abs() < 1_000_000) => {
                out.push_str(&n.to_string());
            }
            Some(_) => return None,
        }
        rest = tail;
    }
    out.push_str(rest);
    Some(out)
}

fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_')
}

/// The variable paths that a template's actions mention, or `None` where it uses
/// the whole of them.
pub(crate) fn lookups(template: &str) -> Option<Vec<String>> {
    let mut paths = Vec::new();
    for action in template.split("{{").skip(1) {
        let action = action.split("}}").next().unwrap_or(action);
        let mut rest = action;
        while let Some(at) = rest.find('.') {
            let before = rest[..at].chars().next_back();
            let after = &rest[at + 1..];
            let end =
                after.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).unwrap_or(after.len());
            let path = after[..end].trim_end_matches('.');
            let starts = before.is_none_or(|c| c.is_whitespace() || "(|$,=".contains(c));
            if starts && path.is_empty() {
                return None;
            }
            if starts && path.starts_with(|c: char| c.is_alphabetic() || c == '_') {
                paths.push(path.to_owned());
            }
            rest = &after[end..];
        }
    }
    paths.sort_unstable();
    paths.dedup();
    Some(paths)
}

/// Whether a patch with this `enabledIf` is applied; `None` when a template
/// decides that is not understood. Only a rendered `true` enables.
pub(crate) fn enabled(enabled_if: Option<&str>, variables: &Variables) -> Option<bool> {
    match enabled_if.unwrap_or_default() {
        "" => Some(true),
        template => {
            if let Some((condition, then)) = conditional(template) {
                // What is rendered otherwise is empty.
                return Some(Condition { rest: condition, variables }.whole()?.is_true()? && then == "true");
            }
            let value = render(template, variables);
            (!has_unknown(&value)).then(|| value == Value::Bool(true))
        }
    }
}

/// The condition and the text of `{{ if CONDITION }}TEXT{{ end }}`.
fn conditional(template: &str) -> Option<(&str, &str)> {
    let inner = template.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    let (condition, rest) = inner.split_once("}}")?;
    let (then, end) = rest.split_once("{{")?;
    let trimmed = |action: &str| !action.starts_with('-') && !action.ends_with('-');
    let plain = trimmed(condition) && trimmed(end) && end.trim() == "end" && !then.contains("}}");
    let condition = condition.trim_start().strip_prefix("if")?;
    (plain && condition.starts_with([' ', '('])).then_some((condition, then.trim()))
}

/// A condition that is built of lookups, texts and Go's `not`, `and`, `or`, `eq`
/// and `ne`; anything else is not understood.
struct Condition<'t, 'v> {
    rest: &'t str,
    variables: &'v Variables,
}

/// A value in a condition; none for a variable that is not set.
struct Operand(Option<Value>);

impl Operand {
    /// Go's truth: anything but false, zero, nothing and what is empty.
    fn is_true(&self) -> Option<bool> {
        match &self.0 {
            Some(value) if has_unknown(value) => None,
            None | Some(Value::Null) => Some(false),
            Some(Value::Bool(value)) => Some(*value),
            Some(Value::Number(number)) => Some(number.as_f64() != Some(0.0)),
            Some(Value::String(text)) => Some(!text.is_empty()),
            Some(Value::Array(items)) => Some(!items.is_empty()),
            Some(Value::Object(map)) => Some(!map.is_empty()),
        }
    }
}

impl Condition<'_, '_> {
    fn whole(mut self) -> Option<Operand> {
        let value = self.call(0)?;
        self.rest.trim().is_empty().then_some(value)
    }

    /// One operand, or a function with its operands.
    fn call(&mut self, depth: u32) -> Option<Operand> {
        // Deeper than any condition that a person writes.
        if depth > 20 {
            return None;
        }
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if name.is_empty() || matches!(name, "true" | "false") {
            return self.operand(depth);
        }
        self.rest = rest;
        let mut operands = Vec::new();
        while !self.rest.trim_start().is_empty() && !self.rest.trim_start().starts_with(')') {
            operands.push(self.operand(depth)?);
        }
        let truth = |value: bool| Some(Operand(Some(Value::Bool(value))));
        match (name, &operands[..]) {
            ("not", [one]) => truth(!one.is_true()?),
            ("and", [_, ..]) => {
                let all: Option<Vec<bool>> = operands.iter().map(Operand::is_true).collect();
                truth(all?.into_iter().all(|each| each))
            }
            ("or", [_, ..]) => {
                let all: Option<Vec<bool>> = operands.iter().map(Operand::is_true).collect();
                truth(all?.into_iter().any(|each| each))
            }
            // Values of other types are compared by rules of their own.
            ("eq" | "ne", [Operand(Some(a @ (Value::String(_) | Value::Bool(_)))), Operand(Some(b))])
                if std::mem::discriminant(a) == std::mem::discriminant(b) =>
            {
                truth((a == b) == (name == "eq"))
            }
            _ => None,
        }
    }

    fn operand(&mut self, depth: u32) -> Option<Operand> {
        self.rest = self.rest.trim_start();
        if let Some(rest) = self.rest.strip_prefix('(') {
            self.rest = rest;
            let value = self.call(depth + 1)?;
            self.rest = self.rest.trim_start().strip_prefix(')')?;
            // A field of what stands in parentheses.
            return (!self.rest.starts_with('.')).then_some(value);
        }
        if let Some(rest) = self.rest.strip_prefix('"') {
            let (text, rest) = rest.split_once('"')?;
            self.rest = rest;
            return (!text.contains('\\')).then(|| Operand(Some(Value::String(text.to_owned()))));
        }
        let end = self.rest.find([' ', ')', '(', '\t', '\n', '|', '"']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match word {
            "true" | "false" => Some(Operand(Some(Value::Bool(word == "true")))),
            _ => self.lookup(word.strip_prefix('.')?),
        }
    }

    /// A variable; a part of one that is not set fails the rendering.
    fn lookup(&self, path: &str) -> Option<Operand> {
        if path.is_empty() || !path.split('.').all(is_identifier) {
            return None;
        }
        let value = self.variables.get(path);
        let parent = path.rsplit_once('.').map(|(parent, _)| self.variables.get(parent));
        (value.is_some() || parent.is_none_or(|parent| parent.is_some_and(|p| p.is_object())))
            .then_some(Operand(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> Variables {
        let values = json!({
            "a": "x", "n": 3, "b": true, "big": 1_000_000, "l": [{"c": 1}],
            "builtin": {"cluster": {"name": "prod", "uid": unknown("uid")}},
        });
        Variables { values: values.as_object().expect("an object").clone() }
    }

    #[test]
    fn paths_name_parts_of_values() {
        for (path, value) in [
            ("a", Some(json!("x"))),
            ("builtin.cluster.name", Some(json!("prod"))),
            ("l[0].c", Some(json!(1))),
            ("l[1].c", None),
            ("missing", None),
            ("a.b", None),
        ] {
            assert_eq!(variables().get(path), value, "{path}");
        }
    }

    #[test]
    fn templates_that_only_look_up_are_rendered() {
        for (template, value) in [
            ("{{ .a }}-{{.builtin.cluster.name}}", Some(json!("x-prod"))),
            ("{{ .n }}", Some(json!(3))),
            ("{{ .b }}", Some(json!(true))),
            ("kind: {{ .missing }}", Some(json!({"kind": "<no value>"}))),
            ("{{ .big }}", None),
            ("{{ .builtin.cluster.uid }}", None),
            ("{{ if .b }}x{{ end }}", None),
            ("{{ .a | quote }}", None),
        ] {
            let rendered = render(template, &variables());
            match value {
                Some(value) => assert_eq!(rendered, value, "{template}"),
                None => assert!(is_unknown(&rendered), "{template}: {rendered}"),
            }
        }
    }

    #[test]
    fn unknown_renderings_are_equal_for_equal_inputs() {
        let template = "{{ if .b }}{{ .n }}{{ end }}";
        let mut other = variables();
        assert_eq!(render(template, &variables()), render(template, &other));
        other.values.insert("a".to_owned(), json!("y"));
        assert_eq!(render(template, &variables()), render(template, &other));
        other.values.insert("n".to_owned(), json!(4));
        assert_ne!(render(template, &variables()), render(template, &other));
    }

    #[test]
    fn only_a_rendered_true_enables() {
        for (template, on) in [
            (None, Some(true)),
            (Some("{{ .b }}"), Some(true)),
            (Some("{{ .a }}"), Some(false)),
            (Some("{{ .missing }}"), Some(false)),
            (Some("{{ not .b }}"), None),
            (Some("{{ if .b }}true{{ end }}"), Some(true)),
            (Some("{{ if .b }}yes{{end}}"), Some(false)),
            (Some("{{ if .missing }}true{{ end }}"), Some(false)),
            (Some("{{ if .missing.part }}true{{ end }}"), None),
            (Some("{{ if not .missing }}true{{ end }}"), Some(true)),
            (Some(r#"{{ if eq .a "x" }}true{{ end }}"#), Some(true)),
            (Some(r#"{{ if ne .a "x" }}true{{ end }}"#), Some(false)),
            (Some(r#"{{ if and .b (eq .a "x") (not .missing) }}true{{ end }}"#), Some(true)),
            (Some(r#"{{ if or .missing (eq .a "y") }}true{{ end }}"#), Some(false)),
            (Some("{{ if eq .n 3 }}true{{ end }}"), None),
            (Some("{{ if .builtin.cluster.uid }}true{{ end }}"), None),
            (Some("{{ if (index .l 0).c }}true{{ end }}"), None),
            (Some("{{ if .a | empty }}true{{ end }}"), None),
            (Some("{{ if .b }}true{{ else }}false{{ end }}"), None),
            (Some("{{ if gt .n 1 }}true{{ end }}"), None),
        ] {
            assert_eq!(enabled(template, &variables()), on, "{template:?}");
        }
    }

    #[test]
    fn defaults_fill_objects_that_are_given() {
        let schema = json!({"properties": {"a": {"default": 1}, "b": {"properties": {"c": {"default": 2}}}}});
        let mut value = json!({"b": {}});
        apply_defaults(&schema, &mut value, 0);
        assert_eq!(value, json!({"a": 1, "b": {"c": 2}}));
    }
}
