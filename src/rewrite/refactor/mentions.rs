//! Which fields of an object name another one.
//!
//! Four tables, none of its own: the reference fields of the Flux APIs
//! ([`references`]), those of workloads, routes and operators' kinds
//! ([`workloads::references`]), kustomize's built-in name references ([`name_fields`]), and
//! what says of itself that it is a reference: a map with a kind and a name. Beside
//! them stand the fields that hold a bare name in kinds of Flux, of the gating
//! proposal and of Cluster API.

use crate::build::kustomize::name_fields;
use crate::lang::yaml::{NodeRef, pointer_join};
use crate::model::ObjectId;
use crate::model::cluster_api_kinds as cluster_api;
use crate::model::kinds::NOTIFICATION;
use crate::model::references::{Role, group_of, references};
use crate::model::workloads;
use crate::simulate::cluster_api::references::ScopedObject;
use crate::simulate::cluster_api::topology::Cluster;
use std::collections::BTreeMap;

/// Depth to which an object is searched.
const DEPTH: usize = 64;

/// The fields of an object that name `target`: the name's node by its JSON Pointer.
pub(crate) fn mentions<'a>(
    id: &ObjectId,
    node: NodeRef<'a>,
    target: &ObjectId,
) -> BTreeMap<String, NodeRef<'a>> {
    let mut found = BTreeMap::new();
    let own = id.namespace.as_deref();
    for reference in references(id, node) {
        let same = reference.group == target.group()
            && reference.kind == *target.kind
            && reference.name.as_deref() == Some(&*target.name)
            && (reference.namespace.as_deref() == target.namespace.as_deref() || target.namespace.is_none());
        // What is waited for is in the other cluster.
        let elsewhere = reference.role == Role::HealthCheck
            && node.at("/spec/kubeConfig").is_some_and(|config| config.is_map());
        if same && !elsewhere {
            let pointer = match reference.role {
                Role::ServiceAccount => reference.pointer,
                _ => format!("{}/name", reference.pointer),
            };
            found.insert(pointer, reference.name_node);
        }
    }
    for reference in workloads::references(id, node) {
        let same = reference.group == target.group()
            && reference.kind == *target.kind
            && reference.name.as_deref() == Some(&*target.name)
            && (reference.namespace.as_deref() == target.namespace.as_deref() || target.namespace.is_none());
        if same {
            found.insert(name_pointer(node, &reference), reference.name_node);
        }
    }
    let here = target.namespace.is_none() || own == target.namespace.as_deref();
    for steps in name_fields(id.group(), &id.kind, (target.group(), &target.kind)) {
        by_steps(node, "", &steps, &mut |pointer, at| {
            named_here(pointer, at, (own, here), target, &mut found)
        });
    }
    typed(node, "", (own, target), 0, &mut found);
    let pointers = untabled(id, node, target, here);
    let is_named = |at: &NodeRef<'_>| at.as_str().as_deref() == Some(&*target.name);
    for pointer in pointers {
        if let Some(at) = node.at(&pointer).filter(is_named) {
            found.insert(pointer, at);
        }
    }
    found
}

/// Pointers of names that no table of references lists. `here` tells whether the target's
/// namespace is the object's.
fn untabled(id: &ObjectId, node: NodeRef<'_>, target: &ObjectId, here: bool) -> Vec<String> {
    let mut pointers = Vec::new();
    if id.is(NOTIFICATION, "Alert") && target.is(NOTIFICATION, "Provider") && here {
        pointers.push("/spec/providerRef/name".to_owned());
    }
    if target.is("gating.toolkit.fluxcd.io", "Gate") && here {
        for at in 0..node.items_at("/spec/gates").count() {
            pointers.extend([format!("/spec/gates/{at}"), format!("/spec/gates/{at}/name")]);
        }
    }
    if id.is(cluster_api::CORE, "Cluster")
        && target.is(cluster_api::CORE, "ClusterClass")
        && let Some(class) = (Cluster { object: ScopedObject { id, node } }).class_ref()
        && Some(&*class.namespace) == target.namespace.as_deref()
    {
        pointers.push(class.pointer.to_owned());
    }
    pointers
}

