//! Languages, which know nothing of Kubernetes: expressions of CEL, Go's grammars
//! and templates, words for people, YAML.

pub(crate) mod cel;
pub(crate) mod go;
pub(crate) mod template;
pub(crate) mod text;
pub(crate) mod yaml;
