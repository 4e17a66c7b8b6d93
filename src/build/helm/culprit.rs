//! The value that a chart fails on: without it Helm renders.

use super::readers::{Path, Readers};
use super::reads::without;
use super::value::{Kind, Map, Value};
use super::{Keep, RenderRequest, Work, coalesced, render};
use crate::lang::text::nearest;
use std::collections::VecDeque;
use std::sync::Arc;

/// Renders that are tried for one release, of each kind.
const TRIED: usize = 100;
/// Steps of templates that all of these may take together: a quarter of what one render may.
const STEPS: u64 = 5_000_000;

/// The value that a release fails on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Culprit {
    /// Keys and indices from the root.
    pub(crate) path: Path,
    /// Under which name the chart renders with it.
    pub(crate) meant: Option<Path>,
}

/// The value that a chart fails on: one that has a name which only nearly is one that the
/// chart knows, and renders with that; else the smallest one without which it renders, which
/// is the cause, or, of a value that is missing, what lacks it. `None` where there is none,
/// or none found in time.
pub(crate) fn culprit(request: &RenderRequest<'_>, readers: Option<&Readers>) -> Option<Culprit> {
    let work = Work::new(STEPS);
    let request = &RenderRequest { work: Some(&work), ..request.clone() };
    let known = coalesced(request).ok();
    let misspelt = known.and_then(|known| misspelt(request, &known, readers));
    misspelt.or_else(|| Some(Culprit { path: in_the_way(request)?, meant: None }))
}

/// The value that the chart renders with once it has a name that is near.
fn misspelt(request: &RenderRequest<'_>, known: &Value, readers: Option<&Readers>) -> Option<Culprit> {
    let mut near = Vec::new();
    near_names(request.values, known, readers, &mut Vec::new(), &mut near);
    near.truncate(TRIED);
    let renders_as = |one: &&Culprit| {
        let (Some(meant), Some(value)) = (&one.meant, request.values.at(&one.path)) else { return false };
        let values = without(request.values, &[&one.path]);
        let (above, last) = (&meant[..meant.len() - 1], &meant[meant.len() - 1]);
        let Some(map) = values.at(above).and_then(Value::map) else { return false };
        let mut map = map.clone();
        map.insert(last.clone(), value.clone());
        let kind = Kind::Map(Arc::new(map));
        let with = |at: &Value| Some(Value { kind: kind.clone(), origin: at.origin.clone() });
        renders(request, &values.changed_at(above, &with))
    };
    near.iter().find(renders_as).cloned()
}

/// Keys that the chart's values lack, each with the one that is near. Values are as deep as
/// YAML may be.
fn near_names(
    value: &Value,
    known: &Value,
    readers: Option<&Readers>,
    path: &mut Path,
    found: &mut Vec<Culprit>,
) {
    match &value.kind {
        Kind::Map(map) => {
            let named = readers.map(|readers| readers.named_at(path, known)).unwrap_or_default();
            // A library that merges its own values into those of the chart has them below its name.
            let scopes = readers.map_or(&[][..], |readers| &readers.scopes);
            let beside = scopes.iter().filter_map(|scope| known.at(scope)?.at(path)?.map());
            let beside = beside.chain(known.at(path).and_then(Value::map));
            let mut names: Vec<&str> = beside.flat_map(Map::keys).map(|key| &**key).collect();
            names.extend(named.iter().map(|key| &**key));
            names.retain(|name| !map.contains_key(*name));
            names.sort_unstable();
            names.dedup();
            for (key, inner) in map.iter() {
                let near = nearest(key, names.iter().copied()).filter(|_| !named.contains(key));
                path.push(key.clone());
                if let Some(near) = near {
                    let mut meant = path.clone();
                    meant.pop();
                    meant.push(near.into());
                    found.push(Culprit { path: path.clone(), meant: Some(meant) });
                }
                near_names(inner, known, readers, path, found);
                path.pop();
            }
        }
        Kind::List(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(index.to_string().into());
                near_names(item, known, readers, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// A small value without which the chart renders: none below it is one, and none around it
/// was tried before.
fn in_the_way(request: &RenderRequest<'_>) -> Option<Path> {
    let mut todo: VecDeque<(Path, &Value)> = VecDeque::from([(Vec::new(), request.values)]);
    let mut found = None;
    let mut left = TRIED;
    while let Some((path, value)) = todo.pop_front() {
        let keys: Vec<Arc<str>> = match &value.kind {
            Kind::Map(map) => map.keys().cloned().collect(),
            // Items are tried from the end, for the others to keep their places.
            Kind::List(items) => (0..items.len()).rev().map(|index| index.to_string().into()).collect(),
            _ => continue,
        };
        for key in keys {
            let Some(next) = left.checked_sub(1) else { return found };
            left = next;
            let Some(inner) = value.at(std::slice::from_ref(&key)) else { continue };
            let below: Path = path.iter().cloned().chain([key]).collect();
            if renders(request, &request.values.changed_at(&below, &|_| None)) {
                found = Some(below.clone());
                todo.clear();
                todo.push_back((below, inner));
                break;
            }
            todo.push_back((below, inner));
        }
    }
    found
}

fn renders(request: &RenderRequest<'_>, values: &Value) -> bool {
    render(&RenderRequest { values, keep: Keep::Text, ..request.clone() }).is_ok()
}
