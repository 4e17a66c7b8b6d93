//! Every reference field of the Flux APIs with its defaulting.
//! Source: the API types of each controller, kustomize-controller `getSource`
//! and `checkDependencies`, helm-controller `getSource`, image-reflector's
//! `internal/controller` ACL, flux-operator `checkDependencies`.

use crate::lang::yaml::NodeRef;
use crate::model::ObjectId;
use crate::model::kinds::{EXTENSIONS, HELM, IMAGE, KUSTOMIZE, NOTIFICATION, OPERATOR, SOURCE};

/// What a reference is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A `dependsOn` entry of a Kustomization or HelmRelease.
    DependsOn,
    /// Where the manifests or the chart come from.
    Source,
    /// An object whose health a Kustomization waits for.
    HealthCheck,
    /// Variables of a substitution.
    Variables,
    /// Values of a HelmRelease.
    Values,
    /// Credentials, certificates, keys.
    Credentials,
    /// An identity to impersonate.
    ServiceAccount,
    /// The cluster to apply to.
    KubeConfig,
    /// The repository that a policy or an automation looks at.
    Image,
    /// What a receiver reconciles.
    Receiver,
    /// What a ResourceSet waits for.
    ResourceSetDependency,
    /// What a ResourceSet takes its inputs from.
    Inputs,
}

/// A reference from one object to another.
#[derive(Clone, Debug)]
pub struct Reference<'a> {
    /// What it is for.
    pub role: Role,
    /// JSON Pointer of the map that names the target (of the field itself for
    /// `serviceAccountName`).
    pub pointer: String,
    /// The node that holds the name: what to point at.
    pub name_node: NodeRef<'a>,
    /// The name; `None` when it is unknown or has unknown parts.
    pub name: Option<String>,
    /// Group and kind of the target.
    pub group: String,
    /// See `group`. Empty when it is not known.
    pub kind: String,
    /// Namespace of the target after defaulting; `None` when there is none
    /// (and the controller looks for a cluster-scoped object).
    pub namespace: Option<String>,
    /// Whether the namespace is unknown.
    pub namespace_unknown: bool,
    /// Whether the field names another namespace than the object's own.
    pub crosses: bool,
    /// Whether `--no-cross-namespace-refs` blocks it then.
    pub guarded: bool,
    /// Whether its absence is fine.
    pub optional: bool,
    /// Group and kinds that the field accepts, for a kind that is written in
    /// the reference; empty where the kind is fixed or free.
    pub accepted: &'static [&'static str],
}

/// How a field refers.
struct ReferenceField {
    pointer: &'static str,
    role: Role,
    target: Target,
    /// Whether the reference has a namespace field.
    namespaced: bool,
    guarded: bool,
}

enum Target {
    /// A fixed group and kind.
    Kind(&'static str, &'static str),
    /// `kind` is a field; the group follows from it.
    OneOf(&'static [&'static str]),
    /// `apiVersion` and `kind` are fields.
    Any,
}

const SECRET: Target = Target::Kind("", "Secret");

const fn field(
    pointer: &'static str,
    role: Role,
    target: Target,
    namespaced: bool,
    guarded: bool,
) -> ReferenceField {
    ReferenceField { pointer, role, target, namespaced, guarded }
}

/// Fields of a kind.
fn fields(id: &ObjectId) -> &'static [ReferenceField] {
    match (id.group(), &*id.kind) {
        (KUSTOMIZE, "Kustomization") => KUSTOMIZATION,
        (HELM, "HelmRelease") => HELM_RELEASE,
        (SOURCE, "HelmChart") => HELM_CHART,
        (SOURCE, "GitRepository") => GIT_REPOSITORY,
        (EXTENSIONS, "ArtifactGenerator") => ARTIFACT_GENERATOR,
        (IMAGE, "ImagePolicy") => IMAGE_POLICY,
        (IMAGE, "ImageUpdateAutomation") => IMAGE_UPDATE_AUTOMATION,
        (NOTIFICATION, "Receiver") => RECEIVER,
        (OPERATOR, "ResourceSet") => RESOURCE_SET,
        (SOURCE, "OCIRepository" | "Bucket" | "HelmRepository")
        | (NOTIFICATION, "Provider")
        | (IMAGE, "ImageRepository") => CREDENTIALS,
        _ => &[],
    }
}

// What each kind refers to; `*` in a pointer stands for each item of a list.

const VALUES: Target = Target::OneOf(&["ConfigMap", "Secret"]);
const CONFIG_MAP: Target = Target::Kind("", "ConfigMap");
const SERVICE_ACCOUNT: Target = Target::Kind("", "ServiceAccount");
/// Where a chart that a release names comes from.
const CHART_SOURCE: Target = Target::OneOf(&["HelmRepository", "GitRepository", "Bucket"]);

