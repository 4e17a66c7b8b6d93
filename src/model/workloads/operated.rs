//! The reference fields of the kinds of operators.
//! Source: cert-manager `pkg/apis/certmanager/v1`, `pkg/apis/acme/v1`; external-secrets
//! `apis/externalsecrets/v1`; VolSync `api/v1alpha1`; CloudNativePG `api/v1` and its plugin
//! barman-cloud `api/v1`; Envoy Gateway `api/v1alpha1` (`policy_helpers.go`,
//! `securitypolicy_types.go`, `ext_auth_types.go`, `oidc_types.go`); Traefik
//! `pkg/provider/kubernetes/crd/traefikio/v1alpha1`; prometheus-operator `monitoring/v1alpha1`
//! `alertmanager_config_types.go`; Grafana operator `api/v1beta1`.

use super::field::{
    BACKEND, BACKUP, CONFIG_MAP, DATABASE, ISSUER, NAME, Name, SECRET, SNAPSHOT_CLASS, STORAGE_CLASS, STORE,
    TLS, Target, WorkloadField, field, with_keys, with_port,
};
use crate::model::ObjectId;

const POLICY: &str = "the policy reports that its target isn't found, and nothing of it is in force";
const NOTICE: &str = "the operator refuses the object: its alerts are sent nowhere";
const ROUTER: &str = "Traefik leaves the router out: its requests are answered with 404";

const GATEWAY_TARGET: Target = Target::Stated("gateway.networking.k8s.io", "Gateway");

static CERTIFICATE: &[WorkloadField] =
    &[field("/spec/issuerRef", Target::Stated("cert-manager.io", "Issuer"), NAME, ISSUER)];

static EXTERNAL_SECRET: &[WorkloadField] = &[
    field("/spec/secretStoreRef", Target::Stated("external-secrets.io", "SecretStore"), NAME, STORE),
    field(
        "/spec/data/*/sourceRef/storeRef",
        Target::Stated("external-secrets.io", "SecretStore"),
        NAME,
        STORE,
    ),
    field(
        "/spec/dataFrom/*/sourceRef/storeRef",
        Target::Stated("external-secrets.io", "SecretStore"),
        NAME,
        STORE,
    ),
    field(
        "/spec/dataFrom/*/sourceRef/generatorRef",
        Target::Stated("generators.external-secrets.io", ""),
        NAME,
        STORE,
    ),
    field("/spec/target/template/templateFrom/*/configMap", CONFIG_MAP, NAME, STORE),
    field("/spec/target/template/templateFrom/*/secret", SECRET, NAME, STORE),
];

static CLUSTER_EXTERNAL_SECRET: &[WorkloadField] = &[field(
    "/spec/externalSecretSpec/secretStoreRef",
    Target::Stated("external-secrets.io", "SecretStore"),
    NAME,
    STORE,
)];

static PUSH_SECRET: &[WorkloadField] = &[
    field(
        "/spec/secretStoreRefs/*",
        Target::Stated("external-secrets.io", "SecretStore"),
        NAME,
        "nothing is pushed",
    ),
    field("/spec/selector/secret", SECRET, NAME, "nothing is pushed"),
];

static REPLICATION_SOURCE: &[WorkloadField] = &[
    field("/spec/restic/storageClassName", STORAGE_CLASS, Name::Itself, BACKUP),
    field("/spec/restic/volumeSnapshotClassName", SNAPSHOT_CLASS, Name::Itself, BACKUP),
    field("/spec/kopia/storageClassName", STORAGE_CLASS, Name::Itself, BACKUP),
    field("/spec/kopia/volumeSnapshotClassName", SNAPSHOT_CLASS, Name::Itself, BACKUP),
    field("/spec/sourcePVC", Target::Kind("", "PersistentVolumeClaim"), Name::Itself, BACKUP),
    field("/spec/restic/repository", SECRET, Name::Itself, BACKUP),
    field("/spec/kopia/repository", SECRET, Name::Itself, BACKUP),
    field("/spec/rclone/rcloneConfig", SECRET, Name::Itself, BACKUP),
];

