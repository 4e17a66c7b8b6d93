//! Giving a worker class or a variable of a ClusterClass another name.
//!
//! Cluster API refuses a ClusterClass that lacks a worker class which a Cluster uses,
//! and a Cluster with a variable that its class does not define; a refused object stops
//! all that is applied with it. So the new name first stands beside the old one, as a
//! copy; then what uses it takes the new one; then the copy goes, and what was there
//! from the beginning, with its comments, gets the new name.
//! Source: cluster-api `ClusterClassesAreCompatible`,
//! `validateUpdatesToMachineDeploymentClasses`, `ValidateClusterVariables`.

use super::same::{Difference, same};
use super::{Proof, Rebuild, Refused, Series, apply, changed, template};
use crate::model::cluster_api_kinds as kinds;
use crate::model::{Category, ObjectId, Severity};
use crate::plan;
use crate::repo::Snapshot;
use crate::rewrite::subject::{Text, text_of};
use crate::rewrite::{FileChange, Wanted};
use crate::simulate::propagation::WorkerKind;
use crate::simulate::references::Object;
use crate::simulate::suspend::comment_after;
use crate::simulate::topology::patches::matches_class;
use crate::simulate::topology::value::to_json;
use crate::simulate::topology::{Class, Cluster as Managed};
use crate::text::suggest;
use crate::world::{ApplyTarget, Cluster, Effective, World};
use crate::yaml::NodeRef;
use crate::yaml::edit::{Content, Operation};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What of a ClusterClass is renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A class of MachineDeployments or MachinePools.
    Worker,
    /// A variable.
    Variable,
}

impl Part {
    fn what(self) -> &'static str {
        match self {
            Part::Worker => "worker class",
            Part::Variable => "variable",
        }
    }

    /// The key that names an entry of its lists.
    fn key(self) -> &'static str {
        match self {
            Part::Worker => "class",
            Part::Variable => "name",
        }
    }
}

