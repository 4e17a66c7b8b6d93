//! Trees that are changed at random, in their structure and in their text.

use super::random::Random;
use serde_yaml::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Files by path.
pub(crate) type Tree = BTreeMap<String, String>;

/// Scalars that something reads as a number, a time, a name, a path, a pattern.
const SCALARS: &[&str] = &[
    "",
    "~",
    "null",
    "true",
    "yes",
    "0",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "1e400",
    ".inf",
    "0x7fffffffffffffff",
    "99999999999999999999h",
    "-1h",
    "1h-1m",
    "2562047h47m16.854775807s",
    "0s",
    "2026-03-27T09:00:00Z",
    "9999-12-31T23:59:59Z",
    "0000-01-01T00:00:00Z",
    "-009999-01-01T00:00:00Z",
    "TZ=Europe/Berlin 0 0 31 2 *",
    "*/0 * * * *",
    "60 24 32 13 8",
    "@every -1h",
    "${A}",
    "${A:-${B:-${C}}}",
    "${A//",
    "$${A}",
    "${A:=b}",
    "${A:1:-99}",
    "${A,,}",
    ".",
    "..",
    "/",
    "../..",
    "./",
    "//",
    "./clusters/production",
    "a/../../b",
    "https://[::1",
    "git@host:a/b",
    "oci://x",
    "(a",
    "[z-a]",
    "a{9999}{9999}",
    "*",
    "**",
    "v1.99999999999999999999.0",
    "v1.31.0-rc.1+b",
    ">=1.0.0 <x",
    "kubernetes",
    "Kustomization",
    "kustomize.toolkit.fluxcd.io/v1",
    "v1",
    "/",
    "a/b/c/d",
    "\u{202e}x",
    "é",
    "a\nb",
    "a\tb",
    "'",
    "\"",
    ": ",
    "- ",
    "# x",
    "&a",
    "*a",
    "!!binary x",
    "<<",
    "$patch",
    "flux-system",
    "apps",
    "default",
];

/// What a hand, or an attacker, puts into a text.
const SNIPPETS: &[&str] = &[
    "\n",
    "  ",
    ":",
    "- ",
    "'",
    "\"",
    "{",
    "[",
    "}",
    "#",
    "&a ",
    "*a",
    "|\n",
    ">-\n",
    "\t",
    "---\n",
    "...\n",
    "<<: *a\n",
    "? ",
    "!!str ",
    "!x ",
    "\u{feff}",
    "\r\n",
    "\r",
    "\u{85}",
    "${",
    "{{ .x }}",
    "%YAML 1.2\n",
    "\0",
    "kind: List\nitems:\n",
    "$patch: delete\n",
    "# forebay: ignore[all] x\n",
    "- op: remove\n  path: /-1\n",
];

/// The same, in a template of a chart.
const ACTIONS: &[&str] = &[
    "{{ if .Values.a }}",
    "{{- if and .Values.a (not .Values.b) -}}",
    "{{ else }}",
    "{{ end }}",
    "{{- end -}}",
    "{{ with .Values }}",
    "{{ range $key, $value := .Values }}",
    "{{ range until 3 }}",
    "{{ break }}",
    "{{ define \"x\" }}",
    "{{ include \"x\" . }}",
    "{{ template \"x\" $ }}",
    "{{ include .Values.a . }}",
    "{{ include (print $.Template.BasePath \"/a.yaml\") . | sha256sum }}",
    "{{ tpl (toYaml .Values) . }}",
    "{{ tpl .Values.a $ }}",
    "{{ fail .Values.a }}",
    "{{ required \"a\" .Values.b }}",
    "{{ .Values.a.b.c }}",
    "{{ index .Values \"a\" 0 }}",
    "{{ dig \"a\" \"b\" \"c\" .Values }}",
    "{{ toYaml .Values | nindent 4 }}",
    "{{ toJson . }}",
    "{{ fromYaml .Values.a }}",
    "{{ $d := dict \"a\" .Values }}{{ $_ := set $d \"d\" $d }}{{ $d.d.d.a }}",
    "{{ merge (dict) .Values .Values }}",
    "{{ mergeOverwrite .Values (dict \"a\" 1) }}",
    "{{ omit .Values \"a\" | toYaml }}",
    "{{ deepCopy .Values | toJson }}",
    "{{ repeat 2000 \"a\" }}",
    "{{ regexReplaceAll \"(a{9})*\" .Values.a \"${1}\" }}",
    "{{ printf \"%*d %!v %[9]s\" .Values.a }}",
    "{{ semverCompare \">=1.2-0\" .Capabilities.KubeVersion.Version }}",
    "{{ if .Capabilities.APIVersions.Has \"a/v1\" }}",
    "{{ (lookup \"v1\" \"Secret\" \"a\" \"b\").data }}",
    "{{ randAlphaNum 5 | b64enc }}",
    "{{ now | date \"2006\" }}",
    "{{ .Files.Get .Values.a }}",
    "{{ (.Files.Glob \"**\").AsConfig }}",
    "{{ .Subcharts }}",
    "{{ $x := 1 }}{{ $x = .Values }}{{ $y }}",
    "{{/* a */}}",
    "{{/*",
    "{{",
    "}}",
    "{{`",
    "{{ \"\\x\" }}",
    "---\n",
    "metadata: {annotations: {helm.sh/hook: pre-install}}\n",
];

