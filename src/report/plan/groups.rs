//! Equal effects over clusters and objects are one entry.

use super::{Plan, consequences, phrases};
use crate::model::Severity;
use crate::plan::Effect;
use std::collections::{BTreeMap, BTreeSet};

/// Effects that say the same.
pub(super) struct Entry<'p> {
    /// One of each object, in order.
    pub effects: Vec<&'p Effect>,
}

/// Entries of the same clusters.
pub(super) struct Section<'p> {
    /// Names of the clusters; none without entry points.
    pub clusters: Vec<&'p str>,
    /// The worst first.
    pub entries: Vec<Entry<'p>>,
}

/// Everything but the object, the cluster and the place.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    later: bool,
    severity: std::cmp::Reverse<Severity>,
    effect: &'static str,
    phrases: Vec<super::values::Told>,
    consequences: Vec<String>,
}

/// The plan as sections, those with the worst effects first.
pub(super) fn sections<'p>(plan: &'p Plan<'_>) -> Vec<Section<'p>> {
    // The same effect on the same object, over clusters.
    let mut alike: BTreeMap<(Shape, String), Vec<&Effect>> = BTreeMap::new();
    for effect in plan.effects {
        let shape = Shape {
            later: effect.when.is_some(),
            severity: std::cmp::Reverse(effect.severity),
            effect: effect.effect.name(),
            phrases: phrases(effect),
            consequences: consequences(effect),
        };
        let object = format!("{:?} {} {}", effect.target, effect.object.api_version, effect.object);
        let own = own_entry(effect);
        alike
            .entry((shape, if own { format!("{object} {}", effect.field) } else { object }))
            .or_default()
            .push(effect);
    }
    // Equal effects of the same clusters, over objects.
    let mut sections: BTreeMap<Vec<&str>, BTreeMap<(Shape, String), Entry<'p>>> = BTreeMap::new();
    for ((shape, object), effects) in alike {
        let clusters: BTreeSet<&str> =
            effects.iter().filter_map(|effect| effect.cluster.as_deref()).collect();
        let Some(first) = effects.first().copied() else { continue };
        let kind = if own_entry(first) { object } else { String::new() };
        let entries = sections.entry(clusters.into_iter().collect()).or_default();
        let entry = entries.entry((shape, kind)).or_insert_with(|| Entry { effects: Vec::new() });
        entry.effects.push(first);
    }
    let mut sections: Vec<Section<'p>> = sections
        .into_iter()
        .map(|(clusters, entries)| Section { clusters, entries: entries.into_values().collect() })
        .collect();
    let worst = |section: &Section<'_>| section.entries.iter().map(|entry| rank(entry)).min();
    sections.sort_by_key(&worst);
    for section in &mut sections {
        section.entries.sort_by(|a, b| {
            rank(a).cmp(&rank(b)).then_with(|| a.effects[0].object.cmp(&b.effects[0].object))
        });
    }
    sections
}

fn rank(entry: &Entry<'_>) -> (bool, std::cmp::Reverse<Severity>) {
    let first = entry.effects[0];
    (first.when.is_some(), std::cmp::Reverse(first.severity))
}

/// Whether an effect says so much of its object that it stands for itself.
fn own_entry(effect: &Effect) -> bool {
    effect.consequences.iter().any(|text| text.contains(&*effect.object.name))
        || effect.category() == crate::model::Category::Machines
}

impl Entry<'_> {
    /// `Deployment shop/web`; `3 ConfigMaps: a/x, a/y, a/z`.
    pub(super) fn subject(&self, at_most: usize) -> String {
        let effects = &self.effects;
        let [first] = &effects[..] else {
            let kinds: BTreeSet<&str> = effects.iter().map(|effect| &*effect.object.kind).collect();
            let several = kinds.len() > 1;
            let names: Vec<String> = effects
                .iter()
                .take(at_most)
                .map(|effect| {
                    let name = match &effect.object.namespace {
                        Some(namespace) => format!("{namespace}/{}", effect.object.name),
                        None => effect.object.name.to_string(),
                    };
                    if several { format!("{} {name}", effect.object.kind) } else { name }
                })
                .collect();
            let more = match effects.len().saturating_sub(at_most) {
                0 => String::new(),
                count => format!(", and {count} more"),
            };
            let what = match kinds.first() {
                Some(kind) if !several => format!("{} {}", effects.len(), plural(kind)),
                _ => format!("{} objects", effects.len()),
            };
            return format!("{what} ({}{more})", names.join(", "));
        };
        first.object.to_string()
    }
}

/// `HelmReleases`, `Ingresses`, `HelmRepositories`.
pub(super) fn plural(kind: &str) -> String {
    match kind {
        kind if kind.ends_with('s') || kind.ends_with('x') => format!("{kind}es"),
        kind if kind.ends_with('y') && !kind.ends_with("ay") && !kind.ends_with("ey") => {
            format!("{}ies", &kind[..kind.len() - 1])
        }
        kind => format!("{kind}s"),
    }
}
