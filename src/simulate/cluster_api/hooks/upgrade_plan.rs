//! The versions that a control plane and its workers go through on the way to
//! the topology's version.
//!
//! Mirrors cluster-api `exp/topology/desiredstate/upgrade_plan.go`
//! (`ComputeUpgradePlan`, `DefaultAndValidateUpgradePlans`,
//! `GetUpgradePlanOneMinor`, `GetUpgradePlanFromClusterClassVersions`).

use std::collections::BTreeMap;

use crate::model::kubernetes_version::{Order, Version};

/// Where the steps of an upgrade come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlanSource {
    /// No versions and no extension in the class: one minor at a time.
    OneMinor,
    /// `spec.kubernetesVersions` of the ClusterClass.
    ClassVersions(Vec<String>),
    /// The answer of a GenerateUpgradePlan extension.
    Extension {
        /// Its `controlPlaneUpgrades`.
        control_plane: Vec<String>,
        /// Its `workersUpgrades`; empty leaves them to the defaults.
        workers: Vec<String>,
        /// The error that it returned instead.
        error: Option<String>,
    },
}

/// The observed versions of a Cluster that has, or gets, a managed topology.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Observed {
    /// `spec.topology.version` of the Cluster.
    pub desired: String,
    /// `spec.version` of the control plane object, once it exists.
    pub control_plane: Option<String>,
    /// Versions of the MachineDeployments that exist.
    pub machine_deployments: Vec<String>,
    /// Versions of the MachinePools that exist.
    pub machine_pools: Vec<String>,
}

/// The steps left. Empty lists: nothing to upgrade.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpgradePlan {
    /// Versions that the control plane goes through, the target last.
    pub control_plane: Vec<String>,
    /// Versions at which MachineDeployments stop.
    pub machine_deployments: Vec<String>,
    /// Versions at which MachinePools stop.
    pub machine_pools: Vec<String>,
    /// The oldest version among workers, when there are any.
    pub min_workers_version: Option<String>,
}

/// Computes the upgrade plan of a Cluster.
///
/// # Errors
/// The text with which the topology reconcile fails: a version that does not
/// parse, or a plan that breaks a rule of upgrade plans.
pub(crate) fn compute(observed: &Observed, source: &PlanSource) -> Result<UpgradePlan, String> {
    let Some(control_plane) = &observed.control_plane else {
        return Ok(UpgradePlan::default());
    };
    let desired = parse(&observed.desired, "Cluster version")?;
    let current = parse(control_plane, "ControlPlane version")?;
    let min_workers = min_workers(observed, &current)?;
    let min_workers_version = min_workers.as_ref().map(|v| format!("v{v}"));
    if current == desired && min_workers.as_ref().is_none_or(|v| *v == desired) {
        return Ok(UpgradePlan { min_workers_version, ..UpgradePlan::default() });
    }
    let (steps, workers) = steps(source, &observed.desired, control_plane)?;
    let workers = default_and_validate(
        &observed.desired,
        control_plane,
        min_workers_version.as_deref(),
        &steps,
        workers,
    )?;
    let stops = |any: bool| if any { workers.clone() } else { Vec::new() };
    Ok(UpgradePlan {
        machine_deployments: stops(!observed.machine_deployments.is_empty()),
        machine_pools: stops(!observed.machine_pools.is_empty()),
        control_plane: steps,
        min_workers_version,
    })
}

/// The plan as its source returns it, before rules are applied.
///
/// # Errors
/// A version that does not parse, more than one minor without class versions,
/// or the extension's own error.
pub(crate) fn steps(
    source: &PlanSource,
    desired: &str,
    control_plane: &str,
) -> Result<(Vec<String>, Vec<String>), String> {
    match source {
        PlanSource::OneMinor => one_minor(desired, control_plane).map(|p| (p, Vec::new())),
        PlanSource::ClassVersions(versions) => {
            class_versions(versions, desired, control_plane).map(|p| (p, Vec::new()))
        }
        PlanSource::Extension { error: Some(e), .. } => Err(e.clone()),
        PlanSource::Extension { control_plane, workers, .. } => Ok((control_plane.clone(), workers.clone())),
    }
}

