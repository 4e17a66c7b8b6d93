//! `schedule-window-too-short`: a window that can't hold two reconciliations.
//! Source: flux-operator `internal/schedule` `NewScheduler`.

use crate::lang::go::duration::GoDuration;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::simulate::gating::objects::provider_timeout;
use crate::simulate::gating::timeline::short;

pub(crate) static RULE: Rule = Rule {
    id: "schedule-window-too-short",
    group: Group::Gate,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a schedule's window below twice the reconcile timeout",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/gate/schedule-window-too-short.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !view.id.is("fluxcd.controlplane.io", "ResourceSetInputProvider") {
        return;
    }
    let Some(timeout) = provider_timeout(view.node) else {
        return;
    };
    for (index, item) in view.node.items_at("/spec/schedule").enumerate() {
        let window = item.str_at("/window");
        let parsed = window.as_deref().and_then(|window| GoDuration::parse(window).ok());
        let (Some(text), Some(window), Some(location)) = (window, parsed, item.location_at("/window")) else {
            continue;
        };
        let least = GoDuration::from_nanoseconds(timeout.nanoseconds().saturating_mul(2));
        if window == GoDuration::ZERO || window >= least {
            continue;
        }
        let annotation = "fluxcd.controlplane.io/reconcileTimeout";
        report
            .report(location, format!("{}: a window of {text} is too short", view.id))
            .why(format!(
                "a window must be at least twice the timeout of {}: flux-operator stalls the provider \
                 with reason InvalidSchedule",
                short(timeout)
            ))
            .help(format!(
                "make it {} or more, or lower the annotation {annotation}; 0s means no window",
                short(least)
            ))
            .object(view.id)
            .field(format!("/spec/schedule/{index}/window"), text);
    }
}
