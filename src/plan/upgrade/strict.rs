//! Variables that nothing defines, where strict substitution begins or ends.
//! Source: kustomize-controller pull request 1671 (`StrictPostBuildSubstitutions`).

use super::{Look, Note};
use crate::build::substitute::ProblemKind;
use crate::config::Feature;
use crate::model::Severity;
use std::collections::BTreeSet;

/// What fails from then on, or becomes empty again.
pub(super) fn note(look: &Look<'_, '_>) -> Option<Note> {
    let strict =
        |settings: &crate::world::versions::Settings| settings.feature(Feature::StrictSubstitution).value;
    let begins = match (strict(&look.base.settings), strict(&look.head.settings)) {
        (Some(false), Some(true)) => true,
        (None, Some(true)) if look.old.is_none() => true,
        (Some(true), Some(false)) => false,
        _ => return None,
    };
    let mut found = BTreeSet::new();
    for placed in look.kept() {
        for problem in &placed.object.problems {
            let (name, perhaps) = match &problem.kind {
                ProblemKind::Undefined { name } => (name, ""),
                ProblemKind::PerhapsUndefined { name } => (name, " (unless the cluster defines it)"),
                _ => continue,
            };
            found.insert(format!("${{{name}}} in {}{perhaps}", placed.object.id));
        }
    }
    if found.is_empty() {
        return None;
    }
    let (severity, what) = match begins {
        true => (
            Severity::Disruptive,
            "a variable that nothing defines fails the build, instead of becoming empty",
        ),
        false => {
            (Severity::Notable, "a variable that nothing defines becomes empty, instead of failing the build")
        }
    };
    let advice = |text: &str| if begins { text.to_owned() } else { String::new() };
    Some(Note {
        id: "strict-substitution",
        severity,
        what: what.to_owned(),
        concerns: found.into_iter().collect(),
        before: advice(
            "define each, or give it a default (`${NAME:=}`); text that is no variable is written `$${NAME}`",
        ),
        after: advice(
            "`--feature-gates=StrictPostBuildSubstitutions=false` of kustomize-controller brings the old way back",
        ),
        source: "https://github.com/fluxcd/kustomize-controller/pull/1671",
    })
}
