//! `unused-suppression`: a suppression of what is not there.
//! Source: our own suppressions.

use crate::lang::yaml::edit::Operation;
use crate::lang::yaml::{Location, Source};
use crate::lint::{Applicability, Check, FixAvailability, Group, Level, Reporter, Rule, RunView};
use rustc_hash::FxHashMap;

pub(crate) static RULE: Rule = Rule {
    id: "unused-suppression",
    group: Group::Forebay,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a suppression of a finding that is not there",
    fix: FixAvailability::Sometimes,
    docs: include_str!("../../../../tests/rules/forebay/unused-suppression.md"),
    check: Check::Run(check),
};

fn check(view: &RunView<'_>, report: &mut Reporter<'_>) {
    // With PATHs, a finding elsewhere may be what it silences.
    if view.is_focused {
        return;
    }
    let all: Vec<_> = view.suppressions.all().collect();
    let mut at_place: FxHashMap<&Location, usize> = FxHashMap::default();
    for suppression in &all {
        *at_place.entry(&suppression.location).or_default() += 1;
    }
    for suppression in all.iter().filter(|suppression| !suppression.is_used()) {
        let Some(rule) = view.rules.iter().find(|rule| rule.id == suppression.rule) else { continue };
        let reads_builds = !matches!(rule.check, Check::Document(_));
        // What another repository writes for itself is its own matter.
        let Some(path) = suppression.location.file.of_root() else { continue };
        let off_here =
            view.context.config.override_level(path, rule.id, rule.group.name()) == Some(Level::Off);
        if off_here || (reads_builds && !view.is_complete) {
            continue;
        }
        let finding = report
            .report(suppression.location.clone(), format!("nothing to suppress here for `{}`", rule.id))
            .why("the rule ran and found nothing that this suppression covers")
            .help("remove it")
            .field("", rule.id);
        // A comment for several rules loses only this one's name, by hand.
        let shared = at_place.get(&suppression.location).is_some_and(|count| *count > 1);
        if let Some(source) = source_of(view, &suppression.location)
            && suppression.is_comment
            && !shared
        {
            let operations = vec![Operation::RemoveComment { start: suppression.location.start }];
            finding.fix_in(source, "remove the comment", Applicability::Safe, operations);
        }
    }
}

/// The document that a comment is in.
fn source_of<'a>(view: &RunView<'a>, location: &Location) -> Option<&'a Source> {
    let snapshot = view.context.snapshot;
    let holds = |source: &&std::sync::Arc<Source>| {
        let comments = &source.document().comments;
        comments.binary_search_by_key(&location.start, |comment| comment.start).is_ok()
    };
    snapshot.sources(snapshot.find(&location.file)?).iter().find(holds).map(|source| &**source)
}
