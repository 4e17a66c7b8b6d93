//! What operations do to a text: the bytes before and after, and what is refused.

use forebay::internals::lang::yaml::Stream;
use forebay::internals::lang::yaml::edit::verify::verify;
use forebay::internals::lang::yaml::edit::{Content, KeyPlace, Operation, Prune, RefusedEdit, compile};

/// Apply an operation to the first document that has tokens, verified.
fn apply(text: &str, operation: &Operation) -> Result<String, RefusedEdit> {
    let stream = Stream::parse(text);
    assert!(stream.errors.is_empty(), "{text:?}: {:?}", stream.errors);
    let document = stream.documents.iter().position(|document| !document.tokens.is_empty()).unwrap() as u32;
    let compiled = compile(&stream, document, operation)?;
    match verify(&stream, &[(document, &compiled)]) {
        Ok(new) => Ok(new.text.to_string()),
        Err(why) => panic!("{operation:?} on\n{text}\n{why}\n{:?}", compiled.edits),
    }
}

fn check(text: &str, operation: &Operation, expected: &str) {
    let got = apply(text, operation).unwrap_or_else(|refused| panic!("{text:?} {operation:?}: {refused:?}"));
    assert_eq!(got, expected, "{operation:?} on\n{text}");
}

fn set(pointer: &str, value: &str) -> Operation {
    Operation::Set { pointer: pointer.to_owned(), value: Content::str(value), comment: None }
}

fn set_to(pointer: &str, value: Content) -> Operation {
    Operation::Set { pointer: pointer.to_owned(), value, comment: None }
}

fn remove(pointer: &str) -> Operation {
    Operation::RemoveKey { pointer: pointer.to_owned(), prune: Prune::Keep }
}

fn prune(pointer: &str) -> Operation {
    Operation::RemoveKey { pointer: pointer.to_owned(), prune: Prune::Empty }
}

fn rename(pointer: &str, to: &str) -> Operation {
    Operation::RenameKey { pointer: pointer.to_owned(), to: to.to_owned() }
}

fn insert(map: &str, key: &str, place: KeyPlace) -> Operation {
    Operation::InsertKey {
        map: map.to_owned(),
        key: key.to_owned(),
        value: Content::str("v"),
        place,
        comment: None,
    }
}

fn item(list: &str, before: Option<usize>, value: Content) -> Operation {
    Operation::InsertItem { list: list.to_owned(), before, value }
}

fn drop_item(pointer: &str) -> Operation {
    Operation::RemoveItem { pointer: pointer.to_owned() }
}

