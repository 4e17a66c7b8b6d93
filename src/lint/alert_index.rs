//! What all rules about events look at: the alerts of a cluster, and whose events they
//! get.

use crate::lang::yaml::{EntryRef, Known, NodeRef};
use crate::model::text::Text;
use crate::simulate::notify::EVENT_PREFIX;
use crate::simulate::notify::alerts::{Alert, EventSource, SourceName, any, source_selects};
use crate::simulate::notify::controllers::emitter_of;
use crate::simulate::notify::objects::labels_of;
use crate::simulate::notify::simulate::{Notifier, SimulatedObject, items};
use crate::simulate::suspend::is_static_repository;
use crate::world::versions::Settings;
use crate::world::{ApplyTarget, Cluster, World};
use rustc_hash::FxHashMap;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The alerts of a cluster and the objects whose events they may get; one for all
/// rules, by [`ClusterView::alert_index`](crate::lint::ClusterView::alert_index).
pub(super) struct AlertIndex<'a> {
    pub(super) notifier: Notifier<'a>,
    pub(super) emitters: Vec<SimulatedObject<'a>>,
    /// Their labels, once they are asked for.
    labels: Vec<OnceCell<BTreeMap<String, Text>>>,
    /// Positions of emitters by kind, and by kind and name.
    pub(super) kinds: FxHashMap<&'a str, Vec<usize>>,
    names: FxHashMap<(&'a str, &'a str), Vec<usize>>,
    /// Positions of emitters by the event metadata that they state.
    pub(super) annotated: FxHashMap<String, Vec<usize>>,
    /// What the same sources have selected before: many alerts have the same.
    known: RefCell<FxHashMap<String, Rc<[usize]>>>,
}

impl<'a> AlertIndex<'a> {
    /// `None` for a cluster without alerts.
    pub(super) fn of(world: &'a World, cluster: &'a Cluster) -> Option<AlertIndex<'a>> {
        let notifier = Notifier::new(world, cluster, &ApplyTarget::Local);
        if notifier.alerts.is_empty() {
            return None;
        }
        let emitters: Vec<SimulatedObject<'a>> = items(world, cluster, &ApplyTarget::Local)
            .filter(|item| emits(*item, &cluster.settings))
            .collect();
        let mut kinds: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        let mut names: FxHashMap<(&str, &str), Vec<usize>> = FxHashMap::default();
        let mut annotated: FxHashMap<String, Vec<usize>> = FxHashMap::default();
        for (at, item) in emitters.iter().enumerate() {
            for (key, _) in event_annotations(item.node) {
                annotated.entry(key).or_default().push(at);
            }
            kinds.entry(&item.id.kind).or_default().push(at);
            names.entry((&item.id.kind, &item.id.name)).or_default().push(at);
        }
        let labels = emitters.iter().map(|_| OnceCell::new()).collect();
        Some(AlertIndex { notifier, emitters, labels, kinds, names, annotated, known: RefCell::default() })
    }

    /// Alerts that are not known to be suspended.
    pub(super) fn alerts(&self) -> impl Iterator<Item = &(SimulatedObject<'a>, Alert)> {
        self.notifier.alerts.iter().filter(|(_, alert)| alert.suspend != Known::Value(true))
    }

    /// The type of an alert's Provider, where it is known.
    pub(super) fn provider_type(&self, alert: &Alert) -> Option<&str> {
        let (_, provider) = self.notifier.provider_of(alert).value().flatten()?;
        provider.kind.known()
    }

    /// The objects that an alert surely selects.
    pub(super) fn selected<'s>(&'s self, alert: &'s Alert) -> impl Iterator<Item = &'s SimulatedObject<'a>> {
        let selected = self.selected_at(alert);
        (0..selected.len()).map(move |at| &self.emitters[selected[at]])
    }

    /// Positions of the objects that an alert surely selects, in order.
    pub(super) fn selected_at(&self, alert: &Alert) -> Rc<[usize]> {
        let key = format!("{} {:?} {:?}", alert.namespace, alert.severity, alert.sources);
        let known = self.known.borrow().get(&key).cloned();
        known.unwrap_or_else(|| {
            let mut found: Vec<usize> =
                alert.sources.iter().flat_map(|source| self.candidates(source)).collect();
            found.sort_unstable();
            found.dedup();
            found.retain(|at| self.selected_by(alert, *at) == Known::Value(true));
            let found: Rc<[usize]> = found.into();
            self.known.borrow_mut().insert(key, found.clone());
            found
        })
    }

    /// Positions of the emitters that a source may select, in order.
    pub(super) fn candidates(&self, source: &EventSource) -> Vec<usize> {
        let found = match (source.kind.known(), source.name.known()) {
            (Some(kind), Some(name)) if name != "*" && !is_glob("name", name) => {
                self.names.get(&(kind, name))
            }
            (Some(kind), _) => self.kinds.get(kind),
            (None, _) => return (0..self.emitters.len()).collect(),
        };
        found.cloned().unwrap_or_default()
    }

    /// Whether the sources of an alert select an emitter.
    pub(super) fn selected_by(&self, alert: &Alert, at: usize) -> Known<bool> {
        any(alert.sources.iter().map(|source| self.source_selects(alert, source, at)))
    }

    /// Whether one source alone selects an emitter.
    pub(super) fn source_selects(&self, alert: &Alert, source: &EventSource, at: usize) -> Known<bool> {
        let item = &self.emitters[at];
        source_selects(source, alert, subject_of(item), || {
            self.labels[at].get_or_init(|| labels_of(item.node))
        })
    }
}

/// What names an object in a source.
pub(super) fn subject_of<'i>(item: &SimulatedObject<'i>) -> SourceName<'i> {
    let namespace = item.id.namespace.as_deref().unwrap_or_default();
    SourceName { kind: &item.id.kind, namespace, name: &item.id.name }
}

/// Whether events about an object are posted: a HelmRepository of type `oci` is
/// not reconciled ([`crate::simulate::behaviour::STATIC_OCI_REPOSITORIES`]).
pub(super) fn emits(item: SimulatedObject<'_>, settings: &Settings) -> bool {
    emitter_of(item.id.group(), &item.id.kind).is_some() && !is_static(item, settings)
}

pub(super) fn is_static(item: SimulatedObject<'_>, settings: &Settings) -> bool {
    is_static_repository(item.id, item.node, settings)
}

/// The event metadata that an object states in annotations: its key without
/// the prefix, and the entry.
pub(super) fn event_annotations<'a>(node: NodeRef<'a>) -> impl Iterator<Item = (String, EntryRef<'a>)> {
    node.entries_at("/metadata/annotations")
        .filter_map(|entry| Some((entry.key.strip_prefix(EVENT_PREFIX)?.to_owned(), entry)))
}

/// Whether `name` or `namespace` of a source is a glob, which matches nothing.
pub(super) fn is_glob(field: &str, value: &str) -> bool {
    value.contains(['*', '?', '[']) && !(field == "name" && value == "*")
}
