//! What may stand at the cursor. The text is as unfinished as its author: the place
//! is found by writing a word there that makes the line whole, or by leaving out what
//! follows.

mod gap;

use super::class;
use super::links::variables_at;
use super::place::{directory, memberships};
use super::position::Ruler;
use super::state::ServerState;
use super::values::{Defaults, below_values};
use crate::build::kustomize::FILE_NAMES;
use crate::config::Feature;
use crate::files::{join, relative};
use crate::lang::text::{clean, shorten};
use crate::lang::yaml::{NodeRef, pointer_segments};
use crate::model::cluster_api_keys::CLUSTER_API;
use crate::model::cluster_api_kinds::CORE;
use crate::model::keys::{FLUX, Grammar, KeyShape};
use crate::model::kinds::is_kustomization;
use crate::model::references::{group_of, references};
use crate::model::{ObjectId, keys};
use crate::rewrite::refactor::class::ClassPartKind;
use crate::rewrite::subject::home;
use crate::schema::descriptions::describe;
use crate::schema::explain::{at, fields, type_of};
use crate::schema::{Schema, table};
use crate::world::named::named_by;
use crate::world::schemas::KindSchema;
use crate::world::{ApplyTarget, Cluster, Effective};
use gap::{CursorLine, Gap};
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionList, CompletionTextEdit, Documentation, Range,
    TextDocumentPositionParams, TextEdit,
};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A word that no manifest holds.
const MARK: &str = "forebay0cursor0";

/// More than anybody reads.
const LIMIT: usize = 400;

/// Characters of a field's description that are shown beside it.
const DESCRIPTION: usize = 300;

/// What is offered.
struct Offer {
    label: String,
    insert: String,
    detail: Option<String>,
    documentation: Option<String>,
    kind: CompletionItemKind,
}

impl Offer {
    fn new(label: &str, kind: CompletionItemKind) -> Offer {
        Offer { label: label.to_owned(), insert: label.to_owned(), detail: None, documentation: None, kind }
    }

    fn detail(mut self, detail: impl Into<String>) -> Offer {
        self.detail = Some(detail.into());
        self
    }
}

/// The answer at a place.
pub(super) fn complete(
    state: &ServerState<'_>,
    parameters: &TextDocumentPositionParams,
) -> Option<CompletionList> {
    let path = state.path(&parameters.text_document.uri)?;
    let text = state.text(&path)?;
    let ruler = Ruler::new(text, state.encoding);
    let offset = ruler.offset(parameters.position);
    let line = CursorLine::of(text, offset);
    let mut word = line.word;
    let offers = match open_variable(text, offset) {
        Some(start) => {
            word = (start, offset);
            variables(state, &path, text, offset)
        }
        None => {
            let gap = Gap::find(&path, &line)?;
            offers(state, &path, &gap)
        }
    };
    let range = ruler.range(word.0, word.1);
    let has_colon = text[word.1..].starts_with(':');
    let mut offers = offers;
    let is_incomplete = offers.len() > LIMIT;
    if is_incomplete {
        let written = text[word.0..offset].to_lowercase();
        offers.retain(|offer| offer.label.to_lowercase().contains(&written));
    }
    let items =
        offers.into_iter().take(LIMIT).enumerate().map(|(at, offer)| item(offer, at, range, has_colon));
    Some(CompletionList { is_incomplete, items: items.collect() })
}

fn item(offer: Offer, at: usize, range: Range, has_colon: bool) -> CompletionItem {
    let insert = match has_colon {
        true => offer.insert.trim_end_matches([' ', ':']).to_owned(),
        false => offer.insert,
    };
    CompletionItem {
        label: clean(&offer.label).into_owned(),
        kind: Some(offer.kind),
        detail: offer.detail.map(|detail| clean(&detail).into_owned()),
        documentation: offer.documentation.map(Documentation::String),
        sort_text: Some(format!("{at:04}")),
        filter_text: Some(offer.label),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit { range, new_text: insert })),
        ..CompletionItem::default()
    }
}

/// Where the name begins of a `${` that the cursor is in.
fn open_variable(text: &str, offset: usize) -> Option<usize> {
    let start = text[..offset].rfind("${")? + 2;
    text[start..offset].chars().all(|c| c.is_alphanumeric() || c == '_').then_some(start)
}

