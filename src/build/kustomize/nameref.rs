//! References by name follow the objects that were renamed.
//!
//! Mirrors `api/internal/accumulator/namereferencetransformer.go` and
//! `api/filters/nameref/nameref.go`.

use super::config::{BackReference, Config};
use super::error::{BuildError, ErrorClass, Result};
use super::fieldspec::{self, FieldSpec, Leaf};
use super::id::Gvk;
use super::nodes::{self, Kind, Tag};
use super::resource::Resource;
use crate::lang::yaml::{Location, Node, NodeRef, Value, Via, ViaKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, OnceLock};

/// Fix all references.
pub(super) fn fix(resources: &mut [Resource], config: &Config) -> Result<()> {
    static BUILTIN: OnceLock<Specs<'static>> = OnceLock::new();
    let builtin: &'static Config = Config::builtin();
    let own;
    let specs = if std::ptr::eq(config, builtin) {
        BUILTIN.get_or_init(|| Specs::new(builtin))
    } else {
        own = Specs::new(config);
        &own
    };
    let candidates = Candidates::new(resources);
    for at in 0..resources.len() {
        let original = resources[at].original_id().gvk.clone();
        let wanted = specs.of(&original);
        if wanted.is_empty() {
            continue;
        }
        let namespaces = role_binding_namespaces(&resources[at])?;
        let role = resources[at].node.get_ref().get("roleRef").and_then(|role| {
            let part = |key| role.get(key).map(|node| nodes::text(node).into_owned());
            Some((part("apiGroup")?, part("kind")?))
        });
        // The object is out of the list while it is changed: only ids are read.
        let mut node = std::mem::replace(&mut resources[at].node, Node::scalar(Value::Null, None));
        let referrer = Referrer { resource: &resources[at], namespaces, role };
        let result = wanted.iter().try_for_each(|(target, spec)| {
            let reference =
                Reference { referrer: &referrer, target, spec, candidates: &candidates, resources };
            reference.fix(&mut node)
        });
        resources[at].node = node;
        result?;
    }
    Ok(())
}

/// The specs of a config by the kind that they are for, in order.
struct Specs<'c> {
    by_kind: FxHashMap<&'c str, Vec<(usize, &'c BackReference, &'c FieldSpec)>>,
}

impl<'c> Specs<'c> {
    fn new(config: &'c Config) -> Specs<'c> {
        let mut by_kind: FxHashMap<&str, Vec<_>> = FxHashMap::default();
        let mut order = 0;
        for target in &config.name_references {
            for spec in &target.referrers {
                by_kind.entry(&spec.kind).or_default().push((order, target, spec));
                order += 1;
            }
        }
        Specs { by_kind }
    }

    fn of(&self, gvk: &Gvk) -> Vec<(&'c BackReference, &'c FieldSpec)> {
        let mut found: Vec<_> = [&*gvk.kind, ""]
            .iter()
            .filter_map(|kind| self.by_kind.get(kind))
            .flatten()
            .filter(|(_, _, spec)| spec.matches(gvk))
            .copied()
            .collect();
        found.sort_by_key(|(order, _, _)| *order);
        found.into_iter().map(|(_, target, spec)| (target, spec)).collect()
    }
}

/// Objects that were renamed, by each name that they had, and the current names.
struct Candidates {
    by_name: FxHashMap<Arc<str>, Vec<usize>>,
    places: FxHashMap<usize, Location>,
    /// One object for each namespace that it had at first and has now: all of these are
    /// in reach of the same.
    first_in: FxHashMap<String, FxHashMap<(bool, Arc<str>), usize>>,
}

impl Candidates {
    fn new(resources: &[Resource]) -> Candidates {
        let mut by_name: FxHashMap<Arc<str>, Vec<usize>> = FxHashMap::default();
        let mut places = FxHashMap::default();
        let mut first_in: FxHashMap<String, FxHashMap<(bool, Arc<str>), usize>> = FxHashMap::default();
        for (at, resource) in resources.iter().enumerate() {
            for previous in &resource.previous {
                let known = by_name.entry(previous.name.clone()).or_default();
                if known.last() != Some(&at) {
                    known.push(at);
                }
            }
            if !resource.previous.is_empty()
                && let Some(location) =
                    resource.node.get_ref().at("/metadata/name").and_then(NodeRef::location)
            {
                places.insert(at, location);
            }
        }
        for (at, resource) in resources.iter().enumerate() {
            let first = resource.original_id();
            if !first.cluster_scoped {
                let namespaces = match first_in.get_mut(first.effective_namespace()) {
                    Some(known) => known,
                    None => first_in.entry(first.effective_namespace().to_owned()).or_default(),
                };
                let now = (resource.id.cluster_scoped, resource.id.namespace.clone());
                namespaces.entry(now).or_insert(at);
            }
        }
        Candidates { by_name, places, first_in }
    }
}

struct Referrer<'r> {
    resource: &'r Resource,
    /// Namespaces of a RoleBinding's service accounts.
    namespaces: FxHashSet<String>,
    /// Group and kind of its roleRef, which decide what the name in it means.
    role: Option<(String, String)>,
}

