//! Effective suspension of an object and what follows from it.
//! Source: the `Reconcile` functions of each controller (order everywhere:
//! deletion, finalizer, suspend check), fluxcd/cli-utils kstatus, and the
//! proposal of an annotation, which no released controller reads.

use crate::config::Feature;
use crate::files::Snapshot;
use crate::lang::text::counted;
use crate::lang::yaml::{EntryRef, Known, Location, NodeRef};
use crate::model::kinds;
use crate::model::kinds::SuspendBy;
use crate::model::references::{Role, has_ready_expression, references};
use crate::model::{Name, ObjectId};
use crate::simulate::behaviour;
use crate::world::helm_charts::chart_of;
use crate::world::versions::Settings;
use crate::world::{ApplyTarget, Cluster, Effective, World};
use rustc_hash::FxHashMap;

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

/// Flux objects that a Kustomization applies: its children.
pub(crate) fn children<'w>(world: &'w World, cluster: &'w Cluster, id: &ObjectId) -> Vec<&'w Effective> {
    applied(world, cluster, id).into_iter().filter(|object| is_reconciled(&object.id)).collect()
}

/// Whether an object is one that a controller of Flux reconciles.
pub(crate) fn is_reconciled(id: &ObjectId) -> bool {
    kinds::of(id)
        .is_some_and(|kind| !matches!(kind.kind, "Alert" | "Provider" | "ExternalArtifact" | "FluxReport"))
}

/// Everything that a Kustomization applies, itself excluded.
pub(crate) fn applied<'w>(world: &'w World, cluster: &'w Cluster, id: &ObjectId) -> Vec<&'w Effective> {
    let appliers = cluster.appliers(id.namespace.as_deref(), &id.name);
    world
        .written(cluster)
        .filter(|(member, _)| member.maker.kustomization().is_some_and(|by| appliers.contains(&by)))
        .map(|(_, object)| object)
        .filter(|object| object.id != *id)
        .collect()
}

/// A dependant of an object and whether both take their manifests from one
/// source (then a new revision blocks it).
pub(crate) struct Dependant<'w> {
    /// The object that waits.
    pub object: &'w Effective,
    /// Whether kustomize-controller's revision rule applies.
    pub same_source: bool,
    /// Where it names the dependency.
    pub location: Option<Location>,
}

/// Who depends on whom in a cluster: read once, asked for many.
pub(crate) struct Dependants<'w> {
    world: &'w World,
    cluster: &'w Cluster,
    by_dependency: FxHashMap<Dependency, Vec<(&'w Effective, Option<Location>)>>,
}

/// Group, kind, namespace and name of an object that others wait for.
type Dependency = (String, String, Option<String>, String);

impl<'w> Dependants<'w> {
    /// Reads `dependsOn` of every object, readyExpr entries left out.
    pub(crate) fn of(world: &'w World, cluster: &'w Cluster) -> Dependants<'w> {
        let mut by_dependency: FxHashMap<_, Vec<_>> = FxHashMap::default();
        for (member, object) in world.written(cluster) {
            if member.target != ApplyTarget::Local {
                continue;
            }
            let node = object.node.get_ref();
            if node.at("/spec/dependsOn").is_none() {
                continue;
            }
            for reference in references(&object.id, node) {
                if reference.role != Role::DependsOn || has_ready_expression(node, &reference) {
                    continue;
                }
                let Some(name) = reference.name else { continue };
                let group = object.id.group().to_owned();
                let dependency = (group, object.id.kind.to_string(), reference.namespace, name);
                by_dependency.entry(dependency).or_default().push((object, reference.name_node.location()));
            }
        }
        Dependants { world, cluster, by_dependency }
    }

    /// Objects of the same kind that depend on one.
    pub(crate) fn on(&self, id: &ObjectId) -> Vec<Dependant<'w>> {
        let (group, namespace) = (id.group(), id.namespace.as_deref());
        let dependency =
            (group.to_owned(), id.kind.to_string(), namespace.map(str::to_owned), id.name.to_string());
        let Some(found) = self.by_dependency.get(&dependency) else { return Vec::new() };
        let own = self.cluster.find(&ApplyTarget::Local, Name::new(group, &id.kind, namespace, &id.name));
        let own_source = own
            .filter(|_| kinds::is_kustomization(id))
            .and_then(|member| source(self.world.object(member.object)));
        let dependant = |(object, location): &(&'w Effective, Option<Location>)| Dependant {
            object,
            same_source: own_source.is_some() && own_source == source(object),
            location: location.clone(),
        };
        found.iter().map(dependant).collect()
    }
}