fn one_minor(desired: &str, control_plane: &str) -> Result<Vec<String>, String> {
    let target = parse(desired, "desired version")?;
    let current = parse(control_plane, "current ControlPlane version")?;
    if current == target {
        return Ok(Vec::new());
    }
    if target.minor > current.minor + 1 {
        return Err(format!("cannot compute an upgrade plan from {control_plane} to {desired}"));
    }
    Ok(vec![desired.to_owned()])
}

fn class_versions(versions: &[String], desired: &str, control_plane: &str) -> Result<Vec<String>, String> {
    let target = parse(desired, "desired version")?;
    let current = parse(control_plane, "current ControlPlane version")?;
    if current == target {
        return Ok(Vec::new());
    }
    let mut between = Vec::new();
    let (mut started, mut ended) = (false, false);
    for text in versions {
        let version = parse(text, "version")?;
        if (started && !ended) || (!started && version.minor > current.minor) {
            between.push((text, version.clone()));
        }
        let reached = |goal: &Version| version == *goal || goal.compare_with_build(&version) == Order::Less;
        started |= reached(&current);
        ended |= reached(&target);
    }
    // One version per minor, the last listed; those of the current minor only
    // when the upgrade stays inside it.
    let mut plan: Vec<(u64, String)> = Vec::new();
    for (text, version) in between {
        if version.minor == current.minor && target.minor != current.minor {
            continue;
        }
        match plan.last_mut() {
            Some((minor, last)) if *minor == version.minor => *last = text.clone(),
            _ => plan.push((version.minor, text.clone())),
        }
    }
    Ok(plan.into_iter().map(|(_, text)| text).collect())
}

/// Checks both plans and fills in the stops of workers when none are given.
///
/// # Errors
/// The message of the rule that a plan breaks.
pub(crate) fn default_and_validate(
    desired: &str,
    control_plane: &str,
    min_workers: Option<&str>,
    steps: &[String],
    workers: Vec<String>,
) -> Result<Vec<String>, String> {
    let target = parse(desired, "Cluster version")?;
    let current = parse(control_plane, "ControlPlane version")?;
    let min_workers = min_workers.map(|v| parse(v, "min workers version")).transpose()?;
    let mut known = KnownVersions {
        minors: BTreeMap::from([(current.minor, control_plane)]),
        positions: BTreeMap::from([(control_plane, None)]),
    };
    validate_control_plane(&target, desired, &current, steps, &mut known)?;

    let Some(oldest) = min_workers.filter(|v| v.compare_with_build(&target) != Order::Equal) else {
        return if workers.is_empty() {
            Ok(workers)
        } else {
            Err("invalid worker upgrade plan; there are no workers or workers already at the \
                 desired version"
                .to_owned())
        };
    };
    if !steps.is_empty() {
        let foreign: Vec<&str> = workers
            .iter()
            .map(String::as_str)
            .filter(|v| *v != control_plane && !steps.iter().any(|s| s == v))
            .collect();
        if !foreign.is_empty() {
            return Err(format!(
                "invalid workers upgrade plan: versions {} doesn't match any versions in the \
                 control plane upgrade plan nor the control plane version",
                foreign.join(",")
            ));
        }
    }
    let workers =
        if workers.is_empty() { default_worker_stops(&oldest, &target, desired, &known)? } else { workers };
    validate_workers(&oldest, &target, desired, &workers, &known)?;
    Ok(workers)
}

/// Versions that the control plane has or gets: per minor the last, and the
/// position of each in the plan (`None` for the one that it has).
struct KnownVersions<'a> {
    minors: BTreeMap<u64, &'a str>,
    positions: BTreeMap<&'a str, Option<usize>>,
}

