//! Patches that no effective object shows: their target is not here, nothing builds the
//! kustomization that names them, or they change what a controller makes at run time.

use crate::build::kustomize::{FILE_NAMES, FileRole, documents_in};
use crate::files::join;
use crate::lang::yaml::{FilePath, Location, Node, NodeRef, Value, pointer_segments, pointer_to};
use crate::model::{ObjectId, kinds};
use crate::schema::explain::kinds_of;
use crate::schema::{Options, TableKind, Types, schema_at, table};
use crate::world::World;
use crate::world::schemas::KindSchema;
use rustc_hash::FxHashSet;

/// Items of a list that an operation of a JSON patch may name.
const ITEMS: usize = 64;

/// Kinds that no other API group is known to have: a target may name them alone.
const OWN_NAMES: &[&str] = &[
    "HelmRelease",
    "HelmRepository",
    "HelmChart",
    "GitRepository",
    "OCIRepository",
    "ImageRepository",
    "ImagePolicy",
    "ImageUpdateAutomation",
    "FluxInstance",
    "ResourceSet",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "CronJob",
];

/// Who applies an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Applier {
    /// Whatever applies Flux Kustomizations.
    #[default]
    Kustomize,
    /// flux-operator, as a part of Flux itself.
    Operator,
    /// Helm, as a part of a release.
    Helm,
}

/// Something that states a part of an object.
pub(super) struct UnappliedPatch {
    /// The identity that it states.
    pub id: ObjectId,
    pub node: Node,
    /// Who applies what it changes.
    pub applier: Applier,
    /// The operation of a JSON patch that it is from.
    pub operation: Option<PatchOperation>,
}

/// An operation of a JSON patch.
#[derive(Clone, Debug)]
pub(crate) struct PatchOperation {
    path: String,
    is_replace: bool,
}

impl PatchOperation {
    /// Whether it can't be done to an object that has no field at `pointer`: what lies
    /// above the place has to be there, and what is replaced too.
    /// Source: evanphx/json-patch v4 `patch.go` (`add`, `replace`), which kustomize calls.
    pub(crate) fn fails_without(&self, pointer: &str) -> bool {
        match self.path.strip_prefix(pointer) {
            Some("") => self.is_replace,
            Some(below) => below.starts_with('/'),
            None => false,
        }
    }
}

/// Their documents, with the identities that they state.
pub(super) fn unused(world: &World) -> Vec<UnappliedPatch> {
    let mut loose = Collected { world, found: Vec::new(), foreign: OnceKinds::default() };
    loose.of_files();
    loose.of_controllers();
    loose.found
}

/// Kinds of [`OWN_NAMES`] that the repository has in groups that nobody knows.
type OnceKinds = std::cell::OnceCell<FxHashSet<String>>;

struct Collected<'w> {
    world: &'w World,
    found: Vec<UnappliedPatch>,
    foreign: OnceKinds,
}

