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
use crate::world::Cluster;
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
        let Some(refusing) = refusing(view, kind) else { continue };
        report
            .report(
                location,
                title(view.id, &format!("eventSources[{index}] cannot be {}", with_article(kind))),
            )
            .why("the API server rejects the Alert, and Flux cannot apply what is with it")
            .help(instead(view, kind))
            .object(view.id)
            .of_clusters(refusing)
            .field(format!("/spec/eventSources/{index}/kind"), kind);
    }
}

/// The clusters that refuse the kind; `None` where it may be accepted.
fn refusing<'a>(view: &ObjectView<'a>, kind: &str) -> Option<Vec<&'a Cluster>> {
    let is_refused =
        |settings: &Settings| accepts_kind(view.id.version(), kind, settings) == Known::Value(false);
    let mut clusters = view.memberships().map(|(cluster, _)| cluster).peekable();
    // Without a cluster nothing is known of a version.
    if clusters.peek().is_none() {
        return is_refused(&Settings::default()).then(Vec::new);
    }
    let refusing: Vec<&Cluster> = clusters.filter(|cluster| is_refused(&cluster.settings)).collect();
    (!refusing.is_empty()).then_some(refusing)
}

/// What to do instead of naming such a kind.
fn instead(view: &ObjectView<'_>, kind: &str) -> String {
    if OPERATOR_SOURCE_KINDS.contains(&kind) {
        return "only Flux Operator extends the Alert API by its own kinds; it is not used here".to_owned();
    }
    if NEWER_SOURCE_KINDS.contains(&kind) {
        return match view.id.version() {
            "v1beta1" => format!("use apiVersion {}/v1beta3", view.id.group()),
            _ => format!("the kind needs {}", behaviour::NEWER_SOURCE_KINDS.first()),
        };
    }
    let same = SOURCE_KINDS.iter().find(|known| known.eq_ignore_ascii_case(kind)).copied();
    match same.or_else(|| suggest(kind, SOURCE_KINDS.iter().copied())) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("name one of {}", SOURCE_KINDS.join(", ")),
    }
}
