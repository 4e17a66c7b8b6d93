//! What goes wrong in a run, as Go's chains of errors.

use super::bound::Bound;
use std::rc::Rc;

/// Why a run stopped. The texts are those that Go's `Error` gives on each level of
/// the chain, outermost first.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) chain: Vec<Rc<str>>,
    /// Whether an execution error of a template is in the chain.
    pub(super) is_exec: bool,
    pub(super) bound: Option<Bound>,
}

pub(super) type Result<T> = std::result::Result<T, Box<Fault>>;

impl Fault {
    pub(super) fn new(message: impl Into<Rc<str>>) -> Box<Fault> {
        Box::new(Fault { chain: vec![message.into()], is_exec: false, bound: None })
    }

    pub(super) fn bound(bound: Bound) -> Box<Fault> {
        let message = format!("more than forebay's bound: {bound}");
        Box::new(Fault { chain: vec![message.into()], is_exec: false, bound: Some(bound) })
    }

    pub(super) fn message(&self) -> &str {
        &self.chain[0]
    }

    /// `fmt.Errorf("BEFORE%w", self)`.
    pub(super) fn wrapped(mut self: Box<Fault>, before: &str) -> Box<Fault> {
        let message = format!("{before}{}", self.message());
        self.chain.insert(0, message.into());
        self
    }
}

/// Fails with a message.
pub(super) fn fail<T>(message: impl Into<Rc<str>>) -> Result<T> {
    Err(Fault::new(message))
}

/// Go's panic of a nil pointer.
pub(super) const NIL_POINTER: &str = "runtime error: invalid memory address or nil pointer dereference";
