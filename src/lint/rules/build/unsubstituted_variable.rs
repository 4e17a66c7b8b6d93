//! `unsubstituted-variable`: an expression in an object that nothing
//! substitutes.
//! Source: fluxcd/pkg `kustomize/kustomize_varsub.go`: without a variable and
//! without `substituteStrategy: Always` the text stays as it is.

use super::{post_build, title};
use crate::build::substitute::{Parts, Variables, opts_out, parse};
use crate::lang::yaml::{Dialect, Location, NodeRef, Scalar, Trail, emit};
use crate::lint::{Check, ClusterView, Finding, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::{ObjectId, kinds};
use crate::world::{Applied, Cluster, Effective, UnseenMakerKind};
use rustc_hash::FxHashSet;
use std::cell::OnceCell;
use std::collections::BTreeSet;

pub(crate) static RULE: Rule = Rule {
    id: "unsubstituted-variable",
    group: Group::Build,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a ${VARIABLE} in an object whose Kustomization substitutes nothing",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/unsubstituted-variable.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let (world, cluster) = (view.world(), view.cluster);
    // Of a cluster that is only guessed at, nobody may apply anything: these are
    // often templates.
    let guessed = cluster.openers.iter().any(|opener| opener.cause == UnseenMakerKind::NoEntry);
    if cluster.name.is_none() || guessed {
        return;
    }
    let variables: Vec<Option<Variables>> = cluster
        .applied
        .iter()
        .map(|applied| world.variables(cluster, &applied.id, applied.node.get_ref()))
        .collect();
    let names: BTreeSet<&str> = variables.iter().flatten().flat_map(Variables::names).collect();
    for (member, object) in view.written() {
        let Some(by) = member.maker.kustomization() else { continue };
        let substitutes = variables[by as usize].as_ref().is_some_and(|known| known.runs() != Some(false));
        if substitutes || opts_out(object.node.get_ref()) {
            continue;
        }
        let applied = &cluster.applied[by as usize];
        let flux_or_capi = kinds::of(&object.id).is_some() || object.id.group().ends_with("cluster.x-k8s.io");
        let own = substitutes_itself(view, object);
        let environment = OnceCell::new();
        visit(object.node.get_ref(), &Trail::Root, 0, &mut |node, text, pointer| {
            let Ok(template) = parse(text) else { return };
            // A dashboard has variables of its own.
            let expressions = template.expressions();
            if expressions.is_empty() || is_dashboard(text) {
                return;
            }
            // What shapes a Kustomization's own build is substituted with that build.
            if own && SHAPES_BUILD.iter().any(|field| pointer.starts_with(field)) {
                return;
            }
            let mut parts = Parts::new(node, text);
            let script = OnceCell::new();
            for expression in expressions {
                let known = names.contains(expression.name.as_str());
                let names = flux_or_capi && is_reference(pointer);
                if !known && !names {
                    continue;
                }
                if is_in_comment(text, expression.range.start) {
                    continue;
                }
                let of_program = |name: &str| {
                    script.get_or_init(|| set_in(text)).contains(name)
                        || environment.get_or_init(|| environment_of(object.node.get_ref())).contains(name)
                };
                if !names && of_program(&expression.name) {
                    continue;
                }
                let Some(location) = parts.location(expression.range.clone()) else { continue };
                let finding = tell(report, object, &applied.id, names, &expression.name, location);
                finding.field(pointer, expression.name.clone());
                if let Some((definer, place)) = definer(cluster, &variables, &expression.name) {
                    finding.related(format!("{} defines it", definer.id), place);
                }
            }
        });
    }
}

/// Reports an expression of an object that `by` applies; one that names something is never
/// found as it is written, other text may be meant so.
fn tell<'r>(
    report: &'r mut Reporter<'_>,
    object: &Effective,
    by: &ObjectId,
    is_name: bool,
    variable: &str,
    location: Location,
) -> &'r mut Finding {
    let what = format!("${{{variable}}} is not substituted");
    let finding = report.report(location, title(&object.id, &what));
    finding
        .level(if is_name { Level::Error } else { Level::Warning })
        .why(format!(
            "{by} has no variables, so the text reaches the cluster as it is{}",
            if is_name { ", and names nothing there" } else { "" }
        ))
        .help(format!("give {by} a postBuild, or escape the text where it is substituted elsewhere"))
        .object(&object.id);
    finding
}

/// Whether a text is a dashboard of Grafana, in JSON.
fn is_dashboard(text: &str) -> bool {
    text.contains("\"panels\"") && text.contains("\"schemaVersion\"")
}

