//! The value that a chart fails on: without it Helm renders.

use super::reads::without;
use super::value::{Kind, Value};
use super::{Keep, RenderError, Request, render};
use std::sync::Arc;

/// Renders that are tried for one release.
const TRIED: usize = 60;

/// The smallest value given to a release that fails without which the chart renders: keys
/// and indices from the root. It is the cause, or, of a value that is missing, what lacks
/// it. `None` where there is none, or none found in time.
pub(crate) fn culprit(request: &Request<'_>) -> Option<Vec<Arc<str>>> {
    let mut left = TRIED;
    let mut found = Vec::new();
    let mut at = request.values;
    loop {
        let keys: Vec<Arc<str>> = match &at.kind {
            Kind::Map(map) => map.keys().cloned().collect(),
            // Items are tried from the end, for the others to keep their places.
            Kind::List(items) => (0..items.len()).rev().map(|index| index.to_string().into()).collect(),
            _ => break,
        };
        let mut next = None;
        for key in keys {
            left = match left.checked_sub(1) {
                Some(left) => left,
                None => return (!found.is_empty()).then_some(found),
            };
            found.push(key);
            if renders(request, &found) {
                next = at.at(&found[found.len() - 1..]);
                break;
            }
            found.pop();
        }
        match next {
            Some(inner) => at = inner,
            None => break,
        }
    }
    (!found.is_empty()).then_some(found)
}

fn renders(request: &Request<'_>, path: &[Arc<str>]) -> bool {
    let values = cut(request.values, path);
    let rendered: Result<_, RenderError> =
        render(&Request { values: &values, keep: Keep::Text, ..request.clone() });
    rendered.is_ok()
}

/// Values without one of them; of a list, without the item.
fn cut(value: &Value, path: &[Arc<str>]) -> Value {
    let Some((last, above)) = path.split_last() else { return value.clone() };
    let Some(Kind::List(items)) = value.at(above).map(|value| &value.kind) else {
        return without(value, path);
    };
    let mut items = Vec::clone(items);
    if let Some(index) = last.parse::<usize>().ok().filter(|index| *index < items.len()) {
        items.remove(index);
    }
    replaced(value, above, Kind::List(Arc::new(items)))
}

/// Values with another one in the place of one of them.
fn replaced(value: &Value, path: &[Arc<str>], other: Kind) -> Value {
    let Some((first, rest)) = path.split_first() else {
        return Value { kind: other, origin: value.origin.clone() };
    };
    let kind = match &value.kind {
        Kind::Map(map) => {
            let mut map = super::Map::clone(map);
            if let Some(inner) = map.get(first).cloned() {
                map.insert(first.clone(), replaced(&inner, rest, other));
            }
            Kind::Map(Arc::new(map))
        }
        Kind::List(items) => {
            let mut items = Vec::clone(items);
            if let Some(item) = first.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                *item = replaced(item, rest, other);
            }
            Kind::List(Arc::new(items))
        }
        same => same.clone(),
    };
    Value { kind, origin: value.origin.clone() }
}
