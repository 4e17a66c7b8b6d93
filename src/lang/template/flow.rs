//! How origins go from values to texts and back.

use super::quote::quote_step;
use super::rope::{Builder, Text};
use super::trace::{CondId, Prov, ProvId, SetId, Trace, WriterId};
use super::value::{Kind, Val};

/// All runs of a text also come from a set.
pub(super) fn also(trace: &mut Trace, text: &Text, from: SetId) -> Text {
    if from == SetId::NONE {
        return text.clone();
    }
    each(trace, text, |trace, prov| Prov { from: trace.union(prov.from, from), ..prov })
}

/// A text of the same bytes with each run's provenance changed.
fn each(trace: &mut Trace, text: &Text, change: impl Fn(&mut Trace, Prov) -> Prov) -> Text {
    let changed = |trace: &mut Trace, id: ProvId| {
        let prov = trace.prov(id);
        let new = change(trace, prov);
        trace.prov_id(new)
    };
    if let Some(only) = text.only_prov() {
        let prov = changed(trace, only);
        if prov == only {
            return text.clone();
        }
        return Text::new(text.bytes(), prov);
    }
    let mut out = Builder::default();
    for (range, id) in text.runs() {
        let prov = changed(trace, id);
        out.push(&text.bytes()[range], prov);
    }
    out.finish()
}

/// The union of what flowed into a text.
pub(super) fn of_text(trace: &mut Trace, text: &Text) -> SetId {
    if trace.is_empty() {
        return SetId::NONE;
    }
    // An empty text has no part, but it may come from somewhere.
    if let Some(only) = text.only_prov() {
        return trace.prov(only).from;
    }
    let mut set = SetId::NONE;
    let mut last = ProvId::default();
    for (_, id) in text.runs() {
        if id != last {
            let from = trace.prov(id).from;
            set = trace.union(set, from);
            last = id;
        }
    }
    set
}

/// What flowed into a value: of a list or a map, into itself but not its elements.
pub(super) fn of(trace: &mut Trace, val: &Val) -> SetId {
    match &val.kind {
        Kind::Str(text) | Kind::Bytes(text) => {
            let inner = of_text(trace, text);
            trace.union(val.from, inner)
        }
        _ => val.from,
    }
}

/// What the key of a value comes from: where the value does. It is known where the value
/// isn't.
pub(super) fn of_key(trace: &mut Trace, val: &Val) -> SetId {
    let own = of(trace, val);
    trace.known(own)
}

/// How many elements are looked at for a set; beyond it, the set has what was found.
const DEEP_LIMIT: usize = 100_000;

/// What flowed into a value, as far as it tells what it is and whether it is empty: of a map
/// that a template made, what its keys hang on.
pub(super) fn shallow(trace: &mut Trace, val: &Val) -> SetId {
    let own = of(trace, val);
    match &val.kind {
        Kind::Map(map) if own == SetId::NONE && !trace.is_empty() => {
            map.entries.borrow().values().fold(own, |set, entry| trace.union(set, entry.key))
        }
        _ => own,
    }
}

/// What flowed into a value and all below it.
pub(super) fn deep(trace: &mut Trace, val: &Val) -> SetId {
    if trace.is_empty() {
        return SetId::NONE;
    }
    if !matches!(val.kind, Kind::List(_) | Kind::Map(_)) {
        return of(trace, val);
    }
    let mut set = SetId::NONE;
    let mut left = DEEP_LIMIT;
    let mut todo = vec![val.clone()];
    while let Some(val) = todo.pop() {
        if left == 0 {
            break;
        }
        left -= 1;
        let own = of(trace, &val);
        set = trace.union(set, own);
        match &val.kind {
            Kind::List(list) => match list.unread() {
                Some(all) => {
                    let from = trace.prov(all.prov).from;
                    set = trace.union(set, from);
                }
                None => todo.extend(list.iter().take(left)),
            },
            Kind::Map(map) => {
                for (_, entry) in map.entries.borrow().iter().take(left) {
                    set = trace.union(set, entry.key);
                    todo.push(entry.val.clone());
                }
            }
            _ => {}
        }
    }
    set
}

/// Whether any part of a text is unknown.
pub(super) fn has_unknown(trace: &Trace, text: &Text) -> bool {
    text.runs().any(|(_, id)| trace.is_unknown(trace.prov(id).from))
}

/// A value that another one chose.
pub(super) fn decided(trace: &mut Trace, val: Val, by: SetId) -> Val {
    let by = trace.decides(by);
    let from = trace.union(val.from, by);
    val.with(from)
}

/// A text as an action writes it: what has no writer yet is the action's, and all
/// stands under the conditions of the moment.
pub(super) fn written(trace: &mut Trace, id: ProvId, from: SetId, writer: WriterId, under: CondId) -> ProvId {
    let prov = trace.prov(id);
    let writer = if prov.writer == WriterId::NOBODY { writer } else { prov.writer };
    let from = trace.union(prov.from, from);
    let under = trace.both(under, prov.under);
    trace.prov_id(Prov { writer, from, under })
}

/// A text as Go's `%q`, each byte with the provenance of what it is made of.
pub(super) fn push_quoted(out: &mut Builder, text: &Text) {
    let bytes = text.bytes();
    let edge = |at: usize| if bytes.is_empty() { ProvId::default() } else { text.prov_at(at) };
    out.push(b"\"", edge(0));
    let mut at = 0;
    let mut piece = Vec::new();
    for (range, prov) in text.runs() {
        piece.clear();
        while at < range.end {
            at += quote_step(&bytes[at..], '"', false, &mut piece);
        }
        out.push(&piece, prov);
    }
    out.push(b"\"", edge(bytes.len().saturating_sub(1)));
}
