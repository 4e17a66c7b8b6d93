//! `gitlab`: a code quality report.

use super::markdown::prose;
use super::{Lint, place};
use crate::config::Level;
use crate::lang::text::clean;
use crate::lint::Finding;
use serde_json::{Value, json};

/// Why, and what to do, in Markdown.
fn body(finding: &Finding) -> String {
    let texts = [("", &finding.why), ("help: ", &finding.help)];
    let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
    texts.map(|(lead, text)| format!("{lead}{}", prose(text))).collect::<Vec<_>>().join("\n\n")
}

/// The report.
pub fn report(lint: &Lint<'_>) -> Value {
    let issue = |(finding, fingerprint): (&Finding, String)| {
        let place = place(lint.snapshot(), &finding.location);
        let (begin, end) = place.map_or((1, 1), |place| (place.from.0, place.to.0));
        json!({
            "type": "issue",
            "check_name": finding.rule.id,
            "description": clean(&finding.title),
            "content": {"body": body(finding)},
            "fingerprint": fingerprint,
            "severity": match finding.level {
                Level::Error => "major",
                Level::Warning => "minor",
                Level::Info | Level::Off => "info",
            },
            "location": {
                "path": lint.in_repository(finding.location.file.shown()),
                "lines": {"begin": begin, "end": end},
            },
        })
    };
    lint.with_unique_fingerprints().into_iter().map(issue).collect()
}
