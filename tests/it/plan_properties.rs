//! What means nothing to the controllers is no effect: whole repositories are
//! written anew, with other quotes, styles, indentation, comments, order of keys
//! and documents, and file names, and the plan between the two is empty.
//!
//! `FOREBAY_RENDERINGS` sets how often each repository is written anew.

use crate::support::corpus::{Files, children};
use crate::support::random::Random;
use crate::support::scratch::Scratch;
use crate::support::skip::corpus_or_skip;
use forebay::internals::config::Config;
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::lang::yaml::{
    Dialect, EntryRef, NodeKind, NodeRef, Scalar, ScalarStyle, Stream, parse_nodes,
};
use forebay::internals::plan::plan;
use forebay::internals::world::World;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

#[test]
fn a_repository_written_anew_has_no_effects() {
    let mut repositories: Vec<(String, Files)> = Vec::new();
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    for directory in ["fixtures", "tests/projects"] {
        repositories.extend(children(&own.join(directory)));
    }
    // A file under another name is no longer what marks a test suite, and a comment that goes
    // no longer says the version of Flux, by which a build of `update` fails.
    repositories.retain(|(name, _)| name != "inventory-test-suites" && name != "update");
    assert!(repositories.len() > 40, "{} repositories", repositories.len());
    has_no_effects(&repositories);
}

#[test]
fn a_real_repository_written_anew_has_no_effects() {
    has_no_effects(&children(corpus_or_skip!().root()));
}

/// A tree beside itself, whatever is wrong in it.
#[test]
fn a_broken_tree_does_not_differ_from_itself() {
    let kustomization = |rest: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: apps, namespace: \
             flux-system}}\nspec:\n  interval: 10m\n  path: ./apps\n  prune: true\n{rest}"
        )
    };
    let twice = "  sourceRef:\n    kind: GitRepository\n    name: one\n    name: two\n";
    let list = "  patches:\n    - patch: a\n      patch: b\n    - patch: a\n      patch: b\n";
    for text in [
        kustomization(twice),
        kustomization(list),
        format!("{}---\n{}", kustomization(twice), kustomization("  path: ./other\n")),
        format!("{}  x: 1\n  x: {{a: 1, a: 2}}\n", kustomization(twice)),
    ] {
        let scratch =
            Scratch::new(&[("base/clusters/a/apps.yaml", &text), ("head/clusters/a/apps.yaml", &text)]);
        let run = scratch.forebay(&["plan", "--base", "./base", "--head", "./head", "--format", "json"]);
        assert_eq!(run.json()["effects"], serde_json::json!([]), "{text}");
    }
}

