//! The entries of maps, merge keys expanded.

use super::{Entry, EntryRef, Node, NodeRef, Source, follow, source_text};
use crate::lang::yaml::resolve::ScalarStyle;
use crate::lang::yaml::tape::{Document, NONE, TokenKind};
use rustc_hash::FxHashSet;
use std::borrow::Cow;
use std::sync::Arc;

/// The entries of a map. See [`NodeRef::entries`].
pub enum Entries<'a> {
    /// Straight from the tape.
    Tape {
        source: &'a Arc<Source>,
        /// Next key.
        at: u32,
        /// One past the map's last token.
        end: u32,
    },
    /// With merge keys expanded.
    Merged(std::vec::IntoIter<EntryRef<'a>>),
    /// Of a built map.
    Built(std::slice::Iter<'a, Entry>),
}

impl<'a> Iterator for Entries<'a> {
    type Item = EntryRef<'a>;

    fn next(&mut self) -> Option<EntryRef<'a>> {
        match self {
            Entries::Tape { source, at, end } => {
                while *at < *end {
                    let (entry, next) = tape_entry(source, *at);
                    *at = next;
                    if entry.is_some() {
                        return entry;
                    }
                }
                None
            }
            Entries::Merged(entries) => entries.next(),
            Entries::Built(entries) => entries.next().map(Entry::as_ref),
        }
    }
}

/// The items of a list. See [`NodeRef::items`].
pub enum Items<'a> {
    /// Straight from the tape.
    Tape {
        source: &'a Arc<Source>,
        /// Next item.
        at: u32,
        /// One past the list's last token.
        end: u32,
    },
    /// Of a built list.
    Built(std::slice::Iter<'a, Node>),
}

impl<'a> Iterator for Items<'a> {
    type Item = NodeRef<'a>;

    fn next(&mut self) -> Option<NodeRef<'a>> {
        match self {
            Items::Tape { source, at, end } => {
                let token = *at;
                (token < *end).then(|| {
                    *at = source.document().tokens[token as usize].next;
                    NodeRef::Source(source, follow(source, token))
                })
            }
            Items::Built(items) => items.next().map(Node::get_ref),
        }
    }

    fn nth(&mut self, n: usize) -> Option<NodeRef<'a>> {
        if let Items::Built(items) = self {
            return items.nth(n).map(Node::get_ref);
        }
        for _ in 0..n {
            self.next()?;
        }
        self.next()
    }

    fn count(self) -> usize {
        match self {
            Items::Tape { .. } => self.fold(0, |count, _| count + 1),
            Items::Built(items) => items.len(),
        }
    }

    fn last(self) -> Option<NodeRef<'a>> {
        match self {
            Items::Tape { .. } => self.fold(None, |_, item| Some(item)),
            Items::Built(items) => items.last().map(Node::get_ref),
        }
    }
}

/// The entry whose key is token `at`, and the token after its value.
fn tape_entry<'a>(source: &'a Arc<Source>, at: u32) -> (Option<EntryRef<'a>>, u32) {
    let tokens = &source.document().tokens;
    let value = tokens[at as usize].next;
    let Some(token) = tokens.get(value as usize) else {
        return (None, value);
    };
    let key = follow(source, at);
    let entry = source_text(source, key).map(|text| EntryRef {
        key: text,
        key_node: NodeRef::Source(source, key),
        value: NodeRef::Source(source, follow(source, value)),
    });
    (entry, token.next)
}

/// Whether the scalar at a token has this text, without making it where it is plain.
#[inline]
pub(super) fn is_text(source: &Arc<Source>, token: u32, text: &str) -> bool {
    let written = &source.document().tokens[token as usize];
    match written.kind {
        TokenKind::Scalar(ScalarStyle::Plain) if written.extra == NONE && !written.empty => {
            let range = written.start as usize..written.end as usize;
            // Most texts have another length: that is told without looking at them.
            range.len() == text.len() && source.stream.text.as_bytes().get(range) == Some(text.as_bytes())
        }
        _ => source_text(source, token).is_some_and(|found| found == text),
    }
}

/// Whether a key at a token, or the alias of one, has this text.
pub(super) fn is_key(source: &Arc<Source>, token: u32, text: &str) -> bool {
    is_text(source, follow(source, token), text)
}

