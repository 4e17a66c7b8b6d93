//! The grammar of `${…}` expressions.
//!
//! Mirrors `envsubst/parse` of fluxcd/pkg (`parse.go`, `scan.go`): its scanner
//! decides character by character with a different set of accepted characters
//! per position, which is why `${a!}` and `${a/b}` fail with different errors
//! and why `$$` collapses outside expressions and in replacement operands only.

use regex::Regex;
use std::ops::Range;
use std::sync::OnceLock;

/// A parsed text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SubstitutionTemplate {
    pub(super) nodes: Vec<ExpressionNode>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ExpressionNode {
    Text(String),
    Call(Expression),
}

/// One `${…}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expression {
    /// The variable's name: letters, digits and `_`, so that `${1}` and `${é}`
    /// are expressions too, although no variable can have such a name.
    pub name: String,
    /// What is done with the value.
    pub operator: Operator,
    /// Byte range in the text, from `${` through `}`.
    pub range: Range<usize>,
    pub(super) operands: Vec<ExpressionNode>,
}

/// The function that an expression applies to its variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    /// `${a}`: the value.
    Value,
    /// `${a=d}`, `${a:=d}`, `${a:-d}`, `${a:?d}` and `${a:+d}`, which all mean
    /// the same: the operands when the value is empty. The only one that strict
    /// mode tolerates on an undefined variable.
    Default,
    /// `${#a}`: length in bytes.
    Length,
    /// `${a,}`.
    LowerFirst,
    /// `${a,,}`.
    Lower,
    /// `${a^}`.
    UpperFirst,
    /// `${a^^}`.
    Upper,
    /// `${a,^}` and `${a^,}`, which parse and do nothing.
    Nothing,
    /// `${a:1}` and `${a:1:2}`, in bytes.
    Substring,
    /// `${a#p}`.
    TrimShortestPrefix,
    /// `${a##p}`.
    TrimLongestPrefix,
    /// `${a%p}`.
    TrimShortestSuffix,
    /// `${a%%p}`.
    TrimLongestSuffix,
    /// `${a/x/y}`.
    ReplaceFirst,
    /// `${a//x/y}`.
    ReplaceAll,
    /// `${a/#x/y}`.
    ReplacePrefix,
    /// `${a/%x/y}`.
    ReplaceSuffix,
}

/// What is wrong with an expression; the texts are upstream's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Something else where an operator's syntax needs a delimiter or `}`.
    #[error("bad substitution")]
    BadSubstitution,
    /// Anything but `}` or an operator after the name: `${a.b}`, `${a-b}`.
    #[error("missing closing brace")]
    MissingClosingBrace,
    /// No name after `${`: `${}`, `${ a }`, `${{ a }}`.
    #[error("unable to parse variable name")]
    VariableName,
    /// An operator without its operand, or a text that ends inside one.
    #[error("unable to parse substitution within function")]
    Operand,
    /// Deeper than `MAX_NESTING`; our bound, upstream has none.
    #[error("expressions are nested more than {MAX_NESTING} deep")]
    Nesting,
}

/// A malformed expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct ParseError {
    /// What is wrong.
    pub kind: Malformed,
    /// Byte range in the text: from the `${` of the innermost expression to
    /// where parsing stopped.
    pub range: Range<usize>,
}

/// How deeply expressions may be nested in each other's operands.
pub(super) const MAX_NESTING: usize = 40;

/// Parses `text`. It ends at its first NUL, as upstream takes that for the end
/// of the input.
pub(crate) fn parse(text: &str) -> Result<SubstitutionTemplate, ParseError> {
    let end = memchr::memchr(0, text.as_bytes()).unwrap_or(text.len());
    let mut parser = Parser { text: &text[..end], position: 0, opened: Vec::new() };
    let mut nodes = Vec::new();
    while parser.position < end {
        nodes.push(parser.text_or_call().map_err(|kind| ParseError {
            kind,
            range: parser.opened.last().copied().unwrap_or(0)..parser.position,
        })?);
    }
    Ok(SubstitutionTemplate { nodes })
}

