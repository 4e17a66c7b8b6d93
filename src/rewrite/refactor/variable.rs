//! Giving a variable of postBuild another name.
//!
//! A Kustomization may look at a commit before what applies it has given it its new
//! spec, and before what applies the ConfigMaps of its variables has applied those:
//! `${NEW}` would be empty then, or an error. So the new name first stands beside the
//! old one, then the texts use it, then the old one goes; one commit does it where
//! nothing uses it.
//! Source: kustomize-controller `reconcile` (variables are read at each build).

use super::same::{Difference, same};
use super::{Proof, Rebuild, Refused, Series, apply, changed};
use crate::build::substitute::is_variable_name;
use crate::files::{Snapshot, is_manifest_path};
use crate::lang::text::counted;
use crate::lang::yaml::edit::{Content, KeyPlace, Operation, Prune};
use crate::lang::yaml::tape::TokenKind;
use crate::lang::yaml::{FilePath, NodeRef, WorkPath, pointer_join};
use crate::model::references::{Role, references};
use crate::model::{Name, ObjectId};
use crate::rewrite::subject::text_of;
use crate::rewrite::{FileChange, Wanted};
use crate::simulate::suspend::comment_after;
use crate::world::{Applied, ApplyTarget, Cluster, Outcome, World};
use std::collections::{BTreeMap, BTreeSet};

/// What is renamed.
pub struct Variable<'w> {
    /// The repository.
    pub world: &'w World,
    /// The variable.
    pub old: String,
    /// Its name afterwards.
    pub new: String,
    /// The clusters that are meant.
    pub in_cluster: &'w dyn Fn(&Cluster) -> bool,
}

/// A map that gives a variable its value: an object and the pointer of the map.
type VariableMap = (ObjectId, String);

/// What there is of both names before anything changes.
struct Start<'w> {
    /// The Kustomizations that get the old one.
    appliers: Vec<&'w Applied>,
    /// The maps that give it to them, with its value.
    places: BTreeMap<VariableMap, String>,
    /// The files that their builds read.
    files: BTreeSet<FilePath>,
    /// Whether the new one stands beside the old one everywhere.
    is_beside: bool,
    /// Whether a text uses the old one.
    is_used: bool,
}

