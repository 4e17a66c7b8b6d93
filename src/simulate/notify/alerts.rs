//! Which alerts an event reaches, and why the others stay silent.

use std::collections::BTreeMap;

use crate::lang::go::regexp::{GoRegexp, RegexpError};
use crate::lang::yaml::Known;
use crate::model::text::Text;
use crate::simulate::behaviour;
use crate::simulate::notify::{InvolvedObject, Metadata};
use crate::world::versions::Settings;

/// What notification-controller reads of an Alert.
#[derive(Debug, Clone)]
pub struct Alert {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `spec.providerRef.name`, a Provider of the Alert's namespace.
    pub provider: Text,
    /// `spec.eventSeverity`; the API server's default is `info`.
    pub severity: Text,
    /// `spec.eventSources`, in order.
    pub sources: Vec<EventSource>,
    /// `spec.inclusionList`.
    pub inclusion: Vec<Text>,
    /// `spec.exclusionList`.
    pub exclusion: Vec<Text>,
    /// `spec.suspend`.
    pub suspend: Known<bool>,
    /// `spec.eventMetadata`.
    pub event_metadata: Metadata<Text>,
    /// `spec.summary`, `None` where it is absent or empty.
    pub summary: Option<Text>,
    /// Why the API server refuses the object, if that is certain.
    pub refusal: Option<String>,
}

/// One item of an Alert's `spec.eventSources`. The API version is not compared
/// with the event's, so it is not read.
#[derive(Debug, Clone)]
pub struct EventSource {
    /// `kind`.
    pub kind: Text,
    /// `name`; `*` alone means every name, there are no globs.
    pub name: Text,
    /// `namespace`; empty means the Alert's.
    pub namespace: Text,
    /// `matchLabels`; an empty map selects every object that exists.
    pub match_labels: Option<BTreeMap<String, Text>>,
}

/// What decides whether an event matches.
#[derive(Debug, Clone)]
pub struct Event<'a> {
    /// The object that it is about.
    pub object: &'a InvolvedObject,
    /// `info` or `error`.
    pub severity: &'a str,
    /// The message, if it is known.
    pub message: Known<&'a str>,
    /// Labels of the object in the cluster; `None` if there is no such object.
    pub labels: Known<Option<&'a BTreeMap<String, Text>>>,
}

/// The kinds that an Alert's sources may name in the CRD of the served version
/// (`CrossNamespaceObjectReference` of notification-controller's API `v1`).
pub const SOURCE_KINDS: &[&str] = &[
    "Bucket",
    "GitRepository",
    "Kustomization",
    "HelmRelease",
    "HelmChart",
    "HelmRepository",
    "ImageRepository",
    "ImagePolicy",
    "ImageUpdateAutomation",
    "OCIRepository",
    "ArtifactGenerator",
    "ExternalArtifact",
];

/// The kinds that came later: [`behaviour::NEWER_SOURCE_KINDS`].
pub(crate) const NEWER_SOURCE_KINDS: &[&str] = &["ArtifactGenerator", "ExternalArtifact"];

/// The kinds that Flux Operator adds to the enum where it installs Flux
/// (flux-operator `internal/builder/templates.go`).
pub const OPERATOR_SOURCE_KINDS: &[&str] = &["FluxInstance", "ResourceSet", "ResourceSetInputProvider"];

/// Whether the API server of a cluster takes an Alert of this API version with a
/// source of this kind.
///
/// Mirrors the enumeration of `CrossNamespaceObjectReference` in the CRDs of each
/// release, and what flux-operator adds to it.
pub(crate) fn accepts_kind(version: &str, kind: &str, settings: &Settings) -> Known<bool> {
    if OPERATOR_SOURCE_KINDS.contains(&kind) {
        return match settings.operator {
            true => Known::Value(true),
            false if settings.flux.value.is_some() => Known::Value(false),
            false => Known::Unknown,
        };
    }
    match (NEWER_SOURCE_KINDS.contains(&kind), version) {
        (true, "v1beta1") => Known::Value(false),
        (true, _) => behaviour::NEWER_SOURCE_KINDS.of(settings),
        (false, _) => Known::Value(SOURCE_KINDS.contains(&kind)),
    }
}

