//! Files that `sops` 3.11 wrote (`tests/data/sops`), whole and broken: whole ones are silent,
//! and each way of breaking one is told at its line. That `sops` refuses the broken ones was
//! tried with it; no key is kept.

use forebay::internals::config::{Config, Level};
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::lint::engine::{self, LintOptions};
use forebay::internals::world::World;
use std::sync::Arc;

const FILES: [(&str, &str); 4] = [
    ("mac-only.yaml", include_str!("../data/sops/mac-only.yaml")),
    ("secret.yaml", include_str!("../data/sops/secret.yaml")),
    ("two.yaml", include_str!("../data/sops/two.yaml")),
    ("values.yaml", include_str!("../data/sops/values.yaml")),
];

/// Rule, level, line and title of what the rules about secrets find.
fn found(files: &[(&str, &str)]) -> Vec<(&'static str, Level, u32, String)> {
    let bytes = files.iter().map(|(path, text)| (*path, text.as_bytes().to_vec()));
    let snapshot = Snapshot::memory(bytes, Arc::new(Store::default()));
    let config = Config::default();
    let world = World::new(&Arc::new(snapshot), &config, &[]);
    let findings = engine::run(&world, &config, &LintOptions::default()).findings;
    let ours = findings.iter().filter(|finding| finding.rule.group.name() == "secret");
    let row = |finding: &forebay::internals::lint::Finding| {
        let line = world.snapshot.positions(&finding.location).0.0;
        (finding.rule.id, finding.level, line, finding.title.clone())
    };
    ours.map(row).collect()
}

#[test]
fn what_sops_wrote_is_silent() {
    for (path, text) in FILES {
        assert_eq!(found(&[(path, text)]), [], "{path}");
    }
    assert_eq!(found(&FILES), []);
}

/// A file after a change of each line that fits.
fn changed(text: &str, change: impl Fn(&str) -> Option<String>) -> String {
    text.lines().filter_map(change).map(|line| line + "\n").collect()
}

#[test]
fn each_way_of_breaking_is_told_at_its_line() {
    type Change = fn(&str) -> Option<String>;
    const WAYS: [(&str, &str, Level, Change); 5] = [
        ("in the open", "is not encrypted", Level::Error, |line| {
            let is_value = line.contains(": ENC[") && !line.contains("mac:");
            Some(if is_value { format!("{}: open", line.split(": ENC[").next()?) } else { line.to_owned() })
        }),
        ("a value that is cut off", "is cut off", Level::Error, |line| {
            let is_value = line.contains(": ENC[") && !line.contains("mac:");
            Some(if is_value { line.split(",iv:").next()?.to_owned() } else { line.to_owned() })
        }),
        ("no mac", "`sops.mac` is missing", Level::Warning, |line| {
            (!line.trim_start().starts_with("mac:")).then(|| line.to_owned())
        }),
        ("no time", "`sops.lastmodified` is missing", Level::Error, |line| {
            (!line.trim_start().starts_with("lastmodified:")).then(|| line.to_owned())
        }),
        ("a key that is cut off", "data key under `sops.age` is cut off", Level::Error, |line| {
            (!line.contains("-----END AGE")).then(|| line.to_owned())
        }),
    ];
    for (path, text) in FILES {
        for (way, words, level, change) in WAYS {
            let broken = changed(text, change);
            assert_ne!(broken, text, "{path}: {way}");
            let told = found(&[(path, &broken)]);
            assert!(!told.is_empty(), "{path}: {way}: nothing is told");
            for (rule, own, line, title) in &told {
                assert_eq!((*rule, *own), ("undecryptable-file", level), "{path}: {way}: {title}");
                assert!(title.contains(words), "{path}: {way}: {title}");
                let shown = broken.lines().nth(*line as usize - 1).unwrap_or_default();
                let is_there = match words {
                    "is not encrypted" => shown.ends_with(": open"),
                    "is cut off" => shown.contains("ENC["),
                    _ => *line > 1,
                };
                assert!(is_there, "{path}: {way}: {title} at line {line}: {shown}");
            }
        }
    }
}

#[test]
fn a_creation_rule_wants_a_plain_file_encrypted() {
    let plain = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: plain\n  namespace: apps\nstringData:\n  word: hunter2\n";
    let rules = "creation_rules:\n  - path_regex: apps/.*\\.yaml\n    encrypted_regex: ^(data|stringData)$\n    age: age1example\n";
    let encrypted = FILES[1].1;
    let told = |files: &[(&str, &str)]| {
        let all = found(files).into_iter().filter(|(rule, ..)| *rule == "plaintext-secret");
        all.map(|(_, level, line, _)| (level, line)).collect::<Vec<_>>()
    };
    let beside = ("apps/login.yaml", encrypted);
    assert_eq!(told(&[(".sops.yaml", rules), beside, ("apps/plain.yaml", plain)]), [(Level::Error, 7)]);
    assert_eq!(told(&[(".sops.yaml", rules), ("apps/plain.yaml", plain)]), [(Level::Warning, 7)]);
    assert_eq!(told(&[(".sops.yaml", rules), beside, ("other/plain.yaml", plain)]), []);
    assert_eq!(told(&[(".sops.yaml", rules), beside, ("apps/example/plain.yaml", plain)]), []);
    assert_eq!(told(&[("apps/.sops.yaml", rules), beside, ("apps/plain.yaml", plain)]), []);
    assert_eq!(told(&[("a/.sops.yaml", rules), ("a/apps/plain.yaml", plain)]), [(Level::Warning, 7)]);
}
