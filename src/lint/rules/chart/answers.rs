//! What the rules of this group ask of charts, found for all releases before they ask.
//!
//! Most of it takes longer than the renders did. Rules that ask for one release after the other
//! wait for each other; together all threads are busy.

use super::{chart_fails, unknown_chart_value, value_without_effect};
use crate::lint::Rule;
use crate::sources::outcome::ChartOutcome;
use crate::sources::render::Rendering;
use crate::world::World;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Finds what these rules are going to ask.
pub(crate) fn find(world: &World, rules: &[&'static Rule]) {
    let is_asked = |rule: &Rule| rules.iter().any(|asked| asked.id == rule.id);
    let asked = Asked {
        unread: is_asked(&unknown_chart_value::RULE),
        idle: is_asked(&value_without_effect::RULE),
        culprit: is_asked(&chart_fails::RULE),
    };
    if !asked.unread && !asked.idle && !asked.culprit {
        return;
    }
    // The thread that brings them takes the last one first, and others take the first.
    rayon::scope(|scope| {
        for of_chart in by_chart(world) {
            scope.spawn(move |scope| {
                // It is found once for each chart, and others would wait for it.
                if let Some(first) = of_chart.first().filter(|_| asked.unread || asked.idle) {
                    first.follow();
                }
                of_chart.into_iter().for_each(|rendering| scope.spawn(move |_| asked.ask(rendering)));
            });
        }
    });
}

/// Renderings, by their charts: those that fail behind the others, and large charts behind small
/// ones. Of those that were kept all is known.
fn by_chart(world: &World) -> Vec<Vec<&Rendering>> {
    let mut seen = FxHashSet::default();
    let mut charts: FxHashMap<usize, (usize, Vec<&Rendering>)> = FxHashMap::default();
    for release in world.clusters.iter().flat_map(|cluster| &cluster.releases) {
        let Some(rendering) = &release.rendering else { continue };
        let Some((chart, bytes)) = rendering.templates() else { continue };
        if seen.insert(Arc::as_ptr(rendering)) {
            charts.entry(chart).or_insert((bytes, Vec::new())).1.push(rendering);
        }
    }
    let mut charts: Vec<(usize, Vec<&Rendering>)> = charts.into_values().collect();
    for (_, of_chart) in &mut charts {
        of_chart.sort_by_key(|rendering| rendering.fails());
    }
    charts.sort_by_key(|(bytes, of_chart)| (of_chart.iter().any(|rendering| rendering.fails()), *bytes));
    charts.into_iter().map(|(_, of_chart)| of_chart).collect()
}

/// What is asked of each.
#[derive(Clone, Copy)]
struct Asked {
    unread: bool,
    idle: bool,
    culprit: bool,
}

impl Asked {
    fn ask(self, rendering: &Rendering) {
        if self.culprit && rendering.fails() {
            rendering.culprit();
        }
        if self.unread {
            rendering.unread();
        }
        if self.idle && matches!(*rendering.outcome, ChartOutcome::Rendered(_)) {
            rendering.idle();
        }
    }
}
