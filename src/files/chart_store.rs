//! Stores: directories that hold charts, as archives or as folders. A chart is known by
//! the Chart.yaml in it, not by its name; an `index.yaml` beside the archives may say
//! where each comes from, with which digest.

use super::forward::Forward;
use super::gunzip::Gunzip;
use super::open::Root;
use super::render_cache::RenderCache;
use crate::lang::yaml::{Dialect, NodeRef, Scalar, parse_nodes};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Entries of one store that are looked at.
const ENTRIES: usize = 20_000;

/// Bytes of an archive, packed and unpacked, in which its Chart.yaml is looked for.
const SEARCHED: u64 = 16 << 20;

/// Files of a folder.
const FILES: usize = 20_000;

/// Bytes of a folder, and of a file of it, as source-controller bounds charts.
const BYTES: u64 = 100 << 20;

/// Depth of a folder.
const DEPTH: usize = 32;

/// Name of a store's index.
const INDEX: &str = "index.yaml";

/// How a store lays its charts out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreLayout {
    /// Archives and folders side by side, and folders as `NAME/VERSION`.
    Charts,
    /// Archives named by their digests: Helm 4's content cache.
    Content,
}

/// A directory that holds charts.
#[derive(Debug)]
pub(crate) struct ChartStore {
    /// What it is called in answers: its path as it was given, or whose cache it is.
    pub(crate) name: Arc<str>,
    /// Where it is, or why it may not be read.
    pub(crate) path: Result<PathBuf, String>,
    /// How it is laid out.
    pub(crate) layout: StoreLayout,
}

/// Stores in their order, listed when a chart is first looked for.
#[derive(Debug, Default)]
pub(crate) struct ChartStores {
    stores: Vec<ChartStore>,
    charts: OnceLock<Listed>,
    is_off: bool,
    renders: Option<RenderCache>,
}

/// The charts of all stores.
#[derive(Debug)]
struct Listed {
    all: Vec<Arc<StoredChart>>,
    /// By name, their numbers in the list.
    named: FxHashMap<String, Vec<u32>>,
    /// By the digest of an OCI artifact's manifest, the first in the list.
    manifests: FxHashMap<String, u32>,
    /// What the repositories say whose indices lie in stores, by their numbers.
    catalogues: Vec<(usize, Catalogue)>,
}

/// Versions of charts, each with the URL of its archive, as the index of a chart repository
/// lists them.
type Catalogue = FxHashMap<String, Vec<(String, String)>>;

/// A chart of a store.
#[derive(Debug)]
pub(crate) struct StoredChart {
    /// The name in its Chart.yaml.
    pub(crate) name: String,
    /// The version in its Chart.yaml.
    pub(crate) version: String,
    /// Its store, as [`ChartStores::store`] numbers it.
    pub(crate) store: usize,
    /// Its path in the store, with `/`.
    pub(crate) path: String,
    /// What the index of the store says of it.
    pub(crate) recorded: Option<Recorded>,
    is_archive: bool,
    /// Bytes of an archive.
    size: u64,
    root: Arc<Root>,
    content: OnceLock<Result<Arc<ChartContent>, String>>,
    digest: OnceLock<Option<String>>,
}

/// What an index says of an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// The repository and name, or the OCI artifact, that it was pulled from.
    pub(crate) url: Option<String>,
    /// The tag of an OCI artifact.
    pub(crate) tag: Option<String>,
    /// The digest of an OCI artifact's manifest: `sha256:…`.
    pub(crate) manifest: Option<String>,
    /// The SHA-256 of the archive, in hex.
    pub(crate) sha256: Option<String>,
}

/// The bytes of a chart.
#[derive(Debug)]
pub(crate) enum ChartContent {
    /// A gzipped tar archive.
    Archive(Vec<u8>),
    /// The files of a folder: paths with `/` and bytes, in order of the paths.
    Folder(Vec<(String, Vec<u8>)>),
}

