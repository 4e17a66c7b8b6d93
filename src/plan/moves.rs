//! Who takes over an object that another Kustomization applies after the change:
//! the simulation of both, of what applies them, in every order.

use super::fate::{builds_alike, is_suspended, protected, prunes, text_at};
use super::removal::what_goes;
use super::{Effect, Pair, Placed, Side, pairs};
use crate::lang::yaml::NodeRef;
use crate::model::references::{Role as Reference, has_ready_expression, references};
use crate::model::{EffectKind, ObjectId, Severity, kinds};
use crate::simulate::takeover::helm::WantedRelease;
use crate::simulate::takeover::orders::{ObjectOutcome, OrdersOutcome, explore};
use crate::simulate::takeover::{
    Build, Builds, ClusterState, DeletionPolicy, Dependency, Id, KustomizationSettings, Manifest, Marks,
    Role, Ssa,
};
use crate::world::{Applied, ApplyTarget, Cluster, World};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// An object that moved: before and after.
pub(super) type Moved<'p, 'w> = (&'p Placed<'w>, &'p Placed<'w>);

/// Kinds of which a new object is as good as the old one.
const HARMLESS: [&str; 17] = [
    "ConfigMap",
    "Secret",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "HorizontalPodAutoscaler",
    "ResourceQuota",
    "LimitRange",
    "PriorityClass",
    "Alert",
    "Provider",
    "ServiceMonitor",
    "PodMonitor",
    "PrometheusRule",
];

/// Kustomizations that apply the same object under another name of their own.
fn is_elsewhere(before: &Placed<'_>, after: &Placed<'_>) -> bool {
    match (before.kustomization, after.kustomization) {
        (Some(from), Some(to)) => (&from.id.name, &from.id.namespace) != (&to.id.name, &to.id.namespace),
        _ => false,
    }
}

/// Objects that one Kustomization hands to another.
type Groups<'p, 'w> = BTreeMap<(&'w ObjectId, &'w ObjectId), Vec<Moved<'p, 'w>>>;

/// Effects on all objects that moved.
pub(super) fn effects(pair: &Pair<'_>) -> Vec<Effect> {
    groups(pair).into_values().flat_map(|moved| group(pair, &moved)).collect()
}

/// What becomes, in every order of the controllers, of the objects that one
/// Kustomization hands to another.
#[derive(Clone, Debug)]
pub(crate) struct Takeover {
    pub cluster: Option<Arc<str>>,
    /// Applied them.
    pub from: ObjectId,
    /// Applies them.
    pub to: ObjectId,
    /// How many there are.
    pub objects: usize,
    /// How many ends the orders have.
    pub ends: usize,
    /// Whether every order was followed.
    pub complete: bool,
    /// Those that some order deletes, and whether it creates them anew.
    pub lost: Vec<(ObjectId, bool)>,
}

/// All objects that another Kustomization applies after a change.
pub(crate) fn takeovers(base: &World, head: &World) -> Vec<Takeover> {
    let mut out = Vec::new();
    for pair in pairs(base, head) {
        for ((from_id, to_id), moved) in groups(&pair) {
            let both = moved.first().and_then(|(a, b)| Some((a.kustomization?, b.kustomization?)));
            let Some((from, to)) = both else { continue };
            let answer = simulate(&pair, from, to, &moved);
            let lost = moved.iter().filter_map(|(before, _)| {
                let outcomes = answer.of(&(before.target.clone(), Id::from(&before.object.id)));
                let loses = outcomes.iter().any(|outcome| outcome.loses());
                loses.then(|| (before.object.id.clone(), !outcomes.contains(&&ObjectOutcome::Deleted)))
            });
            out.push(Takeover {
                cluster: pair.name.clone(),
                from: from_id.clone(),
                to: to_id.clone(),
                objects: moved.len(),
                ends: answer.ends,
                complete: answer.complete,
                lost: lost.collect(),
            });
        }
    }
    out
}

/// What becomes, in every order of the controllers, of an object that its
/// Kustomization applies under another name.
#[derive(Clone, Debug)]
pub(crate) struct MoveOutcome {
    /// How many ends the orders have.
    pub ends: usize,
    /// Whether every order was followed.
    pub complete: bool,
    /// The Helm release that it has, where some order uninstalls that.
    pub uninstalled: Option<String>,
}

