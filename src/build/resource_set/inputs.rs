//! The sets of inputs of a ResourceSet.
//!
//! Mirrors flux-operator `getInputs` (`resourceset_controller.go`) and
//! `internal/inputs`: own inputs first, then those of the providers by their names;
//! flattened to one list, or all combinations with each provider under its own name. A
//! provider of type Static exports one set, its `defaultValues` with an `id` that is made
//! of its UID; what others export only the cluster knows.

use super::template::Templates;
use super::{RefusedSet, Result, is_disabled, list, stated};
use crate::lang::template::{Val, adler32};
use crate::lang::yaml::{Known, NodeRef};
use crate::model::ObjectId;

/// A set of inputs: what `inputs` gives.
pub(super) type Set = Val;

/// Combinations that there may be (`maxPermutations`).
const COMBINATIONS: usize = 10_000;

/// What gives inputs.
pub(super) struct InputSource<'n> {
    id: &'n ObjectId,
    /// What it gives, a map each, or nothing for an empty one; `None` where only the
    /// cluster knows.
    sets: Option<Vec<Option<NodeRef<'n>>>>,
    /// Whether its sets have an `id` made of a UID.
    has_id: bool,
}

/// All sources of a ResourceSet, itself the first.
pub(super) struct InputSources<'n>(Vec<InputSource<'n>>);

impl InputSources<'_> {
    /// Whether all that they give is known.
    pub(super) fn is_complete(&self) -> bool {
        self.0.iter().all(|source| source.sets.is_some())
    }
}

/// What a ResourceSet takes its inputs from.
pub(super) fn sources<'n>(
    id: &'n ObjectId,
    set: NodeRef<'n>,
    providers: &[(&'n ObjectId, NodeRef<'n>)],
) -> Result<InputSources<'n>> {
    let spec = set.at("/spec").ok_or(RefusedSet)?;
    let own = list(spec, "inputs")?.into_iter().map(Some).collect();
    let mut all = vec![InputSource { id, sets: Some(own), has_id: false }];
    let mut taken = vec![false; providers.len()];
    for from in list(spec, "inputsFrom")? {
        let name = from.str_at("/name").filter(|name| !name.is_empty());
        let before = taken.iter().filter(|taken| **taken).count();
        match (name, stated(from, "selector")) {
            (Some(name), _) => {
                let at = providers.binary_search_by(|(id, _)| (*id.name).cmp(&name));
                taken[at.map_err(|_| RefusedSet)?] = true;
            }
            (None, Some(selector)) => {
                let mut any = false;
                for (at, (_, provider)) in providers.iter().enumerate() {
                    if selects(selector, *provider)? {
                        taken[at] = true;
                        any = true;
                    }
                }
                // There may be some that are not of this repository.
                if !any && before == taken.iter().filter(|taken| **taken).count() {
                    return Err(RefusedSet);
                }
            }
            (None, None) => return Err(RefusedSet),
        }
    }
    for ((id, provider), _) in providers.iter().zip(taken).filter(|(_, taken)| *taken) {
        all.push(InputSource { id, sets: exported(*provider)?, has_id: true });
    }
    Ok(InputSources(all))
}

