//! Large YAML texts that templates read, parsed once for all runs that share them: a chart
//! reads its own files in every render.

use super::rope::Text;
use super::sigs_yaml;
use crate::lang::yaml::Node;
use rustc_hash::FxHashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes below which a text is parsed as fast as it is found.
const SMALL: usize = 2 << 10;
/// The first documents of texts.
#[derive(Default)]
pub struct Documents {
    /// Bytes of all texts that are kept; later ones are parsed each time.
    limit: usize,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    bytes: usize,
    documents: FxHashMap<Arc<str>, Option<Node>>,
}

impl Documents {
    /// Keeps no more than so many bytes of texts. By default none is kept: a template can
    /// make large texts of nothing.
    pub(crate) fn up_to(limit: usize) -> Documents {
        Documents { limit, known: Mutex::default() }
    }

    /// [`sigs_yaml::written_document`]
    pub(super) fn read(&self, text: &Text) -> Result<Option<Node>, String> {
        let text = text.shared_str();
        if text.len() < SMALL || text.len() > self.limit {
            return sigs_yaml::written_document(text);
        }
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(document) = known().documents.get(&text) {
            return Ok(document.clone());
        }
        let document = sigs_yaml::written_document(text.clone())?;
        let mut known = known();
        let is_new = !known.documents.contains_key(&text);
        if is_new && known.bytes + text.len() <= self.limit {
            known.bytes += text.len();
            known.documents.insert(text, document.clone());
        }
        Ok(document)
    }
}

impl fmt::Debug for Documents {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Documents")
    }
}
