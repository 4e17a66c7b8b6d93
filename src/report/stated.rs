//! Which version of a product an answer is for, and from where it is known.

use super::json::from;
use super::parts::{of_clusters, paragraph};
use crate::files::Snapshot;
use crate::lang::text::clean;
use crate::model::{CLUSTER_API, CLUSTER_API_RELEASED, FLUX};
use crate::simulate::behaviour::Product;
use crate::world::versions::Settings;
use std::fmt;

/// `Flux 2.8.8 (clusters/production/gotk-components.yaml:3)`; where nothing states
/// it, what it is taken for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatedVersions {
    /// The version, as it is simulated.
    pub(crate) what: String,
    /// The place that states it.
    pub(crate) place: Option<String>,
}

impl fmt::Display for StatedVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.place.as_ref().map_or(Ok(()), |place| write!(f, " ({place})"))
    }
}

/// The version of a product in a cluster.
pub(crate) fn version(snapshot: &Snapshot, product: Product, settings: &Settings) -> StatedVersions {
    let (setting, (major, minors), released) = match product {
        Product::Flux => (&settings.flux, &FLUX, *FLUX.1.end()),
        Product::ClusterApi => (&settings.cluster_api, &CLUSTER_API, CLUSTER_API_RELEASED),
    };
    let (name, newest) = (product.name(), minors.end());
    let Some(version) = setting.value else {
        let what = format!("simulated as {name} {major}.{released}, as nothing states its version");
        return StatedVersions { what, place: None };
    };
    let judged = match version.within(&(*major, minors.clone())) {
        true if version.minor_in(*major) > released => ", which is not released".to_owned(),
        true => String::new(),
        false => format!(", judged as {major}.{newest}, the newest known"),
    };
    let beyond = settings.unsupported.iter().find(|(_, at)| setting.from.as_ref() == Some(at));
    let judged = match beyond {
        Some((text, _)) if judged.is_empty() => format!(": {text}"),
        _ => judged,
    };
    StatedVersions {
        what: clean(&format!("{name} {version}{judged}")).into_owned(),
        place: from(snapshot, setting).map(|place| clean(&place).into_owned()),
    }
}

/// The versions of several clusters in a few words.
pub(crate) fn together<'a>(versions: impl IntoIterator<Item = &'a StatedVersions>) -> String {
    let mut found: Vec<&StatedVersions> = Vec::new();
    for version in versions {
        if !found.contains(&version) {
            found.push(version);
        }
    }
    if let [one] = &*found {
        return one.to_string();
    }
    let mut words: Vec<&str> = Vec::new();
    for version in &found {
        if !words.contains(&&*version.what) {
            words.push(&version.what);
        }
    }
    let places = if found.iter().any(|version| version.place.is_some()) { WHERE } else { "" };
    words.join(" or ") + places
}

/// Several places are too many for a line.
const WHERE: &str = " (`forebay config show` says where)";

/// Writes which version each cluster is simulated as, clusters of the same one together;
/// `none` stands for those without a name. Gives the names of all where they are one
/// entry: what all of them have in common needs no title below it.
pub(crate) fn heads(
    out: &mut String,
    clusters: impl IntoIterator<Item = (Option<String>, StatedVersions)>,
    none: &str,
) -> Option<Vec<String>> {
    let mut found: Vec<(Vec<String>, Vec<StatedVersions>)> = Vec::new();
    for (name, version) in clusters {
        let is_same = |(names, known): &&mut (Vec<String>, Vec<StatedVersions>)| {
            names.is_empty() == name.is_none() && known[0].what == version.what
        };
        match found.iter_mut().find(is_same) {
            Some((names, known)) => {
                names.extend(name);
                known.push(version);
            }
            None => found.push((name.into_iter().collect(), vec![version])),
        }
    }
    for (names, versions) in &found {
        let of = of_clusters(names, none);
        let gap = if of.is_empty() { "" } else { ", " };
        paragraph(out, &format!("{of}{gap}{}", together(versions)), "  ");
    }
    match &mut *found {
        [(names, _)] => Some(std::mem::take(names)),
        _ => None,
    }
}
