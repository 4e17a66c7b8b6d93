//! Tokens to trees, by the grammar of Go's `text/template/parse/parse.go`.
//!
//! Go stops at the first mistake. Here each is noted, and the parser goes on behind
//! the action that has it, so an editor can show all; the first one is Go's.

mod pipeline;

use super::ast::{Branch, Command, List, Literal, Node, NodePlace, Number, Pipe, Term, Tree, is_empty};
use super::function::FunctionNames;
use super::lex::{Delimiters, Item, Kind, Lexer};
use super::quote::{go_quote, unquote};
use super::scope::Scope;
use super::source::{Span, TemplateSource};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, OnceLock};

/// How deeply actions and parentheses may be nested.
const DEPTH_LIMIT: usize = 250;
/// A text with more mistakes than that is no template.
const ERROR_LIMIT: usize = 100;

/// A mistake of a template's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// In Go's words, with its `template: NAME:LINE: `.
    pub message: String,
    /// Where it is.
    pub span: Span,
}

/// What a text defines.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(super) source: Arc<TemplateSource>,
    /// The text itself, under its own name, then what it defines.
    pub(super) trees: Vec<Arc<Tree>>,
    pub(super) errors: Vec<ParseError>,
}

impl Parsed {
    /// Whether it is no template.
    pub(crate) fn is_broken(&self) -> bool {
        !self.errors.is_empty()
    }
}

/// What a parser keeps from one text to the next: a chart writes the same operands in all its
/// templates, so each is held once, and lists that grow need their memory once.
#[derive(Debug, Default)]
pub(super) struct ParserMemory {
    names: FxHashSet<Arc<str>>,
    /// Fields that follow one another, a variable before them or not.
    paths: FxHashMap<Arc<str>, Arc<[Arc<str>]>>,
    literals: FxHashMap<Arc<str>, Arc<Literal>>,
    numbers: FxHashMap<Arc<str>, Arc<Number>>,
    open: Open,
    spans: Vec<Span>,
    lines: Vec<u32>,
}

impl ParserMemory {
    /// How much is known.
    pub(super) fn len(&self) -> usize {
        self.names.len() + self.paths.len() + self.literals.len() + self.numbers.len()
    }
}

/// What a text defines, and its mistakes.
pub(super) fn parse(
    name: &str,
    shared: Arc<str>,
    delimiters: &Delimiters,
    functions: FunctionNames,
    memory: &mut ParserMemory,
) -> Parsed {
    let text = &*shared;
    let mut lines = std::mem::take(&mut memory.lines);
    lines.clear();
    lines.push(0);
    lines.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at as u32 + 1));
    memory.spans.clear();
    memory.open.clear();
    let mut parser = Parser {
        name,
        text,
        lines: &lines,
        lexer: Lexer::new(text, delimiters),
        last: None,
        pushed: Vec::new(),
        vars: Scope::of("$".into(), ()),
        range_depth: 0,
        depth: 0,
        action_line: 0,
        memory,
        defined: FxHashMap::default(),
        trees: Vec::new(),
        errors: Vec::new(),
        assigns: Vec::new(),
        functions,
    };
    let root = parser.top();
    parser.add(name, root);
    let Parser { mut trees, errors, .. } = parser;
    let own = trees.iter().position(|tree| &*tree.name == name).unwrap_or(0);
    let own = trees.remove(own);
    trees.insert(0, own);
    let spans: Arc<[Span]> = memory.spans.as_slice().into();
    let placed = |tree| Arc::new(Tree { spans: spans.clone(), ..tree });
    let trees = trees.into_iter().map(placed).collect();
    let source = TemplateSource { name: name.into(), text: shared, spans, lines: lines.as_slice().into() };
    memory.lines = lines;
    Parsed { source: Arc::new(source), trees, errors }
}

/// Where the words of a mistake end.
struct Failed;

type Result<T> = std::result::Result<T, Failed>;

