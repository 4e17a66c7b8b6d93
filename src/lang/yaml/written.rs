//! Where the value of a scalar stands in its document as it is written.

use super::node::{NodeRef, Origin};
use super::resolve::ScalarStyle;

/// The runs of a scalar's value that stand in the document byte for byte, each with its
/// offset in the scalar: all of it, within quotes or not, or the lines of a literal block.
/// `None` where it is written otherwise: folded, with escapes, in a file of DOS, or with
/// blank lines at the end that stay.
pub(crate) fn written_runs<'v>(node: NodeRef<'_>, value: &'v str) -> Option<Vec<(usize, &'v str)>> {
    let node = match node {
        NodeRef::Built(built) => match built.origin.as_ref()? {
            Origin::Token(source, at) => NodeRef::Source(source, *at),
            _ => return None,
        },
        node => node,
    };
    let NodeRef::Source(source, _) = node else { return None };
    let token = node.token()?;
    let written = source.stream.text.get(token.start as usize..token.end as usize)?;
    let at = match node.style() {
        ScalarStyle::Plain => 0,
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => 1,
        ScalarStyle::Literal => return lines(written, value),
        ScalarStyle::Folded => return None,
    };
    let is_it = written.len() == value.len() + 2 * at && written.get(at..at + value.len()) == Some(value);
    is_it.then(|| vec![(at, value)])
}

/// The lines of a literal block, its header first.
fn lines<'v>(written: &str, value: &'v str) -> Option<Vec<(usize, &'v str)>> {
    let mut at = written.find('\n')? + 1;
    let mut rest = written[at..].split('\n');
    let mut runs = Vec::new();
    for line in value.split_inclusive('\n') {
        let written = rest.next()?;
        let indent = written.strip_suffix(line.strip_suffix('\n').unwrap_or(line))?;
        if !indent.bytes().all(|byte| byte == b' ') {
            return None;
        }
        runs.push((at + indent.len(), line));
        at += written.len() + 1;
    }
    Some(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::yaml::{Dialect, Scalar, parse_nodes};

    #[test]
    fn runs_stand_where_they_say() {
        for (text, count) in [
            ("a: b c", Some(1)),
            ("a: 'b c'", Some(1)),
            ("a: \"b c\"", Some(1)),
            ("a: \"b\\tc\"", None),
            ("a: 'it''s'", None),
            ("a: b\n  c", None),
            ("a: |\n  b\n  c\n", Some(2)),
            ("a: |-\n  b\n\n    c\n", Some(3)),
            ("a: |2\n    b\n  c\n", Some(2)),
            ("a: |+\n  b\n\n\n", None),
            ("a: >\n  b\n  c\n", None),
            ("a: |\n  b\r\n  c\r\n", None),
        ] {
            let root = parse_nodes("f", text).remove(0);
            let node = root.get_ref().get("a").expect("a value");
            let Scalar::Str(value) = node.scalar(Dialect::GoYamlV2) else { panic!("{text}") };
            let runs = written_runs(node, &value);
            assert_eq!(runs.as_ref().map(Vec::len), count, "{text}");
            let start = node.token().expect("a token").start as usize;
            let mut all = String::new();
            for (at, run) in runs.into_iter().flatten() {
                let content = run.trim_end_matches('\n');
                assert_eq!(&text[start + at..start + at + content.len()], content, "{text}");
                all.push_str(run);
            }
            assert!(count.is_none() || all == *value, "{text}");
        }
    }
}
