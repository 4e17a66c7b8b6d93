"""Places that are no references by name: selectors, names inside of Pods, listeners, namespaces,
versions, encrypted files.
"""

import re

import rows as table
from places import Place, at, escaped, expand, key_of, kind_of, line_of, replaced, slip

SELECTORS = {
    "/Service": ("/spec/selector", False), "networking.k8s.io/NetworkPolicy": ("/spec/podSelector/matchLabels", True),
    "policy/PodDisruptionBudget": ("/spec/selector/matchLabels", True), "monitoring.coreos.com/PodMonitor": ("/spec/selector/matchLabels", True),
    "monitoring.coreos.com/ServiceMonitor": ("/spec/selector/matchLabels", True),
}
# Versions that no supported Kubernetes serves, of kinds that have newer ones.
REMOVED = {
    "policy/PodDisruptionBudget": "policy/v1beta1", "batch/CronJob": "batch/v1beta1", "networking.k8s.io/Ingress": "networking.k8s.io/v1beta1",
    "autoscaling/HorizontalPodAutoscaler": "autoscaling/v2beta2", "apps/Deployment": "apps/v1beta1", "apps/DaemonSet": "apps/v1beta2",
    "rbac.authorization.k8s.io/ClusterRole": "rbac.authorization.k8s.io/v1beta1", "rbac.authorization.k8s.io/RoleBinding": "rbac.authorization.k8s.io/v1beta1",
    "storage.k8s.io/StorageClass": "storage.k8s.io/v1beta1", "networking.k8s.io/NetworkPolicy": "extensions/v1beta1",
}


def selectors(view, rng):
    for object_, origins in view.objects:
        kind, namespace, name = key_of(object_)
        if kind in SELECTORS and not at(object_, "/spec/namespaceSelector"):
            pointer, info = SELECTORS[kind]
            selected = selected_labels(view, kind, namespace, at(object_, pointer))
            for key, value in (at(object_, pointer) or {}).items() if selected else ():
                where = view.place(origins, f"{pointer}/{escaped(key)}", value)
                new = where and slip(rng, value, {labels.get(key) for labels in selected})
                if new:
                    yield replaced(view, f"selector of {kind.rsplit('/', 1)[1]}", where, new, f"{kind} {name}: {key}: {value} -> {new}", info=info)
        if kind == "/Service":
            yield from target_ports(view, rng, object_, origins, namespace)


def templates(view, namespace):
    for other, _ in view.objects:
        kind, of, _ = key_of(other)
        if kind in table.PODS and of == namespace:
            template = other if kind == "/Pod" else at(other, table.PODS[kind].removesuffix("/spec"))
            if isinstance(template, dict):
                yield template


def selected_labels(view, kind, namespace, wanted):
    if not isinstance(wanted, dict) or not wanted:
        return []
    if kind == "monitoring.coreos.com/ServiceMonitor":
        found = [at(other, "/metadata/labels") for other, _ in view.objects if kind_of(other) == "/Service" and key_of(other)[1] == namespace]
    else:
        found = [at(template, "/metadata/labels") for template in templates(view, namespace)]
    found = [labels for labels in found if isinstance(labels, dict)]
    return found if any(wanted.items() <= labels.items() for labels in found) else []


def target_ports(view, rng, service, origins, namespace):
    wanted = at(service, "/spec/selector") or {}
    names = {
        port.get("name") for template in templates(view, namespace)
        if isinstance(at(template, "/metadata/labels"), dict) and wanted and wanted.items() <= at(template, "/metadata/labels").items()
        for _, port in expand(template, "/spec/containers/*/ports/*") if isinstance(port, dict)
    }
    for pointer, port in expand(service, "/spec/ports/*/targetPort"):
        where = view.place(origins, pointer, port) if isinstance(port, str) and port in names else None
        new = where and slip(rng, port, names)
        if new:
            yield replaced(view, "Service targetPort", where, new, f"Service {key_of(service)[2]}: {port} -> {new}")


