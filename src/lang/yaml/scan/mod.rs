//! Text to lexemes, by the grammar that go-yaml reads.
//!
//! The controllers don't read YAML 1.2: they read what libyaml's descendant in
//! Go takes, with its rules for tabs, simple keys, line breaks and directives.
//! This scanner follows those rules and nothing else, so that a document is
//! accepted here exactly when it is accepted there. Scalars are not decoded
//! unless they have to be.
//!
//! Mirrors `scannerc.go` (`yaml_parser_fetch_next_token` and what it calls) and
//! the character check of `readerc.go` in go.yaml.in/yaml v2 and v3.

mod tokens;

use super::resolve::ScalarStyle;
use super::scalar;
use super::tape::{Comment, NONE};

/// What a lexeme is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `%YAML 1.1`; `extra` tells whether it is that version.
    Version,
    /// `%TAG`; `extra` is an index into [`Scanner::names`].
    TagDirective,
    /// `---`
    DocumentStart,
    /// `...`
    DocumentEnd,
    /// The end of the text.
    StreamEnd,
    /// A block sequence opens.
    BlockSequence,
    /// A block mapping opens.
    BlockMapping,
    /// A block collection closes.
    BlockEnd,
    /// `[`
    FlowSequence,
    /// `]`
    FlowSequenceEnd,
    /// `{`
    FlowMapping,
    /// `}`
    FlowMappingEnd,
    /// `- `
    BlockEntry,
    /// `,`
    FlowEntry,
    /// `? `, or nothing before a simple key.
    Key,
    /// `:`
    Value,
    /// `*name`
    Alias,
    /// `&name`
    Anchor,
    /// `!tag`; `extra` is an index into [`Scanner::names`].
    Tag,
    /// A scalar; `extra` is an index into [`Scanner::decoded`] or [`NONE`].
    Scalar(ScalarStyle),
}

/// One lexeme: what it is and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexeme {
    pub(super) kind: Kind,
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) extra: u32,
}

/// What go-yaml refuses, in its words, and where.
#[derive(Clone, Debug)]
pub(super) struct ScanRefusal {
    pub(super) message: &'static str,
    pub(super) offset: usize,
    /// Where it notices.
    pub(super) noticed: usize,
}

impl ScanRefusal {
    /// What is noticed where it stands.
    pub(super) fn at(message: &'static str, offset: usize) -> ScanRefusal {
        ScanRefusal { message, offset, noticed: offset }
    }
}

pub(super) type ScanResult<T> = Result<T, ScanRefusal>;

/// A place where a key without `?` may have begun.
#[derive(Clone, Copy, Default)]
struct SimpleKey {
    possible: bool,
    /// At the indentation of its mapping: nothing but a key may stand there.
    required: bool,
    lexeme: u32,
    at: u32,
    line_start: u32,
    column: u32,
}

/// A simple key ends within this many characters.
const SIMPLE_KEY_LIMIT: u32 = 1024;

pub(super) struct Scanner<'t> {
    text: &'t str,
    bytes: &'t [u8],
    pos: usize,
    line_start: usize,
    /// Column in characters at `column_at`; see [`Scanner::column`].
    column: u32,
    column_at: usize,
    indent: i32,
    indents: Vec<i32>,
    flow_level: u32,
    simple_keys: Vec<SimpleKey>,
    simple_key_allowed: bool,
    /// Behind the last scalar that is no block; of a plain one behind the blanks and breaks too.
    behind_scalar: usize,
    /// Nesting at which the scanner gives up.
    nesting_limit: usize,
    /// Comments in order of the text; taken by the parser.
    pub(super) comments: Vec<Comment>,
    /// Values of scalars that are not what stands in the text.
    pub(super) decoded: Vec<Box<str>>,
    /// Handles and suffixes of tags, handles and prefixes of %TAG.
    pub(super) names: Vec<(Box<str>, Box<str>)>,
    /// Quoted scalars of several lines: where they begin and end; the last one may have
    /// no end.
    pub(super) quotes: Vec<(u32, Option<u32>)>,
}

