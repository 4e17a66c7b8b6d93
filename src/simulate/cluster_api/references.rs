//! The objects among which Cluster API's references are resolved: those of one
//! cluster, or of a repository as written.

use rustc_hash::FxHashMap;

use crate::lang::yaml::NodeRef;
use crate::model::ObjectId;
use crate::world::{ApplyTarget, Cluster as FluxCluster, World};

/// One object.
#[derive(Clone, Copy, Debug)]
pub struct ScopedObject<'a> {
    pub id: &'a ObjectId,
    pub node: NodeRef<'a>,
}

impl<'a> ScopedObject<'a> {
    /// Its namespace; objects that state none are applied to `default`.
    pub fn namespace(&self) -> &'a str {
        self.id.namespace.as_deref().unwrap_or("default")
    }

    pub fn name(&self) -> &'a str {
        &self.id.name
    }
}

/// Objects, found by group, kind, namespace and name.
#[derive(Clone, Debug, Default)]
pub struct Objects<'a> {
    all: Vec<ScopedObject<'a>>,
    by_kind: FxHashMap<(&'a str, &'a str), Vec<usize>>,
    by_name: FxHashMap<&'a str, Vec<usize>>,
}

impl<'a> Objects<'a> {
    /// Indexes the objects in their order.
    pub fn new(objects: impl IntoIterator<Item = ScopedObject<'a>>) -> Self {
        let all: Vec<ScopedObject<'a>> = objects.into_iter().collect();
        let mut by_kind: FxHashMap<(&str, &str), Vec<usize>> = FxHashMap::default();
        let mut by_name: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        for (index, object) in all.iter().enumerate() {
            by_kind.entry((object.id.group(), &object.id.kind)).or_default().push(index);
            by_name.entry(object.name()).or_default().push(index);
        }
        Self { all, by_kind, by_name }
    }

    /// All objects in their order.
    pub fn iter(&self) -> impl Iterator<Item = ScopedObject<'a>> + '_ {
        self.all.iter().copied()
    }

    /// Objects of a kind, of whatever version.
    pub fn of_kind<'s>(
        &'s self,
        group: &'s str,
        kind: &'s str,
    ) -> impl Iterator<Item = ScopedObject<'a>> + 's {
        self.by_kind.get(&(group, kind)).into_iter().flatten().map(|index| self.all[*index])
    }

    /// The object of that identity. Where a repository without entry points
    /// writes several, it is not known which one is meant: none.
    pub fn find(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Option<ScopedObject<'a>> {
        let mut found = self.named(group, kind, namespace, name);
        found.next().filter(|_| found.next().is_none())
    }

    /// The first object of a kind and a name, of whatever namespace.
    pub fn of_name(&self, group: &str, kind: &str, name: &str) -> Option<ScopedObject<'a>> {
        let mut named = self.by_name.get(name)?.iter().map(|index| self.all[*index]);
        named.find(|object| object.id.is(group, kind))
    }

    /// Whether there is such an object.
    pub fn has(&self, group: &str, kind: &str, namespace: &str, name: &str) -> bool {
        self.named(group, kind, namespace, name).next().is_some()
    }

    fn named<'s>(
        &'s self,
        group: &'s str,
        kind: &'s str,
        namespace: &'s str,
        name: &'s str,
    ) -> impl Iterator<Item = ScopedObject<'a>> + 's {
        let named = self.by_name.get(name).into_iter().flatten().map(|index| self.all[*index]);
        named.filter(move |object| object.id.is(group, kind) && object.namespace() == namespace)
    }
}

/// The objects of one apply target of one cluster: what references there can
/// name.
#[derive(Clone, Debug)]
pub struct TargetScope<'w> {
    /// The cluster; `None` for objects that no cluster applies.
    pub cluster: Option<&'w FluxCluster>,
    /// Where the objects are applied.
    pub target: ApplyTarget,
    pub objects: Objects<'w>,
}

/// The scopes of a world that hold anything of Cluster API, orphans last.
pub fn scopes(world: &World) -> Vec<TargetScope<'_>> {
    let mut scopes = Vec::new();
    for cluster in world.applied_clusters() {
        scopes.extend(scopes_of(world, cluster));
    }
    let orphans = world.orphans().map(|o| ScopedObject { id: &o.id, node: o.node.get_ref() });
    scopes.push(TargetScope { cluster: None, target: ApplyTarget::Local, objects: Objects::new(orphans) });
    scopes.retain(|scope| scope.objects.iter().any(|o| is_cluster_api(o.id.group())));
    scopes
}

/// Whether a cluster applies anything of Cluster API.
pub(crate) fn has_cluster_api(world: &World, cluster: &FluxCluster) -> bool {
    world.written(cluster).any(|(_, object)| is_cluster_api(object.id.group()))
}

/// The scopes of one cluster, one for each apply target.
pub(crate) fn scopes_of<'w>(world: &'w World, cluster: &'w FluxCluster) -> Vec<TargetScope<'w>> {
    let mut targets: Vec<&ApplyTarget> = cluster.members.iter().map(|member| &member.target).collect();
    targets.sort_unstable();
    targets.dedup();
    let objects = |target: &ApplyTarget| {
        let members = world.written(cluster).filter(|(member, _)| member.target == *target);
        Objects::new(members.map(|(_, o)| ScopedObject { id: &o.id, node: o.node.get_ref() }))
    };
    targets
        .into_iter()
        .map(|target| TargetScope {
            cluster: Some(cluster),
            target: target.clone(),
            objects: objects(target),
        })
        .collect()
}

fn is_cluster_api(group: &str) -> bool {
    group == crate::model::cluster_api_kinds::CORE || group.ends_with(".cluster.x-k8s.io")
}
