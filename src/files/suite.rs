//! Test suites of other tools: their documents are patterns of objects and inputs
//! of tests, not objects.

use std::collections::BTreeMap;

/// What a name says about the directory that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    /// It is a test.
    Test,
    /// It and what lies below hold tests; at the root of a repository it only
    /// configures the tool.
    Configuration,
    /// It is a suite if the text says so.
    Named,
}

/// What marks a test suite, by the name of the file.
pub(super) fn marker(name: &str) -> Option<Marker> {
    match name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml"))? {
        "chainsaw-test" => Some(Marker::Test),
        ".chainsaw" | "kuttl-test" => Some(Marker::Configuration),
        "suite" => Some(Marker::Named),
        _ => None,
    }
}

/// Whether a text is a suite of gator, which tests policies of Gatekeeper.
pub(super) fn is_gator_suite(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("apiVersion: test.gatekeeper.sh/"))
}

/// What the files of one directory say together.
#[derive(Clone, Copy, Debug, Default)]
struct SuiteFiles {
    step: bool,
    assertion: bool,
    go_test: bool,
}

/// Directories (`a/b/`) that are test suites by the names of several files: numbered
/// steps beside what is asserted after them, as kuttl has them, and the `testdata` of
/// Go tests.
pub(super) fn by_names<'p>(paths: impl Iterator<Item = &'p str>) -> Vec<String> {
    let mut directories: BTreeMap<&str, SuiteFiles> = BTreeMap::new();
    let mut data: Vec<&str> = Vec::new();
    for path in paths {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        if name.ends_with("_test.go") {
            directories.entry(directory).or_default().go_test = true;
        }
        for (at, _) in path.match_indices("testdata/") {
            if at == 0 || path.as_bytes()[at - 1] == b'/' {
                data.push(&path[..at]);
            }
        }
        let stem = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml"));
        let Some((number, rest)) = stem.and_then(|stem| stem.split_once('-')) else { continue };
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let names = directories.entry(directory).or_default();
        match rest {
            "assert" | "errors" => names.assertion = true,
            _ => names.step = true,
        }
    }
    data.dedup();
    let of_go = data
        .into_iter()
        .filter(|above| directories.get(above.trim_end_matches('/')).is_some_and(|names| names.go_test));
    let of_go: Vec<String> = of_go.map(|above| format!("{above}testdata/")).collect();
    let stepwise = directories
        .iter()
        .filter(|(directory, names)| !directory.is_empty() && names.step && names.assertion);
    stepwise.map(|(directory, _)| format!("{directory}/")).chain(of_go).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mark_suites() {
        assert_eq!(marker("chainsaw-test.yml"), Some(Marker::Test));
        assert_eq!(marker(".chainsaw.yaml"), Some(Marker::Configuration));
        assert_eq!(marker("test.yaml"), None);
        let found = by_names(
            ["a/00-apply.yaml", "a/00-assert.yaml", "b/01-install.yaml", "01-a.yaml", "01-assert.yaml"]
                .into_iter()
                .chain(["c/x_test.go", "c/testdata/x.yaml", "c/testdata/y.yaml", "d/testdata/x.yaml"])
                .chain(["mytestdata/x.yaml", "x_test.go"]),
        );
        assert_eq!(found, ["a/", "c/testdata/"]);
    }
}
