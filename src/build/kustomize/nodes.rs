//! kyaml's view of nodes: what counts as null, as empty, as text; which scalar
//! results when one is written over another.
//!
//! Mirrors `kyaml/yaml/rnode.go` and `kyaml/yaml/fns.go` (`FieldSetter`).

use crate::lang::yaml::tape::{Token, TokenKind};
use crate::lang::yaml::{Built, Origin, Style};
use crate::lang::yaml::{Dialect, Location, Node, NodeRef, Scalar, ScalarStyle, Value, emit, resolve};
use std::borrow::Cow;
use std::sync::Arc;

/// The kind of a node as kyaml tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Scalar,
    Seq,
    Map,
}

/// The kind of a node; an absent one is null.
pub(super) fn kind(node: Option<NodeRef<'_>>) -> Kind {
    match node {
        None => Kind::Null,
        Some(node) if node.is_map() => Kind::Map,
        Some(node) if node.is_seq() => Kind::Seq,
        Some(node) if is_null(node) => Kind::Null,
        Some(_) => Kind::Scalar,
    }
}

/// Tagged null: a null of a text or of JSON. A plain `null` that a transformer
/// wrote is untagged and is none, though it ends as null.
pub(super) fn is_null(node: NodeRef<'_>) -> bool {
    match node {
        NodeRef::Built(built) => matches!(built.value, Value::Null),
        NodeRef::Source(..) => node.is_null(),
    }
}

/// Absent, null, an empty map or an empty list.
pub(super) fn is_empty(node: Option<NodeRef<'_>>) -> bool {
    match node {
        None => true,
        Some(node) if node.is_map() => node.entries().next().is_none(),
        Some(node) if node.is_seq() => node.items().next().is_none(),
        Some(node) => is_null(node),
    }
}

/// The value text of a node; empty for collections.
pub(super) fn text(node: NodeRef<'_>) -> Cow<'_, str> {
    node.text().unwrap_or_default()
}

/// The text of a field, empty where it is absent or null.
pub(super) fn field_text<'a>(node: NodeRef<'a>, key: &str) -> Cow<'a, str> {
    match node.get(key) {
        Some(value) if !is_null(value) => text(value),
        _ => Cow::Borrowed(""),
    }
}

/// Whether a scalar has the string tag.
pub(super) fn is_string(node: NodeRef<'_>) -> bool {
    match node {
        NodeRef::Built(built) => match &built.value {
            Value::Str(_) => true,
            Value::Plain(_) => false,
            _ => false,
        },
        NodeRef::Source(..) => node.as_str().is_some(),
    }
}

/// The type of a scalar that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Str,
    /// None: plain text decides, unless the scalar that it replaces is quoted.
    Untagged,
}

/// The value of `text` written over `old`. kyaml keeps the style of what it
/// overwrites, and a quoted scalar is a string whatever is written into it.
pub(super) fn overwrite(old: Option<NodeRef<'_>>, new_text: &str, tag: Tag) -> Value {
    if tag == Tag::Str || old.is_some_and(is_quoted) {
        Value::Str(new_text.into())
    } else {
        Value::Plain(new_text.into())
    }
}

/// Whether a scalar is written in quotes or as a block.
pub(super) fn is_quoted(node: NodeRef<'_>) -> bool {
    matches!(style(node), Style::Quoted | Style::Folded)
}

/// How a node is written. A copied collection keeps the style of its source, and
/// built strings are quoted where plain text would read as something else.
pub(super) fn style(node: NodeRef<'_>) -> Style {
    let of_collection = |token: &Token| if token.flow { Style::Flow } else { Style::Block };
    match node {
        NodeRef::Source(source, at) => {
            let token = &source.document().tokens[at as usize];
            match token.kind {
                TokenKind::Scalar(ScalarStyle::Folded) => Style::Folded,
                TokenKind::Scalar(ScalarStyle::Plain) | TokenKind::Alias => Style::Plain,
                TokenKind::Scalar(_) => Style::Quoted,
                TokenKind::Mapping | TokenKind::Sequence => of_collection(token),
            }
        }
        NodeRef::Built(built) => match (&built.origin, &built.value) {
            (Some(Origin::Styled(_, style)), _) => *style,
            (Some(Origin::Token(source, at)), Value::Map(_) | Value::Seq(_)) => {
                of_collection(&source.document().tokens[*at as usize])
            }
            (_, Value::Map(_) | Value::Seq(_)) => Style::Block,
            (_, Value::Str(text)) if reads_otherwise(text) || text.contains('\n') => Style::Quoted,
            _ => Style::Plain,
        },
    }
}

/// A built node of this style.
pub(super) fn styled(value: Value, location: Option<Location>, style: Style) -> Node {
    let origin = location.map(|location| Origin::Styled(Arc::new(location), style));
    Node::Built(Arc::new(Built { value, origin }))
}

