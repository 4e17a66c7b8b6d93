//! Values of charts: what JSON knows, and where each was written.

use crate::lang::yaml::{Dialect, Holes, NodeKind, NodeRef, Origin, Scalar};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::Arc;

/// The key of the values that a chart hands on to those in it.
pub(super) const GLOBAL: &str = "global";

/// The entries of a map, in the order of Go's printing.
pub type Map = BTreeMap<Arc<str>, Value>;

/// A value and the place that it was written at. Cloning is a reference count.
#[derive(Clone, Debug)]
pub struct Value {
    /// What it is.
    pub kind: Kind,
    /// Where it was written; `None` for what no text says.
    pub origin: Option<Origin>,
}

/// What a value is, by Go's types.
#[derive(Clone, Debug)]
pub enum Kind {
    /// `nil`
    Null,
    /// `bool`
    Bool(bool),
    /// `int64`, as `--set` makes of digits.
    Int(i64),
    /// `float64`, as every number of a file is.
    Float(f64),
    /// `string`
    Text(Arc<str>),
    /// `[]interface {}`
    List(Arc<Vec<Value>>),
    /// `map[string]interface {}`
    Map(Arc<Map>),
    /// A text of which parts are unknown offline.
    Holes(Arc<Holes>),
    /// What is unknown offline, and why.
    Unknown(Arc<str>),
}

/// How deeply values may be nested: encoding/json gives up there.
const DEPTH: usize = 10_000;

/// How deeply they may be nested here, where code goes down into them: as deeply as YAML
/// may be.
pub(super) const DEPTH_HERE: usize = crate::lang::yaml::emit::DEPTH_LIMIT;

impl Value {
    /// A value that no text says.
    pub fn new(kind: Kind) -> Value {
        Value { kind, origin: None }
    }

    /// An empty map.
    pub fn empty() -> Value {
        Value::new(Kind::Map(Arc::default()))
    }

    /// A text.
    pub fn text(text: &str) -> Value {
        Value::new(Kind::Text(text.into()))
    }

    /// As JSON decodes the tree: every number a `float64`. Nothing where it is nested too
    /// deeply.
    pub fn of_node(node: NodeRef<'_>) -> Option<Value> {
        of_node(node, 0)
    }

    /// What a node is, without what is below it.
    pub(super) fn shallow(node: NodeRef<'_>) -> Value {
        match node.kind() {
            NodeKind::Map => Value::empty(),
            NodeKind::Seq => Value::new(Kind::List(Arc::default())),
            _ => of_node(node, 0).unwrap_or_else(Value::empty),
        }
    }

    /// The entries of a map.
    pub fn map(&self) -> Option<&Map> {
        match &self.kind {
            Kind::Map(map) => Some(map),
            _ => None,
        }
    }

    pub(super) fn map_mut(&mut self) -> Option<&mut Map> {
        match &mut self.kind {
            Kind::Map(map) => Some(Arc::make_mut(map)),
            _ => None,
        }
    }

    /// The value of a key of a map.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.map()?.get(key)
    }

    /// The same but for what is at a path of keys and indices: what `change` makes of it, or
    /// nothing, where the values after it in a list take its place.
    pub(super) fn changed_at(&self, path: &[Arc<str>], change: &dyn Fn(&Value) -> Option<Value>) -> Value {
        let Some((first, rest)) = path.split_first() else {
            return change(self).unwrap_or_else(|| self.clone());
        };
        let changed = |inner: &Value| match rest.is_empty() {
            true => change(inner),
            false => Some(inner.changed_at(rest, change)),
        };
        let kind = match &self.kind {
            Kind::Map(map) => {
                let mut map = Map::clone(map);
                match map.get(first).map(changed) {
                    Some(Some(value)) => drop(map.insert(first.clone(), value)),
                    Some(None) => drop(map.remove(first)),
                    None => {}
                }
                Kind::Map(Arc::new(map))
            }
            Kind::List(items) => {
                let mut items = Vec::clone(items);
                if let Some(index) = first.parse::<usize>().ok().filter(|index| *index < items.len()) {
                    match changed(&items[index]) {
                        Some(value) => items[index] = value,
                        None => drop(items.remove(index)),
                    }
                }
                Kind::List(Arc::new(items))
            }
            other => other.clone(),
        };
        Value { kind, origin: self.origin.clone() }
    }

    /// What is at a path of keys and indices.
    pub(crate) fn at(&self, path: &[Arc<str>]) -> Option<&Value> {
        path.iter().try_fold(self, |value, key| match &value.kind {
            Kind::Map(map) => map.get(key),
            Kind::List(items) => items.get(key.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Whether it is a map.
    pub fn is_map(&self) -> bool {
        matches!(self.kind, Kind::Map(_))
    }

    /// The same, with no place.
    pub(crate) fn without_origins(&self) -> Value {
        let kind = match &self.kind {
            Kind::List(items) => Kind::List(Arc::new(items.iter().map(Value::without_origins).collect())),
            Kind::Map(map) => {
                let entries = map.iter().map(|(key, value)| (key.clone(), value.without_origins()));
                Kind::Map(Arc::new(entries.collect()))
            }
            other => other.clone(),
        };
        Value::new(kind)
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null)
    }

    /// Whether it or a value below it is unknown.
    pub fn has_unknown(&self) -> bool {
        match &self.kind {
            Kind::Unknown(_) | Kind::Holes(_) => true,
            Kind::List(items) => items.iter().any(Value::has_unknown),
            Kind::Map(map) => map.values().any(Value::has_unknown),
            _ => false,
        }
    }

    /// JSON's name of its type, as encoding/json tells it.
    pub(super) fn json_type(&self) -> &'static str {
        match &self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "bool",
            Kind::Int(_) | Kind::Float(_) => "number",
            Kind::Text(_) | Kind::Holes(_) | Kind::Unknown(_) => "string",
            Kind::List(_) => "array",
            Kind::Map(_) => "object",
        }
    }

    /// Go's name of its type.
    pub(super) fn go_type(&self) -> &'static str {
        match &self.kind {
            Kind::Null => "<nil>",
            Kind::Bool(_) => "bool",
            Kind::Int(_) => "int64",
            Kind::Float(_) => "float64",
            Kind::Text(_) | Kind::Holes(_) | Kind::Unknown(_) => "string",
            Kind::List(_) => "[]interface {}",
            Kind::Map(_) => "map[string]interface {}",
        }
    }
}

