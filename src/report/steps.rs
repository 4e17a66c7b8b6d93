//! Refactorings: their steps, what is proven of each, and what to wait for.

use super::diff;
use super::parts::{location, object, paragraph};
use crate::files::Snapshot;
use crate::lang::text::{clean, counted};
use crate::rewrite::FileChange;
use crate::rewrite::refactor::{RefactoringStep, Refused, Series};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io;

/// How many moved files are listed.
const MOVED: usize = 8;

/// How many texts that were left alone are listed.
const LEFT: usize = 5;

/// What a run does with the steps.
#[derive(Clone, Copy, Debug)]
pub struct StepsRun<'r> {
    /// The step that it does; none where it only tells.
    pub does: Option<usize>,
    /// Whether files are written.
    pub writes: bool,
    /// The command, for the next step.
    pub command: &'r str,
}

/// The steps for people.
pub fn text(snapshot: &Snapshot, series: &Series, run: StepsRun<'_>) -> String {
    let mut out = String::new();
    let many = series.steps.len() > 1;
    let steps = if many { format!(", in {} steps", series.steps.len()) } else { String::new() };
    paragraph(&mut out, &clean(&format!("{}{steps}", series.headline)), "  ");
    for (number, line) in series.naive.iter().enumerate() {
        let lead = if number == 0 { "in one commit: " } else { "- " };
        paragraph(&mut out, &clean(&format!("{lead}{line}")), "  ");
    }
    for step in &series.steps {
        paragraphs_of(&mut out, step, series.steps.len(), run);
    }
    if many {
        let next = if run.does.is_some() && run.writes {
            run.does.map(|step| step + 1)
        } else {
            Some(series.next())
        };
        if let Some(next) = next.filter(|next| (2..=series.steps.len()).contains(next)) {
            let _ = writeln!(out, "next: {} --step {next}", clean(run.command));
        }
    }
    for line in &series.by_hand {
        let (command, why) = line.split_once("  # ").unwrap_or((line, ""));
        paragraph(&mut out, &clean(&format!("in the end, by hand: {why}")), "  ");
        let _ = writeln!(out, "    {}", clean(command));
    }
    for line in &series.notes {
        paragraph(&mut out, &clean(&format!("note: {line}")), "  ");
    }
    for (place, what) in series.left.iter().take(LEFT) {
        let line = snapshot.positions(place).0.0;
        let _ = writeln!(
            out,
            "left alone: {}:{line} may mean it too ({})",
            clean(place.file.shown()),
            clean(what)
        );
    }
    if series.left.len() > LEFT {
        let _ = writeln!(out, "left alone: {} more", series.left.len() - LEFT);
    }
    out
}

/// What a step does, and what to wait for after it.
fn paragraphs_of(out: &mut String, step: &RefactoringStep, count: usize, run: StepsRun<'_>) {
    let many = count > 1;
    let state = match (step.done, run.does == Some(step.number), run.writes) {
        (true, ..) => " (the tree has it)",
        (_, true, true) => " (done)",
        _ => "",
    };
    let head = if many { format!("step {} of {}: ", step.number, count) } else { String::new() };
    paragraph(out, &clean(&format!("{head}{}{state}", step.title)), "  ");
    for (from, to) in step.moves.iter().take(MOVED) {
        let _ = writeln!(out, "  {} -> {}", clean(from), clean(to));
    }
    if step.moves.len() > MOVED {
        let _ = writeln!(out, "  and {} more files", step.moves.len() - MOVED);
    }
    for change in &step.changes {
        let is_new = if change.before.bytes().is_empty() { " (new)" } else { "" };
        let _ = writeln!(out, "  {}{is_new}", clean(&change.path));
    }
    if many || step.proof.adopted > 0 {
        out.push_str("  ");
        paragraph(out, &format!("proven: {}", proof(step)), "  ");
    }
    if many && !step.done {
        let _ = writeln!(out, "  then commit, push, and wait until the cluster has it:");
        for line in &step.wait_for {
            let _ = writeln!(out, "    {}", clean(line));
        }
    }
}

fn proof(step: &RefactoringStep) -> String {
    let proof = &step.proof;
    if proof.adopted == 0 && proof.orders <= 1 {
        return "nothing else changes in any cluster".to_owned();
    }
    let adopted = match proof.adopted {
        0 => String::new(),
        many => format!(", {} taken over", counted(many, "object")),
    };
    format!("in every order of the controllers nothing is deleted that stays{adopted}")
}

