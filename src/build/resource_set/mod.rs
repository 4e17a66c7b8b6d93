//! What a ResourceSet of the Flux Operator makes.
//!
//! Mirrors flux-operator `internal/builder/resourceset.go` (each resource is written as
//! YAML, is a template in `<<` and `>>` as text, and is read again; a text of many
//! documents is a template as it stands) and, in [`inputs`], `internal/inputs`.

mod inputs;
mod template;

use crate::lang::template::with_stack;
use crate::lang::yaml::{Known, Node, NodeRef};
use crate::model::ObjectId;
use rustc_hash::FxHashSet;
use std::sync::Arc;
use template::{TemplateText, Templates};

/// Objects that one ResourceSet may make.
const LIMIT: usize = 10_000;

/// Leaves an object out of a ResourceSet, or stops a ResourceSet.
const RECONCILE: &str = "fluxcd.controlplane.io/reconcile";

/// What a ResourceSet makes.
pub(crate) struct ResourceSetObjects {
    /// In the order in which the operator has them.
    pub(crate) objects: Vec<Node>,
    /// Whether that is all: no input comes from what only the cluster knows.
    pub(crate) is_complete: bool,
}

/// Why it isn't known what a ResourceSet makes: it fails, or hangs on what is unknown.
struct RefusedSet;

type Result<T> = std::result::Result<T, RefusedSet>;

/// The objects that a ResourceSet makes; `None` where that isn't certain. `providers`
/// are the ResourceSetInputProviders of its namespace, in order of their names.
pub(crate) fn expand(
    id: &ObjectId,
    set: NodeRef<'_>,
    providers: &[(&ObjectId, NodeRef<'_>)],
) -> Option<ResourceSetObjects> {
    if is_disabled(set) != Known::Value(false) {
        return None;
    }
    with_stack(|| made(id, set, providers).ok())?
}

fn made(
    id: &ObjectId,
    set: NodeRef<'_>,
    providers: &[(&ObjectId, NodeRef<'_>)],
) -> Result<ResourceSetObjects> {
    let sources = inputs::sources(id, set, providers)?;
    let is_complete = sources.is_complete();
    let mut templates = Templates::new();
    let Some(sets) = inputs::combined(set, &sources, &mut templates)? else {
        return Ok(ResourceSetObjects { objects: Vec::new(), is_complete });
    };
    let spec = set.at("/spec").ok_or(RefusedSet)?;
    let steps = list(spec, "steps")?;
    if steps.is_empty() {
        let mut found = StepObjects::default();
        build(spec, &sets, &mut templates, &mut found)?;
        return Ok(ResourceSetObjects { objects: found.objects, is_complete });
    }
    if stated(spec, "resources").or(stated(spec, "resourcesTemplate")).is_some() {
        return Err(RefusedSet);
    }
    let mut objects = Vec::new();
    let mut before: FxHashSet<ObjectKey> = FxHashSet::default();
    for step in steps {
        let mut found = StepObjects::default();
        build(step, &sets, &mut templates, &mut found)?;
        // What two steps define fails.
        if found.keys.iter().any(|key| before.contains(key)) {
            return Err(RefusedSet);
        }
        before.extend(found.keys);
        objects.extend(found.objects);
    }
    Ok(ResourceSetObjects { objects, is_complete })
}

/// Group, kind, namespace and name.
type ObjectKey = (String, Arc<str>, Option<Arc<str>>, Arc<str>);

/// The objects of one step.
#[derive(Default)]
struct StepObjects {
    objects: Vec<Node>,
    keys: FxHashSet<ObjectKey>,
}

impl StepObjects {
    /// Adds an object, unless it is left out or one of its identity is there.
    /// `once`: whether that is looked at.
    fn add(&mut self, object: Node, once: bool) -> Result<()> {
        let id = ObjectId::of(object.get_ref()).ok_or(RefusedSet)?;
        if once {
            match is_disabled(object.get_ref()) {
                Known::Value(true) => return Ok(()),
                Known::Value(false) => {}
                Known::Unknown => return Err(RefusedSet),
            }
        }
        // Two names of which parts are unknown may be two.
        if !id.is_unknown() {
            let key = (id.group().to_owned(), id.kind.clone(), id.namespace.clone(), id.name.clone());
            if !self.keys.insert(key) && once {
                return Ok(());
            }
        }
        if self.objects.len() == LIMIT {
            return Err(RefusedSet);
        }
        self.objects.push(object);
        Ok(())
    }
}

/// `BuildResourceSet`: all resources with all inputs, then the text with all inputs.
fn build(
    step: NodeRef<'_>,
    sets: &[inputs::Set],
    templates: &mut Templates,
    found: &mut StepObjects,
) -> Result<()> {
    let once = !sets.is_empty();
    let none = [templates.no_inputs()];
    let sets = if once { sets } else { &none };
    for resource in list(step, "resources")? {
        let text = templates.add(TemplateText::Object(resource))?;
        for inputs in sets {
            for object in templates.run(&text, inputs)? {
                found.add(object, once)?;
            }
        }
    }
    if let Some(template) = stated(step, "resourcesTemplate") {
        let text = templates.add(TemplateText::Documents(template))?;
        for inputs in sets {
            for object in templates.run(&text, inputs)? {
                found.add(object, true)?;
            }
        }
    }
    Ok(())
}

/// What a field says; nothing where it is null.
fn stated<'n>(node: NodeRef<'n>, field: &str) -> Option<NodeRef<'n>> {
    node.get(field).filter(|value| !value.is_null())
}

/// The items of a list that may be absent.
fn list<'n>(node: NodeRef<'n>, field: &str) -> Result<Vec<NodeRef<'n>>> {
    match stated(node, field) {
        None => Ok(Vec::new()),
        Some(list) if list.is_seq() => Ok(list.items().collect()),
        Some(_) => Err(RefusedSet),
    }
}

fn is_disabled(node: NodeRef<'_>) -> Known<bool> {
    match node.at("/metadata/annotations").and_then(|annotations| annotations.get(RECONCILE)) {
        None => Known::Value(false),
        Some(value) if value.is_unknown() => Known::Unknown,
        Some(value) => Known::Value(value.as_str().is_some_and(|value| value == "disabled")),
    }
}
