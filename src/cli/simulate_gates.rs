//! `forebay simulate gates`.

use super::common::{Common, time};
use super::output;
use super::selector::ObjectSelector;
use super::session::{Session, cluster_filter};
use super::{Answer, Failure, Status};
use crate::config::Feature;
use crate::lang::text::{clean, shorten};
use crate::lint::engine::{self, NotChecked};
use crate::model::{ObjectId, Unchecked};
use crate::report;
use crate::report::gates::{ClusterGates, View, json, mermaid, svg, text, why};
use crate::simulate::behaviour::Product;
use crate::simulate::gating::objects::{Gating, is_gate, is_gateable};
use crate::simulate::gating::timeline::{Range, simulate};
use crate::world as cluster;
use crate::world::{ApplyTarget, Effective, World};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};
use std::io::{self, Write};

/// Days of which the transitions are shown where no range is asked for.
const AHEAD: i64 = 7;

output::formats!(Text = "text": "for people", Json = "json": "for programs: stable, with a schema", Mermaid = "mermaid": "a diagram for Markdown", Svg = "svg": "a picture");

/// Flags of `simulate gates`.
#[derive(clap::Args)]
#[command(after_help = output::help::<Format>(), arg = output::argument::<Format>())]
pub(crate) struct Arguments {
    /// Start of a range to chart
    #[arg(long, value_name = "TIME", requires = "to")]
    from: Option<String>,
    /// End of the range
    #[arg(long, value_name = "TIME", requires = "from")]
    to: Option<String>,
    /// Zone of times without one, and of what is printed
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    time_zone: String,
    /// Draw with ASCII characters only
    #[arg(long)]
    ascii: bool,
    /// Explain what these objects wait for: KIND/[NAMESPACE/]NAME, with globs
    #[arg(value_name = "OBJECT", num_args = 0..=2)]
    objects: Vec<String>,
    /// The same
    #[arg(long, value_name = "OBJECT", conflicts_with = "objects")]
    why: Option<String>,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    output::chosen::<Format>(common)?;
    let zone = TimeZoneDatabase::bundled()
        .get(&arguments.time_zone)
        .map_err(|_| Failure::Usage(format!("--time-zone: no zone is called `{}`", arguments.time_zone)))?;
    let range = range(common, arguments, &zone)?;
    let selector = ObjectSelector::asked(common, &arguments.objects, arguments.why.as_deref())?;
    let session = Session::open(common, &[])?;
    let world = session.world();
    let wanted = cluster_filter(common, &world)?;
    let chosen: Vec<&cluster::Cluster> = world.applied_clusters().filter(|cluster| wanted(cluster)).collect();
    let clusters: Vec<ClusterGates> =
        chosen.iter().map(|cluster| simulated(&world, cluster, range)).collect();
    let mut not_checked = not_checked(&world);
    for cluster in &clusters {
        for (job, command) in &cluster.unread {
            not_checked.add(Unchecked::CronJobCommand, format!("{job}: {command}"));
        }
    }
    let view = View {
        snapshot: &session.snapshot,
        clusters: &clusters,
        zone: &zone,
        is_range: arguments.from.is_some(),
        ascii: arguments.ascii,
    };
    if let Some(selector) = &selector {
        let sentences = explain(&view, &world, &chosen, selector)?;
        output::emit(common, |_: output::TextOnly, out, _| out.write_all(sentences.as_bytes()))?;
        return Ok(Status::Clean);
    }
    output::warn_if_nothing_followed(&world);
    let header = || report::json::header("simulate-gates", Some(range.from), Some(&world), &not_checked);
    output::emit(common, |format, out, _| match format {
        Format::Json => report::json::write(out, &report::json::answer(header(), json::body(&view))),
        Format::Mermaid => out.write_all(mermaid::render(&view).as_bytes()),
        Format::Svg => out.write_all(svg::render(&view).as_bytes()),
        Format::Text => {
            out.write_all(text::render(&view).as_bytes())?;
            unapplied(out, &not_checked)?;
            output::followed(out, &world)
        }
    })?;
    Ok(common.status(std::iter::empty(), not_checked.is_empty()))
}

