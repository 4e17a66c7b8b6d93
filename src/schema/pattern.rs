//! Patterns of schemas, compiled once.

use crate::lang::go::regexp::GoRegexp;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, OnceLock};

/// Compiled patterns that are kept; each may take some MiB.
const PATTERNS_KEPT: usize = 256;

/// Whether a text matches a pattern; `None` where the pattern isn't understood.
/// Compiled patterns are kept: the table has a few dozen, definitions have others.
pub(super) fn matches(pattern: &str, text: &str) -> Option<bool> {
    type Known = Mutex<FxHashMap<String, Option<Arc<GoRegexp>>>>;
    static KNOWN: OnceLock<Known> = OnceLock::new();
    let mut known = KNOWN.get_or_init(Known::default).lock().ok()?;
    let regexp = match known.get(pattern) {
        Some(regexp) => regexp.clone(),
        None => {
            let regexp = GoRegexp::new(pattern).ok().map(Arc::new);
            if known.len() >= PATTERNS_KEPT {
                known.clear();
            }
            known.insert(pattern.to_owned(), regexp.clone());
            regexp
        }
    };
    drop(known);
    Some(regexp?.is_match(text))
}
