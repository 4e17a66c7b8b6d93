//! What the workloads of a cluster refer to, and what could be meant: the objects that it
//! has, those that controllers make of them, and what may exist unseen.

use super::near::name_of_generator;
use super::usual::{Usual, is_slip};
use crate::lang::text::{Word, Words, suggest};
use crate::lang::yaml::NodeRef;
use crate::model::workloads::{
    NameForm, Unseen, WorkloadReference, derived, is_cluster_scoped, references, unseen,
};
use crate::model::{Name, ObjectId, kinds};
use crate::world::releases::Creates;
use crate::world::{ApplyTarget, Cluster, Effective, Lookup, Member, UnseenMakerKind, World};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::sync::OnceLock;

/// The names of a cluster.
pub(crate) struct Workloads<'a> {
    cluster: &'a Cluster,
    world: &'a World,
    references: Vec<(&'a Effective, Vec<WorkloadReference<'a>>)>,
    /// By kind and name.
    derived: FxHashMap<&'static str, FxHashMap<String, Vec<MadeName<'a>>>>,
    /// What may make objects that can't be told, by namespace.
    hidden: FxHashMap<Cow<'a, str>, Vec<Hidden<'a>>>,
    /// What may make objects in a namespace that is not known.
    hidden_anywhere: Option<&'a ObjectId>,
    /// Names of releases by namespace: charts call their objects so.
    releases: FxHashMap<Cow<'a, str>, FxHashSet<Cow<'a, str>>>,
    /// What may make objects of a kind in any namespace.
    created: FxHashMap<&'static str, &'a ObjectId>,
    /// Releases of which all that their charts make is known.
    known: FxHashMap<&'a ObjectId, Creates>,
    /// What may make objects without a namespace.
    hidden_everywhere: Option<&'a ObjectId>,
    /// Settings of operators, as those of `operator.tekton.dev`: they make what is in
    /// namespaces that are named like their group.
    operators: Vec<(&'a str, &'a ObjectId)>,
    /// By group and kind.
    names: FxHashMap<&'a str, FxHashMap<&'a str, Words<NamedObject<'a>>>>,
    /// Objects of kinds without a namespace, by kind and name: a `namespace:` of a
    /// kustomization gives them one that the API server ignores. Those of other kinds too
    /// that say none: whoever applies them says it.
    without_namespace: FxHashMap<&'a str, FxHashMap<&'a str, &'a Effective>>,
    /// What is there several times with different texts: which one counts is not known.
    several: FxHashSet<&'a ObjectId>,
    /// The namespaces of the objects.
    namespaces: FxHashSet<&'a str>,
    /// What the references name, and how often.
    usual: OnceLock<Usual<'a>>,
    /// `releases`, to look for a name that is near.
    release_names: OnceLock<FxHashMap<Cow<'a, str>, Words<String>>>,
    /// Names in the values of releases, and keys there.
    value_names: OnceLock<FxHashSet<Cow<'a, str>>>,
}

/// A name that a controller makes.
struct MadeName<'a> {
    namespace: Option<Cow<'a, str>>,
    form: NameForm,
    of: &'a Effective,
    keys: Option<Vec<Cow<'a, str>>>,
}

/// What may make objects under names that can't be told.
struct Hidden<'a> {
    kinds: Unseen,
    of: &'a ObjectId,
}

/// A name that may have been meant.
#[derive(Clone)]
pub(crate) struct NamedObject<'a> {
    pub(crate) name: Cow<'a, str>,
    /// Its namespace; `None` for any, or where the kind has none.
    pub(crate) namespace: Option<Cow<'a, str>>,
    /// What has the name, or of what a controller makes it.
    pub(crate) object: &'a Effective,
    /// Whether a controller makes it.
    pub(crate) is_made: bool,
}

impl AsRef<str> for NamedObject<'_> {
    fn as_ref(&self) -> &str {
        &self.name
    }
}

