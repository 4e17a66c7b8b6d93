//! Flux's own example repositories, where the corpus is present: what their
//! documentation promises is what the commands tell.

use crate::support::corpus::Corpus;
use crate::support::scratch::Scratch;
use crate::support::skip::corpus_or_skip;
use serde_json::Value;

/// A copy of an example that may be changed.
fn example(corpus: &Corpus, name: &str) -> Scratch {
    let root = corpus.root().join(name);
    let scratch = Scratch::new(&[]);
    for entry in walkdir::WalkDir::new(&root).into_iter().flatten() {
        let relative = entry.path().strip_prefix(&root).unwrap();
        if entry.file_type().is_file() && !relative.starts_with(".git") {
            scratch.write(relative.to_str().unwrap(), &std::fs::read(entry.path()).unwrap());
        }
    }
    scratch.run_git(&["init", "-q", "-b", "main"]);
    scratch
}

fn named(graph: &Value, cluster: &str, kind: &str, name: &str) -> Vec<String> {
    let nodes = graph["nodes"].as_array().unwrap().iter();
    let found = nodes.filter(|node| {
        let object = &node["object"];
        let full =
            format!("{}/{}", object["namespace"].as_str().unwrap_or(""), object["name"].as_str().unwrap());
        node["cluster"] == cluster && object["kind"] == kind && full == name
    });
    found.map(|node| node["id"].as_str().unwrap().to_owned()).collect()
}

/// Nodes that an edge of a kind leads to.
fn follow(graph: &Value, from: &[String], kind: &str) -> Vec<String> {
    let edges = graph["edges"].as_array().unwrap().iter();
    let from = edges.filter(|edge| edge["kind"] == kind && from.iter().any(|id| edge["from"] == **id));
    from.map(|edge| edge["to"].as_str().unwrap().to_owned()).collect()
}

/// Apps and infrastructure come through an ArtifactGenerator, and so does what is
/// wrong in them.
#[test]
fn artifacts_lead_to_the_files_that_they_are_made_of() {
    let corpus = corpus_or_skip!();
    let scratch = example(corpus, "fluxcd__flux2-kustomize-helm-example");
    let graph = scratch.forebay(&["graph", "--format", "json"]).json();
    for cluster in ["production", "staging"] {
        let generator = named(&graph, cluster, "ArtifactGenerator", "flux-system/flux-system");
        assert_eq!(generator.len(), 1, "{graph:#}");
        for (name, artifact, release) in [
            ("apps", "apps", "podinfo/podinfo"),
            ("infra-controllers", "infrastructure", "cert-manager/cert-manager"),
        ] {
            let applier = named(&graph, cluster, "Kustomization", &format!("flux-system/{name}"));
            let source = follow(&graph, &applier, "source");
            assert_eq!(
                source,
                named(&graph, cluster, "ExternalArtifact", &format!("flux-system/{artifact}"))
            );
            assert_eq!(follow(&graph, &source, "source"), generator, "{name}");
            let applied = follow(&graph, &applier, "applies");
            let releases = named(&graph, cluster, "HelmRelease", release);
            assert!(releases.len() == 1 && applied.contains(&releases[0]), "{name} in {cluster}: {graph:#}");
        }
    }
    assert_eq!(scratch.forebay(&["lint", "--format", "concise"]).code, 0);

    let path = "apps/base/podinfo/release.yaml";
    let text = scratch.read(path);
    let at = text.find("kind: HelmRepository\n        name: podinfo").expect("a source") + 28;
    let line = text[..at].matches('\n').count() + 1;
    scratch.write(
        path,
        text.replace(
            "kind: HelmRepository\n        name: podinfo",
            "kind: HelmRepository\n        name: podimfo",
        )
        .as_bytes(),
    );
    let answer = scratch.forebay(&["lint", "--format", "json"]).json();
    let findings = answer["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{answer:#}");
    let finding = &findings[0];
    assert_eq!(
        (finding["rule"].as_str(), finding["level"].as_str()),
        (Some("missing-reference"), Some("error"))
    );
    assert_eq!(finding["location"]["path"], path, "{finding:#}");
    assert_eq!(finding["location"]["line"], line, "{finding:#}");
    assert_eq!(finding["clusters"], serde_json::json!(["production", "staging"]));
}

