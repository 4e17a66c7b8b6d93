//! Moving objects from one Flux Kustomization to another.

use super::cut::cut;
use super::same::{Difference, same};
use super::steps::{Guard, commands, guards, ungarded};
use super::texts::{applier, root_of};
use super::{Proof, Rebuild, Refused, Rename, Series, apply, changed};
use crate::build::kustomize::FILE_NAMES;
use crate::files::{Snapshot, join};
use crate::lang::yaml::edit::{Content, KeyPlace, Operation};
use crate::lang::yaml::{FilePath, Location, NodeRef, Stream, WorkPath, pointer_join};
use crate::model::ObjectId;
use crate::plan;
use crate::rewrite::subject::{Subject, home, manifest_of};
use crate::rewrite::{FileChange, Wanted, policy};
use crate::world::{Applied, Effective, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is moved, and where to.
pub struct Handover<'w> {
    /// The repository.
    pub world: &'w World,
    /// The objects, each in the clusters that are meant.
    pub objects: Vec<(ObjectId, Vec<Subject<'w>>)>,
    /// Namespace and name of the Kustomization that is to apply them.
    pub to: (String, String),
}

/// What is done to the files, all by paths before the move.
#[derive(Default)]
struct FileMoves {
    /// Files that go elsewhere.
    moves: Vec<(WorkPath, WorkPath)>,
    /// Changes of others.
    wanted: Vec<Wanted>,
    /// Documents that go to a file of their own: out of which, which, into which.
    cuts: Vec<(WorkPath, BTreeSet<u32>, WorkPath)>,
}

/// Files that go elsewhere, and the contents of others.
type MovedFiles = (Vec<(WorkPath, WorkPath)>, Vec<FileChange>);

impl Handover<'_> {
    /// Its steps.
    ///
    /// # Errors
    /// Every reason why it is not done.
    pub fn series(&self, rebuild: &Rebuild<'_>) -> Result<Series, Vec<Refused>> {
        let (namespace, name) = &self.to;
        let mark = format!("while it moves to {name}");
        let ids: Vec<&ObjectId> = self.objects.iter().map(|(id, _)| id).collect();
        let what = match &ids[..] {
            [one] => one.to_string(),
            many => format!("{} objects", many.len()),
        };
        let mut series = Series {
            headline: format!("{what} moved to Kustomization {namespace}/{name}"),
            ..Series::default()
        };
        let from = self.from()?;
        let marked = self.renames(self.world).iter().all(|one| guards::are_set(one, Guard::Spare, &mark));
        let (naive_changes, naive) = self.hand_over(self.world, rebuild, &mark)?;
        let lost = losses(self.world, &naive);
        let title =
            format!("{name} applies {} instead of {}", if ids.len() == 1 { "it" } else { "them" }, from.name);
        let wait_for = self.settled(&from);
        if lost.is_empty() && !marked {
            let (moves, changes) = naive_changes;
            let proof = prove(self.world, &naive)?;
            series.push(title, changes, wait_for, proof).moves = moves;
            return Ok(series);
        }
        let (between, changes) = match marked {
            true => (None, Vec::new()),
            false => {
                series.naive = lost;
                let mut wanted = Vec::new();
                for one in self.renames(self.world) {
                    wanted.extend(guards::set(&one, Guard::Spare, &mark)?);
                }
                let changes = apply(&self.world.snapshot, &wanted)?;
                let between = rebuild(&changed(&self.world.snapshot, &changes));
                let allowed = |id: &ObjectId, pointer: &str, _: Option<&str>, _: Option<&str>| {
                    ids.contains(&id) && pointer.starts_with("/metadata/annotations")
                };
                same(self.world, &between, Difference { renamed: None, pins: &[], allowed: &allowed })
                    .map_err(|refused| vec![refused])?;
                (Some(between), changes)
            }
        };
        let mut seen = Vec::new();
        for one in self.renames(self.world) {
            seen.extend(commands::guarded(&one, Guard::Spare));
        }
        seen.dedup();
        series.push(Guard::Spare.title(name), changes, seen, Proof::unchanged()).done = marked;
        let between = between.as_ref().unwrap_or(self.world);
        let ((moves, changes), after) = self.again(between)?.hand_over(between, rebuild, &mark)?;
        let proof = prove(between, &after)?;
        let title = format!("{title}{}", Guard::Spare.undone());
        series.push(title, changes, wait_for, proof).moves = moves;
        Ok(series)
    }

    /// Each object as something to protect.
    fn renames<'n>(&self, world: &'n World) -> Vec<Rename<'n>> {
        let mut out = Vec::new();
        for (id, subjects) in &self.objects {
            let subjects = again(self.world, world, id, subjects);
            out.push(Rename { world, subjects, old: id.clone(), new: self.to.1.clone() });
        }
        out
    }

    fn again<'n>(&self, world: &'n World) -> Result<Handover<'n>, Vec<Refused>> {
        let objects =
            self.objects.iter().map(|(id, subjects)| (id.clone(), again(self.world, world, id, subjects)));
        Ok(Handover { world, objects: objects.collect(), to: self.to.clone() })
    }

    /// The Kustomization that applies them now.
    fn from(&self) -> Result<ObjectId, Vec<Refused>> {
        let mut found = BTreeSet::new();
        for (id, subjects) in &self.objects {
            for subject in subjects {
                match applier(self.world, subject) {
                    Some(applied) => drop(found.insert(applied.id.clone())),
                    None => {
                        let why = format!("no Kustomization applies {id} in {}", subject.cluster.label());
                        let place = subject.object.node.get_ref().location();
                        return Err(vec![Refused::at(
                            place,
                            why,
                            "move its file with `forebay move FILE TO`",
                        )]);
                    }
                }
            }
        }
        let mut found = found.into_iter();
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one),
            (Some(one), Some(two)) => {
                let why = format!("{} and {} apply them", one.name, two.name);
                Err(vec![Refused::at(None, why, "move the objects of one Kustomization at a time")])
            }
            (None, _) => Err(vec![Refused::at(None, "there is nothing to move", "name an object")]),
        }
    }

    fn settled(&self, from: &ObjectId) -> Vec<String> {
        let (namespace, name) = &self.to;
        let old = from.namespace.as_deref().unwrap_or("flux-system");
        let mut out = vec![
            format!("flux reconcile kustomization {name} -n {namespace} --with-source"),
            format!("flux reconcile kustomization {} -n {old}", from.name),
        ];
        let seen = "-o yaml | grep kustomize.toolkit.fluxcd.io/name";
        let first = self.objects.iter().take(1);
        out.extend(first.map(|(id, _)| format!("{} {seen}  # says {name}", commands::get(id))));
        out
    }

    /// The move itself on top of a world, proven to change nothing but the owner.
    fn hand_over(
        &self,
        world: &World,
        rebuild: &Rebuild<'_>,
        mark: &str,
    ) -> Result<(MovedFiles, World), Vec<Refused>> {
        let snapshot = &world.snapshot;
        let FileMoves { moves, mut wanted, cuts } = self.change(world)?;
        for one in self.renames(world) {
            wanted.extend(ungarded(&one, mark));
        }
        for one in &mut wanted {
            if let Some((_, to)) = moves.iter().find(|(from, _)| *from == one.path) {
                one.path = to.clone();
            }
        }
        let unread = |_| vec![Refused::at(None, "a file of them can't be read", "make it readable")];
        let moved = Arc::new(snapshot.with_moved(&moves).map_err(unread)?);
        let mut changes = apply(&moved, &wanted)?;
        for (path, documents, target) in &cuts {
            divide(&moved, &mut changes, path, documents, target)?;
        }
        let after = rebuild(&changed(&moved, &changes));
        let ids: Vec<&ObjectId> = self.objects.iter().map(|(id, _)| id).collect();
        let allowed = |id: &ObjectId, pointer: &str, _: Option<&str>, _: Option<&str>| {
            ids.contains(&id)
                && pointer.starts_with("/metadata/annotations")
                && (pointer == "/metadata/annotations" || pointer.ends_with("fluxcd.io~1prune"))
        };
        same(world, &after, Difference { renamed: None, pins: &[], allowed: &allowed }).map_err(
            |refused| {
                let targets = moves.iter().map(|(_, to)| to).chain(cuts.iter().map(|(_, _, to)| to));
                vec![self.made_another(&after, targets).unwrap_or(refused)]
            },
        )?;
        for (id, subjects) in &self.objects {
            for subject in again(self.world, &after, id, subjects) {
                let by = applier(&after, &subject).map(|by| &by.id);
                if by.is_none_or(|by| by.namespace.as_deref() != Some(&*self.to.0) || *by.name != *self.to.1)
                {
                    let why =
                        format!("{id} would not be applied by {} in {}", self.to.1, subject.cluster.label());
                    return Err(vec![Refused::at(None, why, "move its file by hand")]);
                }
            }
        }
        Ok(((moves, changes), after))
    }

    /// What the other Kustomization makes of an object of the moved files under another
    /// name or in another namespace.
    fn made_another<'t>(
        &self,
        after: &World,
        targets: impl Iterator<Item = &'t WorkPath>,
    ) -> Option<Refused> {
        let targets: Vec<FilePath> = targets.map(|to| FilePath::in_root(to.as_arc().clone())).collect();
        let is_moved = |object: &&Effective| home(object).is_some_and(|place| targets.contains(&place.file));
        let is_meant = |object: &Effective| self.objects.iter().any(|(id, _)| *id == object.id);
        let object = after.objects.iter().filter(is_moved).find(|object| !is_meant(object))?;
        let why = format!(
            "{} would make {} of it: namespace, prefix and suffix are those that it gives",
            self.to.1, object.id
        );
        let of_kind = self.objects.iter().find(|(id, _)| id.kind == object.id.kind);
        let place = of_kind.and_then(|(_, subjects)| subjects.first()?.object.node.get_ref().location());
        Some(Refused::at(place, why, "name a Kustomization that leaves names and namespaces as they are"))
    }

    /// Which files go where, and which kustomizations list them.
    fn change(&self, world: &World) -> Result<FileMoves, Vec<Refused>> {
        let snapshot = &world.snapshot;
        let (namespace, name) = &self.to;
        // The documents of each file, and the directory that they go to.
        let mut files: BTreeMap<WorkPath, (BTreeMap<u32, &ObjectId>, String)> = BTreeMap::new();
        for (id, subjects) in &self.objects {
            for subject in again(self.world, world, id, subjects) {
                let refuse = |why: String, help: &str| {
                    Err(vec![Refused::at(subject.object.node.get_ref().location(), why, help)])
                };
                let Some(text) = manifest_of(snapshot, subject.object) else {
                    let place = subject.object.node.get_ref().location();
                    return Err(vec![Refused::no_text(place, id, "move it by hand")]);
                };
                let Some(to) = subject.cluster.applied(Some(namespace), name) else {
                    let cluster = subject.cluster.label();
                    let none = format!("no Kustomization {namespace}/{name}");
                    return match subjects.len() {
                        1 => refuse(
                            format!("there is {none} in {cluster}"),
                            "name one of that cluster: ks/NAMESPACE/NAME",
                        ),
                        _ => refuse(
                            format!("{cluster} applies {id} from this text too and has {none}"),
                            "add one there, or give each cluster a text of its own first",
                        ),
                    };
                };
                if applier(world, &subject).is_some_and(|by| by.id == to.id) {
                    return refuse(format!("{name} applies {id} already"), "name another Kustomization");
                }
                if !text.pointer.is_empty() {
                    let help = "write it as a document of its own first";
                    return refuse(format!("{id} is an item of a list of objects"), help);
                }
                let directory = directory_of(to).ok_or_else(|| {
                    vec![Refused::at(
                        None,
                        format!("the path of {name} is not in this repository"),
                        "move it there by hand",
                    )]
                })?;
                let entry = files.entry(text.path.clone()).or_insert_with(|| (BTreeMap::new(), directory));
                entry.0.insert(text.document, id);
            }
        }
        self.place_files(snapshot, files)
    }

    /// Where the documents of each file go: the whole file moves where none stays.
    fn place_files(
        &self,
        snapshot: &Snapshot,
        files: BTreeMap<WorkPath, (BTreeMap<u32, &ObjectId>, String)>,
    ) -> Result<FileMoves, Vec<Refused>> {
        let mut change = FileMoves::default();
        for (path, (documents, directory)) in files {
            let stays = snapshot.file(&path).is_some_and(|file| {
                let others =
                    snapshot.sources(file).iter().filter(|source| !source.document().tokens.is_empty());
                others.into_iter().any(|source| !documents.contains_key(&source.index))
            });
            let file = path.rsplit('/').next().unwrap_or_default();
            let is_taken = |file: &str| {
                let target = join(&directory, file).unwrap_or_default();
                snapshot.file(&target).is_some()
                    || change.moves.iter().any(|(_, to)| **to == *target)
                    || change.cuts.iter().any(|(_, _, to)| **to == *target)
            };
            let mut names = own_names(file, &documents);
            if !stays {
                names.insert(0, file.to_owned());
            }
            let free = names.iter().find(|name| !is_taken(name));
            let target = free.and_then(|file| Some((file, WorkPath::new(join(&directory, file)?)?)));
            let Some((file, target)) = target else {
                let why = format!("{} is there already", join(&directory, &names[0]).unwrap_or_default());
                return Err(vec![Refused::at(None, why, "give that file another name first")]);
            };
            change.wanted.extend(enters(snapshot, &directory, file));
            if stays {
                change.cuts.push((path, documents.into_keys().collect(), target));
            } else {
                change.wanted.extend(leaves(snapshot, &path)?);
                change.moves.push((path, target));
            }
        }
        Ok(change)
    }
}

