//! Directories of schemas that the configuration names: CustomResourceDefinitions
//! in YAML, and JSON Schemas as catalogues lay them out.

use super::crd::{self, Defined};
use super::tree::{Dialect, WrittenSchema};
use crate::files::{File, FileTree, Snapshot};
use crate::lang::yaml::{Source, Stream};
use rustc_hash::FxHashMap;
use std::sync::{Arc, OnceLock};

/// The schemas of those directories.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    /// By group, version and kind, the kind in lower case.
    defined: FxHashMap<(String, String, String), Arc<WrittenSchema>>,
    /// Files of JSON Schema by their path in lower case, below the directory.
    files: FxHashMap<String, SchemaFile>,
}

/// A file of JSON Schema, read when its kind is asked for.
#[derive(Debug)]
struct SchemaFile {
    snapshot: Arc<Snapshot>,
    file: Arc<File>,
    cell: OnceLock<Option<Arc<WrittenSchema>>>,
}

impl Catalogue {
    /// Take in a directory. What is neither a definition nor a JSON Schema is left
    /// out.
    pub(crate) fn add(&mut self, tree: &FileTree) {
        let snapshot = tree.snapshot();
        for (path, file) in tree.walk("") {
            if path.ends_with(".json") {
                let entry =
                    SchemaFile { snapshot: snapshot.clone(), file: file.clone(), cell: OnceLock::new() };
                self.files.insert(path.to_lowercase(), entry);
            } else if path.ends_with(".yaml") || path.ends_with(".yml") {
                self.definitions(snapshot, file);
            }
        }
    }

    fn definitions(&mut self, snapshot: &Arc<Snapshot>, file: &Arc<File>) {
        for source in snapshot.sources(file).iter().filter(|source| !source.document().tokens.is_empty()) {
            let node = source.root();
            let root = node.get_ref();
            if root.str_at("/kind").is_none_or(|kind| kind != "CustomResourceDefinition") {
                continue;
            }
            for Defined { group, version, kind, schema, .. } in crd::defined(root) {
                if let Some(schema) = schema {
                    let key = (group.to_string(), version.to_string(), kind.to_lowercase());
                    self.defined.insert(key, schema);
                }
            }
        }
    }

    /// The schema of a kind: a definition's, else that of a file named as
    /// `GROUP/KIND_VERSION.json` (the catalogue of CRDs, flux-schema) or as
    /// `KIND-GROUP-VERSION.json` (kubeconform, the group up to its first dot).
    pub(crate) fn find(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<WrittenSchema>> {
        if self.defined.is_empty() && self.files.is_empty() {
            return None;
        }
        let kind = kind.to_lowercase();
        let key = (group.to_owned(), version.to_owned(), kind.clone());
        if let Some(defined) = self.defined.get(&key) {
            return Some(defined);
        }
        let names = match group.split_once('.').map_or(group, |(first, _)| first) {
            "" => [format!("{kind}-{version}.json"), format!("core/{kind}_{version}.json")],
            short => [format!("{group}/{kind}_{version}.json"), format!("{kind}-{short}-{version}.json")],
        };
        let at_end = |path: &str, name: &str| {
            path.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        names.iter().find_map(|name| {
            let found = self.files.iter().filter(|(path, _)| at_end(path, name));
            found.min_by_key(|(path, _)| *path).and_then(|(_, entry)| entry.schema())
        })
    }
}

impl SchemaFile {
    fn schema(&self) -> Option<&Arc<WrittenSchema>> {
        let read = || {
            let stream: &Arc<Stream> = self.snapshot.blob(&self.file).ok()?.stream()?;
            stream.documents.first().filter(|document| !document.tokens.is_empty())?;
            let source = Source {
                file: self.file.name(),
                stream: stream.clone(),
                index: 0,
                embed: None,
                via: Vec::new(),
            };
            let node = Arc::new(source).root();
            let root = node.get_ref();
            root.get("properties").map(|_| crd::written(root, Dialect::JsonSchema))
        };
        self.cell.get_or_init(read).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Store;

    #[test]
    fn the_layouts_of_catalogues_are_known() {
        let schema = br#"{"type": "object", "properties": {"spec": {"type": "object"}}}"#;
        let definition = b"kind: CustomResourceDefinition\nspec:\n  group: example.com\n  names: {kind: Thing}\n  versions:\n    - name: v1\n      served: true\n      schema: {openAPIV3Schema: {type: object}}\n";
        let files = [
            ("example.com/widget_v1.json", schema.to_vec()),
            ("master-standalone/gadget-example-v1beta1.json", schema.to_vec()),
            ("master-standalone/configmap-v1.json", schema.to_vec()),
            ("example.com/list_v1.json", b"[1, 2]".to_vec()),
            ("crds/thing.yaml", definition.to_vec()),
        ];
        let snapshot = Arc::new(Snapshot::memory(files, Arc::new(Store::default())));
        let mut catalogue = Catalogue::default();
        catalogue.add(&FileTree::root(snapshot));
        for (group, version, kind, expected) in [
            ("example.com", "v1", "Widget", true),
            ("example.com", "v2", "Widget", false),
            ("example.com", "v1beta1", "Gadget", true),
            ("example.com", "v1", "List", false),
            ("", "v1", "ConfigMap", true),
            ("example.com", "v1", "Thing", true),
            ("example.org", "v1", "Thing", false),
        ] {
            assert_eq!(catalogue.find(group, version, kind).is_some(), expected, "{group}/{version} {kind}");
        }
    }
}
