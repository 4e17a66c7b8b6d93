//! Giving a worker class or a variable of a ClusterClass another name.
//!
//! Cluster API refuses a ClusterClass that lacks a worker class which a Cluster uses,
//! and a Cluster with a variable that its class does not define; a refused object stops
//! all that is applied with it. So the new name first stands beside the old one, as a
//! copy; then what uses it takes the new one; then the copy goes, and what was there
//! from the beginning, with its comments, gets the new name.
//! Source: cluster-api `ClusterClassesAreCompatible`,
//! `validateUpdatesToMachineDeploymentClasses`, `ValidateClusterVariables`.

mod uses;

use super::parts::{
    self, content, insert, lists_of_cluster, marked, named, remove, selectors, text, text_at, uses,
};
use super::same::{Difference, same};
use super::{Proof, Rebuild, Refused, Series, apply, changed, template};
use crate::lang::text::suggest;
use crate::lang::yaml::NodeRef;
use crate::lang::yaml::edit::{Content, Operation};
use crate::model::cluster_api_kinds as kinds;
use crate::model::{Category, ObjectId, Severity};
use crate::plan;
use crate::rewrite::Wanted;
use crate::rewrite::subject::EditableText;
use crate::simulate::cluster_api::propagation::WorkerKind;
use crate::simulate::cluster_api::references::ScopedObject;
use crate::simulate::cluster_api::topology::patches::matches_class;
use crate::simulate::cluster_api::topology::{Class, Cluster as Managed};
use crate::simulate::suspend::comment_after;
use crate::world::{ApplyTarget, Cluster, Effective, World};
use std::collections::{BTreeMap, BTreeSet};

pub use super::parts::ClassPartKind;

/// What is renamed.
pub struct PartOfClass<'w> {
    /// The repository.
    pub world: &'w World,
    /// Which kind of part.
    pub part: ClassPartKind,
    /// The name of the ClusterClass, and its namespace, where they are stated.
    pub class: Option<(Option<String>, String)>,
    /// Its name.
    pub old: String,
    /// Its name afterwards.
    pub new: String,
    /// The clusters that are meant.
    pub in_cluster: &'w dyn Fn(&Cluster) -> bool,
}

/// An object of a world's cluster.
type NumberedObject<'n> = (usize, &'n Effective);

