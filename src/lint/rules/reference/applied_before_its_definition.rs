//! `applied-before-its-definition`: an object whose CustomResourceDefinition comes from
//! another Kustomization or a release, for which nothing waits.
//! Source: fluxcd/pkg `ssa/manager_apply.go` (`ApplyAllStaged`: definitions first, then a
//! dry run of all the rest before any of it is applied); kustomize-controller
//! `checkDependencies`; the charts' own `crds` directories and values.

use crate::lang::text::counted;
use crate::lang::yaml::NodeRef;
use crate::lint::{Check, ClusterView, Context, FixAvailability, Group, Level, Reporter, Rule, title};
use crate::model::kinds::is_helm_release;
use crate::model::{Certainty, Maker, Name, ObjectId};
use crate::world::{Applied, ApplyTarget, Cluster, Effective, Lookup, Member, UnseenMaker, UnseenMakerKind};
use aho_corasick::AhoCorasick;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) static RULE: Rule = Rule {
    id: "applied-before-its-definition",
    group: Group::Reference,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "an object does not wait for what defines its kind",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/reference/applied-before-its-definition.md"),
    check: Check::Cluster(check),
};

/// Charts that define kinds, the groups of these, and the values of which one has to be
/// true; without any they always come.
const CHARTS: [(&str, &[&str], &[&str]); 19] = [
    (
        "cert-manager",
        &["cert-manager.io", "acme.cert-manager.io"],
        &["/spec/values/crds/enabled", "/spec/values/installCRDs"],
    ),
    ("cloudnative-pg", &["postgresql.cnpg.io"], &[]),
    ("dragonfly-operator", &["dragonflydb.io"], &[]),
    ("external-secrets", &["external-secrets.io", "generators.external-secrets.io"], &[]),
    ("gateway-helm", &["gateway.envoyproxy.io", "gateway.networking.k8s.io"], &[]),
    ("grafana-operator", &["grafana.integreatly.org"], &[]),
    ("keda", &["keda.sh"], &[]),
    ("kube-prometheus-stack", &["monitoring.coreos.com"], &[]),
    ("kyverno", &["kyverno.io"], &[]),
    ("longhorn", &["longhorn.io"], &[]),
    ("mariadb-operator-crds", &["k8s.mariadb.com"], &[]),
    ("metallb", &["metallb.io"], &[]),
    ("prometheus-operator-crds", &["monitoring.coreos.com"], &[]),
    ("rook-ceph", &["ceph.rook.io"], &[]),
    ("sealed-secrets", &["bitnami.com"], &[]),
    ("tailscale-operator", &["tailscale.com"], &[]),
    ("traefik", &["traefik.io"], &[]),
    ("velero", &["velero.io"], &[]),
    ("volsync", &["volsync.backube"], &[]),
];

/// Values that leave the definitions out of a chart that has them.
const LEFT_OUT: [&str; 6] = [
    "/spec/values/crds/enabled",
    "/spec/values/crds/create",
    "/spec/values/installCRDs",
    "/spec/values/manageCRDs",
    "/spec/values/enableCRDs",
    "/spec/values/crds/install",
];

/// What defines a kind: the Kustomization to wait for, the object, and whether a release
/// of that Kustomization does it.
#[derive(Clone, Copy)]
struct Definer<'a> {
    by: u32,
    object: &'a Effective,
    by_release: bool,
    /// Whether the definition is seen, and nothing else may bring it; else the chart's name alone
    /// says that it has it.
    is_seen: bool,
}