/// What is renamed.
pub struct PartOfClass<'w> {
    /// The repository.
    pub world: &'w World,
    /// Which kind of part.
    pub part: Part,
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
type Placed<'n> = (usize, &'n Effective);

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
                Part::Worker => "Cluster API refuses a class that lacks what a Cluster uses: its Kustomization stops, with all that it applies".to_owned(),
                Part::Variable => "Cluster API refuses a Cluster with a variable that its class does not define, or renders without its value".to_owned(),
            }],
            ..Series::default()
        };
        let clusters = self.managed(self.world, &id);
        let wait_for = wait_for(&clusters);
        let is_beside =
            self.of(self.world, &id).iter().all(|(_, class)| !self.entries(class, new).is_empty());
        let mark = self.mark();
        let is_used = self.is_used(self.world, &id)?;
        let titles = match self.part {
            Part::Worker => [
                format!("{new} stands beside {old}, with the same templates and patches"),
                format!("Clusters use {new} in the place of {old}"),
                format!("{old} goes"),
            ],
            Part::Variable => [
                format!("{new} stands beside {old}, with its schema and values"),
                format!("patches use {new} in the place of {old}"),
                format!("{old} goes"),
            ],
        };
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

    /// The comment that tells a copy from what was there before.
    fn mark(&self) -> String {
        format!("while {} is renamed to it", self.old)
    }

    /// ClusterClasses with their clusters.
    fn classes<'n>(&self, world: &'n World) -> Vec<Placed<'n>> {
        self.members(world).filter(|(_, object)| object.id.is(kinds::CORE, "ClusterClass")).collect()
    }

    fn members<'n>(&self, world: &'n World) -> impl Iterator<Item = Placed<'n>> {
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
            let members = world.members(&world.clusters[number]);
            members
                .filter(|(member, _)| member.target == ApplyTarget::Local)
                .map(move |(_, object)| (number, object))
        })
    }

    /// The class in every cluster that has it.
    fn of<'n>(&self, world: &'n World, id: &ObjectId) -> Vec<Placed<'n>> {
        self.classes(world).into_iter().filter(|(_, object)| object.id == *id).collect()
    }

    /// The Clusters of the class.
    fn managed<'n>(&self, world: &'n World, id: &ObjectId) -> Vec<Placed<'n>> {
        let is_of = |object: &Effective| {
            let managed = Managed { object: Object { id: &object.id, node: object.node.get_ref() } };
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
            Part::Variable => named(node, "/spec/variables", "name", name).collect(),
            Part::Worker => WorkerKind::BOTH
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
            let view = Class { object: Object { id: &class.id, node: class.node.get_ref() } };
            match self.part {
                Part::Variable => others.extend(view.variables().into_iter().map(|(name, _)| name)),
                Part::Worker => {
                    let workers = WorkerKind::BOTH.into_iter().flat_map(|kind| view.workers(kind));
                    others.extend(workers.filter_map(|worker| worker.class));
                }
            }
        }
        let (id, class) = match found.len() {
            0 => {
                let meant = suggest(old, others.iter().map(String::as_str));
                let help =
                    meant.map_or("name one that is there".to_owned(), |name| format!("did you mean {name}?"));
                return refuse(None, format!("no ClusterClass here has a {what} {old}"), &help);
            }
            1 => found.into_iter().next().expect("it has one"),
            _ => {
                let names: Vec<String> = found.keys().map(ToString::to_string).collect();
                let why = format!("{} have a {what} {old}", names.join(" and "));
                return refuse(None, why, "add --class [NAMESPACE/]NAME");
            }
        };
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
            Part::Variable => {
                !new.is_empty() && new.len() <= 256 && !new.contains(['.', '[', ']', ' ']) && new != "builtin"
            }
            Part::Worker => !new.is_empty() && new.len() <= 256 && new.chars().all(plain),
        };
        if !is_name || new == old {
            return refuse(None, format!("`{new}` is no name for the {what} {old}"), "choose another");
        }
        for (_, patch) in (Class { object: Object { id: &id, node } }).patches() {
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
        if self.part == Part::Worker {
            self.check_selectors(node)?;
        } else {
            self.check_defaults(&id, node)?;
        }
        Ok(id)
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
            Part::Worker => {
                let clusters = self.managed(world, id);
                clusters.iter().any(|(_, cluster)| !self.entries_of_cluster(cluster, &self.old).is_empty())
            }
            Part::Variable => {
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
            if self.part == Part::Worker {
                for name in selectors(class.node.get_ref()) {
                    if name.as_str().as_deref() == Some(&*self.old) {
                        wanted.push(insert(world, name, Content::str(&*self.new))?);
                    }
                }
            }
        }
        for (_, cluster) in self.managed(world, id).into_iter().filter(|_| self.part == Part::Variable) {
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
            if self.part == Part::Variable && key == "required" {
                *value = Content::Bool(false);
            }
        }
        insert(world, entry, Content::Map(entries))
    }

    /// The second step: what uses it uses the new one.
    fn switched(&self, world: &World, id: &ObjectId) -> Result<Vec<Wanted>, Vec<Refused>> {
        let mut wanted = Vec::new();
        match self.part {
            Part::Worker => {
                for (_, cluster) in self.managed(world, id) {
                    for entry in self.entries_of_cluster(cluster, &self.old) {
                        wanted.push(self.set(world, entry, "class", Content::str(&*self.new))?);
                    }
                }
            }
            Part::Variable => {
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
        if self.part == Part::Variable {
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
                Text { pointer: format!("{}/{key}", entry.pointer), ..entry }
            }
        };
        let operation = Operation::Set { pointer: text.pointer, value, comment: None };
        Ok(Wanted { path: text.path, document: text.document, operation })
    }

    /// The changes of patches that use the old variable.
    fn use_edits(&self, world: &World, class: &Effective) -> Result<Vec<Wanted>, Vec<Refused>> {
        let snapshot = &world.snapshot;
        let (old, new) = (&*self.old, &*self.new);
        let mut wanted = Vec::new();
        for (node, is_template) in uses(class.node.get_ref()) {
            let Some(value) = node.as_str() else { continue };
            if !is_template {
                let rest =
                    value.strip_prefix(old).filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
                if let Some(rest) = rest {
                    let text = text_at(world, node)?;
                    let operation = Operation::Set {
                        pointer: text.pointer,
                        value: Content::str(format!("{new}{rest}")),
                        comment: None,
                    };
                    wanted.push(Wanted { path: text.path, document: text.document, operation });
                }
                continue;
            }
            let by_hand = |why: String| {
                vec![Refused::at(
                    node.location(),
                    why,
                    "write the template so that each variable is named, as `.NAME`",
                )]
            };
            let found = template::places(&value, old).map_err(|why| by_hand(why.to_owned()))?;
            if found.is_empty() {
                continue;
            }
            let is_field = new.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && new.chars().all(|c| c.is_alphanumeric() || c == '_');
            if !is_field {
                let why = format!("`.{new}` is no field in this template");
                return Err(vec![Refused::at(node.location(), why, "choose a name of letters and digits")]);
            }
            let text = text_at(world, node)?;
            let raw = node.location().and_then(|place| {
                let stream = snapshot.stream(snapshot.file(&place.path)?)?;
                Some((place.start, stream.text.get(place.start as usize..place.end as usize)?))
            });
            let places: Vec<(u32, u32)> = raw
                .and_then(|(start, raw)| {
                    let places = template::places(raw, old).ok()?;
                    Some(
                        places
                            .into_iter()
                            .map(|at| (start + at as u32, start + (at + old.len()) as u32))
                            .collect(),
                    )
                })
                .unwrap_or_default();
            if places.len() != found.len() {
                return Err(by_hand(format!("`.{old}` is not written here as it is meant")));
            }
            let operation = Operation::ReplaceWithin { places, text: new.to_owned() };
            wanted.push(Wanted { path: text.path, document: text.document, operation });
        }
        Ok(wanted)
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
        for (olds, news) in pairs {
            for (number, object) in olds {
                let twin = news.iter().find(|(other, new)| *other == number && new.id == object.id);
                let Some((_, twin)) = twin else { return Err(bug(format!("{} would be gone", object.id))) };
                let (one, other) = (self.normal(object).map_err(bug)?, self.normal(twin).map_err(bug)?);
                if one != other {
                    return Err(bug(format!("{} would differ by more than the name", object.id)));
                }
            }
        }
        if self.part == Part::Worker {
            let replaced = plan::plan(before, after).into_iter().find(|effect| {
                effect.category() == Category::Machines && effect.severity == Severity::Disruptive
            });
            if let Some(effect) = replaced {
                return Err(bug(format!("Machines of {} would be replaced", effect.object)));
            }
        }
        Ok(())
    }

    /// An object with the old name wherever the new one stands, copies being one.
    fn normal(&self, object: &Effective) -> Result<Value, String> {
        let mut value = to_json(object.node.get_ref());
        let (old, new) = (&*self.old, &*self.new);
        let is_class = object.id.is(kinds::CORE, "ClusterClass");
        let lists: Vec<String> = match (self.part, is_class) {
            (Part::Variable, true) => vec!["/spec/variables".to_owned()],
            (Part::Worker, true) => {
                WorkerKind::BOTH.iter().map(|kind| format!("/spec/workers/{}", kind.list())).collect()
            }
            (_, false) => lists_of_cluster(object.node.get_ref(), self.part),
        };
        for list in lists {
            let Some(Value::Array(entries)) = value.pointer_mut(&list) else { continue };
            for entry in entries.iter_mut() {
                if let Some(Value::String(name)) = entry.get_mut(self.part.key())
                    && name == new
                {
                    *name = old.to_owned();
                }
            }
            if self.part == Part::Variable || is_class {
                merge(entries, self.part.key(), old)?;
            }
        }
        let Some(Value::Array(patches)) = value.pointer_mut("/spec/patches").filter(|_| is_class) else {
            return Ok(value);
        };
        let text = |value: Option<&mut Value>, rename: &dyn Fn(&str) -> String| {
            if let Some(Value::String(text)) = value {
                *text = rename(text);
            }
        };
        for patch in patches {
            if self.part == Part::Variable {
                text(patch.get_mut("enabledIf"), &|text| template::renamed(text, new, old));
            }
            let Some(Value::Array(definitions)) = patch.get_mut("definitions") else { continue };
            for definition in definitions {
                if self.part == Part::Worker {
                    for list in ["machineDeploymentClass", "machinePoolClass"] {
                        let names = definition.pointer_mut(&format!("/selector/matchResources/{list}/names"));
                        let Some(Value::Array(names)) = names else { continue };
                        let mut seen = false;
                        names.retain_mut(|name| {
                            if name == new {
                                *name = Value::String(old.to_owned());
                            }
                            let again = name == old && seen;
                            seen |= name == old;
                            !again
                        });
                    }
                    continue;
                }
                let Some(Value::Array(patches)) = definition.get_mut("jsonPatches") else { continue };
                for patch in patches {
                    text(patch.pointer_mut("/valueFrom/template"), &|text| template::renamed(text, new, old));
                    text(patch.pointer_mut("/valueFrom/variable"), &|text| match text.strip_prefix(new) {
                        Some(rest) if rest.is_empty() || rest.starts_with(['.', '[']) => {
                            format!("{old}{rest}")
                        }
                        _ => text.to_owned(),
                    });
                }
            }
        }
        Ok(value)
    }
}

