//! Whether an object that nothing here creates could exist all the same.

use super::helm_charts::chart_of;
use super::upstream::{self, FLUX_SERVICES, Upstream};
use super::{Applied, ApplyTarget, Cluster, Effective, Member, Outcome, World, entry};
use crate::build::kustomize::FILE_NAMES;
use crate::files::{Snapshot, join};
use crate::lang::yaml::{FilePath, Holes, Location, NodeRef};
use crate::model::{Name, Object, ObjectId, Unchecked};
use crate::model::{kinds, references};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Something that may create objects that this repository doesn't show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnseenMaker {
    /// Why.
    pub cause: UnseenMakerKind,
    /// The kinds that it may create.
    pub kinds: Kinds,
    /// The namespace, any when `None`.
    pub namespace: Option<Arc<str>>,
    /// The names, any when `None`.
    pub names: Option<Holes>,
    /// The very objects, any when `None`.
    pub only: Option<Arc<WrittenObjects>>,
    /// The target that it creates them on.
    pub target: ApplyTarget,
    /// What it is, for messages: `Kustomization flux-system/tenants (external
    /// source)`.
    pub what: String,
    /// Where it is written.
    pub location: Option<Location>,
}

/// Causes of openers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UnseenMakerKind {
    /// There is no entry point: anything may be applied from elsewhere.
    NoEntry,
    /// A Flux Kustomization whose tree is not here.
    ExternalTree,
    /// A build that failed, or left something out.
    PartialBuild,
    /// A ResourceSet that can't be expanded.
    ResourceSet,
    /// A chart with Flux kinds in its templates.
    Chart,
    /// Another generator of objects.
    Generator,
    /// An object whose name has unknown parts.
    UnknownName,
    /// Another statement of the cluster's root, which may be the live one.
    OtherRoot,
    /// Manifests that no kustomization of the clusters leaves out or takes in: a
    /// person may have applied them.
    ByHand,
}

impl UnseenMakerKind {
    /// What a reference to an object that such an opener may make is under "not checked".
    pub fn unchecked(self) -> Unchecked {
        match self {
            UnseenMakerKind::NoEntry => Unchecked::ReferenceWithoutEntryPoint,
            UnseenMakerKind::ExternalTree => Unchecked::ReferenceToExternalSource,
            UnseenMakerKind::PartialBuild => Unchecked::ReferenceIntoPartialBuild,
            UnseenMakerKind::ResourceSet => Unchecked::ReferenceIntoResourceSet,
            UnseenMakerKind::Chart => Unchecked::ReferenceIntoChart,
            UnseenMakerKind::OtherRoot => Unchecked::ReferenceToOtherRoot,
            UnseenMakerKind::ByHand => Unchecked::ReferenceToUnappliedObject,
            UnseenMakerKind::Generator | UnseenMakerKind::UnknownName => {
                Unchecked::ReferenceToGeneratedObject
            }
        }
    }
}

/// Kinds that an opener may create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// Any.
    All,
    /// Those of Flux.
    Flux,
    /// Any but those of Flux.
    NotFlux,
    /// These.
    Only(Vec<Arc<str>>),
}

