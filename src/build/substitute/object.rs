//! Substitution in an object: text of go-yaml's v2 emitter in, tree out.
//!
//! Mirrors `SubstituteVariables` of fluxcd/pkg `kustomize/kustomize_varsub.go`
//! and the re-reading around it. The text of a whole object is substituted,
//! keys too, and parsed again; so quotes of the file do not protect a value and
//! values change type. Where it is provably the same, each scalar is
//! substituted on its own; otherwise the whole text goes through the chain.

use super::{ExpandError, Expansion, Piece, Template, Variable, Variables, parse};
use crate::build::stand_in;
use crate::lang::yaml::emit::{self, EmitError};
use crate::lang::yaml::tape::{Token, TokenKind};
use crate::lang::yaml::{
    Built, Dialect, Entry, EntryRef, Holes, Location, Node, NodeRef, Origin, Scalar, ScalarStyle, Trail,
    Value, Via, resolve,
};
use rustc_hash::FxHashSet;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// The label or annotation by which an object opts out, with exactly the value
/// `disabled`.
pub(crate) const SUBSTITUTE_KEY: &str = "kustomize.toolkit.fluxcd.io/substitute";

/// What substitution made of an object.
#[derive(Debug)]
pub struct Substituted {
    /// The object afterwards; values that fail or are unknown are unknown in it.
    pub node: Node,
    /// What goes wrong in it.
    pub problems: Vec<Problem>,
}

/// One thing that goes wrong in an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// What.
    pub kind: ProblemKind,
    /// JSON Pointer of the value, or of the value whose key it is.
    pub pointer: String,
    /// The expression, or the value that holds it.
    pub location: Option<Location>,
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq)]
pub enum ProblemKind {
    /// An expression does not parse: the build fails at every Flux version.
    Malformed {
        /// Upstream's words.
        message: String,
        /// The expression's text as far as it was read.
        text: String,
    },
    /// A variable without a default that nothing defines: empty before Flux
    /// 2.9, a failed build from then on.
    Undefined {
        /// The variable.
        name: String,
    },
    /// As `Undefined`, if sources that are unknown here don't define it.
    PerhapsUndefined {
        /// The variable.
        name: String,
    },
    /// The text is no YAML any more: the build fails.
    BrokenYaml {
        /// What the parser says.
        message: String,
    },
    /// A string that is not one afterwards.
    TypeChange {
        /// The text that was read again.
        text: String,
        /// What it became: `int`, `bool`, `null`, `map`, ….
        became: &'static str,
    },
    /// The value has a negative length or grows beyond all bounds.
    Failed {
        /// Why.
        message: String,
    },
}

/// Whether an object takes no part in substitution.
pub fn opts_out(object: NodeRef<'_>) -> bool {
    ["/metadata/labels", "/metadata/annotations"].iter().any(|pointer| {
        object
            .at(pointer)
            .and_then(|map| map.get(SUBSTITUTE_KEY))
            .and_then(NodeRef::as_str)
            .is_some_and(|value| value == "disabled")
    })
}

/// Substitutes `variables` in an object that does not opt out. Undefined
/// variables are empty, as before Flux 2.9, unless `strict`: then what depends
/// on them is unknown, as the object is not applied at all.
///
/// # Errors
/// An object that cannot be emitted: the build failed before.
pub fn substitute(
    object: NodeRef<'_>,
    variables: &Variables,
    strict: bool,
) -> Result<Substituted, EmitError> {
    let mut pass = Pass { variables, strict, problems: Vec::new(), whole: false };
    let changed = pass.each(object, &Place { trail: Trail::Root, depth: 0, key_width: 0 });
    if !pass.whole {
        let node = changed.unwrap_or_else(|| object.to_node());
        return Ok(Substituted { node, problems: pass.problems });
    }
    whole(object, variables, strict)
}

/// Where the walk is.
struct Place<'p> {
    trail: Trail<'p>,
    depth: usize,
    /// Characters of the key before the value, with its colon and blank.
    key_width: usize,
}

