//! The identifier of a commit status: a Provider's `spec.commitStatusExpr`, or
//! the default. An expression that fails to evaluate loses the notification.
//!
//! The subset of CEL that such expressions are written in is evaluated; what
//! goes beyond it is unknown, not wrong.

use std::collections::BTreeMap;

use super::InvolvedObject;
use crate::lang::yaml::Known;

/// A value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Cel {
    /// A string.
    Text(String),
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A map with string keys, such as an object.
    Map(BTreeMap<String, Cel>),
    /// Known at run time only, or made by something that is not evaluated here.
    Unknown,
}

impl Cel {
    /// A map of its entries.
    pub fn map<const N: usize>(entries: [(&str, Cel); N]) -> Cel {
        Cel::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// A string.
    pub fn text(text: &str) -> Cel {
        Cel::Text(text.to_owned())
    }
}

/// The identifier without an expression: kind, name and the first part of the
/// Provider's UID, in lower case.
///
/// Mirrors notification-controller `internal/server/provider_commit_status.go`,
/// `generateDefaultCommitStatus`.
pub fn default_commit_status(object: &InvolvedObject, provider_uid: &str) -> String {
    let first = provider_uid.split('-').next().unwrap_or_default();
    format!("{}/{}/{first}", object.kind, object.name).to_lowercase()
}

/// Evaluates `spec.commitStatusExpr` with the variables `event`, `alert` and
/// `provider`. The inner error says why it has no string.
///
/// Mirrors notification-controller `internal/server/provider_commit_status.go`,
/// `newCommitStatus`.
pub fn evaluate(expression: &str, variables: &BTreeMap<String, Cel>) -> Known<Result<String, String>> {
    let tree = match parse(expression) {
        Ok(tree) => tree,
        Err(Fault::Error(message)) => return Known::Value(Err(message)),
        Err(Fault::Unknown) => return Known::Unknown,
    };
    if let Some(name) = tree.undeclared(variables) {
        return Known::Value(Err(format!("undeclared reference to '{name}'")));
    }
    match tree.eval(variables) {
        Ok(Cel::Text(text)) => Known::Value(Ok(text)),
        Ok(Cel::Unknown) | Err(Fault::Unknown) => Known::Unknown,
        Ok(_) => Known::Value(Err("the expression must evaluate to a string".to_owned())),
        Err(Fault::Error(message)) => Known::Value(Err(message)),
    }
}

/// Nesting that is followed; a deeper expression is unknown.
const MAX_DEPTH: usize = 64;

/// Tokens that are read; a longer expression is unknown.
const MAX_TOKENS: usize = 256;

/// Why there is no value.
#[derive(Clone, Debug, PartialEq)]
enum Fault {
    Error(String),
    Unknown,
}

fn fault<T>(message: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Error(message.into()))
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Ident(String),
    Text(String),
    Int(i64),
    Op(&'static str),
}

const OPERATORS: &[&str] = &[
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")",
    "[", "]", "{", "}",
];

fn tokens(expression: &str) -> Result<Vec<Token>, Fault> {
    let mut tokens = Vec::new();
    let mut rest = expression.trim_start();
    while let Some(first) = rest.chars().next() {
        if first == '\'' || first == '"' {
            let (text, after) = string(&rest[1..], first)?;
            tokens.push(Token::Text(text));
            rest = after;
        } else if first.is_ascii_digit() {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            tokens.push(Token::Int(rest[..end].parse().map_err(|_| Fault::Unknown)?));
            rest = &rest[end..];
        } else if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(Token::Ident(rest[..end].to_owned()));
            rest = &rest[end..];
            // Raw and byte strings (`r'…'`, `b"…"`).
            if end <= 2 && rest.starts_with(['\'', '"']) {
                return Err(Fault::Unknown);
            }
        } else if let Some(op) = OPERATORS.iter().find(|op| rest.starts_with(**op)) {
            tokens.push(Token::Op(op));
            rest = &rest[op.len()..];
        } else {
            return fault(format!("syntax error: unexpected '{first}'"));
        }
        if tokens.len() > MAX_TOKENS {
            return Err(Fault::Unknown);
        }
        rest = rest.trim_start();
    }
    Ok(tokens)
}

