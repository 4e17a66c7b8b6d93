//! `--assume` of `plan`: which versions to rehearse.

use super::Failure;
use crate::config::{Assumed, Feature};
use crate::lang::text::{clean, suggest};
use crate::model::{CLUSTER_API, FLUX, Version};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Keys of versions.
const VERSIONS: [&str; 3] = ["flux", "kubernetes", "clusterApi"];

/// Features that exist as proposals: what they would change is a question of its own. All
/// others follow from a version, or are flags that the repository writes.
const PROPOSALS: [Feature; 2] = [Feature::Gates, Feature::SuspendAnnotation];

/// Keys of all, in the order of the documentation.
pub(super) fn keys() -> impl Iterator<Item = &'static str> {
    VERSIONS.into_iter().chain(PROPOSALS.into_iter().map(Feature::name))
}

/// What the words of the flag, `flux=2.9` and so on, come to.
///
/// # Errors
/// A word that is none, in a message that says what is.
pub(super) fn parse(words: &[String]) -> Result<Assumed, Failure> {
    let mut assumed = Assumed::default();
    let mut seen = BTreeSet::new();
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            let example = match suggest(word, keys()) {
                Some(key) => format!("{key}={}", example(key)),
                None => "flux=2.9".to_owned(),
            };
            return Err(wrong(format!("`{}` names no value; write {example}", clean(word))));
        };
        if !seen.insert(key) {
            return Err(wrong(format!("{} is said twice", clean(key))));
        }
        match key {
            "flux" => assumed.flux = Some(within("Flux", key, value, &FLUX)?),
            "clusterApi" => assumed.cluster_api = Some(within("Cluster API", key, value, &CLUSTER_API)?),
            "kubernetes" => assumed.kubernetes = Some(kubernetes(value)?),
            _ => assumed.features.push(feature(key, value)?),
        }
    }
    Ok(assumed)
}

fn wrong(text: String) -> Failure {
    Failure::Usage(format!("--assume: {text}"))
}

/// A value that shows what a key takes.
fn example(key: &str) -> &'static str {
    match key {
        "flux" => "2.9",
        "kubernetes" => "1.34",
        "clusterApi" => "1.12",
        _ => "enabled",
    }
}

fn within(
    product: &str,
    key: &str,
    value: &str,
    range: &(u32, RangeInclusive<u32>),
) -> Result<Version, Failure> {
    let (major, minors) = range;
    let Some(version) = Version::parse(value) else {
        return Err(wrong(format!(
            "`{}` is no version of {product}; write {key}={}",
            clean(value),
            example(key)
        )));
    };
    if version.within(range) {
        return Ok(version);
    }
    Err(wrong(format!(
        "what {product} {version} does is not known here; {major}.{} to {major}.{} can be assumed",
        minors.start(),
        minors.end()
    )))
}

/// Of Kubernetes a table says which API versions went, whatever came after it.
fn kubernetes(value: &str) -> Result<Version, Failure> {
    match Version::parse(value).filter(|version| version.major == 1) {
        Some(version) => Ok(version),
        None => Err(wrong(format!(
            "`{}` is no version of Kubernetes; write kubernetes={}",
            clean(value),
            example("kubernetes")
        ))),
    }
}

fn feature(key: &str, value: &str) -> Result<(Feature, bool), Failure> {
    let Some(feature) = PROPOSALS.into_iter().find(|feature| feature.name() == key) else {
        let known = keys().collect::<Vec<_>>().join(", ");
        return Err(wrong(match suggest(key, keys()) {
            Some(near) => format!("`{}` is unknown; did you mean `{near}`?", clean(key)),
            None => format!("`{}` is unknown; there are {known}", clean(key)),
        }));
    };
    match value {
        "enabled" => Ok((feature, true)),
        "disabled" => Ok((feature, false)),
        other => Err(wrong(match suggest(other, ["enabled", "disabled"]) {
            Some(near) => format!("{key}: `{}` is unknown; did you mean `{near}`?", clean(other)),
            None => format!("{key}: `{}` is unknown; it is enabled or disabled", clean(other)),
        })),
    }
}
