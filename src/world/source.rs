//! Which file tree a Flux source stands for.

use super::entry_point::EntryPoint;
use super::pushes::{self, Push};
use super::{ApplyTarget, artifact};
use crate::config::{Config, SourceTree};
use crate::files::{FileTree, Snapshot, SourceIgnore};
use crate::lang::yaml::{Node, NodeRef};
use crate::model::kinds::{EXTENSIONS, SOURCE};
use crate::model::{Called, ObjectId};
use crate::world::build::Memo;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A source resolved.
#[derive(Clone, Debug)]
pub(crate) struct TreeOf {
    pub tree: FileTree,
    /// How certain that is.
    pub state: SourceState,
}

/// How a source's tree is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceState {
    /// It is the entry point's source, its URL is a remote of this repository,
    /// or configuration says so.
    Here,
    /// The same, on another ref.
    Later,
    /// Nothing defines it, but the path exists here.
    Assumed,
}

/// What all clusters share: what bases came to, and what sources leave out.
#[derive(Default)]
pub(super) struct SharedMemo {
    pub memo: Memo,
    ignores: Mutex<FxHashMap<IgnoreKey, Arc<SourceIgnore>>>,
}

impl SharedMemo {
    /// What of a tree reaches the artifact of a source with this `spec.ignore`.
    pub(super) fn artifact(&self, tree: FileTree, spec: Option<String>) -> FileTree {
        let mut known = self.ignores.lock().unwrap_or_else(PoisonError::into_inner);
        let ignore = known.entry((tree.key(), spec)).or_insert_with_key(|(_, spec)| {
            let files: Vec<(String, String)> = tree
                .walk("")
                .filter_map(|(path, file)| {
                    let directory = path.strip_suffix(".sourceignore")?;
                    let is_own = directory.is_empty() || directory.ends_with('/');
                    let text = &tree.snapshot().stream(file).filter(|_| is_own)?.text;
                    Some((directory.trim_end_matches('/').to_owned(), text.to_string()))
                })
                .collect();
            let files = files.iter().map(|(directory, text)| (directory.as_str(), text.as_str()));
            Arc::new(SourceIgnore::new(files, spec.as_deref()))
        });
        let ignore = ignore.clone();
        tree.without(ignore)
    }
}

/// What tells ignore rules apart: a directory and `spec.ignore`.
type IgnoreKey = (String, Option<String>);

/// What resolves sources within one cluster.
pub(super) struct Sources<'a> {
    pub snapshot: &'a Arc<Snapshot>,
    pub shared: &'a SharedMemo,
    pub config: &'a Config,
    /// Normalised URLs of this repository.
    pub urls: Vec<String>,
    /// The entry point.
    pub entry: &'a EntryPoint,
    /// What the repository pushes as artifacts.
    pub pushes: &'a [Push],
}

/// Objects on the local target.
pub(super) type LocalObjects = FxHashMap<Called, (ObjectId, Node)>;

/// Refs that the main line of a repository has, as [`reference`](fn@reference) writes them.
const USUAL_REFS: [&str; 2] = ["branch=main", "branch=master"];

/// Depth to which artifacts may be composed of artifacts.
const DEPTH: u32 = 8;

