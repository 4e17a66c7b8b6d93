//! `fluxConfigurations` of AKS and Azure Arc, where they are data: ARM templates
//! in JSON, Crossplane's FluxConfiguration. Each entry of `kustomizations` is a
//! root of its own, named after the configuration and its key.

use super::{EntryPoint, Form, by_path, clean_path};
use crate::files::Snapshot;
use crate::lang::yaml::NodeRef;
use crate::world::source::normalise;
use memchr::memmem;
use std::sync::Arc;

/// One configuration: its name, namespace, source and roots.
struct Configuration<'n> {
    name: String,
    namespace: String,
    url: Option<String>,
    /// Key, path and its node.
    roots: Vec<(String, NodeRef<'n>)>,
}

pub(super) fn find(snapshot: &Arc<Snapshot>) -> Vec<EntryPoint> {
    let mut entries = Vec::new();
    let marker = memmem::Finder::new("luxConfiguration");
    for file in snapshot.files().iter().filter(|file| file.is_manifest) {
        let Some(stream) = snapshot.stream(file) else { continue };
        if marker.find(stream.text.as_bytes()).is_none() {
            continue;
        }
        for source in snapshot.sources(file).iter().filter(|source| !source.document().tokens.is_empty()) {
            let root = source.root();
            let root = root.get_ref();
            let crossplane = root.str_at("/kind").is_some_and(|kind| kind == "FluxConfiguration");
            if crossplane {
                entries.extend(of_crossplane(root).iter().flat_map(Configuration::entries));
            }
            for resource in root.items_at("/resources") {
                entries.extend(of_arm(resource).iter().flat_map(Configuration::entries));
            }
        }
    }
    entries
}

fn of_arm(resource: NodeRef<'_>) -> Option<Configuration<'_>> {
    let kind = resource.str_at("/type")?;
    if !kind.ends_with("/fluxConfigurations") {
        return None;
    }
    let properties = resource.at("/properties")?;
    let roots = properties.entries_at("/kustomizations");
    Some(Configuration {
        name: resource
            .str_at("/name")
            .filter(|name| !name.starts_with('['))
            .unwrap_or("flux".into())
            .into_owned(),
        namespace: properties.str_at("/namespace").unwrap_or("default".into()).into_owned(),
        url: properties.str_at("/gitRepository/url").map(|url| normalise(&url)),
        roots: roots.filter_map(|root| Some((root.key.into_owned(), root.value.get("path")?))).collect(),
    })
}

fn of_crossplane(root: NodeRef<'_>) -> Option<Configuration<'_>> {
    let provider = root.at("/spec/forProvider")?;
    // The provider writes one-item lists for nested objects.
    let git = provider.at("/gitRepository/0").or_else(|| provider.at("/gitRepository"));
    let roots = provider.items_at("/kustomizations");
    let name = provider.str_at("/name").or_else(|| root.str_at("/metadata/name"))?;
    Some(Configuration {
        name: name.into_owned(),
        namespace: provider.str_at("/namespace").unwrap_or("default".into()).into_owned(),
        url: git.and_then(|git| git.str_at("/url")).map(|url| normalise(&url)),
        roots: roots
            .filter_map(|root| Some((root.str_at("/name")?.into_owned(), root.get("path")?)))
            .collect(),
    })
}

impl Configuration<'_> {
    fn entries(&self) -> Vec<EntryPoint> {
        let name_of = |key: &str| format!("{}-{key}", self.name);
        let one = |(key, path): &(String, NodeRef<'_>)| {
            let text = path.as_str()?;
            // An expression of the template language is known when it is deployed.
            let root = if text.starts_with('[') { "${}".to_owned() } else { clean_path(&text) };
            let mut entry = by_path(&self.namespace, &name_of(key), &self.name, &root, path.location());
            entry.form = Form::Azure;
            entry.url = self.url.clone();
            // The others of the configuration are in the cluster too.
            for (other, _) in self.roots.iter().filter(|(other, _)| other != key) {
                let mut id = entry.kustomizations.first()?.0.clone();
                id.name = name_of(other).into();
                entry.generated.push((id, None));
            }
            Some(entry)
        };
        self.roots.iter().filter_map(one).collect()
    }
}
