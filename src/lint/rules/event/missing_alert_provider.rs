//! `missing-alert-provider`: an Alert whose Provider does not exist.
//! Source: notification-controller `internal/server/event_handlers.go`,
//! `getNotificationParams`: the Provider is looked up in the Alert's namespace.

use super::title;
use crate::lang::text::Words;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::kinds::NOTIFICATION;
use crate::model::{Name, Unchecked};
use crate::world::{ApplyTarget, Lookup};
use rustc_hash::FxHashMap;

pub(crate) static RULE: Rule = Rule {
    id: "missing-alert-provider",
    group: Group::Event,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "an Alert whose Provider does not exist",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/event/missing-alert-provider.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let Some(alert_index) = view.alert_index() else { return };
    let providers = &alert_index.notifier.providers;
    let mut named: FxHashMap<&str, Words<&str>> = FxHashMap::default();
    for (item, alert) in &alert_index.notifier.alerts {
        let Some(node) = item.node.at("/spec/providerRef/name") else { continue };
        let Some(name) = alert.provider.known().filter(|name| !name.is_empty()) else { continue };
        if alert_index.notifier.providers_named(name).any(|(other, _)| other.namespace() == alert.namespace) {
            continue;
        }
        let namespace = Some(alert.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        let unseen = match view
            .cluster
            .lookup(&ApplyTarget::Local, Name::new(NOTIFICATION, "Provider", namespace, name))
        {
            Lookup::Found(_) | Lookup::Generated(_) => continue,
            Lookup::Missing => false,
            Lookup::Unseen(_) => true,
        };
        let elsewhere = alert_index.notifier.providers_named(name).next();
        let beside = || providers.iter().filter(|(other, _)| other.namespace() == alert.namespace);
        let names = named.entry(alert.namespace.as_str());
        let names = names.or_insert_with(|| beside().map(|(_, provider)| provider.name.as_str()).collect());
        let near = names.nearest(name);
        if unseen && elsewhere.is_none() && near.is_none() {
            let what = format!("{}: Provider {name}", item.id);
            report.not_checked(Unchecked::UnseenReference, node.location(), what);
            continue;
        }
        let Some(location) = node.location() else { continue };
        let help = match (elsewhere, near) {
            (Some((other, _)), _) => {
                format!("define a Provider in the Alert's namespace; {} is out of its reach", other.id)
            }
            (None, Some(near)) => format!("did you mean `{near}`?"),
            (None, None) => "define the Provider in the Alert's namespace".to_owned(),
        };
        let finding = report
            .report(location, title(item.id, &format!("there is no Provider {name} in its namespace")))
            .claims_absence()
            .level(if unseen { Level::Warning } else { Level::Error })
            .why(
                "each event that the Alert matches fails with NotificationDispatchFailed; a Provider is \
                 looked up in the Alert's own namespace only",
            )
            .help(help)
            .label("no such Provider")
            .object(item.id)
            .field("/spec/providerRef/name", name);
        if let Some((other, _)) = elsewhere
            && let Some(place) = other.node.location_at("/metadata/name")
        {
            finding.related(other.id.to_string(), place);
        }
    }
}
