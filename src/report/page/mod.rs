//! A report as one page to keep or to mail: no request, no script, readable by keyboard,
//! on light and dark screens and on paper.

use super::lines::{Shape, line_of};
use super::markup::escape;
use super::secrets::SecretValues;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("page.css");

/// The page around a body. Its lines are masked here and not by who writes them out: a
/// secret value that looks like a piece of the style must not change that.
pub(crate) fn render(title: &str, body: &str, secrets: Option<&SecretValues>) -> String {
    let digest = STANDARD.encode(Sha256::digest(STYLE));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{digest}'; \
         base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
        escape(title)
    );
    for line in body.split_inclusive('\n') {
        page.push_str(&line_of(line, Shape::Xml, secrets));
    }
    page.push_str("</body>\n</html>\n");
    page
}

/// A sentence of ours, in which backquotes mark code, with names from files in it.
pub(crate) fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let mut prose = String::new();
    for (index, part) in parts.iter().enumerate() {
        // What follows an odd backquote is text.
        match index % 2 == 1 {
            true if index + 1 < parts.len() => prose.push_str(&code(part)),
            true => prose.push_str(&format!("`{}", escape(part))),
            false => prose.push_str(&escape(part)),
        }
    }
    prose
}

/// Text as code.
pub(crate) fn code(text: &str) -> String {
    format!("<code>{}</code>", escape(text))
}

/// Something that is folded until it is asked for. The content is markup.
pub(crate) fn folded(summary: &str, content: &str) -> String {
    format!("<details><summary>{}</summary>\n{content}</details>\n", escape(summary))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backquotes_mark_code_and_nothing_else_is_markup() {
        assert_eq!(prose("set `a<b` to *c*"), "set <code>a&lt;b</code> to *c*");
        assert_eq!(prose("one ` alone <b>"), "one ` alone &lt;b&gt;");
    }

    #[test]
    fn the_page_asks_for_nothing_from_elsewhere() {
        let page = render("a<b", "<p>text</p>\n", None);
        assert!(page.contains("<title>a&lt;b</title>"), "{page}");
        for word in ["src=", "@import", "url(", "<script", "style=\"", "<link"] {
            assert!(!page.contains(word), "{word}");
        }
    }
}
