//! The text of a patch, read both ways: as strategic merge patches and as JSON patch
//! operations.
//!
//! Mirrors `api/internal/builtins/PatchTransformer.go` (`Config`).

use super::builder::{BaseMemo, BuildLevel, Builder};
use super::decode::Text;
use super::entries;
use super::error::{BuildError, ErrorClass, Result};
use super::json6902::{self, JsonPatch};
use super::load::{self, Loaded, TextPlace};
use crate::lang::yaml::{FilePath, Node, NodeRef, Stream, Via, ViaKind};
use std::sync::Arc;

/// The text of a patch, in a file or in the kustomization.
pub(super) struct PatchText {
    file: FilePath,
    stream: Arc<Stream>,
    place: TextPlace,
    /// Where errors without a place of their own are shown.
    entry: Node,
    /// Whether it is read as JSON.
    pub json: bool,
    text_is_empty: bool,
}

impl PatchText {
    /// The text that an entry of `patches` gives: exactly one of its fields.
    /// `trimmed`: without the blanks around an inline text.
    pub(super) fn of(
        builder: &mut Builder<'_>,
        level: &BuildLevel,
        patch: &entries::Patch,
        trimmed: bool,
    ) -> Result<PatchText> {
        let inline = patch.patch.as_ref().filter(|text| !text.value.trim().is_empty());
        match (&patch.path, inline) {
            (Some(path), None) => PatchText::of_file(builder, level, path, &patch.node),
            (None, Some(text)) => {
                let used = if trimmed { text.value.trim() } else { &text.value };
                Ok(PatchText::inline(builder.memo, text, level, &patch.node, used))
            }
            (None, None) => {
                let message = "a patch needs `path` or `patch`";
                Err(BuildError::at(ErrorClass::PatchConfig, message, patch.node.get_ref()))
            }
            (Some(_), Some(_)) => {
                let message = "a patch takes either `path` or `patch`";
                Err(BuildError::at(ErrorClass::PatchConfig, message, patch.node.get_ref()))
            }
        }
    }

    pub(super) fn of_file(
        builder: &mut Builder<'_>,
        level: &BuildLevel,
        path: &Text,
        entry: &Node,
    ) -> Result<PatchText> {
        let file = builder.read(level, path)?;
        let Some(stream) = file.snapshot.stream(&file.file) else {
            let message = format!("the patch {} can't be read as text", path.value);
            return Err(BuildError::at(ErrorClass::PatchConfig, message, path.node.get_ref()));
        };
        Ok(PatchText {
            file: file.file.name(),
            stream: stream.clone(),
            place: TextPlace { inside: None, skipped: 0, via: via_of(entry, level) },
            entry: path.node.clone(),
            json: json6902::is_json(&stream.text),
            text_is_empty: stream.text.is_empty(),
        })
    }

    /// `used`: the part of the text that counts.
    pub(super) fn inline(
        memo: &BaseMemo,
        text: &Text,
        level: &BuildLevel,
        entry: &Node,
        used: &str,
    ) -> PatchText {
        // Where it is not all of the text, it begins after its blanks.
        let blanks = text.value.len() - text.value.trim_start().len();
        let skipped = if used.len() < text.value.len() { blanks } else { 0 };
        PatchText {
            file: load::file_of(text.node.get_ref()),
            stream: memo.stream(used),
            place: TextPlace {
                inside: Some(text.node.clone()),
                skipped: skipped as u32,
                via: via_of(entry, level),
            },
            entry: text.node.clone(),
            json: json6902::is_json(used),
            text_is_empty: used.is_empty(),
        }
    }

    pub(super) fn place(&self) -> NodeRef<'_> {
        self.entry.get_ref()
    }

    /// The text as strategic merge patches.
    pub(super) fn objects(&self) -> Result<Vec<Loaded>> {
        load::objects(load::documents(&self.file, &self.stream, &self.place)?)
    }

    /// The text as JSON patch operations: the first document, `None` without
    /// one.
    pub(super) fn operations(&self) -> std::result::Result<Option<JsonPatch>, Box<BuildError>> {
        let fail = |reason: String| BuildError::at(ErrorClass::PatchConfig, reason, self.place());
        if self.text_is_empty {
            return Err(fail("this patch is empty".to_owned()));
        }
        if let Some(error) = self.stream.errors.first().filter(|error| error.document == 0) {
            // JSON knows escapes that go-yaml doesn't.
            let json = self.json.then(|| serde_json::from_str::<serde_json::Value>(&self.stream.text));
            let Some(Ok(json)) = json else { return Err(fail(error.message.clone())) };
            let whole = Node::string("", self.place().location());
            let place = TextPlace { inside: Some(whole), ..self.place.clone() };
            let root =
                place.node(&load::file_of(self.place()), &Arc::new(Stream::parse(&json.to_string())), 0);
            return JsonPatch::decode(root.get_ref()).map(Some).map_err(fail);
        }
        if self.json && serde_json::from_str::<serde::de::IgnoredAny>(&self.stream.text).is_err() {
            let reason = "what begins with `[` is read as JSON: quote its keys and texts, or write it in \
                          lines with `- `";
            return Err(fail(reason.to_owned()));
        }
        let first = self.stream.documents.iter().position(|document| !document.tokens.is_empty());
        let Some(first) = first else { return Ok(None) };
        let root = self.place.node(&self.file, &self.stream, first as u32);
        JsonPatch::decode(root.get_ref()).map(Some).map_err(fail)
    }
}

fn via_of(entry: &Node, level: &BuildLevel) -> Vec<Via> {
    let mut via = Vec::new();
    if let Some(location) = entry.get_ref().location() {
        via.push(Via { kind: ViaKind::Patch, location });
    }
    via.extend(level.via.iter().cloned());
    via
}