impl Variable<'_> {
    /// Whether some Kustomization gets it from this repository.
    pub fn is_there(&self) -> bool {
        !self.defined(self.world, &self.old).1.is_empty()
    }

    /// Its three steps.
    ///
    /// # Errors
    /// Every reason why it is not done.
    pub fn series(&self, rebuild: &Rebuild<'_>) -> Result<Series, Vec<Refused>> {
        let (old, new) = (&*self.old, &*self.new);
        let start = self.start()?;
        let appliers = counted(start.appliers.len(), "Kustomization");
        let mut series = Series {
            headline: format!("variable {old} is called {new} in {appliers}"),
            notes: unseen(&start.appliers, old).into_iter().collect(),
            ..Series::default()
        };
        if !start.is_used && !start.is_beside && series.notes.is_empty() {
            self.rename_at_once(&start, rebuild, &mut series)?;
        } else {
            self.rename_in_steps(&start, rebuild, &mut series)?;
        }
        Ok(series)
    }

    /// What there is of both names before anything changes.
    fn start(&self) -> Result<Start<'_>, Vec<Refused>> {
        let (old, new) = (&*self.old, &*self.new);
        let refuse = |why: String, help: &str| Err(vec![Refused::at(None, why, help)]);
        if !is_variable_name(new) {
            return refuse(
                format!("`{new}` is no name for a variable"),
                "use letters, digits and `_`, no digit first",
            );
        }
        let (appliers, places) = self.defined(self.world, old);
        if places.is_empty() {
            return refuse(
                format!("no Kustomization gets a variable {old} from this repository"),
                "`forebay locate` and `forebay why` show what is there",
            );
        }
        let files = files_of(&appliers);
        let (_, beside) = self.defined(self.world, new);
        let is_beside = places.iter().all(|place| beside.contains_key(place.0));
        let equal = places.iter().all(|(place, value)| beside.get(place).is_none_or(|other| other == value));
        if !equal || (!beside.is_empty() && !is_beside) {
            return refuse(format!("a variable {new} is there already"), "choose another name");
        }
        let is_used = !uses(&self.world.snapshot, &files, old)?.is_empty();
        if !is_beside && !uses(&self.world.snapshot, &files, new)?.is_empty() {
            return refuse(format!("`${{{new}}}` is used already"), "choose another name");
        }
        Ok(Start { appliers, places, files, is_beside, is_used })
    }

    /// One step: nothing uses the variable.
    fn rename_at_once(
        &self,
        start: &Start<'_>,
        rebuild: &Rebuild<'_>,
        series: &mut Series,
    ) -> Result<(), Vec<Refused>> {
        let (old, new) = (&*self.old, &*self.new);
        let wanted = self.edit(self.world, |text, _, _| Operation::RenameKey {
            pointer: text.to_owned(),
            to: new.to_owned(),
        })?;
        let changes = apply(&self.world.snapshot, &wanted)?;
        let end = rebuild(&changed(&self.world.snapshot, &changes));
        self.only(self.world, &end, &start.places, &[old, new])?;
        let title = format!("{old} is called {new}; nothing uses it");
        series.push(title, changes, Vec::new(), Proof::unchanged());
        Ok(())
    }

    /// Three steps: the new one beside the old one, the uses, the old one goes.
    fn rename_in_steps(
        &self,
        start: &Start<'_>,
        rebuild: &Rebuild<'_>,
        series: &mut Series,
    ) -> Result<(), Vec<Refused>> {
        let (old, new) = (&*self.old, &*self.new);
        let Start { places, files, is_beside, is_used, .. } = start;
        series.naive = vec![format!(
            "a Kustomization that looks before its new variables are applied would put nothing in the place of ${{{new}}}"
        )];
        let wait = vec![WAIT_FOR.to_owned()];
        let mut step = |title: String, done: bool, changes| {
            series.push(title, changes, wait.clone(), Proof::unchanged()).done = done;
        };
        let title = format!("{new} stands beside {old}, with its value");
        let mut now: Option<World> = None;
        if *is_beside {
            step(title, true, Vec::new());
        } else {
            let changes = self.put_beside()?;
            let after = rebuild(&changed(&self.world.snapshot, &changes));
            self.only(self.world, &after, places, &[new])?;
            step(title, false, changes);
            now = Some(after);
        }
        let world = now.as_ref().unwrap_or(self.world);
        let wanted = replacing(&world.snapshot, files, old, new)?;
        let changes = apply(&world.snapshot, &wanted)?;
        let after = rebuild(&changed(&world.snapshot, &changes));
        self.only(world, &after, places, &[])?;
        step(format!("${{{new}}} is used in the place of ${{{old}}}"), *is_beside && !is_used, changes);
        let last = Variable {
            world: &after,
            old: self.old.clone(),
            new: self.new.clone(),
            in_cluster: self.in_cluster,
        };
        let changes = last.withdraw(&after)?;
        let end = rebuild(&changed(&after.snapshot, &changes));
        self.only(&after, &end, places, &[old])?;
        step(format!("{old} goes"), false, changes);
        Ok(())
    }

    /// The changes that put the new name behind the old one, with its value and comment.
    fn put_beside(&self) -> Result<Vec<FileChange>, Vec<Refused>> {
        let wanted = self.edit(self.world, |text, snapshot, node| {
            let comment = node.location().and_then(|place| comment_after(snapshot, &place));
            let value = Content::str(node.text().unwrap_or_default());
            let (map, _) = text.rsplit_once('/').unwrap_or_default();
            Operation::InsertKey {
                map: map.to_owned(),
                key: self.new.to_string(),
                value,
                place: KeyPlace::After(self.old.to_string()),
                comment,
            }
        })?;
        apply(&self.world.snapshot, &wanted)
    }

    /// The Kustomizations that get a variable, and the maps that give it to them with
    /// its value.
    fn defined<'n>(&self, world: &'n World, name: &str) -> (Vec<&'n Applied>, BTreeMap<VariableMap, String>) {
        let mut appliers = Vec::new();
        let mut places = BTreeMap::new();
        for cluster in world.clusters.iter().filter(|cluster| (self.in_cluster)(cluster)) {
            for applied in &cluster.applied {
                let mut found = false;
                for (id, pointer, value) in values(world, cluster, applied, name) {
                    found = true;
                    let text = value.text().unwrap_or_default().into_owned();
                    places.insert((id, pointer), text);
                }
                if found {
                    appliers.push(applied);
                }
            }
        }
        (appliers, places)
    }

    /// An operation on each text that gives the variable.
    fn edit(
        &self,
        world: &World,
        operation: impl Fn(&str, &Snapshot, NodeRef<'_>) -> Operation,
    ) -> Result<Vec<Wanted>, Vec<Refused>> {
        let snapshot = &world.snapshot;
        let mut wanted = Vec::new();
        let mut seen = BTreeSet::new();
        for cluster in world.clusters.iter().filter(|cluster| (self.in_cluster)(cluster)) {
            for applied in &cluster.applied {
                for (id, _, value) in values(world, cluster, applied, &self.old) {
                    let text = text_of(snapshot, value)
                        .filter(|text| text.pointer.ends_with(&pointer_join("", &self.old)));
                    let Some(text) = text else {
                        let why = format!("{id} gets {} from a text that no edit is certain in", self.old);
                        return Err(vec![Refused::at(value.location(), why, "change it by hand")]);
                    };
                    if seen.insert(text.clone()) {
                        let operation = operation(&text.pointer, snapshot, value);
                        wanted.push(Wanted { path: text.path, document: text.document, operation });
                    }
                }
            }
        }
        Ok(wanted)
    }

    /// The old name goes: its entry takes the new name and the one beside it goes, so
    /// that the comments of the old one stay with the value; unless more comments stay
    /// where the old entry goes.
    fn withdraw(&self, world: &World) -> Result<Vec<FileChange>, Vec<Refused>> {
        let remove = |pointer: String| Operation::RemoveKey { pointer, prune: Prune::Keep };
        let plain = apply(&world.snapshot, &self.edit(world, |text, _, _| remove(text.to_owned()))?)?;
        let beside = self.edit(world, |text, _, _| {
            let (map, _) = text.rsplit_once('/').unwrap_or_default();
            remove(pointer_join(map, &self.new))
        })?;
        let renamed = self.edit(world, |text, _, _| Operation::RenameKey {
            pointer: text.to_owned(),
            to: self.new.clone(),
        })?;
        let Ok(without) = apply(&world.snapshot, &beside) else { return Ok(plain) };
        let Ok(mut in_place) = apply(&changed(&world.snapshot, &without), &renamed) else {
            return Ok(plain);
        };
        for change in &mut in_place {
            if let Some(first) = without.iter().find(|first| first.path == change.path) {
                change.before = first.before.clone();
            }
        }
        let comments = |changes: &[FileChange]| -> usize {
            let after = changed(&world.snapshot, changes);
            let files = changes.iter().filter_map(|change| after.file(&change.path));
            files.flat_map(|file| after.sources(file)).map(|one| one.document().comments.len()).sum()
        };
        Ok(if comments(&in_place) < comments(&plain) { plain } else { in_place })
    }

    /// Whether nothing changes but that these keys come or go in these maps.
    fn only(
        &self,
        before: &World,
        after: &World,
        places: &BTreeMap<VariableMap, String>,
        keys: &[&str],
    ) -> Result<(), Vec<Refused>> {
        let allowed = |id: &ObjectId, pointer: &str, _: Option<&str>, _: Option<&str>| {
            let mut maps = places.keys().filter(|(of, _)| of == id);
            maps.any(|(_, map)| keys.iter().any(|key| pointer == pointer_join(map, key)))
        };
        same(before, after, Difference { renamed: None, pins: &[], allowed: &allowed })
            .map(drop)
            .map_err(|refused| vec![refused])
    }
}

