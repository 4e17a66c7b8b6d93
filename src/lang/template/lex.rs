//! Text to tokens, as Go's `text/template/parse/lex.go` cuts it.

use super::source::Span;
use memchr::memmem::Finder;

/// What a token is; as wide as the numbers beside it, with which it is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Kind {
    Error,
    Bool,
    /// A printable ASCII character that means nothing by itself, such as a comma.
    Char,
    CharConstant,
    Comment,
    Complex,
    Assign,
    Declare,
    Eof,
    Field,
    Identifier,
    LeftDelim,
    LeftParen,
    Number,
    Pipe,
    RawString,
    RightDelim,
    RightParen,
    Space,
    String,
    Text,
    Variable,
    Block,
    Break,
    Continue,
    Dot,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

impl Kind {
    fn is_keyword(self) -> bool {
        use Kind::*;
        matches!(
            self,
            Block | Break | Continue | Dot | Define | Else | End | If | Nil | Range | Template | With
        )
    }

    fn of_word(word: &str) -> Kind {
        match word {
            "block" => Kind::Block,
            "break" => Kind::Break,
            "continue" => Kind::Continue,
            "define" => Kind::Define,
            "else" => Kind::Else,
            "end" => Kind::End,
            "if" => Kind::If,
            "nil" => Kind::Nil,
            "range" => Kind::Range,
            "template" => Kind::Template,
            "with" => Kind::With,
            "true" | "false" => Kind::Bool,
            _ => Kind::Identifier,
        }
    }
}

/// A token: what it is and where. What is wrong, of an error, the lexer knows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) kind: Kind,
    pub(super) span: Span,
}

/// What opens and closes an action.
#[derive(Clone, Debug)]
pub(crate) struct Delimiters {
    /// `{{` by default.
    pub(crate) left: String,
    /// `}}` by default.
    pub(crate) right: String,
}

impl Default for Delimiters {
    fn default() -> Delimiters {
        Delimiters { left: "{{".to_owned(), right: "}}".to_owned() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Text,
    LeftDelim,
    Inside,
    RightDelim,
    Ended,
}

/// The lexer: pulled token by token.
pub(super) struct Lexer<'t> {
    text: &'t str,
    delimiters: &'t Delimiters,
    /// Finds the left one.
    left: Finder<'t>,
    at: usize,
    start: usize,
    state: State,
    parens: usize,
    /// What is wrong, of the error that it gave last; it ends there until it is resumed.
    complaint: String,
}

/// `-` and the white space next to it.
const TRIM_MARKER: usize = 2;

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_space_byte(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\r' | b'\n')
}

/// Letters, digits (of any script) and the underscore, as Go's `unicode` tells them.
pub(super) fn is_alphanumeric(c: char) -> bool {
    c == '_' || if c.is_ascii() { c.is_ascii_alphanumeric() } else { is_letter_or_digit(c) }
}

fn is_letter_or_digit(c: char) -> bool {
    // Rust counts letter-like marks and numbers in; Go asks for L and Nd alone.
    static LETTER: std::sync::OnceLock<Option<regex::Regex>> = std::sync::OnceLock::new();
    let pattern = LETTER.get_or_init(|| regex::Regex::new(r"^[\p{L}\p{Nd}]$").ok());
    let mut buffer = [0; 4];
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(c.encode_utf8(&mut buffer)))
}

fn has_left_trim(bytes: &[u8]) -> bool {
    matches!(bytes, [b'-', second, ..] if is_space_byte(*second))
}

