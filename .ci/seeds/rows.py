"""The fields that refer to other objects: which kinds have them, what they name, and how a
plant of each looks. Written from the APIs of Kubernetes and of the operators, not from the
table of forebay, which it is to judge.
"""

from collections import namedtuple

# kinds: "group/Kind", "pods" for whatever has a Pod's spec. at: a pointer, `*` for each item.
# target: "group/Kind", or "?group/Kind" where the reference states group and kind and this is
# the default. name: the key of the name, empty where the field is the name itself.
Row = namedtuple("Row", "kinds at target name keys ports")

PODS = {"/Pod": "/spec", "batch/CronJob": "/spec/jobTemplate/spec/template/spec"} | {
    kind: "/spec/template/spec"
    for kind in ("apps/Deployment", "apps/StatefulSet", "apps/DaemonSet", "apps/ReplicaSet", "batch/Job")
}
ROUTES = tuple(f"gateway.networking.k8s.io/{kind}Route" for kind in ("HTTP", "GRPC", "TLS", "TCP", "UDP"))
FLUX = {name: f"{name}.toolkit.fluxcd.io" for name in ("kustomize", "helm", "source", "notification", "image")}
KS, HR = "kustomize.toolkit.fluxcd.io/Kustomization", "helm.toolkit.fluxcd.io/HelmRelease"
GATEWAY = "gateway.networking.k8s.io/Gateway"
CLASS, SNAPSHOTS = "storage.k8s.io/StorageClass", "snapshot.storage.k8s.io/VolumeSnapshotClass"
CLAIM, ACCOUNT = "/PersistentVolumeClaim", "/ServiceAccount"
STORE, ISSUER, CLUSTER_ISSUER = "external-secrets.io/SecretStore", "cert-manager.io/Issuer", "cert-manager.io/ClusterIssuer"
VOLSYNC, CNPG = "volsync.backube", "postgresql.cnpg.io"
POLICIES = tuple(f"gateway.envoyproxy.io/{kind}" for kind in ("SecurityPolicy", "ClientTrafficPolicy", "BackendTrafficPolicy"))


def row(kinds, at, target, name="name", keys=(), ports=()):
    return Row(kinds if isinstance(kinds, tuple) else (kinds,), at, target, name, keys, ports)


def in_containers(containers):
    of_env = f"/{containers}/*/env/*/valueFrom"
    return [
        row("pods", f"{of_env}/configMapKeyRef", "/ConfigMap", keys=("key",)),
        row("pods", f"{of_env}/secretKeyRef", "/Secret", keys=("key",)),
        row("pods", f"/{containers}/*/envFrom/*/configMapRef", "/ConfigMap"),
        row("pods", f"/{containers}/*/envFrom/*/secretRef", "/Secret"),
    ]


ANNOTATIONS = [
    row(kinds, f"/metadata/annotations/cert-manager.io~1{name}", target, "")
    for kinds in ("networking.k8s.io/Ingress", GATEWAY)
    for name, target in (("cluster-issuer", CLUSTER_ISSUER), ("issuer", ISSUER))
]
BACKUPS = [
    row(f"{VOLSYNC}/{kind}", f"/spec/{mover}/{field}", target, "")
    for kind in ("ReplicationSource", "ReplicationDestination")
    for mover, field, target in (
        ("restic", "repository", "/Secret"), ("kopia", "repository", "/Secret"), ("rclone", "rcloneConfig", "/Secret"),
        ("restic", "storageClassName", CLASS), ("restic", "volumeSnapshotClassName", SNAPSHOTS),
        ("kopia", "storageClassName", CLASS), ("kopia", "volumeSnapshotClassName", SNAPSHOTS),
    )
]

