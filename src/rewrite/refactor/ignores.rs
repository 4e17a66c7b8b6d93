//! Patterns of `.sourceignore` files that name what moves: without them the files
//! would be there, and in no artifact.
//! Source: fluxcd/pkg `sourceignore`, go-git `gitignore`.

use super::Refused;
use super::moves::Moves;
use crate::files::{Snapshot, is_manifest_path, join};
use crate::lang::yaml::WorkPath;
use crate::rewrite::FileChange;
use crate::world::World;

const NAME: &str = ".sourceignore";

/// The `.sourceignore` files whose patterns change, under their paths after the moves.
///
/// # Errors
/// A pattern of a file that only reaches what lies below its directory.
pub(super) fn rewritten(snapshot: &Snapshot, moves: &Moves) -> Result<Vec<FileChange>, Vec<Refused>> {
    let mut changes = Vec::new();
    for file in snapshot.files() {
        let (directory, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        if name != NAME {
            continue;
        }
        let Ok(blob) = snapshot.blob(file) else { continue };
        let Some(text) = blob.text() else { continue };
        let path = moves.path(&file.path);
        let new_directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let rule = WrittenRule { snapshot, moves, directory, new_directory };
        let mut after = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let body = line.trim_end_matches(['\n', '\r']);
            match rule.line(body) {
                None => after.push_str(line),
                Some(Ok(new)) => {
                    after.push_str(&new);
                    after.push_str(&line[body.len()..]);
                }
                Some(Err(new)) => {
                    let why = format!("`{body}` in {} can't reach {new}", file.path);
                    return Err(vec![Refused::at(None, why, "move to a place below it")]);
                }
            }
        }
        if after != text {
            let path = WorkPath::new(path.as_str());
            changes.extend(path.map(|path| FileChange { path, before: blob.clone(), after }));
        }
    }
    Ok(changes)
}

struct WrittenRule<'m> {
    snapshot: &'m Snapshot,
    moves: &'m Moves,
    directory: &'m str,
    new_directory: &'m str,
}

impl WrittenRule<'_> {
    /// A pattern as it is afterwards, where it changes; the path that it can't say.
    fn line(&self, line: &str) -> Option<Result<String, String>> {
        if line.starts_with('#') || line.trim().is_empty() {
            return None;
        }
        let (sign, text) = line.split_at(usize::from(line.starts_with('!')));
        let pattern = text.trim_end_matches(' ').trim_end_matches('/');
        let tail = &text[pattern.len()..];
        if !pattern.contains('/') {
            return self.name(pattern).map(|new| Ok(format!("{sign}{new}{tail}")));
        }
        let is_plain = |part: &&str| !part.contains(['*', '?', '[', ']', '\\']);
        let parts: Vec<&str> = pattern.split('/').collect();
        let literal: Vec<&str> = parts.iter().copied().take_while(is_plain).collect();
        let rest = parts[literal.len()..].iter().map(|part| format!("/{part}")).collect::<String>();
        let plain = literal.join("/");
        let old = join(self.directory, plain.trim_start_matches('/')).filter(|old| !old.is_empty())?;
        let new = self.moves.path(&old);
        let below = |path: &str| match self.new_directory {
            "" => Some(path.to_owned()),
            directory => path.strip_prefix(directory)?.strip_prefix('/').map(str::to_owned),
        };
        let Some(inner) = below(&new) else { return (new != old).then_some(Err(new)) };
        if inner == plain.trim_start_matches('/') {
            return None;
        }
        // Without a slash in it, it would match at any depth.
        let lead = if plain.starts_with('/') || !format!("{inner}{rest}").contains('/') { "/" } else { "" };
        Some(Ok(format!("{sign}{lead}{inner}{rest}{tail}")))
    }

    /// A bare name, which matches at any depth: where nothing else has it.
    fn name(&self, pattern: &str) -> Option<String> {
        let base = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let (from, to) = self.moves.roots().find(|(from, _)| base(from) == pattern)?;
        let is_other = |path: &str| {
            let below = path.strip_prefix(from).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            !below && path.split('/').any(|part| part == pattern)
        };
        let others = self.snapshot.files().iter().any(|file| is_other(&file.path));
        let new = base(to);
        (!others && new != pattern).then_some(new)
    }
}

/// The first moved manifest that was part of an artifact and is left out of it, and by
/// what.
pub(super) fn left_out(before: &World, after: &World, moves: &Moves) -> Option<Refused> {
    let manifests = || moves.files.iter().filter(|(from, _)| is_manifest_path(from));
    for (cluster, now) in before.clusters.iter().zip(&after.clusters) {
        let trees = |cluster| {
            let cluster: &crate::world::Cluster = cluster;
            cluster
                .applied
                .iter()
                .filter_map(|applied| applied.tree.as_ref())
                .find(|tree| tree.as_directory().is_some())
        };
        let (Some(tree), Some(new)) = (trees(cluster), trees(now)) else { continue };
        for (from, to) in manifests() {
            if tree.left_out(from).is_none()
                && let Some(reason) = new.left_out(to)
            {
                let why =
                    format!("{to} would be in no artifact of {}: {reason} leaves it out", cluster.label());
                let help = "add a pattern that takes the new place in, such as `!/PLACE/`, and wait until the cluster has it";
                return Some(Refused::at(None, why, help));
            }
        }
    }
    None
}