impl<'t> Scanner<'t> {
    /// A scanner from byte `start` on, which begins a line. `end` is the first
    /// [`control_character`] behind it or the end of the text.
    pub(super) fn new(text: &'t str, start: usize, end: usize, nesting_limit: usize) -> Self {
        Scanner {
            text,
            bytes: &text.as_bytes()[..end],
            pos: start,
            line_start: start,
            column: 0,
            column_at: start,
            indent: -1,
            indents: Vec::new(),
            flow_level: 0,
            simple_keys: vec![SimpleKey::default()],
            simple_key_allowed: true,
            behind_scalar: 0,
            nesting_limit,
            comments: Vec::new(),
            decoded: Vec::new(),
            names: Vec::new(),
            quotes: Vec::new(),
        }
    }

    /// Append lexemes up to and including the next directive, document
    /// indicator or the end of the text.
    pub(super) fn segment(&mut self, out: &mut Vec<Lexeme>) -> ScanResult<()> {
        for key in &mut self.simple_keys {
            key.lexeme = 0;
        }
        loop {
            match self.fetch(out) {
                Ok(false) => {}
                Ok(true) => return Ok(()),
                Err(refusal) => {
                    // What may be a key is not parsed before that is settled.
                    let open = self.simple_keys.iter().find(|key| key.possible);
                    out.truncate(open.map_or(out.len(), |key| key.lexeme as usize));
                    let cut = self.bytes.len() < self.text.len() && self.pos >= self.bytes.len();
                    return Err(if cut { self.control_refusal() } else { refusal });
                }
            }
        }
    }

    fn control_refusal(&self) -> ScanRefusal {
        ScanRefusal::at("control characters are not allowed", self.bytes.len())
    }