/// What is known of an identity.
#[derive(Debug)]
pub enum Lookup<'c> {
    /// It is there.
    Found(&'c Member),
    /// A controller makes it of something that is there.
    Generated(&'c str),
    /// It is surely not there.
    Missing,
    /// It is not here, but may exist: what could hold it.
    Unseen(Vec<&'c UnseenMaker>),
}

impl UnseenMaker {
    fn could_hold(&self, group: &str, kind: &str, namespace: Option<&str>) -> bool {
        let kind_fits = match &self.kinds {
            Kinds::All => true,
            Kinds::Flux => kinds::find(group, kind).is_some(),
            Kinds::NotFlux => kinds::find(group, kind).is_none(),
            Kinds::Only(kinds) => kinds.iter().any(|known| &**known == kind),
        };
        kind_fits
            && self.namespace.as_deref().is_none_or(|only| namespace.is_none_or(|wanted| wanted == only))
    }

    fn could_be(&self, name: Name<'_>) -> bool {
        self.names.as_ref().is_none_or(|holes| holes.could_be(name.name))
            && self.only.as_ref().is_none_or(|only| only.find(name).is_some())
    }
}

/// Objects as they are written somewhere, by their names.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct WrittenObjects {
    by_name: FxHashMap<Arc<str>, Vec<(ObjectId, Option<Location>)>>,
    kinds: FxHashSet<Arc<str>>,
}

impl WrittenObjects {
    pub(super) fn of<'o>(objects: impl Iterator<Item = &'o Object>) -> WrittenObjects {
        let mut written = WrittenObjects::default();
        for object in objects {
            let place = object.node.get_ref().location_at("/metadata/name");
            written.kinds.insert(object.id.kind.clone());
            written.by_name.entry(object.id.name.clone()).or_default().push((object.id.clone(), place));
        }
        written
    }

    /// Something that may apply these; `None` where there are none.
    pub(super) fn opener(self, cause: UnseenMakerKind, what: String) -> Option<UnseenMaker> {
        let mut kinds: Vec<Arc<str>> = self.kinds.iter().cloned().collect();
        kinds.sort();
        (!kinds.is_empty()).then(|| UnseenMaker {
            cause,
            kinds: Kinds::Only(kinds),
            namespace: None,
            names: None,
            only: Some(Arc::new(self)),
            target: ApplyTarget::Local,
            what,
            location: None,
        })
    }

    /// The one that may be an object, and where its name stands.
    pub fn find(&self, name: Name<'_>) -> Option<(&ObjectId, Option<&Location>)> {
        let is_it = |id: &ObjectId| id.is(name.group, name.kind) && is_in(id, name.namespace);
        let (id, place) = self.by_name.get(name.name)?.iter().find(|(id, _)| is_it(id))?;
        Some((id, place.as_ref()))
    }
}

/// Whether an object as written may be one of a namespace: where it says none,
/// or one with a variable, whoever applies it does.
fn is_in(id: &ObjectId, namespace: Option<&str>) -> bool {
    match (id.namespace.as_deref(), namespace) {
        (Some(own), Some(wanted)) => own == wanted || own.contains("${") || own.contains('?'),
        _ => true,
    }
}

