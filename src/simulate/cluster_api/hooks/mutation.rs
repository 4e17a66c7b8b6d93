//! Hooks that decide what a topology makes and how its Machines change, and the answers to
//! them that somebody states.
//!
//! Mirrors cluster-api `api/runtime/hooks/v1alpha1/topologymutation_types.go` and
//! `inplaceupdate_types.go`.

use base64::Engine as _;
use serde_json::Value;

/// A hook of topology mutation or of updates in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MutationHook {
    /// Which variables an extension defines, at each reconcile of a ClusterClass.
    DiscoverVariables,
    /// What an external patch changes, at each computation of a desired state.
    GeneratePatches,
    /// Whether the patched templates are accepted, after all patches.
    ValidateTopology,
    /// Whether a control plane Machine can be changed in place.
    CanUpdateMachine,
    /// Whether Machines of an old MachineSet can.
    CanUpdateMachineSet,
    /// The change of one Machine.
    UpdateMachine,
}

impl MutationHook {
    /// All, in the order in which a change calls them.
    pub(crate) const ALL: [Self; 6] = [
        Self::DiscoverVariables,
        Self::GeneratePatches,
        Self::ValidateTopology,
        Self::CanUpdateMachine,
        Self::CanUpdateMachineSet,
        Self::UpdateMachine,
    ];

    /// The name that ExtensionConfigs use.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::DiscoverVariables => "DiscoverVariables",
            Self::GeneratePatches => "GeneratePatches",
            Self::ValidateTopology => "ValidateTopology",
            Self::CanUpdateMachine => "CanUpdateMachine",
            Self::CanUpdateMachineSet => "CanUpdateMachineSet",
            Self::UpdateMachine => "UpdateMachine",
        }
    }

    /// The hook of that name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
    }

    /// What it may be stated to answer, in words.
    pub(crate) fn answers(self) -> &'static [&'static str] {
        match self {
            Self::DiscoverVariables | Self::GeneratePatches => &["FILE", "failure", "unreachable"],
            Self::ValidateTopology => &["success", "failure", "unreachable"],
            Self::CanUpdateMachine | Self::CanUpdateMachineSet => &["all", "none", "unreachable"],
            Self::UpdateMachine => &["done", "inProgress", "failure"],
        }
    }
}

/// What an update extension says of a Machine that is not up to date. Its real answer is
/// patches; in place is what they turn into the desired state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CanUpdate {
    /// Patches for every difference.
    All,
    /// None.
    None,
    /// No answer.
    Unreachable,
}

/// What becomes of a Machine while it is changed in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Update {
    /// `retryAfterSeconds: 0`.
    Done,
    /// Any other `retryAfterSeconds`.
    InProgress,
    /// `status: Failure`.
    Failure,
}

/// A call that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// `status: Failure`: failurePolicy does not apply.
    Failure,
    /// No answer: failurePolicy decides.
    Unreachable,
}

impl Trouble {
    /// What happened, after the name of who was asked.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Failure => "answers with status Failure",
            Self::Unreachable => "cannot be reached",
        }
    }
}

/// One patch of an answer to GeneratePatches.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PatchItem {
    /// Which template it is for: see [`is_for`].
    pub uid: String,
    /// What it does.
    pub patch: Patch,
}

/// A patch in one of the two types that Cluster API knows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Patch {
    /// Operations of RFC 6902.
    Json(Vec<Value>),
    /// RFC 7386.
    Merge(Value),
}

/// What an extension answers to GeneratePatches, before a change and after it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Generate {
    /// The call fails.
    Trouble(Trouble),
    /// One answer. It was made for one request, so that it says nothing about another.
    Same(Vec<PatchItem>),
    /// An answer for the state before and one for the state after.
    BeforeAfter(Vec<PatchItem>, Vec<PatchItem>),
}

/// A variable that an extension defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Discovered {
    pub name: String,
    pub required: bool,
}

/// What an extension answers to DiscoverVariables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Discover {
    /// The call fails.
    Trouble(Trouble),
    /// What it defines.
    Variables(Vec<Discovered>),
}