static REPLICATION_DESTINATION: &[WorkloadField] = &[
    field("/spec/restic/storageClassName", STORAGE_CLASS, Name::Itself, BACKUP),
    field("/spec/restic/volumeSnapshotClassName", SNAPSHOT_CLASS, Name::Itself, BACKUP),
    field("/spec/kopia/storageClassName", STORAGE_CLASS, Name::Itself, BACKUP),
    field("/spec/kopia/volumeSnapshotClassName", SNAPSHOT_CLASS, Name::Itself, BACKUP),
    field("/spec/restic/repository", SECRET, Name::Itself, BACKUP),
    field("/spec/kopia/repository", SECRET, Name::Itself, BACKUP),
    field("/spec/rclone/rcloneConfig", SECRET, Name::Itself, BACKUP),
];

static POSTGRES: &[WorkloadField] = &[
    field("/spec/storage/storageClass", STORAGE_CLASS, Name::Itself, DATABASE),
    field("/spec/walStorage/storageClass", STORAGE_CLASS, Name::Itself, DATABASE),
    field("/spec/superuserSecret", SECRET, NAME, DATABASE),
    field("/spec/bootstrap/initdb/secret", SECRET, NAME, DATABASE),
    with_keys(&["key"], field("/spec/externalClusters/*/password", SECRET, NAME, DATABASE)),
    with_keys(
        &["key"],
        field("/spec/externalClusters/*/barmanObjectStore/s3Credentials/accessKeyId", SECRET, NAME, DATABASE),
    ),
    with_keys(
        &["key"],
        field(
            "/spec/externalClusters/*/barmanObjectStore/s3Credentials/secretAccessKey",
            SECRET,
            NAME,
            DATABASE,
        ),
    ),
    with_keys(
        &["key"],
        field("/spec/backup/barmanObjectStore/s3Credentials/accessKeyId", SECRET, NAME, BACKUP),
    ),
    with_keys(
        &["key"],
        field("/spec/backup/barmanObjectStore/s3Credentials/secretAccessKey", SECRET, NAME, BACKUP),
    ),
];

static POSTGRES_OF_CLUSTER: &[WorkloadField] =
    &[field("/spec/cluster", Target::Kind("postgresql.cnpg.io", "Cluster"), NAME, DATABASE)];

/// What a policy of Envoy Gateway is for.
static POLICY_TARGETS: &[WorkloadField] = &[
    field("/spec/targetRef", GATEWAY_TARGET, NAME, POLICY),
    field("/spec/targetRefs/*", GATEWAY_TARGET, NAME, POLICY),
];

static SECURITY_POLICY: &[WorkloadField] = &[
    field("/spec/targetRef", GATEWAY_TARGET, NAME, POLICY),
    field("/spec/targetRefs/*", GATEWAY_TARGET, NAME, POLICY),
    with_port(&["port"], field("/spec/extAuth/http/backendRef", Target::Stated("", "Service"), NAME, POLICY)),
    with_port(
        &["port"],
        field("/spec/extAuth/http/backendRefs/*", Target::Stated("", "Service"), NAME, POLICY),
    ),
    with_port(&["port"], field("/spec/extAuth/grpc/backendRef", Target::Stated("", "Service"), NAME, POLICY)),
    with_port(
        &["port"],
        field("/spec/extAuth/grpc/backendRefs/*", Target::Stated("", "Service"), NAME, POLICY),
    ),
    field("/spec/oidc/clientSecret", Target::Stated("", "Secret"), NAME, POLICY),
    field("/spec/basicAuth/users", Target::Stated("", "Secret"), NAME, POLICY),
];

static BACKEND_TLS_POLICY: &[WorkloadField] = &[
    field("/spec/targetRefs/*", Target::Stated("", "Service"), NAME, POLICY),
    field("/spec/validation/caCertificateRefs/*", Target::Stated("", "ConfigMap"), NAME, POLICY),
];

static INGRESS_ROUTE: &[WorkloadField] = &[
    with_port(&["port"], field("/spec/routes/*/services/*", Target::Stated("", "Service"), NAME, BACKEND)),
    field("/spec/routes/*/middlewares/*", Target::Stated("traefik.io", "Middleware"), NAME, ROUTER),
    field("/spec/tls", SECRET, Name::At("secretName"), TLS),
];

static MIDDLEWARE: &[WorkloadField] = &[
    field("/spec/chain/middlewares/*", Target::Stated("traefik.io", "Middleware"), NAME, ROUTER),
    field("/spec/basicAuth", SECRET, Name::At("secret"), ROUTER),
    field("/spec/digestAuth", SECRET, Name::At("secret"), ROUTER),
    field("/spec/forwardAuth/tls", SECRET, Name::At("caSecret"), ROUTER),
];

