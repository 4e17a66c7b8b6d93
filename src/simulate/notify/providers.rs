//! What a notification provider does with an event: which events it refuses,
//! which it fails to post, and which keys it overwrites.

use super::{InvolvedObject, Metadata};
use crate::lang::yaml::Known;
use crate::model::text::Text;
use crate::world::versions::Settings;

/// A provider type of the Provider API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProviderType {
    /// The word in `spec.type`.
    pub name: &'static str,
    /// The first Flux 2.x minor that has it; 0 for what a Flux before 2.0 may have.
    pub since: u32,
    /// The first API version that has it: 1 for `v1beta1`.
    pub api: u32,
}

/// Every provider type, by name: the enumeration of `spec.type` in the CRDs of
/// each release. Those of 2.10 are in notification-controller's main branch.
pub(crate) const TYPES: &[ProviderType] = &[
    provider("alertmanager", 0, 1),
    provider("azuredevops", 0, 1),
    provider("azureeventhub", 0, 1),
    provider("bitbucket", 0, 1),
    provider("bitbucketserver", 2, 2),
    provider("datadog", 1, 2),
    provider("discord", 0, 1),
    provider("generic", 0, 1),
    provider("generic-hmac", 0, 1),
    provider("gitea", 0, 2),
    provider("giteapullrequestcomment", 8, 3),
    provider("github", 0, 1),
    provider("githubdispatch", 0, 1),
    provider("githubpullrequestcomment", 8, 3),
    provider("gitlab", 0, 1),
    provider("gitlabmergerequestcomment", 8, 3),
    provider("googlechat", 0, 1),
    provider("googlepubsub", 0, 2),
    provider("grafana", 0, 1),
    provider("incident.io", 10, 3),
    provider("lark", 0, 1),
    provider("matrix", 0, 1),
    provider("msteams", 0, 1),
    provider("nats", 2, 3),
    provider("opsgenie", 0, 1),
    provider("otel", 7, 3),
    provider("pagerduty", 0, 2),
    provider("rocket", 0, 1),
    provider("sentry", 0, 1),
    provider("slack", 0, 1),
    provider("telegram", 0, 1),
    provider("webex", 0, 1),
    provider("zoom", 10, 3),
    provider("zulip", 7, 3),
];

const fn provider(name: &'static str, since: u32, api: u32) -> ProviderType {
    ProviderType { name, since, api }
}

/// The provider type of a name.
pub(crate) fn provider_type(name: &str) -> Option<&'static ProviderType> {
    TYPES.iter().find(|known| known.name == name)
}

/// Why the API server refuses a Provider of an API version with this type, as
/// far as that is certain: a Flux that nothing states may be any.
pub(crate) fn refusal(version: &str, name: &str, settings: &Settings) -> Option<String> {
    let Some(known) = provider_type(name) else {
        return Some("no Flux has such a type".to_owned());
    };
    let api = version.strip_prefix("v1beta").and_then(|number| number.parse().ok()).unwrap_or(u32::MAX);
    if api < known.api {
        return Some(format!("the type needs apiVersion v1beta{}", known.api));
    }
    // Of what came with 2.0 it isn't known which Flux before had it already.
    let flux = settings.flux.value.filter(|_| known.since > 0)?;
    (!flux.at_least(2, known.since)).then(|| format!("the type needs Flux 2.{}; here is {flux}", known.since))
}

/// Whether providers of this type set commit statuses.
///
/// Mirrors notification-controller `internal/server/provider_commit_status.go`,
/// `isCommitStatusProvider`.
pub fn sets_commit_status(provider_type: &str) -> bool {
    matches!(provider_type, "github" | "gitlab" | "gitea" | "bitbucketserver" | "bitbucket" | "azuredevops")
}

