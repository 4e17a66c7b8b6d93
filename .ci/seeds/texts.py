"""Plants that are no pair of a reference: whole texts, with what to break as `<<right|wrong>>`
and, where another line is the one to change, `@@` in it.
"""

POD = """  template:
    metadata:
      labels: {{app: {app}}}
    spec:
      containers:
        - name: app
          image: example.com/app:1.0
          ports:
            - {{name: {port}, containerPort: 8421}}
"""
HEAD = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: harbourlight
  namespace: NAMESPACE
spec:
  selector:
    matchLabels: {app: harbourlight}
"""
DEPLOYMENT = HEAD + POD.format(app="harbourlight", port="beacons")
SERVICE = """---
apiVersion: v1
kind: Service
metadata:
  name: harbourlight
  namespace: NAMESPACE
  labels:
    app: harbourlight
spec:
  selector:
    app: harbourlight
  ports:
    - port: 8421
      targetPort: beacons
"""


def selecting(kind, version, spec):
    return f"---\napiVersion: {version}\nkind: {kind}\nmetadata:\n  name: seeded\n  namespace: NAMESPACE\nspec:\n{spec}"


def host(text):
    return SERVICE + f"---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: seeded\n  namespace: NAMESPACE\ndata:\n  settings.ini: |\n    [seeded]\n    url = {text}\n"


def in_pod(lines):
    return HEAD + POD.format(app="harbourlight", port="beacons") + lines


def release(values, target):
    return (target + "\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: seeded\n  namespace: NAMESPACE\nspec:\n  interval: 10m\n"
            "  chart:\n    spec:\n      chart: seeded\n      sourceRef: {kind: HelmRepository, name: seeded}\n  values:\n" + values)


def gateway(listener, of="NAMESPACE"):
    return f"""apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: harbourlight
  namespace: {of}
spec:
  gatewayClassName: seeded
  listeners:
    - name: beacons
      port: 443
      protocol: HTTPS
{listener}---
"""


def route(rest, parent=""):
    return f"""apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: seeded
  namespace: NAMESPACE
spec:
  parentRefs:
    - name: harbourlight
{parent}{rest}"""


def named(version, kind, scoped=True, rest=""):
    return f"apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: harbourlight\n" + ("  namespace: NAMESPACE\n" if scoped else "") + rest


SECRET = named("v1", "Secret", rest="data: {token: c2VlZGVk}")
CONFIG = named("v1", "ConfigMap", rest="data: {token: x}")
CLAIM = named("v1", "PersistentVolumeClaim", rest="spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}")
CLASS = named("storage.k8s.io/v1", "StorageClass", False, "provisioner: example.com/seeded")
SNAPSHOTS = named("snapshot.storage.k8s.io/v1", "VolumeSnapshotClass", False, "driver: example.com\ndeletionPolicy: Delete")
WORD = "<<harbourlight|harborlight>>"
VALUES = {
    "existingSecret": (SECRET, WORD), "existingSecretName": (SECRET, WORD), "secretName": (SECRET, WORD), "secretRef": (SECRET, f"{{name: {WORD}}}"),
    "secretKeyRef": (SECRET, f"{{name: {WORD}, key: token}}"), "imagePullSecrets": (SECRET, f"[{{name: {WORD}}}]"), "pullSecrets": (SECRET, f"[{WORD}]"),
    "existingConfigMap": (CONFIG, WORD), "existingConfigmap": (CONFIG, WORD), "configMapRef": (CONFIG, f"{{name: {WORD}}}"),
    "configMapKeyRef": (CONFIG, f"{{name: {WORD}, key: token}}"), "existingClaim": (CLAIM, WORD), "claimName": (CLAIM, WORD),
    "storageClass": (CLASS, WORD), "storageClassName": (CLASS, WORD), "volumeSnapshotClassName": (SNAPSHOTS, WORD),
    "ingressClassName": (named("networking.k8s.io/v1", "IngressClass", False, "spec: {controller: example.com/seeded}"), WORD),
    "issuerRef": (named("cert-manager.io/v1", "Issuer", rest="spec: {selfSigned: {}}"), f"{{name: {WORD}}}"),
    "parentRefs": (gateway("").removesuffix("---\n"), f"[{{name: {WORD}}}]"), "backendRefs": (SERVICE.removeprefix("---\n"), f"[{{name: {WORD}, port: 8421}}]"),
    "priorityClassName": (named("scheduling.k8s.io/v1", "PriorityClass", False, "value: 10"), WORD),
}

SEALED = """apiVersion: bitnami.com/v1alpha1
kind: SealedSecret
metadata:
  name: @@harbourlight
  namespace: NAMESPACE