/// The steps for programs.
pub fn json(series: &Series) -> Value {
    let steps = series.steps.iter().map(|step| {
        let edits: Vec<Value> = step.changes.iter().map(edit).collect();
        let moves = step.moves.iter().map(|(from, to)| json!({"from": &**from, "to": &**to}));
        json!({
            "number": step.number,
            "title": clean(&step.title),
            "done": step.done,
            "waitFor": step.wait_for,
            "edits": edits,
            "moves": moves.collect::<Value>(),
            "proof": {
                "orders": step.proof.orders,
                "complete": step.proof.complete,
                "adopted": step.proof.adopted,
                "deleted": step.proof.deleted.iter().map(object).collect::<Value>(),
                "recreated": step.proof.recreated.iter().map(object).collect::<Value>(),
            },
        })
    });
    json!({
        "headline": clean(&series.headline),
        "steps": steps.collect::<Value>(),
        "naive": series.naive,
        "byHand": series.by_hand,
        "notes": series.notes,
        "refused": [],
    })
}

/// Refusals for programs.
pub fn refusals(snapshot: &Snapshot, refused: &[Refused]) -> Value {
    let refused = refused.iter().map(|one| {
        json!({
            "location": one.location.as_ref().map(|place| location(snapshot, Some(place))),
            "why": clean(&one.why),
            "help": clean(&one.help),
        })
    });
    json!({"headline": "", "steps": [], "naive": [], "byHand": [], "notes": [], "refused": refused.collect::<Value>()})
}

/// The bytes of a file that change, as one edit.
fn edit(change: &FileChange) -> Value {
    let (old, new) = (change.before.bytes(), change.after.as_bytes());
    let boundary = |at: usize| change.after.is_char_boundary(at);
    let mut start = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    while !boundary(start) {
        start -= 1;
    }
    let rest = old.len().min(new.len()) - start;
    let mut tail =
        old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(one, other)| one == other).count();
    while !boundary(new.len() - tail) {
        tail -= 1;
    }
    json!({
        "path": &*change.path,
        "start": start,
        "end": old.len() - tail,
        "text": &change.after[start..new.len() - tail],
    })
}

/// A refusal in one line: where, why, and the way out.
pub fn sentence(snapshot: &Snapshot, refused: &Refused) -> String {
    let place = match &refused.location {
        Some(place) => {
            let ((line, column), _) = snapshot.positions(place);
            format!("{}:{line}:{column}: ", clean(place.file.shown()))
        }
        None => String::new(),
    };
    format!("{place}{}; {}", clean(&refused.why), clean(&refused.help))
}

/// A step as a patch for `git am`. Values of Secrets are as they are: it is to be
/// applied.
///
/// # Errors
/// What the writer says.
pub fn patch(
    out: &mut dyn io::Write,
    before: &Snapshot,
    after: &Snapshot,
    series: &Series,
    step: &RefactoringStep,
) -> io::Result<()> {
    let total = series.steps.len();
    writeln!(out, "From {} Mon Sep 17 00:00:00 2001", "0".repeat(40))?;
    writeln!(out, "From: forebay <forebay@localhost>")?;
    writeln!(out, "Date: Thu, 1 Jan 1970 00:00:00 +0000")?;
    let title = clean(&step.title);
    writeln!(out, "Subject: [PATCH {}/{total}] {}: {title}\n", step.number, clean(&series.headline))?;
    writeln!(out, "Wait until the cluster has it before the next one:\n")?;
    for line in &step.wait_for {
        writeln!(out, "  {}", clean(line))?;
    }
    writeln!(out, "---")?;
    let changed = |to: &str| step.changes.iter().any(|change| *change.path == *to);
    for (from, to) in step.moves.iter().filter(|(_, to)| !changed(to)) {
        writeln!(
            out,
            "diff --git a/{from} b/{to}\nsimilarity index 100%\nrename from {from}\nrename to {to}"
        )?;
    }
    for change in &step.changes {
        let from =
            step.moves.iter().find(|(_, to)| *to == change.path).map_or(&change.path, |(from, _)| from);
        writeln!(out, "diff --git a/{from} b/{}", change.path)?;
        let is_new = before.file(&change.path).is_none();
        if is_new {
            writeln!(out, "new file mode 100644")?;
        } else if *from != change.path {
            writeln!(out, "rename from {from}\nrename to {}", change.path)?;
        }
        let mut text = Vec::new();
        let look = diff::Look { color: false, secrets: true };
        diff::write(&mut text, before, after, std::slice::from_ref(change), look)?;
        let text = String::from_utf8_lossy(&text);
        let hunks = text.splitn(3, '\n').nth(2).unwrap_or_default();
        let old = if is_new { "/dev/null".to_owned() } else { format!("a/{from}") };
        write!(out, "--- {old}\n+++ b/{}\n{hunks}", change.path)?;
    }
    writeln!(out, "-- \nforebay")
}
