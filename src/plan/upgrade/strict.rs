//! Variables that nothing defines, where strict substitution begins or ends.
//! Source: kustomize-controller pull request 1671 (`StrictPostBuildSubstitutions`).

use super::{Look, Note};
use crate::build::substitute::ProblemKind;
use crate::config::Feature;
use crate::model::Severity;
use crate::world::versions::Settings;
use std::collections::{BTreeMap, BTreeSet};

/// What fails from then on, or becomes empty again: what nothing can define, and what the
/// cluster may.
pub(super) fn notes(look: &Look<'_, '_>) -> Vec<Note> {
    let strict = |settings: &Settings| settings.feature(Feature::StrictSubstitution).value;
    let begins = match (strict(&look.base.settings), strict(&look.head.settings)) {
        (Some(false), Some(true)) => true,
        (None, Some(true)) if look.old.is_none() => true,
        (Some(true), Some(false)) => false,
        _ => return Vec::new(),
    };
    let mut found: BTreeMap<(bool, &str), BTreeSet<String>> = BTreeMap::new();
    for placed in look.kept() {
        for problem in &placed.object.problems {
            let (name, perhaps) = match &problem.kind {
                ProblemKind::Undefined { name } => (name, false),
                ProblemKind::PerhapsUndefined { name } => (name, true),
                _ => continue,
            };
            found.entry((perhaps, &**name)).or_default().insert(placed.object.id.to_string());
        }
    }
    let of = |wanted: bool| -> Vec<String> {
        let variables = found.iter().filter(|((perhaps, _), _)| *perhaps == wanted);
        variables.map(|((_, name), objects)| variable(name, objects)).collect()
    };
    [false, true].into_iter().filter_map(|perhaps| note(begins, perhaps, of(perhaps))).collect()
}

/// `${ZONE} in ConfigMap a/b and 2 more`.
fn variable(name: &str, objects: &BTreeSet<String>) -> String {
    let first = objects.first().map_or("", String::as_str);
    match objects.len() {
        0 | 1 => format!("${{{name}}} in {first}"),
        count => format!("${{{name}}} in {first} and {} more", count - 1),
    }
}

fn note(begins: bool, perhaps: bool, concerns: Vec<String>) -> Option<Note> {
    if concerns.is_empty() {
        return None;
    }
    let what = match (begins, perhaps) {
        (true, false) => "a variable that nothing defines fails the build, instead of becoming empty",
        (true, true) => "a variable that nothing here defines fails the build, unless the cluster defines it",
        (false, _) => "a variable that nothing defines becomes empty, instead of failing the build",
    };
    let advice = |text: &str| if begins { text.to_owned() } else { String::new() };
    Some(Note {
        id: "strict-substitution",
        severity: if begins && !perhaps { Severity::Disruptive } else { Severity::Notable },
        what: what.to_owned(),
        concerns,
        before: advice(match perhaps {
            false => {
                "define each, or give it a default (`${NAME:=}`); text that is no variable is written `$${NAME}`"
            }
            true => {
                "see that a ConfigMap or Secret of `substituteFrom` has each, or give it a default (`${NAME:=}`)"
            }
        }),
        after: advice(
            "`--feature-gates=StrictPostBuildSubstitutions=false` of kustomize-controller brings the old way back",
        ),
        source: "https://github.com/fluxcd/kustomize-controller/pull/1671",
    })
}
