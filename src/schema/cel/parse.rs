//! The text of an expression to its tree. Source: cel-spec `doc/langdef.md`
//! (grammar); map literals, messages and bytes are not understood.

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    /// null
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer, signed or not.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A string.
    Text(String),
    /// `[a, b]`
    List(Vec<Expression>),
    /// A variable.
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

const SIGNS: [&str; 23] = [
    "||", "&&", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")",
    "[", "]", "{",
];

/// The operators by how loosely they bind.
const OPERATORS: [&[&str]; 5] =
    [&["||"], &["&&"], &["==", "!=", "<=", ">=", "<", ">", "in"], &["+", "-"], &["*", "/", "%"]];

pub(super) fn parse(text: &str) -> Option<Expression> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0, height: 0 };
    let expression = parser.choice()?;
    (parser.at == parser.tokens.len()).then_some(expression)
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return Some(found) };
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
        } else if first.is_ascii_digit() {
            let (token, after) = number(rest)?;
            found.push(token);
            rest = after;
        } else {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign))?;
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

/// A string at the start of a text. `Some(None)` where there is none, `None` where
/// it isn't understood.
fn string(text: &str) -> Option<Option<(String, &str)>> {
    let (raw, body) = match text.as_bytes() {
        [b'r' | b'R', b'"' | b'\'', ..] => (true, &text[1..]),
        [b'"' | b'\'', ..] => (false, text),
        [b'b' | b'B', b'"' | b'\'', ..] => return None,
        _ => return Some(None),
    };
    let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| body.starts_with(quote))?;
    let mut rest = &body[quote.len()..];
    let mut out = String::new();
    loop {
        if let Some(after) = rest.strip_prefix(quote) {
            return Some(Some((out, after)));
        }
        let next = rest.chars().next()?;
        rest = &rest[next.len_utf8()..];
        if next != '\\' || raw {
            out.push(next);
            continue;
        }
        let escaped = rest.chars().next()?;
        rest = &rest[escaped.len_utf8()..];
        out.push(match escaped {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            '\\' | '"' | '\'' | '`' | '?' => escaped,
            // Numbers of characters are not used by the rules that are known.
            _ => return None,
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
    fn above(&mut self, other: usize) -> Option<()> {
        self.height = 1 + self.height.max(other);
        (self.height <= DEPTH).then_some(())
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is = matches!(self.tokens.get(self.at), Some(Token::Sign(next)) if *next == sign);
        self.at += usize::from(is);
        is
    }

    fn choice(&mut self) -> Option<Expression> {
        self.depth += 1;
        if self.depth > NESTING {
            return None;
        }
        let condition = self.binary(0)?;
        let expression = if self.takes("?") {
            let mut height = self.height;
            let yes = self.binary(0)?;
            height = height.max(self.height);
            if !self.takes(":") {
                return None;
            }
            let no = self.choice()?;
            self.above(height)?;
            Expression::Choice(Box::new(condition), Box::new(yes), Box::new(no))
        } else {
            condition
        };
        self.depth -= 1;
        Some(expression)
    }

    fn operator(&self, level: usize) -> Option<&'static str> {
        let written = match self.tokens.get(self.at)? {
            Token::Sign(sign) => sign,
            Token::Word(word) if word == "in" => "in",
            _ => return None,
        };
        OPERATORS[level].iter().find(|operator| **operator == written).copied()
    }

    fn binary(&mut self, level: usize) -> Option<Expression> {
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
        Some(left)
    }

    fn unary(&mut self) -> Option<Expression> {
        self.depth += 1;
        if self.depth > NESTING {
            return None;
        }
        let expression = match () {
            () if self.takes("!") => Expression::Not(Box::new(self.unary()?)),
            () if self.takes("-") => Expression::Minus(Box::new(self.unary()?)),
            () => {
                let member = self.member()?;
                self.depth -= 1;
                return Some(member);
            }
        };
        self.above(0)?;
        self.depth -= 1;
        Some(expression)
    }

    fn member(&mut self) -> Option<Expression> {
        let mut value = self.primary()?;
        loop {
            if self.takes(".") {
                let Some(Token::Word(name)) = self.tokens.get(self.at).cloned() else { return None };
                self.at += 1;
                let height = self.height;
                value = match self.takes("(") {
                    true => Expression::Call(Some(Box::new(value)), name, self.list(")")?),
                    false => Expression::Select(Box::new(value), unescaped(&name)),
                };
                self.above(height)?;
            } else if self.takes("[") {
                let height = self.height;
                let index = self.choice()?;
                self.above(height)?;
                if !self.takes("]") {
                    return None;
                }
                value = Expression::Index(Box::new(value), Box::new(index));
            } else {
                return Some(value);
            }
        }
    }

    fn list(&mut self, end: &str) -> Option<Vec<Expression>> {
        let mut items = Vec::new();
        let mut height = 0;
        let mut is_over = self.takes(end);
        while !is_over {
            items.push(self.choice()?);
            height = height.max(self.height);
            let goes_on = self.takes(",");
            is_over = self.takes(end);
            if !goes_on && !is_over {
                return None;
            }
        }
        self.height = height;
        Some(items)
    }

    fn primary(&mut self) -> Option<Expression> {
        let token = self.tokens.get(self.at)?.clone();
        self.at += 1;
        self.height = 1;
        Some(match token {
            Token::Text(text) => Expression::Text(text),
            Token::Int(value) => Expression::Int(value),
            Token::Float(value) => Expression::Float(value),
            Token::Sign("(") => {
                let inner = self.choice()?;
                return self.takes(")").then_some(inner);
            }
            Token::Sign("[") => {
                let items = self.list("]")?;
                self.above(0)?;
                Expression::List(items)
            }
            Token::Sign(_) => return None,
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

/// The field behind a name that would be no identifier of CEL.
/// Source: apiserver `pkg/cel/escaping.go` (`Unescape`).
fn unescaped(name: &str) -> String {
    const KEYWORDS: [&str; 17] = [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
    ];
    let inner = name.strip_prefix("__").and_then(|name| name.strip_suffix("__"));
    match inner.filter(|inner| KEYWORDS.contains(inner)) {
        Some(keyword) => keyword.to_owned(),
        None => name
            .replace("__underscores__", "__")
            .replace("__dot__", ".")
            .replace("__dash__", "-")
            .replace("__slash__", "/"),
    }
}
