//! Ends and values of scalars, by the grammar that go-yaml reads.
//!
//! A scalar is first measured. Its value is made only where it differs from
//! the bytes between its quotes: over several lines, with escapes, or a block.
//!
//! Mirrors `yaml_parser_scan_plain_scalar`, `yaml_parser_scan_flow_scalar` and
//! `yaml_parser_scan_block_scalar` of `scannerc.go` in go.yaml.in/yaml.

use super::resolve::ScalarStyle;

/// A refusal: go-yaml's words and the byte.
type Refused = (&'static str, usize);

/// A measured plain or quoted scalar.
pub(super) struct Flow {
    /// One past its last byte, the closing quote included.
    pub(super) end: usize,
    /// Where scanning goes on.
    pub(super) next: usize,
    /// Start of the line of `next`, where that is not the line it began in.
    pub(super) line_start: Option<usize>,
    /// Whether a line break stands between `end` and `next`.
    pub(super) breaks_behind: bool,
    /// Its value, where that is not what stands in the text.
    pub(super) value: Option<String>,
}

/// The indicators of a block scalar.
pub(super) struct BlockHeader {
    increment: u32,
    chomping: Chomping,
    /// One past the last indicator.
    pub(super) end: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Strip,
    Clip,
    Keep,
}

/// A read block scalar.
pub(super) struct Block {
    pub(super) value: String,
    /// End of its last line with content.
    pub(super) content_end: Option<usize>,
    /// Where scanning goes on.
    pub(super) next: usize,
    /// Start of the line of `next`.
    pub(super) line_start: usize,
}

/// Length of the line break at `at`: `\n`, `\r`, `\r\n`, NEL, LS or PS; else 0.
pub(super) fn break_length(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(b'\n') => 1,
        Some(b'\r') => 1 + usize::from(bytes.get(at + 1) == Some(&b'\n')),
        Some(0xc2) if bytes.get(at + 1) == Some(&0x85) => 2,
        Some(0xe2) if matches!(bytes.get(at + 1..at + 3), Some([0x80, 0xa8 | 0xa9])) => 3,
        _ => 0,
    }
}

/// Whether a blank, a line break or the end of the text stands at `at`.
pub(super) fn blank_or_end(bytes: &[u8], at: usize) -> bool {
    match bytes.get(at) {
        None | Some(b' ' | b'\t' | b'\n' | b'\r') => true,
        Some(0xc2 | 0xe2) => break_length(bytes, at) > 0,
        Some(_) => false,
    }
}

/// The end of the line that holds `at`, its break excluded.
pub(super) fn line_end(bytes: &[u8], at: usize) -> usize {
    let common = memchr::memchr2(b'\n', b'\r', &bytes[at..]).map_or(bytes.len(), |found| at + found);
    rare_break(bytes, at, common).unwrap_or(common)
}

/// NEL, LS and PS, looked for in what the common breaks leave.
fn rare_break(bytes: &[u8], from: usize, to: usize) -> Option<usize> {
    memchr::memchr2_iter(0xc2, 0xe2, &bytes[from..to])
        .map(|found| from + found)
        .find(|at| break_length(bytes, *at) > 0)
}

fn document_indicator(bytes: &[u8], at: usize) -> bool {
    let rest = &bytes[at..];
    (rest.starts_with(b"---") || rest.starts_with(b"...")) && blank_or_end(bytes, at + 3)
}

fn is_blank(byte: Option<&u8>) -> bool {
    matches!(byte, Some(b' ' | b'\t'))
}

/// Measure the plain scalar at `start`. `indent` is that of the open block
/// collection.
pub(super) fn plain(
    text: &str,
    bytes: &[u8],
    start: usize,
    indent: i32,
    flow: bool,
) -> Result<Flow, Refused> {
    let least_column = indent + 1;
    if !flow && let Some(line) = plain_line(bytes, start, least_column) {
        return Ok(line);
    }
    let mut at = start;
    let mut end = start;
    let mut line_start = None;
    let mut lines = 0;
    let mut breaks_behind = false;
    loop {
        if bytes.get(at) == Some(&b'#') || (line_start == Some(at) && document_indicator(bytes, at)) {
            break;
        }
        let word = plain_run(bytes, at, flow);
        if word > at {
            if breaks_behind {
                lines += 1;
                breaks_behind = false;
            }
            at = word;
            end = word;
        }
        if !is_blank(bytes.get(at)) && break_length(bytes, at) == 0 {
            break;
        }
        loop {
            let column = |at: usize| line_start.map_or(i32::MAX, |line| (at - line) as i32);
            match bytes.get(at) {
                Some(b'\t') if breaks_behind && column(at) < least_column => {
                    return Err(("found a tab character that violates indentation", at));
                }
                Some(b' ' | b'\t') => at += 1,
                _ => match break_length(bytes, at) {
                    0 => break,
                    length => {
                        at += length;
                        line_start = Some(at);
                        breaks_behind = true;
                    }
                },
            }
        }
        let column = line_start.map_or(i32::MAX, |line| (at - line) as i32);
        if !flow && column < least_column {
            break;
        }
    }
    let value = (lines > 0).then(|| fold(&text[start..end]));
    Ok(Flow { end, next: at, line_start, breaks_behind, value })
}

