//! postBuild substitution: `${VAR}` expressions as Flux evaluates them.
//!
//! Mirrors `github.com/fluxcd/pkg/envsubst` at e2cfd1a2 (`Eval`,
//! `Template.evalFunc`): the whole text is parsed first, so a malformed
//! expression anywhere wins over an undefined variable; operands are expanded
//! before the variable is looked up, also when the variable makes them
//! superfluous. What depends on a value that is not known offline stays a
//! [`Piece::Hole`].

mod functions;
mod object;
mod parse;
mod variables;

pub(crate) use object::{Parts, SubstitutionProblem};
pub use object::{ProblemKind, opts_out, substitute};
pub(crate) use parse::{Expression, Operator, ParseError, SubstitutionTemplate, parse};

pub(crate) use variables::{BadVariable, MissingSource, secret_written_by, writes_secrets};
pub use variables::{Definition, Provided, Variables, config_map_keys};

use parse::ExpressionNode;
use rustc_hash::FxHashSet;
use std::borrow::Cow;

/// What is known offline about one variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Variable<'a> {
    /// Defined, with this value. Newlines are already removed, as Flux does
    /// when it loads variables.
    Known(Cow<'a, str>),
    /// Defined, with a value that is unknown here: a key of a Secret.
    Hidden,
    /// Known to be undefined.
    Undefined,
    /// Perhaps defined: a ConfigMap or Secret whose keys are not known may
    /// define it.
    Unknown,
}

/// One stretch of an expanded text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// These bytes, which a substring of a multi-byte character may leave
    /// outside UTF-8.
    Known(Vec<u8>),
    /// Text that depends on a variable, named here, whose value is unknown.
    Hole(String),
}

/// What an expansion made of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expansion {
    /// The text in order; neighbouring known pieces are merged, empty ones
    /// left out.
    pub pieces: Vec<Piece>,
    /// Names that strict mode would reject if they turn out to be undefined.
    /// Filled in strict mode only.
    pub perhaps_undefined: Vec<String>,
}

impl Expansion {
    /// The whole text, where nothing in it is unknown.
    pub fn known(&self) -> Option<&[u8]> {
        match self.pieces.as_slice() {
            [] => Some(b""),
            [Piece::Known(bytes)] => Some(bytes),
            _ => None,
        }
    }
}

/// Why an expansion fails, and with it the whole Flux build.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// The text does not parse: fails at every Flux version.
    #[error("{0}")]
    Malformed(ParseError),
    /// An undefined variable without a default, in strict mode (the default
    /// from Flux 2.9).
    #[error("variable not set (strict mode): {name:?}")]
    Undefined {
        /// The variable's name.
        name: String,
        /// Byte offset of its `${` in the text.
        at: usize,
    },
    /// A negative substring length, on which upstream panics.
    #[error("slice bounds out of range")]
    NegativeLength {
        /// Byte offset of the expression's `${` in the text.
        at: usize,
    },
    /// The result would be larger than [`MAX_EXPANSION`].
    #[error("the expanded text is larger than {MAX_EXPANSION} bytes")]
    TooLarge,
}

/// Upper bound of an expanded text, in bytes: nested replacements grow without
/// limit otherwise.
pub(crate) const MAX_EXPANSION: usize = 64 << 20;

/// Expands `text`. `lookup` says what is known about a variable; in `strict`
/// mode an undefined variable without a default is an error, otherwise it is
/// empty. A text without `$` is returned as it is up to its first NUL, at which
/// upstream stops reading.
pub fn expand<'v>(
    text: &str,
    lookup: &dyn Fn(&str) -> Variable<'v>,
    strict: bool,
) -> Result<Expansion, ExpandError> {
    parse(text).map_err(ExpandError::Malformed)?.expand(lookup, strict)
}

/// Whether Flux accepts `name` as the name of a variable: one that is not fails
/// the whole build (`varSubstitution`, `^[_[:alpha:]][_[:alpha:][:digit:]]*$`).
pub(crate) fn is_variable_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b == b'_' || b.is_ascii_alphabetic())
        && bytes.all(|b| b == b'_' || b.is_ascii_alphanumeric())
}

