//! What the API servers of an object's clusters make of it: one validation for each
//! schema that judges it, shared by the rules of the group `schema`.

use super::{Context, Level, ObjectView};
use crate::config::Feature;
use crate::model::Maker;
use crate::schema::{Fault, Options, Product, Schema, Violation, table, validate};
use crate::simulate::gating::objects::{are_available, is_taken};
use crate::world::Cluster;
use crate::world::schemas::{Basis, Judge, KindSchema, is_stated, is_whole};
use std::sync::Arc;

/// What came of an object.
#[derive(Default)]
pub struct Verdict<'a> {
    /// What some API server refuses or drops, in the order of the object.
    pub faults: Vec<Judged<'a>>,
    /// A cluster whose version doesn't have the object's kind.
    pub not_served: Option<NotServed<'a>>,
    /// Whether nothing knows its kind.
    pub unknown_kind: bool,
    /// CEL expressions that could not be judged.
    pub unknown_rules: Vec<String>,
}

/// Something that an API server refuses or drops.
pub struct Judged<'a> {
    /// What, and where.
    pub violation: Violation<'a, 'a>,
    /// How bad it is, in the cluster where it is worst.
    pub level: Level,
    /// The schema of the whole object.
    pub root: &'a Schema,
    /// Who says so.
    pub basis: Basis,
    /// Whether the kind is Kubernetes' own.
    pub native: bool,
    /// Whether kustomize-controller brings the object into Kubernetes' own types
    /// before it applies it, and so drops what they don't have.
    pub normalised: bool,
    /// Names of the clusters where it is so.
    pub clusters: Vec<Arc<str>>,
    /// A cluster where it is so.
    pub cluster: Option<&'a Cluster>,
    /// Releases that take it, where the cluster's own doesn't.
    pub taken: Option<Taken>,
    /// The file with the definition, where nothing here applies it.
    pub file: Option<&'a Arc<str>>,
}

/// Releases that take what the cluster's own doesn't.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It came later: since this release.
    Since(&'static str),
    /// It went: this release was the last.
    Until(&'static str),
}

/// A kind that a cluster's version doesn't have.
pub struct NotServed<'a> {
    pub cluster: &'a Cluster,
    pub product: Product,
    /// The first release that has it, when it is a later one.
    pub since: Option<&'static str>,
    /// How bad it is.
    pub level: Level,
}

/// Judge an object by what each of its clusters knows.
pub(super) fn judge<'a>(view: &ObjectView<'a>, context: &'a Context<'a>) -> Verdict<'a> {
    let mut verdict = Verdict::default();
    let Some(effective) = view.effective else {
        judge_unapplied(&mut verdict, view, context);
        return verdict;
    };
    let mut known: Vec<(Vec<*const Schema>, Options, LevelAndGates, Basis)> = Vec::new();
    for (index, member) in &effective.members {
        let cluster = &context.world.clusters[*index as usize];
        let member = &cluster.members[*member as usize];
        let is_by_flux = matches!(member.maker, Maker::Kustomization(_) | Maker::ResourceSet(_));
        let is_applied = is_stated(cluster) && is_by_flux;
        match context.world.schemas.of_member(context.world, *index as usize, &member.target, view.id) {
            KindSchema::Judge(judge) if !is_meant(view, &judge) => verdict.unknown_kind = true,
            KindSchema::Judge(judge) => {
                let level = if is_applied { level_of(&judge) } else { Level::Warning };
                let options = Options { partial: !is_whole(cluster, member), operator: judge.operator };
                let schemas: Vec<*const Schema> =
                    judge.schemas.iter().map(|schema| std::ptr::from_ref(*schema)).collect();
                let level = (level, are_available(&cluster.settings));
                let key = (schemas, options, level, judge.basis);
                if known.contains(&key) {
                    // Judged already: only the name of the cluster is new.
                    for fault in verdict
                        .faults
                        .iter_mut()
                        .filter(|fault| (fault.basis, fault.cluster.is_some()) == (judge.basis, true))
                    {
                        fault.clusters.extend(cluster.name.clone());
                    }
                    continue;
                }
                take_in(&mut verdict, view, &judge, options, Some(cluster), level);
                known.push(key);
            }
            KindSchema::NotServed { kind, release } => {
                let releases = kind.releases();
                let later = (release + 1..releases.len()).find(|later| releases[*later].served);
                verdict.not_served.get_or_insert(NotServed {
                    cluster,
                    product: kind.product,
                    since: later.map(|later| kind.product.releases()[later]),
                    level: if is_applied { Level::Error } else { Level::Warning },
                });
            }
            KindSchema::Unknown => verdict.unknown_kind = true,
            KindSchema::Anything => {}
        }
    }
    for fault in &mut verdict.faults {
        fault.clusters.sort();
        fault.clusters.dedup();
    }
    verdict
}

