//! What a function is: its name, what it takes, whether it is pure, and how the parts
//! of texts go through it.

use super::error::Result;
use super::limits::Cx;
use super::trace::CondId;
use super::value::Val;
use std::fmt::{self, Debug};

/// The type of a parameter, by Go's rules of what fits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    /// `interface {}`
    Any,
    /// `reflect.Value`: anything, the absence of a value too.
    Value,
    Str,
    Int,
    Uint32,
    Float,
    Bool,
    /// `map[string]interface {}`
    Map,
    /// `time.Time`
    Time,
    /// `*semver.Version`
    Version,
    /// `sprig.certificate`
    Certificate,
}

impl Ty {
    pub(super) fn name(self) -> &'static str {
        match self {
            Ty::Any => "interface {}",
            Ty::Value => "reflect.Value",
            Ty::Str => "string",
            Ty::Int => "int",
            Ty::Uint32 => "uint32",
            Ty::Float => "float64",
            Ty::Bool => "bool",
            Ty::Map => "map[string]interface {}",
            Ty::Time => "time.Time",
            Ty::Version => "*semver.Version",
            Ty::Certificate => "sprig.certificate",
        }
    }

    pub(super) fn can_be_nil(self) -> bool {
        matches!(self, Ty::Any | Ty::Value | Ty::Map | Ty::Version)
    }
}

/// Whether the same arguments give the same result, and nothing else changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purity {
    Pure,
    /// Changes the map that is its first argument.
    Changes,
    /// Asks a clock or chance: its result is unknown, and a stand-in is used.
    Unknown,
    /// Asks the cluster: an empty answer is used.
    Cluster,
}

/// How origins go from the arguments to the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// The parts of its text go along, each with its own origins.
    Keeps,
    /// The result is an argument or an element; what chose it decided.
    Picks,
    /// The result holds its arguments, each with its own origins.
    Holds,
    /// All that flowed into any argument flowed into all of the result.
    Unites,
    /// As before, but nothing of what a list or a map holds: only that it is one, and
    /// whether it is empty, is asked.
    Looks,
    /// Nothing flows.
    Nothing,
}

/// What runs a function.
#[derive(Clone, Copy)]
pub(super) enum FunctionBody {
    Native(fn(&mut Call<'_>) -> Result<Val>),
    Include,
    Tpl,
    And,
    Or,
    /// What the program gives as `inputs`.
    Inputs,
}

/// Where a function is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Library {
    Go,
    Sprig,
    Helm,
    /// flux-operator.
    Operator,
}

/// Which names are functions: those of a program without what its version doesn't know yet.
#[derive(Clone, Copy)]
pub(super) struct FunctionNames {
    pub(super) all: fn(&str) -> Option<&'static Function>,
    pub(super) without: &'static [&'static str],
}

impl FunctionNames {
    pub(super) fn find(self, name: &str) -> Option<&'static Function> {
        (self.all)(name).filter(|_| !self.without.contains(&name))
    }
}

/// A line of the table.
pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) library: Library,
    pub(super) params: &'static [Ty],
    /// Whether the last parameter takes any number.
    pub(super) is_variadic: bool,
    pub(super) purity: Purity,
    pub(super) flow: Flow,
    pub(super) run: FunctionBody,
}

impl Debug for Function {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}

/// A call on its way.
pub(super) struct Call<'c> {
    pub(super) cx: &'c mut Cx,
    pub(super) args: &'c [Val],
    /// The conditions of this moment.
    pub(super) under: CondId,
}
