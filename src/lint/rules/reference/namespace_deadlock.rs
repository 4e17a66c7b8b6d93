//! `namespace-deadlock`: objects in a namespace that only a release makes which the same apply
//! brings.
//! Source: fluxcd/pkg `ssa/manager_apply.go` `ApplyAllStaged` and `ApplyAll` (all objects of a
//! stage are tried before any is applied, and one that is refused ends it); helm-controller
//! `internal/action/install.go` (`CreateNamespace`); apiserver `NamespaceLifecycle` admission.

use super::missing_namespace::{applied, created};
use crate::lang::text::counted;
use crate::lint::metadata::has_hole;
use crate::lint::waits::Waits;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::kinds::is_helm_release;
use crate::model::{Certainty, namespaces};
use crate::world::{ApplyTarget, Effective};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

pub(crate) static RULE: Rule = Rule {
    id: "namespace-deadlock",
    group: Group::Reference,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "objects in a namespace that only a release of the same apply makes",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/reference/namespace-deadlock.md"),
    check: Check::Cluster(check),
};

/// Releases of one namespace: of more, the one that comes by itself is not looked for.
const MOST: usize = 64;

/// The releases that make a namespace, each with the Kustomization that applies it.
type Releases<'a> = Vec<(u32, &'a Effective)>;

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let cluster = view.cluster;
    let is_known = cluster.name.is_some() && cluster.certainty != Certainty::Guessed;
    if !is_known || !cluster.is_complete("", "Namespace", None) {
        return;
    }
    let makers = makers(view);
    if makers.is_empty() {
        return;
    }
    // The objects that lie in one, by the Kustomization that applies them.
    let mut held: BTreeMap<(&str, u32), Vec<&Effective>> = BTreeMap::new();
    for (member, object) in view.written().filter(|(member, _)| member.target == ApplyTarget::Local) {
        let known = object.id.namespace.as_deref().and_then(|name| makers.get_key_value(name));
        if let Some((name, _)) = known
            && let Some(by) = member.maker.kustomization()
        {
            held.entry((name, by)).or_default().push(object);
        }
    }
    let names = makers.keys().map(String::as_str).collect();
    let by_hand = view.beyond().by_hand().made_namespaces(&names);
    let mut waits = Waits::of(&cluster.applied);
    for ((name, by), objects) in held {
        let releases = &makers[name];
        // One that comes by itself makes the namespace for the others.
        if by_hand.contains(name) || !releases.iter().all(|(maker, _)| waits.does_for(*maker, by)) {
            continue;
        }
        tell(view, report, (name, by), &objects, releases[0]);
    }
}

/// The namespaces that releases make and nothing else does.
fn makers<'a>(view: &ClusterView<'a>) -> FxHashMap<String, Releases<'a>> {
    let mut makers: FxHashMap<String, Releases<'a>> = FxHashMap::default();
    let mut others: FxHashSet<String> = FxHashSet::default();
    for (member, object) in view.written().filter(|(member, _)| member.target == ApplyTarget::Local) {
        let (id, node) = (&object.id, object.node.get_ref());
        if is_helm_release(id) {
            let Some(name) = created(id, node).filter(|name| !has_hole(name)) else { continue };
            match member.maker.kustomization() {
                Some(by) => makers.entry(name).or_default().push((by, object)),
                None => drop(others.insert(name)),
            }
        } else if let Some(pointer) = namespaces::maker(id) {
            others.extend(node.str_at(pointer).map(|name| name.into_owned()));
        }
    }
    let applied = applied(view);
    makers.retain(|name, releases| {
        let is_made = applied.contains(name) || others.contains(name) || namespaces::is_given(name);
        !is_made && releases.len() <= MOST
    });
    makers
}

fn tell(
    view: &ClusterView<'_>,
    report: &mut Reporter<'_>,
    (name, by): (&str, u32),
    objects: &[&Effective],
    (maker, release): (u32, &Effective),
) {
    let applied = &view.cluster.applied;
    let (by, first) = (&applied[by as usize].id, objects[0]);
    let node = first.node.get_ref();
    let Some(place) = node.location_at("/metadata/namespace").or_else(|| node.location()) else { return };
    let more = match objects.len() {
        1 => String::new(),
        count => format!(" and {}", counted(count - 1, "more object")),
    };
    let how = match applied[maker as usize].id == *by {
        true => format!("{} applies both", by.name),
        false => format!("{} applies that, which waits for {}", applied[maker as usize].id.name, by.name),
    };
    let what = match first.id == release.id {
        true => format!("{} lies in namespace {name}, which only it makes", release.id),
        false => format!("{}: only {} makes namespace {name}", first.id, release.id),
    };
    let finding = report
        .report(place, what)
        .claims_absence()
        .why(format!(
            "{how}: in a new cluster the API server refuses the first ({}{more}), and kustomize-controller \
             then applies nothing, the release neither",
            first.id
        ))
        .help(format!("apply a Namespace {name} as well: Namespaces come first"))
        .object(&first.id)
        .field("/metadata/namespace", name);
    if let Some(place) = release.node.get_ref().location_at("/metadata/name") {
        finding.related(release.id.to_string(), place);
    }
}
