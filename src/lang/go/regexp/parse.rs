//! The parser: Go's grammar to an expression that the `regex` crate takes.

use super::classes::{
    NOTHING, Property, code_point, is_posix_class, parse_counts, parse_hexadecimal, parse_octal, property,
    push_range,
};
use super::{
    BAD_ESCAPE, BAD_NAME, BAD_RANGE, BAD_REPEAT, MAX_CAPTURE_DEPTH, MAX_REPEAT, RegexpError, reject,
};

pub(super) struct Parser<'p> {
    pub(super) pattern: &'p str,
    /// What is still to be read.
    pub(super) rest: &'p str,
    flags: Flags,
    outer: Vec<OpenGroup>,
    group: OpenGroup,
    capture_depth: usize,
    too_deep: bool,
    /// Whether groups capture and laziness counts.
    pub(super) finds: bool,
    captures: usize,
    pub(super) names: Vec<(String, usize)>,
}

impl<'p> Parser<'p> {
    pub(super) fn new(pattern: &'p str) -> Self {
        Parser {
            pattern,
            rest: pattern,
            flags: Flags::default(),
            outer: Vec::new(),
            group: OpenGroup::default(),
            capture_depth: 0,
            too_deep: false,
            finds: false,
            captures: 0,
            names: Vec::new(),
        }
    }

    pub(super) fn parse(self) -> Result<String, RegexpError> {
        self.parse_named().map(|(whole, _)| whole.text)
    }

    /// The translated pattern, and the names of its groups.
    pub(super) fn parse_named(mut self) -> Result<(Term, Vec<(String, usize)>), RegexpError> {
        // Where a repetition operator that was just read began.
        let mut last_repeat: Option<&str> = None;
        while let Some(c) = self.rest.chars().next() {
            let before = self.rest;
            let mut repeat = None;
            match c {
                '(' if before[1..].starts_with('?') => self.parse_flags()?,
                '(' => {
                    self.rest = &before[1..];
                    self.open_group(self.flags, true);
                }
                ')' => {
                    self.rest = &before[1..];
                    self.close_group()?;
                }
                '|' => {
                    self.rest = &before[1..];
                    self.group.finish_alternative();
                }
                '*' | '+' | '?' => {
                    self.rest = &before[1..];
                    let (min, max) = match c {
                        '*' => (0, None),
                        '+' => (1, None),
                        _ => (0, Some(1)),
                    };
                    self.repeat(&before[..1], min, max, before, last_repeat)?;
                    repeat = Some(before);
                }
                '{' => repeat = self.counted(before, last_repeat)?,
                '^' => self.assertion(1, if self.flags.multi_line { "(?m:^)" } else { r"\A" }),
                '$' => self.assertion(1, if self.flags.multi_line { "(?m:$)" } else { r"\z" }),
                '.' => {
                    let any = self.flags.dot_matches_newline;
                    self.assertion(1, if any { "(?s:.)" } else { "." });
                }
                '[' => {
                    let class = self.parse_class()?;
                    self.push_folded(&class);
                }
                '\\' => self.parse_backslash()?,
                _ => {
                    self.rest = &before[c.len_utf8()..];
                    self.literal(c);
                }
            }
            last_repeat = repeat;
        }
        if self.too_deep {
            return reject("expression nests too deeply", self.pattern);
        }
        if !self.outer.is_empty() {
            return reject("missing closing )", self.pattern);
        }
        Ok((self.group.into_term(self.finds), self.names))
    }

