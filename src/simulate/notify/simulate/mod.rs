//! One event through one cluster: what goes on the Kubernetes Event, which
//! alerts it reaches, and what each provider gets.

mod emission;
mod variables;

pub use emission::Emission;
use std::collections::BTreeMap;
use variables::{commit_status_of, variables};

use super::audit;
use super::combine::{self, Combined, Conflict, ConflictReport};
use super::controllers::{RuntimeKey, emitter_of};
use super::delivery::{Controller, Delivery, Dispatch, Provider, deliver};
use super::objects::{MetadataValue, texts, values_at};
use super::occasions::{self};
use super::providers::{self, CommitStatusGate, gets_commit_status_updates, passes_over, sets_commit_status};
use super::{
    DropReason, EVENT_PREFIX, InvolvedObject, Metadata, clean_up, clean_up_reason, exclude_internal,
};
use crate::config::Feature;
use crate::lang::yaml::{Known, NodeRef};
use crate::model::kinds::NOTIFICATION;
use crate::model::text::Text;
use crate::model::{Name, ObjectId};
use crate::simulate::behaviour;
use crate::simulate::notify::alerts;
use crate::simulate::notify::alerts::{Alert, Match};
use crate::world::versions::Settings;
use crate::world::{ApplyTarget, Cluster, Lookup, UnseenMakerKind, World};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// An object of the cluster.
#[derive(Debug, Clone, Copy)]
pub struct SimulatedObject<'a> {
    pub id: &'a ObjectId,
    pub node: NodeRef<'a>,
}

/// The objects that a cluster applies to a target, but for those whose name is
/// unknown. Where the entry point is only guessed, whoever applies its
/// Kustomizations by hand applies what lies beside and below them as well.
pub fn items<'a>(
    world: &'a World,
    cluster: &'a Cluster,
    target: &'a ApplyTarget,
) -> impl Iterator<Item = SimulatedObject<'a>> {
    let guessed = *target == ApplyTarget::Local
        && cluster.openers.iter().any(|opener| opener.cause == UnseenMakerKind::NoEntry);
    let here = world.written(cluster).filter(move |(member, _)| member.target == *target);
    let beside = guessed.then(|| world.orphans_below(&cluster.root)).into_iter().flatten();
    here.map(|(_, object)| SimulatedObject { id: &object.id, node: object.node.get_ref() })
        .chain(beside.map(|orphan| SimulatedObject { id: &orphan.id, node: orphan.node.get_ref() }))
        .filter(|item| !item.id.name.is_empty())
}

impl SimulatedObject<'_> {
    /// Its namespace; empty without one.
    pub fn namespace(&self) -> &str {
        self.id.namespace.as_deref().unwrap_or_default()
    }
}

