//! `sops-recipients-differ`: a file is encrypted for other keys than its creation rule names.
//! Source: SOPS `config/config.go` (`getKeyGroupsFromCreationRule`),
//! `cmd/sops/subcommand/updatekeys`.

use super::creation_rules::{Fit, above, configurations, recipients_of_file};
use super::{is_example, sops};
use crate::lint::{Check, Context, FixAvailability, Group, Level, Reporter, Rule};
use std::collections::BTreeSet;

pub(crate) static RULE: Rule = Rule {
    id: "sops-recipients-differ",
    group: Group::Secret,
    level: Level::Info,
    default: true,
    since: "0.2.0",
    summary: "a file is encrypted for other keys than .sops.yaml names",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/secret/sops-recipients-differ.md"),
    check: Check::Repository(check),
};

fn check(context: &Context<'_>, report: &mut Reporter<'_>) {
    let snapshot = context.snapshot;
    let all = configurations(snapshot);
    if all.is_empty() {
        return;
    }
    for file in snapshot.files().iter().filter(|file| file.is_manifest && !is_example(&file.path)) {
        let above: Vec<_> = above(&all, &file.path).collect();
        let Some(nearest) = above.first() else { continue };
        let Some(source) =
            snapshot.sources(file).first().filter(|source| !source.document().tokens.is_empty())
        else {
            continue;
        };
        let node = source.root();
        let root = node.get_ref();
        let Some(metadata) = sops(root) else { continue };
        let Some(location) = root.location_at("/sops").or_else(|| metadata.location()) else { continue };
        let Some(own) = recipients_of_file(metadata) else { continue };
        let fits: Vec<Fit<'_>> = above.iter().map(|configuration| configuration.fit(&file.path)).collect();
        if fits.iter().all(|fit| matches!(fit, Fit::None)) {
            let finding =
                report.report(location, format!("{}: no rule of {} fits it", file.path, nearest.path()));
            finding.why("`sops updatekeys` refuses it, so that a new key never gets into it");
            finding.help("add a rule whose path_regex fits the path, seen from the directory of .sops.yaml");
            if let Some(place) = nearest.location.clone() {
                finding.related("the rules", place);
            }
            continue;
        }
        // SOPS may be called where any of them counts.
        let wanted: Option<Vec<&BTreeSet<String>>> = fits
            .iter()
            .filter(|fit| !matches!(fit, Fit::None))
            .map(|fit| match fit {
                Fit::Rule(rule) => rule.recipients.as_ref(),
                Fit::None | Fit::Unknown => None,
            })
            .collect();
        let Some(wanted) = wanted.filter(|wanted| !wanted.iter().any(|keys| **keys == own)) else { continue };
        let Some((keys, Some(Fit::Rule(rule)))) =
            wanted.first().map(|keys| (*keys, fits.iter().find(|fit| matches!(fit, Fit::Rule(_)))))
        else {
            continue;
        };
        let finding = report
            .report(location, format!("{}: it is encrypted for other keys than its rule names", file.path));
        finding.why(differences(keys, &own));
        finding.help(format!("run `sops updatekeys {}`, or correct the rule", file.path));
        if let Some(place) = rule.location.clone() {
            finding.related("this rule fits", place);
        }
    }
}

fn differences(wanted: &BTreeSet<String>, own: &BTreeSet<String>) -> String {
    let listed = |keys: Vec<&String>| keys.into_iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    let missing = listed(wanted.difference(own).collect());
    let more = listed(own.difference(wanted).collect());
    match (missing.is_empty(), more.is_empty()) {
        (false, true) => format!("it can't be decrypted with {missing}"),
        (true, false) => format!("it can still be decrypted with {more}"),
        _ => format!("it can't be decrypted with {missing}, and still with {more}"),
    }
}
