//! `undecodable-file`: a manifest whose bytes are no text, or can't be read.
//! Source: go-yaml's reader (`readerc.go`) takes UTF-8, and UTF-16 with a byte
//! order mark; kustomize fails the whole build on anything else.

use crate::files::{Content, DOCUMENT_LIMIT, SIZE_LIMIT, Unreadable};
use crate::lang::text::counted;
use crate::lang::yaml::Location;
use crate::lint::{Check, DocumentView, FixAvailability, Group, Level, Reporter, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "undecodable-file",
    group: Group::Syntax,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a manifest whose bytes are no text, or can't be read",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/syntax/undecodable-file.md"),
    check: Check::Document(check),
};

fn check(view: &DocumentView<'_>, report: &mut Reporter<'_>) {
    let whole = Location { file: view.file.name(), start: 0, end: 0, via: Vec::new() };
    match view.blob().map(|blob| blob.content()) {
        Ok(Content::Undecodable(fault)) => {
            let start = fault.offset as u32;
            report
                .report(Location { start, end: start + 1, ..whole }, "the file is no UTF-8 text")
                .why(format!(
                    "{} (offset {}); a build that names the file fails as a whole",
                    fault.reason, fault.offset
                ))
                .help("save it as UTF-8, or rename it if it is no manifest");
        }
        Ok(Content::TooManyDocuments) => {
            report
                .report(whole, "the file has too many documents to be checked")
                .why(format!(
                    "it has more than {}; nothing of it is read",
                    counted(DOCUMENT_LIMIT, "document")
                ))
                .help("split it, or exclude it in .forebay.yaml");
        }
        Err(Unreadable::TooLarge(size)) => {
            report
                .report(whole, "the file is too large to be checked")
                .why(format!("it has {} MiB; files above {} MiB are not read", size >> 20, SIZE_LIMIT >> 20))
                .help("split it, or exclude it in .forebay.yaml");
        }
        Err(Unreadable::Io(error)) => {
            report
                .report(whole, "the file can't be read")
                .why(error.clone())
                .help("make it readable, or exclude it in .forebay.yaml");
        }
        _ => {}
    }
}
