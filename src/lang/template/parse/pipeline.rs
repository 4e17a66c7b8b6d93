//! Pipelines: declarations, commands and their operands.

use super::{DEPTH_LIMIT, Parser, Result, behind};
use crate::lang::template::ast::{Chain, Command, Declared, Literal, Number, Pipe, Term, TermKind};
use crate::lang::template::lex::{Item, Kind};
use crate::lang::template::number;
use crate::lang::template::quote::{go_quote, unquote};
use crate::lang::template::source::Span;
use smallvec::SmallVec;
use std::sync::Arc;

/// Where fields that follow one another stand.
#[derive(Clone, Copy)]
struct Ends {
    first: Span,
    last: Span,
}

impl Parser<'_> {
    pub(super) fn pipeline(&mut self, context: &str, end: Kind) -> Result<Pipe> {
        self.depth += 1;
        let pipe = if self.depth > DEPTH_LIMIT {
            self.fail(format!("expressions are nested more than {DEPTH_LIMIT} deep"))
        } else {
            let (commands, terms) = (self.memory.open.commands.len(), self.memory.open.terms.len());
            let pipe = self.pipeline_body(context, end);
            self.memory.open.commands.truncate(commands);
            self.memory.open.terms.truncate(terms);
            pipe
        };
        self.depth -= 1;
        pipe
    }

    fn pipeline_body(&mut self, context: &str, end: Kind) -> Result<Pipe> {
        let first = self.peek_non_space();
        let mut pipe = Pipe { place: self.place(first.span), ..Pipe::default() };
        self.declarations(&mut pipe, context)?;
        let start = self.memory.open.commands.len();
        loop {
            let item = self.next_non_space();
            match item.kind {
                kind if kind == end => {
                    pipe.commands = self.memory.open.commands.drain(start..).collect();
                    self.check_pipeline(&pipe, context)?;
                    let last = pipe.commands.last().map(|command| self.span(command.place));
                    self.close(pipe.place, last.unwrap_or(first.span));
                    return Ok(pipe);
                }
                Kind::Bool
                | Kind::CharConstant
                | Kind::Complex
                | Kind::Dot
                | Kind::Field
                | Kind::Identifier
                | Kind::Number
                | Kind::Nil
                | Kind::RawString
                | Kind::String
                | Kind::Variable
                | Kind::LeftParen => {
                    self.backup(item);
                    let command = self.command()?;
                    self.memory.open.commands.push(command);
                }
                _ => return self.unexpected(&item, context),
            }
        }
    }

    fn declarations(&mut self, pipe: &mut Pipe, context: &str) -> Result<()> {
        let mut declares: SmallVec<[Arc<str>; 2]> = SmallVec::new();
        let mut is_assign = false;
        loop {
            let variable = self.peek_non_space();
            if variable.kind != Kind::Variable {
                break;
            }
            self.next_non_space();
            let behind = self.peek();
            let next = self.peek_non_space();
            let name = self.interned(self.value(&variable));
            match next.kind {
                Kind::Assign | Kind::Declare => {
                    is_assign = next.kind == Kind::Assign;
                    self.next_non_space();
                    if let (true, Some(assigns)) = (is_assign, self.assigns.last_mut()) {
                        assigns.push(name.clone());
                    }
                    declares.push(name.clone());
                    self.vars.push(name, ());
                    break;
                }
                Kind::Char if self.value(&next) == "," => {
                    self.next_non_space();
                    declares.push(name.clone());
                    self.vars.push(name, ());
                    if context == "range" && declares.len() < 2 {
                        match self.peek_non_space().kind {
                            Kind::Variable | Kind::RightDelim | Kind::RightParen => continue,
                            _ => return self.fail("range can only initialize variables"),
                        }
                    }
                    return self.fail(format!("too many declarations in {context}"));
                }
                _ => {
                    if behind.kind == Kind::Space {
                        self.backup(behind);
                    }
                    self.backup(variable);
                    break;
                }
            }
        }
        if !declares.is_empty() {
            pipe.declared = Some(Box::new(Declared { names: declares.into_iter().collect(), is_assign }));
        }
        Ok(())
    }

    fn check_pipeline(&mut self, pipe: &Pipe, context: &str) -> Result<()> {
        if pipe.commands.is_empty() {
            return self.fail(format!("missing value for {context}"));
        }
        for (index, command) in pipe.commands.iter().enumerate().skip(1) {
            let fixed = matches!(
                command.terms[0].kind,
                TermKind::True
                    | TermKind::False
                    | TermKind::Dot
                    | TermKind::Nil
                    | TermKind::Number(_)
                    | TermKind::Str(..)
            );
            if fixed {
                return self.fail(format!("non executable command in pipeline stage {}", index + 1));
            }
        }
        Ok(())
    }

    fn command(&mut self) -> Result<Command> {
        let first = self.peek_non_space().span;
        let place = self.place(first);
        let start = self.memory.open.terms.len();
        loop {
            self.peek_non_space();
            self.operand()?;
            let item = self.next();
            match item.kind {
                Kind::Space => continue,
                Kind::RightDelim | Kind::RightParen => self.backup(item),
                Kind::Pipe => {}
                _ => return self.unexpected(&item, "operand"),
            }
            break;
        }
        let terms = behind(&mut self.memory.open.terms, start);
        let Some(last) = terms.last() else {
            return self.fail("empty command");
        };
        self.close(place, self.span(last.place));
        Ok(Command { place, terms })
    }

    /// Adds a term with the fields behind it to those that are open, if one is here.
    fn operand(&mut self) -> Result<()> {
        let open = self.memory.open.terms.len();
        self.term()?;
        if self.memory.open.terms.len() == open {
            return Ok(());
        }
        let Some(ends) = self.fields() else {
            return Ok(());
        };
        let Some(mut term) = self.memory.open.terms.pop() else {
            return Ok(());
        };
        match &term.kind {
            TermKind::True
            | TermKind::False
            | TermKind::Str(..)
            | TermKind::Number(_)
            | TermKind::Nil
            | TermKind::Dot => {
                let shown = go_quote(term.to_string().as_bytes());
                return self.fail(format!("unexpected . after term {shown}"));
            }
            _ => {
                let place = self.place(self.span(term.place));
                let fields = self.path(ends.first.to(ends.last));
                term = Term { place, kind: TermKind::Chain(Box::new(Chain { first: term, fields })) };
            }
        }
        term.place.at = ends.first.start;
        self.close(term.place, ends.last);
        self.memory.open.terms.push(term);
        Ok(())
    }

    /// Where the fields stand that follow one another here, which nothing separates.
    fn fields(&mut self) -> Option<Ends> {
        let mut ends: Option<Ends> = None;
        while self.peek().kind == Kind::Field {
            let item = self.next();
            let first = ends.map_or(item.span, |ends| ends.first);
            ends = Some(Ends { first, last: item.span });
        }
        ends
    }

    /// The names of fields that follow one another, perhaps behind a variable.
    fn path(&mut self, span: Span) -> Arc<[Arc<str>]> {
        let written = &self.text[span.range()];
        if let Some(known) = self.memory.paths.get(written) {
            return known.clone();
        }
        let names = written.strip_prefix('.').unwrap_or(written).split('.');
        let names: SmallVec<[Arc<str>; 4]> = names.map(|name| self.interned(name)).collect();
        let path: Arc<[Arc<str>]> = names.into_iter().collect();
        self.memory.paths.insert(written.into(), path.clone());
        path
    }

    /// A field or variable and the fields that follow it.
    fn names(&mut self, first: Span) -> (Arc<[Arc<str>]>, Option<Ends>) {
        let ends = self.fields();
        (self.path(ends.map_or(first, |ends| first.to(ends.last))), ends)
    }

    /// A text between quotes; nothing where it is none.
    fn literal(&mut self, written: &str) -> Option<Arc<Literal>> {
        if let Some(known) = self.memory.literals.get(written) {
            return Some(known.clone());
        }
        let text = unquote(written)?.into();
        let written: Arc<str> = written.into();
        let literal = Arc::new(Literal { written: written.clone(), text });
        self.memory.literals.insert(written, literal.clone());
        Some(literal)
    }

    /// Adds a term to those that are open, if one is here. It is written where it stays: handed
    /// on, it would be copied from function to function, a tenth of what parsing takes.
    fn term(&mut self) -> Result<()> {
        let item = self.next_non_space();
        let value = self.value(&item);
        let span = item.span;
        match item.kind {
            Kind::Identifier => {
                let Some(function) = self.functions.find(value) else {
                    return self
                        .fail_at(span, format!("function {} not defined", go_quote(value.as_bytes())));
                };
                self.add_term(span, TermKind::Identifier(function));
            }
            Kind::Dot => self.add_term(span, TermKind::Dot),
            Kind::Nil => self.add_term(span, TermKind::Nil),
            Kind::Variable => {
                if self.vars.find(value).is_none() {
                    return self.fail_at(span, format!("undefined variable {}", go_quote(value.as_bytes())));
                }
                let (names, ends) = self.names(span);
                self.add_path(span, ends, TermKind::Variable(names));
            }
            Kind::Field => {
                let (names, ends) = self.names(span);
                self.add_path(span, ends, TermKind::Field(names));
            }
            Kind::Bool if value == "true" => self.add_term(span, TermKind::True),
            Kind::Bool => self.add_term(span, TermKind::False),
            Kind::CharConstant | Kind::Complex | Kind::Number => match self.number(&item) {
                Ok(number) => self.add_term(span, TermKind::Number(number)),
                Err(message) => return self.fail(message),
            },
            Kind::LeftParen => {
                let pipe = Box::new(self.pipeline("parenthesized pipeline", Kind::RightParen)?);
                // The closing one was the last that was read.
                let mut place = self.place(span.to(self.last.as_ref().map_or(span, |item| item.span)));
                place.at = pipe.place.at;
                self.memory.open.terms.push(Term { place, kind: TermKind::Pipe(pipe) });
            }
            Kind::String | Kind::RawString => match self.literal(value) {
                Some(literal) => self.add_term(span, TermKind::Str(literal)),
                None => return self.fail("invalid syntax"),
            },
            Kind::Error => return self.unexpected(&item, "operand"),
            _ => self.backup(item),
        }
        Ok(())
    }

    #[inline]
    fn add_term(&mut self, span: Span, kind: TermKind) {
        let place = self.place(span);
        self.memory.open.terms.push(Term { place, kind });
    }

    /// Of a field or variable, and where the fields stand that follow it.
    #[inline]
    fn add_path(&mut self, span: Span, ends: Option<Ends>, kind: TermKind) {
        let mut place = self.place(span);
        if let Some(ends) = ends {
            place.at = ends.first.start;
            self.close(place, ends.last);
        }
        self.memory.open.terms.push(Term { place, kind });
    }

    fn number(&mut self, item: &Item) -> std::result::Result<Arc<Number>, String> {
        let text = self.value(item);
        if let Some(known) = self.memory.numbers.get(text) {
            return Ok(known.clone());
        }
        let number = Arc::new(match item.kind {
            Kind::CharConstant => number::character(text)?,
            Kind::Complex => number::complex(text)?,
            _ => number::number(text)?,
        });
        self.memory.numbers.insert(number.text.clone(), number.clone());
        Ok(number)
    }
}
