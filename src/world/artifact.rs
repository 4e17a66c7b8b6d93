//! The file tree that an ArtifactGenerator composes.
//! Source: source-watcher `internal/builder`, `Build`, `applyCopyOperation`.

use crate::files::{FileTree, PathKind, Snapshot, join};
use crate::lang::yaml::{FilePath, NodeRef};
use globset::{GlobBuilder, GlobMatcher};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Files that an artifact never holds: the default ignore patterns, which the
/// generator applies without any `.sourceignore`.
fn ignored(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = [".jpg", ".jpeg", ".gif", ".png", ".wmv", ".flv", ".tar.gz", ".zip"];
    let files = [
        ".gitignore",
        ".gitmodules",
        ".gitattributes",
        ".travis.yml",
        ".gitlab-ci.yml",
        "appveyor.yml",
        ".drone.yml",
        "cloudbuild.yaml",
        "codeship-services.yml",
        "codeship-steps.yml",
        ".goreleaser.yml",
        ".sops.yaml",
        ".flux.yaml",
    ];
    let directories = [".git", ".github", ".circleci"];
    files.contains(&name)
        || extension.iter().any(|extension| name.ends_with(extension))
        || path.split('/').any(|segment| directories.contains(&segment))
}

/// Compose the artifact of entry `artifact` (an item of `spec.artifacts`);
/// `source` gives the tree of a source alias.
///
/// # Errors
/// Why the tree can't be known or the generator would fail.
pub(super) fn compose(
    snapshot: &Arc<Snapshot>,
    artifact: NodeRef<'_>,
    source: &dyn Fn(&str) -> Option<FileTree>,
) -> Result<FileTree, String> {
    let mut files: BTreeMap<Arc<str>, FilePath> = BTreeMap::new();
    for copy in artifact.items_at("/copy") {
        if copy.str_at("/strategy").is_some_and(|strategy| strategy != "Overwrite") {
            return Err("a copy merges or extracts files".to_owned());
        }
        let text = |key: &str| copy.get(key).and_then(NodeRef::as_str).map(|text| text.into_owned());
        let (Some(from), Some(to)) = (text("from"), text("to")) else {
            return Err("a copy has no from or to".to_owned());
        };
        let (alias, pattern) = from
            .strip_prefix('@')
            .map(|rest| rest.split_once('/').unwrap_or((rest, "")))
            .ok_or_else(|| format!("`{from}` names no source"))?;
        let tree = source(alias).ok_or_else(|| format!("source `{alias}` is not in this repository"))?;
        let target =
            to.strip_prefix("@artifact/").ok_or_else(|| format!("`{to}` is outside of @artifact/"))?;
        let exclude: Vec<GlobMatcher> = copy
            .items_at("/exclude")
            .filter_map(|item| item.as_str().and_then(|text| doublestar(&text)))
            .collect();
        CopyOperation { tree: &tree, target, exclude: &exclude, files: &mut files }.apply(pattern)?;
    }
    Ok(FileTree::composed(snapshot.clone(), files))
}

fn doublestar(pattern: &str) -> Option<GlobMatcher> {
    GlobBuilder::new(pattern).literal_separator(true).build().ok().map(|glob| glob.compile_matcher())
}

/// Go's `fs.Glob`: `**` is `*`, braces are literal.
fn go_glob(pattern: &str) -> Option<GlobMatcher> {
    let mut text = String::with_capacity(pattern.len());
    let mut last = ' ';
    for c in pattern.chars() {
        match c {
            '{' | '}' => text.extend(['[', c, ']']),
            '*' if last == '*' => {}
            _ => text.push(c),
        }
        last = c;
    }
    GlobBuilder::new(&text).literal_separator(true).build().ok().map(|glob| glob.compile_matcher())
}

/// One copy operation, and the files of the artifact.
struct CopyOperation<'o> {
    tree: &'o FileTree,
    target: &'o str,
    exclude: &'o [GlobMatcher],
    files: &'o mut BTreeMap<Arc<str>, FilePath>,
}