WORKLOADS = in_containers("containers") + in_containers("initContainers") + [
    row("pods", "/volumes/*/configMap", "/ConfigMap", keys=("items/*/key",)),
    row("pods", "/volumes/*/secret", "/Secret", "secretName", keys=("items/*/key",)),
    row("pods", "/volumes/*/projected/sources/*/configMap", "/ConfigMap", keys=("items/*/key",)),
    row("pods", "/volumes/*/projected/sources/*/secret", "/Secret", keys=("items/*/key",)),
    row("pods", "/volumes/*/persistentVolumeClaim", CLAIM, "claimName"),
    row("pods", "/volumes/*/csi/nodePublishSecretRef", "/Secret"),
    row("pods", "/volumes/*/csi/volumeAttributes/secretProviderClass", "secrets-store.csi.x-k8s.io/SecretProviderClass", ""),
    row("pods", "/volumes/*/ephemeral/volumeClaimTemplate/spec/storageClassName", CLASS, ""),
    row("pods", "/serviceAccountName", ACCOUNT, ""),
    row("pods", "/imagePullSecrets/*", "/Secret"),
    row("pods", "/priorityClassName", "scheduling.k8s.io/PriorityClass", ""),
    row("pods", "/runtimeClassName", "node.k8s.io/RuntimeClass", ""),
    row("/ServiceAccount", "/imagePullSecrets/*", "/Secret"),
    row("apps/StatefulSet", "/spec/serviceName", "/Service", ""),
    row("apps/StatefulSet", "/spec/volumeClaimTemplates/*/spec/storageClassName", CLASS, ""),
    row(CLAIM, "/spec/storageClassName", CLASS, ""),
    row(CLAIM, "/spec/dataSourceRef", "?/"),
    row("snapshot.storage.k8s.io/VolumeSnapshot", "/spec/volumeSnapshotClassName", SNAPSHOTS, ""),
    row("snapshot.storage.k8s.io/VolumeSnapshot", "/spec/source/persistentVolumeClaimName", CLAIM, ""),
    row(("autoscaling/HorizontalPodAutoscaler", "keda.sh/ScaledObject"), "/spec/scaleTargetRef", "?apps/Deployment"),
    row("keda.sh/ScaledObject", "/spec/triggers/*/authenticationRef", "?keda.sh/TriggerAuthentication"),
    row("autoscaling.k8s.io/VerticalPodAutoscaler", "/spec/targetRef", "?apps/Deployment"),
    row(("rbac.authorization.k8s.io/RoleBinding", "rbac.authorization.k8s.io/ClusterRoleBinding"), "/roleRef", "?rbac.authorization.k8s.io/ClusterRole"),
    row(("rbac.authorization.k8s.io/RoleBinding", "rbac.authorization.k8s.io/ClusterRoleBinding"), "/subjects/*", "?/"),
    row(("admissionregistration.k8s.io/MutatingWebhookConfiguration", "admissionregistration.k8s.io/ValidatingWebhookConfiguration"),
        "/webhooks/*/clientConfig/service", "/Service", ports=("port",)),
    row("apiregistration.k8s.io/APIService", "/spec/service", "/Service", ports=("port",)),
    row("apiextensions.k8s.io/CustomResourceDefinition", "/spec/conversion/webhook/clientConfig/service", "/Service", ports=("port",)),
    row(("monitoring.coreos.com/ServiceMonitor", "monitoring.coreos.com/PodMonitor"), "/spec/namespaceSelector/matchNames/*", "/Namespace", ""),
    row("networking.k8s.io/Ingress", "/spec/defaultBackend/service", "/Service", ports=("port/number", "port/name")),
    row("networking.k8s.io/Ingress", "/spec/rules/*/http/paths/*/backend/service", "/Service", ports=("port/number", "port/name")),
    row("networking.k8s.io/Ingress", "/spec/ingressClassName", "networking.k8s.io/IngressClass", ""),
    row("networking.k8s.io/Ingress", "/spec/tls/*", "/Secret", "secretName"),
    row(ROUTES, "/spec/parentRefs/*", f"?{GATEWAY}"),
    row(ROUTES, "/spec/rules/*/backendRefs/*", "?/Service", ports=("port",)),
    row(ROUTES, "/spec/rules/*/filters/*/requestMirror/backendRef", "?/Service", ports=("port",)),
    row(ROUTES, "/spec/rules/*/filters/*/extensionRef", "?/"),
    row(GATEWAY, "/spec/gatewayClassName", "gateway.networking.k8s.io/GatewayClass", ""),
    row(GATEWAY, "/spec/listeners/*/tls/certificateRefs/*", "?/Secret"),
    row("cert-manager.io/Certificate", "/spec/issuerRef", f"?{ISSUER}"),
    row("external-secrets.io/ExternalSecret", "/spec/secretStoreRef", f"?{STORE}"),
    row("external-secrets.io/ExternalSecret", "/spec/data/*/sourceRef/storeRef", f"?{STORE}"),
    row("external-secrets.io/ExternalSecret", "/spec/dataFrom/*/sourceRef/storeRef", f"?{STORE}"),
    row("external-secrets.io/ExternalSecret", "/spec/dataFrom/*/sourceRef/generatorRef", "?generators.external-secrets.io/Password"),
    row("external-secrets.io/ExternalSecret", "/spec/target/template/templateFrom/*/configMap", "/ConfigMap"),
    row("external-secrets.io/ExternalSecret", "/spec/target/template/templateFrom/*/secret", "/Secret"),
    row("external-secrets.io/ClusterExternalSecret", "/spec/externalSecretSpec/secretStoreRef", f"?{STORE}"),
    row("external-secrets.io/PushSecret", "/spec/secretStoreRefs/*", f"?{STORE}"),
    row("external-secrets.io/PushSecret", "/spec/selector/secret", "/Secret"),
    row(f"{VOLSYNC}/ReplicationSource", "/spec/sourcePVC", CLAIM, ""),
    row(f"{CNPG}/Cluster", "/spec/storage/storageClass", CLASS, ""),
    row(f"{CNPG}/Cluster", "/spec/walStorage/storageClass", CLASS, ""),
    row(f"{CNPG}/Cluster", "/spec/superuserSecret", "/Secret"),
    row(f"{CNPG}/Cluster", "/spec/bootstrap/initdb/secret", "/Secret"),
    row(f"{CNPG}/Cluster", "/spec/externalClusters/*/password", "/Secret", keys=("key",)),
    row(f"{CNPG}/Cluster", "/spec/backup/barmanObjectStore/s3Credentials/accessKeyId", "/Secret", keys=("key",)),
    row(f"{CNPG}/Cluster", "/spec/backup/barmanObjectStore/s3Credentials/secretAccessKey", "/Secret", keys=("key",)),
    row(f"{CNPG}/Cluster", "/spec/externalClusters/*/barmanObjectStore/s3Credentials/accessKeyId", "/Secret", keys=("key",)),
    row(f"{CNPG}/Cluster", "/spec/externalClusters/*/barmanObjectStore/s3Credentials/secretAccessKey", "/Secret", keys=("key",)),
    row(tuple(f"{CNPG}/{kind}" for kind in ("ScheduledBackup", "Backup", "Pooler", "Database")), "/spec/cluster", f"{CNPG}/Cluster"),
    row("barmancloud.cnpg.io/ObjectStore", "/spec/configuration/s3Credentials/accessKeyId", "/Secret", keys=("key",)),
    row("barmancloud.cnpg.io/ObjectStore", "/spec/configuration/s3Credentials/secretAccessKey", "/Secret", keys=("key",)),
    row(POLICIES, "/spec/targetRefs/*", f"?{GATEWAY}"),
    row("gateway.networking.k8s.io/BackendTLSPolicy", "/spec/targetRefs/*", "?/Service"),
    row("gateway.networking.k8s.io/BackendTLSPolicy", "/spec/validation/caCertificateRefs/*", "?/ConfigMap"),
    row("gateway.envoyproxy.io/SecurityPolicy", "/spec/extAuth/http/backendRefs/*", "?/Service"),
    row("gateway.envoyproxy.io/SecurityPolicy", "/spec/oidc/clientSecret", "?/Secret"),
    row("gateway.envoyproxy.io/SecurityPolicy", "/spec/basicAuth/users", "?/Secret"),
    row("traefik.io/IngressRoute", "/spec/routes/*/services/*", "?/Service"),
    row("traefik.io/IngressRoute", "/spec/routes/*/middlewares/*", "traefik.io/Middleware"),
    row("traefik.io/IngressRoute", "/spec/tls", "/Secret", "secretName"),
    row("traefik.io/Middleware", "/spec/chain/middlewares/*", "traefik.io/Middleware"),
    row("traefik.io/Middleware", "/spec/basicAuth", "/Secret", "secret"),
    row("grafana.integreatly.org/GrafanaDashboard", "/spec/configMapRef", "/ConfigMap", keys=("key",)),
    row(ISSUER, "/spec/acme/solvers/*/dns01/cloudflare/apiTokenSecretRef", "/Secret", keys=("key",)),
] + [
    row("monitoring.coreos.com/AlertmanagerConfig", f"/spec/receivers/*/{kind}/*/{field}", "/Secret", keys=("key",))
    for kind, field in (
        ("discordConfigs", "apiURL"), ("emailConfigs", "authPassword"), ("opsgenieConfigs", "apiKey"), ("pagerdutyConfigs", "routingKey"),
        ("pagerdutyConfigs", "serviceKey"), ("pushoverConfigs", "token"), ("pushoverConfigs", "userKey"), ("slackConfigs", "apiURL"),
        ("telegramConfigs", "botToken"), ("webhookConfigs", "urlSecret"),
    )
] + ANNOTATIONS + BACKUPS

