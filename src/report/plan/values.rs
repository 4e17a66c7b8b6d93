//! Values of a change as a reviewer reads them: whole where they are short, and
//! where they are long without what both sides have in common, never without the
//! difference.

use crate::model::value::{has_unknown, is_unknown};
use serde_json::{Map, Value};
use similar::{ChangeTag, DiffOp, TextDiff};
use std::borrow::Cow;

/// Columns up to which both sides stand on one line.
const INLINE: usize = 60;

/// Columns up to which a value stands whole.
const WHOLE: usize = 72;

/// Characters of what both sides share that stay beside a difference.
const CONTEXT: usize = 8;
/// Characters that both sides share and that are shown for all that: to leave out fewer takes words
/// out of sentences.
const SHARED: usize = 16;

/// The longest rest of an address or path that stays whole beside a difference.
const LONGEST: usize = 40;

/// Lines of what is wholly new, or wholly gone, that are shown.
const LINES: usize = 12;

/// Changed lines of a text that are shown, with those between them.
const HUNKS: usize = 60;

/// What stands for a value of which nothing is known.
const UNKNOWN: &str = "a value that is not known here";

/// What happened to one field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Phrase {
    /// One line: the path, and the values where they are short.
    pub line: String,
    /// Further lines, each with `-` or `+`.
    pub sides: Vec<String>,
}

/// One field that changed.
pub(super) fn told(field: &str, before: &Value, after: &Value) -> Phrase {
    let path = path(field);
    let lead = if path.is_empty() { String::new() } else { format!("{path} ") };
    let inline = |line: String| Phrase { line, sides: Vec::new() };
    let is_hidden = |value: &Value| *value == "***";
    if before == after || is_hidden(before) && is_hidden(after) {
        return inline(format!("{lead}changed, not shown"));
    }
    let (before, after) = (&*plain(before), &*plain(after));
    if before == after {
        return inline(format!("{lead}changed, in what is not known here"));
    }
    match (short(before), short(after)) {
        // What was not there is no value.
        (None, Some(new)) if before.is_null() => return inline(format!("+ {}{new}", named(&path))),
        (Some(old), None) if after.is_null() => return inline(format!("- {}{old}", named(&path))),
        (Some(old), Some(new)) if old == new => {
            return inline(format!("{lead}{before} -> {after}"));
        }
        (Some(old), Some(new)) if old.chars().count() + new.chars().count() <= INLINE => {
            let step = step(field, &old, &new).map_or(String::new(), |step| format!(" ({step})"));
            return inline(format!("{lead}{old} -> {new}{step}"));
        }
        _ => {}
    }
    if let (true, Some(old), Some(new)) = (field.ends_with("/image"), before.as_str(), after.as_str())
        && crate::plan::image_words(old, new).len() < old.len() + new.len()
    {
        return inline(format!("{lead}{}", crate::plan::image_words(old, new)));
    }
    let word = match (before.is_null(), after.is_null()) {
        (true, _) => "added",
        (_, true) => "removed",
        _ => "changed",
    };
    Phrase { line: format!("{lead}{word}"), sides: sides(before, after) }
}

/// A path before what it got or had.
fn named(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}: ") }
}

/// How far a version goes, where the field is one of a version: an image, a tag, a chart.
fn step(field: &str, before: &str, after: &str) -> Option<&'static str> {
    let last = field.rsplit('/').next().unwrap_or_default();
    match last {
        "image" => crate::plan::image_step(before, after),
        "tag" | "version" | "imageTag" | "appVersion" | "semver" => crate::plan::step(before, after),
        _ => None,
    }
}

/// Whether two values are maps of which everything is known.
pub(super) fn is_plain_map(before: &Value, after: &Value) -> bool {
    before.is_object() && after.is_object() && !is_unknown(before) && !is_unknown(after)
}

