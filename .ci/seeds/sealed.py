"""Faults of files that SOPS or kubeseal encrypted. They need no cluster: places are found in the text."""

import re

from places import Place, line_of, slip

SECRET = re.compile(rb"^kind: Secret\s*$", re.M)
ENCRYPTED = re.compile(rb"^(  [\w.-]+:) (ENC\[AES256_GCM,[^\]]*\])", re.M)


def lines(path, text, start, end=None):
    return ((path, line_of(text, start), line_of(text, end or start)),)


# Files of examples are left out by the rules, and said to be.
EXAMPLE = re.compile(r"(^|[/._-])(examples?|samples?|templates?|tmpl|tpl|tests?|testdata|docs|demo|dummy|fixtures|e2e)([/._-]|$)", re.I)


def places(files, read, rng, applied):
    """applied: the files that a cluster applies; of others a finding is information."""
    has_vault = any(b"vault" in (read(path) or b"") for path in files if path.endswith(".sops.yaml"))
    for path in files:
        text = read(path)
        if text is None or EXAMPLE.search(path):
            continue
        at = re.search(rb"^sops:\s*$", text, re.M)
        if at and SECRET.search(text) and len(re.findall(rb"^sops:", text, re.M)) == 1:
            for place in encrypted(path, text, at.start(), rng):
                if place.row != "SOPS: other recipient" or not has_vault:
                    yield place._replace(info=place.info or bool(applied) and path not in applied)
        if re.search(rb"^kind: SealedSecret\s*$", text, re.M):
            yield from sealed(path, text, rng, is_moved(path, read))


def encrypted(path, text, sops, rng):
    whole = lines(path, text, sops, len(text))
    for row, pattern, info in (
        ("SOPS: no mac", rb"^  +mac: .*\n", False), ("SOPS: no lastmodified", rb"^  +lastmodified: .*\n", False),
    ):
        match = re.search(pattern, text[sops:], re.M)
        if match:
            yield Place(row, path, sops + match.start(), sops + match.end(), "", path, whole, info)
    match = re.search(rb"^ +enc: \|\n((?: +.*\n)*?) +-----END [A-Z ]+-----\n", text[sops:], re.M)
    if match:
        cut = sops + match.start(1) + match[1].find(b"\n", len(match[1]) // 2)
        yield Place("SOPS: data key cut off", path, cut, sops + match.end(), "\n", path, whole)
    match = re.search(rb"recipient: (age1[a-z0-9]+)", text[sops:])
    if match:
        new = match[1].decode()
        new = new[:-3] + ("qqq" if not new.endswith("qqq") else "zzz")
        yield Place("SOPS: other recipient", path, sops + match.start(1), sops + match.end(1), new, path, ((path, 1, 10**6),), True)
    match = re.search(rb"encrypted_regex: (\^\(data\|stringData\)\$)", text[sops:])
    if match:
        yield Place("SOPS: encrypted_regex of a file", path, sops + match.start(1), sops + match.end(1), "^(dta|stringDat)$", path, ((path, 1, 10**6),))
    for match in list(ENCRYPTED.finditer(text[:sops]))[:1]:
        yield Place("SOPS: value in the open", path, match.start(2), match.end(2), "hunter2-" + "wq8Zk3", path, lines(path, text, match.start()))
        yield Place("SOPS: value cut off", path, match.end(2) - 24, match.end(2), "", path, lines(path, text, match.start()))
    name = path.rsplit("/", 1)
    plain = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: seeded\nstringData:\n  password: wq8Zk3-correct-horse-17\n"
    other = "/".join(name[:-1] + ["seeded-" + name[-1]])
    yield Place("SOPS: in the open where a rule encrypts", path, 0, 0, "", other, ((other, 1, 10),), False, ((other, plain),))


def is_moved(path, read):
    """Whether a kustomization at or above a file sets the namespace, whatever the file says."""
    folders = path.split("/")[:-1]
    above = ["/".join(folders[:count] + ["kustomization.yaml"]) for count in range(len(folders) + 1)]
    return any(re.search(rb"^namespace:", read(each) or b"", re.M) for each in above)


def sealed(path, text, rng, moved):
    # A name in the template that is not the object's own is told as well, but does no harm:
    # the controller takes the object's.
    for row, key in (("SealedSecret: namespace", rb"namespace"), ("SealedSecret: name", rb"name")):
        match = re.search(rb"\nmetadata:\n(?:  .*\n)*?  " + key + rb": ([a-z0-9-]+)\n", text)
        twin = match and re.search(rb"^      " + key + rb": " + re.escape(match[1]) + rb"$", text, re.M)
        new = twin and slip(rng, match[1].decode(), ())
        wide = b"sealedsecrets.bitnami.com/" in text or key == b"namespace" and moved
        if new and not wide:
            yield Place(row, path, match.start(1), match.end(1), new, path, lines(path, text, match.start(1)))
    name = re.search(rb"^  name: (\S+)$", text, re.M)
    folder = path.rsplit("/", 1)[0] if "/" in path else "."
    if name:
        other = f"{folder}/seeded.yaml"
        plain = f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: {name[1].decode()}\nstringData:\n  password: wq8Zk3-correct-horse-17\n"
        yield Place("SealedSecret: plain twin", path, 0, 0, "", other, ((other, 1, 10),), False, ((other, plain),))