fn role_binding_namespaces(resource: &Resource) -> Result<FxHashSet<String>> {
    let mut found = FxHashSet::default();
    if &*resource.id.gvk.kind != "RoleBinding" {
        return Ok(found);
    }
    for subject in resource.node.get_ref().items_at("/subjects") {
        let Some(namespace) = subject.get("namespace") else { continue };
        if let Some(kind) = subject.get("kind").filter(|kind| kind.as_str().is_none()) {
            let message = "the kind of a subject with a namespace must be a string; kustomize panics here";
            return Err(BuildError::at(ErrorClass::NameReference, message, kind));
        }
        if nodes::field_text(subject, "kind") != "ServiceAccount" {
            continue;
        }
        match namespace.as_str() {
            Some(text) => drop(found.insert(text.into_owned())),
            None => {
                let message = "the namespace of a ServiceAccount must be a string";
                return Err(BuildError::at(ErrorClass::NameReference, message, namespace));
            }
        }
    }
    Ok(found)
}

struct Reference<'r> {
    referrer: &'r Referrer<'r>,
    target: &'r BackReference,
    spec: &'r FieldSpec,
    candidates: &'r Candidates,
    resources: &'r [Resource],
}

impl Reference<'_> {
    fn fix(&self, node: &mut Node) -> Result<()> {
        let mut failure = None;
        fieldspec::apply(
            node,
            self.spec,
            Leaf::Never,
            &mut |leaf| match self.touches(leaf) {
                Ok(touches) => touches,
                Err(error) => {
                    failure.get_or_insert(error);
                    false
                }
            },
            &mut |leaf| self.set(leaf),
        )?;
        failure.map_or(Ok(()), Err)
    }

    /// Whether the field holds a name that changes.
    fn touches(&self, leaf: NodeRef<'_>) -> Result<bool> {
        match nodes::kind(Some(leaf)) {
            Kind::Null => Ok(false),
            Kind::Scalar => Ok(self.scalar(leaf)?.is_some()),
            Kind::Map => Ok(self.map(leaf)?.is_some()),
            Kind::Seq => {
                let mut any = false;
                for item in leaf.items() {
                    any |= match nodes::kind(Some(item)) {
                        Kind::Seq => {
                            let message = "a name or a map with a name is expected here";
                            return Err(BuildError::at(ErrorClass::NameReference, message, item));
                        }
                        _ => self.touches(item)?,
                    };
                }
                Ok(any)
            }
        }
    }

    fn set(&self, leaf: &mut Node) -> Result<()> {
        match nodes::kind(Some(leaf.get_ref())) {
            Kind::Null => {}
            Kind::Scalar => {
                if let Some(at) = self.scalar(leaf.get_ref())? {
                    self.write(leaf, at);
                }
            }
            Kind::Map => {
                if let Some(at) = self.map(leaf.get_ref())? {
                    self.write_map(leaf, at);
                }
            }
            Kind::Seq => {
                let wanted: Vec<bool> =
                    leaf.get_ref().items().map(|item| self.touches(item)).collect::<Result<_>>()?;
                for (item, wanted) in leaf.make_seq().into_iter().flatten().zip(wanted) {
                    if wanted {
                        self.set(item)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The object that a scalar names, where its name is another now.
    fn scalar(&self, leaf: NodeRef<'_>) -> Result<Option<usize>> {
        let text = nodes::text(leaf);
        let named = |list: &[usize]| list.iter().all(|at| self.name(*at) == self.name(list[0]));
        let found = self.select(&text, None, &named, leaf)?;
        Ok(found.filter(|at| **self.name(*at) != *text))
    }

    /// The object that a map names, where its name or namespace is written.
    fn map(&self, leaf: NodeRef<'_>) -> Result<Option<usize>> {
        let Some(name) = leaf.get("name") else {
            let message = format!(
                "kustomize follows the name of a {} here, but this has no name; the build fails",
                self.target.kind
            );
            return Err(BuildError::at(ErrorClass::NameReference, message, leaf));
        };
        let old = nodes::text(name);
        let namespace = leaf.get("namespace").map(nodes::text);
        let identity = |at: usize| (self.name(at), &self.resources[at].id.namespace);
        let same = |list: &[usize]| list.iter().all(|at| identity(*at) == identity(list[0]));
        let found = self.select(&old, namespace.as_deref(), &same, leaf)?;
        Ok(found.filter(|at| **self.name(*at) != *old || !self.resources[*at].id.namespace.is_empty()))
    }

    fn name(&self, at: usize) -> &Arc<str> {
        &self.resources[at].id.name
    }

    fn is_in_reach(&self, at: usize) -> bool {
        let (referrer, target) = (&self.referrer.resource.id, &self.resources[at].id);
        referrer.cluster_scoped
            || target.cluster_scoped
            || referrer.effective_namespace() == target.effective_namespace()
            || self.referrer.namespaces.contains(&*target.namespace)
    }

    /// Mirrors `selectReferral`.
    fn select(
        &self,
        name: &str,
        namespace: Option<&str>,
        identical: &dyn Fn(&[usize]) -> bool,
        leaf: NodeRef<'_>,
    ) -> Result<Option<usize>> {
        let Some(known) = self.candidates.by_name.get(name) else { return Ok(None) };
        let referrer = &self.referrer.resource.id;
        let in_namespace = self.filter_by_namespace(namespace);
        let role = self.referrer.role.as_ref().filter(|_| self.spec.path.ends_with("roleRef/name"));
        let mut found: Vec<usize> = known
            .iter()
            .copied()
            .filter(|at| self.is_in_reach(*at) && in_namespace(*at))
            .filter(|at| {
                let previous = &self.resources[*at].previous;
                let target = self.target;
                previous.iter().any(|id| id.gvk.is_selected_by(&target.group, &target.version, &target.kind))
                    && role.is_none_or(|(group, kind)| {
                        previous.iter().any(|id| id.gvk.is_selected_by(group, "", kind))
                    })
            })
            .filter(|at| {
                let target = &self.resources[*at].id;
                referrer.cluster_scoped
                    || target.cluster_scoped
                    || &*target.gvk.kind == "ServiceAccount"
                    || referrer.effective_namespace() == target.effective_namespace()
            })
            .collect();
        if found.len() > 1 {
            found.retain(|at| self.same_affixes(*at, true));
        }
        if found.len() > 1 {
            found.retain(|at| self.same_affixes(*at, false));
        }
        match &found[..] {
            [] => Ok(None),
            [first] => Ok(Some(*first)),
            [first, second, ..] if !identical(&found) => {
                let message = format!(
                    "{name} could be {} or {} here, and kustomize can't tell which",
                    self.resources[*first].id, self.resources[*second].id
                );
                Err(BuildError::at(ErrorClass::NameReference, message, leaf)
                    .related("the one", self.resources[*first].location())
                    .related("the other", self.resources[*second].location()))
            }
            [first, ..] => Ok(Some(*first)),
        }
    }

    /// A map with a namespace means objects that were in it at first, or else
    /// that are in it now.
    fn filter_by_namespace<'n>(&'n self, namespace: Option<&'n str>) -> impl Fn(usize) -> bool + use<'n> {
        let at_first = namespace.is_some_and(|namespace| {
            let known = self.candidates.first_in.get(namespace);
            known.is_some_and(|known| known.values().any(|at| self.is_in_reach(*at)))
        });
        move |at| {
            let Some(namespace) = namespace else { return true };
            let resource = &self.resources[at];
            let id = if at_first { resource.original_id() } else { &resource.id };
            !id.cluster_scoped && id.effective_namespace() == namespace
        }
    }

    fn same_affixes(&self, at: usize, empty_matches: bool) -> bool {
        let (referrer, target) = (self.referrer.resource, &self.resources[at]);
        [(&referrer.prefixes, &target.prefixes), (&referrer.suffixes, &target.suffixes)].iter().all(
            |(a, b)| {
                if a.is_empty() || b.is_empty() {
                    return empty_matches || a.is_empty() && b.is_empty();
                }
                a.iter().rev().zip(b.iter().rev()).all(|(a, b)| a == b)
            },
        )
    }

    fn location(&self, old: NodeRef<'_>, at: usize) -> Option<Location> {
        let mut location = old.location()?;
        if let Some(name) = self.candidates.places.get(&at) {
            location.passed(Via { kind: ViaKind::Transformer, location: name.clone() });
        }
        Some(location)
    }

    fn write(&self, leaf: &mut Node, at: usize) {
        let old = leaf.get_ref();
        let value = nodes::overwrite(Some(old), self.name(at), Tag::Untagged);
        *leaf = Node::scalar(value, self.location(old, at));
    }

    fn write_map(&self, leaf: &mut Node, at: usize) {
        if let Some(name) = leaf.get_mut("name") {
            self.write(name, at);
        }
        let namespace = &self.resources[at].id.namespace;
        if namespace.is_empty() {
            return;
        }
        let old = leaf.get_ref().get("namespace");
        if old.is_some_and(|old| nodes::text(old) == **namespace) {
            return;
        }
        let location = old.or(Some(leaf.get_ref())).and_then(|old| self.location(old, at));
        let value = Node::scalar(nodes::overwrite(old, namespace, Tag::Untagged), location.clone());
        nodes::set_entry(leaf, "namespace", value, location.map(Arc::new).as_ref());
    }
}
