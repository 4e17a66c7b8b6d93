//! `expired-gate-request`: a request of a Gate whose window is over.
//! Source: the gating RFC, story 1: a gate goes back to its default.

use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::simulate::gating::objects::{Gating, is_gate};
use crate::simulate::gating::{format_time, state};

pub(crate) static RULE: Rule = Rule {
    id: "expired-gate-request",
    group: Group::Gate,
    level: Level::Info,
    default: true,
    since: "0.1.0",
    summary: "a request of a Gate whose window is over",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/gate/expired-gate-request.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let Some(at) = is_gate(view.id).then(|| view.beyond().at).flatten() else { return };
    let gating = Gating::read(std::iter::once((view.id, view.node)));
    for gate in gating.gates.iter().filter(|gate| gate.unknown.is_none()) {
        let requests: Vec<_> = gate.requests.iter().map(|(request, _)| *request).collect();
        let now = state(gate.spec, &requests, at);
        let Some((asked, reset)) = now.requested_at.zip(now.reset_to_default_at) else { continue };
        // A request back to the default has no window.
        if reset > at || reset <= asked {
            continue;
        }
        let standing = gate.requests.iter().find(|(request, _)| request.at == asked);
        let Some((request, location)) = standing.and_then(|(request, place)| Some((request, place.clone()?)))
        else {
            continue;
        };
        let verb = request.position.verb();
        let key = request.position.annotation().replace('/', "~1");
        report
            .report(location, format!("{}: the {verb} request is over", view.id))
            .why(format!("the gate went back to {} at {}", gate.spec.default.name(), format_time(reset)))
            .help(format!("remove the annotation, or ask again with `forebay gate {verb}`"))
            .object(view.id)
            .field(format!("/metadata/annotations/{key}"), format_time(asked));
    }
}
