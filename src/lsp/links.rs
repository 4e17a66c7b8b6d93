//! Which place names which other one: references to objects, paths, variables; and
//! back.

use super::class;
use super::place::{
    Spot, directory, is_kustomization_file, kustomization_in, memberships, objects_of, seen, visit,
};
use super::state::ServerState;
use super::values;
use crate::build::kustomize::FileRole;
use crate::build::substitute::{Definition, Variables, parse};
use crate::files::{Snapshot, join};
use crate::lang::yaml::{FilePath, Location, NodeRef};
use crate::model::ObjectId;
use crate::model::kinds::is_kustomization;
use crate::rewrite::subject::home;
use crate::world::named::{Named, named_by};
use crate::world::{Cluster, Effective, World};
use std::ops::Range;
use std::sync::Arc;

/// The object that a place names, with the effective objects in which it does: the
/// cursor is on the name, or on another field of the same map.
pub(super) fn named_at<'w>(world: &'w World, spot: &Spot<'_>) -> Vec<(&'w Effective, Named)> {
    let place = spot.location();
    let mut found: Vec<(&Effective, Named)> = Vec::new();
    for seen in seen(world, spot) {
        let all = named_by(&seen.object.id, seen.object.node.get_ref());
        let is_here = |named: &&Named| {
            named.location.as_ref().is_some_and(|at| at.file == place.file && at.start == place.start)
        };
        let in_map = |named: &&Named| {
            let rest = seen.pointer.strip_prefix(&named.pointer);
            rest.is_some_and(|rest| matches!(rest, "" | "/name" | "/kind" | "/namespace" | "/apiVersion"))
        };
        let one = all.iter().find(is_here).or_else(|| all.iter().find(in_map));
        found.extend(one.map(|named| (seen.object, named.clone())));
    }
    found
}

/// The identity of the object whose own name a place is, as the clusters have it.
pub(super) fn own_at<'w>(world: &'w World, spot: &Spot<'_>) -> Vec<&'w Effective> {
    let (_, inner) = spot.object();
    match matches!(inner, "" | "/metadata" | "/metadata/name" | "/kind") {
        true => objects_of(world, spot),
        false => Vec::new(),
    }
}

/// The objects that a place means, each once: those that it names, else its own.
pub(super) fn meant_at<'w>(world: &'w World, spot: &Spot<'_>) -> Vec<&'w Effective> {
    let mut meant: Vec<&Effective> = Vec::new();
    for (from, named) in named_at(world, spot) {
        for (cluster, _) in memberships(world, from) {
            if let Some(object) = named.find(world, cluster)
                && !meant.iter().any(|one| std::ptr::eq(*one, object))
            {
                meant.push(object);
            }
        }
    }
    if meant.is_empty() { own_at(world, spot) } else { meant }
}

/// The objects of which controllers make what a place names, where it stands in no file:
/// of a Secret its ExternalSecret.
pub(super) fn makers_at<'w>(world: &'w World, spot: &Spot<'_>) -> Vec<&'w Effective> {
    let mut makers: Vec<&Effective> = Vec::new();
    for (from, named) in named_at(world, spot) {
        for (cluster, _) in memberships(world, from) {
            let maker = named.maker(world, cluster);
            makers.extend(maker.filter(|maker| !makers.iter().any(|one| std::ptr::eq(*one, *maker))));
        }
    }
    makers
}

/// A path that a text holds: what it leads to in the repository, as a file.
pub(super) fn path_at(world: &World, spot: &Spot<'_>) -> Vec<Arc<str>> {
    let snapshot = &*world.snapshot;
    let Some(text) = spot.node().text() else { return Vec::new() };
    let file = |path: &str| -> Option<Arc<str>> {
        let path = match snapshot.file(path) {
            Some(file) => return Some(file.path.clone()),
            None => kustomization_in(snapshot, path),
        };
        path.map(|path| Arc::from(path.as_str()))
    };
    if spot.is_kustomization() {
        // A generator names what it reads `key=path`.
        let written = text.rsplit_once('=').filter(|_| spot.pointer.contains("/files/"));
        let text = written.map_or(&*text, |(_, path)| path);
        return join(directory(spot.path()), text).and_then(|path| file(&path)).into_iter().collect();
    }
    let (_, inner) = spot.object();
    if inner != "/spec/path" {
        return Vec::new();
    }
    let mut found: Vec<Arc<str>> = Vec::new();
    for object in objects_of(world, spot).into_iter().filter(|object| is_kustomization(&object.id)) {
        for (cluster, _) in memberships(world, object) {
            let Some(applied) = cluster.applied(object.id.namespace.as_deref(), &object.id.name) else {
                continue;
            };
            let path = applied.tree.as_ref().and_then(|tree| tree.root_path(&applied.path));
            let path = path.map(|path| path.trim_matches('/').to_owned());
            let first = |path: &str| Some(snapshot.files_below(path).first()?.path.clone());
            if let Some(target) = path.and_then(|path| file(&path).or_else(|| first(&path)))
                && !found.contains(&target)
            {
                found.push(target);
            }
        }
    }
    found
}

