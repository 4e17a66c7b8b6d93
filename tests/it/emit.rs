//! The YAML emitter against recorded outputs of kustomize and flux.

use crate::support::corpus::manifests;
use crate::support::recordings;
use crate::support::skip::corpus_or_skip;
use forebay::internals::lang::yaml::{emit, parse_nodes};

/// What those tools wrote is written the same again.
#[test]
fn recorded_outputs_are_fixpoints() {
    let mut texts = Vec::new();
    for case in std::fs::read_dir(recordings::path("kustomize-build")).expect("cases").flatten() {
        for name in ["out.yaml", "out-5.8.1.yaml"] {
            texts.extend(std::fs::read_to_string(case.path().join(name)));
        }
    }
    let recorded = recordings::json("flux-build.json");
    for case in recorded["cases"].as_array().expect("cases") {
        texts.extend(case["stdout"].as_str().map(str::to_owned));
    }
    let mut documents = 0;
    for text in &texts {
        for document in text.split("---\n").filter(|document| !document.is_empty()) {
            documents += 1;
            let nodes = parse_nodes("out.yaml", document);
            assert_eq!(nodes.len(), 1, "{document}");
            assert_eq!(emit::to_yaml(nodes[0].get_ref()).as_deref(), Ok(document));
        }
    }
    assert!(documents > 200, "{documents} documents");
}

/// What is emitted is read as the same value, and emitted the same again.
#[test]
fn real_manifests_round_trip() {
    let files = manifests(corpus_or_skip!().root());
    assert!(!files.is_empty());
    for path in files {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for node in parse_nodes("file.yaml", &text) {
            let Ok(emitted) = emit::to_yaml(node.get_ref()) else { continue };
            let again = parse_nodes("emitted.yaml", &emitted);
            assert_eq!(again.len(), 1, "{}", path.display());
            let json = |node: &forebay::internals::lang::yaml::Node| emit::to_json(node.get_ref());
            assert_eq!(json(&node), json(&again[0]), "{}", path.display());
            assert_eq!(emit::to_yaml(again[0].get_ref()).as_ref(), Ok(&emitted), "{}", path.display());
        }
    }
}
