//! An event that a controller emits about an object.

use super::SimulatedObject;
use crate::lang::yaml::Known;
use crate::model::keys::{FLUX, KeyStanding};
use crate::model::text::Text;
use crate::simulate::notify::controllers::{RuntimeKey, emitter_of};
use crate::simulate::notify::objects::{MetadataValue, labels_of, values_at};
use crate::simulate::notify::occasions::{Digest, Standing as Emitting};
use crate::simulate::notify::{InvolvedObject, Metadata, posted};
use std::collections::BTreeMap;

/// An event to simulate.
#[derive(Debug, Clone)]
pub struct Emission<'a> {
    /// What it is about.
    pub object: InvolvedObject,
    /// `info` or `error`.
    pub severity: &'a str,
    /// Whether an alert that asks for errors only is shown one instead.
    pub as_asked: bool,
    /// Its message, if given.
    pub message: Known<&'a str>,
    /// Its reason; empty if not given.
    pub reason: &'a str,
    /// The controller that emits it; empty if not given.
    pub reporting_controller: &'a str,
    /// The metadata as the controller posts it, with full keys.
    pub posted: Metadata<MetadataValue>,
    /// Annotations of the object in its own group, which nothing reads as
    /// metadata.
    pub own_group: Vec<String>,
    /// Whether the controller adds nothing further at run time.
    pub complete: bool,
    /// The object's labels; `None` if there surely is no such object.
    pub labels: Known<Option<BTreeMap<String, Text>>>,
    /// What of the object decides whether there are events at all.
    pub emitting: Emitting,
}

impl<'a> Emission<'a> {
    /// The event that a controller would post about an object: `controller`
    /// is what is known of the controller's own metadata, with full keys.
    pub fn about(
        item: SimulatedObject<'_>,
        severity: &'a str,
        message: Known<&'a str>,
        controller: &Metadata<MetadataValue>,
    ) -> Emission<'a> {
        let object = crate::simulate::notify::objects::involved_object(item.id);
        let annotations = values_at(item.node, "/metadata/annotations");
        let prefix = object.prefix();
        let own_group = annotations
            .keys()
            .filter(|key| key.starts_with(&prefix) && !matches!(FLUX.standing(key), KeyStanding::Known(_)))
            .cloned()
            .collect();
        Emission {
            severity,
            as_asked: false,
            message,
            reason: "",
            reporting_controller: emitter_of(object.group(), &object.kind)
                .map_or("", |emitter| emitter.controller),
            posted: posted(controller, &annotations),
            own_group,
            complete: false,
            labels: Known::Value(Some(labels_of(item.node))),
            emitting: Emitting::of(item.id, item.node),
            object,
        }
    }

    /// The keys that the controller adds at run time and that nothing gives yet;
    /// `sees_updates` says whether a provider sees the event that updates a commit status.
    pub(super) fn runtime_keys(&self, sees_updates: bool) -> Vec<RuntimeKey> {
        let object = &self.object;
        let emitter = emitter_of(object.group(), &object.kind);
        let is_failure = self.severity == "error";
        let without = object.kind == "ResourceSetInputProvider";
        let silent = |controller: &str| is_failure && (without || controller == "source-controller");
        let Some(emitter) = emitter.filter(|emitter| !self.complete && !silent(emitter.controller)) else {
            return Vec::new();
        };
        // Errors before a release are told without metadata (helm-controller, plain `Eventf`).
        let is_vague = is_failure && emitter.controller == "helm-controller";
        let prefix = object.prefix();
        emitter
            .keys
            .iter()
            .filter(|key| key.key != "commit_status" || (sees_updates && !is_failure))
            .filter(|key| !self.posted.contains_key(&format!("{prefix}{}", key.key)))
            .filter(|key| key.key != "oci-digest" || self.emitting.digest != Digest::Never)
            .map(|key| RuntimeKey {
                always: !is_vague
                    && (key.always || (key.key == "oci-digest" && self.emitting.digest == Digest::Always)),
                ..*key
            })
            .collect()
    }
}
