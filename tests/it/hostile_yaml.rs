//! Input made to hurt: every text is read, or refused, within bounded time,
//! memory and stack.

use forebay::internals::lang::yaml::go_compat::{DocumentReader, decode};
use forebay::internals::lang::yaml::{Node, Stream, parse_nodes};

/// Parse and decode everything; the number of errors of any kind.
fn read(text: &str) -> usize {
    let stream = Stream::parse(text);
    let nodes = parse_nodes("hostile.yaml", text);
    let refused = nodes.iter().filter(|node| match node {
        Node::Source(source, _) => decode(source, DocumentReader::V3).is_err(),
        Node::Built(_) => false,
    });
    stream.errors.len() + refused.count()
}

#[test]
fn deep_nesting_is_refused_without_recursion() {
    for (name, text) in [
        ("open brackets", "[".repeat(100_000)),
        ("brackets", "[".repeat(100_000) + &"]".repeat(100_000)),
        ("open braces", "{a: ".repeat(100_000)),
        ("dashes", "- ".repeat(100_000) + "x\n"),
        ("keys", "? ".repeat(20_000)),
        ("indented maps", (0..2_000).map(|n| " ".repeat(n) + "a:\n").collect()),
        ("brackets in dashes", "- ".repeat(200) + &"[".repeat(100_000)),
    ] {
        assert!(read(&text) > 0, "{name}");
    }
}

#[test]
fn nesting_that_is_accepted_is_decoded_without_trouble() {
    let text = "- ".repeat(50) + &"[".repeat(49) + &"]".repeat(49) + "\n";
    assert_eq!(read(&text), 0);
}

#[test]
fn alias_bombs_are_refused() {
    let mut laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..40 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(",");
        laughs.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    let merges: String = "a0: &a0 {k: v}\n".to_owned()
        + &(1..40)
            .map(|level| {
                format!("a{level}: &a{level} {{<<: [*a{0}, *a{0}, *a{0}], k{level}: v}}\n", level - 1)
            })
            .collect::<String>();
    let wide = format!("a: &a [{}]\nb: [{}]\n", "x,".repeat(50_000), "*a,".repeat(50_000));
    for (name, text) in [("laughs", laughs), ("merges", merges), ("wide", wide)] {
        assert!(read(&text) > 0, "{name}");
    }
}

#[test]
fn long_lines_and_many_documents_take_linear_time() {
    let texts = [
        "a: ".to_owned() + &"x".repeat(4 << 20),
        "{".to_owned() + &(0..100_000).map(|n| format!("\"k{n}\": 1, ")).collect::<String>() + "}",
        "---\n".repeat(200_000),
        "a: 1\n---\n".repeat(100_000),
        "# c\n".repeat(300_000),
        "a: |\n".to_owned() + &"  x\n".repeat(300_000),
        "\"".to_owned() + &"\\n".repeat(1 << 20) + "\"",
        " ".repeat(4 << 20),
        "\r".repeat(1 << 20),
        "a: [\n---\n".repeat(20_000),
        "&a ".repeat(50_000),
        "k: ".repeat(50_000),
        "? ".repeat(200) + &"a: b\n".repeat(1000),
    ];
    for text in &texts {
        read(text);
    }
}

#[test]
fn odd_bytes_are_read_or_refused() {
    for (text, errors) in [
        ("\u{feff}a: 1\n", 0),
        ("a: 1\rb: 2\r", 0),
        ("\ta: 1\n", 1),
        ("a:\n\tb: 1\n", 1),
        ("a: \u{0}\n", 1),
        ("a: \u{7f}\n---\nb: 1\n", 1),
        ("a: \u{85}\u{2028}b\n", 1),
        ("\u{feff}", 0),
        ("%", 1),
        ("!", 0),
        ("&", 1),
        ("\"\\", 1),
        ("\"\\u", 1),
        ("|", 0),
        (">-9", 0),
        ("...", 1),
        ("--- ---", 0),
    ] {
        assert_eq!(read(text), errors, "{text:?}");
    }
}
