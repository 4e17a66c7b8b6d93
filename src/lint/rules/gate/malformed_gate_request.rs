//! `malformed-gate-request`: a request annotation of a Gate that is no time.
//! Source: the gating RFC, story 1; Go's `time.RFC3339`.

use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::simulate::gating::objects::is_gate;
use crate::simulate::gating::{Position, parse_request_time};

pub(crate) static RULE: Rule = Rule {
    id: "malformed-gate-request",
    group: Group::Gate,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a request annotation of a Gate that is no RFC 3339 time",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/gate/malformed-gate-request.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !is_gate(view.id) {
        return;
    }
    for position in [Position::Opened, Position::Closed] {
        let key = position.annotation();
        let value = view.node.at("/metadata/annotations").and_then(|annotations| annotations.get(key));
        let Some((text, location)) = value.and_then(|value| value.text().zip(value.location())) else {
            continue;
        };
        if parse_request_time(&text).is_some() {
            continue;
        }
        let verb = position.verb();
        report
            .report(location, format!("{}: the time of the {verb} request can't be read", view.id))
            .why(format!("`{text}` is no RFC 3339 time, so the request is ignored"))
            .help("write a time such as 2026-03-26T10:00:00Z; `forebay gate` does")
            .object(view.id)
            .field(format!("/metadata/annotations/{}", key.replace('/', "~1")), text);
    }
}
