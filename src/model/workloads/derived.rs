//! Objects that controllers make of others, by the names that they give them.

use super::operators::{ACCOUNT, CLAIM, CONFIG_MAP, NameForm, Naming, SECRET, SERVICE, row_of};
use super::pods::pod_spec_pointer;
use crate::lang::yaml::NodeRef;
use crate::model::ObjectId;
use std::borrow::Cow;

/// An object that a controller makes of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Derived<'a> {
    /// Its kind; of the core group but for HorizontalPodAutoscalers and StatefulSets.
    pub kind: &'static str,
    /// Its namespace; `None` for any.
    pub namespace: Option<Cow<'a, str>>,
    /// Its name, or what its name begins with.
    pub name: String,
    /// What the name says.
    pub form: NameForm,
    /// The keys of its data, where all of them are known.
    pub keys: Option<Vec<Cow<'a, str>>>,
}

/// What controllers make of an object, as far as the names can be told.
pub(crate) fn derived<'a>(id: &'a ObjectId, node: NodeRef<'a>) -> Vec<Derived<'a>> {
    let mut found = Vec::new();
    if let Some(row) = row_of(id) {
        for naming in row.makes {
            named(id, node, naming, &mut found);
        }
    }
    let namespace = || id.namespace.as_deref().map(Cow::Borrowed);
    for name in issued_secrets(id, node) {
        // cert-manager keeps the Secret of a ClusterIssuer in its own namespace.
        let namespace = if &*id.kind == "ClusterIssuer" { None } else { namespace() };
        found.push(Derived { kind: SECRET, namespace, name, form: NameForm::Whole, keys: None });
    }
    let mut add = |kind, namespace: Option<Cow<'a, str>>, name: String| {
        found.push(Derived { kind, namespace, name, form: NameForm::Whole, keys: None });
    };
    match (id.group(), &*id.kind) {
        ("external-secrets.io", "ClusterExternalSecret") => {
            let name = node
                .str_at("/spec/externalSecretSpec/target/name")
                .or_else(|| node.str_at("/spec/externalSecretName"))
                .unwrap_or(Cow::Borrowed(&*id.name));
            add(SECRET, None, name.into_owned());
        }
        ("trust.cert-manager.io", "Bundle") => {
            add(CONFIG_MAP, None, id.name.to_string());
            add(SECRET, None, id.name.to_string());
        }
        ("apps", "StatefulSet") => {
            let claims = node.items_at("/spec/volumeClaimTemplates");
            found.extend(claims.filter_map(|claim| claim.str_at("/metadata/name")).map(|claim| Derived {
                kind: CLAIM,
                namespace: namespace(),
                name: format!("{claim}-{}", id.name),
                form: NameForm::Beginning,
                keys: None,
            }));
        }
        ("keda.sh", "ScaledObject") => {
            add("HorizontalPodAutoscaler", namespace(), format!("keda-hpa-{}", id.name));
        }
        ("monitoring.coreos.com", "Prometheus" | "PrometheusAgent") => {
            add(SERVICE, namespace(), "prometheus-operated".to_owned());
        }
        ("monitoring.coreos.com", "Alertmanager") => {
            add(SERVICE, namespace(), "alertmanager-operated".to_owned());
        }
        ("minio.min.io", "Tenant") => add(SERVICE, namespace(), "minio".to_owned()),
        ("", "Namespace") => {
            let of = || Some(Cow::Borrowed(&*id.name));
            add(ACCOUNT, of(), "default".to_owned());
            add(CONFIG_MAP, of(), "kube-root-ca.crt".to_owned());
        }
        ("", "Secret" | "ConfigMap") if is_copied(node) => {
            let kind = if &*id.kind == "Secret" { SECRET } else { CONFIG_MAP };
            add(kind, None, id.name.to_string());
        }
        _ => {}
    }
    connection_secret(id, node, &mut found);
    copies_of_made(node, &mut found);
    found
}

/// Names of the Secrets that cert-manager makes for an Ingress or a Gateway with its
/// annotations, and for a ClusterIssuer.
fn issued_secrets(id: &ObjectId, node: NodeRef<'_>) -> Vec<String> {
    match (id.group(), &*id.kind) {
        ("cert-manager.io", "ClusterIssuer") => {
            node.str_at("/spec/acme/privateKeySecretRef/name").map(Cow::into_owned).into_iter().collect()
        }
        ("networking.k8s.io", "Ingress") if is_issued(node) => {
            let names = node.items_at("/spec/tls").filter_map(|tls| tls.str_at("/secretName"));
            names.map(Cow::into_owned).collect()
        }
        ("gateway.networking.k8s.io", "Gateway") if is_issued(node) => {
            let references = node
                .items_at("/spec/listeners")
                .flat_map(|listener| listener.items_at("/tls/certificateRefs"));
            references.filter_map(|one| one.str_at("/name")).map(Cow::into_owned).collect()
        }
        _ => Vec::new(),
    }
}

fn named<'a>(id: &'a ObjectId, node: NodeRef<'a>, naming: &Naming, found: &mut Vec<Derived<'a>>) {
    let mut add = |text: &str| {
        found.push(Derived {
            kind: naming.kind,
            namespace: id.namespace.as_deref().map(Cow::Borrowed),
            name: format!("{}{text}{}", naming.before, naming.after),
            form: naming.form,
            keys: made_keys(id, node).and_then(MadeKeys::all),
        });
    };
    match naming.at.split_once("/*") {
        Some((list, after)) => {
            node.items_at(list).filter_map(|item| item.str_at(after)).for_each(|text| add(&text));
        }
        None => match node.str_at(naming.at).filter(|text| !naming.at.is_empty() && !text.is_empty()) {
            Some(text) => add(&text),
            None if naming.or_own => add(&id.name),
            None => {}
        },
    }
}

