//! The last edge: what a Machine puts on its Node.
//!
//! Mirrors cluster-api `util/labels/helpers.go` (`GetManagedLabels`),
//! `util/annotations/helpers.go` (`GetManagedAnnotations`) and
//! `core/reconcilers/machine/machine_controller_noderef.go` (`patchNode`,
//! `propagateMachineTaintsToNode`, `shouldNodeHaveOutdatedTaint`).

use std::collections::{BTreeMap, BTreeSet};

use crate::lang::go::regexp::GoRegexp;

/// Annotation of a Node: labels that its Machine set.
pub(crate) const LABELS_FROM_MACHINE: &str = "cluster.x-k8s.io/labels-from-machine";
/// Annotation of a Node: annotations that its Machine set.
pub(crate) const ANNOTATIONS_FROM_MACHINE: &str = "cluster.x-k8s.io/annotations-from-machine";
/// Annotation of a Node: taints that its Machine set, as `key:effect`.
pub const TAINTS_FROM_MACHINE: &str = "cluster.x-k8s.io/taints-from-machine";

/// Removed with the first sync of labels.
const UNINITIALIZED: &str = "node.cluster.x-k8s.io/uninitialized";
/// On Nodes whose MachineSet is behind its MachineDeployment.
const OUTDATED_REVISION: &str = "node.cluster.x-k8s.io/outdated-revision";
/// Annotations that every Machine puts on its Node and that are not tracked.
const BOOKKEEPING: [&str; 5] = [
    "cluster.x-k8s.io/cluster-name",
    "cluster.x-k8s.io/cluster-namespace",
    "cluster.x-k8s.io/machine",
    "cluster.x-k8s.io/owner-kind",
    "cluster.x-k8s.io/owner-name",
];

/// Whether a Machine's label is synced to its Node; `additional` are the
/// expressions of `--additional-sync-machine-labels`.
pub fn syncs_label(key: &str, additional: &[GoRegexp]) -> bool {
    let domain = domain_of(key);
    domain == "node-role.kubernetes.io"
        || is_or_below(domain, "node-restriction.kubernetes.io")
        || is_or_below(domain, "node.cluster.x-k8s.io")
        || additional.iter().any(|expression| expression.is_match(key))
}

/// Whether a Machine's annotation is synced to its Node; `additional` are the
/// expressions of `--additional-sync-machine-annotations`.
pub(crate) fn syncs_annotation(key: &str, additional: &[GoRegexp]) -> bool {
    is_or_below(domain_of(key), "node.cluster.x-k8s.io")
        || additional.iter().any(|expression| expression.is_match(key))
}

/// The Machine that a Node's annotations name.
#[derive(Debug, Clone, Default)]
pub struct MachineIdentity {
    /// `spec.clusterName`.
    pub cluster: String,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Kind and name of its controller.
    pub controller: Option<(String, String)>,
}

/// The annotations that a Machine puts on its Node: those that sync, and the
/// bookkeeping ones.
pub fn annotations(
    machine: &MachineIdentity,
    annotations: &BTreeMap<String, String>,
    additional: &[GoRegexp],
) -> BTreeMap<String, String> {
    let mut wanted: BTreeMap<String, String> = annotations
        .iter()
        .filter(|(key, _)| syncs_annotation(key, additional))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let (kind, owner) = machine.controller.clone().unzip();
    let values = [
        Some(&machine.cluster),
        Some(&machine.namespace),
        Some(&machine.name),
        kind.as_ref(),
        owner.as_ref(),
    ];
    for (key, value) in BOOKKEEPING.into_iter().zip(values) {
        if let Some(value) = value {
            wanted.insert(key.to_owned(), value.clone());
        }
    }
    wanted
}

/// What stands before the first `/`; a key without one counts as a domain.
fn domain_of(key: &str) -> &str {
    key.split_once('/').map_or(key, |(domain, _)| domain)
}

fn is_or_below(domain: &str, parent: &str) -> bool {
    domain.strip_suffix(parent).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// A taint of a Node. Taints with equal key and effect are the same taint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Taint {
    /// Key.
    pub key: String,
    /// Value; may be empty.
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

impl Taint {
    fn id(&self) -> String {
        format!("{}:{}", self.key, self.effect)
    }
}

/// A taint of a Machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineTaint {
    /// The taint.
    pub taint: Taint,
    /// `propagation: Always`; otherwise `OnInitialization`.
    pub always: bool,
}