/// A string literal without its opening quote, and the text after it.
fn string(text: &str, quote: char) -> Result<(String, &str), Fault> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((_, escaped @ ('\\' | '\'' | '"' | '`' | '?'))) => value.push(escaped),
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                _ => return Err(Fault::Unknown),
            },
            '\n' => return fault("syntax error: a string is not closed"),
            c if c == quote => {
                let after = &text[at + 1..];
                // Three quotes start a string over several lines.
                return match value.is_empty() && after.starts_with(quote) {
                    true => Err(Fault::Unknown),
                    false => Ok((value, after)),
                };
            }
            c => value.push(c),
        }
    }
    fault("syntax error: a string is not closed")
}

#[derive(Clone, Debug, PartialEq)]
enum Expr {
    Value(Cel),
    Variable(String),
    Field(Box<Expr>, String),
    Index(Box<Expr>, Box<Expr>),
    /// A method with its receiver first, or a function.
    Call(String, Vec<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    If(Box<[Expr; 3]>),
}

fn parse(expression: &str) -> Result<Expr, Fault> {
    let mut parser = Parser { tokens: tokens(expression)?, at: 0, depth: 0 };
    let tree = parser.ternary()?;
    match parser.tokens.get(parser.at) {
        None => Ok(tree),
        Some(_) => fault("syntax error: more text after the expression"),
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

/// Binary operators from the loosest to the tightest.
const LEVELS: &[&[&str]] =
    &[&["||"], &["&&"], &["==", "!=", "<=", ">=", "<", ">"], &["+", "-"], &["*", "/", "%"]];

impl Parser {
    fn accept(&mut self, wanted: &'static str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some(Token::Op(op)) if *op == wanted);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, wanted: &'static str) -> Result<(), Fault> {
        match self.accept(wanted) {
            true => Ok(()),
            false => fault(format!("syntax error: expected '{wanted}'")),
        }
    }

    fn ternary(&mut self) -> Result<Expr, Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Fault::Unknown);
        }
        let condition = self.binary(0)?;
        let result = if self.accept("?") {
            let yes = self.binary(0)?;
            self.expect(":")?;
            Expr::If(Box::new([condition, yes, self.ternary()?]))
        } else {
            condition
        };
        self.depth -= 1;
        Ok(result)
    }

    fn binary(&mut self, level: usize) -> Result<Expr, Fault> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1)?;
        while let Some(op) = operators.iter().find(|op| self.accept(op)) {
            left = Expr::Binary(op, Box::new(left), Box::new(self.binary(level + 1)?));
        }
        if matches!(self.tokens.get(self.at), Some(Token::Ident(word)) if word == "in") {
            return Err(Fault::Unknown);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, Fault> {
        if self.accept("-") {
            return Err(Fault::Unknown);
        }
        let mut negations = 0;
        while self.accept("!") {
            negations += 1;
        }
        let operand = self.member()?;
        Ok(match negations {
            0 => operand,
            n if n % 2 == 1 => Expr::Not(Box::new(operand)),
            _ => Expr::Not(Box::new(Expr::Not(Box::new(operand)))),
        })
    }

    fn member(&mut self) -> Result<Expr, Fault> {
        let mut value = self.primary()?;
        for _ in 0..MAX_DEPTH {
            if self.accept(".") {
                let Some(Token::Ident(name)) = self.tokens.get(self.at).cloned() else {
                    return match self.accept("?") {
                        true => Err(Fault::Unknown),
                        false => fault("syntax error: expected a field after '.'"),
                    };
                };
                self.at += 1;
                value = if self.accept("(") {
                    let mut arguments = vec![value];
                    arguments.extend(self.arguments()?);
                    Expr::Call(name, arguments)
                } else {
                    Expr::Field(Box::new(value), name)
                };
            } else if self.accept("[") {
                let index = self.ternary()?;
                self.expect("]")?;
                value = Expr::Index(Box::new(value), Box::new(index));
            } else {
                return Ok(value);
            }
        }
        Err(Fault::Unknown)
    }

    fn arguments(&mut self) -> Result<Vec<Expr>, Fault> {
        let mut arguments = Vec::new();
        if self.accept(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.ternary()?);
            if !self.accept(",") {
                self.expect(")")?;
                return Ok(arguments);
            }
        }
    }

    fn primary(&mut self) -> Result<Expr, Fault> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        match token {
            Some(Token::Text(text)) => Ok(Expr::Value(Cel::Text(text))),
            Some(Token::Int(number)) => Ok(Expr::Value(Cel::Int(number))),
            Some(Token::Ident(name)) if name == "true" || name == "false" => {
                Ok(Expr::Value(Cel::Bool(name == "true")))
            }
            Some(Token::Ident(name)) if self.accept("(") => Ok(Expr::Call(name, self.arguments()?)),
            Some(Token::Ident(name)) => Ok(Expr::Variable(name)),
            Some(Token::Op("(")) => {
                let inner = self.ternary()?;
                self.expect(")")?;
                Ok(inner)
            }
            Some(Token::Op("[" | "{")) => Err(Fault::Unknown),
            Some(Token::Op(op)) => fault(format!("syntax error: unexpected '{op}'")),
            None => fault("syntax error: the expression ends too early"),
        }
    }
}