/// Which of two comes first, and how a list is written, decides nothing.
#[test]
fn layouts_that_say_the_same_do_not_differ() {
    let kustomization = |name: &str, source: &str, path: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: \
             flux-system}}\nspec:\n  interval: 10m\n  path: {path}\n  prune: true\n  sourceRef: {{kind: GitRepository, \
             name: {source}}}\n"
        )
    };
    let source = |name: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: {name}, namespace: \
             flux-system}}\nspec: {{interval: 1m, url: https://github.com/example/{name}}}\n"
        )
    };
    let settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\n";
    let instance = "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {name: flux, namespace: \
                    flux-system}\nspec:\n  distribution: {version: 2.8.8, registry: ghcr.io/fluxcd}\n  sync: {kind: \
                    GitRepository, url: https://github.com/example/fleet, ref: refs/heads/main, path: clusters/prod/gotk}\n";
    let both = |one: String, other: String| [format!("{one}---\n{other}"), format!("{other}---\n{one}")];

    // Two Kustomizations that apply the same directory.
    let sync =
        format!("{}---\n{}", source("flux-system"), kustomization("flux-system", "flux-system", "./prod"));
    let twice =
        both(kustomization("one", "flux-system", "./apps"), kustomization("two", "flux-system", "./apps"));
    let appliers: Vec<Layout<'_>> = twice
        .iter()
        .map(|pair| {
            vec![("prod/gotk-sync.yaml", &*sync), ("prod/apps.yaml", pair), ("apps/a.yaml", settings)]
        })
        .collect();
    // Two that apply themselves, of two sources.
    let sources = format!("{}---\n{}", source("flux-system"), source("mirror"));
    let roots =
        both(kustomization("all", "flux-system", "./prod"), kustomization("copy", "mirror", "./prod"));
    let mut selves: Vec<Layout<'_>> = roots
        .iter()
        .map(|pair| {
            vec![("prod/sources.yaml", &*sources), ("prod/roots.yaml", pair), ("prod/a.yaml", settings)]
        })
        .collect();
    selves.push(vec![("prod/0.yaml", &*roots[1]), ("prod/1.yaml", &sources), ("prod/2.yaml", settings)]);
    // A kustomization that lists a sync file and an instance.
    let below = both(
        kustomization("config", "flux-system", "./config"),
        kustomization("more", "flux-system", "./clusters/prod/more"),
    );
    let lists = [
        "resources:\n  - gotk-sync.yaml\n  - ./flux-instance.yaml\n",
        "resources: [gotk-sync.yaml, ./flux-instance.yaml]\n",
        "resources:\n- 'gotk-sync.yaml'\n- \"./flux-instance.yaml\"\n",
        "{resources: [./gotk-sync.yaml, flux-instance.yaml]}\n",
    ];
    let lists: Vec<Layout<'_>> = lists
        .into_iter()
        .map(|list| {
            vec![
                ("clusters/prod/gotk/kustomization.yaml", list),
                ("clusters/prod/gotk/gotk-sync.yaml", &*below[0]),
                ("clusters/prod/gotk/flux-instance.yaml", instance),
                ("clusters/prod/more/a.yaml", settings),
                (
                    "config/b.yaml",
                    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: default}\n",
                ),
            ]
        })
        .collect();
    for layouts in [appliers, selves, lists] {
        let store = Arc::new(Store::default());
        let worlds: Vec<World> = layouts.iter().map(|layout| world(&files_of(layout), &store)).collect();
        for (at, world) in worlds.iter().enumerate() {
            let objects =
                |world: &World| world.clusters.iter().map(|one| world.members(one).count()).sum::<usize>();
            assert!(objects(world) > 3, "{:?}", layouts[at]);
            for other in &worlds {
                let effects: Vec<_> = plan(world, other).iter().map(|effect| effect.reason.clone()).collect();
                assert!(effects.is_empty(), "{effects:?}\n{:?}", layouts[at]);
            }
        }
    }
}

/// Paths and texts of a repository.
type Layout<'t> = Vec<(&'static str, &'t str)>;

fn files_of(layout: &Layout<'_>) -> Files {
    layout.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
}

fn has_no_effects(repositories: &[(String, Files)]) {
    let times = std::env::var("FOREBAY_RENDERINGS").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    let (mut documents, mut renamed, mut objects) = (0, 0, 0);
    let mut problems = Vec::new();
    for (name, files) in repositories {
        let store = Arc::new(Store::default());
        let base = world(files, &store);
        objects += base.clusters.iter().map(|cluster| base.members(cluster).count()).sum::<usize>();
        for seed in 0..times {
            let mut rewriter = Rewriter { random: Random(seed), documents: 0, renamed: 0 };
            let head = rewriter.repository(files);
            documents += rewriter.documents;
            renamed += rewriter.renamed;
            let effects = plan(&base, &world(&head, &store));
            for effect in effects.iter().take(3) {
                problems.push(format!(
                    "{name}, seed {seed}: {} effects, {}/{} {} {:?} {}: {} -> {} ({})",
                    effects.len(),
                    effect.category(),
                    effect.effect,
                    effect.object.kind,
                    effect.object.name,
                    effect.field,
                    effect.before,
                    effect.after,
                    effect.reason,
                ));
            }
        }
    }
    println!(
        "{} repositories, {objects} effective objects, {documents} documents written anew, {renamed} files renamed",
        repositories.len()
    );
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(documents > 500 && renamed > 20, "{documents} documents, {renamed} files");
}

