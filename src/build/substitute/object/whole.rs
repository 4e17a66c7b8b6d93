//! Substitution in the whole text of an object, for what a scalar alone does not hold.

use super::merge::Merge;
use super::{Parts, ProblemKind, Substituted, SubstitutionProblem, expand, note_undefined, unknown};
use crate::build::stand_in;
use crate::build::substitute::{ExpandError, Piece, Variables, parse};
use crate::lang::yaml::emit::EmitError;
use crate::lang::yaml::{Dialect, Location, Node, NodeRef, Scalar, Trail, emit};
use std::sync::Arc;

/// Parts of a scalar that are looked for through all of it, and are not there.
pub(super) const MISSED_PARTS: u32 = 100;

/// Substitutes the whole text of an object.
pub(super) fn whole(
    object: NodeRef<'_>,
    variables: &Variables,
    strict: bool,
) -> Result<Substituted, EmitError> {
    let mut unknowns: Vec<Node> = Vec::new();
    let text = emit::to_yaml_with(object, &mut |node| {
        unknowns.push(node.to_node());
        stand_in::word(unknowns.len() - 1)
    })?;
    let mut problems = Vec::new();
    let template = parse(&text);
    inspect(object, variables, template.is_err(), &mut problems);
    let failed = |problems: Vec<SubstitutionProblem>, node: Node| Ok(Substituted { node, problems });
    let expansion = match template.map_err(ExpandError::Malformed).and_then(|t| expand(&t, variables, strict))
    {
        Ok(expansion) => expansion,
        Err(error) => {
            if problems.is_empty() || !matches!(error, ExpandError::Malformed(_)) {
                problems.push(of_object(object, ProblemKind::Failed { message: error.to_string() }));
            }
            return failed(problems, without_expressions(object));
        }
    };
    let mut holes = Vec::new();
    let mut after = Vec::with_capacity(text.len());
    for piece in &expansion.pieces {
        match piece {
            Piece::Known(bytes) => after.extend_from_slice(bytes),
            Piece::Hole(name) => {
                let word = stand_in::word(unknowns.len() + holes.len());
                after.extend_from_slice(word.as_bytes());
                holes.push(name.clone());
            }
        }
    }
    // What stands for an unknown part may break a text that the part itself would not.
    let is_open = !holes.is_empty();
    let parsed =
        String::from_utf8(after).map_err(|_| "invalid UTF-8".to_owned()).and_then(|after| read(&after));
    let root = match parsed {
        Ok(root) => root,
        Err(_) if is_open => return failed(problems, without_expressions(object)),
        Err(message) => {
            problems.push(broken(object, variables, strict, message));
            return failed(problems, without_expressions(object));
        }
    };
    let mut merge = Merge { variables, unknowns, holes, problems, failure: None };
    let node = merge.node(root.get_ref(), Some(object), &Trail::Root, 0);
    if let Some(message) = merge.failure {
        merge.problems.push(broken(object, variables, strict, message));
        return failed(merge.problems, without_expressions(object));
    }
    Ok(Substituted { node, problems: merge.problems })
}

/// A problem of the whole object.
fn of_object(object: NodeRef<'_>, kind: ProblemKind) -> SubstitutionProblem {
    SubstitutionProblem { kind, pointer: String::new(), location: object.location() }
}

/// That the substituted text is no YAML, where the value stands that breaks it.
fn broken(object: NodeRef<'_>, variables: &Variables, strict: bool, message: String) -> SubstitutionProblem {
    SubstitutionProblem {
        kind: ProblemKind::BrokenYaml { message },
        pointer: String::new(),
        location: breaking(object, variables, strict),
    }
}

/// The first document of a substituted text.
fn read(text: &str) -> Result<Node, String> {
    let stream = Arc::new(crate::lang::yaml::Stream::parse(text));
    if let Some(error) = stream.errors.first() {
        return Err(error.message.to_string());
    }
    crate::lang::yaml::parse_nodes("", text).into_iter().next().ok_or_else(|| "the text is empty".to_owned())
}

/// Reports what is malformed or undefined in each scalar and key. `broken`: the
/// whole text does not parse, so a scalar that doesn't either is why.
fn inspect(node: NodeRef<'_>, variables: &Variables, broken: bool, problems: &mut Vec<SubstitutionProblem>) {
    visit(node, &Trail::Root, 0, &mut |scalar, text, trail| match parse(text) {
        Ok(template) => note_undefined(&template, text, variables, scalar, trail, problems),
        Err(_) if broken => note_malformed(scalar, text, trail, problems),
        Err(_) => {}
    });
}