impl Collected<'_> {
    fn of_files(&mut self) {
        let snapshot = &*self.world.snapshot;
        let place = |location: &Location| (location.file.clone(), location.start);
        let used: FxHashSet<(FilePath, u32)> = self
            .world
            .objects
            .iter()
            .flat_map(|object| &object.files)
            .filter(|(role, _)| *role == FileRole::Patch)
            .map(|(_, location)| place(location))
            .collect();
        let mut take =
            |directory: &str, entry: NodeRef<'_>, text: Option<NodeRef<'_>>, path: Option<NodeRef<'_>>| {
                if entry.location().is_some_and(|location| used.contains(&place(&location))) {
                    return;
                }
                let inline = text.map(documents_in).unwrap_or_default();
                let file = path
                    .and_then(NodeRef::as_str)
                    .and_then(|path| join(directory, &path))
                    .and_then(|path| snapshot.file(&path));
                let sources = file.map(|file| snapshot.sources(file)).unwrap_or_default();
                let of_file = sources
                    .iter()
                    .filter(|source| !source.document().tokens.is_empty())
                    .map(|source| source.root());
                for node in inline.into_iter().chain(of_file) {
                    self.document(node, entry.get("target"), Applier::Kustomize);
                }
            };
        for file in snapshot.files() {
            let (directory, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
            if !FILE_NAMES.contains(&name) {
                continue;
            }
            for source in snapshot.sources(file).iter().filter(|source| !source.document().tokens.is_empty())
            {
                let root = NodeRef::Source(source, 0);
                for entry in root.items_at("/patches").chain(root.items_at("/patchesJson6902")) {
                    take(directory, entry, entry.get("patch"), entry.get("path"));
                }
                for entry in root.items_at("/patchesStrategicMerge") {
                    let is_inline = entry.as_str().is_some_and(|text| text.contains('\n'));
                    let (text, path) = if is_inline { (Some(entry), None) } else { (None, Some(entry)) };
                    take(directory, entry, text, path);
                }
            }
        }
        for object in snapshot.objects().iter().filter(|object| kinds::is_kustomization(&object.id)) {
            for entry in object.node.get_ref().items_at("/spec/patches") {
                take("", entry, entry.get("patch"), None);
            }
        }
    }

    /// Patches of what a chart renders to, and of Flux's own manifests: those are made
    /// in the cluster.
    fn of_controllers(&mut self) {
        let effective = self.world.objects.iter().map(|object| (&object.id, object.node.get_ref()));
        let orphans = self.world.orphans().map(|object| (&object.id, object.node.get_ref()));
        for (id, node) in effective.chain(orphans) {
            if kinds::is_helm_release(id) {
                for renderer in node.items_at("/spec/postRenderers") {
                    for entry in renderer.items_at("/kustomize/patches") {
                        self.inline(entry, Applier::Helm);
                    }
                }
            } else if id.is(kinds::OPERATOR, "FluxInstance") {
                for entry in node.items_at("/spec/kustomize/patches") {
                    self.inline(entry, Applier::Operator);
                }
            }
        }
    }

    fn inline(&mut self, entry: NodeRef<'_>, applier: Applier) {
        for node in entry.get("patch").map(documents_in).unwrap_or_default() {
            self.document(node, entry.get("target"), applier);
        }
    }

    /// One document of a patch.
    fn document(&mut self, node: Node, target: Option<NodeRef<'_>>, applier: Applier) {
        if node.get_ref().is_seq() {
            if let Some(target) = target {
                self.operations(node.get_ref(), target, applier);
            }
            return;
        }
        // The target says what kind it is, where the patch says another one.
        let kind = target.and_then(|target| target.get("kind")).and_then(NodeRef::as_str);
        let id = ObjectId::of(node.get_ref());
        if let Some(id) = id.filter(|id| kind.is_none_or(|kind| *kind == *id.kind)) {
            self.found.push(UnappliedPatch { id, node, applier, operation: None });
        }
    }

    /// What the operations of a JSON patch write, by the newest version of the target's
    /// kind: where another version takes it, it may be right.
    fn operations(&mut self, operations: NodeRef<'_>, target: NodeRef<'_>, applier: Applier) {
        let kinds = self.kinds_of(target);
        let Some(newest) = kinds.first() else { return };
        let text = |name: &str| target.get(name).and_then(NodeRef::as_str);
        // A target's name is a regular expression.
        let is_plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let name = text("name").filter(|name| is_plain(name)).unwrap_or_default();
        let kind = text("kind").unwrap_or_default();
        let id = |of: &TableKind| ObjectId {
            api_version: match of.group() {
                "" => of.version().into(),
                group => format!("{group}/{}", of.version()).into(),
            },
            kind: kind.as_ref().into(),
            namespace: None,
            name: name.as_ref().into(),
        };
        for operation in operations.items() {
            let is_written = matches!(operation.str_at("/op").as_deref(), Some("add" | "replace"));
            let place = operation.get("path").filter(|_| is_written);
            let value = operation.get("value");
            let Some((place, value)) = place.zip(value) else { continue };
            let Some(path) = place.as_str().filter(|path| path.starts_with('/') && !path.contains("${"))
            else {
                continue;
            };
            let refused = |of: &&TableKind| {
                let KindSchema::Judge(judge) = self.world.schemas.of_orphan(self.world, &id(of)) else {
                    return false;
                };
                let options = Options { partial: true, operator: judge.operator };
                let Some(schema) = judge.schemas.first() else { return false };
                written(schema, &path, place, value)
                    .is_some_and(|node| !judge.report(node.get_ref(), None, options).violations.is_empty())
            };
            if !kinds.iter().all(refused) {
                continue;
            }
            let id = id(newest);
            let KindSchema::Judge(judge) = self.world.schemas.of_orphan(self.world, &id) else { continue };
            let node = judge.schemas.first().and_then(|schema| written(schema, &path, place, value));
            if let Some(node) = node {
                let is_replace = operation.str_at("/op").as_deref() == Some("replace");
                let operation = Some(PatchOperation { path: path.to_string(), is_replace });
                self.found.push(UnappliedPatch { id, node, applier, operation });
            }
        }
    }

    /// The kinds that a target may select, the newest version first; none where an
    /// unknown one may be meant.
    fn kinds_of(&self, target: NodeRef<'_>) -> Vec<&'static TableKind> {
        let plain = |name: &str| {
            let text = target.get(name)?.as_str()?;
            let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
            (is_plain && !text.is_empty()).then_some(text)
        };
        let Some(kind) = plain("kind") else { return Vec::new() };
        // A target of another version selects nothing, which is another rule's matter.
        let group = plain("group");
        let is_known = OWN_NAMES.contains(&&*kind) && !self.is_foreign(&kind);
        // The core group can't be named: it is the empty text.
        if group.is_none() && !is_known {
            return Vec::new();
        }
        let mut found = kinds_of(&kind);
        found.retain(|of| group.as_deref().is_none_or(|group| group == of.group()));
        found
    }

    /// Whether the repository has the kind in a group that the table doesn't know.
    fn is_foreign(&self, kind: &str) -> bool {
        let foreign = self.foreign.get_or_init(|| {
            let known: FxHashSet<&str> = table::kinds().iter().map(TableKind::group).collect();
            let objects = self.world.snapshot.objects().iter().map(|object| &object.id);
            objects
                .filter(|id| OWN_NAMES.contains(&&*id.kind) && !known.contains(id.group()))
                .map(|id| id.kind.to_string())
                .collect()
        });
        foreign.contains(kind)
    }
}

/// What an operation writes, as a part of an object; `None` where its place can't be
/// told. The keys of its path stand where the path stands.
fn written(
    schema: &crate::schema::Schema,
    path: &str,
    place: NodeRef<'_>,
    value: NodeRef<'_>,
) -> Option<Node> {
    let segments: Vec<_> = pointer_segments(path).collect();
    let mut node = value.to_node();
    for (at, segment) in segments.iter().enumerate().rev() {
        let above = pointer_to(&segments[..at]);
        let parent = schema_at(schema, &above);
        let is_list = parent.is_some_and(|parent| parent.types.has(Types::ARRAY));
        node = match is_list {
            // Items before it are there, and nobody knows what they are.
            true => {
                let before = if **segment == *"-" { 0 } else { segment.parse().ok()? };
                let nothing = || Node::scalar(Value::Null, place.location());
                let items = (0..before).map(|_| nothing()).chain([node]);
                (before < ITEMS).then(|| Node::scalar(Value::Seq(items.collect()), place.location()))?
            }
            false => {
                let mut map = Node::empty_map(place.location());
                map.set(segment, node, place.location());
                map
            }
        };
    }
    Some(node)
}
