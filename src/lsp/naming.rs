//! The objects that an object names.

use super::place::visit;
use crate::lang::yaml::{Location, NodeRef};
use crate::model::ObjectId;
use crate::model::cluster_api_kinds::CORE;
use crate::model::references::{group_of, references};
use crate::world::{ApplyTarget, Cluster, Effective, World};

/// An object that a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    /// JSON Pointer of the map that names it.
    pub(super) pointer: String,
    /// Where the name is written.
    pub(super) location: Option<Location>,
}

impl Named {
    pub(super) fn is(&self, id: &ObjectId) -> bool {
        *self.name == *id.name
            && *self.kind == *id.kind
            && (self.group == id.group() || self.group.is_empty() && self.namespace.is_none())
            && (self.namespace.as_deref() == id.namespace.as_deref() || self.namespace.is_none())
    }

    /// The object in a cluster.
    pub(super) fn find<'w>(&self, world: &'w World, cluster: &'w Cluster) -> Option<&'w Effective> {
        let found =
            cluster.find(&ApplyTarget::Local, &self.group, &self.kind, self.namespace.as_deref(), &self.name);
        let by_index = found.map(|member| world.object(member.object));
        by_index
            .or_else(|| world.written(cluster).map(|(_, object)| object).find(|object| self.is(&object.id)))
    }
}

/// The objects that an effective object names: Flux's references, gates, classes and
/// templates, and whatever else is a map of a kind and a name.
pub(super) fn named_by(id: &ObjectId, node: NodeRef<'_>) -> Vec<Named> {
    let mut all: Vec<Named> = Vec::new();
    for reference in references(id, node) {
        let Some(name) = reference.name else { continue };
        if name == "*" || reference.namespace_unknown {
            continue;
        }
        all.push(Named {
            group: reference.group,
            kind: reference.kind,
            namespace: reference.namespace,
            name,
            location: reference.name_node.location(),
            pointer: reference.pointer,
        });
    }
    let own = id.namespace.as_deref().map(str::to_owned);
    let mut add = |pointer: String, group: &str, kind: &str, namespace: Option<String>, name: NodeRef<'_>| {
        let Some(text) = name.as_str().filter(|text| !text.is_empty() && *text != "*") else { return };
        let location = name.location();
        if all.iter().any(|known| known.location == location && known.location.is_some()) {
            return;
        }
        all.push(Named {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace,
            name: text.into_owned(),
            pointer,
            location,
        });
    };
    for (index, gate) in node.items_at("/spec/gates").enumerate() {
        if let Some(name) = gate.get("name") {
            add(format!("/spec/gates/{index}"), group_of("Gate"), "Gate", own.clone(), name);
        }
    }
    if let Some(provider) = node.at("/spec/providerRef/name") {
        add("/spec/providerRef".to_owned(), group_of("Provider"), "Provider", own.clone(), provider);
    }
    for field in ["/spec/topology/class", "/spec/topology/classRef/name"] {
        if let Some(class) = node.at(field).filter(|_| id.is(CORE, "Cluster")) {
            let beside = node.str_at("/spec/topology/classRef/namespace");
            let beside = beside.or_else(|| node.str_at("/spec/topology/classNamespace"));
            let namespace = beside.map(|text| text.into_owned()).or_else(|| own.clone());
            add(field.to_owned(), CORE, "ClusterClass", namespace, class);
        }
    }
    visit(node, &mut String::new(), 0, &mut |pointer, value| {
        if pointer.is_empty() || !value.is_map() || pointer.starts_with("/metadata") {
            return;
        }
        let (Some(kind), Some(name)) = (value.str_at("/kind"), value.get("name")) else { return };
        let written = value.str_at("/apiVersion").or_else(|| value.str_at("/apiGroup"));
        let group = match &written {
            Some(text) => text.rsplit_once('/').map_or(&**text, |(group, _)| group),
            None => group_of(&kind),
        };
        let group = if group == "v1" { "" } else { group };
        let namespace = value.str_at("/namespace").map(|text| text.into_owned()).or_else(|| own.clone());
        add(pointer.to_owned(), group, &kind, namespace, name);
    });
    all
}
