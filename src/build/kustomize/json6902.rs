//! JSON patches, as evanphx/json-patch v4 applies them.
//!
//! Mirrors `patch.go` of that module (`Patch.Apply`) and
//! `api/filters/patchjson6902`: the object goes through JSON and back, so
//! numbers lose what JSON doesn't keep.

use super::error::{BuildError, ErrorClass, Result};
use super::load;
use super::nodes::{self, Kind};
use crate::lang::yaml::{Dialect, Location, Node, NodeRef, Scalar, Value, resolve};
use rustc_hash::FxHashSet;
use std::borrow::Cow;

/// A decoded patch.
#[derive(Clone, Debug)]
pub(super) struct JsonPatch {
    operations: Vec<Operation>,
}

#[derive(Clone, Debug)]
struct Operation {
    op: String,
    path: Option<String>,
    from: Option<String>,
    value: Option<Node>,
    node: Node,
}

/// Whether the text of a patch is read as JSON and not as YAML.
pub(super) fn is_json(text: &str) -> bool {
    text.starts_with('[')
}

impl JsonPatch {
    /// Decode a list of operations; the error says why it is none.
    pub(super) fn decode(root: NodeRef<'_>) -> std::result::Result<JsonPatch, String> {
        if nodes::kind(Some(root)) == Kind::Null {
            return Ok(JsonPatch { operations: Vec::new() });
        }
        if !root.is_seq() {
            return Err("it is no list of operations".to_owned());
        }
        let mut operations = Vec::new();
        for item in root.items() {
            if nodes::kind(Some(item)) == Kind::Null {
                continue;
            }
            if !item.is_map() {
                return Err("an operation must be a map".to_owned());
            }
            let text = |key: &str| {
                let value = item.get(key)?;
                let scalar = !value.is_map() && !value.is_seq();
                match value.scalar(Dialect::GoYamlV2) {
                    Scalar::Str(text) | Scalar::Timestamp(text) if scalar => Some(text.into_owned()),
                    _ => None,
                }
            };
            operations.push(Operation {
                op: text("op").unwrap_or_else(|| "unknown".to_owned()),
                path: text("path"),
                from: text("from"),
                value: item.get("value").map(NodeRef::to_node),
                node: item.to_node(),
            });
        }
        Ok(JsonPatch { operations })
    }

    /// The operations in order: those in a row that remove fields of one parent together,
    /// the others each alone.
    fn runs(&self) -> impl Iterator<Item = &[Operation]> {
        self.operations.chunk_by(Operation::removes_beside)
    }

    /// Whether it has no operations.
    pub(super) fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Whether an object that went through JSON and is sound stays so, and is still
    /// called and labelled the same: texts are written or taken away below fields
    /// that don't say what it is.
    pub(super) fn is_local(&self) -> bool {
        self.operations.iter().all(Operation::is_local)
    }

    /// Apply to an object of which [`JsonPatch::is_local`] speaks.
    pub(super) fn apply_locally(&self, object: &mut Node) -> Result<()> {
        self.runs().try_for_each(|run| apply_run(run, object))
    }

    /// Apply to an object, whose defects are errors now.
    pub(super) fn apply(&self, object: &mut Node) -> Result<()> {
        normalise(object);
        // What moves or is copied deeper again and again would be deeper than anything
        // may walk, before the end is looked at.
        let limit = 2 * load::DEPTH_LIMIT as usize;
        let mut deepest = load::DEPTH_LIMIT as usize;
        for run in self.runs() {
            apply_run(run, object)?;
            if let [operation] = run
                && matches!(&*operation.op, "copy" | "move")
            {
                deepest += operation.path.as_deref().unwrap_or_default().split('/').count();
                if deepest > limit {
                    load::inspect(object.get_ref())?;
                    deepest = load::DEPTH_LIMIT as usize;
                }
            }
        }
        if self.operations.iter().any(|operation| matches!(&*operation.op, "copy" | "move"))
            && let Some(defect) = load::inspect(object.get_ref())?
        {
            return Err(Box::new((*defect).clone()));
        }
        Ok(())
    }
}

/// Apply what [`JsonPatch::runs`] gives. Many keys of a map are taken out in one walk: one
/// by one, what stands behind each would be moved each time.
fn apply_run(run: &[Operation], object: &mut Node) -> Result<()> {
    if run.len() > 1 && remove_keys(run, object).is_some() {
        return Ok(());
    }
    run.iter().try_for_each(|operation| operation.apply(object))
}

