//! Go templates of patches, as Cluster API renders them.
//!
//! Mirrors cluster-api `core/reconcilers/topology/cluster/patches/inline/
//! json_patch_generator.go` (`renderValueTemplate`, `patchIsEnabled`): Sprig's functions
//! that are bound to nothing, a missing key is no value, and the text is read as YAML.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::variables::{TopologyVariables, short};
use crate::lang::template::{
    Data, Engine, EngineRun, FieldLookup, FuncMap, Limits, MissingKey, PathStep, Val, document,
    with_stack_for,
};
use crate::lang::yaml::Scalar;
use crate::lang::yaml::resolve::after_json;
use crate::model::value::{has_unknown, is_unknown, to_json, unknown};

/// What cluster-api calls its templates.
const NAME: &str = "tpl";

/// What one template may cost: they are short, and many.
const LIMITS: Limits = Limits {
    steps: 1_000_000,
    output: 1 << 20,
    depth: 40,
    text: 1 << 20,
    list: 100_000,
    total: 64 << 20,
    origins: 1_000_000,
};

fn engine(template: &str) -> Option<Engine> {
    let mut engine = Engine::new(&EngineRun {
        limits: LIMITS,
        functions: FuncMap::Hermetic,
        missing_key: MissingKey::Invalid,
        ..EngineRun::default()
    });
    engine.add(NAME, template).is_empty().then_some(engine)
}

/// Renders a template and reads the text as YAML, as patches do. Unknown where an unknown
/// variable flows in or decides, and where the template fails; equal inputs give equal
/// unknowns.
pub(crate) fn render(template: &str, variables: &TopologyVariables) -> Value {
    let text = with_stack_for(template, || text_of(template, variables)).flatten();
    let read = text.as_deref().map(document);
    match read {
        Some(Ok(Some(node))) => whole_numbers(to_json(node.get_ref())),
        Some(Ok(None)) => Value::Null,
        _ => unknown(format!("a Go template renders it ({})", digest(template, variables, ""))),
    }
}

/// Floats without a fraction as JSON has them.
fn whole_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => match number.as_f64().map(after_json) {
            Some(Scalar::Int(int)) => int.into(),
            Some(Scalar::Uint(int)) => int.into(),
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(whole_numbers).collect(),
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(key, value)| (key, whole_numbers(value))).collect())
        }
        value => value,
    }
}

/// The text of a template, where all of it is known.
fn text_of(template: &str, variables: &TopologyVariables) -> Option<String> {
    let mut engine = engine(template)?;
    // What it doesn't look up need not be made.
    let lookups = engine.lookups(NAME);
    let is_named = |name: &str| {
        lookups.iter().any(|lookup| match lookup.path.first() {
            Some(PathStep::Field(first)) => **first == *name,
            _ => true,
        })
    };
    let mut data = engine.data();
    let mut entries = Vec::new();
    for (name, value) in variables.all().filter(|(name, _)| is_named(name)) {
        entries.push((name.clone(), value_of(&mut data, value, 0)?));
    }
    let dot = data.map(entries, None);
    let output = engine.run(NAME, &dot).ok()?;
    let parts = engine.parts(&output);
    if !engine.assumed().is_empty() || parts.iter().any(|part| part.is_unknown || part.is_assumed) {
        return None;
    }
    String::from_utf8(output.bytes().to_vec()).ok()
}

/// How deeply a variable may be nested.
const DEPTH: usize = 200;

/// A variable as Go decodes it from JSON.
fn value_of(data: &mut Data<'_>, value: &Value, depth: usize) -> Option<Val> {
    if depth > DEPTH {
        return None;
    }
    Some(match value {
        value if is_unknown(value) => {
            let text = data.text("unknown", None);
            data.unknown(text, "a variable")
        }
        Value::Null => data.nil(None),
        Value::Bool(value) => data.bool(*value, None),
        Value::Number(number) => data.float(number.as_f64()?, None),
        Value::String(text) => data.text(text, None),
        Value::Array(items) => {
            let items: Option<Vec<Val>> = items.iter().map(|item| value_of(data, item, depth + 1)).collect();
            data.list(items?, None)
        }
        Value::Object(map) => {
            let mut entries = Vec::new();
            for (key, value) in map {
                entries.push((key.clone(), value_of(data, value, depth + 1)?));
            }
            data.map(entries, None)
        }
    })
}

