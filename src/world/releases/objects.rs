//! The objects of a chart as helm-controller applies them.

use crate::build::kustomize::{self, FileRole};
use crate::lang::yaml::{Location, Node, NodeRef};
use crate::model::ObjectId;
use crate::sources::outcome::{ChartObjects, NoRelease};
use crate::world::build::{BuiltObject, set_common_metadata};
use std::sync::Arc;

/// The objects of a chart as helm-controller applies them: post-rendered, with common
/// metadata and the labels of their origin, in the release's namespace.
pub(super) fn applied(
    id: &ObjectId,
    release: NodeRef<'_>,
    made: &ChartObjects,
    namespace: &str,
) -> Result<Vec<Arc<BuiltObject>>, Box<NoRelease>> {
    let mut nodes = made.objects.clone();
    for renderer in release.items_at("/spec/postRenderers") {
        let Some(renderer) = renderer.get("kustomize") else { continue };
        let field = |name: &str| renderer.get(name).filter(|node| !node.is_null()).map(NodeRef::to_node);
        nodes = kustomize::post_render(nodes, field("patches"), field("images")).map_err(|error| {
            let message = format!("error while running post render on files: {}", error.message);
            NoRelease::new(message, error.location)
        })?;
    }
    let common = release.at("/spec/commonMetadata").filter(|node| !node.is_null());
    let place = release.location_at("/spec/commonMetadata");
    let own = release.location_at("/metadata/name");
    let cluster_wide = scopes(&made.definitions);
    let policy =
        |action: &str| release.str_at(&format!("/spec/{action}/crds")).is_some_and(|policy| policy == "Skip");
    // Skipped at the install, they come with no upgrade.
    let definitions = if policy("install") { &[][..] } else { &made.definitions[..] };
    let mut out = Vec::new();
    for mut node in definitions.iter().cloned() {
        originate(&mut node, id, own.as_ref());
        out.push(built(node));
    }
    for mut node in nodes {
        if let Some(common) = common {
            for field in ["labels", "annotations"] {
                set_common_metadata(&mut node, field, common, place.as_ref());
            }
        }
        originate(&mut node, id, own.as_ref());
        settle(&mut node, namespace, &cluster_wide, release.location_at("/metadata/namespace"));
        out.push(built(node));
    }
    Ok(out)
}

/// The hooks of a chart that helm-controller runs, in the release's namespace.
pub(super) fn hooks(release: NodeRef<'_>, made: &ChartObjects, namespace: &str) -> Vec<Arc<BuiltObject>> {
    let is_off = |action: &str| {
        release.at(&format!("/spec/{action}/disableHooks")).and_then(NodeRef::as_bool) == Some(true)
    };
    if is_off("install") && is_off("upgrade") {
        return Vec::new();
    }
    let cluster_wide = scopes(&made.definitions);
    let settled = made.hooks.iter().cloned().map(|mut node| {
        settle(&mut node, namespace, &cluster_wide, release.location_at("/metadata/namespace"));
        built(node)
    });
    settled.collect()
}

fn built(node: Node) -> Arc<BuiltObject> {
    let files = node.get_ref().location().map(|location| (FileRole::Resource, location));
    Arc::new(BuiltObject::new(node, files.into_iter().collect()))
}

/// The labels that tell which release an object is of.
fn originate(node: &mut Node, id: &ObjectId, place: Option<&Location>) {
    let label = |key: &str, value: &str| {
        (format!("helm.toolkit.fluxcd.io/{key}"), Node::string(value, place.cloned()))
    };
    let labels = [label("name", &id.name), label("namespace", id.namespace.as_deref().unwrap_or_default())];
    if !node.get_ref().get("metadata").is_some_and(NodeRef::is_map) {
        return;
    }
    let Some(metadata) = node.get_mut("metadata") else { return };
    if !metadata.get_ref().get("labels").is_some_and(NodeRef::is_map) {
        metadata.set("labels", Node::empty_map(None), None);
    }
    let Some(own) = metadata.get_mut("labels") else { return };
    for (key, value) in labels {
        own.set(&key, value, place.cloned());
    }
}

/// Puts an object that says no namespace into the release's, where its kind has one.
fn settle(node: &mut Node, namespace: &str, cluster_wide: &[(String, String)], place: Option<Location>) {
    let view = node.get_ref();
    let (Some(version), Some(kind)) = (view.str_at("/apiVersion"), view.str_at("/kind")) else { return };
    let group = version.rsplit_once('/').map_or("", |(group, _)| group);
    let is_wide = kustomize::is_cluster_scoped(&version, &kind)
        || cluster_wide.iter().any(|(of, name)| of == group && *name == *kind);
    let has_own = view.str_at("/metadata/namespace").is_some_and(|own| !own.is_empty())
        || view.at("/metadata/namespace").is_some_and(NodeRef::is_unknown);
    if is_wide || has_own {
        return;
    }
    if let Some(metadata) = node.get_mut("metadata") {
        metadata.set("namespace", Node::string(namespace, place.clone()), place);
    }
}

/// Group and kind of the definitions of cluster-wide kinds.
fn scopes(definitions: &[Node]) -> Vec<(String, String)> {
    let wide = definitions
        .iter()
        .map(Node::get_ref)
        .filter(|definition| definition.str_at("/spec/scope").is_some_and(|scope| scope == "Cluster"));
    let named = wide.filter_map(|definition| {
        let text = |pointer: &str| definition.str_at(pointer).map(|text| text.into_owned());
        Some((text("/spec/group")?, text("/spec/names/kind")?))
    });
    named.collect()
}