/// A plain scalar outside of brackets that takes the rest of its line and no more, as
/// most do; `None` where that is not plain to see.
fn plain_line(bytes: &[u8], start: usize, least_column: i32) -> Option<Flow> {
    let at = start + memchr::memchr(b'\n', &bytes[start..])?;
    let line = &bytes[start..at];
    let ends_before = |place: usize| match line[place] {
        b':' => blank_or_end(bytes, start + place + 1),
        b'#' => place == 0 || is_blank(line.get(place - 1)),
        _ => true,
    };
    if memchr::memchr3_iter(b':', b'#', b'\t', line).any(ends_before)
        || memchr::memchr3(b'\r', 0xc2, 0xe2, line).is_some()
    {
        return None;
    }
    let blanks = line.iter().rev().take_while(|byte| **byte == b' ').count();
    let line_start = at + 1;
    let indentation = bytes[line_start..].iter().position(|byte| *byte != b' ')?;
    let next = line_start + indentation;
    let is_blank_line = matches!(bytes[next], b'\t' | b'\n' | b'\r' | 0xc2 | 0xe2);
    let ends = !is_blank_line && (indentation as i32) < least_column;
    ends.then_some(Flow {
        end: at - blanks,
        next,
        line_start: Some(line_start),
        breaks_behind: true,
        value: None,
    })
}

/// The end of the run of non-blanks at `at`, an indicator that ends a plain
/// scalar excluded.
fn plain_run(bytes: &[u8], at: usize, flow: bool) -> usize {
    let mut end = at;
    while let Some(byte) = bytes.get(end) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => break,
            b':' if blank_or_end(bytes, end + 1) => break,
            b',' | b'?' | b'[' | b']' | b'{' | b'}' if flow => break,
            0xc2 | 0xe2 if break_length(bytes, end) > 0 => break,
            _ => end += 1,
        }
    }
    end
}

/// Read the line break that starts `rest`: LS and PS stay themselves, the others
/// become `\n`.
fn take_break<'r>(rest: &mut &'r str) -> Option<&'r str> {
    let length = break_length(rest.as_bytes(), 0);
    if length == 0 {
        return None;
    }
    let (found, tail) = rest.split_at(length);
    *rest = tail;
    Some(if length == 3 { found } else { "\n" })
}

/// The blanks and line breaks that start `rest`, as the value has them: blanks
/// alone stay, around a line break they go; one break is a space, more are one
/// less. `escaped`: the first break has been escaped away already.
fn take_white(rest: &mut &str, escaped: bool, out: &mut String) {
    let tail = rest.trim_start_matches([' ', '\t']);
    if !escaped && break_length(tail.as_bytes(), 0) == 0 {
        out.push_str(&rest[..rest.len() - tail.len()]);
        *rest = tail;
        return;
    }
    *rest = tail;
    let first = if escaped { None } else { take_break(rest) };
    let before = out.len();
    loop {
        *rest = rest.trim_start_matches([' ', '\t']);
        match take_break(rest) {
            Some(more) => out.push_str(more),
            None => break,
        }
    }
    match first {
        Some("\n") if out.len() == before => out.push(' '),
        Some(other) if other != "\n" => out.insert_str(before, other),
        _ => {}
    }
}

/// Fold the lines of a plain or single-quoted scalar.
fn fold(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while !rest.is_empty() {
        let word = rest
            .as_bytes()
            .iter()
            .enumerate()
            .position(|(at, byte)| is_blank(Some(byte)) || break_length(rest.as_bytes(), at) > 0)
            .unwrap_or(rest.len());
        out.push_str(&rest[..word]);
        rest = &rest[word..];
        take_white(&mut rest, false, &mut out);
    }
    out
}

