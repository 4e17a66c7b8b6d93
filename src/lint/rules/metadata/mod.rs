//! Labels and annotations that Kubernetes or the build refuses.

pub mod malformed_label_value;
pub mod malformed_metadata_key;
pub mod non_string_metadata_value;
