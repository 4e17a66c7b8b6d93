//! Packed charts, whose templates are parsed while the rest of them is unpacked: what comes of
//! an archive is what comes of the same files in a folder, wherever its templates lie.

use crate::support::archive::packed;
use crate::support::scratch::Scratch;

/// Files of a chart, by their paths below it.
type Files<'f> = &'f [(&'f str, &'f str)];

const OWN: (&str, &str) = ("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
const VALUES: (&str, &str) = ("values.yaml", "a: one\n");
const MAP: (&str, &str) = (
    "templates/map.yaml",
    "kind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {a: {{ .Values.a }}}\n",
);
const INNER: (&str, &str) = ("charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 2.0.0\n");
const INNER_NAME: (&str, &str) =
    ("charts/db/templates/_n.tpl", "{{ define \"n\" }}db-{{ .Chart.Name }}{{ end }}");
const INNER_MAP: (&str, &str) = (
    "charts/db/templates/map.yaml",
    "kind: Secret\nmetadata: {name: {{ include \"n\" . }}}\nof: {{ .Template.Name }}\n",
);

/// What the folder and the archive print and complain of, and their exit codes.
fn both(top: &str, files: Files<'_>) -> [(i32, String, String); 2] {
    let scratch = Scratch::new(&[]);
    for (path, text) in files {
        scratch.write(&format!("{top}/{path}"), text.as_bytes());
    }
    scratch.write("web.tgz", &packed(top, files));
    [top, "web.tgz"].map(|chart| {
        let run = scratch.forebay(&["chart", "template", "rel", chart]);
        (run.code, run.out, run.err)
    })
}

fn equal(what: &str, top: &str, files: Files<'_>) -> String {
    let [folder, archive] = both(top, files);
    assert_eq!(folder, archive, "{what}");
    assert_eq!(archive.0, 0, "{what}: {}", archive.2);
    archive.1
}

#[test]
fn an_archive_renders_as_its_folder() {
    let out = equal("templates first", "web", &[MAP, OWN, VALUES]);
    assert!(out.contains("data: {a: one}"), "{out}");
    let out = equal("a directory of another name", "other", &[OWN, VALUES, MAP]);
    assert!(out.contains("# Source: web/templates/map.yaml"), "{out}");
    let out = equal("a chart in it", "web", &[OWN, MAP, VALUES, INNER, INNER_NAME, INNER_MAP]);
    assert!(out.contains("{name: db-db}\nof: web/charts/db/templates/map.yaml"), "{out}");
    let alias = (
        "Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- {name: db, version: 2.0.0, alias: store}\n",
    );
    let out = equal("an alias", "web", &[alias, MAP, VALUES, INNER, INNER_NAME, INNER_MAP]);
    assert!(out.contains("of: web/charts/store/templates/map.yaml"), "{out}");
    let marked = ("templates/map.yaml", "\u{feff}kind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n");
    let out = equal("a byte order mark", "web", &[OWN, marked, VALUES]);
    assert!(!out.contains('\u{feff}'), "{out}");
    let paths: Vec<String> = (0..40).map(|at| format!("templates/m{at}.yaml")).collect();
    let named = |path| (path, "kind: ConfigMap\nname: {{ .Template.Name }}\n");
    let same: Vec<(&str, &str)> = paths.iter().map(|path| named(&**path)).chain([OWN]).collect();
    let out = equal("one text under many names", "web", &same);
    assert!(out.contains("web/templates/m7.yaml\n") && out.contains("web/templates/m39.yaml\n"), "{out}");
    equal("no templates at all", "web", &[OWN, VALUES]);
}

#[test]
fn an_archive_is_refused_as_its_folder() {
    for (template, word) in
        [("a: {{ if }}\n", "web/templates/map.yaml:1"), ("{{ fail \"no\" }}\n", "no"), ("a: [\n", "YAML")]
    {
        let [folder, archive] = both("web", &[OWN, ("templates/map.yaml", template), VALUES]);
        assert_eq!((folder.0, archive.0), (1, 1), "{template}");
        assert_eq!(folder.2, archive.2, "{template}");
        assert!(archive.2.contains(word), "{template}: {}", archive.2);
    }
    // Templates are there, the chart is none.
    let [folder, archive] = both("web", &[MAP, VALUES]);
    assert_eq!((folder.0, archive.0), (1, 1));
    assert!(archive.2.contains("Chart.yaml"), "{}", archive.2);
}