fn has_right_trim(bytes: &[u8]) -> bool {
    matches!(bytes, [first, b'-', ..] if is_space_byte(*first))
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str, delimiters: &'t Delimiters) -> Lexer<'t> {
        let (left, complaint) = (Finder::new(&delimiters.left), String::new());
        Lexer { text, delimiters, left, at: 0, start: 0, state: State::Text, parens: 0, complaint }
    }

    /// After a mistake: on behind the next closing delimiter, or to the end.
    pub(super) fn resume_after(&mut self, from: usize) {
        if self.state == State::Text || self.state == State::LeftDelim {
            return;
        }
        let from = from.max(self.start.min(self.at));
        let rest = &self.text[from..];
        let left = rest.find(&self.delimiters.left).filter(|at| *at > 0);
        let right = rest.find(&self.delimiters.right);
        let to = match (right, left) {
            (Some(right), Some(left)) if left < right => from + left,
            (Some(right), _) => from + right + self.delimiters.right.len(),
            (None, Some(left)) => from + left,
            (None, None) => self.text.len(),
        };
        self.at = to;
        self.start = to;
        self.parens = 0;
        self.state = State::Text;
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// [`Lexer::rest`], where nothing has to be known of characters: of most tokens.
    fn bytes(&self) -> &'t [u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn peek(&self) -> Option<char> {
        let first = *self.bytes().first()?;
        if first.is_ascii() { Some(char::from(first)) } else { self.rest().chars().next() }
    }

    fn next_char(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn accept(&mut self, valid: &str) -> bool {
        match self.peek() {
            Some(c) if valid.contains(c) => {
                self.at += c.len_utf8();
                true
            }
            _ => false,
        }
    }

    fn accept_run(&mut self, valid: &str) {
        while self.accept(valid) {}
    }

    fn item(&mut self, kind: Kind) -> Item {
        let span = Span::new(self.start, self.at);
        self.start = self.at;
        Item { kind, span }
    }

    fn error(&mut self, message: impl Into<String>) -> Item {
        self.state = State::Ended;
        let span = Span::new(self.start, self.at.max(self.start));
        self.complaint = message.into();
        Item { kind: Kind::Error, span }
    }

    pub(super) fn next_item(&mut self) -> Item {
        loop {
            let item = match self.state {
                State::Text => self.text_state(),
                State::LeftDelim => self.left_delim(),
                State::Inside => self.inside(),
                State::RightDelim => Some(self.right_delim()),
                State::Ended => {
                    self.start = self.at;
                    Some(self.item(Kind::Eof))
                }
            };
            if let Some(item) = item {
                return item;
            }
        }
    }

    fn text_state(&mut self) -> Option<Item> {
        let Some(found) = self.left.find(self.bytes()) else {
            self.at = self.text.len();
            if self.at > self.start {
                return Some(self.item(Kind::Text));
            }
            self.state = State::Ended;
            return Some(self.item(Kind::Eof));
        };
        self.state = State::LeftDelim;
        if found == 0 {
            return None;
        }
        let delimiter = self.at + found;
        let mut end = delimiter;
        if has_left_trim(&self.text.as_bytes()[delimiter + self.delimiters.left.len()..]) {
            end = self.start + self.text[self.start..delimiter].trim_end_matches(is_space).len();
        }
        self.at = end;
        let item = self.item(Kind::Text);
        self.at = delimiter;
        self.start = delimiter;
        (!item.span.is_empty()).then_some(item)
    }

    fn left_delim(&mut self) -> Option<Item> {
        self.at += self.delimiters.left.len();
        let marker = if has_left_trim(self.bytes()) { TRIM_MARKER } else { 0 };
        if self.text[self.at + marker..].starts_with("/*") {
            self.at += marker;
            self.start = self.at;
            return self.comment();
        }
        let item = self.item(Kind::LeftDelim);
        self.at += marker;
        self.start = self.at;
        self.parens = 0;
        self.state = State::Inside;
        Some(item)
    }

    fn comment(&mut self) -> Option<Item> {
        self.state = State::Inside;
        let Some(end) = self.text[self.at + 2..].find("*/") else {
            return Some(self.error("unclosed comment"));
        };
        self.at += 2 + end + 2;
        let (is_delim, trims) = self.at_right_delim();
        if !is_delim {
            return Some(self.error("comment ends before closing delimiter"));
        }
        let item = self.item(Kind::Comment);
        self.leave_action(trims);
        Some(item)
    }

    /// Behind the closing delimiter, whose token is made.
    fn leave_action(&mut self, trims: bool) {
        self.at += if trims { TRIM_MARKER } else { 0 } + self.delimiters.right.len();
        if trims {
            self.at += self.bytes().iter().take_while(|byte| is_space_byte(**byte)).count();
        }
        self.start = self.at;
        self.state = State::Text;
    }

    fn at_right_delim(&self) -> (bool, bool) {
        let (rest, right) = (self.bytes(), self.delimiters.right.as_bytes());
        if has_right_trim(rest) && rest[TRIM_MARKER..].starts_with(right) {
            return (true, true);
        }
        (rest.starts_with(right), false)
    }

    fn right_delim(&mut self) -> Item {
        let (_, trims) = self.at_right_delim();
        let marker = if trims { TRIM_MARKER } else { 0 };
        let start = self.at + marker;
        let span = Span::new(start, start + self.delimiters.right.len());
        self.leave_action(trims);
        Item { kind: Kind::RightDelim, span }
    }

    fn inside(&mut self) -> Option<Item> {
        let (is_delim, _) = self.at_right_delim();
        if is_delim {
            if self.parens == 0 {
                self.state = State::RightDelim;
                return None;
            }
            return Some(self.error("unclosed left paren"));
        }
        let Some(c) = self.next_char() else {
            return Some(self.error("unclosed action"));
        };
        Some(match c {
            c if is_space(c) => return self.space(),
            '=' => self.item(Kind::Assign),
            ':' => {
                if self.next_char() != Some('=') {
                    return Some(self.error("expected :="));
                }
                self.item(Kind::Declare)
            }
            '|' => self.item(Kind::Pipe),
            '"' => self.quoted('"', Kind::String, "unterminated quoted string"),
            '\'' => self.quoted('\'', Kind::CharConstant, "unterminated character constant"),
            '`' => self.raw_string(),
            '$' => self.field_or_variable(Kind::Variable),
            '.' if self.bytes().first().is_some_and(|next| !next.is_ascii_digit()) => {
                self.field_or_variable(Kind::Field)
            }
            '+' | '-' | '.' | '0'..='9' => {
                self.at -= 1;
                self.number()
            }
            c if is_alphanumeric(c) => self.identifier(),
            '(' => {
                self.parens += 1;
                self.item(Kind::LeftParen)
            }
            ')' if self.parens == 0 => self.error("unexpected right paren"),
            ')' => {
                self.parens -= 1;
                self.item(Kind::RightParen)
            }
            ' '..='~' => self.item(Kind::Char),
            c => self.error(format!("unrecognized character in action: {}", unicode_name(c))),
        })
    }

    fn space(&mut self) -> Option<Item> {
        let mut count = 1;
        while self.bytes().first().copied().is_some_and(is_space_byte) {
            self.at += 1;
            count += 1;
        }
        let last = &self.text.as_bytes()[self.at - 1..];
        if has_right_trim(last) && last[TRIM_MARKER..].starts_with(self.delimiters.right.as_bytes()) {
            self.at -= 1;
            if count == 1 {
                self.state = State::RightDelim;
                return None;
            }
        }
        Some(self.item(Kind::Space))
    }

    fn at_terminator(&self) -> bool {
        match self.peek() {
            None => true,
            Some(c) => {
                is_space(c)
                    || matches!(c, '.' | ',' | '|' | ':' | ')' | '(')
                    || self.bytes().starts_with(self.delimiters.right.as_bytes())
            }
        }
    }

    fn bad_character(&mut self) -> Item {
        let c = self.peek().unwrap_or('\u{fffd}');
        self.error(format!("bad character {}", unicode_name(c)))
    }

    fn word(&mut self) {
        let is_plain = |b: &&u8| b.is_ascii_alphanumeric() || **b == b'_';
        self.at += self.bytes().iter().take_while(is_plain).count();
        while self.peek().is_some_and(is_alphanumeric) {
            self.next_char();
        }
    }

    fn identifier(&mut self) -> Item {
        self.word();
        if !self.at_terminator() {
            return self.bad_character();
        }
        self.item(Kind::of_word(&self.text[self.start..self.at]))
    }

    /// Behind the `.` or `$`.
    fn field_or_variable(&mut self, kind: Kind) -> Item {
        if self.at_terminator() {
            return self.item(if kind == Kind::Variable { kind } else { Kind::Dot });
        }
        self.word();
        if !self.at_terminator() {
            return self.bad_character();
        }
        self.item(kind)
    }

    fn quoted(&mut self, quote: char, kind: Kind, unterminated: &str) -> Item {
        loop {
            // What is between is part of it, whatever it is.
            let rest = self.bytes();
            self.at += memchr::memchr3(b'\\', b'\n', quote as u8, rest).unwrap_or(rest.len());
            match self.next_char() {
                Some('\\') => {
                    if matches!(self.next_char(), None | Some('\n')) {
                        return self.error(unterminated);
                    }
                }
                None | Some('\n') => return self.error(unterminated),
                Some(c) if c == quote => return self.item(kind),
                Some(_) => {}
            }
        }
    }

    fn raw_string(&mut self) -> Item {
        match self.rest().find('`') {
            Some(end) => {
                self.at += end + 1;
                self.item(Kind::RawString)
            }
            None => self.error("unterminated raw quoted string"),
        }
    }

    fn bad_number(&mut self) -> Item {
        let text = super::quote::go_quote(&self.text.as_bytes()[self.start..self.at]);
        self.error(format!("bad number syntax: {text}"))
    }

    fn number(&mut self) -> Item {
        if !self.scan_number() {
            return self.bad_number();
        }
        if matches!(self.peek(), Some('+' | '-')) {
            if !self.scan_number() || !self.text[..self.at].ends_with('i') {
                return self.bad_number();
            }
            return self.item(Kind::Complex);
        }
        self.item(Kind::Number)
    }

    fn scan_number(&mut self) -> bool {
        self.accept("+-");
        let mut digits = "0123456789_";
        if self.accept("0") {
            if self.accept("xX") {
                digits = "0123456789abcdefABCDEF_";
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        self.accept_run(digits);
        if self.accept(".") {
            self.accept_run(digits);
        }
        let exponent = match digits.len() {
            11 => self.accept("eE"),
            23 => self.accept("pP"),
            _ => false,
        };
        if exponent {
            self.accept("+-");
            self.accept_run("0123456789_");
        }
        self.accept("i");
        if self.peek().is_some_and(is_alphanumeric) {
            self.next_char();
            return false;
        }
        true
    }
}

/// A character as `%#U` of Go's `fmt` shows it.
fn unicode_name(c: char) -> String {
    let code = format!("U+{:04X}", c as u32);
    if super::quote::is_print(c) { format!("{code} '{c}'") } else { code }
}

impl Lexer<'_> {
    /// A token in Go's words for messages.
    pub(super) fn describe(&self, item: &Item) -> String {
        let value = &self.text[item.span.range()];
        match item.kind {
            Kind::Eof => "EOF".to_owned(),
            Kind::Error => self.complaint.clone(),
            kind if kind.is_keyword() => format!("<{value}>"),
            _ if value.len() > 10 => {
                let cut: String = value.chars().take(10).collect();
                format!("{}...", super::quote::go_quote(cut.as_bytes()))
            }
            _ => super::quote::go_quote(value.as_bytes()),
        }
    }
}