impl SubstitutionTemplate {
    /// Evaluates a parsed text; see [`expand`].
    pub(crate) fn expand<'v>(
        &self,
        lookup: &dyn Fn(&str) -> Variable<'v>,
        strict: bool,
    ) -> Result<Expansion, ExpandError> {
        let mut evaluation =
            Evaluation { lookup, strict, perhaps_undefined: Vec::new(), noted: FxHashSet::default() };
        let mut pieces = Vec::new();
        for node in &self.nodes {
            evaluation.node(node, &mut pieces)?;
        }
        Ok(Expansion { pieces, perhaps_undefined: evaluation.perhaps_undefined })
    }
}

struct Evaluation<'l, 'v> {
    lookup: &'l dyn Fn(&str) -> Variable<'v>,
    strict: bool,
    perhaps_undefined: Vec<String>,
    noted: FxHashSet<String>,
}

impl Evaluation<'_, '_> {
    fn node(&mut self, node: &ExpressionNode, out: &mut Vec<Piece>) -> Result<(), ExpandError> {
        match node {
            ExpressionNode::Text(text) => push_known(out, text.as_bytes()),
            ExpressionNode::Call(expression) => self.call(expression, out),
        }
    }

    fn call(&mut self, call: &Expression, out: &mut Vec<Piece>) -> Result<(), ExpandError> {
        let mut operands = Vec::with_capacity(call.operands.len());
        for operand in &call.operands {
            let mut pieces = Vec::new();
            self.node(operand, &mut pieces)?;
            operands.push(pieces);
        }
        let tolerant = call.operator == Operator::Default;
        let value = match (self.lookup)(&call.name) {
            Variable::Known(value) => value,
            Variable::Undefined if self.strict && !tolerant => {
                return Err(ExpandError::Undefined { name: call.name.clone(), at: call.range.start });
            }
            Variable::Undefined => Cow::Borrowed(""),
            Variable::Hidden => return push_hole(out, &call.name),
            Variable::Unknown => {
                if self.strict && !tolerant && self.noted.insert(call.name.clone()) {
                    self.perhaps_undefined.push(call.name.clone());
                }
                return push_hole(out, &call.name);
            }
        };
        if call.operator == Operator::Default {
            if !value.is_empty() {
                return push_known(out, value.as_bytes());
            }
            for piece in operands.into_iter().flatten() {
                match piece {
                    Piece::Known(bytes) => push_known(out, &bytes)?,
                    Piece::Hole(name) => push_hole(out, &name)?,
                }
            }
            return Ok(());
        }
        let mut known = Vec::with_capacity(operands.len());
        for pieces in &operands {
            match pieces.as_slice() {
                [] => known.push(&b""[..]),
                [Piece::Known(bytes)] => known.push(bytes),
                pieces => {
                    let name = pieces.iter().find_map(|piece| match piece {
                        Piece::Hole(name) => Some(name.as_str()),
                        Piece::Known(_) => None,
                    });
                    return push_hole(out, name.unwrap_or(&call.name));
                }
            }
        }
        match functions::apply(call.operator, &value, &known) {
            Ok(Some(bytes)) => push_known(out, &bytes),
            Ok(None) => push_hole(out, &call.name),
            Err(functions::FunctionFailure::NegativeLength) => {
                Err(ExpandError::NegativeLength { at: call.range.start })
            }
            Err(functions::FunctionFailure::TooLarge) => Err(ExpandError::TooLarge),
        }
    }
}

fn push_known(out: &mut Vec<Piece>, bytes: &[u8]) -> Result<(), ExpandError> {
    if bytes.is_empty() {
        return Ok(());
    }
    if let Some(Piece::Known(last)) = out.last_mut() {
        if last.len() + bytes.len() > MAX_EXPANSION {
            return Err(ExpandError::TooLarge);
        }
        last.extend_from_slice(bytes);
    } else {
        out.push(Piece::Known(bytes.to_vec()));
    }
    Ok(())
}

fn push_hole(out: &mut Vec<Piece>, name: &str) -> Result<(), ExpandError> {
    out.push(Piece::Hole(name.to_owned()));
    Ok(())
}

#[cfg(test)]
mod tests;
