"""Small pairs of manifests, a target and what refers to it, for rows that a set of
repositories has no place for.
"""

import copy

import rows as table

NAME = "harbourlight"
POD = {"containers": [{"name": "app", "image": "example.com/app:1.0"}]}


def pods(spec):
    return {"selector": {"matchLabels": {"app": "seeded"}}, "template": {"metadata": {"labels": {"app": "seeded"}}, "spec": spec}}


# What the API server wants of a kind beside the field in question.
BASES = {
    "pods": ("apps/v1", "Deployment", {"spec": pods(POD)}),
    "apps/StatefulSet": ("apps/v1", "StatefulSet", {"spec": pods(POD) | {"serviceName": "seeded"}}),
    "/PersistentVolumeClaim": ("v1", None, {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
    "/ServiceAccount": ("v1", None, {}), "/Secret": ("v1", None, {"data": {"token": "c2VlZGVk"}}), "/ConfigMap": ("v1", None, {"data": {"token": "x"}}),
    "/Namespace": ("v1", None, {}),
    "/Service": ("v1", None, {"spec": {"ports": [{"name": "metrics", "port": 8421}]}}),
    "snapshot.storage.k8s.io/VolumeSnapshot": ("snapshot.storage.k8s.io/v1", None, {"spec": {"source": {}}}),
    "snapshot.storage.k8s.io/VolumeSnapshotClass": ("snapshot.storage.k8s.io/v1", None, {"driver": "example.com", "deletionPolicy": "Delete"}),
    "storage.k8s.io/StorageClass": ("storage.k8s.io/v1", None, {"provisioner": "example.com/seeded"}),
    "scheduling.k8s.io/PriorityClass": ("scheduling.k8s.io/v1", None, {"value": 10}),
    "node.k8s.io/RuntimeClass": ("node.k8s.io/v1", None, {"handler": "seeded"}),
    "networking.k8s.io/IngressClass": ("networking.k8s.io/v1", None, {"spec": {"controller": "example.com/seeded"}}),
    "networking.k8s.io/Ingress": ("networking.k8s.io/v1", None, {"spec": {}}),
    "autoscaling/HorizontalPodAutoscaler": ("autoscaling/v2", None, {"spec": {"maxReplicas": 3}}),
    "keda.sh/ScaledObject": ("keda.sh/v1alpha1", None, {"spec": {"scaleTargetRef": {"name": "seeded"}, "triggers": [{"type": "cron", "metadata": {"timezone": "UTC"}}]}}),
    "keda.sh/TriggerAuthentication": ("keda.sh/v1alpha1", None, {"spec": {}}),
    "autoscaling.k8s.io/VerticalPodAutoscaler": ("autoscaling.k8s.io/v1", None, {"spec": {}}),
    "apps/Deployment": ("apps/v1", None, {"spec": pods(POD)}),
    "rbac.authorization.k8s.io/RoleBinding": ("rbac.authorization.k8s.io/v1", None, {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}, "subjects": []}),
    "rbac.authorization.k8s.io/ClusterRole": ("rbac.authorization.k8s.io/v1", None, {"rules": []}),
    "admissionregistration.k8s.io/MutatingWebhookConfiguration": ("admissionregistration.k8s.io/v1", None, {"webhooks": [{"name": "seeded.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "clientConfig": {"service": {}}}]}),
    "apiregistration.k8s.io/APIService": ("apiregistration.k8s.io/v1", None, {"metadata": {"name": "v1.seeded.example.com"}, "spec": {"group": "seeded.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100, "service": {}}}),
    "apiextensions.k8s.io/CustomResourceDefinition": ("apiextensions.k8s.io/v1", None, {"metadata": {"name": "seeds.seeded.example.com"}, "spec": {"group": "seeded.example.com", "names": {"kind": "Seed", "plural": "seeds"}, "scope": "Namespaced", "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}], "conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"service": {}}}}}}),
    "monitoring.coreos.com/ServiceMonitor": ("monitoring.coreos.com/v1", None, {"spec": {"selector": {}, "endpoints": [{"port": "metrics"}]}}),
    "gateway.networking.k8s.io/HTTPRoute": ("gateway.networking.k8s.io/v1", None, {"spec": {}}),
    "gateway.networking.k8s.io/Gateway": ("gateway.networking.k8s.io/v1", None, {"spec": {"gatewayClassName": "seeded", "listeners": [{"name": "https", "port": 443, "protocol": "HTTPS", "allowedRoutes": {"namespaces": {"from": "All"}}}]}}),
    "gateway.networking.k8s.io/GatewayClass": ("gateway.networking.k8s.io/v1", None, {"spec": {"controllerName": "example.com/seeded"}}),
    "cert-manager.io/Certificate": ("cert-manager.io/v1", None, {"spec": {"secretName": "seeded", "dnsNames": ["seeded.example.com"], "issuerRef": {"name": "seeded"}}}),
    "cert-manager.io/Issuer": ("cert-manager.io/v1", None, {"spec": {"selfSigned": {}}}),
    "cert-manager.io/ClusterIssuer": ("cert-manager.io/v1", None, {"spec": {"selfSigned": {}}}),
    "external-secrets.io/ExternalSecret": ("external-secrets.io/v1", None, {"spec": {"secretStoreRef": {"name": "seeded"}, "data": [{"secretKey": "a", "remoteRef": {"key": "a"}}], "dataFrom": [{"extract": {"key": "a"}}]}}),
    "external-secrets.io/ClusterExternalSecret": ("external-secrets.io/v1", None, {"spec": {"externalSecretSpec": {}}}),
    "external-secrets.io/PushSecret": ("external-secrets.io/v1alpha1", None, {"spec": {"secretStoreRefs": [{"name": "seeded"}], "selector": {"secret": {"name": "seeded"}}}}),
    "external-secrets.io/SecretStore": ("external-secrets.io/v1", None, {"spec": {"provider": {"fake": {"data": []}}}}),
    "generators.external-secrets.io/Password": ("generators.external-secrets.io/v1alpha1", None, {"spec": {"length": 20, "allowRepeat": True, "noUpper": False}}),
    "volsync.backube/ReplicationSource": ("volsync.backube/v1alpha1", None, {"spec": {"sourcePVC": "seeded"}}),
    "volsync.backube/ReplicationDestination": ("volsync.backube/v1alpha1", None, {"spec": {}}),
    "postgresql.cnpg.io/Cluster": ("postgresql.cnpg.io/v1", None, {"spec": {"instances": 1, "storage": {"size": "1Gi"}}}),
    "postgresql.cnpg.io/ScheduledBackup": ("postgresql.cnpg.io/v1", None, {"spec": {"schedule": "0 0 0 * * *", "cluster": {}}}),
    "secrets-store.csi.x-k8s.io/SecretProviderClass": ("secrets-store.csi.x-k8s.io/v1", None, {"spec": {"provider": "vault"}}),
    "traefik.io/Middleware": ("traefik.io/v1alpha1", None, {"spec": {}}),
    "traefik.io/IngressRoute": ("traefik.io/v1alpha1", None, {"spec": {"routes": [{"match": "Host(`seeded.example.com`)", "kind": "Rule"}]}}),
    "barmancloud.cnpg.io/ObjectStore": ("barmancloud.cnpg.io/v1", None, {"spec": {"configuration": {"destinationPath": "s3://seeded", "s3Credentials": {}}}}),
    "gateway.envoyproxy.io/SecurityPolicy": ("gateway.envoyproxy.io/v1alpha1", None, {"spec": {}}),
    "gateway.networking.k8s.io/BackendTLSPolicy": ("gateway.networking.k8s.io/v1", None, {"spec": {"validation": {"hostname": "seeded.example.com"}}}),
    "grafana.integreatly.org/GrafanaDashboard": ("grafana.integreatly.org/v1beta1", None, {"spec": {"instanceSelector": {}}}),
    "monitoring.coreos.com/AlertmanagerConfig": ("monitoring.coreos.com/v1alpha1", None, {"spec": {"route": {"receiver": "seeded"}, "receivers": [{"name": "seeded"}]}}),
    table.HR: ("helm.toolkit.fluxcd.io/v2", None, {"spec": {"interval": "10m", "chart": {"spec": {"chart": "seeded", "sourceRef": {"kind": "HelmRepository", "name": "seeded"}}}}}),
    table.KS: ("kustomize.toolkit.fluxcd.io/v1", None, {"spec": {"interval": "10m", "path": "./nowhere", "prune": True, "sourceRef": {"kind": "GitRepository", "name": "flux-system"}}}),
    "notification.toolkit.fluxcd.io/Provider": ("notification.toolkit.fluxcd.io/v1beta3", None, {"spec": {"type": "slack"}}),
    "notification.toolkit.fluxcd.io/Receiver": ("notification.toolkit.fluxcd.io/v1", None, {"spec": {"type": "generic", "resources": [], "secretRef": {"name": "seeded"}}}),
    "notification.toolkit.fluxcd.io/Alert": ("notification.toolkit.fluxcd.io/v1beta3", None, {"spec": {"providerRef": {"name": "seeded"}, "eventSources": [{"kind": "Kustomization", "name": "*"}]}}),
    "image.toolkit.fluxcd.io/ImageRepository": ("image.toolkit.fluxcd.io/v1", None, {"spec": {"image": "example.com/seeded", "interval": "10m"}}),
    "image.toolkit.fluxcd.io/ImagePolicy": ("image.toolkit.fluxcd.io/v1", None, {"spec": {"imageRepositoryRef": {}, "policy": {"semver": {"range": "1.x"}}}}),
    "image.toolkit.fluxcd.io/ImageUpdateAutomation": ("image.toolkit.fluxcd.io/v1", None, {"spec": {"interval": "10m", "sourceRef": {}}}),
    "source.toolkit.fluxcd.io/GitRepository": ("source.toolkit.fluxcd.io/v1", None, {"spec": {"interval": "10m", "url": "https://example.com/seeded"}}),
    "source.toolkit.fluxcd.io/OCIRepository": ("source.toolkit.fluxcd.io/v1", None, {"spec": {"interval": "10m", "url": "oci://example.com/seeded"}}),
    "source.toolkit.fluxcd.io/HelmRepository": ("source.toolkit.fluxcd.io/v1", None, {"spec": {"interval": "10m", "url": "https://example.com/seeded"}}),
}
# Items of lists need names.
ITEMS = {"env": {"name": "SEEDED"}, "receivers": {"name": "seeded"}, "volumes": {"name": "seeded"}, "volumeClaimTemplates": {"metadata": {"name": "seeded"}}, "externalClusters": {"name": "seeded"},
         "initContainers": {"name": "first", "image": "example.com/first:1.0"}, "items": {"path": "token"}, "paths": {"path": "/", "pathType": "Prefix"}}
# What the API server wants beside a field, below the map that holds it.
BESIDE = {"/csi/": {"csi": {"driver": "example.com"}}, "/requestMirror/": {"type": "RequestMirror"}, "/extensionRef": {"type": "ExtensionRef"}, "/decryption/": {"decryption": {"provider": "sops"}}}
# What `?` fields name in a plant.
STATED = {
    ("/spec/dataSourceRef", "?/"): ("volsync.backube/ReplicationDestination", {"apiGroup": "volsync.backube", "kind": "ReplicationDestination"}),
    ("/subjects/*", "?/"): ("/ServiceAccount", {"kind": "ServiceAccount"}),
    ("/spec/rules/*/filters/*/extensionRef", "?/"): ("traefik.io/Middleware", {"group": "traefik.io", "kind": "Middleware"}),
    ("/spec/dataFrom/*/sourceRef/generatorRef", "?generators.external-secrets.io/Password"): ("generators.external-secrets.io/Password", {"apiVersion": "generators.external-secrets.io/v1alpha1", "kind": "Password"}),
    ("/spec/sourceRef", "?"): ("source.toolkit.fluxcd.io/GitRepository", {"kind": "GitRepository"}),
    ("/spec/chart/spec/sourceRef", "?"): ("source.toolkit.fluxcd.io/HelmRepository", {"kind": "HelmRepository"}),
    ("/spec/chartRef", "?"): ("source.toolkit.fluxcd.io/OCIRepository", {"kind": "OCIRepository"}),
    ("/spec/healthChecks/*", "?"): ("apps/Deployment", {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "NAMESPACE"}),
    ("/spec/postBuild/substituteFrom/*", "?"): ("/ConfigMap", {"kind": "ConfigMap"}),
    ("/spec/valuesFrom/*", "?"): ("/ConfigMap", {"kind": "ConfigMap"}),
    ("/spec/resources/*", "?"): ("source.toolkit.fluxcd.io/GitRepository", {"kind": "GitRepository"}),
}


def base(kind, name, namespace):
    """An object of a kind, as small as the API server takes it."""
    if kind not in BASES:
        return None
    version, given, rest = BASES[kind]
    made = {"apiVersion": version, "kind": given or kind.rsplit("/", 1)[1]} | copy.deepcopy(rest)
    made["metadata"] = {"name": name} | made.get("metadata", {})
    if kind not in table.EVERYWHERE and namespace:
        made["metadata"]["namespace"] = namespace
    return made


def put(node, pointer, value):
    """Sets what a pointer means, and makes what leads to it."""
    parts = pointer.strip("/").split("/")
    for index, part in enumerate(parts):
        last, part = index == len(parts) - 1, part.replace("~1", "/")
        if part == "*":
            if not node:
                node.append(copy.deepcopy(ITEMS.get(parts[index - 1], {})))
            if last and isinstance(value, dict):
                node[0] = node[0] | value if isinstance(node[0], dict) else value
            elif last:
                node[0] = value
            node = node[0]
        elif last:
            node[part] = node[part] | value if isinstance(node.get(part), dict) and isinstance(value, dict) else value
        else:
            node = node.setdefault(part, [] if parts[index + 1] == "*" else {})


def node_of(node, pointer):
    for part in pointer.strip("/").split("/"):
        node = node[0] if part == "*" else node[part]
    return node


def merge(node, fields):
    for key, value in fields.items():
        if isinstance(value, dict) and isinstance(node.get(key), dict):
            node[key] |= value
        else:
            node[key] = value


def pair(row, namespace, what):
    """Target and referrer of a row, and the pointer into the referrer of what to break."""
    kind = row.kinds[0]
    target, stated = row.target.lstrip("?"), {}
    if row.target.startswith("?"):
        group, _, of = target.rpartition("/")
        target, stated = STATED.get((row.at, row.target), (target, {"kind": of} if of else {}))
        del group
    named, referrer = base(target, NAME, namespace), base(kind, "seeded", namespace)
    if named is None or referrer is None:
        return None
    stated = {key: namespace if value == "NAMESPACE" else value for key, value in stated.items()}
    prefix = "/spec/template/spec" if kind == "pods" else ""
    put(referrer, prefix + row.at, (stated | {row.name: NAME}) if row.name else NAME)
    if target == "/Service" and (kind.startswith("admission") or kind.startswith("api")):
        put(referrer, prefix + row.at, {"namespace": namespace, "port": 8421})
    if kind.startswith("rbac") and row.at.startswith("/subjects"):
        put(referrer, row.at, {"namespace": namespace})
    for key in row.keys:
        put(referrer, f"{prefix}{row.at}/{key}", "token")
    for port in row.ports[:1]:
        put(referrer, f"{prefix}{row.at}/{port}", 8421)
    if what in row.ports and what != row.ports[0]:
        backend = node_of(referrer, prefix + row.at)
        backend["port"] = {"name": "metrics"}
    for pointer, fields in BESIDE.items():
        before, found, _ = row.at.partition(pointer)
        if found:
            merge(node_of(referrer, prefix + before), fields)
    field = what if what != "name" else row.name
    return named, referrer, (f"{prefix}{row.at}/{field}" if field else f"{prefix}{row.at}")
