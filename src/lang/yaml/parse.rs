//! A text to its documents: what go-yaml reads is read, what it refuses is an
//! error and reading goes on at the next `---`.
//!
//! granit-parser, which reads YAML 1.2 in full, is asked about what go-yaml
//! refuses: a text that is fine YAML and fails in Flux all the same deserves
//! other words than a broken one. Nothing of its types leaves this file.

use super::compose::{Composer, NO_SEPARATOR};
use super::go_compat;
use super::scalar;
use super::scan::control_character;
use super::tape::Document;

/// Nesting of collections that is read, block and flow counted apart, as they are written;
/// with what aliases stand for, [`super::emit::DEPTH_LIMIT`]. Deeper input is a syntax
/// error: recursion over a tape is bounded by it. Go reads 10,000 levels.
pub(crate) const NESTING_LIMIT: usize = 100;

/// Why a document could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong, in go-yaml's words: those that the controllers print.
    pub message: String,
    /// Byte offset in the text.
    pub offset: u32,
    /// Where go-yaml notices, which is the line of its messages: a key without its `:` is one only
    /// once something else comes.
    pub noticed: u32,
    /// Index of the broken document in the stream.
    pub document: u32,
    /// How bad it is.
    pub kind: SyntaxErrorKind,
    /// Where the quote opens that isn't closed where it is meant to be.
    pub quote: Option<u32>,
}

/// Kinds of syntax errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyntaxErrorKind {
    /// No parser reads it.
    Malformed,
    /// Valid YAML 1.2, but go-yaml, and so every controller, refuses it.
    RefusedByGo,
    /// It follows a document without a `---` line: the API machinery and
    /// kustomize read the document above and leave this out silently.
    Unread,
}

/// An alias for which a document is refused: the message and its offset.
fn refused_alias(document: &Document) -> Option<(&'static str, u32)> {
    go_compat::excessive_alias(document).or_else(|| go_compat::deep_alias(document))
}

/// Parse all documents of a text from byte `base` on (after a byte order mark);
/// offsets count from the start of `text`. A broken document is left without
/// tokens and reading goes on at the next `---`.
pub(super) fn parse(text: &str, base: usize) -> (Vec<Document>, Vec<SyntaxError>) {
    let mut documents = Vec::new();
    let mut errors = Vec::new();
    let mut start = base;
    let mut end = base;
    loop {
        if end <= start {
            end = control_character(text, start).unwrap_or(text.len());
        }
        let mut composer = Composer::new(text, start, end, NESTING_LIMIT);
        let (message, (offset, noticed), quote, remains, resume) = loop {
            match composer.next() {
                Ok(Some(mut document)) => match refused_alias(&document) {
                    None => {
                        document.tokens.shrink_to_fit();
                        documents.push(document);
                    }
                    Some((message, offset)) => {
                        errors.push(refused_by_go(message, offset, documents.len() as u32));
                        documents.push(broken(document, offset));
                    }
                },
                Ok(None) => {
                    let comments = composer.rest_of_comments();
                    if !comments.is_empty() {
                        documents.push(Document { comments, ..Document::default() });
                    }
                    return (documents, errors);
                }
                Err(refusal) => {
                    let offset = refusal.offset.min(text.len());
                    let remains = composer.remains();
                    let begin = if remains.explicit { remains.start as usize + 3 } else { start };
                    let resume = next_document(text, offset.max(begin));
                    let noticed = refusal.noticed.min(text.len());
                    break (refusal.message, (offset, noticed), composer.open_quote(offset), remains, resume);
                }
            }
        };
        let from = (remains.start as usize).max(start).min(offset);
        // A refused directive is a part of the document behind the `---`.
        let until = match resume {
            Some(at) if text[from..].starts_with('%') => next_document(text, at + 3),
            at => at,
        };
        errors.push(SyntaxError {
            message: message.to_owned(),
            offset: offset as u32,
            noticed: noticed as u32,
            document: documents.len() as u32,
            kind: kind_of(message, &text[from..until.unwrap_or(text.len())]),
            quote,
        });
        documents.push(broken(remains, offset as u32));
        match resume {
            Some(next) => start = next,
            None => return (documents, errors),
        }
    }
}

fn refused_by_go(message: &str, offset: u32, document: u32) -> SyntaxError {
    let kind = SyntaxErrorKind::RefusedByGo;
    SyntaxError { message: message.to_owned(), offset, noticed: offset, document, kind, quote: None }
}

/// Whether the text of a refused document is good YAML all the same.
fn kind_of(message: &str, text: &str) -> SyntaxErrorKind {
    if message == NO_SEPARATOR {
        SyntaxErrorKind::Unread
    } else if valid_yaml_1_2(text) {
        SyntaxErrorKind::RefusedByGo
    } else {
        SyntaxErrorKind::Malformed
    }
}

fn broken(document: Document, offset: u32) -> Document {
    Document {
        comments: document.comments,
        start: document.start,
        end: document.end.max(offset),
        explicit: document.explicit,
        broken: true,
        ..Document::default()
    }
}

/// The start of the next line from `from` on that separates documents.
fn next_document(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    memchr::memmem::find_iter(&bytes[from..], b"---").map(|found| from + found).find(|at| {
        let line_start = *at == 0 || matches!(bytes[at - 1], b'\n' | b'\r');
        line_start && (scalar::blank_or_end(bytes, at + 3) || bytes.get(at + 3) == Some(&b'#'))
    })
}

