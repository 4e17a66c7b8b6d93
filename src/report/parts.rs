//! Pieces that several reports share: the values of the JSON contracts, and
//! the shaping of text.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::Hash;

use serde_json::{Value, json};

use super::place;
use crate::files::Snapshot;
use crate::lang::text::{clean, wrap};
use crate::lang::yaml::{Location, NodeRef, Via, ViaKind};
use crate::model::ObjectId;

/// Columns of a drawing where nobody says how many there are.
const DRAWN: usize = 80;

thread_local! {
    /// Columns of what is being written; see [`in_columns`].
    static COLUMNS: Cell<usize> = const { Cell::new(DRAWN) };
}

/// Writes an answer for so many columns: words of prose wrap there, drawings and tables
/// fit into them.
pub(crate) fn in_columns<T>(columns: usize, write: impl FnOnce() -> T) -> T {
    let before = COLUMNS.replace(columns);
    let answer = write();
    COLUMNS.set(before);
    answer
}

/// The width of prose, paths excepted.
pub(crate) fn width() -> usize {
    COLUMNS.get()
}

/// The width of a drawing, which has an end in a pipe too.
pub(crate) fn drawn_width() -> usize {
    match width() {
        usize::MAX => DRAWN,
        columns => columns,
    }
}

/// An object of a contract.
pub(crate) fn object(id: &ObjectId) -> Value {
    let mut object = json!({"apiVersion": &*id.api_version, "kind": &*id.kind, "name": &*id.name});
    if let Some(namespace) = &id.namespace {
        object["namespace"] = json!(&**namespace);
    }
    object
}

