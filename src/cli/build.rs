//! `forebay build`.

use super::common::Common;
use super::output;
use super::releases::{OfCluster, releases_called, several};
use super::session::{Session, cluster_filter};
use super::{Answer, Failure, Status};
use crate::build::kustomize::{self, BaseMemo, BuildError, BuildOptions, LoadRestriction};
use crate::build::substitute::{ProblemKind, SubstitutionProblem};
use crate::files::{FileTree, Snapshot};
use crate::lang::text::clean;
use crate::lang::text::suggest;
use crate::lang::yaml::emit::EmitError;
use crate::lang::yaml::{Location, Node, NodeRef};
use crate::lint::engine::NotChecked;
use crate::model::{Maker, ObjectId, Unchecked, kinds};
use crate::report::{self, objects};
use crate::rewrite::write;
use crate::world::{Applied, Cluster, Outcome, World};
use rustc_hash::FxHashSet;
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

output::formats!(Yaml = "yaml": "as kubectl takes it", Json = "json": "for programs: stable, with a schema");

/// Flags of `build`.
#[derive(clap::Args)]
#[command(
    after_help = format!("{}\n\nExit codes: 0 built, 1 something had to be left out, 2 usage, 3 can't be built.", output::help::<Format>()),
    arg = output::argument::<Format>()
)]
pub(crate) struct Arguments {
    /// Directory to build as kustomize does; files anywhere inside the root may be
    /// read, as with --load-restrictor none
    #[arg(value_name = "DIR", required_unless_present_any = ["kustomization", "helm_release", "all"])]
    directory: Option<PathBuf>,
    /// Build what this Flux Kustomization applies: [NAMESPACE/]NAME
    #[arg(long, value_name = "NAME", conflicts_with_all = ["directory", "all"])]
    kustomization: Option<String>,
    /// Render the chart of this HelmRelease: [NAMESPACE/]NAME
    #[arg(long, value_name = "NAME", conflicts_with_all = ["directory", "kustomization", "all"])]
    helm_release: Option<String>,
    /// Build what all Flux Kustomizations apply, and render their HelmReleases
    #[arg(long, conflicts_with = "directory")]
    all: bool,
    /// Which files a directory's build may read: any inside the root, or, as kustomize
    /// by default, only those in or below the directory of the kustomization
    #[arg(long, value_name = "WHICH", value_parser = ["none", "root-only"], default_value = "none",
          requires = "directory")]
    load_restrictor: String,
    /// Say where each object, and each value from another file, comes from
    #[arg(long)]
    origin: bool,
    /// Write one file per object into this directory instead of standard output
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Print the values of Secrets
    #[arg(long)]
    show_secrets: bool,
}

/// What is to be printed, and what is missing from it.
#[derive(Default)]
struct BuildOutput {
    objects: Vec<BuiltObject>,
    /// Lines about what was left out.
    partial: Vec<String>,
    /// The clusters, where all of them were built.
    world: Option<World>,
}

struct BuiltObject {
    id: ObjectId,
    node: Node,
    /// The directory for `--output-dir`: the cluster and the Kustomization.
    place: String,
    /// What fails its build since variables are replaced.
    broken: Vec<SubstitutionProblem>,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    output::chosen::<Format>(common)?;
    let paths: Vec<PathBuf> = arguments.directory.iter().cloned().collect();
    let session = Session::open(common, &paths)?;
    let mut built = match (&arguments.directory, &arguments.kustomization) {
        _ if arguments.helm_release.is_some() => {
            release(common, &session, arguments.helm_release.as_deref().unwrap_or_default())?
        }
        (Some(_), _) => directory(&session, arguments.load_restrictor == "root-only")?,
        (None, Some(name)) => {
            let world = session.world();
            let (cluster, index) = find(common, &world, name)?;
            if let Some(why) = failure(&session, &cluster.applied[index]) {
                return Err(Failure::Work(format!("{}: {why}", cluster.applied[index].id)));
            }
            let mut built = BuildOutput::default();
            built.add(&session, &world, cluster, index);
            built
        }
        (None, None) => everything(common, &session)?,
    };
    if arguments.show_secrets {
        common.show_secrets();
    } else {
        let mut masks = objects::Masks::default();
        for object in &mut built.objects {
            object.node = objects::masked(object.node.get_ref(), &session.snapshot, &mut masks);
        }
    }
    built.unresolved(&session);
    match &arguments.output_dir {
        Some(directory) => write_files(common, &session, arguments, &built, directory)?,
        None => print(common, &session, arguments, &built)?,
    }
    let mut complaints = output::stderr(common);
    for line in &built.partial {
        let _ = writeln!(complaints, "partial: {line}");
    }
    if let Some(world) = built.world.as_ref().filter(|_| !common.quiet) {
        let _ = output::followed(&mut complaints, world);
    }
    Ok(if built.partial.is_empty() { Status::Clean } else { Status::Findings })
}