impl Sources<'_> {
    /// The tree of a source; `path` is what will be looked up in it.
    ///
    /// # Errors
    /// Why it is not here.
    pub(super) fn resolve(
        &self,
        objects: &LocalObjects,
        source: &Called,
        path: &str,
    ) -> Result<TreeOf, String> {
        self.resolve_at(objects, source, path, 0)
    }

    fn resolve_at(
        &self,
        objects: &LocalObjects,
        wanted: &Called,
        path: &str,
        depth: u32,
    ) -> Result<TreeOf, String> {
        let spec = match objects.get(wanted) {
            Some((_, node)) => ignore(node.get_ref()),
            None => self.entry.ignore.clone().filter(|_| self.entry.source.as_ref() == Some(wanted)),
        };
        let artifact = |tree| self.shared.artifact(tree, spec.clone());
        let here = |tree| Ok(TreeOf { tree: artifact(tree), state: SourceState::Here });
        if let Some(tree) = self.configured(wanted) {
            return here(tree?);
        }
        if &*wanted.kind == "ExternalArtifact" {
            return self.external_artifact(objects, wanted.namespace.as_deref(), &wanted.name, depth);
        }
        let tree = |directory: &str| match directory {
            "" => FileTree::root(self.snapshot.clone()),
            directory => FileTree::directory(self.snapshot.clone(), directory),
        };
        let root = || tree(&self.entry.tree);
        let pushed = matches!(&*wanted.kind, "OCIRepository" | "Bucket");
        if self.entry.source.as_ref() == Some(wanted) {
            // The root of what is pushed elsewhere may be any directory.
            let is_known = !pushed || self.entry.is_tree_known;
            let state = if is_known { SourceState::Here } else { SourceState::Assumed };
            return Ok(TreeOf { tree: artifact(root()), state });
        }
        match objects.get(wanted) {
            Some((_, node)) => {
                let node = node.get_ref();
                let written = node.str_at("/spec/url");
                if let Some(push) = written
                    .as_ref()
                    .filter(|_| pushed)
                    .and_then(|url| pushes::root_of(self.pushes, url, path, self.snapshot))
                {
                    return here(tree(&push.directory));
                }
                let url = written.map(|url| normalise(&url));
                if let Some(sibling) = url.as_deref().and_then(|url| self.sibling(url)) {
                    return here(tree(&sibling));
                }
                match url {
                    Some(url) if self.urls.contains(&url) => {
                        let state = match self.is_at_same_ref(node) {
                            true => SourceState::Here,
                            false => SourceState::Later,
                        };
                        Ok(TreeOf { tree: artifact(root()), state })
                    }
                    _ => Err(format!("{wanted} is not in this repository")),
                }
            }
            None if &*wanted.kind != "Bucket" && !path.is_empty() && root().is_directory(path) => {
                Ok(TreeOf { tree: artifact(root()), state: SourceState::Assumed })
            }
            None => Err(format!("nothing here defines {wanted}")),
        }
    }

    /// Whether a source of this repository tracks the ref of the entry point.
    fn is_at_same_ref(&self, source: NodeRef<'_>) -> bool {
        let own = reference(source);
        match &self.entry.reference {
            Some(reference) => own.as_ref() == Some(reference),
            // Until it is bootstrapped, it is taken to follow a branch of usual name.
            None => own.is_none_or(|own| USUAL_REFS.contains(&&*own)),
        }
    }

    /// The tree that the configuration states for a source.
    fn configured(&self, wanted: &Called) -> Option<Result<FileTree, String>> {
        let (kind, namespace, name) = (&*wanted.kind, wanted.namespace.as_deref(), &*wanted.name);
        let configured = self.config.sources.iter().find(|source| {
            source.kind == kind
                && source.name == name
                && source.namespace.as_deref().is_none_or(|only| Some(only) == namespace)
        })?;
        Some(match &configured.tree {
            SourceTree::Path(directory) => Ok(FileTree::directory(self.snapshot.clone(), directory)),
            SourceTree::Directory(directory) => {
                FileTree::named(self.snapshot, directory, &self.config.allowed)
            }
        })
    }

    /// Where several repositories lie in one, the directory beside the entry
    /// point's that a url ends in.
    fn sibling(&self, url: &str) -> Option<String> {
        let (above, own) = self.entry.tree.rsplit_once('/')?;
        let last = url.rsplit('/').next()?;
        let found = format!("{above}/{last}");
        (last != own && !last.is_empty() && self.snapshot.has_directory(&found)).then_some(found)
    }

    fn external_artifact(
        &self,
        objects: &LocalObjects,
        namespace: Option<&str>,
        name: &str,
        depth: u32,
    ) -> Result<TreeOf, String> {
        if depth >= DEPTH {
            return Err("artifacts are composed of each other".to_owned());
        }
        let generators = objects
            .values()
            .filter(|(id, _)| id.is(EXTENSIONS, "ArtifactGenerator") && id.namespace.as_deref() == namespace);
        for (id, node) in generators {
            let generator = node.get_ref();
            let wanted = generator
                .items_at("/spec/artifacts")
                .find(|artifact| artifact.str_at("/name").is_some_and(|known| known == name));
            let Some(wanted) = wanted else { continue };
            let source = |alias: &str| {
                let entry = generator
                    .items_at("/spec/sources")
                    .find(|source| source.str_at("/alias").is_some_and(|known| known == alias))?;
                let kind = entry.str_at("/kind")?;
                let name = entry.str_at("/name")?;
                let own = entry.str_at("/namespace");
                let namespace = own.as_deref().or(id.namespace.as_deref());
                let wanted = Called::new(&kind, namespace, &name);
                self.resolve_at(objects, &wanted, "", depth + 1).ok().map(|found| found.tree)
            };
            let tree = artifact::compose(self.snapshot, wanted, &source)?;
            return Ok(TreeOf { tree, state: SourceState::Here });
        }
        Err(format!("no ArtifactGenerator here makes ExternalArtifact {name}"))
    }
}

/// A URL without scheme, user, port, `.git` and case of the host:
/// `ssh://git@github.com/o/r.git` and `https://github.com/o/r` are one.
pub(super) fn normalise(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    let rest = match rest.split_once('/') {
        Some((host, path)) => {
            // `host:22/path` has a port, `host:owner/repo` is scp-like.
            match host.split_once(':') {
                Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                    format!("{host}/{path}")
                }
                Some((host, owner)) => format!("{host}/{owner}/{path}"),
                None => format!("{host}/{path}"),
            }
        }
        None => rest.replacen(':', "/", 1),
    };
    let rest = rest.trim_end_matches('/').trim_end_matches(".git");
    rest.to_lowercase()
}

/// What a source leaves out of its artifact.
pub(super) fn ignore(node: NodeRef<'_>) -> Option<String> {
    node.str_at("/spec/ignore").map(|text| text.into_owned())
}

/// The ref that a source tracks, as text to compare.
pub(super) fn reference(node: NodeRef<'_>) -> Option<String> {
    let reference = node.at("/spec/ref")?;
    let mut parts: Vec<String> = reference
        .entries()
        .map(|entry| format!("{}={}", entry.key, entry.value.text().unwrap_or_default()))
        .collect();
    parts.sort();
    Some(parts.join(","))
}

/// Whether an object is a source that a Kustomization may name.
pub(super) fn is_source(id: &ObjectId, target: &ApplyTarget) -> bool {
    *target == ApplyTarget::Local && (id.group() == SOURCE || id.group() == EXTENSIONS)
}

#[cfg(test)]
mod tests {
    use super::normalise;

    #[test]
    fn urls_of_one_repository_are_equal() {
        for url in [
            "https://github.com/o/r",
            "https://github.com/o/r.git",
            "ssh://git@github.com/o/r",
            "ssh://git@github.com:22/o/r.git",
            "git@github.com:o/r.git",
            "https://token@GitHub.com/o/r/",
        ] {
            assert_eq!(normalise(url), "github.com/o/r", "{url}");
        }
    }
}
