//! What gzip packed, unpacked as it is read.

use std::io::{self, BufRead, Read};
use std::ops::Range;
use zlib_rs::{Inflate, InflateFlush, Status};

/// The window of deflate, and that a header of gzip stands before it and a checksum behind.
const GZIP: u8 = 16 + 15;

/// One member after another, as Go's `compress/gzip` reads them. It unpacks into a buffer of
/// its own: into the small ones that readers of archives bring, that takes twice as long.
pub(crate) struct Gunzip<R> {
    packed: R,
    /// The member that is read; none between two of them.
    member: Option<Inflate>,
    chunk: Vec<u8>,
    /// What of the chunk nobody read yet.
    ready: Range<usize>,
    /// What is wrong behind it.
    failed: Option<io::Error>,
}

impl<R: BufRead> Gunzip<R> {
    /// Unpacks as many bytes at once.
    pub(crate) fn new(packed: R, chunk: usize) -> Gunzip<R> {
        Gunzip { packed, member: None, chunk: vec![0; chunk], ready: 0..0, failed: None }
    }

    /// Unpacks the next bytes; none at the end.
    fn fill(&mut self) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        loop {
            let packed = self.packed.fill_buf()?;
            let is_at_end = packed.is_empty();
            if is_at_end && self.member.is_none() {
                return Ok(());
            }
            let member = self.member.get_or_insert_with(|| Inflate::new(true, GZIP));
            let (read, written) = (member.total_in(), member.total_out());
            let status = member.decompress(packed, &mut self.chunk, InflateFlush::NoFlush);
            let read = (member.total_in() - read) as usize;
            let written = (member.total_out() - written) as usize;
            self.packed.consume(read);
            self.ready = 0..written;
            let failed = match status {
                Ok(Status::StreamEnd) => {
                    self.member = None;
                    None
                }
                Ok(_) if read > 0 || written > 0 => None,
                Ok(_) if is_at_end => Some(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) | Err(_) => Some(io::Error::new(io::ErrorKind::InvalidData, "gzip: corrupt stream")),
            };
            if written > 0 {
                // What was unpacked counts before what is wrong behind it.
                self.failed = failed;
                return Ok(());
            }
            failed.map_or(Ok(()), Err)?;
        }
    }
}

impl<R: BufRead> Read for Gunzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ready.is_empty() {
            self.fill()?;
        }
        let count = self.ready.len().min(buffer.len());
        let start = self.ready.start;
        buffer[..count].copy_from_slice(&self.chunk[start..start + count]);
        self.ready.start += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).expect("written");
        encoder.finish().expect("packed")
    }

    fn unpacked(packed: &[u8], chunk: usize) -> (Vec<u8>, Option<io::ErrorKind>) {
        let mut text = Vec::new();
        let ended = Gunzip::new(packed, chunk).read_to_end(&mut text);
        (text, ended.err().map(|error| error.kind()))
    }

    #[test]
    fn members_follow_one_another() {
        let text: Vec<u8> =
            (0..100_000u32).flat_map(|number| (number.wrapping_mul(number)).to_le_bytes()).collect();
        for chunk in [1, 7, 4 << 10, 1 << 20] {
            assert_eq!(unpacked(&packed(&text[..4_000]), chunk), (text[..4_000].to_vec(), None), "{chunk}");
        }
        let whole = [packed(&text), packed(b""), packed(b"more")].concat();
        assert_eq!(unpacked(&whole, 64 << 10), ([&text[..], b"more"].concat(), None));
    }

    #[test]
    fn what_is_whole_counts_before_what_is_not() {
        let whole = packed(b"some text that is whole");
        let text = b"some text that is whole".to_vec();
        for (broken, kind) in [
            (whole[..whole.len() - 1].to_vec(), io::ErrorKind::UnexpectedEof),
            ([&whole[..whole.len() - 8], &[0; 8]].concat(), io::ErrorKind::InvalidData),
            ([&whole[..], b"no gzip"].concat(), io::ErrorKind::InvalidData),
        ] {
            assert_eq!(unpacked(&broken, 64), (text.clone(), Some(kind)));
        }
        assert_eq!(unpacked(b"", 64), (Vec::new(), None));
        assert_eq!(unpacked(&whole[..5], 64), (Vec::new(), Some(io::ErrorKind::UnexpectedEof)));
        assert_eq!(unpacked(b"no gzip at all", 64), (Vec::new(), Some(io::ErrorKind::InvalidData)));
    }
}
