//! Entry points in what installs Flux otherwise than `flux bootstrap` from a
//! shell: eksctl, Terraform's `flux_bootstrap_git`, the chart `flux2-sync`, a
//! ClusterResourceSet with the manifests of a new cluster.
//! Source: eksctl `gitops.flux` of a ClusterConfig; the Flux provider of Terraform,
//! resource `flux_bootstrap_git`; chart `flux2-sync`; Cluster API's addons.

use super::leftovers::is_leftover;
use super::{EntryPoint, Form, by_path, clean_path, path_of, source_of};
use crate::files::Snapshot;
use crate::lang::yaml::{FilePath, Known, Location, NodeRef, parse_nodes};
use crate::model::{Object, ObjectId, kinds};
use crate::world::source::normalise;
use rustc_hash::FxHashSet;
use std::sync::Arc;

pub(super) fn find(snapshot: &Arc<Snapshot>) -> Vec<EntryPoint> {
    let mut entries = Vec::new();
    let mut texts: FxHashSet<(&str, Arc<str>)> = FxHashSet::default();
    let charts = sync_charts(snapshot);
    for object in snapshot.objects().iter().filter(|object| !is_leftover(object.path())) {
        let node = object.node.get_ref();
        if object.id.group() == "eksctl.io" && &*object.id.kind == "ClusterConfig" {
            entries.extend(of_eksctl(node));
        } else if kinds::is_helm_release(&object.id) && is_sync_chart(&charts, node) {
            entries.extend(of_sync_chart(object));
        } else if object.id.is("addons.cluster.x-k8s.io", "ClusterResourceSet") {
            for resource in node.items_at("/spec/resources") {
                if let (Some(kind), Some(name)) = (resource.str_at("/kind"), resource.str_at("/name")) {
                    let kind = if kind == "Secret" { "Secret" } else { "ConfigMap" };
                    texts.insert((kind, name.as_ref().into()));
                }
            }
        }
    }
    if !texts.is_empty() {
        for object in snapshot.objects().iter().filter(|object| !is_leftover(object.path())) {
            let is_meant =
                |(kind, name): &(&str, Arc<str>)| object.id.is("", kind) && *name == object.id.name;
            if texts.iter().any(is_meant) {
                entries.extend(of_texts(object));
            }
        }
    }
    for file in snapshot.files().iter().filter(|file| file.path.ends_with(".tf")) {
        let Some(stream) = snapshot.stream(file).filter(|_| !is_leftover(&file.path)) else { continue };
        entries.extend(of_terraform(&file.path, &stream.text));
    }
    entries
}

fn of_eksctl(node: NodeRef<'_>) -> Option<EntryPoint> {
    let flags = node.at("/gitops/flux/flags")?;
    let path = flags.get("path")?;
    let text = |key: &str| flags.get(key).and_then(NodeRef::as_str).map(|text| text.into_owned());
    let namespace = text("namespace").unwrap_or_else(|| "flux-system".to_owned());
    let root = clean_path(&path.as_str()?);
    let mut entry = by_path(&namespace, &namespace, &namespace, &root, path.location());
    entry.form = Form::Eksctl;
    entry.url = text("owner").zip(text("repository")).map(|(owner, name)| {
        let host = match node.str_at("/gitops/flux/gitProvider").as_deref() {
            Some("gitlab") => "gitlab.com",
            _ => "github.com",
        };
        normalise(&format!("https://{host}/{owner}/{name}"))
    });
    Some(entry)
}

/// Whether a chart's name or address is that of `flux2-sync`.
fn names_sync_chart(text: &str) -> bool {
    text.trim_end_matches('/').rsplit('/').next() == Some("flux2-sync")
}

/// Names of the OCIRepositories that hold the chart `flux2-sync`.
fn sync_charts(snapshot: &Snapshot) -> FxHashSet<&str> {
    let holds_it = |object: &&Object| {
        *object.id.kind == *"OCIRepository"
            && object.node.get_ref().str_at("/spec/url").is_some_and(|url| names_sync_chart(&url))
    };
    snapshot.objects().iter().filter(holds_it).map(|object| &*object.id.name).collect()
}

/// Whether a HelmRelease installs the chart `flux2-sync`.
fn is_sync_chart(charts: &FxHashSet<&str>, node: NodeRef<'_>) -> bool {
    match node.str_at("/spec/chart/spec/chart") {
        Some(chart) => names_sync_chart(&chart),
        None => node.str_at("/spec/chartRef/name").is_some_and(|name| charts.contains(&*name)),
    }
}

