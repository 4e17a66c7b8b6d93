//! JSON patches that can be taken back.

use crate::lang::yaml::pointer_segments;
use crate::model::value::is_unknown;
use serde_json::Value;

/// The operation that takes back what another one did.
pub(super) struct Inverse {
    op: &'static str,
    path: String,
    value: Option<Value>,
}

/// Takes back what operations did, the last one first. A copy of the template for each patch
/// would cost the square of their number.
pub(super) fn undo(target: &mut Value, inverses: Vec<Inverse>) {
    for Inverse { op, path, value } in inverses.into_iter().rev() {
        let _ = json_patch(target, op, &path, value);
    }
}

/// One operation of RFC 6902 as evanphx/json-patch applies it, and its inverse. One that fails
/// changes nothing. One below an unknown value leaves it unknown, and has no inverse.
pub(super) fn json_patch(
    target: &mut Value,
    op: &str,
    path: &str,
    value: Option<Value>,
) -> Result<Option<Inverse>, String> {
    let segments: Vec<String> = pointer_segments(path).map(|s| s.into_owned()).collect();
    let Some((last, parents)) = segments.split_last() else {
        return Err(format!("the path `{path}` names the whole template"));
    };
    let at_parent = |segment: &str| format!("`{op}` at `{path}`: `{segment}` is missing");
    let Some(slot) = below(target, parents).map_err(at_parent)? else { return Ok(None) };
    let missing = || at_parent(last);
    let inverse = |op, value| Inverse { op, path: path.to_owned(), value };
    Ok(Some(match (op, slot, value) {
        ("add", Value::Object(map), Some(value)) => match map.insert(last.clone(), value) {
            None => inverse("remove", None),
            before => inverse("add", before),
        },
        ("replace", Value::Object(map), Some(value)) => {
            let before = std::mem::replace(map.get_mut(last).ok_or_else(missing)?, value);
            inverse("add", Some(before))
        }
        ("remove", Value::Object(map), _) => inverse("add", Some(map.remove(last).ok_or_else(missing)?)),
        ("add", Value::Array(items), Some(value)) if last == "-" => {
            let parent = &path[..path.len() - last.len()];
            items.push(value);
            Inverse { op: "remove", path: format!("{parent}{}", items.len() - 1), value: None }
        }
        ("add", Value::Array(items), Some(value)) => {
            let index = last.parse::<usize>().ok().filter(|index| *index <= items.len());
            items.insert(index.ok_or_else(missing)?, value);
            inverse("remove", None)
        }
        ("replace", Value::Array(items), Some(value)) => {
            let index = last.parse::<usize>().ok();
            let item = index.and_then(|index| items.get_mut(index)).ok_or_else(missing)?;
            inverse("replace", Some(std::mem::replace(item, value)))
        }
        ("remove", Value::Array(items), _) => {
            let index = last.parse::<usize>().ok().filter(|index| *index < items.len());
            inverse("add", Some(items.remove(index.ok_or_else(missing)?)))
        }
        (_, Value::Null, _) => return Err(format!("`{op}` at `{path}`: its parent is null")),
        _ => return Err(format!("`{op}` at `{path}` cannot be applied")),
    }))
}

/// The value at a path; `None` where a value on the way is unknown, an error of the segment
/// that isn't there.
fn below<'v, 's>(target: &'v mut Value, path: &'s [String]) -> Result<Option<&'v mut Value>, &'s str> {
    let mut slot = target;
    for segment in path {
        if is_unknown(slot) {
            return Ok(None);
        }
        slot = match slot {
            Value::Object(map) => map.get_mut(segment),
            Value::Array(items) => segment.parse::<usize>().ok().and_then(|index| items.get_mut(index)),
            _ => None,
        }
        .ok_or(segment.as_str())?;
    }
    Ok((!is_unknown(slot)).then_some(slot))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn operations_follow_rfc_6902() {
        let before = json!({"spec": {"list": [1, 2], "map": {"a": 1}}});
        for (op, path, value, after) in [
            ("add", "/spec/list/-", Some(json!(3)), Ok(json!({"list": [1, 2, 3], "map": {"a": 1}}))),
            ("add", "/spec/list/0", Some(json!(0)), Ok(json!({"list": [0, 1, 2], "map": {"a": 1}}))),
            ("add", "/spec/map/b~1c", Some(json!(2)), Ok(json!({"list": [1, 2], "map": {"a": 1, "b/c": 2}}))),
            ("replace", "/spec/map/a", Some(json!(2)), Ok(json!({"list": [1, 2], "map": {"a": 2}}))),
            ("replace", "/spec/map/b", Some(json!(2)), Err(())),
            ("remove", "/spec/map/a", None, Ok(json!({"list": [1, 2], "map": {}}))),
            ("remove", "/spec/map/b", None, Err(())),
            ("add", "/spec/missing/b", Some(json!(2)), Err(())),
        ] {
            let mut target = before.clone();
            let done = json_patch(&mut target, op, path, value);
            let result = done.as_ref().map(|_| target["spec"].clone());
            assert_eq!(result.map_err(|_| ()), after, "{op} {path}");
            undo(&mut target, done.into_iter().flatten().collect());
            assert_eq!(target, before, "{op} {path}, taken back");
        }
    }
}
