//! Go's regular expressions, matched by the `regex` crate.
//!
//! The controllers compile the patterns of Alerts, ImagePolicies and
//! replacements with Go's package `regexp`. Both engines descend from RE2 and
//! match in linear time, but the grammars differ: Go has `\Q…\E`, octal escapes
//! and duplicate group names, reads `[a&&b]` and `\<` literally, and keeps
//! `\w`, `\d`, `\s`, `\b` to ASCII; it refuses `a**`, `(?x)` and counts above
//! 1000. So a pattern is parsed by Go's rules and written anew in the crate's
//! syntax. Only whether a text matches is asked, never where, so groups lose
//! their names and repetitions their greed.

use rustc_hash::{FxBuildHasher, FxHashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// Patterns above this many bytes are not judged.
const MAX_PATTERN: usize = 1 << 16;
/// Bytes that a compiled pattern may take; more is not judged.
const MAX_PROGRAM: usize = 1 << 22;
/// Go's limit of repetition counts, and of products of nested ones.
const MAX_REPEAT: u32 = 1000;
/// Go's limit of an expression's height. A group is a level, its content another.
const MAX_CAPTURE_DEPTH: usize = 999;

/// A regular expression that Go accepts.
#[derive(Debug, Clone)]
pub struct GoRegexp {
    regex: regex::Regex,
}

/// Why there is no [`GoRegexp`] for a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegexpError {
    /// Go refuses the pattern; the text is Go's.
    #[error("{0}")]
    Rejected(String),
    /// Whether Go accepts the pattern, or what it matches, is not known here.
    #[error("{0}")]
    Unknown(String),
}

/// As [`GoRegexp`], telling where it matches: groups capture and laziness counts.
#[derive(Debug, Clone)]
pub(crate) struct GoFinder {
    /// Matches as Go's does, leftmost first.
    pub(crate) regex: regex::bytes::Regex,
    /// Names of groups, with their numbers.
    pub(crate) names: Vec<(String, usize)>,
    /// About how many instructions it has.
    pub(crate) size: usize,
}

/// Compiled patterns that the process keeps. To compile one takes longer than most matches,
/// and the templates of a chart ask the same ones for each release.
static FINDERS: Mutex<FxHashMap<Box<str>, Arc<GoFinder>>> = Mutex::new(FxHashMap::with_hasher(FxBuildHasher));
/// How many there are at most, each no larger than [`SMALL`].
const FINDERS_KEPT: usize = 256;
/// Instructions of a pattern that is kept.
const SMALL: usize = 20_000;

impl GoFinder {
    /// [`GoFinder::new`], compiled once for the whole process unless it is large.
    pub(crate) fn kept(pattern: &str) -> Result<Arc<GoFinder>, RegexpError> {
        let finders = || FINDERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = finders().get(pattern) {
            return Ok(known.clone());
        }
        let finder = Arc::new(GoFinder::new(pattern)?);
        if finder.is_small() {
            let mut finders = finders();
            if finders.len() >= FINDERS_KEPT {
                finders.clear();
            }
            finders.insert(pattern.into(), finder.clone());
        }
        Ok(finder)
    }

    /// Whether it may be kept.
    pub(crate) fn is_small(&self) -> bool {
        self.size <= SMALL
    }

    /// Compiles a pattern as Go's `regexp.Compile` would.
    fn new(pattern: &str) -> Result<GoFinder, RegexpError> {
        if pattern.len() > MAX_PATTERN {
            return Err(RegexpError::Unknown(format!("patterns above {MAX_PATTERN} bytes are not judged")));
        }
        let mut parser = Parser::new(pattern);
        parser.finds = true;
        let (whole, names) = parser.parse_named()?;
        let size = whole.text.len().saturating_mul(whole.weight as usize);
        regex::bytes::RegexBuilder::new(&whole.text)
            .size_limit(MAX_PROGRAM)
            .build()
            .map(|regex| GoFinder { regex, names, size })
            .map_err(|error| RegexpError::Unknown(format!("not judged: {error}")))
    }
}

impl GoRegexp {
    /// Compiles a pattern as Go's `regexp.Compile` would.
    ///
    /// Mirrors the parser of Go's `regexp/syntax` with the flags of
    /// `syntax.Perl`, its error texts included.
    pub fn new(pattern: &str) -> Result<Self, RegexpError> {
        regex::RegexBuilder::new(&GoRegexp::translate(pattern)?)
            .size_limit(MAX_PROGRAM)
            .build()
            .map(|regex| GoRegexp { regex })
            .map_err(|error| RegexpError::Unknown(format!("not judged: {error}")))
    }

    /// Go's words for a pattern that it refuses. Nothing is compiled for it.
    pub fn rejection(pattern: &str) -> Option<String> {
        match GoRegexp::translate(pattern) {
            Err(RegexpError::Rejected(error)) => Some(error),
            _ => None,
        }
    }

    fn translate(pattern: &str) -> Result<String, RegexpError> {
        if pattern.len() > MAX_PATTERN {
            return Err(RegexpError::Unknown(format!("patterns above {MAX_PATTERN} bytes are not judged")));
        }
        Parser::new(pattern).parse()
    }