impl SubstitutionTemplate {
    /// All expressions with the names that they read, nested ones after the one
    /// whose operand they are in.
    pub(crate) fn expressions(&self) -> Vec<&Expression> {
        fn collect<'a>(nodes: &'a [ExpressionNode], out: &mut Vec<&'a Expression>) {
            for node in nodes {
                if let ExpressionNode::Call(expression) = node {
                    out.push(expression);
                    collect(&expression.operands, out);
                }
            }
        }
        let mut out = Vec::new();
        collect(&self.nodes, &mut out);
        out
    }

    /// Whether expansion leaves every text as it is: no expression, no `$$`.
    pub(crate) fn is_literal(&self, text: &str) -> bool {
        match self.nodes.as_slice() {
            [] => text.is_empty(),
            [ExpressionNode::Text(only)] => only == text,
            _ => false,
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    position: usize,
    /// Offsets of the `${` that are open here.
    opened: Vec<usize>,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.position..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn at_call(&self) -> bool {
        self.rest().starts_with("${")
    }

    /// Takes characters while `accept` agrees, up to an expression where those
    /// are recognised.
    fn take(&mut self, calls: bool, accept: impl Fn(char) -> bool) -> String {
        let start = self.position;
        while let Some(c) = self.peek() {
            if (calls && self.at_call()) || !accept(c) {
                break;
            }
            self.position += c.len_utf8();
        }
        self.text[start..self.position].to_owned()
    }

    /// As `take` with expressions, where `$$` stands for `$` and, inside
    /// operands, a backslash protects `/` and itself. The protected character
    /// is taken whatever it is.
    fn take_escaped(&mut self, backslash: bool, accept: impl Fn(char) -> bool) -> String {
        let mut out = String::new();
        while let Some(c) = self.peek() {
            if self.at_call() {
                break;
            }
            let next = self.rest()[c.len_utf8()..].chars().next();
            let escaped = match c {
                '$' => next == Some('$'),
                '\\' => backslash && matches!(next, Some('/' | '\\')),
                _ => false,
            };
            if escaped {
                out.push(next.unwrap_or(c));
                self.position += 2;
            } else if accept(c) {
                out.push(c);
                self.position += c.len_utf8();
            } else {
                break;
            }
        }
        out
    }

    fn text_or_call(&mut self) -> Result<ExpressionNode, Malformed> {
        if self.at_call() {
            return Ok(ExpressionNode::Call(self.call()?));
        }
        Ok(ExpressionNode::Text(self.text()))
    }

    /// Takes text up to an expression; `$$` stands for `$`.
    fn text(&mut self) -> String {
        let mut out = String::new();
        loop {
            let rest = &self.text[self.position..];
            let run = memchr::memchr(b'$', rest.as_bytes()).unwrap_or(rest.len());
            out.push_str(&rest[..run]);
            self.position += run;
            match rest.as_bytes().get(run + 1) {
                None if run == rest.len() => return out,
                Some(b'{') => return out,
                Some(b'$') => self.position += 2,
                _ => self.position += 1,
            }
            out.push('$');
        }
    }

    fn call(&mut self) -> Result<Expression, Malformed> {
        if self.opened.len() >= MAX_NESTING {
            return Err(Malformed::Nesting);
        }
        let start = self.position;
        self.opened.push(start);
        self.position += 2;
        let (name, operator, operands) = self.body()?;
        self.opened.pop();
        Ok(Expression { name, operator, operands, range: start..self.position })
    }

    fn body(&mut self) -> Result<(String, Operator, Vec<ExpressionNode>), Malformed> {
        if self.peek() == Some('#') {
            self.position += 1;
            let name = self.take(false, is_name_character);
            if name.is_empty() {
                return Err(Malformed::BadSubstitution);
            }
            self.close()?;
            return Ok((name, Operator::Length, Vec::new()));
        }
        let name = self.take(false, is_name_character);
        if name.is_empty() {
            return Err(Malformed::VariableName);
        }
        let (operator, operands) = match self.peek() {
            Some(':') => match self.rest().as_bytes().get(1) {
                Some(b'=' | b'-' | b'?' | b'+') => self.default(2)?,
                _ => self.substring()?,
            },
            Some('=') => self.default(1)?,
            Some(',' | '^') => self.casing()?,
            Some('/') => self.replacement()?,
            Some('#') => self.trim('#', Operator::TrimShortestPrefix, Operator::TrimLongestPrefix)?,
            Some('%') => self.trim('%', Operator::TrimShortestSuffix, Operator::TrimLongestSuffix)?,
            Some('}') => {
                self.position += 1;
                (Operator::Value, Vec::new())
            }
            _ => return Err(Malformed::MissingClosingBrace),
        };
        Ok((name, operator, operands))
    }

    fn close(&mut self) -> Result<(), Malformed> {
        if self.peek() != Some('}') {
            return Err(Malformed::BadSubstitution);
        }
        self.position += 1;
        Ok(())
    }

    /// An operand: one expression, or text up to what `accept` refuses.
    fn operand(&mut self, accept: impl Fn(char) -> bool) -> Result<ExpressionNode, Malformed> {
        if self.at_call() {
            return Ok(ExpressionNode::Call(self.call()?));
        }
        let text = self.take(true, accept);
        if text.is_empty() {
            return Err(Malformed::Operand);
        }
        Ok(ExpressionNode::Text(text))
    }

    fn escaped_operand(&mut self, accept: impl Fn(char) -> bool) -> Result<ExpressionNode, Malformed> {
        if self.at_call() {
            return Ok(ExpressionNode::Call(self.call()?));
        }
        let start = self.position;
        let text = self.take_escaped(true, accept);
        if self.position == start {
            return Err(Malformed::Operand);
        }
        Ok(ExpressionNode::Text(text))
    }

    fn default(&mut self, operator_length: usize) -> Result<(Operator, Vec<ExpressionNode>), Malformed> {
        self.position += operator_length;
        let mut operands = Vec::new();
        while self.peek() != Some('}') {
            operands.push(self.operand(|c| c != '}')?);
        }
        self.close()?;
        Ok((Operator::Default, operands))
    }

    fn substring(&mut self) -> Result<(Operator, Vec<ExpressionNode>), Malformed> {
        self.position += 1;
        let mut operands = vec![self.operand(|c| c != ':' && c != '}')?];
        match self.peek() {
            Some('}') => {}
            Some(':') => {
                self.take(false, |c| c == ':');
                operands.push(self.operand(|c| c != '}')?);
            }
            _ => return Err(Malformed::BadSubstitution),
        }
        self.close()?;
        Ok((Operator::Substring, operands))
    }

    fn casing(&mut self) -> Result<(Operator, Vec<ExpressionNode>), Malformed> {
        let rest = self.rest().as_bytes();
        let length = rest.iter().take(2).take_while(|b| matches!(b, b',' | b'^')).count();
        let operator = match &rest[..length] {
            b"," => Operator::LowerFirst,
            b",," => Operator::Lower,
            b"^" => Operator::UpperFirst,
            b"^^" => Operator::Upper,
            _ => Operator::Nothing,
        };
        self.position += length;
        self.close()?;
        Ok((operator, Vec::new()))
    }

    fn trim(
        &mut self,
        sign: char,
        shortest: Operator,
        longest: Operator,
    ) -> Result<(Operator, Vec<ExpressionNode>), Malformed> {
        self.position += 1;
        let operator = if self.peek() == Some(sign) {
            self.position += 1;
            longest
        } else {
            shortest
        };
        let operand = self.operand(|c| c != '}')?;
        self.close()?;
        Ok((operator, vec![operand]))
    }

    fn replacement(&mut self) -> Result<(Operator, Vec<ExpressionNode>), Malformed> {
        self.position += 1;
        let operator = match self.peek() {
            Some('/') => Operator::ReplaceAll,
            Some('#') => Operator::ReplacePrefix,
            Some('%') => Operator::ReplaceSuffix,
            _ => Operator::ReplaceFirst,
        };
        if operator != Operator::ReplaceFirst {
            self.position += 1;
        }
        let mut operands = vec![self.escaped_operand(|c| c != '/')?];
        if self.take(false, |c| c == '/').is_empty() {
            return Err(Malformed::BadSubstitution);
        }
        if self.peek() != Some('}') {
            operands.push(self.escaped_operand(|c| c != '}')?);
        }
        self.close()?;
        Ok((operator, operands))
    }
}

/// Go's `unicode.IsLetter`, `unicode.IsDigit` or `_`.
fn is_name_character(c: char) -> bool {
    static BEYOND_ASCII: OnceLock<Regex> = OnceLock::new();
    if c.is_ascii() {
        return c == '_' || c.is_ascii_alphanumeric();
    }
    BEYOND_ASCII
        .get_or_init(|| Regex::new(r"^[\p{L}\p{Nd}]$").expect("a constant expression"))
        .is_match(c.encode_utf8(&mut [0; 4]))
}
