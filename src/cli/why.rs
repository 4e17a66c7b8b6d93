//! `forebay why`.

use super::common::Common;
use super::output;
use super::selector::Selector;
use super::session::{Found, Session, one_object};
use super::{Answer, Status};
use crate::build::kustomize::FileRole;
use crate::files::{Snapshot, join};
use crate::lang::text::clean;
use crate::lang::yaml::{FilePath, Location, Node, NodeRef, Via, ViaKind};
use crate::lint::engine::NotChecked;
use crate::model::Maker;
use crate::report::{self, objects, parts};
use crate::world::{Applied, ApplyTarget, Effective};
use serde_json::json;
use std::fmt::Write as _;

output::formats!(Text = "text": "for people", Json = "json": "for programs: stable, with a schema");

/// Flags of `why`.
#[derive(clap::Args)]
#[command(after_help = output::help::<Format>(), arg = output::argument::<Format>())]
pub(crate) struct Arguments {
    /// The object: KIND/[NAMESPACE/]NAME
    object: String,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    output::chosen::<Format>(common)?;
    let selector = Selector::of(common, &arguments.object)?;
    let session = Session::open(common, &[])?;
    let world = session.world();
    let found = one_object(common, &world, &selector)?;
    let Some(first) = found.first() else {
        return Err(selector.missing(&world, []));
    };
    let files = files(first.object, &session.snapshot);
    output::emit(common, |format, out, _| match format {
        Format::Json => {
            let header = report::json::header("why", None, Some(&world), &NotChecked::default());
            let listed = files.iter().map(|(role, location)| {
                json!({"role": role.name(), "location": parts::location(&session.snapshot, Some(location))})
            });
            let body = json!({
                "object": parts::object(&first.object.id),
                "cluster": first.cluster.name.as_deref(),
                "appliedBy": appliers(first).map(|applied| parts::object(&applied.id)).collect::<Vec<_>>(),
                "madeBy": makers(first).map(|maker| made_by(first, maker, &session.snapshot)).collect::<Vec<_>>(),
                "files": listed.collect::<Vec<_>>(),
            });
            report::json::write(out, &report::json::answer(header, body))
        }
        Format::Text => out.write_all(text(&found, &files, &session.snapshot).as_bytes()),
    })?;
    Ok(Status::Clean)
}

/// The Kustomizations among its makers.
fn appliers<'w>(found: &Found<'w>) -> impl Iterator<Item = &'w Applied> {
    let cluster = found.cluster;
    makers(found).filter_map(move |maker| cluster.applied.get(maker.kustomization()? as usize))
}

/// What made the object, what made that, and so on up to the entry point; nothing where
/// no cluster applies it.
fn makers(found: &Found<'_>) -> impl Iterator<Item = Maker> {
    let is_applied = found.cluster.name.is_some();
    found.cluster.makers(found.member).into_iter().filter(move |_| is_applied)
}

fn made_by(found: &Found<'_>, maker: Maker, snapshot: &Snapshot) -> serde_json::Value {
    let made = found.cluster.made_by(maker);
    let location = match made {
        Some((_, node)) => node.get_ref().location(),
        None => found.cluster.location.clone(),
    };
    json!({
        "kind": maker.word(),
        "object": made.map(|(id, _)| parts::object(id)),
        "location": parts::location(snapshot, location.as_ref()),
    })
}

/// The files that made the object, then the definitions of what was
/// substituted in it.
pub(super) fn files(object: &Effective, snapshot: &Snapshot) -> Vec<(FileRole, Location)> {
    let mut files = object.files.clone();
    let mut substituted: Vec<Location> = Vec::new();
    let mut patched: Vec<(Location, Location)> = Vec::new();
    visit(object.node.get_ref(), 0, &mut |node| {
        let Some(location) = node.location() else { return };
        for via in &location.via {
            match via.kind {
                ViaKind::Substitution if !substituted.contains(&via.location) => {
                    substituted.push(via.location.clone());
                }
                ViaKind::Patch => patched.push((via.location.clone(), location.clone())),
                _ => {}
            }
        }
    });
    for (_, entry) in files.iter_mut().filter(|(role, _)| *role == FileRole::Patch) {
        let value = patched.iter().find(|(via, _)| via == entry).map(|(_, value)| value);
        if let Some(patch) = patch_file(snapshot, entry, value) {
            let via = Via { kind: ViaKind::Patch, location: entry.clone() };
            *entry = Location { via: vec![via], ..patch };
        }
    }
    files.extend(substituted.into_iter().map(|location| (FileRole::Substitution, location)));
    files
}

