//! The texts that state a name: where it is written, whatever it went through.

use super::Refused;
use super::mentions::mentions;
use crate::build::kustomize::{FILE_NAMES, documents_in};
use crate::files::markers::ImagePolicyMarker;
use crate::files::{Snapshot, join};
use crate::lang::yaml::edit::{Content, Operation};
use crate::lang::yaml::{FilePath, Location, NodeRef, Source, ViaKind, WorkPath};
use crate::model::{ObjectId, kinds};
use crate::rewrite::Wanted;
use crate::rewrite::subject::{Subject, text_of};
use crate::world::{Applied, Effective, World};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The change of the text that states a name, so that it becomes another one.
///
/// # Errors
/// It is computed, or stands where no edit is certain.
pub(crate) fn renaming(
    snapshot: &Snapshot,
    node: NodeRef<'_>,
    old: &str,
    new: &str,
) -> Result<Wanted, Refused> {
    let Some(location) = node.location() else {
        return Err(Refused::at(None, format!("no file states `{old}`"), "change it where it is made"));
    };
    let computed = |location: Location, text: &str| {
        let why = format!("`{old}` is computed here: `{}`", text.trim());
        Refused::at(Some(location), why, "change the variable, or write the name out first")
    };
    if location.file.of_root().is_none() {
        return Err(Refused::elsewhere(Some(location), format_args!("`{old}`")));
    }
    let Some(text) = text_of(snapshot, node) else {
        return within(snapshot, &location, old, new).ok_or_else(|| {
            let written = snapshot.find(&location.file).and_then(|file| snapshot.stream(file));
            let written =
                written.and_then(|stream| stream.text.get(location.start as usize..location.end as usize));
            match written.filter(|text| text.contains("${") || text.contains("{{")) {
                Some(written) if written.len() < 200 => computed(location, written),
                _ => Refused::at(
                    Some(location),
                    format!("`{old}` is not written as it is meant here"),
                    "change it by hand",
                ),
            }
        });
    };
    let written = root_of(snapshot, &text.path, text.document).and_then(|root| {
        root.get_ref().at(&text.pointer).and_then(|node| node.text().map(|t| t.into_owned()))
    });
    let written = written.unwrap_or_default();
    let set = |name: &str| Wanted {
        path: text.path.clone(),
        document: text.document,
        operation: Operation::Set { pointer: text.pointer.clone(), value: Content::str(name), comment: None },
    };
    if written == old {
        return Ok(set(new));
    }
    if written.contains("${") {
        return Err(computed(location, &written));
    }
    // A prefix or suffix is added to what is written.
    if let Some((prefix, suffix)) = old.split_once(&written).filter(|_| !written.is_empty()) {
        let stem = new.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
        if let Some(stem) = stem.filter(|stem| !stem.is_empty()) {
            return Ok(set(stem));
        }
        return Err(without_affixes(&location, (prefix, suffix), old, new));
    }
    let why = format!("`{old}` is made of `{written}` here");
    Err(Refused::at(Some(location), why, "change it by hand"))
}

/// A prefix or suffix is added to the name, and the new one lacks it.
fn without_affixes(location: &Location, (prefix, suffix): (&str, &str), old: &str, new: &str) -> Refused {
    let by = location.via.iter().find(|via| via.kind == ViaKind::Transformer);
    let place = by.map_or(location.clone(), |via| via.location.clone());
    let affixes = match (prefix, suffix) {
        (prefix, "") => format!("the prefix `{prefix}`"),
        ("", suffix) => format!("the suffix `{suffix}`"),
        (prefix, suffix) => format!("the prefix `{prefix}` and the suffix `{suffix}`"),
    };
    let help = format!("choose a name that keeps it, such as `{prefix}{new}{suffix}`");
    Refused::at(Some(place), format!("`{old}` gets {affixes} here"), help)
}

/// The root of a document.
pub(crate) fn root_of(
    snapshot: &Snapshot,
    path: &WorkPath,
    document: u32,
) -> Option<crate::lang::yaml::Node> {
    let source = sources(snapshot, &FilePath::in_root(path.as_arc().clone()))
        .find(|source| source.index == document)?;
    Some(source.root())
}

fn sources<'s>(snapshot: &'s Snapshot, file: &FilePath) -> impl Iterator<Item = &'s Arc<Source>> {
    let sources = snapshot.find(file).map(|file| snapshot.sources(file));
    sources.into_iter().flatten().filter(|source| !source.document().tokens.is_empty())
}

