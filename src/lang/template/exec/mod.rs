//! Runs templates, as Go's `text/template/exec.go` does.

mod call;
mod eval;

use super::ast::{Branch, Command, List as Nodes, Node, NodePlace, Pipe, Shown, Term, Tree};
use super::bound::Bound;
use super::error::{Fault, Result};
use super::flow;
use super::function::FunctionNames;
use super::limits::Cx;
use super::print::{Printer, scalar};
use super::rope::{Builder, Meaning, Text};
use super::scope::Scope;
use super::source::{Span, TemplateSource};
use super::trace::{CondId, Prov, ProvId, SetId, WriterId};
use super::value::{IntType, Kind, Val};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Go's option `missingkey`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingKey {
    /// The zero value of the map's type, as Helm runs templates.
    #[default]
    Zero,
    /// No value at all, as templates run without options: fields of it are none too.
    Invalid,
    /// A failure.
    Error,
}

/// A template, and the source that it stands in.
#[derive(Clone, Debug)]
pub(super) struct RunningTemplate {
    pub(super) tree: Arc<Tree>,
    pub(super) source: Arc<TemplateSource>,
    /// What to add to the numbers of its nodes.
    pub(super) base: u32,
    /// The text as a value, where it is one of the run.
    pub(super) text: Option<Text>,
}

/// Templates by name. Those of a text that `tpl` runs stand before those around it.
#[derive(Clone, Debug, Default)]
pub(super) struct Set {
    pub(super) outer: Option<Rc<Set>>,
    pub(super) templates: FxHashMap<Arc<str>, RunningTemplate>,
}

