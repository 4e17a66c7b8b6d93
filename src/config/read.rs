//! Text of `.forebay.yaml` to [`Config`]; every mistake with its place.

use super::{
    ClusterConfig, Config, Extension, Feature, FluxSource, Handler, Injected, KubeConfig, Level, Override,
    Pattern, RuleLevel, SourceTree, TargetConfig, Written,
};
use crate::files::join;
use crate::lang::text::suggest;
use crate::lang::yaml::{EntryRef, FilePath, Location, NodeRef, Stream, parse_nodes};
use crate::model::{CLUSTER_API, FLUX, Version};
use std::ops::RangeInclusive;

/// Something wrong in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// What is wrong.
    pub message: String,
    /// What to do; may be empty.
    pub help: String,
    /// Where.
    pub location: Location,
}

/// Read a configuration. `name` is the file's name in locations.
///
/// # Errors
/// All mistakes, in order of their places.
pub fn read(name: &str, text: &str) -> Result<Config, Vec<Mistake>> {
    let mut reader = ConfigReader::default();
    let at = |start: u32| Location { file: FilePath::in_root(name), start, end: start, via: Vec::new() };
    for error in Stream::parse(text).errors {
        reader.mistake(at(error.offset), format!("not valid YAML: {}", error.message), "");
    }
    let documents = parse_nodes(name, text);
    let mut config = Config::default();
    if reader.mistakes.is_empty() {
        if let Some(second) = documents.get(1) {
            let place = second.get_ref().location().unwrap_or_else(|| at(0));
            reader.mistake(place, "a second document", "a configuration is one YAML document");
        }
        if let Some(root) = documents.first() {
            config = reader.config(root.get_ref());
        }
    }
    if reader.mistakes.is_empty() {
        return Ok(config);
    }
    reader.mistakes.sort_by_key(|mistake| mistake.location.start);
    Err(reader.mistakes)
}

/// Globs that every path has to be compared with. Real configurations have a few.
const LOOSE_LIMIT: usize = 256;

#[derive(Default)]
struct ConfigReader {
    mistakes: Vec<Mistake>,
    /// Globs that begin with a wildcard.
    loose: usize,
}

/// The entries of a map by key.
struct Fields<'a>(Vec<EntryRef<'a>>);

impl<'a> Fields<'a> {
    /// The value of a key; null counts as absent.
    fn get(&self, key: &str) -> Option<NodeRef<'a>> {
        self.0.iter().find(|entry| entry.key == key).map(|entry| entry.value).filter(|value| !value.is_null())
    }
}

const ROOT: [&str; 13] = [
    "version",
    "target",
    "clusters",
    "sources",
    "exclude",
    "schemas",
    "charts",
    "baseline",
    "injectedVariables",
    "rules",
    "overrides",
    "requireReason",
    "plan",
];

const TARGET: [&str; 7] = [
    "flux",
    "clusterApi",
    "kubernetes",
    "features",
    "additionalSyncMachineLabels",
    "additionalSyncMachineAnnotations",
    "extensions",
];

/// Hooks that handlers answer: the catalogue of cluster-api `api/runtime/hooks/v1alpha1`.
const HOOKS: [&str; 16] = [
    "AfterClusterUpgrade",
    "AfterControlPlaneInitialized",
    "AfterControlPlaneUpgrade",
    "AfterWorkersUpgrade",
    "BeforeClusterCreate",
    "BeforeClusterDelete",
    "BeforeClusterUpgrade",
    "BeforeControlPlaneUpgrade",
    "BeforeWorkersUpgrade",
    "CanUpdateMachine",
    "CanUpdateMachineSet",
    "DiscoverVariables",
    "GeneratePatches",
    "GenerateUpgradePlan",
    "UpdateMachine",
    "ValidateTopology",
];

impl ConfigReader {
    fn mistake(&mut self, location: Location, message: impl Into<String>, help: impl Into<String>) {
        self.mistakes.push(Mistake { message: message.into(), help: help.into(), location });
    }

    fn wrong(&mut self, node: NodeRef<'_>, message: impl Into<String>, help: impl Into<String>) {
        self.mistake(place(node), message, help);
    }

