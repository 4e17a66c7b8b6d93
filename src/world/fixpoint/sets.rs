//! What ResourceSets make.

use crate::build::kustomize::FileRole;
use crate::build::resource_set;
use crate::lang::yaml::{Node, NodeRef};
use crate::model::{ObjectId, kinds};
use crate::world::build::{BuiltObject, set_common_metadata};
use crate::world::source::LocalObjects;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Depth to which ResourceSets may make ResourceSets, and charts releases.
pub(super) const SET_DEPTH: u32 = 8;

/// What gives a ResourceSet inputs.
pub(super) const PROVIDER: &str = "ResourceSetInputProvider";

/// ResourceSetInputProviders by namespace, in order of their names.
pub(super) type Providers<'o> = FxHashMap<Option<Arc<str>>, Vec<(&'o ObjectId, NodeRef<'o>)>>;

pub(super) fn providers(objects: &LocalObjects) -> Providers<'_> {
    let mut found = Providers::default();
    for (id, node) in objects.values().filter(|(id, _)| id.is(kinds::OPERATOR, PROVIDER)) {
        found.entry(id.namespace.clone()).or_default().push((id, node.get_ref()));
    }
    for all in found.values_mut() {
        all.sort_by(|one, other| one.0.name.cmp(&other.0.name));
    }
    found
}

/// What a ResourceSet makes of inputs that are known, and whether that is all.
pub(super) fn made_by(
    providers: &Providers<'_>,
    id: &ObjectId,
    set: NodeRef<'_>,
) -> Option<(Vec<Arc<BuiltObject>>, bool)> {
    let providers = providers.get(&id.namespace).map(Vec::as_slice).unwrap_or_default();
    let made = resource_set::expand(id, set, providers)?;
    let common = set.at("/spec/commonMetadata").filter(|node| !node.is_null());
    let built = |mut node: Node| {
        let place = node.get_ref().location();
        for field in ["labels", "annotations"] {
            if let Some(common) = common {
                set_common_metadata(&mut node, field, common, common.location().as_ref());
            }
        }
        let files = place.map(|location| (FileRole::Resource, location)).into_iter().collect();
        Arc::new(BuiltObject::new(node, files))
    };
    Some((made.objects.into_iter().map(built).collect(), made.is_complete))
}
