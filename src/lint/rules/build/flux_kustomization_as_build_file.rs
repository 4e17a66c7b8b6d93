//! `flux-kustomization-as-build-file`: a Flux Kustomization under the name of
//! kustomize's own file.
//! Source: kustomize `api/types/kustomization.go` (`EnforceFields`).

use super::title;
use crate::lint::{Check, Context, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::kinds;
use crate::world::build::BuildFailure;

pub(crate) static RULE: Rule = Rule {
    id: "flux-kustomization-as-build-file",
    group: Group::Build,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a Flux Kustomization in a file called kustomization.yaml",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/flux-kustomization-as-build-file.md"),
    check: Check::Repository(check),
};

fn check(context: &Context<'_>, report: &mut Reporter<'_>) {
    let candidates: Vec<_> = context
        .snapshot
        .objects()
        .iter()
        .filter(|object| {
            let name = object.path().rsplit('/').next().unwrap_or_default();
            matches!(name, "kustomization.yaml" | "kustomization.yml" | "Kustomization")
                && kinds::is_kustomization(&object.id)
        })
        .collect();
    if candidates.is_empty() {
        return;
    }
    let world = context.world;
    for object in candidates {
        let path = object.path();
        // Named as a resource, the file is read like any other.
        let is_resource = world.objects.iter().any(|other| {
            let built = other.members.iter().any(|(cluster, member)| {
                let member = &world.clusters[*cluster as usize].members[*member as usize];
                member.maker.kustomization().is_some()
            });
            built && other.files.iter().any(|(_, file)| file.file.is_at(path))
        });
        if is_resource {
            continue;
        }
        let failing = world.clusters.iter().flat_map(|cluster| &cluster.applied).find(|applied| {
            let is_here = |failure: &BuildFailure| {
                failure.location.as_ref().is_some_and(|location| location.file.is_at(path))
            };
            applied.outcome.failures().iter().any(is_here)
        });
        if failing.is_none() && super::is_of_test(path) {
            continue;
        }
        let Some(location) = object.node.get_ref().location_at("/apiVersion") else { continue };
        let finding = report.report(location, title(&object.id, "kustomize takes it for its own file"));
        match failing {
            Some(applied) => finding.why(format!("the build of {} fails on it", applied.id)),
            None => finding
                .level(Level::Warning)
                .why("a build of this directory fails: apiVersion must be kustomize.config.k8s.io/v1beta1"),
        };
        finding.help("rename the file, for example to ks.yaml").object(&object.id).field("", &**path);
    }
}
