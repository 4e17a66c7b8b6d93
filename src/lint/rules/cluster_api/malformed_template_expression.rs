//! `malformed-template-expression`: what clusterctl can't replace in a template, or replaces by
//! something else than is meant.
//! Source: cluster-api `cmd/clusterctl/client/yamlprocessor/simple_processor.go`
//! (`inspectVariables`, `convertLegacyVars`), which parses the whole text of the file with
//! drone/envsubst before it is YAML; `repository/template_client.go` and
//! `clusterclass_client.go` for the names of the files.

use crate::build::substitute::{SubstitutionTemplate, parse};
use crate::files::File;
use crate::lang::yaml::tape::TokenKind;
use crate::lang::yaml::{Location, Stream};
use crate::lint::metadata::clipped;
use crate::lint::{Check, Context, FixAvailability, Group, Level, Reporter, Rule};
use regex::Regex;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

pub(crate) static RULE: Rule = Rule {
    id: "malformed-template-expression",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a ${VARIABLE} of a clusterctl template that is not replaced as it is meant",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/malformed-template-expression.md"),
    check: Check::Repository(check),
};

fn check(context: &Context<'_>, report: &mut Reporter<'_>) {
    let snapshot = context.snapshot;
    for file in snapshot.files().iter().filter(|file| is_template(&file.path)) {
        let Some(stream) = snapshot.stream(file) else { continue };
        let is_of_cluster_api = stream.text.contains("cluster.x-k8s.io/") && stream.text.contains("${");
        // What Flux applies it substitutes itself.
        if !is_of_cluster_api || context.world.is_applied(file) || snapshot.is_test(file) {
            continue;
        }
        match parse(&without_legacy_blanks(&stream.text)) {
            Ok(template) => braces(file, stream, &template, report),
            Err(error) => refused(file, stream, &error.range, &error.to_string(), report),
        }
    }
}

/// `cluster-template.yaml`, `cluster-template-FLAVOR.yaml` and `clusterclass-NAME.yaml`.
fn is_template(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_named = name.starts_with("cluster-template") || name.starts_with("clusterclass-");
    is_named && (name.ends_with(".yaml") || name.ends_with(".yml"))
}

/// `${ VAR }` means `${VAR}`: the blanks are put behind it, so that all else keeps its place.
fn without_legacy_blanks(text: &str) -> Cow<'_, str> {
    static LEGACY: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern = LEGACY.get_or_init(|| Regex::new(r"\$\{\s*[A-Za-z0-9_$]+\s*\}").ok());
    let Some(pattern) = pattern else { return Cow::Borrowed(text) };
    pattern.replace_all(text, |found: &regex::Captures<'_>| {
        let written = &found[0];
        let mut plain: String = written.chars().filter(|c| !c.is_whitespace()).collect();
        plain.extend(std::iter::repeat_n(' ', written.len() - plain.len()));
        plain
    })
}

fn place(file: &File, range: &Range<usize>) -> Location {
    Location { file: file.name(), start: range.start as u32, end: range.end as u32, via: Vec::new() }
}

/// The template as a whole is refused.
fn refused(file: &File, stream: &Stream, range: &Range<usize>, message: &str, report: &mut Reporter<'_>) {
    let text = &stream.text;
    // The expression goes on to its brace, where it has one on its line.
    let line = text[range.start..].lines().next().unwrap_or_default();
    let end = line.find('}').map_or(range.end, |brace| range.start + brace + 1).min(range.start + line.len());
    let shown = clipped(&text[range.start..end], 60);
    report
        .report(place(file, &(range.start..end)), format!("clusterctl can't read `{shown}`"))
        .why(format!("{message}: clusterctl replaces nothing of the file and makes no cluster of it"))
        .help(
            "it knows ${VAR}, ${VAR:=default} and the operators of envsubst; write $${…} for what a shell is \
             to expand",
        )
        .field("", shown);
}

/// Expressions with a brace too many behind them.
fn braces(file: &File, stream: &Stream, template: &SubstitutionTemplate, report: &mut Reporter<'_>) {
    let text = &*stream.text;
    // JSON may open on another line, and a script may hold a brace elsewhere.
    let (mut in_scalar, mut in_line) = (Counted::default(), Counted::default());
    // They stand in the order of their beginnings, those inside of another's default behind it.
    let mut end_of_outer = 0;
    for expression in template.expressions() {
        let is_inner = expression.range.end < end_of_outer;
        end_of_outer = end_of_outer.max(expression.range.end);
        let at = expression.range.start;
        // One inside of another's default ends with it.
        if is_inner || !text[expression.range.end..].starts_with('}') {
            continue;
        }
        let line = || {
            let begun = text[..at].rfind('\n').map_or(0, |end| end + 1);
            Some(begun..text[at..].find('\n').map_or(text.len(), |end| at + end))
        };
        if !in_scalar.closes_more(text, at, || scalar_at(stream, at)) || !in_line.closes_more(text, at, line)
        {
            continue;
        }
        let range = expression.range.start..expression.range.end + 1;
        let shown = clipped(&text[range.clone()], 60);
        report
            .report(place(file, &range), format!("`{shown}` has a brace too many"))
            .level(Level::Warning)
            .why(format!(
                "the expression ends at the first `}}`; the other stays behind the value of {}",
                expression.name
            ))
            .help("remove the last brace")
            .field("", shown.clone());
    }
}

/// A part of a text of which the braces were counted: many expressions stand in one.
#[derive(Default)]
struct Counted {
    part: Range<usize>,
    closes_more: bool,
}

impl Counted {
    /// Whether more braces close than open in the part that holds a byte; false where there
    /// is none.
    fn closes_more(&mut self, text: &str, at: usize, part: impl Fn() -> Option<Range<usize>>) -> bool {
        if !self.part.contains(&at) {
            let Some(part) = part() else { return false };
            let count = |brace: u8| memchr::memchr_iter(brace, text[part.clone()].as_bytes()).count();
            *self = Counted { closes_more: count(b'}') > count(b'{'), part };
        }
        self.closes_more
    }
}

/// The scalar that holds a byte.
fn scalar_at(stream: &Stream, offset: usize) -> Option<Range<usize>> {
    let begun = stream.documents.partition_point(|document| document.start as usize <= offset);
    let document = stream.documents.get(begun.checked_sub(1)?)?;
    let begun = document.tokens.partition_point(|token| token.start as usize <= offset);
    let token = document.tokens.get(begun.checked_sub(1)?)?;
    let holds = matches!(token.kind, TokenKind::Scalar(_)) && offset < token.end as usize;
    holds.then_some(token.start as usize..token.end as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_of_old_variables_keep_all_places() {
        for (text, expected) in [
            ("a: ${ B } c", "a: ${B}   c"),
            ("a: ${B }c", "a: ${B} c"),
            ("a: ${B} ${C:=d }", "a: ${B} ${C:=d }"),
            ("a: ${ B C }", "a: ${ B C }"),
        ] {
            assert_eq!(without_legacy_blanks(text), expected);
        }
    }

    #[test]
    fn templates_are_told_by_name() {
        for (path, expected) in [
            ("templates/cluster-template.yaml", true),
            ("cluster-template-flavor.yml", true),
            ("templates/clusterclass-quick-start.yaml", true),
            ("templates/cluster-template/kcp.yaml", false),
            ("templates/cluster-template.md", false),
            ("my-cluster-template.yaml", false),
        ] {
            assert_eq!(is_template(path), expected, "{path}");
        }
    }
}