/// Measure the quoted scalar at `start`.
pub(super) fn quoted(text: &str, bytes: &[u8], start: usize, style: ScalarStyle) -> Result<Flow, Refused> {
    let single = style == ScalarStyle::SingleQuoted;
    let quote = if single { b'\'' } else { b'"' };
    // Most stand in one line, and as they are.
    if let Some(length) = memchr::memchr3(quote, b'\\', b'\n', &bytes[start + 1..]) {
        let end = start + 1 + length;
        let is_end = bytes[end] == quote && !(single && bytes.get(end + 1) == Some(&quote));
        if is_end && memchr::memchr3(b'\r', 0xc2, 0xe2, &bytes[start + 1..end]).is_none() {
            return Ok(Flow {
                end: end + 1,
                next: end + 1,
                line_start: None,
                breaks_behind: false,
                value: None,
            });
        }
    }
    let mut at = start + 1;
    let mut line_start = None;
    let mut plain = true;
    loop {
        match bytes.get(at) {
            None => return Err(("found unexpected end of stream", at)),
            Some(byte) if *byte == quote => {
                if single && bytes.get(at + 1) == Some(&b'\'') {
                    plain = false;
                    at += 2;
                    continue;
                }
                break;
            }
            Some(b'\\') if !single => {
                plain = false;
                at += 1;
                if break_length(bytes, at) == 0 {
                    at += 1;
                }
            }
            Some(b'\n' | b'\r' | 0xc2 | 0xe2) => match break_length(bytes, at) {
                0 => at += 1,
                length => {
                    plain = false;
                    at += length;
                    line_start = Some(at);
                    if document_indicator(bytes, at) {
                        return Err(("found unexpected document indicator", at));
                    }
                }
            },
            Some(_) => at += 1,
        }
    }
    let raw = &text[start + 1..at];
    let value = match (plain, single) {
        (true, _) => None,
        (false, true) => Some(fold(raw).replace("''", "'")),
        (false, false) => Some(unescape(raw).map_err(|(message, offset)| (message, start + 1 + offset))?),
    };
    Ok(Flow { end: at + 1, next: at + 1, line_start, breaks_behind: false, value })
}

/// The value of what stands between double quotes.
fn unescape(raw: &str) -> Result<String, Refused> {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while !rest.is_empty() {
        let bytes = rest.as_bytes();
        let word = bytes
            .iter()
            .enumerate()
            .position(|(at, byte)| *byte == b'\\' || is_blank(Some(byte)) || break_length(bytes, at) > 0)
            .unwrap_or(rest.len());
        out.push_str(&rest[..word]);
        rest = &rest[word..];
        let Some(escaped) = rest.strip_prefix('\\') else {
            take_white(&mut rest, false, &mut out);
            continue;
        };
        let offset = raw.len() - rest.len();
        rest = escaped;
        if take_break(&mut rest).is_some() {
            take_white(&mut rest, true, &mut out);
        } else {
            rest = escape(escaped, &mut out).map_err(|message| (message, offset))?;
        }
    }
    Ok(out)
}

/// Append what the escape after a backslash stands for, and give what follows.
fn escape<'r>(escaped: &'r str, out: &mut String) -> Result<&'r str, &'static str> {
    let mut chars = escaped.chars();
    let character = match chars.next() {
        Some('0') => '\0',
        Some('a') => '\x07',
        Some('b') => '\x08',
        Some('t' | '\t') => '\t',
        Some('n') => '\n',
        Some('v') => '\x0b',
        Some('f') => '\x0c',
        Some('r') => '\r',
        Some('e') => '\x1b',
        Some(same @ (' ' | '"' | '\'' | '\\')) => same,
        Some('N') => '\u{85}',
        Some('_') => '\u{a0}',
        Some('L') => '\u{2028}',
        Some('P') => '\u{2029}',
        Some(width @ ('x' | 'u' | 'U')) => {
            let digits = match width {
                'x' => 2,
                'u' => 4,
                _ => 8,
            };
            let rest = chars.as_str();
            let code = rest
                .get(..digits)
                .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
                .and_then(|digits| u32::from_str_radix(digits, 16).ok())
                .ok_or("did not find expected hexdecimal number")?;
            out.push(char::from_u32(code).ok_or("found invalid Unicode character escape code")?);
            return Ok(&rest[digits..]);
        }
        _ => return Err("found unknown escape character"),
    };
    out.push(character);
    Ok(chars.as_str())
}