/// One object by two names, in each cluster that has it before and after a change.
pub(crate) fn replacements(base: &World, head: &World, old: &ObjectId, new: &ObjectId) -> Vec<MoveOutcome> {
    let mut out = Vec::new();
    for pair in pairs(base, head) {
        let before = pair.before.get(&key_of(old));
        let (Some(before), Some(after)) = (before, pair.after.get(&key_of(new))) else { continue };
        let (Some(by), Some(base), Some(head)) = (before.kustomization, pair.base, pair.head) else {
            continue;
        };
        let (before, after) = (replaced(before), replaced(after));
        let Some(still) = head.applied(by.id.namespace.as_deref(), &by.id.name) else { continue };
        let ids = [by.id.clone()];
        let mut state = ClusterState::default();
        state.place(ApplyTarget::Local, manifest(base, by, 0, &ids), None);
        state.place(ApplyTarget::Local, before, Some(&Id::from(&by.id)));
        state.revision();
        // The new settings, with which it looks at the new revision or, where what
        // applies it is slower, the old ones.
        let objects = Build::Objects(vec![after]);
        let mut late = manifest(head, still, 0, &ids);
        late.content += 1;
        let builds = Builds::from([((Id::from(&by.id), 0), objects)]);
        for start in [state.clone(), with(state, late)] {
            let answer = explore(&start, &builds);
            let releases = answer.outcomes.iter().filter(|((_, id), _)| &*id.group == "helm.sh");
            let lost = releases.filter(|(_, outcomes)| outcomes.keys().any(ObjectOutcome::loses));
            let lost = lost.map(|((_, id), _)| id.name.to_string()).next();
            out.push(MoveOutcome { ends: answer.ends, complete: answer.complete, uninstalled: lost });
        }
    }
    out
}

fn key_of(id: &ObjectId) -> super::Key<'_> {
    (&ApplyTarget::Local, id.named())
}

/// The same state with another manifest of a Kustomization in it.
fn with(mut state: ClusterState, manifest: Manifest) -> ClusterState {
    if let Some(live) = state.objects.get_mut(&(ApplyTarget::Local, manifest.id.clone())) {
        live.manifest = manifest;
    }
    state
}

fn replaced(placed: &Placed<'_>) -> Manifest {
    let mut manifest = plain(placed);
    if kinds::is_helm_release(&placed.object.id)
        && let Some(release) = WantedRelease::of(&placed.object.id, placed.object.node.get_ref())
    {
        manifest.role = Role::HelmRelease(release);
    }
    manifest
}

fn groups<'p, 'w>(pair: &'p Pair<'w>) -> Groups<'p, 'w> {
    let mut groups = Groups::new();
    for (_, before, after) in pair.kept().filter(|(_, before, after)| is_elsewhere(before, after)) {
        if let (Some(from), Some(to)) = (before.kustomization, after.kustomization) {
            groups.entry((&from.id, &to.id)).or_default().push((before, after));
        }
    }
    groups
}

fn group(pair: &Pair<'_>, moved: &[Moved<'_, '_>]) -> Vec<Effect> {
    let Some((from, to)) = moved.first().and_then(|(a, b)| Some((a.kustomization?, b.kustomization?))) else {
        return Vec::new();
    };
    let answer = simulate(pair, from, to, moved);
    let mut out = Vec::new();
    for (before, after) in moved {
        let outcomes = answer.of(&(before.target.clone(), Id::from(&before.object.id)));
        out.push(one(pair, (from, to), (before, after), &outcomes, answer.complete));
    }
    out
}

fn one(
    pair: &Pair<'_>,
    (from, to): (&Applied, &Applied),
    (before, after): Moved<'_, '_>,
    outcomes: &[&ObjectOutcome],
    complete: bool,
) -> Effect {
    let id = &after.object.id;
    let mut effect = Effect::new(pair, EffectKind::Moved, id);
    effect.severity = Severity::Routine;
    effect.target = after.target.clone();
    effect.before = json!(from.id.to_string());
    effect.after = json!(to.id.to_string());
    let (old, new) = names(&from.id, &to.id);
    effect.reason = format!("applied by {new} instead of {old}");
    let loses = outcomes.iter().any(|outcome| outcome.loses());
    let certain = loses && complete && outcomes.iter().all(|outcome| outcome.loses());
    let stays_away = outcomes.contains(&&ObjectOutcome::Deleted);
    let word = in_the_orders((loses, certain, stays_away), outcomes, complete, (&old, &new), || {
        pair.head.is_some_and(|head| find(head, &from.id).is_none())
    });
    effect.consequences.push(word);
    if stays_away && is_suspended(pair.head, &to.id, to.node.get_ref()) {
        effect.consequences.push(format!("{new} is suspended and does not take it over"));
    }
    if outcomes.contains(&&ObjectOutcome::RecreatedLater) && !stays_away {
        effect.consequences.push(format!("in some orders it comes back only at {new}'s next interval"));
    }
    if loses {
        effect.severity = match HARMLESS.contains(&&*id.kind) && !certain {
            true => Severity::Notable,
            false => Severity::Disruptive,
        };
        effect.consequences.extend(what_goes(before));
        if kinds::is_helm_release(id) {
            effect.consequences.push("its release is uninstalled then, and installed anew".to_owned());
        }
        // Where a Kustomization got another name, that is what to do in steps.
        let both = pair.head.is_some_and(|head| find(head, &from.id).is_some());
        if effect.severity == Severity::Disruptive && both {
            let namespace = to.id.namespace.as_deref().map_or(String::new(), |name| format!("{name}/"));
            effect.consequences.push(format!(
                "help: `forebay move OBJECT --to ks/{namespace}{}` does this in steps without deleting",
                to.id.name
            ));
        }
        let word = if certain { "deleted" } else { "mayBeDeleted" };
        effect.details.insert(word.to_owned(), json!({&*id.kind: 1}));
    }
    let place = after.object.node.get_ref().location_at("/metadata/name");
    effect.at(Side::Head, place)
}

