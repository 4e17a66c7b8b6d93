//! The identifier of a commit status: a Provider's `spec.commitStatusExpr`, or
//! the default. An expression that fails to evaluate loses the notification.
//!
//! The subset of CEL that such expressions are written in is evaluated; what
//! goes beyond it is unknown, not wrong.

use std::collections::BTreeMap;

use super::InvolvedObject;
use crate::lang::cel::{self, Expression};
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
    let tree = match cel::parse(expression) {
        Ok(tree) => tree,
        Err(cel::CelFault::Syntax(message)) => return Known::Value(Err(message)),
        Err(cel::CelFault::Beyond) => return Known::Unknown,
    };
    if let Some(name) = undeclared(&tree, variables) {
        return Known::Value(Err(format!("undeclared reference to '{name}'")));
    }
    match eval(&tree, variables) {
        Ok(Cel::Text(text)) => Known::Value(Ok(text)),
        Ok(Cel::Unknown) => Known::Unknown,
        Ok(_) => Known::Value(Err("the expression must evaluate to a string".to_owned())),
        Err(message) => Known::Value(Err(message)),
    }
}

/// A variable that does not exist, wherever it is used: that does not compile. Macros bind
/// variables of their own, so what is given to a call is left alone.
fn undeclared<'e>(expression: &'e Expression, variables: &BTreeMap<String, Cel>) -> Option<&'e str> {
    match expression {
        Expression::Name(name) => (!variables.contains_key(name)).then_some(name),
        Expression::Call(Some(of), ..) => undeclared(of, variables),
        Expression::Call(None, _, arguments) => arguments.first().and_then(|one| undeclared(one, variables)),
        _ => expression.parts().into_iter().find_map(|part| undeclared(part, variables)),
    }
}

/// What an expression comes to; the error that its evaluation ends with.
fn eval(expression: &Expression, variables: &BTreeMap<String, Cel>) -> Result<Cel, String> {
    let value = |expression| eval(expression, variables);
    match expression {
        Expression::Text(text) => Ok(Cel::Text(text.clone())),
        Expression::Bool(value) => Ok(Cel::Bool(*value)),
        Expression::Int(value) => Ok(Cel::Int(*value)),
        Expression::Null
        | Expression::Float(_)
        | Expression::List(_)
        | Expression::Map(_)
        | Expression::Message(..)
        | Expression::Optional(_) => Ok(Cel::Unknown),
        Expression::Name(name) => Ok(variables.get(name).cloned().unwrap_or(Cel::Unknown)),
        Expression::Select(of, name) => field(value(of)?, name),
        Expression::Index(of, index) => match (value(of)?, value(index)?) {
            (map, Cel::Text(key)) => field(map, &key),
            _ => Ok(Cel::Unknown),
        },
        Expression::Not(of) => match value(of)? {
            Cel::Bool(value) => Ok(Cel::Bool(!value)),
            Cel::Unknown => Ok(Cel::Unknown),
            _ => Err("no such overload: !".to_owned()),
        },
        Expression::Minus(of) => Ok(match value(of)? {
            Cel::Int(value) => value.checked_neg().map_or(Cel::Unknown, Cel::Int),
            _ => Cel::Unknown,
        }),
        Expression::Choice(condition, yes, no) => match value(condition)? {
            Cel::Bool(true) => value(yes),
            Cel::Bool(false) => value(no),
            Cel::Unknown => Ok(Cel::Unknown),
            _ => Err("no such overload: ?:".to_owned()),
        },
        Expression::Binary(sign @ ("&&" | "||"), left, right) => {
            let decisive = Cel::Bool(*sign == "||");
            match (value(left), value(right)) {
                (Ok(value), _) | (_, Ok(value)) if value == decisive => Ok(decisive),
                (Ok(Cel::Unknown), _) | (_, Ok(Cel::Unknown)) => Ok(Cel::Unknown),
                (Ok(Cel::Bool(_)), Ok(Cel::Bool(b))) => Ok(Cel::Bool(b)),
                (Err(why), _) | (_, Err(why)) => Err(why),
                _ => Err(format!("no such overload: {sign}")),
            }
        }
        Expression::Binary(sign, left, right) => binary(sign, value(left)?, value(right)?),
        Expression::Call(of, name, arguments) => call(of.as_deref(), name, arguments, variables),
    }
}

fn field(value: Cel, name: &str) -> Result<Cel, String> {
    match value {
        Cel::Map(mut map) => match map.remove(name) {
            Some(value) => Ok(value),
            None => Err(format!("no such key: {name}")),
        },
        Cel::Unknown => Ok(Cel::Unknown),
        _ => Err(format!("no such overload: .{name}")),
    }
}

fn binary(op: &str, left: Cel, right: Cel) -> Result<Cel, String> {
    Ok(match (op, left, right) {
        (_, Cel::Unknown, _) | (_, _, Cel::Unknown) => Cel::Unknown,
        ("==", left, right) => Cel::Bool(left == right),
        ("!=", left, right) => Cel::Bool(left != right),
        ("+", Cel::Text(left), Cel::Text(right)) => Cel::Text(left + &right),
        ("+", Cel::Int(left), Cel::Int(right)) => left.checked_add(right).map_or(Cel::Unknown, Cel::Int),
        ("+", ..) => return Err("no such overload: +".to_owned()),
        _ => Cel::Unknown,
    })
}

fn call(
    of: Option<&Expression>,
    name: &str,
    arguments: &[Expression],
    variables: &BTreeMap<String, Cel>,
) -> Result<Cel, String> {
    let Some(of) = of else {
        return match (name, arguments) {
            ("has", [Expression::Select(of, field)]) => Ok(match eval(of, variables)? {
                Cel::Map(map) => Cel::Bool(map.contains_key(field)),
                _ => Cel::Unknown,
            }),
            _ => Ok(Cel::Unknown),
        };
    };
    let Cel::Text(receiver) = eval(of, variables)? else { return Ok(Cel::Unknown) };
    let argument = match arguments.first().map(|one| eval(one, variables)).transpose()? {
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
            ("r'raw\\n'", "raw\\n"),
            ("'''a'''", "a"),
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
            "b'bytes'",
            "'a' in ['a'] ? 'b' : 'c'",
            "{'a': 'b'}['a']",
            "Text{value: 'a'}",
            "rb'a'",
            ".5 < 1.0 ? 'a' : 'b'",
            "[?event.none][0]",
            "event.`a-b`",
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