    fn refuse<T>(&self, message: &'static str) -> ScanResult<T> {
        Err(ScanRefusal::at(message, self.pos))
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.pos + ahead).copied()
    }

    /// Whether a blank, a line break or the end of the text stands there.
    fn blank_or_end(&self, ahead: usize) -> bool {
        scalar::blank_or_end(self.bytes, self.pos + ahead)
    }

    /// The column of the position in characters. Each byte of a line is counted
    /// once, however long the line.
    fn column(&mut self) -> u32 {
        if self.column_at < self.line_start {
            self.column_at = self.line_start;
            self.column = 0;
        }
        let passed = &self.bytes[self.column_at..self.pos];
        self.column += passed.iter().filter(|byte| (**byte as i8) >= -0x40).count() as u32;
        self.column_at = self.pos;
        self.column
    }

    fn push(&self, out: &mut Vec<Lexeme>, kind: Kind, start: usize, extra: u32) {
        out.push(Lexeme { kind, start: start as u32, end: self.pos as u32, extra });
    }

    /// Append the next lexeme. True when it ends a segment.
    fn fetch(&mut self, out: &mut Vec<Lexeme>) -> ScanResult<bool> {
        self.skip_to_next();
        let column = self.column();
        self.close_deeper(out, column as i32);
        let Some(byte) = self.byte(0) else {
            if self.bytes.len() < self.text.len() {
                return Err(self.control_refusal());
            }
            self.close_deeper(out, -1);
            self.drop_simple_key()?;
            self.push(out, Kind::StreamEnd, self.pos, NONE);
            return Ok(true);
        };
        if column == 0 {
            if byte == b'%' {
                return self.directive(out).map(|()| true);
            }
            if let Some(kind) = self.document_indicator() {
                self.close_deeper(out, -1);
                self.drop_simple_key()?;
                self.simple_key_allowed = false;
                let start = self.pos;
                self.pos += 3;
                self.push(out, kind, start, NONE);
                return Ok(true);
            }
        }
        match byte {
            b'[' => self.flow_start(out, Kind::FlowSequence)?,
            b'{' => self.flow_start(out, Kind::FlowMapping)?,
            b']' => self.flow_end(out, Kind::FlowSequenceEnd)?,
            b'}' => self.flow_end(out, Kind::FlowMappingEnd)?,
            b',' => {
                self.drop_simple_key()?;
                self.simple_key_allowed = true;
                self.indicator(out, Kind::FlowEntry);
            }
            b'-' if self.blank_or_end(1) => self.block_entry(out, column)?,
            b'?' if self.flow_level > 0 || self.blank_or_end(1) => self.key(out, column)?,
            b':' if self.flow_level > 0 || self.blank_or_end(1) => self.value(out, column)?,
            b'*' => self.anchor(out, Kind::Alias, column)?,
            b'&' => self.anchor(out, Kind::Anchor, column)?,
            b'!' => self.tag(out, column)?,
            b'|' if self.flow_level == 0 => self.block_scalar(out, ScalarStyle::Literal)?,
            b'>' if self.flow_level == 0 => self.block_scalar(out, ScalarStyle::Folded)?,
            b'\'' => self.quoted(out, ScalarStyle::SingleQuoted, column)?,
            b'"' => self.quoted(out, ScalarStyle::DoubleQuoted, column)?,
            b' ' | b'\t' | b'#' | b'%' | b'@' | b'`' | b'|' | b'>' => {
                return self.refuse("found character that cannot start any token");
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' if self.simple_key_allowed => {
                match self.plain_key_end() {
                    Some(end) => self.plain_key(out, column, end)?,
                    None => self.plain(out, column)?,
                }
            }
            _ => self.plain(out, column)?,
        }
        Ok(false)
    }

    /// The end of the word that stands here, where it is the key of a block mapping as
    /// most are written: nothing but these characters, then `:`.
    fn plain_key_end(&self) -> Option<usize> {
        let rest = &self.bytes[self.pos..];
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/');
        let length = rest.iter().position(|byte| !is_part(byte))?;
        let is_key = self.flow_level == 0
            && rest[length] == b':'
            && self.blank_or_end(length + 1)
            && length < SIMPLE_KEY_LIMIT as usize
            // Refused there, with the right place.
            && self.indents.len() < self.nesting_limit;
        is_key.then_some(self.pos + length)
    }

    /// Append what [`Scanner::plain`] and [`Scanner::value`] make of such a key: all of
    /// it is known at once.
    fn plain_key(&mut self, out: &mut Vec<Lexeme>, column: u32, end: usize) -> ScanResult<()> {
        self.drop_simple_key()?;
        let start = self.pos;
        self.open_block(out, out.len(), column, Kind::BlockMapping)?;
        self.push(out, Kind::Key, start, NONE);
        self.pos = end;
        self.push(out, Kind::Scalar(ScalarStyle::Plain), start, NONE);
        self.simple_key_allowed = false;
        self.indicator(out, Kind::Value);
        Ok(())
    }

    /// `---` or `...` at the start of a line. The readers in front of go-yaml
    /// also split at `---#`.
    fn document_indicator(&self) -> Option<Kind> {
        let rest = &self.bytes[self.pos..];
        if rest.starts_with(b"---") && (self.blank_or_end(3) || rest.get(3) == Some(&b'#')) {
            Some(Kind::DocumentStart)
        } else if rest.starts_with(b"...") && self.blank_or_end(3) {
            Some(Kind::DocumentEnd)
        } else {
            None
        }
    }

    /// Skip blanks, comments and line breaks. A tab is no indentation: it is
    /// skipped only where no key could begin.
    fn skip_to_next(&mut self) {
        loop {
            // The readers cut the text at `---`, so that a byte order mark there
            // starts a text of its own.
            if self.pos == self.line_start && self.indent < 0 && self.flow_level == 0 {
                while self.bytes[self.pos..].starts_with(b"\xef\xbb\xbf") {
                    self.pos += 3;
                    self.line_start = self.pos;
                }
            }
            let tabs = self.flow_level > 0 || !self.simple_key_allowed;
            while matches!(self.byte(0), Some(b' ')) || (tabs && self.byte(0) == Some(b'\t')) {
                self.pos += 1;
            }
            if self.byte(0) == Some(b'#') {
                self.comment();
            }
            if !self.line_break() {
                return;
            }
            if self.flow_level == 0 {
                self.simple_key_allowed = true;
            }
        }
    }

    fn comment(&mut self) {
        let start = self.pos;
        self.pos = scalar::line_end(self.bytes, self.pos);
        self.comments.push(Comment { start: start as u32, end: self.pos as u32 });
    }

    /// Pass a line break, if one stands here.
    fn line_break(&mut self) -> bool {
        let length = scalar::break_length(self.bytes, self.pos);
        if length > 0 {
            self.pos += length;
            self.line_start = self.pos;
        }
        length > 0
    }

    /// Pass blanks, a comment and the line break after a directive or the header
    /// of a block scalar.
    fn rest_of_line(&mut self) -> ScanResult<()> {
        while matches!(self.byte(0), Some(b' ' | b'\t')) {
            self.pos += 1;
        }
        if self.byte(0) == Some(b'#') {
            self.comment();
        }
        if self.byte(0).is_some() && !self.line_break() {
            return self.refuse("did not find expected comment or line break");
        }
        Ok(())
    }

    fn save_simple_key(&mut self, out: &[Lexeme], column: u32) -> ScanResult<()> {
        if !self.simple_key_allowed {
            return Ok(());
        }
        self.drop_simple_key()?;
        let key = SimpleKey {
            possible: true,
            required: self.flow_level == 0 && self.indent == column as i32,
            lexeme: out.len() as u32,
            at: self.pos as u32,
            line_start: self.line_start as u32,
            column,
        };
        if let Some(slot) = self.simple_keys.last_mut() {
            *slot = key;
        }
        Ok(())
    }

    fn drop_simple_key(&mut self) -> ScanResult<()> {
        match self.simple_keys.last_mut() {
            Some(key) if key.possible && key.required => {
                // Right behind a scalar that was read over its line, else at the next token.
                let begin = key.at as usize;
                let ends_line =
                    self.bytes.get(begin..self.behind_scalar).is_some_and(|key| key.contains(&b'\n'));
                let noticed = if ends_line { self.behind_scalar } else { self.pos };
                Err(ScanRefusal { message: "could not find expected ':'", offset: begin, noticed })
            }
            Some(key) => {
                key.possible = false;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Open a block collection at `column` unless one is open there; its lexeme
    /// goes to `at`.
    fn open_block(&mut self, out: &mut Vec<Lexeme>, at: usize, column: u32, kind: Kind) -> ScanResult<()> {
        if self.flow_level > 0 || self.indent >= column as i32 {
            return Ok(());
        }
        if self.indents.len() >= self.nesting_limit {
            return self.refuse(TOO_DEEP);
        }
        self.indents.push(self.indent);
        self.indent = column as i32;
        let place = out.get(at).map_or(self.pos as u32, |lexeme| lexeme.start);
        out.insert(at, Lexeme { kind, start: place, end: place, extra: NONE });
        Ok(())
    }

    /// Close block collections that are indented deeper than `column`.
    fn close_deeper(&mut self, out: &mut Vec<Lexeme>, column: i32) {
        if self.flow_level > 0 {
            return;
        }
        while self.indent > column {
            self.push(out, Kind::BlockEnd, self.pos, NONE);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    fn indicator(&mut self, out: &mut Vec<Lexeme>, kind: Kind) {
        let start = self.pos;
        self.pos += 1;
        self.push(out, kind, start, NONE);
    }

    fn flow_start(&mut self, out: &mut Vec<Lexeme>, kind: Kind) -> ScanResult<()> {
        let column = self.column();
        self.save_simple_key(out, column)?;
        if self.indents.len() + self.simple_keys.len() > self.nesting_limit {
            return self.refuse(TOO_DEEP);
        }
        self.simple_keys.push(SimpleKey::default());
        self.flow_level += 1;
        self.simple_key_allowed = true;
        self.indicator(out, kind);
        Ok(())
    }

    fn flow_end(&mut self, out: &mut Vec<Lexeme>, kind: Kind) -> ScanResult<()> {
        self.drop_simple_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            self.simple_keys.pop();
        }
        self.simple_key_allowed = false;
        self.indicator(out, kind);
        Ok(())
    }

    fn block_entry(&mut self, out: &mut Vec<Lexeme>, column: u32) -> ScanResult<()> {
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return self.refuse("block sequence entries are not allowed in this context");
            }
            self.open_block(out, out.len(), column, Kind::BlockSequence)?;
        }
        self.drop_simple_key()?;
        self.simple_key_allowed = true;
        self.indicator(out, Kind::BlockEntry);
        Ok(())
    }

    fn key(&mut self, out: &mut Vec<Lexeme>, column: u32) -> ScanResult<()> {
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return self.refuse("mapping keys are not allowed in this context");
            }
            self.open_block(out, out.len(), column, Kind::BlockMapping)?;
        }
        self.drop_simple_key()?;
        self.simple_key_allowed = self.flow_level == 0;
        self.indicator(out, Kind::Key);
        Ok(())
    }

    fn value(&mut self, out: &mut Vec<Lexeme>, column: u32) -> ScanResult<()> {
        let key = self.simple_keys.last().copied().unwrap_or_default();
        let stale = key.line_start as usize != self.line_start || key.column + SIMPLE_KEY_LIMIT < column;
        if key.possible && stale {
            self.drop_simple_key()?;
        }
        if key.possible && !stale {
            let at = key.lexeme as usize;
            out.insert(at, Lexeme { kind: Kind::Key, start: key.at, end: key.at, extra: NONE });
            self.open_block(out, at, key.column, Kind::BlockMapping)?;
            if let Some(key) = self.simple_keys.last_mut() {
                key.possible = false;
            }
            self.simple_key_allowed = false;
        } else {
            if self.flow_level == 0 {
                if !self.simple_key_allowed {
                    return self.refuse("mapping values are not allowed in this context");
                }
                self.open_block(out, out.len(), column, Kind::BlockMapping)?;
            }
            self.simple_key_allowed = self.flow_level == 0;
        }
        self.indicator(out, Kind::Value);
        Ok(())
    }

    fn keep(&mut self, value: Option<String>) -> u32 {
        match value {
            None => NONE,
            Some(value) => {
                self.decoded.push(value.into_boxed_str());
                self.decoded.len() as u32 - 1
            }
        }
    }
}

/// Said of nesting deeper than what is read here. Go reads 10,000 levels.
pub(super) const TOO_DEEP: &str = "nested too deeply to be read";

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// The first character from `start` on that go-yaml's reader refuses: control
/// characters but tab, line breaks and NEL, and U+FFFE and U+FFFF.
pub(super) fn control_character(text: &str, start: usize) -> Option<usize> {
    let suspicious = |byte: u8| {
        (byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r')) || matches!(byte, 0x7f | 0xc2 | 0xef)
    };
    let bytes = text.as_bytes();
    for (index, chunk) in bytes[start..].chunks(64).enumerate() {
        // Without a branch per byte, so that it is done for many at once.
        if !chunk.iter().fold(false, |found, byte| found | suspicious(*byte)) {
            continue;
        }
        for offset in start + index * 64..start + index * 64 + chunk.len() {
            let refused = match bytes[offset] {
                0xc2 => matches!(bytes.get(offset + 1), Some(0x80..=0x84 | 0x86..=0x9f)),
                0xef => matches!(bytes.get(offset + 1..offset + 3), Some([0xbf, 0xbe | 0xbf])),
                byte => suspicious(byte),
            };
            if refused {
                return Some(offset);
            }
        }
    }
    None
}
