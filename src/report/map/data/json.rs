//! The drawing as JSON.

use super::item::MapItem;
use super::{Drawing, ROWS};
use crate::config::Level;
use crate::lang::text::clean;
use crate::lint::Finding;
use crate::plan::{Effect, Side};
use crate::report::layout::Area;
use crate::report::plan::sentence;
use crate::simulate::gating::timeline::{PassState, SubjectKind};
use serde_json::{Value, json};

impl Drawing<'_, '_> {
    /// What opens and closes within the simulated range.
    pub(super) fn time(&self) -> Value {
        let Some(range) = self.map.simulations.first().map(|simulation| simulation.range) else {
            return Value::Null;
        };
        let mut rows = Vec::new();
        for (number, simulation) in self.map.simulations.iter().enumerate() {
            for subject in &simulation.subjects {
                let changes = subject.timeline.intervals(range);
                let is_quiet = changes.len() <= 1;
                let is_plain = matches!(subject.kind, SubjectKind::Suspend | SubjectKind::CronJob)
                    && changes.iter().all(|(_, _, state)| *state == PassState::Opened);
                if is_quiet && is_plain {
                    continue;
                }
                let spans: Vec<Value> = changes
                    .iter()
                    .map(|(from, to, state)| {
                        let to = to.unwrap_or(range.to);
                        json!([from.as_second(), to.as_second(), state.name()])
                    })
                    .collect();
                let words: Vec<String> =
                    changes.iter().map(|(from, _, state)| format!("{} from {from}", state.name())).collect();
                let label = clean(&subject.id.to_string()).into_owned();
                rows.push(json!({
                    "i": self.places.get(&(number, subject.id.clone())).map_or(-1, |index| *index as i64),
                    "l": label,
                    "w": format!("{} in {}", subject.kind.name(), clean(&self.clusters[number].0)),
                    "d": format!("{label}: {}", words.join(", ")),
                    "v": spans,
                }));
            }
        }
        let is_proposal = self.map.simulations.iter().any(|simulation| !simulation.gates.is_empty());
        let note = "No released Flux has gates: what the gating proposal says would happen.";
        json!({
            "from": range.from.as_second(),
            "to": range.to.as_second(),
            "words": format!("{} to {}", range.from, range.to),
            "note": is_proposal.then_some(note),
            "rows": rows,
        })
    }

    pub(super) fn json(
        &self,
        areas: &[Area],
        findings: &[&Finding],
        effects: &[&Effect],
        time: &Value,
    ) -> Value {
        let snapshot = &self.map.world.snapshot;
        let clusters: Vec<Value> = self
            .clusters
            .iter()
            .zip(areas)
            .map(|((name, about, certainty), area)| {
                json!({"n": clean(name), "c": certainty, "t": clean(about), "x": area.x, "y": area.y, "w": area.width, "h": area.height})
            })
            .collect();
        let items: Vec<Value> = self.items.iter().map(item_json).collect();
        let findings: Vec<Value> = findings
            .iter()
            .map(|finding| {
                json!({"l": finding.level.name(), "r": finding.rule.id, "m": clean(&finding.title), "w": clean(&finding.why), "h": clean(&finding.help), "p": clean(finding.location.file.shown()), "n": snapshot.positions(&finding.location).0.0})
            })
            .collect();
        let effects: Vec<Value> = effects.iter().map(|effect| self.effect_json(effect)).collect();
        json!({
            "v": env!("CARGO_PKG_VERSION"),
            "summary": self.summary(),
            "clusters": clusters,
            "items": items,
            "edges": self.edges,
            "findings": findings,
            "effects": effects,
            "time": time,
        })
    }

    fn effect_json(&self, effect: &Effect) -> Value {
        let (verb, phrase) = sentence(effect);
        let place = effect.causes.first().and_then(|cause| {
            let base = self.map.change.as_ref()?.base_world;
            let world = if cause.side == Side::Base { base } else { self.map.world };
            Some((
                clean(cause.location.file.shown()).into_owned(),
                world.snapshot.positions(&cause.location).0.0,
            ))
        });
        let consequences: Vec<_> = effect.consequences.iter().map(|text| clean(text)).collect();
        json!({"s": effect.severity.name(), "w": verb, "m": clean(&phrase), "q": consequences, "f": place.as_ref().map(|(path, _)| path), "n": place.as_ref().map(|(_, line)| line)})
    }

    fn summary(&self) -> String {
        let count = |level: Level| self.map.outcome.findings.iter().filter(|f| f.level == level).count();
        let plural = |count: usize, one: &str| crate::lang::text::counted(count, one);
        let mut text = format!(
            "{}, {}; {}, {}",
            plural(self.map.outcome.clusters.len(), "cluster"),
            plural(self.items.iter().filter(|item| !item.id.kind.is_empty()).count(), "object"),
            plural(count(Level::Error), "error"),
            plural(count(Level::Warning), "warning"),
        );
        if let Some(change) = &self.map.change {
            text.push_str(&format!(
                "; {} since {}",
                plural(change.effects.len(), "effect"),
                clean(change.base)
            ));
        }
        text
    }
}

fn item_json(item: &MapItem<'_>) -> Value {
    let others = item.others.iter().map(|(kind, count)| format!("{count} {}", clean(kind)));
    let mut out = json!({
        "c": item.cluster,
        "k": if item.id.kind.is_empty() { "Objects".into() } else { clean(&item.id.kind) },
        "n": clean(&item.id.name),
        "b": item.within.map_or(-1, |within| within as i64),
    });
    let mut put = |key: &str, value: Value, is_empty: bool| {
        if !is_empty {
            out[key] = value;
        }
    };
    put("s", json!(item.id.namespace.as_deref().map(clean)), item.id.namespace.is_none());
    put("d", json!(clean(&item.note)), item.note.is_empty());
    put("t", json!(item.states), item.states.is_empty());
    put("why", json!(clean(&item.why)), item.why.is_empty());
    put("a", json!(item.fields), item.fields.is_empty());
    put("f", json!(item.files), item.files.is_empty());
    put("e", json!(item.events), item.events.is_empty());
    put("g", json!(item.findings), item.findings.is_empty());
    put("p", json!(item.effects), item.effects.is_empty());
    put("o", json!(others.collect::<Vec<_>>()), item.others.is_empty());
    if item.within.is_none() {
        put("x", json!(item.area.x), false);
        put("y", json!(item.area.y), false);
        put("w", json!(item.area.width), false);
        put("h", json!(item.area.height), false);
        put("r", json!(item.rows.iter().take(ROWS).collect::<Vec<_>>()), item.rows.is_empty());
        put("all", json!(item.rows), item.rows.len() <= ROWS);
        let more = item.more();
        put("m", json!(more), more.is_empty());
    }
    out
}