#[test]
fn scalars_are_replaced_in_their_own_style() {
    for (text, value, expected) in [
        ("a: b\n", "c", "a: c\n"),
        ("a: 'b' # c\n", "it's", "a: 'it''s' # c\n"),
        ("a: \"b\"   # {\"$imagepolicy\": \"x:y\"}\n", "c", "a: \"c\"   # {\"$imagepolicy\": \"x:y\"}\n"),
        ("a: b\n", "yes", "a: \"yes\"\n"),
        ("a: b\nc: 'd'\n", "true", "a: 'true'\nc: 'd'\n"),
        ("a: b\n", "2024-01-01", "a: \"2024-01-01\"\n"),
        ("a: b\n", "x: y", "a: \"x: y\"\n"),
        ("a: b\n", "#x", "a: \"#x\"\n"),
        ("a: b\n", "", "a: \"\"\n"),
        ("a: b\n", "two\nlines", "a: \"two\\nlines\"\n"),
        ("a: b\n", "1:30", "a: \"1:30\"\n"),
        ("a: b\n", "v1.2.3", "a: v1.2.3\n"),
        ("a:\n", "b", "a: b\n"),
        ("a:   # why\n", "b", "a: b   # why\n"),
        ("a: |\n  one\n  two\n\nb: 1\n", "x", "a: x\n\nb: 1\n"),
        ("a: |- # why\n  one\nb: 1\n", "x", "a: x # why\nb: 1\n"),
        ("a: >-\n  one", "x", "a: x"),
        ("a: one\n  two\nb: 1\n", "x", "a: x\nb: 1\n"),
        ("{a: b, c: d}\n", "x, y", "{a: \"x, y\", c: d}\n"),
        ("{\"a\": \"b\"}\n", "c", "{\"a\": \"c\"}\n"),
        ("{\"a\": 1}\n", "c\u{1}", "{\"a\": \"c\\u0001\"}\n"),
        ("\u{feff}a: b\r\nc: d\r\n", "e", "\u{feff}a: e\r\nc: d\r\n"),
        ("a: b", "c", "a: c"),
        ("a: &x b\n", "c", "a: &x c\n"),
        ("? a\n: b\n", "c", "? a\n: c\n"),
    ] {
        check(text, &set("/a", value), expected);
    }
    check("a: \"1\"\n", &set_to("/a", Content::Int(1)), "a: 1\n");
    check("a: 'false' # x\n", &set_to("/a", Content::Bool(true)), "a: true # x\n");
    check("a: 1\n", &set_to("/a", Content::Null), "a: null\n");
    check("a: [1, 2]\n", &set_to("/a/1", Content::Int(3)), "a: [1, 3]\n");
    check("a:\n- x\n- y: 1\n", &set("/a/1/y", "z"), "a:\n- x\n- y: z\n");
}

#[test]
fn a_value_can_carry_a_comment() {
    let with = |text: &str, comment: &str| {
        let operation = Operation::Set {
            pointer: "/spec/suspend".to_owned(),
            value: Content::Bool(true),
            comment: Some(comment.to_owned()),
        };
        apply(text, &operation)
    };
    assert_eq!(with("spec:\n  a: 1\n", "INC-1").unwrap(), "spec:\n  a: 1\n  suspend: true # INC-1\n");
    assert_eq!(with("spec:\n  suspend: false\n", "INC-1").unwrap(), "spec:\n  suspend: true # INC-1\n");
    assert_eq!(
        with("spec:\n  suspend: false  # old\n  a: 1\n", "new").unwrap(),
        "spec:\n  suspend: true  # new\n  a: 1\n"
    );
    assert_eq!(with("a: 1\n", "INC-1").unwrap(), "a: 1\nspec:\n  suspend: true # INC-1\n");
    assert_eq!(with("spec: # why\n", "INC-1").unwrap(), "spec: # why\n  suspend: true # INC-1\n");
    assert_eq!(
        with("spec:\n  suspend: |- # old\n    x\n", "INC-1").unwrap(),
        "spec:\n  suspend: true # INC-1\n"
    );
    assert_eq!(with("spec:\n  suspend: >\n    x\n", "INC-1").unwrap(), "spec:\n  suspend: true # INC-1\n");
    assert_eq!(with("spec:\n  suspend: no  \n", "INC-1").unwrap(), "spec:\n  suspend: true # INC-1\n");
    assert!(with("spec: {a: 1}\n", "INC-1").is_err());
    assert!(with("{}\n", "INC-1").is_err());
    assert!(with("spec:\n  suspend: x # {\"$imagepolicy\": \"a:b\"}\n", "new").is_err());
}

