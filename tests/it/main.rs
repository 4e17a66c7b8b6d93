//! All tests from outside, but for those of the pages of rules (`tests/rules.rs`) and
//! of the plans of projects (`tests/plan.rs`), which make their tests out of files.
//! One program, because each one more is linked against everything again. A module
//! is a subject: `cargo test --test it suspend::` runs those of one.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests end by panics and tell what they did"
)]

mod support;

mod action;
mod advice;
mod applied_kustomizations;
mod architecture;
mod baseline;
mod chart_archives;
mod chart_cases;
#[cfg(unix)]
mod chart_objects;
mod chart_pull;
mod chart_reads;
mod chart_releases;
#[cfg(unix)]
mod chart_servers;
mod chart_stores;
mod chart_values;
mod cli;
mod cluster_api;
mod cluster_api_commands;
mod clusters;
mod completions;
mod corpus_findings;
mod documentation;
mod edits;
mod effects;
mod emit;
mod entries;
mod entry_points;
mod examples;
mod explain_values;
mod flux_build;
mod flux_events;
mod formats;
mod fuzzing;
mod gate_rewrite;
mod gates;
mod go_grammars;
mod go_yaml;
mod growth;
#[cfg(unix)]
mod helm_charts;
mod hidden;
#[cfg(unix)]
mod hook;
mod hostile_builds;
mod hostile_charts;
mod hostile_stack;
mod hostile_stack_charts;
mod hostile_text;
#[cfg(unix)]
mod hostile_trees;
mod hostile_yaml;
mod kustomize_cases;
mod kustomize_goldens;
mod kustomize_origins;
mod kustomize_stress;
mod lsp;
mod lsp_class;
mod lsp_plan;
mod lsp_random;
mod lsp_references;
mod lsp_values;
mod lsp_views;
mod makers;
mod map;
#[cfg(unix)]
mod mcp;
mod migrate_alert_summary;
mod mistakes_everywhere;
mod oracle;
mod origins;
mod plan_acts;
mod plan_comment;
mod plan_history;
mod plan_machines;
mod plan_properties;
mod post_rendering;
mod projects;
#[cfg(unix)]
mod promises;
mod reading;
mod refactoring_classes;
mod refactoring_commands;
mod refactorings;
mod rehearsals;
mod render_cache;
mod resource_sets;
mod rewrite_properties;
mod rewrites;
mod schema_mistakes;
mod schema_places;
mod schema_versions;
mod schemas;
mod seeded_faults;
mod shared_builds;
mod simulate_events;
mod simulate_hooks;
mod simulate_propagation;
mod simulators;
mod sops;
mod substitution;
mod suspend;
mod template_cases;
mod template_fuzzing;
mod templates;
mod topology_mutation;
mod transcripts;
mod two_trees;
mod two_trees_commands;
mod unknown_fields;
mod versions;
