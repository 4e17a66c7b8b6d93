//! Whether the effective view is the same but for what was asked for.

use super::Refused;
use super::mentions::mentions;
use crate::lang::yaml::{Known, NodeRef, pointer_join};
use crate::model::ObjectId;
use crate::rewrite::subject::Subject;
use crate::world::{ApplyTarget, Cluster, Effective, Outcome, World};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Whether a field of an object, by its JSON Pointer, may become what it becomes.
pub(crate) type AllowedDifference<'a> = dyn Fn(&ObjectId, &str, Option<&str>, Option<&str>) -> bool + 'a;

/// What may be different.
#[derive(Clone, Copy)]
pub(crate) struct Difference<'d> {
    /// Objects that have another name afterwards, and that name.
    pub renamed: Option<(&'d [Subject<'d>], &'d ObjectId, &'d str)>,
    /// JSON Pointers below which the renamed objects may differ.
    pub pins: &'d [&'d str],
    /// Whether a field of an object of the repository may say this afterwards.
    pub allowed: &'d AllowedDifference<'d>,
}

/// The members of a cluster by target and identity.
type ByIdentity<'w> = FxHashMap<(&'w ApplyTarget, ObjectId), Vec<&'w Effective>>;

/// Whether every cluster has the same objects with the same values before and after,
/// but for what may differ. Gives how many objects were compared.
///
/// # Errors
/// The first difference that is none of those.
pub(crate) fn same(before: &World, after: &World, but: Difference<'_>) -> Result<usize, Refused> {
    same_moved(before, after, but, &str::to_owned)
}

/// As [`same`], where directories have another path afterwards.
///
/// # Errors
/// The first difference that is none of those.
pub(crate) fn same_moved(
    before: &World,
    after: &World,
    but: Difference<'_>,
    path: &dyn Fn(&str) -> String,
) -> Result<usize, Refused> {
    let mut compared = 0;
    for (number, cluster) in before.clusters.iter().enumerate() {
        let now = find(after, cluster, number, &path(&cluster.root));
        let mut left = ByIdentity::default();
        for (member, object) in now.into_iter().flat_map(|now| after.written(now)) {
            left.entry((&member.target, object.id.clone())).or_default().insert(0, object);
        }
        let label = cluster.label();
        let is_in = |subject: &&Subject<'_>| std::ptr::eq(subject.cluster, cluster);
        let renamed = but.renamed.filter(|(subjects, ..)| subjects.iter().any(|one| is_in(&one)));
        for (member, object) in before.written(cluster) {
            compared += 1;
            let subject = renamed
                .filter(|(_, old, _)| member.target == ApplyTarget::Local && is_same_id(&object.id, old));
            let id = match subject {
                Some((_, _, new)) => ObjectId { name: Arc::from(new), ..object.id.clone() },
                None => object.id.clone(),
            };
            let Some(twin) = left.get_mut(&(&member.target, id.clone())).and_then(Vec::pop) else {
                let name = |object: &Effective| object.node.get_ref().location_at("/metadata/name");
                let place = name(object);
                let is_shared = but.renamed.is_some_and(|(subjects, ..)| {
                    let same = |one: &Subject<'_>| name(one.object).zip(place.clone());
                    subjects.iter().filter_map(same).any(|(a, b)| (a.file, a.start) == (b.file, b.start))
                });
                if is_shared {
                    let why = format!("{} in {label} takes its name from the same text", object.id);
                    let help = "give one of them a text of its own first, such as a patch of its overlay";
                    return Err(Refused::at(place, why, help));
                }
                if let Some(refused) = unfollowed(cluster, now, member.maker.kustomization()) {
                    return Err(refused);
                }
                let why = format!("{} would be gone from {label}", object.id);
                return Err(Refused::at(place, why, HELP));
            };
            differs(&label, (object, twin), subject.is_some(), renamed, but)?;
        }
        if let Some(((_, id), _)) = left.into_iter().find(|(_, twins)| !twins.is_empty()) {
            let why = format!("{id} would appear in {label}");
            return Err(Refused::at(None, why, HELP));
        }
    }
    Ok(compared)
}

/// Why what applied an object does not apply anything afterwards.
fn unfollowed(cluster: &Cluster, now: Option<&Cluster>, by: Option<u32>) -> Option<Refused> {
    let applied = cluster.applied.get(by? as usize)?;
    let now = now?.applied.iter().find(|now| now.id == applied.id)?;
    let why = match &now.outcome {
        Outcome::Built { .. } => return None,
        Outcome::Failed(failure) => format!("could not be built: {}", failure.message),
        Outcome::External(why) | Outcome::Unknown(why) => format!("could not be followed: {why}"),
        Outcome::MissingPath => format!("would find no {}", now.path),
    };
    let place = applied.node.get_ref().location_at("/spec/path");
    let composed = applied.tree.as_ref().is_some_and(|tree| tree.as_directory().is_none());
    let help = match composed {
        true => "an ArtifactGenerator gives its files other paths: change its copies or this path by hand",
        false => HELP,
    };
    Some(Refused::at(place, format!("{} in {} {why}", applied.id, cluster.label()), help))
}

