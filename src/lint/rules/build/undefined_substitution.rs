//! `undefined-substitution`: a variable without a default that nothing defines.
//! Source: fluxcd/pkg `kustomize/kustomize_varsub.go` and `envsubst`; the gate
//! `StrictPostBuildSubstitutions` of kustomize-controller.

use super::{post_build, title};
use crate::build::substitute::ProblemKind;
use crate::config::Feature;
use crate::lang::yaml::Location;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::world::{Applied, Cluster, Effective};
use std::collections::BTreeMap;

pub(crate) static RULE: Rule = Rule {
    id: "undefined-substitution",
    group: Group::Build,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a ${VARIABLE} without a default that nothing defines",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/undefined-substitution.md"),
    check: Check::Object(check),
};

/// Places that a finding names beside its own.
const RELATED: usize = 3;

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let Some(effective) = view.effective else { return };
    if effective.problems.is_empty() {
        return;
    }
    // One text is read by clusters that make different things of it.
    for strict in [Some(true), Some(false), None] {
        let is_so = |cluster: &Cluster| cluster.settings.feature(Feature::StrictSubstitution).value == strict;
        let appliers: Vec<_> = view.appliers().filter(|(cluster, _)| is_so(cluster)).collect();
        told(view, effective, (strict, &appliers), report);
    }
}

/// What the clusters say that read it in one way, by the first of the Kustomizations that apply it.
fn told<'a>(
    view: &ObjectView<'a>,
    effective: &Effective,
    (strict, appliers): (Option<bool>, &[(&'a Cluster, &'a Applied)]),
    report: &mut Reporter<'_>,
) {
    let Some((_, applied)) = appliers.first() else { return };
    let defined = view.variables(applied);
    // One text that uses a variable many times, as dashboards do, has one defect.
    let mut places: BTreeMap<(&str, &str), Vec<Location>> = BTreeMap::new();
    for problem in &effective.problems {
        let ProblemKind::Undefined { name } = &problem.kind else { continue };
        let places = places.entry((problem.pointer.as_str(), name.as_ref())).or_default();
        places.extend(problem.location.clone());
    }
    for ((pointer, name), places) in places {
        let mut places = places.into_iter();
        let Some(location) = places.next() else { continue };
        let more = match places.len() {
            0 => String::new(),
            1 => " (and once more)".to_owned(),
            count => format!(" (and {count} times more)"),
        };
        let (level, why) = match strict {
            Some(true) => {
                (Level::Error, format!("the build of {} fails, so nothing of it is applied", applied.id))
            }
            Some(false) => (
                Level::Warning,
                "it is replaced by nothing; from Flux 2.9 the build fails instead".to_owned(),
            ),
            None => (
                Level::Warning,
                "the build fails from Flux 2.9; before, it is replaced by nothing".to_owned(),
            ),
        };
        let help = match defined.nearest(name) {
            Some(near) => format!("did you mean ${{{near}}}?"),
            None => format!(
                "define {name} in spec.postBuild, write ${{{name}:=default}}, or escape it as $${{{name}}}"
            ),
        };
        let finding = report.report(location, title(view.id, &format!("${{{name}}} is not defined{more}")));
        finding.of_clusters(appliers.iter().map(|(cluster, _)| *cluster));
        finding.claims_absence().level(level).why(why).help(help).object(view.id).field(pointer, name);
        if let Some(place) = post_build(applied) {
            finding.related(format!("the variables of {}", applied.id), place);
        }
        for place in places.take(RELATED) {
            finding.related("again here", place);
        }
    }
}