/// A list in the place and the style of another one.
pub(super) fn list_like(items: Vec<Node>, place: NodeRef<'_>) -> Node {
    styled(Value::Seq(items), place.location(), style(place))
}

/// Whether plain text would not be read as a string by YAML 1.1 or 1.2.
pub(super) fn reads_otherwise(text: &str) -> bool {
    [Dialect::GoYamlV2, Dialect::GoYamlV3]
        .into_iter()
        .any(|dialect| !matches!(resolve::resolve_plain(Cow::Borrowed(text), dialect), Scalar::Str(_)))
}

/// A text that a transformer writes over a scalar without a tag.
pub(super) fn untagged(old: Option<NodeRef<'_>>, text: &str, location: Option<Location>) -> Node {
    let value = overwrite(old, text, Tag::Untagged);
    if matches!(value, Value::Plain(_)) && reads_otherwise(text) {
        styled(value, location, Style::Plain)
    } else {
        Node::scalar(value, location)
    }
}

/// What a merge patch makes of a scalar that it leaves alone: a text that a
/// transformer wrote without quotes gets them where it would be no string.
pub(super) fn quoted_in_merge(node: NodeRef<'_>) -> Option<Node> {
    let NodeRef::Built(built) = node else { return None };
    let plain = matches!(built.origin, Some(Origin::Styled(_, Style::Plain)));
    let text = text(node);
    (plain && reads_otherwise(&text))
        .then(|| styled(Value::Str(text.as_ref().into()), node.location(), Style::Quoted))
}

/// What ends up in a field that held `old` when the node `new` is set there. An
/// empty collection has no style to keep.
pub(super) fn settled(old: NodeRef<'_>, new: Node) -> Node {
    let same_kind = kind(Some(old)) == kind(Some(new.get_ref()));
    if same_kind && !is_empty(Some(old)) { restyled(new, style(old)) } else { new }
}

/// A node in another style of its kind.
pub(super) fn restyled(mut new: Node, kept: Style) -> Node {
    let reference = new.get_ref();
    if kept == style(reference) {
        return new;
    }
    let location = reference.location();
    match kind(Some(reference)) {
        Kind::Null => new,
        Kind::Map | Kind::Seq => {
            new.make_built().origin = location.map(|location| Origin::Styled(Arc::new(location), kept));
            new
        }
        Kind::Scalar if is_string(reference) || kept != Style::Plain => {
            styled(Value::Str(text(reference).as_ref().into()), location, kept)
        }
        // Quoted and no string: only by a tag, which stays.
        Kind::Scalar => new,
    }
}

/// A scalar at a shared place.
pub(super) fn scalar_at(value: Value, origin: Option<&Arc<Location>>) -> Node {
    Node::Built(Arc::new(Built { value, origin: origin.map(|location| Origin::Text(location.clone())) }))
}

/// A key that a transformer writes: untagged, so `true` is a boolean.
pub(super) fn untagged_key(key: &str, origin: Option<&Arc<Location>>) -> Node {
    scalar_at(Value::Plain(key.into()), origin)
}

/// Set a key of a map, keeping an existing key's node.
pub(super) fn set_entry(node: &mut Node, key: &str, value: Node, key_origin: Option<&Arc<Location>>) {
    if let Some(entries) = node.make_map() {
        entries.set(key, value, || untagged_key(key, key_origin));
    }
}

/// Turn a node into an empty map or list.
pub(super) fn become_empty(node: &mut Node, value: Value) {
    let origin = node.get_ref().location();
    *node = Node::scalar(value, origin);
}

/// Whether an untagged key of this text is no string.
pub(super) fn reads_as_other_key(key: &str) -> bool {
    !matches!(resolve::resolve_plain(Cow::Borrowed(key), Dialect::GoYamlV3), Scalar::Str(_))
}

/// What a scalar is after kustomize has written and read it on its way to JSON
/// and out of it; `None` where it stays what it is.
///
/// Mirrors `RNode.MarshalJSON` and `JSONToYAML` of sigs.k8s.io/yaml.
pub(super) fn passed(node: NodeRef<'_>, in_flow: bool) -> Option<Value> {
    if in_flow && is_quoted_in_flow(node) {
        return Some(Value::Str(text(node).as_ref().into()));
    }
    if !in_flow && let Some(text) = refolded(node) {
        return Some(Value::Str(text.into()));
    }
    let text = node.text().filter(|text| memchr::memchr(0xc2, text.as_bytes()).is_some())?;
    text.contains(NEXT_LINE).then(|| Value::Str(fold_next_lines(&text).into()))
}

/// A line break for YAML 1.1 that JSON doesn't escape.
pub(super) const NEXT_LINE: char = '\u{85}';

