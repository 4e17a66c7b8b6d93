//! Pipelines, commands, fields and arguments.

use super::{At, Execution, Frame, MissingKey};
use crate::lang::template::ast::{Chain, Command, Pipe, Term, TermKind};
use crate::lang::template::error::Result;
use crate::lang::template::function::Ty;
use crate::lang::template::methods;
use crate::lang::template::quote::go_quote;
use crate::lang::template::rope::{SharedBytes, Text};
use crate::lang::template::trace::{Prov, SetId, WriterId};
use crate::lang::template::value::{IntType, Kind, Map, MapType, Val};
use std::sync::Arc;

impl Execution {
    pub(super) fn pipeline<'t>(&mut self, frame: &mut Frame<'t>, dot: &Val, pipe: &'t Pipe) -> Result<Val> {
        frame.at = At::Pipe(pipe);
        let mut value: Option<Val> = None;
        for command in &pipe.commands {
            let next = self.command(frame, dot, command, value.take())?;
            value = Some(next.stored());
        }
        let value = value.unwrap_or_else(Val::nil);
        for name in pipe.declares() {
            if !pipe.is_assign() {
                frame.vars.push(name, value.clone());
            } else if !self.assign(frame, name, value.clone()) {
                return Err(frame.fault(format!("undefined variable: {name}")));
            }
        }
        Ok(value)
    }

    pub(super) fn not_a_function(&self, frame: &Frame<'_>, args: &[Term], last: Option<&Val>) -> Result<()> {
        if args.len() > 1 || last.is_some() {
            let first = args.first().map(ToString::to_string).unwrap_or_default();
            return Err(frame.fault(format!("can't give argument to non-function {first}")));
        }
        Ok(())
    }

    pub(super) fn command<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Val,
        command: &'t Command,
        last: Option<Val>,
    ) -> Result<Val> {
        self.cx.step(1)?;
        let first = &command.terms[0];
        let args = &*command.terms;
        match &first.kind {
            TermKind::Field(fields) => {
                frame.at = At::Term(first);
                if args.len() == 1
                    && last.is_none()
                    && let Some(value) = by_keys(dot, fields)
                {
                    return Ok(value);
                }
                return self.fields(frame, dot, dot.clone(), first, fields, args, last);
            }
            TermKind::Chain(..) => return self.chain(frame, dot, first, args, last),
            TermKind::Identifier(function) => {
                frame.at = At::Term(first);
                return self.call(frame, dot, function, At::Command(command), args, last, None);
            }
            TermKind::Pipe(pipe) => {
                self.not_a_function(frame, args, last.as_ref())?;
                return self.pipeline(frame, dot, pipe);
            }
            TermKind::Variable(_) => return self.variable(frame, dot, first, args, last),
            _ => {}
        }
        frame.at = At::Term(first);
        self.not_a_function(frame, args, last.as_ref())?;
        match &first.kind {
            TermKind::Dot => Ok(dot.clone()),
            TermKind::Nil => Err(frame.fault("nil is not a command")),
            _ => self.literal(frame, first),
        }
    }

    /// A constant where any type will do.
    pub(super) fn literal<'t>(&mut self, frame: &mut Frame<'t>, term: &'t Term) -> Result<Val> {
        Ok(match &term.kind {
            TermKind::True | TermKind::False => Val::bool(matches!(term.kind, TermKind::True), SetId::NONE),
            TermKind::Str(literal) => {
                let writer = self.writer(frame, term.place);
                Val::text(self.literal_text(&literal.text, writer))
            }
            TermKind::Number(number) => {
                frame.at = At::Term(term);
                let text = &*number.text;
                let is_hex = text.starts_with("0x") || text.starts_with("0X");
                let is_hex_int = is_hex && !text.contains(['p', 'P']);
                let is_float = number.float.is_some()
                    && !is_hex_int
                    && !text.starts_with('\'')
                    && text.contains(['.', 'e', 'E', 'p', 'P']);
                if let Some((real, imaginary)) = number.complex {
                    Val::new(Kind::Complex(real, imaginary), SetId::NONE)
                } else if let (true, Some(float)) = (is_float, number.float) {
                    Val::float(float, SetId::NONE)
                } else if let Some(int) = number.int {
                    Val::int(int, SetId::NONE)
                } else if number.uint.is_some() {
                    return Err(frame.fault(format!("{text} overflows int")));
                } else {
                    Val::nil()
                }
            }
            _ => Val::nil(),
        })
    }

    pub(super) fn literal_text(&mut self, text: &Arc<[u8]>, writer: WriterId) -> Text {
        if let Some(known) = self.literals.get(&writer) {
            return known.clone();
        }
        let prov = self.cx.trace.prov_id(Prov { writer, ..Prov::default() });
        let text = Text::shared(SharedBytes::Other(text.clone()), prov);
        self.literals.insert(writer, text.clone());
        text
    }

    pub(super) fn chain<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Val,
        term: &'t Term,
        args: &'t [Term],
        last: Option<Val>,
    ) -> Result<Val> {
        let TermKind::Chain(chain) = &term.kind else {
            return Ok(Val::nil());
        };
        let Chain { first, fields } = &**chain;
        frame.at = At::Term(term);
        if let TermKind::Nil = first.kind {
            return Err(frame.fault(format!("indirection through explicit nil in {term}")));
        }
        let receiver = self.arg(frame, dot, None, first)?;
        if args.len() <= 1
            && last.is_none()
            && let Some(value) = by_keys(&receiver, fields)
        {
            return Ok(value);
        }
        self.fields(frame, dot, receiver, term, fields, args, last)
    }

    pub(super) fn variable<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Val,
        term: &'t Term,
        args: &'t [Term],
        last: Option<Val>,
    ) -> Result<Val> {
        let TermKind::Variable(names) = &term.kind else {
            return Ok(Val::nil());
        };
        frame.at = At::Term(term);
        let Some(value) = frame.vars.find(&names[0]) else {
            return Err(frame.fault(format!("undefined variable: {}", names[0])));
        };
        let has_args = args.len() > 1 || last.is_some();
        if !has_args && let Some(value) = by_keys(value, &names[1..]) {
            return Ok(value);
        }
        let value = value.clone();
        if names.len() == 1 {
            self.not_a_function(frame, args, last.as_ref())?;
            return Ok(value);
        }
        self.fields(frame, dot, value, term, &names[1..], args, last)
    }

    #[allow(clippy::too_many_arguments, reason = "Go's own shape")]
    pub(super) fn fields<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Val,
        receiver: Val,
        term: &'t Term,
        fields: &'t [Arc<str>],
        args: &'t [Term],
        last: Option<Val>,
    ) -> Result<Val> {
        let mut receiver = receiver;
        let (end, before) = (fields.last(), &fields[..fields.len().saturating_sub(1)]);
        for field in before {
            receiver = self.field(frame, dot, field, term, &[], None, receiver)?;
        }
        match end {
            Some(field) => self.field(frame, dot, field, term, args, last, receiver),
            None => Ok(receiver),
        }
    }

    #[allow(clippy::too_many_arguments, reason = "Go's own shape")]
    pub(super) fn field<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Val,
        name: &'t str,
        term: &'t Term,
        args: &'t [Term],
        last: Option<Val>,
        receiver: Val,
    ) -> Result<Val> {
        match &receiver.kind {
            Kind::Nil if self.missing_key == MissingKey::Error => {
                let name = go_quote(name.as_bytes());
                return Err(frame.fault(format!("nil data; no entry for key {name}")));
            }
            Kind::Nil => return Ok(receiver),
            Kind::Null => {
                return Err(frame.fault(format!("nil pointer evaluating interface {{}}.{name}")));
            }
            _ => {}
        }
        if let Some(method) = methods::find(&receiver, name) {
            return self.call(frame, dot, method, At::Term(term), args, last, Some(receiver));
        }
        let has_args = args.len() > 1 || last.is_some();
        if let Kind::Struct(of) = &receiver.kind {
            if let Some((_, value)) = of.methods.iter().find(|(known, _)| &**known == name) {
                let count = args.len().saturating_sub(1) + usize::from(last.is_some());
                if count > 0 {
                    return Err(frame.fault(format!("wrong number of args for {name}: want 0 got {count}")));
                }
                return Ok(value.clone());
            }
            if let Some((_, value)) = of.fields.iter().find(|(known, _)| &**known == name) {
                if name.starts_with(|c: char| c.is_lowercase()) {
                    let ty = &of.type_name;
                    let message = format!("{name} is an unexported field of struct type {ty}");
                    return Err(frame.fault(message));
                }
                if has_args {
                    return Err(
                        frame.fault(format!("{name} has arguments but cannot be invoked as function"))
                    );
                }
                return Ok(value.clone());
            }
        }
        if let Kind::Map(map) = &receiver.kind {
            if has_args {
                return Err(frame.fault(format!("{name} is not a method but has arguments")));
            }
            return self.entry(frame, map, name, receiver.from);
        }
        let ty = if receiver.boxed { "interface {}".into() } else { receiver.type_name() };
        Err(frame.fault(format!("can't evaluate field {name} in type {ty}")))
    }

    /// An entry of a map, or that there is none.
    fn entry(&mut self, frame: &Frame<'_>, map: &Map, name: &str, from: SetId) -> Result<Val> {
        if let Some(value) = map.get(name.as_bytes()) {
            return Ok(map.given(value));
        }
        let absent = self.cx.trace.absent(from, name.as_bytes());
        let kind = match (self.missing_key, map.ty) {
            (MissingKey::Error, _) => {
                let name = go_quote(name.as_bytes());
                return Err(frame.fault(format!("map has no entry for key {name}")));
            }
            (MissingKey::Invalid, _) => Kind::Nil,
            (MissingKey::Zero, MapType::Any | MapType::Values) => Kind::Null,
            (MissingKey::Zero, MapType::Strings) => Kind::Str(Text::empty()),
            (MissingKey::Zero, MapType::Files) => Kind::Bytes(Text::empty()),
        };
        Ok(Val::new(kind, absent))
    }

    /// An argument for a parameter of a type, or of none.
    pub(super) fn arg<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Val,
        ty: Option<Ty>,
        term: &'t Term,
    ) -> Result<Val> {
        frame.at = At::Term(term);
        self.cx.step(1)?;
        let value = match &term.kind {
            TermKind::Dot => dot.clone(),
            TermKind::Nil => {
                return match ty {
                    None => Ok(Val::nil()),
                    Some(ty) if ty.can_be_nil() => Ok(Val::nil()),
                    Some(ty) => Err(frame.fault(format!("cannot assign nil to {}", ty.name()))),
                };
            }
            TermKind::Field(fields) => match by_keys(dot, fields) {
                Some(value) => value,
                None => {
                    self.fields(frame, dot, dot.clone(), term, fields, std::slice::from_ref(term), None)?
                }
            },
            TermKind::Variable(_) => self.variable(frame, dot, term, &[], None)?,
            TermKind::Pipe(pipe) => self.pipeline(frame, dot, pipe)?,
            TermKind::Identifier(function) => {
                self.call(frame, dot, function, At::Term(term), &[], None, None)?
            }
            TermKind::Chain(..) => self.chain(frame, dot, term, &[], None)?,
            TermKind::True | TermKind::False | TermKind::Number(_) | TermKind::Str(..) => {
                return self.constant(frame, ty, term);
            }
        };
        match ty {
            Some(ty) => self.validate(frame, value, ty),
            None => Ok(value),
        }
    }

    /// A constant for a parameter.
    pub(super) fn constant<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        ty: Option<Ty>,
        term: &'t Term,
    ) -> Result<Val> {
        let number = if let TermKind::Number(number) = &term.kind { Some(number) } else { None };
        let (found, expected) = match ty {
            None | Some(Ty::Any | Ty::Value) => return self.literal(frame, term),
            Some(Ty::Bool) => (
                matches!(term.kind, TermKind::True | TermKind::False).then(|| self.literal(frame, term)),
                "bool",
            ),
            Some(Ty::Str) => {
                (matches!(term.kind, TermKind::Str(..)).then(|| self.literal(frame, term)), "string")
            }
            Some(Ty::Int) => {
                let int = number.and_then(|number| number.int);
                (int.map(|int| Ok(Val::int(int, SetId::NONE))), "integer")
            }
            Some(Ty::Uint32) => {
                let uint = number.and_then(|number| number.uint);
                let value = uint.map(|uint| {
                    Ok(Val::new(Kind::Int(i64::from(uint as u32), IntType::Uint32), SetId::NONE))
                });
                (value, "unsigned integer")
            }
            Some(Ty::Float) => {
                let float = number.and_then(|number| number.float);
                (float.map(|float| Ok(Val::float(float, SetId::NONE))), "float")
            }
            Some(ty @ (Ty::Map | Ty::Time | Ty::Version | Ty::Certificate)) => {
                return Err(frame.fault(format!("can't handle {term} for arg of type {}", ty.name())));
            }
        };
        frame.at = At::Term(term);
        found.unwrap_or_else(|| Err(frame.fault(format!("expected {expected}; found {term}"))))
    }

    /// Whether a value fits a parameter.
    pub(super) fn validate(&self, frame: &Frame<'_>, value: Val, ty: Ty) -> Result<Val> {
        let fits = match (&value.kind, ty) {
            (Kind::Nil, ty) if ty.can_be_nil() => return Ok(value),
            (Kind::Nil, ty) => return Err(frame.fault(format!("invalid value; expected {}", ty.name()))),
            (_, Ty::Any | Ty::Value) => return Ok(value),
            (Kind::Str(_), Ty::Str)
            | (Kind::Bool(_), Ty::Bool)
            | (Kind::Float(_), Ty::Float)
            | (Kind::Time(_), Ty::Time)
            | (Kind::Int(_, IntType::Int), Ty::Int)
            | (Kind::Version(_), Ty::Version)
            | (Kind::Int(_, IntType::Uint32), Ty::Uint32) => true,
            (Kind::Map(map), Ty::Map) => matches!(map.ty, MapType::Any | MapType::Values),
            (Kind::Struct(of), Ty::Certificate) => of.type_name == "sprig.certificate",
            _ => false,
        };
        if fits {
            return Ok(value);
        }
        let (expected, got) = (ty.name(), value.type_name());
        Err(frame.fault(format!("wrong type for value; expected {expected}; got {got}")))
    }
}

/// Fields up to which a value is gone down by calls of functions.
const FEW: usize = 16;

/// The value of fields where each is a key of a map that has it, as nearly all are: nothing on the
/// way to it is copied.
fn by_keys(receiver: &Val, fields: &[Arc<str>]) -> Option<Val> {
    let Some((first, rest)) = fields.split_first() else { return Some(receiver.clone()) };
    let Kind::Map(map) = &receiver.kind else { return None };
    if fields.len() > FEW || methods::find(receiver, first).is_some() {
        return None;
    }
    let entries = map.entries.borrow();
    let found = &entries.get(first.as_bytes())?.val;
    if rest.is_empty() { Some(map.given(found.clone())) } else { by_keys(found, rest) }
}
