//! Labels and annotations that Kubernetes or the build refuses.

pub(crate) mod encrypted_non_string;
pub(crate) mod malformed_label_value;
pub(crate) mod malformed_metadata_key;
pub(crate) mod non_string_metadata_value;
