//! `malformed-admission-expression`: CEL of an admission policy that does not compile.
//! Source: kubernetes `pkg/apis/admissionregistration/validation/validation.go`
//! (`validateValidatingAdmissionPolicySpec`, `validateMatchConditionsExpression`,
//! `validateMessageExpression`), which compiles each expression when the policy is written.

use super::dotted;
use crate::lang::cel::{CelFault, Expression, parse};
use crate::lang::text::{nearest, suggest};
use crate::lang::yaml::NodeRef;
use crate::lint::metadata::has_hole;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::simulate::admission::{self, Declared};
use std::collections::BTreeSet;

pub(crate) static RULE: Rule = Rule {
    id: "malformed-admission-expression",
    group: Group::Schema,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "an expression of an admission policy that does not compile",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/schema/malformed-admission-expression.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if view.id.group() != "admissionregistration.k8s.io" {
        return;
    }
    match &*view.id.kind {
        "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => policy(view, report),
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
            for index in 0..view.node.items_at("/webhooks").count() {
                let list = format!("/webhooks/{index}/matchConditions");
                expressions(view, &list, "expression", &Declared::webhook(), report);
            }
        }
        _ => {}
    }
}

fn policy(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let has_params = view.node.at("/spec/paramKind").is_some();
    let mut declared = Declared::policy(has_params);
    expressions(view, "/spec/matchConditions", "expression", &declared, report);
    declared.variables = Some(BTreeSet::new());
    for (index, variable) in view.node.items_at("/spec/variables").enumerate() {
        let pointer = format!("/spec/variables/{index}/expression");
        expression(view, &pointer, variable.get("expression"), &declared, report);
        // Each sees those above it.
        match variable.str_at("/name") {
            Some(name) => drop(declared.variables.get_or_insert_default().insert(name.into_owned())),
            None => return,
        }
    }
    expressions(view, "/spec/validations", "expression", &declared, report);
    expressions(view, "/spec/auditAnnotations", "valueExpression", &declared, report);
    for kind in ["applyConfiguration", "jsonPatch"] {
        for (index, mutation) in view.node.items_at("/spec/mutations").enumerate() {
            let pointer = format!("/spec/mutations/{index}/{kind}/expression");
            let node = mutation.get(kind).and_then(|patch| patch.get("expression"));
            expression(view, &pointer, node, &declared, report);
        }
    }
    declared.authorizer = false;
    expressions(view, "/spec/validations", "messageExpression", &declared, report);
}

/// The expressions of a list.
fn expressions(
    view: &ObjectView<'_>,
    list: &str,
    field: &str,
    declared: &Declared,
    report: &mut Reporter<'_>,
) {
    for (index, item) in view.node.items_at(list).enumerate() {
        expression(view, &format!("{list}/{index}/{field}"), item.get(field), declared, report);
    }
}

fn expression(
    view: &ObjectView<'_>,
    pointer: &str,
    node: Option<NodeRef<'_>>,
    declared: &Declared,
    report: &mut Reporter<'_>,
) {
    let Some(node) = node.filter(|node| !node.is_unknown()) else { return };
    let Some(text) = node.as_str().filter(|text| !has_hole(text) && !text.contains("{{")) else { return };
    let Some((what, help)) = fault(&text, declared) else { return };
    let Some(location) = node.location() else { return };
    let (level, would) = match view.is_built() {
        true => (Level::Error, "refuses"),
        false => (Level::Warning, "would refuse"),
    };
    report
        .report(location, super::title(view.id, "", pointer, " does not compile"))
        .level(level)
        .why(format!("{what}: the API server {would} the object"))
        .help(help)
        .object(view.id)
        .field(pointer, dotted(pointer));
}

/// What is wrong with an expression, and what to do.
fn fault(text: &str, declared: &Declared) -> Option<(String, String)> {
    let tree: Expression = match parse(text) {
        Ok(tree) => tree,
        Err(CelFault::Syntax(message)) => return Some((message, "correct the expression".to_owned())),
        Err(CelFault::Beyond) => return None,
    };
    let unknown = admission::undeclared(&tree, declared)?;
    let help = |near: Option<&str>, otherwise: String| match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => otherwise,
    };
    Some(match unknown {
        admission::Undeclared::Name(name) => {
            let near = suggest(&name, declared.names());
            let otherwise = match declared.why_not(&name) {
                Some(why) => why.to_owned(),
                None => format!("there are {}", declared.names().collect::<Vec<_>>().join(", ")),
            };
            (format!("undeclared reference to `{name}`"), help(near, otherwise))
        }
        admission::Undeclared::Variable(name) => {
            let known = declared.variables.iter().flatten().map(String::as_str);
            let near = nearest(&name, known);
            let otherwise = format!("add `{name}` to spec.variables, above what reads it");
            (format!("undefined field `{name}` of `variables`"), help(near, otherwise))
        }
        admission::Undeclared::Function(name, near) => {
            (format!("undeclared reference to the function `{name}`"), help(Some(near), String::new()))
        }
    })
}
