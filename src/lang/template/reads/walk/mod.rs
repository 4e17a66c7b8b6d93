//! Runs templates over what their data may be.

mod pipes;

use super::clock::Cell;
use super::guards::{OneOf, Scalars, one_of};
use super::heap::{Atom, Heap, Site, Val};
use super::look_ups::LookUps;
use super::marks::Marks;
use super::paths::{PathReads, Seg};
use super::{DataShape, Program, Templates};
use crate::lang::template::ast::{Branch, List, Node, Pipe};
use crate::lang::template::scope::Scope;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;
use std::sync::Arc;

/// Rounds until nothing is new.
const ROUNDS: u32 = 40;
/// Nodes of templates, all rounds together, and parts of values that are read whole.
const STEPS: u64 = 4_000_000;
/// Templates in different roles.
const RUNS: usize = 30_000;
/// Roles of one template; more are taken as one.
const RUNS_OF_ONE: usize = 2_000;
/// Rounds in which templates get new roles. One that is given what it made itself, by way of a map
/// that it is put into, would get another one in each round.
const ROLES: u32 = 8;
/// Templates within templates.
const DEPTH: usize = 150;
/// What a value may be; more is anything.
const ATOMS: usize = 96;
/// Parts of the input that are told apart.
const PARTS: usize = 300_000;
/// Texts that a template may print, and their bytes, as far as they are told apart.
const WORDS: usize = 16;
const WORD: usize = 200;
/// Elements of a list that a loop takes one after the other.
const TURNS: usize = 12;
/// Lists of which a loop takes one.
const LISTS: usize = 64;
/// Runs of a loop, until what it assigns stays the same.
const LOOPS: usize = 8;

/// A template with what it is given.
struct Run {
    template: usize,
    arg: Val,
    out: u32,
    round: u32,
    is_active: bool,
    /// Whether it is done, with all that it is given so far.
    is_done: bool,
    /// Each once, in their order, with when it first happened.
    events: Vec<(Event, u32)>,
    /// All that it may print, where that is a few words.
    words: Option<Vec<Arc<str>>>,
}

/// What happened in a run that may be otherwise once something grew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Event {
    Read(Cell),
    /// Another run was called.
    Call(usize),
}

pub(super) struct ReadsWalk<'p> {
    pub(super) program: &'p Program<'p>,
    pub(super) templates: Templates,
    pub(super) heap: Heap,
    pub(super) reads: PathReads,
    pub(super) steps: u64,
    pub(super) visits: std::cell::Cell<u64>,
    roots: Vec<u32>,
    runs: Vec<Run>,
    by_arg: FxHashMap<(usize, Val), usize>,
    of_template: FxHashMap<usize, Vec<usize>>,
    pub(super) parsed: FxHashMap<Arc<str>, Option<usize>>,
    pub(super) round: u32,
    depth: usize,
    gave_up: bool,
    /// The run of a template that is on its way.
    pub(super) current: usize,
    /// What happened in it so far.
    events: FxHashSet<Event>,
    /// Variables, each with the loops that it was declared in.
    vars: Scope<(Val, usize)>,
    /// Loops that the walk is in: perhaps they are not run, or more than once.
    loops: usize,
    /// The source that the walk is in.
    source: u32,
    assigned: bool,
    /// All that the run may have printed so far.
    words: Option<Vec<Arc<str>>>,
    /// Terms that are no maps and no lists where the walk is.
    scalars: Scalars,
    pub(super) look_ups: LookUps,
    pub(super) marks: Marks,
}