/// What the orders in which the controllers may run come to for the object.
fn in_the_orders(
    (loses, certain, stays_away): (bool, bool, bool),
    outcomes: &[&ObjectOutcome],
    complete: bool,
    (old, new): (&str, &str),
    is_gone: impl Fn() -> bool,
) -> String {
    match (loses, certain, stays_away) {
        (false, ..) if outcomes.contains(&&ObjectOutcome::Kept) => {
            format!("it stays with {old}'s labels in every order")
        }
        (false, ..) if complete => format!("{new} takes it over in every order"),
        (false, ..) => format!("{new} takes it over in the orders that were followed"),
        (_, true, true) => "it is deleted and nothing creates it anew".to_owned(),
        (_, true, false) => "in every order it is deleted and created anew".to_owned(),
        (_, false, true) => {
            format!("if {old} reconciles before {new} has applied it, it is deleted and stays away")
        }
        (_, false, false) if is_gone() => format!(
            "{old} is deleted: if its finalizer runs before {new} has applied it, it is deleted and created anew"
        ),
        (_, false, false) => {
            format!("if {old} reconciles before {new} has applied it, it is deleted and created anew")
        }
    }
}

/// Names of two Kustomizations, with their namespaces where the names are equal.
fn names(from: &ObjectId, to: &ObjectId) -> (String, String) {
    if from.name != to.name {
        return (from.name.to_string(), to.name.to_string());
    }
    let long = |id: &ObjectId| format!("{}/{}", id.namespace.as_deref().unwrap_or(""), id.name);
    (long(from), long(to))
}

fn find<'w>(cluster: &'w Cluster, id: &ObjectId) -> Option<&'w Applied> {
    cluster.applied(id.namespace.as_deref(), &id.name)
}

/// Both Kustomizations, what applies them, and the objects that move.
fn simulate(pair: &Pair<'_>, from: &Applied, to: &Applied, moved: &[Moved<'_, '_>]) -> OrdersOutcome {
    let (Some(base), Some(head)) = (pair.base, pair.head) else { return OrdersOutcome::default() };
    let mut ids: Vec<ObjectId> = vec![from.id.clone(), to.id.clone()];
    // What applies them, on either side.
    for (cluster, applied) in
        [(base, Some(from)), (head, Some(to)), (base, find(base, &to.id)), (head, find(head, &from.id))]
    {
        let mut next = applied;
        for _ in 0..8 {
            let parent = next.and_then(|applied| cluster.applied.get(applied.parent? as usize));
            let Some(parent) = parent else { break };
            if ids.contains(&parent.id) {
                break;
            }
            ids.push(parent.id.clone());
            next = Some(parent);
        }
    }
    let parent = |cluster: &Cluster, applied: &Applied| {
        let parent = cluster.applied.get(applied.parent? as usize)?;
        (parent.id != applied.id || applied.parent.is_some()).then(|| parent.id.clone())
    };
    let mut state = ClusterState::default();
    let mut builds = Builds::new();
    for id in &ids {
        let (old, new) = (find(base, id), find(head, id));
        let same = match (old, new) {
            (Some(old), Some(new)) => builds_alike(old, new),
            _ => true,
        };
        if let Some(old) = old {
            let owner = parent(base, old).map(|id| Id::from(&id));
            state.place(ApplyTarget::Local, manifest(base, old, 0, &ids), owner.as_ref());
        }
        let Some(new) = new else { continue };
        let build = u64::from(!same);
        let fails = pair.standstills.iter().any(|standstill| standstill.fails(&new.id));
        let mut objects = Vec::new();
        for child in &ids {
            if let Some(child) = find(head, child)
                && parent(head, child).as_ref() == Some(id)
            {
                let same = find(base, &child.id).is_none_or(|old| builds_alike(old, child));
                objects.push(manifest(head, child, u64::from(!same), &ids));
            }
        }
        if *id == to.id {
            objects.extend(moved.iter().map(|(_, after)| plain(after)));
        }
        builds.insert((Id::from(id), build), if fails { Build::Fails } else { Build::Objects(objects) });
    }
    for (before, _) in moved {
        state.place(before.target.clone(), plain(before), Some(&Id::from(&from.id)));
    }
    state.revision();
    explore(&state, &builds)
}

