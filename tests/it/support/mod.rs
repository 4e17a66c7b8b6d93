//! What the tests share.

pub(crate) mod archive;
pub(crate) mod attack;
pub(crate) mod charts;
pub(crate) mod corpus;
pub(crate) mod editor;
pub(crate) mod fleet;
pub(crate) mod generated;
pub(crate) mod growing;
pub(crate) mod helm;
pub(crate) mod kustomize;
pub(crate) mod mutating;
pub(crate) mod random;
pub(crate) mod recordings;
pub(crate) mod scratch;
pub(crate) mod secrets;
pub(crate) mod sides;
pub(crate) mod skip;
