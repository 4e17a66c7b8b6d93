//! `missing-data-key`: a workload names a key that a ConfigMap or Secret doesn't have.
//! Source: `kubernetes` `pkg/kubelet/kubelet_pods.go` (`makeEnvironmentVariables`: "couldn't
//! find key"), `pkg/volume/configmap` and `pkg/volume/secret` (`MakePayload`: "references
//! non-existent config key").

use super::{is_open, judged, target, text};
use crate::lint::known_names::KnownNames;
use crate::lint::workloads::TargetState;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Name;
use crate::model::workloads::WorkloadReference;
use crate::world::Effective;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

pub(crate) static RULE: Rule = Rule {
    id: "missing-data-key",
    group: Group::Workload,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a workload names a key that a ConfigMap or Secret does not have",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/workload/missing-data-key.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let workloads = view.workloads();
    // The keys of each object that was asked for some, by where it is kept.
    let mut keys: FxHashMap<usize, Option<KnownNames<'_>>> = FxHashMap::default();
    for (object, reference, name) in judged(workloads) {
        if reference.keys.is_empty() || reference.optional {
            continue;
        }
        let (group, kind, namespace) = (&*reference.group, &*reference.kind, reference.namespace.as_deref());
        match workloads.target(Name::new(group, kind, namespace, name)) {
            TargetState::Here(found) => {
                let known = keys.entry(std::ptr::from_ref(found).addr()).or_insert_with(|| data_keys(found));
                if let Some(known) = known {
                    let level = if reference.is_guess { Level::Warning } else { Level::Error };
                    look_up(object, reference, name, known, found, level, report);
                }
            }
            TargetState::Made(of, Some(known)) => {
                let made = || Some(known.iter().map(|key| Cow::Borrowed(&**key)).collect());
                let known = keys.entry(known.as_ptr().addr()).or_insert_with(made);
                if let Some(known) = known {
                    look_up(object, reference, name, known, of, Level::Warning, report);
                }
            }
            TargetState::Made(_, None) | TargetState::Absent(_) => {}
        }
    }
}

/// The keys of a ConfigMap or Secret; `None` where something else may add some.
fn data_keys(object: &Effective) -> Option<KnownNames<'_>> {
    let node = object.node.get_ref();
    let fields = ["/data", "/binaryData", "/stringData"];
    let keys: Vec<_> =
        fields.iter().flat_map(|field| node.entries_at(field)).map(|entry| entry.key).collect();
    // An empty one is there to be filled: by an operator, a copy, a token.
    let is_filled = node.entries_at("/metadata/annotations").any(|entry| {
        entry.key.starts_with("replicator.v1.mittwald.de/")
            || entry.key.starts_with("reflector.v1.k8s.emberstack.com/")
            || entry.key.starts_with("kubernetes.io/service-account")
    }) || node.at("/metadata/labels/config.openshift.io~1inject-trusted-cabundle").is_some();
    let is_known = !keys.is_empty() && !is_filled && !keys.iter().any(|key| is_open(key));
    is_known.then(|| keys.into_iter().collect())
}

fn look_up(
    object: &Effective,
    reference: &WorkloadReference<'_>,
    name: &str,
    known: &KnownNames<'_>,
    found: &Effective,
    level: Level,
    report: &mut Reporter<'_>,
) {
    for node in &reference.keys {
        let Some(key) = text(*node).filter(|key| !known.contains(key)) else { continue };
        let Some(location) = node.location() else { continue };
        let finding =
            report.report(location, format!("{}: {} has no key `{key}`", object.id, target(reference, name)));
        finding.level(level).why(reference.consequence).object(&object.id);
        finding.field(format!("{}/key", reference.pointer), &*key).label("no such key");
        finding.help(match known.nearest(&key) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("its keys are {}", listed(known)),
        });
        if let Some(place) = found.node.get_ref().location_at("/metadata/name") {
            finding.related(found.id.to_string(), place);
        }
    }
}

/// The first keys, in words.
fn listed(keys: &KnownNames<'_>) -> String {
    match keys.first() {
        (shown, 0) => shown,
        (shown, more) => format!("{shown} and {more} more"),
    }
}