/// Answers that are stated; nothing is known of the others.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Responses {
    pub can_update_machine: Option<CanUpdate>,
    pub can_update_machine_set: Option<CanUpdate>,
    pub update_machine: Option<Update>,
    /// By the handler (`patches.addons`) that answers; none: the one that a class calls.
    pub generate_patches: Vec<(Option<String>, Generate)>,
    pub validate_topology: Option<Trouble>,
    pub discover_variables: Option<Discover>,
}

/// No answer at all.
pub(crate) static NOTHING_STATED: Responses = Responses {
    can_update_machine: None,
    can_update_machine_set: None,
    update_machine: None,
    generate_patches: Vec::new(),
    validate_topology: None,
    discover_variables: None,
};

impl Responses {
    /// What the extension of an external patch answers.
    pub(crate) fn generated(&self, handler: &str) -> Option<&Generate> {
        let named = self.generate_patches.iter().find(|(name, _)| name.as_deref() == Some(handler));
        let any = || self.generate_patches.iter().find(|(name, _)| name.is_none());
        named.or_else(any).map(|(_, answer)| answer)
    }

    /// What is stated of the question whether Machines can be changed in place.
    pub(crate) fn can_update(&self, hook: MutationHook) -> Option<CanUpdate> {
        match hook {
            MutationHook::CanUpdateMachine => self.can_update_machine,
            MutationHook::CanUpdateMachineSet => self.can_update_machine_set,
            _ => None,
        }
    }

    /// Whether anything is stated of updates in place.
    pub(crate) fn speak_of_updates(&self) -> bool {
        self.can_update_machine.is_some()
            || self.can_update_machine_set.is_some()
            || self.update_machine.is_some()
    }
}

/// The state for which a template is patched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Before a change.
    Before,
    /// After it.
    After,
    /// There is no change.
    Only,
}

/// Answers as they hold for one side of a change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatedAnswers<'r> {
    pub responses: &'r Responses,
    pub side: Side,
}

/// Nothing is known of what extensions answer.
pub(crate) const UNSTATED: StatedAnswers<'static> =
    StatedAnswers { responses: &NOTHING_STATED, side: Side::Only };

impl StatedAnswers<'_> {
    /// The patches of an extension, and whether they answer the request of this side for sure.
    pub(crate) fn patches(&self, handler: &str) -> Option<(&[PatchItem], bool)> {
        match self.responses.generated(handler)? {
            // failurePolicy Ignore takes a call that fails for an answer without patches;
            // with Fail nothing is made of the templates at all.
            Generate::Trouble(_) => Some((&[], true)),
            Generate::Same(items) => Some((items, self.side == Side::Only)),
            Generate::BeforeAfter(before, after) => {
                Some((if self.side == Side::Before { before } else { after }, true))
            }
        }
    }
}

/// Whether an item is for a template: its `uid` is the template's part (`controlPlane`,
/// `machineDeployments/md-0/bootstrap`), of all Clusters, or of one with `namespace/name/`
/// before it. Cluster API numbers its requests anew each time, so that no real `uid` says
/// which template it was.
pub(crate) fn is_for(uid: &str, namespace: &str, cluster: &str, part: &str) -> bool {
    let of_cluster =
        || uid.strip_prefix(namespace)?.strip_prefix('/')?.strip_prefix(cluster)?.strip_prefix('/');
    uid == part || of_cluster() == Some(part)
}

/// Reads an answer to GeneratePatches; `Err` is for the user.
pub(crate) fn read_patches(response: &Value) -> Result<Result<Vec<PatchItem>, Trouble>, String> {
    if is_failure(response)? {
        return Ok(Err(Trouble::Failure));
    }
    let items = list(response, "items", "GeneratePatchesResponse")?;
    items.iter().enumerate().map(|(index, item)| read_item(item, index)).collect::<Result<_, _>>().map(Ok)
}

/// Reads an answer to DiscoverVariables; `Err` is for the user.
pub(crate) fn read_variables(response: &Value) -> Result<Discover, String> {
    if is_failure(response)? {
        return Ok(Discover::Trouble(Trouble::Failure));
    }
    let variables = list(response, "variables", "DiscoverVariablesResponse")?;
    let read = |(index, variable): (usize, &Value)| {
        let name = variable.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| format!("variables[{index}] has no name"))?.to_owned();
        Ok(Discovered { name, required: variable.get("required").and_then(Value::as_bool) == Some(true) })
    };
    variables.iter().enumerate().map(read).collect::<Result<_, String>>().map(Discover::Variables)
}

