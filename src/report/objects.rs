//! Effective objects as text: YAML documents as kustomize prints them, JSON,
//! and where their values come from. Values of Secrets are masked.

use super::json::inert;
use super::lines::{Shape, is_complete_command, line_of};
pub(crate) use super::mask::Masks;
use super::parts;
use super::secrets::SecretValues;
use crate::files::{Snapshot, secrets};
use crate::lang::text::{clean, is_hostile};
use crate::lang::yaml::emit::{self, EmitError};
use crate::lang::yaml::{Holes, Location, Node, NodeRef, ViaKind, pointer_join};
use crate::model::text::Text;
use std::borrow::Cow;
use std::fmt::Write as _;

/// The object with stars for hidden values: by where they come from, and by their text.
pub(crate) fn masked(object: NodeRef<'_>, snapshot: &Snapshot, masks: &mut Masks) -> Node {
    let mut node = secrets::masked(object, snapshot);
    let values = masks.values(snapshot).clone();
    let mut found = false;
    leaves(node.get_ref(), "", 0, &mut |_, leaf| {
        found = found || leaf.text().is_some_and(|text| !values.find(&text).is_empty());
    });
    if found {
        mask_texts(&mut node, 0, &values);
    }
    node
}

fn mask_texts(node: &mut Node, depth: usize, values: &SecretValues) {
    if depth > emit::DEPTH_LIMIT {
        return;
    }
    let view = node.get_ref();
    if view.is_map() {
        for entry in node.make_map().into_iter().flatten() {
            mask_texts(&mut entry.value, depth + 1, values);
        }
    } else if view.is_seq() {
        for item in node.make_seq().into_iter().flatten() {
            mask_texts(item, depth + 1, values);
        }
    } else if let Some(text) = view.text()
        && let Cow::Owned(masked) = values.mask(&text)
    {
        let location = view.location();
        *node = Node::string(&masked, location);
    }
}

/// Objects as YAML documents, separated as kustomize does; what is not known stands
/// there as it is written. With `origins`, comments say where an object and its
/// values come from.
///
/// # Errors
/// A value that JSON cannot hold.
pub fn yaml(objects: &[NodeRef<'_>], snapshot: &Snapshot, origins: bool) -> Result<String, EmitError> {
    let mut out = String::new();
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            out.push_str("---\n");
        }
        if origins {
            let mut comments = String::new();
            comment_origins(*object, snapshot, &mut comments);
            comments.split_inclusive('\n').for_each(|line| out.push_str(&line_of(line, Shape::Text, None)));
        }
        let text = emit::to_yaml_with(*object, &mut |node| as_written(node, snapshot))?;
        let hostile = |c: char| !c.is_ascii() && is_hostile(c);
        if text.lines().any(is_complete_command) || text.contains(hostile) {
            // A line that the runner of a workflow would obey, or what nobody sees: the same
            // object as JSON, which is YAML as well, has no such line.
            let text = emit::to_json(*object)?;
            out.push_str(&inert(text.trim_end(), &[]));
            out.push('\n');
        } else {
            out.push_str(&text);
        }
    }
    Ok(out)
}

/// What is not known of an object: the JSON Pointer of each such value, and what
/// is missing.
pub fn unresolved(object: NodeRef<'_>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    leaves(object, "", 0, &mut |pointer, node| {
        if let Some(holes) = node.holes() {
            let why = holes.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            found.push((pointer.to_owned(), format!("parts of it are not known{why}")));
        } else if node.is_unknown() {
            let why = match Text::of(node) {
                Text::Unknown(why) => why.to_string(),
                _ => "it is not known".to_owned(),
            };
            found.push((pointer.to_owned(), why));
        }
    });
    found
}

/// What stands for a part that is not known.
const HOLE: &str = "${…}";

/// The text of a value as its file has it, before anything is substituted.
fn written(node: NodeRef<'_>, snapshot: &Snapshot) -> Option<String> {
    let location = node.location()?;
    let file = snapshot.find(&location.file)?;
    let is_it =
        |token: &&crate::lang::yaml::tape::Token| token.start == location.start && token.end == location.end;
    snapshot.sources(file).iter().find_map(|source| {
        let tokens = &source.document().tokens;
        let at = tokens.iter().rposition(|token| is_it(&token))?;
        NodeRef::Source(source, u32::try_from(at).ok()?).text().map(|text| text.into_owned())
    })
}

