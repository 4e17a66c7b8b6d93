//! What the API server accepts for a kind, by version: a built-in table, the
//! CustomResourceDefinitions of a cluster, catalogues that the configuration names.

mod catalogue;
mod cel;
mod crd;
pub mod explain;
mod export;
mod format;
pub mod table;
mod tree;
mod validate;

pub use catalogue::Catalogue;
pub use crd::{Defined, defined, json};
pub use export::json_schema;
pub use table::{Product, Release, TableKind};
pub use tree::{Additional, Child, Dialect, Schema, Text, Types, Written};
pub use validate::{
    Fault, Malformed, Options, Report, Violation, is_placeholder, type_name, validate, validate_update,
    validate_value,
};

/// A schema of the table by its number.
pub fn root(number: u16) -> &'static Schema {
    table::node(number)
}
