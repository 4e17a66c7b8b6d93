//! `forebay simulate events`.

use super::common::Common;
use super::output;
use super::selector::Asked;
use super::session::{Session, cluster_filter};
use super::{Answer, Failure};
use crate::files::SIZE_LIMIT;
use crate::lang::text::suggest;
use crate::lang::yaml::Known;
use crate::lint::engine::{NotChecked, not_built};
use crate::model::text::Text;
use crate::model::{Name, ObjectId};
use crate::report::{self, events};
use crate::simulate::behaviour::{self, Product};
use crate::simulate::notify::controllers::emitter_of;
use crate::simulate::notify::objects::{MetadataValue, labels_of, values_at};
use crate::simulate::notify::simulate::{Emission, Notifier, SimulatedObject, items};
use crate::simulate::notify::{InvolvedObject, Metadata};
use crate::world::helm_charts::{HelmChart, helm_charts};
use crate::world::{ApplyTarget, Cluster, Lookup, World};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

output::formats!(Text = "text": "for people", Json = "json": "for programs: stable, with a schema");

/// Flags of `simulate events`.
#[derive(clap::Args)]
#[command(after_help = output::help::<Format>(), arg = output::argument::<Format>())]
pub(crate) struct Arguments {
    #[command(flatten)]
    asked: Asked,
    /// Only this alert: [NAMESPACE/]NAME
    #[arg(long, value_name = "ALERT")]
    alert: Option<String>,
    /// Severity of the events [default: info, and error for alerts that ask for errors only]
    #[arg(long, value_name = "SEVERITY", value_parser = ["info", "error"])]
    severity: Option<String>,
    /// Message of the events, for the inclusion and exclusion lists
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// Metadata that the controller adds, with the key's full prefix
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    controller_metadata: Vec<(String, String)>,
    /// Show every object and every alert, and why it does not match
    #[arg(long)]
    explain: bool,
    /// An event as a controller posts it, in JSON; `-` reads standard input
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["objects", "object", "severity", "message", "controller_metadata"])]
    event: Option<PathBuf>,
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE".to_owned()),
    }
}

/// An event as controllers post it (fluxcd/pkg `apis/event/v1beta1`). Absent
/// and null fields are empty.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct PostedEvent {
    involved_object: Option<PostedObject>,
    severity: Option<String>,
    message: Option<String>,
    reason: Option<String>,
    reporting_controller: Option<String>,
    metadata: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct PostedObject {
    api_version: Option<String>,
    kind: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    output::chosen::<Format>(common)?;
    let posted = arguments.event.as_deref().map(|file| read_event(common, file)).transpose()?;
    let session = Session::open(common, &[])?;
    let world = session.world();
    let wanted = cluster_filter(common, &world)?;
    let mut targets = Vec::new();
    for cluster in world.applied_clusters().filter(|cluster| wanted(cluster)) {
        let mut own: BTreeSet<&ApplyTarget> = cluster.members.iter().map(|member| &member.target).collect();
        own.insert(&ApplyTarget::Local);
        targets.extend(own.into_iter().map(|target| (cluster, target, helm_charts(&world, cluster, target))));
    }
    let mut places = places(&world, &targets);
    if let Some(wanted) = &arguments.alert {
        keep_alert(&mut places, wanted)?;
    }
    let emissions = match &posted {
        Some(event) => emissions_of(event, &places),
        None => emissions(common, arguments, &world, &places)?,
    };
    let lists_alerts = arguments.explain || arguments.asked.is_given() || posted.is_some();
    // With the nearest of them where there is one object alone.
    let is_written = |(place, all): &(&EventPlace<'_>, &Vec<_>)| all.len().saturating_sub(place.charts.len());
    let is_lonely = places.iter().zip(&emissions).map(|both| is_written(&both)).sum::<usize>() <= 1;
    let listed = if lists_alerts || is_lonely { usize::MAX } else { events::text::NAMED_ALERTS };
    let clusters = by_cluster(&session, &places, &emissions, listed);
    let mut not_checked = NotChecked::default();
    not_built(&world, &mut not_checked);
    let view = events::View {
        snapshot: &session.snapshot,
        clusters: &clusters,
        explain: arguments.explain,
        lists_alerts,
        cuts: io::stdout().is_terminal(),
        is_info: arguments.severity.as_deref() == Some("info"),
    };
    output::warn_if_nothing_followed(&world);
    output::emit(common, |format, out, _| match format {
        Format::Json => {
            let header = report::json::header("simulate-events", None, Some(&world), &not_checked);
            report::json::write(out, &report::json::answer(header, events::json::body(&view)))
        }
        Format::Text => {
            out.write_all(events::text::render(&view).as_bytes())?;
            output::followed(out, &world)
        }
    })?;
    Ok(common.status(std::iter::empty(), not_checked.is_empty()))
}

/// An applied cluster, a target of it, and the charts that helm-controller makes there.
type TargetOf<'w> = (&'w Cluster, &'w ApplyTarget, Vec<HelmChart<'w>>);