    /// Whether the pattern matches anywhere in `text`, as Go's `MatchString`.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

/// What Go finds wrong, with the part of the pattern that it quotes.
fn reject<T>(what: &str, part: &str) -> Result<T, RegexpError> {
    Err(RegexpError::Rejected(format!("error parsing regexp: {what}: `{part}`")))
}

const BAD_ESCAPE: &str = "invalid escape sequence";
const BAD_RANGE: &str = "invalid character class range";
const BAD_REPEAT: &str = "invalid repeat count";
const BAD_NAME: &str = "invalid named capture";

#[derive(Clone, Copy, Default)]
struct Flags {
    fold_case: bool,
    multi_line: bool,
    dot_matches_newline: bool,
    lazy: bool,
}

/// One translated piece of a concatenation.
struct Term {
    text: String,
    /// Whether a repetition operator can follow `text` as it is.
    atom: bool,
    /// The largest product of nested repetition counts within.
    weight: u32,
}

impl Term {
    fn atom(text: String) -> Self {
        Term { text, atom: true, weight: 1 }
    }
}

/// An open group, or the whole pattern.
#[derive(Default)]
struct Group {
    /// The translated alternatives before the current one.
    finished: Vec<String>,
    terms: Vec<Term>,
    /// The heaviest term of the finished alternatives.
    weight: u32,
    /// The flags to go back to when the group ends.
    outer_flags: Flags,
    captures: bool,
}

impl Group {
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

struct Parser<'p> {
    pattern: &'p str,
    /// What is still to be read.
    rest: &'p str,
    flags: Flags,
    outer: Vec<Group>,
    group: Group,
    capture_depth: usize,
    too_deep: bool,
    /// Whether groups capture and laziness counts.
    finds: bool,
    captures: usize,
    names: Vec<(String, usize)>,
}

impl<'p> Parser<'p> {
    fn new(pattern: &'p str) -> Self {
        Parser {
            pattern,
            rest: pattern,
            flags: Flags::default(),
            outer: Vec::new(),
            group: Group::default(),
            capture_depth: 0,
            too_deep: false,
            finds: false,
            captures: 0,
            names: Vec::new(),
        }
    }

    fn parse(self) -> Result<String, RegexpError> {
        self.parse_named().map(|(whole, _)| whole.text)
    }

