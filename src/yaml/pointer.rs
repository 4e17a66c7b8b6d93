//! JSON Pointers.

use std::borrow::Cow;

/// The unescaped segments of a JSON Pointer; none for `""`.
pub fn pointer_segments(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let slash = |text: &str| text.bytes().position(|byte| byte == b'/');
    let mut rest = slash(pointer).map(|at| &pointer[at + 1..]);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = slash(text);
        rest = end.map(|at| &text[at + 1..]);
        let segment = &text[..end.unwrap_or(text.len())];
        Some(match segment.bytes().any(|byte| byte == b'~') {
            true => Cow::Owned(segment.replace("~1", "/").replace("~0", "~")),
            false => Cow::Borrowed(segment),
        })
    })
}

/// A JSON Pointer with one more segment, escaped.
pub fn pointer_join(pointer: &str, segment: &str) -> String {
    if segment.contains(['~', '/']) {
        format!("{pointer}/{}", segment.replace('~', "~0").replace('/', "~1"))
    } else {
        format!("{pointer}/{segment}")
    }
}
