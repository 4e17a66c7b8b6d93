//! `substitution-deadlock`: a Kustomization reads variables that only it, or what waits
//! for it, brings into the cluster.
//! Source: kustomize-controller `reconcile`: dependencies, then `build` with
//! `LoadVariables`, then `apply`.

use super::title;
use crate::lang::yaml::{Location, NodeRef};
use crate::lint::rules::reference::known_name;
use crate::lint::waits::Waits;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::references::{Role, references};
use crate::model::{Certainty, kinds};
use crate::world::{Applied, ApplyTarget, Effective};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) static RULE: Rule = Rule {
    id: "substitution-deadlock",
    group: Group::Build,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "variables that come from what waits for the Kustomization that reads them",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/substitution-deadlock.md"),
    check: Check::Cluster(check),
};

/// Variables that come too late.
struct Late<'a> {
    /// The Kustomization that reads them.
    reader: &'a Applied,
    kind: String,
    name: String,
    place: Location,
    /// What makes them.
    provider: &'a Effective,
    /// The Kustomization that applies that.
    by: &'a Applied,
}

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let cluster = view.cluster;
    let reads = |applied: &Applied| applied.node.get_ref().at("/spec/postBuild/substituteFrom").is_some();
    if cluster.name.is_none() || cluster.certainty == Certainty::Guessed || !cluster.applied.iter().any(reads)
    {
        return;
    }
    let late = late(view);
    if late.is_empty() {
        return;
    }
    // What somebody makes at the bootstrap is there in time.
    let names: FxHashSet<&str> = late.iter().map(|late| &*late.name).collect();
    let by_hand = view.beyond().by_hand().named(&names);
    for late in late.iter().filter(|late| !by_hand.contains(&*late.name)) {
        tell(report, late);
    }
}

fn tell(report: &mut Reporter<'_>, late: &Late<'_>) {
    let (reader, provider) = (&late.reader.id, &late.provider.id);
    let wanted = format!("{} {}", late.kind, late.name);
    let how = if late.by.id == *reader {
        format!("{provider} makes it, and {} applies that itself", reader.name)
    } else {
        format!("{provider} makes it, which {} applies; and that waits for {}", late.by.id.name, reader.name)
    };
    let finding = report
        .report(late.place.clone(), title(reader, &format!("reads {wanted}, which comes only after it")))
        .claims_absence()
        .why(format!(
            "{how}: variables are read before the apply, so that in a new cluster neither ever begins"
        ))
        .help(format!("apply {provider} with a Kustomization that waits for none of these"))
        .object(reader)
        .field("/spec/postBuild/substituteFrom", wanted);
    if let Some(place) = late.provider.node.get_ref().location_at("/metadata/name") {
        finding.related(provider.to_string(), place);
    }
}

/// The variables of a cluster whose every provider waits for who reads them.
fn late<'a>(view: &ClusterView<'a>) -> Vec<Late<'a>> {
    let applied = &view.cluster.applied;
    let providers = Providers::of(view);
    let mut waits = Waits::of(applied);
    let mut late = Vec::new();
    for (index, reader) in applied.iter().enumerate().filter(|(_, one)| kinds::is_kustomization(&one.id)) {
        let own = index as u32;
        let named = references(&reader.id, reader.node.get_ref());
        for variables in named.iter().filter(|one| one.role == Role::Variables && !one.optional) {
            let (Some(name), Some(namespace)) = (known_name(variables), variables.namespace.as_deref())
            else {
                continue;
            };
            let makers = providers.find(&variables.kind, namespace, name);
            let Some((_, first)) = makers.first() else { continue };
            // `self-provided-substitution` says this one.
            let is_plain = first.id.is("", &variables.kind);
            let by_own = makers.iter().any(|(by, _)| *by == Some(own));
            if is_plain && by_own {
                continue;
            }
            if !makers.iter().all(|(by, _)| by.is_some_and(|by| waits.does_for(by, own))) {
                continue;
            }
            let by = makers[0].0.and_then(|by| applied.get(by as usize));
            let Some((by, place)) = by.zip(variables.name_node.location()) else { continue };
            let (kind, name) = (variables.kind.clone(), name.to_owned());
            late.push(Late { reader, kind, name, place, provider: makers[0].1, by });
        }
    }
    late
}

/// What makes a ConfigMap or Secret: the Kustomization that applies it, and it itself.
type SourceMaker<'a> = (Option<u32>, &'a Effective);

/// The objects of a cluster that are, or by which a controller makes, ConfigMaps and
/// Secrets, by the name of what they make.
struct Providers<'a>(FxHashMap<String, Vec<SourceMaker<'a>>>);

impl<'a> Providers<'a> {
    fn of(view: &ClusterView<'a>) -> Providers<'a> {
        let mut by_name: FxHashMap<String, Vec<SourceMaker<'a>>> = FxHashMap::default();
        for (member, object) in view.written().filter(|(member, _)| member.target == ApplyTarget::Local) {
            if let Some(name) = made(object) {
                by_name.entry(name).or_default().push((member.maker.kustomization(), object));
            }
        }
        Providers(by_name)
    }

    fn find(&self, kind: &str, namespace: &str, name: &str) -> Vec<SourceMaker<'a>> {
        let named = self.0.get(name).map_or(&[][..], Vec::as_slice);
        named.iter().filter(|(_, object)| provides(object, kind, namespace)).copied().take(MOST).collect()
    }
}

/// Objects that make one Secret that are looked at.
const MOST: usize = 256;

/// The name of the ConfigMap or Secret that an object is or makes.
fn made(object: &Effective) -> Option<String> {
    let (id, node) = (&object.id, object.node.get_ref());
    let pointers: &[&str] = match (id.group(), &*id.kind) {
        ("", "ConfigMap" | "Secret") => &[],
        ("external-secrets.io", "ExternalSecret") => &["/spec/target/name"],
        ("external-secrets.io", "ClusterExternalSecret") => {
            &["/spec/externalSecretSpec/target/name", "/spec/externalSecretName"]
        }
        ("bitnami.com", "SealedSecret") => &["/spec/template/metadata/name"],
        _ => return None,
    };
    let written = pointers.iter().find_map(|pointer| node.str_at(pointer));
    Some(written.map_or_else(|| id.name.to_string(), |name| name.into_owned()))
}

/// Whether what an object makes is of a kind and in a namespace.
fn provides(object: &Effective, kind: &str, namespace: &str) -> bool {
    let in_namespace = object.id.namespace.as_deref() == Some(namespace);
    match (object.id.group(), &*object.id.kind) {
        ("", own) => own == kind && in_namespace,
        (_, "ClusterExternalSecret") => kind == "Secret" && reaches(object.node.get_ref(), namespace),
        _ => kind == "Secret" && in_namespace,
    }
}

/// Whether a ClusterExternalSecret makes its Secret in a namespace, as far as its text
/// says: by name, or by the label that every Namespace has.
fn reaches(node: NodeRef<'_>, namespace: &str) -> bool {
    let named =
        node.items_at("/spec/namespaces").any(|name| name.as_str().is_some_and(|name| name == namespace));
    let selectors = node.items_at("/spec/namespaceSelectors").chain(node.at("/spec/namespaceSelector"));
    let by_label = |selector: NodeRef<'_>| {
        let label = |entry: crate::lang::yaml::EntryRef<'_>| {
            entry.key == "kubernetes.io/metadata.name"
                && entry.value.as_str().is_some_and(|value| value == namespace)
        };
        selector.entries_at("/matchLabels").any(label)
            || selector.is_map() && selector.entries().next().is_none()
    };
    named || selectors.into_iter().any(by_label)
}
