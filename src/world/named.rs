//! The objects that an object names: one answer for `why --references`, for the editor's
//! definitions and references, and for renames.
//!
//! Three tables, none of its own: the references of the Flux kinds
//! ([`crate::model::references`]), those of workloads, routes and operators' kinds
//! ([`crate::model::workloads`]), and whatever else is a map of a kind and a name.

use super::{ApplyTarget, Cluster, Effective, World};
use crate::lang::yaml::emit::DEPTH_LIMIT;
use crate::lang::yaml::{Location, NodeRef, pointer_join};
use crate::model::cluster_api_kinds::CORE;
use crate::model::references::{group_of, references};
use crate::model::{Name, ObjectId, workloads};

/// An object that a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    /// JSON Pointer of the map that names it.
    pub(crate) pointer: String,
    /// Where the name is written.
    pub(crate) location: Option<Location>,
    /// Whether its absence is fine.
    pub(crate) optional: bool,
    /// Whether only the words of a release's values say that it is a reference.
    pub(crate) is_guess: bool,
}

impl Named {
    pub(crate) fn is(&self, id: &ObjectId) -> bool {
        *self.name == *id.name
            && *self.kind == *id.kind
            && (self.group == id.group() || self.group.is_empty() && self.namespace.is_none())
            && (self.namespace.as_deref() == id.namespace.as_deref() || self.namespace.is_none())
    }

    /// What names it.
    pub(crate) fn named(&self) -> Name<'_> {
        Name::new(&self.group, &self.kind, self.namespace.as_deref(), &self.name)
    }

    /// The object in a cluster.
    pub(crate) fn find<'w>(&self, world: &'w World, cluster: &'w Cluster) -> Option<&'w Effective> {
        let found = cluster.find(&ApplyTarget::Local, self.named());
        let by_index = found.map(|member| world.object(member.object));
        by_index
            .or_else(|| world.written(cluster).map(|(_, object)| object).find(|object| self.is(&object.id)))
    }

    /// The object of a cluster of which a controller makes it: the ExternalSecret of a
    /// Secret, the Cluster of a database's Service.
    pub(crate) fn maker<'w>(&self, world: &'w World, cluster: &'w Cluster) -> Option<&'w Effective> {
        let makes = |object: &&Effective| {
            let made = workloads::derived(&object.id, object.node.get_ref());
            made.iter().any(|made| self.is_made(made))
        };
        world.members(cluster).map(|(_, object)| object).find(makes)
    }

    /// Whether it is what a controller makes.
    pub(crate) fn is_made(&self, made: &workloads::Derived<'_>) -> bool {
        let name = match made.form {
            workloads::NameForm::Whole => *made.name == *self.name,
            workloads::NameForm::Beginning => {
                self.name.strip_prefix(&made.name).is_some_and(|rest| rest.starts_with('-'))
            }
        };
        name && made.kind == self.kind
            && (made.namespace.is_none() || made.namespace.as_deref() == self.namespace.as_deref())
    }
}

/// The objects that an effective object names: Flux's references, gates, classes and
/// templates, and whatever else is a map of a kind and a name.
pub(crate) fn named_by(id: &ObjectId, node: NodeRef<'_>) -> Vec<Named> {
    let mut all: Vec<Named> = of_flux(id, node).chain(of_workload(id, node)).collect();
    let own = id.namespace.as_deref();
    for named in of_other_fields(id, node, own).into_iter().chain(of_maps(node, own)) {
        if !all.iter().any(|known| known.location == named.location && known.location.is_some()) {
            all.push(named);
        }
    }
    all
}

/// What Flux's kinds refer to.
fn of_flux(id: &ObjectId, node: NodeRef<'_>) -> impl Iterator<Item = Named> {
    references(id, node).into_iter().filter(|reference| !reference.namespace_unknown).filter_map(
        |reference| {
            Some(Named {
                name: reference.name.filter(|name| name != "*")?,
                group: reference.group,
                kind: reference.kind,
                namespace: reference.namespace,
                location: reference.name_node.location(),
                pointer: reference.pointer,
                optional: reference.optional,
                is_guess: false,
            })
        },
    )
}

