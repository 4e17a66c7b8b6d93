//! Values of a change as a reviewer reads them: whole where they are short, and
//! where they are long without what both sides have in common, never without the
//! difference.

use serde_json::Value;

/// Columns up to which both sides stand on one line.
const INLINE: usize = 60;

/// Columns up to which a value stands whole.
const WHOLE: usize = 72;

/// Characters of what both sides share that stay beside a difference.
const CONTEXT: usize = 8;

/// Lines of one side that are shown.
const LINES: usize = 12;

/// What happened to one field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Told {
    /// One line: the path, and the values where they are short.
    pub line: String,
    /// Further lines, each with `-` or `+`.
    pub sides: Vec<String>,
}

/// One field that changed.
pub(super) fn told(field: &str, before: &Value, after: &Value) -> Told {
    let path = path(field);
    let lead = if path.is_empty() { String::new() } else { format!("{path} ") };
    let inline = |line: String| Told { line, sides: Vec::new() };
    let is_hidden = |value: &Value| *value == "***";
    if before == after || is_hidden(before) && is_hidden(after) {
        return inline(format!("{lead}changed, not shown"));
    }
    match (short(before), short(after)) {
        (Some(old), Some(new)) if old == new => {
            return inline(format!("{lead}{before} -> {after}"));
        }
        (Some(old), Some(new)) if old.chars().count() + new.chars().count() <= INLINE => {
            return inline(format!("{lead}{old} -> {new}"));
        }
        _ => {}
    }
    let word = match (before.is_null(), after.is_null()) {
        (true, _) => "added",
        (_, true) => "removed",
        _ => "changed",
    };
    Told { line: format!("{lead}{word}"), sides: sides(before, after) }
}

/// A scalar on one line.
fn short(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) if text.is_empty() => "\"\"".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Object(map) if map.contains_key("$unknown") => "a value that is not known here".to_owned(),
        Value::Array(_) | Value::Object(_) => return None,
    };
    let plain = !text.contains('\n') && text.trim() == text && text.chars().count() <= INLINE;
    plain.then_some(text)
}

/// `spec.versions[0].name`, `metadata.labels["a/b"]`, `containers[main].image`.
pub(super) fn path(pointer: &str) -> String {
    if !pointer.starts_with('/') {
        return pointer.to_owned();
    }
    let mut out = String::new();
    let mut segments = pointer[1..].split('/').peekable();
    while let Some(segment) = segments.next() {
        let mut segment = segment.replace("~1", "/").replace("~0", "~");
        // An identity may hold a slash of its own.
        while segment.starts_with('{') && !segment.ends_with('}') && segments.peek().is_some() {
            segment.push('/');
            segment.push_str(&segments.next().unwrap_or_default().replace("~1", "/").replace("~0", "~"));
        }
        let item = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        match item.and_then(|item| item.split_once('=')) {
            Some((_, name)) => out.push_str(&format!("[{name}]")),
            None if !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit()) => {
                out.push_str(&format!("[{segment}]"));
            }
            None if segment.contains(['.', '/', ' ']) => out.push_str(&format!("[\"{segment}\"]")),
            None => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(&segment);
            }
        }
    }
    out
}

fn sides(before: &Value, after: &Value) -> Vec<String> {
    let (old, new) = (lines(before), lines(after));
    let shared = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - shared;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[shared..old.len() - tail], &new[shared..new.len() - tail]);
    let mut out = Vec::new();
    if let ([old], [new]) = (old, new) {
        let (old, new) = elided(old, new);
        return vec![format!("- {old}"), format!("+ {new}")];
    }
    for (sign, lines) in [('-', old), ('+', new)] {
        out.extend(lines.iter().take(LINES).map(|line| format!("{sign} {}", line.trim_end())));
        if lines.len() > LINES {
            out.push(format!("{sign} ({} more lines)", lines.len() - LINES));
        }
    }
    out
}

/// The lines of a value: of a text its own, of a list its items, of a map its
/// entries.
fn lines(value: &Value) -> Vec<String> {
    match value {
        Value::Null => Vec::new(),
        Value::String(text) if text.contains('\n') => text.lines().map(str::to_owned).collect(),
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().map(item).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| format!("{key}: {}", item(value))).collect(),
        other => vec![other.to_string()],
    }
}

fn item(value: &Value) -> String {
    match value {
        Value::String(text) if !text.contains('\n') => text.clone(),
        other => other.to_string(),
    }
}

/// Two long lines without most of what they share.
fn elided(old: &str, new: &str) -> (String, String) {
    let (a, b): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    let long = a.len().max(b.len()) > WHOLE;
    if !long {
        return (old.to_owned(), new.to_owned());
    }
    let head = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let rest = a.len().min(b.len()) - head;
    let tail = a.iter().rev().zip(b.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let from = head.saturating_sub(CONTEXT);
    let side = |chars: &[char]| {
        let to = (chars.len() - tail + CONTEXT).min(chars.len());
        let middle: String = chars[from..to].iter().collect();
        let (left, right) = (if from > 0 { "…" } else { "" }, if to < chars.len() { "…" } else { "" });
        format!("{left}{middle}{right}")
    };
    (side(&a), side(&b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn all(before: Value, after: Value) -> String {
        let told = told("/spec/a", &before, &after);
        std::iter::once(told.line).chain(told.sides).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn both_sides_differ_in_what_is_shown() {
        let long = |end: &str| json!(format!("{}{end}", "x".repeat(100)));
        for (before, after, expected) in [
            (json!("1.0"), json!("2.0"), "spec.a 1.0 -> 2.0"),
            (json!(1), json!("1"), "spec.a 1 -> \"1\""),
            (json!("***"), json!("***"), "spec.a changed, not shown"),
            (json!(null), json!("x"), "spec.a nothing -> x"),
            (long("blue"), long("green"), "spec.a changed|- …xxxxxxxxblue|+ …xxxxxxxxgreen"),
            (json!("a\nb\nc\n"), json!("a\nB\nc\n"), "spec.a changed|- b|+ B"),
            (json!(["a", "b"]), json!(["a", "c"]), "spec.a changed|- b|+ c"),
            (json!(null), json!({"x": 1}), "spec.a added|+ x: 1"),
            (json!({"x": 1, "y": 2}), json!(null), "spec.a removed|- x: 1|- y: 2"),
        ] {
            assert_eq!(all(before, after), expected);
        }
    }

    #[test]
    fn paths_are_whole() {
        for (pointer, expected) in [
            ("/spec/versions/0/name", "spec.versions[0].name"),
            ("/spec/containers/{name=main}/image", "spec.containers[main].image"),
            ("/metadata/labels/a.b~1c", "metadata.labels[\"a.b/c\"]"),
            ("/spec/mounts/{mountPath=/var/lib}/name", "spec.mounts[/var/lib].name"),
            ("Alert a/b key", "Alert a/b key"),
        ] {
            assert_eq!(path(pointer), expected);
        }
    }
}
