//! Calls of functions, of those too that run templates.

use super::{At, Execution, Frame, Parsed, RunningTemplate, Set, without_no_value};
use crate::lang::template::ast::{Term, Tree};
use crate::lang::template::error::{Fault, Result};
use crate::lang::template::flow;
use crate::lang::template::function::{Call, Flow, Function, FunctionBody, Purity, Ty};
use crate::lang::template::limits::Cx;
use crate::lang::template::one_of::is_same;
use crate::lang::template::rope::Text;
use crate::lang::template::trace::{SetId, Trace};
use crate::lang::template::value::{Kind, Val};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;
use std::sync::Arc;

impl Execution {
    #[allow(clippy::too_many_arguments, reason = "Go's own shape")]
    pub(super) fn call<'t>(
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
        if let FunctionBody::And | FunctionBody::Or = function.run {
            return self.and_or(frame, dot, matches!(function.run, FunctionBody::Or), args, last);
        }
        let ty = |index: usize| params[index.min(params.len() - 1)];
        let mut values: SmallVec<[Val; 3]> = SmallVec::new();
        if let Some(receiver) = receiver {
            values.push(receiver);
        }
        for (index, arg) in args.iter().enumerate() {
            values.push(self.arg(frame, dot, Some(ty(index)), arg)?);
        }
        if let Some(last) = last {
            values.push(self.validate(frame, last, ty(args.len()))?);
        }
        let result = match function.run {
            FunctionBody::Include => self.include(&values),
            FunctionBody::Tpl => self.tpl(&values),
            FunctionBody::Native(run) => self.native(function, run, &values),
            FunctionBody::Inputs => Ok(self.inputs.clone()),
            FunctionBody::And | FunctionBody::Or => Ok(Val::nil()),
        };
        result.map_err(|cause| {
            frame.at = at;
            frame.calling(name, *cause)
        })
    }

    pub(super) fn native(
        &mut self,
        function: &Function,
        run: fn(&mut Call<'_>) -> Result<Val>,
        values: &[Val],
    ) -> Result<Val> {
        self.cx.step(1)?;
        let result = run(&mut Call { cx: &mut self.cx, args: values, under: self.under })?;
        let flowed: Option<fn(&mut Trace, &Val) -> SetId> = match function.flow {
            Flow::Unites => Some(flow::deep),
            Flow::Looks => Some(flow::shallow),
            _ => None,
        };
        let mut from = result.from;
        for (of, value) in flowed.into_iter().flat_map(|of| values.iter().map(move |value| (of, value))) {
            let set = of(&mut self.cx.trace, value);
            from = self.cx.trace.union(from, set);
        }
        if self.cx.trace.is_unknown(from)
            && let Some(told) = self.of_alternatives(function, run, values, &result)
        {
            return Ok(told);
        }
        Ok(result.with(from))
    }

    /// The result of a pure function some of whose arguments are one of a few: known where
    /// all of them give it, else one of a few itself. Nothing where it can't be told.
    fn of_alternatives(
        &mut self,
        function: &Function,
        run: fn(&mut Call<'_>) -> Result<Val>,
        args: &[Val],
        likely: &Val,
    ) -> Option<Val> {
        let can_be_told =
            function.purity == Purity::Pure && matches!(function.flow, Flow::Unites | Flow::Looks);
        let (cx, under) = (&mut self.cx, self.under);
        if cx.alternatives.count == 0 || !can_be_told {
            return None;
        }
        let mut from = SetId::NONE;
        let mut why: Option<String> = None;
        let mut calls = vec![Vec::with_capacity(args.len()); cx.alternatives.count];
        for arg in args {
            let set = flow::deep(&mut cx.trace, arg);
            if !cx.trace.is_assumed(set) {
                from = cx.trace.union(from, set);
                calls.iter_mut().for_each(|call| call.push(arg.clone()));
                continue;
            }
            let one = cx.alternatives.of(&cx.trace, arg, set)?;
            why = Some(one.why.clone());
            calls.iter_mut().zip(&one.others).for_each(|(call, other)| call.push(other.clone()));
            let flowed = if function.flow == Flow::Looks { flow::shallow(&mut cx.trace, arg) } else { set };
            let known = cx.trace.known(flowed);
            from = cx.trace.union(from, known);
        }
        let why = why?;
        let mut others = Vec::with_capacity(calls.len());
        for args in &calls {
            cx.step(1).ok()?;
            others.push(run(&mut Call { cx, args, under }).ok()?);
        }
        let likely = likely.clone().with(from);
        if others.iter().all(|other| is_same(other, &likely)) {
            return Some(likely);
        }
        let Cx { trace, alternatives, .. } = cx;
        Some(alternatives.add(trace, likely, others, &why))
    }

    /// `and` and `or` evaluate no further than they have to.
    pub(super) fn and_or<'t>(
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

    pub(super) fn include(&mut self, values: &[Val]) -> Result<Val> {
        let [Val { kind: Kind::Str(name), .. }, data] = values else {
            return Ok(Val::nil());
        };
        const NESTED: usize = 1000;
        let by = flow::of(&mut self.cx.trace, &values[0]);
        let name = name.str();
        let set = self.set.clone();
        let Some(template) = set.get(&name) else {
            let quoted = crate::lang::template::quote::go_quote(name.as_bytes());
            let message = format!("template: no template {quoted} associated with template \"gotpl\"");
            return Err(Fault::new(message));
        };
        match self.included.get_mut(&template.tree.name) {
            Some(count) if *count > NESTED => {
                let fault = Fault::new("unable to execute template");
                let before = format!("rendering template has a nested reference name: {name}: ");
                return Err(fault.wrapped(&before));
            }
            Some(count) => *count += 1,
            None => drop(self.included.insert(template.tree.name.clone(), 1)),
        }
        let result = self.execute(template, data.clone());
        if let Some(count) = self.included.get_mut(&template.tree.name) {
            *count -= 1;
        }
        let text = result?;
        Ok(flow::decided(&mut self.cx.trace, Val::text(text), by))
    }

    pub(super) fn tpl(&mut self, values: &[Val]) -> Result<Val> {
        let [Val { kind: Kind::Str(text), from, .. }, data] = values else {
            return Ok(Val::nil());
        };
        let text = flow::also(&mut self.cx.trace, text, *from);
        if memchr::memmem::find(text.bytes(), b"{{").is_none() {
            return Ok(Val::text(without_no_value(&text)));
        }
        let quoted = || crate::lang::template::quote::go_quote(text.bytes());
        let (parsed, base) = self.parsed(&text);
        let parsed = match parsed {
            Ok(parsed) => parsed,
            Err(message) => {
                return Err(Fault::new(&*message).wrapped(&format!("cannot parse template {}: ", quoted())));
            }
        };
        let mut set = Set { outer: Some(self.set.clone()), templates: FxHashMap::default() };
        let own = |tree: &Arc<Tree>| RunningTemplate {
            tree: tree.clone(),
            source: parsed.source.clone(),
            base,
            text: Some(text.clone()),
        };
        for tree in &parsed.trees {
            let is_known = self.set.get(&tree.name).is_some();
            if !(is_known && crate::lang::template::ast::is_empty(&tree.root, &parsed.source.text)) {
                set.templates.insert(tree.name.clone(), own(tree));
            }
        }
        let template = own(&parsed.trees[0]);
        let outer = std::mem::replace(&mut self.set, Rc::new(set));
        let result = self.execute(&template, data.clone());
        self.set = outer;
        let text = result.map_err(|fault| {
            fault.wrapped(&format!("error during tpl function execution for {}: ", quoted()))
        })?;
        Ok(Val::text(without_no_value(&text)))
    }

    /// The text of a `tpl`, parsed once for each text.
    pub(super) fn parsed(&mut self, text: &Text) -> (Parsed, u32) {
        if let Some(known) = self.parsed.get(text.bytes()) {
            return known.clone();
        }
        let key: Rc<[u8]> = text.bytes().into();
        let index = self.sources.len() as u32;
        let parsed = crate::lang::template::parse::parse(
            "gotpl",
            text.str().into(),
            &crate::lang::template::lex::Delimiters::default(),
            self.functions,
            &mut Default::default(),
        );
        let base = self.cx.trace.add_source(index, &parsed.source);
        self.sources.push(parsed.source.clone());
        let parsed = match parsed.errors.first() {
            Some(error) => Err(Arc::from(&*error.message)),
            None => Ok(Arc::new(parsed)),
        };
        self.parsed.insert(key, (parsed.clone(), base));
        (parsed, base)
    }
}
