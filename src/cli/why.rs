//! `forebay why`.

use super::common::Common;
use super::locate::{given, nearest, pointer_of};
use super::output;
use super::places::Places;
use super::selector::{ObjectSelector, selector_of};
use super::session::{LocatedObject, Session, differences, found_by, one_object};
use super::{Answer, Failure, Status};
use crate::build::kustomize::FileRole;
use crate::files::{Snapshot, join};
use crate::lang::text::{clean, counted, shorten};
use crate::lang::yaml::{FilePath, Location, Node, NodeRef, Via, ViaKind};
use crate::lint::engine::NotChecked;
use crate::model::Maker;
use crate::report::references::References;
use crate::report::{self, objects, parts};
use crate::rewrite::subject::home;
use crate::world::{Applied, ApplyTarget, Effective, World};
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

output::formats!(Text = "text": "for people", Json = "json": "for programs: stable, with a schema");

/// Flags of `why`.
#[derive(clap::Args)]
#[command(after_help = output::help::<Format>(), arg = output::argument::<Format>())]
pub(crate) struct Arguments {
    /// The object: KIND/[NAMESPACE/]NAME, KIND NAME, or the FILE[:LINE] that states it; behind it
    /// the JSON Pointer of a value, to be told where that comes from
    #[arg(value_name = "OBJECT|FILE[:LINE] [POINTER]", required = true, num_args = 1..=3)]
    object: Vec<String>,
    /// Say what it refers to and what refers to it
    #[arg(long)]
    references: bool,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    output::chosen::<Format>(common)?;
    let session = Session::open(common, &[])?;
    let world = session.world();
    let (words, pointer) = object_and_pointer(&arguments.object);
    let all = match stated_in(common, &session, &world, words)? {
        Some(all) => all,
        None => named(common, &world, words, pointer.is_some())?,
    };
    let is_json = matches!(output::chosen::<Format>(common)?.0, Format::Json);
    let [first, ..] = all.as_slice() else { return Ok(Status::Clean) };
    if is_json && all.len() > 1 {
        let names: Vec<String> = all.iter().flatten().map(|found| selector_of(&found.object.id)).collect();
        return Err(Failure::Usage(format!(
            "json is about one object; name one, or its LINE:\n  {}",
            clean(&names.join("\n  "))
        )));
    }
    let Some(first) = first.first() else { return Ok(Status::Clean) };
    let files = files(first.object, &session.snapshot);
    let places = Places::of(common, &session);
    let is_one = all.iter().flatten().all(|found| found.object.id == first.object.id);
    let valued: Vec<Valued> = match &pointer {
        Some(_) if !is_one => {
            return Err(Failure::Usage("several objects stand there; name one, or its LINE".to_owned()));
        }
        Some(pointer) => {
            let forms = all.iter().filter_map(|form| form.first());
            let values = forms.map(|found| Valued::of(&world, found, pointer, &session.snapshot));
            values.collect::<Result<_, _>>()?
        }
        None => Vec::new(),
    };
    output::emit(common, |format, out, _| match format {
        Format::Json => {
            let header = report::json::header("why", None, Some(&world), &NotChecked::default());
            let mut body = body(&world, first, &files, valued.first());
            if arguments.references {
                (body["references"], body["referencedBy"]) = references(&world, first).json();
            }
            report::json::write(out, &report::json::answer(header, body))
        }
        Format::Text => texts(&all, &world, &places, &valued, arguments.references)
            .try_for_each(|text| out.write_all(text.as_bytes())),
    })?;
    Ok(Status::Clean)
}

/// The answer as JSON, without references.
fn body(
    world: &World,
    first: &LocatedObject<'_>,
    files: &[(FileRole, Location)],
    valued: Option<&Valued>,
) -> serde_json::Value {
    let snapshot = &world.snapshot;
    let listed = files.iter().map(|(role, location)| {
                json!({"role": role.name(), "location": parts::location(snapshot, Some(location))})
            });
    let mut body = json!({
        "object": parts::object(&first.object.id),
        "cluster": first.cluster.name.as_deref(),
        "appliedBy": appliers(first).map(|applied| parts::object(&applied.id)).collect::<Vec<_>>(),
        "madeBy": makers(first).map(|maker| made_by(first, maker, snapshot)).collect::<Vec<_>>(),
        "files": listed.collect::<Vec<_>>(),
    });
    if let Some(valued) = valued {
        body["value"] = valued.json();
        body["location"] = parts::location(snapshot, valued.location.as_ref());
        let place = valued.location.as_ref();
        let value = valued.node.get_ref().at(&valued.pointer);
        let origins = value.and_then(|value| parts::origins_of(snapshot, value, place));
        if let Some(origins) = origins {
            body["origins"] = origins.into();
        }
    }
    body
}

