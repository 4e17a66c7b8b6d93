//! Giving an object another name.

use super::same::{Difference, same};
use super::steps::{Guard, Hand, MARK_PIN, commands, guards, ungarded};
use super::{Proof, Rebuild, Refused, Rename, Series, apply, changed, texts};
use crate::lang::text::with_article;
use crate::lang::yaml::Location;
use crate::lang::yaml::edit::{Content, KeyPlace, Operation, Prune};
use crate::model::cluster_api_kinds as cluster_api;
use crate::model::{Category, Name, ObjectId, Severity, kinds};
use crate::plan;
use crate::rewrite::subject::{Subject, manifest_of};
use crate::rewrite::{FileChange, Wanted};
use crate::simulate::suspend::comment_after;
use crate::simulate::takeover::helm::WantedRelease;
use crate::world::{ApplyTarget, Cluster, World};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Whether a text can be the name of an object of a kind.
/// Source: apimachinery `pkg/api/validation` `NameIsDNSSubdomain`,
/// `NameIsDNS1035Label` (Services), `pkg/util/validation`.
pub(crate) fn is_name(id: &ObjectId, name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let label = |label: &str| {
        label.starts_with(plain) && label.ends_with(plain) && label.chars().all(|c| plain(c) || c == '-')
    };
    if matches!((id.group(), &*id.kind), ("rbac.authorization.k8s.io", _)) {
        return if name.is_empty() || name.contains(['/', '%']) {
            Err("it holds / or %".into())
        } else {
            Ok(())
        };
    }
    if name.len() > 253 || !name.split('.').all(label) {
        return Err("names are lower-case letters, digits, `-` and `.`, at most 253".to_owned());
    }
    let is_label = matches!((id.group(), &*id.kind), ("", "Service" | "Namespace"));
    if is_label && (name.contains('.') || name.len() > 63) {
        return Err(format!("names of {} have no `.` and at most 63 letters", with_article(&id.kind)));
    }
    Ok(())
}

