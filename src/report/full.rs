//! `full`: a block per finding with the bytes to change.

use super::entries::{self, FindingGroup, by_text};
use super::mask::Masks;
use super::snippet::Snippet;
use super::{Lint, Terminal, place, rule_url, summary};
use crate::config::{Level, Mistake};
use crate::files::Snapshot;
use crate::lang::text::clean;
use crate::lang::text::{counted, line_start, wrap};
use crate::lang::yaml::{Location, Stream};
use crate::lint::{Finding, Rule};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, Severity, SourceCode};
use std::fmt;
use std::io::{self, Write};

/// Write the findings and the summary.
pub fn write(out: &mut dyn Write, lint: &Lint<'_>, terminal: Terminal) -> io::Result<()> {
    let handler = handler(terminal);
    let mut masks = Masks::of_values(lint.secrets.clone());
    for entry in by_text(lint) {
        let finding = entry.first;
        head(out, finding.rule, finding.level, terminal)?;
        let mut text = String::new();
        let block = Block::of(finding, lint.snapshot(), &mut masks, terminal.width());
        handler.render_report(&mut text, &block).map_err(io::Error::other)?;
        out.write_all(text.trim_start_matches('\n').as_bytes())?;
        tail(out, lint.snapshot(), finding)?;
        others(out, lint, &entry, terminal.width())?;
        writeln!(out)?;
    }
    if lint.summary { summary::write(out, lint) } else { Ok(()) }
}

/// A mistake of the configuration, whose text is given, as a block.
pub(crate) fn mistake(mistake: &Mistake, text: &str) -> String {
    let stream = Stream::parse(text);
    let location = &mistake.location;
    let terminal = Terminal { columns: Some(80), ..Terminal::default() };
    let width = terminal.width();
    let block = Block {
        title: lines(&mistake.message, "  × ", width),
        why: None,
        help: lines(&mistake.help, "  help: ", width),
        level: Level::Error,
        label: String::new(),
        snippet: Some(Snippet::new(location.file.to_string(), &stream, location.start..location.end, &[])),
    };
    let mut shown = String::new();
    match handler(terminal).render_report(&mut shown, &block) {
        Ok(()) => shown,
        Err(_) => format!("{}: {}\n", clean(location.file.shown()), block.title),
    }
}

fn handler(terminal: Terminal) -> GraphicalReportHandler {
    let theme = if terminal.color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    // Lines are wrapped here and not there, where words break at hyphens: names
    // and paths stay whole so that they can be copied.
    GraphicalReportHandler::new_themed(theme).with_width(200).with_wrap_lines(false).with_links(false)
}

/// Text cleaned and wrapped for the columns that a lead leaves of the width.
fn lines(text: &str, lead: &str, width: usize) -> String {
    wrap(&clean(text), width - lead.chars().count()).join("\n")
}

/// `rule-id (level)`, linked to the rule's page where that works.
fn head(out: &mut dyn Write, rule: &Rule, level: Level, terminal: Terminal) -> io::Result<()> {
    let style = match level {
        _ if !terminal.color => anstyle::Style::new(),
        Level::Error => anstyle::AnsiColor::Red.on_default(),
        Level::Warning => anstyle::AnsiColor::Yellow.on_default(),
        _ => anstyle::AnsiColor::Cyan.on_default(),
    };
    let (open, close) = if terminal.links {
        (format!("\u{1b}]8;;{}\u{1b}\\", rule_url(rule)), "\u{1b}]8;;\u{1b}\\")
    } else {
        (String::new(), "")
    };
    writeln!(out, "{style}{open}{}{close}{style:#} ({})", rule.id, level.name())
}

