//! Objects of a cluster whose name is like one that isn't there: what may have been meant.

use crate::lang::text::{Word, Words};
use crate::lint::ClusterView;
use crate::model::ObjectId;
use crate::model::references::{Reference, Role};
use crate::world::{ApplyTarget, Effective, Member};
use rustc_hash::FxHashMap;

/// An object of a cluster, by its name.
#[derive(Clone, Copy)]
pub(in crate::lint) struct NearObject<'a> {
    /// Its name, or that of the generator that adds a hash to it.
    pub name: &'a str,
    member: &'a Member,
    pub object: &'a Effective,
}

impl AsRef<str> for NearObject<'_> {
    fn as_ref(&self) -> &str {
        self.name
    }
}

impl NearObject<'_> {
    fn is_of_generator(&self) -> bool {
        self.name.len() < self.object.id.name.len()
    }
}

/// What a cluster has, by group and kind.
pub(in crate::lint) type NamesByKind<'a> = FxHashMap<(&'a str, &'a str), Words<NearObject<'a>>>;

pub(in crate::lint) fn names<'a>(view: &ClusterView<'a>) -> NamesByKind<'a> {
    let mut kinds: FxHashMap<_, Vec<_>> = FxHashMap::default();
    for (member, object) in view.written() {
        let name = &*object.id.name;
        let named = kinds.entry((object.id.group(), &*object.id.kind)).or_default();
        let names = std::iter::once(name).chain(name_of_generator(&object.id));
        named.extend(names.map(|name| NearObject { name, member, object }));
    }
    kinds.into_iter().map(|(kind, named)| (kind, named.into_iter().collect())).collect()
}

/// What may have been meant.
pub(in crate::lint) struct Near<'a> {
    /// A name of small edit distance in the same namespace, and the distance.
    pub close: Option<(usize, NearObject<'a>)>,
    /// The same name in another namespace.
    pub elsewhere: Option<NearObject<'a>>,
    /// What a generator makes under this name and a hash.
    pub hashed: Option<&'a Effective>,
}

impl<'a> Near<'a> {
    pub(in crate::lint) fn of(
        names: &NamesByKind<'a>,
        target: &ApplyTarget,
        reference: &Reference<'_>,
        name: &str,
    ) -> Near<'a> {
        let mut near = Near { close: None, elsewhere: None, hashed: None };
        let Some(named) = names.get(&(reference.group.as_str(), reference.kind.as_str())) else {
            return near;
        };
        let before =
            |known: Option<&Effective>, object: &Effective| known.is_some_and(|known| known.id <= object.id);
        let is_here = |object: &Effective| object.id.namespace.as_deref() == reference.namespace.as_deref();
        for (distance, &one) in named.near(&Word::like(name)) {
            if one.member.target != *target {
                continue;
            }
            let here = is_here(one.object);
            match (distance, here, one.is_of_generator()) {
                (0, true, true) if !before(near.hashed, one.object) => near.hashed = Some(one.object),
                (0, false, false) if !before(near.elsewhere.map(|one| one.object), one.object) => {
                    near.elsewhere = Some(one);
                }
                (1.., true, _)
                    if near.close.is_none_or(|(known, best)| {
                        (known, &best.object.id) > (distance, &one.object.id)
                    }) =>
                {
                    near.close = Some((distance, one));
                }
                _ => {}
            }
        }
        let others = if near.close.is_none() { other_names(reference, name) } else { Vec::new() };
        near.close = others
            .iter()
            .find_map(|other| {
                let is_it = |named: &NearObject<'a>| named.member.target == *target && is_here(named.object);
                let (_, named) = named.near(&Word::new(other, 0)).find(|(_, named)| is_it(named))?;
                Some((other.len().abs_diff(name.len()), *named))
            })
            .or(near.close);
        near
    }

    /// The most likely one.
    pub(in crate::lint) fn best(&self) -> Option<NearObject<'a>> {
        match (self.close, self.elsewhere) {
            (Some((1, near)), _) | (_, Some(near)) | (Some((_, near)), None) => Some(near),
            (None, None) => None,
        }
    }
}

/// Words that people put behind the name of a HelmRepository, or leave out.
const OF_REPOSITORIES: [&str; 5] = ["-charts", "-chart", "-repo", "-repository", "-helm"];

/// The same name with such a word, or without it, where a chart's repository is named.
fn other_names(reference: &Reference<'_>, name: &str) -> Vec<String> {
    if reference.role != Role::Source || reference.kind != "HelmRepository" {
        return Vec::new();
    }
    let other = |word: &&str| name.strip_suffix(*word).map_or_else(|| format!("{name}{word}"), str::to_owned);
    OF_REPOSITORIES.iter().map(other).collect()
}

/// Letters of the hash that kustomize's generators add, of an alphabet without vowels.
/// Source: kustomize `api/hasher/hasher.go` (`encode`).
const HASH_LENGTH: usize = 10;

/// The name that a generator has in its kustomization, of what it makes.
pub(in crate::lint) fn name_of_generator(id: &ObjectId) -> Option<&str> {
    if !id.group().is_empty() || !matches!(&*id.kind, "ConfigMap" | "Secret") {
        return None;
    }
    let (plain, hash) = id.name.rsplit_once('-')?;
    let is_hash = hash.len() == HASH_LENGTH && hash.bytes().all(|byte| b"bcdfghkmt2456789".contains(&byte));
    is_hash.then_some(plain)
}
