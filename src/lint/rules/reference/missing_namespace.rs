//! `missing-namespace`: objects in a namespace that nothing makes.
//! Source: apiserver `NamespaceLifecycle` admission: an object of a namespace that isn't
//! there is refused; kustomize-controller stops at the first one.

use crate::lang::text::{Word, Words, counted};
use crate::lang::yaml::NodeRef;
use crate::lint::metadata::has_hole;
use crate::lint::usual::is_slip;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::kinds::is_helm_release;
use crate::model::{Certainty, ObjectId, namespaces};
use crate::world::{ApplyTarget, Effective, Member};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) static RULE: Rule = Rule {
    id: "missing-namespace",
    group: Group::Reference,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "objects in a namespace that nothing in the cluster makes",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/reference/missing-namespace.md"),
    check: Check::Cluster(check),
};

/// Objects of a namespace, and the Kustomization that applies the first one.
struct Used<'a> {
    objects: Vec<&'a Effective>,
    by: u32,
}

impl Used<'_> {
    /// Whether two places name the namespace: then a letter wrong is that of its Namespace.
    fn is_named_twice(&self) -> bool {
        let mut places = self.objects.iter().filter_map(|object| {
            let place = object.node.get_ref().location_at("/metadata/namespace")?;
            Some((place.file, place.start))
        });
        let first = places.next();
        places.any(|place| Some(place) != first)
    }

    /// Whether something calls Services of the namespace that Git does not make: somebody else
    /// fills it, and makes it first.
    fn is_filled_by_others(&self, called: Option<&FxHashSet<String>>) -> bool {
        let mut services = FxHashSet::default();
        for object in &self.objects {
            // Its chart may make any of them.
            if is_helm_release(&object.id) {
                return false;
            }
            if object.id.is("", "Service") {
                services.insert(&*object.id.name);
            }
        }
        called.is_some_and(|called| called.iter().any(|name| !services.contains(name.as_str())))
    }
}

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let cluster = view.cluster;
    if cluster.name.is_none() {
        return;
    }
    let is_certain = cluster.certainty != Certainty::Guessed;
    let is_whole = is_certain && cluster.is_complete("", "Namespace", None);
    let mut used: BTreeMap<&str, Used<'_>> = BTreeMap::new();
    for (member, object) in view.written() {
        let (Some(namespace), Some(by)) = (object.id.namespace.as_deref(), member.maker.kustomization())
        else {
            continue;
        };
        if member.target != ApplyTarget::Local || has_hole(namespace) || object.id.is_unknown() {
            continue;
        }
        used.entry(namespace).or_insert(Used { objects: Vec::new(), by }).objects.push(object);
    }
    let made = made(view);
    let roots: BTreeSet<&str> = roots(view).collect();
    let placed = view
        .of_kind("", "Namespace")
        .filter(|(_, object)| used.contains_key(&*object.id.name) && !roots.contains(&*object.id.name))
        .count();
    used.retain(|name, _| !made.contains(*name) && !namespaces::is_given(name));
    if used.is_empty() {
        return;
    }
    let holding: FxHashSet<&str> =
        view.written().filter_map(|(_, object)| object.id.namespace.as_deref()).collect();
    let unused: Vec<(&Member, &Effective)> = view
        .of_kind("", "Namespace")
        .filter(|(member, object)| member.target == ApplyTarget::Local && !holding.contains(&*object.id.name))
        .collect();
    // Where Git makes few of them or none, something else does.
    let is_habit = used.len() <= placed;
    let by_hand = view.beyond().by_hand().made_namespaces(&used.keys().copied().collect());
    let words: Words<&str> = made.iter().map(String::as_str).collect();
    let idle = Idle::of(&unused);
    let mut own: FxHashMap<u32, Vec<&Effective>> = FxHashMap::default();
    for (member, namespace) in &unused {
        own.entry(member.maker.kustomization().unwrap_or(u32::MAX)).or_default().push(namespace);
    }
    let called = OnceCell::new();
    for (name, used) in used {
        let misspelled = idle.misspelled(name).filter(|_| is_certain);
        let meant = misspelled.or_else(|| meant(own.get(&used.by).filter(|_| is_whole), &words, name));
        let is_told = match meant {
            Some(MeantNamespace::Misspelled(_)) => true,
            Some(MeantNamespace::Unused(_)) => is_whole,
            _ => is_whole && is_habit,
        };
        let meant = if is_told { meant } else { slip(&words, name).map(MeantNamespace::Near) };
        if by_hand.contains(name) || !is_told && meant.is_none() {
            continue;
        }
        if meant.is_none() && used.is_filled_by_others(called.get_or_init(|| called_services(view)).get(name))
        {
            continue;
        }
        tell(view, report, name, &used, meant);
    }
}

