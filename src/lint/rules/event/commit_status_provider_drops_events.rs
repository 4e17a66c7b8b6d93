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
use crate::simulate::notify::providers::{CommitStatusGate, sets_commit_status};
use crate::simulate::notify::simulate::SimulatedObject;

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
    let Some(alert_index) = view.alert_index() else { return };
    let gate = alert_index.notifier.controller.commit_status;
    // Nothing is dropped: what names no commit fails, which the Alert's Events tell.
    if gate == CommitStatusGate::EveryEvent {
        return;
    }
    for (item, alert) in alert_index.alerts() {
        let Some(provider) = alert_index.provider_type(alert).filter(|kind| sets_commit_status(kind)) else {
            continue;
        };
        let nodes = item.node.items_at("/spec/eventSources");
        for (index, (source, node)) in alert.sources.iter().zip(nodes).enumerate() {
            let is_dropped = |kind: &&str| *kind != "Kustomization" || gate == CommitStatusGate::CommitsAlone;
            let Some(kind) = source.kind.known().filter(is_dropped) else { continue };
            let is_selected =
                |at: &usize| alert_index.source_selects(alert, source, *at) == Known::Value(true);
            let selected: Vec<&SimulatedObject<'_>> = alert_index
                .candidates(source)
                .into_iter()
                .filter(is_selected)
                .map(|at| &alert_index.emitters[at])
                .collect();
            let names_commit = |object: &&SimulatedObject<'_>| {
                let entry = event_annotation(object.node, "commit");
                entry.is_some_and(|entry| Text::of(entry.value).known() != Some(""))
            };
            if selected.is_empty() || selected.iter().any(names_commit) {
                continue;
            }
            let Some(location) = node.get("kind").and_then(|kind| kind.location()) else { continue };
            let ids: Vec<&ObjectId> = selected.iter().map(|object| object.id).collect();
            let is_known = view.cluster.settings.flux_at_least(8).is_some();
            let since = if is_known { "" } else { " since Flux 2.8" };
            report
                .report(
                    location,
                    title(item.id, &format!("its provider drops events of {}", with_article(kind))),
                )
                .why(format!(
                    "a commit status ({provider}) needs a git commit, and {} ({})",
                    told(kind, gate, since),
                    listed(&ids)
                ))
                .help(match kind {
                    "Kustomization" => {
                        "update Flux to 2.8.1 or later, whose notification-controller sends them".to_owned()
                    }
                    _ => format!(
                        "select the Kustomization that applies it, or annotate the {kind} with \
                         event.toolkit.fluxcd.io/commit"
                    ),
                })
                .object(item.id)
                .field(format!("/spec/eventSources/{index}/kind"), kind);
        }
    }
}

/// What becomes of the events of a kind.
fn told(kind: &str, gate: CommitStatusGate, since: &str) -> String {
    if kind == "Kustomization" {
        return "notification-controller 1.8.0 looks for it in an annotation alone: the success of a \
                Kustomization is dropped with all else"
            .to_owned();
    }
    let has = match kind {
        "HelmRelease" => "a HelmRelease's chart version is none".to_owned(),
        kind => format!("the events of {} name none", with_article(kind)),
    };
    let failures = match gate < CommitStatusGate::Failures {
        true => "its failures as well",
        false => "its failures can't be sent",
    };
    format!("{has}: its events are dropped without a word{since}, and {failures}")
}