/// `None`, and nothing is removed, where they are not different keys of one map.
fn remove_keys(run: &[Operation], object: &mut Node) -> Option<()> {
    let first = run.first()?;
    let key = |operation: &Operation| Some(unescape(operation.removed()?.1).into_owned());
    let keys: FxHashSet<String> = run.iter().map(key).collect::<Option<_>>()?;
    let (parent, _) = first.locate(object, first.path.as_deref()?).ok()?;
    let are_keys = keys.len() == run.len() && parent.get_ref().is_map();
    (are_keys && parent.make_map()?.take_all(&keys)).then_some(())
}

impl Operation {
    /// The parent and the last step of what a `remove` removes.
    fn removed(&self) -> Option<(&str, &str)> {
        if self.op == "remove" { self.path.as_deref()?.rsplit_once('/') } else { None }
    }

    /// Whether both remove a field of the same parent.
    fn removes_beside(&self, other: &Operation) -> bool {
        let parents = (self.removed(), other.removed());
        matches!(parents, (Some((own, _)), Some((other, _))) if own == other)
    }

    fn is_local(&self) -> bool {
        let field = self.path.as_deref().and_then(|path| path.strip_prefix('/')?.split('/').next());
        let inside = field.is_some_and(|field| {
            !matches!(field, "apiVersion" | "kind" | "metadata") && !field.contains('~')
        });
        let stays = || {
            self.value.as_ref().is_some_and(|value| {
                let is_text = matches!(value.get_ref().scalar(Dialect::GoYamlV3), Scalar::Str(_))
                    && nodes::kind(Some(value.get_ref())) == Kind::Scalar;
                let new = self.new_value();
                let new = new.get_ref();
                is_text
                    && !nodes::may_change(new)
                    && through_json(new, true, resolve::format_float).is_none()
                    && through_json(new, false, resolve::format_float).is_none()
            })
        };
        inside
            && match self.op.as_str() {
                "remove" | "test" => true,
                "add" | "replace" => stays(),
                _ => false,
            }
    }

    fn error(&self, message: impl Into<String>) -> Box<BuildError> {
        BuildError::at(ErrorClass::PatchApply, message, self.node.get_ref())
    }

    fn path(&self) -> Result<&str> {
        self.path.as_deref().ok_or_else(|| self.error("an operation without a path"))
    }

    fn apply(&self, object: &mut Node) -> Result<()> {
        match self.op.as_str() {
            "add" => {
                let value = self.new_value();
                self.add(object, self.path()?, value)
            }
            "remove" => self.remove(object, self.path()?).map(drop),
            "replace" => self.replace(object),
            "move" => {
                let from = self.from.as_deref().ok_or_else(|| self.error("`move` without `from`"))?;
                let value = self.remove(object, from)?;
                self.add(object, self.path()?, value)
            }
            "copy" => {
                let from = self.from.as_deref().ok_or_else(|| self.error("`copy` without `from`"))?;
                let (parent, key) = self.locate(object, from)?;
                let Some(value) = child(parent.get_ref(), &key) else {
                    return Err(self.error(format!("{from} isn't there to be copied")));
                };
                let value = value.to_node();
                self.add(object, self.path()?, value)
            }
            "test" => self.test(object),
            other => Err(self.error(format!("`{other}` is no operation of a JSON patch"))),
        }
    }

    /// The value to write; JSON's null where none is given.
    fn new_value(&self) -> Node {
        let Some(value) = &self.value else {
            return Node::scalar(Value::Null, self.node.get_ref().location());
        };
        let mut value = value.clone();
        import(&mut value);
        value
    }