/// Substitution scalar by scalar, as long as that is the same.
struct Pass<'v> {
    variables: &'v Variables,
    strict: bool,
    problems: Vec<Problem>,
    /// Set when the whole text has to be substituted instead.
    whole: bool,
}

impl Pass<'_> {
    /// The node afterwards; `None` where nothing changed.
    fn each(&mut self, node: NodeRef<'_>, place: &Place<'_>) -> Option<Node> {
        let depth = place.depth + 1;
        if self.whole || place.depth > emit::DEPTH_LIMIT || node.is_unknown() || stays(node) {
            return None;
        }
        if node.is_map() {
            let mut changes = Vec::new();
            for (index, entry) in node.entries().enumerate() {
                if entry.key.contains('$') {
                    self.whole = true;
                    return None;
                }
                if stays(entry.value) {
                    continue;
                }
                let trail = Trail::Key(&place.trail, &entry.key);
                let inner = Place { trail, depth, key_width: entry.key.chars().count() + 2 };
                if let Some(value) = self.each(entry.value, &inner) {
                    changes.push((index, value));
                }
            }
            if changes.is_empty() {
                return None;
            }
            let mut copy = node.to_node();
            let entries = copy.make_map()?;
            for (index, value) in changes {
                entries.get_mut(index)?.value = value;
            }
            return Some(copy);
        }
        if node.is_seq() {
            let mut changes = Vec::new();
            for (index, item) in node.items().enumerate().filter(|(_, item)| !stays(*item)) {
                let inner = Place { trail: Trail::Index(&place.trail, index), depth, key_width: 0 };
                if let Some(value) = self.each(item, &inner) {
                    changes.push((index, value));
                }
            }
            if changes.is_empty() {
                return None;
            }
            let mut copy = node.to_node();
            let items = copy.make_seq()?;
            for (index, value) in changes {
                *items.get_mut(index)? = value;
            }
            return Some(copy);
        }
        match node.scalar(Dialect::GoYamlV3) {
            Scalar::Str(text) if text.contains('$') => self.string(node, &text, place),
            Scalar::Int(value) => rounded(value as f64, || value as f64 as i128 == i128::from(value))
                .map(|v| built(v, node, vec![])),
            Scalar::Uint(value) => rounded(value as f64, || value as f64 as i128 == i128::from(value))
                .map(|v| built(v, node, vec![])),
            _ => None,
        }
    }

    fn string(&mut self, node: NodeRef<'_>, text: &str, place: &Place<'_>) -> Option<Node> {
        let Ok(template) = parse(text) else {
            self.whole = true;
            return None;
        };
        let style = emit::style_of(text, false);
        let width = 2 * place.depth + place.key_width + text.chars().count();
        let folds = width > 80 && text.contains(' ') && style != ScalarStyle::Literal;
        let spans_lines =
            template.expressions().iter().any(|expression| text[expression.range.clone()].contains('\n'));
        if folds || spans_lines || style == ScalarStyle::DoubleQuoted {
            self.whole = true;
            return None;
        }
        if template.is_literal(text) {
            return None;
        }
        let expansion = match expand(&template, self.variables, self.strict) {
            Ok(expansion) => expansion,
            Err(error) => {
                self.problems.push(Problem {
                    kind: ProblemKind::Failed { message: error.to_string() },
                    pointer: place.trail.pointer(),
                    location: node.location(),
                });
                return Some(unknown(node, "substitution fails"));
            }
        };
        let example = match expansion.example("x") {
            Some(example) if fits(style, text, &example) => example,
            _ => {
                self.whole = true;
                return None;
            }
        };
        note_undefined(&template, text, self.variables, node, &place.trail, &mut self.problems);
        let via = self.variables.via(template.expressions().iter().map(|expression| &expression.name));
        let value = match expansion.known() {
            Some(_) if style == ScalarStyle::Plain => {
                let value = reread(&example);
                note_type(&value, &example, node, &place.trail, &mut self.problems);
                value
            }
            Some(_) => Value::Str(example.into()),
            None => with_holes(&expansion, style == ScalarStyle::Plain),
        };
        Some(built(value, node, via))
    }
}