impl CopyOperation<'_> {
    fn destination(&self) -> &str {
        self.target.trim_end_matches('/')
    }

    /// The path in the artifact of what lies below the destination.
    fn place(&self, rest: &str) -> String {
        let destination = self.destination();
        if destination.is_empty() { rest.to_owned() } else { format!("{destination}/{rest}") }
    }

    /// Copy a file that a selection took, unless it is excluded.
    fn put(&mut self, from: &str, to: String, selection: &str) {
        let relative = from.strip_prefix(selection).map_or(from, |rest| rest.trim_start_matches('/'));
        let base = from.rsplit('/').next().unwrap_or(from);
        let excluded = self.exclude.iter().any(|glob| {
            glob.is_match(from)
                || glob.is_match(relative)
                || (!glob.glob().glob().contains('/')
                    && (glob.is_match(base) || from.split('/').any(|part| glob.is_match(part))))
        });
        if !excluded
            && !ignored(&to)
            && let Some(real) = self.tree.real(from)
        {
            self.files.insert(to.into(), real);
        }
    }

    /// Copy all that lies below a directory; `under` is the path in the destination.
    fn put_below(&mut self, directory: &str, under: &str) {
        let cut = if directory.is_empty() { 0 } else { directory.len() + 1 };
        for (path, _) in self.tree.walk(directory) {
            self.put(&path, self.place(&format!("{under}{}", &path[cut..])), directory);
        }
    }

    /// Copy what a path without wildcards names. False where there is nothing.
    fn literal(&mut self, path: &str) -> bool {
        let base = path.rsplit('/').next().unwrap_or(path);
        match self.tree.kind(path) {
            Some(PathKind::Directory) => self.put_below(path, &format!("{base}/")),
            Some(PathKind::File) => {
                let inside = format!("{}/", self.destination());
                let as_directory = self.target.is_empty()
                    || self.target.ends_with('/')
                    || self.files.keys().any(|path| path.starts_with(&inside));
                let to = if as_directory { self.place(base) } else { self.destination().to_owned() };
                self.put(path, to, path);
            }
            _ => return false,
        }
        true
    }

    /// Copy what a glob matches. False where it matches nothing.
    fn glob(&mut self, glob: &GlobMatcher, depth: usize) -> bool {
        let mut any = false;
        for (path, _) in self.tree.walk("") {
            // A matched directory is copied with all that lies below it.
            let cut = path.match_indices('/').nth(depth - 1).map_or(path.len(), |(at, _)| at);
            if glob.is_match(&path[..cut]) {
                any = true;
                self.put(&path, self.place(&path), "");
            }
        }
        any
    }

    fn apply(&mut self, pattern: &str) -> Result<(), String> {
        let is_glob = pattern.contains(['*', '?', '[', ']']);
        let literal = pattern.trim_end_matches('/');
        if !is_glob && (literal.is_empty() || literal == ".") || pattern == "**" {
            self.put_below("", "");
            return Ok(());
        }
        if pattern.contains("//")
            || pattern.starts_with("./")
            || join("", literal).as_deref() != Some(literal)
        {
            return Err(format!("`{pattern}` is no clean path"));
        }
        let found = if !is_glob {
            self.literal(literal)
        } else if let Some(prefix) =
            pattern.strip_suffix("/**").filter(|prefix| !prefix.contains(['*', '?', '[', ']']))
        {
            let found = self.tree.is_directory(prefix);
            if found {
                self.put_below(prefix, "");
            }
            found
        } else {
            let glob = go_glob(pattern).ok_or_else(|| format!("`{pattern}` is no glob"))?;
            self.glob(&glob, pattern.split('/').count())
        };
        if found { Ok(()) } else { Err(format!("nothing matches `{pattern}`")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Store;
    use crate::lang::yaml::parse_nodes;

    fn composed(copies: &str) -> Result<Vec<String>, String> {
        let files = ["d/a.yaml", "d/e/b.yaml", "d/e/c.png", "f.yaml", "g/h/i.yaml"];
        let files = files.map(|path| (path, Vec::new()));
        let snapshot = Arc::new(Snapshot::memory(files, Arc::new(Store::default())));
        let node = parse_nodes("x", &format!("copy: {copies}\n")).remove(0);
        let source = |alias: &str| (alias == "s").then(|| FileTree::root(snapshot.clone()));
        let tree = compose(&snapshot, node.get_ref(), &source)?;
        Ok(tree.walk("").map(|(path, _)| path.to_string()).collect())
    }

    #[test]
    fn copies_follow_the_generator() {
        for (copies, expected) in [
            ("[{from: '@s/d/**', to: '@artifact/x/'}]", Ok(vec!["x/a.yaml", "x/e/b.yaml"])),
            ("[{from: '@s/d/*', to: '@artifact/x/'}]", Ok(vec!["x/d/a.yaml", "x/d/e/b.yaml"])),
            ("[{from: '@s/d', to: '@artifact/x/'}]", Ok(vec!["x/d/a.yaml", "x/d/e/b.yaml"])),
            ("[{from: '@s/d/**/*.yaml', to: '@artifact/'}]", Ok(vec!["d/e/b.yaml"])),
            ("[{from: '@s/f.yaml', to: '@artifact/x'}]", Ok(vec!["x"])),
            ("[{from: '@s/f.yaml', to: '@artifact/x/'}]", Ok(vec!["x/f.yaml"])),
            ("[{from: '@s/d/**', to: '@artifact/', exclude: ['e/**']}]", Ok(vec!["a.yaml"])),
            ("[{from: '@s/nothing/**', to: '@artifact/'}]", Err(())),
            ("[{from: '@s/{d,g}/**', to: '@artifact/'}]", Err(())),
            ("[{from: '@t/d', to: '@artifact/'}]", Err(())),
        ] {
            let got = composed(copies).map_err(|_| ());
            let expected = expected.map(|list| list.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(got, expected, "{copies}");
        }
    }
}
