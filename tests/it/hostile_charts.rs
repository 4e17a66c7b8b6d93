//! Charts made to hurt: each ends with its bound named, or as Helm ends it.

use crate::support::charts::Template;
use forebay::internals::build::helm::{Chart, HelmLine, RenderError};
use forebay::internals::files::Store;
use forebay::internals::lang::template::{Engine, EngineRun, Limits, with_stack};
use std::fmt::Write as _;
use std::io::Write as _;
use std::panic::catch_unwind;

const CHART: &str = "apiVersion: v2\nname: t\nversion: 0.1.0\n";

fn chart(files: &[(&str, &str)]) -> Template {
    let mut template = Template::default();
    template.files.insert("Chart.yaml".to_owned(), CHART.into());
    template.files.extend(files.iter().map(|(name, text)| ((*name).to_owned(), (*text).into())));
    template
}

fn template(text: &str) -> Template {
    chart(&[("templates/a.yaml", text)])
}

/// What becomes of it: `ok`, Helm's words, or the bound.
fn end(template: &Template) -> String {
    shown(template.run(HelmLine::V4_2).output)
}

fn shown(output: Result<String, RenderError>) -> String {
    match output {
        Ok(_) => "ok".to_owned(),
        Err(RenderError::Refused(refusal)) => format!("refused: {}", refusal.message),
        Err(RenderError::Unable(why)) => format!("unable: {why}"),
    }
}

/// A packed archive of these members.
fn packed(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive =
        tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        // The name as it is: the library refuses some of them.
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append(&header, bytes.as_slice()).expect("written");
    }
    archive.into_inner().and_then(flate2::write::GzEncoder::finish).expect("packed")
}

fn unpack(bytes: &[u8]) -> String {
    let store = Store::default();
    shown(Chart::of_archive(bytes, &store, HelmLine::V4_2).map(|chart| chart.name().to_owned()))
}

#[test]
fn archives_are_bounded() {
    let own = || ("t/Chart.yaml", CHART.as_bytes().to_vec());
    let zeros = |mebibytes: usize| vec![0_u8; mebibytes << 20];
    let whole = packed(&[own(), ("t/big", (0..40_000_u32).flat_map(u32::to_le_bytes).collect())]);
    let names: Vec<String> = (0..20_001).map(|at| format!("t/f{at}")).collect();
    let many: Vec<(&str, Vec<u8>)> = names.iter().map(|name| (&**name, Vec::new())).collect();
    let mut lying = tar::Header::new_gnu();
    lying.set_path("t/Chart.yaml").expect("a name");
    lying.set_size(1 << 40);
    lying.set_cksum();
    let mut lie = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    lie.write_all(lying.as_bytes()).expect("written");
    let lie = lie.finish().expect("packed");
    let mut link = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    link.append_link(&mut header, "t/Chart.yaml", "/etc/passwd").expect("written");
    let link = link.into_inner().and_then(flate2::write::GzEncoder::finish).expect("packed");
    for (what, bytes, expected) in [
        ("a whole one", whole.clone(), "ok"),
        ("no archive", b"apiVersion: v2\n".to_vec(), "gzip: invalid header"),
        ("an empty one", packed(&[]), "no files in chart archive"),
        ("a file of zeros", packed(&[own(), ("t/zeros", zeros(6))]), "larger than the maximum file size"),
        (
            "files of zeros",
            packed(&[&[own()][..], &vec![("t/z", zeros(5)); 25]].concat()),
            "decompressed chart is larger than the maximum size",
        ),
        ("members", packed(&many), "unable: more than forebay's bound: 20000 members"),
        ("a size that lies", lie, "larger than the maximum size"),
        ("half of it", whole[..whole.len() / 2].to_vec(), "unexpected EOF"),
        ("a parent", packed(&[own(), ("t/../../x", Vec::new())]), "illegally references parent directory"),
        (
            "an absolute path",
            packed(&[own(), ("t//etc/passwd", Vec::new())]),
            "illegally contains absolute paths",
        ),
        ("a drive", packed(&[own(), ("t/C:/x", Vec::new())]), "illegally named files"),
        ("a link", link, "chart.metadata.name is required"),
        ("two of one name", packed(&[own(), ("t/Chart.yaml", b"name: u\n".to_vec())]), "ok"),
        ("another name", packed(&[("t/chart.yaml", Vec::new())]), "no Chart.yaml found"),
    ] {
        let end = unpack(&bytes);
        assert!(end.contains(expected), "{what}: {end}");
    }
}