/// Whether a parser of YAML 1.2 takes the text.
fn valid_yaml_1_2(text: &str) -> bool {
    let options = granit_parser::options! {
        flow_nesting_limit: NESTING_LIMIT,
        block_nesting_limit: NESTING_LIMIT,
    };
    let mut parser = granit_parser::Parser::new_from_str_with_options(text, options);
    loop {
        match parser.next_event() {
            None => return true,
            Some(Ok(_)) => {}
            Some(Err(_)) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Stream;
    use super::*;

    /// `ok` or the kind and words of the first error.
    fn verdict(text: &str) -> String {
        match Stream::parse(text).errors.first() {
            None => "ok".to_owned(),
            Some(error) => format!("{:?}: {}", error.kind, error.message),
        }
    }

    #[test]
    fn documents_are_taken_as_go_yaml_takes_them() {
        for text in [
            "",
            "---\n",
            "# c\n",
            "a: 1",
            "a:\n- 1\n-\n",
            "a: &x k\n*x: 1\n",
            "a: {\n\tb: 1\n}\n",
            "a: \"x\ny\"\n",
            "a: |# c\n  x\n",
            "[-]\n",
            "a: 1\u{85}b: 2\n",
            "a: 1\n---# c\nb: 2\n",
            "a: 1\n---\n\u{feff}b: 2\nc: 3\n",
            "a: 1\n...\n...\n---\nb: 2\n",
            "%YAML 1.1\n%TAG !e! tag:x:\n---\na: !e!b c\n",
            "? {a: 1}\n: 2\n",
        ] {
            assert_eq!(verdict(text), "ok", "{text:?}");
        }
    }

    #[test]
    fn documents_are_refused_as_go_yaml_refuses_them() {
        use SyntaxErrorKind::{Malformed, RefusedByGo, Unread};
        for (text, kind, message) in [
            ("a: [1, 2\n", Malformed, "did not find expected ',' or ']'"),
            ("a: b: c\n", Malformed, "mapping values are not allowed in this context"),
            ("a: 1\nb\n", Malformed, "could not find expected ':'"),
            ("a: 1\n- 2\n", Malformed, "did not find expected key"),
            ("a: @x\n", Malformed, "found character that cannot start any token"),
            ("a: *x\n", Malformed, "unknown anchor referenced"),
            ("a: 'x\n", Malformed, "found unexpected end of stream"),
            ("a: x\u{7}\n", Malformed, "control characters are not allowed"),
            ("a: !e!x 1\n", Malformed, "found undefined tag handle"),
            ("a: \"\\/\"\n", RefusedByGo, "found unknown escape character"),
            ("%YAML 1.2\n---\na: 1\n", RefusedByGo, "found incompatible YAML document"),
            ("-\ta\n", RefusedByGo, "found character that cannot start any token"),
            ("a: 1\n\t\nb: 2\n", RefusedByGo, "found a tab character that violates indentation"),
            (
                "a: |\n  \tx\n  y\n",
                RefusedByGo,
                "found a tab character where an indentation space is expected",
            ),
            ("a: &a.b 1\n", RefusedByGo, "did not find expected alphabetic or numeric character"),
            (": 1\n", RefusedByGo, "did not find expected key"),
            ("a: 1\n...\nb: 2\n", Unread, "did not find expected <document start>"),
            ("{a: 1}\n{b: 2}\n", Unread, "did not find expected <document start>"),
        ] {
            assert_eq!(verdict(text), format!("{kind:?}: {message}"), "{text:?}");
        }
    }

    #[test]
    fn simple_keys_end_within_1024_characters() {
        for (key, expected) in [
            ("k".repeat(1024), "ok"),
            ("k".repeat(1025), "RefusedByGo: mapping values are not allowed in this context"),
            ("é".repeat(1024), "ok"),
            (format!("\"{}\"", "k".repeat(1022)), "ok"),
        ] {
            let verdict = verdict(&format!("a: 1\nb:\n  {key}: v\n"));
            assert_eq!(verdict.contains("not allowed"), expected != "ok", "{}: {verdict}", key.len());
        }
    }

    #[test]
    fn reading_goes_on_at_the_next_separator() {
        let stream = Stream::parse("a: [\n---\nb: 1\n--- # c\nc: }\n---\nd: 2\n");
        let broken: Vec<bool> = stream.documents.iter().map(|document| document.broken).collect();
        assert_eq!(broken, [true, false, true, false]);
        let documents: Vec<u32> = stream.errors.iter().map(|error| error.document).collect();
        assert_eq!(documents, [0, 2]);
    }

    #[test]
    fn tokens_know_their_bytes() {
        let text = "k: |-  # c\n  x\n  y\n\n\nl: [ 'é', {a: b} ]\nm:\n  n:\n# end\n";
        let stream = Stream::parse(text);
        let document = &stream.documents[0];
        let written: Vec<&str> =
            document.tokens.iter().map(|token| &text[token.start as usize..token.end as usize]).collect();
        let expected = [
            &text[..text.len() - 7],
            "k",
            "|-  # c\n  x\n  y",
            "l",
            "[ 'é', {a: b} ]",
            "'é'",
            "{a: b}",
            "a",
            "b",
            "m",
            "n:",
            "n",
            "",
        ];
        assert_eq!(written, expected);
        assert_eq!(document.comments.len(), 2);
    }

    #[test]
    fn a_block_scalar_at_the_end_gains_no_line_break() {
        for (text, expected) in [("a: |\n  x", "x"), ("a: |\n  x\n", "x\n"), ("a: |+\n  x\n\n", "x\n\n")] {
            let stream = Stream::parse(text);
            assert_eq!(&*stream.documents[0].decoded[0], expected, "{text:?}");
        }
    }
}
