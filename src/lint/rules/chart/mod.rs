//! What charts make of the values that releases give them.

pub(crate) mod chart_fails;
pub(crate) mod deprecated_chart;
pub(crate) mod faulty_chart;
pub(crate) mod rejected_chart_values;
pub(crate) mod unknown_chart_value;
pub(crate) mod value_replaced_table;

use crate::build::helm::Kind;
use crate::lang::yaml::{Location, NodeRef, Origin, pointer_segments};
use crate::lint::Related;
use crate::sources::values::{By, Layer, Values};
use crate::world::releases::Release;

/// Where a value of a release is written.
pub(super) struct Place {
    /// The bytes to change.
    pub location: Location,
    /// The pointer into the HelmRelease; `None` where the value stands elsewhere.
    pub path: Option<String>,
    /// What else sets it, and where the release says so.
    pub related: Option<Related>,
}

/// Where a release sets a value, by its pointer in the values; `None` where it doesn't.
pub(super) fn place_of(release: &Release, values: &Values, pointer: &str) -> Option<Place> {
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
    let own = release.node.get_ref();
    let (location, reference) = match &layer.by {
        By::Release => (written(own, &format!("/spec/values{pointer}"))?, None),
        By::Reference(reference) => (written(layer.root.get_ref(), pointer)?, Some(reference)),
        By::TargetPath(reference, key) => (key.clone().or(wanted)?, Some(reference)),
    };
    // What a patch wrote stands in no text of the release's own.
    let is_own = reference.is_none() && own.location().is_none_or(|own| own.file == location.file);
    let related = reference.and_then(|reference| {
        let message = format!("the value comes from {}", reference.told);
        Some(Related { message, location: reference.location.clone()? })
    });
    Some(Place { location, path: is_own.then(|| format!("/spec/values{pointer}")), related })
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

/// The name of a chart for people: `podinfo 6.5.0`.
pub(super) fn chart_of(release: &Release) -> String {
    let Ok(request) = &release.request else { return "its chart".to_owned() };
    let (name, version, _) = request.named();
    match (name.is_empty(), version.is_empty()) {
        (true, _) => "its chart".to_owned(),
        (false, true) => name.to_owned(),
        (false, false) => format!("{name} {version}"),
    }
}

/// What a finding rests on that isn't known, in words; `None` where all is known.
pub(super) fn doubt(release: &Release) -> Option<String> {
    /// More of it helps nobody.
    const MOST: usize = 3;
    if release.assumed.is_empty() {
        return None;
    }
    let mut all = release.assumed.clone();
    all.sort();
    all.dedup();
    let more = match all.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    all.truncate(MOST);
    Some(format!("this is assumed: {}{more}", all.join("; ")))
}

/// Where a release names its chart.
pub(super) fn chart_place(release: &Release) -> Option<Location> {
    release.chart_place()
}