/// What workloads, routes and operators' kinds refer to.
fn of_workload(id: &ObjectId, node: NodeRef<'_>) -> impl Iterator<Item = Named> {
    workloads::references(id, node).into_iter().filter(|reference| !reference.kind.is_empty()).filter_map(
        |reference| {
            let name = reference.name?;
            // The chart fills it in.
            if reference.is_guess && name.contains("{{") {
                return None;
            }
            Some(Named {
                group: reference.group.into_owned(),
                kind: reference.kind.into_owned(),
                namespace: reference.namespace.map(|namespace| namespace.into_owned()),
                name: name.into_owned(),
                location: reference.name_node.location(),
                pointer: reference.pointer,
                optional: reference.optional,
                is_guess: reference.is_guess,
            })
        },
    )
}

/// A name that no table of references lists. `None` where it is none.
fn plain(
    pointer: String,
    group: &str,
    kind: &str,
    namespace: Option<String>,
    name: NodeRef<'_>,
) -> Option<Named> {
    Some(Named {
        group: group.to_owned(),
        kind: kind.to_owned(),
        namespace,
        name: name.as_str().filter(|text| !text.is_empty() && *text != "*")?.into_owned(),
        pointer,
        location: name.location(),
        optional: false,
        is_guess: false,
    })
}

/// Gates, providers and classes.
fn of_other_fields(id: &ObjectId, node: NodeRef<'_>, own: Option<&str>) -> Vec<Named> {
    let own = || own.map(str::to_owned);
    let mut found = Vec::new();
    for (index, gate) in node.items_at("/spec/gates").enumerate() {
        if let Some(name) = gate.get("name") {
            found.extend(plain(format!("/spec/gates/{index}"), group_of("Gate"), "Gate", own(), name));
        }
    }
    if let Some(provider) = node.at("/spec/providerRef/name") {
        let pointer = "/spec/providerRef".to_owned();
        found.extend(plain(pointer, group_of("Provider"), "Provider", own(), provider));
    }
    for field in ["/spec/topology/class", "/spec/topology/classRef/name"] {
        if let Some(class) = node.at(field).filter(|_| id.is(CORE, "Cluster")) {
            let beside = node.str_at("/spec/topology/classRef/namespace");
            let beside = beside.or_else(|| node.str_at("/spec/topology/classNamespace"));
            let namespace = beside.map(|text| text.into_owned()).or_else(own);
            found.extend(plain(field.to_owned(), CORE, "ClusterClass", namespace, class));
        }
    }
    found
}

/// Whatever else is a map of a kind and a name.
fn of_maps(node: NodeRef<'_>, own: Option<&str>) -> Vec<Named> {
    let mut found = Vec::new();
    visit(node, "", 0, &mut |pointer, value| {
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
        let namespace = value.str_at("/namespace").map(|text| text.into_owned());
        let namespace = namespace.or_else(|| own.map(str::to_owned));
        found.extend(plain(pointer.to_owned(), group, &kind, namespace, name));
    });
    found
}

/// Calls for every node with its pointer.
fn visit<'a>(node: NodeRef<'a>, pointer: &str, depth: usize, found: &mut dyn FnMut(&str, NodeRef<'a>)) {
    if depth > DEPTH_LIMIT {
        return;
    }
    found(pointer, node);
    for entry in node.entries().filter(|entry| entry.value.is_map() || entry.value.is_seq()) {
        visit(entry.value, &pointer_join(pointer, &entry.key), depth + 1, found);
    }
    for (index, item) in node.items().enumerate().filter(|(_, item)| item.is_map() || item.is_seq()) {
        visit(item, &format!("{pointer}/{index}"), depth + 1, found);
    }
}
