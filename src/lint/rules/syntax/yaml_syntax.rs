//! `yaml-syntax`: a document that no YAML parser reads.
//! Source: kustomize `api/resource/factory.go` (MalformedYAMLError), which fails
//! the whole build of a directory.

use crate::lang::text::counted;
use crate::lang::yaml::{Location, Stream, SyntaxErrorKind};
use crate::lint::rules::build::held_back;
use crate::lint::rules::reference::listed;
use crate::lint::{Check, ClusterView, DocumentView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::kinds;
use crate::world::Applied;

pub(crate) static RULE: Rule = Rule {
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
    let Some(stream) = view.stream() else {
        return;
    };
    // JSON files that are no manifests (with comments, or of other tools) are
    // nobody's business here.
    if view.file.path.ends_with(".json") || stream.errors.is_empty() {
        return;
    }
    let broken = broken_builds(view);
    for error in &stream.errors {
        let is_object = broken.is_some() || looks_like_an_object(stream, error.document);
        let end = stream.text[error.offset as usize..].chars().next().map_or(0, char::len_utf8);
        let place = |start: u32, end: u32| Location { file: view.file.name(), start, end, via: Vec::new() };
        let refused = place(error.offset, error.offset + end as u32);
        let quote = error.quote.map(|quote| place(quote, quote + 1));
        let location = quote.clone().unwrap_or_else(|| refused.clone());
        // YAML that Go alone refuses is fine for other tools.
        if !is_object && error.kind != SyntaxErrorKind::Malformed {
            continue;
        }
        let (title, why, help) = words(error.kind, is_object, error.document + 1);
        let why = match &broken {
            Some(broken) if error.kind != SyntaxErrorKind::Unread => {
                format!("no controller can read it: {broken}")
            }
            _ => why.to_owned(),
        };
        // Whoever applies it by hand finds out; no cluster does.
        let is_loose = is_object && broken.is_none() && view.beyond().world.has_entry;
        let why = match is_loose && error.kind != SyntaxErrorKind::Unread {
            true => "no controller can read it; no build here takes it in".to_owned(),
            false => why,
        };
        let (title, help) = match &quote {
            Some(_) => {
                (format!("{title}: a quote isn't closed"), "close the quote; later documents were still read")
            }
            None => (title, help),
        };
        let finding = report.report(location, title);
        if quote.is_some() {
            finding.related(format!("read on to here: {}", error.message), refused);
        }
        finding
            .level(if is_object && !is_loose { Level::Error } else { Level::Warning })
            .why(why)
            .help(help)
            .label(if quote.is_some() { "it opens here".to_owned() } else { error.message.clone() })
            .field(format!("/{}", error.document), error.message.clone());
    }
}

/// Title, cause and help for the document of that number, counted from one.
fn words(kind: SyntaxErrorKind, is_object: bool, number: u32) -> (String, &'static str, &'static str) {
    match kind {
        SyntaxErrorKind::Malformed if !is_object => (
            format!("document {number} is not valid YAML"),
            "it is no manifest that a build here takes in; whatever reads it will refuse it",
            "correct the syntax, or exclude the file in .forebay.yaml",
        ),
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
    }
}

/// What fails in which builds because of the file, in words.
pub(super) fn broken_builds(view: &DocumentView<'_>) -> Option<String> {
    let context = view.beyond();
    let mut names: Vec<String> = Vec::new();
    let mut held = 0;
    for cluster in &context.world.clusters {
        let fails = |applied: &Applied| {
            applied.outcome.failures().iter().any(|failure| {
                failure.location.as_ref().is_some_and(|location| location.file == view.file.name())
            })
        };
        let failing = cluster.applied.iter().enumerate().filter(|(_, applied)| fails(applied));
        let indices: Vec<usize> = failing.map(|(index, _)| index).collect();
        for index in &indices {
            let applied = &cluster.applied[*index];
            let name = match (kinds::is_kustomization(&applied.id), &cluster.name) {
                (true, Some(_)) => applied.id.to_string(),
                _ if applied.path.is_empty() => "the root".to_owned(),
                _ => applied.path.clone(),
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        held += held_back(&ClusterView::new(context, cluster), &indices);
    }
    let more = names.len().saturating_sub(3);
    names.truncate(3);
    if more > 0 {
        names.push(counted(more, "other"));
    }
    let builds = match names.as_slice() {
        [] => return None,
        [one] => format!("the build of {one} fails"),
        several => format!("the builds of {} fail", listed(several)),
    };
    Some(match held {
        0 => builds,
        count => format!("{builds}, which holds back {}", counted(count, "object")),
    })
}

/// Whether the text of a document has the fields that each object begins with.
fn looks_like_an_object(stream: &Stream, document: u32) -> bool {
    let documents = &stream.documents;
    let start = documents.get(document as usize).map_or(0, |document| document.start) as usize;
    let end = documents.get(document as usize + 1).map_or(stream.text.len(), |next| next.start as usize);
    let text = stream.text.get(start..end.max(start)).unwrap_or(&stream.text);
    let has = |field: &str| text.lines().any(|line| line.trim_start_matches('\u{feff}').starts_with(field));
    has("apiVersion:") && has("kind:")
}