impl ChartContent {
    /// What tells contents apart: of an archive the SHA-256 of its bytes, in hex.
    pub(crate) fn digest(&self) -> String {
        match self {
            ChartContent::Archive(bytes) => hex(&Sha256::digest(bytes)),
            ChartContent::Folder(files) => {
                let mut hasher = Sha256::new();
                for (path, bytes) in files {
                    for part in [path.as_bytes(), bytes] {
                        hasher.update((part.len() as u64).to_le_bytes());
                        hasher.update(part);
                    }
                }
                hex(&hasher.finalize())
            }
        }
    }
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl ChartStores {
    /// These stores, in order of their precedence.
    pub(crate) fn new(stores: Vec<ChartStore>) -> ChartStores {
        ChartStores { stores, ..ChartStores::default() }
    }

    /// No stores, and no charts of file trees either: nothing is rendered.
    pub(crate) fn off() -> ChartStores {
        ChartStores { is_off: true, ..ChartStores::default() }
    }

    /// Whether no chart is to be rendered at all.
    pub(crate) fn is_off(&self) -> bool {
        self.is_off
    }

    /// Lets runs keep what charts make of releases for those after them.
    pub(crate) fn keep_renders(&mut self, renders: Option<RenderCache>) {
        self.renders = renders;
    }

    /// What runs keep of charts and releases, where they do.
    pub(crate) fn renders(&self) -> Option<&RenderCache> {
        self.renders.as_ref()
    }

    /// A store by its number.
    pub(crate) fn store(&self, number: usize) -> &ChartStore {
        &self.stores[number]
    }

    /// All charts, in order of their stores and of their paths there.
    pub(crate) fn charts(&self) -> &[Arc<StoredChart>] {
        &self.listed().all
    }

    /// The charts of a name, in the same order.
    pub(crate) fn named(&self, name: &str) -> impl Iterator<Item = &Arc<StoredChart>> {
        let listed = self.listed();
        let numbers = listed.named.get(name).map_or(&[][..], Vec::as_slice);
        numbers.iter().map(|number| &listed.all[*number as usize])
    }

    /// The chart that an index records with the digest of a manifest.
    pub(crate) fn with_manifest(&self, digest: &str) -> Option<&Arc<StoredChart>> {
        let listed = self.listed();
        listed.manifests.get(digest).map(|number| &listed.all[*number as usize])
    }

    /// The versions of a chart, each with the URL of its archive, of each store that holds the
    /// index of a repository.
    pub(crate) fn catalogued(&self, name: &str) -> impl Iterator<Item = (&ChartStore, &[(String, String)])> {
        let catalogues = self.listed().catalogues.iter();
        catalogues.filter_map(move |(store, catalogue)| Some((self.store(*store), &**catalogue.get(name)?)))
    }

    fn listed(&self) -> &Listed {
        self.charts.get_or_init(|| {
            let listed = |(number, store): (usize, &ChartStore)| match &store.path {
                Ok(path) => list(number, path, store.layout),
                Err(_) => Vec::new(),
            };
            let all: Vec<_> = self.stores.iter().enumerate().flat_map(listed).collect();
            let mut named: FxHashMap<String, Vec<u32>> = FxHashMap::default();
            let mut manifests = FxHashMap::default();
            for (chart, number) in all.iter().zip(0u32..) {
                named.entry(chart.name.clone()).or_default().push(number);
                if let Some(digest) = chart.recorded.as_ref().and_then(|recorded| recorded.manifest.clone()) {
                    manifests.entry(digest).or_insert(number);
                }
            }
            let stores = self.stores.iter().enumerate();
            let catalogues = stores.filter_map(|(number, store)| Some((number, catalogue(store)?))).collect();
            Listed { all, named, manifests, catalogues }
        })
    }
}

impl StoredChart {
    /// Its bytes, read once.
    ///
    /// # Errors
    /// It can't be read, is beyond a bound, or is not what the index records.
    pub(crate) fn content(&self) -> Result<&Arc<ChartContent>, &str> {
        let read = || {
            let content = match self.is_archive {
                true => ChartContent::Archive(self.root.read(&self.path).map_err(|e| e.to_string())?),
                false => ChartContent::Folder(folder(&self.root, &self.path).map_err(|e| e.to_string())?),
            };
            Ok(Arc::new(content))
        };
        self.content.get_or_init(read).as_ref().map_err(String::as_str)
    }

    /// What tells its content from others, see [`ChartContent::digest`]; `None` where it
    /// can't be read.
    pub(crate) fn digest(&self) -> Option<&str> {
        self.digest.get_or_init(|| self.content().ok().map(|content| content.digest())).as_deref()
    }

    /// Whether its bytes are those that the index of its store records; `None` where none
    /// are recorded or it can't be read.
    pub(crate) fn is_as_recorded(&self) -> Option<bool> {
        let recorded = self.recorded.as_ref()?.sha256.as_deref()?;
        Some(self.digest()? == recorded)
    }

