//! Archives that are read from the first byte on.

use std::io::{self, Read, Seek, SeekFrom};

/// A reader that is sought forwards by reading on, into one buffer: without seeking the
/// archive makes a new one of 32 KiB for each member.
pub(crate) struct Forward<R> {
    inner: R,
    at: u64,
    passed: Vec<u8>,
}

impl<R: Read> Forward<R> {
    pub(crate) fn new(inner: R) -> Forward<R> {
        Forward { inner, at: 0, passed: Vec::new() }
    }
}

impl<R: Read> Read for Forward<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl<R: Read> Seek for Forward<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Current(by) = to else { return Err(io::ErrorKind::Unsupported.into()) };
        let mut left = u64::try_from(by).map_err(io::Error::other)?;
        while left > 0 {
            self.passed.resize(left.clamp(self.passed.len() as u64, 32 << 10) as usize, 0);
            let most = left.min(self.passed.len() as u64) as usize;
            let read = self.inner.read(&mut self.passed[..most])?;
            if read == 0 {
                return Err(io::Error::other("unexpected EOF during skip"));
            }
            self.at += read as u64;
            left -= read as u64;
        }
        Ok(self.at)
    }
}