fn plain(placed: &Placed<'_>) -> Manifest {
    let mut manifest = Manifest::plain(Id::from(&placed.object.id), 0);
    manifest.marks = marks(placed.object.node.get_ref());
    manifest
}

fn marks(node: NodeRef<'_>) -> Marks {
    let has = |key: &str, value: &str| {
        ["/metadata/labels", "/metadata/annotations"]
            .iter()
            .any(|map| text_at(node, map, key).is_some_and(|text| text.eq_ignore_ascii_case(value)))
    };
    let ssa = match () {
        () if protected(node) == Some("ssa: Ignore") => Ssa::Ignore,
        () if has("kustomize.toolkit.fluxcd.io/ssa", "IfNotPresent") => Ssa::IfNotPresent,
        () => Ssa::Applied,
    };
    Marks {
        prune_disabled: has("kustomize.toolkit.fluxcd.io/prune", "disabled"),
        reconcile_disabled: has("kustomize.toolkit.fluxcd.io/reconcile", "disabled"),
        ssa,
        force: has("kustomize.toolkit.fluxcd.io/force", "enabled"),
        operator_prune_disabled: has("fluxcd.controlplane.io/prune", "disabled"),
    }
}

/// A Kustomization as the simulator knows it.
fn manifest(cluster: &Cluster, applied: &Applied, build: u64, ids: &[ObjectId]) -> Manifest {
    let node = applied.node.get_ref();
    let mut settings = KustomizationSettings {
        suspend: is_suspended(Some(cluster), &applied.id, node),
        prune: prunes(node),
        deletion_policy: DeletionPolicy::of(node.str_at("/spec/deletionPolicy").as_deref()),
        force: node.at("/spec/force").and_then(NodeRef::as_bool) == Some(true),
        target: applied.target.clone(),
        depends_on: Vec::new(),
        source: None,
        account: None,
        build,
    };
    settings.source = references(&applied.id, node).iter().find_map(|reference| {
        (reference.role == Reference::Source).then(|| Id {
            group: "".into(),
            kind: (&*reference.kind).into(),
            namespace: reference.namespace.as_deref().map(Into::into),
            name: reference.name.as_deref().unwrap_or_default().into(),
        })
    });
    settings.depends_on = waits_for(cluster, applied, ids);
    let mut manifest = Manifest::plain(Id::from(&applied.id), 0);
    manifest.marks = marks(node);
    manifest.content = fingerprint(&settings);
    manifest.role = Role::Kustomization(settings);
    manifest
}

/// Which of some Kustomizations one waits for, directly or through others. Those
/// that are not simulated are taken to be ready.
fn waits_for(cluster: &Cluster, applied: &Applied, ids: &[ObjectId]) -> Vec<Dependency> {
    let mut found: Vec<Dependency> = Vec::new();
    let mut seen: BTreeSet<&ObjectId> = BTreeSet::from([&applied.id]);
    let mut open = vec![(applied, false)];
    while let Some((applied, by_expression)) = open.pop() {
        let node = applied.node.get_ref();
        for reference in references(&applied.id, node) {
            let Some(name) = reference.name.as_deref().filter(|_| reference.role == Reference::DependsOn)
            else {
                continue;
            };
            let Some(other) = cluster.applied(reference.namespace.as_deref(), name) else { continue };
            let expression = by_expression || has_ready_expression(node, &reference);
            if !seen.insert(&other.id) {
                continue;
            }
            if ids.contains(&other.id) {
                found.push(Dependency { on: Id::from(&other.id), expression });
            } else {
                open.push((other, expression));
            }
        }
    }
    found
}

fn fingerprint(settings: &KustomizationSettings) -> u64 {
    use std::hash::{DefaultHasher, Hasher as _};
    let mut hasher = DefaultHasher::new();
    hasher.write(format!("{settings:?}").as_bytes());
    hasher.finish()
}
