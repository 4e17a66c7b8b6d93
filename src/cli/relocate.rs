//! `forebay move`: files with every path that names them, or objects to another
//! Kustomization.

use super::common::Common;
use super::refactoring::{self, RefactoringFlags};
use super::selector::ObjectSelector;
use super::session::Session;
use super::{Answer, Failure};
use crate::model::{ObjectId, kinds};
use crate::rewrite::refactor::files;
use crate::rewrite::refactor::moves::Moves;
use crate::rewrite::refactor::objects::Handover;
use crate::world::World;
use std::collections::BTreeSet;
use std::path::Path;

/// Flags of the command.
#[derive(clap::Args)]
#[command(
    arg = super::output::argument::<super::refactoring::Format>(),
    after_help = "Exit codes: 0 done; 1 with --check: files would change; 2 refused: the place that stands \
    in the way is named, and nothing is written."
)]
pub(crate) struct Arguments {
    /// Files and directories, then the place that they go to; with --to, objects
    #[arg(required = true, num_args = 1.., value_name = "FILE|DIR… TO|OBJECT…")]
    what: Vec<String>,
    /// The Kustomization that is to apply the objects: ks/[NAMESPACE/]NAME
    #[arg(long, value_name = "KS")]
    to: Option<String>,
    #[command(flatten)]
    flags: RefactoringFlags,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    let session = Session::open(common, &[])?;
    let world = session.world();
    let rebuild = refactoring::rebuild(&session, &world);
    let mut command = "forebay move".to_owned();
    arguments.what.iter().for_each(|word| command.push_str(&format!(" {word}")));
    if let Some(to) = &arguments.to {
        command.push_str(&format!(" --to {to}"));
    }
    refactoring::add_flags(&mut command, common, &arguments.flags);
    let result = if let Some(to) = &arguments.to {
        let mut objects = Vec::new();
        for text in &arguments.what {
            let selector = ObjectSelector::of(common, text)?;
            let found =
                refactoring::subjects(common, &session, &world, &selector, arguments.flags.all_clusters)?;
            objects.push((found[0].object.id.clone(), found));
        }
        let to = kustomization(common, &world, to)?;
        Handover { world: &world, objects, to }.series(&rebuild)
    } else {
        let Some((to, from)) = arguments.what.split_last().filter(|(_, from)| !from.is_empty()) else {
            return Err(Failure::Usage(
                "name what is to be moved, then the place; objects need --to ks/NAMESPACE/NAME".to_owned(),
            ));
        };
        let from: Vec<String> =
            from.iter().map(|path| inside(common, &session, path)).collect::<Result<_, _>>()?;
        let to = inside(common, &session, to)?;
        Moves::new(&session.snapshot, &from, &to).and_then(|moves| files::series(&world, &moves, &rebuild))
    };
    refactoring::carry_out(common, &session, &world, &arguments.flags, "move", &command, result)
}

/// Namespace and name of the Kustomization that a selector names.
fn kustomization(common: &Common, world: &World, text: &str) -> Result<(String, String), Failure> {
    let selector = ObjectSelector::of(common, text)?;
    let all = || world.clusters.iter().flat_map(|cluster| &cluster.applied).map(|applied| &applied.id);
    let found: BTreeSet<&ObjectId> =
        all().filter(|id| kinds::is_kustomization(id) && selector.matches(id)).collect();
    match Vec::from_iter(found)[..] {
        [] => Err(selector.not_found(all())),
        [one] => Ok((one.namespace.as_deref().unwrap_or_default().to_owned(), one.name.to_string())),
        [..] => Err(Failure::Usage(format!("several Kustomizations are called {text}; add the namespace"))),
    }
}

/// A path as it is named, relative to the root: that of `--root`, else the working
/// directory's.
fn inside(common: &Common, session: &Session, path: &str) -> Result<String, Failure> {
    if common.root.is_some() && !Path::new(path).is_absolute() {
        return Ok(path.trim_start_matches("./").to_owned());
    }
    let outside = || Failure::Usage(format!("{path} is outside of the root"));
    let full = std::env::current_dir().map_err(|error| Failure::Work(error.to_string()))?.join(path);
    let mut clean = std::path::PathBuf::new();
    for part in full.components() {
        match part {
            std::path::Component::ParentDir => drop(clean.pop()),
            std::path::Component::CurDir => {}
            part => clean.push(part),
        }
    }
    let relative = clean.strip_prefix(&session.root).map_err(|_| outside())?;
    let relative = relative.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    Ok(if path.ends_with('/') { relative + "/" } else { relative })
}