    /// Bytes of its archive: about how long it takes to unpack and render it. 0 for a folder.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Whether it is an archive; else it is a folder.
    pub(crate) fn is_archive(&self) -> bool {
        self.is_archive
    }
}

/// The charts of a store.
fn list(number: usize, path: &Path, layout: StoreLayout) -> Vec<Arc<StoredChart>> {
    let root = Arc::new(Root::new(path));
    let index = match layout {
        StoreLayout::Charts => root.read(INDEX).map_or_else(|_| Vec::new(), |bytes| read_index(&bytes)),
        StoreLayout::Content => Vec::new(),
    };
    // The first of several that name one archive.
    let index: FxHashMap<String, Recorded> = index.into_iter().rev().collect();
    let candidates = candidates(path, layout);
    let stored = |(path, is_archive): &(String, bool)| {
        let (text, size) = match is_archive {
            true => {
                let file = root.open(path).ok()?;
                let size = file.metadata().ok()?.len();
                (chart_yaml(file), size)
            }
            false => (root.read(&format!("{path}/Chart.yaml")).ok(), 0),
        };
        let (name, version) = name_and_version(&text?)?;
        let recorded = index.get(path).cloned();
        let (path, root) = (path.clone(), root.clone());
        let is_archive = *is_archive;
        let (content, digest) = (OnceLock::new(), OnceLock::new());
        Some(Arc::new(StoredChart {
            name,
            version,
            store: number,
            path,
            recorded,
            is_archive,
            size,
            root,
            content,
            digest,
        }))
    };
    candidates.par_iter().with_min_len(8).filter_map(stored).collect()
}

/// What may be a chart of a store, by path, and whether it is an archive. Links are left
/// out: what lies in a repository may lead anywhere.
fn candidates(path: &Path, layout: StoreLayout) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for (name, is_directory) in entries(path) {
        match layout {
            StoreLayout::Charts if !is_directory => {
                if name.ends_with(".tgz") || name.ends_with(".tar.gz") {
                    found.push((name, true));
                }
            }
            StoreLayout::Content if is_directory => {
                let archives = entries(&path.join(&name)).into_iter();
                let archives = archives.filter(|(inner, directory)| !directory && inner.ends_with(".chart"));
                found.extend(archives.map(|(inner, _)| (format!("{name}/{inner}"), true)));
            }
            StoreLayout::Charts if path.join(&name).join("Chart.yaml").is_file() => found.push((name, false)),
            StoreLayout::Charts => {
                let versions = entries(&path.join(&name)).into_iter().filter(|(_, directory)| *directory);
                found.extend(versions.map(|(version, _)| (format!("{name}/{version}"), false)));
            }
            StoreLayout::Content => {}
        }
        if found.len() > ENTRIES {
            break;
        }
    }
    found.truncate(ENTRIES);
    found
}

/// The regular files and directories of a directory in order of their names, and whether
/// each is a directory.
fn entries(path: &Path) -> Vec<(String, bool)> {
    let Ok(listing) = std::fs::read_dir(path) else { return Vec::new() };
    let entry = |entry: io::Result<std::fs::DirEntry>| {
        let entry = entry.ok()?;
        let kind = entry.file_type().ok()?;
        let name = entry.file_name().into_string().ok()?;
        (kind.is_file() || kind.is_dir()).then_some((name, kind.is_dir()))
    };
    let mut found: Vec<(String, bool)> = listing.take(ENTRIES).filter_map(entry).collect();
    found.sort_unstable();
    found
}

/// The Chart.yaml at the top of an archive.
fn chart_yaml(archive: impl Read) -> Option<Vec<u8>> {
    // It stands first, most often: no more is unpacked than has to be.
    // Of a whole gigabyte may come nothing.
    let packed = io::BufReader::with_capacity(2 << 10, archive.take(SEARCHED));
    let archive = Gunzip::new(packed, 4 << 10);
    let mut archive = tar::Archive::new(Forward::new(archive.take(SEARCHED)));
    for entry in archive.entries_with_seek().ok()? {
        let entry = entry.ok()?;
        let path = entry.path_bytes();
        let is_top = path.strip_suffix(b"/Chart.yaml").is_some_and(|above| {
            let above = above.strip_prefix(b"./").unwrap_or(above);
            !above.is_empty() && !above.contains(&b'/')
        });
        if is_top && entry.header().entry_type().is_file() {
            let mut text = Vec::new();
            entry.take(1 << 20).read_to_end(&mut text).ok()?;
            return Some(text);
        }
    }
    None
}

