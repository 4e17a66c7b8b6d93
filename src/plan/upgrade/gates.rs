//! Feature gates and flags of controllers: those that a version doesn't know stop it, and
//! some change their default.
//! Source: `internal/features/features.go` and `main.go` of each tag of Flux's controllers
//! (fluxcd/pkg `runtime/features`: an unknown gate is an error), `feature/feature.go` of
//! Cluster API (k8s.io/component-base `featuregate`, likewise).

use super::{Look, Note};
use crate::lang::yaml::NodeRef;
use crate::model::{Severity, Version, kinds};
use crate::plan::Pair;
use crate::simulate::behaviour::Product;
use crate::world::ApplyTarget;

/// The manager of Cluster API.
const CAPI: &str = "capi-controller-manager";

/// Controllers that have gates here.
const CONTROLLERS: [(Product, &str); 7] = [
    (Product::Flux, "source-controller"),
    (Product::Flux, "kustomize-controller"),
    (Product::Flux, "helm-controller"),
    (Product::Flux, "notification-controller"),
    (Product::Flux, "image-automation-controller"),
    (Product::Flux, "image-reflector-controller"),
    (Product::ClusterApi, CAPI),
];

/// A feature gate of a controller. Minors are the product's.
struct FeatureGate {
    controller: &'static str,
    name: &'static str,
    /// The first minor that knows it; 0 for all that are supported.
    since: u32,
    /// The first minor that knows it no more.
    until: Option<u32>,
    /// The first minor that reads it no more, without refusing it.
    dead: Option<u32>,
    /// The minor at which its default changed, and the new one.
    flip: Option<(u32, bool)>,
    /// What it does when it is on.
    about: &'static str,
}

const fn gate(controller: &'static str, name: &'static str, since: u32, about: &'static str) -> FeatureGate {
    FeatureGate { controller, name, since, until: None, dead: None, flip: None, about }
}

const KC: &str = "kustomize-controller";
const HC: &str = "helm-controller";
const CACHE: &str = "Secrets and ConfigMaps are cached";
const CEL: &str = "readyExpr is asked beside the built-in check";
const EXTERNAL: &str = "ExternalArtifacts may be sources";
const CANCEL: &str = "health checks end when something new is to be applied";
const DIRECT: &str = "sources are read past the cache";
const UNWATCHED: &str = "ConfigMaps and Secrets are not watched";

static GATES: &[FeatureGate] = &[
    gate(KC, "CacheSecretsAndConfigMaps", 0, CACHE),
    FeatureGate {
        flip: Some((2, true)),
        ..gate(
            KC,
            "DisableStatusPollerCache",
            0,
            "the state of objects is read from the API server each time: less memory, more requests",
        )
    },
    gate(KC, "DisableFailFastBehavior", 1, "health checks wait for stalled rollouts"),
    gate(KC, "StrictPostBuildSubstitutions", 3, "undefined variables fail the build"),
    gate(KC, "GroupChangeLog", 5, "changes are logged in groups"),
    gate(KC, "AdditiveCELDependencyCheck", 7, CEL),
    gate(KC, "ExternalArtifact", 7, EXTERNAL),
    gate(KC, "CancelHealthCheckOnNewRevision", 7, CANCEL),
    gate(KC, "DisableConfigWatchers", 7, UNWATCHED),
    gate(KC, "DirectSourceFetch", 8, DIRECT),
    gate(KC, "MigrateAPIVersion", 8, "managed fields move to the applied API version"),
    gate(HC, "CacheSecretsAndConfigMaps", 0, CACHE),
    FeatureGate { dead: Some(2), ..gate(HC, "DetectDrift", 0, "drift is detected") },
    FeatureGate { dead: Some(2), ..gate(HC, "CorrectDrift", 0, "drift is corrected") },
    gate(HC, "AllowDNSLookups", 0, "templates may look up names"),
    gate(HC, "OOMWatch", 0, "the controller stops in time when memory runs out"),
    FeatureGate {
        dead: Some(8),
        ..gate(HC, "AdoptLegacyReleases", 2, "releases are adopted by an old status")
    },
    gate(HC, "DisableChartDigestTracking", 6, "a new digest of the same chart version is no upgrade"),
    gate(HC, "AdditiveCELDependencyCheck", 7, CEL),
    gate(HC, "ExternalArtifact", 7, EXTERNAL),
    gate(HC, "DisableConfigWatchers", 7, UNWATCHED),
    gate(HC, "DirectSourceFetch", 8, DIRECT),
    gate(HC, "UseHelm3Defaults", 8, "apply, waiting and hooks are as with Helm 3"),
    gate(HC, "CancelHealthCheckOnNewRevision", 8, CANCEL),
    gate(HC, "DefaultToRetryOnFailure", 8, "a failed release is tried again without end"),
    gate("source-controller", "CacheSecretsAndConfigMaps", 0, CACHE),
    gate("notification-controller", "CacheSecretsAndConfigMaps", 0, CACHE),
    gate("image-reflector-controller", "CacheSecretsAndConfigMaps", 0, CACHE),
    gate("image-automation-controller", "CacheSecretsAndConfigMaps", 0, CACHE),
    gate("image-automation-controller", "GitSparseCheckout", 7, "only what is updated is checked out"),
    FeatureGate { flip: Some((7, true)), ..gate(CAPI, "MachinePool", 0, "MachinePools are reconciled") },
    FeatureGate {
        until: Some(12),
        ..gate(CAPI, "ClusterResourceSet", 0, "ClusterResourceSets are reconciled")
    },
    gate(CAPI, "ClusterTopology", 0, "ClusterClasses are reconciled"),
    gate(CAPI, "RuntimeSDK", 0, "runtime extensions are called"),
    gate(CAPI, "KubeadmBootstrapFormatIgnition", 0, "Ignition is a format of bootstrap data"),
    FeatureGate {
        flip: Some((9, true)),
        ..gate(
            CAPI,
            "MachineSetPreflightChecks",
            0,
            "a MachineSet makes no Machine while the control plane is not stable",
        )
    },
    gate(
        CAPI,
        "MachineWaitForVolumeDetachConsiderVolumeAttachments",
        9,
        "a Machine waits for VolumeAttachments",
    ),
    FeatureGate {
        flip: Some((13, true)),
        ..gate(CAPI, "PriorityQueue", 10, "what changed goes before what is looked at again")
    },
    FeatureGate {
        flip: Some((13, true)),
        ..gate(CAPI, "ReconcilerRateLimiting", 12, "an object is reconciled once a second at most")
    },
    gate(CAPI, "InPlaceUpdates", 12, "update extensions are called"),
    gate(CAPI, "MachineTaintPropagation", 12, "taints of Machines reach Nodes"),
];

