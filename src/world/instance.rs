//! The pair that a FluxInstance makes of its `sync`: a source and a
//! Kustomization.
//! Source: flux-operator `internal/builder` (`syncTmpl`, `Build`), the
//! flux-instance chart (`templates/instance.yaml`).

use super::entry_point::{EntryPoint, Form, path_of, source_of};
use super::source::{normalise, reference};
use crate::build::kustomize::{self, BuildOptions, Links, LoadRestriction, Order, Rewrite, RootFile};
use crate::files::{FileTree, Snapshot, Store};
use crate::lang::yaml::{Known, Location, Node, NodeRef, Value, emit, parse_nodes};
use crate::model::{Called, Certainty, Object, ObjectId};
use crate::world::build::{Memo, build_overlay};
use std::sync::Arc;

/// The fields of an instance, from several texts of which the first wins.
struct Layers<'n>(Vec<NodeRef<'n>>);

impl<'n> Layers<'n> {
    fn at(&self, pointer: &str) -> Option<NodeRef<'n>> {
        self.0.iter().find_map(|layer| layer.at(pointer).filter(|node| !node.is_null()))
    }

    /// A string that is not empty.
    fn text(&self, pointer: &str) -> Option<String> {
        let text = self.at(pointer)?.as_str()?;
        (!text.is_empty()).then(|| text.into_owned())
    }
}

/// The entry point of a FluxInstance.
pub(super) fn of_instance(object: &Object) -> Option<EntryPoint> {
    let node = object.node.get_ref();
    let entry = pair(object.id.namespace.as_deref(), &Layers(vec![node.at("/spec")?]))?;
    Some(EntryPoint { form: Form::Instance, stated_by: Some(stated_by(object)), ..entry })
}

fn stated_by(object: &Object) -> (Arc<str>, Arc<str>, Arc<str>) {
    (object.id.kind.clone(), object.id.name.clone(), object.path().clone())
}

/// The entry point that values of the chart state (`instance` of them), in a
/// file that installs it.
pub(super) fn of_values(namespace: Option<&str>, instance: NodeRef<'_>, file: &str) -> Option<EntryPoint> {
    let entry = pair(namespace, &Layers(vec![instance]))?;
    let by = ("helmfile".into(), "flux-instance".into(), file.into());
    Some(EntryPoint { form: Form::Helmfile, stated_by: Some(by), ..entry })
}

/// The entry point of a file that holds nothing but values of the chart.
pub(super) fn of_values_file(values: NodeRef<'_>, file: &str) -> Option<EntryPoint> {
    let entry = pair(None, &Layers(vec![values.get("instance")?]))?;
    let by = ("values".into(), "flux-instance".into(), file.into());
    let certainty = Certainty::Assumed;
    Some(EntryPoint { form: Form::Values, certainty, stated_by: Some(by), ..entry })
}

/// The entry point of a release of the flux-instance chart: its values, and
/// those of a ConfigMap that is built beside it.
pub(super) fn of_chart(snapshot: &Arc<Snapshot>, object: &Object, memo: &Memo) -> Option<EntryPoint> {
    let node = object.node.get_ref();
    let target = node.str_at("/spec/targetNamespace");
    let namespace = target.as_deref().or(object.id.namespace.as_deref());
    let mut files = config_maps(snapshot, object, memo);
    let inline = node.at("/spec/values/instance");
    let says = |node: NodeRef<'_>| node.at("/instance/sync/url").is_some();
    let is_inline = node.at("/spec/values/instance/sync/url").is_some();
    if !is_inline && !files.iter().any(|values| says(values.get_ref())) {
        files.extend(beside(snapshot, object.path()));
    }
    let layers = inline.into_iter().chain(files.iter().filter_map(|values| values.get_ref().at("/instance")));
    let entry = pair(namespace, &Layers(layers.collect()))?;
    Some(EntryPoint { form: Form::Chart, stated_by: Some(stated_by(object)), ..entry })
}