/// Everything that the clusters apply.
fn everything(common: &Common, session: &Session) -> Result<BuildOutput, Failure> {
    let world = session.world();
    let wanted = cluster_filter(common, &world)?;
    let mut built = BuildOutput::default();
    for cluster in world.applied_clusters().filter(|cluster| wanted(cluster)) {
        for (index, applied) in cluster.applied.iter().enumerate() {
            if let Some(why) = failure(session, applied) {
                built.partial.push(format!("{}: {why}", clean(&applied.id.to_string())));
            }
            built.add(session, &world, cluster, index);
        }
        for (at, release) in cluster.releases.iter().enumerate() {
            if let Some(why) = release.not_rendered().filter(|_| release.chart.is_ok()) {
                built.partial.push(format!("{}: {}", clean(&release.id.to_string()), clean(&why)));
            }
            built.add_rendered(&world, cluster, at);
        }
    }
    output::warn_if_nothing_followed(&world);
    drop(wanted);
    built.world = Some(world);
    Ok(built)
}

impl BuildOutput {
    /// What one Kustomization of a cluster applies.
    fn add(&mut self, session: &Session, world: &World, cluster: &Cluster, index: usize) {
        let applied = &cluster.applied[index];
        let place = match &cluster.name {
            Some(name) => {
                let namespace = applied.id.namespace.as_deref().unwrap_or("default");
                format!("{}/{}", file_name(name), file_name(&format!("{namespace}_{}", applied.id.name)))
            }
            None => file_name(&cluster.root),
        };
        // Of a build that fails nothing is applied, whatever could be made of the rest.
        let is_applied = applied.outcome.failures().is_empty();
        for (member, object) in world.written(cluster).filter(|_| is_applied) {
            if member.maker.kustomization() == Some(index as u32) {
                let (id, node) = (object.id.clone(), object.node.clone());
                let broken =
                    object.problems.iter().filter(|problem| broken_by(problem).is_some()).cloned().collect();
                self.objects.push(BuiltObject { id, node, place: place.clone(), broken });
            }
        }
        if let Outcome::Built { partial, .. } = &applied.outcome {
            for (what, name, location) in partial {
                self.omit(session, *what, name, location.as_ref());
            }
        }
    }

    /// What the chart of one HelmRelease of a cluster makes.
    fn add_rendered(&mut self, world: &World, cluster: &Cluster, at: usize) {
        let release = &cluster.releases[at].id;
        let namespace = release.namespace.as_deref().unwrap_or("default");
        let own = file_name(&format!("{namespace}_{}", release.name));
        let place = match &cluster.name {
            Some(name) => format!("{}/{own}", file_name(name)),
            None => own,
        };
        for (member, object) in world.rendered(cluster) {
            if member.maker == Maker::HelmRelease(at as u32) {
                let (id, node) = (object.id.clone(), object.node.clone());
                self.objects.push(BuiltObject { id, node, place: place.clone(), broken: Vec::new() });
            }
        }
    }

    /// Counts the values that are not known, or only in parts: they are printed as
    /// the files have them.
    fn unresolved(&mut self, session: &Session) {
        let mut lines = Vec::new();
        for object in &self.objects {
            let id = object.id.to_string();
            let mut line = |pointer: &str, why: &str, location: Option<Location>| {
                let place = location.map_or_else(String::new, |location| {
                    format!(" ({})", objects::place(&session.snapshot, &location))
                });
                let what = if pointer.is_empty() { String::new() } else { format!(" {}", clean(pointer)) };
                lines.push(format!("{}{what}: {}{place}", clean(&id), clean(why)));
            };
            for problem in &object.broken {
                line(&problem.pointer, &broken_by(problem).unwrap_or_default(), problem.location.clone());
            }
            for (pointer, why) in objects::unresolved(object.node.get_ref()) {
                if object.broken.iter().all(|problem| problem.pointer != pointer) {
                    let place = object.node.get_ref().at(&pointer).and_then(NodeRef::location);
                    line(&pointer, &why, place);
                }
            }
        }
        self.partial.extend(lines);
    }