/// Flags that a controller knows no more: it does not start with one.
/// Source: image-reflector-controller pull request 786 ("Remove deprecated auto-login flags").
static GONE_FLAGS: &[(&str, &str, u32)] = &[
    ("image-reflector-controller", "--aws-autologin-for-ecr", 7),
    ("image-reflector-controller", "--azure-autologin-for-acr", 7),
    ("image-reflector-controller", "--gcp-autologin-for-gcr", 7),
];

/// The arguments that the repository gives to controllers.
pub(super) struct ControllerFlags(Vec<(&'static str, String)>);

impl ControllerFlags {
    /// Of the objects after the change: Deployments, the patches of a FluxInstance, a
    /// CoreProvider.
    pub(super) fn of(pair: &Pair<'_>) -> ControllerFlags {
        let mut all = ControllerFlags(Vec::new());
        let local = pair.after.iter().filter(|(key, _)| *key.0 == ApplyTarget::Local);
        for (_, placed) in local {
            let (id, node) = (&placed.object.id, placed.object.node.get_ref());
            if id.is("apps", "Deployment") {
                for controller in named(&id.name) {
                    let containers = node.items_at("/spec/template/spec/containers");
                    let arguments = containers.flat_map(|container| container.items_at("/args"));
                    let text = |argument: NodeRef<'_>| argument.as_str().map(|text| text.into_owned());
                    all.0.extend(arguments.filter_map(text).map(|text| (controller, text)));
                }
            } else if id.is(kinds::OPERATOR, "FluxInstance") {
                node.items_at("/spec/kustomize/patches").for_each(|patch| all.patch(patch));
            } else if id.is("operator.cluster.x-k8s.io", "CoreProvider") {
                for entry in node.entries_at("/spec/manager/featureGates") {
                    let text = entry.value.text().unwrap_or_default();
                    all.0.push((CAPI, format!("--feature-gates={}={text}", entry.key)));
                }
            }
        }
        all
    }

    /// The arguments that a patch gives to the controllers that it names.
    fn patch(&mut self, patch: NodeRef<'_>) {
        let Some(name) = patch.str_at("/target/name") else { return };
        let Some(text) = patch.str_at("/patch") else { return };
        let controllers: Vec<_> = name.split(['(', ')', '|', '^', '$', '?', ':']).flat_map(named).collect();
        for argument in text.split_whitespace().map(|word| word.trim_matches(['"', '\'', ','])) {
            if argument.starts_with("--") {
                self.0.extend(controllers.iter().map(|controller| (*controller, argument.to_owned())));
            }
        }
    }

    /// What the repository says of a gate; the last word counts.
    fn gate(&self, controller: &str, gate: &str) -> Option<bool> {
        let of = |text: &str| {
            let gates = text.strip_prefix("--feature-gates=")?;
            let said = |pair: &str| {
                let (name, value) = pair.split_once('=')?;
                if name.trim() == gate { value.trim().parse::<bool>().ok() } else { None }
            };
            gates.split(',').filter_map(said).next_back()
        };
        self.0.iter().filter(|(known, _)| *known == controller).filter_map(|(_, text)| of(text)).next_back()
    }

    /// Whether the repository turns a gate on.
    pub(super) fn is_on(&self, controller: &str, gate: &str) -> bool {
        self.gate(controller, gate) == Some(true)
    }

    fn has(&self, controller: &str, flag: &str) -> bool {
        self.0.iter().any(|(known, text)| {
            *known == controller
                && text.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        })
    }
}

fn named(name: &str) -> impl Iterator<Item = &'static str> {
    CONTROLLERS.iter().map(|(_, known)| *known).filter(move |known| *known == name)
}

impl FeatureGate {
    fn knows(&self, minor: u32) -> bool {
        minor >= self.since && self.until.is_none_or(|until| minor < until)
    }

    fn source(&self, product: Product) -> &'static str {
        match (product, self.controller) {
            (Product::ClusterApi, _) => {
                "https://github.com/kubernetes-sigs/cluster-api/blob/main/feature/feature.go"
            }
            (_, KC) => {
                "https://github.com/fluxcd/kustomize-controller/blob/main/internal/features/features.go"
            }
            (_, HC) => "https://github.com/fluxcd/helm-controller/blob/main/internal/features/features.go",
            _ => "https://github.com/fluxcd/pkg/blob/main/runtime/features/features.go",
        }
    }

    fn note(&self, look: &Look<'_, '_>, product: Product, (old, new): (u32, u32)) -> Option<Note> {
        let FeatureGate { controller, name, about, .. } = *self;
        let written = look.flags.gate(controller, name);
        let note = |id, severity, what: String, before: &str, after: &str| {
            Some(Note {
                id,
                severity,
                what,
                concerns: Vec::new(),
                before: before.to_owned(),
                after: after.to_owned(),
                source: self.source(product),
            })
        };
        if written.is_some() && self.knows(old) && !self.knows(new) {
            let what =
                format!("{controller} knows no feature gate {name}, which is set here, and does not start");
            return note(
                "unknown-gate",
                Severity::Disruptive,
                what,
                "take it out in the change that moves the version",
                "",
            );
        }
        let crosses = |minor: u32| (old < minor) != (new < minor);
        if written == Some(true) && self.dead.is_some_and(crosses) && new > old {
            let what = format!("{controller} reads the feature gate {name}, which is set here, no more");
            let after = if name.ends_with("Drift") {
                "`spec.driftDetection.mode` of each HelmRelease says it"
            } else {
                ""
            };
            return note("dead-gate", Severity::Notable, what, "", after);
        }
        let (_, is_on) =
            self.flip.filter(|(minor, _)| written.is_none() && crosses(*minor) && self.knows(new))?;
        let word = if is_on == (new > old) { "on" } else { "off" };
        let what = format!("the feature gate {name} of {controller} is {word} by default: when on, {about}");
        let back = format!("`--feature-gates={name}={}` brings the old way back", word == "off");
        note("default-gate", Severity::Routine, what, "", &back)
    }
}