#[test]
fn missing_parents_are_made() {
    check(
        "metadata:\n  name: x\nspec: {}\n",
        &set("/metadata/annotations/a.b~1c", "v"),
        "metadata:\n  name: x\n  annotations:\n    a.b/c: v\nspec: {}\n",
    );
    check(
        "metadata:\n    name: x\n",
        &set("/metadata/annotations/a", "true"),
        "metadata:\n    name: x\n    annotations:\n        a: \"true\"\n",
    );
    check("a:\n", &set("/a/b/c", "v"), "a:\n  b:\n    c: v\n");
    check("a: # why\n", &set("/a/b", "v"), "a: # why\n  b: v\n");
    check("a: {} # why\nx: 1\n", &set("/a/b", "v"), "a: # why\n  b: v\nx: 1\n");
    check("a: {}\n", &set("/a/b", "v"), "a:\n  b: v\n");
    check("a: ~", &set("/a/b", "v"), "a:\n  b: v");
    check("{a: {}}\n", &set("/a/b", "v"), "{a: {b: v}}\n");
    check("{a: 1}\n", &set("/b/c", "v"), "{a: 1, b: {c: v}}\n");
    check("a:\r\n  b: 1\r\n", &set("/c/d", "v"), "a:\r\n  b: 1\r\nc:\r\n  d: v\r\n");
    check("a: 1", &set("/b", "v"), "a: 1\nb: v");
    check("- a: 1\n- \n", &set("/1/b", "v"), "- a: 1\n- b: v\n");
    check("- a: 1\n", &set("/0/b", "v"), "- a: 1\n  b: v\n");
    check("a: |\n  text\n", &set("/b", "v"), "a: |\n  text\nb: v\n");
    check("a: |+\n  text\n\n\n", &set("/b", "v"), "a: |+\n  text\n\n\nb: v\n");
    check(
        "a: |\n  text\n\n\nb: 1\n",
        &insert("", "c", KeyPlace::After("a".into())),
        "a: |\n  text\nc: v\n\n\nb: 1\n",
    );
    check("---\na: 1\n---\nb: 1\n", &set("/c", "v"), "---\na: 1\nc: v\n---\nb: 1\n");
    check("a: 1\n# end\n", &set("/b", "v"), "a: 1\nb: v\n# end\n");
}

#[test]
fn keys_go_where_they_are_wanted() {
    let text = "a: 1\n# about b\nb: 2 # two\nc: 3\n";
    check(text, &insert("", "x", KeyPlace::End), "a: 1\n# about b\nb: 2 # two\nc: 3\nx: v\n");
    check(text, &insert("", "x", KeyPlace::Before("b".into())), "a: 1\nx: v\n# about b\nb: 2 # two\nc: 3\n");
    // A copy of its sibling is quoted as that is.
    for (value, copy) in [("'v'", "'v'"), ("\"v\"", "\"v\""), ("v", "v"), ("'w'", "v")] {
        let expected = format!("a: {value}\nx: {copy}\nb: 1\n");
        check(&format!("a: {value}\nb: 1\n"), &insert("", "x", KeyPlace::After("a".into())), &expected);
    }
    check(text, &insert("", "x", KeyPlace::After("b".into())), "a: 1\n# about b\nb: 2 # two\nx: v\nc: 3\n");
    check("- a: 1\n  b: 2\n", &insert("/0", "x", KeyPlace::Before("a".into())), "- x: v\n  a: 1\n  b: 2\n");
    check("{a: 1, b: 2}\n", &insert("", "x", KeyPlace::Before("b".into())), "{a: 1, x: v, b: 2}\n");
    check("{a: 1}\n", &insert("", "x", KeyPlace::Before("a".into())), "{x: v, a: 1}\n");
    check(
        "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": 2\n  }\n}\n",
        &insert("", "x", KeyPlace::End),
        "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": 2\n  },\n  \"x\": \"v\"\n}\n",
    );
}

