//! The creation rules of `.sops.yaml`.
//! Source: SOPS `config/config.go` (`FindConfigFile`, `parseCreationRuleForFile`,
//! `getKeyGroupsFromCreationRule`, `parseKeyField`).

use super::selection::Selection;
use crate::files::Snapshot;
use crate::lang::go::regexp::GoRegexp;
use crate::lang::yaml::{Location, NodeRef};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One `.sops.yaml`.
pub(super) struct Configuration {
    /// The directory that it lies in, with `/` at its end; empty for the top.
    directory: String,
    /// Its rules in order; `None` where they can't be read.
    rules: Option<Vec<CreationRule>>,
    /// Where `creation_rules` stands.
    pub(super) location: Option<Location>,
}

/// A rule of `creation_rules`.
pub(super) struct CreationRule {
    /// `None` fits every path.
    path: Option<Arc<GoRegexp>>,
    /// The pattern as it is written.
    pub(super) pattern: String,
    /// Which values it encrypts.
    pub(super) selection: Option<Selection>,
    /// Its keys (`age …`, `pgp …`); `None` where they are not all known.
    pub(super) recipients: Option<BTreeSet<String>>,
    pub(super) location: Option<Location>,
}

/// What a configuration says of a file.
pub(super) enum Fit<'c> {
    /// The first rule that fits.
    Rule(&'c CreationRule),
    /// No rule fits.
    None,
    /// Not known.
    Unknown,
}

/// Every `.sops.yaml` of a repository, by directory.
pub(super) fn configurations(snapshot: &Snapshot) -> BTreeMap<String, Configuration> {
    let named = snapshot.files().iter().filter_map(|file| {
        let directory = file.path.strip_suffix(".sops.yaml")?;
        (directory.is_empty() || directory.ends_with('/')).then_some((directory.to_owned(), file))
    });
    let read = named.filter_map(|(directory, file)| {
        let source = snapshot.sources(file).first()?;
        if source.document().tokens.is_empty() {
            return None;
        }
        let node = source.root();
        let root = node.get_ref();
        let rules = root.get("creation_rules").filter(|rules| rules.is_seq());
        let configuration = Configuration {
            directory: directory.clone(),
            rules: rules.and_then(|rules| rules.items().map(CreationRule::of).collect()),
            location: root.location_at("/creation_rules"),
        };
        Some((directory, configuration))
    });
    read.collect()
}

/// The configurations above a file, the nearest first: SOPS takes the first above the
/// directory that it is called in, so that any of them may be the one.
pub(super) fn above<'c>(
    all: &'c BTreeMap<String, Configuration>,
    path: &str,
) -> impl Iterator<Item = &'c Configuration> {
    let mut ends: Vec<usize> = memchr::memchr_iter(b'/', path.as_bytes()).map(|at| at + 1).collect();
    ends.insert(0, 0);
    let found: Vec<&Configuration> = ends.into_iter().rev().filter_map(|end| all.get(&path[..end])).collect();
    found.into_iter()
}

impl Configuration {
    /// Its rule for a file below it.
    pub(super) fn fit(&self, path: &str) -> Fit<'_> {
        let (Some(rules), Some(path)) = (&self.rules, path.strip_prefix(&*self.directory)) else {
            return Fit::Unknown;
        };
        let fits = |rule: &&CreationRule| rule.path.as_ref().is_none_or(|pattern| pattern.is_match(path));
        rules.iter().find(fits).map_or(Fit::None, Fit::Rule)
    }

    /// Where it lies.
    pub(super) fn path(&self) -> String {
        format!("{}.sops.yaml", self.directory)
    }
}

impl CreationRule {
    /// `None` where its pattern is not one of Go's that is known here.
    fn of(node: NodeRef<'_>) -> Option<CreationRule> {
        let pattern = node.get("path_regex").and_then(NodeRef::text).unwrap_or_default().into_owned();
        let path = match &*pattern {
            "" => None,
            pattern => Some(GoRegexp::shared(pattern)?),
        };
        Some(CreationRule {
            path,
            pattern,
            selection: Selection::of(node),
            recipients: recipients_of_rule(node),
            location: node.location(),
        })
    }
}

/// The fields of a rule or key group that name keys of kinds without further settings, and
/// where these stand in a file: list, and field of its items.
const KEYS: [(&str, &str, &str); 2] = [("age", "age", "recipient"), ("pgp", "pgp", "fp")];
/// Fields of other kinds of keys; in files and rules they are written in several ways.
const OTHER: [&str; 10] = [
    "kms",
    "gcp_kms",
    "hckms",
    "azure_keyvault",
    "azure_kv",
    "hc_vault",
    "hc_vault_transit_uri",
    "plugins",
    "merge",
    "shamir_threshold",
];

fn has_other(node: NodeRef<'_>) -> bool {
    OTHER.iter().any(|key| node.get(key).is_some_and(|value| !is_empty(value)))
}

fn is_empty(node: NodeRef<'_>) -> bool {
    node.is_null()
        || node.is_seq() && node.items().next().is_none()
        || node.text().is_some_and(|text| text.is_empty())
}

/// A key as it is compared: PGP knows one by the end of its fingerprint.
fn recipient(kind: &str, text: &str) -> Option<String> {
    let text = text.trim();
    match kind {
        "pgp" => {
            let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
            Some(format!("pgp {}", text.get(text.len().checked_sub(16)?..)?.to_ascii_uppercase()))
        }
        _ => Some(format!("{kind} {text}")),
    }
}

fn recipients_of_rule(rule: NodeRef<'_>) -> Option<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let groups: Vec<NodeRef<'_>> = match rule.get("key_groups").filter(|groups| !is_empty(*groups)) {
        Some(groups) => groups.items().collect(),
        None => vec![rule],
    };
    for group in groups {
        if has_other(group) {
            return None;
        }
        for (key, _, _) in KEYS {
            let Some(value) = group.get(key).filter(|value| !is_empty(*value)) else { continue };
            let texts: Vec<String> = match value.is_seq() {
                true => value.items().map(|item| Some(item.text()?.into_owned())).collect::<Option<_>>()?,
                false => vec![value.text()?.into_owned()],
            };
            let parts = texts.iter().flat_map(|text| text.split(',')).filter(|part| !part.trim().is_empty());
            found.extend(parts.map(|part| recipient(key, part)).collect::<Option<Vec<_>>>()?);
        }
    }
    (!found.is_empty()).then_some(found)
}

/// The keys that a file is encrypted for; `None` where they are not all known.
pub(super) fn recipients_of_file(sops: NodeRef<'_>) -> Option<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let groups = sops.get("key_groups").filter(|groups| !is_empty(*groups));
    for group in groups.map_or(vec![sops], |groups| groups.items().collect()) {
        if has_other(group) {
            return None;
        }
        for (kind, list, field) in KEYS {
            for item in group.get(list).into_iter().flat_map(NodeRef::items) {
                found.insert(recipient(kind, &item.get(field)?.text()?)?);
            }
        }
    }
    (!found.is_empty()).then_some(found)
}