fn variables(state: &ServerState<'_>, path: &str, text: &str, offset: usize) -> Vec<Offer> {
    // The text with a hole may not parse; the objects are those of the file before.
    let own = objects_in(state, path, None);
    let mut names = variables_at(state.world(), &own);
    names.sort();
    let close = if text[offset..].starts_with('}') { "" } else { "}" };
    names
        .into_iter()
        .map(|(name, value)| Offer {
            insert: format!("{name}{close}"),
            detail: value,
            ..Offer::new(&name, CompletionItemKind::VARIABLE)
        })
        .collect()
}

/// The effective objects that a file states; those of this kind and name where it is
/// known.
fn objects_in<'w>(state: &'w ServerState<'_>, path: &str, id: Option<&ObjectId>) -> Vec<&'w Effective> {
    let own = state.world().objects.iter().filter(|object| {
        let is_here = home(object).is_some_and(|home| home.file.is_at(path));
        let same =
            |id: &ObjectId| id.kind == object.id.kind && (id.name == object.id.name || &*id.name == MARK);
        is_here && id.is_none_or(same)
    });
    own.collect()
}

/// The clusters that a document's objects are in; all of them for a new one.
fn clusters_of<'w>(state: &'w ServerState<'_>, own: &[&'w Effective]) -> Vec<&'w Cluster> {
    let world = state.world();
    let mut clusters: Vec<&Cluster> = Vec::new();
    for (cluster, _) in own.iter().flat_map(|object| memberships(world, object)) {
        if !clusters.iter().any(|known| std::ptr::eq(*known, cluster)) {
            clusters.push(cluster);
        }
    }
    if clusters.is_empty() { world.applied_clusters().collect() } else { clusters }
}

fn offers(state: &ServerState<'_>, path: &str, gap: &Gap) -> Vec<Offer> {
    if FILE_NAMES.contains(&path.rsplit('/').next().unwrap_or(path)) {
        let of_paths = paths_of_kustomization(state, path, gap);
        if !of_paths.is_empty() {
            return of_paths;
        }
    }
    let id = ObjectId::of(gap.root());
    let own = objects_in(state, path, id.as_ref());
    let mut all = Vec::new();
    if gap.is_key || gap.is_item {
        all.extend(metadata_keys(gap, id.as_ref()));
        all.extend(schema_fields(state, gap, id.as_ref(), &own));
        all.extend(chart_keys(state, gap, &own));
    }
    if !gap.is_key {
        all.extend(parts_of_class(state, gap, id.as_ref(), &own));
        all.extend(names(state, gap, id.as_ref(), &own));
        all.extend(directories(state, gap, id.as_ref(), &own));
        all.extend(metadata_values(gap));
        all.extend(schema_values(state, gap, id.as_ref(), &own));
        all.extend(identities(gap));
        all.extend(chart_words(state, gap, &own));
    }
    all
}

/// Names of objects that the reference at the cursor may take.
fn names(state: &ServerState<'_>, gap: &Gap, id: Option<&ObjectId>, own: &[&Effective]) -> Vec<Offer> {
    let Some(id) = id else { return Vec::new() };
    let world = state.world();
    let clusters = clusters_of(state, own);
    // A namespace that a build adds is not in the text.
    let effective = own.first().and_then(|object| object.id.namespace.clone());
    let id = &ObjectId { namespace: effective.or_else(|| id.namespace.clone()), ..id.clone() };
    let parent = gap.pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
    let node = gap.root();
    let mut wanted: Vec<(String, String, Option<String>)> = Vec::new();
    for reference in references(id, node).into_iter().filter(|one| one.name.as_deref() == Some(MARK)) {
        let blocked =
            |cluster: &&Cluster| cluster.settings.feature(Feature::CrossNamespaceRefs).value == Some(false);
        let namespace = match reference.guarded && reference.crosses && clusters.iter().any(blocked) {
            true => id.namespace.as_deref().map(str::to_owned),
            false => reference.namespace.clone(),
        };
        match reference.kind.is_empty() {
            true => {
                let kinds = reference.accepted.iter();
                wanted.extend(
                    kinds.map(|kind| (group_of(kind).to_owned(), (*kind).to_owned(), namespace.clone())),
                );
            }
            false => wanted.push((reference.group, reference.kind, namespace)),
        }
    }
    if wanted.is_empty() {
        let named =
            named_by(id, node).into_iter().filter(|named| named.name == MARK && named.pointer == parent);
        wanted.extend(named.map(|named| (named.group, named.kind, named.namespace)));
    }
    if gap.pointer.ends_with("/namespace") {
        wanted.push((String::new(), "Namespace".to_owned(), None));
    }
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for cluster in &clusters {
        let local = world.written(cluster).filter(|(member, _)| member.target == ApplyTarget::Local);
        for (_, object) in local {
            let fits = wanted.iter().any(|(group, kind, namespace)| {
                object.id.is(group, kind)
                    && (namespace.is_none() || object.id.namespace.as_deref() == namespace.as_deref())
            });
            if fits && !object.id.name.is_empty() && !object.id.is_unknown() && object.id != *id {
                let detail = || {
                    format!("{} in {}", object.id, home(object).map_or("no file", |home| home.file.shown()))
                };
                found.entry(object.id.name.to_string()).or_insert_with(detail);
            }
        }
    }
    let reference = CompletionItemKind::REFERENCE;
    found.into_iter().map(|(name, detail)| Offer::new(&name, reference).detail(detail)).collect()
}

