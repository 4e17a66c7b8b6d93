//! `substitution-changes-type`: a value that is no string any more, where a
//! string is needed.
//! Source: fluxcd/pkg `kustomize/kustomize_varsub.go`: text without quotes is
//! substituted and parsed again; kustomize-controller `SetOwnerLabels` for
//! labels.

use super::{appliers, title};
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::ObjectId;
use crate::model::kinds;
use crate::text::with_article;
use crate::world::substitution::ProblemKind;
use regex::Regex;
use std::sync::OnceLock;

/// See the module.
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
        if *became == "null" && place == Place::Other {
            continue;
        }
        let Some(location) = problem.location.clone() else { continue };
        let shown = if text.is_empty() { "an empty value".to_owned() } else { format!("`{text}`") };
        let what = format!("{shown} becomes {}", with_article(became));
        let why = match place {
            Place::Label => {
                "quotes in the file don't protect it, and one label that is no string costs the object all of them"
            }
            _ => {
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
enum Place {
    /// A label of the object itself.
    Label,
    /// Its name.
    Name,
    /// Anywhere else.
    Other,
}

fn string_place(id: &ObjectId, pointer: &str) -> Option<Place> {
    static ANY: OnceLock<Regex> = OnceLock::new();
    static POD: OnceLock<Regex> = OnceLock::new();
    static FLUX: OnceLock<Regex> = OnceLock::new();
    let matches = |cell: &'static OnceLock<Regex>, pattern: &str| {
        cell.get_or_init(|| Regex::new(pattern).expect("a constant expression")).is_match(pointer)
    };
    if pointer.starts_with("/metadata/labels/") {
        return Some(Place::Label);
    }
    if pointer == "/metadata/name" {
        return Some(Place::Name);
    }
    let group = id.group();
    let builtin = !group.contains('.') || group.ends_with(".k8s.io") && !group.ends_with(".x-k8s.io");
    let found = matches(
        &ANY,
        r"^/metadata/(namespace|annotations/[^/]+)$|/(template|metadata)/metadata/(labels|annotations)/[^/]+$|/matchLabels/[^/]+$",
    ) || match (group, &*id.kind) {
        ("", "ConfigMap") => pointer.starts_with("/data/") && pointer.matches('/').count() == 2,
        ("", "Secret") => {
            (pointer.starts_with("/data/") || pointer.starts_with("/stringData/"))
                && pointer.matches('/').count() == 2
        }
        _ => false,
    } || builtin
        && matches(
            &POD,
            r"/(containers|initContainers)/\d+/(name|image|(args|command)/\d+|env/\d+/(name|value))$|/nodeSelector/[^/]+$",
        )
        || kinds::of(id).is_some()
            && matches(
                &FLUX,
                r"^/spec/(path|targetNamespace|storageNamespace|releaseName|serviceAccountName|url|interval|timeout|retryInterval|ref/[a-z]+|(sourceRef|chartRef|secretRef|providerRef)/[a-zA-Z]+|chart/spec/(chart|version|interval|sourceRef/[a-zA-Z]+)|dependsOn/\d+/(name|namespace)|postBuild/substitute/[^/]+)$",
            );
    found.then_some(Place::Other)
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