fn name_and_version(text: &[u8]) -> Option<(String, String)> {
    let text = std::str::from_utf8(text).ok()?;
    let documents = parse_nodes("Chart.yaml", text.trim_start_matches('\u{feff}'));
    let chart = documents.first()?.get_ref();
    let text = |key: &str| scalar_text(chart.get(key)?);
    Some((text("name")?, text("version")?))
}

/// A scalar as Helm reads it where it wants a string: `1.0` is "1".
fn scalar_text(node: NodeRef<'_>) -> Option<String> {
    match node.scalar(Dialect::GoYamlV2) {
        Scalar::Str(text) => Some(text.into_owned()),
        Scalar::Int(value) => Some(value.to_string()),
        Scalar::Uint(value) => Some(value.to_string()),
        Scalar::Float(value) => Some(crate::lang::yaml::resolve::format_float(value)),
        _ => None,
    }
}

/// The entries of an index that name a file beside it.
pub(crate) fn read_index(bytes: &[u8]) -> Vec<(String, Recorded)> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Vec::new() };
    let documents = parse_nodes(INDEX, text);
    let Some(root) = documents.first() else { return Vec::new() };
    let mut found = Vec::new();
    for entry in root.get_ref().entries_at("/entries") {
        for version in entry.value.items() {
            let text = |key: &str| version.get(key).and_then(scalar_text);
            let file = version.items_at("/urls").find_map(|url| Some(url.as_str()?.into_owned()));
            let recorded = Recorded {
                url: text("url"),
                tag: text("tag"),
                manifest: text("manifestDigest"),
                sha256: text("digest").map(|digest| digest.trim_start_matches("sha256:").to_owned()),
            };
            found.extend(file.map(|file| (file, recorded)));
        }
    }
    found
}

/// What a repository says whose index lies in a store: entries with the URLs of archives, and
/// without the source that [`read_index`] knows of what was pulled.
fn catalogue(store: &ChartStore) -> Option<Catalogue> {
    let path = store.path.as_ref().ok().filter(|_| store.layout == StoreLayout::Charts)?;
    let bytes = Root::new(path).read(INDEX).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let documents = parse_nodes(INDEX, &text);
    let mut found = Catalogue::default();
    for entry in documents.first()?.get_ref().entries_at("/entries") {
        for version in entry.value.items().filter(|version| version.get("url").is_none()) {
            let url =
                version.items_at("/urls").find_map(|url| url.as_str().filter(|url| url.contains("://")));
            let number = version.get("version").and_then(scalar_text);
            if let (Some(url), Some(number)) = (url, number) {
                found.entry(entry.key.to_string()).or_default().push((number, url.into_owned()));
            }
        }
    }
    (!found.is_empty()).then_some(found)
}

/// The files of a folder.
fn folder(root: &Root, folder: &str) -> io::Result<Vec<(String, Vec<u8>)>> {
    let beyond = |what: &str| Err(io::Error::other(format!("it has more than {what}")));
    let mut pending = vec![(String::new(), 0)];
    let mut files = Vec::new();
    let mut size = 0;
    while let Some((directory, depth)) = pending.pop() {
        let full = root.path().join(folder).join(&directory);
        for (name, is_directory) in entries(&full) {
            let inner = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            if is_directory {
                if depth == DEPTH {
                    return beyond(&format!("{DEPTH} directories in each other"));
                }
                pending.push((inner, depth + 1));
                continue;
            }
            let bytes = root.read(&format!("{folder}/{inner}"))?;
            size += bytes.len() as u64;
            files.push((inner, bytes));
            if size > BYTES {
                return beyond(&format!("{} MiB", BYTES >> 20));
            }
            if files.len() > FILES {
                return beyond(&format!("{FILES} files"));
            }
        }
    }
    files.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gzip that never ends, and unpacks to nothing: blocks of no bytes.
    struct Endless {
        read: usize,
    }

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
            const EMPTY: [u8; 5] = [0, 0, 0, 0xff, 0xff];
            for byte in &mut *buffer {
                let behind = self.read.checked_sub(HEADER.len());
                *byte = behind.map_or_else(|| HEADER[self.read], |behind| EMPTY[behind % EMPTY.len()]);
                self.read += 1;
            }
            Ok(buffer.len())
        }
    }

    #[test]
    fn an_archive_that_unpacks_to_nothing_is_not_read_for_ever() {
        let mut endless = Endless { read: 0 };
        assert_eq!(chart_yaml(&mut endless), None);
        assert!(endless.read <= SEARCHED as usize + (4 << 10), "{}", endless.read);
    }
}
