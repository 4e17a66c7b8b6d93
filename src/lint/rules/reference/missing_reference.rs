//! `missing-reference`: a reference to an object that the cluster doesn't have.
//! Source: kustomize-controller `getSource`, `checkDependencies`; helm-controller
//! `getSource`; flux-operator `checkDependencies`.

use super::{field_name, known_name, local_references, target_name};
use crate::lang::yaml::Location;
use crate::lint::near::{NamesByKind, Near, names};
use crate::lint::usual::Usual;
use crate::lint::workloads::{self, NamedObject as Like, TargetState};
use crate::lint::{Check, ClusterView, Finding, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::kinds;
use crate::model::references::{Reference, Role};
use crate::model::{Called, Name, Object, ObjectId, Unchecked};
use crate::simulate::suspend::suspension;
use crate::world::left_out::LeftOut;
use crate::world::{
    Applied, ApplyTarget, Cluster, Effective, Lookup, UnseenMaker, UnseenMakerKind, source_of,
};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;

pub(crate) static RULE: Rule = Rule {
    id: "missing-reference",
    group: Group::Reference,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a reference to an object that the cluster does not have",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/reference/missing-reference.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let common = CommonSource::of(view.cluster);
    let known = ClusterNames { names: OnceCell::new(), usual: OnceCell::new() };
    for (object, reference) in local_references(view) {
        let Some(absent) = Absent::of(view, object, reference) else { continue };
        let (meant, level) = known.judge(view, &absent);
        let place = reference.name_node.location();
        let Some(level) = level else {
            report.not_checked(reason(&absent.openers, reference), place, absent.in_words());
            continue;
        };
        let Some(place) = place else { continue };
        // One source that most Kustomizations name is there, or nothing would run.
        let most = common.as_ref().filter(|common| common.is_named_by(&object.id, reference, absent.name));
        if most.is_some_and(|common| common.first != object.id) {
            report.not_checked(Unchecked::SourceOfMost, Some(place), absent.in_words());
            continue;
        }
        let of_object = suspension(&object.id, object.node.get_ref(), &view.cluster.settings);
        let is_suspended = of_object.and_then(|of_object| of_object.suspended) == Some(true);
        let is_mild = most.is_some() || is_suspended;
        let level = if is_mild { level.min(Level::Warning) } else { level };
        let finding = absent.tell(view, report, place, level);
        if help_by_name(finding, view, &absent, &meant) {
            say_unless(finding, view, &absent, most);
        }
        if is_suspended {
            finding.why.push_str("; it is suspended, so nothing fails until it is resumed");
        }
    }
}

/// A reference to what the cluster does not have, as far as is known.
struct Absent<'v> {
    object: &'v Effective,
    reference: &'v Reference<'v>,
    name: &'v str,
    /// Where it would have to be.
    target: ApplyTarget,
    /// What could hold it, unseen.
    openers: Vec<&'v UnseenMaker>,
}

