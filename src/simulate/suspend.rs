//! Effective suspension of an object and what follows from it.
//! Source: the `Reconcile` functions of each controller (order everywhere:
//! deletion, finalizer, suspend check), fluxcd/cli-utils kstatus, and the
//! proposal of an annotation, which no released controller reads.

use crate::config::Feature;
use crate::files::Snapshot;
use crate::lang::text::counted;
use crate::lang::yaml::{EntryRef, Known, Location, NodeRef};
use crate::model::ObjectId;
use crate::model::kinds;
use crate::model::kinds::SuspendBy;
use crate::simulate::behaviour;
use crate::simulate::relations::Relations;
use crate::world::helm_charts::chart_of;
use crate::world::versions::Settings;
use crate::world::{ApplyTarget, Cluster, Effective, World};

/// The proposed annotation: present with any value means suspended.
pub(crate) const ANNOTATION: &str = "reconcile.fluxcd.io/suspended";

/// Who suspended an object in flux-operator's web UI.
pub(crate) const SUSPENDED_BY: &str = "fluxcd.controlplane.io/suspendedBy";

/// What an object says about its own suspension.
#[derive(Clone, Debug)]
pub struct Suspension<'a> {
    /// `spec.suspend`, when it is true.
    pub field: Option<NodeRef<'a>>,
    /// The proposed annotation.
    pub annotation: Option<EntryRef<'a>>,
    /// The annotation by which the kind is paused (`…/reconcile: disabled`).
    pub disabled: Option<EntryRef<'a>>,
    /// Whether the cluster's controllers read the proposed annotation.
    pub honoured: Option<bool>,
    /// Whether it is suspended; `None` when that is unknown.
    pub suspended: Option<bool>,
}

/// The suspension of an object; `None` for kinds that can't be suspended.
pub fn suspension<'a>(id: &ObjectId, node: NodeRef<'a>, settings: &Settings) -> Option<Suspension<'a>> {
    let kind = kinds::of(id)?;
    let annotation = |key: &str| node.at("/metadata/annotations").and_then(|map| map.entry(key));
    let honoured = settings.feature(Feature::SuspendAnnotation).value;
    match kind.suspend {
        SuspendBy::Nothing => None,
        SuspendBy::Annotation(key) => {
            let disabled = annotation(key)
                .filter(|entry| entry.value.text().is_some_and(|text| text.eq_ignore_ascii_case("disabled")));
            let suspended = Some(disabled.is_some());
            Some(Suspension { field: None, annotation: None, disabled, honoured, suspended })
        }
        SuspendBy::Field => {
            let written = node.at("/spec/suspend");
            let field = written.filter(|node| node.as_bool() == Some(true));
            let annotation = annotation(ANNOTATION);
            let suspended = match (&field, &annotation, honoured) {
                (Some(_), _, _) | (_, Some(_), Some(true)) => Some(true),
                _ if written.is_some_and(NodeRef::is_unknown) => None,
                (_, Some(_), None) => None,
                _ => Some(false),
            };
            Some(Suspension { field, annotation, disabled: None, honoured, suspended })
        }
    }
}

impl Suspension<'_> {
    /// Ways in which it is, or seems, suspended: `spec`, `annotation`.
    pub fn ways(&self) -> Vec<&'static str> {
        let mut ways = Vec::new();
        if self.field.is_some() {
            ways.push("spec");
        }
        if self.annotation.is_some() || self.disabled.is_some() {
            ways.push("annotation");
        }
        ways
    }

    /// The value that decides: where to look and what to change.
    pub fn location(&self) -> Option<Location> {
        let entry = |entry: &EntryRef<'_>| entry.value.location().or_else(|| entry.key_location());
        self.field
            .and_then(NodeRef::location)
            .or_else(|| self.annotation.as_ref().and_then(entry))
            .or_else(|| self.disabled.as_ref().and_then(entry))
    }

    /// Why, as somebody wrote it: the annotation's value, else the comment on
    /// the line of `spec.suspend`.
    pub fn reason(&self, snapshot: &Snapshot) -> Option<String> {
        let value = self.annotation.as_ref().and_then(|entry| entry.value.text());
        let value = value.filter(|text| !text.is_empty() && *text != "true" && *text != "suspended");
        value.map(|text| text.into_owned()).or_else(|| comment_after(snapshot, &self.field?.location()?))
    }
}

