//! Field paths of replacements and vars.
//!
//! Mirrors `kyaml/utils/pathsplitter.go`, `kyaml/yaml/match.go` (`PathMatcher`)
//! and `kyaml/yaml/fns.go` (`PathGetter`).

use super::nodes::{self, Kind};
use crate::lang::go::regexp::{GoRegexp, RegexpError};
use crate::lang::yaml::{Map, Node, NodeRef, Value};

/// Steps of a path that are followed, and made where they are missing: each is a call on
/// the stack and a level of the object. Ours; upstream has none.
pub(super) const STEP_LIMIT: usize = 64;

/// Split a path at its dots: `\.` is a dot, brackets hold one step together, as
/// a list selector (`[name=a.b]`) or a key with dots (`[a.b/c]`).
pub(super) fn split(path: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut raw = path.split('.').peekable();
    if path.starts_with('.') {
        raw.next();
    }
    for part in raw {
        match parts.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push('.');
                last.push_str(part);
            }
            _ => parts.push(part.to_owned()),
        }
    }
    let mut steps = Vec::new();
    let mut parts = parts.into_iter();
    while let Some(part) = parts.next() {
        if !part.starts_with('[') || part.ends_with(']') {
            steps.push(part);
            continue;
        }
        let mut bracketed = part;
        for next in parts.by_ref() {
            bracketed.push('.');
            bracketed.push_str(&next);
            if next.ends_with(']') {
                break;
            }
        }
        if bracketed.contains('=') {
            steps.push(bracketed);
        } else {
            steps.push(bracketed.trim_matches(['[', ']']).to_owned());
        }
    }
    steps
}

fn is_selector(step: &str) -> bool {
    step.starts_with('[') && step.ends_with(']')
}

/// `[key=value]` in its parts; the key is empty for a scalar.
fn selector(step: &str) -> Result<(&str, &str), String> {
    let inner = step.strip_prefix('[').unwrap_or(step);
    let inner = inner.strip_suffix(']').unwrap_or(inner);
    inner.split_once('=').ok_or_else(|| format!("`{step}` must be `[key=value]`"))
}

fn wrong_kind(node: NodeRef<'_>, step: &str) -> String {
    let kind = match nodes::kind(Some(node)) {
        Kind::Map => "a map",
        Kind::Seq => "a list",
        Kind::Scalar | Kind::Null => "a scalar",
    };
    format!("`{step}` doesn't apply to {kind}")
}

/// The node at a path, without wildcards; `None` where nothing is there.
pub(super) fn lookup<'n>(root: NodeRef<'n>, steps: &[String]) -> Result<Option<NodeRef<'n>>, String> {
    let mut node = root;
    for step in steps.iter().map(|step| step.trim()).filter(|step| !step.is_empty()) {
        let kind = nodes::kind(Some(node));
        let list = || if kind == Kind::Seq { Ok(()) } else { Err(wrong_kind(node, step)) };
        let next = if let Ok(index) = step.parse::<i64>() {
            let index = usize::try_from(index).map_err(|_| format!("the index {index} is negative"))?;
            list()?;
            node.items().nth(index)
        } else if step == "-" {
            list()?;
            Some(node.items().last().ok_or("the list has no last item")?)
        } else if step == "*" {
            return Err("`*` is not supported here".to_owned());
        } else if is_selector(step) {
            let (key, value) = selector(step)?;
            if kind == Kind::Null {
                return Ok(None);
            }
            list()?;
            node.items().find(|item| {
                if key.is_empty() {
                    nodes::text(*item) == value
                } else {
                    item.entries().any(|entry| entry.key == key && nodes::text(entry.value) == value)
                }
            })
        } else {
            match kind {
                Kind::Null => None,
                Kind::Map => node.get(step),
                _ => return Err(wrong_kind(node, step)),
            }
        };
        match next {
            Some(next) => node = next,
            None => return Ok(None),
        }
    }
    Ok(Some(node))
}

/// What is made at the end of a path that doesn't exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Create {
    /// Nothing.
    Never,
    /// A node of the kind of the value that is written.
    Kind(Kind),
}

/// Call `set` for all nodes at a path; how many there are.
pub(super) fn for_each(
    node: &mut Node,
    steps: &[String],
    create: Create,
    set: &mut dyn FnMut(&mut Node) -> Result<(), String>,
) -> Result<usize, String> {
    if steps.len() > STEP_LIMIT {
        return Err(format!("a path has at most {STEP_LIMIT} steps here, and this one {}", steps.len()));
    }
    let Some((step, rest)) = steps.split_first() else {
        set(node)?;
        return Ok(1);
    };
    let kind = nodes::kind(Some(node.get_ref()));
    if step.parse::<i64>().is_ok_and(|index| index >= 0) {
        return for_indexed(node, steps, create, set);
    }
    if is_selector(step) {
        return for_selected(node, step, rest, create, set);
    }
    if step == "*" {
        if kind == Kind::Null {
            return Ok(0);
        }
        let Some(items) = (kind == Kind::Seq).then(|| node.make_seq()).flatten() else {
            return Err(wrong_kind(node.get_ref(), step));
        };
        let mut count = 0;
        for item in items {
            count += for_each(item, rest, create, set)?;
        }
        return Ok(count);
    }
    match kind {
        Kind::Map => {}
        Kind::Null if create == Create::Never => return Ok(0),
        Kind::Null => return for_each(&mut below_null(Value::Map(Map::default())), steps, create, set),
        _ => return Err(wrong_kind(node.get_ref(), step)),
    }
    if node.get_ref().get(step).is_none() {
        if create == Create::Never {
            return Ok(0);
        }
        nodes::set_entry(node, step, made(rest.first(), create), None);
    }
    match node.get_mut(step) {
        Some(field) => for_each(field, rest, create, set),
        None => Ok(0),
    }
}

