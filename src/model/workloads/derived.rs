//! Objects that controllers make of others, by the names that they give them; and what
//! else a kind may make under names that can't be told.
//!
//! Each row names its source. A kind of a group that stands in no row may make anything
//! in its namespace.

use super::pods::pod_spec_pointer;
use crate::lang::yaml::NodeRef;
use crate::model::ObjectId;
use crate::model::kinds;
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
    pub form: Form,
    /// The keys of its data, where all of them are known.
    pub keys: Option<Vec<Cow<'a, str>>>,
}

/// What is known of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// All of it.
    Whole,
    /// It goes on with `-` and anything.
    Beginning,
}

/// What a kind may make under names that can't be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unseen {
    /// Nothing.
    Nothing,
    /// Objects of these kinds.
    Kinds(&'static [&'static str]),
    /// Objects of any kind that is not Flux's.
    Anything,
}

/// How a name is made.
struct Naming {
    kind: &'static str,
    /// JSON Pointer of the text that the name is made of, `*` for each item of a list;
    /// empty for the name of the object.
    at: &'static str,
    /// Whether the object's own name stands where that text is absent.
    or_own: bool,
    before: &'static str,
    after: &'static str,
    form: Form,
}

const fn own(kind: &'static str, before: &'static str, after: &'static str) -> Naming {
    Naming { kind, at: "", or_own: true, before, after, form: Form::Whole }
}

const fn at(kind: &'static str, at: &'static str) -> Naming {
    Naming { kind, at, or_own: false, before: "", after: "", form: Form::Whole }
}

const fn at_or_own(kind: &'static str, at: &'static str) -> Naming {
    Naming { or_own: true, ..self::at(kind, at) }
}

const fn beginning(kind: &'static str, before: &'static str, after: &'static str) -> Naming {
    Naming { form: Form::Beginning, ..own(kind, before, after) }
}

/// A kind of an operator.
struct Row {
    group: &'static str,
    /// `*` for each kind of the group that has no row above.
    kind: &'static str,
    makes: &'static [Naming],
    /// Kinds that it makes under further names.
    unseen: Unseen,
}

const fn row(group: &'static str, kind: &'static str, makes: &'static [Naming]) -> Row {
    Row { group, kind, makes, unseen: Unseen::Nothing }
}

const fn opening(group: &'static str, kind: &'static str, makes: &'static [Naming], unseen: Unseen) -> Row {
    Row { group, kind, makes, unseen }
}

const SECRET: &str = "Secret";
const CONFIG_MAP: &str = "ConfigMap";
const SERVICE: &str = "Service";
const ACCOUNT: &str = "ServiceAccount";
const CLAIM: &str = "PersistentVolumeClaim";

/// What databases and queues make beside what is named.
const PARTS: Unseen =
    Unseen::Kinds(&[CLAIM, CONFIG_MAP, SECRET, SERVICE, ACCOUNT, "Deployment", "StatefulSet"]);

