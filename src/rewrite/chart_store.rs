//! Stores of charts as they are changed: archives that come and go, and the index beside
//! them.

use super::write;
use crate::files::Recorded;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

/// Name of a store's index.
const INDEX: &str = "index.yaml";

/// An archive of a store, as its index tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    /// The name in its Chart.yaml.
    pub name: String,
    /// The version in its Chart.yaml.
    pub version: String,
    /// Its file in the store.
    pub file: String,
    /// Where it comes from, and its digests.
    pub recorded: Recorded,
}

/// The file of an archive in a store; `None` where name or version are no part of one.
pub(crate) fn file_name(name: &str, version: &str) -> Option<String> {
    let is_plain = |text: &str| {
        let is_one = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-');
        !text.is_empty() && !text.starts_with(['.', '-']) && text.len() < 200 && text.chars().all(is_one)
    };
    (is_plain(name) && is_plain(version)).then(|| format!("{name}-{version}.tgz"))
}

/// Writes an archive of a store, whole; `boundary` and the directory below it are those
/// of the store.
///
/// # Errors
/// What the system says.
pub(crate) fn put(boundary: &Path, directory: &Path, file: &str, bytes: &[u8]) -> io::Result<()> {
    let directory = write::directories(boundary, directory)?;
    write::file(boundary, &directory.join(file), bytes)
}

/// Removes an archive or the files of a folder of a store. Links are left.
///
/// # Errors
/// What the system says.
pub(crate) fn remove(store: &Path, path: &str, is_archive: bool) -> io::Result<()> {
    let full = store.join(path);
    if full.symlink_metadata()?.is_symlink() {
        return Err(io::Error::other("it is a symbolic link"));
    }
    if is_archive { std::fs::remove_file(full) } else { std::fs::remove_dir_all(full) }
}

/// Writes the index of a store.
///
/// # Errors
/// What the system says.
pub(crate) fn write_index(boundary: &Path, directory: &Path, entries: &[IndexEntry]) -> io::Result<()> {
    let directory = write::directories(boundary, directory)?;
    write::file(boundary, &directory.join(INDEX), index(entries).as_bytes())
}

/// The text of an index: Helm's, with where each archive comes from.
fn index(entries: &[IndexEntry]) -> String {
    let mut all: Vec<&IndexEntry> = entries.iter().collect();
    all.sort_by(|one, other| {
        (&one.name, &one.version, &one.file).cmp(&(&other.name, &other.version, &other.file))
    });
    all.dedup_by(|one, other| one.file == other.file);
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut out = "apiVersion: v1\nentries:".to_owned();
    if all.is_empty() {
        out.push_str(" {}\n");
        return out;
    }
    out.push('\n');
    let mut last = None;
    for entry in all {
        if last != Some(&entry.name) {
            let _ = writeln!(out, "  {}:", quoted(&entry.name));
            last = Some(&entry.name);
        }
        let _ = writeln!(out, "  - name: {}", quoted(&entry.name));
        let _ = writeln!(out, "    version: {}", quoted(&entry.version));
        let _ = writeln!(out, "    urls: [{}]", quoted(&entry.file));
        let recorded = &entry.recorded;
        for (key, value) in [
            ("digest", &recorded.sha256),
            ("url", &recorded.url),
            ("tag", &recorded.tag),
            ("manifestDigest", &recorded.manifest),
        ] {
            if let Some(value) = value {
                let _ = writeln!(out, "    {key}: {}", quoted(value));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_archives_stay_in_their_store() {
        assert_eq!(file_name("web", "1.2.3+b1").as_deref(), Some("web-1.2.3+b1.tgz"));
        for (name, version) in [("../x", "1"), ("a/b", "1"), ("-x", "1"), ("", "1"), ("a", "../1"), ("a", "")]
        {
            assert_eq!(file_name(name, version), None, "{name} {version}");
        }
    }

    #[test]
    fn an_index_is_read_as_it_was_written() {
        let recorded = Recorded {
            url: Some("oci://ghcr.example.com/charts/web".to_owned()),
            tag: Some("1.2.3".to_owned()),
            manifest: Some("sha256:aa".to_owned()),
            sha256: Some("bb".to_owned()),
        };
        let (name, version) = ("web".to_owned(), "1.2.3".to_owned());
        let entry =
            IndexEntry { name, version, file: "web-1.2.3.tgz".to_owned(), recorded: recorded.clone() };
        let read = crate::files::read_index(index(&[entry]).as_bytes());
        assert_eq!(read, [("web-1.2.3.tgz".to_owned(), recorded)]);
        assert_eq!(index(&[]), "apiVersion: v1\nentries: {}\n");
    }
}
