//! `malformed-field-value`: a value of another type, or none that the field takes.
//! Source: kube-openapi `pkg/validation/validate`, apiextensions-apiserver
//! `pkg/apiserver/validation`; for Kubernetes' own kinds apimachinery
//! `runtime.DefaultUnstructuredConverter`.

use super::{expected, faults, level, place, refusal, shown, takes_strings, title};
use crate::lang::text::nearest;
use crate::lang::yaml::NodeRef;
use crate::lang::yaml::edit::{Content, Operation};
use crate::lint::metadata::write_string;
use crate::lint::{Applicability, Check, Finding, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::{ObjectId, Unchecked};
use crate::schema::{Fault, Malformed, Schema, Types};

pub(crate) static RULE: Rule = Rule {
    id: "malformed-field-value",
    group: Group::Schema,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a value that the field does not take",
    fix: FixAvailability::Sometimes,
    docs: include_str!("../../../../tests/rules/schema/malformed-field-value.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let verdict = view.verdict();
    for fault in faults(view, verdict) {
        let Fault::Malformed { schema, what } = &fault.violation.fault else { continue };
        let (node, pointer) = (fault.violation.node, &fault.violation.pointer);
        if fault.taken.is_some() || is_filled(view.id, pointer, what, node) {
            continue;
        }
        let is_text = matches!(what, Malformed::Pattern | Malformed::Format);
        if is_text && node.text().is_some_and(|text| is_placeholder(&text)) {
            let what = format!("{}: {pointer}", view.id);
            report.not_checked(Unchecked::Placeholder, node.location(), what);
            continue;
        }
        let Some(location) = place(view, node, pointer) else { continue };
        let (after, help) = words(view, schema, what, node);
        let value = node.text().unwrap_or_default();
        let finding = report
            .report(location, title(view.id, "", pointer, &after))
            .level(level(fault))
            .why(refusal(view, fault))
            .help(help)
            .object(view.id)
            .field(pointer.as_str(), value);
        finding.clusters.clone_from(&fault.clusters);
        offer(finding, schema, what, node);
    }
}

/// Whether a text waits for somebody to fill it in: `REPO_URL/fleet`,
/// `<your-repository>`, `CHANGEME`.
pub(crate) fn is_placeholder(text: &str) -> bool {
    let is_name = |word: &str| {
        word.contains('_')
            && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
            && word.bytes().any(|byte| byte.is_ascii_uppercase())
    };
    let words = || text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let filled = ["CHANGEME", "CHANGE_ME", "REPLACEME", "REPLACE_ME", "TODO", "FIXME"];
    let in_brackets = text.split_once('<').is_some_and(|(_, rest)| rest.contains('>'));
    in_brackets || words().any(|word| is_name(word) || filled.contains(&word.to_ascii_uppercase().as_str()))
}

/// Empty metadata, and other empty maps and lists of Cluster API's kinds, are dropped in the
/// round trips of webhooks before the validation.
pub(crate) fn is_filled(id: &ObjectId, pointer: &str, what: &Malformed, node: NodeRef<'_>) -> bool {
    let is_empty =
        (node.is_map() || node.is_seq()) && node.entries().next().is_none() && node.items().next().is_none();
    let cluster_api = id.group() == "cluster.x-k8s.io" || id.group().ends_with(".cluster.x-k8s.io");
    matches!(what, Malformed::Size(_)) && (pointer.ends_with("/metadata") || is_empty && cluster_api)
}

/// What is wrong, for the title, and what is valid.
fn words(view: &ObjectView<'_>, schema: &Schema, what: &Malformed, node: NodeRef<'_>) -> (String, String) {
    let quoted = |before: &str, after: &str| match shown(view, node) {
        Some(text) => format!("{before}`{text}`{after}"),
        None => format!("{before}this value{after}"),
    };
    match what {
        Malformed::Type(found) => {
            let valid = expected(schema);
            let help = match valid.as_str() {
                "a list" => "write a list: its items one below the other, each behind `- `".to_owned(),
                "a string" if node.text().is_some() => "put quotes around the value".to_owned(),
                valid => format!("write {valid}"),
            };
            (format!(" is {found}, not {valid}"), help)
        }
        Malformed::Enum => {
            let mut values: Vec<String> =
                schema.enumeration.iter().chain(&schema.constant).map(in_words).collect();
            values.retain(|value| value != "``");
            let near = near_value(schema, node);
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("use one of {}", values.join(", ")),
            };
            (quoted(" can't be ", ""), help)
        }
        Malformed::Pattern => {
            let pattern = schema.pattern.as_deref().unwrap_or_default();
            (quoted(" can't be ", ""), format!("write {}", pattern_words(pattern)))
        }
        Malformed::Format => {
            let format = schema.format.as_deref().unwrap_or_default();
            (
                quoted(": ", &format!(" is no {}", format_words(format))),
                format!("write {}", format_example(format)),
            )
        }
        Malformed::Quantity => (quoted(": ", " is no quantity"), format!("write {}", expected(schema))),
        Malformed::Range(limit) => (quoted(" can't be ", ""), format!("the value has to be {limit}")),
        Malformed::Size(limit) => (format!(" needs {limit}"), format!("give it {limit}")),
        Malformed::Alternatives => (
            " takes one of several shapes, and this is none".to_owned(),
            "write one of the documented shapes".to_owned(),
        ),
    }
}

fn in_words(value: &serde_json::Value) -> String {
    match value.as_str() {
        Some(text) => format!("`{text}`"),
        None => format!("`{value}`"),
    }
}

/// Patterns of Flux's CRDs in words.
fn pattern_words(pattern: &str) -> String {
    match pattern {
        r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$" => "a duration of ms, s, m and h, such as `1h30m`".to_owned(),
        r"^([0-9]+(\.[0-9]+)?(ms|s|m))+$" => "a duration of ms, s and m, such as `90s`".to_owned(),
        r"^(http|https)://.*$" => "a URL that begins with `http://` or `https://`".to_owned(),
        r"^(http|https|ssh)://.*$" => "a URL that begins with `http://`, `https://` or `ssh://`".to_owned(),
        r"^(http|https|oci)://.*$" => "a URL that begins with `http://`, `https://` or `oci://`".to_owned(),
        r"^oci://.*$" => "a URL that begins with `oci://`".to_owned(),
        pattern => format!("a text that matches `{pattern}`"),
    }
}

fn format_words(format: &str) -> &str {
    match format {
        "date-time" => "point in time",
        "byte" => "base64",
        other => other,
    }
}

fn format_example(format: &str) -> String {
    match format {
        "date-time" => "a point in time such as `2026-01-31T12:00:00Z`".to_owned(),
        "byte" => "base64, such as `aGVsbG8=`".to_owned(),
        other => format!("a value of the format {other}"),
    }
}

/// The allowed value that was surely meant.
fn near_value<'s>(schema: &'s Schema, node: NodeRef<'_>) -> Option<&'s str> {
    nearest(&node.as_str()?, schema.enumeration.iter().filter_map(|value| value.as_str()))
}

fn offer(finding: &mut Finding, schema: &Schema, what: &Malformed, node: NodeRef<'_>) {
    let Some(text) = node.text() else { return };
    let set = |value: Content| {
        move |pointer: &str| vec![Operation::Set { pointer: pointer.to_owned(), value, comment: None }]
    };
    match what {
        Malformed::Enum => {
            if let Some(near) = near_value(schema, node) {
                finding.fix(format!("write {near}"), Applicability::Safe, node, |pointer| {
                    write_string(pointer, near)
                });
            }
        }
        Malformed::Type(_) if takes_strings(schema) && !super::is_string(node) => {
            finding.fix("quote the value", Applicability::Safe, node, |pointer| write_string(pointer, &text));
        }
        Malformed::Type(_) if super::is_string(node) => {
            let boolean = schema.types.has(Types::BOOLEAN);
            let number = schema.types.has(Types::INTEGER.and(Types::NUMBER));
            match (&*text, text.parse::<i64>()) {
                ("true" | "false", _) if boolean => {
                    let value = Content::Bool(&*text == "true");
                    finding.fix("remove the quotes", Applicability::Safe, node, set(value));
                }
                ("yes" | "on" | "True" | "Yes" | "no" | "off" | "False" | "No", _) if boolean => {
                    let is_true = matches!(&*text, "yes" | "on" | "True" | "Yes");
                    let title = format!("write {is_true}");
                    finding.fix(title, Applicability::Unsafe, node, set(Content::Bool(is_true)));
                }
                (_, Ok(value)) if number => {
                    finding.fix("remove the quotes", Applicability::Safe, node, set(Content::Int(value)));
                }
                _ => {}
            }
        }
        _ => {}
    }
}