/// Whether a HelmRelease installs the flux-instance chart: by the chart's name,
/// that of the OCIRepository's url, else by its values.
pub(super) fn is_chart(snapshot: &Snapshot, object: &Object) -> bool {
    let node = object.node.get_ref();
    let is_instance = |text: &str| text.trim_end_matches('/').rsplit('/').next() == Some("flux-instance");
    if let Some(chart) = node.str_at("/spec/chart/spec/chart") {
        return is_instance(&chart);
    }
    if node.at("/spec/values/instance/sync/url").is_some() {
        return true;
    }
    node.str_at("/spec/chartRef/name").is_some_and(|name| {
        name == "flux-instance"
            || snapshot.objects().iter().any(|other| {
                *other.id.kind == *"OCIRepository"
                    && *other.id.name == *name
                    && other.node.get_ref().str_at("/spec/url").is_some_and(|url| is_instance(&url))
            })
    })
}

/// Whether a file is named as values of charts are.
pub(super) fn is_named_values(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.contains("values") && (name.ends_with(".yaml") || name.ends_with(".yml"))
}

/// Values of the chart in files beside or below a release, where no generator
/// that can be built says which ones it takes.
fn beside(snapshot: &Snapshot, release: &str) -> Option<Node> {
    let directory = release.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut found = snapshot.files_below(directory).iter().filter_map(|file| {
        let source = snapshot.sources(file).first().filter(|_| is_named_values(&file.path))?;
        let node = (!source.document().tokens.is_empty()).then(|| source.root())?;
        node.get_ref().at("/instance/sync/url").is_some().then_some(node)
    });
    let first = found.next();
    first.filter(|_| found.next().is_none())
}

/// The pair of an entry point in the namespace that the object which states it
/// has in the cluster.
pub(super) fn in_namespace(entry: &EntryPoint, namespace: &str) -> EntryPoint {
    let mut entry = entry.clone();
    let old = entry.kustomizations.first().and_then(|(id, _)| id.namespace.clone());
    let renamed = |name: &Arc<str>| match &old {
        Some(old) if !entry.is_named && name == old => namespace.into(),
        _ => name.clone(),
    };
    let change = |id: &ObjectId, node: &Node| {
        let (name, mut node) = (renamed(&id.name), node.clone());
        let place = node.get_ref().location();
        if let Some(metadata) = node.get_mut("metadata") {
            metadata.set("name", Node::string(&name, place.clone()), place.clone());
            metadata.set("namespace", Node::string(namespace, place.clone()), place.clone());
        }
        if let Some(reference) = node.get_mut("spec").and_then(|spec| spec.get_mut("sourceRef")) {
            reference.set("name", Node::string(&name, place.clone()), place);
        }
        (ObjectId { namespace: Some(namespace.into()), name, ..id.clone() }, node)
    };
    let kustomizations = entry.kustomizations.iter().map(|(id, node)| change(id, node)).collect();
    let generated = entry.generated.iter().map(|(id, node)| match node {
        Some(node) => {
            let (id, node) = change(id, node);
            (id, Some(node))
        }
        None => (id.clone(), None),
    });
    let generated = generated.collect();
    let source = entry.source.as_ref().map(|source| Called {
        namespace: Some(namespace.into()),
        name: renamed(&source.name),
        ..source.clone()
    });
    (entry.kustomizations, entry.generated, entry.source) = (kustomizations, generated, source);
    entry
}

/// The values that `valuesFrom` names, as far as the directory of the release
/// builds them, the last first: it wins.
fn config_maps(snapshot: &Arc<Snapshot>, object: &Object, memo: &Memo) -> Vec<Node> {
    let wanted = object.node.get_ref().items_at("/spec/valuesFrom").next().is_some();
    let directory = object.path().rsplit_once('/').map_or("", |(directory, _)| directory);
    let tree = FileTree::root(snapshot.clone());
    let Some(build) = wanted.then(|| build_overlay(&tree, directory, memo).ok()).flatten() else {
        return Vec::new();
    };
    let find = |kind: &str, name: &str| {
        build.objects.iter().map(|object| object.node.get_ref()).find(move |node| {
            node.str_at("/kind").is_some_and(|known| known == kind)
                && node.str_at("/metadata/name").is_some_and(|known| known == name)
        })
    };
    let Some(release) = find("HelmRelease", &object.id.name) else { return Vec::new() };
    let mut found: Vec<Node> = release
        .items_at("/spec/valuesFrom")
        .filter(|entry| entry.str_at("/kind").is_some_and(|kind| kind == "ConfigMap"))
        .filter_map(|entry| {
            let data = find("ConfigMap", &entry.str_at("/name")?)?.get("data")?;
            let key = entry.str_at("/valuesKey").unwrap_or("values.yaml".into());
            let values = data.get(&key)?;
            let location = values.location()?;
            let text = values.as_str()?;
            let file = snapshot.find(&location.file).and_then(|file| snapshot.stream(file));
            let whole = file.is_some_and(|stream| *stream.text == *text);
            let node = parse_nodes(location.file.shown(), &text).into_iter().next()?;
            // Bytes of another text would point anywhere.
            Some(if whole { node } else { moved(node.get_ref(), &mut |_| Some(location.clone())) })
        })
        .collect();
    found.reverse();
    found
}