impl<'v> Absent<'v> {
    /// Nothing where it is there, where this rule does not judge, and where another one
    /// says it better.
    fn of(view: &ClusterView<'v>, object: &'v Effective, reference: &'v Reference<'v>) -> Option<Absent<'v>> {
        if reference.optional || !judged(reference, object.node.get_ref()) {
            return None;
        }
        let name = known_name(reference)?;
        // `malformed-health-check` says what is wrong with it.
        if reference.role == Role::HealthCheck && reference.namespace.is_none() {
            return None;
        }
        let target = match reference.role {
            // fluxcd/pkg `runtime/client/impersonation.go` (`clientForKubeConfig`): it is the
            // account of the cluster that is applied to.
            Role::HealthCheck | Role::ServiceAccount => {
                crate::world::target_of(&object.id, object.node.get_ref())
            }
            _ => ApplyTarget::Local,
        };
        let mut absent = Absent { object, reference, name, target, openers: Vec::new() };
        absent.openers = match view.cluster.lookup(&absent.target, absent.wanted()) {
            Lookup::Found(_) | Lookup::Generated(_) => return None,
            Lookup::Missing => Vec::new(),
            Lookup::Unseen(openers) => openers,
        };
        if absent.is_core() && matches!(view.workloads().target(absent.wanted()), TargetState::Made(..)) {
            return None;
        }
        let other = super::wrong_reference_kind::other_kind(view, &object.id, reference, name);
        other.is_none().then_some(absent)
    }

    fn wanted(&self) -> Name<'_> {
        let reference = self.reference;
        Name::new(&reference.group, &reference.kind, reference.namespace.as_deref(), self.name)
    }

    /// Whether it is of Kubernetes' own group, in this cluster.
    fn is_core(&self) -> bool {
        self.reference.group.is_empty() && self.target == ApplyTarget::Local
    }

    /// Whether it is a workload of a namespace with charts, and all that makes such there is
    /// known: every chart was rendered.
    fn is_nowhere(&self, view: &ClusterView<'_>) -> bool {
        let Name { group, kind, namespace, .. } = self.wanted();
        is_workload(self.reference)
            && self.target == ApplyTarget::Local
            && view.cluster.name.is_some()
            && view.workloads().has_release_in(namespace)
            && view.workloads().is_complete(group, kind, namespace)
    }

    /// `NAMESPACE/NAME`.
    fn shown(&self) -> String {
        target_name(self.reference, self.name)
    }

    fn in_words(&self) -> String {
        format!("{}: {} {}", self.object.id, self.reference.kind, self.shown())
    }

    fn tell<'r>(
        &self,
        view: &ClusterView<'_>,
        report: &'r mut Reporter<'_>,
        place: Location,
        level: Level,
    ) -> &'r mut Finding {
        let (id, reference, wanted) = (&self.object.id, self.reference, self.shown());
        let field = field_name(&reference.pointer);
        report
            .report(place, format!("{id}: {field} names no known {} {wanted}", reference.kind))
            .claims_absence()
            .level(level)
            .why(why(reference, id, &wanted))
            .label(format!("no {} {wanted} in {}", reference.kind, view.cluster.label()))
            .object(id)
            .field(format!("{}/name", reference.pointer), wanted.clone())
    }
}

/// What a cluster has and names, found when first asked for.
struct ClusterNames<'v> {
    names: OnceCell<NamesByKind<'v>>,
    usual: OnceCell<Usual<'v>>,
}

/// What may have been meant instead.
struct MeantObject<'k, 'v> {
    near: Near<'v>,
    /// The source that the cluster syncs.
    own: Option<&'v str>,
    /// What others name, and how many of them.
    usual: Option<(&'k str, usize)>,
    /// What a controller makes.
    made: Option<&'k Like<'k>>,
}

impl<'v> ClusterNames<'v> {
    /// What may have been meant, and the level; none where it is not checked.
    fn judge<'k>(
        &'k self,
        view: &'k ClusterView<'v>,
        absent: &Absent<'v>,
    ) -> (MeantObject<'k, 'v>, Option<Level>) {
        let Absent { object, reference, name, target, openers } = absent;
        let near = Near::of(self.names.get_or_init(|| names(view)), target, reference, name);
        let own = own_source(view, object, reference, name);
        let level = level(openers, reference, name, &near).filter(|_| !is_completed(view, absent, &near));
        let level = level.or(own.filter(|_| !is_elsewhere(openers)).map(|_| Level::Warning));
        let mut meant = MeantObject { near, own, usual: None, made: None };
        if level.is_some() {
            return (meant, level);
        }
        let namespace = reference.namespace.as_deref().unwrap_or_default();
        meant.usual = self.usual.get_or_init(|| usually(view)).meant(&reference.kind, namespace, name);
        let is_made_here = absent.is_core() || *target == ApplyTarget::Local && is_workload(reference);
        if meant.usual.is_none() && is_made_here {
            meant.made = made_like(view, absent);
        }
        let is_told = meant.usual.is_some() || meant.made.is_some() || absent.is_nowhere(view);
        (meant, is_told.then_some(Level::Warning))
    }
}

