//! The text of an expression to its tree. Source: cel-spec `doc/langdef.md`
//! (grammar); bytes are not understood.

/// Why a text has no tree.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CelFault {
    /// It is no expression, and so compiles nowhere.
    Syntax(String),
    /// It is more than is understood here.
    Beyond,
}

type Result<T> = std::result::Result<T, CelFault>;

fn syntax<T>(what: impl std::fmt::Display) -> Result<T> {
    Err(CelFault::Syntax(format!("syntax error: {what}")))
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    /// null
    Null,
    Bool(bool),
    /// An integer, signed or not.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    Text(String),
    /// `[a, b]`
    List(Vec<Expression>),
    Name(String),
    /// `a.b`
    Select(Box<Expression>, String),
    /// `a[b]`
    Index(Box<Expression>, Box<Expression>),
    /// `f(a)` or `a.f(b)`
    Call(Option<Box<Expression>>, String, Vec<Expression>),
    /// `!a`
    Not(Box<Expression>),
    /// `-a`
    Minus(Box<Expression>),
    /// `a + b` and the like, by its operator.
    Binary(&'static str, Box<Expression>, Box<Expression>),
    /// `a ? b : c`
    Choice(Box<Expression>, Box<Expression>, Box<Expression>),
    /// `{a: b}`
    Map(Vec<(Expression, Expression)>),
    /// `Type.name{field: a}`
    Message(String, Vec<(String, Expression)>),
    /// What may be absent (`a.?b`): the expressions that it is made of.
    Optional(Vec<Expression>),
}

impl Expression {
    /// The expressions that it is made of, in the order of the text.
    pub(crate) fn parts(&self) -> Vec<&Expression> {
        match self {
            Expression::Null
            | Expression::Bool(_)
            | Expression::Int(_)
            | Expression::Float(_)
            | Expression::Text(_)
            | Expression::Name(_) => Vec::new(),
            Expression::Select(of, _) | Expression::Not(of) | Expression::Minus(of) => vec![of],
            Expression::Index(left, right) | Expression::Binary(_, left, right) => vec![left, right],
            Expression::Choice(condition, yes, no) => vec![condition, yes, no],
            Expression::Call(of, _, arguments) => of.as_deref().into_iter().chain(arguments).collect(),
            Expression::List(parts) | Expression::Optional(parts) => parts.iter().collect(),
            Expression::Map(entries) => entries.iter().flat_map(|(key, value)| [key, value]).collect(),
            Expression::Message(_, fields) => fields.iter().map(|(_, value)| value).collect(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Int(i64),
    Float(f64),
    Sign(&'static str),
}

/// How high the tree of an expression may be: a long chain (`1+1+…`, `a.b.b…`) is as high as a deep nest, and whatever walks
/// the tree, also to give it back, goes as deep.
const DEPTH: usize = 100;

/// Calls of the parser upon each other: two for each pair of parentheses.
const NESTING: usize = 48;

const SIGNS: [&str; 24] = [
    "||", "&&", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")",
    "[", "]", "{", "}",
];

/// The operators by how loosely they bind.
const OPERATORS: [&[&str]; 5] =
    [&["||"], &["&&"], &["==", "!=", "<=", ">=", "<", ">", "in"], &["+", "-"], &["*", "/", "%"]];

/// The tree of a text.
///
/// # Errors
/// Why there is none.
pub(crate) fn parse(text: &str) -> Result<Expression> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0, height: 0 };
    let expression = parser.choice()?;
    match parser.at == parser.tokens.len() {
        true => Ok(expression),
        false => syntax("more text after the expression"),
    }
}

fn tokens(text: &str) -> Result<Vec<Token>> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return Ok(found) };
        if rest.starts_with("//") {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
            continue;
        }
        if let Some((text, after)) = string(rest)? {
            found.push(Token::Text(text));
            rest = after;
        } else if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            found.push(Token::Word(rest[..end].to_owned()));
            rest = &rest[end..];
            // Both raw and of bytes.
            if end == 2 && rest.starts_with(['"', '\'']) {
                return Err(CelFault::Beyond);
            }
        } else if first.is_ascii_digit() {
            let (token, after) = number(rest).ok_or(CelFault::Beyond)?;
            found.push(token);
            rest = after;
        } else {
            // A name that is none otherwise.
            if first == '`' {
                return Err(CelFault::Beyond);
            }
            let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) else {
                return syntax(format_args!("unexpected '{first}'"));
            };
            found.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        }
    }
}

