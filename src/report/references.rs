//! What an object refers to, and what refers to it.

use super::parts;
use crate::lang::text::clean;
use crate::lang::yaml::{Location, pointer_segments};
use crate::lint::workloads::{TargetState, UnseenCause, Workloads};
use crate::model::{ObjectId, workloads};
use crate::rewrite::subject::home;
use crate::world::named::{Named, named_by};
use crate::world::{Cluster, Effective, World};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The references of an object of one cluster, both ways.
pub(crate) struct References<'w> {
    world: &'w World,
    to: Vec<(Named, TargetStanding<'w>)>,
    /// The object that refers, its field, and what of the object's making is meant where
    /// it isn't the object itself.
    from: Vec<(&'w Effective, Named, Option<String>)>,
}

/// What is known of what a reference names.
enum TargetStanding<'w> {
    Here(&'w Effective),
    /// A controller makes it of this object.
    Made(&'w Effective),
    /// It may exist all the same; why.
    Unseen(String),
    Absent,
}

impl TargetStanding<'_> {
    /// The word of the JSON contract.
    fn word(&self) -> &'static str {
        match self {
            TargetStanding::Here(_) => "here",
            TargetStanding::Made(_) => "made",
            TargetStanding::Unseen(_) => "unseen",
            TargetStanding::Absent => "absent",
        }
    }
}

impl<'w> References<'w> {
    /// Of an object of a cluster.
    pub(crate) fn of(world: &'w World, cluster: &'w Cluster, object: &'w Effective) -> References<'w> {
        let names = Workloads::of(world, cluster);
        let standing = |named: &Named| match names.target(named.named()) {
            TargetState::Here(found) => TargetStanding::Here(found),
            TargetState::Made(of, _) => TargetStanding::Made(of),
            TargetState::Absent(cause) => match cause {
                Some(cause) => TargetStanding::Unseen(words(cause)),
                None => TargetStanding::Absent,
            },
        };
        let mut to: Vec<(Named, TargetStanding<'w>)> = Vec::new();
        for named in named_by(&object.id, object.node.get_ref()) {
            let found = standing(&named);
            to.push((named, found));
        }
        let made = workloads::derived(&object.id, object.node.get_ref());
        let mut from = Vec::new();
        for (_, other) in world.members(cluster).filter(|(_, other)| !std::ptr::eq(*other, object)) {
            for named in named_by(&other.id, other.node.get_ref()) {
                let of_made = || made.iter().any(|made| named.is_made(made));
                if named.is(&object.id) {
                    from.push((other, named, None));
                } else if of_made() {
                    let through = target(&named);
                    from.push((other, named, Some(through)));
                }
            }
        }
        from.sort_by(|one, other| (&one.0.id, &one.1.pointer).cmp(&(&other.0.id, &other.1.pointer)));
        from.dedup_by(|one, other| one.0.id == other.0.id && one.1.pointer == other.1.pointer);
        References { world, to, from }
    }

    /// Two lines for each: what is meant and where it stands, then the field that says so.
    pub(crate) fn text(&self, place: &dyn Fn(&Location) -> String) -> String {
        let mut out = String::new();
        let field = |out: &mut String, named: &Named| {
            let at = named.location.as_ref().map_or_else(String::new, |at| format!("  {}", place(at)));
            let _ = writeln!(out, "      {}{at}", clean(&dotted(&named.pointer)));
        };
        let at =
            |object: &Effective| home(object).map_or_else(String::new, |home| format!("  {}", place(home)));
        out.push_str(if self.to.is_empty() { "  refers to nothing\n" } else { "  refers to\n" });
        for (named, standing) in &self.to {
            let optional = if named.optional { ", which is optional" } else { "" };
            let standing = match standing {
                TargetStanding::Here(object) => at(object),
                TargetStanding::Made(of) => format!(", made of {}{}", clean(&of.id.to_string()), at(of)),
                TargetStanding::Unseen(why) => format!(": not here; {}", clean(why)),
                TargetStanding::Absent => ": not here".to_owned(),
            };
            let _ = writeln!(out, "    {}{optional}{standing}", clean(&target(named)));
            field(&mut out, named);
        }
        out.push_str(if self.from.is_empty() {
            "  nothing here refers to it\n"
        } else {
            "  is referred to by\n"
        });
        for (object, named, through) in &self.from {
            let through =
                through.as_ref().map_or_else(String::new, |through| format!(", by {}", clean(through)));
            let _ = writeln!(out, "    {}{through}", clean(&object.id.to_string()));
            field(&mut out, named);
        }
        out
    }

    /// `references` and `referencedBy` of the answer.
    pub(crate) fn json(&self) -> (Value, Value) {
        let snapshot = &*self.world.snapshot;
        let location = |named: &Named| parts::location(snapshot, named.location.as_ref());
        let to = self.to.iter().map(|(named, standing)| {
            let maker = match standing {
                TargetStanding::Made(of) => parts::object(&of.id),
                _ => Value::Null,
            };
            json!({
                "field": named.pointer,
                "target": {
                    "group": named.group,
                    "kind": named.kind,
                    "namespace": named.namespace,
                    "name": named.name,
                },
                "standing": standing.word(),
                "madeOf": maker,
                "optional": named.optional,
                "location": location(named),
            })
        });
        let from = self.from.iter().map(|(object, named, through)| {
            json!({
                "object": parts::object(&object.id),
                "field": named.pointer,
                "through": through,
                "location": location(named),
            })
        });
        (to.collect(), from.collect())
    }
}

/// What a reference names, as objects are written.
fn target(named: &Named) -> String {
    let api_version = if named.group.is_empty() { "v1".to_owned() } else { format!("{}/v1", named.group) };
    let id = ObjectId {
        api_version: api_version.as_str().into(),
        kind: named.kind.as_str().into(),
        namespace: named.namespace.as_deref().map(Into::into),
        name: named.name.as_str().into(),
    };
    id.to_string()
}

/// Why something may exist though nothing here states it.
fn words(cause: UnseenCause<'_>) -> String {
    match cause {
        UnseenCause::Maker(id) => format!("{id} may make it"),
        UnseenCause::Unapplied => "a manifest states it that no cluster applies".to_owned(),
        UnseenCause::Anybody => "anybody may have made it in the cluster".to_owned(),
        UnseenCause::Opener(cause) => {
            format!("not all is known here ({})", cause.unchecked().plural())
        }
    }
}

/// A JSON Pointer as kubectl's jsonpath writes it.
pub(crate) fn dotted(pointer: &str) -> String {
    let mut text = String::new();
    for part in pointer_segments(pointer) {
        if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            let _ = write!(text, "[{part}]");
        } else {
            let dot = if text.is_empty() { "" } else { "." };
            let _ = write!(text, "{dot}{part}");
        }
    }
    text
}