/// What helps, by the name that was meant. Whether more has to be said of where the wanted
/// object may come from.
fn help_by_name(
    finding: &mut Finding,
    view: &ClusterView<'_>,
    absent: &Absent<'_>,
    meant: &MeantObject<'_, '_>,
) -> bool {
    if let Some(hashed) = meant.near.hashed {
        finding.why(format!(
            "its generator makes {}: kustomize adds a hash of the content to the name and writes it \
             into fields that it knows, of which this is none",
            hashed.id.name
        ));
        finding.help(
            "set options.disableNameSuffixHash of the generator, or add a nameReference for this field \
             under `configurations`",
        );
        if let Some(place) = hashed.node.get_ref().location_at("/metadata/name") {
            finding.related(hashed.id.to_string(), place);
        }
        return false;
    }
    if let Some((name, count)) = meant.usual {
        finding.help(format!("did you mean `{name}`? {count} other objects name it"));
        return false;
    }
    if let Some(made) = meant.made {
        finding.help(format!("did you mean `{}`?", made.name));
        if let Some(place) = made.object.node.get_ref().location_at("/metadata/name") {
            let id = &made.object.id;
            finding.related(if made.is_made { format!("made of {id}") } else { id.to_string() }, place);
        }
        return false;
    }
    match (meant.near.best(), meant.own) {
        (None, Some(own)) => {
            finding.help(format!(
                "did you mean `{own}`? it is the source that {} syncs, and the path lies in it",
                view.cluster.label()
            ));
        }
        (Some(near), _) => {
            let same_name = near.name == absent.name;
            let suggestion = if same_name { near.object.id.to_string() } else { near.name.to_owned() };
            finding.help(format!("did you mean `{suggestion}`?"));
            if let Some(place) = near.object.node.get_ref().location_at("/metadata/name") {
                finding.related(near.object.id.to_string(), place);
            }
        }
        (None, None) if by_hand(&absent.openers, absent.reference, absent.name).is_some() => {}
        (None, None) => match view.beyond().world.unapplied(absent.wanted()) {
            Some(object) => say_unapplied(finding, view, object),
            None => {
                let (kind, wanted) = (&absent.reference.kind, absent.shown());
                finding.help(format!("create {kind} {wanted}, or remove the reference"));
            }
        },
    }
    true
}

/// Where the wanted object is written, though no cluster applies it, and why none does.
fn say_unapplied(finding: &mut Finding, view: &ClusterView<'_>, object: &Object) {
    let (path, id) = (object.path(), &object.id);
    let mut why = format!("; it is written in {path}, which no cluster applies");
    let mut help = "list that file in a kustomization of the cluster, or remove the reference".to_owned();
    if let Some(place) = object.node.get_ref().location_at("/metadata/name") {
        finding.related(id.to_string(), place);
    }
    if let Some(LeftOut { kustomization, entry, comment }) = view.beyond().left_out(path) {
        help = match &comment {
            Some(_) => format!("take `{entry}` out of its comment, or remove the reference"),
            None => format!("add `{entry}` to that kustomization, or remove the reference"),
        };
        why.push_str(&match &comment {
            Some(_) => format!(": `{entry}` is commented out in {kustomization}"),
            None => format!(": {kustomization} doesn't list `{entry}`"),
        });
        if let Some(place) = comment {
            finding.related("commented out", place);
        }
    }
    finding.why.push_str(&why);
    finding.help(help);
}

