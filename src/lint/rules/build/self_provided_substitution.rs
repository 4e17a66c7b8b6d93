//! `self-provided-substitution`: variables from an object that only the
//! Kustomization itself applies.
//! Source: kustomize-controller `build`: `LoadVariables` runs before `apply`.

use super::title;
use crate::lang::yaml::NodeRef;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::{Maker, Name};
use crate::world::{ApplyTarget, scripts};

pub(crate) static RULE: Rule = Rule {
    id: "self-provided-substitution",
    group: Group::Build,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "variables from an object that only the same Kustomization applies",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/self-provided-substitution.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for (index, applied) in view.cluster.applied.iter().enumerate() {
        for source in applied.node.get_ref().items_at("/spec/postBuild/substituteFrom") {
            let optional = source.at("/optional").and_then(NodeRef::as_bool).unwrap_or(false);
            let (Some(kind), Some(name)) = (source.str_at("/kind"), source.str_at("/name")) else { continue };
            if optional || applied.target != ApplyTarget::Local {
                continue;
            }
            let namespace = applied.id.namespace.as_deref();
            let Some(member) = view.cluster.find(&ApplyTarget::Local, Name::new("", &kind, namespace, &name))
            else {
                continue;
            };
            let providers = view.written().filter(|(other, object)| {
                other.target == ApplyTarget::Local
                    && object.id.is("", &kind)
                    && *object.id.name == *name
                    && object.id.namespace.as_deref() == namespace
            });
            if member.maker.kustomization() != Some(index as u32)
                || providers.into_iter().any(|(other, _)| other.maker != Maker::Kustomization(index as u32))
            {
                continue;
            }
            let Some(location) = source.location_at("/name") else { continue };
            let provider = view.object(member);
            let place = provider.node.get_ref().location();
            // A script that names the file applies it before Flux runs.
            let file = place.as_ref().and_then(|place| place.file.of_root());
            let is_applied = |file: &str| {
                let beyond = view.beyond();
                beyond
                    .script_that_names(file)
                    .or_else(|| scripts::page_that_applies(beyond.snapshot, file))
                    .is_some()
            };
            if file.is_some_and(|file| is_applied(file)) {
                continue;
            }
            let what = format!("applies {kind} {name}, which it reads");
            let finding = report.report(location, title(&applied.id, &what));
            finding
                .claims_absence()
                .why(format!(
                    "nothing else applies {kind} {name}; variables are read before the apply, so the first apply in a new cluster fails, and every one after it, unless the bootstrap applies {name}"
                ))
                .help("apply it with another Kustomization and depend on that one, or set optional: true")
                .object(&applied.id)
                .field("/spec/postBuild/substituteFrom", &*name);
            if let Some(place) = place {
                finding.related("the object", place);
            }
        }
    }
}
