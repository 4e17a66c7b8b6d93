//! `forebay simulate hooks`.

use super::common::Common;
use super::output;
use super::respond::{self, Respond};
use super::selector::{Asked, ObjectSelector};
use super::session::Session;
use super::simulate_propagation::wanted;
use super::{Answer, Failure, Status};
use crate::config::{Feature, TargetConfig};
use crate::lint::engine::NotChecked;
use crate::model::cluster_api_kinds as kinds;
use crate::report;
use crate::simulate::behaviour::Product;
use crate::simulate::cluster_api::hooks::full_sequence::{Extensions, simulate};
use crate::simulate::cluster_api::hooks::input;
use crate::simulate::cluster_api::hooks::mutation::Responses;
use crate::simulate::cluster_api::hooks::selection::{Called, called};
use crate::simulate::cluster_api::hooks::simulate::{Event, RuntimeSdk, SimulationRequest, StepKind};
use crate::simulate::cluster_api::references::{TargetScope, scopes};
use crate::simulate::cluster_api::topology::Cluster;
use crate::world::versions::Settings;
use clap::ValueEnum;
use serde_json::json;
use std::path::PathBuf;

output::formats!(Text = "text": "for people", Json = "json": "for programs: stable, with a schema");

/// Flags of `simulate hooks`.
#[derive(clap::Args)]
#[command(after_help = output::help::<Format>(), arg = output::argument::<Format>())]
pub(crate) struct Arguments {
    #[command(flatten)]
    asked: Asked,
    /// What happens to it
    #[arg(long, value_name = "EVENT", required_unless_present = "input")]
    on: Option<On>,
    /// Version before the upgrade [default: spec.topology.version]
    #[arg(long, value_name = "VERSION")]
    from: Option<String>,
    /// Version after the upgrade [default, with --from: spec.topology.version]
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,
    /// What a hook answers: blocking, failure or unreachable; GeneratePatches=FILE and
    /// DiscoverVariables=FILE (the response as Cluster API's JSON); CanUpdateMachine and
    /// CanUpdateMachineSet=all, none or unreachable; UpdateMachine=done, inProgress or failure
    #[arg(long, value_name = "HOOK=ANSWER", value_delimiter = ',', value_parser = respond::parse)]
    respond: Vec<Respond>,
    /// An observed state in JSON, in the terms of cluster-api's own tests; `-`
    /// reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["objects", "object", "on", "from", "to", "respond"])]
    input: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum On {
    /// The Cluster is created
    Create,
    /// Its version changes
    Upgrade,
    /// It is deleted
    Delete,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    output::chosen::<Format>(common)?;
    let header = |world| report::json::header("simulate-hooks", None, world, &NotChecked::default());
    if let Some(file) = &arguments.input {
        let result = input::answer(&respond::read_json(common, file)?).map_err(Failure::Usage)?;
        let document = report::json::answer(header(None), json!({ "result": result }));
        output::emit(common, |_: Format, out, _| report::json::write(out, &document))?;
        return Ok(Status::Clean);
    }
    let session = Session::open(common, &[])?;
    let world = session.world();
    let selector = arguments.asked.selector(common)?;
    let (Some(selector), Some(on)) = (&selector, arguments.on) else {
        return Err(Failure::Usage("name a Cluster and an event, or an --input".to_owned()));
    };
    let scopes: Vec<TargetScope<'_>> =
        scopes(&world).into_iter().filter(|scope| wanted(common, scope)).collect();
    let (scope, cluster) = find(&scopes, selector)?;
    let name = scope.cluster.and_then(|cluster| cluster.name.as_deref());
    let target = session.config.target_of(name);
    let mut called = called(&target.extensions, &scope.objects, cluster.object.namespace());
    let notes = std::mem::take(&mut called.notes);
    let responses = respond::responses(common, &arguments.respond)?;
    respond::check(&responses, std::slice::from_ref(scope))?;
    let extensions = extensions(scope, &target, &mut called, &responses);
    let request = request(arguments, on, scope, &target, called);
    let mut simulation = simulate(&cluster, &scope.objects, &request, &extensions).map_err(Failure::Usage)?;
    if simulation.steps.iter().any(|step| matches!(step.kind, StepKind::Hook(_) | StepKind::Mutation(_))) {
        simulation.notes.extend(notes);
    }
    let id = cluster.object.id;
    output::warn_if_nothing_followed(&world);
    output::emit(common, |format, out, _| match format {
        Format::Json => {
            let body = report::hooks::json(name, id, &simulation);
            report::json::write(out, &report::json::answer(header(Some(&world)), body))
        }
        Format::Text => {
            let unstated = Settings::default();
            let settings = scope.cluster.map_or(&unstated, |cluster| &cluster.settings);
            let version = report::stated::version(&world.snapshot, Product::ClusterApi, settings);
            out.write_all(report::hooks::text(name, &version, id, &simulation).as_bytes())?;
            output::followed(out, &world)
        }
    })?;
    Ok(Status::Clean)
}

fn extensions<'r>(
    scope: &TargetScope<'_>,
    target: &TargetConfig,
    called: &mut Called,
    responses: &'r Responses,
) -> Extensions<'r> {
    let settings = scope.cluster.map(|cluster| &cluster.settings);
    let stated =
        settings.map(|s| s.feature(Feature::InPlaceUpdates)).filter(|setting| setting.from.is_some());
    let configured = target.feature(Feature::InPlaceUpdates).map(|enabled| enabled.value);
    let version = settings.and_then(|s| s.cluster_api.value);
    Extensions {
        responses,
        handlers: called.mutation.take(),
        out: std::mem::take(&mut called.out),
        in_place: stated.and_then(|setting| setting.value).or(configured),
        template_metadata: version.is_none_or(|version| version.at_least(1, 14)),
    }
}

