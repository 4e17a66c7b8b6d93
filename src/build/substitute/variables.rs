//! The variables of a Flux Kustomization: `spec.postBuild`.
//!
//! Mirrors `LoadVariables` of fluxcd/pkg `kustomize/kustomize_varsub.go`:
//! `substituteFrom` in order, inline values last, newlines removed.

use super::{Variable, is_variable_name};
use crate::lang::yaml::{Dialect, Location, NodeRef, Scalar, Via, ViaKind};
use crate::model::ObjectId;
use crate::model::workloads::made_keys;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One variable and where it is defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The value without newlines; `None` where it is unknown offline.
    pub value: Option<Arc<str>>,
    /// The value's place in the text.
    pub location: Option<Location>,
}

/// Where a name that Flux refuses, or a value that is no string, is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadVariable {
    /// A name outside `^[_[:alpha:]][_[:alpha:][:digit:]]*$`: the build fails.
    Name {
        name: Arc<str>,
        /// Where it is written.
        location: Option<Location>,
    },
    /// An inline value that is no string: the build fails.
    Value {
        /// The variable's name.
        name: Arc<str>,
        /// What it is instead: `int`, `bool`, ….
        found: &'static str,
        /// Where it is written.
        location: Option<Location>,
    },
}

/// A ConfigMap or Secret of `substituteFrom` that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingSource {
    /// `ConfigMap` or `Secret`.
    pub kind: Arc<str>,
    pub name: Arc<str>,
    /// Where it is referenced.
    pub location: Option<Location>,
}

/// What a ConfigMap or Secret of `substituteFrom` provides.
pub enum Provided {
    /// These keys, in order, with their values where they are known.
    Keys(Vec<(Arc<str>, Definition)>),
    /// These keys, and others that something in the cluster adds.
    AtLeast(Vec<(Arc<str>, Definition)>),
    /// It is known not to exist.
    Missing,
    /// Whether it exists, or what it holds, is unknown.
    Unknown,
}

impl Provided {
    /// What an object of a cluster provides, where it is known; anybody may make a
    /// ConfigMap or Secret that is not.
    pub fn by(kind: &str, object: Option<NodeRef<'_>>) -> Provided {
        let holds_unknown_keys = |node: NodeRef<'_>| {
            ["/data", "/stringData"].iter().any(|field| node.at(field).is_some_and(NodeRef::is_unknown))
        };
        match object {
            None => Provided::Unknown,
            Some(node) if holds_unknown_keys(node) => Provided::Unknown,
            Some(node) => {
                let keys = if kind == "ConfigMap" { config_map_keys(node) } else { secret_keys(node) };
                if is_left_alone(node) { Provided::AtLeast(keys) } else { Provided::Keys(keys) }
            }
        }
    }

    /// What something provides that makes or fills a Secret: at least the keys that it
    /// states, whose values go over those of the same names before.
    pub fn by_writer(id: &ObjectId, writer: NodeRef<'_>) -> Provided {
        let Some(made) = made_keys(id, writer) else { return Provided::Unknown };
        if made.named.is_empty() {
            return Provided::Unknown;
        }
        let hidden = |node: NodeRef<'_>| Definition { value: None, location: node.location() };
        Provided::AtLeast(
            made.named.into_iter().map(|(key, node)| (key.as_ref().into(), hidden(node))).collect(),
        )
    }

    /// The same where something else writes the object too.
    pub fn or_more(self) -> Provided {
        match self {
            Provided::Keys(keys) => Provided::AtLeast(keys),
            other => other,
        }
    }
}

/// Whether kustomize-controller applies an object once and leaves it then to whoever
/// changes it, or keeps the keys of others: `ssa: IfNotPresent`, `Ignore`, `Merge`.
fn is_left_alone(object: NodeRef<'_>) -> bool {
    ["annotations", "labels"].iter().any(|field| {
        let map = object.get("metadata").and_then(|metadata| metadata.get(field));
        let how = map.and_then(|map| map.get("kustomize.toolkit.fluxcd.io/ssa"));
        how.and_then(NodeRef::as_str).is_some_and(|how| {
            ["IfNotPresent", "Ignore", "Merge"].iter().any(|known| known.eq_ignore_ascii_case(&how))
        })
    })
}