/// The variable that a place names: in `${…}`, or as a key that defines it.
pub(super) fn variable_at(spot: &Spot<'_>) -> Option<String> {
    let (name, range) = expressions(spot.node())
        .into_iter()
        .find(|(_, range)| range.start <= spot.offset && spot.offset <= range.end)?;
    (!range.is_empty()).then_some(name)
}

/// The `${…}` of a value with the bytes of the file that each takes.
pub(super) fn expressions(node: NodeRef<'_>) -> Vec<(String, Range<u32>)> {
    let (Some(text), NodeRef::Source(source, token)) = (node.text(), node) else { return Vec::new() };
    let place = &source.document().tokens[token as usize];
    let written = &source.stream.text[place.start as usize..place.end as usize];
    if !text.contains("${") {
        return Vec::new();
    }
    // The value as it is written, so that quotes and lines count.
    let Ok(template) = parse(written) else { return Vec::new() };
    let all = template.expressions().into_iter();
    all.map(|one| {
        (one.name.clone(), place.start + one.range.start as u32..place.start + one.range.end as u32)
    })
    .collect()
}

/// What a variable is for each object that a place is a part of: the cluster, its
/// variables' Kustomization, the definition.
pub(super) struct Defined<'w> {
    pub(super) cluster: &'w Cluster,
    pub(super) by: &'w ObjectId,
    pub(super) definition: Option<Definition>,
    /// Whether something that is not here may define it.
    pub(super) open: bool,
}

/// The definitions of a variable for the objects of a place.
pub(super) fn definitions<'w>(world: &'w World, spot: &Spot<'_>, name: &str) -> Vec<Defined<'w>> {
    let mut all: Vec<Defined<'w>> = Vec::new();
    let mut known: Vec<(*const Cluster, u32)> = Vec::new();
    for object in objects_of(world, spot) {
        for (cluster, member) in memberships(world, object).filter(|(cluster, _)| cluster.name.is_some()) {
            let Some(index) = member.maker.kustomization() else { continue };
            if known.contains(&(std::ptr::from_ref(cluster), index)) {
                continue;
            }
            known.push((std::ptr::from_ref(cluster), index));
            let applied = &cluster.applied[index as usize];
            let variables = world.variables(cluster, &applied.id, applied.node.get_ref());
            all.push(Defined {
                cluster,
                by: &applied.id,
                definition: variables.as_ref().and_then(|all| all.definition(name).cloned()),
                open: variables.is_some_and(|all| all.open),
            });
        }
    }
    all
}

/// The variables that a place may use, with one of their values.
pub(super) fn variables_at(world: &World, objects: &[&Effective]) -> Vec<(String, Option<String>)> {
    let mut all: Vec<(String, Option<String>)> = Vec::new();
    for (cluster, member) in objects.iter().flat_map(|object| memberships(world, object)) {
        let Some(applied) =
            member.maker.kustomization().and_then(|index| cluster.applied.get(index as usize))
        else {
            continue;
        };
        let variables: Option<Variables> = world.variables(cluster, &applied.id, applied.node.get_ref());
        let Some(variables) = variables else { continue };
        for name in variables.names() {
            if !all.iter().any(|(known, _)| known == name) {
                let definition = variables.definition(name);
                let is_shown = |at: &Location| !world.snapshot.hides(at);
                let shown = definition.filter(|one| one.location.as_ref().is_none_or(is_shown));
                let value = shown.and_then(|one| one.value.as_deref().map(str::to_owned));
                all.push((name.to_owned(), value));
            }
        }
    }
    all
}

