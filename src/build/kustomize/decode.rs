//! Kustomization files are decoded by Go: YAML 1.1 to JSON, JSON into structs.
//!
//! Strictly (`Kustomization.Unmarshal`): an unknown field is an error, and a
//! number where a string is wanted too. Leniently (`yaml.Unmarshal` of
//! sigs.k8s.io/yaml, which Flux uses for the root file and kustomize for plugin
//! files): unknown fields are dropped, numbers and booleans become strings.
//! Field names match regardless of case.

use super::error::{BuildError, ErrorClass, Result};
use crate::lang::yaml::{Dialect, EntryRef, Node, NodeRef, Scalar, resolve};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A value of a kustomization file, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Spanned<T> {
    pub value: T,
    pub node: Node,
}

/// A string of a kustomization file.
pub(super) type Text = Spanned<Arc<str>>;

/// A map of strings; each entry's node is the value's, its key node apart.
pub(super) type TextMap = Vec<TextEntry>;

/// An entry of a map of strings.
#[derive(Clone, Debug)]
pub(super) struct TextEntry {
    pub key: Arc<str>,
    /// Where the key stands.
    pub key_node: Node,
    pub value: Text,
}

/// A field that a lenient decoder drops.
#[derive(Clone, Debug)]
pub(super) struct Dropped {
    pub key: String,
    /// Where its name stands.
    pub node: Node,
    /// The field of that place that was meant, if one is near.
    pub near: Option<&'static str>,
}

/// How to decode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoder<'d> {
    /// Whether unknown fields are errors and scalars keep their type.
    pub strict: bool,
    /// The class of its errors.
    pub class: ErrorClass,
    /// What its scalars are: files are read by YAML 1.1, plugin objects as
    /// resources are.
    pub dialect: Dialect,
    /// Takes the unknown fields that are dropped, where somebody asks for them.
    pub dropped: Option<&'d RefCell<Vec<Dropped>>>,
}

/// How plugin files are decoded: without regard to unknown fields, by the
/// scalars of resources.
pub(super) const PLUGIN: Decoder<'static> =
    Decoder { strict: false, class: ErrorClass::Plugin, dialect: Dialect::GoYamlV3, dropped: None };

