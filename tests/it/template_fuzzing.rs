//! Templates of every function and random arguments, and their texts changed at random:
//! each ends within its bounds, with a text or an error, and without a panic.
//!
//! `FOREBAY_FUZZ` and `FOREBAY_SEED` as in [`crate::fuzzing`]: fifty templates for a tree.

use crate::support::random::Random;
use forebay::internals::lang::template::{Engine, EngineRun, Limits, page, with_stack};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Arguments that are ordinary, at an edge, or hostile.
const ARGUMENTS: &[&str] = &[
    ".",
    ".a",
    ".l",
    ".m.x",
    ".missing.y",
    "nil",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "3",
    "1.5",
    "1e308",
    "9223372036854775807",
    "-9223372036854775808",
    "4000000000",
    "0x7fffffffffffffff",
    "1e3",
    "'x'",
    "\"\"",
    "\"a\"",
    "\"a,b\"",
    "\"%\"",
    "\"%s %v %!\"",
    "\"%1000000000d\"",
    "\"%*d\"",
    "\"%[99]d\"",
    "\"%.999999999f\"",
    "\"2006-01-02\"",
    "\"(((((a*)*)*)*)*)*\"",
    "\"a{1000}{1000}\"",
    "\"[\"",
    "\"\\\\u0000\"",
    "\"é\u{202e}\"",
    "\"{{ . }}\"",
    "\"{{ template \\\"t\\\" . }}\"",
    "\"a: [b\"",
    "\"a: &x [*x]\"",
    "\"{\\\"a\\\": 1}\"",
    "\"[[[[[[\"",
    "\"1h\"",
    "\"-9999999999h\"",
    "\"1.2.3\"",
    "\">=1.2.3 <2 || ^3\"",
    "(list 1 2 3)",
    "(list)",
    "(dict)",
    "(dict \"a\" 1)",
    "(list .)",
    "(dict \"a\" .)",
    "(until 1000)",
    "(repeat 1000 \"ab\")",
];

/// Shapes in which what they hold goes round again.
const SHAPES: &[&str] = &[
    "{{ X }}",
    "{{- X | X -}}",
    "{{ if X }}X{{ else if X }}y{{ else }}z{{ end }}",
    "{{ range $k, $v := X }}{{ $v }}{{ X }}{{ else }}n{{ end }}",
    "{{ range X }}{{ range X }}{{ X }}{{ break }}{{ end }}{{ continue }}{{ end }}",
    "{{ with X }}{{ . }}{{ end }}",
    "{{ $a := X }}{{ $a = X }}{{ $a }}",
    "{{ define \"d\" }}{{ X }}{{ template \"d\" . }}{{ end }}{{ template \"d\" . }}",
    "{{ define \"e\" }}{{ include \"e\" . }}{{ include \"e\" . }}{{ end }}{{ include \"e\" . }}",
    "{{ tpl X . }}",
    "{{ tpl \"{{ tpl .a . }}{{ tpl .a . }}\" . }}",
    "{{ range until 100000 }}{{ repeat 100000 \"x\" }}{{ end }}",
    "{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ toYaml $d }}{{ $d }}{{ toJson $d }}",
    "{{ $l := list 1 }}{{ range until 100 }}{{ $l = concat $l $l }}{{ end }}{{ len $l }}",
    "{{ $s := \"x\" }}{{ range until 100 }}{{ $s = cat $s $s }}{{ end }}{{ $s }}",
    "{{/* X */}}{{ \"{{\" }}{{ `X` }}",
];

fn argument(functions: &[String], random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.one_in(2) {
        return (*random.pick(ARGUMENTS)).to_owned();
    }
    format!("({})", call(functions, random, depth - 1))
}

fn call(functions: &[String], random: &mut Random, depth: usize) -> String {
    let mut text = random.pick(functions).clone();
    for _ in 0..random.below(4) {
        text.push(' ');
        text += &argument(functions, random, depth);
    }
    text
}

fn template(functions: &[String], random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..1 + random.below(3) {
        for (index, part) in random.pick(SHAPES).split('X').enumerate() {
            if index > 0 {
                text += &call(functions, random, 3);
            }
            text += part;
        }
    }
    // Half of them are no templates any more.
    while random.one_in(2) {
        let bytes = text.as_bytes();
        let (from, to) = (random.below(bytes.len()), random.below(bytes.len()));
        let changed = match random.below(3) {
            0 => [&bytes[..from], &bytes[from.max(to)..]].concat(),
            1 => [&bytes[..from], &bytes[from.min(to)..]].concat(),
            _ => [&bytes[..from], &[random.below(128) as u8], &bytes[from..]].concat(),
        };
        text = String::from_utf8_lossy(&changed).into_owned();
    }
    text
}

/// Whether it gives a text.
fn run(text: &str, limits: &Limits) -> bool {
    with_stack(|| {
        let mut engine =
            Engine::new(&EngineRun { origins: true, limits: limits.clone(), ..EngineRun::default() });
        if !engine.add("t", text).is_empty() {
            return false;
        }
        let mut data = engine.data();
        let entries = vec![
            ("a".to_owned(), data.text("{{ .a }}", None)),
            ("l".to_owned(), data.text("x", None)),
            ("n".to_owned(), data.int(3, None)),
        ];
        let values = data.map(entries, None);
        let Ok(output) = engine.run("t", &values) else { return false };
        let bytes = output.bytes().len();
        assert!(bytes <= limits.output, "{bytes} bytes");
        let covered: usize = engine.parts(&output).iter().map(|part| part.bytes.len()).sum();
        assert_eq!(covered, bytes, "every byte is of a part");
        true
    })
    .expect("it has its thread")
}

#[test]
fn any_template_ends_within_its_bounds() {
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().expect(name));
    let (count, first) = (50 * number("FOREBAY_FUZZ").unwrap_or(6), number("FOREBAY_SEED").unwrap_or(1));
    let functions: Vec<String> =
        page().lines().skip(2).filter_map(|line| Some(line.split('`').nth(1)?.to_owned())).collect();
    assert!(functions.len() > 150, "{}", functions.len());
    // Lower than those of users, so that a debug build comes to all of them.
    let limits = Limits {
        steps: 50_000,
        output: 1 << 18,
        depth: 300,
        text: 1 << 18,
        list: 20_000,
        total: 1 << 24,
        origins: 200_000,
    };
    let (mut texts, mut failed) = (0, Vec::new());
    for seed in first..first + count {
        let text = template(&functions, &mut Random(seed));
        match catch_unwind(AssertUnwindSafe(|| run(&text, &limits))) {
            Ok(done) => texts += u64::from(done),
            Err(_) => failed.push(text),
        }
    }
    println!("{count} templates, {texts} texts");
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(texts > count / 50, "of {count} templates {texts} gave a text");
}