struct Parser<'t> {
    name: &'t str,
    text: &'t str,
    lines: &'t [u32],
    lexer: Lexer<'t>,
    /// The token that was read last: mistakes are told at its line.
    last: Option<Item>,
    /// Tokens that were put back, the next one last.
    pushed: Vec<Item>,
    vars: Scope<()>,
    range_depth: usize,
    depth: usize,
    /// The line of the action that is read, or 0.
    action_line: usize,
    memory: &'t mut ParserMemory,
    defined: FxHashMap<Arc<str>, usize>,
    trees: Vec<Tree>,
    errors: Vec<ParseError>,
    /// For each open list, the variables that it assigns.
    assigns: Vec<Vec<Arc<str>>>,
    functions: FunctionNames,
}

/// The parts of lists whose end is not read yet, those of inner ones last: a list gets memory
/// once, as much as it has parts.
#[derive(Debug, Default)]
struct Open {
    nodes: Vec<Node>,
    commands: Vec<Command>,
    terms: Vec<Term>,
}

impl Open {
    fn clear(&mut self) {
        self.nodes.clear();
        self.commands.clear();
        self.terms.clear();
    }
}

fn behind<T>(open: &mut Vec<T>, start: usize) -> Box<[T]> {
    open.split_off(start).into_boxed_slice()
}

/// How a list of nodes ended.
enum Ended {
    Here,
    /// With the token behind, `if` or `with`, that is still to be read.
    Else,
    Eof,
}

impl<'t> Parser<'t> {
    fn next(&mut self) -> Item {
        if let Some(item) = self.pushed.pop() {
            return item;
        }
        loop {
            let item = self.lexer.next_item();
            if item.kind != Kind::Comment {
                self.last = Some(item);
                return item;
            }
        }
    }

    fn backup(&mut self, item: Item) {
        self.pushed.push(item);
    }

    fn peek(&mut self) -> Item {
        let item = self.next();
        self.backup(item);
        item
    }

    fn next_non_space(&mut self) -> Item {
        loop {
            let item = self.next();
            if item.kind != Kind::Space {
                return item;
            }
        }
    }

    fn peek_non_space(&mut self) -> Item {
        let item = self.next_non_space();
        self.backup(item);
        item
    }

    fn line(&self, at: u32) -> usize {
        self.lines.partition_point(|start| *start <= at)
    }