/// Names for the file of documents that leave another one, the best first.
fn own_names(file: &str, documents: &BTreeMap<u32, &ObjectId>) -> Vec<String> {
    let extension = file.rsplit_once('.').map_or("yaml", |(_, extension)| extension);
    let plain = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '-' }).collect()
    };
    let mut names = Vec::new();
    if documents.len() > 1 && !FILE_NAMES.contains(&file) {
        names.push(file.to_owned());
    }
    for id in documents.values() {
        let name = plain(&id.name);
        names.push(format!("{name}.{extension}"));
        names.push(format!("{}-{name}.{extension}", id.kind.to_ascii_lowercase()));
    }
    names.retain(|name| !FILE_NAMES.contains(&&**name));
    names
}

/// Cuts documents out of a file, which may have changes already.
fn divide(
    snapshot: &Snapshot,
    changes: &mut Vec<FileChange>,
    path: &WorkPath,
    documents: &BTreeSet<u32>,
    target: &WorkPath,
) -> Result<(), Vec<Refused>> {
    let refuse = |why: &str, help: &str| {
        let place =
            Location { file: FilePath::in_root(path.as_arc().clone()), start: 0, end: 0, via: Vec::new() };
        vec![Refused::at(Some(place), why, help)]
    };
    let (blob, stream) = policy::check_file(snapshot, path).map_err(|refusal| vec![refusal.into()])?;
    let sealed = snapshot.file(path).is_some_and(|file| {
        let mut sources = snapshot.sources(file).iter().filter(|source| !source.document().tokens.is_empty());
        sources.any(|source| NodeRef::Source(source, 0).get("sops").is_some_and(|sops| sops.is_map()))
    });
    if sealed {
        return Err(refuse(
            "SOPS signs the documents of the file together",
            "give each a file of its own with sops first",
        ));
    }
    let at = changes.iter().position(|change| change.path == *path);
    let edited = at.map(|at| Stream::parse(&changes[at].after));
    let parts = cut(edited.as_ref().unwrap_or(stream), documents)
        .map_err(|why| refuse(why, "give each document a file of its own first"))?;
    match at {
        Some(at) => changes[at].after = parts.rest,
        None => changes.push(FileChange { path: path.clone(), before: blob.clone(), after: parts.rest }),
    }
    let before = snapshot.store().intern(b"");
    changes.push(FileChange { path: target.clone(), before, after: parts.out });
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(())
}