/// Whether providers of this type comment on a change request.
///
/// Mirrors notification-controller
/// `internal/server/provider_change_request.go`.
pub(crate) fn comments_on_change_request(provider_type: &str) -> bool {
    matches!(
        provider_type,
        "githubpullrequestcomment" | "gitlabmergerequestcomment" | "giteapullrequestcomment"
    )
}

/// Whether providers of this type get the event that only updates a commit
/// status.
///
/// Mirrors notification-controller `internal/server/event_handlers.go`,
/// `getNotificationParams`, of 1.8 and 1.9; before, those notifiers of
/// `internal/notifier` that look for `commit_status` return without sending.
pub(crate) fn gets_commit_status_updates(provider_type: &str, gate: CommitStatusGate) -> bool {
    let is_generic = matches!(provider_type, "generic" | "generic-hmac");
    sets_commit_status(provider_type)
        || match gate {
            CommitStatusGate::EveryEvent => {
                is_generic || matches!(provider_type, "datadog" | "matrix" | "sentry" | "zulip")
            }
            CommitStatusGate::CommitsAlone | CommitStatusGate::Success => false,
            CommitStatusGate::GenericSuccess | CommitStatusGate::Failures => is_generic,
        }
}

/// Why providers of this type pass over an event, whatever it says.
///
/// Mirrors notification-controller `internal/notifier`: `Post` of the git providers and of
/// PagerDuty (`HasReason(meta.ProgressingReason)`), and of `otel.go`.
pub(crate) fn passes_over(provider_type: &str, kind: &str, reason: &str) -> Option<String> {
    if reason == "Progressing" && (sets_commit_status(provider_type) || provider_type == "pagerduty") {
        return Some("the provider passes over events with reason Progressing".to_owned());
    }
    (provider_type == "otel" && kind == "HelmRepository")
        .then(|| "the provider passes over events of a HelmRepository, which starts no trace".to_owned())
}

/// The metadata keys that providers of this type overwrite with fields of the
/// event (`internal/notifier/*.go`).
pub(crate) fn overwritten_keys(provider_type: &str) -> &'static [&'static str] {
    match provider_type {
        "alertmanager" => {
            &["alertname", "kind", "name", "namespace", "reason", "reportingcontroller", "severity"]
        }
        "incident.io" => &["reason", "reportingController", "severity"],
        "opsgenie" => &["severity"],
        _ => &[],
    }
}

/// Why a provider's gate drops an event. Dropping is no error: nothing is
/// reported, at most a line is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderGate {
    /// The event only updates a commit status, which this type does not do.
    CommitStatusUpdate,
    /// A commit status provider, and the event names no commit.
    MissingCommit,
    /// A change request provider, and the event names no change request.
    MissingChangeRequest,
}

impl ProviderGate {
    /// The reason in words.
    pub fn reason(self) -> &'static str {
        match self {
            ProviderGate::CommitStatusUpdate => {
                "the event only updates a commit status, which this provider type does not do"
            }
            ProviderGate::MissingCommit => {
                "event dropped for commit status providers due to missing commit metadata key"
            }
            ProviderGate::MissingChangeRequest => {
                "event dropped for change request providers due to missing change request metadata key"
            }
        }
    }
}

/// What commit status providers are given, by the version of notification-controller: each
/// as `getNotificationParams` of its tags has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommitStatusGate {
    /// Up to 1.7 every event is tried, and one without a commit fails.
    EveryEvent,
    /// 1.8.0: what has `event.toolkit.fluxcd.io/commit`.
    CommitsAlone,
    /// 1.8.1 to 1.8.3: the success of a Kustomization (`commit_status=update`) as well.
    Success,
    /// From 1.8.4 on generic providers get that one, too.
    GenericSuccess,
    /// From 1.9 on failures as well.
    Failures,
}

impl CommitStatusGate {
    /// That of the newest known Flux.
    pub const NEWEST: CommitStatusGate = CommitStatusGate::Failures;

