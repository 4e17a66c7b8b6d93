//! Baselines: findings that a team has accepted for now, by fingerprint and
//! count, in a file that merges well.

use super::Finding;
use super::engine::{LintOutcome, Suppressed};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema that the file states.
const SCHEMA: &str = "forebay.baseline/v1";

/// Accepted findings, in order of rule and fingerprint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Baseline {
    entries: BTreeMap<(String, String), BaselineEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct BaselineEntry {
    count: usize,
    message: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    findings: Vec<Line>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    rule: String,
    fingerprint: String,
    count: usize,
    /// For people; two baselines that differ in messages alone are equal.
    message: String,
}

impl Baseline {
    /// Read the text of a baseline.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Baseline, String> {
        let file: File = serde_json::from_str(text).map_err(|error| format!("no baseline: {error}"))?;
        if file.schema != SCHEMA {
            return Err(format!("its schema is `{}`, not `{SCHEMA}`", file.schema));
        }
        let entry = |line: Line| {
            ((line.rule, line.fingerprint), BaselineEntry { count: line.count, message: line.message })
        };
        Ok(Baseline { entries: file.findings.into_iter().map(entry).collect() })
    }

    /// A baseline that accepts these findings.
    pub(crate) fn of<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Baseline {
        let mut entries: BTreeMap<(String, String), BaselineEntry> = BTreeMap::new();
        for finding in findings {
            let key = (finding.rule.id.to_owned(), finding.fingerprint.clone());
            let entry =
                entries.entry(key).or_insert(BaselineEntry { count: 0, message: finding.title.clone() });
            entry.count += 1;
        }
        Baseline { entries }
    }

    /// The text of the file: one line for each entry.
    pub(crate) fn to_text(&self) -> String {
        let line = |((rule, fingerprint), entry): (&(String, String), &BaselineEntry)| {
            let line = serde_json::json!({
                "rule": rule, "fingerprint": fingerprint, "count": entry.count, "message": entry.message,
            });
            format!("    {line}")
        };
        let lines: Vec<String> = self.entries.iter().map(line).collect();
        let findings = if lines.is_empty() { String::new() } else { format!("\n{}\n  ", lines.join(",\n")) };
        format!("{{\n  \"schema\": \"{SCHEMA}\",\n  \"findings\": [{findings}]\n}}\n")
    }

    /// Move the findings that it accepts to the suppressed ones. Of several
    /// equal ones, as many as it counts.
    pub(crate) fn apply(&self, outcome: &mut LintOutcome) {
        let mut left = self.entries.clone();
        for finding in std::mem::take(&mut outcome.findings) {
            match left.get_mut(&(finding.rule.id.to_owned(), finding.fingerprint.clone())) {
                Some(entry) if entry.count > 0 => {
                    entry.count -= 1;
                    let reason = "in the baseline".to_owned();
                    outcome.suppressed.push(Suppressed { finding, reason, by_baseline: true });
                }
                _ => outcome.findings.push(finding),
            }
        }
    }

    /// The part of it that these findings still have.
    #[must_use]
    pub(crate) fn pruned<'f>(&self, findings: impl IntoIterator<Item = &'f Finding>) -> Baseline {
        let now = Baseline::of(findings);
        let kept = self.entries.iter().filter_map(|(key, entry)| {
            let count = entry.count.min(now.entries.get(key)?.count);
            Some((key.clone(), BaselineEntry { count, message: entry.message.clone() }))
        });
        Baseline { entries: kept.collect() }
    }

    /// How many findings it accepts.
    pub(crate) fn count(&self) -> usize {
        self.entries.values().map(|entry| entry.count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let entry = |count| BaselineEntry { count, message: "a \"b\"".to_owned() };
        let baseline = Baseline {
            entries: [("b", 1), ("a", 2)]
                .map(|(f, count)| (("r".to_owned(), f.to_owned()), entry(count)))
                .into(),
        };
        let text = baseline.to_text();
        assert_eq!(Baseline::parse(&text), Ok(baseline));
        assert_eq!(text.lines().filter(|line| line.contains("\"rule\"")).count(), 2, "{text}");
        assert!(text.find("\"a\"") < text.find("\"b\""));
        assert_eq!(Baseline::parse(&Baseline::default().to_text()), Ok(Baseline::default()));
    }

    #[test]
    fn other_files_are_refused() {
        for text in ["", "{}", "[]", r#"{"schema":"forebay.lint/v1","findings":[]}"#] {
            assert!(Baseline::parse(text).is_err(), "{text}");
        }
    }
}
