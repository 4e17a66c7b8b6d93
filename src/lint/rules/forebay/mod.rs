//! Suppressions and configuration of forebay itself.

pub(crate) mod suppression_without_reason;
pub(crate) mod unknown_suppression;
pub(crate) mod unsupported_version;
pub(crate) mod unused_config_entry;
pub(crate) mod unused_suppression;
