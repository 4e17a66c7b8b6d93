//! JSON Pointers.

use memchr::{memchr, memchr2};
use std::borrow::Cow;

/// The unescaped segments of a JSON Pointer; none for `""`.
pub fn pointer_segments(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let mut rest = memchr(b'/', pointer.as_bytes()).map(|at| &pointer[at + 1..]);
    std::iter::from_fn(move || {
        let text = rest?;
        let bytes = text.as_bytes();
        let (end, is_escaped) = match memchr2(b'/', b'~', bytes) {
            Some(at) if bytes[at] == b'/' => (at, false),
            Some(at) => (memchr(b'/', &bytes[at..]).map_or(bytes.len(), |after| at + after), true),
            None => (bytes.len(), false),
        };
        rest = text.get(end + 1..);
        let segment = &text[..end];
        Some(match is_escaped {
            true => Cow::Owned(segment.replace("~1", "/").replace("~0", "~")),
            false => Cow::Borrowed(segment),
        })
    })
}

/// A JSON Pointer with one more segment, escaped.
pub fn pointer_join(pointer: &str, segment: &str) -> String {
    let mut joined = String::with_capacity(pointer.len() + 1 + segment.len());
    joined.push_str(pointer);
    joined.push('/');
    if segment.bytes().any(|byte| matches!(byte, b'~' | b'/')) {
        joined.push_str(&segment.replace('~', "~0").replace('/', "~1"));
    } else {
        joined.push_str(segment);
    }
    joined
}

/// The JSON Pointer of a path of keys and indices.
pub(crate) fn pointer_to(path: &[impl AsRef<str>]) -> String {
    path.iter().fold(String::new(), |above, key| pointer_join(&above, key.as_ref()))
}

/// A place in a tree, on the way down to it: its JSON Pointer is written for those only
/// who ask.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trail<'p> {
    Root,
    /// The value of a key.
    Key(&'p Trail<'p>, &'p str),
    /// An item of a list.
    Index(&'p Trail<'p>, usize),
}

impl Trail<'_> {
    /// The JSON Pointer.
    pub(crate) fn pointer(&self) -> String {
        match self {
            Trail::Root => String::new(),
            Trail::Key(above, key) => pointer_join(&above.pointer(), key),
            Trail::Index(above, index) => pointer_join(&above.pointer(), &index.to_string()),
        }
    }
}
