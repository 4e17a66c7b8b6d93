//! Tests of the module.

use super::*;
use crate::build::substitute::Provided;
use crate::lang::yaml::parse_nodes;

const KUSTOMIZATION: &str = "spec: {postBuild: {substitute: {A: app, N: '1', E: '', M: '{a: b}', Q: \"it's\", T: 'true', C: 'a: b'}}}";

fn variables() -> Variables {
    let kustomization = &parse_nodes("ks.yaml", KUSTOMIZATION)[0];
    Variables::of(kustomization.get_ref(), &mut |_, _| Provided::Missing).expect("variables")
}

fn object(text: &str) -> Node {
    parse_nodes("object.yaml", text).remove(0)
}

/// The short cut and the whole text give the same object.
#[test]
fn each_scalar_or_the_whole_text() {
    for text in [
        "v: ${A}",
        "v: x-${N}",
        "v: [\"${N}\", {w: '${T}'}]",
        "v: ${E}",
        "v: ${M}",
        "v: '@${A}'",
        "v: '@${Q}'",
        "v: |\n  ${A}\n  b ${E}\n",
        "v: |\n  a\n  ${E}\n",
        "v: |\n  ${E}\n  a\n",
        "v: |-\n  a\n  ${A:-x\n  y}\n",
        "v: \"\\t${A}\"",
        "v: a$$b",
        "v: 9007199254740993\nw: ${A}",
        "v: word word word word word word word word word word word word word word word ${C:-x y}",
        "v: 2024-01-01\nw: ${A}",
        // What bytes without a `$` may hide.
        "v: 9007199254740993",
        "v: {w: [0x20000000000001, +9007199254740993]}",
        "v: !!int '9007199254740993'",
        "a: &a 9007199254740993\nv: *a",
        "v: \"\\x24{A}\"",
        "a: &a \"\\u0024{A}\"\nb: {c: *a}",
        "a: &a ${A}\nb: {<<: {k: *a}}",
    ] {
        let object = object(text);
        let short = substitute(object.get_ref(), &variables(), false).expect(text);
        let long = whole(object.get_ref(), &variables(), false).expect(text);
        let json = |node: &Node| emit::to_json(node.get_ref()).expect(text);
        assert_eq!(json(&short.node), json(&long.node), "{text}");
        assert_eq!(short.problems.len(), long.problems.len(), "{text}");
    }
}

#[test]
fn values_keep_their_place_and_name_the_variable() {
    for text in ["a: 1\nv: x-${A}\n", "a: 1\nv: x-${A}\nw: \"\\t${A}\"\n"] {
        let object = object(text);
        let after = substitute(object.get_ref(), &variables(), false).expect(text).node;
        let location = after.get_ref().at("/v").and_then(NodeRef::location).expect("a place");
        assert_eq!(&text[location.start as usize..location.end as usize], "x-${A}");
        let via = &location.via[0].location;
        assert_eq!(
            (&**via.file.shown(), &KUSTOMIZATION[via.start as usize..via.end as usize]),
            ("ks.yaml", "app")
        );
        assert!(matches!(after.get_ref().at("/a"), Some(NodeRef::Source(..))), "untouched values are shared");
    }
}

#[test]
fn problems_point_at_the_expression() {
    for (text, kind, place) in [
        ("v: a ${B}", ProblemKind::Undefined { name: "B".into() }, "${B}"),
        (
            "v: a ${B-c} d",
            ProblemKind::Malformed { message: "missing closing brace".into(), text: "${B-c}".into() },
            "${B-c}",
        ),
        ("v: \"${T}\"", ProblemKind::TypeChange { text: "true".into(), became: "bool" }, "\"${T}\""),
    ] {
        let problems = substitute(object(text).get_ref(), &variables(), false).expect(text).problems;
        let location = problems[0].location.clone().expect("a place");
        assert_eq!(problems[0].kind, kind, "{text}");
        assert_eq!(&text[location.start as usize..location.end as usize], place, "{text}");
    }
}

#[test]
fn a_value_may_break_the_document() {
    let object = object("a: {b: c}\nv: ${C}\n");
    let result = substitute(object.get_ref(), &variables(), false).expect("emitted");
    assert!(matches!(result.problems[0].kind, ProblemKind::BrokenYaml { .. }), "{:?}", result.problems);
    assert!(result.node.get_ref().at("/v").is_some_and(NodeRef::is_unknown));
    assert_eq!(result.node.get_ref().str_at("/a/b").as_deref(), Some("c"));
}

#[test]
fn a_broken_document_is_told_at_the_value_that_breaks_it() {
    let text = "a: ${A}\nimage: example.org/app:${UNDEFINED}\nz: ${A}\n";
    let result = substitute(object(text).get_ref(), &variables(), false).expect("emitted");
    let broken = result.problems.iter().find(|found| matches!(found.kind, ProblemKind::BrokenYaml { .. }));
    let place = broken.and_then(|found| found.location.clone()).expect("a place");
    assert_eq!(&text[place.start as usize..place.end as usize], "example.org/app:${UNDEFINED}");
}

#[test]
fn strict_mode_leaves_undefined_values_unknown() {
    let object = object("v: ${B}\nw: ${B:-x}\n");
    let lenient = substitute(object.get_ref(), &variables(), false).expect("emitted").node;
    assert!(lenient.get_ref().at("/v").is_some_and(NodeRef::is_null));
    let strict = substitute(object.get_ref(), &variables(), true).expect("emitted").node;
    assert!(strict.get_ref().at("/v").is_some_and(NodeRef::is_unknown));
    assert_eq!(strict.get_ref().str_at("/w").as_deref(), Some("x"));
}