/// What is known of the target of a reference.
pub(crate) enum TargetState<'n, 'a> {
    /// It is there.
    Here(&'a Effective),
    /// A controller makes it of this object, or this is one of several with its name, or
    /// says no namespace; the keys of its data where all are known.
    Made(&'a Effective, Option<&'n [Cow<'a, str>]>),
    /// It is not here; `Some` where something may make it unseen.
    Absent(Option<UnseenCause<'a>>),
}

/// Why something may exist unseen.
#[derive(Clone, Copy)]
pub(crate) enum UnseenCause<'a> {
    /// A build or source that is not known whole.
    Opener(UnseenMakerKind),
    /// An object that may make it: a release, or one of an operator's kind.
    Maker(&'a ObjectId),
    /// A manifest that no cluster applies.
    Unapplied,
    /// Anybody makes ConfigMaps and Secrets.
    Anybody,
}

impl<'a> Workloads<'a> {
    /// Of a cluster.
    pub(crate) fn of(world: &'a World, cluster: &'a Cluster) -> Workloads<'a> {
        let mut workloads = Workloads {
            cluster,
            world,
            references: Vec::new(),
            derived: FxHashMap::default(),
            hidden: FxHashMap::default(),
            releases: FxHashMap::default(),
            hidden_anywhere: None,
            created: FxHashMap::default(),
            known: FxHashMap::default(),
            hidden_everywhere: None,
            operators: Vec::new(),
            names: FxHashMap::default(),
            without_namespace: FxHashMap::default(),
            several: FxHashSet::default(),
            namespaces: FxHashSet::default(),
            usual: OnceLock::new(),
            release_names: OnceLock::new(),
            value_names: OnceLock::new(),
        };
        let known = cluster.releases.iter().filter(|release| release.is_known());
        workloads.known = known.map(|release| (&release.id, release.creates())).collect();
        let mut named: FxHashMap<(&str, &str), Vec<NamedObject<'_>>> = FxHashMap::default();
        let mut seen: FxHashSet<&ObjectId> = FxHashSet::default();
        for (member, object) in world.members(cluster) {
            if member.target == ApplyTarget::Local {
                if !seen.insert(&object.id) {
                    workloads.several.insert(&object.id);
                }
                workloads.namespaces.extend(object.id.namespace.as_deref());
                workloads.add(object, &mut named);
            }
        }
        for ((group, kind), names) in named {
            workloads.names.entry(group).or_default().insert(kind, names.into_iter().collect());
        }
        workloads
    }

    fn add(
        &mut self,
        object: &'a Effective,
        named: &mut FxHashMap<(&'a str, &'a str), Vec<NamedObject<'a>>>,
    ) {
        let (id, node) = (&object.id, object.node.get_ref());
        let found = references(id, node);
        if !found.is_empty() {
            self.references.push((object, found));
        }
        let has_none = is_cluster_scoped(id.group(), &id.kind);
        if has_none || id.namespace.is_none() {
            self.without_namespace.entry(&id.kind).or_default().insert(&id.name, object);
        }
        let names = std::iter::once(&*id.name).chain(name_of_generator(id));
        named.entry((id.group(), &*id.kind)).or_default().extend(names.map(|name| NamedObject {
            name: Cow::Borrowed(name),
            namespace: id.namespace.as_deref().filter(|_| !has_none).map(Cow::Borrowed),
            object,
            is_made: false,
        }));
        for one in derived(id, node) {
            if one.form == NameForm::Whole && !one.name.contains(['?', '$', '{']) {
                named.entry(("", one.kind)).or_default().push(NamedObject {
                    name: Cow::Owned(one.name.clone()),
                    namespace: one.namespace.clone(),
                    object,
                    is_made: true,
                });
            }
            let made = MadeName { namespace: one.namespace, form: one.form, of: object, keys: one.keys };
            self.derived.entry(one.kind).or_default().entry(one.name).or_default().push(made);
        }
        self.hide(object);
    }

    /// Notes what an object may make unseen, once for each namespace and kinds.
    fn hide(&mut self, object: &'a Effective) {
        let (id, node) = (&object.id, object.node.get_ref());
        let is_release = kinds::is_helm_release(id);
        // What a chart makes is here; what its programs may make besides, its Roles say.
        let creates = self.known.get(id).filter(|creates| is_release && !creates.anything).cloned();
        let kinds = match is_release {
            true => Unseen::Anything,
            false => unseen(id),
        };
        let is_remote = is_release && node.at("/spec/kubeConfig").is_some_and(|at| !at.is_null());
        if kinds == Unseen::Nothing || is_remote {
            return;
        }
        let target = node.at("/spec/targetNamespace").filter(|target| is_release && !target.is_null());
        let namespace = match target {
            Some(target) => target.as_str(),
            None => id.namespace.as_deref().map(Cow::Borrowed),
        };
        if let Some(rest) = id.group().strip_prefix("operator.") {
            self.operators.push((rest.split('.').next().unwrap_or(rest), id));
        }
        if is_release && creates.is_none() {
            self.hidden_everywhere.get_or_insert(id);
        }
        if let (true, Some(namespace)) = (is_release, &namespace) {
            let name = node.str_at("/spec/releaseName").unwrap_or(Cow::Borrowed(&*id.name));
            self.releases.entry(namespace.clone()).or_default().insert(name);
        }
        let Some(namespace) = namespace.filter(|namespace| !namespace.contains(['?', '$'])) else {
            self.hidden_anywhere.get_or_insert(id);
            return;
        };
        let all = match creates {
            Some(creates) => {
                for kind in creates.anywhere.iter().copied().flatten() {
                    self.created.entry(kind).or_insert(id);
                }
                creates.here.into_iter().map(Unseen::Kinds).collect()
            }
            None => vec![kinds],
        };
        let hidden = self.hidden.entry(namespace).or_default();
        for kinds in all {
            if !hidden.iter().any(|known| known.kinds == kinds) {
                hidden.push(Hidden { kinds, of: id });
            }
        }
    }

    /// The objects with references, and these.
    pub(crate) fn references(&self) -> &[(&'a Effective, Vec<WorkloadReference<'a>>)] {
        &self.references
    }

    /// What is known of an object.
    pub(crate) fn target(&self, wanted: Name<'_>) -> TargetState<'_, 'a> {
        let Name { group, kind, namespace, name } = wanted;
        let found = self.without_namespace.get(kind).and_then(|of_kind| of_kind.get(name));
        let found = found.filter(|object| object.id.is(group, kind)).copied();
        if let Some(object) = found.filter(|_| is_cluster_scoped(group, kind)) {
            return TargetState::Here(object);
        }
        let openers = match self.cluster.lookup(&ApplyTarget::Local, wanted) {
            Lookup::Found(member) => {
                let object = self.object(member);
                return match self.several.contains(&object.id) {
                    true => TargetState::Made(object, None),
                    false => TargetState::Here(object),
                };
            }
            Lookup::Generated(_) => {
                return TargetState::Absent(Some(UnseenCause::Opener(UnseenMakerKind::Generator)));
            }
            Lookup::Missing => Vec::new(),
            Lookup::Unseen(openers) => openers,
        };
        if let Some(made) = self.made(wanted) {
            return TargetState::Made(made.of, made.keys.as_deref());
        }
        if let Some(object) = found {
            return TargetState::Made(object, None);
        }
        if let Some(opener) = openers.iter().find(|opener| opener.cause != UnseenMakerKind::ByHand) {
            return TargetState::Absent(Some(UnseenCause::Opener(opener.cause)));
        }
        let is_unapplied = self.world.is_unapplied(kind, namespace, name);
        let cause = match self.hidden_of(group, kind, namespace) {
            Some(of) => Some(UnseenCause::Maker(of)),
            None if is_unapplied => Some(UnseenCause::Unapplied),
            None if group.is_empty() && matches!(kind, "ConfigMap" | "Secret") => Some(UnseenCause::Anybody),
            None => None,
        };
        TargetState::Absent(cause)
    }

    fn object(&self, member: &Member) -> &'a Effective {
        self.world.object(member.object)
    }

    /// What a controller makes under a name.
    fn made(&self, wanted: Name<'_>) -> Option<&MadeName<'a>> {
        let Name { group, kind, namespace, name } = wanted;
        if !group.is_empty() {
            return None;
        }
        let of_kind = self.derived.get(kind)?;
        let fits = |made: &&MadeName<'a>, form: NameForm| {
            made.form == form && made.namespace.as_deref().is_none_or(|own| namespace == Some(own))
        };
        let whole = of_kind.get(name).and_then(|all| all.iter().find(|made| fits(made, NameForm::Whole)));
        let mut cuts = name.match_indices('-').map(|(at, _)| &name[..at]);
        whole.or_else(|| {
            cuts.find_map(|start| of_kind.get(start)?.iter().find(|made| fits(made, NameForm::Beginning)))
        })
    }

    /// Something that may make an object of a kind unseen.
    pub(crate) fn hidden_of(&self, group: &str, kind: &str, namespace: Option<&str>) -> Option<&'a ObjectId> {
        let Some(namespace) = namespace.filter(|_| !is_cluster_scoped(group, kind)) else {
            return self.hidden_everywhere;
        };
        let may_make = |hidden: &&Hidden<'_>| match hidden.kinds {
            Unseen::Anything => true,
            Unseen::Kinds(kinds) => is_workload(group) && kinds.contains(&kind),
            Unseen::Nothing => false,
        };
        let here = self.hidden.get(namespace).and_then(|hidden| hidden.iter().find(may_make));
        let created = || self.created.get(kind).copied().filter(|_| is_workload(group));
        let operator = || self.operators.iter().find(|(word, _)| namespace.contains(word));
        let named = here.map(|hidden| hidden.of).or_else(created);
        named.or_else(|| operator().map(|(_, of)| *of)).or(self.hidden_anywhere)
    }

