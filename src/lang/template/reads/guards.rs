//! What a condition says of a value: where that is a scalar, nothing below it is read,
//! whatever is done with it; where it is one of a few texts, it names these keys alone.

use crate::lang::template::ast::{Branch, Command, Pipe, Term, TermKind};
use std::sync::Arc;

/// Types without anything in them, by the words of `kindIs` and `typeOf`.
const SCALARS: [&str; 9] = ["string", "bool", "int", "int64", "float64", "invalid", "<nil>", "uint", "float"];

/// Terms that are scalars in a branch, by the names that they are written with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scalars {
    /// Those that begin at the dot.
    of_dot: Vec<Arc<[Arc<str>]>>,
    /// Those that begin at a variable.
    of_variables: Vec<Arc<[Arc<str>]>>,
}

impl Scalars {
    /// Those of the list of an `if`, and of what stands behind its `else`.
    pub(super) fn of(branch: &Branch) -> [Scalars; 2] {
        let mut found = [Scalars::default(), Scalars::default()];
        let [is, is_not] = &mut found;
        pipe(&branch.pipe, is, is_not);
        for scalars in &mut found {
            let is_assigned =
                |names: &[Arc<str>]| branch.assigns.iter().any(|name| names.first() == Some(name));
            scalars.of_variables.retain(|names| !is_assigned(names));
        }
        found
    }

    pub(super) fn is_empty(&self) -> bool {
        self.of_dot.is_empty() && self.of_variables.is_empty()
    }

    /// The same where the dot is another one.
    pub(super) fn without_dot(&self) -> Scalars {
        Scalars { of_dot: Vec::new(), of_variables: self.of_variables.clone() }
    }

    /// Both.
    pub(super) fn and(mut self, other: Scalars) -> Scalars {
        self.of_dot.extend(other.of_dot);
        self.of_variables.extend(other.of_variables);
        self
    }

    /// Whether a term is one of them.
    pub(super) fn holds(&self, term: &Term) -> bool {
        match &term.kind {
            TermKind::Dot => self.of_dot.iter().any(|own| own.is_empty()),
            TermKind::Field(names) => self.of_dot.iter().any(|own| **own == **names),
            TermKind::Variable(names) => self.of_variables.iter().any(|own| **own == **names),
            _ => false,
        }
    }

    fn add(&mut self, term: &Term) {
        match &term.kind {
            TermKind::Dot => self.of_dot.push(Arc::from([])),
            TermKind::Field(names) => self.of_dot.push(Arc::from(&names[..])),
            TermKind::Variable(names) => self.of_variables.push(Arc::from(&names[..])),
            _ => {}
        }
    }
}

/// A variable that is one of some texts where a condition is true.
pub(super) enum OneOf<'t> {
    /// One of these terms: `eq $key "a" "b"`.
    Terms(&'t Arc<str>, &'t [Term]),
    /// One of the elements of a list: `has $key $list`.
    Elements(&'t Arc<str>, &'t Term),
}

/// What the condition of an `if` says so; nothing of variables that its list assigns to.
pub(super) fn one_of(branch: &Branch) -> Vec<OneOf<'_>> {
    let mut found = Vec::new();
    one_of_pipe(&branch.pipe, &mut found);
    found.retain(|one| {
        let (OneOf::Terms(name, _) | OneOf::Elements(name, _)) = one;
        !branch.assigns.iter().any(|own| own == *name)
    });
    found
}

/// As deep as actions are nested.
fn one_of_pipe<'t>(of: &'t Pipe, found: &mut Vec<OneOf<'t>>) {
    let [only] = &*of.commands else { return };
    let Some((first, args)) = only.terms.split_first() else { return };
    match (&first.kind, args) {
        (TermKind::Pipe(inner), []) => one_of_pipe(inner, found),
        (TermKind::Identifier(of), args) if of.name == "and" => {
            for arg in args {
                if let TermKind::Pipe(inner) = &arg.kind {
                    one_of_pipe(inner, found);
                }
            }
        }
        (TermKind::Identifier(of), [value, texts @ ..]) if of.name == "eq" => {
            found.extend(variable(value).map(|name| OneOf::Terms(name, texts)));
            if let [text] = texts {
                found.extend(variable(text).map(|name| OneOf::Terms(name, std::slice::from_ref(value))));
            }
        }
        (TermKind::Identifier(of), [value, list]) if of.name == "has" => {
            found.extend(variable(value).map(|name| OneOf::Elements(name, list)));
        }
        _ => {}
    }
}

/// The variable that a term is, without fields.
fn variable(term: &Term) -> Option<&Arc<str>> {
    match &term.kind {
        TermKind::Variable(names) => names.first().filter(|_| names.len() == 1),
        _ => None,
    }
}

/// What a pipeline says where it is true, and where it isn't.
fn pipe(of: &Pipe, is: &mut Scalars, is_not: &mut Scalars) {
    if let [only] = &*of.commands {
        command(only, is, is_not);
    }
}

/// As deep as actions are nested.
fn command(of: &Command, is: &mut Scalars, is_not: &mut Scalars) {
    let Some((first, args)) = of.terms.split_first() else { return };
    match (&first.kind, args) {
        (TermKind::Pipe(inner), []) => pipe(inner, is, is_not),
        (TermKind::Identifier(of), [arg]) if of.name == "not" => {
            if let TermKind::Pipe(inner) = &arg.kind {
                pipe(inner, is_not, is);
            }
        }
        // Of several one may be false, and nobody knows which.
        (TermKind::Identifier(of), args) if of.name == "and" => {
            for arg in args {
                if let TermKind::Pipe(inner) = &arg.kind {
                    pipe(inner, is, &mut Scalars::default());
                }
            }
        }
        (TermKind::Identifier(of), [kind, value])
            if matches!(of.name, "kindIs" | "typeIs") && is_scalar(kind) =>
        {
            is.add(value);
        }
        (TermKind::Identifier(of), [one, other]) if of.name == "eq" => {
            for (kind, value) in [(one, other), (other, one)] {
                if let Some(value) = typed(value).filter(|_| is_scalar(kind)) {
                    is.add(value);
                }
            }
        }
        _ => {}
    }
}

fn is_scalar(term: &Term) -> bool {
    matches!(&term.kind, TermKind::Str(literal) if SCALARS.iter().any(|own| own.as_bytes() == &*literal.text))
}

/// What `(typeOf X)` and `(kindOf X)` ask.
fn typed(term: &Term) -> Option<&Term> {
    let TermKind::Pipe(inner) = &term.kind else { return None };
    let [command] = &*inner.commands else { return None };
    match &*command.terms {
        [Term { kind: TermKind::Identifier(of), .. }, value] if matches!(of.name, "typeOf" | "kindOf") => {
            Some(value)
        }
        _ => None,
    }
}