/// Whether an alert gets an event, and the reason in words: of a match what
/// made it, else what prevents it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// Whether it matches.
    pub matched: Known<bool>,
    /// Why, without the alert's name.
    pub reason: String,
}

impl Match {
    fn no(reason: impl Into<String>) -> Match {
        Match { matched: Known::Value(false), reason: reason.into() }
    }

    fn unknown(reason: impl Into<String>) -> Match {
        Match { matched: Known::Unknown, reason: reason.into() }
    }
}

/// Whether `event` passes `alert`: suspension, sources with severity and
/// labels, inclusion list, exclusion list, in that order. A definite no wins
/// over what is unknown before it.
///
/// Mirrors notification-controller `internal/server/event_handlers.go`,
/// `filterAlertsForEvent`.
pub fn matches(alert: &Alert, event: &Event<'_>) -> Match {
    // Whoever reads that none of so many sources selects it knows enough.
    if alert.sources.len() > TOLD_SOURCES {
        let all = matches_among(alert, event, alert.sources.iter());
        if all.matched == Known::Value(false) && alert.suspend != Known::Value(true) {
            return Match::no(format!("none of its {} sources", alert.sources.len()));
        }
        return all;
    }
    matches_among(alert, event, alert.sources.iter())
}

/// Sources of an alert up to which it is told which of them came closest.
const TOLD_SOURCES: usize = 200;

/// As [`matches()`], by some of the sources: those that alone may select the object.
pub(crate) fn matches_among<'s>(
    alert: &Alert,
    event: &Event<'_>,
    sources: impl Iterator<Item = &'s EventSource>,
) -> Match {
    if alert.suspend == Known::Value(true) {
        return Match::no("the Alert is suspended");
    }
    let source = matches_sources(alert, &Vec::from_iter(sources), event);
    if source.matched == Known::Value(false) {
        return source;
    }
    let message = matches_message(alert, event.message);
    match message.matched {
        Known::Value(false) => message,
        _ if alert.suspend == Known::Unknown => Match::unknown("spec.suspend is unknown"),
        Known::Unknown if source.matched != Known::Unknown => message,
        _ => source,
    }
}

/// Whether an alert surely tells of no event of this severity about an object, whatever
/// its labels and the message are: the quick part of [`matches()`].
pub(crate) fn is_silent<'s>(
    alert: &Alert,
    mut sources: impl Iterator<Item = &'s EventSource>,
    object: SourceName<'_>,
    severity: &str,
) -> bool {
    let is_out = |source: &EventSource| {
        let tests = tests_of(source, &alert.namespace, &alert.severity, object, severity);
        tests.iter().any(|(_, passed)| *passed == Known::Value(false))
    };
    alert.suspend == Known::Value(true) || sources.all(is_out)
}

/// Whether the alert's sources select an object of these labels, for events of
/// some severity and message.
pub(crate) fn selects(
    alert: &Alert,
    object: &InvolvedObject,
    labels: &BTreeMap<String, Text>,
) -> Known<bool> {
    let subject = SourceName { kind: &object.kind, namespace: &object.namespace, name: &object.name };
    any(alert.sources.iter().map(|source| source_selects(source, alert, subject, || labels)))
}

/// What names an object in a source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SourceName<'o> {
    pub kind: &'o str,
    /// Its namespace; empty without one.
    pub namespace: &'o str,
    pub name: &'o str,
}

/// Whether one source of an alert selects an object: what [`matches()`] says of an
/// event of some severity and message, without its words. Labels are asked for last.
pub(crate) fn source_selects<'l>(
    source: &EventSource,
    alert: &Alert,
    object: SourceName<'_>,
    labels: impl FnOnce() -> &'l BTreeMap<String, Text>,
) -> Known<bool> {
    let mut tests = Known::Value(true);
    // Every alert wants errors.
    for (_, passed) in tests_of(source, &alert.namespace, &alert.severity, object, "error") {
        match passed {
            Known::Value(false) => return Known::Value(false),
            Known::Value(true) => {}
            Known::Unknown => tests = Known::Unknown,
        }
    }
    let Some(wanted) = &source.match_labels else { return tests };
    let labels = labels();
    for (key, value) in wanted {
        match labels.get(key).map_or(Known::Value(false), |own| own.same(value)) {
            Known::Value(false) => return Known::Value(false),
            Known::Value(true) => {}
            Known::Unknown => tests = Known::Unknown,
        }
    }
    tests
}