/// What the hub sends to its spokes bears the same names twice, and none of them
/// meets the other.
#[test]
fn hub_and_spokes_do_not_collide() {
    let corpus = corpus_or_skip!();
    let scratch = example(corpus, "fluxcd__flux2-hub-spoke-example");
    let lint = scratch.forebay(&["lint", "--format", "json", "--show", "info"]).json();
    let rules: Vec<&Value> =
        lint["findings"].as_array().unwrap().iter().map(|finding| &finding["rule"]).collect();
    assert!(!rules.iter().any(|rule| **rule == "duplicate-object"), "{rules:?}");
    for (object, expected) in [
        ("HelmRelease/production/podinfo", "clusters/production/apps"),
        ("HelmRelease/staging/podinfo", "clusters/staging/apps"),
    ] {
        let why = scratch.forebay(&["why", object]);
        assert_eq!(why.code, 0, "{}", why.err);
        assert_eq!(why.out.matches("    applied by ").count(), 1, "{}", why.out);
        assert!(why.out.contains(expected), "{}", why.out);
    }
    // What both spokes get has one identity and two targets.
    let build = scratch.forebay(&["build", "--all", "--format", "json"]).json();
    let objects = build["objects"].as_array().unwrap();
    let mut seen: Vec<String> = Vec::new();
    let mut twice = 0;
    for object in objects {
        let id =
            format!("{} {} {}", object["kind"], object["metadata"]["namespace"], object["metadata"]["name"]);
        twice += usize::from(seen.contains(&id));
        seen.push(id);
    }
    assert!(twice >= 1, "{seen:?}");
    let show = scratch.forebay(&["config", "show"]).out;
    for secret in ["kubeConfig.production/cluster-kubeconfig", "kubeConfig.staging/cluster-kubeconfig"] {
        assert!(show.contains(secret), "{show}");
    }
}

/// The flag is in a patch of what `flux bootstrap` has yet to write.
#[test]
fn the_tenants_lockdown_is_read_from_its_patch() {
    let corpus = corpus_or_skip!();
    let scratch = example(corpus, "fluxcd__flux2-multi-tenancy");
    let answer = scratch.forebay(&["config", "show", "--format", "json"]).json();
    for cluster in ["production", "staging"] {
        let key = format!("clusters.{cluster}.target.features.crossNamespaceRefs");
        let row = answer["values"].as_array().unwrap().iter().find(|row| row["key"] == *key).expect("a row");
        assert_eq!(row["value"], "disabled", "{row:#}");
        let place = format!("clusters/{cluster}/flux-system/kustomization.yaml:10");
        assert_eq!(row["from"], place, "{row:#}");
    }
    let show = scratch.forebay(&["config", "show", "--cluster", "staging"]).out;
    let row = show.lines().find(|line| line.contains("crossNamespaceRefs")).expect("a row");
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(
        words,
        ["crossNamespaceRefs", "disabled", "clusters/staging/flux-system/kustomization.yaml:10"]
    );
    // A tenant's reference to another namespace is an error because of it.
    let path = "tenants/base/dev-team/sync.yaml";
    let text = scratch.read(path);
    let foreign = text.replacen(
        "    kind: GitRepository\n",
        "    kind: GitRepository\n    namespace: flux-system\n",
        1,
    );
    assert_ne!(text, foreign);
    scratch.write(path, foreign.as_bytes());
    let lint = scratch.forebay(&["lint", "--format", "json"]).json();
    let found = lint["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| finding["rule"] == "cross-namespace-reference");
    assert_eq!(found.expect("a finding")["location"]["path"], path, "{lint:#}");
}
