//! Contents of files, shared by all snapshots: bytes, and what they parse to.

use super::packed_files::PackedFiles;
use crate::lang::yaml::Stream;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Files above this size are not read: 64 MiB.
pub(crate) const SIZE_LIMIT: u64 = 64 << 20;

/// Files with more documents are not parsed: a document takes a hundred times the
/// memory of the four bytes that begin it.
pub(crate) const DOCUMENT_LIMIT: usize = 100_000;

/// The content of a file.
#[derive(Debug)]
pub struct Blob {
    /// Nothing yet where it lies in an archive.
    held: OnceLock<Held>,
    packed: Option<(Arc<PackedFiles>, Range<usize>)>,
    content: OnceLock<Content>,
}

#[derive(Debug)]
struct Held {
    bytes: Bytes,
    /// Lines that begin with `---`: no more documents than one above that.
    separators: usize,
}

/// Bytes as they are, held once: what is parsed is the same text.
#[derive(Debug)]
enum Bytes {
    Text(Arc<str>),
    /// No UTF-8.
    Other(Box<[u8]>),
}

impl Held {
    fn new(bytes: &[u8]) -> Held {
        let separators = memchr::memmem::find_iter(bytes, b"\n---").count();
        let bytes = match std::str::from_utf8(bytes) {
            Ok(text) => Bytes::Text(text.into()),
            Err(_) => Bytes::Other(bytes.into()),
        };
        Held { bytes, separators }
    }
}

/// What a file's bytes are.
#[derive(Debug)]
pub enum Content {
    /// Text, parsed as YAML (JSON is a subset of it).
    Text(Arc<Stream>),
    /// Neither UTF-8 nor UTF-16 with a byte order mark; where and why.
    Undecodable(Undecodable),
    /// More than [`DOCUMENT_LIMIT`] documents.
    TooManyDocuments,
    /// A Git LFS pointer: the content is elsewhere.
    LfsPointer,
    /// Encrypted by git-crypt.
    GitCrypt,
}

/// Why bytes are no text.
#[derive(Debug)]
pub struct Undecodable {
    /// Byte offset of the first bad byte.
    pub offset: usize,
    /// What is wrong there.
    pub reason: String,
}

impl Blob {
    fn new(bytes: &[u8]) -> Self {
        Blob { held: OnceLock::from(Held::new(bytes)), packed: None, content: OnceLock::new() }
    }

    /// The file that lies there in an archive; it is unpacked when somebody asks for it.
    pub(crate) fn in_archive(archive: &Arc<PackedFiles>, range: Range<usize>) -> Self {
        archive.note(&range);
        Blob { held: OnceLock::new(), packed: Some((archive.clone(), range)), content: OnceLock::new() }
    }

    fn held(&self) -> &Held {
        self.held.get_or_init(|| {
            let packed = self.packed.as_ref().map(|(archive, range)| archive.get(range));
            Held::new(packed.unwrap_or_default())
        })
    }

    /// The bytes as they are.
    pub fn bytes(&self) -> &[u8] {
        match &self.held().bytes {
            Bytes::Text(text) => text.as_bytes(),
            Bytes::Other(bytes) => bytes,
        }
    }

    /// How many bytes there are.
    pub(crate) fn size(&self) -> usize {
        self.packed.as_ref().map_or_else(|| self.bytes().len(), |(_, range)| range.len())
    }

    /// Lines that begin with `---`: no more documents than one above that.
    pub(super) fn separators(&self) -> usize {
        self.held().separators
    }

    /// [`Blob::text`], held together with it.
    pub(crate) fn shared_text(&self) -> Option<Arc<str>> {
        match &self.held().bytes {
            Bytes::Text(text) => Some(text.clone()),
            Bytes::Other(_) => None,
        }
    }

    /// The bytes as text, where they are UTF-8.
    pub fn text(&self) -> Option<&str> {
        match &self.held().bytes {
            Bytes::Text(text) => Some(text),
            Bytes::Other(_) => None,
        }
    }

    /// The content, decoded and parsed on first use.
    pub fn content(&self) -> &Content {
        self.content.get_or_init(|| match self.separators() >= DOCUMENT_LIMIT {
            true => Content::TooManyDocuments,
            false => decode(self),
        })
    }

    /// The parsed text, if it is text.
    pub fn stream(&self) -> Option<&Arc<Stream>> {
        match self.content() {
            Content::Text(stream) => Some(stream),
            _ => None,
        }
    }

    /// Whether the bytes are UTF-16 with a byte order mark. Offsets of the
    /// stream are then those of the decoded text, so nothing can be edited.
    pub fn is_utf16(&self) -> bool {
        let bytes = self.bytes();
        bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff])
    }
}

fn decode(blob: &Blob) -> Content {
    let bytes = blob.bytes();
    if bytes.starts_with(b"version https://git-lfs.github.com/spec/") {
        return Content::LfsPointer;
    }
    if bytes.starts_with(b"\0GITCRYPT\0") {
        return Content::GitCrypt;
    }
    if let Bytes::Text(text) = &blob.held().bytes {
        return Content::Text(Arc::new(Stream::of(text.clone())));
    }
    let wide = match bytes {
        [0xff, 0xfe, rest @ ..] => Some((rest, false)),
        [0xfe, 0xff, rest @ ..] => Some((rest, true)),
        _ => None,
    };
    if let Some((rest, big_endian)) = wide {
        let units = rest.chunks(2).map(|pair| match (pair, big_endian) {
            ([high, low], true) | ([low, high], false) => u16::from_be_bytes([*high, *low]),
            _ => 0xdc00,
        });
        let decoded: Result<String, _> = char::decode_utf16(units).collect();
        return match decoded {
            Ok(text) => Content::Text(Arc::new(Stream::parse(&text))),
            Err(_) => Content::Undecodable(Undecodable {
                offset: 0,
                reason: "UTF-16 with an unpaired surrogate or an odd number of bytes".to_owned(),
            }),
        };
    }
    let offset = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let byte = bytes.get(offset).copied().unwrap_or_default();
    Content::Undecodable(Undecodable { offset, reason: format!("byte 0x{byte:02x} is not UTF-8") })
}

/// Shards of the map: readers in parallel rarely wait for each other.
const SHARDS: usize = 16;

/// All blobs that any snapshot uses, found by content: equal files are held and
/// parsed once.
#[derive(Debug, Default)]
pub struct Store {
    /// By a hash that nobody who writes files can foresee.
    hasher: foldhash::quality::RandomState,
    shards: [Mutex<FxHashMap<u64, Alike>>; SHARDS],
}

/// Blobs of one hash: one, most often.
type Alike = SmallVec<[Arc<Blob>; 1]>;

impl Store {
    /// The blob of these bytes.
    pub fn intern(&self, bytes: &[u8]) -> Arc<Blob> {
        let hash = self.hasher.hash_one(bytes);
        let shard = &self.shards[hash as usize % SHARDS];
        let mut blobs = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let alike = blobs.entry(hash).or_default();
        match alike.iter().find(|blob| *blob.bytes() == *bytes) {
            Some(blob) => blob.clone(),
            None => {
                let blob = Arc::new(Blob::new(bytes));
                alike.push(blob.clone());
                blob
            }
        }
    }

    /// Let go of the blobs that no snapshot uses any more: an editor makes a new one
    /// with each keystroke.
    pub fn forget_unused(&self) {
        for shard in &self.shards {
            let mut blobs = shard.lock().unwrap_or_else(PoisonError::into_inner);
            blobs.retain(|_, alike| {
                alike.retain(|blob| Arc::strong_count(blob) > 1);
                !alike.is_empty()
            });
        }
    }
}