/// The trees to begin with: the mini-repositories and fixtures.
pub(crate) fn seeds() -> Vec<Tree> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut trees = Vec::new();
    for directory in ["tests/projects", "fixtures"] {
        let mut projects: Vec<_> = std::fs::read_dir(root.join(directory))
            .expect("projects")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.is_dir())
            .collect();
        projects.sort();
        for project in projects {
            let mut tree = Tree::new();
            for entry in walkdir::WalkDir::new(&project).sort_by_file_name().into_iter().flatten() {
                let Ok(text) = std::fs::read_to_string(entry.path()) else { continue };
                let path = entry.path().strip_prefix(&project).expect("below it");
                tree.insert(path.to_string_lossy().replace('\\', "/"), text);
            }
            if (1..60).contains(&tree.len()) {
                trees.push(tree);
            }
        }
    }
    trees
}

/// Every node of a value, as paths of positions.
fn places(value: &Value, at: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    found.push(at.clone());
    let children: Vec<&Value> = match value {
        Value::Mapping(map) => map.values().collect(),
        Value::Sequence(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    for (index, child) in children.into_iter().enumerate() {
        at.push(index);
        places(child, at, found);
        at.pop();
    }
}

fn at_mut<'v>(value: &'v mut Value, place: &[usize]) -> Option<&'v mut Value> {
    place.iter().try_fold(value, |value, index| match value {
        Value::Mapping(map) => map.values_mut().nth(*index),
        Value::Sequence(items) => items.get_mut(*index),
        _ => None,
    })
}

fn scalar(random: &mut Random) -> Value {
    let text = *random.pick(SCALARS);
    match random.one_in(2) {
        true => Value::String(text.to_owned()),
        false => serde_yaml::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
    }
}

/// One change of the structure of a document.
fn restructure(document: &mut Value, donors: &[Value], random: &mut Random) {
    let mut all = Vec::new();
    places(document, &mut Vec::new(), &mut all);
    let place = random.pick(&all).clone();
    let other = random.pick(&all).clone();
    let copy = at_mut(document, &other).cloned().unwrap_or_default();
    let donor = random.pick(donors).clone();
    let target = at_mut(document, &place).expect("places are of this document");
    match random.below(9) {
        0 => *target = scalar(random),
        1 => *target = copy,
        2 => *target = Value::Sequence(vec![target.clone(), copy]),
        3 => *target = donor,
        4 => *target = Value::Mapping([(scalar(random), target.clone())].into_iter().collect()),
        5 => match target {
            Value::Mapping(map) if !map.is_empty() => {
                let key = map.keys().nth(random.below(map.len())).cloned().expect("one of them");
                map.remove(&key);
            }
            Value::Sequence(items) if !items.is_empty() => drop(items.remove(random.below(items.len()))),
            other => *other = Value::Null,
        },
        6 => match target {
            Value::Mapping(map) if !map.is_empty() => {
                let key = map.keys().nth(random.below(map.len())).cloned().expect("one of them");
                let value = map.remove(&key).unwrap_or_default();
                map.insert(scalar(random), value);
            }
            Value::Sequence(items) if !items.is_empty() => {
                let item = items[random.below(items.len())].clone();
                let times = 1 + random.below(4);
                items.extend(std::iter::repeat_n(item, times));
            }
            other => *other = scalar(random),
        },
        7 => {
            for _ in 0..random.below(12) {
                *target = Value::Sequence(vec![std::mem::take(target)]);
            }
        }
        _ => {
            if let Value::Mapping(map) = target {
                map.insert(scalar(random), scalar(random));
            } else {
                *target = scalar(random);
            }
        }
    }
}