/// What else has that name, and who may make the wanted object all the same.
fn say_unless(
    finding: &mut Finding,
    view: &ClusterView<'_>,
    absent: &Absent<'_>,
    most: Option<&CommonSource>,
) {
    let Absent { object, reference, name, openers, .. } = absent;
    // A reader sees that name and wonders.
    if let Some(same) = super::wrong_reference_kind::same_name(view, &object.id, reference, name) {
        finding.why.push_str(&format!(
            "; {} has that name, and dependsOn of a {} finds {}s only",
            same.id, object.id.kind, object.id.kind
        ));
    }
    if let Some(common) = most {
        finding.why(format!(
            "{} of {} Kustomizations of {} name it, so that it is probably made elsewhere; if it isn't, \
             nothing of them is applied",
            common.count,
            view.cluster.applied.len(),
            view.cluster.label()
        ));
        finding.help(format!(
            "write {} {} into Git, or say under `sources` in .forebay.yaml what it holds",
            reference.kind,
            absent.shown()
        ));
    } else if let Some((id, Some(place))) = by_hand(openers, reference, name) {
        finding
            .why
            .push_str(&format!("; {} is written in {}, and no cluster applies that file", id, place.file));
        finding.help(
            "list that file in a kustomization of the cluster; if somebody applies it by hand, \
             nothing need be done",
        );
        finding.related(id.to_string(), place.clone());
    } else if let Some(opener) = openers.iter().find(|opener| opener.cause == UnseenMakerKind::ExternalTree) {
        finding.why.push_str(&format!("; unless it comes from {}", opener.what));
    } else if is_workload(reference) && !absent.is_nowhere(view) {
        finding.why.push_str("; unless a chart or an operator makes it");
    }
}

/// A name like it that a controller makes, as the Secret of an ExternalSecret, or that a
/// chart does where the reference is one to a workload.
fn made_like<'n>(view: &'n ClusterView<'_>, absent: &Absent<'_>) -> Option<&'n Like<'n>> {
    let Name { group, kind, namespace, name } = absent.wanted();
    match view.workloads().near(group, kind, namespace, name)? {
        workloads::Near::Misspelled(named) => {
            Some(named).filter(|named| named.is_made || is_workload(absent.reference))
        }
        workloads::Near::Elsewhere(_) | workloads::Near::Hashed(_) => None,
    }
}

/// What the references of a cluster name, and how often.
fn usually<'a>(view: &ClusterView<'a>) -> Usual<'a> {
    let mut usual = Usual::default();
    let (mut number, mut last) = (0, None);
    for (object, reference) in local_references(view) {
        if last.replace(&object.id) != Some(&object.id) {
            number += 1;
        }
        if let Some(name) = known_name(reference) {
            let namespace = reference.namespace.as_deref().unwrap_or_default();
            usual.add(Cow::Borrowed(&*reference.kind), Cow::Borrowed(namespace), Cow::Borrowed(name), number);
        }
    }
    usual
}

/// References that this rule judges; gates, alerts and topologies have own rules.
fn judged(reference: &Reference<'_>, node: crate::lang::yaml::NodeRef<'_>) -> bool {
    // A kind that the field refuses is `wrong-reference-kind`.
    if !reference.accepted.is_empty() && !reference.accepted.contains(&reference.kind.as_str()) {
        return false;
    }
    match reference.role {
        // What each namespace has.
        Role::ServiceAccount => reference.name.as_deref() != Some("default"),
        Role::HealthCheck => {
            // Ignored under `wait`.
            !node.at("/spec/wait").and_then(crate::lang::yaml::NodeRef::as_bool).unwrap_or(false)
                && (kinds::find(&reference.group, &reference.kind).is_some() || is_workload(reference))
        }
        Role::ResourceSetDependency => kinds::find(&reference.group, &reference.kind).is_some(),
        Role::Receiver => reference.name.as_deref() != Some("*"),
        _ => true,
    }
}

/// Kinds that charts and operators make, which a health check beside a
/// HelmRelease is there for.
fn is_workload(reference: &Reference<'_>) -> bool {
    matches!(
        (reference.group.as_str(), reference.kind.as_str()),
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet") | ("batch", "Job" | "CronJob") | ("", "Service")
    )
}

fn why(reference: &Reference<'_>, id: &ObjectId, wanted: &str) -> String {
    match reference.role {
        Role::DependsOn => format!("the controller retries every 30s and never applies {}", id.name),
        Role::Source => format!("without {} {wanted} there is nothing to apply", reference.kind),
        Role::HealthCheck => "the Kustomization waits for it until its timeout, then fails".to_owned(),
        Role::Variables => "the build fails until it exists".to_owned(),
        Role::Values => "the release fails until it exists".to_owned(),
        Role::Credentials => "the controller can't authenticate or verify without it".to_owned(),
        Role::Image => "no tags are ever seen".to_owned(),
        Role::Receiver => {
            "a webhook call answers 500; its other resources are reconciled all the same".to_owned()
        }
        Role::ResourceSetDependency => "the ResourceSet is never built".to_owned(),
        Role::Inputs => "the ResourceSet has no inputs".to_owned(),
        Role::ServiceAccount | Role::KubeConfig => "the reconciliation fails".to_owned(),
    }
}