impl Rename<'_> {
    /// Its steps.
    ///
    /// # Errors
    /// Every reason why it is not done.
    pub fn series(&self, rebuild: &Rebuild<'_>) -> Result<Series, Vec<Refused>> {
        self.check()?;
        let id = ObjectId { name: Arc::from(&*self.new), ..self.old.clone() };
        let (clusters, many) = clusters_of(&self.subjects);
        let mut series = Series {
            headline: format!("{} is called {} in {clusters}", self.old, self.new),
            left: texts::left_alone(self.world, &self.subjects, &self.old),
            ..Series::default()
        };
        let snapshot = &self.world.snapshot;
        let first = &self.subjects[0];
        let mark = format!("while it is renamed to {}", self.new);
        let guard = Guard::of(self, &mark)?;
        if guard == Guard::None {
            let (changes, after) = self.rename(self.world, rebuild, &mark)?;
            let proof = self.prove(self.world, &after)?;
            let title = format!("it is called {}", self.new);
            let wait_for = commands::settled(self, &after);
            series.push(title, changes, wait_for, proof);
        } else {
            let prepared = guards::are_set(self, guard, &mark);
            let (guarded, changes) = match prepared {
                true => (None, Vec::new()),
                false => {
                    let changes = apply(snapshot, &guards::set(self, guard, &mark)?)?;
                    (Some(rebuild(&changed(snapshot, &changes))), changes)
                }
            };
            let between = guarded.as_ref().unwrap_or(self.world);
            if !prepared {
                // The naive way, in one commit.
                let (_, naive) = self.rename(self.world, rebuild, &mark)?;
                series.naive = guards::lost(self, &naive);
                self.guards_only(between, guard)?;
            }
            let next = self.again(between)?;
            let wait_for = commands::guarded(self, guard);
            series.push(guard.title(&self.new), changes, wait_for, Proof::unchanged()).done = prepared;
            let (changes, after) = next.rename(between, rebuild, &mark)?;
            let proof = next.prove(between, &after)?;
            let title = format!("it is called {}{}", self.new, guard.undone());
            let wait_for = commands::settled(self, &after);
            series.push(title, changes, wait_for, proof);
        }
        Hand { rename: self, guard, many }.tell(first, &id, &mut series);
        Ok(series)
    }

    /// The same in another world.
    fn again<'n>(&self, world: &'n World) -> Result<Rename<'n>, Vec<Refused>> {
        let mut subjects = Vec::new();
        for subject in &self.subjects {
            let number = self.world.clusters.iter().position(|one| std::ptr::eq(one, subject.cluster));
            let cluster = number.and_then(|number| world.clusters.get(number));
            let found = cluster.and_then(|cluster| {
                let object = world
                    .written(cluster)
                    .find(|(member, object)| member.target == ApplyTarget::Local && object.id == self.old);
                object.map(|(_, object)| Subject { cluster, object })
            });
            match found {
                Some(found) => subjects.push(found),
                None => {
                    return Err(vec![Refused::at(
                        None,
                        format!("{} is not there any more", self.old),
                        "report this as a bug",
                    )]);
                }
            }
        }
        Ok(Rename { world, subjects, old: self.old.clone(), new: self.new.clone() })
    }

    /// What is never renamed, and names that are taken.
    fn check(&self) -> Result<(), Vec<Refused>> {
        let old = &self.old;
        let refuse =
            |place: Option<Location>, why: String, help: &str| Err(vec![Refused::at(place, why, help)]);
        if let Err(why) = is_name(old, &self.new) {
            return refuse(
                None,
                format!("`{}` is no name for {}: {why}", self.new, with_article(&old.kind)),
                "choose another",
            );
        }
        let first = name_place(&self.subjects[0]);
        let lasting = lasting(old);
        if let Some((why, help)) = lasting {
            return refuse(first, format!("{old} can't be renamed: {why}"), help);
        }
        self.subjects.iter().try_for_each(|subject| self.check_in(subject))
    }

    /// Whether the name is free in a cluster, and the object one that the repository names.
    fn check_in(&self, subject: &Subject<'_>) -> Result<(), Vec<Refused>> {
        let (old, cluster) = (&self.old, subject.cluster);
        let refuse = |why: String, help: &str| Err(vec![Refused::at(name_place(subject), why, help)]);
        let taken = cluster.find(
            &ApplyTarget::Local,
            Name::new(old.group(), &old.kind, old.namespace.as_deref(), &self.new),
        );
        if let Some(taken) = taken {
            let other = with_article(&self.world.object(taken.object).id.to_string());
            let why = format!("there is {other} in {} already", cluster.label());
            return refuse(why, "choose another name");
        }
        if is_root(cluster, old) {
            let label = cluster.label();
            let why = format!("{old} is what {label} begins with: whoever bootstrapped it named it");
            return refuse(why, "bootstrap again under the new name, beside the old one");
        }
        if cluster.generated.iter().any(|(id, _)| id == old) {
            return refuse(format!("a controller makes {old}"), "rename what it is made of");
        }
        if texts::applier(self.world, subject).is_none() && cluster.name.is_some() && Guard::needs(subject) {
            let why = format!("nothing in the repository applies {old} in {}", cluster.label());
            return refuse(why, "rename it where it is applied");
        }
        Ok(())
    }

    /// The rename itself on top of a world, proven to be nothing else.
    fn rename(
        &self,
        world: &World,
        rebuild: &Rebuild<'_>,
        mark: &str,
    ) -> Result<(Vec<FileChange>, World), Vec<Refused>> {
        let mut wanted = texts::all(world, &self.subjects, &self.old, &self.new)?;
        wanted.extend(ungarded(self, mark));
        wanted.extend(self.pins()?);
        let changes = apply(&world.snapshot, &wanted)?;
        let after = rebuild(&changed(&world.snapshot, &changes));
        same(
            world,
            &after,
            Difference {
                renamed: Some((&self.subjects, &self.old, &self.new)),
                pins: &PINS,
                allowed: &|_, _, _, _| false,
            },
        )
        .map_err(|refused| vec![refused])?;
        self.same_release(&after)?;
        Ok((changes, after))
    }

    /// What keeps the installed release of a HelmRelease: its name, written out; taken
    /// away where it is what the name gives again.
    fn pins(&self) -> Result<Vec<Wanted>, Vec<Refused>> {
        let mut wanted = Vec::new();
        if !kinds::is_helm_release(&self.old) {
            return Ok(wanted);
        }
        let snapshot = &self.world.snapshot;
        for subject in &self.subjects {
            let node = subject.object.node.get_ref();
            let unknown = || {
                let why = format!("it is not known under which name {} is installed", self.old);
                vec![Refused::at(node.location(), why, "write spec.releaseName first")]
            };
            let release = WantedRelease::of(&self.old, node).ok_or_else(unknown)?;
            let text = manifest_of(snapshot, subject.object).ok_or_else(unknown)?;
            let written = node.at("/spec/releaseName").filter(|value| !value.is_null());
            let operation = match written {
                None => {
                    let head = text.keys(snapshot, "/spec").into_iter().next();
                    Operation::InsertKey {
                        map: format!("{}/spec", text.pointer),
                        key: "releaseName".to_owned(),
                        value: Content::str(release.name),
                        place: head.map_or(KeyPlace::End, KeyPlace::Before),
                        comment: Some(MARK_PIN.to_owned()),
                    }
                }
                Some(value) => {
                    let is_ours = value.location().and_then(|at| comment_after(snapshot, &at)).as_deref()
                        == Some(MARK_PIN);
                    let plain = match node.str_at("/spec/targetNamespace").filter(|text| !text.is_empty()) {
                        Some(namespace) => format!("{namespace}-{}", self.new),
                        None => self.new.clone(),
                    };
                    if !is_ours || plain != release.name {
                        continue;
                    }
                    Operation::RemoveKey {
                        pointer: format!("{}/spec/releaseName", text.pointer),
                        prune: Prune::Keep,
                    }
                }
            };
            let one = Wanted { path: text.path, document: text.document, operation };
            if !wanted.contains(&one) {
                wanted.push(one);
            }
        }
        Ok(wanted)
    }

    fn same_release(&self, after: &World) -> Result<(), Vec<Refused>> {
        if !kinds::is_helm_release(&self.old) {
            return Ok(());
        }
        let id = ObjectId { name: Arc::from(&*self.new), ..self.old.clone() };
        for subject in &self.subjects {
            let was = WantedRelease::of(&self.old, subject.object.node.get_ref());
            let renamed = after.objects.iter().filter(|object| object.id == id);
            let mut now = renamed.map(|object| WantedRelease::of(&object.id, object.node.get_ref()));
            let kept = |now: Option<WantedRelease>| match (&was, now) {
                (Some(was), Some(now)) => now.changes(was).is_none(),
                _ => false,
            };
            if !now.all(kept) {
                let why = format!("{} would be installed as another release", self.old);
                let help = "write its spec.releaseName where that is decided first";
                return Err(vec![Refused::at(subject.object.node.get_ref().location_at("/spec"), why, help)]);
            }
        }
        Ok(())
    }

    /// Whether the change of the first step is seen by the subjects and no one else.
    fn guards_only(&self, between: &World, guard: Guard) -> Result<(), Vec<Refused>> {
        let id = &self.old;
        let allowed = |object: &ObjectId, pointer: &str, _: Option<&str>, _: Option<&str>| {
            object == id && PINS.iter().any(|pin| pointer.starts_with(pin))
        };
        same(self.world, between, Difference { renamed: None, pins: &[], allowed: &allowed })
            .map_err(|refused| vec![refused])?;
        for subject in &self.again(between)?.subjects {
            if !guard.holds(subject.object.node.get_ref()) {
                let why = format!("{} would stay as it is: something else decides on it", self.old);
                return Err(vec![Refused::at(
                    subject.object.node.get_ref().location_at(guard.pointer()),
                    why,
                    "change that by hand: it is no manifest of its own",
                )]);
            }
        }
        Ok(())
    }

    /// What the controllers do with the rename, in every order.
    fn prove(&self, before: &World, after: &World) -> Result<Proof, Vec<Refused>> {
        let id = ObjectId { name: Arc::from(&*self.new), ..self.old.clone() };
        let mut proof = Proof { complete: true, ..Proof::default() };
        let mut lost = BTreeSet::new();
        for taken in plan::takeovers(before, after) {
            proof.orders += taken.ends;
            proof.complete &= taken.complete;
            proof.adopted += taken.objects;
            lost.extend(taken.lost);
        }
        for one in plan::replacements(before, after, &self.old, &id) {
            proof.orders += one.ends;
            proof.complete &= one.complete;
            if let Some(release) = one.uninstalled {
                let why =
                    format!("in some order of the controllers the release {release} would be uninstalled");
                return Err(vec![Refused::at(
                    None,
                    why,
                    "rename it by hand, with the HelmRelease suspended",
                )]);
            }
        }
        if self.old.group() == cluster_api::CORE || self.old.group().ends_with(".cluster.x-k8s.io") {
            let replaces = plan::plan(before, after).into_iter().find(|effect| {
                effect.category() == Category::Machines && effect.severity == Severity::Disruptive
            });
            if let Some(effect) = replaces {
                let why = format!("the new name would replace Machines of {}", effect.object);
                let place = self.subjects[0].object.node.get_ref().location_at("/metadata/name");
                return Err(vec![Refused::at(place, why, "`forebay plan` of that change tells which")]);
            }
        }
        if let Some((object, _)) = lost.first() {
            let why = format!("in some order of the controllers {object} would be deleted");
            return Err(vec![Refused::at(None, why, "`forebay plan` of that change tells more")]);
        }
        if !proof.complete {
            let why = "there are too many orders of the controllers to follow them all".to_owned();
            return Err(vec![Refused::at(None, why, "rename it by hand, with prune: false")]);
        }
        Ok(proof)
    }
}