static ROWS: &[Row] = &[
    // acid.zalan.do: postgres-operator `pkg/cluster/util.go`, `k8sres.go`.
    opening(
        "acid.zalan.do",
        "postgresql",
        &[
            own(SERVICE, "", ""),
            own(SERVICE, "", "-repl"),
            own(SERVICE, "", "-config"),
            own(SERVICE, "", "-pooler"),
            own(SERVICE, "", "-pooler-repl"),
        ],
        Unseen::Kinds(&[SECRET, CLAIM]),
    ),
    row("acid.zalan.do", "*", &[]),
    // argoproj.io Rollouts and Applications: what they make is elsewhere.
    opening("argoproj.io", "*", &[], Unseen::Anything),
    // bitnami.com: sealed-secrets `pkg/controller/controller.go`.
    row("bitnami.com", "SealedSecret", &[own(SECRET, "", "")]),
    // ceph.rook.io: rook `pkg/operator/ceph/object/objectstore.go`, `user/controller.go`.
    opening(
        "ceph.rook.io",
        "CephCluster",
        &[],
        Unseen::Kinds(&[SECRET, CONFIG_MAP, SERVICE, ACCOUNT, "Deployment"]),
    ),
    row("ceph.rook.io", "CephObjectStore", &[own(SERVICE, "rook-ceph-rgw-", "")]),
    opening("ceph.rook.io", "CephObjectStoreUser", &[], Unseen::Kinds(&[SECRET])),
    opening("ceph.rook.io", "*", &[], Unseen::Kinds(&["Deployment"])),
    // cert-manager.io: `pkg/controller/certificates/issuing`, `pkg/controller/acmeissuers`.
    row("cert-manager.io", "Certificate", &[at(SECRET, "/spec/secretName")]),
    row("cert-manager.io", "Issuer", &[at(SECRET, "/spec/acme/privateKeySecretRef/name")]),
    row("cert-manager.io", "*", &[]),
    row("cilium.io", "*", &[]),
    // cluster.x-k8s.io: cluster-api `util/secret/consts.go`.
    row(
        "cluster.x-k8s.io",
        "Cluster",
        &[
            own(SECRET, "", "-kubeconfig"),
            own(SECRET, "", "-ca"),
            own(SECRET, "", "-etcd"),
            own(SECRET, "", "-sa"),
            own(SECRET, "", "-proxy"),
        ],
    ),
    row("cluster.x-k8s.io", "*", &[]),
    // databases.spotahome.com: redis-operator `operator/redisfailover/service/names.go`.
    row(
        "databases.spotahome.com",
        "RedisFailover",
        &[
            own(SERVICE, "rfs-", ""),
            own(SERVICE, "rfr-", ""),
            own(SERVICE, "rfrm-", ""),
            own(SERVICE, "rfrs-", ""),
        ],
    ),
    // dragonflydb.io: dragonfly-operator `internal/resources/resources.go`.
    row("dragonflydb.io", "Dragonfly", &[own(SERVICE, "", ""), beginning(CLAIM, "df-", "")]),
    // elasticsearch.k8s.elastic.co: cloud-on-k8s `pkg/controller/elasticsearch/services`.
    opening(
        "elasticsearch.k8s.elastic.co",
        "Elasticsearch",
        &[
            own(SERVICE, "", "-es-http"),
            own(SERVICE, "", "-es-transport"),
            own(SERVICE, "", "-es-internal-http"),
            own(SECRET, "", "-es-elastic-user"),
            own(SECRET, "", "-es-http-certs-public"),
            own(SECRET, "", "-es-http-certs-internal"),
            beginning(SERVICE, "", "-es"),
            beginning(SECRET, "", "-es"),
        ],
        Unseen::Kinds(&[CLAIM]),
    ),
    row("kibana.k8s.elastic.co", "Kibana", &[beginning(SERVICE, "", "-kb"), beginning(SECRET, "", "-kb")]),
    // external-secrets.io: `pkg/controllers/externalsecret`.
    row("external-secrets.io", "ExternalSecret", &[at_or_own(SECRET, "/spec/target/name")]),
    row("external-secrets.io", "*", &[]),
    row("generators.external-secrets.io", "*", &[]),
    row("externaldns.k8s.io", "*", &[]),
    // gateway.networking.k8s.io: GEP-1762 (`<gateway>-<class>`), and what Cilium and Envoy
    // Gateway name otherwise.
    opening(
        "gateway.networking.k8s.io",
        "Gateway",
        &[own(SERVICE, "cilium-gateway-", "")],
        Unseen::Kinds(&[SERVICE, ACCOUNT, CONFIG_MAP, "Deployment"]),
    ),
    row("gateway.networking.k8s.io", "*", &[]),
    row("gateway.envoyproxy.io", "*", &[]),
    // grafana.integreatly.org: grafana-operator `controllers/model`.
    row(
        "grafana.integreatly.org",
        "Grafana",
        &[
            own(SERVICE, "", "-service"),
            own(SERVICE, "", "-alerting"),
            own(SECRET, "", "-admin-credentials"),
            own(ACCOUNT, "", "-sa"),
            own(CLAIM, "", "-pvc"),
            own(CONFIG_MAP, "", "-ini"),
            own(CONFIG_MAP, "", "-plugins"),
        ],
    ),
    row("grafana.integreatly.org", "*", &[]),
    row("infra.contrib.fluxcd.io", "*", &[]),
    // k8s.mariadb.com: mariadb-operator `api/v1alpha1/mariadb_keys.go`.
    opening(
        "k8s.mariadb.com",
        "MariaDB",
        &[
            own(SERVICE, "", ""),
            own(SERVICE, "", "-primary"),
            own(SERVICE, "", "-secondary"),
            own(SERVICE, "", "-internal"),
            own(SECRET, "", "-root"),
            own(SECRET, "", "-password"),
            own(ACCOUNT, "", ""),
        ],
        Unseen::Kinds(&[SECRET, CONFIG_MAP, CLAIM]),
    ),
    opening("k8s.mariadb.com", "*", &[], Unseen::Kinds(&[SECRET, SERVICE])),
    // kafka.strimzi.io: strimzi-kafka-operator `operator/cluster/model/KafkaResources`.
    opening(
        "kafka.strimzi.io",
        "Kafka",
        &[
            own(SERVICE, "", "-kafka-bootstrap"),
            own(SERVICE, "", "-kafka-brokers"),
            own(SECRET, "", "-cluster-ca-cert"),
            own(SECRET, "", "-clients-ca-cert"),
            beginning(SERVICE, "", "-kafka"),
        ],
        PARTS,
    ),
    row("kafka.strimzi.io", "KafkaUser", &[own(SECRET, "", "")]),
    row("kafka.strimzi.io", "KafkaTopic", &[]),
    opening("kafka.strimzi.io", "*", &[], PARTS),
    // keda.sh: `pkg/scaling/resolver`.
    row("keda.sh", "*", &[]),
    opening("kyverno.io", "ClusterPolicy", &[], Unseen::Nothing),
    row("kyverno.io", "*", &[]),
    row("k8s.cni.cncf.io", "*", &[]),
    row("metallb.io", "*", &[]),
    // minio.min.io: operator `pkg/apis/minio.min.io/v2/names.go`.
    opening("minio.min.io", "Tenant", &[own(SERVICE, "", "-hl"), own(SERVICE, "", "-console")], PARTS),
    // monitoring.coreos.com: prometheus-operator `pkg/prometheus/server`, `pkg/alertmanager`.
    opening(
        "monitoring.coreos.com",
        "Prometheus",
        &[beginning(CONFIG_MAP, "prometheus-", ""), beginning(SECRET, "prometheus-", "")],
        Unseen::Kinds(&[SERVICE, "StatefulSet", CLAIM]),
    ),
    opening(
        "monitoring.coreos.com",
        "Alertmanager",
        &[beginning(SECRET, "alertmanager-", "")],
        Unseen::Kinds(&[SERVICE, "StatefulSet", CLAIM]),
    ),
    opening(
        "monitoring.coreos.com",
        "ThanosRuler",
        &[],
        Unseen::Kinds(&[SERVICE, "StatefulSet", CONFIG_MAP]),
    ),
    opening(
        "monitoring.coreos.com",
        "PrometheusAgent",
        &[],
        Unseen::Kinds(&[SERVICE, "StatefulSet", SECRET]),
    ),
    row("monitoring.coreos.com", "*", &[]),
    // objectbucket.io: lib-bucket-provisioner `pkg/provisioner/resourcehandlers.go`.
    row("objectbucket.io", "ObjectBucketClaim", &[own(SECRET, "", ""), own(CONFIG_MAP, "", "")]),
    // onepassword.com: onepassword-operator `internal/controller/onepassworditem_controller.go`.
    row("onepassword.com", "OnePasswordItem", &[own(SECRET, "", "")]),
    // operator.victoriametrics.com: operator `api/operator/v1beta1` (`PrefixedName`).
    opening(
        "operator.victoriametrics.com",
        "VMSingle",
        &[own(SERVICE, "vmsingle-", "")],
        Unseen::Kinds(&[CLAIM]),
    ),
    opening(
        "operator.victoriametrics.com",
        "VMCluster",
        &[own(SERVICE, "vmselect-", ""), own(SERVICE, "vminsert-", ""), own(SERVICE, "vmstorage-", "")],
        Unseen::Kinds(&[CLAIM]),
    ),
    row("operator.victoriametrics.com", "VMAgent", &[own(SERVICE, "vmagent-", "")]),
    row("operator.victoriametrics.com", "VMAlert", &[own(SERVICE, "vmalert-", "")]),
    row("operator.victoriametrics.com", "VMAlertmanager", &[own(SERVICE, "vmalertmanager-", "")]),
    opening("operator.victoriametrics.com", "VMAuth", &[own(SERVICE, "vmauth-", "")], Unseen::Nothing),
    opening("operator.victoriametrics.com", "*", &[], Unseen::Kinds(&[SECRET])),
    // postgres-operator.crunchydata.com: `internal/naming/names.go`.
    opening(
        "postgres-operator.crunchydata.com",
        "PostgresCluster",
        &[
            own(SERVICE, "", "-primary"),
            own(SERVICE, "", "-replicas"),
            own(SERVICE, "", "-ha"),
            own(SERVICE, "", "-pods"),
            own(SERVICE, "", "-pgbouncer"),
            beginning(SECRET, "", "-pguser"),
            own(SECRET, "", "-cluster-cert"),
            beginning(SECRET, "", ""),
        ],
        Unseen::Kinds(&[CLAIM, CONFIG_MAP, ACCOUNT]),
    ),
    // postgresql.cnpg.io: cloudnative-pg `api/v1/cluster_funcs.go`.
    row(
        "postgresql.cnpg.io",
        "Cluster",
        &[
            own(SERVICE, "", "-rw"),
            own(SERVICE, "", "-ro"),
            own(SERVICE, "", "-r"),
            own(SERVICE, "", "-any"),
            own(SECRET, "", "-app"),
            own(SECRET, "", "-superuser"),
            own(SECRET, "", "-ca"),
            own(SECRET, "", "-server"),
            own(SECRET, "", "-replication"),
            own(ACCOUNT, "", ""),
            beginning(CLAIM, "", ""),
            at(SERVICE, "/spec/managed/services/additional/*/serviceTemplate/metadata/name"),
        ],
    ),
    row("postgresql.cnpg.io", "Pooler", &[own(SERVICE, "", "")]),
    row("postgresql.cnpg.io", "*", &[]),
    // rabbitmq.com: cluster-operator `internal/resource`.
    opening(
        "rabbitmq.com",
        "RabbitmqCluster",
        &[
            own(SERVICE, "", ""),
            own(SERVICE, "", "-nodes"),
            own(SECRET, "", "-default-user"),
            own(SECRET, "", "-erlang-cookie"),
            own(CONFIG_MAP, "", "-plugins-conf"),
            own(CONFIG_MAP, "", "-server-conf"),
            own(ACCOUNT, "", "-server"),
        ],
        Unseen::Kinds(&[CLAIM]),
    ),
    row("rabbitmq.com", "User", &[own(SECRET, "", "-user-credentials")]),
    row("rabbitmq.com", "*", &[]),
    // redis.redis.opstreelabs.in: redis-operator `internal/k8sutils`.
    opening(
        "redis.redis.opstreelabs.in",
        "*",
        &[own(SERVICE, "", ""), beginning(SERVICE, "", "")],
        Unseen::Kinds(&[CLAIM]),
    ),
    // secrets.hashicorp.com: vault-secrets-operator `api/v1beta1` (`Destination`).
    row("secrets.hashicorp.com", "VaultAuth", &[]),
    row("secrets.hashicorp.com", "VaultConnection", &[]),
    row("secrets.hashicorp.com", "*", &[at(SECRET, "/spec/destination/name")]),
    // secrets.infisical.com: kubernetes-operator `api/v1alpha1/infisicalsecret_types.go`.
    row(
        "secrets.infisical.com",
        "InfisicalSecret",
        &[
            at(SECRET, "/spec/managedSecretReference/secretName"),
            at(SECRET, "/spec/managedKubeSecretReferences/*/secretName"),
            at(CONFIG_MAP, "/spec/managedKubeConfigMapReferences/*/configMapName"),
        ],
    ),
    row(
        "secrets-store.csi.x-k8s.io",
        "SecretProviderClass",
        &[at(SECRET, "/spec/secretObjects/*/secretName")],
    ),
    // serving.kserve.io: kserve `pkg/constants/constants.go` (`PredictorServiceName`).
    row(
        "serving.kserve.io",
        "InferenceService",
        &[
            own(SERVICE, "", ""),
            own(SERVICE, "", "-predictor"),
            own(SERVICE, "", "-transformer"),
            beginning(SERVICE, "", "-predictor"),
        ],
    ),
    row("serving.knative.dev", "Service", &[own(SERVICE, "", ""), beginning(SERVICE, "", "")]),
    row("snapshot.storage.k8s.io", "*", &[]),
    row("traefik.io", "*", &[]),
    row("traefik.containo.us", "*", &[]),
    row("trust.cert-manager.io", "*", &[]),
    // volsync.backube: `internal/controller/mover`.
    opening(
        "volsync.backube",
        "ReplicationDestination",
        &[own(CLAIM, "volsync-", "-dst-dest"), beginning(CLAIM, "volsync", "")],
        Unseen::Kinds(&["VolumeSnapshot"]),
    ),
    row("volsync.backube", "ReplicationSource", &[]),
];

