//! `forebay gate open` and `forebay gate close`.

use super::common::Common;
use super::output;
use super::rewriting::{Flags, plan};
use super::session::{Session, cluster_filter};
use super::{Answer, Failure, Status};
use crate::config::Feature;
use crate::flux::cluster::{ApplyTarget, Cluster, Effective, World};
use crate::flux::gates::objects::{Gate, Gating, is_gate};
use crate::flux::gates::{Position, Request, format_time, state};
use crate::lint::suggest;
use crate::report;
use crate::rewrite::Wanted;
use crate::yaml::edit::{Content, Operation, pointer_of};
use crate::yaml::tape::TokenKind;
use crate::yaml::{Location, NodeRef, Source, pointer_join};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::fmt::Write as _;
use std::sync::Arc;

/// Flags of `gate open` and `gate close`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The Gate: [NAMESPACE/]NAME
    gate: String,
    #[command(flatten)]
    flags: Flags,
}

/// Run the command: write the annotation that asks for a position.
pub(crate) fn run(common: &Common, arguments: &Arguments, position: Position) -> Answer {
    let now = || Timestamp::from_second(Timestamp::now().as_second()).unwrap_or(Timestamp::UNIX_EPOCH);
    let at = common.at(&TimeZone::UTC)?.unwrap_or_else(now);
    let at = Timestamp::from_second(at.as_second()).unwrap_or(at);
    let session = Session::open(common, &[])?;
    let world = session.world();
    let chosen = chosen(common, arguments, &world)?;
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut said = String::new();
    for (object, clusters) in &chosen {
        let gating = Gating::read(std::iter::once((&object.id, object.node.get_ref())));
        let Some(gate) = gating.gates.first() else { continue };
        check_order(gate, position, at)?;
        refuse_shared(arguments, &world, object, clusters)?;
        let change = change(&session, object, position, at)?;
        say(&mut said, gate, &change, position, at);
        if !wanted.contains(&change) {
            wanted.push(change);
        }
    }
    let changes = plan(&session, &wanted)?;
    arguments.flags.mode.carry_out(common, &session, &changes)?;
    if !arguments.flags.mode.writes() {
        return Ok(arguments.flags.mode.status(&changes));
    }
    if changes.is_empty() {
        said.push_str("the manifest says so already; nothing was written\n");
    }
    if chosen.iter().flat_map(|(_, clusters)| clusters).any(|cluster| !has_gates(cluster)) {
        said.push_str("warning: no released Flux controller has gates (the gating RFC is a proposal)\n");
    }
    output::emit(common, &["text"], |_, out, _| out.write_all(said.as_bytes()))?;
    Ok(Status::Clean)
}

fn has_gates(cluster: &Cluster) -> bool {
    cluster.settings.feature(Feature::Gates).value == Some(true)
}

/// The Gate that is meant, in each of its forms, with the clusters that are meant.
type Chosen<'w> = Vec<(&'w Effective, Vec<&'w Cluster>)>;

fn chosen<'w>(common: &Common, arguments: &Arguments, world: &'w World) -> Result<Chosen<'w>, Failure> {
    let (namespace, name) = match arguments.gate.rsplit_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, &*arguments.gate),
    };
    let is_wanted = cluster_filter(common, world)?;
    let mut found: Chosen<'w> = Vec::new();
    for cluster in world.clusters.iter().filter(|cluster| is_wanted(cluster)) {
        for (member, object) in world.members(cluster) {
            let named = *object.id.name == *name
                && namespace.is_none_or(|namespace| object.id.namespace.as_deref() == Some(namespace));
            if !is_gate(&object.id) || member.target != ApplyTarget::Local || !named {
                continue;
            }
            match found.iter_mut().find(|(known, _)| std::ptr::eq(*known, object)) {
                Some((_, clusters)) => clusters.push(cluster),
                None => found.push((object, vec![cluster])),
            }
        }
    }
    let Some((first, _)) = found.first() else {
        let gates = world.objects.iter().filter(|object| is_gate(&object.id));
        let names: Vec<String> = gates
            .map(|object| match (&object.id.namespace, namespace) {
                (Some(namespace), Some(_)) => format!("{namespace}/{}", object.id.name),
                _ => object.id.name.to_string(),
            })
            .collect();
        let near = suggest(&arguments.gate, names.iter().map(String::as_str));
        let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
        return Err(Failure::Usage(format!("no Gate is called {}{hint}", report::clean(&arguments.gate))));
    };
    let list = |help: &str| {
        let mut text =
            format!("several Gates are called {}; nothing was written", report::clean(&arguments.gate));
        for (object, clusters) in &found {
            for cluster in clusters {
                let _ = write!(text, "\n  {}  {}", cluster.label(), report::clean(&object.id.to_string()));
            }
        }
        Failure::Usage(format!("{text}\nhelp: {help}"))
    };
    if found.iter().any(|(object, _)| object.id != first.id) {
        return Err(list("write NAMESPACE/NAME"));
    }
    let count: usize = found.iter().map(|(_, clusters)| clusters.len()).sum();
    if count > 1 && !arguments.flags.all_clusters {
        return Err(list("add --cluster NAME, or --all-clusters"));
    }
    Ok(found)
}

