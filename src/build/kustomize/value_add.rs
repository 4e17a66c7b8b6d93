//! The ValueAddTransformer.
//!
//! Mirrors `api/internal/builtins/ValueAddTransformer.go` and
//! `api/filters/valueadd/valueadd.go`.

use super::builder::{BuildLevel, Builder, documents_of, unless_remote};
use super::decode::{PLUGIN, Spanned, Text, is_null};
use super::entries;
use super::error::{BuildError, ErrorClass, Result};
use super::load::TextPlace;
use super::nodes::{self, Kind};
use super::path::{self, Create};
use super::resource::{Resource, shared_string};
use super::selector::Compiled;
use super::transform::{NamespaceSetter, Subjects, set_namespace};
use crate::lang::yaml::{Node, NodeRef};

/// Run one, configured by `node`.
pub(super) fn run(
    builder: &mut Builder<'_>,
    level: &BuildLevel,
    node: NodeRef<'_>,
    resources: &mut [Resource],
) -> Result<()> {
    let error = |message: &str| BuildError::at(ErrorClass::Plugin, message, node);
    let text = |key: &str| match node.get(key) {
        Some(value) => PLUGIN.text(value),
        None => Ok(None),
    };
    let value = match text("value")? {
        Some(value) if !value.value.trim().is_empty() => {
            Spanned { value: value.value.trim().into(), node: value.node }
        }
        _ => {
            let base = level.directory.rsplit('/').next().unwrap_or("");
            Spanned { value: base.into(), node: node.to_node() }
        }
    };
    let mut targets: Vec<Node> = node.items_at("/targets").map(NodeRef::to_node).collect();
    if let Some(path) = text("targetFilePath")?.filter(|path| !path.value.is_empty()) {
        let Some(file) = unless_remote(builder.read(level, &path))? else { return Ok(()) };
        for document in documents_of(&file, &TextPlace::default())?.iter().take(1) {
            targets.extend(document.get_ref().items_at("/targets").map(NodeRef::to_node));
        }
    }
    if targets.is_empty() {
        return Err(error("a ValueAddTransformer needs targets"));
    }
    for target in &targets {
        add(target.get_ref(), &value, resources)?;
    }
    Ok(())
}

fn add(target: NodeRef<'_>, value: &Text, resources: &mut [Resource]) -> Result<()> {
    let error = |message: String| BuildError::at(ErrorClass::Plugin, message, target);
    let field = target.get("fieldPath").map_or(Ok(None), |field| PLUGIN.text(field))?;
    let Some(field) = field.filter(|field| !field.value.is_empty()) else {
        return Err(error("a target of a ValueAddTransformer needs a fieldPath".to_owned()));
    };
    let position = target.get("filePathPosition").map_or(Ok(0), |position| PLUGIN.integer(position))?;
    let position =
        usize::try_from(position).map_err(|_| error("filePathPosition can't be negative".to_owned()))?;
    let selector = match target.get("selector").filter(|selector| !is_null(*selector)) {
        Some(selector) => Some(Compiled::new(&entries::selector(PLUGIN, selector)?)?),
        None => None,
    };
    let location = value.node.get_ref().location().map(std::sync::Arc::new);
    let steps: Vec<String> =
        super::fieldspec::split_path(&field.value).into_iter().map(|step| step.into_owned()).collect();
    for resource in resources {
        if selector.as_ref().is_some_and(|selector| !selector.selects(resource)) {
            continue;
        }
        if &*field.value == "metadata/namespace" {
            let setter = NamespaceSetter {
                namespace: value,
                specs: &[],
                unset_only: false,
                subjects: Subjects::Default,
            };
            let node = shared_string(&value.value, location.as_ref());
            set_namespace(&setter, &node, resource)?;
        } else {
            let create = Create::Kind(Kind::Scalar);
            let result = path::for_each(&mut resource.node, &steps, create, &mut |leaf| {
                let old = leaf.get_ref();
                if old.is_map() || old.is_seq() {
                    return Err("it is no scalar".to_owned());
                }
                let text = if position == 0 {
                    value.value.to_string()
                } else {
                    inserted(&nodes::text(old), &value.value, position)
                };
                *leaf = nodes::untagged(Some(old), &text, location.as_deref().cloned());
                Ok(())
            });
            result.map_err(|reason| error(format!("{} of {}: {reason}", field.value, resource.id)))?;
        }
        resource.suspect = true;
        resource.sync();
    }
    Ok(())
}

/// A path with one more component, counted from 1.
fn inserted(path: &str, component: &str, position: usize) -> String {
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let at = (position - 1).min(parts.len());
    parts.insert(at, component);
    let joined = parts.join("/");
    if path.starts_with('/') { format!("/{joined}") } else { joined }
}
