//! Builds of Flux Kustomizations against recorded outputs of `flux build`.

use crate::support::recordings;
use forebay::internals::build::substitute::{ProblemKind, Provided, Variables};
use forebay::internals::files::{FileTree, Snapshot, Store};
use forebay::internals::lang::yaml::{Node, emit, parse_nodes};
use forebay::internals::model::ObjectId;
use forebay::internals::world::build::Memo;
use forebay::internals::world::build::build;
use std::sync::Arc;

/// Recorded cases where forebay means the cluster and `flux build` does not.
const DIFFERENT: [(&str, &str); 2] = [
    ("50-path-outside-via-resource", "an artifact has nothing outside its root"),
    ("63-remote-base", "a remote base is left out and counted"),
];

#[test]
fn recorded_builds() {
    let recorded = recordings::json("flux-build.json");
    let cases = recorded["cases"].as_array().expect("cases");
    let mut wrong = Vec::new();
    for case in cases {
        let name = case["case"].as_str().expect("a name");
        let actual = run(case);
        if DIFFERENT.iter().any(|(different, _)| *different == name) {
            assert!(actual.is_err(), "{name}: {actual:?}");
            continue;
        }
        let expected = case["stdout"].as_str().expect("output");
        match (&actual, case["exit"].as_i64()) {
            (Ok(output), Some(0)) if output == expected => {}
            (Err(_), Some(1)) => {}
            _ => wrong.push(format!("{name}: {actual:#?}\nrecorded: {case:#}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n\n"));
}

fn run(case: &serde_json::Value) -> Result<String, String> {
    let files = case["files"].as_object().expect("files");
    let bytes = |text: &serde_json::Value| text.as_str().unwrap_or_default().as_bytes().to_vec();
    let listed: Vec<(&str, Vec<u8>)> = files
        .iter()
        .filter(|(path, _)| *path != "ks.yaml")
        .map(|(path, text)| (path.as_str(), bytes(text)))
        .collect();
    let tree = FileTree::root(Arc::new(Snapshot::memory(listed, Arc::new(Store::default()))));
    let kustomization = &parse_nodes("ks.yaml", files["ks.yaml"].as_str().unwrap_or_default())[0];
    let variables = Variables::of(kustomization.get_ref(), &mut |_, _| Provided::Missing).unwrap_or_default();
    let strict = case["args"]
        .as_array()
        .is_some_and(|arguments| arguments.iter().any(|argument| argument == "--strict-substitute"));
    let built = build(&tree, kustomization.get_ref(), &variables, strict, &Memo::default())
        .map_err(|failure| failure.message)?;
    if let Some(failure) = built.unusable.first() {
        return Err(failure.message.clone());
    }
    if let Some(bad) = built.bad_variables.first() {
        return Err(format!("{bad:?}"));
    }
    if let Some((what, name, _)) = built.partial.first() {
        return Err(format!("partial: {what} {name}"));
    }
    let mut output = String::new();
    for object in &built.objects {
        let fatal = object.problems.iter().find(|problem| match problem.kind {
            ProblemKind::Undefined { .. } => strict,
            ProblemKind::TypeChange { .. } => false,
            _ => true,
        });
        if let Some(problem) = fatal {
            return Err(format!("{problem:?}"));
        }
        let id = ObjectId::of(object.node.get_ref()).ok_or("no object")?;
        if id.group() == "kustomize.config.k8s.io" {
            continue;
        }
        let owned = with_owner_labels(&object.node);
        output.push_str(&emit::to_yaml(owned.get_ref()).map_err(|error| error.to_string())?);
        output.push_str("---\n");
    }
    Ok(output)
}

/// The labels by which kustomize-controller knows what it applied.
fn with_owner_labels(object: &Node) -> Node {
    let mut object = object.clone();
    let metadata = object.get_mut("metadata").expect("metadata");
    if metadata.get_ref().get("labels").is_none() {
        metadata.set("labels", Node::empty_map(None), None);
    }
    let labels = metadata.get_mut("labels").expect("labels");
    labels.set("kustomize.toolkit.fluxcd.io/name", Node::string("app", None), None);
    labels.set("kustomize.toolkit.fluxcd.io/namespace", Node::string("flux-system", None), None);
    object
}
