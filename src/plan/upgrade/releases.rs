//! The Helm that helm-controller embeds, and what its charts come to with another one.
//! Source: go.mod of each tag of helm-controller; see [`crate::build::helm`].

use super::{Look, Note};
use crate::build::helm::{HelmLine, Nulls};
use crate::lang::text::counted;
use crate::lang::yaml::{Known, NodeRef};
use crate::model::Severity;
use crate::world::build::BuiltObject;
use crate::world::releases::Release;

/// One note where the line of Helm differs, or what it does with null.
pub(super) fn note(look: &Look<'_, '_>) -> Option<Note> {
    let (old, new) = (look.base.settings.helm(), look.head.settings.helm());
    if old == new || look.old.is_none() || look.head.releases.is_empty() {
        return None;
    }
    let mut differ = Vec::new();
    let (mut same, mut absent, mut with_null) = (0, 0, Vec::new());
    for after in &look.head.releases {
        let Some(before) =
            look.base.releases.iter().find(|one| one.id == after.id && one.target == after.target)
        else {
            continue;
        };
        if has_null(after.node.get_ref().at("/spec/values"), 0) {
            with_null.push(after.id.to_string());
        }
        match is_same(before, after) {
            Some(true) => same += 1,
            Some(false) => differ.push(after.id.to_string()),
            None => absent += 1,
        }
    }
    let mut what = match old.line == new.line {
        false => {
            format!("helm-controller renders with Helm {} instead of {}", name(new.line), name(old.line))
        }
        true => format!("Helm {} does otherwise with null in values", name(new.line)),
    };
    if differ.is_empty() && same > 0 {
        what.push_str(&format!(" ({} whose charts are here come out the same)", counted(same, "release")));
    }
    if absent > 0 {
        what.push_str(&format!(" (of {} the chart is not here)", counted(absent, "release")));
    }
    let mut concerns: Vec<String> = differ.iter().map(|id| format!("{id} (comes out otherwise)")).collect();
    if old.nulls != new.nulls {
        let nulls = with_null.into_iter().filter(|id| !differ.contains(id));
        concerns.extend(nulls.map(|id| format!("{id} (null in its values)")));
    }
    concerns.sort();
    let before = match (old.nulls == new.nulls || concerns.is_empty(), absent) {
        (false, _) => nulls(new.nulls).to_owned(),
        (true, 0) => String::new(),
        (true, _) => {
            "`forebay chart pull` fetches the charts, and the plan then says which come out otherwise"
                .to_owned()
        }
    };
    Some(Note {
        id: "helm-line",
        severity: if concerns.is_empty() { Severity::Routine } else { Severity::Notable },
        what,
        concerns,
        before,
        after: String::new(),
        source: "https://github.com/fluxcd/helm-controller/blob/main/go.mod",
    })
}

fn name(line: HelmLine) -> &'static str {
    match line {
        HelmLine::V3_17 => "3",
        HelmLine::V4_1 => "4.1",
        HelmLine::V4_2 => "4.2",
    }
}

/// What to look at where null is treated otherwise.
fn nulls(after: Nulls) -> &'static str {
    match after {
        Nulls::Original => {
            "a nested null for a key that the chart lacks stays, one over null of the chart deletes it"
        }
        Nulls::Deleting => {
            "a nested null for a key that the chart lacks deletes it: write what the template wants to see"
        }
        Nulls::Keeping => "a nested null over null of the chart stays null: leave such keys out",
        Nulls::Cleaning => {
            "a nested null over null of the chart stays null, and nulls of a chart's own values.yaml vanish: \
             leave such keys out"
        }
    }
}

/// Whether a release renders to the same; `None` where its chart is not here.
fn is_same(before: &Release, after: &Release) -> Option<bool> {
    before.outcome.as_ref()?;
    after.outcome.as_ref()?;
    if before.refusal().is_some() != after.refusal().is_some() {
        return Some(false);
    }
    let equal = |(one, two): (&std::sync::Arc<BuiltObject>, &std::sync::Arc<BuiltObject>)| {
        std::sync::Arc::ptr_eq(one, two)
            || (one.id == two.id && one.node.get_ref().same_value(two.node.get_ref()) != Known::Value(false))
    };
    Some(before.objects.len() == after.objects.len() && before.objects.iter().zip(&after.objects).all(equal))
}

/// Levels of values that are looked into.
const DEPTH: u32 = 64;

fn has_null(node: Option<NodeRef<'_>>, depth: u32) -> bool {
    let Some(node) = node.filter(|_| depth < DEPTH) else { return false };
    node.is_null()
        || node.entries().any(|entry| has_null(Some(entry.value), depth + 1))
        || node.items().any(|item| has_null(Some(item), depth + 1))
}