const CREDENTIALS: &[ReferenceField] = &[
    field("/spec/secretRef", Role::Credentials, SECRET, false, false),
    field("/spec/certSecretRef", Role::Credentials, SECRET, false, false),
    field("/spec/proxySecretRef", Role::Credentials, SECRET, false, false),
    field("/spec/verify/secretRef", Role::Credentials, SECRET, false, false),
];

const KUSTOMIZATION: &[ReferenceField] = &[
    field(
        "/spec/sourceRef",
        Role::Source,
        Target::OneOf(&["OCIRepository", "GitRepository", "Bucket", "ExternalArtifact"]),
        true,
        true,
    ),
    field("/spec/dependsOn/*", Role::DependsOn, Target::Kind(KUSTOMIZE, "Kustomization"), true, false),
    field("/spec/healthChecks/*", Role::HealthCheck, Target::Any, true, false),
    field("/spec/postBuild/substituteFrom/*", Role::Variables, VALUES, false, false),
    field("/spec/decryption/secretRef", Role::Credentials, SECRET, false, false),
    field("/spec/kubeConfig/secretRef", Role::KubeConfig, SECRET, false, false),
    field("/spec/kubeConfig/configMapRef", Role::KubeConfig, CONFIG_MAP, false, false),
    field("/spec/serviceAccountName", Role::ServiceAccount, SERVICE_ACCOUNT, false, false),
];

const HELM_RELEASE: &[ReferenceField] = &[
    field("/spec/chart/spec/sourceRef", Role::Source, CHART_SOURCE, true, true),
    field(
        "/spec/chartRef",
        Role::Source,
        Target::OneOf(&["OCIRepository", "HelmChart", "ExternalArtifact"]),
        true,
        true,
    ),
    field("/spec/dependsOn/*", Role::DependsOn, Target::Kind(HELM, "HelmRelease"), true, false),
    field("/spec/valuesFrom/*", Role::Values, VALUES, false, false),
    field("/spec/kubeConfig/secretRef", Role::KubeConfig, SECRET, false, false),
    field("/spec/kubeConfig/configMapRef", Role::KubeConfig, CONFIG_MAP, false, false),
    field("/spec/serviceAccountName", Role::ServiceAccount, SERVICE_ACCOUNT, false, false),
];

const HELM_CHART: &[ReferenceField] = &[
    field("/spec/sourceRef", Role::Source, CHART_SOURCE, false, false),
    field("/spec/verify/secretRef", Role::Credentials, SECRET, false, false),
];

const GIT_REPOSITORY: &[ReferenceField] = &[
    field("/spec/include/*/repository", Role::Source, Target::Kind(SOURCE, "GitRepository"), false, false),
    field("/spec/secretRef", Role::Credentials, SECRET, false, false),
    field("/spec/proxySecretRef", Role::Credentials, SECRET, false, false),
    field("/spec/verify/secretRef", Role::Credentials, SECRET, false, false),
];

const ARTIFACT_GENERATOR: &[ReferenceField] = &[field(
    "/spec/sources/*",
    Role::Source,
    Target::OneOf(&["Bucket", "GitRepository", "OCIRepository", "HelmChart", "ExternalArtifact"]),
    true,
    true,
)];

const IMAGE_POLICY: &[ReferenceField] =
    &[field("/spec/imageRepositoryRef", Role::Image, Target::Kind(IMAGE, "ImageRepository"), true, true)];

const IMAGE_UPDATE_AUTOMATION: &[ReferenceField] =
    &[field("/spec/sourceRef", Role::Source, Target::OneOf(&["GitRepository"]), true, true)];

const RECEIVER: &[ReferenceField] = &[
    field("/spec/secretRef", Role::Credentials, SECRET, false, false),
    field(
        "/spec/resources/*",
        Role::Receiver,
        Target::OneOf(&[
            "Bucket",
            "GitRepository",
            "Kustomization",
            "HelmRelease",
            "HelmChart",
            "HelmRepository",
            "ImageRepository",
            "ImagePolicy",
            "ImageUpdateAutomation",
            "OCIRepository",
            "ArtifactGenerator",
            "ExternalArtifact",
            "FluxInstance",
            "ResourceSet",
            "ResourceSetInputProvider",
        ]),
        true,
        true,
    ),
];

const RESOURCE_SET: &[ReferenceField] = &[
    field("/spec/dependsOn/*", Role::ResourceSetDependency, Target::Any, true, false),
    field(
        "/spec/inputsFrom/*",
        Role::Inputs,
        Target::Kind(OPERATOR, "ResourceSetInputProvider"),
        false,
        false,
    ),
];

