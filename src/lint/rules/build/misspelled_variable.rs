//! `misspelled-variable`: a variable of a Kustomization that nothing reads, beside one with a
//! default that it may mean.
//! Source: fluxcd/pkg `envsubst` (`evalFunc`): the default stands in silently.

use super::title;
use crate::build::substitute::Variable;
use crate::lang::text::Words;
use crate::lang::yaml::FilePath;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Certainty;
use crate::world::{Applied, Outcome};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) static RULE: Rule = Rule {
    id: "misspelled-variable",
    group: Group::Build,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "a variable that nothing reads, named like one that takes its default",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/misspelled-variable.md"),
    check: Check::Cluster(check),
};

/// The variables that a text reads, and whether each has a default there.
type VariableReads<'t> = Vec<(&'t str, bool)>;

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let cluster = view.cluster;
    let states = |applied: &&Applied| applied.node.get_ref().at("/spec/postBuild/substitute").is_some();
    if cluster.name.is_none()
        || cluster.certainty == Certainty::Guessed
        || !cluster.applied.iter().any(|applied| states(&applied))
    {
        return;
    }
    let snapshot = view.beyond().snapshot;
    let mut reads: FxHashMap<&FilePath, VariableReads<'_>> = FxHashMap::default();
    for path in cluster.applied.iter().flat_map(|applied| &applied.files_read) {
        let text = || Some(&*snapshot.stream(snapshot.find(path)?)?.text);
        reads.entry(path).or_insert_with(|| text().map(reads_of).unwrap_or_default());
    }
    // What another one reads is no misspelled name.
    let anywhere: FxHashSet<&str> = reads.values().flatten().map(|(name, _)| *name).collect();
    for applied in cluster.applied.iter().filter(states) {
        if matches!(&applied.outcome, Outcome::Built { .. }) {
            kustomization(view, applied, &reads, &anywhere, report);
        }
    }
}

fn kustomization(
    view: &ClusterView<'_>,
    applied: &Applied,
    reads: &FxHashMap<&FilePath, VariableReads<'_>>,
    anywhere: &FxHashSet<&str>,
    report: &mut Reporter<'_>,
) {
    let node = applied.node.get_ref();
    let stated = node.entries_at("/spec/postBuild/substitute");
    let unread: Vec<_> = stated.into_iter().filter(|entry| !anywhere.contains(&*entry.key)).collect();
    if unread.is_empty() {
        return;
    }
    let Some(variables) = view.world().variables(view.cluster, &applied.id, node) else { return };
    let of_files = applied.files_read.iter().filter_map(|path| reads.get(path)).flatten();
    let with_default = of_files.filter(|(_, has_default)| *has_default).map(|(name, _)| *name);
    let free: Words<&str> =
        with_default.filter(|name| matches!(variables.lookup(name), Variable::Undefined)).collect();
    let patches: Vec<_> = node.items_at("/spec/patches").filter_map(|patch| patch.str_at("/patch")).collect();
    // The Kustomization's own patches may read one, too.
    let in_patches: FxHashSet<&str> =
        patches.iter().flat_map(|text| reads_of(text)).map(|(name, _)| name).collect();
    for entry in unread.iter().filter(|entry| !in_patches.contains(&*entry.key)) {
        let (Some(near), Some(location)) = (free.nearest(&entry.key), entry.key_location()) else { continue };
        report
            .report(location, title(&applied.id, &format!("nothing reads its variable `{}`", entry.key)))
            .why(format!("${{{near}}} is not defined and takes its default"))
            .help(format!("did you mean `{near}`?"))
            .object(&applied.id)
            .field("/spec/postBuild/substitute", &*entry.key);
    }
}

/// The variables that a text reads: `${name}`, with `:` or `=` before a default.
fn reads_of(text: &str) -> VariableReads<'_> {
    let mut found = VariableReads::new();
    for at in memchr::memmem::find_iter(text.as_bytes(), b"${") {
        let rest = &text[at + 2..];
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        if end > 0 {
            let has_default = [":=", ":-", "="].iter().any(|mark| rest[end..].starts_with(mark));
            found.push((&rest[..end], has_default));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::reads_of;

    #[test]
    fn defaults_are_told_from_plain_reads() {
        let text = "a: ${A} ${B:=1}${C:-2} ${D=3} ${E:0:2} ${#F} $G ${H";
        let expected = [("A", false), ("B", true), ("C", true), ("D", true), ("E", false), ("H", false)];
        assert_eq!(reads_of(text), expected);
    }
}
