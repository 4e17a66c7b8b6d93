//! Pipelines: declarations, commands and their operands.

use super::{DEPTH_LIMIT, Parser, Result};
use crate::lang::template::ast::{Command, Number, Pipe, Term, TermKind};
use crate::lang::template::lex::{Item, Kind};
use crate::lang::template::number;
use crate::lang::template::quote::{go_quote, unquote};
use std::sync::Arc;

impl Parser<'_> {
    pub(super) fn pipeline(&mut self, context: &str, end: Kind) -> Result<Pipe> {
        self.depth += 1;
        let pipe = if self.depth > DEPTH_LIMIT {
            self.fail(format!("expressions are nested more than {DEPTH_LIMIT} deep"))
        } else {
            self.pipeline_body(context, end)
        };
        self.depth -= 1;
        pipe
    }

    fn pipeline_body(&mut self, context: &str, end: Kind) -> Result<Pipe> {
        let first = self.peek_non_space();
        let mut pipe = Pipe { place: self.place(first.span), ..Pipe::default() };
        self.declarations(&mut pipe, context)?;
        loop {
            let item = self.next_non_space();
            match item.kind {
                kind if kind == end => {
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
                    pipe.commands.push(command);
                }
                _ => return self.unexpected(&item, context),
            }
        }
    }

    fn declarations(&mut self, pipe: &mut Pipe, context: &str) -> Result<()> {
        loop {
            let variable = self.peek_non_space();
            if variable.kind != Kind::Variable {
                return Ok(());
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
                    pipe.declares.push(name.clone());
                    self.vars.push(name, ());
                    return Ok(());
                }
                Kind::Char if self.value(&next) == "," => {
                    self.next_non_space();
                    pipe.declares.push(name.clone());
                    self.vars.push(name, ());
                    if context == "range" && pipe.declares.len() < 2 {
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
                    return Ok(());
                }
            }
        }
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
        let mut command = Command { place: self.place(first), terms: Vec::new() };
        loop {
            self.peek_non_space();
            if let Some(term) = self.operand()? {
                command.terms.push(term);
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
        let Some(last) = command.terms.last() else {
            return self.fail("empty command");
        };
        let end = last.place.span;
        self.close(&mut command.place, end);
        Ok(command)
    }

    fn operand(&mut self) -> Result<Option<Term>> {
        let Some(mut term) = self.term()? else {
            return Ok(None);
        };
        let next = self.peek();
        if next.kind != Kind::Field {
            return Ok(Some(term));
        }
        let mut fields: Vec<Arc<str>> = Vec::new();
        let mut end = next.span;
        while self.peek().kind == Kind::Field {
            let item = self.next();
            let name = &self.value(&item)[1..];
            fields.push(self.interned(name));
            end = item.span;
        }
        match &mut term.kind {
            TermKind::Field(own) | TermKind::Variable(own) => own.append(&mut fields),
            TermKind::Bool(_) | TermKind::Str(..) | TermKind::Number(_) | TermKind::Nil | TermKind::Dot => {
                let shown = go_quote(term.to_string().as_bytes());
                return self.fail(format!("unexpected . after term {shown}"));
            }
            _ => {
                let place = self.place(term.place.span);
                term = Term { place, kind: TermKind::Chain(Box::new(term), fields) };
            }
        }
        term.place.at = next.span.start;
        self.close(&mut term.place, end);
        Ok(Some(term))
    }

    fn term(&mut self) -> Result<Option<Term>> {
        let item = self.next_non_space();
        let value = self.value(&item);
        let mut span = item.span;
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
                TermKind::Variable(vec![self.interned(value)])
            }
            Kind::Field => TermKind::Field(vec![self.interned(&value[1..])]),
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
                Some(text) => TermKind::Str(value.into(), text.into()),
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