/// The answer as text: a part for each form of the object.
fn texts<'f>(
    all: &'f [Vec<LocatedObject<'f>>],
    world: &'f World,
    places: &'f Places<'f>,
    valued: &'f [Valued],
    with_references: bool,
) -> impl Iterator<Item = String> {
    all.iter().enumerate().filter_map(move |(index, found)| {
        let gap = if index == 0 { "" } else { "\n" };
        let first = found.first()?;
        let text = match with_references {
            true => referring(found, &references(world, first).text(&|at| places.text(at))),
            false => text(found, &world.snapshot, places),
        };
        let value = valued.get(index).map_or_else(String::new, |valued| valued.text(places));
        Some(format!("{gap}{value}{text}"))
    })
}

/// The forms of the object that is named. Several are answered one after the other where a
/// value is asked for, or where they only come from other files.
fn named<'w>(
    common: &Common,
    world: &'w World,
    words: &[String],
    asks_value: bool,
) -> Result<Vec<Vec<LocatedObject<'w>>>, Failure> {
    let selector = ObjectSelector::of_words(common, words)?;
    let is_text = matches!(output::chosen::<Format>(common)?.0, Format::Text);
    let forms = forms_of(common, world, &|object| selector.matches(&object.id))?;
    let objects: Vec<&Effective> = forms.iter().filter_map(|form| Some(form.first()?.object)).collect();
    let is_one = objects.iter().all(|object| object.id == objects[0].id);
    let says_the_same = || {
        let nodes: Vec<NodeRef<'_>> = objects.iter().map(|object| object.node.get_ref()).collect();
        differences(&nodes).is_empty()
    };
    match forms.len() {
        2..=OF_A_FILE if is_text && is_one && (asks_value || says_the_same()) => Ok(forms),
        _ => Ok(vec![one_object(common, world, &selector)?]),
    }
}

/// The words that name an object, and the pointer behind them. No object is called by a word
/// that begins with a slash, and none by one more behind its whole name.
fn object_and_pointer(all: &[String]) -> (&[String], Option<String>) {
    match all {
        [words @ .., last] if !words.is_empty() && last.starts_with('/') => (words, Some(last.clone())),
        [object, last] if object.contains('/') => (&all[..1], Some(pointer_of(last))),
        [kind, name, last] if !kind.contains('/') && !name.contains('/') => {
            (&all[..2], Some(pointer_of(last)))
        }
        words => (words, None),
    }
}

/// A value of an object, Secrets masked, and where it comes from.
struct Valued {
    pointer: String,
    node: Node,
    location: Option<Location>,
    /// Which object and key of `valuesFrom` hold it, where `spec.values` doesn't.
    by: Option<String>,
}

/// Characters of a line of a value that are shown.
const SHOWN: usize = 200;

/// Lines of a value that are shown.
const LINES: usize = 8;

/// A value as it is shown.
fn lines(value: &str) -> Vec<String> {
    let mut lines: Vec<String> = value.lines().take(LINES).map(|line| shorten(&clean(line), SHOWN)).collect();
    match value.lines().count().saturating_sub(LINES) {
        0 if lines.is_empty() => lines.push(String::new()),
        0 => {}
        more => lines.push(format!("… and {}", counted(more, "more line"))),
    }
    lines
}

impl Valued {
    fn of(
        world: &World,
        found: &LocatedObject<'_>,
        pointer: &str,
        snapshot: &Snapshot,
    ) -> Result<Valued, Failure> {
        let mask = |node: NodeRef<'_>| objects::masked(node, snapshot, &mut objects::Masks::default());
        let node = mask(found.object.node.get_ref());
        let (node, pointer, by) = match node.get_ref().at(pointer).is_some() {
            true => (node, pointer.to_owned(), None),
            false => match given(world, found, pointer) {
                Some((layer, inner, by)) => (mask(layer.get_ref()), inner, Some(by)),
                None => {
                    let help = nearest(node.get_ref(), pointer);
                    let message = format!("{} has no {pointer}; {help}", found.object.id);
                    return Err(Failure::Usage(clean(&message).into_owned()));
                }
            },
        };
        let root = node.get_ref();
        let location = root.at(&pointer).and_then(NodeRef::location).or_else(|| root.location_at(&pointer));
        Ok(Valued { pointer, node, location, by })
    }

