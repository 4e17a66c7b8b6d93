//! Runs templates, as Go's `text/template/exec.go` does.

use super::ast::{Branch, Command, List as Nodes, Node, Pipe, Place, Shown, Source, Term, TermKind, Tree};
use super::bound::Bound;
use super::error::{Fault, Result};
use super::flow;
use super::function::{Call, Function, Run, Ty};
use super::limits::Cx;
use super::methods;
use super::print::{Printer, scalar};
use super::rope::{Builder, Text};
use super::trace::{CondId, Prov, ProvId, SetId, WriterId};
use super::value::{IntType, Kind, Map, MapType, Val};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A template, and the source that it stands in.
#[derive(Clone, Debug)]
pub(super) struct Template {
    pub(super) tree: Rc<Tree>,
    pub(super) source: Rc<Source>,
    /// What to add to the numbers of its nodes.
    pub(super) base: u32,
    /// The text as a value, where it is one of the run.
    pub(super) text: Option<Text>,
}

/// Templates by name. Those of a text that `tpl` runs stand before those around it.
#[derive(Debug, Default)]
pub(super) struct Set {
    pub(super) outer: Option<Rc<Set>>,
    pub(super) templates: FxHashMap<Rc<str>, Template>,
}

impl Set {
    pub(super) fn get(&self, name: &str) -> Option<&Template> {
        let mut set = self;
        loop {
            if let Some(template) = set.templates.get(name) {
                return Some(template);
            }
            set = set.outer.as_deref()?;
        }
    }
}

/// A text that is parsed for `tpl`.
pub(super) type Parsed = std::result::Result<Rc<super::parse::Parsed>, Rc<str>>;

/// One run over a set of templates.
pub(super) struct Execution {
    pub(super) cx: Cx,
    pub(super) set: Rc<Set>,
    pub(super) functions: fn(&str) -> Option<&'static Function>,
    /// Parses a text for `tpl`.
    pub(super) parsed: FxHashMap<Rc<[u8]>, (Parsed, u32)>,
    pub(super) sources: Vec<Rc<Source>>,
    pub(super) included: FxHashMap<Rc<str>, usize>,
    pub(super) out: Builder,
    pub(super) under: CondId,
    pub(super) depth: usize,
}