/// Whether nothing reconciles a source, so that `spec.suspend` has no effect on it.
///
/// Source: source-controller 1.2 `internal/controller/helmrepository_controller.go`,
/// `migrationToStatic`; its HelmCharts fetch from the registry whatever the repository says.
pub(crate) fn is_static_repository(id: &ObjectId, node: NodeRef<'_>, settings: &Settings) -> bool {
    id.is(kinds::SOURCE, "HelmRepository")
        && node.str_at("/spec/type").as_deref() == Some("oci")
        && behaviour::STATIC_OCI_REPOSITORIES.of(settings) != Known::Value(false)
}

/// The comment that stands on the line after a location.
pub(crate) fn comment_after(snapshot: &Snapshot, location: &Location) -> Option<String> {
    let text = &snapshot.stream(snapshot.find(&location.file)?)?.text;
    let rest = text.get(location.end as usize..)?.lines().next()?;
    let comment = rest.trim_start().strip_prefix('#')?.trim();
    (!comment.is_empty()).then(|| comment.to_owned())
}

/// Whether an object is one that a controller of Flux reconciles.
pub(crate) fn is_reconciled(id: &ObjectId) -> bool {
    kinds::of(id)
        .is_some_and(|kind| !matches!(kind.kind, "Alert" | "Provider" | "ExternalArtifact" | "FluxReport"))
}

/// What the end of a suspension brings to the cluster, of what changed in the
/// repository while it lasted.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Resumption {
    /// Objects that are applied for the first time.
    pub added: Vec<ObjectId>,
    /// Objects that are applied with other values.
    pub changed: Vec<ObjectId>,
    /// Objects that are no longer built, and so pruned where `spec.prune` is true.
    pub removed: Vec<ObjectId>,
    /// Whether the object itself was suspended in the earlier state, too.
    pub since: bool,
}

/// What a suspended Kustomization applies and prunes once it is resumed, as far
/// as it was applied as the earlier state of the repository says. `None` for other
/// kinds, and where the earlier state knows no such cluster or object.
/// Source: fluxcd/kustomize-controller internal/controller/kustomization_controller.go
/// `reconcile`: the whole build is applied, the inventory's rest pruned.
pub(crate) fn resumption(
    relations: &Relations<'_>,
    object: &Effective,
    earlier: &World,
) -> Option<Resumption> {
    let (id, cluster) = (&object.id, relations.cluster);
    if !kinds::is_kustomization(id) {
        return None;
    }
    let before =
        earlier.clusters.iter().find(|other| other.name == cluster.name && other.root == cluster.root)?;
    let target = &ApplyTarget::Local;
    let own = before.find(target, id.named())?;
    let was = suspension(id, earlier.object(own.object).node.get_ref(), &before.settings);
    let (old, new) = (Relations::new(earlier, before).applied(id), relations.applied(id));
    let same = |one: &ObjectId, two: &ObjectId| {
        (one.group(), &one.kind, &one.namespace, &one.name)
            == (two.group(), &two.kind, &two.namespace, &two.name)
    };
    let twin = |among: &[&Effective], id: &ObjectId| among.iter().position(|other| same(&other.id, id));
    let mut out =
        Resumption { since: was.is_some_and(|was| was.suspended == Some(true)), ..Resumption::default() };
    for object in &new {
        match twin(&old, &object.id) {
            None => out.added.push(object.id.clone()),
            Some(at) if old[at].node.get_ref().same_value(object.node.get_ref()) != Known::Value(true) => {
                out.changed.push(object.id.clone());
            }
            Some(_) => {}
        }
    }
    let gone = old.iter().filter(|object| twin(&new, &object.id).is_none());
    out.removed = gone.map(|object| object.id.clone()).collect();
    Some(out)
}