    fn json(&self) -> serde_json::Value {
        let value = self.node.get_ref().at(&self.pointer);
        value.and_then(|value| objects::json(value).ok()).unwrap_or_default()
    }

    fn origins(&self) -> Vec<Location> {
        self.node.get_ref().at(&self.pointer).map(NodeRef::origins).unwrap_or_default()
    }

    /// The value, the line of the template that wrote it, what flowed into it, and what
    /// it went through since.
    fn text(&self, places: &Places<'_>) -> String {
        let shown = match self.json() {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        let mut out = String::new();
        for line in lines(&shown) {
            let _ = writeln!(out, "{line}");
        }
        let Some(location) = &self.location else {
            let _ = writeln!(out, "  no file states this value");
            return out;
        };
        let of = |kind: ViaKind| location.via.iter().filter(move |via| via.kind == kind);
        for via in of(ViaKind::Template) {
            let _ = writeln!(out, "  {:<12} {}", "written by", places.text(&via.location));
        }
        let plain = |place: &Location| Location { via: Vec::new(), ..place.clone() };
        let mut all: Vec<Location> = self.origins().iter().map(plain).collect();
        if all.len() < 2 {
            all = std::iter::once(location)
                .chain(of(ViaKind::Input).map(|via| &via.location))
                .map(plain)
                .collect();
        }
        // Behind the template stands what only decided that there is anything. A text of its own
        // comes from it.
        let is_template = |via: &&Via| via.kind == ViaKind::Template;
        let origins = self.origins();
        let template = origins.iter().find_map(|place| place.via.iter().find(is_template));
        let template = template.map(|via| plain(&via.location));
        let is_own = template.as_ref() == all.first();
        let mut word = "from";
        for place in &all {
            let is_template = template.as_ref() == Some(place);
            if is_own || !is_template {
                let _ = writeln!(out, "  {word:<12} {}", places.text(place));
            }
            if is_template {
                word = "decided by";
            }
        }
        if let Some(by) = &self.by {
            let _ = writeln!(out, "  {:<12} {}", "valuesFrom", clean(by));
        }
        for via in &location.via {
            if !matches!(via.kind, ViaKind::Template | ViaKind::Input) {
                let variable = places.variable(&via.location).filter(|_| via.kind == ViaKind::Substitution);
                let variable = variable.map_or_else(String::new, |variable| format!("  {variable}"));
                let _ = writeln!(out, "  {:<12} {}{variable}", via.kind.name(), places.text(&via.location));
            }
        }
        out
    }
}

/// What an object refers to, in the cluster in which it was found.
fn references<'w>(world: &'w World, found: &LocatedObject<'w>) -> References<'w> {
    References::of(world, found.cluster, found.object)
}

/// Objects of a file that are shown; more are named by their LINE.
const OF_A_FILE: usize = 20;

/// The effective objects that a file states, or the document at a line of it; else those
/// that it patches or feeds. `None` where the words name no file.
fn stated_in<'w>(
    common: &Common,
    session: &Session,
    world: &'w World,
    words: &[String],
) -> Result<Option<Vec<Vec<LocatedObject<'w>>>>, Failure> {
    let [word] = words else { return Ok(None) };
    let number = |text: &str| text.parse::<u32>().ok();
    // An editor adds a column.
    let (file, line) = match word.rsplitn(3, ':').collect::<Vec<_>>()[..] {
        [column, line, file] if number(column).is_some() && number(line).is_some() => (file, number(line)),
        [line, ..] if number(line).is_some() => (&word[..word.len() - line.len() - 1], number(line)),
        _ => (word.as_str(), None),
    };
    let of_root = session.root.join(file);
    let path = match (Path::new(file).is_file(), of_root.is_file()) {
        (true, _) => session.inside(Path::new(file))?,
        (false, true) => session.inside(&of_root)?,
        (false, false) if [".yaml", ".yml", ".json"].iter().any(|end| file.ends_with(end)) => {
            return Err(Failure::Usage(format!("{}: there is no such file", clean(file))));
        }
        (false, false) => return Ok(None),
    };
    let is_at = |location: &Location| {
        let ((from, _), (to, _)) = session.snapshot.positions(location);
        location.file.is_at(&path) && line.is_none_or(|line| from <= line && line <= to)
    };
    let mut all = forms_of(common, world, &|object| home(object).is_some_and(&is_at))?;
    if all.is_empty() {
        all = forms_of(common, world, &|object| object.files.iter().any(|(_, place)| is_at(place)))?;
    }
    if all.is_empty() {
        all = forms_of(common, world, &|object| data(object).any(|at| is_at(&at)))?;
    }
    if all.is_empty() {
        let orphan =
            world.orphans().find(|orphan| orphan.node.get_ref().location().is_some_and(|at| is_at(&at)));
        let why = match orphan {
            Some(orphan) => format!("no cluster applies {}, which stands there", orphan.id),
            None => "no object of a cluster is made of it".to_owned(),
        };
        return Err(Failure::Usage(clean(&format!("{word}: {why}")).into_owned()));
    }
    if all.len() > OF_A_FILE {
        let message = format!("{word} states {} objects; name the LINE of one", all.len());
        return Err(Failure::Usage(clean(&message).into_owned()));
    }
    Ok(Some(all))
}

