//! Templates as Helm 4.1.4 answered them, to the byte.

use crate::support::helm::{Chart, render};
use crate::support::recordings;
use forebay::internals::lang::template::Libraries;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Case {
    name: String,
    templates: BTreeMap<String, String>,
    values: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
    chart: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    output: Option<String>,
    #[serde(default)]
    output_is_trimmed: bool,
    stdout: Option<String>,
    error: Option<String>,
}

/// Recorded without its helper file: with it, Helm 4.1.4 answers `HH5`, because the
/// define of `_h.tpl` is parsed after that of `main.yaml`.
const RECORDED_WRONGLY: [&str; 1] = ["tpl-022"];

const CUT: &str = "…(cut)";

fn cases() -> Vec<Case> {
    let all: Vec<Case> = serde_json::from_value(recordings::json("template-cases.json")).expect("cases");
    assert!(all.len() >= 1375, "{} cases", all.len());
    all.into_iter().filter(|case| !RECORDED_WRONGLY.contains(&&*case.name)).collect()
}

/// What is wrong with a case, if anything.
fn difference(case: &Case, origins: bool) -> Option<String> {
    let chart = Chart {
        templates: case.templates.clone(),
        values: case.values.clone(),
        files: case.files.clone(),
        chart: case.chart.clone(),
        args: case.args.clone(),
        libraries: Libraries::Helm4_1,
    };
    let answer = match render(&chart, origins) {
        Ok(files) => {
            let mut files: Vec<(String, String)> = files
                .into_iter()
                .map(|(name, text)| (name, String::from_utf8_lossy(&text).into_owned()))
                .collect();
            if case.stdout.is_some() {
                files.sort();
                let told =
                    files.iter().map(|(name, text)| format!("---\n# Source: {name}\n{}\n", text.trim()));
                Ok(told.collect::<String>())
            } else {
                let main = files.into_iter().find(|(name, _)| name == "t/templates/main.yaml");
                Ok(main.expect("main.yaml").1)
            }
        }
        Err(error) => Err(error),
    };
    let expected = match (&case.output, &case.stdout, &case.error) {
        (Some(output), None, None) => Ok(output.clone()),
        (None, Some(stdout), None) => Ok(stdout.clone()),
        (None, None, Some(error)) => Err(error.clone()),
        _ => panic!("{}: one answer", case.name),
    };
    let answer = if case.output_is_trimmed { answer.map(|text| text.trim().to_owned()) } else { answer };
    // A long chain of errors was cut when it was recorded.
    let answer = match (&expected, answer) {
        (Err(expected), Err(answer)) => match expected.strip_suffix(CUT) {
            Some(start) if answer.starts_with(start) => Err(expected.clone()),
            _ => Err(answer),
        },
        (_, answer) => answer,
    };
    (answer != expected).then(|| {
        format!(
            "{}: {:?}\n  Helm: {expected:?}\n  here: {answer:?}",
            case.name,
            case.templates.get("main.yaml")
        )
    })
}

#[test]
fn every_recorded_template_is_answered_as_helm_does() {
    let cases = cases();
    let wrong: Vec<String> = cases.iter().filter_map(|case| difference(case, true)).collect();
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn origins_change_no_byte() {
    let wrong: Vec<String> = cases().iter().filter_map(|case| difference(case, false)).collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
