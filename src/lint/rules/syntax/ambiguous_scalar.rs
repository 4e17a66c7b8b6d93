//! `ambiguous-scalar`: a plain scalar that the two Go libraries read differently.
//! Source: go-yaml v2 and v3 `resolve.go`; the API machinery, kustomization files
//! and Flux's substitution use v2, kustomize's builds use v3.

use crate::lang::yaml::resolve::{json_value, timestamp_rfc3339};
use crate::lang::yaml::tape::TokenKind;
use crate::lang::yaml::{Dialect, NodeRef, Scalar, ScalarStyle};
use crate::lint::metadata::clipped;
use crate::lint::{Check, DocumentView, FixAvailability, Group, Level, Reporter, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "ambiguous-scalar",
    group: Group::Syntax,
    level: Level::Warning,
    default: false,
    since: "0.1.0",
    summary: "a plain scalar that two readers read differently",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/syntax/ambiguous-scalar.md"),
    check: Check::Document(check),
};

fn check(view: &DocumentView<'_>, report: &mut Reporter<'_>) {
    if view.file.path.ends_with(".json") {
        return;
    }
    for source in view.sources {
        for (at, token) in source.document().tokens.iter().enumerate() {
            if token.empty || token.kind != TokenKind::Scalar(ScalarStyle::Plain) {
                continue;
            }
            let node = NodeRef::Source(source, at as u32);
            let (v2, v3) = (node.scalar(Dialect::GoYamlV2), node.scalar(Dialect::GoYamlV3));
            if json_value(&v2) == json_value(&v3) {
                continue;
            }
            let (Some(text), Some(location)) = (node.text(), node.location()) else { continue };
            report
                .report(location, format!("plain `{}` has two meanings", clipped(&text, 40)))
                .why(format!(
                    "a kustomize or Flux build makes it {}; read without a build it is {}",
                    described(&v3),
                    described(&v2)
                ))
                .help("put quotes around it, or write `true` or `false`")
                .field(String::new(), text.into_owned());
        }
    }
}

fn described(scalar: &Scalar<'_>) -> String {
    match scalar {
        Scalar::Str(text) => format!("the string \"{}\"", clipped(text, 40)),
        Scalar::Timestamp(text) => match timestamp_rfc3339(text) {
            Some(time) => format!("the string \"{time}\""),
            None => "a timestamp".into(),
        },
        other => match json_value(other) {
            Ok(value) => format!("the {} {value}", other.type_name()),
            Err(_) => format!("a {}", other.type_name()),
        },
    }
}