/// What is notified at each target.
fn places<'a>(world: &'a World, targets: &'a [TargetOf<'a>]) -> Vec<EventPlace<'a>> {
    let mut places: Vec<EventPlace<'_>> = Vec::new();
    for (cluster, target, charts) in targets {
        let made = charts.iter().map(|chart| SimulatedObject { id: &chart.id, node: chart.node.get_ref() });
        let items = items(world, cluster, target).chain(made).collect();
        places.push(EventPlace { notifier: Notifier::new(world, cluster, target), items, charts });
    }
    places
}

/// What each cluster makes of the events; the first cluster where none makes anything of them.
fn by_cluster<'a>(
    session: &'a Session,
    places: &'a [EventPlace<'a>],
    emissions: &'a [Vec<Emission<'a>>],
    listed: usize,
) -> Vec<events::ClusterEvents<'a>> {
    let mut clusters: Vec<events::ClusterEvents<'_>> = Vec::new();
    let mut last = None;
    for (place, emissions) in places.iter().zip(emissions) {
        let answers = emissions.iter().map(|emission| answer(place, emission, listed));
        let all = || place.notifier.alerts.iter().filter(|_| !emissions.is_empty());
        let alerts = all().map(|(item, _)| item.id);
        let errors_only = all().filter(|(_, alert)| alert.severity.known() == Some("error"));
        let errors_only = errors_only.map(|(item, _)| item.id);
        let cluster = std::ptr::from_ref(place.notifier.cluster);
        match clusters.last_mut().filter(|_| last == Some(cluster)) {
            Some(cluster) => {
                cluster.answers.extend(answers);
                cluster.alerts.extend(alerts);
                cluster.errors_only.extend(errors_only);
            }
            None => clusters.push(events::ClusterEvents {
                name: place.notifier.cluster.name.as_deref(),
                version: report::stated::version(
                    &session.snapshot,
                    Product::Flux,
                    &place.notifier.cluster.settings,
                ),
                note: behaviour::OBJECT_EVENT_METADATA.note(&place.notifier.cluster.settings),
                answers: answers.collect(),
                alerts: alerts.collect(),
                errors_only: errors_only.collect(),
            }),
        }
        last = Some(cluster);
    }
    if clusters.iter().any(|cluster| !cluster.answers.is_empty()) {
        clusters.retain(|cluster| !cluster.answers.is_empty());
    } else {
        clusters.truncate(1);
    }
    clusters
}

/// The objects that one cluster has on one target, and its notifier.
struct EventPlace<'a> {
    notifier: Notifier<'a>,
    items: Vec<SimulatedObject<'a>>,
    /// Those of the items that helm-controller makes.
    charts: &'a [HelmChart<'a>],
}

fn answer<'a>(
    place: &'a EventPlace<'_>,
    emission: &Emission<'a>,
    listed: usize,
) -> events::SimulatedEvent<'a> {
    let object = &emission.object;
    let namespace = Some(object.namespace.as_str()).filter(|namespace| !namespace.is_empty());
    events::SimulatedEvent {
        object: ObjectId {
            api_version: object.api_version.as_str().into(),
            kind: object.kind.as_str().into(),
            namespace: namespace.map(Into::into),
            name: object.name.as_str().into(),
        },
        target: match place.notifier.target {
            ApplyTarget::Local => None,
            ApplyTarget::Remote(name) => Some(name),
        },
        is_made: place.charts.iter().any(|chart| {
            *chart.id.kind == *object.kind
                && *chart.id.name == *object.name
                && chart.id.namespace.as_deref() == namespace
        }),
        controller: emission.reporting_controller,
        simulation: place.notifier.simulate(emission, listed),
    }
}

fn read_event(common: &Common, path: &Path) -> Result<PostedEvent, Failure> {
    let read = match path.to_str() {
        Some("-") => {
            let mut text = String::new();
            io::stdin().take(SIZE_LIMIT).read_to_string(&mut text).map(|_| text)
        }
        _ => crate::files::read_named(&common.boundary(path)?, path),
    };
    let text = read.map_err(|error| Failure::Work(format!("--event {}: {error}", path.display())))?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::Usage(format!("--event {}: no event: {error}", path.display())))
}

/// Leaves the alert that the user asked for.
fn keep_alert(places: &mut [EventPlace<'_>], wanted: &str) -> Result<(), Failure> {
    let (namespace, name) = match wanted.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, wanted),
    };
    let is_wanted = |item: &SimulatedObject<'_>| {
        *item.id.name == *name && namespace.is_none_or(|namespace| namespace == item.namespace())
    };
    let all = || places.iter().flat_map(|place| &place.notifier.alerts);
    if !all().any(|(item, _)| is_wanted(item)) {
        let names: Vec<String> = all()
            .map(|(item, _)| match namespace {
                Some(_) => format!("{}/{}", item.namespace(), item.id.name),
                None => item.id.name.to_string(),
            })
            .collect();
        let near = suggest(wanted, names.iter().map(String::as_str));
        let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
        return Err(Failure::Usage(format!("no Alert is called {wanted}{hint}")));
    }
    for place in places {
        place.notifier.keep_alerts(is_wanted);
    }
    Ok(())
}

