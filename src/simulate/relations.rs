//! What the objects of a cluster have to do with each other: who depends on whom, who takes
//! from which source, who applies what. Each is read once, when it is first asked for.

use crate::lang::yaml::Location;
use crate::model::references::{Role, has_ready_expression, references};
use crate::model::{Name, ObjectId, kinds};
use crate::world::helm_charts::chart_of;
use crate::world::{ApplyTarget, Cluster, Effective, World};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;

/// The relations of a cluster's objects.
pub(crate) struct Relations<'w> {
    pub(crate) cluster: &'w Cluster,
    world: &'w World,
    dependants: OnceCell<Dependants<'w>>,
    consumers: OnceCell<FxHashMap<SourceKey, Vec<&'w Effective>>>,
    /// By the number of the Kustomization.
    applied: OnceCell<FxHashMap<u32, Vec<&'w Effective>>>,
}

/// Kind, namespace and name.
type SourceKey = (String, Option<String>, String);

impl<'w> Relations<'w> {
    pub(crate) fn new(world: &'w World, cluster: &'w Cluster) -> Relations<'w> {
        let (dependants, consumers, applied) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Relations { cluster, world, dependants, consumers, applied }
    }

    /// Objects of the same kind that depend on one.
    pub(crate) fn dependants(&self, id: &ObjectId) -> Vec<Dependant<'w>> {
        self.dependants.get_or_init(|| Dependants::of(self.world, self.cluster)).on(id)
    }

    /// Objects that take their manifests or charts from a source: a HelmRelease for the
    /// HelmChart that is made of it, too.
    pub(crate) fn consumers(&self, id: &ObjectId) -> &[&'w Effective] {
        let consumers = self.consumers.get_or_init(|| consumers(self.world, self.cluster));
        let key = (id.kind.to_string(), id.namespace.as_deref().map(str::to_owned), id.name.to_string());
        consumers.get(&key).map_or(&[], Vec::as_slice)
    }

    /// Everything that a Kustomization applies, itself excluded.
    pub(crate) fn applied(&self, id: &ObjectId) -> Vec<&'w Effective> {
        let all = self.applied.get_or_init(|| {
            let mut all: FxHashMap<u32, Vec<&'w Effective>> = FxHashMap::default();
            for (member, object) in self.world.written(self.cluster) {
                if let Some(by) = member.maker.kustomization() {
                    all.entry(by).or_default().push(object);
                }
            }
            all
        });
        let appliers = self.cluster.appliers(id.namespace.as_deref(), &id.name);
        let applied = appliers.iter().filter_map(|by| all.get(by)).flatten().copied();
        applied.filter(|object| object.id != *id).collect()
    }
}

fn consumers<'w>(world: &'w World, cluster: &'w Cluster) -> FxHashMap<SourceKey, Vec<&'w Effective>> {
    let mut found: FxHashMap<SourceKey, Vec<&'w Effective>> = FxHashMap::default();
    for (member, object) in world.written(cluster) {
        if member.target != ApplyTarget::Local {
            continue;
        }
        let node = object.node.get_ref();
        let named = references(&object.id, node).into_iter().filter_map(|reference| {
            let takes = matches!(reference.role, Role::Source | Role::Image);
            takes.then_some((reference.kind.to_string(), reference.namespace, reference.name?))
        });
        let chart = chart_of(&object.id, node, &cluster.settings);
        let chart = chart
            .map(|id| (id.kind.to_string(), id.namespace.as_deref().map(str::to_owned), id.name.to_string()));
        for source in named.chain(chart) {
            let takers = found.entry(source).or_default();
            // Whoever names it twice takes it once.
            if takers.last().is_none_or(|last| !std::ptr::eq(*last, object)) {
                takers.push(object);
            }
        }
    }
    found
}

/// A dependant of an object and whether both take their manifests from one
/// source (then a new revision blocks it).
pub(crate) struct Dependant<'w> {
    /// The object that waits.
    pub object: &'w Effective,
    /// Whether kustomize-controller's revision rule applies.
    pub same_source: bool,
    /// Where it names the dependency.
    pub location: Option<Location>,
}

/// Who depends on whom in a cluster: read once, asked for many.
struct Dependants<'w> {
    world: &'w World,
    cluster: &'w Cluster,
    by_dependency: FxHashMap<Dependency, Vec<(&'w Effective, Option<Location>)>>,
}

/// Group, kind, namespace and name of an object that others wait for.
type Dependency = (String, String, Option<String>, String);

impl<'w> Dependants<'w> {
    /// Reads `dependsOn` of every object, readyExpr entries left out.
    fn of(world: &'w World, cluster: &'w Cluster) -> Dependants<'w> {
        let mut by_dependency: FxHashMap<_, Vec<_>> = FxHashMap::default();
        for (member, object) in world.written(cluster) {
            if member.target != ApplyTarget::Local {
                continue;
            }
            let node = object.node.get_ref();
            if node.at("/spec/dependsOn").is_none() {
                continue;
            }
            for reference in references(&object.id, node) {
                if reference.role != Role::DependsOn || has_ready_expression(node, &reference) {
                    continue;
                }
                let Some(name) = reference.name else { continue };
                let group = object.id.group().to_owned();
                let dependency = (group, object.id.kind.to_string(), reference.namespace, name);
                by_dependency.entry(dependency).or_default().push((object, reference.name_node.location()));
            }
        }
        Dependants { world, cluster, by_dependency }
    }

    /// Objects of the same kind that depend on one.
    fn on(&self, id: &ObjectId) -> Vec<Dependant<'w>> {
        let (group, namespace) = (id.group(), id.namespace.as_deref());
        let dependency =
            (group.to_owned(), id.kind.to_string(), namespace.map(str::to_owned), id.name.to_string());
        let Some(found) = self.by_dependency.get(&dependency) else { return Vec::new() };
        let own = self.cluster.find(&ApplyTarget::Local, Name::new(group, &id.kind, namespace, &id.name));
        let own_source = own
            .filter(|_| kinds::is_kustomization(id))
            .and_then(|member| source(self.world.object(member.object)));
        let dependant = |(object, location): &(&'w Effective, Option<Location>)| Dependant {
            object,
            same_source: own_source.is_some() && own_source == source(object),
            location: location.clone(),
        };
        found.iter().map(dependant).collect()
    }
}

fn source(object: &Effective) -> Option<(String, Option<String>, String)> {
    references(&object.id, object.node.get_ref())
        .into_iter()
        .find(|reference| reference.role == Role::Source)
        .and_then(|reference| Some((reference.kind, reference.namespace, reference.name?)))
}
