//! Tests of the module.

use super::*;
use crate::lang::yaml::WorkPath;

#[test]
fn a_chart_that_comes_or_goes_tells_anew_what_its_files_are() {
    let files = [("a/templates/x.yaml", b"kind: A\n".to_vec()), ("a/charts/b/x.yaml", b"kind: A\n".to_vec())];
    let before = Snapshot::memory(files, Arc::new(Store::default()));
    let told = |snapshot: &Snapshot| {
        let of = |path: &str| snapshot.file(path).expect("it is there").clone();
        (snapshot.is_template(&of("a/templates/x.yaml")), snapshot.is_generated(&of("a/charts/b/x.yaml")))
    };
    assert_eq!(told(&before), (false, false));
    let chart = before.with_files([("a/Chart.yaml", b"name: a\n".to_vec())]);
    assert_eq!(told(&chart), (true, true));
    let [from, to] = ["a/Chart.yaml", "c/Chart.yaml"].map(|path| WorkPath::new(path).expect("a path"));
    let gone = chart.with_moved(&[(from, to)]).expect("it moves");
    assert_eq!(told(&gone), (false, false));
    assert_eq!(told(&before), (false, false));
}

#[test]
fn what_flux_writes_of_itself_is_generated_whatever_its_version() {
    let is_generated = |name: &str, text: &str| {
        let snapshot = Snapshot::memory([(name, text.as_bytes().to_vec())], Arc::new(Store::default()));
        snapshot.is_generated(&snapshot.file(name).expect("it is there").clone())
    };
    let kinds = "apiVersion: v1\nkind: Namespace\n---\nkind: CustomResourceDefinition\n";
    let labelled = format!("{kinds}metadata:\n  labels:\n    app.kubernetes.io/part-of: flux\n");
    let older = format!("{kinds}spec:\n  group: source.toolkit.fluxcd.io\n");
    assert!(is_generated("a/gotk-components.yaml", &labelled));
    assert!(is_generated("a/gotk-components.yaml", &older));
    assert!(!is_generated("a/gotk-components.yaml", kinds));
    assert!(!is_generated("a/other.yaml", &older));
}