/// `None` where nothing is synchronised, or where it is not said yet: a base
/// that an overlay completes, a text with a variable.
fn pair(namespace: Option<&str>, instance: &Layers<'_>) -> Option<EntryPoint> {
    let location = instance.at("/sync").and_then(NodeRef::location);
    instance.text("/sync/url")?;
    let namespace = namespace.unwrap_or("flux-system");
    let own_name = instance.text("/sync/name");
    let is_named = own_name.is_some();
    let name = own_name.unwrap_or_else(|| namespace.to_owned());
    let kind = instance.text("/sync/kind").unwrap_or_else(|| "GitRepository".to_owned());
    if [&*name, &*kind].iter().any(|text| text.contains("${")) {
        return None;
    }

    let synced = Synced { instance, location: location.clone(), namespace, name: &name, kind: &kind };
    let (source, kustomization) = (synced.source(), synced.kustomization());
    let [source, kustomization] = match instance.at("/kustomize/patches") {
        Some(patches) => patched([source, kustomization], patches, location.as_ref()),
        None => [source, kustomization],
    };

    let (source_id, id) = (ObjectId::of(source.get_ref())?, ObjectId::of(kustomization.get_ref())?);
    let Known::Value(root) = path_of(kustomization.get_ref()) else { return None };
    Some(EntryPoint {
        source: source_of(&id, kustomization.get_ref()),
        url: source.get_ref().str_at("/spec/url").map(|url| normalise(&url)),
        reference: reference(source.get_ref()),
        kustomizations: vec![(id, kustomization)],
        generated: vec![(source_id, Some(source))],
        owned: true,
        is_named,
        ..EntryPoint::stated(root, Form::Instance, location)
    })
}

/// What an instance synchronises, of which the operator makes a source and a Kustomization.
struct Synced<'s> {
    instance: &'s Layers<'s>,
    location: Option<Location>,
    namespace: &'s str,
    name: &'s str,
    kind: &'s str,
}

impl Synced<'_> {
    fn string(&self, text: &str) -> Node {
        Node::string(text, self.location.clone())
    }

    fn map(&self, entries: Vec<(&str, Node)>) -> Node {
        let mut node = Node::empty_map(self.location.clone());
        for (key, value) in entries {
            node.set(key, value, self.location.clone());
        }
        node
    }

    fn metadata(&self) -> Node {
        self.map(vec![("name", self.string(self.name)), ("namespace", self.string(self.namespace))])
    }

    fn or_text(&self, pointer: &str, default: &str) -> Node {
        self.instance.at(pointer).map_or_else(|| self.string(default), NodeRef::to_node)
    }

    fn source(&self) -> Node {
        let url = if self.kind == "Bucket" { "endpoint" } else { "url" };
        let mut spec =
            vec![("interval", self.or_text("/sync/interval", "1m")), (url, self.or_text("/sync/url", ""))];
        let revision = self.instance.at("/sync/ref").map(NodeRef::to_node);
        spec.extend(revision.map(|revision| match self.kind {
            "Bucket" => ("bucketName", revision),
            "OCIRepository" => ("ref", self.map(vec![("tag", revision)])),
            _ => ("ref", self.map(vec![("name", revision)])),
        }));
        if let Some(secret) = self.instance.at("/sync/pullSecret") {
            spec.push(("secretRef", self.map(vec![("name", secret.to_node())])));
        }
        self.map(vec![
            ("apiVersion", self.string("source.toolkit.fluxcd.io/v1")),
            ("kind", self.string(self.kind)),
            ("metadata", self.metadata()),
            ("spec", self.map(spec)),
        ])
    }

    fn kustomization(&self) -> Node {
        let prune = Node::scalar(Value::Bool(true), self.location.clone());
        let source = vec![("kind", self.string(self.kind)), ("name", self.string(self.name))];
        let mut spec = vec![
            ("interval", self.string("10m")),
            ("prune", prune),
            ("path", self.or_text("/sync/path", "./")),
            ("sourceRef", self.map(source)),
        ];
        if self.instance.at("/cluster/multitenant").and_then(NodeRef::as_bool) == Some(true) {
            spec.push(("serviceAccountName", self.string("kustomize-controller")));
        }
        self.map(vec![
            ("apiVersion", self.string("kustomize.toolkit.fluxcd.io/v1")),
            ("kind", self.string("Kustomization")),
            ("metadata", self.metadata()),
            ("spec", self.map(spec)),
        ])
    }
}