/// Read the indicators after `|` or `>`: at most one of each kind, in any order.
pub(super) fn block_header(bytes: &[u8], start: usize) -> Result<BlockHeader, &'static str> {
    let mut header = BlockHeader { increment: 0, chomping: Chomping::Clip, end: start };
    let (mut chomped, mut indented) = (false, false);
    loop {
        match bytes.get(header.end) {
            Some(sign @ (b'+' | b'-')) if !chomped => {
                header.chomping = if *sign == b'+' { Chomping::Keep } else { Chomping::Strip };
                chomped = true;
            }
            Some(b'0') if !indented => return Err("found an indentation indicator equal to 0"),
            Some(digit @ b'1'..=b'9') if !indented => {
                header.increment = u32::from(digit - b'0');
                indented = true;
            }
            _ => return Ok(header),
        }
        header.end += 1;
    }
}

/// Read the block scalar whose body starts at `start`, the start of a line or
/// the end of the text. `parent` is the indentation of the open collection.
pub(super) fn block(
    text: &str,
    bytes: &[u8],
    start: usize,
    header: &BlockHeader,
    style: ScalarStyle,
    parent: i32,
) -> Result<Block, Refused> {
    let literal = style == ScalarStyle::Literal;
    let mut lines = BlockLines { bytes, at: start, line_start: start, indent: 0, breaks: String::new() };
    if header.increment > 0 {
        lines.indent = parent.max(0) as usize + header.increment as usize;
    }
    lines.skip_breaks(parent)?;
    let mut value = String::new();
    let mut leading_break = "";
    let mut leading_blank = false;
    let mut content_end = None;
    while lines.at - lines.line_start == lines.indent && lines.at < bytes.len() {
        let blank = is_blank(bytes.get(lines.at));
        if !literal && leading_break == "\n" && !leading_blank && !blank {
            if lines.breaks.is_empty() {
                value.push(' ');
            }
        } else {
            value.push_str(leading_break);
        }
        value.push_str(&lines.breaks);
        lines.breaks.clear();
        leading_blank = blank;
        let end = line_end(bytes, lines.at);
        let line = &text[lines.at..end];
        value.push_str(line);
        if !line.trim_matches([' ', '\t']).is_empty() {
            content_end = Some(end);
        }
        let mut rest = &text[end..bytes.len()];
        leading_break = take_break(&mut rest).unwrap_or("");
        lines.at = bytes.len() - rest.len();
        if !leading_break.is_empty() {
            lines.line_start = lines.at;
        }
        lines.skip_breaks(parent)?;
    }
    if header.chomping != Chomping::Strip {
        value.push_str(leading_break);
    }
    if header.chomping == Chomping::Keep {
        value.push_str(&lines.breaks);
    }
    Ok(Block { value, content_end, next: lines.at, line_start: lines.line_start })
}

/// The place in the body of a block scalar.
struct BlockLines<'t> {
    bytes: &'t [u8],
    at: usize,
    line_start: usize,
    /// Indentation of the body; 0 as long as it is not known.
    indent: usize,
    /// Line breaks passed since the last line.
    breaks: String,
}

impl BlockLines<'_> {
    /// Pass indentation and empty lines, and settle the indentation by the
    /// deepest of them where no indicator gave it.
    fn skip_breaks(&mut self, parent: i32) -> Result<(), Refused> {
        let mut deepest = 0;
        loop {
            let inside = |column: usize| self.indent == 0 || column < self.indent;
            while inside(self.at - self.line_start) && self.bytes.get(self.at) == Some(&b' ') {
                self.at += 1;
            }
            let column = self.at - self.line_start;
            deepest = deepest.max(column);
            if inside(column) && self.bytes.get(self.at) == Some(&b'\t') {
                return Err(("found a tab character where an indentation space is expected", self.at));
            }
            let length = break_length(self.bytes, self.at);
            if length == 0 {
                break;
            }
            match length {
                3 => self.breaks.push(if self.bytes[self.at + 2] == 0xa8 { '\u{2028}' } else { '\u{2029}' }),
                _ => self.breaks.push('\n'),
            }
            self.at += length;
            self.line_start = self.at;
        }
        if self.indent == 0 {
            self.indent = deepest.max((parent + 1).max(1) as usize);
        }
        Ok(())
    }
}

/// The value as it stands in the text, where no decoding is needed to read it.
pub(super) fn written_value(text: &str, style: ScalarStyle, start: u32, end: u32) -> Option<&str> {
    let range = match style {
        ScalarStyle::Plain => start as usize..end as usize,
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
            start as usize + 1..(end as usize).checked_sub(1)?
        }
        ScalarStyle::Literal | ScalarStyle::Folded => return None,
    };
    text.get(range)
}
