//! The contract of `plan`.

use super::Plan;
use crate::model::Severity;
use crate::plan::{ClusterChange, Effect, Side};
use crate::report::json::{answer, finding, header, target};
use crate::report::parts::{location, object};
use serde_json::{Map, Value, json};

/// The whole answer.
pub fn render(plan: &Plan<'_>) -> Value {
    let mut by_cluster: Map<String, Value> = Map::new();
    for name in plan.cluster_names() {
        by_cluster.insert(name, counts(&[]));
    }
    for (name, effects) in plan.by_cluster() {
        by_cluster.insert(name.to_owned(), counts(&effects));
    }
    let all: Vec<&Effect> = plan.effects.iter().collect();
    let mut summary = counts(&all);
    summary["byCluster"] = Value::Object(by_cluster);
    let head = plan.shown(&plan.new_findings).map(|found| finding(&plan.head_world.snapshot, found));
    let base = plan.shown(&plan.fixed_findings).map(|found| finding(&plan.base_world.snapshot, found));
    let mut body = json!({
        "base": plan.base,
        "head": plan.head,
        "summary": summary,
        "effects": plan.effects.iter().map(|effect| one(plan, effect)).collect::<Vec<_>>(),
        "clusterChanges": plan.changes.iter().map(|change| cluster_change(plan, change)).collect::<Vec<_>>(),
        "newFindings": head.collect::<Vec<_>>(),
        "fixedFindings": base.collect::<Vec<_>>(),
    });
    if let Some(assumed) = plan.assumed {
        let words = assumed.words().into_iter().map(|(key, value)| (key.to_owned(), json!(value)));
        body["assumed"] = Value::Object(words.collect());
        body["baseTarget"] = target(plan.base_world);
    }
    answer(header("plan", plan.at, Some(plan.head_world), plan.not_checked), body)
}

/// The last three are more than the sentences of `consequences` say.
fn cluster_change(plan: &Plan<'_>, change: &ClusterChange) -> Value {
    let notes = change.notes.iter().map(|note| {
        json!({
            "id": note.id,
            "severity": note.severity.name(),
            "what": note.what,
            "concerns": note.concerns,
            "before": note.before,
            "after": note.after,
            "source": note.source,
        })
    });
    json!({
        "cluster": change.cluster.as_deref(),
        "what": change.what,
        "before": change.before,
        "after": change.after,
        "consequences": change.consequences(),
        "severity": change.severity().name(),
        "notes": notes.collect::<Vec<_>>(),
        "location": location(&plan.head_world.snapshot, change.from.as_ref()),
    })
}

fn counts(effects: &[&Effect]) -> Value {
    let now = |effect: &&&Effect| effect.when.is_none();
    let count = |severity| effects.iter().filter(now).filter(|effect| effect.severity == severity).count();
    json!({
        "disruptive": count(Severity::Disruptive),
        "notable": count(Severity::Notable),
        "routine": count(Severity::Routine),
    })
}

fn one(plan: &Plan<'_>, effect: &Effect) -> Value {
    let causes = effect.causes.iter().map(|cause| {
        let world = if cause.side == Side::Base { plan.base_world } else { plan.head_world };
        json!({"location": location(&world.snapshot, Some(&cause.location)), "side": cause.side.name()})
    });
    let mut details = effect.details.clone();
    if let Some(later) = &effect.when {
        details.insert("when".to_owned(), json!(later.name()));
    }
    let mut named = object(&effect.object);
    if let crate::world::ApplyTarget::Remote(name) = &effect.target {
        named["target"] = json!(&**name);
    }
    json!({
        "id": effect.id(),
        "cluster": effect.cluster.as_deref(),
        "category": effect.category().name(),
        "effect": effect.effect.name(),
        "severity": effect.severity.name(),
        "object": named,
        "field": effect.field,
        "before": effect.before,
        "after": effect.after,
        "reason": effect.reason,
        "consequences": effect.consequences,
        "details": details,
        "causes": causes.collect::<Vec<_>>(),
    })
}