/// True where one is, else unknown where one is.
pub(crate) fn any(answers: impl Iterator<Item = Known<bool>>) -> Known<bool> {
    let mut all = Known::Value(false);
    for answer in answers {
        match answer {
            Known::Value(true) => return answer,
            Known::Value(false) => {}
            Known::Unknown => all = Known::Unknown,
        }
    }
    all
}

/// Whether any source of the alert matches. The answer of the first that does;
/// else of the one that came closest.
fn matches_sources(alert: &Alert, sources: &[&EventSource], event: &Event<'_>) -> Match {
    if alert.sources.is_empty() {
        return Match::no("spec.eventSources is empty");
    }
    let answers: Vec<(MatchStep, Match)> = sources
        .iter()
        .map(|source| matches_source(source, &alert.namespace, &alert.severity, event))
        .collect();
    let found = answers.iter().find(|(_, answer)| answer.matched == Known::Value(true));
    let unknown = || answers.iter().find(|(_, answer)| answer.matched == Known::Unknown);
    if let Some((_, answer)) = found.or_else(unknown) {
        return answer.clone();
    }
    let step = answers.iter().map(|(step, _)| *step).max().unwrap_or(MatchStep::Kind);
    let closest: Vec<&EventSource> = sources
        .iter()
        .zip(&answers)
        .filter(|(_, (reached, _))| *reached == step)
        .map(|(source, _)| *source)
        .collect();
    let list = |texts: Vec<String>| {
        let mut texts = texts;
        texts.sort();
        texts.dedup();
        texts.join(", ")
    };
    match step {
        MatchStep::Kind => {
            let kinds = list(closest.iter().map(|s| s.kind.display().into_owned()).collect());
            let plural = if kinds.contains(", ") { "kinds" } else { "kind" };
            Match::no(format!("source {plural} {kinds} only"))
        }
        MatchStep::Namespace => {
            let names = closest.iter().map(|s| {
                let namespace = s.namespace_in(&alert.namespace);
                format!("`{}`", namespace.display())
            });
            let kind = &event.object.kind;
            Match::no(format!("sources of kind {kind} in namespace {} only", list(names.collect())))
        }
        MatchStep::Name => {
            let names = closest.iter().map(|s| format!("`{}`", s.name.display()));
            let kind = &event.object.kind;
            Match::no(format!("sources of kind {kind} with name {} only", list(names.collect())))
        }
        MatchStep::Severity | MatchStep::Labels => answers
            .into_iter()
            .find(|(reached, _)| *reached == step)
            .map_or_else(|| Match::no("no source matches"), |(_, answer)| answer),
    }
}

/// How far a source went before it decided. The order is that of how close to
/// a match a person would call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MatchStep {
    Kind,
    Namespace,
    Name,
    Severity,
    Labels,
}

impl EventSource {
    /// The namespace that the source looks at.
    pub fn namespace_in(&self, alert_namespace: &str) -> Text {
        match self.namespace.known() {
            Some("") => Text::from(alert_namespace),
            _ => self.namespace.clone(),
        }
    }
}

/// What a source asks of an object and an event before their labels, in order.
fn tests_of(
    source: &EventSource,
    alert_namespace: &str,
    alert_severity: &Text,
    object: SourceName<'_>,
    severity: &str,
) -> [(MatchStep, Known<bool>); 4] {
    let namespace = match source.namespace.known() {
        Some("") => Known::Value(alert_namespace == object.namespace),
        _ => source.namespace.is(object.namespace),
    };
    let either = |text: &Text, one: &str, two: &str| any([text.is(one), text.is(two)].into_iter());
    [
        (MatchStep::Kind, source.kind.is(object.kind)),
        (MatchStep::Namespace, namespace),
        (MatchStep::Name, either(&source.name, "*", object.name)),
        (MatchStep::Severity, either(alert_severity, "info", severity)),
    ]
}

