//! What is known of a string of an object.

use std::borrow::Cow;

use crate::lang::yaml::{Holes, Known, NodeRef};

/// A string of an effective object: known, known in parts, or unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// The whole string.
    Known(String),
    /// Some parts are unknown, such as a variable of a Secret.
    Holes(Holes),
    /// Nothing is known, and why.
    Unknown(String),
}

/// Why a value is not known of which nothing more is.
pub(crate) const IN_THE_CLUSTER: &str = "known in the cluster only";

impl Text {
    /// The text of a scalar as written, whatever its type; empty for
    /// collections. A `${…}` of a source is a hole: what Flux would make of it
    /// depends on what applies the object.
    pub fn of(node: NodeRef<'_>) -> Text {
        if let Some(holes) = node.holes() {
            return Text::Holes(holes.clone());
        }
        if node.is_unknown() {
            return Text::Unknown(IN_THE_CLUSTER.to_owned());
        }
        let text = node.text().unwrap_or_default();
        match node {
            NodeRef::Source(..) if text.contains("${") => Text::Holes(holes_of(&text)),
            _ => Text::Known(text.into_owned()),
        }
    }

    /// The string, when all of it is known.
    pub fn known(&self) -> Option<&str> {
        match self {
            Text::Known(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it is `text`.
    pub fn is(&self, text: &str) -> Known<bool> {
        match self {
            Text::Known(own) => Known::Value(own == text),
            Text::Holes(holes) if !holes.could_be(text) => Known::Value(false),
            _ => Known::Unknown,
        }
    }

    /// Whether both are the same string.
    pub fn same(&self, other: &Text) -> Known<bool> {
        match (self.known(), other.known()) {
            (_, Some(text)) => self.is(text),
            (Some(text), None) => other.is(text),
            (None, None) => Known::Unknown,
        }
    }

    /// For people: holes are shown as `${…}`.
    pub fn display(&self) -> Cow<'_, str> {
        match self {
            Text::Known(text) => Cow::Borrowed(text),
            Text::Holes(holes) => {
                Cow::Owned(holes.parts.iter().map(|part| part.as_deref().unwrap_or("${…}")).collect())
            }
            Text::Unknown(_) => Cow::Borrowed("${…}"),
        }
    }
}

/// The text with a hole for each `${…}`.
fn holes_of(text: &str) -> Holes {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        if !before.is_empty() {
            parts.push(Some(before.into()));
        }
        parts.push(None);
        rest = after.split_once('}').map_or("", |(_, rest)| rest);
    }
    if !rest.is_empty() {
        parts.push(Some(rest.into()));
    }
    Holes::from(parts)
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text::Known(text.to_owned())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text::Known(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_a_source_are_holes() {
        for (written, shown) in [
            ("a: app-${A}-x${B}", "app-${…}-x${…}"),
            ("a: ${A", "${…}"),
            ("a: $A", "$A"),
            ("a: true", "true"),
            ("a: [x]", ""),
            ("a:", ""),
        ] {
            let node = crate::lang::yaml::parse_nodes("f.yaml", written).remove(0);
            let text = Text::of(node.get_ref().get("a").expect("the key"));
            assert_eq!(text.display(), shown, "{written}");
        }
    }

    #[test]
    fn holes_decide_what_they_can() {
        let holes = Text::Holes(Holes::from(vec![Some("app-".into()), None]));
        assert_eq!(holes.is("app-x"), Known::Unknown);
        assert_eq!(holes.is("web"), Known::Value(false));
        assert_eq!(holes.same(&Text::from("web")), Known::Value(false));
        assert_eq!(Text::from("web").same(&holes), Known::Value(false));
        assert_eq!(holes.same(&holes), Known::Unknown);
        assert_eq!(holes.display(), "app-${…}");
    }
}
