//! `forebay rename`: an object under another name, without deleting what runs.

use super::common::Common;
use super::refactoring::{self, Flags};
use super::selector::Selector;
use super::session::{Session, cluster_filter};
use super::{Answer, Failure};
use crate::model::ObjectId;
use crate::rewrite::refactor::rename::{Rename, clusters_of};
use crate::rewrite::subject::{Subject, Text, home, manifest_of};
use crate::text::clean;
use crate::world::{ApplyTarget, World};
use std::collections::{BTreeMap, BTreeSet};

/// Flags of the command.
#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 done, or nothing to do; 1 with --check: files would change; 2 refused: \
    the place that stands in the way is named, and nothing is written."
)]
pub(crate) struct Arguments {
    /// The object: KIND/[NAMESPACE/]NAME; `ks/apps`, `hr/podinfo/podinfo`
    #[arg(value_name = "OBJECT")]
    object: String,
    /// Its new name
    #[arg(value_name = "NEW")]
    new: String,
    #[command(flatten)]
    flags: Flags,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    let session = Session::open(common, &[])?;
    let world = session.world();
    let selector = Selector::of(common, &arguments.object)?;
    let found = refactoring::select(common, &session, &world, &selector, arguments.flags.all_clusters)?;
    let old = found[0].object.id.clone();
    if *old.name == *arguments.new {
        return Err(Failure::Usage(format!("{} is called so", clean(&old.to_string()))));
    }
    let rename = Rename { world: &world, subjects: found, old, new: arguments.new.clone() };
    let rebuild = refactoring::rebuild(&session, &world);
    let result = rename.series(&rebuild);
    let mut command = format!("forebay rename {} {}", arguments.object, arguments.new);
    refactoring::add_flags(&mut command, common, &arguments.flags);
    refactoring::carry_out(common, &session, &world, &arguments.flags, "rename", &command, result)
}

/// An object by its selector in the clusters that the flags mean; in all of them
/// where one text states it.
pub(super) fn subjects<'w>(
    common: &Common,
    session: &Session,
    world: &'w World,
    selector: &Selector,
    all_clusters: bool,
) -> Result<Vec<Subject<'w>>, Failure> {
    let in_cluster = cluster_filter(common, world)?;
    let mut found: Vec<Subject<'w>> = Vec::new();
    let mut remote = None;
    for cluster in &world.clusters {
        for (member, object) in world.members(cluster).filter(|(_, object)| selector.matches(&object.id)) {
            match &member.target {
                ApplyTarget::Local => found.push(Subject { cluster, object }),
                ApplyTarget::Remote(by) => remote = Some((object.id.clone(), by.clone())),
            }
        }
    }
    let is_applied = |subject: &Subject<'_>| subject.cluster.name.is_some() || !world.has_entry;
    let mut meant: Vec<Subject<'w>> =
        found.iter().copied().filter(|subject| is_applied(subject) && in_cluster(subject.cluster)).collect();
    if meant.is_empty() {
        return Err(nothing(world, selector, &found, remote));
    }
    let ids: BTreeSet<&ObjectId> = meant.iter().map(|subject| &subject.object.id).collect();
    if ids.len() > 1 {
        let lines: Vec<String> =
            ids.iter().take(10).map(|id| format!("\n  {}", clean(&id.to_string()))).collect();
        return Err(Failure::Usage(format!(
            "{} objects are called so; nothing was written{}\nhelp: name one of them, with its namespace",
            ids.len(),
            lines.concat()
        )));
    }
    let id = meant[0].object.id.clone();
    let text = |subject: &Subject<'_>| manifest_of(&session.snapshot, subject.object);
    let mut texts: BTreeMap<Option<Text>, Vec<Subject<'w>>> = BTreeMap::new();
    for subject in &meant {
        texts.entry(text(subject)).or_default().push(*subject);
    }
    if texts.len() > 1 && !all_clusters {
        let mut lines = BTreeSet::new();
        for subject in &meant {
            let place = home(subject.object).map_or("in no file".to_owned(), |place| {
                format!("{}:{}", clean(&place.path), session.snapshot.positions(place).0.0)
            });
            let name = subject.cluster.name.as_deref().unwrap_or(&subject.cluster.root);
            lines.insert(format!("\n  {}  {place}", clean(if name.is_empty() { "-" } else { name })));
        }
        let name = meant.iter().find_map(|subject| subject.cluster.name.as_deref());
        let help = match name {
            Some(name) => format!("add --cluster {}, or --all-clusters", clean(name)),
            None => "add --all-clusters to change each of them".to_owned(),
        };
        return Err(Failure::Usage(format!(
            "{} texts state a {}; nothing was written{}\nhelp: {help}",
            texts.len(),
            clean(&id.to_string()),
            lines.into_iter().collect::<String>(),
        )));
    }
    // What the same texts state elsewhere has the new name too.
    let mut elsewhere = Vec::new();
    for subject in &found {
        let known = meant.iter().any(|one| {
            std::ptr::eq(one.cluster, subject.cluster) && std::ptr::eq(one.object, subject.object)
        });
        if subject.object.id != id || known || !texts.contains_key(&text(subject)) {
            continue;
        }
        if is_applied(subject) && !in_cluster(subject.cluster) {
            elsewhere.push(*subject);
        }
        meant.push(*subject);
    }
    if !elsewhere.is_empty() {
        let (clusters, _) = clusters_of(&elsewhere);
        return Err(Failure::Usage(format!(
            "{} takes its name from a text that {} has too; nothing was written\n\
             help: leave out --cluster to rename it in all of them",
            clean(&id.to_string()),
            clean(&clusters),
        )));
    }
    Ok(meant)
}

fn nothing(
    world: &World,
    selector: &Selector,
    found: &[Subject<'_>],
    remote: Option<(ObjectId, std::sync::Arc<str>)>,
) -> Failure {
    if let Some(subject) = found.iter().find(|subject| subject.cluster.name.is_some()) {
        let id = clean(&subject.object.id.to_string()).into_owned();
        let label = subject.cluster.label();
        return Failure::Usage(format!(
            "{id}: it is in {}, which --cluster leaves out; nothing was written",
            clean(&label)
        ));
    }
    if let Some((id, by)) = remote {
        return Failure::Usage(format!(
            "{}: it is applied to the cluster of the kubeConfig {}; name that cluster in .forebay.yaml \
             (`clusters: [{{name, path, kubeConfig}}]`); nothing was written",
            clean(&id.to_string()),
            clean(&by),
        ));
    }
    if let Some(orphan) = world.orphans().find(|object| selector.matches(&object.id)) {
        return Failure::Usage(format!(
            "{}: no cluster applies {}; nothing was written",
            clean(&orphan.id.to_string()),
            clean(&orphan.source.path),
        ));
    }
    selector.not_found(world.objects.iter().map(|object| &object.id))
}