/// What follows from the suspension of an object, in sentences without a full
/// stop; empty for one that is not, and does not seem to be, suspended.
pub(crate) fn consequences(
    relations: &Relations<'_>,
    (id, node): (&ObjectId, NodeRef<'_>),
    suspension: &Suspension<'_>,
) -> Vec<String> {
    let cluster = relations.cluster;
    if suspension.suspended != Some(true) {
        return match &suspension.annotation {
            Some(_) => {
                let flux = cluster
                    .settings
                    .flux
                    .value
                    .map_or("released Flux".to_owned(), |flux| format!("Flux {flux}"));
                vec![format!("reconciles as if nothing was set: {flux} does not read the annotation")]
            }
            None => Vec::new(),
        };
    }
    let mut out = of_kind(relations, id, node);
    for dependant in relations.dependants(id) {
        let effect = if dependant.same_source {
            "blocks at the next revision (same source)"
        } else {
            "passes only if this was ready before"
        };
        out.push(format!("{} depends on it: {effect}", dependant.object.id.name));
    }
    out
}

/// What the suspension of an object of a kind means by itself.
fn of_kind(relations: &Relations<'_>, id: &ObjectId, node: NodeRef<'_>) -> Vec<String> {
    let cluster = relations.cluster;
    match &*id.kind {
        "Kustomization" => of_kustomization(relations, id),
        "HelmRelease" => of_release(cluster, id, node),
        "HelmRepository" if node.str_at("/spec/type").as_deref() == Some("oci") => {
            let is_static = is_static_repository(id, node, &cluster.settings);
            vec![match is_static {
                true => "nothing is held back: of type oci it is static, and its charts are pulled all the same",
                false => "its conditions are not renewed; its charts are pulled all the same",
            }
            .to_owned()]
        }
        "HelmRepository" => vec![match relations.consumers(id).len() {
            0 => "its index stays served; nothing here takes a chart of it".to_owned(),
            1 => "its index stays served: 1 HelmChart keeps reconciling and finds no newer chart in it"
                .to_owned(),
            count => {
                format!(
                    "its index stays served: {count} HelmCharts keep reconciling and find no newer chart in it"
                )
            }
        }],
        "GitRepository" | "OCIRepository" | "Bucket" | "HelmChart" => {
            vec![match relations.consumers(id).len() {
                0 => "its artifact stays served; nothing here consumes it".to_owned(),
                1 => "its artifact stays served: 1 consumer keeps its last revision".to_owned(),
                count => format!("its artifact stays served: {count} consumers keep their last revision"),
            }]
        }
        "ImageRepository" => vec!["no new tags are seen".to_owned()],
        "ImagePolicy" => vec!["its last selected image stays in use".to_owned()],
        "ImageUpdateAutomation" => vec!["nothing is committed".to_owned()],
        "Receiver" => vec!["webhook calls are answered with 503".to_owned()],
        "Alert" => vec!["no event reaches its provider".to_owned()],
        "Provider" => vec!["alerts that use it send nothing".to_owned()],
        "ArtifactGenerator" => vec!["its artifacts are not rebuilt".to_owned()],
        _ => vec!["not reconciled".to_owned()],
    }
}

fn of_kustomization(relations: &Relations<'_>, id: &ObjectId) -> Vec<String> {
    let runs = |child: &&Effective| {
        let state = suspension(&child.id, child.node.get_ref(), &relations.cluster.settings);
        state.is_none_or(|state| state.suspended != Some(true))
    };
    let children: Vec<&Effective> =
        relations.applied(id).into_iter().filter(|object| is_reconciled(&object.id)).collect();
    let (all, children) = (children.len(), children.into_iter().filter(runs).count());
    let held = match children {
        0 if all > 0 => "not applied, no drift correction; its children are suspended as well".to_owned(),
        0 => "not applied, no drift correction".to_owned(),
        1 => "not applied, no drift correction; its child keeps reconciling".to_owned(),
        count => format!("not applied, no drift correction; its {count} children keep reconciling"),
    };
    let stay = counted(relations.applied(id).len(), "object");
    vec![held, format!("deleting it now prunes nothing: {stay} would stay in the cluster")]
}

/// Source: helm-controller `internal/controller/helmrelease_controller.go`, `Reconcile`
/// returns before the HelmChart is applied, and `reconcileDelete` before it is deleted;
/// source-controller looks at the HelmChart's own `spec.suspend` alone.
fn of_release(cluster: &Cluster, id: &ObjectId, node: NodeRef<'_>) -> Vec<String> {
    let mut out = vec!["no upgrade, no rollback, no drift correction".to_owned()];
    match chart_of(id, node, &cluster.settings) {
        Some(chart) => {
            out.push(format!(
                "{chart}, once made, keeps reconciling; a change of spec.chart does not reach it"
            ));
            out.push("deleting it now uninstalls nothing and leaves its HelmChart behind".to_owned());
        }
        None => out.push("deleting it now uninstalls nothing".to_owned()),
    }
    out
}
