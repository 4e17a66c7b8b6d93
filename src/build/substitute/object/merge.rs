//! The object that was read from the substituted text, with the places of the one before.

use super::{SubstitutionProblem, note_type, unknown_values, value_of};
use crate::build::stand_in;
use crate::build::substitute::{Variables, parse};
use crate::lang::yaml::{
    Built, Dialect, Entry, EntryRef, Holes, Node, NodeRef, Origin, Scalar, Trail, Value, emit, resolve,
};
use std::sync::Arc;

/// Puts a parsed text together with the object that it was: what is the same
/// stays shared, what differs gets the place of what it was.
pub(super) struct Merge<'v> {
    pub(super) variables: &'v Variables,
    pub(super) unknowns: Vec<Node>,
    pub(super) holes: Vec<String>,
    pub(super) problems: Vec<SubstitutionProblem>,
    pub(super) failure: Option<String>,
}

impl Merge<'_> {
    pub(super) fn node(
        &mut self,
        new: NodeRef<'_>,
        old: Option<NodeRef<'_>>,
        trail: &Trail<'_>,
        depth: usize,
    ) -> Node {
        if depth > emit::DEPTH_LIMIT {
            self.failure = Some("nested too deeply".to_owned());
            return Node::scalar(Value::Null, None);
        }
        let before = old.and_then(text_of);
        let origin = |merge: &Self| {
            let mut location = old.and_then(NodeRef::location);
            let names = before.as_deref().and_then(|text| parse(text).ok()).map(|template| {
                template.expressions().iter().map(|expression| expression.name.clone()).collect::<Vec<_>>()
            });
            if let (Some(location), Some(names)) = (&mut location, names) {
                location.via.extend(merge.variables.via(names.iter()));
            }
            location.map(Origin::from)
        };
        let value = if new.is_map() {
            let entries = self.entries(new, old, trail, depth);
            match old {
                Some(old) if same_entries(old, &entries) => return old.to_node(),
                _ => Value::Map(entries.into()),
            }
        } else if new.is_seq() {
            let items: Vec<Node> = new
                .items()
                .enumerate()
                .map(|(index, item)| {
                    let twin = old.filter(|old| old.is_seq()).and_then(|old| old.items().nth(index));
                    self.node(item, twin, &Trail::Index(trail, index), depth + 1)
                })
                .collect();
            match old {
                Some(old) if old.is_seq() && same_nodes(old.items(), items.iter()) => return old.to_node(),
                _ => Value::Seq(items),
            }
        } else {
            match self.scalar(new, before.as_deref(), old) {
                Ok(value) => value,
                Err(node) => return node,
            }
        };
        if let Some(before) = &before
            && before.contains('$')
        {
            let shown = new.text().unwrap_or_default();
            if let Some(old) = old {
                note_type(&value, &shown, old, trail, &mut self.problems);
            }
        }
        Node::Built(Arc::new(Built { value, origin: origin(self) }))
    }

    /// What a scalar comes to; the node where its value is unknown, or is the old one's.
    fn scalar(
        &mut self,
        new: NodeRef<'_>,
        before: Option<&str>,
        old: Option<NodeRef<'_>>,
    ) -> Result<Value, Node> {
        let scalar = new.scalar(Dialect::GoYamlV2);
        if let Scalar::Float(value) = scalar
            && !value.is_finite()
        {
            self.failure = Some(format!("json: unsupported value: {value}"));
        }
        let value = match &scalar {
            Scalar::Str(text) => match stand_in::value_of(text) {
                Value::Holes(holes) => Value::Holes(Holes { why: self.why_of(text), ..holes }),
                value => value,
            },
            _ => value_of(scalar),
        };
        if let Some(unknown) = self.unknown_of(&value) {
            return Err(unknown);
        }
        match (&value, before, old) {
            (Value::Str(after), Some(before), Some(old)) if **after == *before => return Err(old.to_node()),
            (_, None, Some(old)) if same_scalar(&value, old) => return Err(old.to_node()),
            _ => {}
        }
        Ok(value)
    }

    pub(super) fn entries(
        &mut self,
        new: NodeRef<'_>,
        old: Option<NodeRef<'_>>,
        trail: &Trail<'_>,
        depth: usize,
    ) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for entry in new.entries() {
            let scalar = entry.key_node.scalar(Dialect::GoYamlV2);
            let key = match resolve::json_key(&scalar, Dialect::GoYamlV2) {
                Ok(key) => key.into_owned(),
                Err(message) => {
                    self.failure = Some(message);
                    continue;
                }
            };
            let old_map = old.filter(|old| old.is_map());
            let mut twin = old_map.and_then(|old| old.entry(&key));
            let key_node = match (&twin, stand_in::value_of(&key)) {
                (Some(twin), _) => twin.key_node.to_node(),
                (None, value) => {
                    twin = old_map.and_then(only_key_with_variables);
                    let place = twin.as_ref().and_then(EntryRef::key_location);
                    Node::scalar(value, place.or_else(|| old.and_then(NodeRef::location)))
                }
            };
            let value =
                self.node(entry.value, twin.map(|twin| twin.value), &Trail::Key(trail, &key), depth + 1);
            match entries.iter_mut().find(|known| known.key_text() == key) {
                Some(known) => known.value = value,
                None => entries.push(Entry { key: key_node, value }),
            }
        }
        entries
    }

    /// Why parts of a text are unknown, where all of them are variables.
    fn why_of(&self, text: &str) -> Option<Arc<str>> {
        let name = |number: Option<usize>| self.holes.get(number?.checked_sub(self.unknowns.len())?);
        let names: Option<Vec<&str>> =
            stand_in::numbers_in(text).into_iter().map(|number| name(number).map(AsRef::as_ref)).collect();
        Some(unknown_values(&names?))
    }

    /// The node that a lone stand-in stands for.
    fn unknown_of(&self, value: &Value) -> Option<Node> {
        let Value::Unknown(word) = value else { return None };
        let index = stand_in::number_of(word)?;
        if let Some(node) = self.unknowns.get(index) {
            return Some(node.clone());
        }
        let name = self.holes.get(index - self.unknowns.len())?;
        Some(Node::scalar(Value::Unknown(unknown_values(&[name])), None))
    }
}