/// The alerts and providers of one cluster, or of one that a `kubeConfig` of it
/// names.
pub struct Notifier<'a> {
    /// Alerts in order of namespace and name.
    pub alerts: Vec<(SimulatedObject<'a>, Alert)>,
    /// Providers, in the order of the objects.
    pub providers: Vec<(SimulatedObject<'a>, Provider)>,
    /// Places in `providers`.
    by_name: FxHashMap<String, Vec<usize>>,
    /// Made for the first event.
    sources: OnceLock<SourceIndex>,
    /// How its notification-controller runs.
    pub controller: Controller,
    /// Whether annotations of objects are event metadata
    /// ([`behaviour::OBJECT_EVENT_METADATA`]), or may be.
    pub sends_annotations: bool,
    /// What is known of the controllers at the target.
    settings: Settings,
    /// Whether flux-operator tells of what users do in its web UI ([`audit`]).
    audits: bool,
    /// The cluster.
    pub cluster: &'a Cluster,
    /// Where the objects are applied.
    pub target: &'a ApplyTarget,
}

/// Sources of alerts by kind, namespace and name: an alert's place, and the source's in it.
struct SourceIndex {
    named: FxHashMap<(String, String, String), Vec<(usize, usize)>>,
    /// Those of which a part is unknown.
    unknown: Vec<(usize, usize)>,
}

impl SourceIndex {
    fn of(alerts: &[(SimulatedObject<'_>, Alert)]) -> SourceIndex {
        let mut sources = SourceIndex { named: FxHashMap::default(), unknown: Vec::new() };
        for (at, (_, alert)) in alerts.iter().enumerate() {
            for (number, source) in alert.sources.iter().enumerate() {
                let namespace = source.namespace_in(&alert.namespace);
                match (source.kind.known(), namespace.known(), source.name.known()) {
                    (Some(kind), Some(namespace), Some(name)) => {
                        let key = (kind.to_owned(), namespace.to_owned(), name.to_owned());
                        sources.named.entry(key).or_default().push((at, number));
                    }
                    _ => sources.unknown.push((at, number)),
                }
            }
        }
        sources
    }
}

impl<'a> Notifier<'a> {
    /// Collects the alerts and providers that a cluster applies to a target.
    pub fn new(world: &'a World, cluster: &'a Cluster, target: &'a ApplyTarget) -> Self {
        // What runs in another cluster is not stated here.
        let elsewhere = Settings::default();
        let settings = if *target == ApplyTarget::Local { &cluster.settings } else { &elsewhere };
        let mut alerts = Vec::new();
        let mut providers = Vec::new();
        let mut audits = false;
        for item in items(world, cluster, target) {
            audits |= audit::is_enabled(item.id, item.node);
            if item.id.is(NOTIFICATION, "Alert") {
                let mut alert = Alert::of(item.id, item.node);
                alert.refusal = refusal(item.id.version(), &alert, settings);
                alerts.push((item, alert));
            } else if item.id.is(NOTIFICATION, "Provider") {
                let mut provider = Provider::of(item.id, item.node);
                provider.refusal = provider
                    .kind
                    .known()
                    .and_then(|kind| providers::refusal(item.id.version(), kind, settings));
                providers.push((item, provider));
            }
        }
        let mut by_name: FxHashMap<String, Vec<usize>> = FxHashMap::default();
        for (at, (_, provider)) in providers.iter().enumerate() {
            by_name.entry(provider.name.clone()).or_default().push(at);
        }
        alerts.sort_by(|(_, a), (_, b)| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        let controller = Controller {
            no_cross_namespace_refs: settings.feature(Feature::CrossNamespaceRefs).value == Some(false),
            commit_status: CommitStatusGate::of(settings),
            object_level_workload_identity: Known::Unknown,
        };
        let sends_annotations = behaviour::OBJECT_EVENT_METADATA.of(settings) != Known::Value(false);
        let settings = settings.clone();
        Notifier {
            alerts,
            providers,
            by_name,
            sources: OnceLock::new(),
            controller,
            sends_annotations,
            settings,
            audits,
            cluster,
            target,
        }
    }

    /// What follows from a key that several sources set, as the end of a sentence;
    /// `by_controller` says whether the controller is one of them.
    pub(crate) fn told_of_conflicts(&self, by_controller: bool) -> &'static str {
        match (self.sends_annotations, behaviour::CONFLICT_EVENTS.of(&self.settings)) {
            (true, _) => {
                "; equal values conflict too: each event puts a Warning MetadataAppendFailed on the Alert"
            }
            (false, _) if !by_controller => ", and nobody is told",
            (false, Known::Value(false)) => "; the Alert's key is left out, which only a log line says",
            (false, _) => {
                "; the Alert's key is left out: each event puts a Warning MetadataAppendFailed on it"
            }
        }
    }

    /// The keys that the controller adds to an event at run time and that nothing gives yet,
    /// as a provider of type `kind` sees them.
    fn runtime_keys(&self, event: &Emission<'_>, kind: Option<&str>) -> Vec<RuntimeKey> {
        let sees_updates = |kind: &str| gets_commit_status_updates(kind, self.controller.commit_status);
        let mut keys = event.runtime_keys(kind.is_none_or(sees_updates));
        // `getOriginRevision` came with kustomize-controller 1.5.
        keys.retain(|key| key.key != "originRevision" || self.sends_annotations);
        if self.audits && !event.complete && event.severity != "error" {
            keys.extend(audit::keys(&event.object.kind));
            keys.sort_by_key(|key| key.key);
        }
        keys
    }

    /// What becomes of an event at a provider, or of the events of an object.
    fn deliver(&self, event: &Emission<'_>, dispatch: &Dispatch<'_>, kind: Option<&str>) -> Delivery {
        let object = &event.object;
        if !event.complete && emitter_of(object.group(), &object.kind).is_none() {
            let what = crate::lang::text::with_article(&object.kind);
            return Delivery::Dropped(format!("no event is emitted: no controller tells of {what}"));
        }
        if let (Some(why), false) = (event.emitting.silence(&self.settings), event.complete) {
            // Users act on what is suspended, too.
            return match self.audits && event.severity != "error" {
                true => Delivery::Partly(format!("what its controller would tell: {why}")),
                false => Delivery::Dropped(why.to_owned()),
            };
        }
        let is_status = kind.is_some_and(sets_commit_status);
        let delivery = match is_status && !event.complete {
            true => occasions::deliver_all(dispatch, &self.controller, self.sends_annotations),
            false => deliver(dispatch, &self.controller),
        };
        let passed_over = kind.and_then(|kind| passes_over(kind, &event.object.kind, event.reason));
        match (delivery, passed_over) {
            (Delivery::Delivered | Delivery::Partly(_), Some(why)) => Delivery::Dropped(why),
            (delivery, _) => delivery,
        }
    }

    /// The Providers of a name, of whatever namespace.
    pub(crate) fn providers_named(
        &self,
        name: &str,
    ) -> impl Iterator<Item = &(SimulatedObject<'a>, Provider)> {
        self.by_name.get(name).into_iter().flatten().map(|at| &self.providers[*at])
    }

    /// The Provider that an Alert refers to. One of the same name in another
    /// namespace makes it as good as certain that the Alert's has none.
    pub fn provider_of(&self, alert: &Alert) -> Known<Option<&(SimulatedObject<'a>, Provider)>> {
        let Some(name) = alert.provider.known() else {
            return Known::Unknown;
        };
        let of_name = || self.providers_named(name);
        if let Some(found) = of_name().find(|(item, _)| item.namespace() == alert.namespace) {
            return Known::Value(Some(found));
        }
        let namespace = Some(alert.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        match self.cluster.lookup(self.target, Name::new(NOTIFICATION, "Provider", namespace, name)) {
            Lookup::Missing => Known::Value(None),
            _ if of_name().next().is_some() => Known::Value(None),
            _ => Known::Unknown,
        }
    }

    /// What alerts may tell of an event about an object whose message is not known.
    pub(crate) fn notifications(&self, item: SimulatedObject<'_>, severity: &str) -> Vec<Notification<'_>> {
        let namespace = item.id.namespace.as_deref().unwrap_or_default();
        let subject = alerts::SourceName { kind: &item.id.kind, namespace, name: &item.id.name };
        let mut selecting = self.selecting(subject);
        selecting.retain(|at, sources| {
            let alert = &self.alerts[*at].1;
            !alerts::is_silent(alert, sources.iter().map(|at| &alert.sources[*at]), subject, severity)
        });
        if selecting.is_empty() {
            return Vec::new();
        }
        let event = Emission::about(item, severity, Known::Unknown, &Metadata::default());
        self.follow(&event, &selecting, 0).notifications
    }

    /// Follows an event to its providers. Of the alerts that don't want it, so many are
    /// listed with the reason.
    pub fn simulate(&self, event: &Emission<'_>, listed: usize) -> Simulation<'_> {
        let object = &event.object;
        let subject =
            alerts::SourceName { kind: &object.kind, namespace: &object.namespace, name: &object.name };
        self.follow(event, &self.selecting(subject), listed)
    }

    /// Leaves some of the alerts.
    pub(crate) fn keep_alerts(&mut self, is_wanted: impl Fn(&SimulatedObject<'a>) -> bool) {
        self.alerts.retain(|(item, _)| is_wanted(item));
        self.sources = OnceLock::new();
    }

    /// The alerts that may select an object, by their places, each with the places of the
    /// sources that may. No other source does.
    fn selecting(&self, object: alerts::SourceName<'_>) -> BTreeMap<usize, Vec<usize>> {
        let sources = self.sources.get_or_init(|| SourceIndex::of(&self.alerts));
        let mut found: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let named = [object.name, "*"].into_iter().filter_map(|name| {
            sources.named.get(&(object.kind.to_owned(), object.namespace.to_owned(), name.to_owned()))
        });
        for (alert, source) in named.flatten().chain(&sources.unknown) {
            found.entry(*alert).or_default().push(*source);
        }
        found.values_mut().for_each(|sources| {
            sources.sort_unstable();
            sources.dedup();
        });
        found
    }

    fn follow<'s>(
        &'s self,
        event: &Emission<'_>,
        selecting: &BTreeMap<usize, Vec<usize>>,
        listed: usize,
    ) -> Simulation<'s> {
        let object = &event.object;
        let group = object.group();
        let mut posted = event.posted.clone();
        if !self.sends_annotations && !event.complete {
            posted.retain(|key, _| !key.starts_with(EVENT_PREFIX));
        }
        let mut metadata = clean_up(group, &posted);
        exclude_internal(group, &mut metadata);
        let metadata_texts = texts(&metadata);
        let subject = alerts::Event {
            object,
            severity: event.severity,
            message: event.message,
            labels: match &event.labels {
                Known::Value(labels) => Known::Value(labels.as_ref()),
                Known::Unknown => Known::Unknown,
            },
        };
        let mut notifications = Vec::new();
        let mut considered: BTreeMap<usize, Match> = BTreeMap::new();
        let failing = event.as_asked.then(|| Emission { severity: "error", ..event.clone() });
        for (at, sources) in selecting {
            let (item, alert) = &self.alerts[*at];
            let failing = failing.as_ref().filter(|_| alert.severity.known() == Some("error"));
            let event = failing.unwrap_or(event);
            let subject = alerts::Event { severity: event.severity, ..subject.clone() };
            let sources = sources.iter().map(|at| &alert.sources[*at]);
            let answer = alerts::matches_among(alert, &subject, sources);
            if answer.matched != Known::Value(false) {
                let notification = self.notify(event, &metadata, &metadata_texts, *item, alert, &answer);
                notifications.push(notification);
                considered.insert(*at, answer);
            }
        }
        let not_matched = self.alerts.len() - considered.len();
        let others = (0..self.alerts.len()).filter(|at| !considered.contains_key(at)).take(listed);
        let others = others.map(|at| (at, alerts::matches(&self.alerts[at].1, &subject)));
        let others = Vec::from_iter(others);
        considered.extend(others);
        let considered = considered.into_iter();
        let considered = considered.map(|(at, answer)| Considered { alert: self.alerts[at].0.id, answer });
        Simulation {
            dropped: self.dropped(event),
            posted,
            notifications,
            considered: considered.collect(),
            not_matched,
        }
    }

    fn notify<'s>(
        &'s self,
        event: &Emission<'_>,
        metadata: &Metadata<MetadataValue>,
        metadata_texts: &Metadata<Text>,
        item: SimulatedObject<'s>,
        alert: &'s Alert,
        answer: &Match,
    ) -> Notification<'s> {
        let object = &event.object;
        let provider = self.provider_of(alert);
        let kind = match provider {
            Known::Value(Some((_, provider))) => provider.kind.known(),
            _ => None,
        };
        let (combined, runtime_keys) = self.combined(event, metadata, item, alert, kind);
        let combined_texts = texts(&combined.metadata());
        let provider_name = alert.provider.display();
        let variables = variables(event, &combined_texts, &runtime_keys, item, provider);
        let expression = match provider {
            Known::Value(Some((_, provider))) => provider.commit_status_expr.clone(),
            _ => None,
        };
        let dispatch = Dispatch {
            object,
            severity: event.severity,
            alert: (&alert.namespace, &alert.name),
            provider_name: &provider_name,
            provider: match provider {
                Known::Value(found) => Known::Value(found.map(|(_, provider)| provider)),
                Known::Unknown => Known::Unknown,
            },
            metadata: metadata_texts,
            combined: &combined_texts,
            complete: event.complete,
            variables: &variables,
        };
        let delivery = match (&alert.refusal, &answer.matched) {
            (Some(why), _) => Delivery::Dropped(format!("the API server refuses the Alert: {why}")),
            (None, Known::Value(_)) => self.deliver(event, &dispatch, kind),
            (None, Known::Unknown) => Delivery::Unknown(answer.reason.clone()),
        };
        let conflicts = combined.conflicts();
        let report = self.report(&conflicts, object);
        Notification {
            alert: item,
            provider_name: provider_name.into_owned(),
            provider: provider.value().flatten().map(|(_, provider)| provider),
            matched: answer.reason.clone(),
            delivery,
            report,
            commit_status: kind
                .filter(|kind| sets_commit_status(kind))
                .map(|_| commit_status_of(object, expression.as_ref(), &variables)),
            combined,
            conflicts,
            runtime_keys,
        }
    }

    /// The metadata of an event and its Alert together, and the keys that the controller adds.
    fn combined(
        &self,
        event: &Emission<'_>,
        metadata: &Metadata<MetadataValue>,
        item: SimulatedObject<'_>,
        alert: &Alert,
        kind: Option<&str>,
    ) -> (Combined<MetadataValue>, Vec<RuntimeKey>) {
        let alert_metadata = values_at(item.node, "/spec/eventMetadata");
        let summary = alert.summary.clone().map(|text| MetadataValue {
            text,
            location: item.node.at("/spec/summary").and_then(NodeRef::location),
        });
        let combine = match self.sends_annotations {
            true => combine::combine,
            false => combine::combine_before_flux_2_5,
        };
        let mut runtime_keys = self.runtime_keys(event, kind);
        let mut combined = combine(event.object.group(), metadata, &alert_metadata, summary.as_ref());
        override_at_run_time(&mut combined, &runtime_keys);
        // An annotation, and the Alert's key, win over those of flux-operator as well.
        runtime_keys.retain(|key| key.by.is_none() || !combined.entries.contains_key(key.key));
        (combined, runtime_keys)
    }

    /// How the controller reports conflicts of metadata.
    fn report(&self, conflicts: &[Conflict], object: &InvolvedObject) -> Option<ConflictReport> {
        match self.sends_annotations {
            true => combine::report(conflicts),
            false => {
                let has_events = behaviour::CONFLICT_EVENTS.of(&self.settings) != Known::Value(false);
                combine::older_report(conflicts, object, has_events)
            }
        }
    }
}

/// Keys that the controller surely sets as well: its value, which is not known yet, wins.
fn override_at_run_time(combined: &mut Combined<MetadataValue>, keys: &[RuntimeKey]) {
    for key in keys.iter().filter(|key| key.always) {
        if let Some(entry) = combined.entries.get_mut(key.key) {
            let text = Text::Unknown(AT_RUN_TIME.into());
            entry.push((combine::MetadataSource::ControllerMetadata, MetadataValue { text, location: None }));
        }
    }
}

/// Why a value of a controller's key is not known.
pub(crate) const AT_RUN_TIME: &str = "known at run time";

/// What becomes of an event.
#[derive(Debug, Clone)]
pub struct Simulation<'a> {
    /// The annotations of the Kubernetes Event, which are also the metadata
    /// that is posted to notification-controller.
    pub posted: Metadata<MetadataValue>,
    /// What never reaches a provider, and why.
    pub dropped: Vec<Dropped>,
    /// Alerts that get it, or may get it.
    pub notifications: Vec<Notification<'a>>,
    /// The alerts of the cluster in order: those that get it, or may, and as many of the
    /// others as were asked for.
    pub considered: Vec<Considered<'a>>,
    /// How many surely don't get it.
    pub not_matched: usize,
}

/// A key that never reaches a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The full key.
    pub key: String,
    /// Why.
    pub reason: String,
}

/// An alert and whether it wants the event.
#[derive(Debug, Clone)]
pub struct Considered<'a> {
    pub alert: &'a ObjectId,
    /// Whether it matches, and why.
    pub answer: Match,
}

