//! What a change of an object comes to: by the fields that differ, and by what they mean.

use super::Pair;
use super::fields::FieldChange;
use crate::lang::yaml::NodeRef;
use crate::model::kinds::{self, SOURCE};
use crate::model::{EffectKind, ObjectId};
use crate::world::clean_path;

/// What the controllers make of a change.
pub(super) struct ChangeClass {
    pub(super) kind: EffectKind,
    pub(super) reason: &'static str,
    pub(super) prefixes: &'static [&'static str],
}

impl ChangeClass {
    pub(super) fn decides(&self, path: &str) -> bool {
        self.prefixes.iter().any(|prefix| path.starts_with(prefix))
    }
}

/// What the changes of an object in files come to: that something is written in other words,
/// or a chart comes from another place, is no change of what is taken.
pub(super) fn told(
    pair: &Pair<'_>,
    (old, new): (NodeRef<'_>, NodeRef<'_>),
    id: &ObjectId,
    changes: &[FieldChange],
) -> ChangeClass {
    let class = of(id, changes);
    match class.kind {
        EffectKind::ReleaseUpgrade if has_its_release(pair, id, &class, changes) => ChangeClass {
            kind: EffectKind::Changed,
            reason: "the same chart from another place: no upgrade",
            ..class
        },
        EffectKind::SourceChange => {
            let differs = |change: &&FieldChange| !is_same_place(change, old, new);
            let changes: Vec<FieldChange> = changes.iter().filter(differs).cloned().collect();
            of(id, &changes)
        }
        _ => class,
    }
}

/// Whether a release keeps its chart and its values, wherever the chart comes from now.
/// Source: helm-controller `internal/reconcile/state.go` (`DetermineReleaseState`): it is in
/// sync then.
fn has_its_release(pair: &Pair<'_>, id: &ObjectId, class: &ChangeClass, changes: &[FieldChange]) -> bool {
    let of_source =
        |change: &FieldChange| change.path.starts_with("/spec/chart") || !class.decides(&change.path);
    changes.iter().all(of_source) && pair.rendered.has_same_chart(id)
}

/// Whether a field of a source, or of a Kustomization, names what it named before.
fn is_same_place(change: &FieldChange, old: NodeRef<'_>, new: NodeRef<'_>) -> bool {
    match change.path.as_str() {
        "/spec/path" => {
            let text = |value: &serde_json::Value| value.as_str().map(clean_path);
            text(&change.before).is_some_and(|path| Some(path) == text(&change.after))
        }
        path if path.starts_with("/spec/ref") => {
            git_reference(old).is_some_and(|reference| Some(reference) == git_reference(new))
        }
        _ => false,
    }
}

/// The full reference that a GitRepository follows; nothing where it follows a commit, a
/// range of tags, or names none.
/// Source: fluxcd/pkg `git/gogit/client.go` (`Clone`): the order of the fields.
fn git_reference(source: NodeRef<'_>) -> Option<String> {
    let reference =
        source.at("/spec/ref").filter(|_| source.str_at("/kind").as_deref() == Some("GitRepository"))?;
    let text = |field: &str| reference.str_at(field).filter(|text| !text.is_empty());
    if text("/commit").is_some() {
        return None;
    }
    if let Some(name) = text("/name") {
        return Some(name.into_owned());
    }
    if text("/semver").is_some() {
        return None;
    }
    match (text("/tag"), text("/branch")) {
        (Some(tag), _) => Some(format!("refs/tags/{tag}")),
        (None, branch) => Some(format!("refs/heads/{}", branch?)),
    }
}

/// What changes come to by the fields alone.
pub(super) fn of(id: &ObjectId, changes: &[FieldChange]) -> ChangeClass {
    const TEMPLATE: &[&str] = &["/spec/template", "/spec/jobTemplate"];
    const RELEASE: &[&str] =
        &["/spec/chart", "/spec/chartRef", "/spec/values", "/spec/valuesFrom", "/spec/postRenderers"];
    const SOURCE_FIELDS: &[&str] = &[
        "/spec/ref",
        "/spec/url",
        "/spec/endpoint",
        "/spec/bucketName",
        "/spec/sourceRef",
        "/spec/path",
        "/spec/chart",
        "/spec/version",
    ];
    const QUIET: &[&str] = &[
        "/spec/interval",
        "/spec/timeout",
        "/spec/retryInterval",
        "/metadata/annotations",
        "/metadata/labels",
    ];
    let any = |prefixes: &[&str]| {
        changes.iter().any(|change| prefixes.iter().any(|prefix| change.path.starts_with(prefix)))
    };
    let workload = matches!(
        (id.group(), &*id.kind),
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("", "ReplicationController")
    );
    if workload && any(TEMPLATE) {
        return ChangeClass {
            kind: EffectKind::WorkloadRollout,
            reason: "its pod template changed: Pods are replaced",
            prefixes: TEMPLATE,
        };
    }
    if kinds::is_helm_release(id) && any(RELEASE) {
        return ChangeClass {
            kind: EffectKind::ReleaseUpgrade,
            reason: "the release is upgraded",
            prefixes: RELEASE,
        };
    }
    if (id.group() == SOURCE || kinds::is_kustomization(id)) && any(SOURCE_FIELDS) {
        return ChangeClass {
            kind: EffectKind::SourceChange,
            reason: "its manifests or charts come from elsewhere",
            prefixes: SOURCE_FIELDS,
        };
    }
    let only_quiet = changes.iter().all(|change| QUIET.iter().any(|prefix| change.path.starts_with(prefix)));
    if kinds::of(id).is_some() && only_quiet && any(&QUIET[..3]) {
        return ChangeClass {
            kind: EffectKind::ReconcileOnly,
            reason: "it reconciles at another pace",
            prefixes: &QUIET[..3],
        };
    }
    ChangeClass { kind: EffectKind::Changed, reason: "applied with new values", prefixes: &[] }
}