/// Definers by group, and by kind where that is known.
type Definers<'a> = FxHashMap<(Cow<'a, str>, Option<Cow<'a, str>>), Vec<Definer<'a>>>;

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let cluster = view.cluster;
    if cluster.name.is_none() || cluster.certainty == Certainty::Guessed {
        return;
    }
    let definers = definers(view);
    let mut late: BTreeMap<(u32, u32), Vec<(&Effective, Definer<'_>)>> = BTreeMap::new();
    let order = ApplyOrder::of(cluster);
    for (member, object) in view.members() {
        let (Some(by), id) = (member.maker.kustomization(), &object.id) else { continue };
        if member.target != ApplyTarget::Local || id.is_unknown() || !id.group().contains('.') {
            continue;
        }
        // What applies a Kustomization came with Flux, and so did its definitions.
        if id.group().ends_with(".toolkit.fluxcd.io") {
            continue;
        }
        let of = |kind| definers.get(&(Cow::Borrowed(id.group()), kind));
        let Some(found) = of(Some(Cow::Borrowed(&*id.kind))).or_else(|| of(None)) else { continue };
        let is_ready = |definer: &Definer<'_>| match definer.by == by {
            true => !definer.by_release,
            false => order.waits(by, definer.by) || !definer.by_release && order.is_above(definer.by, by),
        };
        if found.iter().any(is_ready) || is_left_alone(object.node.get_ref()) {
            continue;
        }
        if let Some(definer) = found.first() {
            late.entry((by, definer.by)).or_default().push((object, *definer));
        }
    }
    let first: Vec<_> = late.values().map(|objects| (objects[0].0, objects[0].1.object)).collect();
    let before = made_before(view.beyond(), &first);
    let mut before = before.into_iter();
    late.retain(|_, _| before.next() != Some(true));
    for ((by, provider), mut objects) in late {
        if may_come_unseen(cluster, objects[0].0.id.group()) {
            // What is seen to bring it is probably the only one that does.
            if by == provider || !objects[0].1.is_seen {
                continue;
            }
            objects[0].1.is_seen = false;
        }
        tell(view, &cluster.applied[by as usize], &objects, report);
    }
}

/// Whether something that is not known here may bring the definitions of a group.
fn may_come_unseen(cluster: &Cluster, group: &str) -> bool {
    let name = format!("?.{group}");
    let found = cluster.lookup(
        &ApplyTarget::Local,
        Name::new("apiextensions.k8s.io", "CustomResourceDefinition", None, &name),
    );
    let Lookup::Unseen(openers) = found else { return false };
    // Flux's own manifests define Flux's kinds alone.
    let is_flux = |opener: &&UnseenMaker| opener.what.contains("flux-manifests");
    openers.iter().any(|opener| opener.cause != UnseenMakerKind::ByHand && !is_flux(opener))
}

/// Whether an object is not applied, or only once it is there.
fn is_left_alone(node: NodeRef<'_>) -> bool {
    let value = |key: &str| {
        let own = |map: &str| node.str_at(&format!("/metadata/{map}/kustomize.toolkit.fluxcd.io~1{key}"));
        own("annotations").or_else(|| own("labels"))
    };
    value("reconcile").is_some_and(|value| value.eq_ignore_ascii_case("disabled"))
        || value("ssa").is_some_and(|value| value.eq_ignore_ascii_case("ignore"))
}

fn definers<'a>(view: &ClusterView<'a>) -> Definers<'a> {
    let mut found: Definers<'a> = FxHashMap::default();
    for (member, object) in view.members().filter(|(member, _)| member.target == ApplyTarget::Local) {
        let node = object.node.get_ref();
        if object.id.is("apiextensions.k8s.io", "CustomResourceDefinition") {
            let Some(by) = applying(view.cluster, member) else { continue };
            if let (Some(group), Some(kind)) = (node.str_at("/spec/group"), node.str_at("/spec/names/kind")) {
                let release = release_of(view, member);
                let by_release = member.maker.kustomization().is_none();
                let object = release.unwrap_or(object);
                let definer = Definer { by, object, by_release, is_seen: true };
                found.entry((group, Some(kind))).or_default().push(definer);
            }
        } else if let (true, Some(by)) = (is_helm_release(&object.id), member.maker.kustomization()) {
            let definer = Definer { by, object, by_release: true, is_seen: false };
            for group in groups(view, &object.id, node) {
                found.entry((Cow::Borrowed(*group), None)).or_default().push(definer);
            }
        }
    }
    found
}

