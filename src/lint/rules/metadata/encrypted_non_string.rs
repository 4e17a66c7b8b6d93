//! `encrypted-non-string`: a value under SOPS that decrypts to a number or a boolean,
//! where Kubernetes takes only strings.
//! Source: SOPS `aes/cipher.go`: the type after `type:` is that of the plain value;
//! kustomize-controller decrypts each object before it is applied.

use crate::lang::yaml::NodeRef;
use crate::lint::{Check, DocumentView, FixAvailability, Group, Level, Reporter, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "encrypted-non-string",
    group: Group::Metadata,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "an encrypted number or boolean where only a string is taken",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/metadata/encrypted-non-string.md"),
    check: Check::Document(check),
};

fn check(view: &DocumentView<'_>, report: &mut Reporter<'_>) {
    for source in view.sources.iter().filter(|source| !source.document().tokens.is_empty()) {
        let node = source.root();
        let root = node.get_ref();
        if root.at("/sops").is_none() || root.str_at("/apiVersion").is_none_or(|version| version != "v1") {
            continue;
        }
        let kind = root.str_at("/kind").unwrap_or_default().into_owned();
        if !matches!(&*kind, "ConfigMap" | "Secret") {
            continue;
        }
        let namespace = root.str_at("/metadata/namespace").map(|name| format!("{name}/")).unwrap_or_default();
        let name = root.str_at("/metadata/name").unwrap_or_default();
        for field in ["data", "stringData"] {
            for entry in root.entries_at(&format!("/{field}")) {
                let Some((of, place)) = decrypted_type(entry.value).zip(entry.value.location()) else {
                    continue;
                };
                report
                    .report(
                        place,
                        format!("{kind} {namespace}{name}: `{field}.{}` decrypts to {of}", entry.key),
                    )
                    .why(format!(
                        "values of {field} are strings: the API server refuses the {kind}, and its whole \
                         Kustomization is not applied"
                    ))
                    .help("put the value in quotes with `sops edit`, so that it is encrypted as a string")
                    .field(format!("/{field}/{}", entry.key), of);
            }
        }
    }
}

/// What an encrypted value is, where it is no string: `ENC[…,type:int]`.
fn decrypted_type(value: NodeRef<'_>) -> Option<&'static str> {
    let text = value.as_str()?;
    let (_, of) = text.trim().strip_prefix("ENC[")?.strip_suffix(']')?.rsplit_once("type:")?;
    match of {
        "int" => Some("an integer"),
        "float" => Some("a number"),
        "bool" => Some("a boolean"),
        _ => None,
    }
}