/// The name of the source that a cluster syncs, where a Kustomization names another one of
/// its kind that nothing makes, though its path lies in this repository, and fewer do so
/// than name the cluster's own: the source was renamed, and this one was left behind.
fn own_source<'a>(
    view: &ClusterView<'a>,
    object: &Effective,
    reference: &Reference<'_>,
    name: &str,
) -> Option<&'a str> {
    if !kinds::is_kustomization(&object.id) || reference.role != Role::Source {
        return None;
    }
    let cluster = view.cluster;
    let own = cluster.source.as_ref()?;
    if *own.kind != *reference.kind
        || own.namespace.as_deref() != reference.namespace.as_deref()
        || *own.name == *name
    {
        return None;
    }
    if !cluster.applied.iter().any(|applied| applied.id == object.id && applied.assumed) {
        return None;
    }
    let named = |wanted: &str| {
        let wanted = Called { name: wanted.into(), ..own.clone() };
        let names =
            |applied: &&Applied| source_of(&applied.id, applied.node.get_ref()).as_ref() == Some(&wanted);
        cluster.applied.iter().filter(names).count()
    };
    (named(&own.name) > named(name)).then_some(&*own.name)
}

/// Whether more is unknown than parts of what is built here.
fn is_elsewhere(openers: &[&UnseenMaker]) -> bool {
    openers.iter().any(|opener| {
        matches!(
            opener.cause,
            UnseenMakerKind::NoEntry | UnseenMakerKind::OtherRoot | UnseenMakerKind::UnknownName
        )
    })
}

/// The level by what could hold the target; `None` for not checked.
fn level(openers: &[&UnseenMaker], reference: &Reference<'_>, name: &str, near: &Near<'_>) -> Option<Level> {
    let flux = kinds::find(&reference.group, &reference.kind).is_some();
    let copied = reference.group.is_empty() && matches!(reference.kind.as_str(), "ConfigMap" | "Secret");
    let misspelled = near.close.is_some_and(|(_, near)| !is_sibling(name, near.name));
    if copied {
        // A name in another namespace is a copy that an operator makes.
        return (misspelled || near.hashed.is_some()).then_some(Level::Warning);
    }
    // Service accounts are made in many ways outside of Git.
    if is_workload(reference) || reference.role == Role::ServiceAccount {
        return misspelled.then_some(Level::Warning);
    }
    if openers.is_empty() {
        return Some(Level::Error);
    }
    // Written, and applied by somebody else than the clusters, if by anybody. What a guessed
    // cluster takes in is not known.
    let is_by_hand = |opener: &UnseenMaker| opener.cause == UnseenMakerKind::ByHand;
    let is_guessed = openers.iter().any(|opener| opener.cause == UnseenMakerKind::NoEntry);
    if is_guessed && openers.iter().any(|opener| is_by_hand(opener)) {
        return None;
    }
    let openers: Vec<&UnseenMaker> = openers.iter().copied().filter(|opener| !is_by_hand(opener)).collect();
    if openers.is_empty() {
        return Some(Level::Warning);
    }
    let caused_by = |cause: UnseenMakerKind| openers.iter().any(|opener| opener.cause == cause);
    let only_external = openers.iter().all(|opener| opener.cause == UnseenMakerKind::ExternalTree);
    if only_external && matches!(reference.role, Role::DependsOn | Role::Source) && flux {
        return Some(Level::Warning);
    }
    // An object whose name is known in part only may be the one that is meant.
    if !flux || caused_by(UnseenMakerKind::UnknownName) || caused_by(UnseenMakerKind::OtherRoot) {
        return None;
    }
    // Where another namespace has the source, a base of somebody else does not have it.
    let is_moved = reference.role == Role::Source && near.elsewhere.is_some();
    let is_near = if caused_by(UnseenMakerKind::PartialBuild) {
        is_moved || misspelled && near.close.is_some_and(|(distance, _)| distance == 1)
    } else {
        misspelled || near.elsewhere.is_some()
    };
    is_near.then_some(Level::Warning)
}