#[derive(Clone, Copy)]
enum At<'t> {
    Start,
    Node(&'t Node),
    Pipe(&'t Pipe),
    Term(&'t Term),
    Command(&'t Command),
}

struct Variable {
    name: Rc<str>,
    value: Val,
}

/// One template that runs.
struct Frame<'t> {
    template: &'t Template,
    vars: Vec<Variable>,
    at: At<'t>,
}

enum Step {
    Next,
    Break,
    Continue,
}

impl<'t> Frame<'t> {
    fn place(&self) -> Option<(Place, String)> {
        Some(match self.at {
            At::Start => return None,
            At::Node(node) => {
                let place = match node {
                    Node::Text(place) | Node::Action(place, _) | Node::Template(place, ..) => *place,
                    Node::Break(place) | Node::Continue(place) => *place,
                    Node::If(branch) | Node::With(branch) | Node::Range(branch) => branch.place,
                };
                (place, Shown(node, &self.template.source.text).to_string())
            }
            At::Pipe(pipe) => (pipe.place, pipe.to_string()),
            At::Term(term) => (term.place, term.to_string()),
            At::Command(command) => (command.place, command.to_string()),
        })
    }

    /// `s.errorf`: the message with where it happened.
    fn fault(&self, message: impl AsRef<str>) -> Box<Fault> {
        let message = message.as_ref();
        let name = &self.template.tree.name;
        let message = match self.place() {
            None => format!("template: {name}: {message}"),
            Some((place, context)) => {
                let location = self.template.source.location(place.at);
                let name = super::quote::go_quote(name.as_bytes());
                format!("template: {location}: executing {name} at <{context}>: {message}")
            }
        };
        let mut fault = Fault::new(message);
        fault.is_exec = true;
        fault
    }

    /// What a function returned, as the error of this place.
    fn calling(&self, name: &str, cause: Fault) -> Box<Fault> {
        let mut fault = self.fault(format!("error calling {name}: {}", cause.message()));
        fault.bound = cause.bound;
        fault.chain.extend(cause.chain);
        fault
    }

    fn var(&self, name: &str) -> Option<&Variable> {
        self.vars.iter().rev().find(|var| &*var.name == name)
    }
}

impl Execution {
    /// Runs a template with data; its output.
    pub(super) fn execute(&mut self, template: &Template, data: Val) -> Result<Text> {
        if self.depth >= self.cx.limits.depth {
            return Err(Fault::bound(Bound::Depth(self.cx.limits.depth)));
        }
        self.depth += 1;
        let out = std::mem::take(&mut self.out);
        let result = self.run_frame(template, data);
        self.depth -= 1;
        let own = std::mem::replace(&mut self.out, out);
        result.map(|()| own.finish())
    }

    fn run_frame(&mut self, template: &Template, data: Val) -> Result<()> {
        let vars = vec![Variable { name: "$".into(), value: data.clone() }];
        let mut frame = Frame { template, vars, at: At::Start };
        self.list(&mut frame, &data, &template.tree.root).map(drop)
    }

    fn writer(&self, frame: &Frame<'_>, place: Place) -> WriterId {
        self.cx.trace.writer(frame.template.base, place.id)
    }

    fn list<'t>(&mut self, frame: &mut Frame<'t>, dot: &Val, list: &'t Nodes) -> Result<Step> {
        for node in list {
            match self.node(frame, dot, node)? {
                Step::Next => {}
                step => return Ok(step),
            }
        }
        Ok(Step::Next)
    }

    fn node<'t>(&mut self, frame: &mut Frame<'t>, dot: &Val, node: &'t Node) -> Result<Step> {
        frame.at = At::Node(node);
        self.cx.step(1)?;
        match node {
            Node::Text(place) => self.static_text(frame, *place)?,
            Node::Action(place, pipe) => {
                let value = self.pipeline(frame, dot, pipe)?;
                if pipe.declares.is_empty() {
                    frame.at = At::Node(node);
                    self.print(frame, *place, &value)?;
                }
            }
            Node::If(branch) => return self.if_or_with(frame, dot, branch, false),
            Node::With(branch) => return self.if_or_with(frame, dot, branch, true),
            Node::Range(branch) => return self.range(frame, dot, node, branch),
            Node::Template(_, name, pipe) => self.template(frame, dot, name, pipe.as_ref())?,
            Node::Break(_) => return Ok(Step::Break),
            Node::Continue(_) => return Ok(Step::Continue),
        }
        Ok(Step::Next)
    }

    fn check_output(&self) -> Result<()> {
        if self.out.len() > self.cx.limits.output {
            return Err(Fault::bound(Bound::Output(self.cx.limits.output)));
        }
        Ok(())
    }

    fn static_text(&mut self, frame: &Frame<'_>, place: Place) -> Result<()> {
        let writer = self.writer(frame, place);
        let range = place.span.range();
        match &frame.template.text {
            None => {
                let prov = Prov { writer, from: SetId::NONE, under: self.under };
                let prov = self.cx.trace.prov_id(prov);
                self.out.push(frame.template.source.text[range].as_bytes(), prov);
            }
            Some(text) => {
                let text = text.slice(range);
                self.write(&text, SetId::NONE, writer);
            }
        }
        self.check_output()
    }

    fn write(&mut self, text: &Text, from: SetId, writer: WriterId) {
        let mut known: Option<(ProvId, ProvId)> = None;
        for (range, id) in text.runs() {
            let prov = match known {
                Some((before, after)) if before == id => after,
                _ => flow::written(&mut self.cx.trace, id, from, writer, self.under),
            };
            known = Some((id, prov));
            self.out.push(&text.bytes()[range], prov);
        }
    }

    fn print(&mut self, frame: &Frame<'_>, place: Place, value: &Val) -> Result<()> {
        let writer = self.writer(frame, place);
        match &value.kind {
            Kind::Str(text) => self.write(text, value.from, writer),
            Kind::Nil => {
                let text = Text::new(&b"<no value>"[..], ProvId::default());
                self.write(&text, value.from, writer);
            }
            Kind::Struct(of) if of.shown.is_some() => {
                if let Some(text) = &of.shown {
                    self.write(text, value.from, writer);
                }
            }
            Kind::List(_) | Kind::Map(_) | Kind::Struct(_) | Kind::Bytes(_) => {
                let mut printer = Printer::new(&mut self.cx.trace, self.cx.limits.text);
                printer.value(value, false, 0);
                let too_deep = printer.is_too_deep;
                let mut text = printer.out.finish();
                if too_deep {
                    return Err(Fault::bound(Bound::Nesting(super::print::DEPTH_LIMIT)));
                }
                if matches!(&value.kind, Kind::Struct(_)) && text.bytes().starts_with(b"&") {
                    text = text.slice(1..text.len());
                }
                self.cx.text(text.len())?;
                self.write(&text, value.from, writer);
            }
            _ => {
                let text = Text::new(scalar(value).into_bytes(), ProvId::default());
                self.write(&text, value.from, writer);
            }
        }
        self.check_output()
    }

    /// Runs a list under a condition.
    fn under<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Val,
        list: &'t Nodes,
        question: SetId,
        place: Place,
    ) -> Result<Step> {
        let before = self.under;
        let writer = self.writer(frame, place);
        self.under = self.cx.trace.cond(before, question, writer);
        let step = self.list(frame, dot, list);
        self.under = before;
        step
    }

    /// What a branch assigned, or would have: that it was run decided on it.
    fn decide_assigned(&mut self, frame: &mut Frame<'_>, branch: &Branch, question: SetId) {
        if branch.assigns.is_empty() || question == SetId::NONE {
            return;
        }
        let decided = self.cx.trace.decides(question);
        for name in &branch.assigns {
            if let Some(var) = frame.vars.iter_mut().rev().find(|var| var.name == *name) {
                var.value.from = self.cx.trace.union(var.value.from, decided);
            }
        }
    }

    fn if_or_with<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Val,
        branch: &'t Branch,
        is_with: bool,
    ) -> Result<Step> {
        let mark = frame.vars.len();
        let value = self.pipeline(frame, dot, &branch.pipe)?;
        let question = flow::of(&mut self.cx.trace, &value);
        let step = if value.truth() {
            let dot = if is_with { &value } else { dot };
            self.under(frame, dot, &branch.list, question, branch.place)?
        } else if let Some(list) = &branch.otherwise {
            self.under(frame, dot, list, question, branch.place)?
        } else {
            Step::Next
        };
        frame.vars.truncate(mark);
        self.decide_assigned(frame, branch, question);
        Ok(step)
    }

    fn range<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Val,
        node: &'t Node,
        branch: &'t Branch,
    ) -> Result<Step> {
        let _ = node;
        let mark = frame.vars.len();
        let value = self.pipeline(frame, dot, &branch.pipe)?;
        let question = flow::of(&mut self.cx.trace, &value);
        let inner = frame.vars.len();
        let mut ran = false;
        let items = self.iteration(frame, branch, &value)?;
        for (key, item) in items {
            ran = true;
            self.cx.step(1)?;
            self.set_loop_variables(frame, &branch.pipe, key, &item);
            let step = self.under(frame, &item, &branch.list, question, branch.place)?;
            frame.vars.truncate(inner);
            if let Step::Break = step {
                break;
            }
        }
        let step = match &branch.otherwise {
            Some(list) if !ran => self.under(frame, dot, list, question, branch.place)?,
            _ => Step::Next,
        };
        frame.vars.truncate(mark);
        self.decide_assigned(frame, branch, question);
        Ok(step)
    }

    /// What a value is ranged over.
    #[allow(clippy::type_complexity, reason = "named once")]
    fn iteration<'v>(
        &mut self,
        frame: &Frame<'_>,
        branch: &Branch,
        value: &'v Val,
    ) -> Result<Box<dyn Iterator<Item = (Val, Val)> + 'v>> {
        let from = value.from;
        Ok(match &value.kind {
            Kind::Nil | Kind::Null => Box::new(std::iter::empty()),
            Kind::Int(count, ty) => {
                if branch.pipe.declares.len() > 1 {
                    return Err(
                        frame.fault(format!("can't use {count} to iterate over more than one variable"))
                    );
                }
                let ty = *ty;
                Box::new((0..*count).map(move |index| (Val::nil(), Val::new(Kind::Int(index, ty), from))))
            }
            Kind::List(list) => Box::new(
                list.iter()
                    .enumerate()
                    .map(move |(index, item)| (Val::int(index as i64, from), item.element())),
            ),
            Kind::Bytes(text) => {
                let bytes = text.bytes().to_vec();
                Box::new(bytes.into_iter().enumerate().map(move |(index, byte)| {
                    let byte = Kind::Int(i64::from(byte), IntType::Uint8);
                    (Val::int(index as i64, from), Val::new(byte, from))
                }))
            }
            Kind::Map(map) => {
                let entries = map.snapshot();
                self.cx.step(entries.len())?;
                let mut items = Vec::with_capacity(entries.len());
                for (key, entry) in entries {
                    let prov = self.cx.trace.plain(entry.key);
                    items.push((Val::text(Text::new(&*key, prov)), entry.val.element()));
                }
                Box::new(items.into_iter())
            }
            _ => {
                let shown = self.shown(value)?;
                return Err(frame.fault(format!("range can't iterate over {shown}")));
            }
        })
    }

    fn set_loop_variables(&mut self, frame: &mut Frame<'_>, pipe: &Pipe, key: Val, item: &Val) {
        let [first, ..] = &*pipe.declares else {
            return;
        };
        let count = pipe.declares.len();
        if pipe.is_assign {
            let one = if count > 1 { key } else { item.clone() };
            self.assign(frame, first, one);
            if count > 1 {
                self.assign(frame, &pipe.declares[1], item.clone());
            }
            return;
        }
        let top = frame.vars.len();
        frame.vars[top - 1].value = item.clone();
        if count > 1 {
            frame.vars[top - 2].value = key;
        }
    }

    fn assign(&mut self, frame: &mut Frame<'_>, name: &str, value: Val) -> bool {
        match frame.vars.iter_mut().rev().find(|var| &*var.name == name) {
            Some(var) => {
                var.value = value;
                true
            }
            None => false,
        }
    }

    fn template<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Val,
        name: &Rc<str>,
        pipe: Option<&'t Pipe>,
    ) -> Result<()> {
        let set = self.set.clone();
        let Some(template) = set.get(name) else {
            let name = super::quote::go_quote(name.as_bytes());
            return Err(frame.fault(format!("template {name} not defined")));
        };
        if self.depth >= self.cx.limits.depth {
            return Err(Fault::bound(Bound::Depth(self.cx.limits.depth)));
        }
        let data = match pipe {
            Some(pipe) => self.pipeline(frame, dot, pipe)?,
            None => Val::nil(),
        };
        self.depth += 1;
        let result = self.run_frame(template, data);
        self.depth -= 1;
        result
    }

    fn shown(&mut self, value: &Val) -> Result<String> {
        let mut printer = Printer::new(&mut self.cx.trace, self.cx.limits.text);
        printer.value(value, false, 0);
        Ok(String::from_utf8_lossy(&printer.out.bytes).into_owned())
    }

    fn pipeline<'t>(&mut self, frame: &mut Frame<'t>, dot: &Val, pipe: &'t Pipe) -> Result<Val> {
        frame.at = At::Pipe(pipe);
        let mut value: Option<Val> = None;
        for command in &pipe.commands {
            let next = self.command(frame, dot, command, value.take())?;
            value = Some(next.stored());
        }
        let value = value.unwrap_or_else(Val::nil);
        for name in &pipe.declares {
            if !pipe.is_assign {
                frame.vars.push(Variable { name: name.clone(), value: value.clone() });
            } else if !self.assign(frame, name, value.clone()) {
                return Err(frame.fault(format!("undefined variable: {name}")));
            }
        }
        Ok(value)
    }

    fn not_a_function(&self, frame: &Frame<'_>, args: &[Term], last: Option<&Val>) -> Result<()> {
        if args.len() > 1 || last.is_some() {
            let first = args.first().map(ToString::to_string).unwrap_or_default();
            return Err(frame.fault(format!("can't give argument to non-function {first}")));
        }
        Ok(())
    }

    fn command<'t>(
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
                return self.fields(frame, dot, dot.clone(), first, fields, args, last);
            }
            TermKind::Chain(..) => return self.chain(frame, dot, first, args, last),
            TermKind::Identifier(name) => {
                return self.function(frame, dot, first, name, At::Command(command), args, last);
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
    fn literal<'t>(&mut self, frame: &mut Frame<'t>, term: &'t Term) -> Result<Val> {
        Ok(match &term.kind {
            TermKind::Bool(value) => Val::bool(*value, SetId::NONE),
            TermKind::Str(_, text) => {
                let writer = self.writer(frame, term.place);
                Val::text(self.literal_text(text, writer))
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

    fn literal_text(&mut self, text: &Rc<[u8]>, writer: WriterId) -> Text {
        let prov = self.cx.trace.prov_id(Prov { writer, ..Prov::default() });
        Text::new(&**text, prov)
    }

    fn chain<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Val,
        term: &'t Term,
        args: &'t [Term],
        last: Option<Val>,
    ) -> Result<Val> {
        let TermKind::Chain(first, fields) = &term.kind else {
            return Ok(Val::nil());
        };
        frame.at = At::Term(term);
        if let TermKind::Nil = first.kind {
            return Err(frame.fault(format!("indirection through explicit nil in {term}")));
        }
        let receiver = self.arg(frame, dot, None, first)?;
        self.fields(frame, dot, receiver, term, fields, args, last)
    }

    fn variable<'t>(
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
        let Some(value) = frame.var(&names[0]).map(|var| var.value.clone()) else {
            return Err(frame.fault(format!("undefined variable: {}", names[0])));
        };
        if names.len() == 1 {
            self.not_a_function(frame, args, last.as_ref())?;
            return Ok(value);
        }
        self.fields(frame, dot, value, term, &names[1..], args, last)
    }

    #[allow(clippy::too_many_arguments, reason = "Go's own shape")]
    fn fields<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Val,
        receiver: Val,
        term: &'t Term,
        fields: &'t [Rc<str>],
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
    fn field<'t>(
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
            return Ok(self.entry(map, name, receiver.from));
        }
        let ty = if receiver.boxed { "interface {}".into() } else { receiver.type_name() };
        Err(frame.fault(format!("can't evaluate field {name} in type {ty}")))
    }

    /// An entry of a map, or that there is none.
    fn entry(&mut self, map: &Map, name: &str, from: SetId) -> Val {
        match map.get(name.as_bytes()) {
            Some(value) => value.element(),
            None => {
                let absent = self.cx.trace.absent(from, name.as_bytes());
                match map.ty {
                    MapType::Any | MapType::Values => Val::new(Kind::Null, absent),
                    MapType::Strings => Val::new(Kind::Str(Text::empty()), absent),
                    MapType::Files => Val::new(Kind::Bytes(Text::empty()), absent),
                }
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "Go's own shape")]
    fn function<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Val,
        term: &'t Term,
        name: &str,
        at: At<'t>,
        args: &'t [Term],
        last: Option<Val>,
    ) -> Result<Val> {
        frame.at = At::Term(term);
        let Some(function) = (self.functions)(name) else {
            let name = super::quote::go_quote(name.as_bytes());
            return Err(frame.fault(format!("{name} is not a defined function")));
        };
        self.call(frame, dot, function, at, args, last, None)
    }

    #[allow(clippy::too_many_arguments, reason = "Go's own shape")]
    fn call<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Val,
        function: &'static Function,
        at: At<'t>,
        args: &'t [Term],
        last: Option<Val>,
        receiver: Option<Val>,
    ) -> Result<Val> {
        let args = args.get(1..).unwrap_or_default();
        let params = function.params;
        let count = args.len() + usize::from(last.is_some());
        let fixed = params.len() - usize::from(function.is_variadic);
        let name = function.name;
        if function.is_variadic && count < fixed {
            let got = args.len();
            return Err(
                frame.fault(format!("wrong number of args for {name}: want at least {fixed} got {got}"))
            );
        }
        if !function.is_variadic && count != fixed {
            return Err(frame.fault(format!("wrong number of args for {name}: want {fixed} got {count}")));
        }
        if let Run::And | Run::Or = function.run {
            return self.and_or(frame, dot, matches!(function.run, Run::Or), args, last);
        }
        let ty = |index: usize| params[index.min(params.len() - 1)];
        let mut values = Vec::with_capacity(count + 1);
        values.extend(receiver);
        for (index, arg) in args.iter().enumerate() {
            values.push(self.arg(frame, dot, Some(ty(index)), arg)?);
        }
        if let Some(last) = last {
            values.push(self.validate(frame, last, ty(args.len()))?);
        }
        let result = match function.run {
            Run::Include => self.include(&values),
            Run::Tpl => self.tpl(&values),
            Run::Native(run) => self.native(function, run, &values),
            Run::And | Run::Or => Ok(Val::nil()),
        };
        result.map_err(|cause| {
            frame.at = at;
            frame.calling(name, *cause)
        })
    }

    fn native(
        &mut self,
        function: &Function,
        run: fn(&mut Call<'_>) -> Result<Val>,
        values: &[Val],
    ) -> Result<Val> {
        use super::function::Flow;
        self.cx.step(1)?;
        let under = self.cx.trace.question(self.under);
        let result = run(&mut Call { cx: &mut self.cx, args: values, under })?;
        let from = match function.flow {
            Flow::Unites => {
                let mut from = result.from;
                for value in values {
                    let set = flow::deep(&mut self.cx.trace, value);
                    from = self.cx.trace.union(from, set);
                }
                from
            }
            _ => result.from,
        };
        Ok(result.with(from))
    }

    /// `and` and `or` evaluate no further than they have to.
    fn and_or<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Val,
        is_or: bool,
        args: &'t [Term],
        last: Option<Val>,
    ) -> Result<Val> {
        let mut decided = SetId::NONE;
        let mut value = Val::nil();
        for (index, arg) in args.iter().enumerate() {
            value = self.arg(frame, dot, Some(Ty::Value), arg)?;
            let is_last = index + 1 == args.len() && last.is_none();
            if value.truth() == is_or || is_last {
                let from = self.cx.trace.union(value.from, decided);
                return Ok(value.with(from));
            }
            let set = flow::of(&mut self.cx.trace, &value);
            let set = self.cx.trace.decides(set);
            decided = self.cx.trace.union(decided, set);
        }
        let value = match last {
            Some(last) => self.validate(frame, last, Ty::Value)?,
            None => value,
        };
        let from = self.cx.trace.union(value.from, decided);
        Ok(value.with(from))
    }

    /// An argument for a parameter of a type, or of none.
    fn arg<'t>(&mut self, frame: &mut Frame<'t>, dot: &Val, ty: Option<Ty>, term: &'t Term) -> Result<Val> {
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
            TermKind::Field(fields) => {
                self.fields(frame, dot, dot.clone(), term, fields, std::slice::from_ref(term), None)?
            }
            TermKind::Variable(_) => self.variable(frame, dot, term, &[], None)?,
            TermKind::Pipe(pipe) => self.pipeline(frame, dot, pipe)?,
            TermKind::Identifier(name) => self.function(frame, dot, term, name, At::Term(term), &[], None)?,
            TermKind::Chain(..) => self.chain(frame, dot, term, &[], None)?,
            TermKind::Bool(_) | TermKind::Number(_) | TermKind::Str(..) => {
                return self.constant(frame, ty, term);
            }
        };
        match ty {
            Some(ty) => self.validate(frame, value, ty),
            None => Ok(value),
        }
    }

    /// A constant for a parameter.
    fn constant<'t>(&mut self, frame: &mut Frame<'t>, ty: Option<Ty>, term: &'t Term) -> Result<Val> {
        let number = if let TermKind::Number(number) = &term.kind { Some(number) } else { None };
        let (found, expected) = match ty {
            None | Some(Ty::Any | Ty::Value) => return self.literal(frame, term),
            Some(Ty::Bool) => {
                (matches!(term.kind, TermKind::Bool(_)).then(|| self.literal(frame, term)), "bool")
            }
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
    fn validate(&self, frame: &Frame<'_>, value: Val, ty: Ty) -> Result<Val> {
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

    fn include(&mut self, values: &[Val]) -> Result<Val> {
        let [Val { kind: Kind::Str(name), .. }, data] = values else {
            return Ok(Val::nil());
        };
        const NESTED: usize = 1000;
        let by = flow::of(&mut self.cx.trace, &values[0]);
        let name: Rc<str> = name.str().into();
        let count = self.included.get(&name).copied().unwrap_or(0);
        if count > NESTED {
            let fault = Fault::new("unable to execute template");
            return Err(fault.wrapped(&format!("rendering template has a nested reference name: {name}: ")));
        }
        let set = self.set.clone();
        let Some(template) = set.get(&name) else {
            let quoted = super::quote::go_quote(name.as_bytes());
            let message = format!("template: no template {quoted} associated with template \"gotpl\"");
            return Err(Fault::new(message));
        };
        self.included.insert(name.clone(), count + 1);
        let result = self.execute(template, data.clone());
        self.included.insert(name, count);
        let text = result?;
        Ok(flow::decided(&mut self.cx.trace, Val::text(text), by))
    }

    fn tpl(&mut self, values: &[Val]) -> Result<Val> {
        let [Val { kind: Kind::Str(text), from, .. }, data] = values else {
            return Ok(Val::nil());
        };
        let text = flow::also(&mut self.cx.trace, text, *from);
        if memchr::memmem::find(text.bytes(), b"{{").is_none() {
            return Ok(Val::text(without_no_value(&text)));
        }
        let quoted = super::quote::go_quote(text.bytes());
        let (parsed, base) = self.parsed(&text);
        let parsed = match parsed {
            Ok(parsed) => parsed,
            Err(message) => {
                return Err(Fault::new(message).wrapped(&format!("cannot parse template {quoted}: ")));
            }
        };
        let mut set = Set { outer: Some(self.set.clone()), templates: FxHashMap::default() };
        let own = |tree: &Rc<Tree>| Template {
            tree: tree.clone(),
            source: parsed.source.clone(),
            base,
            text: Some(text.clone()),
        };
        for tree in &parsed.trees {
            let is_known = self.set.get(&tree.name).is_some();
            if !(is_known && super::ast::is_empty(&tree.root, &parsed.source.text)) {
                set.templates.insert(tree.name.clone(), own(tree));
            }
        }
        let template = own(&parsed.trees[0]);
        let outer = std::mem::replace(&mut self.set, Rc::new(set));
        let result = self.execute(&template, data.clone());
        self.set = outer;
        let text = result
            .map_err(|fault| fault.wrapped(&format!("error during tpl function execution for {quoted}: ")))?;
        Ok(Val::text(without_no_value(&text)))
    }

    /// The text of a `tpl`, parsed once for each text.
    fn parsed(&mut self, text: &Text) -> (Parsed, u32) {
        let key: Rc<[u8]> = text.bytes().into();
        if let Some(known) = self.parsed.get(&key) {
            return known.clone();
        }
        let index = self.sources.len() as u32;
        let functions = self.functions;
        let is_function = move |name: &str| functions(name).is_some();
        let parsed =
            super::parse::parse("gotpl", &text.str(), &super::lex::Delimiters::default(), &is_function);
        let base = self.cx.trace.add_source(index, &parsed.source.spans);
        self.sources.push(parsed.source.clone());
        let parsed = match parsed.errors.first() {
            Some(error) => Err(Rc::from(&*error.message)),
            None => Ok(Rc::new(parsed)),
        };
        self.parsed.insert(key, (parsed.clone(), base));
        (parsed, base)
    }
}

/// Helm deletes what Go prints for no value.
pub(super) fn without_no_value(text: &Text) -> Text {
    const NO_VALUE: &[u8] = b"<no value>";
    let mut found = memchr::memmem::find_iter(text.bytes(), NO_VALUE).peekable();
    if found.peek().is_none() {
        return text.clone();
    }
    let mut out = Builder::default();
    let mut start = 0;
    for at in found {
        out.push_slice(text, start..at);
        start = at + NO_VALUE.len();
    }
    out.push_slice(text, start..text.len());
    out.finish()
}
