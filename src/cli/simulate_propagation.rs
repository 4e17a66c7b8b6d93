//! `forebay simulate propagation`.

use super::common::Common;
use super::output;
use super::selector::Asked;
use super::session::Session;
use super::{Answer, Failure, Status};
use crate::config::{Config, Feature};
use crate::files::Snapshot;
use crate::lang::go::regexp::GoRegexp;
use crate::lang::yaml::Known;
use crate::lint::engine::NotChecked;
use crate::model::{ObjectId, Unchecked};
use crate::report;
use crate::report::parts::width;
use crate::report::propagation::{ClusterMetadata, json, text};
use crate::report::stated;
use crate::simulate::behaviour::{self, Product};
use crate::simulate::cluster_api::propagation::simulate::{Missing, PropagationSettings, simulate};
use crate::simulate::cluster_api::references::{TargetScope, scopes};

output::formats!(Text = "text": "for people", Json = "json": "for programs: stable, with a schema");

/// Flags of `simulate propagation`.
#[derive(clap::Args)]
#[command(after_help = output::help::<Format>(), arg = output::argument::<Format>())]
pub(crate) struct Arguments {
    #[command(flatten)]
    asked: Asked,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    output::chosen::<Format>(common)?;
    let selector = arguments.asked.selector(common)?;
    let session = Session::open(common, &[])?;
    let world = session.world();
    let mut not_checked = NotChecked::default();
    let mut clusters: Vec<ClusterMetadata> = Vec::new();
    let scopes = scopes(&world);
    for scope in scopes.iter().filter(|scope| wanted(common, scope)) {
        let settings = settings(scope, &session.config)?;
        let (mut derived, unknown) = simulate(&scope.objects, &settings);
        let asked = |id: &ObjectId| selector.as_ref().is_none_or(|selector| selector.matches(id));
        for missing in unknown.into_iter().filter(|missing| asked(missing.from())) {
            match missing {
                Missing::Class(id) => not_checked.add(Unchecked::ClassNotHere, id.to_string()),
                Missing::Template(_, what) => not_checked.add(Unchecked::TemplateNotHere, what),
            }
        }
        if let Some(selector) = &selector {
            derived.retain(|one| selector.matches(&one.from));
        }
        let name = scope.cluster.and_then(|cluster| cluster.name.as_deref()).map(str::to_owned);
        let unstated = crate::world::versions::Settings::default();
        let settings = scope.cluster.map_or(&unstated, |cluster| &cluster.settings);
        let version = stated::version(&world.snapshot, Product::ClusterApi, settings);
        clusters.push(ClusterMetadata { name, version, derived });
    }
    if let Some(selector) = &selector
        && clusters.iter().all(|cluster| cluster.derived.is_empty())
    {
        let ids: Vec<_> = scopes.iter().flat_map(|scope| scope.objects.iter()).map(|o| o.id).collect();
        if !ids.iter().any(|id| selector.matches(id)) {
            return Err(selector.not_found(ids));
        }
    }
    let snapshot = &world.snapshot;
    output::warn_if_nothing_followed(&world);
    output::emit(common, |format, out, _| match format {
        Format::Json => {
            let header = report::json::header("simulate-propagation", None, Some(&world), &not_checked);
            report::json::write(out, &report::json::answer(header, json(snapshot, &clusters)))
        }
        Format::Text => {
            let answer = answer(snapshot, &clusters, &not_checked);
            out.write_all(answer.as_bytes())?;
            output::followed(out, &world)
        }
    })?;
    Ok(Status::Clean)
}

/// The answer for people: what is propagated, and what is not known.
fn answer(snapshot: &Snapshot, clusters: &[ClusterMetadata], not_checked: &NotChecked) -> String {
    let mut answer = String::new();
    if clusters.iter().any(|cluster| !cluster.derived.is_empty()) {
        answer = text(snapshot, clusters);
    }
    for (what, places) in not_checked.iter() {
        let count = what.counted(places.len());
        let list = format!("not checked: {count}: {}", places.join(", "));
        for (index, line) in crate::lang::text::wrap(&list, width()).iter().enumerate() {
            answer.push_str(&format!("{}{line}\n", if index == 0 { "" } else { "  " }));
        }
        for line in crate::lang::text::wrap(&format!("help: {}", what.remedy()), width() - 2) {
            answer.push_str(&format!("  {line}\n"));
        }
    }
    if answer.is_empty() {
        answer.push_str("nothing here propagates metadata\n");
    }
    answer
}

/// Whether `--cluster` asks for a scope.
pub(crate) fn wanted(common: &Common, scope: &TargetScope<'_>) -> bool {
    common.wants(scope.cluster.and_then(|cluster| cluster.name.as_deref()))
}

fn settings(scope: &TargetScope<'_>, config: &Config) -> Result<PropagationSettings, Failure> {
    let name = scope.cluster.and_then(|cluster| cluster.name.as_deref());
    let target = config.target_of(name);
    let compile = |list: &[crate::config::Written<String>]| -> Result<Vec<GoRegexp>, Failure> {
        list.iter()
            .map(|written| {
                GoRegexp::new(&written.value)
                    .map_err(|error| Failure::Usage(format!("`{}`: {error}", written.value)))
            })
            .collect()
    };
    let read = scope.cluster.map(|cluster| &cluster.settings);
    let taints = read.and_then(|s| s.feature(Feature::MachineTaintPropagation).value);
    let version = read.and_then(|s| s.cluster_api.value);
    Ok(PropagationSettings {
        additional_labels: compile(&target.additional_sync_machine_labels)?,
        additional_annotations: compile(&target.additional_sync_machine_annotations)?,
        annotations: behaviour::NODE_ANNOTATIONS.at(version) != Known::Value(false),
        taints: taints.or_else(|| target.feature(Feature::MachineTaintPropagation).map(|f| f.value)),
        template_metadata: behaviour::PATCHED_TEMPLATE_METADATA.at(version) != Known::Value(false),
    })
}
