//! Substitution against the recorded behaviour of Flux.

use crate::support::recordings;
use forebay::internals::build::substitute::{
    Definition, ExpandError, ProblemKind, Provided, Variable, Variables, config_map_keys, expand, opts_out,
    substitute,
};
use forebay::internals::lang::yaml::{NodeRef, emit, parse_nodes};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The 391 recorded expressions of `Eval`, lenient and strict.
#[test]
fn recorded_expressions() {
    let recorded = recordings::json("envsubst.json");
    let variables: BTreeMap<String, String> =
        serde_json::from_value(recorded["vars"].clone()).expect("variables");
    let lookup = |name: &str| match variables.get(name) {
        Some(value) => Variable::Known(Cow::Borrowed(value.as_str())),
        None => Variable::Undefined,
    };
    let cases = recorded["cases"].as_array().expect("cases");
    for case in cases {
        let input = case["input"].as_str().expect("input");
        for (mode, strict) in [("lenient", false), ("strict", true)] {
            let expected = &case[mode];
            let actual = expand(input, &lookup, strict);
            let agrees = match &actual {
                Ok(expansion) => expansion.known() == output(expected).as_deref(),
                Err(ExpandError::NegativeLength { .. }) => expected.get("panic").is_some(),
                Err(error) => expected["error"].as_str() == Some(error.to_string().as_str()),
            };
            assert!(agrees, "{mode} {input:?}: {actual:?}, recorded {expected}");
        }
    }
    assert_eq!(cases.len(), 391);
}

fn output(recorded: &serde_json::Value) -> Option<Vec<u8>> {
    use base64::Engine;
    if let Some(encoded) = recorded["output_b64"].as_str() {
        let engine = base64::engine::general_purpose::STANDARD;
        return Some(engine.decode(encoded).expect("base64"));
    }
    recorded["output"].as_str().map(|text| text.into())
}

/// The 268 recorded runs of `SubstituteVariables`: from an object and its
/// Kustomization to the object that is applied.
#[test]
fn recorded_resources() {
    let recorded = recordings::json("envsubst.json");
    let cases = recorded["resource_cases"].as_array().expect("cases");
    let mut wrong = Vec::new();
    for case in cases {
        let name = case["name"].as_str().expect("name");
        for mode in ["lenient", "strict", "lenient_always", "strict_always"] {
            let mut expected = &case["result"][mode];
            if expected.as_str() == Some("same as lenient") {
                expected = &case["result"]["lenient"];
            }
            if expected.is_null() {
                continue;
            }
            let actual = run(case, mode.starts_with("strict"), mode.ends_with("always"));
            let agrees = match &actual {
                Ok(Some(json)) => expected["json"].as_str() == Some(json),
                Ok(None) => expected["skipped"].as_bool() == Some(true),
                Err(_) => ["error", "panic", "input_error"].iter().any(|key| expected.get(key).is_some()),
            };
            if !agrees {
                wrong.push(format!("{mode} {name}: {actual:?}, recorded {expected}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(cases.len(), 268);
}

/// What is applied as JSON, nothing where the object takes no part, or why it fails.
type Outcome = Result<Option<String>, String>;

fn run(case: &serde_json::Value, strict: bool, always: bool) -> Outcome {
    let text = |key: &str| case[key].as_str().unwrap_or_default().to_owned();
    let strategy = if always { "    substituteStrategy: Always\n" } else { "" };
    let post_build = text("postBuild").replace("    {}\n", "");
    let kustomization = format!("spec:\n  postBuild:\n{post_build}{strategy}");
    let kustomizations = parse_nodes("ks.yaml", &kustomization);
    let Some(kustomization) = kustomizations.first() else {
        return Err(format!("unreadable: {kustomization}"));
    };
    let objects = parse_nodes("object.yaml", &text("resource"));
    let Some(object) = objects.first().map(|object| object.get_ref()) else {
        return Err(format!("unreadable: {}", text("resource")));
    };
    match emit::to_yaml(object) {
        Err(error) => return Err(error.to_string()),
        Ok(emitted) => {
            if let Some(before) = case["text_before"].as_str() {
                assert_eq!(emitted, before, "{}", case["name"]);
            }
        }
    }
    if opts_out(object) {
        return Ok(None);
    }
    let cluster: Vec<_> = case["cluster_objects"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|object| parse_nodes("cluster.yaml", object.as_str().unwrap_or_default()))
        .collect();
    let mut provide = |kind: &str, name: &str| {
        let found = cluster.iter().map(|node| node.get_ref()).find(|node| {
            node.str_at("/kind").as_deref() == Some(kind)
                && node.str_at("/metadata/name").as_deref() == Some(name)
        });
        let Some(found) = found else { return Provided::Missing };
        let mut keys = config_map_keys(found);
        for entry in found.entries_at("/stringData") {
            let value = entry.value.as_str().map(|value| value.replace('\n', "").into());
            keys.push((entry.key.as_ref().into(), Definition { value, location: None }));
        }
        Provided::Keys(keys)
    };
    let emitted = |node: NodeRef<'_>| match emit::to_json(node) {
        Ok(json) => Ok(Some(json)),
        Err(error) => Err(error.to_string()),
    };
    let Some(variables) = Variables::of(kustomization.get_ref(), &mut provide) else {
        return emitted(object);
    };
    if !variables.missing.is_empty() {
        return Err(format!("{:?}", variables.missing));
    }
    if !variables.bad.is_empty() {
        return Err(format!("{:?}", variables.bad));
    }
    if variables.runs() == Some(false) {
        return emitted(object);
    }
    let substituted = match substitute(object, &variables, strict) {
        Ok(substituted) => substituted,
        Err(error) => return Err(error.to_string()),
    };
    let fatal = substituted.problems.iter().find(|problem| match problem.kind {
        ProblemKind::Undefined { .. } => strict,
        ProblemKind::TypeChange { .. } => false,
        _ => true,
    });
    match fatal {
        Some(problem) => Err(format!("{problem:?}")),
        None => emitted(substituted.node.get_ref()),
    }
}