/// A word of a text inside of a scalar, such as an inline patch.
fn within(snapshot: &Snapshot, location: &Location, old: &str, new: &str) -> Option<Wanted> {
    let text = &snapshot.stream(snapshot.find(&location.file)?)?.text;
    let written = text.get(location.start as usize..location.end as usize)?;
    let quote = written.chars().next().filter(|first| matches!(first, '"' | '\''));
    let (start, end) = match quote {
        Some(_) if written.len() >= 2 => (location.start + 1, location.end - 1),
        _ => (location.start, location.end),
    };
    if text.get(start as usize..end as usize)? != old {
        return None;
    }
    let document = sources(snapshot, &location.file)
        .find(|source| source.document().start <= start && end <= source.document().end.max(start))
        .or_else(|| {
            sources(snapshot, &location.file).filter(|source| source.document().start <= start).last()
        })?;
    Some(Wanted {
        path: location.file.writable()?,
        document: document.index,
        operation: Operation::ReplaceWithin { places: vec![(start, end)], text: new.to_owned() },
    })
}

/// All changes of texts that name an object: its own manifest, what names it in the
/// clusters of the subjects, and how kustomizations select it.
///
/// # Errors
/// Every text that can't be changed.
pub(crate) fn all(
    world: &World,
    subjects: &[Subject<'_>],
    old: &ObjectId,
    new: &str,
) -> Result<Vec<Wanted>, Vec<Refused>> {
    let snapshot = &world.snapshot;
    let (mut wanted, mut refused): (Vec<Wanted>, Vec<Refused>) = (Vec::new(), Vec::new());
    let mut take = |result: Result<Wanted, Refused>| match result {
        Ok(one) if !wanted.contains(&one) => wanted.push(one),
        Ok(_) => {}
        Err(one) => {
            let same = |known: &Refused| known.location == one.location && known.why == one.why;
            if !refused.iter().any(same) {
                refused.push(one);
            }
        }
    };
    for subject in subjects {
        match subject.object.node.get_ref().at("/metadata/name") {
            Some(name) => take(renaming(snapshot, name, &old.name, new)),
            None => take(Err(Refused::at(None, format!("{old} states no name"), "change it by hand"))),
        }
    }
    for object in naming(world, subjects) {
        for (_, node) in mentions(&object.id, object.node.get_ref(), old) {
            take(renaming(snapshot, node, &old.name, new));
        }
    }
    for result in selections(world, subjects, old, new) {
        take(result);
    }
    if old.is(kinds::IMAGE, "ImagePolicy") {
        for one in markers(snapshot, old, new) {
            take(Ok(one));
        }
    }
    if refused.is_empty() { Ok(wanted) } else { Err(refused) }
}

/// Distinct objects of the clusters that hold a subject.
pub(crate) fn naming<'w>(world: &'w World, subjects: &[Subject<'w>]) -> Vec<&'w Effective> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for subject in subjects {
        for (member, object) in world.written(subject.cluster) {
            if seen.insert(member.object) {
                found.push(object);
            }
        }
    }
    found
}

/// The Flux Kustomization that applies a subject.
pub(crate) fn applier<'w>(world: &'w World, subject: &Subject<'w>) -> Option<&'w Applied> {
    let mut members = world.written(subject.cluster);
    let (member, _) = members.find(|(_, object)| std::ptr::eq(*object, subject.object))?;
    Some(&subject.cluster.applied[member.maker.kustomization()? as usize])
}

/// How kustomizations and Flux Kustomizations select an object to patch it, to count
/// it, or to copy from it. What other objects they select as well is for the proof.
fn selections(
    world: &World,
    subjects: &[Subject<'_>],
    old: &ObjectId,
    new: &str,
) -> Vec<Result<Wanted, Refused>> {
    let snapshot = &world.snapshot;
    let mut out = Vec::new();
    let mut files: BTreeSet<FilePath> = BTreeSet::new();
    // What is written before a prefix or suffix is added.
    let mut names: BTreeSet<(String, String)> = BTreeSet::from([(old.name.to_string(), new.to_owned())]);
    for subject in subjects {
        let name = subject.object.node.get_ref().at("/metadata/name");
        if let Some(Ok(Wanted {
            operation: Operation::Set { pointer, value: Content::Str(to), .. },
            path,
            document,
        })) = name.map(|name| renaming(snapshot, name, &old.name, new))
            && let Some(root) = root_of(snapshot, &path, document)
            && let Some(from) = root.get_ref().str_at(&pointer)
        {
            names.insert((from.into_owned(), to));
        }
        match applier(world, subject) {
            Some(applied) => {
                files.extend(applied.files_read.iter().cloned());
                let node = applied.node.get_ref();
                for patch in node.items_at("/spec/patches") {
                    out.extend(patch.at("/target").map(SelectorText::Selector));
                    out.extend(inline(patch));
                }
            }
            None => {
                let all = snapshot.files().iter().map(|file| file.name());
                files.extend(all.filter(is_kustomization));
            }
        }
    }
    let mut results = Vec::new();
    for text in out {
        text.rename(snapshot, old, &names, &mut results);
    }
    for file in files.iter().filter(|file| is_kustomization(file)) {
        let Some(source) = sources(snapshot, file).next() else { continue };
        for text in selecting(snapshot, NodeRef::Source(source, 0), file) {
            text.rename(snapshot, old, &names, &mut results);
        }
    }
    results
}

fn is_kustomization(file: &FilePath) -> bool {
    file.shown().rsplit('/').next().is_some_and(|name| FILE_NAMES.contains(&name))
}

/// A text that selects objects.
enum SelectorText<'s> {
    /// A map of `kind`, `name`, `namespace`.
    Selector(NodeRef<'s>),
    /// A partial object.
    Partial(crate::lang::yaml::Node),
}

impl SelectorText<'_> {
    fn rename(
        &self,
        snapshot: &Snapshot,
        old: &ObjectId,
        names: &BTreeSet<(String, String)>,
        out: &mut Vec<Result<Wanted, Refused>>,
    ) {
        let (head, name) = match self {
            SelectorText::Selector(node) => (*node, node.get("name")),
            SelectorText::Partial(node) => (node.get_ref(), node.get_ref().at("/metadata/name")),
        };
        let kind = head.str_at("/kind");
        if kind.is_some_and(|kind| *kind != *old.kind) {
            return;
        }
        let namespace = match self {
            SelectorText::Selector(_) => head.str_at("/namespace"),
            SelectorText::Partial(_) => head.str_at("/metadata/namespace"),
        };
        if namespace.is_some_and(|namespace| old.namespace.as_deref().is_some_and(|own| own != namespace)) {
            return;
        }
        let Some(name) = name else { return };
        let Some(written) = name.as_str() else { return };
        if let Some((from, to)) = names.iter().find(|(from, _)| **from == *written) {
            out.push(renaming(snapshot, name, from, to));
        }
    }
}

/// The documents of an inline patch.
fn inline<'s>(patch: NodeRef<'s>) -> Vec<SelectorText<'s>> {
    patch.at("/patch").map(documents_in).into_iter().flatten().map(SelectorText::Partial).collect()
}

