//! Moving files and directories, with every path that names them.

use super::moves::Moves;
use super::rename::is_root;
use super::same::{Difference, same_moved};
use super::{Proof, Rebuild, Refused, Series, apply, changed, ignores};
use crate::build::kustomize::FILE_NAMES;
use crate::files::{FileKind, Snapshot, join, relative};
use crate::lang::yaml::edit::{Content, Operation, pointer_of};
use crate::lang::yaml::{Location, NodeRef, pointer_join};
use crate::model::{ObjectId, kinds};
use crate::plan;
use crate::rewrite::Wanted;
use crate::rewrite::subject::text_of;
use crate::world::{Applied, ApplyTarget, Cluster, World, called_by};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A path written as another one was: with `./` before it, with `/` behind it.
fn styled(path: &str, like: &str) -> String {
    let head = if like.starts_with("./") && !path.starts_with('.') { "./" } else { "" };
    let tail = if like.ends_with('/') && path != "." { "/" } else { "" };
    let path = if path == "." && like.starts_with("./") && like.len() > 2 { "./" } else { path };
    format!("{head}{path}{tail}")
}

/// Move files: one step, of which nothing but paths differs.
///
/// # Errors
/// Every reason why it is not done.
pub fn series(world: &World, moves: &Moves, rebuild: &Rebuild<'_>) -> Result<Series, Vec<Refused>> {
    let snapshot = &world.snapshot;
    let mut paths = Paths::new();
    let mut wanted = wanted(world, moves, &mut paths)?;
    let read = |_| vec![Refused::at(None, "a file of them can't be read", "make it readable")];
    let moved = Arc::new(snapshot.with_moved(&moves.files).map_err(read)?);
    for one in &mut wanted {
        one.path = moves.new_path(&one.path);
    }
    let mut changes = apply(&moved, &wanted)?;
    changes.extend(ignores::rewritten(snapshot, moves)?);
    let after_snapshot = changed(&moved, &changes);
    let after = rebuild(&after_snapshot);
    let allowed = |id: &ObjectId, pointer: &str, old: Option<&str>, new: Option<&str>| {
        let same = |old: &str, new: &str| {
            paths.iter().any(|(of, at, from, to)| of == id && at == pointer && from == old && to == new)
        };
        matches!((old, new), (Some(old), Some(new)) if same(old, new))
    };
    let but = Difference { renamed: None, pins: &[], allowed: &allowed };
    let compared = same_moved(world, &after, but, &|path| moves.path(path))
        .map_err(|refused| vec![ignores::left_out(world, &after, moves).unwrap_or(refused)])?;
    hazards(&after, moves, &paths)?;
    let proof = proof(world, &after)?;
    let (headline, notes) = told(moves, compared, &paths);
    let left = said(snapshot, moves, &after_snapshot);
    let mut series = Series { headline, notes, left, ..Series::default() };
    let title = "paths are changed, objects are not".to_owned();
    series.push(title, changes, Vec::new(), proof).moves = moves.files.clone();
    Ok(series)
}

/// The headline of the step, and what there is to know of it.
fn told(moves: &Moves, compared: usize, paths: &Paths) -> (String, Vec<String>) {
    let (from, to) = (&moves.roots[0].0, &moves.roots[0].1);
    let headline = match moves.roots.len() {
        1 => format!("{from} is moved to {to}"),
        many => format!(
            "{many} files and directories are moved to {}",
            to.rsplit_once('/').map_or(".", |(to, _)| to)
        ),
    };
    let objects = crate::lang::text::counted(compared, "object");
    let mut notes = vec![format!("{objects} compared before and after: the same in every cluster")];
    let late: BTreeSet<&str> =
        paths.iter().filter(|path| path.1 == "/spec/path").map(|path| &*path.0.name).collect();
    if !late.is_empty() {
        let names = late.into_iter().collect::<Vec<_>>().join(", ");
        notes.push(format!(
            "until what applies them has the new paths, these fail (path not found) and prune nothing: {names}"
        ));
    }
    let generators: BTreeSet<&str> = paths
        .iter()
        .filter(|path| path.1.starts_with("/spec/artifacts/"))
        .map(|path| &*path.0.name)
        .collect();
    if !generators.is_empty() {
        let names = generators.into_iter().collect::<Vec<_>>().join(", ");
        notes.push(format!(
            "until it has the new paths, the ArtifactGenerator {names} fails and its artifacts stay as they are"
        ));
    }
    (headline, notes)
}

