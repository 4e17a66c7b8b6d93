//! Outlines: the objects of a file, and those of the repository.

use super::state::ServerState;
use crate::lang::text::clean;
use crate::lang::yaml::{Location, NodeRef};
use crate::model::{Object, ObjectId};
use lsp_types::{DocumentSymbol, SymbolInformation, SymbolKind};

/// The objects of a file, with the parts of each.
pub(super) fn of_document(state: &ServerState<'_>, path: &str) -> Vec<DocumentSymbol> {
    let snapshot = state.snapshot();
    let Some(file) = snapshot.file(path) else { return Vec::new() };
    let mut symbols = Vec::new();
    for source in snapshot.sources(file).iter().filter(|source| !source.document().tokens.is_empty()) {
        let root = NodeRef::Source(source, 0);
        let items: Vec<NodeRef<'_>> = match root.str_at("/kind").is_some_and(|kind| kind.ends_with("List")) {
            true => root.items_at("/items").collect(),
            false => vec![root],
        };
        symbols.extend(items.into_iter().filter_map(|node| object(state, node)));
    }
    symbols
}

fn object(state: &ServerState<'_>, node: NodeRef<'_>) -> Option<DocumentSymbol> {
    let id = ObjectId::of(node);
    let name = match &id {
        Some(id) => id.to_string(),
        None => node.str_at("/kind").map_or_else(|| "document".to_owned(), |kind| kind.into_owned()),
    };
    let place = node.location()?;
    let named = node.at("/metadata/name").and_then(NodeRef::location);
    let children =
        node.entries().filter_map(|entry| part(state, &entry.key, entry.key_location()?, entry.value, 0));
    symbol(
        state,
        &name,
        SymbolKind::OBJECT,
        &place,
        &named.unwrap_or_else(|| place.clone()),
        children.collect(),
    )
}

/// A field of an object; those of its spec too.
fn part(
    state: &ServerState<'_>,
    name: &str,
    key: Location,
    value: NodeRef<'_>,
    depth: usize,
) -> Option<DocumentSymbol> {
    let end = value.location().map_or(key.end, |value| value.end.max(key.end));
    let kind = if value.is_map() {
        SymbolKind::NAMESPACE
    } else if value.is_seq() {
        SymbolKind::ARRAY
    } else {
        SymbolKind::FIELD
    };
    let inner = value.entries().filter(|_| depth < 1);
    let children =
        inner.filter_map(|entry| part(state, &entry.key, entry.key_location()?, entry.value, depth + 1));
    let whole = Location { end, ..key.clone() };
    symbol(state, name, kind, &whole, &key, children.collect())
}

#[expect(deprecated, reason = "the protocol's type has a field that its tags replace")]
fn symbol(
    state: &ServerState<'_>,
    name: &str,
    kind: SymbolKind,
    whole: &Location,
    name_at: &Location,
    children: Vec<DocumentSymbol>,
) -> Option<DocumentSymbol> {
    let snapshot = state.snapshot();
    let range = state.range(snapshot, whole)?;
    let selection = state.range(snapshot, name_at).unwrap_or(range);
    // The one has to lie in the other, whatever was edited.
    let inside = range.start <= selection.start && selection.end <= range.end;
    Some(DocumentSymbol {
        name: if name.is_empty() { "\"\"".to_owned() } else { clean(name).into_owned() },
        detail: None,
        kind,
        tags: None,
        deprecated: None,
        range,
        selection_range: if inside { selection } else { range },
        children: (!children.is_empty()).then_some(children),
    })
}

/// Objects of the repository whose name, kind or namespace holds all words.
#[expect(deprecated, reason = "the protocol's type has a field that its tags replace")]
pub(super) fn of_workspace(state: &ServerState<'_>, query: &str) -> Vec<SymbolInformation> {
    /// More than anybody reads.
    const LIMIT: usize = 500;
    let words: Vec<String> = query.split([' ', '/']).map(str::to_lowercase).collect();
    let matches = |object: &&Object| {
        let text = object.id.to_string().to_lowercase();
        words.iter().all(|word| text.contains(word.as_str()))
    };
    let objects =
        state.snapshot().objects().iter().filter(|object| !object.id.name.is_empty()).filter(matches);
    let symbols = objects.filter_map(|object| {
        let node = object.node.get_ref();
        let place = node.at("/metadata/name").and_then(NodeRef::location).or_else(|| node.location())?;
        Some(SymbolInformation {
            name: clean(&object.id.to_string()).into_owned(),
            kind: SymbolKind::OBJECT,
            tags: None,
            deprecated: None,
            location: state.location(&place)?,
            container_name: Some(clean(object.path()).into_owned()),
        })
    });
    symbols.take(LIMIT).collect()
}