/// A value as people read it: what is not known of it in words.
fn plain(value: &Value) -> Cow<'_, Value> {
    if !has_unknown(value) {
        return Cow::Borrowed(value);
    }
    if is_unknown(value) {
        let parts = value.get("$holes").and_then(Value::as_array);
        return Cow::Owned(Value::String(match parts {
            Some(parts) => parts.iter().map(|part| part.as_str().unwrap_or("${…}")).collect(),
            None => UNKNOWN.to_owned(),
        }));
    }
    Cow::Owned(match value {
        Value::Array(items) => items.iter().map(|item| plain(item).into_owned()).collect(),
        Value::Object(map) => {
            let entries = map.iter().map(|(key, value)| (key.clone(), plain(value).into_owned()));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        other => other.clone(),
    })
}

/// A scalar on one line.
fn short(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) if text.is_empty() => "\"\"".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
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
    if let ([old], [new]) = (&old[..], &new[..]) {
        let (old, new) = elided(old, new);
        return vec![format!("- {old}"), format!("+ {new}")];
    }
    if old.is_empty() || new.is_empty() {
        let (sign, lines) = if old.is_empty() { ('+', new) } else { ('-', old) };
        let mut out: Vec<String> =
            lines.iter().take(LINES).map(|line| format!("{sign} {}", line.trim_end())).collect();
        if lines.len() > LINES {
            out.push(format!("{sign} ({} more lines)", lines.len() - LINES));
        }
        return out;
    }
    hunks(&old, &new)
}

/// The changed lines of two texts, each place with a line before and after it.
fn hunks(old: &[String], new: &[String]) -> Vec<String> {
    let shown = |lines: &[String]| -> Vec<String> {
        // A blank at the end of a line would not be seen.
        let end = |line: &str| "·".repeat(line.len() - line.trim_end_matches(' ').len());
        lines.iter().map(|line| format!("{}{}", line.trim_end(), end(line))).collect()
    };
    let (old, new) = (shown(old), shown(new));
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
    let diff = TextDiff::from_slices(&old, &new);
    let mut out = Vec::new();
    let mut left_out = 0;
    let groups = diff.grouped_ops(1);
    for (index, group) in groups.iter().enumerate() {
        let has_gap = index > 0 || group.first().is_some_and(|op| op.old_range().start > 0);
        if has_gap && out.len() < HUNKS {
            out.push("  …".to_owned());
        }
        for op in group {
            for line in changed_lines(op, &old, &new) {
                if out.len() < HUNKS {
                    out.push(line);
                } else {
                    left_out += usize::from(!line.starts_with(' '));
                }
            }
        }
    }
    if left_out > 0 {
        out.push(format!("  … and {}", crate::lang::text::counted(left_out, "more changed line")));
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

/// The lines of a step of a difference; long ones that stand for each other without most of
/// what they share.
fn changed_lines(op: &DiffOp, old: &[&str], new: &[&str]) -> Vec<String> {
    let (old, new) = (&old[op.old_range()], &new[op.new_range()]);
    if let DiffOp::Equal { .. } = op {
        return old.iter().map(|line| format!("  {}", shortened(line))).collect();
    }
    let pairs: Vec<(String, String)> = match old.len() == new.len() {
        true => old.iter().zip(new).map(|(old, new)| elided(old, new)).collect(),
        false => Vec::new(),
    };
    if !pairs.is_empty() {
        let (gone, come): (Vec<String>, Vec<String>) = pairs.into_iter().unzip();
        let gone = gone.iter().map(|line| format!("- {line}"));
        return gone.chain(come.iter().map(|line| format!("+ {line}"))).collect();
    }
    let mut out = Vec::new();
    for (sign, lines) in [('-', old), ('+', new)] {
        for run in lines.chunk_by(|one, other| one.is_empty() && other.is_empty()) {
            match run {
                [""] => out.push(format!("{sign} (1 blank line)")),
                ["", ..] => out.push(format!("{sign} ({} blank lines)", run.len())),
                [line, ..] => out.push(format!("{sign} {line}")),
                [] => {}
            }
        }
    }
    out
}

/// A line that stays, as far as it is needed to know it.
fn shortened(line: &str) -> Cow<'_, str> {
    match line.char_indices().nth(WHOLE) {
        Some((end, _)) => Cow::Owned(format!("{}…", &line[..end])),
        None => Cow::Borrowed(line),
    }
}

/// Two long lines without most of what they share, word by word.
fn elided(old: &str, new: &str) -> (String, String) {
    if old.chars().count().max(new.chars().count()) <= WHOLE {
        return (old.to_owned(), new.to_owned());
    }
    let (left, right) = (tokens(old), tokens(new));
    let diff = TextDiff::from_slices(&left, &right);
    let ops = diff.ops();
    let last = ops.len().saturating_sub(1);
    let (mut left, mut right) = (String::new(), String::new());
    for (index, op) in ops.iter().enumerate() {
        let text = |tag: ChangeTag| -> String {
            diff.iter_changes(op).filter(|change| change.tag() == tag).map(|change| change.value()).collect()
        };
        match op {
            DiffOp::Equal { .. } => {
                let shared = between(&text(ChangeTag::Equal), index == 0, index == last);
                left.push_str(&shared);
                right.push_str(&shared);
            }
            _ => {
                let (gone, come) = (text(ChangeTag::Delete), text(ChangeTag::Insert));
                let (gone, come) = within_word(&gone, &come);
                left.push_str(&gone);
                right.push_str(&come);
            }
        }
    }
    (left, right)
}

/// Words, and what stands between them character by character: texts for programs have no
/// blanks.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut in_word = false;
    for (at, c) in text.char_indices() {
        let is_word = c.is_alphanumeric() || c == '_';
        if at > start && !(in_word && is_word) {
            tokens.push(&text[start..at]);
            start = at;
        }
        in_word = is_word;
    }
    if start < text.len() {
        tokens.push(&text[start..]);
    }
    tokens
}

