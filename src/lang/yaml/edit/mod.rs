//! Tree operations compiled to byte edits: the text is the truth, an edit
//! replaces some of its bytes and nothing else.
//!
//! [`compile`] finds the bytes of one operation. It keeps to the habits of the
//! file: indentation, the place of list dashes, quotes, line ends, a missing
//! final line break. [`verify::verify`] proves afterwards that the new text says
//! what the old one did plus the declared changes.

mod block;
mod editor;
mod flow;
mod relocate;
mod render;
mod replace;
mod tree;
pub(crate) mod verify;
mod within;

use super::tape::TokenKind;
use super::{NodeRef, ScalarStyle, Source, Stream, WorkPath, pointer_join};
use editor::{Editor, PointerTarget};
use render::Habits;
use std::ops::Range;

/// One replacement of bytes of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEdit {
    /// First byte replaced.
    pub start: u32,
    /// One past the last byte replaced.
    pub end: u32,
    /// The new text.
    pub text: String,
}

/// A value to be written.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// null
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A string; quoted where plain text would be read as something else.
    Str(String),
    /// A list.
    Seq(Vec<Content>),
    /// A map, in order.
    Map(Vec<(String, Content)>),
}

impl Content {
    /// A string.
    pub fn str(text: impl Into<String>) -> Content {
        Content::Str(text.into())
    }

    /// Whether it is neither a list nor a map.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Content::Seq(_) | Content::Map(_))
    }
}

/// Where a new key goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// Behind the last key.
    End,
    /// In front of this key; at the end where it is absent.
    Before(String),
    /// Behind this key; at the end where it is absent.
    After(String),
}

/// A change of a document. Pointers are JSON Pointers from its root.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Make a scalar this one. An absent one is inserted, its missing parents
    /// with it.
    Set {
        /// The value.
        pointer: String,
        /// A scalar; a collection only where nothing is there yet.
        value: Content,
        /// Text of a comment at the end of its line, without `#`. Replaces the
        /// one that is there.
        comment: Option<String>,
    },
    /// Add a key that is absent, missing parents of the map included.
    InsertKey {
        /// The map.
        map: String,
        /// The key.
        key: String,
        /// Its value.
        value: Content,
        /// Where among its siblings.
        place: KeyPlace,
        /// As for `Set`.
        comment: Option<String>,
    },
    /// Remove a key and its value, with the comments that are attached to them.
    RemoveKey {
        /// The value.
        pointer: String,
        /// Which maps that would be empty then go too.
        prune: Prune,
    },
    /// Give a key another name.
    RenameKey {
        /// The value.
        pointer: String,
        /// The new key.
        to: String,
    },
    /// Move a scalar entry into a map beside it, its comments with it. The map is
    /// put around it where it is absent; an entry of the same name is replaced.
    MoveKey {
        /// The value.
        pointer: String,
        /// The key of the map, in the map that the entry is in.
        into: String,
    },
    /// Add an item to a list.
    InsertItem {
        /// The list.
        list: String,
        /// The item that it goes in front of; `None` for the end.
        before: Option<usize>,
        /// The item.
        value: Content,
    },
    /// Remove an item of a list, with the comments that are attached to it.
    RemoveItem {
        /// The item.
        pointer: String,
    },
    /// Replace a word inside of one scalar, or of one comment, that stands there as it
    /// is meant, such as a name in an inline patch.
    ReplaceWithin {
        /// First byte and one past the last of each, in order; the same word.
        places: Vec<(u32, u32)>,
        /// What stands there instead.
        text: String,
    },
    /// Remove a comment, with its line where nothing else stands there.
    RemoveComment {
        /// Its first byte.
        start: u32,
    },
}

/// A wanted change of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    pub path: WorkPath,
    /// Index of the document in the file.
    pub document: u32,
    /// What to do.
    pub operation: Operation,
}