/// Variables and classes of workers where a Cluster or its class names one, and the
/// values that a variable takes.
fn parts_of_class(
    state: &ServerState<'_>,
    gap: &Gap,
    id: Option<&ObjectId>,
    own: &[&Effective],
) -> Vec<Offer> {
    let Some(id) = id.filter(|id| id.group() == CORE) else { return Vec::new() };
    let (node, pointer) = (gap.root(), &*gap.pointer);
    let kind = CompletionItemKind::VARIABLE;
    let offers = |class: NodeRef<'_>, part: ClassPartKind, taken: &[String]| {
        let entries = class::entries(class, part).into_iter();
        let named = entries.filter_map(|entry| Some((entry.str_at(&format!("/{}", part.key()))?, entry)));
        let free = named.filter(|(name, _)| **name != *MARK && !taken.iter().any(|one| *one == **name));
        let offer = |(name, entry): (Cow<'_, str>, NodeRef<'_>)| match part {
            ClassPartKind::Variable => Offer::new(&name, kind).detail(class::type_of(entry)),
            ClassPartKind::Worker => Offer::new(&name, CompletionItemKind::CLASS),
        };
        free.map(offer).collect::<Vec<Offer>>()
    };
    if &*id.kind == "ClusterClass" && pointer.starts_with("/spec/patches/") {
        if pointer.ends_with("/valueFrom/variable") {
            let builtin = class::BUILTINS.iter().map(|name| Offer::new(name, CompletionItemKind::CONSTANT));
            return offers(node, ClassPartKind::Variable, &[]).into_iter().chain(builtin).collect();
        }
        if pointer.contains("/selector/matchResources/") && pointer.contains("/names/") {
            return offers(node, ClassPartKind::Worker, &[]);
        }
    }
    let Some((part, entry)) = class::entry_of_cluster(node, pointer).filter(|_| &*id.kind == "Cluster")
    else {
        return Vec::new();
    };
    let named = named_by(id, node);
    let Some(named) = named.iter().find(|named| named.kind == "ClusterClass") else { return Vec::new() };
    let world = state.world();
    let mut clusters = clusters_of(state, own).into_iter();
    let Some(class) = clusters.find_map(|cluster| named.find(world, cluster)) else { return Vec::new() };
    let class = class.node.get_ref();
    if let Some(entry) = pointer.strip_suffix("/value") {
        let name = node.str_at(&format!("{entry}/name"));
        let entries = class::entries(class, ClassPartKind::Variable).into_iter();
        let own = entries.filter(|entry| name.is_some() && entry.str_at("/name") == name);
        let values = own.flat_map(class::values_of).collect::<Vec<String>>();
        return values.iter().map(|value| Offer::new(value, CompletionItemKind::ENUM_MEMBER)).collect();
    }
    let list = entry.rsplit_once('/').map_or("", |(list, _)| list);
    let taken: Vec<String> = match part {
        ClassPartKind::Variable => {
            node.items_at(list).filter_map(|one| one.str_at("/name")).map(Cow::into_owned).collect()
        }
        // Many sets of machines may be of one class.
        ClassPartKind::Worker => Vec::new(),
    };
    offers(class, part, &taken)
}

