//! What upstream's programs and tests answered, as data in `tests/recordings`. They
//! are part of the project: a test whose recording is absent fails.

use std::path::PathBuf;

/// A file or a directory of the recordings.
pub(crate) fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/recordings", name].iter().collect()
}

/// A recorded file.
pub(crate) fn json(name: &str) -> serde_json::Value {
    let path = path(name);
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Upstream's cases of these groups of `cluster-api.json`.
pub(crate) fn cluster_api(groups: &[&str]) -> Vec<serde_json::Value> {
    let serde_json::Value::Array(all) = json("cluster-api.json")["cases"].take() else {
        panic!("cluster-api.json has no list of cases");
    };
    let cases: Vec<_> =
        all.into_iter().filter(|case| groups.iter().any(|group| case["group"] == **group)).collect();
    assert!(!cases.is_empty(), "no case of {groups:?} is recorded");
    cases
}