    /// The translated pattern, and the names of its groups.
    fn parse_named(mut self) -> Result<(Term, Vec<(String, usize)>), RegexpError> {
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
                '{' => match parse_counts(before) {
                    None => {
                        self.rest = &before[1..];
                        self.literal('{');
                    }
                    Some((min, max, after)) => {
                        let written = &before[..before.len() - after.len()];
                        if min > MAX_REPEAT || max.is_some_and(|max| max > MAX_REPEAT || min > max) {
                            return reject(BAD_REPEAT, written);
                        }
                        self.rest = after;
                        self.repeat(written, min, max, before, last_repeat)?;
                        repeat = Some(before);
                    }
                },
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
    fn repeat(
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

/// A class that no character is in.
const NOTHING: &str = r"[^\x{0}-\x{10FFFF}]";

fn code_point(c: char) -> String {
    format!(r"\x{{{:X}}}", u32::from(c))
}

/// Adds a range to the items of a class. Surrogates may be written in Go; no
/// text holds any, so they are cut off at both ends.
fn push_range(items: &mut String, low: u32, high: u32) {
    let low = if (0xD800..0xE000).contains(&low) { 0xE000 } else { low };
    let high = if (0xD800..0xE000).contains(&high) { 0xD7FF } else { high };
    if low <= high {
        items.push_str(&format!(r"\x{{{low:X}}}-\x{{{high:X}}}"));
    }
}

fn parse_octal(first: char, rest: &mut std::str::Chars<'_>) -> Option<u32> {
    let mut code = first.to_digit(8)?;
    for position in 1..3 {
        match rest.clone().next().and_then(|c| c.to_digit(8)) {
            Some(digit) => {
                code = code * 8 + digit;
                rest.next();
            }
            // A single digit from 1 to 7 would be a backreference.
            None if position == 1 && first != '0' => return None,
            None => break,
        }
    }
    Some(code)
}

fn parse_hexadecimal(rest: &mut std::str::Chars<'_>) -> Option<u32> {
    let first = rest.next()?;
    if first != '{' {
        let second = rest.next()?;
        return Some(first.to_digit(16)? * 16 + second.to_digit(16)?);
    }
    let mut code = None;
    loop {
        let c = rest.next()?;
        if c == '}' {
            return code;
        }
        let value = code.unwrap_or(0) * 16 + c.to_digit(16)?;
        if value > u32::from(char::MAX) {
            return None;
        }
        code = Some(value);
    }
}

/// `{n}`, `{n,}` or `{n,m}` at the front: the counts and what follows. Anything
/// else is a literal brace to Go, `{,m}` included.
fn parse_counts(text: &str) -> Option<(u32, Option<u32>, &str)> {
    let (min, rest) = parse_count(text.strip_prefix('{')?)?;
    if let Some(after) = rest.strip_prefix('}') {
        return Some((min, Some(min), after));
    }
    let rest = rest.strip_prefix(',')?;
    if let Some(after) = rest.strip_prefix('}') {
        return Some((min, None, after));
    }
    let (max, rest) = parse_count(rest)?;
    Some((min, Some(max), rest.strip_prefix('}')?))
}

/// A count without leading zeros; one too large stays above every limit.
fn parse_count(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    Some((digits.parse().unwrap_or(u32::MAX), rest))
}

fn is_posix_class(name: &str) -> bool {
    matches!(
        name.strip_prefix('^').unwrap_or(name),
        "alnum"
            | "alpha"
            | "ascii"
            | "blank"
            | "cntrl"
            | "digit"
            | "graph"
            | "lower"
            | "print"
            | "punct"
            | "space"
            | "upper"
            | "word"
            | "xdigit"
    )
}

enum Property {
    /// The items of a class in the crate's syntax.
    Class(String),
    No,
    Unknown,
}

/// Finds a Unicode category or script by the name that Go knows it by.
///
/// Go has the general categories with their long names, the scripts by their
/// long names only, and `Any`, `ASCII`, `Assigned`; no other properties and no
/// `name=value`. The crate knows all of these names and more.
fn property(name: &str) -> Property {
    let plain: String =
        name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).map(|c| c.to_ascii_lowercase()).collect();
    let well_formed = !plain.is_empty() && plain.bytes().all(|b| b.is_ascii_alphanumeric());
    // The crate ignores a prefix `is`, as no name of Go's begins.
    if !well_formed || plain.starts_with("is") {
        return Property::No;
    }
    match &*plain {
        "any" => return Property::Class(r"\x{0}-\x{10FFFF}".into()),
        "ascii" => return Property::Class(r"\x{0}-\x{7F}".into()),
        // Only surrogates, which are in no text.
        "cs" | "surrogate" => return Property::Class(NOTHING.into()),
        // Scripts of Unicode 17, which not every Go in use has.
        "beriaerfe" | "sidetic" | "taiyo" | "tolongsiki" => return Property::Unknown,
        _ => {}
    }
    // All short names of scripts have four letters; these are also long names.
    let short = plain.len() == 4 && !matches!(&*plain, "cham" | "kawi" | "lisu" | "newa" | "thai" | "toto");
    for candidate in [format!(r"\p{{gc={plain}}}"), format!(r"\p{{sc={plain}}}")] {
        let is_script = candidate.starts_with(r"\p{sc");
        if !(is_script && short) && regex::Regex::new(&candidate).is_ok() {
            return Property::Class(candidate);
        }
    }
    Property::No
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_only_go_reads() {
        for (pattern, text, matches) in [
            (r"[a&&b]", "&", true),
            (r"[[ab]c]", "[c]", true),
            (r"\<word\>", "<word>", true),
            (r"\Qa.b\E+", "a.bbb", true),
            (r"\Qa.b\E+", "axb", false),
            (r"\101", "A", true),
            (r"a(?i)*b", "B", true),
            (r"(?P<n>a)(?P<n>b)", "ab", true),
            (r"\d", "\u{0663}", false),
            (r"\bé", "é", false),
            (r"(?i)\W", "\u{212A}", false),
            (r"[\x{D800}-\x{DFFF}]", "\u{E000}", false),
            (r"[^\x{D800}]", "a", true),
            ("a{,5}", "a{,5}", true),
        ] {
            let regexp = GoRegexp::new(pattern).unwrap();
            assert_eq!(regexp.is_match(text), matches, "{pattern} on {text:?}");
        }
    }

    #[test]
    fn refuses_what_go_refuses() {
        for (pattern, error) in [
            ("a**", "invalid nested repetition operator: `**`"),
            ("x{2,1}", "invalid repeat count: `{2,1}`"),
            ("((x{10}){10}){11}", "invalid repeat count: `{11}`"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
            ("(a", "missing closing ): `(a`"),
            (r"\p{Emoji}", r"invalid character class range: `\p{Emoji}`"),
            (r"\1", r"invalid escape sequence: `\1`"),
        ] {
            assert_eq!(
                GoRegexp::new(pattern).unwrap_err(),
                RegexpError::Rejected(format!("error parsing regexp: {error}"))
            );
        }
    }

    #[test]
    fn huge_patterns_are_unknown() {
        for pattern in ["a".repeat(MAX_PATTERN + 1), r"\pL{1000}".repeat(100)] {
            assert!(matches!(GoRegexp::new(&pattern), Err(RegexpError::Unknown(_))));
        }
    }

    #[test]
    fn hostile_patterns_neither_panic_nor_nest() {
        for piece in ["(", "(?:", "[", "[^", "(?i)", r"\Q", r"\x{", "{", "a{1,", "|"] {
            let _ = GoRegexp::new(&piece.repeat(20_000));
        }
        assert!(GoRegexp::new(&format!("{}a{}", "(?:".repeat(5000), ")".repeat(5000))).is_ok());
    }
}
