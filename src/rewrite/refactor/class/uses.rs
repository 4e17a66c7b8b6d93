//! The patches of a class that use a variable.

use super::PartOfClass;
use crate::lang::yaml::NodeRef;
use crate::lang::yaml::edit::{Content, Operation};
use crate::rewrite::Wanted;
use crate::rewrite::refactor::parts::{text_at, uses};
use crate::rewrite::refactor::{Refused, template};
use crate::world::{Effective, World};

impl PartOfClass<'_> {
    /// The changes of patches that use the old variable.
    pub(super) fn use_edits(&self, world: &World, class: &Effective) -> Result<Vec<Wanted>, Vec<Refused>> {
        let snapshot = &world.snapshot;
        let (old, new) = (&*self.old, &*self.new);
        let mut wanted = Vec::new();
        for (node, is_template) in uses(class.node.get_ref()) {
            let Some(value) = node.as_str() else { continue };
            if !is_template {
                wanted.extend(self.use_edit_of_path(world, node, &value)?);
                continue;
            }
            let by_hand = |why: String| {
                vec![Refused::at(
                    node.location(),
                    why,
                    "write the template so that each variable is named, as `.NAME`",
                )]
            };
            let found = template::places(&value, old).map_err(|why| by_hand(why.to_owned()))?;
            if found.is_empty() {
                continue;
            }
            let is_field = new.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && new.chars().all(|c| c.is_alphanumeric() || c == '_');
            if !is_field {
                let why = format!("`.{new}` is no field in this template");
                return Err(vec![Refused::at(node.location(), why, "choose a name of letters and digits")]);
            }
            let text = text_at(world, node)?;
            let raw = node.location().and_then(|place| {
                let stream = snapshot.stream(snapshot.find(&place.file)?)?;
                Some((place.start, stream.text.get(place.start as usize..place.end as usize)?))
            });
            let places: Vec<(u32, u32)> = raw
                .and_then(|(start, raw)| {
                    let places = template::places(raw, old).ok()?;
                    Some(
                        places
                            .into_iter()
                            .map(|at| (start + at as u32, start + (at + old.len()) as u32))
                            .collect(),
                    )
                })
                .unwrap_or_default();
            if places.len() != found.len() {
                return Err(by_hand(format!("`.{old}` is not written here as it is meant")));
            }
            let operation = Operation::ReplaceWithin { places, text: new.to_owned() };
            wanted.push(Wanted { path: text.path, document: text.document, operation });
        }
        Ok(wanted)
    }

    /// The change of a path of a variable, such as `valueFrom.variable`.
    fn use_edit_of_path(
        &self,
        world: &World,
        node: NodeRef<'_>,
        value: &str,
    ) -> Result<Option<Wanted>, Vec<Refused>> {
        let rest = value.strip_prefix(&*self.old);
        let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with(['.', '['])) else {
            return Ok(None);
        };
        let text = text_at(world, node)?;
        let operation = Operation::Set {
            pointer: text.pointer,
            value: Content::str(format!("{}{rest}", self.new)),
            comment: None,
        };
        Ok(Some(Wanted { path: text.path, document: text.document, operation }))
    }
}
