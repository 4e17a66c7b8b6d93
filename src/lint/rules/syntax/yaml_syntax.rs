//! `yaml-syntax`: a document that no YAML parser reads.
//! Source: kustomize `api/resource/factory.go` (MalformedYAMLError), which fails
//! the whole build of a directory.

use crate::lint::{Check, DocumentView, FixAvailability, Group, Level, Reporter, Rule};
use crate::yaml::{Location, SyntaxErrorKind};

/// See the module.
pub static RULE: Rule = Rule {
    id: "yaml-syntax",
    group: Group::Syntax,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a document that is no YAML",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/syntax/yaml-syntax.md"),
    check: Check::Document(check),
};

fn check(view: &DocumentView<'_>, report: &mut Reporter<'_>) {
    let Some(stream) = view.context.snapshot.stream(view.file) else {
        return;
    };
    // JSON files that are no manifests (with comments, or of other tools) are
    // nobody's business here.
    if view.file.path.ends_with(".json") {
        return;
    }
    for error in &stream.errors {
        let end = stream.text[error.offset as usize..].chars().next().map_or(0, char::len_utf8);
        let location = Location {
            path: view.file.path.clone(),
            start: error.offset,
            end: error.offset + end as u32,
            via: Vec::new(),
        };
        let number = error.document + 1;
        let (title, why, help) = match error.kind {
            SyntaxErrorKind::Malformed => (
                format!("document {number} is not valid YAML"),
                "no controller can read it; the build of its directory fails as a whole",
                "correct the syntax; later documents of the file were still read",
            ),
            SyntaxErrorKind::RefusedByGo => (
                format!("document {number} is YAML that the controllers refuse"),
                "it is valid YAML 1.2, but kustomize and the API machinery read what go-yaml takes",
                "write it in the YAML that go-yaml reads; later documents were still read",
            ),
            SyntaxErrorKind::Unread => (
                format!("document {number} has no `---` line before it, so nothing reads it"),
                "kustomize and the API machinery read the document above and drop this silently",
                "put a `---` line before it",
            ),
        };
        report
            .report(location, title)
            .why(why)
            .help(help)
            .label(error.message.clone())
            .field(format!("/{}", error.document), error.message.clone());
    }
}
