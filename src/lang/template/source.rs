//! The text that templates stand in, and places in it.

use std::ops::Range;
use std::sync::Arc;

/// Bytes of a template's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first.
    pub start: u32,
    /// Behind the last.
    pub end: u32,
}

impl Span {
    pub(super) fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    pub(super) fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// As a range of bytes.
    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    pub(super) fn to(self, end: Span) -> Span {
        Span { start: self.start, end: end.end.max(self.end) }
    }
}

/// The text of one file or value with all templates that it defines.
#[derive(Debug)]
pub(super) struct TemplateSource {
    /// What messages call it.
    pub(super) name: Arc<str>,
    pub(super) text: Arc<str>,
    /// Spans of its nodes, by their number.
    pub(super) spans: Arc<[Span]>,
    /// Where its lines begin.
    pub(super) lines: Box<[u32]>,
}

impl TemplateSource {
    /// `NAME:LINE:COLUMN`, counted as Go does.
    pub(super) fn location(&self, at: u32) -> String {
        let line = self.lines.partition_point(|start| *start <= at);
        let column = at - self.lines[line.max(1) - 1];
        format!("{}:{}:{}", self.name, line.max(1), column)
    }
}