/// Fields that a rename may set beside the name.
const PINS: [&str; 5] = [
    "/spec/releaseName",
    "/spec/prune",
    "/spec/suspend",
    "/metadata/annotations/kustomize.toolkit.fluxcd.io~1prune",
    "/metadata/annotations",
];

/// Whether an object is the root of a cluster, or the source of it.
pub(crate) fn is_root(cluster: &Cluster, id: &ObjectId) -> bool {
    let root = cluster.applied.first().filter(|_| cluster.name.is_some());
    let is_applied = root.is_some_and(|root| root.id == *id && root.parent.is_none_or(|by| by == 0));
    is_applied || cluster.source.as_ref().is_some_and(|source| source.is(id))
}

/// The clusters of the subjects in words, and whether there are several.
pub(crate) fn clusters_of(subjects: &[Subject<'_>]) -> (String, bool) {
    let labels: BTreeSet<String> = subjects.iter().map(|subject| subject.cluster.label()).collect();
    let many = labels.len() > 1;
    let shown: Vec<&str> = labels.iter().take(4).map(String::as_str).collect();
    let more = labels.len().saturating_sub(4);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (format!("{}{more}", shown.join(", ")), many)
}

/// Why an object can't have another name, and what to do instead.
fn lasting(old: &ObjectId) -> Option<(&'static str, &'static str)> {
    match (old.group(), &*old.kind) {
        ("", "Namespace") => Some((
            "everything in a Namespace goes with it, also what Git does not know",
            "create the new one, move what is in it, then remove the old one",
        )),
        ("apiextensions.k8s.io", _) => Some((
            "its name follows from its group and plural",
            "write a new definition, convert the objects, then remove the old one",
        )),
        ("", "PersistentVolume") => Some(("its claim is bound to it by name", "create a second one")),
        (cluster_api::CORE, "Cluster" | "MachineDeployment" | "MachineSet" | "MachinePool" | "Machine")
        | (cluster_api::CONTROL_PLANE, _) => Some((
            "another name is another object, with new Machines; the old ones are deleted",
            "create the new one, move the workload, then remove the old one",
        )),
        (kinds::OPERATOR, "FluxInstance") => Some(("deleting the old one uninstalls Flux", "keep its name")),
        _ => None,
    }
}

/// Where the name of an object is written.
fn name_place(subject: &Subject<'_>) -> Option<Location> {
    subject.object.node.get_ref().location_at("/metadata/name")
}