/// The part of a Node that its Machine may change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeMetadata {
    /// `metadata.labels`.
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`.
    pub annotations: BTreeMap<String, String>,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
}

/// What a Machine wants of its Node.
#[derive(Debug, Clone, Default)]
pub struct WantedMetadata {
    /// Labels that sync.
    pub labels: BTreeMap<String, String>,
    /// Annotations that sync, the bookkeeping ones included.
    pub annotations: BTreeMap<String, String>,
    /// `spec.taints` where the feature gate MachineTaintPropagation is on.
    pub taints: Option<Vec<MachineTaint>>,
    /// Whether the Machine's MachineSet is behind its MachineDeployment.
    pub outdated: bool,
}

/// One sync of a Machine to its Node.
pub fn patch(node: &mut NodeMetadata, wanted: &WantedMetadata) {
    let previous = tracked(node.annotations.get(ANNOTATIONS_FROM_MACHINE));
    let gone = previous.into_iter().chain(BOOKKEEPING.map(str::to_owned));
    for key in gone.filter(|key| key != ANNOTATIONS_FROM_MACHINE && !wanted.annotations.contains_key(key)) {
        node.annotations.remove(&key);
    }
    node.annotations.extend(wanted.annotations.clone());
    for key in tracked(node.annotations.get(LABELS_FROM_MACHINE)) {
        if !wanted.labels.contains_key(&key) {
            node.labels.remove(&key);
        }
    }
    node.labels.extend(wanted.labels.clone());
    let list = |keys: &mut dyn Iterator<Item = &String>| keys.cloned().collect::<Vec<_>>().join(",");
    let labels = list(&mut wanted.labels.keys());
    let annotations = list(&mut wanted.annotations.keys().filter(|key| !BOOKKEEPING.contains(&key.as_str())));
    node.annotations.insert(LABELS_FROM_MACHINE.to_owned(), labels);
    node.annotations.insert(ANNOTATIONS_FROM_MACHINE.to_owned(), annotations);

    remove_taint(node, UNINITIALIZED, "NoSchedule");
    if let Some(taints) = &wanted.taints {
        propagate_taints(node, taints);
    }
    remove_taint(node, OUTDATED_REVISION, "PreferNoSchedule");
    if wanted.outdated {
        node.taints.push(Taint {
            key: OUTDATED_REVISION.to_owned(),
            value: String::new(),
            effect: "PreferNoSchedule".to_owned(),
        });
    }
}

/// Puts a Machine's taints on its Node and takes away those that it put there
/// before. Returns whether the Node changed.
pub fn propagate_taints(node: &mut NodeMetadata, taints: &[MachineTaint]) -> bool {
    let before = node.clone();
    let tracking = node.annotations.get(TAINTS_FROM_MACHINE);
    let initialized = tracking.is_some();
    let owned = tracked(tracking);
    let mut keep = BTreeSet::new();
    let mut always = BTreeSet::new();
    for MachineTaint { taint, always: propagates } in taints {
        keep.insert(taint.id());
        if *propagates {
            always.insert(taint.id());
        } else if initialized {
            continue;
        }
        match node.taints.iter_mut().find(|t| t.id() == taint.id()) {
            Some(existing) => existing.value.clone_from(&taint.value),
            None => node.taints.push(taint.clone()),
        }
    }
    node.taints.retain(|t| !owned.contains(&t.id()) || keep.contains(&t.id()));
    let tracking = always.into_iter().collect::<Vec<_>>().join(",");
    node.annotations.insert(TAINTS_FROM_MACHINE.to_owned(), tracking);
    *node != before
}

/// Whether a Node gets the taint `outdated-revision`: the revision of its
/// MachineSet is below its MachineDeployment's. Machines without either do not.
pub fn is_outdated(machine_set: Option<i64>, machine_deployment: Option<i64>) -> bool {
    machine_set.zip(machine_deployment).is_some_and(|(ms, md)| ms < md)
}

fn tracked(annotation: Option<&String>) -> BTreeSet<String> {
    annotation
        .into_iter()
        .flat_map(|list| list.split(','))
        .filter(|k| !k.is_empty())
        .map(str::to_owned)
        .collect()
}

fn remove_taint(node: &mut NodeMetadata, key: &str, effect: &str) {
    node.taints.retain(|taint| taint.key != key || taint.effect != effect);
}
