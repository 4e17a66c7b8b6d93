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