# The group of the kinds that Flux's references name by kind alone.
OF_FLUX = {"Kustomization": FLUX["kustomize"], "HelmRelease": FLUX["helm"], "ConfigMap": "", "Secret": ""} | {
    kind: FLUX["source"] for kind in ("GitRepository", "OCIRepository", "HelmRepository", "Bucket", "HelmChart")
} | {kind: FLUX["image"] for kind in ("ImageRepository", "ImagePolicy", "ImageUpdateAutomation")}
SOURCES = tuple(f"{FLUX['source']}/{kind}" for kind in ("GitRepository", "OCIRepository", "HelmRepository", "Bucket"))

FLUX_ROWS = [
    row(KS, "/spec/sourceRef", "?"), row(KS, "/spec/dependsOn/*", KS), row(KS, "/spec/healthChecks/*", "?"),
    row(KS, "/spec/postBuild/substituteFrom/*", "?"), row(KS, "/spec/decryption/secretRef", "/Secret"),
    row(KS, "/spec/kubeConfig/secretRef", "/Secret"), row(KS, "/spec/serviceAccountName", ACCOUNT, ""),
    row(HR, "/spec/chart/spec/sourceRef", "?"), row(HR, "/spec/chartRef", "?"), row(HR, "/spec/dependsOn/*", HR),
    row(HR, "/spec/valuesFrom/*", "?"), row(HR, "/spec/kubeConfig/secretRef", "/Secret"), row(HR, "/spec/serviceAccountName", ACCOUNT, ""),
    row(SOURCES, "/spec/secretRef", "/Secret"), row(f"{FLUX['notification']}/Provider", "/spec/secretRef", "/Secret"),
    row(f"{FLUX['notification']}/Receiver", "/spec/secretRef", "/Secret"), row(f"{FLUX['notification']}/Receiver", "/spec/resources/*", "?"),
    row(f"{FLUX['notification']}/Alert", "/spec/providerRef", f"{FLUX['notification']}/Provider"),
    row(f"{FLUX['image']}/ImagePolicy", "/spec/imageRepositoryRef", f"{FLUX['image']}/ImageRepository"),
    row(f"{FLUX['image']}/ImageUpdateAutomation", "/spec/sourceRef", "?"),
    row(f"{FLUX['image']}/ImageRepository", "/spec/secretRef", "/Secret"),
]