/// The events that controllers would post about the objects asked for, else
/// about all that emit events; one list per place.
fn emissions<'a>(
    common: &Common,
    arguments: &'a Arguments,
    world: &World,
    places: &[EventPlace<'_>],
) -> Result<Vec<Vec<Emission<'a>>>, Failure> {
    let selector = arguments.asked.selector(common)?;
    let is_chosen = |item: &&SimulatedObject<'_>| match &selector {
        Some(selector) => selector.matches(item.id),
        None => emitter_of(item.id.group(), &item.id.kind).is_some(),
    };
    let all = || places.iter().flat_map(|place| &place.items);
    if let (Some(selector), false) = (&selector, all().any(|item| is_chosen(&item))) {
        return Err(match world.orphans().find(|orphan| selector.matches(&orphan.id)) {
            Some(orphan) => {
                Failure::Usage(format!("{} is in no cluster: nothing here applies it", orphan.id))
            }
            None => selector.not_found(all().map(|item| item.id)),
        });
    }
    let message = match &arguments.message {
        Some(message) => Known::Value(message.as_str()),
        None => Known::Unknown,
    };
    let controller: Metadata<MetadataValue> = arguments
        .controller_metadata
        .iter()
        .map(|(key, value)| (key.clone(), MetadataValue { text: Text::from(value.as_str()), location: None }))
        .collect();
    let of_place = |place: &EventPlace<'_>| {
        let mut chosen: Vec<&SimulatedObject<'_>> = place.items.iter().filter(is_chosen).collect();
        chosen.sort_by(|a, b| a.id.cmp(b.id));
        let severity = arguments.severity.as_deref();
        let about = |item: &SimulatedObject<'_>| Emission {
            as_asked: severity.is_none(),
            ..Emission::about(*item, severity.unwrap_or("info"), message, &controller)
        };
        chosen.into_iter().map(about).collect()
    };
    Ok(places.iter().map(of_place).collect())
}

/// A given event: in the places that have its object, else in all; one list per
/// place.
fn emissions_of<'a>(event: &'a PostedEvent, places: &[EventPlace<'_>]) -> Vec<Vec<Emission<'a>>> {
    let empty = PostedObject::default();
    let posted = event.involved_object.as_ref().unwrap_or(&empty);
    let of = |field: &Option<String>| field.clone().unwrap_or_default();
    let object = InvolvedObject {
        api_version: of(&posted.api_version),
        kind: of(&posted.kind),
        namespace: of(&posted.namespace),
        name: of(&posted.name),
    };
    let is_object = |item: &&SimulatedObject<'_>| {
        let id = item.id;
        *id.kind == *object.kind
            && *id.name == *object.name
            && item.namespace() == object.namespace
            && (object.api_version.is_empty() || id.group() == object.group())
    };
    let found: Vec<Option<&SimulatedObject<'_>>> =
        places.iter().map(|place| place.items.iter().find(is_object)).collect();
    let anywhere = found.iter().all(Option::is_none);
    let in_place = |(place, item): (&EventPlace<'_>, &Option<&SimulatedObject<'_>>)| {
        let wanted = item.is_some() || anywhere;
        wanted.then(|| emission_of(event, &object, place, *item)).into_iter().collect()
    };
    places.iter().zip(&found).map(in_place).collect()
}

/// A given event in one place. Its object's labels, and where its annotations
/// are written, are looked up.
fn emission_of<'a>(
    event: &'a PostedEvent,
    object: &InvolvedObject,
    place: &EventPlace<'_>,
    item: Option<&SimulatedObject<'_>>,
) -> Emission<'a> {
    let text = |field: &'a Option<String>| field.as_deref().unwrap_or_default();
    let lookup = || {
        let Notifier { cluster, target, .. } = &place.notifier;
        cluster.lookup(target, Name::new(object.group(), &object.kind, Some(&object.namespace), &object.name))
    };
    let labels = match item {
        Some(item) => Known::Value(Some(labels_of(item.node))),
        None if matches!(lookup(), Lookup::Missing) => Known::Value(None),
        None => Known::Unknown,
    };
    let annotations = item.map(|item| values_at(item.node, "/metadata/annotations")).unwrap_or_default();
    let value_of = |key: &String, value: &String| {
        let text = Text::from(value.as_str());
        let written = annotations.get(key).filter(|written| written.text == text);
        MetadataValue { location: written.and_then(|written| written.location.clone()), text }
    };
    let metadata = event.metadata.iter().flatten();
    Emission {
        object: object.clone(),
        severity: text(&event.severity),
        as_asked: false,
        message: Known::Value(text(&event.message)),
        reason: text(&event.reason),
        reporting_controller: text(&event.reporting_controller),
        posted: metadata.map(|(key, value)| (key.clone(), value_of(key, value))).collect(),
        own_group: Vec::new(),
        complete: true,
        labels,
        emitting: Default::default(),
    }
}