/// Whether nothing can change in a node, as its text shows: no variable, and no number
/// that JSON's floats may round. True is certain, false is not.
fn stays(node: NodeRef<'_>) -> bool {
    let NodeRef::Source(source, at) = node else { return false };
    if node.may_hold(b'$') {
        return false;
    }
    let document = source.document();
    let tokens = match document.anchors.is_empty() {
        true => &document.tokens[at as usize..document.tokens[at as usize].next.max(at + 1) as usize],
        false => &document.tokens[..],
    };
    let may_round = |token: &Token| {
        let is_long = token.end - token.start >= SHORTEST_ROUNDED;
        is_long
            && matches!(token.kind, TokenKind::Scalar(_))
            && (!document.tags.is_empty()
                || matches!(source.stream.text.as_bytes()[token.start as usize], b'+' | b'-' | b'0'..=b'9'))
    };
    !tokens.iter().any(may_round)
}

/// Bytes of the shortest number that a float can't hold: 2^53 + 1.
const SHORTEST_ROUNDED: u32 = 16;

/// Expands with undefined variables empty; in strict mode they leave holes.
fn expand(template: &Template, variables: &Variables, strict: bool) -> Result<Expansion, ExpandError> {
    // Names that an expression without a default reads.
    let expressions = if strict { template.expressions() } else { Vec::new() };
    let required: FxHashSet<&str> = expressions
        .iter()
        .filter(|expression| expression.operator != super::Operator::Default)
        .map(|expression| expression.name.as_str())
        .collect();
    let tolerated = |name: &str| match variables.lookup(name) {
        Variable::Undefined if required.contains(name) => Variable::Hidden,
        other => other,
    };
    template.expand(&tolerated, false)
}

impl Expansion {
    /// The text with `stand_in` for every hole; `None` where it is no UTF-8.
    fn example(&self, stand_in: &str) -> Option<String> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Known(bytes) => text.push_str(std::str::from_utf8(bytes).ok()?),
                Piece::Hole(_) => text.push_str(stand_in),
            }
        }
        Some(text)
    }
}

/// Whether `after`, put where `before` was written in this style, is read as
/// one scalar of exactly this text.
fn fits(style: ScalarStyle, before: &str, after: &str) -> bool {
    let other_breaks = |text: &str| text.contains(['\r', '\u{85}', '\u{2028}', '\u{2029}', '\0', '\u{feff}']);
    match style {
        ScalarStyle::Plain => after.is_empty() || emit::is_plain_safe(after),
        ScalarStyle::SingleQuoted => {
            !after.contains(['\'', '\n', '\t'])
                && !other_breaks(after)
                && after.starts_with(' ') == before.starts_with(' ')
        }
        ScalarStyle::Literal => {
            let first = |text: &str| text.split('\n').next().map(str::to_owned).unwrap_or_default();
            let last = |text: &str| {
                text.trim_end_matches('\n').rsplit('\n').next().map(str::to_owned).unwrap_or_default()
            };
            let unchanged_or = |edge: &dyn Fn(&str) -> String, sound: fn(&str) -> bool| {
                let (old, new) = (edge(before), edge(after));
                old == new || sound(&new)
            };
            let ends = |text: &str| text.len() - text.trim_end_matches('\n').len();
            !other_breaks(after)
                && ends(before) == ends(after)
                && unchanged_or(&first, |line| !line.is_empty() && !line.starts_with([' ', '\t']))
                && unchanged_or(&last, |line| !line.trim().is_empty())
        }
        ScalarStyle::DoubleQuoted | ScalarStyle::Folded => false,
    }
}

/// What go-yaml v2 reads in a plain scalar; numbers go through JSON's floats.
fn reread(text: &str) -> Value {
    value_of(resolve::resolve_plain(Cow::Borrowed(text), Dialect::GoYamlV2))
}