spec:
  encryptedData:
    token: AgBlfgnmNVH6UwFeoPi1VsFYTu
  template:
    metadata:
      name: {name}
      namespace: {namespace}
"""

GRANT = """apiVersion: v1
kind: Namespace
metadata: {{name: harbourlight}}
---
apiVersion: v1
kind: Service
metadata:
  name: harbourlight
  namespace: harbourlight
spec:
  ports:
    - port: 8421
---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata:
  name: seeded
  namespace: harbourlight
spec:
  from:
    - group: gateway.networking.k8s.io
      kind: {kind}
      namespace: {of}
  to:
    - group: ""
      kind: Service
      name: {name}
---
"""
ABROAD = gateway("") + route("  rules:\n    - backendRefs:\n        - name: @@harbourlight\n          namespace: harbourlight\n          port: 8421\n")


def grant(kind="HTTPRoute", of="NAMESPACE", name="harbourlight"):
    return GRANT.format(kind=kind, of=of, name=name) + ABROAD


def allowed(rest):
    """A gateway of another namespace, whose listener takes routes of some namespaces."""
    home = "apiVersion: v1\nkind: Namespace\nmetadata: {name: harbourlight}\n---\n"
    return home + gateway(f"      allowedRoutes:\n        namespaces:\n{rest}", "harbourlight") + route("", "      namespace: harbourlight\n").replace("- name: harbour", "- name: @@harbour")


ENCRYPTED = """password: ENC[AES256_GCM,data:aGk=,iv:aXY=,tag:dGFn,type:str]
sops:
  age:
    - recipient: age1examplealice
      enc: |
        -----BEGIN AGE ENCRYPTED FILE-----
        YWdl
        -----END AGE ENCRYPTED FILE-----
  lastmodified: "2026-01-01T00:00:00Z"
  mac: ENC[AES256_GCM,data:bWFj,iv:aXY=,tag:dGFn,type:str]
  version: 3.11.0
"""
# A directory of its own: a kustomization, and files behind lines of `=== NAME`.
GENERATED = """apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: NAMESPACE
<<secretGenerator|configMapGenerator>>:
  - name: harbourlight
    files: [settings.yaml]
=== settings.yaml
""" + ENCRYPTED
TWIN = SEALED.replace("@@", "").format(name="harbourlight", namespace="NAMESPACE") + """---
apiVersion: v1
kind: <<ConfigMap|Secret>>
metadata:
  name: harbourlight
  namespace: NAMESPACE
data:
  token: @@d3E4WmszLWNvcnJlY3QtaG9yc2UtMTc=
