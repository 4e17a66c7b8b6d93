//! Substitution in an object: text of go-yaml's v2 emitter in, tree out.
//!
//! Mirrors `SubstituteVariables` of fluxcd/pkg `kustomize/kustomize_varsub.go`
//! and the re-reading around it. The text of a whole object is substituted,
//! keys too, and parsed again; so quotes of the file do not protect a value and
//! values change type. Where it is provably the same, each scalar is
//! substituted on its own; otherwise the whole text goes through the chain.

mod merge;
mod whole;

use super::{ExpandError, Expansion, Piece, SubstitutionTemplate, Variable, Variables, parse};
use crate::lang::yaml::emit::{self, EmitError};
use crate::lang::yaml::tape::{Token, TokenKind};
use crate::lang::yaml::{
    Built, Dialect, Holes, Location, Node, NodeRef, Origin, Scalar, ScalarStyle, Trail, Value, Via, resolve,
};
use rustc_hash::FxHashSet;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use whole::{MISSED_PARTS, whole};

/// The label or annotation by which an object opts out, with exactly the value
/// `disabled`.
pub(crate) const SUBSTITUTE_KEY: &str = "kustomize.toolkit.fluxcd.io/substitute";

/// What substitution made of an object.
#[derive(Debug)]
pub struct Substituted {
    /// The object afterwards; values that fail or are unknown are unknown in it.
    pub node: Node,
    /// What goes wrong in it.
    pub problems: Vec<SubstitutionProblem>,
}

/// One thing that goes wrong in an object.
#[derive(Debug, Clone, PartialEq)]
pub struct SubstitutionProblem {
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
    let changed = pass.each(object, &ExpressionPlace { trail: Trail::Root, depth: 0, key_width: 0 });
    if !pass.whole {
        let node = changed.unwrap_or_else(|| object.to_node());
        return Ok(Substituted { node, problems: pass.problems });
    }
    whole(object, variables, strict)
}

/// Where the walk is.
struct ExpressionPlace<'p> {
    trail: Trail<'p>,
    depth: usize,
    /// Characters of the key before the value, with its colon and blank.
    key_width: usize,
}

/// Substitution scalar by scalar, as long as that is the same.
struct Pass<'v> {
    variables: &'v Variables,
    strict: bool,
    problems: Vec<SubstitutionProblem>,
    /// Set when the whole text has to be substituted instead.
    whole: bool,
}

impl Pass<'_> {
    /// The node afterwards; `None` where nothing changed.
    fn each(&mut self, node: NodeRef<'_>, place: &ExpressionPlace<'_>) -> Option<Node> {
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
                let inner = ExpressionPlace { trail, depth, key_width: entry.key.chars().count() + 2 };
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
                let inner = ExpressionPlace { trail: Trail::Index(&place.trail, index), depth, key_width: 0 };
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

    fn string(&mut self, node: NodeRef<'_>, text: &str, place: &ExpressionPlace<'_>) -> Option<Node> {
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
                self.problems.push(SubstitutionProblem {
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
fn expand(
    template: &SubstitutionTemplate,
    variables: &Variables,
    strict: bool,
) -> Result<Expansion, ExpandError> {
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
        unknown_values(&names)
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
    Value::Holes(Holes { parts: parts.collect(), why: Some(why()) })
}

/// Why what variables are part of is unknown.
fn unknown_values(names: &[&str]) -> Arc<str> {
    format!("value of ${{{}}} is unknown", names.join("}, ${")).into()
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
    template: &SubstitutionTemplate,
    text: &str,
    variables: &Variables,
    node: NodeRef<'_>,
    trail: &Trail<'_>,
    problems: &mut Vec<SubstitutionProblem>,
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
        problems.push(SubstitutionProblem { kind, pointer: trail.pointer(), location });
    }
}

fn note_type(
    value: &Value,
    text: &str,
    node: NodeRef<'_>,
    trail: &Trail<'_>,
    problems: &mut Vec<SubstitutionProblem>,
) {
    let became = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Uint(_) => "int",
        Value::Float(_) => "float",
        Value::Seq(_) => "list",
        Value::Map(_) => "map",
        _ => return,
    };
    problems.push(SubstitutionProblem {
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

#[cfg(test)]
mod tests;
