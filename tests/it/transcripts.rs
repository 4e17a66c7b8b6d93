//! The console examples of the documentation, run as they stand.

#[test]
fn transcripts_show_what_the_commands_print() {
    trycmd::TestCases::new().env("COLUMNS", "80").case("README.md").case("docs/*.md");
}
