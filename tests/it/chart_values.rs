//! Values of charts in charts as three lines of Helm put them together, where the recorded
//! cases ask nothing. What each prints was printed by Helm 3.17.3, 4.1.4 and 4.2.3.

use crate::support::scratch::Scratch;

const LINES: [&str; 3] = ["3.17", "4.1", "4.2"];

/// A chart `c` with a chart `sub` in it, which has one more, `leaf`; each prints its values.
fn charts(dependencies: &str, of_sub: &str, values: [&str; 3]) -> Scratch {
    let chart = |name: &str, rest: &str| format!("apiVersion: v2\nname: {name}\nversion: 0.1.0\n{rest}");
    let print = "{{ .Values | toJson }}\n";
    Scratch::new(&[
        ("c/Chart.yaml", &chart("c", dependencies)),
        ("c/values.yaml", values[0]),
        ("c/templates/t.yaml", print),
        ("c/charts/sub/Chart.yaml", &chart("sub", of_sub)),
        ("c/charts/sub/values.yaml", values[1]),
        ("c/charts/sub/templates/t.yaml", print),
        ("c/charts/sub/charts/leaf/Chart.yaml", &chart("leaf", "")),
        ("c/charts/sub/charts/leaf/values.yaml", values[2]),
        ("c/charts/sub/charts/leaf/templates/t.yaml", print),
    ])
}

/// What each template prints, by the line that names it, or the last line of what is wrong.
fn printed(scratch: &Scratch, line: &str) -> Vec<String> {
    let run = scratch.forebay(&["chart", "template", "r", "c", "--helm", line]);
    if run.code != 0 {
        return vec![run.err.trim().lines().last().unwrap_or_default().to_owned()];
    }
    let shown = |text: &str| !text.is_empty() && text != "---" && !text.starts_with("# Source: ");
    run.out.lines().filter(|text| shown(text)).map(str::to_owned).collect()
}

/// Helm hands globals on as maps whose inner maps are the same in both charts
/// (`pkg/chart/common/util/coalesce.go`, `coalesceGlobals`, `copyMap`).
#[test]
fn a_global_table_in_a_table_gets_what_a_chart_within_adds() {
    let scratch = charts(
        "",
        "",
        [
            "global: {a: {b: {own: 1}, text: x}}\n",
            "global: {a: {b: {sub: 2}, only: {sub: 2}}}\n",
            "global: {a: {b: {leaf: 3}, text: y}}\n",
        ],
    );
    let inner = r#"{"leaf":3,"own":1,"sub":2}"#;
    let leaf = format!(r#"{{"global":{{"a":{{"b":{inner},"only":{{"sub":2}},"text":"x"}}}}}}"#);
    let sub = format!(r#"{{"global":{{"a":{{"b":{inner},"only":{{"sub":2}},"text":"x"}}}},"leaf":{leaf}}}"#);
    let own = format!(r#"{{"global":{{"a":{{"b":{inner},"text":"x"}}}},"sub":{sub}}}"#);
    for line in LINES {
        assert_eq!(printed(&scratch, line), [leaf.clone(), sub.clone(), own.clone()], "{line}");
    }
}

/// Helm 3 rewrites the list of imports that both names share.
#[test]
fn a_chart_under_two_names_imports_once_in_helm_3() {
    let scratch = charts(
        "dependencies: [{name: sub, version: 0.1.0}, {name: sub, version: 0.1.0, alias: other}]\n",
        "dependencies: [{name: leaf, version: 0.1.0, import-values: [{child: a, parent: got}]}]\n",
        ["{}\n", "{}\n", "a: {x: 1}\n"],
    );
    let leaf = r#"{"a":{"x":1},"global":{}}"#;
    let with = format!(r#"{{"global":{{}},"got":{{"x":1}},"leaf":{leaf}}}"#);
    let without = format!(r#"{{"global":{{}},"leaf":{leaf}}}"#);
    for (line, other) in [("3.17", &without), ("4.1", &with), ("4.2", &with)] {
        let own = format!(r#"{{"other":{other},"sub":{with}}}"#);
        let mut all = [leaf.to_owned(), other.clone(), leaf.to_owned(), with.clone(), own];
        all.sort();
        let mut printed = printed(&scratch, line);
        printed.sort();
        assert_eq!(printed, all, "{line}");
    }
}

#[test]
fn values_of_a_chart_that_are_no_table_are_refused_in_the_words_of_each_line() {
    for (values, shown) in [
        ("sub: true\n", "true"),
        ("sub: [a, {x: null}]\n", "[%!t(string=a) map[%!t(string=x):<nil>]]"),
        ("sub: [1, null]\n", "[%!t(float64=1) <nil>]"),
    ] {
        let listed = "dependencies: [{name: sub, version: 0.1.0}]\n";
        for (dependencies, lead) in [("", ""), (listed, "chart dependencies processing failed: ")] {
            let scratch = charts(dependencies, "", [values, "{}\n", "{}\n"]);
            for line in LINES {
                let lead = if line == "3.17" { "" } else { lead };
                let wanted = format!("Error: {lead}type mismatch on sub: {shown}");
                assert_eq!(printed(&scratch, line), [wanted], "{line}");
            }
        }
    }
}
