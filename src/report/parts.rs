//! Pieces that several reports share: the values of the JSON contracts, and
//! the shaping of text.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::place;
use crate::model::ObjectId;
use crate::model::text::Text;
use crate::repo::Snapshot;
use crate::yaml::Location;

/// The width of text answers, paths excepted.
pub const WIDTH: usize = 80;

/// An object of a contract.
pub fn object(id: &ObjectId) -> Value {
    let mut object = json!({"apiVersion": &*id.api_version, "kind": &*id.kind, "name": &*id.name});
    if let Some(namespace) = &id.namespace {
        object["namespace"] = json!(&**namespace);
    }
    object
}

/// A location of a contract; null for what no file states as text.
pub fn location(snapshot: &Snapshot, location: Option<&Location>) -> Value {
    let Some((found, place)) = location.and_then(|found| Some((found, place(snapshot, found)?))) else {
        return Value::Null;
    };
    let via = found.via.iter().map(
        |via| json!({"kind": via.kind.name(), "location": self::location(snapshot, Some(&via.location))}),
    );
    json!({
        "path": &*found.path,
        "line": place.from.0,
        "column": place.from.1,
        "endLine": place.to.0,
        "endColumn": place.to.1,
        "start": place.start,
        "end": place.end,
        "via": via.collect::<Vec<_>>(),
    })
}

/// An unknown value of a contract.
pub fn unknown(why: &str) -> Value {
    json!({"$unknown": why})
}

/// A string of a contract.
pub fn text(text: &Text) -> Value {
    match text {
        Text::Known(text) => json!(text),
        Text::Holes(holes) => {
            json!({"$holes": holes.parts.iter().map(Option::as_deref).collect::<Vec<_>>()})
        }
        Text::Unknown(why) => unknown(why),
    }
}

/// Writes words up to the width of text answers; further lines are indented.
pub fn paragraph(out: &mut String, text: &str, indent: &str) {
    let mut column = 0;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > WIDTH {
            let _ = write!(out, "\n{indent}");
            column = indent.chars().count();
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_keep_the_width() {
        let mut out = String::new();
        paragraph(&mut out, &"seven77 ".repeat(20), "  ");
        assert!(out.lines().all(|line| line.chars().count() <= WIDTH), "{out}");
        assert!(out.lines().skip(1).all(|line| line.starts_with("  s")), "{out}");
    }
}
