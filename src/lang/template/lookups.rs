//! Which parts of its data a template looks up, as far as its text says.

use super::ast::{Branch, Command, FieldLookup, List, Node, PathStep, Pipe, Term, TermKind, Tree};
use super::scope::Scope;
use super::source::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use std::sync::Arc;

type Path = Vec<PathStep>;

/// How deep templates within templates are followed.
const DEPTH_LIMIT: usize = 16;
/// Look-ups that are told.
const LIMIT: usize = 10_000;
/// Steps to what is looked up: a `with` may add as many to each look-up in it.
const STEPS: usize = 100;

/// The look-ups of a template, in the order in which they stand.
pub(super) fn lookups(name: &str, trees: &FxHashMap<Arc<str>, Arc<Tree>>) -> Vec<FieldLookup> {
    let mut walk =
        Walk { trees, spans: &[], found: Vec::new(), vars: Scope::default(), is_certain: true, depth: 0 };
    walk.template(name, Some(Vec::new()));
    walk.found
}

/// A look-up in a branch that was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PassedOver {
    /// From the data down.
    pub(crate) path: Vec<PathStep>,
    /// The outermost branch that was passed over: its pipeline, and where that stands.
    pub(crate) question: Arc<str>,
    /// `if`, `with` or `range`
    pub(crate) word: &'static str,
    /// The number of the source, as [`super::Place::source`], and the bytes of the branch.
    pub(crate) place: super::Place,
}

impl PassedOver {
    pub(super) fn of_source(mut self, source: u32) -> PassedOver {
        self.place.source = source;
        self
    }
}

/// The look-ups of a template, by itself, in branches that were passed over.
pub(super) fn passed_over(tree: &Arc<Tree>, is_passed: &dyn Fn(u32) -> bool) -> Vec<PassedOver> {
    let mut branches = Vec::new();
    outermost(&tree.root, is_passed, &mut branches);
    if branches.is_empty() {
        return Vec::new();
    }
    let lookups = tree.lookups.get_or_init(|| {
        let alone = std::iter::once((tree.name.clone(), tree.clone())).collect();
        let mut lookups = lookups(&tree.name, &alone);
        // A template that runs itself is met several times.
        lookups.sort_by_key(|lookup| lookup.span.start);
        lookups
    });
    // Branches don't overlap.
    let at = |place: u32| lookups.partition_point(|lookup| lookup.span.start < place);
    let mut found = Vec::new();
    for (word, branch) in branches {
        let Some(list) = inside(&branch.list, &tree.spans) else { continue };
        let span = branch.pipe.place.span(&tree.spans);
        let asked: FxHashSet<&[PathStep]> =
            lookups[at(span.start)..at(span.end)].iter().map(|asked| &*asked.path).collect();
        // What lies in an answer that is empty is nothing.
        let is_answer = |lookup: &&FieldLookup| {
            (0..=lookup.path.len()).any(|steps| asked.contains(&lookup.path[..steps]))
        };
        let mut others =
            lookups[at(list.start)..at(list.end)].iter().filter(|one| !is_answer(one)).peekable();
        if others.peek().is_none() {
            continue;
        }
        let question: Arc<str> = branch.pipe.to_string().into();
        let place = super::Place { source: 0, span };
        found.extend(others.map(|lookup| PassedOver {
            path: lookup.path.clone(),
            question: question.clone(),
            word,
            place,
        }));
    }
    found
}

/// The bytes of a list.
fn inside(list: &List, spans: &[Span]) -> Option<Range<u32>> {
    let start = match list.first()? {
        Node::Text(place, _)
        | Node::Action(place, _)
        | Node::Template(place, ..)
        | Node::Break(place)
        | Node::Continue(place) => place,
        Node::If(branch) | Node::With(branch) | Node::Range(branch) => &branch.place,
    };
    Some(start.span(spans).start..end(list, spans)?)
}

/// Behind the last byte of a list, but for the `end` of a branch.
fn end(list: &List, spans: &[Span]) -> Option<u32> {
    Some(match list.last()? {
        Node::Text(place, _)
        | Node::Action(place, _)
        | Node::Template(place, ..)
        | Node::Break(place)
        | Node::Continue(place) => place.span(spans).end,
        Node::If(branch) | Node::With(branch) | Node::Range(branch) => {
            let last = branch.otherwise.as_ref().unwrap_or(&branch.list);
            end(last, spans).unwrap_or(branch.pipe.place.span(spans).end)
        }
    })
}

fn word(node: &Node) -> Option<(&'static str, &Branch)> {
    match node {
        Node::If(branch) => Some(("if", branch)),
        Node::With(branch) => Some(("with", branch)),
        Node::Range(branch) => Some(("range", branch)),
        Node::Text(..) | Node::Action(..) | Node::Template(..) | Node::Break(_) | Node::Continue(_) => None,
    }
}

fn outermost<'t>(
    list: &'t List,
    is_passed: &dyn Fn(u32) -> bool,
    found: &mut Vec<(&'static str, &'t Branch)>,
) {
    for (word, branch) in list.iter().filter_map(word) {
        if is_passed(branch.place.id) {
            found.push((word, branch));
        } else {
            outermost(&branch.list, is_passed, found);
        }
        if let Some(list) = &branch.otherwise {
            outermost(list, is_passed, found);
        }
    }
}

struct Walk<'t> {
    trees: &'t FxHashMap<Arc<str>, Arc<Tree>>,
    /// Those of the template that is read.
    spans: &'t [Span],
    found: Vec<FieldLookup>,
    /// What variables stand for; nothing for what is made.
    vars: Scope<Option<Path>>,
    is_certain: bool,
    depth: usize,
}