    fn omit(&mut self, session: &Session, what: Unchecked, name: &str, location: Option<&Location>) {
        let place = location.map_or_else(String::new, |location| {
            format!(" ({})", objects::place(&session.snapshot, location))
        });
        let line = format!("{what} {}{place}", clean(name));
        if !self.partial.contains(&line) {
            self.partial.push(line);
        }
    }
}

/// What the chart of a HelmRelease makes.
fn release(common: &Common, session: &Session, name: &str) -> Result<BuildOutput, Failure> {
    let world = session.world();
    let found = releases_called(common, &world, name)?;
    let same = |(_, (_, one)): &OfCluster<'_>, (_, (_, other)): &OfCluster<'_>| {
        one.id == other.id
            && one.objects.len() == other.objects.len()
            && one.objects.iter().zip(&other.objects).all(|(one, other)| one.node.is(&other.node))
    };
    if !found.iter().all(|other| same(&found[0], other)) {
        return Err(several(name, &found));
    }
    let (cluster, (at, release)) = found[0];
    if let Some(why) = release.not_rendered() {
        return Err(Failure::Work(format!("{}: {}", clean(&release.id.to_string()), clean(&why))));
    }
    let mut built = BuildOutput::default();
    built.add_rendered(&world, cluster, at);
    for assumed in told_once(&release.assumed) {
        let _ = writeln!(output::stderr(common), "assumed: {}", clean(&assumed));
    }
    Ok(built)
}

/// What is assumed, each once; schemas of other hosts are one line.
fn told_once(assumed: &[String]) -> Vec<String> {
    let mut seen = FxHashSet::default();
    let once = assumed.iter().filter(|one| seen.insert(one.as_str()));
    let (schemas, mut told): (Vec<&String>, Vec<&String>) =
        once.partition(|one| one.starts_with("the schema ") && one.ends_with(" is not followed"));
    told.extend(schemas.first());
    let mut told: Vec<String> = told.into_iter().cloned().collect();
    if let (Some(last), 2..) = (told.last_mut(), schemas.len()) {
        last.push_str(&format!(", as {} more are not", schemas.len() - 1));
    }
    told
}

/// Why nothing of a Kustomization is there, if so.
fn failure(session: &Session, applied: &Applied) -> Option<String> {
    match &applied.outcome {
        Outcome::Built { unusable, .. } => {
            let first = unusable.first()?;
            let place = first.location.as_ref().map_or_else(String::new, |location| {
                format!(" ({})", objects::place(&session.snapshot, location))
            });
            Some(format!("{}{place}", told(session, &first.message, first.location.as_ref())))
        }
        Outcome::Failed(failure) => {
            let place = failure.location.as_ref().map_or_else(String::new, |location| {
                format!(" ({})", objects::place(&session.snapshot, location))
            });
            Some(format!("{}{place}", told(session, &failure.message, failure.location.as_ref())))
        }
        Outcome::External(why) => Some(format!("its files are not here: {}", clean(why))),
        Outcome::Unknown(why) => Some(why.clone()),
        Outcome::MissingPath => {
            let node = applied.node.get_ref();
            let written = node.str_at("/spec/path").unwrap_or_default();
            let place = node.location_at("/spec/path").map_or_else(String::new, |location| {
                format!(" ({})", objects::place(&session.snapshot, &location))
            });
            Some(format!("path {} does not exist{place}", clean(&written)))
        }
    }
}

/// Why a problem of substitution fails the build.
fn broken_by(problem: &SubstitutionProblem) -> Option<String> {
    match &problem.kind {
        ProblemKind::Malformed { message, .. } => Some(format!("its build fails: {message}")),
        ProblemKind::BrokenYaml { message } => {
            Some(format!("its build fails: no YAML once variables are replaced: {message}"))
        }
        _ => None,
    }
}

