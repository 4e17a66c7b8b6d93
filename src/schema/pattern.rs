//! Patterns of schemas.

use crate::lang::go::regexp::GoRegexp;

/// Whether a text matches a pattern; `None` where the pattern isn't understood. The table has
/// a few dozen, definitions have others.
pub(super) fn matches(pattern: &str, text: &str) -> Option<bool> {
    Some(GoRegexp::shared(pattern)?.is_match(text))
}
