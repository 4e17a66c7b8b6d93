//! `lint --fix`: apply the fixes of findings until none is left.
//!
//! In a pass, the fixes of one file that don't touch each other are applied
//! together and proven together; the others wait for the next pass, which sees
//! the new text. A fix that can't be proven is left out and said to be our bug.

use super::{FileChange, RewriteRefusal, Wanted, plan_file, policy};
use crate::config::Config;
use crate::files::{Blob, Snapshot};
use crate::lang::yaml::WorkPath;
use crate::lint::engine::{self, LintOptions};
use crate::lint::{Applicability, Finding, Fix};
use crate::world::World;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Passes after which fixing gives up: fixes that undo each other would go on
/// for ever.
const PASSES: usize = 10;

/// What fixing came to.
pub struct FixOutcome {
    /// The repository with all fixes in it.
    pub world: World,
    /// What is left to report, of that repository.
    pub left: engine::LintOutcome,
    /// Changed files in order of paths.
    pub changes: Vec<FileChange>,
    /// How many findings of each rule were fixed.
    pub fixed: BTreeMap<&'static str, usize>,
    /// Findings whose fix was refused: the rule and why.
    pub refused: Vec<(&'static str, RewriteRefusal)>,
    /// Whether fixes were left when the passes were used up.
    pub unfinished: bool,
}

/// Fix what can be fixed. `world` builds the clusters of a snapshot; `least` is
/// the least certainty of a fix that is applied.
pub fn fix(
    world: impl Fn(&Arc<Snapshot>) -> World,
    snapshot: Arc<Snapshot>,
    config: &Config,
    options: &LintOptions,
    least: Applicability,
) -> FixOutcome {
    let mut snapshot = snapshot;
    let mut changes: BTreeMap<WorkPath, (Arc<Blob>, String)> = BTreeMap::new();
    let mut fixed = BTreeMap::new();
    let mut refused = Vec::new();
    let mut given_up: FxHashSet<String> = FxHashSet::default();
    for pass in 0.. {
        let world = world(&snapshot);
        let left = engine::run(&world, config, options);
        let files = select(&left.findings, least, &given_up);
        if files.is_empty() || pass == PASSES {
            let changes = changes
                .into_iter()
                .map(|(path, (before, after))| FileChange { path, before, after })
                .filter(|change| *change.before.bytes() != *change.after.as_bytes())
                .collect();
            let unfinished = !files.is_empty();
            return FixOutcome { world, left, changes, fixed, refused, unfinished };
        }
        let mut texts = Vec::new();
        for (path, candidates) in files {
            let done = fix_file(&snapshot, &path, &candidates);
            for (candidate, refusal) in done.refused {
                given_up.insert(identity(candidate.finding));
                refused.push((candidate.finding.rule.id, refusal));
            }
            let Some(change) = done.change else { continue };
            for rule in done.fixed {
                *fixed.entry(rule).or_insert(0) += 1;
            }
            changes.entry(path.clone()).or_insert((change.before, String::new())).1 = change.after.clone();
            texts.push((path, change.after.into_bytes()));
        }
        if !texts.is_empty() {
            snapshot =
                Arc::new(snapshot.with_files(texts.iter().map(|(path, text)| (&**path, text.clone()))));
        }
    }
    unreachable!("the last pass returns")
}

/// A finding with the fix that is to be applied.
struct Candidate<'f> {
    finding: &'f Finding,
    fix: &'f Fix,
}

/// What identifies a finding that was given up: its file and place in the tree.
fn identity(finding: &Finding) -> String {
    format!("{} {} {}", finding.location.file, finding.fingerprint, finding.title)
}

fn select<'f>(
    findings: &'f [Finding],
    least: Applicability,
    given_up: &FxHashSet<String>,
) -> BTreeMap<WorkPath, Vec<Candidate<'f>>> {
    let mut files: BTreeMap<WorkPath, Vec<Candidate<'f>>> = BTreeMap::new();
    for finding in findings {
        let fix = finding.fixes.iter().find(|fix| fix.applicability >= least && !fix.operations.is_empty());
        if let Some(fix) = fix.filter(|_| !given_up.contains(&identity(finding))) {
            let path = fix.operations[0].path.clone();
            files.entry(path).or_default().push(Candidate { finding, fix });
        }
    }
    files
}

#[derive(Default)]
struct Done<'f> {
    change: Option<FileChange>,
    fixed: Vec<&'static str>,
    refused: Vec<(&'f Candidate<'f>, RewriteRefusal)>,
}

/// Apply those fixes of a file that don't touch each other.
fn fix_file<'f>(snapshot: &Snapshot, path: &WorkPath, candidates: &'f [Candidate<'f>]) -> Done<'f> {
    let mut done = Done::default();
    if let Err(refusal) = policy::check_file(snapshot, path) {
        done.refused = candidates.iter().map(|candidate| (candidate, refusal.clone())).collect();
        return done;
    }
    let mut taken: Vec<(u32, u32)> = Vec::new();
    let mut chosen: Vec<&Candidate<'f>> = Vec::new();
    for candidate in candidates {
        let ranges: Vec<(u32, u32)> = candidate.fix.edits.iter().map(|edit| (edit.start, edit.end)).collect();
        let free = |range: &(u32, u32)| taken.iter().all(|other| range.1 < other.0 || other.1 < range.0);
        if ranges.iter().all(free) {
            taken.extend(ranges);
            chosen.push(candidate);
        }
    }
    let attempt = |candidates: &[&Candidate<'f>]| {
        let wanted: Vec<&Wanted> =
            candidates.iter().flat_map(|candidate| &candidate.fix.operations).collect();
        plan_file(snapshot, path, &wanted)
    };
    if let Ok(change) = attempt(&chosen) {
        done.fixed = chosen.iter().map(|candidate| candidate.finding.rule.id).collect();
        done.change = change;
        return done;
    }
    // Those that fail alone are given up, the others go in together, or else one
    // by one, pass by pass.
    let mut sound = Vec::new();
    for candidate in chosen {
        match attempt(&[candidate]) {
            Ok(change) => sound.push((candidate, change)),
            Err(refusals) => {
                let refusal = refusals.into_iter().next();
                done.refused
                    .push((candidate, refusal.unwrap_or_else(|| RewriteRefusal::bug(path, "no reason"))));
            }
        }
    }
    let together: Vec<&Candidate<'f>> = sound.iter().map(|(candidate, _)| *candidate).collect();
    match (attempt(&together), sound.into_iter().next()) {
        (Ok(change), _) => {
            done.fixed = together.iter().map(|candidate| candidate.finding.rule.id).collect();
            done.change = change;
        }
        (Err(_), Some((first, change))) => {
            done.fixed = vec![first.finding.rule.id];
            done.change = change;
        }
        (Err(_), None) => {}
    }
    done
}
