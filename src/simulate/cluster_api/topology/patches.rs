//! Inline patches of a ClusterClass, applied to a template of one Cluster.
//!
//! Mirrors cluster-api `core/reconcilers/topology/cluster/patches`
//! (`inline/json_patch_generator.go`, `engine.go`, `patch.go`). What an external patch does
//! is unknown, unless its extension's answer is stated.

use serde_json::Value;

use super::json_patch::{Inverse, json_patch, undo};
use super::part_names::CONTROL_PLANE;
use super::template::{digest, enabled, render};
use super::variables::TopologyVariables;
use super::{text, text_at};
use crate::lang::yaml::{NodeRef, pointer_join, pointer_to};
use crate::model::value::{has_unknown, to_json, unknown};
use crate::simulate::cluster_api::hooks::mutation::{Patch, StatedAnswers, is_for};
use crate::simulate::cluster_api::propagation::WorkerKind;
use crate::simulate::cluster_api::rollout::template::differences;

/// What begins the key of the mark that an external patch leaves; no field of an API has it.
const EXTERNAL: &str = "$patch ";

/// Where a patch names the extension that generates it, by the names of v1beta2 and v1beta1.
pub(crate) const GENERATE: [&str; 2] = ["/external/generatePatchesExtension", "/external/generateExtension"];

/// Where it names the one that validates what all patches made.
pub(crate) const VALIDATE: [&str; 2] = ["/external/validateTopologyExtension", "/external/validateExtension"];

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
pub(crate) struct PatchFailure {
    /// JSON Pointer of the patch, in the ClusterClass.
    pub pointer: String,
    /// What fails.
    pub message: String,
}

/// Something that an operation of a patch writes to a template, or takes away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatchWrite {
    /// JSON Pointer in the template.
    pub path: String,
    /// JSON Pointer of the operation in the ClusterClass; of an external patch, where it
    /// names its extension.
    pub pointer: String,
}

/// The last of the operations that write at a place of a template, above it or below it.
pub(crate) fn writer<'w>(written: &'w [PatchWrite], place: &str) -> Option<&'w PatchWrite> {
    let is_in = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    written.iter().rev().find(|one| is_in(place, &one.path) || is_in(&one.path, place))
}

/// One template on its way through the patches of a class.
pub(crate) struct Patching<'a> {
    /// `apiVersion` of the template, as the class references it.
    pub api_version: &'a str,
    /// `kind` of it.
    pub kind: &'a str,
    /// Namespace and name of it.
    pub template: (&'a str, &'a str),
    /// What it is to its Cluster.
    pub role: Role<'a>,
    /// Variables that hold for it.
    pub variables: &'a TopologyVariables,
    /// Namespace and name of the Cluster, and which of its templates it is, as answers of
    /// extensions name it.
    pub part: (&'a str, &'a str, &'a str),
    /// What extensions are stated to answer.
    pub stated: StatedAnswers<'a>,
}

