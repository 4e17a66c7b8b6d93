//! What was not checked, and what would let it be.

use crate::lint::engine::NotChecked;
use crate::text::{clean, unchecked, wrap};
use std::io::{self, Write};

const SOURCES: &str = "say in .forebay.yaml where its files are: \
                       `sources: [{kind: …, name: …, namespace: …, dir: DIR}]`";
const CLUSTERS: &str =
    "say in .forebay.yaml what Flux applies first: `clusters: [{name: NAME, path: DIRECTORY}]`";
const BUILD: &str = "`forebay build --kustomization NAMESPACE/NAME` says what the build left out";
const INTO_GIT: &str = "write the object into this repository; what makes it elsewhere is not seen";
const CHARTS: &str = "commit what `helm template` makes of the chart; charts are not rendered here";
const INPUTS: &str = "write its inputs into `spec.inputs`; those of a provider are not known";
const ELSEWHERE: &str = "write the object into this repository, or name under `sources` in .forebay.yaml \
                         the directory (`dir`) that has it";

/// What would let a reason go away: an option, a line of the configuration, or a change
/// of the repository. Each reason has one; a test looks for those that haven't.
pub fn remedy(reason: &str) -> Option<&'static str> {
    Some(match reason {
        "beyond-total-of-input" => "work on a part of the repository: `--root DIRECTORY`",
        "changed-file-in-partial-build" | "partial-build" | "reference-into-partial-build" => BUILD,
        "changed-file-outside-clusters" | "reference-without-entry-point" => CLUSTERS,
        "class-not-here" | "template-not-here" | "cluster-api-reference" => ELSEWHERE,
        "content-hash" => "give the generator `options: {disableNameSuffixHash: true}`",
        "cronjob-command" => "write the command as one `flux suspend`, `flux resume` or `kubectl patch`",
        "external-source" | "reference-to-external-source" => SOURCES,
        "generated-file" => "mend what makes the file; findings inside of it are not shown",
        "generated-resource" => "commit the file that is made, or `exclude` its directory in .forebay.yaml",
        "git-crypt" => "unlock the repository: `git-crypt unlock`",
        "git-lfs" => "fetch the content: `git lfs pull`",
        "helm-chart" | "reference-into-chart" => CHARTS,
        "kind-without-schema" => {
            "name a directory of CRDs, or a catalogue, in .forebay.yaml: `schemas: [DIRECTORY]`"
        }
        "kustomize-plugin" => "commit what the plugin makes; plugins are not run here",
        "missing-git-object" => "fetch what the clone left out: `git fetch --refetch`",
        "orphan-object" => {
            "let a Kustomization of a cluster apply it, or name its cluster under `clusters` \
                            in .forebay.yaml"
        }
        "path-not-utf8" => "give the file a name in UTF-8",
        "placeholder" => {
            "let a cluster substitute it, or name the variables under `injectedVariables` in \
                          .forebay.yaml"
        }
        "reference-into-resource-set" | "resource-set" => INPUTS,
        "reference-to-config" => {
            "commit the ConfigMap or Secret; one that is made in the cluster is not seen"
        }
        "reference-to-generated-object" | "unseen-reference" | "unseen-gate-users" => INTO_GIT,
        "reference-to-other-root" => CLUSTERS,
        "reference-to-unapplied-object" => "let a Kustomization of the cluster apply the file",
        "remote-base" => "commit a copy of the base; no network is used here",
        "source-of-most" => {
            "write that source into this repository, or say under `sources` in .forebay.yaml what it holds"
        }
        "special-file" => "put a plain file in its place",
        "submodule" => "lint the submodule by itself: `--root DIRECTORY`",
        "symlink" => "put a plain file in its place: artifacts of Flux hold no links",
        "template" => "lint what the template makes, such as the output of `helm template`",
        "too-many-kustomizations" => {
            "look at fewer at a time: `--root`, or fewer `clusters` in .forebay.yaml"
        }
        "unknown-field" | "unknown-kind" => {
            "state the variables: `substitute`, or a ConfigMap in this repository that `substituteFrom` names"
        }
        "validation-rule" => "ask the API server: `kubectl apply --dry-run=server`",
        _ => return None,
    })
}

/// Counts of all reasons, in a line.
pub(crate) fn counts(not_checked: &NotChecked) -> String {
    let reasons = not_checked.iter().map(|(reason, places)| unchecked(places.len(), reason));
    reasons.collect::<Vec<_>>().join(", ")
}

/// Write what was not checked, and below it for each reason what would let it be; all
/// places where they are `listed`.
pub(crate) fn write(
    out: &mut dyn Write,
    not_checked: &NotChecked,
    listed: bool,
    width: usize,
) -> io::Result<()> {
    if not_checked.is_empty() {
        return Ok(());
    }
    let more = if listed { "" } else { " (--list-unchecked)" };
    paragraph(out, &format!("not checked: {}{more}", counts(not_checked)), "  ", width)?;
    for (reason, places) in not_checked.iter().filter(|_| listed) {
        for place in places {
            writeln!(out, "  {reason}: {}", clean(place))?;
        }
    }
    to_do(out, not_checked, width)
}

/// The same as a text, in answers of commands that list no places.
pub(crate) fn text(not_checked: &NotChecked, width: usize) -> String {
    let mut out = Vec::new();
    let line = format!("not checked: {}", counts(not_checked));
    let written = paragraph(&mut out, &line, "  ", width).and_then(|()| to_do(&mut out, not_checked, width));
    debug_assert!(written.is_ok(), "a list of bytes takes all");
    String::from_utf8_lossy(&out).into_owned()
}

/// Write what would let the reasons go away; what helps for several is said once.
fn to_do(out: &mut dyn Write, not_checked: &NotChecked, width: usize) -> io::Result<()> {
    let mut remedies: Vec<(&str, Vec<String>)> = Vec::new();
    for (reason, _) in not_checked.iter() {
        let Some(remedy) = remedy(reason) else { continue };
        match remedies.iter_mut().find(|(known, _)| *known == remedy) {
            Some((_, names)) => names.push(name(reason)),
            None => remedies.push((remedy, vec![name(reason)])),
        }
    }
    for (remedy, names) in remedies {
        paragraph(out, &format!("  {}: {remedy}", names.join(", ")), "    ", width)?;
    }
    Ok(())
}

/// The reason in words, for several.
fn name(reason: &str) -> String {
    unchecked(2, reason).trim_start_matches("2 ").to_owned()
}

/// Write words up to the width; further lines begin with the gap.
pub(crate) fn paragraph(out: &mut dyn Write, text: &str, gap: &str, width: usize) -> io::Result<()> {
    let lead = &text[..text.len() - text.trim_start().len()];
    for (index, line) in wrap(text, width.saturating_sub(gap.len())).iter().enumerate() {
        writeln!(out, "{}{line}", if index == 0 { lead } else { gap })?;
    }
    Ok(())
}
