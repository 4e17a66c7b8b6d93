//! `unknown-provider-type`: a type that the Provider API does not have.
//! Source: notification-controller `api/v1beta3/provider_types.go`, and the CRDs
//! of each release.

use super::title;
use crate::lang::text::suggest;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::kinds::NOTIFICATION;
use crate::model::text::Text;
use crate::simulate::notify::providers::{TYPES, provider_type, refusal};
use crate::world::Cluster;
use crate::world::versions::Settings;

pub(crate) static RULE: Rule = Rule {
    id: "unknown-provider-type",
    group: Group::Event,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a type that the Provider API does not have",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/event/unknown-provider-type.md"),
    check: Check::Object(check),
};

/// The minor of the newest Flux whose types are released.
const NEWEST: u32 = *crate::model::FLUX.1.end();

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !view.id.is(NOTIFICATION, "Provider") {
        return;
    }
    let Some(value) = view.node.at("/spec/type").filter(|value| !value.is_null()) else { return };
    let text = Text::of(value);
    let (Some(name), Some(location)) = (text.known(), value.location()) else { return };
    let refusal = |settings: &Settings| refusal(view.id.version(), name, settings);
    let clusters: Vec<&Cluster> = view.memberships().map(|(cluster, _)| cluster).collect();
    let refused = |cluster: &&'_ Cluster| refusal(&cluster.settings).is_some();
    let refusing: Vec<&Cluster> = clusters.iter().copied().filter(refused).collect();
    let why = match (refusing.first(), clusters.is_empty()) {
        (Some(cluster), _) => refusal(&cluster.settings),
        (None, true) => refusal(&Settings::default()),
        (None, false) => None,
    };
    let states_none = || clusters.is_empty() || clusters.iter().any(|one| one.settings.flux.value.is_none());
    let (level, why) = match (why, provider_type(name)) {
        (Some(why), _) => (Level::Error, why),
        // A Flux that nothing states is hardly newer than the newest known.
        (None, Some(known)) if known.since > NEWEST && states_none() => {
            (Level::Warning, format!("the type needs Flux 2.{}, and no version is stated here", known.since))
        }
        _ => return,
    };
    let help = match provider_type(name) {
        Some(known) if known.since > 0 => {
            format!("use another type, or apiVersion v1beta{} and Flux 2.{} or later", known.api, known.since)
        }
        Some(known) => format!("use apiVersion {NOTIFICATION}/v1beta{}", known.api),
        None => match suggest(name, TYPES.iter().map(|known| known.name)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "use one of its types; `generic` posts the event as JSON to any address".to_owned(),
        },
    };
    report
        .report(location, title(view.id, &format!("no provider has the type {name}")))
        .level(level)
        .why(format!("{why}: the API server rejects the Provider, and Flux cannot apply what is with it"))
        .help(help)
        .object(view.id)
        .of_clusters(refusing)
        .field("/spec/type", name);
}
