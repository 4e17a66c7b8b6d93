//! The built-in transformers that set fields: namespace, prefix and suffix,
//! labels and annotations, replicas, images.
//!
//! Mirrors `api/filters/{namespace,prefix,suffix,labels,annotations,replicacount,imagetag}`
//! and their plugins in `api/internal/builtins`.

mod image;

pub(super) use image::Images;

use super::config::Config;
use super::decode::{Spanned, Text, TextMap};
use super::entries::{Labels, Replica};
use super::error::{BuildError, ErrorClass, Result};
use super::fieldspec::{self, FieldSpec, Leaf, merge_all};
use super::file::Kustomization;
use super::id::ResId;
use super::names::NameIndex;
use super::nodes::{self, Kind, Tag};
use super::resource::{Resource, shared_string};
use super::tables;
use crate::lang::yaml::{Location, Node, NodeRef, Style, Via, ViaKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

fn place(node: &Node) -> Option<Arc<Location>> {
    node.get_ref().location().map(Arc::new)
}

/// The place of a value that a transformer changed in passing.
fn through(old: NodeRef<'_>, transformer: Option<&Arc<Location>>) -> Option<Location> {
    let mut location = old.location()?;
    if let Some(transformer) = transformer {
        location.passed(Via { kind: ViaKind::Transformer, location: (**transformer).clone() });
    }
    Some(location)
}

/// Whose subjects a namespace is written into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Subjects {
    /// Those named `default`.
    #[default]
    Default,
    /// Those of kind ServiceAccount.
    ServiceAccounts,
    /// None.
    None,
}

/// What the namespace transformer does.
#[derive(Clone, Debug)]
pub(super) struct NamespaceSetter<'t> {
    pub namespace: &'t Text,
    pub specs: &'t [FieldSpec],
    pub unset_only: bool,
    pub subjects: Subjects,
}

/// `namespace`.
pub(super) fn namespace(file: &Kustomization, config: &Config, resources: &mut [Resource]) -> Result<()> {
    let Some(namespace) = file.namespace.as_ref().filter(|text| !text.value.is_empty()) else {
        return Ok(());
    };
    let setter = NamespaceSetter {
        namespace,
        specs: &config.namespace,
        unset_only: false,
        subjects: Subjects::Default,
    };
    set_namespaces(&setter, resources)
}

/// Set the namespace of all objects; an error when two get the same id.
pub(super) fn set_namespaces(setter: &NamespaceSetter<'_>, resources: &mut [Resource]) -> Result<()> {
    let value = shared_string(&setter.namespace.value, place(&setter.namespace.node).as_ref());
    for resource in resources.iter_mut() {
        resource.store_previous_id();
        set_namespace(setter, &value, resource)?;
        resource.sync();
    }
    let mut known: FxHashMap<u64, &Resource> = FxHashMap::default();
    for resource in resources.iter() {
        if let Some(other) = known.insert(resource.id.hash(), resource)
            && other.id.equals(&resource.id)
        {
            let message =
                format!("setting the namespace {} makes two objects {}", setter.namespace.value, resource.id);
            return Err(BuildError::at(ErrorClass::Id, message, setter.namespace.node.get_ref())
                .related("one of them", other.location())
                .related("the other one", resource.location()));
        }
    }
    Ok(())
}

/// Set the namespace in one object.
pub(super) fn set_namespace(
    setter: &NamespaceSetter<'_>,
    value: &Node,
    resource: &mut Resource,
) -> Result<()> {
    static METADATA_NAMESPACE: FieldSpec = FieldSpec::fixed("", "", "", "metadata/namespace", true);
    let gvk = resource.id.gvk.clone();
    let id = resource.id.clone();
    let unset_only = setter.unset_only;
    let mut write = |node: &mut Node| write_scalar(node, value, unset_only, &id);
    if !resource.id.cluster_scoped {
        fieldspec::apply(&mut resource.node, &METADATA_NAMESPACE, Leaf::Scalar, &mut |_| true, &mut write)?;
    }
    let binding = matches!(&*gvk.kind, "RoleBinding" | "ClusterRoleBinding");
    if binding {
        set_subject_namespaces(setter.subjects, &mut resource.node, &mut write)?;
    }
    for spec in setter.specs {
        let hard_coded = spec.path == "metadata/namespace"
            || spec.path == "metadata/name" && &*gvk.api_version != "v1"
            || binding
                && spec.path == "subjects/namespace"
                && matches!(&*spec.kind, "RoleBinding" | "ClusterRoleBinding");
        if !hard_coded && spec.matches(&gvk) {
            fieldspec::apply(&mut resource.node, spec, Leaf::Scalar, &mut |_| true, &mut write)?;
        }
    }
    Ok(())
}