fn is_failure(response: &Value) -> Result<bool, String> {
    match response.get("status").and_then(Value::as_str) {
        None | Some("Success") => Ok(false),
        Some("Failure") => Ok(true),
        Some(other) => Err(format!("status is Success or Failure, not {other}")),
    }
}

fn list<'v>(response: &'v Value, key: &str, kind: &str) -> Result<&'v [Value], String> {
    match (response.as_object(), response.get(key)) {
        (Some(_), None) => Ok(&[]),
        (Some(_), Some(Value::Array(items))) => Ok(items),
        (Some(_), Some(_)) => Err(format!("`{key}` is no list")),
        (None, _) => Err(format!("it is no {kind} of Cluster API: no JSON object")),
    }
}

fn read_item(item: &Value, index: usize) -> Result<PatchItem, String> {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    let uid = text("uid").ok_or_else(|| format!("items[{index}] has no uid"))?.to_owned();
    let patch = item.get("patch").cloned().unwrap_or_default();
    let patch = read_patch(text("patchType").unwrap_or_default(), patch);
    Ok(PatchItem { uid, patch: patch.map_err(|why| format!("items[{index}] {why}"))? })
}

/// A patch of a type; its bytes are base64 in JSON, or, written by hand, the patch itself.
pub(super) fn read_patch(kind: &str, patch: Value) -> Result<Patch, String> {
    let patch = match &patch {
        Value::String(encoded) if encoded.is_empty() => Value::Null,
        Value::String(encoded) => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(encoded.trim());
            let decoded = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok());
            let json = decoded.as_deref().unwrap_or(encoded);
            serde_json::from_str(json).map_err(|error| format!("holds no patch: {error}"))?
        }
        _ => patch,
    };
    match (kind, patch) {
        ("JSONPatch", Value::Array(operations)) => Ok(Patch::Json(operations)),
        ("JSONPatch", Value::Null) => Ok(Patch::Json(Vec::new())),
        ("JSONPatch", _) => Err("is a JSONPatch, so that its patch is a list of operations".to_owned()),
        ("JSONMergePatch", patch @ (Value::Object(_) | Value::Null)) => Ok(Patch::Merge(patch)),
        ("JSONMergePatch", _) => Err("is a JSONMergePatch, so that its patch is a map".to_owned()),
        _ => Err("has no patchType: JSONPatch or JSONMergePatch".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_read_as_cluster_api_writes_them() {
        // `[{"op":"remove","path":"/spec/a"}]` in base64.
        let encoded = "W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL3NwZWMvYSJ9XQ==";
        let operation = json!({"op": "remove", "path": "/spec/a"});
        for patch in [json!(encoded), json!([operation]), json!(r#"[{"op":"remove","path":"/spec/a"}]"#)] {
            let response =
                json!({"items": [{"uid": "controlPlane", "patchType": "JSONPatch", "patch": patch}]});
            let item =
                PatchItem { uid: "controlPlane".to_owned(), patch: Patch::Json(vec![operation.clone()]) };
            assert_eq!(read_patches(&response), Ok(Ok(vec![item])));
        }
        assert_eq!(read_patches(&json!({"status": "Failure"})), Ok(Err(Trouble::Failure)));
        for wrong in [
            json!([]),
            json!({"status": "failure"}),
            json!({"items": [{"patchType": "JSONPatch", "patch": []}]}),
            json!({"items": [{"uid": "a", "patch": []}]}),
            json!({"items": [{"uid": "a", "patchType": "JSONPatch", "patch": {}}]}),
        ] {
            assert!(read_patches(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_item_is_for_a_part_of_all_clusters_or_of_one() {
        for (uid, is) in [
            ("controlPlane", true),
            ("fleet/prod/controlPlane", true),
            ("fleet/other/controlPlane", false),
            ("fleet/prod/infrastructure", false),
            ("infrastructure", false),
        ] {
            assert_eq!(is_for(uid, "fleet", "prod", "controlPlane"), is, "{uid}");
        }
    }
}
