//! `duplicate-key`: a map that has one key twice.
//! Source: go-yaml v3 `decode.go` `uniqueKeys` compares the text of scalar keys
//! (so `1` and `"1"` are one, `yes` and `true` are two); sigs.k8s.io/yaml
//! `convertToJSONableObject` makes strings of go-yaml v2's keys, the last one wins.

use crate::lang::yaml::resolve::{json_key, reads_as_string};
use crate::lang::yaml::tape::TokenKind;
use crate::lang::yaml::{Dialect, Node, NodeRef, Scalar, Source};
use crate::lint::metadata::clipped;
use crate::lint::{Check, DocumentView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::ObjectId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::sync::Arc;

/// See the module.
pub(crate) static RULE: Rule = Rule {
    id: "duplicate-key",
    group: Group::Syntax,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a map that has one key twice",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/syntax/duplicate-key.md"),
    check: Check::Document(check),
};

fn check(view: &DocumentView<'_>, report: &mut Reporter<'_>) {
    for source in view.sources {
        let root = Node::Source(source.clone(), 0);
        let tokens = &source.document().tokens;
        if tokens.is_empty() {
            continue;
        }
        let is_object = ObjectId::of(root.get_ref()).is_some();
        let mut keys = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            if token.kind == TokenKind::Mapping {
                check_map(source, at as u32, is_object, &mut keys, report);
            }
        }
    }
}

/// `keys` is room for those of the map.
fn check_map<'s>(
    source: &'s Arc<Source>,
    map: u32,
    is_object: bool,
    keys: &mut Vec<(u32, Cow<'s, str>)>,
    report: &mut Reporter<'_>,
) {
    let document = source.document();
    let tokens = &document.tokens;
    let end = tokens[map as usize].next;
    keys.clear();
    let mut at = map + 1;
    while at < end {
        let value = tokens[at as usize].next;
        // go-yaml v3 compares no alias keys, and a complex key can't be JSON.
        if matches!(tokens[at as usize].kind, TokenKind::Scalar(_))
            && let Some(text) = NodeRef::Source(source, at).text()
        {
            keys.push((at, text));
        }
        at = tokens.get(value as usize).map_or(end, |token| token.next);
    }
    let keys = &*keys;
    let mut found = Vec::new();
    same_keys(keys, |first, key| found.push((first, key, true)));
    let v2 = |key: u32| NodeRef::Source(source, key).scalar(Dialect::GoYamlV2);
    let is_string = |(key, text): &(u32, Cow<'_, str>)| {
        document.tags.is_empty() && reads_as_string(text) || matches!(v2(*key), Scalar::Str(_))
    };
    if !keys.iter().all(is_string) {
        let json: Vec<(u32, Cow<'_, str>)> = keys
            .iter()
            .map(|(key, text)| match json_key(&v2(*key), Dialect::GoYamlV2) {
                Ok(json) => (*key, Cow::Owned(json.into_owned())),
                Err(_) => (*key, Cow::Borrowed(&**text)),
            })
            .collect();
        let same_text: FxHashSet<u32> = found.iter().map(|(_, key, _)| *key).collect();
        same_keys(&json, |first, key| {
            if !same_text.contains(&key) {
                found.push((first, key, false));
            }
        });
    }
    for (first, key, same_text) in found {
        let node = NodeRef::Source(source, key);
        let Some(text) = node.text() else { continue };
        let (Some(location), Some(earlier)) = (node.location(), NodeRef::Source(source, first).location())
        else {
            continue;
        };
        let key = clipped(&text, 40);
        let finding = if same_text {
            report.report(location, format!("key `{key}` is written twice"))
        } else {
            report.report(location, format!("key `{key}` is an earlier key in other words"))
        };
        if same_text && is_object {
            finding.why("kustomize refuses the document, and the build of its directory fails");
        } else {
            finding.level(Level::Warning).why(if same_text {
                "readers that accept it keep the last value only"
            } else {
                "the API machinery reads both as one key and keeps the last value only"
            });
        }
        finding
            .help("remove one of the two")
            .label("the same key again")
            .related("the first one is here", earlier)
            .field(String::new(), text.into_owned());
    }
}

/// Calls `found` with each key that stands in the list before, and where first.
fn same_keys(keys: &[(u32, Cow<'_, str>)], mut found: impl FnMut(u32, u32)) {
    // Most maps are small: no table is made for them.
    if keys.len() <= 16 {
        for (at, (key, text)) in keys.iter().enumerate() {
            if let Some((first, _)) = keys[..at].iter().find(|(_, other)| other == text) {
                found(*first, *key);
            }
        }
        return;
    }
    let mut seen: FxHashMap<&str, u32> = FxHashMap::default();
    for (key, text) in keys {
        match seen.get(&**text) {
            Some(first) => found(*first, *key),
            None => {
                seen.insert(text, *key);
            }
        }
    }
}