/// The manifest of the wanted object that no cluster applies.
fn by_hand<'o>(
    openers: &[&'o UnseenMaker],
    reference: &Reference<'_>,
    name: &str,
) -> Option<(&'o ObjectId, Option<&'o Location>)> {
    let wanted = Name::new(&reference.group, &reference.kind, reference.namespace.as_deref(), name);
    let opener = openers.iter().find(|opener| opener.cause == UnseenMakerKind::ByHand)?;
    opener.only.as_ref()?.find(wanted)
}

/// Whether what no cluster reaches may be right once something takes it in: a
/// Kustomization gives it a namespace, an overlay a configuration by which names
/// get their hash, a cluster the object that it names.
fn is_completed(view: &ClusterView<'_>, absent: &Absent<'_>, near: &Near<'_>) -> bool {
    let reference = absent.reference;
    let unsaid = |namespace: Option<&str>| {
        namespace.is_none_or(|namespace| namespace.contains("${") || namespace.contains('?'))
    };
    let same_name =
        |object: &Effective| unsaid(object.id.namespace.as_deref()) || unsaid(reference.namespace.as_deref());
    let has_it = |cluster: &Cluster| cluster.find(&absent.target, absent.wanted()).is_some();
    view.cluster.name.is_none()
        && (view.beyond().world.clusters.iter().any(has_it)
            || near.hashed.is_some() && view.has_entry()
            || near.elsewhere.is_some_and(|near| same_name(near.object)))
}

/// A source that nothing makes and that more than half of a cluster's
/// Kustomizations name.
struct CommonSource {
    source: Called,
    count: usize,
    /// The first one that names it, for which it is reported.
    first: ObjectId,
}

/// From how many Kustomizations on a majority says something.
const MAJORITY: usize = 4;

impl CommonSource {
    fn of(cluster: &Cluster) -> Option<CommonSource> {
        let mut counts: BTreeMap<Called, (usize, &ObjectId)> = BTreeMap::new();
        for applied in &cluster.applied {
            let Some(source) = source_of(&applied.id, applied.node.get_ref()) else { continue };
            let (count, first) = counts.entry(source).or_insert((0, &applied.id));
            *count += 1;
            *first = (*first).min(&applied.id);
        }
        let (source, (count, first)) = counts.into_iter().max_by_key(|(_, (count, _))| *count)?;
        let is_common = count >= MAJORITY && count * 2 > cluster.applied.len();
        is_common.then(|| CommonSource { source, count, first: first.clone() })
    }

    fn is_named_by(&self, id: &ObjectId, reference: &Reference<'_>, name: &str) -> bool {
        kinds::is_kustomization(id)
            && reference.role == Role::Source
            && *reference.kind == *self.source.kind
            && reference.namespace.as_deref() == self.source.namespace.as_deref()
            && *name == *self.source.name
    }
}

/// Whether two names differ in their numbers only: `node-1` is no misspelled
/// `node-2`.
fn is_sibling(one: &str, other: &str) -> bool {
    let letters = |name: &str| name.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    one != other && letters(one) == letters(other)
}

fn reason(openers: &[&UnseenMaker], reference: &Reference<'_>) -> Unchecked {
    let is_config = matches!(reference.kind.as_str(), "ConfigMap" | "Secret");
    match openers.first().map(|opener| opener.cause) {
        _ if is_workload(reference) => Unchecked::ReferenceToGeneratedObject,
        _ if is_config => Unchecked::ReferenceToConfig,
        Some(UnseenMakerKind::ByHand) | None => Unchecked::ReferenceToGeneratedObject,
        Some(cause) => cause.unchecked(),
    }
}
