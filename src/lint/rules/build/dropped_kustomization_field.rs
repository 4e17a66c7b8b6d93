//! `dropped-kustomization-field`: a field of a root kustomization.yaml that Flux drops.
//! Source: fluxcd/pkg `kustomize/kustomize_generator.go` (`WriteFile`) reads the file by
//! `sigs.k8s.io/yaml` `Unmarshal` and writes it anew; kustomize `api/types/kustomization.go`
//! (`Unmarshal`) refuses the field.

use crate::build::kustomize::WarningKind;
use crate::lint::{Check, Context, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::kinds;
use std::collections::BTreeMap;

pub(crate) static RULE: Rule = Rule {
    id: "dropped-kustomization-field",
    group: Group::Build,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "a field of a root kustomization.yaml that Flux drops",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/dropped-kustomization-field.md"),
    check: Check::Repository(check),
};

fn check(context: &Context<'_>, report: &mut Reporter<'_>) {
    let mut dropped = BTreeMap::new();
    for cluster in &context.world.clusters {
        let built = cluster.applied.iter().filter(|applied| kinds::is_kustomization(&applied.id));
        for applied in built {
            for warning in
                applied.outcome.warnings().iter().filter(|one| one.kind == WarningKind::DroppedField)
            {
                let Some(location) = &warning.location else { continue };
                let (_, _, clusters) = dropped.entry((location.file.clone(), location.start)).or_insert((
                    applied,
                    warning,
                    Vec::new(),
                ));
                clusters.extend(cluster.name.clone());
            }
        }
    }
    for (applied, warning, mut clusters) in dropped.into_values() {
        let Some(location) = warning.location.clone() else { continue };
        clusters.dedup();
        let finding = report.report(location, &*warning.message);
        finding
            .why(format!(
                "kustomize-controller drops it without a word: {} is built as if it were not there",
                applied.id
            ))
            .help(match &warning.near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "remove it, or correct its name: `kustomize build` refuses the file".to_owned(),
            })
            .object(&applied.id)
            .field("", &*warning.message);
        finding.clusters = clusters;
    }
}
