//! `empty-resource`: a file that a kustomization lists and that holds nothing.
//! Source: kustomize `api/internal/accumulator`: a file without a document gives no
//! resource, and no error.

use crate::build::kustomize::FILE_NAMES;
use crate::files::join;
use crate::lang::yaml::Source;
use crate::lint::{Check, DocumentView, FixAvailability, Group, Level, Reporter, Rule};
use std::sync::Arc;

pub(crate) static RULE: Rule = Rule {
    id: "empty-resource",
    group: Group::Build,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "a listed file that holds nothing",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/empty-resource.md"),
    check: Check::Document(check),
};

fn check(view: &DocumentView<'_>, report: &mut Reporter<'_>) {
    let Some(path) = view.file.name().of_root().cloned() else { return };
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", &path));
    if !FILE_NAMES.contains(&name) {
        return;
    }
    let context = view.beyond();
    let Some(source) = view.sources.first().filter(|source| !source.document().tokens.is_empty()) else {
        return;
    };
    let node = source.root();
    for entry in node.get_ref().items_at("/resources") {
        let Some(written) = entry.as_str() else { continue };
        // `flux bootstrap` fills them.
        if written.ends_with("gotk-components.yaml") || written.ends_with("gotk-sync.yaml") {
            continue;
        }
        let Some(file) = join(directory, &written).and_then(|path| context.snapshot.file(&path)) else {
            continue;
        };
        let Some(stream) = context.snapshot.stream(file) else { continue };
        let is_null =
            |source: &Arc<Source>| source.document().tokens.is_empty() || source.root().get_ref().is_null();
        if !stream.errors.is_empty() || !context.snapshot.sources(file).iter().all(is_null) {
            continue;
        }
        let Some(place) = entry.location() else { continue };
        // What is commented out was meant to be.
        let is_blank = stream.text.lines().all(|line| matches!(line.trim(), "" | "---" | "..."));
        report
            .report(place, format!("{written} holds no object"))
            .level(if is_blank { Level::Warning } else { Level::Info })
            .why(match is_blank {
                true => "the file is empty: the build works without it, and nothing of it is applied",
                false => "all of it is commented out: the build works without it",
            })
            .help("write the object that belongs there, or remove the entry and the file")
            .field("", &*written);
    }
}