/// An event on its way through one alert.
#[derive(Debug, Clone)]
pub struct Notification<'a> {
    pub alert: SimulatedObject<'a>,
    /// The name of its Provider.
    pub provider_name: String,
    /// Its Provider, where it is known.
    pub provider: Option<&'a Provider>,
    /// What made the alert match.
    pub matched: String,
    /// Whether the provider gets it.
    pub delivery: Delivery,
    /// The metadata that it gets, with all sources.
    pub combined: Combined<MetadataValue>,
    /// Keys with several sources.
    pub conflicts: Vec<Conflict>,
    /// What notification-controller says about them.
    pub report: Option<ConflictReport>,
    /// Keys that the controller adds at run time. They override.
    pub runtime_keys: Vec<RuntimeKey>,
    /// Name and context of the status that a commit will get, where the provider
    /// sets one; what only the cluster knows in angle brackets.
    pub commit_status: Option<String>,
}

/// Why the API server of a cluster refuses an alert, as far as that is certain.
fn refusal(version: &str, alert: &Alert, settings: &Settings) -> Option<String> {
    let kinds = alert.sources.iter().map(|source| source.kind.known()).enumerate();
    let mut refused = kinds.filter_map(|(index, kind)| {
        let is_refused = alerts::accepts_kind(version, kind?, settings) == Known::Value(false);
        is_refused.then(|| {
            format!(
                "its eventSources[{index}] cannot be {}",
                crate::lang::text::with_article(kind.unwrap_or_default())
            )
        })
    });
    refused.next()
}

