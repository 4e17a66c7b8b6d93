//! What Flux's controllers do otherwise from a version on.

use super::{BehaviourChange, ChangedObject};
use crate::lang::yaml::NodeRef;
use crate::model::kinds;
use crate::model::{Name, ObjectId, Severity};
use crate::simulate::behaviour::{
    COMBINED_HOOKS, COMMIT_STATUS_GATE, ERRORS_REACH_COMMIT_STATUS, FAIL_FAST, FORCE_WITHOUT_EFFECT,
    GCR_CLAIMS, IGNORED_IS_SPARED, KSTATUS_OF_RELEASES, NO_LEGACY_ADOPTION, OBJECT_EVENT_METADATA,
    POST_RENDERERS_UPGRADE, SERVER_SIDE_RELEASES, SHORT_HISTORY, TARGET_PATH_WINS, UPDATED_IS_GONE,
};
use crate::simulate::notify::providers::sets_commit_status;
use crate::world::ApplyTarget;

/// The feature gate that keeps what Helm 3 did.
const HELM_3: &str = "UseHelm3Defaults";

/// The rows, by version.
pub(super) static ROWS: &[BehaviourChange] = &[
    BehaviourChange {
        id: "fail-fast",
        behaviour: FAIL_FAST,
        severity: Severity::Notable,
        concerns: |subject| {
            let node = subject.node;
            let checks = node.items_at("/spec/healthChecks").next().is_some();
            kinds::is_kustomization(subject.id)
                && (checks || is_true(node, "/spec/wait"))
                && !subject.look.flags.is_on("kustomize-controller", "DisableFailFastBehavior")
        },
        before: "",
        after: "`--feature-gates=DisableFailFastBehavior=true` of kustomize-controller brings the old way back",
        source: "https://github.com/fluxcd/kustomize-controller/pull/933",
    },
    BehaviourChange {
        id: "short-history",
        behaviour: SHORT_HISTORY,
        severity: Severity::Routine,
        concerns: |subject| {
            kinds::is_helm_release(subject.id) && subject.node.at("/spec/maxHistory").is_none()
        },
        before: "`spec.maxHistory: 10` keeps as many as now",
        after: "",
        source: "https://github.com/fluxcd/helm-controller/blob/main/CHANGELOG.md#0370",
    },
    BehaviourChange {
        id: "post-renderers-upgrade",
        behaviour: POST_RENDERERS_UPGRADE,
        severity: Severity::Routine,
        concerns: has_post_renderers,
        before: "",
        after: "",
        source: "https://github.com/fluxcd/helm-controller/pull/965",
    },
    BehaviourChange {
        id: "target-path-wins",
        behaviour: TARGET_PATH_WINS,
        severity: Severity::Notable,
        concerns: sets_one_value_twice,
        before: "say each value in one place: in `spec.values`, or at a `targetPath`",
        after: "",
        source: "https://github.com/fluxcd/helm-controller/pull/1060",
    },
    BehaviourChange {
        id: "object-event-metadata",
        behaviour: OBJECT_EVENT_METADATA,
        severity: Severity::Notable,
        concerns: |subject| {
            let mut annotations = subject.node.entries_at("/metadata/annotations");
            kinds::of(subject.id).is_some()
                && annotations.any(|entry| entry.key.starts_with("event.toolkit.fluxcd.io/"))
        },
        before: "`forebay simulate events` says what each Alert sends",
        after: "",
        source: "https://github.com/fluxcd/notification-controller/pull/1014",
    },
    BehaviourChange {
        id: "updated-is-gone",
        behaviour: UPDATED_IS_GONE,
        severity: Severity::Disruptive,
        concerns: |subject| {
            let template = subject.node.str_at("/spec/git/commit/messageTemplate");
            subject.id.is(kinds::IMAGE, "ImageUpdateAutomation")
                && template.is_some_and(|template| template.contains(".Updated"))
        },
        before: "write the message with `.Changed`, which image-automation-controller has since Flux 2.3",
        after: "",
        source: "https://github.com/fluxcd/image-automation-controller/commit/7975a00",
    },
    BehaviourChange {
        id: "no-legacy-adoption",
        behaviour: NO_LEGACY_ADOPTION,
        severity: Severity::Notable,
        concerns: |subject| {
            let is_old = subject.look.old.is_some_and(|old| !old.at_least(2, 2));
            kinds::is_helm_release(subject.id) && is_old
        },
        before: "go to a Flux of 2.2 to 2.7 first, and wait until every HelmRelease is ready there",
        after: "",
        source: "https://github.com/fluxcd/helm-controller/pull/1396",
    },
    BehaviourChange {
        id: "kstatus-of-releases",
        behaviour: KSTATUS_OF_RELEASES,
        severity: Severity::Notable,
        concerns: |subject| {
            let node = subject.node;
            let waits = |of: &str| !is_true(node, &format!("/spec/{of}/disableWait"));
            kinds::is_helm_release(subject.id)
                && (waits("install") || waits("upgrade"))
                && node.at("/spec/waitStrategy/name").is_none()
                && !subject.look.flags.is_on("helm-controller", HELM_3)
        },
        before: "a release with custom resources that take long needs a longer `spec.timeout`",
        after: "`spec.waitStrategy: {name: legacy}` brings the old way back for one release, the feature \
                gate UseHelm3Defaults of helm-controller for all: its older versions know neither",
        source: "https://github.com/fluxcd/helm-controller/blob/main/CHANGELOG.md#150",
    },
    BehaviourChange {
        id: "server-side-releases",
        behaviour: SERVER_SIDE_RELEASES,
        severity: Severity::Routine,
        concerns: |subject| {
            is_installed_server_side(subject) && !is_true(subject.node, "/spec/upgrade/force")
        },
        before: "",
        after: "`spec.upgrade.serverSideApply: enabled` changes over a release that is there; \
                `spec.install.serverSideApply: false` keeps a new one as it was",
        source: "https://github.com/fluxcd/helm-controller/pull/1384",
    },
    BehaviourChange {
        id: "force-without-effect",
        behaviour: FORCE_WITHOUT_EFFECT,
        severity: Severity::Notable,
        concerns: |subject| is_installed_server_side(subject) && is_true(subject.node, "/spec/upgrade/force"),
        before: "",
        after: "`spec.install.serverSideApply: false` keeps client-side apply, and `upgrade.force` with it",
        source: "https://github.com/fluxcd/helm-controller/pull/1456",
    },
    BehaviourChange {
        id: "commit-status-gate",
        behaviour: COMMIT_STATUS_GATE,
        severity: Severity::Notable,
        concerns: |subject| sets_status(subject.id, subject.node),
        before: "",
        after: "`event.toolkit.fluxcd.io/commit` on an object names the commit that its status is for",
        source: "https://github.com/fluxcd/notification-controller/pull/1233",
    },
    BehaviourChange {
        id: "ignored-is-spared",
        behaviour: IGNORED_IS_SPARED,
        severity: Severity::Routine,
        concerns: |subject| {
            let said = |map: &str| {
                let value = subject.node.str_at(&format!("/metadata/{map}/kustomize.toolkit.fluxcd.io~1ssa"));
                value.is_some_and(|value| value.eq_ignore_ascii_case("ignore"))
            };
            said("annotations") || said("labels")
        },
        before: "",
        after: "delete such an object by hand once Git lets go of it",
        source: "https://github.com/fluxcd/kustomize-controller/pull/1651",
    },
    BehaviourChange {
        id: "errors-reach-commit-status",
        behaviour: ERRORS_REACH_COMMIT_STATUS,
        severity: Severity::Routine,
        concerns: |subject| sets_status(subject.id, subject.node),
        before: "",
        after: "",
        source: "https://github.com/fluxcd/notification-controller/pull/1317",
    },
    BehaviourChange {
        id: "combined-hooks",
        behaviour: COMBINED_HOOKS,
        severity: Severity::Notable,
        concerns: |subject| {
            has_post_renderers(subject)
                && subject.node.at("/spec/postRenderStrategy").is_none()
                && !subject.look.flags.is_on("helm-controller", HELM_3)
        },
        before: "see that patches without a narrow target are right for the chart's hooks as well",
        after: "`spec.postRenderStrategy: nohooks` brings the old way back",
        source: "https://github.com/fluxcd/helm-controller/pull/1470",
    },
    BehaviourChange {
        id: "gcr-claims",
        behaviour: GCR_CLAIMS,
        severity: Severity::Notable,
        concerns: lacks_gcr_claims,
        before: "put `email` and `audience` into the Secret of `spec.secretRef`",
        after: "",
        source: "https://github.com/fluxcd/notification-controller/pull/1298",
    },
];

