//! What charts make of the values that releases give them.

pub(crate) mod answers;
pub(crate) mod chart_fails;
pub(crate) mod deprecated_chart;
pub(crate) mod faulty_chart;
pub(crate) mod rejected_chart_values;
pub(crate) mod unavailable_chart_version;
pub(crate) mod unknown_chart_value;
pub(crate) mod value_replaced_table;
pub(crate) mod value_without_effect;
mod values_files;

use crate::build::helm::Dead;
use crate::lang::yaml::Location;
use crate::lint::{ClusterView, Related};
use crate::sources::outcome::UnreadValue;
use crate::sources::render::Unread;
use crate::world::releases::Release;
use crate::world::value_places::ValuePlace;

/// Where a value of a release is written.
pub(super) struct ReleaseValuePlace {
    /// The bytes to change.
    pub location: Location,
    /// The pointer into the HelmRelease; `None` where the value stands elsewhere.
    pub path: Option<String>,
    /// What else sets it, and where the release says so.
    pub related: Option<Related>,
}

/// Where a release sets a value, by its pointer in the values; `None` where it doesn't.
pub(super) fn place_of(release: &Release, pointer: &str) -> Option<ReleaseValuePlace> {
    let ValuePlace { location, path, via } = release.value_place(pointer)?;
    let related = via.map(|(message, location)| Related { message, location });
    Some(ReleaseValuePlace { location, path, related })
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

/// Whether something that is not known here may set more values, or others.
pub(super) fn lacks_values(release: &Release) -> bool {
    release.values.as_ref().is_ok_and(|values| !values.unknown.is_empty())
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

/// Where a release names its chart. One that nothing applies may name the source of others,
/// which is not to blame.
pub(super) fn chart_place(view: &ClusterView<'_>, release: &Release) -> Option<Location> {
    let is_unapplied = view.cluster.name.is_none() && view.has_entry();
    let own = is_unapplied.then(|| release.node.get_ref().location_at("/spec/chartRef")).flatten();
    own.or_else(|| release.chart_place())
}

/// What is wrong with a value that nothing reads, and why that is sure.
pub(super) fn unread_words(chart: &str, unread: &Unread, dead: &Dead) -> (String, String) {
    let meant = match unread.meant(dead) {
        Some(UnreadValue::Near(near)) => format!("; did you mean `{}`?", near.join(".")),
        Some(UnreadValue::Elsewhere(other)) => format!("; it stands at `{}`", other.join(".")),
        None => String::new(),
    };
    let why = "no template of the chart or of the charts in it names it, prints what it lies in, or goes \
               through the keys around it: it does nothing";
    (format!("the chart {chart} reads no value `{}`{meant}", dead.path.join(".")), why.to_owned())
}