/// The Services that something calls by host (`NAME.NAMESPACE.svc`), by namespace.
fn called_services(view: &ClusterView<'_>) -> FxHashMap<String, FxHashSet<String>> {
    let mut found: FxHashMap<String, FxHashSet<String>> = FxHashMap::default();
    let mut open: Vec<NodeRef<'_>> = view.written().map(|(_, object)| object.node.get_ref()).collect();
    while let Some(node) = open.pop() {
        if node.is_map() {
            open.extend(node.entries().map(|entry| entry.value));
        } else if node.is_seq() {
            open.extend(node.items());
        } else if let Some(text) = node.as_str() {
            for (at, _) in text.match_indices(".svc") {
                let (before, namespace) = last_label(&text[..at]);
                let Some(before) = before.strip_suffix('.') else { continue };
                let (_, service) = last_label(before);
                if !namespace.is_empty() && !service.is_empty() {
                    found.entry(namespace.to_owned()).or_default().insert(service.to_owned());
                }
            }
        }
    }
    found
}

/// A text without the label at its end, and that label.
fn last_label(text: &str) -> (&str, &str) {
    let is_label = |c: char| c.is_ascii_alphanumeric() || c == '-';
    // What is no label may be longer than a byte.
    let start = text.char_indices().rev().take_while(|(_, c)| is_label(*c)).last();
    text.split_at(start.map_or(text.len(), |(at, _)| at))
}

fn tell(
    view: &ClusterView<'_>,
    report: &mut Reporter<'_>,
    name: &str,
    used: &Used<'_>,
    meant: Option<MeantNamespace<'_>>,
) {
    let cluster = view.cluster;
    let first = used.objects[0];
    let node = first.node.get_ref();
    let Some(place) = node.location_at("/metadata/namespace").or_else(|| node.location()) else { return };
    let by = &cluster.applied[used.by as usize].id;
    let more = match used.objects.len() {
        1 => String::new(),
        count => format!(" and {}", counted(count - 1, "more object")),
    };
    let why = format!(
        "the API server refuses what lies in namespace {name} ({}{more}): the apply of {by} fails",
        first.id
    );
    if let Some(MeantNamespace::Misspelled(namespace)) = meant
        && let Some(own) = namespace.node.get_ref().location_at("/metadata/name")
        && used.is_named_twice()
    {
        let what = format!("nothing lies in it, and nothing in {} makes namespace {name}", cluster.label());
        let finding = report.report(own, format!("{}: {what}", namespace.id)).claims_absence().why(why);
        finding.help(format!("did you mean `{name}`?"));
        finding.object(&namespace.id).field("/metadata/name", &*namespace.id.name);
        finding.related(first.id.to_string(), place);
        return;
    }
    let finding = report
        .report(place, format!("{}: nothing in {} makes namespace {name}", first.id, cluster.label()))
        .claims_absence()
        .why(why)
        .object(&first.id)
        .field("/metadata/namespace", name);
    match meant {
        Some(MeantNamespace::Unused(namespace) | MeantNamespace::Misspelled(namespace)) => {
            finding.help(format!(
                "did you mean `{}`? it is made here, and nothing lies in it; or name that Namespace {name}",
                namespace.id.name
            ));
            if let Some(place) = namespace.node.get_ref().location_at("/metadata/name") {
                finding.related(namespace.id.to_string(), place);
            }
        }
        Some(MeantNamespace::Near(near)) => {
            finding.help(format!("did you mean `{near}`? else apply a Namespace {name}"));
        }
        None => {
            finding
                .help(format!("apply a Namespace {name}, best with the Kustomization that needs it first"));
        }
    }
}

