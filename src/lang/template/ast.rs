//! What a template is made of. Every node has the bytes that it stands on.

use super::function::Function;
use super::source::Span;
use smallvec::SmallVec;
use std::fmt::{self, Display, Write as _};
use std::sync::{Arc, OnceLock};

/// Where a node stands. `at` is the place that Go's messages give for it, which for
/// a chain of fields is its second dot.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NodePlace {
    pub(super) at: u32,
    /// The node's number among those of its text.
    pub(super) id: u32,
}

impl NodePlace {
    /// The bytes that it stands on, by the spans of its text.
    pub(super) fn span(self, spans: &[Span]) -> Span {
        spans.get(self.id as usize).copied().unwrap_or_default()
    }
}

/// Boxed slices, as everywhere here: a chart's templates are parsed once and held.
pub(super) type List = Box<[Node]>;

/// Text or an action.
#[derive(Debug)]
pub(super) enum Node {
    /// Read with each run, so it has its span at hand.
    Text(NodePlace, Span),
    Action(NodePlace, Pipe),
    If(Box<Branch>),
    With(Box<Branch>),
    Range(Box<Branch>),
    Template(NodePlace, Arc<str>, Option<Box<Pipe>>),
    Break(NodePlace),
    Continue(NodePlace),
}

/// `if`, `with` or `range`.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) place: NodePlace,
    pub(super) pipe: Pipe,
    pub(super) list: List,
    pub(super) otherwise: Option<List>,
    /// Variables of outside that are assigned in either list: what they are
    /// afterwards was decided here, even where the assignment did not run.
    pub(super) assigns: Box<[Arc<str>]>,
}

/// Commands joined by `|`, perhaps declared to variables. Nearly all have one, which lies
/// here: whoever runs a template waits for each piece of memory that he comes to first.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    pub(super) place: NodePlace,
    pub(super) commands: SmallVec<[Command; 1]>,
    pub(super) declared: Option<Box<Declared>>,
}

/// Variables that a pipe declares, or assigns to.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) names: Box<[Arc<str>]>,
    pub(super) is_assign: bool,
}

impl Pipe {
    /// The variables that it declares, or assigns to.
    pub(super) fn declares(&self) -> &[Arc<str>] {
        self.declared.as_ref().map_or(&[], |declared| &declared.names)
    }

    /// Whether it assigns to variables that are declared before.
    pub(super) fn is_assign(&self) -> bool {
        self.declared.as_ref().is_some_and(|declared| declared.is_assign)
    }
}

/// A function, method, field or value with its arguments; never empty.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) place: NodePlace,
    pub(super) terms: Box<[Term]>,
}

#[derive(Debug)]
pub(super) struct Term {
    pub(super) place: NodePlace,
    pub(super) kind: TermKind,
}

/// Words of a machine or nothing: with a variant of one byte the parser, which hands terms on from
/// function to function, would copy each in pieces, and wait for them.
#[derive(Debug)]
pub(super) enum TermKind {
    True,
    False,
    Number(Arc<Number>),
    Str(Arc<Literal>),
    Nil,
    Dot,
    Field(Arc<[Arc<str>]>),
    /// The name with its `$`, then fields.
    Variable(Arc<[Arc<str>]>),
    Chain(Box<Chain>),
    Identifier(&'static Function),
    Pipe(Box<Pipe>),
}

/// A text between quotes.
#[derive(Debug)]
pub(super) struct Literal {
    /// With them.
    pub(super) written: Arc<str>,
    /// What it says.
    pub(super) text: Arc<[u8]>,
}

/// Fields of what is no field or variable itself.
#[derive(Debug)]
pub(super) struct Chain {
    pub(super) first: Term,
    pub(super) fields: Arc<[Arc<str>]>,
}

/// A number as Go's untyped constants: all that it can be.
#[derive(Clone, Debug, Default)]
pub(super) struct Number {
    pub(super) text: Arc<str>,
    pub(super) int: Option<i64>,
    pub(super) uint: Option<u64>,
    pub(super) float: Option<f64>,
    pub(super) complex: Option<(f64, f64)>,
}

/// A template with a name.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) name: Arc<str>,
    pub(super) root: List,
    /// Those of its source.
    pub(super) spans: Arc<[Span]>,
    /// What it looks up by itself, in the order of their places, once that was asked.
    pub(super) lookups: OnceLock<Vec<FieldLookup>>,
}

