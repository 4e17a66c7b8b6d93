//! Packed charts.

use flate2::Compression;
use flate2::write::GzEncoder;

/// An archive of files, by their paths below the directory around them.
pub(crate) fn packed(top: &str, files: &[(&str, &str)]) -> Vec<u8> {
    let mut out = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        out.append_data(&mut header, format!("{top}/{path}"), text.as_bytes()).expect("a member");
    }
    out.into_inner().expect("a tar").finish().expect("a gzip")
}