static OBJECT_STORE: &[WorkloadField] = &[
    with_keys(&["key"], field("/spec/configuration/s3Credentials/accessKeyId", SECRET, NAME, BACKUP)),
    with_keys(&["key"], field("/spec/configuration/s3Credentials/secretAccessKey", SECRET, NAME, BACKUP)),
    with_keys(&["key"], field("/spec/configuration/s3Credentials/sessionToken", SECRET, NAME, BACKUP)),
    with_keys(&["key"], field("/spec/configuration/s3Credentials/region", SECRET, NAME, BACKUP)),
    with_keys(&["key"], field("/spec/configuration/endpointCA", SECRET, NAME, BACKUP)),
];

static ALERTMANAGER_CONFIG: &[WorkloadField] = &[
    with_keys(&["key"], field("/spec/receivers/*/discordConfigs/*/apiURL", SECRET, NAME, NOTICE)),
    with_keys(&["key"], field("/spec/receivers/*/emailConfigs/*/authPassword", SECRET, NAME, NOTICE)),
    with_keys(&["key"], field("/spec/receivers/*/opsgenieConfigs/*/apiKey", SECRET, NAME, NOTICE)),
    with_keys(&["key"], field("/spec/receivers/*/pagerdutyConfigs/*/routingKey", SECRET, NAME, NOTICE)),
    with_keys(&["key"], field("/spec/receivers/*/pagerdutyConfigs/*/serviceKey", SECRET, NAME, NOTICE)),
    with_keys(&["key"], field("/spec/receivers/*/pushoverConfigs/*/token", SECRET, NAME, NOTICE)),
    with_keys(&["key"], field("/spec/receivers/*/pushoverConfigs/*/userKey", SECRET, NAME, NOTICE)),
    with_keys(&["key"], field("/spec/receivers/*/slackConfigs/*/apiURL", SECRET, NAME, NOTICE)),
    with_keys(&["key"], field("/spec/receivers/*/telegramConfigs/*/botToken", SECRET, NAME, NOTICE)),
    with_keys(&["key"], field("/spec/receivers/*/webhookConfigs/*/urlSecret", SECRET, NAME, NOTICE)),
];

static DASHBOARD: &[WorkloadField] = &[with_keys(
    &["key"],
    field("/spec/configMapRef", CONFIG_MAP, NAME, "the operator can't read the dashboard: it isn't shown"),
)];

static ACME: &[WorkloadField] = &[with_keys(
    &["key"],
    field("/spec/acme/solvers/*/dns01/cloudflare/apiTokenSecretRef", SECRET, NAME, ISSUER),
)];

/// The fields of a kind of an operator.
pub(super) fn fields(id: &ObjectId) -> &'static [WorkloadField] {
    match (id.group(), &*id.kind) {
        ("cert-manager.io", "Certificate") => CERTIFICATE,
        ("external-secrets.io", "ExternalSecret") => EXTERNAL_SECRET,
        ("external-secrets.io", "ClusterExternalSecret") => CLUSTER_EXTERNAL_SECRET,
        ("external-secrets.io", "PushSecret") => PUSH_SECRET,
        ("volsync.backube", "ReplicationSource") => REPLICATION_SOURCE,
        ("volsync.backube", "ReplicationDestination") => REPLICATION_DESTINATION,
        ("postgresql.cnpg.io", "Cluster") => POSTGRES,
        ("postgresql.cnpg.io", "ScheduledBackup" | "Backup" | "Pooler" | "Database") => POSTGRES_OF_CLUSTER,
        ("cert-manager.io", "Issuer") => ACME,
        ("barmancloud.cnpg.io", "ObjectStore") => OBJECT_STORE,
        ("gateway.envoyproxy.io", "SecurityPolicy") => SECURITY_POLICY,
        ("gateway.envoyproxy.io", kind) if kind.ends_with("Policy") => POLICY_TARGETS,
        ("gateway.networking.k8s.io", "BackendTLSPolicy") => BACKEND_TLS_POLICY,
        ("traefik.io", "IngressRoute" | "IngressRouteTCP" | "IngressRouteUDP") => INGRESS_ROUTE,
        ("traefik.io", "Middleware") => MIDDLEWARE,
        ("monitoring.coreos.com", "AlertmanagerConfig") => ALERTMANAGER_CONFIG,
        ("grafana.integreatly.org", "GrafanaDashboard") => DASHBOARD,
        _ => &[],
    }
}
