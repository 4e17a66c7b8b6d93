//! What happens to the clone of a template, or to a generated object, when its
//! desired state changes: nothing, a change in place, or a new clone that rolls
//! Machines.
//!
//! Mirrors cluster-api `core/reconcilers/topology/cluster/reconcile_state.go`
//! (`reconcileReferencedTemplate`) and `structuredmerge/serversidepatchhelper.go`.

use serde_json::Value;

use crate::model::value::is_unknown;

/// What server-side apply of the desired object would change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    /// Anything that the topology controller looks at.
    pub any: bool,
    /// Something under `spec`.
    pub spec: bool,
}

/// What becomes of a per-cluster clone of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateOutcome {
    /// Nothing.
    Unchanged,
    /// Patched; the reference stays, no Machine is replaced.
    PatchedInPlace,
    /// A new clone with a new name; the reference changes, Machines roll.
    Rotated,
}

/// Sums up changed paths, written as `spec.bar` or `metadata.labels.foo`. Paths
/// under an ignored one, and those outside labels, annotations, owner references
/// and spec, do not count.
pub fn summarise<'a>(changed: impl IntoIterator<Item = &'a str>, ignored: &[&str]) -> Changes {
    const COMPARED: [&str; 4] =
        ["metadata.labels", "metadata.annotations", "metadata.ownerReferences", "spec"];
    let mut changes = Changes::default();
    for path in changed {
        let counts = COMPARED.iter().any(|root| is_under(path, root))
            && !ignored.iter().any(|root| is_under(path, root));
        changes.any |= counts;
        changes.spec |= counts && is_under(path, "spec");
    }
    changes
}

fn is_under(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// What becomes of a template's clone with these changes.
pub fn template_outcome(changes: Changes) -> TemplateOutcome {
    match changes {
        Changes { any: false, .. } => TemplateOutcome::Unchanged,
        Changes { spec: true, .. } => TemplateOutcome::Rotated,
        _ => TemplateOutcome::PatchedInPlace,
    }
}

/// The paths, as their keys, at which two desired objects differ: as deep as
/// maps go, lists whole.
pub(crate) fn differences(before: &Value, after: &Value) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    collect(before, after, &mut Vec::new(), &mut paths);
    paths
}

fn collect(before: &Value, after: &Value, path: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
    if before == after {
        return;
    }
    let empty = serde_json::Map::new();
    let (old, new) = match (before, after) {
        // Deeper than any real object: report the parent.
        _ if path.len() > 200 => return out.push(path.clone()),
        // The parts of an unknown value are no fields.
        _ if is_unknown(before) || is_unknown(after) => return out.push(path.clone()),
        (Value::Object(old), Value::Object(new)) => (old, new),
        (Value::Object(old), Value::Null) if !old.is_empty() => (old, &empty),
        (Value::Null, Value::Object(new)) if !new.is_empty() => (&empty, new),
        _ => return out.push(path.clone()),
    };
    let mut keys: Vec<&String> = old.keys().chain(new.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let value = |map: &serde_json::Map<String, Value>, key: &str| map.get(key).cloned().unwrap_or_default();
    for key in keys {
        path.push(key.clone());
        collect(&value(old, key), &value(new, key), path, out);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn changed_paths_are_as_deep_as_maps_go() {
        let before = json!({"spec": {"a": {"b": 1}, "list": [1], "same": 1}});
        let after = json!({"spec": {"a": {"b": 2}, "list": [1, 2], "same": 1, "new": {"c": {}}}});
        let dotted = |paths: Vec<Vec<String>>| paths.iter().map(|path| path.join(".")).collect::<Vec<_>>();
        assert_eq!(dotted(differences(&before, &after)), ["spec.a.b", "spec.list", "spec.new.c"]);
        assert!(differences(&json!({}), &json!({})).is_empty());
    }

    #[test]
    fn only_paths_below_spec_rotate() {
        for (path, outcome) in [
            ("spec.template.metadata.labels.a", TemplateOutcome::Rotated),
            ("metadata.labels.a", TemplateOutcome::PatchedInPlace),
            ("metadata.labelsfoo", TemplateOutcome::Unchanged),
            ("status", TemplateOutcome::Unchanged),
        ] {
            assert_eq!(template_outcome(summarise([path], &[])), outcome, "{path}");
        }
    }
}