impl Decoder<'_> {
    /// As kustomize decodes its own files.
    pub(super) fn strict(class: ErrorClass) -> Decoder<'static> {
        Decoder { strict: true, class, dialect: Dialect::GoYamlV2, dropped: None }
    }

    /// As sigs.k8s.io/yaml decodes on its own.
    pub(super) fn lenient(class: ErrorClass) -> Decoder<'static> {
        Decoder { strict: false, class, dialect: Dialect::GoYamlV2, dropped: None }
    }

    fn mismatch<T>(self, node: NodeRef<'_>, wanted: &str) -> Result<T> {
        let found = match () {
            () if node.is_map() => "a map",
            () if node.is_seq() => "a list",
            () => match node.scalar(self.dialect) {
                Scalar::Bool(_) => "a boolean",
                Scalar::Int(_) | Scalar::Uint(_) | Scalar::Float(_) => "a number",
                Scalar::Null => "null",
                Scalar::Str(_) | Scalar::Timestamp(_) => "a string",
            },
        };
        let mut message = format!("{wanted} is wanted here, this is {found}");
        if wanted == "a string" && !node.is_map() && !node.is_seq() {
            message.push_str("; quote it");
        }
        Err(BuildError::at(self.class, message, node))
    }

    /// Visit the fields of a struct; `null` has none. `visit` gets the name as
    /// in `known`, the key and the value.
    pub(super) fn fields(
        self,
        node: NodeRef<'_>,
        known: &[&'static str],
        mut visit: impl FnMut(&'static str, NodeRef<'_>, NodeRef<'_>) -> Result<()>,
    ) -> Result<()> {
        if is_null(node) {
            return Ok(());
        }
        if !node.is_map() {
            return self.mismatch(node, "a map");
        }
        for entry in node.entries() {
            let key = self.key(entry.key_node)?;
            let name = known
                .iter()
                .find(|name| **name == key)
                .or_else(|| known.iter().find(|name| name.eq_ignore_ascii_case(&key)));
            match name {
                Some(name) if is_null(entry.value) => visit(name, entry.key_node, entry.value)?,
                Some(name) => visit(name, entry.key_node, entry.value)?,
                None if self.strict => {
                    let message = format!("unknown field `{key}`");
                    return Err(BuildError::at(self.class, message, entry.key_node));
                }
                None => self.drop(key, &entry, known),
            }
        }
        Ok(())
    }

    fn drop(self, key: String, entry: &EntryRef<'_>, known: &[&'static str]) {
        // Some keys are there to be dropped: they hold what aliases name.
        let is_wanted = key.starts_with(['.', '_']) || key.starts_with("x-") || has_anchor(entry.value);
        if let Some(dropped) = self.dropped.filter(|_| !is_wanted) {
            let node = entry.key_node;
            let near = crate::lang::text::suggest(&key, known.iter().copied());
            let near = near.and_then(|near| known.iter().find(|name| **name == near)).copied();
            dropped.borrow_mut().push(Dropped { key, node: node.to_node(), near });
        }
    }

    fn key(self, node: NodeRef<'_>) -> Result<String> {
        let scalar = node.scalar(self.dialect);
        match resolve::json_key(&scalar, self.dialect) {
            Ok(key) => Ok(key.into_owned()),
            Err(reason) => Err(BuildError::at(self.class, reason, node)),
        }
    }

    /// A string; `None` for null.
    pub(super) fn text(self, node: NodeRef<'_>) -> Result<Option<Text>> {
        if node.is_map() || node.is_seq() {
            return self.mismatch(node, "a string");
        }
        let value: Arc<str> = match node.scalar(self.dialect) {
            Scalar::Null => return Ok(None),
            Scalar::Str(text) | Scalar::Timestamp(text) => text.as_ref().into(),
            _ if self.strict => return self.mismatch(node, "a string"),
            Scalar::Bool(value) => if value { "true" } else { "false" }.into(),
            Scalar::Int(value) => value.to_string().into(),
            Scalar::Uint(value) => value.to_string().into(),
            Scalar::Float(value) => resolve::format_float_yaml(value).into(),
        };
        Ok(Some(Spanned { value, node: node.to_node() }))
    }

    /// A string, the empty one for null.
    pub(super) fn text_or_empty(self, node: NodeRef<'_>) -> Result<Text> {
        Ok(self.text(node)?.unwrap_or_else(|| Spanned { value: "".into(), node: node.to_node() }))
    }

    /// A boolean, false for null.
    pub(super) fn boolean(self, node: NodeRef<'_>) -> Result<bool> {
        match node.scalar(self.dialect) {
            Scalar::Bool(value) if !node.is_map() && !node.is_seq() => Ok(value),
            Scalar::Null if is_null(node) => Ok(false),
            _ => self.mismatch(node, "true or false"),
        }
    }

    /// An integer, 0 for null.
    pub(super) fn integer(self, node: NodeRef<'_>) -> Result<i64> {
        match node.scalar(self.dialect) {
            Scalar::Int(value) if !node.is_map() && !node.is_seq() => Ok(value),
            Scalar::Null if is_null(node) => Ok(0),
            Scalar::Float(value) => match resolve::format_float(value).parse() {
                Ok(value) => Ok(value),
                Err(_) => self.mismatch(node, "an integer"),
            },
            _ => self.mismatch(node, "an integer"),
        }
    }

    /// A list, empty for null; `item` decodes one.
    pub(super) fn list<T>(
        self,
        node: NodeRef<'_>,
        item: impl FnMut(NodeRef<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        if is_null(node) {
            return Ok(Vec::new());
        }
        if !node.is_seq() {
            return self.mismatch(node, "a list");
        }
        node.items().map(item).collect()
    }

    /// A list of strings; a null item is the empty string.
    pub(super) fn texts(self, node: NodeRef<'_>) -> Result<Vec<Text>> {
        self.list(node, |item| self.text_or_empty(item))
    }

    /// A map of strings in order of its keys, the last of equal keys.
    pub(super) fn text_map(self, node: NodeRef<'_>) -> Result<TextMap> {
        if is_null(node) {
            return Ok(Vec::new());
        }
        if !node.is_map() {
            return self.mismatch(node, "a map");
        }
        let mut map: BTreeMap<Arc<str>, TextEntry> = BTreeMap::new();
        for entry in node.entries() {
            let key: Arc<str> = self.key(entry.key_node)?.into();
            let value = self.text_or_empty(entry.value)?;
            let new = TextEntry { key: key.clone(), key_node: entry.key_node.to_node(), value };
            map.insert(key, new);
        }
        Ok(map.into_values().collect())
    }
}

/// Whether a value, or something in it, has an anchor.
fn has_anchor(node: NodeRef<'_>) -> bool {
    let own = match node {
        NodeRef::Source(source, token) => source.document().anchor(token).is_some(),
        NodeRef::Built(_) => false,
    };
    own || node.entries().any(|entry| has_anchor(entry.value)) || node.items().any(has_anchor)
}

/// Null in the YAML of kustomization files.
pub(super) fn is_null(node: NodeRef<'_>) -> bool {
    !node.is_map() && !node.is_seq() && matches!(node.scalar(Dialect::GoYamlV2), Scalar::Null)
}