fn is_true(node: NodeRef<'_>, pointer: &str) -> bool {
    node.at(pointer).and_then(NodeRef::as_bool) == Some(true)
}

fn has_post_renderers(subject: &ChangedObject<'_, '_>) -> bool {
    kinds::is_helm_release(subject.id) && subject.node.items_at("/spec/postRenderers").next().is_some()
}

fn is_installed_server_side(subject: &ChangedObject<'_, '_>) -> bool {
    kinds::is_helm_release(subject.id)
        && subject.node.at("/spec/install/serverSideApply").is_none()
        && !subject.look.flags.is_on("helm-controller", HELM_3)
}

fn sets_status(id: &ObjectId, node: NodeRef<'_>) -> bool {
    id.is(kinds::NOTIFICATION, "Provider")
        && node.str_at("/spec/type").is_some_and(|provider| sets_commit_status(&provider))
}

/// Whether the first key of a `targetPath` stands in `spec.values` too: else nothing is
/// there to win over.
fn sets_one_value_twice(subject: &ChangedObject<'_, '_>) -> bool {
    let values = subject.node.at("/spec/values");
    kinds::is_helm_release(subject.id)
        && subject.node.items_at("/spec/valuesFrom").any(|from| {
            let Some(path) = from.str_at("/targetPath") else { return false };
            let first = path.split(['.', '[']).next().unwrap_or_default();
            values.is_some_and(|values| values.get(first).is_some())
        })
}

/// Whether the Secret of a Receiver for GCR is here and lacks a key, or is not here.
fn lacks_gcr_claims(subject: &ChangedObject<'_, '_>) -> bool {
    let is_gcr = subject.node.str_at("/spec/type").is_some_and(|kind| kind == "gcr");
    if !subject.id.is(kinds::NOTIFICATION, "Receiver") || !is_gcr {
        return false;
    }
    let Some(name) = subject.node.str_at("/spec/secretRef/name") else { return true };
    let namespace = subject.id.namespace.as_deref();
    let (world, cluster) = (subject.look.pair.head_world, subject.look.head);
    let Some(secret) = cluster.find(&ApplyTarget::Local, Name::new("", "Secret", namespace, &name)) else {
        return true;
    };
    let node = world.object(secret.object).node.get_ref();
    let has =
        |key: &str| ["/data", "/stringData"].iter().any(|map| node.entries_at(map).any(|one| one.key == key));
    !(has("email") && has("audience"))
}