impl<'p> ReadsWalk<'p> {
    pub(super) fn new(program: &'p Program<'p>) -> ReadsWalk<'p> {
        ReadsWalk {
            program,
            templates: Templates::new(&program.templates),
            heap: Heap::default(),
            reads: PathReads::default(),
            steps: 0,
            visits: Default::default(),
            roots: Vec::new(),
            runs: Vec::new(),
            by_arg: FxHashMap::default(),
            of_template: FxHashMap::default(),
            parsed: FxHashMap::default(),
            round: 0,
            depth: 0,
            gave_up: false,
            current: usize::MAX,
            events: FxHashSet::default(),
            vars: Scope::default(),
            loops: 0,
            source: 0,
            assigned: false,
            words: None,
            scalars: Scalars::default(),
            look_ups: LookUps::default(),
            marks: Marks::default(),
        }
    }

    pub(super) fn run(mut self) -> Option<PathReads> {
        self.roots = self.program.roots.iter().map(|_| self.heap.object()).collect();
        for (index, shape) in self.program.roots.iter().enumerate() {
            let DataShape::Map(fields) = shape else { continue };
            for (key, shape) in fields {
                let val = self.shape(shape);
                self.heap.set(self.roots[index], key, &val);
            }
        }
        for root in &self.program.broken {
            self.read_whole(&Val::one(Atom::Made(self.roots[*root])));
        }
        loop {
            self.round += 1;
            let before = self.heap.clock.now();
            for (name, root) in &self.program.runs {
                let Some(template) = self.templates.by_name.get(name).copied() else { continue };
                let data = Val::one(Atom::Made(self.roots[*root]));
                let out = self.call(template, &data);
                self.read_whole(&out);
            }
            if self.gave_up || self.is_over() || self.round > ROUNDS {
                return None;
            }
            if self.heap.clock.now() == before {
                self.mark_all();
                if self.is_over() {
                    return None;
                }
                let paths = |parts: &Vec<u32>| parts.iter().map(|part| self.reads.path(*part)).collect();
                self.reads.loops = self.heap.loops.iter().map(paths).collect();
                return Some(self.reads);
            }
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.steps > STEPS
            || self.has_visited_too_much()
            || self.reads.parts.len() > PARTS
            || self.runs.len() > RUNS
    }

    fn shape(&mut self, shape: &DataShape) -> Val {
        match shape {
            DataShape::Input(path) => {
                let path = path.iter();
                let part = path.fold(0, |part, key| self.reads.child(part, Seg::Key(key.clone())));
                Val::one(Atom::Input(part))
            }
            DataShape::Map(fields) => {
                let object = self.heap.object();
                for (key, shape) in fields {
                    let val = self.shape(shape);
                    self.heap.set(object, key, &val);
                }
                Val::one(Atom::Made(object))
            }
            DataShape::Root(index) => Val::one(Atom::Made(self.roots[*index])),
            DataShape::Text(text) => Val::one(self.heap.literal(text)),
            DataShape::Files(index) => Val::one(Atom::Files(*index as u32)),
            DataShape::Other => Val::one(Atom::Other),
        }
    }

    /// A value in bounds.
    fn bounded(&mut self, val: Val) -> Val {
        if val.0.len() <= ATOMS {
            return val;
        }
        self.read_whole(&val);
        Val(smallvec![Atom::Nil, Atom::Other, Atom::Unseen])
    }

    /// Runs a template with data; its text.
    pub(super) fn call(&mut self, template: usize, arg: &Val) -> Val {
        let arg = self.bounded(arg.clone());
        if self.depth > DEPTH || self.is_over() {
            self.gave_up = true;
            return Val::one(Atom::Unseen);
        }
        let own = self.of_template.entry(template).or_default();
        // A template within itself is one run: else there is no end of it. Whatever a role is taken
        // as, what it is given is added to what that one is given.
        let active = own.iter().copied().find(|run| self.runs[*run].is_active);
        let is_full = own.len() >= RUNS_OF_ONE || self.round > ROLES;
        let same = active.or_else(|| own.last().copied().filter(|_| is_full));
        let known = self.by_arg.get(&(template, arg.clone())).copied();
        let run = match (active.or(known), same) {
            (Some(run), _) | (None, Some(run)) => {
                if self.runs[run].arg.join(&arg) {
                    self.runs[run].is_done = false;
                    self.heap.clock.tick();
                }
                run
            }
            (None, None) => {
                let out = self.heap.text();
                self.runs.push(Run {
                    template,
                    arg: arg.clone(),
                    out,
                    round: 0,
                    is_active: false,
                    is_done: false,
                    events: Vec::new(),
                    words: None,
                });
                let run = self.runs.len() - 1;
                self.by_arg.insert((template, arg), run);
                self.of_template.entry(template).or_default().push(run);
                run
            }
        };
        self.happened(Event::Call(run));
        self.once(run);
        self.note(Cell::Words(run as u32));
        match self.runs[run].words.clone().filter(|_| !self.runs[run].is_active) {
            Some(words) => words.iter().fold(Val::default(), |mut all, word| {
                all.add(self.heap.literal(word));
                all
            }),
            None => Val::one(Atom::Text(self.runs[run].out)),
        }
    }

    /// Does a run, once in each round: anew where something grew that it read.
    fn once(&mut self, run: usize) {
        let own = &mut self.runs[run];
        if own.is_active || std::mem::replace(&mut own.round, self.round) == self.round {
            return;
        }
        if !own.is_done || !self.is_as_before(run) {
            self.evaluate(run);
        }
    }

    /// Whether nothing grew that a run read; what it called is done anew on the way, where that
    /// must be.
    fn is_as_before(&mut self, run: usize) -> bool {
        if self.depth > DEPTH {
            self.gave_up = true;
            return true;
        }
        let events = std::mem::take(&mut self.runs[run].events);
        // A template within itself is one run.
        self.runs[run].is_active = true;
        self.depth += 1;
        let is_same = events.iter().all(|(event, at)| match event {
            Event::Read(cell) => {
                if let Cell::LookUp(index) = cell {
                    self.look_again(*index);
                }
                !self.heap.clock.is_newer(*cell, *at)
            }
            Event::Call(run) => {
                self.once(*run);
                true
            }
        });
        self.depth -= 1;
        self.runs[run].is_active = false;
        self.runs[run].events = events;
        is_same && self.runs[run].is_done
    }

    fn happened(&mut self, event: Event) {
        if self.events.insert(event)
            && let Some(run) = self.runs.get_mut(self.current)
        {
            run.events.push((event, self.heap.clock.now()));
        }
    }

    /// Notes that the run that is on its way reads something.
    pub(super) fn read_cell(&mut self, cell: Cell) {
        self.happened(Event::Read(cell));
    }

    fn evaluate(&mut self, run: usize) {
        let template = self.templates.all[self.runs[run].template].clone();
        let arg = self.runs[run].arg.clone();
        let vars = std::mem::replace(&mut self.vars, Scope::of("$".into(), (arg.clone(), 0)));
        let (before, here) = (std::mem::replace(&mut self.current, run), self.source);
        let words = self.words.replace(vec!["".into()]);
        let loops = std::mem::take(&mut self.loops);
        let scalars = std::mem::take(&mut self.scalars);
        self.source = template.source;
        let own = &mut self.runs[run];
        (own.is_active, own.is_done) = (true, true);
        own.events.clear();
        let events = std::mem::take(&mut self.events);
        self.depth += 1;
        self.list(&template.tree.root, &arg);
        self.depth -= 1;
        self.runs[run].is_active = false;
        self.events = events;
        let own = std::mem::replace(&mut self.words, words);
        let is_other = own != self.runs[run].words;
        self.heap.clock.grow_if(is_other, Cell::Words(run as u32));
        self.runs[run].words = own;
        (self.vars, self.loops, self.scalars) = (vars, loops, scalars);
        (self.current, self.source) = (before, here);
    }

    /// Where something of the run is made.
    pub(super) fn site(&self, id: u32, which: u8) -> Site {
        (self.current as u32, self.source, id, which)
    }

    fn list(&mut self, list: &List, dot: &Val) {
        let mark = self.vars.len();
        for node in &**list {
            self.node(node, dot);
        }
        self.vars.truncate(mark);
    }

    fn node(&mut self, node: &Node, dot: &Val) {
        self.steps += 1;
        if self.is_over() {
            self.gave_up = true;
        }
        if self.gave_up {
            return;
        }
        match node {
            Node::Text(_, span) => {
                let source = self.templates.sources[self.source as usize].clone();
                let text = &source.text[span.range()];
                self.spell(|_| Some(vec![text.into()]));
                self.print_text(text);
            }
            Node::Action(_, pipe) => {
                let value = self.pipe(pipe, dot);
                if pipe.declared.is_none() {
                    self.print(&value);
                }
            }
            Node::If(branch) => self.branch(branch, dot, false),
            Node::With(branch) => self.branch(branch, dot, true),
            Node::Range(branch) => self.range(branch, dot),
            Node::Template(_, name, pipe) => {
                let data = match pipe {
                    Some(pipe) => self.pipe(pipe, dot),
                    None => Val::one(Atom::Nil),
                };
                if let Some(template) = self.templates.by_name.get(name).copied() {
                    let text = self.call(template, &data);
                    self.print(&text);
                }
            }
            Node::Break(_) | Node::Continue(_) => {}
        }
    }

    /// Notes what is printed next: one of these texts, or nobody knows.
    fn spell(&mut self, next: impl FnOnce(&Self) -> Option<Vec<Arc<str>>>) {
        let Some(words) = self.words.take() else { return };
        let all = next(self).map(|next| {
            let pairs = words.iter().flat_map(|word| next.iter().map(move |next| format!("{word}{next}")));
            let mut all: Vec<Arc<str>> = pairs.take(WORDS + 1).map(Arc::from).collect();
            all.sort();
            all.dedup();
            all
        });
        self.words = all.filter(|all| all.len() <= WORDS && all.iter().all(|word| word.len() <= WORD));
    }

    /// What a value prints, where that is known.
    fn spelled(&self, value: &Val) -> Option<Vec<Arc<str>>> {
        let text = |atom: &Atom| match atom {
            Atom::Nil => Some("".into()),
            Atom::Lit(text) => Some(self.heap.literal_of(*text)),
            _ => None,
        };
        value.0.iter().map(text).collect()
    }

    /// Joins what was printed on either way.
    fn either(&mut self, other: Option<Vec<Arc<str>>>) {
        let all = self.words.take().zip(other).map(|(mut words, other)| {
            words.extend(other);
            words.sort();
            words.dedup();
            words
        });
        self.words = all.filter(|all| all.len() <= WORDS);
    }

    fn print_text(&mut self, text: &str) {
        let out = self.runs[self.current].out;
        if !self.heap.texts[out as usize].is_mixed && !text.trim().is_empty() {
            self.heap.mix(out);
        }
    }

    /// Writes a value into the text of the template.
    fn print(&mut self, value: &Val) {
        let out = self.runs[self.current].out;
        self.spell(|walk| walk.spelled(value));
        for atom in &value.0 {
            match atom {
                Atom::Nil => {}
                Atom::Text(text) => {
                    self.note(Cell::Text(*text));
                    self.heap.append(out, *text);
                }
                Atom::Lit(text) => {
                    let text = self.heap.literal_of(*text);
                    self.print_text(&text);
                    if text.contains("{{") {
                        self.heap.unsee(out);
                    }
                }
                Atom::Deep | Atom::Input(_) | Atom::Made(_) | Atom::KeysOf(_) => {
                    self.read_whole(&Val::one(*atom));
                    let from = Val::one(*atom);
                    self.heap.put_from(out, &from);
                    self.heap.mix(out);
                }
                Atom::Other | Atom::Int(_) | Atom::Files(_) | Atom::Key(_) => self.heap.mix(out),
                Atom::Unseen => {
                    self.heap.mix(out);
                    self.heap.unsee(out);
                }
            }
        }
    }

    fn branch(&mut self, branch: &Branch, dot: &Val, is_with: bool) {
        let mark = self.vars.len();
        let value = self.pipe(&branch.pipe, dot);
        self.read_truth(&value);
        let before = self.words.clone();
        let vars = self.assigned_in(branch);
        let [is, is_not] = if is_with { Default::default() } else { Scalars::of(branch) };
        if !value.is_nil() {
            match is_with {
                true => self.where_scalar(self.scalars.without_dot(), &branch.list, &value),
                false => {
                    let before = self.vars.len();
                    self.narrow(branch, dot);
                    self.where_scalar(self.scalars.clone().and(is), &branch.list, dot);
                    self.vars.truncate(before);
                }
            }
        }
        let after = std::mem::replace(&mut self.words, before);
        let vars_after = self.assigned_in(branch);
        self.assign(branch, &vars);
        if let Some(list) = &branch.otherwise {
            self.where_scalar(self.scalars.clone().and(is_not), list, dot);
        }
        self.either(after);
        self.join(branch, &vars_after);
        self.vars.truncate(mark);
    }

    /// What variables are that a branch assigns to.
    fn assigned_in(&self, branch: &Branch) -> Vec<Val> {
        let val = |name| self.vars.find(name).map(|(val, _)| val.clone()).unwrap_or_default();
        branch.assigns.iter().map(|name: &Arc<str>| val(name)).collect()
    }

    /// Makes these values those of the variables that a branch assigns to.
    fn assign(&mut self, branch: &Branch, vals: &[Val]) {
        for (name, val) in branch.assigns.iter().zip(vals) {
            if let Some((own, _)) = self.vars.find_mut(name) {
                own.clone_from(val);
            }
        }
    }

    /// Adds what variables are on another way to those that a branch assigns to.
    fn join(&mut self, branch: &Branch, vals: &[Val]) {
        for (name, val) in branch.assigns.iter().zip(vals) {
            if let Some((own, _)) = self.vars.find_mut(name) {
                own.join(val);
            }
        }
    }

    /// Declares variables anew that are one of some texts where a condition is true.
    fn narrow(&mut self, branch: &Branch, dot: &Val) {
        for one in one_of(branch) {
            let (name, texts) = match one {
                OneOf::Terms(name, terms) => {
                    (name, terms.iter().fold(Val::default(), |all, term| all.with(&self.term(term, dot))))
                }
                OneOf::Elements(name, list) => {
                    let list = self.term(list, dot);
                    let [Atom::Made(_)] = list.0[..] else { continue };
                    (name, self.elements(&list))
                }
            };
            if !texts.0.is_empty() && texts.0.iter().all(|atom| matches!(atom, Atom::Lit(_))) {
                self.vars.push(name.clone(), (texts, self.loops));
            }
        }
    }

    /// Runs a list where some terms are scalars.
    fn where_scalar(&mut self, scalars: Scalars, list: &List, dot: &Val) {
        let before = std::mem::replace(&mut self.scalars, scalars);
        self.list(list, dot);
        self.scalars = before;
    }

    fn range(&mut self, branch: &Branch, dot: &Val) {
        let mark = self.vars.len();
        let value = self.commands(&branch.pipe, dot);
        if let Some(lists) = self.in_turn(branch, &value) {
            self.in_turns(branch, dot, &lists);
            self.vars.truncate(mark);
            return;
        }
        self.loops += 1;
        let items = self.elements(&value);
        let before = self.words.clone();
        let keys = self.loop_keys(&value, branch.place.id);
        if !items.0.is_empty() {
            for _ in 0..LOOPS {
                let before = std::mem::replace(&mut self.assigned, false);
                self.loop_variables(&branch.pipe, &keys, &items);
                self.where_scalar(self.scalars.without_dot(), &branch.list, &items);
                self.vars.truncate(mark);
                let again = std::mem::replace(&mut self.assigned, before);
                self.assigned |= again;
                if !again {
                    break;
                }
            }
        }
        // What a loop prints, it prints again.
        if self.words != before {
            self.words = None;
        }
        if let Some(list) = &branch.otherwise {
            self.list(list, dot);
            self.either(before);
        }
        self.loops -= 1;
        self.vars.truncate(mark);
    }

    /// The lists that a loop goes through to their ends, where templates write them all; an empty
    /// one where it may go through nothing.
    fn in_turn(&mut self, branch: &Branch, value: &Val) -> Option<Vec<Vec<Val>>> {
        if value.0.len() > LISTS || leaves(&branch.list) {
            return None;
        }
        let mut lists: Vec<Vec<Val>> = Vec::new();
        for atom in &value.0 {
            let list = match atom {
                // Nothing goes through the letters of a text.
                Atom::Lit(_) => continue,
                Atom::Nil => Vec::new(),
                _ => self.written_list(&Val::one(*atom)).filter(|list| list.len() <= TURNS)?,
            };
            if !(list.is_empty() && lists.iter().any(Vec::is_empty)) {
                lists.push(list);
            }
        }
        lists.iter().any(|list| !list.is_empty()).then_some(lists)
    }

    /// Runs a loop through one of some lists.
    fn in_turns(&mut self, branch: &Branch, dot: &Val, lists: &[Vec<Val>]) {
        let (words, vars) = (self.words.clone(), self.assigned_in(branch));
        let mut ends: Option<(_, Vec<Val>)> = None;
        for list in lists {
            self.words.clone_from(&words);
            self.assign(branch, &vars);
            let mark = self.vars.len();
            for item in list {
                self.loop_variables(&branch.pipe, &Val::one(Atom::Other), item);
                self.where_scalar(self.scalars.without_dot(), &branch.list, item);
                self.vars.truncate(mark);
            }
            if let (true, Some(otherwise)) = (list.is_empty(), &branch.otherwise) {
                self.list(otherwise, dot);
            }
            if let Some((words, vars)) = ends.take() {
                self.either(words);
                self.join(branch, &vars);
            }
            ends = Some((self.words.clone(), self.assigned_in(branch)));
        }
    }

    fn loop_variables(&mut self, pipe: &Pipe, keys: &Val, items: &Val) {
        let vals: &[&Val] = if pipe.declares().len() > 1 { &[keys, items] } else { &[items] };
        for (name, val) in pipe.declares().iter().zip(vals) {
            self.declare(name, (*val).clone(), pipe.is_assign());
        }
    }

    fn declare(&mut self, name: &Arc<str>, val: Val, is_assign: bool) {
        if !is_assign {
            self.vars.push(name.clone(), (val, self.loops));
        } else if let Some((known, at)) = self.vars.find_mut(name) {
            match *at == self.loops {
                true => *known = val,
                false => self.assigned |= known.join(&val),
            }
        }
    }

    /// The texts that a value is, where it is nothing else.
    pub(super) fn literals(&self, val: &Val) -> Option<Vec<Arc<str>>> {
        let texts = val.0.iter().filter(|atom| **atom != Atom::Nil).map(|atom| match atom {
            Atom::Lit(text) => Some(self.heap.literal_of(*text)),
            _ => None,
        });
        texts.collect::<Option<Vec<_>>>().filter(|texts| !texts.is_empty())
    }
}

/// Whether a loop may be left early.
fn leaves(list: &List) -> bool {
    list.iter().any(|node| match node {
        Node::Break(_) | Node::Continue(_) => true,
        Node::If(branch) | Node::With(branch) => {
            leaves(&branch.list) || branch.otherwise.as_ref().is_some_and(leaves)
        }
        _ => false,
    })
}