/// An operation that can't be done here without a guess.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedEdit {
    /// Why.
    pub message: String,
    /// The way out, imperative.
    pub help: String,
    /// The bytes that stand in the way.
    pub range: Range<u32>,
}

/// Which maps go with their last key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prune {
    /// None.
    Keep,
    /// Those around it.
    Empty,
    /// Those around it, up to the map at this pointer, into which something else is put;
    /// refused where that one would be empty in between.
    EmptyBelow(String),
}

/// What an operation does to the tree, by tokens of the old document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TreeChange {
    /// A key, a scalar or an empty collection becomes this.
    Replace {
        /// Token of the key, scalar or collection.
        token: u32,
        /// What it becomes.
        with: Content,
    },
    /// A new entry (with a key) or item in front of a child; at the end without.
    Insert {
        /// Token of the mapping or sequence.
        parent: u32,
        /// Token of the child, the last without.
        before: Option<u32>,
        /// Of a mapping: the new key.
        key: Option<String>,
        /// The new value.
        value: Content,
    },
    /// A key with its value, or an item, goes.
    Remove {
        /// Token of the key or item.
        child: u32,
    },
}

/// A compiled operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compiled {
    /// Its edits in order of the text; they don't overlap.
    pub edits: Vec<TextEdit>,
    /// Starts of the comments that go with it.
    pub(crate) dropped: Vec<u32>,
    /// What it declares.
    pub(crate) changes: Vec<TreeChange>,
}

impl Compiled {
    fn edit(&mut self, range: Range<usize>, text: impl Into<String>) {
        self.edits.push(TextEdit { start: range.start as u32, end: range.end as u32, text: text.into() });
    }
}

/// Find the bytes of an operation on a document of a stream.
///
/// # Errors
/// Where the operation leads through an alias or a merge key, into an anchor
/// that is used elsewhere, or to text whose layout gives no certain answer.
pub fn compile(stream: &Stream, document: u32, operation: &Operation) -> Result<Compiled, RefusedEdit> {
    let document = &stream.documents[document as usize];
    // What only takes a comment away asks for no habits: to learn them is to read the document.
    let habits = match operation {
        Operation::RemoveComment { .. } => Habits::default(),
        _ => Habits::of(stream, document),
    };
    let mut editor = Editor::new(stream, document, habits)?;
    editor.habits.literals = !matches!(
        operation,
        Operation::Set { comment: Some(_), .. } | Operation::InsertKey { comment: Some(_), .. }
    );
    let mut compiled = match operation {
        Operation::Set { pointer, value, comment } => editor.set(pointer, value, comment.as_deref())?,
        Operation::InsertKey { map, key, value, place, comment } => {
            editor.insert_key(map, key, value, place, comment.as_deref())?
        }
        Operation::RemoveKey { pointer, prune } => editor.remove_key(pointer, prune)?,
        Operation::RenameKey { pointer, to } => editor.rename_key(pointer, to)?,
        Operation::MoveKey { pointer, into } => editor.move_key(pointer, into)?,
        Operation::InsertItem { list, before, value } => editor.insert_item(list, *before, value)?,
        Operation::RemoveItem { pointer } => editor.remove_item(pointer)?,
        Operation::ReplaceWithin { places, text } => editor.replace_within(places, text)?,
        Operation::RemoveComment { start } => editor.remove_comment(*start)?,
    };
    compiled.edits.sort_by_key(|edit| (edit.start, edit.end));
    for edit in &compiled.edits {
        let first = document.comments.partition_point(|comment| comment.start < edit.start);
        let within = document.comments[first..].iter().take_while(|comment| comment.end <= edit.end);
        compiled.dropped.extend(within.map(|comment| comment.start));
    }
    compiled.dropped.sort_unstable();
    compiled.dropped.dedup();
    Ok(compiled)
}