/// The keys of a Secret that an object makes.
pub(crate) struct MadeKeys<'a> {
    /// Those that are written, each with what says so.
    pub(crate) named: Vec<(Cow<'a, str>, NodeRef<'a>)>,
    /// Whether there are no others.
    is_complete: bool,
}

impl<'a> MadeKeys<'a> {
    fn all(self) -> Option<Vec<Cow<'a, str>>> {
        self.is_complete.then(|| self.named.into_iter().map(|(key, _)| key).collect())
    }
}

/// The keys of the Secret that an object stands for, as far as they are written.
pub(crate) fn made_keys<'a>(id: &ObjectId, node: NodeRef<'a>) -> Option<MadeKeys<'a>> {
    let keys = |pointer: &'static str| node.entries_at(pointer).map(|entry| (entry.key, entry.value));
    match (id.group(), &*id.kind) {
        ("bitnami.com", "SealedSecret") => Some(MadeKeys {
            named: keys("/spec/encryptedData").chain(keys("/spec/template/data")).collect(),
            is_complete: true,
        }),
        ("external-secrets.io", "ExternalSecret") => Some(fetched_keys(node)),
        _ => None,
    }
}

/// The keys of the Secret of an ExternalSecret. Mirrors `ApplyTemplate` of external-secrets
/// `pkg/controllers/externalsecret/externalsecret_controller_template.go`.
fn fetched_keys(node: NodeRef<'_>) -> MadeKeys<'_> {
    let template = |field: &str| node.at("/spec/target/template").and_then(|template| template.get(field));
    let written: Vec<_> = template("data")
        .into_iter()
        .flat_map(NodeRef::entries)
        .map(|entry| (entry.key, entry.value))
        .collect();
    let from_elsewhere = template("templateFrom").is_some_and(|from| from.items().next().is_some());
    // What a template writes replaces what was fetched, unless it is merged with it.
    let replaces = (!written.is_empty() || from_elsewhere)
        && template("mergePolicy").and_then(NodeRef::as_str).is_none_or(|policy| policy != "Merge");
    let fetched = node.items_at("/spec/data").filter_map(|item| {
        let key = item.get("secretKey")?;
        Some((key.as_str()?, key))
    });
    let fetches_more = node.items_at("/spec/dataFrom").next().is_some();
    let is_alone = node.str_at("/spec/target/creationPolicy").is_none_or(|policy| policy == "Owner");
    MadeKeys {
        named: fetched.filter(|_| !replaces).chain(written).collect(),
        is_complete: is_alone && !from_elsewhere && (replaces || !fetches_more),
    }
}

/// Whether cert-manager makes the certificates that an Ingress or Gateway names
/// (`pkg/controller/certificate-shim/helper.go`).
fn is_issued(node: NodeRef<'_>) -> bool {
    node.entries_at("/metadata/annotations").any(|entry| {
        matches!(
            &*entry.key,
            "cert-manager.io/issuer" | "cert-manager.io/cluster-issuer" | "kubernetes.io/tls-acme"
        ) || entry.key.starts_with("acme.cert-manager.io/")
    })
}

/// Whether a controller copies an object into other namespaces: emberstack's reflector,
/// mittwald's replicator, kubed.
fn is_copied(node: NodeRef<'_>) -> bool {
    is_copied_by(node.entries_at("/metadata/annotations"))
}

fn is_copied_by<'a>(mut annotations: impl Iterator<Item = crate::lang::yaml::EntryRef<'a>>) -> bool {
    annotations.any(|entry| {
        matches!(
            &*entry.key,
            "reflector.v1.k8s.emberstack.com/reflection-allowed"
                | "reflector.v1.k8s.emberstack.com/reflection-auto-enabled"
                | "replicator.v1.mittwald.de/replicate-to"
                | "replicator.v1.mittwald.de/replicate-to-matching"
                | "replicator.v1.mittwald.de/replication-allowed"
                | "kubed.appscode.com/sync"
        )
    })
}

/// Copies of the Secret that an operator makes with annotations of a template.
fn copies_of_made(node: NodeRef<'_>, found: &mut Vec<Derived<'_>>) {
    const TEMPLATES: [&str; 3] = [
        "/spec/secretTemplate/annotations",
        "/spec/target/template/metadata/annotations",
        "/spec/template/metadata/annotations",
    ];
    if !found.iter().any(|one| one.kind == SECRET) {
        return;
    }
    let is_copied = TEMPLATES.iter().any(|pointer| is_copied_by(node.entries_at(pointer)));
    if is_copied && pod_template_absent(node) {
        for one in found.iter_mut().filter(|one| one.kind == SECRET) {
            one.namespace = None;
        }
    }
}

/// A template with containers is one of Pods, whose annotations copy nothing.
fn pod_template_absent(node: NodeRef<'_>) -> bool {
    node.at("/spec/template/spec/containers").is_none()
}

/// `spec.writeConnectionSecretToRef` of Crossplane's managed resources and claims.
fn connection_secret<'a>(id: &'a ObjectId, node: NodeRef<'a>, found: &mut Vec<Derived<'a>>) {
    if pod_spec_pointer(id).is_some() {
        return;
    }
    let Some(reference) = node.at("/spec/writeConnectionSecretToRef") else { return };
    if let Some(name) = reference.str_at("/name") {
        let namespace = reference.str_at("/namespace").or(id.namespace.as_deref().map(Cow::Borrowed));
        found.push(Derived {
            kind: SECRET,
            namespace,
            name: name.into_owned(),
            form: NameForm::Whole,
            keys: None,
        });
    }
}
