//! The table of effects in the documentation, and the words of `--fail-on-effect`.

use crate::support::generated;
use forebay::internals::model::{Category, EffectKind};
use std::fmt::Write as _;
use std::process::Command;

fn table() -> String {
    let mut out = String::from("| category | effect | severity | meaning |\n|---|---|---|---|\n");
    for category in Category::ALL {
        for kind in EffectKind::ALL.iter().filter(|kind| kind.category() == *category) {
            let unless = match kind.unless() {
                "" => String::new(),
                unless => format!("; {unless}"),
            };
            let _ =
                writeln!(out, "| {category} | `{kind}` | {}{unless} | {} |", kind.severity(), kind.meaning());
        }
    }
    out
}

#[test]
fn the_generated_table_is_that_of_the_code() {
    generated::check("docs/plan.md", "effects", &table());
}

#[test]
fn words_that_are_no_effect_are_refused() {
    for (word, code, said) in [
        ("delted", 2, "did you mean `deleted`?"),
        ("notible", 2, "did you mean `notable`?"),
        ("deleted,roll-out", 2, "did you mean `rollout`?"),
        ("catastrophe", 2, "it takes routine"),
        ("", 2, "needs a value"),
        ("deletes", 2, "`deletes` is a verb of the text; its effect is deleted"),
        ("ROLLS", 2, "its effect is workload-rollout"),
        ("replaces", 2, "its effects are replaced, rollout"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_forebay"))
            .args(["plan", "--root", "fixtures/demo", "--base", "./fixtures/demo", "--fail-on-effect", word])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("the program starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{word}: {text}");
        assert!(text.contains(said), "{word}: {text}");
    }
    let help = Command::new(env!("CARGO_BIN_EXE_forebay")).args(["plan", "--help"]).output();
    let help = String::from_utf8(help.expect("the program starts").stdout).expect("UTF-8");
    for kind in EffectKind::ALL {
        let line = help.lines().find(|line| line.split_whitespace().next() == Some(kind.name()));
        let verb =
            line.and_then(|line| line.split("  ").map(str::trim).filter(|part| !part.is_empty()).nth(1));
        assert!(verb.is_some_and(|verb| !verb.is_empty()), "{kind} is not in the help with its verb");
    }
}