impl PartOfClass<'_> {
    /// Whether some ClusterClass has it.
    pub fn is_there(&self) -> bool {
        self.classes(self.world).into_iter().any(|(_, class)| !self.entries(class, &self.old).is_empty())
    }

    /// Its three steps.
    ///
    /// # Errors
    /// Every reason why it is not done.
    pub fn series(&self, rebuild: &Rebuild<'_>) -> Result<Series, Vec<Refused>> {
        let (old, new, what) = (&*self.old, &*self.new, self.part.what());
        let id = self.check()?;
        let mut series = Series {
            headline: format!("{what} {old} of {id} is called {new}"),
            naive: vec![match self.part {
                ClassPartKind::Worker => "Cluster API refuses a class that lacks what a Cluster uses: its Kustomization stops, with all that it applies".to_owned(),
                ClassPartKind::Variable => "Cluster API refuses a Cluster with a variable that its class does not define, or renders without its value".to_owned(),
            }],
            ..Series::default()
        };
        let clusters = self.managed(self.world, &id);
        let wait_for = wait_for(&clusters);
        let is_beside =
            self.of(self.world, &id).iter().all(|(_, class)| !self.entries(class, new).is_empty());
        let mark = self.mark();
        let is_used = self.is_used(self.world, &id)?;
        let titles = self.titles();
        let mut now: Option<World> = None;
        for (number, title) in titles.into_iter().enumerate() {
            let world = now.as_ref().unwrap_or(self.world);
            let done = match number {
                0 => is_beside,
                1 => is_beside && !is_used,
                _ => false,
            };
            let mut changes = Vec::new();
            if !done {
                let wanted = match number {
                    0 => self.beside(world, &id)?,
                    1 => self.switched(world, &id)?,
                    _ => self.gone(world, &id)?,
                };
                changes = apply(&world.snapshot, &wanted)?;
                if number == 0 {
                    changes = marked(&world.snapshot, changes, &wanted, (self.part.key(), new, &mark))?;
                }
                let after = rebuild(&changed(&world.snapshot, &changes));
                self.prove(world, &after, &id)?;
                now = Some(after);
            }
            series.push(title, changes, wait_for.clone(), Proof::unchanged()).done = done;
        }
        let end = now.as_ref().unwrap_or(self.world);
        if self.of(end, &id).iter().any(|(_, class)| !self.entries(class, old).is_empty()) {
            let why = format!("{id} would still have the {what} {old}");
            return Err(vec![Refused::at(None, why, "change it by hand")]);
        }
        series.notes.push(match clusters.len() {
            0 => {
                format!("no Cluster of {id} is in this repository: those elsewhere have to follow each step")
            }
            _ => format!("Clusters of {} that are not in this repository have to follow each step", id.name),
        });
        Ok(series)
    }

    /// What the three steps are called.
    fn titles(&self) -> [String; 3] {
        let (old, new) = (&self.old, &self.new);
        match self.part {
            ClassPartKind::Worker => [
                format!("{new} stands beside {old}, with the same templates and patches"),
                format!("Clusters use {new} in the place of {old}"),
                format!("{old} goes"),
            ],
            ClassPartKind::Variable => [
                format!("{new} stands beside {old}, with its schema and values"),
                format!("patches use {new} in the place of {old}"),
                format!("{old} goes"),
            ],
        }
    }

    /// The comment that tells a copy from what was there before.
    fn mark(&self) -> String {
        format!("while {} is renamed to it", self.old)
    }

    /// ClusterClasses with their clusters.
    fn classes<'n>(&self, world: &'n World) -> Vec<NumberedObject<'n>> {
        self.members(world).filter(|(_, object)| object.id.is(kinds::CORE, "ClusterClass")).collect()
    }

    fn members<'n>(&self, world: &'n World) -> impl Iterator<Item = NumberedObject<'n>> {
        let is_meant =
            |cluster: &Cluster| (cluster.name.is_some() || !world.has_entry) && (self.in_cluster)(cluster);
        let clusters: Vec<usize> = world
            .clusters
            .iter()
            .enumerate()
            .filter(|(_, cluster)| is_meant(cluster))
            .map(|(number, _)| number)
            .collect();
        clusters.into_iter().flat_map(move |number| {
            let members = world.written(&world.clusters[number]);
            members
                .filter(|(member, _)| member.target == ApplyTarget::Local)
                .map(move |(_, object)| (number, object))
        })
    }

    /// The class in every cluster that has it.
    fn of<'n>(&self, world: &'n World, id: &ObjectId) -> Vec<NumberedObject<'n>> {
        self.classes(world).into_iter().filter(|(_, object)| object.id == *id).collect()
    }

    /// The Clusters of the class.
    fn managed<'n>(&self, world: &'n World, id: &ObjectId) -> Vec<NumberedObject<'n>> {
        let is_of = |object: &Effective| {
            let managed = Managed { object: ScopedObject { id: &object.id, node: object.node.get_ref() } };
            managed.class_ref().is_some_and(|class| {
                class.name == *id.name && Some(&*class.namespace) == id.namespace.as_deref()
            })
        };
        self.members(world)
            .filter(|(_, object)| object.id.is(kinds::CORE, "Cluster") && is_of(object))
            .collect()
    }

    /// The entries of a ClusterClass of a name.
    fn entries<'n>(&self, class: &'n Effective, name: &str) -> Vec<NodeRef<'n>> {
        let node = class.node.get_ref();
        match self.part {
            ClassPartKind::Variable => named(node, "/spec/variables", "name", name).collect(),
            ClassPartKind::Worker => WorkerKind::BOTH
                .iter()
                .flat_map(|kind| {
                    named(node, &format!("/spec/workers/{}", kind.list()), "class", name).collect::<Vec<_>>()
                })
                .collect(),
        }
    }

    /// The class that is meant, where nothing stands in the way.
    fn check(&self) -> Result<ObjectId, Vec<Refused>> {
        let (old, new, what) = (&*self.old, &*self.new, self.part.what());
        let refuse = |place, why: String, help: &str| Err(vec![Refused::at(place, why, help)]);
        let (id, class) = self.class_that_is_meant()?;
        let node = class.node.get_ref();
        let mark = self.mark();
        let is_ours = |entry: &NodeRef<'_>| {
            let name = entry.get(self.part.key()).and_then(NodeRef::location);
            name.and_then(|place| comment_after(&self.world.snapshot, &place)).as_deref() == Some(&*mark)
        };
        if let Some(taken) = self.entries(class, new).into_iter().find(|entry| !is_ours(entry)) {
            let why = format!("there is a {what} {new} already");
            return refuse(taken.location(), why, "choose another name");
        }
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_name = match self.part {
            ClassPartKind::Variable => {
                !new.is_empty() && new.len() <= 256 && !new.contains(['.', '[', ']', ' ']) && new != "builtin"
            }
            ClassPartKind::Worker => !new.is_empty() && new.len() <= 256 && new.chars().all(plain),
        };
        if !is_name || new == old {
            return refuse(None, format!("`{new}` is no name for the {what} {old}"), "choose another");
        }
        for (_, patch) in (Class { object: ScopedObject { id: &id, node } }).patches() {
            if let Some(external) = patch.get("external") {
                let name = patch.str_at("/name").unwrap_or_default();
                let why =
                    format!("an extension makes the patch {name}: it may ask for the {what} by its name");
                return refuse(
                    external.location(),
                    why,
                    "let the extension know both names, and rename it by hand",
                );
            }
        }
        if self.part == ClassPartKind::Worker {
            self.check_selectors(node)?;
        } else {
            self.check_defaults(&id, node)?;
        }
        Ok(id)
    }

    /// The one class that has the part.
    fn class_that_is_meant(&self) -> Result<(ObjectId, &Effective), Vec<Refused>> {
        let (old, what) = (&*self.old, self.part.what());
        let refuse = |why: String, help: &str| Err(vec![Refused::at(None, why, help)]);
        let is_meant = |id: &ObjectId| {
            self.class.as_ref().is_none_or(|(namespace, name)| {
                *id.name == **name && (namespace.is_none() || namespace.as_deref() == id.namespace.as_deref())
            })
        };
        let mut found: BTreeMap<ObjectId, &Effective> = BTreeMap::new();
        let mut others = BTreeSet::new();
        for (_, class) in self.classes(self.world).into_iter().filter(|(_, class)| is_meant(&class.id)) {
            if !self.entries(class, old).is_empty() {
                found.insert(class.id.clone(), class);
            }
            let view = Class { object: ScopedObject { id: &class.id, node: class.node.get_ref() } };
            match self.part {
                ClassPartKind::Variable => others.extend(view.variables().into_iter().map(|(name, _)| name)),
                ClassPartKind::Worker => {
                    let workers = WorkerKind::BOTH.into_iter().flat_map(|kind| view.workers(kind));
                    others.extend(workers.filter_map(|worker| worker.class));
                }
            }
        }
        match found.len() {
            0 => {
                let meant = suggest(old, others.iter().map(String::as_str));
                let help =
                    meant.map_or("name one that is there".to_owned(), |name| format!("did you mean {name}?"));
                refuse(format!("no ClusterClass here has a {what} {old}"), &help)
            }
            1 => Ok(found.into_iter().next().expect("it has one")),
            _ => {
                let names: Vec<String> = found.keys().map(ToString::to_string).collect();
                let why = format!("{} have a {what} {old}", names.join(" and "));
                refuse(why, "add --class [NAMESPACE/]NAME")
            }
        }
    }

    /// Patterns that select one name and not the other, and names that reach Machines.
    fn check_selectors(&self, class: NodeRef<'_>) -> Result<(), Vec<Refused>> {
        for name in selectors(class) {
            let Some(pattern) = name.as_str() else { continue };
            if *pattern == *self.old || *pattern == *self.new {
                continue;
            }
            if matches_class(&pattern, &self.old) != matches_class(&pattern, &self.new) {
                let why = format!("`{pattern}` selects only one of {} and {}", self.old, self.new);
                let help = "choose a name that it selects as well, or list the names there first";
                return Err(vec![Refused::at(name.location(), why, help)]);
            }
        }
        for (node, is_template) in uses(class) {
            let text = node.as_str().unwrap_or_default();
            let builtins = ["builtin.machineDeployment.class", "builtin.machinePool.class"];
            let names = builtins.iter().any(|builtin| text.contains(builtin));
            if names || (is_template && template::places(&text, "\0").is_err()) {
                let why = "the name of the worker class is rendered into its Machines here".to_owned();
                let help = "another name would replace them; write the value out first";
                return Err(vec![Refused::at(node.location(), why, help)]);
            }
        }
        Ok(())
    }

    /// A default is written into each Cluster by the webhook, and nothing in the
    /// repository takes it out again.
    fn check_defaults(&self, id: &ObjectId, class: NodeRef<'_>) -> Result<(), Vec<Refused>> {
        let mut entries = named(class, "/spec/variables", "name", &self.old);
        let has_default = entries.any(|entry| entry.at("/schema/openAPIV3Schema/default").is_some());
        for (_, cluster) in self.managed(self.world, id).into_iter().filter(|_| has_default) {
            let node = cluster.node.get_ref();
            if named(node, "/spec/topology/variables", "name", &self.old).next().is_none() {
                let why = format!(
                    "{} takes the default of {}: Cluster API has written it into the Cluster, and would refuse it there afterwards",
                    cluster.id, self.old
                );
                let place = node.location_at("/spec/topology");
                return Err(vec![Refused::at(place, why, "set the variable in the Cluster first")]);
            }
        }
        Ok(())
    }

    /// Whether something still uses the old name.
    fn is_used(&self, world: &World, id: &ObjectId) -> Result<bool, Vec<Refused>> {
        Ok(match self.part {
            ClassPartKind::Worker => {
                let clusters = self.managed(world, id);
                clusters.iter().any(|(_, cluster)| !self.entries_of_cluster(cluster, &self.old).is_empty())
            }
            ClassPartKind::Variable => {
                let mut used = false;
                for (_, class) in self.of(world, id) {
                    used |= !self.use_edits(world, class)?.is_empty();
                }
                used
            }
        })
    }

    /// The entries of a Cluster that name it: in the topology and what overrides it.
    fn entries_of_cluster<'n>(&self, cluster: &'n Effective, name: &str) -> Vec<NodeRef<'n>> {
        let node = cluster.node.get_ref();
        lists_of_cluster(node, self.part)
            .iter()
            .flat_map(|list| named(node, list, self.part.key(), name).collect::<Vec<_>>())
            .collect()
    }

    /// The first step: a copy of each entry beside it.
    fn beside(&self, world: &World, id: &ObjectId) -> Result<Vec<Wanted>, Vec<Refused>> {
        let mut wanted = Vec::new();
        for (_, class) in self.of(world, id) {
            for entry in self.entries(class, &self.old) {
                wanted.push(self.copy(world, entry)?);
            }
            if self.part == ClassPartKind::Worker {
                for name in selectors(class.node.get_ref()) {
                    if name.as_str().as_deref() == Some(&*self.old) {
                        wanted.push(insert(world, name, Content::str(&*self.new))?);
                    }
                }
            }
        }
        for (_, cluster) in
            self.managed(world, id).into_iter().filter(|_| self.part == ClassPartKind::Variable)
        {
            for entry in self.entries_of_cluster(cluster, &self.old) {
                wanted.push(self.copy(world, entry)?);
            }
        }
        Ok(wanted)
    }

    fn copy(&self, world: &World, entry: NodeRef<'_>) -> Result<Wanted, Vec<Refused>> {
        let text = text(world, entry)?;
        let written = super::texts::root_of(&world.snapshot, &text.path, text.document);
        let content = written.as_ref().and_then(|root| root.get_ref().at(&text.pointer)).and_then(content);
        let Some(Content::Map(mut entries)) = content else {
            let why = format!("the {} {} can't be copied", self.part.what(), self.old);
            return Err(vec![Refused::at(entry.location(), why, "write its copy by hand")]);
        };
        for (key, value) in &mut entries {
            if key == self.part.key() {
                *value = Content::str(&*self.new);
            }
            if self.part == ClassPartKind::Variable && key == "required" {
                *value = Content::Bool(false);
            }
        }
        insert(world, entry, Content::Map(entries))
    }

    /// The second step: what uses it uses the new one.
    fn switched(&self, world: &World, id: &ObjectId) -> Result<Vec<Wanted>, Vec<Refused>> {
        let mut wanted = Vec::new();
        match self.part {
            ClassPartKind::Worker => {
                for (_, cluster) in self.managed(world, id) {
                    for entry in self.entries_of_cluster(cluster, &self.old) {
                        wanted.push(self.set(world, entry, "class", Content::str(&*self.new))?);
                    }
                }
            }
            ClassPartKind::Variable => {
                for (_, class) in self.of(world, id) {
                    wanted.extend(self.use_edits(world, class)?);
                    for entry in self.entries(class, &self.old) {
                        if entry.at("/required").and_then(NodeRef::as_bool) != Some(true) {
                            continue;
                        }
                        wanted.push(self.set(world, entry, "required", Content::Bool(false))?);
                        for twin in self.entries(class, &self.new) {
                            wanted.push(self.set(world, twin, "required", Content::Bool(true))?);
                        }
                    }
                }
            }
        }
        Ok(wanted)
    }

    /// The last step: the copies go, what they were made of gets their name.
    fn gone(&self, world: &World, id: &ObjectId) -> Result<Vec<Wanted>, Vec<Refused>> {
        let mut wanted = Vec::new();
        let mut replace = |olds: Vec<NodeRef<'_>>, news: Vec<NodeRef<'_>>| -> Result<(), Vec<Refused>> {
            for old in olds {
                wanted.push(self.set(world, old, self.part.key(), Content::str(&*self.new))?);
                let is_required =
                    |node: &NodeRef<'_>| node.at("/required").and_then(NodeRef::as_bool) == Some(true);
                if news.iter().any(is_required) && !is_required(&old) {
                    wanted.push(self.set(world, old, "required", Content::Bool(true))?);
                }
            }
            for new in news {
                wanted.push(remove(world, new)?);
            }
            Ok(())
        };
        for (_, class) in self.of(world, id) {
            replace(self.entries(class, &self.old), self.entries(class, &self.new))?;
        }
        if self.part == ClassPartKind::Variable {
            for (_, cluster) in self.managed(world, id) {
                replace(
                    self.entries_of_cluster(cluster, &self.old),
                    self.entries_of_cluster(cluster, &self.new),
                )?;
            }
            return Ok(wanted);
        }
        for (_, class) in self.of(world, id) {
            for name in selectors(class.node.get_ref()) {
                match name.as_str() {
                    Some(text) if *text == *self.old => {
                        let text = text_at(world, name)?;
                        let operation = Operation::Set {
                            pointer: text.pointer,
                            value: Content::str(&*self.new),
                            comment: None,
                        };
                        wanted.push(Wanted { path: text.path, document: text.document, operation });
                    }
                    Some(text) if *text == *self.new => wanted.push(remove(world, name)?),
                    _ => {}
                }
            }
        }
        Ok(wanted)
    }

    fn set(
        &self,
        world: &World,
        entry: NodeRef<'_>,
        key: &str,
        value: Content,
    ) -> Result<Wanted, Vec<Refused>> {
        let text = match entry.get(key) {
            Some(node) => text_at(world, node)?,
            None => {
                let entry = text(world, entry)?;
                EditableText { pointer: format!("{}/{key}", entry.pointer), ..entry }
            }
        };
        let operation = Operation::Set { pointer: text.pointer, value, comment: None };
        Ok(Wanted { path: text.path, document: text.document, operation })
    }

    /// Whether two worlds say the same, the two names being one.
    fn prove(&self, before: &World, after: &World, id: &ObjectId) -> Result<(), Vec<Refused>> {
        let clusters: BTreeSet<ObjectId> =
            self.managed(before, id).into_iter().map(|(_, object)| object.id.clone()).collect();
        let allowed = |object: &ObjectId, pointer: &str, _: Option<&str>, _: Option<&str>| {
            pointer.starts_with("/spec/") && (object == id || clusters.contains(object))
        };
        same(before, after, Difference { renamed: None, pins: &[], allowed: &allowed })
            .map_err(|refused| vec![refused])?;
        let bug = |why: String| vec![Refused::at(None, why, "change it by hand, and look at `forebay plan`")];
        let pairs =
            [(self.of(before, id), self.of(after, id)), (self.managed(before, id), self.managed(after, id))];
        let normal = |object: &Effective| parts::normal(self.part, &self.old, &self.new, object);
        for (olds, news) in pairs {
            for (number, object) in olds {
                let twin = news.iter().find(|(other, new)| *other == number && new.id == object.id);
                let Some((_, twin)) = twin else { return Err(bug(format!("{} would be gone", object.id))) };
                let (one, other) = (normal(object).map_err(bug)?, normal(twin).map_err(bug)?);
                if one != other {
                    return Err(bug(format!("{} would differ by more than the name", object.id)));
                }
            }
        }
        if self.part == ClassPartKind::Worker {
            let replaced = plan::plan(before, after).into_iter().find(|effect| {
                effect.category() == Category::Machines && effect.severity == Severity::Disruptive
            });
            if let Some(effect) = replaced {
                return Err(bug(format!("Machines of {} would be replaced", effect.object)));
            }
        }
        Ok(())
    }
}

/// How to see that a step has reached the Clusters.
fn wait_for(clusters: &[NumberedObject<'_>]) -> Vec<String> {
    let mut out =
        vec!["flux get kustomizations --all-namespaces  # all are Ready at the new revision".to_owned()];
    let ids: BTreeSet<&ObjectId> = clusters.iter().map(|(_, cluster)| &cluster.id).collect();
    out.extend(ids.iter().take(4).map(|id| {
        let namespace = id.namespace.as_deref().unwrap_or("default");
        format!(
            "kubectl wait -n {namespace} cluster.cluster.x-k8s.io/{} --for=condition=TopologyReconciled",
            id.name
        )
    }));
    if ids.len() > 4 {
        out.push(format!("kubectl get clusters -A  # and {} more", ids.len() - 4));
    }
    out
}