/// Judge an object that nothing applies, by the definitions that are near.
fn judge_unapplied<'a>(verdict: &mut Verdict<'a>, view: &ObjectView<'a>, context: &'a Context<'a>) {
    match context.world.schemas.of_orphan(context.world, view.id) {
        KindSchema::Judge(judge) if !is_meant(view, &judge) => verdict.unknown_kind = true,
        KindSchema::Judge(judge) => {
            let options = Options { partial: true, operator: judge.operator };
            let gates = context.config.target.feature(Feature::Gates);
            let gates = gates.is_some_and(|written| written.value);
            take_in(verdict, view, &judge, options, None, (Level::Warning, gates));
        }
        KindSchema::Unknown => verdict.unknown_kind = true,
        KindSchema::NotServed { .. } | KindSchema::Anything => {}
    }
}

/// Whether a definition that nothing applies is likely the one that is served. A
/// repository's own definitions have a directory of their own, such as `config/crd`; those
/// of an installation of something else are about what lies beside it.
fn is_meant(view: &ObjectView<'_>, judge: &Judge<'_>) -> bool {
    let (Some(definition), Some(place)) = (judge.file, view.node.location()) else { return true };
    let object = place.file.shown();
    let top = |path: &str| path.split_once('/').map(|(top, _)| top.to_owned());
    let is_own = |part: &str| matches!(part, "crd" | "crds");
    top(definition) == top(object) || definition.split('/').any(is_own)
}

/// How bad a fault is in a cluster, and whether gates are available there.
type LevelAndGates = (Level, bool);

/// The level of what a schema refuses where a stated cluster applies the object.
fn level_of(judge: &Judge<'_>) -> Level {
    if judge.is_certain() { Level::Error } else { Level::Warning }
}

fn take_in<'a>(
    verdict: &mut Verdict<'a>,
    view: &ObjectView<'a>,
    judge: &Judge<'a>,
    options: Options,
    cluster: Option<&'a Cluster>,
    (level, gates): LevelAndGates,
) {
    let Some(first) = judge.schemas.first() else { return };
    let mut report = judge.report(view.node, None, options);
    verdict.unknown_rules.append(&mut report.unknown_rules);
    // Roles are applied as they are (fluxcd/pkg `ssa/normalize`).
    let is_role =
        matches!((view.id.group(), &*view.id.kind), ("rbac.authorization.k8s.io", "Role" | "ClusterRole"));
    let is_proposed = |violation: &Violation<'_, '_>| {
        matches!(violation.fault, Fault::UnknownField { .. }) && is_taken(view.id, &violation.pointer, gates)
    };
    for violation in report.violations.into_iter().filter(|violation| !is_proposed(violation)) {
        let taken = match judge.basis {
            Basis::Version { release, .. } => taken_by(view, release, &violation, options),
            Basis::Cluster => None,
            _ => None,
        };
        let clusters: Vec<Arc<str>> = cluster.and_then(|cluster| cluster.name.clone()).into_iter().collect();
        let same = verdict.faults.iter_mut().find(|known| known.violation.is_same(&violation));
        match same {
            Some(known) => {
                known.clusters.extend(clusters);
                known.level = known.level.max(level);
            }
            None => verdict.faults.push(Judged {
                violation,
                level,
                root: first,
                native: judge.native,
                basis: judge.basis,
                normalised: judge.native && !is_role,
                clusters,
                cluster,
                taken,
                file: judge.file,
            }),
        }
    }
}

/// Which releases take what this one doesn't.
fn taken_by(
    view: &ObjectView<'_>,
    release: usize,
    violation: &Violation<'_, '_>,
    options: Options,
) -> Option<Taken> {
    if !matches!(violation.fault, Fault::UnknownField { .. } | Fault::Malformed { .. }) {
        return None;
    }
    let kind = table::find(view.id.group(), view.id.version(), &view.id.kind)?;
    let releases = kind.releases();
    let takes = |release: usize| {
        let schema = releases[release].schema()?;
        let report = validate(view.node, schema, options);
        // A field is there whatever is wrong with its value, and where it is not there
        // no value of it is taken.
        let is_field = matches!(violation.fault, Fault::UnknownField { .. });
        let has_field = |other: &Violation<'_, '_>| {
            is_field && other.pointer == violation.pointer && !other.is_same(violation)
        };
        let refuses = |other: &Violation<'_, '_>| other.covers(violation) && !has_field(other);
        (!report.violations.iter().any(refuses)).then_some(release)
    };
    let names = kind.product.releases();
    let later = (release + 1..releases.len()).find_map(takes);
    let earlier = || (0..release).rev().find_map(takes);
    later
        .map(|since| Taken::Since(names[since]))
        .or_else(|| earlier().map(|until| Taken::Until(names[until])))
}