/// Other places, and what the value went through.
fn tail(out: &mut dyn Write, snapshot: &Snapshot, finding: &Finding) -> io::Result<()> {
    let named = |location: &Location| {
        let path = clean(location.file.shown());
        match place(snapshot, location) {
            Some(place) => format!("{path}:{}", place.from.0),
            None => path.into_owned(),
        }
    };
    let file = snapshot.find(&finding.location.file);
    if file.and_then(|file| snapshot.stream(file)).is_none() {
        writeln!(out, "    in: {}", named(&finding.location))?;
    }
    for via in &finding.location.via {
        writeln!(out, "   via: {} ({})", via.kind.name(), named(&via.location))?;
    }
    for related in &finding.related {
        writeln!(out, "   see: {} ({})", clean(&related.message), named(&related.location))?;
    }
    Ok(())
}

/// The clusters and objects of an entry, and the findings that it stands for.
fn others(out: &mut dyn Write, lint: &Lint<'_>, entry: &FindingGroup<'_>, width: usize) -> io::Result<()> {
    let mut names = |lead: &str, text: Option<String>| -> io::Result<()> {
        let Some(text) = text else { return Ok(()) };
        writeln!(out, "{lead}{}", lines(&text, lead, width).replace('\n', "\n        "))
    };
    names("    in: ", entries::clusters(lint, entry.first))?;
    names("   and: ", entries::more_objects(entry.first))?;
    let (also, more) = entries::also(entry);
    for other in also {
        let clusters = entries::clusters(lint, other).map_or(String::new(), |text| format!(" (in {text})"));
        names("  also: ", Some(format!("{}{clusters}", other.title)))?;
    }
    names("  also: ", (more > 0).then(|| format!("{more} more of this rule at this place")))?;
    if entry.elsewhere.is_empty() {
        return Ok(());
    }
    writeln!(out, "  also: {}", counted(entry.elsewhere.len(), "other place"))?;
    for other in entry.elsewhere.iter().take(entries::PLACES) {
        let at = line_start(&entries::at(lint, other));
        writeln!(out, "        {at}  {}", clean(entries::subject(other)))?;
    }
    match entry.elsewhere.len().saturating_sub(entries::PLACES) {
        0 => Ok(()),
        more => writeln!(out, "        and {more} more (--format concise lists all)"),
    }
}

/// A finding or mistake as the renderer wants it.
#[derive(Debug)]
struct Block {
    title: String,
    why: Option<Why>,
    help: String,
    level: Level,
    label: String,
    snippet: Option<Snippet>,
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Why(String);

impl Block {
    fn of(finding: &Finding, snapshot: &Snapshot, masks: &mut Masks, width: usize) -> Block {
        let location = &finding.location;
        let stream = snapshot.find(&location.file).and_then(|file| snapshot.stream(file));
        let snippet = stream.map(|stream| {
            let masks = masks.of(snapshot, &location.file);
            Snippet::new(
                clean(location.file.shown()).into_owned(),
                stream,
                location.start..location.end,
                masks,
            )
        });
        Block {
            title: lines(&finding.title, "  × ", width),
            why: (!finding.why.is_empty()).then(|| Why(lines(&finding.why, "  ╰─▶ ", width))),
            help: lines(&finding.help, "  help: ", width),
            level: finding.level,
            label: clean(&finding.label).into_owned(),
            snippet,
        }
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.title)
    }
}

impl std::error::Error for Block {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.why.as_ref().map(|why| why as _)
    }
}

impl Diagnostic for Block {
    fn severity(&self) -> Option<Severity> {
        Some(match self.level {
            Level::Error => Severity::Error,
            Level::Warning => Severity::Warning,
            Level::Info | Level::Off => Severity::Advice,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        (!self.help.is_empty()).then(|| Box::new(&self.help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.snippet.as_ref().map(|snippet| snippet as _)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let snippet = self.snippet.as_ref()?;
        let label = (!self.label.is_empty()).then(|| self.label.clone());
        let span = LabeledSpan::new_primary_with_span(label, snippet.label.clone());
        Some(Box::new(std::iter::once(span)))
    }
}
