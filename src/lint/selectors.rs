//! Which label and annotation keys something in the repository looks for.

use crate::files::Snapshot;
use crate::lang::yaml::tape::TokenKind;
use crate::lang::yaml::{NodeRef, Source};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Keys of selectors, and keys of controllers' domains that a text names.
#[derive(Default)]
pub(super) struct Selectors {
    keys: FxHashSet<String>,
}

impl Selectors {
    /// Read all manifests, templates included.
    pub(super) fn collect(snapshot: &Snapshot) -> Selectors {
        let mut found = Selectors::default();
        for file in snapshot.files().iter().filter(|file| file.is_manifest) {
            for source in snapshot.sources(file) {
                found.collect_document(source);
            }
        }
        found
    }

    /// Whether a selector has the key, or a text names it.
    pub(super) fn name(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    fn collect_document(&mut self, source: &Arc<Source>) {
        for (at, token) in source.document().tokens.iter().enumerate() {
            let node = NodeRef::Source(source, at as u32);
            match token.kind {
                TokenKind::Mapping => {
                    for entry in node.entries() {
                        let key = &*entry.key;
                        if key == "matchLabels" || key.ends_with("elector") {
                            self.keys.extend(entry.value.entries().map(|label| label.key.into_owned()));
                        }
                        self.collect_text(entry.value);
                    }
                }
                TokenKind::Sequence => node.items().for_each(|item| self.collect_text(item)),
                TokenKind::Scalar(_) | TokenKind::Alias => {}
            }
        }
    }

    /// `labelSelector: a=b`, the `key` of a match expression, an argument, a query
    /// (a JSON path escapes the dots).
    fn collect_text(&mut self, value: NodeRef<'_>) {
        let Some(text) = value.text().filter(|text| text.contains("flux") || text.contains("x-k8s")) else {
            return;
        };
        let text = text.replace('\\', "");
        let of_a_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '-' | '_');
        let words = text.split(|c: char| !of_a_key(c)).map(|word| word.trim_matches(['.', '-', '/']));
        self.keys.extend(words.filter(|word| word.contains('.')).map(str::to_owned));
    }
}