fn world(files: &Files, store: &Arc<Store>) -> World {
    let snapshot =
        Snapshot::memory(files.iter().map(|(path, bytes)| (path.as_str(), bytes.clone())), store.clone());
    World::new(&Arc::new(snapshot), &Config::default(), &[])
}

/// Whether a file is one of a chart: those have their names and their texts for a reason.
fn in_chart(files: &Files, path: &str) -> bool {
    let mut charts = files.keys().filter_map(|chart| chart.strip_suffix("Chart.yaml"));
    charts.any(|directory| path.starts_with(directory))
}

struct Rewriter {
    random: Random,
    documents: usize,
    renamed: usize,
}

impl Rewriter {
    fn repository(&mut self, files: &Files) -> Files {
        let mentioned = mentioned_as_data(files);
        let mut head = Files::new();
        for (path, bytes) in files {
            let name = path.rsplit('/').next().unwrap();
            let manifest = (name.ends_with(".yaml") || name.ends_with(".yml")) && !in_chart(files, path);
            let text = std::str::from_utf8(bytes).ok().filter(|_| manifest && !mentioned.contains(name));
            let written = text.and_then(|text| self.file(path, text)).map(String::into_bytes);
            head.insert(path.clone(), written.unwrap_or_else(|| bytes.clone()));
        }
        self.rename(head, &mentioned)
    }

    /// The text of a file whose documents are all Kubernetes objects or
    /// kustomizations, written anew.
    fn file(&mut self, path: &str, text: &str) -> Option<String> {
        let kustomization = matches!(
            path.rsplit('/').next(),
            Some("kustomization.yaml" | "kustomization.yml" | "Kustomization")
        );
        if !Stream::parse(text).errors.is_empty() || text.contains("{{") || text.contains("forebay:") {
            return None;
        }
        let mut documents = Vec::new();
        for node in parse_nodes(path, text) {
            let root = node.get_ref();
            let object = root.str_at("/apiVersion").is_some() && root.str_at("/kind").is_some();
            if !root.is_map() || !(object || kustomization) || text.contains("<<:") || grows(root) {
                return None;
            }
            let mut text = String::new();
            self.comment(&mut text, 0);
            self.map(root, 0, &mut text);
            documents.push(text);
        }
        self.documents += documents.len();
        if documents.is_empty() || kustomization && documents.len() > 1 {
            return None;
        }
        if self.random.one_in(2) && !is_entry_point(path) {
            self.random.shuffle(&mut documents);
        }
        let start = if self.random.one_in(2) { "---\n" } else { "" };
        Some(format!("{start}{}", documents.join("---\n")))
    }

    fn comment(&mut self, text: &mut String, indent: usize) {
        if self.random.one_in(8) {
            text.push_str(&format!(
                "{:indent$}# {}\n",
                "",
                self.random.pick(&["a comment", "key: value", "- x"])
            ));
        }
    }

    fn map(&mut self, node: NodeRef<'_>, indent: usize, text: &mut String) {
        let mut entries: Vec<EntryRef<'_>> = node.entries().collect();
        self.random.shuffle(&mut entries);
        for entry in entries {
            self.comment(text, indent);
            text.push_str(&" ".repeat(indent));
            text.push_str(&self.scalar(entry.key_node));
            text.push(':');
            self.value(entry.value, indent, text);
        }
    }

    /// What follows `key:` or `-`, with the end of its line.
    fn value(&mut self, node: NodeRef<'_>, indent: usize, text: &mut String) {
        match node.kind() {
            NodeKind::Map | NodeKind::Seq if is_empty(node) || self.random.one_in(10) && can_flow(node) => {
                text.push(' ');
                self.flow(node, text);
                text.push('\n');
            }
            NodeKind::Map => {
                text.push_str(self.random.pick::<&str>(&["\n", "  # why\n", "\n\n"]));
                let deeper = indent + self.random.below(3) + 1;
                self.map(node, deeper, text);
            }
            NodeKind::Seq => {
                text.push('\n');
                // A list may stand at the indentation of its key.
                let deeper = if indent == 0 { 0 } else { indent + self.random.below(3) };
                for item in node.items() {
                    self.comment(text, deeper);
                    text.push_str(&" ".repeat(deeper));
                    text.push('-');
                    self.item(item, deeper, text);
                }
            }
            NodeKind::Scalar | NodeKind::Unknown => {
                let scalar = self.scalar(node);
                let separator = if scalar.is_empty() { "" } else { " " };
                text.push_str(&format!("{separator}{scalar}\n"));
            }
        }
    }