/// What a file has in the place of each part of a value that is not known, in order.
pub(super) fn hole_words(node: NodeRef<'_>, snapshot: &Snapshot) -> Vec<String> {
    let Some(holes) = node.holes() else { return Vec::new() };
    let text = written(node, snapshot);
    text.as_deref().and_then(|text| expressions_of(text, holes)).unwrap_or_default()
}

/// What its file has in the place of a value of which nothing is known. What a template makes
/// may be more than the value that flowed into it.
fn stands_for(node: NodeRef<'_>, snapshot: &Snapshot) -> Option<String> {
    let is_made = node.location()?.via.iter().any(|via| via.kind == ViaKind::Template);
    if is_made { None } else { written(node, snapshot) }
}

/// A value that is not known, as its file has it: known parts as they are, the
/// others as the expressions that stand for them.
fn as_written(node: NodeRef<'_>, snapshot: &Snapshot) -> String {
    let Some(holes) = node.holes() else {
        return stands_for(node, snapshot).unwrap_or_else(|| HOLE.to_owned());
    };
    let mut expressions = hole_words(node, snapshot).into_iter();
    let part = |part: &Option<std::sync::Arc<str>>| match part {
        Some(known) => known.to_string(),
        None => expressions.next().unwrap_or_else(|| HOLE.to_owned()),
    };
    holes.parts.iter().map(part).collect()
}

/// Which `${…}` of a text stand for the holes of what became of it; `None` where
/// the two cannot be told to belong together.
fn expressions_of(text: &str, holes: &Holes) -> Option<Vec<String>> {
    /// Longer texts are not compared.
    const LIMIT: usize = 64;
    let mut pieces: Vec<(bool, &str)> = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let end = start + rest[start..].find('}')? + 1;
        pieces.extend([(false, &rest[..start]), (true, &rest[start..end])]);
        rest = &rest[end..];
    }
    pieces.push((false, rest));
    pieces.retain(|(is_expression, text)| *is_expression || !text.is_empty());
    let target: Vec<Option<char>> = holes
        .parts
        .iter()
        .flat_map(|part| match part {
            Some(known) => known.chars().map(Some).collect(),
            None => vec![None],
        })
        .collect();
    if pieces.len() > LIMIT {
        return None;
    }
    let mut found = Vec::new();
    assign(&pieces, &target, &mut found, &mut 10_000).then_some(found)
}

/// Lays literal pieces over the known characters; an expression is a hole, or the
/// known characters that a variable had.
fn assign(
    pieces: &[(bool, &str)],
    target: &[Option<char>],
    found: &mut Vec<String>,
    steps: &mut u32,
) -> bool {
    *steps = steps.saturating_sub(1);
    if *steps == 0 {
        return false;
    }
    let Some(((is_expression, text), rest)) = pieces.split_first() else { return target.is_empty() };
    if !is_expression {
        let length = text.chars().count();
        return target.len() >= length
            && text.chars().zip(target).all(|(c, at)| *at == Some(c))
            && assign(rest, &target[length..], found, steps);
    }
    if target.first() == Some(&None) {
        found.push((*text).to_owned());
        if assign(rest, &target[1..], found, steps) {
            return true;
        }
        found.pop();
    }
    let known = target.iter().take_while(|at| at.is_some()).count();
    (0..=known).any(|length| assign(rest, &target[length..], found, steps))
}

/// An object as a JSON value.
///
/// # Errors
/// A value that JSON cannot hold.
pub fn json(object: NodeRef<'_>) -> Result<serde_json::Value, EmitError> {
    let text = emit::to_json(object)?;
    Ok(serde_json::from_str(&text).unwrap_or(serde_json::Value::Null))
}

