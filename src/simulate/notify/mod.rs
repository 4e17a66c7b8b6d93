//! Event metadata: what a controller's recorder selects, what
//! notification-controller keeps of it, and what a provider finally gets.
//!
//! The functions follow notification-controller's pipeline, in its order:
//! [`posted`] (the emitting controller), [`clean_up`], [`rate_limit_key`],
//! [`exclude_internal`], then the alerts ([`crate::simulate::notify::alerts`]), and per
//! alert the provider's gates ([`providers`]; [`occasions`] where no event is given)
//! and the combination ([`combine`]). None of them looks at a value unless it says so, so they work
//! on plain strings as well as on values that are partly unknown.

pub(crate) mod alerts;
pub(crate) mod audit;
pub(crate) mod combine;
pub(crate) mod commit_status;
pub(crate) mod controllers;
pub(crate) mod delivery;
pub(crate) mod objects;
pub(crate) mod occasions;
pub(crate) mod providers;
pub(crate) mod simulate;

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// The prefix of an annotation that is event metadata.
pub const EVENT_PREFIX: &str = "event.toolkit.fluxcd.io/";

/// Metadata of an event by key; `V` is what is known of a value.
pub type Metadata<V> = BTreeMap<String, V>;

/// The object that an event is about, as far as notification-controller reads
/// it. Fields are empty where the event does not give them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InvolvedObject {
    /// `apiVersion`; its group decides which metadata is the controller's own.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
    /// `namespace`.
    pub namespace: String,
    /// `name`.
    pub name: String,
}

impl InvolvedObject {
    /// The API group, `""` for the core group and for a malformed apiVersion,
    /// as `schema.FromAPIVersionAndKind` of apimachinery answers.
    pub fn group(&self) -> &str {
        match self.api_version.split_once('/') {
            Some((group, version)) if !version.contains('/') => group,
            _ => "",
        }
    }

    /// The prefix of the metadata keys that the object's controller owns.
    pub fn prefix(&self) -> String {
        format!("{}/", self.group())
    }
}

/// What an emitting controller posts to notification-controller, and puts on
/// the Kubernetes Event as annotations: its own metadata, overridden by the
/// object's annotations in the event group, with full keys.
///
/// Mirrors fluxcd/pkg `runtime/events/recorder.go`, `AnnotatedEventf`.
pub fn posted<V: Clone>(controller: &Metadata<V>, object_annotations: &Metadata<V>) -> Metadata<V> {
    let mut posted = controller.clone();
    for (key, value) in object_annotations {
        if key.starts_with(EVENT_PREFIX) {
            posted.insert(key.clone(), value.clone());
        }
    }
    posted
}

/// Why notification-controller drops a metadata key before it looks for
/// alerts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DropReason {
    /// Neither in the event group nor in the object's own group.
    ForeignPrefix,
    /// `checksum` or `digest` (in any case) in the object's own group.
    ChecksumOrDigest,
    /// `token` in the object's own group, which only the rate limiter reads.
    InternalToken,
}

/// Whether [`clean_up`] drops `key` of an event about an object of `group`,
/// and why. [`exclude_internal`]'s key is not dropped here.
///
/// Mirrors notification-controller `internal/server/event_server.go`,
/// `cleanupMetadata`.
pub(crate) fn clean_up_reason(group: &str, key: &str) -> Option<DropReason> {
    let own = key.strip_prefix(group).and_then(|rest| rest.strip_prefix('/'));
    let excluded = ["checksum", "digest"].iter().any(|name| folds_equal(key, &format!("{group}/{name}")));
    if excluded {
        Some(DropReason::ChecksumOrDigest)
    } else if own.is_none() && !key.starts_with(EVENT_PREFIX) {
        Some(DropReason::ForeignPrefix)
    } else {
        None
    }
}