#[test]
fn charts_within_charts_are_bounded() {
    let mut deep = chart(&[]);
    let mut path = String::new();
    for _ in 0..40 {
        path.push_str("charts/s/");
        deep.files.insert(format!("{path}Chart.yaml"), CHART.into());
    }
    assert!(end(&deep).contains("32 charts within charts"), "{}", end(&deep));
    // Two aliases of a chart that has two of another, and so on.
    let mut doubled = chart(&[]);
    let mut path = String::new();
    let own = "apiVersion: v2\nname: s\nversion: 0.1.0\ndependencies:\n\
               - {name: s, version: '*', repository: '', alias: a}\n- {name: s, version: '*', repository: '', alias: b}\n";
    doubled.files.insert("Chart.yaml".to_owned(), own.into());
    for _ in 0..25 {
        path.push_str("charts/s/");
        doubled.files.insert(format!("{path}Chart.yaml"), own.into());
    }
    assert!(end(&doubled).contains("2000 charts in a release"), "{}", end(&doubled));
}

/// Two maps of which each level holds the next twice: small in memory, and larger than any
/// when they are written.
fn shared(last: &str) -> String {
    format!(
        "{{{{ $d := dict \"x\" 1 }}}}{{{{ $e := dict \"x\" 1 }}}}{{{{ range until 60 }}}}\
         {{{{ $d = dict \"a\" $d \"b\" $d }}}}{{{{ $e = dict \"a\" $e \"b\" $e }}}}{{{{ end }}}}a: {{{{ {last} }}}}"
    )
}

#[test]
fn templates_are_bounded() {
    let doubling = format!("{{{{ $x := \"aaaaaaaa\" }}}}{}", "{{ $x = printf \"%s%s\" $x $x }}".repeat(40));
    let bomb = "{{ $b := \"a: &a [x,x,x,x,x,x,x,x,x]\\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\" }}a: {{ (fromYaml $b).Error | quote }}";
    for (what, text, expected) in [
        (
            "an include of itself",
            "{{ define \"x\" }}{{ include \"x\" . }}{{ end }}{{ include \"x\" . }}",
            "nested reference name",
        ),
        (
            "a template of itself",
            "{{ define \"x\" }}{{ template \"x\" . }}{{ end }}{{ template \"x\" . }}",
            "templates within templates",
        ),
        (
            "tpl of itself",
            "{{ $x := \"{{ tpl .x . }}\" }}{{ tpl $x (dict \"x\" $x \"Template\" .Template) }}",
            "within templates",
        ),
        ("repeat", "a: {{ repeat 1000000000 \"x\" }}", "unable: more than forebay's bound"),
        ("until", "a: {{ until 1000000000 | len }}", "unable: more than forebay's bound"),
        ("lists in a range", "{{ range until 100 }}{{ $x := until 900000 }}{{ end }}", "steps"),
        (
            "much output",
            "{{ range until 1000000 }}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa{{ end }}",
            "bytes of output",
        ),
        ("doubling", &doubling, "unable: more than forebay's bound"),
        (
            "a pattern that others go back in",
            "a: {{ regexMatch \"^(a+)+$\" (printf \"%sb\" (repeat 50000 \"a\")) }}",
            "ok",
        ),
        ("a large pattern", "a: {{ regexMatch \"((a{500}){500}){500}\" \"a\" }}", "ok"),
        ("aliases in fromYaml", bomb, "ok"),
        ("indentation", "a: {{ repeat 10000 \"\\n\" | indent 100000 }}", "unable: more than forebay's bound"),
        (
            "a large text many times, as YAML",
            "a: {{ $x := repeat 6000 (repeat 10000 \"x\") }}{{ $l := list }}{{ range until 20 }}{{ $l = append $l $x }}{{ end }}{{ toYaml $l | len }}",
            "bytes of a text",
        ),
        ("many documents", "{{ range until 20000 }}---\na: {{ . }}\n{{ end }}", "ok"),
        ("no end", "{{ range until 3 }}", "parse error"),
        ("deep brackets", &format!("a: {{{{ {}1{} }}}}", "(".repeat(3000), ")".repeat(3000)), "deep"),
    ] {
        let end = end(&template(text));
        assert!(end.contains(expected), "{what}: {}", end.chars().take(300).collect::<String>());
    }
    let mut broken = chart(&[]);
    broken.files.insert("templates/a.yaml".to_owned(), vec![0xff, b'a']);
    assert!(end(&broken).contains("not UTF-8"));
}

/// As [`end`], of a text alone, which may take few steps: what counts them is the same.
fn end_within(steps: u64, text: &str) -> String {
    let limits = Limits { steps, ..Limits::default() };
    with_stack(|| {
        let mut engine = Engine::new(&EngineRun { limits, ..EngineRun::default() });
        assert_eq!(engine.add("t", text), []);
        let nothing = engine.data().map(Vec::new(), None);
        match engine.run("t", &nothing) {
            Ok(_) => "ok".to_owned(),
            Err(failure) => failure.bound.map_or(failure.chain.join("; "), |bound| bound.to_string()),
        }
    })
    .expect("a thread")
}

