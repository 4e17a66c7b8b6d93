//! What people do beside the clusters, as far as their scripts, documents and loose
//! manifests tell: a name that stands there is made or applied by hand.

use crate::files::{Blob, File};
use crate::model::namespaces;
use crate::world::World;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Larger files are data.
const LARGEST: usize = 1 << 20;

/// The files that no cluster reads, and what was looked for in them: clusters ask for the
/// same names.
#[derive(Debug)]
pub(crate) struct ByHand {
    unread: Vec<(Arc<File>, Arc<Blob>)>,
    texts: Texts,
    /// Those that say that a namespace is made.
    making: OnceLock<Texts>,
    bootstraps: OnceLock<Vec<u32>>,
}

impl ByHand {
    pub(super) fn of(world: &World) -> ByHand {
        let unread = world.snapshot.files().iter().filter(|file| !world.is_applied(file));
        let unread: Vec<(Arc<File>, Arc<Blob>)> =
            unread.filter_map(|file| Some((file.clone(), world.snapshot.blob(file).ok()?.clone()))).collect();
        let is_read = |blob: &&Arc<Blob>| blob.text().is_some_and(|text| text.len() <= LARGEST);
        let texts = Texts::of(unread.iter().map(|(_, blob)| blob).filter(is_read).cloned().collect());
        ByHand { unread, texts, making: OnceLock::new(), bootstraps: OnceLock::new() }
    }

    /// The files of tools that bootstrap clusters.
    pub(crate) fn bootstraps(&self) -> impl Iterator<Item = (&File, &Blob)> {
        let found = self.bootstraps.get_or_init(|| {
            let places = self.unread.iter().enumerate().filter(|(_, (file, _))| bootstraps(&file.path));
            places.map(|(at, _)| at as u32).collect()
        });
        found.iter().map(|at| {
            let (file, blob) = &self.unread[*at as usize];
            (&**file, &**blob)
        })
    }

    /// Those of some names, and of some paths of two or three components, that stand in a
    /// file as whole words.
    pub(crate) fn named<'w>(&self, words: &FxHashSet<&'w str>) -> FxHashSet<&'w str> {
        self.texts.find(words)
    }

    /// Those of some names that stand in a file which says that a namespace is made.
    pub(crate) fn made_namespaces<'w>(&self, names: &FxHashSet<&'w str>) -> FxHashSet<&'w str> {
        let making = self.making.get_or_init(|| {
            let says = |text: &str| namespaces::MAKING.iter().any(|phrase| text.contains(phrase));
            let texts = self.texts.blobs.iter().filter(|blob| blob.text().is_some_and(says));
            Texts::of(texts.cloned().collect())
        });
        making.find(names)
    }
}

/// Some texts, and whether words stand in one of them.
#[derive(Debug)]
struct Texts {
    blobs: Vec<Arc<Blob>>,
    known: Mutex<FxHashMap<Box<str>, bool>>,
}

impl Texts {
    fn of(blobs: Vec<Arc<Blob>>) -> Texts {
        Texts { blobs, known: Mutex::default() }
    }

    /// One pass over the texts, for those that nobody asked for before.
    fn find<'w>(&self, words: &FxHashSet<&'w str>) -> FxHashSet<&'w str> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let new: FxHashSet<&str> = words.iter().copied().filter(|word| !known.contains_key(*word)).collect();
        if !new.is_empty() {
            let shapes = Shapes::of(&new);
            let mut found = FxHashSet::default();
            let mut take = |word| {
                if shapes.may_have(word) {
                    found.extend(new.get(word).copied());
                }
            };
            let has_names = new.iter().any(|word| !word.contains('/'));
            for text in self.blobs.iter().filter_map(|blob| blob.text()) {
                each_path(text, &mut take);
                if has_names {
                    each_name(text, &mut take);
                }
            }
            known.extend(new.iter().map(|word| (Box::from(*word), found.contains(word))));
        }
        words.iter().copied().filter(|word| known.get(*word) == Some(&true)).collect()
    }
}

/// The lengths of some words by their first byte: most words of a text are none of them.
struct Shapes([u64; 256]);

impl Shapes {
    fn of(words: &FxHashSet<&str>) -> Shapes {
        let mut shapes = Shapes([0; 256]);
        for word in words.iter().filter(|word| !word.is_empty()) {
            shapes.0[word.as_bytes()[0] as usize] |= Shapes::bit(word);
        }
        shapes
    }

