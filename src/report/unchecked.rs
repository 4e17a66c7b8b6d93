//! What was not checked, and what would let it be.

use crate::lang::text::{clean, wrap};
use crate::lint::engine::NotChecked;
use std::io::{self, Write};

/// Counts of all reasons, in a line.
pub(crate) fn counts(not_checked: &NotChecked) -> String {
    let reasons = not_checked.iter().map(|(reason, places)| reason.counted(places.len()));
    reasons.collect::<Vec<_>>().join(", ")
}

/// Write what was not checked; where it is `listed`, all places, and what would let each
/// reason go away. Without that, one line: most of it is nobody's fault, and the step that
/// helps most stands beside its count.
pub(crate) fn write(
    out: &mut dyn Write,
    not_checked: &NotChecked,
    listed: bool,
    width: usize,
) -> io::Result<()> {
    if not_checked.is_empty() {
        return Ok(());
    }
    if !listed {
        let reasons = not_checked.iter().map(|(reason, places)| {
            let step = reason.step().map_or_else(String::new, |step| format!(" ({step})"));
            reason.counted(places.len()) + &step
        });
        let line = format!(
            "not checked: {}; --list-unchecked says which, and what helps",
            reasons.collect::<Vec<_>>().join(", ")
        );
        return paragraph(out, &line, "  ", width);
    }
    paragraph(out, &format!("not checked: {}", counts(not_checked)), "  ", width)?;
    for (reason, places) in not_checked.iter() {
        for place in places {
            writeln!(out, "  {reason}: {}", clean(place))?;
        }
    }
    to_do(out, not_checked, width)
}

/// The same as a text, in answers of commands that list no places.
pub(crate) fn text(not_checked: &NotChecked, width: usize) -> String {
    let mut out = Vec::new();
    let line = format!("not checked: {}", counts(not_checked));
    let written = paragraph(&mut out, &line, "  ", width).and_then(|()| to_do(&mut out, not_checked, width));
    debug_assert!(written.is_ok(), "a list of bytes takes all");
    String::from_utf8_lossy(&out).into_owned()
}

/// Write what would let the reasons go away; what helps for several is said once.
fn to_do(out: &mut dyn Write, not_checked: &NotChecked, width: usize) -> io::Result<()> {
    let mut remedies: Vec<(&str, Vec<String>)> = Vec::new();
    for (reason, _) in not_checked.iter() {
        let remedy = not_checked.remedy(reason);
        match remedies.iter_mut().find(|(known, _)| *known == remedy) {
            Some((_, names)) => names.push(reason.plural()),
            None => remedies.push((remedy, vec![reason.plural()])),
        }
    }
    for (remedy, names) in remedies {
        paragraph(out, &format!("  {}: {remedy}", names.join(", ")), "    ", width)?;
    }
    Ok(())
}

/// Write words up to the width; further lines begin with the gap.
pub(crate) fn paragraph(out: &mut dyn Write, text: &str, gap: &str, width: usize) -> io::Result<()> {
    let lead = &text[..text.len() - text.trim_start().len()];
    for (index, line) in wrap(text, width.saturating_sub(gap.len())).iter().enumerate() {
        writeln!(out, "{}{line}", if index == 0 { lead } else { gap })?;
    }
    Ok(())
}
