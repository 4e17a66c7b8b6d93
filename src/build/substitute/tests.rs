use super::parse::Malformed;
use super::*;

fn known(text: &str) -> Variable<'static> {
    Variable::Known(Cow::Owned(text.to_owned()))
}

fn lookup(name: &str) -> Variable<'static> {
    match name {
        "app" => known("podinfo"),
        "empty" => known(""),
        "path" => known("/usr/bin/tool.tar.gz"),
        "umlaut" => known("ünï"),
        "secret" => Variable::Hidden,
        "perhaps" => Variable::Unknown,
        _ => Variable::Undefined,
    }
}

#[test]
fn known_texts() {
    for (input, expected) in [
        ("plain", "plain"),
        ("a$$b$", "a$b$"),
        ("$${app}", "${app}"),
        ("${app}-${app^}", "podinfo-Podinfo"),
        ("${missing:-${app}}!", "podinfo!"),
        ("${missing:-$$}", "$$"),
        ("${path##*/}", "tool.tar.gz"),
        ("${path%%.*}", "/usr/bin/tool"),
        ("${app//o/$$}", "p$dinf$"),
        ("${app//${empty}/.}", ".p.o.d.i.n.f.o."),
        ("${empty//${empty}/x}", "x"),
        ("${#umlaut}", "5"),
        ("${app:3:2}", "in"),
        ("${app:+x}${empty:?y}", "podinfoy"),
        ("seen\0${unseen", "seen"),
    ] {
        let expansion = expand(input, &lookup, false).expect(input);
        assert_eq!(expansion.known(), Some(expected.as_bytes()), "{input}");
    }
}

#[test]
fn malformed_expressions_are_located() {
    for (input, kind, range) in [
        ("x ${a-b}", Malformed::MissingClosingBrace, 2..5),
        ("${{ a }}", Malformed::VariableName, 0..2),
        ("${a} ${b", Malformed::MissingClosingBrace, 5..8),
        ("${a:-${b.c}}", Malformed::MissingClosingBrace, 5..8),
        ("${a/b}", Malformed::BadSubstitution, 0..6),
        ("${a#}", Malformed::Operand, 0..4),
    ] {
        let error = expand(input, &lookup, false).expect_err(input);
        let expected = ExpandError::Malformed(ParseError { kind, range });
        assert_eq!(error, expected, "{input}");
    }
}

#[test]
fn strict_mode_knows_what_may_be_undefined() {
    let fails = |input: &str| expand(input, &lookup, true).expect_err(input);
    assert_eq!(fails("a ${missing}"), ExpandError::Undefined { name: "missing".into(), at: 2 });
    assert!(matches!(fails("${app:-${missing}}"), ExpandError::Undefined { .. }));
    let perhaps = expand("${perhaps} ${perhaps:-x} ${secret}", &lookup, true).expect("unknown");
    assert_eq!(perhaps.perhaps_undefined, ["perhaps"]);
    assert_eq!(perhaps.known(), None);
}

#[test]
fn unknown_values_leave_holes() {
    let pieces = |input: &str| expand(input, &lookup, false).expect(input).pieces;
    let text = |bytes: &str| Piece::Known(bytes.into());
    let hole = |name: &str| Piece::Hole(name.into());
    assert_eq!(pieces("${app}-${secret}-x"), [text("podinfo-"), hole("secret"), text("-x")]);
    assert_eq!(pieces("${missing:-a${secret^^}}"), [text("a"), hole("secret")]);
    assert_eq!(pieces("${app:-${secret}}"), [text("podinfo")]);
    assert_eq!(pieces("${app//o/${secret}}"), [hole("secret")]);
}

#[test]
fn hostile_texts_are_bounded() {
    let deep = "${a:-".repeat(100_000);
    let error = expand(&deep, &lookup, false).expect_err("deep");
    assert!(
        matches!(error, ExpandError::Malformed(ParseError { kind: Malformed::Nesting, .. })),
        "{error:?}"
    );
    let mut growing = "${app}".to_owned();
    for _ in 0..30 {
        growing = format!("${{app//${{empty}}/{growing}}}");
    }
    assert_eq!(expand(&growing, &lookup, false), Err(ExpandError::TooLarge));
    let many = "${app} ".repeat(100_000);
    assert!(expand(&many, &lookup, false).is_ok());
}

#[test]
fn names() {
    for (name, expected) in [
        ("A", true),
        ("_a1", true),
        ("1a", false),
        ("my-var", false),
        ("app.yaml", false),
        ("é", false),
        ("", false),
    ] {
        assert_eq!(is_variable_name(name), expected, "{name}");
    }
}