    fn bit(word: &str) -> u64 {
        1 << word.len().min(63)
    }

    fn may_have(&self, word: &str) -> bool {
        self.0[word.as_bytes()[0] as usize] & Shapes::bit(word) != 0
    }
}

/// Whether a file is one of a tool that bootstraps clusters.
fn bootstraps(path: &str) -> bool {
    const TOOLS: [&str; 8] =
        ["helmfile", "bootstrap", "talos", "ansible", "terraform", "justfile", "taskfile", "makefile"];
    const ENDINGS: [&str; 10] =
        ["yaml", "yml", "gotmpl", "j2", "tf", "sh", "nix", "makefile", "justfile", "just"];
    let path = path.to_ascii_lowercase();
    ENDINGS.iter().any(|ending| path.ends_with(ending))
        && (path.ends_with(".sh") || TOOLS.iter().any(|tool| path.contains(tool)))
}

/// The last components of a path that has as many.
pub(super) fn last_components(path: &str, count: usize) -> Option<&str> {
    if path.bytes().filter(|byte| *byte == b'/').count() + 1 < count {
        return None;
    }
    let start = path.rmatch_indices('/').nth(count - 1).map_or(0, |(at, _)| at + 1);
    Some(&path[start..])
}

/// What a byte may be a part of.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Nothing,
    /// A path, and no name.
    Path,
    /// A name and a path.
    Name,
}

const PARTS: [Part; 256] = {
    let mut parts = [Part::Nothing; 256];
    let mut at = 0;
    while at < 256 {
        let byte = at as u8;
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            parts[at] = Part::Name;
        } else if byte == b'.' || byte == b'/' {
            parts[at] = Part::Path;
        }
        at += 1;
    }
    parts
};

fn part(byte: u8) -> Part {
    PARTS[byte as usize]
}

/// Calls `found` with the names in a text.
fn each_name<'t>(text: &'t str, mut found: impl FnMut(&'t str)) {
    let bytes = text.as_bytes();
    let mut start = 0;
    for at in 0..=bytes.len() {
        if bytes.get(at).is_some_and(|byte| part(*byte) == Part::Name) {
            continue;
        }
        if start < at {
            found(&text[start..at]);
        }
        start = at + 1;
    }
}

/// Calls `found` with the last two and three components of the paths in a text.
fn each_path<'t>(text: &'t str, mut found: impl FnMut(&'t str)) {
    let bytes = text.as_bytes();
    let is_outside = |byte: &u8| part(*byte) == Part::Nothing;
    let mut read = 0;
    while let Some(slash) = memchr::memchr(b'/', &bytes[read..]).map(|at| read + at) {
        let start = bytes[read..slash].iter().rposition(is_outside).map_or(read, |at| read + at + 1);
        let end = bytes[slash..].iter().position(is_outside).map_or(bytes.len(), |at| slash + at);
        for count in [2, 3] {
            last_components(&text[start..end], count).into_iter().for_each(&mut found);
        }
        read = end;
    }
}

#[cfg(test)]
mod tests {
    use super::{each_name, each_path};

    #[test]
    fn a_word_is_no_part_of_another() {
        for (text, word, holds) in [
            ("kubectl create ns media", "media", true),
            ("media", "media", true),
            ("social-media", "media", false),
            ("media-server", "media", false),
            ("path/media/x", "media", true),
            ("kubectl apply -f ./apps/media/ns.yaml;", "media/ns.yaml", true),
            ("media/ns.yaml", "media/ns.yaml", true),
            ("social-media/ns.yaml", "media/ns.yaml", false),
            ("kubectl apply -f ./apps/media/ns.yaml;", "apps/media/ns.yaml", true),
            ("readFile apps/%s/media/ns.yaml", "apps/media/ns.yaml", false),
            ("readFile apps/%s/media/ns.yaml", "media/ns.yaml", true),
            ("apps/media/ns.yaml", "apps/media/ns.yaml", true),
            ("für/media/ns.yaml", "media/ns.yaml", true),
        ] {
            let mut is_found = false;
            let mut take = |found: &str| is_found |= found == word;
            each_name(text, &mut take);
            each_path(text, &mut take);
            assert_eq!(is_found, holds, "{text} {word}");
        }
    }
}