    /// Whether every object of a kind and namespace is known.
    pub(crate) fn is_complete(&self, group: &str, kind: &str, namespace: Option<&str>) -> bool {
        self.cluster.is_complete(group, kind, namespace) && self.hidden_of(group, kind, namespace).is_none()
    }

    /// Whether a cluster that is stated has objects of a kind without a namespace, and no
    /// manifest that it does not apply holds this one.
    pub(crate) fn has_others(&self, kind: &str, name: &str) -> bool {
        let is_unapplied = self.world.unapplied_in(kind, name).is_some();
        self.cluster.name.is_some()
            && !is_unapplied
            && self.without_namespace.get(kind).is_some_and(|all| !all.is_empty())
    }

    /// Whether a namespace is one of the cluster: an object lies in it or is it, or it is
    /// the misspelled name of such a one.
    pub(crate) fn has_namespace(&self, namespace: &str) -> bool {
        let made = self.without_namespace.get("Namespace");
        let made = || made.into_iter().flat_map(|all| all.keys().copied());
        self.namespaces.contains(namespace)
            || made().any(|known| known == namespace)
            || suggest(namespace, self.namespaces.iter().copied().chain(made())).is_some()
    }

    /// The only namespace of the cluster whose name is this one, which none has, but for a
    /// letter.
    pub(crate) fn namespace_like(&self, namespace: &str) -> Option<&str> {
        let made = self.without_namespace.get("Namespace");
        let made = || made.into_iter().flat_map(|all| all.keys().copied());
        let is_known = self.namespaces.contains(namespace) || made().any(|known| known == namespace);
        if is_known || crate::model::namespaces::is_given(namespace) {
            return None;
        }
        let word = Word::new(namespace, 1);
        let all = self.namespaces.iter().copied().chain(made());
        let near = all.filter(|known| word.distance(known) == Some(1) && is_slip(namespace, known));
        let near: std::collections::BTreeSet<&str> = near.collect();
        near.first().copied().filter(|_| near.len() == 1)
    }

