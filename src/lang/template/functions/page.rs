//! The table of functions as a page of the documentation.

use super::TABLES;
use super::funcmap::{FuncMap, own};
use crate::lang::template::function::{Flow, Function, Library, Purity};
use std::fmt::Write as _;

/// All functions, each a line of a table in Markdown.
pub fn page() -> String {
    let mut lines: Vec<&Function> = TABLES.iter().flat_map(|table| table.iter()).chain(own()).collect();
    lines.sort_by_key(|line| line.name);
    let mut out = String::from(
        "| Function | From | Takes | Result | Origins | Templates of |\n|---|---|---|---|---|---|\n",
    );
    for line in lines {
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} | {} | {} |",
            line.name,
            match line.library {
                Library::Go => "Go",
                Library::Sprig => "Sprig",
                Library::Helm => "Helm",
                Library::Operator => "flux-operator",
            },
            takes(line),
            match line.purity {
                Purity::Pure => "known",
                Purity::Changes => "known; changes its first argument",
                Purity::Unknown => "unknown",
                Purity::Cluster => "unknown: the cluster's",
            },
            match line.flow {
                Flow::Keeps => "parts of the text go along",
                Flow::Picks => "those of what is chosen; the rest decided",
                Flow::Holds => "each element keeps its own",
                Flow::Unites => "all into all",
                Flow::Looks => "those of the arguments, not of what they hold",
                Flow::Nothing => "none",
            },
            of(line)
        );
    }
    out
}

/// Who has exactly this function.
fn of(line: &Function) -> String {
    let programs = [
        (FuncMap::Helm, "Helm"),
        (FuncMap::Hermetic, "Cluster API, image automation"),
        (FuncMap::ResourceSet, "ResourceSets"),
    ];
    let has = |map: FuncMap| map.finder()(line.name).is_some_and(|found| found.library == line.library);
    let names: Vec<&str> = programs.iter().filter(|(map, _)| has(*map)).map(|(_, name)| *name).collect();
    names.join(", ")
}

fn takes(line: &Function) -> String {
    let mut names: Vec<String> =
        line.params.iter().map(|ty| ty.name().replace("interface {}", "any")).collect();
    if let (true, Some(last)) = (line.is_variadic, names.last_mut()) {
        last.push('…');
    }
    if names.is_empty() { "-".to_owned() } else { names.join(", ") }
}