/// What both sides share between two differences: its ends, as far as an address or path goes on.
fn between(text: &str, is_first: bool, is_last: bool) -> String {
    let chars: Vec<char> = text.chars().collect();
    let head = if is_first { 0 } else { context(chars.iter().copied()) };
    let tail = if is_last { 0 } else { context(chars.iter().rev().copied()) };
    if chars.len() <= head + tail + SHARED {
        return text.to_owned();
    }
    let (begin, end) =
        (chars[..head].iter().collect::<String>(), chars[chars.len() - tail..].iter().collect::<String>());
    format!("{begin}…{end}")
}

/// How many characters to show: up to what parts the items of a line, where that is near.
fn context(mut chars: impl Iterator<Item = char>) -> usize {
    let end = chars.by_ref().take(LONGEST).position(|c| c.is_whitespace() || matches!(c, ',' | ';'));
    end.unwrap_or(CONTEXT)
}

/// Two words that differ, without what their ends share, where they are long.
fn within_word(old: &str, new: &str) -> (String, String) {
    let (a, b): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    if a.len().max(b.len()) <= WHOLE || a.is_empty() || b.is_empty() {
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
            (json!(null), json!("x"), "+ spec.a: x"),
            (json!("x"), json!(null), "- spec.a: x"),
            (long("blue"), long("green"), "spec.a changed|- …xxxxxxxxblue|+ …xxxxxxxxgreen"),
            (json!("a\nb\nc\n"), json!("a\nB\nc\n"), "spec.a changed|  a|- b|+ B|  c"),
            (
                json!("1\n2\n3\n4\n5\n6\n7\n"),
                json!("1\nx\n3\n4\n5\ny\n7\n"),
                "spec.a changed|  1|- 2|+ x|  3|  …|  5|- 6|+ y|  7",
            ),
            (
                json!({"$holes": ["https://a.", null]}),
                json!("https://b"),
                "spec.a https://a.${…} -> https://b",
            ),
            (
                json!({"b": {"$unknown": "why"}}),
                json!(null),
                "spec.a removed|- b: a value that is not known here",
            ),
            (json!(["a", "b"]), json!(["a", "c"]), "spec.a changed|  a|- b|+ c"),
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