/// Directories for `spec.path` of a Flux Kustomization.
fn directories(state: &ServerState<'_>, gap: &Gap, id: Option<&ObjectId>, own: &[&Effective]) -> Vec<Offer> {
    if gap.pointer != "/spec/path" || !id.is_some_and(is_kustomization) {
        return Vec::new();
    }
    let world = state.world();
    let of_own =
        own.iter().flat_map(|object| memberships(world, object).map(move |(cluster, _)| (cluster, object)));
    let trees = of_own.filter_map(|(cluster, object)| {
        cluster.applied(object.id.namespace.as_deref(), &object.id.name)?.tree.as_ref()?.as_directory()
    });
    // A new one is taken from where its neighbours are.
    let root = trees.map(str::to_owned).next().unwrap_or_default();
    let mut found: Vec<String> = Vec::new();
    for file in state.snapshot().files_below(&root).iter().filter(|file| file.is_manifest) {
        let inner = file.path[root.len()..].trim_start_matches('/');
        let mut at = directory(inner);
        while !at.is_empty() && !found.iter().any(|known| known == at) {
            found.push(at.to_owned());
            at = directory(at);
        }
    }
    found.sort();
    found.into_iter().map(|path| Offer::new(&format!("./{path}"), CompletionItemKind::FOLDER)).collect()
}

/// Paths that a kustomization file may name.
fn paths_of_kustomization(state: &ServerState<'_>, path: &str, gap: &Gap) -> Vec<Offer> {
    let list = ["/resources/", "/components/", "/bases/", "/crds/", "/patchesStrategicMerge/"];
    let is_path = list.iter().any(|list| gap.pointer.starts_with(list));
    let is_patch = gap.pointer.starts_with("/patches") && gap.pointer.ends_with("/path");
    if gap.is_key || !(is_path || is_patch) {
        return Vec::new();
    }
    let own = directory(path);
    let snapshot = state.snapshot();
    let mut found: Vec<(String, bool)> = Vec::new();
    for file in snapshot.files().iter().filter(|file| file.is_manifest && *file.path != *path) {
        let at = directory(&file.path);
        let name = file.path.rsplit('/').next().unwrap_or_default();
        if FILE_NAMES.contains(&name) {
            // A directory above would hold this one again.
            let above = own == at || own.starts_with(&format!("{at}/")) || at.is_empty();
            if !above && !is_patch {
                found.push((relative(own, at), true));
            }
        } else if at == own
            || at.strip_prefix(own).is_some_and(|rest| rest.starts_with('/'))
            || own.is_empty()
        {
            found.push((relative(own, &file.path), false));
        }
    }
    let listed: Vec<String> = gap
        .root()
        .entries()
        .flat_map(|entry| entry.value.items())
        .filter_map(|item| item.text().map(|text| text.into_owned()))
        .filter_map(|text| join(own, &text))
        .collect();
    found.retain(|(path, _)| join(own, path).is_none_or(|full| !listed.contains(&full)));
    // What lies near is meant first.
    found.sort_by_key(|(path, _)| (path.matches('/').count(), path.clone()));
    found
        .into_iter()
        .map(|(path, folder)| {
            Offer::new(&path, if folder { CompletionItemKind::FOLDER } else { CompletionItemKind::FILE })
        })
        .collect()
}

/// Keys of labels and annotations that controllers read on this kind.
fn metadata_keys(gap: &Gap, id: Option<&ObjectId>) -> Vec<Offer> {
    let (Some(id), Some(labels)) = (id, map_of_metadata(&gap.pointer)) else { return Vec::new() };
    let all = FLUX.keys.iter().chain(CLUSTER_API.keys);
    let fits = |key: &&keys::MetadataKey| {
        let field = match key.field {
            keys::KeyField::Label => labels,
            keys::KeyField::Annotation => !labels,
            keys::KeyField::Either => true,
        };
        // A request is for a command, not for Git.
        let by_hand =
            matches!(key.class, keys::KeyOwner::Setting | keys::KeyOwner::Gate | keys::KeyOwner::Note);
        field && by_hand && key.on.has(id.group(), &id.kind)
    };
    all.filter(fits)
        .map(|key| {
            let colon = if key.shape == KeyShape::Exact { ": " } else { "" };
            let insert = format!("{}{colon}", key.name);
            let note = if key.released { "" } else { " (a proposal)" };
            let offer = Offer { insert, ..Offer::new(key.name, CompletionItemKind::PROPERTY) };
            offer.detail(format!("{} {}{note}", key.reader, key.effect))
        })
        .collect()
}

