//! Inline patches of a ClusterClass, applied to a template of one Cluster.
//!
//! Mirrors cluster-api `core/reconcilers/topology/cluster/patches`
//! (`inline/json_patch_generator.go`, `engine.go`, `patch.go`). External patches
//! are unknown offline.

use serde_json::Value;

use super::template::{digest, enabled, render};
use super::variables::Variables;
use super::{text, text_at};
use crate::lang::yaml::{NodeRef, pointer_segments};
use crate::model::value::{is_unknown, to_json, unknown};
use crate::simulate::cluster_api::propagation::WorkerKind;
use crate::simulate::cluster_api::rollout::template::differences;

/// What begins the key of the mark that an external patch leaves; no field of an API has it.
const EXTERNAL: &str = "$patch ";

/// Whether the keys of a path lead to the mark of an external patch.
pub(crate) fn is_external(path: &[String]) -> bool {
    matches!(path, [spec, template, inner, mark]
        if spec == "spec" && template == "template" && inner == "spec" && mark.starts_with(EXTERNAL))
}

/// What a template is to its Cluster, as selectors ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role<'a> {
    /// The infrastructure cluster.
    InfrastructureCluster,
    /// The control plane, or the infrastructure of its Machines.
    ControlPlane,
    /// Bootstrap or infrastructure of a worker class.
    Worker(WorkerKind, &'a str),
}

/// Whether a definition's selector selects a template. `None`: an unknown part
/// decides.
pub(crate) fn selects(selector: NodeRef<'_>, api_version: &str, kind: &str, role: Role<'_>) -> Option<bool> {
    for (pointer, wanted) in [("/apiVersion", api_version), ("/kind", kind)] {
        match selector.at(pointer) {
            Some(node) if node.is_unknown() => return None,
            node => {
                if node.and_then(text).as_deref() != Some(wanted) {
                    return Some(false);
                }
            }
        }
    }
    let flag = |name: &str| selector.at(&format!("/matchResources/{name}")).and_then(NodeRef::as_bool);
    let names = |list: &str, class: &str| {
        let pointer = format!("/matchResources/{list}/names");
        let mut unknown = false;
        for name in selector.items_at(&pointer) {
            match text(name) {
                Some(pattern) if matches_class(&pattern, class) => return Some(true),
                Some(_) => {}
                None => unknown = true,
            }
        }
        (!unknown).then_some(false)
    };
    match role {
        Role::InfrastructureCluster => Some(flag("infrastructureCluster") == Some(true)),
        Role::ControlPlane => Some(flag("controlPlane") == Some(true)),
        Role::Worker(WorkerKind::MachineDeployment, class) => names("machineDeploymentClass", class),
        Role::Worker(WorkerKind::MachinePool, class) => names("machinePoolClass", class),
    }
}

/// Class names in selectors: exact, or with one `*` at the start or the end.
pub(crate) fn matches_class(pattern: &str, class: &str) -> bool {
    pattern == class
        || pattern.strip_prefix('*').is_some_and(|suffix| class.ends_with(suffix))
        || pattern.strip_suffix('*').is_some_and(|prefix| class.starts_with(prefix))
}

/// Why the topology reconcile of a Cluster fails at a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// JSON Pointer of the patch, in the ClusterClass.
    pub pointer: String,
    /// What fails.
    pub message: String,
}

/// One template on its way through the patches of a class.
pub(crate) struct Patching<'a> {
    /// `apiVersion` of the template, as the class references it.
    pub api_version: &'a str,
    /// `kind` of it.
    pub kind: &'a str,
    /// What it is to its Cluster.
    pub role: Role<'a>,
    /// Variables that hold for it.
    pub variables: &'a Variables,
}