fn value_of(scalar: Scalar<'_>) -> Value {
    match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => Value::Bool(value),
        Scalar::Int(value) => rounded(value as f64, || false).unwrap_or(Value::Int(value)),
        Scalar::Uint(value) => rounded(value as f64, || false).unwrap_or(Value::Uint(value)),
        Scalar::Float(value) => rounded(value, || false).unwrap_or(Value::Float(value)),
        Scalar::Timestamp(text) | Scalar::Str(text) => Value::Str(text.as_ref().into()),
    }
}

/// A number as it is after JSON: an integer where it has no fraction and fits.
/// `None` where `unchanged` says so.
fn rounded(value: f64, unchanged: impl Fn() -> bool) -> Option<Value> {
    if unchanged() {
        return None;
    }
    Some(match resolve::after_json(value) {
        Scalar::Int(int) => Value::Int(int),
        Scalar::Uint(int) => Value::Uint(int),
        _ => Value::Float(value),
    })
}

/// The value of a text with holes. Where the unknown part may decide the type,
/// all of it is unknown.
fn with_holes(expansion: &Expansion, is_plain: bool) -> Value {
    let why = || -> Arc<str> {
        let names: Vec<&str> = expansion
            .pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Hole(name) => Some(name.as_str()),
                Piece::Known(_) => None,
            })
            .collect();
        format!("value of ${{{}}} is unknown", names.join("}, ${")).into()
    };
    let is_text = |stand_in: &str| {
        expansion.example(stand_in).is_some_and(|text| matches!(reread(&text), Value::Str(_)))
    };
    if is_plain && !(expansion.pieces.len() > 1 && ["", "1", "x"].iter().all(|stand_in| is_text(stand_in))) {
        return Value::Unknown(why());
    }
    let parts = expansion.pieces.iter().map(|piece| match piece {
        Piece::Known(bytes) => Some(String::from_utf8_lossy(bytes).into()),
        Piece::Hole(_) => None,
    });
    Value::Holes(Holes { parts: parts.collect() })
}

/// A node with the place of another one as its origin.
fn built(value: Value, node: NodeRef<'_>, via: Vec<Via>) -> Node {
    let mut origin = node.location();
    if let Some(location) = &mut origin {
        location.via.extend(via);
    }
    Node::Built(Arc::new(Built { value, origin: origin.map(Origin::from) }))
}

fn unknown(node: NodeRef<'_>, why: &str) -> Node {
    built(Value::Unknown(why.into()), node, Vec::new())
}

fn note_undefined(
    template: &Template,
    text: &str,
    variables: &Variables,
    node: NodeRef<'_>,
    trail: &Trail<'_>,
    problems: &mut Vec<Problem>,
) {
    let mut parts = Parts::new(node, text);
    for expression in template.expressions() {
        if expression.operator == super::Operator::Default {
            continue;
        }
        let name = expression.name.clone();
        let kind = match variables.lookup(&name) {
            Variable::Undefined => ProblemKind::Undefined { name },
            Variable::Unknown => ProblemKind::PerhapsUndefined { name },
            Variable::Known(_) | Variable::Hidden => continue,
        };
        let location = parts.location(expression.range.clone());
        problems.push(Problem { kind, pointer: trail.pointer(), location });
    }
}

fn note_type(value: &Value, text: &str, node: NodeRef<'_>, trail: &Trail<'_>, problems: &mut Vec<Problem>) {
    let became = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Uint(_) => "int",
        Value::Float(_) => "float",
        Value::Seq(_) => "list",
        Value::Map(_) => "map",
        _ => return,
    };
    problems.push(Problem {
        kind: ProblemKind::TypeChange { text: text.to_owned(), became },
        pointer: trail.pointer(),
        location: node.location(),
    });
}

/// Places of parts of a scalar's text, asked for in their order: the part's own bytes
/// where the scalar is written without escapes, or taken over from a file as it is, else
/// the whole scalar.
pub(crate) struct Parts<'n> {
    node: NodeRef<'n>,
    text: &'n str,
    /// How far the text and what is written of it were gone through together.
    read: usize,
    written: usize,
    /// Parts that were looked for in vain.
    missed: u32,
}

