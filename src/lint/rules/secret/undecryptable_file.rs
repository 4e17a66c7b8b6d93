//! `undecryptable-file`: what SOPS wrote into a file is cut off, or was changed without it.
//! Source: SOPS `aes/cipher.go` (`Decrypt`, `parse`), `sops.go` (`Tree.Decrypt`),
//! `stores/stores.go` (`Metadata.ToInternal`); kustomize-controller
//! `internal/decryptor/decryptor.go` (`SopsDecryptWithFormat`).

use super::selection::{Selection, leaves};
use super::{is_encrypted, is_example, sops};
use crate::lang::yaml::{Location, NodeRef};
use crate::lint::{Check, DocumentView, Finding, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::ObjectId;

pub(crate) static RULE: Rule = Rule {
    id: "undecryptable-file",
    group: Group::Secret,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "an encrypted file that SOPS can't decrypt",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/secret/undecryptable-file.md"),
    check: Check::Document(check),
};

fn check(view: &DocumentView<'_>, report: &mut Reporter<'_>) {
    if is_example(&view.file.path) {
        return;
    }
    for source in view.sources.iter().filter(|source| !source.document().tokens.is_empty()) {
        let node = source.root();
        let root = node.get_ref();
        if !root.is_map() {
            continue;
        }
        match sops(root) {
            Some(sops) => {
                metadata(root, sops, report);
                values(root, sops, report);
            }
            None if root.get("sops").is_none() => bare(root, report),
            None => {}
        }
    }
}

fn tell<'r>(
    root: NodeRef<'_>,
    place: Option<Location>,
    what: &str,
    why: &str,
    help: &str,
    report: &'r mut Reporter<'_>,
) -> Option<&'r mut Finding> {
    let place = place.or_else(|| root.location())?;
    let id = ObjectId::of(root);
    let subject = id.as_ref().map_or_else(|| place.file.to_string(), ToString::to_string);
    let finding = report.report(place, format!("{subject}: {what}"));
    finding.why(why).help(help);
    if let Some(id) = &id {
        finding.object(id);
    }
    Some(finding)
}

const FAILS: &str =
    "neither SOPS nor kustomize-controller can decrypt it: nothing of its Kustomization is applied";
const RESTORE: &str = "take the file from Git's history, or encrypt it again";

/// What of the metadata is missing or cut off.
fn metadata(root: NodeRef<'_>, sops: NodeRef<'_>, report: &mut Reporter<'_>) {
    let place = root.location_at("/sops/lastmodified").or_else(|| sops.location());
    if sops.get("lastmodified").and_then(NodeRef::text).is_none_or(|text| text.is_empty()) {
        tell(root, place.clone(), "`sops.lastmodified` is missing", FAILS, RESTORE, report);
    }
    if sops.get("mac").and_then(NodeRef::text).is_none_or(|text| text.is_empty()) {
        let why = "`sops` refuses to decrypt or edit it (no MAC)";
        // kustomize-controller doesn't look at it.
        if let Some(finding) = tell(root, place.clone(), "`sops.mac` is missing", why, RESTORE, report) {
            finding.level(Level::Warning);
        }
    }
    const KEYS: [&str; 8] = ["age", "pgp", "kms", "gcp_kms", "azure_kv", "hc_vault", "key_groups", "hckms"];
    let has_items = |key: &str| sops.get(key).is_some_and(|list| list.items().next().is_some());
    let has_other = sops.get("plugins").is_some();
    if !KEYS.iter().any(|key| has_items(key)) && !has_other {
        let what = "its `sops` holds no encrypted data key";
        tell(root, place, what, FAILS, RESTORE, report);
    }
    let groups = sops.get("key_groups").into_iter().flat_map(NodeRef::items);
    for group in std::iter::once(sops).chain(groups) {
        for (list, end) in [("age", "-----END AGE ENCRYPTED FILE-----"), ("pgp", "-----END PGP MESSAGE-----")]
        {
            for item in group.get(list).into_iter().flat_map(NodeRef::items) {
                let Some(enc) = item.get("enc") else { continue };
                let Some(text) = enc.text() else { continue };
                if text.trim_start().starts_with("-----BEGIN") && !text.contains(end) {
                    let what = format!("the data key under `sops.{list}` is cut off");
                    tell(root, enc.location(), &what, FAILS, RESTORE, report);
                }
            }
        }
    }
}

/// Values that are not as the metadata says.
fn values(root: NodeRef<'_>, sops: NodeRef<'_>, report: &mut Reporter<'_>) {
    let Some(selection) = Selection::of(sops) else { return };
    for (keys, value) in leaves(root) {
        let Some(text) = value.text().filter(|text| !text.is_empty()) else { continue };
        let field = keys.join(".");
        match (is_encrypted(&text), selection.encrypts(&keys)) {
            (true, true) if !is_whole(&text) => {
                tell(root, value.location(), &format!("`{field}` is cut off"), FAILS, RESTORE, report);
            }
            (false, true) => {
                let why = "the file was changed without SOPS, which fails at a value that it has not encrypted; \
                           so does kustomize-controller";
                let help = "put the value in with `sops edit`";
                tell(root, value.location(), &format!("`{field}` is not encrypted"), why, help, report);
            }
            (true, false) => {
                let why = "the file's `sops` says that it is in the open: it is applied as it is written";
                let help = "put the value in with `sops edit`";
                tell(root, value.location(), &format!("`{field}` stays encrypted"), why, help, report);
            }
            _ => {}
        }
    }
}

/// Whether an encrypted value has all its parts: SOPS wants
/// `ENC[AES256_GCM,data:…,iv:…,tag:…,type:…]`.
fn is_whole(text: &str) -> bool {
    let rest = text.strip_prefix("ENC[AES256_GCM,data:");
    let parts = rest.and_then(|rest| {
        let (data, rest) = rest.split_once(",iv:")?;
        let (iv, rest) = rest.split_once(",tag:")?;
        let (tag, rest) = rest.split_once(",type:")?;
        Some([data, iv, tag, rest.split_once(']')?.0])
    });
    parts.is_some_and(|parts| parts.iter().all(|part| !part.is_empty()))
}

/// A Secret with encrypted values and nothing that says for whom.
fn bare(root: NodeRef<'_>, report: &mut Reporter<'_>) {
    if ObjectId::of(root).is_none_or(|id| !id.is("", "Secret")) {
        return;
    }
    for field in ["/data", "/stringData"] {
        let encrypted =
            root.entries_at(field).find(|entry| entry.value.text().is_some_and(|text| is_encrypted(&text)));
        if let Some(entry) = encrypted {
            let why = "without it nothing decrypts the value: the ciphertext is applied, or refused";
            let what = format!("`{}.{}` is encrypted, and `sops` is missing", &field[1..], entry.key);
            tell(root, entry.value.location(), &what, why, RESTORE, report);
            return;
        }
    }
}