/// The changes of every text that names a path which is moved. `paths` takes those of
/// effective objects that change.
///
/// # Errors
/// Every reason why it is not done.
fn wanted(world: &World, moves: &Moves, paths: &mut Paths) -> Result<Vec<Wanted>, Vec<Refused>> {
    let snapshot = &world.snapshot;
    let mut results = Vec::new();
    for file in snapshot.files() {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        if FILE_NAMES.contains(&name) && !snapshot.is_template(file) {
            results.extend(in_kustomization(snapshot, &file.path, moves));
        }
    }
    for cluster in world.clusters.iter().filter(|cluster| cluster.name.is_some()) {
        if moves.is_moved(&cluster.root) && !cluster.root.is_empty() {
            let (label, root) = (cluster.label(), &cluster.root);
            let why = format!("{label} begins at {root}: what applies it there looks at the old path");
            let help = "bootstrap again with the new path";
            results.push(Err(Refused::at(cluster.location.clone(), why, help)));
        }
    }
    for cluster in &world.clusters {
        results.extend(copies(world, cluster, moves, paths));
        for applied in &cluster.applied {
            results.extend(in_applied(world, cluster, applied, moves, paths));
        }
        results.extend(charts(world, cluster, moves, paths));
    }
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut refused: Vec<Refused> = Vec::new();
    for result in results {
        match result {
            Ok(one) => wanted.extend(one),
            Err(one) => refused.push(one),
        }
    }
    refused.dedup_by(|one, other| one.why == other.why && one.location == other.location);
    if refused.is_empty() { Ok(wanted) } else { Err(refused) }
}

/// What moves from one Kustomization to another one, none of which may be lost.
fn proof(world: &World, after: &World) -> Result<Proof, Vec<Refused>> {
    let mut proof = Proof { complete: true, ..Proof::default() };
    for taken in plan::takeovers(world, after) {
        proof.orders += taken.ends;
        proof.adopted += taken.objects;
        if let Some((lost, _)) = taken.lost.first() {
            let why = format!("in some order of the controllers {lost} would be deleted");
            return Err(vec![Refused::at(None, why, "move the objects with `forebay move OBJECT --to`")]);
        }
    }
    Ok(proof)
}

/// Paths in a kustomization, and what they are afterwards.
fn in_kustomization(snapshot: &Snapshot, path: &str, moves: &Moves) -> Vec<Result<Option<Wanted>, Refused>> {
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let new_directory = moves.path(path);
    let new_directory = new_directory.rsplit_once('/').map_or("", |(directory, _)| directory);
    let Some(file) = snapshot.file(path) else { return Vec::new() };
    let mut sources = snapshot.sources(file).iter();
    let Some(source) = sources.find(|source| !source.document().tokens.is_empty()) else {
        return Vec::new();
    };
    let root = NodeRef::Source(source, 0);
    let mut out = Vec::new();
    let mut each = |node: NodeRef<'_>, keyed: bool| {
        out.push(in_scalar(snapshot, node, (directory, new_directory), moves, keyed));
    };
    const LISTS: [&str; 10] = [
        "/resources",
        "/bases",
        "/components",
        "/crds",
        "/configurations",
        "/generators",
        "/transformers",
        "/validators",
        "/patchesStrategicMerge",
        "/helmCharts",
    ];
    for list in LISTS {
        root.items_at(list).filter(|item| item.as_str().is_some()).for_each(|item| each(item, false));
    }
    for list in ["/patches", "/patchesJson6902", "/replacements"] {
        root.items_at(list).filter_map(|item| item.at("/path")).for_each(|item| each(item, false));
    }
    root.at("/openapi/path").into_iter().for_each(|item| each(item, false));
    for list in ["/configMapGenerator", "/secretGenerator"] {
        for generator in root.items_at(list) {
            generator.items_at("/files").for_each(|item| each(item, true));
            generator.items_at("/envs").for_each(|item| each(item, false));
            generator.at("/env").into_iter().for_each(|item| each(item, false));
        }
    }
    for chart in root.items_at("/helmCharts") {
        chart.at("/valuesFile").into_iter().for_each(|item| each(item, false));
        chart.items_at("/additionalValuesFiles").for_each(|item| each(item, false));
    }
    root.at("/helmGlobals/chartHome").into_iter().for_each(|item| each(item, false));
    out
}