/// What a kustomization selects objects with.
fn selecting<'s>(snapshot: &'s Snapshot, root: NodeRef<'s>, of: &FilePath) -> Vec<SelectorText<'s>> {
    let directory = of.shown().rsplit_once('/').map_or("", |(directory, _)| directory);
    let documents = |file: &str| -> Vec<&'s Arc<Source>> {
        let beside = |path: String| FilePath::new(of.tree().clone(), path);
        join(directory, file).map(|path| sources(snapshot, &beside(path)).collect()).unwrap_or_default()
    };
    let partial = |file: &str| -> Vec<SelectorText<'s>> {
        let found = documents(file).into_iter();
        found.map(|source| SelectorText::Partial(source.root())).collect()
    };
    let mut out = Vec::new();
    for list in ["/patches", "/patchesJson6902"] {
        for entry in root.items_at(list) {
            out.extend(entry.at("/target").map(SelectorText::Selector));
            out.extend(inline(entry));
            out.extend(entry.str_at("/path").map(|file| partial(&file)).into_iter().flatten());
        }
    }
    for entry in root.items_at("/patchesStrategicMerge") {
        match entry.as_str() {
            Some(text) if text.contains('\n') => {
                out.extend(documents_in(entry).into_iter().map(SelectorText::Partial))
            }
            Some(file) => out.extend(partial(&file)),
            None => {}
        }
    }
    let replacement = |entry: NodeRef<'s>, out: &mut Vec<SelectorText<'s>>| {
        out.extend(entry.at("/source").map(SelectorText::Selector));
        for target in entry.items_at("/targets") {
            out.extend(target.at("/select").map(SelectorText::Selector));
            out.extend(target.items_at("/reject").map(SelectorText::Selector));
        }
    };
    for entry in root.items_at("/replacements") {
        replacement(entry, &mut out);
        for source in entry.str_at("/path").map(|file| documents(&file)).into_iter().flatten() {
            let file = NodeRef::Source(source, 0);
            replacement(file, &mut out);
            file.items().for_each(|entry| replacement(entry, &mut out));
        }
    }
    out.extend(root.items_at("/vars").filter_map(|entry| entry.at("/objref")).map(SelectorText::Selector));
    out.extend(root.items_at("/replicas").map(SelectorText::Selector));
    out
}