#[test]
fn keys_go_with_what_belongs_to_them() {
    for (text, pointer, expected) in [
        ("a: 1\nb: 2\nc: 3\n", "/b", "a: 1\nc: 3\n"),
        ("a: 1\n# about b\n# more\nb: 2 # two\n\nc: 3\n", "/b", "a: 1\n\nc: 3\n"),
        ("a: 1\n# not about b\n\nb: 2\n", "/b", "a: 1\n# not about b\n\n"),
        ("a: 1\n  # other column\nb: 2\n", "/b", "a: 1\n  # other column\n"),
        ("# licence\na: 1\nb: 2\n", "/a", "# licence\nb: 2\n"),
        ("a:\n  b: 1\n  c:\n  - x\n  - y # z\nd: 1\n", "/a/c", "a:\n  b: 1\nd: 1\n"),
        ("a:\n  b: |\n    x\n\n    y\n\n  c: 1\n", "/a/b", "a:\n\n  c: 1\n"),
        ("a:\n  b: |+\n    x\n\n  c: 1\n", "/a/b", "a:\n  c: 1\n"),
        ("a: 1\nb: 2", "/b", "a: 1"),
        ("a: 1\r\nb: 2", "/b", "a: 1"),
        ("a: 1\r\nb: 2\r\n", "/a", "b: 2\r\n"),
        ("- a: 1\n  b: 2\n", "/0/a", "- b: 2\n"),
        ("- - a: 1 # x\n    b: 2\n", "/0/0/a", "- - b: 2\n"),
        ("a:\n  b: 1\n", "/a/b", "a: {}\n"),
        ("a: # why\n  # about b\n  b: 1\nc: 2\n", "/a/b", "a: {} # why\nc: 2\n"),
        ("- a: 1\n- b\n", "/0/a", "- {}\n- b\n"),
        ("a: 1\n", "/a", "{}\n"),
        ("{a: 1, b: 2}\n", "/a", "{b: 2}\n"),
        ("{a: 1, b: 2}\n", "/b", "{a: 1}\n"),
        ("{a: 1}\n", "/a", "{}\n"),
        ("x: {a: [1], b: 2 }\n", "/x/b", "x: {a: [1] }\n"),
    ] {
        check(text, &remove(pointer), expected);
    }
    let text = "metadata:\n  name: x\n  annotations:\n    a: b\nspec: 1\n";
    check(text, &prune("/metadata/annotations/a"), "metadata:\n  name: x\nspec: 1\n");
    check("x:\n- a:\n    b: 1\n", &prune("/x/0/a/b"), "x:\n- {}\n");
    let below = |map: &str| Operation::RemoveKey {
        pointer: "/a/b/c/d".to_owned(),
        prune: Prune::EmptyBelow(map.to_owned()),
    };
    let text = "a:\n  b:\n    c:\n      d: 1\ne: 1\n";
    check(text, &below(""), "e: 1\n");
    for map in ["/a", "/a/b", "/a/b/c"] {
        let refused = apply(text, &below(map)).expect_err("the map would be empty");
        assert!(refused.message.contains("holds nothing else"), "{map}: {}", refused.message);
    }
    let text = "a:\n  b:\n    c:\n      d: 1\n  x: 1\n";
    check(text, &below("/a"), "a:\n  x: 1\n");
}

#[test]
fn keys_get_other_names() {
    for (text, expected) in [
        ("a: 1\n", "b: 1\n"),
        ("'a': 1\n", "'b': 1\n"),
        ("{\"a\": 1}\n", "{\"b\": 1}\n"),
        ("? a\n: 1\n", "? b\n: 1\n"),
        ("- a: {x: 1}\n", "- b: {x: 1}\n"),
    ] {
        let pointer = if text.starts_with('-') { "/0/a" } else { "/a" };
        check(text, &rename(pointer, "b"), expected);
    }
    check("a: 1\n", &rename("/a", "on"), "\"on\": 1\n");
}