impl Set {
    pub(super) fn get(&self, name: &str) -> Option<&RunningTemplate> {
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
pub(super) type Parsed = std::result::Result<Arc<super::parse::Parsed>, Arc<str>>;

/// One run over a set of templates.
pub(super) struct Execution {
    pub(super) cx: Cx,
    pub(super) set: Rc<Set>,
    pub(super) functions: FunctionNames,
    pub(super) missing_key: MissingKey,
    /// What `inputs` gives.
    pub(super) inputs: Val,
    /// Parses a text for `tpl`.
    pub(super) parsed: FxHashMap<Rc<[u8]>, (Parsed, u32)>,
    pub(super) sources: Vec<Arc<TemplateSource>>,
    /// Texts between quotes that were come to, by their nodes.
    pub(super) literals: FxHashMap<WriterId, Text>,
    pub(super) included: FxHashMap<Arc<str>, usize>,
    pub(super) out: Builder,
    /// Those of templates that ran, empty: most texts are short, and many.
    pub(super) spare: Vec<Builder>,
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

/// One template that runs.
struct Frame<'t> {
    template: &'t RunningTemplate,
    vars: Scope<Val, &'t str>,
    at: At<'t>,
}

enum ExecStep {
    Next,
    Break,
    Continue,
}

impl<'t> Frame<'t> {
    fn place(&self) -> Option<(NodePlace, String)> {
        Some(match self.at {
            At::Start => return None,
            At::Node(node) => {
                let place = match node {
                    Node::Text(place, _) | Node::Action(place, _) | Node::Template(place, ..) => *place,
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
}

impl Execution {
    /// Runs a template with data; its output.
    pub(super) fn execute(&mut self, template: &RunningTemplate, data: Val) -> Result<Text> {
        if self.depth >= self.cx.limits.depth {
            return Err(Fault::bound(Bound::Depth(self.cx.limits.depth)));
        }
        self.depth += 1;
        let spare = self.spare.pop().unwrap_or_default();
        let out = std::mem::replace(&mut self.out, spare);
        let result = self.run_frame(template, data);
        self.depth -= 1;
        let mut own = std::mem::replace(&mut self.out, out);
        result?;
        let text = own.take();
        self.spare.push(own);
        Ok(text)
    }

    /// Go hands the data over as an `any`, so that nothing, as a map or a list gives it, is no value
    /// at all: `text/template/exec.go`, `Template.execute` and `walkTemplate`.
    fn run_frame(&mut self, template: &RunningTemplate, data: Val) -> Result<()> {
        let data = data.stored();
        let vars = Scope::of("$", data.clone());
        let mut frame = Frame { template, vars, at: At::Start };
        self.list(&mut frame, &data, &template.tree.root).map(drop)
    }

    fn writer(&self, frame: &Frame<'_>, place: NodePlace) -> WriterId {
        self.cx.trace.writer(frame.template.base, place.id)
    }

    fn list<'t>(&mut self, frame: &mut Frame<'t>, dot: &Val, list: &'t Nodes) -> Result<ExecStep> {
        for node in &**list {
            match self.node(frame, dot, node)? {
                ExecStep::Next => {}
                step => return Ok(step),
            }
        }
        Ok(ExecStep::Next)
    }

    fn node<'t>(&mut self, frame: &mut Frame<'t>, dot: &Val, node: &'t Node) -> Result<ExecStep> {
        frame.at = At::Node(node);
        self.cx.step(1)?;
        match node {
            Node::Text(place, span) => self.static_text(frame, *place, *span)?,
            Node::Action(place, pipe) => {
                let value = self.pipeline(frame, dot, pipe)?;
                if pipe.declared.is_none() {
                    frame.at = At::Node(node);
                    self.print(frame, *place, &value)?;
                }
            }
            Node::If(branch) => return self.if_or_with(frame, dot, branch, false),
            Node::With(branch) => return self.if_or_with(frame, dot, branch, true),
            Node::Range(branch) => return self.range(frame, dot, node, branch),
            Node::Template(_, name, pipe) => self.template(frame, dot, name, pipe.as_deref())?,
            Node::Break(_) => return Ok(ExecStep::Break),
            Node::Continue(_) => return Ok(ExecStep::Continue),
        }
        Ok(ExecStep::Next)
    }

    fn check_output(&self) -> Result<()> {
        if self.out.len() > self.cx.limits.output {
            return Err(Fault::bound(Bound::Output(self.cx.limits.output)));
        }
        Ok(())
    }

    fn static_text(&mut self, frame: &Frame<'_>, place: NodePlace, span: Span) -> Result<()> {
        let writer = self.writer(frame, place);
        let range = span.range();
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
        if text.is_later() && self.out.is_empty() && self.cx.trace.is_empty() {
            return self.out.hold(text.clone());
        }
        let meaning = text.meaning().filter(|_| self.out.is_blank()).cloned();
        let mut known: Option<(ProvId, ProvId)> = None;
        for (range, id) in text.runs() {
            let prov = match known {
                Some((before, after)) if before == id => after,
                _ => flow::written(&mut self.cx.trace, id, from, writer, self.under),
            };
            known = Some((id, prov));
            self.out.push(&text.bytes()[range], prov);
        }
        if let Some(meaning) = meaning {
            let from = self.cx.trace.union(meaning.from, from);
            let writer = if meaning.writer == WriterId::NOBODY { writer } else { meaning.writer };
            let under = self.cx.trace.both(self.under, meaning.under);
            self.out.mean(Meaning { from, writer, under, ..meaning });
        }
    }

    fn print(&mut self, frame: &Frame<'_>, place: NodePlace, value: &Val) -> Result<()> {
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
        place: NodePlace,
    ) -> Result<ExecStep> {
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
        for name in &*branch.assigns {
            if let Some(value) = frame.vars.find_mut(name) {
                value.from = self.cx.trace.union(value.from, decided);
            }
        }
    }

    fn if_or_with<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Val,
        branch: &'t Branch,
        is_with: bool,
    ) -> Result<ExecStep> {
        let mark = frame.vars.len();
        let value = self.pipeline(frame, dot, &branch.pipe)?;
        let question = flow::of(&mut self.cx.trace, &value);
        self.cx.trace.asks(question, self.writer(frame, branch.place));
        let step = if value.truth() {
            let writer = self.writer(frame, branch.place);
            self.cx.trace.takes(writer);
            let dot = if is_with { &value } else { dot };
            self.under(frame, dot, &branch.list, question, branch.place)?
        } else if let Some(list) = &branch.otherwise {
            self.under(frame, dot, list, question, branch.place)?
        } else {
            ExecStep::Next
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
    ) -> Result<ExecStep> {
        let _ = node;
        let mark = frame.vars.len();
        let value = self.pipeline(frame, dot, &branch.pipe)?;
        let question = flow::of(&mut self.cx.trace, &value);
        self.cx.trace.asks(question, self.writer(frame, branch.place));
        let inner = frame.vars.len();
        let mut ran = false;
        let items = self.iteration(frame, branch, &value)?;
        for (key, item) in items {
            if !ran {
                let writer = self.writer(frame, branch.place);
                self.cx.trace.takes(writer);
            }
            ran = true;
            self.cx.step(1)?;
            self.set_loop_variables(frame, &branch.pipe, key, &item);
            let step = self.under(frame, &item, &branch.list, question, branch.place)?;
            frame.vars.truncate(inner);
            if let ExecStep::Break = step {
                break;
            }
        }
        let step = match &branch.otherwise {
            Some(list) if !ran => self.under(frame, dot, list, question, branch.place)?,
            _ => ExecStep::Next,
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
                if branch.pipe.declares().len() > 1 {
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
                    .map(move |(index, item)| (Val::int(index as i64, from), list.given(item))),
            ),
            Kind::Bytes(text) => {
                let bytes = text.bytes().to_vec();
                Box::new(bytes.into_iter().enumerate().map(move |(index, byte)| {
                    let byte = Kind::Int(i64::from(byte), IntType::Uint8);
                    (Val::int(index as i64, from), Val::new(byte, from))
                }))
            }
            Kind::Map(map) => {
                // As they are now: the loop may change the map.
                let entries = map.entries.borrow();
                self.cx.step(entries.len())?;
                let wants_keys = branch.pipe.declares().len() > 1;
                let mut items = Vec::with_capacity(entries.len());
                for (key, entry) in entries.iter() {
                    let key = if wants_keys {
                        let prov = self.cx.trace.plain(entry.key);
                        Val::text(Text::new(&**key, prov))
                    } else {
                        Val::nil()
                    };
                    items.push((key, map.given(entry.val.clone())));
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
        let [first, ..] = pipe.declares() else {
            return;
        };
        let count = pipe.declares().len();
        if pipe.is_assign() {
            let one = if count > 1 { key } else { item.clone() };
            self.assign(frame, first, one);
            if count > 1 {
                self.assign(frame, &pipe.declares()[1], item.clone());
            }
            return;
        }
        let mut variables = frame.vars.last_mut(count);
        if count > 1
            && let Some(variable) = variables.next()
        {
            *variable = key;
        }
        if let Some(variable) = variables.next() {
            *variable = item.clone();
        }
    }

    fn assign(&mut self, frame: &mut Frame<'_>, name: &str, value: Val) -> bool {
        match frame.vars.find_mut(name) {
            Some(known) => {
                *known = value;
                true
            }
            None => false,
        }
    }

    fn template<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Val,
        name: &Arc<str>,
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
