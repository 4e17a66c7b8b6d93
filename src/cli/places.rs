//! Places as `why` and `locate` print them: seen from where the user is, and of a
//! substitution with the variable and its value.

use super::common::Common;
use super::session::Session;
use crate::files::{Snapshot, relative};
use crate::lang::text::{clean, shorten};
use crate::lang::yaml::edit::pointer_of;
use crate::lang::yaml::{Location, NodeRef, ViaKind, pointer_segments};
use crate::report::objects;
use std::fmt::Write as _;

/// Characters of a variable's value that a line shows.
const VALUE: usize = 60;

/// What turns locations into words.
pub(super) struct Places<'s> {
    snapshot: &'s Snapshot,
    /// The working directory below the root; empty where that is the root, lies outside
    /// of it, or where `--root` says what paths are relative to.
    here: String,
}

impl<'s> Places<'s> {
    pub(super) fn of(common: &Common, session: &'s Session) -> Places<'s> {
        let here = std::env::current_dir().and_then(|here| here.canonicalize()).ok();
        let below = here.filter(|_| common.root.is_none());
        let below = below.and_then(|here| Some(here.strip_prefix(&session.root).ok()?.to_owned()));
        let here = below.unwrap_or_default().to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
        Places { snapshot: &session.snapshot, here }
    }

    /// A path of the root.
    pub(super) fn path(&self, path: &str) -> String {
        match path {
            "" => String::new(),
            path if self.here.is_empty() => clean(path).into_owned(),
            path => clean(&relative(&self.here, path)).into_owned(),
        }
    }

    /// `path:line:column` without what it went through.
    fn at(&self, location: &Location) -> String {
        match location.file.of_root() {
            Some(path) => {
                let ((line, column), _) = self.snapshot.positions(location);
                format!("{}:{line}:{column}", self.path(path))
            }
            None => objects::place(self.snapshot, &Location { via: Vec::new(), ..location.clone() }),
        }
    }

    /// `path:line:column` and, in brackets, what it went through.
    pub(super) fn text(&self, location: &Location) -> String {
        let mut text = self.at(location);
        for (index, via) in location.via.iter().enumerate() {
            let separator = if index == 0 { " (via" } else { "," };
            let _ = write!(text, "{separator} {} ", via.kind.name());
            if let Some(variable) = self.variable(&via.location).filter(|_| via.kind == ViaKind::Substitution)
            {
                let _ = write!(text, "{variable} at ");
            }
            text.push_str(&self.at(&via.location));
        }
        if !location.via.is_empty() {
            text.push(')');
        }
        text
    }

    /// `${NAME} = value` of the definition of a variable; no value of a Secret.
    pub(super) fn variable(&self, at: &Location) -> Option<String> {
        let file = self.snapshot.find(&at.file)?;
        let sources = self.snapshot.sources(file).iter();
        let mut nodes = sources.flat_map(|source| {
            let tokens = 0..source.document().tokens.len() as u32;
            tokens.map(move |token| NodeRef::Source(source, token))
        });
        let is_scalar = |node: &NodeRef<'_>| !node.is_map() && !node.is_seq();
        // A key begins where it begins too, but is no value.
        let here = |node: &NodeRef<'_>| {
            is_scalar(node) && node.location().is_some_and(|one| (one.start, one.end) == (at.start, at.end))
        };
        let node = nodes.find(here)?;
        let (_, pointer) = pointer_of(node)?;
        let name = pointer_segments(&pointer).last()?.into_owned();
        let value = match node.text() {
            _ if self.snapshot.hides(at) => "a value of a Secret".to_owned(),
            Some(text) => shorten(&clean(&text), VALUE),
            None => "empty".to_owned(),
        };
        Some(format!("${{{}}} = {value}", clean(&name)))
    }
}
