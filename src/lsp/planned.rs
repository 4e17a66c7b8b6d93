//! What the saved state of the repository does, compared with its base: `forebay plan`
//! above an object. It is worked out beside the session, when an editor first wants to
//! show it after something was saved; keys wait for nothing.

use super::Host;
use crate::config::Config;
use crate::files::Snapshot;
use crate::lang::text::{clean, counted};
use crate::model::{ObjectId, Severity};
use crate::plan;
use crate::world::World;
use lsp_server::{ErrorCode, Message, RequestId, Response};
use lsp_types::CodeLens;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Reads the state that one is compared with, and what to call it: of a root, by its
/// configuration; files that are as they are in a snapshot are taken from it.
pub(crate) type ReadBase = fn(&Path, &Config, &Arc<Snapshot>) -> Result<(Arc<Snapshot>, String), String>;

/// Sends to the editor, if that is still there.
pub(super) type Send = Box<dyn Fn(Message) + std::marker::Send>;

/// What a lens is about.
#[derive(Clone, Debug)]
pub(super) struct LensSubject {
    /// The objects, each with its cluster.
    pub(super) objects: Vec<(Option<Arc<str>>, ObjectId)>,
    /// The file, of a kustomization: what comes of it counts.
    pub(super) kustomization: Option<Arc<str>>,
}

/// An effect, as far as a lens tells of it.
struct PlannedEffect {
    cluster: Option<Arc<str>>,
    object: ObjectId,
    severity: Severity,
    /// The files that cause it.
    causes: Vec<Arc<str>>,
}

/// A plan, or why there is none.
type Planned = Result<(String, Vec<PlannedEffect>), String>;

/// A lens that waits for its words.
struct Waiting {
    id: RequestId,
    lens: CodeLens,
    subject: LensSubject,
}

#[derive(Default)]
enum Progress {
    /// Nobody has asked since the last change.
    #[default]
    Unknown,
    /// That of a state, by its number, is being worked out for these.
    Running(u64, Vec<Waiting>),
    Known(Arc<Planned>),
}

#[derive(Default)]
struct Shared {
    /// Counts the states that were saved.
    state: u64,
    progress: Progress,
}

/// The plan of the saved state.
#[derive(Clone, Default)]
pub(super) struct Plans {
    shared: Arc<Mutex<Shared>>,
}

/// What a plan is made of.
pub(super) struct Sides {
    pub(super) root: PathBuf,
    pub(super) config: Config,
    pub(super) remotes: Vec<String>,
    /// What is saved.
    pub(super) disk: Arc<Snapshot>,
    /// A world of that state, or one like it.
    pub(super) world: Arc<World>,
}

impl Plans {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something was saved.
    pub(super) fn forget(&self) {
        let mut shared = self.lock();
        shared.state += 1;
        if let Progress::Known(_) = shared.progress {
            shared.progress = Progress::Unknown;
        }
    }

    /// Answers a request for the words of a lens, now or once they are known.
    pub(super) fn resolve(
        &self,
        host: &Host<'_>,
        send: Send,
        (id, lens, subject): (RequestId, CodeLens, LensSubject),
        sides: impl FnOnce() -> Sides,
    ) {
        let waiting = Waiting { id, lens, subject };
        let mut shared = self.lock();
        let state = shared.state;
        let mut all = match std::mem::take(&mut shared.progress) {
            Progress::Known(planned) => {
                shared.progress = Progress::Known(planned.clone());
                drop(shared);
                send(waiting.answer(&planned));
                return;
            }
            Progress::Running(number, mut all) if number == state => {
                all.push(waiting);
                shared.progress = Progress::Running(number, all);
                return;
            }
            // Who waits for that of another state gets this one.
            Progress::Running(_, all) => all,
            Progress::Unknown => Vec::new(),
        };
        all.push(waiting);
        shared.progress = Progress::Running(state, all);
        drop(shared);
        let (plans, base, sides) = (self.clone(), host.base, sides());
        std::thread::spawn(move || {
            let worked = catch_unwind(AssertUnwindSafe(|| work_out(base, &sides)));
            let planned = worked.unwrap_or_else(|_| Err("forebay failed on it".to_owned()));
            plans.tell(state, &send, &Arc::new(planned));
        });
    }

    fn tell(&self, state: u64, send: &Send, planned: &Arc<Planned>) {
        let mut shared = self.lock();
        match std::mem::take(&mut shared.progress) {
            Progress::Running(number, all) if number == state => {
                if shared.state == state {
                    shared.progress = Progress::Known(planned.clone());
                }
                drop(shared);
                all.into_iter().for_each(|waiting| send(waiting.answer(planned)));
            }
            other => shared.progress = other,
        }
    }
}

fn work_out(base: ReadBase, sides: &Sides) -> Planned {
    let Sides { root, config, remotes, disk, world } = sides;
    let (base, label) = base(root, config, disk)?;
    let head = match Arc::ptr_eq(&world.snapshot, disk) {
        true => world.clone(),
        false => Arc::new(world.like(disk, config, remotes)),
    };
    let before = head.like(&base, config, remotes);
    let effects = plan::plan(&before, &head).into_iter().filter(|effect| effect.when.is_none());
    let effects = effects.map(|effect| PlannedEffect {
        cluster: effect.cluster,
        object: effect.object,
        severity: effect.severity,
        causes: effect.causes.into_iter().map(|cause| cause.location.file.shown().clone()).collect(),
    });
    Ok((label, effects.collect()))
}

impl Waiting {
    fn answer(self, planned: &Planned) -> Message {
        let Waiting { id, mut lens, subject } = self;
        let title = match planned {
            Ok((label, effects)) => title(label, effects, &subject),
            Err(why) => format!("no plan: {}", clean(why.lines().next().unwrap_or_default())),
        };
        if let Some(command) = &mut lens.command {
            command.title = title;
        } else {
            let command = lsp_types::Command { title, command: COMMAND.to_owned(), arguments: None };
            lens.command = Some(command);
        }
        let response = match serde_json::to_value(lens) {
            Ok(value) => Response::new_ok(id, value),
            Err(error) => Response::new_err(id, ErrorCode::InternalError as i32, error.to_string()),
        };
        response.into()
    }
}

/// The editor's own extension knows it; others show the words.
const COMMAND: &str = "forebay.showPlan";

/// How much happens to the objects of a document, or comes of a kustomization.
fn title(label: &str, effects: &[PlannedEffect], subject: &LensSubject) -> String {
    let is_about = |effect: &&PlannedEffect| {
        let same =
            |(cluster, id): &(Option<Arc<str>>, ObjectId)| *cluster == effect.cluster && *id == effect.object;
        let comes_of = |path| effect.causes.contains(path);
        subject.objects.iter().any(same) || subject.kustomization.as_ref().is_some_and(comes_of)
    };
    let (mut all, mut disruptive) = (0, 0);
    for effect in effects.iter().filter(is_about) {
        all += 1;
        disruptive += usize::from(effect.severity == Severity::Disruptive);
    }
    let label = clean(label);
    match (all, disruptive) {
        (0, _) => format!("plan against {label}: no effect"),
        (_, 0) => format!("plan against {label}: {}", counted(all, "effect")),
        _ => format!("plan against {label}: {}, {disruptive} disruptive", counted(all, "effect")),
    }
}