    fn config(&mut self, root: NodeRef<'_>) -> Config {
        let fields = self.fields(root, "the configuration", &ROOT);
        match fields.get("version") {
            Some(version) if version.as_int() != Some(1) => {
                self.wrong(version, "unknown version of the configuration", "write `version: 1`");
            }
            _ => {}
        }
        let mut config = Config::default();
        if let Some(target) = fields.get("target") {
            config.target = self.target(target);
        }
        config.clusters = self.list(fields.get("clusters"), "clusters", ConfigReader::cluster);
        self.refuse_repeated_clusters(&config.clusters);
        config.sources = self.list(fields.get("sources"), "sources", ConfigReader::source);
        config.exclude =
            self.list(fields.get("exclude"), "exclude", ConfigReader::pattern).into_iter().collect();
        config.schemas = self.list(fields.get("schemas"), "schemas", ConfigReader::written);
        config.charts = self.list(fields.get("charts"), "charts", ConfigReader::written);
        config.baseline = fields.get("baseline").and_then(|node| self.written(node));
        config.rules = self.rules(fields.get("rules"));
        config.overrides = self.list(fields.get("overrides"), "overrides", ConfigReader::r#override);
        config.injected_variables = fields.get("injectedVariables").and_then(|node| self.injected(node));
        config.require_reason = fields.get("requireReason").and_then(|node| {
            let value = self.boolean(node)?;
            Some(Written { value, location: place(node) })
        });
        if let Some(plan) = fields.get("plan") {
            let fields = self.fields(plan, "plan", &["base"]);
            config.plan_base = fields.get("base").and_then(|node| self.written(node));
        }
        config
    }

    fn injected(&mut self, node: NodeRef<'_>) -> Option<Written<Injected>> {
        let value = if node.is_seq() {
            let names = self.list(Some(node), "injectedVariables", ConfigReader::written);
            Injected::Names(names.into_iter().map(|name| name.value).collect())
        } else if self.boolean(node)? {
            Injected::Any
        } else {
            Injected::No
        };
        Some(Written { value, location: place(node) })
    }

    fn target(&mut self, node: NodeRef<'_>) -> TargetConfig {
        let fields = self.fields(node, "target", &TARGET);
        let mut version = |key: &str, range: Option<&(u32, RangeInclusive<u32>)>| {
            fields.get(key).and_then(|node| self.version(node, range))
        };
        let mut target = TargetConfig {
            flux: version("flux", Some(&FLUX)),
            cluster_api: version("clusterApi", Some(&CLUSTER_API)),
            kubernetes: version("kubernetes", None),
            ..TargetConfig::default()
        };
        if let Some(features) = fields.get("features") {
            target.features = self.features(features);
        }
        target.additional_sync_machine_labels = self.list(
            fields.get("additionalSyncMachineLabels"),
            "additionalSyncMachineLabels",
            ConfigReader::written,
        );
        target.additional_sync_machine_annotations = self.list(
            fields.get("additionalSyncMachineAnnotations"),
            "additionalSyncMachineAnnotations",
            ConfigReader::written,
        );
        target.extensions = self.list(fields.get("extensions"), "extensions", ConfigReader::extension);
        target
    }

    fn version(
        &mut self,
        node: NodeRef<'_>,
        range: Option<&(u32, RangeInclusive<u32>)>,
    ) -> Option<Written<Version>> {
        let text = self.text(node)?;
        if text == "auto" {
            return None;
        }
        let help = match range {
            Some((major, minors)) => {
                format!("known are {major}.{} to {major}.{}, and auto", minors.start(), minors.end())
            }
            None => "write MAJOR.MINOR, such as \"1.34\", or auto".to_owned(),
        };
        let Some(value) = Version::parse(&text) else {
            self.wrong(node, format!("`{text}` is no version"), help);
            return None;
        };
        Some(Written { value, location: place(node) })
    }

    fn features(&mut self, node: NodeRef<'_>) -> Vec<(Feature, Written<bool>)> {
        let names = Feature::ALL.map(Feature::name);
        let fields = self.fields(node, "features", &names);
        let mut features = Vec::new();
        for entry in &fields.0 {
            let Some(feature) = Feature::ALL.into_iter().find(|feature| feature.name() == entry.key) else {
                continue;
            };
            let Some(text) = self.text(entry.value) else { continue };
            let value = match &*text {
                "auto" => continue,
                "enabled" => true,
                "disabled" => false,
                _ => {
                    let message = format!("`{text}` is no state of a feature");
                    self.wrong(entry.value, message, "write auto, enabled or disabled");
                    continue;
                }
            };
            features.push((feature, Written { value, location: place(entry.value) }));
        }
        features
    }

    fn extension(&mut self, node: NodeRef<'_>) -> Option<Extension> {
        let fields = self.fields(node, "an extension", &["name", "handlers"]);
        let name = self.required(node, &fields, "name")?;
        let handlers = self.list(fields.get("handlers"), "handlers", ConfigReader::handler);
        Some(Extension { name, handlers })
    }

    fn handler(&mut self, node: NodeRef<'_>) -> Option<Handler> {
        let fields = self.fields(node, "a handler", &["name", "hook", "failurePolicy"]);
        let policy = fields.get("failurePolicy").map(|node| (node, self.text(node)));
        let ignores_failure = match policy {
            Some((_, Some(text))) if text == "Ignore" => true,
            Some((node, Some(text))) if text != "Fail" => {
                self.wrong(node, format!("`{text}` is no failurePolicy"), "write Fail or Ignore");
                false
            }
            _ => false,
        };
        let name = self.required(node, &fields, "name")?;
        let hook = self.required(node, &fields, "hook")?;
        if !HOOKS.contains(&&*hook)
            && let Some(node) = fields.get("hook")
        {
            let help = match suggest(&hook, HOOKS) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("hooks are {}", HOOKS.join(", ")),
            };
            self.wrong(node, format!("`{hook}` is no hook of Cluster API"), help);
        }
        Some(Handler { name, hook, ignores_failure })
    }

