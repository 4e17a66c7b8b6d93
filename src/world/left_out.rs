//! Why no cluster takes in a file: a kustomization above it lists others.

use crate::build::kustomize::FILE_NAMES;
use crate::files::{File, Snapshot};
use crate::lang::yaml::{Location, NodeRef};
use rustc_hash::FxHashMap;

/// What a kustomization lacks for a file.
#[derive(Clone, Debug)]
pub(crate) struct LeftOut {
    /// The path of the kustomization.
    pub kustomization: String,
    /// The entry by which it would take the file in.
    pub entry: String,
    /// Where that entry stands in a comment.
    pub comment: Option<Location>,
}

/// What the kustomizations of some paths list, each found once.
#[derive(Debug, Default)]
pub(crate) struct Listings(FxHashMap<String, FxHashMap<String, Mention>>);

/// How a kustomization names a file or a directory beside it.
#[derive(Debug)]
enum Mention {
    Entry,
    /// In a comment alone: the entry, and where it stands.
    Comment(String, Location),
}

impl Listings {
    /// The nearest kustomization above a file that lists others and not this one, nor what it
    /// lies in.
    pub(crate) fn left_out(&mut self, snapshot: &Snapshot, path: &str) -> Option<LeftOut> {
        let (mut child, mut below) = (path, path);
        while let Some((directory, name)) = child.rsplit_once('/') {
            let mut near = FILE_NAMES.iter().map(|file| format!("{directory}/{file}"));
            let near = near.find_map(|at| Some((snapshot.file(&at)?, at)));
            if let Some((file, at)) = near {
                let listing = self.0.entry(at.clone()).or_insert_with(|| mentions(snapshot, file));
                let (entry, comment) = match listing.get(name) {
                    Some(Mention::Entry) => {
                        (child, below) = (directory, directory);
                        continue;
                    }
                    Some(Mention::Comment(entry, place)) => (entry.clone(), Some(place.clone())),
                    None => (below[directory.len() + 1..].to_owned(), None),
                };
                return Some(LeftOut { kustomization: at, entry, comment });
            }
            child = directory;
        }
        None
    }
}

/// The files and directories beside a kustomization that it names, by the first steps of the
/// paths.
fn mentions(snapshot: &Snapshot, file: &File) -> FxHashMap<String, Mention> {
    let first = |path: &str| path.trim_start_matches("./").split('/').next().unwrap_or_default().to_owned();
    let mut found = FxHashMap::default();
    let text = snapshot.stream(file).map_or("", |stream| &stream.text);
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let begin = start;
        start += line.len();
        let Some(entry) = line.trim_start().strip_prefix('#') else { continue };
        let entry = entry.trim_start_matches('#').trim_start().strip_prefix('-');
        let Some(entry) = entry.and_then(|entry| entry.split(" #").next()) else { continue };
        let entry = entry.trim().trim_matches(['"', '\'']);
        let at = begin + line.find(entry).unwrap_or_default();
        let (start, end) = (at as u32, (at + entry.len()) as u32);
        let place = Location { file: file.name(), start, end, via: Vec::new() };
        found.entry(first(entry)).or_insert(Mention::Comment(entry.to_owned(), place));
    }
    let Some(source) = snapshot.sources(file).first() else { return found };
    let root = source.root();
    for item in root.get_ref().entries().flat_map(|list| list.value.items()) {
        // Generators have lists of their own.
        let inner = item.entries().flat_map(|list| list.value.items());
        for name in std::iter::once(item).chain(inner).filter_map(NodeRef::as_str) {
            found.insert(first(&name), Mention::Entry);
        }
    }
    found
}
