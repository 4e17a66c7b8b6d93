//! `missing-resource`: a path in a kustomization at which there is nothing.
//! Source: kustomize `api/internal/loader/fileloader.go`; fluxcd/pkg
//! `artifact/storage/archive.go`, which leaves links out.

use super::{Matter, entry_path, failures, is_of_test, report_failure};
use crate::files::Snapshot;
use crate::lang::text::suggest;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Unchecked;
use crate::world::vendors;

pub(crate) static RULE: Rule = Rule {
    id: "missing-resource",
    group: Group::Build,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a path in a kustomization at which there is nothing",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/missing-resource.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let applies = view.cluster.name.is_some();
    for failed in failures(view, Matter::MissingResource) {
        let snapshot = view.beyond().snapshot;
        let path = entry_path(snapshot, failed.failure);
        let here = || Some(failed.location.clone());
        if let Some((path, why)) = path.as_deref().and_then(|path| Some((path, made_later(snapshot, path)?)))
        {
            report.not_checked(Unchecked::GeneratedResource, here(), format!("{path} ({why})"));
            continue;
        }
        if !applies && is_of_test(failed.location.file.shown()) {
            let what = format!("{} (a test may make it)", failed.failure.message);
            report.not_checked(Unchecked::GeneratedResource, here(), what);
            continue;
        }
        let maker =
            path.as_deref().filter(|_| !applies).and_then(|path| view.beyond().script_that_names(path));
        if let Some((path, maker)) = path.as_deref().zip(maker) {
            let what = format!("{path} ({maker} may make it)");
            report.not_checked(Unchecked::GeneratedResource, here(), what);
            continue;
        }
        let left_out = path.as_deref().and_then(|path| failed.applied.tree.as_ref()?.left_out(path));
        let near = path.and_then(|path| near(snapshot, &path));
        let help = match (&left_out, near) {
            (Some(_), _) => "change that pattern, or remove the entry".to_owned(),
            (None, Some(near)) => format!("did you mean {near}?"),
            (None, None) => "create it, or remove the entry".to_owned(),
        };
        let finding = report_failure(report, view, &failed, help);
        if let Some(pattern) = left_out {
            finding.why(format!(
                "it exists, but {pattern} keeps it out of the artifact: {}",
                failed.consequence()
            ));
        }
    }
}

/// Why a file that is not there may be made where it is needed: the repository's
/// own ignore rules cover it, or its name and its neighbours say so.
fn made_later(snapshot: &Snapshot, path: &str) -> Option<String> {
    if let Some((pattern, file)) = snapshot.git_ignores(path) {
        return Some(format!("`{pattern}` in {file} covers it"));
    }
    if let Some(file) = vendors::that_fills(snapshot, path) {
        return Some(format!("{file} says what fills its directory"));
    }
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let inside =
        |name: &str| if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") };
    let exists = |name: String| snapshot.file(&inside(&name)).is_some();
    if directory_is_bootstraps(name) {
        return Some("`flux bootstrap` makes it".to_owned());
    }
    if let Some(why) = made_of_neighbour(name, &exists) {
        return Some(why);
    }
    let made = path
        .split('/')
        .find(|segment| matches!(*segment, "_out" | "generated" | ".generated" | "_generated"));
    made.map(|segment| format!("`{segment}` in its path says that a tool makes it"))
}

/// Words in the names of files that others are made of: templates, and what somebody encrypts
/// or decrypts.
const SOURCES: [&str; 17] = [
    "age",
    "dec",
    "decrypted",
    "dist",
    "enc",
    "envsubst",
    "example",
    "gpg",
    "j2",
    "plain",
    "sample",
    "sops",
    "template",
    "tmpl",
    "tpl",
    "unencrypted",
    "unsealed",
];

/// Words in the names of files that a tool makes.
const MADE: [&str; 6] = ["sealed", "sealedsecret", "sealed-secret", "encrypted", "generated", "rendered"];

/// Why a file may be made of one beside it, by both names.
fn made_of_neighbour(name: &str, exists: &impl Fn(String) -> bool) -> Option<String> {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    for word in SOURCES {
        let sources = [
            format!("{name}.{word}"),
            format!("{stem}.{word}.{extension}"),
            format!("{stem}-{word}.{extension}"),
        ];
        if let Some(source) = sources.into_iter().find(|source| exists(source.clone())) {
            return Some(format!("it is made of {source}"));
        }
    }
    let separators = ['-', '.', '_'];
    for word in MADE {
        let rests = [
            stem.strip_suffix(word).map(|rest| rest.trim_end_matches(separators)),
            stem.strip_prefix(word).map(|rest| rest.trim_start_matches(separators)),
        ];
        for rest in rests.into_iter().flatten() {
            if rest.is_empty() {
                return Some(format!("`{word}` in its name says that a tool makes it"));
            }
            if exists(format!("{rest}.{extension}")) {
                return Some(format!("it is made of {rest}.{extension}"));
            }
        }
    }
    None
}

/// The directory that `flux bootstrap` writes into a cluster's, and its files.
fn directory_is_bootstraps(name: &str) -> bool {
    matches!(name, "flux-system" | "gotk-components.yaml" | "gotk-sync.yaml")
}

/// The name of a neighbour that is nearly the same.
fn near(snapshot: &Snapshot, path: &str) -> Option<String> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let cut = if directory.is_empty() { 0 } else { directory.len() + 1 };
    let names: Vec<&str> = snapshot
        .files_below(directory)
        .iter()
        .filter_map(|file| file.path.get(cut..)?.split('/').next())
        .collect();
    suggest(name, names).map(str::to_owned)
}
