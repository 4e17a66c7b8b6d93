//! The types of what the mutations of a policy make: `Object` and its fields, each called by
//! its path, and `JSONPatch`.

use crate::lang::cel::Expression;

/// What a mutation has to come to.
/// Source: apiserver `pkg/admission/plugin/policy/mutating/patch` (`ReturnTypes`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patch {
    /// `Object`
    ApplyConfiguration,
    /// A list of `JSONPatch`.
    Json,
}

impl Patch {
    /// The type, in words.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Patch::ApplyConfiguration => "`Object`",
            Patch::Json => "a list of `JSONPatch`",
        }
    }
}

/// What is wrong with the types of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PatchFault {
    /// The API server declares no type of that name.
    UnknownType(String),
    /// The whole is something else: what.
    Result(String),
    /// A field that a `JSONPatch` has not.
    UnknownField(String),
    /// A type that is not called by the path of its field.
    Misplaced { name: String, expected: String },
}

/// The fields of a `JSONPatch`. Source: apiserver `pkg/cel/mutation/jsonpatch.go`.
pub(crate) const JSON_PATCH_FIELDS: [&str; 4] = ["from", "op", "path", "value"];

const OBJECT: &str = "Object";
const JSON_PATCH: &str = "JSONPatch";

/// What is wrong with the types that are written out in an expression of a policy that
/// mutates; `whole` is what it has to come to, and `None` for a variable. What refuses the
/// policy comes before what fails when it is used.
///
/// Source: apiserver `pkg/cel/mutation/typeresolver.go` (`DynamicTypeResolver.Resolve`).
pub(crate) fn patch_fault(expression: &Expression, whole: Option<Patch>) -> Option<PatchFault> {
    let messages = messages(expression);
    let unknown = messages.iter().find(|(name, _)| !is_type(name));
    if let Some((name, _)) = unknown {
        return Some(PatchFault::UnknownType((*name).to_owned()));
    }
    if let Some(found) = whole.and_then(|whole| other_result(expression, whole)) {
        return Some(PatchFault::Result(found));
    }
    messages.iter().find_map(|(name, fields)| field_fault(name, fields))
}

/// All that is made in an expression, the outer before what stands in its fields.
fn messages(expression: &Expression) -> Vec<(&str, &[(String, Expression)])> {
    let mut found = Vec::new();
    let mut open = vec![expression];
    while let Some(one) = open.pop() {
        if let Expression::Message(name, fields) = one {
            found.push((name.as_str(), fields.as_slice()));
        }
        let parts = one.parts().into_iter().rev();
        // Of the values of a patch only objects are held against their path, not those in lists.
        let is_patch = matches!(one, Expression::Message(name, _) if name == JSON_PATCH);
        let is_object = |part: &&Expression| matches!(part, Expression::Message(..) | Expression::Choice(..));
        open.extend(parts.filter(|part| !is_patch || is_object(part)));
    }
    found
}

/// Types of protocol buffers are left alone.
fn is_type(name: &str) -> bool {
    name == OBJECT || name == JSON_PATCH || name.starts_with("Object.") || name.starts_with("google.")
}

/// What an expression comes to instead, where that is written out.
fn other_result(expression: &Expression, whole: Patch) -> Option<String> {
    let mut open = vec![expression];
    while let Some(one) = open.pop() {
        let other = match (whole, one) {
            (_, Expression::Choice(_, yes, no)) => {
                open.extend([&**no, yes]);
                None
            }
            (Patch::ApplyConfiguration, Expression::Message(name, _)) if name == OBJECT => None,
            (Patch::Json, Expression::List(items)) => {
                let other = items.iter().filter_map(written_type).find(|written| written != "`JSONPatch`");
                other.map(|other| format!("a list of {other}"))
            }
            _ => written_type(one),
        };
        if other.is_some() {
            return other;
        }
    }
    None
}

/// The type of a literal. `null` stands for anything.
fn written_type(expression: &Expression) -> Option<String> {
    Some(match expression {
        Expression::Message(name, _) => format!("`{name}`"),
        Expression::List(_) => "a list".to_owned(),
        Expression::Map(_) => "a map".to_owned(),
        Expression::Text(_) => "a text".to_owned(),
        Expression::Int(_) | Expression::Float(_) => "a number".to_owned(),
        Expression::Bool(_) => "a boolean".to_owned(),
        _ => return None,
    })
}