impl Cluster {
    /// Look up an object by group, kind, namespace and name. ConfigMaps and
    /// Secrets may always be made by somebody else.
    pub fn lookup(&self, target: &ApplyTarget, name: Name<'_>) -> Lookup<'_> {
        if let Some(member) = self.find(target, name) {
            return Lookup::Found(member);
        }
        let is_here = *target == ApplyTarget::Local;
        let made = self.generated.iter().find(|(id, _)| is_here && id.named() == name);
        if let Some((_, of)) = made {
            return Lookup::Generated(of);
        }
        let openers = self.openers_of(target, name);
        let copied = name.group.is_empty() && matches!(name.kind, "ConfigMap" | "Secret");
        if openers.is_empty() && !copied { Lookup::Missing } else { Lookup::Unseen(openers) }
    }

    /// Openers that could hold such an object.
    pub fn openers_of(&self, target: &ApplyTarget, name: Name<'_>) -> Vec<&UnseenMaker> {
        let could = |opener: &&UnseenMaker| {
            let elsewhere = opener.target.is_unknown() && *target != ApplyTarget::Local;
            (opener.target == *target || elsewhere)
                && opener.could_hold(name.group, name.kind, name.namespace)
                && opener.could_be(name)
        };
        self.openers.iter().filter(could).collect()
    }

    /// Whether every object of a kind and namespace is known.
    pub fn is_complete(&self, group: &str, kind: &str, namespace: Option<&str>) -> bool {
        let copied = group.is_empty() && matches!(kind, "ConfigMap" | "Secret");
        !copied
            && !self.openers.iter().any(|opener| {
                opener.target == ApplyTarget::Local
                    && opener.cause != UnseenMakerKind::ByHand
                    && opener.could_hold(group, kind, namespace)
            })
    }
}

/// Note the manifests of a repository that a person may have applied: those that
/// no cluster takes in, unless a kustomization of a cluster stands above them and
/// leaves them out. `used` are the files that the clusters read.
pub(super) fn fill_by_hand(world: &mut World, used: &FxHashSet<FilePath>) {
    let left_out = |path: &str| {
        std::iter::successors(path.rsplit_once('/').map(|(above, _)| above), |above| {
            (!above.is_empty()).then(|| above.rsplit_once('/').map_or("", |(above, _)| above))
        })
        .chain((!path.contains('/')).then_some(""))
        .any(|directory| {
            FILE_NAMES.iter().any(|name| {
                let file =
                    if directory.is_empty() { (*name).to_owned() } else { format!("{directory}/{name}") };
                used.contains(&FilePath::in_root(file))
            })
        })
    };
    let mut known: FxHashMap<Arc<str>, bool> = FxHashMap::default();
    let may_be_applied = |object: &&Object| {
        let path = object.path();
        kinds::find(object.id.group(), &object.id.kind).is_some()
            && !*known.entry(path.clone()).or_insert_with(|| entry::is_leftover(path) || left_out(path))
    };
    let written = WrittenObjects::of(world.orphans().filter(may_be_applied));
    let opener = written.opener(UnseenMakerKind::ByHand, "somebody who applied it by hand".to_owned());
    for cluster in world.clusters.iter_mut().filter(|cluster| cluster.name.is_some()) {
        cluster.openers.extend(opener.clone());
    }
}

/// Charts that are known to create Flux objects, by their templates or by controllers
/// that they install, and the kinds; none named stands for all. Weave GitOps itself only
/// looks at Flux.
/// Source: `templates/` of fluxcd-community/helm-charts `flux2-sync` and
/// `flux2-notification`; kcm's `internal/controller` for k0rdent.
const FLUX_CHARTS: [(&str, &[&str]); 6] = [
    ("flux2-notification", &["Alert", "Provider"]),
    ("flux2-sync", &["GitRepository", "Kustomization"]),
    ("k0rdent", &["HelmChart", "HelmRelease", "HelmRepository"]),
    ("kcm", &["HelmChart", "HelmRelease", "HelmRepository"]),
    ("kommander", &[]),
    ("weave-gitops-enterprise", &[]),
];

/// What a chart creates of Flux's kinds, by its name.
fn of_flux_chart(name: &str) -> Option<Kinds> {
    let (_, kinds) = FLUX_CHARTS.iter().find(|(known, _)| *known == name)?;
    let only = || Kinds::Only(kinds.iter().map(|kind| Arc::from(*kind)).collect());
    Some(if kinds.is_empty() { Kinds::Flux } else { only() })
}

/// Kinds (of any group) whose controllers create Flux objects.
const GENERATORS: [&str; 5] = ["GitOpsSet", "GitOpsTemplate", "CAPITemplate", "FluxConfig", "HelmChartProxy"];

/// Note what could hold unseen objects, and what controllers make of known ones.
pub(super) fn fill(cluster: &mut Cluster, objects: &[Effective], snapshot: &Snapshot) {
    let of_builds = cluster.applied.iter().filter_map(|applied| of_applied(cluster, objects, applied));
    let mut openers: Vec<UnseenMaker> = of_builds.flatten().collect();
    let mut generated = Vec::new();
    for release in cluster.releases.iter().filter(|release| release.target == ApplyTarget::Local) {
        let hooks = release.hooks.iter().filter_map(|hook| hook.id.as_deref().cloned());
        generated.extend(hooks.map(|id| (id, format!("a hook of {}", release.id))));
    }
    let known = cluster.known_releases();
    for member in &cluster.members {
        let object = &objects[member.object as usize];
        let is_expanded = || cluster.sets.iter().any(|set| set.is_complete && set.id == object.id);
        let is_unknown_release = kinds::is_helm_release(&object.id) && !known.contains(&object.id);
        of_member(member, object, &is_expanded, &mut openers);
        if is_unknown_release {
            of_release(member, object, snapshot, &mut openers);
        }
        generated.extend(artifacts(object).map(|made| (made, object.id.to_string())));
        let is_local = member.target == ApplyTarget::Local;
        if let Some(made) =
            chart_of(&object.id, object.node.get_ref(), &cluster.settings).filter(|_| is_local)
        {
            generated.push((made, object.id.to_string()));
        }
    }
    cluster.openers.extend(openers);
    cluster.generated.extend(generated);
}

/// What a Flux Kustomization may hold that is not seen, and why it is not.
fn of_applied(cluster: &Cluster, objects: &[Effective], applied: &Applied) -> Option<Vec<UnseenMaker>> {
    let (cause, why, held) = match &applied.outcome {
        Outcome::Built { partial, unusable, .. }
            if unusable.is_empty() && partial.iter().all(|(what, ..)| *what == Unchecked::RemoteFile) =>
        {
            if !applied.target.is_unknown() {
                return None;
            }
            let why = "it is unknown to which cluster it goes".to_owned();
            (UnseenMakerKind::PartialBuild, why, Upstream::Any)
        }
        Outcome::Built { partial, unusable, .. } => {
            let what = partial.iter().map(|(_, what, _)| what.as_str());
            let what = what.chain(unusable.iter().map(|failure| failure.message.as_str()));
            let why = what.take(3).collect::<Vec<_>>().join(", ");
            let left = partial.iter().map(|left| of_left_out(left, applied)).max();
            let held = if unusable.is_empty() { left.unwrap_or(Upstream::Any) } else { Upstream::Any };
            (UnseenMakerKind::PartialBuild, why, held)
        }
        Outcome::Failed(_) => (UnseenMakerKind::PartialBuild, "it can't be built".to_owned(), Upstream::Any),
        Outcome::External(why) => {
            (UnseenMakerKind::ExternalTree, why.clone(), of_external(cluster, objects, applied))
        }
        Outcome::MissingPath => {
            (UnseenMakerKind::ExternalTree, "its path is missing".to_owned(), Upstream::Any)
        }
        Outcome::Unknown(why) => (UnseenMakerKind::PartialBuild, why.clone(), Upstream::Any),
    };
    let node = applied.node.get_ref();
    let opener = UnseenMaker {
        cause,
        kinds: kinds_of(held),
        namespace: node.str_at("/spec/targetNamespace").map(|text| text.as_ref().into()),
        names: None,
        only: None,
        target: applied.target.clone(),
        what: format!("{} ({why})", applied.id),
        location: node.location(),
    };
    if cause != UnseenMakerKind::ExternalTree || held != Upstream::FluxItself {
        return Some(vec![opener]);
    }
    // The names of Flux's own Services are known.
    let namespace = opener.namespace.clone().or_else(|| Some("flux-system".into()));
    let services = FLUX_SERVICES.iter().map(|name| UnseenMaker {
        kinds: Kinds::Only(vec!["Service".into()]),
        names: Some(pattern(name)),
        namespace: namespace.clone(),
        ..opener.clone()
    });
    Some(services.chain([UnseenMaker { namespace: namespace.clone(), ..opener.clone() }]).collect())
}

/// The kinds that manifests of another project may bring.
fn kinds_of(held: Upstream) -> Kinds {
    match held.only() {
        Some(only) => Kinds::Only(only.iter().map(|kind| Arc::from(*kind)).collect()),
        None if held == Upstream::NotFlux => Kinds::NotFlux,
        None => Kinds::All,
    }
}

/// What an object may create, wherever it is applied.
fn opener(member: &Member, object: &Effective, cause: UnseenMakerKind, kinds: Kinds) -> UnseenMaker {
    UnseenMaker {
        cause,
        kinds,
        namespace: None,
        names: None,
        only: None,
        target: member.target.clone(),
        what: object.id.to_string(),
        location: object.node.get_ref().location(),
    }
}

/// What an object may be, or create, that is not seen. `is_expanded` tells whether the
/// objects of a ResourceSet are known.
fn of_member(
    member: &Member,
    object: &Effective,
    is_expanded: &dyn Fn() -> bool,
    openers: &mut Vec<UnseenMaker>,
) {
    let (id, node) = (&object.id, object.node.get_ref());
    let open = |cause, kinds| opener(member, object, cause, kinds);
    if id.is_unknown() {
        openers.push(UnseenMaker {
            namespace: id.namespace.clone().filter(|namespace| !namespace.contains('?')),
            names: Some(pattern(&id.name)),
            ..open(UnseenMakerKind::UnknownName, Kinds::Only(vec![id.kind.clone()]))
        });
    }
    if id.is(kinds::OPERATOR, "ResourceSet") && !is_expanded() {
        let (kinds, namespace) = resource_set(node);
        openers.push(UnseenMaker { namespace, ..open(UnseenMakerKind::ResourceSet, kinds) });
    }
    if GENERATORS.contains(&&*id.kind) {
        openers.push(open(UnseenMakerKind::Generator, Kinds::Flux));
    }
    if &*id.kind == "ClusterPolicy" && node.items_at("/spec/rules").any(|rule| rule.get("generate").is_some())
    {
        let kinds = node.items_at("/spec/rules").filter_map(|rule| rule.str_at("/generate/kind"));
        let kinds = Kinds::Only(kinds.map(|kind| kind.as_ref().into()).collect());
        openers.push(open(UnseenMakerKind::Generator, kinds));
    }
}

/// What a release may create whose chart is not here.
fn of_release(member: &Member, object: &Effective, snapshot: &Snapshot, openers: &mut Vec<UnseenMaker>) {
    let node = object.node.get_ref();
    if let Some(kinds) = flux_objects(node, snapshot) {
        openers.push(opener(member, object, UnseenMakerKind::Chart, kinds));
    }
    if installs_instance(node) {
        let target = node.str_at("/spec/targetNamespace").map(|text| text.as_ref().into());
        let kinds = Kinds::Only(vec!["FluxInstance".into()]);
        openers.push(UnseenMaker {
            namespace: target.or_else(|| object.id.namespace.clone()),
            ..opener(member, object, UnseenMakerKind::Chart, kinds)
        });
    }
}

/// The ExternalArtifacts that an ArtifactGenerator makes.
fn artifacts(object: &Effective) -> impl Iterator<Item = ObjectId> {
    let is_generator = object.id.is(kinds::EXTENSIONS, "ArtifactGenerator");
    let artifacts = object.node.get_ref().items_at("/spec/artifacts").filter(move |_| is_generator);
    artifacts.filter_map(|artifact| artifact.str_at("/name")).map(|name| ObjectId {
        api_version: "source.toolkit.fluxcd.io/v1".into(),
        kind: "ExternalArtifact".into(),
        namespace: object.id.namespace.clone(),
        name: name.as_ref().into(),
    })
}

/// What something that a build left out can hold: charts that kustomize renders are
/// [`FLUX_CHARTS`] where they make an object of Flux.
fn of_left_out(left: &(Unchecked, String, Option<Location>), applied: &Applied) -> Upstream {
    let (what, name, place) = left;
    match *what {
        Unchecked::RemoteFile => Upstream::Nothing,
        Unchecked::HelmChart if of_flux_chart(name).is_none() => Upstream::NotFlux,
        Unchecked::RemoteBase => {
            let is_there_for_definitions = is_of_definitions(name)
                || place.as_ref().is_some_and(|place| is_of_definitions(place.file.shown()))
                || is_of_definitions(&applied.path)
                || is_of_definitions(&applied.id.name);
            if is_there_for_definitions { Upstream::Definitions } else { upstream::of_address(name) }
        }
        _ => Upstream::Any,
    }
}

/// What a tree on another host can hold: nothing of Flux where it is there for
/// its CustomResourceDefinitions, or holds the controllers of Flux itself.
fn of_external(cluster: &Cluster, objects: &[Effective], applied: &Applied) -> Upstream {
    let reference = applied.node.get_ref().at("/spec/sourceRef");
    let field =
        |name: &str| reference.and_then(|reference| Some(reference.get(name)?.as_str()?.into_owned()));
    let namespace = field("namespace").or_else(|| applied.id.namespace.as_deref().map(str::to_owned));
    let source = field("kind").zip(field("name")).and_then(|(kind, name)| {
        let group = references::group_of(&kind);
        cluster.find(&ApplyTarget::Local, Name::new(group, &kind, namespace.as_deref(), &name))
    });
    let url = source.and_then(|member| objects[member.object as usize].node.get_ref().str_at("/spec/url"));
    let url = url.as_deref().unwrap_or_default();
    if matches!(
        url.trim_end_matches('/').rsplit('/').next(),
        Some("flux-manifests" | "flux-operator-manifests")
    ) {
        return Upstream::FluxItself;
    }
    let definitions =
        is_of_definitions(url) || is_of_definitions(&applied.path) || is_of_definitions(&applied.id.name);
    match upstream::of_address(&format!("{url}/{}", applied.path)) {
        _ if definitions => Upstream::Definitions,
        // Nothing else is in it.
        _ if upstream::is_flux(url, &applied.path) => Upstream::FluxItself,
        held => held,
    }
}

/// Whether a name, a path or an address says that CustomResourceDefinitions are
/// what is there.
fn is_of_definitions(text: &str) -> bool {
    // The Gateway API's releases are nothing else.
    text.contains("kubernetes-sigs/gateway-api")
        || text.to_ascii_lowercase().split(|c: char| !c.is_ascii_alphanumeric()).any(|word| {
            matches!(word, "crd" | "crds" | "customresourcedefinition" | "customresourcedefinitions")
        })
}

/// The names that an identity with `?` for unknown parts may have.
fn pattern(name: &str) -> Holes {
    let mut parts = Vec::new();
    for (index, part) in name.split('?').enumerate() {
        if index > 0 {
            parts.push(None);
        }
        if !part.is_empty() {
            parts.push(Some(part.into()));
        }
    }
    Holes::from(parts)
}

/// The kinds that a ResourceSet's templates name, and their namespace where all
/// have the same literal one. A template action in a kind opens all.
fn resource_set(node: NodeRef<'_>) -> (Kinds, Option<Arc<str>>) {
    let mut kinds: Vec<Arc<str>> = Vec::new();
    let mut namespaces: Vec<Option<Arc<str>>> = Vec::new();
    for resource in node.items_at("/spec/resources") {
        kinds.push(resource.str_at("/kind").unwrap_or_default().as_ref().into());
        namespaces.push(resource.str_at("/metadata/namespace").map(|text| text.as_ref().into()));
    }
    let steps = node.items_at("/spec/steps").filter_map(|step| step.str_at("/resourcesTemplate"));
    let templates: Vec<_> = node.str_at("/spec/resourcesTemplate").into_iter().chain(steps).collect();
    for line in templates.iter().flat_map(|text| text.lines()) {
        if let Some(kind) = line.strip_prefix("kind:") {
            kinds.push(kind.trim().trim_matches(['"', '\'']).into());
            namespaces.push(None);
        }
    }
    let action = |text: &str| text.contains("<<") || text.is_empty();
    if kinds.iter().any(|kind| action(kind)) || kinds.is_empty() {
        return (Kinds::All, None);
    }
    let first = namespaces.first().cloned().flatten().filter(|name| !action(name));
    let same = first.is_some() && namespaces.iter().all(|namespace| *namespace == first);
    (Kinds::Only(kinds), first.filter(|_| same))
}

/// Whether a release is one of the flux-instance chart, which makes a FluxInstance.
fn installs_instance(node: NodeRef<'_>) -> bool {
    let is_it = |text: std::borrow::Cow<'_, str>| text.rsplit('/').next() == Some("flux-instance");
    node.str_at("/spec/chart/spec/chart").is_some_and(is_it)
        || node.str_at("/spec/chartRef/name").is_some_and(is_it)
        || node.at("/spec/values/instance").is_some()
}

/// The Flux kinds that a HelmRelease's chart makes: one that is known for it, or one of
/// this repository whose templates name Flux's API groups.
fn flux_objects(node: NodeRef<'_>, snapshot: &Snapshot) -> Option<Kinds> {
    let chart = node.str_at("/spec/chart/spec/chart")?;
    if let Some(known) = of_flux_chart(chart.rsplit('/').next().unwrap_or(&chart)) {
        return Some(known);
    }
    if node.str_at("/spec/chart/spec/sourceRef/kind").is_some_and(|kind| kind == "HelmRepository") {
        return None;
    }
    let directory = join("", chart.trim_start_matches('/'))?;
    let templates = format!("{directory}/templates");
    let texts = snapshot.files_below(&templates).iter().filter_map(|file| snapshot.stream(file));
    let texts: Vec<&str> =
        texts.map(|stream| &*stream.text).filter(|text| text.contains("toolkit.fluxcd.io")).collect();
    if texts.is_empty() {
        return None;
    }
    let kinds: FxHashSet<&str> = texts
        .iter()
        .flat_map(|text| text.lines())
        .filter_map(|line| line.strip_prefix("kind:"))
        .map(|kind| kind.trim().trim_matches(['"', '\'']))
        .collect();
    // A kind that an action writes, or one that only an included template does.
    let is_literal = kinds.iter().all(|kind| !kind.contains("{{"));
    let is_flux = |kind: &&str| kinds::KINDS.iter().any(|known| known.kind == *kind);
    let mut made: Vec<Arc<str>> = kinds.iter().copied().filter(is_flux).map(Arc::from).collect();
    made.sort();
    Some(if is_literal && !made.is_empty() { Kinds::Only(made) } else { Kinds::Flux })
}