def in_pods(view, rng):
    for object_, origins in view.objects:
        kind, _, name = key_of(object_)
        if kind not in table.PODS or (origins.get("/kind") or {}).get("tree"):
            continue
        spec = table.PODS[kind]
        volumes = {volume for _, volume in expand(object_, f"{spec}/volumes/*/name")} | {volume for _, volume in expand(object_, "/spec/volumeClaimTemplates/*/metadata/name")}
        for containers in ("containers", "initContainers"):
            for pointer, volume in expand(object_, f"{spec}/{containers}/*/volumeMounts/*/name"):
                where = view.place(origins, pointer, volume)
                new = where and isinstance(volume, str) and slip(rng, volume, volumes)
                if new:
                    yield replaced(view, "Pod volumeMounts name", where, new, f"{kind} {name}: {volume} -> {new}")
        for pointer, container in expand(object_, f"{spec}/containers/*"):
            ports = {port for _, port in expand(container, "/ports/*/name")}
            for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
                port = at(container, f"/{probe}/httpGet/port")
                where = view.place(origins, f"{pointer}/{probe}/httpGet/port", port) if isinstance(port, str) and port in ports else None
                new = where and slip(rng, port, ports)
                if new:
                    yield replaced(view, "Pod port of a probe", where, new, f"{kind} {name}: {port} -> {new}")


def routes(view, rng):
    for object_, origins in view.objects:
        kind, namespace, name = key_of(object_)
        if kind == table.GATEWAY:
            yield from listeners(view, rng, object_, origins)
        if kind not in table.ROUTES:
            continue
        for pointer, parent in expand(object_, "/spec/parentRefs/*"):
            if not isinstance(parent, dict):
                continue
            at_home, called = parent.get("namespace", namespace), parent.get("name")
            if not isinstance(at_home, str | None) or not isinstance(called, str):
                continue
            gateway = view.index.get((table.GATEWAY, at_home, called))
            sections = {section for _, section in expand(gateway or {}, "/spec/listeners/*/name")}
            section = parent.get("sectionName")
            where = view.place(origins, f"{pointer}/sectionName", section) if gateway and section in sections else None
            new = where and slip(rng, section, sections)
            if new:
                yield replaced(view, "route sectionName", where, new, f"{kind} {name}: {section} -> {new}")
            where = view.place(origins, f"{pointer}/namespace", parent.get("namespace")) if gateway else None
            new = where and slip(rng, parent["namespace"], {key[1] for key in view.index})
            if new:
                line = line_of(view.read(where[0]), where[1])
                yield replaced(view, "route parent's namespace", where, new, f"{kind} {name}: {parent['namespace']} -> {new}", ((where[0], line - 3, line + 3),))


def attached(view, gateway):
    """The places of the parents of routes of other namespaces that name a gateway, and of their hostnames."""
    _, home, called = key_of(gateway)
    parents, hostnames = [], []
    for object_, origins in view.objects:
        kind, namespace, _ = key_of(object_)
        if kind not in table.ROUTES:
            continue
        for pointer, parent in expand(object_, "/spec/parentRefs/*"):
            if isinstance(parent, dict) and parent.get("name") == called and parent.get("namespace", namespace) == home:
                for places, to in ((parents if namespace != home else [], f"{pointer}/name"), (hostnames, "/spec/hostnames/0")):
                    where = origins.get(to)
                    if where and not where.get("tree"):
                        places.append((where["path"], where["line"], where["line"]))
    return parents, hostnames


def listeners(view, rng, gateway, origins):
    parents, hostnames = attached(view, gateway)
    froms = expand(gateway, "/spec/listeners/*/allowedRoutes/namespaces/from")
    for pointer, value in froms if len(froms) == 1 else ():
        where = view.place(origins, pointer, value) if value == "All" and parents else None
        if where:
            yield replaced(view, "listener allowedRoutes", where, "Same", f"Gateway {key_of(gateway)[2]}: All -> Same", tuple(parents))
    hosts = expand(gateway, "/spec/listeners/*/hostname")
    # Another listener may take them.
    is_only = len(at(gateway, "/spec/listeners") or ()) == 1
    for pointer, value in hosts if is_only else ():
        where = view.place(origins, pointer, value) if hostnames else None
        new = where and slip(rng, value.removeprefix("*."), ())
        if new:
            yield replaced(view, "listener hostname", where, "*." * value.startswith("*.") + new, f"Gateway {key_of(gateway)[2]}: {value} -> {new}", tuple(hostnames))


def versions(view, rng):
    for object_, origins in view.objects:
        new = REMOVED.get(kind_of(object_))
        where = view.place(origins, "/apiVersion", object_.get("apiVersion")) if new else None
        if where:
            yield replaced(view, "removed API version", where, new, f"{kind_of(object_)}: {object_['apiVersion']} -> {new}")


