//! Text that is no YAML, or not what Go reads.

pub mod ambiguous_scalar;
pub mod duplicate_key;
pub mod undecodable_file;
pub mod yaml_syntax;
