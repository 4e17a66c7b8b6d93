//! `${VARIABLE}` in the path of an entry point: what the repository defines,
//! else the directories that fit.

use crate::files::Snapshot;
use crate::lang::yaml::NodeRef;
use crate::model::kinds;
use std::collections::{BTreeMap, BTreeSet};

/// More directories than this are no answer.
const LIMIT: usize = 64;

/// Every value that the repository gives a variable: in ConfigMaps, in
/// `postBuild.substitute`, in env files.
pub(super) struct GivenVariables(BTreeMap<String, BTreeSet<String>>);

impl GivenVariables {
    pub(super) fn of(snapshot: &Snapshot) -> GivenVariables {
        let mut values: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut add = |map: Option<NodeRef<'_>>| {
            for entry in map.into_iter().flat_map(NodeRef::entries) {
                if let Some(text) = entry.value.text().filter(|text| text.len() < 200 && !text.contains('$'))
                {
                    values.entry(entry.key.into_owned()).or_default().insert(text.into_owned());
                }
            }
        };
        for object in snapshot.objects() {
            let node = object.node.get_ref();
            if object.id.is("", "ConfigMap") {
                add(node.at("/data"));
            } else if kinds::is_kustomization(&object.id) {
                add(node.at("/spec/postBuild/substitute"));
            }
        }
        for file in snapshot.files() {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            if !(name.ends_with(".env") || name == ".env") {
                continue;
            }
            for line in snapshot.stream(file).map(|stream| stream.text.lines()).into_iter().flatten() {
                let line = line.trim().trim_start_matches("export ");
                if let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
                    let value = value.trim().trim_matches(['"', '\'']);
                    values.entry(key.trim().to_owned()).or_default().insert(value.to_owned());
                }
            }
        }
        GivenVariables(values)
    }
}

/// The text split at `${NAME}` and `{{ … }}`: literal parts and names.
fn parts(text: &str) -> Vec<Result<&str, &str>> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let dollar = rest.find("${").map(|at| (at, "${", "}"));
        let braces = rest.find("{{").map(|at| (at, "{{", "}}"));
        let first = match (dollar, braces) {
            (Some(one), Some(other)) => Some(if one.0 <= other.0 { one } else { other }),
            (one, other) => one.or(other),
        };
        let Some((at, open, close)) = first else { break };
        let Some(length) = rest[at + open.len()..].find(close) else { break };
        if at > 0 {
            parts.push(Ok(&rest[..at]));
        }
        parts.push(Err(rest[at + open.len()..at + open.len() + length].trim()));
        rest = &rest[at + open.len() + length + close.len()..];
    }
    if !rest.is_empty() {
        parts.push(Ok(rest));
    }
    parts
}

/// Whether a text has parts that something fills in.
pub(super) fn has_holes(text: &str) -> bool {
    text.contains("${") || text.contains("{{")
}

/// The paths that a text with holes stands for, and whether the repository says
/// their values.
pub(super) fn expand(text: &str, variables: &GivenVariables, snapshot: &Snapshot) -> (Vec<String>, bool) {
    let mut stated = vec![String::new()];
    for part in parts(text) {
        let choices: Vec<String> = match part {
            Ok(text) => vec![text.to_owned()],
            Err(expression) => {
                let (name, default) =
                    match expression.split_once(":=").or_else(|| expression.split_once(":-")) {
                        Some((name, default)) => (name, Some(default)),
                        None => (expression, None),
                    };
                let known = variables.0.get(name).into_iter().flatten().cloned();
                let known: Vec<String> = known.collect();
                if known.is_empty() { default.map(str::to_owned).into_iter().collect() } else { known }
            }
        };
        stated = stated
            .iter()
            .flat_map(|before| choices.iter().map(move |choice| format!("{before}{choice}")))
            .take(LIMIT)
            .collect();
    }
    let exists = |path: &String| {
        let clean = super::clean_path(path);
        !clean.is_empty() && snapshot.has_directory(&clean)
    };
    stated.retain(exists);
    if !stated.is_empty() {
        return (stated, true);
    }
    (matching(text, snapshot), false)
}

/// Directories of manifests that fit a text of which each hole is a part of one
/// component.
fn matching(text: &str, snapshot: &Snapshot) -> Vec<String> {
    let pattern: String =
        parts(text).into_iter().map(|part| part.map_or("\u{0}".to_owned(), str::to_owned)).collect();
    let wanted = super::clean_path(&pattern);
    let wanted: Vec<&str> = wanted.split('/').collect();
    // A path that is nothing but holes fits everything.
    if wanted.iter().all(|part| part.contains('\u{0}')) {
        return Vec::new();
    }
    let fits = |part: &str, pattern: &str| {
        let pieces: Vec<&str> = pattern.split('\u{0}').collect();
        match pieces.as_slice() {
            [whole] => part == *whole,
            [first, .., last] => {
                part.len() > first.len() + last.len() && part.starts_with(first) && part.ends_with(last)
            }
            [] => false,
        }
    };
    let mut found: BTreeSet<String> = BTreeSet::new();
    for file in snapshot.files().iter().filter(|file| file.is_manifest) {
        let components: Vec<&str> = file.path.split('/').collect();
        let directory = &components[..components.len() - 1];
        if directory.len() >= wanted.len()
            && wanted.iter().zip(directory).all(|(pattern, part)| fits(part, pattern))
        {
            found.insert(directory[..wanted.len()].join("/"));
        }
    }
    found.retain(|path| !super::leftovers::is_leftover(path));
    if found.len() > LIMIT { Vec::new() } else { found.into_iter().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Store;
    use std::sync::Arc;

    #[test]
    fn holes_are_filled_from_the_repository() {
        let settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {CLUSTER: main}\n";
        let files = [
            ("settings.yaml", settings),
            ("k8s/clusters/main/flux/ks.yaml", "a: 1\n"),
            ("k8s/clusters/other/flux/ks.yaml", "a: 1\n"),
        ];
        let files = files.map(|(path, text)| (path, text.as_bytes().to_vec()));
        let snapshot = Snapshot::memory(files, Arc::new(Store::default()));
        let variables = GivenVariables::of(&snapshot);
        let found = |text: &str| expand(text, &variables, &snapshot);
        assert_eq!(
            found("./k8s/clusters/${CLUSTER}/flux"),
            (vec!["./k8s/clusters/main/flux".to_owned()], true)
        );
        let both = ["k8s/clusters/main/flux", "k8s/clusters/other/flux"].map(str::to_owned).to_vec();
        assert_eq!(found("./k8s/clusters/${NAME}/flux"), (both.clone(), false));
        assert_eq!(found("k8s/clusters/{{ .Environment.Name }}/flux"), (both, false));
        assert_eq!(found("${ALL}"), (Vec::new(), false));
        assert_eq!(found("gone/${NAME}"), (Vec::new(), false));
    }
}