    /// The parent of a path, to be changed, and the last step.
    fn locate<'o>(&self, object: &'o mut Node, path: &str) -> Result<(&'o mut Node, String)> {
        let steps: Vec<&str> = path.split('/').collect();
        let [_, parents @ .., last] = &steps[..] else {
            return Err(self.error(format!("the path `{path}` names no field")));
        };
        if steps.len() > load::DEPTH_LIMIT as usize {
            let message = format!("a path has at most {} steps here", load::DEPTH_LIMIT);
            return Err(BuildError::at(ErrorClass::Limit, message, self.node.get_ref()));
        }
        let mut node = object;
        for (depth, step) in parents.iter().enumerate() {
            let step = unescape(step);
            let key = match nodes::kind(Some(node.get_ref())) {
                Kind::Map => Some(step.clone().into_owned()),
                Kind::Seq => {
                    let length = node.get_ref().items().count();
                    step.parse::<i64>().ok().and_then(|at| index(at, length)).map(|at| at.to_string())
                }
                _ => None,
            };
            let inner = match key {
                Some(key) if node.get_ref().is_map() => node.get_mut(&key),
                Some(key) => key
                    .parse::<usize>()
                    .ok()
                    .and_then(|at| node.make_seq().and_then(|items| items.get_mut(at))),
                None => None,
            };
            node = match inner {
                Some(inner) if matches!(nodes::kind(Some(inner.get_ref())), Kind::Map | Kind::Seq) => inner,
                _ => {
                    let at = steps[..depth + 2].join("/");
                    return Err(
                        self.error(format!("{at} isn't there or has no fields, but {path} is wanted"))
                    );
                }
            };
        }
        Ok((node, unescape(last).into_owned()))
    }

    fn add(&self, object: &mut Node, path: &str, value: Node) -> Result<()> {
        let key_origin = self.key_origin();
        let (parent, key) = self.locate(object, path)?;
        if parent.get_ref().is_map() {
            parent.set(&key, value, key_origin);
            return Ok(());
        }
        let length = parent.get_ref().items().count();
        let at = match key.as_str() {
            "-" => length,
            _ => {
                let wanted: i64 =
                    key.parse().map_err(|_| self.error(format!("`{key}` in {path} is no list index")))?;
                // From the end, -1 is behind the last item.
                let at = if wanted < 0 { wanted + length as i64 + 1 } else { wanted };
                match usize::try_from(at) {
                    Ok(at) if at <= length => at,
                    _ => return Err(self.error(format!("{path}: the list has only {length} items"))),
                }
            }
        };
        if let Some(items) = parent.make_seq() {
            items.insert(at, value);
        }
        Ok(())
    }

    fn remove(&self, object: &mut Node, path: &str) -> Result<Node> {
        let (parent, key) = self.locate(object, path)?;
        let missing = || self.error(format!("{path} isn't there to be removed"));
        if parent.get_ref().is_map() {
            return parent.remove(&key).ok_or_else(missing);
        }
        let length = parent.get_ref().items().count();
        let at = key.parse::<i64>().ok().and_then(|at| index(at, length)).ok_or_else(missing)?;
        let items = parent.make_seq().ok_or_else(missing)?;
        Ok(items.remove(at))
    }

    /// A missing key is added; a missing index is an error.
    fn replace(&self, object: &mut Node) -> Result<()> {
        let path = self.path()?;
        let value = self.new_value();
        if path.is_empty() {
            if !matches!(nodes::kind(Some(value.get_ref())), Kind::Map | Kind::Seq) {
                return Err(self.error("an object can only be replaced by a map or a list"));
            }
            *object = value;
            return Ok(());
        }
        let key_origin = self.key_origin();
        let (parent, key) = self.locate(object, path)?;
        if parent.get_ref().is_map() {
            parent.set(&key, value, key_origin);
            return Ok(());
        }
        let length = parent.get_ref().items().count();
        let at = key.parse::<i64>().ok().and_then(|at| index(at, length));
        match at.and_then(|at| parent.make_seq()?.get_mut(at)) {
            Some(item) => {
                *item = value;
                Ok(())
            }
            None => Err(self.error(format!("{path} isn't there to be replaced"))),
        }
    }

    fn test(&self, object: &mut Node) -> Result<()> {
        let path = self.path()?;
        let wanted = self.new_value();
        let found = if path.is_empty() {
            Some(object.clone())
        } else {
            let (parent, key) = self.locate(object, path)?;
            if parent.get_ref().is_seq() && child(parent.get_ref(), &key).is_none() {
                return Err(self.error(format!("{path} isn't there to be tested")));
            }
            child(parent.get_ref(), &key).map(NodeRef::to_node)
        };
        let equal = match &found {
            None => nodes::kind(Some(wanted.get_ref())) == Kind::Null,
            Some(found) => json_equal(found.get_ref(), wanted.get_ref()),
        };
        if equal {
            return Ok(());
        }
        let error = self.error(format!("the test of {path} fails: it has another value"));
        Err(error.related("the value", found.and_then(|node| node.get_ref().location())))
    }

    /// Where a key that the operation makes is written: its path.
    fn key_origin(&self) -> Option<Location> {
        self.node.get_ref().get("path").and_then(NodeRef::location)
    }
}