/// Entries of one name are one, required where one of them is.
fn merge(entries: &mut Vec<Value>, key: &str, name: &str) -> Result<(), String> {
    let mut first: Option<(usize, Value)> = None;
    let mut required = false;
    let mut kept = Vec::new();
    for mut entry in std::mem::take(entries) {
        if entry.get(key).and_then(Value::as_str) != Some(name) {
            kept.push(entry);
            continue;
        }
        required |= entry.get("required") == Some(&Value::Bool(true));
        if let Value::Object(map) = &mut entry {
            map.remove("required");
        }
        match &first {
            Some((_, known)) if *known != entry => return Err(format!("the copy of {name} is not the same")),
            Some(_) => {}
            None => {
                first = Some((kept.len(), entry.clone()));
                kept.push(entry);
            }
        }
    }
    if let Some((at, _)) = first
        && required
    {
        kept[at]["required"] = Value::Bool(true);
    }
    *entries = kept;
    Ok(())
}

/// Entries of a list that a key names so.
fn named<'n>(
    node: NodeRef<'n>,
    list: &str,
    key: &'static str,
    name: &str,
) -> impl Iterator<Item = NodeRef<'n>> {
    let name = name.to_owned();
    node.items_at(list)
        .filter(move |entry| entry.get(key).and_then(NodeRef::as_str).as_deref() == Some(&*name))
}

