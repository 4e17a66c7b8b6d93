//! Findings as the protocol's diagnostics.

use super::state::{LocatedFinding, ServerState};
use crate::config::{FILE_NAME, Level};
use crate::lang::text::clean;
use crate::lint::Finding;
use crate::report::rule_url;
use lsp_types::{
    CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag,
    DocumentDiagnosticParams, DocumentDiagnosticReport, DocumentDiagnosticReportResult,
    FullDocumentDiagnosticReport, NumberOrString, Position, Range, RelatedFullDocumentDiagnosticReport,
    RelatedUnchangedDocumentDiagnosticReport, UnchangedDocumentDiagnosticReport, Uri,
    WorkspaceDiagnosticParams, WorkspaceDiagnosticReport, WorkspaceDiagnosticReportResult,
    WorkspaceDocumentDiagnosticReport, WorkspaceFullDocumentDiagnosticReport,
    WorkspaceUnchangedDocumentDiagnosticReport,
};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::str::FromStr;

/// The diagnostics of every file that has some.
pub(super) fn all(state: &ServerState<'_>) -> BTreeMap<String, Vec<Diagnostic>> {
    let mut files: BTreeMap<String, Vec<&LocatedFinding>> = BTreeMap::new();
    for found in state.findings() {
        files.entry(found.finding.location.file.to_string()).or_default().push(found);
    }
    let mut all: BTreeMap<String, Vec<Diagnostic>> = BTreeMap::new();
    for (path, found) in files {
        all.insert(path.clone(), of_file(state, &path, &found));
    }
    let mistakes = state.config_mistakes().into_iter().map(|(range, message)| Diagnostic {
        range,
        severity: Some(DiagnosticSeverity::ERROR),
        source: Some("forebay".to_owned()),
        message: clean(&message).into_owned(),
        ..Diagnostic::default()
    });
    let mistakes: Vec<Diagnostic> = mistakes.collect();
    if !mistakes.is_empty() {
        all.entry(FILE_NAME.to_owned()).or_default().extend(mistakes);
    }
    all
}

fn of_file(state: &ServerState<'_>, path: &str, found: &[&LocatedFinding]) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    // A broken text has findings of its own beside those of the text before.
    let mut rest = found;
    while let Some(first) = rest.first() {
        let same =
            rest.iter().take_while(|one| std::sync::Arc::ptr_eq(&one.snapshot, &first.snapshot)).count();
        let (own, others) = rest.split_at(same);
        let places = own.iter().map(|one| (one.finding.location.start, one.finding.location.end));
        let ranges = state.ranges(&first.snapshot, path, places);
        for (one, range) in own.iter().zip(ranges) {
            // What was edited away is looked at again when the text parses.
            let Some(range) = range else { continue };
            diagnostics.push(diagnostic(state, one, first_line(range)));
        }
        rest = others;
    }
    diagnostics
}

/// A whole document underlined tells nothing.
fn first_line(range: Range) -> Range {
    match range.end.line > range.start.line {
        true => {
            Range { start: range.start, end: Position { line: range.start.line, character: u32::MAX >> 1 } }
        }
        false => range,
    }
}

fn diagnostic(state: &ServerState<'_>, found: &LocatedFinding, range: Range) -> Diagnostic {
    let finding = &found.finding;
    let related: Vec<DiagnosticRelatedInformation> = finding
        .related
        .iter()
        .filter_map(|related| {
            let range = state.range(&found.snapshot, &related.location)?;
            let location = lsp_types::Location {
                uri: state.uri(related.location.file.shown())?,
                range: first_line(range),
            };
            Some(DiagnosticRelatedInformation { location, message: clean(&related.message).into_owned() })
        })
        .collect();
    Diagnostic {
        range,
        severity: Some(match finding.level {
            Level::Error => DiagnosticSeverity::ERROR,
            Level::Warning => DiagnosticSeverity::WARNING,
            _ => DiagnosticSeverity::INFORMATION,
        }),
        code: Some(NumberOrString::String(finding.rule.id.to_owned())),
        code_description: Uri::from_str(&rule_url(finding.rule)).ok().map(|href| CodeDescription { href }),
        source: Some("forebay".to_owned()),
        message: message(finding),
        related_information: (!related.is_empty()).then_some(related),
        tags: tags(finding.rule.id),
        data: None,
    }
}