/// The Kustomization that applies an object, by itself or by what makes it.
fn applying(cluster: &Cluster, member: &Member) -> Option<u32> {
    cluster.makers(member).into_iter().find_map(|maker| maker.kustomization())
}

/// The release whose chart makes an object.
fn release_of<'a>(view: &ClusterView<'a>, member: &Member) -> Option<&'a Effective> {
    let cluster = view.cluster;
    let release = cluster.makers(member).into_iter().find_map(|maker| match maker {
        Maker::HelmRelease(at) => cluster.releases.get(at as usize),
        _ => None,
    })?;
    let id = &release.id;
    let found = cluster.find(&ApplyTarget::Local, id.named())?;
    Some(view.object(found))
}

/// The groups that the chart of a release defines.
fn groups(view: &ClusterView<'_>, id: &ObjectId, node: NodeRef<'_>) -> &'static [&'static str] {
    let Some(name) = chart(view, id, node) else { return &[] };
    let Some((_, groups, values)) = CHARTS.iter().find(|(chart, _, _)| *chart == name) else { return &[] };
    let is_set = |value: &str, to: bool| node.at(value).and_then(NodeRef::as_bool) == Some(to);
    let is_skipped = node.str_at("/spec/install/crds").is_some_and(|policy| policy == "Skip");
    let is_remote = node.at("/spec/kubeConfig").is_some_and(|at| !at.is_null());
    let is_off = LEFT_OUT.iter().any(|value| is_set(value, false));
    let is_on = values.is_empty() || values.iter().any(|value| is_set(value, true));
    if is_on && !is_skipped && !is_remote && !is_off { groups } else { &[] }
}

fn chart(view: &ClusterView<'_>, id: &ObjectId, node: NodeRef<'_>) -> Option<String> {
    let last = |text: &str| text.trim_end_matches('/').rsplit('/').next().map(str::to_owned);
    if let Some(chart) = node.str_at("/spec/chart/spec/chart") {
        return last(&chart);
    }
    let reference = node.at("/spec/chartRef")?;
    let (kind, name) = (reference.str_at("/kind")?, reference.str_at("/name")?);
    let namespace = reference.str_at("/namespace").or_else(|| id.namespace.as_deref().map(Cow::Borrowed));
    let group = crate::model::references::group_of(&kind);
    let found =
        view.cluster.find(&ApplyTarget::Local, Name::new(group, &kind, namespace.as_deref(), &name))?;
    last(&view.object(found).node.get_ref().str_at("/spec/url")?)
}

/// What files that bring the definitions of a group are called by those who publish them,
/// beside the group.
/// Source: the releases of each project (`standard-install.yaml` of
/// kubernetes-sigs/gateway-api, `stripped-down-crds.yaml` of prometheus-operator, charts'
/// names).
const PUBLISHED: [(&str, &[&str]); 16] = [
    ("acme.cert-manager.io", &["cert-manager"]),
    ("ceph.rook.io", &["rook"]),
    ("cert-manager.io", &["cert-manager"]),
    ("cilium.io", &["cilium"]),
    ("external-secrets.io", &["external-secrets"]),
    ("externaldns.k8s.io", &["external-dns"]),
    ("gateway.envoyproxy.io", &["envoy-gateway", "envoyproxy/gateway", "gateway-helm"]),
    ("gateway.networking.k8s.io", &["gateway-api", "gateway-helm"]),
    ("generators.external-secrets.io", &["external-secrets"]),
    ("grafana.integreatly.org", &["grafana-operator"]),
    ("k8s.cni.cncf.io", &["network-attachment-definition", "multus"]),
    ("keda.sh", &["keda"]),
    ("monitoring.coreos.com", &["prometheus-operator", "kube-prometheus"]),
    ("postgresql.cnpg.io", &["cloudnative-pg"]),
    ("snapshot.storage.k8s.io", &["external-snapshotter", "snapshot-controller"]),
    ("volsync.backube", &["volsync"]),
];