fn validate_control_plane<'a>(
    target: &Version,
    desired: &str,
    current: &Version,
    steps: &'a [String],
    known: &mut KnownVersions<'a>,
) -> Result<(), String> {
    if current.compare_with_build(target) == Order::Equal {
        return if steps.is_empty() {
            Ok(())
        } else {
            Err("invalid ControlPlane upgrade plan: control plane is already at the desired \
                 version"
                .to_owned())
        };
    }
    let mut last = current.clone();
    for (index, text) in steps.iter().enumerate() {
        let what = "invalid ControlPlane upgrade plan: item";
        known.positions.insert(text, Some(index));
        let step =
            Version::parse(text).ok_or_else(|| format!("{what} {index}; failed to parse version {text}"))?;
        if step.compare_with_build(&last).is_le() {
            return Err(format!("{what} {index}; version {text} must be greater than v{last}"));
        }
        if last.minor != step.minor && last.minor + 1 != step.minor {
            return Err(format!(
                "{what} {index}; expecting a version with minor {} or {}, found version {text}",
                last.minor,
                last.minor + 1
            ));
        }
        known.minors.insert(step.minor, text);
        last = step;
    }
    if last.compare_with_build(target) != Order::Equal {
        return Err(format!(
            "invalid ControlPlane upgrade plan: control plane upgrade plan must end with version \
             {desired}, ends with v{last} instead"
        ));
    }
    Ok(())
}

/// The least number of stops that keeps workers within three minors.
fn default_worker_stops(
    oldest: &Version,
    target: &Version,
    desired: &str,
    known: &KnownVersions<'_>,
) -> Result<Vec<String>, String> {
    let mut stops = Vec::new();
    let mut minor = oldest.minor + 3;
    while minor < target.minor {
        let version = known
            .minors
            .get(&minor)
            .ok_or_else(|| format!("invalid upgrade plan; unable to identify version for minor {minor}"))?;
        stops.push((*version).to_owned());
        minor += 3;
    }
    if stops.last().is_none_or(|last| last != desired) {
        stops.push(desired.to_owned());
    }
    Ok(stops)
}

fn validate_workers(
    oldest: &Version,
    target: &Version,
    desired: &str,
    stops: &[String],
    known: &KnownVersions<'_>,
) -> Result<(), String> {
    let mut last = oldest.clone();
    for (index, text) in stops.iter().enumerate() {
        let what = "invalid workers upgrade plan, item";
        let stop =
            Version::parse(text).ok_or_else(|| format!("{what} {index}; failed to parse version {text}"))?;
        match stop.compare_with_build(&last) {
            Order::Less | Order::Equal => {
                return Err(format!("{what} {index}; version {text} must be greater than v{last}"));
            }
            Order::Unordered => {
                let position = known
                    .positions
                    .get(text.as_str())
                    .ok_or_else(|| format!("{what} {index}; failer to determine version {text} order"))?;
                let before = known
                    .positions
                    .get(format!("v{last}").as_str())
                    .ok_or_else(|| format!("failer to determine version v{last} order"))?;
                if position < before {
                    return Err(format!("{what} {index}; version {text} must be before v{last}"));
                }
            }
            Order::Greater => {}
        }
        if stop.minor.saturating_sub(last.minor) > 3 {
            return Err(format!(
                "{what} {index}; workers cannot go from minor {} (v{last}) to minor {} ({text}), \
                 an intermediate step is required to comply with Kubernetes version skew rules",
                last.minor, stop.minor
            ));
        }
        last = stop;
    }
    if last.compare_with_build(target) != Order::Equal {
        return Err(format!(
            "invalid workers upgrade plan; workers upgrade plan must end with version {desired}, \
             ends with v{last} instead"
        ));
    }
    Ok(())
}

fn min_workers(observed: &Observed, control_plane: &Version) -> Result<Option<Version>, String> {
    let mut oldest: Option<Version> = None;
    let deployments = observed.machine_deployments.iter().map(|v| (v, "MachineDeployment version"));
    let pools = observed.machine_pools.iter().map(|v| (v, "MachinePool version"));
    for (text, what) in deployments.chain(pools) {
        let version = parse(text, what)?;
        let older = oldest.as_ref().is_none_or(|min| {
            match version.compare_with_build(min) {
                Order::Less => true,
                // No order by build tags: workers are at the control plane's
                // version or behind it.
                Order::Unordered => version != *control_plane,
                Order::Equal | Order::Greater => false,
            }
        });
        if older {
            oldest = Some(version);
        }
    }
    Ok(oldest)
}

fn parse(text: &str, what: &str) -> Result<Version, String> {
    Version::parse(text).ok_or_else(|| format!("failed to parse {what} {text}"))
}
