//! `forebay rename`: an object under another name, without deleting what runs.

use super::common::Common;
use super::refactoring::{self, Flags};
use super::selector::Selector;
use super::session::Session;
use super::{Answer, Failure};
use crate::rewrite::refactor::Rename;
use crate::text::clean;

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
    let found = refactoring::subjects(common, &session, &world, &selector, arguments.flags.all_clusters)?;
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
