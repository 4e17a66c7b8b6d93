//! `removed-reference-target`: a change takes away a ConfigMap or Secret that something names.
//! Anybody may make these, so that one that is not here is no fault by itself; of a change it
//! is known that Git made it until now.
//! Source: kubernetes `pkg/kubelet/kubelet_pods.go` (`makeEnvironmentVariables`);
//! kustomize `api/internal/builtins/HashTransformer.go`.

use super::judged;
use crate::lang::yaml::{Location, NodeRef};
use crate::lint::near::name_of_generator;
use crate::lint::rules::reference::{known_name, local_references};
use crate::lint::workloads::{Near, TargetState, UnseenCause};
use crate::lint::{ChangeView, Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::{Name, ObjectId};
use crate::world::{ApplyTarget, Cluster, Effective};
use rustc_hash::FxHashMap;

pub(crate) static RULE: Rule = Rule {
    id: "removed-reference-target",
    group: Group::Workload,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "a change takes away a ConfigMap or Secret that something still names",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/workload/removed-reference-target.md"),
    check: Check::Change(check),
};

fn check(view: &ChangeView<'_>, report: &mut Reporter<'_>) {
    let before: FxHashMap<&str, &Cluster> = view
        .base
        .world
        .applied_clusters()
        .filter_map(|cluster| Some((cluster.name.as_deref()?, cluster)))
        .collect();
    for cluster in view.head.world.applied_clusters() {
        let Some(earlier) = cluster.name.as_deref().and_then(|name| before.get(name)) else { continue };
        let (old, new) = (ClusterView::new(view.base, earlier), ClusterView::new(view.head, cluster));
        let is_here = |object: &Effective| cluster.find(&ApplyTarget::Local, object.id.named()).is_some();
        if old.written().all(|(_, object)| is_here(object)) {
            continue;
        }
        let earlier = Made::of(&old);
        for named in references(&new) {
            let wanted = named.wanted();
            if let Some(made) = is_gone(&new, &old, wanted).then(|| earlier.find(&named)).flatten() {
                tell(&new, &named, made, report);
            }
        }
    }
}

/// A ConfigMap or Secret that an object names.
struct Named<'a> {
    object: &'a Effective,
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
    pointer: &'a str,
    location: Location,
    consequence: &'a str,
}

impl<'a> Named<'a> {
    fn wanted(&self) -> Name<'a> {
        Name::new("", self.kind, Some(self.namespace), self.name)
    }
}

/// What the objects of a cluster name and can't do without.
fn references<'v>(view: &'v ClusterView<'_>) -> impl Iterator<Item = Named<'v>> {
    let workloads = judged(view.workloads()).filter_map(|(object, reference, name)| {
        let is_one = reference.group.is_empty() && !reference.optional && !reference.is_guess;
        is_one.then_some(Named {
            object,
            kind: &reference.kind,
            namespace: reference.namespace.as_deref()?,
            name,
            pointer: &reference.pointer,
            location: reference.name_node.location()?,
            consequence: reference.consequence,
        })
    });
    let flux = local_references(view).filter_map(|(object, reference)| {
        let is_one = reference.group.is_empty() && !reference.optional;
        is_one.then_some(Named {
            object,
            kind: &reference.kind,
            namespace: reference.namespace.as_deref()?,
            name: known_name(reference)?,
            pointer: &reference.pointer,
            location: reference.name_node.location()?,
            consequence: "the reconciliation fails until it exists",
        })
    });
    workloads.chain(flux).filter(|named| matches!(named.kind, "ConfigMap" | "Secret"))
}

/// Whether nothing makes an object any more, and no other rule tells what was meant. What
/// may make it unseen and was there before did not: Git did.
fn is_gone(new: &ClusterView<'_>, old: &ClusterView<'_>, wanted: Name<'_>) -> bool {
    let Name { group, kind, namespace, name } = wanted;
    let was_there = |id: &ObjectId| old.cluster.find(&ApplyTarget::Local, id.named()).is_some();
    let is_absent = match new.workloads().target(wanted) {
        TargetState::Absent(Some(UnseenCause::Maker(id))) => was_there(id),
        TargetState::Absent(cause) => matches!(cause, Some(UnseenCause::Anybody | UnseenCause::Unapplied)),
        _ => false,
    };
    is_absent && !matches!(new.workloads().near(group, kind, namespace, name), Some(Near::Misspelled(_)))
}

/// The ConfigMaps and Secrets that a cluster had.
struct Made<'v, 'a> {
    view: &'v ClusterView<'a>,
    /// Those of generators by the names that these have in their kustomizations.
    generated: FxHashMap<(&'a str, Option<&'a str>, &'a str), &'a Effective>,
}

impl<'v, 'a> Made<'v, 'a> {
    fn of(view: &'v ClusterView<'a>) -> Self {
        let local = view.written().filter(|(member, _)| member.target == ApplyTarget::Local);
        let generated = local.filter_map(|(_, object)| {
            let name = name_of_generator(&object.id)?;
            Some(((&*object.id.kind, object.id.namespace.as_deref(), name), object))
        });
        Made { view, generated: generated.collect() }
    }

    /// The object that was there under a name, or that stated it. Of a generator that adds a
    /// hash, it is the one that was named in the same place.
    fn find(&self, named: &Named<'_>) -> Option<&'a Effective> {
        let wanted = named.wanted();
        let (TargetState::Here(object) | TargetState::Made(object, _)) = self.view.workloads().target(wanted)
        else {
            let generated = *self.generated.get(&(wanted.kind, wanted.namespace, wanted.name))?;
            let before = self.view.cluster.find(&ApplyTarget::Local, named.object.id.named())?;
            let place = self.view.object(before).node.get_ref().at(named.pointer)?;
            let is_it = |node: NodeRef<'_>| node.text().is_some_and(|text| *text == *generated.id.name);
            return (is_it(place) || place.entries().any(|entry| is_it(entry.value))).then_some(generated);
        };
        Some(object)
    }
}

fn tell(view: &ClusterView<'_>, named: &Named<'_>, made: &Effective, report: &mut Reporter<'_>) {
    let (object, wanted) = (named.object, format!("{} {}/{}", named.kind, named.namespace, named.name));
    let what = format!("{}: it names {wanted}, which this change takes away", object.id);
    let finding = report.report(named.location.clone(), what);
    let by = match &*made.id.kind == named.kind && name_of_generator(&made.id).is_none() {
        true => String::new(),
        false if &*made.id.kind == named.kind => " its generator is gone, or has another name;".to_owned(),
        false => format!(" {} made it;", made.id),
    };
    finding
        .why(format!("nothing in {} makes it any more:{by} {}", view.cluster.label(), named.consequence))
        .help(
            "name what is there now, or leave it where it was; if something outside of Git makes it from \
             now on, nothing need be done",
        )
        .label("taken away")
        .object(&object.id)
        .field(named.pointer, wanted);
    finding.clusters.extend(view.cluster.name.clone());
}
