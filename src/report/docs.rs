//! A rule's documentation: its literate test, as a page or for a terminal.

use super::Terminal;
use crate::lang::text::wrap;
use crate::lint::Rule;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::io::{self, Write};

/// Write the page of a rule.
pub(crate) fn markdown(out: &mut dyn Write, rule: &Rule) -> io::Result<()> {
    let (title, rest) = rule.docs.split_once('\n').unwrap_or((rule.docs, ""));
    writeln!(out, "{title}\n\n{}", facts(rule))?;
    out.write_all(rest.as_bytes())
}

/// Write the page of a rule for a terminal.
pub(crate) fn text(out: &mut dyn Write, rule: &Rule, terminal: Terminal) -> io::Result<()> {
    let mut page = Vec::new();
    markdown(&mut page, rule)?;
    let page = String::from_utf8(page).map_err(io::Error::other)?;
    let mut renderer = Renderer {
        out,
        bold: terminal.color,
        width: terminal.width(),
        line: String::new(),
        indent: 0,
        item: false,
    };
    for event in Parser::new_ext(&page, Options::ENABLE_TABLES) {
        renderer.event(event)?;
    }
    Ok(())
}

/// Level, group, scope, fix and first version in one line.
fn facts(rule: &Rule) -> String {
    let level = if rule.default {
        rule.level.name().to_owned()
    } else {
        format!("{} when selected, off by default", rule.level.name())
    };
    format!(
        "Level: {level}. Group: {}. Scope: {}. Fix: {}. Since: {}.",
        rule.group.name(),
        rule.check.scope(),
        rule.fix.name(),
        rule.since
    )
}

struct Renderer<'o> {
    out: &'o mut dyn Write,
    bold: bool,
    /// Columns of text.
    width: usize,
    /// The paragraph, heading, item or row that is being read.
    line: String,
    /// Depth of lists.
    indent: usize,
    /// Whether the next line of a list starts with its mark.
    item: bool,
}

impl Renderer<'_> {
    fn event(&mut self, event: Event<'_>) -> io::Result<()> {
        match event {
            Event::Start(Tag::CodeBlock(_)) => self.flush()?,
            Event::Start(Tag::List(_)) => {
                self.flush()?;
                self.indent += 1;
            }
            Event::Start(Tag::Item) => self.item = true,
            Event::End(TagEnd::Heading(level)) => self.heading(level)?,
            Event::End(TagEnd::Paragraph) => {
                self.flush()?;
                if self.indent == 0 {
                    writeln!(self.out)?;
                }
            }
            Event::End(TagEnd::Item | TagEnd::TableHead | TagEnd::TableRow) => self.flush()?,
            Event::End(TagEnd::List(_)) => {
                self.indent -= 1;
                if self.indent == 0 {
                    writeln!(self.out)?;
                }
            }
            Event::End(TagEnd::Table) => writeln!(self.out)?,
            Event::End(TagEnd::TableCell) => self.line.push_str("  "),
            Event::End(TagEnd::CodeBlock) => {
                for line in std::mem::take(&mut self.line).lines() {
                    writeln!(self.out, "{}", format!("    {line}").trim_end())?;
                }
                writeln!(self.out)?;
            }
            Event::Text(text) => self.line.push_str(&text),
            Event::Code(code) => self.line.push_str(&format!("`{code}`")),
            Event::SoftBreak | Event::HardBreak => self.line.push(' '),
            _ => {}
        }
        Ok(())
    }

    fn heading(&mut self, level: HeadingLevel) -> io::Result<()> {
        let style = if self.bold { anstyle::Style::new().bold() } else { anstyle::Style::new() };
        let text = std::mem::take(&mut self.line);
        let text = if level == HeadingLevel::H1 { text } else { text.to_uppercase() };
        writeln!(self.out, "{style}{text}{style:#}")?;
        if level == HeadingLevel::H1 { writeln!(self.out) } else { Ok(()) }
    }

    /// Write what was read as wrapped lines.
    fn flush(&mut self) -> io::Result<()> {
        let text = std::mem::take(&mut self.line);
        if text.trim().is_empty() {
            return Ok(());
        }
        let margin = "  ".repeat(self.indent.saturating_sub(1));
        let (mut lead, rest) = match (self.indent, self.item) {
            (0, _) => (String::new(), String::new()),
            (_, true) => (format!("{margin}- "), format!("{margin}  ")),
            (_, false) => (format!("{margin}  "), format!("{margin}  ")),
        };
        self.item = false;
        for line in wrap(&text, self.width - rest.chars().count()) {
            writeln!(self.out, "{}{line}", std::mem::replace(&mut lead, rest.clone()))?;
        }
        Ok(())
    }
}
