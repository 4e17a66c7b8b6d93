//! Which clusters a repository has, how each is known, and what of it is followed:
//! `tests/projects/world-*` hold a repository each and, in `expected.txt`, all of its
//! clusters and what else is said of it:
//!
//! ```text
//! cluster NAME ROOT stated|assumed|guessed     every cluster, and no other
//! root NAMESPACE/NAME                          a root Kustomization's identity
//! flux CLUSTER VERSION                         the version that runs
//! followed N of M                              Kustomizations
//! not-followed WHY                             a reason that is given
//! says LINE                                    a line of what `lint` prints
//! ```

use crate::support::corpus::Corpus;
use crate::support::scratch::Scratch;
use crate::support::skip::corpus_or_skip;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn answer(arguments: &[&str], root: &Path) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(arguments)
        .args(["--no-config", "--format", "json", "--root"])
        .arg(root)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}: {error}", root.display()))
}

/// What `lint` prints.
fn text(root: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(["lint", "--no-config", "--root"])
        .arg(root)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// (name, root, certainty) of each cluster.
fn clusters(root: &Path) -> (BTreeSet<(String, String, String)>, Value) {
    let answer = answer(&["config", "show"], root);
    let known = answer["coverage"]["clusters"].as_object().unwrap().clone();
    let path = |name: &str| {
        let key = format!("clusters.{name}.path");
        let row = answer["values"].as_array().unwrap().iter().find(|row| row["key"] == key.as_str());
        row.unwrap()["value"].as_str().unwrap().to_owned()
    };
    let found = known
        .iter()
        .map(|(name, certainty)| (name.clone(), path(name), certainty.as_str().unwrap().to_owned()));
    (found.collect(), answer)
}

#[test]
fn projects_have_the_clusters_that_they_state() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects");
    let mut projects: Vec<_> =
        std::fs::read_dir(directory).unwrap().flatten().map(|entry| entry.path()).collect();
    projects.retain(|path| path.file_name().unwrap().to_string_lossy().starts_with("world-"));
    projects.sort();
    assert!(projects.len() > 20, "{} projects", projects.len());
    let mut wrong = Vec::new();
    for project in projects {
        let name = project.file_name().unwrap().to_string_lossy().into_owned();
        let (found, answer) = clusters(&project);
        let mut expected = BTreeSet::new();
        let coverage = &answer["coverage"];
        for line in std::fs::read_to_string(project.join("expected.txt")).unwrap().lines() {
            let (key, rest) = line.split_once(' ').unwrap();
            let words: Vec<&str> = rest.split(' ').collect();
            let holds = match key {
                "cluster" => {
                    expected.insert((words[0].to_owned(), words[1].to_owned(), words[2].to_owned()));
                    true
                }
                "followed" => rest == format!("{} of {}", coverage["followed"], coverage["kustomizations"]),
                "flux" => {
                    let (cluster, version) = rest.split_once(' ').unwrap();
                    answer["target"][cluster]["flux"]["value"] == version
                }
                "not-followed" => {
                    coverage["notFollowed"].as_array().unwrap().iter().any(|one| one["why"] == rest)
                }
                "root" => {
                    let graph = self::answer(&["graph"], &project);
                    graph["nodes"].as_array().unwrap().iter().any(|node| {
                        let object = &node["object"];
                        let id = format!(
                            "{}/{}",
                            object["namespace"].as_str().unwrap_or_default(),
                            object["name"].as_str().unwrap_or_default()
                        );
                        object["kind"] == "Kustomization" && id == rest
                    })
                }
                "says" => text(&project).lines().any(|line| line == rest),
                _ => panic!("{name}: {key}"),
            };
            if !holds {
                wrong.push(format!("{name}: not so: {line}\n    {coverage}\n    {}", answer["target"]));
            }
        }
        if found != expected {
            wrong.push(format!("{name}: {found:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a person sees in the repositories of the corpus: root paths, of which some
/// are open to judgement.
#[test]
fn roots_in_the_corpus_are_those_that_a_person_sees() {
    let corpus: &Corpus = corpus_or_skip!();
    let layouts: Value = serde_json::from_str(include_str!("../recordings/layouts.json")).unwrap();
    let mut wrong = Vec::new();
    for (repository, layout) in layouts.as_object().unwrap() {
        let root = corpus.root().join(repository);
        let Some(wanted) = layout["clusters"].as_array().filter(|_| root.is_dir()) else { continue };
        let (found, _) = clusters(&root);
        let path = |cluster: &Value| cluster["root"].as_str().unwrap().to_owned();
        let all: BTreeSet<String> = wanted.iter().map(path).collect();
        let needed = wanted.iter().filter(|cluster| cluster["optional"] != true).map(path);
        let found: BTreeSet<String> = found.into_iter().map(|(_, root, _)| root).collect();
        let missing: Vec<String> = needed.filter(|root| !found.contains(root)).collect();
        let more: Vec<&String> = found.difference(&all).collect();
        if !missing.is_empty() || !more.is_empty() {
            wrong.push(format!("{repository}: missing {missing:?}, too many {more:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A `gotk-sync.yaml` whose source has a variable for an address is filled in by a script: where
/// nothing stands at its path either, it is no root of this repository.
#[test]
fn a_sync_file_that_is_a_template_is_a_root_where_its_path_is_here() {
    let sync = |url: &str, path: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: flux-system, namespace: flux-system}}\n\
             spec: {{interval: 1m, url: '{url}', ref: {{branch: main}}}}\n---\n\
             apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: flux-system, namespace: flux-system}}\n\
             spec: {{interval: 10m, path: ./{path}, prune: true, sourceRef: {{kind: GitRepository, name: flux-system}}}}\n"
        )
    };
    let template = "${BOOTSTRAP_REPOSITORY}";
    let own = "https://example.com/fleet.git";
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n";
    for (what, files, roots, misses_path) in [
        (
            "a template beside a root",
            vec![("tmpl", template, "gone/base"), ("clusters/a/flux-system", own, "clusters/a")],
            vec!["clusters/a"],
            false,
        ),
        ("a template alone", vec![("tmpl", template, "gone/base")], vec![], false),
        ("a template in part", vec![("tmpl", "ssh://git@${HOST}/fleet.git", "gone/base")], vec![], false),
        (
            "a variable and a path that is here",
            vec![("clusters/a/flux-system", template, "clusters/a")],
            vec!["clusters/a"],
            false,
        ),
        ("a root whose path is gone", vec![("tmpl", own, "gone/base")], vec![], true),
    ] {
        let scratch = Scratch::new(&[("clusters/a/config.yaml", config)]);
        for (directory, url, path) in files {
            scratch.write(&format!("{directory}/gotk-sync.yaml"), sync(url, path).as_bytes());
        }
        let (found, _) = clusters(scratch.path());
        let found: Vec<&str> = found.iter().map(|(_, root, _)| &**root).collect();
        assert_eq!(found, roots, "{what}");
        assert_eq!(text(scratch.path()).contains("missing-path"), misses_path, "{what}");
    }
}