/// Kubernetes' own groups beside those that end in `.k8s.io`.
const OWN_GROUPS: [&str; 5] = ["", "apps", "autoscaling", "batch", "policy"];

fn row_of(id: &ObjectId) -> Option<&'static Row> {
    let (group, kind) = (id.group(), &*id.kind);
    let mut of_group = ROWS.iter().filter(|row| row.group == group);
    of_group.find(|row| row.kind == kind || row.kind == "*")
}

/// What an object may make in the cluster under names that can't be told. Releases of
/// charts and Flux's own kinds are not asked about.
pub(crate) fn unseen(id: &ObjectId) -> Unseen {
    if kinds::find(id.group(), &id.kind).is_some() {
        return Unseen::Nothing;
    }
    if let Some(row) = row_of(id) {
        return row.unseen;
    }
    let group = id.group();
    // The custom kinds of Kubernetes' own projects have groups that look like Kubernetes'.
    let is_own = OWN_GROUPS.contains(&group)
        || matches!(
            group,
            "admissionregistration.k8s.io"
                | "apiextensions.k8s.io"
                | "apiregistration.k8s.io"
                | "certificates.k8s.io"
                | "coordination.k8s.io"
                | "discovery.k8s.io"
                | "events.k8s.io"
                | "flowcontrol.apiserver.k8s.io"
                | "networking.k8s.io"
                | "node.k8s.io"
                | "rbac.authorization.k8s.io"
                | "resource.k8s.io"
                | "scheduling.k8s.io"
                | "storage.k8s.io"
        );
    if is_own { Unseen::Nothing } else { Unseen::Anything }
}