/// One path of a kustomization, `key=path` in a list of files.
fn in_scalar(
    snapshot: &Snapshot,
    node: NodeRef<'_>,
    (directory, new_directory): (&str, &str),
    moves: &Moves,
    keyed: bool,
) -> Result<Option<Wanted>, Refused> {
    let Some(text) = node.as_str() else { return Ok(None) };
    let (key, path) = match text.split_once('=') {
        Some((key, path)) if keyed => (Some(key), path),
        _ => (None, &*text),
    };
    if path.contains('\n') || path.contains("://") || path.starts_with('/') {
        return Ok(None);
    }
    let Some(target) = join(directory, path) else { return Ok(None) };
    let exists = target.is_empty() || snapshot.file(&target).is_some() || snapshot.has_directory(&target);
    if !exists || (!moves.is_moved(&target) && directory == new_directory) {
        return Ok(None);
    }
    let moved = moves.path(&target);
    let new = relative(new_directory, &moved);
    if join("", &new) == join("", path) && join(new_directory, path).as_deref() == Some(&*moved) {
        return Ok(None);
    }
    let new = styled(&new, path);
    let base = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let new = match key {
        Some(key) => format!("{key}={new}"),
        // The key of the ConfigMap is the name of the file.
        None if keyed && base(&target) != base(&moved) => format!("{}={new}", base(&target)),
        None => new,
    };
    set(node, &new)
}

fn set(node: NodeRef<'_>, new: &str) -> Result<Option<Wanted>, Refused> {
    let Some((source, pointer)) = pointer_of(node) else {
        return Err(Refused::at(node.location(), "this path is part of a text", "move it by hand"));
    };
    let operation = Operation::Set { pointer, value: Content::str(new), comment: None };
    let Some(path) = source.file.writable() else {
        return Err(Refused::elsewhere(node.location(), "this path"));
    };
    Ok(Some(Wanted { path, document: source.index, operation }))
}

/// Paths that an object may state afterwards: object, pointer, old and new text.
type Paths = BTreeSet<(ObjectId, String, String, String)>;

/// `spec.path` and `spec.components` of a Flux Kustomization.
fn in_applied(
    world: &World,
    cluster: &Cluster,
    applied: &Applied,
    moves: &Moves,
    paths: &mut Paths,
) -> Vec<Result<Option<Wanted>, Refused>> {
    let node = applied.node.get_ref();
    // An overlay that no Kustomization applies has one of nobody's writing.
    if node.location().is_none() {
        return Vec::new();
    }
    let Some(tree) = &applied.tree else { return Vec::new() };
    let Some(base) = tree.as_directory() else { return Vec::new() };
    let in_tree = |path: &str| if base.is_empty() { path.to_owned() } else { format!("{base}/{path}") };
    let old_path = in_tree(&applied.path);
    let new_path = moves.path(old_path.trim_end_matches('/'));
    let mut out = Vec::new();
    if new_path != old_path.trim_end_matches('/')
        && let Some(value) = node.at("/spec/path")
    {
        out.push(stated(world, cluster, applied, ("/spec/path", value), (base, &new_path), moves, paths));
    }
    for (at, item) in node.items_at("/spec/components").enumerate() {
        let Some(target) = item.as_str().and_then(|text| join(&old_path, &text)) else { continue };
        let (new_target, pointer) = (moves.path(&target), format!("/spec/components/{at}"));
        let text = item.as_str().unwrap_or_default().into_owned();
        if join(&new_path, &text).as_deref() != Some(&*new_target) {
            let new = styled(&relative(&new_path, &new_target), &text);
            paths.insert((applied.id.clone(), pointer, text.clone(), new.clone()));
            out.push(written(world, item, &text, &new));
        }
    }
    out
}

