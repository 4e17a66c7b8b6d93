//! Values of Secrets, which no output shows.

use super::secrets::{Values, may_be_secret};
use crate::files::{Snapshot, is_manifest_path};
use crate::lang::yaml::{FilePath, NodeRef, Stream};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The byte ranges of secret values, file by file, found when first asked for.
#[derive(Default)]
pub(crate) struct Masks {
    files: HashMap<FilePath, Vec<Range<u32>>>,
    values: Option<Arc<Values>>,
}

impl Masks {
    /// Masks of values that are known already, those of the tree among them.
    pub(crate) fn of_values(values: Option<Arc<Values>>) -> Masks {
        Masks { values, ..Masks::default() }
    }

    /// The secret values of the tree.
    pub(crate) fn values(&mut self, snapshot: &Snapshot) -> &Values {
        self.values.get_or_insert_with(|| Values::of([snapshot]).into())
    }

    /// The secret ranges of a file, in order and apart.
    pub(crate) fn of(&mut self, snapshot: &Snapshot, name: &FilePath) -> &[Range<u32>] {
        if !self.files.contains_key(name) {
            let mut ranges = secret_ranges(snapshot, name);
            let values = self.values(snapshot);
            if let Some(stream) = snapshot.find(name).and_then(|file| snapshot.stream(file)) {
                let found = values.find(&stream.text);
                ranges.extend(found.into_iter().map(|range| range.start as u32..range.end as u32));
            }
            ranges.sort_by_key(|range| range.start);
            ranges.dedup_by(|next, range| {
                let touches = next.start <= range.end;
                range.end = if touches { range.end.max(next.end) } else { range.end };
                touches
            });
            self.files.insert(name.clone(), ranges);
        }
        &self.files[name]
    }
}

fn secret_ranges(snapshot: &Snapshot, name: &FilePath) -> Vec<Range<u32>> {
    let mut ranges = Vec::new();
    if !is_manifest_path(name.shown()) {
        return ranges;
    }
    let Some(file) = snapshot.find(name) else { return ranges };
    for object in snapshot.objects_of(file) {
        if object.id.is("", "Secret") {
            values(object.node.get_ref(), &mut ranges);
        }
    }
    for source in snapshot.sources(file).iter().filter(|source| !source.document().tokens.is_empty()) {
        let root = NodeRef::Source(source, 0);
        for literal in root.items_at("/secretGenerator").flat_map(|item| item.items_at("/literals")) {
            let (Some(text), Some(location)) = (literal.text(), literal.location()) else { continue };
            let key = text.split_once('=').map_or(0, |(key, _)| key.len() as u32 + 1);
            ranges.push((location.start + key).min(location.end)..location.end);
        }
        patches(root, &mut ranges);
        operations(root, &mut ranges);
    }
    if let Some(stream) = snapshot.stream(file)
        && !stream.errors.is_empty()
    {
        unread(stream, &mut ranges);
    }
    ranges
}

/// Inline patches of Secrets, as a whole: their values have no tokens of their own.
fn patches(root: NodeRef<'_>, ranges: &mut Vec<Range<u32>>) {
    let lists = ["/patches", "/patchesJson6902", "/patchesStrategicMerge"];
    let lists = lists.into_iter().flat_map(|list| [root.at(list), root.at(&format!("/spec{list}"))]);
    for item in lists.flatten().flat_map(NodeRef::items) {
        if item.str_at("/kind").is_some_and(|kind| kind == "Secret") {
            values(item, ranges);
        }
        let text = item.get("patch").unwrap_or(item);
        let (Some(patch), Some(location)) = (text.text(), text.location()) else { continue };
        // What names a Secret in a reference holds no values.
        let is_of_secret = names_secret(&patch) && patch.replace("metadata", "").contains("ata")
            || may_be_secret(item) && (item.at("/target/kind").is_some() || touches_values(&patch));
        if is_of_secret {
            ranges.push(location.start..location.end);
        }
    }
}

fn touches_values(patch: &str) -> bool {
    patch.contains("/data") || patch.contains("/stringData")
}

/// Values in a file of JSON patch operations: whose they are stands elsewhere.
fn operations(root: NodeRef<'_>, ranges: &mut Vec<Range<u32>>) {
    for operation in root.items().filter(|item| item.get("op").is_some()) {
        let path = operation.str_at("/path").unwrap_or_default();
        if (path.starts_with("/data") || path.starts_with("/stringData"))
            && let Some(location) = operation.get("value").and_then(NodeRef::location)
        {
            ranges.push(location.start..location.end);
        }
    }
}

/// What kubectl notes of a Secret holds its values once more.
const LAST_APPLIED: &str = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";

/// Values below every `data` and `stringData` key, repeated ones included.
fn values(object: NodeRef<'_>, ranges: &mut Vec<Range<u32>>) {
    let last = object.at(LAST_APPLIED).and_then(NodeRef::location);
    ranges.extend(last.map(|location| location.start..location.end));
    for entry in object.entries().filter(|entry| matches!(&*entry.key, "data" | "stringData")) {
        for value in entry.value.entries() {
            ranges.extend(value.value.location().map(|location| location.start..location.end));
        }
    }
}

/// Where the parser stopped inside a Secret, everything from its data on.
fn unread(stream: &Stream, ranges: &mut Vec<Range<u32>>) {
    let text = &*stream.text;
    if !names_secret(text) {
        return;
    }
    let mut offset = 0;
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        let end = offset + line.len();
        let starts = |word: &str| line.trim_start().starts_with(word);
        if starts("data:") || starts("stringData:") {
            inside = true;
            // Flow maps hold their values on the same line.
            let colon = offset + line.find(':').unwrap_or(0) + 1;
            ranges.push(colon as u32..end as u32);
        } else if inside && (line.starts_with("---") || line.starts_with(|c: char| c.is_ascii_alphabetic())) {
            inside = false;
        } else if inside {
            ranges.push(offset as u32..end as u32);
        }
        offset = end;
    }
}

/// Whether a line of a text says `kind: Secret`.
fn names_secret(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.replace(['"', '\'', '{', '-'], "");
        line.trim().strip_prefix("kind:").is_some_and(|kind| kind.trim().starts_with("Secret"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Store;
    use std::sync::Arc;

    #[test]
    fn a_patch_is_masked_where_it_holds_values_of_a_secret() {
        let patch = |text: &str| format!("patches:\n- patch: |-\n{text}");
        for (text, is_masked) in [
            ("    kind: Secret\n    metadata: {name: a}\n    stringData: {x: y}\n", true),
            ("    {\"kind\": \"Secret\", \"data\": {\"x\": \"eQ==\"}}\n", true),
            ("    kind: Secret\n    metadata: {name: a, labels: {x: y}}\n", false),
            // A reference to one.
            (
                "    kind: Kustomization\n    spec:\n      postBuild:\n        substituteFrom:\n        - kind: Secret\n          name: a\n",
                false,
            ),
            (
                "    kind: HelmRelease\n    spec: {values: {extra: [\n      {\n        kind: Secret, stringData: {x: y}}]}}\n",
                true,
            ),
        ] {
            let files = [("kustomization.yaml", patch(text).into_bytes())];
            let snapshot = Snapshot::memory(files, Arc::new(Store::default()));
            let mut masks = Masks::default();
            assert_eq!(
                !masks.of(&snapshot, &FilePath::in_root("kustomization.yaml")).is_empty(),
                is_masked,
                "{text}"
            );
        }
    }
}