/// The file, document and JSON Pointer of a node that stands in a text; `None`
/// for a built node and for one inside a text that is itself a scalar.
pub(crate) fn pointer_of(node: NodeRef<'_>) -> Option<(&Source, String)> {
    let NodeRef::Source(source, token) = node else { return None };
    if source.embed.is_some() {
        return None;
    }
    let document = source.document();
    let mut pointer = String::new();
    let mut at = 0;
    while at != token {
        let parent = document.tokens.get(at as usize)?;
        let mut child = at + 1;
        let mut index = 0;
        loop {
            if child >= parent.next {
                return None;
            }
            let value = match parent.kind {
                TokenKind::Mapping => document.tokens[child as usize].next,
                _ => child,
            };
            let next = document.tokens.get(value as usize)?.next;
            if value <= token && token < next {
                let segment = match parent.kind {
                    TokenKind::Mapping => NodeRef::Source(source, child).text()?.into_owned(),
                    _ => index.to_string(),
                };
                pointer = pointer_join(&pointer, &segment);
                at = value;
                break;
            }
            child = next;
            index += 1;
        }
    }
    Some((source, pointer))
}

impl Editor<'_> {
    fn set(&self, pointer: &str, value: &Content, comment: Option<&str>) -> Result<Compiled, RefusedEdit> {
        match self.find(pointer)? {
            PointerTarget::Token(at)
                if value.is_scalar() && !matches!(self.token(at).kind, TokenKind::Scalar(_)) =>
            {
                let kind = match self.token(at).kind {
                    TokenKind::Alias => "an alias",
                    TokenKind::Mapping => "a map",
                    _ => "a list",
                };
                self.refuse(
                    at,
                    format!("`{pointer}` is {kind}, not a scalar"),
                    "edit it by hand: replace the whole value",
                )
            }
            PointerTarget::Token(at) if value.is_scalar() => self.set_scalar(at, value, comment),
            PointerTarget::Token(at) if self.is_vacant(at) => self.fill(at, value, comment),
            PointerTarget::Token(at) => self.refuse(
                at,
                format!("`{pointer}` has a value already"),
                "edit it by hand: replace the whole value",
            ),
            PointerTarget::Missing(at, rest) => self.insert_path(at, &rest, value, &KeyPlace::End, comment),
        }
    }

    fn insert_key(
        &self,
        map: &str,
        key: &str,
        value: &Content,
        place: &KeyPlace,
        comment: Option<&str>,
    ) -> Result<Compiled, RefusedEdit> {
        match self.find(&pointer_join(map, key))? {
            PointerTarget::Token(at) => {
                self.refuse(at, format!("the key `{key}` is there already"), "change its value instead")
            }
            PointerTarget::Missing(at, rest) => self.insert_path(at, &rest, value, place, comment),
        }
    }

    /// Insert the missing `path` below a token that is there.
    fn insert_path(
        &self,
        at: u32,
        path: &[String],
        value: &Content,
        place: &KeyPlace,
        comment: Option<&str>,
    ) -> Result<Compiled, RefusedEdit> {
        let [first, below @ ..] = path else {
            return self.refuse(at, "nothing to insert", "name a key");
        };
        let nested = |path: &[String]| {
            path.iter().rev().fold(value.clone(), |value, key| Content::Map(vec![(key.clone(), value)]))
        };
        match self.token(at).kind {
            TokenKind::Mapping if self.token(at).next == at + 1 => self.fill(at, &nested(path), comment),
            TokenKind::Mapping if self.token(at).flow && comment.is_some() => self.refuse_comment(at),
            TokenKind::Mapping if self.token(at).flow => {
                self.insert_flow_entry(at, first, &nested(below), place)
            }
            TokenKind::Mapping => self.insert_block_entry(at, first, &nested(below), place, comment),
            _ => self.fill(at, &nested(path), comment),
        }
    }

    fn remove_key(&self, pointer: &str, prune: &Prune) -> Result<Compiled, RefusedEdit> {
        let mut at = self.existing(pointer)?;
        let goes = |map: u32| -> Result<bool, RefusedEdit> {
            Ok(match prune {
                Prune::Keep => false,
                Prune::Empty => true,
                Prune::EmptyBelow(stays) => map > self.existing(stays)?,
            })
        };
        loop {
            let Some((map, Some(key))) = self.parent(at) else {
                return self.refuse(at, format!("`{pointer}` is no key of a map"), "remove the list item");
            };
            let alone = self.entries(map).len() == 1;
            if alone && matches!(self.parent(map), Some((_, Some(_)))) && goes(map)? {
                at = map;
                continue;
            }
            self.check_anchors_below(key, at)?;
            if let Prune::EmptyBelow(stays) = prune
                && alone
                && map == self.existing(stays)?
            {
                let message = format!("the map around `{pointer}` holds nothing else");
                return self.refuse(at, message, "move it by hand");
            }
            // A merge could give the map another value of that key.
            self.check_merge(map, self.value(key))?;
            return if self.token(map).flow {
                self.remove_flow(map, key, at)
            } else {
                self.remove_block_entry(map, key, at)
            };
        }
    }

    fn rename_key(&self, pointer: &str, to: &str) -> Result<Compiled, RefusedEdit> {
        let at = self.existing(pointer)?;
        let Some((map, Some(key))) = self.parent(at) else {
            return self.refuse(at, format!("`{pointer}` is no key of a map"), "name a key");
        };
        self.check_anchor(key)?;
        let TokenKind::Scalar(style) = self.token(key).kind else {
            return self.refuse(key, "the key is no scalar", "edit it by hand");
        };
        if self.has_properties(key) || matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
            return self.refuse(key, "the key carries an anchor or a tag, or is a block", "edit it by hand");
        }
        if let Some((twin, _)) = self.entries(map).into_iter().find(|(other, _)| self.is_key(*other, to)) {
            return self.refuse(twin, format!("the key `{to}` is there already"), "join the two by hand");
        }
        self.check_merge(map, self.value(key))?;
        let mut compiled = Compiled::default();
        let token = self.token(key);
        let text = self.habits.key(to, Some(style), self.token(map).flow);
        compiled.edit(token.start as usize..token.end as usize, text);
        compiled.changes.push(TreeChange::Replace { token: key, with: Content::str(to) });
        Ok(compiled)
    }

    fn insert_item(
        &self,
        list: &str,
        before: Option<usize>,
        value: &Content,
    ) -> Result<Compiled, RefusedEdit> {
        match self.find(list)? {
            PointerTarget::Token(at) if self.is_vacant(at) => {
                self.fill(at, &Content::Seq(vec![value.clone()]), None)
            }
            PointerTarget::Token(at) if self.token(at).kind == TokenKind::Alias => self.refuse(
                at,
                format!("`{list}` is an alias"),
                "change the anchor that it names, or replace the alias by its own copy",
            ),
            PointerTarget::Token(at) if self.token(at).kind == TokenKind::Sequence => {
                let before = before.and_then(|index| self.items(at).get(index).copied());
                if self.token(at).flow {
                    self.insert_flow_item(at, before, value)
                } else {
                    self.insert_block_item(at, before, value)
                }
            }
            PointerTarget::Token(at) => self.refuse(at, format!("`{list}` is no list"), "edit it by hand"),
            PointerTarget::Missing(at, rest) => {
                self.insert_path(at, &rest, &Content::Seq(vec![value.clone()]), &KeyPlace::End, None)
            }
        }
    }

    fn remove_item(&self, pointer: &str) -> Result<Compiled, RefusedEdit> {
        let at = self.existing(pointer)?;
        self.check_anchors_below(at, at)?;
        match self.parent(at) {
            Some((seq, None)) if self.token(seq).flow => self.remove_flow(seq, at, at),
            Some((seq, None)) => self.remove_block_item(seq, at),
            _ => self.refuse(at, format!("`{pointer}` is no item of a list"), "remove the key"),
        }
    }
}
