//! Line index: byte offsets to 1-based lines and Unicode-scalar columns.

use std::sync::OnceLock;

/// Starts of the lines of a text. `\n`, `\r\n` and a lone `\r` end a line, as
/// they do for the YAML parser; anything else makes columns drift.
#[derive(Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
    /// Characters before each block of [`BLOCK`] bytes; counted for the first position
    /// that lies far into a line.
    before: OnceLock<Vec<u32>>,
}

const BLOCK: usize = 512;

impl LineIndex {
    /// Index `text` in one pass.
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = Vec::with_capacity(bytes.len() / 24 + 1);
        starts.push(0);
        for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            if bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n') {
                continue;
            }
            starts.push(at as u32 + 1);
        }
        LineIndex { starts, before: OnceLock::new() }
    }

    /// The 1-based line that holds the byte `offset`.
    pub fn line(&self, offset: u32) -> u32 {
        self.starts.partition_point(|start| *start <= offset) as u32
    }

    /// The 1-based line and column of a byte offset; the column counts Unicode
    /// scalars of `text` from the start of the line, a byte order mark not
    /// counted. Offsets past the end and
    /// inside a character are clamped to the character that holds them.
    pub fn position(&self, text: &str, offset: u32) -> (u32, u32) {
        let offset = offset.min(text.len() as u32);
        let line = self.line(offset);
        let start = self.starts[line as usize - 1] as usize;
        let column = if offset as usize - start < 2 * BLOCK {
            characters(&text.as_bytes()[start..offset as usize])
        } else {
            self.characters_before(text, offset as usize) - self.characters_before(text, start)
        };
        let mark = u32::from(line == 1 && offset > 0 && text.starts_with('\u{feff}'));
        (line, column as u32 + 1 - mark)
    }

    fn characters_before(&self, text: &str, offset: usize) -> usize {
        let before = self.before.get_or_init(|| {
            let mut before = vec![0];
            let mut count = 0;
            for block in text.as_bytes().chunks(BLOCK) {
                count += characters(block) as u32;
                before.push(count);
            }
            before
        });
        let block = offset / BLOCK;
        before[block] as usize + characters(&text.as_bytes()[block * BLOCK..offset])
    }

    /// Byte offset at which a 1-based line starts; the end of the last line's
    /// start for lines past the end.
    pub fn start_of(&self, line: u32) -> u32 {
        let index = (line.max(1) as usize - 1).min(self.starts.len() - 1);
        self.starts[index]
    }

    /// Number of lines, the one after a final line break included.
    pub fn count(&self) -> u32 {
        self.starts.len() as u32
    }
}

fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte as i8) >= -0x40).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_end_that_the_parser_knows_starts_a_line() {
        let text = "a\nb\r\nc\rd";
        let index = LineIndex::new(text);
        assert_eq!(index.count(), 4);
        for (offset, expected) in [(0, (1, 1)), (2, (2, 1)), (5, (3, 1)), (7, (4, 1))] {
            assert_eq!(index.position(text, offset), expected, "offset {offset}");
        }
    }

    #[test]
    fn columns_count_characters_not_bytes() {
        let text = "ü: é # x";
        let index = LineIndex::new(text);
        assert_eq!(index.position(text, text.find('#').expect("written above") as u32), (1, 6));
        assert_eq!(index.position(text, 10_000).0, 1);
    }

    #[test]
    fn columns_of_long_lines_are_those_of_short_ones() {
        let text = "\u{feff}a\n".to_owned() + &"xüé€".repeat(700) + "\n" + &"b".repeat(1024);
        let index = LineIndex::new(&text);
        let (mut line, mut column) = (1, 1);
        for (offset, c) in text.char_indices() {
            assert_eq!(index.position(&text, offset as u32), (line, column), "{offset}");
            match c {
                '\u{feff}' => {}
                '\n' => (line, column) = (line + 1, 1),
                _ => column += 1,
            }
        }
        assert_eq!(index.position(&text, u32::MAX), (line, column));
    }
}
