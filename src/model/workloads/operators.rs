//! Kinds of operators and of Kubernetes' neighbours: what each makes, and by which names.
//!
//! Each row names its source. A kind of a group that stands in no row may make anything
//! in its namespace.

use crate::model::ObjectId;
use crate::model::kinds;

/// What is known of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NameForm {
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
pub(super) struct Naming {
    pub(super) kind: &'static str,
    /// JSON Pointer of the text that the name is made of, `*` for each item of a list;
    /// empty for the name of the object.
    pub(super) at: &'static str,
    /// Whether the object's own name stands where that text is absent.
    pub(super) or_own: bool,
    pub(super) before: &'static str,
    pub(super) after: &'static str,
    pub(super) form: NameForm,
}

const fn own(kind: &'static str, before: &'static str, after: &'static str) -> Naming {
    Naming { kind, at: "", or_own: true, before, after, form: NameForm::Whole }
}

const fn at(kind: &'static str, at: &'static str) -> Naming {
    Naming { kind, at, or_own: false, before: "", after: "", form: NameForm::Whole }
}

const fn at_or_own(kind: &'static str, at: &'static str) -> Naming {
    Naming { or_own: true, ..self::at(kind, at) }
}

const fn beginning(kind: &'static str, before: &'static str, after: &'static str) -> Naming {
    Naming { form: NameForm::Beginning, ..own(kind, before, after) }
}

/// A kind of an operator.
pub(super) struct OperatorKind {
    pub(super) group: &'static str,
    /// `*` for each kind of the group that has no row above.
    pub(super) kind: &'static str,
    pub(super) makes: &'static [Naming],
    /// Kinds that it makes under further names.
    pub(super) unseen: Unseen,
}

const fn row(group: &'static str, kind: &'static str, makes: &'static [Naming]) -> OperatorKind {
    OperatorKind { group, kind, makes, unseen: Unseen::Nothing }
}

const fn opening(
    group: &'static str,
    kind: &'static str,
    makes: &'static [Naming],
    unseen: Unseen,
) -> OperatorKind {
    OperatorKind { group, kind, makes, unseen }
}

pub(super) const SECRET: &str = "Secret";
pub(super) const CONFIG_MAP: &str = "ConfigMap";
pub(super) const SERVICE: &str = "Service";
pub(super) const ACCOUNT: &str = "ServiceAccount";
pub(super) const CLAIM: &str = "PersistentVolumeClaim";

/// What databases and queues make beside what is named.
const PARTS: Unseen =
    Unseen::Kinds(&[CLAIM, CONFIG_MAP, SECRET, SERVICE, ACCOUNT, "Deployment", "StatefulSet"]);

static ROWS: &[OperatorKind] = &[
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

pub(super) fn row_of(id: &ObjectId) -> Option<&'static OperatorKind> {
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
