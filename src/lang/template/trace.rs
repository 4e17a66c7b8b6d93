//! Where values come from, who wrote a text, and what decided that it is there.
//!
//! Sets of origins are nodes of a graph that only grows: a union of two sets is one
//! node, made once for a pair, and read when somebody asks. So a loop that adds to a
//! sum a thousand times costs a thousand nodes.

use super::bits::Bits;
use super::source::{Span, TemplateSource};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// What the caller calls the place of a value; the engine only carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OriginId(pub u32);

/// A set of origins, known to one [`Trace`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SetId(u32);

impl SetId {
    /// The set of nothing.
    pub(super) const NONE: SetId = SetId(0);
}

/// Who wrote a part of a text, out of which values, under which condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Prov {
    pub(super) writer: WriterId,
    pub(super) from: SetId,
    pub(super) under: CondId,
}

/// A [`Prov`] by its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ProvId(u32);

/// A node of a template, or nobody (0).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct WriterId(u32);

impl WriterId {
    pub(super) const NOBODY: WriterId = WriterId(0);
}

/// The conditions that hold at a point of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct CondId(u32);

#[derive(Clone, Debug)]
enum SetNode {
    Origin(OriginId),
    /// A key that a map does not have.
    Absent(SetId, Rc<[u8]>),
    /// What nobody can know offline: an index into the reasons.
    Unknown(u32),
    Union(SetId, SetId),
    /// These did not flow in; they decided.
    Decides(SetId),
}

/// What is in a set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TraceSource {
    /// A value of the caller's.
    Value(OriginId),
    /// A key that was asked for and is not there, of maps with these origins.
    Absent(Arc<[OriginId]>, Arc<str>),
    /// What is unknown offline, and why.
    Unknown(String),
}

/// A source, and whether the value came from it or was only chosen by it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// Where from.
    pub source: TraceSource,
    /// Whether it only decided.
    pub decided: bool,
}

#[derive(Clone, Copy, Debug)]
struct Cond {
    depth: u32,
    parents: [CondId; 2],
    question: SetId,
    writer: WriterId,
}

/// A condition that a text was written under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The action that asked.
    pub asked: Option<Place>,
    /// What the answer hung on.
    pub on: Arc<[Flow]>,
}

/// A node of a template: the number of its source, and its bytes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// As the sources were added to the engine.
    pub source: u32,
    /// Bytes in the text of that source.
    pub span: Span,
}

/// What was asked in all runs.
#[derive(Debug, Default)]
struct Questions {
    /// By the numbers of [`SetId`]s.
    sets: Bits,
    /// Branches that were come to, and those of them whose list was run, by the numbers of
    /// [`WriterId`]s.
    asked: Bits,
    taken: Bits,
}

const IS_UNKNOWN: u8 = 1;
const IS_ASSUMED: u8 = 2;

/// All of one run.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) is_on: bool,
    sets: Vec<(SetNode, u8)>,
    origins: FxHashMap<OriginId, SetId>,
    absents: FxHashMap<(SetId, Rc<[u8]>), SetId>,
    unions: FxHashMap<(SetId, SetId), SetId>,
    decides: FxHashMap<SetId, SetId>,
    unknowns: Vec<String>,
    /// Questions to something unknown, and who asked.
    assumed: FxHashSet<(SetId, WriterId)>,
    /// What was asked of anything, where somebody wants to know.
    questions: Option<Questions>,
    provs: Vec<Prov>,
    prov_ids: FxHashMap<Prov, ProvId>,
    conds: Vec<Cond>,
    cond_ids: FxHashMap<(CondId, CondId, SetId, WriterId), CondId>,
    /// The first writer of each source, and the source.
    sources: Vec<(u32, u32, Arc<TemplateSource>)>,
    /// How many nodes they have, and one that is none.
    nodes: u32,
    /// How much is kept: sets, conditions, provenances, and nodes of sources.
    size: usize,
}

impl Trace {
    pub(super) fn new(is_on: bool) -> Trace {
        Trace {
            is_on,
            sets: vec![(SetNode::Union(SetId::NONE, SetId::NONE), 0)],
            origins: FxHashMap::default(),
            absents: FxHashMap::default(),
            unions: FxHashMap::default(),
            decides: FxHashMap::default(),
            unknowns: Vec::new(),
            assumed: FxHashSet::default(),
            questions: None,
            provs: vec![Prov::default()],
            prov_ids: FxHashMap::from_iter([(Prov::default(), ProvId(0))]),
            conds: vec![Cond {
                depth: 0,
                parents: [CondId(0); 2],
                question: SetId::NONE,
                writer: WriterId::NOBODY,
            }],
            cond_ids: FxHashMap::default(),
            sources: Vec::new(),
            nodes: 1,
            size: 0,
        }
    }