    /// That of a cluster: by the image of its notification-controller, else by its Flux;
    /// 2.8 without a patch is its last one. Flux 2.8.0 brings 1.8.0, 2.8.1 brings 1.8.1,
    /// 2.8.5 brings 1.8.3 and 2.8.6 brings 1.8.4 (flux2 `manifests/bases`, by tag).
    pub(crate) fn of(settings: &Settings) -> CommitStatusGate {
        match (settings.notification_controller(), settings.flux.value) {
            (Some((0, ..) | (1, 0..=7, _)), _) => CommitStatusGate::EveryEvent,
            (Some((1, 8, 0)), _) => CommitStatusGate::CommitsAlone,
            (Some((1, 8, 1..=3)), _) => CommitStatusGate::Success,
            (Some((1, 8, _)), _) => CommitStatusGate::GenericSuccess,
            (Some(_), _) => CommitStatusGate::NEWEST,
            (None, Some(flux)) => match (flux.minor_in(2), flux.patch) {
                (0..=7, _) => CommitStatusGate::EveryEvent,
                (8, Some(0)) => CommitStatusGate::CommitsAlone,
                (8, Some(1..=5)) => CommitStatusGate::Success,
                (8, _) => CommitStatusGate::GenericSuccess,
                _ => CommitStatusGate::NEWEST,
            },
            (None, None) => match (settings.flux_at_least(8), settings.flux_at_least(9)) {
                (Some(false), _) => CommitStatusGate::EveryEvent,
                (_, Some(false)) => CommitStatusGate::GenericSuccess,
                _ => CommitStatusGate::NEWEST,
            },
        }
    }
}

/// Which gate of a provider type drops the event, if any. `metadata` is the
/// event's own, before it is combined with the Alert's: an Alert cannot open a
/// gate.
///
/// Mirrors notification-controller `internal/server/event_handlers.go`,
/// `getNotificationParams`.
pub(crate) fn gate(
    provider_type: &str,
    object: &InvolvedObject,
    severity: &str,
    metadata: &Metadata<Text>,
    commit_status: CommitStatusGate,
) -> Known<Option<ProviderGate>> {
    let status = metadata
        .get(&format!("{}commit_status", object.prefix()))
        .map_or(Known::Value(false), |value| value.is("update"));
    let is_set = |key: &str| match metadata.get(key).map(|value| value.is("")) {
        None => Known::Value(false),
        Some(Known::Value(empty)) => Known::Value(!empty),
        Some(Known::Unknown) => Known::Unknown,
    };
    if sets_commit_status(provider_type) {
        let failures_pass = commit_status >= CommitStatusGate::Failures;
        if commit_status == CommitStatusGate::EveryEvent || (failures_pass && severity == "error") {
            return Known::Value(None);
        }
        let status =
            if commit_status == CommitStatusGate::CommitsAlone { Known::Value(false) } else { status };
        return match (status, is_set("event.toolkit.fluxcd.io/commit")) {
            (Known::Value(true), _) | (_, Known::Value(true)) => Known::Value(None),
            (Known::Value(false), Known::Value(false)) => Known::Value(Some(ProviderGate::MissingCommit)),
            _ => Known::Unknown,
        };
    }
    if !gets_commit_status_updates(provider_type, commit_status) {
        match status {
            Known::Value(true) => return Known::Value(Some(ProviderGate::CommitStatusUpdate)),
            Known::Unknown => return Known::Unknown,
            Known::Value(false) => {}
        }
    }
    if comments_on_change_request(provider_type) {
        return match is_set("event.toolkit.fluxcd.io/change_request") {
            Known::Value(true) => Known::Value(None),
            Known::Value(false) => Known::Value(Some(ProviderGate::MissingChangeRequest)),
            Known::Unknown => Known::Unknown,
        };
    }
    Known::Value(None)
}

/// The revision that a commit status provider posts for: the first of `commit`,
/// `originRevision` and `revision` that is present, even if it is empty.
///
/// Mirrors fluxcd/pkg `apis/event/v1beta1/event.go`, `GetRevision`.
pub(crate) fn revision<V>(combined: &Metadata<V>) -> Option<&V> {
    ["commit", "originRevision", "revision"].iter().find_map(|key| combined.get(*key))
}

