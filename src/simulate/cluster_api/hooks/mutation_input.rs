//! Topology mutation, function by function as upstream has them: which templates a patch
//! selects, whether it is enabled, which values it sets, and what all patches make of a
//! Cluster's templates.
//!
//! Mirrors cluster-api `core/reconcilers/topology/cluster/patches/{engine.go,
//! inline/json_patch_generator.go,variables/{value,variables}.go}`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::mutation::{Generate, Responses, Side, StatedAnswers, UNSTATED, read_patches};
use crate::lang::yaml::{Node, NodeRef, parse_nodes};
use crate::model::ObjectId;
use crate::model::cluster_api_kinds::CORE;
use crate::model::value::{has_unknown, to_json};
use crate::simulate::cluster_api::propagation::WorkerKind;
use crate::simulate::cluster_api::references::{Objects, ScopedObject};
use crate::simulate::cluster_api::topology::desired::desired_with;
use crate::simulate::cluster_api::topology::patches::{Patching, Role, VALIDATE, selects};
use crate::simulate::cluster_api::topology::template::{enabled, render};
use crate::simulate::cluster_api::topology::variables::{self, TopologyVariables};
use crate::simulate::cluster_api::topology::{Cluster, text_at};

/// One question, by the name of upstream's function.
#[derive(Deserialize)]
#[serde(tag = "function", rename_all = "camelCase")]
pub(super) enum Question {
    MatchesSelector(TemplateSelector),
    PatchIsEnabled {
        #[serde(default, rename = "enabledIf")]
        enabled_if: String,
        #[serde(default)]
        variables: Value,
    },
    CalculateValue {
        patch: Value,
        #[serde(default)]
        variables: Value,
    },
    RenderValueTemplate {
        template: String,
        #[serde(default)]
        variables: Value,
    },
    ParsePathSegment {
        segment: String,
    },
    Generate(Generation),
    /// `Global`, `ControlPlane`, `MachineDeployment` and `MachinePool`.
    Variables(Topology),
    /// `Apply`.
    Apply(Topology),
}

impl Question {
    /// The answer, in the terms of upstream's tests.
    pub(super) fn answer(self) -> Result<Value, String> {
        let or_error = |answer: Result<Value, String>| match answer {
            Ok(value) if !has_unknown(&value) => json!({"value": value}),
            Ok(_) => json!({"error": "it cannot be rendered"}),
            Err(error) => json!({"error": error}),
        };
        Ok(match self {
            Self::MatchesSelector(question) => json!({"match": question.answer()?}),
            Self::PatchIsEnabled { enabled_if, variables } => {
                match enabled(Some(&enabled_if), &TopologyVariables::of(variables)) {
                    Some(enabled) => json!({"enabled": enabled}),
                    None => json!({"error": "it cannot be rendered"}),
                }
            }
            Self::CalculateValue { patch, variables } => {
                or_error(value_of(node_of(&patch)?.get_ref(), &variables))
            }
            Self::RenderValueTemplate { template, variables } => {
                or_error(Ok(render(&template, &TopologyVariables::of(variables))))
            }
            Self::ParsePathSegment { segment } => match variables::segment(&segment) {
                Some((path, index)) => json!({"path": path, "index": index}),
                None => json!({"error": "it is no path segment"}),
            },
            Self::Generate(question) => question.answer()?,
            Self::Variables(topology) => topology.variables()?,
            Self::Apply(topology) => topology.apply()?,
        })
    }
}

/// A document of its own.
fn node_of(value: &Value) -> Result<Node, String> {
    parse_nodes("input.json", &value.to_string()).pop().ok_or_else(|| "it is empty".to_owned())
}

/// `matchesSelector`: a template is told by the field that references it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TemplateSelector {
    api_version: String,
    kind: String,
    #[serde(default)]
    holder: Holder,
    #[serde(default)]
    template_variables: Value,
    selector: Value,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Holder {
    kind: String,
    field_path: String,
}

impl TemplateSelector {
    fn answer(&self) -> Result<bool, String> {
        let class = |kind: &str| {
            self.template_variables.pointer(&format!("/builtin/{kind}/class")).and_then(Value::as_str)
        };
        let role = match (&*self.holder.kind, &*self.holder.field_path) {
            ("Cluster", "spec.infrastructureRef") => Role::InfrastructureCluster,
            ("Cluster", "spec.controlPlaneRef")
            | (_, "spec.machineTemplate.infrastructureRef" | "spec.machineTemplate.spec.infrastructureRef") => {
                Role::ControlPlane
            }
            ("MachineDeployment", _) => {
                Role::Worker(WorkerKind::MachineDeployment, class("machineDeployment").unwrap_or_default())
            }
            ("MachinePool", _) => {
                Role::Worker(WorkerKind::MachinePool, class("machinePool").unwrap_or_default())
            }
            _ => return Ok(false),
        };
        let selector = node_of(&self.selector)?;
        Ok(selects(selector.get_ref(), &self.api_version, &self.kind, role) == Some(true))
    }
}

/// `Generate` of an inline patch.
#[derive(Deserialize)]
pub(super) struct Generation {
    patch: Value,
    #[serde(default)]
    variables: Map<String, Value>,
    items: Vec<RequestTemplate>,
}

