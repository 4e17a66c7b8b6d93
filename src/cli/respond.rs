//! `--respond` of `simulate hooks` and of `plan`: what extensions answer.

use super::Failure;
use super::common::Common;
use crate::files::SIZE_LIMIT;
use crate::lang::text::{clean, suggest};
use crate::lang::yaml::NodeRef;
use crate::simulate::cluster_api::hooks::mutation::{
    CanUpdate, Discover, Generate, MutationHook, PatchItem, Responses, Trouble, Update, is_for, read_patches,
    read_variables,
};
use crate::simulate::cluster_api::hooks::{self, Hook};
use crate::simulate::cluster_api::references::TargetScope;
use crate::simulate::cluster_api::topology::part_names::parts;
use crate::simulate::cluster_api::topology::patches::GENERATE;
use crate::simulate::cluster_api::topology::{Cluster, text_at};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;

/// One `HOOK=ANSWER`.
#[derive(Clone, Debug)]
pub(super) enum Respond {
    /// Of a lifecycle hook; `None`: it cannot be reached.
    Lifecycle(Hook, Option<hooks::HookAnswer>),
    /// Of a hook that decides what is made, or how Machines change; with the handler that
    /// answers, where it is named (`GeneratePatches@patches.addons=FILE`).
    Mutation(MutationHook, Option<String>, String),
}

/// Names of all hooks, in the order of a Cluster's life.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    Hook::ALL.map(Hook::name).into_iter().chain(MutationHook::ALL.map(MutationHook::name))
}

/// What a hook of that name answers.
pub(super) fn answers(name: &str) -> &'static [&'static str] {
    const LIFECYCLE: &[&str] = &["blocking", "failure", "unreachable"];
    MutationHook::from_name(name).map_or(LIFECYCLE, MutationHook::answers)
}

/// Reads one `HOOK=ANSWER`; `Err` is for the user.
pub(super) fn parse(text: &str) -> Result<Respond, String> {
    let (name, answer) =
        text.split_once('=').ok_or("write HOOK=ANSWER, such as BeforeClusterUpgrade=blocking")?;
    let (name, handler) = match name.split_once('@') {
        Some((name, handler)) => (name, Some(handler.to_owned())),
        None => (name, None),
    };
    if let Some(hook) = MutationHook::from_name(name) {
        if handler.is_some() && hook != MutationHook::GeneratePatches {
            return Err(format!("{name} takes no handler: only GeneratePatches@HANDLER=FILE"));
        }
        let is_file = hook.answers().contains(&"FILE");
        if !is_file && !hook.answers().contains(&answer) {
            return Err(wrong(name, answer));
        }
        return Ok(Respond::Mutation(hook, handler, answer.to_owned()));
    }
    let hook = Hook::from_name(name).ok_or_else(|| {
        let near = suggest(name, names());
        let all: Vec<&str> = names().collect();
        let hint = near.map_or(format!("hooks are {}", all.join(", ")), |n| format!("did you mean {n}?"));
        format!("no hook is called {}; {hint}", clean(name))
    })?;
    let answer = match answer {
        "blocking" => Some(hooks::HookAnswer::Blocking { retry_after_seconds: 10 }),
        "failure" => Some(hooks::HookAnswer::Failure),
        "unreachable" => None,
        _ => return Err(wrong(name, answer)),
    };
    Ok(Respond::Lifecycle(hook, answer))
}

fn wrong(name: &str, answer: &str) -> String {
    let words: Vec<String> = answers(name).iter().map(|word| format!("`{word}`")).collect();
    format!("{name} answers {}, not `{}`", words.join(", "), clean(answer))
}

/// The answers to hooks that decide what is made, their files read.
///
/// # Errors
/// A file cannot be read, or holds no answer.
pub(super) fn responses(common: &Common, given: &[Respond]) -> Result<Responses, Failure> {
    let mut responses = Responses::default();
    let trouble = |word: &str| match word {
        "failure" => Some(Trouble::Failure),
        "unreachable" => Some(Trouble::Unreachable),
        _ => None,
    };
    for one in given {
        let Respond::Mutation(hook, handler, word) = one else { continue };
        let can_update = || match &**word {
            "all" => CanUpdate::All,
            "none" => CanUpdate::None,
            _ => CanUpdate::Unreachable,
        };
        match hook {
            MutationHook::CanUpdateMachine => responses.can_update_machine = Some(can_update()),
            MutationHook::CanUpdateMachineSet => responses.can_update_machine_set = Some(can_update()),
            MutationHook::UpdateMachine => {
                responses.update_machine = Some(match &**word {
                    "done" => Update::Done,
                    "inProgress" => Update::InProgress,
                    _ => Update::Failure,
                });
            }
            MutationHook::ValidateTopology => responses.validate_topology = trouble(word),
            MutationHook::DiscoverVariables => {
                responses.discover_variables = Some(match trouble(word) {
                    Some(trouble) => Discover::Trouble(trouble),
                    None => read_variables(&read_json(common, Path::new(word))?)
                        .map_err(|why| named(word, &why))?,
                });
            }
            MutationHook::GeneratePatches => {
                let answer = match trouble(word) {
                    Some(trouble) => Generate::Trouble(trouble),
                    None => generated(common, word)?,
                };
                responses.generate_patches.push((handler.clone(), answer));
            }
        }
    }
    Ok(responses)
}

