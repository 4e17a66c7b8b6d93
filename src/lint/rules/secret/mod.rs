//! Encrypted and sealed Secrets. Nothing is decrypted: what is told shows without keys.

mod creation_rules;
pub(crate) mod failing_secret_template;
pub(crate) mod missing_decryption;
pub(crate) mod plaintext_secret;
mod public;
pub(crate) mod sealed_secret_scope;
mod selection;
pub(crate) mod sops_recipients_differ;
pub(crate) mod undecryptable_file;

use crate::lang::yaml::NodeRef;

/// What SOPS writes beside the values of a file that it encrypts.
fn sops(root: NodeRef<'_>) -> Option<NodeRef<'_>> {
    let sops = root.get("sops").filter(|sops| sops.is_map())?;
    let is_metadata = ["mac", "lastmodified", "version", "age", "pgp", "kms"];
    is_metadata.iter().any(|key| sops.get(key).is_some()).then_some(sops)
}

/// Whether a value is one that SOPS has encrypted.
fn is_encrypted(text: &str) -> bool {
    text.starts_with("ENC[AES256_GCM,")
}

/// Whether a text is filled in later, so that what is written is no secret: a variable, or
/// an action of a template.
fn is_filled_in(text: &str) -> bool {
    let text = text.trim();
    ["${", "{{", "<<", "$(", "<path:", "<"].iter().any(|start| text.starts_with(start)) || text.contains("${")
}

/// Whether a path shows how something is done: nothing there is secret.
fn is_example(path: &str) -> bool {
    const WORDS: [&str; 16] = [
        "example",
        "examples",
        "sample",
        "samples",
        "template",
        "templates",
        "tmpl",
        "tpl",
        "test",
        "tests",
        "testdata",
        "docs",
        "demo",
        "dummy",
        "fixtures",
        "e2e",
    ];
    path.to_ascii_lowercase().split(['/', '.', '-', '_']).any(|word| WORDS.contains(&word))
}
