//! Cluster API: topologies, what propagates and rolls, hooks and extensions.

pub(crate) mod autoscaler_with_replicas;
pub(crate) mod committed_hook_bypass;
pub(crate) mod conflicting_extension_patches;
pub(crate) mod duplicate_topology_name;
pub(crate) mod even_control_plane_replicas;
pub(crate) mod extension_covers_all_namespaces;
pub(crate) mod external_patch_without_handler;
pub(crate) mod feature_gate_needed;
pub(crate) mod in_place_template_edit;
pub(crate) mod ineffective_hook_annotation;
pub(crate) mod ineffective_upgrade_annotation;
pub(crate) mod init_join_configuration_differ;
pub(crate) mod machine_deployment_selector_mismatch;
pub(crate) mod malformed_extension_config;
pub(crate) mod malformed_template_expression;
pub(crate) mod metadata_never_reaches_node;
pub(crate) mod metadata_on_non_propagating_level;
pub(crate) mod missing_cluster_class;
pub(crate) mod missing_template;
pub(crate) mod misspelled_machine_reference;
pub(crate) mod overlapping_machine_deployment_selectors;
pub(crate) mod patch_outside_spec;
pub(crate) mod patch_selector_matches_nothing;
pub(crate) mod patch_variable_undefined;
pub(crate) mod pause_disagreement;
pub(crate) mod paused_cluster_class;
pub(crate) mod rejected_topology_version;
pub(crate) mod taint_not_allowed;
pub(crate) mod topology_rollout_drops_strategy;
pub(crate) mod topology_variable_type;
pub(crate) mod undefined_topology_variable;
pub(crate) mod unknown_extension_handler;
pub(crate) mod unknown_topology_class;
pub(crate) mod unskippable_version;
pub(crate) mod worker_version_skew;

use crate::config::Feature;
use crate::lang::yaml::{Location, NodeRef};
use crate::lint::metadata::has_hole;
use crate::lint::title;
use crate::lint::{ChangeView, ClusterView, Level, ObjectView};
use crate::model::Name;
use crate::simulate::cluster_api::references::{ScopedObject, TargetScope, has_cluster_api, scopes_of};
use crate::world::{ApplyTarget, Lookup, UnseenMaker, UnseenMakerKind};

/// The apply targets of a cluster with their objects; none where nothing is
/// Cluster API's.
fn scopes<'a>(view: &ClusterView<'a>) -> Vec<TargetScope<'a>> {
    match has_cluster_api(view.world(), view.cluster) {
        true => scopes_of(view.world(), view.cluster),
        false => Vec::new(),
    }
}

/// The scopes of clusters that exist before and after a change, in pairs.
fn change_scopes<'a>(view: &ChangeView<'a>) -> Vec<(TargetScope<'a>, TargetScope<'a>)> {
    let mut pairs = Vec::new();
    for after in &view.head.world.clusters {
        let same =
            |c: &&crate::world::Cluster| c.name == after.name && (c.name.is_some() || c.root == after.root);
        let Some(before) = view.base.world.clusters.iter().find(same) else { continue };
        if !has_cluster_api(view.base.world, before) && !has_cluster_api(view.head.world, after) {
            continue;
        }
        let mut old = scopes_of(view.base.world, before);
        for scope in scopes_of(view.head.world, after) {
            if let Some(at) = old.iter().position(|o| o.target == scope.target) {
                pairs.push((old.swap_remove(at), scope));
            }
        }
    }
    pairs
}

/// A known text without `${…}`.
fn known(text: Option<String>) -> Option<String> {
    text.filter(|text| !has_hole(text))
}

/// Where a field is, or the nearest thing above it: a scalar's value, the key of
/// anything larger.
fn place_of(root: NodeRef<'_>, pointer: &str) -> Option<Location> {
    let (parent, key) = pointer.rsplit_once('/').unwrap_or_default();
    let entry = root.at(parent).and_then(|parent| parent.entry(key));
    let large = entry.as_ref().is_some_and(|entry| entry.value.is_map() || entry.value.is_seq());
    let key_place = entry.filter(|_| large).and_then(|entry| entry.key_location());
    key_place.or_else(|| root.location_at(pointer)).or_else(|| root.location())
}

/// As [`place_of`], of an object.
fn place(object: ScopedObject<'_>, pointer: &str) -> Option<Location> {
    place_of(object.node, pointer)
}

/// As [`place_of`], of an object under test.
fn place_in(view: &ObjectView<'_>, pointer: &str) -> Option<Location> {
    place_of(view.node, pointer)
}

/// What follows from a name that is not among the objects of a cluster.
struct Absence<'c> {
    /// Error where it surely does not exist, warning where a near name does.
    level: Level,
    /// The name that was probably meant.
    near: Option<&'c str>,
}

/// Judges an absent object by whether it could exist unseen; `None` is not
/// checked. `near` is the one of the names in its place that is nearest.
fn absence<'c>(
    view: &ClusterView<'_>,
    target: &ApplyTarget,
    (group, kind): (&str, &str),
    namespace: Option<&str>,
    name: &str,
    near: Option<&'c str>,
) -> Option<Absence<'c>> {
    // An object without a namespace lands in one that the repository may not
    // state, so both spellings are looked up.
    let spellings = [namespace, None];
    let spellings = if namespace == Some("default") { &spellings[..] } else { &spellings[..1] };
    let mut openers: Vec<&UnseenMaker> = Vec::new();
    for namespace in spellings {
        match view.cluster.lookup(target, Name::new(group, kind, *namespace, name)) {
            Lookup::Found(_) | Lookup::Generated(_) => return None,
            Lookup::Missing => {}
            Lookup::Unseen(found) => openers.extend(found),
        }
    }
    if openers.is_empty() {
        return Some(Absence { level: Level::Error, near });
    }
    let uncertain = openers.iter().any(|opener| opener.cause == UnseenMakerKind::UnknownName);
    (near.is_some() && !uncertain).then_some(Absence { level: Level::Warning, near })
}

/// `did you mean` or what to do otherwise.
fn help(near: Option<&str>, otherwise: String) -> String {
    near.map_or(otherwise, |near| format!("did you mean `{near}`?"))
}

/// Whether a feature is known to be off wherever an object is applied.
fn is_off(view: &ObjectView<'_>, feature: Feature) -> bool {
    let mut settings = view.settings().map(|s| s.feature(feature).value).peekable();
    settings.peek().is_some() && settings.all(|value| value == Some(false))
}

/// The text of a scalar at a pointer, without `${…}`.
fn text_at(node: NodeRef<'_>, pointer: &str) -> Option<String> {
    known(crate::simulate::cluster_api::topology::text_at(node, &[pointer]))
}
