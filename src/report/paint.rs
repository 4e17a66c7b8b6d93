//! Colour for answers in text: it repeats what the words say already.

use anstyle::{AnsiColor, Style};
use std::io::{self, Write};

/// Columns before the second word of a line, up to which its first one is a verb.
const VERB: usize = 24;

/// Writes an answer, in colour where the terminal shows any.
pub(crate) fn write(out: &mut dyn Write, text: &str, color: bool) -> io::Result<()> {
    if !color {
        return out.write_all(text.as_bytes());
    }
    for line in text.split_inclusive('\n') {
        painted(out, line)?;
    }
    Ok(())
}

fn painted(out: &mut dyn Write, line: &str) -> io::Result<()> {
    let content = line.trim_end_matches('\n');
    let end = &line[content.len()..];
    let lead = &content[..content.len() - content.trim_start().len()];
    let text = content.trim_start();
    let style = |color: AnsiColor| color.on_default();
    let whole = match () {
        () if text.starts_with("+ ") => Some(style(AnsiColor::Green)),
        () if text.starts_with("- ") && !lead.is_empty() => Some(style(AnsiColor::Red)),
        () if !lead.is_empty() && is_place(text) => Some(Style::new().dimmed()),
        () if lead.is_empty() && !text.is_empty() && !text.contains(' ') => Some(Style::new().bold()),
        () => None,
    };
    if let Some(style) = whole {
        return write!(out, "{lead}{style}{text}{style:#}{end}");
    }
    let word = text.split(' ').next().unwrap_or_default();
    let style = (lead.len() < VERB).then(|| of_verb(word)).flatten();
    match style {
        Some(style) if !lead.is_empty() => {
            write!(out, "{lead}{style}{word}{style:#}{}{end}", &text[word.len()..])
        }
        _ => out.write_all(line.as_bytes()),
    }
}

/// The colour of a line's first word: red for what is lost or fails, which stands in
/// capitals, green for what comes, yellow for what changes.
fn of_verb(word: &str) -> Option<Style> {
    let is_loud = word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    let color = match word {
        _ if is_loud => return Some(AnsiColor::Red.on_default().bold()),
        "adds" | "repairs" | "resumes" | "opens" => AnsiColor::Green,
        "deletes" | "orphans" | "closes" | "suspends" => AnsiColor::Red,
        "rolls" | "upgrades" | "renames" | "moves" | "repoints" | "gates" | "scales" | "replaces" => {
            AnsiColor::Yellow
        }
        "changes" | "delays" | "notifies" | "silences" | "keeps" | "labels" | "calls" => AnsiColor::Cyan,
        _ => return None,
    };
    Some(color.on_default())
}

/// Whether a line is nothing but a place: `apps/web.yaml:10`.
fn is_place(text: &str) -> bool {
    let first = text.split([' ', ',']).next().unwrap_or_default();
    let Some((path, line)) = first.rsplit_once(':') else { return false };
    let rest = text[first.len()..].trim_start_matches([',', ' ']);
    !path.is_empty()
        && line.bytes().all(|byte| byte.is_ascii_digit())
        && !line.is_empty()
        && (rest.is_empty() || rest.starts_with("(base)") || rest.starts_with("through "))
}