/// The values of a variable that a Kustomization gets: of which object, in which map.
fn values<'n>(
    world: &'n World,
    cluster: &'n Cluster,
    applied: &'n Applied,
    name: &str,
) -> Vec<(ObjectId, String, NodeRef<'n>)> {
    let node = applied.node.get_ref();
    let mut out = Vec::new();
    let inline = "/spec/postBuild/substitute";
    if let Some(value) = node.at(inline).and_then(|map| map.get(name)) {
        out.push((applied.id.clone(), inline.to_owned(), value));
    }
    for reference in references(&applied.id, node).into_iter().filter(|one| one.role == Role::Variables) {
        let Some(of) = &reference.name else { continue };
        let (kind, namespace) = (&reference.kind, reference.namespace.as_deref());
        let Some(member) = cluster.find(&ApplyTarget::Local, Name::new("", kind, namespace, of)) else {
            continue;
        };
        let object = world.object(member.object);
        for map in ["/data", "/stringData"] {
            if let Some(value) = object.node.get_ref().at(map).and_then(|map| map.get(name)) {
                out.push((object.id.clone(), map.to_owned(), value));
            }
        }
    }
    out
}

/// That Kustomizations have texts which were not read: those that are not here, and
/// those behind what stops a build.
fn unseen(appliers: &[&Applied], name: &str) -> Option<String> {
    let sentence = |applied: &&Applied| {
        let why = match &applied.outcome {
            Outcome::External(why) | Outcome::Unknown(why) => why.clone(),
            Outcome::Failed(_) => "it does not build".to_owned(),
            Outcome::Built { unusable, .. } if !unusable.is_empty() => "it does not build".to_owned(),
            Outcome::Built { partial, .. } => partial.first()?.1.clone(),
            Outcome::MissingPath => return None,
        };
        Some(format!("{} ({why})", applied.id))
    };
    let all: BTreeSet<String> = appliers.iter().filter_map(sentence).collect();
    let first = all.iter().next()?;
    let more = if all.len() > 1 { format!(" and of {} more", all.len() - 1) } else { String::new() };
    Some(format!(
        "not all texts of {first}{more} were read; where those use ${{{name}}}, change them before the last step"
    ))
}

