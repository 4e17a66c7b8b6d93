//! Which extensions are called for a Cluster: those whose namespaceSelector selects its
//! namespace.
//!
//! Mirrors cluster-api `internal/runtime/client/client.go`, `matchNamespace`, which
//! `CallAllExtensions` and `CallExtension` ask before a call.

use super::{Hook, MutationHandlers, handlers, ignoring, mutation_handlers};
use crate::config::Extension;
use crate::lang::yaml::{Known, NodeRef};
use crate::model::cluster_api_kinds::RUNTIME;
use crate::simulate::cluster_api::references::{Objects, ScopedObject};
use std::collections::{BTreeMap, BTreeSet};

/// The label that the API server gives every Namespace: its name.
const OWN_NAME: &str = "kubernetes.io/metadata.name";

/// Who answers for a Cluster.
#[derive(Debug, Clone, Default)]
pub(crate) struct Called {
    /// Handlers by hook; `None`: unknown, so that every hook is assumed to have one.
    pub handlers: Option<BTreeMap<Hook, Vec<String>>>,
    /// Handlers of hooks that decide what is made; `None`: unknown.
    pub mutation: Option<MutationHandlers>,
    /// Extensions whose ExtensionConfig surely leaves the namespace out.
    pub out: BTreeSet<String>,
    /// Those whose failure is ignored.
    pub ignoring: BTreeSet<String>,
    /// What is to be said of extensions that are not called, or perhaps not.
    pub notes: Vec<String>,
    /// Whether each ExtensionConfig of the repository surely leaves the namespace out.
    pub none_selects: bool,
}

/// Who answers for Clusters of a namespace: of the extensions that are stated, those that
/// its ExtensionConfig doesn't keep from it.
pub(crate) fn called(extensions: &[Extension], objects: &Objects<'_>, namespace: &str) -> Called {
    let configs: Vec<ScopedObject<'_>> = objects.of_kind(RUNTIME, "ExtensionConfig").collect();
    let mut notes = Vec::new();
    let mut out = BTreeSet::new();
    for config in &configs {
        let name = config.name();
        match selects(*config, namespace, objects) {
            Known::Value(true) => {}
            Known::Value(false) => {
                out.insert(name.to_owned());
                notes.push(format!(
                    "extension {name} is not called: its namespaceSelector does not select namespace {namespace}"
                ));
            }
            Known::Unknown => notes.push(format!(
                "whether extension {name} is called is not known: its namespaceSelector asks for labels of \
                 namespace {namespace} that only the cluster knows"
            )),
        }
    }
    let rest: Vec<Extension> = extensions.iter().filter(|one| !out.contains(&one.name)).cloned().collect();
    let none_selects = !configs.is_empty() && out.len() == configs.len();
    let stated = !extensions.is_empty() || none_selects;
    Called {
        handlers: handlers(&rest).or_else(|| stated.then(BTreeMap::new)),
        mutation: mutation_handlers(&rest).or_else(|| stated.then(BTreeMap::new)),
        out,
        ignoring: ignoring(&rest),
        notes,
        none_selects,
    }
}

/// Whether the selector of an ExtensionConfig selects a namespace. What labels a Namespace
/// has beyond those that the repository states, others may have given it.
fn selects(config: ScopedObject<'_>, namespace: &str, objects: &Objects<'_>) -> Known<bool> {
    let Some(selector) = config.node.at("/spec/namespaceSelector").filter(|node| !node.is_null()) else {
        return Known::Value(true);
    };
    if selector.is_unknown() {
        return Known::Unknown;
    }
    let labels = NamespaceLabels {
        namespace,
        node: objects.of_name("", "Namespace", namespace).map(|object| object.node),
    };
    let pairs = selector.entries_at("/matchLabels").map(|entry| match entry.value.as_str() {
        Some(value) if !entry.value.is_unknown() => labels.is_one_of(&entry.key, &[value.into_owned()]),
        _ => Known::Unknown,
    });
    let rules = selector.items_at("/matchExpressions").map(|rule| labels.satisfy(rule));
    let mut all = Known::Value(true);
    for answer in pairs.chain(rules) {
        match answer {
            Known::Value(false) => return answer,
            Known::Value(true) => {}
            Known::Unknown => all = Known::Unknown,
        }
    }
    all
}

/// What is known of a Namespace's labels.
struct NamespaceLabels<'a> {
    namespace: &'a str,
    node: Option<NodeRef<'a>>,
}

impl NamespaceLabels<'_> {
    /// The value of a label; unknown where nothing here states it.
    fn value(&self, key: &str) -> Known<String> {
        if key == OWN_NAME {
            return Known::Value(self.namespace.to_owned());
        }
        let value = self.node.and_then(|node| node.at("/metadata/labels")?.get(key));
        match value.filter(|value| !value.is_unknown()).and_then(NodeRef::text) {
            Some(text) => Known::Value(text.into_owned()),
            None => Known::Unknown,
        }
    }

    fn is_one_of(&self, key: &str, values: &[String]) -> Known<bool> {
        match self.value(key) {
            Known::Value(own) => Known::Value(values.contains(&own)),
            Known::Unknown => Known::Unknown,
        }
    }

    fn satisfy(&self, rule: NodeRef<'_>) -> Known<bool> {
        let (Some(key), Some(operator)) = (rule.str_at("/key"), rule.str_at("/operator")) else {
            return Known::Unknown;
        };
        let values: Vec<String> =
            rule.items_at("/values").filter_map(|value| Some(value.text()?.into_owned())).collect();
        let not = |answer: Known<bool>| match answer {
            Known::Value(value) => Known::Value(!value),
            Known::Unknown => Known::Unknown,
        };
        let is_there = match self.value(&key) {
            Known::Value(_) => Known::Value(true),
            Known::Unknown => Known::Unknown,
        };
        match &*operator {
            "In" => self.is_one_of(&key, &values),
            "NotIn" => not(self.is_one_of(&key, &values)),
            "Exists" => is_there,
            "DoesNotExist" => not(is_there),
            _ => Known::Unknown,
        }
    }
}
