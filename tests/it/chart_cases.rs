//! Charts as three lines of Helm answered them, to the byte.

use crate::support::charts::Template;
use crate::support::recordings;
use base64::Engine as _;
use forebay::internals::build::helm::HelmLine;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Case {
    name: String,
    files: BTreeMap<String, String>,
    #[serde(default)]
    files_b64: BTreeMap<String, String>,
    values: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(flatten)]
    answer: Answer,
    #[serde(default)]
    nondeterministic: bool,
    #[serde(default)]
    variants: BTreeMap<String, Answer>,
}

#[derive(Clone, Debug, Deserialize)]
struct Answer {
    output: Option<String>,
    error: Option<String>,
    #[serde(default)]
    warnings: Vec<String>,
}

fn cases() -> Vec<Case> {
    let all: Vec<Case> = serde_json::from_value(recordings::json("chart-cases.json")).expect("cases");
    assert!(all.len() >= 306, "{} cases", all.len());
    all
}

impl Case {
    fn template(&self) -> Template {
        let mut files: BTreeMap<String, Vec<u8>> =
            self.files.iter().map(|(name, text)| (name.clone(), text.clone().into_bytes())).collect();
        let decode = |text: &String| base64::engine::general_purpose::STANDARD.decode(text).expect("base64");
        files.extend(self.files_b64.iter().map(|(name, text)| (name.clone(), decode(text))));
        Template { files, values: self.values.clone(), args: self.args.clone() }
    }
}

/// Lines of an error whose order is by chance.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// A line of Helm's log without its level, as forebay says it.
fn plain(said: &str) -> String {
    let message = said.split_once(" msg=").map_or(said, |(_, message)| message);
    let Some(quoted) = message.strip_prefix('"') else { return message.to_owned() };
    let end = quoted.match_indices('"').find(|(at, _)| !quoted[..*at].ends_with('\\'));
    let end = end.map_or(quoted.len(), |(at, _)| at);
    let rest = quoted.get(end + 1..).unwrap_or_default();
    format!("{}{rest}", quoted[..end].replace("\\\"", "\""))
}

fn difference(case: &Case, line: HelmLine, expected: &Answer) -> Option<String> {
    let answer = case.template().run(line);
    let output = answer.output.map_err(|error| error.to_string().trim_end().to_owned());
    let wanted = match (&expected.output, &expected.error) {
        (Some(output), None) => Ok(output.clone()),
        (None, Some(error)) => Err(error.clone()),
        _ => panic!("{}: one answer", case.name),
    };
    let same = match (&output, &wanted) {
        (Err(one), Err(two)) if case.nondeterministic => lines(one) == lines(two),
        (one, two) => one == two || case.nondeterministic && one.is_ok() && two.is_ok(),
    };
    let unsaid: Vec<&String> = expected
        .warnings
        .iter()
        .filter(|said| line == HelmLine::V4_1 && output.is_ok() && !answer.warnings.contains(&plain(said)))
        .collect();
    (!same || !unsaid.is_empty()).then(|| {
        format!(
            "{} {line:?}:\n  Helm: {wanted:?}\n  here: {output:?}\n  unsaid: {unsaid:?} of {:?}",
            case.name, answer.warnings
        )
    })
}

#[test]
fn every_recorded_chart_is_answered_as_each_line_of_helm_does() {
    let mut wrong = Vec::new();
    for case in &cases() {
        for (line, version) in
            [(HelmLine::V3_17, "3.17.3"), (HelmLine::V4_1, "4.1.4"), (HelmLine::V4_2, "4.2.3")]
        {
            let expected = case.variants.get(version).unwrap_or(&case.answer);
            wrong.extend(difference(case, line, expected));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
