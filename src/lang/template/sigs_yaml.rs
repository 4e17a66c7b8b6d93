//! A YAML text as `sigs.k8s.io/yaml` reads it, with its words for what it refuses.

use crate::lang::yaml::go_compat::{DocumentReader, Kept, decode, decode_kept};
use crate::lang::yaml::{
    Dialect, FilePath, Node, NodeRef, Scalar, Source, Stream, SyntaxError, is_read_as_written,
};
use std::sync::Arc;

/// The first document of a text with the types of JSON, or nothing where the text has
/// none.
pub fn document(text: &str) -> Result<Option<Node>, String> {
    read(Arc::new(Stream::parse(text)), FilePath::in_root(""))
}

/// As [`document`], of whose nodes the types are those in go-yaml v2's dialect, and of whose equal
/// keys the last counts: nothing is made of a document that says so itself.
pub(super) fn written_document(text: Arc<str>) -> Result<Option<Node>, String> {
    let stream = Arc::new(Stream::of(text));
    let file = FilePath::in_root("");
    if stream.errors.iter().all(|error| error.document != 0) && !stream.documents.is_empty() {
        let (file, stream) = (file.clone(), stream.clone());
        let source = Arc::new(Source { file, stream, index: 0, embed: None, via: Vec::new() });
        if is_read_as_written(&source) {
            return Ok(Some(source.root()));
        }
    }
    read(stream, file)
}

/// As [`document`], of a text that is parsed already, at its place.
pub(crate) fn read(stream: Arc<Stream>, file: FilePath) -> Result<Option<Node>, String> {
    read_kept(stream, file, None)
}

/// As [`read`], for who asks for some of its values alone.
pub(crate) fn read_kept(
    stream: Arc<Stream>,
    file: FilePath,
    kept: Option<Kept>,
) -> Result<Option<Node>, String> {
    let text = &*stream.text;
    let failed = |message: String| format!("error converting YAML to JSON: {message}");
    if let Some(error) = stream.errors.iter().find(|error| error.document == 0) {
        return Err(failed(syntax_error(text, error)));
    }
    if stream.documents.first().is_none_or(|document| document.tokens.is_empty()) {
        return Ok(None);
    }
    let source = Arc::new(Source { file, stream: stream.clone(), index: 0, embed: None, via: Vec::new() });
    let decoded = match kept {
        Some(kept) => decode_kept(&source, kept),
        None => decode(&source, DocumentReader::V2),
    };
    decoded.map(Some).map_err(|refusal| failed(refused(&source, &refusal.message, refusal.offset)))
}

/// Why bytes are no text, or nothing where they are one: the first octet that go-yaml's
/// reader refuses, without a line.
///
/// Mirrors `yaml_parser_update_buffer` of go.yaml.in/yaml `readerc.go`.
pub(crate) fn not_utf8(bytes: &[u8]) -> Option<String> {
    let at = std::str::from_utf8(bytes).err()?.valid_up_to();
    let width = match bytes[at] {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF7 => 4,
        _ => 0,
    };
    let octets = &bytes[at..bytes.len().min(at + width)];
    let why = if width == 0 {
        "invalid leading UTF-8 octet"
    } else if octets.len() < width {
        "incomplete UTF-8 octet sequence"
    } else if octets[1..].iter().any(|octet| octet & 0xC0 != 0x80) {
        "invalid trailing UTF-8 octet"
    } else if matches!(octets, [0xC0 | 0xC1, ..] | [0xE0, 0x80..=0x9F, ..] | [0xF0, 0x80..=0x8F, ..]) {
        "invalid length of a UTF-8 sequence"
    } else {
        "invalid Unicode character"
    };
    Some(format!("error converting YAML to JSON: yaml: {why}"))
}

/// What go-yaml's parser misses, where its scanner is content.
const BY_PARSER: [&str; 6] =
    ["<document start>", "key", "'-' indicator", "',' or ']'", "',' or '}'", "node content"];

/// go-yaml's line: that before the one where the parser stopped, and that itself where
/// the scanner did; none in the first.
fn syntax_error(text: &str, error: &SyntaxError) -> String {
    let at = (error.noticed as usize).min(text.len());
    let before = &text.as_bytes()[..at];
    let message = match &*error.message {
        "unknown anchor referenced" => &format!("unknown anchor '{}' referenced", anchor_at(text, at)),
        _ => &error.message,
    };
    let wanted = message.strip_prefix("did not find expected ").unwrap_or_default();
    let by_parser = BY_PARSER.iter().any(|known| wanted.starts_with(known));
    let mut line = before.iter().filter(|b| **b == b'\n').count();
    // The end of a text counts as a line of its own for what comes to it.
    let comes_to_end = by_parser || message.starts_with("could not find expected ':'");
    if at == text.len() && comes_to_end && !before.is_empty() && !before.ends_with(b"\n") {
        line += 1;
    }
    match &**message {
        // What reads characters knows of no lines.
        "control characters are not allowed" => line = 0,
        _ if line > 0 && !by_parser => line += 1,
        _ => {}
    }
    let anchor = message.starts_with("unknown anchor") || message.starts_with("anchor ");
    if line == 0 || anchor { format!("yaml: {message}") } else { format!("yaml: line {line}: {message}") }
}