fn set_subject_namespaces(
    mode: Subjects,
    object: &mut Node,
    write: &mut dyn FnMut(&mut Node) -> Result<()>,
) -> Result<()> {
    let wanted = |subject: NodeRef<'_>| match mode {
        Subjects::Default => nodes::field_text(subject, "name") == "default",
        Subjects::ServiceAccounts => nodes::field_text(subject, "kind") == "ServiceAccount",
        Subjects::None => false,
    };
    let Some(subjects) = object.get_ref().get("subjects") else { return Ok(()) };
    if nodes::kind(Some(subjects)) == Kind::Null || !subjects.items().any(wanted) {
        return Ok(());
    }
    for subject in object.get_mut("subjects").and_then(Node::make_seq).into_iter().flatten() {
        if !wanted(subject.get_ref()) {
            continue;
        }
        if subject.get_ref().get("namespace").is_none() {
            nodes::set_entry(subject, "namespace", Node::scalar(crate::lang::yaml::Value::Null, None), None);
        }
        if let Some(namespace) = subject.get_mut("namespace") {
            write(namespace)?;
        }
    }
    Ok(())
}

/// Write a shared scalar over a node that may not be a collection.
fn write_scalar(node: &mut Node, value: &Node, unset_only: bool, id: &ResId) -> Result<()> {
    match nodes::kind(Some(node.get_ref())) {
        Kind::Map | Kind::Seq => {
            let message = format!("the namespace of {id} is written here, where a string must be");
            Err(BuildError::at(ErrorClass::FieldSpec, message, node.get_ref()))
        }
        Kind::Scalar if unset_only && !nodes::text(node.get_ref()).is_empty() => Ok(()),
        _ => {
            let old = node.get_ref();
            let kept = if nodes::is_null(old) { Style::Plain } else { nodes::style(old) };
            *node = nodes::restyled(value.clone(), kept);
            Ok(())
        }
    }
}

/// `namePrefix`.
pub(super) fn name_prefix(file: &Kustomization, config: &Config, resources: &mut [Resource]) -> Result<()> {
    match &file.name_prefix {
        Some(prefix) => affix(Affix::Prefix, prefix, &config.name_prefix, resources),
        None => Ok(()),
    }
}

/// `nameSuffix`.
pub(super) fn name_suffix(file: &Kustomization, config: &Config, resources: &mut [Resource]) -> Result<()> {
    match &file.name_suffix {
        Some(suffix) => affix(Affix::Suffix, suffix, &config.name_suffix, resources),
        None => Ok(()),
    }
}

/// The end of a name that is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Affix {
    Prefix,
    Suffix,
}

/// Objects whose names stay, by group and kind.
const NEVER_RENAMED: [(&str, &str); 3] =
    [("", "CustomResourceDefinition"), ("apiregistration.k8s.io", "APIService"), ("", "Namespace")];

/// Add to the names of objects and to other fields that the specs name.
pub(super) fn affix(end: Affix, text: &Text, specs: &[FieldSpec], resources: &mut [Resource]) -> Result<()> {
    if text.value.is_empty() {
        return Ok(());
    }
    let origin = place(&text.node);
    for resource in resources {
        let original = resource.original_id().gvk.clone();
        if NEVER_RENAMED.iter().any(|(group, kind)| original.is_selected_by(group, "", kind)) {
            continue;
        }
        for spec in specs.iter().filter(|spec| spec.matches(&original)) {
            if spec.path == "metadata/name" {
                match end {
                    Affix::Prefix => resource.prefixes.push(text.value.clone()),
                    Affix::Suffix => resource.suffixes.push(text.value.clone()),
                }
                resource.store_previous_id();
            }
            if !spec.matches(&resource.id.gvk) {
                continue;
            }
            fieldspec::apply(
                &mut resource.node,
                spec,
                Leaf::Never,
                &mut |node| nodes::kind(Some(node)) != Kind::Null,
                &mut |node| {
                    let old = node.get_ref();
                    if nodes::kind(Some(old)) != Kind::Scalar {
                        let message = format!("`{}` is added to the text here, which is none", text.value);
                        return Err(BuildError::at(ErrorClass::FieldSpec, message, old));
                    }
                    let new = match end {
                        Affix::Prefix => format!("{}{}", text.value, nodes::text(old)),
                        Affix::Suffix => format!("{}{}", nodes::text(old), text.value),
                    };
                    *node = nodes::untagged(Some(old), &new, through(old, origin.as_ref()));
                    Ok(())
                },
            )?;
        }
        resource.sync();
    }
    Ok(())
}

