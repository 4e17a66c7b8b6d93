//! The order of a build's output.
//!
//! Mirrors `api/internal/builtins/SortOrderTransformer.go` and
//! `kyaml/resid/gvk.go` (`IsLessThan`).

use super::entries::SortOptions;
use super::error::{BuildError, ErrorClass, Result};
use super::resource::Resource;
use super::tables::{ORDER_FIRST, ORDER_LAST};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;

/// The order where the root file doesn't say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By kind, as the command line does.
    Legacy,
    /// As accumulated, as Flux does.
    Fifo,
}

/// Sort as the root file or, without `sortOptions`, `default` says.
pub(super) fn sort(resources: &mut [Resource], options: Option<&SortOptions>, default: Order) -> Result<()> {
    let Some(options) = options else {
        if default == Order::Legacy {
            sort_legacy(resources, ORDER_FIRST, ORDER_LAST);
        }
        return Ok(());
    };
    match (&*options.order, &options.legacy) {
        ("legacy", None) => sort_legacy(resources, ORDER_FIRST, ORDER_LAST),
        ("legacy", Some(legacy)) => {
            let first: Vec<&str> = legacy.first.iter().map(|kind| &*kind.value).collect();
            let last: Vec<&str> = legacy.last.iter().map(|kind| &*kind.value).collect();
            sort_legacy(resources, &first, &last);
        }
        ("fifo", None) => {}
        ("fifo", Some(_)) => {
            let message = "`legacySortOptions` needs `order: legacy`";
            return Err(BuildError::at(ErrorClass::Other, message, options.node.get_ref()));
        }
        _ => {
            let message = "`sortOptions.order` must be legacy or fifo";
            return Err(BuildError::at(ErrorClass::Other, message, options.node.get_ref()));
        }
    }
    Ok(())
}

fn sort_legacy(resources: &mut [Resource], first: &[&str], last: &[&str]) {
    let mut ranks: FxHashMap<&str, i64> = FxHashMap::default();
    for (index, kind) in first.iter().enumerate() {
        ranks.insert(kind, index as i64 - first.len() as i64);
    }
    for (index, kind) in last.iter().enumerate() {
        ranks.insert(kind, index as i64 + 1);
    }
    let rank = |resource: &Resource| ranks.get(&*resource.id.gvk.kind).copied().unwrap_or(0);
    resources.sort_by(|a, b| {
        rank(a).cmp(&rank(b)).then_with(|| {
            let (left, right) = (&a.id.gvk, &b.id.gvk);
            if left != right {
                let core = |group: &str| group.is_empty();
                let order = type_text(left.group(), left.version(), &left.kind).cmp(type_text(
                    right.group(),
                    right.version(),
                    &right.kind,
                ));
                let namespaces = &*left.kind == "Namespace"
                    && &*right.kind == "Namespace"
                    && (core(left.group()) || core(right.group()));
                return if namespaces { order.reverse() } else { order };
            }
            id_text(a).cmp(&id_text(b))
        })
    });
}

fn or<'t>(text: &'t str, placeholder: &'t str) -> &'t str {
    if text.is_empty() { placeholder } else { text }
}

/// The bytes of the text by which types are ordered.
fn type_text<'t>(group: &'t str, version: &'t str, kind: &'t str) -> impl Iterator<Item = u8> + 't {
    let parts = [or(group, "~G"), "_", or(version, "~V"), "_", or(kind, "~K")];
    parts.into_iter().flat_map(str::bytes)
}

fn id_text(resource: &Resource) -> String {
    let id = &resource.id;
    format!("{}|{}", or(&id.namespace, "~X"), or(&id.name, "~N"))
}

/// Types in the order that the tables are kept in.
pub(super) fn compare_gvk(a: (&str, &str, &str), b: (&str, &str, &str)) -> Ordering {
    // Most are compared with their like.
    if a.2 == b.2 && a.2 != "Namespace" {
        return type_text(a.0, a.1, a.2).cmp(type_text(b.0, b.1, b.2));
    }
    let rank = |kind: &str| {
        let first = ORDER_FIRST.iter().position(|known| *known == kind);
        let last = ORDER_LAST.iter().position(|known| *known == kind);
        match (first, last) {
            (Some(at), _) => at as i64 - ORDER_FIRST.len() as i64,
            (None, Some(at)) => at as i64 + 1,
            (None, None) => 0,
        }
    };
    rank(a.2).cmp(&rank(b.2)).then_with(|| {
        let order = type_text(a.0, a.1, a.2).cmp(type_text(b.0, b.1, b.2));
        if a.2 == "Namespace" && b.2 == "Namespace" && (a.0.is_empty() || b.0.is_empty()) {
            order.reverse()
        } else {
            order
        }
    })
}