    fn item(&mut self, node: NodeRef<'_>, indent: usize, text: &mut String) {
        match node.kind() {
            NodeKind::Map if !is_empty(node) => {
                let mut inner = String::new();
                let width = self.random.below(3) + 1;
                self.map(node, indent + 1 + width, &mut inner);
                let first_is_key = !inner.trim_start().starts_with('#');
                if first_is_key {
                    text.push_str(&inner[indent + 1..]);
                } else {
                    text.push('\n');
                    text.push_str(&inner);
                }
            }
            NodeKind::Seq if can_flow(node) => {
                text.push(' ');
                self.flow(node, text);
                text.push('\n');
            }
            _ => self.value(node, indent, text),
        }
    }

    fn flow(&mut self, node: NodeRef<'_>, text: &mut String) {
        match node.kind() {
            NodeKind::Map => {
                let mut entries: Vec<EntryRef<'_>> = node.entries().collect();
                self.random.shuffle(&mut entries);
                text.push('{');
                for (index, entry) in entries.into_iter().enumerate() {
                    text.push_str(if index == 0 { "" } else { ", " });
                    text.push_str(&self.scalar(entry.key_node));
                    text.push_str(": ");
                    self.flow(entry.value, text);
                }
                text.push('}');
            }
            NodeKind::Seq => {
                text.push('[');
                for (index, item) in node.items().enumerate() {
                    text.push_str(if index == 0 { "" } else { ", " });
                    self.flow(item, text);
                }
                text.push(']');
            }
            NodeKind::Scalar | NodeKind::Unknown => text.push_str(&self.scalar(node)),
        }
    }

    /// One line for a scalar, of the same value in both dialects.
    fn scalar(&mut self, node: NodeRef<'_>) -> String {
        let written = node.text().unwrap_or_default();
        let plain = node.style() == ScalarStyle::Plain;
        let string = |dialect| matches!(node.scalar(dialect), Scalar::Str(_));
        if !(string(Dialect::GoYamlV3) && string(Dialect::GoYamlV2)) {
            let tag = node.token().and_then(|_| tag_of(node)).unwrap_or_default();
            assert!(plain || !tag.is_empty(), "{written}");
            return format!("{tag}{written}");
        }
        let printable = written.chars().all(|c| (' '..='~').contains(&c) || c.is_alphabetic());
        match self.random.below(3) {
            0 if printable && !written.is_empty() => format!("'{}'", written.replace('\'', "''")),
            1 if is_plain(&written) => written.into_owned(),
            _ => serde_json::to_string(&written).unwrap(),
        }
    }

