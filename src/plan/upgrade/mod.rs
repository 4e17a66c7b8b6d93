//! What another version of the controllers, or of Kubernetes, changes for a whole cluster,
//! and what to do about it before and after. A commit that raises the version itself and
//! a rehearsal (`--assume`) are told the same.
//!
//! Each room has a file: `rows` and `cluster_api` hold what controllers do otherwise,
//! `gates` their feature gates and flags, `served` API versions and fields, `releases` the
//! Helm that helm-controller embeds, `keys` annotations and labels, `kubernetes` what its
//! API server stops to serve, `proposals` what controllers don't do yet.

mod cluster_api;
mod gates;
mod keys;
mod kubernetes;
mod proposals;
mod releases;
mod rows;
mod served;
mod strict;

use super::{Pair, Placed, is_of_bootstrap};
use crate::config::Feature;
use crate::lang::yaml::{Known, Location, NodeRef};
use crate::model::{ObjectId, Severity, Version};
use crate::simulate::behaviour::{Behaviour, Product};
use crate::world::{ApplyTarget, Cluster};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) use kubernetes::effects;

/// What concerns a cluster as a whole: a version of its controllers, or a feature of them.
#[derive(Clone, Debug)]
pub struct ClusterChange {
    /// The cluster; `None` without entry points.
    pub cluster: Option<Arc<str>>,
    /// The key of `target` in JSON: `flux`, `kubernetes`, `clusterApi`, `gates` and so on.
    pub what: &'static str,
    /// Value before; null where nothing states it.
    pub before: Value,
    /// Value after.
    pub after: Value,
    /// What follows, the worst first.
    pub notes: Vec<Note>,
    /// Where the value after is written; `None` where it is assumed.
    pub from: Option<Location>,
}

/// One thing that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Its name, the same in every answer.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is so from then on, as a clause.
    pub what: String,
    /// What of the repository it concerns, in order.
    pub concerns: Vec<String>,
    /// What to do before; empty for nothing.
    pub before: String,
    /// What to do after it; empty for nothing.
    pub after: String,
    /// Where upstream says so.
    pub source: &'static str,
}

/// Things that are named of those that a note concerns; the rest is counted.
const NAMED: usize = 4;

impl Note {
    /// What is so and what it concerns, on one line.
    pub(crate) fn sentence(&self) -> String {
        let named = self.concerns.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        match self.concerns.len() {
            0 => self.what.clone(),
            count if count <= NAMED => format!("{}: {named}", self.what),
            count => format!("{}: {named}, and {} more", self.what, count - NAMED),
        }
    }
}

impl ClusterChange {
    /// How bad the worst of it is.
    pub fn severity(&self) -> Severity {
        self.notes.iter().map(|note| note.severity).max().unwrap_or(Severity::Routine)
    }

    /// What follows, as JSON lists it: one sentence each.
    pub(crate) fn consequences(&self) -> Vec<String> {
        self.notes.iter().map(Note::sentence).collect()
    }
}

/// A cluster whose version changes.
pub(super) struct Look<'p, 'w> {
    pair: &'p Pair<'w>,
    base: &'w Cluster,
    head: &'w Cluster,
    /// The version before, where it is known.
    old: Option<Version>,
    new: Version,
    flags: gates::ControllerFlags,
}

/// An object before and after, which a row looks at.
pub(super) struct ChangedObject<'s, 'w> {
    id: &'w ObjectId,
    node: NodeRef<'w>,
    look: &'s Look<'s, 'w>,
}

/// Something that controllers do otherwise from a minor version on.
pub(super) struct BehaviourChange {
    id: &'static str,
    behaviour: Behaviour,
    severity: Severity,
    /// Whether an object is one that it concerns.
    concerns: fn(&ChangedObject<'_, '_>) -> bool,
    /// What to do before the upgrade; empty for nothing.
    before: &'static str,
    /// What to do after it; empty for nothing.
    after: &'static str,
    /// The pull request or release note.
    source: &'static str,
}

impl<'w> Look<'_, 'w> {
    /// What is the same kind of thing before and after; others are told as what they are.
    fn kept(&self) -> impl Iterator<Item = &Placed<'w>> {
        let both = self.pair.kept().filter(|(key, ..)| *key.0 == ApplyTarget::Local);
        both.map(|(_, _, after)| after)
    }

    /// Those of the kept that a question concerns, in order.
    fn concerned(&self, concerns: fn(&ChangedObject<'_, '_>) -> bool) -> Vec<String> {
        let subject = |placed: &Placed<'w>| ChangedObject {
            id: &placed.object.id,
            node: placed.object.node.get_ref(),
            look: self,
        };
        let found: BTreeSet<String> = self
            .kept()
            .map(subject)
            .filter(|subject| concerns(subject))
            .map(|subject| subject.id.to_string())
            .collect();
        found.into_iter().collect()
    }
}

/// What changes for the cluster, versions first.
pub(super) fn changes(pair: &Pair<'_>) -> Vec<ClusterChange> {
    let (Some(base), Some(head)) = (pair.base, pair.head) else { return Vec::new() };
    let mut out: Vec<ClusterChange> = Vec::new();
    for product in [Product::Flux, Product::ClusterApi] {
        out.extend(of_product(pair, (base, head), product));
    }
    out.extend(kubernetes::change(pair, (base, head)));
    out.extend(proposals::changes(pair, (base, head)));
    out.extend(of_flag(pair, (base, head), &out));
    for change in &mut out {
        if change.from.as_ref().is_some_and(|from| is_of_bootstrap(head, from)) {
            change.notes.push(by_bootstrap());
        }
        change.notes.sort_by(|one, other| other.severity.cmp(&one.severity).then(one.id.cmp(other.id)));
    }
    out
}

