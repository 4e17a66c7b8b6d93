//! Directories that another tool fills with files of elsewhere, by what its own files say.
//! Source: git `Documentation/gitmodules.adoc`; vendir `docs/vendir-spec.md`
//! (`directories[].path`, `contents[].path`); hologit `lib/Branch.js` (a mapping's place
//! below `.holo/branches/NAME` is where its files go).

use crate::files::{Snapshot, join};
use crate::lang::yaml::NodeRef;

/// The file that says that a tool fills a directory which a path lies in.
pub(crate) fn that_fills<'s>(snapshot: &'s Snapshot, path: &str) -> Option<&'s str> {
    let mut naming = snapshot.files().iter().filter(|file| {
        let (directory, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        match name {
            ".gitmodules" if directory.is_empty() => {
                let text = snapshot.blob(file).ok().and_then(|blob| blob.text()).unwrap_or_default();
                submodules(text).any(|filled| is_below(path, filled))
            }
            "vendir.yml" | "vendir.yaml" => {
                vendored(snapshot, &file.path, directory).iter().any(|filled| is_below(path, filled))
            }
            _ => mapped(&file.path).is_some_and(|filled| is_below(path, filled)),
        }
    });
    naming.next().map(|file| &*file.path)
}

/// Whether a path lies below a directory that is not the top.
fn is_below(path: &str, directory: &str) -> bool {
    !directory.is_empty() && path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

fn submodules(text: &str) -> impl Iterator<Item = &str> {
    let values =
        text.lines().filter_map(|line| line.trim().strip_prefix("path")?.trim_start().strip_prefix('='));
    values.map(|value| value.trim().trim_matches('"').trim_end_matches('/'))
}

fn vendored(snapshot: &Snapshot, file: &str, directory: &str) -> Vec<String> {
    let Some(source) = snapshot.file(file).and_then(|file| snapshot.sources(file).first()) else {
        return Vec::new();
    };
    let node = source.root();
    let filled = |entry: NodeRef<'_>| {
        let path = join(directory, &entry.str_at("/path")?)?;
        let parts = entry.items_at("/contents").filter_map(|part| join(&path, &part.str_at("/path")?));
        Some(parts.collect::<Vec<_>>())
    };
    node.get_ref().items_at("/directories").filter_map(filled).flatten().collect()
}

/// Where the files of a mapping go: `apps/web/manifests` for
/// `.holo/branches/live/apps/web/manifests.toml`, `apps/web` for `…/apps/web/_base.toml`.
fn mapped(file: &str) -> Option<&str> {
    let (_, place) = file.strip_prefix(".holo/branches/")?.split_once('/')?;
    let place = place.strip_suffix(".toml")?;
    let (above, name) = place.rsplit_once('/').unwrap_or(("", place));
    Some(if name.starts_with('_') { above } else { place })
}