impl Patching<'_> {
    /// Applies patches, each given with its JSON Pointer, in order; of the result
    /// only `spec.template.spec` is taken over, with template metadata from
    /// Cluster API 1.14 on (`template_metadata`). Failures stop that patch only,
    /// so that what follows can still be shown.
    pub(crate) fn apply(
        &self,
        patches: &[(String, NodeRef<'_>)],
        template_metadata: bool,
        template: &Value,
    ) -> (Value, Vec<Failure>) {
        let mut patched = template.clone();
        let mut failures = Vec::new();
        for (pointer, patch) in patches {
            if patch.at("/external/generatePatchesExtension").is_some()
                || patch.at("/external/generateExtension").is_some()
            {
                self.external(*patch, &mut patched);
                continue;
            }
            if let Err(message) = self.inline(*patch, &mut patched) {
                failures.push(Failure { pointer: pointer.clone(), message });
            }
        }
        let mut result = template.clone();
        let mut take = |pointer: &[&str]| copy(&patched, &mut result, pointer);
        take(&["spec", "template", "spec"]);
        if template_metadata {
            for base in [&["spec", "template", "metadata"][..], &["metadata"]] {
                for field in ["labels", "annotations"] {
                    let path: Vec<&str> = base.iter().copied().chain([field]).collect();
                    take(&path);
                }
            }
        }
        (result, failures)
    }

    /// An extension may patch anything; a mark says so, and changes with what it
    /// is given.
    fn external(&self, patch: NodeRef<'_>, patched: &mut Value) {
        let name = text_at(patch, &["/name"]).unwrap_or_default();
        let digest = self.variables.digest_all(&patched.to_string());
        let mark = unknown(format!("extension patch {name} may change it ({digest})"));
        if let Some(Value::Object(spec)) = patched.pointer_mut("/spec/template/spec") {
            spec.insert(format!("{EXTERNAL}{name}"), mark);
        }
    }

    fn inline(&self, patch: NodeRef<'_>, patched: &mut Value) -> Result<(), String> {
        let name = text_at(patch, &["/name"]).unwrap_or_default();
        let enabled_if = text_at(patch, &["/enabledIf"]);
        let condition = enabled_if.as_deref().unwrap_or_default();
        let mut on = enabled(enabled_if.as_deref(), self.variables);
        if on == Some(false) {
            return Ok(());
        }
        for definition in patch.items_at("/definitions") {
            let selector = definition.at("/selector");
            match selector.map(|s| selects(s, self.api_version, self.kind, self.role)) {
                None | Some(Some(false)) => continue,
                Some(None) => on = None,
                Some(Some(true)) => {}
            }
            let mut result = patched.clone();
            for operation in definition.items_at("/jsonPatches") {
                match self.operation(operation, &mut result) {
                    // A patch that may be off need not be able to apply.
                    Err(_) if on.is_none() => self.unsettle(&name, condition, operation, &mut result),
                    done => done?,
                }
            }
            *patched = if on == Some(true) { result } else { self.maybe(&name, condition, patched, &result) };
        }
        Ok(())
    }

    /// What is left when it is not known whether a patch applies: every path that
    /// it would change is unknown, the same as long as its condition and both
    /// values are.
    fn maybe(&self, name: &str, condition: &str, before: &Value, after: &Value) -> Value {
        let mut result = after.clone();
        for path in differences(before, after) {
            let at =
                |value: &Value| path.iter().try_fold(value.clone(), |value, key| value.get(key).cloned());
            let more = format!("{name} {path:?} {:?} {:?}", at(before), at(after));
            let digest = digest(condition, self.variables, &more);
            let segments: Vec<&str> = path.iter().map(String::as_str).collect();
            put(&mut result, &segments, unknown(format!("patch {name} may set it ({digest})")));
        }
        result
    }

    /// Makes the target of an operation unknown.
    fn unsettle(&self, name: &str, condition: &str, operation: NodeRef<'_>, target: &mut Value) {
        let path = text_at(operation, &["/path"]).unwrap_or_default();
        let more = format!("{name} {path} {:?}", self.value(operation));
        let digest = digest(condition, self.variables, &more);
        let mark = unknown(format!("patch {name} may set it ({digest})"));
        // Where its parent is missing too, nothing can be set.
        let _ = json_patch(target, "add", &path, Some(mark));
    }

    fn operation(&self, operation: NodeRef<'_>, target: &mut Value) -> Result<(), String> {
        let (Some(op), Some(path)) = (text_at(operation, &["/op"]), text_at(operation, &["/path"])) else {
            return Err("a JSON patch without op or path".to_owned());
        };
        let value = match &*op {
            "remove" => None,
            _ => Some(self.value(operation)?),
        };
        json_patch(target, &op, &path, value)
    }

    fn value(&self, operation: NodeRef<'_>) -> Result<Value, String> {
        if let Some(value) = operation.at("/value") {
            return Ok(to_json(value));
        }
        if let Some(path) = text_at(operation, &["/valueFrom/variable"]) {
            return self.variables.get(&path).ok_or_else(|| format!("variable `{path}` has no value"));
        }
        match text_at(operation, &["/valueFrom/template"]) {
            Some(template) => Ok(render(&template, self.variables)),
            None => Err("a JSON patch without value or valueFrom".to_owned()),
        }
    }
}

fn copy(from: &Value, to: &mut Value, path: &[&str]) {
    let pointer = format!("/{}", path.join("/"));
    if let Some(value) = from.pointer(&pointer) {
        put(to, path, value.clone());
    }
}

/// Sets a value, making the maps on the way.
fn put(target: &mut Value, path: &[&str], value: Value) {
    let mut slot = target;
    for segment in path {
        if !slot.is_object() {
            *slot = Value::Object(serde_json::Map::new());
        }
        let Value::Object(map) = slot else { return };
        slot = map.entry(*segment).or_insert(Value::Null);
    }
    *slot = value;
}

/// One operation of RFC 6902 as evanphx/json-patch applies it. An operation
/// below an unknown value leaves it unknown.
fn json_patch(target: &mut Value, op: &str, path: &str, value: Option<Value>) -> Result<(), String> {
    let segments: Vec<String> = pointer_segments(path).map(|s| s.into_owned()).collect();
    let Some((last, parents)) = segments.split_last() else {
        return Err(format!("the path `{path}` names the whole template"));
    };
    let mut slot = target;
    for segment in parents {
        if is_unknown(slot) {
            return Ok(());
        }
        let missing = || format!("`{op}` at `{path}`: `{segment}` is missing");
        slot = match slot {
            Value::Object(map) => map.get_mut(segment),
            Value::Array(items) => segment.parse::<usize>().ok().and_then(|index| items.get_mut(index)),
            _ => None,
        }
        .ok_or_else(missing)?;
    }
    if is_unknown(slot) {
        return Ok(());
    }
    let missing = || format!("`{op}` at `{path}`: `{last}` is missing");
    match (op, slot, value) {
        ("add", Value::Object(map), Some(value)) => {
            map.insert(last.clone(), value);
        }
        ("replace", Value::Object(map), Some(value)) => *map.get_mut(last).ok_or_else(missing)? = value,
        ("remove", Value::Object(map), _) => {
            map.remove(last).ok_or_else(missing)?;
        }
        ("add", Value::Array(items), Some(value)) if last == "-" => items.push(value),
        ("add", Value::Array(items), Some(value)) => {
            let index = last.parse::<usize>().ok().filter(|index| *index <= items.len());
            items.insert(index.ok_or_else(missing)?, value);
        }
        ("replace", Value::Array(items), Some(value)) => {
            let index = last.parse::<usize>().ok();
            *index.and_then(|index| items.get_mut(index)).ok_or_else(missing)? = value;
        }
        ("remove", Value::Array(items), _) => {
            let index = last.parse::<usize>().ok().filter(|index| *index < items.len());
            items.remove(index.ok_or_else(missing)?);
        }
        (_, Value::Null, _) => return Err(format!("`{op}` at `{path}`: its parent is null")),
        _ => return Err(format!("`{op}` at `{path}` cannot be applied")),
    }
    Ok(())
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
            let result = json_patch(&mut target, op, path, value).map(|()| target["spec"].clone());
            assert_eq!(result.map_err(|_| ()), after, "{op} {path}");
        }
    }

    #[test]
    fn class_patterns_hold_one_star() {
        for (pattern, class, matches) in [
            ("default", "default", true),
            ("*", "default", true),
            ("def*", "default", true),
            ("*ult", "default", true),
            ("d*t", "default", false),
            ("other", "default", false),
        ] {
            assert_eq!(matches_class(pattern, class), matches, "{pattern}");
        }
    }
}