/// What controllers make of an object, as far as the names can be told.
pub(crate) fn derived<'a>(id: &'a ObjectId, node: NodeRef<'a>) -> Vec<Derived<'a>> {
    let mut found = Vec::new();
    if let Some(row) = row_of(id) {
        for naming in row.makes {
            named(id, node, naming, &mut found);
        }
    }
    let mut add = |kind, namespace: Option<Cow<'a, str>>, name: String, form| {
        found.push(Derived { kind, namespace, name, form, keys: None });
    };
    let namespace = || id.namespace.as_deref().map(Cow::Borrowed);
    match (id.group(), &*id.kind) {
        ("external-secrets.io", "ClusterExternalSecret") => {
            let name = node
                .str_at("/spec/externalSecretSpec/target/name")
                .or_else(|| node.str_at("/spec/externalSecretName"))
                .unwrap_or(Cow::Borrowed(&*id.name));
            add(SECRET, None, name.into_owned(), Form::Whole);
        }
        ("trust.cert-manager.io", "Bundle") => {
            add(CONFIG_MAP, None, id.name.to_string(), Form::Whole);
            add(SECRET, None, id.name.to_string(), Form::Whole);
        }
        ("cert-manager.io", "ClusterIssuer") => {
            if let Some(name) = node.str_at("/spec/acme/privateKeySecretRef/name") {
                add(SECRET, None, name.into_owned(), Form::Whole);
            }
        }
        ("networking.k8s.io", "Ingress") if is_issued(node) => {
            for name in node.items_at("/spec/tls").filter_map(|tls| tls.str_at("/secretName")) {
                add(SECRET, namespace(), name.into_owned(), Form::Whole);
            }
        }
        ("gateway.networking.k8s.io", "Gateway") if is_issued(node) => {
            for listener in node.items_at("/spec/listeners") {
                let names = listener.items_at("/tls/certificateRefs").filter_map(|one| one.str_at("/name"));
                names.for_each(|name| add(SECRET, namespace(), name.into_owned(), Form::Whole));
            }
        }
        ("apps", "StatefulSet") => {
            for claim in
                node.items_at("/spec/volumeClaimTemplates").filter_map(|one| one.str_at("/metadata/name"))
            {
                add(CLAIM, namespace(), format!("{claim}-{}", id.name), Form::Beginning);
            }
        }
        ("keda.sh", "ScaledObject") => {
            add("HorizontalPodAutoscaler", namespace(), format!("keda-hpa-{}", id.name), Form::Whole);
        }
        ("monitoring.coreos.com", "Prometheus" | "PrometheusAgent") => {
            add(SERVICE, namespace(), "prometheus-operated".to_owned(), Form::Whole);
        }
        ("monitoring.coreos.com", "Alertmanager") => {
            add(SERVICE, namespace(), "alertmanager-operated".to_owned(), Form::Whole);
        }
        ("minio.min.io", "Tenant") => add(SERVICE, namespace(), "minio".to_owned(), Form::Whole),
        ("", "Namespace") => {
            let of = || Some(Cow::Borrowed(&*id.name));
            add(ACCOUNT, of(), "default".to_owned(), Form::Whole);
            add(CONFIG_MAP, of(), "kube-root-ca.crt".to_owned(), Form::Whole);
        }
        ("", "Secret" | "ConfigMap") if is_copied(node) => {
            let kind = if &*id.kind == "Secret" { SECRET } else { CONFIG_MAP };
            add(kind, None, id.name.to_string(), Form::Whole);
        }
        _ => {}
    }
    connection_secret(id, node, &mut found);
    copies_of_made(node, &mut found);
    found
}