/// Source: apiserver `pkg/cel/mutation/dynamic/objects.go` (`typeCheck`), `jsonpatch.go` (`Val`).
fn field_fault(name: &str, fields: &[(String, Expression)]) -> Option<PatchFault> {
    if name == JSON_PATCH {
        let unknown = fields.iter().find(|(field, _)| !JSON_PATCH_FIELDS.contains(&field.as_str()));
        return unknown.map(|(field, _)| PatchFault::UnknownField(field.clone()));
    }
    fields.iter().find_map(|(field, value)| {
        let expected = format!("{name}.{field}");
        let other = values(value).into_iter().find(|name| **name != expected)?;
        Some(PatchFault::Misplaced { name: other.to_owned(), expected })
    })
}

/// The types of a field's value: lists, maps and choices have no name of their own.
fn values(value: &Expression) -> Vec<&str> {
    let mut names = Vec::new();
    let mut open = vec![value];
    while let Some(one) = open.pop() {
        match one {
            Expression::Message(name, _) => names.push(name.as_str()),
            Expression::List(items) => open.extend(items.iter().rev()),
            Expression::Map(entries) => open.extend(entries.iter().rev().map(|(_, value)| value)),
            Expression::Choice(_, yes, no) => open.extend([&**no, yes]),
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::cel::parse;

    fn told(text: &str, whole: Option<Patch>) -> Option<PatchFault> {
        patch_fault(&parse(text).expect("an expression"), whole)
    }

    #[test]
    fn objects_are_called_by_the_path_of_their_field() {
        let apply = Some(Patch::ApplyConfiguration);
        for text in [
            "Object{}",
            "has(object.spec) ? Object{spec: Object.spec{replicas: 3}} : Object{}",
            "Object{spec: Object.spec{m: {'k': Object.spec.m{}}, l: [Object.spec.l{a: Object.spec.l.a{}}]}}",
            "Object{spec: object.spec.x ? Object.spec{} : Object.spec{a: 1}}",
            "variables.patch",
            "cond ? variables.patch : null",
        ] {
            assert_eq!(told(text, apply), None, "{text}");
        }
        let misplaced = |name: &str, expected: &str| {
            Some(PatchFault::Misplaced { name: name.to_owned(), expected: expected.to_owned() })
        };
        assert_eq!(
            told("Object{spec: Object.spec{selector: Object.spec.wrong{}}}", apply),
            misplaced("Object.spec.wrong", "Object.spec.selector")
        );
        assert_eq!(
            told("Object{spec: Object.spec{l: [object.a ? Object.spec.m{} : Object.spec.l{}]}}", apply),
            misplaced("Object.spec.m", "Object.spec.l")
        );
        assert_eq!(told("Object.spec{a: Object.a{}}", None), misplaced("Object.a", "Object.spec.a"));
        assert_eq!(told("Object.spec{}", apply), Some(PatchFault::Result("`Object.spec`".to_owned())));
        assert_eq!(told("{'spec': {}}", apply), Some(PatchFault::Result("a map".to_owned())));
        assert_eq!(told("Objects{}", apply), Some(PatchFault::UnknownType("Objects".to_owned())));
    }

    #[test]
    fn patches_are_a_list_and_have_four_fields() {
        let json = Some(Patch::Json);
        for text in [
            "[JSONPatch{op: 'add', path: '/a', value: Object.spec{a: Object.spec.a{}}}]",
            "object.a ? [] : [JSONPatch{op: 'remove', path: '/a'}]",
            "[JSONPatch{op: 'test', path: '/a', value: 1}] + variables.more",
            "[JSONPatch{op: 'add', path: '/a', value: [Object.a{b: Object.c{}}]}]",
        ] {
            assert_eq!(told(text, json), None, "{text}");
        }
        let result = |found: &str| Some(PatchFault::Result(found.to_owned()));
        assert_eq!(told("JSONPatch{op: 'add'}", json), result("`JSONPatch`"));
        assert_eq!(told("[Object{}]", json), result("a list of `Object`"));
        assert_eq!(told("[{'op': 'add'}]", json), result("a list of a map"));
        assert_eq!(
            told("[JSONPatch{op: 'add', path: '/a', val: 1}]", json),
            Some(PatchFault::UnknownField("val".to_owned()))
        );
    }
}
