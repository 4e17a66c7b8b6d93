//! `unsupported-alert-source-kind`: a kind that an Alert's sources cannot name.
//! Source: notification-controller `api/v1/reference_types.go`
//! (`CrossNamespaceObjectReference`); flux-operator
//! `internal/builder/templates.go` adds its own kinds.

use super::{is_alert, title};
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::text::Text;
use crate::simulate::alerts::{NEWER_SOURCE_KINDS, OPERATOR_SOURCE_KINDS, SOURCE_KINDS};
use crate::text::suggest;

/// See the module.
pub static RULE: Rule = Rule {
    id: "unsupported-alert-source-kind",
    group: Group::Event,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a kind that an Alert's sources cannot name",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/event/unsupported-alert-source-kind.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !is_alert(view.id) {
        return;
    }
    for (index, node) in view.node.items_at("/spec/eventSources").enumerate() {
        let Some(value) = node.get("kind").filter(|value| !value.is_null()) else { continue };
        let text = Text::of(value);
        let (Some(kind), Some(location)) = (text.known(), value.location()) else { continue };
        let Some((why, help)) = refusal(view, kind) else { continue };
        report
            .report(location, title(view.id, &format!("eventSources[{index}] cannot be a {kind}")))
            .why(why)
            .help(help)
            .object(view.id)
            .field(format!("/spec/eventSources/{index}/kind"), kind);
    }
}

/// Why the kind is refused, and what to do; `None` where it may be accepted.
fn refusal(view: &ObjectView<'_>, kind: &str) -> Option<(&'static str, String)> {
    const REJECTED: &str = "the API server rejects the Alert, and Flux cannot apply what is with it";
    let newer = NEWER_SOURCE_KINDS.contains(&kind);
    if OPERATOR_SOURCE_KINDS.contains(&kind) {
        let mut settings = view.settings().peekable();
        let plain = settings.peek().is_some()
            && settings.all(|settings| !settings.operator && settings.flux.value.is_some());
        return plain.then(|| {
            (
                REJECTED,
                "only Flux Operator extends the Alert API by its own kinds; it is not used here".to_owned(),
            )
        });
    }
    if newer && view.id.version() != "v1beta3" {
        return Some((REJECTED, format!("use apiVersion {}/v1beta3", view.id.group())));
    }
    if newer {
        let mut settings = view.settings().peekable();
        let old =
            settings.peek().is_some() && settings.all(|settings| settings.flux_at_least(7) == Some(false));
        return old.then(|| (REJECTED, "the kind needs Flux 2.7".to_owned()));
    }
    if SOURCE_KINDS.contains(&kind) {
        return None;
    }
    let same = SOURCE_KINDS.iter().find(|known| known.eq_ignore_ascii_case(kind)).copied();
    Some(match same.or_else(|| suggest(kind, SOURCE_KINDS.iter().copied())) {
        Some(near) => (REJECTED, format!("did you mean `{near}`?")),
        None => (REJECTED, format!("name one of {}", SOURCE_KINDS.join(", "))),
    })
}
