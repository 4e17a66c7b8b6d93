//! Tests that can't run here say so.

use std::io::Write;

/// End this test here, aloud: `skipped: TEST: why`.
macro_rules! skip {
    ($why:expr) => {{
        fn here() {}
        $crate::support::skip::say(std::any::type_name_of_val(&here), $why);
        return;
    }};
}
pub(crate) use skip;

/// The corpus; a test that needs it ends here, aloud, where there is none.
macro_rules! corpus_or_skip {
    () => {
        match $crate::support::corpus::Corpus::find() {
            Some(corpus) => corpus,
            None => $crate::support::skip::skip!("no corpus in FOREBAY_CORPUS, FOREBAY_SHARED or ../shared"),
        }
    };
}
pub(crate) use corpus_or_skip;

/// Write the line to standard error, past the capture of passing tests, and append
/// it to the file `FOREBAY_SKIPPED`, from which `.ci/run` counts.
pub(crate) fn say(place: &str, why: &str) {
    let test = place.trim_start_matches("it::").trim_end_matches("::here");
    let line = format!("skipped: {test}: {why}\n");
    // Whole lines, also where tests of other threads and processes write theirs.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(file) = std::env::var_os("FOREBAY_SKIPPED") {
        let file = std::fs::File::options().create(true).append(true).open(file);
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("FOREBAY_SKIPPED can be written");
    }
}

/// A bare `return` in a test ends it as if it had passed: only `skip!` and what it
/// shares with others may have one.
#[test]
fn no_test_ends_early_unannounced() {
    let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut found = Vec::new();
    for entry in walkdir::WalkDir::new(&tests).into_iter().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "rs")
            || path.starts_with(tests.join("it/support"))
        {
            continue;
        }
        let text = std::fs::read_to_string(path).expect("a source");
        let lines = text.lines().enumerate();
        found.extend(
            lines
                .filter(|(_, line)| line.contains("return;") || line.contains("return }"))
                .map(|(number, line)| format!("{}:{}: {}", path.display(), number + 1, line.trim())),
        );
    }
    assert!(found.is_empty(), "use skip!, or a function with a result:\n{}", found.join("\n"));
}
