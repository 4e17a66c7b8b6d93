//! `forebay rename`: an object under another name, without deleting what runs.

use super::common::Common;
use super::refactoring::{self, RefactoringFlags};
use super::selector::ObjectSelector;
use super::session::{Session, cluster_filter};
use super::{Answer, Failure};
use crate::lang::text::clean;
use crate::rewrite::refactor::Rename;
use crate::rewrite::refactor::class::{ClassPartKind, PartOfClass};
use crate::rewrite::refactor::variable::Variable;
use crate::world::Cluster;

/// Flags of the command.
#[derive(clap::Args)]
#[command(
    arg = super::output::argument::<super::refactoring::Format>(),
    after_help = "Exit codes: 0 done, or nothing to do; 1 with --check: files would change; 2 refused: \
    the place that stands in the way is named, and nothing is written."
)]
pub(crate) struct Arguments {
    /// OBJECT NEW: KIND/[NAMESPACE/]NAME and its new name; `variable NAME NEW`: a variable of
    /// postBuild, or else of a ClusterClass; `class NAME NEW`: a ClusterClass; `worker-class NAME
    /// NEW`: a class of workers in a ClusterClass
    #[arg(required = true, num_args = 2..=3, value_name = "WHAT")]
    what: Vec<String>,
    /// The ClusterClass whose variable or worker class is meant
    #[arg(long, value_name = "[NAMESPACE/]NAME")]
    class: Option<String>,
    #[command(flatten)]
    flags: RefactoringFlags,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    let session = Session::open(common, &[])?;
    let world = session.world();
    let words: Vec<&str> = arguments.what.iter().map(String::as_str).collect();
    let mut command = format!("forebay rename {}", words.join(" "));
    if let Some(class) = &arguments.class {
        command.push_str(&format!(" --class {class}"));
    }
    refactoring::add_flags(&mut command, common, &arguments.flags);
    let rebuild = refactoring::rebuild(&session, &world);
    let carry_out = |result| {
        refactoring::carry_out(common, &session, &world, &arguments.flags, "rename", &command, result)
    };
    let (object, new) = match words[..] {
        ["variable" | "worker-class", old, new] => {
            let in_cluster = cluster_filter(common, &world)?;
            let in_cluster = move |cluster: &Cluster| in_cluster(cluster);
            let (old, new) = (old.to_owned(), new.to_owned());
            let part = if words[0] == "variable" { ClassPartKind::Variable } else { ClassPartKind::Worker };
            let class = arguments.class.as_deref().map(|class| match class.split_once('/') {
                Some((namespace, name)) => (Some(namespace.to_owned()), name.to_owned()),
                None => (common.namespace.clone(), class.to_owned()),
            });
            let variable =
                Variable { world: &world, old: old.clone(), new: new.clone(), in_cluster: &in_cluster };
            let of_class = PartOfClass { world: &world, part, class, old, new, in_cluster: &in_cluster };
            // A variable is one of postBuild, unless only a class has it.
            let is_of_class = part == ClassPartKind::Worker
                || arguments.class.is_some()
                || (!variable.is_there() && of_class.is_there());
            return match is_of_class {
                true => carry_out(of_class.series(&rebuild)),
                false => carry_out(variable.series(&rebuild)),
            };
        }
        ["class", name, new] => (format!("ClusterClass/{name}"), new.to_owned()),
        [object, new] => (object.to_owned(), new.to_owned()),
        _ => {
            let usage = "write OBJECT NEW, variable NAME NEW, class NAME NEW, or worker-class NAME NEW";
            return Err(Failure::Usage(usage.to_owned()));
        }
    };
    if arguments.class.is_some() {
        return Err(Failure::Usage("--class is for `variable` and `worker-class`".to_owned()));
    }
    keeps_namespace(common, &object)?;
    let selector = ObjectSelector::of(common, &object)?;
    let found = refactoring::subjects(common, &session, &world, &selector, arguments.flags.all_clusters)?;
    let old = found[0].object.id.clone();
    if *old.name == *new {
        return Err(Failure::Usage(format!("{} is called so", clean(&old.to_string()))));
    }
    carry_out(Rename { world: &world, subjects: found, old, new }.series(&rebuild))
}

/// Refuse a rename into another namespace.
fn keeps_namespace(common: &Common, object: &str) -> Result<(), Failure> {
    if let (Some(namespace), [_, stated, _]) = (&common.namespace, &object.split('/').collect::<Vec<_>>()[..])
        && namespace != stated
    {
        return Err(Failure::Usage(format!(
            "an object keeps its namespace when it is renamed: {stated}, not {namespace}; nothing was written\n\
             help: what it names in {stated} is not in {namespace}; write the new one there, move what it \
             applies with `forebay move OBJECT --to`, then remove the old one"
        )));
    }
    Ok(())
}