/// The words that a file has which brings the definition of an object's kind.
fn words_of<'w>(object: &'w Effective, definer: &'w Effective) -> impl Iterator<Item = &'w str> {
    let group = object.id.group();
    let published = PUBLISHED.iter().find(|(of, _)| *of == group).map_or(&[][..], |(_, words)| words);
    [group, &*definer.id.name].into_iter().chain(published.iter().copied())
}

/// Of some objects, each with what defines its kind, whether something beside Flux makes the
/// definition before: a manifest that no cluster applies, or a file of a tool that bootstraps
/// clusters and names what defines the kind. One pass over the files.
fn made_before(context: &Context<'_>, late: &[(&Effective, &Effective)]) -> Vec<bool> {
    if late.is_empty() {
        return Vec::new();
    }
    let definitions = context
        .world
        .orphans()
        .filter(|orphan| orphan.id.is("apiextensions.k8s.io", "CustomResourceDefinition"));
    let groups: FxHashSet<String> = definitions
        .filter_map(|orphan| Some(orphan.node.get_ref().str_at("/spec/group")?.into_owned()))
        .collect();
    let names: BTreeSet<&str> = late.iter().flat_map(|(object, definer)| words_of(object, definer)).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let Ok(searched) = AhoCorasick::new(&names) else { return vec![true; late.len()] };
    let mut named: FxHashSet<&str> = FxHashSet::default();
    for (file, blob) in context.by_hand().bootstraps() {
        if file.path.to_ascii_lowercase().contains("crds") {
            return vec![true; late.len()];
        }
        let found = searched.find_overlapping_iter(blob.bytes());
        named.extend(found.map(|found| names[found.pattern().as_usize()]));
    }
    let is_before = |(object, definer): &(&Effective, &Effective)| {
        groups.contains(object.id.group()) || words_of(object, definer).any(|word| named.contains(word))
    };
    late.iter().map(is_before).collect()
}