fn request(
    arguments: &Arguments,
    on: On,
    scope: &TargetScope<'_>,
    target: &TargetConfig,
    called: Called,
) -> SimulationRequest {
    let settings = scope.cluster.map(|cluster| &cluster.settings);
    let version = settings.and_then(|s| s.cluster_api.value).or(target.cluster_api.as_ref().map(|v| v.value));
    let gate = settings.and_then(|s| s.feature(Feature::RuntimeSdk).value);
    let is_stated = settings.is_some_and(|s| s.feature(Feature::RuntimeSdk).from.is_some())
        || target.feature(Feature::RuntimeSdk).is_some();
    let lifecycle = || {
        arguments.respond.iter().filter_map(|respond| match respond {
            Respond::Lifecycle(hook, answer) => Some((hook, answer)),
            Respond::Mutation(..) => None,
        })
    };
    let gate = gate.or(target.feature(Feature::RuntimeSdk).map(|enabled| enabled.value));
    SimulationRequest {
        event: match on {
            On::Create => Event::Create,
            On::Upgrade => Event::Upgrade,
            On::Delete => Event::Delete,
        },
        from: arguments.from.clone(),
        to: arguments.to.clone(),
        respond: lifecycle().filter_map(|(hook, answer)| Some((*hook, (*answer)?))).collect(),
        unreachable: lifecycle().filter(|(_, answer)| answer.is_none()).map(|(hook, _)| *hook).collect(),
        ignoring: called.ignoring,
        handlers: called.handlers,
        minor: version.map(|version| u64::from(version.minor_in(1))),
        runtime_sdk: match gate {
            Some(true) => RuntimeSdk::On,
            // What follows from a version is no statement.
            Some(false) if is_stated => RuntimeSdk::Off,
            _ => RuntimeSdk::Unstated,
        },
    }
}

/// The one Cluster of Cluster API that is meant, and the scope that holds it.
fn find<'s, 'w>(
    scopes: &'s [TargetScope<'w>],
    selector: &ObjectSelector,
) -> Result<(&'s TargetScope<'w>, Cluster<'w>), Failure> {
    let clusters: Vec<(&TargetScope<'w>, Cluster<'w>)> =
        scopes.iter().flat_map(|scope| Cluster::all(&scope.objects).map(move |c| (scope, c))).collect();
    let mut found: Vec<_> = clusters.iter().filter(|(_, c)| selector.matches(c.object.id)).collect();
    let Some(last) = found.pop() else {
        let mut objects = scopes.iter().flat_map(|scope| scope.objects.iter());
        if let Some(other) = objects.find(|o| selector.matches(o.id) && o.id.group() != kinds::CORE) {
            return Err(Failure::Usage(format!("{} is no Cluster of {}", other.id, kinds::CORE)));
        }
        return Err(selector.not_found(clusters.iter().map(|(_, c)| c.object.id)));
    };
    if found.is_empty() {
        return Ok(*last);
    }
    let mut message =
        format!("{} objects are called {}; name one, or a --cluster", found.len() + 1, selector.text());
    for (scope, cluster) in found.into_iter().chain([last]) {
        let path = cluster.object.node.location().map_or_else(String::new, |at| at.file.to_string());
        let name = scope.cluster.and_then(|cluster| cluster.name.as_deref());
        let name = name.map_or_else(String::new, |name| format!("cluster {name}  "));
        message.push_str(&format!("\n  {}  {name}{path}", cluster.object.id));
    }
    Err(Failure::Usage(message))
}
