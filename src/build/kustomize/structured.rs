//! Replacements inside a scalar that holds YAML or JSON itself.
//!
//! Mirrors `setValueInStructuredData` of `api/filters/replacement/replacement.go`.

use super::nodes;
use super::path::{self, Create};
use crate::lang::yaml::tape::TokenKind;
use crate::lang::yaml::{
    Dialect, Location, Node, NodeRef, Scalar, ScalarStyle, Stream, Value, emit, parse_nodes,
};

/// Write a value behind a scalar on the path; false where the path meets none
/// or leads nowhere in it.
pub(super) fn replace(
    object: &mut Node,
    steps: &[String],
    create: Create,
    value: NodeRef<'_>,
    place: Option<&Location>,
) -> bool {
    let Some((depth, text)) = scalar_on(object.get_ref(), steps) else { return false };
    let Some(new) = replaced(&text, &steps[depth..], create, value) else { return false };
    let written = path::for_each(object, &steps[..depth], Create::Never, &mut |leaf| {
        *leaf = Node::scalar(nodes::written(leaf.get_ref(), &new)?, place.cloned());
        Ok(())
    });
    written.is_ok_and(|count| count > 0)
}

/// The first scalar on a path before its end whose text can be parsed.
fn scalar_on(object: NodeRef<'_>, steps: &[String]) -> Option<(usize, String)> {
    (1..steps.len()).find_map(|depth| {
        let node = path::lookup(object, &steps[..depth]).ok()??;
        if node.is_map() || node.is_seq() {
            return None;
        }
        let text = nodes::text(node).into_owned();
        Stream::parse(&text).errors.is_empty().then_some((depth, text))
    })
}

/// The text with the value in it.
fn replaced(text: &str, steps: &[String], create: Create, value: NodeRef<'_>) -> Option<String> {
    let mut root = parse_nodes("", text).into_iter().next()?;
    let new_text = nodes::text(value);
    // Byte ranges of the text to be replaced, where that is all there is to do.
    let mut splices: Option<Vec<(usize, usize, String)>> = Some(Vec::new());
    let mut misfit = false;
    let count = path::for_each(&mut root, steps, create, &mut |leaf| {
        let old = leaf.get_ref();
        let splice = splice_of(old, &new_text);
        match (&mut splices, splice) {
            (Some(splices), Some(splice)) => splices.push(splice),
            _ => splices = None,
        }
        *leaf = if old.is_map() || old.is_seq() {
            value.to_node()
        } else {
            let value = nodes::written(old, &new_text);
            misfit |= value.is_err();
            Node::scalar(value.unwrap_or_else(|_| Value::Str(new_text.as_ref().into())), old.location())
        };
        Ok(())
    });
    if count.ok()? == 0 {
        return None;
    }
    if text.trim_start().starts_with(['{', '[']) {
        // A value that its type refuses leaves JSON as it was.
        if misfit {
            return Some(text.to_owned());
        }
        let json = emit::to_json(root.get_ref()).ok()?;
        return Some(if text.contains('\n') && text.contains("  ") { indented(&json) } else { json });
    }
    let yaml = match splices {
        Some(mut splices) => {
            splices.sort_unstable();
            splices.dedup();
            let mut yaml = text.to_owned();
            for (start, end, new) in splices.into_iter().rev() {
                yaml.replace_range(start..end, &new);
            }
            yaml
        }
        None => emit::to_yaml(root.get_ref()).ok()?,
    };
    Some(yaml.trim().to_owned())
}

/// How a scalar of a text is overwritten in place: with its quotes kept.
fn splice_of(old: NodeRef<'_>, new: &str) -> Option<(usize, usize, String)> {
    let NodeRef::Source(..) = old else { return None };
    let token = old.token()?;
    let quoted = |text: &str| emit::quoted(text);
    let text = match token.kind {
        TokenKind::Scalar(ScalarStyle::SingleQuoted) if !new.contains('\n') => {
            format!("'{}'", new.replace('\'', "''"))
        }
        TokenKind::Scalar(ScalarStyle::DoubleQuoted) => quoted(new),
        TokenKind::Scalar(ScalarStyle::Plain) if !token.empty => {
            if nodes::is_string(old) {
                let safe = emit::is_plain_safe(new) && !nodes::reads_otherwise(new);
                if safe { new.to_owned() } else { quoted(new) }
            } else if nodes::written(old, new).is_ok() {
                new.to_owned()
            } else {
                format!("{} {new}", tag_of(old)?)
            }
        }
        _ => return None,
    };
    Some((token.start as usize, token.end as usize, text))
}

fn tag_of(scalar: NodeRef<'_>) -> Option<&'static str> {
    match scalar.scalar(Dialect::GoYamlV3) {
        Scalar::Bool(_) => Some("!!bool"),
        Scalar::Int(_) | Scalar::Uint(_) => Some("!!int"),
        Scalar::Float(_) => Some("!!float"),
        Scalar::Null => Some("!!null"),
        Scalar::Timestamp(_) => Some("!!timestamp"),
        Scalar::Str(_) => None,
    }
}

/// Compact JSON with two blanks of indentation, as Go's `MarshalIndent`.
fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0;
    let mut in_string = false;
    let mut escaped = false;
    let mut chars = json.chars().peekable();
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    while let Some(c) = chars.next() {
        if in_string {
            out.push(c);
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        match c {
            '"' => {
                in_string = true;
                out.push(c);
            }
            '{' | '[' => {
                out.push(c);
                if matches!(chars.peek(), Some('}' | ']')) {
                    continue;
                }
                depth += 1;
                line(&mut out, depth);
            }
            '}' | ']' => {
                if !out.ends_with(['{', '[']) {
                    depth -= 1;
                    line(&mut out, depth);
                }
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => out.push(c),
        }
    }
    out
}
