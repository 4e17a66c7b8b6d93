//! Annotations and labels that controllers do not read as meant.
//!
//! One key, one finding. The field decides first (`annotation-as-label`,
//! `label-as-annotation`), then the class (`committed-request-annotation`), then
//! the kind (`annotation-on-wrong-kind`), then the value (`presence-only-annotation`,
//! `rejected-annotation-value`, `annotation-value-without-effect`). Unknown keys
//! are `misspelled-annotation-prefix`'s or `unknown-annotation-key`'s.

pub(crate) mod annotation_as_label;
pub(crate) mod annotation_on_wrong_kind;
pub(crate) mod annotation_unread_by_version;
pub(crate) mod annotation_value_without_effect;
pub(crate) mod committed_request_annotation;
pub(crate) mod label_as_annotation;
pub(crate) mod malformed_image_policy_marker;
pub(crate) mod misspelled_annotation_prefix;
pub(crate) mod presence_only_annotation;
pub(crate) mod rejected_annotation_value;
pub(crate) mod unknown_annotation_key;

use crate::lang::yaml::EntryRef;
use crate::lint::ObjectView;
use crate::lint::metadata::{MetadataEntry, MetadataMap, known_text};
use crate::model::ObjectId;
use crate::model::cluster_api_keys::CLUSTER_API;
use crate::model::keys::{
    FLUX, Grammar, KeyField, KeyOwner, KeyShape, KeyStanding, MetadataKey, On, ValueReading,
};

/// An entry of a label or annotation map whose key a registry knows.
struct KnownKeyEntry<'v, 'a> {
    map: &'v MetadataMap<'a>,
    entry: &'v EntryRef<'a>,
    key: &'static MetadataKey,
}

impl KnownKeyEntry<'_, '_> {
    /// Whether this is the map in which the key is read.
    fn in_its_field(&self) -> bool {
        match self.key.field {
            KeyField::Label => self.map.labels,
            KeyField::Annotation => !self.map.labels,
            KeyField::Either => true,
        }
    }

    /// Whether the key takes effect where it stands, as far as kinds tell. Maps
    /// inside an object belong to objects that are made from it.
    fn on_its_kind(&self, id: &ObjectId) -> bool {
        !self.map.own || self.key.on.has(id.group(), &id.kind)
    }

    /// JSON Pointer of the entry.
    fn pointer(&self) -> String {
        self.map.pointer_of(&self.entry.key)
    }

    /// The key for a title: without its domain.
    fn short(&self) -> &str {
        let key = &*self.entry.key;
        key.split_once('/').map_or(key, |(_, name)| name)
    }
}

/// All entries of an object's metadata maps that have a known key: Flux's in its
/// own maps only, Cluster API's also in those that it hands down.
fn known_entries<'v, 'a>(view: &'v ObjectView<'a>) -> impl Iterator<Item = KnownKeyEntry<'v, 'a>> {
    view.metadata().iter().flat_map(|map| {
        map.entries.iter().filter_map(move |MetadataEntry { entry, standing }| match standing {
            KeyStanding::Known(key) if map.own || FLUX.lookup(&entry.key).is_none() => {
                Some(KnownKeyEntry { map, entry, key })
            }
            _ => None,
        })
    })
}

/// What the reader makes of an entry's value; `None` where it isn't known.
fn reading(entry: &EntryRef<'_>, value: Grammar) -> Option<ValueReading> {
    known_text(entry.value).map(|text| value.read(&text))
}

/// Whether a rule of this group reports the entry of an object's own annotations
/// for its value.
pub(super) fn is_misread_annotation(id: &ObjectId, entry: &EntryRef<'_>) -> bool {
    let Some(key) = FLUX.lookup(&entry.key).or_else(|| CLUSTER_API.lookup(&entry.key)) else { return false };
    if !is_setting(key) || key.field == KeyField::Label || !key.on.has(id.group(), &id.kind) {
        return false;
    }
    let off = known_text(entry.value).is_some_and(|text| presence_only_annotation::reads_as_off(&text));
    reading(entry, key.value) == Some(ValueReading::Unread) || (matches!(key.value, Grammar::Presence) && off)
}

/// A released key that a person sets; the others have no value rules.
fn is_setting(key: &MetadataKey) -> bool {
    key.class == KeyOwner::Setting && key.released
}

/// Keys whose place is judged by rules of their own.
fn has_own_place_rule(key: &MetadataKey) -> bool {
    matches!(key.on, On::TopologyEntry) || key.name.starts_with("before-upgrade.hook.")
}

/// Whether offline knowledge of the kind is certain: Kubernetes' own, Flux's, and
/// those of Cluster API's core and kubeadm providers.
fn is_known_kind(id: &ObjectId) -> bool {
    let group = id.group();
    let kubernetes = !group.contains('.') || (group.ends_with(".k8s.io") && !group.ends_with(".x-k8s.io"));
    let flux = group.ends_with(".toolkit.fluxcd.io")
        || group == "source.extensions.fluxcd.io"
        || group == "fluxcd.controlplane.io";
    let cluster_api =
        matches!(group, "cluster.x-k8s.io" | "addons.cluster.x-k8s.io" | "runtime.cluster.x-k8s.io")
            || (group.ends_with(".cluster.x-k8s.io") && id.kind.starts_with("Kubeadm"));
    kubernetes || flux || cluster_api
}

/// The key as the help text names it: a prefix stands for its keys.
fn named(key: &MetadataKey) -> String {
    match key.shape {
        KeyShape::Exact => format!("`{}`", key.name),
        KeyShape::Prefix => format!("`{}…`", key.name),
    }
}