/// JSON Pointer of the name of a reference, which stands in a field of its map or is the
/// field itself.
fn name_pointer(node: NodeRef<'_>, reference: &workloads::WorkloadReference<'_>) -> String {
    let name = reference.name_node.location();
    let mut entries = node.entries_at(&reference.pointer);
    let key = entries.find(|entry| entry.value.location() == name).map(|entry| entry.key);
    key.map_or_else(|| reference.pointer.clone(), |key| pointer_join(&reference.pointer, &key))
}

/// Calls `each` for the nodes that steps lead to.
fn by_steps<'a>(
    node: NodeRef<'a>,
    pointer: &str,
    steps: &[String],
    each: &mut dyn FnMut(String, NodeRef<'a>),
) {
    let Some((step, rest)) = steps.split_first() else { return each(pointer.to_owned(), node) };
    let step = step.strip_suffix("[]").unwrap_or(step);
    let Some(child) = node.get(step) else { return };
    let pointer = pointer_join(pointer, step);
    if child.is_seq() && !rest.is_empty() {
        for (at, item) in child.items().enumerate() {
            by_steps(item, &format!("{pointer}/{at}"), rest, each);
        }
    } else {
        by_steps(child, &pointer, rest, each);
    }
}

/// A field of kustomize's table: a name, names, or maps with a name.
fn named_here<'a>(
    pointer: String,
    at: NodeRef<'a>,
    (own, here): (Option<&str>, bool),
    target: &ObjectId,
    found: &mut BTreeMap<String, NodeRef<'a>>,
) {
    if at.is_seq() {
        for (index, item) in at.items().enumerate() {
            named_here(format!("{pointer}/{index}"), item, (own, here), target, found);
        }
    } else if at.is_map() {
        // `typed` judges what says its kind.
        let namespace = at.str_at("/namespace");
        let here = match (&namespace, target.namespace.as_deref()) {
            (Some(namespace), Some(target)) => **namespace == *target,
            _ => here,
        };
        if here && at.get("kind").is_none() && at.str_at("/name").as_deref() == Some(&*target.name) {
            found.extend(at.get("name").map(|name| (format!("{pointer}/name"), name)));
        }
    } else if here && at.as_str().as_deref() == Some(&*target.name) {
        found.insert(pointer, at);
    }
}

/// Maps that say of which kind what they name is.
fn typed<'a>(
    node: NodeRef<'a>,
    pointer: &str,
    (own, target): (Option<&str>, &ObjectId),
    depth: usize,
    found: &mut BTreeMap<String, NodeRef<'a>>,
) {
    if depth > DEPTH {
        return;
    }
    for (at, item) in node.items().enumerate() {
        typed(item, &format!("{pointer}/{at}"), (own, target), depth + 1, found);
    }
    for entry in node.entries() {
        typed(entry.value, &pointer_join(pointer, &entry.key), (own, target), depth + 1, found);
    }
    if depth == 0 || node.str_at("/kind").as_deref() != Some(&*target.kind) {
        return;
    }
    let Some(name) = node.get("name").filter(|name| name.as_str().as_deref() == Some(&*target.name)) else {
        return;
    };
    // An object of its own, as in a list of objects, is no reference.
    if node.get("metadata").is_some() || node.get("spec").is_some() {
        return;
    }
    let group = match (node.str_at("/apiVersion"), node.str_at("/apiGroup"), node.str_at("/group")) {
        (Some(version), _, _) => {
            Some(version.rsplit_once('/').map_or(String::new(), |(group, _)| group.to_owned()))
        }
        (None, Some(group), _) | (None, None, Some(group)) => Some(group.into_owned()),
        (None, None, None) => Some(group_of(&target.kind).to_owned()).filter(|group| !group.is_empty()),
    };
    let namespace = node.str_at("/namespace").filter(|text| !text.is_empty());
    let namespace = namespace.as_deref().or(own);
    let same_namespace = target.namespace.is_none() || namespace == target.namespace.as_deref();
    if same_namespace && group.is_none_or(|group| group == target.group()) {
        found.insert(format!("{pointer}/name"), name);
    }
}
