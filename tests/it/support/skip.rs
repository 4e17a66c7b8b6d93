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
