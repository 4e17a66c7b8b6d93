//! The objects of a chart as helm-controller applies them.

use crate::build::helm::{HOOK, HelmLine};
use crate::build::kustomize::{self, BuildError, ErrorClass, FileRole};
use crate::lang::yaml::{Location, Node, NodeRef};
use crate::model::ObjectId;
use crate::sources::outcome::{ChartObjects, ChartOutcome, NoRelease, POST_RENDER_FAILS};
use crate::world::build::{BuiltObject, set_common_metadata};
use std::sync::Arc;

/// What a release comes to in its cluster.
#[derive(Clone, Debug)]
pub(super) struct Applied {
    /// The objects, in the release's namespace.
    pub(super) objects: Vec<Arc<BuiltObject>>,
    /// What is run around an install or upgrade.
    pub(super) hooks: Vec<Arc<BuiltObject>>,
}

/// The objects and hooks of a chart as helm-controller applies and runs them: post-rendered,
/// with common metadata and the labels of their origin, in the release's namespace.
pub(super) fn applied(
    (id, release): (&ObjectId, NodeRef<'_>),
    made: &ChartObjects,
    namespace: &str,
    line: HelmLine,
) -> Result<Applied, Arc<ChartOutcome>> {
    let renderers = Renderers { id, release, line, own: release.location_at("/metadata/name") };
    let strategy = release.str_at("/spec/postRenderStrategy");
    let (mut nodes, mut hooks) = (made.objects.clone(), made.hooks.clone());
    match strategy.as_deref() {
        _ if line == HelmLine::V3_17 => nodes = renderers.run(nodes)?,
        Some("nohooks") => nodes = renderers.run(nodes)?,
        Some("separate") => (nodes, hooks) = (renderers.run(nodes)?, renderers.run(hooks)?),
        _ => {
            nodes.append(&mut hooks);
            (hooks, nodes) = renderers.run(nodes)?.into_iter().partition(is_hook);
        }
    }
    let cluster_wide = scopes(&made.definitions);
    let place = release.location_at("/metadata/namespace");
    let settled = |mut node: Node| {
        settle(&mut node, namespace, &cluster_wide, place.clone());
        built(node)
    };
    let skips =
        |action: &str| release.str_at(&format!("/spec/{action}/crds")).is_some_and(|policy| policy == "Skip");
    // Skipped at the install, they come with no upgrade.
    let definitions = if skips("install") { &[][..] } else { &made.definitions[..] };
    let mut objects = Vec::new();
    for mut node in definitions.iter().cloned() {
        renderers.originate(&mut node);
        objects.push(built(node));
    }
    objects.extend(nodes.into_iter().map(settled));
    let is_off = |action: &str| {
        release.at(&format!("/spec/{action}/disableHooks")).and_then(NodeRef::as_bool) == Some(true)
    };
    if is_off("install") && is_off("upgrade") {
        hooks.clear();
    }
    Ok(Applied { objects, hooks: hooks.into_iter().map(settled).collect() })
}

fn is_hook(node: &Node) -> bool {
    node.get_ref().at("/metadata/annotations").is_some_and(|own| own.get(HOOK).is_some())
}

/// The post-renderers of a release, one behind the other.
///
/// Mirrors helm-controller `internal/postrender/build.go`.
struct Renderers<'r> {
    id: &'r ObjectId,
    release: NodeRef<'r>,
    line: HelmLine,
    own: Option<Location>,
}

impl Renderers<'_> {
    fn run(&self, nodes: Vec<Node>) -> Result<Vec<Node>, Arc<ChartOutcome>> {
        // Nobody can say here what a patch finds, or whether an id stands twice.
        let (mut nodes, aside): (Vec<Node>, Vec<Node>) =
            nodes.into_iter().partition(|node| kustomize::is_identified(node.get_ref()));
        let refused = |error: BuildError| {
            // What is too large for this program is not for kustomize.
            if error.class == ErrorClass::Limit {
                return Arc::new(ChartOutcome::Unable(error.message));
            }
            let message = format!("{POST_RENDER_FAILS}: {}", error.message);
            let unknown = "an object whose kind or name is not known here".to_owned();
            let assumed = if aside.is_empty() { Vec::new() } else { vec![unknown] };
            let refusal = NoRelease { assumed, ..NoRelease::new(message, error.location) };
            Arc::new(ChartOutcome::Refused(Box::new(refusal)))
        };
        for renderer in self.release.items_at("/spec/postRenderers") {
            let Some(renderer) = renderer.get("kustomize") else { continue };
            let field = |name: &str| renderer.get(name).filter(|node| !node.is_null()).map(NodeRef::to_node);
            nodes = kustomize::post_render(nodes, field("patches"), field("images")).map_err(refused)?;
        }
        nodes = kustomize::pass(nodes).map_err(refused)?;
        nodes.extend(aside);
        let common = self.release.at("/spec/commonMetadata").filter(|node| !node.is_null());
        let place = self.release.location_at("/spec/commonMetadata");
        for node in &mut nodes {
            self.clear(node);
            if let Some(common) = common {
                for field in ["labels", "annotations"] {
                    set_common_metadata(node, field, common, place.as_ref());
                }
            }
            let labels = node.get_ref().at("/metadata/labels");
            if let Some(labels) =
                labels.filter(|labels| !(labels.is_map() || labels.is_null() || labels.is_unknown()))
            {
                let message = format!("{POST_RENDER_FAILS}: metadata.labels is no map");
                let refusal = NoRelease::new(message, labels.location());
                return Err(Arc::new(ChartOutcome::Refused(Box::new(refusal))));
            }
            self.originate(node);
        }
        Ok(nodes)
    }

    /// Annotations that hold nothing go: Helm 4 adds one of its own and takes it away again.
    fn clear(&self, node: &mut Node) {
        let is_empty = |own: NodeRef<'_>| own.is_null() || own.is_map() && own.entries().next().is_none();
        if self.line != HelmLine::V3_17
            && node.get_ref().at("/metadata/annotations").is_some_and(is_empty)
            && let Some(metadata) = node.get_mut("metadata")
        {
            metadata.remove("annotations");
        }
    }

    /// The labels that tell which release an object is of.
    fn originate(&self, node: &mut Node) {
        let place = self.own.as_ref();
        let label = |key: &str, value: &str| {
            (format!("helm.toolkit.fluxcd.io/{key}"), Node::string(value, place.cloned()))
        };
        let namespace = self.id.namespace.as_deref().unwrap_or_default();
        let labels = [label("name", &self.id.name), label("namespace", namespace)];
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
}

fn built(node: Node) -> Arc<BuiltObject> {
    let files = node.get_ref().location().map(|location| (FileRole::Resource, location));
    Arc::new(BuiltObject::new(node, files.into_iter().collect()))
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