#[test]
fn items_come_and_go() {
    let x = || Content::str("x");
    for (text, before, expected) in [
        ("a:\n- 1\n- 2\n", None, "a:\n- 1\n- 2\n- x\n"),
        ("a:\n  -   1\n  -   2\nb: 1\n", Some(1), "a:\n  -   1\n  -   x\n  -   2\nb: 1\n"),
        ("a:\n# one\n- 1\n", Some(0), "a:\n- x\n# one\n- 1\n"),
        ("a: []\n", None, "a:\n  - x\n"),
        ("a:\n", None, "a:\n  - x\n"),
        ("b:\n- 1\na: []\n", None, "b:\n- 1\na:\n- x\n"),
        ("b: 1\n", None, "b: 1\na:\n  - x\n"),
        ("a: [1, 2]\n", None, "a: [1, 2, x]\n"),
        ("a: [1, 2]\n", Some(0), "a: [x, 1, 2]\n"),
        ("a: [[]]\n", Some(0), "a: [x, []]\n"),
        ("a:\n  - - 1\n    - 2\n", None, "a:\n  - - 1\n    - 2\n  - x\n"),
    ] {
        check(text, &item("/a", before, x()), expected);
    }
    let map = Content::Map(vec![("k".into(), Content::Int(1)), ("l".into(), Content::Seq(vec![x()]))]);
    check("a:\n- b\n", &item("/a", None, map.clone()), "a:\n- b\n- k: 1\n  l:\n  - x\n");
    check("- - 1\n  - 2\n", &item("/0", Some(0), map), "- - k: 1\n    l:\n      - x\n  - 1\n  - 2\n");
    for (text, pointer, expected) in [
        ("a:\n- 1\n- 2 # two\n- 3\n", "/a/1", "a:\n- 1\n- 3\n"),
        ("a:\n- 1\n# about 2\n- 2\n", "/a/1", "a:\n- 1\n"),
        ("a:\n  - b: 1\n    c: 2\n  - d\n", "/a/0", "a:\n  - d\n"),
        ("a:\n- 1\nb: 2\n", "/a/0", "a: []\nb: 2\n"),
        ("- - 1\n  - 2\n", "/0/0", "- - 2\n"),
        ("- - 1\n- 2\n", "/0/0", "- []\n- 2\n"),
        ("- 1\n- 2", "/1", "- 1"),
        ("a: [1, 2, 3]\n", "/a/0", "a: [2, 3]\n"),
        ("a: [1, 2, 3]\n", "/a/2", "a: [1, 2]\n"),
        ("a: [1]\n", "/a/0", "a: []\n"),
        ("-\n  a: 1\n- b\n", "/0", "- b\n"),
        ("a: [b,]\n", "/a/0", "a: []\n"),
        ("a:\n  [\n    b,\n  ]\n", "/a/0", "a:\n  [\n  ]\n"),
    ] {
        check(text, &drop_item(pointer), expected);
    }
}