fn tags(rule: &str) -> Option<Vec<DiagnosticTag>> {
    if rule.starts_with("unused-") {
        Some(vec![DiagnosticTag::UNNECESSARY])
    } else if rule.starts_with("deprecated-") || rule == "removed-api-version" {
        Some(vec![DiagnosticTag::DEPRECATED])
    } else {
        None
    }
}

/// What, why, what to do, and where it holds, each on a line.
fn message(finding: &Finding) -> String {
    let mut lines = vec![clean(&finding.title).into_owned()];
    if !finding.why.is_empty() {
        lines.push(clean(&finding.why).into_owned());
    }
    if !finding.help.is_empty() {
        lines.push(format!("help: {}", clean(&finding.help)));
    }
    if !finding.clusters.is_empty() {
        let names: Vec<&str> = finding.clusters.iter().map(|name| &**name).collect();
        let word = if names.len() == 1 { "cluster" } else { "clusters" };
        lines.push(format!("{word}: {}", clean(&names.join(", "))));
    }
    lines.join("\n")
}

/// The answer to a pull of one file.
pub(super) fn of_document(
    state: &ServerState<'_>,
    parameters: &DocumentDiagnosticParams,
) -> DocumentDiagnosticReportResult {
    let path = state.path(&parameters.text_document.uri);
    let items = path.and_then(|path| all(state).remove(&path)).unwrap_or_default();
    let id = identity(&items);
    let report = match parameters.previous_result_id.as_ref() == Some(&id) {
        true => DocumentDiagnosticReport::Unchanged(RelatedUnchangedDocumentDiagnosticReport {
            related_documents: None,
            unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport { result_id: id },
        }),
        false => DocumentDiagnosticReport::Full(RelatedFullDocumentDiagnosticReport {
            related_documents: None,
            full_document_diagnostic_report: FullDocumentDiagnosticReport { result_id: Some(id), items },
        }),
    };
    report.into()
}

/// The answer to a pull of the whole repository: what changed since the last one,
/// files that have nothing any more included.
pub(super) fn of_workspace(
    state: &ServerState<'_>,
    parameters: &WorkspaceDiagnosticParams,
) -> WorkspaceDiagnosticReportResult {
    let mut all = all(state);
    let mut before: BTreeMap<String, &str> = BTreeMap::new();
    for previous in &parameters.previous_result_ids {
        if let Some(path) = state.path(&previous.uri) {
            all.entry(path.clone()).or_default();
            before.insert(path, &previous.value);
        }
    }
    let items = all.into_iter().filter_map(|(path, items)| {
        let id = identity(&items);
        let uri = state.uri(&path)?;
        let version = state.document(&path).map(|document| i64::from(document.version));
        Some(match before.get(&path) == Some(&&*id) {
            true => {
                WorkspaceDocumentDiagnosticReport::Unchanged(WorkspaceUnchangedDocumentDiagnosticReport {
                    uri,
                    version,
                    unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport { result_id: id },
                })
            }
            false => WorkspaceDocumentDiagnosticReport::Full(WorkspaceFullDocumentDiagnosticReport {
                uri,
                version,
                full_document_diagnostic_report: FullDocumentDiagnosticReport { result_id: Some(id), items },
            }),
        })
    });
    WorkspaceDiagnosticReport { items: items.collect() }.into()
}

/// Equal for equal diagnostics.
fn identity(items: &[Diagnostic]) -> String {
    let text = serde_json::to_string(items).unwrap_or_default();
    Sha256::digest(text.as_bytes())[..12].iter().map(|byte| format!("{byte:02x}")).collect()
}
