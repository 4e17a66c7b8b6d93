//! What a release is called and where it goes.
//!
//! Mirrors helm-controller `api/v2/helmrelease_types.go` (`GetReleaseName`,
//! `GetReleaseNamespace`) and `internal/release/name.go` (`ShortenName`).

use crate::lang::yaml::NodeRef;
use crate::model::ObjectId;
use sha2::{Digest, Sha256};

/// Characters that a release's name may have.
const NAME: usize = 53;

/// Characters that are kept of a longer one.
const KEPT: usize = 40;

/// The name of a release; `None` where it isn't known here.
pub(crate) fn name(id: &ObjectId, node: NodeRef<'_>) -> Option<String> {
    let full = match field(node, "/spec/releaseName")? {
        Some(name) => name,
        None => match field(node, "/spec/targetNamespace")? {
            Some(namespace) => format!("{namespace}-{}", id.name),
            None => id.name.to_string(),
        },
    };
    // A variable that nothing has filled in.
    (!full.contains("${")).then(|| shortened(&full))
}

/// The namespace that a release installs into; `None` where it isn't known here.
pub(crate) fn namespace(id: &ObjectId, node: NodeRef<'_>) -> Option<String> {
    let namespace = match field(node, "/spec/targetNamespace")? {
        Some(namespace) => namespace,
        None => id.namespace.as_deref().unwrap_or("default").to_owned(),
    };
    (!namespace.contains("${")).then_some(namespace)
}

/// A field that is known: its text, or that there is none.
fn field(node: NodeRef<'_>, pointer: &str) -> Option<Option<String>> {
    match node.at(pointer) {
        Some(found) if found.is_unknown() => None,
        Some(found) => Some(found.as_str().filter(|text| !text.is_empty()).map(Into::into)),
        None => Some(None),
    }
}

/// A name that Helm takes: of one that is too long the beginning, and a hash.
fn shortened(name: &str) -> String {
    if name.len() <= NAME {
        return name.to_owned();
    }
    let hash: String = Sha256::digest(name).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut end = KEPT;
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}-{}", &name[..end], &hash[..NAME - KEPT - 1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::yaml::parse_nodes;

    fn told(spec: &str) -> (Option<String>, Option<String>) {
        let text = format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: web, namespace: apps}}\nspec: {spec}\n"
        );
        let node = parse_nodes("r.yaml", &text).remove(0);
        let id = ObjectId::of(node.get_ref()).expect("an object");
        (name(&id, node.get_ref()), namespace(&id, node.get_ref()))
    }

    #[test]
    fn names_and_namespaces_are_those_of_helm_controller() {
        let some = |name: &str, namespace: &str| (Some(name.to_owned()), Some(namespace.to_owned()));
        assert_eq!(told("{}"), some("web", "apps"));
        assert_eq!(told("{targetNamespace: prod}"), some("prod-web", "prod"));
        assert_eq!(told("{releaseName: w, targetNamespace: prod}"), some("w", "prod"));
        assert_eq!(told("{targetNamespace: '${NS}'}"), (None, None));
        assert_eq!(told("{releaseName: '${NAME}-web'}"), (None, Some("apps".to_owned())));
        let long = "a".repeat(54);
        let (short, _) = told(&format!("{{releaseName: {long}}}"));
        let short = short.expect("known");
        assert_eq!((short.len(), &short[..41]), (53, format!("{}-", "a".repeat(40)).as_str()));
    }
}