#[test]
fn what_has_no_certain_answer_is_refused() {
    for (text, operation, message) in [
        ("a: &x {b: 1}\nc: *x\n", set("/c/b", "v"), "leads through the alias *x"),
        ("a: &x {b: 1}\nc: *x\n", set("/a/b", "v"), "use &x"),
        ("a: &x 1\nc: *x\n", set("/a", "v"), "use &x"),
        ("a: &x 1\nc: *x\n", set("/c", "v"), "is an alias"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", set("/c/b", "v"), "may come through the merge key"),
        ("a: !!int \"1\"\n", set("/a", "v"), "carries a tag"),
        ("a: {b: 1}\n", set("/a", "v"), "is a map, not a scalar"),
        ("a: 1\na: 2\n", set("/a", "v"), "is there twice"),
        ("a: 1\n", set("/a/b", "v"), "inside of a scalar"),
        ("a: |\n  x", set("/b", "v"), "ends inside a block scalar"),
        ("? a\n: b\n", remove("/a"), "written with `?`"),
        ("? a\n: b\n", insert("", "c", KeyPlace::End), "written with `?`"),
        ("{a: 1,\n b: 2}\n", insert("", "c", KeyPlace::End), "no line for each child"),
        ("{a: 1, }\n", insert("", "c", KeyPlace::End), "a comma stands behind"),
        ("[a, # c\n b]\n", drop_item("/0"), "no certain place"),
        ("- a: 1\n  # about b\n  b: 2\n", remove("/0/a"), "a comment stands between"),
        ("a: 1\nb: 2\n", rename("/a", "b"), "is there already"),
        ("a: 1\n", insert("", "a", KeyPlace::End), "is there already"),
        ("a: 1\n", remove("/b"), "there is no `/b`"),
        ("- 1\n", set("/3", "v"), "the list has no item 3"),
        ("{a}\n", set("/a", "v"), "left out between braces"),
        ("# nothing\n---\n", set("/a", "v"), "the document is empty"),
    ] {
        match apply(text, &operation) {
            Err(refused) => {
                assert!(refused.message.contains(message), "{text:?}: {}", refused.message);
                assert!(!refused.help.is_empty());
            }
            Ok(new) => panic!("{operation:?} on {text:?} gave {new:?}"),
        }
    }
}

#[test]
fn what_would_read_otherwise_afterwards_is_refused_or_goes_along() {
    let refused = |text: &str, operation: &Operation, words: &str| {
        let refused = apply(text, operation).expect_err(text);
        assert!(refused.message.contains(words), "{text}: {}", refused.message);
    };
    // The merged map would give the key another value.
    let merged = "a: &a\n  b: 1\nc:\n  <<: *a\n  b: 2\n";
    refused(merged, &remove("/c/b"), "merge key");
    refused(merged, &rename("/c/b", "d"), "merge key");
    refused("a: &a [1]\nb: *a\n", &item("/b", None, Content::Int(2)), "is an alias");
    // Empty lines behind the entry would become part of the value before it.
    check("a: |+\n  x\n\nb:\n  - >\n    y\n\n", &remove("/b"), "a: |+\n  x\n\n");
    // The last node of the item ends before its bracket does.
    check("a:\n- b:\n  - c: [d]\n", &remove("/a/0/b"), "a:\n- {}\n");
    let moved =
        |pointer: &str, into: &str| Operation::MoveKey { pointer: pointer.to_owned(), into: into.to_owned() };
    refused("{\"a\": \"x\", \"b\": \"text\"}\n", &moved("/a", "b"), "is no map");
    refused("a: 5\n", &moved("/a", "b"), "is no string");
    refused("b:\n  c: 1\nd: 2\na: |\n  text", &moved("/a", "b"), "inside a block scalar");
}

/// A comment that is indented more deeply is about what stands above; behind a block scalar
/// it would become text.
#[test]
fn a_key_goes_behind_the_deeper_comments_of_what_stands_before_it() {
    let literal = Operation::InsertKey {
        map: String::new(),
        key: "new".to_owned(),
        value: Content::Map(vec![("k".to_owned(), Content::str("two\nlines"))]),
        place: KeyPlace::End,
        comment: None,
    };
    check(
        "x:\n  - a: >\n      b\n    # of a\n",
        &literal,
        "x:\n  - a: >\n      b\n    # of a\nnew:\n  k: |-\n    two\n    lines\n",
    );
    let key = insert("", "new", KeyPlace::End);
    check("x:\n  a: 1\n  # b: 2\n", &key, "x:\n  a: 1\n  # b: 2\nnew: v\n");
    check("x:\n  a: 1\n\n  # b: 2\n\n# end\n", &key, "x:\n  a: 1\n\n  # b: 2\nnew: v\n\n# end\n");
    check("x:\n  a: 1\n# end\n", &key, "x:\n  a: 1\nnew: v\n# end\n");
    check(
        "x:\n  a: 1\n  # b\ny: 1\n",
        &insert("/x", "new", KeyPlace::End),
        "x:\n  a: 1\n  new: v\n  # b\ny: 1\n",
    );
    check("x:\n  a: 1\n  # b\n---\ny: 1\n", &key, "x:\n  a: 1\n  # b\nnew: v\n---\ny: 1\n");
}

/// `a:,` is a scalar to go-yaml.
#[test]
fn a_key_goes_behind_an_empty_value_between_braces() {
    check("x: {a: 1, b: }\n", &insert("/x", "new", KeyPlace::End), "x: {a: 1, b: , new: v }\n");
    check("x: {a: 1, b}\n", &insert("/x", "new", KeyPlace::End), "x: {a: 1, b, new: v}\n");
}