/// Whether a Kustomization substitutes in its own build.
fn substitutes_itself(view: &ClusterView<'_>, object: &Effective) -> bool {
    let variables = || view.world().variables(view.cluster, &object.id, object.node.get_ref());
    kinds::is_kustomization(&object.id) && variables().is_some_and(|known| known.runs() != Some(false))
}

/// The first Kustomization that defines a variable, and its postBuild.
fn definer<'c>(
    cluster: &'c Cluster,
    variables: &[Option<Variables>],
    name: &str,
) -> Option<(&'c Applied, Location)> {
    let defines =
        |known: &Option<Variables>| known.as_ref().is_some_and(|known| known.definition(name).is_some());
    let (definer, _) = cluster.applied.iter().zip(variables).find(|(_, variables)| defines(variables))?;
    Some((definer, post_build(definer)?))
}

/// Fields of a Kustomization that its build writes into what it makes.
const SHAPES_BUILD: [&str; 5] =
    ["/spec/patches", "/spec/images", "/spec/targetNamespace", "/spec/namePrefix", "/spec/nameSuffix"];

/// Whether a field names something: an object, a namespace, a directory.
fn is_reference(pointer: &str) -> bool {
    let mut segments = pointer.rsplit('/');
    match segments.next() {
        Some("name" | "namespace") => {
            pointer.starts_with("/metadata/") && pointer.matches('/').count() == 2
                || pointer.split('/').any(|segment| segment.ends_with("Ref") || segment == "dependsOn")
        }
        Some("path" | "targetNamespace" | "serviceAccountName" | "clusterName") => {
            pointer.starts_with("/spec/") && pointer.matches('/').count() == 2
        }
        _ => false,
    }
}

/// Calls `found` for every string that may hold an expression.
fn visit<'a>(
    node: NodeRef<'a>,
    at: &Trail<'_>,
    depth: usize,
    found: &mut dyn FnMut(NodeRef<'a>, &str, &str),
) {
    if depth > emit::DEPTH_LIMIT || node.is_unknown() || !node.may_hold(b'$') {
        return;
    }
    if node.is_map() {
        for entry in node.entries() {
            visit(entry.value, &Trail::Key(at, &entry.key), depth + 1, found);
        }
    } else if node.is_seq() {
        for (index, item) in node.items().enumerate() {
            visit(item, &Trail::Index(at, index), depth + 1, found);
        }
    } else if let Scalar::Str(text) = node.scalar(Dialect::GoYamlV3)
        && text.contains("${")
    {
        found(node, &text, &at.pointer());
    }
}

/// The names of the variables that a script sets.
fn set_in(text: &str) -> FxHashSet<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let assigned = text.match_indices('=').filter_map(|(at, _)| {
        let before = &text[..at];
        let (lead, name) = before.split_at(before.trim_end_matches(is_word).len());
        let begins = lead.is_empty() || lead.ends_with(|c: char| c.is_whitespace() || ";(|".contains(c));
        // `REGION=${REGION}` waits for somebody else.
        let value = text[at + 1..].trim_start_matches(['"', '\'']);
        let rest = value.strip_prefix("${").and_then(|rest| rest.strip_prefix(name));
        let is_own = rest.is_some_and(|rest| !rest.starts_with(is_word));
        (begins && !is_own).then_some(name)
    });
    let looped = text.match_indices("for ").filter_map(|(at, word)| {
        let rest = &text[at + word.len()..];
        let (name, after) = rest.split_at(rest.find(|c| !is_word(c))?);
        after.starts_with(" in ").then_some(name)
    });
    assigned.chain(looped).filter(|name| !name.is_empty()).collect()
}

/// The names of the variables that containers of an object have.
fn environment_of(object: NodeRef<'_>) -> FxHashSet<String> {
    let mut names = FxHashSet::default();
    let mut stack = vec![(object, 0)];
    while let Some((node, depth)) = stack.pop() {
        if depth > emit::DEPTH_LIMIT {
            continue;
        }
        for entry in node.entries() {
            if &*entry.key == "env" {
                names.extend(entry.value.items().filter_map(|item| Some(item.str_at("/name")?.into_owned())));
                names.extend(entry.value.entries().map(|entry| entry.key.into_owned()));
            }
            stack.push((entry.value, depth + 1));
        }
        stack.extend(node.items().map(|item| (item, depth + 1)));
    }
    names
}

/// Whether a place of a text of several lines lies in a line that a program skips.
fn is_in_comment(text: &str, at: usize) -> bool {
    let line = text[..at].rsplit_once('\n').map_or(&text[..at], |(_, line)| line).trim_start();
    text.contains('\n') && ["#", "//", "--", ";"].iter().any(|mark| line.starts_with(mark))
}