/// As `%v` of Go prints it.
impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Null => out.write_str("<nil>"),
            Kind::Bool(value) => write!(out, "{value}"),
            Kind::Int(value) => write!(out, "{value}"),
            Kind::Float(value) => out.write_str(&crate::lang::template::float(*value)),
            Kind::Text(text) => out.write_str(text),
            Kind::Holes(_) | Kind::Unknown(_) => out.write_str("?"),
            Kind::List(items) => {
                out.write_char('[')?;
                for (index, item) in items.iter().enumerate() {
                    let blank = if index > 0 { " " } else { "" };
                    write!(out, "{blank}{item}")?;
                }
                out.write_char(']')
            }
            Kind::Map(map) => {
                out.write_str("map[")?;
                for (index, (key, value)) in map.iter().enumerate() {
                    let blank = if index > 0 { " " } else { "" };
                    write!(out, "{blank}{key}:{value}")?;
                }
                out.write_char(']')
            }
        }
    }
}

fn of_node(node: NodeRef<'_>, depth: usize) -> Option<Value> {
    const { assert!(DEPTH_HERE < DEPTH) };
    if depth > DEPTH_HERE {
        return None;
    }
    let origin = match node {
        NodeRef::Source(source, token) => Some(Origin::Token(source.clone(), token)),
        NodeRef::Built(built) => built.origin.clone(),
    };
    let kind = match node.kind() {
        NodeKind::Map => {
            let mut map = Map::new();
            for entry in node.entries() {
                map.insert(entry.key.as_ref().into(), of_node(entry.value, depth + 1)?);
            }
            Kind::Map(Arc::new(map))
        }
        NodeKind::Seq => {
            let items: Option<Vec<Value>> = node.items().map(|item| of_node(item, depth + 1)).collect();
            Kind::List(Arc::new(items?))
        }
        NodeKind::Unknown => {
            let why = match node {
                NodeRef::Built(built) => match &built.value {
                    crate::lang::yaml::Value::Unknown(why) => why.clone(),
                    _ => "unknown".into(),
                },
                NodeRef::Source(..) => "unknown".into(),
            };
            Kind::Unknown(why)
        }
        NodeKind::Scalar => match node.holes() {
            Some(holes) => Kind::Holes(Arc::new(holes.clone())),
            None => match node.scalar(Dialect::GoYamlV2) {
                Scalar::Null => Kind::Null,
                Scalar::Bool(value) => Kind::Bool(value),
                Scalar::Int(value) => Kind::Float(value as f64),
                Scalar::Uint(value) => Kind::Float(value as f64),
                Scalar::Float(value) => Kind::Float(value),
                Scalar::Timestamp(text) | Scalar::Str(text) => Kind::Text(text.as_ref().into()),
            },
        },
    };
    Some(Value { kind, origin })
}

/// `MergeMaps` of Helm's loader: `over` wins, maps are merged, null is a value.
pub fn merge_maps(below: &Value, over: &Value) -> Value {
    let mut merged = below.clone();
    merge_into(&mut merged, over);
    merged
}

/// [`merge_maps`] in place: what nobody else holds is not copied.
pub(crate) fn merge_into(below: &mut Value, over: &Value) {
    let (Kind::Map(one), Kind::Map(two)) = (&mut below.kind, &over.kind) else {
        *below = over.clone();
        return;
    };
    let one = Arc::make_mut(one);
    for (key, value) in two.iter() {
        match one.get_mut(key) {
            Some(known) if known.is_map() && value.is_map() => merge_into(known, value),
            Some(known) => *known = value.clone(),
            None => drop(one.insert(key.clone(), value.clone())),
        }
    }
    if over.origin.is_some() {
        below.origin.clone_from(&over.origin);
    }
}
