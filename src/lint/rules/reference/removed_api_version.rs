//! `removed-api-version`: a version that the cluster's Flux no longer serves.
//! Source: CHANGELOG of each controller; the table in `flux/kinds`.

use crate::lang::yaml::NodeRef;
use crate::lang::yaml::edit::{Content, Operation};
use crate::lint::{Applicability, Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::kinds;
use crate::model::kinds::{FluxKind, ServedVersion};
use crate::world::Cluster;

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
    let named = || view.memberships().any(|(cluster, _)| cluster.name.is_some());
    let is_applied = !view.beyond().world.has_entry || named();
    let clusters: Vec<&Cluster> = view.memberships().map(|(cluster, _)| cluster).collect();
    // What nothing applies reaches no cluster; the ones that are here say what it would meet.
    let applying: Vec<&Cluster> =
        clusters.iter().copied().filter(|cluster| !named() || cluster.name.is_some()).collect();
    let lacking = |lacks: Option<bool>| -> Vec<&Cluster> {
        let is_so = |cluster: &&Cluster| cluster.settings.flux_at_least(removed) == lacks;
        applying.iter().copied().filter(is_so).collect()
    };
    let (gone, unknown) = (lacking(Some(true)), lacking(None));
    let mut tell = |level, clusters: &[&Cluster], why: String| {
        let suits = suiting(kind, &applying);
        told(view, (kind, removed, suits), (level, clusters), why, report);
    };
    let removes = format!("Flux 2.{removed} removed it");
    let fails = format!("it fails from Flux 2.{removed} on");
    match is_applied {
        true => {
            if !gone.is_empty() {
                tell(Level::Error, &gone, format!("{removes}: the API server has no such kind"));
            }
            if !unknown.is_empty() {
                tell(Level::Warning, &unknown, format!("{fails}; the version of this cluster is unknown"));
            }
        }
        false if !gone.is_empty() && gone.len() == applying.len() => {
            let why = format!("{removes}, and the clusters here run that; no cluster applies it");
            tell(Level::Warning, &gone, why);
        }
        false if !applying.is_empty() && unknown.is_empty() => {}
        // What nothing applies fails nowhere.
        false => {
            let level = if view.effective.is_some() { Level::Warning } else { Level::Info };
            tell(level, &unknown, format!("{fails}; no cluster applies it"));
        }
    }
}

/// The newest version of a kind that all these clusters may serve.
fn suiting(kind: &FluxKind, clusters: &[&Cluster]) -> Option<&'static ServedVersion> {
    let has = |version: &ServedVersion, cluster: &&Cluster| {
        let is_gone = |removed| cluster.settings.flux_at_least(removed) == Some(true);
        cluster.settings.flux_at_least(version.since) != Some(false) && !version.removed.is_some_and(is_gone)
    };
    kind.versions.iter().find(|version| clusters.iter().all(|cluster| has(version, cluster)))
}

fn told(
    view: &ObjectView<'_>,
    (kind, removed, suits): (&FluxKind, u32, Option<&ServedVersion>),
    (level, clusters): (Level, &[&Cluster]),
    why: String,
    report: &mut Reporter<'_>,
) {
    let version = view.id.version();
    let Some(node) = view.node.at("/apiVersion") else { return };
    let Some(location) = node.location() else { return };
    let words = match level {
        Level::Error => format!("{}: {version} is no longer served", view.id),
        _ => format!("{}: {version} is not served since Flux 2.{removed}", view.id),
    };
    let finding = report.report(location.clone(), words);
    finding.of_clusters(clusters.iter().copied());
    finding.level(level).why(why).object(view.id).field("/apiVersion", version);
    let newest = &kind.versions[0];
    let Some(suits) = suits else {
        let (group, version) = (kind.group, newest.version);
        finding.help(format!(
            "use {group}/{version} once all clusters that apply it have Flux 2.{}: no version is served by \
             all of them",
            newest.since
        ));
        return;
    };
    let to = format!("{}/{}", kind.group, suits.version);
    if let Some(field) = gone_field(kind, view.node) {
        finding.help(format!("use {to}, which has no `{field}` any more"));
        return;
    }
    finding.help(format!("use {to}"));
    let applicability = if level == Level::Error { Applicability::Safe } else { Applicability::Unsafe };
    finding.fix(format!("change apiVersion to {to}"), applicability, node, |pointer| {
        vec![Operation::Set { pointer: pointer.to_owned(), value: Content::str(to.clone()), comment: None }]
    });
}

/// A field of the object that the newest version no longer has.
pub(crate) fn gone_field(kind: &FluxKind, node: NodeRef<'_>) -> Option<&'static str> {
    kind.gone_fields.iter().copied().find(|pattern| match pattern.split_once("/*") {
        Some((list, rest)) => node.items_at(list).any(|item| item.at(rest).is_some()),
        None => node.at(pattern).is_some(),
    })
}