    /// What begins with `{`: a repeat count, or the character. Gives where a count began.
    fn counted(
        &mut self,
        before: &'p str,
        last_repeat: Option<&str>,
    ) -> Result<Option<&'p str>, RegexpError> {
        match parse_counts(before) {
            None => {
                self.rest = &before[1..];
                self.literal('{');
                Ok(None)
            }
            Some((min, max, after)) => {
                let written = &before[..before.len() - after.len()];
                if min > MAX_REPEAT || max.is_some_and(|max| max > MAX_REPEAT || min > max) {
                    return reject(BAD_REPEAT, written);
                }
                self.rest = after;
                self.repeat(written, min, max, before, last_repeat)?;
                Ok(Some(before))
            }
        }
    }

    fn open_group(&mut self, outer_flags: Flags, captures: bool) {
        let outer = std::mem::take(&mut self.group);
        self.outer.push(outer);
        self.group.outer_flags = outer_flags;
        self.group.captures = captures;
        if captures {
            self.captures += 1;
            self.capture_depth += 1;
            self.too_deep |= self.capture_depth > MAX_CAPTURE_DEPTH;
        }
    }

    fn close_group(&mut self) -> Result<(), RegexpError> {
        let Some(outer) = self.outer.pop() else {
            return reject("unexpected )", self.pattern);
        };
        let inner = std::mem::replace(&mut self.group, outer);
        self.flags = inner.outer_flags;
        self.capture_depth -= usize::from(inner.captures);
        self.group.terms.push(inner.into_term(self.finds));
        Ok(())
    }

    /// What follows `(?`: a named group, flags, or flags with a group.
    fn parse_flags(&mut self) -> Result<(), RegexpError> {
        let start = self.rest;
        let named = (start.strip_prefix("(?P<").filter(|name| !name.is_empty()))
            .or_else(|| start.strip_prefix("(?<").filter(|name| !name.is_empty()));
        if let Some(after) = named {
            let Some((name, rest)) = after.split_once('>') else {
                return reject(BAD_NAME, start);
            };
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                return reject(BAD_NAME, &start[..start.len() - rest.len()]);
            }
            self.rest = rest;
            self.open_group(self.flags, true);
            self.names.push((name.to_owned(), self.captures));
            return Ok(());
        }
        let mut flags = self.flags;
        let mut value = true;
        let mut saw_flag = false;
        let mut rest = start[2..].chars();
        while let Some(c) = rest.next() {
            match c {
                'i' => flags.fold_case = value,
                'm' => flags.multi_line = value,
                's' => flags.dot_matches_newline = value,
                'U' => flags.lazy = value,
                '-' if value => {
                    value = false;
                    saw_flag = false;
                    continue;
                }
                ':' | ')' if value || saw_flag => {
                    if c == ':' {
                        self.open_group(self.flags, false);
                    }
                    self.flags = flags;
                    self.rest = rest.as_str();
                    return Ok(());
                }
                _ => break,
            }
            saw_flag = true;
        }
        let read = start.len() - rest.as_str().len();
        reject("invalid or unsupported Perl syntax", &start[..read])
    }

    /// Applies a repetition to the term before it. `operator` is its text
    /// without a `?` for laziness, `before` the pattern from there on.
    pub(super) fn repeat(
        &mut self,
        operator: &str,
        min: u32,
        max: Option<u32>,
        before: &str,
        last_repeat: Option<&str>,
    ) -> Result<(), RegexpError> {
        let after = self.rest.strip_prefix('?');
        let lazy = if self.finds && (after.is_some() != self.flags.lazy) { "?" } else { "" };
        self.rest = after.unwrap_or(self.rest);
        if let Some(last) = last_repeat {
            let both = &last[..last.len() - self.rest.len()];
            return reject("invalid nested repetition operator", both);
        }
        let written = &before[..before.len() - self.rest.len()];
        let Some(term) = self.group.terms.pop() else {
            return reject("missing argument to repetition operator", written);
        };
        let mut weight = term.weight;
        if operator.starts_with('{') {
            weight = match max.unwrap_or(min) {
                0 if max.is_some() => 1,
                0 => weight,
                times => weight * times,
            };
            if (min >= 2 || max.is_some_and(|max| max >= 2)) && weight > MAX_REPEAT {
                return reject(BAD_REPEAT, written);
            }
        }
        let text = if term.atom {
            format!("{}{operator}{lazy}", term.text)
        } else {
            format!("(?:{}){operator}{lazy}", term.text)
        };
        self.group.terms.push(Term { text, atom: false, weight });
        Ok(())
    }

    /// Takes `length` bytes of the pattern for something without an argument.
    fn assertion(&mut self, length: usize, text: &str) {
        self.rest = &self.rest[length..];
        self.group.terms.push(Term::atom(text.to_string()));
    }

    fn literal(&mut self, c: char) {
        self.push_folded(&code_point(c));
    }

    /// Adds a character or class, matched without regard to case under `(?i)`.
    fn push_folded(&mut self, text: &str) {
        let text = if self.flags.fold_case { format!("(?i:{text})") } else { text.to_string() };
        self.group.terms.push(Term::atom(text));
    }

    /// An escape outside of a class.
    fn parse_backslash(&mut self) -> Result<(), RegexpError> {
        let start = self.rest;
        match start.as_bytes().get(1) {
            Some(b'A') => self.assertion(2, r"\A"),
            Some(b'z') => self.assertion(2, r"\z"),
            Some(b'b') => self.assertion(2, r"(?-u:\b)"),
            Some(b'B') => self.assertion(2, r"(?-u:\B)"),
            Some(b'Q') => {
                let (quoted, rest) = start[2..].split_once(r"\E").unwrap_or((&start[2..], ""));
                self.rest = rest;
                quoted.chars().for_each(|c| self.literal(c));
            }
            _ => {
                if let Some(class) = self.parse_class_escape()? {
                    self.push_folded(&class);
                } else {
                    let code = self.parse_escape()?;
                    match char::from_u32(code) {
                        Some(c) => self.literal(c),
                        None => self.group.terms.push(Term::atom(NOTHING.to_string())),
                    }
                }
            }
        }
        Ok(())
    }

    /// `\d`, `\pL` and their kind, as a class of the crate's syntax; nothing if
    /// the escape at hand is another.
    fn parse_class_escape(&mut self) -> Result<Option<String>, RegexpError> {
        let start = self.rest;
        let class = match start.as_bytes().get(1) {
            Some(b'd') => "[0-9]",
            Some(b'D') => "[^0-9]",
            Some(b's') => r"[\t\n\x0C\r ]",
            Some(b'S') => r"[^\t\n\x0C\r ]",
            Some(b'w') => "[0-9A-Za-z_]",
            Some(b'W') => "[^0-9A-Za-z_]",
            Some(b'p' | b'P') => return self.parse_property().map(Some),
            _ => return Ok(None),
        };
        self.rest = &start[2..];
        Ok(Some(class.to_string()))
    }

    /// `\pN`, `\p{Name}`, `\P{Name}`, `\p{^Name}`.
    fn parse_property(&mut self) -> Result<String, RegexpError> {
        let start = self.rest;
        let mut negated = start.as_bytes()[1] == b'P';
        let (written, mut name) = if start[2..].starts_with('{') {
            match start.find('}') {
                None => return reject(BAD_RANGE, start),
                Some(end) => (&start[..=end], &start[3..end]),
            }
        } else {
            let letter = start[2..].chars().next().map_or(0, char::len_utf8);
            (&start[..2 + letter], &start[2..2 + letter])
        };
        if let Some(rest) = name.strip_prefix('^') {
            negated = !negated;
            name = rest;
        }
        self.rest = &start[written.len()..];
        match property(name) {
            Property::Class(class) if negated => Ok(format!("[^{class}]")),
            Property::Class(class) => Ok(format!("[{class}]")),
            Property::No => reject(BAD_RANGE, written),
            Property::Unknown => {
                Err(RegexpError::Unknown(format!("whether Go knows {written} depends on its version")))
            }
        }
    }

    /// An escape that stands for one code point, which may be a surrogate.
    fn parse_escape(&mut self) -> Result<u32, RegexpError> {
        let start = self.rest;
        let mut rest = start[1..].chars();
        let Some(c) = rest.next() else {
            return reject("trailing backslash at end of expression", "");
        };
        let code = match c {
            '0'..='7' => parse_octal(c, &mut rest),
            'x' => parse_hexadecimal(&mut rest),
            'a' => Some(7),
            'f' => Some(12),
            'n' => Some(10),
            'r' => Some(13),
            't' => Some(9),
            'v' => Some(11),
            _ if c.is_ascii() && !c.is_ascii_alphanumeric() => Some(u32::from(c)),
            _ => None,
        };
        let rest = rest.as_str();
        match code {
            None => reject(BAD_ESCAPE, &start[..start.len() - rest.len()]),
            Some(code) => {
                self.rest = rest;
                Ok(code)
            }
        }
    }

    /// `[…]`, as a class of the crate's syntax. Ranges are written as escapes,
    /// so that nothing of the crate's own class syntax can appear in them.
    fn parse_class(&mut self) -> Result<String, RegexpError> {
        let start = self.rest;
        self.rest = &start[1..];
        let negated = self.rest.starts_with('^');
        if negated {
            self.rest = &self.rest[1..];
        }
        let mut items = String::new();
        let mut first = true;
        while first || !self.rest.starts_with(']') {
            first = false;
            let item = self.rest;
            if item.starts_with("[:")
                && let Some(end) = item[2..].find(":]")
            {
                let name = &item[..end + 4];
                if !is_posix_class(&item[2..end + 2]) {
                    return reject(BAD_RANGE, name);
                }
                items.push_str(name);
                self.rest = &item[name.len()..];
                continue;
            }
            if item.starts_with('\\')
                && let Some(class) = self.parse_class_escape()?
            {
                items.push_str(&class);
                continue;
            }
            let low = self.parse_class_char(start)?;
            let mut high = low;
            if self.rest.len() >= 2 && self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                self.rest = &self.rest[1..];
                high = self.parse_class_char(start)?;
                if high < low {
                    return reject(BAD_RANGE, &item[..item.len() - self.rest.len()]);
                }
            }
            push_range(&mut items, low, high);
        }
        self.rest = &self.rest[1..];
        Ok(match (negated, items.is_empty()) {
            (false, true) => NOTHING.to_string(),
            (true, true) => "(?s:.)".to_string(),
            (false, false) => format!("[{items}]"),
            (true, false) => format!("[^{items}]"),
        })
    }

    /// `class` is the text from the class's bracket on.
    fn parse_class_char(&mut self, class: &str) -> Result<u32, RegexpError> {
        match self.rest.chars().next() {
            None => reject("missing closing ]", class),
            Some('\\') => self.parse_escape(),
            Some(c) => {
                self.rest = &self.rest[c.len_utf8()..];
                Ok(u32::from(c))
            }
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Flags {
    fold_case: bool,
    multi_line: bool,
    dot_matches_newline: bool,
    lazy: bool,
}

/// One translated piece of a concatenation.
pub(super) struct Term {
    pub(super) text: String,
    /// Whether a repetition operator can follow `text` as it is.
    atom: bool,
    /// The largest product of nested repetition counts within.
    pub(super) weight: u32,
}

impl Term {
    fn atom(text: String) -> Self {
        Term { text, atom: true, weight: 1 }
    }
}

/// An open group, or the whole pattern.
#[derive(Default)]
struct OpenGroup {
    /// The translated alternatives before the current one.
    finished: Vec<String>,
    terms: Vec<Term>,
    /// The heaviest term of the finished alternatives.
    pub(super) weight: u32,
    /// The flags to go back to when the group ends.
    outer_flags: Flags,
    captures: bool,
}

impl OpenGroup {
    fn finish_alternative(&mut self) {
        let terms = std::mem::take(&mut self.terms);
        self.weight = terms.iter().map(|term| term.weight).fold(self.weight, u32::max);
        self.finished.push(terms.into_iter().map(|term| term.text).collect());
    }

    /// The whole group as one term; brackets only where they are needed, so
    /// that `((((a))))` does not nest.
    fn into_term(mut self, finds: bool) -> Term {
        let captures = finds && self.captures;
        if !captures
            && self.finished.is_empty()
            && self.terms.len() == 1
            && let Some(term) = self.terms.pop()
        {
            return term;
        }
        self.finish_alternative();
        let open = if captures { "(" } else { "(?:" };
        Term { text: format!("{open}{})", self.finished.join("|")), atom: true, weight: self.weight.max(1) }
    }
}