/// The references of an object, in the order of the table.
pub fn references<'a>(id: &ObjectId, node: NodeRef<'a>) -> Vec<Reference<'a>> {
    let mut found = Vec::new();
    for field in fields(id) {
        for (pointer, at) in expand(node, field.pointer) {
            found.extend(read(id, node, field, pointer, at));
        }
    }
    found
}

/// Nodes at a pointer with `*` for each item of a list.
fn expand<'a>(node: NodeRef<'a>, pattern: &str) -> Vec<(String, NodeRef<'a>)> {
    let Some((before, after)) = pattern.split_once("/*") else {
        return node.at(pattern).map(|at| (pattern.to_owned(), at)).into_iter().collect();
    };
    node.items_at(before)
        .enumerate()
        .filter_map(|(index, item)| Some((format!("{before}/{index}{after}"), item.at(after)?)))
        .collect()
}

fn read<'a>(
    id: &ObjectId,
    node: NodeRef<'a>,
    field: &ReferenceField,
    pointer: String,
    at: NodeRef<'a>,
) -> Option<Reference<'a>> {
    if at.is_null() {
        return None;
    }
    let own = id.namespace.as_deref();
    let name_node = if field.role == Role::ServiceAccount { at } else { at.get("name")? };
    let text = |key: &str| at.get(key).and_then(NodeRef::as_str).filter(|text| !text.is_empty());
    let (group, kind, accepted): (String, String, &'static [&'static str]) = match &field.target {
        Target::Kind(group, kind) => ((*group).to_owned(), (*kind).to_owned(), &[]),
        Target::OneOf(kinds) => {
            let default = if kinds.len() == 1 { kinds[0] } else { "" };
            let kind = text("kind").map_or_else(|| default.to_owned(), |kind| kind.into_owned());
            (group_of(&kind).to_owned(), kind, kinds)
        }
        Target::Any => {
            let api_version = text("apiVersion").unwrap_or("apps/v1".into());
            let group = api_version.rsplit_once('/').map_or("", |(group, _)| group).to_owned();
            (group, text("kind").unwrap_or_default().into_owned(), &[])
        }
    };
    let written = at.get("namespace").filter(|_| field.namespaced);
    let unknown = written.is_some_and(NodeRef::is_unknown);
    let written = written.and_then(NodeRef::as_str).filter(|text| !text.is_empty());
    let own_unknown = own.is_some_and(|own| own.contains('?'));
    let namespace_unknown = unknown || (own_unknown && written.is_none());
    let defaulted = !matches!(field.role, Role::HealthCheck | Role::ResourceSetDependency);
    let namespace = match &written {
        Some(namespace) => Some(namespace.to_string()),
        None if defaulted => own.map(str::to_owned),
        None => None,
    };
    let _ = node;
    Some(Reference {
        role: field.role,
        crosses: !own_unknown
            && written.as_deref().is_some_and(|written| own.is_some_and(|own| own != written)),
        guarded: field.guarded,
        optional: at.get("optional").and_then(NodeRef::as_bool).unwrap_or(false),
        name: name_node.as_str().filter(|name| !name.is_empty()).map(|name| name.into_owned()),
        pointer,
        name_node,
        group,
        kind,
        namespace,
        namespace_unknown,
        accepted,
    })
}

/// The group of a kind that Flux references name by kind alone.
pub(crate) fn group_of(kind: &str) -> &'static str {
    match kind {
        "Kustomization" => KUSTOMIZE,
        "HelmRelease" => HELM,
        "ImageRepository" | "ImagePolicy" | "ImageUpdateAutomation" => IMAGE,
        "GitRepository" | "OCIRepository" | "Bucket" | "HelmRepository" | "HelmChart"
        | "ExternalArtifact" => SOURCE,
        "ArtifactGenerator" => EXTENSIONS,
        "Alert" | "Provider" | "Receiver" => NOTIFICATION,
        "FluxInstance" | "ResourceSet" | "ResourceSetInputProvider" => OPERATOR,
        // Of the gating proposal, where the cluster has it.
        "Gate" => "gating.toolkit.fluxcd.io",
        _ => "",
    }
}

/// Whether readyExpr replaces the built-in check of a dependency.
pub(crate) fn has_ready_expression(node: NodeRef<'_>, reference: &Reference<'_>) -> bool {
    node.at(&reference.pointer)
        .is_some_and(|entry| entry.get("readyExpr").is_some_and(|expr| !expr.is_null()))
}
