//! What an answer rests on: which Flux Kustomizations were followed, and why the
//! others were not.

use crate::lang::text::{clean, counted, shorten};
use crate::world::{Unapplied, World, suggestions};
use std::collections::BTreeMap;

/// Characters of a reason that are shown.
const REASON: usize = 100;

/// Reasons that the line names; the rest is counted.
const REASONS: usize = 3;

/// `followed 112 of 145 Kustomizations in 3 clusters; not followed: 33 (…)`.
/// Nothing where there are none.
pub(crate) fn line(world: &World) -> Option<String> {
    let coverage = world.coverage();
    if coverage.kustomizations == 0 {
        return None;
    }
    // Without clusters, that nothing applies them is the reason.
    let apart = !coverage.clusters.is_empty();
    let total = coverage.counted();
    let all = match coverage.followed == total && total < coverage.kustomizations {
        true if total == 1 => "the 1 Kustomization".to_owned(),
        true => format!("all {}", counted(total, "Kustomization")),
        false => format!("{} of {}", coverage.followed, counted(total, "Kustomization")),
    };
    let mut line = format!("followed {all} in {}", counted(coverage.clusters.len(), "cluster"));
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for one in coverage.left_out() {
        let why = clean(&one.why);
        // The rest of a long one is in JSON.
        let first = why.lines().next().unwrap_or_default();
        *reasons.entry(shorten(first, REASON)).or_default() += 1;
    }
    let mut reasons: Vec<(String, usize)> = reasons.into_iter().collect();
    reasons.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let only = reasons.len() == 1;
    let more: usize = reasons.iter().skip(REASONS).map(|(_, count)| count).sum();
    let mut named: Vec<String> = reasons
        .iter()
        .take(REASONS)
        .map(|(why, count)| if only { why.clone() } else { format!("{count}: {why}") })
        .collect();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    if !named.is_empty() {
        line.push_str(&format!("; not followed: {} ({})", coverage.left_out().count(), named.join("; ")));
    }
    if apart && coverage.unapplied.files > 0 {
        line.push_str(&format!("; {}", unapplied(&coverage.unapplied)));
    }
    Some(line)
}

/// `40 more files hold Kustomizations that nothing applies (38 commented out, 2 not listed
/// in apps/kustomization.yaml)`.
fn unapplied(found: &Unapplied) -> String {
    let mut could = found.could_list.iter().map(|path| clean(path));
    let unlisted = match (could.next(), could.len()) {
        (Some(first), 0) => format!("not listed in {first}"),
        (Some(first), 1) => format!("not listed in {first} and 1 other kustomization"),
        (Some(first), more) => format!("not listed in {first} and {more} other kustomizations"),
        (None, _) => "not listed".to_owned(),
    };
    let parts =
        [(found.commented_out, "commented out"), (found.archived, "put aside"), (found.unlisted, &unlisted)];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
    let verb = if found.files == 1 { "more file holds" } else { "more files hold" };
    let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    format!("{} {verb} Kustomizations that nothing applies{parts}", found.files)
}

/// What to say where no object is looked at because the configuration excludes their files:
/// how many, and a directory of them to look at. One with a configuration, or with clusters,
/// is a repository of its own.
pub(crate) fn all_excluded(world: &World) -> Option<String> {
    let files = world.snapshot.files().iter();
    let excluded: Vec<_> = files.filter(|file| world.is_excluded(&file.name())).collect();
    let root = |path: &'_ str| {
        let (root, _) = path.split_once("/clusters/").or_else(|| path.rsplit_once("/.forebay.yaml"))?;
        Some((root.matches('/').count(), root.to_owned()))
    };
    let nearest = excluded.iter().filter_map(|file| root(&file.path)).min();
    let hint = nearest.map_or_else(String::new, |(_, root)| {
        format!("; to look at some: forebay lint --root {}", clean(&root))
    });
    (!excluded.is_empty()).then(|| {
        let files = crate::lang::text::counted(excluded.len(), "file");
        format!("no object was looked at: .forebay.yaml excludes {files}{hint}")
    })
}

/// What to say where nothing at all is followed: the answer rests on nothing
/// that Flux applies. With the lines of `.forebay.yaml` that would change it.
pub(crate) fn nothing_followed(world: &World) -> Option<String> {
    let coverage = world.coverage();
    if coverage.kustomizations == 0 || coverage.followed > 0 {
        return None;
    }
    let mut text = format!(
        "warning: {} here, none of them followed: nothing says what Flux applies first. Say it in .forebay.yaml:\n  \
         version: 1\n  clusters:\n",
        match coverage.kustomizations {
            1 => "there is 1 Flux Kustomization".to_owned(),
            count => format!("there are {count} Flux Kustomizations"),
        }
    );
    let found = suggestions(&world.snapshot);
    if found.is_empty() {
        text.push_str("    - {name: NAME, path: DIRECTORY}\n");
    }
    for (name, path) in names_of(&found).iter().zip(&found).take(SUGGESTED) {
        text.push_str(&format!(
            "    - {{name: {}, path: {}}}\n",
            quoted(name),
            quoted(if path.is_empty() { "." } else { path })
        ));
    }
    if found.len() > SUGGESTED {
        text.push_str(&format!(
            "  ({} more: `forebay config init` writes them all)\n",
            found.len() - SUGGESTED
        ));
    }
    Some(text)
}

/// Clusters that the warning names.
const SUGGESTED: usize = 12;

/// The names that suggested clusters get: of each path as many of its last
/// components as tell it from the others.
pub(crate) fn names_of(paths: &[String]) -> Vec<String> {
    let suffix = |path: &str, count: usize| {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        parts[parts.len().saturating_sub(count)..].join("/")
    };
    let name = |path: &String| {
        let unique = (1..=path.split('/').count()).map(|count| suffix(path, count)).find(|name| {
            let count = name.split('/').count();
            paths.iter().filter(|other| suffix(other, count) == *name).count() == 1
        });
        unique.filter(|name| !name.is_empty()).unwrap_or_else(|| "cluster".to_owned())
    };
    paths.iter().map(name).collect()
}

/// A text as a scalar of YAML's flow style.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let starts = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    if starts
        && text.chars().all(plain)
        && !matches!(text, "true" | "false" | "null" | "yes" | "no" | "on" | "off")
    {
        return text.to_owned();
    }
    format!("'{}'", clean(text).replace('\'', "''"))
}
