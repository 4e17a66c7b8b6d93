//! Field specs: which objects and which of their fields a transformer touches.
//!
//! Mirrors `api/types/fieldspec.go` and `api/filters/fieldspec/fieldspec.go`.

use super::error::{BuildError, ErrorClass, Result};
use super::id::Gvk;
use super::nodes::{self, Kind};
use crate::lang::yaml::{Map, Node, NodeRef, Value};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// A path in objects of some types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldSpec {
    /// Group, empty for any.
    pub group: Cow<'static, str>,
    /// Version, empty for any.
    pub version: Cow<'static, str>,
    /// Kind, empty for any.
    pub kind: Cow<'static, str>,
    /// Steps with `/` between; `\/` is a slash, a trailing `[]` a list.
    pub path: Cow<'static, str>,
    /// Whether a missing field is made.
    pub create: bool,
}

impl FieldSpec {
    /// One of the built-in tables.
    pub(super) const fn fixed(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        path: &'static str,
        create: bool,
    ) -> FieldSpec {
        FieldSpec {
            group: Cow::Borrowed(group),
            version: Cow::Borrowed(version),
            kind: Cow::Borrowed(kind),
            path: Cow::Borrowed(path),
            create,
        }
    }

    /// Whether it applies to objects of this type.
    pub(super) fn matches(&self, gvk: &Gvk) -> bool {
        gvk.is_selected_by(&self.group, &self.version, &self.kind)
    }

    /// The steps of the path.
    pub(super) fn steps(&self) -> Vec<Cow<'_, str>> {
        split_path(&self.path)
    }
}

/// Split at slashes that no backslash precedes; one leading slash is ignored.
pub(super) fn split_path(path: &str) -> Vec<Cow<'_, str>> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let mut steps: Vec<Cow<'_, str>> = Vec::new();
    for part in path.split('/') {
        match steps.last_mut() {
            Some(last) if last.ends_with('\\') => {
                let joined = last.to_mut();
                joined.pop();
                joined.push('/');
                joined.push_str(part);
            }
            _ => steps.push(Cow::Borrowed(part)),
        }
    }
    steps
}

/// What a missing leaf is made as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaf {
    Map,
    /// A scalar; what is written into it decides.
    Scalar,
    /// Nothing is made.
    Never,
}

