//! Objects of a cluster whose name is like one that isn't there: what may have been meant.

use crate::lang::text::{Word, Words};
use crate::lint::ClusterView;
use crate::model::references::{Reference, Role};
use crate::world::{ApplyTarget, Effective, Member};
use rustc_hash::FxHashMap;

/// An object of a cluster, by its name.
#[derive(Clone, Copy)]
pub(in crate::lint) struct NearObject<'a>(&'a Member, &'a Effective);

impl AsRef<str> for NearObject<'_> {
    fn as_ref(&self) -> &str {
        &self.1.id.name
    }
}

/// What a cluster has, by group and kind.
pub(in crate::lint) type NamesByKind<'a> = FxHashMap<(&'a str, &'a str), Words<NearObject<'a>>>;

pub(in crate::lint) fn names<'a>(view: &ClusterView<'a>) -> NamesByKind<'a> {
    let mut kinds: FxHashMap<_, Vec<_>> = FxHashMap::default();
    for (member, object) in view.written() {
        kinds.entry((object.id.group(), &*object.id.kind)).or_default().push(NearObject(member, object));
    }
    kinds.into_iter().map(|(kind, named)| (kind, named.into_iter().collect())).collect()
}

/// What may have been meant.
pub(in crate::lint) struct Near<'a> {
    /// A name of small edit distance in the same namespace, and the distance.
    pub close: Option<(usize, &'a Effective)>,
    /// The same name in another namespace.
    pub elsewhere: Option<&'a Effective>,
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
        let here = |object: &Effective| object.id.namespace.as_deref() == reference.namespace.as_deref();
        for (distance, &NearObject(member, object)) in named.near(&Word::like(name)) {
            if member.target != *target {
                continue;
            }
            if distance == 0 {
                if !here(object) && !before(near.elsewhere, object) {
                    near.elsewhere = Some(object);
                }
            } else if here(object)
                && near.close.is_none_or(|(known, best)| (known, &best.id) > (distance, &object.id))
            {
                near.close = Some((distance, object));
            }
        }
        let others = if near.close.is_none() { other_names(reference, name) } else { Vec::new() };
        near.close = others
            .iter()
            .find_map(|other| {
                let is_it = |named: &NearObject<'a>| named.0.target == *target && here(named.1);
                let (_, named) = named.near(&Word::new(other, 0)).find(|(_, named)| is_it(named))?;
                Some((other.len().abs_diff(name.len()), named.1))
            })
            .or(near.close);
        for &NearObject(member, object) in named.of_length(name.len() + 1 + HASH_LENGTH) {
            let is_meant = member.target == *target && here(object) && is_hashed(&object.id.name, name);
            if is_meant && !before(near.hashed, object) {
                near.hashed = Some(object);
            }
        }
        near
    }

    /// The most likely one.
    pub(in crate::lint) fn best(&self) -> Option<&'a Effective> {
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

/// Letters of the hash that kustomize's generators add.
const HASH_LENGTH: usize = 10;

/// Whether a name is another one with the hash that kustomize's generators add, of an
/// alphabet without vowels (`api/hasher/hasher.go`).
fn is_hashed(name: &str, plain: &str) -> bool {
    let hash = name.strip_prefix(plain).and_then(|rest| rest.strip_prefix('-'));
    hash.is_some_and(|hash| {
        hash.len() == HASH_LENGTH && hash.bytes().all(|byte| b"bcdfghkmt2456789".contains(&byte))
    })
}