/// Whether a map holds labels (or else annotations); `None` for other maps.
fn map_of_metadata(pointer: &str) -> Option<bool> {
    let pointer = pointer.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('/');
    match pointer.rsplit_once('/') {
        Some((parent, "labels")) if parent.ends_with("metadata") => Some(true),
        Some((parent, "annotations")) if parent.ends_with("metadata") => Some(false),
        _ => None,
    }
}

fn metadata_values(gap: &Gap) -> Vec<Offer> {
    let Some((map, _)) = gap.pointer.rsplit_once('/') else { return Vec::new() };
    if map_of_metadata(map).is_none() {
        return Vec::new();
    }
    let name = pointer_segments(&gap.pointer).last().unwrap_or_default();
    let Some(key) = FLUX.lookup(&name).or_else(|| CLUSTER_API.lookup(&name)) else { return Vec::new() };
    let words: Vec<&str> = match key.value {
        Grammar::Word { does, .. } => does.to_vec(),
        Grammar::Words(words) => words.to_vec(),
        _ => Vec::new(),
    };
    words.into_iter().map(|word| Offer::new(word, CompletionItemKind::VALUE).detail(key.reader)).collect()
}

/// The schemas that judge an object, the newest first.
pub(super) fn with_schema<T>(
    state: &ServerState<'_>,
    id: &ObjectId,
    own: &[&Effective],
    read: impl FnOnce(&Schema) -> T,
) -> Option<T> {
    let schemas = state.schemas();
    let first = own.first().and_then(|object| {
        let (cluster, member) = object.members.first()?;
        let target = &state.world().clusters[*cluster as usize].members[*member as usize].target;
        Some(schemas.of_member(state.world(), *cluster as usize, target, id))
    });
    match first.unwrap_or_else(|| schemas.of_orphan(state.world(), id)) {
        KindSchema::Judge(judge) => judge.schemas.first().map(|schema| read(schema)),
        _ => None,
    }
}

/// Fields that the map at the cursor has and does not hold yet, the required first.
fn schema_fields(
    state: &ServerState<'_>,
    gap: &Gap,
    id: Option<&ObjectId>,
    own: &[&Effective],
) -> Vec<Offer> {
    let Some(id) = id else {
        // Every document begins so.
        let top = ["apiVersion", "kind", "metadata", "spec"].into_iter();
        let missing = top.filter(|name| gap.pointer.is_empty() && gap.root().get(name).is_none());
        let end = |name: &str| if matches!(name, "metadata" | "spec") { ":" } else { ": " };
        return missing
            .map(|name| Offer {
                insert: format!("{name}{}", end(name)),
                ..Offer::new(name, CompletionItemKind::FIELD)
            })
            .collect();
    };
    let path = gap.path();
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let here = gap.root().at(&gap.pointer);
    let found = with_schema(state, id, own, |root| {
        let Some((schema, _)) = at(root, &path) else { return Vec::new() };
        let mut all = fields(schema);
        all.sort_by_key(|(name, required)| (!required, *name));
        let item = schema.item().filter(|_| schema.properties.is_empty()).unwrap_or(schema);
        all.into_iter()
            .filter(|(name, _)| here.is_none_or(|map| map.get(name).is_none()))
            .map(|(name, required)| {
                let kind = item.property(name).map(type_of).unwrap_or_default();
                let nested = kind.starts_with("map") || kind.starts_with("list");
                let insert = format!("{name}{}", if nested { ":" } else { ": " });
                let mut whole = path.clone();
                whole.push(name);
                let documentation = describe(id.group(), &id.kind, &whole)
                    .map(str::to_owned)
                    .or_else(|| Some(shorten(&clean(&item.description_of(name)?), DESCRIPTION)));
                let offer = Offer { insert, documentation, ..Offer::new(name, CompletionItemKind::FIELD) };
                offer.detail(if required { format!("{kind}, required") } else { kind })
            })
            .collect()
    });
    found.unwrap_or_default()
}