    /// Whether there is nothing that a set could hold.
    pub(super) fn is_empty(&self) -> bool {
        !self.is_on && self.unknowns.is_empty()
    }

    /// How much is kept, for the bound.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Makes the nodes of a source known; gives what to add to their numbers.
    pub(super) fn add_source(&mut self, index: u32, source: &Arc<TemplateSource>) -> u32 {
        let base = self.nodes;
        self.nodes += source.spans.len() as u32;
        self.size += source.spans.len();
        self.sources.push((base, index, source.clone()));
        base
    }

    pub(super) fn writer(&self, base: u32, node: u32) -> WriterId {
        WriterId(base + node)
    }

    fn node(&mut self, node: SetNode, flags: u8) -> SetId {
        self.sets.push((node, flags));
        self.size += 1;
        SetId(self.sets.len() as u32 - 1)
    }

    fn flags(&self, set: SetId) -> u8 {
        self.sets[set.0 as usize].1
    }

    /// The set of one origin.
    pub(super) fn origin(&mut self, origin: OriginId) -> SetId {
        if !self.is_on {
            return SetId::NONE;
        }
        if let Some(known) = self.origins.get(&origin) {
            return *known;
        }
        let set = self.node(SetNode::Origin(origin), 0);
        self.origins.insert(origin, set);
        set
    }

    /// That a map has no such key.
    pub(super) fn absent(&mut self, map: SetId, key: &[u8]) -> SetId {
        if !self.is_on || map == SetId::NONE {
            return SetId::NONE;
        }
        let key: Rc<[u8]> = key.into();
        if let Some(known) = self.absents.get(&(map, key.clone())) {
            return *known;
        }
        let flags = self.flags(map);
        let set = self.node(SetNode::Absent(map, key.clone()), flags);
        self.absents.insert((map, key), set);
        set
    }

    /// Something that is unknown offline.
    pub(super) fn unknown(&mut self, why: String) -> SetId {
        self.unknowns.push(why);
        let index = self.unknowns.len() as u32 - 1;
        self.node(SetNode::Unknown(index), IS_UNKNOWN | IS_ASSUMED)
    }

    pub(super) fn union(&mut self, a: SetId, b: SetId) -> SetId {
        if a == b || b == SetId::NONE {
            return a;
        }
        if a == SetId::NONE {
            return b;
        }
        let pair = if a.0 < b.0 { (a, b) } else { (b, a) };
        // Already in, at the top of the other.
        if let SetNode::Union(left, right) = self.sets[pair.1.0 as usize].0
            && (left == pair.0 || right == pair.0)
        {
            return pair.1;
        }
        if let Some(known) = self.unions.get(&pair) {
            return *known;
        }
        let flags = self.flags(a) | self.flags(b);
        let set = self.node(SetNode::Union(pair.0, pair.1), flags);
        self.unions.insert(pair, set);
        set
    }

    pub(super) fn decides(&mut self, set: SetId) -> SetId {
        if set == SetId::NONE || matches!(self.sets[set.0 as usize].0, SetNode::Decides(_)) {
            return set;
        }
        if let Some(known) = self.decides.get(&set) {
            return *known;
        }
        let flags = self.flags(set) & IS_ASSUMED;
        let decided = self.node(SetNode::Decides(set), flags);
        self.decides.insert(set, decided);
        decided
    }

    /// Whether a value out of this set is unknown.
    pub(super) fn is_unknown(&self, set: SetId) -> bool {
        self.flags(set) & IS_UNKNOWN != 0
    }

    /// Whether something unknown chose a value out of this set.
    pub(super) fn is_assumed(&self, set: SetId) -> bool {
        self.flags(set) & IS_ASSUMED != 0
    }

