//! Text that is no YAML, or not what Go reads.

pub(crate) mod ambiguous_scalar;
pub(crate) mod duplicate_key;
pub(crate) mod empty_anchor;
pub(crate) mod malformed_embedded_text;
pub(crate) mod undecodable_file;
pub(crate) mod yaml_syntax;
