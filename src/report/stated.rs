//! Which version of a product an answer is for, and from where it is known.

use super::json::from;
use crate::model::{CLUSTER_API, FLUX};
use crate::repo::Snapshot;
use crate::simulate::behaviour::Product;
use crate::text::clean;
use crate::world::versions::Settings;

/// `Flux 2.8.8 (clusters/production/gotk-components.yaml:3)`; where nothing states
/// it, what it is taken for.
pub(crate) fn version(snapshot: &Snapshot, product: Product, settings: &Settings) -> String {
    let (setting, (major, minors)) = match product {
        Product::Flux => (&settings.flux, &FLUX),
        Product::ClusterApi => (&settings.cluster_api, &CLUSTER_API),
    };
    let (name, newest) = (product.name(), minors.end());
    let Some(version) = setting.value else {
        return format!("simulated as {name} {major}.{newest}, as nothing states its version");
    };
    let judged = match version.within(&(*major, minors.clone())) {
        true => String::new(),
        false => format!(", judged as {major}.{newest}, the newest known"),
    };
    let beyond = settings.unsupported.iter().find(|(_, at)| setting.from.as_ref() == Some(at));
    let judged = match beyond {
        Some((text, _)) if judged.is_empty() => format!(": {text}"),
        _ => judged,
    };
    let place = from(snapshot, setting).map_or(String::new(), |place| format!(" ({place})"));
    clean(&format!("{name} {version}{judged}{place}")).into_owned()
}