    /// Other names for files that one kustomization names, or none but the
    /// directory. The name of a file taken as data is a key of that data, and
    /// origin annotations carry the names of files into the objects.
    fn rename(&mut self, files: Files, data: &BTreeSet<String>) -> Files {
        if files.values().any(|bytes| String::from_utf8_lossy(bytes).contains("originAnnotations")) {
            return files;
        }
        let is_kustomization =
            |path: &str| path.rsplit('/').next().is_some_and(|n| n.starts_with("kustomization."));
        let texts: Vec<(String, String)> = files
            .iter()
            .filter_map(|(path, bytes)| Some((path.clone(), String::from_utf8(bytes.clone()).ok()?)))
            .collect();
        let mut edited: BTreeMap<String, String> = BTreeMap::new();
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for path in files.keys() {
            let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
            // Of a name such as `.sops.yaml` it depends whether the file is an artifact's.
            let Some(stem) = name.strip_suffix(".yaml").filter(|stem| !stem.starts_with('.')) else {
                continue;
            };
            let stays = is_kustomization(path) || is_entry_point(path) || data.contains(name);
            if stays || in_chart(&files, path) || !self.random.one_in(3) {
                continue;
            }
            let mentions: Vec<&String> =
                texts.iter().filter(|(_, text)| text.contains(stem)).map(|(path, _)| path).collect();
            let beside = format!("{directory}/kustomization.yaml");
            let new = format!("{stem}-moved-{}.yaml", self.random.below(1000));
            // Where its stem stands in a text of another kind, it may be a name.
            match mentions.iter().filter(|mention| is_kustomization(mention)).collect::<Vec<_>>()[..] {
                [] if !mentions.iter().any(|mention| *mention != path) && !files.contains_key(&beside) => {}
                [only] if **only == beside => {
                    let text = edited
                        .get(&beside)
                        .cloned()
                        .unwrap_or_else(|| String::from_utf8_lossy(&files[&beside]).into_owned());
                    let lines: Vec<&str> = text.lines().collect();
                    let mentioning: Vec<usize> =
                        (0..lines.len()).filter(|&at| lines[at].contains(stem)).collect();
                    let [line] = mentioning[..] else { continue };
                    let entry = lines[line].trim().trim_start_matches("- ").trim().trim_matches(['"', '\'']);
                    if entry.trim_start_matches("./") != name {
                        continue;
                    }
                    edited.insert(beside, text.replace(name, &new));
                }
                _ => continue,
            }
            names.insert(path.clone(), if directory.is_empty() { new } else { format!("{directory}/{new}") });
        }
        self.renamed += names.len();
        files
            .into_iter()
            .map(|(path, bytes)| {
                let bytes = edited.remove(&path).map_or(bytes, String::into_bytes);
                (names.remove(&path).unwrap_or(path), bytes)
            })
            .collect()
    }
}

fn is_empty(node: NodeRef<'_>) -> bool {
    node.entries().next().is_none() && node.items().next().is_none()
}

/// Whether a collection holds no empty scalar: go-yaml writes it as a string in
/// a flow collection, and patches drop it in a block one.
fn can_flow(node: NodeRef<'_>) -> bool {
    match node.kind() {
        NodeKind::Map => node.entries().all(|entry| can_flow(entry.value)),
        NodeKind::Seq => node.items().all(can_flow),
        _ => node.style() != ScalarStyle::Plain || node.text().is_some_and(|text| !text.is_empty()),
    }
}

/// Whether kustomize writes a text with more line breaks than it read: one that
/// folds and has indented lines. In another style it is another value then.
fn grows(node: NodeRef<'_>) -> bool {
    match node.kind() {
        NodeKind::Map => node.entries().any(|entry| grows(entry.value)),
        NodeKind::Seq => node.items().any(grows),
        _ => node.style() == ScalarStyle::Folded && node.text().is_some_and(|text| text.contains("\n ")),
    }
}

/// Files that tell which clusters there are by their name.
fn is_entry_point(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with("gotk-"))
}

/// Names of files that a kustomization may take as data, whose bytes then count.
fn mentioned_as_data(files: &Files) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (path, bytes) in files {
        let text = String::from_utf8_lossy(bytes);
        if path.contains("kustomization.y") && (text.contains("Generator") || text.contains("replacements")) {
            let words = text.split(|c: char| c.is_whitespace() || "=/\"'[],".contains(c));
            names.extend(words.filter(|word| word.contains(".y")).map(str::to_owned));
        }
    }
    names
}

/// Whether a string stands for itself without quotes, everywhere.
fn is_plain(text: &str) -> bool {
    let simple = text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    let is_string = |dialect| {
        parse_nodes("", text).iter().all(|node| matches!(node.get_ref().scalar(dialect), Scalar::Str(_)))
    };
    simple
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && is_string(Dialect::GoYamlV2)
        && is_string(Dialect::GoYamlV3)
}

fn tag_of(node: NodeRef<'_>) -> Option<String> {
    let NodeRef::Source(source, token) = node else { return None };
    source.document().tag(token).map(|tag| format!("!!{} ", tag.name.rsplit(':').next().unwrap_or_default()))
}