/// The name of the alias that stands at a place.
fn anchor_at(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default().trim_start_matches('*');
    let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).unwrap_or(rest.len());
    &rest[..end]
}

/// What is no key of JSON, as Go prints it; any other refusal as it is.
fn refused(source: &Arc<Source>, message: &str, offset: u32) -> String {
    if !message.starts_with("unsupported map key of type") {
        let is_json = message.starts_with("json: ");
        return if is_json { message.to_owned() } else { format!("yaml: {message}") };
    }
    let document = source.document();
    let Some(at) = document.tokens.iter().position(|token| token.start == offset) else {
        return message.to_owned();
    };
    // A key and its value stand side by side; a map may begin at its first key.
    let is_scalar =
        |at: usize| matches!(document.tokens[at].kind, crate::lang::yaml::tape::TokenKind::Scalar(_));
    let at = if is_scalar(at) { at } else { at + 1 };
    let node = |at: usize| NodeRef::Source(source, at as u32);
    let (ty, key) = match node(at).scalar(Dialect::GoYamlV2) {
        Scalar::Uint(value) => ("uint64".to_owned(), format!("{value:#x}")),
        _ => ("%!s(<nil>)".to_owned(), "<nil>".to_owned()),
    };
    let value = if at + 1 < document.tokens.len() { go_syntax(node(at + 1)) } else { "<nil>".to_owned() };
    format!("unsupported map key of type: {ty}, key: {key}, value: {value}")
}