    /// The one thing that is unknown of a set, where there is one and nothing unknown
    /// decided on it.
    pub(super) fn only_unknown(&self, set: SetId) -> Option<SetId> {
        /// A set of more is no version of a cluster.
        const MOST: usize = 1_000;
        let mut found = None;
        let mut todo = vec![set];
        let mut left = MOST;
        while let Some(set) = todo.pop() {
            left = left.checked_sub(1)?;
            match &self.sets[set.0 as usize].0 {
                SetNode::Unknown(_) if found.is_some_and(|found| found != set) => return None,
                SetNode::Unknown(_) => found = Some(set),
                SetNode::Union(a, b) => {
                    todo.extend([*a, *b].into_iter().filter(|set| self.is_assumed(*set)));
                }
                SetNode::Decides(_) | SetNode::Absent(..) => return None,
                SetNode::Origin(_) => {}
            }
        }
        found
    }

    /// Keeps what is asked from now on.
    pub(super) fn keep_questions(&mut self) {
        self.questions = Some(Questions::default());
    }

    /// A branch whose list is run.
    pub(super) fn takes(&mut self, writer: WriterId) {
        if let Some(questions) = &mut self.questions {
            questions.taken.insert(writer.0);
        }
    }

    /// Whether a branch was come to, and its list never run.
    pub(super) fn is_passed_over(&self, writer: WriterId) -> bool {
        let questions = self.questions.as_ref();
        questions.is_some_and(|kept| kept.asked.contains(writer.0) && !kept.taken.contains(writer.0))
    }

    /// The values that any question hung on.
    pub(super) fn questioned(&self) -> Vec<OriginId> {
        let all = self.questions.iter().flat_map(|kept| kept.sets.iter());
        self.values_of(all.map(SetId).collect(), true)
    }

    /// Notes a question; where its answer is unknown, for good.
    pub(super) fn asks(&mut self, question: SetId, writer: WriterId) {
        let is_assumed = self.is_assumed(question);
        if let Some(questions) = &mut self.questions {
            questions.asked.insert(writer.0);
            questions.sets.insert(question.0);
            // Whatever is unknown may be true.
            if is_assumed {
                questions.taken.insert(writer.0);
            }
        }
        if is_assumed {
            self.assumed.insert((question, writer));
        }
    }

    /// The places of a set, without what is unknown.
    pub(super) fn known(&mut self, set: SetId) -> SetId {
        if !self.is_assumed(set) {
            return set;
        }
        let origins = self.origins_of(set);
        origins.into_iter().fold(SetId::NONE, |all, origin| {
            let one = self.origin(origin);
            self.union(all, one)
        })
    }

    fn origins_of(&self, set: SetId) -> Vec<OriginId> {
        self.values_of(vec![set], false)
    }

    /// What is unknown in a set, and whether it decided only, which `decided` says of the whole.
    fn unknowns_of(&self, set: SetId, decided: bool) -> Vec<(SetId, bool)> {
        let mut found = Vec::new();
        let mut seen = FxHashSet::default();
        let mut todo = vec![(set, decided)];
        while let Some((set, decided)) = todo.pop() {
            if !self.is_assumed(set) || !seen.insert((set, decided)) {
                continue;
            }
            match &self.sets[set.0 as usize].0 {
                SetNode::Unknown(_) => found.push((set, decided)),
                SetNode::Absent(map, _) => todo.push((*map, decided)),
                SetNode::Union(a, b) => todo.extend([(*a, decided), (*b, decided)]),
                SetNode::Decides(inner) => todo.push((*inner, true)),
                SetNode::Origin(_) => {}
            }
        }
        found
    }

    /// The questions whose answers are unknown, in the order of their places.
    fn assumed(&self) -> Vec<(SetId, WriterId)> {
        let mut asked: Vec<(SetId, WriterId)> = self.assumed.iter().copied().collect();
        asked.sort_by_key(|(set, writer)| (writer.0, set.0));
        asked
    }