impl Notifier<'_> {
    fn dropped(&self, event: &Emission<'_>) -> Vec<Dropped> {
        let mut dropped = dropped(&event.object, &event.posted, &event.own_group);
        if !self.sends_annotations {
            let before = behaviour::OBJECT_EVENT_METADATA.first();
            let annotations = event.posted.keys().filter(|key| key.starts_with(EVENT_PREFIX));
            dropped.extend(annotations.map(|key| Dropped {
                key: key.clone(),
                reason: format!("annotations are sent from {before} on"),
            }));
            dropped.sort_by(|a, b| a.key.cmp(&b.key));
        }
        dropped
    }
}

fn dropped(object: &InvolvedObject, posted: &Metadata<MetadataValue>, own_group: &[String]) -> Vec<Dropped> {
    let prefix = object.prefix();
    let mut dropped: Vec<Dropped> = posted
        .keys()
        .filter_map(|key| {
            let internal = *key == format!("{prefix}token");
            let reason = clean_up_reason(object.group(), key);
            let reason = reason.or(internal.then_some(DropReason::InternalToken))?;
            let reason = match reason {
                DropReason::ForeignPrefix => {
                    format!("only event.toolkit.fluxcd.io/ and {prefix} are kept")
                }
                DropReason::ChecksumOrDigest => {
                    "checksum and digest of the object's own group are dropped".to_owned()
                }
                DropReason::InternalToken => "only the rate limiter reads it".to_owned(),
            };
            Some(Dropped { key: key.clone(), reason })
        })
        .collect();
    dropped.extend(
        own_group
            .iter()
            .filter(|key| !posted.contains_key(*key))
            .map(|key| Dropped { key: key.clone(), reason: "own-group annotations are not read".to_owned() }),
    );
    dropped.sort_by(|a, b| a.key.cmp(&b.key));
    dropped
}
