//! `malformed-variable-name`: a variable that Flux refuses.
//! Source: fluxcd/pkg `kustomize/kustomize_varsub.go` (`varsubRegex`); the CRD
//! of Kustomization for values.

use super::title;
use crate::build::substitute::{BadVariable, Provided, Variables};
use crate::lang::text::with_article;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::world::Outcome;
use std::borrow::Cow;

pub(crate) static RULE: Rule = Rule {
    id: "malformed-variable-name",
    group: Group::Build,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a postBuild variable whose name or value Flux refuses",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/malformed-variable-name.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for applied in &view.cluster.applied {
        let bad: Cow<'_, [BadVariable]> = match &applied.outcome {
            Outcome::Built { bad_variables, .. } => Cow::Borrowed(bad_variables),
            // Inline variables are judged even where the files are not here.
            _ => Variables::of(applied.node.get_ref(), &mut |_, _| Provided::Unknown)
                .map_or(Cow::Borrowed(&[]), |variables| Cow::Owned(variables.bad)),
        };
        for variable in bad.iter() {
            let (what, why, help, name, location) = match variable {
                BadVariable::Name { name, location } => (
                    format!("`{name}` can't name a variable"),
                    "the whole build fails: names are letters, digits and _, and don't begin with a digit"
                        .to_owned(),
                    "rename it, or leave it out of what substituteFrom names".to_owned(),
                    name,
                    location,
                ),
                BadVariable::Value { name, found, location } => (
                    format!("variable `{name}` is {}, not a string", with_article(found)),
                    "the API server refuses the Kustomization: variables are strings".to_owned(),
                    "quote the value".to_owned(),
                    name,
                    location,
                ),
            };
            let Some(location) = location.clone() else { continue };
            report
                .report(location, title(&applied.id, &what))
                .why(why)
                .help(help)
                .object(&applied.id)
                .field("/spec/postBuild", &**name);
        }
    }
}
