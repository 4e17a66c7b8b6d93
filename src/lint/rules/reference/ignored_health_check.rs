//! `ignored-health-check`: an entry of `healthChecks` beside `wait: true`, for what the
//! Kustomization does not apply itself.
//! Source: kustomize-controller `checkHealth`: with `wait` the objects that were applied
//! are waited for and `spec.healthChecks` is not read.

use super::malformed_health_check::place;
use super::{known_name, target_name};
use crate::lang::yaml::NodeRef;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::references::{Reference, Role, references};
use crate::model::{Certainty, Name, ObjectId, kinds};
use crate::world::{Effective, Lookup, Member, target_of};
use rustc_hash::FxHashSet;
use std::cell::OnceCell;

pub(crate) static RULE: Rule = Rule {
    id: "ignored-health-check",
    group: Group::Reference,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "a health check of another's object that `wait: true` ignores",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/reference/ignored-health-check.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let cluster = view.cluster;
    if cluster.name.is_none() || cluster.certainty == Certainty::Guessed {
        return;
    }
    let own = OnceCell::new();
    for (index, applied) in cluster.applied.iter().enumerate() {
        let node = applied.node.get_ref();
        if !kinds::is_kustomization(&applied.id)
            || node.at("/spec/wait").and_then(NodeRef::as_bool) != Some(true)
        {
            continue;
        }
        let all = references(&applied.id, node);
        let checks = all.iter().filter(|one| one.role == Role::HealthCheck && one.namespace.is_some());
        let first = checks.filter_map(|one| Some((one, awaited_by(view, &own, index as u32, one)?))).next();
        let Some((reference, by)) = first else { continue };
        let location = place(node.at(&reference.pointer), reference.name_node);
        let Some((name, location)) = known_name(reference).zip(location) else { continue };
        let wanted = format!("{} {}", reference.kind, target_name(reference, name));
        let (who, help) = match by {
            Some(other) => (
                format!("Kustomization {other} applies {wanted}"),
                format!("depend on {other}, or remove the entry"),
            ),
            None => (
                format!("nothing in {} makes {wanted}", cluster.label()),
                "remove the entry, or correct its name".to_owned(),
            ),
        };
        report
            .report(location, format!("{}: {wanted} is not waited for", applied.id))
            .why(format!(
                "wait: true ignores healthChecks and waits for what this Kustomization applies; {who}"
            ))
            .help(help)
            .object(&applied.id)
            .field("/spec/healthChecks", wanted);
    }
}

/// Who else applies what a health check names: another Kustomization, or nobody. `None`
/// where this Kustomization does, so that `wait` has it, or where it isn't known.
fn awaited_by<'a>(
    view: &ClusterView<'a>,
    makes: &OnceCell<FxHashSet<(u32, &'a ObjectId)>>,
    own: u32,
    reference: &Reference<'_>,
) -> Option<Option<String>> {
    let cluster = view.cluster;
    let applied = &cluster.applied[own as usize];
    let name = known_name(reference)?;
    let (group, kind, namespace) = (&reference.group, &reference.kind, reference.namespace.as_deref());
    let target = target_of(&applied.id, applied.node.get_ref());
    match cluster.lookup(&target, Name::new(group, kind, namespace, name)) {
        Lookup::Found(member) => {
            let other = member.maker.kustomization()?;
            let same = view.object(member);
            let all = || {
                let made = |(member, object): (&Member, &'a Effective)| {
                    Some((member.maker.kustomization()?, &object.id))
                };
                view.written().filter_map(made).collect()
            };
            let by_own = || makes.get_or_init(all).contains(&(own, &same.id));
            // What it applies may wait in its place.
            let above = std::iter::successors(Some(other), |at| cluster.applied[*at as usize].parent);
            if above.take(MOST).any(|at| at == own) || by_own() {
                return None;
            }
            let id = &cluster.applied[other as usize].id;
            Some(Some(match &id.namespace {
                Some(namespace) if id.namespace != applied.id.namespace => format!("{namespace}/{}", id.name),
                _ => id.name.to_string(),
            }))
        }
        Lookup::Missing if kinds::find(group, kind).is_some() => Some(None),
        _ => None,
    }
}

/// Kustomizations above one another that are followed.
const MOST: usize = 64;