    fn value(&self, item: &Item) -> &'t str {
        &self.text[item.span.range()]
    }

    fn interned(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.memory.names.get(name) {
            return known.clone();
        }
        let name: Arc<str> = name.into();
        self.memory.names.insert(name.clone());
        name
    }

    fn place(&mut self, span: Span) -> NodePlace {
        let id = self.memory.spans.len() as u32;
        self.memory.spans.push(span);
        NodePlace { at: span.start, id }
    }

    fn span(&self, place: NodePlace) -> Span {
        place.span(&self.memory.spans)
    }

    /// The end of a node that is whole now.
    fn close(&mut self, place: NodePlace, end: Span) {
        let span = &mut self.memory.spans[place.id as usize];
        *span = span.to(end);
    }

    /// Notes a mistake at the line of the token that was read last.
    fn fail<T>(&mut self, message: impl AsRef<str>) -> Result<T> {
        let span = self.last.as_ref().map(|item| item.span).unwrap_or_default();
        self.fail_at(span, message)
    }

    fn fail_at<T>(&mut self, span: Span, message: impl AsRef<str>) -> Result<T> {
        let line = self.line(self.last.as_ref().map_or(0, |item| item.span.start));
        if self.errors.len() < ERROR_LIMIT {
            let message = format!("template: {}:{line}: {}", self.name, message.as_ref());
            self.errors.push(ParseError { message, span });
        }
        Err(Failed)
    }

    fn unexpected<T>(&mut self, item: &Item, context: &str) -> Result<T> {
        let described = self.lexer.describe(item);
        if item.kind == Kind::Error {
            let line = self.line(item.span.start);
            if self.action_line != 0 && self.action_line != line {
                let started = format!(" in action started at {}:{}", self.name, self.action_line);
                let extra =
                    if described.ends_with(" action") { &started[" in action".len()..] } else { &started };
                return self.fail_at(item.span, format!("{described}{extra}"));
            }
            return self.fail_at(item.span, described);
        }
        self.fail_at(item.span, format!("unexpected {described} in {context}"))
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Result<Item> {
        let item = self.next_non_space();
        if item.kind == kind { Ok(item) } else { self.unexpected(&item, context) }
    }

    /// Behind the action that has a mistake.
    fn recover(&mut self) {
        let at = self.last.as_ref().map_or(0, |item| {
            if item.kind == Kind::RightDelim || item.kind == Kind::LeftDelim || item.kind == Kind::Text {
                None
            } else {
                Some(item.span.start as usize)
            }
            .unwrap_or(usize::MAX)
        });
        let outside = self
            .last
            .as_ref()
            .is_some_and(|item| matches!(item.kind, Kind::RightDelim | Kind::Text | Kind::Eof));
        if outside {
            // A token that was put back outside of the action is still to be read.
            self.pushed.retain(|item| matches!(item.kind, Kind::Text | Kind::Eof));
        } else {
            self.pushed.clear();
            let from = if at == usize::MAX { 0 } else { at };
            self.lexer.resume_after(from);
        }
        self.action_line = 0;
    }

    /// The text itself: as a list, with `define` besides.
    fn top(&mut self) -> List {
        loop {
            if self.peek().kind == Kind::Eof || self.errors.len() >= ERROR_LIMIT {
                return behind(&mut self.memory.open.nodes, 0);
            }
            if self.peek().kind == Kind::LeftDelim {
                let delimiter = self.next();
                let item = self.next_non_space();
                if item.kind == Kind::Define {
                    if self.definition().is_err() {
                        self.recover();
                    }
                    continue;
                }
                self.backup(item);
                self.backup(delimiter);
            }
            match self.text_or_action() {
                Ok(Step::Node) => {}
                Ok(Step::End) => drop(self.fail::<()>("unexpected {{end}}")),
                Ok(Step::Else) => {
                    drop(self.fail::<()>("unexpected {{else}}"));
                    self.skip_else();
                }
                Err(Failed) => self.recover(),
            }
        }
    }

    /// `else if` where no `else` can be: its condition is read and forgotten.
    fn skip_else(&mut self) {
        if matches!(self.peek().kind, Kind::If | Kind::With) {
            self.recover();
        }
    }

    fn add(&mut self, name: &str, root: List) {
        let name = self.interned(name);
        let Some(at) = self.defined.get(&name).copied() else {
            self.defined.insert(name.clone(), self.trees.len());
            self.trees.push(Tree { name, root, spans: Arc::default(), lookups: OnceLock::new() });
            return;
        };
        if is_empty(&self.trees[at].root, self.text) {
            self.trees[at].root = root;
        } else if !is_empty(&root, self.text) {
            let message = format!("template: multiple definition of template {}", go_quote(name.as_bytes()));
            let _: Result<()> = self.fail(message);
        }
    }

    fn definition(&mut self) -> Result<()> {
        const CONTEXT: &str = "define clause";
        let item = self.next_non_space();
        let name = match self.template_name(&item, CONTEXT) {
            Ok(name) => match self.expect(Kind::RightDelim, CONTEXT) {
                Ok(_) => Some(name),
                Err(Failed) => None,
            },
            Err(Failed) => None,
        };
        if name.is_none() {
            self.recover();
        }
        let root = self.separate_list(CONTEXT)?;
        if let Some(name) = name {
            self.add(&name, root);
        }
        Ok(())
    }

    /// The list of another template, which knows no variable of this one.
    fn separate_list(&mut self, context: &str) -> Result<List> {
        let vars = std::mem::replace(&mut self.vars, Scope::of("$".into(), ()));
        let range_depth = std::mem::take(&mut self.range_depth);
        let assigns = std::mem::take(&mut self.assigns);
        let listed = self.item_list();
        self.vars = vars;
        self.range_depth = range_depth;
        self.assigns = assigns;
        match listed? {
            (list, Ended::Here) => Ok(list),
            (list, Ended::Else) => {
                let _: Result<()> = self.fail(format!("unexpected {{{{else}}}} in {context}"));
                self.skip_else();
                Ok(list)
            }
            (_, Ended::Eof) => Err(Failed),
        }
    }

    /// Text and actions up to `end` or `else`. A mistake within is noted, and the
    /// list goes on behind it.
    fn item_list(&mut self) -> Result<(List, Ended)> {
        let start = self.memory.open.nodes.len();
        self.depth += 1;
        let end = loop {
            if self.depth > DEPTH_LIMIT {
                let _: Result<()> = self.fail(format!("actions are nested more than {DEPTH_LIMIT} deep"));
                // The rest says nothing that could be placed.
                self.errors.truncate(ERROR_LIMIT - 1);
                while self.next().kind != Kind::Eof {}
                break Err(Failed);
            }
            if self.peek_non_space().kind == Kind::Eof {
                break self.fail("unexpected EOF");
            }
            match self.text_or_action() {
                Ok(Step::Node) => {}
                Ok(Step::End) => break Ok(Ended::Here),
                Ok(Step::Else) => break Ok(Ended::Else),
                Err(Failed) if self.errors.len() >= ERROR_LIMIT => break Err(Failed),
                Err(Failed) => self.recover(),
            }
        };
        self.depth -= 1;
        let list = behind(&mut self.memory.open.nodes, start);
        match end {
            Ok(end) => Ok((list, end)),
            // The mistake is noted; what was read still counts.
            Err(Failed) => Ok((list, Ended::Eof)),
        }
    }

    /// Adds a node to those that are open, where its list does not end.
    fn text_or_action(&mut self) -> Result<Step> {
        let item = self.next_non_space();
        match item.kind {
            Kind::Text => {
                let place = self.place(item.span);
                self.memory.open.nodes.push(Node::Text(place, item.span));
                Ok(Step::Node)
            }
            Kind::LeftDelim => {
                self.action_line = self.line(item.span.start);
                let step = self.action(item.span);
                self.action_line = 0;
                step
            }
            _ => self.unexpected(&item, "input"),
        }
    }

    fn action(&mut self, open: Span) -> Result<Step> {
        let item = self.next_non_space();
        let node = match item.kind {
            Kind::Block => self.block(open)?,
            Kind::Break => self.jump(open, "{{break}}", Node::Break)?,
            Kind::Continue => self.jump(open, "{{continue}}", Node::Continue)?,
            Kind::Else => return self.otherwise(),
            Kind::End => {
                self.expect(Kind::RightDelim, "end")?;
                return Ok(Step::End);
            }
            Kind::If => Node::If(Box::new(self.control(open, "if")?)),
            Kind::Range => Node::Range(Box::new(self.control(open, "range")?)),
            Kind::Template => self.template(open)?,
            Kind::With => Node::With(Box::new(self.control(open, "with")?)),
            _ => {
                self.backup(item);
                let at = self.peek().span.start;
                let mut place = self.place(open);
                place.at = at;
                let pipe = self.pipeline("command", Kind::RightDelim)?;
                self.close_action(place);
                self.memory.open.nodes.push(Node::Action(place, pipe));
                return Ok(Step::Node);
            }
        };
        self.memory.open.nodes.push(node);
        Ok(Step::Node)
    }

    fn close_action(&mut self, place: NodePlace) {
        let end = self.last.as_ref().map(|item| item.span).unwrap_or_default();
        self.close(place, end);
    }

    fn jump(&mut self, open: Span, context: &str, node: fn(NodePlace) -> Node) -> Result<Node> {
        let item = self.next_non_space();
        if item.kind != Kind::RightDelim {
            return self.unexpected(&item, context);
        }
        if self.range_depth == 0 {
            return self.fail(format!("{context} outside {{{{range}}}}"));
        }
        Ok(node(self.place(open.to(item.span))))
    }

    fn otherwise(&mut self) -> Result<Step> {
        if !matches!(self.peek_non_space().kind, Kind::If | Kind::With) {
            self.expect(Kind::RightDelim, "else")?;
        }
        Ok(Step::Else)
    }

    fn control(&mut self, open: Span, context: &str) -> Result<Branch> {
        let vars = self.vars.len();
        self.assigns.push(Vec::new());
        let branch = self.control_body(open, context, vars);
        let assigns = self.assigns.pop().unwrap_or_default();
        let known: Box<[Arc<str>]> =
            assigns.into_iter().filter(|name| self.vars.was_declared(name, vars)).collect();
        if let Some(outer) = self.assigns.last_mut() {
            outer.extend(known.iter().cloned());
        }
        self.vars.truncate(vars);
        branch.map(|branch| Branch { assigns: known, ..branch })
    }

    fn control_body(&mut self, open: Span, context: &str, _: usize) -> Result<Branch> {
        let mut place = self.place(open);
        let pipe = match self.pipeline(context, Kind::RightDelim) {
            Ok(pipe) => pipe,
            Err(Failed) => {
                self.recover();
                Pipe::default()
            }
        };
        place.at = pipe.place.at;
        self.close_action(place);
        let is_range = context == "range";
        self.range_depth += usize::from(is_range);
        let listed = self.item_list();
        self.range_depth -= usize::from(is_range);
        let (list, end) = listed?;
        let mut branch = Branch { place, pipe, list, otherwise: None, assigns: Box::default() };
        match end {
            Ended::Here => {}
            Ended::Eof => return Err(Failed),
            Ended::Else => branch.otherwise = Some(self.else_list(context)?),
        }
        Ok(branch)
    }

    fn else_list(&mut self, context: &str) -> Result<List> {
        let item = self.peek();
        let chained = match (context, item.kind) {
            ("if", Kind::If) => Some("if"),
            ("with", Kind::With) => Some("with"),
            _ => None,
        };
        if let Some(word) = chained {
            self.next();
            self.depth += 1;
            let branch = if self.depth > DEPTH_LIMIT {
                self.fail(format!("actions are nested more than {DEPTH_LIMIT} deep"))
            } else {
                self.control(item.span, word)
            };
            self.depth -= 1;
            let branch = branch?;
            let branch = Box::new(branch);
            return Ok(Box::new([if word == "if" { Node::If(branch) } else { Node::With(branch) }]));
        }
        let (list, end) = self.item_list()?;
        match end {
            Ended::Here => Ok(list),
            Ended::Eof => Err(Failed),
            Ended::Else => self.fail("expected end; found {{else}}"),
        }
    }

    fn template_name(&mut self, item: &Item, context: &str) -> Result<String> {
        if !matches!(item.kind, Kind::String | Kind::RawString) {
            return self.unexpected(item, context);
        }
        match unquote(self.value(item)) {
            Some(name) => Ok(String::from_utf8_lossy(&name).into_owned()),
            None => self.fail("invalid syntax"),
        }
    }

    fn template(&mut self, open: Span) -> Result<Node> {
        const CONTEXT: &str = "template clause";
        let mut place = self.place(open);
        let item = self.next_non_space();
        let name = self.template_name(&item, CONTEXT)?;
        place.at = item.span.start;
        let next = self.next_non_space();
        let pipe = if next.kind == Kind::RightDelim {
            None
        } else {
            self.backup(next);
            Some(Box::new(self.pipeline(CONTEXT, Kind::RightDelim)?))
        };
        self.close_action(place);
        Ok(Node::Template(place, self.interned(&name), pipe))
    }

    fn block(&mut self, open: Span) -> Result<Node> {
        const CONTEXT: &str = "block clause";
        let mut place = self.place(open);
        let item = self.next_non_space();
        let name = self.template_name(&item, CONTEXT)?;
        place.at = item.span.start;
        let pipe = self.pipeline(CONTEXT, Kind::RightDelim)?;
        self.close_action(place);
        let root = self.separate_list(CONTEXT)?;
        self.add(&name, root);
        Ok(Node::Template(place, self.interned(&name), Some(Box::new(pipe))))
    }
}

/// What was read in a list.
enum Step {
    Node,
    End,
    Else,
}
