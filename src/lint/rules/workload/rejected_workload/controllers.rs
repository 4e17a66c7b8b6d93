//! What is wrong around the Pods: selectors, strategies, schedules, ranges.

use super::{Refusal, known};
use crate::lang::go::cron::{CronError, CronSchedule};
use crate::lang::yaml::NodeRef;
use crate::lint::ObjectView;

pub(super) fn check<'a>(view: &ObjectView<'a>, refusals: &mut Vec<Refusal<'a>>) {
    let root = view.node;
    match (view.id.group(), &*view.id.kind) {
        ("apps", kind @ ("Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")) => {
            selector(root, refusals);
            restart_policy(root, "/spec/template/spec", &["Always"], refusals);
            if kind == "Deployment" {
                strategy(root, refusals);
            }
        }
        ("batch", "Job") => job(view, "/spec/template/spec", refusals),
        ("batch", "CronJob") => {
            job(view, "/spec/jobTemplate/spec/template/spec", refusals);
            schedule(root, refusals);
        }
        ("policy", "PodDisruptionBudget") => budget(root, refusals),
        ("autoscaling", "HorizontalPodAutoscaler") => range(root, refusals),
        _ => {}
    }
}

/// Source: `pkg/apis/apps/validation/validation.go` (`ValidateDeploymentSpec` and its like).
fn selector<'a>(root: NodeRef<'a>, refusals: &mut Vec<Refusal<'a>>) {
    let Some(wanted) = root.at("/spec/selector/matchLabels").filter(|wanted| wanted.is_map()) else { return };
    let Some(template) = root.at("/spec/template/metadata/labels").filter(|labels| labels.is_map()) else {
        return;
    };
    // A key that is not known may be any.
    if template.is_unknown()
        || template.entries().any(|entry| entry.key_node.is_unknown() || super::super::is_open(&entry.key))
    {
        return;
    }
    for entry in wanted.entries() {
        let Some(value) = known(Some(entry.value)) else { continue };
        let own = template.get(&entry.key);
        let what = match own {
            None => format!("asks for `{}: {value}`, and the Pods have no such label", entry.key),
            Some(own) => match known(Some(own)) {
                Some(own) if own != value => {
                    format!("asks for `{}: {value}`, and the Pods have `{}: {own}`", entry.key, entry.key)
                }
                _ => continue,
            },
        };
        let pointer = "/spec/selector/matchLabels".to_owned();
        let help = "write the same label in spec.selector and in spec.template.metadata.labels; the selector of \
                    an object that exists can't be changed";
        refusals.push(Refusal::new(pointer, entry.value, what, help));
    }
}

fn restart_policy<'a>(root: NodeRef<'a>, pods: &str, taken: &[&str], refusals: &mut Vec<Refusal<'a>>) {
    let pointer = format!("{pods}/restartPolicy");
    let Some(node) = root.at(&pointer) else { return };
    let Some(policy) = known(Some(node)).filter(|policy| !taken.contains(&&**policy)) else { return };
    let help = format!("write {}", taken.join(" or "));
    refusals.push(Refusal::new(pointer, node, format!("is {policy}, which this kind does not take"), help));
}

/// Source: `pkg/apis/batch/validation/validation.go` (`validateJobTemplateSpec`,
/// `validateJobSpec`).
fn job<'a>(view: &ObjectView<'a>, pods: &str, refusals: &mut Vec<Refusal<'a>>) {
    const TAKEN: [&str; 2] = ["OnFailure", "Never"];
    let Some(spec) = view.node.at(pods) else { return };
    // An overlay may add it to what nothing builds.
    if view.is_built() && spec.is_map() && !spec.is_unknown() && spec.get("restartPolicy").is_none() {
        let what = "has no restartPolicy: Always is filled in, which Jobs do not take";
        refusals.push(Refusal::new(pods.to_owned(), spec, what, "write restartPolicy: OnFailure or Never"));
    }
    restart_policy(view.node, pods, &TAKEN, refusals);
}

/// Source: `pkg/apis/apps/validation/validation.go` (`ValidateDeploymentStrategy`,
/// `ValidateRollingUpdateDeployment`).
fn strategy<'a>(root: NodeRef<'a>, refusals: &mut Vec<Refusal<'a>>) {
    let Some(rolling) = root.at("/spec/strategy/rollingUpdate").filter(|node| !node.is_null()) else {
        return;
    };
    let pointer = "/spec/strategy/rollingUpdate".to_owned();
    if root.str_at("/spec/strategy/type").is_some_and(|kind| kind == "Recreate") {
        let help = "take it out; where another layer writes it, set it to null there";
        refusals.push(Refusal::new(pointer, rolling, "stands beside type: Recreate", help));
        return;
    }
    let is_zero = |field: &str| {
        known(rolling.get(field)).is_some_and(|value| matches!(value.trim_end_matches('%'), "0" | "00"))
    };
    if is_zero("maxSurge") && is_zero("maxUnavailable") {
        let what = "lets no Pod be added and none be missing";
        refusals.push(Refusal::new(pointer, rolling, what, "give maxSurge or maxUnavailable at least 1"));
    }
}

/// Source: `pkg/apis/batch/validation/validation.go` (`validateScheduleFormat`).
fn schedule<'a>(root: NodeRef<'a>, refusals: &mut Vec<Refusal<'a>>) {
    let pointer = "/spec/schedule".to_owned();
    let Some(node) = root.at(&pointer) else { return };
    let Some(text) = known(Some(node)) else { return };
    if text.contains("TZ") {
        let what = "has a time zone in it";
        refusals.push(Refusal::new(pointer, node, what, "write the zone into spec.timeZone"));
    } else if let Err(CronError::Malformed(why)) = CronSchedule::parse(&text) {
        let help = "write minute, hour, day, month and weekday, or @daily and its like";
        refusals.push(Refusal::new(pointer, node, format!("is no schedule: {why}"), help));
    }
}

/// Source: `pkg/apis/policy/validation/validation.go` (`ValidatePodDisruptionBudgetSpec`).
fn budget<'a>(root: NodeRef<'a>, refusals: &mut Vec<Refusal<'a>>) {
    let field = |name: &str| root.at(name).filter(|node| !node.is_null());
    if let (Some(_), Some(node)) = (field("/spec/minAvailable"), field("/spec/maxUnavailable")) {
        let what = "stands beside minAvailable";
        refusals.push(Refusal::new("/spec/maxUnavailable".to_owned(), node, what, "keep one of the two"));
    }
}

/// Source: `pkg/apis/autoscaling/validation/validation.go`
/// (`validateHorizontalPodAutoscalerSpec`).
fn range<'a>(root: NodeRef<'a>, refusals: &mut Vec<Refusal<'a>>) {
    let Some(node) = root.at("/spec/maxReplicas") else { return };
    let Some(most) = node.as_int() else { return };
    let least = match root.at("/spec/minReplicas") {
        None => 1,
        Some(node) => match node.as_int() {
            Some(least) => least,
            None => return,
        },
    };
    if most < least {
        let what = format!("is {most}, less than minReplicas, which is {least}");
        let help = "raise maxReplicas, or lower minReplicas";
        refusals.push(Refusal::new("/spec/maxReplicas".to_owned(), node, what, help));
    }
}