/// The pair after `kustomize.patches`. Most of them are for the controllers'
/// Deployments, which are not here: each that fails without them is left out.
fn patched(pair: [Node; 2], patches: NodeRef<'_>, place: Option<&Location>) -> [Node; 2] {
    const FILES: [&str; 2] = ["source.yaml", "sync.yaml"];
    let texts = pair.each_ref().map(|node| emit::to_json(node.get_ref()).unwrap_or_default());
    let files = FILES.iter().zip(texts).map(|(name, text)| (*name, text.into_bytes()));
    let tree = FileTree::root(Arc::new(Snapshot::memory(files, Arc::new(Store::default()))));
    let run = |patches: &[Node]| {
        let rewrite = Rewrite {
            generated: Some(FILES.map(str::to_owned).to_vec()),
            patches: Some(Node::scalar(Value::Seq(patches.to_vec()), None)),
            ..Rewrite::default()
        };
        let options = BuildOptions {
            load_restriction: LoadRestriction::None,
            links: Links::Absent,
            order: Order::Fifo,
            root: RootFile::Rewritten(Box::new(rewrite)),
            best_effort: false,
        };
        kustomize::build(&tree, "", &options, &kustomize::BaseMemo::default()).ok()
    };
    let fitting: Vec<Node> = patches
        .items()
        .map(NodeRef::to_node)
        .filter(|patch| run(std::slice::from_ref(patch)).is_some_and(|build| build.resources.len() == 2))
        .collect();
    let Some(build) = run(&fitting).filter(|build| build.resources.len() == 2) else { return pair };
    let mut own =
        |location: &Location| FILES.contains(&&**location.file.shown()).then(|| place.cloned()).flatten();
    let mut nodes = build.resources.iter().map(|resource| resource.node.get_ref());
    pair.each_ref().map(|before| match nodes.next() {
        Some(after) => grafted(after, before.get_ref(), &mut own),
        None => before.clone(),
    })
}

/// `after` with the nodes of `before` where nothing changed.
fn grafted(
    after: NodeRef<'_>,
    before: NodeRef<'_>,
    place: &mut dyn FnMut(&Location) -> Option<Location>,
) -> Node {
    if after.same_value(before) == Known::Value(true) {
        return before.to_node();
    }
    let mut copy = moved(after, place);
    if let (true, Some(entries)) = (before.is_map(), copy.make_map()) {
        for entry in entries {
            if let Some(twin) = before.get(&entry.key_text()) {
                entry.value = grafted(entry.value.get_ref(), twin, place);
            }
        }
    }
    copy
}

/// A copy with other places, where `place` has one.
fn moved(node: NodeRef<'_>, place: &mut dyn FnMut(&Location) -> Option<Location>) -> Node {
    let mut copy = node.to_node();
    let Some(origin) = node.location().and_then(|location| place(&location)) else { return copy };
    copy.make_built().origin = Some(origin.into());
    if let Some(entries) = copy.make_map() {
        for entry in entries {
            entry.key = moved(entry.key.get_ref(), place);
            entry.value = moved(entry.value.get_ref(), place);
        }
    } else if let Some(items) = copy.make_seq() {
        for item in items {
            *item = moved(item.get_ref(), place);
        }
    }
    copy
}