impl Expr {
    /// A variable that does not exist, wherever it is used: that does not
    /// compile. Macros bind variables of their own, so calls that may be one
    /// are left alone.
    fn undeclared(&self, variables: &BTreeMap<String, Cel>) -> Option<String> {
        let each = |parts: &[&Expr]| parts.iter().find_map(|part| part.undeclared(variables));
        match self {
            Expr::Value(_) => None,
            Expr::Variable(name) => (!variables.contains_key(name)).then(|| name.clone()),
            Expr::Field(of, _) | Expr::Not(of) => of.undeclared(variables),
            Expr::Index(of, index) => each(&[of, index]),
            Expr::Binary(_, left, right) => each(&[left, right]),
            Expr::If(parts) => each(&parts.iter().collect::<Vec<_>>()),
            Expr::Call(_, arguments) => arguments.first().and_then(|a| a.undeclared(variables)),
        }
    }

    fn eval(&self, variables: &BTreeMap<String, Cel>) -> Result<Cel, Fault> {
        match self {
            Expr::Value(value) => Ok(value.clone()),
            Expr::Variable(name) => Ok(variables.get(name).cloned().unwrap_or(Cel::Unknown)),
            Expr::Field(of, name) => field(of.eval(variables)?, name),
            Expr::Index(of, index) => match (of.eval(variables)?, index.eval(variables)?) {
                (map, Cel::Text(key)) => field(map, &key),
                _ => Ok(Cel::Unknown),
            },
            Expr::Not(of) => match of.eval(variables)? {
                Cel::Bool(value) => Ok(Cel::Bool(!value)),
                Cel::Unknown => Ok(Cel::Unknown),
                _ => fault("no such overload: !"),
            },
            Expr::If(parts) => match parts[0].eval(variables)? {
                Cel::Bool(true) => parts[1].eval(variables),
                Cel::Bool(false) => parts[2].eval(variables),
                Cel::Unknown => Ok(Cel::Unknown),
                _ => fault("no such overload: ?:"),
            },
            Expr::Binary(op @ ("&&" | "||"), left, right) => {
                let decisive = Cel::Bool(*op == "||");
                match (left.eval(variables), right.eval(variables)) {
                    (Ok(value), _) | (_, Ok(value)) if value == decisive => Ok(decisive),
                    (Ok(Cel::Unknown), _) | (_, Ok(Cel::Unknown)) => Ok(Cel::Unknown),
                    (Ok(Cel::Bool(_)), Ok(Cel::Bool(b))) => Ok(Cel::Bool(b)),
                    (Err(why), _) | (_, Err(why)) => Err(why),
                    _ => fault(format!("no such overload: {op}")),
                }
            }
            Expr::Binary(op, left, right) => binary(op, left.eval(variables)?, right.eval(variables)?),
            Expr::Call(name, arguments) => call(name, arguments, variables),
        }
    }
}

fn field(value: Cel, name: &str) -> Result<Cel, Fault> {
    match value {
        Cel::Map(mut map) => match map.remove(name) {
            Some(value) => Ok(value),
            None => fault(format!("no such key: {name}")),
        },
        Cel::Unknown => Ok(Cel::Unknown),
        _ => fault(format!("no such overload: .{name}")),
    }
}

fn binary(op: &str, left: Cel, right: Cel) -> Result<Cel, Fault> {
    Ok(match (op, left, right) {
        (_, Cel::Unknown, _) | (_, _, Cel::Unknown) => Cel::Unknown,
        ("==", left, right) => Cel::Bool(left == right),
        ("!=", left, right) => Cel::Bool(left != right),
        ("+", Cel::Text(left), Cel::Text(right)) => Cel::Text(left + &right),
        ("+", Cel::Int(left), Cel::Int(right)) => left.checked_add(right).map_or(Cel::Unknown, Cel::Int),
        ("+", ..) => return fault("no such overload: +"),
        _ => Cel::Unknown,
    })
}

