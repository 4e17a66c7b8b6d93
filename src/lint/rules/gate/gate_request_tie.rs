//! `gate-request-tie`: a request to open and one to close for the same moment.
//! Source: the gating RFC compares the two and does not say what a tie means.

use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::simulate::gating::objects::is_gate;
use crate::simulate::gating::{CLOSE_ANNOTATION, OPEN_ANNOTATION, format_time, parse_request_time};

pub(crate) static RULE: Rule = Rule {
    id: "gate-request-tie",
    group: Group::Gate,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a request to open a gate and one to close it for the same moment",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/gate/gate-request-tie.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !is_gate(view.id) {
        return;
    }
    let request = |key: &str| {
        let value = view.node.at("/metadata/annotations")?.get(key)?;
        Some((parse_request_time(&value.text()?)?, value.location()?))
    };
    let Some(((opens, open), (closes, close))) = request(OPEN_ANNOTATION).zip(request(CLOSE_ANNOTATION))
    else {
        return;
    };
    if opens != closes {
        return;
    }
    report
        .report(open, format!("{}: asked to open and to close at one moment", view.id))
        .why("the proposal does not say which request wins; forebay takes the gate to be closed")
        .help("give the request that is to win the later time, or remove the other")
        .object(view.id)
        .field("/metadata/annotations/open.gate.fluxcd.io~1requestedAt", format_time(opens))
        .related("the request to close", close);
}
