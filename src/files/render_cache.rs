//! What charts made of releases, kept between runs in the user's cache directory: nothing in
//! it is needed, and nothing of it is taken unless its checksum is right.

use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// What every entry begins with.
const MAGIC: &[u8] = b"forebay render\n";

/// Bytes before the content of an entry.
const HEAD: usize = MAGIC.len() + size_of::<u32>();

/// Bytes of one entry, and of all.
const ENTRY: u64 = 32 << 20;
const ALL: u64 = 256 << 20;

/// Entries that are listed when old ones are removed.
const LISTED: usize = 100_000;

/// A directory of entries, each a file called by its key.
#[derive(Debug)]
pub(crate) struct RenderCache {
    directory: PathBuf,
    /// What tells this program from another one.
    program: [u8; 32],
}

impl RenderCache {
    /// The cache below a user's directory of caches, which has to be there. `program` tells
    /// this program from others, whose entries may say other things.
    pub(crate) fn below(caches: &Path, program: &str) -> Option<RenderCache> {
        let directory = caches.join("forebay/renders");
        caches.is_dir().then(|| RenderCache { directory, program: Sha256::digest(program).into() })
    }

    /// The key of what something, given as bytes, makes with this program.
    pub(crate) fn key(&self, asked: &[u8]) -> [u8; 32] {
        let mut hasher = Sha256::new();
        hasher.update(self.program);
        hasher.update(asked);
        hasher.finalize().into()
    }

    /// What was kept under a key; `None` where nothing was, or not what was written.
    pub(crate) fn get(&self, key: &[u8; 32]) -> Option<Vec<u8>> {
        let file = File::open(self.path(key)).ok()?;
        let size = file.metadata().ok().filter(fs::Metadata::is_file)?.len();
        let mut bytes = Vec::with_capacity(usize::try_from(size.min(ENTRY)).ok()?);
        file.take(ENTRY + 1).read_to_end(&mut bytes).ok()?;
        let rest = bytes.strip_prefix(MAGIC).filter(|_| bytes.len() as u64 <= ENTRY)?;
        let (sum, content) = rest.split_at_checked(size_of::<u32>())?;
        if *sum != sum_of(key, content) {
            return None;
        }
        bytes.drain(..HEAD);
        Some(bytes)
    }

    /// Keeps something under a key. What can't be written is not kept.
    pub(crate) fn put(&self, key: &[u8; 32], content: &[u8]) {
        if (content.len() + HEAD) as u64 <= ENTRY {
            let _ = self.written(key, content);
        }
    }

    fn written(&self, key: &[u8; 32], content: &[u8]) -> io::Result<()> {
        let path = self.path(key);
        let temporary = path.with_extension(format!("tmp-{}", std::process::id()));
        create_private(&self.directory)?;
        let written = private_file(&temporary).and_then(|mut file| {
            file.write_all(MAGIC)?;
            file.write_all(&sum_of(key, content))?;
            file.write_all(content)
        });
        let done = written.and_then(|()| fs::rename(&temporary, &path));
        done.inspect_err(|_| drop(fs::remove_file(&temporary)))
    }

    /// Removes the oldest entries where all together take too much.
    pub(crate) fn prune(&self) {
        self.prune_to(ALL);
    }

    fn prune_to(&self, most: u64) {
        let Ok(listing) = fs::read_dir(&self.directory) else { return };
        let entry = |entry: io::Result<fs::DirEntry>| {
            let entry = entry.ok()?;
            let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((metadata.modified().ok()?, metadata.len(), entry.path()))
        };
        let mut entries: Vec<_> = listing.take(LISTED).filter_map(entry).collect();
        let mut all: u64 = entries.iter().map(|(_, size, _)| size).sum();
        if all <= most {
            return;
        }
        entries.sort();
        for (_, size, path) in entries {
            if all <= most / 4 * 3 {
                break;
            }
            if fs::remove_file(path).is_ok() {
                all -= size;
            }
        }
    }

    fn path(&self, key: &[u8; 32]) -> PathBuf {
        let name: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        self.directory.join(name)
    }
}

/// The sum of an entry: under another key it is another one's. It tells what a disk or a
/// program that was cut off did; who may write here may run programs too.
fn sum_of(key: &[u8; 32], content: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(content);
    hasher.finalize().to_le_bytes()
}

/// A directory that others can't look into: entries hold what charts make of values.
fn create_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

fn private_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    fn cache(name: &str) -> (PathBuf, RenderCache) {
        let place = std::env::temp_dir().join(format!("forebay-renders-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(&place).unwrap();
        let cache = RenderCache::below(&place, "a program").unwrap();
        (place, cache)
    }

    #[test]
    fn what_was_kept_comes_back_and_nothing_else() {
        let (place, cache) = cache("kept");
        let (one, other) = (cache.key(b"one"), cache.key(b"other"));
        assert_eq!(cache.get(&one), None);
        cache.put(&one, b"objects");
        assert_eq!(cache.get(&one).as_deref(), Some(&b"objects"[..]));
        assert_eq!(cache.get(&other), None);
        let older = RenderCache::below(&place, "another program").unwrap();
        assert_eq!(older.get(&older.key(b"one")), None);
        // Cut off, changed, and another key's.
        let (path, bytes) = (cache.path(&one), fs::read(cache.path(&one)).unwrap());
        fs::copy(&path, cache.path(&other)).unwrap();
        assert_eq!(cache.get(&other), None);
        for broken in [bytes[..bytes.len() - 1].to_vec(), [&bytes[..], b"x"].concat(), Vec::new()] {
            fs::write(&path, broken).unwrap();
            assert_eq!(cache.get(&one), None);
        }
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn old_entries_go_where_all_take_too_much() {
        let (place, cache) = cache("prune");
        let keys: Vec<[u8; 32]> = (0u8..8).map(|number| cache.key(&[number])).collect();
        for (age, key) in (0..8).rev().zip(&keys) {
            cache.put(key, &[0; 1000]);
            let time = SystemTime::now() - std::time::Duration::from_secs(60 * age);
            File::options().append(true).open(cache.path(key)).unwrap().set_modified(time).unwrap();
        }
        cache.prune_to(100_000);
        assert_eq!(keys.iter().filter(|key| cache.get(key).is_some()).count(), 8);
        cache.prune_to(6_000);
        let kept: Vec<bool> = keys.iter().map(|key| cache.get(key).is_some()).collect();
        assert_eq!(kept, [false, false, false, false, true, true, true, true]);
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn a_directory_of_caches_is_not_made() {
        assert!(RenderCache::below(Path::new("/nonexistent/caches"), "").is_none());
    }
}
