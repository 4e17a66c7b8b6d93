//! `future-gate-request`: a request of a Gate for a time that lies ahead.
//! Source: the gating RFC does not speak of such requests; here they are
//! scheduled ones.

use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::simulate::gating::format_time;
use crate::simulate::gating::objects::{Gating, is_gate};

pub(crate) static RULE: Rule = Rule {
    id: "future-gate-request",
    group: Group::Gate,
    level: Level::Info,
    default: true,
    since: "0.1.0",
    summary: "a request of a Gate for a time that lies ahead",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/gate/future-gate-request.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let Some(at) = is_gate(view.id).then(|| view.beyond().at).flatten() else { return };
    let gating = Gating::read(std::iter::once((view.id, view.node)));
    let requests = gating.gates.iter().flat_map(|gate| &gate.requests);
    for (request, location) in requests.filter(|(request, _)| request.at > at) {
        let Some(location) = location.clone() else { continue };
        let verb = request.position.verb();
        let key = request.position.annotation().replace('/', "~1");
        report
            .report(location, format!("{}: the {verb} request is for later", view.id))
            .why(format!(
                "it counts from {} on; the proposal does not speak of scheduled requests, so a controller \
                 may act on it at once",
                format_time(request.at)
            ))
            .help("let a CronJob annotate the Gate when the time has come")
            .object(view.id)
            .field(format!("/metadata/annotations/{key}"), format_time(request.at));
    }
}