fn named(file: &str, why: &str) -> Failure {
    Failure::Usage(format!("{}: {why}", clean(file)))
}

/// One file, or two for the state before a change and the state after it: `BEFORE..AFTER`.
fn generated(common: &Common, word: &str) -> Result<Generate, Failure> {
    let read = |file: &str| -> Result<Result<Vec<PatchItem>, Trouble>, Failure> {
        read_patches(&read_json(common, Path::new(file))?).map_err(|why| named(file, &why))
    };
    // A path may begin with `..`, or hold it as a directory.
    let parted = word.match_indices("..").find_map(|(at, _)| {
        let (before, after) = (&word[..at], &word[at + 2..]);
        let is_name = !before.is_empty() && !after.is_empty();
        (is_name && !before.ends_with('/') && !after.starts_with('/')).then_some((before, after))
    });
    let answer = match parted {
        None => read(word)?.map(Generate::Same),
        Some((before, after)) => match (read(before)?, read(after)?) {
            (Ok(before), Ok(after)) => Ok(Generate::BeforeAfter(before, after)),
            (Err(trouble), _) | (_, Err(trouble)) => Err(trouble),
        },
    };
    Ok(answer.unwrap_or_else(Generate::Trouble))
}

/// A JSON file that a flag names; `-` is standard input.
pub(super) fn read_json(common: &Common, file: &Path) -> Result<Value, Failure> {
    let text = if file == Path::new("-") {
        let mut text = String::new();
        io::stdin().take(SIZE_LIMIT).read_to_string(&mut text).map(|_| text)
    } else {
        crate::files::read_named(&common.boundary(file)?, file)
    };
    let text = text.map_err(|error| Failure::Work(format!("{}: {error}", file.display())))?;
    serde_json::from_str(&text).map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))
}

/// Whether answers to GeneratePatches are for templates and extensions that are here. Clusters
/// API fails at a `uid` that it did not ask about, and so does this.
///
/// # Errors
/// An answer is for none, or for one of several extensions that a class calls.
pub(super) fn check(responses: &Responses, scopes: &[TargetScope<'_>]) -> Result<(), Failure> {
    if responses.generate_patches.is_empty() {
        return Ok(());
    }
    let (mut handlers, mut templates) = (BTreeSet::new(), BTreeSet::new());
    let unnamed = responses.generate_patches.iter().any(|(name, _)| name.is_none());
    for scope in scopes {
        for cluster in Cluster::all(&scope.objects) {
            let Some(class) = cluster.class(&scope.objects) else { continue };
            let patches = class.patches();
            let called: Vec<String> = patches
                .iter()
                .filter_map(|(_, patch): &(_, NodeRef<'_>)| text_at(*patch, &GENERATE))
                .collect();
            let is_named = |handler: &&String| {
                responses.generate_patches.iter().any(|(name, _)| name.as_ref() == Some(handler))
            };
            let open: Vec<&String> = called.iter().filter(|handler| !is_named(handler)).collect();
            if unnamed && open.len() > 1 {
                let flags: Vec<String> =
                    open.iter().map(|name| format!("GeneratePatches@{name}=FILE")).collect();
                let class = class.object.id;
                return Err(usage(format!(
                    "{class} calls {} extensions; write {}",
                    open.len(),
                    flags.join(" and ")
                )));
            }
            if !called.is_empty() {
                let (namespace, name) =
                    (cluster.object.namespace().to_owned(), cluster.object.name().to_owned());
                templates.extend(
                    parts(&cluster, &class).into_iter().map(|part| (namespace.clone(), name.clone(), part)),
                );
            }
            handlers.extend(called);
        }
    }
    for (handler, answer) in &responses.generate_patches {
        if let Some(handler) = handler.as_ref().filter(|handler| !handlers.contains(*handler)) {
            let near = suggest(handler, handlers.iter().map(String::as_str));
            let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            return Err(usage(format!("no ClusterClass of a Cluster calls {}{hint}", clean(handler))));
        }
        let lists: [&[PatchItem]; 2] = match answer {
            Generate::Trouble(_) => [&[], &[]],
            Generate::Same(items) => [items, &[]],
            Generate::BeforeAfter(before, after) => [before, after],
        };
        for item in lists.into_iter().flatten() {
            if !templates.iter().any(|(namespace, name, part)| is_for(&item.uid, namespace, name, part)) {
                return Err(usage(unknown_uid(&item.uid, &templates)));
            }
        }
    }
    Ok(())
}

fn usage(text: String) -> Failure {
    Failure::Usage(format!("--respond: {text}"))
}

fn unknown_uid(uid: &str, templates: &BTreeSet<(String, String, String)>) -> String {
    if templates.is_empty() {
        return "no Cluster here has a ClusterClass with an external patch".to_owned();
    }
    let names: BTreeSet<&str> = templates.iter().map(|(_, _, part)| part.as_str()).collect();
    let hint = match suggest(uid, names.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("a uid is one of {}", Vec::from_iter(names).join(", ")),
    };
    format!("no template is called {}; {hint}", clean(uid))
}