"""

# Those whose objects lie in two namespaces.
ACROSS = {
    "ReferenceGrant: kind", "ReferenceGrant: namespace", "ReferenceGrant: name", "listener: allowed namespaces",
    "listener: labels of allowed namespaces",
}

# Row: text, and whether information is enough.
TEXTS = {
    "selector of Service": (DEPLOYMENT + SERVICE.replace("    app: harbourlight\n  ports", "    app: <<harbourlight|harborlight>>\n  ports"), False),
    "selector of NetworkPolicy": (DEPLOYMENT + selecting("NetworkPolicy", "networking.k8s.io/v1", "  podSelector:\n    matchLabels:\n      app: <<harbourlight|harbourligth>>\n"), True),
    "selector of PodDisruptionBudget": (DEPLOYMENT + selecting("PodDisruptionBudget", "policy/v1", "  minAvailable: 1\n  selector:\n    matchLabels:\n      app: <<harbourlight|harbourligt>>\n"), True),
    "selector of PodMonitor": (DEPLOYMENT + selecting("PodMonitor", "monitoring.coreos.com/v1", "  podMetricsEndpoints: [{port: beacons}]\n  selector:\n    matchLabels:\n      app: <<harbourlight|harboourlight>>\n"), True),
    "selector of ServiceMonitor": (DEPLOYMENT + SERVICE + selecting("ServiceMonitor", "monitoring.coreos.com/v1", "  endpoints: [{port: beacons}]\n  selector:\n    matchLabels:\n      app: <<harbourlight|harbouright>>\n"), True),
    "Service targetPort": (DEPLOYMENT + SERVICE.replace("targetPort: beacons", "targetPort: <<beacons|beacns>>"), False),
    "Pod volumeMounts name": (in_pod("          volumeMounts:\n            - name: <<harbour|habour>>\n              mountPath: /data\n      volumes:\n        - name: harbour\n          emptyDir: {}\n"), False),
    "Pod port of a probe": (in_pod("          livenessProbe:\n            httpGet:\n              path: /\n              port: <<beacons|becons>>\n"), False),
    "Pod ports of one name": (in_pod("            - containerPort: 8422\n              name: <<lights|beacons>>\n"), False),
    "Pod init container of one name": (in_pod("      initContainers:\n        - image: example.com/app:1.0\n          name: <<first|app>>\n").replace("- name: app\n", "- name: @@app\n"), False),
    "host: name": (host("http://<<harbourlight|harborlight>>.NAMESPACE.svc.cluster.local:8421/a"), False),
    "host: namespace": (host("http://harbourlight.<<NAMESPACE|ECAPSEMAN>>.svc.cluster.local:8421/a"), False),
    "host: port": (host("http://harbourlight.NAMESPACE.svc.cluster.local:<<8421|8412>>/a"), False),
    "host without .svc: name": (host("http://<<harbourlight|harborlight>>.NAMESPACE:8421/a"), False),
    "host without .svc: namespace": (host("http://harbourlight.<<NAMESPACE|ECAPSEMAN>>:8421/a"), False),
    "host without .svc: port": (host("http://harbourlight.NAMESPACE:<<8421|8412>>/a"), False),
    "short host: name": (host("http://<<harbourlight|harborlight>>:8421/a"), False),
    "short host: port": (host("http://harbourlight:<<8421|8412>>/a"), False),
    "route sectionName": (gateway("") + route("", "      sectionName: <<beacons|beacon>>\n"), False),
    "route port of a listener": (gateway("") + route("", "      port: <<443|444>>\n"), False),
    "listener hostname": (gateway("      hostname: <<seeded.example.com|seedde.example.com>>\n") + route("  hostnames:\n    - @@seeded.example.com\n"), False),
    "removed API version": (selecting("PodDisruptionBudget", "<<policy/v1|policy/v1beta1>>", "  minAvailable: 1\n  selector: {matchLabels: {app: seeded}}\n").removeprefix("---\n"), False),
    "NetworkPolicy peer's namespace": (DEPLOYMENT + selecting("NetworkPolicy", "networking.k8s.io/v1", "  podSelector: {}\n  ingress:\n    - from:\n        - namespaceSelector:\n            matchLabels:\n              kubernetes.io/metadata.name: <<NAMESPACE|ECAPSEMAN>>\n"), True),
    "ReferenceGrant: kind": (grant(kind="<<HTTPRoute|GRPCRoute>>"), False),
    "ReferenceGrant: namespace": (grant(of="<<NAMESPACE|ECAPSEMAN>>"), False),
    "ReferenceGrant: name": (grant(name="<<harbourlight|harborlight>>"), False),
    "listener: allowed namespaces": (allowed("          from: <<All|Same>>\n"), False),
    "listener: labels of allowed namespaces": (allowed("          from: Selector\n          selector:\n            matchLabels:\n              kubernetes.io/metadata.name: <<NAMESPACE|ECAPSEMAN>>\n"), False),
    "SOPS: a ConfigMap made of an encrypted file": (GENERATED, False),
    "SealedSecret: plain twin": (TWIN, False),
    "SealedSecret: name": (SEALED.format(name="<<harbourlight|harborlight>>", namespace="NAMESPACE"), False),
    "SealedSecret: namespace": (SEALED.replace("@@", "").replace("NAMESPACE", "@@NAMESPACE", 1).format(name="harbourlight", namespace="<<NAMESPACE|ECAPSEMAN>>"), False),
} | {f"values: {word}": (release(f"    seeded:\n      {word}: {value}\n", target), False) for word, (target, value) in VALUES.items()}
