//! `forebay rename`: an object under another name, without deleting what runs.

use super::common::Common;
use super::refactoring::{self, Flags};
use super::selector::Selector;
use super::session::{Session, cluster_filter};
use super::{Answer, Failure};
use crate::rewrite::refactor::Rename;
use crate::rewrite::refactor::variable::Variable;
use crate::text::clean;
use crate::world::Cluster;

/// Flags of the command.
#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 done, or nothing to do; 1 with --check: files would change; 2 refused: \
    the place that stands in the way is named, and nothing is written."
)]
pub(crate) struct Arguments {
    /// OBJECT NEW: KIND/[NAMESPACE/]NAME and its new name; `variable NAME NEW`: a variable of
    /// postBuild; `class NAME NEW`: a ClusterClass
    #[arg(required = true, num_args = 2..=3, value_name = "WHAT")]
    what: Vec<String>,
    #[command(flatten)]
    flags: Flags,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    let session = Session::open(common, &[])?;
    let world = session.world();
    let words: Vec<&str> = arguments.what.iter().map(String::as_str).collect();
    let mut command = format!("forebay rename {}", words.join(" "));
    refactoring::add_flags(&mut command, common, &arguments.flags);
    let (object, new) = match words[..] {
        ["variable", old, new] => {
            let in_cluster = cluster_filter(common, &world)?;
            let in_cluster = move |cluster: &Cluster| in_cluster(cluster);
            let (old, new) = (old.to_owned(), new.to_owned());
            let variable = Variable { world: &world, old, new, in_cluster: &in_cluster };
            let result = variable.series(&refactoring::rebuild(&session, &world));
            return refactoring::carry_out(
                common,
                &session,
                &world,
                &arguments.flags,
                "rename",
                &command,
                result,
            );
        }
        ["class", name, new] => (format!("ClusterClass/{name}"), new.to_owned()),
        [object, new] => (object.to_owned(), new.to_owned()),
        _ => return Err(Failure::Usage("write OBJECT NEW, variable NAME NEW, or class NAME NEW".to_owned())),
    };
    let selector = Selector::of(common, &object)?;
    let found = refactoring::subjects(common, &session, &world, &selector, arguments.flags.all_clusters)?;
    let old = found[0].object.id.clone();
    if *old.name == *new {
        return Err(Failure::Usage(format!("{} is called so", clean(&old.to_string()))));
    }
    let rename = Rename { world: &world, subjects: found, old, new };
    let rebuild = refactoring::rebuild(&session, &world);
    let result = rename.series(&rebuild);
    refactoring::carry_out(common, &session, &world, &arguments.flags, "rename", &command, result)
}