fn named<'a>(id: &'a ObjectId, node: NodeRef<'a>, naming: &Naming, found: &mut Vec<Derived<'a>>) {
    let mut add = |text: &str| {
        found.push(Derived {
            kind: naming.kind,
            namespace: id.namespace.as_deref().map(Cow::Borrowed),
            name: format!("{}{text}{}", naming.before, naming.after),
            form: naming.form,
            keys: keys_of(id, node),
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

/// The keys of the Secret that an object stands for, where all of them are written.
fn keys_of<'a>(id: &ObjectId, node: NodeRef<'a>) -> Option<Vec<Cow<'a, str>>> {
    let keys = |pointer: &'static str| node.entries_at(pointer).map(|entry| entry.key);
    match (id.group(), &*id.kind) {
        ("bitnami.com", "SealedSecret") => {
            Some(keys("/spec/encryptedData").chain(keys("/spec/template/data")).collect())
        }
        ("external-secrets.io", "ExternalSecret") => {
            let from_elsewhere = node.items_at("/spec/dataFrom").next().is_some()
                || node.at("/spec/target/template/templateFrom").is_some()
                || node.str_at("/spec/target/creationPolicy").is_some_and(|policy| policy != "Owner");
            if from_elsewhere && node.at("/spec/target/template/data").is_none() {
                return None;
            }
            // A template's data replace what was fetched, unless it is merged with it.
            let template = node.at("/spec/target/template/data").is_some();
            let merged =
                node.str_at("/spec/target/template/mergePolicy").is_some_and(|policy| policy == "Merge");
            if template && (merged || node.at("/spec/target/template/templateFrom").is_some()) {
                return None;
            }
            Some(match template {
                true => keys("/spec/target/template/data").collect(),
                false => node.items_at("/spec/data").filter_map(|item| item.str_at("/secretKey")).collect(),
            })
        }
        _ => None,
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
            form: Form::Whole,
            keys: None,
        });
    }
}