/// The variable paths that a template looks up, or `None` where it uses the whole of
/// them or is none.
pub(crate) fn lookups(template: &str) -> Option<Vec<String>> {
    let path = |lookup: &FieldLookup| {
        let fields = lookup.path.iter().map_while(|step| match step {
            PathStep::Field(name) => Some(&**name),
            PathStep::Element | PathStep::Key => None,
        });
        fields.collect::<Vec<_>>().join(".")
    };
    let found = || Some(engine(template)?.lookups(NAME).iter().map(path).collect::<Vec<String>>());
    let mut paths = with_stack_for(template, found).flatten()?;
    if paths.iter().any(String::is_empty) {
        return None;
    }
    paths.sort_unstable();
    paths.dedup();
    Some(paths)
}

/// A short text that differs whenever `more`, or a value that the template looks up,
/// differs.
pub(crate) fn digest(template: &str, variables: &TopologyVariables, more: &str) -> String {
    let Some(paths) = lookups(template) else {
        return variables.digest_all(&format!("{template}|{more}"));
    };
    let mut hasher = Sha256::new();
    hasher.update(template);
    for path in paths {
        hasher.update(format!("|{path}={}", variables.get(&path).unwrap_or_default()));
    }
    hasher.update(more);
    short(hasher)
}

/// Whether a patch with this `enabledIf` is applied; `None` where that isn't known. Only
/// a rendered `true` enables.
pub(crate) fn enabled(enabled_if: Option<&str>, variables: &TopologyVariables) -> Option<bool> {
    match enabled_if.unwrap_or_default() {
        "" => Some(true),
        template => {
            let value = render(template, variables);
            (!has_unknown(&value)).then(|| value == Value::Bool(true))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn variables() -> TopologyVariables {
        TopologyVariables::of(json!({
            "a": "x", "n": 3, "b": true, "big": 1_000_000, "l": [{"c": 1}],
            "builtin": {"cluster": {"name": "prod", "uid": unknown("uid")}},
        }))
    }

    #[test]
    fn templates_are_rendered_and_read_as_yaml() {
        for (template, value) in [
            ("{{ .a }}-{{.builtin.cluster.name}}", Some(json!("x-prod"))),
            ("{{ .n }}", Some(json!(3))),
            ("{{ .b }}", Some(json!(true))),
            ("kind: {{ .missing }}", Some(json!({"kind": "<no value>"}))),
            ("kind: {{ .missing.part }}", Some(json!({"kind": "<no value>"}))),
            ("{{ .big }}", Some(json!(1_000_000))),
            ("{{ .big | int64 }}", Some(json!(1_000_000))),
            ("{{ if .b }}x{{ end }}", Some(json!("x"))),
            ("{{ .a | quote }}", Some(json!("x"))),
            ("{{ .n | quote }}", Some(json!("3"))),
            ("{{ range .l }}- {{ .c }}\n{{ end }}", Some(json!([1]))),
            ("{{ if not .b }}x{{ end }}", Some(Value::Null)),
            ("{{ (semver \"1.2.3\").Major }}", Some(json!(1))),
            ("yes", Some(json!(true))),
            ("{{ .builtin.cluster.uid }}", None),
            ("{{ if .builtin.cluster.uid }}x{{ else }}y{{ end }}", None),
            ("{{ default \"x\" .builtin.cluster.uid }}", None),
            ("{{ ternary 1 2 (eq .builtin.cluster.uid \"x\") }}", None),
            // Those that the webhook refuses, and those that fail.
            ("{{ now }}", None),
            ("{{ env \"HOME\" }}", None),
            ("{{ include \"x\" . }}", None),
            ("{{ .a", None),
            ("{{ .a.b }}", None),
            ("{{ fail .a }}", None),
            ("a: [", None),
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
        let template = "{{ .builtin.cluster.uid }}{{ .n }}";
        let with = |name: &str, value: Value| {
            let mut all = json!({"a": "x", "n": 3, "builtin": {"cluster": {"uid": unknown("uid")}}});
            all[name] = value;
            render(template, &TopologyVariables::of(all))
        };
        assert_eq!(with("n", json!(3)), with("a", json!("y")));
        assert_ne!(with("n", json!(3)), with("n", json!(4)));
    }

    #[test]
    fn only_a_rendered_true_enables() {
        for (template, on) in [
            (None, Some(true)),
            (Some("{{ .b }}"), Some(true)),
            (Some("{{ .a }}"), Some(false)),
            (Some("{{ .missing }}"), Some(false)),
            (Some("{{ not .b }}"), Some(false)),
            (Some("{{ if .b }}true{{ end }}"), Some(true)),
            (Some("{{ if .b }}yes{{end}}"), Some(true)),
            (Some("{{ if .b }}enabled{{end}}"), Some(false)),
            (Some("{{ if .missing }}true{{ end }}"), Some(false)),
            (Some("{{ if .missing.part }}true{{ end }}"), Some(false)),
            (Some("{{ if .a.part }}true{{ end }}"), None),
            (Some("{{ if not .missing }}true{{ end }}"), Some(true)),
            (Some(r#"{{ if eq .a "x" }}true{{ end }}"#), Some(true)),
            (Some(r#"{{ if ne .a "x" }}true{{ end }}"#), Some(false)),
            (Some(r#"{{ if and .b (eq .a "x") (not .missing) }}true{{ end }}"#), Some(true)),
            (Some(r#"{{ if or .missing (eq .a "y") }}true{{ end }}"#), Some(false)),
            // Numbers are floats.
            (Some("{{ if eq .n 3 }}true{{ end }}"), None),
            (Some("{{ if eq .n 3.0 }}true{{ end }}"), Some(true)),
            (Some("{{ if .builtin.cluster.uid }}true{{ end }}"), None),
            (Some("{{ if (index .l 0).c }}true{{ end }}"), Some(true)),
            (Some("{{ if .a | empty }}true{{ end }}"), Some(false)),
            (Some("{{ if .b }}true{{ else }}false{{ end }}"), Some(true)),
            (Some("{{ if gt .n 1.0 }}true{{ end }}"), Some(true)),
            (Some("{{ semverCompare \">=1.30.0\" \"v1.31.2\" }}"), Some(true)),
        ] {
            assert_eq!(enabled(template, &variables()), on, "{template:?}");
        }
    }

    #[test]
    fn look_ups_are_paths_of_variables() {
        for (template, paths) in [
            ("{{ .a }}-{{ .builtin.cluster.name | quote }}", Some(vec!["a", "builtin.cluster.name"])),
            ("{{ range .l }}{{ .c }}{{ $.n }}{{ end }}", Some(vec!["l", "n"])),
            (
                "{{ with .builtin.cluster }}{{ .name }}{{ end }}",
                Some(vec!["builtin.cluster", "builtin.cluster.name"]),
            ),
            ("{{ $x := .a }}{{ $x.b }}{{ \".no\" }}", Some(vec!["a", "a.b"])),
            ("{{ define \"t\" }}{{ .c }}{{ end }}{{ template \"t\" .a }}", Some(vec!["a", "a.c"])),
            ("text", Some(vec![])),
            ("{{ . | toJson }}", None),
            ("{{ $ }}", None),
            ("{{ .a", None),
        ] {
            let expected = paths.map(|paths| paths.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(lookups(template), expected, "{template}");
        }
    }
}
