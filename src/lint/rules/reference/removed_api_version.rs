//! `removed-api-version`: a version that the cluster's Flux no longer serves.
//! Source: CHANGELOG of each controller; the table in `flux/kinds`.

use crate::lang::yaml::NodeRef;
use crate::lang::yaml::edit::{Content, Operation};
use crate::lint::{Applicability, Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::kinds;
use crate::model::kinds::FluxKind;

pub(crate) static RULE: Rule = Rule {
    id: "removed-api-version",
    group: Group::Reference,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "an apiVersion that the cluster's Flux does not serve",
    fix: FixAvailability::Sometimes,
    docs: include_str!("../../../../tests/rules/reference/removed-api-version.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let Some(kind) = kinds::of(view.id) else { return };
    let version = view.id.version();
    let Some(served) = kind.versions.iter().find(|known| known.version == version) else { return };
    let Some(removed) = served.removed else { return };
    let is_applied =
        !view.beyond().world.has_entry || view.memberships().any(|(cluster, _)| cluster.name.is_some());
    let lacks: Vec<Option<bool>> = view.settings().map(|settings| settings.flux_at_least(removed)).collect();
    let level = match lacks.as_slice() {
        [_, ..] if lacks.iter().all(|lacks| *lacks == Some(true)) => match is_applied {
            true => Level::Error,
            false => Level::Warning,
        },
        // The oldest cluster decides: the text must suit all of them.
        [_, ..] if lacks.iter().all(Option::is_some) => return,
        _ if view.effective.is_some() => Level::Warning,
        // What nothing applies fails nowhere.
        _ => Level::Info,
    };
    let newest = kind.versions[0];
    let Some(node) = view.node.at("/apiVersion") else { return };
    let Some(location) = node.location() else { return };
    let gone = gone_field(kind, view.node);
    let words = match level {
        Level::Error => format!("{}: {version} is no longer served", view.id),
        _ => format!("{}: {version} is not served since Flux 2.{removed}", view.id),
    };
    let finding = report.report(location.clone(), words);
    finding
        .level(level)
        .why(match level {
            Level::Error => format!("Flux 2.{removed} removed it: the API server has no such kind"),
            _ if !is_applied && lacks.contains(&Some(true)) => {
                format!("Flux 2.{removed} removed it, and the clusters here run that; no cluster applies it")
            }
            _ => format!("it fails from Flux 2.{removed} on; the version of this cluster is unknown"),
        })
        .object(view.id)
        .field("/apiVersion", version);
    match gone {
        Some(field) => {
            finding.help(format!("use {}/{}, which has no `{field}` any more", kind.group, newest.version));
        }
        None => {
            finding.help(format!("use {}/{}", kind.group, newest.version));
            let applicability =
                if level == Level::Error { Applicability::Safe } else { Applicability::Unsafe };
            let version = format!("{}/{}", kind.group, newest.version);
            finding.fix(format!("change apiVersion to {version}"), applicability, node, |pointer| {
                vec![Operation::Set {
                    pointer: pointer.to_owned(),
                    value: Content::str(version.clone()),
                    comment: None,
                }]
            });
        }
    }
}

/// A field of the object that the newest version no longer has.
pub(crate) fn gone_field(kind: &FluxKind, node: NodeRef<'_>) -> Option<&'static str> {
    kind.gone_fields.iter().copied().find(|pattern| match pattern.split_once("/*") {
        Some((list, rest)) => node.items_at(list).any(|item| item.at(rest).is_some()),
        None => node.at(pattern).is_some(),
    })
}
