//! `patches`, `patchesStrategicMerge` and `patchesJson6902`.
//!
//! Mirrors `api/internal/builtins/Patch{,StrategicMerge,Json6902}Transformer.go`,
//! `api/resmap/reswrangler.go` (`ApplySmPatch`) and `api/resource/resource.go`
//! (`ApplySmPatch`).

use super::builder;
use super::builder::{BuildLevel, Builder, unless_remote};
use super::decode::Text;
use super::entries;
use super::error::{BuildError, ErrorClass, Result};
use super::id::ResId;
use super::json6902::JsonPatch;
use super::load::{self, Loaded};
use super::merge::{is_replacement, merge};
use super::names::NameIndex;
use super::nodes::{self, Tag};
use super::patch_text::PatchText;
use super::resource::{FileRole, FileUse, Resource, is_internal, text_pairs};
use super::schema::Schemas;
use super::selector::Compiled;
use crate::lang::yaml::{Dialect, Location, Node, NodeRef, Style, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::sync::Arc;

/// `patchesStrategicMerge`: texts or paths, and one more text.
pub(super) fn strategic_merges(
    builder: &mut Builder<'_>,
    level: &BuildLevel,
    entries: &[Text],
    inline: Option<&Text>,
    resources: &mut Vec<Resource>,
) -> Result<()> {
    let Some(first) = entries.first().or(inline) else { return Ok(()) };
    let mut patches = Vec::new();
    let mut is_elsewhere = false;
    for entry in entries {
        let text = PatchText::inline(builder.memo, entry, level, &entry.node, &entry.value);
        let loaded = match text.objects() {
            Ok(loaded) => loaded,
            Err(error) if entry.value.contains('\n') => return Err(error),
            Err(_) => match unless_remote(PatchText::of_file(builder, level, entry, &entry.node))? {
                Some(text) => text.objects()?,
                None => {
                    is_elsewhere = true;
                    continue;
                }
            },
        };
        patches.extend(loaded.into_iter().map(|patch| (patch, patch_use(&entry.node))));
    }
    if let Some(text) = inline {
        let loaded = PatchText::inline(builder.memo, text, level, &text.node, &text.value).objects()?;
        patches.extend(loaded.into_iter().map(|patch| (patch, patch_use(&text.node))));
    }
    if patches.is_empty() && !is_elsewhere {
        let message = "there is no patch in `patchesStrategicMerge`";
        return Err(BuildError::at(ErrorClass::PatchConfig, message, first.node.get_ref()));
    }
    let mut row = PatchRow::default();
    for (patch, use_) in patches {
        let target = match unique_target(resources, &patch.node, &mut row.names) {
            Ok(target) => target,
            // Its object may be among what was left out.
            Err(error) if error.class == ErrorClass::PatchTarget && builder.is_partial() => continue,
            Err(error) => return Err(error),
        };
        let id = resources[target].id.clone();
        let prepared = Prepared::new(&patch, use_, false, false, true);
        apply_selected(builder.schemas(), resources, &[id], &prepared, &mut row)?;
    }
    Ok(())
}

/// Apply one entry of `patchesJson6902`.
pub(super) fn apply_json6902(
    builder: &mut Builder<'_>,
    level: &BuildLevel,
    patch: &entries::Patch,
    resources: &mut [Resource],
) -> Result<()> {
    let error = |message: &str| Err(BuildError::at(ErrorClass::PatchConfig, message, patch.node.get_ref()));
    let Some(selector) = &patch.target else { return error("a JSON patch needs a target") };
    if selector.name.is_empty() {
        return error("the target of an entry of `patchesJson6902` needs a name");
    }
    let Some(text) = unless_remote(PatchText::of(builder, level, patch, false))? else { return Ok(()) };
    let operations = text.operations()?.filter(|operations| !operations.is_empty());
    let Some(operations) = operations else { return error("this patch has no operations") };
    let compiled = Compiled::new(selector)?;
    let use_ = patch_use(&patch.node);
    let mut matched = false;
    for resource in resources.iter_mut().filter(|resource| compiled.selects(resource)) {
        matched = true;
        require_sound(resource)?;
        operate(&operations, resource)?;
        resource.sync();
        // Anything else than a map is gone before somebody looks into it.
        if resource
            .node
            .get_ref()
            .at("/metadata/annotations")
            .is_some_and(|annotations| !annotations.is_map())
        {
            resource.rewrite_annotations();
        }
        resource.suspect = true;
        resource.files.extend(use_.clone());
    }
    if !matched {
        builder.warn_unmatched(selector, resources);
    }
    Ok(())
}

/// Run operations on an object as it is written: its history stands in its annotations,
/// where they may change it.
fn operate(operations: &JsonPatch, resource: &mut Resource) -> Result<()> {
    resource.expose_history();
    operations.apply(&mut resource.node)?;
    resource.common.clear();
    resource.forget_history();
    resource.absorb_history();
    resource.absorb_traces();
    Ok(())
}

/// What patches in a row leave for the next one.
#[derive(Default)]
pub(super) struct PatchRow {
    names: NameIndex,
    /// Positions of objects that went through JSON and are sound.
    settled: FxHashSet<usize>,
    /// Whether no two objects have the same id.
    unique: bool,
    /// Values that merges have walked over.
    walked: u64,
}

impl PatchRow {
    /// Objects may have been changed by others.
    fn unsettle(&mut self) {
        self.settled.clear();
    }

    /// Remove the objects of which nothing is left.
    fn remove_empty(&mut self, resources: &mut Vec<Resource>) {
        resources.retain(|resource| !nodes::is_empty(Some(resource.node.get_ref())));
        self.unsettle();
        self.names.forget();
    }
}

/// Apply one entry of `patches`; `row` is the same for those in a row.
pub(super) fn apply(
    builder: &mut Builder<'_>,
    level: &BuildLevel,
    patch: &entries::Patch,
    resources: &mut Vec<Resource>,
    row: &mut PatchRow,
) -> Result<()> {
    let Some(text) = unless_remote(PatchText::of(builder, level, patch, true))? else { return Ok(()) };
    let objects = text.objects();
    let operations = text.operations();
    let use_ = patch_use(&patch.node);
    match (objects, operations) {
        (Ok(objects), Ok(operations)) => {
            let filled = operations.as_ref().is_some_and(|operations| !operations.is_empty());
            match (objects.is_empty(), filled) {
                (false, true) => {
                    let message = "this is both a strategic merge and a JSON patch";
                    Err(BuildError::at(ErrorClass::PatchConfig, message, text.place()))
                }
                (false, false) => merge_all(builder, patch, &objects, use_, resources, row),
                (true, true) => match operations {
                    Some(operations) => patch_all(builder, patch, &operations, use_, resources, row),
                    None => Ok(()),
                },
                // Nothing in it: nothing to do.
                (true, false) => Ok(()),
            }
        }
        (Ok(objects), Err(_)) => merge_all(builder, patch, &objects, use_, resources, row),
        (Err(_), Ok(Some(operations))) => patch_all(builder, patch, &operations, use_, resources, row),
        (Err(reason), operations) => {
            // Of a list that isn't JSON; that an object is no list goes without saying.
            let other = operations.err().filter(|_| text.json);
            let refused = other.map_or_else(String::new, |other| format!(" ({})", other.message));
            let message = format!(
                "this is neither a strategic merge patch ({}) nor a list of JSON patch operations{refused}",
                reason.message
            );
            let place = reason.location.or_else(|| text.place().location());
            Err(BuildError::new(ErrorClass::PatchConfig, message, place)
                .related("applied here", patch.node.get_ref().location()))
        }
    }
}

/// Apply JSON patch operations to what the target selects.
fn patch_all(
    builder: &mut Builder<'_>,
    patch: &entries::Patch,
    operations: &JsonPatch,
    use_: Option<FileUse>,
    resources: &mut Vec<Resource>,
    row: &mut PatchRow,
) -> Result<()> {
    let Some(selector) = &patch.target else {
        let message = "a JSON patch needs a target";
        return Err(BuildError::at(ErrorClass::PatchConfig, message, patch.node.get_ref()));
    };
    let compiled = Compiled::new(selector)?;
    let mut matched = false;
    let is_local = operations.is_local();
    let mut any_empty = false;
    for at in row.names.positions(resources, compiled.only_name()) {
        let resource = &mut resources[at];
        if !compiled.selects(resource) {
            continue;
        }
        matched = true;
        // The way through JSON and back changes nothing more of such an object.
        if is_local && row.settled.contains(&at) {
            operations.apply_locally(&mut resource.node)?;
            resource.suspect = true;
            resource.files.extend(use_.clone());
            continue;
        }
        row.settled.remove(&at);
        require_sound(resource)?;
        resource.store_previous_id();
        let history = resource.clone();
        operate(operations, resource)?;
        resource.previous = history.previous;
        resource.prefixes = history.prefixes;
        resource.suffixes = history.suffixes;
        resource.needs_hash = history.needs_hash;
        resource.behavior = history.behavior;
        resource.sync();
        resource.rewrite_annotations();
        if is_local && !resource.suspect {
            row.settled.insert(at);
        }
        resource.suspect = true;
        resource.files.extend(use_.clone());
        row.names.add(at, resource);
        row.unique = false;
        any_empty |= nodes::is_empty(Some(resource.node.get_ref()));
    }
    if any_empty {
        row.remove_empty(resources);
    }
    if !matched {
        builder.warn_unmatched(selector, resources);
    }
    Ok(())
}

/// Apply strategic merge patches: each to the object that it names, or one to
/// what the target selects.
fn merge_all(
    builder: &mut Builder<'_>,
    patch: &entries::Patch,
    objects: &[Loaded],
    use_: Option<FileUse>,
    resources: &mut Vec<Resource>,
    row: &mut PatchRow,
) -> Result<()> {
    let (name_change, kind_change) = (patch.allow_name_change, patch.allow_kind_change);
    row.unsettle();
    let Some(selector) = &patch.target else {
        for object in objects {
            let target = match unique_target(resources, &object.node, &mut row.names) {
                Ok(target) => target,
                Err(error) if error.class == ErrorClass::PatchTarget && builder.is_partial() => continue,
                Err(error) => return Err(error),
            };
            let prepared = Prepared::new(object, use_.clone(), name_change, kind_change, false);
            prepared.apply(builder.schemas(), &mut resources[target], &mut row.walked)?;
            // No other one can have become empty.
            let is_empty = nodes::is_empty(Some(resources[target].node.get_ref()));
            if is_empty {
                resources.remove(target);
            }
            if is_empty {
                row.names.forget();
            } else if name_change || kind_change {
                row.names.add(target, &resources[target]);
                row.unique = false;
            }
        }
        return Ok(());
    };
    let object = match objects {
        [] => return Ok(()),
        [object] => object,
        _ => {
            let message = "a patch with a target holds one document";
            return Err(BuildError::at(ErrorClass::PatchConfig, message, patch.node.get_ref()));
        }
    };
    let compiled = Compiled::new(selector)?;
    let named = row.names.positions(resources, compiled.only_name());
    let named = named.into_iter().map(|at| &resources[at]);
    let selected: Vec<ResId> =
        named.filter(|resource| compiled.selects(resource)).map(|r| r.id.clone()).collect();
    if selected.is_empty() {
        builder.warn_unmatched(selector, resources);
    }
    let prepared = Prepared::new(object, use_, name_change, kind_change, true);
    apply_selected(builder.schemas(), resources, &selected, &prepared, row)
}

/// Apply a patch to the objects of these ids; an error when ids collide then.
fn apply_selected(
    schemas: &Schemas,
    resources: &mut Vec<Resource>,
    selected: &[ResId],
    patch: &Prepared,
    row: &mut PatchRow,
) -> Result<()> {
    if selected.is_empty() {
        return Ok(());
    }
    let mut positions = BTreeSet::new();
    for id in selected {
        let named = row.names.positions(resources, Some(&id.name));
        positions.extend(named.into_iter().filter(|at| resources[*at].id == *id));
    }
    let mut any_empty = false;
    for at in positions {
        let resource = &mut resources[at];
        let before = resource.id.clone();
        patch.apply(schemas, resource, &mut row.walked)?;
        row.unique &= resource.id == before;
        row.names.add(at, resource);
        any_empty |= nodes::is_empty(Some(resource.node.get_ref()));
    }
    if any_empty {
        row.remove_empty(resources);
    }
    if !row.unique {
        builder::require_unique(resources)?;
        row.unique = true;
    }
    Ok(())
}

/// An object must be JSON before a JSON patch.
fn require_sound(resource: &mut Resource) -> Result<()> {
    if resource.defect.is_none() && resource.suspect {
        resource.defect = load::inspect(resource.node.get_ref())?;
        resource.suspect = false;
    }
    match &resource.defect {
        Some(defect) => Err(Box::new((**defect).clone())),
        None => Ok(()),
    }
}

/// The object that a patch names by any of its ids.
fn unique_target(resources: &[Resource], patch: &Node, names: &mut NameIndex) -> Result<usize> {
    let id = ResId::of(patch.get_ref());
    let named = names.positions(resources, Some(&id.name)).into_iter();
    let mut found = named
        .map(|at| (at, &resources[at]))
        .filter(|(_, resource)| resource.ids().any(|known| known.equals(&id)));
    let Some((first, known)) = found.next() else {
        let message = format!("this patch is for {id}, which is not in this build at this point");
        let mut error = BuildError::at(ErrorClass::PatchTarget, message, patch.get_ref());
        if let Some(near) = resources
            .iter()
            .find(|resource| resource.id.name == id.name && resource.id.gvk.kind == id.gvk.kind)
        {
            let why = if near.id.gvk != id.gvk {
                format!("{} is {} there", near.id, near.id.gvk.api_version)
            } else {
                format!("{} is there", near.id)
            };
            error = error.related(why, near.location());
        }
        return Err(error);
    };
    match found.next() {
        None => Ok(first),
        Some((_, other)) => {
            let message = format!("this patch is for {id}, and several objects have or had this id");
            Err(BuildError::at(ErrorClass::PatchTarget, message, patch.get_ref())
                .related("one of them", known.location())
                .related("another one", other.location()))
        }
    }
}

/// A strategic merge patch, ready to be applied.
struct Prepared {
    node: Node,
    defect: Option<Arc<BuildError>>,
    changes_in_passing: bool,
    allow_name_change: bool,
    allow_kind_change: bool,
    /// Whether the target's apiVersion stays.
    by_target: bool,
    forgets_history: bool,
    use_: Option<FileUse>,
}

impl Prepared {
    /// `by_target`: labels and annotations become maps of strings first, as
    /// kustomize does with patches that it copies.
    fn new(
        patch: &Loaded,
        use_: Option<FileUse>,
        allow_name_change: bool,
        allow_kind_change: bool,
        by_target: bool,
    ) -> Prepared {
        let mut node = patch.node.clone();
        if by_target {
            for field in ["labels", "annotations"] {
                stringify(&mut node, field);
            }
        }
        let metadata = node.get_ref().get("metadata");
        let clears =
            |map: NodeRef<'_>| map.get("$patch").is_some_and(|directive| nodes::text(directive) != "merge");
        let forgets_history = metadata.is_some_and(|metadata| {
            clears(metadata)
                || metadata
                    .get("annotations")
                    .is_some_and(|annotations| nodes::is_null(annotations) || clears(annotations))
        });
        Prepared {
            node,
            defect: patch.defect.clone(),
            changes_in_passing: patch.changes_in_passing,
            allow_name_change,
            allow_kind_change,
            by_target,
            forgets_history,
            use_,
        }
    }

    fn apply(&self, schemas: &Schemas, resource: &mut Resource, walked: &mut u64) -> Result<()> {
        let original = resource.node.clone();
        if self.allow_name_change || self.allow_kind_change {
            resource.store_previous_id();
        }
        let mut patch = self.node.clone();
        if self.by_target {
            // The patch takes the target's apiVersion.
            match original.get_ref().get("apiVersion") {
                Some(version) if !nodes::is_null(version) => {
                    patch.set("apiVersion", version.to_node(), None);
                }
                // A text without a tag, which isn't null until it is written.
                version => {
                    let text = version.map_or_else(Default::default, nodes::text);
                    patch.set("apiVersion", Node::scalar(Value::Plain(text.as_ref().into()), None), None);
                }
            }
        }
        // kyaml merges in place, and with `replace` gives back another object, which
        // kustomize drops: at the root the directive does nothing.
        let merged = match merge(schemas, &original, &patch, walked)? {
            Some(_) if is_replacement(patch.get_ref()) => Some(original.clone()),
            merged => merged,
        };
        let Some(mut merged) = merged.filter(|node| !nodes::is_empty(Some(node.get_ref()))) else {
            resource.node = Node::empty_map(None);
            return Ok(());
        };
        if !self.allow_kind_change {
            restore(&mut merged, &original, &["kind"]);
        }
        if !self.allow_name_change {
            restore(&mut merged, &original, &["metadata", "name"]);
        }
        restore(&mut merged, &original, &["metadata", "namespace"]);
        resource.node = merged;
        if let Some(common) = resource.common_in(original.get_ref(), None) {
            resource.write_through(common, None);
        }
        if self.forgets_history {
            resource.forget_history();
            resource.forget_traces();
        }
        if resource.defect.is_none() {
            resource.defect.clone_from(&self.defect);
        }
        resource.changes_in_passing |= self.changes_in_passing;
        resource.sync();
        resource.files.extend(self.use_.clone());
        Ok(())
    }
}

/// Write the original's field back, or remove it where the original has none. What
/// is written has no tag, only the style of what stands there.
fn restore(node: &mut Node, original: &Node, path: &[&str]) {
    let mut wanted = Some(original.get_ref());
    for step in path {
        wanted = wanted.and_then(|node| node.get(step));
    }
    let wanted = wanted.filter(|node| !nodes::text(*node).is_empty());
    let (parents, [field]) = path.split_at(path.len() - 1) else { return };
    let mut parent = node;
    for step in parents {
        if nodes::kind(parent.get_ref().get(step)) == nodes::Kind::Null {
            if wanted.is_none() {
                return;
            }
            nodes::set_entry(parent, step, Node::empty_map(None), None);
        }
        match parent.get_mut(step) {
            Some(inner) => parent = inner,
            None => return,
        }
    }
    let Some(wanted) = wanted else {
        parent.remove(field);
        return;
    };
    let present = parent.get_ref().get(field);
    let stays = present.is_some_and(|present| present.to_node().is(&wanted.to_node()));
    let value = nodes::overwrite(present, &nodes::text(wanted), Tag::Untagged);
    let style = present.map_or(Style::Plain, nodes::style);
    let written = nodes::styled(value, wanted.location(), style);
    let is_same = style == nodes::style(wanted)
        && written.get_ref().scalar(Dialect::GoYamlV3) == wanted.scalar(Dialect::GoYamlV3);
    let written = if is_same { wanted.to_node() } else { written };
    if !(is_same && stays) {
        nodes::set_entry(parent, field, written, None);
    }
}

/// Turn labels or annotations into a map of strings in order of its keys;
/// a null vanishes.
fn stringify(node: &mut Node, field: &str) {
    let Some(metadata) = node.get_mut("metadata") else { return };
    let Some(map) = metadata.get_ref().get(field) else { return };
    if !map.is_map() || map.entries().next().is_none() {
        metadata.remove(field);
        return;
    }
    if map.entries().all(|entry| nodes::is_string(entry.value) && !nodes::reads_as_other_key(&entry.key)) {
        return;
    }
    let origin = map.location();
    let places: FxHashMap<String, (Option<Location>, Option<Location>)> = map
        .entries()
        .map(|entry| (entry.key.clone().into_owned(), (entry.key_location(), entry.value.location())))
        .collect();
    let pairs = text_pairs(Some(map));
    let mut strings = Node::empty_map(origin);
    for (key, value) in pairs.iter().filter(|(key, _)| !is_internal(key)) {
        let (key_at, value_at) = places.get(key).cloned().unwrap_or_default();
        let value = Node::string(value, value_at);
        nodes::set_entry(&mut strings, key, value, key_at.map(Arc::new).as_ref());
    }
    metadata.set(field, strings, None);
}

fn patch_use(node: &Node) -> Option<FileUse> {
    let location = node.get_ref().location()?;
    Some(FileUse { role: FileRole::Patch, location: Arc::new(location) })
}
