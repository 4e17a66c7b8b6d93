//! Secrets that are documents, or parts of one.

use super::{Region, is_secret, telling_words, textual};
use crate::lang::yaml::tape::{Document, TokenKind};
use crate::lang::yaml::{NodeRef, ScalarStyle, Source};
use std::ops::Range;
use std::sync::Arc;

/// Adds the Secrets of a document. `extent` reaches from the document before to the one
/// after: comments between belong to it.
pub(super) fn regions(source: &Arc<Source>, extent: Range<u32>, regions: &mut Vec<Region>) {
    let document = source.document();
    let before = regions.len();
    let telling = telling_words(&source.stream.text, document.start..document.end);
    let mut telling = telling.as_slice();
    let mut at = 0;
    while let Some(token) = document.tokens.get(at as usize) {
        let mut next = at + 1;
        match token.kind {
            TokenKind::Mapping if holds_secret(source, at) => {
                let range = if at == 0 { extent.clone() } else { token.start..token.end };
                let mut region = Region::of(range);
                SecretWalk { source, region: &mut region, depth: 0 }.secret(at);
                regions.push(region);
                next = token.next;
            }
            TokenKind::Scalar(style) => {
                // Tokens are in order.
                let passed = telling.iter().take_while(|word| word.start < token.start).count();
                telling = &telling[passed..];
                if telling.first().is_some_and(|word| word.end <= token.end) {
                    regions.extend(embedded(source, at, style));
                }
            }
            _ => {}
        }
        at = next;
    }
    if regions.len() > before {
        let mut comments = Region::of(extent.clone());
        let all = source.stream.documents.iter().flat_map(|document| &document.comments);
        let inside = all.filter(|comment| extent.start <= comment.start && comment.end <= extent.end);
        // They are shown beside values only: no message quotes them.
        comments.hidden.extend(inside.map(|comment| comment.start..comment.end));
        regions.push(comments);
    }
}

/// Whether a map is a Secret: a document, or a part of one that is more than a reference.
fn holds_secret(source: &Arc<Source>, token: u32) -> bool {
    let node = NodeRef::Source(source, token);
    // A kind that is yet to be put in may become this one.
    let names =
        |text: &str| is_secret(text) || text.contains("${") && text.to_ascii_lowercase().contains("secret");
    let kind = node.any_of("kind", |value| value.text().is_some_and(|text| names(&text)));
    let has = |key: &str| matches!(&*key.to_ascii_lowercase(), "metadata" | "data" | "stringdata" | "items");
    kind && (token == 0 || node.entries().any(|entry| has(&entry.key)))
}

/// What of a Secret is hidden.
struct SecretWalk<'a> {
    source: &'a Arc<Source>,
    region: &'a mut Region,
    /// Aliases that are followed.
    depth: u32,
}

/// Fields of `metadata` whose words stand in many objects that have nothing to hide.
/// Source: apimachinery `pkg/apis/meta/v1/types.go` (`ObjectMeta`).
const META: [&str; 13] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The annotation of a token that names the ServiceAccount it is for: a name as others are.
/// Source: kubernetes `pkg/apis/core/types.go` (`ServiceAccountNameKey`).
const SERVICE_ACCOUNT: &str = "kubernetes.io/service-account.name";

/// Aliases within aliases that are followed: the reader has refused what expands to more
/// than it should.
const ALIASES: u32 = 8;