    fn cluster(&mut self, node: NodeRef<'_>) -> Option<ClusterConfig> {
        let fields = self.fields(node, "a cluster", &["name", "path", "target", "kubeConfig"]);
        let target = fields.get("target").map(|node| self.target(node));
        let kube_config = fields.get("kubeConfig").and_then(|node| self.kube_config(node));
        let path = fields.get("path").and_then(|node| self.path(node));
        let name = self.required(node, &fields, "name")?;
        if path.is_none() && kube_config.is_none() && fields.get("path").is_none() {
            self.wrong(node, format!("cluster `{name}` has no path"), "add the directory that Flux applies");
        }
        Some(ClusterConfig { name, path, target, kube_config, location: place(node) })
    }

    fn refuse_repeated_clusters(&mut self, clusters: &[ClusterConfig]) {
        for (index, cluster) in clusters.iter().enumerate() {
            if clusters[..index].iter().any(|before| before.name == cluster.name) {
                let message = format!("a second cluster named `{}`", cluster.name);
                self.mistake(cluster.location.clone(), message, "names of clusters are unique");
            }
        }
    }

    /// `[namespace/]name`, or the spelling of Flux: `secretRef` or
    /// `configMapRef` with a name.
    fn kube_config(&mut self, node: NodeRef<'_>) -> Option<KubeConfig> {
        if node.is_map() {
            let fields = self.fields(node, "kubeConfig", &["namespace", "secretRef", "configMapRef"]);
            let namespace = fields.get("namespace").and_then(|node| self.text(node));
            let Some(reference) = fields.get("secretRef").or_else(|| fields.get("configMapRef")) else {
                self.wrong(node, "kubeConfig names no object", "add secretRef or configMapRef");
                return None;
            };
            let fields = self.fields(reference, "the reference", &["name", "key"]);
            let name = self.required(reference, &fields, "name")?;
            return Some(KubeConfig { namespace, name });
        }
        let text = self.text(node)?;
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace.to_owned()), name.to_owned()),
            None => (None, text),
        };
        Some(KubeConfig { namespace, name })
    }

    fn source(&mut self, node: NodeRef<'_>) -> Option<FluxSource> {
        const KINDS: [&str; 4] = ["GitRepository", "OCIRepository", "Bucket", "ExternalArtifact"];
        let fields = self.fields(node, "a source", &["kind", "name", "namespace", "path", "dir"]);
        let namespace = fields.get("namespace").and_then(|node| self.text(node));
        let path = fields.get("path").and_then(|node| self.path(node));
        let directory = fields.get("dir").and_then(|node| self.text(node));
        if let (Some(_), Some(_), Some(directory)) = (&path, &directory, fields.get("dir"))
            && fields.get("path").and_then(NodeRef::text).as_deref() != Some(".")
        {
            self.wrong(
                directory,
                "a source has either path or dir",
                "path is inside this repository, dir is not",
            );
        }
        let kind = self.required(node, &fields, "kind")?;
        let name = self.required(node, &fields, "name")?;
        if !KINDS.contains(&kind.as_str()) {
            let help = match suggest(&kind, KINDS) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("one of {}", KINDS.join(", ")),
            };
            self.wrong(fields.get("kind").unwrap_or(node), format!("`{kind}` is no kind of source"), help);
        }
        let tree = match (directory, path) {
            (Some(directory), _) => SourceTree::Directory(directory),
            (None, Some(path)) => SourceTree::Path(path.value),
            (None, None) => SourceTree::Path(String::new()),
        };
        Some(FluxSource { kind, name, namespace, tree, location: place(node) })
    }

    fn r#override(&mut self, node: NodeRef<'_>) -> Option<Override> {
        let fields = self.fields(node, "an override", &["paths", "rules"]);
        let paths = self.list(fields.get("paths"), "paths", ConfigReader::pattern);
        for key in ["paths", "rules"] {
            if fields.get(key).is_none() {
                self.wrong(node, format!("an override without {key}"), format!("add `{key}`"));
            }
        }
        Some(Override { paths, rules: self.rules(fields.get("rules")) })
    }

    fn rules(&mut self, node: Option<NodeRef<'_>>) -> Vec<RuleLevel> {
        let Some(node) = node else { return Vec::new() };
        if !node.is_map() {
            self.wrong(node, "rules are no map", "write `rule-id: level`");
            return Vec::new();
        }
        let mut rules: Vec<RuleLevel> = Vec::new();
        for entry in node.entries() {
            let location = entry.key_location().unwrap_or_else(|| place(entry.value));
            if rules.iter().any(|rule| rule.name == entry.key) {
                self.mistake(location, format!("`{}` is given twice", entry.key), "");
                continue;
            }
            let Some(word) = self.text(entry.value) else { continue };
            // YAML 1.1 readers, editors included, take `off` for a boolean.
            let word = if word == "false" { "off".to_owned() } else { word };
            match Level::parse(&word) {
                Some(level) => rules.push(RuleLevel { name: entry.key.into_owned(), level, location }),
                None => {
                    let help = "write off, info, warning or error";
                    self.wrong(entry.value, format!("`{word}` is no level"), help);
                }
            }
        }
        rules
    }

    fn pattern(&mut self, node: NodeRef<'_>) -> Option<Pattern> {
        let text = self.text(node)?;
        match Pattern::new(&text, place(node)) {
            Ok(pattern) => {
                self.loose += usize::from(pattern.begins_anywhere());
                if self.loose == LOOSE_LIMIT + 1 {
                    let message = format!("more than {LOOSE_LIMIT} globs begin with a wildcard");
                    self.wrong(node, message, "begin them with a directory");
                }
                Some(pattern)
            }
            Err(why) => {
                self.wrong(node, format!("`{text}` is no glob: {why}"), "");
                None
            }
        }
    }

    /// A directory inside the root, cleaned.
    fn path(&mut self, node: NodeRef<'_>) -> Option<Written<String>> {
        let text = self.text(node)?;
        match join("", &text) {
            Some(value) if !text.starts_with('/') => Some(Written { value, location: place(node) }),
            _ => {
                let help = "paths are relative to the root";
                self.wrong(node, format!("`{text}` leaves the repository"), help);
                None
            }
        }
    }

    fn written(&mut self, node: NodeRef<'_>) -> Option<Written<String>> {
        let value = self.text(node)?;
        Some(Written { value, location: place(node) })
    }

    fn required(&mut self, parent: NodeRef<'_>, fields: &Fields<'_>, key: &str) -> Option<String> {
        match fields.get(key) {
            Some(node) => self.text(node),
            None if parent.is_map() => {
                self.wrong(parent, format!("`{key}` is missing"), "");
                None
            }
            None => None,
        }
    }

    fn text(&mut self, node: NodeRef<'_>) -> Option<String> {
        match node.text() {
            Some(text) if !text.is_empty() => Some(text.into_owned()),
            Some(_) => {
                self.wrong(node, "an empty value", "");
                None
            }
            None => {
                self.wrong(node, "a list or map where a word is expected", "");
                None
            }
        }
    }

    fn boolean(&mut self, node: NodeRef<'_>) -> Option<bool> {
        let value = node.as_bool();
        if value.is_none() {
            self.wrong(node, "neither true nor false", "");
        }
        value
    }

    fn list<T>(
        &mut self,
        node: Option<NodeRef<'_>>,
        what: &str,
        item: impl Fn(&mut ConfigReader, NodeRef<'_>) -> Option<T>,
    ) -> Vec<T> {
        let Some(node) = node else { return Vec::new() };
        if !node.is_seq() {
            self.wrong(node, format!("{what} is no list"), "");
            return Vec::new();
        }
        node.items().filter_map(|node| item(self, node)).collect()
    }

    /// The entries of a map, of which only `known` keys may exist.
    fn fields<'a>(&mut self, node: NodeRef<'a>, what: &str, known: &[&str]) -> Fields<'a> {
        if node.is_null() {
            return Fields(Vec::new());
        }
        if !node.is_map() {
            self.wrong(node, format!("{what} is no map"), "");
            return Fields(Vec::new());
        }
        let mut fields: Vec<EntryRef<'a>> = Vec::new();
        for entry in node.entries() {
            let location = entry.key_location().unwrap_or_else(|| place(entry.value));
            if !known.contains(&&*entry.key) {
                let help = match suggest(&entry.key, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("known are {}", known.join(", ")),
                };
                self.mistake(location, format!("unknown key `{}` in {what}", entry.key), help);
            } else if fields.iter().any(|before| before.key == entry.key) {
                self.mistake(location, format!("`{}` is given twice", entry.key), "");
            } else {
                fields.push(entry);
            }
        }
        Fields(fields)
    }
}

fn place(node: NodeRef<'_>) -> Location {
    // Every node here is a token of the text, so it has a place.
    node.location().unwrap_or(Location {
        file: FilePath::in_root(super::FILE_NAME),
        start: 0,
        end: 0,
        via: Vec::new(),
    })
}

#[cfg(test)]
mod tests;
