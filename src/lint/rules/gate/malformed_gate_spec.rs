//! `malformed-gate-spec`: a Gate whose default, window or interval is unusable.
//! Source: the gating RFC, story 1; its prototype controller requires all three.

use crate::lang::go::duration::{GoDuration, matches_interval_pattern};
use crate::lang::yaml::NodeRef;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::simulate::gating::objects::is_gate;

pub(crate) static RULE: Rule = Rule {
    id: "malformed-gate-spec",
    group: Group::Gate,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a Gate whose default, window or interval is missing or unusable",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/gate/malformed-gate-spec.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !is_gate(view.id) {
        return;
    }
    check_default(view, report);
    check_duration(view, report, "interval");
    check_duration(view, report, "window");
}

fn present<'a>(view: &ObjectView<'a>, pointer: &str) -> Option<NodeRef<'a>> {
    view.node.at(pointer).filter(|value| !value.is_null())
}

fn check_default(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let value = present(view, "/spec/default");
    if value.is_some_and(NodeRef::is_unknown) {
        return;
    }
    let text = value.and_then(NodeRef::text).unwrap_or_default();
    let Some(location) = view.node.location_at("/spec/default") else {
        return;
    };
    let defect = match value {
        None => "spec.default is missing".to_string(),
        Some(value) if !matches!(value.as_str().as_deref(), Some("opened" | "closed")) => {
            format!("spec.default is `{text}`, not opened or closed")
        }
        Some(_) => return,
    };
    let help = match &*text.to_ascii_lowercase() {
        "open" | "opened" | "true" => "write `default: opened`",
        "close" | "closed" | "false" => "write `default: closed`",
        _ => "set spec.default to `closed` or `opened`",
    };
    report
        .report(location, format!("{}: {defect}", view.id))
        .why("the default is the position without a request; without one it is simulated as closed")
        .help(help)
        .object(view.id)
        .field("/spec/default", text);
}

fn check_duration(view: &ObjectView<'_>, report: &mut Reporter<'_>, field: &str) {
    let pointer = format!("/spec/{field}");
    let value = present(view, &pointer);
    if value.is_some_and(NodeRef::is_unknown) {
        return;
    }
    let Some(location) = view.node.location_at(&pointer) else {
        return;
    };
    let text = value.and_then(NodeRef::text).unwrap_or_default();
    let is_window = field == "window";
    let mut level = Level::Error;
    let (defect, why, help) = match value {
        None if is_window => {
            level = Level::Info;
            (
                "spec.window is missing, so a request holds".to_string(),
                "the gate stays as requested until the opposite request".to_string(),
                "set spec.window, such as `1h`, to go back to the default by itself".to_string(),
            )
        }
        None => {
            level = Level::Warning;
            (
                "spec.interval is missing".to_string(),
                "it says how often the gate looks for requests and ends of windows".to_string(),
                "set spec.interval, such as `30s`".to_string(),
            )
        }
        Some(value) => {
            let parsed =
                value.as_str().map(|text| (matches_interval_pattern(&text), GoDuration::parse(&text)));
            let why = match parsed {
                Some((true, Ok(duration))) if duration > GoDuration::ZERO => return,
                Some((_, Ok(_))) if is_window => "a request would be over as soon as it is made".to_string(),
                Some((_, Ok(_))) => "the gate would look for requests all the time".to_string(),
                Some((_, Err(error))) => error.to_string(),
                None => "a number or boolean is no duration to the API server".to_string(),
            };
            (
                format!("spec.{field} `{text}` is no usable duration"),
                why,
                "write numbers with units above zero: `1h30m`, `45s`; there are no days".to_string(),
            )
        }
    };
    report
        .report(location, format!("{}: {defect}", view.id))
        .level(level)
        .why(why)
        .help(help)
        .object(view.id)
        .field(pointer, text);
}
