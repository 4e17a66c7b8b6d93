//! `alert-source-without-events`: a source that is allowed but never emits.
//! Source: source-controller has no reconciler for ExternalArtifact, and
//! `internal/controller/helmrepository_controller.go` makes HelmRepositories of
//! type `oci` static (`migrationToStatic`).

use super::{is_static, subject_of, title};
use crate::lang::yaml::Known;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::kinds::SOURCE;
use crate::simulate::notify::alerts::source_selects;
use crate::simulate::notify::objects::labels_of;
use crate::simulate::notify::simulate::{SimulatedObject, items};
use crate::world::ApplyTarget;
use std::cell::OnceCell;

pub(crate) static RULE: Rule = Rule {
    id: "alert-source-without-events",
    group: Group::Event,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "an Alert's source that never emits events",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/event/alert-source-without-events.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let Some(alert_index) = view.alert_index() else { return };
    let is_repository = |item: &SimulatedObject<'_>| item.id.is(SOURCE, "HelmRepository");
    let repositories: Vec<SimulatedObject<'_>> =
        items(view.world(), view.cluster, &ApplyTarget::Local).filter(is_repository).collect();
    for (item, alert) in &alert_index.notifier.alerts {
        let nodes = item.node.items_at("/spec/eventSources");
        for (index, (source, node)) in alert.sources.iter().zip(nodes).enumerate() {
            let Some(location) = node.get("kind").and_then(|kind| kind.location()) else { continue };
            let (why, help) = match source.kind.known() {
                Some("ExternalArtifact") => (
                    "no controller emits events about an ExternalArtifact".to_owned(),
                    "name what makes it: an ArtifactGenerator",
                ),
                Some("HelmRepository") => {
                    let selects = |repository: &&SimulatedObject<'_>| {
                        let labels = OnceCell::new();
                        let labels = || labels.get_or_init(|| labels_of(repository.node));
                        source_selects(source, alert, subject_of(repository), labels) != Known::Value(false)
                    };
                    let selected: Vec<&SimulatedObject<'_>> = repositories.iter().filter(selects).collect();
                    // A name may stand for repositories that are not known here.
                    if selected.is_empty()
                        || source.name.is("*") != Known::Value(false)
                        || !selected.iter().all(|repository| is_static(**repository, &view.cluster.settings))
                    {
                        continue;
                    }
                    (
                        format!("{} is of type oci: source-controller never reconciles it", selected[0].id),
                        "name the HelmRelease or HelmChart that uses it, or an OCIRepository",
                    )
                }
                _ => continue,
            };
            let kind = source.kind.display().into_owned();
            report
                .report(location, title(item.id, &format!("eventSources[{index}] never emits events")))
                .why(why)
                .help(help)
                .object(item.id)
                .field(format!("/spec/eventSources/{index}/kind"), kind);
        }
    }
}