def namespaces(view, rng):
    """The namespace of a kustomization, and the name of a Namespace that is used."""
    known = {key[2] for key in view.index if key[0] == "/Namespace"} - {"default", "flux-system", "kube-system"}
    used, seen = {key[1] for key in view.index}, set()
    for object_, origins in view.objects:
        kind, namespace, name = key_of(object_)
        where = origins.get("/metadata/namespace")
        if where and namespace in known and not where.get("tree") and (text := view.read(where["path"])):
            span = where["path"], where["start"], where["end"]
            new = slip(rng, namespace, known)
            if new and span not in seen and text[where["start"]:where["end"]].decode(errors="replace") == namespace:
                seen.add(span)
                of = "kustomization" if where["path"].endswith(("kustomization.yaml", "kustomization.yml")) else "object"
                if not re.search(rb"&\S+\s*$", text[max(0, span[1] - 60):span[1]]):
                    if is_made_with_it(view, span, namespace):
                        continue
                    # What lies in the namespace by another way is told as well.
                    lines = {(other["path"], other["line"], other["line"]) for each, all_ in view.objects if key_of(each)[1] == namespace for other in [all_.get("/metadata/namespace")] if other and not other.get("tree")}
                    yield replaced(view, f"namespace of a {of}", span, new, f"{kind} {name}: {namespace} -> {new}", tuple(lines | {(where["path"], where["line"], where["line"])}))
        where = origins.get("/metadata/name")
        own = where and (where["path"], where["start"], where["end"])
        if kind == "/Namespace" and name in used and name in known and where and not is_made_with_it(view, own, name) and not where.get("tree") and not where.get("via"):
            text = view.read(where["path"])
            new = slip(rng, name, known)
            if text and new and text[where["start"]:where["end"]].decode(errors="replace") == name:
                lines = [(other["path"], 1, 10**6) for of, all_ in view.objects if key_of(of)[1] == name for other in [all_.get("/metadata/namespace")] if other and not other.get("tree")]
                yield replaced(view, "name of a Namespace", (where["path"], where["start"], where["end"]), new, f"Namespace {name} -> {new}", tuple({*lines, (where["path"], where["line"], where["line"])}))


def is_made_with_it(view, span, namespace):
    """Whether the same text names the Namespace and all that lies in it: then nothing is missing."""
    own = [all_.get("/metadata/name") for each, all_ in view.objects if key_of(each)[::2] == ("/Namespace", namespace)]
    others = {(other["path"], other["start"], other["end"]) for each, all_ in view.objects if key_of(each)[1] == namespace for other in [all_.get("/metadata/namespace")] if other}
    return any(one and (one["path"], one["start"], one["end"]) == span for one in own) and others <= {span}


def health_checks(view, rng):
    """A health check of a namespaced kind without its namespace."""
    for object_, origins in view.objects:
        if kind_of(object_) != table.KS or at(object_, "/spec/wait") is True:
            continue
        for pointer, check in expand(object_, "/spec/healthChecks/*"):
            where = isinstance(check, dict) and view.place(origins, f"{pointer}/namespace", check.get("namespace"))
            if where and f"{check.get('apiVersion')}" in ("apps/v1", "batch/v1", "helm.toolkit.fluxcd.io/v2", "v1"):
                text, (path, start, end) = view.read(where[0]), where
                line = text.rfind(b"\n", 0, start) + 1
                if not text[line:start].strip().startswith(b"-"):
                    number = line_of(text, start)
                    yield Place("health check without namespace", path, line, end + 1, "", f"Kustomization {key_of(object_)[2]} {pointer}", ((path, number - 5, number + 5),))


def block(text, start):
    """The lines of the key that a place is below, and of all that is deeper: offsets."""
    begin = text.rfind(b"\n", 0, start) + 1
    indent = len(text[begin:]) - len(text[begin:].lstrip(b" "))
    end = text.find(b"\n", start) + 1 or len(text)
    while end < len(text):
        following = text[end:text.find(b"\n", end) + 1 or len(text)]
        if following.strip() and len(following) - len(following.lstrip(b" ")) <= indent:
            break
        end += len(following)
    return begin, end


def decryption(view, rng, encrypting):
    """spec.decryption of a Kustomization that applies an encrypted Secret."""
    for object_, origins in view.objects:
        where = origins.get("/spec/decryption/provider") if kind_of(object_) == table.KS else None
        text = where and not where.get("tree") and not where.get("via") and view.read(where["path"])
        if not text or not encrypting(object_):
            continue
        key = text.rfind(b"decryption:", 0, where["start"])
        begin, end = block(text, key)
        name = origins.get("/metadata/name")
        if name and name["path"] == where["path"]:
            yield Place("decryption left out", where["path"], begin, end, "", f"Kustomization {key_of(object_)[2]}", ((where["path"], name["line"], name["line"]),))