/// A version that stands where only `flux bootstrap` reads it.
fn by_bootstrap() -> Note {
    Note {
        id: "bootstrap",
        severity: Severity::Routine,
        what: "no Kustomization applies this file: it comes with the next `flux bootstrap`".to_owned(),
        concerns: Vec::new(),
        before: String::new(),
        after: String::new(),
        source: "https://fluxcd.io/flux/installation/upgrade/",
    }
}

fn of_product<'w>(
    pair: &Pair<'w>,
    (base, head): (&'w Cluster, &'w Cluster),
    product: Product,
) -> Option<ClusterChange> {
    let (old, new) = (product.version(&base.settings), product.version(&head.settings)?);
    let minor = |version: Version| (version.major, version.minor);
    // What no version is known of may be the same before and after.
    let is_assumed = match product {
        Product::Flux => head.settings.assumed.flux.is_some(),
        Product::ClusterApi => head.settings.assumed.cluster_api.is_some(),
    };
    if old.map(minor) == Some(minor(new)) || (old.is_none() && !is_assumed) {
        return None;
    }
    let look = Look { pair, base, head, old, new, flags: gates::ControllerFlags::of(pair) };
    if old.is_none() && !look.kept().any(|placed| is_of(product, &placed.object.id)) {
        return None;
    }
    let rows = match product {
        Product::Flux => rows::ROWS,
        Product::ClusterApi => cluster_api::ROWS,
    };
    let mut notes: Vec<Note> = rows.iter().filter_map(|row| row.note(&look)).collect();
    notes.extend(gates::notes(&look, product));
    notes.extend(served::notes(&look, product));
    notes.extend(keys::notes(&look, product));
    if product == Product::Flux {
        notes.extend(strict::notes(&look));
        notes.extend(releases::note(&look));
    }
    let (what, from) = match product {
        Product::Flux => ("flux", &head.settings.flux.from),
        Product::ClusterApi => ("clusterApi", &head.settings.cluster_api.from),
    };
    Some(ClusterChange {
        cluster: pair.name.clone(),
        what,
        before: old.map_or(Value::Null, |old| json!(old.to_string())),
        after: json!(new.to_string()),
        notes,
        from: from.clone(),
    })
}

/// Whether an object is one of a product's own kinds.
fn is_of(product: Product, id: &ObjectId) -> bool {
    match product {
        Product::Flux => crate::model::kinds::of(id).is_some(),
        Product::ClusterApi => id.group().ends_with("cluster.x-k8s.io"),
    }
}

/// Strict substitution that a flag turns on or off where the version stays.
fn of_flag<'w>(
    pair: &Pair<'w>,
    (base, head): (&'w Cluster, &'w Cluster),
    told: &[ClusterChange],
) -> Option<ClusterChange> {
    if told.iter().any(|change| change.what == "flux") {
        return None;
    }
    let new = head.settings.flux.value?;
    let feature = Feature::StrictSubstitution;
    let (was, is) = (base.settings.feature(feature), head.settings.feature(feature));
    let look = Look { pair, base, head, old: Some(new), new, flags: gates::ControllerFlags::of(pair) };
    let notes = strict::notes(&look);
    (!notes.is_empty()).then(|| ClusterChange {
        cluster: pair.name.clone(),
        what: feature.name(),
        before: json!(was.value),
        after: json!(is.value),
        notes,
        from: is.from.clone(),
    })
}

impl BehaviourChange {
    /// What it comes to between two versions; nothing where it concerns nothing.
    fn note(&self, look: &Look<'_, '_>) -> Option<Note> {
        let begins = match (self.behaviour.at(look.old), self.behaviour.at(Some(look.new))) {
            (Known::Value(false), Known::Value(true)) => true,
            (Known::Value(true), Known::Value(false)) => false,
            // Where no version is stated, it may be an old one.
            (Known::Unknown, Known::Value(true)) => {
                self.behaviour.of(&look.base.settings) != Known::Value(true)
            }
            _ => return None,
        };
        let concerns = look.concerned(self.concerns);
        if concerns.is_empty() {
            return None;
        }
        let perhaps = if look.old.is_none() { " (unless it is so already)" } else { "" };
        let what = if begins { self.behaviour.now } else { self.behaviour.before };
        let advice = |text: &str| if begins { text.to_owned() } else { String::new() };
        Some(Note {
            id: self.id,
            severity: self.severity,
            what: format!("{what}{perhaps}"),
            concerns,
            before: advice(self.before),
            after: advice(self.after),
            source: self.source,
        })
    }
}

/// A behaviour of a table, for documentation.
#[derive(Clone, Copy, Debug)]
pub struct Upgrade {
    /// The name of its notes.
    pub id: &'static str,
    since: &'static Behaviour,
    /// How bad it is.
    pub severity: Severity,
    /// Where upstream says so.
    pub source: &'static str,
}

impl Upgrade {
    /// The first version: `Flux 2.5`.
    pub fn first(&self) -> String {
        self.since.first()
    }

    /// What is so from then on.
    pub fn what(&self) -> &'static str {
        self.since.now
    }
}

/// All behaviours, by product and version.
pub fn behaviours() -> impl Iterator<Item = Upgrade> {
    let known = |row: &'static BehaviourChange| Upgrade {
        id: row.id,
        since: &row.behaviour,
        severity: row.severity,
        source: row.source,
    };
    rows::ROWS.iter().chain(cluster_api::ROWS).map(known)
}