/// One look-up: a field, or the whole of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldLookup {
    /// From the data down; empty for all of it.
    pub(crate) path: Vec<PathStep>,
    /// Where it stands.
    pub(crate) span: Span,
    /// Whether it runs whatever the data are: under no condition and in no loop.
    pub(crate) is_certain: bool,
}

/// A step from a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum PathStep {
    /// A field of this name.
    Field(Arc<str>),
    /// An element, whichever a loop is at.
    Element,
    /// The key of such an element.
    Key,
}

/// Whether nothing but white space and comments is in a list.
pub(super) fn is_empty(list: &List, text: &str) -> bool {
    list.iter().all(|node| match node {
        Node::Text(_, span) => text[span.range()].trim_matches(is_white).is_empty(),
        _ => false,
    })
}

fn is_white(c: char) -> bool {
    c.is_whitespace()
}

fn joined(out: &mut fmt::Formatter<'_>, fields: &[Arc<str>], before: &str) -> fmt::Result {
    for field in fields {
        write!(out, "{before}{field}")?;
    }
    Ok(())
}

impl Display for Term {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            TermKind::True => out.write_str("true"),
            TermKind::False => out.write_str("false"),
            TermKind::Number(number) => out.write_str(&number.text),
            TermKind::Str(literal) => out.write_str(&literal.written),
            TermKind::Nil => out.write_str("nil"),
            TermKind::Dot => out.write_char('.'),
            TermKind::Field(fields) => joined(out, fields, "."),
            TermKind::Variable(names) => {
                out.write_str(&names[0])?;
                joined(out, &names[1..], ".")
            }
            TermKind::Chain(chain) => {
                match &chain.first.kind {
                    TermKind::Pipe(pipe) => write!(out, "({pipe})")?,
                    _ => write!(out, "{}", chain.first)?,
                }
                joined(out, &chain.fields, ".")
            }
            TermKind::Identifier(function) => out.write_str(function.name),
            TermKind::Pipe(pipe) => write!(out, "{pipe}"),
        }
    }
}

impl Display for Command {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            if index > 0 {
                out.write_char(' ')?;
            }
            match &term.kind {
                TermKind::Pipe(pipe) => write!(out, "({pipe})")?,
                _ => write!(out, "{term}")?,
            }
        }
        Ok(())
    }
}

impl Display for Pipe {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.declares().is_empty() {
            for (index, name) in self.declares().iter().enumerate() {
                write!(out, "{}{name}", if index > 0 { ", " } else { "" })?;
            }
            out.write_str(if self.is_assign() { " = " } else { " := " })?;
        }
        for (index, command) in self.commands.iter().enumerate() {
            write!(out, "{}{command}", if index > 0 { " | " } else { "" })?;
        }
        Ok(())
    }
}

/// A list as Go writes it back; of control structures that stand in messages.
pub(super) struct Shown<'a>(pub(super) &'a Node, pub(super) &'a str);

impl Display for Shown<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(node, text) = self;
        match node {
            Node::Text(_, span) => out.write_str(&text[span.range()]),
            Node::Action(_, pipe) => write!(out, "{{{{{pipe}}}}}"),
            Node::If(branch) => show_branch(out, "if", branch, text),
            Node::With(branch) => show_branch(out, "with", branch, text),
            Node::Range(branch) => show_branch(out, "range", branch, text),
            Node::Template(_, name, pipe) => {
                write!(out, "{{{{template {}", super::quote::go_quote(name.as_bytes()))?;
                if let Some(pipe) = pipe {
                    write!(out, " {pipe}")?;
                }
                out.write_str("}}")
            }
            Node::Break(_) => out.write_str("{{break}}"),
            Node::Continue(_) => out.write_str("{{continue}}"),
        }
    }
}

fn show_branch(out: &mut fmt::Formatter<'_>, word: &str, branch: &Branch, text: &str) -> fmt::Result {
    write!(out, "{{{{{word} {}}}}}", branch.pipe)?;
    for node in &*branch.list {
        write!(out, "{}", Shown(node, text))?;
    }
    if let Some(otherwise) = &branch.otherwise {
        out.write_str("{{else}}")?;
        for node in &**otherwise {
            write!(out, "{}", Shown(node, text))?;
        }
    }
    out.write_str("{{end}}")
}
