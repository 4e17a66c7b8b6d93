//! Tokens of more than one character: directives, anchors, tags and scalars.

use super::{Kind, Lexeme, ScanRefusal, ScanResult, Scanner, is_word};
use crate::lang::yaml::resolve::ScalarStyle;
use crate::lang::yaml::scalar;
use crate::lang::yaml::tape::NONE;

impl<'t> Scanner<'t> {
    pub(super) fn directive(&mut self, out: &mut Vec<Lexeme>) -> ScanResult<()> {
        self.close_deeper(out, -1);
        self.drop_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.pos;
        self.pos += 1;
        let name = self.word();
        if name.is_empty() {
            return self.refuse("could not find expected directive name");
        }
        if !self.blank_or_end(0) {
            return self.refuse("found unexpected non-alphabetical character");
        }
        let (kind, extra) = match name {
            "YAML" => {
                self.skip_blanks();
                let major = self.version_number()?;
                if self.byte(0) != Some(b'.') {
                    return self.refuse("did not find expected digit or '.' character");
                }
                self.pos += 1;
                let minor = self.version_number()?;
                (Kind::Version, u32::from((major, minor) == (1, 1)))
            }
            "TAG" => {
                self.skip_blanks();
                let handle = self.tag_handle()?;
                if handle.len() > 1 && !handle.ends_with('!') {
                    return self.refuse("did not find expected '!'");
                }
                if !matches!(self.byte(0), Some(b' ' | b'\t')) {
                    return self.refuse("did not find expected whitespace");
                }
                self.skip_blanks();
                let prefix = self.tag_uri("")?;
                if !self.blank_or_end(0) {
                    return self.refuse("did not find expected whitespace or line break");
                }
                self.names.push((handle.into(), prefix.into()));
                (Kind::TagDirective, self.names.len() as u32 - 1)
            }
            _ => return Err(ScanRefusal::at("found unknown directive name", start)),
        };
        self.push(out, kind, start, extra);
        self.rest_of_line()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.byte(0), Some(b' ' | b'\t')) {
            self.pos += 1;
        }
    }

    /// Letters, digits, `_` and `-`.
    fn word(&mut self) -> &'t str {
        let start = self.pos;
        while matches!(self.byte(0), Some(b) if is_word(b)) {
            self.pos += 1;
        }
        &self.text[start..self.pos]
    }

    fn version_number(&mut self) -> ScanResult<u8> {
        let start = self.pos;
        while matches!(self.byte(0), Some(b'0'..=b'9')) {
            self.pos += 1;
        }
        match self.pos - start {
            0 => self.refuse("did not find expected version number"),
            1 | 2 => Ok(self.bytes[start..self.pos].iter().fold(0, |n, digit| n * 10 + (digit - b'0'))),
            _ => self.refuse("found extremely long version number"),
        }
    }

    pub(super) fn anchor(&mut self, out: &mut Vec<Lexeme>, kind: Kind, column: u32) -> ScanResult<()> {
        self.save_simple_key(out, column)?;
        self.simple_key_allowed = false;
        let start = self.pos;
        self.pos += 1;
        let name = self.word();
        let ends = self.blank_or_end(0)
            || matches!(self.byte(0), Some(b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`'));
        if name.is_empty() || !ends {
            return self.refuse("did not find expected alphabetic or numeric character");
        }
        self.push(out, kind, start, NONE);
        Ok(())
    }

    pub(super) fn tag(&mut self, out: &mut Vec<Lexeme>, column: u32) -> ScanResult<()> {
        self.save_simple_key(out, column)?;
        self.simple_key_allowed = false;
        let start = self.pos;
        let (handle, suffix) = if self.byte(1) == Some(b'<') {
            self.pos += 2;
            let suffix = self.tag_uri("")?;
            if self.byte(0) != Some(b'>') {
                return self.refuse("did not find the expected '>'");
            }
            self.pos += 1;
            (String::new(), suffix)
        } else {
            let handle = self.tag_handle()?;
            if handle.len() > 1 && handle.ends_with('!') {
                let suffix = self.tag_uri("")?;
                (handle.to_owned(), suffix)
            } else {
                match self.tag_uri(handle)? {
                    suffix if suffix.is_empty() => (String::new(), "!".to_owned()),
                    suffix => ("!".to_owned(), suffix),
                }
            }
        };
        if !self.blank_or_end(0) {
            return self.refuse("did not find expected whitespace or line break");
        }
        self.names.push((handle.into(), suffix.into()));
        self.push(out, Kind::Tag, start, self.names.len() as u32 - 1);
        Ok(())
    }

    /// `!`, `!word!`, or `!word` which is the start of a suffix.
    fn tag_handle(&mut self) -> ScanResult<&'t str> {
        if self.byte(0) != Some(b'!') {
            return self.refuse("did not find expected '!'");
        }
        let start = self.pos;
        self.pos += 1;
        self.word();
        if self.byte(0) == Some(b'!') {
            self.pos += 1;
        }
        Ok(&self.text[start..self.pos])
    }

    /// The rest of a tag after `head`, of which the `!` is left out.
    fn tag_uri(&mut self, head: &str) -> ScanResult<String> {
        let mut uri = head.get(1..).unwrap_or("").as_bytes().to_vec();
        let mut found = !head.is_empty();
        while let Some(byte) = self.byte(0) {
            match byte {
                b'%' => uri.extend(self.uri_escape()?),
                _ if is_word(byte) || b";/?:@&=+$,.!~*'()[]".contains(&byte) => {
                    uri.push(byte);
                    self.pos += 1;
                }
                _ => break,
            }
            found = true;
        }
        if !found {
            return self.refuse("did not find expected tag URI");
        }
        Ok(String::from_utf8_lossy(&uri).into_owned())
    }

    /// One character written as `%xx` octets.
    fn uri_escape(&mut self) -> ScanResult<Vec<u8>> {
        let mut octets: Vec<u8> = Vec::new();
        let mut width = 1;
        while octets.len() < width {
            let digits = self.text.get(self.pos + 1..self.pos + 3).filter(|_| self.byte(0) == Some(b'%'));
            let Some(octet) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) else {
                return self.refuse("did not find URI escaped octet");
            };
            if octets.is_empty() {
                width = match octet {
                    0..=0x7f => 1,
                    0xc0..=0xdf => 2,
                    0xe0..=0xef => 3,
                    0xf0..=0xf7 => 4,
                    _ => return self.refuse("found an incorrect leading UTF-8 octet"),
                };
            } else if octet & 0xc0 != 0x80 {
                return self.refuse("found an incorrect trailing UTF-8 octet");
            }
            octets.push(octet);
            self.pos += 3;
        }
        Ok(octets)
    }

    pub(super) fn block_scalar(&mut self, out: &mut Vec<Lexeme>, style: ScalarStyle) -> ScanResult<()> {
        self.drop_simple_key()?;
        self.simple_key_allowed = true;
        let start = self.pos;
        self.pos += 1;
        let header = scalar::block_header(self.bytes, self.pos)
            .map_err(|message| ScanRefusal::at(message, self.pos))?;
        self.pos = header.end;
        self.rest_of_line()?;
        let block = scalar::block(self.text, self.bytes, self.pos, &header, style, self.indent)
            .map_err(|(message, offset)| ScanRefusal::at(message, offset))?;
        self.pos = block.next;
        self.line_start = block.line_start;
        let extra = self.keep(Some(block.value));
        let end = block.content_end.unwrap_or(header.end) as u32;
        out.push(Lexeme { kind: Kind::Scalar(style), start: start as u32, end, extra });
        Ok(())
    }

    pub(super) fn quoted(
        &mut self,
        out: &mut Vec<Lexeme>,
        style: ScalarStyle,
        column: u32,
    ) -> ScanResult<()> {
        self.save_simple_key(out, column)?;
        self.simple_key_allowed = false;
        let start = self.pos;
        let quoted = match scalar::quoted(self.text, self.bytes, start, style) {
            Ok(quoted) => quoted,
            Err((message, offset)) => {
                self.quotes.push((start as u32, None));
                return Err(ScanRefusal::at(message, offset));
            }
        };
        self.pos = quoted.next;
        self.behind_scalar = quoted.next;
        if let Some(line_start) = quoted.line_start {
            self.line_start = line_start;
            self.quotes.push((start as u32, Some(quoted.end as u32)));
        }
        let extra = self.keep(quoted.value);
        self.push(out, Kind::Scalar(style), start, extra);
        Ok(())
    }

    pub(super) fn plain(&mut self, out: &mut Vec<Lexeme>, column: u32) -> ScanResult<()> {
        self.save_simple_key(out, column)?;
        self.simple_key_allowed = false;
        let start = self.pos;
        let plain = scalar::plain(self.text, self.bytes, start, self.indent, self.flow_level > 0)
            .map_err(|(message, offset)| ScanRefusal::at(message, offset))?;
        let extra = self.keep(plain.value);
        self.pos = plain.next;
        self.behind_scalar = plain.next;
        if let Some(line_start) = plain.line_start {
            self.line_start = line_start;
        }
        // The blanks behind it held a line break.
        self.simple_key_allowed = plain.breaks_behind;
        let end = plain.end as u32;
        out.push(Lexeme { kind: Kind::Scalar(ScalarStyle::Plain), start: start as u32, end, extra });
        Ok(())
    }
}
