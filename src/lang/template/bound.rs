//! The bounds of a run, by name.

use std::fmt;

/// A bound that was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Nodes that are run.
    Steps(u64),
    /// Bytes of one output.
    Output(usize),
    /// Templates within templates.
    Depth(usize),
    /// Bytes of a text.
    Text(usize),
    /// Elements of a list.
    List(usize),
    /// Bytes of all texts.
    Total(u64),
    /// Nodes of origins.
    Origins(usize),
    /// A value nested more deeply than functions follow.
    Nesting(usize),
    /// Something that this engine does not do.
    Unsupported(&'static str),
}

impl fmt::Display for Bound {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Steps(steps) => write!(out, "{steps} steps"),
            Bound::Output(bytes) => write!(out, "{bytes} bytes of output"),
            Bound::Depth(depth) => write!(out, "{depth} templates within templates"),
            Bound::Text(bytes) => write!(out, "{bytes} bytes of a text"),
            Bound::List(elements) => write!(out, "{elements} elements of a list"),
            Bound::Total(bytes) => write!(out, "{bytes} bytes of text in all"),
            Bound::Origins(nodes) => write!(out, "{nodes} nodes of origins"),
            Bound::Nesting(depth) => write!(out, "values nested {depth} deep"),
            Bound::Unsupported(what) => write!(out, "{what} is not done here"),
        }
    }
}
