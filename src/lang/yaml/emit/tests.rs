//! Tests of the module.

use super::*;
use crate::lang::yaml::{Entry, Node, parse_nodes};

fn emitted(text: &str) -> String {
    to_yaml(parse_nodes("test.yaml", text)[0].get_ref()).expect(text)
}

#[test]
fn trees() {
    for (input, expected) in [
        ("b: 1\na: [x, {}, []]\n", "a:\n- x\n- {}\n- []\nb: 1\n"),
        ("- - 1\n  - a: b\n    c: d\n", "- - 1\n  - a: b\n    c: d\n"),
        ("a: {b: [{c: 1}]}", "a:\n  b:\n  - c: 1\n"),
        ("{}", "{}\n"),
        ("plain", "plain\n"),
        ("a: 1.0\nb: 1e21\nc: 0755\nd: 1234567.5\n", "a: 1\nb: 1e+21\nc: 493\nd: 1.2345675e+06\n"),
        ("d: 2024-01-01\ny: yes\nn: ~\n", "d: \"2024-01-01T00:00:00Z\"\n\"n\": null\n\"y\": \"yes\"\n"),
        ("x: &a {k: v}\ny: {<<: *a, z: 1}\n", "x:\n  k: v\n\"y\":\n  k: v\n  z: 1\n"),
        ("port10: 1\nport9: 2\nportA: 3\n", "port9: 2\nport10: 1\nportA: 3\n"),
    ] {
        assert_eq!(emitted(input), expected, "{input}");
    }
}

#[test]
fn strings() {
    let long = "word ".repeat(20);
    for (text, expected) in [
        ("", "\"\""),
        ("1.10", "\"1.10\""),
        ("1:30", "\"1:30\""),
        ("2024-01-01", "\"2024-01-01\""),
        ("<<", "<<"),
        ("=", "="),
        ("-a", "-a"),
        ("- a", "'- a'"),
        ("a: b", "'a: b'"),
        ("a:", "'a:'"),
        ("a #b", "'a #b'"),
        (" a", "' a'"),
        ("it's", "it's"),
        ("@it's", "'@it''s'"),
        ("a\tb\u{1f600}", "\"a\\tb\\U0001F600\""),
        ("${A:=x}", "${A:=x}"),
        ("a\nb", "|-\n  a\n  b"),
        ("a\nb\n", "|\n  a\n  b"),
        ("\n a\n\n", "|2+\n\n   a\n"),
        ("a \nb", "\"a \\nb\""),
        (
            long.trim_end(),
            "word word word word word word word word word word word word word word word word word\n  word word word",
        ),
    ] {
        let node = crate::lang::yaml::Node::string(text, None);
        assert_eq!(to_yaml(node.get_ref()).expect(text), format!("{expected}\n"), "{text:?}");
    }
}

#[test]
fn keys_with_unknown_parts_are_texts_and_stay_apart() {
    let holes = |parts: &[Option<&str>]| {
        Value::Holes(Holes::from(parts.iter().map(|part| part.map(Into::into)).collect::<Vec<_>>()))
    };
    let names = [
        holes(&[None, Some("-b")]),
        Value::Str("plain".into()),
        holes(&[Some("app-"), None]),
        Value::Unknown("a variable".into()),
        Value::Str("?".into()),
        holes(&[Some("app-"), None]),
        Value::Unknown("another one".into()),
    ];
    let entry = |(at, name): (usize, Value)| Entry {
        key: Node::scalar(name, None),
        value: Node::scalar(Value::Int(at as i64), None),
    };
    let map = Node::scalar(Value::Map(names.into_iter().enumerate().map(entry).collect()), None);
    let mut object = Node::empty_map(None);
    object.set("labels", map.clone(), None);
    assert_eq!(
        to_json(map.get_ref()).as_deref(),
        Ok(r#"{"?":4,"?-b":0,"??":3,"???":6,"app-?":2,"app-??":5,"plain":1}"#)
    );
    for node in [&map, &object] {
        let (yaml, json) = (to_yaml(node.get_ref()).expect("yaml"), to_json(node.get_ref()).expect("json"));
        let again = parse_nodes("emitted.yaml", &yaml);
        assert_eq!(to_json(again[0].get_ref()).as_ref(), Ok(&json), "{yaml}");
    }
}

#[test]
fn json_is_sorted_and_compact() {
    let node = &parse_nodes("test.yaml", "b: [1, 1e3, null]\na: {z: \"x\\n\", y: <&>}\n")[0];
    let json = to_json(node.get_ref()).expect("JSON");
    assert_eq!(json, r#"{"a":{"y":"\u003c\u0026\u003e","z":"x\n"},"b":[1,1000,null]}"#);
}

#[test]
fn what_json_cannot_hold_is_located() {
    for (text, start) in [("a: .inf\n", 3), ("a: {1: b}\n", 4)] {
        match to_yaml(parse_nodes("test.yaml", text)[0].get_ref()) {
            Err(EmitError::NotJson { location: Some(location), .. }) => {
                assert_eq!(location.start, start, "{text}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

proptest::proptest! {
    #[test]
    fn words_are_plain(text in "[a-zA-Z][!-~]{0,8}|[a-zA-Z]{1,6}") {
        for is_key in [false, true] {
            if is_word(&text) {
                proptest::prop_assert_eq!(style_of_any(&text, is_key), ScalarStyle::Plain);
            }
        }
    }
}