/// Words that the field at the cursor takes.
fn schema_values(
    state: &ServerState<'_>,
    gap: &Gap,
    id: Option<&ObjectId>,
    own: &[&Effective],
) -> Vec<Offer> {
    let Some(id) = id else { return Vec::new() };
    let path = gap.path();
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let found = with_schema(state, id, own, |root| {
        let Some((mut schema, _)) = at(root, &path) else { return Vec::new() };
        while let Some(item) = schema.item() {
            schema = item;
        }
        let mut words: Vec<String> = schema
            .enumeration
            .iter()
            .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            .collect();
        if words.is_empty() && type_of(schema) == "boolean" {
            words = vec!["true".to_owned(), "false".to_owned()];
        }
        let default = schema
            .default
            .as_ref()
            .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        let is_scalar = default.as_ref().is_some_and(|text| !text.starts_with(['{', '[']));
        words.extend(default.clone().filter(|text| is_scalar && !words.contains(text)));
        words
            .into_iter()
            .map(|word| {
                let offer = Offer::new(&word, CompletionItemKind::ENUM_MEMBER);
                if Some(&word) == default.as_ref() { offer.detail("default") } else { offer }
            })
            .collect()
    });
    found.unwrap_or_default()
}

/// Keys of values that the chart of a release knows and that the map does not hold yet.
fn chart_keys(state: &ServerState<'_>, gap: &Gap, own: &[&Effective]) -> Vec<Offer> {
    let Some(pointer) = below_values(&gap.pointer) else { return Vec::new() };
    let Some(chart) = Defaults::of(state.world(), own) else { return Vec::new() };
    let here = gap.root().at(&gap.pointer);
    let known = chart.keys(pointer).into_iter();
    let missing = known.filter(|known| here.is_none_or(|map| map.get(&known.key).is_none()));
    missing
        .map(|known| Offer {
            insert: format!("{}{}", known.key, if known.is_nested { ":" } else { ": " }),
            detail: Some(known.detail),
            documentation: Some(known.comment).filter(|text| !text.is_empty()),
            ..Offer::new(&known.key, CompletionItemKind::FIELD)
        })
        .collect()
}

/// Words that a value of a release may be, by its chart.
fn chart_words(state: &ServerState<'_>, gap: &Gap, own: &[&Effective]) -> Vec<Offer> {
    let pointer = below_values(&gap.pointer).filter(|pointer| !pointer.is_empty());
    let words = pointer.and_then(|pointer| Some(Defaults::of(state.world(), own)?.words(pointer)));
    let words = words.unwrap_or_default();
    words.iter().map(|word| Offer::new(word, CompletionItemKind::ENUM_MEMBER)).collect()
}

/// `apiVersion` and `kind` of a document.
fn identities(gap: &Gap) -> Vec<Offer> {
    let root = gap.root();
    let known = |pointer: &str| {
        let text = root.str_at(pointer).filter(|text| !text.is_empty() && *text != MARK);
        text.map(|text| text.into_owned())
    };
    let mut words: Vec<String> = Vec::new();
    match gap.pointer.as_str() {
        "/kind" => {
            let version = known("/apiVersion");
            for kind in table::kinds() {
                let own = if kind.group().is_empty() {
                    kind.version().to_owned()
                } else {
                    format!("{}/{}", kind.group(), kind.version())
                };
                if version.as_ref().is_none_or(|version| *version == own) && !kind.kind().ends_with("List") {
                    words.push(kind.kind().to_owned());
                }
            }
        }
        "/apiVersion" => {
            let wanted = known("/kind");
            for kind in table::kinds() {
                if wanted.as_ref().is_none_or(|wanted| *wanted == kind.kind()) {
                    words.push(match kind.group() {
                        "" => kind.version().to_owned(),
                        group => format!("{group}/{}", kind.version()),
                    });
                }
            }
        }
        _ => {}
    }
    words.sort();
    words.dedup();
    words.iter().map(|word| Offer::new(word, CompletionItemKind::CLASS)).collect()
}
