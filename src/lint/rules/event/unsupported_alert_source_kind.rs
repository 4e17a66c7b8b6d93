//! `unsupported-alert-source-kind`: a kind that an Alert's sources cannot name.
//! Source: notification-controller `api/v1/reference_types.go`
//! (`CrossNamespaceObjectReference`); flux-operator
//! `internal/builder/templates.go` adds its own kinds.

use super::{is_alert, title};
use crate::lang::text::suggest;
use crate::lang::text::with_article;
use crate::lang::yaml::Known;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::text::Text;
use crate::simulate::behaviour;
use crate::simulate::notify::alerts::{
    NEWER_SOURCE_KINDS, OPERATOR_SOURCE_KINDS, SOURCE_KINDS, accepts_kind,
};
use crate::world::versions::Settings;

pub(crate) static RULE: Rule = Rule {
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
            .report(
                location,
                title(view.id, &format!("eventSources[{index}] cannot be {}", with_article(kind))),
            )
            .why(why)
            .help(help)
            .object(view.id)
            .field(format!("/spec/eventSources/{index}/kind"), kind);
    }
}

/// Why the kind is refused, and what to do; `None` where it may be accepted.
fn refusal(view: &ObjectView<'_>, kind: &str) -> Option<(&'static str, String)> {
    const REJECTED: &str = "the API server rejects the Alert, and Flux cannot apply what is with it";
    // Without a cluster nothing is known of a version.
    let unstated = Settings::default();
    let mut settings = view.settings().peekable();
    let somewhere = settings.peek().is_some();
    let mut is_refused =
        |settings: &Settings| accepts_kind(view.id.version(), kind, settings) == Known::Value(false);
    let refused = if somewhere { settings.all(&mut is_refused) } else { is_refused(&unstated) };
    if !refused {
        return None;
    }
    if OPERATOR_SOURCE_KINDS.contains(&kind) {
        let help = "only Flux Operator extends the Alert API by its own kinds; it is not used here";
        return Some((REJECTED, help.to_owned()));
    }
    if NEWER_SOURCE_KINDS.contains(&kind) {
        let help = match view.id.version() {
            "v1beta1" => format!("use apiVersion {}/v1beta3", view.id.group()),
            _ => format!("the kind needs {}", behaviour::NEWER_SOURCE_KINDS.first()),
        };
        return Some((REJECTED, help));
    }
    let same = SOURCE_KINDS.iter().find(|known| known.eq_ignore_ascii_case(kind)).copied();
    Some(match same.or_else(|| suggest(kind, SOURCE_KINDS.iter().copied())) {
        Some(near) => (REJECTED, format!("did you mean `{near}`?")),
        None => (REJECTED, format!("name one of {}", SOURCE_KINDS.join(", "))),
    })
}
