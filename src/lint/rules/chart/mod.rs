//! What charts make of the values that releases give them.

pub(crate) mod chart_fails;

use crate::lang::yaml::Location;
use crate::world::releases::Release;

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
    if release.assumed.is_empty() {
        return None;
    }
    let mut all = release.assumed.clone();
    all.sort();
    all.dedup();
    Some(format!("this is assumed: {}", all.join("; ")))
}

/// Where a release names its chart.
pub(super) fn chart_place(release: &Release) -> Option<Location> {
    let asked = release.request.as_ref().ok().and_then(|request| request.location.clone());
    asked.or_else(|| release.node.get_ref().location_at("/spec/chart"))
}