/// The tokens of the keys of a map, with their texts; `None` for one that is no scalar.
pub(super) fn map_keys<'a>(
    source: &'a Arc<Source>,
    token: u32,
) -> impl Iterator<Item = (u32, Option<Cow<'a, str>>)> {
    let tokens = &source.document().tokens;
    let end = tokens[token as usize].next;
    let mut at = token + 1;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let key = at;
        let value = tokens[key as usize].next;
        at = tokens.get(value as usize)?.next;
        Some((key, source_text(source, follow(source, key))))
    })
}

/// The token of a key's value in the map at `token`, without making entries of
/// those before it.
#[inline]
pub(super) fn tape_value(source: &Arc<Source>, document: &Document, token: u32, key: &str) -> Option<u32> {
    if let Ok(found) = document.large_maps.find(source, token, key) {
        return found.map(|key| follow(source, document.tokens[key as usize].next));
    }
    let tokens = &document.tokens[..];
    let text = source.stream.text.as_bytes();
    let end = tokens[token as usize].next;
    let mut at = token + 1;
    let mut passed = 0;
    while at < end {
        let written = &tokens[at as usize];
        let value = written.next;
        let next = tokens.get(value as usize)?.next;
        let is_key = if written.kind == TokenKind::Scalar(ScalarStyle::Plain) && written.extra == NONE {
            // An omitted key has no bytes.
            let range = written.start as usize..written.end as usize;
            range.len() == key.len() && text.get(range) == Some(key.as_bytes())
        } else {
            is_text(source, follow(source, at), key)
        };
        if is_key {
            document.large_maps.passed(source, passed);
            return Some(follow(source, value));
        }
        at = next;
        passed += 1;
    }
    document.large_maps.passed(source, passed);
    None
}

/// The tokens of the values that a key has in the map at `token`: more than one where it is
/// written twice.
pub(super) fn tape_values<'a>(
    source: &'a Arc<Source>,
    token: u32,
    key: &'a str,
) -> impl Iterator<Item = u32> + use<'a> {
    let tokens = &source.document().tokens[..];
    let end = tokens[token as usize].next;
    let mut at = token + 1;
    std::iter::from_fn(move || {
        while at < end {
            let (written, value) = (at, tokens[at as usize].next);
            at = tokens.get(value as usize)?.next;
            if is_key(source, written, key) {
                return Some(follow(source, value));
            }
        }
        None
    })
}

/// Depth to which `<<` is followed through merged maps.
const MERGE_DEPTH: u32 = 32;

#[derive(Default)]
pub(super) struct Merge<'a> {
    pub(super) entries: Vec<EntryRef<'a>>,
    /// Of more than [`FEW`] entries.
    keys: FxHashSet<Cow<'a, str>>,
}

/// Entries whose keys are looked through one by one.
const FEW: usize = 8;

impl<'a> Merge<'a> {
    /// Take an entry in whose key is not there yet.
    fn add(&mut self, entry: EntryRef<'a>) {
        if self.entries.len() < FEW {
            if self.entries.iter().any(|other| other.key == entry.key) {
                return;
            }
        } else {
            if self.keys.is_empty() {
                self.keys.extend(self.entries.iter().map(|entry| entry.key.clone()));
            }
            if !self.keys.insert(entry.key.clone()) {
                return;
            }
        }
        self.entries.push(entry);
    }
}

pub(super) fn merge_entries<'a>(source: &'a Arc<Source>, token: u32, out: &mut Merge<'a>, depth: u32) {
    let tokens = &source.document().tokens;
    let end = tokens[token as usize].next;
    let mut merges = Vec::new();
    let mut at = token + 1;
    while at < end {
        let merge = match source.document().tag(at).map(|tag| &*tag.name) {
            None | Some("!") => tokens[at as usize].kind == TokenKind::Scalar(ScalarStyle::Plain),
            Some(tag) => tag == "tag:yaml.org,2002:merge",
        };
        let (entry, next) = tape_entry(source, at);
        at = next;
        let Some(entry) = entry else { continue };
        if merge && entry.key == "<<" {
            merges.push(entry.value);
        } else {
            out.add(entry);
        }
    }
    if depth >= MERGE_DEPTH {
        return;
    }
    for merged in merges {
        let maps: Vec<_> = if merged.is_seq() { merged.items().collect() } else { vec![merged] };
        for map in maps {
            if let NodeRef::Source(source, token) = map
                && map.is_map()
            {
                merge_entries(source, token, out, depth + 1);
            }
        }
    }
}
