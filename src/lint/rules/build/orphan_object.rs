//! `orphan-object`: objects that no Kustomization of a cluster applies.

use super::title;
use crate::lint::unlisted::is_manifest;
use crate::lint::{Check, Context, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Object;
use crate::world::{Applied, Outcome};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) static RULE: Rule = Rule {
    id: "orphan-object",
    group: Group::Build,
    level: Level::Info,
    default: true,
    since: "0.1.0",
    summary: "objects that nothing in the repository applies",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/orphan-object.md"),
    check: Check::Repository(check),
};

fn check(context: &Context<'_>, report: &mut Reporter<'_>) {
    // What can't be built may apply anything.
    let built = |applied: &Applied| match &applied.outcome {
        Outcome::Built { unusable, .. } => unusable.is_empty(),
        Outcome::External(_) | Outcome::MissingPath => true,
        Outcome::Failed(_) | Outcome::Unknown(_) => false,
    };
    let world = context.world;
    if !world.has_entry || !world.applied_clusters().flat_map(|cluster| &cluster.applied).all(built) {
        return;
    }
    let unlisted: BTreeSet<&str> = context.unlisted().iter().map(|one| &*one.path).collect();
    let is_told = |object: &Object| unlisted.contains(&**object.path());
    let mut directories: BTreeMap<&str, Vec<&Object>> = BTreeMap::new();
    for object in context.world.orphans().filter(|object| is_manifest(object) && !is_told(object)) {
        let directory = object.path().rsplit_once('/').map_or("", |(directory, _)| directory);
        directories.entry(directory).or_default().push(object);
    }
    for (directory, objects) in directories {
        let Some((first, location)) =
            objects.first().and_then(|first| Some((first, first.node.get_ref().location()?)))
        else {
            continue;
        };
        let what = match objects.len() {
            1 => "no Kustomization applies it".to_owned(),
            2 => "no Kustomization applies it, nor 1 other here".to_owned(),
            count => format!("no Kustomization applies it, nor {} others here", count - 1),
        };
        let finding = report.report(location, title(&first.id, &what));
        finding
            .why("it is in no cluster, unless something outside of this repository applies it")
            .help("list it in a kustomization.yaml or below a spec.path, or remove it")
            .field("", directory);
        for object in &objects {
            finding.object(&object.id);
        }
    }
}