/// What a provider exports, where its manifest says it.
fn exported(provider: NodeRef<'_>) -> Result<Option<Vec<Option<NodeRef<'_>>>>> {
    let is_static = provider.str_at("/spec/type").is_some_and(|kind| kind == "Static");
    if !is_static || is_disabled(provider) != Known::Value(false) {
        return Ok(None);
    }
    let spec = provider.at("/spec").ok_or(RefusedSet)?;
    Ok(Some(vec![stated(spec, "defaultValues")]))
}

/// Whether a label selector takes an object.
fn selects(selector: NodeRef<'_>, object: NodeRef<'_>) -> Result<bool> {
    let labels = object.at("/metadata/labels");
    let label = |key: &str| -> Result<Option<String>> {
        // kustomize-controller adds its own.
        if key.starts_with("kustomize.toolkit.fluxcd.io/") {
            return Err(RefusedSet);
        }
        match labels.and_then(|labels| labels.get(key)) {
            None => Ok(None),
            Some(value) => Ok(Some(value.as_str().ok_or(RefusedSet)?.into_owned())),
        }
    };
    for entry in selector.entries_at("/matchLabels") {
        let wanted = entry.value.as_str().ok_or(RefusedSet)?;
        if label(&entry.key)?.as_deref() != Some(&*wanted) {
            return Ok(false);
        }
    }
    for expression in selector.items_at("/matchExpressions") {
        let value = label(&expression.str_at("/key").ok_or(RefusedSet)?)?;
        let is_one = || {
            let mut values = expression.items_at("/values").filter_map(NodeRef::as_str);
            value.as_deref().is_some_and(|value| values.any(|one| one == value))
        };
        let holds = match expression.str_at("/operator").ok_or(RefusedSet)?.as_ref() {
            "In" => is_one(),
            "NotIn" => !is_one(),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => return Err(RefusedSet),
        };
        if !holds {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The sets that the templates are filled in with, one after the other; empty where
/// there are no inputs at all, nothing where there are sources but no set, of which
/// nothing is made.
pub(super) fn combined(
    set: NodeRef<'_>,
    sources: &InputSources<'_>,
    templates: &mut Templates,
) -> Result<Option<Vec<Set>>> {
    let strategy = set.at("/spec/inputStrategy").filter(|node| !node.is_null());
    let name = strategy.and_then(|strategy| strategy.get("name"));
    let is_permute = match name.map(|name| name.as_str().ok_or(RefusedSet)).transpose()?.as_deref() {
        None | Some("" | "Flatten") => false,
        Some("Permute") => true,
        Some(_) => return Err(RefusedSet),
    };
    let sets = if is_permute {
        let with_empty = strategy.and_then(|strategy| strategy.get("includeEmptyProviders"));
        let with_empty = with_empty.is_some_and(|value| value.as_bool() == Some(true));
        permuted(sources, with_empty, templates)?
    } else {
        let mut all = Vec::new();
        for source in &sources.0 {
            all.extend(values(source, templates)?.into_iter().flatten());
        }
        // Nothing is known of what there is.
        if all.is_empty() && !sources.is_complete() {
            return Err(RefusedSet);
        }
        all
    };
    let has_sources = sources.0.len() > 1;
    Ok(if sets.is_empty() && has_sources { None } else { Some(sets) })
}

/// The sets of a source, each with what provides it.
fn values(source: &InputSource<'_>, templates: &mut Templates) -> Result<Option<Vec<Val>>> {
    let Some(sets) = &source.sets else { return Ok(None) };
    let mut all = Vec::new();
    for set in sets {
        let mut entries = Vec::new();
        if let Some(set) = set {
            if !set.is_map() {
                return Err(RefusedSet);
            }
            for entry in set.entries() {
                entries.push((entry.key.into_owned(), templates.value(entry.value)?));
            }
        }
        if source.has_id {
            entries.push(("id".to_owned(), templates.unknown("made of the UID of its provider")));
        }
        entries.push(("provider".to_owned(), provider(source.id, templates)));
        all.push(templates.map(entries));
    }
    Ok(Some(all))
}

/// What `inputs.provider` gives.
fn provider(id: &ObjectId, templates: &mut Templates) -> Val {
    let fields = [
        ("apiVersion", &*id.api_version),
        ("kind", &*id.kind),
        ("name", &*id.name),
        ("namespace", id.namespace.as_deref().unwrap_or_default()),
    ];
    let fields = fields.map(|(name, text)| (name.to_owned(), templates.text(text)));
    templates.map(fields.into())
}

/// All combinations of one set of each source, each under the name of its source.
fn permuted(sources: &InputSources<'_>, with_empty: bool, templates: &mut Templates) -> Result<Vec<Val>> {
    let mut scopes: Vec<(String, Vec<Val>)> = Vec::new();
    let mut count = 1usize;
    for source in &sources.0 {
        let sets = values(source, templates)?.ok_or(RefusedSet)?;
        if sets.is_empty() && !with_empty {
            continue;
        }
        count = count.saturating_mul(sets.len());
        let name = normalized(&source.id.name);
        if count > COMBINATIONS || name.is_empty() {
            return Err(RefusedSet);
        }
        scopes.push((name, sets));
    }
    if scopes.is_empty() {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for number in 0..count {
        // The last source changes first.
        let (mut rest, mut chosen) = (number, vec![0; scopes.len()]);
        for (at, (_, sets)) in scopes.iter().enumerate().rev() {
            chosen[at] = rest % sets.len();
            rest /= sets.len();
        }
        let each = || scopes.iter().zip(&chosen);
        let id: Vec<String> = each().map(|((name, _), index)| format!("{name}={index}")).collect();
        let mut entries: Vec<(String, Val)> =
            each().map(|((name, sets), index)| (name.clone(), sets[*index].clone())).collect();
        entries.push(("id".to_owned(), templates.text(&adler32(id.join("/").as_bytes()).to_string())));
        all.push(templates.map(entries));
    }
    Ok(all)
}

/// `NormalizeKeyForTemplate`: the words of a name, joined by `_`.
fn normalized(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        match c {
            'a'..='z' | '0'..='9' => out.push(c),
            _ if c.is_whitespace() || is_punctuation(c) => out.push('_'),
            _ => {}
        }
    }
    out.split('_').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}

/// Go's `unicode.IsPunct` of ASCII; names of Kubernetes have no other characters.
fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation() && !matches!(c, '$' | '+' | '<' | '=' | '>' | '^' | '`' | '|' | '~')
}

#[cfg(test)]
mod tests {
    use super::normalized;

    /// Of upstream's `TestNormalizeKeyForTemplate`.
    #[test]
    fn names_become_keys() {
        for (name, key) in [
            ("my-provider", "my_provider"),
            ("My.Provider--2", "my_provider_2"),
            ("-a-", "a"),
            ("a b", "a_b"),
            ("$a+b", "ab"),
            ("--", ""),
        ] {
            assert_eq!(normalized(name), key, "{name}");
        }
    }
}
