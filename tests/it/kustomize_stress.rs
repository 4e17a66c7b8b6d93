//! Kustomizations that a seed writes, built by forebay and by `kubectl
//! kustomize`: the same text, or a failure of both, ours at a file and line.
//!
//! `FOREBAY_STRESS` is how many of them each transformer gets; one without it.

use crate::support::kustomize::{self, generated};
use crate::support::random::Random;
use crate::support::skip::skip;

/// Compare as many kustomizations as asked for around one section.
fn stress(name: &str) {
    let count = std::env::var("FOREBAY_STRESS").map_or(1, |count| count.parse().expect("a number"));
    let from = std::env::var("FOREBAY_STRESS_FROM").map_or(0, |from| from.parse().expect("a number"));
    let (mut built, mut crashed, mut differences) = (0, 0, Vec::new());
    for seed in from..from + count {
        let files = generated::files(name, &mut Random(seed));
        let (ours, theirs) = (kustomize::forebay(&files), kustomize::kubectl(&files));
        let difference = match (&ours, &theirs) {
            (_, Err(complaint)) if kustomize::is_crash(complaint) => {
                crashed += 1;
                continue;
            }
            (Ok(ours), Ok(theirs)) if ours == theirs => {
                built += 1;
                continue;
            }
            (Err((place, _)), Err(_)) if place.contains(':') => continue,
            (Ok(ours), Ok(theirs)) => {
                similar::TextDiff::from_lines(theirs.as_str(), ours.as_str()).unified_diff().to_string()
            }
            _ => format!("kubectl: {theirs:?}\nforebay: {ours:?}"),
        };
        if let Some(directory) = std::env::var_os("FOREBAY_STRESS_KEEP") {
            kustomize::write(&std::path::Path::new(&directory).join(format!("{name}-{seed}")), &files);
        }
        differences.push(format!("{name} {seed}:\n{difference}"));
    }
    println!("{name}: {built} of {count} build; kubectl crashes on {crashed}, which compare nothing");
    let shown: Vec<&str> = differences.iter().take(5).map(String::as_str).collect();
    assert!(differences.is_empty(), "{} of {count} differ\n{}", differences.len(), shown.join("\n"));
    // What mostly fails compares nothing.
    assert!(count < 20 || built * 2 > count, "{name}: only {built} of {count} build");
}

macro_rules! sections {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            if !kustomize::has_kubectl() {
                skip!("kubectl with kustomize 5.5 or newer is not on the PATH");
            }
            stress(stringify!($name));
        })*

        #[test]
        fn every_section_is_stressed() {
            assert_eq!(generated::names(), [$(stringify!($name)),*]);
        }
    };
}

sections! {
    namespace name_prefix labels common_labels common_annotations patches_merge patches_target
    patches_strategic_merge patches_json images replicas config_map_generator secret_generator
    generator_behavior generator_options components replacements vars configurations sort_options
    build_metadata transformers generators documents mixed
}

/// The same seed writes the same files.
#[test]
fn files_depend_on_the_seed_alone() {
    for name in generated::names() {
        assert_eq!(generated::files(name, &mut Random(7)), generated::files(name, &mut Random(7)), "{name}");
    }
}