/// The Secret that an object of another kind makes or fills, by name in its own namespace:
/// `spec.target.name` of an ExternalSecret, else its own.
pub(crate) fn secret_written_by(id: &ObjectId, object: NodeRef<'_>) -> Option<Arc<str>> {
    let pointer = secret_name_field(id)?;
    let named = object.str_at(pointer).filter(|name| !name.is_empty());
    Some(named.map_or_else(|| id.name.clone(), |name| name.as_ref().into()))
}

/// Whether objects of a kind make or fill Secrets of their namespace.
pub(crate) fn writes_secrets(id: &ObjectId) -> bool {
    secret_name_field(id).is_some()
}

/// Where such an object names the Secret.
fn secret_name_field(id: &ObjectId) -> Option<&'static str> {
    Some(match (id.group(), &*id.kind) {
        ("external-secrets.io", "ExternalSecret") => "/spec/target/name",
        ("bitnami.com", "SealedSecret") => "/spec/template/metadata/name",
        ("secrets.hashicorp.com", "VaultStaticSecret" | "VaultDynamicSecret") => "/spec/destination/name",
        ("secrets.infisical.com", "InfisicalSecret") => "/spec/managedSecretReference/secretName",
        ("onepassword.com", "OnePasswordItem") => "/metadata/name",
        _ => return None,
    })
}

/// All that is known about the variables of one Kustomization.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    definitions: BTreeMap<Arc<str>, Definition>,
    /// Whether variables may exist beyond these: a source of them is unknown.
    pub open: bool,
    /// Whether one of those sources has to exist.
    pub requires_unknown: bool,
    /// `substituteStrategy: Always`.
    pub always: bool,
    /// Definitions on which Flux fails.
    pub bad: Vec<BadVariable>,
    /// Sources, not optional, that are known to be missing.
    pub missing: Vec<MissingSource>,
}

impl Variables {
    /// The variables of a Kustomization (its root node); `None` without
    /// `spec.postBuild`. `provide` looks up a ConfigMap or Secret by kind and
    /// name in the Kustomization's namespace.
    pub fn of(
        kustomization: NodeRef<'_>,
        provide: &mut dyn FnMut(&str, &str) -> Provided,
    ) -> Option<Variables> {
        let post_build = kustomization.at("/spec/postBuild").filter(|node| !node.is_null())?;
        let mut variables = Variables {
            always: post_build.str_at("/substituteStrategy").as_deref() == Some("Always"),
            open: post_build.is_unknown(),
            ..Variables::default()
        };
        for source in post_build.items_at("/substituteFrom") {
            variables.add_source(source, provide);
        }
        if post_build.get("substitute").is_some_and(NodeRef::is_unknown) {
            variables.open = true;
        }
        for entry in post_build.entries_at("/substitute") {
            let name: Arc<str> = entry.key.as_ref().into();
            let location = entry.value.location();
            let value = match entry.value.scalar(Dialect::GoYamlV3) {
                _ if entry.value.is_unknown() => None,
                Scalar::Str(text) if !entry.value.is_map() && !entry.value.is_seq() => Some(flat(&text)),
                other => {
                    let found = match (entry.value.is_map(), entry.value.is_seq()) {
                        (true, _) => "map",
                        (_, true) => "list",
                        _ => other.type_name(),
                    };
                    variables.bad.push(BadVariable::Value { name, found, location });
                    continue;
                }
            };
            variables.define(name, Definition { value, location }, entry.key_location());
        }
        Some(variables)
    }

