//! Packed charts, as Helm's `pkg/chart/loader/archive` unpacks them: into memory.

use super::error::{RenderError, refuse};
use crate::files::{Blob, Forward, Gunzip};
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of one file of an archive, as Helm bounds them.
pub(super) const FILE_LIMIT: u64 = 5 << 20;

/// Bytes of all files of an archive, as Helm bounds them.
pub(super) const CHART_LIMIT: u64 = 100 << 20;

/// Members of an archive; Helm has no such bound.
const MEMBERS: usize = 20_000;

/// What is held of a file of an archive: of its path there, its bytes, and where they lie in
/// what is unpacked, if they lie in one piece.
pub(super) type Hold<'h> = dyn FnMut(&str, &[u8], Option<Range<usize>>) -> Arc<Blob> + 'h;

/// The files of an archive, without the directory around them: name and content.
pub(super) fn members(packed: &[u8], hold: &mut Hold<'_>) -> Result<Vec<(String, Arc<Blob>)>, RenderError> {
    if !packed.starts_with(&[0x1f, 0x8b]) {
        return refuse("gzip: invalid header");
    }
    // What unpacks to more than all files and their headers may have is none of Helm's.
    let inner = Gunzip::new(packed, 64 << 10).take(2 * CHART_LIMIT);
    let mut archive = tar::Archive::new(Forward::new(inner));
    let (mut found, mut content) = (Vec::new(), Vec::new());
    let mut left = CHART_LIMIT;
    let entries = archive.entries_with_seek().map_err(|error| unreadable(&error))?;
    for (count, entry) in entries.enumerate() {
        let mut entry = entry.map_err(|error| unreadable(&error))?;
        if count >= MEMBERS {
            return Err(RenderError::Unable(format!(
                "more than forebay's bound: {MEMBERS} members of an archive"
            )));
        }
        let kind = entry.header().entry_type();
        if kind.is_dir() || kind.is_pax_global_extensions() || kind.is_pax_local_extensions() {
            continue;
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        // What ends so is a directory, whatever its type.
        if path.ends_with('/') {
            continue;
        }
        let name = inner_name(&path)?;
        let size = entry.size();
        if size > left {
            return refuse(format!("decompressed chart is larger than the maximum size {CHART_LIMIT}"));
        }
        if size > FILE_LIMIT {
            return refuse(format!(
                "decompressed chart file {path:?} is larger than the maximum file size {FILE_LIMIT}"
            ));
        }
        content.resize(size as usize, 0);
        let read = fill(&mut entry, &mut content).map_err(|error| unreadable(&error))?;
        left -= read as u64;
        if (read as u64) < size || left == 0 {
            return refuse(format!("decompressed chart is larger than the maximum size {CHART_LIMIT}"));
        }
        // Of other types the bytes may lie in pieces.
        let start = kind.is_file().then(|| entry.raw_file_position() as usize);
        found.push((name, hold(&path, &content, start.map(|start| start..start + content.len()))));
    }
    if found.is_empty() {
        return refuse("no files in chart archive");
    }
    Ok(found)
}

/// Reads until a buffer is full or nothing is left; how much was read. `read_to_end` would
/// overwrite all that the buffer had before, once for each file.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn unreadable(error: &io::Error) -> RenderError {
    let message = match error.kind() {
        io::ErrorKind::UnexpectedEof => "unexpected EOF".to_owned(),
        _ => error.to_string(),
    };
    super::error::Refusal::new(message).into()
}

/// The path of a member below the chart's directory.
fn inner_name(path: &str) -> Result<String, RenderError> {
    let delimiter = if path.contains('\\') { '\\' } else { '/' };
    let (first, rest) = path.split_once(delimiter).unwrap_or((path, ""));
    let rest = rest.replace(delimiter, "/");
    if rest.starts_with('/') {
        return refuse("chart illegally contains absolute paths");
    }
    let name = clean(&rest);
    if name == "." {
        return refuse(format!("chart illegally contains content outside the base directory: {path:?}"));
    }
    if name.starts_with("..") {
        return refuse("chart illegally references parent directory");
    }
    let bytes = name.as_bytes();
    if bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && &bytes[1..3] == b":/" {
        return refuse("chart contains illegally named files");
    }
    if first == "Chart.yaml" {
        return refuse("chart yaml not in base directory");
    }
    Ok(name)
}

/// Go's `path.Clean` of a relative path.
fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_the_directory_around_them() {
        for (path, expected) in [
            ("t/Chart.yaml", "Chart.yaml"),
            ("t/./a//b", "a/b"),
            ("./t/Chart.yaml", "t/Chart.yaml"),
            ("t\\templates\\a", "templates/a"),
            ("t/a/../b", "b"),
        ] {
            assert_eq!(inner_name(path).expect("a name"), expected);
        }
        for path in ["Chart.yaml", "t//a", "t/../a", "t/../../a", "t/C:/a", "t/..", "t"] {
            assert!(inner_name(path).is_err(), "{path}");
        }
    }
}