impl Patching<'_> {
    /// Applies patches, each given with its JSON Pointer, in order, and notes who wrote what
    /// in `written`; of the result
    /// only `spec.template.spec` is taken over, with template metadata from
    /// Cluster API 1.14 on (`template_metadata`). Failures stop that patch only,
    /// so that what follows can still be shown.
    pub(crate) fn apply(
        &self,
        patches: &[(String, NodeRef<'_>)],
        template_metadata: bool,
        template: &Value,
        written: &mut Vec<PatchWrite>,
    ) -> (Value, Vec<PatchFailure>) {
        let mut patched = template.clone();
        let given = self.identify(template_metadata, &mut patched);
        let mut failures = Vec::new();
        for (pointer, patch) in patches {
            let done = match text_at(*patch, &GENERATE) {
                Some(handler) => self.external((pointer, *patch), &handler, &mut patched, written),
                None => self.inline((pointer, *patch), &mut patched, written),
            };
            if let Err(message) = done {
                failures.push(PatchFailure { pointer: pointer.clone(), message });
            }
        }
        for (pointer, key) in &given {
            let parent = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
            let Some(Value::Object(map)) = patched.pointer_mut(pointer) else { continue };
            map.remove(key);
            if map.is_empty()
                && template.pointer(pointer).is_none()
                && let Some(Value::Object(metadata)) = patched.pointer_mut(parent)
            {
                metadata.remove(&pointer[parent.len() + 1..]);
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

    /// What a request has beside metadata and spec: patches may name it, and nothing of it is
    /// taken over (`requestItemBuilder.Build`). From Cluster API 1.14 on it also has the keys
    /// that every desired object gets (`createRequest`), which no patch can change
    /// (`updateDesiredState`); those that are given are told.
    fn identify(&self, template_metadata: bool, patched: &mut Value) -> Vec<(String, String)> {
        let Value::Object(map) = patched else { return Vec::new() };
        map.insert("apiVersion".to_owned(), self.api_version.into());
        map.insert("kind".to_owned(), self.kind.into());
        let (namespace, name) = self.template;
        if let Some(Value::Object(metadata)) = map.get_mut("metadata") {
            metadata.insert("name".to_owned(), name.into());
            metadata.insert("namespace".to_owned(), namespace.into());
        }
        let mut given = Vec::new();
        if !template_metadata {
            return given;
        }
        let is_object = match self.role {
            Role::InfrastructureCluster | Role::Worker(WorkerKind::MachinePool, _) => true,
            Role::ControlPlane => self.part.2 == CONTROL_PLANE,
            Role::Worker(WorkerKind::MachineDeployment, _) => false,
        };
        let base: &[&str] = if is_object { &["spec", "template", "metadata"] } else { &["metadata"] };
        let mut keys = vec![
            ("labels", "cluster.x-k8s.io/cluster-name"),
            ("labels", "topology.cluster.x-k8s.io/owned"),
            ("annotations", "cluster.x-k8s.io/cloned-from-name"),
            ("annotations", "cluster.x-k8s.io/cloned-from-groupkind"),
        ];
        match self.role {
            Role::Worker(WorkerKind::MachineDeployment, _) => {
                keys.push(("labels", "topology.cluster.x-k8s.io/deployment-name"));
            }
            Role::Worker(WorkerKind::MachinePool, _) => {
                keys.push(("labels", "topology.cluster.x-k8s.io/pool-name"));
            }
            _ => {}
        }
        for (field, key) in keys {
            let pointer = format!("/{}/{field}", base.join("/"));
            let path: Vec<&str> = base.iter().copied().chain([field, key]).collect();
            put(patched, &path, Value::String(String::new()));
            given.push((pointer, key.to_owned()));
        }
        given
    }

    /// An extension may patch anything; a mark says so, and changes with what it
    /// is given. Where its answer is stated, that is applied, and the mark stands only where
    /// the answer may have been to another request (`applyPatchToRequest`).
    fn external(
        &self,
        (pointer, patch): (&str, NodeRef<'_>),
        handler: &str,
        patched: &mut Value,
        written: &mut Vec<PatchWrite>,
    ) -> Result<(), String> {
        let name = text_at(patch, &["/name"]).unwrap_or_default();
        let settings = patch.at("/external").map(to_json).unwrap_or_default();
        let digest = self.variables.digest_all(&format!("{patched}{settings}"));
        let (namespace, cluster, part) = self.part;
        let stated = self.stated.patches(handler);
        let is_sure = stated.is_some_and(|(_, is_sure)| is_sure);
        let items = stated.map_or(&[][..], |(items, _)| items);
        for item in items.iter().filter(|item| is_for(&item.uid, namespace, cluster, part)) {
            let before = patched.clone();
            patched_by(&item.patch, patched)
                .map_err(|why| format!("the answer of {handler} cannot be applied to {part}: {why}"))?;
            written.extend(
                differences(&before, patched).iter().map(|path| PatchWrite {
                    path: pointer_to(path),
                    pointer: format!("{pointer}/external"),
                }),
            );
        }
        let mark = unknown(format!("extension patch {name} may change it ({digest})"));
        if !is_sure && let Some(Value::Object(spec)) = patched.pointer_mut("/spec/template/spec") {
            let key = format!("{EXTERNAL}{name}");
            written.push(PatchWrite {
                path: pointer_join("/spec/template/spec", &key),
                pointer: format!("{pointer}/external"),
            });
            spec.insert(key, mark);
        }
        Ok(())
    }

    fn inline(
        &self,
        (pointer, patch): (&str, NodeRef<'_>),
        patched: &mut Value,
        written: &mut Vec<PatchWrite>,
    ) -> Result<(), String> {
        let name = text_at(patch, &["/name"]).unwrap_or_default();
        let enabled_if = text_at(patch, &["/enabledIf"]);
        let condition = enabled_if.as_deref().unwrap_or_default();
        let mut on = enabled(enabled_if.as_deref(), self.variables);
        if on == Some(false) {
            return Ok(());
        }
        for (index, definition) in patch.items_at("/definitions").enumerate() {
            let pointer = format!("{pointer}/definitions/{index}/jsonPatches");
            let selector = definition.at("/selector");
            match selector.map(|s| selects(s, self.api_version, self.kind, self.role)) {
                None | Some(Some(false)) => continue,
                Some(None) => on = None,
                Some(Some(true)) => {}
            }
            let written_by = |index, operation| PatchWrite {
                path: text_at(operation, &["/path"]).unwrap_or_default(),
                pointer: format!("{pointer}/{index}"),
            };
            let operations = definition.items_at("/jsonPatches").enumerate();
            if on == Some(true) {
                let mut inverses = Vec::new();
                for (index, operation) in operations {
                    written.push(written_by(index, operation));
                    match self.operation(operation, patched) {
                        Ok(inverse) => inverses.extend(inverse),
                        Err(message) => {
                            undo(patched, inverses);
                            return Err(message);
                        }
                    }
                }
                continue;
            }
            let mut result = patched.clone();
            for (index, operation) in operations {
                written.push(written_by(index, operation));
                // A patch that may be off need not be able to apply.
                if self.operation(operation, &mut result).is_err() {
                    self.unsettle(&name, condition, operation, &mut result);
                }
            }
            *patched = self.maybe(&name, condition, patched, &result);
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

    fn operation(&self, operation: NodeRef<'_>, target: &mut Value) -> Result<Option<Inverse>, String> {
        let (Some(op), Some(path)) = (text_at(operation, &["/op"]), text_at(operation, &["/path"])) else {
            return Err("a JSON patch without op or path".to_owned());
        };
        let value = match &*op {
            "remove" => None,
            _ => Some(self.value(operation)?),
        };
        json_patch(target, &op, &path, value)
    }

    /// What an operation sets (`calculateValue`).
    pub(crate) fn value(&self, operation: NodeRef<'_>) -> Result<Value, String> {
        let given = ["/value", "/valueFrom/variable", "/valueFrom/template"];
        let is_given = |pointer: &&&str| operation.at(pointer).is_some_and(|node| !node.is_null());
        if given.iter().filter(is_given).count() > 1 {
            return Err("a JSON patch with more than one of value, variable and template".to_owned());
        }
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

/// Applies a patch that an extension answered with.
pub(crate) fn patched_by(patch: &Patch, target: &mut Value) -> Result<(), String> {
    match patch {
        Patch::Merge(patch) => merge(target, patch),
        Patch::Json(operations) => {
            for operation in operations {
                let text = |key: &str| operation.get(key).and_then(Value::as_str);
                let (Some(op), Some(path)) = (text("op"), text("path")) else {
                    return Err("a JSON patch without op or path".to_owned());
                };
                stated_operation(target, op, path, text("from"), operation.get("value"))?;
            }
        }
    }
    Ok(())
}

/// One operation of RFC 6902 with those that patches of a class don't have.
fn stated_operation(
    target: &mut Value,
    op: &str,
    path: &str,
    from: Option<&str>,
    value: Option<&Value>,
) -> Result<(), String> {
    let source = |target: &Value| {
        let from = from.ok_or_else(|| format!("`{op}` at `{path}` has no from"))?;
        let found = target.pointer(from).cloned();
        Ok::<_, String>((
            from.to_owned(),
            found.ok_or_else(|| format!("`{op}` from `{from}`: it is missing"))?,
        ))
    };
    match op {
        "test" => {
            let found = target.pointer(path);
            let is_equal = found.is_some_and(|found| has_unknown(found) || Some(found) == value);
            if !is_equal {
                return Err(format!("`test` at `{path}` does not hold"));
            }
        }
        "copy" => {
            let (_, value) = source(target)?;
            json_patch(target, "add", path, Some(value))?;
        }
        "move" => {
            let (from, value) = source(target)?;
            json_patch(target, "remove", &from, None)?;
            json_patch(target, "add", path, Some(value))?;
        }
        "remove" => {
            json_patch(target, op, path, None)?;
        }
        "add" | "replace" => {
            let value = value.cloned().ok_or_else(|| format!("`{op}` at `{path}` has no value"))?;
            json_patch(target, op, path, Some(value))?;
        }
        _ => return Err(format!("`{op}` is no operation of JSON patches")),
    }
    Ok(())
}

/// RFC 7386: maps are merged, null removes, everything else is replaced. As deep as JSON is
/// read.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        if !patch.is_null() {
            *target = patch.clone();
        }
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Value::Object(map) = target else { return };
    for (key, value) in patch {
        match value {
            Value::Null => {
                map.remove(key);
            }
            value => merge(map.entry(key.clone()).or_insert(Value::Null), value),
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

#[cfg(test)]
mod tests {
    use super::*;

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
