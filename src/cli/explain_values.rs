//! `forebay explain-values`.

use super::common::Common;
use super::output;
use super::places::Places;
use super::releases::{OfCluster, releases_called, several};
use super::session::Session;
use super::{Answer, Failure, Status};
use crate::build::helm::RenderError;
use crate::lang::text::clean;
use crate::lint::engine::NotChecked;
use crate::model::{Name, Unchecked};
use crate::report::json;
use crate::report::values::Explained;
use crate::sources::render::ValueUse;
use crate::sources::values::{NoValues, Values, of_release};
use crate::world::releases::Release;
use crate::world::{ApplyTarget, Cluster, World};
use std::io::{self, Write};
use std::sync::Arc;

output::formats!(
    Text = "text": "for people: a line for each value",
    Yaml = "yaml": "the values, who set each as a comment",
    Json = "json": "for programs: stable, with a schema",
);

/// Flags of `explain-values`.
#[derive(clap::Args)]
#[command(after_help = output::help::<Format>(), arg = output::argument::<Format>())]
pub(crate) struct Arguments {
    /// The HelmRelease: [NAMESPACE/]NAME
    #[arg(value_name = "[NAMESPACE/]NAME")]
    release: String,
}

/// The values of a release as far as they are known here.
struct Answered {
    explained: Explained,
    /// What is missing of them, in words.
    partial: Vec<(Unchecked, String)>,
}

/// Why there are none.
enum Ending {
    Failed(Failure),
    /// Helm, or helm-controller, refuses.
    Refused(String),
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    output::chosen::<Format>(common)?;
    let session = Session::open(common, &[])?;
    let world = session.world();
    let name = &*arguments.release;
    let name = ["hr/", "helmrelease/", "HelmRelease/"].iter().find_map(|kind| name.strip_prefix(kind));
    let name = name.unwrap_or(&arguments.release);
    let found = releases_called(common, &world, name)?;
    let answered = match one(&session, &world, name, &found) {
        Ok(answered) => answered,
        Err(Ending::Failed(failure)) => return Err(failure),
        Err(Ending::Refused(message)) => {
            let mut complaints = output::stderr(common);
            for (index, line) in message.trim_end().lines().enumerate() {
                let lead = if index == 0 { "Error: " } else { "" };
                let _ = writeln!(complaints, "{lead}{}", clean(line));
            }
            return Ok(Status::Findings);
        }
    };
    let mut not_checked = NotChecked::default();
    for (what, told) in &answered.partial {
        not_checked.add(*what, told.clone());
    }
    let places = Places::of(common, &session);
    let place = |location: &_| places.text(location);
    let unable = |error: &dyn std::fmt::Display| io::Error::other(error.to_string());
    output::emit(common, |format, out, terminal| match format {
        Format::Text => out.write_all(answered.explained.text(&place, terminal.color).as_bytes()),
        Format::Yaml => {
            let text = answered.explained.yaml(&place).map_err(|error| unable(&error))?;
            out.write_all(text.as_bytes())
        }
        Format::Json => {
            let header = json::header("explain-values", None, Some(&world), &not_checked);
            let body = answered.explained.json(&session.snapshot).map_err(|error| unable(&error))?;
            json::write(out, &json::answer(header, body))
        }
    })?;
    for (_, told) in &answered.partial {
        let _ = writeln!(output::stderr(common), "partial: {}", clean(told));
    }
    Ok(if answered.partial.is_empty() { Status::Clean } else { Status::Findings })
}

/// What is told of the releases of a name, where that is one and the same.
fn one(session: &Session, world: &World, name: &str, found: &[OfCluster<'_>]) -> Result<Answered, Ending> {
    let mut first: Option<(Answered, String)> = None;
    for (cluster, (_, release)) in found {
        let answered = answer(session, world, cluster, release)?;
        let body = answered.explained.json(&session.snapshot);
        let body = body.map_err(|error| Ending::Failed(Failure::Work(error.to_string())))?.to_string();
        match &first {
            None => first = Some((answered, body)),
            Some((_, known)) if *known == body && release.id == found[0].1.1.id => {}
            Some(_) => return Err(Ending::Failed(several(name, found))),
        }
    }
    let none = || Ending::Failed(Failure::Usage(format!("no HelmRelease is called {name}")));
    first.map(|(answered, _)| answered).ok_or_else(none)
}

fn answer(
    session: &Session,
    world: &World,
    cluster: &Cluster,
    release: &Release,
) -> Result<Answered, Ending> {
    let mut partial = Vec::new();
    let id = clean(&release.id.to_string()).into_owned();
    let values = values(world, cluster, release, &id)?;
    let unknown = values.unknown.iter().map(|what| format!("{id}: {what}, is not known here"));
    partial.extend(unknown.map(|told| (Unchecked::ReferenceToConfig, told)));
    let reading = reading(release, &id, &mut partial)?;
    let chart = release
        .chart_named()
        .map_or_else(String::new, |(name, version)| format!(": chart {}", [name, version].join(" ").trim()));
    let title = format!("{id}{chart}");
    let explained = Explained::of(release, title, &values, reading.as_ref(), &session.snapshot);
    Ok(Answered { explained, partial })
}

/// What the release gives its chart. Where the chart is not here, nothing asked for them.
fn values(world: &World, cluster: &Cluster, release: &Release, id: &str) -> Result<Arc<Values>, Ending> {
    if let Ok(values) = &release.values {
        return Ok(values.clone());
    }
    let lookup = |kind: &str, namespace: Option<&str>, name: &str| {
        let member = cluster.find(&ApplyTarget::Local, Name::new("", kind, namespace, name))?;
        Some(world.object(member.object).node.clone())
    };
    match of_release(&release.id, release.node.get_ref(), &lookup, &|file| world.snapshot.written(file)) {
        Ok(values) => Ok(Arc::new(values)),
        Err(NoValues::Fails(message, _)) => Err(Ending::Refused(format!("{id}: {message}"))),
        Err(NoValues::Unknown(what)) => {
            Err(Ending::Failed(Failure::Work(format!("{id}: {what}: known in the cluster only"))))
        }
    }
}

/// What the chart makes of them, with what is left out where there is none.
fn reading(
    release: &Release,
    id: &str,
    partial: &mut Vec<(Unchecked, String)>,
) -> Result<Option<ValueUse>, Ending> {
    if let Err(missing) = &release.chart {
        partial.push((Unchecked::Chart, format!("{id}: the defaults of its chart: {missing}")));
        return Ok(None);
    }
    let without = |why: &str| format!("{id}: the defaults of its chart: {why}");
    match release.rendering.as_ref().and_then(|rendering| rendering.reading()) {
        Some(Ok(reading)) => Ok(Some(reading)),
        Some(Err(RenderError::Refused(refusal))) => {
            Err(Ending::Refused(format!("{id}: {}", refusal.message)))
        }
        Some(Err(RenderError::Unable(why))) => {
            partial.push((Unchecked::Chart, without(&why)));
            Ok(None)
        }
        None => {
            let refused = release.refusal().map(|refusal| refusal.message.clone());
            if let Some(message) = refused {
                return Err(Ending::Refused(format!("{id}: {message}")));
            }
            partial.push((Unchecked::Chart, without(release.unable().unwrap_or("they are not known"))));
            Ok(None)
        }
    }
}
