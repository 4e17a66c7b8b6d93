//! Builds against the recorded outputs of kustomize 5.8.1.

use crate::support::recordings;
use forebay::internals::build::kustomize::{self, BaseMemo, BuildOptions, LoadRestriction};
use forebay::internals::files::{FileTree, Snapshot, Store};
use forebay::internals::lang::yaml::emit;
use std::path::Path;
use std::sync::Arc;

/// A build as `kustomize build` prints it, or why it can't.
fn render(root: &Path, directory: &str) -> Result<String, String> {
    let snapshot =
        Snapshot::directory(root, Arc::new(Store::default())).map_err(|error| error.to_string())?;
    let tree = FileTree::root(Arc::new(snapshot));
    let options =
        BuildOptions { load_restriction: LoadRestriction::RootOnly, ..BuildOptions::command_line() };
    let build = kustomize::build(&tree, directory, &options, &BaseMemo::default()).map_err(|error| {
        let place = error.location.map(|location| format!("{}:{}", location.file, location.start));
        format!("{:?}: {} ({})", error.class, error.message, place.unwrap_or_default())
    })?;
    if let Some(partial) = build.partial.first() {
        return Err(format!("partial: {partial}"));
    }
    let texts: Result<Vec<String>, _> =
        build.resources.iter().map(|resource| emit::to_yaml(resource.node.get_ref())).collect();
    texts.map(|texts| texts.join("---\n")).map_err(|error| error.to_string())
}

#[test]
fn recorded_builds_are_reproduced() {
    let cases = recordings::path("kustomize-build");
    let index = recordings::json("kustomize-build/index.json");
    let mut failures = Vec::new();
    let list = index["cases"].as_array().expect("a list of cases");
    for case in list {
        let name = case["case"].as_str().expect("a name");
        let root = cases.join(name);
        let found = render(&root, "in");
        let expected = ["out.yaml", "out-5.8.1.yaml"]
            .iter()
            .find_map(|file| std::fs::read_to_string(root.join(file)).ok())
            .unwrap_or_default();
        match (case["exit_5.8.1"].as_i64() == Some(0), found) {
            (true, Ok(text)) if text == expected => {}
            (true, Ok(text)) => failures.push(format!("{name}: expected\n{expected}\nfound\n{text}")),
            (true, Err(error)) => failures.push(format!("{name}: fails: {error}")),
            (false, Err(error)) if std::env::var_os("FOREBAY_SHOW").is_some() => {
                eprintln!("{name}: {error}");
            }
            (false, Err(_)) => {}
            (false, Ok(text)) => failures.push(format!(
                "{name}: builds, but kustomize says {}\n{text}",
                case["stderr_5.8.1"].as_str().unwrap_or("")
            )),
        }
    }
    assert!(failures.is_empty(), "{} of {} cases:\n{}", failures.len(), list.len(), failures.join("\n\n"));
}
