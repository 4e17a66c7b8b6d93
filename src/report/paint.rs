//! Colour for answers in text: it repeats what the words say already.

use anstyle::{AnsiColor, Style};
use std::io::{self, Write};

/// Paints whole lines of an answer on their way to a terminal. Lines that have colours
/// already stay as they are.
#[derive(Debug)]
pub(crate) struct Painter<W: Write> {
    inner: W,
    line: Vec<u8>,
}

impl<W: Write> Painter<W> {
    /// A painter in front of a writer.
    pub(crate) fn new(inner: W) -> Painter<W> {
        Painter { inner, line: Vec::new() }
    }

    fn end_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        match std::str::from_utf8(&line) {
            Ok(text) if !text.contains('\u{1b}') => self.inner.write_all(of_answer(text).as_bytes()),
            _ => self.inner.write_all(&line),
        }
    }
}

impl<W: Write> Write for Painter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.end_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end_line()?;
        self.inner.flush()
    }
}

/// A line of any answer: headings and heads of tables in bold, states in their colour,
/// places and the lines of trees dimmed.
fn of_answer(line: &str) -> String {
    let content = line.trim_end_matches('\n');
    let text = content.trim_start();
    let is_indented = text.len() < content.len();
    let bold = Style::new().bold();
    if is_table_head(text) || !is_indented && (text.starts_with("cluster ") || is_name(text)) {
        return line.replacen(text, &format!("{bold}{text}{bold:#}"), 1);
    }
    let dimmed = Style::new().dimmed();
    let mut out = String::with_capacity(line.len() + 16);
    let branches = line.len() - line.trim_start_matches(['│', '├', '└', '─', ' ']).len();
    if line[..branches].trim().is_empty() {
        out.push_str(&line[..branches]);
    } else {
        out.push_str(&format!("{dimmed}{}{dimmed:#}", &line[..branches]));
    }
    // A state stands alone in its column, or behind the words of a label.
    let mut is_alone = true;
    let mut rest = &line[branches..];
    while !rest.is_empty() {
        let word = &rest[..rest.find([' ', '\n']).unwrap_or(rest.len())];
        let after = &rest[word.len()..];
        let gap = &after[..after.len() - after.trim_start_matches(' ').len()];
        let ends = gap.len() > 1 || after.trim_start_matches(' ').starts_with('\n') || after.is_empty();
        let bare = word.trim_end_matches([',', ';', ')']).trim_start_matches('(');
        let state = (is_alone && (ends || word.ends_with(','))).then(|| of_state(bare)).flatten();
        let style = state.or((is_place(bare) || is_position(bare)).then_some(dimmed));
        match style.filter(|_| !bare.is_empty()) {
            Some(style) => out.push_str(&word.replacen(bare, &format!("{style}{bare}{style:#}"), 1)),
            None => out.push_str(word),
        }
        out.push_str(gap);
        is_alone = gap.len() > 1 || word.ends_with(':');
        rest = &after[gap.len()..];
        if rest.starts_with('\n') {
            out.push_str(rest);
            break;
        }
    }
    out
}

/// Whether a line is the head of a table: `GATE  STATE`, `OBJECT  WAITS FOR`.
fn is_table_head(text: &str) -> bool {
    let is_title = |word: &str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    text.contains("  ") && text.split_whitespace().all(is_title)
}

/// Whether a line is one word that names what follows.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Whether a word is a place with a column: `apps/web.yaml:10:5`.
fn is_position(word: &str) -> bool {
    word.rsplit_once(':').is_some_and(|(place, column)| {
        !column.is_empty() && column.bytes().all(|byte| byte.is_ascii_digit()) && is_place(place)
    })
}

/// The colour of a state: green for what goes on, red for what does not, yellow for what
/// waits or is not known.
fn of_state(word: &str) -> Option<Style> {
    let color = match word {
        "opened" | "yes" | "delivered" | "found" => AnsiColor::Green,
        "closed" | "no" | "NO" | "error" | "missing" | "blocked" => AnsiColor::Red,
        "warning" | "waits" | "unknown" | "suspended" => AnsiColor::Yellow,
        "info" => AnsiColor::Cyan,
        "off" | "none" | "default" => return Some(Style::new().dimmed()),
        _ => return None,
    };
    Some(color.on_default())
}

/// Columns before the second word of a line, up to which its first one is a verb.
const VERB: usize = 24;

/// Writes the plan, in colour where the terminal shows any.
pub(crate) fn write(out: &mut dyn Write, text: &str, color: bool) -> io::Result<()> {
    if !color {
        return out.write_all(text.as_bytes());
    }
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let content = line.trim_end_matches('\n');
        // The verdict and the total.
        if index == 0 || line.starts_with("Plan: ") {
            let bold = Style::new().bold();
            write!(out, "{bold}{content}{bold:#}{}", &line[content.len()..])?;
        } else {
            painted(out, line)?;
        }
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
        () if lead.is_empty() && is_heading(text) => Some(Style::new().bold()),
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

/// Whether a line names the clusters of what follows.
fn is_heading(text: &str) -> bool {
    !text.is_empty() && (!text.contains(' ') || text.starts_with("in "))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn painted(line: &str) -> String {
        let mut out = Vec::new();
        let mut painter = Painter::new(&mut out);
        painter.write_all(line.as_bytes()).and_then(|()| painter.flush()).expect("memory takes it");
        drop(painter);
        let text = String::from_utf8(out).expect("text");
        let marks = [
            ("\u{1b}[0m", "]"),
            ("\u{1b}[1m", "bold["),
            ("\u{1b}[2m", "dim["),
            ("\u{1b}[31m", "red["),
            ("\u{1b}[32m", "green["),
            ("\u{1b}[33m", "yellow["),
            ("\u{1b}[36m", "cyan["),
        ];
        marks.iter().fold(text, |text, (code, mark)| text.replace(code, mark))
    }

    #[test]
    fn states_stand_in_their_column() {
        for (line, shown) in [
            ("cluster production\n", "bold[cluster production]\n"),
            ("  GATE  STATE  RESETS AT\n", "  bold[GATE  STATE  RESETS AT]\n"),
            ("  a/b   closed  -\n", "  a/b   red[closed]  -\n"),
            ("  a/b   opened\n", "  a/b   green[opened]\n"),
            ("delivered: yes (severity info)\n", "delivered: yes (severity info)\n"),
            ("delivered: no\n", "delivered: red[no]\n"),
            ("the gate is closed and no one waits\n", "the gate is closed and no one waits\n"),
            ("  from   apps/a.yaml:23:5\n", "  from   dim[apps/a.yaml:23:5]\n"),
            (
                "  patch  a.yaml:1 (via patch b.yaml:7:5)\n",
                "  patch  dim[a.yaml:1] (via patch dim[b.yaml:7:5])\n",
            ),
            ("├── ConfigMap a/b\n", "dim[├── ]ConfigMap a/b\n"),
            ("  x  error  a b\n", "  x  red[error]  a b\n"),
            ("plain", "bold[plain]"),
            ("\u{1b}[31mred\u{1b}[0m\n", "red[red]\n"),
            ("\n", "\n"),
            ("", ""),
        ] {
            assert_eq!(painted(line), shown, "{line:?}");
        }
    }
}
