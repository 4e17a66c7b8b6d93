//! The HelmCharts that helm-controller makes of HelmReleases with `spec.chart`.
//! Source: fluxcd/helm-controller `internal/reconcile/helmchart_template.go`, `Reconcile`
//! and `buildHelmChartFromTemplate`; `api/v2/helmrelease_types.go`, `GetHelmChartName` and
//! `GetNamespace`.

use super::versions::Settings;
use super::{ApplyTarget, Cluster, Effective, World};
use crate::config::Feature;
use crate::lang::yaml::{Node, NodeRef};

use crate::model::{ObjectId, Version, kinds};

/// A HelmChart that no file holds.
#[derive(Clone, Debug)]
pub struct HelmChart<'w> {
    /// The cluster of its release.
    pub cluster: &'w Cluster,
    /// `NAMESPACE-NAME` of its release, in the namespace of the source.
    pub id: ObjectId,
    /// What helm-controller writes; each value has the place in the HelmRelease.
    pub node: Node,
    /// The HelmRelease that it is made of.
    pub release: &'w ObjectId,
}

/// The fields of the template that helm-controller copies as they are.
const COPIED: [&str; 7] = [
    "chart",
    "version",
    "reconcileStrategy",
    "valuesFiles",
    "valuesFile",
    "ignoreMissingValuesFiles",
    "verify",
];

/// The HelmCharts that a cluster's HelmReleases on a target have. One that the
/// repository holds itself is not among them.
pub fn helm_charts<'w>(world: &'w World, cluster: &'w Cluster, target: &ApplyTarget) -> Vec<HelmChart<'w>> {
    let elsewhere = Settings::default();
    let settings = if *target == ApplyTarget::Local { &cluster.settings } else { &elsewhere };
    let of = |object: &'w Effective| {
        let node = object.node.get_ref();
        let id = chart_of(&object.id, node, settings)?;
        let is_written = cluster.find(target, id.named());
        let make =
            || HelmChart { cluster, node: made(&id, &object.id, node), id: id.clone(), release: &object.id };
        is_written.is_none().then(make)
    };
    let here = world.written(cluster).filter(|(member, _)| member.target == *target);
    here.filter_map(|(_, object)| of(object)).collect()
}

/// The HelmChart that a HelmRelease has; `None` where it has none, or its name is not known.
pub(crate) fn chart_of(release: &ObjectId, node: NodeRef<'_>, settings: &Settings) -> Option<ObjectId> {
    let template = node.at("/spec/chart").filter(|template| template.is_map())?;
    let refers = node.at("/spec/chartRef").is_some_and(|reference| !reference.is_null());
    if !kinds::is_helm_release(release) || release.is_unknown() || refers {
        return None;
    }
    let own = release.namespace.as_deref();
    let namespace = match template.at("/spec/sourceRef/namespace") {
        Some(stated) if !stated.is_null() => Some(stated.as_str()?).filter(|stated| !stated.is_empty()),
        _ => None,
    };
    // helm-controller `internal/acl`, `AllowsAccessTo`: nothing is made in a foreign namespace.
    let is_foreign = namespace.as_deref().is_some_and(|namespace| Some(namespace) != own);
    if is_foreign && settings.feature(Feature::CrossNamespaceRefs).value == Some(false) {
        return None;
    }
    // helm-controller 1.0 is the first that writes `v1`.
    let is_old = settings.flux.value.is_some_and(|flux| flux < Version { major: 2, minor: 3, patch: None });
    Some(ObjectId {
        api_version: format!("{}/{}", kinds::SOURCE, if is_old { "v1beta2" } else { "v1" }).into(),
        kind: "HelmChart".into(),
        namespace: namespace.as_deref().or(own).map(Into::into),
        name: format!("{}-{}", own.unwrap_or_default(), release.name).into(),
    })
}

/// What helm-controller applies. The labels that name the owner are those of
/// fluxcd/pkg `ssa`, `SetOwnerLabels`, which win.
fn made(id: &ObjectId, release: &ObjectId, node: NodeRef<'_>) -> Node {
    let at = |pointer: &str| node.at(pointer).filter(|value| !value.is_null()).map(NodeRef::to_node);
    let text = |text: &str| Node::string(text, None);
    let origin = node.location_at("/spec/chart");
    let map = || Node::empty_map(origin.clone());
    let mut metadata = map();
    metadata.set("name", text(&id.name), None);
    if let Some(namespace) = &id.namespace {
        metadata.set("namespace", text(namespace), None);
    }
    let mut labels = at("/spec/chart/metadata/labels").unwrap_or_else(map);
    labels.set(&format!("{}/name", kinds::HELM), text(&release.name), None);
    if let Some(namespace) = &release.namespace {
        labels.set(&format!("{}/namespace", kinds::HELM), text(namespace), None);
    }
    metadata.set("labels", labels, None);
    if let Some(annotations) = at("/spec/chart/metadata/annotations") {
        metadata.set("annotations", annotations, None);
    }
    let mut source = map();
    for field in ["kind", "name"] {
        if let Some(value) = at(&format!("/spec/chart/spec/sourceRef/{field}")) {
            source.set(field, value, None);
        }
    }
    let mut spec = map();
    for field in COPIED {
        if let Some(value) = at(&format!("/spec/chart/spec/{field}")) {
            spec.set(field, value, None);
        }
    }
    if let Some(interval) = at("/spec/chart/spec/interval").or_else(|| at("/spec/interval")) {
        spec.set("interval", interval, None);
    }
    spec.set("sourceRef", source, None);
    let mut chart = map();
    chart.set("apiVersion", text(&id.api_version), None);
    chart.set("kind", text(&id.kind), None);
    chart.set("metadata", metadata, None);
    chart.set("spec", spec, None);
    chart
}