fn of_sync_chart(object: &Object) -> Option<EntryPoint> {
    let node = object.node.get_ref();
    let path = node.at("/spec/values/kustomization/spec/path")?;
    let target = node.str_at("/spec/targetNamespace");
    let namespace = target.as_deref().or(object.id.namespace.as_deref()).unwrap_or("flux-system");
    let name = node.str_at("/spec/releaseName");
    let name = name.as_deref().unwrap_or(&object.id.name);
    let mut entry = by_path(namespace, name, name, &clean_path(&path.as_str()?), path.location());
    entry.form = Form::SyncChart;
    entry.url = node.str_at("/spec/values/gitRepository/spec/url").map(|url| normalise(&url));
    Some(entry)
}

/// The manifests that a ClusterResourceSet applies to the clusters that it
/// selects: each value of `data` is a text of them.
fn of_texts(object: &Object) -> Vec<EntryPoint> {
    let mut entries = Vec::new();
    let values =
        ["/data", "/stringData"].into_iter().flat_map(|field| object.node.get_ref().entries_at(field));
    for value in values.map(|entry| entry.value) {
        let Some(text) = value.as_str().filter(|text| text.contains(kinds::KUSTOMIZE)) else { continue };
        for document in parse_nodes(object.path(), &text) {
            let node = document.get_ref();
            let Some(id) = ObjectId::of(node).filter(kinds::is_kustomization) else { continue };
            let (Known::Value(root), Some(source)) = (path_of(node), source_of(&id, node)) else { continue };
            let namespace = id.namespace.as_deref().unwrap_or("flux-system");
            let entry = by_path(namespace, &id.name, &source.name, &root, value.location());
            entries.push(EntryPoint { form: Form::ResourceSet, ..entry });
        }
    }
    entries
}

/// `resource "flux_bootstrap_git" "NAME" { path = "…" }`. What is no literal text
/// is known when Terraform runs.
fn of_terraform(file: &str, text: &str) -> Vec<EntryPoint> {
    let mut entries = Vec::new();
    for (at, _) in text.match_indices("\"flux_bootstrap_git\"") {
        let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        if text[line..at].trim() != "resource" {
            continue;
        }
        let Some(open) = text[at..].find('{').map(|open| at + open) else { continue };
        let (mut path, mut namespace, mut depth, mut offset) = (None, None, 0usize, open);
        for line in text[open..].split_inclusive('\n') {
            let code = line.split('#').next().unwrap_or(line);
            if depth == 1
                && let Some((key, value)) = code.split_once('=')
            {
                let literal = value.trim().strip_prefix('"').and_then(|value| value.strip_suffix('"'));
                let value_at = (offset + line.find('=').unwrap_or(0) + 1) as u32;
                let place = Location {
                    file: FilePath::in_root(file),
                    start: value_at,
                    end: (offset + line.trim_end().len()) as u32,
                    via: Vec::new(),
                };
                match key.trim() {
                    "path" => path = Some((literal.unwrap_or("${}").to_owned(), place)),
                    "namespace" => namespace = literal.map(str::to_owned),
                    _ => {}
                }
            }
            // `${` in a text has its own end.
            depth += code.matches('{').count();
            depth = depth.saturating_sub(code.matches('}').count());
            offset += line.len();
            if depth == 0 {
                break;
            }
        }
        let Some((path, place)) = path else { continue };
        let namespace = namespace.unwrap_or_else(|| "flux-system".to_owned());
        let root = if path == "${}" { path } else { clean_path(&path) };
        let entry = by_path(&namespace, &namespace, &namespace, &root, Some(place));
        entries.push(EntryPoint { form: Form::Terraform, ..entry });
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_terraform_are_read() {
        let text = "provider \"flux\" {\n  path = \"no\"\n}\n\nresource \"flux_bootstrap_git\" \"this\" {\n  \
                    # path = \"neither\"\n  components_extra = [\"a\"]\n  kustomization_override = file(\"${path.root}/x\")\n  \
                    path = \"clusters/${var.name}\" # here\n  namespace=\"flux\"\n  timeouts {\n    path = \"nor\"\n  }\n}\n";
        let found = of_terraform("main.tf", text);
        let (id, _) = &found[0].kustomizations[0];
        assert_eq!(
            (found.len(), found[0].root.as_str(), id.to_string().as_str()),
            (1, "clusters/${var.name}", "Kustomization flux/flux")
        );
        assert_eq!(
            found[0].location.as_ref().map(|place| &text[place.start as usize..place.end as usize]),
            Some(" \"clusters/${var.name}\" # here")
        );
        let unknown =
            of_terraform("main.tf", "resource \"flux_bootstrap_git\" \"this\" {\n  path = var.path\n}\n");
        assert_eq!(unknown[0].root, "${}");
    }
}