    /// Whether a release of the cluster may be an operator that makes objects anywhere.
    pub(crate) fn has_releases(&self) -> bool {
        self.hidden_everywhere.is_some()
    }

    /// Whether charts make something of a namespace.
    pub(crate) fn has_release_in(&self, namespace: Option<&str>) -> bool {
        namespace.is_some_and(|namespace| self.releases.contains_key(namespace))
    }

    /// Whether a chart calls its objects so: the name of a release of the namespace.
    pub(crate) fn is_of_release(&self, namespace: Option<&str>, name: &str) -> bool {
        let releases = namespace.and_then(|namespace| self.releases.get(namespace));
        releases.is_some_and(|releases| releases.contains(name))
    }

    /// Whether the values of a release have a name as a key or as a `name`: its chart may
    /// make something that is called so.
    pub(crate) fn is_in_values(&self, name: &str) -> bool {
        let names = || {
            let mut found = FxHashSet::default();
            let releases = self.world.members(self.cluster).map(|(_, object)| object);
            for release in releases.filter(|object| object.id.is(kinds::HELM, "HelmRelease")) {
                if let Some(values) = release.node.get_ref().at("/spec/values") {
                    value_names(values, 0, &mut found);
                }
            }
            found
        };
        self.value_names.get_or_init(names).contains(name)
    }