/// What the dot is: a part of the data, or something that was made.
type Dot<'d> = Option<&'d Path>;

impl<'t> Walk<'t> {
    fn template(&mut self, name: &str, data: Option<Path>) {
        let trees: &'t FxHashMap<_, _> = self.trees;
        let Some(tree) = trees.get(name).filter(|_| self.depth < DEPTH_LIMIT) else { return };
        self.depth += 1;
        let vars = std::mem::replace(&mut self.vars, Scope::of("$".into(), data.clone()));
        let spans = std::mem::replace(&mut self.spans, &tree.spans);
        self.list(&tree.root, data.as_ref());
        self.spans = spans;
        self.vars = vars;
        self.depth -= 1;
    }

    fn note(&mut self, path: Path, span: Span) {
        if self.found.len() < LIMIT {
            self.found.push(FieldLookup { path, span, is_certain: self.is_certain });
        }
    }

    fn list(&mut self, list: &List, dot: Dot<'_>) {
        let mark = self.vars.len();
        for node in &**list {
            match node {
                Node::Text(..) | Node::Break(_) | Node::Continue(_) => {}
                Node::Action(_, pipe) => drop(self.pipe(pipe, dot, Declared::Whole)),
                Node::If(branch) => self.branch(branch, dot, Kind::If),
                Node::With(branch) => self.branch(branch, dot, Kind::With),
                Node::Range(branch) => self.branch(branch, dot, Kind::Range),
                Node::Template(_, name, pipe) => {
                    let data = pipe.as_ref().and_then(|pipe| self.pipe(pipe, dot, Declared::Whole));
                    self.template(name, data);
                }
            }
        }
        self.vars.truncate(mark);
    }

    fn branch(&mut self, branch: &Branch, dot: Dot<'_>, kind: Kind) {
        let mark = self.vars.len();
        let declared = if kind == Kind::Range { Declared::Element } else { Declared::Whole };
        let value = self.pipe(&branch.pipe, dot, declared);
        let inner = match kind {
            Kind::If => dot.cloned(),
            Kind::With => value,
            Kind::Range => value.map(element),
        };
        let before = std::mem::replace(&mut self.is_certain, false);
        self.list(&branch.list, inner.as_ref());
        if let Some(list) = &branch.otherwise {
            self.list(list, dot);
        }
        self.is_certain = before;
        self.vars.truncate(mark);
        // What was assigned in it may be anything.
        for name in &*branch.assigns {
            if let Some(path) = self.vars.find_mut(name) {
                *path = None;
            }
        }
    }

    /// The part of the data that a pipeline gives, if it is one.
    fn pipe(&mut self, pipe: &Pipe, dot: Dot<'_>, declared: Declared) -> Option<Path> {
        let mut value = None;
        for command in &pipe.commands {
            value = self.command(command, dot);
        }
        if pipe.commands.len() > 1 {
            value = None;
        }
        let paths: Vec<Option<Path>> = match (declared, pipe.declares().len()) {
            (Declared::Element, 2) => {
                let key = value.clone().map(|path| with(path, PathStep::Key));
                vec![key, value.clone().map(element)]
            }
            (Declared::Element, _) => vec![value.clone().map(element)],
            (Declared::Whole, _) => vec![value.clone()],
        };
        for (name, path) in pipe.declares().iter().zip(paths) {
            match self.vars.find_mut(name).filter(|_| pipe.is_assign()) {
                Some(known) => *known = path,
                None => self.vars.push(name.clone(), path),
            }
        }
        value
    }

    fn command(&mut self, command: &Command, dot: Dot<'_>) -> Option<Path> {
        let before = self.is_certain;
        // `and` and `or` evaluate no further than they have to.
        let is_lazy =
            matches!(&command.terms[0].kind, TermKind::Identifier(of) if matches!(of.name, "and" | "or"));
        let mut first = None;
        for (index, term) in command.terms.iter().enumerate() {
            if is_lazy && index > 1 {
                self.is_certain = false;
            }
            let value = self.term(term, dot);
            if index == 0 {
                first = value;
            }
        }
        self.is_certain = before;
        if command.terms.len() == 1 { first } else { None }
    }

    fn term(&mut self, term: &Term, dot: Dot<'_>) -> Option<Path> {
        let fields = |path: &Path, names: &[Arc<str>]| {
            let steps = path.iter().cloned().chain(names.iter().cloned().map(PathStep::Field));
            (path.len() + names.len() <= STEPS).then(|| steps.collect::<Path>())
        };
        let path = match &term.kind {
            TermKind::Dot => dot?.clone(),
            TermKind::Field(names) => fields(dot?, names)?,
            TermKind::Variable(names) => fields(self.vars.find(&names[0])?.as_ref()?, &names[1..])?,
            TermKind::Chain(chain) => {
                let first = self.term(&chain.first, dot)?;
                fields(&first, &chain.fields)?
            }
            TermKind::Pipe(pipe) => return self.pipe(pipe, dot, Declared::Whole),
            TermKind::True
            | TermKind::False
            | TermKind::Number(_)
            | TermKind::Str(..)
            | TermKind::Nil
            | TermKind::Identifier(_) => return None,
        };
        self.note(path.clone(), term.place.span(self.spans));
        Some(path)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    If,
    With,
    Range,
}

/// What the variables of a pipeline get.
#[derive(Clone, Copy)]
enum Declared {
    Whole,
    Element,
}

fn with(mut path: Path, step: PathStep) -> Path {
    path.push(step);
    path
}

fn element(path: Path) -> Path {
    with(path, PathStep::Element)
}
