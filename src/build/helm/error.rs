//! Why a chart is not rendered.

use crate::lang::template::Bound;
use crate::lang::yaml::Location;
use std::fmt;

/// What Helm says where it refuses, without `Error: ` before it.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Helm's words.
    pub message: String,
    /// Where the chart or the values say it, as far as that is known.
    pub location: Option<Location>,
    /// What it hangs on that is unknown offline: then the cluster may see no refusal.
    pub assumed: Vec<String>,
    /// Whether Helm has rendered something and would print it with `--debug`.
    pub is_partial: bool,
    /// The values that schemas refuse.
    pub faults: Vec<SchemaFault>,
}

impl Refusal {
    pub(super) fn new(message: impl Into<String>) -> Refusal {
        Refusal {
            message: message.into(),
            location: None,
            assumed: Vec::new(),
            is_partial: false,
            faults: Vec::new(),
        }
    }

    /// With words before Helm's own.
    pub(super) fn wrapped(mut self, before: &str) -> Refusal {
        self.message.insert_str(0, before);
        self
    }
}

/// A value that a schema refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaFault {
    /// The chart whose schema it is.
    pub chart: String,
    /// Keys and indices from the root of all values: of a refused property those of the
    /// property, of a missing one those of the map that lacks it.
    pub path: Vec<String>,
    /// What is wrong with it.
    pub kind: SchemaFaultKind,
    /// The same in Helm 4's words.
    pub message: String,
    /// What it comes from, of a choice that none fits: the first of Helm's lines.
    pub causes: Vec<String>,
    /// Where the value, or the nearest one around it, was written.
    pub location: Option<Location>,
    /// Its key, else the value, where it is written itself.
    pub own: Option<Location>,
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaFaultKind {
    /// The value itself.
    Value,
    /// That it is there at all.
    Additional,
    /// That it lacks these properties.
    Missing(Vec<String>),
}

/// Why a chart is not loaded or not rendered.
#[derive(Clone, Debug)]
pub enum RenderError {
    /// Helm refuses, too.
    Refused(Box<Refusal>),
    /// A bound was met, or something that is not done here: Helm may do it.
    Unable(String),
}

impl From<Refusal> for RenderError {
    fn from(refusal: Refusal) -> RenderError {
        RenderError::Refused(Box::new(refusal))
    }
}

impl From<Bound> for RenderError {
    fn from(bound: Bound) -> RenderError {
        RenderError::Unable(format!("more than forebay's bound: {bound}"))
    }
}

impl fmt::Display for RenderError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RenderError::Refused(refusal) => out.write_str(&refusal.message),
            RenderError::Unable(why) => out.write_str(why),
        }
    }
}

impl std::error::Error for RenderError {}

impl RenderError {
    /// With words before Helm's own.
    pub(super) fn wrapped(self, before: &str) -> RenderError {
        match self {
            RenderError::Refused(refusal) => refusal.wrapped(before).into(),
            unable => unable,
        }
    }
}

/// Fails with Helm's words.
pub(super) fn refuse<T>(message: impl Into<String>) -> Result<T, RenderError> {
    Err(Refusal::new(message).into())
}