/// A message about a place, without what the Secret there holds.
fn told(session: &Session, message: &str, location: Option<&Location>) -> String {
    let message = location.map_or(Cow::Borrowed(message), |at| session.snapshot.conceal(message, at));
    clean(&message).into_owned()
}

/// The Flux Kustomization of a name.
fn find<'w>(common: &Common, world: &'w World, name: &str) -> Result<(&'w Cluster, usize), Failure> {
    let wanted = cluster_filter(common, world)?;
    let (namespace, short) = match name.split_once('/') {
        Some((namespace, short)) => (Some(namespace), short),
        None => (None, name),
    };
    let all = || {
        world
            .clusters
            .iter()
            .filter(|cluster| cluster.name.is_some() && wanted(cluster))
            .flat_map(|cluster| cluster.applied.iter().enumerate().map(move |applied| (cluster, applied)))
    };
    let is_it = |id: &ObjectId| {
        *id.name == *short && namespace.is_none_or(|namespace| id.namespace.as_deref() == Some(namespace))
    };
    let found: Vec<_> = all().filter(|(_, (_, applied))| is_it(&applied.id)).collect();
    match found.as_slice() {
        [(cluster, (index, _))] => Ok((cluster, *index)),
        [] => {
            let names: BTreeSet<String> = all()
                .map(|(_, (_, applied))| match (&applied.id.namespace, namespace) {
                    (Some(namespace), Some(_)) => format!("{namespace}/{}", applied.id.name),
                    _ => applied.id.name.to_string(),
                })
                .collect();
            if let Some(location) = unapplied(world, &is_it) {
                let place = objects::place(&world.snapshot, &location);
                return Err(Failure::Usage(format!(
                    "no cluster applies Kustomization {name}, which stands at {place}; `forebay build DIR` builds its path"
                )));
            }
            let help = match suggest(name, names.iter().map(String::as_str)) {
                Some(near) => format!("; did you mean {near}?"),
                None => "; `forebay graph` shows all".to_owned(),
            };
            Err(Failure::Usage(format!("no Flux Kustomization is called {name}{help}")))
        }
        several => {
            let places: Vec<String> = several
                .iter()
                .map(|(cluster, (_, applied))| format!("\n  {} in {}", applied.id, cluster.label()))
                .collect();
            Err(Failure::Usage(format!(
                "several Flux Kustomizations are called {name}; choose one with --cluster or its namespace:{}",
                places.concat()
            )))
        }
    }
}

/// Where a Flux Kustomization stands that no cluster applies.
fn unapplied(world: &World, is_it: &dyn Fn(&ObjectId) -> bool) -> Option<Location> {
    // Where nothing says what Flux applies first, the overlays hold what nobody applies.
    let of_overlays = world.applied_clusters().filter(|cluster| cluster.name.is_none());
    let in_overlays = of_overlays.flat_map(|cluster| world.written(cluster));
    let mut all = world
        .orphans()
        .map(|object| (&object.id, &object.node))
        .chain(in_overlays.map(|(_, object)| (&object.id, &object.node)));
    let found = all.find(|(id, _)| kinds::is_kustomization(id) && is_it(id));
    found.and_then(|(_, node)| node.get_ref().location())
}

/// What kustomize builds of the directory that was given.
fn directory(session: &Session, root_only: bool) -> Result<BuildOutput, Failure> {
    let directory = session.focus.first().cloned().unwrap_or_default();
    let tree = FileTree::root(session.snapshot.clone());
    let mut options = BuildOptions::command_line();
    if root_only {
        options.load_restriction = LoadRestriction::RootOnly;
    }
    let build = kustomize::build(&tree, &directory, &options, &BaseMemo::default())
        .map_err(|error| Failure::Work(refusal(&error, &session.snapshot)))?;
    let mut built = BuildOutput::default();
    for resource in build.resources {
        let node = resource.node.get_ref();
        // kustomize lets an object pass without apiVersion.
        let id = ObjectId::of(node).unwrap_or_else(|| ObjectId {
            api_version: "".into(),
            kind: node.str_at("/kind").unwrap_or_default().as_ref().into(),
            namespace: None,
            name: node.str_at("/metadata/name").unwrap_or_default().as_ref().into(),
        });
        built.objects.push(BuiltObject { id, node: resource.node, place: String::new(), broken: Vec::new() });
    }
    for partial in &build.partial {
        built.omit(session, partial.what.unchecked(), &partial.name, partial.location.as_ref());
    }
    Ok(built)
}