/// The places of an object's values, by JSON Pointer, as the contract has them.
pub fn origins(object: NodeRef<'_>, snapshot: &Snapshot) -> serde_json::Value {
    let mut map = serde_json::Map::new();
    leaves(object, "", 0, &mut |pointer, node| {
        map.insert(pointer.to_owned(), parts::location(snapshot, node.location().as_ref()));
    });
    serde_json::Value::Object(map)
}

/// `path:line:column` of a location and, in brackets, what it went through.
pub(crate) fn place(snapshot: &Snapshot, location: &Location) -> String {
    let at = |location: &Location| {
        let ((line, column), _) = snapshot.positions(location);
        match location.file.in_chart().and_then(|(chart, path)| Some((chart.rsplit_once('@')?, path))) {
            Some(((name, version), path)) => {
                format!("chart {} {}: {}:{line}:{column}", clean(name), clean(version), clean(path))
            }
            None => format!("{}:{line}:{column}", clean(location.file.shown())),
        }
    };
    let mut text = at(location);
    for (index, via) in location.via.iter().enumerate() {
        let separator = if index == 0 { " (via" } else { "," };
        let _ = write!(text, "{separator} {} {}", via.kind.name(), at(&via.location));
    }
    if !location.via.is_empty() {
        text.push(')');
    }
    text
}

/// Calls `found` for every scalar and empty collection.
pub(super) fn leaves<'a>(
    node: NodeRef<'a>,
    pointer: &str,
    depth: usize,
    found: &mut dyn FnMut(&str, NodeRef<'a>),
) {
    if depth > emit::DEPTH_LIMIT {
        return;
    }
    let mut empty = true;
    if node.is_map() {
        for entry in node.entries() {
            empty = false;
            leaves(entry.value, &pointer_join(pointer, &entry.key), depth + 1, found);
        }
    } else if node.is_seq() {
        for (index, item) in node.items().enumerate() {
            empty = false;
            leaves(item, &pointer_join(pointer, &index.to_string()), depth + 1, found);
        }
    }
    if empty {
        found(pointer, node);
    }
}

/// The object's own file, then the values that come from elsewhere.
fn comment_origins(object: NodeRef<'_>, snapshot: &Snapshot, out: &mut String) {
    let own = object.location();
    if let Some(own) = &own {
        let _ = writeln!(out, "# {}", place(snapshot, own));
    }
    leaves(object, "", 0, &mut |pointer, node| {
        let Some(location) = node.location() else { return };
        let elsewhere = own.as_ref().is_none_or(|own| own.file != location.file);
        if elsewhere || !location.via.is_empty() {
            let _ = writeln!(out, "# {}: {}", clean(pointer), place(snapshot, &location));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Store;
    use std::sync::Arc;

    #[test]
    fn expressions_are_told_by_what_became_of_the_rest() {
        let known = |text: &str| Some(std::sync::Arc::from(text));
        for (text, parts, expected) in [
            ("a-${X}-b", vec![known("a-"), None, known("-b")], Some(vec!["${X}"])),
            ("${A}-${X}", vec![known("1-"), None], Some(vec!["${X}"])),
            ("${A}${X:=d}", vec![None, known("2")], Some(vec!["${A}"])),
            ("plain", vec![None], None),
        ] {
            let found = expressions_of(text, &Holes::from(parts));
            assert_eq!(found, expected.map(|all| all.into_iter().map(str::to_owned).collect()), "{text}");
        }
    }

    #[test]
    fn secrets_are_masked_and_places_named() {
        let text =
            "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: eHl6}\nstringData:\n  t: xyz\n";
        let snapshot = Snapshot::memory([("a.yaml", text.as_bytes().to_vec())], Arc::new(Store::default()));
        let object = &snapshot.objects()[0];
        let node = masked(object.node.get_ref(), &snapshot, &mut Masks::default());
        let printed = yaml(&[node.get_ref(), node.get_ref()], &snapshot, true).expect("YAML");
        let one = "# a.yaml:1:1\napiVersion: v1\ndata:\n  k: Kioq\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  t: '***'\n";
        assert_eq!(printed, format!("{one}---\n{one}"));
        let places = origins(node.get_ref(), &snapshot);
        assert_eq!(places["/stringData/t"]["line"], 6);
    }
}
