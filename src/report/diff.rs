//! Rewrites as unified diffs, and what to say about them.

use super::mask::Masks;
use super::summary::fixable;
use crate::files::Snapshot;
use crate::lang::text::{clean, counted, is_sign, line_start, push};
use crate::lang::yaml::FilePath;
use crate::rewrite::fix::FixOutcome;
use crate::rewrite::{FileChange, RewriteRefusal};
use similar::{ChangeTag, TextDiff};
use std::io::{self, Write};
use std::ops::Range;

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// How a diff is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// ANSI colours.
    pub color: bool,
    /// Values of Secrets as they are: without them the diff of a Secret can be
    /// read, but not applied.
    pub secrets: bool,
}

/// Write the changes as one unified diff, as `git diff` shows it but for the
/// prefixes of paths. Values of Secrets are masked: both sides are looked up in
/// their snapshots.
pub fn write(
    out: &mut dyn Write,
    before: &Snapshot,
    after: &Snapshot,
    changes: &[FileChange],
    look: Look,
) -> io::Result<()> {
    let (mut old_masks, mut new_masks) = (Masks::default(), Masks::default());
    for change in changes {
        let Some(old) = change.before.text() else { continue };
        let new = &*change.after;
        let lines = |text: &str, snapshot: &Snapshot, masks: &mut Masks| {
            shown_lines(
                text,
                if look.secrets {
                    &[]
                } else {
                    masks.of(snapshot, &FilePath::in_root(change.path.as_arc().clone()))
                },
            )
        };
        let olds = lines(old, before, &mut old_masks);
        let news = lines(new, after, &mut new_masks);
        let path = clean(&change.path);
        let old_path = if before.file(&change.path).is_some() { &*path } else { "/dev/null" };
        writeln!(out, "--- {old_path}\n+++ {path}")?;
        // Lines as `patch` counts them: a lone carriage return ends none.
        let (old, new): (Vec<&str>, Vec<&str>) =
            (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
        let diff = TextDiff::configure().diff_slices(&old, &new);
        for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
            paint(out, &hunk.header().to_string(), "\u{1b}[36m", look.color)?;
            out.write_all(b"\n")?;
            for change in hunk.iter_changes() {
                let (sign, style, line) = match change.tag() {
                    ChangeTag::Delete => ('-', "\u{1b}[31m", change.old_index().and_then(|at| olds.get(at))),
                    ChangeTag::Insert => ('+', "\u{1b}[32m", change.new_index().and_then(|at| news.get(at))),
                    ChangeTag::Equal => (' ', "", change.old_index().and_then(|at| olds.get(at))),
                };
                let line = line.map_or("", String::as_str);
                paint(out, &format!("{sign}{line}"), style, look.color)?;
                let ends = change.value().ends_with('\n');
                out.write_all(if ends { b"\n" } else { b"\n\\ No newline at end of file\n" })?;
            }
        }
    }
    Ok(())
}

fn paint(out: &mut dyn Write, text: &str, style: &str, color: bool) -> io::Result<()> {
    if color && !style.is_empty() {
        // The line break of a CRLF file stays outside of the colour.
        let body = text.trim_end_matches('\r');
        return write!(out, "{style}{body}\u{1b}[0m{}", &text[body.len()..]);
    }
    out.write_all(text.as_bytes())
}

/// The lines of a text without their `\n`, as they may be shown: secrets as
/// stars, nothing that makes a terminal do something. A `\r` at the end stays,
/// for the diff to be applied.
fn shown_lines(text: &str, masks: &[Range<u32>]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let body = line.strip_suffix('\n').unwrap_or(line);
        let mut shown = String::with_capacity(body.len());
        let mut before = ' ';
        for (at, c) in body.char_indices() {
            let offset = (start + at) as u32;
            let after = masks.partition_point(|mask| mask.start <= offset);
            let secret = after > 0 && masks[after - 1].contains(&offset);
            match c {
                '\t' => shown.push(c),
                '\u{feff}' if offset == 0 => shown.push(c),
                // What joins two signs is seen, and a diff is to be applied.
                '\u{200d}' if is_sign(before) && !secret => shown.push(c),
                '\r' if at + 1 == body.len() => shown.push(c),
                _ if secret && !c.is_whitespace() => shown.push('*'),
                _ => push(&mut shown, before, c),
            }
            before = c;
        }
        lines.push(shown);
        start += line.len();
    }
    lines
}

/// Write what `--fix` did, or with `--diff` would do, and what it could not. What
/// other fixes there are is told where no summary of the findings follows.
pub(crate) fn summary(
    out: &mut dyn Write,
    before: &Snapshot,
    outcome: &FixOutcome,
    written: bool,
    alone: bool,
) -> io::Result<()> {
    let total: usize = outcome.fixed.values().sum();
    if total > 0 {
        let rules: Vec<String> =
            outcome.fixed.iter().map(|(rule, count)| format!("{count} {rule}")).collect();
        let verb = if written { "fixed" } else { "would fix" };
        let files = counted(outcome.changes.len(), "file");
        writeln!(out, "{verb} {} in {files}: {}", counted(total, "finding"), rules.join(", "))?;
    }
    for (rule, refusal) in &outcome.refused {
        writeln!(out, "not fixed: {rule}: {}", sentence(before, refusal))?;
    }
    if let Some(fixable) = fixable(&outcome.left.findings).filter(|_| alone) {
        writeln!(out, "left: {fixable}")?;
    }
    if outcome.unfinished {
        writeln!(out, "stopped after 10 passes: the fixes that are left undo each other")?;
    }
    Ok(())
}

/// A refusal in one line: where, why, and the way out.
pub(crate) fn sentence(snapshot: &Snapshot, refusal: &RewriteRefusal) -> String {
    let mut place = line_start(&refusal.path);
    let stream = snapshot.file(&refusal.path).and_then(|file| snapshot.stream(file));
    if let (Some(range), Some(stream)) = (&refusal.range, stream) {
        let (line, column) = stream.lines().position(&stream.text, range.start);
        place.push_str(&format!(":{line}:{column}"));
    }
    format!("{place}: {}; {}", clean(&refusal.message), refusal.help)
}
