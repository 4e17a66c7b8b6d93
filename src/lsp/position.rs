//! Positions and URIs of the protocol, and bytes and paths of the repository.

use crate::lang::yaml::LineIndex;
use lsp_types::{Position, PositionEncodingKind, Range, Uri};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What a column counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Bytes.
    Utf8,
    /// Code units of UTF-16, which every client knows.
    Utf16,
    /// Unicode scalars.
    Utf32,
}

impl Encoding {
    /// The best that a client offers: bytes need no counting.
    pub(super) fn negotiate(offered: Option<&[PositionEncodingKind]>) -> Encoding {
        let offers = |kind: &PositionEncodingKind| offered.is_some_and(|kinds| kinds.contains(kind));
        if offers(&PositionEncodingKind::UTF8) {
            Encoding::Utf8
        } else if offers(&PositionEncodingKind::UTF16) || !offers(&PositionEncodingKind::UTF32) {
            Encoding::Utf16
        } else {
            Encoding::Utf32
        }
    }

    /// Its name in the protocol.
    pub(super) fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
            Encoding::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    fn width(self, c: char) -> usize {
        match self {
            Encoding::Utf8 => c.len_utf8(),
            Encoding::Utf16 => c.len_utf16(),
            Encoding::Utf32 => 1,
        }
    }
}

/// A text with its lines, for counting in it.
pub(super) struct Ruler<'t> {
    text: &'t str,
    lines: LineIndex,
    encoding: Encoding,
}

impl<'t> Ruler<'t> {
    pub(super) fn new(text: &'t str, encoding: Encoding) -> Ruler<'t> {
        Ruler { text, lines: LineIndex::new(text), encoding }
    }

    /// The bytes of a line, its break left out; empty past the end.
    fn line(&self, line: u32) -> (usize, &'t str) {
        if line >= self.lines.count() {
            return (self.text.len(), "");
        }
        let start = self.lines.start_of(line + 1) as usize;
        let rest = &self.text[start..];
        (start, &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())])
    }

    /// The byte of a position; past the end of a line is its end, inside of a
    /// character is its start.
    pub(super) fn offset(&self, position: Position) -> usize {
        let (start, line) = self.line(position.line);
        let (mut column, wanted) = (0, position.character as usize);
        for (at, c) in line.char_indices() {
            column += self.encoding.width(c);
            if column > wanted {
                return start + at;
            }
        }
        start + line.len()
    }

    /// The position of a byte.
    pub(super) fn position(&self, offset: usize) -> Position {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.lines.line(offset as u32);
        let start = self.lines.start_of(line) as usize;
        let column: usize = self.text[start..offset].chars().map(|c| self.encoding.width(c)).sum();
        Position { line: line - 1, character: column as u32 }
    }

    pub(super) fn range(&self, start: usize, end: usize) -> Range {
        Range { start: self.position(start), end: self.position(end.max(start)) }
    }
}

/// Where the bytes of one text are in another one that is edited in one place: what
/// both begin and end with stays, the rest is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    prefix: usize,
    old_suffix: usize,
    new_suffix: usize,
}

impl Mapping {
    pub(super) fn new(old: &str, new: &str) -> Mapping {
        let (one, other) = (old.as_bytes(), new.as_bytes());
        let prefix = one.iter().zip(other).take_while(|(a, b)| a == b).count();
        let ends = one[prefix..].iter().rev().zip(other[prefix..].iter().rev());
        let suffix = ends.take_while(|(a, b)| a == b).count();
        Mapping { prefix, old_suffix: one.len() - suffix, new_suffix: other.len() - suffix }
    }