/// Why a directory can't be built, with its places.
fn refusal(error: &BuildError, snapshot: &Snapshot) -> String {
    let place = |location| objects::place(snapshot, location);
    let message = |text: &str| {
        let places = error.location.iter().chain(error.related.iter().map(|(_, location)| location));
        let hide = |text: String, place| snapshot.conceal(&text, place).into_owned();
        clean(&places.fold(text.to_owned(), hide)).into_owned()
    };
    let mut text = match &error.location {
        Some(location) => format!("{}: {}", place(location), message(&error.message)),
        None => message(&error.message),
    };
    for (what, location) in &error.related {
        text.push_str(&format!("\n  {}: {}", place(location), message(what)));
    }
    text
}

fn nodes(built: &BuildOutput) -> Vec<NodeRef<'_>> {
    built.objects.iter().map(|object| object.node.get_ref()).collect()
}

fn print(
    common: &Common,
    session: &Session,
    arguments: &Arguments,
    built: &BuildOutput,
) -> Result<(), Failure> {
    let broken = |error: EmitError| Failure::Work(error.to_string());
    let nodes = nodes(built);
    let yaml = objects::yaml(&nodes, &session.snapshot, arguments.origin).map_err(broken)?;
    output::emit(common, |format, out, _| match format {
        Format::Json => {
            let mut not_checked = NotChecked::default();
            for line in &built.partial {
                not_checked.add(Unchecked::PartialBuild, line.clone());
            }
            let header = report::json::header("build", None, built.world.as_ref(), &not_checked);
            let listed: Vec<_> =
                nodes.iter().map(|node| objects::json(*node).unwrap_or(serde_json::Value::Null)).collect();
            let mut body = json!({"objects": listed});
            if arguments.origin {
                let origins = nodes.iter().map(|node| objects::origins(*node, &session.snapshot));
                body["origins"] = origins.collect();
            }
            report::json::write(out, &report::json::answer(header, body))
        }
        Format::Yaml => out.write_all(yaml.as_bytes()),
    })
}

/// One file per object, named as kustomize does.
fn write_files(
    common: &Common,
    session: &Session,
    arguments: &Arguments,
    built: &BuildOutput,
    directory: &Path,
) -> Result<(), Failure> {
    let failed = |path: &Path, error: std::io::Error| Failure::Work(format!("{}: {error}", path.display()));
    let (root, inner) = common.output_directory(directory)?;
    let mut written: BTreeSet<String> = BTreeSet::new();
    for object in &built.objects {
        let id = &object.id;
        let version = id.api_version.replace('/', "_");
        let version = if version.is_empty() { version } else { format!("{version}_") };
        let namespace = id.namespace.as_deref().map_or_else(String::new, |name| format!("{name}_"));
        let stem = file_name(&format!("{version}{}_{namespace}{}", id.kind.to_lowercase(), id.name));
        let shown = directory.join(&object.place);
        let inner = inner.join(&object.place);
        let real = write::directories(&root, &inner).map_err(|error| failed(&shown, error))?;
        let mut path = shown.join(format!("{stem}.yaml"));
        let mut count = 1;
        // On some file systems `A.yaml` is `a.yaml`.
        while !written.insert(path.to_string_lossy().to_lowercase()) {
            count += 1;
            path = shown.join(format!("{stem}_{count}.yaml"));
        }
        let text = objects::yaml(&[object.node.get_ref()], &session.snapshot, arguments.origin)
            .map_err(|error| Failure::Work(error.to_string()))?;
        let real = real.join(path.file_name().unwrap_or_default());
        write::file(&root, &real, text.as_bytes()).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

/// A text as one component of a path.
fn file_name(text: &str) -> String {
    let name: String = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '-' })
        .collect();
    let name = name.trim_start_matches(['.', '-']);
    let name: String = name.chars().take(200).collect();
    if name.is_empty() { "root".to_owned() } else { name }
}