fn number(text: &str) -> Option<(Token, &str)> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(text.len());
    let (written, rest) = text.split_at(end);
    let token = match written.strip_prefix("0x") {
        Some(digits) => Token::Int(i64::from_str_radix(digits, 16).ok()?),
        None if written.contains(['.', 'e', 'E']) => Token::Float(written.parse().ok()?),
        None => Token::Int(written.trim_end_matches(['u', 'U']).parse().ok()?),
    };
    Some((token, rest))
}

/// A string at the start of a text; `None` where there is none.
fn string(text: &str) -> Result<Option<(String, &str)>> {
    let (raw, body) = match text.as_bytes() {
        [b'r' | b'R', b'"' | b'\'', ..] => (true, &text[1..]),
        [b'"' | b'\'', ..] => (false, text),
        [b'b' | b'B', b'"' | b'\'', ..] => return Err(CelFault::Beyond),
        _ => return Ok(None),
    };
    let quotes = ["\"\"\"", "'''", "\"", "'"];
    let quote = quotes.into_iter().find(|quote| body.starts_with(quote)).ok_or(CelFault::Beyond)?;
    let mut rest = &body[quote.len()..];
    let mut out = String::new();
    loop {
        if let Some(after) = rest.strip_prefix(quote) {
            return Ok(Some((out, after)));
        }
        let Some(next) = rest.chars().next().filter(|next| *next != '\n' || quote.len() == 3) else {
            return syntax("a string is not closed");
        };
        rest = &rest[next.len_utf8()..];
        if next != '\\' || raw {
            out.push(next);
            continue;
        }
        let Some(escaped) = rest.chars().next() else { return syntax("a string is not closed") };
        rest = &rest[escaped.len_utf8()..];
        out.push(match escaped {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            '\\' | '"' | '\'' | '`' | '?' => escaped,
            // Numbers of characters are not used by what is known.
            _ => return Err(CelFault::Beyond),
        });
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    /// Of what was parsed last.
    height: usize,
}

impl Parser {
    /// Note a node above what was parsed last, and above something as high as `other`.
    fn above(&mut self, other: usize) -> Result<()> {
        self.height = 1 + self.height.max(other);
        if self.height <= DEPTH { Ok(()) } else { Err(CelFault::Beyond) }
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is = matches!(self.tokens.get(self.at), Some(Token::Sign(next)) if *next == sign);
        self.at += usize::from(is);
        is
    }

    fn expects(&mut self, sign: &str) -> Result<()> {
        if self.takes(sign) { Ok(()) } else { syntax(format_args!("expected '{sign}'")) }
    }

    fn choice(&mut self) -> Result<Expression> {
        self.depth += 1;
        if self.depth > NESTING {
            return Err(CelFault::Beyond);
        }
        let condition = self.binary(0)?;
        let expression = if self.takes("?") {
            let mut height = self.height;
            let yes = self.binary(0)?;
            height = height.max(self.height);
            self.expects(":")?;
            let no = self.choice()?;
            self.above(height)?;
            Expression::Choice(Box::new(condition), Box::new(yes), Box::new(no))
        } else {
            condition
        };
        self.depth -= 1;
        Ok(expression)
    }

    fn operator(&self, level: usize) -> Option<&'static str> {
        let written = match self.tokens.get(self.at)? {
            Token::Sign(sign) => sign,
            Token::Word(word) if word == "in" => "in",
            _ => return None,
        };
        OPERATORS[level].iter().find(|operator| **operator == written).copied()
    }

    fn binary(&mut self, level: usize) -> Result<Expression> {
        if level == OPERATORS.len() {
            return self.unary();
        }
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = self.operator(level) {
            self.at += 1;
            let height = self.height;
            let right = self.binary(level + 1)?;
            self.above(height)?;
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expression> {
        self.depth += 1;
        if self.depth > NESTING {
            return Err(CelFault::Beyond);
        }
        let expression = match () {
            () if self.takes("!") => Expression::Not(Box::new(self.unary()?)),
            () if self.takes("-") => Expression::Minus(Box::new(self.unary()?)),
            () => {
                let member = self.member()?;
                self.depth -= 1;
                return Ok(member);
            }
        };
        self.above(0)?;
        self.depth -= 1;
        Ok(expression)
    }

    fn member(&mut self) -> Result<Expression> {
        let mut value = self.primary()?;
        loop {
            if self.takes(".") {
                let may_be_absent = self.takes("?");
                let Some(Token::Word(name)) = self.tokens.get(self.at).cloned() else {
                    return syntax("expected a field after '.'");
                };
                self.at += 1;
                let height = self.height;
                value = match self.takes("(") {
                    true => Expression::Call(Some(Box::new(value)), name, self.list(")")?),
                    false if may_be_absent => Expression::Optional(vec![value]),
                    false => Expression::Select(Box::new(value), name),
                };
                self.above(height)?;
            } else if self.takes("[") {
                let may_be_absent = self.takes("?");
                let height = self.height;
                let index = self.choice()?;
                self.above(height)?;
                self.expects("]")?;
                value = match may_be_absent {
                    true => Expression::Optional(vec![value, index]),
                    false => Expression::Index(Box::new(value), Box::new(index)),
                };
            } else if self.takes("{") {
                let Some(name) = type_name(&value) else { return syntax("unexpected '{'") };
                value = Expression::Message(name, self.fields()?);
                self.above(0)?;
            } else {
                return Ok(value);
            }
        }
    }

    /// The fields of a message: `name: value, …}`.
    fn fields(&mut self) -> Result<Vec<(String, Expression)>> {
        let mut fields = Vec::new();
        let mut height = 0;
        let mut is_over = self.takes("}");
        while !is_over {
            self.takes("?");
            let Some(Token::Word(name)) = self.tokens.get(self.at).cloned() else {
                return syntax("expected the name of a field");
            };
            self.at += 1;
            self.expects(":")?;
            fields.push((name, self.choice()?));
            height = height.max(self.height);
            let goes_on = self.takes(",");
            is_over = self.takes("}");
            if !goes_on && !is_over {
                return syntax("expected '}'");
            }
        }
        self.height = height;
        Ok(fields)
    }

    /// The keys and values of a map: `key: value, …}`.
    fn entries(&mut self) -> Result<Vec<(Expression, Expression)>> {
        let mut entries = Vec::new();
        let mut height = 0;
        let mut is_over = self.takes("}");
        while !is_over {
            self.takes("?");
            let key = self.choice()?;
            height = height.max(self.height);
            self.expects(":")?;
            entries.push((key, self.choice()?));
            height = height.max(self.height);
            let goes_on = self.takes(",");
            is_over = self.takes("}");
            if !goes_on && !is_over {
                return syntax("expected '}'");
            }
        }
        self.height = height;
        Ok(entries)
    }

    fn list(&mut self, end: &str) -> Result<Vec<Expression>> {
        let mut items = Vec::new();
        let mut height = 0;
        let mut is_over = self.takes(end);
        while !is_over {
            items.push(self.choice()?);
            height = height.max(self.height);
            let goes_on = self.takes(",");
            is_over = self.takes(end);
            if !goes_on && !is_over {
                return syntax(format_args!("expected '{end}'"));
            }
        }
        self.height = height;
        Ok(items)
    }

    fn primary(&mut self) -> Result<Expression> {
        let Some(token) = self.tokens.get(self.at).cloned() else {
            return syntax("the expression ends too early");
        };
        self.at += 1;
        self.height = 1;
        Ok(match token {
            Token::Text(text) => Expression::Text(text),
            Token::Int(value) => Expression::Int(value),
            Token::Float(value) => Expression::Float(value),
            Token::Sign("(") => {
                let inner = self.choice()?;
                self.expects(")")?;
                inner
            }
            Token::Sign("[") => {
                let items = self.list("]")?;
                self.above(0)?;
                Expression::List(items)
            }
            Token::Sign("{") => {
                let entries = self.entries()?;
                self.above(0)?;
                Expression::Map(entries)
            }
            // A name or number that begins so, an item that may be absent.
            Token::Sign("." | "?") => return Err(CelFault::Beyond),
            Token::Sign(sign) => return syntax(format_args!("unexpected '{sign}'")),
            Token::Word(word) => match word.as_str() {
                "true" => Expression::Bool(true),
                "false" => Expression::Bool(false),
                "null" => Expression::Null,
                _ if self.takes("(") => {
                    let arguments = self.list(")")?;
                    self.above(0)?;
                    Expression::Call(None, word, arguments)
                }
                _ => Expression::Name(word),
            },
        })
    }
}

/// `a.b.c` where an expression is nothing but names.
fn type_name(expression: &Expression) -> Option<String> {
    let mut names = Vec::new();
    let mut one = expression;
    while let Expression::Select(of, field) = one {
        names.push(field.as_str());
        one = of;
    }
    let Expression::Name(first) = one else { return None };
    names.push(first);
    names.reverse();
    Some(names.join("."))
}