fn call(name: &str, arguments: &[Expr], variables: &BTreeMap<String, Cel>) -> Result<Cel, Fault> {
    if let ("has", [Expr::Field(of, field)]) = (name, arguments) {
        return Ok(match of.eval(variables)? {
            Cel::Map(map) => Cel::Bool(map.contains_key(field)),
            _ => Cel::Unknown,
        });
    }
    let Some(Cel::Text(receiver)) = arguments.first().map(|a| a.eval(variables)).transpose()? else {
        return Ok(Cel::Unknown);
    };
    let argument = match arguments.get(1).map(|a| a.eval(variables)).transpose()? {
        Some(Cel::Text(text)) => Some(text),
        _ => None,
    };
    Ok(match (name, argument) {
        ("lowerAscii", None) => Cel::Text(receiver.to_ascii_lowercase()),
        ("upperAscii", None) => Cel::Text(receiver.to_ascii_uppercase()),
        ("trim", None) => Cel::Text(receiver.trim().to_owned()),
        ("contains", Some(text)) => Cel::Bool(receiver.contains(&text)),
        ("startsWith", Some(text)) => Cel::Bool(receiver.starts_with(&text)),
        ("endsWith", Some(text)) => Cel::Bool(receiver.ends_with(&text)),
        _ => Cel::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> BTreeMap<String, Cel> {
        let object = Cel::map([("kind", Cel::text("Kustomization")), ("name", Cel::text("apps"))]);
        let metadata = Cel::map([("environment", Cel::text("Prod"))]);
        BTreeMap::from([
            ("event".to_owned(), Cel::map([("involvedObject", object), ("metadata", metadata)])),
            ("alert".to_owned(), Cel::map([("metadata", Cel::map([("name", Cel::text("a"))]))])),
            ("provider".to_owned(), Cel::map([("metadata", Cel::map([("uid", Cel::Unknown)]))])),
        ])
    }

    #[test]
    fn expressions() {
        for (expression, value) in [
            ("event.involvedObject.kind + '/' + alert.metadata.name", "Kustomization/a"),
            ("(event.involvedObject.kind + \"/x\").lowerAscii()", "kustomization/x"),
            ("event.metadata['environment']", "Prod"),
            ("has(event.metadata.region) ? event.metadata.region : 'none'", "none"),
            ("event.metadata.environment == 'Prod' && true ? 'p' : 's'", "p"),
            ("!false || event.metadata.missing == 'x' ? 'a' : 'b'", "a"),
            ("'it\\'s'", "it's"),
        ] {
            assert_eq!(
                evaluate(expression, &variables()),
                Known::Value(Ok(value.to_owned())),
                "{expression}"
            );
        }
    }

    #[test]
    fn failures() {
        for expression in [
            "event.metadata.missing",
            "event.metadata.missing + provider.metadata.uid",
            "provider.metadata.uid + event.metadata.missing",
            "kustomization.metadata.name",
            "true ? 'a' : nowhere.name",
            "event.involvedObject.kind == 'Kustomization'",
            "event.involvedObject",
            "event.",
            "'open",
            "event.involvedObject.kind +",
            "'a' 'b'",
            "#",
            "",
        ] {
            let result = evaluate(expression, &variables());
            assert!(matches!(result, Known::Value(Err(_))), "{expression}: {result:?}");
        }
    }

    #[test]
    fn what_is_not_evaluated_is_unknown() {
        let deep = format!("{}'a'{}", "(".repeat(200), ")".repeat(200));
        for expression in [
            "provider.metadata.uid",
            "event.involvedObject.name.split('-')[0]",
            "event.metadata.map(k, k)[0]",
            "r'raw'",
            "'''a'''",
            &deep,
            &"'a'+".repeat(100_000),
        ] {
            assert_eq!(evaluate(expression, &variables()), Known::Unknown, "{expression}");
        }
    }

    #[test]
    fn the_default_is_lower_case() {
        let object =
            InvolvedObject { kind: "Kustomization".into(), name: "gitops".into(), ..Default::default() };
        assert_eq!(default_commit_status(&object, "0c9c2e41-d2f9-4f9b"), "kustomization/gitops/0c9c2e41");
    }
}