/// Where the values of a ConfigMap or Secret stand: those of a generator in files of their own.
fn data(object: &Effective) -> impl Iterator<Item = Location> {
    let holds = object.id.is("", "ConfigMap") || object.id.is("", "Secret");
    let root = object.node.get_ref();
    let keys = ["data", "binaryData"].into_iter().filter(move |_| holds);
    let maps = keys.filter_map(move |key| root.get(key));
    maps.flat_map(|map| map.entries().collect::<Vec<_>>()).filter_map(|entry| entry.value.location())
}

/// Effective objects, each with the clusters that hold it in this form.
fn forms_of<'w>(
    common: &Common,
    world: &'w World,
    wanted: &dyn Fn(&Effective) -> bool,
) -> Result<Vec<Vec<LocatedObject<'w>>>, Failure> {
    let mut all: Vec<Vec<LocatedObject<'w>>> = Vec::new();
    for found in found_by(common, world, wanted)? {
        match all.iter_mut().find(|known| known.iter().all(|one| std::ptr::eq(one.object, found.object))) {
            Some(known) => known.push(found),
            None => all.push(vec![found]),
        }
    }
    Ok(all)
}

/// The Kustomizations among its makers.
fn appliers<'w>(found: &LocatedObject<'w>) -> impl Iterator<Item = &'w Applied> {
    let cluster = found.cluster;
    makers(found).filter_map(move |maker| cluster.applied.get(maker.kustomization()? as usize))
}

/// What made the object, what made that, and so on up to the entry point; nothing where
/// no cluster applies it.
fn makers(found: &LocatedObject<'_>) -> impl Iterator<Item = Maker> {
    let is_applied = found.cluster.name.is_some();
    found.cluster.makers(found.member).into_iter().filter(move |_| is_applied)
}

fn made_by(found: &LocatedObject<'_>, maker: Maker, snapshot: &Snapshot) -> serde_json::Value {
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
        visit(source.root().get_ref(), 0, &mut |node| {
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
        filled.then(|| source.root()).and_then(|root| root.get_ref().location())
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

/// What an object refers to in one cluster, which is named where there are several.
fn referring(found: &[LocatedObject<'_>], references: &str) -> String {
    let Some(first) = found.first() else { return String::new() };
    let cluster = match (&first.cluster.name, found.len()) {
        (Some(name), 2..) => format!(" in cluster {name}"),
        _ => String::new(),
    };
    format!("{}\n{references}", clean(&format!("{}{cluster}", first.object.id)))
}

fn text(found: &[LocatedObject<'_>], snapshot: &Snapshot, places: &Places<'_>) -> String {
    let mut out = String::new();
    let Some(first) = found.first() else { return out };
    let files = files(first.object, snapshot);
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
                (Some(_), path) => format!(" ({})", places.path(path)),
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
        let variable = places.variable(&location).filter(|_| role == FileRole::Substitution);
        let variable = variable.map_or_else(String::new, |variable| format!("  {variable}"));
        let _ = writeln!(out, "  {:<12} {}{variable}", role.name(), places.text(&location));
    }
    out
}
