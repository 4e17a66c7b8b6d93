//! `halting-flagger-gate`: a Canary webhook whose answer never changes.
//! Source: flagger `pkg/controller/webhook.go` (`callWebhook`,
//! `runRollbackHooks`) and its loadtester's `/gate/halt` and `/gate/approve`.

use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "halting-flagger-gate",
    group: Group::Gate,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a Canary webhook that always halts or always rolls back",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/gate/halting-flagger-gate.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !view.id.is("flagger.app", "Canary") {
        return;
    }
    for (index, hook) in view.node.items_at("/spec/analysis/webhooks").enumerate() {
        let (Some(kind), Some(url)) = (hook.str_at("/type"), hook.str_at("/url")) else {
            continue;
        };
        let path = url.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        let (defect, why) = match &*kind {
            "confirm-rollout" | "confirm-traffic-increase" | "confirm-promotion"
                if path.ends_with("/gate/halt") =>
            {
                ("never confirms", "/gate/halt refuses every call, so the Canary waits for ever at this step")
            }
            "rollback" if path.ends_with("/gate/approve") => (
                "always rolls back",
                "a rollback hook acts when its call succeeds, and /gate/approve always does",
            ),
            _ => continue,
        };
        let Some(location) = hook.location_at("/url") else {
            continue;
        };
        report
            .report(location, format!("{}: {kind} {defect}", view.id))
            .why(why)
            .help("call /gate/check, which is opened and closed with /gate/open and /gate/close")
            .object(view.id)
            .field(format!("/spec/analysis/webhooks/{index}/url"), url);
    }
}