/// Change the text of a file: its documents, or its bytes, to which these snippets come.
fn mutate_text(text: &str, snippets: &[&str], donors: &[Value], random: &mut Random) -> String {
    let parsed: Result<Vec<Value>, _> =
        serde_yaml::Deserializer::from_str(text).map(<Value as serde::Deserialize>::deserialize).collect();
    if let (Ok(mut documents), false) = (parsed, random.one_in(3))
        && !documents.is_empty()
    {
        for _ in 0..=random.below(3) {
            let at = random.below(documents.len());
            restructure(&mut documents[at], donors, random);
        }
        if random.one_in(4) {
            documents.push(random.pick(donors).clone());
        }
        let texts: Vec<String> = documents.iter().filter_map(|one| serde_yaml::to_string(one).ok()).collect();
        return texts.join("---\n");
    }
    let mut text = text.to_owned();
    for _ in 0..=random.below(3) {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let (from, to) = (*random.pick(&places), *random.pick(&places));
        let (from, to) = (from.min(to), from.max(to));
        match random.below(4) {
            0 => text.insert_str(from, random.pick::<&str>(snippets)),
            1 => {
                let end = text[from..to].char_indices().nth(40).map_or(to, |(at, _)| from + at);
                text.replace_range(from..end, "");
            }
            2 => text.insert_str(from, random.pick::<&str>(SCALARS)),
            _ => {
                let copied = text[from..to].to_owned();
                text.insert_str(to, &copied);
            }
        }
        if text.len() > 200_000 {
            break;
        }
    }
    text
}

/// Change a tree: some of its files, sometimes their names.
pub(crate) fn mutate(tree: &Tree, donors: &[Value], random: &mut Random) -> Tree {
    let mut tree = tree.clone();
    for _ in 0..=random.below(4) {
        let paths: Vec<String> = tree.keys().cloned().collect();
        if paths.is_empty() {
            return tree;
        }
        let path = random.pick(&paths).clone();
        match random.below(12) {
            0 => drop(tree.remove(&path)),
            1 => {
                let text = tree.remove(&path).unwrap_or_default();
                tree.insert(random.pick(&paths).clone(), text);
            }
            2 => {
                let (directory, name) = path.rsplit_once('/').unwrap_or(("", &path));
                let copy = format!("{directory}/copy/{name}").trim_start_matches('/').to_owned();
                tree.insert(copy, tree[&path].clone());
            }
            3 if random.one_in(3) => drop(tree.insert(path, String::new())),
            _ => {
                let snippets = if path.contains("templates/") { ACTIONS } else { SNIPPETS };
                let text = mutate_text(&tree[&path], snippets, donors, random);
                tree.insert(path, text);
            }
        }
    }
    // A file can't be a directory too.
    let names: Vec<String> = tree.keys().cloned().collect();
    tree.retain(|path, _| {
        !names.iter().any(|other| other.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')))
    });
    tree
}

/// Documents to put into others.
pub(crate) fn donors(seeds: &[Tree]) -> Vec<Value> {
    seeds
        .iter()
        .flat_map(Tree::values)
        .flat_map(|text| {
            serde_yaml::Deserializer::from_str(text).map(<Value as serde::Deserialize>::deserialize)
        })
        .map_while(Result::ok)
        .filter(|value: &Value| value.is_mapping())
        .collect()
}

/// Put so many documents into a tree, each of them changed, ten to a file: applied by
/// nobody, or by a kustomization that lists them.
pub(crate) fn add_documents(tree: &mut Tree, count: usize, donors: &[Value], random: &mut Random) {
    let mut names = Vec::new();
    for file in 0..count.div_ceil(10) {
        let documents = (0..10.min(count - 10 * file)).filter_map(|_| {
            let mut document = random.pick(donors).clone();
            for _ in 0..=random.below(3) {
                restructure(&mut document, donors, random);
            }
            serde_yaml::to_string(&document).ok()
        });
        let text = documents.collect::<Vec<_>>().join("---\n");
        let name = format!("{file}.yaml");
        tree.insert(format!("more/{name}"), text);
        names.push(name);
    }
    if count > 0 && random.one_in(2) {
        tree.insert("more/kustomization.yaml".into(), format!("resources: [{}]\n", names.join(", ")));
    }
}