/// Where to go from a place.
pub(super) fn definition(state: &ServerState<'_>, spot: &Spot<'_>) -> Vec<Location> {
    let world = state.world();
    let mut found: Vec<Location> = Vec::new();
    if let Some(name) = variable_at(spot) {
        let all = definitions(world, spot, &name).into_iter();
        found.extend(all.filter_map(|one| one.definition?.location));
    }
    if found.is_empty() {
        found.extend(class::named_at(world, spot).iter().flat_map(class::ClassPart::definition));
    }
    if found.is_empty() {
        found.extend(path_at(world, spot).into_iter().map(|path| Location {
            file: FilePath::in_root(path),
            start: 0,
            end: 0,
            via: Vec::new(),
        }));
    }
    if found.is_empty() {
        found.extend(meant_at(world, spot).into_iter().filter_map(home).map(|home| name_of(world, home)));
    }
    if found.is_empty() {
        found.extend(makers_at(world, spot).into_iter().filter_map(home).map(|home| name_of(world, home)));
    }
    if found.is_empty() {
        // The value that a patch decides.
        let decided = seen(world, spot).into_iter().filter_map(|seen| seen.node?.location());
        found.extend(decided.filter(|at| !at.file.is_at(spot.path())));
    }
    if found.is_empty() {
        found.extend(values::definition(world, spot));
    }
    unique(found)
}

/// Where the name of the object stands that is written at a place.
fn name_of(world: &World, home: &Location) -> Location {
    let objects = world.snapshot.objects().iter();
    let stated = objects.filter(|object| object.source.file == home.file);
    let node = stated
        .map(|object| object.node.get_ref())
        .find(|node| node.location().is_some_and(|at| at.start == home.start));
    let name = node.and_then(|node| node.at("/metadata/name")?.location());
    name.unwrap_or_else(|| Location {
        file: home.file.clone(),
        start: home.start,
        end: home.start,
        via: Vec::new(),
    })
}

fn unique(found: Vec<Location>) -> Vec<Location> {
    let mut unique: Vec<Location> = Vec::new();
    for place in found {
        if !unique.iter().any(|known| known.file == place.file && known.start == place.start) {
            unique.push(place);
        }
    }
    unique
}

/// Every place that names what a place names or is.
pub(super) fn references_to(state: &ServerState<'_>, spot: &Spot<'_>, declaration: bool) -> Vec<Location> {
    let world = state.world();
    let mut found: Vec<Location> = Vec::new();
    let in_definition =
        spot.object().1.starts_with("/spec/postBuild/substitute/") || is_settings(world, spot);
    if let Some(name) = variable_at(spot).or_else(|| in_definition.then(|| spot.name())) {
        return unique(uses_of(world, spot, &name, in_definition));
    }
    let parts = class::named_at(world, spot);
    if !parts.is_empty() {
        for part in &parts {
            found.extend(if declaration { part.definition() } else { Vec::new() });
            found.extend(part.uses(world));
        }
        return unique(found);
    }
    let paths = path_at(world, spot);
    if let Some(path) = paths.first() {
        found.extend(included_by(&world.snapshot, path));
        return unique(found);
    }
    let meant = meant_at(world, spot);
    for object in &meant {
        if declaration {
            found.extend(home(object).map(|home| name_of(world, home)));
        }
        for other in &world.objects {
            let shares =
                other.members.iter().any(|(one, _)| object.members.iter().any(|(two, _)| one == two));
            if !shares {
                continue;
            }
            let named = named_by(&other.id, other.node.get_ref()).into_iter();
            found.extend(named.filter(|named| named.is(&object.id)).filter_map(|named| named.location));
        }
        // Back from a base: who includes the file that states it, up to the clusters.
        if let Some(home) = home(object) {
            found.extend(home.file.of_root().into_iter().flat_map(|path| included_by(&world.snapshot, path)));
        }
        let patches = object.files.iter().filter(|(role, _)| *role == FileRole::Patch);
        found.extend(patches.map(|(_, place)| place.clone()));
    }
    if meant.is_empty() && spot.is_kustomization() {
        found.extend(included_by(&world.snapshot, spot.path()));
    }
    unique(found)
}

/// Whether a place is a value of a ConfigMap or Secret that Kustomizations take
/// variables from.
fn is_settings(world: &World, spot: &Spot<'_>) -> bool {
    let (_, inner) = spot.object();
    (inner.starts_with("/data/") || inner.starts_with("/stringData/"))
        && objects_of(world, spot)
            .iter()
            .any(|object| object.id.is("", "ConfigMap") || object.id.is("", "Secret"))
}