/// The document of a patch that an entry of a kustomization names by its path:
/// the one with a value of the object, else the first.
fn patch_file(snapshot: &Snapshot, entry: &Location, value: Option<&Location>) -> Option<Location> {
    let sources = snapshot.sources(snapshot.find(&entry.file)?);
    let mut written = None;
    for source in sources.iter().filter(|source| !source.document().tokens.is_empty()) {
        visit(Node::Source(source.clone(), 0).get_ref(), 0, &mut |node| {
            let is_here = |place: Location| (place.start, place.end) == (entry.start, entry.end);
            if node.location().is_some_and(is_here) {
                let path = if node.is_map() { node.str_at("/path") } else { node.as_str() };
                written = path.map(|path| path.into_owned());
            }
        });
    }
    let directory = entry.file.shown().rsplit_once('/').map_or("", |(directory, _)| directory);
    let path = match value.filter(|value| value.file != entry.file) {
        Some(value) => value.file.clone(),
        None => FilePath::new(entry.file.tree().clone(), join(directory, &written?)?),
    };
    let roots = snapshot.sources(snapshot.find(&path)?).iter();
    let mut roots = roots.filter_map(|source| {
        let filled = !source.document().tokens.is_empty();
        filled.then(|| Node::Source(source.clone(), 0)).and_then(|root| root.get_ref().location())
    });
    match value.filter(|value| value.file == path) {
        Some(value) => roots.find(|root| root.start <= value.start && value.end <= root.end),
        None => roots.next(),
    }
}

fn visit<'a>(node: NodeRef<'a>, depth: usize, found: &mut dyn FnMut(NodeRef<'a>)) {
    if depth > crate::lang::yaml::emit::DEPTH_LIMIT {
        return;
    }
    found(node);
    for entry in node.entries() {
        visit(entry.value, depth + 1, found);
    }
    for item in node.items() {
        visit(item, depth + 1, found);
    }
}

fn text(found: &[Found<'_>], files: &[(FileRole, Location)], snapshot: &Snapshot) -> String {
    let mut out = String::new();
    let Some(first) = found.first() else { return out };
    let _ = writeln!(out, "{}", clean(&first.object.id.to_string()));
    for found in found {
        let cluster = match &found.cluster.name {
            Some(name) => format!("cluster {}", clean(name)),
            None if found.cluster.root.is_empty() => "no cluster".to_owned(),
            None => format!("no cluster; built from {}", clean(&found.cluster.root)),
        };
        let target = match &found.member.target {
            ApplyTarget::Local => String::new(),
            ApplyTarget::Remote(name) => format!(", sent to the cluster of {}", clean(name)),
        };
        let _ = writeln!(out, "  {cluster}{target}");
        for (index, maker) in makers(found).enumerate() {
            let Some((id, _)) = found.cluster.made_by(maker) else { continue };
            let which = if index == 0 { "" } else { "which is " };
            let (word, path) = match maker.kustomization() {
                Some(by) => ("applied by", found.cluster.applied[by as usize].path.as_str()),
                None if matches!(maker, Maker::HelmRelease(_)) => ("rendered by", ""),
                None => ("made by", ""),
            };
            let path = match (maker.kustomization(), path) {
                (None, _) => String::new(),
                (Some(_), "") => " (.)".to_owned(),
                (Some(_), path) => format!(" ({})", clean(path)),
            };
            let chart = match maker {
                Maker::HelmRelease(release) => found.cluster.releases[release as usize].label(),
                _ => None,
            };
            let chart = chart.map_or_else(String::new, |(name, version)| {
                format!(" (chart {} {})", clean(name), clean(version))
            });
            let _ = writeln!(out, "    {which}{word} {}{path}{chart}", clean(&id.to_string()));
        }
    }
    for (role, location) in files {
        let _ = writeln!(out, "  {:<12} {}", role.name(), objects::place(snapshot, location));
    }
    out
}
