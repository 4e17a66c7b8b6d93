//! Where the values of a release are written, of all that sets them.

use super::releases::Release;
use crate::build::helm::Kind;
use crate::lang::yaml::{Location, NodeRef, Origin, pointer_segments};
use crate::sources::values::By;

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
        let (mut winner, mut holder) = (None, None);
        for layer in values.layers.iter().rev() {
            let is_target = matches!(layer.by, By::TargetPath(..));
            let root = layer.root.get_ref();
            let (at, place) = match entry_at(root, pointer).filter(|_| !is_target) {
                Some((node, key)) => (node.location(), key.or_else(|| node.location())),
                None if is_target => (root.location(), None),
                None => continue,
            };
            if at == wanted && (wanted.is_some() || !is_target) {
                winner = Some((layer, place));
                break;
            }
            if !is_target {
                holder.get_or_insert((layer, place));
            }
        }
        let (layer, place) = winner.or(holder)?;
        let own = self.node.get_ref();
        let (location, reference) = match &layer.by {
            By::Release => (place?, None),
            By::Reference(reference) => (place?, Some(reference)),
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

/// A value and the place of its key; of all values the first key.
fn entry_at<'n>(root: NodeRef<'n>, pointer: &str) -> Option<(NodeRef<'n>, Option<Location>)> {
    let Some((above, _)) = pointer.rsplit_once('/') else {
        return Some((root, root.entries().next().and_then(|entry| entry.key_location())));
    };
    let last = pointer_segments(pointer).last()?;
    match root.at(above)?.entry(&last) {
        Some(entry) => Some((entry.value, entry.key_location())),
        None => root.at(pointer).map(|node| (node, None)),
    }
}
