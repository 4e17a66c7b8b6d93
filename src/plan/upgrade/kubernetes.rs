//! What the API server of another Kubernetes no longer serves: API versions, written and
//! rendered. Fields that come and go are not compared.
//! Source: [`crate::model::removed_apis`].

use super::{ClusterChange, Note};
use crate::lang::yaml::Location;
use crate::model::removed_apis::{self, ApiChange, RemovedApi};
use crate::model::{EffectKind, ObjectId, Severity, Version};
use crate::plan::{Effect, Pair, Side};
use crate::world::{ApplyTarget, Cluster, Effective};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The versions before and after, where they differ and one is known after.
fn versions(base: &Cluster, head: &Cluster) -> Option<(Option<Version>, Version)> {
    let (old, new) = (base.settings.kubernetes.value, head.settings.kubernetes.value?);
    let minor = |version: Version| (version.major, version.minor);
    (old.map(minor) != Some(minor(new))).then_some((old, new))
}

/// What became of the API version of an object, where that happens between two versions.
fn goes(id: &ObjectId, (old, new): (Option<Version>, Version)) -> Option<&'static RemovedApi> {
    let gone = removed_apis::find(&id.api_version, &id.kind)?;
    let is_served = |version: Version| !version.at_least(1, gone.removed);
    (old.is_none_or(is_served) && !is_served(new)).then_some(gone)
}

/// The objects of the cluster itself, those that charts make among them.
fn local<'w>(pair: &Pair<'w>, head: &'w Cluster) -> impl Iterator<Item = &'w Effective> {
    let members = pair.head_world.members(head).filter(|(member, _)| member.target == ApplyTarget::Local);
    members.map(|(_, object)| object)
}

/// Whether an object is a patch for whoever lists its file, and nothing that is applied.
fn is_patch(cluster: &Cluster, object: &Effective) -> bool {
    let node = object.node.get_ref();
    let is_listed = |place: Location| place.file.shown().contains("patch");
    node.at("/$patch").is_some() || (cluster.applied.is_empty() && node.location().is_some_and(is_listed))
}

/// The change of a cluster.
pub(super) fn change<'w>(pair: &Pair<'w>, (base, head): (&'w Cluster, &'w Cluster)) -> Option<ClusterChange> {
    let (old, new) = versions(base, head)?;
    let mut found: BTreeMap<(&str, &str), (&RemovedApi, Vec<String>)> = BTreeMap::new();
    for object in local(pair, head) {
        if let Some(gone) = goes(&object.id, (old, new)).filter(|_| !is_patch(head, object)) {
            let entry = found.entry((gone.api_version, &object.id.kind)).or_insert((gone, Vec::new()));
            let rendered = if object.is_rendered { " (of a chart)" } else { "" };
            entry.1.push(format!("{}{rendered}", object.id));
        }
    }
    let note = |((version, kind), (gone, mut concerns)): ((&str, &str), (&RemovedApi, Vec<String>))| {
        concerns.sort();
        concerns.dedup();
        Note {
            id: "api-version",
            severity: Severity::Disruptive,
            what: format!("{version} {kind} is not served from Kubernetes 1.{} on", gone.removed),
            concerns,
            before: advice(gone, new),
            after: String::new(),
            source: "https://kubernetes.io/docs/reference/using-api/deprecation-guide/",
        }
    };
    Some(ClusterChange {
        cluster: pair.name.clone(),
        what: "kubernetes",
        before: old.map_or(Value::Null, |old| json!(old.to_string())),
        after: json!(new.to_string()),
        notes: found.into_iter().map(note).collect(),
        from: head.settings.kubernetes.from.clone(),
    })
}

/// What to write instead.
fn advice(gone: &RemovedApi, new: Version) -> String {
    let Some(next) = gone.replacement else {
        return "take it out: no API version of the kind is left".to_owned();
    };
    let target = next.api_version;
    let here = match next.change {
        ApiChange::Nothing => format!(
            "write {target}, served since Kubernetes 1.{}; with `target: {{kubernetes: \"{}.{}\"}}` in \
             .forebay.yaml `forebay migrate api-versions` does",
            next.since, new.major, new.minor
        ),
        ApiChange::Required(pointer) => {
            format!("write {target}, which needs `{}`", pointer.trim_start_matches('/').replace('/', "."))
        }
        ApiChange::Fields(words) => format!("write {target}, where {words}"),
    };
    format!("{here}; what a chart makes needs a newer chart")
}

/// Written objects that the API server refuses from then on.
pub(in crate::plan) fn effects(pair: &Pair<'_>) -> Vec<Effect> {
    let (Some(base), Some(head)) = (pair.base, pair.head) else { return Vec::new() };
    let Some((old, new)) = versions(base, head) else { return Vec::new() };
    let mut out = Vec::new();
    for (key, _, after) in pair.kept().filter(|(key, ..)| *key.0 == ApplyTarget::Local) {
        let id = &after.object.id;
        let applied = pair.after.contains_key(key) && !is_patch(head, after.object);
        let Some(gone) = goes(id, (old, new)).filter(|_| applied) else { continue };
        let mut effect = Effect::new(pair, EffectKind::Refused, id);
        effect.field = "/apiVersion".to_owned();
        effect.before = json!(&*id.api_version);
        effect.after = json!(&*id.api_version);
        effect.reason = format!("{} {} is not served", gone.api_version, id.kind);
        let by = format!("with Kubernetes {new}");
        effect
            .details
            .insert("refusal".to_owned(), json!({"reason": effect.reason, "immutable": false, "by": by}));
        effect.consequences.push(format!("{by}, the API server refuses the object"));
        let place = after.object.node.get_ref().location_at("/apiVersion");
        out.push(effect.at(Side::Head, place));
    }
    out
}
