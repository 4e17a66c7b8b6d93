//! Where the values of a release are written, of all that sets them.

use super::releases::Release;
use crate::build::helm::Kind;
use crate::lang::yaml::{Location, NodeRef, Origin, pointer_segments};
use crate::sources::values::{By, Layer};

/// Where a value of a release is written.
pub(crate) struct ValuePlace {
    /// The bytes to change.
    pub location: Location,
    /// The pointer into the HelmRelease; `None` where the value stands elsewhere.
    pub path: Option<String>,
    /// What else sets it, in words, and where the release says so.
    pub via: Option<(String, Location)>,
}

impl Release {
    /// Where it sets a value, by its pointer in the values; `None` where it doesn't.
    pub(crate) fn value_place(&self, pointer: &str) -> Option<ValuePlace> {
        let values = self.values.as_ref().ok()?;
        let mut value = &values.value;
        for segment in pointer_segments(pointer) {
            value = match &value.kind {
                Kind::Map(map) => map.get(&*segment)?,
                Kind::List(items) => items.get(segment.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        let wanted = value.origin.as_ref().map(Origin::location);
        // Which layer wins is known of the value alone: a `targetPath` may win over `spec.values`.
        let holds = |layer: &&Layer| match layer.by {
            By::TargetPath(..) => false,
            By::Release | By::Reference(_) => layer.root.get_ref().at(pointer).is_some(),
        };
        let wins = |layer: &&Layer| match layer.by {
            By::TargetPath(..) => wanted.is_some() && layer.root.get_ref().location() == wanted,
            By::Release | By::Reference(_) => {
                layer.root.get_ref().at(pointer).is_some_and(|node| node.location() == wanted)
            }
        };
        let all = || values.layers.iter().rev();
        let layer = all().find(wins).or_else(|| all().find(holds))?;
        let own = self.node.get_ref();
        let (location, reference) = match &layer.by {
            By::Release => (written(own, &format!("/spec/values{pointer}"))?, None),
            By::Reference(reference) => (written(layer.root.get_ref(), pointer)?, Some(reference)),
            By::TargetPath(reference, key) => (key.clone().or(wanted)?, Some(reference)),
        };
        // What a patch wrote stands in no text of the release's own.
        let is_own = reference.is_none() && own.location().is_none_or(|own| own.file == location.file);
        let via = reference.and_then(|reference| {
            Some((format!("the value comes from {}", reference.told), reference.location.clone()?))
        });
        Some(ValuePlace { location, path: is_own.then(|| format!("/spec/values{pointer}")), via })
    }
}

/// The key of a value, else the value itself.
fn written(root: NodeRef<'_>, pointer: &str) -> Option<Location> {
    let node = root.at(pointer)?;
    let Some((above, _)) = pointer.rsplit_once('/') else {
        let first = node.entries().next().and_then(|entry| entry.key_location());
        return first.or_else(|| node.location());
    };
    let last = pointer_segments(pointer).last()?;
    let key = root.at(above)?.entry(&last).and_then(|entry| entry.key_location());
    key.or_else(|| node.location())
}
