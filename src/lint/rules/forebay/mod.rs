//! Suppressions and configuration of forebay itself.

pub mod suppression_without_reason;
pub mod unknown_suppression;
pub mod unsupported_version;
pub mod unused_config_entry;
pub mod unused_suppression;