/// `%#v`, of scalars.
fn go_syntax(node: NodeRef<'_>) -> String {
    if node.is_map() {
        return "map[interface {}]interface {}{}".to_owned();
    }
    if node.is_seq() {
        return "[]interface {}{}".to_owned();
    }
    match node.scalar(Dialect::GoYamlV2) {
        Scalar::Null => "<nil>".to_owned(),
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        Scalar::Uint(value) => format!("{value:#x}"),
        Scalar::Float(value) => super::print::float_v(value),
        Scalar::Timestamp(text) | Scalar::Str(text) => super::quote::go_quote(text.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::document;

    /// The line is that where the parser is once it notices, as Helm 4.2.3 printed it: behind a text
    /// that it read over the end of its line, else at what comes next.
    #[test]
    fn a_line_that_is_no_entry_is_told_at_the_line_of_go_yaml() {
        for (text, line) in [
            ("a: b\nc", 3),
            ("a: b\nc\n", 3),
            ("a: b\n\nc\n", 4),
            ("# x\na: b\n\nc\n", 5),
            ("a: b\nc d\ne\n", 3),
            ("a: b\nc d\ne: f\n", 3),
            ("a: b\n\nThe [x](y).\n", 4),
            ("# C\nCRDs set i: true during.\n\nThe latest\n", 5),
            ("a: b\n\nc\n\n\n", 6),
            ("a: b\nc\n# x\n", 3),
            ("a:\n  b: c\n  d\n", 4),
            ("a:\n  b: c\n  d\ne: f\n", 4),
            ("a: b\nc # x\nd: e\n", 3),
            ("a: b\nc # x\n\n# y\nd: e\n", 5),
            ("a: b\n\"c\"\nd: e\n", 3),
            ("a: b\n\"c\"\n# x\n\nd: e\n", 5),
            ("a: b\n\"c\n d\"\ne: f\n", 3),
            ("a: b\n[c]\nd: e\n", 3),
            ("a: b\n*c\nd: e\n", 3),
            ("a: b\n&c d\ne: f\n", 3),
            ("a: b\n!c d\ne: f\n", 3),
            ("a: b\n\"c\"\n", 3),
            ("a: b\n\"c\"", 3),
            ("a: b\nc\n---\nd: e\n", 3),
            ("a: b\nc\n...\n", 3),
            ("a:\n- b\nc\nd: e\n", 4),
            ("a: b\nc\n- d\n", 3),
            ("a: |\n  x\nc\n", 4),
            ("a: b\nc\nd\ne\nf: g\n", 3),
            ("a: b\nc    \n\n\n   # x\nf: g\n", 5),
            ("a: b\n{c: d}\nf: g\n", 3),
            ("a: b\n{c: d,\n e: f}\nf: g\n", 3),
        ] {
            let told = document(text).expect_err("no YAML");
            let expected = format!("yaml: line {line}: could not find expected ':'");
            assert!(told.ends_with(&expected), "{text}: {told}");
        }
    }

    /// What Helm 4.2.3 printed of these, each with its line or none.
    #[test]
    fn refusals_have_the_lines_of_go_yaml() {
        for (text, expected) in [
            ("a: *\n", "yaml: did not find expected alphabetic or numeric character"),
            ("a: b\nc: *\nd: e\n", "yaml: line 2: did not find expected alphabetic or numeric character"),
            ("a: b\nc: &\n", "yaml: line 2: did not find expected alphabetic or numeric character"),
            ("a: b\nc: & d\n", "yaml: line 2: did not find expected alphabetic or numeric character"),
            ("a: b\nc: ** d\n", "yaml: line 2: did not find expected alphabetic or numeric character"),
            ("a: b\nc: !<x\n", "yaml: line 2: did not find the expected '>'"),
            ("a: b\nc: !<>\n", "yaml: line 2: did not find expected tag URI"),
            ("a: b\nc: !a!\n", "yaml: line 2: did not find expected tag URI"),
            ("a: b\nc: \"x\n", "yaml: line 3: found unexpected end of stream"),
            ("a: b\nc: 'x\n", "yaml: line 3: found unexpected end of stream"),
            ("a: b\nc: [x\n", "yaml: line 2: did not find expected ',' or ']'"),
            ("a: b\nc: {x\n", "yaml: line 2: did not find expected ',' or '}'"),
            ("a: b\nc: [x}\n", "yaml: line 1: did not find expected ',' or ']'"),
            ("a: b\nc: |x\n", "yaml: line 2: did not find expected comment or line break"),
            ("a: b\nc: |0\n", "yaml: line 2: found an indentation indicator equal to 0"),
            ("a: b\n\tc: d\n", "yaml: line 2: found a tab character that violates indentation"),
            ("a: b\n  c: d\n", "yaml: line 2: mapping values are not allowed in this context"),
            ("a: b: c\n", "yaml: mapping values are not allowed in this context"),
            ("a: b\nc: @x\n", "yaml: line 2: found character that cannot start any token"),
            ("a: b\nc: `x\n", "yaml: line 2: found character that cannot start any token"),
            ("a: b\n- c\n", "yaml: line 1: did not find expected key"),
            ("- a\nb: c\n", "yaml: line 1: did not find expected '-' indicator"),
            ("a: - b\n", "yaml: block sequence entries are not allowed in this context"),
            ("a:\n  - b\n - c\n", "yaml: line 2: did not find expected key"),
            ("a: b\n? c\nd\n", "yaml: line 4: could not find expected ':'"),
            ("a: >\n x\n  y\nz\n", "yaml: line 5: could not find expected ':'"),
            ("a: |\n\t x\n", "yaml: line 2: found a tab character where an indentation space is expected"),
            ("a: b\n c: d\ne: f\n", "yaml: line 2: mapping values are not allowed in this context"),
            ("a: b\nc: &x\nd: *y\n", "yaml: unknown anchor 'y' referenced"),
            ("a: [b, c]]\n", "yaml: did not find expected key"),
            ("a: {b: c}}\n", "yaml: did not find expected key"),
            ("a: b #c\n d: e\n", "yaml: line 1: did not find expected key"),
            ("a: !!int x\n", "yaml: cannot decode !!str `x` as a !!int"),
            ("a: [b\nc: d\n", "yaml: line 1: did not find expected ',' or ']'"),
            ("a: {b: c\nd: e\n", "yaml: line 1: did not find expected ',' or '}'"),
            ("a: \"b\" c\n", "yaml: did not find expected key"),
            ("a: &x &y b\n", "yaml: did not find expected key"),
            ("a: b\n\u{1}\n", "yaml: control characters are not allowed"),
            ("a: b\nc: \"x", "yaml: line 2: found unexpected end of stream"),
            ("a: \"x", "yaml: found unexpected end of stream"),
            ("a: b\nc: [x", "yaml: line 2: did not find expected ',' or ']'"),
            ("a: b\nc: |x", "yaml: line 2: did not find expected comment or line break"),
            ("a: b\nc: !a!", "yaml: line 2: did not find expected tag URI"),
            ("a: b\nc: *", "yaml: line 2: did not find expected alphabetic or numeric character"),
            ("a: b\nc: &x d: e", "yaml: line 2: mapping values are not allowed in this context"),
            ("a: b\nc: {d", "yaml: line 2: did not find expected ',' or '}'"),
            ("a: b: c", "yaml: mapping values are not allowed in this context"),
            ("a: b\n\n\u{2}", "yaml: control characters are not allowed"),
            ("a: b\nc: !<x", "yaml: line 2: did not find the expected '>'"),
            ("a: *", "yaml: did not find expected alphabetic or numeric character"),
            ("[a", "yaml: line 1: did not find expected ',' or ']'"),
            ("{a: b", "yaml: line 1: did not find expected ',' or '}'"),
            ("\"a", "yaml: found unexpected end of stream"),
            ("a: b\nc:\n  - d\n  e: f", "yaml: line 3: did not find expected '-' indicator"),
        ] {
            let told = document(text).expect_err("no YAML");
            assert!(told.ends_with(expected), "{text}: {told}");
        }
    }
}
