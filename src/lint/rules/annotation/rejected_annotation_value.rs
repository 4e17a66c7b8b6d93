//! `rejected-annotation-value`: a value with which the object is refused.
//! Source: Cluster API `core/webhooks/admission` (`validateSkippedMachineSetPreflightChecks`,
//! the upgrade concurrency of a Cluster, the defaulting of replicas from the
//! autoscaler's annotations), KubeadmControlPlane's reading of the certificates'
//! expiry; fluxcd/pkg `auth/gcp`.

use super::{is_setting, known_entries, reading};
use crate::lint::metadata::{clipped, known_text, title, write_string};
use crate::lint::{Applicability, Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::keys::{Grammar, Unread, ValueReading};

pub(crate) static RULE: Rule = Rule {
    id: "rejected-annotation-value",
    group: Group::Annotation,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "an annotation value with which the object is refused",
    fix: FixAvailability::Sometimes,
    docs: include_str!("../../../../tests/rules/annotation/rejected-annotation-value.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    for known in known_entries(view) {
        let key = known.key;
        if !known.in_its_field()
            || !known.on_its_kind(view.id)
            || !is_setting(key)
            || view.id.group() == "bootstrap.cluster.x-k8s.io" && key.unread == Unread::Rejected
            || reading(known.entry, key.value) != Some(ValueReading::Unread)
        {
            continue;
        }
        let of_a_topology = matches!(&*view.id.kind, "Cluster" | "ClusterClass") && !known.map.own;
        let consequence = match key.unread {
            // Below `spec.template` the annotations go to Machines, where nobody reads it.
            Unread::Rejected if !known.map.own && !of_a_topology => continue,
            Unread::Rejected if of_a_topology && matches!(key.value, Grammar::Int(..)) => continue,
            Unread::Rejected if of_a_topology => "the topology reconcile of the Cluster fails".to_owned(),
            // Read only to default the replicas.
            Unread::Rejected
                if key.name.contains("autoscaler") && view.node.at("/spec/replicas").is_some() =>
            {
                continue;
            }
            Unread::Rejected => "Cluster API's webhook rejects the object".to_owned(),
            Unread::Fails => format!("{} fails on it", key.reader),
            Unread::Ignored | Unread::Default(_) => continue,
        };
        let (Some(value), Some(location)) = (known_text(known.entry.value), known.entry.value.location())
        else {
            continue;
        };
        let wanted = key.value.wanted().unwrap_or_default();
        let finding = report
            .report(location, title(view.id, "value of ", known.short(), " is refused"))
            .why(format!("{consequence}: `{}` takes {wanted}", known.entry.key))
            .help(help(key.value, &value))
            .label(clipped(&value, 40))
            .object(view.id)
            .field(known.pointer(), &*value);
        if let Some((list, applicability)) = corrected(key.value, &value) {
            let write = |pointer: &str| write_string(pointer, &list);
            finding.fix(format!("write `{}`", clipped(&list, 60)), applicability, known.entry.value, write);
        }
    }
}

/// The list with each word that is unknown in place of the one that was meant;
/// safe where only the case of letters or a comma too many was wrong.
fn corrected(grammar: Grammar, value: &str) -> Option<(String, Applicability)> {
    let Grammar::Words(words) = grammar else { return None };
    let mut applicability = Applicability::Safe;
    let mut list = String::new();
    for part in value.split(',') {
        let word = part.trim();
        if word.is_empty() {
            continue;
        }
        let known = meant(words, word)?;
        if !known.eq_ignore_ascii_case(word) {
            applicability = Applicability::Unsafe;
        }
        let blanks = &part[..part.len() - part.trim_start().len()];
        if !list.is_empty() {
            list.push(',');
            list.push_str(blanks);
        }
        list.push_str(known);
    }
    (!list.is_empty()).then_some((list, applicability))
}

/// The known word that is this one, or was probably meant by it.
fn meant(words: &[&'static str], word: &str) -> Option<&'static str> {
    let exact = words.iter().find(|known| *known == &word);
    let same = || words.iter().find(|known| known.eq_ignore_ascii_case(word));
    let longer = || words.iter().find(|known| known.starts_with(word));
    exact
        .or_else(same)
        .or_else(longer)
        .copied()
        .or_else(|| crate::lang::text::suggest(word, words.iter().copied()))
}

fn help(grammar: Grammar, value: &str) -> String {
    let Grammar::Words(words) = grammar else { return "correct the value, or remove the annotation".into() };
    let unknown = value.split(',').map(str::trim).find(|word| !words.contains(word)).unwrap_or_default();
    if unknown.is_empty() {
        return "remove the comma that nothing follows".into();
    }
    match meant(words, unknown) {
        Some(word) => format!("write `{word}` in place of `{}`", clipped(unknown, 40)),
        None => format!("remove `{}`", clipped(unknown, 40)),
    }
}