fn files_of(appliers: &[&Applied]) -> BTreeSet<FilePath> {
    appliers.iter().flat_map(|applied| applied.files_read.iter().cloned()).collect()
}

/// The values come through one Kustomization, the texts through another.
const WAIT_FOR: &str = "flux get kustomizations --all-namespaces  # all are Ready at the new revision";

/// Where texts use a variable: by file, the first byte of its name.
fn uses(
    snapshot: &Snapshot,
    files: &BTreeSet<FilePath>,
    name: &str,
) -> Result<Vec<(WorkPath, u32)>, Vec<Refused>> {
    let mut out = Vec::new();
    let start = format!("${{{name}");
    for path in files {
        let Some(file) = snapshot.find(path) else { continue };
        let Ok(blob) = snapshot.blob(file) else { continue };
        let Some(text) = blob.text() else { continue };
        for (at, _) in text.match_indices(&start) {
            let rest = &text[at + start.len()..];
            let goes_on = rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            if goes_on || text[..at].ends_with('$') {
                continue;
            }
            let Some(path) = path.writable() else {
                let why = format!("{path} is of another file tree and uses ${{{name}}}");
                return Err(vec![Refused::at(None, why, "change it there, under both names")]);
            };
            if !is_manifest_path(&path) {
                let why = format!("{path} uses ${{{name}}} and is no YAML");
                return Err(vec![Refused::at(None, why, "change it by hand, under both names")]);
            }
            out.push((path, (at + 2) as u32));
        }
    }
    Ok(out)
}

/// A scalar or comment: its file, document and first byte.
type Scalar = (WorkPath, u32, u32);

/// The changes of all uses, one for each scalar and comment.
fn replacing(
    snapshot: &Snapshot,
    files: &BTreeSet<FilePath>,
    old: &str,
    new: &str,
) -> Result<Vec<Wanted>, Vec<Refused>> {
    let mut scalars: BTreeMap<Scalar, Vec<(u32, u32)>> = BTreeMap::new();
    for (path, at) in uses(snapshot, files, old)? {
        let Some(file) = snapshot.file(&path) else { continue };
        let place = (at, at + old.len() as u32);
        // A byte order mark is no part of the text that is parsed.
        let holding = snapshot.sources(file).iter().find_map(|source| {
            let document = source.document();
            let mut scalars =
                document.tokens.iter().filter(|token| matches!(token.kind, TokenKind::Scalar(_)));
            let scalar =
                scalars.find(|token| token.start <= place.0 && place.1 <= token.end).map(|token| token.start);
            let comment = || {
                let comment = document.comments.iter().find(|one| one.start <= place.0 && place.1 <= one.end);
                comment.map(|comment| comment.start)
            };
            Some((source.index, scalar.or_else(comment)?))
        });
        match holding {
            Some((document, start)) => scalars.entry((path, document, start)).or_default().push(place),
            None => {
                let why = format!("{path} uses ${{{old}}} in no scalar");
                return Err(vec![Refused::at(None, why, "change it by hand, under both names")]);
            }
        }
    }
    let wanted = scalars.into_iter().map(|((path, document, _), places)| Wanted {
        path,
        document,
        operation: Operation::ReplaceWithin { places, text: new.to_owned() },
    });
    Ok(wanted.collect())
}