fn source(object: &Effective) -> Option<(String, Option<String>, String)> {
    references(&object.id, object.node.get_ref())
        .into_iter()
        .find(|reference| reference.role == Role::Source)
        .and_then(|reference| Some((reference.kind, reference.namespace, reference.name?)))
}

/// Objects that take their manifests or charts from a source: a HelmRelease for the
/// HelmChart that is made of it, too.
pub(crate) fn consumers<'w>(world: &'w World, cluster: &'w Cluster, id: &ObjectId) -> Vec<&'w Effective> {
    world
        .written(cluster)
        .filter(|(member, object)| {
            let node = object.node.get_ref();
            let is_made = || chart_of(&object.id, node, &cluster.settings).is_some_and(|made| made == *id);
            member.target == ApplyTarget::Local
                && (&*id.kind == "HelmChart" && is_made()
                    || references(&object.id, node).iter().any(|reference| {
                        matches!(reference.role, Role::Source | Role::Image)
                            && *reference.kind == *id.kind
                            && reference.name.as_deref() == Some(&*id.name)
                            && reference.namespace.as_deref() == id.namespace.as_deref()
                    }))
        })
        .map(|(_, object)| object)
        .collect()
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
    world: &World,
    cluster: &Cluster,
    object: &Effective,
    earlier: &World,
) -> Option<Resumption> {
    let id = &object.id;
    if !kinds::is_kustomization(id) {
        return None;
    }
    let before =
        earlier.clusters.iter().find(|other| other.name == cluster.name && other.root == cluster.root)?;
    let target = &ApplyTarget::Local;
    let own = before.find(target, id.named())?;
    let was = suspension(id, earlier.object(own.object).node.get_ref(), &before.settings);
    let old = applied(earlier, before, id);
    let new = applied(world, cluster, id);
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
    world: &World,
    cluster: &Cluster,
    (id, node): (&ObjectId, NodeRef<'_>),
    suspension: &Suspension<'_>,
) -> Vec<String> {
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
    let mut out = match &*id.kind {
        "Kustomization" => of_kustomization(world, cluster, id),
        "HelmRelease" => of_release(cluster, id, node),
        "HelmRepository" if node.str_at("/spec/type").as_deref() == Some("oci") => {
            let is_static = is_static_repository(id, node, &cluster.settings);
            vec![match is_static {
                true => "nothing is held back: of type oci it is static, and its charts are pulled all the same",
                false => "its conditions are not renewed; its charts are pulled all the same",
            }
            .to_owned()]
        }
        "HelmRepository" => vec![match consumers(world, cluster, id).len() {
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
            vec![match consumers(world, cluster, id).len() {
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
    };
    for dependant in Dependants::of(world, cluster).on(id) {
        let effect = if dependant.same_source {
            "blocks at the next revision (same source)"
        } else {
            "passes only if this was ready before"
        };
        out.push(format!("{} depends on it: {effect}", dependant.object.id.name));
    }
    out
}

fn of_kustomization(world: &World, cluster: &Cluster, id: &ObjectId) -> Vec<String> {
    let runs = |child: &&Effective| {
        let state = suspension(&child.id, child.node.get_ref(), &cluster.settings);
        state.is_none_or(|state| state.suspended != Some(true))
    };
    let children = children(world, cluster, id);
    let (all, children) = (children.len(), children.into_iter().filter(runs).count());
    let held = match children {
        0 if all > 0 => "not applied, no drift correction; its children are suspended as well".to_owned(),
        0 => "not applied, no drift correction".to_owned(),
        1 => "not applied, no drift correction; its child keeps reconciling".to_owned(),
        count => format!("not applied, no drift correction; its {count} children keep reconciling"),
    };
    let stay = counted(applied(world, cluster, id).len(), "object");
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