impl<'n> Parts<'n> {
    /// Of a scalar, which has this text.
    pub(crate) fn new(node: NodeRef<'n>, text: &'n str) -> Parts<'n> {
        Parts { node, text, read: 0, written: 0, missed: 0 }
    }

    /// The place of a part.
    pub(crate) fn location(&mut self, part: Range<usize>) -> Option<Location> {
        let whole = self.node.location()?;
        let NodeRef::Source(source, token) = self.node else {
            let is_taken_over = (whole.end - whole.start) as usize == self.text.len();
            return Some(match is_taken_over {
                true => Location {
                    start: whole.start + part.start as u32,
                    end: whole.start + part.end as u32,
                    ..whole
                },
                false => whole,
            });
        };
        let token = source.document().tokens.get(token as usize)?;
        let written = source.stream.text.get(token.start as usize..token.end as usize);
        let (Some(wanted), Some(written)) = (self.text.get(part.clone()), written) else {
            return Some(whole);
        };
        if wanted.is_empty() || self.missed > MISSED_PARTS {
            return Some(whole);
        }
        if part.start < self.read {
            (self.read, self.written) = (0, 0);
        }
        // As often as it stands between the last part and this one.
        let skipped = self.text.get(self.read..part.start)?.matches(wanted).count();
        let found = written.get(self.written..)?.match_indices(wanted).nth(skipped);
        let Some((at, _)) = found else {
            self.missed += 1;
            return Some(whole);
        };
        (self.read, self.written) = (part.start, self.written + at);
        let start = token.start + self.written as u32;
        Some(source.location(start..start + wanted.len() as u32))
    }
}

/// Parts of a scalar that are looked for through all of it, and are not there.
const MISSED_PARTS: u32 = 100;