/// A template of a request.
#[derive(Deserialize)]
struct RequestTemplate {
    uid: String,
    #[serde(default)]
    holder: Holder,
    #[serde(default)]
    object: Value,
    #[serde(default)]
    variables: Map<String, Value>,
}

impl Generation {
    fn answer(self) -> Result<Value, String> {
        let mut items = Vec::new();
        let patch = node_of(&self.patch)?;
        for template in self.items {
            let text =
                |key: &str| template.object.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let mut all = self.variables.clone();
            for (name, value) in template.variables {
                match (all.get_mut(&name), value) {
                    // Both have builtin variables, of other kinds.
                    (Some(Value::Object(known)), Value::Object(more)) if name == "builtin" => {
                        known.extend(more)
                    }
                    (_, value) => drop(all.insert(name, value)),
                }
            }
            let variables = Value::Object(all);
            let mut operations = Vec::new();
            for definition in patch.get_ref().items_at("/definitions") {
                let selector = TemplateSelector {
                    api_version: text("apiVersion"),
                    kind: text("kind"),
                    holder: template.holder.clone(),
                    template_variables: variables.clone(),
                    selector: definition.at("/selector").map(to_json).unwrap_or_default(),
                };
                if !selector.answer()? {
                    continue;
                }
                for operation in definition.items_at("/jsonPatches") {
                    let mut written = to_json(operation);
                    let Value::Object(map) = &mut written else { continue };
                    map.remove("valueFrom");
                    if operation.at("/op").and_then(|op| op.as_str()).as_deref() != Some("remove") {
                        map.insert("value".to_owned(), value_of(operation, &variables)?);
                    }
                    operations.push(written);
                }
            }
            if !operations.is_empty() {
                items.push(json!({"uid": template.uid, "patchType": "JSONPatch", "patch": operations}));
            }
        }
        Ok(json!({"items": items}))
    }
}

/// `calculateValue`.
fn value_of(operation: NodeRef<'_>, variables: &Value) -> Result<Value, String> {
    let variables = TopologyVariables::of(variables.clone());
    let patching = Patching {
        api_version: "",
        kind: "",
        template: ("", ""),
        role: Role::ControlPlane,
        variables: &variables,
        part: ("", "", ""),
        stated: UNSTATED,
    };
    patching.value(operation)
}

/// A Cluster with its class and the templates of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Topology {
    objects: Vec<Value>,
    /// Answers of extensions by handler.
    #[serde(default)]
    responses: BTreeMap<String, Value>,
}

impl Topology {
    /// Calls `ask` with the Cluster and all objects.
    fn with(&self, ask: impl FnOnce(Cluster<'_>, &Objects<'_>) -> Option<Value>) -> Result<Value, String> {
        let nodes = self.objects.iter().map(node_of).collect::<Result<Vec<_>, _>>()?;
        let ids: Vec<Option<ObjectId>> = nodes.iter().map(|node| ObjectId::of(node.get_ref())).collect();
        let pairs = ids.iter().zip(&nodes).filter_map(|(id, node)| Some((id.as_ref()?, node)));
        let objects = Objects::new(pairs.map(|(id, node)| ScopedObject { id, node: node.get_ref() }));
        let cluster =
            objects.of_kind(CORE, "Cluster").next().ok_or("there is no Cluster among the objects")?;
        ask(Cluster { object: cluster }, &objects)
            .ok_or_else(|| "the Cluster's ClusterClass is not among the objects".to_owned())
    }

    fn variables(&self) -> Result<Value, String> {
        self.with(|cluster, objects| {
            let class = cluster.class(objects)?;
            let global = variables::global(&cluster, &class);
            let json = |variables: &TopologyVariables| {
                Value::Object(variables.all().map(|(name, value)| (name.clone(), value.clone())).collect())
            };
            let workers = cluster.all_workers();
            let of_workers: Map<String, Value> = workers
                .iter()
                .map(|entry| {
                    let name = format!("{}/{}", entry.kind.list(), entry.name.clone().unwrap_or_default());
                    (name, json(&global.for_worker(&cluster, &class, entry)))
                })
                .collect();
            Some(json!({
                "global": json(&global),
                "controlPlane": json(&global.for_control_plane(&cluster, &class)),
                "workers": of_workers,
            }))
        })
    }

    fn apply(&self) -> Result<Value, String> {
        let mut responses = Responses::default();
        let mut refused = Vec::new();
        for (handler, response) in &self.responses {
            if response.get("status").and_then(Value::as_str) == Some("Failure") {
                refused.push(handler.clone());
            }
            let answer = read_patches(response)?.map_or_else(Generate::Trouble, Generate::Same);
            responses.generate_patches.push((Some(handler.clone()), answer));
        }
        self.with(|cluster, objects| {
            let stated = StatedAnswers { responses: &responses, side: Side::Only };
            let desired = desired_with(cluster, objects, true, stated)?;
            let is_refused = desired.class.patches().iter().any(|(_, patch)| {
                text_at(*patch, &VALIDATE).is_some_and(|handler| refused.contains(&handler))
            });
            if is_refused {
                return Some(json!({"error": "validation of a patch failed"}));
            }
            if let Some(failure) = desired.failures.first() {
                return Some(json!({"error": failure.message}));
            }
            let templates: Map<String, Value> =
                desired.templates().map(|(name, part)| (name, part.template.clone())).collect();
            Some(json!({"templates": templates}))
        })
    }
}