/// Markers of an ImagePolicy, in comments anywhere.
fn markers(snapshot: &Snapshot, old: &ObjectId, new: &str) -> Vec<Wanted> {
    let mut out = Vec::new();
    for file in snapshot.files().iter().filter(|file| file.is_manifest) {
        let Some(path) = file.name().writable() else { continue };
        for source in snapshot.sources(file) {
            for comment in &source.document().comments {
                let text = &source.stream.text[comment.start as usize..comment.end as usize];
                let Some(marker) = ImagePolicyMarker::parse(text) else { continue };
                if marker.name != *old.name || Some(&*marker.namespace) != old.namespace.as_deref() {
                    continue;
                }
                let stated = format!("{}:{}", marker.namespace, marker.name);
                let Some(at) = text.find(&stated) else { continue };
                let start = comment.start + (at + marker.namespace.len() + 1) as u32;
                let end = start + marker.name.len() as u32;
                out.push(Wanted {
                    path: path.clone(),
                    document: source.index,
                    operation: Operation::ReplaceWithin { places: vec![(start, end)], text: new.to_owned() },
                });
            }
        }
    }
    out
}

/// Texts that may mean the object and are not known to: a bare word in a field that
/// holds names of such objects, the owner labels of a Kustomization, a template.
pub(crate) fn left_alone(world: &World, subjects: &[Subject<'_>], old: &ObjectId) -> Vec<(Location, String)> {
    let mut found: Vec<(Location, String)> = Vec::new();
    let bare = matches!(
        (old.group(), &*old.kind),
        ("", "ConfigMap" | "Secret" | "PersistentVolumeClaim" | "Service" | "ServiceAccount")
            | ("storage.k8s.io", "StorageClass")
    );
    for object in naming(world, subjects) {
        let known = mentions(&object.id, object.node.get_ref(), old);
        let is_template = object.id.is(kinds::OPERATOR, "ResourceSet");
        visit(object.node.get_ref(), "", 0, &mut |pointer, node| {
            let Some(text) = node.as_str() else { return };
            if known.contains_key(pointer) || pointer.ends_with("/metadata/name") {
                return;
            }
            let key = pointer.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
            let means = *text == *old.name
                && (key.ends_with("toolkit.fluxcd.io~1name")
                    || (bare
                        && object.id.namespace == old.namespace
                        && [
                            "secret",
                            "secretname",
                            "configmap",
                            "configmapname",
                            "claim",
                            "claimname",
                            "storageclass",
                        ]
                        .iter()
                        .any(|word| key.ends_with(word))));
            let templated =
                is_template && pointer.starts_with("/spec/resources") && is_word(&text, &old.name);
            if let Some(place) = node.location().filter(|_| means || templated)
                && !found.iter().any(|(known, _)| (&known.file, known.start) == (&place.file, place.start))
            {
                found.push((place, format!("{}: {pointer}", object.id)));
            }
        });
    }
    found
}

/// Whether a text holds a word, and not as a part of a longer one.
pub(crate) fn is_word(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(part) && !text[at + word.len()..].starts_with(part))
}

fn visit<'a>(node: NodeRef<'a>, pointer: &str, depth: usize, found: &mut dyn FnMut(&str, NodeRef<'a>)) {
    if depth > 64 {
        return;
    }
    found(pointer, node);
    for (at, item) in node.items().enumerate() {
        visit(item, &format!("{pointer}/{at}"), depth + 1, found);
    }
    for entry in node.entries() {
        visit(entry.value, &crate::lang::yaml::pointer_join(pointer, &entry.key), depth + 1, found);
    }
}