impl SecretWalk<'_> {
    fn document(&self) -> &Document {
        self.source.document()
    }

    /// The keys and values of a map, as they are written.
    fn pairs(&self, map: u32) -> Vec<(u32, u32)> {
        let tokens = &self.document().tokens;
        let end = tokens[map as usize].next;
        let mut pairs = Vec::new();
        let mut at = map + 1;
        while at < end {
            let value = tokens[at as usize].next;
            let Some(token) = tokens.get(value as usize) else { break };
            pairs.push((at, value));
            at = token.next;
        }
        pairs
    }

    fn is_map(&self, token: u32) -> bool {
        self.document().tokens[token as usize].kind == TokenKind::Mapping
    }

    fn is_scalar(&self, token: u32) -> bool {
        matches!(self.document().tokens[token as usize].kind, TokenKind::Scalar(_))
    }

    fn key(&self, token: u32) -> String {
        NodeRef::Source(self.source, token).text().unwrap_or_default().into_owned()
    }

    /// A Secret, or a list of them.
    fn secret(&mut self, map: u32) {
        for (key, value) in self.pairs(map) {
            match &*self.key(key) {
                "apiVersion" | "kind" | "type" if self.is_scalar(value) => {}
                // What SOPS notes stands in other files too.
                "sops" => self.named(key, value, false),
                "metadata" if self.is_map(value) => self.metadata(value),
                "items" => {
                    let document = self.document();
                    let (start, end) = (value + 1, document.tokens[value as usize].next);
                    let mut at = start;
                    while at < end {
                        let next = self.document().tokens[at as usize].next;
                        if self.is_map(at) {
                            self.secret(at)
                        } else {
                            self.all(at, true)
                        }
                        at = next;
                    }
                }
                _ => self.named(key, value, true),
            }
        }
    }

    fn metadata(&mut self, map: u32) {
        for (key, value) in self.pairs(map) {
            match &*self.key(key) {
                "name" | "namespace" if self.is_scalar(value) => {
                    let name = self.key(value);
                    self.region.names.push(name.into());
                }
                // What stands below another name may be data in the wrong place.
                name => self.named(key, value, !META.contains(&name)),
            }
        }
    }

    /// A field whose name is shown, and the names right below it.
    fn named(&mut self, key: u32, value: u32, everywhere: bool) {
        if !self.is_scalar(key) {
            self.all(key, everywhere);
        }
        if !self.is_map(value) {
            return self.all(value, everywhere);
        }
        for (key, value) in self.pairs(value) {
            let name = self.key(key);
            // kubectl notes there what it applied: all values once more.
            let applied = name == "kubectl.kubernetes.io/last-applied-configuration";
            if name == SERVICE_ACCOUNT && self.is_scalar(value) {
                let account = self.key(value);
                self.region.names.push(account.into());
            }
            if !self.is_scalar(key) {
                self.all(key, everywhere);
            }
            self.all(value, everywhere || applied);
        }
    }

    /// All scalars below a token, keys too.
    fn all(&mut self, token: u32, everywhere: bool) {
        let end = self.document().tokens[token as usize].next;
        for at in token..end {
            let token = self.document().tokens[at as usize];
            match token.kind {
                TokenKind::Scalar(_) if !token.empty => {
                    let text = self.key(at);
                    self.region.hide(token.start..token.end, &text, everywhere);
                    inner(&text, self.region, everywhere);
                }
                TokenKind::Alias if self.depth < ALIASES => {
                    self.region.hidden.push(token.start..token.end);
                    self.depth += 1;
                    self.all(token.extra, everywhere);
                    self.depth -= 1;
                }
                _ => {}
            }
        }
    }
}

/// Lines of a value: each of a certificate or a configuration is as secret as all.
fn inner(text: &str, region: &mut Region, everywhere: bool) {
    if text.contains('\n') {
        for line in text.lines().map(str::trim).filter(|line| line.len() >= 16) {
            region.words.push(super::HiddenValue { text: line.into(), everywhere });
        }
    }
    if text.trim_start().starts_with('{') {
        // kubectl's note is JSON.
        let note = serde_json::from_str::<serde_json::Value>(text).unwrap_or_default();
        for field in ["data", "stringData"] {
            let values = note[field].as_object().into_iter().flatten();
            values.filter_map(|(_, value)| value.as_str()).for_each(|value| region.add(value, everywhere));
        }
    }
}

/// Manifests within a text: of a ConfigMap, a template, a patch, a chart's values.
fn embedded(source: &Arc<Source>, at: u32, style: ScalarStyle) -> Vec<Region> {
    let token = source.document().tokens[at as usize];
    let written = source.stream.text.get(token.start as usize..token.end as usize).unwrap_or_default();
    if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
        return textual::regions(written, token.start);
    }
    let text = NodeRef::Source(source, at).text().unwrap_or_default();
    if !textual::names_secret(&text) {
        return Vec::new();
    }
    let mut region = Region::of(token.start..token.end);
    region.hide(token.start..token.end, &text, true);
    for inner in textual::regions(&text, 0) {
        region.words.extend(inner.words);
    }
    vec![region]
}
