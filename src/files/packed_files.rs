//! Packed archives of which most files are never asked for.

use super::gunzip::Gunzip;
use std::io::Read;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A gzip archive that was read once, and is unpacked again when a file of it is asked for, up
/// to the last that may be. That takes as long as the first time: a chart's tests and pictures
/// need no memory for it, and who asks for one of them often asks for all.
#[derive(Debug)]
pub(crate) struct PackedFiles {
    packed: Vec<u8>,
    /// Where the last file ends, in bytes of what it unpacks to.
    end: AtomicUsize,
    unpacked: OnceLock<Vec<u8>>,
}

impl PackedFiles {
    /// Of the bytes of an archive.
    pub(crate) fn new(packed: Vec<u8>) -> PackedFiles {
        PackedFiles { packed, end: AtomicUsize::new(0), unpacked: OnceLock::new() }
    }

    /// The archive as it is.
    pub(crate) fn packed(&self) -> &[u8] {
        &self.packed
    }

    /// Notes that a file lies there, in bytes of what the archive unpacks to: before any is
    /// asked for.
    pub(super) fn note(&self, range: &Range<usize>) {
        self.end.fetch_max(range.end, Ordering::Relaxed);
    }

    /// The bytes of a file that was noted.
    pub(super) fn get(&self, range: &Range<usize>) -> &[u8] {
        let unpacked = self.unpacked.get_or_init(|| {
            // It was read to there before, without an error.
            let end = self.end.load(Ordering::Relaxed);
            let mut all = Vec::with_capacity(end);
            let _ = Gunzip::new(&*self.packed, 64 << 10).take(end as u64).read_to_end(&mut all);
            all
        });
        unpacked.get(range.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    #[test]
    fn no_more_is_unpacked_than_files_need() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(b"head, one, two").expect("written");
        encoder.write_all(&vec![0; 8 << 20]).expect("written");
        let files = PackedFiles::new(encoder.finish().expect("packed"));
        files.note(&(11..14));
        files.note(&(6..9));
        assert_eq!(files.get(&(6..9)), b"one");
        assert_eq!(files.get(&(11..14)), b"two");
        assert_eq!(files.unpacked.get().map(Vec::len), Some(14));
    }

    #[test]
    fn what_is_not_there_is_empty() {
        let files = PackedFiles::new(b"no gzip".to_vec());
        files.note(&(0..4));
        assert_eq!(files.get(&(0..4)), b"");
    }
}