/// Refuses a time that the standing request makes pointless.
fn check_order(gate: &Gate, position: Position, at: Timestamp) -> Result<(), Failure> {
    let standing = gate.requests.iter().map(|(request, _)| request).max_by_key(|request| request.at);
    let Some(standing) = standing else { return Ok(()) };
    let tie = standing.at == at && standing.position != position;
    if standing.at > at || tie {
        let than = if tie { "is not later than" } else { "is older than" };
        return Err(Failure::Usage(format!(
            "{}: {} {than} the standing request to {} of {}; nothing was written\n\
             help: the newest request counts; give a later time with --at",
            report::clean(&gate.id.to_string()),
            format_time(at),
            standing.position.verb(),
            format_time(standing.at)
        )));
    }
    Ok(())
}

/// Where an object's own manifest stands.
fn home(object: &Effective) -> Option<&Location> {
    object.files.iter().find(|(role, _)| *role == "resource").map(|(_, location)| location)
}

/// Refuses a text that also feeds what was not asked for.
fn refuse_shared(
    arguments: &Arguments,
    world: &World,
    object: &Effective,
    chosen: &[&Cluster],
) -> Result<(), Failure> {
    let Some(home) = home(object).filter(|_| !arguments.flags.shared) else { return Ok(()) };
    let fed = world.objects.iter().filter(|other| {
        self::home(other).is_some_and(|other| other.path == home.path && other.start == home.start)
    });
    let mut others: Vec<String> = Vec::new();
    for other in fed {
        for (cluster, _) in &other.members {
            let cluster = &world.clusters[*cluster as usize];
            let asked = std::ptr::eq(other, object) || other.id == object.id && arguments.flags.all_clusters;
            if !(asked
                && (arguments.flags.all_clusters || chosen.iter().any(|known| std::ptr::eq(*known, cluster))))
            {
                others.push(format!("{} in {}", report::clean(&other.id.to_string()), cluster.label()));
            }
        }
    }
    others.sort();
    others.dedup();
    if others.is_empty() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{} comes from a shared text; nothing was written: {} also feeds {}\n\
         help: add --shared, or patch the annotation where this cluster includes it",
        report::clean(&object.id.to_string()),
        report::clean(&home.path),
        others.join(", ")
    )))
}

/// The change of the text that decides: the annotation where it is written,
/// else the Gate's own manifest.
fn change(
    session: &Session,
    object: &Effective,
    position: Position,
    at: Timestamp,
) -> Result<Wanted, Failure> {
    let key = position.annotation();
    let refuse = |why: &str| {
        Failure::Usage(format!("{}: {why}; nothing was written", report::clean(&object.id.to_string())))
    };
    let annotation = object.node.get_ref().at("/metadata/annotations").and_then(|map| map.get(key));
    let (source, pointer) = match annotation.map(NodeRef::location) {
        Some(Some(location)) => {
            let scalar = |kind: TokenKind| matches!(kind, TokenKind::Scalar(_));
            let (source, pointer) = token_at(session, &location, scalar)
                .ok_or_else(|| refuse("the annotation's own text was not found"))?;
            let root = NodeRef::Source(&source, 0);
            let own = pointer.ends_with(&pointer_join("/metadata/annotations", key));
            if !own || !root.str_at("/kind").is_none_or(|kind| kind == "Gate" || kind == "List") {
                let place =
                    format!("the annotation comes from {}, change it there", report::clean(&source.path));
                return Err(refuse(&place));
            }
            (source, pointer)
        }
        Some(None) => return Err(refuse("the annotation is in no file")),
        None => {
            let home = home(object).ok_or_else(|| refuse("its manifest is in no file"))?;
            let mapping = |kind: TokenKind| matches!(kind, TokenKind::Mapping);
            let (source, root) =
                token_at(session, home, mapping).ok_or_else(|| refuse("its manifest was not found"))?;
            (source, pointer_join(&format!("{root}/metadata/annotations"), key))
        }
    };
    Ok(Wanted {
        path: source.path.clone(),
        document: source.index,
        operation: Operation::Set { pointer, value: Content::str(format_time(at)), comment: None },
    })
}

/// The document and JSON Pointer of the first token of a kind at a location.
fn token_at(
    session: &Session,
    location: &Location,
    is_kind: impl Fn(TokenKind) -> bool,
) -> Option<(Arc<Source>, String)> {
    let file = session.snapshot.file(&location.path)?;
    session.snapshot.sources(file).iter().find_map(|source| {
        let tokens = &source.document().tokens;
        let token = tokens.iter().position(|token| token.start == location.start && is_kind(token.kind))?;
        let (_, pointer) = pointer_of(NodeRef::Source(source, u32::try_from(token).ok()?))?;
        Some((source.clone(), pointer))
    })
}

/// What was written, what follows from it, and how kubectl does the same.
fn say(out: &mut String, gate: &Gate, change: &Wanted, position: Position, at: Timestamp) {
    let id = &gate.id;
    let mut requests: Vec<Request> = gate.requests.iter().map(|(request, _)| *request).collect();
    requests.retain(|request| request.position != position);
    requests.push(Request { at, position });
    let then = state(gate.spec, &requests, at);
    let time = format_time(at);
    let _ = writeln!(
        out,
        "{}: {} requested at {time}  {}",
        report::clean(&id.to_string()),
        position.verb(),
        report::clean(&change.path)
    );
    let _ = writeln!(out, "  then: {}", then.message);
    let namespace = id.namespace.as_deref().map_or(String::new(), |namespace| format!(" -n {namespace}"));
    let _ = writeln!(
        out,
        "  as kubectl: kubectl{} annotate --overwrite gate/{} {}=\"{time}\"",
        report::clean(&namespace),
        report::clean(&id.name),
        position.annotation()
    );
}