/// Whether one source matches.
///
/// Mirrors notification-controller `internal/server/event_handlers.go`,
/// `eventMatchesAlertSource`.
fn matches_source(
    source: &EventSource,
    alert_namespace: &str,
    alert_severity: &Text,
    event: &Event<'_>,
) -> (MatchStep, Match) {
    let object = event.object;
    // By far the commonest answer; its words are made of all sources together.
    if source.kind.is(&object.kind) == Known::Value(false) {
        return (MatchStep::Kind, Match::no(""));
    }
    let subject = SourceName { kind: &object.kind, namespace: &object.namespace, name: &object.name };
    let tests = tests_of(source, alert_namespace, alert_severity, subject, event.severity);
    if let Some((step, _)) = tests.iter().find(|(_, passed)| *passed == Known::Value(false)) {
        let reason = match step {
            MatchStep::Severity => {
                format!("eventSeverity `{}`, the event is `{}`", alert_severity.display(), event.severity)
            }
            _ => String::new(),
        };
        return (*step, Match::no(reason));
    }
    let labels = matches_labels(source, event);
    if labels.matched == Known::Value(false) {
        return (MatchStep::Labels, labels);
    }
    let unknown = tests.iter().find(|(_, passed)| *passed == Known::Unknown);
    if let Some(&(step, _)) = unknown {
        let what = match step {
            MatchStep::Kind => "the kind of a source",
            MatchStep::Namespace => "the namespace of a source",
            MatchStep::Name => "the name of a source",
            MatchStep::Severity | MatchStep::Labels => "eventSeverity",
        };
        return (step, Match::unknown(format!("{what} is partly unknown")));
    }
    if labels.matched == Known::Unknown {
        return (MatchStep::Labels, labels);
    }
    let mut reason = format!(
        "severity {}, name `{}` in namespace {}",
        event.severity,
        source.name.display(),
        source.namespace_in(alert_namespace).display()
    );
    if source.match_labels.is_some() {
        reason.push_str(", labels");
    }
    (MatchStep::Labels, Match { matched: Known::Value(true), reason })
}

fn matches_labels(source: &EventSource, event: &Event<'_>) -> Match {
    let yes = Match { matched: Known::Value(true), reason: String::new() };
    let Some(wanted) = &source.match_labels else {
        return yes;
    };
    let labels = match event.labels {
        Known::Value(Some(labels)) => labels,
        Known::Value(None) => return Match::no("matchLabels, and there is no such object"),
        Known::Unknown => return Match::unknown("matchLabels, and the object's labels are unknown"),
    };
    let mut answer = yes;
    for (key, value) in wanted {
        let same = labels.get(key).map_or(Known::Value(false), |own| own.same(value));
        match same {
            Known::Value(true) => {}
            Known::Value(false) => {
                let value = value.display();
                return Match::no(format!("matchLabels `{key}: {value}`, which it does not carry"));
            }
            Known::Unknown => {
                answer = Match::unknown(format!("label `{key}` is partly unknown"));
            }
        }
    }
    answer
}

/// Whether the message passes the inclusion and exclusion lists. A malformed
/// pattern is skipped: an inclusion list of such alone lets nothing pass, an
/// exclusion list everything.
///
/// Mirrors notification-controller `internal/server/event_handlers.go`,
/// `messageIsIncluded` and `messageIsExcluded`.
fn matches_message(alert: &Alert, message: Known<&str>) -> Match {
    let included = match alert.inclusion.is_empty() {
        true => Known::Value(true),
        false => any_pattern_matches(&alert.inclusion, message),
    };
    let excluded = any_pattern_matches(&alert.exclusion, message);
    let undecided = |list: &str| match message {
        Known::Value(_) => format!("a pattern of {list} cannot be evaluated here"),
        Known::Unknown => format!("the message decides ({list})"),
    };
    match (included, excluded) {
        (Known::Value(false), _) => Match::no("no pattern of inclusionList matches the message"),
        (_, Known::Value(true)) => Match::no("a pattern of exclusionList matches the message"),
        (Known::Unknown, _) => Match::unknown(undecided("inclusionList")),
        (_, Known::Unknown) => Match::unknown(undecided("exclusionList")),
        (Known::Value(true), Known::Value(false)) => {
            Match { matched: Known::Value(true), reason: String::new() }
        }
    }
}

