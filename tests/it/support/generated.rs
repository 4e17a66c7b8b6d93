//! Parts of the documentation that are made of the code.

use std::fmt::Write as _;
use std::path::Path;

/// Checks that a file of the project holds a text between `<!-- NAME -->` and
/// `<!-- end of NAME -->`; with `FOREBAY_RECORD` set, writes it there instead.
pub(crate) fn check(file: &str, name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("{file} has no {begin}"));
    let (held, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{file} has no {end}"));
    if std::env::var_os("FOREBAY_RECORD").is_some() {
        let mut new = String::new();
        let _ = write!(new, "{before}{begin}{text}{end}{after}");
        std::fs::write(&path, new).unwrap_or_else(|error| panic!("{file}: {error}"));
    } else {
        assert!(held == text, "`{name}` in {file} is not what the code says: run .ci/docs");
    }
}
