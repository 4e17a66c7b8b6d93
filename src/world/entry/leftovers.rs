//! Directories whose Flux objects are not meant to run.

/// Path components of what was put aside.
const ARCHIVES: [&str; 9] = [
    ".archive",
    "archive",
    "_archive",
    "archived",
    "attic",
    "legacy",
    "deprecated",
    "_disabled",
    ".disabled",
];

/// Path components of what shows or tests something. A cluster may be called
/// so: they count only where nothing says what is applied.
const SHOWN: [&str; 11] = [
    "template",
    "templates",
    "test",
    "tests",
    "testdata",
    "e2e",
    "example",
    "examples",
    "sample",
    "samples",
    "fixtures",
];

/// Whether something lies in a directory of what was put aside.
pub(crate) fn is_archive(path: &str) -> bool {
    path.split('/').any(|part| is_one_of(&ARCHIVES, part))
}

/// Whether something lies in an archive or a hidden directory.
pub(super) fn is_archived(path: &str) -> bool {
    let is_hidden = |part: &str| part.starts_with('.') && part.len() > 1 && part != ".." && part != ".github";
    is_archive(path) || path.split('/').any(is_hidden)
}

/// The same for what is only a candidate where nothing is stated: templates,
/// tests, examples, and one of several versions in a catalogue.
pub(crate) fn is_leftover(path: &str) -> bool {
    is_archived(path)
        || path
            .split('/')
            .any(|part| is_one_of(&SHOWN, part) || part.eq_ignore_ascii_case("fixture") || is_version(part))
}

fn is_one_of(words: &[&str], part: &str) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case(part))
}

/// `1.2.3`, `v1.2`: a directory of a catalogue.
fn is_version(part: &str) -> bool {
    let text = part.strip_prefix(['v', 'V']).unwrap_or(part);
    let mut numbers = text.split('.');
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    numbers.clone().count() >= 2 && numbers.all(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_told_by_a_component() {
        for (path, archived, leftover) in [
            ("clusters/production", false, false),
            (".archive/kube/apps", true, true),
            ("kubernetes/_archive/x", true, true),
            ("apps/archiver/app", false, false),
            ("clusters/test", false, true),
            ("apps/podinfo/6.5.3", false, true),
            ("apps/podinfo/v1.2/x", false, true),
            ("apps/v1/x", false, false),
            (".github/workflows", false, false),
        ] {
            assert_eq!((is_archived(path), is_leftover(path)), (archived, leftover), "{path}");
        }
    }
}
