//! Documents cut out of a file that holds others, with what belongs to them.
//!
//! A document reaches from its `---` to the next one, so the comments on both sides of
//! its text go with it. What stands above the first `---` is the file's; where the
//! first document has none, the comments above it are the file's down to the last
//! empty line before it.

use crate::lang::yaml::Stream;
use std::collections::BTreeSet;

/// A file in two.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// What stays, byte for byte.
    pub rest: String,
    /// What was cut out, in its order, byte for byte but for empty lines at its end.
    pub out: String,
}

/// Cuts documents out, by their numbers.
///
/// # Errors
/// Why their bounds are not certain.
pub(super) fn cut(stream: &Stream, wanted: &BTreeSet<u32>) -> Result<Cut, &'static str> {
    let text = &*stream.text;
    if text.lines().any(|line| line.starts_with('%') || line.trim_end() == "..." || line.starts_with("... "))
    {
        return Err("the file has directives or ends of documents");
    }
    let documents = &stream.documents;
    if documents.iter().skip(1).any(|document| !document.explicit) {
        return Err("the documents of the file are not parted by `---`");
    }
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let first = match documents.first() {
        Some(document) if !document.explicit => head(text, mark, document.start as usize),
        Some(document) => document.start as usize,
        None => return Err("the file holds no document"),
    };
    let mut bounds = vec![first];
    bounds.extend(documents.iter().skip(1).map(|document| document.start as usize));
    bounds.push(text.len());
    let (mut rest, mut out) = (text[..first].to_owned(), String::new());
    for (number, bound) in bounds.windows(2).enumerate() {
        let part = &text[bound[0]..bound[1]];
        if wanted.contains(&(number as u32)) { out.push_str(part) } else { rest.push_str(part) }
    }
    // A block scalar may keep them.
    if !["|+", ">+"].iter().any(|keeps| out.contains(keeps)) {
        let end = if out.contains("\r\n") { "\r\n" } else { "\n" };
        let had_end = out.ends_with('\n');
        out.truncate(out.trim_end_matches(['\n', '\r', ' ', '\t']).len());
        if had_end {
            out.push_str(end);
        }
    }
    Ok(Cut { rest, out })
}

/// Where the head of the file ends and what belongs to its first document begins.
fn head(text: &str, from: usize, start: usize) -> usize {
    let above = &text[from..start];
    let mut at = from;
    let mut end = from;
    for line in above.split_inclusive('\n') {
        at += line.len();
        if line.trim().is_empty() && text[from..at].contains('#') {
            end = at;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str, wanted: &[u32]) -> Result<(String, String), &'static str> {
        let cut = cut(&Stream::parse(text), &wanted.iter().copied().collect())?;
        Ok((cut.rest, cut.out))
    }

    #[test]
    fn comments_go_with_their_document_and_the_rest_keeps_its_bytes() {
        for (text, wanted, rest, out) in [
            ("a: 1\n---\nb: 2\n", &[1][..], "a: 1\n", "---\nb: 2\n"),
            ("a: 1\n---\nb: 2\n", &[0], "---\nb: 2\n", "a: 1\n"),
            (
                "a: 1\n---\n# of b\nb: 2 # two\n# end\n\n---\nc: 3",
                &[1],
                "a: 1\n---\nc: 3",
                "---\n# of b\nb: 2 # two\n# end\n",
            ),
            ("a: 1\n---\nb: 2\n---\nc: 3", &[2], "a: 1\n---\nb: 2\n", "---\nc: 3"),
            ("# file\n---\na: 1\n--- # of b\nb: 2\n", &[0], "# file\n--- # of b\nb: 2\n", "---\na: 1\n"),
            ("# file\n\n# of a\na: 1\n---\nb: 2\n", &[0], "# file\n\n---\nb: 2\n", "# of a\na: 1\n"),
            ("# of a\na: 1\n---\nb: 2\n", &[0], "---\nb: 2\n", "# of a\na: 1\n"),
            ("---\r\na: 1\r\n\r\n---\r\nb: 2\r\n", &[0], "---\r\nb: 2\r\n", "---\r\na: 1\r\n"),
            (
                "a: 1\n---\nb: 2\n---\nc: 3\n---\nd: 4\n",
                &[1, 3],
                "a: 1\n---\nc: 3\n",
                "---\nb: 2\n---\nd: 4\n",
            ),
            (
                "a: |\n  ---\n  x\n---\nb: |+\n  y\n\n---\nc: 3\n",
                &[1],
                "a: |\n  ---\n  x\n---\nc: 3\n",
                "---\nb: |+\n  y\n\n",
            ),
            ("---\n# nothing\n---\nb: 2\n", &[1], "---\n# nothing\n", "---\nb: 2\n"),
        ] {
            let got = parts(text, wanted).unwrap_or_else(|why| panic!("{text:?}: {why}"));
            assert_eq!(got, (rest.to_owned(), out.to_owned()), "{text:?}");
        }
        for text in ["%YAML 1.1\n---\na: 1\n---\nb: 2\n", "a: 1\n...\n---\nb: 2\n"] {
            assert!(parts(text, &[0]).is_err(), "{text:?}");
        }
    }
}