    /// Why the answers of questions are unknown, each reason once, in the order of the
    /// questions; `counts` says which do, by the places that asked.
    pub(super) fn reasons(&self, counts: &dyn Fn(Option<Place>) -> bool) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        let mut seen = vec![false; self.sets.len()];
        for (set, writer) in self.assumed() {
            if !counts(self.place(writer)) {
                continue;
            }
            let mut todo = vec![set];
            let mut of_one = BTreeSet::new();
            while let Some(set) = todo.pop() {
                if !self.is_assumed(set) || std::mem::replace(&mut seen[set.0 as usize], true) {
                    continue;
                }
                match &self.sets[set.0 as usize].0 {
                    SetNode::Unknown(index) => drop(of_one.insert(&*self.unknowns[*index as usize])),
                    SetNode::Absent(inner, _) | SetNode::Decides(inner) => todo.push(*inner),
                    SetNode::Union(a, b) => todo.extend([*a, *b]),
                    SetNode::Origin(_) => {}
                }
            }
            found.extend(of_one.into_iter().filter(|why| !found.contains(why)).collect::<Vec<_>>());
        }
        found
    }

    /// The values in sets, in order; if so asked, those too that decided only.
    fn values_of(&self, sets: Vec<SetId>, with_decisions: bool) -> Vec<OriginId> {
        let mut found = Vec::new();
        let mut seen = Bits::default();
        let mut todo = sets;
        while let Some(set) = todo.pop() {
            if !seen.insert(set.0) {
                continue;
            }
            match &self.sets[set.0 as usize].0 {
                SetNode::Origin(origin) => found.push(*origin),
                SetNode::Absent(map, _) => todo.push(*map),
                SetNode::Union(a, b) => todo.extend([*a, *b]),
                SetNode::Decides(inner) if with_decisions => todo.push(*inner),
                SetNode::Unknown(_) | SetNode::Decides(_) => {}
            }
        }
        found.sort();
        found.dedup();
        found
    }

    pub(super) fn prov_id(&mut self, prov: Prov) -> ProvId {
        if !self.is_on {
            // What is unknown, or decided by something unknown, has to be seen even then.
            if !self.is_assumed(prov.from) {
                return ProvId(0);
            }
        }
        if let Some(known) = self.prov_ids.get(&prov) {
            return *known;
        }
        self.provs.push(prov);
        self.size += 1;
        let id = ProvId(self.provs.len() as u32 - 1);
        self.prov_ids.insert(prov, id);
        id
    }

    pub(super) fn prov(&self, id: ProvId) -> Prov {
        self.provs[id.0 as usize]
    }

    /// A value's own part of a text: no writer yet, no condition.
    pub(super) fn plain(&mut self, from: SetId) -> ProvId {
        if from == SetId::NONE {
            return ProvId(0);
        }
        self.prov_id(Prov { from, ..Prov::default() })
    }

    /// A condition below another.
    pub(super) fn cond(&mut self, parent: CondId, question: SetId, writer: WriterId) -> CondId {
        if !self.is_on && !self.is_assumed(question) {
            return parent;
        }
        self.cond_node([parent, parent], question, writer)
    }

    fn cond_node(&mut self, parents: [CondId; 2], question: SetId, writer: WriterId) -> CondId {
        let key = (parents[0], parents[1], question, writer);
        if let Some(known) = self.cond_ids.get(&key) {
            return *known;
        }
        let depth = 1 + parents.iter().map(|parent| self.conds[parent.0 as usize].depth).max().unwrap_or(0);
        self.conds.push(Cond { depth, parents, question, writer });
        self.size += 1;
        let id = CondId(self.conds.len() as u32 - 1);
        self.cond_ids.insert(key, id);
        id
    }

    /// Both conditions.
    pub(super) fn both(&mut self, a: CondId, b: CondId) -> CondId {
        if a == b || self.is_below(a, b) {
            return a;
        }
        if self.is_below(b, a) {
            return b;
        }
        self.cond_node([a, b], SetId::NONE, WriterId::NOBODY)
    }

    /// Whether `below` says all that `above` says, as far as a short look tells.
    fn is_below(&self, below: CondId, above: CondId) -> bool {
        if above == CondId(0) {
            return true;
        }
        let depth = self.conds[above.0 as usize].depth;
        let mut at = below;
        for _ in 0..64 {
            if at == above {
                return true;
            }
            let cond = &self.conds[at.0 as usize];
            if cond.depth <= depth {
                return false;
            }
            at = cond.parents[0];
        }
        false
    }

    /// All that the conditions of a point hung on, as decisions.
    pub(super) fn question(&mut self, cond: CondId) -> SetId {
        self.decides(self.conds[cond.0 as usize].question)
    }

    pub(super) fn place(&self, writer: WriterId) -> Option<Place> {
        if writer == WriterId::NOBODY {
            return None;
        }
        let at = self.sources.partition_point(|(base, ..)| *base <= writer.0).checked_sub(1)?;
        let (base, index, source) = &self.sources[at];
        Some(Place { source: *index, span: *source.spans.get((writer.0 - base) as usize)? })
    }
}

