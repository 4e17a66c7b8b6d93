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
use crate::simulate::admission::{self, Declared, Patch, PatchFault};
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
    let mutates = &*view.id.kind == "MutatingAdmissionPolicy";
    for (index, variable) in view.node.items_at("/spec/variables").enumerate() {
        let pointer = format!("/spec/variables/{index}/expression");
        let place = Place { view, pointer, node: variable.get("expression") };
        if let Some(tree) = expression(&place, &declared, report).filter(|_| mutates) {
            patch(&place, &tree, None, report);
        }
        // Each sees those above it.
        match variable.str_at("/name") {
            Some(name) => drop(declared.variables.get_or_insert_default().insert(name.into_owned())),
            None => return,
        }
    }
    expressions(view, "/spec/validations", "expression", &declared, report);
    expressions(view, "/spec/auditAnnotations", "valueExpression", &declared, report);
    for (kind, whole) in [("applyConfiguration", Patch::ApplyConfiguration), ("jsonPatch", Patch::Json)] {
        for (index, mutation) in view.node.items_at("/spec/mutations").enumerate() {
            let pointer = format!("/spec/mutations/{index}/{kind}/expression");
            let node = mutation.get(kind).and_then(|patch| patch.get("expression"));
            let place = Place { view, pointer, node };
            if let Some(tree) = expression(&place, &declared, report) {
                patch(&place, &tree, Some(whole), report);
            }
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
        let pointer = format!("{list}/{index}/{field}");
        expression(&Place { view, pointer, node: item.get(field) }, declared, report);
    }
}

/// Where an expression stands.
struct Place<'p, 'v> {
    view: &'p ObjectView<'v>,
    pointer: String,
    node: Option<NodeRef<'v>>,
}

/// The tree of an expression in which every name is declared.
fn expression(place: &Place<'_, '_>, declared: &Declared, report: &mut Reporter<'_>) -> Option<Expression> {
    let text = place.node?.as_str().filter(|text| !has_hole(text) && !text.contains("{{"))?;
    let (what, help) = match parse(&text) {
        Ok(tree) => match admission::undeclared(&tree, declared) {
            None => return Some(tree),
            Some(name) => undeclared(name, declared),
        },
        Err(CelFault::Syntax(message)) => (message, "correct the expression".to_owned()),
        Err(CelFault::Beyond) => return None,
    };
    refused(place, &what, help, report);
    None
}

/// What the API server does not take.
fn refused(place: &Place<'_, '_>, what: &str, help: String, report: &mut Reporter<'_>) {
    let would = if place.view.is_built() { "refuses" } else { "would refuse" };
    let why = format!("{what}: the API server {would} the object");
    tell(place, " does not compile", why, help, report);
}

fn tell(place: &Place<'_, '_>, fails: &str, why: String, help: String, report: &mut Reporter<'_>) {
    let Place { view, pointer, node } = place;
    let Some(location) = node.and_then(|node| node.location()) else { return };
    report
        .report(location, super::title(view.id, "", pointer, fails))
        .level(if view.is_built() { Level::Error } else { Level::Warning })
        .why(why)
        .help(help)
        .object(view.id)
        .field(pointer.as_str(), dotted(pointer));
}

/// What a mutation makes: its types are looked at when a request is patched, but for those that
/// nothing declares and for the type of the whole.
fn patch(place: &Place<'_, '_>, tree: &Expression, whole: Option<Patch>, report: &mut Reporter<'_>) {
    let (what, help) = match admission::patch_fault(tree, whole) {
        None => return,
        Some(PatchFault::UnknownType(name)) => {
            let help = "there are `Object`, `Object.` with the path of a field, and `JSONPatch`".to_owned();
            return refused(place, &format!("undeclared reference to the type `{name}`"), help, report);
        }
        Some(PatchFault::Result(found)) => {
            let needed = whole.map_or("", Patch::describe);
            let help = format!("make it {needed}");
            let what = format!("the expression comes to {found}, not to {needed}");
            return refused(place, &what, help, report);
        }
        Some(PatchFault::UnknownField(field)) => {
            let near = suggest(&field, admission::JSON_PATCH_FIELDS);
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it has {}", admission::JSON_PATCH_FIELDS.join(", ")),
            };
            (format!("`JSONPatch` has no field `{field}`"), help)
        }
        Some(PatchFault::Misplaced { name, expected }) => {
            (format!("the type `{name}` stands where `{expected}` is meant"), format!("write `{expected}{{`"))
        }
    };
    let consequence = match place.view.node.str_at("/spec/failurePolicy").as_deref() {
        Some("Ignore") => "requests go through without it",
        _ => "requests that it matches are refused (`failurePolicy: Fail`)",
    };
    let why = format!("{what}: the mutation fails, and {consequence}");
    tell(place, " makes no patch", why, help, report);
}

/// What a name that nothing declares is called, and what to do.
fn undeclared(unknown: admission::Undeclared, declared: &Declared) -> (String, String) {
    let help = |near: Option<&str>, otherwise: String| match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => otherwise,
    };
    match unknown {
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
    }
}
