"""Where in a repository a reference can be broken, so that what it names is made there."""

import re
from collections import namedtuple

import rows as table

# Replaces text[start:end] of the file by `new`. expected: lines (of the file after it) at which the fault is
# told rightly, as (path, first, last). extra: files to write as well. level "info" is enough where `info`.
Place = namedtuple("Place", "row path start end new said expected info extra apart", defaults=(False, (), ""))


class View:
    """What a cluster of a repository applies, with the origin of each value."""

    def __init__(self, read, cluster, built):
        self.read, self.cluster = read, cluster
        self.has_cluster = bool(built.get("coverage", {}).get("clusters"))
        origins = [{pointer: where for pointer, where in of.items() if where} for of in built["origins"]]
        self.objects = list(zip(built["objects"], origins))
        self.index, self.made, self.names, self.shared = {}, {}, {}, set()
        for object_, origins in self.objects:
            self.add(object_, origins)

    def add(self, object_, origins):
        kind, namespace, name = key_of(object_)
        if not isinstance(name, str) or not isinstance(namespace, (str, type(None))):
            return
        self.index[kind, namespace, name] = object_
        self.names.setdefault((kind, namespace), set()).add(name)
        for of, pointer, after in table.MAKERS.get(kind, ()):
            made = at(object_, pointer) if pointer else name
            made = made if isinstance(made, str) else name
            self.made[of, namespace, made + after] = object_
            self.names.setdefault((of, namespace), set()).add(made + after)
        for pointer in ("/metadata/name", "/metadata/namespace", "/spec/target/name", "/spec/secretName"):
            if pointer in origins:
                self.shared.add(span(origins[pointer]))

    def target(self, kind, namespace, name):
        found = self.index.get((kind, namespace, name))
        return (found, True) if found else (self.made.get((kind, namespace, name)), False)

    def place(self, origins, pointer, value):
        """File and range of a value that stands there as it is, for nothing else."""
        where = origins.get(pointer)
        if not where or where.get("tree") or span(where) in self.shared or is_generated(where["path"]):
            return None
        if any(via.get("kind") in ("substitution", "transformer") for via in where.get("via", ())):
            return None
        text = self.read(where["path"])
        if text is None:
            return None
        start, end = where["start"], where["end"]
        raw, before = text[start:end], text[max(0, start - 60):start]
        if raw[:1] in (b'"', b"'") and raw[-1:] == raw[:1]:
            start, end, raw = start + 1, end - 1, raw[1:-1]
        if raw.decode(errors="replace") != str(value) or re.search(rb"&\S+\s*$", before):
            return None
        return where["path"], start, end


def is_generated(path):
    """What `flux bootstrap` writes: nobody changes it by hand, and findings in it are counted only."""
    return path.endswith("gotk-components.yaml")


def span(where):
    return where.get("path"), where["start"], where["end"]


def kind_of(object_):
    version = object_.get("apiVersion", "")
    return (version.rsplit("/", 1)[0] if "/" in version else "") + "/" + str(object_.get("kind"))


def key_of(object_):
    kind, metadata = kind_of(object_), object_.get("metadata") or {}
    return kind, None if kind in table.EVERYWHERE else metadata.get("namespace"), metadata.get("name")


def at(node, pointer):
    for part in pointer.strip("/").split("/") if pointer else ():
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict):
            node = node.get(part)
        elif isinstance(node, list) and part.isdigit() and int(part) < len(node):
            node = node[int(part)]
        else:
            return None
    return node


def expand(node, pattern):
    """Pointers that a pattern with `*` means, with their values."""
    before, star, after = pattern.partition("/*")
    if not star:
        value = at(node, pattern)
        return [(pattern, value)] if value is not None else []
    items = at(node, before)
    found = []
    for index, item in enumerate(items if isinstance(items, list) else ()):
        found += [(f"{before}/{index}{rest}", value) for rest, value in expand(item, after)]
    return found


def escaped(key):
    return key.replace("~", "~0").replace("/", "~1")


def line_of(text, offset):
    return text.count(b"\n", 0, offset) + 1


def slip(rng, name, taken, inner=False):
    """A name with one letter wrong: left out, doubled, another one, or two swapped."""
    letters = [i for i, c in enumerate(name) if c.isascii() and c.isalpha() and c.islower()]
    for _ in range(80 if letters else 0):
        i = rng.choice(letters)
        how = rng.randrange(4)
        other = {
            0: name[:i] + name[i + 1:],
            1: name[:i] + name[i] + name[i:],
            2: name[:i] + rng.choice("abcdefghijklmnoprstuvwz") + name[i + 1:],
            3: name[:i] + name[i + 1:i + 2] + name[i] + name[i + 2:],
        }[how]
        if other not in taken and other != name and len(other) > 1 and re.fullmatch(r"[a-zA-Z0-9]([-.\w/]*[a-zA-Z0-9])?", other):
            return other
    return None