/// Reports every malformed expression of a text: reading goes on behind each.
fn note_malformed(
    scalar: NodeRef<'_>,
    text: &str,
    trail: &Trail<'_>,
    problems: &mut Vec<SubstitutionProblem>,
) {
    let mut from = 0;
    let mut parts = Parts::new(scalar, text);
    while let Some(Err(error)) = text.get(from..).map(parse) {
        let start = from + error.range.start;
        let rest = text.get(start..).unwrap_or_default();
        let line = rest.char_indices().take(160).find(|(_, c)| matches!(c, '\n' | '\r' | '}'));
        let length = match line {
            Some((at, '}')) => at + 1,
            end => {
                let end = end.map_or(rest.len(), |(at, _)| at);
                rest.char_indices().nth(40).map_or(end, |(at, _)| at.min(end))
            }
        };
        let shown = rest.get(..length).unwrap_or_default();
        problems.push(SubstitutionProblem {
            kind: ProblemKind::Malformed { message: error.kind.to_string(), text: shown.to_owned() },
            pointer: trail.pointer(),
            location: parts.location(start..start + length),
        });
        from = start + length.max(2);
    }
}

/// Calls `found` for every string, keys included, that holds a `$`.
fn visit(
    node: NodeRef<'_>,
    trail: &Trail<'_>,
    depth: usize,
    found: &mut dyn FnMut(NodeRef<'_>, &str, &Trail<'_>),
) {
    if depth > emit::DEPTH_LIMIT || node.is_unknown() || !node.may_hold(b'$') {
        return;
    }
    if node.is_map() {
        for entry in node.entries() {
            let inner = Trail::Key(trail, &entry.key);
            if entry.key.contains('$') {
                found(entry.key_node, &entry.key, &inner);
            }
            visit(entry.value, &inner, depth + 1, found);
        }
    } else if node.is_seq() {
        for (index, item) in node.items().enumerate() {
            visit(item, &Trail::Index(trail, index), depth + 1, found);
        }
    } else if let Scalar::Str(text) = node.scalar(Dialect::GoYamlV3)
        && text.contains('$')
    {
        found(node, &text, trail);
    }
}

/// The first value that is no YAML by itself when it is substituted, else the first one
/// with an expression.
fn breaking(object: NodeRef<'_>, variables: &Variables, strict: bool) -> Option<Location> {
    let (mut first, mut culprit) = (None, None);
    visit(object, &Trail::Root, 0, &mut |node, _, _| {
        if first.is_none() {
            first = node.location();
        }
        if culprit.is_none() && breaks(node, variables, strict) {
            culprit = node.location();
        }
    });
    culprit.or(first).or_else(|| object.location())
}

/// Whether a value is no YAML by itself when it is substituted.
fn breaks(node: NodeRef<'_>, variables: &Variables, strict: bool) -> bool {
    let substituted = || {
        let text = emit::to_yaml(node).ok()?;
        let expansion = expand(&parse(&text).ok()?, variables, strict).ok()?;
        Some(format!("value: {}", expansion.example("x")?))
    };
    substituted().is_some_and(|text| read(&text).is_err())
}

/// The object with everything that substitution would have changed unknown.
fn without_expressions(node: NodeRef<'_>) -> Node {
    fn blank(node: NodeRef<'_>, depth: usize) -> Option<Node> {
        if depth > emit::DEPTH_LIMIT || node.is_unknown() {
            return None;
        }
        if node.is_map() {
            let changes: Vec<(usize, Node)> = node
                .entries()
                .enumerate()
                .filter_map(|(index, entry)| Some((index, blank(entry.value, depth + 1)?)))
                .collect();
            let mut copy = node.to_node();
            let entries = if changes.is_empty() { None } else { copy.make_map() }?;
            for (index, value) in changes {
                entries.get_mut(index)?.value = value;
            }
            return Some(copy);
        }
        if node.is_seq() {
            let changes: Vec<(usize, Node)> = node
                .items()
                .enumerate()
                .filter_map(|(index, item)| Some((index, blank(item, depth + 1)?)))
                .collect();
            let mut copy = node.to_node();
            let items = if changes.is_empty() { None } else { copy.make_seq() }?;
            for (index, value) in changes {
                *items.get_mut(index)? = value;
            }
            return Some(copy);
        }
        match node.scalar(Dialect::GoYamlV3) {
            Scalar::Str(text) if text.contains('$') => Some(unknown(node, "substitution fails")),
            _ => None,
        }
    }
    blank(node, 0).unwrap_or_else(|| node.to_node())
}