const HELP: &str = "change it by hand, and look at `forebay plan`";

fn is_same_id(one: &ObjectId, other: &ObjectId) -> bool {
    (one.group(), &one.kind, &one.namespace, &one.name)
        == (other.group(), &other.kind, &other.namespace, &other.name)
}

/// The cluster after the change: by its name; one without a name by its root, or
/// where it stood.
fn find<'w>(after: &'w World, cluster: &Cluster, number: usize, root: &str) -> Option<&'w Cluster> {
    let named = |other: &&Cluster| match &cluster.name {
        Some(name) => other.name.as_ref() == Some(name),
        None => other.name.is_none() && *other.root == *root,
    };
    after.clusters.get(number).filter(named).or_else(|| after.clusters.iter().find(named))
}

/// Compares an object with the one that it becomes.
fn differs(
    label: &str,
    (object, twin): (&Effective, &Effective),
    is_subject: bool,
    renamed: Option<(&[Subject<'_>], &ObjectId, &str)>,
    but: Difference<'_>,
) -> Result<(), Refused> {
    let (node, now) = (object.node.get_ref(), twin.node.get_ref());
    let mut naming = BTreeSet::new();
    if let Some((_, old, new)) = renamed {
        for (pointer, at) in mentions(&object.id, node, old) {
            if now.str_at(&pointer).as_deref() != Some(new) {
                let why = format!("{} in {label} would still name `{}` ({pointer})", object.id, old.name);
                return Err(Refused::at(at.location(), why, "change that text by hand first"));
            }
            naming.insert(pointer);
        }
    }
    let mut found = Vec::new();
    differences(node, now, "", &mut found);
    for (pointer, before, after) in found {
        let is_named = |new: &str| after.as_deref() == Some(new);
        // kustomize carries a name on: a replacement, a variable of its own.
        let follows = |old: &str, new: &str| {
            before
                .as_deref()
                .is_some_and(|text| super::texts::is_word(text, old) && Some(text.replace(old, new)) == after)
        };
        let is_meant = match renamed {
            Some((_, _, new)) if is_subject && pointer == "/metadata/name" => is_named(new),
            Some((_, _, new)) if naming.contains(&pointer) => is_named(new),
            Some((_, old, new)) if !is_subject || !pointer.starts_with("/metadata/name") => {
                follows(&old.name, new)
            }
            _ => false,
        };
        let is_pinned = is_subject && but.pins.iter().any(|pin| is_below(&pointer, pin));
        if !is_meant
            && !is_pinned
            && !(but.allowed)(&object.id, &pointer, before.as_deref(), after.as_deref())
        {
            let shown = |text: Option<String>| {
                text.map_or("nothing".to_owned(), |text| format!("`{}`", short(&text)))
            };
            let secret = object.id.is("", "Secret") && !pointer.starts_with("/metadata");
            let values = match secret {
                true => String::new(),
                false => format!(": {} instead of {}", shown(after), shown(before)),
            };
            let why = format!("{} in {label} would differ at {}{values}", object.id, shown_pointer(&pointer));
            return Err(Refused::at(node.location_at(&pointer).or_else(|| node.location()), why, HELP));
        }
    }
    Ok(())
}

fn shown_pointer(pointer: &str) -> &str {
    if pointer.is_empty() { "its root" } else { pointer }
}

fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(60).collect();
    if cut.len() < text.trim_end().len() { format!("{cut}…") } else { cut }
}

fn is_below(pointer: &str, parent: &str) -> bool {
    pointer.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        || parent.strip_prefix(pointer).is_some_and(|rest| rest.starts_with('/'))
}

/// Leaves that differ: pointer, before, after.
type LeafDifference = (String, Option<String>, Option<String>);

fn differences(one: NodeRef<'_>, other: NodeRef<'_>, pointer: &str, out: &mut Vec<LeafDifference>) {
    if one.same_value(other) != Known::Value(false) {
        return;
    }
    if one.is_map() && other.is_map() {
        for entry in one.entries() {
            let pointer = pointer_join(pointer, &entry.key);
            match other.get(&entry.key) {
                Some(twin) => differences(entry.value, twin, &pointer, out),
                None => out.push((pointer, Some(text(entry.value)), None)),
            }
        }
        for entry in other.entries().filter(|entry| one.get(&entry.key).is_none()) {
            out.push((pointer_join(pointer, &entry.key), None, Some(text(entry.value))));
        }
        return;
    }
    let (ones, others) = (one.items().count(), other.items().count());
    if one.is_seq() && other.is_seq() && ones == others {
        for (at, (one, other)) in one.items().zip(other.items()).enumerate() {
            differences(one, other, &format!("{pointer}/{at}"), out);
        }
        return;
    }
    out.push((pointer.to_owned(), Some(text(one)), Some(text(other))));
}

fn text(node: NodeRef<'_>) -> String {
    match node.text() {
        Some(text) => text.into_owned(),
        None if node.is_map() => "a map".to_owned(),
        None => "a list".to_owned(),
    }
}
