//! Renders charts as `helm template` would, as far as templates go: for
//! `.ci/template-parity`, which compares the answers with Helm's.
//!
//! Reads lines of JSON, each a chart with `templates`, `values`, `files`, `chart` and
//! `args`, and `helm`, `"3.17"` or `"4.2"`, where it is not 4.1; writes a line for each:
//! `{"files": {…}}` or `{"error": "…"}`. With the argument `functions`, the table of
//! functions.

#[path = "../tests/it/support/helm.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod helm;

use forebay::internals::lang::template::Libraries;
use std::io::{BufRead, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    if std::env::args().nth(1).as_deref() == Some("functions") {
        write!(out, "{}", forebay::internals::lang::template::page())?;
        return Ok(());
    }
    for line in std::io::stdin().lock().lines() {
        let given: serde_json::Value = serde_json::from_str(&line?)?;
        let map = |name: &str| -> Result<_, serde_json::Error> {
            serde_json::from_value(given.get(name).cloned().unwrap_or_else(|| serde_json::json!({})))
        };
        let chart = helm::Chart {
            templates: map("templates")?,
            values: given["values"].as_str().unwrap_or_default().to_owned(),
            files: map("files")?,
            chart: given["chart"].as_str().map(str::to_owned),
            args: serde_json::from_value(
                given.get("args").cloned().unwrap_or_else(|| serde_json::json!([])),
            )?,
            libraries: match given["helm"].as_str() {
                Some("3.17") => Libraries::Helm3_17,
                Some("4.2") => Libraries::Helm4_2,
                _ => Libraries::Helm4_1,
            },
        };
        let answer = match helm::render(&chart, true) {
            Ok(files) => {
                let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
                let files: serde_json::Map<String, serde_json::Value> =
                    files.into_iter().map(|(name, bytes)| (name, text(bytes).into())).collect();
                serde_json::json!({ "files": files })
            }
            Err(error) => serde_json::json!({ "error": error }),
        };
        writeln!(out, "{answer}")?;
    }
    Ok(())
}