def replaced(view, row, where, new, said, expected=None, info=False, apart=""):
    path, start, end = where
    line = line_of(view.read(path), start)
    return Place(row, path, start, end, new, said, expected or ((path, line, line),), info, (), apart)


def references(view, rng, rows, with_absent=False):
    """Names, keys and ports of the rows, each with one letter or number wrong."""
    by_kind = {}
    for row in rows:
        for kind in row.kinds:
            by_kind.setdefault(kind, []).append(row)
    for object_, origins in view.objects:
        kind, namespace, name = key_of(object_)
        is_rendered = bool((origins.get("/kind") or {}).get("tree"))
        todo = [(row, "") for row in by_kind.get(kind, ())]
        if kind in table.PODS:
            todo += [(row, table.PODS[kind]) for row in by_kind.get("pods", ())]
        for row, prefix in todo:
            if row.at == "/spec/healthChecks/*" and at(object_, "/spec/wait") is True:
                continue  # they are ignored then
            if row.at == "/spec/tls/*" and at(object_, "/metadata/annotations") and any("cert-manager" in key for key in at(object_, "/metadata/annotations")):
                continue  # cert-manager makes what is named there, whatever it is
            label = f"{'rendered: ' if is_rendered else ''}{kind_label(row)} {row.at}"
            for pointer, node in expand(object_, prefix + row.at):
                yield from reference(view, rng, row, label, (namespace, f"{kind} {name}"), pointer, node, origins, with_absent)


def kind_label(row):
    return "Pod" if row.kinds[0] == "pods" else row.kinds[0].rsplit("/", 1)[1]


def reference(view, rng, row, label, own, pointer, node, origins, with_absent=False):
    namespace, said = own
    name = node.get(row.name) if row.name and isinstance(node, dict) else node
    if not isinstance(name, str) or isinstance(node, dict) and node.get("optional") is True:
        return
    target = row.target.lstrip("?")
    if row.target.startswith("?") and isinstance(node, dict):
        group, _, of = target.rpartition("/")
        of, version = node.get("kind", of), node.get("apiVersion")
        if not isinstance(of, str) or not isinstance(version, str | None):
            return
        if version is not None:
            group = version.rsplit("/", 1)[0] if "/" in version else ""
        elif row.target == "?":
            group = table.OF_FLUX.get(of, "")
        group = node.get("group", node.get("apiGroup", group))
        target = f"{group}/{of}"
    if isinstance(node, dict) and row.name:
        namespace = node.get("namespace", namespace)
    if target in table.EVERYWHERE:
        namespace = None
    if not isinstance(namespace, str | None):
        return
    found, is_itself = view.target(target, namespace, name)
    name_at = f"{pointer}/{row.name}" if row.name else pointer
    where = view.place(origins, name_at, name)
    if where and (found or with_absent):
        new = slip(rng, name, view.names.get((target, namespace), ()))
        if new:
            yield replaced(view, label, where, new, f"{said}: {name} -> {new}", apart="" if found else "made by nothing here")
    if not found or not is_itself or not isinstance(node, dict):
        return
    known = {**(found.get("data") or {}), **(found.get("stringData") or {})}
    for key_at in row.keys:
        for key_pointer, key in expand(node, "/" + key_at):
            where = view.place(origins, pointer + key_pointer, key) if isinstance(key, str) and key in known else None
            new = where and slip(rng, key, known)
            if new:
                yield replaced(view, f"{label} {key_at}", where, new, f"{said}: key {key} -> {new}")
    ports = at(found, "/spec/ports") or []
    for port_at in row.ports:
        port = at(node, "/" + port_at)
        known = {one.get("name" if isinstance(port, str) else "port") for one in ports if isinstance(one, dict)}
        where = view.place(origins, f"{pointer}/{port_at}", port) if isinstance(port, str | int) and port in known else None
        if where and (new := other_port(rng, port, known)):
            yield replaced(view, f"{label} {port_at}", where, new, f"{said}: port {port} -> {new}")


def other_port(rng, port, known):
    if isinstance(port, str):
        return slip(rng, port, known)
    return next((str(port + by) for by in (1, 10, 2, 3) if port + by not in known), None)


