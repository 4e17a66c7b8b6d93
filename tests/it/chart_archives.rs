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

/// Files that stay packed until a template asks for them.
#[test]
fn templates_read_the_files_of_an_archive_as_of_its_folder() {
    const FILES: [(&str, &str); 6] = [
        ("README.md", "---\nread\n---\nme\n"),
        ("docs/marked.txt", "\u{feff}marked\nline\n"),
        ("docs/a.txt", "first\n"),
        ("docs/empty.txt", ""),
        ("charts/db/ci/values.yaml", "of: db\n"),
        ("tests/t.json", "{\"t\": [1]}\n"),
    ];
    let map = "kind: ConfigMap\nread: {{ .Files.Get \"README.md\" | quote }}\n\
               none: {{ .Files.Get \"nothing\" | quote }}\n\
               lines: {{ .Files.Lines \"docs/marked.txt\" | toJson }}\n\
               json: {{ (.Files.Get \"tests/t.json\" | fromJson).t }}\n\
               data:\n{{ (.Files.Glob \"docs/*\").AsConfig | indent 2 }}\n\
               secret:\n{{ (.Files.Glob \"*.md\").AsSecrets | indent 2 }}\n\
               names: [{{ range $name, $_ := .Files }}{{ $name }}, {{ end }}]\n";
    // Longer than a header of tar holds: what says the name stands before the file.
    let long = format!("docs/{}.md", "long".repeat(26));
    let inner =
        ("charts/db/templates/map.yaml", "kind: Secret\nof: {{ .Files.Get \"ci/values.yaml\" | quote }}");
    let long = (&*long, "behind its name\n");
    let files = [&[OWN, VALUES, INNER, long, inner, ("templates/map.yaml", map)][..], &FILES].concat();
    let out = equal("files", "web", &files);
    for expected in [
        "read: \"---\\nread\\n---\\nme\\n\"",
        "none: \"\"",
        "lines: [\"marked\",\"line\"]",
        "json: [1]",
        "a.txt: |\n    first",
        "README.md: LS0tCnJlYWQKLS0tCm1lCg==",
        "of: \"of: db\\n\"",
        "names: [README.md, docs/a.txt, docs/empty.txt, docs/longlong",
        "marked.txt: |\n",
        "longlong.md: |\n    behind its name",
    ] {
        assert!(out.contains(expected), "{expected}: {out}");
    }
}

/// Schemas that the chart's own refers to stay packed only where nothing is validated.
#[test]
fn schemas_of_an_archive_answer_as_those_of_its_folder() {
    let schema = (
        "values.schema.json",
        "{\"$schema\": \"http://json-schema.org/draft-07/schema#\", \"properties\": {\"a\": {\"$ref\": \
         \"https://example.org/web/schemas/a.json\"}}}",
    );
    let text = ("schemas/a.json", "{\"type\": \"integer\"}");
    let [folder, archive] = both("web", &[OWN, VALUES, MAP, schema, text]);
    for run in [folder, archive] {
        assert_eq!(run.0, 1, "{}", run.2);
        assert!(run.2.contains("at '/a': got string, want integer"), "{}", run.2);
    }
    let scratch = Scratch::new(&[]);
    scratch.write("web.tgz", &packed("web", &[OWN, VALUES, MAP, schema, text]));
    let run = scratch.forebay(&["chart", "template", "rel", "web.tgz", "--skip-schema-validation"]);
    assert_eq!(run.code, 0, "{}", run.err);
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
