//! How a field of an object refers to another object.

/// How a field refers.
pub(super) struct WorkloadField {
    /// `*` stands for each item of a list.
    pub(super) pointer: &'static str,
    pub(super) target: Target,
    pub(super) name: Name,
    /// Where the keys of the target stand below the field.
    pub(super) keys: &'static [&'static str],
    /// Where the port stands below the field.
    pub(super) port: &'static [&'static str],
    /// What comes of a target that isn't there.
    pub(super) consequence: &'static str,
}

/// The kind of a target.
pub(super) enum Target {
    /// Always this.
    Kind(&'static str, &'static str),
    /// Fields `group`, `apiGroup` or `apiVersion`, and `kind`, with what they are by default.
    Stated(&'static str, &'static str),
}

/// Where the name stands.
pub(super) enum Name {
    /// In a field of this key.
    At(&'static str),
    /// The field is the name.
    Itself,
}

pub(super) const fn field(
    pointer: &'static str,
    target: Target,
    name: Name,
    consequence: &'static str,
) -> WorkloadField {
    WorkloadField { pointer, target, name, keys: &[], port: &[], consequence }
}

pub(super) const fn with_keys(keys: &'static [&'static str], field: WorkloadField) -> WorkloadField {
    WorkloadField { keys, ..field }
}

pub(super) const fn with_port(port: &'static [&'static str], field: WorkloadField) -> WorkloadField {
    WorkloadField { port, ..field }
}

pub(super) const CONFIG_MAP: Target = Target::Kind("", "ConfigMap");
pub(super) const SECRET: Target = Target::Kind("", "Secret");
pub(super) const SERVICE: Target = Target::Kind("", "Service");
pub(super) const NAME: Name = Name::At("name");
pub(super) const TLS: &str = "the controller serves its default certificate, or none";
pub(super) const ISSUER: &str = "the certificate is never issued";
pub(super) const STORE: &str = "the ExternalSecret reports SecretSyncedError, and its Secret is never made";
pub(super) const DATABASE: &str = "the operator waits for it and does not go on with the cluster";
pub(super) const BACKUP: &str = "the operator waits for it: nothing is backed up or restored";
pub(super) const BACKEND: &str = "requests to this route are answered with an error (503 or 500)";
pub(super) const STORAGE_CLASS: Target = Target::Kind("storage.k8s.io", "StorageClass");
pub(super) const SNAPSHOT_CLASS: Target = Target::Kind("snapshot.storage.k8s.io", "VolumeSnapshotClass");
