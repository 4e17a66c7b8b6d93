//! Large YAML texts that templates read, parsed once for all runs that share them: a chart
//! reads its own files in every render.

use super::sigs_yaml;
use crate::lang::yaml::Node;
use rustc_hash::FxHashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes below which a text is parsed as fast as it is found.
const SMALL: usize = 2 << 10;
/// Bytes of all texts that are kept; later ones are parsed each time.
const KEPT: usize = 8 << 20;

/// The first documents of texts.
#[derive(Default)]
pub struct Documents {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    bytes: usize,
    documents: FxHashMap<Arc<str>, Option<Node>>,
}

impl Documents {
    /// [`sigs_yaml::document`]
    pub(super) fn read(&self, text: &str) -> Result<Option<Node>, String> {
        if text.len() < SMALL {
            return sigs_yaml::document(text);
        }
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(document) = known().documents.get(text) {
            return Ok(document.clone());
        }
        let document = sigs_yaml::document(text)?;
        let mut known = known();
        let is_new = !known.documents.contains_key(text);
        if is_new && known.bytes + text.len() <= KEPT {
            known.bytes += text.len();
            known.documents.insert(text.into(), document.clone());
        }
        Ok(document)
    }
}

impl fmt::Debug for Documents {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Documents")
    }
}
