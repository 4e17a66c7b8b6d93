//! Documents of which go-yaml makes what they say, node by node.

use super::resolve::{Dialect, Scalar, ScalarStyle, resolve_plain};
use super::tape::TokenKind;
use super::{NodeRef, Source};
use std::sync::Arc;

/// Whether a document is to sigs.k8s.io/yaml `Unmarshal` what its nodes are: without aliases, merge
/// keys and tags, with keys that are strings and scalars that are JSON's. Of equal keys the last wins.
/// What it says no to may be so all the same, and may be refused.
pub(crate) fn is_read_as_written(source: &Arc<Source>) -> bool {
    let document = source.document();
    let is_plain = document.anchors.is_empty() && document.tags.is_empty() && !document.merges;
    is_plain && !document.tokens.is_empty() && is_as_written(source, 0)
}

fn is_as_written(source: &Arc<Source>, at: u32) -> bool {
    let tokens = &source.document().tokens;
    let token = &tokens[at as usize];
    let is_map = match token.kind {
        TokenKind::Scalar(_) => {
            return match plain(source, at) {
                Some(Scalar::Float(value)) => value.is_finite(),
                scalar => !matches!(scalar, Some(Scalar::Timestamp(_))),
            };
        }
        TokenKind::Alias => return false,
        TokenKind::Sequence => false,
        TokenKind::Mapping => true,
    };
    let mut child = at + 1;
    while child < token.next {
        if is_map {
            let is_key = matches!(tokens[child as usize].kind, TokenKind::Scalar(_));
            if !is_key || !matches!(plain(source, child), None | Some(Scalar::Str(_))) {
                return false;
            }
            child = tokens[child as usize].next;
        }
        if !is_as_written(source, child) {
            return false;
        }
        child = tokens[child as usize].next;
    }
    true
}

/// What a plain scalar is; nothing of another, which is a string.
fn plain(source: &Arc<Source>, at: u32) -> Option<Scalar<'_>> {
    let node = NodeRef::Source(source, at);
    let is_plain = node.style() == ScalarStyle::Plain;
    is_plain.then(|| resolve_plain(node.text().unwrap_or_default(), Dialect::GoYamlV2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::yaml::go_compat::{DocumentReader, decode};
    use crate::lang::yaml::{FilePath, Node, NodeKind, Stream};
    use std::collections::BTreeMap;

    /// A node as JSON's types, of equal keys the last.
    fn shown(node: NodeRef<'_>) -> String {
        match node.kind() {
            NodeKind::Map => {
                let entries: BTreeMap<_, _> =
                    node.entries().map(|entry| (entry.key.into_owned(), shown(entry.value))).collect();
                format!("{entries:?}")
            }
            NodeKind::Seq => format!("{:?}", node.items().map(shown).collect::<Vec<_>>()),
            _ => format!("{:?}", node.scalar(Dialect::GoYamlV2)),
        }
    }

    #[test]
    fn what_is_read_as_written_is_what_is_decoded() {
        for (text, expected) in [
            ("a: {b: [1, x, 'y', \"z\\n\"]}\nc: |\n  d\n  e\nf:\n", true),
            ("a: 0x10\nb: 1_000\nc: 1e3\nd: -0.0\ne: yes\nf: ~\ng: 18446744073709551615\n", true),
            ("a: 1\na: 2\nb: {c: 1, c: {d: 1}}\n", true),
            ("'1': a\n\"true\": b\n'<<': c\n", true),
            ("a: '2020-01-01'\nb: 2020-01-01\nc: 2020-01-01T00:00:00Z\n", true),
            ("- a\n- - b\n  - {}\n  - []\n", true),
            ("text", true),
            ("1: a\n", false),
            ("yes: a\n", false),
            ("a: {1: b, '1': c}\n", false),
            ("? [a]\n: b\n", false),
            ("a: .inf\n", false),
            ("a: &x b\nc: *x\n", false),
            ("a: &x {b: c}\nd: {<<: *x}\n", false),
            ("a: !!str 1\n", false),
        ] {
            let stream = Arc::new(Stream::parse(text));
            let (file, embed) = (FilePath::in_root(""), None);
            let source = Arc::new(Source { file, stream, index: 0, embed, via: Vec::new() });
            assert_eq!(is_read_as_written(&source), expected, "{text}");
            if expected {
                let decoded = decode(&source, DocumentReader::V2).expect("it is read");
                let written = Node::Source(source, 0);
                assert_eq!(shown(written.get_ref()), shown(decoded.get_ref()), "{text}");
            }
        }
    }
}