/// Keeps what notification-controller keeps of an event's metadata on arrival:
/// keys of the event group and of the object's own group, without that group's
/// checksum and digest.
///
/// Mirrors notification-controller `internal/server/event_server.go`,
/// `cleanupMetadata`.
pub fn clean_up<V: Clone>(group: &str, metadata: &Metadata<V>) -> Metadata<V> {
    metadata
        .iter()
        .filter(|(key, _)| clean_up_reason(group, key).is_none())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Removes the own-group `token`, which exists for the rate limiter alone.
///
/// Mirrors notification-controller `internal/server/event_handlers.go`,
/// `excludeInternalMetadata`.
pub fn exclude_internal<V>(group: &str, metadata: &mut Metadata<V>) {
    metadata.remove(&format!("{group}/token"));
}

/// The key under which notification-controller counts an event as a duplicate,
/// as lower-case hexadecimal SHA-256. `metadata` is what [`clean_up`] left.
/// Severity, reason and the metadata of the event group are no part of it, so
/// a changed annotation alone makes no new notification.
///
/// Mirrors notification-controller `internal/server/event_server.go`,
/// `eventKeyFunc`.
pub fn rate_limit_key(object: &InvolvedObject, message: &str, metadata: &Metadata<String>) -> String {
    let mut parts = vec![
        "event".to_owned(),
        format!("name={}", object.name),
        format!("namespace={}", object.namespace),
        format!("kind={}", object.kind),
        format!("message={message}"),
    ];
    for key in ["originRevision", "revision", "token"] {
        if let Some(value) = metadata.get(&format!("{}{key}", object.prefix())) {
            parts.push(format!("{key}={value}"));
        }
    }
    let digest = Sha256::digest(parts.join("/").as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Go's `strings.EqualFold`, as far as keys need it.
fn folds_equal(a: &str, b: &str) -> bool {
    fn folded(text: &str) -> impl Iterator<Item = char> {
        text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase)
    }
    folded(a).eq(folded(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> Metadata<String> {
        pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
    }

    #[test]
    fn group_of_an_api_version() {
        for (api_version, group) in [
            ("kustomize.toolkit.fluxcd.io/v1", "kustomize.toolkit.fluxcd.io"),
            ("v1", ""),
            ("", ""),
            ("/", ""),
            ("a/b/c", ""),
        ] {
            let object = InvolvedObject { api_version: api_version.into(), ..Default::default() };
            assert_eq!(object.group(), group, "{api_version}");
        }
    }

    #[test]
    fn annotations_override_the_controller_only_under_the_same_full_key() {
        let controller = map(&[
            ("event.toolkit.fluxcd.io/action", "created"),
            ("kustomize.toolkit.fluxcd.io/revision", "main@sha1:1"),
        ]);
        let annotations = map(&[
            ("event.toolkit.fluxcd.io/action", "mine"),
            ("event.toolkit.fluxcd.io", "no slash"),
            ("Event.toolkit.fluxcd.io/env", "wrong case"),
            ("kustomize.toolkit.fluxcd.io/revision", "mine"),
        ]);
        assert_eq!(
            posted(&controller, &annotations),
            map(&[
                ("event.toolkit.fluxcd.io/action", "mine"),
                ("kustomize.toolkit.fluxcd.io/revision", "main@sha1:1"),
            ])
        );
    }

    #[test]
    fn reasons_to_drop_a_key() {
        for (group, key, reason) in [
            ("g.io", "g.io/revision", None),
            ("g.io", "event.toolkit.fluxcd.io/digest", None),
            ("g.io", "g.io/token", None),
            ("g.io", "g.io/CheckSum", Some(DropReason::ChecksumOrDigest)),
            ("g.io", "G.io/digest", Some(DropReason::ChecksumOrDigest)),
            ("g.io", "g.io.evil/a", Some(DropReason::ForeignPrefix)),
            ("g.io", "a", Some(DropReason::ForeignPrefix)),
            ("", "/a", None),
            ("", "a", Some(DropReason::ForeignPrefix)),
        ] {
            assert_eq!(clean_up_reason(group, key), reason, "{group} {key}");
        }
    }
}
