//! The console examples of the documentation, run as they stand.

/// No cases yet, with an environment in which the caches of the user hold no charts.
fn cases() -> trycmd::TestCases {
    let cases = trycmd::TestCases::new();
    cases.env("XDG_CACHE_HOME", "/nonexistent").env("HELM_CACHE_HOME", "/nonexistent");
    cases
}

#[test]
fn transcripts_show_what_the_commands_print() {
    cases().env("COLUMNS", "80").case("README.md").case("docs/*.md");
}

#[test]
fn screens_fit_into_60_columns() {
    cases().env("COLUMNS", "60").case("docs/screens/60.md");
}

#[test]
fn screens_fit_into_100_columns() {
    cases().env("COLUMNS", "100").case("docs/screens/100.md");
}

#[test]
fn screens_fit_into_200_columns() {
    cases().env("COLUMNS", "200").case("docs/screens/200.md");
}