/// The item of a list at the index that is the first step; `create` takes the one behind
/// the last.
fn for_indexed(
    node: &mut Node,
    steps: &[String],
    create: Create,
    set: &mut dyn FnMut(&mut Node) -> Result<(), String>,
) -> Result<usize, String> {
    let Some((step, rest)) = steps.split_first() else { return Ok(0) };
    let kind = nodes::kind(Some(node.get_ref()));
    let index: usize = step.parse().map_err(|_| format!("the index {step} is too large"))?;
    if kind == Kind::Null && create != Create::Never {
        return for_each(&mut below_null(Value::Seq(Vec::new())), steps, create, set);
    }
    if kind != Kind::Seq {
        return Err(wrong_kind(node.get_ref(), step));
    }
    let length = node.get_ref().items().count();
    if index == length && create != Create::Never {
        let item = made(rest.first(), create);
        if let Some(items) = node.make_seq() {
            items.push(item);
        }
    } else if index >= length {
        return Err(format!("index {index} of a list with only {length} items"));
    }
    match node.make_seq().and_then(|items| items.get_mut(index)) {
        Some(item) => for_each(item, rest, create, set),
        None => Ok(0),
    }
}

/// What is made below a null: kyaml gives the null children, and it is written
/// as null all the same.
fn below_null(value: Value) -> Node {
    Node::scalar(value, None)
}

/// The items of a list whose key matches an expression.
fn for_selected(
    node: &mut Node,
    step: &str,
    rest: &[String],
    create: Create,
    set: &mut dyn FnMut(&mut Node) -> Result<(), String>,
) -> Result<usize, String> {
    let (key, pattern) = selector(step)?;
    let regexp = GoRegexp::new(pattern)
        .map_err(|(RegexpError::Rejected(reason) | RegexpError::Unknown(reason))| reason)?;
    match nodes::kind(Some(node.get_ref())) {
        Kind::Seq => {}
        Kind::Null if create == Create::Never => return Ok(0),
        Kind::Null => {
            return for_selected(&mut below_null(Value::Seq(Vec::new())), step, rest, create, set);
        }
        _ => return Err(wrong_kind(node.get_ref(), step)),
    }
    let matches = |item: NodeRef<'_>| {
        let value = if key.is_empty() { Some(item) } else { item.is_map().then(|| item.get(key)).flatten() };
        value.is_some_and(|value| regexp.is_match(printed(value).trim()))
    };
    let mut count = 0;
    for (at, wanted) in node.get_ref().items().map(matches).collect::<Vec<_>>().into_iter().enumerate() {
        if let Some(item) = wanted.then(|| node.make_seq()?.get_mut(at)).flatten() {
            // A scalar is the end of its path, whatever follows.
            count += if key.is_empty() { set(item).map(|()| 1)? } else { for_each(item, rest, create, set)? };
        }
    }
    if count > 0 || create == Create::Never {
        return Ok(count);
    }
    let value = Node::scalar(Value::Plain(pattern.into()), None);
    let mut item = value.clone();
    if !key.is_empty() {
        item = Node::empty_map(None);
        nodes::set_entry(&mut item, key, value, None);
    }
    match node.make_seq() {
        Some(items) => {
            items.push(item);
            match items.last_mut() {
                Some(item) if key.is_empty() => set(item).map(|()| 1),
                Some(item) => for_each(item, rest, create, set),
                None => Ok(0),
            }
        }
        None => Ok(0),
    }
}

/// A scalar as YAML prints it: a string that would read as something else in
/// quotes.
fn printed(node: NodeRef<'_>) -> String {
    let text = nodes::text(node);
    match node {
        NodeRef::Source(..) if nodes::is_quoted(node) => match node.style() {
            crate::lang::yaml::ScalarStyle::SingleQuoted => format!("'{}'", text.replace('\'', "''")),
            crate::lang::yaml::ScalarStyle::DoubleQuoted => format!("\"{text}\""),
            _ => text.into_owned(),
        },
        _ => text.into_owned(),
    }
}

fn made(next: Option<&String>, create: Create) -> Node {
    let value = match (next, create) {
        (Some(next), _) if is_selector(next) || next.parse::<u64>().is_ok() => Value::Seq(Vec::new()),
        (Some(_), _) | (None, Create::Kind(Kind::Map)) => Value::Map(Map::default()),
        (None, Create::Kind(Kind::Seq)) => Value::Seq(Vec::new()),
        (None, _) => Value::Plain("".into()),
    };
    Node::scalar(value, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_split_at_dots_outside_of_brackets() {
        let table: &[(&str, &[&str])] = &[
            ("metadata.name", &["metadata", "name"]),
            (r"data.a\.yaml.b", &["data", "a.yaml", "b"]),
            ("spec.[name=a.b].image", &["spec", "[name=a.b]", "image"]),
            ("metadata.annotations.[a.b/c]", &["metadata", "annotations", "a.b/c"]),
            ("spec.rules.0.host", &["spec", "rules", "0", "host"]),
            (".a", &["a"]),
        ];
        for (path, steps) in table {
            assert_eq!(split(path), *steps, "{path}");
        }
    }
}
