//! Answers of `simulate hooks`.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::parts::{object, paragraph, width};
use super::stated::StatedVersions;
use crate::lang::text::clean;
use crate::model::ObjectId;
use crate::model::value::unknown;
use crate::simulate::cluster_api::hooks::Hook;
use crate::simulate::cluster_api::hooks::simulate::{
    Event, HookStep, RuntimeSdk, Simulation, StepKind, StepState,
};

/// The body of the contract `forebay.simulate-hooks/v1`.
pub fn json(cluster: Option<&str>, id: &ObjectId, simulation: &Simulation) -> Value {
    let plan = simulation.plan.clone().unwrap_or_default();
    let workers =
        if plan.machine_deployments.is_empty() { plan.machine_pools } else { plan.machine_deployments };
    let steps: Vec<Value> = simulation.steps.iter().map(step).collect();
    json!({
        "cluster": cluster,
        "object": object(id),
        "upgradePlan": {"controlPlane": plan.control_plane, "workers": workers},
        "steps": steps,
        "withheld": simulation.withheld,
        "notes": simulation.notes,
        "runtimeSdk": simulation.runtime_sdk == RuntimeSdk::On,
    })
}

fn step(step: &HookStep) -> Value {
    let (kind, hook) = match step.kind {
        StepKind::Hook(hook) => ("hook", Some(hook.name())),
        StepKind::Mutation(hook) => ("hook", Some(hook.name())),
        StepKind::ControlPlane => ("controlPlane", None),
        StepKind::Workers => ("workers", None),
    };
    json!({
        "kind": kind,
        "hook": hook,
        "fromVersion": step.from,
        "toVersion": step.to,
        "state": step.state.name(),
        "blocking": step.blocking,
        "handlers": match &step.handlers {
            Some(handlers) => json!(handlers),
            None => unknown("which handlers are registered is known in the cluster only"),
        },
        "unblock": step.unblock,
        "reason": step.reason,
    })
}

/// The column where reasons start.
const REASON: usize = 46;

/// The answer for a person.
pub fn text(
    cluster: Option<&str>,
    version: &StatedVersions,
    id: &ObjectId,
    simulation: &Simulation,
) -> String {
    let mut out = String::new();
    let cluster = cluster.map_or(String::new(), |cluster| format!("cluster {}, ", clean(cluster)));
    let _ = writeln!(out, "{cluster}{version}");
    if simulation.is_there_already {
        let to = simulation.to.as_deref().unwrap_or_default();
        let why =
            "hooks of an upgrade are called when spec.topology.version differs from the control plane's";
        paragraph(&mut out, &clean(&format!("nothing happens: {id} is at {to} already, and {why}")), "  ");
    }
    if simulation.steps.is_empty() {
        for note in &simulation.notes {
            paragraph(&mut out, &clean(note), "  ");
        }
        return out;
    }
    if let Some(why) = simulation.runtime_sdk.silence() {
        paragraph(&mut out, why, "  ");
        out.push_str("with RuntimeSDK on:\n\n");
    }
    heading(&mut out, id, simulation);
    let mut number = 0;
    let mut rest = &simulation.steps[..];
    while let Some(first) = rest.first() {
        number += 1;
        let merged = if merges(first) { rest.iter().take_while(|s| merges(s)).count() } else { 1 };
        let (these, after) = rest.split_at(merged);
        rest = after;
        for part in line(number, these).split('\n') {
            let _ = writeln!(out, "{}", clean(part.trim_end()));
        }
    }
    footer(&mut out, simulation);
    out
}

/// Pending hooks that come one after the other share a line.
fn merges(step: &HookStep) -> bool {
    step.state == StepState::Pending
        && matches!(
            step.kind,
            StepKind::Hook(
                Hook::AfterControlPlaneUpgrade
                    | Hook::BeforeWorkersUpgrade
                    | Hook::AfterWorkersUpgrade
                    | Hook::AfterClusterUpgrade
            )
        )
}