/// Rows of cells, in columns as wide as their widest cell. The words of the last one go on
/// below themselves.
pub(crate) fn columns(rows: &[Vec<String>], out: &mut String) {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(widest).collect();
    for row in rows {
        let (last, before) = row.split_last().map_or(("", row.as_slice()), |(last, before)| (last, before));
        let mut line = String::from("  ");
        for (cell, width) in before.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        // The words of the last column go on below themselves; where there is no room
        // for that, below the row.
        const LEAST: usize = 16;
        let column = line.chars().count();
        let room = width().saturating_sub(column);
        let (gap, room) = match last.chars().count() {
            length if length <= room => (0, usize::MAX),
            // A path stays in its row.
            _ if !last.contains(' ') => (0, usize::MAX),
            _ if room >= LEAST => (column, room),
            _ => {
                out.push_str(line.trim_end());
                out.push('\n');
                line.clear();
                line.push_str("      ");
                (6, width() - 6)
            }
        };
        let parts = if last.trim().is_empty() { vec![String::new()] } else { wrap(last, room) };
        for (index, part) in parts.iter().enumerate() {
            let line = if index == 0 { format!("{line}{part}") } else { format!("{:gap$}{part}", "") };
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
}

/// A location of a contract; null for what no file states as text.
pub(crate) fn location(snapshot: &Snapshot, location: Option<&Location>) -> Value {
    let Some((found, place)) = location.and_then(|found| Some((found, place(snapshot, found)?))) else {
        return Value::Null;
    };
    let via = found.via.iter().map(
        |via| json!({"kind": via.kind.name(), "location": self::location(snapshot, Some(&via.location))}),
    );
    let (tree, path) = match found.file.in_chart() {
        Some((chart, path)) => (Some(format!("chart:{chart}")), path),
        None => (None, &**found.file.shown()),
    };
    let mut told = json!({
        "path": path,
        "line": place.from.0,
        "column": place.from.1,
        "endLine": place.to.0,
        "endColumn": place.to.1,
        "start": place.start,
        "end": place.end,
        "via": via.collect::<Vec<_>>(),
    });
    if let Some(tree) = tree {
        told["tree"] = json!(tree);
    }
    told
}

/// All places of a value that several have made, the strongest first; none where one
/// place is all.
pub(crate) fn origins(snapshot: &Snapshot, location: Option<&Location>) -> Option<Vec<Value>> {
    let place = location?;
    let flowed = |via: &&Via| matches!(via.kind, ViaKind::Template | ViaKind::Input);
    let others: Vec<&Location> = place.via.iter().filter(flowed).map(|via| &via.location).collect();
    let all = std::iter::once(place).chain(others.iter().copied());
    (!others.is_empty()).then(|| all.map(|place| self::location(snapshot, Some(place))).collect())
}

/// The same of a value that is at hand.
pub(crate) fn origins_of(
    snapshot: &Snapshot,
    value: NodeRef<'_>,
    location: Option<&Location>,
) -> Option<Vec<Value>> {
    match value.origins() {
        all if all.len() > 1 => Some(all.iter().map(|place| self::location(snapshot, Some(place))).collect()),
        _ => origins(snapshot, location),
    }
}

/// Writes words up to the width of text answers; further lines are indented.
pub(crate) fn paragraph(out: &mut String, text: &str, indent: &str) {
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width() {
            let _ = write!(out, "\n{indent}");
            column = indent.chars().count();
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
}

/// Clusters with their answers, those with the same one together, in the order of the
/// first of each. What has no name stands alone.
pub(crate) fn alike<A: PartialEq>(
    answers: impl IntoIterator<Item = (Option<String>, A)>,
) -> Vec<(Vec<String>, A)> {
    let mut found: Vec<(Vec<String>, A)> = Vec::new();
    for (name, answer) in answers {
        let same = found.iter_mut().find(|(names, known)| !names.is_empty() && *known == answer);
        match (name, same) {
            (Some(name), Some((names, _))) => names.push(name),
            (name, _) => found.push((name.into_iter().collect(), answer)),
        }
    }
    found
}

/// What clusters say, each thing once: the sets of clusters that say the same, in the order
/// of the first of each, with all that they have in common. What has no name stands alone.
pub(crate) fn shared<A: Clone + Eq + Hash>(
    clusters: impl IntoIterator<Item = (Option<String>, Vec<A>)>,
) -> Vec<(Vec<String>, Vec<A>)> {
    let mut alone: Vec<(Vec<String>, Vec<A>)> = Vec::new();
    let mut said: Vec<(A, Vec<String>)> = Vec::new();
    let mut known: HashMap<A, usize> = HashMap::new();
    for (name, things) in clusters {
        let Some(name) = name else {
            alone.push((Vec::new(), things));
            continue;
        };
        for thing in things {
            let at = *known.entry(thing.clone()).or_insert(said.len());
            match said.get_mut(at) {
                Some((_, names)) if names.last() == Some(&name) => {}
                Some((_, names)) => names.push(name.clone()),
                None => said.push((thing, vec![name.clone()])),
            }
        }
    }
    let mut sections: Vec<(Vec<String>, Vec<A>)> = Vec::new();
    let mut of: HashMap<Vec<String>, usize> = HashMap::new();
    for (thing, names) in said {
        let at = *of.entry(names.clone()).or_insert(sections.len());
        match sections.get_mut(at) {
            Some((_, things)) => things.push(thing),
            None => sections.push((names, vec![thing])),
        }
    }
    alone.extend(sections);
    alone
}

/// `cluster a`, or `3 clusters: a, b, c`; `none` where there is no name.
pub(crate) fn of_clusters(names: &[String], none: &str) -> String {
    match names {
        [] => none.to_owned(),
        [name] => format!("cluster {}", clean(name)),
        _ => format!("{} clusters: {}", names.len(), clean(&names.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_answer_is_given_once() {
        let named = |name: &str| Some(name.to_owned());
        let found = alike([(named("a"), 1), (named("b"), 2), (None, 1), (named("c"), 1), (None, 1)]);
        let heads: Vec<String> = found.iter().map(|(names, _)| of_clusters(names, "all")).collect();
        assert_eq!(heads, ["2 clusters: a, c", "cluster b", "all", "all"]);
    }

    #[test]
    fn what_clusters_share_is_said_once() {
        let named = |name: &str, things: &[u8]| (Some(name.to_owned()), things.to_vec());
        let found = shared([
            named("a", &[1, 2]),
            named("b", &[2, 3, 3]),
            (None, vec![2]),
            named("c", &[1, 2, 4]),
            named("d", &[]),
        ]);
        let sections: Vec<(String, Vec<u8>)> =
            found.into_iter().map(|(names, things)| (names.join(" "), things)).collect();
        let expected = [("", vec![2]), ("a c", vec![1]), ("a b c", vec![2]), ("b", vec![3]), ("c", vec![4])];
        assert_eq!(sections, expected.map(|(names, things)| (names.to_owned(), things)));
    }

    #[test]
    fn paragraphs_keep_the_width() {
        for columns in [60, 80, 200] {
            let mut out = String::new();
            in_columns(columns, || paragraph(&mut out, &"seven77 ".repeat(80), "  "));
            assert!(out.lines().all(|line| line.chars().count() <= columns), "{out}");
            assert!(out.lines().skip(1).all(|line| line.starts_with("  s")), "{out}");
        }
        let mut out = String::new();
        in_columns(usize::MAX, || paragraph(&mut out, &"seven77 ".repeat(80), "  "));
        assert_eq!(out.lines().count(), 1, "{out}");
    }
}