/// Whether a place is the key of a ConfigMap or Secret that defines a variable of some
/// Kustomization.
pub(super) fn is_definition(world: &World, spot: &Spot<'_>) -> bool {
    if spot.key.is_none() || !is_settings(world, spot) {
        return false;
    }
    let (name, place) = (spot.name(), spot.node().location());
    let same = |one: &Location| {
        place.as_ref().is_some_and(|place| place.file == one.file && place.start == one.start)
    };
    world.clusters.iter().flat_map(|cluster| cluster.applied.iter().map(move |one| (cluster, one))).any(
        |(cluster, applied)| {
            let variables = world.variables(cluster, &applied.id, applied.node.get_ref());
            let definition = variables.as_ref().and_then(|all| all.definition(&name));
            definition.and_then(|one| one.location.as_ref()).is_some_and(same)
        },
    )
}

/// The `${NAME}` of the objects that get the same definition.
fn uses_of(world: &World, spot: &Spot<'_>, name: &str, defines: bool) -> Vec<Location> {
    let place = spot.node().location();
    let mut found = Vec::new();
    let wanted: Vec<Option<Location>> = match defines {
        true => vec![place],
        false => {
            let all = definitions(world, spot, name).into_iter();
            all.map(|one| one.definition.and_then(|definition| definition.location)).collect()
        }
    };
    let is_wanted = |definition: &Option<Location>| {
        let same = |one: &Location, other: &Location| one.file == other.file && one.start == other.start;
        wanted.iter().any(|wanted| match (wanted, definition) {
            (Some(wanted), Some(definition)) => same(wanted, definition),
            _ => wanted.is_none() && definition.is_none(),
        })
    };
    let mut files: Vec<&Location> = Vec::new();
    for cluster in &world.clusters {
        for (index, applied) in cluster.applied.iter().enumerate() {
            let Some(variables) = world.variables(cluster, &applied.id, applied.node.get_ref()) else {
                continue;
            };
            if !is_wanted(&variables.definition(name).and_then(|one| one.location.clone())) {
                continue;
            }
            let own = world
                .written(cluster)
                .filter(|(member, _)| member.maker.kustomization() == Some(index as u32));
            files.extend(own.flat_map(|(_, object)| object.files.iter().map(|(_, place)| place)));
        }
    }
    files.sort_by(|one, other| (&one.file, one.start).cmp(&(&other.file, other.start)));
    files.dedup_by(|one, other| one.file == other.file);
    for file_name in files.into_iter().map(|place| &place.file) {
        let Some(file) = world.snapshot.find(file_name) else { continue };
        for source in world.snapshot.sources(file) {
            for token in 0..source.document().tokens.len() as u32 {
                for (used, range) in expressions(NodeRef::Source(source, token)) {
                    if used == name {
                        found.push(source.location(range));
                    }
                }
            }
        }
    }
    found
}

/// Entries of kustomization files, and paths of Flux Kustomizations, that lead to a
/// file or its directory.
pub(super) fn included_by(snapshot: &Snapshot, path: &str) -> Vec<Location> {
    let mut found = Vec::new();
    let own = is_kustomization_file(path).then(|| directory(path));
    for file in snapshot.files().iter().filter(|file| is_kustomization_file(&file.path)) {
        for source in snapshot.sources(file).iter().filter(|source| !source.document().tokens.is_empty()) {
            visit(NodeRef::Source(source, 0), &mut String::new(), 0, &mut |pointer, value| {
                let is_path = ["/resources/", "/components/", "/bases/", "/files/", "/path", "/crds/"];
                if !is_path.iter().any(|part| pointer.contains(part))
                    && !pointer.starts_with("/patchesStrategicMerge/")
                {
                    return;
                }
                let Some(text) = value.text() else { return };
                let text = text.rsplit_once('=').map_or(&*text, |(_, path)| path);
                let Some(target) = join(directory(&file.path), text) else { return };
                if target == path || own == Some(target.as_str()) {
                    found.extend(value.location());
                }
            });
        }
    }
    for object in snapshot.objects().iter().filter(|object| is_kustomization(&object.id)) {
        let node = object.node.get_ref().at("/spec/path");
        if let Some((node, text)) = node.and_then(|node| Some((node, node.as_str()?)))
            && let Some(target) = join("", &text)
            && Some(target.as_str()) == own
        {
            found.extend(node.location());
        }
    }
    found
}