/// The Namespace that may have been meant.
enum MeantNamespace<'a> {
    /// One that the same Kustomization applies and that holds nothing.
    Unused(&'a Effective),
    /// One with a name like it that holds nothing.
    Misspelled(&'a Effective),
    /// One with a name like it.
    Near(String),
}

/// The Namespaces that hold nothing.
struct Idle<'a> {
    words: Words<&'a str>,
    by_name: FxHashMap<&'a str, &'a Effective>,
}

impl<'a> Idle<'a> {
    fn of(unused: &[(&Member, &'a Effective)]) -> Idle<'a> {
        let names = || unused.iter().map(|(_, namespace)| (&*namespace.id.name, *namespace));
        Idle { words: names().map(|(name, _)| name).collect(), by_name: names().collect() }
    }

    /// The one whose name differs by a letter or two. Names that differ in a digit are those
    /// of a series.
    fn misspelled(&self, name: &str) -> Option<MeantNamespace<'a>> {
        let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).collect::<Vec<u8>>();
        let near = self.words.nearest(name).filter(|near| digits(near) == digits(name))?;
        self.by_name.get(near).copied().map(MeantNamespace::Misspelled)
    }
}

fn meant<'a>(
    own: Option<&Vec<&'a Effective>>,
    words: &Words<&str>,
    name: &str,
) -> Option<MeantNamespace<'a>> {
    if let Some([namespace]) = own.map(Vec::as_slice) {
        return Some(MeantNamespace::Unused(namespace));
    }
    words.nearest(name).map(|near| MeantNamespace::Near(near.to_owned()))
}

/// The only namespace of the cluster that is this one but for a letter.
fn slip(words: &Words<&str>, name: &str) -> Option<String> {
    let word = Word::new(name, 1);
    let mut near = words.near(&word).filter(|(_, made)| is_slip(name, made));
    let (_, only) = near.next()?;
    near.next().is_none().then(|| (*only).to_owned())
}

/// The namespaces of what runs Flux.
fn roots<'a>(view: &ClusterView<'a>) -> impl Iterator<Item = &'a str> {
    let cluster = view.cluster;
    let roots = cluster.applied.iter().filter(|applied| applied.parent.is_none());
    let source = cluster.source.iter().filter_map(|source| source.namespace.as_deref());
    roots.filter_map(|applied| applied.id.namespace.as_deref()).chain(source)
}

/// The namespaces that are there whatever a release does: those that are applied, and those
/// of what runs Flux.
pub(super) fn applied(view: &ClusterView<'_>) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = roots(view).map(str::to_owned).collect();
    let local = view.of_kind("", "Namespace").filter(|(member, _)| member.target == ApplyTarget::Local);
    names.extend(local.map(|(_, namespace)| namespace.id.name.to_string()));
    names
}

/// The namespaces that the cluster has: those that are applied, those of what runs Flux,
/// and those that releases and their charts make.
fn made(view: &ClusterView<'_>) -> BTreeSet<String> {
    let mut made = applied(view);
    for (_, object) in view.written().filter(|(member, _)| member.target == ApplyTarget::Local) {
        let (id, node) = (&object.id, object.node.get_ref());
        if is_helm_release(id) {
            made.extend(of_release(id, node));
        } else if let Some(pointer) = namespaces::maker(id) {
            made.extend(node.str_at(pointer).map(|name| name.into_owned()));
        }
    }
    made
}

/// The namespaces that a release makes: that of `createNamespace`, and those that come
/// with its chart.
fn of_release(id: &ObjectId, node: NodeRef<'_>) -> Vec<String> {
    let mut made: Vec<String> = created(id, node).into_iter().collect();
    let chart = node.str_at("/spec/chart/spec/chart").or_else(|| node.str_at("/spec/chartRef/name"));
    let chart = chart.as_deref().map_or("", |chart| chart.rsplit('/').next().unwrap_or(chart));
    made.extend(namespaces::of_chart(chart).iter().map(|name| (*name).to_owned()));
    made
}

/// The namespace that a release makes by `createNamespace`.
pub(super) fn created(id: &ObjectId, node: NodeRef<'_>) -> Option<String> {
    let creates = ["/spec/install/createNamespace", "/spec/upgrade/createNamespace"]
        .iter()
        .any(|pointer| node.at(pointer).and_then(NodeRef::as_bool) == Some(true));
    let target = node.str_at("/spec/targetNamespace").map(|name| name.into_owned());
    target.or_else(|| id.namespace.as_deref().map(str::to_owned)).filter(|_| creates)
}
