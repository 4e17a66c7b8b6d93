//! Builds are shared: many clusters apply the same directory in the same way.

use super::{BuildFailure, FluxBuild, accumulate, rewrite};
use crate::build::kustomize::{self, Rewrite};
use crate::files::FileTree;
use crate::lang::yaml::{Location, Node, NodeRef, Value};
use rustc_hash::FxHashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Results of builds of trees of one snapshot. Equal builds give the same
/// nodes, so that their objects are one object of many clusters.
#[derive(Debug, Default)]
pub struct Memo {
    pub(super) bases: kustomize::BaseMemo,
    roots: Mutex<FxHashMap<String, Arc<Root>>>,
}

#[derive(Debug, Default)]
struct Root {
    /// Once, whoever comes first: two results would be two sets of objects.
    result: OnceLock<Result<FluxBuild, BuildFailure>>,
    /// Keeps the nodes alive that the key names by their address.
    nodes: OnceLock<Rewrite>,
}

impl Memo {
    /// What kustomize makes of a directory of a Flux Kustomization.
    pub(super) fn root(
        &self,
        tree: &FileTree,
        directory: &str,
        kustomization: NodeRef<'_>,
    ) -> Result<FluxBuild, BuildFailure> {
        let rewrite = rewrite(tree, directory, kustomization);
        let mut key = format!("{} {directory}", tree.key());
        for node in nodes(&rewrite) {
            key.push('\0');
            if let Some(node) = node {
                describe(node.get_ref(), &mut key);
            }
        }
        let root = {
            let mut roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
            roots.entry(key).or_default().clone()
        };
        let nodes = root.nodes.get_or_init(|| rewrite);
        root.result.get_or_init(|| accumulate(tree, directory, nodes.clone(), &self.bases)).clone()
    }
}

fn nodes(rewrite: &Rewrite) -> impl Iterator<Item = Option<&Node>> {
    let Rewrite {
        generated: _,
        namespace,
        name_prefix,
        name_suffix,
        patches,
        components,
        images,
        listed_images,
        build_metadata,
    } = rewrite;
    let fields = [namespace, name_prefix, name_suffix, patches, images, listed_images, build_metadata];
    fields.into_iter().map(Option::as_ref).chain(components.iter().map(Some))
}

/// Value and origin of a node as text: equal for nodes that are the same to
/// whoever reads them.
fn describe(node: NodeRef<'_>, out: &mut String) {
    let built = match node {
        NodeRef::Source(source, token) => {
            let _ = write!(out, "@{:p}:{token} ", Arc::as_ptr(source));
            return;
        }
        NodeRef::Built(built) => built,
    };
    match &built.value {
        Value::Map(entries) => {
            out.push('{');
            for entry in entries {
                describe(entry.key.get_ref(), out);
                describe(entry.value.get_ref(), out);
            }
            out.push('}');
        }
        Value::Seq(items) => {
            out.push('[');
            for item in items {
                describe(item.get_ref(), out);
            }
            out.push(']');
        }
        scalar => {
            let _ = write!(out, "{scalar:?} ");
        }
    }
    if let Some(style) = built.style() {
        let _ = write!(out, "{style:?} ");
    }
    if let Some(location) = node.location() {
        place(&location, out);
    }
}

fn place(location: &Location, out: &mut String) {
    let _ = write!(out, "{:?}:{}-{} ", location.file, location.start, location.end);
    for via in &location.via {
        out.push_str(via.kind.name());
        place(&via.location, out);
    }
}