    fn add_source(&mut self, source: NodeRef<'_>, provide: &mut dyn FnMut(&str, &str) -> Provided) {
        let (Some(kind), Some(name)) = (source.str_at("/kind"), source.str_at("/name")) else {
            self.open |= source.is_unknown()
                || source.get("name").is_some_and(NodeRef::is_unknown)
                || source.get("kind").is_some_and(NodeRef::is_unknown);
            return;
        };
        if !matches!(&*kind, "ConfigMap" | "Secret") {
            return;
        }
        let optional = source.at("/optional").and_then(NodeRef::as_bool).unwrap_or(false);
        let provided = provide(&kind, &name);
        self.open |= matches!(provided, Provided::AtLeast(_));
        match provided {
            Provided::Keys(keys) | Provided::AtLeast(keys) => {
                for (key, definition) in keys {
                    let location = definition.location.clone();
                    self.define(key, definition, location);
                }
            }
            Provided::Missing if !optional => self.missing.push(MissingSource {
                kind: kind.as_ref().into(),
                name: name.as_ref().into(),
                location: source.location_at("/name"),
            }),
            Provided::Missing => {}
            Provided::Unknown => {
                self.open = true;
                self.requires_unknown |= !optional;
            }
        }
    }

    fn define(&mut self, name: Arc<str>, definition: Definition, key: Option<Location>) {
        if !is_variable_name(&name) {
            self.bad.push(BadVariable::Name { name, location: key });
            return;
        }
        self.definitions.insert(name, definition);
    }

    /// Add a variable whose value is known in the cluster only.
    pub fn add_hidden(&mut self, name: &str) {
        if !self.definitions.contains_key(name) {
            self.definitions.insert(name.into(), Definition { value: None, location: None });
        }
    }

    /// Whether Flux substitutes at all: with at least one variable, or always.
    /// `None` where that depends on a source that need not exist; one that has
    /// to is taken to hold a variable.
    pub fn runs(&self) -> Option<bool> {
        let any = !self.definitions.is_empty() || !self.bad.is_empty();
        if self.always || any || self.requires_unknown {
            return Some(true);
        }
        if self.open { None } else { Some(false) }
    }

    /// What is known about a name.
    pub fn lookup(&self, name: &str) -> Variable<'_> {
        match self.definitions.get(name) {
            Some(Definition { value: Some(value), .. }) => Variable::Known(Cow::Borrowed(value)),
            Some(Definition { value: None, .. }) => Variable::Hidden,
            None if self.open => Variable::Unknown,
            None => Variable::Undefined,
        }
    }

    /// Where a variable is defined.
    pub fn definition(&self, name: &str) -> Option<&Definition> {
        self.definitions.get(name)
    }

    /// The names that are known, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.definitions.keys().map(|name| &**name)
    }

    /// The step that a value takes through these variables.
    pub(super) fn via(&self, names: impl Iterator<Item = impl AsRef<str>>) -> Vec<Via> {
        let mut vias: Vec<Via> = Vec::new();
        for name in names {
            if let Some(location) = self.definition(name.as_ref()).and_then(|known| known.location.clone()) {
                let via = Via { kind: ViaKind::Substitution, location };
                if !vias.contains(&via) {
                    vias.push(via);
                }
            }
        }
        vias
    }
}

/// The keys of a ConfigMap. A value that is no string is no variable: the API
/// refuses such an object.
pub fn config_map_keys(object: NodeRef<'_>) -> Vec<(Arc<str>, Definition)> {
    object
        .entries_at("/data")
        .map(|entry| {
            let value = entry.value.as_str().filter(|_| !entry.value.is_unknown()).map(|text| flat(&text));
            (entry.key.as_ref().into(), Definition { value, location: entry.value.location() })
        })
        .collect()
}

/// The keys of a Secret, without values: they are unknown offline, and are kept
/// out of everything that is printed where they are not.
pub(crate) fn secret_keys(object: NodeRef<'_>) -> Vec<(Arc<str>, Definition)> {
    object
        .entries_at("/data")
        .chain(object.entries_at("/stringData"))
        .map(|entry| {
            (entry.key.as_ref().into(), Definition { value: None, location: entry.value.location() })
        })
        .collect()
}

fn flat(text: &str) -> Arc<str> {
    if text.contains('\n') { text.replace('\n', "").into() } else { text.into() }
}