/// Gates and gated objects that no cluster applies, and what was not built.
fn not_checked(world: &World) -> NotChecked {
    let mut not_checked = NotChecked::default();
    engine::not_built(world, &mut not_checked);
    for orphan in world.orphans() {
        let has_gates = orphan.node.get_ref().at("/spec/gates").is_some();
        if is_gate(&orphan.id) || (has_gates && is_gateable(&orphan.id)) {
            not_checked.add(Unchecked::OrphanObject, orphan.id.to_string());
        }
    }
    not_checked
}

fn unapplied(out: &mut dyn Write, not_checked: &NotChecked) -> io::Result<()> {
    let of = |wanted: Unchecked| not_checked.iter().find(|(reason, _)| *reason == wanted);
    if let Some((_, orphans)) = of(Unchecked::OrphanObject) {
        writeln!(out, "\nnot simulated, as no cluster applies it: {}", clean(&orphans.join(", ")))?;
    }
    if let Some((_, commands)) = of(Unchecked::CronJobCommand) {
        writeln!(out, "\nnot read: commands about a suspension that may open or close more")?;
        for command in commands {
            writeln!(out, "  {}", shorten(&clean(command), 78))?;
        }
    }
    Ok(())
}

/// Simulates a cluster. What a `kubeConfig` sends elsewhere is not seen by the
/// controllers here.
fn simulated(world: &World, cluster: &cluster::Cluster, range: Range) -> ClusterGates {
    let gating = Gating::read(local(world, cluster).map(|object| (&object.id, object.node.get_ref())));
    ClusterGates {
        name: cluster.name.as_deref().map(str::to_owned),
        root: cluster.root.clone(),
        simulation: simulate(&gating, range),
        version: report::stated::version(&world.snapshot, Product::Flux, &cluster.settings),
        unread: gating.unread.clone(),
        has_gates: cluster.settings.feature(Feature::Gates).value == Some(true),
    }
}

fn local<'w>(world: &'w World, cluster: &'w cluster::Cluster) -> impl Iterator<Item = &'w Effective> {
    let members = world.written(cluster);
    members.filter(|(member, _)| member.target == ApplyTarget::Local).map(|(_, object)| object)
}

/// The range to simulate: the one asked for, else a week from the moment on.
fn range(common: &Common, arguments: &Arguments, zone: &TimeZone) -> Result<Range, Failure> {
    let at = common.at(zone)?;
    if let (Some(from), Some(to)) = (&arguments.from, &arguments.to) {
        let range = Range { from: time("--from", from, zone)?, to: time("--to", to, zone)? };
        return match at {
            Some(_) => Err(Failure::Usage("--at and a range exclude each other".into())),
            None if range.from < range.to => Ok(range),
            None => Err(Failure::Usage("--to must be after --from".into())),
        };
    }
    // Gates know whole seconds.
    let now = || Timestamp::from_second(Timestamp::now().as_second()).unwrap_or(Timestamp::UNIX_EPOCH);
    let from = at.unwrap_or_else(now);
    let to = from.checked_add(SignedDuration::from_hours(24 * AHEAD)).unwrap_or(Timestamp::MAX);
    Ok(Range { from, to })
}

/// The sentences for every object of the clusters that the selector names.
fn explain(
    view: &View<'_>,
    world: &World,
    clusters: &[&cluster::Cluster],
    selector: &ObjectSelector,
) -> Result<String, Failure> {
    let mut wanted = Vec::new();
    for (index, cluster) in clusters.iter().enumerate() {
        let mut ids: Vec<&ObjectId> = local(world, cluster).map(|object| &object.id).collect();
        ids.retain(|id| selector.matches(id));
        ids.sort();
        ids.dedup();
        wanted.extend(ids.into_iter().map(|id| (index, id)));
    }
    if wanted.is_empty() {
        return Err(selector.missing(world, world.objects.iter().map(|object| &object.id)));
    }
    Ok(why::render(view, &wanted))
}