# Words of values that charts hand on.
WORDS = {
    "existingSecret": "/Secret", "existingSecretName": "/Secret", "secretName": "/Secret", "secretRef": "/Secret", "secretKeyRef": "/Secret",
    "imagePullSecrets": "/Secret", "pullSecrets": "/Secret",
    "existingConfigMap": "/ConfigMap", "existingConfigmap": "/ConfigMap", "configMapRef": "/ConfigMap", "configMapKeyRef": "/ConfigMap",
    "existingClaim": CLAIM, "claimName": CLAIM, "storageClass": CLASS, "storageClassName": CLASS, "volumeSnapshotClassName": SNAPSHOTS,
    "ingressClassName": "networking.k8s.io/IngressClass", "className": "networking.k8s.io/IngressClass",
    "issuerRef": f"?{ISSUER}", "parentRefs": f"?{GATEWAY}", "backendRefs": "?/Service", "priorityClassName": "scheduling.k8s.io/PriorityClass",
}

# Kinds without a namespace.
EVERYWHERE = {
    CLASS, SNAPSHOTS, CLUSTER_ISSUER, "scheduling.k8s.io/PriorityClass", "node.k8s.io/RuntimeClass", "networking.k8s.io/IngressClass",
    "gateway.networking.k8s.io/GatewayClass", "/Namespace", "external-secrets.io/ClusterSecretStore",
    "rbac.authorization.k8s.io/ClusterRole", "keda.sh/ClusterTriggerAuthentication", "apiextensions.k8s.io/CustomResourceDefinition",
}

# What operators make of an object: kind, pointer of the name ("" the object's own), what follows it.
MAKERS = {
    "external-secrets.io/ExternalSecret": [("/Secret", "/spec/target/name", "")],
    "bitnami.com/SealedSecret": [("/Secret", "", "")],
    "cert-manager.io/Certificate": [("/Secret", "/spec/secretName", "")],
    f"{CNPG}/Cluster": [("/Service", "", end) for end in ("-rw", "-ro", "-r")] + [("/Secret", "", "-app")],
}
