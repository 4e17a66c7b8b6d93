//! The console examples of the documentation, run as they stand.

#[test]
fn transcripts_show_what_the_commands_print() {
    trycmd::TestCases::new().env("COLUMNS", "80").case("README.md").case("docs/*.md");
}

#[test]
fn screens_fit_into_60_columns() {
    trycmd::TestCases::new().env("COLUMNS", "60").case("docs/screens/60.md");
}

#[test]
fn screens_fit_into_100_columns() {
    trycmd::TestCases::new().env("COLUMNS", "100").case("docs/screens/100.md");
}

#[test]
fn screens_fit_into_200_columns() {
    trycmd::TestCases::new().env("COLUMNS", "200").case("docs/screens/200.md");
}
