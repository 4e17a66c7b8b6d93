//! `malformed-substitution`: an expression, or a value, that substitution chokes
//! on.
//! Source: fluxcd/pkg `envsubst/parse/parse.go`; the substituted text is parsed
//! again by go-yaml (`kustomize/kustomize_varsub.go`).

use super::{appliers, title};
use crate::build::substitute::{ProblemKind, SubstitutionProblem};
use crate::lang::yaml::Location;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "malformed-substitution",
    group: Group::Build,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "an expression that substitution can't read, or a value that breaks the YAML around it",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/malformed-substitution.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let Some(effective) = view.effective else { return };
    if effective.problems.is_empty() {
        return;
    }
    let appliers = appliers(view);
    let Some((_, applied)) = appliers.first() else { return };
    for problem in &effective.problems {
        let Some(location) = problem.location.clone() else { continue };
        let (what, reason, help) = match &problem.kind {
            // Nothing of it is quoted: a default may be a password.
            ProblemKind::Malformed { message, text } => {
                ("malformed expression".to_owned(), message.clone(), instead_of(text).to_owned())
            }
            ProblemKind::BrokenYaml { message } => {
                let what = "broken YAML after substitution".to_owned();
                match undefined_in(&location, &effective.problems) {
                    Some(name) => (
                        what,
                        format!("`{name}` is not defined, so that nothing stands in its place; {message}"),
                        format!("define `{name}`, or give it a default: ${{{name}:-…}}"),
                    ),
                    None => (
                        what,
                        message.clone(),
                        "put the value in a block scalar, or keep `: `, ` #` and brackets out of it"
                            .to_owned(),
                    ),
                }
            }
            ProblemKind::Failed { message } => (
                "substitution fails".to_owned(),
                message.clone(),
                "write a length that is not negative".to_owned(),
            ),
            _ => continue,
        };
        let text = match &problem.kind {
            ProblemKind::Malformed { text, .. } => text.as_str(),
            _ => "",
        };
        report
            .report(location, title(view.id, &what))
            .why(format!("{reason}: the whole build of {} fails, at every Flux version", applied.id))
            .help(help)
            .object(view.id)
            .field(problem.pointer.clone(), text);
    }
}

/// A variable of a value that nothing defines.
fn undefined_in<'p>(value: &Location, problems: &'p [SubstitutionProblem]) -> Option<&'p str> {
    problems.iter().find_map(|problem| {
        let ProblemKind::Undefined { name } = &problem.kind else { return None };
        let within = problem.location.as_ref()?;
        let is_within = within.file == value.file && value.start <= within.start && within.end <= value.end;
        is_within.then_some(&**name)
    })
}

/// What to write instead of a malformed expression.
fn instead_of(text: &str) -> &'static str {
    let name: String = text
        .strip_prefix("${")
        .unwrap_or_default()
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
        .collect();
    let rest = text.get(2 + name.len()..).unwrap_or_default();
    if !name.is_empty() && rest.starts_with(['-', '+', '?']) && rest.ends_with('}') {
        return "write `:-` for a default, or escape it as $${…}";
    }
    "escape it as $${…}, or annotate the object kustomize.toolkit.fluxcd.io/substitute: disabled"
}
