//! The virtual document beside a source: the objects that Flux makes of it.

use super::hover;
use super::place::{Spot, memberships};
use super::state::ServerState;
use crate::lang::text::clean;
use crate::report::objects::yaml;
use lsp_types::TextDocumentPositionParams;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// What the editor sends.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Parameters {
    /// The place in the source.
    #[serde(flatten)]
    pub(super) at: TextDocumentPositionParams,
    /// Only as this cluster has it.
    #[serde(default)]
    pub(super) cluster: Option<String>,
    /// Whether comments say where each value comes from.
    #[serde(default)]
    pub(super) origins: bool,
}

/// What it gets.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct EffectiveAnswer {
    /// YAML; values of Secrets are masked.
    text: String,
    /// The clusters that have the object.
    clusters: Vec<String>,
}

/// The effective objects of a place; `None` where it is no part of one.
pub(super) fn effective(state: &ServerState<'_>, parameters: &Parameters) -> Option<EffectiveAnswer> {
    let world = state.world();
    let spot = Spot::of(state, &parameters.at)?;
    let (mut text, mut clusters) = (String::new(), Vec::new());
    for object in hover::objects(state, &spot) {
        let names: Vec<String> = memberships(world, object)
            .map(|(cluster, _)| match &cluster.name {
                Some(name) => name.to_string(),
                None => cluster.label(),
            })
            .collect();
        clusters.extend(names.iter().cloned());
        if parameters.cluster.as_ref().is_some_and(|wanted| !names.contains(wanted)) {
            continue;
        }
        let hidden = state.masked(object);
        let Ok(one) = yaml(&[hidden.get_ref()], state.snapshot(), parameters.origins) else { continue };
        if !text.is_empty() {
            text.push_str("---\n");
        }
        let word = if names.len() == 1 { "cluster" } else { "clusters" };
        let _ =
            write!(text, "# {} in {word} {}\n{one}", clean(&object.id.to_string()), clean(&names.join(", ")));
    }
    clusters.sort();
    clusters.dedup();
    (!text.is_empty()).then_some(EffectiveAnswer { text, clusters })
}