    /// What replaces what: the bytes of the old text, and the new ones, both cut where
    /// characters end.
    pub(super) fn replaced<'n>(&self, old: &str, new: &'n str) -> (usize, usize, &'n str) {
        let mut start = self.prefix;
        while !old.is_char_boundary(start) || !new.is_char_boundary(start) {
            start -= 1;
        }
        let (mut old_end, mut new_end) = (self.old_suffix, self.new_suffix);
        while !old.is_char_boundary(old_end) || !new.is_char_boundary(new_end) {
            (old_end, new_end) = (old_end + 1, new_end + 1);
        }
        (start, old_end, &new[start..new_end])
    }

    /// The byte of the new text; `None` for what was edited away.
    pub(super) fn forward(&self, offset: usize) -> Option<usize> {
        if offset <= self.prefix {
            Some(offset)
        } else if offset >= self.old_suffix {
            Some(offset - self.old_suffix + self.new_suffix)
        } else {
            None
        }
    }

    /// The byte of the old text, at the nearest place for what is new.
    pub(super) fn backward(&self, offset: usize) -> usize {
        if offset <= self.prefix {
            offset
        } else if offset >= self.new_suffix {
            offset - self.new_suffix + self.old_suffix
        } else {
            offset.min(self.old_suffix)
        }
    }
}

/// The URI of a file.
pub(super) fn uri_of(path: &Path) -> Option<Uri> {
    let text = path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    let gap = if text.starts_with('/') { "" } else { "/" };
    uri_in("file://", &format!("{gap}{text}"))
}

/// The URI of a path below a scheme.
pub(super) fn uri_in(scheme: &str, path: &str) -> Option<Uri> {
    let mut uri = scheme.to_owned();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    Uri::from_str(&uri).ok()
}

/// The path of a URI of a scheme; `None` for others, and for what is no text.
pub(super) fn path_in(scheme: &str, uri: &Uri) -> Option<String> {
    decoded(uri.as_str().strip_prefix(scheme)?)
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut left = text.bytes();
    while let Some(byte) = left.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [left.next()?, left.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

/// The file of a URI; `None` for other schemes and hosts.
pub(super) fn path_of(uri: &Uri) -> Option<PathBuf> {
    let rest = uri.as_str().strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let text = decoded(rest)?;
    if !text.starts_with('/') {
        return None;
    }
    let is_drive = cfg!(windows) && text.as_bytes().get(2) == Some(&b':');
    Some(PathBuf::from(if is_drive { &text[1..] } else { &text }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_as_negotiated() {
        let text = "a: 1\r\nü𝄞: x\rend";
        for (encoding, column) in [(Encoding::Utf8, 6), (Encoding::Utf16, 3), (Encoding::Utf32, 2)] {
            let ruler = Ruler::new(text, encoding);
            let colon = text.find("\u{1d11e}").expect("written above") + 4;
            let position = Position { line: 1, character: column };
            assert_eq!((ruler.position(colon), ruler.offset(position)), (position, colon));
            assert_eq!(ruler.offset(Position { line: 0, character: 99 }), 4);
            assert_eq!(ruler.offset(Position { line: 99, character: 0 }), text.len());
            assert_eq!(ruler.position(text.len()), Position { line: 2, character: 3 });
        }
        // Half of a surrogate pair is the character's start.
        assert_eq!(Ruler::new(text, Encoding::Utf16).offset(Position { line: 1, character: 2 }), 8);
    }

    #[test]
    fn what_surrounds_an_edit_is_found_again() {
        let mapping = Mapping::new("one two three", "one 2 and three");
        assert_eq!(mapping.forward(3), Some(3));
        assert_eq!(mapping.forward(5), None);
        assert_eq!(mapping.forward(8), Some(10));
        assert_eq!(mapping.backward(10), 8);
        let same = Mapping::new("abc", "abc");
        assert!((0..=3).all(|at| same.forward(at) == Some(at) && same.backward(at) == at));
        let grown = Mapping::new("aa", "aaa");
        assert_eq!((grown.forward(2), grown.backward(3)), (Some(2), 2));
    }

    #[test]
    fn uris_and_paths_are_each_other() {
        for path in ["/a/b c/ü#?%.yaml", "/x"] {
            let uri = uri_of(Path::new(path)).expect("a URI");
            assert_eq!(path_of(&uri).as_deref(), Some(Path::new(path)), "{}", uri.as_str());
        }
        let read = |text: &str| path_of(&Uri::from_str(text).expect("a URI"));
        assert_eq!(read("untitled:Untitled-1"), None);
        assert_eq!(read("file://server/share"), None);
        assert_eq!(read("file://localhost/a%20b"), Some("/a b".into()));
    }
}