/// Substitutes the whole text of an object.
fn whole(object: NodeRef<'_>, variables: &Variables, strict: bool) -> Result<Substituted, EmitError> {
    let mut unknowns: Vec<Node> = Vec::new();
    let text = emit::to_yaml_with(object, &mut |node| {
        unknowns.push(node.to_node());
        stand_in::word(unknowns.len() - 1)
    })?;
    let mut problems = Vec::new();
    let template = parse(&text);
    inspect(object, variables, template.is_err(), &mut problems);
    let failed = |problems: Vec<Problem>, node: Node| Ok(Substituted { node, problems });
    let expansion = match template.map_err(ExpandError::Malformed).and_then(|t| expand(&t, variables, strict))
    {
        Ok(expansion) => expansion,
        Err(error) => {
            if problems.is_empty() || !matches!(error, ExpandError::Malformed(_)) {
                problems.push(Problem {
                    kind: ProblemKind::Failed { message: error.to_string() },
                    pointer: String::new(),
                    location: object.location(),
                });
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
            problems.push(Problem {
                kind: ProblemKind::BrokenYaml { message },
                pointer: String::new(),
                location: first_expression(object),
            });
            return failed(problems, without_expressions(object));
        }
    };
    let mut merge = Merge { variables, unknowns, holes, problems, failure: None };
    let node = merge.node(root.get_ref(), Some(object), &Trail::Root, 0);
    if let Some(message) = merge.failure {
        merge.problems.push(Problem {
            kind: ProblemKind::BrokenYaml { message },
            pointer: String::new(),
            location: first_expression(object),
        });
        return failed(merge.problems, without_expressions(object));
    }
    Ok(Substituted { node, problems: merge.problems })
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
fn inspect(node: NodeRef<'_>, variables: &Variables, broken: bool, problems: &mut Vec<Problem>) {
    visit(node, &Trail::Root, 0, &mut |scalar, text, trail| match parse(text) {
        Ok(template) => note_undefined(&template, text, variables, scalar, trail, problems),
        Err(_) if broken => note_malformed(scalar, text, trail, problems),
        Err(_) => {}
    });
}

/// Reports every malformed expression of a text: reading goes on behind each.
fn note_malformed(scalar: NodeRef<'_>, text: &str, trail: &Trail<'_>, problems: &mut Vec<Problem>) {
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
        problems.push(Problem {
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

fn first_expression(object: NodeRef<'_>) -> Option<Location> {
    let mut first = None;
    visit(object, &Trail::Root, 0, &mut |node, _, _| {
        if first.is_none() {
            first = node.location();
        }
    });
    first.or_else(|| object.location())
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

/// Puts a parsed text together with the object that it was: what is the same
/// stays shared, what differs gets the place of what it was.
struct Merge<'v> {
    variables: &'v Variables,
    unknowns: Vec<Node>,
    holes: Vec<String>,
    problems: Vec<Problem>,
    failure: Option<String>,
}

impl Merge<'_> {
    fn node(&mut self, new: NodeRef<'_>, old: Option<NodeRef<'_>>, trail: &Trail<'_>, depth: usize) -> Node {
        if depth > emit::DEPTH_LIMIT {
            self.failure = Some("nested too deeply".to_owned());
            return Node::scalar(Value::Null, None);
        }
        let before = old.and_then(|old| match old.scalar(Dialect::GoYamlV3) {
            Scalar::Str(text) if !old.is_map() && !old.is_seq() && !old.is_unknown() => {
                Some(text.into_owned())
            }
            _ => None,
        });
        let origin = |merge: &Self| {
            let mut location = old.and_then(NodeRef::location);
            let names = before.as_deref().and_then(|text| parse(text).ok()).map(|template| {
                template.expressions().iter().map(|expression| expression.name.clone()).collect::<Vec<_>>()
            });
            if let (Some(location), Some(names)) = (&mut location, names) {
                location.via.extend(merge.variables.via(names.iter()));
            }
            location.map(Origin::from)
        };
        let value = if new.is_map() {
            let entries = self.entries(new, old, trail, depth);
            match old {
                Some(old) if same_entries(old, &entries) => return old.to_node(),
                _ => Value::Map(entries.into()),
            }
        } else if new.is_seq() {
            let items: Vec<Node> = new
                .items()
                .enumerate()
                .map(|(index, item)| {
                    let twin = old.filter(|old| old.is_seq()).and_then(|old| old.items().nth(index));
                    self.node(item, twin, &Trail::Index(trail, index), depth + 1)
                })
                .collect();
            match old {
                Some(old) if old.is_seq() && same_nodes(old.items(), items.iter()) => return old.to_node(),
                _ => Value::Seq(items),
            }
        } else {
            let scalar = new.scalar(Dialect::GoYamlV2);
            if let Scalar::Float(value) = scalar
                && !value.is_finite()
            {
                self.failure = Some(format!("json: unsupported value: {value}"));
            }
            let value = match &scalar {
                Scalar::Str(text) => stand_in::value_of(text),
                _ => value_of(scalar),
            };
            if let Some(unknown) = self.unknown_of(&value) {
                return unknown;
            }
            match (&value, &before, old) {
                (Value::Str(after), Some(before), Some(old)) if **after == **before => return old.to_node(),
                (_, None, Some(old)) if same_scalar(&value, old) => return old.to_node(),
                _ => {}
            }
            value
        };
        if let Some(before) = &before
            && before.contains('$')
        {
            let shown = new.text().unwrap_or_default();
            if let Some(old) = old {
                note_type(&value, &shown, old, trail, &mut self.problems);
            }
        }
        Node::Built(Arc::new(Built { value, origin: origin(self) }))
    }

    fn entries(
        &mut self,
        new: NodeRef<'_>,
        old: Option<NodeRef<'_>>,
        trail: &Trail<'_>,
        depth: usize,
    ) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for entry in new.entries() {
            let scalar = entry.key_node.scalar(Dialect::GoYamlV2);
            let key = match resolve::json_key(&scalar, Dialect::GoYamlV2) {
                Ok(key) => key.into_owned(),
                Err(message) => {
                    self.failure = Some(message);
                    continue;
                }
            };
            let old_map = old.filter(|old| old.is_map());
            let mut twin = old_map.and_then(|old| old.entry(&key));
            let key_node = match (&twin, stand_in::value_of(&key)) {
                (Some(twin), _) => twin.key_node.to_node(),
                (None, value) => {
                    twin = old_map.and_then(only_key_with_variables);
                    let place = twin.as_ref().and_then(EntryRef::key_location);
                    Node::scalar(value, place.or_else(|| old.and_then(NodeRef::location)))
                }
            };
            let value =
                self.node(entry.value, twin.map(|twin| twin.value), &Trail::Key(trail, &key), depth + 1);
            match entries.iter_mut().find(|known| known.key_text() == key) {
                Some(known) => known.value = value,
                None => entries.push(Entry { key: key_node, value }),
            }
        }
        entries
    }

    /// The node that a lone stand-in stands for.
    fn unknown_of(&self, value: &Value) -> Option<Node> {
        let Value::Unknown(word) = value else { return None };
        let index = stand_in::number_of(word)?;
        if let Some(node) = self.unknowns.get(index) {
            return Some(node.clone());
        }
        let name = self.holes.get(index - self.unknowns.len())?;
        Some(Node::scalar(Value::Unknown(format!("value of ${{{name}}} is unknown").into()), None))
    }
}

/// The entry of a map whose key alone has variables: where a key that is new came from.
fn only_key_with_variables(old: NodeRef<'_>) -> Option<EntryRef<'_>> {
    let mut found = old.entries().filter(|entry| entry.key.contains('$'));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

fn same_entries(old: NodeRef<'_>, entries: &[Entry]) -> bool {
    old.is_map()
        && old.entries().count() == entries.len()
        && entries
            .iter()
            .all(|entry| old.entry(&entry.key_text()).is_some_and(|twin| is_same(twin.value, &entry.value)))
}

fn same_nodes<'a>(old: impl Iterator<Item = NodeRef<'a>>, new: impl Iterator<Item = &'a Node>) -> bool {
    let (mut old, mut new) = (old, new);
    loop {
        match (old.next(), new.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if is_same(a, b) => {}
            _ => return false,
        }
    }
}

/// Whether two handles are of the same node.
fn is_same(old: NodeRef<'_>, new: &Node) -> bool {
    match (old, new) {
        (NodeRef::Source(a, x), Node::Source(b, y)) => Arc::ptr_eq(a, b) && x == *y,
        (NodeRef::Built(a), Node::Built(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}

fn same_scalar(value: &Value, old: NodeRef<'_>) -> bool {
    if old.is_map() || old.is_seq() || old.is_unknown() {
        return false;
    }
    match (value, old.scalar(Dialect::GoYamlV3)) {
        (Value::Null, Scalar::Null) => true,
        (Value::Bool(a), Scalar::Bool(b)) => *a == b,
        (Value::Int(a), Scalar::Int(b)) => *a == b,
        (Value::Uint(a), Scalar::Uint(b)) => *a == b,
        (Value::Float(a), Scalar::Float(b)) => *a == b,
        (Value::Int(a), Scalar::Float(b)) => *a as f64 == b,
        (Value::Str(a), Scalar::Timestamp(b)) => resolve::timestamp_rfc3339(&b).is_some_and(|b| *b == **a),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::substitute::Provided;
    use crate::lang::yaml::parse_nodes;

    const KUSTOMIZATION: &str = "spec: {postBuild: {substitute: {A: app, N: '1', E: '', M: '{a: b}', Q: \"it's\", T: 'true', C: 'a: b'}}}";

    fn variables() -> Variables {
        let kustomization = &parse_nodes("ks.yaml", KUSTOMIZATION)[0];
        Variables::of(kustomization.get_ref(), &mut |_, _| Provided::Missing).expect("variables")
    }

    fn object(text: &str) -> Node {
        parse_nodes("object.yaml", text).remove(0)
    }

    /// The short cut and the whole text give the same object.
    #[test]
    fn each_scalar_or_the_whole_text() {
        for text in [
            "v: ${A}",
            "v: x-${N}",
            "v: [\"${N}\", {w: '${T}'}]",
            "v: ${E}",
            "v: ${M}",
            "v: '@${A}'",
            "v: '@${Q}'",
            "v: |\n  ${A}\n  b ${E}\n",
            "v: |\n  a\n  ${E}\n",
            "v: |\n  ${E}\n  a\n",
            "v: |-\n  a\n  ${A:-x\n  y}\n",
            "v: \"\\t${A}\"",
            "v: a$$b",
            "v: 9007199254740993\nw: ${A}",
            "v: word word word word word word word word word word word word word word word ${C:-x y}",
            "v: 2024-01-01\nw: ${A}",
            // What bytes without a `$` may hide.
            "v: 9007199254740993",
            "v: {w: [0x20000000000001, +9007199254740993]}",
            "v: !!int '9007199254740993'",
            "a: &a 9007199254740993\nv: *a",
            "v: \"\\x24{A}\"",
            "a: &a \"\\u0024{A}\"\nb: {c: *a}",
            "a: &a ${A}\nb: {<<: {k: *a}}",
        ] {
            let object = object(text);
            let short = substitute(object.get_ref(), &variables(), false).expect(text);
            let long = whole(object.get_ref(), &variables(), false).expect(text);
            let json = |node: &Node| emit::to_json(node.get_ref()).expect(text);
            assert_eq!(json(&short.node), json(&long.node), "{text}");
            assert_eq!(short.problems.len(), long.problems.len(), "{text}");
        }
    }

    #[test]
    fn values_keep_their_place_and_name_the_variable() {
        for text in ["a: 1\nv: x-${A}\n", "a: 1\nv: x-${A}\nw: \"\\t${A}\"\n"] {
            let object = object(text);
            let after = substitute(object.get_ref(), &variables(), false).expect(text).node;
            let location = after.get_ref().at("/v").and_then(NodeRef::location).expect("a place");
            assert_eq!(&text[location.start as usize..location.end as usize], "x-${A}");
            let via = &location.via[0].location;
            assert_eq!(
                (&**via.file.shown(), &KUSTOMIZATION[via.start as usize..via.end as usize]),
                ("ks.yaml", "app")
            );
            assert!(
                matches!(after.get_ref().at("/a"), Some(NodeRef::Source(..))),
                "untouched values are shared"
            );
        }
    }

    #[test]
    fn problems_point_at_the_expression() {
        for (text, kind, place) in [
            ("v: a ${B}", ProblemKind::Undefined { name: "B".into() }, "${B}"),
            (
                "v: a ${B-c} d",
                ProblemKind::Malformed { message: "missing closing brace".into(), text: "${B-c}".into() },
                "${B-c}",
            ),
            ("v: \"${T}\"", ProblemKind::TypeChange { text: "true".into(), became: "bool" }, "\"${T}\""),
        ] {
            let problems = substitute(object(text).get_ref(), &variables(), false).expect(text).problems;
            let location = problems[0].location.clone().expect("a place");
            assert_eq!(problems[0].kind, kind, "{text}");
            assert_eq!(&text[location.start as usize..location.end as usize], place, "{text}");
        }
    }

    #[test]
    fn a_value_may_break_the_document() {
        let object = object("a: {b: c}\nv: ${C}\n");
        let result = substitute(object.get_ref(), &variables(), false).expect("emitted");
        assert!(matches!(result.problems[0].kind, ProblemKind::BrokenYaml { .. }), "{:?}", result.problems);
        assert!(result.node.get_ref().at("/v").is_some_and(NodeRef::is_unknown));
        assert_eq!(result.node.get_ref().str_at("/a/b").as_deref(), Some("c"));
    }

    #[test]
    fn strict_mode_leaves_undefined_values_unknown() {
        let object = object("v: ${B}\nw: ${B:-x}\n");
        let lenient = substitute(object.get_ref(), &variables(), false).expect("emitted").node;
        assert!(lenient.get_ref().at("/v").is_some_and(NodeRef::is_null));
        let strict = substitute(object.get_ref(), &variables(), true).expect("emitted").node;
        assert!(strict.get_ref().at("/v").is_some_and(NodeRef::is_unknown));
        assert_eq!(strict.get_ref().str_at("/w").as_deref(), Some("x"));
    }
}
