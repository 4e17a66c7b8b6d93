//! Whether an event that an alert matched reaches its provider.

use std::collections::BTreeMap;

use super::commit_status::{self, Cel};
use super::providers::{CommitStatusGate, gate, post_failure, sets_commit_status};
use super::{InvolvedObject, Metadata};
use crate::lang::yaml::Known;
use crate::model::text::Text;

/// What notification-controller reads of a Provider.
#[derive(Debug, Clone)]
pub struct Provider {
    /// `metadata.name`.
    pub name: String,
    /// `spec.type`.
    pub kind: Text,
    /// `spec.suspend`.
    pub suspend: Known<bool>,
    /// `spec.commitStatusExpr`, if set.
    pub commit_status_expr: Option<Text>,
    /// Whether `spec.serviceAccountName` is set.
    pub service_account: bool,
    /// Why the API server refuses the object, if that is certain.
    pub refusal: Option<String>,
}

/// What the cluster's notification-controller is and how it runs.
#[derive(Debug, Clone, Copy)]
pub struct Controller {
    /// `--no-cross-namespace-refs`.
    pub no_cross_namespace_refs: bool,
    /// What commit status providers get.
    pub commit_status: CommitStatusGate,
    /// The feature gate `ObjectLevelWorkloadIdentity`.
    pub object_level_workload_identity: Known<bool>,
}

/// One event on its way to the provider of one alert that it matched.
#[derive(Debug, Clone)]
pub struct Dispatch<'a> {
    /// The object that the event is about.
    pub object: &'a InvolvedObject,
    /// `info` or `error`.
    pub severity: &'a str,
    /// Namespace and name of the Alert.
    pub alert: (&'a str, &'a str),
    /// The name of the Provider that the Alert refers to.
    pub provider_name: &'a str,
    /// That Provider in the Alert's namespace; `None` if there is none.
    pub provider: Known<Option<&'a Provider>>,
    /// The event's metadata, cleaned up and without internal keys.
    pub metadata: &'a Metadata<Text>,
    /// The metadata combined with the Alert's.
    pub combined: &'a Metadata<Text>,
    /// Whether the controller adds no further keys at run time.
    pub complete: bool,
    /// `event`, `alert` and `provider` as `spec.commitStatusExpr` sees them.
    pub variables: &'a BTreeMap<String, Cel>,
}

/// What becomes of a matched event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// The provider gets it.
    Delivered,
    /// The provider gets some events of the object, and what becomes of the others.
    Partly(String),
    /// It is dropped silently, and why.
    Dropped(String),
    /// It fails, and the error. The Alert gets a Kubernetes Event
    /// `NotificationDispatchFailed`.
    Failed(String),
    /// It depends on what is not known, and on what.
    Unknown(String),
}

/// Follows an event to the provider.
///
/// Mirrors notification-controller `internal/server/event_handlers.go`,
/// `getNotificationParams` and `createCommitStatus`, and the notifiers' own
/// refusals (`internal/notifier/util.go`). Credentials are not looked at.
pub fn deliver(dispatch: &Dispatch<'_>, controller: &Controller) -> Delivery {
    let object = dispatch.object;
    let (alert_namespace, alert_name) = dispatch.alert;
    if controller.no_cross_namespace_refs && object.namespace != alert_namespace {
        return Delivery::Failed(format!(
            "discarding event, access denied to cross-namespace sources: alert \
             '{alert_namespace}/{alert_name}' can't process event from '{}/{}/{}', \
             cross-namespace references have been blocked",
            object.kind, object.namespace, object.name
        ));
    }
    let (provider, kind) = match accepted(dispatch) {
        Ok(found) => found,
        Err(stopped) => return stopped,
    };
    match gate(kind, object, dispatch.severity, dispatch.metadata, controller.commit_status) {
        Known::Value(None) => {}
        Known::Value(Some(gate)) => return Delivery::Dropped(gate.reason().to_owned()),
        Known::Unknown => {
            return Delivery::Unknown("a value that the provider asks for is unknown".to_owned());
        }
    }
    if provider.service_account && controller.object_level_workload_identity == Known::Value(false) {
        return Delivery::Failed(
            "to use spec.serviceAccountName for provider authentication please enable the \
             ObjectLevelWorkloadIdentity feature gate in the controller"
                .to_owned(),
        );
    }
    if sets_commit_status(kind)
        && let Some(expression) = provider.commit_status_expr.as_ref().and_then(Text::known)
        && let Known::Value(Err(error)) = commit_status::evaluate(expression, dispatch.variables)
    {
        return Delivery::Failed(format!(
            "failed to create commit status: failed to evaluate the spec.commitStatusExpr CEL \
             expression for the event: {error}"
        ));
    }
    match post_failure(kind, dispatch.combined, dispatch.complete) {
        Some(error) => Delivery::Failed(format!("failed to send notification: {error}")),
        None => Delivery::Delivered,
    }
}

/// The provider and its type, where it is there and takes events; what becomes of the event
/// otherwise.
fn accepted<'d>(dispatch: &Dispatch<'d>) -> Result<(&'d Provider, &'d str), Delivery> {
    let (alert_namespace, _) = dispatch.alert;
    let provider = match dispatch.provider {
        Known::Value(Some(provider)) => provider,
        Known::Value(None) => {
            return Err(Delivery::Failed(format!(
                "failed to read provider: no Provider {alert_namespace}/{}",
                dispatch.provider_name
            )));
        }
        Known::Unknown => {
            return Err(Delivery::Unknown(format!(
                "Provider {alert_namespace}/{} is not in this repository",
                dispatch.provider_name
            )));
        }
    };
    if let Some(why) = &provider.refusal {
        return Err(Delivery::Dropped(format!(
            "the API server refuses the Provider: its type {} is not accepted, as {why}",
            provider.kind.display()
        )));
    }
    match provider.suspend {
        Known::Value(true) => return Err(Delivery::Dropped("the Provider is suspended".to_owned())),
        Known::Value(false) => {}
        Known::Unknown => {
            return Err(Delivery::Unknown("spec.suspend of the Provider is unknown".to_owned()));
        }
    }
    let Some(kind) = provider.kind.known() else {
        return Err(Delivery::Unknown("spec.type of the Provider is unknown".to_owned()));
    };
    Ok((provider, kind))
}