/// Apply `set` to the nodes that a field spec reaches. `touches` tells from the
/// node alone whether `set` would change it, so that nothing else is copied.
pub(super) fn apply(
    object: &mut Node,
    spec: &FieldSpec,
    leaf: Leaf,
    touches: &mut dyn FnMut(NodeRef<'_>) -> bool,
    set: &mut dyn FnMut(&mut Node) -> Result<()>,
) -> Result<()> {
    let steps = Some(spec.path.strip_prefix('/').unwrap_or(&spec.path));
    let create = spec.create && leaf != Leaf::Never;
    if !reaches(object.get_ref(), steps, create, touches, spec)? {
        return Ok(());
    }
    descend(object, steps, create.then_some(leaf), touches, set, spec)
}

/// The first step of a path, and the path behind it where there is one. Nothing is made
/// of a step that no backslash is in.
fn split_step(path: &str) -> (Cow<'_, str>, Option<&str>) {
    let bytes = path.as_bytes();
    let ends = |at: &usize| bytes[*at] == b'/' && !(*at > 0 && bytes[at - 1] == b'\\');
    let (step, rest) = match (0..bytes.len()).find(ends) {
        Some(at) => (&path[..at], Some(&path[at + 1..])),
        None => (path, None),
    };
    let step = if step.contains('\\') { step.replace("\\/", "/").into() } else { step.into() };
    (step, rest)
}

fn reaches(
    node: NodeRef<'_>,
    steps: Option<&str>,
    create: bool,
    touches: &mut dyn FnMut(NodeRef<'_>) -> bool,
    spec: &FieldSpec,
) -> Result<bool> {
    let Some((step, rest)) = steps.map(split_step) else {
        return Ok(touches(node));
    };
    match nodes::kind(Some(node)) {
        Kind::Null => Ok(false),
        Kind::Scalar => Err(wrong_kind(node, spec)),
        Kind::Seq => {
            let mut any = false;
            for item in node.items() {
                any |= reaches(item, steps, create, touches, spec)?;
            }
            Ok(any)
        }
        Kind::Map => {
            let name = step.strip_suffix("[]").unwrap_or(&step);
            match node.get(name) {
                // A null is turned into what is to be created, or into a list where
                // the step says that it is one.
                Some(value) if (create || name != step) && nodes::is_null(value) => Ok(true),
                Some(value) => reaches(value, rest, create, touches, spec),
                None => Ok(create && name == step),
            }
        }
    }
}

fn descend(
    node: &mut Node,
    steps: Option<&str>,
    create: Option<Leaf>,
    touches: &mut dyn FnMut(NodeRef<'_>) -> bool,
    set: &mut dyn FnMut(&mut Node) -> Result<()>,
    spec: &FieldSpec,
) -> Result<()> {
    let Some((step, rest)) = steps.map(split_step) else {
        return set(node);
    };
    match nodes::kind(Some(node.get_ref())) {
        Kind::Null => Ok(()),
        Kind::Scalar => Err(wrong_kind(node.get_ref(), spec)),
        Kind::Seq => {
            let wanted: Vec<bool> = node
                .get_ref()
                .items()
                .map(|item| reaches(item, steps, create.is_some(), touches, spec))
                .collect::<Result<_>>()?;
            for (item, wanted) in node.make_seq().into_iter().flatten().zip(wanted) {
                if wanted {
                    descend(item, steps, create, touches, set, spec)?;
                }
            }
            Ok(())
        }
        Kind::Map => {
            let name = step.strip_suffix("[]").unwrap_or(&step);
            let made = match create {
                Some(leaf) if name == step => Some(if rest.is_none() && leaf == Leaf::Scalar {
                    Value::Null
                } else {
                    Value::Map(Map::default())
                }),
                _ if name != step => Some(Value::Seq(Vec::new())),
                _ => None,
            };
            match (node.get_ref().get(name).map(nodes::is_null), made) {
                (None, None) => return Ok(()),
                (None, Some(Value::Seq(_))) => return Ok(()),
                (None, Some(value)) => {
                    nodes::set_entry(node, name, nodes::scalar_at(value, None), None);
                }
                (Some(true), Some(value)) => {
                    if let Some(field) = node.get_mut(name) {
                        nodes::become_empty(field, value);
                    }
                }
                (Some(_), _) => {}
            }
            match node.get_mut(name) {
                Some(field) => descend(field, rest, create, touches, set, spec),
                None => Ok(()),
            }
        }
    }
}

fn wrong_kind(node: NodeRef<'_>, spec: &FieldSpec) -> Box<BuildError> {
    let message = format!(
        "kustomize looks for `{}` here and finds a scalar where a map or a list must be",
        spec.path.replace('/', ".")
    );
    BuildError::at(ErrorClass::FieldSpec, message, node)
}

/// Add a spec to a list unless one of the same path that covers it is there; an
/// error when the two disagree whether to create the field.
///
/// Mirrors `FsSlice.MergeOne`.
pub(super) fn merge_one(specs: &mut Vec<FieldSpec>, new: FieldSpec) -> std::result::Result<(), String> {
    let known = specs.iter().find(|known| {
        known.path == new.path
            && selected(&known.group, &new.group)
            && selected(&known.version, &new.version)
            && selected(&known.kind, &new.kind)
    });
    match known {
        Some(known) if known.create != new.create => Err(format!(
            "conflicting field specs for `{}`: one creates the field, the other doesn't",
            new.path
        )),
        Some(_) => Ok(()),
        None => {
            specs.push(new);
            Ok(())
        }
    }
}

fn selected(value: &str, selector: &str) -> bool {
    selector.is_empty() || value == selector
}

/// Merge a list of specs into another.
pub(super) fn merge_all(specs: &mut Vec<FieldSpec>, new: &[FieldSpec]) -> std::result::Result<(), String> {
    // Most lists are short, and looked through sooner than sorted by path.
    if new.len() < 8 {
        return new.iter().try_for_each(|spec| merge_one(specs, spec.clone()));
    }
    let mut by_path: FxHashMap<Cow<'static, str>, Vec<FieldSpec>> = FxHashMap::default();
    for spec in specs.iter() {
        by_path.entry(spec.path.clone()).or_default().push(spec.clone());
    }
    for spec in new {
        let known = by_path.entry(spec.path.clone()).or_default();
        let count = known.len();
        merge_one(known, spec.clone())?;
        specs.extend_from_slice(&known[count..]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_split_at_bare_slashes() {
        let table: &[(&str, &[&str])] = &[
            ("spec/template", &["spec", "template"]),
            ("/metadata/labels", &["metadata", "labels"]),
            (r"metadata/annotations/a.b\/c", &["metadata", "annotations", "a.b/c"]),
            (r"a\/b\/c/d", &["a/b/c", "d"]),
            (r"a\\/b/", &[r"a\/b", ""]),
            (r"a\", &[r"a\"]),
            ("", &[""]),
        ];
        for (path, steps) in table {
            assert_eq!(split_path(path), *steps, "{path}");
            let mut rest = Some(path.strip_prefix('/').unwrap_or(path));
            let one_by_one = std::iter::from_fn(|| {
                let (step, behind) = split_step(rest?);
                rest = behind;
                Some(step)
            });
            assert_eq!(one_by_one.collect::<Vec<_>>(), *steps, "{path}");
        }
    }
}