/// The text of a string.
fn text_of(node: NodeRef<'_>) -> Option<String> {
    match node.scalar(Dialect::GoYamlV3) {
        Scalar::Str(text) if !node.is_map() && !node.is_seq() && !node.is_unknown() => {
            Some(text.into_owned())
        }
        _ => None,
    }
}

/// The entry of a map whose key alone has variables: where a key that is new came from.
fn only_key_with_variables(old: NodeRef<'_>) -> Option<EntryRef<'_>> {
    let mut found = old.entries().filter(|entry| entry.key.contains('$'));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

fn same_entries(old: NodeRef<'_>, entries: &[Entry]) -> bool {
    old.is_map()
        && old.entries().count() == entries.len()
        && entries
            .iter()
            .all(|entry| old.entry(&entry.key_text()).is_some_and(|twin| is_same(twin.value, &entry.value)))
}

fn same_nodes<'a>(old: impl Iterator<Item = NodeRef<'a>>, new: impl Iterator<Item = &'a Node>) -> bool {
    let (mut old, mut new) = (old, new);
    loop {
        match (old.next(), new.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if is_same(a, b) => {}
            _ => return false,
        }
    }
}

/// Whether two handles are of the same node.
fn is_same(old: NodeRef<'_>, new: &Node) -> bool {
    match (old, new) {
        (NodeRef::Source(a, x), Node::Source(b, y)) => Arc::ptr_eq(a, b) && x == *y,
        (NodeRef::Built(a), Node::Built(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}

fn same_scalar(value: &Value, old: NodeRef<'_>) -> bool {
    if old.is_map() || old.is_seq() || old.is_unknown() {
        return false;
    }
    match (value, old.scalar(Dialect::GoYamlV3)) {
        (Value::Null, Scalar::Null) => true,
        (Value::Bool(a), Scalar::Bool(b)) => *a == b,
        (Value::Int(a), Scalar::Int(b)) => *a == b,
        (Value::Uint(a), Scalar::Uint(b)) => *a == b,
        (Value::Float(a), Scalar::Float(b)) => *a == b,
        (Value::Int(a), Scalar::Float(b)) => *a as f64 == b,
        (Value::Str(a), Scalar::Timestamp(b)) => resolve::timestamp_rfc3339(&b).is_some_and(|b| *b == **a),
        _ => false,
    }
}