def values(view, rng, with_absent=False):
    """Words of the values of releases that charts hand on."""
    for object_, origins in view.objects:
        if kind_of(object_) != table.HR or not isinstance(at(object_, "/spec/values"), dict):
            continue
        namespace = at(object_, "/spec/targetNamespace") or at(object_, "/metadata/namespace")
        said = f"HelmRelease {at(object_, '/metadata/name')}"
        stack = [("/spec/values", at(object_, "/spec/values"))]
        while stack:
            pointer, node = stack.pop()
            if isinstance(node, list):
                stack += [(f"{pointer}/{index}", item) for index, item in enumerate(node)]
            for key, value in node.items() if isinstance(node, dict) else ():
                inner = f"{pointer}/{escaped(key)}"
                if key == "tls":
                    continue
                if key not in table.WORDS:
                    stack.append((inner, value))
                    continue
                items = [(f"{inner}/{index}", item) for index, item in enumerate(value)] if isinstance(value, list) else [(inner, value)]
                keys, ports = (("key",) if key.endswith("KeyRef") else ()), (("port",) if key == "backendRefs" else ())
                for place, item in items:
                    row = table.row("", "", table.WORDS[key], "name" if isinstance(item, dict) else "", keys, ports)
                    yield from reference(view, rng, row, f"values: {key}", (namespace, said), place, item, origins, with_absent)


HOST = re.compile(rb"(?<![\w.$}{-])(?P<name>[a-z][a-z0-9-]*)\.(?P<namespace>[a-z][a-z0-9-]*)(?P<svc>\.svc(?:\.cluster\.local)?)?(?::(?P<port>\d{2,5}))?(?![\w.-])")
SHORT = re.compile(rb"(?<=://)(?P<name>[a-z][a-z0-9-]*):(?P<port>\d{2,5})(?![\w.-])")
TEXTS = {table.HR: ("/spec/values",), "/ConfigMap": ("/data",), "external-secrets.io/SecretStore": ("/spec/provider",),
         "external-secrets.io/ClusterSecretStore": ("/spec/provider",), "external-secrets.io/ExternalSecret": ("/spec/target/template",)}


def hosts(view, rng):
    """Services that texts name: name, namespace and port."""
    namespaces = {key[1] for key in view.index if key[1]} | {key[2] for key in view.index if key[0] == "/Namespace"}
    for object_, origins in view.objects:
        kind, own, name = key_of(object_)
        roots = TEXTS.get(kind, (table.PODS[kind],) if kind in table.PODS else ())
        for pointer, where in origins.items() if roots else ():
            if where.get("tree") or not pointer.startswith(roots) or any(via.get("kind") == "substitution" for via in where.get("via", ())):
                continue
            text = view.read(where["path"])
            if text is None or where["end"] - where["start"] > 60000:
                continue
            kind_said = f"{kind.rsplit('/', 1)[1]} {name} {pointer}"
            yield from in_text(view, rng, where["path"], where["start"], text[where["start"]:where["end"]], own, namespaces, kind_said)


def in_text(view, rng, path, offset, text, own, namespaces, said):
    for form, pattern in (("host", HOST), ("short host", SHORT)):
        for match in pattern.finditer(text):
            service, port = match["name"].decode(), match["port"]
            namespace = match["namespace"].decode() if form == "host" else own
            found, is_itself = view.target("/Service", namespace, service)
            if not found:
                continue
            label = form
            if form == "host" and not match["svc"]:
                if not port and not text[:match.start()].endswith(b"://"):
                    continue
                label = "host without .svc"
            new = slip(rng, service, view.names.get(("/Service", namespace), ()))
            start = offset + match.start("name")
            if new:
                yield replaced(view, f"{label}: name", (path, start, start + len(service)), new, f"{said}: {service}.{namespace} -> {new}")
            if form == "host" and (new := slip(rng, namespace, namespaces)):
                start = offset + match.start("namespace")
                yield replaced(view, f"{label}: namespace", (path, start, start + len(namespace)), new, f"{said}: {service}.{namespace} -> {new}")
            known = {str(one.get("port")) for one in at(found, "/spec/ports") or [] if isinstance(one, dict)}
            if port and is_itself and port.decode() in known and (new := other_port(rng, int(port), {int(one) for one in known})):
                start = offset + match.start("port")
                yield replaced(view, f"{label}: port", (path, start, start + len(port)), new, f"{said}: {service}.{namespace}:{port.decode()} -> {new}")
