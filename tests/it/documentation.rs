//! The documentation agrees with the project.

use std::collections::BTreeSet;
use std::path::Path;

fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Names below a heading of Cargo.toml, those for one target included.
fn dependencies(heading: &str) -> BTreeSet<String> {
    let manifest = file("Cargo.toml");
    let mut is_listed = false;
    let mut names = BTreeSet::new();
    for line in manifest.lines() {
        if let Some(opened) = line.strip_prefix('[') {
            let opened = opened.trim_end_matches(']');
            is_listed = opened == heading || opened.ends_with(&format!("'.{heading}"));
        } else if is_listed && !line.starts_with('#') {
            names.extend(line.split_once('=').map(|(name, _)| name.trim().to_owned()));
        }
    }
    names
}

/// First cells of the table below a heading of a page.
fn table(page: &str, heading: &str) -> BTreeSet<String> {
    let text = file(page);
    let section = text.split(&format!("\n## {heading}\n")).nth(1).expect("the heading exists");
    section
        .lines()
        .take_while(|line| !line.starts_with("## "))
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" |"))
        .flat_map(|(names, _)| names.split(", ").map(str::to_owned).collect::<Vec<_>>())
        .filter(|name| name != "Crate")
        .collect()
}

#[test]
fn every_dependency_has_its_reason() {
    for (manifest, page) in [("dependencies", "At run time"), ("dev-dependencies", "In tests and benches")] {
        assert_eq!(table("docs/dependencies.md", page), dependencies(manifest), "{manifest}");
    }
}

/// Fences of a language in a page.
fn fences(page: &str, language: &str) -> Vec<String> {
    let text = file(page);
    let open = format!("\n```{language}\n");
    text.split(&open).skip(1).filter_map(|rest| Some(rest.split_once("\n```")?.0.to_owned() + "\n")).collect()
}

#[test]
fn configurations_in_the_documentation_are_right() {
    let fences = fences("docs/configuration.md", "yaml");
    let configurations: Vec<_> = fences.iter().filter(|text| !text.contains("apiVersion:")).collect();
    assert!(!configurations.is_empty());
    for text in configurations {
        let mistakes = forebay::internals::config::read("c.yaml", text).err();
        assert!(mistakes.is_none(), "{mistakes:?}\n{text}");
    }
}

#[test]
fn all_keys_are_documented() {
    let text = fences("docs/configuration.md", "yaml").remove(0);
    let schema: serde_json::Value = serde_json::from_str(forebay::internals::config::SCHEMA).expect("JSON");
    for properties in
        ["/properties", "/$defs/target/properties", "/$defs/target/properties/features/properties"]
    {
        let properties = schema.pointer(properties).and_then(|value| value.as_object()).expect("properties");
        for key in properties.keys() {
            assert!(text.contains(&format!("{key}:")), "{key} is not in docs/configuration.md");
        }
    }
}

#[test]
fn links_in_the_documentation_lead_somewhere() {
    let pages = [
        "README.md",
        "CONTRIBUTING.md",
        "docs/configuration.md",
        "docs/ci.md",
        "docs/concepts.md",
        "docs/install.md",
        "packaging/README.md",
    ];
    for page in pages {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
        let directory = directory.parent().expect("a file has a directory").to_owned();
        for target in file(page).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap_or_default().replace('\n', "");
            if !path.is_empty() && !path.starts_with("http") {
                assert!(directory.join(&path).exists(), "{page} links to {target}");
            }
        }
    }
}
