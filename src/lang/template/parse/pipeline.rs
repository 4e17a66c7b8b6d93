//! Pipelines: declarations, commands and their operands.

use super::{DEPTH_LIMIT, Parser, Result, behind};
use crate::lang::template::ast::{Chain, Command, Literal, Number, Pipe, Span, Term, TermKind};
use crate::lang::template::lex::{Item, Kind};
use crate::lang::template::number;
use crate::lang::template::quote::{go_quote, unquote};
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
            let (commands, terms) = (self.open.commands.len(), self.open.terms.len());
            let pipe = self.pipeline_body(context, end);
            self.open.commands.truncate(commands);
            self.open.terms.truncate(terms);
            pipe
        };
        self.depth -= 1;
        pipe
    }

    fn pipeline_body(&mut self, context: &str, end: Kind) -> Result<Pipe> {
        let first = self.peek_non_space();
        let mut pipe = Pipe { place: self.place(first.span), ..Pipe::default() };
        self.declarations(&mut pipe, context)?;
        let start = self.open.commands.len();
        loop {
            let item = self.next_non_space();
            match item.kind {
                kind if kind == end => {
                    pipe.commands = behind(&mut self.open.commands, start);
                    self.check_pipeline(&pipe, context)?;
                    let last = pipe.commands.last().map(|command| command.place.span);
                    self.close(&mut pipe.place, last.unwrap_or(first.span));
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
                    self.open.commands.push(command);
                }
                _ => return self.unexpected(&item, context),
            }
        }
    }

    fn declarations(&mut self, pipe: &mut Pipe, context: &str) -> Result<()> {
        let mut declares: SmallVec<[Arc<str>; 2]> = SmallVec::new();
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
                    pipe.is_assign = next.kind == Kind::Assign;
                    self.next_non_space();
                    if let (true, Some(assigns)) = (pipe.is_assign, self.assigns.last_mut()) {
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
        pipe.declares = declares.into_iter().collect();
        Ok(())
    }

    fn check_pipeline(&mut self, pipe: &Pipe, context: &str) -> Result<()> {
        if pipe.commands.is_empty() {
            return self.fail(format!("missing value for {context}"));
        }
        for (index, command) in pipe.commands.iter().enumerate().skip(1) {
            let fixed = matches!(
                command.terms[0].kind,
                TermKind::Bool(_) | TermKind::Dot | TermKind::Nil | TermKind::Number(_) | TermKind::Str(..)
            );
            if fixed {
                return self.fail(format!("non executable command in pipeline stage {}", index + 1));
            }
        }
        Ok(())
    }

    fn command(&mut self) -> Result<Command> {
        let first = self.peek_non_space().span;
        let mut place = self.place(first);
        let start = self.open.terms.len();
        loop {
            self.peek_non_space();
            if let Some(term) = self.operand()? {
                self.open.terms.push(term);
            }
            let item = self.next();
            match item.kind {
                Kind::Space => continue,
                Kind::RightDelim | Kind::RightParen => self.backup(item),
                Kind::Pipe => {}
                _ => return self.unexpected(&item, "operand"),
            }
            break;
        }
        let terms = behind(&mut self.open.terms, start);
        let Some(last) = terms.last() else {
            return self.fail("empty command");
        };
        self.close(&mut place, last.place.span);
        Ok(Command { place, terms })
    }

    fn operand(&mut self) -> Result<Option<Term>> {
        let Some(mut term) = self.term()? else {
            return Ok(None);
        };
        let mut fields = SmallVec::new();
        let Some(ends) = self.fields(&mut fields) else {
            return Ok(Some(term));
        };
        match &term.kind {
            TermKind::Bool(_) | TermKind::Str(..) | TermKind::Number(_) | TermKind::Nil | TermKind::Dot => {
                let shown = go_quote(term.to_string().as_bytes());
                return self.fail(format!("unexpected . after term {shown}"));
            }
            _ => {
                let place = self.place(term.place.span);
                term = Term {
                    place,
                    kind: TermKind::Chain(Box::new(Chain {
                        first: term,
                        fields: fields.into_iter().collect(),
                    })),
                };
            }
        }
        term.place.at = ends.first.start;
        self.close(&mut term.place, ends.last);
        Ok(Some(term))
    }

    /// The fields that follow one another here.
    fn fields(&mut self, found: &mut SmallVec<[Arc<str>; 4]>) -> Option<Ends> {
        let mut ends: Option<Ends> = None;
        while self.peek().kind == Kind::Field {
            let item = self.next();
            let name = &self.value(&item)[1..];
            found.push(self.interned(name));
            let first = ends.map_or(item.span, |ends| ends.first);
            ends = Some(Ends { first, last: item.span });
        }
        ends
    }

    /// A field or variable and the fields that follow it.
    fn names(&mut self, first: &str) -> (Box<[Arc<str>]>, Option<Ends>) {
        let mut names: SmallVec<[Arc<str>; 4]> = SmallVec::new();
        names.push(self.interned(first));
        let ends = self.fields(&mut names);
        (names.into_iter().collect(), ends)
    }

    fn term(&mut self) -> Result<Option<Term>> {
        let item = self.next_non_space();
        let value = self.value(&item);
        let mut span = item.span;
        let mut fields = None;
        let kind = match item.kind {
            Kind::Identifier => {
                if !(self.is_function)(value) {
                    return self
                        .fail_at(span, format!("function {} not defined", go_quote(value.as_bytes())));
                }
                TermKind::Identifier(self.interned(value))
            }
            Kind::Dot => TermKind::Dot,
            Kind::Nil => TermKind::Nil,
            Kind::Variable => {
                if self.vars.find(value).is_none() {
                    return self.fail_at(span, format!("undefined variable {}", go_quote(value.as_bytes())));
                }
                let (names, ends) = self.names(value);
                fields = ends;
                TermKind::Variable(names)
            }
            Kind::Field => {
                let (names, ends) = self.names(&value[1..]);
                fields = ends;
                TermKind::Field(names)
            }
            Kind::Bool => TermKind::Bool(value == "true"),
            Kind::CharConstant | Kind::Complex | Kind::Number => match self.number(&item) {
                Ok(number) => TermKind::Number(Box::new(number)),
                Err(message) => return self.fail(message),
            },
            Kind::LeftParen => {
                let pipe = self.pipeline("parenthesized pipeline", Kind::RightParen)?;
                // The closing one was the last that was read.
                span = span.to(self.last.as_ref().map_or(span, |item| item.span));
                TermKind::Pipe(Box::new(pipe))
            }
            Kind::String | Kind::RawString => match unquote(value) {
                Some(text) => TermKind::Str(Box::new(Literal { written: value.into(), text: text.into() })),
                None => return self.fail("invalid syntax"),
            },
            Kind::Error => return self.unexpected(&item, "operand"),
            _ => {
                self.backup(item);
                return Ok(None);
            }
        };
        let mut place = self.place(span);
        if let TermKind::Pipe(pipe) = &kind {
            place.at = pipe.place.at;
        }
        if let Some(ends) = fields {
            place.at = ends.first.start;
            self.close(&mut place, ends.last);
        }
        Ok(Some(Term { place, kind }))
    }

    fn number(&self, item: &Item) -> std::result::Result<Number, String> {
        let text = self.value(item);
        match item.kind {
            Kind::CharConstant => number::character(text),
            Kind::Complex => number::complex(text),
            _ => number::number(text),
        }
    }
}
