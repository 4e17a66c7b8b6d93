//! Which values of a file SOPS encrypts.
//! Source: SOPS `sops.go` (`Tree.shouldBeEncrypted`), `stores/stores.go`
//! (`Metadata.ToInternal`, for the default).

use crate::lang::go::regexp::GoRegexp;
use crate::lang::yaml::NodeRef;
use std::sync::Arc;

/// A creation rule's or a file's choice of keys.
pub(super) enum Selection {
    /// Keys with this at the end are left as they are, with all below them.
    UnencryptedSuffix(String),
    /// Only what is below such a key is encrypted.
    EncryptedSuffix(String),
    /// As the first, by a pattern.
    UnencryptedRegex(Arc<GoRegexp>),
    /// As the second, by a pattern.
    EncryptedRegex(Arc<GoRegexp>),
}

impl Selection {
    /// Of a creation rule, or of what stands under `sops` in a file; `None` where it can't
    /// be told: comments choose, several choices are made, or a pattern is not Go's.
    pub(super) fn of(node: NodeRef<'_>) -> Option<Selection> {
        let stated = |key: &str| node.get(key).and_then(NodeRef::text).filter(|text| !text.is_empty());
        if ["unencrypted_comment_regex", "encrypted_comment_regex"].iter().any(|key| stated(key).is_some()) {
            return None;
        }
        let regexp = |key: &str| stated(key).map(|text| GoRegexp::shared(&text));
        let choices = [
            stated("unencrypted_suffix").map(|text| Some(Selection::UnencryptedSuffix(text.into_owned()))),
            stated("encrypted_suffix").map(|text| Some(Selection::EncryptedSuffix(text.into_owned()))),
            regexp("unencrypted_regex").map(|regexp| regexp.map(Selection::UnencryptedRegex)),
            regexp("encrypted_regex").map(|regexp| regexp.map(Selection::EncryptedRegex)),
        ];
        let mut choices = choices.into_iter().flatten();
        match (choices.next(), choices.next()) {
            (None, _) => Some(Selection::UnencryptedSuffix("_unencrypted".to_owned())),
            (Some(choice), None) => choice,
            (Some(_), Some(_)) => None,
        }
    }

    /// Whether a value is encrypted that stands below these keys, the outermost first;
    /// places in lists don't count.
    pub(super) fn encrypts<S: AsRef<str>>(&self, keys: &[S]) -> bool {
        let mut keys = keys.iter().map(AsRef::as_ref);
        match self {
            Selection::UnencryptedSuffix(suffix) => !keys.any(|key| key.ends_with(&**suffix)),
            Selection::EncryptedSuffix(suffix) => keys.any(|key| key.ends_with(&**suffix)),
            Selection::UnencryptedRegex(regexp) => !keys.any(|key| regexp.is_match(key)),
            Selection::EncryptedRegex(regexp) => keys.any(|key| regexp.is_match(key)),
        }
    }
}

/// Levels of a file that are looked at.
const DEPTH: usize = 100;

/// The scalars of a document with the keys above them, without those of `sops`, in order.
pub(super) fn leaves<'a>(root: NodeRef<'a>) -> Vec<(Vec<String>, NodeRef<'a>)> {
    let mut found = Vec::new();
    let mut open: Vec<(Vec<String>, NodeRef<'a>, usize)> = vec![(Vec::new(), root, 0)];
    while let Some((keys, node, depth)) = open.pop() {
        if depth > DEPTH {
            continue;
        }
        let start = open.len();
        if node.is_map() {
            for entry in node.entries().filter(|entry| depth > 0 || &*entry.key != "sops") {
                let mut below = keys.clone();
                below.push(entry.key.to_string());
                open.push((below, entry.value, depth + 1));
            }
            open[start..].reverse();
        } else if node.is_seq() {
            open.extend(node.items().map(|item| (keys.clone(), item, depth + 1)));
            open[start..].reverse();
        } else if !node.is_null() {
            found.push((keys, node));
        }
    }
    found
}