#[test]
fn steps_of_templates_are_bounded() {
    const STEPS: u64 = 100_000;
    for (what, text, expected) in [
        ("a range over a number", "{{ range 1000000000 }}{{ end }}", "steps"),
        ("ranges in ranges", "{{ range until 10000 }}{{ range until 10000 }}{{ end }}{{ end }}", "steps"),
        (
            "a list that is copied each time",
            "{{ $x := until 5000 }}{{ range until 5000 }}{{ $y := append $x 1 }}{{ end }}",
            "steps",
        ),
        ("a range that ends", "{{ range 10000 }}{{ end }}", "ok"),
        ("shared values, as YAML", &shared("toYaml $d"), "steps"),
        ("shared values, as JSON", &shared("toJson $d"), "steps"),
        ("shared values, as TOML", &shared("toToml $d"), "steps"),
        ("shared values, copied", &shared("deepCopy $d | len"), "steps"),
        ("shared values, compared", &shared("deepEqual $d $e"), "steps"),
        ("shared values, compared as they are not", &shared("eq $d $e"), "steps"),
        ("shared values, looked for", &shared("has $d (list $e)"), "steps"),
        ("shared values, each once", &shared("uniq (list $d $e) | len"), "steps"),
        ("shared values, merged", &shared("merge $d $e | len"), "steps"),
    ] {
        let end = end_within(STEPS, text);
        assert!(end.contains(expected), "{what}: {end}");
    }
}

#[test]
fn values_are_bounded() {
    let mut laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(",");
        let _ = writeln!(laughs, "a{level}: &a{level} [{aliases}]");
    }
    let deep = format!("a: {}{}", "[".repeat(20_000), "]".repeat(20_000));
    for (what, text, expected) in [
        ("aliases", &*laughs, "excessive aliasing"),
        ("depth", &deep, "too deeply"),
        ("an alias of itself", "a: &a [*a]", "contains itself"),
    ] {
        let file = chart(&[("values.yaml", text), ("templates/a.yaml", "a: 1\n")]);
        assert!(end(&file).contains(expected), "{what}: {}", end(&file));
        let given = Template { values: text.to_owned(), ..template("a: 1\n") };
        assert!(end(&given).contains(expected), "{what}: {}", end(&given));
    }
    // Helm cuts a file into documents by its lines, the parser by its syntax.
    let cut = chart(&[("values.yaml", "# b\n---\nb: 1\n"), ("templates/a.yaml", "v: {{ .Values.b }}\n")]);
    assert_eq!(end(&cut), "ok");
    let mut bytes = chart(&[]);
    bytes.files.insert("values.yaml".to_owned(), vec![b'a', b':', b' ', 0xff]);
    assert!(end(&bytes).contains("UTF-8"));
}

#[test]
fn schemas_are_bounded() {
    let all = |count: usize, next: &str| vec![next; count].join(",");
    let mut wide = String::from("{\"$defs\":{\"d0\":{\"type\":\"string\"}");
    for level in 1..40 {
        let inner = format!("{{\"$ref\":\"#/$defs/d{}\"}}", level - 1);
        let _ = write!(wide, ",\"d{level}\":{{\"anyOf\":[{}]}}", all(2, &inner));
    }
    wide.push_str("},\"$ref\":\"#/$defs/d39\"}");
    let links: String =
        (1..6_000).map(|at| format!("\"d{}\":{{\"$ref\":\"#/$defs/d{at}\"}},", at - 1)).collect();
    let chain = format!("{{\"$ref\":\"#/$defs/d0\",\"$defs\":{{{links}\"d5999\":{{}}}}}}");
    for (what, text, expected) in [
        ("a circle", "{\"$ref\":\"#\"}", "refused"),
        ("alternatives of alternatives", &*wide, "unable: more than forebay's bound"),
        ("a pattern that is none", "{\"pattern\":\"(\"}", "refused"),
        ("what lies elsewhere", "{\"$ref\":\"https://example.com/x.json\"}", "ok"),
        ("a pointer to nothing", "{\"$ref\":\"#/a\"}", "refused"),
        ("depth", &format!("{}{}", "{\"not\":".repeat(200_000), "}".repeat(200_000)), "refused"),
        ("a chain", &chain, "unable: more than forebay's bound"),
    ] {
        let end = end(&chart(&[("values.schema.json", text), ("templates/a.yaml", "a: 1\n")]));
        assert!(end.starts_with(expected), "{what}: {}", end.chars().take(300).collect::<String>());
    }
}

#[test]
fn patterns_of_helmignore_go_once_through_a_name() {
    let stars = "*a".repeat(2_000);
    let name = format!("templates/{}", "a".repeat(3_000));
    let file = chart(&[(".helmignore", &stars), (&name, "a: 1\n")]);
    assert_eq!(end(&file), "ok");
    assert!(end(&chart(&[(".helmignore", "**/a\n")])).contains("double-star"));
    assert!(end(&chart(&[(".helmignore", "[\n")])).contains("syntax error in pattern"));
}

#[test]
fn a_bug_on_a_deep_stack_is_one_where_it_was_asked_for() {
    let outcome = catch_unwind(|| with_stack(|| assert!(std::env::args().count() == 0, "a bug")));
    assert!(outcome.is_err());
}