/// The commit hash of a revision, `None` when it holds none.
///
/// Mirrors fluxcd/pkg `git`, `ExtractHashFromRevision`, and
/// notification-controller `internal/notifier/util.go`, `parseRevision`.
pub(crate) fn commit_hash(revision: &str) -> Option<&str> {
    let hash = match (revision.rfind(':'), revision.rfind('/')) {
        (Some(at), _) | (None, Some(at)) => &revision[at + 1..],
        (None, None) => revision,
    };
    matches!(hash.len(), 40 | 64).then_some(hash)
}

/// The number of a change request as Go's `strconv.Atoi` reads it: an optional
/// sign and decimal digits, nothing else.
pub(crate) fn change_request_number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// Why a provider of this type cannot post the combined metadata, if that is
/// known. `complete` says that no controller adds keys any more.
pub(crate) fn post_failure(provider_type: &str, combined: &Metadata<Text>, complete: bool) -> Option<String> {
    if sets_commit_status(provider_type) {
        return match revision(combined) {
            None if complete => Some("missing revision metadata".to_owned()),
            None => None,
            Some(value) => {
                let text = value.known()?;
                let found = commit_hash(text).is_some();
                (!found).then(|| format!("failed to extract commit hash from '{text}' revision"))
            }
        };
    }
    if comments_on_change_request(provider_type) {
        let text = combined.get("change_request")?.known()?;
        return match change_request_number(text) {
            Some(_) => None,
            None => Some(format!("`change_request` is `{text}`, not a number")),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object() -> InvolvedObject {
        InvolvedObject {
            api_version: "kustomize.toolkit.fluxcd.io/v1".into(),
            kind: "Kustomization".into(),
            namespace: "apps".into(),
            name: "web".into(),
        }
    }

    fn map(pairs: &[(&str, &str)]) -> Metadata<Text> {
        pairs.iter().map(|(key, value)| (key.to_string(), Text::from(*value))).collect()
    }

    #[test]
    fn gates() {
        const UPDATE: (&str, &str) = ("kustomize.toolkit.fluxcd.io/commit_status", "update");
        const COMMIT: (&str, &str) = ("event.toolkit.fluxcd.io/commit", "abc");
        const NUMBER: (&str, &str) = ("event.toolkit.fluxcd.io/change_request", "7");
        use CommitStatusGate::{CommitsAlone, EveryEvent, Failures, GenericSuccess, Success};
        type Case = (
            &'static str,
            &'static str,
            &'static [(&'static str, &'static str)],
            CommitStatusGate,
            Option<ProviderGate>,
        );
        let cases: &[Case] = &[
            ("slack", "info", &[], Failures, None),
            ("slack", "info", &[UPDATE], Failures, Some(ProviderGate::CommitStatusUpdate)),
            ("slack", "error", &[UPDATE], Failures, Some(ProviderGate::CommitStatusUpdate)),
            ("generic", "info", &[UPDATE], Failures, None),
            ("generic-hmac", "info", &[UPDATE], Failures, None),
            ("github", "info", &[], Failures, Some(ProviderGate::MissingCommit)),
            ("github", "", &[], Failures, Some(ProviderGate::MissingCommit)),
            ("github", "error", &[], Failures, None),
            ("github", "error", &[], GenericSuccess, Some(ProviderGate::MissingCommit)),
            ("github", "info", &[UPDATE], Failures, None),
            ("github", "info", &[COMMIT], Failures, None),
            (
                "github",
                "info",
                &[("event.toolkit.fluxcd.io/commit", "")],
                Failures,
                Some(ProviderGate::MissingCommit),
            ),
            ("giteapullrequestcomment", "info", &[], Failures, Some(ProviderGate::MissingChangeRequest)),
            ("giteapullrequestcomment", "info", &[NUMBER], Failures, None),
            (
                "giteapullrequestcomment",
                "info",
                &[NUMBER, UPDATE],
                Failures,
                Some(ProviderGate::CommitStatusUpdate),
            ),
            ("github", "info", &[], EveryEvent, None),
            ("github", "info", &[UPDATE], CommitsAlone, Some(ProviderGate::MissingCommit)),
            ("github", "info", &[COMMIT], CommitsAlone, None),
            ("github", "info", &[UPDATE], Success, None),
            ("github", "error", &[], Success, Some(ProviderGate::MissingCommit)),
            ("generic", "info", &[UPDATE], Success, Some(ProviderGate::CommitStatusUpdate)),
            ("generic", "info", &[UPDATE], GenericSuccess, None),
            ("sentry", "info", &[UPDATE], EveryEvent, None),
            ("slack", "info", &[UPDATE], EveryEvent, Some(ProviderGate::CommitStatusUpdate)),
        ];
        for (provider, severity, metadata, commit_status, expected) in cases {
            assert_eq!(
                gate(provider, &object(), severity, &map(metadata), *commit_status),
                Known::Value(*expected),
                "{provider} {severity} {metadata:?} {commit_status:?}"
            );
        }
    }

    #[test]
    fn an_unknown_commit_decides_nothing() {
        let metadata =
            Metadata::from([("event.toolkit.fluxcd.io/commit".to_owned(), Text::Unknown("a Secret".into()))]);
        let gate = |gate| super::gate("github", &object(), "info", &metadata, gate);
        assert_eq!(gate(CommitStatusGate::NEWEST), Known::Unknown);
        assert_eq!(
            gate(CommitStatusGate::EveryEvent),
            Known::Value(None),
            "older controllers send everything"
        );
    }

    #[test]
    fn types_are_refused_before_the_version_that_has_them() {
        let flux = |minor| {
            let mut settings = Settings::default();
            settings.flux.value = Some(crate::model::Version { major: 2, minor, patch: None });
            settings
        };
        for known in TYPES {
            let is_taken = |minor| refusal("v1beta3", known.name, &flux(minor)).is_none();
            if known.since > 0 {
                assert!(!is_taken(known.since - 1), "{known:?}");
            }
            assert!(is_taken(known.since) && is_taken(known.since + 1), "{known:?}");
            assert_eq!(
                refusal("v1beta3", known.name, &Settings::default()),
                None,
                "an unknown Flux: {known:?}"
            );
            if known.api > 1 {
                let older = format!("v1beta{}", known.api - 1);
                assert!(refusal(&older, known.name, &flux(12)).is_some(), "{known:?}");
            }
        }
        assert!(refusal("v1beta3", "carrierpigeon", &Settings::default()).is_some());
    }

    #[test]
    fn presence_decides_the_revision() {
        let combined = Metadata::from([("commit".to_owned(), ""), ("revision".to_owned(), "x")]);
        assert_eq!(revision(&combined), Some(&""));
    }

    #[test]
    fn hashes_of_revisions() {
        let sha = "5394cb7f48332b2de7c17dd8b8384bbc84b7e738";
        for revision in [
            sha.to_owned(),
            format!("main/{sha}"),
            format!("feature/branch@sha1:{sha}"),
            format!("sha1:{sha}"),
        ] {
            assert_eq!(commit_hash(&revision), Some(sha), "{revision}");
        }
        for revision in ["", "6.5.4", "main@sha1:abc"] {
            assert_eq!(commit_hash(revision), None, "{revision}");
        }
    }

    #[test]
    fn change_request_numbers() {
        for (text, number) in [
            ("5", Some(5)),
            ("+5", Some(5)),
            ("-1", Some(-1)),
            ("007", Some(7)),
            ("", None),
            ("#5", None),
            (" 5", None),
            ("+", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(change_request_number(text), number, "{text}");
        }
    }
}