fn heading(out: &mut String, id: &ObjectId, simulation: &Simulation) {
    let _ = write!(out, "{}", clean(&id.to_string()));
    if let Some(class) = &simulation.class {
        let _ = write!(out, ", class {}", clean(class));
    }
    match (simulation.event, &simulation.from, &simulation.to) {
        (_, Some(from), Some(to)) => {
            let _ = writeln!(out, ": {} -> {}", clean(from), clean(to));
        }
        (Some(Event::Create), _, Some(to)) => {
            let _ = writeln!(out, ": created at {}", clean(to));
        }
        (Some(Event::Create), ..) => out.push_str(": created\n"),
        _ => out.push_str(": deleted\n"),
    }
    if let (Some(plan), Some(from)) = (&simulation.plan, &simulation.from) {
        let chain = |steps: &[String]| {
            std::iter::once(from).chain(steps).map(String::as_str).collect::<Vec<_>>().join(" -> ")
        };
        let _ = writeln!(out, "control plane {} ({})", chain(&plan.control_plane), simulation.plan_source);
        let workers =
            if plan.machine_deployments.is_empty() { &plan.machine_pools } else { &plan.machine_deployments };
        if workers.is_empty() {
            out.push_str("workers       none\n");
        } else {
            let _ = writeln!(out, "workers       {}", chain(workers));
        }
    }
    out.push('\n');
}

fn line(number: usize, steps: &[HookStep]) -> String {
    let Some(step) = steps.first() else { return String::new() };
    let stopped = matches!(step.state, StepState::Blocked | StepState::Aborted);
    let marker = if stopped { '>' } else { ' ' };
    let state = if stopped { step.state.name().to_uppercase() } else { step.state.name().to_owned() };
    let what = match step.kind {
        StepKind::Hook(_) => steps
            .iter()
            .filter_map(|s| match s.kind {
                StepKind::Hook(hook) => Some(format!("hook {hook}")),
                _ => None,
            })
            .collect::<Vec<_>>()
            .join(", "),
        StepKind::Mutation(hook) => format!("hook {}", hook.name()),
        StepKind::ControlPlane => format!("control plane{}", to(step)),
        StepKind::Workers => format!("workers{}", to(step)),
    };
    let versions = match (&step.from, &step.to) {
        (Some(from), Some(to)) if matches!(step.kind, StepKind::Hook(_)) && steps.len() == 1 => {
            format!("{from} -> {to}")
        }
        _ => String::new(),
    };
    // What is not reached calls nothing yet.
    let asked = match (&step.handlers, step.state) {
        (Some(names), StepState::Done | StepState::Blocked | StepState::Aborted) if !names.is_empty() => {
            names.join(", ")
        }
        _ => String::new(),
    };
    let said =
        [versions, asked, step.reason.clone()].into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>();
    let mark = format!("{marker}{number}", number = format_args!("{number:>2}"));
    let mut line = format!("{mark:>4}  {state:<7}  {what:<31} ");
    let mut column = line.chars().count();
    for word in said.join("; ").split(' ') {
        let length = word.chars().count();
        if column + 1 + length > width() && column > REASON + 1 {
            let _ = write!(line, "\n{:REASON$}", "");
            column = REASON;
        }
        let _ = write!(line, " {word}");
        column += 1 + length;
    }
    line
}

fn to(step: &HookStep) -> String {
    step.to.as_ref().map(|version| format!(" to {version}")).unwrap_or_default()
}

fn footer(out: &mut String, simulation: &Simulation) {
    let stopped =
        simulation.steps.iter().find(|s| matches!(s.state, StepState::Blocked | StepState::Aborted));
    let unknown_handlers = simulation.steps.iter().any(|s| s.handlers.is_none());
    let silence = simulation.runtime_sdk.silence();
    let notes = || simulation.notes.iter().filter(|note| Some(note.as_str()) != silence);
    if stopped.is_some() || unknown_handlers || notes().next().is_some() {
        out.push('\n');
    }
    if let Some(step) = stopped {
        let while_ = if step.state == StepState::Aborted { "while it fails" } else { "while blocked" };
        let withheld = format!("{while_}: {}", simulation.withheld.join("; "));
        paragraph(out, &clean(&withheld), "  ");
        paragraph(out, &clean(&format!("to unblock: {}", step.unblock.join("; "))), "  ");
    }
    for note in notes() {
        paragraph(out, &clean(note), "  ");
    }
    if unknown_handlers {
        out.push_str("handlers: unknown offline; list them in target.extensions\n");
    }
}