/// Whether a scalar changes on its way out at some place or other.
pub(super) fn may_change(node: NodeRef<'_>) -> bool {
    style(node) == Style::Folded || is_quoted_in_flow(node) || passed(node, false).is_some()
}

/// Whether go-yaml quotes a plain scalar between brackets or braces, which makes
/// a string of it: nothing at all, and a time of day for its colon.
fn is_quoted_in_flow(node: NodeRef<'_>) -> bool {
    let NodeRef::Source(source, at) = node else { return false };
    let token = &source.document().tokens[at as usize];
    let begins_with_digit = || source.stream.text.as_bytes()[token.start as usize].is_ascii_digit();
    let is_time = || matches!(node.scalar(Dialect::GoYamlV3), Scalar::Timestamp(text) if text.contains(':'));
    source.document().tag(at).is_none() && (token.empty || begins_with_digit() && is_time())
}

/// A text with next-line characters between double quotes: one becomes a blank,
/// of more the first is dropped, and blanks beside them too.
fn fold_next_lines(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(NEXT_LINE) {
        folded.push_str(rest[..at].trim_end_matches(' '));
        let behind = rest[at..].trim_start_matches([NEXT_LINE, ' ']);
        let breaks = rest[at..rest.len() - behind.len()].matches(NEXT_LINE).count();
        folded.push_str(&if breaks == 1 { " ".to_owned() } else { "\n".repeat(breaks - 1) });
        rest = behind;
    }
    folded.push_str(rest);
    folded
}

/// The text of a folded scalar after go-yaml has written and read it again, as
/// kustomize does on its way to JSON; `None` where it stays. go-yaml doubles
/// every break behind a line that isn't indented further, whatever comes next;
/// it never does where the text begins with a blank.
///
/// Mirrors `emitterc.go` (`yaml_emitter_write_folded_scalar`) and `scannerc.go`
/// (`yaml_parser_scan_block_scalar`) of go-yaml v3.
pub(super) fn refolded(node: NodeRef<'_>) -> Option<String> {
    if style(node) != Style::Folded {
        return None;
    }
    let text = node.text()?;
    let in_quotes = text.ends_with(' ')
        || text.contains(" \n")
        || text.chars().any(|c| c != '\t' && !emit::is_printable(c));
    if in_quotes || !text.contains('\n') {
        return None;
    }
    let is_blank = |line: &str| line.starts_with([' ', '\t']);
    let first = text.trim_start_matches('\n');
    let doubles = !first.is_empty() && !is_blank(first);
    let mut written = Vec::new();
    let mut behind_text = false;
    for line in text.split('\n') {
        written.push(line);
        if !line.is_empty() {
            behind_text = !is_blank(line);
            if doubles && behind_text {
                written.push("");
            }
        }
    }
    // What `split` and the loop put behind the last break is no line.
    let ends = text.ends_with('\n');
    if ends || doubles && behind_text {
        written.pop();
    }
    let mut read = String::with_capacity(text.len() + 8);
    let (mut breaks, mut above) = (0, None);
    for line in written {
        if line.is_empty() {
            breaks += 1;
            continue;
        }
        match above {
            Some(false) if !is_blank(line) && breaks == 0 => read.push(' '),
            Some(false) if !is_blank(line) => {}
            Some(_) => read.push('\n'),
            None => {}
        }
        read.extend(std::iter::repeat_n('\n', breaks));
        read.push_str(line);
        (breaks, above) = (0, Some(is_blank(line)));
    }
    if ends && above.is_some() {
        read.push('\n');
    }
    if text.ends_with("\n\n") || text == "\n" {
        read.extend(std::iter::repeat_n('\n', breaks));
    }
    (read != *text).then_some(read)
}

