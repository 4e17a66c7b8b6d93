//! The templates of a ResourceSet, and the values that they are filled in with.

use super::{RefusedSet, Result};
use crate::build::rendered::{RenderedText, Unknown};
use crate::build::stand_in;
use crate::lang::template::{Engine, EngineRun, FuncMap, Limits, MissingKey, OriginId, Val};
use crate::lang::yaml::emit::{DEPTH_LIMIT, to_yaml_with};
use crate::lang::yaml::resolve::timestamp_rfc3339;
use crate::lang::yaml::{Dialect, Location, Node, NodeKind, NodeRef, Scalar};

/// What opens and closes an action.
const DELIMITERS: (&str, &str) = ("<<", ">>");

/// What the operator calls its templates.
const NAME: &str = "resourceset";

/// What filling in all templates of a ResourceSet may cost.
const STEPS: u64 = 5_000_000;
const OUTPUT: usize = 16 << 20;

/// A template as it is written.
#[derive(Clone, Copy)]
pub(super) enum TemplateText<'n> {
    /// An object that is written as YAML first and makes one.
    Object(NodeRef<'n>),
    /// A text of any number of documents.
    Documents(NodeRef<'n>),
}

/// A template that is ready to be run.
pub(super) struct Ready<'n> {
    of: TemplateText<'n>,
    /// What words stand for in its text.
    unknowns: Vec<Node>,
}

/// The engine of a ResourceSet.
pub(super) struct Templates {
    engine: Engine,
    /// Where the values are written, by their origin.
    places: Vec<Location>,
}

impl Templates {
    pub(super) fn new() -> Templates {
        let engine = Engine::new(&EngineRun {
            origins: true,
            limits: Limits { steps: STEPS, output: OUTPUT, text: OUTPUT, ..Limits::default() },
            delimiters: Some((DELIMITERS.0.to_owned(), DELIMITERS.1.to_owned())),
            functions: FuncMap::ResourceSet,
            missing_key: MissingKey::Error,
            ..EngineRun::default()
        });
        Templates { engine, places: Vec::new() }
    }

    /// Parses a template, in place of the one before: none sees what another defines.
    pub(super) fn add<'n>(&mut self, of: TemplateText<'n>) -> Result<Ready<'n>> {
        let (text, unknowns) = match of {
            TemplateText::Documents(template) => {
                (template.as_str().ok_or(RefusedSet)?.into_owned(), Vec::new())
            }
            TemplateText::Object(resource) => written(resource)?,
        };
        self.engine.clear();
        match self.engine.add(NAME, &text).is_empty() {
            true => Ok(Ready { of, unknowns }),
            false => Err(RefusedSet),
        }
    }

    /// The objects that a template makes of a set of inputs.
    pub(super) fn run(&mut self, template: &Ready<'_>, inputs: &Val) -> Result<Vec<Node>> {
        self.engine.set_inputs(inputs.clone());
        let nothing = self.engine.data().nil(None);
        let output = self.engine.run(NAME, &nothing).map_err(|_| RefusedSet)?;
        // What is unknown decides what there is.
        if !self.engine.assumed().is_empty() {
            return Err(RefusedSet);
        }
        let unknowns = template.unknowns.iter().cloned().map(Unknown::Node).collect();
        let rendered = RenderedText::new(&self.engine, &output, &self.places, unknowns);
        let rendered = rendered.map_err(|_| RefusedSet)?;
        match template.of {
            TemplateText::Object(resource) => rendered.object(resource).map(|object| vec![object]),
            TemplateText::Documents(text) => rendered.documents(text),
        }
        .map_err(|_| RefusedSet)
    }

    /// What `inputs` gives where there are none.
    pub(super) fn no_inputs(&mut self) -> Val {
        self.map(Vec::new())
    }

    /// A text that no file states.
    pub(super) fn text(&mut self, text: &str) -> Val {
        self.engine.data().text(text, None)
    }

    /// A map that no file states.
    pub(super) fn map(&mut self, entries: Vec<(String, Val)>) -> Val {
        self.engine.data().map(entries, None)
    }

    /// A text that only the cluster knows.
    pub(super) fn unknown(&mut self, why: &str) -> Val {
        let mut data = self.engine.data();
        let text = data.text("unknown", None);
        data.unknown(text, why)
    }

    /// An input as the operator decodes it: every number a float.
    pub(super) fn value(&mut self, node: NodeRef<'_>) -> Result<Val> {
        self.value_at(node, 0)
    }

    fn value_at(&mut self, node: NodeRef<'_>, depth: usize) -> Result<Val> {
        if depth > DEPTH_LIMIT {
            return Err(RefusedSet);
        }
        let origin = node.location().map(|place| {
            self.places.push(place);
            OriginId(self.places.len() as u32 - 1)
        });
        if let Some(holes) = node.holes() {
            let parts: Vec<Val> = holes
                .parts
                .iter()
                .map(|part| match part {
                    Some(text) => self.engine.data().text(text, origin),
                    None => self.unknown("a part of an input"),
                })
                .collect();
            return Ok(self.engine.data().joined(&parts));
        }
        Ok(match node.kind() {
            NodeKind::Unknown => self.unknown("an input"),
            NodeKind::Map => {
                let mut entries = Vec::new();
                for entry in node.entries() {
                    entries.push((entry.key.into_owned(), self.value_at(entry.value, depth + 1)?));
                }
                self.engine.data().map(entries, origin)
            }
            NodeKind::Seq => {
                let mut items = Vec::new();
                for item in node.items() {
                    items.push(self.value_at(item, depth + 1)?);
                }
                self.engine.data().list(items, origin)
            }
            NodeKind::Scalar => {
                let mut data = self.engine.data();
                match node.scalar(Dialect::GoYamlV3) {
                    Scalar::Null => data.nil(origin),
                    Scalar::Bool(value) => data.bool(value, origin),
                    Scalar::Int(value) => data.float(value as f64, origin),
                    Scalar::Uint(value) => data.float(value as f64, origin),
                    Scalar::Float(value) => data.float(value, origin),
                    Scalar::Timestamp(text) => {
                        data.text(&timestamp_rfc3339(&text).unwrap_or_else(|| text.into_owned()), origin)
                    }
                    Scalar::Str(text) => data.text(&text, origin),
                }
            }
        })
    }
}

/// A resource as the text that is its template, and what words stand for in it.
fn written(resource: NodeRef<'_>) -> Result<(String, Vec<Node>)> {
    let mut hides_action = false;
    let mut unknowns: Vec<Node> = Vec::new();
    let text = to_yaml_with(resource, &mut |node| {
        let parts = node.holes().into_iter().flat_map(|holes| holes.parts.iter().flatten());
        hides_action |= parts.into_iter().any(|part| part.contains(DELIMITERS.0));
        unknowns.push(node.to_node());
        stand_in::word(unknowns.len() - 1)
    })
    .map_err(|_| RefusedSet)?;
    if hides_action { Err(RefusedSet) } else { Ok((text, unknowns)) }
}
