//! The fleet on one page: clusters, who applies whom, what waits, what is marked,
//! and a change on it. The page is one file without any request; everything that
//! came from a repository reaches it as JSON and is only ever set as text.

mod data;

use super::lines::{Shape, line_of};
use super::secrets::SecretValues;
use crate::lint::engine::LintOutcome;
use crate::plan::Effect;
use crate::simulate::gating::timeline::Simulation;
use crate::world::World;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// What to draw.
pub(crate) struct FleetMap<'a> {
    /// The clusters; after the change where there is one.
    pub world: &'a World,
    /// Places in [`World::clusters`] of those to draw.
    pub clusters: &'a [usize],
    /// What `lint` says of it.
    pub outcome: &'a LintOutcome,
    /// Gates, schedules and suspensions of each drawn cluster over a week.
    pub simulations: &'a [Simulation],
    /// The change, if one is shown.
    pub change: Option<MapChange<'a>>,
    /// What must not be shown.
    pub secrets: Option<&'a SecretValues>,
}

/// A change that the map shows.
pub(crate) struct MapChange<'a> {
    /// What the base is called.
    pub base: &'a str,
    /// The clusters before: what is deleted is drawn from them.
    pub base_world: &'a World,
    pub effects: &'a [Effect],
}

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

pub(crate) fn render(map: &FleetMap<'_>) -> String {
    let digest = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        digest(STYLE),
        digest(SCRIPT)
    );
    let data = data::data(map).to_string();
    let data = line_of(&data, Shape::Json, map.secrets);
    let data = inert(&data);
    // In the order of the page, so that no text is looked through for the next mark.
    let mut page = String::with_capacity(PAGE.len() + STYLE.len() + SCRIPT.len() + data.len());
    let mut rest = PAGE;
    for (mark, text) in [("%CSP%", policy.as_str()), ("%CSS%", STYLE), ("%DATA%", &*data), ("%JS%", SCRIPT)] {
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        page.push_str(before);
        page.push_str(text);
        rest = after;
    }
    page.push_str(rest);
    page
}

/// JSON that can't end the element it stands in, nor begin another one.
fn inert(json: &str) -> Cow<'_, str> {
    super::json::inert(json, &['<', '>', '&'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_ends_no_element() {
        let hostile = serde_json::json!({"name": "</script><script>alert(1)</script>\u{2028}&lt;<!--"});
        let json = hostile.to_string();
        let text = inert(&json);
        assert!(!text.contains(['<', '>', '&', '\u{2028}']), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), hostile);
    }

    #[test]
    fn every_mark_is_replaced_once_and_in_order() {
        let places: Vec<usize> = ["%CSP%", "%CSS%", "%DATA%", "%JS%"]
            .iter()
            .map(|mark| {
                assert_eq!(PAGE.matches(mark).count(), 1, "{mark}");
                PAGE.find(mark).expect("in the page")
            })
            .collect();
        assert!(places.is_sorted(), "{places:?}");
    }

    #[test]
    fn the_page_asks_for_nothing_from_elsewhere() {
        for text in [PAGE, STYLE, SCRIPT] {
            for word in [
                "src=\"http",
                "href=",
                "@import",
                "url(",
                "fetch(",
                "XMLHttpRequest",
                "innerHTML",
                "style=\"",
            ] {
                assert!(!text.contains(word), "{word}");
            }
        }
    }
}
