//! What the API server accepts for a kind, by version: a built-in table, the
//! CustomResourceDefinitions of a cluster, catalogues that the configuration names.

mod catalogue;
mod cel;
mod crd;
pub(crate) mod descriptions;
pub(crate) mod explain;
mod export;
mod format;
mod pattern;
pub(crate) mod table;
mod tree;
mod validate;
mod violation;

pub(crate) use catalogue::Catalogue;
pub use crd::json;
pub(crate) use crd::{Defined, defined};
pub use export::json_schema;
pub(crate) use table::{Product, TableKind};
pub use tree::Schema;
pub(crate) use tree::schema_at;
pub(crate) use tree::{Additional, SchemaText, Types, WrittenSchema};
pub use validate::{Options, validate};
pub(crate) use validate::{validate_update, validate_value};
pub(crate) use violation::{Fault, Malformed, Report, Violation};