/// The lists of a Cluster whose entries name parts of its class.
fn lists_of_cluster(node: NodeRef<'_>, part: Part) -> Vec<String> {
    let workers = WorkerKind::BOTH.map(|kind| format!("/spec/topology/workers/{}", kind.list()));
    if part == Part::Worker {
        return workers.into();
    }
    let mut lists = vec![
        "/spec/topology/variables".to_owned(),
        "/spec/topology/controlPlane/variables/overrides".to_owned(),
    ];
    for list in workers {
        for at in 0..node.items_at(&list).count() {
            lists.push(format!("{list}/{at}/variables/overrides"));
        }
    }
    lists
}

/// The names by which patches select worker classes.
fn selectors(class: NodeRef<'_>) -> Vec<NodeRef<'_>> {
    let definitions = class.items_at("/spec/patches").flat_map(|patch| patch.items_at("/definitions"));
    definitions
        .flat_map(|definition| {
            ["machineDeploymentClass", "machinePoolClass"].into_iter().flat_map(move |list| {
                definition.items_at(&format!("/selector/matchResources/{list}/names")).collect::<Vec<_>>()
            })
        })
        .collect()
}

/// Where patches use variables: the text, and whether it is a template.
fn uses(class: NodeRef<'_>) -> Vec<(NodeRef<'_>, bool)> {
    let mut found = Vec::new();
    for patch in class.items_at("/spec/patches") {
        found.extend(patch.get("enabledIf").map(|node| (node, true)));
        for json in patch.items_at("/definitions").flat_map(|definition| definition.items_at("/jsonPatches"))
        {
            found.extend(json.at("/valueFrom/template").map(|node| (node, true)));
            found.extend(json.at("/valueFrom/variable").map(|node| (node, false)));
        }
    }
    found
}

/// The text of an entry.
fn text(world: &World, entry: NodeRef<'_>) -> Result<Text, Vec<Refused>> {
    text_of(&world.snapshot, entry)
        .ok_or_else(|| vec![Refused::at(entry.location(), "no file states this alone", "change it by hand")])
}

/// The text of a scalar that is written as it is meant.
fn text_at(world: &World, node: NodeRef<'_>) -> Result<Text, Vec<Refused>> {
    let found = text(world, node)?;
    let written = super::texts::root_of(&world.snapshot, &found.path, found.document);
    let written = written.as_ref().and_then(|root| root.get_ref().at(&found.pointer)).and_then(NodeRef::text);
    if written.as_deref() != node.text().as_deref() {
        let why = format!("`{}` is computed here", node.text().unwrap_or_default());
        return Err(vec![Refused::at(node.location(), why, "write it out first")]);
    }
    Ok(found)
}

/// A list and the place in it of an item.
fn place(world: &World, item: NodeRef<'_>) -> Result<(Text, usize), Vec<Refused>> {
    let text = text(world, item)?;
    let split =
        text.pointer.rsplit_once('/').and_then(|(list, at)| Some((list.to_owned(), at.parse().ok()?)));
    match split {
        Some((list, at)) => Ok((Text { pointer: list, ..text }, at)),
        None => Err(vec![Refused::at(item.location(), "this is no item of a list", "change it by hand")]),
    }
}

fn insert(world: &World, item: NodeRef<'_>, value: Content) -> Result<Wanted, Vec<Refused>> {
    let (list, at) = place(world, item)?;
    let root = super::texts::root_of(&world.snapshot, &list.path, list.document);
    let count = root.as_ref().map_or(0, |root| root.get_ref().items_at(&list.pointer).count());
    let before = (at + 1 < count).then_some(at + 1);
    let operation = Operation::InsertItem { list: list.pointer, before, value };
    Ok(Wanted { path: list.path, document: list.document, operation })
}

/// The changes of insertions, with a comment behind the names of what was inserted.
fn marked(
    snapshot: &Snapshot,
    changes: Vec<FileChange>,
    wanted: &[Wanted],
    (key, name, mark): (&str, &str, &str),
) -> Result<Vec<FileChange>, Vec<Refused>> {
    let mut marks = Vec::new();
    for one in wanted {
        let Operation::InsertItem { list, before, value: Content::Map(_) } = &one.operation else { continue };
        let root = super::texts::root_of(snapshot, &one.path, one.document);
        let count = root.as_ref().map_or(0, |root| root.get_ref().items_at(list).count());
        let pointer = format!("{list}/{}/{key}", before.unwrap_or(count));
        let operation = Operation::Set { pointer, value: Content::str(name), comment: Some(mark.to_owned()) };
        marks.push(Wanted { operation, ..one.clone() });
    }
    let mut again = apply(&changed(snapshot, &changes), &marks)?;
    for change in changes {
        match again.iter_mut().find(|one| one.path == change.path) {
            Some(one) => one.before = change.before,
            None => again.push(change),
        }
    }
    again.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(again)
}

fn remove(world: &World, item: NodeRef<'_>) -> Result<Wanted, Vec<Refused>> {
    let text = text(world, item)?;
    let operation = Operation::RemoveItem { pointer: text.pointer };
    Ok(Wanted { path: text.path, document: text.document, operation })
}

/// A value as it can be written again; none where a number is no integer.
fn content(node: NodeRef<'_>) -> Option<Content> {
    if node.is_map() {
        let entries = node.entries().map(|entry| Some((entry.key.to_string(), content(entry.value)?)));
        return entries.collect::<Option<Vec<_>>>().map(Content::Map);
    }
    if node.is_seq() {
        return node.items().map(content).collect::<Option<Vec<_>>>().map(Content::Seq);
    }
    if node.is_null() {
        return Some(Content::Null);
    }
    if let Some(value) = node.as_bool() {
        return Some(Content::Bool(value));
    }
    if let Some(text) = node.as_str() {
        return Some(Content::str(text.into_owned()));
    }
    node.as_int().map(Content::Int)
}

/// How to see that a step has reached the Clusters.
fn wait_for(clusters: &[Placed<'_>]) -> Vec<String> {
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
