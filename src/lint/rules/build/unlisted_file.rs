//! `unlisted-file`: a manifest that its directory's kustomization leaves out.
//! Source: kustomize builds what `resources` names; Flux looks for files by itself only
//! where there is no kustomization.

use super::title;
use crate::lint::{Check, Context, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Certainty;

pub(crate) static RULE: Rule = Rule {
    id: "unlisted-file",
    group: Group::Build,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "a manifest that its directory's kustomization leaves out",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/unlisted-file.md"),
    check: Check::Repository(check),
};

fn check(context: &Context<'_>, report: &mut Reporter<'_>) {
    let is_certain = context
        .world
        .clusters
        .iter()
        .any(|cluster| cluster.name.is_some() && cluster.certainty != Certainty::Guessed);
    for unlisted in context.unlisted() {
        let Some((first, place)) =
            unlisted.objects.first().and_then(|first| Some((first, first.node.get_ref().location()?)))
        else {
            continue;
        };
        let name = &unlisted.entry;
        let finding = report.report(place, title(&first.id, "its kustomization doesn't list this file"));
        finding
            .level(if is_certain { Level::Warning } else { Level::Info })
            .why(format!(
                "{} lists {} beside it, and Flux applies only what is listed: nothing of {name} is applied",
                unlisted.kustomization.path, unlisted.sibling
            ))
            .help(format!("add `{name}` to its resources, comment it out there, or remove the file"))
            .field("", &*unlisted.path);
        for object in &unlisted.objects {
            finding.object(&object.id);
        }
    }
}
