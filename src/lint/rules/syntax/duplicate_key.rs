//! `duplicate-key`: a map that has one key twice.
//! Source: go-yaml v3 `decode.go` `uniqueKeys` compares the text of scalar keys
//! (so `1` and `"1"` are one, `yes` and `true` are two); sigs.k8s.io/yaml
//! `convertToJSONableObject` makes strings of go-yaml v2's keys, the last one wins.

use crate::build::kustomize::FILE_NAMES;
use crate::lang::text::counted;
use crate::lang::yaml::resolve::{json_key, reads_as_string};
use crate::lang::yaml::tape::TokenKind;
use crate::lang::yaml::{Dialect, NodeRef, Scalar, Source};
use crate::lint::metadata::clipped;
use crate::lint::{Check, DocumentView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::ObjectId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::sync::Arc;

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

/// Keys of a document that are named beside the first.
const RELATED: usize = 8;

fn check(view: &DocumentView<'_>, report: &mut Reporter<'_>) {
    for source in view.sources.iter().filter(|source| !is_data(view, source)) {
        let tokens = &source.document().tokens;
        let mut keys = Vec::new();
        let mut found = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            if token.kind == TokenKind::Mapping {
                check_map(source, at as u32, &mut keys, &mut found);
            }
        }
        // One finding for what one reader makes of a document.
        let (same, other): (Vec<Again>, Vec<Again>) = found.into_iter().partition(|again| again.same_text);
        tell_same(view, source, &same, report);
        tell_other(source, &other, report);
    }
}

/// Whether a document is data of something else: JSON that says neither `kind` nor
/// `apiVersion`. Whoever reads it knows what it is, and no build takes it in.
fn is_data(view: &DocumentView<'_>, source: &Arc<Source>) -> bool {
    let root = NodeRef::Source(source, 0);
    let is_json = view.file.path.ends_with(".json") && !source.document().tokens.is_empty();
    is_json && root.get("apiVersion").is_none() && root.get("kind").is_none()
}

/// A key that stands in its map before.
struct Again {
    /// The map's token.
    map: u32,
    first: u32,
    key: u32,
    same_text: bool,
}

/// Who reads a document, and what becomes of it there.
enum KeyReader {
    /// kustomize refuses it, in these words.
    Build(String),
    /// kustomize or Helm keeps the last one.
    KeepsLast(&'static str),
    /// An object that no build here takes in.
    Nobody,
    /// Something else.
    Unknown,
}

fn reader(view: &DocumentView<'_>, source: &Arc<Source>) -> KeyReader {
    let name = view.file.path.rsplit('/').next().unwrap_or_default();
    let id = ObjectId::of(source.root().get_ref());
    let is_build_file = |id: &ObjectId| id.group() == "kustomize.config.k8s.io";
    if FILE_NAMES.contains(&name) || id.as_ref().is_some_and(is_build_file) {
        return KeyReader::KeepsLast(
            "kustomize reads its own files with the last value: the first one is lost",
        );
    }
    if name == "Chart.yaml" {
        return KeyReader::KeepsLast("Helm keeps the last value only");
    }
    if id.is_none() {
        return KeyReader::Unknown;
    }
    if let Some(broken) = super::yaml_syntax::broken_builds(view) {
        return KeyReader::Build(format!("kustomize refuses the document: {broken}"));
    }
    let beyond = view.beyond();
    if beyond.world.has_entry {
        return KeyReader::Nobody;
    }
    match beyond.script_that_names(&view.file.path) {
        Some(_) => KeyReader::Unknown,
        None => {
            KeyReader::Build("kustomize refuses the document, and a build that takes it in fails".to_owned())
        }
    }
}

/// The keys that kustomize takes for the same.
fn tell_same(view: &DocumentView<'_>, source: &Arc<Source>, all: &[Again], report: &mut Reporter<'_>) {
    let Some(lead) = all.first() else { return };
    let node = |token: u32| NodeRef::Source(source, token);
    let text = |again: &Again| node(again.key).text().map(|text| clipped(&text, 40)).unwrap_or_default();
    let at_root = |name: &str| {
        all.iter().any(|again| again.map == 0 && node(again.key).text().as_deref() == Some(name))
    };
    // The root is first, and its keys are in order.
    let is_unparted = lead.map == 0 && at_root("apiVersion") && at_root("kind");
    let Some(location) = node(lead.key).location() else { return };
    let rest: Vec<&Again> = all.iter().skip(1).collect();
    let (title, help) = if is_unparted {
        let lines = source.stream.lines();
        let (line, _) = lines.position(&source.stream.text, location.start);
        (
            format!("a `---` is missing before line {line}"),
            "put a `---` line before it: another object begins here",
        )
    } else if rest.is_empty() {
        (format!("key `{}` is written twice", text(lead)), "remove one of the two")
    } else {
        let more = counted(rest.len(), "other");
        (format!("key `{}` and {more} are written twice", text(lead)), "remove one of each two")
    };
    let finding = report.report(location, title);
    match reader(view, source) {
        KeyReader::Build(why) => finding.why(why),
        KeyReader::KeepsLast(why) => finding.level(Level::Warning).why(why),
        KeyReader::Nobody => {
            finding.level(Level::Warning).why("kustomize refuses the document; no build here takes it in")
        }
        KeyReader::Unknown => {
            finding.level(Level::Warning).why("readers that accept it keep the last value only")
        }
    };
    finding.help(help).label("the same key again").field(String::new(), text(lead));
    if let Some(earlier) = node(lead.first).location() {
        finding.related("the first one is here", earlier);
    }
    for again in rest.iter().filter(|_| !is_unparted).take(RELATED) {
        if let Some(place) = node(again.key).location() {
            finding.related(format!("`{}` again", text(again)), place);
        }
    }
}

/// The keys that only the API machinery takes for the same.
fn tell_other(source: &Arc<Source>, all: &[Again], report: &mut Reporter<'_>) {
    for again in all {
        let node = NodeRef::Source(source, again.key);
        let Some(text) = node.text() else { continue };
        let (Some(location), Some(earlier)) =
            (node.location(), NodeRef::Source(source, again.first).location())
        else {
            continue;
        };
        report
            .report(location, format!("key `{}` is an earlier key in other words", clipped(&text, 40)))
            .level(Level::Warning)
            .why("the API machinery reads both as one key and keeps the last value only")
            .help("remove one of the two")
            .label("the same key again")
            .related("the first one is here", earlier)
            .field(String::new(), text.into_owned());
    }
}

/// `keys` is room for those of the map.
fn check_map<'s>(
    source: &'s Arc<Source>,
    map: u32,
    keys: &mut Vec<(u32, Cow<'s, str>)>,
    all: &mut Vec<Again>,
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
    // In the order of the text, so that what is told first is what is read first.
    found.sort_by_key(|(_, key, _)| *key);
    all.extend(found.into_iter().map(|(first, key, same_text)| Again { map, first, key, same_text }));
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