/// An entry of `labels`.
pub(super) fn labels(entry: &Labels, config: &Config, resources: &mut [Resource]) -> Result<()> {
    let mut specs = entry.fields.clone();
    let conflict = |reason: String| BuildError::at(ErrorClass::FieldSpec, reason, entry.node.get_ref());
    merge_all(&mut specs, &config.labels).map_err(conflict)?;
    if entry.include_selectors {
        merge_all(&mut specs, &config.common_labels).map_err(conflict)?;
    } else {
        if entry.include_templates {
            merge_all(&mut specs, &config.template_labels).map_err(conflict)?;
        }
        merge_all(&mut specs, tables::PLAIN_LABELS).map_err(conflict)?;
    }
    set_pairs(&entry.pairs, &specs, resources)
}

/// Set keys of the maps that the specs name.
pub(super) fn set_pairs(pairs: &TextMap, specs: &[FieldSpec], resources: &mut [Resource]) -> Result<()> {
    if pairs.is_empty() {
        return Ok(());
    }
    let pairs: Vec<LabelPair<'_>> = pairs
        .iter()
        .map(|pair| {
            let origin = place(&pair.value.node);
            let value = || shared_string(&pair.value.value, origin.as_ref());
            LabelPair { key: &pair.key, key_origin: place(&pair.key_node), new: value(), over: value() }
        })
        .collect();
    let odd_keys = pairs.iter().any(|pair| nodes::reads_as_other_key(pair.key));
    let keys: FxHashSet<&str> = pairs.iter().map(|pair| pair.key).collect();
    for resource in resources {
        resource.suspect |= odd_keys;
        let gvk = resource.id.gvk.clone();
        let common = resource.common_in(resource.node.get_ref(), Some(&keys));
        let mut added = vec![0_u32; pairs.len()];
        for spec in specs.iter().filter(|spec| spec.matches(&gvk)) {
            fieldspec::apply(
                &mut resource.node,
                spec,
                Leaf::Map,
                &mut |node| nodes::kind(Some(node)) != Kind::Null,
                &mut |node| set_all(node, &pairs, &mut added),
            )?;
        }
        if let Some(common) = common {
            resource.write_through(common, Some(&keys));
        }
        let several = pairs.iter().zip(added).filter(|(_, added)| *added > 1);
        for (pair, _) in several {
            resource.common.entry(pair.key.into()).or_default().push(pair.new.clone());
        }
    }
    Ok(())
}

/// A key that is set, and its value.
struct LabelPair<'p> {
    key: &'p str,
    key_origin: Option<Arc<Location>>,
    /// Written where the key is new: one node in all fields of an object.
    new: Node,
    /// Written over a value, which stays a node of its own.
    over: Node,
}

/// Set keys in one map; `added` counts for each how often it was new.
fn set_all(node: &mut Node, pairs: &[LabelPair<'_>], added: &mut [u32]) -> Result<()> {
    if !node.get_ref().is_map() {
        let message = "labels or annotations are added here, where a map must be";
        return Err(BuildError::at(ErrorClass::FieldSpec, message, node.get_ref()));
    }
    for (pair, added) in pairs.iter().zip(added) {
        let old = node.get_ref().get(pair.key);
        *added += u32::from(old.is_none());
        let value = match old {
            None => pair.new.clone(),
            Some(old) => nodes::settled(old, pair.over.clone()),
        };
        nodes::set_entry(node, pair.key, value, pair.key_origin.as_ref());
    }
    Ok(())
}

/// Set the count of one entry of `replicas`; an error when nothing has its name.
/// `names` is the same for those in a row.
pub(super) fn set_replicas(
    replica: &Replica,
    specs: &[FieldSpec],
    resources: &mut [Resource],
    names: &mut NameIndex,
) -> Result<()> {
    let Spanned { value: count, node: count_node } = &replica.count;
    let origin = place(count_node);
    let text = count.to_string();
    let mut found = false;
    let named = names.positions(resources, Some(&replica.name));
    for spec in specs {
        for at in &named {
            let resource = &mut resources[*at];
            if !resource.ids().any(|id| id.name == replica.name && spec.matches(&id.gvk)) {
                continue;
            }
            found = true;
            if !spec.matches(&resource.id.gvk) {
                continue;
            }
            fieldspec::apply(&mut resource.node, spec, Leaf::Scalar, &mut |_| true, &mut |node| {
                let old = node.get_ref();
                if matches!(nodes::kind(Some(old)), Kind::Map | Kind::Seq) {
                    let message = "replicas are written here, where a number must be";
                    return Err(BuildError::at(ErrorClass::FieldSpec, message, old));
                }
                let old = Some(old).filter(|old| !nodes::is_null(*old));
                *node = nodes::scalar_at(nodes::overwrite(old, &text, Tag::Untagged), origin.as_ref());
                Ok(())
            })?;
        }
    }
    if found {
        return Ok(());
    }
    let kinds: Vec<&str> = specs.iter().map(|spec| &*spec.kind).collect();
    let message =
        format!("`replicas` names {}, but no {} of this name is here", replica.name, kinds.join(", "));
    Err(BuildError::at(ErrorClass::Replicas, message, replica.node.get_ref()))
}