/// What changes of gates and flags between the versions of a look.
pub(super) fn notes(look: &Look<'_, '_>, product: Product) -> Vec<Note> {
    let major = match product {
        Product::Flux => 2,
        Product::ClusterApi => 1,
    };
    let minor = |version: Version| version.minor_in(major);
    let Some(old) = look.old.map(minor) else { return Vec::new() };
    let new = minor(look.new);
    let is_of = |controller: &str| CONTROLLERS.contains(&(product, controller_of(controller)));
    let gates = GATES.iter().filter(|gate| is_of(gate.controller));
    let mut notes: Vec<Note> = gates.filter_map(|gate| gate.note(look, product, (old, new))).collect();
    for (controller, flag, until) in GONE_FLAGS.iter().filter(|(controller, ..)| is_of(controller)) {
        if old < *until && new >= *until && look.flags.has(controller, flag) {
            notes.push(Note {
                id: "unknown-flag",
                severity: Severity::Disruptive,
                what: format!("{controller} knows no flag {flag}, which is set here, and does not start"),
                concerns: Vec::new(),
                before: "take it out, and say `spec.provider` in each ImageRepository".to_owned(),
                after: String::new(),
                source: "https://github.com/fluxcd/image-reflector-controller/blob/main/CHANGELOG.md#100",
            });
        }
    }
    notes
}

/// The same name as a constant of the table.
fn controller_of(name: &str) -> &'static str {
    named(name).next().unwrap_or_default()
}
