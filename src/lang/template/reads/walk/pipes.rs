//! Pipelines: commands, operands and fields.

use super::ReadsWalk;
use crate::lang::template::ast::{Command, NodePlace, Pipe, Term, TermKind};
use crate::lang::template::reads::DataShape;
use crate::lang::template::reads::heap::{Atom, Val};
use crate::lang::template::reads::paths::Seg;
use std::sync::Arc;

impl ReadsWalk<'_> {
    pub(super) fn pipe(&mut self, pipe: &Pipe, dot: &Val) -> Val {
        let value = self.commands(pipe, dot);
        for name in pipe.declares() {
            self.declare(name, value.clone(), pipe.is_assign());
        }
        value
    }

    pub(super) fn commands(&mut self, pipe: &Pipe, dot: &Val) -> Val {
        let mut last: Option<Val> = None;
        for command in &*pipe.commands {
            let value = self.command(command, dot, last.take());
            last = Some(self.bounded(value));
        }
        last.unwrap_or_default()
    }

    fn command(&mut self, command: &Command, dot: &Val, last: Option<Val>) -> Val {
        self.steps += 1;
        let Some((first, rest)) = command.terms.split_first() else { return Val::default() };
        match &first.kind {
            TermKind::Identifier(of) => {
                let mut args: Vec<Val> = rest.iter().map(|term| self.term(term, dot)).collect();
                args.extend(last);
                self.function(of.name, args, command.place)
            }
            TermKind::Field(_) | TermKind::Variable(_) | TermKind::Chain(..)
                if !rest.is_empty() || last.is_some() =>
            {
                let mut args: Vec<Val> = rest.iter().map(|term| self.term(term, dot)).collect();
                args.extend(last);
                self.method(first, dot, &args, command.place)
            }
            _ => self.term(first, dot),
        }
    }

    /// What a term stands for, and the names of the fields behind it.
    fn start<'t>(&mut self, term: &'t Term, dot: &Val) -> Option<(Val, &'t [Arc<str>])> {
        Some(match &term.kind {
            TermKind::Field(names) => (dot.clone(), names),
            TermKind::Variable(names) => {
                let (first, rest) = names.split_first()?;
                (self.vars.find(first).map(|(val, _)| val.clone()).unwrap_or_default(), rest)
            }
            TermKind::Chain(chain) => (self.term(&chain.first, dot), &chain.fields),
            _ => return None,
        })
    }

    fn fields(&mut self, start: Val, names: &[Arc<str>]) -> Val {
        names.iter().fold(start, |val, name| {
            let found = match &**name {
                // A method of values: they themselves.
                "AsMap" if self.is_values(&val) => val,
                _ => self.field(&val, name),
            };
            self.bounded(found)
        })
    }

    /// A field with arguments: a method.
    fn method(&mut self, term: &Term, dot: &Val, args: &[Val], place: NodePlace) -> Val {
        let Some((start, names)) = self.start(term, dot) else { return Val::default() };
        let Some((last, before)) = names.split_last() else { return start };
        let of = self.fields(start, before);
        match (&**last, args) {
            ("Get" | "GetBytes" | "Lines", [name]) if of.0.iter().any(|a| matches!(a, Atom::Files(_))) => {
                self.file(&of, name)
            }
            ("PathValue" | "Table", [path]) if self.is_values(&of) => match self.literals(path) {
                Some(paths) => {
                    let mut found = Val::default();
                    for path in paths {
                        let keys: Vec<Arc<str>> = path.split('.').map(Arc::from).collect();
                        found.join(&self.fields(of.clone(), &keys));
                    }
                    found
                }
                None => {
                    self.read_whole(&of);
                    Val::one(Atom::Unseen)
                }
            },
            _ => {
                let of = self.field(&of, last);
                self.derived(&[&[of], args].concat(), place.id)
            }
        }
    }

    /// Whether it is what a template gets as the values of a chart.
    fn is_values(&self, val: &Val) -> bool {
        let is_root = |part: u32| {
            let path = self.reads.path(part);
            let same = |shape: &DataShape| matches!(shape, DataShape::Input(own) if own.iter().map(|key| Seg::Key(key.clone())).eq(path.iter().cloned()));
            self.program.roots.iter().any(|root| match root {
                DataShape::Map(fields) => fields.iter().any(|(_, shape)| same(shape)),
                _ => false,
            })
        };
        val.0.iter().any(|atom| matches!(atom, Atom::Input(part) if is_root(*part)))
    }

    pub(super) fn term(&mut self, term: &Term, dot: &Val) -> Val {
        self.steps += 1;
        if !self.scalars.is_empty() && self.scalars.holds(term) {
            let scalars = std::mem::take(&mut self.scalars);
            let val = self.term(term, dot);
            self.scalars = scalars;
            return self.laid_out(&[val], term.place);
        }
        if let Some((start, names)) = self.start(term, dot) {
            return self.fields(start, names);
        }
        match &term.kind {
            TermKind::Dot => dot.clone(),
            TermKind::Nil => Val::one(Atom::Nil),
            TermKind::Str(literal) => {
                let text = String::from_utf8_lossy(&literal.text);
                Val::one(self.heap.literal(&text))
            }
            TermKind::Number(number) => match number.text.parse() {
                Ok(number) => Val::one(Atom::Int(number)),
                Err(_) => Val::one(Atom::Other),
            },
            TermKind::Identifier(of) => self.function(of.name, Vec::new(), term.place),
            TermKind::Pipe(pipe) => self.pipe(pipe, dot),
            _ => Val::one(Atom::Other),
        }
    }
}