/// The subjects of an object in another world of the same repository.
fn again<'n>(old: &World, new: &'n World, id: &ObjectId, subjects: &[Subject<'_>]) -> Vec<Subject<'n>> {
    let mut out = Vec::new();
    for subject in subjects {
        let number = old.clusters.iter().position(|one| std::ptr::eq(one, subject.cluster));
        let Some(cluster) = number.and_then(|number| new.clusters.get(number)) else { continue };
        let found = new.written(cluster).find(|(_, object)| object.id == *id);
        out.extend(found.map(|(_, object)| Subject { cluster, object }));
    }
    out
}

/// The directory of the repository that a Kustomization builds.
fn directory_of(applied: &Applied) -> Option<String> {
    let tree = applied.tree.as_ref()?;
    tree.as_directory()?;
    join("", &tree.root_path(&applied.path)?)
}

/// The kustomization file of a directory.
fn kustomization(snapshot: &Snapshot, directory: &str) -> Option<WorkPath> {
    let mut names = FILE_NAMES.iter().filter_map(|name| join(directory, name));
    names.find_map(|path| snapshot.file(&path)?.name().writable())
}

/// The entries that list a file go.
fn leaves(snapshot: &Snapshot, path: &str) -> Result<Vec<Wanted>, Vec<Refused>> {
    let mut out = Vec::new();
    for file in snapshot.files() {
        let (directory, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        if !FILE_NAMES.contains(&name) {
            continue;
        }
        let Some(kustomization) = file.name().writable() else { continue };
        let Some(root) = root_of(snapshot, &kustomization, 0) else { continue };
        for list in ["/resources", "/bases"] {
            for (at, item) in root.get_ref().items_at(list).enumerate() {
                if item.as_str().and_then(|text| join(directory, &text)).as_deref() != Some(path) {
                    continue;
                }
                let operation = Operation::RemoveItem { pointer: format!("{list}/{at}") };
                out.push(Wanted { path: kustomization.clone(), document: 0, operation });
            }
        }
    }
    if out.len() > 1 {
        let places: Vec<&str> = out.iter().map(|one| &*one.path).collect();
        let why = format!("{path} is listed by {}", places.join(" and "));
        return Err(vec![Refused::at(None, why, "move it by hand")]);
    }
    Ok(out)
}

/// The entry that lists a file in a directory; none where every file is taken.
fn enters(snapshot: &Snapshot, directory: &str, file: &str) -> Option<Wanted> {
    let path = kustomization(snapshot, directory)?;
    let root = root_of(snapshot, &path, 0)?;
    let list = root.get_ref().at("/resources").filter(|list: &NodeRef<'_>| list.is_seq());
    let operation = match list {
        Some(list) => {
            // As the others are written.
            let dotted =
                list.items().next().and_then(NodeRef::as_str).is_some_and(|text| text.starts_with("./"));
            let value = Content::str(if dotted { format!("./{file}") } else { file.to_owned() });
            Operation::InsertItem { list: pointer_join("", "resources"), before: None, value }
        }
        None => Operation::InsertKey {
            map: String::new(),
            key: "resources".to_owned(),
            value: Content::Seq(vec![Content::str(file)]),
            place: KeyPlace::End,
            comment: None,
        },
    };
    Some(Wanted { path, document: 0, operation })
}

/// What some order of the controllers deletes.
fn losses(before: &World, after: &World) -> Vec<String> {
    let mut said = Vec::new();
    for taken in plan::takeovers(before, after) {
        for (id, comes_back) in &taken.lost {
            let cluster =
                taken.cluster.as_deref().map_or(String::new(), |name| format!(" in cluster {name}"));
            let then = if *comes_back { "and created anew" } else { "and stays away" };
            said.push(format!(
                "{id} would be deleted{cluster} {then} where {} is reconciled before {}",
                taken.from.name, taken.to.name
            ));
        }
    }
    said
}

/// What the controllers do, in every order.
fn prove(before: &World, after: &World) -> Result<Proof, Vec<Refused>> {
    let mut proof = Proof { complete: true, ..Proof::default() };
    for taken in plan::takeovers(before, after) {
        proof.orders += taken.ends;
        proof.complete &= taken.complete;
        proof.adopted += taken.objects;
        if let Some((lost, _)) = taken.lost.first() {
            let why = format!("in some order of the controllers {lost} would be deleted all the same");
            return Err(vec![Refused::at(None, why, "`forebay plan` of that change tells more")]);
        }
    }
    Ok(proof)
}
