//! What is unknown offline: values, and parts of strings.

use std::sync::Arc;

/// A value that may be unknown offline. Rules fire on what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known<T> {
    /// Known.
    Value(T),
    /// It exists in the cluster only, or depends on something that does.
    Unknown,
}

impl<T> Known<T> {
    /// The value, if known.
    pub fn value(self) -> Option<T> {
        match self {
            Known::Value(value) => Some(value),
            Known::Unknown => None,
        }
    }
}

/// A string of which some parts are unknown: `None` stands for any text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holes {
    /// Known parts and holes in order.
    pub parts: Vec<Option<Arc<str>>>,
    /// Why they are unknown, such as `value of ${A} is unknown`; `None` where nobody says.
    pub why: Option<Arc<str>>,
}

impl From<Vec<Option<Arc<str>>>> for Holes {
    fn from(parts: Vec<Option<Arc<str>>>) -> Holes {
        Holes { parts, why: None }
    }
}

impl Holes {
    /// Whether the string could be `text`: known parts in order, anchored at
    /// both ends unless a hole is there.
    pub fn could_be(&self, text: &str) -> bool {
        let mut rest = text;
        let mut floating = false;
        let last = self.parts.len();
        for (index, part) in self.parts.iter().enumerate() {
            match part {
                None => floating = true,
                Some(known) if floating && index + 1 == last => return rest.ends_with(&**known),
                Some(known) if floating => match rest.find(&**known) {
                    Some(at) => {
                        rest = &rest[at + known.len()..];
                        floating = false;
                    }
                    None => return false,
                },
                Some(known) => match rest.strip_prefix(&**known) {
                    Some(tail) => rest = tail,
                    None => return false,
                },
            }
        }
        floating || rest.is_empty()
    }

    /// Whether two texts differ: they begin or end otherwise, or have as many unknown
    /// parts with other known ones between, or other unknown parts.
    pub fn differs(&self, other: &Holes) -> bool {
        let begins = |one: &str, two: &str| one.starts_with(two) || two.starts_with(one);
        let ends = |one: &str, two: &str| one.ends_with(two) || two.ends_with(one);
        let count = |holes: &Holes| holes.parts.iter().filter(|part| part.is_none()).count();
        !begins(self.prefix(), other.prefix())
            || !ends(self.suffix(), other.suffix())
            || count(self) == count(other)
                && (self.parts != other.parts
                    || self.why.is_some() && other.why.is_some() && self.why != other.why)
    }

    /// The known text before the first hole.
    pub fn prefix(&self) -> &str {
        self.parts.first().and_then(|part| part.as_deref()).unwrap_or("")
    }

    /// The known text after the last hole.
    pub fn suffix(&self) -> &str {
        match self.parts.last() {
            Some(part) if self.parts.len() > 1 => part.as_deref().unwrap_or(""),
            _ => "",
        }
    }
}
