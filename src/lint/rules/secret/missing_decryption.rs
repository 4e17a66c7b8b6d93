//! `missing-decryption`: what SOPS has encrypted is applied by a Kustomization that doesn't
//! decrypt.
//! Source: kustomize-controller `internal/controller/kustomization_controller.go` (`apply`,
//! `IsEncryptedSecret`), `internal/decryptor/decryptor.go` (`DecryptResource`,
//! `IsDecryptionDisabled`, `DecryptSources`, which reads files of secretGenerator alone).

use super::{is_encrypted, sops};
use crate::lang::text::counted;
use crate::lang::yaml::NodeRef;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule, title};
use crate::model::Certainty;
use crate::world::{Applied, Effective};
use std::collections::BTreeMap;

pub(crate) static RULE: Rule = Rule {
    id: "missing-decryption",
    group: Group::Secret,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "encrypted objects of a Kustomization that does not decrypt",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/secret/missing-decryption.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let mut encrypted: BTreeMap<u32, Vec<&Effective>> = BTreeMap::new();
    for (member, object) in view.members() {
        let Some(by) = member.maker.kustomization() else { continue };
        let root = object.node.get_ref();
        if object.id.is("", "ConfigMap") {
            in_config_map(object, report);
        }
        if sops(root).is_some() && !is_left_encrypted(root) {
            encrypted.entry(by).or_default().push(object);
        }
    }
    for (by, objects) in encrypted {
        let applied = &view.cluster.applied[by as usize];
        let provider = applied.node.get_ref().at("/spec/decryption");
        if provider.is_none_or(NodeRef::is_null) {
            tell(view, applied, &objects, report);
        }
    }
}

fn is_left_encrypted(root: NodeRef<'_>) -> bool {
    let decrypt = root.str_at("/metadata/annotations/kustomize.toolkit.fluxcd.io~1decrypt");
    decrypt.is_some_and(|value| value.eq_ignore_ascii_case("disabled"))
}

fn tell(view: &ClusterView<'_>, applied: &Applied, objects: &[&Effective], report: &mut Reporter<'_>) {
    let node = applied.node.get_ref();
    // A root that only a configuration states has settings that are written nowhere here.
    let Some(location) = node.location_at("/metadata/name") else { return };
    let secret = objects.iter().find(|object| object.id.is("", "Secret"));
    let first = secret.or(objects.first()).copied();
    let Some(first) = first else { return };
    let more = match objects.len() {
        1 => String::new(),
        count => format!(" and {}", counted(count - 1, "more object")),
    };
    let what = format!("it has no `decryption`, and applies {}{more} under SOPS", first.id);
    let finding = report.report(location, title(&applied.id, &what));
    let is_sure = secret.is_some() && view.cluster.certainty != Certainty::Guessed;
    finding.level(if is_sure { Level::Error } else { Level::Warning });
    finding.why(match secret {
        Some(_) => {
            "kustomize-controller refuses an encrypted Secret without it: nothing of the Kustomization is \
             applied. Nor is the setting handed down by the Kustomization that applies this one"
        }
        None => {
            "the object is applied with its ciphertext, and the API server refuses or drops its field `sops`"
        }
    });
    finding.help(match example(view) {
        Some(secret) => format!(
            "set spec.decryption with provider `sops` and secretRef `{secret}`, as other Kustomizations here \
             do"
        ),
        None => "set spec.decryption with provider `sops`, and secretRef with the Secret of the keys".into(),
    });
    finding.object(&applied.id).object(&first.id).field("/spec/decryption", "");
    if let Some(place) = first.node.get_ref().location_at("/metadata/name") {
        finding.related(format!("{} is encrypted", first.id), place);
    }
}

/// The Secret that another Kustomization of the cluster takes its keys from.
fn example(view: &ClusterView<'_>) -> Option<String> {
    let names = view.cluster.applied.iter().filter_map(|applied| {
        applied.node.get_ref().str_at("/spec/decryption/secretRef/name").map(|name| name.into_owned())
    });
    names.min()
}

/// A ConfigMap is applied as it is, whatever its generator's files hold.
fn in_config_map(object: &Effective, report: &mut Reporter<'_>) {
    for entry in object.node.get_ref().entries_at("/data") {
        let Some(text) = entry.value.as_str() else { continue };
        // The object itself is under SOPS: it is decrypted as a whole.
        if is_encrypted(&text) || !is_encrypted_file(&text) {
            continue;
        }
        let Some(location) = entry.value.location().or_else(|| object.node.get_ref().location()) else {
            continue;
        };
        let what = format!("`data.{}` is a file that SOPS has encrypted", entry.key);
        let finding = report.report(location, title(&object.id, &what));
        finding.level(Level::Warning);
        finding.why(
            "kustomize-controller decrypts the files of a secretGenerator, and data of Secrets: this \
             ConfigMap holds the ciphertext",
        );
        finding.help("make a Secret of the file with a secretGenerator");
        finding.object(&object.id).field(format!("/data/{}", entry.key), "");
    }
}

/// By the marks that kustomize-controller looks for (`sopsFormatToMarkerBytes`).
fn is_encrypted_file(text: &str) -> bool {
    const MARKS: [&str; 3] = ["\"mac\": \"ENC[AES256_GCM", "sops_mac=ENC[AES256_GCM", " mac: ENC[AES256_GCM"];
    MARKS.iter().any(|mark| text.contains(mark))
}
