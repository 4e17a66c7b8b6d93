//! Languages, which know nothing of Kubernetes: Go's grammars, words for people, YAML.

pub(crate) mod go;
pub(crate) mod text;
pub(crate) mod yaml;
