//! `substitution-changes-type`: a value that is no string any more, where a
//! string is needed.
//! Source: fluxcd/pkg `kustomize/kustomize_varsub.go`: text without quotes is
//! substituted and parsed again; kustomize-controller `SetOwnerLabels` for
//! labels.

use super::{appliers, title};
use crate::build::substitute::ProblemKind;
use crate::lang::text::with_article;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::ObjectId;
use crate::model::kinds;

pub(crate) static RULE: Rule = Rule {
    id: "substitution-changes-type",
    group: Group::Build,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a substituted value that turns into a number, bool, null or map where a string is needed",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/substitution-changes-type.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let Some(effective) = view.effective else { return };
    if effective.problems.is_empty() || appliers(view).is_empty() {
        return;
    }
    for problem in &effective.problems {
        let ProblemKind::TypeChange { text, became } = &problem.kind else { continue };
        let undefined = effective.problems.iter().any(|other| {
            other.pointer == problem.pointer
                && matches!(other.kind, ProblemKind::Undefined { .. } | ProblemKind::PerhapsUndefined { .. })
        });
        let Some(place) = string_place(view.id, &problem.pointer).filter(|_| !undefined) else { continue };
        // An absent value is what null and the empty string mean there.
        if *became == "null" && place == StringPlace::Other {
            continue;
        }
        let Some(location) = problem.location.clone() else { continue };
        let shown = match *became {
            "list" | "map" => "the text".to_owned(),
            _ if text.is_empty() => "an empty value".to_owned(),
            _ => format!("`{text}`"),
        };
        let what = format!("{shown} becomes {}", with_article(became));
        let why = match place {
            StringPlace::Label => {
                "quotes in the file don't protect it, and one label that is no string costs the object all of them"
            }
            StringPlace::Name => {
                "quotes in the file don't protect it, and kustomize-controller leaves out what has no string as its name: it isn't applied, and pruned where it was"
            }
            StringPlace::Other => {
                "quotes in the file don't protect it: Flux substitutes text without them; the API server wants a string"
            }
        };
        report
            .report(location, title(view.id, &what))
            .why(why)
            .help("write ${quote}${VAR}${quote} and define quote: '\"', or use a block scalar")
            .object(view.id)
            .field(problem.pointer.clone(), text.clone());
    }
}

/// A place at which a string is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StringPlace {
    /// A label of the object itself.
    Label,
    /// The name of the object itself: without a string there, `ReadObjects` of fluxcd/pkg
    /// `ssa/utils/object.go` passes over it.
    Name,
    /// Anywhere else.
    Other,
}

/// Ends of pointers of strings in any object. A segment is a word, one of several, `*`
/// for any, `#` for an index or `@` for letters.
const ANYWHERE: [&str; 2] = ["template|metadata/metadata/labels|annotations/*", "matchLabels/*"];

/// The same of the kinds of Kubernetes.
const OF_PODS: [&str; 4] = [
    "containers|initContainers/#/name|image",
    "containers|initContainers/#/args|command/#",
    "containers|initContainers/#/env/#/name|value",
    "nodeSelector/*",
];

/// Whole pointers in objects of Flux and Cluster API.
const OF_FLUX: [&str; 8] = [
    "spec/path|targetNamespace|storageNamespace|releaseName|serviceAccountName|url",
    "spec/interval|timeout|retryInterval",
    "spec/ref/@",
    "spec/sourceRef|chartRef|secretRef|providerRef/@",
    "spec/chart/spec/chart|version|interval",
    "spec/chart/spec/sourceRef/@",
    "spec/dependsOn/#/name|namespace",
    "spec/postBuild/substitute/*",
];

fn string_place(id: &ObjectId, pointer: &str) -> Option<StringPlace> {
    if pointer.starts_with("/metadata/labels/") {
        return Some(StringPlace::Label);
    }
    if pointer == "/metadata/name" {
        return Some(StringPlace::Name);
    }
    let segments: Vec<&str> = pointer.split('/').skip(1).collect();
    let is_whole = |pattern: &&str| is_like(pattern, &segments);
    let ends = |pattern: &&str| {
        let length = pattern.split('/').count();
        segments.len() >= length && is_like(pattern, &segments[segments.len() - length..])
    };
    let group = id.group();
    let builtin = !group.contains('.') || group.ends_with(".k8s.io") && !group.ends_with(".x-k8s.io");
    let is_data = |field: &str| is_like(field, &segments);
    let found = ["metadata/namespace", "metadata/annotations/*"].iter().any(is_whole)
        || ANYWHERE.iter().any(ends)
        || match (group, &*id.kind) {
            ("", "ConfigMap") => is_data("data/*"),
            ("", "Secret") => is_data("data|stringData/*"),
            _ => false,
        }
        || builtin && OF_PODS.iter().any(ends)
        || kinds::of(id).is_some() && OF_FLUX.iter().any(is_whole);
    found.then_some(StringPlace::Other)
}

/// Whether the segments of a pointer are those of a pattern.
fn is_like(pattern: &str, segments: &[&str]) -> bool {
    let is = |wanted: &str, segment: &str| match wanted {
        "*" => !segment.is_empty(),
        "#" => !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit()),
        "@" => !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_alphabetic()),
        word => word == segment,
    };
    let wanted = pattern.split('/');
    wanted.clone().count() == segments.len()
        && wanted.zip(segments).all(|(wanted, segment)| wanted.split('|').any(|wanted| is(wanted, segment)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_strings_are_needed() {
        let place = |api_version: &str, kind: &str, pointer: &str| {
            let id = ObjectId {
                api_version: api_version.into(),
                kind: kind.into(),
                namespace: None,
                name: "x".into(),
            };
            string_place(&id, pointer)
        };
        for (api_version, kind, pointer, expected) in [
            ("apps/v1", "Deployment", "/spec/template/spec/containers/0/env/1/value", true),
            ("apps/v1", "Deployment", "/spec/replicas", false),
            ("apps/v1", "Deployment", "/spec/template/metadata/labels/app", true),
            ("v1", "ConfigMap", "/data/k", true),
            ("example.org/v1", "Thing", "/data/k", false),
            ("example.org/v1", "Thing", "/metadata/labels/k", true),
            ("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "/spec/postBuild/substitute/PORT", true),
            ("helm.toolkit.fluxcd.io/v2", "HelmRelease", "/spec/chart/spec/version", true),
            ("helm.toolkit.fluxcd.io/v2", "HelmRelease", "/spec/values/port", false),
        ] {
            assert_eq!(place(api_version, kind, pointer).is_some(), expected, "{kind} {pointer}");
        }
    }
}
