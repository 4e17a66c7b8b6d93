//! `commit-status-provider-drops-events`: an Alert that sends to a commit status
//! provider what names no commit.
//! Source: notification-controller `internal/server/event_handlers.go`,
//! `getNotificationParams`; issue 1373.

use super::{event_annotation, listed, title};
use crate::lang::text::with_article;
use crate::lang::yaml::Known;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::ObjectId;
use crate::model::text::Text;
use crate::simulate::behaviour;
use crate::simulate::notify::providers::sets_commit_status;
use crate::simulate::notify::simulate::Item;

pub(crate) static RULE: Rule = Rule {
    id: "commit-status-provider-drops-events",
    group: Group::Event,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "events that a commit status provider drops",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/event/commit-status-provider-drops-events.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    // Older controllers sent everything.
    let gate = behaviour::COMMIT_STATUS_GATE.of(&view.cluster.settings);
    if gate == Known::Value(false) {
        return;
    }
    let Some(scene) = view.scene() else { return };
    for (item, alert) in scene.alerts() {
        let Some(provider) = scene.provider_type(alert).filter(|kind| sets_commit_status(kind)) else {
            continue;
        };
        let nodes = item.node.items_at("/spec/eventSources");
        for (index, (source, node)) in alert.sources.iter().zip(nodes).enumerate() {
            let Some(kind) = source.kind.known().filter(|kind| *kind != "Kustomization") else { continue };
            let is_selected = |at: &usize| scene.source_selects(alert, source, *at) == Known::Value(true);
            let selected: Vec<&Item<'_>> = scene
                .candidates(source)
                .into_iter()
                .filter(is_selected)
                .map(|at| &scene.emitters[at])
                .collect();
            let names_commit = |object: &&Item<'_>| {
                let entry = event_annotation(object.node, "commit");
                entry.is_some_and(|entry| Text::of(entry.value).known() != Some(""))
            };
            if selected.is_empty() || selected.iter().any(names_commit) {
                continue;
            }
            let Some(location) = node.get("kind").and_then(|kind| kind.location()) else { continue };
            let ids: Vec<&ObjectId> = selected.iter().map(|object| object.id).collect();
            let since = if gate == Known::Unknown { " since Flux 2.8" } else { "" };
            let has = match kind {
                "HelmRelease" => "a HelmRelease's chart version is none".to_owned(),
                kind => format!("the events of {} name none", with_article(kind)),
            };
            report
                .report(
                    location,
                    title(item.id, &format!("its provider drops events of {}", with_article(kind))),
                )
                .why(format!(
                    "a commit status ({provider}) needs a git commit, and {has}: its events are dropped \
                     without a word{since}, and its failures can't be sent ({})",
                    listed(&ids)
                ))
                .help(format!(
                    "select the Kustomization that applies it, or annotate the {kind} with \
                     event.toolkit.fluxcd.io/commit"
                ))
                .object(item.id)
                .field(format!("/spec/eventSources/{index}/kind"), kind);
        }
    }
}
