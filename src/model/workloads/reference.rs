//! What a workload or route refers to.

use crate::lang::yaml::NodeRef;
use std::borrow::Cow;

/// A reference of a workload, a route or an operator's object to another object.
#[derive(Clone, Debug)]
pub(crate) struct WorkloadReference<'a> {
    /// JSON Pointer of the map that names the target, or of the name itself.
    pub pointer: String,
    /// The node that holds the name: what to point at.
    pub name_node: NodeRef<'a>,
    /// The name; `None` when it is unknown.
    pub name: Option<Cow<'a, str>>,
    /// Group of the target.
    pub group: Cow<'a, str>,
    /// Kind of the target.
    pub kind: Cow<'a, str>,
    /// Namespace of the target after defaulting; `None` for a cluster-scoped kind.
    pub namespace: Option<Cow<'a, str>>,
    /// Whether the field names another namespace than the object's own.
    pub crosses: bool,
    /// Whether its absence is fine.
    pub optional: bool,
    /// The keys of the target's data that must be there.
    pub keys: Vec<NodeRef<'a>>,
    /// A port of the target: a number, or a name.
    pub port: Option<NodeRef<'a>>,
    /// What happens while the target is missing.
    pub consequence: &'static str,
    /// Whether only the words of a release's values say that it is a reference.
    pub is_guess: bool,
}