fn any_pattern_matches(patterns: &[Text], message: Known<&str>) -> Known<bool> {
    let mut answer = Known::Value(false);
    for pattern in patterns {
        match pattern_matches(pattern, message) {
            Known::Value(true) => return Known::Value(true),
            Known::Value(false) => {}
            Known::Unknown => answer = Known::Unknown,
        }
    }
    answer
}

/// Whether Go's regular expression `pattern` finds something in the message.
/// A malformed pattern finds nothing.
fn pattern_matches(pattern: &Text, message: Known<&str>) -> Known<bool> {
    let Some(pattern) = pattern.known() else {
        return Known::Unknown;
    };
    match (GoRegexp::new(pattern), message) {
        (Err(RegexpError::Rejected(_)), _) => Known::Value(false),
        (Ok(regexp), Known::Value(message)) => Known::Value(regexp.is_match(message)),
        _ => Known::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::yaml::parse_nodes;

    /// The short answer is that of the long one, word for word of every field.
    #[test]
    fn selecting_is_matching_without_words() {
        let texts = ["Kustomization", "", "*", "a", "app-${X}", "${X}"];
        let of =
            |text: &str| Text::of(parse_nodes("f", &format!("v: {text:?}"))[0].get_ref().at("/v").unwrap());
        let object = InvolvedObject {
            api_version: "kustomize.toolkit.fluxcd.io/v1".into(),
            kind: "Kustomization".into(),
            namespace: "a".into(),
            name: "app-b".into(),
        };
        let own: BTreeMap<String, Text> = [("l".to_owned(), of("app-b"))].into();
        let mut seen = [0; 3];
        for kind in ["Kustomization", "HelmRelease", "${X}"] {
            for (name, namespace) in texts.iter().flat_map(|one| texts.iter().map(move |two| (one, two))) {
                for (severity, label) in
                    ["info", "error", "${X}"].iter().flat_map(|one| texts.iter().map(move |two| (one, two)))
                {
                    let wanted = (!label.is_empty()).then(|| [("l".to_owned(), of(label))].into());
                    let source = EventSource {
                        kind: of(kind),
                        name: of(name),
                        namespace: of(namespace),
                        match_labels: wanted,
                    };
                    let other = EventSource { kind: of("Bucket"), ..source.clone() };
                    let alert = Alert {
                        namespace: "a".into(),
                        name: "alert".into(),
                        provider: of("p"),
                        severity: of(severity),
                        sources: vec![other, source],
                        inclusion: Vec::new(),
                        exclusion: Vec::new(),
                        suspend: Known::Value(false),
                        event_metadata: Metadata::default(),
                        summary: None,
                        refusal: None,
                    };
                    let labels = Known::Value(Some(&own));
                    let event = Event { object: &object, severity: "error", message: Known::Unknown, labels };
                    let long = matches(&alert, &event).matched;
                    assert_eq!(selects(&alert, &object, &own), long, "{:?}", alert.sources);
                    if is_silent(
                        &alert,
                        alert.sources.iter(),
                        SourceName { kind: "Kustomization", namespace: "a", name: "app-b" },
                        "error",
                    ) {
                        assert_eq!(long, Known::Value(false), "{:?}", alert.sources);
                    }
                    seen[match long {
                        Known::Value(answer) => usize::from(answer),
                        Known::Unknown => 2,
                    }] += 1;
                }
            }
        }
        assert!(seen.iter().all(|count| *count > 3), "{seen:?}");
    }
}
