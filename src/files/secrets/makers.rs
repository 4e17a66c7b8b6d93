//! What makes Secrets, or changes them, without being one: generators, patches,
//! templates and what they take in.

use super::{Region, textual};
use crate::files::{File, Snapshot, join};
use crate::lang::yaml::{NodeRef, Source, parse_nodes};
use regex::Regex;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

/// Adds what a document hides as the maker of Secrets.
///
/// `own` is where the regions of this document begin.
pub(super) fn regions(source: &Arc<Source>, own: usize, regions: &mut Vec<Region>) {
    let root = NodeRef::Source(source, 0);
    for literal in literals(root) {
        let (Some(text), Some(location)) = (literal.text(), literal.location()) else { continue };
        let key = text.split_once('=').map_or(0, |(key, _)| key.len() as u32 + 1);
        let mut region = Region::of(location.start..location.end);
        region.hide((location.start + key).min(location.end)..location.end, value_of(&text), true);
        regions.push(region);
    }
    patches(root, regions);
    if root.str_at("/kind").is_some_and(|kind| kind == "ResourceSet") {
        inputs(root, own, regions);
    }
}

/// Literals of generators: of a kustomization, or of a file that is one.
fn literals(root: NodeRef<'_>) -> impl Iterator<Item = NodeRef<'_>> {
    generators(root).flat_map(|generator| generator.items_at("/literals"))
}

fn generators(root: NodeRef<'_>) -> impl Iterator<Item = NodeRef<'_>> {
    let own = root.str_at("/kind").is_some_and(|kind| kind == "SecretGenerator").then_some(root);
    root.items_at("/secretGenerator").chain(own)
}

fn value_of(line: &str) -> &str {
    line.split_once('=').map_or(line, |(_, value)| value).trim_matches(['"', '\''])
}

/// Inline patches of Secrets, as a whole: their values have no tokens of their own.
fn patches(root: NodeRef<'_>, regions: &mut Vec<Region>) {
    for item in patch_items(root) {
        let text = item.get("patch").or_else(|| item.get("jsonOp")).unwrap_or(item);
        let (Some(patch), Some(location)) = (text.text(), text.location()) else { continue };
        let at_secret = item.at("/target/kind").is_some() && may_be_secret(item);
        let touches = may_be_secret(item) && touches_values(&patch);
        if !(textual::names_secret(&patch) || at_secret || touches) {
            continue;
        }
        let mut region = Region::of(location.start..location.end);
        region.hidden.push(location.start..location.end);
        for node in parse_nodes("patch", &patch) {
            patch_words(node.get_ref(), &mut region);
        }
        regions.push(region);
    }
    // A file of operations: whose they are stands elsewhere.
    for operation in root.items().filter(|item| item.get("op").is_some()) {
        let path = operation.str_at("/path").unwrap_or_default();
        if is_value_path(&path) {
            hide_below(operation.get("value"), regions);
        }
    }
}

const LISTS: &[&str] = &["/patches", "/patchesJson6902", "/patchesStrategicMerge"];

fn patch_items(root: NodeRef<'_>) -> impl Iterator<Item = NodeRef<'_>> {
    let lists = LISTS.iter().flat_map(move |list| [root.at(list), root.at(&format!("/spec{list}"))]);
    let own =
        root.str_at("/kind").is_some_and(|kind| kind.starts_with("Patch") && kind.ends_with("Transformer"));
    // What helm-controller applies to what a chart renders.
    let rendered = root.items_at("/spec/postRenderers").filter_map(|renderer| renderer.get("kustomize"));
    let rendered = rendered.flat_map(|kustomize| LISTS.iter().filter_map(move |list| kustomize.at(list)));
    let lists = lists.flatten().chain(rendered);
    lists.flat_map(NodeRef::items).chain(own.then_some(root))
}

fn touches_values(patch: &str) -> bool {
    patch.contains("/data") || patch.contains("/stringData")
}

fn is_value_path(path: &str) -> bool {
    path.starts_with("/data") || path.starts_with("/stringData")
}

/// The values of a patch: of operations, and of a Secret.
fn patch_words(node: NodeRef<'_>, region: &mut Region) {
    for operation in node.items() {
        let path = operation.str_at("/path").unwrap_or_default();
        let everywhere = !path.starts_with("/metadata");
        operation.get("value").into_iter().for_each(|value| words_below(value, everywhere, region, 0));
    }
    for entry in node.entries() {
        match &*entry.key {
            "apiVersion" | "kind" | "type" => {}
            "metadata" => {
                for map in ["labels", "annotations"] {
                    let map = entry.value.get(map).into_iter();
                    map.for_each(|map| words_below(map, false, region, 0));
                }
            }
            _ => words_below(entry.value, true, region, 0),
        }
    }
}

/// Levels of a patch that are looked at.
const DEPTH: u32 = 100;

fn words_below(node: NodeRef<'_>, everywhere: bool, region: &mut Region, depth: u32) {
    if depth > DEPTH {
        return;
    }
    if let Some(text) = node.text() {
        region.add(&text, everywhere);
    }
    node.entries().for_each(|entry| words_below(entry.value, everywhere, region, depth + 1));
    node.items().for_each(|item| words_below(item, everywhere, region, depth + 1));
}

/// Hides a value of this file, with all that is below it.
fn hide_below(node: Option<NodeRef<'_>>, regions: &mut Vec<Region>) {
    let Some((node, location)) = node.and_then(|node| Some((node, node.location()?))) else { return };
    let mut region = Region::of(location.start..location.end);
    region.hidden.push(location.start..location.end);
    words_below(node, true, &mut region, 0);
    regions.push(region);
}

/// Whether the target of a patch may be a Secret: its kind is a regular expression.
fn may_be_secret(patch: NodeRef<'_>) -> bool {
    let Some(kind) = patch.str_at("/target/kind") else { return true };
    let plain = kind.chars().all(|c| c.is_ascii_alphanumeric());
    if plain {
        kind == "Secret"
    } else {
        Regex::new(&format!("^(?:{kind})$")).is_ok_and(|kind| kind.is_match("Secret"))
    }
}

/// An input that a template takes in.
static INPUT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"inputs\.([A-Za-z_][A-Za-z0-9_]*)").expect("a constant expression"));

/// The inputs of a ResourceSet that its templates put into the values of Secrets.
fn inputs(root: NodeRef<'_>, own: usize, regions: &mut Vec<Region>) {
    let words = || regions[own..].iter().flat_map(|region| &region.words).filter(|word| word.everywhere);
    let mut names: Vec<String> = words()
        .flat_map(|word| INPUT.captures_iter(&word.text).map(|found| found[1].to_owned()).collect::<Vec<_>>())
        .collect();
    names.sort();
    names.dedup();
    for input in root.items_at("/spec/inputs") {
        for name in &names {
            hide_below(input.get(name), regions);
        }
    }
}

/// Files that are parts of Secrets as a whole, by their paths.
#[derive(Debug, Default)]
pub(crate) struct SecretParts {
    files: FxHashMap<Arc<str>, Region>,
}

impl SecretParts {
    /// What the kustomizations of a tree say.
    pub(crate) fn of(snapshot: &Snapshot) -> SecretParts {
        let mut made = SecretParts::default();
        for file in snapshot.files().iter().filter(|file| file.is_manifest || is_kustomization(&file.path)) {
            let Ok(blob) = snapshot.blob(file) else { continue };
            if !super::may_hold(blob.bytes()) {
                continue;
            }
            let directory = file.path.rsplit_once('/').map_or("", |(directory, _)| directory);
            for source in snapshot.sources(file).iter().filter(|source| !source.document().tokens.is_empty())
            {
                let root = NodeRef::Source(source, 0);
                made.generated(snapshot, directory, root);
                made.patched(snapshot, directory, root);
            }
        }
        made
    }

    /// The region that a file is.
    pub(crate) fn get(&self, file: &File) -> Option<&Region> {
        self.files.get(&file.path)
    }

    fn generated(&mut self, snapshot: &Snapshot, directory: &str, root: NodeRef<'_>) {
        for generator in generators(root) {
            let list = |field: &str| generator.items_at(field).filter_map(NodeRef::text).collect::<Vec<_>>();
            for name in list("/files") {
                let path = name.split_once('=').map_or(&*name, |(_, path)| path);
                self.whole(snapshot, directory, path, |text, region| {
                    region.add(text.trim(), true);
                    text.lines()
                        .filter(|line| line.trim().len() >= 16)
                        .for_each(|line| region.add(line.trim(), true));
                });
            }
            for name in list("/envs").iter().chain(generator.at("/env").and_then(NodeRef::text).iter()) {
                self.whole(snapshot, directory, name, |text, region| {
                    text.lines().for_each(|line| region.add(value_of(line), true));
                });
            }
        }
    }

    /// Files of operations on Secrets.
    fn patched(&mut self, snapshot: &Snapshot, directory: &str, root: NodeRef<'_>) {
        for item in patch_items(root) {
            let is_of_secrets = item.str_at("/target/kind").is_some_and(|kind| kind == "Secret");
            let Some(path) = item.str_at("/path").filter(|_| is_of_secrets) else { continue };
            self.whole(snapshot, directory, &path, |text, region| {
                parse_nodes("patch", text).iter().for_each(|node| patch_words(node.get_ref(), region));
            });
        }
    }

    fn whole(&mut self, snapshot: &Snapshot, directory: &str, name: &str, words: impl Fn(&str, &mut Region)) {
        let Some(file) = join(directory, name).and_then(|path| snapshot.file(&path)) else { return };
        let Ok(blob) = snapshot.blob(file) else { return };
        let Some(text) = blob.text() else { return };
        let whole: Range<u32> = 0..text.len() as u32;
        let mut region = Region::of(whole.clone());
        region.hidden.push(whole);
        words(text, &mut region);
        self.files.insert(file.path.clone(), region);
    }
}

pub(super) fn is_kustomization(path: &str) -> bool {
    path.rsplit('/').next() == Some("Kustomization")
}