    /// Whether a name has the name of a release of the namespace in it and another one has
    /// not: `tls.bazarr` is no misspelled `tls.radarr` beside a release `bazarr`.
    fn is_of_other_release(&self, namespace: Option<&str>, name: &str, other: &str) -> bool {
        let is_in_other = |part: &str| parts(other).any(|of_other| of_other == part);
        parts(name).any(|part| self.is_of_release(namespace, part) && !is_in_other(part))
    }

    /// What other references name, each kind and namespace for itself.
    fn usual(&self) -> &Usual<'a> {
        self.usual.get_or_init(|| {
            let mut usual = Usual::default();
            for (number, (_, references)) in self.references.iter().enumerate() {
                for reference in references {
                    let Some(name) = reference.name.clone() else { continue };
                    let namespace = reference.namespace.clone().unwrap_or_default();
                    usual.add(reference.kind.clone(), namespace, name, number);
                }
            }
            usual
        })
    }

    /// Whether a reference names such an object.
    pub(crate) fn is_named(&self, kind: &str, namespace: &str, name: &str) -> bool {
        self.usual().is_written(kind, namespace, name)
    }

    /// The name that was probably meant where nothing of the cluster is near: one that
    /// several other objects refer to, else that of a release whose chart is not here, as
    /// charts call their objects so.
    pub(crate) fn meant(&self, kind: &str, namespace: Option<&str>, name: &str) -> Option<MeantName<'_>> {
        if self.is_of_release(namespace, name) {
            return None;
        }
        if let Some((name, count)) = self.usual().meant(kind, namespace.unwrap_or_default(), name) {
            return Some(MeantName::Usual(name, count));
        }
        let named_so =
            matches!(kind, "Service" | "Deployment" | "StatefulSet" | "DaemonSet" | "ServiceAccount");
        self.release_like(namespace.filter(|_| named_so)?, name).map(MeantName::Release)
    }

    /// The only release of a namespace whose name is this one but for a letter.
    pub(crate) fn release_like(&self, namespace: &str, name: &str) -> Option<String> {
        if self.is_of_release(Some(namespace), name) {
            return None;
        }
        let names = self.release_names.get_or_init(|| {
            let all = self.releases.iter();
            all.map(|(namespace, names)| (namespace.clone(), names.iter().map(Cow::to_string).collect()))
                .collect()
        });
        let word = Word::new(name, 1);
        let mut near = names.get(namespace)?.near(&word).filter(|(_, release)| is_slip(name, release));
        let (_, only) = near.next()?;
        near.next().is_none().then(|| only.clone())
    }

    /// What may have been meant by a name that is not there: one like it in the same
    /// namespace, else the same name in another one.
    pub(crate) fn near(
        &self,
        group: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<Near<'_, 'a>> {
        if self.is_of_release(namespace, name) {
            return None;
        }
        let names = self.names.get(group)?.get(kind)?;
        let mut close: Option<(usize, &NamedObject<'a>)> = None;
        let mut elsewhere: Option<&NamedObject<'a>> = None;
        let near: Vec<(usize, &NamedObject<'a>)> =
            names.near(&Word::like(name)).take(MOST_NEAR + 1).collect();
        if near.len() > MOST_NEAR {
            return None;
        }
        for (distance, named) in near {
            let here = named.namespace.is_none() || named.namespace.as_deref() == namespace;
            // A namespace that a variable gives may be this one.
            let is_open = named.namespace.as_deref().is_some_and(|other| other.contains("${"));
            if distance == 0 && here && !named.is_made && named.name != *named.object.id.name {
                return Some(Near::Hashed(named));
            }
            if distance == 0 && !here && !is_open {
                let before = elsewhere.is_some_and(|known| known.object.id <= named.object.id);
                elsewhere = if before { elsewhere } else { Some(named) };
            } else if distance > 0
                && here
                && (distance == 1 || name.len() >= LONG)
                && !is_sibling(name, &named.name)
                && !self.is_of_other_release(namespace, name, &named.name)
                && close.is_none_or(|(known, best)| (known, &*best.name) > (distance, &*named.name))
            {
                close = Some((distance, named));
            }
        }
        match (close, elsewhere) {
            (Some((_, named)), _) => Some(Near::Misspelled(named)),
            (None, Some(named)) => Some(Near::Elsewhere(named)),
            (None, None) => None,
        }
    }
}

/// The keys in some values, and what stands under `name`.
fn value_names<'a>(values: NodeRef<'a>, depth: usize, found: &mut FxHashSet<Cow<'a, str>>) {
    /// Below that no chart names what it makes.
    const DEPTH: usize = 12;
    if depth > DEPTH {
        return;
    }
    for entry in values.entries() {
        if &*entry.key == "name" {
            found.extend(entry.value.as_str());
        }
        value_names(entry.value, depth + 1, found);
        found.insert(entry.key);
    }
    values.items().for_each(|item| value_names(item, depth + 1, found));
}

/// Names near one from which on none of them says what was meant.
const MOST_NEAR: usize = 100;

/// What may have been meant.
pub(crate) enum Near<'n, 'a> {
    /// A name like it in the same namespace.
    Misspelled(&'n NamedObject<'a>),
    /// The same name in another namespace.
    Elsewhere(&'n NamedObject<'a>),
    /// What a generator makes under this name and a hash.
    Hashed(&'n NamedObject<'a>),
}

/// A name that nothing of the cluster has, and that was probably meant.
pub(crate) enum MeantName<'n> {
    /// So many other objects refer to it.
    Usual(&'n str, usize),
    /// A release is called so.
    Release(String),
}

/// Whether a group is one of those that programs make workloads and networks of.
fn is_workload(group: &str) -> bool {
    matches!(group, "" | "apps" | "batch" | "networking.k8s.io")
}

/// Letters from which on two of them may be wrong: `internal` is no misspelled `external`.
const LONG: usize = 10;

/// The words of a name, and those that follow one another: `a-b.c` has `a`, `a-b`, `a-b.c`,
/// `b`, `b.c` and `c`. Of names with many words, the first.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    let begins = std::iter::once(0).chain(name.match_indices(['-', '.', '_']).map(|(at, _)| at + 1));
    begins.take(WORDS).flat_map(|begin| {
        let rest = &name[begin..];
        let ends = rest.match_indices(['-', '.', '_']).map(|(at, _)| at).chain(std::iter::once(rest.len()));
        ends.take(WORDS).map(move |end| &rest[..end])
    })
}

/// Words of a name that are looked at.
const WORDS: usize = 8;

/// Whether two names differ in their numbers only, or by a part at the end: `node-1` is no
/// misspelled `node-2`, and `app-r` no misspelled `app`.
fn is_sibling(one: &str, other: &str) -> bool {
    let letters = |name: &str| name.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let goes_on = |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.starts_with('-'));
    letters(one) == letters(other) || goes_on(one, other) || goes_on(other, one)
}