fn stated(
    world: &World,
    cluster: &Cluster,
    applied: &Applied,
    (pointer, value): (&str, NodeRef<'_>),
    (base, new): (&str, &str),
    moves: &Moves,
    paths: &mut Paths,
) -> Result<Option<Wanted>, Refused> {
    let id = &applied.id;
    let own = applied.node.get_ref().location();
    let is_inside =
        own.as_ref().is_some_and(|own| own.file.of_root().is_some_and(|path| moves.is_moved(path)));
    let applies_itself =
        applied.parent.and_then(|by| cluster.applied.get(by as usize)).is_some_and(|by| by.id == applied.id);
    if applies_itself || (is_root(cluster, id) && is_inside) {
        let why =
            format!("{id} is applied from there by itself: the cluster would go on to look at the old path");
        return Err(Refused::at(value.location(), why, "bootstrap again with the new path"));
    }
    let inner = match base {
        "" => Some(new),
        _ => new.strip_prefix(base).and_then(|rest| rest.strip_prefix('/')),
    };
    let Some(inner) = inner else {
        let why = format!("{new} is outside of the source of {id}");
        return Err(Refused::at(value.location(), why, "move it to a place inside"));
    };
    let text = value.as_str().unwrap_or_default().into_owned();
    let new = match text.starts_with('/') {
        true => format!("/{inner}"),
        false => styled(inner, &text),
    };
    paths.insert((id.clone(), pointer.to_owned(), text.clone(), new.clone()));
    written(world, value, &text, &new)
}

/// The change of a text of an effective object.
fn written(world: &World, node: NodeRef<'_>, old: &str, new: &str) -> Result<Option<Wanted>, Refused> {
    let snapshot = &world.snapshot;
    let place = node.location();
    let Some(text) = text_of(snapshot, node) else {
        return Err(Refused::at(place, format!("`{old}` is part of a text here"), "change it by hand"));
    };
    let root = super::texts::root_of(snapshot, &text.path, text.document);
    let said =
        root.as_ref().and_then(|root| root.get_ref().str_at(&text.pointer).map(|text| text.into_owned()));
    if said.as_deref() != Some(old) {
        let why = format!("the path `{old}` is computed here: `{}`", said.unwrap_or_default());
        return Err(Refused::at(place, why, "move it by hand"));
    }
    let operation = Operation::Set { pointer: text.pointer, value: Content::str(new), comment: None };
    Ok(Some(Wanted { path: text.path, document: text.document, operation }))
}

/// Paths of charts in HelmReleases, of the repository that the cluster begins with.
fn charts(
    world: &World,
    cluster: &Cluster,
    moves: &Moves,
    paths: &mut Paths,
) -> Vec<Result<Option<Wanted>, Refused>> {
    let mut out = Vec::new();
    let Some(source) = &cluster.source else { return out };
    for (member, object) in world.written(cluster) {
        if member.target != ApplyTarget::Local || !kinds::is_helm_release(&object.id) {
            continue;
        }
        let node = object.node.get_ref();
        let spec = "/spec/chart/spec";
        let reference = node.at(&format!("{spec}/sourceRef"));
        let is_here = reference.and_then(|one| called_by(&object.id, one)).as_ref() == Some(source);
        if !is_here {
            continue;
        }
        let list = pointer_join(spec, "valuesFiles");
        let files = node.items_at(&list).enumerate().map(|(at, node)| (format!("{list}/{at}"), node));
        let chart = node.at("/spec/chart/spec/chart").map(|node| ("/spec/chart/spec/chart".to_owned(), node));
        for (pointer, value) in chart.into_iter().chain(files) {
            let Some(text) = value.as_str() else { continue };
            let Some(old) = join(&cluster.tree, &text).filter(|old| moves.is_moved(old)) else { continue };
            let new = moves.path(&old);
            let inner = match &*cluster.tree {
                "" => Some(&*new),
                tree => new.strip_prefix(tree).and_then(|rest| rest.strip_prefix('/')),
            };
            let Some(inner) = inner else {
                let why = format!("{new} is outside of the source of {}", object.id);
                out.push(Err(Refused::at(value.location(), why, "move it to a place inside")));
                continue;
            };
            let new = styled(inner, &text);
            paths.insert((object.id.clone(), pointer, text.to_string(), new.clone()));
            out.push(written(world, value, &text, &new));
        }
    }
    out
}

/// Copies of ArtifactGenerators from the repository that the cluster begins with. One
/// that still has the old path finds nothing, which is an error: its artifact stays
/// as it is.
/// Source: source-watcher `applyCopyOperation`.
fn copies(
    world: &World,
    cluster: &Cluster,
    moves: &Moves,
    paths: &mut Paths,
) -> Vec<Result<Option<Wanted>, Refused>> {
    let mut out = Vec::new();
    let Some(source) = &cluster.source else { return out };
    for (member, object) in world.written(cluster) {
        if member.target != ApplyTarget::Local || !object.id.is(kinds::EXTENSIONS, "ArtifactGenerator") {
            continue;
        }
        let node = object.node.get_ref();
        let is_here = |one: &NodeRef<'_>| called_by(&object.id, *one).as_ref() == Some(source);
        let here = node.items_at("/spec/sources").filter(is_here);
        let aliases: Vec<String> =
            here.filter_map(|source| source.str_at("/alias").map(|alias| alias.into_owned())).collect();
        for (at, artifact) in node.items_at("/spec/artifacts").enumerate() {
            for (number, copy) in artifact.items_at("/copy").enumerate() {
                let Some(value) = copy.get("from") else { continue };
                let Some(text) = value.as_str() else { continue };
                let Some((alias, path)) = text.strip_prefix('@').and_then(|text| text.split_once('/')) else {
                    continue;
                };
                if !aliases.iter().any(|known| known == alias) {
                    continue;
                }
                // What stands before the first pattern.
                let glob =
                    path.find(['*', '?', '[']).map_or(path.len(), |at| path[..at].rfind('/').unwrap_or(0));
                let (literal, pattern) = path.split_at(glob);
                let Some(old) = join(&cluster.tree, literal).filter(|old| moves.is_moved(old)) else {
                    continue;
                };
                let new = moves.path(&old);
                let inner = match &*cluster.tree {
                    "" => Some(&*new),
                    tree => new.strip_prefix(tree).and_then(|rest| rest.strip_prefix('/')),
                };
                let Some(inner) = inner else {
                    let why = format!("{new} is outside of the source of {}", object.id);
                    out.push(Err(Refused::at(value.location(), why, "move it to a place inside")));
                    continue;
                };
                let tail = if literal.ends_with('/') { "/" } else { "" };
                let new = format!("@{alias}/{inner}{tail}{pattern}");
                let pointer = format!("/spec/artifacts/{at}/copy/{number}/from");
                paths.insert((object.id.clone(), pointer, text.to_string(), new.clone()));
                out.push(written(world, value, &text, &new));
            }
        }
    }
    out
}

/// A Kustomization looks at the new commit with its old path before what applies it
/// has given it the new one: there has to be nothing, which is an error and prunes
/// nothing. What is left there would be all that it keeps.
/// Source: kustomize-controller `reconcile`, test `PruneEmpty`.
fn hazards(after: &World, moves: &Moves, paths: &Paths) -> Result<(), Vec<Refused>> {
    for (id, pointer, old, _) in paths {
        let Some(path) = join("", old).filter(|_| pointer == "/spec/path") else { continue };
        let left = after.clusters.iter().flat_map(|cluster| &cluster.applied).any(|applied| {
            applied.id == *id && applied.tree.as_ref().is_some_and(|tree| tree.is_directory(&path))
        });
        if left && moves.is_moved(&path) {
            let why = format!(
                "{path} would still be there: until {id} has its new path, it prunes what is not in it"
            );
            return Err(vec![Refused::at(None, why, "move to a place outside of it")]);
        }
    }
    Ok(())
}

/// Texts that say a moved path and are no part of a build: workflows, CODEOWNERS,
/// scripts, documentation, comments.
fn said(before: &Snapshot, moves: &Moves, after: &Snapshot) -> Vec<(Location, String)> {
    let mut found = Vec::new();
    for file in before.files() {
        let text_of = |snapshot: &Snapshot, path: &str| {
            let file =
                snapshot.file(path).filter(|file| file.kind == FileKind::Regular && file.size < 1 << 18)?;
            let bytes = snapshot.blob(file).ok()?.bytes().to_vec();
            String::from_utf8(bytes).ok()
        };
        let new = text_of(after, &moves.path(&file.path));
        let (Some(text), Some(new)) = (text_of(before, &file.path), new) else { continue };
        for (from, _) in moves.roots.iter().filter(|(from, _)| from.contains('/') || from.contains('.')) {
            // A line that was changed is right.
            let left = text.match_indices(&**from).find(|(at, _)| {
                let line = &text[text[..*at].rfind('\n').map_or(0, |at| at + 1)..];
                let line = line.lines().next().unwrap_or_default();
                says(&text, *at, from) && new.lines().any(|kept| kept == line)
            });
            if let Some((at, _)) = left {
                let (start, end) = (at as u32, (at + from.len()) as u32);
                let place = Location { file: file.name(), start, end, via: Vec::new() };
                found.push((place, from.clone()));
            }
        }
    }
    found
}

/// Whether a text says a path at a place, and not a part of a longer one.
fn says(text: &str, at: usize, path: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let (head, tail) = (&text[..at], &text[at + path.len()..]);
    let head = head.strip_suffix("./").unwrap_or(head);
    !head.ends_with(|c: char| part(c) || c == '/') && !tail.starts_with(|c: char| part(c) && c != '.')
}
