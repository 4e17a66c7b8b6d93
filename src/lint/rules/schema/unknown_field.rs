//! `unknown-field`: a field that the kind doesn't have.
//! Source: structured-merge-diff `typed/validation.go` ("field not declared in
//! schema") in a server-side apply; fluxcd/pkg `ssa/normalize` (`UnstructuredWithScheme`)
//! brings Kubernetes' own kinds into their Go types, Role and ClusterRole left out.

use super::{dotted, faults, fields_of, is_key_of, level, of_versions, other_level, refusal, title};
use crate::lang::text::nearest;
use crate::lang::yaml::edit::{Content, Operation};
use crate::lang::yaml::{Dialect, EntryRef, NodeRef, Scalar};
use crate::lint::metadata::{move_into, rename};
use crate::lint::patches::Applier;
use crate::lint::validity::Judged;
use crate::lint::{Applicability, Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::{ObjectId, Unchecked};
use crate::schema::{Fault, Product, Schema, TableKind, schema_at, table};
use crate::simulate::gating::objects::is_taken;
use crate::world::schemas::Basis;

pub(crate) static RULE: Rule = Rule {
    id: "unknown-field",
    group: Group::Schema,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a field that the kind does not have",
    fix: FixAvailability::Sometimes,
    docs: include_str!("../../../../tests/rules/schema/unknown-field.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let verdict = view.verdict();
    if verdict.unknown_kind && is_manifest(view) {
        let kind = format!("{} {}", view.id.api_version, view.id.kind);
        report.not_checked(Unchecked::KindWithoutSchema, view.node.location(), kind);
        spec_in_metadata(view, report);
    }
    for fault in faults(view, verdict) {
        let Fault::UnknownField { entry, parent } = &fault.violation.fault else { continue };
        if fault.taken.is_none() {
            unknown(view, fault, entry, parent, report);
        }
    }
}

/// Whether a field is that of the gating proposal.
fn is_proposed(id: &ObjectId, pointer: &str) -> bool {
    is_taken(id, pointer, true)
}

/// A `spec` that was indented too far: what `metadata` holds is known whatever the kind.
fn spec_in_metadata(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let entries = view.node.entries_at("/metadata");
    let Some(entry) = entries.into_iter().find(|entry| &*entry.key == "spec") else { return };
    let Some(location) = entry.key_location().filter(|_| view.node.get("spec").is_none()) else { return };
    report
        .report(location, title(view.id, "unknown field ", "/metadata/spec", ""))
        .level(Level::Warning)
        .why("`metadata` has no `spec` in any kind, and the object has none of its own: the API server refuses it")
        .help("write `spec` at the level of `metadata`")
        .object(view.id)
        .field("/metadata/spec", "spec");
}

/// Another version of the kind that has this field.
fn other_version(view: &ObjectView<'_>, pointer: &str) -> Option<&'static str> {
    let (parent, name) = pointer.rsplit_once('/')?;
    let others = table::kinds().iter().rev().filter(|kind| {
        kind.group() == view.id.group()
            && kind.kind() == &*view.id.kind
            && kind.version() != view.id.version()
    });
    let has = |kind: &&TableKind| {
        let newest = kind.releases().into_iter().rev().find_map(|release| release.schema());
        newest.and_then(|schema| schema_at(schema, parent)).is_some_and(|map| map.property(name).is_some())
    };
    others.into_iter().find(has).map(TableKind::version)
}

/// Files of other tools have the same shape.
fn is_manifest(view: &ObjectView<'_>) -> bool {
    let group = view.id.group();
    !view.id.name.is_empty() && group != "kustomize.config.k8s.io" && group != "backstage.io"
}

/// What to do about a field of a proposal.
const PROPOSED: &str = "remove it: it is of a proposal that no released Flux has (docs/proposals.md); what holds \
     deployments back today are suspend, a ResourceSetInputProvider's schedule and CronJobs. With \
     controllers that have gates, apply their CRDs or set target.features.gates: enabled";

fn unknown<'a>(
    view: &ObjectView<'a>,
    fault: &Judged<'a>,
    entry: &EntryRef<'a>,
    parent: &'a Schema,
    report: &mut Reporter<'_>,
) {
    let pointer = &fault.violation.pointer;
    let Some(location) = entry.key_location().or_else(|| view.node.location_at(pointer)) else { return };
    let near = nearest(&entry.key, parent.names()).filter(|_| !is_proposed(view.id, pointer));
    let elsewhere = match near {
        Some(_) => None,
        None if is_proposed(view.id, pointer) => None,
        None => other_level(fault.root, view, fault, &entry.key, parent),
    };
    if is_unsure(view, fault, near.is_some() || elsewhere.is_some()) {
        let what = format!("{} {}: {pointer}", view.id.api_version, view.id.kind);
        report.not_checked(Unchecked::KindWithoutSchema, Some(location), what);
        return;
    }
    let siblings = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
    let is_there = near.is_some_and(|near| view.node.at(siblings).is_some_and(|map| map.get(near).is_some()));
    let help = match (near, &elsewhere) {
        _ if is_proposed(view.id, pointer) => PROPOSED.to_owned(),
        (Some(near), _) if is_there => format!("`{near}` is there already: remove this one"),
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, Some(other)) => format!("it belongs to another level: `{}`", dotted(other)),
        (None, None) => match (other_version(view, pointer), fields_of(parent)) {
            (Some(version), _) => format!("{version} has it; write it as {} does", view.id.version()),
            (None, Some(fields)) => format!("remove it; there are {fields}"),
            (None, None) => "remove it, or correct its name".to_owned(),
        },
    };
    let finding = report
        .report(location, title(view.id, "unknown field ", pointer, ""))
        .level(level(fault))
        .why(why(view, fault))
        .help(help)
        .object(view.id)
        .field(pointer.as_str(), &*entry.key);
    finding.clusters.clone_from(&fault.clusters);
    match (near, elsewhere) {
        (Some(near), _) if !is_there => {
            finding.fix(format!("rename it to {near}"), Applicability::Safe, entry.value, |at| {
                rename(at, &entry.key, near)
            });
        }
        (None, Some(other)) => {
            finding.fix(format!("move it to {}", dotted(&other)), Applicability::Unsafe, entry.value, |at| {
                move_to(at, pointer, &other, entry)
            });
        }
        _ => {}
    }
}

/// Whether the cluster may well have the field; `is_meant`: it is like one that is known.
fn is_unsure(view: &ObjectView<'_>, fault: &Judged<'_>, is_meant: bool) -> bool {
    match fault.basis {
        // Whoever installs Gateway API chooses the channel.
        Basis::Any(Product::Kubernetes) => !fault.native && is_experimental(view, &fault.violation.pointer),
        Basis::Any(Product::Operator(_)) => !is_meant && FORKED.contains(&view.id.group()),
        _ => false,
    }
}

/// Groups of operators of which clusters run forks with more fields (VolSync with Kopia), or
/// whose definitions the table doesn't have release by release.
const FORKED: [&str; 2] = ["cilium.io", "volsync.backube"];

/// Whether the experimental channel of Gateway API has a field.
fn is_experimental(view: &ObjectView<'_>, pointer: &str) -> bool {
    let Some((parent, name)) = pointer.rsplit_once('/') else { return false };
    let kind = table::experimental(view.id.group(), view.id.version(), &view.id.kind);
    kind.is_some_and(|kind| {
        let mut schemas = kind.releases().into_iter().filter_map(|release| release.schema());
        schemas.any(|schema| schema_at(schema, parent).is_some_and(|map| map.property(name).is_some()))
    })
}

fn why(view: &ObjectView<'_>, fault: &Judged<'_>) -> String {
    let pointer = &fault.violation.pointer;
    if view.operation.is_some_and(|operation| operation.fails_without(pointer)) {
        let id = &view.id.kind;
        format!("a JSON patch fails where its path is not there, and no {id} has it: the build fails with it")
    } else if fault.normalised {
        let (would, kind) = (if view.is_built() { "drops" } else { "would drop" }, &view.id.kind);
        match view.applier {
            Applier::Kustomize => {
                format!("kustomize-controller {would} it before the apply: the {kind} runs without it")
            }
            Applier::Operator => {
                format!("flux-operator drops it before the apply: the {kind} runs without it")
            }
            Applier::Helm => format!(
                "Helm's validation of the {kind} fails the release, and where it is off the {kind} runs without it"
            ),
        }
    } else {
        format!("{}{}", of_versions(fault), refusal(view, fault))
    }
}

/// Moves an entry of a document to another level of the same object.
fn move_to(at: &str, pointer: &str, other: &str, entry: &EntryRef<'_>) -> Vec<Operation> {
    let whole = at.strip_suffix(pointer).filter(|_| is_key_of(at, &entry.key));
    let (Some(object), Some(value)) = (whole, content(entry.value)) else { return Vec::new() };
    let map = other.rsplit_once('/').map_or("", |(map, _)| map);
    move_into(at, format!("{object}{map}"), &entry.key, value)
}

fn content(node: NodeRef<'_>) -> Option<Content> {
    if node.is_unknown() {
        return None;
    }
    if node.is_map() {
        let entries = node.entries().map(|entry| Some((entry.key.to_string(), content(entry.value)?)));
        return entries.collect::<Option<_>>().map(Content::Map);
    }
    if node.is_seq() {
        return node.items().map(content).collect::<Option<_>>().map(Content::Seq);
    }
    Some(match node.scalar(Dialect::GoYamlV3) {
        Scalar::Null => Content::Null,
        Scalar::Bool(value) => Content::Bool(value),
        Scalar::Int(value) => Content::Int(value),
        Scalar::Str(text) | Scalar::Timestamp(text) => Content::Str(text.into_owned()),
        Scalar::Uint(_) | Scalar::Float(_) => return None,
    })
}