/// Reads what a trace holds. Most parts of an output come from few sets, so what was read
/// once is kept.
#[derive(Debug)]
pub(super) struct Reader<'t> {
    trace: &'t Trace,
    flows: FxHashMap<SetId, Arc<[Flow]>>,
    conditions: FxHashMap<CondId, Arc<[Condition]>>,
    /// Where maps come from that lack a key, and the keys that they lack.
    maps: FxHashMap<SetId, Arc<[OriginId]>>,
    keys: FxHashMap<SetId, Arc<str>>,
    /// The walk that saw a set last, whether or not it decided.
    seen: Vec<[u32; 2]>,
    walk: u32,
}

impl<'t> Reader<'t> {
    pub(super) fn new(trace: &'t Trace) -> Reader<'t> {
        let seen = vec![[0; 2]; trace.sets.len()];
        Reader {
            trace,
            flows: FxHashMap::default(),
            conditions: FxHashMap::default(),
            maps: FxHashMap::default(),
            keys: FxHashMap::default(),
            seen,
            walk: 0,
        }
    }

    /// What is in a set, each once, in order.
    pub(super) fn flows(&mut self, set: SetId) -> Arc<[Flow]> {
        if let Some(known) = self.flows.get(&set) {
            return known.clone();
        }
        let found: Arc<[Flow]> = self.walk(set).into();
        self.flows.insert(set, found.clone());
        found
    }

    fn walk(&mut self, set: SetId) -> Vec<Flow> {
        let trace = self.trace;
        self.walk += 1;
        let mut found = Vec::new();
        let mut todo = vec![(set, false)];
        while let Some((set, decided)) = todo.pop() {
            let seen = &mut self.seen[set.0 as usize][usize::from(decided)];
            if set == SetId::NONE || *seen == self.walk {
                continue;
            }
            *seen = self.walk;
            let source = match &trace.sets[set.0 as usize].0 {
                SetNode::Origin(origin) => TraceSource::Value(*origin),
                SetNode::Absent(map, key) => {
                    // A map that is not known may have the key.
                    todo.extend(trace.unknowns_of(*map, decided));
                    let maps = self.maps.entry(*map).or_insert_with(|| trace.origins_of(*map).into());
                    let key = || String::from_utf8_lossy(key).into();
                    TraceSource::Absent(maps.clone(), self.keys.entry(set).or_insert_with(key).clone())
                }
                SetNode::Unknown(index) => TraceSource::Unknown(trace.unknowns[*index as usize].clone()),
                SetNode::Union(a, b) => {
                    todo.extend([(*a, decided), (*b, decided)]);
                    continue;
                }
                SetNode::Decides(inner) => {
                    todo.push((*inner, true));
                    continue;
                }
            };
            found.push(Flow { source, decided });
        }
        found.sort();
        found.dedup();
        // What flowed in decided nothing more. The same source comes in a row.
        found.dedup_by(|next, first| next.source == first.source && !first.decided);
        found
    }

    /// The conditions, outermost first.
    pub(super) fn conditions(&mut self, cond: CondId) -> Arc<[Condition]> {
        if let Some(known) = self.conditions.get(&cond) {
            return known.clone();
        }
        let mut ids = Vec::new();
        let mut seen = FxHashSet::default();
        let mut todo = vec![cond];
        while let Some(at) = todo.pop() {
            if at == CondId(0) || !seen.insert(at) {
                continue;
            }
            let cond = &self.trace.conds[at.0 as usize];
            todo.extend(cond.parents);
            if cond.question != SetId::NONE {
                ids.push((cond.depth, at.0));
            }
        }
        ids.sort_unstable();
        let found = ids.iter().map(|(_, at)| {
            let cond = &self.trace.conds[*at as usize];
            Condition { asked: self.trace.place(cond.writer), on: self.flows(cond.question) }
        });
        let found: Arc<[Condition]> = found.collect();
        self.conditions.insert(cond, found.clone());
        found
    }

    /// The questions whose answers are unknown, in the order of their places.
    pub(super) fn assumed(&mut self) -> Vec<Condition> {
        let asked = self.trace.assumed();
        let condition = |(set, writer)| Condition { asked: self.trace.place(writer), on: self.flows(set) };
        asked.into_iter().map(condition).collect()
    }
}