fn unescape(step: &str) -> Cow<'_, str> {
    if step.contains('~') {
        Cow::Owned(step.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(step)
    }
}

fn index(at: i64, length: usize) -> Option<usize> {
    let at = if at < 0 { at + length as i64 } else { at };
    usize::try_from(at).ok().filter(|at| *at < length)
}

fn child<'n>(parent: NodeRef<'n>, key: &str) -> Option<NodeRef<'n>> {
    if parent.is_map() {
        return parent.get(key);
    }
    let length = parent.items().count();
    parent.items().nth(index(key.parse().ok()?, length)?)
}

/// Equal as JSON: numbers by their text, objects regardless of order.
fn json_equal(a: NodeRef<'_>, b: NodeRef<'_>) -> bool {
    match (nodes::kind(Some(a)), nodes::kind(Some(b))) {
        (Kind::Map, Kind::Map) => {
            a.entries().count() == b.entries().count()
                && a.entries()
                    .all(|entry| b.get(&entry.key).is_some_and(|other| json_equal(entry.value, other)))
        }
        (Kind::Seq, Kind::Seq) => {
            a.items().count() == b.items().count() && a.items().zip(b.items()).all(|(a, b)| json_equal(a, b))
        }
        (Kind::Null, Kind::Null) => true,
        (Kind::Scalar, Kind::Scalar) => {
            let json = |node: NodeRef<'_>| resolve::json_value(&node.scalar(Dialect::GoYamlV3)).ok();
            json(a) == json(b)
        }
        _ => false,
    }
}

/// Take a value of a patch into an object: patches are read by YAML 1.1, so
/// that `yes` is true there.
fn import(node: &mut Node) {
    nodes::rewrite(node, &mut |scalar, _| {
        let value = match scalar.scalar(Dialect::GoYamlV2) {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::Str(text) | Scalar::Timestamp(text) => Value::Str(text.as_ref().into()),
            number => Value::Plain(number_text(&number, resolve::format_float)?.into()),
        };
        nodes::differs(scalar, &value).then_some(value)
    });
}

/// What a trip through JSON does to an object: numbers become floats of 64
/// bits, dates strings.
pub(super) fn normalise(object: &mut Node) {
    // Annotations end as the text of their values, so there the text counts.
    if let Some(annotations) = object.get_ref().at("/metadata/annotations") {
        let mut changed = annotations.to_node();
        nodes::rewrite(&mut changed, &mut |scalar, in_flow| {
            through_json(scalar, in_flow, resolve::format_float_yaml)
        });
        if !changed.is(&annotations.to_node())
            && let Some(metadata) = object.get_mut("metadata")
        {
            metadata.set("annotations", changed, None);
        }
    }
    nodes::rewrite(object, &mut |scalar, in_flow| through_json(scalar, in_flow, resolve::format_float));
}

fn through_json(scalar: NodeRef<'_>, in_flow: bool, float_text: fn(f64) -> String) -> Option<Value> {
    if let Some(value) = nodes::passed(scalar, in_flow) {
        return Some(value);
    }
    let value = match scalar.scalar(Dialect::GoYamlV3) {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => Value::Bool(value),
        Scalar::Str(text) => Value::Str(text.as_ref().into()),
        Scalar::Timestamp(text) => Value::Str(resolve::timestamp_rfc3339(&text)?.into()),
        // What an earlier patch left in annotations has its text already.
        Scalar::Float(_) if nodes::text(scalar).contains("e+") => return None,
        number => Value::Plain(number_text(&number, float_text)?.into()),
    };
    nodes::differs(scalar, &value).then_some(value)
}

/// The text that a number has after JSON.
fn number_text(scalar: &Scalar<'_>, float_text: fn(f64) -> String) -> Option<String> {
    match scalar {
        Scalar::Int(value) => Some(float_text(*value as f64)),
        Scalar::Uint(value) => Some(float_text(*value as f64)),
        Scalar::Float(value) => Some(float_text(*value)),
        _ => None,
    }
}