fn tell(
    view: &ClusterView<'_>,
    applied: &Applied,
    objects: &[(&Effective, Definer<'_>)],
    report: &mut Reporter<'_>,
) {
    let (first, definer) = objects[0];
    let provider = &view.cluster.applied[definer.by as usize];
    let node = applied.node.get_ref();
    let is_same = std::ptr::eq(applied, provider);
    let own = first.node.get_ref().location_at("/kind").or_else(|| first.node.get_ref().location());
    let place =
        if is_same { own.clone() } else { node.location_at("/metadata/name").or_else(|| own.clone()) };
    let Some(place) = place else { return };
    let more = match objects.len() {
        1 => String::new(),
        count => format!(" and {}", counted(count - 1, "more object")),
    };
    let (id, by) = (&first.id, &definer.object.id);
    if is_same {
        let what = format!("{} applies it together with {by}, which defines its kind", applied.id);
        let finding = report.report(place, title(id, &what));
        finding.why(
            "kustomize-controller tries all objects before it applies any: in a new cluster the kind is \
             unknown, so that the release is never made, and the kind never defined",
        );
        finding.help(format!(
            "apply {id}{more} with another Kustomization, whose dependsOn names {}",
            applied.id.name
        ));
        finding.level(level(&definer)).object(id).object(by);
        if let Some(place) = definer.object.node.get_ref().location_at("/metadata/name") {
            finding.related(by.to_string(), place);
        }
        return;
    }
    let what = format!("it does not wait for {}, which defines what it applies", provider.id);
    let finding = report.report(place, title(&applied.id, &what));
    finding.why(format!(
        "{by} defines the kind of {id}{more}: in a new cluster every attempt fails, and applies nothing, until \
         the kind is there"
    ));
    finding.help(match node.location_at("/metadata/name") {
        Some(_) => {
            format!("add `- name: {}`{} to spec.dependsOn", provider.id.name, in_namespace(applied, provider))
        }
        None => {
            format!("apply {id} with a Kustomization of its own, whose dependsOn names {}", provider.id.name)
        }
    });
    finding.level(level(&definer)).object(&applied.id).object(id);
    finding.field("/spec/dependsOn", &*provider.id.name);
    if let Some(place) = own {
        finding.related(id.to_string(), place);
    }
    if let Some(place) = definer.object.node.get_ref().location_at("/metadata/name") {
        finding.related(by.to_string(), place);
    }
}

/// Other values of a chart that is not here may leave its definitions out, and what is not known
/// may bring them.
fn level(definer: &Definer<'_>) -> Level {
    if definer.is_seen { Level::Warning } else { Level::Info }
}

fn in_namespace(applied: &Applied, provider: &Applied) -> String {
    match provider.id.namespace.as_deref() {
        Some(namespace) if applied.id.namespace.as_deref() != Some(namespace) => {
            format!(" with `namespace: {namespace}`")
        }
        _ => String::new(),
    }
}

/// Which Kustomizations are done before others begin.
struct ApplyOrder<'a> {
    cluster: &'a Cluster,
    /// Those that each depends on by itself.
    dependencies: Vec<Vec<u32>>,
    children: FxHashMap<u32, Vec<u32>>,
    /// For each, the ones that it waits for, those of the parents among them.
    reached: std::cell::RefCell<FxHashMap<u32, BTreeSet<u32>>>,
}

impl<'a> ApplyOrder<'a> {
    fn of(cluster: &'a Cluster) -> ApplyOrder<'a> {
        let mut places: FxHashMap<(Option<&str>, &str), u32> = FxHashMap::default();
        let mut children: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (index, applied) in (0..).zip(&cluster.applied) {
            places.insert((applied.id.namespace.as_deref(), &*applied.id.name), index);
            if let Some(parent) = applied.parent.filter(|parent| *parent != index) {
                children.entry(parent).or_default().push(index);
            }
        }
        let dependencies = cluster.applied.iter().map(|applied| {
            let of = |reference: NodeRef<'_>| {
                let name = reference.str_at("/name")?;
                let stated = reference.str_at("/namespace");
                let namespace = stated.as_deref().or(applied.id.namespace.as_deref());
                places.get(&(namespace, &*name)).copied()
            };
            applied.node.get_ref().items_at("/spec/dependsOn").filter_map(of).collect()
        });
        let dependencies = dependencies.collect();
        ApplyOrder { cluster, dependencies, children, reached: Default::default() }
    }

    /// Whether one is begun only when the other is ready, through any chain: its own
    /// dependsOn, that of what applies it, and what those apply in their turn.
    fn waits(&self, one: u32, other: u32) -> bool {
        let mut known = self.reached.borrow_mut();
        known.entry(one).or_insert_with(|| self.reach(one)).contains(&other)
    }

    /// Whether a Kustomization applies another one, by itself or through others: its own
    /// definitions are there before those.
    fn is_above(&self, one: u32, other: u32) -> bool {
        let above = |at: &u32| self.cluster.applied[*at as usize].parent.filter(|parent| parent != at);
        std::iter::successors(Some(other), above).take(self.cluster.applied.len()).any(|at| at == one)
    }

    fn reach(&self, one: u32) -> BTreeSet<u32> {
        let mut seen = BTreeSet::new();
        let mut reached = BTreeSet::new();
        // What applies one, and waits for others, hands its waiting down.
        let mut open: Vec<(u32, bool)> = vec![(one, false)];
        while let Some((at, is_awaited)) = open.pop() {
            let is_news = if is_awaited { reached.insert(at) } else { seen.insert(at) };
            let Some(applied) = self.cluster.applied.get(at as usize).filter(|_| is_news) else { continue };
            if is_awaited {
                open.extend(self.children.get(&at).into_iter().flatten().map(|child| (*child, true)));
            }
            open.extend(applied.parent.map(|parent| (parent, false)));
            open.extend(self.dependencies[at as usize].iter().map(|place| (*place, true)));
        }
        reached
    }
}