/// Replace scalars; parts without a change keep their nodes. `change` is told
/// whether a scalar is between brackets or braces.
pub(super) fn rewrite(node: &mut Node, change: &mut dyn FnMut(NodeRef<'_>, bool) -> Option<Value>) {
    rewrite_where(node, &|_| true, change);
}

/// As [`rewrite`], of the parts that `changes` does not rule out.
pub(super) fn rewrite_where(
    node: &mut Node,
    changes: &dyn Fn(NodeRef<'_>) -> bool,
    change: &mut dyn FnMut(NodeRef<'_>, bool) -> Option<Value>,
) {
    if let Some(changed) = rewritten(node.get_ref(), false, changes, change) {
        *node = changed;
    }
}

/// A node with its scalars replaced; `None` where none is.
fn rewritten(
    node: NodeRef<'_>,
    in_flow: bool,
    changes: &dyn Fn(NodeRef<'_>) -> bool,
    change: &mut dyn FnMut(NodeRef<'_>, bool) -> Option<Value>,
) -> Option<Node> {
    // What is not known has no type that could change.
    if node.is_unknown() || !changes(node) {
        return None;
    }
    let inside = in_flow || style(node) == Style::Flow;
    if node.is_map() {
        let values = node.entries().map(|entry| entry.value).enumerate();
        let changed: Vec<(usize, Node)> =
            values.filter_map(|(at, value)| Some((at, rewritten(value, inside, changes, change)?))).collect();
        if changed.is_empty() {
            return None;
        }
        let mut copy = node.to_node();
        let entries = copy.make_map()?;
        for (at, value) in changed {
            entries[at].value = value;
        }
        Some(copy)
    } else if node.is_seq() {
        let items = node.items().enumerate();
        let changed: Vec<(usize, Node)> =
            items.filter_map(|(at, item)| Some((at, rewritten(item, inside, changes, change)?))).collect();
        if changed.is_empty() {
            return None;
        }
        let mut copy = node.to_node();
        let items = copy.make_seq()?;
        for (at, value) in changed {
            items[at] = value;
        }
        Some(copy)
    } else {
        change(node, in_flow).map(|value| Node::scalar(value, node.location()))
    }
}

/// What decoding a node does to it and writing what Go holds then, which is how
/// kustomize takes items out of lists.
///
/// Mirrors `api/resource/factory.go` (`convertObjectSliceToNodeSlice`).
pub(super) fn decode(object: &mut Node) {
    rewrite(object, &mut |scalar, _| {
        let value = match scalar.scalar(Dialect::GoYamlV3) {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::Str(text) => Value::Str(text.as_ref().into()),
            Scalar::Timestamp(text) => Value::Str(resolve::timestamp_rfc3339(&text)?.into()),
            Scalar::Int(value) => Value::Plain(value.to_string().into()),
            Scalar::Uint(value) => Value::Plain(value.to_string().into()),
            Scalar::Float(value) => Value::Plain(resolve::format_float(value).into()),
        };
        let changes = differs(scalar, &value) || may_change(scalar);
        changes.then_some(value)
    });
}

/// Whether a scalar has another type or text than the value it is to have.
pub(super) fn differs(node: NodeRef<'_>, value: &Value) -> bool {
    let text = text(node);
    match value {
        Value::Str(new) => {
            // A string read from quotes stays what it is; one by its tag gets quotes.
            !matches!(node.scalar(Dialect::GoYamlV3), Scalar::Str(old) if *old == **new)
                || reads_otherwise(new) && !is_quoted(node)
        }
        Value::Plain(new) => text != **new || is_quoted(node),
        Value::Null => text != "null" || !is_null(node),
        Value::Bool(new) => text != if *new { "true" } else { "false" } || is_quoted(node),
        _ => false,
    }
}

/// A text in the type of the scalar that it replaces; an error where it isn't
/// of that type.
pub(super) fn written(old: NodeRef<'_>, new_text: &str) -> std::result::Result<Value, String> {
    if is_string(old) || is_quoted(old) {
        return Ok(Value::Str(new_text.into()));
    }
    if let NodeRef::Built(built) = old
        && matches!(built.value, Value::Plain(_))
    {
        return Ok(Value::Plain(new_text.into()));
    }
    let new = resolve::resolve_plain(new_text.into(), Dialect::GoYamlV3);
    let fits = match old.scalar(Dialect::GoYamlV3) {
        Scalar::Null => matches!(new, Scalar::Null),
        Scalar::Bool(_) => matches!(new, Scalar::Bool(_)),
        Scalar::Int(_) | Scalar::Uint(_) => matches!(new, Scalar::Int(_) | Scalar::Uint(_)),
        Scalar::Float(_) => matches!(new, Scalar::Float(_) | Scalar::Int(_) | Scalar::Uint(_)),
        Scalar::Timestamp(_) => matches!(new, Scalar::Timestamp(_)),
        Scalar::Str(_) => true,
    };
    if fits {
        Ok(Value::Plain(new_text.into()))
    } else {
        Err("a text can't take the place of a value that is no string".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::yaml::parse_nodes;

    #[test]
    fn folded_text_gains_breaks_as_in_go_yaml() {
        let table = [
            ("a: >-\n  x -\n    y\n  z\n", Some("x -\n\n  y\nz")),
            ("a: >-\n  p\n    q\n\n  r\n", Some("p\n\n  q\n\nr")),
            ("a: >-\n  p\n\n  r\n", None),
            ("a: >+\n  p\n\n", Some("p\n\n\n")),
            ("a: >2-\n   p\n  q\n\n  r\n", Some(" p\nq r")),
            // Quoted on its way.
            ("a: >-\n  p \n    q\n", None),
            ("a: >-\n  p\n    \u{1f600}\n", None),
            ("a: |-\n  p\n    q\n", None),
            ("a: plain\n", None),
        ];
        for (text, expected) in table {
            let node = parse_nodes("f.yaml", text).remove(0);
            let found = node.get_ref().get("a").and_then(refolded);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
