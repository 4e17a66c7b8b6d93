//! Workflow annotations: one notice or warning per effect that matters.

use super::{Plan, phrase, tally};
use crate::model::Severity;
use crate::plan::Side;
use crate::report::github::{data, property};
use std::fmt::Write as _;

/// GitHub shows about ten annotations of a kind per step.
const SHOWN: usize = 10;

/// The whole answer.
pub fn render(plan: &Plan<'_>) -> String {
    let effects = super::readable::effects(plan);
    let plan = &Plan { effects: &effects, ..plan.clone() };
    let mut out = String::new();
    if let Some(text) = super::not_followed(plan) {
        let _ = writeln!(out, "::warning title=forebay plan::{}", data(&text));
    }
    super::changes::github(&mut out, plan);
    let mut left_out = 0;
    for (severity, word) in [(Severity::Disruptive, "warning"), (Severity::Notable, "notice")] {
        for (index, effect) in plan.counted().filter(|effect| effect.severity == severity).enumerate() {
            if index >= SHOWN {
                left_out += 1;
                continue;
            }
            let place = effect.causes.iter().find(|cause| cause.side == Side::Head).map(|cause| {
                let line = plan.head_world.snapshot.positions(&cause.location).0.0;
                format!("file={},line={line},", property(cause.location.file.shown()))
            });
            let mut text = format!("{}: {}", effect.object, phrase(effect));
            for consequence in &effect.consequences {
                let _ = write!(text, "\n{consequence}");
            }
            let title = property(&format!("forebay plan: {}", effect.effect));
            let _ = writeln!(out, "::{word} {}title={title}::{}", place.unwrap_or_default(), data(&text));
        }
    }
    let more = if left_out > 0 { format!(", {left_out} more not shown here") } else { String::new() };
    let _ = writeln!(out, "::notice title=forebay plan::{}", data(&format!("{}{more}", tally(plan))));
    out
}
